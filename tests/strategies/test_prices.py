"""Prices are those of the dual of a linear programme; calibration, and which differences have a price."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import expit
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from eifffel import trace_path, view_ensemble
from eifffel.constraints import CONSTRAINTS, make_constraint
from eifffel.datasets import make_biased_classification
from eifffel.leaves.placing import PlacedRows
from eifffel.rows.coding import Rows
from eifffel.rows.groups import read_groups
from eifffel.strategies import _prices
from eifffel.strategies._calibration import ScoreCalibration, calibrate
from eifffel.strategies._directions import count_people
from eifffel.strategies._prices import soften
from eifffel.strategies._shift import goes_along_curve


def draw_constraint(random, name, n_groups, privileged):
    groups = read_groups(random.permutation(np.arange(3 * n_groups) % n_groups), privileged=privileged)
    constraint = make_constraint(name, groups, min_group_rows=0)
    return groups, constraint


def draw_people(seed, name="equalized_odds", n_groups=2, n_rows=400, surprise=0.0):
    """Rows whose margins and likenesses are drawn, and hang together with their groups and labels.

    Their likeness to the sides is off by noise, and by a ``surprise`` for each that all have in common.
    """
    random = np.random.RandomState(seed)
    _, constraint = draw_constraint(random, name, n_groups, None)
    group = random.randint(0, n_groups, n_rows).astype(np.uint8)
    score = random.normal(size=n_rows) + group / 2
    label = (score + random.normal(size=n_rows) > 0.3).astype(np.uint8)
    rows = Rows(group, label, random.randint(1, 4, n_rows), 1, n_groups)
    differences = _prices.Differences.of(constraint, random.rand(len(constraint.members)))
    share = rows.weight / rows.weight.sum()
    sizes = constraint.count_sides(rows.weigh_cells()) / rows.weight.sum()
    inside = constraint.members[differences.sides].reshape(len(differences.sides), -1)[:, rows.cell].T
    noise = 0.3 * random.normal(size=(n_rows, len(differences.sides))) + surprise
    likeness = (inside / sizes[differences.sides] + noise) @ differences.of_sides
    return _prices.PricedRows(np.tanh(score), likeness, share, rows, constraint, differences, n_rows)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    name=st.sampled_from(sorted(CONSTRAINTS)),
    n_groups=st.integers(2, 4),
    named=st.booleans(),
)
def test_every_bounded_difference_follows_from_those_that_have_a_price(seed, name, n_groups, named):
    random = np.random.RandomState(seed)
    _, constraint = draw_constraint(random, name, n_groups, 0 if named else None)
    rates = random.rand(len(constraint.members))
    differences = _prices.Differences.of(constraint, rates)
    values = rates[differences.sides] @ differences.of_sides
    # Rates, but for what those of a family have in common, and so the differences of all pairs.
    known = dict(zip(differences.sides.tolist(), differences.priced @ values, strict=True))
    for a, b in constraint.pairs.tolist():
        assert known[a] - known[b] == pytest.approx(rates[a] - rates[b])
    if n_groups == 2 and not named:
        assert (values >= 0).all(), "the favoured side is first"


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    bound=st.sampled_from([0.0, 0.02, 0.1, 0.3]),
    name=st.sampled_from(sorted(CONSTRAINTS)),
    n_groups=st.integers(2, 3),
)
def test_prices_are_the_best_of_the_dual(seed, bound, name, n_groups):
    people = draw_people(seed, name, n_groups)
    excess = 0.02 * np.random.RandomState(seed).normal(size=len(people.differences.sides)) @ people.differences.of_sides
    prices = people.find_prices(bound, excess, np.zeros(people.n_prices))
    share, likeness, priced = people.share, people.likeness, people.differences.priced
    owed = bound * np.abs(people.differences.paid @ prices).sum()
    dual = share @ np.maximum(0, people.margin - likeness @ prices) - excess @ prices + owed
    # max sum p m x, 0 <= x <= 1, |difference of each bounded pair| <= bound
    of_side = np.zeros((len(people.constraint.members), people.n_prices))
    of_side[people.differences.sides] = priced
    a, b = people.constraint.pairs.T
    of_pairs = np.concatenate([of_side[a] - of_side[b], of_side[b] - of_side[a]])
    expected = (share[:, None] * likeness).T
    solved = linprog(
        -share * people.margin, A_ub=of_pairs @ expected, b_ub=bound - of_pairs @ excess, bounds=(0, 1), method="highs"
    )
    if solved.status != 0:  # no rule keeps the bound; prices stay within reason
        assert np.abs(prices).max() < 100 * _prices.MOST_UNITS
        return
    assert dual >= -solved.fun - 1e-9, "the dual is never below"
    assert dual <= -solved.fun + 0.01


def test_what_is_counted_is_corrected_for():
    people = draw_people(1, n_rows=4000, surprise=np.array([0.2, 0.0, 0.0, 0.1]))
    knots = _prices.find_knots(people, sweep=0.0)
    assert knots[0].tolist() == [0, 0]
    assert people.worst(knots[-1]) < 0.05 < people.worst(knots[0])
    believed = _prices.find_knots(people, sweep=0.0, trust=0.0)
    assert people.worst(knots[-1]) < people.worst(believed[-1])
    # The end goes around prices of no difference.
    swept = _prices.find_knots(people)
    np.testing.assert_allclose(swept[: len(knots)], knots)
    counted = np.array([people.count(people.decide(prices)) for prices in swept[len(knots) :]])
    assert (counted.min(axis=0) < 0).all()
    assert (counted.max(axis=0) > 0).all()


def test_of_several_differences_a_sweep_would_be_too_long():
    people = draw_people(1, n_groups=3)
    assert people.n_prices == 6
    np.testing.assert_array_equal(_prices.find_knots(people), _prices.find_knots(people, sweep=0.0))


def test_sides_without_rows_are_not_counted():
    people = draw_people(3)
    none = Rows(np.zeros_like(people.rows.group), people.rows.label, people.rows.weight, 1, 2)
    alone = _prices.PricedRows(
        people.margin, people.likeness, people.share, none, people.constraint, people.differences, 400
    )
    favorable = alone.decide(np.zeros(2))
    np.testing.assert_array_equal(alone.count(favorable), alone.expect(favorable))
    assert np.isfinite(_prices.find_knots(alone)).all()


@pytest.mark.parametrize("weight", [1.0, 5.0])
def test_calibration_finds_slope_and_class_weights(weight):
    random = np.random.RandomState(0)
    view = view_ensemble(GradientBoostingClassifier(n_estimators=2).fit([[0], [1], [2], [3]], [0, 1, 0, 1]))
    score = 2 * random.normal(size=200_000)
    # Among people as they are, the favourable label is rarer by the weight than where labels are weighed.
    label = (random.rand(len(score)) < expit(0.7 * score - np.log(weight))).astype(int)
    found = calibrate(view, score, label, np.ones(len(score)), len(score))
    assert found.slope == pytest.approx(0.7, rel=0.03)
    assert found.class_weight[1] / found.class_weight[0] == pytest.approx(weight, rel=0.05)
    np.testing.assert_allclose(found.margin(score), 2 * found.probability(score) - 1, atol=1e-12)
    np.testing.assert_allclose(found.score_per_margin(score) * found.margin(score), score, atol=1e-9)
    assert found.score_per_margin(np.array([0.0, 1e-12])).tolist() == [2 / found.slope] * 2
    shares = found.label_shares(score)
    likely = shares[1] / shares.sum(axis=0)  # among people as they are
    assert likely.mean() == pytest.approx(label.mean(), abs=0.01)


def test_calibration_without_labels_is_what_the_model_says():
    boosted = view_ensemble(GradientBoostingClassifier(n_estimators=2).fit([[0], [1], [2], [3]], [0, 1, 0, 1]))
    forest = view_ensemble(RandomForestClassifier(2).fit([[0], [1], [2], [3]], [0, 1, 0, 1]))
    for view, slope in ((boosted, 1.0), (forest, 4.0)):
        assert calibrate(view, np.ones(3), None, np.ones(3), 3).slope == pytest.approx(slope)
    # Scores that say the opposite order people all the same.
    assert calibrate(boosted, np.array([-1.0, 1.0] * 500), np.array([1, 0] * 500), np.ones(1000), 1000).slope > 0
    assert isinstance(calibrate(boosted, np.ones(4), np.ones(4), np.ones(4), 4), ScoreCalibration)


def test_error_rates_of_people_who_are_not_rows_are_evened_out():
    people = make_biased_classification(24_000, random_state=0)
    X, y, s = people.data, people.target, people.sensitive
    model = GradientBoostingClassifier(n_estimators=40, random_state=0).fit(X[:6000], y[:6000])
    part = slice(6000, 12_000)
    path = trace_path(
        model,
        X[:6000],
        y[:6000],
        sensitive_features=s[:6000],
        constraint="equalized_odds",
        select_on=(X[part], y[part], s[part]),
    )
    later = path.measure(X[12_000:], y[12_000:], s[12_000:])
    choice = path.select(epsilon=0.02)
    assert choice.met
    assert later.discrimination[0] > 0.05
    assert later.discrimination[choice.step] < 0.03
    assert later.accuracy_drop[choice.step] < 0.03
    path.model_at(choice)


def trace_odds(weight=None, repeat=1):
    people = make_biased_classification(6000, random_state=0)
    X, y, s = np.round(people.data, 1), people.target, people.sensitive
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X[:3000], y[:3000])
    chosen = [np.repeat(column[3000:], repeat, axis=0) for column in (X, y, s)]
    return trace_path(
        model,
        X[:3000],
        y[:3000],
        sensitive_features=s[:3000],
        sample_weight=weight,
        constraint="equalized_odds",
        select_on=tuple(chosen),
    )


def test_weights_of_scoring_rows_count_in_error_rates():
    random = np.random.RandomState(0)
    path, weighted = trace_odds(), trace_odds(random.uniform(0.5, 1.5, 3000))
    # Weights that say nothing leave the directions nearly as they were.
    likeness = np.corrcoef(path.order.directions.ravel(), weighted.order.directions.ravel())[0, 1]
    assert likeness > 0.9
    assert weighted.select(epsilon=0.02).met


def test_people_are_counted_however_rows_are_put_together():
    rows = Rows(np.zeros(6, np.uint8), None, np.array([1, 1, 2, 0, 3, 1]), 1)
    placed = PlacedRows(None, np.zeros((1, 6), np.uint8), rows, "rows", n_rows=8)
    assert count_people(placed) == 8
    assert count_people(replace(placed, n_rows=None)) == 5  # none of whom weighs nothing
    weighted = replace(placed, n_rows=None, rows=replace(rows, unit=0.5))
    assert count_people(weighted) == pytest.approx(8**2 / (1 + 1 + 4 + 9 + 1))


def test_where_shifts_go_along_a_curve():
    groups = {n: read_groups(list(range(n))) for n in (2, 3)}

    def goes(name, n_groups, direction="any"):
        return goes_along_curve(make_constraint(name, groups[n_groups]), direction)

    assert goes("equalized_odds", 2)
    assert not goes("equalized_odds", 2, "up")
    assert not goes("equalized_odds", 3)
    assert not any(goes(name, n) for name in CONSTRAINTS for n in (2, 3) if name != "equalized_odds")


def test_the_softened_step_is_the_usual_formula():
    z = np.concatenate([np.linspace(-60, 60, 4001), [0.0, -0.0, 1e300, -1e300, 39.999999, 40.0, -40.0]])
    soft, rise = soften(z)
    np.testing.assert_allclose(soft, np.logaddexp(0, z), rtol=0, atol=1e-14)
    np.testing.assert_allclose(rise, expit(z), rtol=0, atol=1e-15)
