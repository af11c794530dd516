"""Decisions about people -> what a report says of them, from counts alone."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eifffel.constraints import Constraint, make_constraint
from eifffel.path_counts import PathCounts
from eifffel.report._estimates import (
    estimate,
    is_small,
    measure_all,
    measure_groups,
    number,
    one_line,
    people,
    rate,
    tells_labels,
)
from eifffel.report._impact import measure_impact
from eifffel.rows.coding import Rows
from eifffel.rows.groups import INTERSECTION, Groups


@dataclass(frozen=True, eq=False)
class Decided:
    """Who is decided about, how they are compared, and what was decided.

    Attributes
    ----------
    groups, constraint, rows : Groups, Constraint and Rows
    before, after : ndarray of bool
        Who is decided favourably; ``before`` an edit, if there was one.
    score : ndarray, optional
        What decisions are made by, the larger the better for a person.
    score_name : str
    tell_few : bool
        Whether tables of an audit describe fewer than ten people.
    """

    groups: Groups
    constraint: Constraint
    rows: Rows
    before: np.ndarray | None
    after: np.ndarray
    score: np.ndarray | None
    score_name: str
    tell_few: bool

    def turn(self) -> "Decided":
        """The same with the privileged of two groups last: the one that was named, or that is favoured."""
        if len(self.groups) != 2 or len(self.constraint.names) != 2:
            return self
        favored = self.groups.privileged[0]
        if favored is None:
            tables = self.rows.weigh_cells(self.after), self.rows.weigh_cells()
            chosen, totals = (self.constraint.count_sides(table) for table in tables)
            favored = int(chosen[1] * totals[0] >= chosen[0] * totals[1])
        groups = self.groups.privileged_last(favored)
        return replace(
            self,
            groups=groups,
            constraint=make_constraint(self.constraint.name, groups, min_group_rows=self.constraint.min_rows),
            rows=self.rows if favored else self.rows.swap_groups(),
        )

    def on_rows(self, name: str) -> "Decided":
        """The same with those groups bounded that have enough of these rows."""
        return replace(self, constraint=self.constraint.on_rows(self.rows.count_cells(), rows=f"the {name}"))

    def count(self, name: str) -> PathCounts:
        """Counts of two steps: before and after."""
        before = self.after if self.before is None else self.before
        favorable = np.stack([self.rows.weigh_cells(before), self.rows.weigh_cells(self.after)])
        n_rows = self.rows.count_cells().sum(axis=1)
        return PathCounts(favorable, self.rows.weigh_cells(), name, n_rows, self.constraint)


def describe_decided(
    decided: Decided, name: str, *, favorable: str, unfavorable: str, sensitive: str | None
) -> dict[str, Any]:
    """The parts of a summary that need no model; ``name`` is what the rows are called."""
    groups, asked, encoded = decided.groups, decided.constraint, decided.rows
    totals, counts = encoded.weigh_cells(), decided.count(name)
    return {
        "rows": {
            "name": name,
            "n": int(totals.sum()),
            "labelled": encoded.label is not None,
            "seen": False,
            "chose": False,
            "without_group": people((encoded.weight == 0).sum()),
        },
        "favorable": favorable,
        "unfavorable": unfavorable,
        "sensitive": one_line(_name_attributes(groups) if sensitive is None else sensitive),
        "constraint": {
            "name": asked.name,
            "rate": asked.rate,
            "words": asked.words,
            "directed": asked.directed,
            "combine": groups.combine,
            "missing": groups.missing,
            "min_group_rows": asked.min_rows,
            "left_out": [one_line(name) for name in asked.left_out],
        },
        "groups": _groups(groups, encoded, decided.before, decided.after, asked),
        "overall": {
            "before": None if decided.before is None else measure_all(counts, 0, groups),
            "after": measure_all(counts, 1, groups),
            "constant_accuracy": None if encoded.label is None else number(totals.sum(axis=0).max() / totals.sum()),
        },
        "impact": measure_impact(
            groups, asked, encoded, decided.after, decided.score, decided.score_name, tell_few=decided.tell_few
        ),
    }


def _groups(
    groups: Groups, rows: Rows, before: np.ndarray | None, after: np.ndarray, constraint: Constraint
) -> list[dict[str, Any]]:
    totals = groups.count_compared(rows.weigh_cells())
    decided = {"before": before, "after": after}
    measured = {
        when: None
        if favorable is None
        else measure_groups(rows.weigh_cells(favorable), rows.weigh_cells(), groups, constraint)
        for when, favorable in decided.items()
    }
    size, n_all, labelled = totals.sum(axis=1), rows.weigh_cells().sum(), totals.shape[1] == 2
    bounded = constraint.find_bounded(groups)
    hidden = groups.find_hidden(size, bounded)
    values = [(attribute, v) for attribute in groups.attributes for v in range(len(attribute.values))]
    return [
        {
            "name": one_line(groups.compared[g]),
            "attribute": one_line(attribute.name),
            "role": _role(attribute.privileged, v),
            "rows": None if hidden[g] else int(size[g]),
            "few": people(size[g]) is None,
            "share": None if hidden[g] else number(size[g] / n_all),
            "small": is_small(size[g], n_all),
            "bounded": bool(bounded[g]),
            "base_rate": _base_rate(totals[g], hidden=hidden[g]) if labelled else None,
            **{when: None if of_group is None else of_group[g] for when, of_group in measured.items()},
        }
        for g, (attribute, v) in enumerate(values)
    ]


def _base_rate(totals: np.ndarray, *, hidden: bool) -> dict[str, float | None]:
    """The share with a favourable label, where that can be told."""
    return rate(totals[1], totals.sum()) if not hidden and tells_labels(totals) else estimate(np.nan)


def _role(privileged: int | None, value: int) -> str:
    if privileged is None:
        return "compared"
    return "privileged" if value == privileged else "unprivileged"


def _name_attributes(groups: Groups) -> str:
    """What people are compared by, as whoever gave the columns calls them."""
    names = [name for name in groups.names if name]
    return (" x " if groups.combine == INTERSECTION else ", ").join(names) or "group"
