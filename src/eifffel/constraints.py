"""Constraint: which rates are compared, between whom. All of them are linear in the counts of (group, label) cells."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from eifffel._utils.validation import check_choice, check_number, listed
from eifffel.exceptions import InputError, parameter, wording
from eifffel.rows.coding import without_scale
from eifffel.rows.groups import Groups, show_group
from eifffel.rows.small_counts import FEWEST

__all__ = ["ALIASES", "CONSTRAINTS", "Constraint", "make_constraint"]

DEMOGRAPHIC_PARITY = "demographic_parity"
CONSTRAINTS: dict[str, tuple[int | None, ...]] = {
    DEMOGRAPHIC_PARITY: (None,),
    "equal_opportunity": (1,),
    "predictive_equality": (0,),
    "equalized_odds": (1, 0),
}
"""The labels whose rows each rate is of; ``None`` is every row. The metric is the largest difference of such a rate."""

ALIASES = {
    "DemographicParity": DEMOGRAPHIC_PARITY,
    "TruePositiveRateParity": "equal_opportunity",
    "true_positive_rate_parity": "equal_opportunity",
    "false_negative_rate_parity": "equal_opportunity",
    "FalsePositiveRateParity": "predictive_equality",
    "false_positive_rate_parity": "predictive_equality",
    "true_negative_rate_parity": "predictive_equality",
    "EqualizedOdds": "equalized_odds",
}
"""As fairlearn calls them: constraints of its ThresholdOptimizer, and classes of its reductions."""

# What the rates are called, by the label of their rows.
RATES = {None: "selection rate", 1: "true positive rate", 0: "false positive rate"}
# Smaller groups are left out of the bound, unless it is between two.
MIN_GROUP_ROWS = 30


class Worst(NamedTuple):
    """The largest difference after each step: its value, and the sides that it is between."""

    value: np.ndarray
    high: np.ndarray
    low: np.ndarray


@dataclass(frozen=True, eq=False)
class Constraint:
    """Sides, each a set of (group, label) cells with a rate of favourable decisions, and which are compared.

    Attributes
    ----------
    name : str
        One of `CONSTRAINTS`.
    members : ndarray of shape (n_sides, n_groups, 2)
        The cells of each side.
    family : ndarray of shape (n_sides,)
        Sides of the same family are compared with each other.
    reference : ndarray of shape (n_sides,)
        Whether the side is the one that all others of its family are compared with.
    names : tuple of str
        What the sides are called.
    kept : ndarray of shape (n_sides,)
        Whether each is bounded; those of too few rows are not.
    min_rows : int
        How many those are.
    fewest : ndarray of shape (n_sides,)
        The fewest rows that each side has in any table that ``min_rows`` was compared with; without bounds before that.

    See Also
    --------
    make_constraint : Makes one.

    Examples
    --------
    >>> from eifffel.constraints import make_constraint
    >>> from eifffel.rows.groups import read_groups
    >>> constraint = make_constraint("equal_opportunity", read_groups(["f", "m"], privileged="m"))
    >>> constraint.words
    'privileged minus unprivileged true positive rate'
    """

    name: str
    members: np.ndarray
    family: np.ndarray
    reference: np.ndarray
    names: tuple[str, ...]
    kept: np.ndarray
    min_rows: int
    fewest: np.ndarray

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def rate(self) -> str:
        """What is compared, in words."""
        return " or ".join(RATES[label] for label in CONSTRAINTS[self.name])

    @property
    def words(self) -> str:
        """What the discrimination is the difference of."""
        if self.directed:
            return f"privileged minus unprivileged {self.rate}"
        return f"largest difference of {' or '.join(f'{RATES[label]}s' for label in CONSTRAINTS[self.name])}"

    @property
    def needs_labels(self) -> bool:
        return self.name != DEMOGRAPHIC_PARITY

    @property
    def _attribute(self) -> np.ndarray:
        """The attribute of each side; a family is an attribute and one of the labels, as `make_constraint` has it."""
        return self.family // len(CONSTRAINTS[self.name])

    def find_bounded(self, groups: Groups) -> np.ndarray:
        """Whether each of those who are `compared` in the groups is bounded, in all rates."""
        n_labels = len(CONSTRAINTS[self.name])
        families = [self.kept[self._attribute == k] for k in range(len(groups.attributes))]
        return np.concatenate([kept.reshape(n_labels, -1).all(axis=0) for kept in families])

    def by_attribute(self, groups: Groups) -> list[tuple[str, "Constraint"]]:
        """The name of each attribute of the groups that is bounded, and what of the constraint is about it."""
        parts = [
            (attribute.name, replace(self, kept=self.kept & (self._attribute == k)))
            for k, attribute in enumerate(groups.attributes)
        ]
        return [(name, part) for name, part in parts if len(part.pairs)]

    @property
    def left_out(self) -> tuple[str, ...]:
        """The sides that are not bounded."""
        return tuple(name for name, kept in zip(self.names, self.kept, strict=True) if not kept)

    @property
    def optional(self) -> np.ndarray:
        """Whether each side is bounded, and could be left out: others are still compared without it."""
        alone = np.array([(self.kept & (self.family == family)).sum() <= 2 for family in self.family])
        return self.kept & ~self.reference & ~alone

    @property
    def several(self) -> bool:
        """Whether more than one difference may be bounded: there are more than two sides."""
        return len(self.names) > 2

    @property
    def directed(self) -> bool:
        """Whether the difference has a sign: there is one, of two sides, one of which is the reference."""
        return not self.several and bool(self.reference.any())

    @cached_property
    def pairs(self) -> np.ndarray:
        """The differences that are bounded, as pairs of sides, shape (n_pairs, 2): the first's rate minus the second's.

        Of two sides, one of which is the reference, in the one direction that the paper has; else in both directions,
        of the reference and each other side of its family, or, without one, of each two.
        """
        found = [
            (a, b)
            for a in np.flatnonzero(self.kept)
            for b in np.flatnonzero(self.kept & (self.family == self.family[a]))
            if a != b and self._is_bounded(a, b)
        ]
        return np.array(found, np.int64).reshape(-1, 2)

    def _is_bounded(self, a: Any, b: Any) -> bool:
        if self.directed:
            return bool(self.reference[a])
        return bool(self.reference[a] or self.reference[b] or not self.reference[self.family == self.family[a]].any())

    def count_sides(self, cells: np.ndarray) -> np.ndarray:
        """Turn counts of cells, shape (..., n_groups, n_labels), into counts of sides, shape (..., n_sides)."""
        n_labels = cells.shape[-1]
        if n_labels == 1 and self.needs_labels:
            raise InputError(f"{self.name} compares rates among people of one label; " + wording("give_y", "give y"))
        flat = cells.reshape(*cells.shape[:-2], -1)
        sides = np.zeros((*flat.shape[:-1], len(self.members)), cells.dtype)
        for side, members in enumerate(self.members[:, :, :n_labels].reshape(len(self.members), -1)):
            for cell in np.flatnonzero(members):
                sides[..., side] += flat[..., cell]
        return sides

    def on_rows(self, *cells: np.ndarray, rows: str) -> "Constraint":
        """Return the constraint without the sides that have too few rows in any of these tables of cells.

        Where a family has two sides, both stay: there would be nothing left to bound. ``rows`` names them in errors.
        """
        fewest = np.min([self.count_sides(table) for table in cells], axis=0)
        only_two = np.array([(self.family == f).sum() == 2 for f in self.family])
        for side in np.flatnonzero(only_two & self.kept & (fewest == 0)):
            raise ValueError(
                f"{self.names[side]} has no rows among {rows}, so that there is no {self.rate} to compare; give rows "
                "of it"
            )
        kept = self.kept & (only_two | (fewest >= max(self.min_rows, 1)))
        constraint = replace(self, kept=kept, fewest=fewest)
        for side in np.flatnonzero(self.reference & ~constraint.kept):
            raise InputError(
                f"{self.names[side]}, with whom all others are compared, has {_say_size(fewest[side])} rows among "
                f"{rows}, fewer than "
                + parameter("min_group_rows")
                + f"={self.min_rows}; name another group as privileged, or lower "
                + parameter("min_group_rows")
            )
        if len(constraint.pairs) == 0:
            sizes = ", ".join(f"{name} {_say_size(n)}" for name, n in zip(self.names, fewest, strict=True))
            raise InputError(
                f"fewer than two groups have {self.min_rows} rows or more among {rows} ({sizes}), and there is nothing "
                "to compare; give more rows, put groups together, or lower " + parameter("min_group_rows")
            )
        return constraint

    def find_advantage(self, favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Of two groups, the second's rate minus the first's, up to a positive factor; one for each rate compared.

        Products of counts, which are exact where these are, whatever their size.
        """
        chosen, size = (self.count_sides(table).astype(object) for table in (favorable, totals))
        return chosen[1::2] * size[0::2] - chosen[0::2] * size[1::2]

    def worst(self, favorable: np.ndarray, totals: np.ndarray) -> Worst:
        """The largest difference after each step, and between which sides.

        Signed where the constraint is `directed`. Each is one division of two exact integers, so that a difference of
        1/20 is the float 0.05 and meets that bound. A side without rows has no rate; NaN where fewer than two have one.
        """
        chosen, size = self.count_sides(favorable), self.count_sides(totals)
        found: list[Worst] = []
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = np.true_divide(chosen, size)
        for f in np.unique(self.family[self.kept]):
            sides = np.flatnonzero(self.kept & (self.family == f) & (size > 0))
            own, reference = rates[..., sides], np.flatnonzero(self.reference[sides])
            alone = not len(reference) and self.reference[self.family == f].any()
            if len(sides) < 2 or alone:
                continue
            if len(reference):
                away = own[..., reference] - own
                size_of = np.abs(away)
                size_of[..., reference] = -1
                other = size_of.argmax(axis=-1)
                above = np.take_along_axis(away, other[..., None], axis=-1)[..., 0] >= 0
                above |= self.directed
                high = np.where(above, sides[reference[0]], sides[other])
                low = np.where(above, sides[other], sides[reference[0]])
            else:
                most, least = own.argmax(axis=-1), own.argmin(axis=-1)
                least = np.where(most == least, (most + 1) % len(sides), least)  # all are equal
                high, low = sides[most], sides[least]
            found.append(Worst(_difference(chosen, size, high, low), high, low))
        if not found:
            high, low = (np.full(chosen.shape[:-1], side) for side in self.pairs[0])
            return Worst(np.full(chosen.shape[:-1], np.nan), high, low)
        largest = np.argmax(np.abs([worst.value for worst in found]), axis=0)
        value, high, low = (np.choose(largest, [worst[k] for worst in found]) for k in range(3))
        return Worst(value, high, low)

    def worst_ratio(self, favorable: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """The smallest rate divided by the largest after each step, or of a side and the reference; NaN for 0/0."""
        chosen, size = self.count_sides(favorable), self.count_sides(totals)
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = np.true_divide(chosen, size)
            ratios = np.array([rates[..., b] / rates[..., a] for a, b in self.pairs])
            if self.directed:  # in either direction, as with differences
                ratios = np.fmin(ratios, 1 / ratios)
        return np.fmin.reduce(ratios, axis=0)


def make_constraint(name: Any, groups: Groups, *, min_group_rows: Any = MIN_GROUP_ROWS) -> Constraint:
    """A constraint by its name for groups, all of them bounded.

    Parameters
    ----------
    name : str
        One of `CONSTRAINTS`, or of fairlearn's names in `ALIASES`.
    groups : Groups
        As `eifffel.rows.groups.read_groups` reads them, or ``path.grouping``.
    min_group_rows : int
        Fewer rows than these are too few; `Constraint.on_rows` is given how many there are.

    Returns
    -------
    Constraint

    Raises
    ------
    ValueError
        If the name is not known.

    Examples
    --------
    >>> from eifffel.constraints import make_constraint
    >>> from eifffel.rows.groups import read_groups
    >>> constraint = make_constraint("demographic_parity", read_groups(["f", "m", "x"]))
    >>> constraint.names, len(constraint.pairs)  # each with each, in both directions
    (('f', 'm', 'x'), 6)
    """
    name = resolve_constraint_name(name)
    check_number("min_group_rows", min_group_rows, at_least=0, integer=True)
    members, family, reference, names = [], [], [], []
    labels = CONSTRAINTS[name]
    for k, attribute in enumerate(groups.attributes):
        for j, label in enumerate(labels):
            of_label = np.array([label in (None, y) for y in (0, 1)])
            for v, value in enumerate(attribute.values):
                members.append(attribute.members[v][:, None] & of_label)
                family.append(len(labels) * k + j)
                reference.append(attribute.privileged == v)
                names.append(_name_side(attribute.name if len(groups.attributes) > 1 else "", value, label))
    return Constraint(
        name=name,
        members=np.array(members),
        family=np.array(family),
        reference=np.array(reference),
        names=tuple(names),
        kept=np.ones(len(names), bool),
        min_rows=int(min_group_rows),
        fewest=np.full(len(names), np.iinfo(np.int64).max),
    )


def resolve_constraint_name(name: Any) -> str:
    """The name of a constraint as eifffel has it."""
    known = ALIASES.get(name, name) if isinstance(name, str) else name
    check_choice(
        "constraint", known, list(CONSTRAINTS), hint=f"fairlearn's names are understood too: {listed([*ALIASES])}"
    )
    return str(known)


def _difference(chosen: np.ndarray, size: np.ndarray, high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """The rate of one side minus that of another; both numbers that are divided are exact where counts are."""
    chosen, size = without_scale(chosen, size)
    of_high, of_low = (np.take_along_axis(chosen, side[..., None], axis=-1)[..., 0] for side in (high, low))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.true_divide(of_high * size[low] - of_low * size[high], size[high] * size[low])


def _say_size(n: int) -> str:
    """A number of rows, of which less than ten are not told apart."""
    return f"{n:,}" if n >= FEWEST else f"<{FEWEST}"


def _name_side(attribute: str, value: Any, label: int | None) -> str:
    of_attribute = f"{attribute} {show_group(value)}" if attribute else show_group(value)
    return of_attribute + {None: "", 1: " with the favourable label", 0: " with the unfavourable label"}[label]
