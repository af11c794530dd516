"""EiFFFeL-LF (Algorithm 3): the best leaf of the tree that discriminates most, one leaf at a time."""

import numpy as np

from eifffel.scoring import LeafScores
from eifffel.strategies._flips import FlipOrder


def order_leaves(scores: LeafScores) -> FlipOrder:
    """One step per candidate leaf.

    A flip changes the discrimination of its own tree by an amount known beforehand and the score of no leaf. So each
    tree's candidates form a queue (highest score, then largest drop, then lowest leaf), and the discrimination that
    its tree has when a leaf's turn comes, ``before``, is known for every leaf. It falls along each queue, so always
    taking from the tree of largest discrimination is to merge the queues by ``before``; a stable sort does that and
    gives ties to the lowest tree.
    """
    candidates = np.flatnonzero(scores.candidate)
    begin = np.searchsorted(candidates, scores.leaf_offset)
    queue = np.empty_like(candidates)
    before = np.empty(len(candidates), scores.drop.dtype)
    for t, discrimination in enumerate(scores.tree_discrimination):
        own = slice(begin[t], begin[t + 1])
        leaves = candidates[own]
        queue[own] = leaves[np.lexsort((-scores.drop[leaves], -scores.ratio[leaves]))]
        drop = scores.drop[queue[own]]
        before[own] = discrimination - np.cumsum(drop) + drop
    order = np.argsort(-before, kind="stable")
    return FlipOrder(leaf=queue[order], step=np.arange(1, len(order) + 1), score=scores.score)
