"""Rows in their leaves, batch by batch: what every pass over a model's leaves works on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, indexable

from eifffel._utils.parallel import Bar, jobs_for, run_threads, split_evenly
from eifffel.ensembles import EnsembleView
from eifffel.rows.batches import Batch, Batches
from eifffel.rows.coding import Coding, Rows
from eifffel.rows.hashing import MOST_HASHES, RowHashes, RowNames, hash_rows
from eifffel.rows.parts import draw_searched
from eifffel.rows.survey import Survey

# Of a small group, so many distinct rows are drawn if there are as many.
LEAST_SAMPLED = 1000


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Rows whose leaves are known.

    Attributes
    ----------
    X : array-like or None
        As they were given; ``None`` where they were not kept.
    index : ndarray of shape (n_trees, n_rows)
        See `EnsembleView.apply`.
    rows : Rows
    name : str
        What they are called, such as ``"selection rows"``.
    row_hash : ndarray of shape (n_rows,), optional
        The hash of each, equal for those that are equal as the model takes them; see `hash_rows`.
    decided : ndarray of shape (n_rows,), optional
        Which the original model decides favourably; where it is not there, ``X`` is.
    n_rows : int, optional
        How many rows they stand for, where equal ones were put together.
    where : str
        The batch that they are of, if they are not all.
    start : int
        The place of the first of them among all rows, where they are a whole batch.
    score : ndarray of shape (n_rows,), optional
        The score of each by its leaves, where that was needed to decide about them.
    """

    X: Any
    index: np.ndarray
    rows: Rows
    name: str
    row_hash: np.ndarray | None = None
    decided: np.ndarray | None = None
    n_rows: int | None = None
    where: str = ""
    start: int = 0
    score: np.ndarray | None = None

    def __len__(self) -> int:
        return int(self.index.shape[1])

    @property
    def nbytes(self) -> int:
        """The memory that the rows take without features."""
        arrays = (self.index, self.rows.group, self.rows.label, self.rows.weight, self.row_hash, self.decided)
        return sum(array.nbytes for array in arrays if array is not None and array.strides[-1])  # ones take none

    def keep(self, *, with_rows: bool) -> "PlacedRows":
        """Return the placed rows, with features only where the rows themselves are to be kept."""
        return self if with_rows else replace(self, X=None)

    def take(self, part: np.ndarray, name: str, n_jobs: int | None = 1) -> "PlacedRows":
        """The rows at the places ``part``, under a name."""
        index = np.empty((len(self.index), len(part)), self.index.dtype)

        def fill(trees: slice) -> None:
            # All places are there; "clip" says not to look at that first.
            self.index[trees].take(part, axis=1, out=index[trees], mode="clip")

        n_jobs = jobs_for(index.size, n_jobs)
        run_threads(fill, split_evenly(len(index), n_jobs), n_jobs=n_jobs, verbose=0, description="leaves of some rows")
        return replace(
            self,
            X=None if self.X is None else _safe_indexing(self.X, part),
            index=index,
            rows=self.rows.take(part),
            name=name,
            row_hash=None if self.row_hash is None else self.row_hash[part],
            decided=None if self.decided is None else self.decided[part],
            score=None if self.score is None else self.score[part],
        )

    @property
    def hashes(self) -> RowHashes:
        """The hashes of the rows, and the names that an index gives them."""
        assert self.row_hash is not None
        return RowHashes.of(self.row_hash, names=RowNames.of(self.X, self.row_hash))

    def decide(self, view: EnsembleView, n_jobs: int | None = None, score: np.ndarray | None = None) -> np.ndarray:
        """Which rows the original model decides favourably; it is asked once, with the ``score`` of rows if known."""
        if self.decided is None:
            if not view.votes:
                object.__setattr__(self, "score", self.add_up(view, n_jobs) if score is None else score)
            object.__setattr__(self, "decided", view.decide(self.index, self.X, n_jobs=n_jobs, score=self.score))
        assert self.decided is not None
        return self.decided

    def add_up(self, view: EnsembleView, n_jobs: int | None = None) -> np.ndarray:
        """The score of each row by its leaves."""
        return view.row_scores(self.index, n_jobs=n_jobs) if self.score is None else self.score


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Rows that a model accepts: as they were given, as the model takes them, and in codes."""

    X: Any
    checked: Any
    rows: Rows
    row_hash: np.ndarray
    where: str
    start: int = 0

    def __len__(self) -> int:
        return len(self.rows.group)


@dataclass(frozen=True, eq=False)
class Placing:
    """How a batch becomes rows in their leaves; it holds all that must be sent to where the rows are.

    Attributes
    ----------
    view : EnsembleView
    coding : Coding
    survey : Survey
        Of all rows.
    name, rows : str
        What they are called, and in errors.
    in_memory : bool
        Whether the batch is all rows. Of others, what may be needed later is found out while they are in memory.
    searched : bool
        Whether to place only those that are in the part that is searched; see `draw_searched`.
    last : ndarray of shape (n_groups * n_labels,), optional
        Of each cell, the largest `PlacedRows.row_hash` that is placed.
    """

    view: EnsembleView
    coding: Coding
    survey: Survey
    name: str
    rows: str
    in_memory: bool
    n_jobs: int | None = None
    verbose: int = 0
    searched: bool = False
    last: np.ndarray | None = None

    def check(self, batch: Batch) -> CheckedRows:
        """Check the rows of a batch, so that they can be placed."""
        (X,) = indexable(batch.X)
        rows = self.coding.encode_batch(batch, rows=self.rows, whole=False, scale=self.survey.scale)
        if not len(rows.group):
            return CheckedRows(X, X, rows, np.empty(0, np.uint64), batch.where)
        checked = self.view.check_rows(X)
        row_hash = hash_rows(checked, self.n_jobs)
        start = self.survey.starts.get(batch.number, 0)
        chosen = draw_searched(start, len(row_hash)) if self.searched else np.ones(len(row_hash), bool)
        if self.last is not None:
            chosen &= row_hash <= self.last[rows.cell]
        if not chosen.all():
            part = np.flatnonzero(chosen)
            X, checked = _safe_indexing(X, part), _safe_indexing(checked, part)
            rows, row_hash = rows.take(part), row_hash[part]
        return CheckedRows(X, checked, rows, row_hash, batch.where, start)

    def place(self, checked: CheckedRows) -> PlacedRows:
        """Find the leaves of rows."""
        index = np.empty((self.view.n_trees, 0), self.view.index_type)
        if len(checked):
            index = self.view.apply(checked.checked, n_jobs=self.n_jobs, verbose=self.verbose if self.in_memory else 0)
        placed = PlacedRows(
            checked.X, index, checked.rows, self.name, checked.row_hash, where=checked.where, start=checked.start
        )
        if self.in_memory or not len(placed):
            return placed
        return replace(placed, decided=placed.decide(self.view, self.n_jobs), score=None)


@dataclass(frozen=True, eq=False)
class RowsInLeaves:
    """All rows of one purpose, such as the scoring rows, in their leaves.

    Attributes
    ----------
    given : Batches
        As they were given.
    checked : Batches of CheckedRows
    placed : Batches of PlacedRows
    placing : Placing
        What made these of those.
    """

    given: Batches
    checked: Batches
    placed: Batches
    placing: Placing

    @classmethod
    def of(cls, given: Batches, placing: Placing, budget: float = 0) -> "RowsInLeaves":
        """Make rows that are placed when they are needed; up to ``budget`` bytes of them may be kept."""
        checked = given.map(placing.check)
        return cls(given, checked, checked.map(placing.place, budget), placing)

    @property
    def name(self) -> str:
        return self.placing.name

    @property
    def n_rows(self) -> int:
        return self.placing.survey.n_rows

    @cached_property
    def cells(self) -> np.ndarray:
        """How many there are per group and label; see `Rows.count_cells`."""
        return self.placing.coding.count_cells(self.placing.survey, rows=self.placing.rows)

    def check(self) -> None:
        """Raise the errors of the model about rows, if these are all in memory."""
        self.checked.in_memory  # noqa: B018, made once it is asked for

    def check_same(self, n_rows: np.ndarray) -> None:
        """Raise unless a pass found the rows that were surveyed."""
        if not np.array_equal(n_rows, self.cells):
            raise ValueError(
                f"the {self.name} are read more than once, and gave other rows this time: {n_rows.sum():,} where there "
                f"had been {self.cells.sum():,}, or of other groups and labels. Give the same each time"
            )

    def with_features(self) -> "RowsInLeaves":
        """Return the same rows, of which a pass reads all features."""
        return RowsInLeaves.of(self.given, self.placing)

    def reduce(self, work: Callable[[PlacedRows], Any], merge: Callable[[Any, Any], Any], description: str) -> Any:
        """Make a pass over the rows; see `Batches.reduce`."""
        return self._found(self.placed.reduce(work, merge, Bar(description, self.placing.verbose), self.n_rows))

    def _found(self, found: Any) -> Any:
        """Return what a pass found; raises if there was no row at all."""
        if found is None:
            self.check_same(np.zeros_like(self.cells))
        return found

    @property
    def n_of_cell(self) -> np.ndarray:
        """How many distinct rows of each cell a sample should have: each in its share, and of small ones all."""
        share = self.cells.ravel() / self.cells.sum()
        return np.maximum(np.ceil(MOST_HASHES * share).astype(np.int64), LEAST_SAMPLED)

    def sample(self, totals: np.ndarray, lowest: Sequence[RowHashes] | None = None) -> PlacedRows:
        """Return all rows if they are few and in memory, else those of each cell that have the lowest hashes.

        Equal rows are one that weighs as much, and a cell of the sample weighs as much as all rows of it, which is in
        ``totals``. ``lowest`` are the lowest hashes of each cell, where rows are not in memory.
        """
        whole: PlacedRows | None = self.placed.in_memory
        if whole is not None and len(whole) <= MOST_HASHES:
            return whole
        if whole is not None:
            lowest = find_lowest(whole, self.n_of_cell, self.placing.n_jobs)
        assert lowest is not None
        last = np.array([seen.last for seen in lowest], np.uint64)
        sample = self._draw(self.placing, last) if whole is None else self._take_lowest(whole, last)
        assert sample is not None
        return reweigh(sample, totals)

    def sample_searched(self) -> PlacedRows | None:
        """A sample of the part that is searched, without a look at groups and labels; ``None`` if nobody is in it."""
        whole: PlacedRows | None = self.placed.in_memory
        if whole is None:
            bar = Bar("looking for a sample", self.placing.verbose)
            seen = self._found(self.checked.reduce(collect_batch, RowHashes.join, bar, self.n_rows))
            placing = replace(self.placing, searched=True)
            sample = self._draw(placing, np.full(self.cells.size, seen.last, np.uint64))
        else:
            sample = whole.take(np.flatnonzero(draw_searched(whole.start, len(whole))), self.name)
            if len(sample) > MOST_HASHES:
                sample = self._take_lowest(sample, np.full(self.cells.size, sample.hashes.last, np.uint64))
        return sample if sample is not None and sample.rows.weight.any() else None

    def _take_lowest(self, placed: PlacedRows, last: np.ndarray) -> PlacedRows:
        assert placed.row_hash is not None
        part = np.flatnonzero(placed.row_hash <= last[placed.rows.cell])
        return join_equal(placed, part, n_jobs=self.placing.n_jobs)

    def _draw(self, placing: Placing, last: np.ndarray) -> PlacedRows | None:
        work = partial(_sample, replace(placing, last=last))
        bar = Bar("drawing a sample", self.placing.verbose)
        sample: PlacedRows | None = self.given.reduce(work, join_samples, bar, self.n_rows)
        return sample


def find_lowest(placed: PlacedRows, n_of_cell: np.ndarray, n_jobs: int | None = 1) -> tuple[RowHashes, ...]:
    """Return the lowest hashes of each cell."""
    assert placed.row_hash is not None
    row_hash, cell, counts = placed.row_hash, placed.rows.cell, placed.rows.weight > 0

    def find(k: int) -> RowHashes:
        return RowHashes.of(row_hash[counts & (cell == k)], int(n_of_cell[k]))

    cells = range(len(n_of_cell))
    return tuple(run_threads(find, cells, n_jobs=n_jobs, verbose=0, description="lowest hashes"))


def collect_batch(checked: CheckedRows) -> RowHashes:
    """Collect the hashes of the rows of a batch."""
    return RowHashes.of(checked.row_hash)


def reweigh(sample: PlacedRows, totals: np.ndarray) -> PlacedRows:
    """Weigh a sample so that each cell weighs as much as in all rows, which ``totals`` has, up to a common factor."""
    rows = sample.rows
    own = np.maximum(rows.weigh_cells(), 1)
    digits = max(0, 40 - int(np.log2(max(int(totals.sum()), 1))))
    weight = np.rint(np.ldexp(rows.weight * (totals / own).ravel()[rows.cell], digits)).astype(np.int64)
    return replace(sample, rows=replace(rows, weight=weight))


def _sample(placing: Placing, batch: Batch) -> PlacedRows | None:
    placed = placing.place(placing.check(batch))
    return join_equal(placed) if len(placed) else None


def join_samples(a: PlacedRows, b: PlacedRows) -> PlacedRows:
    """Join two samples, equal rows as one."""
    assert a.row_hash is not None
    assert b.row_hash is not None
    return join_equal(
        replace(
            a,
            X=None,
            index=np.concatenate([a.index, b.index], axis=1),
            rows=a.rows.join(b.rows),
            row_hash=np.concatenate([a.row_hash, b.row_hash]),
            decided=None if a.decided is None or b.decided is None else np.concatenate([a.decided, b.decided]),
            score=None,
            n_rows=(a.n_rows or len(a)) + (b.n_rows or len(b)),
        )
    )


def join_equal(placed: PlacedRows, part: np.ndarray | None = None, *, n_jobs: int | None = 1) -> PlacedRows:
    """Join rows, or those in places ``part``, of equal features, group and label into one that weighs as much."""
    assert placed.row_hash is not None
    part = np.arange(len(placed)) if part is None else part
    n_rows = placed.n_rows or len(part)
    order = part[np.lexsort((placed.rows.cell[part], placed.row_hash[part]))]
    row_hash, cell = placed.row_hash[order], placed.rows.cell[order]
    first = np.flatnonzero(np.append(True, (row_hash[1:] != row_hash[:-1]) | (cell[1:] != cell[:-1])))
    joined = replace(placed, X=None).take(order[first], placed.name, n_jobs)
    rows = replace(joined.rows, weight=np.add.reduceat(placed.rows.weight[order], first))
    return replace(joined, rows=rows, n_rows=n_rows)
