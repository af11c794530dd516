"""Each rule is true on exactly the rows of its leaf."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from draws import people
from eifffel import view_ensemble
from eifffel.edits.rules import Condition, read_rules
from eifffel.ensembles import Column, plain_columns

NAMES = ["a", "b", "c"]


def read_all(view, names):
    """The rules of every leaf, as if all were flipped."""
    becomes = ["unfavorable" if favorable else "favorable" for favorable in view.leaf_favorable]
    return read_rules(view, np.arange(view.n_leaves), becomes, plain_columns(names))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    missing=st.sampled_from([0.0, 0.2, 0.6]),
    scale=st.sampled_from([1.0, 1e-3, 1.7e9]),  # thresholds that float32 cannot hold
    model=st.sampled_from(
        [
            DecisionTreeClassifier(random_state=0),
            RandomForestClassifier(3, random_state=0),
            BaggingClassifier(n_estimators=3, max_features=0.7, random_state=0),
        ]
    ),
)
def test_each_rule_is_true_on_exactly_its_leafs_rows(seed, missing, scale, model):
    X, y, _ = people(80, seed)
    random = np.random.RandomState(seed)
    X = X * scale + random.choice([0, 1e-7, 1 / 3, 64], X.shape)  # values that only float64 tells apart among them
    X[random.uniform(size=X.shape) < missing] = np.nan
    other = people(80, seed + 1)[0] * scale
    other[random.uniform(size=X.shape) < 0.3] = np.nan
    view = view_ensemble(model.fit(X, y))
    rules = read_all(view, NAMES)
    assert len(rules) == view.n_leaves
    for rows in (X, other):
        index = view.apply(view.check_rows(rows))
        for leaf, rule in enumerate(rules):
            t = view.leaf_tree[leaf]
            assert (rule.tree, rule.leaf) == (t, view.leaf_node[leaf])
            inside = view.leaf_offset[t] + index[t] == leaf
            np.testing.assert_array_equal(rule.matches(rows), inside, err_msg=str(rule))


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (Condition(0, Column("age", "age"), -np.inf, 30.5, False), "age <= 30.5 (not missing)"),
        (Condition(0, Column("age", "age"), 30.5, np.inf, True), "(age > 30.5 or missing)"),
        (Condition(0, Column("age", "age"), 18.0, 30.5, False), "18 < age <= 30.5 (not missing)"),
        (Condition(0, Column("age", "age"), np.inf, np.inf, True), "age is missing"),
        (Condition(0, Column("age", "age"), -np.inf, np.inf, False), "age is not missing"),
    ],
)
def test_a_bound_reads_aloud(bound, text):
    assert str(bound) == text


def test_a_tree_that_splits_on_missingness_says_so():
    X = np.array([[np.nan]] * 5 + [[1.0], [2.0], [3.0], [4.0], [5.0]])
    view = view_ensemble(DecisionTreeClassifier().fit(X, [1] * 5 + [0] * 5))
    assert sorted(map(str, read_all(view, ["age"]))) == [
        "age is missing: becomes unfavorable",
        "age is not missing: becomes favorable",
    ]


def test_a_tree_without_splits_covers_every_row():
    view = view_ensemble(DecisionTreeClassifier().fit([[0.0], [0.0]], [0, 1]))
    (rule,) = read_all(view, ["age"])
    assert str(rule) == "every row: becomes favorable"
    assert rule.matches(np.zeros((3, 1))).all()


@settings(max_examples=200, deadline=None)
@given(low=st.floats(-1e9, 1e9, width=32), steps=st.integers(1, 5))
def test_the_text_of_a_threshold_parts_float32_values_as_the_threshold_does(low, steps):
    high = np.float32(low)
    for _ in range(steps):
        high = np.nextafter(high, np.float32(np.inf))
    threshold = (float(low) + float(high)) / 2
    text = str(Condition(0, Column("x", "x"), -np.inf, threshold, False)).split(" <= ")[1].split(" ")[0]
    for value in (low, float(high)):
        assert (value <= float(text)) == (value <= threshold)


def test_rules_match_rows_in_any_form():
    X, y, _ = people(80, seed=0)
    view = view_ensemble(DecisionTreeClassifier(random_state=0).fit(X, y))
    rules = read_all(view, NAMES)
    for rule in rules:
        np.testing.assert_array_equal(rule.matches(csr_matrix(X)), rule.matches(X))
        np.testing.assert_array_equal(rule.matches(X.tolist()), rule.matches(X))
    for library in ("pandas", "polars"):
        frames = pytest.importorskip(library)
        frame = frames.DataFrame({name: X[:, k] for k, name in reversed(list(enumerate(NAMES)))})  # columns reversed
        for rule in rules:
            np.testing.assert_array_equal(rule.matches(frame), rule.matches(X))
