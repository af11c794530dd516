"""95% intervals of rates, of their differences and of their ratios, from counts; arrays in, arrays out.

Each returns ``low`` and ``high``, NaN where there is nothing to count.
"""

from functools import cache

import numpy as np
from scipy.special import betaincinv
from scipy.stats import norm

from eifffel import _interval_kernels

CONFIDENCE = 0.95
# With fewer decisions of either kind in a group, approximate limits of differences are not trusted.
FEW = 15


@cache
def _quantile(confidence: float) -> float:
    return float(norm.ppf(confidence))


def rate_interval(part: np.ndarray, whole: np.ndarray, confidence: float = CONFIDENCE) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's score interval of ``part / whole``."""
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    z = _quantile((1 + confidence) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = part / whole
        centre = (rate + z**2 / (2 * whole)) / (1 + z**2 / whole)
        half = z / (1 + z**2 / whole) * np.sqrt(rate * (1 - rate) / whole + z**2 / (4 * whole**2))
    # At 0 and 1 the bound is the rate itself, but for rounding.
    return np.where(part == 0, np.where(whole == 0, np.nan, 0.0), centre - half), np.where(
        part == whole, np.where(whole == 0, np.nan, 1.0), centre + half
    )


def difference_interval(
    part: np.ndarray,
    whole: np.ndarray,
    other_part: np.ndarray,
    other_whole: np.ndarray,
    confidence: float = CONFIDENCE,
) -> tuple[np.ndarray, np.ndarray]:
    """The interval of ``part / whole - other_part / other_whole`` between two one-sided limits."""
    one_sided = (1 + confidence) / 2
    high = difference_limit(part, whole, other_part, other_whole, one_sided)
    return -difference_limit(other_part, other_whole, part, whole, one_sided), high


def difference_limit(
    part: np.ndarray, whole: np.ndarray, other_part: np.ndarray, other_whole: np.ndarray, confidence: float
) -> np.ndarray:
    """The upper limit of such a difference: the score test rejects, at 1 - ``confidence``, each that is larger.

    Where a group has fewer than `FEW` of either decision the test errs too often, and the limit is no smaller than the
    one that exact limits of the two rates give.
    """
    part, whole, other_part, other_whole = (
        np.asarray(count, np.float64) for count in (part, whole, other_part, other_whole)
    )
    limit = score_limit(part, whole, other_part, other_whole, confidence)
    fewest = np.minimum(np.minimum(part, whole - part), np.minimum(other_part, other_whole - other_part))
    few = fewest < FEW
    if not few.any():
        return limit
    return np.where(few, np.fmax(limit, _exact_limit(part, whole, other_part, other_whole, confidence)), limit)


def score_limit(
    part: np.ndarray, whole: np.ndarray, other_part: np.ndarray, other_whole: np.ndarray, confidence: float
) -> np.ndarray:
    """The upper limit of a difference of rates by the score test corrected for skewness (Laud 2017)."""
    given = np.broadcast_arrays(*(np.asarray(count, np.float64) for count in (part, whole, other_part, other_whole)))
    counts = [np.ravel(count) for count in given]
    known = (counts[1] > 0) & (counts[3] > 0)
    limits = np.full(len(known), np.nan)
    found = np.empty(known.sum())
    _interval_kernels.score_limits(*(count[known] for count in counts), _quantile(confidence), found)
    limits[known] = found
    return limits.reshape(given[0].shape)


def _exact_limit(
    part: np.ndarray,
    whole: np.ndarray,
    other_part: np.ndarray,
    other_whole: np.ndarray,
    confidence: float,
    factor: float = 1.0,
) -> np.ndarray:
    """The upper limit from those of Clopper and Pearson, whose distances are added as those of Newcombe's are.

    ``factor`` multiplies the first rate.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        rate, other = part / whole, other_part / other_whole
        up = np.where(part == whole, 1.0, betaincinv(part + 1, np.maximum(whole - part, 1e-9), confidence))
        down = np.where(
            other_part == 0, 0.0, betaincinv(np.maximum(other_part, 1e-9), other_whole - other_part + 1, 1 - confidence)
        )
    return np.minimum(factor * rate - other + np.hypot(factor * (up - rate), other - down), 1.0)


def ratio_limit(
    part: np.ndarray,
    whole: np.ndarray,
    other_part: np.ndarray,
    other_whole: np.ndarray,
    ratio: float,
    confidence: float,
) -> np.ndarray:
    """The upper limit of ``ratio * part / whole - other_part / other_whole``, from exact limits of the two rates.

    Where it is at most 0, the second rate is, with this confidence, at least ``ratio`` times the first.
    """
    part, whole, other_part, other_whole = (
        np.asarray(count, np.float64) for count in (part, whole, other_part, other_whole)
    )
    return _exact_limit(part, whole, other_part, other_whole, confidence, ratio)


def ratio_interval(
    part: np.ndarray,
    whole: np.ndarray,
    other_part: np.ndarray,
    other_whole: np.ndarray,
    confidence: float = CONFIDENCE,
) -> tuple[np.ndarray, np.ndarray]:
    """Koopman's score interval of the ratio of two rates; NaN where the second of them is 0."""
    critical = _quantile((1 + confidence) / 2)
    given = np.broadcast_arrays(*(np.asarray(count, np.float64) for count in (part, whole, other_part, other_whole)))
    counts = [np.ravel(count) for count in given]
    known = (counts[1] > 0) & (counts[2] > 0)
    low, high = np.full(len(known), np.nan), np.full(len(known), np.nan)
    one, size, other, other_size = (count[known] for count in counts)
    found = np.empty(known.sum())
    _interval_kernels.ratio_limits(one, size, other, other_size, critical, found)
    high[known] = found
    # The lower limit is the upper one of the inverse, and 0 where there is none.
    some = one > 0
    least, found = np.zeros(known.sum()), np.empty(some.sum())
    _interval_kernels.ratio_limits(other[some], other_size[some], one[some], size[some], critical, found)
    least[some] = 1 / found
    low[known] = least
    return low.reshape(given[0].shape), high.reshape(given[0].shape)
