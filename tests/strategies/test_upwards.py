"""Upwards: nobody loses a favourable decision, at any step, whoever they are."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import FixedThresholdClassifier

from boosters import BOOSTED
from draws import parity, people, problems, row_weights, two_groups
from eifffel import trace_path, view_ensemble
from eifffel.datasets import make_biased_classification
from eifffel.leaves.placing import PlacedRows
from eifffel.rows.coding import Coding
from eifffel.strategies import _shift

X, y, s = people(300, seed=0)
OTHERS, _, _ = people(400, seed=1)


def trace_up(model, **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # coarse rows hardly tell groups apart, and are narrowed
        return trace_path(model, X, y, sensitive_features=s, direction="up", **changes)


def check_nobody_loses(path, rows, steps):
    view = view_ensemble(path.model, favorable=path.favorable)
    before = view.model_decides(rows)
    for step in steps:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            edited = view_ensemble(path.model_at(step), favorable=path.favorable)
        assert not (before & ~edited.model_decides(rows)).any()


@settings(max_examples=60, deadline=None)
@given(problem=problems(), strategy=st.sampled_from(["leaf", "tree"]), seed=st.integers(0, 99))
def test_flips(problem, strategy, seed):
    path = problem.trace(strategy=strategy, direction="up")
    assert path.direction == "up"
    flips = path.flips(path.n_steps)
    assert (flips["after"] > flips["before"]).all()
    assert (np.diff(path.counts.favorable, axis=0) >= 0).all()
    steps = {path.n_steps, path.n_steps // 2, min(1, path.n_steps)}
    for rows in (problem.X, people(100, seed)[0]):
        check_nobody_loses(path, rows, steps)


@pytest.mark.parametrize("name", BOOSTED)
def test_shifts_of_boosted_models(name):
    path = trace_up(BOOSTED[name](X, y), strategy="shift")
    assert (path.order.score <= 0).all()
    assert (np.diff(path.counts.favorable, axis=0) >= 0).all()
    for rows in (X, OTHERS):
        check_nobody_loses(path, rows, np.linspace(0, path.n_steps, 6).astype(int))


@pytest.mark.parametrize("favorable", [0, 1])
@pytest.mark.parametrize("n_trees", [10, 20, 50])
def test_ties_of_full_grown_forests_are_not_lost_by_rounding(n_trees, favorable):
    people, fresh = (make_biased_classification(n, random_state=seed) for seed, n in ((0, 600), (1, 1500)))
    model = RandomForestClassifier(n_trees, random_state=0).fit(people.data, people.target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = trace_path(
            model,
            people.data,
            people.target,
            sensitive_features=people.sensitive,
            strategy="shift",
            direction="up",
            favorable=favorable,
        )
    for rows in (people.data, fresh.data):
        check_nobody_loses(path, rows, np.unique(np.linspace(0, path.n_steps, 10).astype(int)))


@pytest.mark.parametrize("favorable", [0, 1])
@pytest.mark.parametrize("threshold", [None, 0.3, 0.7])
@pytest.mark.parametrize("strategy", ["leaf", "tree", "shift"])
def test_forests_with_a_cut_off(strategy, threshold, favorable):
    model = RandomForestClassifier(8, max_depth=4, random_state=0)
    if threshold is not None:
        model = FixedThresholdClassifier(model, threshold=threshold, response_method="predict_proba")
    path = trace_up(model.fit(X, y), strategy=strategy, favorable=favorable)
    assert path.n_steps
    for rows in (X, OTHERS):
        check_nobody_loses(path, rows, np.linspace(0, path.n_steps, 8).astype(int))


def test_the_direction_is_least_squares_among_those_that_take_nothing_off():
    people = make_biased_classification(400, random_state=0)
    model = BOOSTED["gradient boosting"](people.data, people.target)
    view = view_ensemble(model)
    rows = Coding(view.classes, view.favorable, two_groups()).encode(
        people.data, people.target, people.sensitive, rows="rows"
    )
    placed = PlacedRows(people.data, view.apply(view.check_rows(people.data)), rows, "rows")
    found = _shift.order_shift(view, placed, parity(), direction="up").score
    indicators = np.zeros((400, view.n_leaves))
    for t, leaf in enumerate(placed.index):
        indicators[np.arange(400), view.leaf_offset[t] + leaf] = 1
    damped = np.vstack([indicators, np.sqrt(_shift.DAMPING) * np.eye(view.n_leaves)])
    target = np.concatenate([row_weights(rows), np.zeros(view.n_leaves)])

    def squares(direction):
        return ((damped @ direction - target) ** 2).sum()

    best = lsq_linear(damped, target, (-np.inf, 1e-12), tol=1e-12).x
    clipped = np.minimum(lsq_linear(damped, target, tol=1e-12).x, 0)
    assert (found <= 0).all()
    assert squares(found) - squares(best) < 0.05 * (squares(clipped) - squares(best))


def test_a_direction_that_is_none():
    with pytest.raises(ValueError, match="direction must be one of 'any', 'up', got 'down'"):
        trace_path(BOOSTED["histograms"](X, y), X, y, sensitive_features=s, direction="down")
