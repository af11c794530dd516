"""GroupThresholds: the best that can be done with the group known at prediction time. A yardstick, not a rival."""

from typing import Any

import numpy as np

from eifffel._utils.validation import check_fraction
from eifffel.baselines._base import (
    ROUNDING,
    ThresholdPostProcessor,
    auto_gains,
    check_auto_objective,
    weigh_above,
)
from eifffel.rows.coding import Coding, Rows

DIGITS = 12  # so that of thresholds equally good the first is taken, whatever rounding says


class GroupThresholds(ThresholdPostProcessor):
    """One threshold per group, the best pair there is under ``abs(discrimination) <= epsilon``.

    A yardstick: the best that one threshold per group can make of these scores, with the group known. The pair is
    exact, not searched on a grid: of all pairs that keep the bound on the rows chosen on, one of largest objective.
    Corbett-Davies, Pierson, Feller, Goel and Huq (2017), "Algorithmic decision making and the cost of fairness", show
    that with the true probabilities as scores the optimal rule under demographic parity has this form. Scores of a
    forest are not the true ones, and a method that changes the scores, as flipping leaves does, can do better.

    ``predict`` needs the sensitive attribute and is not randomised.

    Parameters
    ----------
    estimator : classifier
        Its scores are used. ``FrozenEstimator(model)`` is not trained, and then all rows given are chosen on.
    epsilon : float in [0, 1]
        Bound on discrimination, the difference of selection rates.
    objective : {"auto", "accuracy", "balanced_accuracy"}
        As in `EqualizedOdds`.
    select_on, validation_fraction, favorable, random_state
        As in `EqualizedOdds`; ``random_state`` is for the split only.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    thresholds_ : dict
        Per group the score above which a row is decided favourably; ``inf`` where nobody is.
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel.baselines import GroupThresholds
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(1000, random_state=0)
    >>> clf = GroupThresholds(RandomForestClassifier(10, random_state=0), epsilon=0.01, random_state=0)
    >>> clf = clf.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> clf.thresholds_[0] < clf.thresholds_[1]  # lower for the unprivileged group
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        epsilon: float = 0.05,
        objective: str = "auto",
        select_on: str = "validation",
        validation_fraction: float = 0.25,
        favorable: Any = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.epsilon = epsilon
        self.objective = objective
        self.select_on = select_on
        self.validation_fraction = validation_fraction
        self.favorable = favorable
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_fraction("epsilon", self.epsilon)
        check_auto_objective(self.objective)

    def _adjust(self, model: Any, seen: np.ndarray, rows: Rows, coding: Coding) -> None:
        totals = rows.for_ratios(rows.weigh_cells())
        gains = auto_gains(self.objective, model, totals)
        thresholds, rates, values = [], [], []
        for group in (0, 1):
            # From the highest threshold down, so that rates rise.
            threshold = _all_thresholds(seen[rows.group == group])[::-1]
            favorable = weigh_above(seen, rows, threshold)[:, group]
            thresholds.append(threshold)
            rates.append(favorable.sum(axis=1) / totals[group].sum())
            values.append(np.round(favorable @ gains, DIGITS))
        bound = self.epsilon + ROUNDING
        low = np.searchsorted(rates[1], rates[0] - bound, side="left")
        high = np.searchsorted(rates[1], rates[0] + bound, side="right")
        partner = best_in_windows(values[1], low, high)
        both = np.where(partner >= 0, values[0] + values[1][partner], -np.inf)
        first = int(np.argmax(both >= both.max() - ROUNDING))
        chosen = (thresholds[0][first], thresholds[1][partner[first]])
        self.thresholds_ = dict(zip(coding.groups, map(float, chosen), strict=True))


def _all_thresholds(score: np.ndarray) -> np.ndarray:
    """Every threshold that parts the scores differently: below all, between two neighbours, above all."""
    distinct = np.unique(score)
    middle = distinct[:-1] + np.diff(distinct) / 2
    middle = np.where(middle < distinct[1:], middle, distinct[:-1])  # neighbours that have no number between them
    return np.concatenate([[-np.inf], middle, [np.inf]])


def best_in_windows(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Where the largest of ``value[low:high]`` stands, for each window; -1 where it is empty.

    A sparse table: the best of every run of 1, 2, 4, ... entries, two of which cover any window.
    """
    best = np.full(len(low), -1)
    runs = np.arange(len(value))
    length = 1
    while len(runs):
        inside = (high - low >= length) & (high - low < 2 * length)
        first, last = runs[low[inside]], runs[high[inside] - length]
        best[inside] = np.where(value[first] >= value[last], first, last)
        left, right = runs[:-length], runs[length:]
        runs = np.where(value[left] >= value[right], left, right)
        length *= 2
    return best
