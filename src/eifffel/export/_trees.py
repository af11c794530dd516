"""The trees of an ensemble, library by library, and how their sums become probabilities and decisions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eifffel.ensembles import EnsembleView, find_view, view_ensemble
from eifffel.ensembles.trees import TreeTable
from eifffel.exceptions import UnsupportedModelError


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
    mode : {"LEQ", "LT"}
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


def _read_trees(view: EnsembleView, value: np.ndarray) -> list[Tree]:
    """The trees of a view, of which ``value`` is what counts of the leaves, a row for each."""
    table = view.table
    has_categories = len(getattr(view.model, "get_cat_feature_indices", list)()) > 0
    if table is None and not has_categories:
        raise UnsupportedModelError(
            f"the splits of this {type(view.model).__name__} cannot be read: of LightGBM, those of a model whose "
            "training was continued with other settings of missing values or categories; of CatBoost, those of trees "
            "that are not symmetric and were read from JSON, so read it from a .cbm file"
        )
    if table is None or has_categories or table.by_category.any():
        raise UnsupportedModelError(
            f"this {type(view.model).__name__} splits on categories by itself, and the numbers that stand for them are "
            "in its library; an ONNX file would take those numbers, not the categories. Train it in a Pipeline that "
            "encodes them, such as ColumnTransformer with OneHotEncoder"
        )
    return [_read_tree(table, t, value[view.leaf_offset[t] : view.leaf_offset[t + 1]]) for t in range(table.n_trees)]


def _read_tree(table: TreeTable, t: int, value: np.ndarray) -> Tree:
    own = table.tree(t)
    left, leaf, threshold = table.left[own], table.leaf[own], table.threshold[own]
    if left[0] == -1:
        return Tree.leaf(value[0])
    # What is 0 is above a threshold that is as far from it as what still counts as 0.
    threshold = np.where(threshold == -table.zero, np.nextafter(threshold, -1), threshold) if table.zero else threshold
    of_nodes = np.zeros((len(left), value.shape[1]))
    of_nodes[leaf >= 0] = value[leaf[leaf >= 0]]
    return Tree(left, table.right[own], table.feature[own], threshold, table.missing_left[own], of_nodes)


def _read_averaged(view: EnsembleView) -> Ensemble:
    # Rows become float32 and are compared with thresholds of float64.
    return Ensemble(_read_trees(view, view.leaf_value), "LEQ", np.float32, np.float64)


def _read_boosted(view: Any) -> list[Tree]:
    """The trees of a boosted ensemble, after one that has the constant raw score."""
    return [Tree.leaf(view.raw_bias), *_read_trees(view, view.leaf_value[:, None])]


def _read_gradient_boosting(view: Any) -> Ensemble:
    slope = 2.0 if view.model.loss == "exponential" else 1.0
    return Ensemble(_read_boosted(view), "LEQ", np.float32, np.float64, slope, cut=0.0, reached=True)


def _read_lightgbm(view: Any) -> Ensemble:
    if view.table is not None and view.table.zeros_missing:
        raise UnsupportedModelError(
            f"this {type(view.model).__name__} was trained with zero_as_missing, which ONNX has no way to say; train "
            "it with missing values as NaN"
        )
    return Ensemble(_read_trees(view, view.leaf_value[:, None]), "LEQ", np.float64, np.float64, view.slope)


def _read_xgboost(view: Any) -> Ensemble:
    missing = getattr(view.model, "missing", np.nan)
    if missing is not None and not np.isnan(missing):
        raise UnsupportedModelError(
            f"this {type(view.model).__name__} has missing={missing}, a number that stands for a missing value, which "
            "ONNX has no way to say; train it with missing=nan"
        )
    return Ensemble(_read_boosted(view), "LT", np.float32, np.float32, 1.0, sparse_zeros_missing=True)


def _read_catboost(view: Any) -> Ensemble:
    if len(view.model.get_embedding_feature_indices()):
        raise UnsupportedModelError(
            f"this {type(view.model).__name__} has embedding_features, which ONNX's trees do not take; give it numbers"
        )
    return Ensemble(_read_boosted(view), "LEQ", np.float32, np.float64, 1.0, cut=view.raw_cut())


READERS: dict[str, Callable[[Any], Ensemble]] = {
    "DecisionTreeView": _read_averaged,
    "ForestView": _read_averaged,
    "BaggingView": _read_averaged,
    "GradientBoostingView": _read_gradient_boosting,
    "LightGBMView": _read_lightgbm,
    "XGBoostView": _read_xgboost,
    "CatBoostView": _read_catboost,
}
