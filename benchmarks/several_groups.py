"""More than two groups: what bounding the largest difference costs, beside fairlearn's ExponentiatedGradient.

    python benchmarks/several_groups.py [--quick] [--seeds N] [--runs FOLDER] [--out FILE.md]

A run that is in the folder is not made again. The paper's data are read from the folder that EIFFFEL_DATA names.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import fairlearn
import numpy as np
import pandas as pd
from fairlearn.reductions import DemographicParity, ErrorRate, ExponentiatedGradient
from joblib import Parallel, delayed
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from eifffel import trace_path
from eifffel._utils.writing import write_whole
from eifffel.datasets import fetch_adult, fetch_bank, fetch_compas
from page import VERSIONS, save, say, table

EPSILON = 0.05
# Groups with fewer selection rows are listed, and not bounded.
MIN_GROUP_ROWS = 150
CURVE = np.round(np.arange(0.0, 0.5, 0.005), 3)
N_TREES = 30
N_SEEDS = 10
FEATURES = ("with", "without")
STRATEGIES = ("shift", "leaf", "tree")
PEER = "ExponentiatedGradient"
OTHER = "other"


@dataclass(frozen=True)
class Case:
    """A data set and how its people are grouped."""

    title: str
    fetch: Callable[..., Any]
    group: Callable[[pd.DataFrame], pd.Series]
    columns: tuple[str, ...]
    forest: dict[str, Any]
    balanced: bool = False


def cross(*names: str) -> Callable[[pd.DataFrame], pd.Series]:
    return lambda frame: frame[list(names)].agg(", ".join, axis=1)


def bands(frame: pd.DataFrame) -> pd.Series:
    return pd.cut(frame["age"], [0, 29, 39, 49, 200], labels=["under 30", "30 to 39", "40 to 49", "50 and over"])


LEAF = {"min_samples_leaf": 5}
CASES = {
    "adult-sex": Case("Adult, sex", fetch_adult, cross("sex"), ("sex",), LEAF),
    "adult-race": Case("Adult, race", fetch_adult, cross("race"), ("race",), LEAF),
    "adult-sex-race": Case("Adult, sex x race", fetch_adult, cross("sex", "race"), ("sex", "race"), LEAF),
    "compas-sex-race": Case(
        "COMPAS, sex x race", fetch_compas, cross("sex", "race"), ("sex", "race"), {"max_depth": 7}
    ),
    "bank-age": Case("Bank, age in four bands", fetch_bank, bands, ("age",), {"max_depth": 7}, balanced=True),
}
LABELS = {"adult": "income", "compas": "two_year_recid", "bank": "y"}


@cache
def load(name: str, features: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and groups; the sensitive columns are among the features or not."""
    case = CASES[name]
    data = case.fetch(verbose=0)
    dropped = [LABELS[name.partition("-")[0]], *(case.columns if features == "without" else ())]
    X = pd.get_dummies(data.frame.drop(columns=dropped), dtype=float).to_numpy(np.float64)
    return X, data.target.to_numpy(), case.group(data.frame).astype(str).to_numpy()


def split(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places of training, selection and test rows: 60%, 20% and 20%."""
    rest, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed, stratify=y)
    train, held_out = train_test_split(rest, test_size=0.25, random_state=seed, stratify=y[rest])
    return train, held_out, test


def measure(y: np.ndarray, group: np.ndarray, favorable: np.ndarray, bounded: list[str]) -> dict[str, Any]:
    """Rates of the bounded groups, the largest difference with its standard error, and accuracy; of probabilities."""
    rates = {g: float(favorable[group == g].mean()) for g in bounded}
    sizes = {g: int((group == g).sum()) for g in bounded}
    high, low = max(rates, key=rates.__getitem__), min(rates, key=rates.__getitem__)
    variance = sum(rates[g] * (1 - rates[g]) / sizes[g] for g in (high, low))
    right = np.where(y == 1, favorable, 1 - favorable)
    return {
        "worst": rates[high] - rates[low],
        "error": float(np.sqrt(variance)),
        "accuracy": float(right.mean()),
        "balanced_accuracy": float((right[y == 0].mean() + right[y == 1].mean()) / 2),
        "rates": rates,
        "sizes": sizes,
    }


def forest(case: Case, seed: int, **more: Any) -> RandomForestClassifier:
    return RandomForestClassifier(N_TREES, random_state=seed, n_jobs=1, **{**case.forest, **more})


def run_eifffel(name: str, features: str, seed: int) -> dict[str, Any]:
    """The original forest, and all strategies: at EPSILON, and along their path."""
    case, (X, y, group) = CASES[name], load(name, features)
    train, held_out, test = split(y, seed)
    counts = pd.Series(group[held_out]).value_counts()
    bounded = sorted(counts.index[counts >= MIN_GROUP_ROWS])
    began = time.perf_counter()
    weights = {"class_weight": "balanced"} if case.balanced else {}
    model = forest(case, seed, **weights).fit(X[train], y[train])
    fitted = time.perf_counter() - began
    test_of = partial(measure, y[test], group[test], bounded=bounded)
    result: dict[str, Any] = {
        "bounded": bounded,
        "small": {str(g): int(n) for g, n in counts.items() if n < MIN_GROUP_ROWS},
        "train_seconds": fitted,
        "before": test_of(model.predict(X[test]).astype(float)),
    }
    for strategy in STRATEGIES:
        began = time.perf_counter()
        path = trace_path(
            model,
            X[train],
            y[train],
            sensitive_features=group[train],
            strategy=strategy,
            select_on=(X[held_out], y[held_out], group[held_out]),
            min_group_rows=MIN_GROUP_ROWS,
        )
        choice = path.select(epsilon=EPSILON)
        edited = path.model_at(choice.step)
        seconds = time.perf_counter() - began
        steps = sorted({path.select(epsilon=float(epsilon)).step for epsilon in CURVE})
        own = path.measure(X[test], y[test], group[test])
        metric = own.metric("balanced_accuracy" if case.balanced else "accuracy")
        result[strategy] = {
            "met": choice.met,
            "seconds": seconds,
            "chosen": test_of(edited.predict(X[test]).astype(float)),
            "curve": [[float(own.metric("demographic_parity_difference")[k]), float(metric[k])] for k in steps],
        }
    return result


def run_peer(name: str, features: str, seed: int) -> dict[str, Any]:
    """ExponentiatedGradient on the training and the selection rows, groups of few rows put together.

    Its bound is on the distance of each group from all people, so that half of EPSILON bounds each two.
    """
    case, (X, y, group) = CASES[name], load(name, features)
    train, held_out, test = split(y, seed)
    counts = pd.Series(group[held_out]).value_counts()
    bounded = sorted(counts.index[counts >= MIN_GROUP_ROWS])
    rows = np.concatenate([train, held_out])
    merged = np.where(np.isin(group, bounded), group, OTHER)
    objective = None
    if case.balanced:
        share = y[rows].mean()
        objective = ErrorRate(costs={"fp": float(share), "fn": float(1 - share)})
    began = time.perf_counter()
    reduction = ExponentiatedGradient(
        forest(case, seed), DemographicParity(difference_bound=EPSILON / 2), objective=objective
    )
    reduction.fit(X[rows], y[rows], sensitive_features=merged[rows])
    seconds = time.perf_counter() - began
    chosen = measure(y[test], group[test], reduction._pmf_predict(X[test])[:, 1], bounded)
    return {"seconds": seconds, "chosen": chosen, "n_forests": int(reduction.n_oracle_calls_)}


RUNS = {"eifffel": run_eifffel, PEER: run_peer}


def make_run(folder: Path, method: str, name: str, features: str, seed: int) -> dict[str, Any]:
    """One run, from the folder if it is there."""
    file = folder / f"{name}-{features}-{seed}-{method}.json"
    if not file.exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = RUNS[method](name, features, seed)
        write_whole(file, json.dumps(found))
        print(f"{file.stem}", flush=True)
    result: dict[str, Any] = json.loads(file.read_text())
    return result


def mean(values: list[float]) -> tuple[float, float]:
    """The mean, and its standard error over the seeds."""
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return float(np.mean(values)), error


def shown(values: list[float], digits: int = 3, factor: float = 1) -> str:
    value, error = mean(values)
    return f"{factor * value:.{digits}f} ± {factor * error:.{digits}f}"


def at_worst(curve: list[list[float]], worst: float) -> float:
    """The accuracy at the first step of a path that discriminates no more than another method does, on the test rows.

    Where there is none, at the step that discriminates least.
    """
    return next((accuracy for value, accuracy in curve if value <= worst), min(curve)[1])


def report(name: str, runs: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[list[str]]:
    """The rows of a case, and whether it keeps the bars."""
    case = CASES[name]
    metric = "balanced_accuracy" if case.balanced else "accuracy"
    own = [run for run, _ in runs]
    peers = [peer for _, peer in runs]
    rows = []

    def row(method: str, measured: list[dict[str, Any]], seconds: list[float] | None, met: str) -> None:
        rows.append(
            [
                case.title,
                method,
                shown([m["worst"] for m in measured]),
                f"{np.mean([2 * m['error'] for m in measured]):.3f}",
                met,
                shown([m[metric] for m in measured], 4),
                "" if seconds is None else f"{np.mean(seconds):.1f}",
            ]
        )

    row("original model", [run["before"] for run in own], None, "")
    for strategy in STRATEGIES:
        met = f"{sum(run[strategy]['met'] for run in own)} of {len(own)}"
        row(
            f"eifffel, {strategy}", [run[strategy]["chosen"] for run in own], [r[strategy]["seconds"] for r in own], met
        )
    row(PEER, [peer["chosen"] for peer in peers], [peer["seconds"] for peer in peers], "")
    return rows


def judge(name: str, runs: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[str]:
    """The bars of a case, for shifting, which is what is done with several groups by default."""
    case, strategy = CASES[name], "shift"
    metric = "balanced_accuracy" if case.balanced else "accuracy"
    worst = [run[strategy]["chosen"]["worst"] for run, _ in runs]
    bound = [EPSILON + 2 * run[strategy]["chosen"]["error"] for run, _ in runs]
    kept = sum(w <= b for w, b in zip(worst, bound, strict=True))
    behind = [
        100 * (peer["chosen"][metric] - at_worst(run[strategy]["curve"], peer["chosen"]["worst"])) for run, peer in runs
    ]
    share = sum(run[strategy]["seconds"] for run, _ in runs) / sum(peer["seconds"] for _, peer in runs)
    return [
        case.title,
        f"{np.mean(worst):.3f} of {np.mean(bound):.3f}{'' if np.mean(worst) <= np.mean(bound) else ', MISSED'}",
        f"{kept} of {len(runs)}",
        f"{shown(behind, 2)}{'' if mean(behind)[0] <= 0.5 else ', MISSED'}",
        f"{share:.3f}{'' if share <= 0.1 else ', MISSED'}",
    ]


def write_page(runs: dict[tuple[str, str], list[tuple[dict[str, Any], dict[str, Any]]]], n_seeds: int) -> None:
    say("# More than two groups")
    say()
    say("Made by `make benchmark-groups` (`python benchmarks/several_groups.py`).")
    say(f"{VERSIONS}, fairlearn {fairlearn.__version__}.")
    say()
    say(
        f"Seeds 0 to {n_seeds - 1}. Of all rows, 60% train a forest of {N_TREES} trees and score its leaves, 20% "
        f"choose the step for epsilon {EPSILON} (demographic parity), 20% are the test rows that every number is of. "
        f"Groups with fewer than {MIN_GROUP_ROWS} selection rows are not bounded, and stand below. Adult: at least 5 "
        "rows a leaf; COMPAS and Bank: depth 7, and on Bank classes are balanced and it is balanced accuracy. "
        f"{PEER} gets the same forest, all rows that are not test rows, groups of few rows put together, the bound "
        f"{EPSILON / 2} on the distance of each group from all people, which bounds each two by {EPSILON}, and on Bank "
        "costs of errors by which both classes weigh the same; its decisions are random, and what is given is their "
        "mean. ± is the standard error over the seeds; seconds are of one core, after training, and for "
        f"{PEER}, which trains many forests, of all; they are rough where a machine has other work to do."
    )
    say()
    for features in FEATURES:
        title = "among the features" if features == "with" else "not among the features"
        say(f"## The sensitive columns {title}")
        say()
        rows = [row for name in CASES if (name, features) in runs for row in report(name, runs[name, features])]
        head = ["", "", "largest difference", "two errors of it", "met where chosen", "accuracy", "seconds"]
        table(head, rows)
        say(
            "Bars, for shifting: the largest difference at most epsilon and two standard errors of that pair, on "
            f"average and for how many seeds; points of accuracy behind {PEER} where the path is as fair on the test "
            "rows, at most 0.5; its time as a share, at most 0.1."
        )
        say()
        table(
            ["", "largest difference", "seeds", "points behind", "share of time"],
            [judge(name, runs[name, features]) for name in CASES if (name, features) in runs],
        )
    say("## Groups that are not bounded")
    say()
    for name in dict.fromkeys(name for name, _ in runs):
        small: dict[str, list[int]] = {}
        for run, _ in runs[name, FEATURES[0]]:
            for group, n in run["small"].items():
                small.setdefault(group, []).append(n)
        listed = ", ".join(f"{group} ({min(n)} to {max(n)} selection rows)" for group, n in sorted(small.items()))
        say(f"- {CASES[name].title}: {listed or 'none'}.")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two seeds, of COMPAS and of Adult by sex")
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--runs", type=Path, default=Path(".runs/several_groups"))
    parser.add_argument("--out", type=Path, default=None)
    return parser.parse_args()


if __name__ == "__main__":
    asked = parse()
    asked.runs.mkdir(parents=True, exist_ok=True)
    cases = ["adult-sex", "compas-sex-race"] if asked.quick else list(CASES)
    n_seeds = 2 if asked.quick else asked.seeds
    jobs = [
        (method, name, features, seed)
        for features in FEATURES
        for seed in range(n_seeds)
        for name in cases
        for method in RUNS
    ]
    made = Parallel(n_jobs=2, backend="multiprocessing")(delayed(make_run)(asked.runs, *job) for job in jobs)
    found = dict(zip(jobs, made, strict=True))
    write_page(
        {
            (name, features): [
                (found["eifffel", name, features, seed], found[PEER, name, features, seed]) for seed in range(n_seeds)
            ]
            for features in FEATURES
            for name in cases
        },
        n_seeds,
    )
    save(asked.out)
