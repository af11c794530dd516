"""Score_Leaves (Algorithm 1): what flipping each leaf would change, computed from nothing but the leaf counts."""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from eifffel._utils.parallel import run_threads
from eifffel.constraints import Constraint
from eifffel.ensembles import AveragedView
from eifffel.kernels import leaf_kernels
from eifffel.leaves.counting import LeafCounts


@dataclass(frozen=True, eq=False)
class TreeFlips:
    """The flips of one tree, in their order.

    Attributes
    ----------
    leaf : ndarray of shape (n_flips,)
        Leaves, numbered over the whole ensemble.
    score : ndarray of shape (n_flips,)
        Of Algorithm 1, for which each is flipped.
    before : ndarray of shape (n_flips,)
        The largest difference between two sides of the constraint, in this tree, before each flip.
    after : float
        That difference after the last.

    See Also
    --------
    LeafScores.order_trees : Gives one for each tree.

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.strategies import TreeFlips
    >>> flips = TreeFlips(leaf=np.array([4, 1]), score=np.array([3.0, 0.5]), before=np.array([0.3, 0.1]), after=-0.1)
    >>> int(flips.leaf[np.argmax(flips.score)])
    4
    """

    leaf: np.ndarray
    score: np.ndarray
    before: np.ndarray
    after: float


@dataclass(frozen=True, eq=False)
class LeafScores:
    """What a flip of each leaf would change in its own tree.

    Each tree is edited for the two sides whose rates differ most in it. A leaf is a candidate if its flip lowers that
    difference; its score is by how much, divided by the share of rows that the flip decides wrongly, infinite where it
    costs none.

    Attributes
    ----------
    leaf_offset : ndarray of shape (n_trees + 1,)
    sides : ndarray of shape (n_leaves, n_sides)
        Rows of each side of the constraint in each leaf: integers unless real weights are large, so that ties are ties.
    totals : ndarray of shape (n_sides,)
        All rows of each side.
    pairs : ndarray of shape (n_pairs, 2)
        The differences that are bounded. Of equally large ones the first counts; their order does not depend on the
        names of the groups.
    favorable, flippable : ndarray of shape (n_leaves,)
        Whether each leaf decides favourably, and whether it may be flipped.
    agree_more : ndarray of shape (n_leaves,)
        By how much more weight of its rows has the favourable label than the other.
    least : float
        A drop up to this, as a share of all rows, is none.
    floor : float
        A tree whose largest difference is not above it is not edited.
    weight : float
        Of all rows.

    See Also
    --------
    eifffel.strategies.by_score : Makes a strategy of a function of these.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import trace_path
    >>> from eifffel.strategies import STRATEGIES, by_score, order_leaves
    >>> def look_first(scores, *, n_jobs=None):
    ...     (tree,) = scores.order_trees(one_by_one=True)
    ...     print(tree.leaf.tolist(), tree.score.round(1).tolist(), tree.before.tolist())
    ...     return order_leaves(scores, n_jobs=n_jobs)
    >>> STRATEGIES["look first"] = by_score(look_first)
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> tree = DecisionTreeClassifier().fit(age, paid)
    >>> path = trace_path(tree, age, paid, sensitive_features=sex, strategy="look first")
    [0, 1] [2.0, 0.7] [0.5, 0.0]
    >>> del STRATEGIES["look first"]
    """

    leaf_offset: np.ndarray
    sides: np.ndarray
    totals: np.ndarray
    pairs: np.ndarray
    favorable: np.ndarray
    flippable: np.ndarray
    agree_more: np.ndarray
    least: float
    floor: float
    weight: float

    def order_trees(self, *, one_by_one: bool, n_jobs: int | None = None) -> list[TreeFlips]:
        """Order the flips of each tree: candidates for its worst pair, which is found after each flip, or once."""

        def order(t: int) -> TreeFlips:
            return self._order_tree(t, one_by_one)

        trees = range(len(self.leaf_offset) - 1)
        return run_threads(order, trees, n_jobs=n_jobs, verbose=0, description="ordering flips")

    def _order_tree(self, t: int, one_by_one: bool) -> TreeFlips:
        own = slice(self.leaf_offset[t], self.leaf_offset[t + 1])
        n = own.stop - own.start
        leaf, pair = np.empty(n, np.int64), np.empty(n, np.int64)
        ratio, before = np.empty(n), np.empty(n)
        n_flips, after = leaf_kernels.order_tree_leaves(
            self.sides[own],
            self.totals,
            self.pairs,
            self.favorable[own],
            self.flippable[own],
            self.agree_more[own],
            self.least,
            self.floor,
            one_by_one,
            leaf,
            ratio,
            pair,
            before,
        )
        leaf, pair = leaf[:n_flips], pair[:n_flips]
        # What turns a ratio of scaled numbers into the paper's delta_disc / delta_accu.
        unit = self.weight / self.totals[self.pairs].astype(np.float64).prod(axis=1)
        return TreeFlips(own.start + leaf, ratio[:n_flips] * unit[pair], before[:n_flips], after)


def label_weights(class_weight: Any, n_rows_of_label: np.ndarray) -> np.ndarray:
    """Weights of the two labels from the class weight that the model was trained with, up to a common factor.

    Integers where they can be, so that equal ratios are equal numbers; see `AveragedView` for ``class_weight``.
    """
    if class_weight is None:
        return np.ones(2, np.int64)
    if class_weight == "balanced":
        # n / (2 * n_rows_of_label), as scikit-learn has it, times 2 * product / n.
        return n_rows_of_label[::-1].astype(np.int64)
    # As written: 0.1 and 0.3 are 1 to 3.
    fractions = [Fraction(repr(float(weight))).limit_denominator(10**6) for weight in class_weight]
    common = lcm(*(fraction.denominator for fraction in fractions))
    whole = [int(fraction * common) for fraction in fractions]
    return np.array(whole, np.int64) if max(whole) < 10**6 else np.asarray(class_weight, np.float64)


def score_leaves(
    view: AveragedView, counts: LeafCounts, constraint: Constraint, label_weight: np.ndarray, flippable: np.ndarray
) -> LeafScores:
    """Compute Algorithm 1 with the corrected sign and candidates, which are among the ``flippable`` leaves.

    ``delta_disc`` follows from the leaf's own prediction, which under bootstrap or class weights may not be the
    majority of the rows counted in it. ``delta_accu`` is the weight of the rows that disagree with that prediction
    minus the weight of those that agree.
    """
    # Products of two counts fit 63 bits, and then decide exactly, up to 2**31 rows or units of weight; beyond that a
    # drop below rounding is none.
    exact = counts.totals.sum() < 2**31
    dtype = np.dtype(np.int64 if exact else np.float64)
    n, totals = counts.counts.astype(dtype, copy=False), counts.totals.astype(dtype, copy=False)
    sides = np.zeros((len(n), len(constraint.members)), dtype)
    agree_more = np.empty(len(n), np.result_type(dtype, label_weight))
    leaf_kernels.combine_cells(n, constraint.members, label_weight, sides, agree_more)
    return LeafScores(
        leaf_offset=view.leaf_offset,
        sides=sides,
        totals=constraint.count_sides(totals),
        pairs=_in_order(constraint.pairs, sides),
        favorable=view.leaf_favorable,
        flippable=flippable,
        agree_more=agree_more,
        least=0.0 if exact else 1e-12,
        # The paper goes on below 0, against the privileged group; between groups without order nothing is left to do.
        floor=-np.inf if constraint.directed else 0.0,
        weight=float((totals.sum(axis=0) * label_weight).sum()),
    )


def _in_order(pairs: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """The pairs in an order that follows from how sides spread over the leaves, not from their names or sizes.

    Of several pairs that are the worst, the first counts; so it is the same if groups are renamed or copied.
    """
    if len(pairs) == 1:
        return pairs
    exact = sides.dtype.kind == "i"
    shares = [column // max(np.gcd.reduce(column), 1) if exact else column / column.sum() for column in sides.T]
    keys = [column.tobytes() for column in shares]
    rank = {k: place for place, k in enumerate(sorted(range(len(keys)), key=keys.__getitem__))}
    return np.array(sorted(pairs.tolist(), key=lambda pair: (rank[pair[0]], rank[pair[1]])), np.int64).reshape(-1, 2)
