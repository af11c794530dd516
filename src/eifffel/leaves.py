"""Rows in their leaves, and LeafCounts: how many rows of each group and label fall into each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from eifffel import _kernels
from eifffel._parallel import run_threads
from eifffel.coding import Rows
from eifffel.ensembles import EnsembleView


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Rows whose leaves are known.

    Attributes
    ----------
    X : array-like
        As they were given.
    index : ndarray of shape (n_trees, n_rows)
        See `EnsembleView.apply`.
    rows : Rows
    name : str
        What they are called, such as ``"selection rows"``.
    """

    X: Any
    index: np.ndarray
    rows: Rows
    name: str

    def take(self, part: np.ndarray, name: str) -> "PlacedRows":
        """The rows at the places ``part``, under a name."""
        index = np.ascontiguousarray(self.index[:, part])
        return PlacedRows(_safe_indexing(self.X, part), index, self.rows.take(part), name)


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


def count_leaves(view: EnsembleView, placed: PlacedRows, *, n_jobs: int | None = None, verbose: int = 0) -> LeafCounts:
    """Count labelled rows in their leaves."""
    rows = placed.rows
    cell = rows.cell
    counts = np.zeros((view.n_leaves, 2 * rows.n_groups), np.int64)

    def fill(t: int) -> None:
        own = counts[view.leaf_offset[t] : view.leaf_offset[t + 1]]
        _kernels.count_leaves(placed.index[t], cell, rows.weight, own)

    run_threads(fill, range(view.n_trees), n_jobs=n_jobs, verbose=verbose, description="counting leaves")
    return LeafCounts(counts.reshape(-1, rows.n_groups, 2), rows.weigh_cells(), rows.unit)
