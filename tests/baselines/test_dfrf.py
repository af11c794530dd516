"""DFRF does what its authors' code does, whatever the number of jobs, and gives up instead of running for ever."""

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.tree import ExtraTreeClassifier

from draws import people
from eifffel.baselines import DFRF

X, y, s = people(500, seed=1, n_values=6)
OPTIONS = {"max_depth": 4, "min_samples_leaf": 1, "alpha": 5.0, "rho": 0.03, "random_state": 0}


def fit(n_estimators=8, **changes):
    return DFRF(n_estimators, **(OPTIONS | changes)).fit(X, y, sensitive_features=s)


def parity(decided, weight=None):
    weight = np.ones(len(s)) if weight is None else weight
    rates = [np.average(decided[s == group], weights=weight[s == group]) for group in (0, 1)]
    return abs(rates[1] - rates[0])


def test_the_defaults_are_those_of_the_authors():
    given = DFRF().get_params()
    wanted = {"n_estimators": 50, "max_depth": 20, "min_samples_leaf": 3, "alpha": 100, "rho": 0.05}
    assert given["max_rejected"] == 10_000
    assert given.items() >= wanted.items()


def test_it_is_the_authors_loop():
    clf = fit()
    # Their code, with the seeds of ours: a tree is kept if it is fair on the training rows, until enough are.
    root = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    trees, decisions, n_grown = [], [], 0
    while len(trees) < 8:
        seed = int(np.random.SeedSequence([root, n_grown]).generate_state(1)[0])
        tree = ExtraTreeClassifier(max_depth=4, min_samples_leaf=1, max_features=1, random_state=seed).fit(X, y)
        n_grown += 1
        decided = tree.predict(X)
        if parity(decided) < 0.03:
            trees.append(tree)
            decisions.append(decided)
    ridge = RidgeClassifier(alpha=5.0, fit_intercept=True).fit(np.transpose(decisions), y)
    new = people(300, seed=2, n_values=6)[0]
    by_hand = ridge.predict(np.transpose([tree.predict(new) for tree in trees]))
    assert clf.n_rejected_ == n_grown - 8 > 0
    np.testing.assert_array_equal(clf.predict(new), by_hand)
    np.testing.assert_allclose(clf.parity_, [parity(decided) for decided in decisions])
    for ours, theirs in zip(clf.estimators_, trees, strict=True):
        np.testing.assert_array_equal(ours.tree_.threshold, theirs.tree_.threshold)


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_the_number_of_jobs_does_not_change_the_result(n_jobs):
    alone, together = fit(), fit(n_jobs=n_jobs)
    np.testing.assert_array_equal(together.decision_function(X), alone.decision_function(X))
    assert together.n_rejected_ == alone.n_rejected_


def test_a_process_backend_gives_the_same():
    with parallel_config(backend="loky", n_jobs=2):
        elsewhere = fit(n_estimators=3)
    np.testing.assert_array_equal(elsewhere.decision_function(X), fit(n_estimators=3).decision_function(X))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of its own libraries
def test_a_dask_cluster_grows_the_trees():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        distributed.get_task_stream(client=client) as tasks,
        parallel_config(backend="dask"),
    ):
        elsewhere = fit(n_estimators=3)
    assert len({task["worker"] for task in tasks.data}) == 2, "both workers grew trees"
    np.testing.assert_array_equal(elsewhere.decision_function(X), fit(n_estimators=3).decision_function(X))


def test_it_gives_up_and_says_how_far_it_came():
    message = r"DFRF kept 0 of 8 trees after 31 were tried: the lowest .* is 0\.\d+, and rho is 1e-09; raise rho"
    with pytest.raises(ValueError, match=message):
        fit(rho=1e-9, max_rejected=30)
    # No more than the cap: as many rejections as there were are allowed, one less is too few.
    n_rejected = fit().n_rejected_
    assert fit(max_rejected=n_rejected).n_rejected_ == n_rejected
    for n_jobs in (None, 3):
        with pytest.raises(ValueError, match="raise rho or max_rejected"):
            fit(max_rejected=n_rejected - 1, n_jobs=n_jobs)


def test_trees_do_not_see_the_sensitive_columns():
    with_group = np.column_stack([X[:, :2], s, X[:, 2]])
    clf = DFRF(8, sensitive_columns=2, **OPTIONS).fit(with_group, y, sensitive_features=s)
    np.testing.assert_array_equal(clf.decision_function(with_group), fit().decision_function(X))
    assert clf.n_features_in_ == 4
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(with_group, columns=["a", "b", "sex", "c"])
    for columns in ("sex", ["sex"]):
        named = DFRF(8, sensitive_columns=columns, **OPTIONS).fit(table, y, sensitive_features=s)
        np.testing.assert_array_equal(named.decision_function(table), fit().decision_function(X))
    with pytest.raises(ValueError, match=r"must be columns of X, by name \(a, b, sex, c\) or by number .* got 'age'"):
        DFRF(8, sensitive_columns="age", **OPTIONS).fit(table, y, sensitive_features=s)
    with pytest.raises(ValueError, match=r"\[0, 1, 2\] are all the columns of X: no feature is left to grow on"):
        DFRF(8, sensitive_columns=[0, 1, 2], **OPTIONS).fit(X, y, sensitive_features=s)
    for wrong in (3, -1, 1.0, True, "a", [0, "a"], slice(0, 1)):
        with pytest.raises(ValueError, match="sensitive_columns must be columns of X, by number from 0 to 2, got"):
            DFRF(8, sensitive_columns=wrong, **OPTIONS).fit(X, y, sensitive_features=s)
    for places in (np.int64(2), np.array([2]), (2,)):
        again = DFRF(8, sensitive_columns=places, **OPTIONS).fit(with_group.tolist(), y, sensitive_features=s)
        np.testing.assert_array_equal(again.decision_function(with_group), fit().decision_function(X))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_a_column_that_is_the_group_warns(form):
    # One-hot columns of the group, the second the other way round; a column that only goes with it does not warn.
    with_group = np.column_stack([X, s, 1 - s, np.where(s == 1, 2, np.arange(500) % 2)]).astype(float)
    with pytest.warns(UserWarning, match=r"the columns \[3, 4\] of X are the sensitive attribute"):
        DFRF(3, **OPTIONS).fit(form(with_group), y, sensitive_features=s)
    with pytest.warns(UserWarning, match=r"the columns \[4\] of X are the sensitive attribute"):
        DFRF(3, sensitive_columns=3, **OPTIONS).fit(form(with_group), y, sensitive_features=s)
    DFRF(3, sensitive_columns=[3, 4], **OPTIONS).fit(form(with_group), y, sensitive_features=s)


def test_columns_are_those_of_the_fit():
    wider = np.column_stack([X, X[:, 0] + X[:, 1]])
    clf = DFRF(8, sensitive_columns=3, **OPTIONS).fit(wider, y, sensitive_features=s)
    decided = clf.decision_function(wider)
    clf.set_params(sensitive_columns=0)
    np.testing.assert_array_equal(clf.decision_function(wider), decided)
    clf.set_params(rho=1e-9, max_rejected=3)
    with pytest.raises(ValueError, match="DFRF kept"):
        clf.fit(wider, y, sensitive_features=s)
    np.testing.assert_array_equal(clf.decision_function(wider), decided)


def test_a_tree_whose_parity_is_rho_is_not_kept():
    highest = fit().parity_.max()
    assert fit(rho=highest).parity_.max() < highest


def test_labels_in_another_order_than_the_rows_are_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="y of the training rows has the index of X in another order"):
        DFRF(3, **OPTIONS).fit(pd.DataFrame(X), pd.Series(y).sample(frac=1), sensitive_features=s)


def test_weights_count_in_the_trees_their_parity_and_the_ridge():
    weight = np.where((s == 1) & (y == 0), 4.0, 0.5)
    clf = DFRF(4, **OPTIONS).fit(X, y, sensitive_features=s, sample_weight=weight)
    for tree in clf.estimators_:
        assert tree.tree_.weighted_n_node_samples[0] == pytest.approx(weight.sum())
    np.testing.assert_allclose(clf.parity_, [parity(tree.predict(X), weight) for tree in clf.estimators_])
    ridge = RidgeClassifier(alpha=5.0).fit(np.transpose([t.predict(X) for t in clf.estimators_]), y, weight)
    np.testing.assert_allclose(clf.ridge_.coef_, ridge.coef_)


def test_sparse_and_missing_values():
    clf = DFRF(3, **OPTIONS).fit(sparse.csr_matrix(X), y, sensitive_features=s)
    np.testing.assert_array_equal(clf.predict(sparse.csr_matrix(X)), clf.predict(X))
    holes = X.copy()
    holes[::9, 1] = np.nan
    clf = DFRF(3, **OPTIONS).fit(holes, y, sensitive_features=s)
    assert clf.predict(holes).shape == y.shape


def test_progress_is_shown_when_asked_for(capfd, monkeypatch):
    import eifffel.baselines._dfrf as module

    shown = []
    real = module.tqdm

    def at_once(*args, **options):
        shown.append(options["disable"])
        return real(*args, **(options | {"delay": 0}))

    monkeypatch.setattr(module, "tqdm", at_once)
    fit(verbose=1)
    fit()
    assert shown == [False, True]
    assert "fair trees" in capfd.readouterr().err
