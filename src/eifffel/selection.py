"""From the counts of a path and a bound to one step."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from eifffel._validation import check_choice, check_confidence, check_fraction
from eifffel.counts import PathCounts
from eifffel.exceptions import ConstraintNotMetWarning, FewRowsWarning, SeenRowsWarning, warn_caller
from eifffel.intervals import difference_limit
from eifffel.objective import Objective, check_alpha, check_objective, name_loss

RULES = ("first", "most_accurate", "paper")
# Below so many rows of a group, the limits are rough.
FEW_ROWS = 30
# How often so many rows as are advised would do.
POWER = 0.8
# More rows of a group than this are no advice.
MOST_ROWS = 1e9


@dataclass(frozen=True)
class Selection:
    """The step that a bound selects, and what was measured there.

    Attributes
    ----------
    step : int
        0 is the model as it came.
    met : bool
        Whether the step keeps the bounds; with ``confidence``, whether that is certified.
    discrimination, accuracy, accuracy_drop : float
        At this step, on the rows named by ``discrimination_rows`` and ``accuracy_rows``.
    selection_rates : tuple of two floats
        Share of favourable decisions in the unprivileged and in the privileged group, at this step.
    epsilon, alpha, rule, confidence, objective
        What was asked for.
    discrimination_rows, accuracy_rows : str
        Which rows were measured, such as ``"selection rows"``.
    n_rows : tuple of two ints
        How many ``discrimination_rows`` there are in the unprivileged and in the privileged group.
    n_accuracy_rows : int
        How many ``accuracy_rows`` there are.
    interval : tuple of two floats, or None
        Two-sided interval of the discrimination at this step: 95%, or of ``confidence`` where it was asked for. It
        knows nothing of how the step was chosen. ``None`` for weighted rows.
    upper : float or None
        With ``confidence``, the one-sided upper limit of the discrimination at this step.
    objective_value, objective_drop : float
        Of what ``alpha`` limits: how accurate or how dear decisions are, and by how much worse than at step 0.
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
    n_rows: tuple[int, int]
    n_accuracy_rows: int
    interval: tuple[float, float] | None
    confidence: float | None
    upper: float | None
    objective: Objective
    objective_value: float
    objective_drop: float


def check_bounds(epsilon: Any, alpha: Any, rule: Any, confidence: Any, objective: Any) -> Objective:
    """Raise if what is asked for makes no sense; the objective, checked."""
    objective = check_objective(objective)
    check_fraction("epsilon", epsilon)
    check_alpha(alpha, objective)
    check_choice("rule", rule, RULES)
    check_confidence(confidence, optional=True)
    if confidence is not None and rule == "paper":
        raise ValueError(
            "rule='paper' stops at the first step that keeps the bound on the rows measured, and no confidence comes "
            "with it; leave confidence out, or take rule='first'"
        )
    return objective


def select_step(
    counts: PathCounts,
    accuracy_counts: PathCounts,
    groups: tuple[Any, Any],
    *,
    epsilon: float,
    alpha: float | None,
    rule: str,
    confidence: float | None,
    objective: Any,
    seen: bool,
) -> Selection:
    """Choose a step; ``seen`` says that leaves were scored by the rows of ``counts``.

    A bound that no step meets gives the nearest step, ``met=False`` and a `ConstraintNotMetWarning`.
    """
    objective = check_bounds(epsilon, alpha, rule, confidence, objective)
    if confidence is not None:
        _check_certifiable(counts, confidence, seen)
    discrimination, drop = counts.discrimination, accuracy_counts.drop(objective)
    below, limit = epsilon + counts.tolerance, np.inf if alpha is None else alpha
    allowed = drop <= limit + accuracy_counts.tolerance
    upper = None
    if rule == "paper":
        # The loop of Algorithms 2 and 3 runs while disc > epsilon and drop < alpha.
        stops = (discrimination <= below) | (drop >= limit - accuracy_counts.tolerance)
        step = int(np.argmax(stops)) if stops.any() else len(stops) - 1
        met = bool(discrimination[step] <= below)
    else:
        if confidence is None:
            keeps = np.abs(discrimination) <= below
        else:
            upper = counts.limits(confidence)
            keeps = certify(upper, epsilon)
        met = bool((keeps & allowed).any())
        if not met:
            step = int(np.argmin(np.where(allowed, np.abs(discrimination), np.inf)))
        elif rule == "first":
            step = int(np.argmax(keeps & allowed))
        else:
            step = int(np.argmin(np.where(keeps & allowed, drop, np.inf)))
    selection = Selection(
        step=step,
        met=met,
        discrimination=float(discrimination[step]),
        accuracy=float(accuracy_counts.objective("accuracy")[step]),
        accuracy_drop=float(accuracy_counts.drop("accuracy")[step]),
        selection_rates=(float(counts.selection_rates[step, 0]), float(counts.selection_rates[step, 1])),
        epsilon=epsilon,
        alpha=alpha,
        rule=rule,
        discrimination_rows=counts.rows,
        accuracy_rows=accuracy_counts.rows,
        n_rows=(int(counts.n_rows[0]), int(counts.n_rows[1])),
        n_accuracy_rows=int(accuracy_counts.n_rows.sum()),
        interval=counts.interval(step, confidence),
        confidence=confidence,
        upper=None if upper is None else float(upper[step]),
        objective=objective,
        objective_value=float(accuracy_counts.objective(objective)[step]),
        objective_drop=float(drop[step]),
    )
    if not met:
        why = _why_not_met(selection, discrimination) if upper is None else _why_uncertain(selection, counts, groups)
        limits = f"epsilon={epsilon:g}" + ("" if confidence is None else f" with confidence={confidence:g}")
        limits += "" if alpha is None else f" {'with' if confidence is None else 'and'} alpha={alpha:g}"
        warn_caller(f"{limits} is not met: {why}", ConstraintNotMetWarning)
    elif confidence is not None:
        _warn_of_few_rows(selection, groups)
    return selection


def certify(upper: np.ndarray, epsilon: float) -> np.ndarray:
    """Whether each step is certified to discriminate by ``epsilon`` at most, from its upper limit.

    Fixed-sequence testing (Learn then Test, Angelopoulos et al. 2021): from the last step, where nearly all was done
    against the discrimination that there was, towards the model as it came; the first step whose limit exceeds
    ``epsilon`` ends it. If some step breaks the bound, the first of those on the way must be passed by mistake before
    any of them can be certified, and that test errs no more often than 1 - confidence. So no share of that is lost
    however many steps there are, and any of the certified ones may be taken.
    """
    return np.maximum.accumulate(upper[::-1])[::-1] <= epsilon


def warn_of_seen_rows(rows: str) -> None:
    """Warn that a step was chosen on rows by which leaves were scored."""
    warn_caller(
        f"the step is chosen on the {rows}, by which leaves were scored and on which, as a rule, the model was "
        "trained: it knows them, so that the bound kept there says little of other people. Choose on rows held out: "
        "select_on=(X, y, sensitive_features) in trace_path, select_on='validation' in EiFFFeLClassifier; or ask for "
        "the paper's own rule='paper'",
        SeenRowsWarning,
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


def _warn_of_few_rows(selection: Selection, groups: tuple[Any, Any]) -> None:
    """Warn where a certified step is one that nobody would want, or where certifying is a rough guess."""
    smallest = int(np.argmin(selection.n_rows))
    if selection.discrimination < -selection.epsilon:
        warn_caller(
            f"epsilon={selection.epsilon:g} is certified, but only by going past zero, and beyond it on that side: on "
            f"{sum(selection.n_rows):,} {selection.discrimination_rows} step {selection.step} has discrimination "
            f"{selection.discrimination:.4g} and favours group {groups[0]!r}. The fewer rows, the further it must go: "
            f"choose on more of them, of group {groups[smallest]!r} above all "
            f"({selection.n_rows[smallest]:,}), or allow a larger epsilon",
            FewRowsWarning,
        )
    elif selection.n_rows[smallest] < FEW_ROWS:
        warn_caller(
            f"there are {selection.n_rows[smallest]} {selection.discrimination_rows} of group {groups[smallest]!r}: "
            f"below {FEW_ROWS} the confidence is approximate. Choose on more rows",
            FewRowsWarning,
        )


def _why_not_met(selection: Selection, discrimination: np.ndarray) -> str:
    return (
        f"{'the loop ends at' if selection.rule == 'paper' else 'the nearest is'} step {selection.step} with "
        f"discrimination {selection.discrimination:.4g} on the {selection.discrimination_rows} and a "
        f"{name_loss(selection.objective)} of {selection.objective_drop:.4g} on the {selection.accuracy_rows}. "
        "Allow a larger epsilon"
        + ("" if selection.alpha is None else " or alpha")
        + (
            f". On the {selection.discrimination_rows} the model favours the group that was taken as unprivileged; "
            "trace it with privileged= the other one"
            if discrimination[0] < -selection.epsilon
            else ""
        )
    )


def _why_uncertain(selection: Selection, counts: PathCounts, groups: tuple[Any, Any]) -> str:
    assert selection.confidence is not None
    upper = counts.limits(selection.confidence)
    step = (
        f"The step given, {selection.step}, has discrimination {selection.discrimination:.4g}, at most "
        f"{selection.upper:.4g} with that confidence, on {sum(selection.n_rows):,} {selection.discrimination_rows}"
    )
    if upper[-1] <= selection.epsilon:
        first = int(np.argmax(certify(upper, selection.epsilon)))
        return (
            f"steps from {first} on are certified, and on the {selection.accuracy_rows} each of them has a "
            f"{name_loss(selection.objective)} of more than alpha. {step}. Allow a larger alpha or epsilon, or give "
            "more rows to choose on"
        )
    rates = counts.selection_rates[-1]
    if rates[1] - rates[0] >= selection.epsilon:
        more = f"its discrimination is {rates[1] - rates[0]:.4g}, so that more rows would hardly help"
    else:
        more = _rows_needed(rates, counts.n_rows, groups, selection.epsilon, selection.confidence)
    return f"not even the last step can be certified; {more}. {step}. Allow a larger epsilon, or less confidence"


def _rows_needed(
    rates: np.ndarray, n_rows: np.ndarray, groups: tuple[Any, Any], epsilon: float, confidence: float
) -> str:
    """About how many rows of which group would certify a step that has these rates, four times in five."""
    confidence = float(norm.cdf(norm.ppf(confidence) + norm.ppf(POWER)))

    def certifies(n: np.ndarray) -> bool:
        return bool(difference_limit(rates[1] * n[1], n[1], rates[0] * n[0], n[0], confidence) <= epsilon)

    def least(grown: np.ndarray) -> float:
        """By what factor the rows of the ``grown`` groups must grow; infinity if that does not help."""
        low, high = 1.0, 2.0
        while not certifies(np.where(grown, n_rows * high, n_rows)):
            low, high = high, 2 * high
            if high * n_rows.max() > MOST_ROWS:
                return np.inf
        while high - low > 0.01 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if certifies(np.where(grown, n_rows * middle, n_rows)) else (middle, high)
        return high

    alone = np.array([least(np.arange(2) == g) for g in range(2)])
    # Of the group of which fewer more are needed; of both, where one alone would not do.
    more = np.where(np.isfinite(alone), (alone - 1) * n_rows, np.inf)
    grown = np.arange(2) == np.argmin(more) if np.isfinite(more).any() else np.ones(2, bool)
    factor = least(grown)
    if not np.isfinite(factor):
        return "more rows would hardly help"
    wanted = [
        f"{_round_up(n_rows[g] * factor):,} rows of group {groups[g]!r} (there are {n_rows[g]:,})"
        for g in np.flatnonzero(grown)
    ]
    return f"for that, about {' and '.join(wanted)} would be needed, to succeed four times in five"


def _round_up(n: float) -> int:
    """To two digits that count."""
    unit = 10 ** max(int(np.log10(n)) - 1, 0)
    return int(np.ceil(n / unit) * unit)
