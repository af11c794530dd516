"""error-parity: thresholds per group after training, chosen by a linear program over the groups' ROC curves."""

from collections.abc import Iterator

import numpy as np
from error_parity import RelaxedThresholdOptimizer
from exchange import EPSILONS, Answer, Task, clock, main

# Of random decisions: what is measured is their mean.
N_DRAWS = 20


def relaxed_thresholds(task: Task) -> Iterator[Answer]:
    false_favorable, false_unfavorable = task.costs
    rows = task.held_out
    for epsilon in EPSILONS:
        with clock() as fit:
            model = RelaxedThresholdOptimizer(
                predictor=lambda rows: task.proba[np.asarray(rows).ravel(), 1],
                constraint="demographic_parity",
                tolerance=epsilon,
                false_pos_cost=false_favorable,
                false_neg_cost=false_unfavorable,
                seed=task.seed,
            )
            model.fit(X=rows[:, None], y=task.y[rows], group=task.group[rows])
        with clock() as predict:
            draws = [model(task.test[:, None], group=task.group[task.test])]
        draws += [model(task.test[:, None], group=task.group[task.test]) for _ in range(N_DRAWS - 1)]
        yield Answer(
            np.mean(draws, axis=0),
            fit.seconds + task.predict_seconds * len(rows),
            predict.seconds + task.predict_seconds * len(task.test),
            epsilon,
            model=model,
        )


METHODS = {"error-parity": relaxed_thresholds}

if __name__ == "__main__":
    main(METHODS)
