"""Group metrics as arithmetic on counts.

Every metric takes ``favorable``, shape ``(..., n_groups, n_labels)``, the rows decided favourably per group and label,
and ``totals``, shape ``(n_groups, n_labels)``, all rows; label 1 is the favourable class, and of two groups the second
is the privileged one. It returns one number for each entry of the leading axes, so that a whole path is measured at
once, and NaN where a rate is undefined. ``n_labels`` is 1 where labels are not known; metrics that need them then
raise. Differences and ratios are those between the groups of highest and of lowest rate, as fairlearn has them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from eifffel._validation import check_aligned, check_choice
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
    if totals.shape[-1] == 1:
        raise ValueError("this metric needs labels, and these rows came without; give y")


def selection_rate(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """P(g=1 | S) for each group, the share of favourable decisions.

    Parameters
    ----------
    favorable, totals : ndarray
        Counts of rows, of shapes (..., n_groups, n_labels) and (n_groups, n_labels); see `eifffel.metrics`.

    Returns
    -------
    ndarray of shape (..., n_groups)

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.metrics import selection_rate
    >>> favorable, totals = np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])
    >>> selection_rate(favorable, totals).tolist()
    [0.375, 0.75]
    """
    return _ratio(favorable.sum(axis=-1), totals.sum(axis=-1))


def discrimination(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """P(g=1 | S=1) - P(g=1 | S=0), signed, of two groups; of more, the largest difference, without sign.

    Of two, one division of two exact integers, so that a difference of 1/20 is the float 0.05 and meets that bound.

    Parameters
    ----------
    favorable, totals : ndarray
        Counts of rows, of shapes (..., n_groups, n_labels) and (n_groups, n_labels); see `eifffel.metrics`.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.metrics import discrimination
    >>> favorable, totals = np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])
    >>> float(discrimination(favorable, totals))
    0.375
    """
    if totals.shape[-2] > 2:
        return demographic_parity_difference(favorable, totals)
    chosen, size = without_scale(favorable.sum(axis=-1), totals.sum(axis=-1))
    return _ratio(chosen[..., 1] * size[0] - chosen[..., 0] * size[1], size[0] * size[1])


def demographic_parity_difference(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The largest difference of selection rates, without sign.

    Parameters
    ----------
    favorable, totals : ndarray
        Counts of rows, of shapes (..., n_groups, n_labels) and (n_groups, n_labels); see `eifffel.metrics`.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.metrics import demographic_parity_difference
    >>> favorable, totals = np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])
    >>> float(demographic_parity_difference(favorable, totals))
    0.375
    """
    if totals.shape[-2] == 2:
        return np.abs(discrimination(favorable, totals))
    return _spread(selection_rate(favorable, totals))


def demographic_parity_ratio(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The smallest selection rate divided by the largest.

    Parameters
    ----------
    favorable, totals : ndarray
        Counts of rows, of shapes (..., n_groups, n_labels) and (n_groups, n_labels); see `eifffel.metrics`.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.metrics import demographic_parity_ratio
    >>> favorable, totals = np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])
    >>> float(demographic_parity_ratio(favorable, totals))
    0.5
    """
    return _smallest_share(selection_rate(favorable, totals))


def n_correct(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Rows whose decision is their label."""
    need_labels(totals)
    wrongly_favorable = favorable[..., 0].sum(axis=-1)
    return favorable[..., 1].sum(axis=-1) + totals[..., 0].sum() - wrongly_favorable


def accuracy(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Share of the rows whose decision is their label.

    Parameters
    ----------
    favorable, totals : ndarray
        Counts of rows, of shapes (..., n_groups, n_labels) and (n_groups, n_labels); see `eifffel.metrics`.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.metrics import accuracy
    >>> favorable, totals = np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])
    >>> float(accuracy(favorable, totals))
    0.6875
    """
    return _ratio(n_correct(favorable, totals), totals.sum())


def balanced_accuracy(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Mean of the recalls of the two classes.

    Parameters
    ----------
    favorable, totals : ndarray
        Counts of rows, of shapes (..., n_groups, n_labels) and (n_groups, n_labels); see `eifffel.metrics`.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.metrics import balanced_accuracy
    >>> favorable, totals = np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])
    >>> float(balanced_accuracy(favorable, totals))
    0.6875
    """
    need_labels(totals)
    rate = _ratio(favorable.sum(axis=-2), totals.sum(axis=-2))
    return (rate[..., 1] + 1 - rate[..., 0]) / 2


def equal_opportunity_difference(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The largest difference of true positive rates, without sign.

    Parameters
    ----------
    favorable, totals : ndarray
        Counts of rows, of shapes (..., n_groups, n_labels) and (n_groups, n_labels); see `eifffel.metrics`.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.metrics import equal_opportunity_difference
    >>> favorable, totals = np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])
    >>> float(equal_opportunity_difference(favorable, totals))
    0.5
    """
    return _spread(_label_rate(favorable, totals, 1))


def equal_opportunity_ratio(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The smallest true positive rate divided by the largest.

    Parameters
    ----------
    favorable, totals : ndarray
        Counts of rows, of shapes (..., n_groups, n_labels) and (n_groups, n_labels); see `eifffel.metrics`.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.metrics import equal_opportunity_ratio
    >>> favorable, totals = np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])
    >>> float(equal_opportunity_ratio(favorable, totals))
    0.5
    """
    return _smallest_share(_label_rate(favorable, totals, 1))


def predictive_equality_difference(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The largest difference of false positive rates, without sign.

    Parameters
    ----------
    favorable, totals : ndarray
        Counts of rows, of shapes (..., n_groups, n_labels) and (n_groups, n_labels); see `eifffel.metrics`.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.metrics import predictive_equality_difference
    >>> favorable, totals = np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])
    >>> float(predictive_equality_difference(favorable, totals))
    0.25
    """
    return _spread(_label_rate(favorable, totals, 0))


def predictive_equality_ratio(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The smallest false positive rate divided by the largest.

    Parameters
    ----------
    favorable, totals : ndarray
        Counts of rows, of shapes (..., n_groups, n_labels) and (n_groups, n_labels); see `eifffel.metrics`.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.metrics import predictive_equality_ratio
    >>> favorable, totals = np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])
    >>> float(predictive_equality_ratio(favorable, totals))
    0.5
    """
    return _smallest_share(_label_rate(favorable, totals, 0))


def equalized_odds_difference(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The larger of the differences of true and of false positive rates.

    Parameters
    ----------
    favorable, totals : ndarray
        Counts of rows, of shapes (..., n_groups, n_labels) and (n_groups, n_labels); see `eifffel.metrics`.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.metrics import equalized_odds_difference
    >>> favorable, totals = np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])
    >>> float(equalized_odds_difference(favorable, totals))
    0.5
    """
    return np.maximum(
        equal_opportunity_difference(favorable, totals), predictive_equality_difference(favorable, totals)
    )


def equalized_odds_ratio(favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The smaller of the ratios of true and of false positive rates.

    Parameters
    ----------
    favorable, totals : ndarray
        Counts of rows, of shapes (..., n_groups, n_labels) and (n_groups, n_labels); see `eifffel.metrics`.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.metrics import equalized_odds_ratio
    >>> favorable, totals = np.array([[1, 2], [2, 4]]), np.array([[4, 4], [4, 4]])
    >>> float(equalized_odds_ratio(favorable, totals))
    0.5
    """
    return np.minimum(equal_opportunity_ratio(favorable, totals), predictive_equality_ratio(favorable, totals))


def _label_rate(favorable: np.ndarray, totals: np.ndarray, label: int) -> np.ndarray:
    """The share of favourable decisions among the rows of a label, for each group."""
    need_labels(totals)
    return _ratio(favorable[..., label], totals[..., label])


def _spread(rates: np.ndarray) -> np.ndarray:
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


# Of all people, whatever their group.
UNGROUPED = ("accuracy", "balanced_accuracy")


def measure_groups(
    metric: str,
    favorable: np.ndarray,
    totals: np.ndarray,
    groups: Groups,
    kept: np.ndarray | None = None,
) -> np.ndarray:
    """A metric of counts of ``groups``: where several attributes are compared, the worst of them, without sign.

    Of all values of its attributes, those that are ``kept`` are compared, by default those that somebody has.
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
    """A metric of rows that somebody else has decided.

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
