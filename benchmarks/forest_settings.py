"""Which forest comes nearest to the paper's baseline? Its numbers of trees and depths are not printed.

    python benchmarks/forest_settings.py [--seeds N] [--out FILE]

Each setting is trained on 80% of the rows, sensitive column among the features, and measured on the rest. The data come
from the folder that EIFFFEL_DATA names, or are downloaded.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch
from tqdm.auto import tqdm

from eifffel.metrics import METRICS
from page import VERSIONS, save, say
from reproduction.printed import PRINTED
from reproduction.protocol import EXPERIMENTS, PLAIN, WITH, Experiment
from reproduction.runs import grow_plain, split_people

CANDIDATES = {
    "adult": [
        {},
        {"criterion": "entropy"},
        {"max_features": 1},
        {"min_samples_leaf": 2},
        {"max_depth": 15},
    ],
    "bank": [
        {},
        *({"max_depth": depth, "class_weight": "balanced"} for depth in (5, 6, 7, 8, 9, 10)),
    ],
    "compas": [
        {},
        {"min_samples_leaf": 20},
        *({"max_depth": depth} for depth in (4, 5, 6, 7, 8)),
        *({"max_depth": depth, "max_features": 2} for depth in (5, 6, 7, 8)),
    ],
}
MEASURES = ("accuracy", "balanced_accuracy", "discrimination")


def measure(experiment: Experiment, people: Bunch, seed: int) -> list[float]:
    split = split_people(people, WITH, seed)
    forest = grow_plain(experiment, split, split.train, n_estimators=100, random_state=seed, n_jobs=2)
    favorable, totals = split.count(forest.predict(split.X[split.test])), split.count(np.ones(len(split.test)))
    return [float(METRICS[metric](favorable, totals)) for metric in MEASURES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, help="by default as many as a full reproduction has")
    parser.add_argument("--out", type=Path, help="also write what is printed to this file")
    options = parser.parse_args()
    if options.seeds is not None and options.seeds < 2:
        parser.error("--seeds must be at least 2, to have a standard error")

    say("# Forests near the paper's baseline")
    say()
    say(f"{VERSIONS}; made by `make benchmark-settings`.")
    say()
    say("100 trees, otherwise scikit-learn's defaults but for what is named; test split, sensitive column among the")
    say("features, mean and standard error over seeds. Distance: from the printed accuracy plus from the printed")
    say("discrimination. Taken: the nearest of those whose accuracy rounds to the printed one, else the nearest; and")
    say("scikit-learn's default where the nearest is not nearer by two standard errors.")
    for name, candidates in CANDIDATES.items():
        taken, printed = EXPERIMENTS[name], PRINTED[name][PLAIN][None]
        n_seeds = taken.n_seeds if options.seeds is None else options.seeds
        people = taken.fetch()
        say()
        say(f"## {taken.title}: printed {printed[0]:.2f} and {printed[1]:.2f}; {n_seeds} seeds")
        say()
        say("| setting | accuracy | balanced accuracy | discrimination | distance |")
        say("|---|---|---|---|---|")
        for setting in tqdm(candidates, desc=name, leave=False):
            experiment = replace(taken, forest=setting)
            values = np.array([measure(experiment, people, seed) for seed in range(n_seeds)])
            mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(n_seeds)
            cells = " | ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True))
            distance = abs(mean[0] - printed[0]) + abs(mean[2] - printed[1])
            words = ", ".join(f"{key}={value}" for key, value in setting.items()) or "default"
            note = " (taken)" if setting == taken.forest else ""
            say(f"| {words}{note} | {cells} | {distance:.3f} |")
    save(options.out)


if __name__ == "__main__":
    main()
