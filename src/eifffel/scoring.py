"""Score_Leaves (Algorithm 1): what flipping each leaf would change, from the leaf counts alone."""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from eifffel import _kernels
from eifffel.ensembles._averaged import AveragedView
from eifffel.leaves import LeafCounts


@dataclass(frozen=True, eq=False)
class LeafScores:
    """The effect of flipping each leaf on its own tree.

    Discriminations are scaled by the sizes of both groups, ``a * |S=0| - b * |S=1|`` for ``a`` privileged
    and ``b`` unprivileged favourable rows: integers unless real weights are large, so that ties are ties.

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

    @property
    def score(self) -> np.ndarray:
        """The paper's score of each leaf, NaN where it is no candidate."""
        return self.ratio * self.unit


def label_weights(class_weight: Any, n_rows_of_label: np.ndarray) -> np.ndarray:
    """Weights of the two labels from the class weight that the model was trained with, up to a common factor.

    Integers where they can be, so that equal ratios are equal numbers; see `AveragedView` for ``class_weight``.
    """
    if class_weight is None:
        return np.ones(2, np.int64)
    if class_weight == "balanced":
        # n / (2 * n_rows_of_label), as scikit-learn has it, times 2 * product / n.
        return n_rows_of_label[::-1].astype(np.int64)
    # As written: 0.1 and 0.3 are 1 to 3.
    fractions = [Fraction(repr(float(weight))).limit_denominator(10**6) for weight in class_weight]
    common = lcm(*(fraction.denominator for fraction in fractions))
    whole = [int(fraction * common) for fraction in fractions]
    return np.array(whole, np.int64) if max(whole) < 10**6 else np.asarray(class_weight, np.float64)


def score_leaves(view: AveragedView, counts: LeafCounts, label_weight: np.ndarray, flippable: np.ndarray) -> LeafScores:
    """Algorithm 1 with the corrected sign and candidates, which are among the ``flippable`` leaves.

    ``delta_disc`` follows from the leaf's own prediction, which under bootstrap or class weights may not be the
    majority of the rows counted in it. ``delta_accu`` is the weight of the rows that disagree with that prediction
    minus the weight of those that agree.
    """
    # Products of two counts fit 63 bits, and then decide exactly, up to 2**31 rows or units of weight; beyond that a
    # drop below rounding is none.
    exact = counts.totals.sum() < 2**31
    dtype = np.dtype(np.int64 if exact else np.float64)
    n, totals = counts.counts.astype(dtype, copy=False), counts.totals.astype(dtype, copy=False)
    unprivileged, privileged = totals.sum(axis=1)
    least = dtype.type(0) if exact else 1e-12 * unprivileged * privileged
    tree_discrimination = np.zeros(view.n_trees, dtype)
    drop = np.empty(view.n_leaves, dtype)
    candidate = np.empty(view.n_leaves, np.bool_)
    ratio = np.empty(view.n_leaves, np.float64)
    _kernels.score_leaves(
        n,
        totals,
        view.leaf_favorable,
        flippable,
        label_weight,
        least,
        view.leaf_offset,
        tree_discrimination,
        drop,
        candidate,
        ratio,
    )
    unit = float((totals.sum(axis=0) * label_weight).sum() / (unprivileged * privileged))
    return LeafScores(view.leaf_offset, tree_discrimination, drop, candidate, ratio, unit)
