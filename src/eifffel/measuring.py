"""The last pass: an order of edits and rows in their leaves -> what is decided about them after every step."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from eifffel.coding import Rows
from eifffel.constraints import Constraint
from eifffel.counts import PathCounts
from eifffel.ensembles import EnsembleView
from eifffel.exceptions import ViewMismatchError
from eifffel.leaves import PlacedRows
from eifffel.strategies import EditOrder


@dataclass(frozen=True, eq=False)
class RowsAtHand:
    """Rows as they were given, and how many of them are decided favourably after each step, in units."""

    X: Any
    rows: Rows
    favorable: np.ndarray

    def check_written(self, written: EnsembleView, step: int) -> None:
        """Raise unless a written model decides these rows as was measured for a step."""
        written.verify(self.X)
        off_by = np.abs(self.rows.weigh_cells(written.decides(self.X)) - self.favorable[step])
        if not off_by.any():
            return
        # A row whose score is within rounding of the threshold may go either way.
        score = written.model_score(self.X) - written.threshold
        near = self.rows.weigh_cells(np.abs(score) <= written.rounding)
        if (off_by > near).any():
            raise ViewMismatchError(
                f"the edited {type(written.around.outer).__name__} decides {int(off_by.sum())} rows otherwise than the "
                f"path says for step {step}. If X was changed since, trace or measure again; else please report this "
                "with the versions of the libraries"
            )


def measure_rows(
    view: EnsembleView,
    placed: PlacedRows,
    order: EditOrder,
    constraint: Constraint,
    *,
    n_jobs: int | None,
    verbose: int,
) -> tuple[PathCounts, RowsAtHand]:
    """Measure every step on rows."""
    rows = placed.rows
    favorable = order.replay(view, placed, n_jobs=n_jobs, verbose=verbose)
    counts = PathCounts(
        rows.in_weight(favorable),
        rows.in_weight(rows.weigh_cells()),
        placed.name,
        rows.count_cells().sum(axis=1),
        constraint,
    )
    return counts, RowsAtHand(placed.X, rows, favorable)
