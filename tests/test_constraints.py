"""Constraints: rates of (group, label) cells, compared as they say."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eifffel import metrics
from eifffel.constraints import ALIASES, CONSTRAINTS, make_constraint
from eifffel.rows.groups import read_groups

CELLS = {"demographic_parity": [(0, 1)], "equal_opportunity": [(1,)], "predictive_equality": [(0,)]}
CELLS["equalized_odds"] = [*CELLS["equal_opportunity"], *CELLS["predictive_equality"]]


def drawn_groups(n_sexes, n_races, combine, privileged):
    values = {"sex": np.arange(n_sexes * n_races) % n_sexes, "race": np.arange(n_sexes * n_races) // n_sexes}
    chosen = {"sex": 0, "race": n_races - 1} if privileged else None
    return read_groups(values, combine=combine, privileged=chosen)


def rates_by_hand(groups, combine, labels, chosen, totals):
    """For each attribute and set of labels, {value: rate}, as fractions."""
    keys = [lambda group: group] if combine == "intersection" else [lambda group: group[0], lambda group: group[1]]
    for key in keys:
        for of_label in labels:
            found = {}
            for value in sorted({key(group) for group in groups}):
                inside = [g for g, group in enumerate(groups) if key(group) == value]
                cells = [(g, k) for g in inside for k in of_label]
                found[value] = Fraction(sum(int(chosen[c]) for c in cells), sum(int(totals[c]) for c in cells))
            yield found


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    name=st.sampled_from(sorted(CONSTRAINTS)),
    combine=st.sampled_from(["each", "intersection"]),
    sizes=st.sampled_from([(2, 2), (2, 3), (3, 2)]),
    privileged=st.booleans(),
)
def test_the_largest_difference_is_the_largest(seed, name, combine, sizes, privileged):
    random = np.random.RandomState(seed)
    groups = drawn_groups(*sizes, combine, privileged)
    totals = random.randint(1, 6, (len(groups), 2))
    favorable = random.randint(0, totals + 1, (4, len(groups), 2))
    constraint = make_constraint(name, groups)
    worst, ratio = constraint.worst(favorable, totals), constraint.worst_ratio(favorable, totals)
    for step in range(4):
        differences, ratios = [], []
        for rates in rates_by_hand(list(groups), combine, CELLS[name], favorable[step], totals):
            for a, b in permutations(rates, 2):
                differences.append(rates[a] - rates[b])
                ratios.append(rates[b] / rates[a] if rates[a] else None)
        if not privileged:
            assert worst.value[step] == float(max(differences))
            known = [r for r in ratios if r is not None]
            assert ratio[step] == pytest.approx(float(min(known))) if known else np.isnan(ratio[step])
        high, low = worst.high[step], worst.low[step]
        assert constraint.family[high] == constraint.family[low]
        of_high, of_low = (
            Fraction(int(favorable[step][constraint.members[k]].sum()), int(totals[constraint.members[k]].sum()))
            for k in (high, low)
        )
        assert worst.value[step] == float(of_high - of_low)
        assert not privileged or constraint.reference[[high, low]].any()
        bounded = [
            abs(
                Fraction(int(favorable[step][constraint.members[a]].sum()), int(totals[constraint.members[a]].sum()))
                - Fraction(int(favorable[step][constraint.members[b]].sum()), int(totals[constraint.members[b]].sum()))
            )
            for a, b in constraint.pairs
        ]
        assert abs(worst.value[step]) == float(max(bounded))


@settings(max_examples=100, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 2), min_size=2, max_size=4),
    privileged=st.booleans(),
    seed=st.integers(0, 2**20),
)
def test_sides_without_rows_have_no_rate(sizes, privileged, seed):
    groups = read_groups(list("abcd"[: len(sizes)]), privileged="a" if privileged else None)
    constraint, totals = make_constraint("demographic_parity", groups), np.array(sizes)[:, None]
    favorable = np.random.RandomState(seed).randint(0, totals + 1, (3, *totals.shape))
    worst = constraint.worst(favorable, totals)
    for step in range(3):
        rates = {k: favorable[step, k, 0] / n for k, n in enumerate(sizes) if n}
        differences = [rates[a] - rates[b] for a, b in permutations(rates, 2) if not privileged or 0 in (a, b)]
        if not differences:
            assert np.isnan(worst.value[step])
        elif constraint.directed:
            assert worst.value[step] == pytest.approx(rates[0] - rates[1])
        else:
            assert abs(worst.value[step]) == pytest.approx(max(differences))
            assert worst.value[step] == pytest.approx(rates[worst.high[step]] - rates[worst.low[step]])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**20), name=st.sampled_from(sorted(CONSTRAINTS)), n_groups=st.integers(2, 5))
def test_a_constraint_bounds_the_metric_of_its_name(seed, name, n_groups):
    random = np.random.RandomState(seed)
    groups = read_groups(np.arange(n_groups))
    totals = random.randint(1, 6, (n_groups, 2))
    favorable = random.randint(0, totals + 1, (3, n_groups, 2))
    got = np.abs(make_constraint(name, groups).worst(favorable, totals).value)
    np.testing.assert_allclose(got, metrics.METRICS[f"{name}_difference"](favorable, totals), atol=1e-12)


def test_names_of_fairlearn_are_understood():
    groups = read_groups([0, 1, 2])
    assert {make_constraint(alias, groups).name for alias in ALIASES} == set(CONSTRAINTS)
    reductions = pytest.importorskip("fairlearn.reductions")
    assert all(hasattr(reductions, alias) for alias in ALIASES if alias[0].isupper())
    assert make_constraint("EqualizedOdds", groups).name == "equalized_odds"
    with pytest.raises(
        ValueError, match=r"constraint must be one of 'demographic_parity', .*, got 'parity'; fairlearn's"
    ):
        make_constraint("parity", groups)


def test_small_groups_are_left_out_unless_there_are_two():
    groups = read_groups({"sex": list("fmfm"), "race": list("xyzx")})
    constraint = make_constraint("demographic_parity", groups, min_group_rows=10)
    rows = np.array([[5, 5], [2, 0], [9, 9], [0, 0], [2, 1], [20, 0]])  # fx fy fz mx my mz
    kept = constraint.on_rows(rows, rows="rows")
    assert kept.left_out == ("race y",)
    assert [kept.names[k] for k in np.unique(kept.pairs)] == ["sex f", "sex m", "race x", "race z"]
    with pytest.raises(ValueError, match="sex m has no rows among the measured rows"):
        constraint.on_rows(np.where(np.arange(6)[:, None] < 3, rows, 0), rows="the measured rows")
    alone = make_constraint("demographic_parity", read_groups(list("xyz")), min_group_rows=10)
    with pytest.raises(
        ValueError, match=r"fewer than two groups have 10 rows or more among rows \(x 10, y <10, z <10\)"
    ):
        alone.on_rows(np.array([[5, 5], [9, 0], [0, 0]]), rows="rows")
    # Of a rate among people of one label, these are the rows that count.
    odds = make_constraint("equalized_odds", read_groups(list("xyz")), min_group_rows=10)
    found = odds.on_rows(np.array([[20, 20], [20, 9], [20, 20]]), rows="rows")
    assert found.left_out == ("y with the favourable label",)


def test_a_privileged_group_that_is_too_small_bounds_nothing():
    constraint = make_constraint("demographic_parity", read_groups(list("xyz"), privileged="z"))
    with pytest.raises(
        ValueError, match="z, with whom all others are compared, has 10 rows among rows, fewer than min_gr"
    ):
        constraint.on_rows(np.array([[50, 50], [50, 50], [5, 5]]), rows="rows")


def test_a_sign_is_for_one_difference_alone():
    groups = read_groups({"sex": list("fmfm"), "race": list("xyzx")}, privileged={"sex": "m"})
    constraint = make_constraint("demographic_parity", groups)
    assert not constraint.directed
    # fx fy fz mx my mz: sex differs by -0.3 from m, race by 0.2.
    totals = np.full((6, 2), 50)
    favorable = np.array([[[40, 40], [30, 30], [30, 30], [10, 10], [10, 10], [10, 10]]])
    worst = constraint.worst(favorable, totals)
    assert worst.value[0] == pytest.approx(7 / 15)
    assert (constraint.names[worst.high[0]], constraint.names[worst.low[0]]) == ("sex f", "sex m")
    assert constraint.worst_ratio(favorable, totals)[0] == pytest.approx(0.3)
    odds = make_constraint("equalized_odds", read_groups([0, 1], privileged=1))
    assert not odds.directed
    assert len(odds.pairs) == 4


def test_rates_among_one_label_need_labels():
    constraint = make_constraint("equal_opportunity", read_groups([0, 1]))
    with pytest.raises(ValueError, match="equal_opportunity compares rates among people of one label; give y"):
        constraint.count_sides(np.ones((2, 1)))


def test_a_ratio_is_the_smaller_over_the_larger_whoever_has_it():
    constraint = make_constraint("demographic_parity", read_groups([0, 1], privileged=1))
    totals = np.full((2, 2), 50)
    favorable = np.array([[[20, 20], [10, 10]], [[10, 10], [20, 20]], [[0, 0], [20, 20]]])
    assert constraint.directed
    assert constraint.worst_ratio(favorable, totals).tolist() == [0.5, 0.5, 0.0]


def test_a_group_must_have_rows_enough_in_every_table():
    constraint = make_constraint("demographic_parity", read_groups(list("xyz")), min_group_rows=10)
    many, few = np.array([[9, 9], [9, 9], [9, 9]]), np.array([[9, 9], [2, 2], [9, 9]])
    assert constraint.on_rows(many, rows="rows").left_out == ()
    assert constraint.on_rows(many, few, rows="rows").left_out == ("y",)
    assert constraint.on_rows(few, many, rows="rows").left_out == ("y",)


def test_what_is_compared_in_words():
    groups = read_groups(list("xyz"))
    assert make_constraint("equalized_odds", groups).words == (
        "largest difference of true positive rates or false positive rates"
    )
    assert make_constraint("demographic_parity", groups).words == "largest difference of selection rates"
    two = make_constraint("equal_opportunity", read_groups([0, 1], privileged=1))
    assert two.words == "privileged minus unprivileged true positive rate"
