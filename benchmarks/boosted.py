"""Shifting leaves on every library: accuracy beside per-group thresholds, the directions tried, and what a path costs.

    python benchmarks/boosted.py [--quick] [--parts accuracy,directions,cost] [--out FILE]

What a path costs should be measured on an idle machine.

The paper's data are read from the folder that EIFFFEL_DATA names.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import xgboost
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from eifffel import ConstraintNotMetWarning, IndistinctGroupsWarning, trace_path, view_ensemble
from eifffel.baselines import GroupThresholds
from eifffel.constraints import make_constraint
from eifffel.datasets import make_biased_classification
from eifffel.leaves.placing import PlacedRows
from eifffel.metrics import METRICS, discrimination
from eifffel.rows.coding import Coding
from eifffel.rows.groups import Groups
from eifffel.strategies import ShiftOrder, _shift
from eifffel.strategies._least_squares import LeastSquares
from eifffel.strategies._weighing import find_cell_weights, weigh_rows
from page import VERSIONS, save, say
from reproduction.protocol import EXPERIMENTS, FEATURES
from reproduction.runs import RunSplit, grow_plain, split_people
from stages import say_stages

EPSILON = 0.01
GROUPS = Groups(((0, 1),), ("",), privileged=(1,))
PARITY = make_constraint("demographic_parity", GROUPS)
SEEDS = {"adult": 5, "bank": 20, "compas": 20}
DIRECTION_SEEDS = {"adult": 3, "bank": 10, "compas": 10}
N_JOBS = 2
N_TREES = 200

LIBRARIES = {
    "lightgbm": lightgbm.__version__,
    "xgboost": xgboost.__version__,
    "catboost": catboost.__version__,
}


def make_lightgbm(seed: int, balance: float | None) -> Any:
    return lightgbm.LGBMClassifier(
        n_estimators=N_TREES, num_leaves=31, scale_pos_weight=balance or 1.0, random_state=seed, verbose=-1
    )


def make_xgboost(seed: int, balance: float | None) -> Any:
    return xgboost.XGBClassifier(
        n_estimators=N_TREES, max_depth=6, learning_rate=0.1, scale_pos_weight=balance or 1.0, random_state=seed
    )


def make_catboost(seed: int, balance: float | None) -> Any:
    return catboost.CatBoostClassifier(
        iterations=N_TREES,
        scale_pos_weight=balance or 1.0,
        random_seed=seed,
        verbose=False,
        allow_writing_files=False,
    )


def make_histograms(seed: int, balance: float | None) -> Any:
    return HistGradientBoostingClassifier(
        max_iter=N_TREES,
        early_stopping=False,
        class_weight=None if balance is None else "balanced",
        random_state=seed,
    )


BOOSTED: dict[str, Callable[[int, float | None], Any]] = {
    "LightGBM": make_lightgbm,
    "XGBoost": make_xgboost,
    "CatBoost": make_catboost,
    "HistGradientBoosting": make_histograms,
}
FOREST = "RandomForest"


def train(model: str, name: str, split: RunSplit, seed: int) -> Any:
    """A model of 200 trees, or the forest of the reproduction, on three quarters of the training rows."""
    if model == FOREST:
        settings = {"random_state": seed, "n_jobs": N_JOBS, "n_estimators": 100}
        return grow_plain(EXPERIMENTS[name], split, split.fitted_on, **settings)
    y = split.y[split.fitted_on]
    # Where the reproduction's forest weighs classes, so do these.
    balance = (y == 0).sum() / (y == 1).sum() if EXPERIMENTS[name].objective == "balanced_accuracy" else None
    return BOOSTED[model](seed, balance).fit(split.X[split.fitted_on], y)


class Measured:
    """Objective and discrimination on the test rows, run by run."""

    def __init__(self) -> None:
        self.runs: dict[str, list[tuple[float, float, float]]] = {}

    def add(self, method: str, objective: float, disc: float, scale: float = 1.0) -> None:
        self.runs.setdefault(method, []).append((objective, disc, scale))

    def mean(self, method: str) -> tuple[float, float, float]:
        objective, disc, scale = np.array(self.runs[method]).T
        return float(objective.mean()), float(np.abs(disc).mean()), float(scale.min())

    def behind(self, method: str, other: str) -> tuple[float, float]:
        """How far a method is behind another, in points, and the standard error of the paired difference."""
        points = 100 * (np.array(self.runs[other])[:, 0] - np.array(self.runs[method])[:, 0])
        return float(points.mean()), float(points.std(ddof=1) / np.sqrt(len(points))) if len(points) > 1 else np.nan


def decide_blindly(split: RunSplit, model: Any, seed: int) -> np.ndarray:
    """The rule that shifting approaches, without leaves: a classifier of its own tells how likely the group is.

    ``score - lambda * weight`` with the expected weight of a row in the discrimination, and the first lambda that
    keeps the bound on the held-out rows. It needs no group at prediction, as shifting does not.
    """
    X, _, group = split.rows(split.fitted_on)
    who = lightgbm.LGBMClassifier(n_estimators=100, learning_rate=0.05, random_state=seed, verbose=-1).fit(X, group)
    share = group.mean()

    def line(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        privileged = who.predict_proba(split.X[rows])[:, 1]
        return model.predict(split.X[rows], raw_score=True), privileged / share - (1 - privileged) / (1 - share)

    start, pull = line(split.held_out)
    held_out = split.group[split.held_out]
    crossing = np.sort((start / pull)[(start / pull) > 0])
    for reach in (crossing[1:] + crossing[:-1]) / 2:
        decided = start - reach * pull > 0
        if decided[held_out == 1].mean() - decided[held_out == 0].mean() <= EPSILON:
            break
    start, pull = line(split.test)
    return start - reach * pull > 0


def compare(name: str, features: str, model: str, n_seeds: int) -> Measured:
    """One model on one data set: as trained, with thresholds per group, with flips if it votes, and shifted."""
    experiment = EXPERIMENTS[name]
    people = experiment.fetch()
    measured = Measured()
    for seed in range(n_seeds):
        split = split_people(people, features, seed)
        totals = split.count(np.ones(len(split.test)))
        X, y, group = split.rows(split.fitted_on)
        held_out, tested = split.rows(split.held_out), split.rows(split.test)
        fitted = train(model, name, split, seed)

        def add(method: str, favorable: np.ndarray, scale: float = 1.0, totals: np.ndarray = totals) -> None:
            objective = float(METRICS[experiment.objective](favorable, totals))
            measured.add(method, objective, float(discrimination(favorable, totals)), scale)

        add("as trained", split.count(fitted.predict(tested[0])))
        thresholds = GroupThresholds(FrozenEstimator(fitted), epsilon=EPSILON, objective=experiment.objective)
        thresholds.fit(held_out[0], held_out[1], sensitive_features=held_out[2])
        add("thresholds per group", split.count(thresholds.predict(tested[0], sensitive_features=tested[2])))
        for strategy in ("leaf", "shift") if model == FOREST else ("shift",):
            path = trace_path(
                fitted,
                X,
                y,
                sensitive_features=group,
                strategy=strategy,
                select_on=held_out,
                privileged=1,
                n_jobs=N_JOBS,
            )
            step = path.select(epsilon=EPSILON).step
            add(strategy, path.measure(*tested, n_jobs=N_JOBS).counts.favorable[step], path.scale(step))
        if model == "LightGBM":
            add(
                "group-blind rule",
                split.count(decide_blindly(split, fitted, seed)),
            )
    return measured


def report_accuracy(n_seeds: dict[str, int]) -> None:
    say("## Beside per-group thresholds")
    say()
    say(
        "Each model is trained on 60% of the rows, a step or pair of thresholds is chosen on 20% for epsilon 0.01, and "
        "all is measured on the other 20%. The thresholds know the group of each person; shifted and flipped models do "
        "not. *Behind* is the mean paired difference to the thresholds in points, with its standard error. Bank is "
        "measured by balanced accuracy, and its models weigh classes. *Scale* is the smallest factor by which a "
        "shifted forest had to be narrowed."
    )
    say()
    say("| data | sensitive column | model | method | objective | mean abs. disc. | behind thresholds | scale |")
    say("|---|---|---|---|---|---|---|---|")
    bars: list[str] = []
    for name, seeds in n_seeds.items():
        for features in FEATURES:
            for model in (*BOOSTED, FOREST):
                measured = compare(name, features, model, seeds)
                for method in measured.runs:
                    objective, disc, scale = measured.mean(method)
                    behind, error = measured.behind(method, "thresholds per group")
                    shown = "" if method == "thresholds per group" else f"{behind:+.2f} ± {error:.2f}"
                    narrowed = f"{scale:.2f}" if (model, method) == (FOREST, "shift") else ""
                    say(
                        f"| {EXPERIMENTS[name].title} | {features} | {model} | {method} | {objective:.4f} | "
                        f"{disc:.4f} | {shown} | {narrowed} |"
                    )
                if model == FOREST or (model, name) == ("LightGBM", "adult"):
                    bars += judge(measured, f"{EXPERIMENTS[name].title}, {features} the sensitive column, {model}")
    say()
    say(f"Runs: {', '.join(f'{EXPERIMENTS[name].title} {seeds} seeds' for name, seeds in n_seeds.items())}.")
    say()
    say("### Bars")
    say()
    say(
        "Within 0.1 points of the thresholds, or within two standard errors of the paired difference; mean absolute "
        "discrimination at most 0.02. Of a forest the better of flips and shifts counts."
    )
    say()
    say("| | accuracy | discrimination |")
    say("|---|---|---|")
    for line in bars:
        say(line)
    say()


def judge(measured: Measured, title: str) -> Iterator[str]:
    methods = [method for method in ("leaf", "shift") if method in measured.runs]
    best = max(methods, key=lambda method: measured.mean(method)[0])
    behind, error = measured.behind(best, "thresholds per group")
    disc, reference = measured.mean(best)[1], measured.mean("thresholds per group")[1]
    close = "met" if behind <= max(0.1, 2 * error) else "MISSED"
    fair = "met" if disc <= 0.02 else "MISSED"
    yield (
        f"| {title}, {best} | {close}: {behind:+.2f} ± {error:.2f} points behind | {fair}: {disc:.4f} "
        f"(thresholds {reference:.4f}) |"
    )


def tried_directions(view: Any, placed: PlacedRows) -> Iterator[tuple[str, np.ndarray]]:
    """The ways to fit a direction that were tried, the product's last."""
    rows = placed.rows
    weight = rows.weight / rows.weight.mean()
    target = weigh_rows(rows, find_cell_weights(view, placed, PARITY, None, None, N_JOBS)[0])
    squares = LeastSquares(placed.index, view.leaf_offset, weight, target, N_JOBS)
    yield "shrunk means of leaves", squares._spread(weight * target) / (squares.rows_of_leaf + 5) / view.n_trees
    stages = np.zeros(view.n_leaves)
    left = target.copy()
    for t, leaf in enumerate(placed.index):
        own = slice(view.leaf_offset[t], view.leaf_offset[t + 1])
        stages[own] = np.bincount(leaf, weight * left, own.stop - own.start) / (squares.rows_of_leaf[own] + 30) / 10
        left -= stages[own][leaf]
    yield "stagewise, a tenth of each tree's means", stages
    for damping in (5, 30, 100):
        yield f"damped least squares, damping {damping}", squares.solve(damping, _shift.ITERATIONS)
    if view.votes:
        free = squares.solve(5, _shift.ITERATIONS)
        bound = np.full(view.n_leaves, 1.25 * np.abs(target).max() / view.n_trees)
        yield "the same, damping 5, all leaves within one bound", squares.solve_within(-bound, bound, free, 5, 60)
    yield "as the product does it", _shift.order_shift(view, placed, PARITY, n_jobs=N_JOBS).score
    # As it is on more rows than it takes: a sample of them.
    half = np.sort(np.random.default_rng(0).permutation(len(rows.group))[: len(rows.group) // 2])
    sample = PlacedRows(placed.X[half], np.ascontiguousarray(placed.index[:, half]), rows.take(half), placed.name)
    yield "the same, on half of the rows", _shift.order_shift(view, sample, PARITY, n_jobs=N_JOBS).score


def report_directions(n_seeds: dict[str, int]) -> None:
    say("## How the direction is fitted")
    say()
    say(
        "The same models and rows; only the direction differs. The product damps with 30 and, in forests, bounds each "
        "leaf so that a factor of 0.7 is enough where the scoring rows show no discrimination."
    )
    say()
    say("| data | sensitive column | model | direction | objective | mean abs. disc. | behind thresholds | scale |")
    say("|---|---|---|---|---|---|---|---|")
    for name, seeds in n_seeds.items():
        experiment = EXPERIMENTS[name]
        people = experiment.fetch()
        for features in FEATURES:
            for model in ("LightGBM", FOREST):
                measured = Measured()
                for seed in range(seeds):
                    split = split_people(people, features, seed)
                    totals = split.count(np.ones(len(split.test)))
                    fitted = train(model, name, split, seed)
                    view = view_ensemble(fitted)
                    coding = Coding(view.classes, view.favorable, GROUPS)
                    scoring, held_out, tested = (
                        PlacedRows(
                            X, view.apply(view.check_rows(X), n_jobs=N_JOBS), coding.encode(X, y, s, rows=""), ""
                        )
                        for X, y, s in map(split.rows, (split.fitted_on, split.held_out, split.test))
                    )
                    thresholds = GroupThresholds(
                        FrozenEstimator(fitted), epsilon=EPSILON, objective=experiment.objective
                    ).fit(held_out.X, split.y[split.held_out], sensitive_features=split.group[split.held_out])
                    decided = thresholds.predict(tested.X, sensitive_features=split.group[split.test])
                    favorable = split.count(decided)
                    objective = float(METRICS[experiment.objective](favorable, totals))
                    measured.add("thresholds per group", objective, float(discrimination(favorable, totals)))
                    for title, direction in tried_directions(view, scoring):
                        order = ShiftOrder.straight(direction).on_rows(view, held_out)
                        disc = discrimination(
                            order.replay(view, held_out, n_jobs=N_JOBS, verbose=0), held_out.rows.weigh_cells()
                        )
                        keeps = np.abs(disc) <= EPSILON
                        step = int(np.argmax(keeps)) if keeps.any() else int(np.argmin(np.abs(disc)))
                        favorable = order.replay(view, tested, n_jobs=N_JOBS, verbose=0)[step]
                        objective = float(METRICS[experiment.objective](favorable, totals))
                        measured.add(
                            title, objective, float(discrimination(favorable, totals)), order.edit(view, step)[1]
                        )
                for title in measured.runs:
                    objective, disc, scale = measured.mean(title)
                    behind, error = measured.behind(title, "thresholds per group")
                    shown = "" if title == "thresholds per group" else f"{behind:+.2f} ± {error:.2f}"
                    say(
                        f"| {experiment.title} | {features} | {model} | {title} | {objective:.4f} | {disc:.4f} | "
                        f"{shown} | {scale:.2f} |"
                    )
    say()
    say(f"Runs: {', '.join(f'{EXPERIMENTS[name].title} {seeds} seeds' for name, seeds in n_seeds.items())}.")
    say()


def seconds(work: Callable[..., object], *arguments: object) -> float:
    begin = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - begin


def report_cost(n_rows: int, repeats: int) -> None:
    say("## What a path costs")
    say()
    say(f"Two cores. Each ratio is the median of {repeats}, numerator and denominator measured one after the other.")
    say()
    say("On Adult, 60% of the rows to train and score on and 20% to select on, leaf indices included:")
    say()
    say("| model | path / training | writing and checking one step / training |")
    say("|---|---|---|")
    split = split_people(EXPERIMENTS["adult"].fetch(), "with", 0)
    X, y, group = split.rows(split.fitted_on)
    makers = {**BOOSTED, "GradientBoosting": lambda seed, _: GradientBoostingClassifier(n_estimators=N_TREES)}
    makers["RandomForest, unlimited"] = lambda seed, _: RandomForestClassifier(100, n_jobs=N_JOBS, random_state=seed)
    for title, make in makers.items():

        def trace(model: Any) -> Any:
            held_out = split.rows(split.held_out)
            return trace_path(
                model, X, y, sensitive_features=group, strategy="shift", select_on=held_out, n_jobs=N_JOBS
            )

        path = trace(make(0, None).fit(X, y))  # compiled
        step = path.select(epsilon=EPSILON).step
        ratios = []
        for _ in range(repeats):
            model = make(0, None)
            training = seconds(model.fit, X, y)
            tracing = seconds(trace, model)
            writing = seconds(path.model_at, step)
            ratios.append((tracing / training, writing / training))
        say(f"| {title} | {' | '.join(f'{statistics.median(column):.2f}' for column in zip(*ratios, strict=True))} |")
    say()
    model = make_lightgbm(0, None).set_params(n_jobs=1)
    training = statistics.median(seconds(model.fit, X, y) for _ in range(3))
    given = {"sensitive_features": group, "strategy": "shift", "select_on": split.rows(split.held_out), "n_jobs": 1}
    say_stages(lambda: trace_path(model, X, y, **given), training, "the training of LightGBM")
    people = make_biased_classification(n_rows, random_state=0)
    X, y, group = people.data, people.target, people.sensitive

    def apply(model: Any) -> np.ndarray:
        view = view_ensemble(model)
        return view.apply(view.check_rows(X), n_jobs=N_JOBS)

    say(
        f"On {n_rows:,} synthetic rows, {N_TREES} trees trained on 50,000 of them; the path measured on all. *Curve* "
        "is the path of equalized odds beside that of demographic parity."
    )
    say()
    say("| model | leaf indices / predict | whole path / predict | steps | curve / whole path | steps |")
    say("|---|---|---|---|---|---|")
    makers["RandomForest, depth 12"] = lambda seed, _: RandomForestClassifier(
        N_TREES, max_depth=12, n_jobs=N_JOBS, random_state=seed
    )
    for title in (*BOOSTED, "RandomForest, depth 12"):
        model = makers[title](0, None).fit(X[:50_000], y[:50_000])
        ratios = []
        for _ in range(repeats):
            predicting = seconds(model.predict, X)
            applying = seconds(apply, model)
            spent, steps = [], []
            for constraint in ("demographic_parity", "equalized_odds"):
                given = {"sensitive_features": group, "strategy": "shift", "constraint": constraint, "n_jobs": N_JOBS}
                begin = time.perf_counter()
                steps.append(trace_path(model, X, y, **given).n_steps)
                spent.append(time.perf_counter() - begin)
            ratios.append((applying / predicting, spent[0] / predicting, spent[1] / spent[0]))
        applied, whole, curve = (f"{statistics.median(column):.2f}" for column in zip(*ratios, strict=True))
        say(f"| {title} | {applied} | {whole} | {steps[0]:,} | {curve} | {steps[1]:,} |")
    say()
    model = make_catboost(0, None).set_params(thread_count=1).fit(X[:50_000], y[:50_000])
    predicting = statistics.median(seconds(lambda: model.predict(X, thread_count=1)) for _ in range(3))
    given = {"sensitive_features": group, "strategy": "shift", "n_jobs": 1}
    say_stages(lambda: trace_path(model, X, y, **given), predicting, "one predict of CatBoost", repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed and few rows, to see that it runs")
    parser.add_argument("--parts", default="accuracy,directions,cost")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    # What they warn of is reported.
    warnings.simplefilter("ignore", ConstraintNotMetWarning)
    warnings.simplefilter("ignore", IndistinctGroupsWarning)
    parts = arguments.parts.split(",")
    say("# What shifting leaves costs" if parts == ["cost"] else "# Shifting leaves: boosted models and forests")
    say()
    libraries = ", ".join(f"{name} {version}" for name, version in LIBRARIES.items())
    say(f"Made by `make benchmark-boosted` with {VERSIONS}, {libraries}.")
    say()
    quick = arguments.quick
    if "accuracy" in parts:
        report_accuracy({"compas": 2} if quick else SEEDS)
    if "directions" in parts:
        report_directions({"compas": 2} if quick else DIRECTION_SEEDS)
    if "cost" in parts:
        report_cost(20_000 if quick else 1_000_000, 1 if quick else 3)
    save(arguments.out)


if __name__ == "__main__":
    main()
