"""Whether shifts of several groups should go along a curve: variants beside the line, by a rule written beforehand.

    python benchmarks/shift_groups.py [--quick] [--runs FOLDER] [--out FILE.md]

The rule is in docs/development/decisions.md, "Flips, shifts and their order". A run that is in the folder is not made
again. The paper's data are read from the folder that EIFFFEL_DATA names.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd

from eifffel import trace_path
from eifffel._utils.writing import write_whole
from eifffel.strategies import STRATEGIES, Strategy
from eifffel.strategies._prices import PricedRows
from page import VERSIONS, save, say, table
from several_groups import CASES, FEATURES, MIN_GROUP_ROWS, forest, load, measure, split
from shift_curve import BOOSTED, BOTH, FEEDBACK, FOREST, N_TREES, SEARCHED, Variant

sys.path.append(str(Path(__file__).parent / "peers"))
from measures import best_mixture

FIRST_SEED = 150
N_SEEDS = {"adult-race": 5, "adult-sex-race": 5, "compas-sex-race": 10, "bank-age": 10}
EPSILONS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2)
LEVELS = (0.02, 0.05, 0.1)
LINE = "line"


class BeyondNone(Variant):
    """A curve that goes on to twice the prices of no difference."""

    @property
    def title(self) -> str:
        return f"{self.fitted_to}; {self.feedback}"

    def find(self, people: PricedRows) -> np.ndarray:
        knots = super().find(people)
        return np.vstack([knots, 2 * knots[-1]])


VARIANTS = [BeyondNone(fitted_to, feedback, sweep=True) for fitted_to in (BOTH, SEARCHED) for feedback in FEEDBACK]
TITLES = [LINE, *(variant.title for variant in VARIANTS)]


def train(model: str, name: str, X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    balanced = CASES[name].balanced
    if model == FOREST:
        return forest(CASES[name], seed, **({"class_weight": "balanced"} if balanced else {})).fit(X, y)
    weight = 0.5 / np.where(y == 1, y.mean(), 1 - y.mean()) if balanced else np.ones(len(y))
    boosted = lightgbm.LGBMClassifier(n_estimators=N_TREES, random_state=seed, n_jobs=1, verbose=-1)
    return boosted.fit(X, y, sample_weight=weight)


def run(model: str, name: str, features: str, seed: int) -> dict[str, Any]:
    """Of each variant the largest difference and the metric on test rows at each bound, and whether it was met."""
    X, y, group = load(name, features)
    scored, held_out, test = split(y, seed)
    counts = pd.Series(group[held_out]).value_counts()
    bounded = sorted(counts.index[counts >= MIN_GROUP_ROWS])
    trained = train(model, name, X[scored], y[scored], seed)
    metric = "balanced_accuracy" if CASES[name].balanced else "accuracy"
    of_test = partial(measure, y[test], group[test], bounded=bounded)
    found: dict[str, Any] = {"alike": max(of_test(np.full(len(test), share))[metric] for share in (0.0, 1.0))}
    for title, variant in zip(TITLES, [None, *VARIANTS], strict=True):
        if variant is not None:
            STRATEGIES["variant"] = Strategy(variant.order, flips=False)
        path = trace_path(
            trained,
            X[scored],
            y[scored],
            sensitive_features=group[scored],
            strategy="shift" if variant is None else "variant",
            select_on=(X[held_out], y[held_out], group[held_out]),
            min_group_rows=MIN_GROUP_ROWS,
            n_jobs=1,
        )
        choices = [path.select(epsilon=epsilon) for epsilon in EPSILONS]
        decided = [of_test(path.model_at(choice).predict(X[test]).astype(float)) for choice in choices]
        found[title] = {
            "worst": [one["worst"] for one in decided],
            "value": [one[metric] for one in decided],
            "met": [bool(choice.met) for choice in choices],
        }
    return found


# The mean, how far ahead of the line, the error of that, and how often bounds are met.
Judged = tuple[float, float, float, float]
Reading = Callable[[np.ndarray, np.ndarray, float, float], float]


def by_mixtures(gap: np.ndarray, value: np.ndarray, alike: float, level: float) -> float:
    """The best mixture of two steps, or of one and one decision for all, as the peers page reads accuracy off."""
    return best_mixture(np.append(gap, 0.0)[:, None], np.append(value, alike), level)


def by_steps(gap: np.ndarray, value: np.ndarray, alike: float, level: float) -> float:
    """The best single step within the level; mixed with one decision for all only where there is none."""
    if (gap <= level).any():
        return float(value[gap <= level].max())
    share = level / gap.min()
    return float(share * value[gap.argmin()] + (1 - share) * alike)


def value_at(runs: list[dict[str, Any]], title: str, read: Reading = by_mixtures) -> np.ndarray:
    """The metric in percent where a variant discriminates as the line does at each level, in the mean over splits."""
    gap, value = (np.mean([one[title][what] for one in runs], axis=0) for what in ("worst", "value"))
    of_line = np.mean([one[LINE]["worst"] for one in runs], axis=0)
    alike = float(np.mean([one["alike"] for one in runs]))
    return np.array([100 * read(gap, value, alike, of_line[EPSILONS.index(level)]) for level in LEVELS])


def judge(results: dict[str, list[dict[str, Any]]], read: Reading = by_mixtures) -> dict[str, Judged]:
    """Of each variant the mean, how far ahead of the line it is, the error of that, and how often bounds are met."""
    found = {}
    for title in TITLES:
        ahead, variance, means, met = [], 0.0, [], []
        for runs in results.values():
            means.append(value_at(runs, title, read).mean())
            ahead.append(means[-1] - value_at(runs, LINE, read).mean())
            without = [runs[:i] + runs[i + 1 :] for i in range(len(runs))]
            left_out = [np.mean(value_at(some, title, read) - value_at(some, LINE, read)) for some in without]
            variance += (len(runs) - 1) * float(np.var(left_out)) / len(results) ** 2
            met.append(np.mean([[one[title]["met"][EPSILONS.index(level)] for level in LEVELS] for one in runs]))
        found[title] = float(np.mean(means)), float(np.mean(ahead)), float(np.sqrt(variance)), float(np.mean(met))
    return found


def winner_of(found: dict[str, Judged]) -> str:
    """By the rule: the line, unless the best of the curves is ahead of it by more than one standard error."""
    best = max(found, key=lambda title: found[title][0])
    return best if found[best][1] > found[best][2] else LINE


def write_page(results: dict[tuple[str, str, str], list[dict[str, Any]]], out: Path | None) -> None:
    say("# Whether shifts of several groups go along a curve")
    say()
    say(f"Made by `make benchmark-curve` (`python benchmarks/shift_groups.py`) with {VERSIONS}.")
    say()
    say(
        "The line and eight curves for demographic parity of several groups, by the rule in "
        "[decisions.md](../development/decisions.md): accuracy in percent (on Bank balanced) where a variant "
        "discriminates on the test rows as the line does for the bounds 0.02, 0.05 and 0.10, in the mean over cases "
        "and these bounds, how far that is ahead of the line, and how often they are met on the selection rows. "
        "Titles are: what leaves are fitted to; feedback from counts. ± is the standard error. Accuracy is read off as "
        "on the peers page, by the best mixture of two steps."
    )
    say()
    kinds = {"Both kinds of models together": (BOOSTED, FOREST), BOOSTED: (BOOSTED,), FOREST: (FOREST,)}
    for heading, models in kinds.items():
        found = judge({str(where): runs for where, runs in results.items() if where[0] in models})
        say(f"## {heading}")
        say()
        rows = [
            [
                title + (", chosen by the rule" if len(models) == 2 and title == winner_of(found) else ""),
                f"{found[title][0]:.2f}",
                f"{found[title][1]:+.2f} ± {found[title][2]:.2f}",
                f"{found[title][3]:.2f}",
            ]
            for title in sorted(found, key=lambda title: -found[title][0])
        ]
        table(["variant", "mean", "ahead of the line", "met"], rows)
    found = judge({str(where): runs for where, runs in results.items()}, by_steps)
    best = max(TITLES[1:], key=lambda title: found[title][1])
    say(
        "Read off by single steps, mixed with one decision for all only where none discriminates so little, the best "
        f"curve of both kinds of models together is *{best}*, {found[best][1]:+.2f} ± {found[best][2]:.2f} points "
        "ahead of the line."
    )
    say()
    say("## Case by case")
    say()
    say("How far each variant is ahead of the line, in points.")
    say()
    rows = [
        [
            f"{model}, {CASES[name].title}, {features}",
            *(f"{np.mean(value_at(runs, title) - value_at(runs, LINE)):+.2f}" for title in TITLES[1:]),
        ]
        for (model, name, features), runs in results.items()
    ]
    table(["", *TITLES[1:]], rows)
    save(out)


def all_runs(n_seeds: dict[str, int]) -> Iterator[tuple[str, str, str, int]]:
    for model in (BOOSTED, FOREST):
        for name, n in n_seeds.items():
            for features in FEATURES:
                for seed in range(FIRST_SEED, FIRST_SEED + n):
                    yield model, name, features, seed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two splits of COMPAS alone")
    parser.add_argument("--runs", type=Path, default=Path(".runs/shift_groups"))
    parser.add_argument("--out", type=Path, default=None)
    asked = parser.parse_args()
    asked.runs.mkdir(parents=True, exist_ok=True)
    results: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for *where, seed in all_runs({"compas-sex-race": 2} if asked.quick else N_SEEDS):
        file = asked.runs / f"{'-'.join(where)}-{seed}.json"
        if not file.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                write_whole(file, json.dumps(run(*where, seed)))
            print(file.stem, flush=True)
        results.setdefault(tuple(where), []).append(json.loads(file.read_text()))
    write_page(results, asked.out)


if __name__ == "__main__":
    main()
