"""Shifts along a curve: what is counted at every step is what the written model decides, between knots and at them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier

from boosters import BOOSTED
from draws import people, two_groups
from eifffel import ViewMismatchError, view_ensemble
from eifffel.leaves.placing import PlacedRows
from eifffel.rows.coding import Coding
from eifffel.strategies import ShiftOrder, _curve

MODELS = {
    "forest": RandomForestClassifier(6, random_state=0),
    "shallow forest": RandomForestClassifier(5, max_depth=3, random_state=0),
    "pure forest": ExtraTreesClassifier(4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=3, random_state=0),
}


def place(view, X, y, s):
    rows = Coding(view.classes, view.favorable, two_groups()).encode(X, y, s, rows="rows")
    return PlacedRows(X, view.apply(view.check_rows(X)), rows, "rows")


def draw_curve(random, view, n_prices, n_knots):
    """Directions some leaves have none of, and knots that now and then stay, turn back or move one price alone."""
    directions = random.normal(size=(n_prices, view.n_leaves)) * (random.rand(n_prices, view.n_leaves) < 0.8)
    directions /= 1 if random.rand() < 0.5 else view.n_trees
    moves = random.normal(size=(n_knots - 1, n_prices)) * (random.rand(n_knots - 1, n_prices) < 0.7)
    knots = np.concatenate([np.zeros((1, n_prices)), np.cumsum(moves, axis=0)])
    if random.rand() < 0.3:
        knots[-1] = 0
    return ShiftOrder(directions, knots, np.zeros(1))


def check_steps(view, order, rows, X, steps):
    counts = order.replay(view, rows, n_jobs=1, verbose=0)
    assert counts.shape == (order.n_steps + 1, 2, 2)
    for step in steps:
        leaf_value, scale = order.edit(view, step)
        decided = view_ensemble(view.write(leaf_value), favorable=view.favorable).model_decides(X)
        np.testing.assert_array_equal(rows.rows.weigh_cells(decided), counts[step], err_msg=f"step {step}")
        assert 0 < scale <= 1


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    name=st.sampled_from(sorted(MODELS)),
    favorable=st.sampled_from([0, 1]),
    n_prices=st.integers(1, 3),
    n_knots=st.integers(2, 6),
    cut=st.sampled_from([None, None, 0.3, 0.6]),
)
def test_every_step_of_a_curve_is_what_the_written_model_decides(seed, name, favorable, n_prices, n_knots, cut):
    random = np.random.RandomState(seed)
    X, y, s = people(60, seed)
    model = MODELS[name].fit(X, y)
    if cut is not None:
        model = FixedThresholdClassifier(FrozenEstimator(model), threshold=cut, pos_label=1).fit(X, y)
    view = view_ensemble(model, favorable=favorable)
    rows = place(view, X, y, s)
    order = draw_curve(random, view, n_prices, n_knots).on_rows(view, rows)
    check_steps(view, order, rows, X, range(order.n_steps + 1))
    # Other rows, of which no step was made, with crossings everywhere.
    X, y, s = people(40, seed + 1)
    check_steps(view, order, place(view, X, y, s), X, random.randint(0, order.n_steps + 1, 5))


@pytest.mark.parametrize("name", BOOSTED)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**20))
def test_curves_of_every_boosted_model(name, seed):
    random = np.random.RandomState(seed)
    X, y, s = people(400, seed)
    view = view_ensemble(BOOSTED[name](X, y))
    rows = place(view, X, y, s)
    order = draw_curve(random, view, 2, 4).on_rows(view, rows)
    check_steps(view, order, rows, X, random.randint(0, order.n_steps + 1, 6))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**20), n_prices=st.integers(1, 3), n_knots=st.integers(3, 6))
def test_no_decision_along_a_curve_is_passed_over(seed, n_prices, n_knots):
    random = np.random.RandomState(seed)
    X, y, s = people(25, seed)
    view = view_ensemble(MODELS["boosting"].fit(X, y))
    rows = place(view, X, y, s)
    order = draw_curve(random, view, n_prices, n_knots).on_rows(view, rows)
    assert (np.diff(order.reach) > 0).all()
    assert order.reach[-1] <= n_knots - 1

    def decide(places):
        pull = np.stack([view.sum_leaves(rows.index, direction) for direction in order.directions])
        return view.row_scores(rows.index) - order.prices_at(places) @ pull

    found = {tuple(decided) for decided in (decide(order.reach) > 0).tolist()}
    everywhere = decide(np.linspace(0, n_knots - 1, 500))
    sure = (np.abs(everywhere) > 1e-9).all(axis=1)
    assert {tuple(decided) for decided in (everywhere[sure] > 0).tolist()} <= found


def test_a_line_and_a_curve_that_does_not_bend_count_the_same():
    X, y, s = people(200, 3)
    view = view_ensemble(MODELS["histograms"].fit(X, y))
    rows = place(view, X, y, s)
    direction = np.random.RandomState(0).normal(size=view.n_leaves) / view.n_trees
    line = ShiftOrder.straight(direction).on_rows(view, rows)
    far = float(np.ceil(line.reach[-1]))
    knots = np.linspace(0, far, int(far) + 2)[:, None]
    curve = ShiftOrder(direction[None], knots, np.zeros(1)).on_rows(view, rows)
    np.testing.assert_allclose(curve.prices_at(curve.reach)[:-1, 0], line.reach[:-1])  # which end at different places
    np.testing.assert_array_equal(
        curve.replay(view, rows, n_jobs=1, verbose=0), line.replay(view, rows, n_jobs=2, verbose=0)
    )


def test_counts_of_a_curve_are_additive_over_rows():
    X, y, s = people(300, 5)
    view = view_ensemble(MODELS["boosting"].fit(X, y))
    order = draw_curve(np.random.RandomState(1), view, 2, 5).on_rows(view, place(view, X[:100], y[:100], s[:100]))
    whole = order.replay(view, place(view, X, y, s), n_jobs=2, verbose=0)
    halves = [place(view, X[part], y[part], s[part]) for part in (slice(0, 130), slice(130, 300))]
    np.testing.assert_array_equal(sum(order.replay(view, half, n_jobs=1, verbose=0) for half in halves), whole)


def test_where_ties_would_change_sides_there_is_no_step(monkeypatch):
    # Between the second and the third knot all leaves are raised; ties of a forest then fall otherwise.
    X, y, s = people(200, 1)
    view = view_ensemble(RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y), favorable=1)
    rows = place(view, X, y, s)
    directions = np.stack([np.random.RandomState(0).rand(view.n_leaves), np.ones(view.n_leaves)]) / 20
    order = ShiftOrder(directions, np.array([[0.0, 0], [1, 0], [-1, -1], [1, 1]]), np.zeros(1)).on_rows(view, rows)
    assert view.ties_along(directions, order.knots[1], order.knots[2]) is None
    inside = (order.reach > 1) & (order.reach < 3)
    assert not inside.any()
    assert order.n_steps > 2
    check_steps(view, order, rows, X, range(order.n_steps + 1))


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**20), n_prices=st.integers(1, 3))
def test_ties_along_a_line_are_no_wider_than_leaves_are_moved(seed, n_prices):
    random = np.random.RandomState(seed)
    X, y, _ = people(60, seed)
    view = view_ensemble(MODELS["shallow forest"].fit(X, y), favorable=0)
    directions = random.normal(size=(n_prices, view.n_leaves))
    begin, end = random.normal(size=(2, n_prices)) * random.choice([0, 1], (2, n_prices))
    at_begin, more = view.ties_along(directions, begin, end)
    for along in np.linspace(0, 1, 11):
        size = view.n_trees * np.abs((begin + along * (end - begin)) @ directions).max()
        assert at_begin + along * more <= view.near_ties(np.zeros((view.n_trees, 1), int), directions).tie_rounding * (
            1 + size / max(view._sides)
        )


def test_leaves_are_listed_by_how_far_they_are_moved_at_a_step():
    directions = np.array([[1.0, 0.0, 0.5, 0.0], [0.0, 2.0, -1.0, 0.0]])
    order = ShiftOrder(directions, np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0.0, 1.0, 2.0]))
    assert order.score.tolist() == [1.0, 2.0, -0.5, 0.0]
    assert order.leaves_at(0).tolist() == []
    assert order.leaves_at(1).tolist() == [0, 2, 1]
    assert order.leaves_at(2).tolist() == [1, 0, 2]
    assert [order.n_edited(step) for step in (0, 1, 2)] == [0, 3, 3]
    assert order.matches(4)
    assert not order.matches(5)


def test_few_steps_at_which_a_model_must_be_asked_are_kept_along_a_curve(monkeypatch):
    X, y, s = people(400, 2, n_values=2)
    model = GradientBoostingClassifier(n_estimators=4, init="zero", max_depth=2, random_state=0).fit(X, y)
    view = view_ensemble(model)
    rows = place(view, X, y, s)
    monkeypatch.setattr(_curve, "MOST_ASKED", 0)
    order = draw_curve(np.random.RandomState(4), view, 2, 4)
    few = order.on_rows(view, rows)
    again = replace(few)  # which has to find the lines of rows anew
    np.testing.assert_array_equal(
        few.replay(view, rows, n_jobs=1, verbose=0), again.replay(view, rows, n_jobs=1, verbose=0)
    )


@pytest.mark.parametrize("cut", [None, 0.3])
@pytest.mark.parametrize(
    "knots", [[[0.0], [-1.0], [-2.0]], [[0.0], [1.0], [0.0], [0.0]], [[0.0], [1.0], [-1.0]], [[0.0], [0.0], [2.0]]]
)
def test_one_price_that_falls_below_nothing(knots, cut):
    X, y, s = people(200, 4, n_values=2)
    model = RandomForestClassifier(4, random_state=0).fit(X, y)
    if cut is not None:
        model = FixedThresholdClassifier(FrozenEstimator(model), threshold=cut, pos_label=0).fit(X, y)
    for favorable in (0, 1):
        view = view_ensemble(model, favorable=favorable)
        rows = place(view, X, y, s)
        direction = np.random.RandomState(0).rand(view.n_leaves) * (np.arange(view.n_leaves) % 3 > 0) / 20
        order = ShiftOrder(direction[None], np.array(knots), np.zeros(1)).on_rows(view, rows)
        check_steps(view, order, rows, X, range(order.n_steps + 1))


def test_prices_that_cancel_each_other():
    # One leaf holds a tie; each price by itself moves it far, and both together hardly.
    X, y, s = np.repeat([[0.0], [1.0]], 40, axis=0), np.tile([0, 1], 40), np.tile([0, 0, 1, 1], 20)
    y[40:] = 1
    view = view_ensemble(RandomForestClassifier(1, bootstrap=False, random_state=0).fit(X, y))
    rows = place(view, X, y, s)
    random = np.random.RandomState(0)
    for _ in range(300):
        size = random.choice([1.0, 150.0, 3e4]) * (1 + random.rand(2))
        directions = np.stack([size, size * (1 + random.choice([0, 1e-3, 0.1], 2))])
        knots = np.array([[0.0, 0.0], [1.0, -1.0], [1.0 + random.rand() / 10, -1.0]]) * (1 + random.rand())
        order = ShiftOrder(directions, knots, np.zeros(1)).on_rows(view, rows)
        check_steps(view, order, rows, X, range(order.n_steps + 1))


def test_steps_where_ties_change_sides_are_refused():
    X, y, s = people(200, 1)
    view = view_ensemble(RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y), favorable=1)
    directions = np.ones((2, view.n_leaves)) / 20
    damaged = ShiftOrder(directions, np.array([[0.0, 0], [-1, -1], [-2, -2]]), np.array([0.0, 0.5]))
    with pytest.raises(ViewMismatchError, match="ties of its model change sides, and no path has steps there"):
        damaged.replay(view, place(view, X, y, s), n_jobs=1, verbose=0)


def test_a_line_along_which_hardly_anything_moves():
    X, y, s = people(100, 1)
    view = view_ensemble(MODELS["boosting"].fit(X, y))
    rows = place(view, X, y, s)
    order = ShiftOrder.straight(np.full(view.n_leaves, 1e-25)).on_rows(view, rows)
    check_steps(view, order, rows, X, range(0, order.n_steps + 1, 5))


def test_an_order_holds_no_model_after_it_was_replayed():
    X, y, s = people(100, 1)
    view = view_ensemble(MODELS["boosting"].fit(X, y))
    rows = place(view, X, y, s)
    order = draw_curve(np.random.RandomState(0), view, 2, 4).on_rows(view, rows)
    order.replay(view, rows, n_jobs=1, verbose=0)
    held = {name for name, value in vars(order).items() if value is not None}
    assert held == {"directions", "knots", "reach"}, "or it could not be stored"


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_threads_find_what_one_finds(name, monkeypatch):
    X, y, s = people(300, 5)
    view = view_ensemble(MODELS[name].fit(X, y))
    rows, order = place(view, X, y, s), draw_curve(np.random.RandomState(1), view, 3, 5)
    alone = order.on_rows(view, rows)
    expected = alone.replay(view, rows, n_jobs=1, verbose=0)
    assert alone.n_steps > 10
    for module in ("strategies._curve", "strategies._steps"):
        monkeypatch.setattr(f"eifffel.{module}.jobs_for", lambda n_pairs, n_jobs: n_jobs)
    for n_jobs in (2, 3):
        together = order.on_rows(view, rows, n_jobs=n_jobs)
        np.testing.assert_array_equal(together.reach, alone.reach)
        np.testing.assert_array_equal(together.replay(view, rows, n_jobs=n_jobs, verbose=0), expected)
