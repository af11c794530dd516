"""Each kernel against a slow, obvious twin."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from eifffel.kernels import step_kernels
from eifffel.strategies import _steps


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**20), one_limit=st.booleans())
def test_find_stretches_solves_for_both_ends(seed, one_limit):
    random = np.random.RandomState(seed)
    # Whole numbers, so that many are equal, and 0.
    start, pull = random.randint(-4, 5, (2, 30)).astype(float)
    rounding, growth = random.randint(0, 4, (2, 30)).astype(float)
    rounding[random.rand(30) < 0.1] = np.inf
    rounding[random.rand(30) < 0.1] = -np.inf
    if one_limit:
        rounding, growth = (np.broadcast_to(np.float64(limit), 30) for limit in (2.0, 1.0))
    low, high = np.empty((2, 30))
    step_kernels.find_stretches(start, pull, rounding, growth, low, high)
    for reach in [*np.arange(0, 9, 0.25), 0.1, 1 / 3, 1e9]:
        within = np.abs(start - reach * pull) <= rounding + reach * growth
        # At an end itself, a quotient may be rounded to the other side.
        apart = np.minimum(np.abs(low - reach), np.abs(high - reach)) > 1e-9
        np.testing.assert_array_equal(((low <= reach) & (reach <= high))[apart], within[apart])


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    n_steps=st.integers(0, 60),
    n_rows=st.integers(1, 2500),
    first=st.sampled_from([0.0, 0.7]),
    spread=st.sampled_from([0.0, 1.0, 30.0]),
)
def test_find_steps_counts_the_steps_before_each_end(seed, n_steps, n_rows, first, spread):
    random = np.random.RandomState(seed)
    reach = np.unique(first + np.append(0, np.exp(random.normal(scale=spread, size=n_steps))))
    ends = np.concatenate([reach, np.nextafter(reach, -np.inf), np.nextafter(reach, np.inf), [-np.inf, np.inf, -1, 9]])
    low, high = np.sort(random.choice(ends, (2, n_rows)), axis=0)
    begin, end = np.empty((2, n_rows), np.intp)
    step_kernels.find_steps(reach, *_steps._fill_buckets(reach), low, high, begin, end)
    np.testing.assert_array_equal(begin, np.maximum(np.searchsorted(reach, low, side="left"), 1))
    np.testing.assert_array_equal(end, np.maximum(np.searchsorted(reach, high, side="right"), begin))


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**20), n_prices=st.integers(1, 3), known=st.booleans())
def test_find_movable_finds_the_rows_that_may_change(seed, n_prices, known):
    random = np.random.RandomState(seed)
    score, pull = random.randint(-4, 5, 40).astype(float), random.randint(-2, 3, (n_prices, 40)).astype(float)
    begin, slope = random.randint(-2, 3, (2, n_prices)).astype(float)
    rounding, growth = random.randint(0, 2, (2, 40)).astype(float)
    decided = random.randint(0, 2, 40 * known).astype(bool)
    row, start, drift = np.empty(40, np.int64), np.empty(40), np.empty(40)
    n = step_kernels.find_movable(score, pull, begin, slope, rounding, growth, decided, row, start, drift)
    at_begin, at_end = (score - prices @ pull for prices in (begin, begin + slope))
    expected = np.minimum(abs(at_begin), abs(at_end)) <= rounding + growth
    expected |= (at_begin > 0) != (at_end > 0)
    if known:
        expected |= (at_begin > 0) != decided
    np.testing.assert_array_equal(row[:n], np.flatnonzero(expected))
    np.testing.assert_array_equal(start[:n], at_begin[expected])
    np.testing.assert_array_equal(drift[:n], (slope @ pull)[expected])
