"""The methods compared with, on the paper's data sets; which variant of equalized odds is the paper's EOP?

    python benchmarks/baselines.py [--seeds N] [--out FILE]

Splits and forests are those of `make reproduce`, sensitive column among the features; the data come from the folder
that EIFFFEL_DATA names, or are downloaded. Randomised methods are measured by their expected rates, so that no draw
adds noise.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from tqdm.auto import tqdm

from eifffel.baselines import (
    CalibratedEqualizedOdds,
    EqualizedOdds,
    GroupThresholds,
    Massaging,
    RejectOption,
    Reweighing,
)
from eifffel.metrics import METRICS
from page import VERSIONS, save, say
from reproduction.printed import PRINTED
from reproduction.protocol import EOP, EXPERIMENTS, PLAIN, WITH, Experiment
from reproduction.runs import RunSplit, grow_plain, split_people

VARIANTS = {
    "equalized odds": lambda model: EqualizedOdds(model),
    "calibrated, fpr": lambda model: CalibratedEqualizedOdds(model, cost="fpr"),
    "calibrated, fnr": lambda model: CalibratedEqualizedOdds(model, cost="fnr"),
    "calibrated, weighted": lambda model: CalibratedEqualizedOdds(model, cost="weighted"),
}
CHOSEN_ON = ("training rows", "held-out rows")
MEASURES = ("accuracy", "balanced_accuracy", "discrimination")


def run(experiment: Experiment, split: RunSplit, seed: int) -> Iterator[tuple[str, list[float]]]:
    """Every method on one split: accuracy, balanced accuracy and discrimination on its test rows."""
    X_test, _, group_test = split.rows(split.test)
    totals = split.count(np.ones(len(split.test)))

    def result(favorable: np.ndarray) -> list[float]:
        return [float(METRICS[measure](split.count(favorable), totals)) for measure in MEASURES]

    def fit(clf, rows: np.ndarray):
        X, y, group = split.rows(rows)
        return clf.fit(X, y, sensitive_features=group)

    settings = {"n_estimators": 100, "random_state": seed, "n_jobs": 2}
    on_all, on_part = (grow_plain(experiment, split, rows, **settings) for rows in (split.train, split.fitted_on))
    yield PLAIN, result(on_all.predict(X_test))
    for name, make in VARIANTS.items():
        for rows, model, chosen_on in zip((split.train, split.held_out), (on_all, on_part), CHOSEN_ON, strict=True):
            clf = fit(make(FrozenEstimator(model)), rows)
            yield f"{name}, {chosen_on}", result(clf.favorable_probability(X_test, sensitive_features=group_test))
    forest = RandomForestClassifier(**{**experiment.forest, **settings})
    yield "reweighing", result(fit(Reweighing(forest), split.train).predict(X_test))
    yield "massaging", result(fit(Massaging(forest), split.train).predict(X_test))
    for name, method in (("reject option", RejectOption), ("group thresholds", GroupThresholds)):
        for epsilon in (0.01, 0.05):
            clf = fit(method(FrozenEstimator(on_part), epsilon=epsilon), split.held_out)
            yield f"{name}, epsilon {epsilon:g}", result(clf.predict(X_test, sensitive_features=group_test))


def table(name: str, found: dict[str, np.ndarray]) -> None:
    say(f"## {EXPERIMENTS[name].title}")
    say()
    say("On the test split, mean and standard error; printed: accuracy and discrimination.")
    say()
    say("| method | accuracy | balanced accuracy | discrimination | printed |")
    say("|---|---|---|---|---|")
    for method, values in found.items():
        mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
        cells = " | ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True))
        key = EOP if method.startswith(("equalized", "calibrated")) else method
        printed = PRINTED[name].get(key, {}).get(None)
        say(f"| {method} | {cells} | {'' if printed is None else f'{printed[0]:.2f}, {printed[1]:.2f}'} |")
    say()


def nearest(found: dict[str, dict[str, np.ndarray]], n_seeds: int) -> None:
    """How far each variant of EOP is from the printed numbers; errors by leaving out one seed at a time."""
    variants = [f"{name}, {rows}" for name in VARIANTS for rows in CHOSEN_ON]

    def distance(values: np.ndarray, printed: tuple[float, float]) -> float:
        return float(np.abs(values.mean(axis=0)[[0, 2]] - printed).sum())

    def distances(seeds: np.ndarray) -> np.ndarray:
        return np.array([[distance(found[d][v][seeds], PRINTED[d][EOP][None]) for d in found] for v in variants])

    every = np.arange(n_seeds)
    each = distances(every)
    mean = each.mean(axis=1)
    without_one = np.array([distances(np.delete(every, seed)).mean(axis=1) for seed in every])
    best = int(np.argmin(mean))

    def error(values: np.ndarray) -> np.ndarray:
        return np.sqrt((n_seeds - 1) * values.var(axis=0))

    behind = mean - mean[best]
    within = error(without_one - without_one[:, [best]])
    say("## Which of the four is the paper's EOP?")
    say()
    say("Distance from the printed accuracy plus that from the printed discrimination, per data set and in the mean,")
    say("with the jackknife's standard error over seeds; and how much farther than the nearest:")
    say()
    say(f"| variant | {' | '.join(EXPERIMENTS[name].title for name in found)} | mean | behind |")
    say(f"|---|{'---|' * (len(found) + 2)}")
    for k, variant in enumerate(variants):
        cells = " | ".join(f"{value:.3f}" for value in each[k])
        gap = "nearest" if k == best else f"{behind[k]:.3f} ± {within[k]:.3f}"
        say(f"| {variant} | {cells} | {mean[k]:.3f} ± {error(without_one)[k]:.3f} | {gap} |")
    level = [variants[k] for k in range(len(variants)) if k != best and behind[k] < 2 * within[k]]
    say()
    others = f"{'; '.join(level)}: no farther by two standard errors" if level else "every other is farther than that"
    say(f"The nearest in the mean is **{variants[best]}**; {others}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="also write what is printed to this file")
    options = parser.parse_args()
    if options.seeds < 2:
        parser.error("--seeds must be at least 2, to have a standard error")

    say("# The methods compared with, on the paper's data")
    say()
    say(f"{VERSIONS}; {options.seeds} seeds; made by `make benchmark-baselines`.")
    say()
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, experiment in EXPERIMENTS.items():
        people = experiment.fetch()
        rows: dict[str, list[list[float]]] = defaultdict(list)
        for seed in tqdm(range(options.seeds), desc=name, leave=False):
            for method, values in run(experiment, split_people(people, WITH, seed), seed):
                rows[method].append(values)
        found[name] = {method: np.array(values) for method, values in rows.items()}
        table(name, found[name])
    nearest(found, options.seeds)
    save(options.out)


if __name__ == "__main__":
    main()
