"""Warnings where a bound is not met, or where the chosen step is not what one would want, with what would help."""

import numpy as np

from eifffel.exceptions import (
    ConstraintNotMetWarning,
    FewRowsWarning,
    Message,
    RepeatedRowsWarning,
    SeenRowsWarning,
    parameter,
    warn_caller,
)
from eifffel.rows.groups import Groups
from eifffel.selection.counts import PathCounts
from eifffel.selection.judgement import say_limits, say_unclear
from eifffel.selection.objective import name_loss
from eifffel.selection.selection import MOST_SEEN, Selection
from eifffel.selection.shortfall import MORE_ROWS, say_shortfall

# Below so many rows of a group, the limits are rough.
FEW_ROWS = 30


def warn_unmet(selection: Selection, counts: PathCounts) -> None:
    """Warn that a bound is not met, with what was reached and what would help."""
    confidence = selection.confidence
    why = _why_not_met(selection, counts) if confidence is None else _why_uncertain(selection)
    if selection.favours_unclear:
        why = why + f". Moreover, {say_unclear(selection.original, edited=True)}"
    warn_caller(say_unmet(selection) + ": " + why, ConstraintNotMetWarning)


def say_unmet(selection: Selection) -> str:
    """Return that the bounds of a selection are not met, with no number about anybody."""
    return selection.bounds.words + " is not met"


def say_without_reason(selection: Selection) -> Message:
    """What would help where the reason that a bound is not met is not shown."""
    return (
        f"the reason is not shown, for it would describe fewer than ten people. Allow a {selection.bounds.looser}, "
        + MORE_ROWS
        + ", or leave groups of few rows out of the bound with a larger "
        + parameter("min_group_rows")
    )


def warn_of_few_rows(selection: Selection, counts: PathCounts, groups: Groups) -> None:
    """Warn where a certified step is one that nobody would want, or where certifying is a rough guess."""
    constraint = counts.constraint
    bounded, size = np.unique(constraint.pairs), constraint.count_sides(counts.totals)
    smallest = bounded[np.argmin(size[bounded])]
    name = f"group {constraint.names[smallest]!r}"
    if selection.overshoots:
        warn_caller(
            selection.bound + " is certified, but only by going past zero, and beyond it on that side: on "
            f"{selection.n_discrimination_rows:,} {selection.discrimination_rows} step {selection.step} has "
            f"discrimination {selection.discrimination:.4g} and favours group {groups.attributes[0].values[0]!r}. The "
            f"fewer rows, the further it must go: choose on more of them, of {name} above all ({size[smallest]:,}), or "
            f"allow a {selection.bounds.looser}",
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
    return (
        f"{'the loop ends at' if selection.rule == 'paper' else 'the nearest is'} step {selection.step} with "
        f"discrimination {selection.discrimination:.4g}{_between_whom(selection)}{ratio} on the "
        f"{selection.discrimination_rows} and a {name_loss(selection.objective)} of {selection.objective_drop:.4g} on "
        f"the {selection.accuracy_rows}. Allow a {selection.bounds.looser}"
        + ("" if selection.alpha is None else " or alpha" if selection.ratio is None else " or a larger alpha")
        + (
            f". On the {selection.discrimination_rows} the model favours the group that was taken as unprivileged; "
            "trace it with " + parameter("privileged=") + " the other one"
            if selection.epsilon is not None and counts.discrimination[0] < -selection.epsilon and selection.directed
            else ""
        )
        + _blame_few_rows(selection, counts)
    )


def _blame_few_rows(selection: Selection, counts: PathCounts) -> str:
    """Return a sentence where a group has so few rows that chance makes its rate differ by more than the bound."""
    if selection.directed or selection.epsilon is None:
        return ""
    pair = np.array([counts.worst.high[selection.step], counts.worst.low[selection.step]])
    size = counts.constraint.count_sides(counts.totals)[pair]
    rate = counts.constraint.count_sides(counts.favorable[selection.step])[pair] / size
    error = 2 * np.sqrt(rate * (1 - rate) / size)
    k = int(np.argmax(error))
    if error[k] <= selection.epsilon or not counts.constraint.optional[pair[k]]:
        return ""
    return (
        f". {selection.pair[k]} has {int(size[k]):,} of these rows, so few that its rate differs by {error[k]:.2g} by "
        "chance alone; a larger " + parameter("min_group_rows") + " leaves it out of the bound"
    )


def _between_whom(selection: Selection) -> str:
    """Return between whom the discrimination is, where that is not obvious."""
    return "" if selection.directed else f" between {selection.pair[0]} and {selection.pair[1]}"


def _why_uncertain(selection: Selection) -> str:
    lower, upper, epsilon = selection.lower, selection.upper, selection.epsilon
    has = f"discrimination {selection.discrimination:.4g}{_between_whom(selection)}"
    if selection.ratio is not None:
        has += f" and a ratio of {selection.rate_ratio:.4g}"
    given = (
        f". The step given, {selection.step}, has {has}{say_limits(selection, digits=4)} with that confidence by "
        f"itself, on {selection.n_discrimination_rows:,} {selection.discrimination_rows}"
    )
    if epsilon is not None and upper is not None and upper <= epsilon and (lower is None or lower >= -epsilon):
        given += ": within the bound, but no test of the walk that certifies steps came to it"
    return say_shortfall(selection) + given


def warn_of_known_rows(selection: Selection) -> None:
    """Warn of rows to choose on that the model knows, or that are there many times over."""
    rows, share = selection.discrimination_rows, selection.overlap
    hold_out = (
        "Choose on rows held out: select_on=(X, y, sensitive_features) in trace_path, select_on='validation' in "
        "EiFFFeLClassifier"
    )
    if selection.trained:
        warn_caller(
            f"the step is chosen on the {rows}, and the model was trained on them or on some of them, as the numbers "
            f"of rows in its leaves show: the bound kept there says little of other people. {hold_out}",
            SeenRowsWarning,
        )
    elif share >= MOST_SEEN:
        warn_caller(
            f"the step is chosen on the {rows}, by which leaves were scored and on which, as a rule, the model was "
            "trained: it knows them, so that the bound kept there says little of other people. "
            f"{hold_out}; or ask for the paper's own rule='paper'",
            SeenRowsWarning,
        )
    elif share > 0:
        warn_caller(
            f"about {share:.2g} of the {rows} are rows by which leaves were scored, more than repetition within the "
            "tables explains: the model knows them, so that the bound kept there says less of other people. Leave them "
            "out of one of the two",
            SeenRowsWarning,
        )
    if selection.repeats > 1:
        warn_caller(
            f"the {rows} are repeated: by themselves, or with those that scored leaves, all are there "
            f"{selection.repeats} times or a multiple of it. Each is counted as another person, so that intervals are "
            "too narrow and confidence is too high. Give each person once",
            RepeatedRowsWarning,
        )
