"""EiFFFeL-TF (Algorithm 2): all candidate leaves of a tree at once, the most discriminating tree first."""

import numpy as np

from eifffel.scoring import LeafScores
from eifffel.strategies._flips import FlipOrder, make_order


def order_trees(scores: LeafScores, *, n_jobs: int | None = None) -> FlipOrder:
    """One step per tree that has candidates, in the order of its leaves; ties go to the lowest tree."""
    trees = scores.order_trees(one_by_one=False, n_jobs=n_jobs)
    sizes = np.array([len(tree.leaf) for tree in trees])
    ends = np.cumsum(sizes)
    ranked = np.argsort([-tree.before[0] if len(tree.leaf) else np.inf for tree in trees], kind="stable")
    order = np.concatenate([np.arange(ends[t] - sizes[t], ends[t]) for t in ranked])
    step = np.repeat(np.arange(1, len(trees) + 1), sizes[ranked])
    return make_order(trees, order, step, len(scores.sides), several=len(scores.pairs) > 1)
