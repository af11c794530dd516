"""Impact ratios: for each category of each attribute, and of all at once, its rate beside the highest one."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import fisher_exact

from eifffel.coding import Rows
from eifffel.constraints import Constraint
from eifffel.groups import EACH, FEWEST, INTERSECTION, Attribute, Groups, show_group
from eifffel.intervals import ratio_interval
from eifffel.report._estimates import SMALL_SHARE, estimate, number, one_line, people, rate
from eifffel.values import UNKNOWN


@dataclass(frozen=True, eq=False)
class Partition:
    """People by the categories of an attribute, or of all attributes at once.

    Attributes
    ----------
    attribute : Attribute
    hidden : ndarray of bool
        The categories of which nothing is told.
    """

    attribute: Attribute
    hidden: np.ndarray


def measure_impact(
    groups: Groups,
    constraint: Constraint,
    rows: Rows,
    chosen: np.ndarray,
    score: np.ndarray | None,
    score_name: str | None,
) -> dict[str, Any]:
    """What the tables of an audit say, as plain data.

    Parameters
    ----------
    groups, constraint, rows : Groups, Constraint and Rows
        Who the people are; what a report does not describe of them is not described here either.
    chosen : ndarray of bool
        Who is decided favourably.
    score : ndarray, optional
        The larger, the better for a person.
    """
    size = rows.weigh_cells().sum(axis=1)
    partitions = find_partitions(groups, constraint, size)
    unknown = np.array([UNKNOWN in (group if isinstance(group, tuple) else (group,)) for group in groups])

    def measure(chosen: np.ndarray) -> list[dict[str, Any]]:
        return [measure_partition(part, rows.weigh_cells(chosen).sum(axis=1), size) for part in partitions]

    scoring = None
    if score is not None and len(score) >= FEWEST:
        median = np.median(score)  # of everybody, whether or not a category is known
        scoring = {"score": score_name, "median": number(median), "tables": measure(score > median)}
    without = (rows.weight == 0).sum() + size[unknown].sum()
    return {"selection": measure(chosen), "scoring": scoring, "unknown": people(without)}


def find_partitions(groups: Groups, constraint: Constraint, size: np.ndarray) -> list[Partition]:
    """Each attribute by itself, then all of them at once; ``size`` is how many people there are of each group."""
    n_columns = len(groups.columns)
    singly = replace(groups, combine=EACH, privileged=(None,) * n_columns).attributes
    at_once = replace(groups, combine=INTERSECTION, privileged=(None,)).attributes[0]
    hidden = groups.find_hidden(groups.count_people(size), constraint.find_bounded(groups))
    if n_columns == 1:
        return [Partition(at_once, hidden)]
    if groups.combine == INTERSECTION:
        cells = hidden
        margins = [hide_margins(attribute.members, size, cells) for attribute in singly]
    else:
        margins = [hidden[groups.attribute_of == k] for k in range(n_columns)]
        told = np.concatenate([tell_together(a.members, own) for a, own in zip(singly, margins, strict=True)])
        cells = hide_cells(told, size)
    parts = [Partition(attribute, own) for attribute, own in zip(singly, margins, strict=True)]
    return [*parts, Partition(at_once, cells)]


def tell_together(members: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """The sets of cells whose sums readers know: each value that is told, and all others of the attribute as one."""
    return np.concatenate([members[~hidden], members[hidden].any(axis=0, keepdims=True)])


def hide_cells(told: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Cells not to be described so that no fewer than ten people can be reckoned from sums that are told.

    Those of fewer than ten; and, as long as fewer than ten people of a sum are hidden, the smallest other of it.
    """
    hidden = (size > 0) & (size < FEWEST)
    changed = True
    while changed:
        changed = False
        for cells in told:
            others = np.flatnonzero(cells & ~hidden & (size > 0))
            if 0 < size[cells & hidden].sum() < FEWEST and len(others):
                hidden[others[np.argmin(size[others])]] = True
                changed = True
    return hidden


def hide_margins(members: np.ndarray, size: np.ndarray, hidden_cells: np.ndarray) -> np.ndarray:
    """Values not to be described so that no fewer than ten people can be reckoned from cells that are told."""
    unsaid = members.astype(size.dtype) @ (size * hidden_cells)  # people of each value whose cell is not told
    hidden = (unsaid > 0) & (unsaid < FEWEST)
    while 0 < unsaid[hidden].sum() < FEWEST and not hidden.all():
        others = np.flatnonzero(~hidden)
        hidden[others[np.lexsort((members[others] @ size, unsaid[others] == 0))[0]]] = True
    return hidden


def measure_partition(part: Partition, chosen: np.ndarray, size: np.ndarray) -> dict[str, Any]:
    """The categories: their people, the share that is chosen, and its ratio to the highest share.

    The highest is that of a category of two percent of the people or more; of fewer, a single person makes it high or
    low. Each other is compared with it by Koopman's interval of the ratio and by Fisher's exact test, two-sided.
    """
    attribute = part.attribute
    members = attribute.members.astype(size.dtype)
    chosen, size = members @ chosen, members @ size
    unknown = np.array([UNKNOWN in (v if isinstance(v, tuple) else (v,)) for v in attribute.values])
    n_known = size[~unknown].sum()
    small = size < SMALL_SHARE * n_known
    told = ~part.hidden & ~unknown & (size > 0)
    with np.errstate(invalid="ignore"):
        rates = np.where(told, chosen / size, -1.0)
    highest = int(np.argmax(np.where(small & (told & ~small).any(), -1.0, rates)))
    compared = told & (rates[highest] > 0)
    categories = []
    for k in np.flatnonzero(size > 0).tolist():
        pair = chosen[k], size[k], chosen[highest], size[highest]
        ratio, p_value = estimate(np.nan), None
        if compared[k]:
            interval = None if k == highest else ratio_interval(*pair)
            ratio = estimate(rates[k] / rates[highest], interval)
            p_value = None if k == highest else _fisher(*pair)
        categories.append(
            {
                "name": one_line(show_group(attribute.values[k])),
                "unknown": bool(unknown[k]),
                "rows": None if part.hidden[k] else int(size[k]),
                "few": people(size[k]) is None,
                "share": number(size[k] / n_known) if told[k] else None,
                "small": bool(small[k] and not unknown[k]),
                "highest": bool(told[k] and k == highest),
                "chosen": None if part.hidden[k] else int(chosen[k]),
                "rate": estimate(np.nan) if part.hidden[k] else rate(chosen[k], size[k]),
                "ratio": ratio,
                "p_value": p_value,
            }
        )
    several = isinstance(attribute.values[0], tuple)
    return {"attribute": one_line(attribute.name), "intersection": several, "categories": categories}


def _fisher(chosen: int, size: int, other: int, other_size: int) -> float | None:
    return number(fisher_exact([[chosen, size - chosen], [other, other_size - other]])[1])
