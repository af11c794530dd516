"""Decisions about people -> rates of groups with intervals, and what else is found by counts alone."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eifffel import metrics
from eifffel.comparison import Compared
from eifffel.constraints import Constraint
from eifffel.intervals import rate_interval, ratio_interval
from eifffel.report._impact import SMALL_SHARE, measure_impact
from eifffel.report.facts import (
    NO_ESTIMATE,
    About,
    ComparedRates,
    Estimate,
    Group,
    Made,
    MeasuredRows,
    Model,
    OfAttribute,
    Outcome,
    Overall,
    Rates,
    SummaryFacts,
    number,
    one_line,
)
from eifffel.report.words import list_limits
from eifffel.rows.coding import Rows
from eifffel.rows.groups import INTERSECTION, Groups
from eifffel.rows.small_counts import FEWEST, people
from eifffel.selection.counts import PathCounts
from eifffel.selection.public_counts import PublicCounts, find_public_counts
from eifffel.selection.raised_errors import RaisedError

# Groups of fewer rows, or of a smaller share, are marked: their rates say little.
SMALL_ROWS = 30


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
        """The same with nobody counted of whom nothing can be shown."""
        inside = self.groups.find_described(self.whole.count_cells().sum(axis=1))
        return replace(self, rows=replace(self.whole, weight=self.whole.weight * inside[self.whole.group]))

    def name_favored(self) -> "Decided":
        """The same with the favoured of two groups as the privileged one, where none was named."""
        if not self.compared.lacks_privileged:
            return self
        counts = self.count("rows").compared
        if counts is None:  # the one that is favoured would reveal something of those who are not described
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

    def count(self, name: str) -> PublicCounts:
        """Counts of two steps, before and after, as they can be shown."""
        before = self.after if self.before is None else self.before
        favorable = np.stack([self.rows.weigh_cells(before), self.rows.weigh_cells(self.after)])
        n_rows = self.rows.count_cells().sum(axis=1)
        return find_public_counts(
            PathCounts(favorable, self.rows.weigh_cells(), name, n_rows, self.constraint), self.groups
        )


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
) -> SummaryFacts:
    """What can be said without the rows' features and the path of a model; ``name`` is what the rows are called."""
    groups, asked, public = decided.groups, decided.constraint, decided.count(name)
    labels = None if public.labelled is None else public.labelled.totals.sum(axis=0)
    return SummaryFacts(
        rows=MeasuredRows(
            name=name,
            n=int(public.decided.n_rows.sum()),
            labelled=decided.rows.label is not None,
            n_labelled=0 if public.labelled is None else int(public.labelled.n_rows.sum()),
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
            left_out=_left_out(decided) if public.compared is not None else (),
        ),
        groups=_describe_groups(decided, public),
        overall=Overall(
            before=None if decided.before is None else measure_outcome(public, 0, groups),
            after=measure_outcome(public, 1, groups),
            constant_accuracy=None if labels is None else number(labels.max() / labels.sum()),
            raised_errors=_find_raised_errors(decided, public),
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


def _find_raised_errors(decided: Decided, public: PublicCounts) -> tuple[RaisedError, ...]:
    """About whom decisions err more often than before the edit, and no less about others; of those of whom it is shown.

    Step 0 of the counts is before it, where there was one.
    """
    if public.compared is None or decided.before is None:
        return ()
    found = public.compared.raised_errors(1)
    return tuple(replace(one, group=one_line(one.group), other=one_line(one.other)) for one in found)


def _left_out(decided: Decided) -> tuple[str, ...]:
    """The sides that are not bounded for want of rows; of fewer than ten people it is not shown by how many."""
    constraint = decided.constraint
    for_want = ~constraint.kept & ((constraint.count_sides(decided.cells) > 0) | (constraint.min_rows >= FEWEST))
    return tuple(one_line(constraint.names[side]) for side in np.flatnonzero(for_want))


def _describe_groups(decided: Decided, public: PublicCounts) -> tuple[Group, ...]:
    groups = decided.groups
    nobody = replace(decided.constraint, kept=np.zeros(len(decided.constraint.kept), bool))
    constraint = nobody if public.compared is None else public.compared.constraint
    before = None if decided.before is None else measure_group_rates(public, 0, groups, constraint)
    after = measure_group_rates(public, 1, groups, constraint)
    size, whole = (groups.count_people(rows.count_cells().sum(axis=1)) for rows in (decided.rows, decided.whole))
    hidden, n_all = (whole > 0) & (size == 0), public.decided.n_rows.sum()
    labels = None if public.labelled is None else groups.count_compared(public.labelled.totals)
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
            small=_is_small(size[g], n_all),
            bounded=bool(bounded[g]),
            base_rate=_base_rate(labels, g) if decided.rows.label is not None else None,
            before=None if before is None else before[g],
            after=after[g],
        )
        for g, (attribute, v) in enumerate(values)
    )


def _base_rate(labels: np.ndarray | None, g: int) -> Estimate:
    """The share with a favourable label, where that can be shown."""
    return NO_ESTIMATE if labels is None else _share(labels[g, 1], labels[g].sum())


def _role(privileged: int | None, value: int) -> str:
    if privileged is None:
        return "compared"
    return "privileged" if value == privileged else "unprivileged"


def _name_attributes(groups: Groups) -> str:
    """What people are compared by, as whoever gave the columns calls them."""
    names = [name for name in groups.names if name]
    return (" x " if groups.combine == INTERSECTION else ", ").join(names) or "group"


def _share(part: Any, whole: Any) -> Estimate:
    """A share of rows and its interval; not shown where they are fewer than ten."""
    return Estimate.of(part / whole, rate_interval(part, whole)) if whole >= FEWEST else NO_ESTIMATE


def _is_small(n_rows: int, n_all: int) -> bool:
    """Whether a group has so few rows that its rates say little."""
    return bool(n_rows < SMALL_ROWS or n_rows < SMALL_SHARE * n_all)


def measure_group_rates(public: PublicCounts, step: int, groups: Groups, constraint: Constraint) -> tuple[Rates, ...]:
    """What decisions do to each of those who are compared, of whom it can be shown.

    The highest rate is that of a value of the same attribute that is bounded.
    """
    favorable, totals = (
        groups.count_compared(table) for table in (public.decided.favorable[step], public.decided.totals)
    )
    chosen, size = favorable.sum(axis=1), totals.sum(axis=1)
    of_labels = None
    if public.labelled is not None:
        tables = public.labelled.favorable[step], public.labelled.totals
        of_labels = tuple(groups.count_compared(table) for table in tables)
    rates = metrics.selection_rate(favorable, totals)
    bounded = constraint.find_bounded(groups) & (size > 0)
    found = [Rates(NO_ESTIMATE, NO_ESTIMATE, NO_ESTIMATE, NO_ESTIMATE, NO_ESTIMATE)] * len(size)
    for g in np.flatnonzero(size).tolist():
        own = groups.attribute_of == groups.attribute_of[g]
        own &= bounded if (own & bounded).any() else size > 0
        highest = int(np.argmax(np.where(own, rates, -1)))
        compared = None if g == highest else ratio_interval(chosen[g], size[g], chosen[highest], size[highest])
        found[g] = replace(
            found[g],
            selection_rate=_share(chosen[g], size[g]),
            ratio_to_highest=Estimate.of(rates[g] / rates[highest], compared) if rates[highest] > 0 else NO_ESTIMATE,
        )
        if of_labels is not None:
            good, of_label = of_labels[0][g], of_labels[1][g]
            found[g] = replace(
                found[g],
                true_positive_rate=_share(good[1], of_label[1]),
                false_positive_rate=_share(good[0], of_label[0]),
                precision=_share(good[1], good.sum()),
            )
    return tuple(found)


def measure_outcome(public: PublicCounts, step: int, groups: Groups) -> Outcome:
    """What is bounded, between whom, and accuracy, of the decisions at a step; of those of whom it can be shown."""
    labelled, counts = public.labelled, public.compared
    accuracy = NO_ESTIMATE
    if labelled is not None:
        n_correct = metrics.n_correct(labelled.favorable[step], labelled.totals)
        accuracy = _share(n_correct, labelled.totals.sum())
    if counts is None:
        return Outcome(NO_ESTIMATE, NO_ESTIMATE, (), (), (), (), accuracy)
    pair = [counts.worst.high[step], counts.worst.low[step]]
    chosen, size = (counts.constraint.count_sides(table)[pair] for table in (counts.favorable[step], counts.totals))
    return Outcome(
        discrimination=Estimate.of(counts.discrimination[step], counts.interval(step)),
        ratio=Estimate.of(counts.ratio[step], counts.ratio_interval(step)),
        ratio_between=tuple(one_line(counts.constraint.names[side]) for side in counts.ratio_pair(step)),
        between=tuple(one_line(name) for name in counts.worst_pair(step)),
        rates=tuple(_share(part, whole).value for part, whole in zip(chosen, size, strict=True)),
        by_attribute=tuple(
            OfAttribute(one_line(name), number(part.worst(counts.favorable[step], counts.totals).value))
            for name, part in counts.constraint.by_attribute(groups)
        ),
        accuracy=accuracy,
    )
