"""The trees of an ensemble, library by library, and how their sums become probabilities and decisions."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from eifffel.ensembles import EnsembleView, find_view, view_ensemble
from eifffel.exceptions import UnsupportedModelError

# The bits of LightGBM's decision_type.
CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT = 1, 2, 2
MISSING_ZERO, MISSING_NAN = 1, 2
# What is no further from 0 is 0 for LightGBM, which splits there.
LIGHTGBM_ZERO = float(np.float32(1e-35))


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree, one entry per node; leaves have ``left == -1``, and ``value`` is what counts of them.

    ``value`` has one column for each sum that is made of the leaves.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray

    @classmethod
    def leaf(cls, value: Any) -> "Tree":
        """A tree that gives every row the same. ONNX has no tree without a split: both its sides are the same."""
        return cls(
            left=np.array([1, -1, -1]),
            right=np.array([2, -1, -1]),
            feature=np.zeros(3, np.int64),
            threshold=np.zeros(3),
            missing_left=np.zeros(3, bool),
            value=np.tile(np.atleast_1d(value), (3, 1)),
        )

    @property
    def inner(self) -> np.ndarray:
        """Which nodes are no leaves."""
        return self.left != -1


@dataclass(frozen=True, eq=False)
class Ensemble:
    """An ensemble as ONNX can compute it, in the types and the order in which its library does.

    Attributes
    ----------
    trees : list of Tree
        Leaves that vote have two columns of values, one for each class; others one.
    mode : {"LEQ", "LT", "GT"}
        Rows go left where ``value mode threshold``.
    seen_as, added_as : numpy types
        What the rows are made before they are compared, and in what leaves are added.
    slope : float or None
        Of the logistic function that makes the sum a probability; ``None`` where votes are averaged.
    cut : float or None
        Where the sum is compared with a number to decide: that number. Else the more likely class is decided for.
    reached : bool
        Whether a sum that equals ``cut`` is enough for the second class.
    sparse_zeros_missing : bool
        Whether a zero that a sparse matrix does not store counts as missing.
    """

    trees: list[Tree]
    mode: str
    seen_as: type[np.floating]
    added_as: type[np.floating]
    slope: float | None = None
    cut: float | None = None
    reached: bool = False
    sparse_zeros_missing: bool = False


def read_ensemble(model: Any) -> tuple[Ensemble, np.ndarray]:
    """The trees of a fitted ensemble with nothing around it, and its labels."""
    view_class = find_view(model)
    name = view_class.__name__
    if name == "HistGradientBoostingView":
        raise UnsupportedModelError(
            f"a {type(model).__name__} does not convert to ONNX: skl2onnx, up to 1.20 at least, writes booleans "
            "where ONNX takes integers, which fails with any recent protobuf, and reads splits on categories as splits "
            "on numbers. Keep the model as it is with eifffel.save, or train a GradientBoostingClassifier, LightGBM, "
            "XGBoost or CatBoost"
        )
    view_class.check_fitted(model)
    labels = np.asarray(view_class.classes_of(model))
    view = view_ensemble(model, favorable=labels.tolist()[1])
    return READERS[name](view), labels


def _read_averaged(view: EnsembleView) -> Ensemble:
    trees = []
    for t in range(view.n_trees):
        splits = view.structure(t)
        value = np.zeros((len(splits.left), 2))
        leaves = slice(view.leaf_offset[t], view.leaf_offset[t + 1])
        value[view.leaf_node[leaves]] = view.leaf_value[leaves]
        trees.append(_tree(splits.left, splits.right, splits.feature, splits.threshold, splits.missing_left, value))
    # Rows become float32 and are compared with thresholds of float64.
    return Ensemble(trees, "LEQ", np.float32, np.float64)


def _read_gradient_boosting(view: Any) -> Ensemble:
    model = view.model
    trees = [Tree.leaf(view.raw_bias)]
    for grown in model.estimators_[:, 0]:
        tree = grown.tree_
        value = model.learning_rate * tree.value[:, 0]
        missing_left = np.zeros(tree.node_count, bool)  # it takes no missing values
        trees.append(_tree(tree.children_left, tree.children_right, tree.feature, tree.threshold, missing_left, value))
    slope = 2.0 if model.loss == "exponential" else 1.0
    return Ensemble(trees, "LEQ", np.float32, np.float64, slope, cut=0.0, reached=True)


def _read_lightgbm(view: Any) -> Ensemble:
    trees = [_lightgbm_tree(view.model, block) for block in view.text.split("\nTree=")[1:]]
    return Ensemble(trees, "LEQ", np.float64, np.float64, view.slope)


def _lightgbm_tree(model: Any, block: str) -> Tree:
    fields = dict(line.partition("=")[::2] for line in block.splitlines())

    def numbers(name: str, kind: type) -> np.ndarray:
        return np.array(fields[name].split(), np.float64).astype(kind)

    leaf_value = numbers("leaf_value", np.float64)
    if len(leaf_value) == 1:
        return Tree.leaf(leaf_value[0])
    threshold, kinds = numbers("threshold", np.float64), numbers("decision_type", np.int64)
    missing = kinds >> MISSING_SHIFT & 3
    if (kinds & CATEGORICAL).any():
        _refuse_categories(model)
    if (missing == MISSING_ZERO).any():
        raise UnsupportedModelError(
            f"this {type(model).__name__} was trained with zero_as_missing, which ONNX has no way to say; train it "
            "with missing values as NaN"
        )
    # Where no value was missing in training, a missing one counts as 0.
    missing_left = np.where(missing == MISSING_NAN, kinds & DEFAULT_LEFT > 0, threshold >= 0)
    threshold = np.where(threshold == -LIGHTGBM_ZERO, np.nextafter(-LIGHTGBM_ZERO, -1), threshold)
    # Children below 0 are leaves, counted from -1 downwards; here they come after the splits.
    left, right = (numbers(name, np.int64) for name in ("left_child", "right_child"))
    n_inner, n_leaves = len(left), len(leaf_value)
    left, right = (np.where(child < 0, n_inner + ~child, child) for child in (left, right))
    return _tree(
        _padded(left, n_leaves, -1),
        _padded(right, n_leaves, -1),
        _padded(numbers("split_feature", np.int64), n_leaves, -1),
        _padded(threshold, n_leaves, 0),
        _padded(missing_left, n_leaves, False),
        np.concatenate([np.zeros(n_inner), leaf_value])[:, None],
    )


def _padded(inner: np.ndarray, n_leaves: int, value: Any) -> np.ndarray:
    return np.concatenate([inner, np.full(n_leaves, value, inner.dtype)])


def _read_xgboost(view: Any) -> Ensemble:
    model = view.model
    missing = getattr(model, "missing", np.nan)
    if missing is not None and not np.isnan(missing):
        raise UnsupportedModelError(
            f"this {type(model).__name__} has missing={missing}, a number that stands for a missing value, which ONNX "
            "has no way to say; train it with missing=nan"
        )
    trees = [Tree.leaf(view.raw_bias)]
    for t, tree in enumerate(view.used_trees):
        if any(tree["split_type"]):
            _refuse_categories(model)
        left = np.array(tree["left_children"])
        value = np.zeros((len(left), 1))
        leaves = slice(view.leaf_offset[t], view.leaf_offset[t + 1])
        value[view.leaf_node[leaves], 0] = view.leaf_value[leaves]
        missing_left = np.array(tree["default_left"], bool)
        splits = (left, np.array(tree["right_children"]), np.array(tree["split_indices"]))
        trees.append(_tree(*splits, np.array(tree["split_conditions"]), missing_left, value))
    return Ensemble(trees, "LT", np.float32, np.float32, 1.0, sparse_zeros_missing=True)


def _read_catboost(view: Any) -> Ensemble:
    model = view.model
    if len(model.get_cat_feature_indices()):
        _refuse_categories(model)
    if len(model.get_embedding_feature_indices()):
        raise UnsupportedModelError(
            f"this {type(model).__name__} has embedding_features, which ONNX's trees do not take; give it numbers"
        )
    with TemporaryDirectory() as folder:
        model.save_model(f"{folder}/model.json", format="json")
        document = json.loads(Path(f"{folder}/model.json").read_text(encoding="utf-8"))
    as_true = {
        feature["flat_feature_index"]
        for feature in document["features_info"]["float_features"]
        if feature["nan_value_treatment"] == "AsTrue"
    }
    flat = [feature["flat_feature_index"] for feature in document["features_info"]["float_features"]]
    grown = document.get("oblivious_trees") or document["trees"]
    trees = [Tree.leaf(view.raw_bias)]
    for tree in grown:
        nodes = _oblivious_nodes(tree) if "leaf_values" in tree else _nested_nodes(tree)
        trees.append(_catboost_tree(list(nodes), flat, as_true, view.scale))
    return Ensemble(trees, "GT", np.float32, np.float64, 1.0, cut=view.raw_cut())


Node = tuple[dict[str, Any] | None, int, int, float]


def _oblivious_nodes(tree: dict[str, Any]) -> Iterator[Node]:
    """A tree that asks the same of all rows at a depth, as nodes: split, where it is so, where not, leaf value."""
    splits = tree.get("splits") or []
    depth = len(splits)
    for node in range(2**depth - 1):
        # The last split of the list is the highest bit of the number of a leaf, and asked first here.
        level = (node + 1).bit_length() - 1
        yield splits[depth - 1 - level], 2 * node + 2, 2 * node + 1, 0.0
    for value in tree["leaf_values"]:
        yield None, -1, -1, value


def _nested_nodes(tree: dict[str, Any]) -> Iterator[Node]:
    """A tree of nodes in nodes, each before what is below it, level by level."""
    pending, n_known = [tree], 1
    while pending:
        below = []
        for node in pending:
            if "split" in node:
                yield node["split"], n_known + 1, n_known, 0.0
                below += [node["left"], node["right"]]
                n_known += 2
            else:
                yield None, -1, -1, node["value"]
        pending = below


def _catboost_tree(nodes: list[Node], flat: list[int], as_true: set[int], scale: float) -> Tree:
    feature = np.array([-1 if split is None else flat[split["float_feature_index"]] for split, *_ in nodes])
    return _tree(
        np.array([where_so for _, where_so, _, _ in nodes]),
        np.array([where_not for _, _, where_not, _ in nodes]),
        feature,
        np.array([0.0 if split is None else split["border"] for split, *_ in nodes]).astype(np.float32),
        np.isin(feature, list(as_true)),
        scale * np.array([[value] for *_, value in nodes]),
    )


def _tree(
    left: np.ndarray,
    right: np.ndarray,
    feature: np.ndarray,
    threshold: np.ndarray,
    missing_left: np.ndarray,
    value: np.ndarray,
) -> Tree:
    if left[0] == -1:
        return Tree.leaf(value[0])
    return Tree(left, right, feature, threshold, np.asarray(missing_left, bool), value)


def _refuse_categories(model: Any) -> None:
    raise UnsupportedModelError(
        f"this {type(model).__name__} splits on categories by itself, and the numbers that stand for them are in its "
        "library; an ONNX file would take those numbers, not the categories. Train it in a Pipeline that encodes "
        "them, such as ColumnTransformer with OneHotEncoder"
    )


READERS: dict[str, Callable[[Any], Ensemble]] = {
    "DecisionTreeView": _read_averaged,
    "ForestView": _read_averaged,
    "BaggingView": _read_averaged,
    "GradientBoostingView": _read_gradient_boosting,
    "LightGBMView": _read_lightgbm,
    "XGBoostView": _read_xgboost,
    "CatBoostView": _read_catboost,
}
