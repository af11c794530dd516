"""What holds of every strategy, eifffel's own and one that somebody else might write."""

import pickle
import warnings
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from draws import people
from eifffel import load, save, trace_path, view_ensemble
from eifffel.constraints import CONSTRAINTS
from eifffel.strategies import STRATEGIES, Strategy, by_score, make_order

X, y, s = people(300, seed=0)
NEW_X, NEW_Y, NEW_S = people(200, seed=1)
FOREST = RandomForestClassifier(8, max_depth=5, min_samples_leaf=2, random_state=0, n_jobs=1).fit(X, y)


def order_best_first(scores, *, n_jobs=None):
    """The best leaf first, in whatever tree it is."""
    trees = scores.order_trees(one_by_one=True, n_jobs=n_jobs)
    score = np.concatenate([tree.score for tree in trees])
    return make_order(scores, trees, np.argsort(-score, kind="stable"))


@pytest.fixture(params=[*STRATEGIES, "best first", "shift of one's own"])
def strategy(request, monkeypatch):
    monkeypatch.setitem(STRATEGIES, "best first", by_score(order_best_first))
    monkeypatch.setitem(STRATEGIES, "shift of one's own", Strategy(STRATEGIES["shift"].order, flips=False))
    return request.param


def trace(strategy, X=X, y=y, s=s, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return trace_path(FOREST, X, y, sensitive_features=s, strategy=strategy, **options)


def some_steps(path):
    return np.unique(np.linspace(0, path.n_steps, 9).astype(int))


def model_at(path, step):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return path.model_at(step)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_the_edited_models_decide_what_the_path_counts(strategy, constraint):
    path = trace(strategy, select_on=(NEW_X, NEW_Y, NEW_S), constraint=constraint)
    group, label = np.searchsorted(sorted(path.groups), NEW_S), NEW_Y
    for step in some_steps(path):
        decided = model_at(path, step).predict(NEW_X) == 1
        cells = [[(decided & (group == g) & (label == k)).sum() for k in (0, 1)] for g in (0, 1)]
        np.testing.assert_array_equal(path.counts.favorable[step], cells)


def test_it_starts_with_the_model_as_it_came_and_lowers_discrimination(strategy):
    before = view_ensemble(FOREST).fingerprint()
    path = trace(strategy)
    np.testing.assert_array_equal(model_at(path, 0).predict_proba(X), FOREST.predict_proba(X))
    assert path.n_flips(0) == 0 < path.n_steps
    assert path.discrimination.min() < path.discrimination[0] / 2
    assert view_ensemble(FOREST).fingerprint() == before


def test_leaves_are_edited_step_by_step(strategy):
    path = trace(strategy)
    edited = [set(path.order.leaves_at(step).tolist()) for step in some_steps(path)]
    assert all(earlier <= later for earlier, later in pairwise(edited))
    flips = path.flips(path.n_steps)
    assert len(np.unique(flips[["tree", "leaf"]])) == len(flips) == path.n_flips(path.n_steps)
    assert (flips["before"] != flips["after"]).all()
    assert flips["step"].min() >= 1
    assert (path.order.step_of(path.order.leaves_at(path.n_steps)) == flips["step"]).all()


def test_upwards_nobody_loses(strategy):
    path = trace(strategy, direction="up")
    before = FOREST.predict(X) == 1
    assert path.n_steps > 0
    for step in some_steps(path):
        assert not (before & (model_at(path, step).predict(X) != 1)).any()


def test_what_groups_are_called_does_not_matter(strategy):
    named = trace(strategy, s=np.array(["b", "a"])[s])
    plain = trace(strategy)
    np.testing.assert_array_equal(named.counts.favorable[:, ::-1], plain.counts.favorable)
    np.testing.assert_array_equal(named.discrimination, plain.discrimination)
    np.testing.assert_array_equal(named.positions, plain.positions)


def test_more_groups_than_two(strategy):
    many = (np.arange(300) + s) % 3
    path = trace(strategy, s=many, min_group_rows=0)
    for step in some_steps(path):
        decided = model_at(path, step).predict(X) == 1
        rates = [decided[many == group].mean() for group in path.groups]
        assert path.discrimination[step] == pytest.approx(np.ptp(rates), abs=1e-12)


def test_rows_in_batches_give_models_that_decide_as_counted(strategy):
    parts = [slice(0, 90), slice(90, 210), slice(210, 300)]
    path = trace(strategy, [(X[part], y[part], s[part]) for part in parts], None, None)
    whole = trace(strategy)
    if STRATEGIES[strategy].flips:
        np.testing.assert_array_equal(path.counts.favorable, whole.counts.favorable)
    for step in some_steps(path):
        decided = model_at(path, step).predict(X) == 1
        assert path.counts.favorable[step].sum() == decided.sum()


def test_a_path_survives_being_stored(strategy, tmp_path):
    path = trace(strategy)
    step = path.n_steps // 2
    copies = [pickle.loads(pickle.dumps(path))]
    if find_spec("skops"):
        save(path, tmp_path / "path.skops")
        copies.append(load(tmp_path / "path.skops"))
    for same in copies:
        np.testing.assert_array_equal(same.discrimination, path.discrimination)
        np.testing.assert_array_equal(model_at(same, step).predict_proba(X), model_at(path, step).predict_proba(X))


def test_reports_name_it(strategy):
    report = pytest.importorskip("eifffel.report", reason="reports need an extra")
    pytest.importorskip("jinja2")
    path = trace(strategy, select_on=(NEW_X, NEW_Y, NEW_S))
    summary = report.summarize(model_at(path, path.n_steps // 2), NEW_X, NEW_Y, sensitive_features=NEW_S, path=path)
    told = report.render_markdown(summary)
    assert "not edited" not in told
    assert summary.model.strategy == strategy


@pytest.mark.parametrize(
    ("order", "step", "message"),
    [
        ([0, 1, 1], None, "order names some flips more than once"),
        ([0, 1], [2, 1], "from 1 on and never falling"),
        ([0, 1], [0, 1], "from 1 on and never falling"),
        ([0, 1], [1], "one entry for each flip"),
    ],
)
def test_orders_that_cannot_be(monkeypatch, order, step, message):
    def order_wrongly(scores, *, n_jobs=None):
        trees = scores.order_trees(one_by_one=True, n_jobs=n_jobs)
        return make_order(scores, trees, np.array(order), None if step is None else np.array(step))

    monkeypatch.setitem(STRATEGIES, "wrong", by_score(order_wrongly))
    with pytest.raises(ValueError, match=message):
        trace("wrong")


def test_a_part_of_the_flips_is_an_order_too(monkeypatch):
    def order_some(scores, *, n_jobs=None):
        trees = scores.order_trees(one_by_one=True, n_jobs=n_jobs)
        return make_order(scores, trees, np.array([3, 0]))

    monkeypatch.setitem(STRATEGIES, "some", by_score(order_some))
    path = trace("some")
    assert path.n_steps == np.isfinite(path.order.score).sum() == 2
