"""PathCounts: how many rows are decided favourably after each step of a path. Everything measured is made of them."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from eifffel import metrics
from eifffel.intervals import CONFIDENCE, difference_interval, difference_limit
from eifffel.objective import Objective, measure_drop, measure_objective


@dataclass(frozen=True, eq=False)
class PathCounts:
    """Rows decided favourably after each step.

    Attributes
    ----------
    favorable : ndarray of shape (n_steps + 1, 2, n_labels)
        Per step, group (1 is privileged) and label (1 is favourable). int64 for unit weights, float64 for real ones;
        ``n_labels`` is 1 where the rows have no labels.
    totals : ndarray of shape (2, n_labels)
        All rows.
    rows : str
        Which rows these are.
    n_rows : ndarray of shape (2,)
        How many, in each group, whatever they weigh.
    """

    favorable: np.ndarray
    totals: np.ndarray
    rows: str
    n_rows: np.ndarray

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def weighted(self) -> bool:
        """Whether rows count by sample weights."""
        return bool(self.favorable.dtype.kind == "f")

    @property
    def tolerance(self) -> float:
        """Closer than this to a bound is met. Counts of rows are exact; sums of real weights round."""
        return 1e-9 if self.weighted else 0.0

    @cached_property
    def discrimination(self) -> np.ndarray:
        """Signed discrimination after each step, shape (n_steps + 1,)."""
        return metrics.discrimination(self.favorable, self.totals)

    @cached_property
    def selection_rates(self) -> np.ndarray:
        """Share of favourable decisions after each step per group, shape (n_steps + 1, 2)."""
        return metrics.selection_rate(self.favorable, self.totals)

    def objective(self, objective: Objective) -> np.ndarray:
        """Accuracy, balanced accuracy or mean cost after each step."""
        return self._once(("objective", objective), lambda: measure_objective(objective, self.favorable, self.totals))

    def drop(self, objective: Objective) -> np.ndarray:
        """By how much each step is worse than step 0. 2 rows of 100 are a drop of exactly 0.02."""
        return self._once(("drop", objective), lambda: measure_drop(objective, self.favorable, self.totals))

    def interval(self, step: int, confidence: float | None = None) -> tuple[float, float] | None:
        """The interval of the discrimination at a step, 95% unless said otherwise; ``None`` for weighted rows."""
        if self.weighted:
            return None
        chosen, size = self.favorable[step].sum(axis=1), self.totals.sum(axis=1)
        level = CONFIDENCE if confidence is None else confidence
        low, high = difference_interval(chosen[1], size[1], chosen[0], size[0], level)
        return float(low), float(high)

    def limits(self, confidence: float) -> np.ndarray:
        """The upper limit of the discrimination after each step, shape (n_steps + 1,)."""
        return self._once(("limits", confidence), lambda: self._measure_limits(confidence))

    def _measure_limits(self, confidence: float) -> np.ndarray:
        chosen, size = self.favorable.sum(axis=2), self.totals.sum(axis=1)
        # Many steps in a row change no decision about these rows.
        new = np.append(True, (chosen[1:] != chosen[:-1]).any(axis=1))
        limits = difference_limit(chosen[new, 1], size[1], chosen[new, 0], size[0], confidence)
        return limits[np.cumsum(new) - 1]

    def _once(self, what: tuple[str, Any], measure: Callable[[], np.ndarray]) -> np.ndarray:
        """What was measured, kept, so that another bound is a look-up."""
        if what not in self._measured:
            self._measured[what] = measure()
        return self._measured[what]

    @cached_property
    def _measured(self) -> dict[tuple[str, Any], np.ndarray]:
        return {}
