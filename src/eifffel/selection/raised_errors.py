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
        People of that label and of another group, with whom they are compared, about whom the original model erred
        more often.
    other_before, other_after : float
        The same about these; the step does not err less.

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
    constraint: Constraint,
    favorable_before: np.ndarray,
    favorable_after: np.ndarray,
    totals: np.ndarray,
    tolerance: float = 0.0,
) -> tuple[RaisedError, ...]:
    """Compare the errors about each two sides whose difference is bounded, before and after an edit.

    Counts have shape (n_groups, n_labels). A side is named where the original model erred less about it than about the
    other, and the edit errs more about it, and about the other no less; of several others, beside the one about whom
    the original model erred most. Shares differ if they do by more than the ``tolerance``.
    """
    size = constraint.count_sides(np.asarray(totals))
    chosen = [constraint.count_sides(np.asarray(table)) for table in (favorable_before, favorable_after)]
    beside: dict[int, list[int]] = {}
    for a, b in constraint.pairs.tolist():
        for side, other in ((a, b), (b, a)):
            if size[side] and size[other]:
                beside.setdefault(side, []).append(other)
    found = []
    for side in sorted(beside):
        unfavorable, favorable = (bool(constraint.members[side, :, label].any()) for label in (0, 1))
        if favorable == unfavorable:  # rates of everybody are no errors
            continue

        def rates(k: int, of_favorable: bool = favorable) -> tuple[float, float]:
            errors = [size[k] - table[k] if of_favorable else table[k] for table in chosen]
            return float(errors[0] / size[k]), float(errors[1] / size[k])

        before, after = rates(side)
        others = [(*rates(k), k) for k in dict.fromkeys(beside[side])]
        kept = [(was, -k, now) for was, now, k in others if was > before + tolerance and now >= was - tolerance]
        if kept and after > before + tolerance:
            was, minus_k, now = max(kept)
            found.append(RaisedError(constraint.names[side], before, after, constraint.names[-minus_k], was, now))
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
