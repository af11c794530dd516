"""Tests of two rates and the limits that they reject, compiled: counts in, limits out.

Their slow, obvious twins are in ``tests/test_intervals.py``.
"""

import numpy as np

from eifffel.kernels.compiling import compiled


@compiled
def score_statistic(part, whole, other_part, other_whole, difference):
    """The score statistic for ``part / whole - other_part / other_whole`` being ``difference``; it falls as that grows.

    The distance from it in standard errors (Miettinen and Nurminen 1985), whose variance is that of the two rates which
    are most likely among those that differ by ``difference``: the root of a cubic (Farrington and Manning 1990). Then
    corrected for skewness (Gart and Nam 1990, Laud 2017), without which one tail errs more often where the groups
    differ in size.
    """
    n = whole + other_whole
    away = part / whole - other_part / other_whole - difference
    # The derivative of the likelihood by the first rate, as a cubic with the coefficients a, b, c, d.
    a = n
    b = -(n + part + other_part + difference * (n + whole))
    c = difference * (difference * whole + 2 * part + n) + part + other_part
    d = -part * difference * (1 + difference)
    third = b / (3 * a)
    v = third**3 - b * c / (6 * a * a) + d / (2 * a)
    u = np.sqrt(max(third * third - c / (3 * a), 0.0))
    if v < 0:
        u = -u
    rate = -third
    if u != 0:
        angle = (np.pi + np.arccos(min(max(v / u**3, -1.0), 1.0))) / 3
        rate = 2 * u * np.cos(angle) - third
    rate = min(max(rate, 0.0, difference), 1.0, 1 + difference)
    other = rate - difference
    spread, other_spread = rate * (1 - rate) / whole, other * (1 - other) / other_whole
    variance = (spread + other_spread) * n / (n - 1)
    if variance <= 0:
        return 0.0 if abs(away) < 1e-12 else np.inf * away
    raw = away / np.sqrt(variance)
    third_moment = spread * (1 - 2 * rate) / whole - other_spread * (1 - 2 * other) / other_whole
    skew = third_moment / (6 * variance**1.5)
    if abs(skew) < 1e-9:
        return raw
    # raw = z + skew * (z * z - 1), solved for z; beyond what has a solution, as near as there is one.
    inner = 1 + 4 * skew * (raw + skew)
    if inner > 0:
        return (np.sqrt(inner) - 1) / (2 * skew)
    return min(raw, -1 / (2 * skew)) if skew > 0 else max(raw, -1 / (2 * skew))


@compiled
def score_limits(part, whole, other_part, other_whole, critical, limits):
    """The largest difference that the statistic does not reject at ``-critical``, for each pair of counts.

    Found by halving to the last bit, from the side that is rejected, and no smaller than the difference itself.
    """
    for i in range(len(part)):
        low = part[i] / whole[i] - other_part[i] / other_whole[i]
        high = 1.0
        middle = (low + high) / 2
        while low < middle < high:
            if score_statistic(part[i], whole[i], other_part[i], other_whole[i], middle) <= -critical:
                high = middle
            else:
                low = middle
            middle = (low + high) / 2
        limits[i] = high


@compiled
def ratio_statistic(part, whole, other_part, other_whole, ratio):
    """Standard deviations by which the first rate exceeds ``ratio`` times the other, were that the truth (Koopman)."""
    # The likeliest rate of the other, of all pairs of rates with this ratio, is the smaller root of a quadratic.
    a = (whole + other_whole) * ratio
    b = -(whole * ratio + part + other_whole + other_part * ratio)
    c = part + other_part
    other = (-b - np.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)
    rate = min(ratio * other, 1.0)
    variance = rate * (1 - rate) / whole + ratio * ratio * other * (1 - other) / other_whole
    distance = part / whole - ratio * other_part / other_whole
    if variance <= 0:
        return 0.0 if distance == 0 else np.sign(distance) * np.inf
    return distance / np.sqrt(variance)


@compiled
def ratio_limits(part, whole, other_part, other_whole, critical, limits):
    """The largest ratio of two rates, the other not 0, that the statistic does not reject at ``-critical``."""
    for i in range(len(part)):
        low = part[i] / whole[i] / (other_part[i] / other_whole[i])
        high = max(2 * low, 1.0)
        while ratio_statistic(part[i], whole[i], other_part[i], other_whole[i], high) > -critical:
            low, high = high, 2 * high
        middle = (low + high) / 2
        while low < middle < high:
            if ratio_statistic(part[i], whole[i], other_part[i], other_whole[i], middle) <= -critical:
                high = middle
            else:
                low = middle
            middle = (low + high) / 2
        limits[i] = high
