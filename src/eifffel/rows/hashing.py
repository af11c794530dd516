"""RowHashes: a hash of what is in each row says which rows are among others, which are repeated, which to draw."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.stats import binom

from eifffel._utils.parallel import jobs_for, run_threads, split_evenly
from eifffel._utils.validation import find_row_names, is_missing, named_columns
from eifffel.kernels import row_kernels
from eifffel.kernels.row_kernels import MIX

# What is less probable than this is not taken for chance.
OVERLAP_CHANCE = 1e-5
# Rows that occur more often in two tables together say little about whether one was copied from the other.
MOST_TIMES = 8
# So many distinct rows do not all occur an even number of times by chance, nor a multiple of any other number.
LEAST_HASHES = 30
# If there are more distinct rows, those with the lowest hashes are kept.
MOST_HASHES = 100_000
LARGEST_HASH = 2**64 - 1


@dataclass(frozen=True, eq=False)
class RowNames:
    """The names that rows have in an index, as hashes, and the hash of each row.

    Attributes
    ----------
    name, row_hash : ndarray of uint64
        Of each row, sorted by name; of many rows, those with the lowest names.
    last : int
        The largest name that would have been kept.
    """

    name: np.ndarray
    row_hash: np.ndarray
    last: int = LARGEST_HASH

    @classmethod
    def of(cls, X: Any, row_hash: np.ndarray) -> "RowNames | None":
        """Read the names of rows as they were given; ``None`` where no index tells them apart."""
        index = find_row_names(X)
        if index is None:
            return None
        from pandas.util import hash_pandas_object

        name = hash_pandas_object(index, index=False).to_numpy(np.uint64)
        order = np.argsort(name)[:MOST_HASHES]
        return cls(name[order], row_hash[order], LARGEST_HASH if len(order) == len(name) else int(name[order[-1]]))

    def count_same(self, other: "RowNames") -> tuple[int, int, int]:
        """Return how many names there are, how many the others have too, and how many of those belong to equal rows."""
        n_names = int(np.searchsorted(self.name, np.uint64(min(self.last, other.last)), side="right"))
        _, one, two = np.intersect1d(self.name[:n_names], other.name, assume_unique=True, return_indices=True)
        return n_names, len(one), int((self.row_hash[one] == other.row_hash[two]).sum())


@dataclass(frozen=True, eq=False)
class RowHashes:
    """The hashes of rows: all of them, or the lowest, which are as good as drawn at random.

    Which rows these are depends only on what is in them, not on their order or on how they were cut into batches.

    Attributes
    ----------
    value : ndarray of uint64
        The hash of each set of equal rows, sorted.
    count : ndarray
        How many rows have each hash.
    last : int
        The largest hash that would have been kept.
    most : int
        How many hashes are kept.
    names : RowNames or None
        What an index calls the rows, where all of them are in memory and it tells them apart.
    """

    value: np.ndarray
    count: np.ndarray
    last: int = LARGEST_HASH
    most: int = MOST_HASHES
    names: RowNames | None = None

    @classmethod
    def of(cls, row_hash: np.ndarray, most: int | None = None, names: RowNames | None = None) -> "RowHashes":
        """Collect the hashes of rows, given one for each row."""
        most = MOST_HASHES if most is None else most
        if len(row_hash) > 4 * most:  # of hashes, which are spread evenly, twice as many are below this
            below = row_hash[row_hash <= np.uint64(LARGEST_HASH // len(row_hash) * 2 * most)]
            value, count = np.unique(below, return_counts=True)
            if len(value) > most:
                return cls(value, count, most=most, names=names)._lowest()
        value, count = np.unique(row_hash, return_counts=True)
        return cls(value, count, most=most, names=names)._lowest()

    def join(self, other: "RowHashes") -> "RowHashes":
        """Return the hashes of both together."""
        last = min(self.last, other.last)
        one, two = self._below(last), other._below(last)
        value, place = np.unique(np.concatenate([one.value, two.value]), return_inverse=True)
        count = np.bincount(place.ravel(), np.concatenate([one.count, two.count])).astype(np.int64)
        return RowHashes(value, count, last, self.most)._lowest()

    def _lowest(self) -> "RowHashes":
        return self if len(self.value) <= self.most else self._below(int(self.value[self.most - 1]))

    def _below(self, last: int) -> "RowHashes":
        n_hashes = int(np.searchsorted(self.value, np.uint64(last), side="right"))
        return replace(self, value=self.value[:n_hashes], count=self.count[:n_hashes], last=last)

    def overlap(self, other: "RowHashes") -> float:
        """Estimate which share of these rows are among the others; 0 where repetition within the tables explains it.

        If two tables were drawn independently of each other, from whatever populations, a row that occurs ``m`` times
        in all is in both with a probability of at most ``1 - 2 ** (1 - m)``, that of equal shares. Copied rows are in
        both more often. Where an index tells rows apart, equal rows of the same name are the same.
        """
        last = min(self.last, other.last)
        one, two = self._below(last), other._below(last)
        n_rows, n_other = int(one.count.sum()), int(two.count.sum())
        if not n_rows or not n_other:
            return 0.0
        _, here, there = np.intersect1d(one.value, two.value, assume_unique=True, return_indices=True)
        found = one.count[here].sum() / n_rows
        share = 0.0
        copied = one._count_copied(two, here, there)
        if copied:
            # A row that is no copy is found as often as a row of the other table has a twin there:
            # found = share + (1 - share) * twins, hence share = (found - twins) / (1 - twins).
            twins = two.count[two.count > 1].sum() / n_other
            share = max(copied / n_rows, (found - twins) / (1 - twins) if twins < 1 else 0.0)
        if self.names is not None and other.names is not None:
            # P(two rows, one of each table, are equal) = sum_h n_1(h) n_2(h) / (n_1 n_2), if the names mean nothing.
            alike = float(one.count[here] @ two.count[there]) / (n_rows * n_other)
            n_names, shared, same = self.names.count_same(other.names)
            if binom.sf(same - 1, shared, alike) < OVERLAP_CHANCE:  # P(Binomial(shared, alike) >= same)
                share = max(share, same / n_names)
        return share

    def _count_copied(self, other: "RowHashes", here: np.ndarray, there: np.ndarray) -> float:
        """Return how many of these rows at least are copies of others; 0 where that may be chance.

        The hashes that both have stand at the places ``here`` and ``there``.
        """
        own = self.count[here]
        times = own + other.count[there]
        only_one = np.concatenate([np.delete(self.count, here), np.delete(other.count, there)])
        copied = 0.0
        for m in range(2, MOST_TIMES + 1):
            in_both, in_one = int((times == m).sum()), int((only_one == m).sum())
            # m equal rows, each in either table with probability 1/2, are in both with p_m = 1 - 2 * (1/2)^m; the test
            # is P(Binomial(in_both + in_one, p_m) >= in_both) < OVERLAP_CHANCE.
            if in_both and binom.sf(in_both - 1, in_both + in_one, 1 - 2.0 ** (1 - m)) < OVERLAP_CHANCE:
                # Expected in both, given those in one: in_one * p_m / (1 - p_m) = in_one * (2^(m - 1) - 1).
                by_chance = (2 ** (m - 1) - 1) * in_one
                # copied = sum_m (own rows that occur m times, in both tables) * (1 - by_chance_m / in_both_m)
                copied += own[times == m].sum() * max(1 - by_chance / in_both, 0)
        return copied

    @property
    def repeats(self) -> int:
        """How many times over all rows are repeated: the greatest common divisor of the counts."""
        return int(np.gcd.reduce(self.count)) if len(self.count) >= LEAST_HASHES else 1


def collect_hashes(X: Any, checked: Any) -> RowHashes:
    """Collect the hashes of rows, and their names: ``X`` are the rows as given, ``checked`` as a model takes them."""
    row_hash = hash_rows(checked)
    return RowHashes.of(row_hash, names=RowNames.of(X, row_hash))


def find_overlap(rows: RowHashes | None, others: RowHashes | None) -> float:
    """Estimate which share of rows are among others; 0 where nothing is known of either."""
    return 0.0 if rows is None or others is None else rows.overlap(others)


def hash_rows(X: Any, n_jobs: int | None = 1) -> np.ndarray:
    """Return a number for each row, equal for equal rows, the same on every machine.

    Numbers are compared as float32, which is how most models see them.
    """
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iufb" and X.shape[1]:
        values = X if X.dtype in (np.float32, np.float64) else _round(X)
        hashes = np.empty(len(X), np.uint64)
        n_jobs = jobs_for(X.size, n_jobs)

        def fill(part: slice) -> None:
            row_kernels.mix_rows(values[part], hashes[part])

        run_threads(fill, split_evenly(len(X), n_jobs), n_jobs=n_jobs, verbose=0, description="hashes of rows")
        return hashes
    # hash(row) = mix_total(sum_j mix_value(value_j, j) mod 2^64), j = 0, 1, ... numbers the columns. A value of 0 adds
    # nothing, so that a sparse matrix has the hashes of the same dense one.
    if issparse(X):
        entries = X.tocoo()
        total = np.zeros(X.shape[0], np.uint64)
        np.add.at(total, entries.row, _mix_value(_round(entries.data), entries.col.astype(np.uint64)))
        return _mix_total(total)
    total = np.zeros(1, np.uint64)
    for place, column in enumerate(_columns(X)):
        if column.dtype.kind in "iufb":
            column = _round(column)
        else:
            values = column.tolist()
            numbers = {value: _number(value) for value in set(values)}
            column = np.fromiter(map(numbers.__getitem__, values), np.float64, len(values))
        total = total + _mix_value(column, np.uint64(place))
    return _mix_total(total)


def _columns(X: Any) -> Iterator[np.ndarray]:
    """Yield the columns of a table, each in its own type."""
    if hasattr(X, "columns"):
        yield from (column for _, column in named_columns(X))
    else:
        yield from np.asarray(X).T


def _round(column: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return column.astype(np.float32).astype(np.float64)


def _number(value: Any) -> float:
    """Return a number for a value: itself if it is one, NaN where it is missing, else a hash of its text."""
    if is_missing(value):
        return np.nan
    if isinstance(value, Real):
        with np.errstate(over="ignore"):
            return float(np.float32(float(value)))
    return float(int.from_bytes(blake2b(str(value).encode(errors="surrogatepass"), digest_size=6).digest(), "little"))


def _mix_value(value: np.ndarray, place: np.ndarray | np.uint64) -> np.ndarray:
    """Mix the bits of values and of the places of their columns; 0 for 0, which a sparse matrix leaves out."""
    # Modulo 2^64, with M = MIX and ^ for exclusive or:
    #   a = bits(value) ^ (place + 1) * M
    #   b = (a ^ (a >> 31)) * M
    #   mix_value(value, place) = b ^ (b >> 29), and 0 where value = 0
    value = np.where(np.isnan(value), np.nan, value + 0.0)  # there are many NaNs, and two zeros
    mixed = value.view(np.uint64) ^ (np.asarray(place + np.uint64(1)) * MIX)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * MIX
    return np.where(value == 0, np.uint64(0), mixed ^ (mixed >> np.uint64(29)))


def _mix_total(total: np.ndarray) -> np.ndarray:
    """Spread sums over all 64 bits, so that no row has a low hash because of what is in it, such as zeros."""
    # Modulo 2^64:
    #   c = (total ^ (total >> 32) ^ M) * M
    #   mix_total(total) = c ^ (c >> 29)
    total = (total ^ (total >> np.uint64(32)) ^ MIX) * MIX
    return total ^ (total >> np.uint64(29))
