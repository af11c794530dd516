"""Rows in their leaves, batch by batch: what every pass over a model's leaves works on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, indexable

from eifffel._parallel import Bar
from eifffel.ensembles import EnsembleView
from eifffel.rows.batches import Batch, Batches
from eifffel.rows.coding import Coding, Rows
from eifffel.rows.kinds import MOST_KINDS, RowKinds, RowNames, hash_rows
from eifffel.rows.survey import Survey

# Of a small group, so many kinds of rows are drawn if there are as many.
LEAST_KINDS = 1000


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
    kind : ndarray of shape (n_rows,), optional
        A number for each, equal for those that are equal as the model takes them; see `hash_rows`.
    decided : ndarray of shape (n_rows,), optional
        Which the model as it came decides favourably; where it is not there, ``X`` is.
    n_rows : int, optional
        How many rows they stand for, where equal ones were put together.
    where : str
        The batch that they are of, if they are not all.
    """

    X: Any
    index: np.ndarray
    rows: Rows
    name: str
    kind: np.ndarray | None = None
    decided: np.ndarray | None = None
    n_rows: int | None = None
    where: str = ""

    def __len__(self) -> int:
        return int(self.index.shape[1])

    @property
    def nbytes(self) -> int:
        """The memory that they take without features."""
        arrays = (self.index, self.rows.group, self.rows.label, self.rows.weight, self.kind, self.decided)
        return sum(array.nbytes for array in arrays if array is not None and array.strides[-1])  # ones take none

    def keep(self, *, with_rows: bool) -> "PlacedRows":
        """The same, with features only where the rows themselves are to be kept."""
        return self if with_rows else replace(self, X=None)

    def take(self, part: np.ndarray, name: str) -> "PlacedRows":
        """The rows at the places ``part``, under a name."""
        return replace(
            self,
            X=None if self.X is None else _safe_indexing(self.X, part),
            index=np.ascontiguousarray(self.index[:, part]),
            rows=self.rows.take(part),
            name=name,
            kind=None if self.kind is None else self.kind[part],
            decided=None if self.decided is None else self.decided[part],
        )

    @property
    def kinds(self) -> RowKinds:
        """The kinds of rows there are."""
        assert self.kind is not None
        return RowKinds.of_kinds(self.kind, names=RowNames.of(self.X, self.kind))

    def decide(self, view: EnsembleView, n_jobs: int | None = None) -> np.ndarray:
        """Which rows the model as it came decides favourably."""
        return view.decide(self.index, self.X, n_jobs=n_jobs) if self.decided is None else self.decided


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Rows that the model could be asked about: as they were given, as it takes them, and in codes."""

    X: Any
    checked: Any
    rows: Rows
    kind: np.ndarray
    where: str

    def __len__(self) -> int:
        return len(self.rows.group)


@dataclass(frozen=True, eq=False)
class Placing:
    """How a batch becomes rows in their leaves; all that has to go to where the rows are.

    Attributes
    ----------
    view : EnsembleView
    coding : Coding
    survey : Survey
        Of all rows.
    name, rows : str
        What they are called, and in errors.
    alone : bool
        Whether the batch is all there is. Of others, what may be needed later is found out while they are at hand.
    half : bool
        Whether to place a half of the rows only (`Rows.halve`).
    last : ndarray of shape (n_groups * n_labels,), optional
        Of each cell, the largest `PlacedRows.kind` that is placed.
    """

    view: EnsembleView
    coding: Coding
    survey: Survey
    name: str
    rows: str
    alone: bool
    n_jobs: int | None = None
    verbose: int = 0
    half: bool = False
    last: np.ndarray | None = None

    def check(self, batch: Batch) -> CheckedRows:
        """Rows that can be placed."""
        (X,) = indexable(batch.X)
        rows = self.coding.encode_batch(batch, rows=self.rows, whole=False, scale=self.survey.scale)
        if not len(rows.group):
            return CheckedRows(X, X, rows, np.empty(0, np.uint64), batch.where)
        checked = self.view.check_rows(X)
        kind = hash_rows(checked)
        chosen = halve(rows, None if self.alone else kind) if self.half else np.ones(len(kind), bool)
        if self.last is not None:
            chosen &= kind <= self.last[rows.cell]
        if not chosen.all():
            part = np.flatnonzero(chosen)
            X, checked, rows, kind = _safe_indexing(X, part), _safe_indexing(checked, part), rows.take(part), kind[part]
        return CheckedRows(X, checked, rows, kind, batch.where)

    def place(self, checked: CheckedRows) -> PlacedRows:
        """Rows in their leaves."""
        index = np.empty((self.view.n_trees, 0), self.view.index_type)
        if len(checked):
            index = self.view.apply(checked.checked, n_jobs=self.n_jobs, verbose=self.verbose if self.alone else 0)
        placed = PlacedRows(checked.X, index, checked.rows, self.name, checked.kind, where=checked.where)
        if self.alone or not len(placed):
            return placed
        return replace(placed, decided=placed.decide(self.view, self.n_jobs))


@dataclass(frozen=True, eq=False)
class RowsInLeaves:
    """All rows of one kind, such as the scoring rows, in their leaves.

    Attributes
    ----------
    given : Batches
        As they came.
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
        """Rows that are placed when they are needed; up to ``budget`` bytes of them may be kept."""
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
        """Raise what the model has to say of rows that are all at hand."""
        self.checked.alone  # noqa: B018, made once it is asked for

    def check_same(self, n_rows: np.ndarray) -> None:
        """Raise unless a pass found the rows that were surveyed."""
        if not np.array_equal(n_rows, self.cells):
            raise ValueError(
                f"the {self.name} are read more than once, and gave other rows this time: {n_rows.sum():,} where there "
                f"had been {self.cells.sum():,}, or of other groups and labels. Give the same each time"
            )

    def with_features(self) -> "RowsInLeaves":
        """The same rows, of which all features are at hand in a pass."""
        return RowsInLeaves.of(self.given, self.placing)

    def reduce(self, work: Callable[[PlacedRows], Any], merge: Callable[[Any, Any], Any], description: str) -> Any:
        """A pass over the rows; see `Batches.reduce`."""
        return self._found(self.placed.reduce(work, merge, Bar(description, self.placing.verbose), self.n_rows))

    def _found(self, found: Any) -> Any:
        """What a pass found; no row at all is a mistake."""
        if found is None:
            self.check_same(np.zeros_like(self.cells))
        return found

    @property
    def n_of_cell(self) -> np.ndarray:
        """How many kinds of rows of each cell a sample should have: each in its share, and of small ones all."""
        share = self.cells.ravel() / self.cells.sum()
        return np.maximum(np.ceil(MOST_KINDS * share).astype(np.int64), LEAST_KINDS)

    def sample(self, totals: np.ndarray, lowest: Sequence[RowKinds] | None = None) -> PlacedRows:
        """All rows if they are few and at hand, else of each cell those whose kinds have the lowest numbers.

        Equal rows are one that weighs as much, and a cell of the sample weighs as much as all rows of it, which is in
        ``totals``. ``lowest`` are the kinds of each cell, where rows are not at hand.
        """
        alone: PlacedRows | None = self.placed.alone
        if alone is not None and len(alone) <= MOST_KINDS:
            return alone
        if alone is not None:
            lowest = find_lowest(alone, self.n_of_cell)
        assert lowest is not None
        last = np.array([seen.last for seen in lowest], np.uint64)
        sample = self._draw(last, half=False) if alone is None else _take_lowest(alone, last)
        assert sample is not None
        return reweigh(sample, totals)

    def sample_any(self, *, half: bool = False) -> PlacedRows | None:
        """The same without a look at groups and labels; of a ``half`` of the rows, ``None`` if that has none."""
        alone: PlacedRows | None = self.placed.alone
        if alone is None:
            bar = Bar("looking for a sample", self.placing.verbose)
            seen = self._found(self.checked.reduce(see_batch, RowKinds.join, bar, self.n_rows))
            return self._draw(np.full(self.cells.size, seen.last, np.uint64), half=half)
        if half:
            alone = alone.take(np.flatnonzero(halve(alone.rows, None)), self.name)
        if len(alone) <= MOST_KINDS:
            return alone if len(alone) else None
        return _take_lowest(alone, np.full(self.cells.size, alone.kinds.last, np.uint64))

    def _draw(self, last: np.ndarray, *, half: bool) -> PlacedRows | None:
        work = partial(_sample, replace(self.placing, half=half, last=last))
        bar = Bar("drawing a sample", self.placing.verbose)
        sample: PlacedRows | None = self.given.reduce(work, join_samples, bar, self.n_rows)
        return sample


def halve(rows: Rows, kind: np.ndarray | None) -> np.ndarray:
    """Which rows are in a half of them; of those of a batch, what is in them decides which half of an odd number is."""
    return rows.halve(0 if kind is None else int(kind.sum() & np.uint64(1)))


def find_lowest(placed: PlacedRows, n_of_cell: np.ndarray) -> tuple[RowKinds, ...]:
    """Of each cell the kinds with the lowest numbers."""
    assert placed.kind is not None
    cell, counts = placed.rows.cell, placed.rows.weight > 0
    return tuple(RowKinds.of_kinds(placed.kind[counts & (cell == k)], int(n)) for k, n in enumerate(n_of_cell))


def see_batch(checked: CheckedRows) -> RowKinds:
    """The kinds of the rows of a batch."""
    return RowKinds.of_kinds(checked.kind)


def _take_lowest(placed: PlacedRows, last: np.ndarray) -> PlacedRows:
    assert placed.kind is not None
    return join_equal(placed.take(np.flatnonzero(placed.kind <= last[placed.rows.cell]), placed.name))


def reweigh(sample: PlacedRows, totals: np.ndarray) -> PlacedRows:
    """The same rows, each cell weighing as much as all of it does, by its ``totals``, up to a common factor."""
    rows = sample.rows
    own = np.maximum(rows.weigh_cells(), 1)
    digits = max(0, 40 - int(np.log2(max(int(totals.sum()), 1))))
    weight = np.rint(np.ldexp(rows.weight * (totals / own).ravel()[rows.cell], digits)).astype(np.int64)
    return replace(sample, rows=replace(rows, weight=weight))


def _sample(placing: Placing, batch: Batch) -> PlacedRows | None:
    placed = placing.place(placing.check(batch))
    return join_equal(placed) if len(placed) else None


def join_samples(a: PlacedRows, b: PlacedRows) -> PlacedRows:
    """Both together, equal rows as one."""
    assert a.kind is not None
    assert b.kind is not None
    return join_equal(
        replace(
            a,
            X=None,
            index=np.concatenate([a.index, b.index], axis=1),
            rows=a.rows.join(b.rows),
            kind=np.concatenate([a.kind, b.kind]),
            decided=None if a.decided is None else np.concatenate([a.decided, b.decided]),
            n_rows=(a.n_rows or len(a)) + (b.n_rows or len(b)),
        )
    )


def join_equal(placed: PlacedRows) -> PlacedRows:
    """The same rows, those of equal features, group and label as one that weighs as much."""
    assert placed.kind is not None
    n_rows, weight = placed.n_rows or len(placed), placed.rows.weight
    order = np.lexsort((placed.rows.cell, placed.kind))
    kind, cell = placed.kind[order], placed.rows.cell[order]
    first = np.flatnonzero(np.append(True, (kind[1:] != kind[:-1]) | (cell[1:] != cell[:-1])))
    joined = placed.take(order[first], placed.name)
    rows = replace(joined.rows, weight=np.add.reduceat(weight[order], first))
    return replace(joined, X=None, rows=rows, n_rows=n_rows)
