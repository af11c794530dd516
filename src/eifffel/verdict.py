"""The verdict: does a bound hold on rows, and may that be chance?"""

from dataclasses import dataclass
from typing import NamedTuple

from eifffel._validation import check_step
from eifffel.intervals import CONFIDENCE
from eifffel.path_counts import PathCounts
from eifffel.rows.groups import Groups
from eifffel.selection import Selection

# What a verdict can be. A step overshoots if it keeps the bound in the one direction that was asked for, and breaks it
# in the other.
WITHIN, OUTSIDE, OVERSHOOTS = "within", "outside", "overshoots"
# Of a report alone: no step kept the bound where the step was chosen; nothing is left to compare; there is no bound.
NOT_MET, UNJUDGED, MEASURED = "not_met", "unjudged", "measured"

# Said of rows that a path was scored by.
SEEN = "Leaves were scored by these rows, or by some of them, so that they say little of other people."
# Said of rows that a step was chosen on.
CHOSE = "The step was chosen on these rows, or on some of them, so that the bound kept there says little of others."


class Judgement(NamedTuple):
    """Whether a bound holds, whether that is beyond chance, and both in words."""

    kind: str
    certain: bool
    heading: str
    clause: str

    @property
    def holds(self) -> bool:
        """Whether it does, in the direction that was asked for."""
        return self.kind != OUTSIDE


def judge(
    discrimination: float, interval: tuple[float, float] | None, epsilon: float, *, signed: bool = False
) -> Judgement:
    """Compare a discrimination and its interval with a bound, in one direction only if ``signed``."""
    holds = (discrimination if signed else abs(discrimination)) <= epsilon
    kind = OVERSHOOTS if signed and discrimination < -epsilon else WITHIN if holds else OUTSIDE
    certain, other_side = False, ""
    if interval is not None:
        low, high = interval
        inside = high <= epsilon and (signed or low >= -epsilon)
        certain = inside if holds else low > epsilon or (not signed and high < -epsilon)
        if kind == OVERSHOOTS:
            other_side = ", which may be chance" if high >= -epsilon else ""
        elif signed and holds and low < -epsilon:
            other_side = "; in the other direction, which was not asked for, the interval reaches beyond it"
    judged = _word(kind, certain, epsilon, interval, no_interval="weighted rows have no interval", out="beyond")
    return judged._replace(clause=judged.clause + other_side)


def judge_ratio(ratio: float, interval: tuple[float, float] | None, least: float, *, turned: bool = False) -> Judgement:
    """Compare the smallest ratio of two rates and its interval with a bound.

    ``turned`` is where the bound was asked for in one direction, and it is the other group that is favoured now.
    """
    kind = WITHIN if ratio >= least else OVERSHOOTS if turned and ratio < least else OUTSIDE
    certain = False
    if interval is not None and kind != OVERSHOOTS:
        certain = interval[0] >= least if kind == WITHIN else interval[1] < least
    return _word(kind, certain, least, interval, no_interval="it has no interval", out="below")


def _word(
    kind: str,
    certain: bool,
    bound: float,
    interval: tuple[float, float] | None,
    *,
    no_interval: str,
    out: str,
) -> Judgement:
    """In words; ``out`` is where the interval lies if it is not within the bound."""
    side = "Outside" if kind == OUTSIDE else "Within"
    heading, clause = f"{side} the bound", f"{side.lower()} the bound of {bound:g}"
    if kind == OVERSHOOTS:
        heading = "Past zero: the other group is favoured now"
        clause += " in the direction in which it was asked for, and beyond it in the other"
    elif interval is None:
        clause += f"; {no_interval}"
    elif certain:
        clause += ", as is the whole interval"
    else:
        heading += ", but it may be chance"
        clause += f", but it may be chance: the interval {'holds it' if kind == OUTSIDE else f'reaches {out} it'}"
    return Judgement(kind, certain, heading, clause)


@dataclass(frozen=True)
class Verdict:
    """Whether the bound that chose a step holds on other rows. ``print`` says it in words.

    Attributes
    ----------
    kind : {"within", "outside", "overshoots"}
        Where the discrimination is. A step that was chosen with ``confidence`` overshoots if it keeps the bound, which
        is then one-sided, and favours the other group beyond it.
    holds : bool
        Whether the discrimination measured is within the bound: in either direction, or, where the step was chosen
        with ``confidence``, signed.
    certain : bool
        Whether that is so for the whole interval, or for none of it.
    step : int
        That was judged.
    epsilon, ratio : float or None
        The bound.
    discrimination : float
        Of the step, on these rows.
    interval : tuple of two floats, or None
        Two-sided, 95% or of the confidence that was asked for; ``None`` for weighted rows.
    accuracy : float or None
        ``None`` where the rows have no labels.
    rows : str
        What they are called, such as ``"measured rows"``.
    n_rows : tuple of ints
        In each group that is compared.
    heading, sentence : str
        The verdict in a few words, and with all numbers.

    See Also
    --------
    FairnessPath.verdict : Makes one.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import trace_path
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> tree, others = DecisionTreeClassifier().fit(age, paid), [[22], [32], [42], [52]]
    >>> path = trace_path(tree, age, paid, sensitive_features=sex, select_on=(others, paid, sex))
    >>> verdict = path.verdict(path.select(epsilon=0.05))
    >>> verdict.holds, verdict.certain, verdict.heading
    (True, False, 'Within the bound, but it may be chance')
    """

    kind: str
    holds: bool
    certain: bool
    step: int
    epsilon: float | None
    ratio: float | None
    discrimination: float
    interval: tuple[float, float] | None
    accuracy: float | None
    rows: str
    n_rows: tuple[int, ...]
    heading: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.heading}. {self.sentence}"


def say_verdict(
    counts: PathCounts, accuracy_counts: PathCounts, groups: Groups, selection: Selection, *, seen: bool, chose: bool
) -> Verdict:
    """Judge, on the rows of ``counts``, the bound that chose a step.

    ``seen`` says that leaves were scored by them, ``chose`` that the step was chosen on them.
    """
    step = check_step(selection.step, len(counts.discrimination) - 1)
    value, interval = float(counts.discrimination[step]), counts.interval(step, selection.confidence)
    signed = selection.confidence is not None and counts.constraint.directed
    if selection.ratio is None:
        assert selection.epsilon is not None
        judged = judge(value, interval, selection.epsilon, signed=signed)
    else:
        turned = signed and value < 0
        judged = judge_ratio(float(counts.ratio[step]), counts.ratio_interval(step), selection.ratio, turned=turned)
    n_rows = tuple(groups.count_people(counts.n_rows).tolist())
    accuracy = float(counts.objective("accuracy")[step]) if accuracy_counts is counts else None
    level = CONFIDENCE if selection.confidence is None else selection.confidence
    shown = "" if interval is None else f" ({100 * level:.4g}% interval {interval[0]:.4f} to {interval[1]:.4f})"
    of_rates = "" if selection.ratio is None else f", and the ratio of the rates is {counts.ratio[step]:.4f}"
    between = "" if counts.constraint.directed else " between {} and {}".format(*counts.worst_pair(step))
    sentences = [
        f"On {counts.n_rows.sum():,} {counts.rows}, {_say_groups(groups, n_rows)}, the discrimination of step {step}"
        f"{between} is {value:.4f}{shown}{of_rates}, {judged.clause}.{_say_attributes(counts, groups, step)}"
    ]
    if counts.constraint.left_out:
        sentences.append(f"Too few rows to be bounded have {', '.join(counts.constraint.left_out)}.")
    if accuracy is not None:
        sentences.append(f"Accuracy is {accuracy:.4f}.")
    sentences.append(_say_choice(selection))
    if seen:
        sentences.append(SEEN)
    elif chose:
        sentences.append(CHOSE)
    return Verdict(
        kind=judged.kind,
        holds=judged.holds,
        certain=judged.certain,
        step=step,
        epsilon=selection.epsilon,
        ratio=selection.ratio,
        discrimination=value,
        interval=interval,
        accuracy=accuracy,
        rows=counts.rows,
        n_rows=n_rows,
        heading=judged.heading,
        sentence=" ".join(sentences),
    )


def _say_groups(groups: Groups, n_rows: tuple[int, ...]) -> str:
    """How many rows each group has."""
    if len(n_rows) == 2:
        first, second = groups.attributes[0].values
        return f"{n_rows[0]:,} of group {first!r} and {n_rows[1]:,} of group {second!r}"
    return f"from {min(n_rows):,} to {max(n_rows):,} in each of {len(n_rows)} groups"


def _say_attributes(counts: PathCounts, groups: Groups, step: int) -> str:
    """The largest difference by each attribute, where several are bounded."""
    parts = counts.constraint.by_attribute(groups)
    if len(parts) < 2:
        return ""
    found = [(name, part.worst(counts.favorable[step], counts.totals).value) for name, part in parts]
    return f" By attribute, the largest are {', '.join(f'{name} {value:.4f}' for name, value in found)}."


def _say_choice(selection: Selection) -> str:
    """What was measured when the step was chosen, and where."""
    sure = "" if selection.confidence is None else f" with {100 * selection.confidence:.4g}% confidence"
    upper = "" if selection.upper is None else f", at most {selection.upper:.4f},"
    same = selection.accuracy_rows == selection.discrimination_rows
    return (
        f"The step was chosen{sure} on {selection.n_discrimination_rows:,} {selection.discrimination_rows}, with "
        f"discrimination {selection.discrimination:.4f}{upper} and accuracy {selection.accuracy:.4f} "
        f"{'there' if same else f'on the {selection.accuracy_rows}'}."
    )
