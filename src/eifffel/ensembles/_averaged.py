"""Ensembles whose trees vote: each leaf holds class fractions, and the ensemble averages them."""

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from eifffel import _kernels
from eifffel._parallel import run_threads, split_evenly
from eifffel.ensembles._base import EnsembleView

NEVER = np.int32(np.iinfo(np.int32).max)


class AveragedView(EnsembleView):
    """Trees whose leaf fractions are averaged; what a view of one library adds is how they are read and written.

    The score of a row is its mean favourable fraction minus the cut-off, 1/2 unless something around the ensemble has
    another.

    Attributes
    ----------
    leaf_value : ndarray of shape (n_leaves, 2)
        Fractions of the unfavourable and of the favourable class.
    writable : ndarray of shape (n_leaves,)
        Whether other fractions can be written into the leaf.
    """

    votes = True

    writable: np.ndarray

    @property
    def shiftable(self) -> bool:
        return bool(self.writable.all())

    @property
    @abstractmethod
    def class_weight(self) -> Any:
        """``None``, ``"balanced"``, or the weights of the unfavourable and the favourable class."""

    @property
    def comparison(self) -> int:
        """How the averaged fractions are compared, one of `eifffel._kernels`'s."""
        cutoff = self.around.cutoff
        if cutoff is None:
            # scikit-learn takes the argmax of the class fractions, and that gives a tie to the first class.
            return _kernels.TIE_IS_FAVORABLE if self.favorable == 0 else _kernels.TIE_IS_UNFAVORABLE
        return _kernels.FAVORABLE_REACHES if cutoff.positive == self.favorable else _kernels.UNFAVORABLE_REACHES

    @property
    def cut(self) -> float:
        """The fraction that a class must reach, where something around the ensemble has a cut-off."""
        cutoff = self.around.cutoff
        return 0.5 if cutoff is None else cutoff.value

    @property
    def threshold(self) -> float:
        """The favourable fraction at which the decision turns."""
        return 1 - self.cut if self.comparison == _kernels.UNFAVORABLE_REACHES else self.cut

    @cached_property
    def leaf_favorable(self) -> np.ndarray:
        """Whether each leaf, by itself, decides for the favourable class."""
        return self._decide_fractions(*self.leaf_value.T)

    def _decide_fractions(self, unfavorable: np.ndarray, favorable: np.ndarray) -> np.ndarray:
        if self.comparison == _kernels.TIE_IS_FAVORABLE:
            return favorable >= unfavorable
        if self.comparison == _kernels.TIE_IS_UNFAVORABLE:
            return favorable > unfavorable
        if self.comparison == _kernels.FAVORABLE_REACHES:
            return favorable >= self.cut
        return ~(unfavorable >= self.cut)

    @cached_property
    def flippable(self) -> np.ndarray:
        """Whether swapping the two fractions changes the leaf's own decision and can be written into the model."""
        unfavorable, favorable = self.leaf_value.T
        swapped = self._decide_fractions(favorable, unfavorable)
        return self.writable & (favorable != unfavorable) & (swapped != self.leaf_favorable)

    @property
    def leaf_score(self) -> np.ndarray:
        return (self.leaf_value[:, 1] - self.threshold) / self.n_trees

    @property
    def bias(self) -> float:
        return 0.0

    @property
    def rounding(self) -> float:
        return (self.n_trees + 4) * 2.0**-48

    def rounding_along(self, direction: np.ndarray) -> float:
        # Leaves that leave [0, 1] are scaled, and scores with them; rounding is not.
        room = min(self.threshold, 1 - self.threshold)
        return self.rounding * self.n_trees * float(np.abs(direction).max()) / room

    # Fixed point: integers add up to the same sum in any order.

    @cached_property
    def fixed_margin(self) -> np.ndarray:
        """Favourable minus unfavourable fraction of each leaf in fixed point."""
        return np.rint((self.leaf_value[:, 1] - self.leaf_value[:, 0]) * _kernels.FIXED_POINT).astype(np.int64)

    @property
    def fixed_bias(self) -> int:
        """What the sum of margins must exceed, with the sign changed."""
        return int(np.rint(-self.n_trees * (2 * self.threshold - 1) * _kernels.FIXED_POINT))

    @cached_property
    def exact(self) -> np.ndarray:
        """Whether each leaf's fractions are short binary fractions, which float64 adds without rounding.

        0 and 1 are, so rows of pure leaves, whose ties are frequent, need no second look.
        """
        unfavorable, favorable = self.leaf_value.T * 2.0**20
        return (unfavorable == np.rint(unfavorable)) & (favorable == np.rint(favorable))

    @property
    def fixed_rounding(self) -> int:
        """The largest sum of margins whose sign `predict`, adding float64, might see otherwise.

        Each margin is off by half a unit; each of the two float sums of n fractions by at most
        ``n * n * 2**-53``, and its quotient by one more rounding.
        """
        n = self.n_trees
        return int(np.ceil(0.51 * (n + 1) + (2 * n * n + 2 * n) * 2.0**-53 * _kernels.FIXED_POINT)) + 1

    def decide(self, index: np.ndarray, X: Any = None, *, n_jobs: int | None = None) -> np.ndarray:
        unflipped = np.full(self.n_leaves, NEVER)
        favorable = np.empty(index.shape[1], np.bool_)

        def fill(rows: slice) -> None:
            _kernels.decide_rows(
                index,
                rows.start,
                rows.stop,
                self.leaf_offset,
                self.fixed_margin,
                self.fixed_bias,
                self.leaf_value,
                self.exact,
                unflipped,
                0,
                self.comparison,
                self.cut,
                self.fixed_rounding,
                favorable,
            )

        run_threads(fill, split_evenly(len(favorable), n_jobs), n_jobs=n_jobs, verbose=0, description="decisions")
        return favorable

    def margin(self, score: np.ndarray) -> np.ndarray:
        return 2 * score

    def leaf_sum(self, index: np.ndarray) -> np.ndarray:
        return self.leaf_value[index.T + self.leaf_offset[:-1], 1].mean(axis=1)

    def leaf_magnitude(self, index: np.ndarray) -> np.ndarray:
        return np.ones(index.shape[1])

    def favor(self, leaf_value: np.ndarray) -> np.ndarray:
        return leaf_value[:, 1]

    def flip(self, leaves: np.ndarray) -> np.ndarray:
        """The leaf fractions after swapping those of ``leaves``."""
        leaf_value = self.leaf_value.copy()
        leaf_value[leaves] = leaf_value[leaves, ::-1]
        return leaf_value

    def room(self, scale: float) -> tuple[np.ndarray, np.ndarray]:
        cut = self.threshold
        away = self.leaf_value[:, 1] - cut
        return (away + cut / scale) / self.n_trees, ((1 - cut) / scale - away) / self.n_trees

    def shift(self, amount: np.ndarray) -> tuple[np.ndarray, float]:
        # Scaling all leaves about the cut-off changes no decision and brings every fraction into [0, 1].
        cut = self.threshold
        away = self.leaf_value[:, 1] - cut - self.n_trees * amount
        room = np.where(away > 0, 1 - cut, cut)
        with np.errstate(divide="ignore"):
            scale = float(min(1.0, np.min(room / np.abs(away))))
        favorable = cut + scale * away
        if self.comparison in (_kernels.TIE_IS_FAVORABLE, _kernels.FAVORABLE_REACHES) and (amount <= 0).all():
            # Where nothing is taken off, rounding must not take a tie away: more than it can, and no more than is told.
            favorable += self.rounding / 8
        favorable = np.clip(favorable, 0, 1)
        return np.column_stack([1 - favorable, favorable]), scale
