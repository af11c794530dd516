"""LeafCounts: how many rows of each group and label fall into each leaf."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from eifffel._utils.parallel import run_threads
from eifffel.ensembles import EnsembleView
from eifffel.kernels import leaf_kernels
from eifffel.leaves.placing import PlacedRows, RowsInLeaves, find_lowest
from eifffel.leaves.training import Training, add_counts
from eifffel.rows.hashing import RowHashes


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """Rows per leaf, group and label; additive over rows.

    Attributes
    ----------
    counts : ndarray of shape (n_leaves, n_groups, 2)
        int64, in units.
    totals : ndarray of shape (n_groups, 2)
        All rows per group and label, in units.
    unit : int or float
        The weight of a row that counts 1; the integer 1 without sample weights.
    """

    counts: np.ndarray
    totals: np.ndarray
    unit: float

    def join(self, other: "LeafCounts") -> "LeafCounts":
        """Return the counts of both together."""
        return LeafCounts(self.counts + other.counts, self.totals + other.totals, self.unit)


@dataclass(frozen=True, eq=False)
class Counted:
    """All that a first pass over rows finds; additive over them.

    Attributes
    ----------
    leaves : LeafCounts
    favorable : ndarray of shape (n_groups, 2)
        Weight of the rows that the original model decides favourably, in units; of two groups only.
    n_rows : ndarray of shape (n_groups, 2)
    hashes : RowHashes
        The hashes of the rows.
    in_tree : ndarray or None
        How many of them fall into each leaf of the tree that `Training` looks at.
    lowest : tuple of RowHashes, one for each group and label, or None
        The hashes of the rows to draw a sample of, where one may be needed.
    """

    leaves: LeafCounts
    favorable: np.ndarray
    n_rows: np.ndarray
    hashes: RowHashes
    in_tree: np.ndarray | None
    lowest: tuple[RowHashes, ...] | None = None

    def join(self, other: "Counted") -> "Counted":
        favorable, n_rows = self.favorable + other.favorable, self.n_rows + other.n_rows
        lowest = None
        if self.lowest is not None and other.lowest is not None:
            lowest = tuple(one.join(two) for one, two in zip(self.lowest, other.lowest, strict=True))
        hashes, in_tree = self.hashes.join(other.hashes), add_counts(self.in_tree, other.in_tree)
        return Counted(self.leaves.join(other.leaves), favorable, n_rows, hashes, in_tree, lowest)


def count_rows(
    view: EnsembleView,
    scored: RowsInLeaves,
    *,
    sampled: bool,
    training: Training | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Counted:
    """Count labelled rows in their leaves, and check that the leaves give the decisions of the model.

    ``sampled`` says that a sample of them will be drawn, which need not be prepared if they are in memory.
    """
    verbose = verbose if scored.placing.in_memory else 0
    n_of_cell = scored.n_of_cell if sampled and not scored.placing.in_memory else None
    work = partial(count_batch, view=view, n_of_cell=n_of_cell, training=training, n_jobs=n_jobs, verbose=verbose)
    counted: Counted = scored.reduce(work, Counted.join, "counting leaves")
    scored.check_same(counted.n_rows)
    return counted


def count_batch(
    placed: PlacedRows,
    *,
    view: EnsembleView,
    n_of_cell: np.ndarray | None,
    training: Training | None,
    n_jobs: int | None,
    verbose: int,
) -> Counted:
    """Count some rows."""
    view.verify(placed.X, placed.index)
    return Counted(
        leaves=count_leaves(view, placed, n_jobs=n_jobs, verbose=verbose),
        favorable=placed.rows.weigh_cells(placed.decide(view, n_jobs)) if placed.rows.n_groups == 2 else np.zeros(()),
        n_rows=placed.rows.count_cells(),
        hashes=placed.hashes,
        in_tree=None if training is None else training.count(placed),
        lowest=None if n_of_cell is None else find_lowest(placed, n_of_cell, n_jobs),
    )


def count_leaves(view: EnsembleView, placed: PlacedRows, *, n_jobs: int | None = None, verbose: int = 0) -> LeafCounts:
    """Count labelled rows in their leaves."""
    rows = placed.rows
    cell = rows.cell
    counts = np.zeros((view.n_leaves, 2 * rows.n_groups), np.int64)

    def fill(t: int) -> None:
        own = counts[view.leaf_offset[t] : view.leaf_offset[t + 1]]
        leaf_kernels.count_tree_leaves(placed.index[t], cell, rows.weight, own)

    run_threads(fill, range(view.n_trees), n_jobs=n_jobs, verbose=verbose, description="counting leaves")
    return LeafCounts(counts.reshape(-1, rows.n_groups, 2), rows.weigh_cells(), rows.unit)
