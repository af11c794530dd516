"""Rows are drawn into two parts by their place alone, about one half each, however they are read."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eifffel.rows.parts import draw_searched

N = 200_000


@given(start=st.integers(0, 2**40), sizes=st.lists(st.integers(0, 50), max_size=8))
def test_they_do_not_depend_on_how_rows_are_cut(start, sizes):
    whole = draw_searched(start, sum(sizes))
    starts = start + np.cumsum([0, *sizes])[:-1]
    parts = [draw_searched(int(begin), size) for begin, size in zip(starts, sizes, strict=True)]
    np.testing.assert_array_equal(np.concatenate([np.zeros(0, bool), *parts]), whole)


def test_it_is_the_generator_that_it_says_it_is():
    """SplitMix64 in Python's own integers."""

    def coin(place):
        state = (0x5851F42D4C957F2D + (place + 1) * 0x9E3779B97F4A7C15) % 2**64
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
        return (state ^ (state >> 31)) >> 63 == 1

    assert draw_searched(3, 300).tolist() == [coin(place) for place in range(3, 303)]


def test_every_coin_is_fair_and_knows_nothing_of_the_others():
    inside = draw_searched(0, N)
    assert binomtest(int(inside.sum()), N).pvalue > 1e-4
    for lag in range(1, 50):  # tables are sorted, or repeat every few rows
        agree = inside[lag:] == inside[:-lag]
        assert binomtest(int(agree.sum()), len(agree)).pvalue > 1e-4
        assert binomtest(int(inside[::lag].sum()), len(inside[::lag])).pvalue > 1e-4
