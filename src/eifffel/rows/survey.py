"""Survey: what rows hold, before any model sees them: groups, labels and weights, and how many there are of each."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate
from math import frexp, ldexp, prod
from typing import Any, NamedTuple

import numpy as np

from eifffel._utils.parallel import Bar
from eifffel._utils.validation import check_in_memory, check_length, read_column, sort_values
from eifffel.rows.batches import Batch, Batches
from eifffel.rows.groups import INTERSECTION, Groups, check_few, look_up
from eifffel.rows.labels import check_two_labels
from eifffel.rows.sensitive import (
    ColumnValues,
    ReadColumn,
    join_values,
    match_group,
    read_columns,
    split_columns,
    with_unknown,
)

# More labels are a mistake, such as a column of amounts.
MOST_LABELS = 1000
# Rounding to whole units changes a weight of so many by a thousandth at most.
LEAST_UNITS = 500


class WeightScale(NamedTuple):
    """What decides in which units sample weights are counted; ``smallest`` is that of those above 0."""

    smallest: float
    largest: float
    divisor: float
    n_rows: int

    @classmethod
    def of(cls, weight: np.ndarray) -> "WeightScale":
        smallest = float(weight.min(where=weight > 0, initial=np.inf))
        return cls(smallest, float(weight.max()), common_divisor(weight), len(weight))

    def join(self, other: "WeightScale") -> "WeightScale":
        divisor = common_divisor(np.array([self.divisor, other.divisor]))
        smallest, largest = min(self.smallest, other.smallest), max(self.largest, other.largest)
        return WeightScale(smallest, largest, divisor, self.n_rows + other.n_rows)

    @property
    def unit(self) -> float:
        """The weight that counts 1: what divides all of them, if sums of all rows then fit 63 bits, else as little.

        Whole or equal weights so become small integers, with which scoring is exact.
        """
        return self.divisor if self._counts_exactly else self._finest

    @property
    def constant(self) -> bool:
        """Whether all weights above 0 are the same: rows that have one are counted, and that is all they say."""
        return self.smallest == self.largest

    @property
    def _counts_exactly(self) -> bool:
        """Whether sums of all rows fit 63 bits in units of what divides all weights."""
        return Fraction(self.largest) * self.n_rows <= Fraction(self.divisor) * 2**62

    @property
    def _finest(self) -> float:
        """The smallest power of two as unit with which sums of all rows fit 63 bits."""
        mantissa, exponent = frexp(self.largest)
        together = int(ldexp(mantissa, 53)) * self.n_rows
        return ldexp(1.0, exponent - 53 + (together - 1).bit_length() - 62)

    def check(self, rows: str) -> None:
        """Raise if no weight is above 0, or if they are too far apart or too large to be counted.

        Each must be counted to within a thousandth of itself, since a group may have no others; those that one unit
        divides are counted as they are.
        """
        what = f"sample_weight of {rows}"
        if self.largest == 0:
            raise ValueError(f"{what} is zero for every row")
        ranges = f"{what} ranges from {self.smallest:.6g} to {self.largest:.6g}"
        least = LEAST_UNITS * self._finest
        if not self._counts_exactly and self.smallest < least:
            raise ValueError(
                f"{ranges}; beside weights that large, of {self.n_rows} rows, those from {least:.6g} on can be counted "
                "to within a thousandth of themselves. Make the largest smaller, or give rows that hardly count a "
                "weight of 0"
            )
        most = np.finfo(np.float64).max / self.n_rows
        if self.largest > most:
            raise ValueError(
                f"{ranges}; of {self.n_rows} rows, weights up to {most:.3g} have a sum that is a number. Divide all by "
                "one number, which changes no rate"
            )


@dataclass(frozen=True, eq=False)
class Survey:
    """What rows hold.

    Attributes
    ----------
    n_rows : int
    values : list of ColumnValues
        What is in each column of sensitive_features.
    labels : list or None
        The distinct labels, sorted; ``None`` where there are none.
    tally : dict
        How many rows of weight there are of each (group, label) that occurs.
    scale : WeightScale or None
        Of sample weights, if there are any.
    first : dict
        The first batch in which each (column, value) was seen; labels are of the column ``"y"``.
    sizes : dict
        How many rows each batch has, by its number.
    """

    n_rows: int
    values: list[ColumnValues]
    labels: list[Any] | None
    tally: dict[tuple[Any, Any], int]
    scale: WeightScale | None
    first: dict[tuple[str, Any], str]
    sizes: dict[int, int]

    @cached_property
    def starts(self) -> dict[int, int]:
        """The place of the first row of each batch among all rows, by its number."""
        numbers = sorted(self.sizes)
        ends = accumulate(self.sizes[number] for number in numbers)
        return {number: end - self.sizes[number] for number, end in zip(numbers, ends, strict=True)}

    def find(self, column: str, value: Any) -> str:
        """Where a value of a column was first seen, in words."""
        where = self.first.get((column, value), "")
        return f" (in {where})" if where else ""

    def join(self, other: "Survey") -> "Survey":
        """Return the survey of both together."""
        if (self.labels is None) != (other.labels is None):
            raise ValueError("some batches have y and others have none; give it for all of them")
        if (self.scale is None) != (other.scale is None):
            raise ValueError("some batches have a sample_weight and others have none; give it for all of them")
        names = [column.name for column in self.values]
        tally = dict(self.tally)
        for (group, label), n_rows in other.tally.items():
            key = match_group(group, other.values, names), label
            tally[key] = tally.get(key, 0) + n_rows
        return Survey(
            self.n_rows + other.n_rows,
            join_values(self.values, other.values),
            None if self.labels is None or other.labels is None else _join_labels(self.labels, other.labels),
            tally,
            None if self.scale is None or other.scale is None else self.scale.join(other.scale),
            _join_first(self.first, other.first),
            self.sizes | other.sizes,
        )


def survey_batches(batches: Batches, missing: str, *, rows: str, verbose: int = 0) -> Survey:
    """Survey all rows; ``rows`` names them in errors."""
    found = batches.without_features.reduce(
        partial(survey_batch, missing=missing, rows=rows),
        Survey.join,
        Bar("reading groups and labels", verbose),
    )
    if found is None:
        raise ValueError(f"there are no rows: {rows} are empty")
    if sum(found.sizes.values()) != found.n_rows:
        raise ValueError(
            f"batches of {rows} have the same number, so that the places of their rows are not known; give each Batch "
            "its own, number=0, 1, 2, ..."
        )
    if found.scale is not None:
        found.scale.check(rows)
    if not any(found.tally.values()):
        raise ValueError(f"no row of {rows} has a group; give rows whose group is known")
    return found


def survey_batch(batch: Batch, missing: str, rows: str) -> Survey:
    """Survey some rows."""
    n_rows = len(batch)
    read = read_batch(batch, missing, rows)
    values = [column.values for column in read.columns]
    columns = tuple(tuple(with_unknown(column, missing)) for column in values)
    check_few(values, prod(map(len, columns)))
    groups = Groups(columns, tuple(column.name for column in values), INTERSECTION, missing)
    code, known = groups.encode_read(read.columns)
    weight = None if batch.sample_weight is None else check_weight(batch.sample_weight, n_rows, rows)
    counts = np.ones(n_rows, bool) if known is None else known
    if weight is not None:
        counts = counts & (weight > 0)
    labels: list[Any] | None = None
    cell = code.astype(np.int64)
    if read.labels is not None:
        found, labels = read.labels
        if len(labels) > MOST_LABELS:
            check_two_labels(labels, sets=True)
        cell = cell * len(labels) + _positions_among(found, labels)
    named = [(group, label) for group in groups for label in (labels or [None])]
    n_of_cell = np.bincount(cell[counts], minlength=len(named)).tolist()
    return Survey(
        n_rows=n_rows,
        values=values,
        labels=labels,
        tally={key: n for key, n in zip(named, n_of_cell, strict=True) if n},
        scale=None if weight is None else WeightScale.of(weight),
        first=dict.fromkeys(
            [
                *(("y", label) for label in labels or ()),
                *((column.name, value) for column in values for value in column.values),
            ],
            batch.where,
        ),
        sizes={batch.number: n_rows},
    )


class ReadBatch(NamedTuple):
    """The columns of groups of a batch, and its labels, each and the distinct ones."""

    columns: list[ReadColumn]
    labels: tuple[np.ndarray, list[Any]] | None


def read_batch(batch: Batch, missing: str, rows: str) -> ReadBatch:
    """Read groups and labels, once; ``rows`` names them in errors."""
    if "read" not in batch.memo:
        labels, what = None, f"y of {rows}"
        beside = [("X", batch.X), (what, batch.y), (f"sample_weight of {rows}", batch.sample_weight)]
        given = split_columns(batch.sensitive_features)
        columns = read_columns(given, batch.like, missing, rows=rows, beside=beside)
        if batch.y is not None:
            found, distinct, _ = read_column(what, batch.y)
            check_length(what, found, len(batch))
            labels = (found, distinct)
        batch.memo["read"] = ReadBatch(columns, labels)
    read: ReadBatch = batch.memo["read"]
    return read


def check_weight(sample_weight: Any, n_rows: int, rows: str) -> np.ndarray:
    """Sample weights as numbers, one per row."""
    check_in_memory(f"sample_weight of {rows}", sample_weight)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    check_length(f"sample_weight of {rows}", weight, n_rows)
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(f"sample_weight of {rows} must be finite and not negative")
    return weight


def common_divisor(weight: np.ndarray) -> float:
    """The largest number that divides all weights, exactly: floats are whole numbers times powers of two."""
    mantissa, exponent = np.frexp(weight[weight > 0])
    if len(mantissa) == 0:
        return 0.0
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    power = whole & -whole  # of two, in each
    least = int((exponent - 53 + np.log2(power).astype(np.int64)).min())
    return float(np.ldexp(float(np.gcd.reduce(whole // power)), least))


def _positions_among(found: np.ndarray, values: list[Any]) -> np.ndarray:
    """Where each of the values that were found stands among the sorted ones."""
    if found.dtype.kind in "biufc":
        return np.searchsorted(np.array(values, found.dtype), found)
    return look_up(found, values)


def _join_first(a: dict[tuple[str, Any], str], b: dict[tuple[str, Any], str]) -> dict[tuple[str, Any], str]:
    joined = a | b
    for key in a.keys() & b.keys():
        joined[key] = min(a[key], b[key], key=lambda where: (len(where), where))  # 9 is before 10
    return joined


def _join_labels(a: list[Any], b: list[Any]) -> list[Any]:
    return sort_values("y", list(dict.fromkeys([*a, *b])))
