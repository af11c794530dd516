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
STEPS = {"epsilon": 0.001, "ratio": 0.005}


def summarize_path(path: FairnessPath, measured: FairnessPath, selection: Selection) -> dict[str, Any]:
    """The steps that bounds select on the selection rows, and what they do to the rows of the report."""
    kind = "epsilon" if selection.ratio is None else "ratio"
    asked = getattr(selection, kind)
    bounds = sorted({*_bounds(path, kind, asked), asked})
    chosen = [_select(path, kind, bound, selection) for bound in bounds]
    own = bounds.index(asked)
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
        "chosen_on": {"rows": selection.discrimination_rows, "n": selection.n_discrimination_rows},
        "accuracy_on": {"rows": path.accuracy_counts.rows, "n": int(path.accuracy_counts.totals.sum())},
        "kind": kind,
        "chosen_bound": own,
        "bounds": [
            {"bound": bound, "point": place[choice.step], "met": choice.met}
            for bound, choice in zip(bounds, chosen, strict=True)
        ],
        "points": [_point(path, measured, step, selection.confidence) for step in steps],
    }


def _bounds(path: FairnessPath, kind: str, asked: float) -> list[float]:
    """From what the model as it came would keep to the strictest of all."""
    step = STEPS[kind]
    if kind == "epsilon":
        most = max(abs(float(path.discrimination[0])), asked)
        return [round(k * step, 6) for k in range(min(int(np.ceil(most / step)) + 5, round(1 / step)) + 1)]
    least = min(float(np.nan_to_num(path.counts.ratio[0])), asked)
    return [round(k * step, 6) for k in range(max(int(least / step) - 5, 1), round(1 / step) + 1)]


def _select(path: FairnessPath, kind: str, bound: float, selection: Selection) -> Selection:
    with warnings.catch_warnings():
        for category in (ConstraintNotMetWarning, FewRowsWarning, SeenRowsWarning):
            warnings.simplefilter("ignore", category)  # the slider shows it, or whoever selected has heard it
        return path.select(
            **{kind: bound},
            alpha=selection.alpha,
            rule=selection.rule,
            confidence=selection.confidence,
            objective=selection.objective,
        )


def _point(path: FairnessPath, measured: FairnessPath, step: int, confidence: float | None) -> dict[str, Any]:
    counts, chosen = measured.counts, path.counts_for(confidence)
    return {
        "step": step,
        "position": number(path.positions[step]),
        "changed_leaves": path.n_flips(step),
        "selection": {
            "discrimination": number(chosen.discrimination[step]),
            "ratio": number(chosen.ratio[step]),
            "accuracy": number(path.accuracy[step]),
            "accuracy_drop": number(path.accuracy_drop[step]),
            "upper": None if confidence is None else number(path.upper_limits(confidence)[step]),
        },
        "overall": measure_all(counts, step, path.grouping),
        "groups": measure_groups(counts.favorable[step], counts.totals, path.grouping, counts.constraint),
    }
