"""Intervals of rates, differences and ratios."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eifffel.intervals import difference_interval, rate_interval, ratio_interval

COUNTS = st.integers(1, 500).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole)))


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.99]))
def test_a_rate_has_wilsons_interval(counts, confidence):
    low, high = rate_interval(*counts, confidence)
    theirs = binomtest(*counts).proportion_ci(confidence, method="wilson")
    np.testing.assert_allclose([low, high], [theirs.low, theirs.high], atol=1e-12)


def test_differences_are_those_that_newcombe_printed():
    """Newcombe (1998), Statistics in Medicine 17, table II, method 10."""
    cases = [
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((5, 56, 0, 29), (-0.0381, 0.1926)),
        ((0, 10, 0, 20), (-0.1611, 0.2775)),
        ((10, 10, 0, 10), (0.6075, 1.0000)),
    ]
    for counts, printed in cases:
        np.testing.assert_allclose(difference_interval(*counts), printed, atol=5e-5)


@given(COUNTS, COUNTS)
def test_intervals_hold_the_estimate_and_turn_with_the_order(one, other):
    low, high = difference_interval(*one, *other)
    difference = one[0] / one[1] - other[0] / other[1]
    assert -1 - 1e-9 <= low <= difference + 1e-12
    assert difference - 1e-12 <= high <= 1 + 1e-9
    np.testing.assert_allclose(difference_interval(*other, *one), (-high, -low), atol=1e-12)
    low, high = ratio_interval(*one, *other)
    if one[0] and other[0]:
        ratio = one[0] / one[1] / (other[0] / other[1])
        assert low <= ratio * (1 + 1e-9)
        assert ratio <= high * (1 + 1e-9)
        np.testing.assert_allclose(ratio_interval(*other, *one), (1 / high, 1 / low), rtol=1e-9)
    else:
        assert np.isnan(low)
        assert np.isnan(high)


def test_nothing_to_count_has_no_interval():
    assert np.isnan(rate_interval(0, 0)).all()
    assert np.isnan(difference_interval(0, 0, 1, 2)).all()


def test_the_95_percent_interval_of_a_ratio_holds_it_about_95_times_in_100():
    random = np.random.default_rng(0)
    part, other = random.binomial(400, 0.3, 4000), random.binomial(600, 0.4, 4000)
    low, high = ratio_interval(part, 400, other, 600)
    inside = ((low <= 0.75) & (high >= 0.75)).mean()
    assert inside == pytest.approx(0.95, abs=0.012)  # three standard errors
