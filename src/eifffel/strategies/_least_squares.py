"""Damped least squares: numbers of rows are predicted from the leaves that the rows are in, leaf by leaf."""

from collections.abc import Callable, Sequence

import numpy as np

from eifffel._utils.parallel import jobs_for, run_threads, split_evenly
from eifffel.ensembles import sum_leaves
from eifffel.kernels import leaf_kernels

# The rows that a leaf needs before its own rows count more than the 0 that it is damped towards.
DAMPING = 30.0
ITERATIONS = 10
# Conjugate gradients have converged where the residual is this small, relative to the first.
CONVERGED = 1e-12


class LeastSquares:
    """Damped least squares of row targets on the indicators of leaves, which are never written out as a matrix.

    The product with the indicators is a gather over the leaf indices, that with their transpose a scatter.

    Parameters
    ----------
    index : ndarray of shape (n_trees, n_rows)
        The leaves of the rows; see `EnsembleView.apply`.
    offset : ndarray of shape (n_trees + 1,)
        Where the leaves of each tree begin.
    weight, target : ndarray of shape (n_rows,)
    n_jobs : int, optional
    """

    # With A[i, l] = 1 if row i is in leaf l, else 0; W = diag(weight); t = target; c = damping:
    #   d = argmin_d sum_i w_i (t_i - sum_l A[i, l] d_l)^2 + c sum_l d_l^2
    # which solves (A'WA + cI) d = A'W t.

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
        self.rows_of_leaf = self._spread(weight)  # A'w, the diagonal of A'WA

    def _spread(self, value: np.ndarray) -> np.ndarray:
        """Return A' value: the sum of the values of the rows in each leaf."""
        total = np.zeros(self.offset[-1])

        def fill(trees: slice) -> None:
            leaf_kernels.spread_rows(self.index, trees.start, trees.stop, self.offset, value, total)

        trees = split_evenly(len(self.index), self.n_jobs)
        run_threads(fill, trees, n_jobs=self.n_jobs, verbose=0, description="sums over rows")
        return total

    def _sum(self, direction: np.ndarray) -> np.ndarray:
        """Return A direction: the sum over the leaves of each row."""
        return sum_leaves(self.index, self.offset, direction, n_jobs=self.n_jobs)

    def descent(self, direction: np.ndarray, damping: float) -> np.ndarray:
        """Return minus half the gradient of the damped squares."""
        # A'W (t - A d) - c d
        return self._spread(self.weight * (self.target - self._sum(direction))) - damping * direction

    def solve(self, damping: float, iterations: int) -> np.ndarray:
        """Solve the normal equations by conjugate gradients, preconditioned with the rows of each leaf."""
        # r = A'W t - (A'WA + cI) d, z = r / (A'w + c), and with q = (A'WA + cI) p in each iteration:
        #   a = r'z / p'q,  d <- d + a p,  r <- r - a q,  p <- z + (r'z / last r'z) p
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
        """Solve the same within bounds for each leaf."""
        return solve_within([self], lambda moved: np.clip(moved, low, high), direction[None], damping, iterations)[0]


def solve_within(
    problems: Sequence[LeastSquares],
    project: Callable[[np.ndarray], np.ndarray],
    directions: np.ndarray,
    damping: float,
    iterations: int,
) -> np.ndarray:
    """Solve problems of the same rows and leaves together, by accelerated projected gradient steps (FISTA).

    ``project`` takes directions, (n_problems, n_leaves), to such that are allowed.
    """
    # d <- project(b + descent(b) / (T (A'w + c))), where T trees give d'A'WA d <= T sum_l (A'w)_l d_l^2;
    # s' = (1 + sqrt(1 + 4 s^2)) / 2,  b <- d + (s - 1) / s' (d - last d)
    scale = 1 / (len(problems[0].index) * (problems[0].rows_of_leaf + damping))
    directions = ahead = project(directions)
    momentum = 1.0
    for _ in range(iterations):
        descents = [problem.descent(own, damping) for problem, own in zip(problems, ahead, strict=True)]
        moved = project(ahead + scale * np.stack(descents))
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / faster * (moved - directions)
        directions, momentum = moved, faster
    return directions
