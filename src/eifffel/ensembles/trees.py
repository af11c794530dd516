"""TreeTable: the splits of all trees of an ensemble, the same for every library."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class TreeTable:
    """The splits of all trees of an ensemble, one entry for each node, tree after tree.

    Tree ``t`` owns the nodes ``offset[t]:offset[t + 1]``, of which the first is its root. At a split a row goes to the
    left

    - where its value is missing: if ``missing_left``;
    - at a split by categories: if its category is one of ``categories[category_set]``, or with ``others_left`` if not;
    - at any other: if its value is at most ``threshold``, or, where the table is ``strict``, below it.

    Attributes
    ----------
    offset : ndarray of shape (n_trees + 1,)
    left, right : ndarray of shape (n_nodes,)
        The children of each node, counted from the root of its tree; -1 where it has none.
    feature : ndarray of shape (n_nodes,)
        The column of each split, among those that reach the ensemble.
    threshold : ndarray of shape (n_nodes,)
    missing_left : ndarray of bools, shape (n_nodes,)
    leaf : ndarray of shape (n_nodes,)
        The number of each leaf among those of its tree; -1 in splits, and in nodes that were pruned.
    seen_as : numpy type
        What values are made before they are compared, ``float32`` or ``float64``.
    strict : bool
        Whether a value that equals the threshold goes to the right.
    category_set : ndarray of shape (n_nodes,), optional
        Which of ``categories`` a split is by; -1 where it is by a threshold.
    categories : sequence of ndarrays
        Whole numbers from 0 on, rising. A number is cut off at its point; one below 0 is none of them.
    others_left : bool
        Which side those go to that are not in the set.
    zeros_missing : tuple of ints
        The columns in which zeros are missing values.
    zero : float
        What is no further from 0 counts as 0.
    oblivious : bool
        Whether all nodes of a level ask the same, and each tree is complete and stands level by level.
    """

    offset: np.ndarray
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    leaf: np.ndarray
    seen_as: type[np.floating]
    strict: bool = False
    category_set: np.ndarray | None = None
    categories: Sequence[np.ndarray] = ()
    others_left: bool = False
    zeros_missing: tuple[int, ...] = ()
    zero: float = 0.0
    oblivious: bool = False

    @property
    def n_trees(self) -> int:
        return len(self.offset) - 1

    @property
    def inner(self) -> np.ndarray:
        """Which nodes are splits."""
        return self.left >= 0

    @property
    def by_category(self) -> np.ndarray:
        """Which nodes are splits by categories."""
        return np.zeros(len(self.left), bool) if self.category_set is None else self.category_set >= 0

    def tree(self, t: int) -> slice:
        """The nodes of a tree."""
        return slice(self.offset[t], self.offset[t + 1])


def count_up_leaves(offset: np.ndarray, is_leaf: np.ndarray) -> np.ndarray:
    """The number of each leaf among those of its tree, in the order of nodes; -1 where ``is_leaf`` is false."""
    leaves = np.flatnonzero(is_leaf)
    first = np.searchsorted(leaves, offset)
    number = np.full(len(is_leaf), -1, np.int32)
    number[leaves] = np.arange(len(leaves)) - np.repeat(first[:-1], np.diff(first))
    return number
