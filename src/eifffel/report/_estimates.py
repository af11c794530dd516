"""Counts -> what a report says of groups: rates with intervals, as plain data."""

from typing import Any

import numpy as np

from eifffel import metrics
from eifffel.intervals import difference_interval, rate_interval, ratio_interval

# Groups below either are marked: their rates say little.
SMALL_ROWS = 30
SMALL_SHARE = 0.02

Estimate = dict[str, float | None]
RATES = ("selection_rate", "true_positive_rate", "false_positive_rate", "precision")


def number(value: Any) -> float | None:
    """A float, or ``None`` where it is undefined, as JSON has it."""
    value = float(value)
    return value if np.isfinite(value) else None


def estimate(value: Any, interval: tuple[Any, Any] | None = None) -> Estimate:
    """A number and its interval."""
    low, high = (None, None) if interval is None else (number(bound) for bound in interval)
    return {"value": number(value), "low": low, "high": high}


def rate(part: Any, whole: Any) -> Estimate:
    """A share of rows and its interval."""
    return estimate(part / whole if whole else np.nan, rate_interval(part, whole))


def is_small(n_rows: int, n_all: int) -> bool:
    """Whether a group has so few rows that its rates say little."""
    return bool(n_rows < SMALL_ROWS or n_rows < SMALL_SHARE * n_all)


def measure_groups(favorable: np.ndarray, totals: np.ndarray) -> list[dict[str, Estimate]]:
    """What decisions do to each group.

    Parameters
    ----------
    favorable, totals : ndarray of shape (n_groups, n_labels)
        Rows decided favourably, and all rows.
    """
    chosen, size = favorable.sum(axis=1), totals.sum(axis=1)
    rates = metrics.selection_rate(favorable, totals)
    highest = int(np.nanargmax(rates))
    labelled = totals.shape[1] == 2
    unknown = estimate(np.nan)
    groups = []
    for g in range(len(size)):
        compared = None if g == highest else ratio_interval(chosen[g], size[g], chosen[highest], size[highest])
        groups.append(
            {
                "selection_rate": rate(chosen[g], size[g]),
                "ratio_to_highest": estimate(rates[g] / rates[highest] if rates[highest] else np.nan, compared),
                "true_positive_rate": rate(favorable[g, 1], totals[g, 1]) if labelled else unknown,
                "false_positive_rate": rate(favorable[g, 0], totals[g, 0]) if labelled else unknown,
                "precision": rate(favorable[g, 1], chosen[g]) if labelled else unknown,
            }
        )
    return groups


def measure_all(favorable: np.ndarray, totals: np.ndarray) -> dict[str, Estimate]:
    """Discrimination and accuracy of decisions, of the same counts; group 1 is the privileged one."""
    chosen, size = favorable.sum(axis=1), totals.sum(axis=1)
    interval = difference_interval(chosen[1], size[1], chosen[0], size[0])
    labelled = totals.shape[1] == 2
    n_correct = metrics.n_correct(favorable, totals) if labelled else np.nan
    return {
        "discrimination": estimate(metrics.discrimination(favorable, totals), interval),
        "accuracy": rate(n_correct, totals.sum()) if labelled else estimate(np.nan),
    }
