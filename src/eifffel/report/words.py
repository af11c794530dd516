"""Numbers as a reader sees them and words beside them, the same in every form of a report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from eifffel.constraints import DEMOGRAPHIC_PARITY
from eifffel.report.facts import (
    Changed,
    ChangedGroup,
    ChangedLeaf,
    ChangedLeaves,
    ChosenStep,
    ComparedRates,
    Estimate,
    Group,
    MeasuredRows,
    Model,
    Rates,
    SummaryFacts,
    Tradeoff,
)
from eifffel.selection.bounds import BOTH
from eifffel.selection.judgement import say_limits
from eifffel.selection.objective import name_loss
from eifffel.selection.verdict import say_nobody_changed, say_unchanged

NOT_SHOWN = "n/a"


@dataclass(frozen=True)
class Shown:
    """An estimate as a reader sees it: the number, and what stands in brackets behind it; ``str`` has both."""

    number: str
    interval: tuple[str, str] | None = None

    def __str__(self) -> str:
        return self._join(" to ")

    @property
    def unbroken(self) -> str:
        """The same, with an interval that stays on one line."""
        return self._join("\u00a0to\u00a0")

    def _join(self, to: str) -> str:
        return self.number if self.interval is None else f"{self.number} ({to.join(self.interval)})"


def percent(estimate: Estimate | None) -> Shown:
    """An estimate in percent with its interval."""
    return _show(estimate, "{:.1f}", 100, "%")


def fraction(estimate: Estimate | None) -> Shown:
    """An estimate as it is, with its interval."""
    return _show(estimate, "{:.3f}")


def _show(estimate: Estimate | None, form: str, factor: int = 1, unit: str = "") -> Shown:
    if estimate is None or estimate.value is None:
        return Shown(NOT_SHOWN)
    number = form.format(factor * estimate.value) + unit
    if estimate.interval is None:
        return Shown(number)
    low, high = (form.format(factor * end) for end in estimate.interval)
    return Shown(number, (low, high))


def unbroken(cell: str | Shown) -> str:
    """The text of a cell, with an interval that stays on one line if it is one."""
    return cell.unbroken if isinstance(cell, Shown) else cell


class GroupRate(NamedTuple):
    """One of the `Rates` of a group: its name there, its heading, and what it means."""

    name: str
    heading: str
    meaning: str

    def show(self, rates: Rates) -> Shown:
        """That of a group."""
        estimate: Estimate = getattr(rates, self.name)
        return fraction(estimate) if self.name == "ratio_to_highest" else percent(estimate)


GROUP_RATES = (
    GroupRate("selection_rate", "favourable decisions", "share of the group that gets a favourable decision"),
    GroupRate("ratio_to_highest", "ratio to highest", "that share divided by the highest of all groups"),
    GroupRate(
        "true_positive_rate", "true positive rate", "of those with a favourable label, the share decided favourably"
    ),
    GroupRate("false_positive_rate", "false positive rate", "of those without it, the share decided favourably"),
    GroupRate("precision", "precision", "of those decided favourably, the share with a favourable label"),
)
SELECTION_RATE = GROUP_RATES[0]


GLOSSARY = (
    ("favourable decision", "the decision that is good for a person, by the label that is named above"),
    (
        "discrimination",
        "the share of favourable decisions in the privileged group minus that in the other; of several groups, or of "
        "another rate that is named, the largest difference between two, or between the privileged group, if one is "
        "named, and another; 0 is no difference",
    ),
    (
        "ratio",
        "of the groups' shares of favourable decisions, or of another rate that is named, the smallest divided by "
        "the largest; the four-fifths rule asks for 0.8",
    ),
    (
        "epsilon",
        "the bound: the largest discrimination that is asked for, in either direction unless the report says that it "
        "is bounded in one",
    ),
    ("alpha", "the largest loss of accuracy, or of another objective that is named, that is allowed, if any"),
    (
        "confidence",
        "the probability, over the draw of the selection rows, with which the bound holds for people drawn like them",
    ),
    (
        "leaf",
        "where a tree of the model ends: people who answer its questions alike are in one leaf, and it votes for them",
    ),
    ("changed leaf", "a leaf whose vote the edit turned around, or shifted"),
    ("step", "a point on the way from the original model, one or more leaves changed at each"),
    ("scoring rows", "the people by whom the order of the changes was found"),
    (
        "selection rows",
        "the people on whom the step was chosen; rule first: the first step that keeps the bounds there, or, with "
        "confidence, that is certified to",
    ),
    ("test rows", "the people that had no part in any of this, on whom the model is measured"),
    ("effect", "of a changed leaf: how many scoring rows it holds, times the change of their score by it"),
)


EDIT_WORDS = {
    "epsilon",
    "alpha",
    "confidence",
    "leaf",
    "changed leaf",
    "step",
    "scoring rows",
    "selection rows",
    "effect",
}


def glossary(summary: SummaryFacts) -> tuple[tuple[str, str], ...]:
    """The words that a report uses, those of edits only where there was one."""
    edited = summary.overall.before is not None
    return GLOSSARY if edited else tuple(entry for entry in GLOSSARY if entry[0] not in EDIT_WORDS)


def groups_heading(summary: SummaryFacts) -> str:
    """What the table of groups is called."""
    return "Before and after, group by group" if summary.overall.before is not None else "Group by group"


def shown_rates(labelled: bool, *, brief: bool = False) -> tuple[GroupRate, ...]:
    """Those of `GROUP_RATES` for rows with labels, or without; ``brief`` where there is little room."""
    return GROUP_RATES if labelled and not brief else GROUP_RATES[:2]


def rounded(value: float | None, digits: int = 3) -> str:
    """A number without an interval."""
    return NOT_SHOWN if value is None else f"{value:.{digits}f}"


def few(n: int | None) -> str:
    """A number of people; not shown where they are fewer than ten."""
    return "<10" if n is None else f"{n:,}"


def part(n: int | None, whole: int | None) -> str:
    """Some of a number of people, and how many percent they are; not shown of few."""
    return NOT_SHOWN if n is None or whole is None else f"{n:,} ({100 * n / (whole or 1):.1f}%)"


def group_rows(group: Group) -> str:
    """How many people a group has, if that is shown."""
    return few(group.rows) if group.few or group.rows is not None else NOT_SHOWN


def changed_cells(group: Group, counts: ChangedGroup) -> list[str]:
    """People of a group, and how many gain and lose a favourable decision."""
    changed = (counts.gained, counts.lost)
    return [group_rows(group), *(NOT_SHOWN if n is None else f"{n:,}" for n in changed)]


def unchanged_words(summary: SummaryFacts) -> str | None:
    """That the model is the original one, where it is."""
    return say_unchanged(summary.selection)


def nobody_changed(changed: Changed, rows: MeasuredRows) -> str | None:
    """That no decision changed, where none did of those that are shown."""
    anybody = any(counts.gained or counts.lost for counts in changed.groups)
    return None if anybody else say_nobody_changed(rows.name)


def count(n: int, noun: str) -> str:
    """A number of things."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def bound_words(constraint: ComparedRates, kind: str) -> str:
    """What the bounds of a trade-off mean."""
    parity = constraint.name == DEMOGRAPHIC_PARITY
    if kind == "ratio":
        what = "shares of favourable decisions" if parity else f"{constraint.rate}s"
        return f"The ratio is the least that you allow the smallest of the groups' {what} to be of the largest."
    what = "the groups' shares of favourable decisions" if parity else f"groups, of the {constraint.rate}"
    return f"Epsilon is the largest difference that you allow between {what}."


# Of more groups, a table of leaves has no column for each.
MOST_COLUMNS = 4


def leaf_headings(leaves: ChangedLeaves, groups: Sequence[Group]) -> list[str]:
    """What the columns of `leaf_cells` are called."""
    if any(leaf.all_rows is not None for leaf in leaves.shown):
        return ["rows", "effect"]
    return [heading for group in groups for heading in (f"rows, {group.name}", f"effect, {group.name}")]


def leaf_cells(leaf: ChangedLeaf) -> list[str]:
    """Rows in a leaf and its effect on them, for each group, or for all where they are many."""
    if leaf.all_rows is not None:
        return [f"{leaf.all_rows:,}", rounded(leaf.all_effect, 2)]
    by_group = zip(leaf.rows, leaf.effect, strict=True)
    return [cell for rows, effect in by_group for cell in (few(rows), rounded(effect, 2))]


def group_columns(groups: Sequence[Group]) -> list[int]:
    """The groups that have a column of their own in a table of steps: all, unless they are many."""
    return list(range(len(groups))) if len(groups) <= MOST_COLUMNS else []


def group_marks(group: Group) -> str:
    """What is to be said of a group beside its name."""
    return (" (small group)" if group.small else "") + ("" if group.bounded else " (not bounded)")


def compared_words(summary: SummaryFacts) -> str:
    """Which rates are compared, between whom."""
    constraint = summary.constraint
    privileged = [group.name for group in summary.groups if group.role == "privileged"]
    whom = f"{', '.join(privileged)} with every other group" if privileged else "every two groups"
    whom += " of each attribute by itself" if len({g.attribute for g in summary.groups}) > 1 else ""
    return f"{constraint.rate} ({constraint.name.replace('_', ' ')}), {whom}" + (
        f"; groups of fewer than {constraint.min_group_rows} rows are not bounded" if constraint.left_out else ""
    )


def decided_words(summary: SummaryFacts) -> str:
    """Who decided, and what was done to a model."""
    model = summary.model
    is_model = summary.sensitive_among_features is not None
    return f"{model.kind}; {strategy_words(model)}" if is_model else model.kind


def strategy_words(model: Model) -> str:
    """What was done to a model, in a few words."""
    strategy = model.strategy
    if strategy is None:
        return "not edited"
    words = {
        "leaf": "leaf flipping, one leaf at a time (EiFFFeL-LF)",
        "tree": "leaf flipping, tree by tree (EiFFFeL-TF)",
        "shift": "shifting all leaves together",
    }.get(strategy, f"the strategy {strategy!r}")
    return f"{words}, upwards only: no leaf becomes less favourable" if model.direction == "up" else words


def among_words(summary: SummaryFacts) -> str:
    """Whether the sensitive attribute is among the features, if there are any."""
    among = summary.sensitive_among_features
    if among is None:
        return "whether those who decided saw it is not known"
    return "among the features: the model can tell the groups apart by it" if among else "not among the features"


def asked_words(selection: ChosenStep, groups: Sequence[Group]) -> str:
    """What was asked for, and what was measured where the step was chosen."""
    loss = name_loss(selection.objective)
    alpha = f"no limit on the {loss}" if selection.alpha is None else f"alpha {selection.alpha:g} ({loss})"
    sure = "" if selection.confidence is None else f", confidence {selection.confidence:g}"
    sure += "" if selection.sides == BOTH else ", in one direction"
    n_rows, shown = selection.n_rows, [n for n in selection.n_rows if n is not None]
    least = min(shown) if len(shown) == len(n_rows) else None
    rows = f"{few(least)} to {few(max(shown, default=None))} in each of {len(n_rows)} groups"
    if len(n_rows) == len(groups) == 2:
        rows = " and ".join(f"{few(n)} {group.name}" for n, group in zip(n_rows, groups, strict=True))
    low, high = selection.interval or (None, None)
    level = 95 if selection.confidence is None else 100 * selection.confidence
    difference = str(fraction(Estimate(selection.discrimination, low, high)))
    limits = "" if selection.sides == BOTH and selection.ratio is None else say_limits(selection, digits=3)
    bound = f"epsilon {selection.epsilon:g}" if selection.ratio is None else f"ratio {selection.ratio:g}"
    if selection.ratio is not None:
        limits = f", and the ratio {rounded(selection.rate_ratio)}{limits}"
    asked = "" if selection.constraint == DEMOGRAPHIC_PARITY else f"{selection.constraint.replace('_', ' ')}, "
    between = (
        "" if selection.directed or not selection.pair else f" between {selection.pair[0]} and {selection.pair[1]}"
    )
    if selection.left_out:
        between += f" ({', '.join(selection.left_out)} not bounded)"
    lost = f"{loss} {rounded(selection.objective_drop)} on {selection.n_accuracy_rows:,} {selection.accuracy_rows}"
    if selection.met is None:
        difference, level_of, met = "not shown", "", "whether it is met is not shown"
    else:
        level_of, met = f", a {level:g}% interval", "met" if selection.met else "NOT MET"
    return (
        f"{asked}{bound}, {alpha}{sure}, rule {selection.rule}; {met} on {selection.n_discrimination_rows:,} "
        f"{selection.discrimination_rows} ({rows}) at step {selection.step:,}, where the difference{between} "
        f"is {difference}{level_of}{limits}; {lost}"
    )


def tradeoff_words(path: Tradeoff, rows: MeasuredRows) -> str:
    """By what the steps of a trade-off were chosen, and where they were measured."""
    sure = "" if path.confidence is None else f" with {100 * path.confidence:g}% confidence"
    sure += "" if path.sides == BOTH else " in one direction"
    limit = "" if path.alpha is None else f", {path.loss} at most {path.alpha:g}"
    return f"chosen{sure} on {path.chosen_on.n:,} {path.chosen_on.rows}{limit}, measured on {rows.n:,} {rows.name}"


# Bounds in the table of the trade-off, the loosest first.
BOUNDS_SHOWN = {"epsilon": (0.2, 0.15, 0.1, 0.05, 0.02, 0.01), "ratio": (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)}


def path_head(path: Tradeoff, groups: Sequence[Group]) -> list[str]:
    """What the columns of `path_rows` are called."""
    names = [groups[g].name for g in group_columns(groups)]
    measured = ["discrimination"] if path.kind == "epsilon" else ["ratio there", "discrimination"]
    return [path.kind, "changed leaves", *names, *measured, "accuracy", ""]


def path_rows(path: Tradeoff, groups: Sequence[Group]) -> list[list[str]]:
    """The trade-off for some bounds: the bound, changed leaves, what it comes to, and accuracy."""
    kind = path.kind
    wanted = {*BOUNDS_SHOWN[kind], path.bounds[path.chosen_bound].bound}
    bounds = [bound for bound in path.bounds if bound.bound in wanted]
    bounds = bounds[::-1] if kind == "epsilon" else bounds
    chosen = [("original", path.points[0], "")]
    chosen += [(f"{b.bound:.4g}", path.points[b.point], "" if b.met else "NOT MET") for b in bounds]
    return [
        [
            name,
            f"{point.changed_leaves:,}",
            *(percent(point.groups[g].selection_rate).number for g in group_columns(groups)),
            *([str(fraction(point.overall.ratio))] if kind == "ratio" else []),
            str(fraction(point.overall.discrimination)),
            str(fraction(point.overall.accuracy)),
            met,
        ]
        for name, point, met in chosen
    ]


ALWAYS = (
    "Every number is of the rows that it names. Other people differ from them, and intervals say by how much rates may "
    "differ for that reason alone; they know nothing of a population that changes."
)
EDIT_LIMITS = (
    "A smaller difference can be had by giving favourable decisions to some people and by taking them from others; "
    "the table of who changed has both.",
    "Probabilities of an edited model are no longer calibrated.",
)
NO_ADVICE = "This measures; it does not say that a law is complied with."

# What discrimination does not say, by what is compared.
UNSAID = {
    DEMOGRAPHIC_PARITY: "Discrimination is the difference between the groups' rates of favourable decisions "
    "(demographic parity). It does not say whether decisions are right, whether errors fall on all groups alike, or "
    "whether the labels were fair.",
    "equal_opportunity": "Discrimination is the difference between the groups' rates of favourable decisions among "
    "people with a favourable label (equal opportunity). It is silent on people without one, and on whether the labels "
    "were fair.",
    "predictive_equality": "Discrimination is the difference between the groups' rates of favourable decisions among "
    "people without a favourable label (predictive equality). It is silent on people with one, and on whether the "
    "labels were fair.",
    "equalized_odds": "Discrimination is the larger of two differences between groups: of the rates of favourable "
    "decisions among people with a favourable label, and among those without (equalized odds). It does not say whether "
    "the labels were fair, nor whether as many of each group are decided favourably.",
}


def list_limits(constraint: str, *, edited: bool) -> tuple[str, ...]:
    """What is to be said with any number, of a model that was edited or of other decisions."""
    return (ALWAYS, UNSAID[constraint], *(EDIT_LIMITS if edited else ()), NO_ADVICE)
