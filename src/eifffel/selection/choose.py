"""From the counts of a path and a bound to one step."""

from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from eifffel.exceptions import InputError, parameter
from eifffel.metrics import selection_rate
from eifffel.rows.groups import Groups
from eifffel.rows.small_counts import FEWEST
from eifffel.selection.advice import warn_of_few_rows, warn_unmet
from eifffel.selection.bounds import BOTH, Bounds
from eifffel.selection.certify import certify, find_nearest, find_start, find_useful
from eifffel.selection.counts import PathCounts
from eifffel.selection.public_counts import find_public_counts
from eifffel.selection.selection import KnownRows, Selection
from eifffel.selection.shortfall import Shortfall, find_shortfall


def select_step(
    counts: PathCounts,
    searched: PathCounts | None,
    accuracy_counts: PathCounts,
    groups: Groups,
    bounds: Bounds,
    rows: KnownRows,
) -> Selection:
    """Choose a step; ``rows`` is what is known of the rows of ``counts``.

    ``searched`` are other rows, by which the step is found where tests of several differences start.
    A bound that no step meets gives the nearest step, ``met=False`` and a `ConstraintNotMetWarning`.
    """
    bounds.check_sides(counts.constraint)
    if bounds.confidence is not None:
        check_certifiable(counts, bounds.confidence, rows)
    step, met = choose_step(counts, searched, accuracy_counts, bounds)
    selection = describe_step(counts, accuracy_counts, groups, step, bounds, rows, met=met)
    if bounds.confidence is not None and not met:
        selection = _add_shortfall(selection, counts, searched, accuracy_counts, groups)
    if not met:
        warn_unmet(selection, counts)
    elif bounds.confidence is not None:
        warn_of_few_rows(selection, counts, groups)
    return selection


def check_certifiable(counts: PathCounts, confidence: float, rows: KnownRows) -> None:
    """Raise unless rows can say something about other people."""
    if rows.seen:
        why = (
            f"the model was trained on the {counts.rows} or some of them, as the numbers of rows in its leaves show"
            if rows.trained
            else f"leaves were scored by the {counts.rows}, or by half of them or more"
        )
        raise InputError(
            parameter("confidence")
            + f"={confidence:g} needs rows that neither trained the model nor scored its leaves, and {why}: "
            "what a model does to rows that it knows says little of other people. Hold rows out: select_on=(X, y, "
            "sensitive_features) in trace_path, select_on='validation' in EiFFFeLClassifier; of a model that is "
            "trained, give rows that it has not seen"
        )
    if counts.weighted:
        raise InputError(
            parameter("confidence")
            + f"={confidence:g} counts people, and the {counts.rows} have sample weights that differ; leave the "
            "weights of these rows out, or leave confidence out"
        )


def choose_step(
    counts: PathCounts, searched: PathCounts | None, accuracy_counts: PathCounts, bounds: Bounds
) -> tuple[int, bool]:
    """The step, and whether it keeps the bounds."""
    discrimination, drop = counts.discrimination, accuracy_counts.drop(bounds.objective)
    away = discrimination if bounds.sides != BOTH else np.abs(discrimination)
    below = np.inf if bounds.epsilon is None else bounds.epsilon + counts.tolerance
    if bounds.rule == "paper":
        limit = np.inf if bounds.alpha is None else bounds.alpha
        # The loop of Algorithms 2 and 3 runs while disc > epsilon and drop < alpha.
        stops = (discrimination <= below) | (drop >= limit - accuracy_counts.tolerance)
        step = int(np.argmax(stops)) if stops.any() else len(stops) - 1
        return step, bool(away[step] <= below)
    allowed = find_allowed(accuracy_counts, bounds)
    if bounds.confidence is not None:
        start = find_start(searched, accuracy_counts, bounds)
        keeps, away = certify(counts, bounds, start), find_nearest(counts, bounds, start)
    elif bounds.ratio is None:
        keeps = away <= below
    else:
        keeps = counts.ratio >= bounds.ratio - counts.tolerance
        if bounds.sides != BOTH:
            keeps |= discrimination < 0
        away = -np.nan_to_num(counts.ratio)
    keeps = keeps & allowed
    if not keeps.any():
        return int(np.argmin(np.where(allowed, away, np.inf))), False
    return int(np.argmax(keeps) if bounds.rule == "first" else np.argmin(np.where(keeps, drop, np.inf))), True


def find_allowed(accuracy_counts: PathCounts, bounds: Bounds) -> np.ndarray:
    """Whether each step keeps ``alpha``, and with confidence does not decide nearly the same about everybody."""
    limit = np.inf if bounds.alpha is None else bounds.alpha
    allowed: np.ndarray = accuracy_counts.drop(bounds.objective) <= limit + accuracy_counts.tolerance
    return allowed if bounds.confidence is None else allowed & find_useful(accuracy_counts)


def describe_step(
    counts: PathCounts,
    accuracy_counts: PathCounts,
    groups: Groups,
    step: int,
    bounds: Bounds,
    rows: KnownRows,
    *,
    met: bool,
) -> Selection:
    """What was measured at a step."""
    limits = find_limits(counts, step, bounds)
    decided, n_rows = (counts.favorable[step], counts.totals), groups.count_people(counts.n_rows)
    selection = Selection(
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
        bounds=bounds,
        discrimination_rows=counts.rows,
        accuracy_rows=accuracy_counts.rows,
        n_rows=tuple(n_rows.tolist()),
        hidden=tuple(find_public_counts(_first_and(counts, step), groups).hidden.tolist()),
        n_discrimination_rows=int(counts.n_rows.sum()),
        left_out=counts.constraint.left_out,
        n_accuracy_rows=int(accuracy_counts.n_rows.sum()),
        interval=counts.interval(step, bounds.confidence),
        lower=limits.lower,
        upper=limits.upper,
        original=counts.interval(0, bounds.confidence),
        objective_value=float(accuracy_counts.objective(bounds.objective)[step]),
        objective_drop=float(accuracy_counts.drop(bounds.objective)[step]),
        raised_errors=counts.raised_errors(step),
        **rows._asdict(),
    )
    return replace(selection, public_values=_find_public_values(selection, counts, accuracy_counts, groups))


class Limits(NamedTuple):
    """The limits of what is bounded; ``None`` where none was asked for."""

    lower: float | None
    upper: float | None


def find_limits(counts: PathCounts, step: int, bounds: Bounds) -> Limits:
    """The limits of what is bounded at a step, at the level of the tests, in the directions that are bounded.

    Of two groups' ratio those of the unprivileged group's rate over the privileged one's; of several ratios the lower
    limit of all, in whichever direction.
    """
    if bounds.confidence is None:
        return Limits(None, None)
    if bounds.ratio is not None:
        inverse = 0.0
        if bounds.sides == BOTH and counts.constraint.directed:
            inverse = counts.ratio_lower_limit(step, bounds.level, exchanged=True)
        return Limits(counts.ratio_lower_limit(step, bounds.level), 1 / inverse if inverse > 0 else None)
    lower = -float(counts.limits(bounds.level, exchanged=True)[step]) if bounds.sides == BOTH else None
    return Limits(lower, float(counts.limits(bounds.level)[step]))


def _first_and(counts: PathCounts, step: int) -> PathCounts:
    """Counts of the original model, and of one step."""
    return replace(counts, favorable=counts.favorable[[0, step]])


def _add_shortfall(
    selection: Selection,
    counts: PathCounts,
    searched: PathCounts | None,
    accuracy_counts: PathCounts,
    groups: Groups,
) -> Selection:
    """Add why no step was certified, and what is reported of that."""
    bounds = selection.bounds
    start = find_start(searched, accuracy_counts, bounds)
    certified = certify(counts, bounds, start) & find_useful(accuracy_counts)
    allowed = find_allowed(accuracy_counts, bounds)

    def find(counts: PathCounts, searched: PathCounts | None) -> Shortfall:
        return find_shortfall(counts, searched, certified, allowed, selection.step, bounds, start)

    found = replace(selection, shortfall=find(counts, searched))
    described = _find_described(counts, groups)
    also = None if searched is None else _find_described(searched, groups)
    if described is None or (also is None and searched is not None):
        return replace(found, public_values=found.public_values | {"shortfall": None})
    if described is counts and also is searched:
        return found
    # Which groups are few is a number about everybody.
    public = replace(find(described, also), few_rows={}, min_group_rows=0)
    return replace(found, public_values=found.public_values | {"shortfall": asdict(public)})


def _find_described(counts: PathCounts, groups: Groups) -> PathCounts | None:
    """Counts of those who are described; ``None`` if of somebody who is bounded there are fewer than ten of them."""
    public = find_public_counts(counts, groups).compared
    if public is None:
        return None
    kept = counts.constraint.kept
    if (counts.constraint.count_sides(public.totals) < FEWEST)[kept].any():
        return None
    return counts if (public.totals == counts.totals).all() else replace(public, constraint=counts.constraint)


def _find_public_values(
    selection: Selection, counts: PathCounts, accuracy_counts: PathCounts, groups: Groups
) -> dict[str, Any]:
    """Return what is reported of a step in place of what was measured; nothing where everybody is described."""
    public, of_labels = (
        find_public_counts(_first_and(rows, selection.step), groups) for rows in (counts, accuracy_counts)
    )
    # Of weighted rows it is not known how many people have each label.
    weighted: dict[str, Any] = {"raised_errors": []} if counts.weighted else {}
    if public.is_whole and of_labels.is_whole:
        return weighted
    rates = selection_rate(*map(groups.count_compared, (public.decided.favorable[1], public.decided.totals)))
    n_rows = groups.count_people(public.decided.n_rows)
    instead: dict[str, Any] = {
        "selection_rates": [None if hide else rate for hide, rate in zip(public.hidden, rates.tolist(), strict=True)],
        "n_rows": [None if hide else n for hide, n in zip(public.hidden, n_rows.tolist(), strict=True)],
        "n_discrimination_rows": int(public.decided.n_rows.sum()),
        "n_accuracy_rows": 0,
        **dict.fromkeys(("met", "discrimination", "rate_ratio", "interval", "original", "lower", "upper")),
        **dict.fromkeys(("accuracy", "accuracy_drop", "objective_value", "objective_drop")),
        "pair": [],
        "raised_errors": [],
    }
    compared, labelled, objective = public.compared, of_labels.labelled, selection.objective
    if compared is not None:
        instead |= {
            "met": selection.met,
            "discrimination": float(compared.discrimination[1]),
            "pair": compared.worst_pair(1),
            "rate_ratio": float(compared.ratio[1]),
            "interval": compared.interval(1, selection.confidence),
            "original": compared.interval(0, selection.confidence),
            **find_limits(compared, 1, selection.bounds)._asdict(),
            "raised_errors": list(map(asdict, compared.raised_errors(1))),
        } | weighted
    if labelled is not None:
        instead |= {
            "n_accuracy_rows": int(labelled.n_rows.sum()),
            "accuracy": float(labelled.objective("accuracy")[1]),
            "accuracy_drop": float(labelled.drop("accuracy")[1]),
        }
    if labelled is not None and (objective != "balanced_accuracy" or labelled.totals.sum(axis=0).all()):
        instead |= {
            "objective_value": float(labelled.objective(objective)[1]),
            "objective_drop": float(labelled.drop(objective)[1]),
        }
    return instead
