"""EiFFFeL-LF (Algorithm 3): the best leaf of the tree that discriminates most, one leaf at a time."""

import numpy as np

from eifffel.leaves.scoring import LeafScores
from eifffel.strategies._flips import FlipOrder, make_order


def order_leaves(scores: LeafScores, *, n_jobs: int | None = None) -> FlipOrder:
    """One step per flipped leaf: EiFFFeL-LF.

    A flip changes nothing in other trees, so each tree has a queue of its own, and the discrimination that the tree
    has when a leaf's turn comes, ``before``, is known for every leaf. Always to take from the tree of largest
    discrimination is to merge the queues by ``before``. Where it rises along a queue, as it may with more than two
    groups, the tree is still the largest and goes on: what counts is the least of all so far. A stable sort by that
    gives ties to the lowest tree.

    Parameters
    ----------
    scores : LeafScores
        From `eifffel.leaves.scoring.score_leaves`.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    FlipOrder

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import trace_path, view_ensemble
    >>> from eifffel.leaves.scoring import score_leaves
    >>> from eifffel.strategies import order_leaves
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> tree = DecisionTreeClassifier().fit(age, paid)
    >>> path, view = trace_path(tree, age, paid, sensitive_features=sex), view_ensemble(tree)
    >>> scores = score_leaves(view, path.leaf_counts, path.constraint, np.ones(2, int), view.flippable)
    >>> order_leaves(scores).step.tolist()
    [1, 2]
    """
    trees = scores.order_trees(one_by_one=True, n_jobs=n_jobs)
    least = np.concatenate([np.minimum.accumulate(tree.before) for tree in trees])
    order = np.argsort(-least, kind="stable")
    return make_order(scores, trees, order)
