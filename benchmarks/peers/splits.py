"""The tasks: the reproduction's data sets, splits and forests, and the synthetic generator's."""

import json
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from exchange import Task, write
from sklearn.utils import Bunch

from eifffel._utils.writing import write_whole
from eifffel.datasets import make_biased_classification
from reproduction.protocol import EXPERIMENTS, N_TREES, Experiment
from reproduction.runs import grow_plain, split_people

SYNTHETIC = "synthetic"
N_DRAWN = 10_000
# Trees that are grown out know their training rows by heart, and what trains under a bound then meets it on those rows
# alone: Adult is run with leaves of 20 rows too.
LARGE_LEAVES = {"min_samples_leaf": 20}
CASES = {
    "adult": EXPERIMENTS["adult"],
    "adult-20": replace(EXPERIMENTS["adult"], title="Adult, 20 rows a leaf", forest=LARGE_LEAVES),
    "bank": EXPERIMENTS["bank"],
    "compas": EXPERIMENTS["compas"],
    SYNTHETIC: Experiment("Synthetic", make_biased_classification, LARGE_LEAVES, n_seeds=5),
}

# Error rates are compared on other splits, on which no method was chosen. Without Adult's second forest: what trains a
# model of its own, and LightGBM, are the same there.
ERROR_CASES = ("adult", "bank", "compas", SYNTHETIC)
ERROR_SEED = 100


@cache
def load(name: str) -> Bunch:
    return CASES[name].fetch(verbose=0)


def draw(seed: int) -> Bunch:
    """Synthetic people, others for each seed, with the group as a column."""
    people = make_biased_classification(N_DRAWN, random_state=seed)
    data = pd.DataFrame(people.data, columns=people.feature_names).assign(group=people.sensitive)
    return Bunch(
        data=data, target=pd.Series(people.target), sensitive=pd.Series(people.sensitive), sensitive_columns=["group"]
    )


def make_task(file: Path, name: str, features: str, seed: int) -> None:
    """Write the task, and beside it what the base forest does by itself."""
    case = CASES[name]
    people = draw(seed) if name == SYNTHETIC else load(name)
    split = split_people(people, features, seed)
    settings: dict[str, Any] = {**case.forest, "n_estimators": N_TREES, "random_state": seed}
    began = time.process_time()
    forest = grow_plain(case, split, split.fitted_on, **settings)
    trained = time.process_time()
    forest.predict_proba(split.X[split.test])
    predicted = time.process_time() - trained
    task = Task(
        X=split.X.astype(np.float64),
        y=split.y.astype(np.int64),
        group=split.group.astype(np.int64),
        fitted_on=split.fitted_on,
        held_out=split.held_out,
        test=split.test,
        proba=forest.predict_proba(split.X),
        forest=settings,
        balanced=case.objective == "balanced_accuracy",
        sensitive_columns=split.sensitive_columns,
        seed=seed,
        predict_seconds=predicted / len(split.test),
    )
    write(file, task)
    base = {
        "totals": task.count(np.ones(len(task.test))),
        "favorable": task.count(task.proba[task.test].argmax(axis=1)),
        "fit": trained - began,
        "predict": predicted,
    }
    write_whole(base_file(file), json.dumps(base))


def task_file(folder: Path, case: str, features: str, seed: int) -> Path:
    return folder / f"{case}-{features}-{seed}.npz"


def base_file(task: Path) -> Path:
    return task.with_suffix(".json")
