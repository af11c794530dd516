"""Damped least squares of numbers of rows on the leaves that rows are in: what foretells them, leaf by leaf."""

import numpy as np

from eifffel import _kernels
from eifffel._parallel import jobs_for, run_threads, split_evenly
from eifffel.ensembles import sum_leaves

# Rows that a leaf needs before its own rows count more than what it is damped towards, none.
DAMPING = 30.0
ITERATIONS = 10
# Conjugate gradients have converged where the residual is this small, relative to the first.
CONVERGED = 1e-12


class LeastSquares:
    """Damped least squares of row targets on the indicators of leaves, which are never written out as a matrix.

    The product with the indicators is a gather over the leaf indices, that with their transpose a scatter.
    """

    def __init__(
        self,
        index: np.ndarray,
        offset: np.ndarray,
        weight: np.ndarray,
        target: np.ndarray,
        n_jobs: int | None = None,
    ):
        self.index, self.offset, self.weight, self.target = index, offset, weight, target
        self.n_jobs = jobs_for(index.size, n_jobs)
        self.rows_of_leaf = self._spread(weight)

    def _spread(self, value: np.ndarray) -> np.ndarray:
        total = np.zeros(self.offset[-1])

        def fill(trees: slice) -> None:
            _kernels.spread_rows(self.index, trees.start, trees.stop, self.offset, value, total)

        trees = split_evenly(len(self.index), self.n_jobs)
        run_threads(fill, trees, n_jobs=self.n_jobs, verbose=0, description="sums over rows")
        return total

    def _sum(self, direction: np.ndarray) -> np.ndarray:
        return sum_leaves(self.index, self.offset, direction, n_jobs=self.n_jobs)

    def descent(self, direction: np.ndarray, damping: float) -> np.ndarray:
        """Minus half the gradient of the damped squares."""
        return self._spread(self.weight * (self.target - self._sum(direction))) - damping * direction

    def solve(self, damping: float, iterations: int) -> np.ndarray:
        """Conjugate gradients on the normal equations, preconditioned with the rows of each leaf."""
        scale = 1 / (self.rows_of_leaf + damping)
        direction = np.zeros(len(scale))
        residual = self.descent(direction, damping)
        scaled = scale * residual
        search, size = scaled.copy(), residual @ scaled
        least = CONVERGED**2 * size
        for _ in range(iterations):
            if size <= least:
                break
            image = self._spread(self.weight * self._sum(search)) + damping * search
            step = size / (search @ image)
            direction += step * search
            residual -= step * image
            scaled = scale * residual
            last, size = size, residual @ scaled
            search = scaled + (size / last) * search
        return direction

    def solve_within(
        self, low: np.ndarray, high: np.ndarray, direction: np.ndarray, damping: float, iterations: int
    ) -> np.ndarray:
        """The same within bounds for each leaf: projected gradient steps from ``direction``, accelerated (FISTA)."""
        scale = 1 / (len(self.index) * (self.rows_of_leaf + damping))
        direction = ahead = np.clip(direction, low, high)
        momentum = 1.0
        for _ in range(iterations):
            moved = np.clip(ahead + scale * self.descent(ahead, damping), low, high)
            faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = moved + (momentum - 1) / faster * (moved - direction)
            direction, momentum = moved, faster
        return direction
