"""eifffel: flipped and shifted leaves, all bounds from one path; and DFRF, which has no code of its own to install."""

import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from exchange import EPSILONS, Answer, Task, clock, main
from sklearn.ensemble import RandomForestClassifier

from eifffel import DiscriminationAwareForestClassifier, FairnessPath, baselines, trace_path
from eifffel.datasets import make_biased_classification

sys.path.append(str(Path(__file__).parents[1]))
from reproduction.protocol import EXPERIMENTS

# The settings of DFRF that the reproduction has beside this forest, where they are not its defaults.
DFRF = {tuple(sorted(experiment.forest.items())): experiment.dfrf for experiment in EXPERIMENTS.values()}

PARITY = "demographic_parity"


def plain_forest(task: Task) -> Any:
    """The base forest once more."""
    forest = RandomForestClassifier(**task.forest).fit(task.X[task.fitted_on], task.y[task.fitted_on])
    if not np.array_equal(forest.predict_proba(task.X[task.test]), task.proba[task.test]):
        raise RuntimeError("this forest is not the base forest")
    return forest


def aware_forest(task: Task) -> Any:
    rows = task.fitted_on
    forest = DiscriminationAwareForestClassifier(**task.forest)
    return forest.fit(task.X[rows], task.y[rows], sensitive_features=task.group[rows])


def boosted(task: Task) -> Any:
    rows = task.fitted_on
    model = lightgbm.LGBMClassifier(
        n_estimators=task.forest["n_estimators"], random_state=task.seed, n_jobs=1, verbose=-1
    )
    return model.fit(task.X[rows], task.y[rows], sample_weight=task.class_weights(rows))


@cache
def compile_kernels(strategy: str) -> None:
    """On a few rows, so that no time is of compiling."""
    people = make_biased_classification(200, random_state=0)
    X, y, group = people.data, people.target, people.sensitive
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y)
    trace_path(model, X, y, sensitive_features=group, strategy=strategy, select_on=(X, y, group)).model_at(1)


def edit(
    task: Task,
    *,
    train: Callable[[Task], Any],
    strategies: tuple[str, ...],
    constraint: str = PARITY,
    own: bool = False,
) -> Iterator[Answer]:
    """All bounds from one path, or from the best of several on the held-out rows.

    What a model of its ``own`` takes to train is counted.
    """
    for strategy in strategies:
        compile_kernels(strategy)
    with clock() as trained:
        model = train(task)

    def trace(strategy: str) -> FairnessPath:
        X, y, group = rows(task.fitted_on)
        return trace_path(
            model,
            X,
            y,
            sensitive_features=group,
            strategy=strategy,
            constraint=constraint,
            select_on=rows(task.held_out),
            privileged=1 if constraint == PARITY else None,
            n_jobs=1,
        )

    def rows(which: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return task.X[which], task.y[which], task.group[which]

    objective = "balanced_accuracy" if task.balanced else "accuracy"
    for place, epsilon in enumerate(EPSILONS):
        with clock() as fit:
            if place == 0:
                paths = [trace(strategy) for strategy in strategies]
            choices = [path.select(epsilon=epsilon, objective=objective) for path in paths]
            best = max(range(len(paths)), key=lambda of: (choices[of].met, choices[of].objective_value))
            fair = paths[best].model_at(choices[best].step)
        with clock() as predict:
            favorable = fair.predict(task.X[task.test])
        first = trained.seconds if own and place == 0 else 0.0
        yield Answer(
            favorable,
            fit.seconds + first,
            predict.seconds,
            epsilon if constraint == PARITY else None,
            setting=f"epsilon {epsilon:g}, {strategies[best]}",
            model=fair,
        )


def keep_fair_trees(task: Task) -> Iterator[Answer]:
    rows = task.train
    kept = {name: value for name, value in task.forest.items() if name not in ("n_estimators", "random_state")}
    for rho in EPSILONS[1:]:
        model = baselines.DFRF(
            rho=rho,
            sensitive_columns=task.sensitive_columns,
            random_state=task.seed,
            **{"n_estimators": 50, **DFRF.get(tuple(sorted(kept.items())), {})},
        )
        with clock() as fit:
            model.fit(
                task.X[rows],
                task.y[rows],
                sensitive_features=task.group[rows],
                sample_weight=task.class_weights(rows) if task.balanced else None,
            )
        with clock() as predict:
            favorable = model.predict(task.X[task.test])
        yield Answer(favorable, fit.seconds, predict.seconds, rho, model=model)


METHODS = {
    "best": partial(edit, train=plain_forest, strategies=("tree", "leaf", "shift")),
    "tf": partial(edit, train=plain_forest, strategies=("tree",)),
    "lf": partial(edit, train=plain_forest, strategies=("leaf",)),
    "tf-star": partial(edit, train=aware_forest, strategies=("tree",), own=True),
    "lf-star": partial(edit, train=aware_forest, strategies=("leaf",), own=True),
    "shift": partial(edit, train=plain_forest, strategies=("shift",)),
    "shift-lightgbm": partial(edit, train=boosted, strategies=("shift",), own=True),
    "shift-odds": partial(edit, train=plain_forest, strategies=("shift",), constraint="equalized_odds"),
    "shift-lightgbm-odds": partial(edit, train=boosted, strategies=("shift",), constraint="equalized_odds", own=True),
    "dfrf": keep_fair_trees,
}

if __name__ == "__main__":
    main(METHODS)
