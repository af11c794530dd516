"""RowKinds: rows by a hash of what is in them: which are among others, which are repeated, and which to draw."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.stats import binom

from eifffel._validation import find_row_names, is_missing, named_columns

# What would happen as seldom is not taken for chance.
CHANCE = 1e-5
# Rows that are there more often in two tables together say little of whether one was copied from the other.
MOST_TIMES = 8
# So many kinds of rows are not all there an even number of times by chance, nor a multiple of any other.
LEAST_KINDS = 30
MIX = np.uint64(0x9E3779B97F4A7C15)
# Of more kinds, those with the lowest numbers are kept.
MOST_KINDS = 100_000
LARGEST = 2**64 - 1


@dataclass(frozen=True, eq=False)
class RowNames:
    """The names that rows have in an index, and the kind of each.

    Attributes
    ----------
    name, kind : ndarray of uint64
        Of each row, sorted by name; of many, those with the lowest.
    last : int
        The largest name that would have been kept.
    """

    name: np.ndarray
    kind: np.ndarray
    last: int = LARGEST

    @classmethod
    def of(cls, X: Any, kind: np.ndarray) -> "RowNames | None":
        """From rows as they were given; ``None`` where no index tells them apart."""
        index = find_row_names(X)
        if index is None:
            return None
        from pandas.util import hash_pandas_object

        name = hash_pandas_object(index, index=False).to_numpy(np.uint64)
        order = np.argsort(name)[:MOST_KINDS]
        return cls(name[order], kind[order], LARGEST if len(order) == len(name) else int(name[order[-1]]))

    def count_same(self, other: "RowNames") -> tuple[int, int, int]:
        """How many names there are, how many of them the others have, and how many of those for equal rows."""
        n_names = int(np.searchsorted(self.name, np.uint64(min(self.last, other.last)), side="right"))
        _, one, two = np.intersect1d(self.name[:n_names], other.name, assume_unique=True, return_indices=True)
        return n_names, len(one), int((self.kind[one] == other.kind[two]).sum())


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
    names : RowNames or None
        What an index calls the rows, where all are at hand and it tells them apart.
    """

    kind: np.ndarray
    count: np.ndarray
    last: int = LARGEST
    most: int = MOST_KINDS
    names: RowNames | None = None

    @classmethod
    def of_kinds(cls, kind: np.ndarray, most: int | None = None, names: RowNames | None = None) -> "RowKinds":
        """From the kind of each row."""
        kind, count = np.unique(kind, return_counts=True)
        return cls(kind, count, most=MOST_KINDS if most is None else most, names=names)._lowest()

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

    def overlap(self, other: "RowKinds") -> float:
        """About which share of these rows are among the others; 0 where repetition within the tables explains it.

        Of two tables that owe nothing to each other, whatever each was drawn from, a kind of row that is there ``m``
        times in all is in both of them with a probability of at most ``1 - 2 ** (1 - m)``: that of equal shares. Copied
        rows are in both more often. Where an index tells rows apart, equal rows of the same name are the same.
        """
        last = min(self.last, other.last)
        one, two = self._below(last), other._below(last)
        n_rows, n_other = int(one.count.sum()), int(two.count.sum())
        if not n_rows or not n_other:
            return 0.0
        _, here, there = np.intersect1d(one.kind, two.kind, assume_unique=True, return_indices=True)
        found = one.count[here].sum() / n_rows
        share = 0.0
        copied = one._count_copied(two, here, there)
        if copied:
            # Rows that are drawn alike are found as often as rows of the other table have a twin in it.
            twins = two.count[two.count > 1].sum() / n_other
            share = max(copied / n_rows, (found - twins) / (1 - twins) if twins < 1 else 0.0)
        if self.names is not None and other.names is not None:
            alike = float(one.count[here] @ two.count[there]) / (n_rows * n_other)
            n_names, shared, same = self.names.count_same(other.names)
            if binom.sf(same - 1, shared, alike) < CHANCE:
                share = max(share, same / n_names)
        return share

    def _count_copied(self, other: "RowKinds", here: np.ndarray, there: np.ndarray) -> float:
        """How many of these rows are copies of others at least; 0 where that may be chance.

        The kinds that are in both stand at the places ``here`` and ``there``.
        """
        own = self.count[here]
        times = own + other.count[there]
        alone = np.concatenate([np.delete(self.count, here), np.delete(other.count, there)])
        copied = 0.0
        for m in range(2, MOST_TIMES + 1):
            in_both, in_one = int((times == m).sum()), int((alone == m).sum())
            if in_both and binom.sf(in_both - 1, in_both + in_one, 1 - 2.0 ** (1 - m)) < CHANCE:
                by_chance = (2 ** (m - 1) - 1) * in_one
                copied += own[times == m].sum() * max(1 - by_chance / in_both, 0)
        return copied

    @property
    def repeats(self) -> int:
        """How many times over all rows are repeated: what the numbers of times that they are there have in common."""
        return int(np.gcd.reduce(self.count)) if len(self.count) >= LEAST_KINDS else 1


def see_rows(X: Any, checked: Any) -> RowKinds:
    """The kinds of rows, from these as they were given and as a model takes them."""
    kind = hash_rows(checked)
    return RowKinds.of_kinds(kind, names=RowNames.of(X, kind))


def find_overlap(rows: RowKinds | None, others: RowKinds | None) -> float:
    """About which share of rows are among others; 0 where nothing is known of either."""
    return 0.0 if rows is None or others is None else rows.overlap(others)


def hash_rows(X: Any) -> np.ndarray:
    """A number for each row, equal for equal rows, on whichever machine.

    Numbers are compared as float32, which is how most models see them.
    """
    if issparse(X):
        entries = X.tocoo()
        total = np.zeros(X.shape[0], np.uint64)
        np.add.at(total, entries.row, _mix(_round(entries.data), entries.col.astype(np.uint64)))
        return _spread(total)
    total = np.zeros(1, np.uint64)
    for place, column in enumerate(_columns(X)):
        if column.dtype.kind in "iufb":
            column = _round(column)
        else:
            values = column.tolist()
            numbers = {value: _number(value) for value in set(values)}
            column = np.fromiter(map(numbers.__getitem__, values), np.float64, len(values))
        total = total + _mix(column, np.uint64(place))
    return _spread(total)


def _columns(X: Any) -> Iterator[np.ndarray]:
    """The columns of a table, each value as it is, whatever others there are."""
    if hasattr(X, "columns"):
        yield from (column for _, column in named_columns(X))
    else:
        yield from np.asarray(X).T


def _round(column: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return column.astype(np.float32).astype(np.float64)


def _number(value: Any) -> float:
    """A number for a value: itself if it is one, NaN where it is missing, else from its text."""
    if is_missing(value):
        return np.nan
    if isinstance(value, Real):
        with np.errstate(over="ignore"):
            return float(np.float32(float(value)))
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
