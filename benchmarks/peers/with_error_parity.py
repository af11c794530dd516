"""error-parity: thresholds per group after training, chosen by a linear program over the groups' ROC curves."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from error_parity import RelaxedThresholdOptimizer
from exchange import EPSILONS, N_DRAWS, Answer, Task, clock, main

PARITY = "demographic_parity"


class Given:
    """The base forest's scores: a row is its number. It counts how many it is asked for."""

    def __init__(self, proba: np.ndarray):
        self.proba = proba
        self.n_asked = 0

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        self.n_asked += len(rows)
        scores: np.ndarray = self.proba[np.asarray(rows).ravel(), 1]
        return scores


def relaxed_thresholds(task: Task, constraint: str = PARITY) -> Iterator[Answer]:
    false_favorable, false_unfavorable = task.costs
    rows, group = task.held_out, task.group[task.test]
    for place, epsilon in enumerate(EPSILONS):
        given = Given(task.proba)
        with clock() as fit:
            model = RelaxedThresholdOptimizer(
                predictor=given,
                constraint=constraint,
                tolerance=epsilon,
                false_pos_cost=false_favorable,
                false_neg_cost=false_unfavorable,
                seed=task.seed,
            )
            model.fit(X=rows[:, None], y=task.y[rows], group=task.group[rows], y_scores=given(rows))
        given.n_asked = 0
        with clock() as predict:
            draws = [model(task.test[:, None], group=group)]
        asked = given.n_asked
        draws += [model(task.test[:, None], group=group) for _ in range(N_DRAWS - 1)]
        yield Answer(
            np.mean(draws, axis=0),
            fit.seconds + (task.predict_seconds * len(rows) if place == 0 else 0.0),
            predict.seconds + task.predict_seconds * asked,
            epsilon if constraint == PARITY else None,
            setting=f"tolerance {epsilon:g}",
            model=model,
        )


METHODS = {
    "error-parity": relaxed_thresholds,
    "error-parity-odds": partial(relaxed_thresholds, constraint="equalized_odds"),
}

if __name__ == "__main__":
    main(METHODS)
