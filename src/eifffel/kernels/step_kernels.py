"""Where the steps of a path are among the lambdas at which rows cross the cut-off, compiled: arrays in, arrays out.

Their slow, obvious twins are in ``tests/kernels/test_step_kernels.py``. The score of a row is a line,
``start - lambda * pull``, and ``reach`` has lambda at each step, rising.
"""

import numpy as np

from eifffel.kernels.compiling import compiled

# Rows whose bits are looked at at once: few enough that they stay in the cache.
ROWS_AT_ONCE = 1024


@compiled
def find_stretches(start, pull, rounding, growth, low, high):
    """Fill in from which to which lambda each line is within ``rounding + lambda * growth`` of 0.

    Of a line that is never so far from it, they are infinite.
    """
    for i in range(start.shape[0]):
        toward, size = (-start[i], -pull[i]) if pull[i] < 0 else (start[i], pull[i])
        # toward - lambda * size <= rounding + lambda * growth
        away, faster = toward - rounding[i], size + growth[i]
        # toward - lambda * size >= -(rounding + lambda * growth)
        room, slower = toward + rounding[i], size - growth[i]
        first = away / faster if faster != 0 else (np.inf if away > 0 else -np.inf)
        last = room / slower if slower != 0 else (-np.inf if room < 0 else np.inf)
        if slower < 0:
            first, last = max(first, last), np.inf
        low[i] = first
        high[i] = last


@compiled
def _count_steps(reach, first, lowest, shift, bits, edge, and_at):
    """The steps below ``edge``, or also ``and_at`` it, of which step 0 is always one; see `find_steps`."""
    if not edge > reach[0]:
        return 1
    bucket = (bits >> shift) - lowest
    if bucket < 0:
        return 1
    if bucket >= first.shape[0] - 1:
        return reach.shape[0]
    a, b = 1 + first[bucket], 1 + first[bucket + 1]
    while a < b:
        middle = (a + b) >> 1
        if reach[middle] < edge or (and_at and reach[middle] == edge):
            a = middle + 1
        else:
            b = middle
    return a


@compiled
def find_steps(reach, first, lowest, shift, low, high, begin, end):
    """Fill in the first step from 1 on that is not below ``low``, and the first after it that is above ``high``.

    A search among all steps would wait for memory at each of its turns. So they are in buckets by the highest bits of
    how far they are from step 0, which as a whole number are in the same order: ``first[k]`` is how many of the steps
    after step 0 are in buckets below ``lowest + k``, and ``shift`` how many bits are left out.
    """
    n_rows = low.shape[0]
    away = np.empty((2, ROWS_AT_ONCE))
    bits = away.view(np.int64)
    for start in range(0, n_rows, ROWS_AT_ONCE):
        n = min(ROWS_AT_ONCE, n_rows - start)
        for i in range(n):
            away[0, i] = low[start + i] - reach[0]
            away[1, i] = high[start + i] - reach[0]
        for i in range(n):
            row = start + i
            own = _count_steps(reach, first, lowest, shift, bits[0, i], low[row], False)
            begin[row] = own
            if own < reach.shape[0] and reach[own] <= high[row]:
                own = max(own, _count_steps(reach, first, lowest, shift, bits[1, i], high[row], True))
            end[row] = own


@compiled
def find_movable(score, pull, begin, slope, rounding, growth, decided, row, start, drift):
    """Fill in the rows that may change between two knots, and their lines ``start - u * drift``; return how many.

    With the prices ``begin + u * slope``, for u from 0 to 1, of which ``pull[j]`` is what the j-th takes off. Rows
    may change that cross, are within ``rounding + u * growth`` of 0, or are ``decided`` otherwise than they begin;
    what rows are decided is not looked at if that is empty.
    """
    found = 0
    for i in range(score.shape[0]):
        at_begin, along = score[i], 0.0
        for j in range(begin.shape[0]):
            at_begin -= begin[j] * pull[j, i]
            along += slope[j] * pull[j, i]
        at_end = at_begin - along
        nearest = min(abs(at_begin), abs(at_end))
        favorable = at_begin > 0
        if (
            nearest <= rounding[i] + growth[i]
            or favorable != (at_end > 0)
            or (decided.shape[0] > 0 and favorable != decided[i])
        ):
            row[found], start[found], drift[found] = i, at_begin, along
            found += 1
    return found
