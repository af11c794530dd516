"""What every check of a file needs: how damage is reported, and the shapes that trees and numbers must have."""

from typing import Any

import numpy as np

# No machine has more cores; libraries would start as many threads as a file says, and crash.
MOST_THREADS = 1024
THREADS = ("n_jobs", "n_threads", "nthread", "nthreads", "num_thread", "num_threads", "thread_count")


class DamageError(ValueError):
    """What a file says does not fit together, so that using it would read or write outside of its arrays."""


def refuse_unless(holds: Any, what: str) -> None:
    """Raise, in the words of ``what``, unless something holds."""
    if not holds:
        raise DamageError(what)


def is_integer(value: Any, at_least: float = -np.inf, at_most: float = np.inf) -> bool:
    """Whether a value is an integer between bounds; a truth value is none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(at_least <= value <= at_most)


def is_number(value: Any) -> bool:
    """Whether a value is one number, be it infinite; neither NaN nor a truth value."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and not np.isnan(value)


def check_threads(settings: Any) -> None:
    """Raise if settings, by their names, ask for more threads than any machine has cores."""
    for name in THREADS:
        value = settings.get(name)
        if isinstance(value, str) and value.lstrip("-").isdigit() and len(value) < 20:
            value = int(value)
        if is_number(value):
            refuse_unless(value <= MOST_THREADS, f"{name}={value}, more threads than any machine has cores")


def is_array(value: Any, kinds: str, n_dims: int) -> bool:
    """Whether a value is an array of these kinds of numbers, as NumPy's letters have them, and so many dimensions."""
    return type(value) is np.ndarray and value.dtype.kind in kinds and value.ndim == n_dims


def walk_tree(left: np.ndarray, right: np.ndarray, inner: np.ndarray, what: str) -> tuple[int, np.ndarray]:
    """How many splits the longest way through a tree has, and which nodes are on ways; raises unless it is a tree.

    Parameters
    ----------
    left, right : ndarray of shape (n_nodes,)
        The children of each node; what those of leaves say does not count.
    inner : ndarray of bool, of shape (n_nodes,)
        Which nodes have children.
    what : str
        What the error says of a tree that is none.
    """
    n_nodes = len(inner)
    refuse_unless(n_nodes and len(left) == len(right) == n_nodes, what)
    reached = np.zeros(n_nodes, bool)
    level, depth = np.zeros(1, np.int64), 0
    reached[0] = True
    while len(level := level[inner[level]]):
        level = np.concatenate([left[level], right[level]]).astype(np.int64)
        # Each node is reached once, so that no way through the tree is endless.
        refuse_unless(level.min() >= 0 and level.max() < n_nodes and not reached[level].any(), what)
        refuse_unless(len(np.unique(level)) == len(level), what)
        reached[level] = True
        depth += 1
    return depth, reached
