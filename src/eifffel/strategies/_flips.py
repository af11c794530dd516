"""Flipping leaves: swap the fractions of one leaf after another."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eifffel import _kernels
from eifffel._parallel import run_threads, split_evenly
from eifffel.ensembles import EnsembleView
from eifffel.ensembles._averaged import AveragedView
from eifffel.leaves import PlacedRows
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
        The score of each leaf, NaN where it is no candidate.
    """

    leaf: np.ndarray
    step: np.ndarray
    score: np.ndarray

    @cached_property
    def positions(self) -> np.ndarray:
        """How many leaves are flipped after each step."""
        n_steps = int(self.step[-1]) if len(self.step) else 0
        return np.searchsorted(self.step, np.arange(n_steps + 1), side="right")

    def fits(self, n_leaves: int) -> bool:
        if len(self.leaf) == 0:
            return super().fits(n_leaves)
        leaves = self.leaf.min() >= 0 and self.leaf.max() < n_leaves and len(np.unique(self.leaf)) == len(self.leaf)
        steps = len(self.step) == len(self.leaf) and self.step[0] >= 1 and bool((np.diff(self.step) >= 0).all())
        return super().fits(n_leaves) and bool(leaves and steps)

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
        cell = rows.cell

        def changes_of(part: slice) -> np.ndarray:
            changes = np.zeros((2 * rows.n_labels, self.n_steps + 1), np.int64)
            _kernels.replay(
                index,
                part.start,
                part.stop,
                view.leaf_offset,
                view.fixed_margin,
                view.fixed_bias,
                view.leaf_value,
                view.exact,
                rank,
                self.step,
                delta,
                view.comparison,
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
