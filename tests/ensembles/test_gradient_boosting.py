"""What is scikit-learn's boosting's own: categories, sparse rows, and what is refused."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_matrix
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

from draws import people
from eifffel import UnsupportedModelError, trace_path, view_ensemble

X, y, s = people(300, seed=8)


def test_histograms_with_categories_and_missing_values():
    rows = X.copy()
    rows[:, 2] = np.random.RandomState(0).randint(0, 5, len(X))
    rows[::6, 0] = np.nan
    rows[::7, 2] = np.nan
    labels = (y + np.isin(rows[:, 2], [1, 3]) > 0).astype(int)
    model = HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=5, categorical_features=[2]).fit(rows, labels)
    assert any(tree[0].nodes["is_categorical"].any() for tree in model._predictors)
    view = view_ensemble(model)
    np.testing.assert_array_equal(view.decide(view.apply(view.check_rows(rows))), model.predict(rows) == 1)
    path = trace_path(model, rows, labels, sensitive_features=s)
    decided = path.model_at(path.n_steps).predict(rows)
    assert decided[s == path.groups[1]].sum() == path.counts.favorable[-1, 1].sum()


def test_gradient_boosting_of_sparse_rows():
    sparse = csr_matrix(np.where(X > 0.5, X, 0))
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(sparse, y)
    path = trace_path(model, sparse, y, sensitive_features=s)
    np.testing.assert_array_equal(path.model_at(0).predict(sparse), model.predict(sparse))
    # Of any format, also where rows are measured later.
    measured = path.measure(coo_matrix(sparse), y, s)
    measured.model_at(path.n_steps)
    np.testing.assert_array_equal(measured.counts.favorable, path.counts.favorable)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (HistGradientBoostingClassifier(monotonic_cst=[1, 0, 0]), "has monotonic_cst, and shifting leaves breaks"),
        (HistGradientBoostingClassifier(monotonic_cst={"a": -1}), "has monotonic_cst"),
        (
            GradientBoostingClassifier(init=DummyClassifier()),
            r"starts from init=DummyClassifier\(\), whose score differs",
        ),
        (GradientBoostingClassifier(learning_rate=0.0), "has the learning_rate 0, so that its leaves say nothing"),
    ],
)
def test_what_is_refused_before_training(model, message):
    with pytest.raises(UnsupportedModelError, match=message):
        view_ensemble(model)


def test_a_tie_is_decided_as_each_class_decides_it():
    """Even labels and no split: the raw score is 0, which is class 1 for one of them and class 0 for the other."""
    even = np.tile([0, 1], 150)
    for kind, first in ((GradientBoostingClassifier(min_samples_leaf=300), 1), (HistGradientBoostingClassifier, 0)):
        model = kind if first else kind(min_samples_leaf=300)
        model.fit(X, even)
        np.testing.assert_array_equal(model.predict(X), first)
        for favorable in (0, 1):
            view = view_ensemble(model, favorable=favorable)
            np.testing.assert_array_equal(view.decide(view.apply(view.check_rows(X)), X), favorable == first)
