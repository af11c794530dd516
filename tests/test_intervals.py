"""Intervals of rates, differences and ratios."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from scipy.stats import binom, binomtest, norm

from eifffel.intervals import (
    difference_interval,
    difference_limit,
    rate_interval,
    ratio_interval,
    ratio_limit,
    ratio_lower_limit,
    score_limit,
)
from eifffel.kernels.interval_kernels import score_statistic

COUNTS = st.integers(1, 500).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole)))


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.99]))
def test_a_rate_has_wilsons_interval(counts, confidence):
    low, high = rate_interval(*counts, confidence)
    theirs = binomtest(*counts).proportion_ci(confidence, method="wilson")
    np.testing.assert_allclose([low, high], [theirs.low, theirs.high], atol=1e-12)


def test_differences_are_those_that_are_printed():
    """The examples of scoreci in the documentation of the R package ratesci 1.0, by the author of the method."""
    cases = [
        ((12, 16, 1, 16), (0.38567597, 0.8778839)),
        ((19, 29, 22, 30), (-0.31189939, 0.1600794)),
        ((5, 56, 0, 29), (-0.01861751, 0.1867180)),
        ((15, 16, 9, 16), (0.07947651, 0.6366192)),
        ((29, 34, 18, 34), (0.10699961, 0.5210504)),
        ((44, 54, 17, 55), (0.33270276, 0.6528154)),
        ((14, 17, 7, 15), (0.02152622, 0.6408332)),
    ]
    for counts, printed in cases:
        part, whole, other_part, other_whole = counts
        low = -score_limit(other_part, other_whole, part, whole, 0.975)
        np.testing.assert_allclose([low, score_limit(*counts, 0.975)], printed, atol=2e-7)


@settings(deadline=None)
@given(COUNTS, COUNTS, st.sampled_from([0.9, 0.95, 0.99]))
def test_where_decisions_are_few_exact_limits_have_their_say(one, other, confidence):
    limit, score = difference_limit(*one, *other, confidence), score_limit(*one, *other, confidence)
    fewest = min(one[0], one[1] - one[0], other[0], other[1] - other[0])
    if fewest >= 15:
        assert limit == score
        return
    ends = [binomtest(*counts).proportion_ci(2 * confidence - 1, method="exact") for counts in (one, other)]
    rates = [counts[0] / counts[1] for counts in (one, other)]
    exact = rates[0] - rates[1] + np.hypot(ends[0].high - rates[0], rates[1] - ends[1].low)
    assert limit == pytest.approx(max(min(exact, 1), score), abs=1e-9)


def likelihood(counts, rate, difference):
    """Of the two rates, one of them ``rate``, that differ by ``difference``; its logarithm."""
    part, whole, other_part, other_whole = counts
    other = rate - difference
    return (
        xlogy(part, rate)
        + xlogy(whole - part, 1 - rate)
        + xlogy(other_part, other)
        + xlogy(other_whole - other_part, 1 - other)
    )


def statistic(counts, difference):
    """The score statistic with the likeliest rates found by looking, ever closer."""
    part, whole, other_part, other_whole = counts
    low, high = max(0, difference), min(1, 1 + difference)
    least, most = low, high
    for _ in range(25):
        grid = np.linspace(low, high, 201)
        best = int(np.argmax(likelihood(counts, grid, difference)))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 200)]
        if high - low < 1e-11:  # the likelihood is flat at its top
            break
    rate = np.clip((low + high) / 2, least, most)
    other = rate - difference
    n = whole + other_whole
    spread, other_spread = rate * (1 - rate) / whole, other * (1 - other) / other_whole
    deviation = np.sqrt((spread + other_spread) * n / (n - 1))
    raw = (part / whole - other_part / other_whole - difference) / deviation
    third = spread / whole * (1 - 2 * rate) - other_spread / other_whole * (1 - 2 * other)
    skew = third / deviation**3 / 6
    # raw = z + skew * (z**2 - 1), the solution next to raw
    roots = np.roots([skew, 1, -skew - raw])
    return raw, min(roots[np.isreal(roots)].real, key=lambda z: abs(z - raw), default=None)


@settings(max_examples=300, deadline=None)
@given(COUNTS, COUNTS, st.sampled_from([-0.6, -0.05, 0.01, 0.05, 0.3, 0.9]))
def test_the_statistic_restricts_the_rates_to_the_difference_and_corrects_for_skewness(one, other, difference):
    counts = tuple(map(float, (*one, *other)))
    raw, expected = statistic(counts, difference)
    if expected is None:  # skewed beyond correction; what is rejected without it still is
        assert abs(score_statistic(*counts, difference)) >= abs(raw) * (1 - 1e-4)
    else:
        assert score_statistic(*counts, difference) == pytest.approx(expected, rel=1e-4, abs=1e-4)


@settings(max_examples=300, deadline=None)
@given(COUNTS, COUNTS, st.sampled_from([0.6, 0.9, 0.95, 0.99]), st.floats(-0.99, 0.99))
def test_all_beyond_the_limit_is_rejected_and_the_limit_itself_is_not(one, other, confidence, difference):
    counts = tuple(map(float, (*one, *other)))
    estimate = one[0] / one[1] - other[0] / other[1]
    limit = float(score_limit(*counts, confidence))
    assert limit >= estimate
    if difference > limit + 1e-9:
        assert score_statistic(*counts, difference) <= -norm.ppf(confidence)
    # Where a rate is next to 0 or 1 the statistic rounds to some 1e-4, and falls so steeply that this is no distance.
    if limit - 1e-6 > estimate:
        assert score_statistic(*counts, limit - 1e-6) > -norm.ppf(confidence)


@pytest.mark.parametrize(
    ("rates", "sizes", "least"),
    [
        ((0.12, 0.17), (163, 337), 0.048),
        ((0.39, 0.44), (200, 300), 0.048),
        ((0.20, 0.25), (100, 900), 0.048),
        ((0.25, 0.30), (30, 470), 0.03),
        ((0.01, 0.06), (100, 900), 0.01),
        # Without the exact limits these are from 9% to 12%.
        ((0.95, 1.00), (41, 300), 0),
        ((0.93, 0.98), (30, 3000), 0),
        ((0.98, 1.00), (200, 300), 0),
        ((0.02, 0.07), (1000, 30), 0),
    ],
)
def test_the_test_is_of_its_level_whatever_the_sizes(rates, sizes, least):
    """How often it rejects the bound that is the truth, over all outcomes; where decisions are few it may be less."""
    counts = [np.arange(size + 1) for size in sizes]
    chance = np.outer(*(binom.pmf(count, size, rate) for count, size, rate in zip(counts, sizes, rates, strict=True)))
    part, other = np.meshgrid(*counts, indexing="ij")
    likely = chance > 1e-9
    limits = difference_limit(other[likely], sizes[1], part[likely], sizes[0], 0.95)
    rejected = chance[likely][limits <= round(rates[1] - rates[0], 6)].sum()
    assert least <= rejected <= 0.052


@given(COUNTS, COUNTS)
def test_intervals_hold_the_estimate_and_turn_with_the_order(one, other):
    low, high = difference_interval(*one, *other)
    difference = one[0] / one[1] - other[0] / other[1]
    assert -1 - 1e-9 <= low <= difference + 1e-12
    assert difference - 1e-12 <= high <= 1 + 1e-9
    np.testing.assert_allclose(difference_interval(*other, *one), (-high, -low), atol=1e-12)
    low, high = ratio_interval(*one, *other)
    if not other[0]:
        assert np.isnan([low, high]).all()
        return
    ratio = one[0] / one[1] / (other[0] / other[1])
    assert low <= ratio * (1 + 1e-9)
    assert ratio < high
    if one[0]:
        np.testing.assert_allclose(ratio_interval(*other, *one), (1 / high, 1 / low), rtol=1e-9)
    else:
        assert low == 0


def test_the_interval_of_a_ratio_is_the_one_that_is_printed():
    """The example of Koopman (1984), 36 of 40 against 16 of 80."""
    np.testing.assert_allclose(ratio_interval(36, 40, 16, 80), (2.94, 7.15), atol=0.005)


@settings(deadline=None)
@given(COUNTS, COUNTS.filter(lambda counts: counts[0] > 0), st.sampled_from([0.9, 0.95, 0.99]))
def test_a_ratio_is_within_its_limit_unless_the_likeliest_rates_of_that_ratio_are_rejected(one, other, confidence):
    high = float(ratio_interval(*one, *other, confidence)[1])

    def chi_square(ratio):
        """Pearson's, of both groups, at the likeliest pair of rates with this ratio, looked for."""

        def unlikely(rate):
            ends = ((one, ratio * rate), (other, rate))
            return -sum(xlogy(n, p) + xlogy(size - n, 1 - p) for (n, size), p in ends)

        rate = minimize_scalar(unlikely, bounds=(0, min(1, 1 / ratio)), method="bounded", options={"xatol": 1e-12}).x
        return sum((n - size * p) ** 2 / (size * p * (1 - p)) for (n, size), p in ((one, ratio * rate), (other, rate)))

    critical = norm.ppf((1 + confidence) / 2) ** 2
    assert chi_square(high * 0.999) < critical * 1.001
    assert chi_square(high * 1.001) > critical * 0.999


def test_nothing_to_count_has_no_interval():
    assert np.isnan(rate_interval(0, 0)).all()
    assert np.isnan(difference_interval(0, 0, 1, 2)).all()


def test_the_95_percent_interval_of_a_ratio_holds_it_about_95_times_in_100():
    random = np.random.default_rng(0)
    part, other = random.binomial(400, 0.3, 4000), random.binomial(600, 0.4, 4000)
    low, high = ratio_interval(part, 400, other, 600)
    inside = ((low <= 0.75) & (high >= 0.75)).mean()
    assert inside == pytest.approx(0.95, abs=0.012)  # three standard errors


@settings(max_examples=300, deadline=None)
@given(COUNTS, COUNTS, st.sampled_from([0.6, 0.9, 0.95, 0.99]))
def test_the_lower_limit_of_a_ratio_is_the_largest_that_is_kept(one, other, confidence):
    counts = tuple(map(float, (*one, *other)))
    lower = float(ratio_lower_limit(*counts, confidence))
    assert lower >= 0
    assert ratio_limit(*counts, lower * 1.0001 + 1e-9, confidence) > 0
    if lower > 0:
        assert ratio_limit(*counts, lower * 0.9999, confidence) <= 0
