"""Objectives: the counts give what counting rows one by one gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from eifffel.selection.objective import check_objective, measure_drop, measure_objective, name_loss

people = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30)
COSTS = [[0.5, 1], [7, -2]]


def counted(group, label, decided):
    cells = [[(group == g) & (label == k) for k in (0, 1)] for g in (0, 1)]
    return np.array([[(cell & decided).sum() for cell in of] for of in cells]), np.array(
        [[cell.sum() for cell in of] for of in cells]
    )


@settings(max_examples=100, deadline=None)
@given(rows=people, seed=st.integers(0, 99))
def test_values_and_drops_are_those_of_the_rows(rows, seed):
    group, label, decided = np.array([*rows, (0, 0, 1), (1, 1, 0)]).T
    random = np.random.default_rng(seed)
    steps = [decided.astype(bool), *(random.random((3, len(decided))) < 0.5)]
    favorable = np.array([counted(group, label, step)[0] for step in steps])
    totals = counted(group, label, steps[0])[1]
    by_hand = {
        "accuracy": [accuracy_score(label, step) for step in steps],
        "balanced_accuracy": [balanced_accuracy_score(label, step) for step in steps],
    }
    for objective, values in by_hand.items():
        np.testing.assert_allclose(measure_objective(objective, favorable, totals), values)
        np.testing.assert_allclose(measure_drop(objective, favorable, totals), values[0] - np.array(values), atol=1e-12)
    costs = [np.mean([COSTS[k][int(d)] for k, d in zip(label, step, strict=True)]) for step in steps]
    asked = check_objective(COSTS)
    np.testing.assert_allclose(measure_objective(asked, favorable, totals), costs)
    np.testing.assert_allclose(measure_drop(asked, favorable, totals), np.array(costs) - costs[0], atol=1e-12)


def test_drops_of_counted_rows_are_exact():
    totals = np.array([[30, 20], [30, 20]])
    favorable = np.array([[[0, 20], [0, 20]], [[2, 20], [0, 20]], [[0, 16], [0, 20]]])
    assert measure_drop("accuracy", favorable, totals).tolist() == [0, 0.02, 0.04]
    assert measure_drop("balanced_accuracy", favorable, totals).tolist() == [0, 1 / 60, 0.05]


def test_what_is_no_objective():
    for asked in ("f1", [[0, 1]], [[0, 1], [2, float("nan")]], 5, None, [["a", 1], [2, 3]]):
        with pytest.raises(ValueError, match="objective must be one of 'accuracy', 'balanced_accuracy'"):
            check_objective(asked)


def test_balanced_accuracy_needs_both_classes():
    with pytest.raises(ValueError, match="of one class only, and have no balanced accuracy"):
        measure_drop("balanced_accuracy", np.zeros((1, 2, 2), int), np.array([[3, 0], [4, 0]]))


def test_without_labels_there_is_no_objective():
    with pytest.raises(ValueError, match="needs labels"):
        measure_drop("accuracy", np.zeros((1, 2, 1), int), np.array([[3], [4]]))


def test_names():
    assert [name_loss(objective) for objective in ("accuracy", "balanced_accuracy", ((0, 1), (5, 0)))] == [
        "drop of accuracy",
        "drop of balanced accuracy",
        "rise of the mean cost",
    ]
