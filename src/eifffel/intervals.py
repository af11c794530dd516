"""95% intervals of rates, of their differences and of their ratios, from counts; arrays in, arrays out.

Each returns ``low`` and ``high``, NaN where there is nothing to count.
"""

from functools import cache

import numpy as np
from scipy.stats import norm

CONFIDENCE = 0.95


@cache
def _quantile(confidence: float) -> float:
    return float(norm.ppf((1 + confidence) / 2))


def rate_interval(part: np.ndarray, whole: np.ndarray, confidence: float = CONFIDENCE) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's score interval of ``part / whole``."""
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    z = _quantile(confidence)
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
    """Newcombe's interval of ``part / whole - other_part / other_whole``, from the score intervals of both."""
    low, high = rate_interval(part, whole, confidence)
    other_low, other_high = rate_interval(other_part, other_whole, confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate, other = np.true_divide(part, whole), np.true_divide(other_part, other_whole)
    return (
        rate - other - np.hypot(rate - low, other_high - other),
        rate - other + np.hypot(high - rate, other - other_low),
    )


def ratio_interval(
    part: np.ndarray,
    whole: np.ndarray,
    other_part: np.ndarray,
    other_whole: np.ndarray,
    confidence: float = CONFIDENCE,
) -> tuple[np.ndarray, np.ndarray]:
    """Katz's interval of the ratio of two rates, normal in its logarithm; NaN where one of them is 0."""
    z = _quantile(confidence)
    counts = [np.asarray(count, np.float64) for count in (part, whole, other_part, other_whole)]
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithm = np.log(counts[0] / counts[1]) - np.log(counts[2] / counts[3])
        error = np.sqrt(1 / counts[0] - 1 / counts[1] + 1 / counts[2] - 1 / counts[3])
        low, high = np.exp(logarithm - z * error), np.exp(logarithm + z * error)
    known = np.isfinite(logarithm)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)
