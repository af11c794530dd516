"""From the counts of a path and a bound to one step."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from eifffel.advice import warn_of_few_rows, warn_unmet
from eifffel.bounds import Bounds
from eifffel.exceptions import InputError, parameter
from eifffel.metrics import selection_rate
from eifffel.path_counts import PathCounts
from eifffel.rows.groups import Groups
from eifffel.selection import KnownRows, Selection
from eifffel.shortfall import Shortfall, find_shortfall
from eifffel.telling import tell

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
    bounds: Bounds,
    rows: KnownRows,
) -> Selection:
    """Choose a step; ``rows`` is what is known of the rows of ``counts``.

    ``safest`` is the step from which on, towards the model as it came, bounds are certified with confidence.
    A bound that no step meets gives the nearest step, ``met=False`` and a `ConstraintNotMetWarning`.
    """
    if bounds.confidence is not None:
        _check_certifiable(counts, bounds.confidence, rows)
    step, met = choose_step(counts, accuracy_counts, safest, bounds)
    shortfall = None
    if bounds.confidence is not None and not met:
        shortfall = find_shortfall(counts, certify(bounds.measure_excess(counts), safest), safest, bounds)
    selection = describe_step(counts, accuracy_counts, groups, step, bounds, rows, met=met, shortfall=shortfall)
    if not met:
        warn_unmet(selection, counts)
    elif bounds.confidence is not None:
        warn_of_few_rows(selection, counts, groups)
    return selection


def choose_step(counts: PathCounts, accuracy_counts: PathCounts, safest: int, bounds: Bounds) -> tuple[int, bool]:
    """The step, and whether it keeps the bounds."""
    discrimination, drop = counts.discrimination, accuracy_counts.drop(bounds.objective)
    below = np.inf if bounds.epsilon is None else bounds.epsilon + counts.tolerance
    limit = np.inf if bounds.alpha is None else bounds.alpha
    if bounds.rule == "paper":
        # The loop of Algorithms 2 and 3 runs while disc > epsilon and drop < alpha.
        stops = (discrimination <= below) | (drop >= limit - accuracy_counts.tolerance)
        step = int(np.argmax(stops)) if stops.any() else len(stops) - 1
        return step, bool(discrimination[step] <= below)
    allowed = drop <= limit + accuracy_counts.tolerance
    if bounds.confidence is not None:
        keeps = certify(bounds.measure_excess(counts), safest)
    elif bounds.ratio is None:
        keeps = np.abs(discrimination) <= below
    else:
        keeps = counts.ratio >= bounds.ratio - counts.tolerance
    keeps = keeps & allowed
    if not keeps.any():
        away = np.abs(discrimination) if bounds.ratio is None else -np.nan_to_num(counts.ratio)
        return int(np.argmin(np.where(allowed, away, np.inf))), False
    return int(np.argmax(keeps) if bounds.rule == "first" else np.argmin(np.where(keeps, drop, np.inf))), True


def certify(excess: np.ndarray, safest: int) -> np.ndarray:
    """Whether each step is certified to keep a bound, from the upper limit of what is in excess of it.

    Fixed-sequence testing (Learn then Test, Angelopoulos et al. 2021): from the ``safest`` step, by what is known
    without these rows, towards the model as it came; the first step whose limit exceeds 0 ends it. If some step breaks
    the bound, the first of those on the way must be passed by mistake before any of them can be certified, and that
    test errs no more often than 1 - confidence. So no share of that is lost however many steps there are, and any of
    the certified ones may be taken. Where several differences are bounded, each must pass its own test (an
    intersection-union test), and nothing is lost by that either.
    """
    certified = np.zeros(len(excess), bool)
    certified[: safest + 1] = np.maximum.accumulate(excess[safest::-1])[::-1] <= 0
    return certified


def describe_step(
    counts: PathCounts,
    accuracy_counts: PathCounts,
    groups: Groups,
    step: int,
    bounds: Bounds,
    rows: KnownRows,
    *,
    met: bool,
    shortfall: Shortfall | None = None,
) -> Selection:
    """What was measured at a step."""
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
        hidden=tuple(tell(_at(counts, step), groups).hidden.tolist()),
        n_discrimination_rows=int(counts.n_rows.sum()),
        left_out=counts.constraint.left_out,
        n_accuracy_rows=int(accuracy_counts.n_rows.sum()),
        interval=counts.interval(step, bounds.confidence),
        upper=None if bounds.confidence is None else float(counts.limits(bounds.confidence)[step]),
        objective_value=float(accuracy_counts.objective(bounds.objective)[step]),
        objective_drop=float(accuracy_counts.drop(bounds.objective)[step]),
        shortfall=shortfall,
        **rows._asdict(),
    )
    return replace(selection, told_instead=_tell_instead(selection, counts, accuracy_counts, groups))


def _at(counts: PathCounts, step: int) -> PathCounts:
    """Counts of the model as it came, and of one step."""
    return replace(counts, favorable=counts.favorable[[0, step]])


def _tell_instead(
    selection: Selection, counts: PathCounts, accuracy_counts: PathCounts, groups: Groups
) -> dict[str, Any]:
    """What others may read of a step in the place of what was measured; nothing where everybody is described."""
    told, of_labels = (tell(_at(rows, selection.step), groups) for rows in (counts, accuracy_counts))
    if told.is_whole and of_labels.is_whole:
        return {}
    rates = selection_rate(*map(groups.count_compared, (told.decided.favorable[1], told.decided.totals)))
    n_rows = groups.count_people(told.decided.n_rows)
    instead: dict[str, Any] = {
        "selection_rates": [None if hide else rate for hide, rate in zip(told.hidden, rates.tolist(), strict=True)],
        "n_rows": [None if hide else n for hide, n in zip(told.hidden, n_rows.tolist(), strict=True)],
        "n_discrimination_rows": int(told.decided.n_rows.sum()),
        "n_accuracy_rows": 0,
        **dict.fromkeys(("met", "discrimination", "rate_ratio", "interval", "upper", "shortfall")),
        **dict.fromkeys(("accuracy", "accuracy_drop", "objective_value", "objective_drop")),
        "pair": [],
    }
    compared, labelled, objective = told.compared, of_labels.labelled, selection.objective
    if compared is not None:
        short = None if selection.shortfall is None else asdict(selection.shortfall)
        sides = [compared.constraint.count_sides(table) for table in (compared.totals, counts.totals)]
        kept = counts.constraint.kept
        instead |= {
            "met": selection.met,
            "discrimination": float(compared.discrimination[1]),
            "pair": compared.worst_pair(1),
            "rate_ratio": float(compared.ratio[1]),
            "interval": compared.interval(1, selection.confidence),
            "upper": None if selection.confidence is None else float(compared.limits(selection.confidence)[1]),
            # Whoever is not described may have a part in it, by another attribute.
            "shortfall": short if (sides[0] == sides[1])[kept].all() else None,
        }
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


def _check_certifiable(counts: PathCounts, confidence: float, rows: KnownRows) -> None:
    """Raise unless rows can say something of other people."""
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
            + f"={confidence:g} counts people, and the {counts.rows} have a sample_weight; leave the weights "
            "of these rows out, or leave confidence out"
        )
