"""Numbers as a reader sees them, the same in every form of a report."""

from collections.abc import Callable
from typing import Any

from eifffel.objective import name_loss

NOT_TOLD = "n/a"

# Key, heading, and what it means.
GROUP_RATES = (
    ("selection_rate", "favourable decisions", "share of the group that gets a favourable decision"),
    ("ratio_to_highest", "ratio to highest", "that share divided by the highest of all groups"),
    ("true_positive_rate", "true positive rate", "of those with a favourable label, the share decided favourably"),
    ("false_positive_rate", "false positive rate", "of those without it, the share decided favourably"),
    ("precision", "precision", "of those decided favourably, the share with a favourable label"),
)


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
        "the bound: the largest discrimination, in either direction, that is asked for; with confidence, the largest "
        "in favour of the privileged group",
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
    ("step", "a point on the way from the model as it came, one or more leaves changed at each"),
    ("scoring rows", "the people by whom the order of the changes was found"),
    (
        "selection rows",
        "the people on whom the step was chosen; rule first: the first step that keeps the bounds there, or, with "
        "confidence, that is certified to",
    ),
    ("test rows", "the people that had no part in any of this, on whom the model is measured"),
    ("effect", "of a changed leaf: how many scoring rows it holds, times the change of their score by it"),
)


OF_EDITS = {
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


def glossary(summary: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The words that a report uses, those of edits only where there was one."""
    edited = summary["overall"]["before"] is not None
    return GLOSSARY if edited else tuple(entry for entry in GLOSSARY if entry[0] not in OF_EDITS)


def groups_heading(summary: dict[str, Any]) -> str:
    """What the table of groups is called."""
    return "Before and after, group by group" if summary["overall"]["before"] is not None else "Group by group"


def shown_rates(labelled: bool, *, brief: bool = False) -> tuple[tuple[str, str, str], ...]:
    """Those of `GROUP_RATES` that can be told of rows with labels, or without; ``brief`` where there is little room."""
    return GROUP_RATES if labelled and not brief else GROUP_RATES[:2]


def percent(value: dict[str, Any] | None) -> str:
    """An estimate in percent with its interval."""
    return _with_interval(value, lambda number: f"{100 * number:.1f}", "%")


def fraction(value: dict[str, Any] | None) -> str:
    """An estimate as it is, with its interval."""
    return _with_interval(value, lambda number: f"{number:.3f}", "")


def _with_interval(value: dict[str, Any] | None, show: Callable[[float], str], unit: str) -> str:
    if value is None or value["value"] is None:
        return NOT_TOLD
    shown = f"{show(value['value'])}{unit}"
    if value["low"] is None or value["high"] is None:
        return shown
    return f"{shown} ({show(value['low'])} to {show(value['high'])})"


def unbroken(text: str) -> str:
    """A text whose interval stays on one line."""
    return text.replace(" to ", "\u00a0to\u00a0")


def show_rate(key: str, value: dict[str, Any] | None) -> str:
    """One of `GROUP_RATES`."""
    return fraction(value) if key == "ratio_to_highest" else percent(value)


def plain(value: float | None, digits: int = 3) -> str:
    """A number without an interval."""
    return NOT_TOLD if value is None else f"{value:.{digits}f}"


def share(value: float | None) -> str:
    """A share of people in percent; not told of fewer than ten."""
    return "a share not told, for they are fewer than ten," if value is None else f"{value:.1%}"


def few(n: int | None) -> str:
    """A number of people; not told where they are fewer than ten."""
    return "<10" if n is None else f"{n:,}"


def part(n: int | None, whole: int | None) -> str:
    """Some of a number of people, and how many percent they are; not told of few."""
    return NOT_TOLD if n is None or whole is None else f"{n:,} ({100 * n / (whole or 1):.1f}%)"


def group_rows(group: dict[str, Any]) -> str:
    """How many people a group has, if that is told."""
    return few(group["rows"]) if group["few"] or group["rows"] is not None else NOT_TOLD


def changed_cells(group: dict[str, Any], counts: dict[str, Any]) -> list[str]:
    """People of a group, and how many gain and lose a favourable decision."""
    changed = (counts["gained"], counts["lost"])
    return [group_rows(group), *(NOT_TOLD if n is None else f"{n:,}" for n in changed)]


def unchanged_words(summary: dict[str, Any]) -> str | None:
    """That the model is the one that came, where it is; by no bound that is not told to be met."""
    selection = summary["selection"]
    if selection is None or selection["step"] > 0:
        return None
    where = f"On the {selection['discrimination_rows']} the model was already within the bound"
    return f"{where}; nothing was changed." if selection["met"] else "Nothing was changed."


def nobody_changed(summary: dict[str, Any]) -> str | None:
    """That no decision changed, where none did of those that are told."""
    told = [counts for counts in summary["changed"]["groups"] if counts["gained"] is not None]
    if any(counts["gained"] or counts["lost"] for counts in told):
        return None
    return f"No decision about these {summary['rows']['name']} changed."


def count(n: int, noun: str) -> str:
    """A number of things."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def bound_words(summary: dict[str, Any]) -> str:
    """What the bounds of a trade-off mean."""
    parity = summary["constraint"]["name"] == "demographic_parity"
    if summary["path"]["kind"] == "ratio":
        what = "shares of favourable decisions" if parity else f"{summary['constraint']['rate']}s"
        return f"The ratio is the least that you allow the smallest of the groups' {what} to be of the largest."
    what = "the groups' shares of favourable decisions" if parity else f"groups, of the {summary['constraint']['rate']}"
    return f"Epsilon is the largest difference that you allow between {what}."


# Of more groups, a table of leaves has no column for each.
MOST_COLUMNS = 4


def leaf_headings(summary: dict[str, Any]) -> list[str]:
    """What the columns of `leaf_cells` are called."""
    if any(leaf["all_rows"] is not None for leaf in summary["leaves"]["shown"]):
        return ["rows", "effect"]
    return [
        heading for group in summary["groups"] for heading in (f"rows, {group['name']}", f"effect, {group['name']}")
    ]


def leaf_cells(leaf: dict[str, Any]) -> list[str]:
    """Rows in a leaf and its effect on them, for each group, or for all where they are many."""
    if leaf["all_rows"] is not None:
        return [f"{leaf['all_rows']:,}", plain(leaf["all_effect"], 2)]
    by_group = zip(leaf["rows"], leaf["effect"], strict=True)
    return [cell for rows, effect in by_group for cell in (few(rows), plain(effect, 2))]


def group_columns(summary: dict[str, Any]) -> list[int]:
    """The groups that have a column of their own in a table of steps: all, unless they are many."""
    return list(range(len(summary["groups"]))) if len(summary["groups"]) <= MOST_COLUMNS else []


def group_marks(group: dict[str, Any]) -> str:
    """What is to be said of a group beside its name."""
    return (" (small group)" if group["small"] else "") + ("" if group["bounded"] else " (not bounded)")


def compared_words(summary: dict[str, Any]) -> str:
    """Which rates are compared, between whom."""
    constraint = summary["constraint"]
    privileged = [group["name"] for group in summary["groups"] if group["role"] == "privileged"]
    whom = f"{', '.join(privileged)} with every other group" if privileged else "every two groups"
    whom += " of each attribute by itself" if len({g["attribute"] for g in summary["groups"]}) > 1 else ""
    return f"{constraint['rate']} ({constraint['name'].replace('_', ' ')}), {whom}" + (
        f"; groups of fewer than {constraint['min_group_rows']} rows are not bounded" if constraint["left_out"] else ""
    )


def decided_words(summary: dict[str, Any]) -> str:
    """Who decided, and what was done to a model."""
    model = summary["model"]
    is_model = summary["sensitive_among_features"] is not None
    return f"{model['kind']}; {strategy_words(model)}" if is_model else str(model["kind"])


def strategy_words(model: dict[str, Any]) -> str:
    """What was done to a model, in a few words."""
    strategy = model["strategy"]
    if strategy is None:
        return "not edited"
    words = {
        "leaf": "leaf flipping, one leaf at a time (EiFFFeL-LF)",
        "tree": "leaf flipping, tree by tree (EiFFFeL-TF)",
        "shift": "shifting all leaves along one direction",
    }.get(strategy, f"the strategy {strategy!r}")
    return f"{words}, upwards only: no leaf becomes less favourable" if model["direction"] == "up" else words


def among_words(summary: dict[str, Any]) -> str:
    """Whether the sensitive attribute is among the features, if there are any."""
    among = summary["sensitive_among_features"]
    if among is None:
        return "whether those who decided saw it is not known"
    return "among the features: the model can tell the groups apart by it" if among else "not among the features"


def asked_words(summary: dict[str, Any]) -> str:
    """What was asked for, and what was measured where the step was chosen."""
    selection = summary["selection"]
    loss = name_loss(selection["objective"])
    alpha = f"no limit on the {loss}" if selection["alpha"] is None else f"alpha {selection['alpha']:g} ({loss})"
    sure = "" if selection["confidence"] is None else f", confidence {selection['confidence']:g}"
    n_rows = selection["n_rows"]
    most = max((n for n in n_rows if n is not None), default=None)
    rows = f"{few(None if None in n_rows else min(n_rows))} to {few(most)} in each of {len(n_rows)} groups"
    if len(n_rows) == len(summary["groups"]) == 2:
        rows = " and ".join(f"{few(n)} {group['name']}" for n, group in zip(n_rows, summary["groups"], strict=True))
    low, high = selection["interval"] or (None, None)
    level = 95 if selection["confidence"] is None else 100 * selection["confidence"]
    difference = fraction({"value": selection["discrimination"], "low": low, "high": high})
    upper = "" if selection["upper"] is None else f", one-sided at most {selection['upper']:.3f}"
    bound = f"epsilon {selection['epsilon']:g}" if selection["ratio"] is None else f"ratio {selection['ratio']:g}"
    if selection["ratio"] is not None:
        upper += f", and the ratio {plain(selection['rate_ratio'])}"
    asked = "" if selection["constraint"] == "demographic_parity" else f"{selection['constraint'].replace('_', ' ')}, "
    between = (
        ""
        if selection["directed"] or not selection["pair"]
        else f" between {selection['pair'][0]} and {selection['pair'][1]}"
    )
    if selection["left_out"]:
        between += f" ({', '.join(selection['left_out'])} not bounded)"
    lost = (
        f"{loss} {plain(selection['objective_drop'])} on {selection['n_accuracy_rows']:,} {selection['accuracy_rows']}"
    )
    if selection["met"] is None:
        difference, level_of, met = "not told", "", "whether it is met is not told"
    else:
        level_of, met = f", a {level:g}% interval", "met" if selection["met"] else "NOT MET"
    return (
        f"{asked}{bound}, {alpha}{sure}, rule {selection['rule']}; {met} on {selection['n_discrimination_rows']:,} "
        f"{selection['discrimination_rows']} ({rows}) at step {selection['step']:,}, where the difference{between} "
        f"is {difference}{level_of}{upper}; {lost}"
    )


def tradeoff_words(summary: dict[str, Any]) -> str:
    """By what the steps of a trade-off were chosen, and where they were measured."""
    path = summary["path"]
    sure = "" if path["confidence"] is None else f" with {100 * path['confidence']:g}% confidence"
    limit = "" if path["alpha"] is None else f", {path['loss']} at most {path['alpha']:g}"
    return (
        f"chosen{sure} on {path['chosen_on']['n']:,} {path['chosen_on']['rows']}{limit}, measured on "
        f"{summary['rows']['n']:,} {summary['rows']['name']}"
    )


def how_many(n: int | None) -> str:
    """A number of people or rows; ``None`` stands for fewer than ten."""
    return "fewer than ten" if n is None else f"{n:,}"
