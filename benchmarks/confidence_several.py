"""How often a bound on several differences, met with confidence, is broken in the population, and how often it is met.

    python benchmarks/confidence_several.py [--quick] [--draws N] [--jobs N] [--out FILE.md]

As confidence.py, for two attributes together and for equalized odds. Half of the selection rows look for a step, and
fit a shift, so that every draw is traced by itself.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier

from confidence import CERTIFIED, CONFIDENCE, PLAIN, Choice, rate, say_highest
from eifffel import FairnessPath, trace_path, view_ensemble
from eifffel.strategies import ShiftOrder
from page import VERSIONS, save, say, table

SIZES = (2_000, 12_000, 30_000)
EPSILONS = (0.05, 0.08)
# The bound of which it was said beforehand how often it is to be met, and in how large a population's differences are.
POWER_AT, NEAR, LEAST_POWER = (12_000, 0.08), 0.03, 0.6
N_TRAINED, N_PEOPLE = 10_000, 60_000
MODELS: dict[str, Callable[[], Any]] = {
    "shift": lambda: LGBMClassifier(n_estimators=100, num_leaves=15, random_state=0, n_jobs=1, verbose=-1),
    "leaf": lambda: RandomForestClassifier(50, min_samples_leaf=5, random_state=0, n_jobs=1),
}
NAMES = {"shift": "LightGBM, shift", "leaf": "forest, LF"}


@dataclass(frozen=True, eq=False)
class People:
    """People who are drawn: what is known of them, their labels, and their groups by attribute."""

    X: np.ndarray
    y: np.ndarray
    groups: dict[str, np.ndarray]

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        return self.X[rows], self.y[rows], {name: of[rows] for name, of in self.groups.items()}


def draw_people(n: int, seed: int, bias: float, proxy: float) -> People:
    """Merit is alike in all groups; labels favour some by ``bias``, and features differ between them by ``proxy``."""
    random = np.random.default_rng([43, seed])
    sex, origin = random.random(n) < 0.55, random.choice(3, n, p=(0.5, 0.3, 0.2))
    merit = random.normal(size=(n, 4))
    proxies = np.column_stack([sex, origin == 1, origin == 2]) * proxy + random.normal(size=(n, 3))
    score = merit @ (1.0, 0.8, 0.6, 0.4) + bias * (sex - 0.7 * (origin == 1) - 1.2 * (origin == 2))
    y = (score + random.normal(size=n) > 0.5).astype(int)
    X = np.column_stack([merit, proxies, random.normal(size=(n, 3))])
    return People(X, y, {"sex": np.array(["f", "m"])[sex.astype(int)], "origin": np.array(["a", "b", "c"])[origin]})


@dataclass(frozen=True)
class Case:
    """What is compared, by which attributes, and how people are drawn."""

    constraint: str
    attributes: tuple[str, ...]
    bias: float
    proxy: float


CASES = {
    "two attributes, of 3 and 2 groups": Case("demographic_parity", ("sex", "origin"), 1.2, 1.8),
    "equalized odds of two groups": Case("equalized_odds", ("sex",), 2.0, 2.5),
}


@dataclass(frozen=True, eq=False)
class Population:
    """A model, the people that it was trained on, and those whom neither it nor its edits have seen."""

    case: str
    strategy: str
    model: Any
    trained: People
    people: People

    def trace(self, select_on: tuple[Any, ...]) -> FairnessPath:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case = CASES[self.case]
            return trace_path(
                self.model,
                self.trained.X,
                self.trained.y,
                sensitive_features={name: self.trained.groups[name] for name in case.attributes},
                select_on=(*select_on[:2], {name: select_on[2][name] for name in case.attributes}),
                constraint=case.constraint,
                strategy=self.strategy,
            )


_KEPT: dict[tuple[str, str], Any] = {}


def keep(population: Population) -> tuple[Any, np.ndarray, FairnessPath]:
    """The view, the leaves of the population, and a path measured on it; once in each process."""
    key = (population.case, population.strategy)
    if key not in _KEPT:
        view, people = view_ensemble(population.model), population.people
        index = view.apply(view.check_rows(people.X))
        _KEPT[key] = view, index, population.trace((people.X, people.y, people.groups))
    return _KEPT[key]


def measure(population: Population, path: FairnessPath, step: int) -> tuple[float, float]:
    """The largest difference and the accuracy in the population at a step."""
    view, index, whole = keep(population)
    if not isinstance(path.order, ShiftOrder):  # whose edits are the same whatever was drawn
        return float(whole.discrimination[step]), float(whole.accuracy[step])
    pull = np.stack([view.sum_leaves(index, direction, n_jobs=1) for direction in path.order.directions])
    decided = view.row_scores(index, n_jobs=1) > path.order.prices_at(path.order.reach[[step]])[0] @ pull
    rows = whole.rows_to_check.rows
    favorable = rows.weigh_cells(decided)[None]
    worst = whole.constraint.worst(favorable, rows.weigh_cells())
    return float(worst.value[0]), float((decided == (population.people.y == 1)).mean())


def run_draws(population: Population, size: int, draws: range) -> list[Choice]:
    return [choice for draw in draws for choice in _run_draw(population, size, draw)]


def _run_draw(population: Population, size: int, draw: int) -> Iterator[Choice]:
    people = population.people
    drawn = np.random.default_rng([13, size, draw]).integers(len(people.y), size=size)
    path = population.trace(people.take(drawn))
    for epsilon in EPSILONS:
        for how, asked in ((PLAIN, {}), (CERTIFIED, {"confidence": CONFIDENCE})):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                selection = path.select(epsilon=epsilon, **asked)
            found = measure(population, path, selection.step)
            yield Choice(NAMES[population.strategy], how, epsilon, selection.met, *found)


def say_case(population: Population, results: dict[int, list[Choice]]) -> None:
    whole = keep(population)[2]
    best = int(np.argmin(whole.discrimination))
    say(f"### {NAMES[population.strategy]}")
    say()
    say(
        f"The original model has a largest difference of {whole.discrimination[0]:.3f} and accuracy "
        f"{whole.accuracy[0]:.4f} in the population. A path that is measured on all of it reaches "
        f"{whole.discrimination[best]:.4f}."
    )
    say()
    rows = []
    for size, choices in results.items():
        for epsilon in EPSILONS:
            plain = [c for c in choices if (c.how, c.epsilon) == (PLAIN, epsilon)]
            for how in (PLAIN, CERTIFIED):
                own = [c for c in choices if (c.how, c.epsilon) == (how, epsilon)]
                kept = [c for c in own if c.met]
                lost = [100 * (a.accuracy - c.accuracy) for a, c in zip(plain, own, strict=True) if c.met]
                rows.append(
                    [
                        f"{size:,}",
                        f"{epsilon:g}",
                        how,
                        f"{100 * len(kept) / len(own):.1f}",
                        rate([c.broken for c in own]),
                        rate([c.outside for c in kept]) if kept else "n/a",
                        f"{statistics.fmean(c.discrimination for c in kept):.3f}" if kept else "n/a",
                        f"{statistics.fmean(lost):.2f}" if lost and how == CERTIFIED else "",
                    ]
                )
    head = ["selection rows", "epsilon", "chosen", "met, %", "met and broken, % of all draws", "of those met, %"]
    table([*head, "largest difference", "lost, points"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few draws, to see that it runs")
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    n_draws = 6 if given.quick else given.draws
    everything = []
    for case, drawn in CASES.items():
        trained, people = (
            draw_people(n, seed, drawn.bias, drawn.proxy) for seed, n in enumerate((N_TRAINED, N_PEOPLE))
        )
        for strategy, make in MODELS.items():
            population = Population(case, strategy, make().fit(trained.X, trained.y), trained, people)
            results = {}
            for size in SIZES:
                began = time.perf_counter()
                done = joblib.Parallel(n_jobs=given.jobs)(
                    joblib.delayed(run_draws)(population, size, range(part[0], part[-1] + 1))
                    for part in np.array_split(np.arange(n_draws), 2 * given.jobs)
                    if len(part)
                )
                results[size] = [choice for part in done for choice in part]
                print(f"{case}, {strategy}: {size} rows in {time.perf_counter() - began:.0f} s", flush=True)
            everything.append((population, results))

    say("# A bound on several differences that holds on people the model has not seen")
    say()
    say(
        f"Made by `make benchmark-confidence` with {VERSIONS}; {n_draws:,} draws for each number of selection rows. "
        f"{N_TRAINED:,} made-up people train the model and score its leaves, {N_PEOPLE:,} are the population. From it "
        f"selection rows are drawn with replacement, the model is traced with them, and a step is chosen without and "
        f"with `confidence={CONFIDENCE:g}`. With it, half of the rows look for the step and the other half certifies "
        "it. Columns are those of [confidence.md](confidence.md). The groups are not among the features."
    )
    say()
    say_highest(
        {
            f"{NAMES[population.strategy]}, {population.case}, {size:,} rows, epsilon {epsilon:g}": [
                c.broken for c in choices if (c.how, c.epsilon) == (CERTIFIED, epsilon)
            ]
            for population, results in everything
            for size, choices in results.items()
            for epsilon in EPSILONS
        }
    )
    population, results = everything[0]
    size, epsilon = POWER_AT
    met = [c.met for c in results[size] if (c.how, c.epsilon) == (CERTIFIED, epsilon)]
    least = keep(population)[2].discrimination.min()
    say(
        f"The other bar, set before: of {population.case}, LightGBM, {size:,} rows and epsilon {epsilon:g}, where a "
        f"step exists whose differences are all below {NEAR:g} in the population (here {least:.4f}), a step is to be "
        f"certified in at least {100 * LEAST_POWER:g}% of the draws. One was in {rate(met)}%."
    )
    say()
    for case in CASES:
        say(f"## {case[0].upper()}{case[1:]}")
        say()
        for population, results in everything:
            if population.case == case:
                say_case(population, results)
    save(given.out)


if __name__ == "__main__":
    main()
