"""Group metrics as arithmetic on counts.

Every metric is a function of two arrays of counts:

- ``favorable``, of shape ``(..., n_groups, n_labels)``: the rows decided favourably, by group and label;
- ``totals``, of shape ``(n_groups, n_labels)``: all rows, by group and label.

Label 1 is the favourable class, and of two groups the second is the privileged one. Where labels are not known
``n_labels`` is 1, and a metric that needs them raises ``ValueError``.

A metric returns an array of shape ``(...)``, one number for each entry of the leading axes, so that a whole path is
measured at once; NaN where a rate is undefined. Differences and ratios are those between the groups of highest and of
lowest rate, as fairlearn defines them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from eifffel._utils.validation import check_aligned, check_choice
from eifffel.comparison import Comparison
from eifffel.rows.batches import Batch, OneBatch
from eifffel.rows.coding import without_scale
from eifffel.rows.groups import EACH, Groups
from eifffel.rows.sensitive import ERROR, name_columns, split_columns

__all__ = [
    "METRICS",
    "accuracy",
    "balanced_accuracy",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "discrimination",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "measure",
    "predictive_equality_difference",
    "predictive_equality_ratio",
    "selection_rate",
]


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole == 0, np.nan, np.true_divide(part, whole))


def need_labels(totals: np.ndarray) -> None:
    """Raise unless the labels of rows are known."""
    if totals.shape[-1] == 1:
        raise ValueError("this metric needs labels, and these rows came without; give y")


def selection_rate(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return P(g=1 | S) for each group, the share of favourable decisions.

    Takes counts as described in `eifffel.metrics`, and returns an array of shape ``(..., n_groups)``.

    Examples
    --------
    >>> from eifffel.metrics import selection_rate
    >>> selection_rate(np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])).tolist()
    [0.375, 0.75]
    """
    return _ratio(favorable.sum(axis=-1), totals.sum(axis=-1))


def discrimination(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return P(g=1 | S=1) - P(g=1 | S=0) for two groups; for more, the largest difference, without sign.

    For two it is one division of exact integers, so that a difference of 1/20 is the float 0.05 and meets that bound.

    Takes counts and returns numbers as described in `eifffel.metrics`.

    Examples
    --------
    >>> from eifffel.metrics import discrimination
    >>> float(discrimination(np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])))
    0.375
    """
    if totals.shape[-2] > 2:
        return demographic_parity_difference(favorable, totals)
    chosen, size = without_scale(favorable.sum(axis=-1), totals.sum(axis=-1))
    return _ratio(chosen[..., 1] * size[0] - chosen[..., 0] * size[1], size[0] * size[1])


def demographic_parity_difference(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the largest difference of selection rates, without sign.

    Takes counts and returns numbers as described in `eifffel.metrics`.

    Examples
    --------
    >>> from eifffel.metrics import demographic_parity_difference
    >>> float(demographic_parity_difference(np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])))
    0.375
    """
    if totals.shape[-2] == 2:
        return np.abs(discrimination(favorable, totals))
    return _range_of(selection_rate(favorable, totals))


def demographic_parity_ratio(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the smallest selection rate divided by the largest.

    Takes counts and returns numbers as described in `eifffel.metrics`.

    Examples
    --------
    >>> from eifffel.metrics import demographic_parity_ratio
    >>> float(demographic_parity_ratio(np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])))
    0.5
    """
    return _smallest_share(selection_rate(favorable, totals))


def n_correct(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Count the rows whose decision is their label."""
    need_labels(totals)
    wrongly_favorable = favorable[..., 0].sum(axis=-1)
    return favorable[..., 1].sum(axis=-1) + totals[..., 0].sum() - wrongly_favorable


def accuracy(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the share of the rows whose decision is their label.

    Takes counts and returns numbers as described in `eifffel.metrics`.

    Examples
    --------
    >>> from eifffel.metrics import accuracy
    >>> float(accuracy(np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])))
    0.6875
    """
    return _ratio(n_correct(favorable, totals), totals.sum())


def balanced_accuracy(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the mean of the recalls of the two classes.

    Takes counts and returns numbers as described in `eifffel.metrics`.

    Examples
    --------
    >>> from eifffel.metrics import balanced_accuracy
    >>> float(balanced_accuracy(np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])))
    0.6875
    """
    need_labels(totals)
    rate = _ratio(favorable.sum(axis=-2), totals.sum(axis=-2))
    return (rate[..., 1] + 1 - rate[..., 0]) / 2


def equal_opportunity_difference(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the largest difference of true positive rates, without sign.

    Takes counts and returns numbers as described in `eifffel.metrics`.

    Examples
    --------
    >>> from eifffel.metrics import equal_opportunity_difference
    >>> float(equal_opportunity_difference(np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])))
    0.5
    """
    return _range_of(_label_rate(favorable, totals, 1))


def equal_opportunity_ratio(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the smallest true positive rate divided by the largest.

    Takes counts and returns numbers as described in `eifffel.metrics`.

    Examples
    --------
    >>> from eifffel.metrics import equal_opportunity_ratio
    >>> float(equal_opportunity_ratio(np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])))
    0.5
    """
    return _smallest_share(_label_rate(favorable, totals, 1))


def predictive_equality_difference(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the largest difference of false positive rates, without sign.

    Takes counts and returns numbers as described in `eifffel.metrics`.

    Examples
    --------
    >>> from eifffel.metrics import predictive_equality_difference
    >>> float(predictive_equality_difference(np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])))
    0.25
    """
    return _range_of(_label_rate(favorable, totals, 0))


def predictive_equality_ratio(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the smallest false positive rate divided by the largest.

    Takes counts and returns numbers as described in `eifffel.metrics`.

    Examples
    --------
    >>> from eifffel.metrics import predictive_equality_ratio
    >>> float(predictive_equality_ratio(np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])))
    0.5
    """
    return _smallest_share(_label_rate(favorable, totals, 0))


def equalized_odds_difference(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the larger of the differences of true and of false positive rates.

    Takes counts and returns numbers as described in `eifffel.metrics`.

    Examples
    --------
    >>> from eifffel.metrics import equalized_odds_difference
    >>> float(equalized_odds_difference(np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])))
    0.5
    """
    return np.maximum(
        equal_opportunity_difference(favorable, totals), predictive_equality_difference(favorable, totals)
    )


def equalized_odds_ratio(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the smaller of the ratios of true and of false positive rates.

    Takes counts and returns numbers as described in `eifffel.metrics`.

    Examples
    --------
    >>> from eifffel.metrics import equalized_odds_ratio
    >>> float(equalized_odds_ratio(np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])))
    0.5
    """
    return np.minimum(equal_opportunity_ratio(favorable, totals), predictive_equality_ratio(favorable, totals))


def _label_rate(favorable: np.ndarray, totals: np.ndarray, label: int) -> np.ndarray:
    """Return the share of favourable decisions among the rows of a label, for each group."""
    need_labels(totals)
    return _ratio(favorable[..., label], totals[..., label])


def _range_of(rates: np.ndarray) -> np.ndarray:
    return rates.max(axis=-1) - rates.min(axis=-1)


def _smallest_share(rates: np.ndarray) -> np.ndarray:
    return _ratio(rates.min(axis=-1), rates.max(axis=-1))


METRICS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "demographic_parity_difference": demographic_parity_difference,
    "demographic_parity_ratio": demographic_parity_ratio,
    "discrimination": discrimination,
    "equal_opportunity_difference": equal_opportunity_difference,
    "equal_opportunity_ratio": equal_opportunity_ratio,
    "equalized_odds_difference": equalized_odds_difference,
    "equalized_odds_ratio": equalized_odds_ratio,
    "predictive_equality_difference": predictive_equality_difference,
    "predictive_equality_ratio": predictive_equality_ratio,
}
"""The metrics by name: what `measure` and `FairnessPath.metric` know. One more entry, and both know it too."""


# Metrics of all people together, whatever their group.
UNGROUPED = ("accuracy", "balanced_accuracy")


def measure_groups(
    metric: str,
    favorable: np.ndarray,
    totals: np.ndarray,
    groups: Groups,
    kept: np.ndarray | None = None,
) -> np.ndarray:
    """Return a metric of counts of ``groups``; where several attributes are compared, the worst of them, without sign.

    Of all values of an attribute, those that are ``kept`` are compared, by default those that somebody has.
    """
    if metric in UNGROUPED:
        return METRICS[metric](favorable, totals)
    if metric == "discrimination" and len(groups.attributes) > 1:
        metric = "demographic_parity_difference"
    if kept is None:
        kept = groups.count_people(totals.sum(axis=-1)) > 0
    measured = []
    for k, attribute in enumerate(groups.attributes):
        own = kept[groups.attribute_of == k]
        if own.sum() < 2:
            continue
        members = attribute.members[own].astype(totals.dtype)
        of_value = np.einsum("vg,...gl->...vl", members, favorable), np.einsum("vg,gl->vl", members, totals)
        measured.append(METRICS[metric](*of_value))
    return np.min(measured, axis=0) if metric.endswith("_ratio") else np.max(measured, axis=0)


def measure(
    metric: str,
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    favorable: Any = None,
    privileged: Any = None,
    combine: str = EACH,
    missing: str = ERROR,
    sample_weight: Any = None,
) -> float:
    """Return a metric of decisions, those of any model or person.

    Parameters
    ----------
    metric : str
        A name in `METRICS`.
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and decisions.
    sensitive_features : array-like of shape (n_rows,), data frame or dict of columns
        The group of each row.
    favorable : label or set of labels, optional
        The favourable class; by default the larger of 0/1, -1/1 or booleans.
    privileged : group, optional
        The privileged of two groups; by default the one that the decisions favour.
    combine : {"each", "intersection"}
        With several columns, whether the metric is the worst of those of each, or that of their combinations.
    missing : {"error", "own-group", "drop"}
        What becomes of rows without a group.
    sample_weight : array-like of shape (n_rows,), optional

    Returns
    -------
    float
        NaN where a rate is undefined.

    Raises
    ------
    ValueError
        If the metric is not known, or labels, decisions or groups are not what they should be.

    See Also
    --------
    FairnessPath.metric : The same for every step of a path.

    Examples
    --------
    >>> from eifffel.metrics import measure
    >>> measure("discrimination", [1, 0, 1, 0], [1, 1, 1, 0], sensitive_features=["m", "m", "f", "f"])
    0.5
    """
    check_choice("metric", metric, list(METRICS))
    columns = name_columns(split_columns(sensitive_features))
    check_aligned([("y_true", y_true), ("y_pred", y_pred), *columns, ("sample_weight", sample_weight)])
    rows = Batch(y_true, y_true, sensitive_features, sample_weight)
    asked = Comparison(favorable, privileged, combine=combine, missing=missing)
    compared = asked.resolve(None, asked.survey(OneBatch(rows), rows="y_true"))
    truth = compared.coding.encode_batch(rows, rows="y_true")
    decided = compared.coding.encode(y_true, y_pred, sensitive_features, sample_weight, rows="y_pred").label
    chosen, totals = truth.weigh_cells(np.asarray(decided) == 1), truth.weigh_cells()
    groups = compared.name_favored(chosen, totals).groups
    return float(measure_groups(metric, truth.in_weight(chosen), truth.in_weight(totals), groups))
