"""Fewer than ten people: which sums over groups describe so few, and what published sums reveal."""

import numpy as np

# Nothing is reported about fewer people.
FEWEST = 10


def people(n: int) -> int | None:
    """Return a number of people, or ``None`` for one to nine, which are not reported."""
    return None if 0 < n < FEWEST else int(n)


def find_secrets(margins: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Find sets of cells of fewer than ten people: small cells, small categories, and the small cells of a category.

    ``margins`` has the cells of each category, and ``size`` how many people there are in each cell.
    """
    few = (size > 0) & (size < FEWEST)
    sets = np.concatenate([np.eye(len(size), dtype=bool), margins, margins & few, few[None]])
    people_in = sets @ size
    return sets[(people_in > 0) & (people_in < FEWEST)]


def in_span(rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return which of the vectors are linear combinations of the rows."""
    if not len(rows) or not len(vectors):
        return np.zeros(len(vectors), bool)
    vectors = vectors.astype(np.float64)
    _, scale, basis = np.linalg.svd(rows.astype(np.float64), full_matrices=False)
    basis = basis[scale > 1e-9]
    return np.linalg.norm(vectors - vectors @ basis.T @ basis, axis=1) < 1e-6
