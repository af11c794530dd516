"""Groups: which groups sensitive_features makes, and which of them are compared."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from eifffel._utils.validation import check_choice, check_known, listed, place
from eifffel.exceptions import InputError, parameter
from eifffel.rows.sensitive import (
    DROP,
    ERROR,
    MISSING,
    UNKNOWN,
    ColumnValues,
    ReadColumn,
    Tagged,
    match_names,
    name_column,
    read_columns,
    split_columns,
    with_unknown,
)
from eifffel.rows.small_counts import find_secrets, in_span

EACH, INTERSECTION = "each", "intersection"
COMBINE = (EACH, INTERSECTION)
# A column of more values holds numbers rather than groups.
MOST_GROUPS = 50


@dataclass(frozen=True, eq=False)
class Attribute:
    """An attribute, or several at once, by whose values people are compared.

    Attributes
    ----------
    name : str
        Empty where it has no name.
    values : tuple
    members : ndarray of shape (n_values, n_groups)
        Which of the `Groups` have each value.
    privileged : int or None
        The value that all others are compared with; ``None`` is each with each.
    """

    name: str
    values: tuple[Any, ...]
    members: np.ndarray
    privileged: int | None

    def reversed(self) -> "Attribute":
        """Return the attribute with its values in the opposite order."""
        privileged = None if self.privileged is None else len(self.values) - 1 - self.privileged
        return Attribute(self.name, self.values[::-1], self.members[::-1], privileged)


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups that rows are counted in: the values of a column, or those of several columns in all combinations.

    A sequence of the groups themselves, which are tuples where there are several columns.

    Attributes
    ----------
    columns : tuple of tuples
        The values of each column.
    names : tuple of str
        What the columns are called, empty where they have no name.
    combine : str
        Whether people are compared by each column in turn or by all of them at once.
    missing : str
        What becomes of a row without a value.
    privileged : tuple
        For each of the `attributes`, the place of the privileged value, or ``None``.
    """

    columns: tuple[tuple[Any, ...], ...]
    names: tuple[str, ...]
    combine: str = EACH
    missing: str = ERROR
    privileged: tuple[int | None, ...] = (None,)

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The groups."""
        return self.columns[0] if len(self.columns) == 1 else tuple(product(*self.columns))

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __getitem__(self, k: int) -> Any:
        return self.values[k]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("columns", "names", "combine", "missing", "privileged")}

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """What people are compared by; of two groups in all, the privileged one stands last."""
        if len(self.columns) == 1 or self.combine == INTERSECTION:
            whole = Attribute(self.name, self.values, np.eye(len(self), dtype=bool), self.privileged[0])
            return (whole.reversed() if len(self) == 2 and self.privileged[0] == 0 else whole,)
        digits = np.array(list(product(*(range(len(values)) for values in self.columns))))
        return tuple(
            Attribute(name, values, digits[:, k] == np.arange(len(values))[:, None], self.privileged[k])
            for k, (name, values) in enumerate(zip(self.names, self.columns, strict=True))
        )

    @property
    def name(self) -> str:
        """What they are groups of; empty where it has no name."""
        return " x ".join(self.names)

    @cached_property
    def compared(self) -> tuple[str, ...]:
        """The values of all attributes in words: those that are compared with each other."""
        several = len(self.attributes) > 1
        return tuple(
            f"{attribute.name} {show_group(value)}" if several else show_group(value)
            for attribute in self.attributes
            for value in attribute.values
        )

    @cached_property
    def attribute_of(self) -> np.ndarray:
        """The place of the attribute that each of the `compared` values belongs to."""
        return np.repeat(np.arange(len(self.attributes)), [len(attribute.values) for attribute in self.attributes])

    def count_compared(self, counts: np.ndarray) -> np.ndarray:
        """Turn counts of groups, shape (..., n_groups, n_labels), into counts of the `compared` values."""
        members = np.concatenate([attribute.members for attribute in self.attributes])
        return np.einsum("vg,...gl->...vl", members.astype(counts.dtype), counts)

    def count_people(self, n_rows: np.ndarray) -> np.ndarray:
        """Return how many people have each of the `compared` values, given how many are in each group."""
        return self.count_compared(n_rows[:, None])[:, 0]

    def find_described(self, n_rows: np.ndarray) -> np.ndarray:
        """Return which groups are described in reports and records, given how many people are in each.

        A group is left out if fewer than ten people share one of its `compared` values, or if sums over values would
        reveal so few, as where all but a few people of one value are all people of another. Such people are in no sum
        either: what is reported covers the others only, and nothing about those few can be computed from it.
        """
        return self._leave_out(n_rows[:, None], n_rows > 0)

    def find_labelled(self, totals: np.ndarray, described: np.ndarray) -> np.ndarray:
        """Return which of these groups have their labels reported; ``totals`` has shape (n_groups, n_labels).

        A group is left out if some people of one of its `compared` values have a label, and they are fewer than ten.
        """
        return self._leave_out(totals, described)

    def _leave_out(self, people: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Leave out groups until, in each column of ``people``, sums over values reveal no set of fewer than ten."""
        margins = np.concatenate([attribute.members for attribute in self.attributes])
        while True:
            known = np.zeros(len(groups), bool)
            for size in (people * groups[:, None]).T:
                # Readers can see which combinations nobody has.
                sums = np.concatenate([margins, np.eye(len(size), dtype=bool)[size == 0]])
                secret = find_secrets(margins, size)
                known |= secret[in_span(sums, secret)].any(axis=0)
            if not known.any():
                return groups
            groups = groups & ~known

    def encode(self, sensitive_features: Any, X: Any, *, rows: str) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the index of each row's group, and which rows have one, ``None`` if all do; ``rows`` names them.

        Not every group need have a row.
        """
        read = read_columns(split_columns(sensitive_features), X, self.missing, rows=rows, beside=[("X", X)])
        return self.encode_read(self.match_columns(read, rows))

    def match_columns(self, read: list[ReadColumn], rows: str) -> list[ReadColumn]:
        """Return columns in the order of these groups; raises if they are other columns, or hold other values."""
        matched = [column for _, column in self._match([(column.values.name, column) for column in read], rows)]
        self.check_values([column.values for column in matched], rows)
        return matched

    def encode_read(self, read: list[ReadColumn]) -> tuple[np.ndarray, np.ndarray | None]:
        """Encode columns that `match_columns` returned; see `encode`."""
        n_rows = len(read[0].gaps)
        code, known = np.zeros(n_rows, np.uint8), np.ones(n_rows, bool)
        for (_, found, gaps), values in zip(read, self.columns, strict=True):
            own = np.full(n_rows, values.index(UNKNOWN) if UNKNOWN in values else 0, np.uint8)
            own[~gaps] = _find_places(found, values)
            if self.missing == DROP:
                own[gaps] = 0
                known &= ~gaps
            code = code * np.uint8(len(values)) + own
        return code, None if known.all() else known

    def check_values(
        self, columns: list[ColumnValues], rows: str, find: Callable[[str, Any], str] | None = None
    ) -> None:
        """Raise if columns hold a value that these groups do not know; ``find`` says where it is."""
        for column, values in zip(self._match(columns, rows), self.columns, strict=True):
            what = name_column(f"sensitive_features of {rows}", column.name)
            find_value = None if find is None else partial(find, column.name)
            check_known(what, with_unknown(column, self.missing), values, "the groups", find=find_value)

    def _match(self, given: list[Tagged], rows: str) -> list[Tagged]:
        """Return the given columns in the order of these groups; a single one may have any name."""
        if len(given) != len(self.columns):
            raise ValueError(
                f"sensitive_features of {rows} has {len(given)} columns, and the groups are of {len(self.columns)}: "
                f"{listed(self.names)}; give the same columns"
            )
        unknown = [column[0] for column in given if column[0] and column[0] not in self.names]
        if len(given) > 1 and unknown and all(self.names):
            raise ValueError(
                f"sensitive_features of {rows} has the column {unknown[0]!r}, and the groups are of "
                f"{listed(self.names)}; give the same columns"
            )
        return match_names(given, self.names)

    def find_privileged(self, privileged: Any) -> "Groups":
        """Return the groups with the privileged ones that a caller names: one, or one for each attribute by name."""
        if privileged is None:
            return self
        if not isinstance(privileged, Mapping):
            if len(self.attributes) > 1:
                raise InputError(
                    parameter("privileged")
                    + f" must name the attribute, as in {{{self.names[0]!r}: {self.columns[0][0]!r}}}, where "
                    f"each of {listed(self.names)} is compared; got {privileged!r}"
                )
            rule = parameter("privileged") + f" must be one of the groups {listed(self.values)}"
            index = place(rule, self.values, privileged)
            return replace(self, privileged=(index,))
        unknown = [name for name in privileged if name not in self.names]
        if unknown:
            raise InputError(
                parameter("privileged") + f" names {unknown[0]!r}, not among the attributes {listed(self.names)}"
            )
        rule = parameter("privileged") + " must be one of the groups "
        places = [
            place(rule + f"{listed(values)} of {name!r}", values, privileged[name]) if name in privileged else None
            for name, values in zip(self.names, self.columns, strict=True)
        ]
        if self.combine == INTERSECTION or len(self.columns) == 1:
            if None in places:
                raise InputError(
                    parameter("privileged")
                    + f" must name a value of each of {listed(self.names)}, whose combinations are compared; "
                    f"got {dict(privileged)!r}"
                )
            values = tuple(column[k] for column, k in zip(self.columns, places, strict=True) if k is not None)
            return replace(self, privileged=(self.values.index(values if len(self.columns) > 1 else values[0]),))
        return replace(self, privileged=tuple(places))


def read_groups(
    sensitive_features: Any, *, combine: str = EACH, missing: str = ERROR, privileged: Any = None, also: Any = None
) -> Groups:
    """The groups of rows, each column's values sorted; see `eifffel.trace_path` for the parameters.

    ``also`` are groups of other rows. Where an attribute has more than two values, some may occur only there; where it
    has two, a third is a mistake, and is refused where those rows are encoded.
    """
    check_choice("missing", missing, MISSING)

    def read(given: Any) -> list[ColumnValues]:
        columns = split_columns(given)
        return [column.values for column in read_columns(columns, columns[0][1], missing)]

    others = None if also is None else read(also)
    return make_groups(read(sensitive_features), combine=combine, missing=missing, privileged=privileged, also=others)


def make_groups(
    first: list[ColumnValues],
    *,
    combine: str = EACH,
    missing: str = ERROR,
    privileged: Any = None,
    also: list[ColumnValues] | None = None,
) -> Groups:
    """The groups of columns with these values; see `read_groups`."""
    check_choice("combine", combine, COMBINE)
    others = [] if also is None else match_names(also, [column.name for column in first])
    if len(others) == len(first):
        first = [
            column.join(other) if len(column.values) > 2 else column
            for column, other in zip(first, others, strict=True)
        ]
    columns = [with_unknown(column, missing) for column in first]
    for (name, *_), values in zip(first, columns, strict=True):
        what = name_column("sensitive_features", name)
        if not values:
            raise ValueError(f"{what} has no rows")
        if len(values) < 2 and (len(first) == 1 or combine == EACH):
            raise ValueError(
                f"{what} must have two values or more, got only {listed(values)}: the other group is missing, and "
                "there is no difference between groups to measure"
            )
    n_groups = prod(map(len, columns))
    if n_groups < 2:
        raise ValueError("sensitive_features has one group only, and there is no difference between groups to measure")
    check_few(first, n_groups)
    n_attributes = 1 if len(columns) == 1 or combine == INTERSECTION else len(columns)
    names = [name or (f"attribute {k}" if len(first) > 1 else "") for k, (name, *_) in enumerate(first, start=1)]
    groups = Groups(tuple(map(tuple, columns)), tuple(names), combine, missing, (None,) * n_attributes)
    return groups.find_privileged(privileged)


def check_few(columns: list[ColumnValues], n_groups: int) -> None:
    """Raise if these columns have more groups than can be counted."""
    if n_groups > MOST_GROUPS:
        of = f" in all combinations of {listed([column.name for column in columns])}" if len(columns) > 1 else ""
        raise ValueError(
            f"sensitive_features has {n_groups} groups{of}, and {MOST_GROUPS} are the most; make bands of numbers and "
            "put rare values together"
        )


def read_two_groups(sensitive_features: Any) -> Groups:
    """The groups of one column that must have two."""
    groups = read_groups(sensitive_features)
    if len(groups) > 2:
        raise ValueError(
            f"sensitive_features must have two values here, got {len(groups)}: {listed(groups.values)}. Pass a column "
            f"that says who belongs to one group, such as sensitive_features == {groups[0]!r}"
        )
    return groups


def look_up(found: np.ndarray, values: Sequence[Any]) -> np.ndarray:
    """Where each of the objects that were found stands among all values."""
    places = {value: place for place, value in enumerate(values)}
    return np.fromiter((places[value] for value in found.tolist()), np.int64, len(found))


def _find_places(found: np.ndarray, values: Sequence[Any]) -> np.ndarray:
    if found.dtype == object:  # tuples among them, which NumPy would compare part by part
        return look_up(found, values)
    return sum((k * (found == value) for k, value in enumerate(values)), start=np.zeros(len(found)))


def show_group(value: Any) -> str:
    """A group in words."""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
