"""EiFFFeL-TF (Algorithm 2): all candidate leaves of a tree at once, the most discriminating tree first."""

import numpy as np

from eifffel.scoring import LeafScores
from eifffel.strategies._flips import FlipOrder


def order_trees(scores: LeafScores) -> FlipOrder:
    """One step per tree that has candidates; ties go to the lowest tree."""
    candidates = np.flatnonzero(scores.candidate)
    begin = np.searchsorted(candidates, scores.leaf_offset)
    trees = np.argsort(-scores.tree_discrimination, kind="stable")
    trees = trees[begin[trees] < begin[trees + 1]]
    leaves = [candidates[begin[t] : begin[t + 1]] for t in trees]
    return FlipOrder(
        leaf=np.concatenate([candidates[:0], *leaves]),
        step=np.repeat(np.arange(1, len(trees) + 1), [len(own) for own in leaves]),
        score=scores.score,
    )
