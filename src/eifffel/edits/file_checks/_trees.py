"""Checks of scikit-learn's trees and of the ensembles around them, whose compiled code trusts all that it is given."""

import functools
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import BaseDecisionTree, DecisionTreeRegressor
from sklearn.tree._tree import Tree
from sklearn.utils import check_array

from eifffel.edits.file_checks._damage import is_array, is_integer, refuse_unless, walk_tree

TREE_OUTSIDE = "a tree whose nodes point outside of it"
OTHER_COLUMNS = "trees of other columns than the model around them has"
CLASSES = "trees of other classes than the model around them has"
# So many words of 32 bits hold the 256 categories of a feature.
BITSET_WORDS = 8


def make_tree(parts: list[Any]) -> Tree:
    """A tree of scikit-learn from what `Tree.__reduce__` gave, checked before the tree reads any of it."""
    arguments, state = parts
    refuse_unless(isinstance(arguments, tuple) and len(arguments) == 3 and isinstance(state, dict), TREE_OUTSIDE)
    n_features, n_classes, n_outputs = arguments
    refuse_unless(is_integer(n_features, 0) and is_integer(n_outputs, 1), TREE_OUTSIDE)
    refuse_unless(is_array(n_classes, "iu", 1) and len(n_classes) == n_outputs and n_classes.min() >= 1, TREE_OUTSIDE)
    nodes: Any = state.get("nodes")
    values: Any = state.get("values")
    refuse_unless(type(nodes) is np.ndarray and nodes.ndim == 1 and nodes.dtype.names, TREE_OUTSIDE)
    refuse_unless({"left_child", "right_child", "feature"} <= set(nodes.dtype.names), TREE_OUTSIDE)
    refuse_unless(is_array(values, "f", 3), TREE_OUTSIDE)
    left, right = nodes["left_child"], nodes["right_child"]
    inner = left != -1
    refuse_unless(is_integer(state.get("node_count")) and state["node_count"] == len(nodes), TREE_OUTSIDE)
    depth, _ = walk_tree(left, right, inner, TREE_OUTSIDE)
    refuse_unless(is_integer(state.get("max_depth")) and state["max_depth"] == depth, TREE_OUTSIDE)
    _check_split_features(nodes["feature"][inner], n_features)
    tree = Tree(int(n_features), n_classes.astype(np.intp), int(n_outputs))
    tree.__setstate__(state)
    return tree


def _check_split_features(features: np.ndarray, n_features: Any) -> None:
    inside = len(features) == 0 or (features.min() >= 0 and features.max() < n_features)
    refuse_unless(inside, TREE_OUTSIDE)


def check_tree(model: Any) -> None:
    """A single tree of scikit-learn, fitted or not."""
    if "tree_" not in vars(model):
        return
    tree = model.tree_
    refuse_unless(type(tree) is Tree, "a tree of another type than scikit-learn's")
    _check_columns(model, tree.n_features)
    refuse_unless(_same(getattr(model, "n_outputs_", None), tree.n_outputs), CLASSES)
    if is_classifier(model):
        refuse_unless(_same(getattr(model, "n_classes_", None), tree.n_classes), CLASSES)
    else:
        refuse_unless(tree.max_n_classes == 1, CLASSES)


def _check_columns(model: Any, n_features: Any) -> None:
    """Raise unless a model refuses rows of another number of columns; without n_features_in_ it takes any."""
    own = vars(model).get("n_features_in_")
    refuse_unless(is_integer(own, 1) and own == n_features, OTHER_COLUMNS)


def _same(one: Any, other: Any) -> bool:
    """Whether two integers, or lists of them, are equal."""
    one, other = (np.asarray(1 if value is None else value) for value in (one, other))
    return one.dtype.kind in "iu" and np.array_equal(np.atleast_1d(one), np.atleast_1d(other))


def check_forest(model: Any) -> None:
    """A forest: its trees get its columns unseen, and it adds up what they say."""
    if "estimators_" not in vars(model):
        return
    trees = model.estimators_
    refuse_unless(isinstance(trees, list) and trees, "a forest without a list of trees")
    for tree in trees:
        refuse_unless(isinstance(tree, BaseDecisionTree) and "tree_" in vars(tree), "a forest of what are no trees")
        _check_columns(model, tree.tree_.n_features)
        refuse_unless(_same(getattr(model, "n_outputs_", None), tree.tree_.n_outputs), CLASSES)
        if is_classifier(model):
            refuse_unless(_same(getattr(model, "n_classes_", None), tree.tree_.n_classes), CLASSES)


def check_bagging(model: Any) -> None:
    """Bagging: each of its models sees columns of its own."""
    if "estimators_" not in vars(model):
        return
    estimators, columns = model.estimators_, vars(model).get("estimators_features_")
    n_features = vars(model).get("n_features_in_")
    refuse_unless(
        isinstance(estimators, list) and isinstance(columns, list) and is_integer(n_features, 1), OTHER_COLUMNS
    )
    refuse_unless(estimators and len(estimators) == len(columns), OTHER_COLUMNS)
    for estimator, own in zip(estimators, columns, strict=True):
        refuse_unless(is_array(own, "iu", 1) and 0 < len(own) <= n_features, OTHER_COLUMNS)
        refuse_unless(own.min() >= 0 and own.max() < n_features, OTHER_COLUMNS)
        if isinstance(estimator, BaseDecisionTree):
            _check_columns(estimator, len(own))
    if is_classifier(model):
        n_classes = vars(model).get("n_classes_")
        refuse_unless(is_integer(n_classes, 1) and n_classes == len(model.classes_), CLASSES)


def check_gradient_boosting(model: Any) -> None:
    """Gradient boosting: compiled code writes what trees say into as many columns as there are trees in a row."""
    if "estimators_" not in vars(model):
        return
    trees = model.estimators_
    what = "gradient boosting whose trees do not stand in a table of one row for each iteration"
    refuse_unless(is_array(trees, "O", 2) and trees.size, what)
    refuse_unless(_same(vars(model).get("n_trees_per_iteration_"), trees.shape[1]), what)
    for tree in trees.ravel():
        refuse_unless(type(tree) is DecisionTreeRegressor and "tree_" in vars(tree), what)
        _check_columns(model, tree.tree_.n_features)
        refuse_unless(tree.tree_.n_outputs == tree.tree_.max_n_classes == 1, CLASSES)


def probe_gradient_boosting(model: Any) -> None:
    """Where gradient boosting begins must have room for what its trees add; asked once everything in it is checked."""
    if "estimators_" not in vars(model):
        return
    start = model._raw_predict_init(np.zeros((2, model.n_features_in_), np.float32))
    refuse_unless(start.shape == (2, model.estimators_.shape[1]), "gradient boosting that begins with other columns")


def check_histograms(model: Any) -> None:
    """Histogram gradient boosting: nodes, sets of categories, and which features have categories."""
    if "_predictors" not in vars(model):
        return
    state = vars(model)
    n_features, mapper = state.get("n_features_in_"), state.get("_bin_mapper")
    refuse_unless(is_integer(n_features, 1), OTHER_COLUMNS)
    refuse_unless(not state.get("_in_fit", False), "a model that says it is being trained, and checks no rows")
    categorical: Any = vars(mapper).get("is_categorical_") if hasattr(mapper, "__dict__") else None
    refuse_unless(is_array(categorical, "bu", 1) and len(categorical) == n_features, OTHER_COLUMNS)
    thresholds: Any = vars(mapper).get("bin_thresholds_")
    refuse_unless(isinstance(thresholds, list) and len(thresholds) == n_features, OTHER_COLUMNS)
    refuse_unless(all(is_array(own, "fiu", 1) for own in thresholds), OTHER_COLUMNS)
    _check_preprocessor(state.get("_preprocessor"), n_features)
    n_trees = state.get("n_trees_per_iteration_")
    refuse_unless(isinstance(model._predictors, list) and is_integer(n_trees, 1), CLASSES)
    for row in model._predictors:
        refuse_unless(isinstance(row, list) and len(row) == n_trees, CLASSES)
        for predictor in row:
            refuse_unless(type(predictor).__name__ == "TreePredictor", "trees of another type than scikit-learn's")
            _check_predictor(vars(predictor), n_features, categorical)


def _check_predictor(state: dict[str, Any], n_features: Any, categorical: np.ndarray) -> None:
    nodes: Any = state.get("nodes")
    refuse_unless(type(nodes) is np.ndarray and nodes.ndim == 1 and nodes.dtype.names, TREE_OUTSIDE)
    inner = nodes["is_leaf"] == 0
    walk_tree(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), inner, TREE_OUTSIDE)
    _check_split_features(nodes["feature_idx"][inner], n_features)
    by_category = nodes[inner & (nodes["is_categorical"] != 0)]
    refuse_unless(categorical[by_category["feature_idx"]].all(), "a tree with categories of a feature that has none")
    for name in ("raw_left_cat_bitsets", "binned_left_cat_bitsets"):
        bitsets: Any = state.get(name)
        refuse_unless(is_array(bitsets, "u", 2) and bitsets.shape[1] == BITSET_WORDS, TREE_OUTSIDE)
        refuse_unless(len(by_category) == 0 or by_category["bitset_idx"].max() < len(bitsets), TREE_OUTSIDE)


def _check_preprocessor(steps: Any, n_features: int) -> None:
    """What makes numbers of categories must hand on as many columns as the trees were grown on: each of them once."""
    if steps is None:
        return
    refuse_unless(
        type(steps) is ColumnTransformer and isinstance(vars(steps).get("transformers_"), list), OTHER_COLUMNS
    )
    _check_columns(steps, n_features)
    taken = np.zeros(n_features, np.int64)
    for step in steps.transformers_:
        refuse_unless(isinstance(step, tuple) and len(step) == 3, OTHER_COLUMNS)
        _, transformer, columns = step
        if isinstance(transformer, str) and transformer == "drop":
            continue
        columns = np.asarray(columns)
        refuse_unless(is_array(columns, "b", 1) and len(columns) == n_features, OTHER_COLUMNS)
        refuse_unless(_is_known_transformer(transformer), OTHER_COLUMNS)
        taken += columns
    refuse_unless((taken == 1).all(), OTHER_COLUMNS)


def _is_known_transformer(transformer: Any) -> bool:
    if type(transformer) is FunctionTransformer:
        func = transformer.func
        return func is None or (isinstance(func, functools.partial) and func.func is check_array and not func.args)
    return type(transformer) is OrdinalEncoder
