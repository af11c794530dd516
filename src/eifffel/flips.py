"""The leaves that differ from the model as it came, one record each."""

from collections.abc import Sequence

import numpy as np

from eifffel.ensembles import EnsembleView
from eifffel.leaves import LeafCounts
from eifffel.strategies import EditOrder


def list_flips(
    view: EnsembleView, order: EditOrder, leaf_counts: LeafCounts, cell_names: Sequence[str], step: int
) -> np.ndarray:
    """The records that `FairnessPath.flips` describes."""
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
