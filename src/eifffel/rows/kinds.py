"""RowKinds: rows by a hash of what is in them: whether some are among others, and which to draw as a sample."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse

from eifffel._validation import is_missing, named_columns

# Rows are the same if so large a share of them must be, and chance is so many standard errors away.
SHARE = 0.5
ERRORS = 5.0
MIX = np.uint64(0x9E3779B97F4A7C15)
# Of more kinds, those with the lowest numbers are kept.
MOST_KINDS = 100_000
LARGEST = 2**64 - 1


@dataclass(frozen=True, eq=False)
class RowKinds:
    """Kinds of rows, as numbers: all of them, or those with the lowest numbers, which are as good as drawn.

    Which these are depends on what is in the rows alone, not on their order or on how they were cut into batches.

    Attributes
    ----------
    kind : ndarray of uint64
        Of each set of equal rows, sorted.
    count : ndarray
        How many rows there are of each kind.
    last : int
        The largest number that would have been kept.
    most : int
        How many kinds are kept.
    """

    kind: np.ndarray
    count: np.ndarray
    last: int = LARGEST
    most: int = MOST_KINDS

    @classmethod
    def of(cls, X: Any) -> "RowKinds":
        """From rows as they were given; what is known of them already stays as it is."""
        return X if isinstance(X, RowKinds) else cls.of_kinds(hash_rows(X))

    @classmethod
    def of_kinds(cls, kind: np.ndarray, most: int | None = None) -> "RowKinds":
        """From the kind of each row."""
        return cls(*np.unique(kind, return_counts=True), most=MOST_KINDS if most is None else most)._lowest()

    def join(self, other: "RowKinds") -> "RowKinds":
        """Both together."""
        last = min(self.last, other.last)
        one, two = self._below(last), other._below(last)
        kind, place = np.unique(np.concatenate([one.kind, two.kind]), return_inverse=True)
        count = np.bincount(place.ravel(), np.concatenate([one.count, two.count])).astype(np.int64)
        return RowKinds(kind, count, last, self.most)._lowest()

    def _lowest(self) -> "RowKinds":
        return self if len(self.kind) <= self.most else self._below(int(self.kind[self.most - 1]))

    def _below(self, last: int) -> "RowKinds":
        n_kinds = int(np.searchsorted(self.kind, np.uint64(last), side="right"))
        return replace(self, kind=self.kind[:n_kinds], count=self.count[:n_kinds], last=last)

    def overlap(self, other: "RowKinds") -> bool:
        """Whether half of these rows or more are among the others, or half of the others among these."""
        last = min(self.last, other.last)
        one, two = self._below(last), other._below(last)
        return one._mostly_in(two) or two._mostly_in(one)

    def _mostly_in(self, other: "RowKinds") -> bool:
        n_rows, n_other = self.count.sum(), other.count.sum()
        if not n_rows or not n_other:
            return False
        found = self.count[np.isin(self.kind, other.kind)].sum() / n_rows
        # Rows that are not the same, but drawn alike, are found as often as rows of the other set have a twin in it.
        twins = other.count[other.count > 1].sum() / n_other
        same = found - twins
        error = np.sqrt(max(twins * (1 - twins), 1 / n_rows) * (1 / n_rows + 1 / n_other))
        return bool(same > SHARE * (1 - twins) and same > ERRORS * error)


def hash_rows(X: Any) -> np.ndarray:
    """A number for each row, equal for equal rows, on whichever machine."""
    if issparse(X):
        entries = X.tocoo()
        total = np.zeros(X.shape[0], np.uint64)
        np.add.at(total, entries.row, _mix(entries.data.astype(np.float64), entries.col.astype(np.uint64)))
        return _spread(total)
    total = np.zeros(1, np.uint64)
    for place, column in enumerate(_columns(X)):
        if column.dtype.kind not in "iufb":
            values = column.tolist()
            number = {value: _number(value) for value in set(values)}
            column = np.fromiter(map(number.__getitem__, values), np.float64, len(values))
        total = total + _mix(column.astype(np.float64), np.uint64(place))
    return _spread(total)


def _columns(X: Any) -> Iterator[np.ndarray]:
    """The columns of a table, each value as it is, whatever others there are."""
    if hasattr(X, "columns"):
        yield from (column for _, column in named_columns(X))
    else:
        yield from np.asarray(X).T


def _number(value: Any) -> float:
    """A number for a value: itself if it is one, NaN where it is missing, else from its text."""
    if is_missing(value):
        return np.nan
    if isinstance(value, Real):
        return float(value)
    return float(int.from_bytes(blake2b(str(value).encode(errors="surrogatepass"), digest_size=6).digest(), "little"))


def _mix(value: np.ndarray, place: np.ndarray | np.uint64) -> np.ndarray:
    """Bits of values and of their columns, mixed; 0 for 0, which a sparse matrix leaves out."""
    value = np.where(np.isnan(value), np.nan, value + 0.0)  # there are many NaNs, and two zeros
    mixed = value.view(np.uint64) ^ (np.asarray(place + np.uint64(1)) * MIX)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * MIX
    return np.where(value == 0, np.uint64(0), mixed ^ (mixed >> np.uint64(29)))


def _spread(total: np.ndarray) -> np.ndarray:
    """Numbers spread over all there are, so that no kind of row has a low one for what is in it, such as zeros."""
    total = (total ^ (total >> np.uint64(32)) ^ MIX) * MIX
    return total ^ (total >> np.uint64(29))
