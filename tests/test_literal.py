"""The fast path against the paper's algorithms run literally."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from draws import people, problems
from eifffel import ConstraintNotMetWarning, trace_path
from literal import LiteralForest, run_literally


def codes(problem, path):
    """Labels and groups as the literal algorithm wants them."""
    return (problem.y == problem.favorable).astype(int), (problem.s == path.privileged).astype(int)


@pytest.mark.parametrize("strategy", ["leaf", "tree"])
@settings(max_examples=160, deadline=None)
@given(
    problem=problems(),
    epsilon=st.sampled_from([0.0, 0.01, 0.05, 0.1]),
    alpha=st.sampled_from([None, 0.0, 0.02, 0.1]),
    direction=st.sampled_from(["any", "any", "up"]),
)
def test_same_flips_same_order_same_stop(strategy, problem, epsilon, alpha, direction):
    path = problem.trace(strategy=strategy, direction=direction)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintNotMetWarning)
        choice = path.select(epsilon=epsilon, alpha=alpha, rule="paper")
    y, s = codes(problem, path)
    limit = np.inf if alpha is None else alpha
    flips, step = run_literally(strategy, problem.model, problem.X, y, s, problem.favorable, epsilon, limit, direction)
    records = path.flips(choice.step)
    assert [(r["tree"], r["leaf"], r["step"]) for r in records] == flips
    assert choice.step == step


def test_complete_path_of_a_larger_forest():
    # A bound below any discrimination and no alpha: the literal loop makes every flip there is.
    X, y, s = people(150, seed=5)
    model = RandomForestClassifier(8, random_state=1, n_jobs=1).fit(X, y)
    path = trace_path(model, X, y, sensitive_features=s, privileged=1)
    flips, step = run_literally("leaf", model, X, y, s, 1, epsilon=-1, alpha=np.inf)
    assert step == path.n_steps > 50
    assert [(r["tree"], r["leaf"], r["step"]) for r in path.flips(path.n_steps)] == flips


@settings(max_examples=80, deadline=None)
@given(problem=problems(), data=st.data(), strategy=st.sampled_from(["leaf", "tree"]))
def test_each_flip_lowers_its_trees_discrimination_and_no_leaf_flips_twice(problem, data, strategy):
    path = problem.trace(strategy=strategy)
    records = path.flips(path.n_steps)
    assert len({(r["tree"], r["leaf"]) for r in records}) == len(records)
    forest = LiteralForest(problem.model, problem.X, *codes(problem, path), problem.favorable)
    for record in records[: data.draw(st.integers(0, 25))]:
        before = forest.tree_discrimination(record["tree"])
        forest.flip(record["tree"], record["leaf"])
        assert forest.tree_discrimination(record["tree"]) < before


@settings(max_examples=40, deadline=None)
@given(problem=problems(), seed=st.integers(0, 1000), strategy=st.sampled_from(["leaf", "tree"]))
def test_order_does_not_depend_on_row_order(problem, seed, strategy):
    shuffled = np.random.RandomState(seed).permutation(len(problem.y))

    straight, mixed = problem.trace(strategy=strategy), problem.trace(shuffled, strategy=strategy)
    np.testing.assert_array_equal(straight.order.leaf, mixed.order.leaf)
    np.testing.assert_array_equal(straight.counts.favorable, mixed.counts.favorable)


@pytest.mark.parametrize("strategy", ["leaf", "tree"])
def test_many_trees_of_equal_discrimination(strategy):
    # Twenty trees, most of them alike, some without candidates: ties go to the lowest tree, and none makes no step.
    X, y, s = people(60, seed=8, n_values=2)
    model = RandomForestClassifier(20, max_depth=1, max_features=None, bootstrap=False, random_state=0, n_jobs=1)
    model.fit(X, y)
    for tree in model.estimators_[5::5]:
        tree.tree_.value[:] = 0.5
    path = trace_path(model, X, y, sensitive_features=s, strategy=strategy, privileged=1)
    flips, step = run_literally(strategy, model, X, y, s, 1, epsilon=-1, alpha=np.inf)
    assert step == path.n_steps > 16
    assert [(r["tree"], r["leaf"], r["step"]) for r in path.flips(path.n_steps)] == flips
