"""From the counts of a path and a bound to one step."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from eifffel._validation import check_choice, check_confidence, check_fraction
from eifffel.exceptions import ConstraintNotMetWarning, FewRowsWarning, SeenRowsWarning, warn_caller
from eifffel.intervals import CONFIDENCE, difference_limit
from eifffel.metrics import selection_rate
from eifffel.objective import Objective, check_alpha, check_objective, name_loss
from eifffel.path_counts import PathCounts
from eifffel.rows.groups import Groups

# The bound on discrimination where nobody names one.
EPSILON = 0.05
RULES = ("first", "most_accurate", "paper")
# Said where no selection row is left that the edits owe nothing to.
NONE_APART = (
    "confidence={confidence:g} needs rows that the edits owe nothing to, and how several groups are weighed in this "
    "shift was fitted to features of all the {rows}. Trace with keep_apart=True, which keeps half of them for it "
    "(EiFFFeLClassifier does so if it has a confidence when it is fitted), ask on other rows, as in path.measure(X, y, "
    "sensitive_features).select(...), or take strategy='leaf'"
)
# Below so many rows of a group, the limits are rough.
FEW_ROWS = 30
# How often so many rows as are advised would do.
POWER = 0.8
# More rows of a group than this are no advice.
MOST_ROWS = 1e9


@dataclass(frozen=True)
class Selection:
    """The step that a bound selects, and what was measured there; ``print`` says it in words.

    Attributes
    ----------
    step : int
        0 is the model as it came.
    met : bool
        Whether the step keeps the bounds; with ``confidence``, whether that is certified.
    discrimination, accuracy, accuracy_drop : float
        At this step, on the rows named by ``discrimination_rows`` and ``accuracy_rows``.
    pair : tuple of two str
        Between whom the discrimination is: the rate of the first minus that of the second.
    rate_ratio : float
        The smallest ratio of two of the rates that are compared, at this step; NaN where all are 0.
    directed : bool
        Whether it has a sign: there are two sides, and one is the privileged group.
    selection_rates : tuple of floats
        Share of favourable decisions in each group that is compared, of two the unprivileged and the privileged one, at
        this step.
    constraint : str
        Which rates are compared.
    epsilon, ratio, alpha, rule, confidence, objective
        What was asked for; ``epsilon`` or ``ratio`` is ``None``.
    discrimination_rows, accuracy_rows : str
        Which rows were measured, such as ``"selection rows"``.
    n_rows : tuple of ints
        How many ``discrimination_rows`` there are in each group that is compared.
    n_discrimination_rows : int
        How many there are in all.
    hidden : tuple of bools
        Which of these groups reports and records say nothing of, for they are of fewer than ten people.
    left_out : tuple of str
        Groups of too few rows, which are not bounded.
    n_accuracy_rows : int
        How many ``accuracy_rows`` there are.
    interval : tuple of two floats, or None
        Two-sided interval of the discrimination at this step: 95%, or of ``confidence`` where it was asked for. It
        knows nothing of how the step was chosen. ``None`` for weighted rows.
    upper : float or None
        With ``confidence``, the one-sided upper limit of the discrimination at this step: of every difference that is
        bounded, the largest.
    objective_value, objective_drop : float
        Of what ``alpha`` limits: how accurate or how dear decisions are, and by how much worse than at step 0.

    See Also
    --------
    FairnessPath.select : Makes one.
    FairnessPath.verdict : Whether its bound holds on other rows.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import trace_path
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> tree, others = DecisionTreeClassifier().fit(age, paid), [[22], [32], [42], [52]]
    >>> path = trace_path(tree, age, paid, sensitive_features=sex, select_on=(others, paid, sex))
    >>> choice = path.select(epsilon=0.05)
    >>> choice.step, choice.met, choice.pair, choice.selection_rates, choice.accuracy_drop
    (1, True, ('m', 'f'), (1.0, 1.0), 0.25)
    """

    step: int
    met: bool
    discrimination: float
    accuracy: float
    accuracy_drop: float
    pair: tuple[str, str]
    directed: bool
    rate_ratio: float
    selection_rates: tuple[float, ...]
    constraint: str
    epsilon: float | None
    ratio: float | None
    alpha: float | None
    rule: str
    discrimination_rows: str
    accuracy_rows: str
    n_rows: tuple[int, ...]
    n_discrimination_rows: int
    hidden: tuple[bool, ...]
    left_out: tuple[str, ...]
    n_accuracy_rows: int
    interval: tuple[float, float] | None
    confidence: float | None
    upper: float | None
    objective: Objective
    objective_value: float
    objective_drop: float

    def __str__(self) -> str:
        level = f"{100 * (CONFIDENCE if self.confidence is None else self.confidence):g}%"
        more = [
            None if self.ratio is None else f"ratio {self.rate_ratio:.4f}",
            None if self.interval is None else f"{level} interval {self.interval[0]:.4f} to {self.interval[1]:.4f}",
            None if self.upper is None else f"at most {self.upper:.4f} with {level} confidence",
        ]
        told = "; ".join(filter(None, more))
        first, second = self.pair
        change = "below" if self.accuracy_drop >= 0 else "above"
        return (
            f"step {self.step}: {self.bound} is {'met' if self.met else 'NOT met'}\n"
            f"discrimination {self.discrimination:.4f}{f' ({told})' if told else ''}, {first!r} minus "
            f"{second!r}, on {self.n_discrimination_rows:,} {self.discrimination_rows}\n"
            f"accuracy {self.accuracy:.4f}, {abs(self.accuracy_drop):.4f} {change} the model as it came, on "
            f"{self.n_accuracy_rows:,} {self.accuracy_rows}"
        )

    @property
    def bound(self) -> str:
        """What was asked for, in words."""
        return f"epsilon={self.epsilon:g}" if self.ratio is None else f"ratio={self.ratio:g}"

    @property
    def is_past(self) -> bool:
        """Whether the step keeps a one-sided bound, and would break it with the two groups exchanged."""
        if not self.directed or self.discrimination >= 0:
            return False
        return self.rate_ratio < self.ratio if self.ratio is not None else -self.discrimination > (self.epsilon or 0)

    def told(self) -> dict[str, Any]:
        """Everything as plain data, but for the numbers of groups that are `hidden`.

        Returns
        -------
        dict
            The attributes by their names; ``None`` in the place of each number that is hidden.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from eifffel import trace_path
        >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
        >>> tree, others = DecisionTreeClassifier().fit(age, paid), [[22], [32], [42], [52]]
        >>> path = trace_path(tree, age, paid, sensitive_features=sex, select_on=(others, paid, sex))
        >>> told = path.select(epsilon=0.05).told()
        >>> told["epsilon"], told["n_rows"]  # there are two people in each group
        (0.05, [None, None])
        """
        rates, n_rows = (
            [None if hide else value for hide, value in zip(self.hidden, values, strict=True)]
            for values in (self.selection_rates, self.n_rows)
        )
        return {**asdict(self), "selection_rates": rates, "n_rows": n_rows}


def check_one_bound(epsilon: Any, ratio: Any) -> None:
    """Raise if both a difference and a ratio are bounded."""
    if epsilon is not None and ratio is not None:
        raise ValueError(f"epsilon={epsilon!r} and ratio={ratio!r} are two bounds; give one of them")
    if ratio is not None:
        check_fraction("ratio", ratio)
        if ratio == 0:
            raise ValueError("ratio must be above 0, got 0; 0.8 is the four-fifths rule")


def check_bounds(epsilon: Any, ratio: Any, alpha: Any, rule: Any, confidence: Any, objective: Any) -> Objective:
    """Raise if what is asked for makes no sense; the objective, checked."""
    objective = check_objective(objective)
    check_one_bound(epsilon, ratio)
    if ratio is None:
        check_fraction("epsilon", epsilon)
    elif rule == "paper":
        raise ValueError("rule='paper' stops at a difference, and ratio is none; give epsilon, or take rule='first'")
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
    discrimination, drop = counts.discrimination, accuracy_counts.drop(objective)
    below, limit = np.inf if epsilon is None else epsilon + counts.tolerance, np.inf if alpha is None else alpha
    allowed = drop <= limit + accuracy_counts.tolerance
    upper = None
    if rule == "paper":
        # The loop of Algorithms 2 and 3 runs while disc > epsilon and drop < alpha.
        stops = (discrimination <= below) | (drop >= limit - accuracy_counts.tolerance)
        step = int(np.argmax(stops)) if stops.any() else len(stops) - 1
        met = bool(discrimination[step] <= below)
    else:
        if confidence is not None:
            upper = counts.limits(confidence)
            keeps = certify(_excess(counts, epsilon, ratio, confidence), safest)
        elif ratio is None:
            keeps = np.abs(discrimination) <= below
        else:
            keeps = counts.ratio >= ratio - counts.tolerance
        met = bool((keeps & allowed).any())
        if not met:
            away = np.abs(discrimination) if ratio is None else -np.nan_to_num(counts.ratio)
            step = int(np.argmin(np.where(allowed, away, np.inf)))
        elif rule == "first":
            step = int(np.argmax(keeps & allowed))
        else:
            step = int(np.argmin(np.where(keeps & allowed, drop, np.inf)))
    decided, n_rows = (counts.favorable[step], counts.totals), groups.count_people(counts.n_rows)
    selection = Selection(
        step=step,
        met=met,
        discrimination=float(discrimination[step]),
        accuracy=float(accuracy_counts.objective("accuracy")[step]),
        accuracy_drop=float(accuracy_counts.drop("accuracy")[step]),
        pair=counts.worst_pair(step),
        rate_ratio=float(counts.ratio[step]),
        directed=counts.constraint.directed,
        selection_rates=tuple(map(float, selection_rate(*map(groups.count_compared, decided)))),
        constraint=counts.constraint.name,
        epsilon=epsilon,
        ratio=ratio,
        alpha=alpha,
        rule=rule,
        discrimination_rows=counts.rows,
        accuracy_rows=accuracy_counts.rows,
        n_rows=tuple(n_rows.tolist()),
        hidden=tuple(groups.find_hidden(n_rows, counts.constraint.find_bounded(groups)).tolist()),
        n_discrimination_rows=int(counts.n_rows.sum()),
        left_out=counts.constraint.left_out,
        n_accuracy_rows=int(accuracy_counts.n_rows.sum()),
        interval=counts.interval(step, confidence),
        confidence=confidence,
        upper=None if upper is None else float(upper[step]),
        objective=objective,
        objective_value=float(accuracy_counts.objective(objective)[step]),
        objective_drop=float(drop[step]),
    )
    if not met:
        why = _why_not_met(selection, counts) if upper is None else _why_uncertain(selection, counts, safest)
        limits = selection.bound + ("" if confidence is None else f" with confidence={confidence:g}")
        limits += "" if alpha is None else f" {'with' if confidence is None else 'and'} alpha={alpha:g}"
        warn_caller(f"{limits} is not met: {why}", ConstraintNotMetWarning)
    elif confidence is not None:
        _warn_of_few_rows(selection, counts, groups)
    return selection


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


def _excess(counts: PathCounts, epsilon: float | None, ratio: float | None, confidence: float) -> np.ndarray:
    """The upper limit, after each step, of what is in excess of a bound."""
    if ratio is not None:
        return counts.ratio_limits(ratio, confidence)
    assert epsilon is not None
    return counts.limits(confidence) - epsilon


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


def _warn_of_few_rows(selection: Selection, counts: PathCounts, groups: Groups) -> None:
    """Warn where a certified step is one that nobody would want, or where certifying is a rough guess."""
    constraint = counts.constraint
    bounded, size = np.unique(constraint.pairs), constraint.count_sides(counts.totals)
    smallest = bounded[np.argmin(size[bounded])]
    name = f"group {constraint.names[smallest]!r}"
    if selection.is_past:
        warn_caller(
            f"{selection.bound} is certified, but only by going past zero, and beyond it on that side: on "
            f"{selection.n_discrimination_rows:,} {selection.discrimination_rows} step {selection.step} has "
            f"discrimination {selection.discrimination:.4g} and favours group {groups[0]!r}. The fewer rows, the "
            f"further it must go: choose on more of them, of {name} above all ({size[smallest]:,}), or allow a "
            f"{_more(selection)}",
            FewRowsWarning,
        )
    elif size[smallest] < FEW_ROWS:
        warn_caller(
            f"there are {size[smallest]} {selection.discrimination_rows} of {name}: below {FEW_ROWS} the confidence is "
            "approximate. Choose on more rows",
            FewRowsWarning,
        )


def _why_not_met(selection: Selection, counts: PathCounts) -> str:
    ratio = "" if selection.ratio is None else f", a ratio of {selection.rate_ratio:.4g},"
    more = _more(selection)
    return (
        f"{'the loop ends at' if selection.rule == 'paper' else 'the nearest is'} step {selection.step} with "
        f"discrimination {selection.discrimination:.4g}{_between(selection)}{ratio} on the "
        f"{selection.discrimination_rows} and a {name_loss(selection.objective)} of {selection.objective_drop:.4g} on "
        f"the {selection.accuracy_rows}. Allow a {more}"
        + ("" if selection.alpha is None else " or alpha" if selection.ratio is None else " or a larger alpha")
        + (
            f". On the {selection.discrimination_rows} the model favours the group that was taken as unprivileged; "
            "trace it with privileged= the other one"
            if selection.epsilon is not None and counts.discrimination[0] < -selection.epsilon and selection.directed
            else ""
        )
        + _blame_few_rows(selection, counts)
    )


def _blame_few_rows(selection: Selection, counts: PathCounts) -> str:
    """Say so where a group in the way has so few rows that its rate differs by more than the bound by chance alone."""
    if selection.directed or selection.epsilon is None:
        return ""
    pair = [counts.worst.high[selection.step], counts.worst.low[selection.step]]
    size = counts.constraint.count_sides(counts.totals)[pair]
    rate = counts.constraint.count_sides(counts.favorable[selection.step])[pair] / size
    error = 2 * np.sqrt(rate * (1 - rate) / size)
    k = int(np.argmax(error))
    if error[k] <= selection.epsilon:
        return ""
    return (
        f". {selection.pair[k]} has {int(size[k]):,} of these rows, so few that its rate differs by {error[k]:.2g} by "
        "chance alone; a larger min_group_rows leaves it out of the bound"
    )


def _more(selection: Selection) -> str:
    """What to allow where a bound is too strict."""
    return "larger epsilon" if selection.ratio is None else "smaller ratio"


def _between(selection: Selection) -> str:
    """Between whom the discrimination is, where it is not plain."""
    return "" if selection.directed else f" between {selection.pair[0]} and {selection.pair[1]}"


def _why_uncertain(selection: Selection, counts: PathCounts, safest: int) -> str:
    assert selection.confidence is not None
    excess = _excess(counts, selection.epsilon, selection.ratio, selection.confidence)
    step = (
        f"The step given, {selection.step}, has discrimination {selection.discrimination:.4g}{_between(selection)}, at "
        f"most {selection.upper:.4g} with that confidence, on {selection.n_discrimination_rows:,} "
        f"{selection.discrimination_rows}"
    )
    more = _more(selection)
    if excess[safest] <= 0:
        first = int(np.argmax(certify(excess, safest)))
        upto = "on" if safest == len(excess) - 1 else f"to {safest}"
        return (
            f"steps from {first} {upto} are certified, and on the {selection.accuracy_rows} each of them has a "
            f"{name_loss(selection.objective)} of more than alpha. {step}. Allow a larger alpha or a {more}, or give "
            "more rows to choose on"
        )
    last = "the last step" if safest == len(excess) - 1 else f"step {safest}, which should discriminate least,"
    advice = "" if selection.epsilon is None else f"; {_advise(selection, counts, safest)}"
    return f"not even {last} can be certified{advice}. {step}. Allow a {more}, or less confidence"


def _advise(selection: Selection, counts: PathCounts, safest: int) -> str:
    """What it would take to certify the safest step."""
    assert selection.epsilon is not None
    assert selection.confidence is not None
    constraint, (high, low) = counts.constraint, (counts.worst.high[safest], counts.worst.low[safest])
    names = (constraint.names[low], constraint.names[high])
    if counts.discrimination[safest] >= selection.epsilon:
        between = "" if selection.directed else f" between {names[1]} and {names[0]}"
        return (
            f"its discrimination is {counts.discrimination[safest]:.4g}{between}, so that more rows would hardly help"
        )
    chosen, size = (constraint.count_sides(table)[[low, high]] for table in (counts.favorable[safest], counts.totals))
    return _rows_needed(chosen / size, size, names, selection.epsilon, selection.confidence)


def _rows_needed(
    rates: np.ndarray, n_rows: np.ndarray, names: tuple[str, str], epsilon: float, confidence: float
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
        f"{_round_up(n_rows[g] * factor):,} rows of group {names[g]!r} (there are {n_rows[g]:,})"
        for g in np.flatnonzero(grown)
    ]
    return f"for that, about {' and '.join(wanted)} would be needed, to succeed four times in five"


def _round_up(n: float) -> int:
    """To two digits that count."""
    unit = 10 ** max(int(np.log10(n)) - 1, 0)
    return int(np.ceil(n / unit) * unit)
