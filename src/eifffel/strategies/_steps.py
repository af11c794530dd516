"""Steps among lines: the score of each row is a line along lambda, and steps lie between the places where these cross.

What it knows of a row is ``start - lambda * pull``, and how far from 0 the model's rounding may reach.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from eifffel._utils.parallel import jobs_for, run_threads, split_evenly
from eifffel.kernels import step_kernels

# Steps in a bucket of `step_kernels.find_steps`, about; few, so that all are in one line of the cache.
STEPS_A_BUCKET = 4
# What looking for the steps of a row takes, as additions of leaves.
STEPS_OF_SEARCH = 50
# Such rows at once about which the model itself is asked.
ROWS_ASKED_AT_ONCE = 10_000_000

# A bound on rounding: one number, or one for each row.
Limit = float | np.ndarray


def find_crossings(
    start: np.ndarray,
    pull: np.ndarray,
    moved: np.ndarray,
    rounding: Limit,
    growth: Limit,
    length: float = np.inf,
    *,
    n_jobs: int | None = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """Return from which to which lambda the rows that cross before ``length`` are within rounding of their crossings.

    Around its crossing a row's score is within ``rounding + lambda * growth`` of 0, and the written model may decide
    either way. Rows that are not ``moved`` cross nowhere.
    """
    low, high = _stretches(start, pull, rounding, growth, n_jobs)
    ahead = np.flatnonzero(moved & (np.abs(pull) > 2 * growth) & (high > 0) & (low <= length))
    return low[ahead], high[ahead]


def find_between(low: np.ndarray, high: np.ndarray, end: float, *, n_jobs: int | None = 1) -> np.ndarray:
    """Return where each step is: 0, then between any two crossings that the model's rounding tells apart, to ``end``.

    Around a crossing, from a ``low`` to a ``high``, there is no step. Both are sorted in place.
    """
    n_jobs = jobs_for(STEPS_OF_SEARCH * len(low), n_jobs)
    run_threads(np.ndarray.sort, [low, high], n_jobs=n_jobs, verbose=0, description="crossings of rows")
    # No stretch covers what lies between the k-th of all ends and the next of all beginnings, if the former is the
    # smaller: k stretches have ended, and no other has begun. A step is in the middle.
    gap = low[1:] > high[:-1]
    between = (high[:-1][gap] + low[1:][gap]) / 2
    last = high[-1:] * 1.01 if np.isinf(end) else (high[-1:][high[-1:] < end] + end) / 2
    return np.concatenate([[0.0], between[between > 0], last[np.isfinite(last)]])


def find_within(
    reach: np.ndarray, start: np.ndarray, pull: np.ndarray, rounding: Limit, growth: Limit, *, n_jobs: int | None = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps from 1 on at which ``start - lambda * pull`` is within ``rounding + lambda * growth`` of 0.

    They follow each other: the first of them, and the one after the last. ``reach`` is lambda at each step, rising.
    """
    low, high = _stretches(start, pull, rounding, growth, n_jobs)
    buckets = _fill_buckets(reach)
    begin, end = np.empty((2, len(start)), np.intp)

    def search(part: slice) -> None:
        step_kernels.find_steps(reach, *buckets, low[part], high[part], begin[part], end[part])

    _run_parts(search, len(start), n_jobs)
    return begin, end


def _stretches(
    start: np.ndarray, pull: np.ndarray, rounding: Limit, growth: Limit, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """From which to which lambda each row is within its rounding."""
    rounding, growth = (np.broadcast_to(np.asarray(limit, np.float64), start.shape) for limit in (rounding, growth))
    low, high = np.empty((2, len(start)))

    def fill(part: slice) -> None:
        step_kernels.find_stretches(start[part], pull[part], rounding[part], growth[part], low[part], high[part])

    _run_parts(fill, len(start), n_jobs)
    return low, high


def _fill_buckets(reach: np.ndarray) -> tuple[np.ndarray, int, int]:
    """How many steps are in buckets before each, the lowest bucket, and the bits that they leave out."""
    bits = (reach[1:] - reach[0]).view(np.int64)
    if not len(bits):
        return np.zeros(1, np.int64), 0, 0
    wanted = max(len(bits) // STEPS_A_BUCKET, 1)
    shift = max(int(bits[-1] - bits[0]) // wanted, 1).bit_length()
    bucket = bits >> shift
    lowest = int(bucket[0])
    return np.concatenate([[0], np.cumsum(np.bincount(bucket - lowest))]), lowest, shift


def _run_parts(function: Callable[[slice], None], n_rows: int, n_jobs: int | None) -> None:
    n_jobs = jobs_for(STEPS_OF_SEARCH * n_rows, n_jobs)
    run_threads(function, split_evenly(n_rows, n_jobs), n_jobs=n_jobs, verbose=0, description="steps of rows")


def of_rows(limits: tuple[Limit, ...], rows: np.ndarray | slice) -> list[Limit]:
    """Limits, each one number or one for each row, of some rows."""
    return [limit[rows] if isinstance(limit, np.ndarray) and limit.ndim else limit for limit in limits]


def cut_out(
    begin: np.ndarray, end: np.ndarray, inner_begin: np.ndarray, inner_end: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return what is left of stretches of steps before and after the inner ones."""
    inner_begin, inner_end = (np.clip(step, begin, end) for step in (inner_begin, inner_end))
    return (begin, inner_begin), (inner_end, end)


def blocks_of(sizes: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the places of those that have a size, in blocks that fit into memory."""
    places = np.flatnonzero(sizes)
    block = np.cumsum(sizes[places]) // ROWS_ASKED_AT_ONCE
    for begin, end in pairwise([*np.flatnonzero(np.diff(block, prepend=-1)), len(places)]):
        yield places[begin:end]


def count_up(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the numbers from each ``low`` up to below its ``high``, one range after another."""
    sizes = high - low
    ends = np.cumsum(sizes)
    return np.arange(ends[-1]) - np.repeat(ends - sizes, sizes) + np.repeat(low, sizes)
