"""Where a bound is not certified, the rows that are said to be needed are about those that would do."""

from types import SimpleNamespace

import numpy as np
import pytest

from draws import parity
from eifffel.intervals import difference_limit, ratio_limit
from eifffel.rows.groups import read_groups
from eifffel.selection.bounds import Bounds
from eifffel.selection.counts import PathCounts
from eifffel.selection.shortfall import find_shortfall, say_shortfall

DRAWS = 3000


def make(sizes, rates):
    """Counts of one step, of groups with these sizes and rates; of two, the second is privileged."""
    names = list("abcdefgh"[: len(sizes)])
    groups = read_groups(names, privileged="b" if len(names) == 2 else None)
    totals = np.array(sizes)[:, None]
    favorable = np.rint(totals * np.array(rates)[:, None]).astype(int)
    return PathCounts(favorable[None], totals, "selection rows", totals[:, 0], parity(groups))


def find(counts, **asked):
    return find_shortfall(counts, np.zeros(1, bool), 0, Bounds(confidence=0.95, **asked))


def certified(counts, needed, **asked):
    """How often new rows of people with these rates, so many of those that are named, would certify the bound."""
    constraint = counts.constraint
    rates = counts.favorable[0, :, 0] / counts.n_rows
    n_rows = np.array([needed.get(name, n) for name, n in zip(constraint.names, counts.n_rows, strict=True)])
    drawn = np.random.default_rng(0).binomial(n_rows, rates, (DRAWS, len(n_rows)))[:, :, None]
    new = PathCounts(drawn, n_rows[:, None], counts.rows, n_rows, constraint)
    return (Bounds(confidence=0.95, **asked).measure_excess(new) <= 0).mean()


CASES = {
    "two groups": (make([50, 500], [0.3, 0.29]), {"epsilon": 0.05}),
    "two groups, both too small": (make([60, 60], [0.3, 0.29]), {"epsilon": 0.05}),
    "two groups, few favourable": (make([100, 200], [0.05, 0.06]), {"epsilon": 0.05}),
    "a ratio": (make([100, 400], [0.5, 0.52]), {"ratio": 0.8}),
    "a ratio, both too small": (make([100, 120], [0.5, 0.52]), {"ratio": 0.9}),
    "three groups, one small": (make([60, 800, 900], [0.3, 0.31, 0.29]), {"epsilon": 0.07}),
    "three groups, all too small": (make([150, 160, 140], [0.3, 0.32, 0.28]), {"epsilon": 0.1}),
    "five groups": (make([70, 300, 200, 500, 90], [0.4, 0.42, 0.38, 0.41, 0.4]), {"epsilon": 0.12}),
    "a ratio of three groups": (make([60, 800, 900], [0.5, 0.52, 0.49]), {"ratio": 0.8}),
}


@pytest.mark.parametrize("case", CASES)
def test_so_many_rows_do_about_four_times_in_five(case):
    counts, asked = CASES[case]
    short = find(counts, **asked)
    assert short.kind == "rows"
    assert short.rows_needed
    assert all(short.rows_needed[name] > short.n_rows[name] for name in short.rows_needed)
    often = certified(counts, short.rows_needed, **asked)
    assert 0.7 < often < 0.87


def test_the_limit_is_what_was_reached():
    difference, ratio = find(make([50, 500], [0.3, 0.28]), epsilon=0.05), find(make([60, 400], [0.5, 0.5]), ratio=0.8)
    assert (difference.pair, ratio.pair) == (("b", "a"), ("b", "a"))
    assert difference.value == pytest.approx(-0.02)
    assert difference.limit == pytest.approx(difference_limit(140, 500, 15, 50, 0.95))
    assert ratio.value == 1
    assert ratio_limit(200, 400, 30, 60, ratio.limit, 0.95) == pytest.approx(0, abs=1e-5)
    assert ratio.limit < 0.8


@pytest.mark.parametrize(
    ("rates", "asked", "value"),
    [
        ([0.3, 0.31, 0.5], {"epsilon": 0.1}, 0.2),
        ([0.3, 0.31, 0.5], {"ratio": 0.8}, 0.6),
        ([0.1, 0.5], {"epsilon": 0.1}, 0.4),
        ([0.0, 0.0], {"ratio": 0.8}, None),
    ],
)
def test_where_rates_themselves_are_beyond_the_bound_no_rows_help(rates, asked, value):
    short = find(make([1000] * len(rates), rates), **asked)
    assert (short.kind, short.rows_needed) == ("beyond", {})
    assert np.isnan(short.value) if value is None else short.value == pytest.approx(value)
    if len(rates) > 2:
        assert short.pair == ("c", "a")


def test_where_that_may_be_chance_it_is_not_said_that_no_rows_help():
    short = find(make([30, 40, 50], [0.3, 0.3, 0.42]), epsilon=0.1)
    assert (short.kind, short.rows_needed) == ("unclear", {})
    said = say_shortfall(SimpleNamespace(shortfall=short, ratio=None, directed=False))
    assert "its discrimination is 0.12 between c and a, which may be chance: more rows may help, and these" in said


def test_in_words():
    counts = make([60, 800, 900], [0.3, 0.31, 0.29])
    short = find(counts, epsilon=0.07)
    selection = SimpleNamespace(shortfall=short, ratio=None, directed=False)
    assert say_shortfall(selection) == (
        "not even the last step can be certified; for that, about 1,100 rows of group 'a' (there are 60), 1,300 rows "
        "of group 'b' (there are 800) and 1,500 rows of group 'c' (there are 900) would be needed, to succeed four "
        "times in five. Allow a larger epsilon, or less confidence"
    )
    beyond = find(make([1000] * 3, [0.3, 0.31, 0.5]), ratio=0.8)
    said = say_shortfall(SimpleNamespace(shortfall=beyond, ratio=0.8, directed=False))
    assert "; its ratio is 0.6 between c and a, so that more rows would hardly help. Allow a smaller ratio" in said
