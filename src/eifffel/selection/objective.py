"""What ``alpha`` limits the loss of: accuracy, balanced accuracy or the cost of errors, from the same counts."""

from typing import Any

import numpy as np

from eifffel import metrics
from eifffel._utils.validation import check_choice, check_fraction, check_number
from eifffel.exceptions import InputError, parameter, wording
from eifffel.rows.coding import without_scale

OBJECTIVES = ("accuracy", "balanced_accuracy")
EXAMPLE = wording("costs", "[[0, 1], [5, 0]]")

# A cost matrix: for the unfavourable and for the favourable label, what each decision costs.
Costs = tuple[tuple[float, float], tuple[float, float]]
Objective = str | Costs


def check_objective(objective: Any) -> Objective:
    """The objective by its name, or the cost matrix as tuples."""
    if isinstance(objective, str):
        hint = "or give " + wording("matrix", "a matrix of costs") + ", " + EXAMPLE
        check_choice("objective", objective, OBJECTIVES, hint=hint)
        return objective
    try:
        costs = np.asarray(objective, np.float64)
    except (TypeError, ValueError):
        costs = np.empty(0)
    if costs.shape != (2, 2) or not np.isfinite(costs).all():
        raise InputError(
            parameter("objective")
            + f" must be one of {', '.join(map(repr, OBJECTIVES))}, or a matrix of 2 x 2 finite costs, for the "
            "unfavourable and the favourable label what the unfavourable and the favourable decision cost, such as "
            + EXAMPLE
            + f"; got {objective!r}"
        )
    (a, b), (c, d) = costs.tolist()
    return (a, b), (c, d)


def check_alpha(alpha: Any, objective: Objective) -> None:
    """Raise unless ``alpha`` can limit the loss: a fraction, or any cost; ``None`` is no limit."""
    if isinstance(objective, str):
        check_fraction("alpha", alpha, optional=True)
    else:
        check_number("alpha", alpha, at_least=0, optional=True)


def name_loss(objective: Objective) -> str:
    """What ``alpha`` limits, in words."""
    return f"drop of {objective.replace('_', ' ')}" if isinstance(objective, str) else "rise of the mean cost"


def favorable_gains(objective: Objective, totals: np.ndarray) -> tuple[np.ndarray, Any]:
    """What a row decided favourably adds to the objective, by its label, and by what that is to be divided.

    Integers for the two kinds of accuracy of counted rows, so that one division gives an exact loss.
    """
    of_label = totals.sum(axis=0)
    if not isinstance(objective, str):
        costs = np.array(objective)
        return costs[:, 0] - costs[:, 1], of_label.sum()
    if objective == "accuracy":
        return np.array([-1, 1]), of_label.sum()
    if (of_label == 0).any():
        raise InputError(
            "the rows to choose on are of one class only, and have no balanced accuracy; give rows of both, or "
            + parameter("objective")
            + "='accuracy'"
        )
    return of_label[::-1] * np.array([-1, 1]), 2 * of_label.prod()


def measure_objective(objective: Objective, favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Accuracy, balanced accuracy, or the mean cost of a row; see `eifffel.metrics` for the shapes."""
    if isinstance(objective, str):
        return metrics.METRICS[objective](favorable, totals)
    gains, n_rows = favorable_gains(objective, totals)
    costs = np.array(objective)
    return (totals.sum(axis=0) @ costs[:, 0] - favorable.sum(axis=-2) @ gains) / n_rows


def measure_drop(objective: Objective, favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """By how much each entry is worse than the first: how much less accurate, or how much dearer."""
    metrics.need_labels(totals)
    favorable, totals = without_scale(favorable, totals)
    gains, divisor = favorable_gains(objective, totals)
    of_label = favorable.sum(axis=-2)
    return (of_label[0] - of_label) @ gains / divisor
