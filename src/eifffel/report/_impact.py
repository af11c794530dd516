"""Impact ratios: for each category of each attribute, and of all at once, its rate beside the highest one."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import fisher_exact

from eifffel.intervals import rate_interval, ratio_interval
from eifffel.report.facts import NO_ESTIMATE, Categories, Category, Estimate, Impact, Scoring, number, one_line
from eifffel.rows.coding import Rows
from eifffel.rows.groups import EACH, INTERSECTION, Attribute, Groups, show_group
from eifffel.rows.sensitive import UNKNOWN
from eifffel.rows.small_counts import FEWEST, find_secrets, in_span, people

# A rate of a smaller share of the people is not taken as the highest.
SMALL_SHARE = 0.02


@dataclass(frozen=True, eq=False)
class CategoryPartition:
    """People by the categories of an attribute, or of all attributes at once.

    Attributes
    ----------
    attribute : Attribute
    hidden : ndarray of bool
        The categories of which nothing is shown.
    whole : ndarray of int
        How many people each has, those who are not described among them.
    """

    attribute: Attribute
    hidden: np.ndarray
    whole: np.ndarray

    @property
    def unknown(self) -> np.ndarray:
        """Which of the categories are those of people of whom it is not known."""
        values = [value if isinstance(value, tuple) else (value,) for value in self.attribute.values]
        return np.array([UNKNOWN in value for value in values])

    def hide_second(self, size: np.ndarray) -> "CategoryPartition":
        """The same, but if one category is hidden, the smallest other is too: where the sum of all is known."""
        size = self.attribute.members @ size
        others = np.flatnonzero(~self.hidden & (size > 0))
        if (self.hidden & (size > 0)).sum() != 1 or not len(others):
            return self
        hidden = self.hidden.copy()
        hidden[others[np.argmin(size[others])]] = True
        return replace(self, hidden=hidden)


def measure_impact(
    groups: Groups,
    whole: Rows,
    rows: Rows,
    chosen: np.ndarray,
    score: np.ndarray | None,
    score_name: str,
    *,
    tell_few: bool,
) -> Impact:
    """What the tables of an audit say.

    Parameters
    ----------
    groups, whole, rows : Groups and Rows
        Who the people are, and the same with those who are described alone.
    chosen : ndarray of bool
        Who is decided favourably.
    score : ndarray, optional
        The larger, the better for a person.
    tell_few : bool
        Whether categories are described of whom there are fewer than ten people; ``rows`` are then the whole.
    """
    size, everybody = (given.weigh_cells().sum(axis=1) for given in (rows, whole))
    partitions = find_partitions(groups, size, everybody)
    if tell_few:
        partitions = [replace(part, hidden=np.zeros_like(part.hidden)) for part in partitions]
    counts = rows.weigh_cells(chosen).sum(axis=1)
    scoring = None
    # Of everybody, whether or not a category is known, but for those who are not described.
    counted = (rows.weight > 0) | (whole.weight == 0)
    if score is not None and counted.sum() >= FEWEST:
        median = np.median(score[counted])
        above = rows.weigh_cells(score > median).sum(axis=1)
        # About half of all are above it.
        tables = tuple(measure_partition(part.hide_second(size), above, size) for part in partitions)
        scoring = Scoring(score_name, number(median), tables)
    return Impact(
        selection=tuple(measure_partition(part, counts, size) for part in partitions),
        scoring=scoring,
        without_group=public_people((whole.weight == 0).sum(), tell_few=tell_few),
        tells_few=tell_few,
    )


def public_people(n: int, *, tell_few: bool) -> int | None:
    """How many people there are; ``None`` of fewer than ten, unless they are to be shown."""
    return int(n) if tell_few else people(n)


def find_partitions(groups: Groups, size: np.ndarray, whole: np.ndarray) -> list[CategoryPartition]:
    """Each attribute by itself, then all of them at once.

    ``size`` is how many people there are of each group that is described, and none of the others; ``whole`` of each.
    The report describes attributes by themselves or at once. What it describes is described here too; of the rest, as
    much as can be shown so that no fewer than ten people can be derived from all sums together.
    """
    n_columns = len(groups.columns)
    singly = replace(groups, combine=EACH, privileged=(None,) * n_columns).attributes
    if n_columns == 1 or groups.combine == INTERSECTION:  # sums of groups, each of whom is described
        at_once, in_cells = groups.attributes[0], np.zeros(len(size), bool)
    else:
        at_once = replace(groups, combine=INTERSECTION, privileged=(None,)).attributes[0]
        margins = np.concatenate([attribute.members for attribute in singly])
        cells = np.eye(len(size), dtype=bool)
        shown = np.concatenate([margins, cells[size == 0]])
        in_cells = ~choose_shown(shown, cells, find_secrets(margins, size), size)
    parts = [(attribute, np.zeros(len(attribute.values), bool)) for attribute in singly if n_columns > 1]
    return [
        CategoryPartition(
            attribute,
            hidden | ((attribute.members @ whole > 0) & (attribute.members @ size == 0)),
            attribute.members @ whole,
        )
        for attribute, hidden in [*parts, (at_once, in_cells)]
    ]


def choose_shown(shown: np.ndarray, wanted: np.ndarray, secret: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Which of the ``wanted`` sums of cells can be shown beside those that are ``shown``, the largest first.

    A ``secret`` sum must not be a combination of them, unless it is one of those shown already.
    """
    secret = secret[~in_span(shown, secret)]
    chosen = np.zeros(len(wanted), bool)
    n_people = wanted @ size
    for k in np.argsort(-n_people, kind="stable"):
        if 0 < n_people[k] < FEWEST:
            continue
        chosen[k] = True
        chosen[k] = not in_span(np.concatenate([shown, wanted[chosen]]), secret).any()
    return chosen


def measure_partition(part: CategoryPartition, chosen: np.ndarray, size: np.ndarray) -> Categories:
    """The categories: their people, the share that is chosen, and its ratio to the highest share.

    The highest is that of a category of two percent of the people or more; of fewer, a single person makes it high or
    low. Each other is compared with it by Koopman's interval of the ratio and by Fisher's exact test, two-sided.
    """
    attribute, unknown = part.attribute, part.unknown
    members = attribute.members.astype(size.dtype)
    chosen, size = members @ chosen, members @ size
    n_known, n_whole = size[~unknown].sum(), part.whole[~unknown].sum()
    small = np.where(part.hidden, part.whole < SMALL_SHARE * n_whole, size < SMALL_SHARE * n_known)
    shown = ~part.hidden & ~unknown & (size > 0)
    with np.errstate(invalid="ignore"):
        all_rates = np.where(size > 0, chosen / size, -1.0)
    rates = np.where(shown, all_rates, -1.0)
    unsaid = part.hidden & ~unknown & ~small & (size >= FEWEST)
    highest = int(np.argmax(np.where(small & (shown & ~small).any(), -1.0, rates)))
    compared = shown & (rates[highest] > 0) & (shown.sum() > 1)
    categories = []
    for k in np.flatnonzero(part.whole > 0).tolist():
        pair = chosen[k], size[k], chosen[highest], size[highest]
        ratio, p_value = NO_ESTIMATE, None
        if compared[k]:
            interval = None if k == highest else ratio_interval(*pair)
            ratio = Estimate.of(rates[k] / rates[highest], interval)
            p_value = None if k == highest else _fisher(*pair)
        categories.append(
            Category(
                name=one_line(show_group(attribute.values[k])),
                unknown=bool(unknown[k]),
                rows=None if part.hidden[k] else int(size[k]),
                few=bool(part.hidden[k] and people(part.whole[k]) is None),
                share=number(size[k] / n_known) if shown[k] else None,
                small=bool(small[k] and not unknown[k]),
                highest=bool(compared[k] and k == highest),
                below=bool(5 * pair[0] * pair[3] < 4 * pair[2] * pair[1]) if compared[k] else None,
                chosen=None if part.hidden[k] else int(chosen[k]),
                rate=NO_ESTIMATE
                if part.hidden[k]
                else Estimate.of(chosen[k] / size[k], rate_interval(chosen[k], size[k])),
                ratio=ratio,
                p_value=p_value,
            )
        )
    return Categories(
        attribute=one_line(attribute.name),
        intersection=isinstance(attribute.values[0], tuple),
        unknown=public_people(part.whole[unknown].sum(), tell_few=not part.hidden[unknown].any()),
        higher_hidden=bool(shown.any() and (all_rates[unsaid] > rates[highest]).any()),
        categories=tuple(categories),
    )


def _fisher(chosen: int, size: int, other: int, other_size: int) -> float | None:
    return number(fisher_exact([[chosen, size - chosen], [other, other_size - other]])[1])
