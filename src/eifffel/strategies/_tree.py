"""EiFFFeL-TF (Algorithm 2): all candidate leaves of a tree at once, the most discriminating tree first."""

import numpy as np

from eifffel.scoring import LeafScores
from eifffel.strategies._flips import FlipOrder, make_order


def order_trees(scores: LeafScores, *, n_jobs: int | None = None) -> FlipOrder:
    """One step per tree that has candidates, in the order of its leaves; ties go to the lowest tree."""
    trees = scores.order_trees(one_by_one=False, n_jobs=n_jobs)
    sizes = np.array([len(tree.leaf) for tree in trees])
    own = np.repeat(np.arange(len(trees)), sizes)
    ranked = np.argsort([-tree.before[0] if len(tree.leaf) else np.inf for tree in trees], kind="stable")
    rank = np.argsort(ranked)[own]
    order = np.lexsort((np.concatenate([tree.leaf for tree in trees]), rank))
    return make_order(trees, order, rank[order] + 1, len(scores.sides))
