"""The baselines on the paper's data sets, beside what the paper prints of them.

    EIFFFEL_DATA=FOLDER python benchmarks/baselines.py [--seeds N] [--out FILE]

Test split of 20%, sensitive attribute among the features except where a method removes it. Randomised methods are
measured by their expected rates, so that no draw adds noise.
"""

import argparse
import os
import platform
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import sklearn
from paper_data import READERS, PaperData
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from tqdm.auto import tqdm

import eifffel
from eifffel.baselines import (
    DFRF,
    CalibratedEqualizedOdds,
    EqualizedOdds,
    GroupThresholds,
    Massaging,
    RejectOption,
    Reweighing,
)
from eifffel.metrics import METRICS

PRINTED = {  # accuracy and discrimination, tables 2 to 4 of the paper
    "adult": {
        "plain forest": (0.85, 0.20),
        "EOP": (0.83, 0.13),
        "DFRF, rho 0.01": (0.78, 0.02),
        "DFRF, rho 0.05": (0.82, 0.07),
        "DFRF, rho 0.1": (0.81, 0.05),
        "DFRF, rho 0.15": (0.83, 0.10),
    },
    "bank": {
        "plain forest": (0.82, 0.18),
        "EOP": (0.82, 0.04),
        "DFRF, rho 0.01": (0.73, 0.05),
        "DFRF, rho 0.05": (0.78, 0.07),
        "DFRF, rho 0.1": (0.78, 0.12),
        "DFRF, rho 0.15": (0.78, 0.09),
    },
    "compas": {
        "plain forest": (0.69, 0.30),
        "EOP": (0.65, 0.25),
        "DFRF, rho 0.01": (0.58, 0.02),
        "DFRF, rho 0.05": (0.64, 0.17),
        "DFRF, rho 0.1": (0.65, 0.23),
        "DFRF, rho 0.15": (0.67, 0.24),
    },
}
EOP = {
    "equalized odds": lambda model: EqualizedOdds(model),
    "calibrated, fpr": lambda model: CalibratedEqualizedOdds(model, cost="fpr"),
    "calibrated, fnr": lambda model: CalibratedEqualizedOdds(model, cost="fnr"),
    "calibrated, weighted": lambda model: CalibratedEqualizedOdds(model, cost="weighted"),
}
CHOSEN_ON = ("training rows", "held-out rows")
RHOS = (0.01, 0.05, 0.1, 0.15)
LINES: list[str] = []


def say(line: str = "") -> None:
    print(line, flush=True)
    LINES.append(line)


def measure(favorable: np.ndarray, y: np.ndarray, s: np.ndarray, metric: str) -> tuple[float, float]:
    """Accuracy, balanced where the forest is, and discrimination, of decisions or of their probabilities."""
    cell = 2 * s + y
    chosen = np.bincount(cell, favorable, minlength=4).reshape(2, 2)
    totals = np.bincount(cell, minlength=4).reshape(2, 2)
    return float(METRICS[metric](chosen, totals)), float(METRICS["discrimination"](chosen, totals))


def run(data: PaperData, seed: int) -> Iterator[tuple[str, tuple[float, float]]]:
    """Every method on one split."""
    X, y, s = data.X, data.y, data.s
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed, stratify=2 * s + y)
    fitted_on, held_out = train_test_split(train, test_size=0.25, random_state=seed, stratify=(2 * s + y)[train])

    def result(favorable: np.ndarray) -> tuple[float, float]:
        return measure(favorable, y[test], s[test], data.metric)

    def fit(clf, rows=train):
        return clf.fit(X[rows], y[rows], sensitive_features=s[rows])

    forest = RandomForestClassifier(100, n_jobs=2, random_state=seed, **data.forest)
    on_all = clone(forest).fit(X[train], y[train])
    on_part = clone(forest).fit(X[fitted_on], y[fitted_on])
    yield "plain forest", result(on_all.predict(X[test]))
    for name, make in EOP.items():
        for rows, model, chosen_on in zip((train, held_out), (on_all, on_part), CHOSEN_ON, strict=True):
            clf = fit(make(FrozenEstimator(model)), rows)
            yield f"{name}, {chosen_on}", result(clf.favorable_probability(X[test], sensitive_features=s[test]))
    for rho in RHOS:
        clf = DFRF(rho=rho, sensitive_columns=data.sensitive_columns, random_state=seed, n_jobs=2, **data.dfrf)
        yield f"DFRF, rho {rho:g}", result(fit(clf).predict(X[test]))
    yield "reweighing", result(fit(Reweighing(forest)).predict(X[test]))
    yield "massaging", result(fit(Massaging(forest)).predict(X[test]))
    for name, method in (("reject option", RejectOption), ("group thresholds", GroupThresholds)):
        for epsilon in (0.01, 0.05):
            clf = fit(method(FrozenEstimator(on_part), epsilon=epsilon), held_out)
            yield f"{name}, epsilon {epsilon:g}", result(clf.predict(X[test], sensitive_features=s[test]))


def table(name: str, found: dict[str, np.ndarray], metric: str) -> None:
    say(f"## {name}")
    say()
    say(f"{metric.replace('_', ' ').capitalize()} and discrimination on the test split, mean and standard error.")
    say()
    say("| method | accuracy | discrimination | printed |")
    say("|---|---|---|---|")
    for method, values in found.items():
        mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
        key = "EOP" if method.startswith(("equalized", "calibrated")) else method
        printed = PRINTED[name].get(key)
        cells = "" if printed is None else f"{printed[0]:.2f}, {printed[1]:.2f}"
        say(f"| {method} | {mean[0]:.3f} ± {error[0]:.3f} | {mean[1]:.3f} ± {error[1]:.3f} | {cells} |")
    say()


def distance(values: np.ndarray, printed: tuple[float, float]) -> float:
    return float(np.abs(values.mean(axis=0) - printed).sum())


def nearest(found: dict[str, dict[str, np.ndarray]], n_seeds: int) -> None:
    """How far each variant of EOP is from the printed numbers; errors by leaving out one seed at a time."""
    variants = [f"{name}, {rows}" for name in EOP for rows in CHOSEN_ON]

    def distances(seeds: np.ndarray) -> np.ndarray:
        return np.array([[distance(found[d][v][seeds], PRINTED[d]["EOP"]) for d in found] for v in variants])

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
    say(f"| variant | {' | '.join(found)} | mean | behind |")
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
    if "EIFFFEL_DATA" not in os.environ:
        parser.error(
            "set EIFFFEL_DATA to the folder with adult.data, adult.test, bank-full.csv and compas-scores-two-years.csv"
        )
    if options.seeds < 2:
        parser.error("--seeds must be at least 2, to have a standard error")

    say("# The baselines on the paper's data")
    say()
    say(
        f"eifffel {eifffel.__version__}, scikit-learn {sklearn.__version__}, Python {platform.python_version()}; "
        f"{options.seeds} seeds; made by `make benchmark-baselines`."
    )
    say()
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, read in READERS.items():
        data = read()
        rows: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for seed in tqdm(range(options.seeds), desc=name, leave=False):
            for method, values in run(data, seed):
                rows[method].append(values)
        found[name] = {method: np.array(values) for method, values in rows.items()}
        table(name, found[name], data.metric)
    nearest(found, options.seeds)
    if options.out:
        temporary = options.out.with_suffix(".part")
        temporary.write_text("\n".join(LINES) + "\n")
        temporary.replace(options.out)


if __name__ == "__main__":
    main()
