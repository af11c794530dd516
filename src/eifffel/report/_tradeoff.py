"""The path in a report: the steps that some bound selects, measured on the rows of the report."""

import warnings
from typing import Any

import numpy as np

from eifffel.exceptions import ConstraintNotMetWarning, FewRowsWarning, SeenRowsWarning
from eifffel.objective import name_loss
from eifffel.path import FairnessPath
from eifffel.report._estimates import measure_all, measure_groups, number
from eifffel.selection import Selection

# Bounds that a reader can ask for are this far apart.
EPSILON_STEP = 0.001


def summarize_path(path: FairnessPath, measured: FairnessPath, selection: Selection) -> dict[str, Any]:
    """The steps that bounds select on the selection rows, and what they do to the rows of the report."""
    bounds = _bounds(path, selection)
    chosen = [_select(path, epsilon, selection) for epsilon in bounds]
    own = bounds.index(_own_bound(selection))
    chosen[own] = selection
    steps = sorted({choice.step for choice in chosen} | {0, selection.step})
    place = {step: k for k, step in enumerate(steps)}
    return {
        "strategy": path.strategy,
        "n_steps": path.n_steps,
        "rule": selection.rule,
        "alpha": selection.alpha,
        "confidence": selection.confidence,
        "loss": name_loss(selection.objective),
        "chosen_on": {"rows": path.counts.rows, "n": int(path.counts.totals.sum())},
        "accuracy_on": {"rows": path.accuracy_counts.rows, "n": int(path.accuracy_counts.totals.sum())},
        "ratio": selection.ratio,
        "chosen_epsilon": own,
        "epsilons": [
            {"epsilon": epsilon, "point": place[choice.step], "met": choice.met}
            for epsilon, choice in zip(bounds, chosen, strict=True)
        ],
        "points": [_point(path, measured, step, selection.confidence) for step in steps],
    }


def _own_bound(selection: Selection) -> float:
    """The bound that chose the step; of one on a ratio, the difference that it came to."""
    return abs(selection.discrimination) if selection.epsilon is None else selection.epsilon


def _bounds(path: FairnessPath, selection: Selection) -> list[float]:
    most = max(abs(float(path.discrimination[0])), _own_bound(selection))
    n = min(int(np.ceil(most / EPSILON_STEP)) + 5, round(1 / EPSILON_STEP))
    return sorted({round(k * EPSILON_STEP, 6) for k in range(n + 1)} | {_own_bound(selection)})


def _select(path: FairnessPath, epsilon: float, selection: Selection) -> Selection:
    with warnings.catch_warnings():
        for category in (ConstraintNotMetWarning, FewRowsWarning, SeenRowsWarning):
            warnings.simplefilter("ignore", category)  # the slider shows it, or whoever selected has heard it
        return path.select(
            epsilon=epsilon,
            alpha=selection.alpha,
            rule=selection.rule,
            confidence=selection.confidence,
            objective=selection.objective,
        )


def _point(path: FairnessPath, measured: FairnessPath, step: int, confidence: float | None) -> dict[str, Any]:
    counts = measured.counts
    return {
        "step": step,
        "position": number(path.positions[step]),
        "changed_leaves": path.n_flips(step),
        "selection": {
            "discrimination": number(path.discrimination[step]),
            "accuracy": number(path.accuracy[step]),
            "accuracy_drop": number(path.accuracy_drop[step]),
            "upper": None if confidence is None else number(path.upper_limits(confidence)[step]),
        },
        "overall": measure_all(counts, step),
        "groups": measure_groups(counts.favorable[step], counts.totals, path.grouping, counts.constraint),
    }
