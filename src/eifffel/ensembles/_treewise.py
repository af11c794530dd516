"""What views of several libraries have in common: tables of scikit-learn's trees, and leaf numbers out of node ids."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from eifffel._utils.parallel import run_threads
from eifffel.ensembles._base import EnsembleView
from eifffel.ensembles.trees import TreeTable, count_up_leaves
from eifffel.kernels import leaf_kernels

# (row, tree) pairs whose node ids a library gives at once: its own tables of them are wide.
APPLIED_PER_BLOCK = 1 << 22


def leaf_nodes(nodes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """``leaf_offset`` and ``leaf_node`` from the node ids of each tree's leaves, rising."""
    return np.concatenate([[0], np.cumsum([len(leaves) for leaves in nodes])]), np.concatenate(nodes)


def apply_trees(
    view: EnsembleView, nodes_of: Callable[[int], np.ndarray], n_rows: int, *, n_jobs: int | None, verbose: int
) -> np.ndarray:
    """The leaf indices of `EnsembleView.apply` where ``nodes_of(t)`` gives the node id of each row in tree ``t``."""
    index = np.empty((view.n_trees, n_rows), view.index_type)

    def fill(t: int) -> None:
        np.take(_number_leaves(view, t), nodes_of(t), out=index[t], mode="clip")

    run_threads(fill, range(view.n_trees), n_jobs=n_jobs, verbose=verbose, description="leaf indices")
    return index


def apply_blocks(view: EnsembleView, nodes_of: Callable[[Any], np.ndarray], rows: Any, *, verbose: int) -> np.ndarray:
    """The leaf indices of `EnsembleView.apply` where ``nodes_of(block)`` gives node ids, shape (rows in it, n_trees).

    The library has threads of its own.
    """
    n_rows = _num_samples(rows)
    index = np.empty((view.n_trees, n_rows), view.index_type)
    numbers = [_number_leaves(view, t) for t in range(view.n_trees)]
    number = np.concatenate(numbers)
    begin = np.concatenate([[0], np.cumsum([len(own) for own in numbers])])
    size = max(1, APPLIED_PER_BLOCK // view.n_trees)
    blocks = [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]

    def fill(block: slice) -> None:
        nodes = np.asarray(nodes_of(rows if len(blocks) == 1 else _safe_indexing(rows, block)))
        leaf_kernels.number_leaves(
            nodes.reshape(block.stop - block.start, view.n_trees), number, begin, index[:, block]
        )

    run_threads(fill, blocks, n_jobs=1, verbose=verbose, description="leaf indices")
    return index


def _number_leaves(view: EnsembleView, t: int) -> np.ndarray:
    """The place among the tree's leaves of each node id; what other nodes get means nothing."""
    nodes = view.leaf_node[view.leaf_offset[t] : view.leaf_offset[t + 1]]
    number = np.zeros(nodes[-1] + 1, view.index_type)
    number[nodes] = np.arange(len(nodes))
    return number


def read_trees(trees: Sequence[Any], features: Callable[[int], np.ndarray | None] = lambda t: None) -> TreeTable:
    """The table of trees of scikit-learn, each of which may see some columns only, those that ``features(t)`` names."""

    offset = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])])
    left, right, feature = (np.empty(offset[-1], np.int32) for _ in range(3))
    threshold, missing_left = np.empty(offset[-1]), np.empty(offset[-1], np.bool_)
    # Tree after tree, since what is asked of a node stands together.
    for t, tree in enumerate(trees):
        nodes, own = slice(offset[t], offset[t + 1]), features(t)
        left[nodes], right[nodes] = tree.children_left, tree.children_right
        threshold[nodes], missing_left[nodes] = tree.threshold, tree.missing_go_to_left
        # Leaves have -2 in the place of a feature.
        feature[nodes] = tree.feature if own is None else own[np.maximum(tree.feature, 0)]
    return TreeTable(
        offset=offset,
        left=left,
        right=right,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        leaf=count_up_leaves(offset, left < 0),
        seen_as=np.float32,
    )


def dense(rows: Any) -> np.ndarray | None:
    """Rows if they are an array, and ``None`` if they are sparse."""
    return None if scipy.sparse.issparse(rows) else rows


def gather_leaves(view: EnsembleView, of_nodes: Sequence[np.ndarray]) -> np.ndarray:
    """Of something that every node of each tree has, what the leaves have, one after another."""
    offset, node = view.leaf_offset, view.leaf_node
    return np.concatenate([known[node[offset[t] : offset[t + 1]]] for t, known in enumerate(of_nodes)])
