"""Ensembles whose trees vote: each leaf holds class fractions, and the ensemble averages them."""

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from eifffel._utils.parallel import run_threads, split_evenly
from eifffel.ensembles._base import EnsembleView, NearTies, add_prices
from eifffel.exceptions import parameter
from eifffel.kernels import leaf_kernels

NEVER = np.int32(np.iinfo(np.int32).max)

# How far, in grains, each leaf of a shifted ensemble leans to the side of ties. What the T leaves of a row have to
# outweigh together: 5 * (2 * T + 8) grains for a tie of the original, whose own sum rounds and which the shift may move
# by as much again, and 3 * T + 8 for the rounding of the shifted leaves and of the sums that say where a row is; that
# is 13 * T + 48 in all.
LEAN = 64
# How much larger what prices take off may be than what is left of it, for ties to be certain: of 64 grains for each
# tree the sums above need 13, of which those that say where a row is are 3, and are larger by this.
MOST_CANCELLED = 8
# Steps are not taken beyond the shift at which all leaves would have to be scaled by less. A score that adds up short
# fractions, which is 2**-10 / T or more, then still outweighs the lean of as many trees.
LEAST_SCALE = 1e-3
MOST_SHORT = 4096
# Between the cut-off and the nearer end of all fractions, leaves must have so much room to be shifted.
LEAST_ROOM = 1e-4


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
    def unshiftable(self) -> str:
        if not self.writable.all():
            return (
                "a tree of it saw rows of one class only and cannot hold another fraction; use "
                + parameter("strategy")
                + "='leaf', or train with larger samples"
            )
        if min(self._sides) < LEAST_ROOM * (1 - 1e-9):
            return (
                f"the cut-off {self.cut!r} leaves them no room on one side; use "
                + parameter("strategy")
                + f"='leaf', or a cut-off between {LEAST_ROOM:g} and {1 - LEAST_ROOM:g}"
            )
        return ""

    @property
    @abstractmethod
    def class_weight(self) -> Any:
        """``None``, ``"balanced"``, or the weights of the unfavourable and the favourable class."""

    @property
    def comparison(self) -> int:
        """How the averaged fractions are compared, one of `eifffel.kernels.leaf_kernels`'s."""
        cutoff = self.wrappers.cutoff
        if cutoff is None:
            # scikit-learn takes the argmax of the class fractions, and that gives a tie to the first class.
            return leaf_kernels.TIE_IS_FAVORABLE if self.favorable == 0 else leaf_kernels.TIE_IS_UNFAVORABLE
        return leaf_kernels.FAVORABLE_REACHES if cutoff.positive == self.favorable else leaf_kernels.UNFAVORABLE_REACHES

    @property
    def cut(self) -> float:
        """The fraction that a class must reach, where something around the ensemble has a cut-off."""
        cutoff = self.wrappers.cutoff
        return 0.5 if cutoff is None else cutoff.value

    @property
    def threshold(self) -> float:
        """The favourable fraction at which the decision turns."""
        return 1 - self.cut if self.comparison == leaf_kernels.UNFAVORABLE_REACHES else self.cut

    @cached_property
    def leaf_favorable(self) -> np.ndarray:
        """Whether each leaf, by itself, decides for the favourable class."""
        return self._decide_fractions(*self.leaf_value.T)

    def _decide_fractions(self, unfavorable: np.ndarray, favorable: np.ndarray) -> np.ndarray:
        if self.comparison == leaf_kernels.TIE_IS_FAVORABLE:
            return favorable >= unfavorable
        if self.comparison == leaf_kernels.TIE_IS_UNFAVORABLE:
            return favorable > unfavorable
        if self.comparison == leaf_kernels.FAVORABLE_REACHES:
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

    # Shifted leaves are multiples of a grain so large that float64 adds them without rounding, in any order.

    @property
    def grain(self) -> float:
        """What shifted leaves are multiples of: the sum of as many fractions as there are trees has 53 bits of it."""
        return 2.0 ** (int(np.ceil(np.log2(self.n_trees))) - 52)

    def _lean(self, amount: np.ndarray) -> np.ndarray:
        """By how many grains each leaf of a shifted ensemble is raised, so that ties are decided for certain.

        A row at the cut-off whose leaves the shift does not move would be decided by the rounding of its shifted
        leaves. So they lean to the side that ties are on; where nothing is taken off any leaf, nobody may lose, and
        rows that rounding may have put on the favourable side stay there.
        """
        if not self._leans_by_sign:
            return np.full(self.n_leaves, LEAN)
        if (amount > 0).any():
            return np.full(self.n_leaves, -LEAN)
        if self.comparison == leaf_kernels.UNFAVORABLE_REACHES:
            return np.full(self.n_leaves, LEAN)
        # Sums of short fractions tie exactly, and a tie is unfavourable; one other leaf outweighs the lean of them all.
        short = self._short(10) & (self.n_trees <= MOST_SHORT)
        return np.where(short, -LEAN, 2 * LEAN * self.n_trees)

    @property
    def _leans_by_sign(self) -> bool:
        """Whether the lean depends on whether any leaf is lowered."""
        return self.comparison not in (leaf_kernels.TIE_IS_FAVORABLE, leaf_kernels.FAVORABLE_REACHES)

    def _short(self, bits: int) -> np.ndarray:
        """Whether each leaf's fractions are binary fractions of so many digits."""
        unfavorable, favorable = self.leaf_value.T * 2.0**bits
        return (unfavorable == np.rint(unfavorable)) & (favorable == np.rint(favorable))

    @property
    def _sides(self) -> tuple[float, float]:
        """How far a leaf can be below and above the cut-off."""
        return self.threshold, 1 - self.threshold

    def near_ties(self, index: np.ndarray, directions: np.ndarray, *, n_jobs: int | None = None) -> NearTies:
        lean, (beyond, growth) = self._lean_along(directions), self.step_width(directions)
        return NearTies(
            rounding=beyond,
            growth=growth,
            favorable=self.sum_leaves(index, lean.astype(np.float64), n_jobs=n_jobs) > 0,
            tie_rounding=self._tie,
        )

    def _lean_along(self, directions: np.ndarray) -> np.ndarray:
        """The lean of leaves that prices are taken off; of several directions, some leaf is lowered all the way."""
        return self._lean(directions[0] if len(directions) == 1 else np.ones(1))

    @property
    def _tie(self) -> float:
        """The largest score that ties can have, by the rounding of what is added up."""
        return (2 * self.n_trees + 8) * self.grain / self.n_trees

    def ties_along(self, directions: np.ndarray, begin: np.ndarray, end: np.ndarray) -> tuple[float, float] | None:
        # Leaves are scaled by no less than 1 / (1 + size / side) of the smaller side, and by no more than five times
        # that of the larger: five times what a tie may be off is what LEAN outweighs. The size is that of the leaf that
        # is moved most, and at least that of one that stays on its side of 0.
        before, after = (add_prices(prices, directions) for prices in (begin, end))
        least, most = np.minimum(before, after), np.maximum(before, after)
        straight = len(directions) == 1 and begin[0] >= 0 and end[0] > 0
        if self._leans_by_sign and not straight:
            lowered = (least > 0).any() if begin.any() else (after > 0).any()
            if not lowered or len(directions) == 1:
                return None
        sizes = np.abs(np.stack([before, after]))
        leaf = np.argmax(np.where(least * most >= 0, sizes.sum(axis=0), -1))
        at_begin, at_end = sizes[:, leaf] if least[leaf] * most[leaf] >= 0 else (0.0, 0.0)
        at_begin, more = min(at_begin, at_end), max(at_end - at_begin, 0.0)
        largest = max(self._sides)
        # Where prices cancel each other, sums round by far more than leaves are moved, and no tie is certain.
        if len(directions) > 1:
            rounded = float((np.abs(np.stack([begin, end])) @ self._sizes_of(directions)).max())
            if rounded > MOST_CANCELLED * (largest + self.n_trees * at_begin):
                return -np.inf, 0.0
        return self._tie * (self.n_trees * at_begin) / largest, self._tie * (self.n_trees * more) / largest

    def _beyond(self, lean: np.ndarray) -> float:
        """The largest score, before leaves are scaled, that the lean and the rounding of leaves can outweigh."""
        n = self.n_trees
        return 1.01 * (n * float(np.abs(lean).max()) + 3 * n + 8) * self.grain / n

    def decide_shifted(
        self,
        directions: np.ndarray,
        prices: np.ndarray,
        index: np.ndarray,
        row: np.ndarray,
        X: Any = None,
        *,
        n_jobs: int | None = 1,
    ) -> np.ndarray:
        favorable = np.empty(len(row), bool)
        places, of_place = np.unique(prices, axis=0, return_inverse=True)
        for k, at in enumerate(places):
            pairs = np.flatnonzero(of_place.ravel() == k)
            leaf_value, _ = self.shift(add_prices(at, directions))
            # No sum of these leaves rounds, so that their order does not matter.
            mean = leaf_value[index[:, row[pairs]].T + self.leaf_offset[:-1]].sum(axis=1) / self.n_trees
            favorable[pairs] = self._decide_fractions(*mean.T)
        return favorable

    def can_shift(self, directions: np.ndarray, prices: np.ndarray) -> np.ndarray:
        size: np.ndarray = np.abs(prices) @ self._sizes_of(directions)
        return size <= (1 / LEAST_SCALE - 1) * min(self._sides)

    @property
    def rounding(self) -> float:
        return self._beyond(np.array([LEAN]))

    def step_width(self, directions: np.ndarray) -> tuple[float, np.ndarray]:
        beyond = self._beyond(self._lean_along(directions))
        return beyond, beyond * self._sizes_of(directions) / min(self._sides)

    def _sizes_of(self, directions: np.ndarray) -> np.ndarray:
        """By how much a fraction is moved at most by each direction, where 1 is the most that one can be."""
        sizes: np.ndarray = self.n_trees * np.abs(directions).max(axis=1)
        return sizes

    # Fixed point: integers add up to the same sum in any order.

    @cached_property
    def fixed_margin(self) -> np.ndarray:
        """Favourable minus unfavourable fraction of each leaf in fixed point."""
        return np.rint((self.leaf_value[:, 1] - self.leaf_value[:, 0]) * leaf_kernels.FIXED_POINT).astype(np.int64)

    @property
    def fixed_bias(self) -> int:
        """What the sum of margins must exceed, with the sign changed."""
        return int(np.rint(-self.n_trees * (2 * self.threshold - 1) * leaf_kernels.FIXED_POINT))

    @cached_property
    def exact(self) -> np.ndarray:
        """Whether each leaf's fractions are short binary fractions, which float64 adds without rounding.

        0 and 1 are, so rows of pure leaves, whose ties are frequent, need no second look.
        """
        return self._short(20)

    @property
    def fixed_rounding(self) -> int:
        """The largest sum of margins whose sign `predict`, adding float64, might see otherwise.

        Each margin is off by half a unit; each of the two float sums of n fractions by at most
        ``n * n * 2**-53``, and its quotient by one more rounding.
        """
        n = self.n_trees
        return int(np.ceil(0.51 * (n + 1) + (2 * n * n + 2 * n) * 2.0**-53 * leaf_kernels.FIXED_POINT)) + 1

    def decide(
        self, index: np.ndarray, X: Any = None, *, n_jobs: int | None = None, score: np.ndarray | None = None
    ) -> np.ndarray:
        unflipped = np.full(self.n_leaves, NEVER)
        favorable = np.empty(index.shape[1], np.bool_)
        bias, exact, comparison = self.fixed_bias, self.exact, self.comparison

        def fill(rows: slice) -> None:
            leaf_kernels.decide_rows(
                index,
                rows.start,
                rows.stop,
                self.leaf_offset,
                self.fixed_margin,
                bias,
                self.leaf_value,
                exact,
                unflipped,
                0,
                comparison,
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
        # 0 <= cut + scale * (v - cut - n_trees * amount) <= 1 for amounts from -up to down
        cut = self.threshold
        away = self.leaf_value[:, 1] - cut
        return (away + cut / scale) / self.n_trees, ((1 - cut) / scale - away) / self.n_trees

    def shift(self, amount: np.ndarray) -> tuple[np.ndarray, float]:
        # Scaling all leaves about the cut-off changes no decision and brings every fraction into [0, 1].
        cut, grain, lean = self.threshold, self.grain, self._lean(amount)
        away = self.leaf_value[:, 1] - cut - self.n_trees * amount
        spare = (float(np.abs(lean).max()) + 1) * grain
        below, above = (side - spare for side in self._sides)
        with np.errstate(divide="ignore"):
            scale = float(min(1.0, np.min(np.where(away > 0, above, below) / np.abs(away))))
        favorable = (np.rint(cut / grain) + np.rint(scale * away / grain) + lean) * grain
        return np.column_stack([1 - favorable, favorable]), scale
