"""Reject-option classification (ROC): the uncertain rows decided for the unprivileged group."""

from typing import Any

import numpy as np

from eifffel import metrics
from eifffel._utils.validation import check_fraction, check_number
from eifffel.baselines._base import (
    ROUNDING,
    ThresholdPostProcessor,
    auto_gains,
    check_auto_objective,
    weigh_above,
)
from eifffel.exceptions import ConstraintNotMetWarning, PrivilegedGroupWarning, warn_caller
from eifffel.rows.coding import Coding, Rows


class RejectOption(ThresholdPostProcessor):
    """Rows within a margin of the threshold decided for the unprivileged and against the privileged group.

    Threshold and margin are those of the best objective among a grid that keep ``abs(discrimination) <= epsilon`` on
    the rows chosen on. Kamiran, Karim and Zhang (2012), "Decision theory for discrimination-aware classification";
    the grid is that of aif360, which maximises balanced accuracy.

    ``predict`` needs the sensitive attribute and is not randomised.

    Parameters
    ----------
    estimator : classifier
        Its scores are used. ``FrozenEstimator(model)`` is not trained, and then all rows given are chosen on.
    epsilon : float in [0, 1]
        Bound on discrimination, the difference of selection rates.
    objective : {"auto", "accuracy", "balanced_accuracy"}
        As in `EqualizedOdds`.
    n_thresholds : int
        How many thresholds, from 0.01 to 0.99.
    n_margins : int
        How many margins per threshold, from 0 to its distance from 0 or 1, whichever is nearer.
    privileged : group, optional
        The privileged group; by default the one that the estimator favours on the rows chosen on.
    select_on, validation_fraction, favorable, random_state
        As in `EqualizedOdds`; ``random_state`` is for the split only.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    threshold_, margin_ : float
        A score above ``threshold_ + margin_`` is decided favourably in the privileged group, one above ``threshold_ -
        margin_`` in the other.
    thresholds_ : dict
        The same per group.
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel.baselines import RejectOption
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(1000, random_state=0)
    >>> clf = RejectOption(RandomForestClassifier(10, random_state=0), epsilon=0.05, random_state=0)
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
        n_thresholds: int = 100,
        n_margins: int = 50,
        privileged: Any = None,
        select_on: str = "validation",
        validation_fraction: float = 0.25,
        favorable: Any = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.epsilon = epsilon
        self.objective = objective
        self.n_thresholds = n_thresholds
        self.n_margins = n_margins
        self.privileged = privileged
        self.select_on = select_on
        self.validation_fraction = validation_fraction
        self.favorable = favorable
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_fraction("epsilon", self.epsilon)
        check_auto_objective(self.objective)
        check_number("n_thresholds", self.n_thresholds, at_least=1, integer=True)
        check_number("n_margins", self.n_margins, at_least=1, integer=True)

    def _check_rows(self, rows: Rows, coding: Coding) -> None:
        coding.groups.find_privileged(self.privileged)

    def _adjust(self, model: Any, seen: np.ndarray, rows: Rows, coding: Coding) -> None:
        (privileged,) = coding.groups.find_privileged(self.privileged).privileged
        totals = rows.for_ratios(rows.weigh_cells())
        advantage = metrics.discrimination(weigh_above(seen, rows, np.array([0.5]))[0], totals)
        if privileged is None:
            privileged = int(advantage > 0)
        elif advantage * (1 if privileged == 1 else -1) < 0:
            warn_caller(
                f"privileged={self.privileged!r}, but the estimator favours {coding.groups[1 - privileged]!r} on the "
                "rows chosen on, and uncertain rows will be decided for it still; leave privileged out",
                PrivilegedGroupWarning,
            )
        threshold = np.linspace(0.01, 0.99, self.n_thresholds)
        margin = np.linspace(0, np.minimum(threshold, 1 - threshold), self.n_margins, axis=-1).ravel()
        threshold = np.repeat(threshold, self.n_margins)
        bounds = {privileged: threshold + margin, 1 - privileged: threshold - margin}
        favorable = np.stack([weigh_above(seen, rows, bounds[group])[:, group] for group in (0, 1)], axis=1)
        discrimination = np.abs(metrics.discrimination(favorable, totals))
        value = favorable.sum(axis=1) @ auto_gains(self.objective, model, totals)
        allowed = discrimination <= self.epsilon + ROUNDING
        if allowed.any():
            # The first of the best; equal values may differ by rounding.
            best = int(np.argmax(allowed & (value >= value[allowed].max() - ROUNDING)))
        else:
            best = int(np.argmin(discrimination))
            warn_caller(
                f"no threshold and margin of the grid brings discrimination down to epsilon={self.epsilon:g} on the "
                f"rows chosen on; the least, {discrimination[best]:.3g}, is taken",
                ConstraintNotMetWarning,
            )
        self.threshold_, self.margin_ = float(threshold[best]), float(margin[best])
        self.thresholds_ = {value: float(bounds[group][best]) for group, value in enumerate(coding.groups)}
