"""The verdict: one sentence on whether the bound holds, and on which rows that was measured."""

from typing import NamedTuple

import numpy as np

from eifffel.constraints import DEMOGRAPHIC_PARITY
from eifffel.objective import name_loss
from eifffel.report.facts import ChosenStep, Judged, Measured
from eifffel.report.words import fraction, how_many, nobody_changed, share, unchanged_words
from eifffel.selection import RESTS_ON_WORD
from eifffel.shortfall import say_shortfall
from eifffel.verdict import (
    CHOSE,
    MEASURED,
    NOT_MET,
    OUTSIDE,
    OVERSHOOTS,
    SEEN,
    UNJUDGED,
    WITHIN,
    judge,
    judge_ratio,
)

# By how much accuracy must exceed that of one decision for all.
LITTLE = 0.03


class Look(NamedTuple):
    """What stands before a heading, and its class on the page."""

    mark: str
    css: str


LOOKS = {
    WITHIN: Look("✓ ", "holds"),
    OUTSIDE: Look("✗ ", "broken"),
    OVERSHOOTS: Look("! ", ""),
    NOT_MET: Look("✗ ", "broken"),
    UNJUDGED: Look("! ", ""),
    MEASURED: Look("", ""),
}


def write_verdict(summary: Measured, epsilon: float | None, ratio: float | None) -> Judged:
    """Whether a bound on the difference, or on the ratio, holds on the rows of the report, and where it was chosen.

    ``holds`` is of the rows of the report; ``chosen`` of the rows that the step was chosen on; ``certain`` is whether
    the whole interval is within the bound, or all of it outside.
    """
    overall = summary.overall.after
    measured, smallest = overall.discrimination, overall.ratio
    facts = f"On {summary.rows.n:,} {summary.rows.name}, {_say_rates(summary)}"
    if measured.value is not None:
        over = "" if summary.constraint.directed else ", over all that are compared,"
        low, high = measured.interval or (np.nan, np.nan)
        facts += f": a difference of {measured.value:.3f} (95% interval{over} {low:.3f} to {high:.3f})"
    cost = _say_accuracy(summary)
    if summary.rows.seen:
        cost += f" {SEEN}"
    elif summary.rows.chose:
        cost += f" {CHOSE}"
    cost += _say_attributes(summary) + _say_left_out(summary) + _say_losers(summary)
    selection = summary.selection
    if selection is not None and (
        selection.constraint != summary.constraint.name
        or epsilon not in (None, selection.epsilon)
        or ratio not in (None, selection.ratio)
    ):
        selection = None  # judged by another bound than chose it
    if epsilon is None and ratio is None and selection is not None:
        epsilon, ratio = selection.epsilon, selection.ratio
    if epsilon is None and ratio is None:
        return Judged(MEASURED, None, None, None, None, None, "Measured", f"{facts}.{cost}")
    chosen = None if selection is None else selection.met
    if measured.value is None:
        kind, holds, certain, heading = UNJUDGED, None, None, "The bound cannot be judged on these rows"
        sentence = (
            f"{facts}. Nothing is left to compare, so that {_bound_words(epsilon, ratio)} can be said neither to hold "
            f"nor to be broken here.{_on_choice(selection, True)}{cost}"
        )
    else:
        signed = selection is not None and selection.confidence is not None and summary.constraint.directed
        if epsilon is not None:
            judged = judge(measured.value, measured.interval, epsilon, signed=signed)
        else:
            assert ratio is not None
            measured_ratio = np.nan if smallest.value is None else smallest.value
            judged = judge_ratio(measured_ratio, smallest.interval, ratio, turned=signed and measured.value < 0)
            between = " over ".join(overall.ratio_between[::-1])
            facts += f"; the smallest ratio of two rates is {fraction(smallest)}, {between}"
        kind, holds, certain, heading = judged.kind, judged.holds, judged.certain, judged.heading
        sentence = f"{facts}, {judged.clause}.{_on_choice(selection, holds)}{cost}"
    if chosen is False:
        kind, heading = NOT_MET, "The bound is not met"
    return Judged(kind, epsilon, ratio, holds, chosen, certain, f"{LOOKS[kind].mark}{heading}", sentence)


def _bound_words(epsilon: float | None, ratio: float | None) -> str:
    return f"the bound of {epsilon:g}" if epsilon is not None else f"the bound of {ratio:g} on the ratio"


def _say_rates(summary: Measured) -> str:
    """Who gets how much of what is compared."""
    favorable = f"the favourable decision, {summary.favorable}, goes to"
    groups, sensitive = summary.groups, summary.sensitive
    if summary.constraint.name == DEMOGRAPHIC_PARITY and len(groups) == 2:
        shares = [
            f"{share(group.after.selection_rate.value)} of those whose {sensitive} is {group.name}" for group in groups
        ]
        return f"{favorable} {' and to '.join(shares)}"
    after = summary.overall.after
    if not after.between:
        return f"fewer than two groups by {sensitive} can be compared"
    high, low = (f"{name} ({share(rate)})" for name, rate in zip(after.between, after.rates, strict=True))
    rate = summary.constraint.rate
    return f"of the groups by {sensitive} that are bounded, the {rate} differs most between {high} and {low}"


def _say_attributes(summary: Measured) -> str:
    """The largest difference by each attribute, where there are several."""
    found = summary.overall.after.by_attribute
    if len(found) < 2:
        return ""
    largest = [f"{part.name} {part.value:.3f}" for part in found]
    return f" By attribute, the largest are {', '.join(largest)}."


def _say_left_out(summary: Measured) -> str:
    """Who is not bounded."""
    constraint, left_out = summary.constraint, summary.constraint.left_out
    said = ""
    few = [group.name for group in summary.groups if group.few]
    if few:
        said += (
            f" Nothing is told or judged of {'; '.join(few)}: fewer than ten people{' each' * (len(few) > 1)}, who are "
            "in no number here."
        )
    if left_out:
        said += f" Not bounded, for want of {constraint.min_group_rows} rows: {'; '.join(left_out)}."
    for name in dict.fromkeys(group.attribute for group in summary.groups):
        if sum(group.bounded for group in summary.groups if group.attribute == name) < 2 and name:
            said += f" So {name} is not bounded at all."
    without = summary.rows.without_group
    if without != 0:
        said += f" {how_many(without).capitalize()} rows without a group are left out."
    return said


def _say_accuracy(summary: Measured) -> str:
    accuracy, constant = summary.overall.after.accuracy.value, summary.overall.constant_accuracy
    if accuracy is None or constant is None:
        return ""
    before = summary.overall.before
    was = ""
    if before is not None and unchanged_words(summary) is None:
        was = f", {before.accuracy.value:.3f} before the edit"
    # One that is hardly better than deciding alike about everybody has little left to decide with.
    little = f"; deciding the same about everybody would have {constant:.3f}" if accuracy < constant + LITTLE else ""
    n_rows, n_labelled = summary.rows.n, summary.rows.n_labelled
    of = "" if n_labelled == n_rows else f", of the {n_labelled:,} of them whose labels are told,"
    return f" Accuracy{of} is {accuracy:.3f}{was}{little}."


def _say_losers(summary: Measured) -> str:
    if summary.changed is None:
        return ""
    unchanged, nobody = unchanged_words(summary), nobody_changed(summary.changed, summary.rows)
    if nobody is not None:
        return f" {unchanged or nobody}"
    counts = zip(summary.groups, summary.changed.groups, strict=True)
    # Everybody has a value of each attribute.
    own = [changed for group, changed in counts if group.attribute == summary.groups[0].attribute]
    # Those who are not described, of whom it is not told, are not among these people.
    gained, lost = sum(changed.gained or 0 for changed in own), sum(changed.lost or 0 for changed in own)
    losers = f"{lost:,} lose" if lost > 1 else "1 loses" if lost else "nobody loses"
    return f" By the edit {gained:,} of these people gain a favourable decision and {losers} one."


def _on_choice(selection: ChosenStep | None, holds: bool) -> str:
    if selection is None:
        return ""
    if selection.met is None:
        return (
            f" A group has fewer than ten of the {selection.discrimination_rows} on which the step was chosen, and "
            "it is not told whether the bound was met there."
        )
    where, value = selection.discrimination_rows, selection.discrimination
    where = f"{selection.n_discrimination_rows:,} {where}"
    sure = selection.confidence
    if not selection.met:
        loss = name_loss(selection.objective)
        limit = "" if selection.alpha is None else f" with a {loss} of at most {selection.alpha:g}"
        certain = "" if sure is None else f" with {100 * sure:g}% confidence"
        why = "" if sure is None else "; why is not told, for it would describe fewer than ten people"
        if selection.shortfall is not None:
            why = f": {say_shortfall(selection)}"
        return (
            f" NOT MET: no step kept the bound{limit}{certain} on {where}; this is the nearest, {value:.3f} there{why}."
        )
    if sure is not None:
        kept = "the difference is at most the bound" + (
            " in the direction that there was" if selection.directed else ""
        )
        if selection.ratio is not None:
            kept = "the ratio is at least the bound"
            if selection.directed:
                kept = "the rate of the unprivileged group is at least the bound times that of the privileged one"
        it = "it" if selection.ratio is None else "the difference"
        return (
            f" The step was chosen on {where} so that, with {100 * sure:g}% confidence, {kept} for people drawn like "
            f"them; {it} was {value:.3f} there, at most {selection.upper:.3f}."
            + (f" That {RESTS_ON_WORD}." if selection.trained is None else "")
        )
    return "" if holds else f" It was met on {where} on which the step was chosen ({value:.3f} there)."
