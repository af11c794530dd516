"""EiFFFeL-TF (Algorithm 2): all candidate leaves of a tree at once, the most discriminating tree first."""

import numpy as np

from eifffel.leaves.scoring import LeafScores
from eifffel.strategies._flips import FlipOrder, make_order


def order_trees(scores: LeafScores, *, n_jobs: int | None = None) -> FlipOrder:
    """One step per tree that has candidates, in the order of its leaves: EiFFFeL-TF. Ties go to the lowest tree.

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
    >>> from eifffel.strategies import order_trees
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> tree = DecisionTreeClassifier().fit(age, paid)
    >>> path, view = trace_path(tree, age, paid, sensitive_features=sex), view_ensemble(tree)
    >>> scores = score_leaves(view, path.leaf_counts, path.constraint, np.ones(2, int), view.flippable)
    >>> order_trees(scores).step.tolist()
    [1, 1]
    """
    trees = scores.order_trees(one_by_one=False, n_jobs=n_jobs)
    sizes = np.array([len(tree.leaf) for tree in trees])
    ends = np.cumsum(sizes)
    ranked = np.argsort([-tree.before[0] if len(tree.leaf) else np.inf for tree in trees], kind="stable")
    order = np.concatenate([np.arange(ends[t] - sizes[t], ends[t]) for t in ranked])
    step = np.repeat(np.arange(1, len(trees) + 1), sizes[ranked])
    return make_order(scores, trees, order, step)
