"""Group metrics as arithmetic on counts.

Every metric takes ``favorable``, shape ``(..., 2, n_labels)``, the rows decided favourably per group and label,
and ``totals``, shape ``(2, n_labels)``, all rows; group 1 is the privileged one, label 1 the favourable class.
It returns one number for each entry of the leading axes, so that a whole path is measured at once, and NaN where
a rate is undefined. ``n_labels`` is 1 where labels are not known; metrics that need them then raise.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from eifffel._validation import (
    Coding,
    check_binary_labels,
    check_choice,
    check_favorable,
    check_groups,
    check_privileged,
)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole == 0, np.nan, np.true_divide(part, whole))


def need_labels(totals: np.ndarray) -> None:
    if totals.shape[-1] == 1:
        raise ValueError("this metric needs labels, and these rows came without; give y")


def selection_rate(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """P(g=1 | S) for each group, shape (..., 2)."""
    return _ratio(favorable.sum(axis=-1), totals.sum(axis=-1))


def discrimination(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """P(g=1 | S=1) - P(g=1 | S=0), signed.

    One division of two exact integers, so that a difference of 1/20 is the float 0.05 and meets that bound.
    """
    chosen = favorable.sum(axis=-1)
    size = totals.sum(axis=-1)
    return _ratio(chosen[..., 1] * size[0] - chosen[..., 0] * size[1], size[0] * size[1])


def demographic_parity_difference(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The largest difference of selection rates, without sign."""
    return np.abs(discrimination(favorable, totals))


def demographic_parity_ratio(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The smallest selection rate divided by the largest."""
    rates = selection_rate(favorable, totals)
    return _ratio(rates.min(axis=-1), rates.max(axis=-1))


def n_correct(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Rows whose decision is their label."""
    need_labels(totals)
    wrongly_favorable = favorable[..., 0].sum(axis=-1)
    return favorable[..., 1].sum(axis=-1) + totals[..., 0].sum() - wrongly_favorable


def accuracy(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Share of the rows whose decision is their label."""
    return _ratio(n_correct(favorable, totals), totals.sum())


def balanced_accuracy(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Mean of the recalls of the two classes."""
    need_labels(totals)
    rate = _ratio(favorable.sum(axis=-2), totals.sum(axis=-2))
    return (rate[..., 1] + 1 - rate[..., 0]) / 2


def equal_opportunity_difference(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Difference of the true positive rates, without sign."""
    need_labels(totals)
    rate = _ratio(favorable, totals)
    return np.abs(rate[..., 1, 1] - rate[..., 0, 1])


def predictive_equality_difference(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Difference of the false positive rates, without sign."""
    need_labels(totals)
    rate = _ratio(favorable, totals)
    return np.abs(rate[..., 1, 0] - rate[..., 0, 0])


def equalized_odds_difference(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The larger of the differences of true and of false positive rates."""
    return np.maximum(
        equal_opportunity_difference(favorable, totals), predictive_equality_difference(favorable, totals)
    )


METRICS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "demographic_parity_difference": demographic_parity_difference,
    "demographic_parity_ratio": demographic_parity_ratio,
    "discrimination": discrimination,
    "equal_opportunity_difference": equal_opportunity_difference,
    "equalized_odds_difference": equalized_odds_difference,
    "predictive_equality_difference": predictive_equality_difference,
}


def measure(
    metric: str,
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    favorable: Any = None,
    privileged: Any = None,
    sample_weight: Any = None,
) -> float:
    """A metric of rows that somebody else has decided.

    Parameters
    ----------
    metric : str
        A name in `METRICS`.
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and decisions.
    sensitive_features : array-like of shape (n_rows,)
        The group of each row, two values.
    favorable : label, optional
        The favourable class; by default the larger of 0/1, -1/1 or booleans.
    privileged : group, optional
        The privileged group; by default the one that the decisions favour.
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
    >>> from eifffel.metrics import measure
    >>> measure("discrimination", [1, 0, 1, 0], [1, 1, 1, 0], sensitive_features=["m", "m", "f", "f"])
    0.5
    """
    check_choice("metric", metric, list(METRICS))
    classes = check_binary_labels(y_true)
    groups = check_groups(sensitive_features)
    coding = Coding(classes, check_favorable(classes, favorable), groups)
    truth = coding.encode(y_true, y_true, sensitive_features, sample_weight, rows="y_true")
    decided = coding.encode(y_true, y_pred, sensitive_features, sample_weight, rows="y_pred").label
    chosen, totals = truth.in_weight(truth.weigh_cells(np.asarray(decided) == 1)), truth.in_weight(truth.weigh_cells())
    index = check_privileged(groups, privileged)
    if index is None:
        index = int(discrimination(chosen, totals) > 0)
    order = [1 - index, index]
    return float(METRICS[metric](chosen[order], totals[order]))
