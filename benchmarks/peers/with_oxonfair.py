"""OxonFair: thresholds per group after training, of groups that are given or that a second forest foretells."""

from collections.abc import Iterator

import numpy as np
from exchange import EPSILONS, Answer, Task, clock, main
from oxonfair import FairPredictor
from oxonfair import group_metrics as gm
from sklearn.ensemble import RandomForestClassifier

# A bound of 0, which no pair of its thresholds keeps, it answers by deciding alike for all.
ABOVE_ZERO = (0.005, *EPSILONS[1:])
# Its default: below this, the group that is foretold is not believed.
UNCERTAIN = 2 / 3


class Given:
    """The probabilities that a forest gives: a row is its number."""

    def __init__(self, proba: np.ndarray):
        self.proba = proba

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        probabilities: np.ndarray = self.proba[rows]
        return probabilities


def adjust(
    task: Task,
    foretell: Given | bool = False,
    threshold: float = UNCERTAIN,
    trained: float = 0.0,
    asked: float = 0.0,
) -> Iterator[Answer]:
    """All bounds from one frontier, as its `fit` has it; a row is its number.

    ``trained`` and ``asked`` are seconds that a forest of groups takes to be trained, and to foretell a row.
    """
    objective = gm.balanced_accuracy if task.balanced else gm.accuracy
    rows, per_row = task.held_out, task.predict_seconds + asked
    for place, epsilon in enumerate(ABOVE_ZERO):
        with clock() as fit:
            if place == 0:
                held_out = {"data": rows, "target": task.y[rows], "groups": task.group[rows]}
                model = FairPredictor(Given(task.proba), held_out, inferred_groups=foretell, threshold=threshold)
            model.fit(objective, gm.demographic_parity, epsilon, recompute=place == 0)
        with clock() as predict:
            test = {"data": task.test, "target": task.y[task.test], "groups": task.group[task.test]}
            favorable = np.asarray(model.predict(test))
        first = trained + per_row * len(rows) if place == 0 else 0.0
        yield Answer(
            favorable,
            fit.seconds + first,
            predict.seconds + per_row * len(task.test),
            epsilon,
            model=model,
        )


def with_groups(task: Task) -> Iterator[Answer]:
    yield from adjust(task)


def inferred(task: Task) -> Iterator[Answer]:
    with clock() as fit:
        # Balanced, for one of the groups may be of few.
        forest = RandomForestClassifier(**{**task.forest, "class_weight": "balanced"})
        forest.fit(task.X[task.fitted_on], task.group[task.fitted_on])
    with clock() as predict:
        forest.predict_proba(task.X[task.test])
    groups = forest.predict_proba(task.X)
    # Where nobody's group is uncertain, it fails with a threshold.
    threshold = UNCERTAIN if (groups[task.held_out].max(axis=1) < UNCERTAIN).any() else 0.0
    yield from adjust(task, Given(groups), threshold, fit.seconds, predict.seconds / len(task.test))


METHODS = {"oxonfair": with_groups, "oxonfair-inferred": inferred}

if __name__ == "__main__":
    main(METHODS)
