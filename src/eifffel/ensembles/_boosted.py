"""Ensembles whose trees correct each other: each leaf holds a term of a sum, the raw score."""

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit
from sklearn.utils import _safe_indexing

from eifffel._utils.parallel import all_threads
from eifffel.ensembles._base import EnsembleView, NearTies, add_prices
from eifffel.ensembles._wrappers import Wrappers
from eifffel.exceptions import FeaturesNeededError


class BoostedView(EnsembleView):
    """Trees whose leaf values are added up; what a view of one library adds is how they are read and written.

    The raw score speaks for the second class.

    Attributes
    ----------
    leaf_value : ndarray of shape (n_leaves,)
        What each leaf adds to the raw score, shrinkage and weights of trees included.
    raw_bias : float
        The raw score of no tree.
    """

    votes = False

    score_type: ClassVar[type[np.floating]] = np.float64
    """The type in which the library adds leaf values."""

    raw_bias: float

    @property
    def _own_jobs(self) -> int | None:
        # Such libraries take all threads that OpenMP has where nothing is said.
        jobs = super()._own_jobs
        return all_threads() if jobs in (None, 0) else jobs

    def raw_cut(self) -> float:
        """The raw score above which the ensemble itself decides for the second class."""
        return 0.0

    def raw_of_probability(self, probability: float) -> float:
        """The raw score at which the second class has this probability."""
        return float(logit(probability))

    @property
    def _sign(self) -> int:
        return 1 if self.favorable == 1 else -1

    @cached_property
    def _cut(self) -> float:
        cutoff = self.wrappers.cutoff
        if cutoff is None:
            return self.raw_cut()
        if cutoff.method == "decision_function":
            return cutoff.value if cutoff.positive == 1 else -cutoff.value
        return self.raw_of_probability(cutoff.value if cutoff.positive == 1 else 1 - cutoff.value)

    @property
    def leaf_score(self) -> np.ndarray:
        return self._sign * self.leaf_value

    @property
    def bias(self) -> float:
        return self._sign * (self.raw_bias - self._cut)

    @property
    def rounding(self) -> float:
        """The rounding of the sum over the trees, and of the probability that is compared with the cut-off."""
        largest = self.largest_sum(self.leaf_value) + abs(self.raw_bias)
        return self._sum_rounding(largest) + self._probability_rounding()

    def step_width(self, directions: np.ndarray) -> tuple[float, np.ndarray]:
        return self.rounding, np.array([self._sum_rounding(self.largest_sum(d)) for d in directions])

    def _probability_rounding(self) -> float:
        cutoff = self.wrappers.cutoff
        if cutoff is not None and cutoff.method == "decision_function":
            return 0.0
        probability = 0.5 if cutoff is None else cutoff.value
        # Of log-odds, times what raw scores are of them.
        slope = 1 / (probability * (1 - probability)) * self.raw_of_probability(0.75) / logit(0.75)
        return float(4 * np.finfo(self.score_type).eps * slope)

    def _sum_rounding(self, largest: float) -> float:
        """How far the sum over the trees may be off, whose terms add up to at most ``largest``."""
        return float(2 * (self.n_trees + 4) * np.finfo(self.score_type).eps * largest)

    def leaf_sum(self, index: np.ndarray) -> np.ndarray:
        return self.sum_leaves(index, self.leaf_value) + self.raw_bias

    def margin(self, score: np.ndarray) -> np.ndarray:
        return np.tanh(score / 2)

    def leaf_magnitude(self, index: np.ndarray) -> np.ndarray:
        return np.maximum(1, self.sum_leaves(index, np.abs(self.leaf_value)) + abs(self.raw_bias))

    def decide(
        self, index: np.ndarray, X: Any = None, *, n_jobs: int | None = None, score: np.ndarray | None = None
    ) -> np.ndarray:
        if score is None:
            score = self.row_scores(index, n_jobs=n_jobs)
        favorable = score > 0
        near = np.flatnonzero(np.abs(score) <= self.rounding)
        if len(near) and X is not None:  # the model knows how a score at the threshold is decided
            favorable[near] = self.model_decides(_safe_indexing(X, near))
        return favorable

    def favor(self, leaf_value: np.ndarray) -> np.ndarray:
        return self._sign * leaf_value

    @property
    def threshold(self) -> float:
        return self._cut

    def holds(self, leaf_value: np.ndarray) -> bool:
        close = 4 * np.finfo(self.score_type).eps
        return np.allclose(self.leaf_value, leaf_value, rtol=close, atol=close * np.abs(leaf_value).max())

    def shift(self, amount: np.ndarray) -> tuple[np.ndarray, float]:
        return self.leaf_value - self._sign * amount, 1.0

    def near_ties(self, index: np.ndarray, directions: np.ndarray, *, n_jobs: int | None = None) -> NearTies:
        rounding, growth = self._score_errors(index, directions, n_jobs=n_jobs)
        # A row of which no leaf moves is decided as before, to the last bit.
        ties = np.full(index.shape[1], -np.inf)
        ties[self._find_unmoved(index, directions)] = np.inf
        return NearTies(rounding, growth, None, ties)

    def _find_unmoved(self, index: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """The rows all of whose leaves have directions of 0."""
        still = (directions == 0).all(axis=0)
        # The tree of fewest such leaves first: it leaves few rows to look for in the others, most often none.
        n_still = np.add.reduceat(still, self.leaf_offset[:-1], dtype=np.int64)
        rows = np.arange(index.shape[1])
        for t in np.argsort(n_still, kind="stable").tolist():
            if not n_still[t]:
                return rows[:0]
            rows = rows[still[self.leaf_offset[t] : self.leaf_offset[t + 1]][index[t, rows]]]
        return rows

    def _score_errors(
        self, index: np.ndarray, directions: np.ndarray, *, n_jobs: int | None
    ) -> tuple[float | np.ndarray, np.ndarray]:
        """The most by which the model's own score of each row may differ, and how much more for each price."""
        return self.step_width(directions)

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
        if X is None:
            raise FeaturesNeededError("rows are near the cut-off, and the model must be asked about them")
        favorable = np.empty(len(row), bool)
        places, of_place = np.unique(prices, axis=0, return_inverse=True)
        for k, at in enumerate(places):  # it knows how a score at the cut-off is decided
            pairs = np.flatnonzero(of_place.ravel() == k)
            wrappers = Wrappers(self.write(self.shift(add_prices(at, directions))[0]))
            written = type(self)(wrappers.ensemble, wrappers, self.classes.tolist()[self.favorable])
            favorable[pairs] = written.model_decides(_safe_indexing(X, row[pairs]))
        return favorable

    def _divide(self, leaf_value: np.ndarray, factor: Any, original: np.ndarray) -> np.ndarray:
        """Leaf values as a library stores them that multiplies them with ``factor``, given its ``original`` ones.

        A value that is not changed is the original to the last bit, and one that is raised is not below it.
        """
        stored = (leaf_value / factor).astype(original.dtype)
        above = (leaf_value > self.leaf_value) == (np.asarray(factor) > 0)
        stored = np.where(above, np.maximum(stored, original), np.minimum(stored, original))
        return np.where(leaf_value == self.leaf_value, original, stored)


def constrains(constraints: Any) -> bool:
    """Whether any of these monotonic constraints is one.

    They come as a list, an array, a dict, or text such as "(1,0,-1)", "0,0,1" or "0:1,name:-1".
    """
    if constraints is None:
        return False
    if isinstance(constraints, str):
        constraints = [part.rpartition(":")[2] for part in constraints.strip("() ").split(",") if part.strip()]
    elif isinstance(constraints, dict):
        constraints = list(constraints.values())
    return any(int(constraint) != 0 for constraint in constraints)
