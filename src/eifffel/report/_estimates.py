"""Counts -> what a report says of groups: rates with intervals, as plain data."""

from dataclasses import replace
from typing import Any

import numpy as np

from eifffel import metrics
from eifffel.constraints import Constraint
from eifffel.intervals import rate_interval, ratio_interval
from eifffel.report.facts import Estimate, OfAttribute, Outcome, Rates
from eifffel.rows.few import FEWEST
from eifffel.rows.groups import Groups
from eifffel.telling import Told

# Groups below either are marked: their rates say little.
SMALL_ROWS = 30
SMALL_SHARE = 0.02
UNTOLD = Estimate(None, None, None)


def number(value: Any) -> float | None:
    """A float, or ``None`` where it is undefined, as JSON has it."""
    value = float(value)
    return value if np.isfinite(value) else None


def estimate(value: Any, interval: tuple[Any, Any] | None = None) -> Estimate:
    """A number and its interval."""
    low, high = (None, None) if interval is None else (number(bound) for bound in interval)
    return Estimate(number(value), low, high)


def rate(part: Any, whole: Any) -> Estimate:
    """A share of rows and its interval; not told where they are fewer than ten."""
    return estimate(part / whole, rate_interval(part, whole)) if whole >= FEWEST else UNTOLD


def is_small(n_rows: int, n_all: int) -> bool:
    """Whether a group has so few rows that its rates say little."""
    return bool(n_rows < SMALL_ROWS or n_rows < SMALL_SHARE * n_all)


def measure_groups(told: Told, step: int, groups: Groups, constraint: Constraint) -> tuple[Rates, ...]:
    """What decisions do to each of those who are compared, of whom it can be told.

    The highest rate is that of a value of the same attribute that is bounded.
    """
    favorable, totals = (groups.count_compared(table) for table in (told.decided.favorable[step], told.decided.totals))
    chosen, size = favorable.sum(axis=1), totals.sum(axis=1)
    of_labels = None
    if told.labelled is not None:
        tables = told.labelled.favorable[step], told.labelled.totals
        of_labels = tuple(groups.count_compared(table) for table in tables)
    rates = metrics.selection_rate(favorable, totals)
    bounded = constraint.find_bounded(groups) & (size > 0)
    found = [Rates(UNTOLD, UNTOLD, UNTOLD, UNTOLD, UNTOLD)] * len(size)
    for g in np.flatnonzero(size).tolist():
        own = groups.attribute_of == groups.attribute_of[g]
        own &= bounded if (own & bounded).any() else size > 0
        highest = int(np.argmax(np.where(own, rates, -1)))
        compared = None if g == highest else ratio_interval(chosen[g], size[g], chosen[highest], size[highest])
        found[g] = replace(
            found[g],
            selection_rate=rate(chosen[g], size[g]),
            ratio_to_highest=estimate(rates[g] / rates[highest], compared) if rates[highest] > 0 else UNTOLD,
        )
        if of_labels is not None:
            good, of_label = of_labels[0][g], of_labels[1][g]
            found[g] = replace(
                found[g],
                true_positive_rate=rate(good[1], of_label[1]),
                false_positive_rate=rate(good[0], of_label[0]),
                precision=rate(good[1], good.sum()),
            )
    return tuple(found)


def measure_all(told: Told, step: int, groups: Groups) -> Outcome:
    """What is bounded, between whom, and accuracy, of the decisions at a step; of those of whom it can be told."""
    labelled, counts = told.labelled, told.compared
    accuracy = UNTOLD
    if labelled is not None:
        n_correct = metrics.n_correct(labelled.favorable[step], labelled.totals)
        accuracy = rate(n_correct, labelled.totals.sum())
    if counts is None:
        return Outcome(UNTOLD, UNTOLD, (), (), (), (), accuracy)
    pair = [counts.worst.high[step], counts.worst.low[step]]
    chosen, size = (counts.constraint.count_sides(table)[pair] for table in (counts.favorable[step], counts.totals))
    return Outcome(
        discrimination=estimate(counts.discrimination[step], counts.interval(step)),
        ratio=estimate(counts.ratio[step], counts.ratio_interval(step)),
        ratio_between=tuple(one_line(counts.constraint.names[side]) for side in counts.ratio_pair(step)),
        between=tuple(one_line(name) for name in counts.worst_pair(step)),
        rates=tuple(rate(part, whole).value for part, whole in zip(chosen, size, strict=True)),
        by_attribute=tuple(
            OfAttribute(one_line(name), number(part.worst(counts.favorable[step], counts.totals).value))
            for name, part in counts.constraint.by_attribute(groups)
        ),
        accuracy=accuracy,
    )


def one_line(text: Any) -> str:
    """Text from data without line ends, nor anything else that a terminal would act upon."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
