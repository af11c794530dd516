"""fairlearn: thresholds per group after training, and a reduction that trains many forests."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from exchange import EPSILONS, Answer, Task, clock, main
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import DemographicParity, ErrorRate, ExponentiatedGradient
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier

# It trains some twenty-five forests for each bound, so that it gets fewer.
REDUCTION_BOUNDS = (0.0, 0.05, 0.1)


class Given(ClassifierMixin, BaseEstimator):
    """The base forest: a row is its number."""

    def __init__(self, proba: np.ndarray):
        self.proba = proba
        self.classes_ = np.array([0, 1])

    def fit(self, rows: np.ndarray, y: np.ndarray) -> "Given":
        return self

    def predict_proba(self, rows: np.ndarray) -> np.ndarray:
        return self.proba[np.asarray(rows).ravel()]


def threshold_optimizer(task: Task, constraints: str = "demographic_parity") -> Iterator[Answer]:
    objective = "balanced_accuracy_score" if task.balanced else "accuracy_score"
    rows = task.held_out
    bounds = EPSILONS if constraints == "demographic_parity" else (None,)  # it has none on equalized odds
    for place, bound in enumerate(bounds):
        with clock() as fit:
            model = ThresholdOptimizer(
                estimator=Given(task.proba),
                constraints=constraints,
                objective=objective,
                prefit=True,
                predict_method="predict_proba",
                tol=bound or None,
            )
            model.fit(rows[:, None], task.y[rows], sensitive_features=task.group[rows])
        with clock() as predict:
            decided = model._pmf_predict(task.test[:, None], sensitive_features=task.group[task.test])
        yield Answer(
            decided[:, 1],
            fit.seconds + (task.predict_seconds * len(rows) if place == 0 else 0.0),
            predict.seconds + task.predict_seconds * len(task.test),
            bound,
            model=model,
        )


def exponentiated_gradient(task: Task) -> Iterator[Answer]:
    """Its bound is on the distance of each group from all people: the smaller group's is the larger one's share."""
    rows = task.train
    largest = np.bincount(task.group[rows]).max() / len(rows)
    settings = {name: value for name, value in task.forest.items() if name != "class_weight"}
    false_favorable, false_unfavorable = task.costs
    for epsilon in REDUCTION_BOUNDS:
        with clock() as fit:
            model = ExponentiatedGradient(
                RandomForestClassifier(**settings),
                DemographicParity(difference_bound=epsilon * largest),
                objective=ErrorRate(costs={"fp": false_favorable, "fn": false_unfavorable}),
            )
            model.fit(task.X[rows], task.y[rows], sensitive_features=task.group[rows])
        with clock() as predict:
            decided = model._pmf_predict(task.X[task.test])[:, 1]
        yield Answer(
            decided, fit.seconds, predict.seconds, epsilon, setting=f"{model.n_oracle_calls_} forests", model=model
        )


METHODS = {
    "threshold-optimizer": threshold_optimizer,
    "threshold-optimizer-odds": partial(threshold_optimizer, constraints="equalized_odds"),
    "exponentiated-gradient": exponentiated_gradient,
}

if __name__ == "__main__":
    main(METHODS)
