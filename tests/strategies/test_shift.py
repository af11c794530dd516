"""Shifting: the direction is damped least squares, the path what deciding at every lambda gives."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import FixedThresholdClassifier

from draws import parity, people, roles, row_weights, two_groups
from eifffel import (
    EiFFFeLClassifier,
    IndistinctGroupsWarning,
    ModelChangedError,
    NarrowProbabilitiesWarning,
    PrivilegedGroupWarning,
    UnsupportedModelError,
    ViewMismatchError,
    trace_path,
    view_ensemble,
)
from eifffel.datasets import make_biased_classification
from eifffel.leaves.placing import PlacedRows
from eifffel.rows.coding import Coding, Rows
from eifffel.strategies import ShiftOrder, _shift, _steps, resolve_strategy
from eifffel.strategies._least_squares import LeastSquares
from eifffel.strategies._weighing import find_cell_weights, weigh_rows


class DrawnSquares:
    """Leaves of rows, and the indicators of them as the matrix that the product never makes."""

    def __init__(self, seed, n_trees, n_rows):
        random = np.random.RandomState(seed)
        sizes = random.randint(1, 5, n_trees)
        self.offset = np.concatenate([[0], np.cumsum(sizes)])
        self.index = np.array([random.randint(0, size, n_rows) for size in sizes], np.uint8).reshape(n_trees, n_rows)
        self.weight = random.uniform(0.2, 3, n_rows)
        self.target = random.normal(size=n_rows)
        self.indicators = np.zeros((n_rows, self.offset[-1]))
        for t, leaf in enumerate(self.index):
            self.indicators[np.arange(n_rows), self.offset[t] + leaf] = 1

    def squares(self, n_jobs=None):
        return LeastSquares(self.index, self.offset, self.weight, self.target, n_jobs)

    def damped(self, damping):
        """The rows of the ordinary least-squares problem that is the damped one."""
        n_leaves = self.offset[-1]
        A = np.vstack([self.indicators * np.sqrt(self.weight)[:, None], np.sqrt(damping) * np.eye(n_leaves)])
        return A, np.concatenate([self.target * np.sqrt(self.weight), np.zeros(n_leaves)])


drawn_squares = st.builds(DrawnSquares, st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 40))


@settings(max_examples=60, deadline=None)
@given(drawn=drawn_squares, damping=st.sampled_from([0.5, 3.0, 30.0]))
def test_the_direction_is_damped_least_squares(drawn, damping):
    A, b = drawn.damped(damping)
    expected = np.linalg.lstsq(A, b, rcond=None)[0]
    np.testing.assert_allclose(drawn.squares().solve(damping, 200), expected, atol=1e-8)
    np.testing.assert_array_equal(drawn.squares(2).solve(damping, 20), drawn.squares(1).solve(damping, 20))


@settings(max_examples=40, deadline=None)
@given(drawn=drawn_squares, share=st.sampled_from([0.1, 0.5, 0.9, 2.0]))
def test_the_bounded_direction_is_bounded_least_squares(drawn, share):
    A, b = drawn.damped(3.0)
    free = np.linalg.lstsq(A, b, rcond=None)[0]
    low, high = share * np.abs(free).max() * np.random.RandomState(0).uniform([[-1], [0]], [[0], [1]], (2, len(free)))
    expected = lsq_linear(A, b, (low, high + 1e-9), tol=1e-12).x
    found = drawn.squares().solve_within(low, high, free, 3.0, 2000)
    assert (found >= low).all()
    assert (found <= high).all()
    np.testing.assert_allclose(found, expected, atol=1e-5)


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10_000), n_rows=st.integers(1, 30), rounding=st.sampled_from([0.0, 1e-12, 1e-3, 0.1]))
def test_steps_lie_between_the_crossings_that_rounding_tells_apart(seed, n_rows, rounding):
    random = np.random.RandomState(seed)
    start = random.choice([-1, -0.5, 0, 0.5, 1], n_rows) * random.choice([1, 1, random.uniform()], n_rows)
    pull = random.choice([-1, -0.1, 0, 1, 2], n_rows) * random.choice([1, 1, random.uniform()], n_rows)
    ends = _steps.find_crossings(start, pull, np.abs(pull) > 0, rounding, 0.0)
    positions = _steps.find_between(*ends, np.inf)
    assert positions[0] == 0
    assert (np.diff(positions) > 0).all()
    score = start[:, None] - positions[1:] * pull[:, None]
    pulled = np.abs(pull) > 0
    assert (np.abs(score[pulled]) > rounding).all(), "at a step, no decision is in doubt"
    # Neighbouring steps decide some row differently, and no crossing that stands alone is left out.
    decided = score > 0
    assert (decided[:, 1:] != decided[:, :-1]).any(axis=0).all()
    start, pull, decided = start[pulled], pull[pulled], decided[pulled]
    crossing, reach = start / pull, rounding / np.abs(pull)
    for i in np.flatnonzero(crossing - reach > 0):
        others = np.flatnonzero((crossing + reach > 0) & (np.arange(len(pull)) != i))
        if (np.abs(crossing[others] - crossing[i]) > reach[others] + reach[i]).all():
            between = np.searchsorted(positions, crossing[i])
            assert 0 < between < len(positions)
            assert decided[i, between - 1] != (start[i] > 0)


def place(view, X, y, s):
    rows = Coding(view.classes, view.favorable, two_groups()).encode(X, y, s, rows="rows")
    return PlacedRows(X, view.apply(view.check_rows(X)), rows, "rows")


MODELS = {
    "forest": RandomForestClassifier(6, random_state=0),
    "shallow forest": RandomForestClassifier(5, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=3, random_state=0),
}


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), name=st.sampled_from(sorted(MODELS)), favorable=st.sampled_from([0, 1]))
def test_the_path_is_what_writing_and_predicting_at_every_step_gives(seed, name, favorable):
    X, y, s = people(60, seed)
    model = MODELS[name].fit(X, y)
    if len(model.classes_) < 2 or len(np.unique(s)) < 2:
        return
    view = view_ensemble(model, favorable=favorable)
    rows = place(view, X, y, s)
    direction = np.random.RandomState(seed).normal(size=view.n_leaves) / view.n_trees
    order = ShiftOrder.straight(direction).on_rows(view, rows)
    counts = order.replay(view, rows, n_jobs=1, verbose=0)
    assert counts.shape == (order.n_steps + 1, 2, 2)
    for step in range(order.n_steps + 1):
        leaf_value, scale = order.edit(view, step)
        decided = view.write(leaf_value).predict(X) == favorable
        np.testing.assert_array_equal(rows.rows.weigh_cells(decided), counts[step])
        assert 0 < scale <= 1
        if view.votes:
            assert leaf_value.min() >= 0
            assert leaf_value.max() <= 1


def test_rows_are_counted_the_same_whatever_the_steps_were_made_of():
    X, y, s = people(400, seed=2)
    model = MODELS["boosting"].fit(X, y)
    view = view_ensemble(model)
    order = _shift.order_shift(view, place(view, X[:200], y[:200], s[:200]), parity())
    order = order.on_rows(view, place(view, X[:200], y[:200], s[:200]))
    other = place(view, X[200:], y[200:], s[200:])
    counts = order.replay(view, other, n_jobs=2, verbose=0)
    for step in np.linspace(0, order.n_steps, 20).astype(int):
        decided = view.write(order.edit(view, step)[0]).predict(X[200:]) == 1
        np.testing.assert_array_equal(other.rows.weigh_cells(decided), counts[step])
    # Additive over rows.
    halves = [place(view, X[part], y[part], s[part]) for part in (slice(200, 300), slice(300, 400))]
    np.testing.assert_array_equal(sum(order.replay(view, half, n_jobs=1, verbose=0) for half in halves), counts)


def test_row_weights_sum_to_the_discrimination():
    rows = Rows(np.array([1, 1, 1, 0], np.uint8), None, np.array([1, 1, 2, 4]), 1)
    cells, _ = find_cell_weights(None, PlacedRows(None, None, rows, ""), parity(), None, None, None)
    weight = weigh_rows(rows, cells)
    np.testing.assert_allclose(weight, [2, 2, 2, -2])
    chosen = np.array([True, False, True, True])
    rate = 3 / 4 - 4 / 4
    assert (rows.weight * weight * chosen).sum() / rows.weight.sum() == pytest.approx(rate)


BIASED = make_biased_classification(6000, random_state=0)
X, y, s = BIASED.data, BIASED.target, BIASED.sensitive
HELD_OUT = (X[3000:], y[3000:], s[3000:])


def trace(model, **changes):
    given = {"sensitive_features": s[:3000], "strategy": "shift", "select_on": HELD_OUT} | changes
    return trace_path(model, X[:3000], y[:3000], **given)


@pytest.fixture(scope="module", params=["forest", "boosting"])
def path(request):
    kinds = {
        "forest": RandomForestClassifier(40, max_depth=8, random_state=0),
        "boosting": GradientBoostingClassifier(random_state=0),
    }
    return trace(kinds[request.param].fit(X[:3000], y[:3000]))


def test_a_bound_is_met_with_little_loss(path):
    assert path.strategy == "shift"
    choice = path.select(epsilon=0.01)
    assert choice.met
    assert choice.accuracy_drop < 0.06 < path.discrimination[0]
    assert path.positions[0] == 0
    assert (np.diff(path.positions) > 0).all()
    assert len(path.positions) == path.n_steps + 1
    frame = path.to_frame() if pytest.importorskip("pandas") else None
    np.testing.assert_array_equal(frame["position"], path.positions)


def test_the_edited_model_decides_as_the_path_says(path):
    X, _, s = HELD_OUT
    choice = path.select(epsilon=0.02)
    fair = path.model_at(choice.step)
    decided = fair.predict(X)
    got = decided[s == path.privileged].mean() - decided[s != path.privileged].mean()
    assert got == pytest.approx(choice.discrimination, abs=1e-12)
    probability = fair.predict_proba(X)
    assert probability.min() >= 0
    assert probability.max() <= 1


def test_records_say_what_was_shifted(path):
    step = path.select(epsilon=0.05).step
    records = path.flips(step)
    assert len(records) == path.n_flips(step) > 0
    assert path.n_flips(0) == len(path.flips(0)) == 0
    view = view_ensemble(path.model_at(step))
    leaf = np.array([np.flatnonzero((view.leaf_tree == r["tree"]) & (view.leaf_node == r["leaf"]))[0] for r in records])
    np.testing.assert_allclose(view.favor(view.leaf_value)[leaf], records["after"], atol=1e-12)
    assert (np.diff(np.abs(records["score"])) <= 0).all()
    assert (records["step"] == 1).all()
    if not view.votes:
        shift = path.positions[step] * records["score"]
        np.testing.assert_allclose(records["before"] - records["after"], shift, atol=1e-12)
    inside = records[["unprivileged_unfavorable", "unprivileged_favorable", "privileged_unfavorable"]][0]
    assert sum(inside) >= 0


def test_rules_of_a_shifted_forest_say_by_how_much():
    path = trace(RandomForestClassifier(3, max_depth=2, random_state=0).fit(X[:3000], y[:3000]))
    records, rules = path.flips(5), path.rules(5)
    for record, rule in zip(records, rules, strict=True):
        change = record["after"] - record["before"]
        assert rule.becomes == f"{'more' if change > 0 else 'less'} favorable by {abs(change):.3g}"
        assert (rule.tree, rule.leaf) == (record["tree"], record["leaf"])


def test_rules_of_boosted_ensembles_are_not_there_yet():
    path = trace(GradientBoostingClassifier(n_estimators=20).fit(X[:3000], y[:3000]))
    with pytest.raises(UnsupportedModelError, match="rules are read from scikit-learn's averaged trees, not yet from"):
        path.rules(1)


def test_the_scale_keeps_probabilities_and_a_small_one_warns():
    path = trace(RandomForestClassifier(40, max_depth=8, random_state=0).fit(X[:3000], y[:3000]))
    scales = np.array([path.scale(step) for step in np.linspace(0, path.n_steps, 30).astype(int)])
    assert scales[0] == 1
    assert (np.diff(scales) <= 0).all()
    useful = path.select(epsilon=0.01).step
    assert path.scale(useful) >= 0.5
    path.model_at(useful)
    with pytest.warns(NarrowProbabilitiesWarning, match=r"step \d+ the leaves had to be scaled by [0-9.e-]+ to stay"):
        edited = path.model_at(path.n_steps)
    assert edited.predict_proba(X).min() >= 0
    assert edited.predict_proba(X).max() <= 1


def test_a_path_that_was_stored_has_no_rows_of_people(path):
    again = pickle.loads(pickle.dumps(path))
    assert path.rows_to_check is not None
    assert again.rows_to_check is None
    assert len(pickle.dumps(path)) < len(pickle.dumps(path.rows_to_check.X)) + len(pickle.dumps(again))
    np.testing.assert_array_equal(again.positions, path.positions)
    step = path.select(epsilon=0.02).step
    np.testing.assert_array_equal(again.model_at(step).predict(X), path.model_at(step).predict(X))


def test_a_written_model_that_decides_otherwise_is_caught(path, monkeypatch):
    step = path.select(epsilon=0.02).step
    path.rows_to_check.favorable[step, 0, 0] += 5
    try:
        with pytest.raises(ViewMismatchError, match=rf"decides 5 rows otherwise than the path says for step {step}"):
            path.model_at(step)
    finally:
        path.rows_to_check.favorable[step, 0, 0] -= 5
    path.model_at(step)
    monkeypatch.setattr(type(view_ensemble(path.model)), "holds", lambda self, leaf_value: False)
    with pytest.raises(ViewMismatchError, match="read otherwise"):
        path.model_at(step)


def test_weights_count_rows_in_the_direction_and_in_the_path():
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X[:3000], y[:3000])
    weight = np.random.RandomState(0).randint(1, 4, 3000)
    weighted = trace(model, select_on=None, sample_weight=weight)
    plain = trace(model, select_on=None)
    decided = model.predict(X[:3000])
    rates = [np.average(decided[s[:3000] == g], weights=weight[s[:3000] == g]) for g in weighted.groups]
    assert weighted.discrimination[0] == pytest.approx(rates[1] - rates[0])
    assert np.abs(weighted.order.score - plain.order.score).max() > 1e-3
    # In what unit they are given is all the same.
    small = trace(model, select_on=None, sample_weight=weight * 1e-3)
    np.testing.assert_allclose(small.order.score, weighted.order.score, atol=1e-3)
    equal = trace(model, select_on=None, sample_weight=np.full(3000, 7.0))
    np.testing.assert_array_equal(equal.order.score, plain.order.score)


def test_auto_is_leaf_where_leaves_vote_and_shift_where_they_correct():
    forest = RandomForestClassifier(3, random_state=0).fit(X[:3000], y[:3000])
    boosted = GradientBoostingClassifier(n_estimators=20).fit(X[:3000], y[:3000])
    one = trace(forest, strategy="auto")
    assert one.strategy == "leaf"
    assert trace(boosted, strategy="auto").strategy == "shift"
    for estimator, strategy in ((forest, "leaf"), (boosted, "shift")):
        clf = EiFFFeLClassifier(estimator, epsilon=0.1, random_state=0)
        assert clf.fit(X, y, sensitive_features=s).path_.strategy == strategy
    assert resolve_strategy("auto", view_ensemble(forest), one.constraint) == "leaf"


def test_flips_of_a_boosted_ensemble_are_refused_before_training():
    class Untrainable(GradientBoostingClassifier):
        def fit(self, X, y):
            raise AssertionError("trained")

    with pytest.raises(UnsupportedModelError, match="are corrections to the trees before them, not votes"):
        EiFFFeLClassifier(Untrainable(), strategy="leaf").fit(X, y, sensitive_features=s)


def test_a_path_that_cannot_move_has_step_0_only():
    """Groups that no leaf tells apart: the direction is nothing."""
    model = GradientBoostingClassifier(n_estimators=3).fit(X[:3000], y[:3000])
    view = view_ensemble(model)
    order = ShiftOrder.straight(np.zeros(view.n_leaves)).on_rows(view, place(view, X, y, s))
    np.testing.assert_array_equal(order.positions, [0])
    assert order.replay(view, place(view, X, y, s), n_jobs=1, verbose=0).shape == (1, 2, 2)


def test_a_bound_that_only_the_end_of_the_path_meets_is_found():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = trace(GradientBoostingClassifier(random_state=0).fit(X[:3000], y[:3000]))
        assert path.discrimination.min() < 0 < path.discrimination[0]
        for epsilon in (0.2, 0.1, 0.05, 0.02, 0.01, 0.005):
            choice = path.select(epsilon=epsilon)
            assert choice.met
            assert abs(choice.discrimination) <= epsilon


def test_groups_that_the_leaves_hardly_tell_apart_are_warned_of():
    random = np.random.RandomState(0)
    score = random.normal(size=4000)
    group = (score + 2 * random.normal(size=4000) > 0).astype(int)  # favoured, and unseen but for the score
    label = (score + 0.5 * random.normal(size=4000) > 0).astype(int)
    rows = np.column_stack([score, random.normal(size=(4000, 2))])
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(rows[:2000], label[:2000])
    given = {"sensitive_features": group[:2000], "select_on": (rows[2000:], label[2000:], group[2000:])}
    with pytest.warns(IndistinctGroupsWarning, match=r"the privileged person first in \d\d%, where 50% is chance"):
        path = trace_path(model, rows[:2000], label[:2000], **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert path.select(epsilon=0.01).accuracy_drop > 0.1  # and so it is


def test_the_direction_is_that_of_the_weighted_rows():
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X[:3000], y[:3000])
    view = view_ensemble(model)
    placed = place(view, X[:3000], y[:3000], s[:3000])
    weight = np.random.RandomState(0).randint(1, 4, 3000)
    rows = replace(placed.rows, weight=weight)
    weighted = _shift.order_shift(view, replace(placed, rows=rows), parity())
    target = row_weights(rows)
    squares = LeastSquares(placed.index, view.leaf_offset, weight / weight.mean(), target, None)
    np.testing.assert_allclose(weighted.score, squares.solve(_shift.DAMPING, _shift.ITERATIONS))
    unweighted = LeastSquares(placed.index, view.leaf_offset, np.ones(3000), target, None)
    assert np.abs(weighted.score - unweighted.solve(_shift.DAMPING, _shift.ITERATIONS)).max() > 1e-3


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
def test_the_room_of_a_leaf_is_what_a_scale_leaves_it(threshold):
    model = FixedThresholdClassifier(RandomForestClassifier(5, max_depth=4, random_state=0), threshold=threshold)
    view = view_ensemble(model.fit(X[:3000], y[:3000]))
    lower, higher = view.room(0.7)
    assert view.shift(lower)[1] == pytest.approx(0.7)
    assert view.shift(-higher)[1] == pytest.approx(0.7)
    assert view.shift(0.999 * lower)[1] > 0.7
    path = trace(model)
    scoring = trace(model, select_on=None)
    at_parity = int(np.argmax(scoring.discrimination <= 0))
    assert scoring.scale(at_parity) > 0.6, "two rounds come near the factor that was asked for"
    assert path.order.score.tolist() == scoring.order.score.tolist()


def test_a_group_given_as_privileged_that_is_not_favoured():
    model = RandomForestClassifier(10, max_depth=5, random_state=0).fit(X[:3000], y[:3000])
    with pytest.warns(PrivilegedGroupWarning):
        path = trace(model, privileged=roles(trace(model))[0])
    assert path.discrimination[-1] < path.discrimination[0] < 0


def test_a_forest_of_one_leaf_has_nothing_to_shift():
    model = RandomForestClassifier(3, min_samples_leaf=3000, random_state=0).fit(X[:3000], y[:3000])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndistinctGroupsWarning)
        path = trace(model)
    assert (path.discrimination == 0).all()


def test_scores_that_are_not_those_of_the_leaves_are_caught_after_writing(path, monkeypatch):
    view = type(view_ensemble(path.model))
    own = view._model_answers

    def shifted(self, X):
        score, decided = own(self, X)
        return score + 1e-6, decided

    monkeypatch.setattr(view, "_model_answers", shifted)
    with pytest.raises(ViewMismatchError, match="do not give its own predictions: 0 of 100 decisions differ"):
        path.model_at(3)


def test_probabilities_narrowed_by_more_than_a_half_are_warned_of():
    path = trace(RandomForestClassifier(20, max_depth=6, random_state=0).fit(X[:3000], y[:3000]))
    scales = np.array([path.scale(step) for step in range(0, path.n_steps + 1, 20)])
    above, below = 20 * (np.flatnonzero(scales >= 0.5)[-1]), 20 * np.flatnonzero(scales < 0.5)[0]
    path.model_at(above)  # a warning would be an error
    with pytest.warns(NarrowProbabilitiesWarning):
        path.model_at(below)


def test_every_step_of_a_forest_that_adds_float32_can_be_written():
    xgboost = pytest.importorskip("xgboost")
    rough = {"learning_rate": 1.0, "reg_lambda": 0.0, "min_child_weight": 0.0, "max_depth": 10}
    model = xgboost.XGBClassifier(n_estimators=20, n_jobs=1, **rough).fit(X[:600], y[:600])
    path = trace_path(model, X[:600], y[:600], sensitive_features=s[:600])
    assert path.n_steps > 50
    for step in (1, path.n_steps // 2, path.n_steps - 1, path.n_steps):
        path.model_at(step)


def test_the_cut_off_is_part_of_what_a_path_was_traced_for():
    for inside in (RandomForestClassifier(3, random_state=0), HistGradientBoostingClassifier(max_iter=5)):
        model = FixedThresholdClassifier(inside, threshold=0.7).fit(X[:3000], y[:3000])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndistinctGroupsWarning)
            stored = pickle.loads(pickle.dumps(trace(model, strategy="auto")))
        stored.model.threshold = 0.3
        with pytest.raises(ModelChangedError):
            stored.model_at(1)
