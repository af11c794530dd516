"""The verdict on a bound, of a path and of a report: every sentence of it is written here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from eifffel._utils.validation import check_step
from eifffel.constraints import DEMOGRAPHIC_PARITY
from eifffel.intervals import CONFIDENCE
from eifffel.rows.groups import Groups
from eifffel.selection.bounds import BOTH
from eifffel.selection.counts import PathCounts
from eifffel.selection.judgement import (
    OUTSIDE,
    OVERSHOOTS,
    WITHIN,
    Limited,
    is_unclear,
    judge,
    judge_ratio,
    say_limits,
    say_unclear,
)
from eifffel.selection.objective import name_loss
from eifffel.selection.raised_errors import RaisedError, say_raised_errors
from eifffel.selection.selection import RESTS_ON_WORD, Selection
from eifffel.selection.shortfall import OF_ONE_STEP, Chosen, say_shortfall

# What the verdict of a report can be beside a judgement: no step kept the bound where the step was chosen; nothing is
# left to compare; there is no bound.
NOT_MET, UNJUDGED, MEASURED = "not_met", "unjudged", "measured"
UNMET = "The bound is not met"
# What stands before the heading of a report.
MARKS = {WITHIN: "✓ ", OUTSIDE: "✗ ", OVERSHOOTS: "! ", NOT_MET: "✗ ", UNJUDGED: "! ", MEASURED: ""}

# Said of rows that a path was scored by.
SEEN = "Leaves were scored by these rows, or by some of them, so that they say little of other people."
# Said of rows that a step was chosen on.
CHOSE = "The step was chosen on these rows, or on some of them, so that the bound kept there says little of others."

# Said where the reason that a bound is not met is not.
REASON_NOT_SHOWN = (
    "; the reason is not shown, for it would describe fewer than ten people. Give more rows to choose on, or leave "
    "groups of few rows out of the bound"
)

# By how much accuracy must exceed that of one decision for all.
LITTLE = 0.03


@dataclass(frozen=True)
class Verdict:
    """Whether the bound that chose a step holds on other rows. ``print`` says it in words.

    Attributes
    ----------
    kind : {"within", "outside", "overshoots", "not_met"}
        Where the discrimination is. With ``sides="upper"`` a step overshoots if it keeps the bound, and favours the
        other group beyond it. ``"not_met"`` is wherever it is, of a step that did not meet the bound where it was
        chosen.
    holds : bool
        Whether the discrimination measured is within the bound, in the directions that were asked for.
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
    raised_errors : tuple of RaisedError
        Of error rates that are bounded, about whom the step errs more often than the original model on these rows, and
        no less about others of whom that erred more.
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
    raised_errors: tuple[RaisedError, ...]
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
    signed = selection.sides != BOTH
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
    by_attribute = [
        (name, float(part.worst(counts.favorable[step], counts.totals).value))
        for name, part in counts.constraint.by_attribute(groups)
    ]
    sentences = [
        f"On {counts.n_rows.sum():,} {counts.rows}, {_say_groups(groups, n_rows)}, the discrimination of step {step}"
        f"{between} is {value:.4f}{shown}{of_rates}, {judged.clause}.{_say_attributes(by_attribute, digits=4)}"
    ]
    if counts.constraint.left_out:
        sentences.append(f"Too few rows to be bounded have {', '.join(counts.constraint.left_out)}.")
    original = counts.interval(0, selection.confidence)
    if counts.constraint.directed and is_unclear(original):
        sentences.append(f"{start_sentence(say_unclear(original, edited=True))}.")
    raised = counts.raised_errors(step)
    if raised:
        sentences.append(f"{start_sentence(say_raised_errors(raised))}.")
    if accuracy is not None:
        sentences.append(f"Accuracy is {accuracy:.4f}.")
    return Verdict(
        kind=judged.kind if selection.met else NOT_MET,
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
        raised_errors=raised,
        heading=judged.heading if selection.met else UNMET,
        sentence=" ".join([*sentences, _say_choice(selection)]) + _say_known(seen=seen, chose=chose),
    )


def _say_groups(groups: Groups, n_rows: tuple[int, ...]) -> str:
    """How many rows each group has."""
    if len(n_rows) == 2:
        first, second = groups.attributes[0].values
        return f"{n_rows[0]:,} of group {first!r} and {n_rows[1]:,} of group {second!r}"
    return f"from {min(n_rows):,} to {max(n_rows):,} in each of {len(n_rows)} groups"


def _say_attributes(by_attribute: Sequence[tuple[str, float | None]], *, digits: int) -> str:
    """The largest difference by each attribute, where several are bounded."""
    if len(by_attribute) < 2:
        return ""
    largest = [f"{name} {value:.{digits}f}" for name, value in by_attribute]
    return f" By attribute, the largest are {', '.join(largest)}."


def _say_known(*, seen: bool, chose: bool) -> str:
    """What it means that leaves were scored by the rows, or that the step was chosen on them."""
    return f" {SEEN}" if seen else f" {CHOSE}" if chose else ""


def _say_choice(selection: Selection) -> str:
    """What was measured when the step was chosen, and where."""
    sure = "" if selection.confidence is None else f" with {100 * selection.confidence:.4g}% confidence"
    found = f"discrimination {selection.discrimination:.4f}"
    if selection.ratio is not None:
        found += f", a ratio of {selection.rate_ratio:.4f}"
    found += f"{say_limits(selection, digits=4)}," if selection.confidence is not None else ""
    same = selection.accuracy_rows == selection.discrimination_rows
    where = f"on {selection.n_discrimination_rows:,} {selection.discrimination_rows}"
    how = f"The step was chosen{sure} {where}, with"
    if not selection.met:
        how = f"NOT MET: no step kept the bound{sure} {where}; this is the nearest, with"
    return (
        f"{how} {found} and accuracy {selection.accuracy:.4f} "
        f"{'there' if same else f'on the {selection.accuracy_rows}'}."
    )


def start_sentence(words: str) -> str:
    """Words that begin a sentence."""
    return words[:1].upper() + words[1:]


class PublicChoice(Chosen, Limited, Protocol):
    """What may be shown of a step that was chosen; ``met`` and numbers are ``None`` where they are not shown."""

    @property
    def step(self) -> int: ...
    @property
    def met(self) -> bool | None: ...
    @property
    def constraint(self) -> str: ...
    @property
    def epsilon(self) -> float | None: ...
    @property
    def alpha(self) -> float | None: ...
    @property
    def confidence(self) -> float | None: ...
    @property
    def discrimination(self) -> float | None: ...
    @property
    def rate_ratio(self) -> float | None: ...
    @property
    def sides(self) -> str: ...
    @property
    def discrimination_rows(self) -> str: ...
    @property
    def n_discrimination_rows(self) -> int: ...
    @property
    def trained(self) -> bool | None: ...


class GroupFacts(NamedTuple):
    """What a public verdict says of a group; ``few`` is whether it has fewer than ten people."""

    name: str
    attribute: str
    selection_rate: float | None
    few: bool
    bounded: bool


class ChangedPeople(NamedTuple):
    """Whether the edit changed a decision about anybody, and how many people gain and lose a favourable one."""

    anybody: bool
    gained: int
    lost: int


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """What a public verdict is written from: facts about ten people or more; ``None`` where one is not shown.

    Attributes
    ----------
    rows, n_rows, n_labelled : str and ints
        What the rows are called, how many there are, and how many with labels that are shown.
    without_group : int or None
        How many rows have no group; ``None`` stands for fewer than ten.
    seen, chose : bool
        Whether leaves were scored by them, or the step was chosen on them.
    favorable, sensitive : str
        What the favourable decision and the sensitive attribute are called.
    constraint, rate, directed, min_group_rows, left_out
        What is compared, as the constraint has it.
    groups : tuple of GroupFacts
    discrimination, interval, between, rates, by_attribute
        The largest difference: its value, between whom it is, their rates, and the largest by each attribute.
    original : tuple of two floats, or None
        The interval of the original model's.
    ratio, ratio_interval, ratio_between
        The smallest ratio of two rates: its value, and between whom it is.
    accuracy, accuracy_before, constant_accuracy : float or None
        Now, before the edit, and of the same decision about everybody.
    raised_errors : tuple of RaisedError
        About whom decisions err more often than before the edit, and no less about others.
    changed : ChangedPeople or None
        ``None`` where there was no edit.
    choice : PublicChoice or None
        The step that was chosen, if one was.
    """

    rows: str
    n_rows: int
    n_labelled: int
    without_group: int | None
    seen: bool
    chose: bool
    favorable: str
    sensitive: str
    constraint: str
    rate: str
    directed: bool
    min_group_rows: int
    left_out: tuple[str, ...]
    groups: tuple[GroupFacts, ...]
    discrimination: float | None
    interval: tuple[float, float] | None
    original: tuple[float, float] | None
    between: tuple[str, ...]
    rates: tuple[float | None, ...]
    by_attribute: tuple[tuple[str, float | None], ...]
    ratio: float | None
    ratio_interval: tuple[float, float] | None
    ratio_between: tuple[str, ...]
    accuracy: float | None
    accuracy_before: float | None
    constant_accuracy: float | None
    raised_errors: tuple[RaisedError, ...]
    changed: ChangedPeople | None
    choice: PublicChoice | None


@dataclass(frozen=True)
class PublicVerdict:
    """Whether a bound holds on rows of which only public facts are known, and both in words.

    ``kind`` is as in `Verdict`; or ``"not_met"`` where the step was chosen, ``"unjudged"`` where nothing is left to
    compare, and ``"measured"`` where there is no bound. ``holds`` is of the rows measured, ``chosen`` of those that the
    step was chosen on; ``certain`` is whether the whole interval is within the bound, or all of it outside.
    """

    kind: str
    epsilon: float | None
    ratio: float | None
    holds: bool | None
    chosen: bool | None
    certain: bool | None
    heading: str
    sentence: str


def say_public_verdict(facts: PublicFacts, epsilon: float | None, ratio: float | None) -> PublicVerdict:
    """Judge a bound on the difference or on the ratio, by default the one that chose the step, by public facts."""
    value, choice = facts.discrimination, facts.choice
    if choice is not None and (
        choice.constraint != facts.constraint
        or epsilon not in (None, choice.epsilon)
        or ratio not in (None, choice.ratio)
    ):
        choice = None  # judged by another bound than chose it
    if epsilon is None and ratio is None and choice is not None:
        epsilon, ratio = choice.epsilon, choice.ratio
    found = f"On {facts.n_rows:,} {facts.rows}, {_say_rates(facts)}"
    if value is not None:
        over = "" if facts.directed else ", over all that are compared,"
        low, high = facts.interval or (np.nan, np.nan)
        found += f": a difference of {value:.3f} (95% interval{over} {low:.3f} to {high:.3f})"
    unclear = facts.directed and is_unclear(facts.original)
    rest = "".join(
        [
            f" {start_sentence(say_unclear(facts.original, edited=facts.changed is not None))}." if unclear else "",
            f" {start_sentence(say_raised_errors(facts.raised_errors))}." if facts.raised_errors else "",
            _say_accuracy(facts),
            _say_known(seen=facts.seen, chose=facts.chose),
            _say_attributes(facts.by_attribute, digits=3),
            _say_left_out(facts),
            _say_changed(facts),
        ]
    )
    if epsilon is None and ratio is None:
        return PublicVerdict(MEASURED, None, None, None, None, None, "Measured", f"{found}.{rest}")
    chosen = None if choice is None else choice.met
    if value is None:
        kind, holds, certain, heading = UNJUDGED, None, None, "The bound cannot be judged on these rows"
        bound = f"the bound of {epsilon:g}" if epsilon is not None else f"the bound of {ratio:g} on the ratio"
        sentence = (
            f"{found}. Nothing is left to compare, so that {bound} can be said neither to hold nor to be broken here."
            f"{_say_public_choice(choice, holds=True)}{rest}"
        )
    else:
        signed = choice is not None and choice.sides != BOTH
        if epsilon is not None:
            judged = judge(value, facts.interval, epsilon, signed=signed)
        else:
            assert ratio is not None
            smallest = np.nan if facts.ratio is None else facts.ratio
            judged = judge_ratio(smallest, facts.ratio_interval, ratio, turned=signed and value < 0)
            found += f"; the smallest ratio of two rates is {_say_ratio(facts)}"
        kind, holds, certain, heading = judged.kind, judged.holds, judged.certain, judged.heading
        sentence = f"{found}, {judged.clause}.{_say_public_choice(choice, holds=judged.holds)}{rest}"
    if chosen is False:
        kind, heading = NOT_MET, UNMET
    return PublicVerdict(kind, epsilon, ratio, holds, chosen, certain, f"{MARKS[kind]}{heading}", sentence)


def say_unchanged(choice: PublicChoice | None) -> str | None:
    """That the model is the original one, where it is; by no bound of which it is not shown that it is met."""
    if choice is None or choice.step > 0:
        return None
    where = f"On the {choice.discrimination_rows} the model was already within the bound"
    return f"{where}; nothing was changed." if choice.met else "Nothing was changed."


def say_nobody_changed(rows: str) -> str:
    """That the edit changed no decision about these rows."""
    return f"No decision about these {rows} changed."


def how_many(n: int | None) -> str:
    """A number of people or rows; ``None`` stands for fewer than ten."""
    return "fewer than ten" if n is None else f"{n:,}"


def _say_rates(facts: PublicFacts) -> str:
    """Who gets how much of what is compared."""
    if facts.constraint == DEMOGRAPHIC_PARITY and len(facts.groups) == 2:
        shares = [
            f"{_say_share(group.selection_rate)} of those whose {facts.sensitive} is {group.name}"
            for group in facts.groups
        ]
        return f"the favourable decision, {facts.favorable}, goes to {' and to '.join(shares)}"
    if not facts.between:
        return f"fewer than two groups by {facts.sensitive} can be compared"
    high, low = (f"{name} ({_say_share(rate)})" for name, rate in zip(facts.between, facts.rates, strict=True))
    return (
        f"of the groups by {facts.sensitive} that are bounded, the {facts.rate} differs most between {high} and {low}"
    )


def _say_share(value: float | None) -> str:
    return "a share not shown, for they are fewer than ten," if value is None else f"{value:.1%}"


def _say_ratio(facts: PublicFacts) -> str:
    """The smallest ratio, its interval, and between whom it is."""
    value = "n/a" if facts.ratio is None else f"{facts.ratio:.3f}"
    if facts.ratio is not None and facts.ratio_interval is not None:
        value += " ({:.3f} to {:.3f})".format(*facts.ratio_interval)
    return f"{value}, {' over '.join(facts.ratio_between[::-1])}"


def _say_accuracy(facts: PublicFacts) -> str:
    accuracy, constant = facts.accuracy, facts.constant_accuracy
    if accuracy is None or constant is None:
        return ""
    was = ""
    if facts.accuracy_before is not None and say_unchanged(facts.choice) is None:
        was = f", {facts.accuracy_before:.3f} before the edit"
    # One that is hardly better than deciding alike about everybody has little left to decide with.
    little = f"; deciding the same about everybody would have {constant:.3f}" if accuracy < constant + LITTLE else ""
    n_labelled = facts.n_labelled
    of = "" if n_labelled == facts.n_rows else f", of the {n_labelled:,} of them whose labels are shown,"
    return f" Accuracy{of} is {accuracy:.3f}{was}{little}."


def _say_left_out(facts: PublicFacts) -> str:
    """Who is not bounded."""
    said = ""
    few = [group.name for group in facts.groups if group.few]
    if few:
        said += (
            f" Nothing is shown or judged of {'; '.join(few)}: fewer than ten people{' each' * (len(few) > 1)}, who "
            "are in no number here."
        )
    if facts.left_out:
        said += f" Not bounded, for want of {facts.min_group_rows} rows: {'; '.join(facts.left_out)}."
    for name in dict.fromkeys(group.attribute for group in facts.groups):
        if sum(group.bounded for group in facts.groups if group.attribute == name) < 2 and name:
            said += f" So {name} is not bounded at all."
    if facts.without_group != 0:
        said += f" {how_many(facts.without_group).capitalize()} rows without a group are left out."
    return said


def _say_changed(facts: PublicFacts) -> str:
    """How many people gain and lose a favourable decision by the edit."""
    if facts.changed is None:
        return ""
    anybody, gained, lost = facts.changed
    if not anybody:
        return f" {say_unchanged(facts.choice) or say_nobody_changed(facts.rows)}"
    losers = f"{lost:,} lose" if lost > 1 else "1 loses" if lost else "nobody loses"
    return f" By the edit {gained:,} of these people gain a favourable decision and {losers} one."


def _say_public_choice(choice: PublicChoice | None, *, holds: bool) -> str:
    """Whether the bound was met where the step was chosen, as far as that is shown."""
    if choice is None:
        return ""
    if choice.met is None:
        return (
            f" A group has fewer than ten of the {choice.discrimination_rows} on which the step was chosen, and "
            "it is not shown whether the bound was met there."
        )
    where = f"{choice.n_discrimination_rows:,} {choice.discrimination_rows}"
    value = "not known" if choice.discrimination is None else f"{choice.discrimination:.3f}"
    if choice.ratio is not None:
        value = "not known" if choice.rate_ratio is None else f"{choice.rate_ratio:.3f}"
    sure = choice.confidence
    if not choice.met:
        loss = name_loss(choice.objective)
        limit = "" if choice.alpha is None else f" with a {loss} of at most {choice.alpha:g}"
        certain = "" if sure is None else f" with {100 * sure:g}% confidence"
        unmet = f" NOT MET: no step kept the bound{limit}{certain} on {where}"
        short = choice.shortfall
        if short is not None and short.kind in OF_ONE_STEP:  # which is the step chosen
            return f"{unmet}: {say_shortfall(choice, name_options=False)}."
        why = "" if sure is None else REASON_NOT_SHOWN
        if short is not None:
            why = f": {say_shortfall(choice, name_options=False)}"
        what = "with a difference of" if choice.ratio is None else "with a ratio of"
        return f"{unmet}; this is the nearest, {what} {value} there{why}."
    if sure is not None:
        one_way = choice.sides != BOTH
        kept = "no difference is larger than the bound"
        if choice.directed:
            direction = "in the direction asked for" if one_way else "in either direction"
            kept = f"the difference is at most the bound, {direction},"
        if choice.ratio is not None:
            kept = "the ratio is at least the bound"
            if one_way:
                kept = "the rate of the unprivileged group is at least the bound times that of the privileged one"
        it = "it" if choice.directed else "the largest difference" if choice.ratio is None else "the smallest ratio"
        return (
            f" The step was chosen on {where} so that, with {100 * sure:g}% confidence, {kept} for people drawn like "
            f"them; {it} was {value} there{say_limits(choice, digits=3)}."
            + (f" That {RESTS_ON_WORD}." if choice.trained is None else "")
        )
    return "" if holds else f" It was met on {where} on which the step was chosen ({value} there)."
