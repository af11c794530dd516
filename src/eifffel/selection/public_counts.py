"""Who is counted in what others read: nobody of a group of fewer than ten people, nor labels that so few of it have."""

from dataclasses import dataclass, replace

import numpy as np

from eifffel.constraints import Constraint
from eifffel.rows.groups import Groups
from eifffel.rows.small_counts import FEWEST
from eifffel.selection.counts import PathCounts


@dataclass(frozen=True, eq=False)
class PublicCounts:
    """Counts that may be reported: everything computed from them describes ten people or more.

    Attributes
    ----------
    decided : PathCounts
        Decisions about the groups that are described.
    labelled : PathCounts or None
        The same of those groups whose labels are reported; ``None`` if there are none, or fewer than ten people.
    compared : PathCounts or None
        Those of the two that the constraint compares; ``None`` if fewer than two groups are left to compare.
    hidden : ndarray of bool
        Which of those who are compared have people, and are not described.
    """

    decided: PathCounts
    labelled: PathCounts | None
    compared: PathCounts | None
    hidden: np.ndarray

    @property
    def is_whole(self) -> bool:
        """Whether everybody is counted in everything."""
        n_labelled = 0 if self.labelled is None else self.labelled.n_rows.sum()
        without_labels = self.decided.totals.shape[1] == 1
        return not self.hidden.any() and bool(without_labels or n_labelled == self.decided.n_rows.sum())


def find_public_counts(counts: PathCounts, groups: Groups) -> PublicCounts:
    """Return counts without the people who are not described, and without their labels where these are not reported."""
    described = groups.find_described(counts.n_rows)
    decided = _counts_of(counts, described)
    labelled = None
    if counts.totals.shape[1] == 2:
        with_labels = described if counts.weighted else groups.find_labelled(counts.totals, described)
        labelled = _counts_of(counts, with_labels) if counts.n_rows[with_labels].sum() >= FEWEST else None
    compared = labelled if counts.constraint.needs_labels else decided
    if compared is not None:
        compared = replace(compared, constraint=leave_few_out(counts.constraint, compared.totals))
        compared = compared if len(compared.constraint.pairs) else None
    people = groups.count_people(counts.n_rows)
    return PublicCounts(decided, labelled, compared, (people > 0) & (groups.count_people(decided.n_rows) == 0))


def leave_few_out(constraint: Constraint, cells: np.ndarray) -> Constraint:
    """Leave out the sides that have nobody in these cells, and those that are compared with such a side."""
    kept = constraint.kept & (constraint.count_sides(cells) > 0)
    for family in np.unique(constraint.family):
        own = constraint.family == family
        if (constraint.reference & own).any() and not (constraint.reference & own & kept).any():
            kept = kept & ~own
    return replace(constraint, kept=kept)


def _counts_of(counts: PathCounts, groups: np.ndarray) -> PathCounts:
    """Counts of some groups, with none of the others."""
    if not counts.n_rows[~groups].any():
        return counts
    return replace(
        counts,
        favorable=counts.favorable * groups[:, None],
        totals=counts.totals * groups[:, None],
        n_rows=counts.n_rows * groups,
    )
