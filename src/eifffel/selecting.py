"""From the counts of a path and a bound to one step."""

from typing import Any

import numpy as np

from eifffel.advice import warn_of_few_rows, warn_unmet
from eifffel.metrics import selection_rate
from eifffel.objective import Objective
from eifffel.path_counts import PathCounts
from eifffel.rows.groups import Groups
from eifffel.selection import Selection, certify, check_bounds, measure_excess
from eifffel.shortfall import find_shortfall

# Said where no selection row is left that the edits owe nothing to.
NONE_APART = (
    "confidence={confidence:g} needs rows that the edits owe nothing to, and how several groups are weighed in this "
    "shift was fitted to features of all the {rows}. Trace with keep_apart=True, which keeps half of them for it "
    "(EiFFFeLClassifier does so if it has a confidence when it is fitted), ask on other rows, as in path.measure(X, y, "
    "sensitive_features).select(...), or take strategy='leaf'"
)


def select_step(
    counts: PathCounts,
    accuracy_counts: PathCounts,
    groups: Groups,
    safest: int,
    *,
    epsilon: float | None,
    ratio: float | None = None,
    alpha: float | None,
    rule: str,
    confidence: float | None,
    objective: Any,
    seen: bool,
) -> Selection:
    """Choose a step; ``seen`` says that leaves were scored by the rows of ``counts``.

    ``safest`` is the step from which on, towards the model as it came, bounds are certified with confidence.
    A bound that no step meets gives the nearest step, ``met=False`` and a `ConstraintNotMetWarning`.
    """
    objective = check_bounds(epsilon, ratio, alpha, rule, confidence, objective)
    if confidence is not None:
        _check_certifiable(counts, confidence, seen)
    asked: dict[str, Any] = {"epsilon": epsilon, "ratio": ratio, "alpha": alpha, "rule": rule, "confidence": confidence}
    step, met = choose_step(counts, accuracy_counts, safest, objective, **asked)
    shortfall = None
    if confidence is not None and not met:
        certified = certify(measure_excess(counts, epsilon, ratio, confidence), safest)
        shortfall = find_shortfall(counts, certified, safest, epsilon=epsilon, ratio=ratio, confidence=confidence)
    selection = describe_step(counts, accuracy_counts, groups, step, objective, met=met, shortfall=shortfall, **asked)
    if not met:
        warn_unmet(selection, counts)
    elif confidence is not None:
        warn_of_few_rows(selection, counts, groups)
    return selection


def choose_step(
    counts: PathCounts,
    accuracy_counts: PathCounts,
    safest: int,
    objective: Objective,
    *,
    epsilon: float | None,
    ratio: float | None,
    alpha: float | None,
    rule: str,
    confidence: float | None,
) -> tuple[int, bool]:
    """The step, and whether it keeps the bounds."""
    discrimination, drop = counts.discrimination, accuracy_counts.drop(objective)
    below, limit = np.inf if epsilon is None else epsilon + counts.tolerance, np.inf if alpha is None else alpha
    if rule == "paper":
        # The loop of Algorithms 2 and 3 runs while disc > epsilon and drop < alpha.
        stops = (discrimination <= below) | (drop >= limit - accuracy_counts.tolerance)
        step = int(np.argmax(stops)) if stops.any() else len(stops) - 1
        return step, bool(discrimination[step] <= below)
    allowed = drop <= limit + accuracy_counts.tolerance
    if confidence is not None:
        keeps = certify(measure_excess(counts, epsilon, ratio, confidence), safest)
    elif ratio is None:
        keeps = np.abs(discrimination) <= below
    else:
        keeps = counts.ratio >= ratio - counts.tolerance
    keeps = keeps & allowed
    if not keeps.any():
        away = np.abs(discrimination) if ratio is None else -np.nan_to_num(counts.ratio)
        return int(np.argmin(np.where(allowed, away, np.inf))), False
    return int(np.argmax(keeps) if rule == "first" else np.argmin(np.where(keeps, drop, np.inf))), True


def describe_step(
    counts: PathCounts,
    accuracy_counts: PathCounts,
    groups: Groups,
    step: int,
    objective: Objective,
    *,
    met: bool,
    confidence: float | None,
    **asked: Any,
) -> Selection:
    """What was measured at a step."""
    decided, n_rows = (counts.favorable[step], counts.totals), groups.count_people(counts.n_rows)
    return Selection(
        step=step,
        met=met,
        discrimination=float(counts.discrimination[step]),
        accuracy=float(accuracy_counts.objective("accuracy")[step]),
        accuracy_drop=float(accuracy_counts.drop("accuracy")[step]),
        pair=counts.worst_pair(step),
        rate_ratio=float(counts.ratio[step]),
        directed=counts.constraint.directed,
        selection_rates=tuple(map(float, selection_rate(*map(groups.count_compared, decided)))),
        constraint=counts.constraint.name,
        discrimination_rows=counts.rows,
        accuracy_rows=accuracy_counts.rows,
        n_rows=tuple(n_rows.tolist()),
        hidden=tuple(groups.find_hidden(n_rows, counts.constraint.find_bounded(groups)).tolist()),
        n_discrimination_rows=int(counts.n_rows.sum()),
        left_out=counts.constraint.left_out,
        n_accuracy_rows=int(accuracy_counts.n_rows.sum()),
        interval=counts.interval(step, confidence),
        confidence=confidence,
        upper=None if confidence is None else float(counts.limits(confidence)[step]),
        objective=objective,
        objective_value=float(accuracy_counts.objective(objective)[step]),
        objective_drop=float(accuracy_counts.drop(objective)[step]),
        **asked,
    )


def _check_certifiable(counts: PathCounts, confidence: float, seen: bool) -> None:
    """Raise unless rows can say something of other people."""
    if seen:
        raise ValueError(
            f"confidence={confidence:g} needs rows that neither trained the model nor scored its leaves, and leaves "
            f"were scored by the {counts.rows}, or by half of them or more: what a model does to rows that it knows "
            "says little of other people. Hold rows out: select_on=(X, y, sensitive_features) in trace_path, "
            "select_on='validation' in EiFFFeLClassifier"
        )
    if counts.weighted:
        raise ValueError(
            f"confidence={confidence:g} counts people, and the {counts.rows} have a sample_weight; leave the weights "
            "of these rows out, or leave confidence out"
        )
