"""Flipping leaves: swap the fractions of one leaf after another."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eifffel._utils.parallel import run_threads, split_evenly
from eifffel.ensembles import AveragedView, EnsembleView
from eifffel.kernels import leaf_kernels
from eifffel.leaves.placing import PlacedRows
from eifffel.leaves.scoring import LeafScores, TreeFlips
from eifffel.strategies._base import EditOrder, cumulate


@dataclass(frozen=True, eq=False)
class FlipOrder(EditOrder):
    """Leaves in the order of flipping; a leaf appears at most once.

    Attributes
    ----------
    leaf : ndarray of shape (n_flips,)
        Leaves, numbered over the whole ensemble.
    step : ndarray of shape (n_flips,)
        The step, from 1 on, at which each is flipped; never falling.
    score : ndarray of shape (n_leaves,)
        The score for which each leaf is flipped, NaN where it is not.

    See Also
    --------
    order_leaves, order_trees : Make one of the scores of leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.strategies import FlipOrder
    >>> score = np.array([np.nan, 0.5, np.nan, 1.5, 2.0])  # of five leaves, three are flipped
    >>> order = FlipOrder(leaf=np.array([4, 3, 1]), step=np.array([1, 1, 2]), score=score)
    >>> order.n_steps, order.positions.tolist(), order.leaves_at(1).tolist()
    (2, [0, 2, 3], [4, 3])
    """

    leaf: np.ndarray
    step: np.ndarray
    score: np.ndarray

    @cached_property
    def positions(self) -> np.ndarray:
        """How many leaves are flipped after each step."""
        return np.cumsum(np.bincount(self.step, minlength=1))

    def matches(self, n_leaves: int) -> bool:
        if len(self.leaf) == 0:
            return super().matches(n_leaves)
        leaves = self.leaf.min() >= 0 and self.leaf.max() < n_leaves and len(np.unique(self.leaf)) == len(self.leaf)
        steps = len(self.step) == len(self.leaf) and self.step[0] >= 1 and bool((np.diff(self.step) >= 0).all())
        return super().matches(n_leaves) and bool(leaves and steps)

    def leaves_at(self, step: int) -> np.ndarray:
        return self.leaf[: self.positions[step]]

    def step_of(self, leaves: np.ndarray) -> np.ndarray:
        step = np.zeros(len(self.score), np.int64)
        step[self.leaf] = self.step
        return step[leaves]

    def edit(self, view: EnsembleView, step: int) -> tuple[np.ndarray, float]:
        assert isinstance(view, AveragedView)
        return view.flip(self.leaves_at(step)), 1.0

    def outcomes(self, view: EnsembleView, leaves: np.ndarray, step: int) -> list[str]:
        assert isinstance(view, AveragedView)
        return ["unfavorable" if favorable else "favorable" for favorable in view.leaf_favorable[leaves]]

    def replay(self, view: EnsembleView, placed: PlacedRows, *, n_jobs: int | None, verbose: int) -> np.ndarray:
        assert isinstance(view, AveragedView)
        index, rows = placed.index, placed.rows
        n_flips = len(self.leaf)
        rank = np.full(view.n_leaves, n_flips, np.int32)
        rank[self.leaf] = np.arange(n_flips)
        delta = -2 * view.fixed_margin[self.leaf]
        cell, bias, exact, comparison = rows.cell, view.fixed_bias, view.exact, view.comparison

        def changes_of(part: slice) -> np.ndarray:
            changes = np.zeros((rows.n_groups * rows.n_labels, self.n_steps + 1), np.int64)
            leaf_kernels.replay(
                index,
                part.start,
                part.stop,
                view.leaf_offset,
                view.fixed_margin,
                bias,
                view.leaf_value,
                exact,
                rank,
                self.step,
                delta,
                comparison,
                view.cut,
                view.fixed_rounding,
                cell,
                rows.weight,
                changes,
            )
            return changes

        parts = split_evenly(index.shape[1], n_jobs)
        changes = run_threads(changes_of, parts, n_jobs=n_jobs, verbose=verbose, description="replaying flips")
        return cumulate(changes, rows.n_labels)


def make_order(
    scores: LeafScores, trees: list[TreeFlips], order: np.ndarray, step: np.ndarray | None = None
) -> FlipOrder:
    """The flips of all trees, in an order of one's own.

    Parameters
    ----------
    scores : LeafScores
    trees : list of TreeFlips
        What ``scores.order_trees`` gives: the flips of each tree.
    order : ndarray of shape (n_flips,)
        Places among the flips of all trees, one tree after another.
    step : ndarray of shape (n_flips,), optional
        The step, from 1 on, at which each is made, in that order; never falling. By default one flip is one step.

    Returns
    -------
    FlipOrder

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.strategies import make_order
    >>> def order_best_first(scores, *, n_jobs=None):
    ...     trees = scores.order_trees(one_by_one=True, n_jobs=n_jobs)
    ...     score = np.concatenate([tree.score for tree in trees])
    ...     return make_order(scores, trees, np.argsort(-score, kind="stable"))
    """
    step = np.arange(1, len(order) + 1) if step is None else step
    named = np.zeros(sum(len(tree.leaf) for tree in trees), bool)
    named[order] = True
    if np.count_nonzero(named) < len(order):
        raise ValueError("order names some flips more than once, and a leaf can be flipped once; name each place once")
    if len(step) != len(order) or (len(step) and step[0] < 1) or (np.diff(step) < 0).any():
        raise ValueError("step must have one entry for each flip, from 1 on and never falling")
    leaf, by = (np.concatenate([getattr(tree, name) for tree in trees])[order] for name in ("leaf", "score"))
    score = np.full(len(scores.sides), np.nan)
    score[leaf] = by
    return FlipOrder(leaf=leaf, step=step, score=score)
