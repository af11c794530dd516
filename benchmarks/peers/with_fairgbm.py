"""fairgbm: LightGBM trained under bounds on the difference of error rates."""

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
from exchange import Answer, Task, clock, main
from fairgbm import FairGBMClassifier

# Error rates are all that it compares; both together are its default, as are the second tolerance and the second rate.
KINDS = ("FPR,FNR", "FPR", "FNR")
TOLERANCES = (0.0, 0.01, 0.05, 0.1)
RATES = (0.01, 0.1)


def repeat_rows(task: Task, rows: np.ndarray) -> np.ndarray:
    """Its bounds take no weights, so that rows of the rare label are there as often as balances the classes."""
    rare = task.y[rows] == 1
    times = np.where(rare & task.balanced, round((~rare).sum() / rare.sum()), 1)
    return np.repeat(rows, times)


def fair_boosting(task: Task, *, trained_on: str) -> Iterator[Answer]:
    rows = repeat_rows(task, getattr(task, trained_on))
    for kind, tolerance, rate in product(KINDS, TOLERANCES, RATES):
        model = FairGBMClassifier(
            constraint_type=kind,
            constraint_fpr_tolerance=tolerance,
            constraint_fnr_tolerance=tolerance,
            multiplier_learning_rate=rate,
            n_estimators=task.forest["n_estimators"],
            random_state=task.seed,
            n_jobs=1,
            verbose=-1,
        )
        title = f"{kind}, tolerance {tolerance:g}, rate {rate:g}"
        with clock() as fit:
            model.fit(task.X[rows], task.y[rows], constraint_group=task.group[rows])
        with clock() as predict:
            favorable = model.predict(task.X[task.test])
        yield Answer(
            favorable,
            fit.seconds,
            predict.seconds,
            setting=title,
            model=model,
        )


METHODS = {
    "fairgbm": partial(fair_boosting, trained_on="train"),
    "fairgbm-fewer": partial(fair_boosting, trained_on="fitted_on"),
}

if __name__ == "__main__":
    main(METHODS)
