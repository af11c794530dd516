"""Raised errors: where a bound on error rates is kept by erring more about a group, and no less about the other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eifffel.constraints import Constraint


@dataclass(frozen=True)
class RaisedError:
    """A group about which a step errs more often than the original model, to nobody's good.

    Attributes
    ----------
    group : str
        People of one group and one label.
    before, after : float
        How often the original model and the step decide against their label.
    other : str
        About whom of that label the original model erred most, of another group.
    other_before, other_after : float
        The same about them; the step does not err less.

    Examples
    --------
    >>> from eifffel.constraints import make_constraint
    >>> from eifffel.rows.groups import read_groups
    >>> from eifffel.selection.raised_errors import find_raised_errors
    >>> constraint = make_constraint("equal_opportunity", read_groups(["f", "m"]))
    >>> before, after, people = [[0, 50], [0, 90]], [[0, 50], [0, 60]], [[0, 100], [0, 100]]
    >>> [found] = find_raised_errors(constraint, before, after, people)
    >>> found.group, found.before, found.after
    ('m with the favourable label', 0.1, 0.4)
    >>> found.other, found.other_before, found.other_after
    ('f with the favourable label', 0.5, 0.5)
    """

    group: str
    before: float
    after: float
    other: str
    other_before: float
    other_after: float


def find_raised_errors(
    constraint: Constraint, favorable_before: np.ndarray, favorable_after: np.ndarray, totals: np.ndarray
) -> tuple[RaisedError, ...]:
    """Compare the errors about those who are bounded before and after an edit, label by label.

    Counts have shape (n_groups, n_labels). Of people of one label, those count of whom the original model erred less
    than about some others: where it errs more about them, and about none of those others less.
    """
    size = constraint.count_sides(np.asarray(totals))
    before, after = (constraint.count_sides(np.asarray(table)) for table in (favorable_before, favorable_after))
    found = []
    for family in np.unique(constraint.family):
        sides = np.flatnonzero(constraint.kept & (constraint.family == family) & (size > 0))
        unfavorable, favorable = (bool(constraint.members[sides, :, label].any()) for label in (0, 1))
        if favorable == unfavorable:  # nobody, or everybody, whose rates are no errors
            continue
        errors, now = (size[sides] - table[sides] if favorable else table[sides] for table in (before, after))
        rates = [errors / size[sides], now / size[sides]]
        worst = rates[0] == rates[0].max()
        if np.any((now < errors) & worst):
            continue
        other = int(np.argmax(worst))
        found += [
            RaisedError(
                group=constraint.names[sides[k]],
                before=float(rates[0][k]),
                after=float(rates[1][k]),
                other=constraint.names[sides[other]],
                other_before=float(rates[0][other]),
                other_after=float(rates[1][other]),
            )
            for k in np.flatnonzero(~worst & (now > errors)).tolist()
        ]
    return tuple(found)


def say_raised_errors(raised: Sequence[RaisedError]) -> str:
    """In words that begin a sentence, about whom the step errs more; empty where there is nobody."""
    parts = [
        f"about {one.group} the model errs in {one.after:.1%} of cases, where the original model did in "
        f"{one.before:.1%}, and about {one.other} no less than before ({_say_change(one)})"
        for one in raised
    ]
    return f"equality is bought by errors here: {'; '.join(parts)}" if parts else ""


def _say_change(one: RaisedError) -> str:
    before, after = f"{one.other_before:.1%}", f"{one.other_after:.1%}"
    return before if before == after else f"{before}, now {after}"
