"""Reweighing and Massaging: labels independent of groups, by weights or by changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from draws import people
from eifffel.baselines import Massaging, Reweighing

DRAWN = (st.integers(8, 80), st.integers(0, 2**16))


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps what it was trained on."""

    def fit(self, X, y, sample_weight=None):
        self.X_, self.y_, self.weight_ = X, np.asarray(y), sample_weight
        self.classes_ = np.unique(y)
        return self


@given(*DRAWN, st.booleans())
@settings(deadline=None)
def test_reweighed_labels_do_not_depend_on_the_group(n_rows, seed, weighted):
    X, y, s = people(n_rows, seed)
    weight = np.random.RandomState(seed).choice([0.5, 1, 3], n_rows) if weighted else np.ones(n_rows)
    clf = Reweighing(Recorder()).fit(X, y, sensitive_features=s, sample_weight=weight if weighted else None)
    given_weight = clf.estimator_.weight_
    np.testing.assert_array_equal(clf.estimator_.y_, y)
    share = np.average(y, weights=weight)
    for group in (0, 1):
        inside = s == group
        assert np.average(y[inside], weights=given_weight[inside]) == pytest.approx(share)
        assert given_weight[inside].sum() == pytest.approx(weight[inside].sum()), "groups keep their weight"
    np.testing.assert_allclose(given_weight / weight, [clf.cell_weights_[g, k] for g, k in zip(s, y, strict=True)])


@given(*DRAWN)
@settings(deadline=None)
def test_massaged_labels_do_not_depend_on_the_group(n_rows, seed):
    X, y, s = people(n_rows, seed)
    privileged = int(y[s == 1].mean() > y[s == 0].mean())
    clf = Massaging(Recorder()).fit(X, y, sensitive_features=s)
    changed = clf.estimator_.y_
    # Literally: rank, then promote and demote in pairs until the difference of rates is gone.
    score = GaussianNB().fit(X, y).predict_proba(X)[:, 1]
    wanted = y.copy()
    promote = sorted(np.flatnonzero((s != privileged) & (y == 0)), key=lambda row: (score[row], row), reverse=True)
    demote = sorted(np.flatnonzero((s == privileged) & (y == 1)), key=lambda row: (score[row], row))
    n_pairs = 0
    while wanted[s == privileged].mean() - wanted[s != privileged].mean() > 1e-12:
        wanted[promote[n_pairs]], wanted[demote[n_pairs]] = 1, 0
        n_pairs += 1
    np.testing.assert_array_equal(changed, wanted)
    assert (len(clf.promoted_), len(clf.demoted_)) == (n_pairs, n_pairs)
    np.testing.assert_array_equal(np.flatnonzero(changed > y), clf.promoted_)
    np.testing.assert_array_equal(np.flatnonzero(changed < y), clf.demoted_)


def test_labels_that_favour_nobody_are_left_alone():
    X = np.arange(8.0).reshape(-1, 1)
    y, s = np.array([0, 1] * 4), np.repeat([0, 1], 4)
    clf = Massaging(Recorder()).fit(X, y, sensitive_features=s)
    np.testing.assert_array_equal(clf.estimator_.y_, y)
    assert len(clf.promoted_) == len(clf.demoted_) == 0


def test_the_ranker_given_ranks_with_the_weights_of_nobody():
    X, y, s = people(200, seed=4)
    weight = np.where(X[:, 0] > 1, 50.0, 0.1)
    ranker = LogisticRegression()
    clf = Massaging(Recorder(), ranker=ranker).fit(X, y, sensitive_features=s, sample_weight=weight)
    assert not hasattr(ranker, "coef_"), "only a template"
    unweighted = Massaging(Recorder(), ranker=ranker).fit(X, y, sensitive_features=s)
    np.testing.assert_array_equal(clf.promoted_, unweighted.promoted_)
    score = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    candidates = np.flatnonzero((s == 0) & (y == 0))
    assert score[clf.promoted_].min() >= np.sort(score[candidates])[-len(clf.promoted_)]


@pytest.mark.parametrize(
    "rows", [sparse.csr_matrix(np.eye(8)), np.where(np.eye(8) > 0, np.nan, 1)], ids=["sparse", "missing"]
)
def test_rows_that_the_ranker_cannot_take(rows):
    y, s = np.array([0, 1] * 4), np.array([0, 0, 0, 0, 1, 1, 1, 0])
    with pytest.raises((ValueError, TypeError), match="the ranker, GaussianNB, cannot rank these rows; pass as"):
        Massaging(Recorder()).fit(rows, y, sensitive_features=s)


def test_the_wrong_group_given_as_privileged_is_an_error():
    X, y, s = people(200, seed=4)
    groups = np.array(["f", "m"])[s]
    with pytest.raises(ValueError, match="privileged='f', but the labels favour 'm': there is nothing to massage"):
        Massaging(Recorder(), privileged="f").fit(X, y, sensitive_features=groups)
    named = Massaging(Recorder(), privileged="m").fit(X, y, sensitive_features=groups)
    default = Massaging(Recorder()).fit(X, y, sensitive_features=groups)
    np.testing.assert_array_equal(named.estimator_.y_, default.estimator_.y_)


def test_labels_keep_their_names_and_weights_go_to_training():
    X, y, s = people(200, seed=4)
    labels = np.array(["granted", "refused"])[1 - y]
    weight = np.arange(200.0)
    clf = Massaging(Recorder(), favorable="granted").fit(X, labels, sensitive_features=s, sample_weight=weight)
    assert set(clf.estimator_.y_) == {"granted", "refused"}
    assert (clf.estimator_.y_[clf.promoted_] == "granted").all()
    np.testing.assert_array_equal(clf.estimator_.weight_, weight)
