"""Replay an order of flips on rows: who is decided favourably after every step."""

import numpy as np

from eifffel import _kernels
from eifffel._parallel import run_threads, split_rows
from eifffel._validation import Rows
from eifffel.ensembles import EnsembleView
from eifffel.strategies import FlipOrder


def replay_flips(
    view: EnsembleView,
    index: np.ndarray,
    order: FlipOrder,
    rows: Rows,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> np.ndarray:
    """Rows decided favourably after each step, in units, shape (n_steps + 1, 2, n_labels).

    Entry 0 is the model as it came. Additive over rows.
    """
    n_cells = 2 * rows.n_labels
    n_flips = len(order.leaf)
    rank = np.full(view.n_leaves, n_flips, np.int32)
    rank[order.leaf] = np.arange(n_flips)
    delta = -2 * view.margin[order.leaf]
    cell = rows.cell

    def changes_of(part: slice) -> np.ndarray:
        changes = np.zeros((n_cells, order.n_steps + 1), np.int64)
        _kernels.replay(
            index,
            part.start,
            part.stop,
            view.leaf_offset,
            view.margin,
            view.leaf_value,
            view.exact,
            rank,
            order.step,
            delta,
            view.tie_is_favorable,
            view.rounding,
            cell,
            rows.weight,
            changes,
        )
        return changes

    parts = split_rows(index.shape[1], n_jobs)
    results = run_threads(changes_of, parts, n_jobs=n_jobs, verbose=verbose, description="replaying flips")
    changes = results[0]
    for other in results[1:]:
        changes += other
    np.cumsum(changes, axis=1, out=changes)
    return changes.reshape(2, rows.n_labels, -1).transpose(2, 0, 1)
