"""Equalized odds by randomised decisions: one half of the paper's EOP."""

from typing import Any

import numpy as np
from scipy.optimize import linprog

from eifffel.baselines._base import RandomisedPostProcessor, auto_gains, check_auto_objective
from eifffel.rows.coding import Coding, Rows


class EqualizedOdds(RandomisedPostProcessor):
    """Decisions mixed at random, by group, so that both groups have the same true and false positive rates.

    The four probabilities of a favourable decision, by group and by what the estimator decides, are the best of a
    linear program. Hardt, Price and Srebro (2016), "Equality of opportunity in supervised learning".

    ``predict`` needs the sensitive attribute and is randomised. There is no bound to set: the odds are made equal on
    the rows chosen on, and demographic parity is left as it falls.

    Parameters
    ----------
    estimator : classifier
        Its decisions are mixed. ``FrozenEstimator(model)`` is not trained, and then all rows given are chosen on.
    objective : {"auto", "accuracy", "balanced_accuracy"}
        What is maximised: "auto" is balanced accuracy if the estimator (or the last step of a Pipeline, or the best of
        a search) has ``class_weight``, else accuracy, the expected loss of Hardt et al. aif360 maximises balanced
        accuracy.
    select_on : {"validation", "train"}
        Which rows the mixing is chosen on: held out from training, or the training rows.
    validation_fraction : float in (0, 1)
        Share of the rows held out.
    favorable : label, optional
        The favourable class; by default the larger of 0/1, -1/1 or booleans.
    random_state : int, RandomState instance or None
        For the split, and for the draws of ``predict``: a sequence that starts again with ``fit`` and goes on from call
        to call, so that people decided one at a time get draws of their own.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    probabilities_ : dict
        Per group the probability of a favourable decision where the estimator decides unfavourably, and where it
        decides favourably.
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel.baselines import EqualizedOdds
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(1000, random_state=0)
    >>> clf = EqualizedOdds(RandomForestClassifier(10, random_state=0), random_state=0)
    >>> clf = clf.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> clf.predict(people.data[:3], sensitive_features=people.sensitive[:3]).shape
    (3,)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        objective: str = "auto",
        select_on: str = "validation",
        validation_fraction: float = 0.25,
        favorable: Any = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.objective = objective
        self.select_on = select_on
        self.validation_fraction = validation_fraction
        self.favorable = favorable
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_auto_objective(self.objective)  # and no scores are needed

    def _check_rows(self, rows: Rows, coding: Coding) -> None:
        coding.check_both_labels(rows, "its true and false positive rates cannot both be measured")

    def _look(self, model: Any, X: Any, coding: Coding) -> np.ndarray:
        return model.predict(X) == coding.classes[coding.favorable]

    def _adjust(self, model: Any, seen: np.ndarray, rows: Rows, coding: Coding) -> None:
        totals = rows.weigh_cells().astype(np.float64)
        rate = rows.weigh_cells(seen) / totals  # of favourable decisions, by group and label
        # Unknown: the probability of a favourable decision by group and what the estimator decides. The rate of a
        # group and label is then linear in two of the four unknowns.
        share = np.stack([1 - rate, rate], axis=-1)
        gain = auto_gains(self.objective, model, totals) * totals
        result = linprog(
            -np.einsum("gy,gyd->gd", gain, share).ravel(),
            A_eq=np.hstack([share[0], -share[1]]),
            b_eq=np.zeros(2),
            bounds=(0, 1),
        )
        if not result.success:  # one and the same probability for all is feasible
            raise RuntimeError(f"the linear program of equalized odds failed: {result.message}")
        found = np.clip(result.x.reshape(2, 2), 0, 1) + 0.0  # without the sign of a negative zero
        self.probabilities_ = dict(zip(coding.groups, map(tuple, found.tolist()), strict=True))

    def _probability(self, seen: np.ndarray, group: np.ndarray) -> np.ndarray:
        probability = np.array([self.probabilities_[value] for value in self._coding.groups])
        return probability[group, seen.astype(np.intp)]
