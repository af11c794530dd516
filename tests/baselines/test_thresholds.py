"""GroupThresholds and RejectOption against slow, obvious twins."""

import numpy as np
import pytest
from given_scores import GivenScores
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from eifffel import ConstraintNotMetWarning, PrivilegedGroupWarning
from eifffel.baselines import GroupThresholds, RejectOption
from eifffel.baselines._base import weigh_above
from eifffel.baselines._group_thresholds import best_in_windows
from eifffel.rows.coding import Rows

OBJECTIVES = {"accuracy": accuracy_score, "balanced_accuracy": balanced_accuracy_score}


@st.composite
def scored(draw, max_rows=24):
    """Coarse scores, so that rows tie; every group and label has a row."""
    n_rows = draw(st.integers(4, max_rows))
    random = np.random.RandomState(draw(st.integers(0, 2**16)))
    score = random.randint(0, draw(st.integers(1, 12)), n_rows) / 12
    y, s = random.randint(0, 2, n_rows), random.randint(0, 2, n_rows)
    s[:4], y[:4] = [0, 0, 1, 1], [0, 1, 0, 1]
    weight = random.choice([1, 2, 0.25], n_rows) if draw(st.booleans()) else None
    return score, y, s, weight


def fit(baseline, score, y, s, weight=None, **options):
    X = score.reshape(-1, 1)
    model = FrozenEstimator(GivenScores().fit(X, [0, 1]))
    return baseline(model, **options).fit(X, y, sensitive_features=s, sample_weight=weight)


def rates(decided, s, weight=None):
    weight = np.ones(len(s)) if weight is None else weight
    return [np.average(decided[s == group], weights=weight[s == group]) for group in (0, 1)]


@given(scored(), st.sampled_from([0.0, 0.05, 0.125, 0.3, 1.0]), st.sampled_from(sorted(OBJECTIVES)))
@settings(max_examples=150, deadline=None)
def test_no_pair_of_thresholds_is_better(drawn, epsilon, objective):
    score, y, s, weight = drawn
    clf = fit(GroupThresholds, score, y, s, weight, epsilon=epsilon, objective=objective)
    decided = clf.predict(score.reshape(-1, 1), sensitive_features=s)
    rate = rates(decided, s, weight)
    assert abs(rate[1] - rate[0]) <= epsilon + 1e-12
    reached = OBJECTIVES[objective](y, decided, sample_weight=weight)
    candidates = [-1.0, *np.unique(score)]
    for first in candidates:
        for second in candidates:
            other = (score > np.where(s == 0, first, second)).astype(int)
            rate = rates(other, s, weight)
            if abs(rate[1] - rate[0]) <= epsilon:
                assert OBJECTIVES[objective](y, other, sample_weight=weight) <= reached + 1e-9


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.data())
@settings(deadline=None)
def test_the_best_of_each_window(values, data):
    value = np.array(values, float)
    bounds = st.integers(0, len(values))
    windows = data.draw(st.lists(st.tuples(bounds, bounds), min_size=1, max_size=30))
    low, high = (np.array([pick(window) for window in windows]) for pick in (min, max))
    for place, a, b in zip(best_in_windows(value, low, high), low, high, strict=True):
        if a == b:
            assert place == -1
        else:
            assert a <= place < b
            assert value[place] == value[a:b].max()


@given(scored(60), st.lists(st.integers(-1, 13), min_size=1))
@settings(deadline=None)
def test_the_weight_above_a_threshold_is_that_of_the_rows_above(drawn, twelfths):
    score, y, s, weight = drawn
    units = np.ones(len(y), np.int64) if weight is None else (weight * 4).astype(np.int64)
    rows = Rows(s.astype(np.uint8), y.astype(np.uint8), units, 1 if weight is None else 0.25)
    thresholds = np.array(twelfths) / 12
    above = weigh_above(score, rows, thresholds)
    given_weight = np.ones(len(y)) if weight is None else weight
    for k, threshold in enumerate(thresholds):
        for group in (0, 1):
            for label in (0, 1):
                inside = (score > threshold) & (s == group) & (y == label)
                assert above[k, group, label] * rows.unit == pytest.approx(given_weight[inside].sum())


@given(scored(60), st.sampled_from([0.05, 0.3]), st.sampled_from(sorted(OBJECTIVES)))
@settings(max_examples=30, deadline=None)
def test_the_reject_option_is_the_best_of_its_grid(drawn, epsilon, objective):
    score, y, s, weight = drawn
    grid = {"n_thresholds": 9, "n_margins": 6}
    best, chosen = -1.0, None
    advantage = np.diff(rates(score > 0.5, s, weight))[0]
    privileged = 1 if advantage > 0 else 0
    for threshold in np.linspace(0.01, 0.99, 9):
        for margin in np.linspace(0, min(threshold, 1 - threshold), 6):
            uncertain = (score > threshold - margin) & (score <= threshold + margin)
            decided = np.where(uncertain, s != privileged, score > threshold).astype(int)
            rate = rates(decided, s, weight)
            value = OBJECTIVES[objective](y, decided, sample_weight=weight)
            if abs(rate[1] - rate[0]) <= epsilon + 1e-12 and value > best + 1e-12:
                best, chosen = value, (threshold, margin)
    assert chosen is not None, "deciding for everybody or nobody keeps any bound"
    clf = fit(RejectOption, score, y, s, weight, epsilon=epsilon, objective=objective, **grid)
    assert (clf.threshold_, clf.margin_) == pytest.approx(chosen)


def test_a_grid_that_cannot_keep_the_bound_warns():
    # One threshold, 0.01, and one margin, 0: no choice.
    score = np.array([0.9, 0.9, 0.0, 0.0])
    with pytest.warns(ConstraintNotMetWarning, match=r"no threshold and margin of the grid .* least, 1, is taken"):
        fit(RejectOption, score, [1, 0, 1, 0], [1, 1, 0, 0], n_thresholds=1, n_margins=1)


def test_a_group_given_as_privileged_that_is_not_favoured_warns():
    score, y, s = np.array([0.9, 0.9, 0.1, 0.1]), [1, 0, 1, 0], ["m", "m", "f", "f"]
    with pytest.warns(PrivilegedGroupWarning, match="privileged='f', but the estimator favours 'm'"):
        fit(RejectOption, score, y, s, privileged="f")
    clf = fit(RejectOption, score, y, s, privileged="m", epsilon=1)
    assert clf.thresholds_["f"] == clf.threshold_ - clf.margin_
    assert clf.thresholds_["m"] == clf.threshold_ + clf.margin_


@pytest.mark.parametrize("baseline", [GroupThresholds, RejectOption])
def test_the_objective_is_what_the_forest_was_trained_for(baseline):
    random = np.random.RandomState(0)
    X = random.normal(size=(800, 3))
    y = (X[:, 0] + random.normal(size=800) > 1.5).astype(int)
    s = random.randint(0, 2, 800)
    for class_weight, objective in ((None, "accuracy"), ("balanced", "balanced_accuracy")):
        forest = RandomForestClassifier(10, max_depth=4, class_weight=class_weight, random_state=0)
        default = baseline(forest, random_state=0).fit(X, y, sensitive_features=s)
        named = baseline(forest, objective=objective, random_state=0).fit(X, y, sensitive_features=s)
        others = set(OBJECTIVES) - {objective}
        other = baseline(forest, objective=others.pop(), random_state=0).fit(X, y, sensitive_features=s)
        assert default.thresholds_ == named.thresholds_ != other.thresholds_


@pytest.mark.parametrize("baseline", [GroupThresholds, RejectOption])
def test_the_objective_is_found_in_pipelines_and_searches(baseline):
    random = np.random.RandomState(0)
    X = random.normal(size=(400, 3))
    y, s = (X[:, 0] + random.normal(size=400) > 1.5).astype(int), random.randint(0, 2, 400)
    forest = RandomForestClassifier(10, max_depth=4, class_weight="balanced", random_state=0)
    for wrapped in (make_pipeline(forest), GridSearchCV(make_pipeline(forest), {}, cv=2)):
        default = baseline(wrapped, random_state=0).fit(X, y, sensitive_features=s)
        named = baseline(wrapped, objective="balanced_accuracy", random_state=0).fit(X, y, sensitive_features=s)
        other = baseline(wrapped, objective="accuracy", random_state=0).fit(X, y, sensitive_features=s)
        assert default.thresholds_ == named.thresholds_ != other.thresholds_


@pytest.mark.parametrize("baseline", [GroupThresholds, RejectOption])
def test_a_difference_equal_to_the_bound_is_allowed(baseline):
    # A quarter of group 0 and half of group 1 deserve it and score so; 0.5 - 0.25 is the bound.
    score = np.array([0.9, 0.1, 0.1, 0.1, 0.9, 0.9, 0.1, 0.1])
    y = (score > 0.5).astype(int)
    for scale in (1, 0.1, 1 / 3):
        clf = fit(baseline, score, y, [0] * 4 + [1] * 4, np.full(8, scale), epsilon=0.25)
        assert clf.predict(score.reshape(-1, 1), sensitive_features=[0] * 4 + [1] * 4).tolist() == y.tolist()


def test_the_scale_of_the_weights_does_not_change_the_reject_option():
    score, y, s = np.array([0.8, 0.2, 0.2, 0.8, 0.8]), [0, 1, 0, 1, 1], [0, 0, 1, 1, 0]
    times = np.array([2, 3, 1, 3, 1])
    chosen = [
        fit(RejectOption, score, y, s, times / scale, epsilon=0.25, objective="accuracy").thresholds_
        for scale in (1, 10, 7)
    ]
    assert chosen[0] == chosen[1] == chosen[2]


def test_groups_treated_alike_favour_neither():
    fit(RejectOption, np.array([0.9, 0.1, 0.9, 0.1]), [1, 0, 1, 0], ["m", "m", "f", "f"], privileged="f")


def test_thresholds_stand_between_the_scores_they_part():
    score = np.array([0.2, 0.4, 0.6, 0.8] * 2)
    clf = fit(GroupThresholds, score, [0, 0, 1, 1] * 2, [0] * 4 + [1] * 4)
    assert clf.thresholds_ == pytest.approx({0: 0.5, 1: 0.5})


def test_neighbouring_floats_are_parted():
    low = 0.5
    high = np.nextafter(low, 1)
    clf = fit(GroupThresholds, np.array([low, high] * 2), [0, 1, 0, 1], [0, 0, 1, 1], epsilon=0)
    decided = clf.predict(np.array([[low], [high]]), sensitive_features=[0, 1])
    assert decided.tolist() == [0, 1]
