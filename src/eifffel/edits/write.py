"""An order of edits and a step -> the edited model, read back and checked; and the leaves that differ, listed."""

from collections.abc import Sequence

import numpy as np

from eifffel.ensembles import EnsembleView, view_ensemble
from eifffel.exceptions import NarrowProbabilitiesWarning, ViewMismatchError, parameter, warn_caller
from eifffel.leaves.counting import LeafCounts
from eifffel.selection.measure import RowsToCheck
from eifffel.strategies import EditOrder

# Below it, the probabilities of a shifted forest lie so near the cut-off that they say little.
WARNED_SCALE = 0.5


def edit_model(
    view: EnsembleView, order: EditOrder, step: int, rows_to_check: RowsToCheck | None
) -> tuple[EnsembleView, float]:
    """A view of a copy of the model with the edits made, and the factor by which its leaves had to be scaled."""
    wanted, scale = order.edit(view, step)
    model = view.write(wanted)
    written = view_ensemble(model, favorable=view.classes.tolist()[view.favorable])
    if not written.holds(wanted):
        raise ViewMismatchError(f"the leaves written into the copy of this {type(model).__name__} read otherwise")
    if rows_to_check is not None:
        rows_to_check.check_written(written, step)
    if scale < WARNED_SCALE:
        warn_caller(
            f"at step {step} the leaves had to be scaled by {scale:.2g} to stay probabilities: predict is as measured, "
            "but predict_proba is narrowed towards the cut-off. Calibrate a copy for its probabilities and decide with "
            "the edited model, or take " + parameter("strategy") + "='leaf'",
            NarrowProbabilitiesWarning,
        )
    return written, scale


def list_flips(
    view: EnsembleView, order: EditOrder, leaf_counts: LeafCounts, cell_names: Sequence[str], step: int
) -> np.ndarray:
    """The leaves that differ from the original model, as the records that `FairnessPath.flips` describes."""
    leaves, unit = order.leaves_at(step), leaf_counts.unit
    cells = leaf_counts.counts[leaves].reshape(len(leaves), len(cell_names))
    columns = {
        "tree": view.leaf_tree[leaves].astype(np.int64),
        "leaf": view.leaf_node[leaves].astype(np.int64),
        "before": view.favor(view.leaf_value)[leaves].astype(np.float64),
        "after": view.favor(order.edit(view, step)[0])[leaves].astype(np.float64),
        "score": order.score[leaves].astype(np.float64),
        "step": order.step_of(leaves).astype(np.int64),
        **dict(zip(cell_names, cells.T * unit, strict=True)),
    }
    records = np.empty(len(leaves), [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        records[name] = column
    return records
