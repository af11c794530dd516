"""Calibrated equalized odds: the other half of the paper's EOP, which links its code."""

from typing import Any

import numpy as np

from eifffel._utils.validation import check_choice
from eifffel.baselines._base import ROUNDING, RandomisedPostProcessor
from eifffel.exceptions import ConstraintNotMetWarning, warn_caller
from eifffel.rows.coding import Coding, Rows

COSTS = ("fpr", "fnr", "weighted")


class CalibratedEqualizedOdds(RandomisedPostProcessor):
    """Scores of one group withheld at random until both groups bear the same cost, which keeps scores calibrated.

    The group that the estimator serves better gets, with the probability that makes the costs equal, its base rate
    as score instead of its own. A score of at least 0.5 is decided favourably. Pleiss, Raghavan, Wu, Kleinberg and
    Weinberger (2017), "On fairness and calibration".

    ``predict`` needs the sensitive attribute and is randomised. There is no bound to set, and demographic parity is
    left as it falls.

    Parameters
    ----------
    estimator : classifier
        Its scores are used. ``FrozenEstimator(model)`` is not trained, and then all rows given are chosen on.
    cost : {"weighted", "fpr", "fnr"}
        What is made equal: the generalised false positive rate (mean score of rows of the unfavourable label), the
        generalised false negative rate (one minus the mean score of rows of the favourable label), or half the sum of
        both, each times the share of its label in the group.
    select_on, validation_fraction, favorable, random_state
        As in `EqualizedOdds`.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    mix_rates_ : dict
        Per group the probability with which a score is withheld.
    base_rates_ : dict
        Per group its share of favourable labels.
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel.baselines import CalibratedEqualizedOdds
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(1000, random_state=0)
    >>> clf = CalibratedEqualizedOdds(RandomForestClassifier(10, random_state=0), cost="fnr", random_state=0)
    >>> clf = clf.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> min(clf.mix_rates_.values())
    0.0
    """

    def __init__(
        self,
        estimator: Any,
        *,
        cost: str = "weighted",
        select_on: str = "validation",
        validation_fraction: float = 0.25,
        favorable: Any = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.cost = cost
        self.select_on = select_on
        self.validation_fraction = validation_fraction
        self.favorable = favorable
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("cost", self.cost, COSTS)

    def _check_rows(self, rows: Rows, coding: Coding) -> None:
        coding.check_both_labels(rows, "its generalised error rates cannot both be measured")

    def _adjust(self, model: Any, seen: np.ndarray, rows: Rows, coding: Coding) -> None:
        cell_weight = np.bincount(rows.cell, rows.weight, minlength=4).reshape(2, 2)
        mean_score = np.bincount(rows.cell, rows.weight * seen, minlength=4).reshape(2, 2) / cell_weight
        base_rate = cell_weight[:, 1] / cell_weight.sum(axis=1)
        cost = self._cost_of(mean_score, base_rate)
        trivial = self._cost_of(np.column_stack([base_rate, base_rate]), base_rate)
        served = int(cost[1] < cost[0])  # the group of lower cost
        mix_rate = np.zeros(2)
        if abs(cost[1] - cost[0]) > ROUNDING:
            mix_rate[served] = self._mix_rate(cost[served], trivial[served], cost.max(), coding.groups[served])
        self.mix_rates_ = dict(zip(coding.groups, mix_rate.tolist(), strict=True))
        self.base_rates_ = dict(zip(coding.groups, base_rate.tolist(), strict=True))

    def _mix_rate(self, cost: float, trivial: float, wanted: float, group: Any) -> float:
        """The share of scores to withhold that raises the cost of a group to that of the other."""
        if trivial >= wanted:
            return (wanted - cost) / (trivial - cost)
        withheld = trivial > cost + ROUNDING  # if even this raises no cost, there is no reason to withhold any score
        warn_caller(
            f"with every score of group {group!r} withheld its cost ({self.cost}) is {trivial:.3g}, with none "
            f"{cost:.3g}, and the other group bears {wanted:.3g}, on the rows chosen on: the costs cannot be made "
            f"equal, and {'all' if withheld else 'none'} of its scores are withheld",
            ConstraintNotMetWarning,
        )
        return float(withheld)

    def _cost_of(self, mean_score: np.ndarray, base_rate: np.ndarray) -> np.ndarray:
        """The cost that each group bears, from its mean score by label."""
        fpr, fnr = mean_score[:, 0], 1 - mean_score[:, 1]
        if self.cost == "weighted":
            return (fpr * (1 - base_rate) + fnr * base_rate) / 2
        return fpr if self.cost == "fpr" else fnr

    def _probability(self, seen: np.ndarray, group: np.ndarray) -> np.ndarray:
        mix_rate, base_rate = (
            np.array([rates[value] for value in self._coding.groups])[group]
            for rates in (self.mix_rates_, self.base_rates_)
        )
        return mix_rate * (base_rate >= 0.5) + (1 - mix_rate) * (seen >= 0.5)
