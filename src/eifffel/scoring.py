"""Score_Leaves (Algorithm 1): what flipping each leaf would change, from the leaf counts alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from eifffel import _kernels
from eifffel.ensembles import EnsembleView
from eifffel.leaves import LeafCounts


@dataclass(frozen=True, eq=False)
class LeafScores:
    """The effect of flipping each leaf on its own tree.

    Discriminations are scaled by the sizes of both groups, ``a * |S=0| - b * |S=1|`` for ``a`` privileged
    and ``b`` unprivileged favourable rows: integers with unit weights, so that ties are ties in any order of
    summation.

    Attributes
    ----------
    leaf_offset : ndarray of shape (n_trees + 1,)
    tree_discrimination : ndarray of shape (n_trees,)
        Each tree's own discrimination, scaled.
    drop : ndarray of shape (n_leaves,)
        By how much the flip lowers it.
    candidate : ndarray of shape (n_leaves,)
        Whether the flip lowers discrimination and the leaf can be flipped.
    ratio : ndarray of shape (n_leaves,)
        ``drop`` divided by the weight of rows that the flip decides wrongly; ``inf`` where it costs none. It only
        orders candidates and is NaN for other leaves.
    unit : float
        What turns a ratio into the paper's ``delta_disc / delta_accu``.
    """

    leaf_offset: np.ndarray
    tree_discrimination: np.ndarray
    drop: np.ndarray
    candidate: np.ndarray
    ratio: np.ndarray
    unit: float


def label_weights(class_weight: Any, n_rows_of_label: np.ndarray) -> np.ndarray:
    """Weights of the two labels from the class weight that the model was trained with, up to a common factor.

    Integers where they can be, so that equal ratios are equal numbers; see `EnsembleView` for ``class_weight``.
    """
    if class_weight is None:
        return np.ones(2, np.int64)
    if class_weight == "balanced":
        # n / (2 * n_rows_of_label), as scikit-learn has it, times 2 * product / n.
        return n_rows_of_label[::-1].astype(np.int64)
    return np.asarray(class_weight, np.float64)


def score_leaves(view: EnsembleView, counts: LeafCounts, label_weight: np.ndarray) -> LeafScores:
    """Algorithm 1 with the corrected sign and candidates.

    ``delta_disc`` follows from the leaf's own prediction, which under bootstrap or class weights may not be the
    majority of the rows counted in it. ``delta_accu`` is the weight of the rows that disagree with that prediction
    minus the weight of those that agree.
    """
    dtype = counts.counts.dtype
    unprivileged, privileged = counts.totals.sum(axis=1)
    # Integers decide exactly; of real weights, a drop below rounding is none.
    least = dtype.type(0) if dtype.kind == "i" else 1e-12 * unprivileged * privileged
    tree_discrimination = np.zeros(view.n_trees, dtype)
    drop = np.empty(view.n_leaves, dtype)
    candidate = np.empty(view.n_leaves, np.bool_)
    ratio = np.empty(view.n_leaves, np.float64)
    _kernels.score_leaves(
        counts.counts,
        counts.totals,
        view.leaf_favorable,
        view.flippable,
        label_weight,
        least,
        view.leaf_offset,
        tree_discrimination,
        drop,
        candidate,
        ratio,
    )
    unit = float((counts.totals.sum(axis=0) * label_weight).sum() / (unprivileged * privileged))
    return LeafScores(view.leaf_offset, tree_discrimination, drop, candidate, ratio, unit)
