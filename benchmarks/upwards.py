"""What it costs to take no favourable decision from anybody: direction="up" beside direction="any".

    python benchmarks/upwards.py [--seeds N] [--out FILE.md]

The paper's data are read from the folder that EIFFFEL_DATA names.
"""

import argparse
import statistics
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from sklearn.utils import Bunch

from eifffel import FairnessPath, trace_path, view_ensemble
from eifffel.leaves.placing import PlacedRows
from eifffel.metrics import METRICS
from page import VERSIONS, save, say
from reproduction.protocol import EXPERIMENTS, WITHOUT
from reproduction.runs import RunSplit, grow_plain, split_people

EPSILON = 0.05
N_TREES = 100
N_JOBS = 2
CASES = {
    "forest, leaf": ("forest", "leaf"),
    "forest, shift": ("forest", "shift"),
    "LightGBM, shift": ("lightgbm", "shift"),
}
CLIPPED = "up, clipped"


def train(kind: str, name: str, split: RunSplit, seed: int) -> Any:
    X, y, _ = split.rows(split.fitted_on)
    if kind == "forest":
        settings = {"n_estimators": N_TREES, "min_samples_leaf": 5, "random_state": seed, "n_jobs": N_JOBS}
        return grow_plain(EXPERIMENTS[name], split, split.fitted_on, **settings)
    balance = (y == 0).sum() / (y == 1).sum() if EXPERIMENTS[name].objective == "balanced_accuracy" else 1.0
    model = lightgbm.LGBMClassifier(n_estimators=N_TREES, scale_pos_weight=balance, random_state=seed, verbose=-1)
    return model.fit(X, y)


def trace_all(model: Any, strategy: str, split: RunSplit) -> Iterator[tuple[str, FairnessPath]]:
    """Paths in both directions, and along the free one with its positive part left out."""
    X, y, group = split.rows(split.fitted_on)
    for direction in ("any", "up"):
        path = trace_path(
            model,
            X,
            y,
            sensitive_features=group,
            strategy=strategy,
            direction=direction,
            select_on=split.rows(split.held_out),
            n_jobs=N_JOBS,
        )
        yield direction, path
        if direction == "any" and strategy == "shift":
            view = view_ensemble(model)
            X_held_out = split.X[split.held_out]
            index = view.apply(view.check_rows(X_held_out))
            placed = PlacedRows(X_held_out, index, path.rows_to_check.rows, path.counts.rows)
            order = replace(path.order, score=np.minimum(path.order.score, 0)).on_rows(view, placed)
            yield CLIPPED, replace(path, order=order).measure(*split.rows(split.held_out))


def measure(name: str, people: Bunch, seed: int) -> Iterator[tuple[str, str, dict[str, float]]]:
    split = split_people(people, WITHOUT, seed)
    X, _, _ = split.rows(split.test)
    for case, (kind, strategy) in CASES.items():
        model = train(kind, name, split, seed)
        before = model.predict(X) == 1
        yield case, "original model", describe(name, split, before, before)
        for direction, path in trace_all(model, strategy, split):
            after = path.model_at(path.select(epsilon=EPSILON).step).predict(X) == 1
            yield case, direction, describe(name, split, before, after)


def describe(name: str, split: RunSplit, before: np.ndarray, after: np.ndarray) -> dict[str, float]:
    favorable, totals = split.count(after), split.count(np.ones(len(after)))
    return {
        "accuracy": 100 * float(METRICS[EXPERIMENTS[name].objective](favorable, totals)),
        "discrimination": float(METRICS["discrimination"](favorable, totals)),
        "gain": 100 * float((after & ~before).mean()),
        "lose": 100 * float((before & ~after).mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of groups that are told apart poorly, and of narrowed probabilities
    say("# Nobody loses: what direction='up' costs")
    say()
    say(f"Made by `make benchmark-upwards` with {VERSIONS}, lightgbm {lightgbm.__version__}; {given.seeds} splits.")
    say()
    say(
        f"Models of {N_TREES} trees (forests with 5 rows a leaf or more), the sensitive column removed, epsilon "
        f"{EPSILON:g} met on held-out rows, measured on test rows; accuracy is balanced accuracy on Bank. *Gain* and "
        "*lose*: share of all people who gain and lose a favourable decision. *Clipped*: the direction of `any` with "
        "its positive part left out, beside the one that is fitted so that nothing is taken off any leaf, which `up` "
        "is. With standard errors over the splits."
    )
    say()
    for name, experiment in EXPERIMENTS.items():
        people = experiment.fetch()
        runs: dict[tuple[str, str], list[dict[str, float]]] = {}
        for seed in range(given.seeds):
            for case, direction, found in measure(name, people, seed):
                runs.setdefault((case, direction), []).append(found)
        say(f"## {experiment.title}")
        say()
        say("| model, strategy | direction | accuracy, % | discrimination | gain, % | lose, % |")
        say("|---|---|---|---|---|---|")
        for (case, direction), found in runs.items():
            shown = " | ".join(
                mean([run[what] for run in found], digits)
                for what, digits in (("accuracy", 1), ("discrimination", 3), ("gain", 1), ("lose", 1))
            )
            say(f"| {case} | {direction} | {shown} |")
        say()
    save(given.out)


def mean(values: list[float], digits: int) -> str:
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{statistics.fmean(values):.{digits}f} ± {error:.{digits}f}"


if __name__ == "__main__":
    main()
