"""Intervals of rates, of their differences and of their ratios, from counts; arrays in, arrays out.

Intervals are ``low`` and ``high``, of 95% unless another confidence is given; limits are one-sided. NaN where there is
nothing to count.
"""

from functools import cache

import numpy as np
from scipy.special import betaincinv
from scipy.stats import norm

from eifffel.kernels import interval_kernels

__all__ = [
    "difference_interval",
    "difference_limit",
    "rate_interval",
    "ratio_interval",
    "ratio_limit",
    "ratio_lower_limit",
]

CONFIDENCE = 0.95
# With fewer decisions of either kind in a group, approximate limits of differences are not trusted.
FEW = 15


@cache
def _quantile(confidence: float) -> float:
    return float(norm.ppf(confidence))


def rate_interval(part: np.ndarray, whole: np.ndarray, confidence: float = CONFIDENCE) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's score interval of ``part / whole``.

    Parameters
    ----------
    part, whole : array-like of counts
        The favourable ones and all; broadcast against each other.
    confidence : float in (0, 1)

    Returns
    -------
    low, high : ndarray

    Examples
    --------
    >>> from eifffel.intervals import rate_interval
    >>> low, high = rate_interval(80, 100)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.71 to 0.87
    """
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
    """The interval of ``part / whole - other_part / other_whole`` between two one-sided limits.

    Parameters
    ----------
    part, whole, other_part, other_whole : array-like of counts
        The favourable ones and all, of two groups; broadcast against each other.
    confidence : float in (0, 1)

    Returns
    -------
    low, high : ndarray

    See Also
    --------
    difference_limit : What each of the two is.

    Examples
    --------
    >>> from eifffel.intervals import difference_interval
    >>> low, high = difference_interval(60, 100, 40, 100)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.06 to 0.33
    """
    one_sided = (1 + confidence) / 2
    high = difference_limit(part, whole, other_part, other_whole, one_sided)
    return -difference_limit(other_part, other_whole, part, whole, one_sided), high


def difference_limit(
    part: np.ndarray, whole: np.ndarray, other_part: np.ndarray, other_whole: np.ndarray, confidence: float
) -> np.ndarray:
    """The upper limit of a difference of rates: the score test rejects, at 1 - ``confidence``, each that is larger.

    Where a group has fewer than `FEW` of either decision the test errs too often, and the limit is no smaller than the
    one that exact limits of the two rates give.

    Parameters
    ----------
    part, whole, other_part, other_whole : array-like of counts
        The favourable ones and all, of two groups; broadcast against each other.
    confidence : float in (0, 1)
        One-sided.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from eifffel.intervals import difference_limit
    >>> print(f"{difference_limit(60, 100, 40, 100, 0.95):.2f}")
    0.31
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
    interval_kernels.score_limits(*(count[known] for count in counts), _quantile(confidence), found)
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
    rate, up, other, down = _exact_rates(part, whole, other_part, other_whole, confidence)
    return np.minimum(factor * rate - other + np.hypot(factor * (up - rate), other - down), 1.0)


def _exact_rates(
    part: np.ndarray, whole: np.ndarray, other_part: np.ndarray, other_whole: np.ndarray, confidence: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A rate and its upper limit, another and its lower limit, by Clopper and Pearson."""
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(part == whole, 1.0, betaincinv(part + 1, np.maximum(whole - part, 1e-9), confidence))
        down = np.where(
            other_part == 0, 0.0, betaincinv(np.maximum(other_part, 1e-9), other_whole - other_part + 1, 1 - confidence)
        )
        return part / whole, up, other_part / other_whole, down


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

    Parameters
    ----------
    part, whole, other_part, other_whole : array-like of counts
        The favourable ones and all, of two groups; broadcast against each other.
    ratio : float in (0, 1]
        0.8 for the four-fifths rule.
    confidence : float in (0, 1)
        One-sided.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from eifffel.intervals import ratio_limit
    >>> limit = ratio_limit([60, 600], [100, 1000], [57, 570], [100, 1000], 0.8, 0.95)
    >>> (limit <= 0).tolist()  # a ratio of 0.95 of 200 people is not yet sure to be 0.8
    [False, True]
    """
    part, whole, other_part, other_whole = (
        np.asarray(count, np.float64) for count in (part, whole, other_part, other_whole)
    )
    return _exact_limit(part, whole, other_part, other_whole, confidence, ratio)


def ratio_lower_limit(
    part: np.ndarray, whole: np.ndarray, other_part: np.ndarray, other_whole: np.ndarray, confidence: float
) -> np.ndarray:
    """The lower limit of the second rate over the first: the largest ratio that `ratio_limit` finds to be kept.

    Parameters
    ----------
    part, whole, other_part, other_whole : array-like of counts
        The favourable ones and all, of two groups; broadcast against each other.
    confidence : float in (0, 1)
        One-sided.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from eifffel.intervals import ratio_lower_limit
    >>> ratio_lower_limit([60, 600], [100, 1000], [57, 570], [100, 1000], 0.95).round(3).tolist()
    [0.77, 0.892]
    """
    part, whole, other_part, other_whole = (
        np.asarray(count, np.float64) for count in (part, whole, other_part, other_whole)
    )
    rate, up, other, down = _exact_rates(part, whole, other_part, other_whole, confidence)
    # f * rate - other + hypot(f * (up - rate), other - down) = 0 is, for f <= other / rate, the smaller root of
    #   f^2 * (rate^2 - (up - rate)^2) - 2 * f * rate * other + other^2 - (other - down)^2 = 0
    square, constant = rate**2 - (up - rate) ** 2, other**2 - (other - down) ** 2
    root = np.sqrt(np.maximum((rate * other) ** 2 - square * constant, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(constant > 0, constant / (rate * other + root), 0.0)


def ratio_interval(
    part: np.ndarray,
    whole: np.ndarray,
    other_part: np.ndarray,
    other_whole: np.ndarray,
    confidence: float = CONFIDENCE,
) -> tuple[np.ndarray, np.ndarray]:
    """Koopman's score interval of the ratio of two rates; NaN where the second of them is 0.

    Parameters
    ----------
    part, whole, other_part, other_whole : array-like of counts
        The favourable ones and all, of two groups; broadcast against each other.
    confidence : float in (0, 1)

    Returns
    -------
    low, high : ndarray
        Of ``part / whole`` divided by ``other_part / other_whole``.

    Examples
    --------
    >>> from eifffel.intervals import ratio_interval
    >>> low, high = ratio_interval(40, 100, 60, 100)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.50 to 0.88
    """
    critical = _quantile((1 + confidence) / 2)
    given = np.broadcast_arrays(*(np.asarray(count, np.float64) for count in (part, whole, other_part, other_whole)))
    counts = [np.ravel(count) for count in given]
    known = (counts[1] > 0) & (counts[2] > 0)
    low, high = np.full(len(known), np.nan), np.full(len(known), np.nan)
    one, size, other, other_size = (count[known] for count in counts)
    found = np.empty(known.sum())
    interval_kernels.ratio_limits(one, size, other, other_size, critical, found)
    high[known] = found
    # The lower limit is the upper one of the inverse, and 0 where there is none.
    some = one > 0
    least, found = np.zeros(known.sum()), np.empty(some.sum())
    interval_kernels.ratio_limits(other[some], other_size[some], one[some], size[some], critical, found)
    least[some] = 1 / found
    low[known] = least
    return low.reshape(given[0].shape), high.reshape(given[0].shape)
