"""Counts -> what a report says of groups: rates with intervals, as plain data."""

from typing import Any

import numpy as np

from eifffel import metrics
from eifffel.constraints import Constraint
from eifffel.intervals import rate_interval, ratio_interval
from eifffel.path_counts import PathCounts
from eifffel.rows.groups import FEWEST, Groups

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
    """A share of rows and its interval; not told where they are fewer than ten."""
    return estimate(part / whole, rate_interval(part, whole)) if whole >= FEWEST else estimate(np.nan)


def people(n: Any) -> int | None:
    """How many people; not told where they are some, and fewer than ten."""
    return None if 0 < n < FEWEST else int(n)


def tells_labels(totals: np.ndarray) -> bool:
    """Whether there are no labels that only some, and fewer than ten, of these people have; one rate tells another."""
    return not ((totals > 0) & (totals < FEWEST)).any()


def is_small(n_rows: int, n_all: int) -> bool:
    """Whether a group has so few rows that its rates say little."""
    return bool(n_rows < SMALL_ROWS or n_rows < SMALL_SHARE * n_all)


def measure_groups(
    favorable: np.ndarray, totals: np.ndarray, groups: Groups, constraint: Constraint
) -> list[dict[str, Estimate]]:
    """What decisions do to each of those who are compared.

    Parameters
    ----------
    favorable, totals : ndarray of shape (n_groups, n_labels)
        Rows of the groups decided favourably, and all rows.
    groups, constraint : Groups and Constraint
        Who is compared with whom. The highest rate is that of a value of the same attribute that is bounded.
    """
    favorable, totals = groups.count_compared(favorable), groups.count_compared(totals)
    chosen, size = favorable.sum(axis=1), totals.sum(axis=1)
    rates = metrics.selection_rate(favorable, totals)
    bounded = constraint.find_bounded(groups) & (size > 0)
    hidden = groups.find_hidden(size, bounded)
    labelled = totals.shape[1] == 2
    unknown = estimate(np.nan)
    found: list[dict[str, Estimate]] = []
    for g in range(len(size)):
        if hidden[g]:
            found.append(dict.fromkeys((*RATES, "ratio_to_highest"), unknown))
            continue
        own = groups.attribute_of == groups.attribute_of[g]
        own &= bounded if (own & bounded).any() else size > 0
        own &= ~hidden
        highest = int(np.argmax(np.where(own, rates, -1)))
        compared = None if g == highest else ratio_interval(chosen[g], size[g], chosen[highest], size[highest])
        known = own.any() and rates[highest] > 0
        told = labelled and tells_labels(totals[g])
        found.append(
            {
                "selection_rate": rate(chosen[g], size[g]),
                "ratio_to_highest": estimate(rates[g] / rates[highest], compared) if known else unknown,
                "true_positive_rate": rate(favorable[g, 1], totals[g, 1]) if told else unknown,
                "false_positive_rate": rate(favorable[g, 0], totals[g, 0]) if told else unknown,
                "precision": rate(favorable[g, 1], chosen[g]) if told else unknown,
            }
        )
    return found


def measure_all(counts: PathCounts, step: int, groups: Groups) -> dict[str, Any]:
    """What is bounded, between whom, and accuracy, of the decisions at a step."""
    pair = [counts.worst.high[step], counts.worst.low[step]]
    chosen, size = (counts.constraint.count_sides(table)[pair] for table in (counts.favorable[step], counts.totals))
    labelled = counts.totals.shape[1] == 2
    n_correct = metrics.n_correct(counts.favorable[step], counts.totals) if labelled else np.nan
    return {
        "discrimination": estimate(counts.discrimination[step], counts.interval(step)),
        "ratio": estimate(counts.ratio[step], counts.ratio_interval(step)),
        "ratio_between": [one_line(counts.constraint.names[side]) for side in counts.ratio_pair(step)],
        "between": [one_line(name) for name in counts.worst_pair(step)],
        "rates": [rate(part, whole)["value"] for part, whole in zip(chosen, size, strict=True)],
        "by_attribute": [
            {"name": one_line(name), "value": number(part.worst(counts.favorable[step], counts.totals).value)}
            for name, part in counts.constraint.by_attribute(groups)
        ],
        "accuracy": rate(n_correct, counts.totals.sum()) if labelled else estimate(np.nan),
    }


def one_line(text: Any) -> str:
    """Text from data without line ends, nor anything else that a terminal would act upon."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
