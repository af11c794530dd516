"""Where a bound is not certified, the rows that are said to be needed are about those that would do."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from draws import parity
from eifffel.intervals import difference_limit, ratio_limit
from eifffel.rows.groups import read_groups
from eifffel.selection.bounds import SIDES, Bounds
from eifffel.selection.certify import certify, find_nearest
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


def find(counts, searched=None, **asked):
    return find_shortfall(
        counts, searched, np.zeros(1, bool), np.ones(1, bool), 0, Bounds(confidence=0.95, **asked), None
    )


def certified(counts, needed, **asked):
    """How often new rows of people with these rates, so many of those that are named, would certify the bound."""
    constraint = counts.constraint
    rates = counts.favorable[0, :, 0] / counts.n_rows
    n_rows = np.array([needed.get(name, n) for name, n in zip(constraint.names, counts.n_rows, strict=True)])
    drawn = np.random.default_rng(0).binomial(n_rows, rates, (DRAWS, len(n_rows)))[:, :, None]
    new = PathCounts(drawn, n_rows[:, None], counts.rows, n_rows, constraint)
    bounds = Bounds(confidence=0.95, **asked)
    within = [bounds.measure_excess(new, exchanged=exchanged) <= 0 for exchanged in (False, True)]
    return np.logical_and(*within).mean() if bounds.sides == "both" else within[0].mean()


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


@pytest.mark.parametrize(
    ("case", "sides"),
    [
        (case, sides)
        for case, (counts, _) in CASES.items()
        for sides in (SIDES if len(counts.totals) == 2 else SIDES[:1])
    ],
)
def test_so_many_rows_do_about_four_times_in_five(case, sides):
    counts, asked = CASES[case]
    asked = {**asked, "sides": sides}
    short = find(counts, **asked)
    assert short.kind == "rows"
    assert short.rows_needed
    assert all(short.rows_needed[name] > short.n_rows[name] for name in short.rows_needed)
    often = certified(counts, short.rows_needed, **asked)
    assert 0.7 < often < 0.87


def test_the_limit_is_what_was_reached():
    few = make([50, 500], [0.3, 0.28])
    upper, both = find(few, epsilon=0.05, sides="upper"), find(few, epsilon=0.05)
    assert upper.pair == both.pair == ("b", "a")
    assert upper.value == pytest.approx(both.value) == pytest.approx(-0.02)
    assert upper.limit == pytest.approx(difference_limit(140, 500, 15, 50, 0.95))
    # In both directions it is the lower limit that is further beyond the bound.
    assert both.limit == pytest.approx(-difference_limit(15, 50, 140, 500, 0.975))
    ratio = find(make([60, 400], [0.5, 0.5]), ratio=0.8, sides="upper")
    assert (ratio.pair, ratio.value) == (("b", "a"), 1)
    assert ratio_limit(200, 400, 30, 60, ratio.limit, 0.95) == pytest.approx(0, abs=1e-5)
    assert ratio.limit < 0.8


def test_of_rows_in_two_parts_those_of_both_are_counted():
    counts, asked = CASES["five groups"]
    alone, with_others = find(counts, **asked), find(counts, searched=counts, **asked)
    assert with_others.n_rows == {name: 2 * n for name, n in alone.n_rows.items()}
    for name, n in with_others.rows_needed.items():
        assert n == pytest.approx(2 * alone.rows_needed[name], rel=0.1)  # each is rounded up to two digits


def test_a_group_of_few_rows_that_alone_stands_in_the_way_is_named():
    def few(sizes, rates, **asked):
        return find(make(sizes, rates), **asked).few_rows

    assert few([60, 8000, 9000], [0.3, 0.31, 0.29], epsilon=0.07) == {"a": 60}
    assert few([60, 8000, 9000, 0], [0.3, 0.31, 0.29, 0.3], epsilon=0.07) == {"a": 60, "d": 0}
    assert few([60, 8000, 0], [0.3, 0.31, 0.29], epsilon=0.07) == {}, "nor without two of three"
    assert few([800, 800, 900], [0.3, 0.31, 0.29], epsilon=0.01) == {}, "without all of them nothing is left"
    assert few([300, 80_000, 90_000], [0.3, 0.31, 0.29], epsilon=0.06) == {"a": 300}  # all others keep it
    assert few([60, 900], [0.3, 0.29], epsilon=0.07) == {}, "of two groups none can be left out"


def test_groups_of_no_more_rows_are_left_out_with_it():
    """The option leaves out all of so few rows, whether they stand in the way or not."""
    found = find(make([60, 8000, 9000, 40], [0.3, 0.31, 0.29, 0.0]), epsilon=0.07)
    assert found.few_rows == {"a": 60, "d": 40}
    assert find(make([60, 8000, 40], [0.3, 0.31, 0.0]), epsilon=0.07).few_rows == {}, "two would not be left"


def test_of_whom_there_is_nobody_is_said():
    searched = make([40, 900, 800], [0.25, 0.3, 0.3])
    short = find(make([0, 900, 800], [0.0, 0.3, 0.3]), searched, epsilon=0.1)
    assert (short.kind, short.absent, short.rows_needed, short.few_rows) == ("absent", ("a",), {}, {"a": 40})
    assert np.isnan(short.value)
    assert np.isnan(short.limit)
    assert say_shortfall(SimpleNamespace(shortfall=short, ratio=None, alpha=None, directed=False)) == (
        "of group 'a' there is nobody among the rows that certify steps. Put groups together, or give more rows to "
        "choose on; or leave groups of few rows out of the bound with min_group_rows=41: 'a' (40 rows) has too "
        "few for it, of the scoring rows or of those to choose on, whichever are fewer"
    )


@pytest.mark.parametrize("sides", SIDES)
def test_where_tests_end_on_the_way_is_the_step_that_ended_them(sides):
    """Of the walks from the two ends, each of which may end before it comes to the nearest step."""
    steps = {"both": [(0.3, 0.2), (0.3, 0.3), (0.3, 0.31), (0.3, 0.3)], "upper": [(0.3, 0.3), (0.3, 0.5)]}[sides]
    steps = [make([2000, 2000], rates) for rates in steps]
    counts = PathCounts(
        np.concatenate([one.favorable for one in steps]), *(getattr(steps[0], k) for k in ("totals", "rows", "n_rows")),
        steps[0].constraint,
    )  # fmt: skip
    bounds = Bounds(epsilon=0.06, confidence=0.95, sides=sides)
    nearest = int(np.argmin(find_nearest(counts, bounds, None)))
    certified_steps = certify(counts, bounds, None)
    assert not certified_steps.any()
    short = find_shortfall(counts, None, certified_steps, np.ones(len(steps), bool), nearest, bounds, None)
    assert short.kind == "blocked"
    assert short.steps == {"both": (1, 0), "upper": (0, 1)}[sides]
    assert short.at_the_end == (sides == "upper")
    assert (short.pair, round(short.value, 6)) == (("b", "a"), {"both": -0.1, "upper": 0.2}[sides])
    assert short.limit == pytest.approx(
        -difference_limit(600, 2000, 400, 2000, 0.975)
        if sides == "both"
        else difference_limit(1000, 2000, 600, 2000, 0.95)
    )


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


def test_of_several_differences_tests_end_on_the_way_from_where_they_start():
    """By itself the second step would be certified; tests start at the first, which is not."""
    steps = [make([2000] * 3, rates) for rates in ([0.3, 0.3, 0.5], [0.3, 0.3, 0.3])]
    counts = replace(steps[0], favorable=np.concatenate([one.favorable for one in steps]))
    bounds = Bounds(epsilon=0.06, confidence=0.95)
    for start, certified_steps in ((1, [False, True]), (0, [False, False])):
        assert certify(counts, bounds, start).tolist() == certified_steps
    short = find_shortfall(counts, None, np.zeros(2, bool), np.ones(2, bool), 1, bounds, 0)
    assert (short.kind, short.steps, short.pair, round(short.value, 6)) == ("blocked", (1, 0), ("c", "a"), 0.2)
    said = say_shortfall(SimpleNamespace(shortfall=short, ratio=None, alpha=None, directed=False))
    assert "at step 0, of which the discrimination is 0.2 between c and a with a limit of 0.2" in said


def test_where_that_may_be_chance_it_is_not_said_that_no_rows_help():
    short = find(make([30, 40, 50], [0.3, 0.3, 0.42]), epsilon=0.1)
    assert (short.kind, short.rows_needed) == ("unclear", {})
    said = say_shortfall(SimpleNamespace(shortfall=short, ratio=None, alpha=None, directed=False))
    assert "its discrimination is 0.12 between c and a on these rows; more rows may help, but these do not say" in said


def test_in_words():
    counts = make([60, 800, 900], [0.3, 0.31, 0.29])
    short = find(counts, epsilon=0.07)
    selection = SimpleNamespace(shortfall=short, ratio=None, alpha=None, directed=False)
    assert say_shortfall(selection) == (
        "about 1,600 rows of group 'a' (there are 60), 1,600 rows of group 'b' (there are 800) and 1,600 rows of group "
        "'c' (there are 900) would be needed to choose on, to certify a step four times in five. Allow a larger "
        "epsilon, or less confidence, or give more rows to choose on; or leave groups of few rows out of the bound "
        "with min_group_rows=61: 'a' (60 rows) has too few for it, of the scoring rows or of those to choose on, "
        "whichever are fewer"
    )
    beyond = find(make([1000] * 3, [0.3, 0.31, 0.5]), ratio=0.8)
    said = say_shortfall(SimpleNamespace(shortfall=beyond, ratio=0.8, alpha=None, directed=False))
    assert (
        ": its ratio is 0.6 between c and a on these rows, no step is within the bound, and more rows would hardly"
        in said
    )
    limited = say_shortfall(SimpleNamespace(shortfall=beyond, ratio=0.8, alpha=0.01, directed=False))
    assert (
        "no step that keeps alpha is within the bound, and more rows would hardly help. Allow a larger alpha or a "
        "smaller ratio" in limited
    )


@pytest.mark.parametrize(("epsilon", "kind"), [(0.1, "unclear"), (0.06, "rows")])
def test_where_chance_alone_kept_rows_from_certifying_a_step(epsilon, kind):
    """Rates among all rows are alike, and so many that certify would mostly do; these did not."""
    short = find(make([900] * 3, [0.3, 0.41, 0.3]), make([20_000] * 3, [0.3] * 3), epsilon=epsilon)
    assert short.kind == kind
    assert all(needed > short.n_rows[name] for name, needed in short.rows_needed.items())
    assert bool(short.rows_needed) == (kind == "rows")


@pytest.mark.parametrize("asked", [{"epsilon": 0.1}, {"ratio": 0.8}])
def test_more_than_a_hundred_times_the_rows_is_no_advice(asked):
    rates = [0.3, 0.399] if "epsilon" in asked else [0.241, 0.3]
    assert find(make([1000, 1000], rates), **asked).kind == "unclear"


def test_what_leaves_a_group_out_is_what_its_fewest_rows_are_compared_with():
    """Of scoring and selection rows a group has the fewer in the former, which the words count too."""
    counts = make([255, 8000, 9000], [0.3, 0.31, 0.29])
    constraint = counts.constraint.on_rows(np.array([[170], [5000], [9000]]), counts.totals, rows="rows")
    short = find(replace(counts, constraint=constraint), epsilon=0.06)
    assert (short.few_rows, short.min_group_rows) == ({"a": 170}, 171)
    chosen = SimpleNamespace(shortfall=short, ratio=None, alpha=None, directed=False)
    assert (
        "out of the bound with min_group_rows=171: 'a' (170 rows) has too few for it, of the scoring rows"
        in say_shortfall(chosen)
    )
    assert "out of the bound: 'a' (170 rows) has too few" in say_shortfall(chosen, name_options=False)
    assert (counts.constraint.on_rows(np.array([[170], [5000], [9000]]), rows="rows").fewest == [170, 5000, 9000]).all()
    left = replace(constraint, min_rows=171).on_rows(np.array([[170], [5000], [9000]]), counts.totals, rows="rows")
    assert left.left_out == ("a",)


def test_a_group_is_not_called_too_small_for_being_the_smallest():
    """Its rate differs by more than the bound, and it has a fifth of all rows."""
    assert find(make([996, 2000, 2004], [0.4, 0.3, 0.3]), epsilon=0.1).few_rows == {}
    assert find(make([30, 2000, 2004], [0.4, 0.3, 0.3]), epsilon=0.1).few_rows == {"a": 30}


def test_groups_without_which_another_step_would_do_are_named():
    """The step that brings two small groups of one attribute within the bound breaks it for the other attribute."""
    groups = read_groups({"sex": ["f", "m", "f", "m"], "race": ["w", "x", "y", "z"]})
    sizes = {"w": 4000, "x": 3000, "y": 60, "z": 50}
    totals = np.array([[sizes[race]] for _, race in groups])
    first = [0.3 if race in "wx" else {"y": 0.24, "z": 0.36}[race] for _, race in groups]
    second = [{"f": 0.2, "m": 0.4}[sex] if race in "wx" else 0.3 for sex, race in groups]
    favorable = np.rint(totals * np.array([first, second])[..., None]).astype(int)
    counts = PathCounts(favorable, totals, "selection rows", totals[:, 0], parity(groups))
    short = find_shortfall(counts, None, *np.array([[0, 0], [1, 1]], bool), 1, Bounds(confidence=0.95, epsilon=0.08), 1)
    assert short.few_rows == {"race y": 120, "race z": 100}
    assert short.min_group_rows == 121
