"""Decisions about people -> what a report says of them, from counts alone."""

from dataclasses import dataclass, replace

import numpy as np

from eifffel.comparison import Compared
from eifffel.constraints import Constraint
from eifffel.path_counts import PathCounts
from eifffel.report._estimates import (
    UNTOLD,
    is_small,
    measure_all,
    measure_groups,
    number,
    one_line,
    rate,
)
from eifffel.report._impact import measure_impact
from eifffel.report._limits import list_limits
from eifffel.report.facts import About, ComparedRates, Estimate, Group, Made, Measured, MeasuredRows, Model, Overall
from eifffel.rows.coding import Rows
from eifffel.rows.few import FEWEST, people
from eifffel.rows.groups import INTERSECTION, Groups
from eifffel.telling import Told, tell


@dataclass(frozen=True, eq=False)
class Decided:
    """Who is decided about, how they are compared, and what was decided.

    Attributes
    ----------
    compared : Compared
    rows : Rows
        Once `described`, rows of those who are not weigh nothing, as those without a group do.
    whole : Rows
        With everybody who has a group.
    before, after : ndarray of bool
        Who is decided favourably; ``before`` an edit, if there was one.
    score : ndarray, optional
        What decisions are made by, the larger the better for a person.
    score_name : str
    tell_few : bool
        Whether tables of an audit describe fewer than ten people.
    """

    compared: Compared
    rows: Rows
    whole: Rows
    before: np.ndarray | None
    after: np.ndarray
    score: np.ndarray | None
    score_name: str
    tell_few: bool

    @property
    def groups(self) -> Groups:
        return self.compared.groups

    @property
    def constraint(self) -> Constraint:
        return self.compared.constraint

    def described(self) -> "Decided":
        """The same with nobody counted of whom nothing can be told."""
        inside = self.groups.find_described(self.whole.count_cells().sum(axis=1))
        return replace(self, rows=replace(self.whole, weight=self.whole.weight * inside[self.whole.group]))

    def name_favored(self) -> "Decided":
        """The same with the favoured of two groups as the privileged one, where none was named."""
        if not self.compared.lacks_privileged:
            return self
        counts = self.count("rows").compared
        if counts is None:  # the one that is favoured would tell something of those who are not described
            return replace(self, compared=self.compared.name_privileged(1))
        return replace(self, compared=self.compared.name_favored(counts.favorable[1], counts.totals))

    @property
    def cells(self) -> np.ndarray:
        """How many people are counted in what is compared, by group and label."""
        cells = self.rows.count_cells()
        if not self.constraint.needs_labels:
            return cells
        return cells * self.groups.find_labelled(cells, cells.sum(axis=1) > 0)[:, None]

    def on_rows(self, name: str) -> "Decided":
        """The same with those groups bounded that have enough of these rows; none, if that leaves nobody to compare."""
        try:
            constraint = self.constraint.on_rows(self.cells, rows=f"the {name}")
        except ValueError:
            if (self.cells == self.whole.count_cells()).all():
                raise
            constraint = replace(self.constraint, kept=np.zeros(len(self.constraint.kept), bool))
        return replace(self, compared=replace(self.compared, constraint=constraint))

    def count(self, name: str) -> Told:
        """Counts of two steps, before and after, as they can be told."""
        before = self.after if self.before is None else self.before
        favorable = np.stack([self.rows.weigh_cells(before), self.rows.weigh_cells(self.after)])
        n_rows = self.rows.count_cells().sum(axis=1)
        return tell(PathCounts(favorable, self.rows.weigh_cells(), name, n_rows, self.constraint), self.groups)


def describe_decided(
    decided: Decided,
    name: str,
    *,
    favorable: str,
    unfavorable: str,
    sensitive: str | None,
    model: Model,
    made: Made,
    about: About,
) -> Measured:
    """What can be said without the rows' features and the path of a model; ``name`` is what the rows are called."""
    groups, asked, told = decided.groups, decided.constraint, decided.count(name)
    labels = None if told.labelled is None else told.labelled.totals.sum(axis=0)
    return Measured(
        rows=MeasuredRows(
            name=name,
            n=int(told.decided.n_rows.sum()),
            labelled=decided.rows.label is not None,
            n_labelled=0 if told.labelled is None else int(told.labelled.n_rows.sum()),
            seen=False,
            chose=False,
            without_group=people((decided.whole.weight == 0).sum()),
        ),
        favorable=favorable,
        unfavorable=unfavorable,
        sensitive=one_line(_name_attributes(groups) if sensitive is None else sensitive),
        constraint=ComparedRates(
            name=asked.name,
            rate=asked.rate,
            words=asked.words,
            directed=asked.directed,
            combine=groups.combine,
            missing=groups.missing,
            min_group_rows=asked.min_rows,
            left_out=_left_out(decided) if told.compared is not None else (),
        ),
        groups=_groups(decided, told),
        overall=Overall(
            before=None if decided.before is None else measure_all(told, 0, groups),
            after=measure_all(told, 1, groups),
            constant_accuracy=None if labels is None else number(labels.max() / labels.sum()),
        ),
        impact=measure_impact(
            groups,
            decided.whole,
            decided.whole if decided.tell_few else decided.rows,
            decided.after,
            decided.score,
            decided.score_name,
            tell_few=decided.tell_few,
        ),
        model=model,
        made=made,
        about=about,
        limits=list_limits(asked.name, edited=decided.before is not None),
    )


def _left_out(decided: Decided) -> tuple[str, ...]:
    """The sides that are not bounded for want of rows; of fewer than ten people it is not told by how many."""
    constraint = decided.constraint
    for_want = ~constraint.kept & ((constraint.count_sides(decided.cells) > 0) | (constraint.min_rows >= FEWEST))
    return tuple(one_line(constraint.names[side]) for side in np.flatnonzero(for_want))


def _groups(decided: Decided, told: Told) -> tuple[Group, ...]:
    groups = decided.groups
    nobody = replace(decided.constraint, kept=np.zeros(len(decided.constraint.kept), bool))
    constraint = nobody if told.compared is None else told.compared.constraint
    before = None if decided.before is None else measure_groups(told, 0, groups, constraint)
    after = measure_groups(told, 1, groups, constraint)
    size, whole = (groups.count_people(rows.count_cells().sum(axis=1)) for rows in (decided.rows, decided.whole))
    hidden, n_all = (whole > 0) & (size == 0), told.decided.n_rows.sum()
    labels = None if told.labelled is None else groups.count_compared(told.labelled.totals)
    bounded = constraint.find_bounded(groups)
    values = [(attribute, v) for attribute in groups.attributes for v in range(len(attribute.values))]
    return tuple(
        Group(
            name=one_line(groups.compared[g]),
            attribute=one_line(attribute.name),
            role=_role(attribute.privileged, v),
            rows=None if hidden[g] else int(size[g]),
            few=people(whole[g]) is None,
            share=None if hidden[g] else number(size[g] / max(n_all, 1)),
            small=is_small(size[g], n_all),
            bounded=bool(bounded[g]),
            base_rate=_base_rate(labels, g) if decided.rows.label is not None else None,
            before=None if before is None else before[g],
            after=after[g],
        )
        for g, (attribute, v) in enumerate(values)
    )


def _base_rate(labels: np.ndarray | None, g: int) -> Estimate:
    """The share with a favourable label, where that can be told."""
    return UNTOLD if labels is None else rate(labels[g, 1], labels[g].sum())


def _role(privileged: int | None, value: int) -> str:
    if privileged is None:
        return "compared"
    return "privileged" if value == privileged else "unprivileged"


def _name_attributes(groups: Groups) -> str:
    """What people are compared by, as whoever gave the columns calls them."""
    names = [name for name in groups.names if name]
    return (" x " if groups.combine == INTERSECTION else ", ").join(names) or "group"
