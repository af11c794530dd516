"""Checks of XGBoost's models: arrays for each tree, whose children and features XGBoost itself does not check."""

from typing import Any

import numpy as np

from eifffel.edits.file_checks._damage import DamageError, check_threads, is_integer, refuse_unless, walk_tree
from eifffel.edits.file_checks._ubjson import read_json, read_ubjson

NODES_OUTSIDE = "a tree of XGBoost whose nodes point outside of it"
CATEGORIES_OUTSIDE = "a tree of XGBoost whose sets of categories are not in it"
# What has an entry for each node.
OF_NODES = ("base_weights", "default_left", "loss_changes", "parents", "split_conditions", "split_type", "sum_hessian")
# XGBoost refuses higher numbers of categories; features are counted in as many bits.
MOST_CATEGORIES = 2**24
MOST_FEATURES = 2**24
# All numbers have 32 bits, some of them without a sign.
MOST = 2**32 - 1


def check_xgboost_bytes(data: Any) -> None:
    """Raise unless bytes are a model of XGBoost, in either of its forms, or a booster with its configuration."""
    refuse_unless(isinstance(data, bytes | bytearray) and data, "a booster of XGBoost that is no bytes")
    data = bytes(data)
    is_text = data.lstrip()[:1] == b"{" and data.lstrip()[1:].lstrip()[:1] in (b'"', b"}")
    try:
        document = read_json(data) if is_text else read_ubjson(data)
        model = document.get("Model", document)
        if "Config" in document:
            check_threads(document["Config"]["learner"].get("generic_param", {}))
        _check_learner(model["learner"])
    except DamageError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise DamageError(f"a model of XGBoost that is no such model: {error}") from None


def _check_learner(learner: dict[str, Any]) -> None:
    param = learner["learner_model_param"]
    n_features = _count(param["num_feature"], MOST_FEATURES)
    n_outputs = max(_count(param["num_class"], 2**20), 1) * max(_count(param.get("num_target", 1), 2**20), 1)
    for name in ("feature_names", "feature_types"):
        if len(learner.get(name, ())):
            refuse_unless(len(learner[name]) == n_features, f"a model of XGBoost with other features than {name}")
    booster = learner["gradient_booster"]
    if booster["name"] == "gblinear":
        weights = _numeric_array(booster["model"]["weights"], (n_features + 1) * n_outputs, NODES_OUTSIDE)
        refuse_unless(np.isfinite(weights).all(), NODES_OUTSIDE)
        return
    refuse_unless(booster["name"] in ("gbtree", "dart"), f"a booster of XGBoost called {booster['name']!r}")
    model = booster.get("gbtree", booster)["model"]
    trees = model["trees"]
    refuse_unless(isinstance(trees, list), "a model of XGBoost without trees")
    what = "a model of XGBoost whose trees are not those that it counts"
    refuse_unless(_count(model["gbtree_model_param"]["num_trees"]) == len(trees), what)
    refuse_unless(n_outputs <= max(len(trees), 1), "a model of XGBoost with too few trees for its classes")
    _integers(model["tree_info"], len(trees), 0, n_outputs - 1, what)
    _count(model["gbtree_model_param"].get("num_parallel_tree", 1), max(len(trees), 1))
    if "iteration_indptr" in model:
        starts = _integers(model["iteration_indptr"], None, 0, len(trees), what)
        refuse_unless(len(starts) and starts[0] == 0 and starts[-1] == len(trees), what)
        refuse_unless((np.diff(starts) >= 0).all(), what)
    if booster["name"] == "dart":
        _numeric_array(booster["weight_drop"], len(trees), what)
    for k, tree in enumerate(trees):
        refuse_unless(tree.get("id", k) == k, what)
        _check_xgboost_tree(tree, n_features)
    _check_encoding(model.get("cats"), n_features)


def _check_xgboost_tree(tree: dict[str, Any], n_features: int) -> None:
    param = tree["tree_param"]
    n_nodes = _count(param["num_nodes"])
    refuse_unless(_count(param.get("size_leaf_vector", 0)) <= 1, "trees of XGBoost whose leaves hold vectors")
    refuse_unless(_count(param["num_feature"]) == n_features, "trees of XGBoost of other features than its model")
    _count(param.get("num_deleted", 0), n_nodes)
    left, right = (_integers(tree[f"{side}_children"], n_nodes, -1, MOST, NODES_OUTSIDE) for side in ("left", "right"))
    feature = _integers(tree["split_indices"], n_nodes, 0, MOST, NODES_OUTSIDE)
    parents = _integers(tree["parents"], n_nodes, -1, MOST, NODES_OUTSIDE)
    for name in OF_NODES:
        if name in tree:
            _numeric_array(tree[name], n_nodes, NODES_OUTSIDE)
    # Pruned nodes stay in the arrays, and what they say means nothing; no way leads there.
    _, reached = walk_tree(left, right, left != -1, NODES_OUTSIDE)
    inner = reached & (left != -1)
    refuse_unless((right[reached & ~inner] == -1).all() and (feature[inner] < n_features).all(), NODES_OUTSIDE)
    for child in (left, right):
        refuse_unless((parents[child[inner]] == np.flatnonzero(inner)).all(), NODES_OUTSIDE)
    refuse_unless(parents[0] in (-1, 2**31 - 1), NODES_OUTSIDE)
    if "categories" in tree:
        _check_xgboost_categories(tree, n_nodes)


def _check_xgboost_categories(tree: dict[str, Any], n_nodes: int) -> None:
    """The sets of categories that nodes split by, stretches of one list."""
    by_category = np.flatnonzero(_integers(tree["split_type"], n_nodes, 0, 1, CATEGORIES_OUTSIDE))
    nodes = _integers(tree["categories_nodes"], len(by_category), 0, n_nodes - 1, CATEGORIES_OUTSIDE)
    refuse_unless((nodes == by_category).all(), CATEGORIES_OUTSIDE)
    categories = _integers(tree["categories"], None, 0, MOST_CATEGORIES, CATEGORIES_OUTSIDE)
    starts = _integers(tree["categories_segments"], len(nodes), 0, len(categories), CATEGORIES_OUTSIDE)
    sizes = _integers(tree["categories_sizes"], len(nodes), 0, len(categories), CATEGORIES_OUTSIDE)
    refuse_unless((starts + sizes <= len(categories)).all(), CATEGORIES_OUTSIDE)


def _check_encoding(cats: Any, n_features: int) -> None:
    """Which categories the rows of training had; since version 3.1 the model holds them."""
    if not cats or not len(cats.get("feature_segments", ())):
        return
    what = "a model of XGBoost whose categories are not in it"
    starts = _integers(cats["feature_segments"], n_features + 1, 0, MOST_CATEGORIES, what)
    refuse_unless(starts[0] == 0 and (np.diff(starts) >= 0).all() and len(cats["enc"]) == n_features, what)
    order = _integers(cats["sorted_idx"], int(starts[-1]), 0, MOST_CATEGORIES, what)
    for encoding, first, last in zip(cats["enc"], starts[:-1], starts[1:], strict=True):
        size = last - first
        if "offsets" in encoding:
            n_signs, n_offsets = len(encoding["values"]), len(encoding["offsets"])
            offsets = _integers(encoding["offsets"], int(size + 1) if size else n_offsets, 0, n_signs, what)
            refuse_unless((np.diff(offsets) >= 0).all() and (not size or offsets[-1] == n_signs), what)
        else:
            _numeric_array(encoding["values"], int(size), what)
        refuse_unless((np.sort(order[first:last]) == np.arange(size)).all(), what)


def _count(value: Any, most: int = 2**31 - 1) -> int:
    """A number that XGBoost writes as text."""
    text = str(value) if is_integer(value) else value
    is_count = isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 10
    refuse_unless(is_count and int(text) <= most, f"a model of XGBoost with {value!r} where a number to {most} belongs")
    return int(text)


def _numeric_array(values: Any, size: int | None, what: str) -> np.ndarray:
    numbers = np.asarray(values)
    numbers = numbers.astype(np.float64) if numbers.size == 0 else numbers
    refuse_unless(numbers.dtype.kind in "iufb" and numbers.ndim == 1, what)
    refuse_unless(size is None or len(numbers) == size, what)
    return numbers


def _integers(values: Any, size: int | None, low: int, high: int, what: str) -> np.ndarray:
    numbers = _numeric_array(values, size, what)
    if len(numbers):
        refuse_unless(numbers.dtype.kind in "iu" and numbers.min() >= low and numbers.max() <= high, what)
    return numbers.astype(np.int64)
