"""From a path and a bound to one step."""

from dataclasses import dataclass

import numpy as np

from eifffel._validation import check_choice, check_fraction
from eifffel.exceptions import ConstraintNotMetWarning, warn_caller

RULES = ("first", "most_accurate", "paper")


@dataclass(frozen=True)
class Selection:
    """The step that a bound selects, and what was measured there.

    Attributes
    ----------
    step : int
        0 is the model as it came.
    met : bool
        Whether the step keeps the bounds.
    discrimination, accuracy, accuracy_drop : float
        At this step, on the rows named by ``discrimination_rows`` and ``accuracy_rows``.
    selection_rates : tuple of two floats
        Share of favourable decisions in the unprivileged and in the privileged group, at this step.
    epsilon, alpha, rule
        What was asked for.
    discrimination_rows, accuracy_rows : str
        Which rows were measured, such as ``"selection rows"``.
    """

    step: int
    met: bool
    discrimination: float
    accuracy: float
    accuracy_drop: float
    selection_rates: tuple[float, float]
    epsilon: float
    alpha: float | None
    rule: str
    discrimination_rows: str
    accuracy_rows: str


def select_step(
    discrimination: np.ndarray,
    accuracy: np.ndarray,
    accuracy_drop: np.ndarray,
    selection_rates: np.ndarray,
    *,
    epsilon: float,
    alpha: float | None,
    rule: str,
    tolerance: float,
    discrimination_rows: str,
    accuracy_rows: str,
) -> Selection:
    """Choose a step; the arrays have one entry per step, ``selection_rates`` one for each group too.

    A bound counts as met up to ``tolerance``. One that no step meets gives the nearest step, ``met=False`` and a
    `ConstraintNotMetWarning`.
    """
    check_fraction("epsilon", epsilon)
    check_fraction("alpha", alpha, optional=True)
    check_choice("rule", rule, RULES)
    limit = np.inf if alpha is None else alpha
    if rule == "paper":
        # The loop of Algorithms 2 and 3 runs while disc > epsilon and drop < alpha.
        stops = (discrimination <= epsilon + tolerance) | (accuracy_drop >= limit - tolerance)
        step = int(np.argmax(stops)) if stops.any() else len(stops) - 1
        met = bool(discrimination[step] <= epsilon + tolerance)
    else:
        allowed = accuracy_drop <= limit + tolerance
        meets = allowed & (np.abs(discrimination) <= epsilon + tolerance)
        met = bool(meets.any())
        if not met:
            step = int(np.argmin(np.where(allowed, np.abs(discrimination), np.inf)))
        elif rule == "first":
            step = int(np.argmax(meets))
        else:
            step = int(np.argmax(np.where(meets, accuracy, -np.inf)))
    selection = Selection(
        step=step,
        met=met,
        discrimination=float(discrimination[step]),
        accuracy=float(accuracy[step]),
        accuracy_drop=float(accuracy_drop[step]),
        selection_rates=(float(selection_rates[step, 0]), float(selection_rates[step, 1])),
        epsilon=epsilon,
        alpha=alpha,
        rule=rule,
        discrimination_rows=discrimination_rows,
        accuracy_rows=accuracy_rows,
    )
    if not met:
        limits = f"epsilon={epsilon:g}" + ("" if alpha is None else f" with alpha={alpha:g}")
        warn_caller(
            f"{limits} is not met: {'the loop ends at' if rule == 'paper' else 'the nearest is'} step {step} with "
            f"discrimination {selection.discrimination:.4g} on the {discrimination_rows} and an accuracy drop of "
            f"{selection.accuracy_drop:.4g} on the {accuracy_rows}. Allow a larger epsilon"
            + ("" if alpha is None else " or alpha")
            + (
                f". On the {discrimination_rows} the model favours the group that was taken as unprivileged; trace it "
                "with privileged= the other one"
                if discrimination[0] < -epsilon
                else ""
            ),
            ConstraintNotMetWarning,
        )
    return selection
