"""aif360: three ways of changing decisions after training, which all need the group of whom they decide about."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from aif360.algorithms.postprocessing import (
    CalibratedEqOddsPostprocessing,
    EqOddsPostprocessing,
    RejectOptionClassification,
)
from aif360.datasets import BinaryLabelDataset
from exchange import N_DRAWS, Answer, Task, clock, main

GROUPS = {"unprivileged_groups": [{"group": 0}], "privileged_groups": [{"group": 1}]}
# It tries 5,000 pairs of thresholds for each bound, so that it gets fewer; 0 it answers by deciding alike for all.
REJECT_BOUNDS = (0.01, 0.05, 0.1, 0.2)


def table(task: Task, rows: np.ndarray, labels: np.ndarray) -> BinaryLabelDataset:
    frame = pd.DataFrame({"group": task.group[rows], "label": labels, "score": task.proba[rows, 1]})
    made = BinaryLabelDataset(df=frame, label_names=["label"], protected_attribute_names=["group"])
    made.scores = task.proba[rows, 1:]
    return made


def decided(task: Task, rows: np.ndarray) -> BinaryLabelDataset:
    return table(task, rows, task.proba[rows].argmax(axis=1))


def apply(task: Task, method: Any, n_draws: int = 1, **more: Any) -> Answer:
    """Fit on the held-out rows, decide for the test rows."""
    with clock() as fit:
        method.fit(table(task, task.held_out, task.y[task.held_out]), decided(task, task.held_out))
    with clock() as predict:
        draws = [method.predict(decided(task, task.test)).labels.ravel()]
    for seed in range(1, n_draws):
        method.seed = seed
        draws.append(method.predict(decided(task, task.test)).labels.ravel())
    return Answer(
        np.mean(draws, axis=0),
        fit.seconds + task.predict_seconds * len(task.held_out),
        predict.seconds + task.predict_seconds * len(task.test),
        model=method,
        **more,
    )


def equalized_odds(task: Task) -> Iterator[Answer]:
    yield apply(task, EqOddsPostprocessing(**GROUPS, seed=0), N_DRAWS)


def calibrated(task: Task) -> Iterator[Answer]:
    for cost in ("weighted", "fnr", "fpr"):
        method = CalibratedEqOddsPostprocessing(**GROUPS, cost_constraint=cost, seed=0)
        yield apply(task, method, N_DRAWS, setting=cost)


def reject_option(task: Task) -> Iterator[Answer]:
    for epsilon in REJECT_BOUNDS:
        method = RejectOptionClassification(
            **GROUPS, metric_name="Statistical parity difference", metric_ub=epsilon, metric_lb=-epsilon
        )
        yield apply(task, method, bound=epsilon)


METHODS = {"equalized-odds": equalized_odds, "calibrated": calibrated, "reject-option": reject_option}

if __name__ == "__main__":
    main(METHODS)
