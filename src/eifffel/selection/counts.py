"""PathCounts: how many rows are decided favourably after each step of a path. Everything measured is made of them."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from eifffel.constraints import Constraint, Worst
from eifffel.intervals import (
    CONFIDENCE,
    difference_interval,
    difference_limit,
    ratio_interval,
    ratio_limit,
    ratio_lower_limit,
)
from eifffel.selection.objective import Objective, measure_drop, measure_objective
from eifffel.selection.raised_errors import RaisedError, find_raised_errors

# What rows are called that a path is measured on.
SCORING_ROWS, SELECTION_ROWS, MEASURED_ROWS = "scoring rows", "selection rows", "measured rows"
# What the two parts of such rows are called: one in which a step is looked for, and one that tests it.
SEARCHED, KEPT_APART = " searched", " kept apart"
ROW_SETS = (
    SCORING_ROWS,
    *(rows + part for rows in (SELECTION_ROWS, MEASURED_ROWS) for part in ("", SEARCHED, KEPT_APART)),
)
# The same in names of columns.
IN_COLUMNS = {SCORING_ROWS: "scoring", SELECTION_ROWS: "selection", MEASURED_ROWS: "measured"}


@dataclass(frozen=True, eq=False)
class PathCounts:
    """Rows decided favourably after each step.

    Attributes
    ----------
    favorable : ndarray of shape (n_steps + 1, n_groups, n_labels)
        Per step, group and label (1 is favourable). int64 for unit weights, float64 for real
        ones; ``n_labels`` is 1 where the rows have no labels.
    totals : ndarray of shape (n_groups, n_labels)
        All rows.
    rows : str
        Which rows these are.
    n_rows : ndarray of shape (n_groups,)
        How many, in each group, whatever they weigh.
    constraint : Constraint
        What is compared, for these rows.
    """

    favorable: np.ndarray
    totals: np.ndarray
    rows: str
    n_rows: np.ndarray
    constraint: Constraint

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def weighted(self) -> bool:
        """Whether rows count by sample weights."""
        return bool(self.favorable.dtype.kind == "f")

    @property
    def tolerance(self) -> float:
        """How close to a bound counts as met. Counts of rows are exact; sums of real weights round."""
        return 1e-9 if self.weighted else 0.0

    @cached_property
    def discrimination(self) -> np.ndarray:
        """The largest difference after each step, shape (n_steps + 1,); signed where there is a privileged group."""
        return self.worst.value

    @cached_property
    def worst(self) -> Worst:
        """That difference, and the sides of the constraint that it is between."""
        return self.constraint.worst(self.favorable, self.totals)

    def worst_pair(self, step: int) -> tuple[str, str]:
        """What those sides are called; the discrimination is the rate of the first minus that of the second."""
        names = self.constraint.names
        return names[self.worst.high[step]], names[self.worst.low[step]]

    @cached_property
    def ratio(self) -> np.ndarray:
        """The smallest ratio of two rates after each step, shape (n_steps + 1,); NaN where all are 0."""
        return self.constraint.worst_ratio(self.favorable, self.totals)

    def objective(self, objective: Objective) -> np.ndarray:
        """Accuracy, balanced accuracy or mean cost after each step."""
        return self._once(("objective", objective), lambda: measure_objective(objective, self.favorable, self.totals))

    def drop(self, objective: Objective) -> np.ndarray:
        """By how much each step is worse than step 0. 2 rows of 100 are a drop of exactly 0.02."""
        return self._once(("drop", objective), lambda: measure_drop(objective, self.favorable, self.totals))

    def raised_errors(self, step: int) -> tuple[RaisedError, ...]:
        """About whom a step errs more often than the original model, and no less about others of their label."""
        decided = self.favorable[0], self.favorable[step]
        return find_raised_errors(self.constraint, *decided, self.totals, self.tolerance)

    def interval(self, step: int, confidence: float | None = None) -> tuple[float, float] | None:
        """The interval of the discrimination at a step, 95% unless said otherwise; ``None`` for weighted rows.

        It begins where that of the largest difference begins, not below 0 if that has no sign, and ends where the last
        of all ends.
        """
        if self.weighted:
            return None
        level = CONFIDENCE if confidence is None else confidence
        low, high = difference_interval(*self._both_sides(step, self.constraint.pairs), level)
        worst = (self.constraint.pairs == (self.worst.high[step], self.worst.low[step])).all(axis=1)
        begin = float(low[worst][0])
        # Of a side without rows nothing is known.
        end = float(np.nan_to_num(high, nan=1.0).max())
        return begin if self.constraint.directed else max(begin, 0.0), end

    def ratio_pair(self, step: int) -> list[int]:
        """The sides whose rates have the smallest ratio at a step, that of the larger first; none if all are 0."""
        pairs = self.constraint.pairs
        pairs = np.concatenate([pairs, pairs[:, ::-1]])  # in either direction
        high, n_high, low, n_low = self._both_sides(step, pairs)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = (low / n_low) / (high / n_high)
        return [] if np.isnan(ratios).all() else list(pairs[np.nanargmin(ratios)])

    def ratio_interval(self, step: int) -> tuple[float, float] | None:
        """The 95% interval of the smallest ratio at a step; ``None`` for weighted rows, or where all rates are 0.

        It begins where the first of all begins, and ends where that of the smallest ends.
        """
        pair = self.ratio_pair(step)
        if self.weighted or not pair:
            return None
        pairs = np.concatenate([[pair], self.constraint.pairs])
        high, n_high, low, n_low = self._both_sides(step, pairs)
        begin, end = ratio_interval(low, n_low, high, n_high)
        return None if np.isnan(end[0]) else (float(np.nanmin(begin)), float(end[0]))

    def limits(self, confidence: float, *, exchanged: bool = False) -> np.ndarray:
        """The one-sided upper limit of the discrimination after each step, shape (n_steps + 1,): of every difference.

        With the two sides of each difference ``exchanged``, that of its opposite; minus that is the lower limit.
        """
        return self._once(
            ("limits", (confidence, exchanged)), lambda: self._measure_limits(difference_limit, confidence, exchanged)
        )

    def ratio_limits(self, ratio: float, confidence: float, *, exchanged: bool = False) -> np.ndarray:
        """The upper limit, after each step, of ``ratio`` times one rate minus the other; below 0 ratios are larger."""
        limit = partial(ratio_limit, ratio=ratio)
        return self._once(
            ("ratio", (ratio, confidence, exchanged)), lambda: self._measure_limits(limit, confidence, exchanged)
        )

    def ratio_lower_limit(self, step: int, confidence: float, *, exchanged: bool = False) -> float:
        """The one-sided lower limit of the smallest ratio of the second side of a pair to the first at a step."""
        pairs = self.constraint.pairs[:, ::-1] if exchanged else self.constraint.pairs
        found = ratio_lower_limit(*self._both_sides(step, pairs), confidence=confidence)
        return float(np.nan_to_num(found).min())  # of a side without rows nothing is known

    def _measure_limits(self, limit: Callable[..., np.ndarray], confidence: float, exchanged: bool) -> np.ndarray:
        """Return the largest limit of all differences that are bounded: a bound holds if it holds for each of them."""
        most = np.full(len(self._chosen), -np.inf)
        for pair in self.constraint.pairs[:, ::-1] if exchanged else self.constraint.pairs:
            # Many steps change no decision about these rows.
            _, first, same_as = np.unique(self._chosen[:, pair], axis=0, return_index=True, return_inverse=True)
            found = limit(*self._both_sides(first, pair), confidence=confidence)
            # Of a side without rows nothing is known.
            most = np.maximum(most, np.nan_to_num(found, nan=1.0)[same_as.ravel()])
        return most

    def put_together(self, others: "PathCounts") -> "PathCounts":
        """The counts of these rows and of others."""
        return replace(
            self,
            favorable=self.favorable + others.favorable,
            totals=self.totals + others.totals,
            n_rows=self.n_rows + others.n_rows,
        )

    def take_away(self, others: "PathCounts", rows: str) -> "PathCounts":
        """The counts of these rows without others that are among them; ``rows`` is what they are called."""
        return replace(
            self,
            favorable=self.favorable - others.favorable,
            totals=self.totals - others.totals,
            n_rows=self.n_rows - others.n_rows,
            rows=rows,
        )

    @cached_property
    def _chosen(self) -> np.ndarray:
        return self.constraint.count_sides(self.favorable)

    def _both_sides(self, step: Any, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Favourable and all rows of the first and of the second side of pairs."""
        size, (high, low) = self.constraint.count_sides(self.totals), pairs.T
        return self._chosen[step][..., high], size[high], self._chosen[step][..., low], size[low]

    def _once(self, what: tuple[str, Any], measure: Callable[[], np.ndarray]) -> np.ndarray:
        """Keep what was measured, so that another bound is a look-up."""
        if what not in self._measured:
            self._measured[what] = measure()
        return self._measured[what]

    @cached_property
    def _measured(self) -> dict[tuple[str, Any], np.ndarray]:
        return {}
