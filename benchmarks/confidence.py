"""How often a bound that holds on the selection rows is broken in the population that they are drawn from.

    python benchmarks/confidence.py [--quick] [--draws N] [--jobs N] [--out FILE.md]

The population is known: rows that the model has not seen, from which selection rows are drawn with replacement. A
picture of what confidence costs is written beside FILE.md. Adult is read from the folder that EIFFFEL_DATA names.
"""

import argparse
import io
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fairlearn
import joblib
import matplotlib
import numpy as np
from fairlearn.postprocessing import ThresholdOptimizer
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from eifffel import (
    ConstraintNotMetWarning,
    FairnessPath,
    FewRowsWarning,
    IndistinctGroupsWarning,
    Selection,
    trace_path,
    view_ensemble,
)
from eifffel._utils.writing import write_whole
from eifffel.constraints import make_constraint
from eifffel.datasets import fetch_adult, make_biased_classification
from eifffel.intervals import difference_limit, score_limit
from eifffel.leaves.placing import PlacedRows
from eifffel.rows.coding import Coding
from eifffel.rows.groups import Groups
from eifffel.selection.measure import StepCounts
from eifffel.strategies import ShiftOrder
from page import VERSIONS, save, say, table

GROUPS = Groups(((0, 1),), ("",), privileged=(1,))
PARITY = make_constraint("demographic_parity", GROUPS)
SIZES = (500, 2_000, 10_000, 30_000)  # as far as a population has so many
MORE_SIZES = (1_000, 5_000, 20_000)  # for the curve of what it costs, with a fifth of the draws
EPSILONS = (0.02, 0.05)
CURVE_EPSILON = 0.05
CONFIDENCE = 0.95
STRATEGIES = {"leaf": "LF", "tree": "TF", "shift": "shift"}
PEER = "ThresholdOptimizer"
PLAIN, CERTIFIED = "without confidence", f"confidence={CONFIDENCE:g}"
UPPER = CERTIFIED + ', sides="upper"'
# How a step is chosen, and how often in 100 draws it may break the bound.
WAYS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    CERTIFIED: {"confidence": CONFIDENCE},
    UPPER: {"confidence": CONFIDENCE, "sides": "upper"},
}
N_TREES = 100
FOREST = {"n_estimators": N_TREES, "min_samples_leaf": 5, "random_state": 0, "n_jobs": 2}
SEED = 0
# Sizes and rates of the unprivileged and the privileged group: as in the tables, and some that are harder.
LEVELS = (
    ((163, 337), (0.12, 0.17)),
    ((163, 337), (0.12, 0.14)),
    ((652, 1348), (0.12, 0.17)),
    ((200, 300), (0.39, 0.44)),
    ((800, 1200), (0.39, 0.44)),
    ((30, 470), (0.25, 0.30)),
    ((60, 300), (0.03, 0.08)),
    ((30, 300), (0.02, 0.07)),
    ((30, 3000), (0.93, 0.98)),
    ((41, 300), (0.95, 1.00)),
    ((200, 300), (0.98, 1.00)),
    ((1000, 30), (0.02, 0.07)),
)


@dataclass(frozen=True)
class Choice:
    """What one choice from one draw does to the population: a row of the results."""

    method: str
    how: str
    epsilon: float
    met: bool
    discrimination: float
    accuracy: float

    @property
    def outside(self) -> bool:
        """Whether the population is beyond the bound, in the directions that it was asked for."""
        return (self.discrimination if self.how == UPPER else abs(self.discrimination)) > self.epsilon

    @property
    def broken(self) -> bool:
        """Whether that is so though the bound was said to be met."""
        return self.met and self.outside


@dataclass(frozen=True, eq=False)
class Population:
    """A fitted forest, its paths, and people whom neither has seen; group 1 is privileged."""

    title: str
    X: np.ndarray
    y: np.ndarray
    group: np.ndarray
    score: np.ndarray
    paths: dict[str, FairnessPath]
    n_trained: int

    def measure(self, favorable: np.ndarray) -> tuple[float, float]:
        """Discrimination and accuracy of decisions, or of their probabilities."""
        rates = [favorable[self.group == g].mean() for g in (0, 1)]
        return float(rates[1] - rates[0]), float(np.where(self.y == 1, favorable, 1 - favorable).mean())


class Scored(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose scores are known: they are the only feature."""

    classes_ = np.array([0, 1])

    def fit(self, X: Any, y: Any) -> "Scored":
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> np.ndarray:
        score = np.asarray(X)[:, 0]
        return np.column_stack([1 - score, score])


def make_population(
    title: str, train: tuple[np.ndarray, ...], people: tuple[np.ndarray, ...], n_trees: int
) -> Population:
    """Train a forest and trace its paths, both on the training rows alone."""
    forest = RandomForestClassifier(**{**FOREST, "n_estimators": n_trees}).fit(*train[:2]).set_params(n_jobs=1)
    X, y, group = people
    paths = {}
    for strategy in STRATEGIES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndistinctGroupsWarning)
            # The rows of select_on have no say in the order of edits: the draws take their place.
            paths[strategy] = trace_path(
                forest, *train[:2], sensitive_features=train[2], strategy=strategy, select_on=people
            )
    privileged = paths["leaf"].privileged
    score = forest.predict_proba(X)[:, 1]
    return Population(title, X, y, (group == privileged).astype(np.uint8), score, paths, len(train[1]))


def make_synthetic(quick: bool) -> Population:
    n_train, n_people = (2_000, 20_000) if quick else (10_000, 100_000)
    parts = [make_biased_classification(n, random_state=seed) for seed, n in enumerate((n_train, n_people))]
    train, people = ((part.data, part.target, part.sensitive) for part in parts)
    return make_population("Synthetic", train, people, 20 if quick else N_TREES)


def make_adult(quick: bool) -> Population:
    adult = fetch_adult()
    X = adult.data.drop(columns=adult.sensitive_columns).to_numpy()
    y, group = adult.target.to_numpy(), adult.sensitive.to_numpy()
    a, b = train_test_split(np.arange(len(y)), test_size=0.5, random_state=SEED, stratify=2 * group + y)
    if quick:
        a = a[:4_000]
    return make_population("Adult", (X[a], y[a], group[a]), (X[b], y[b], group[b]), 20 if quick else N_TREES)


DATA: dict[str, Callable[[bool], Population]] = {"synthetic": make_synthetic, "adult": make_adult}


def choose(path: FairnessPath) -> Iterator[tuple[str, Selection]]:
    """The step for each bound, without and with confidence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintNotMetWarning)
        warnings.simplefilter("ignore", FewRowsWarning)
        for epsilon in EPSILONS:
            for how, asked in WAYS.items():
                yield how, path.select(epsilon=epsilon, **asked)


def run_draws(people: Population, size: int, draws: range, peer: bool) -> list[Choice]:
    """Draw selection rows, choose, and measure the choice on the population."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fairlearn's and scikit-learn's own, in every draw
        return [choice for draw in draws for choice in _run_draw(people, size, draw, peer)]


def _run_draw(people: Population, size: int, draw: int, peer: bool) -> Iterator[Choice]:
    drawn = np.random.default_rng([SEED, size, draw]).integers(len(people.y), size=size)
    for strategy, path in people.paths.items():
        view = view_ensemble(path.model)
        place = _placed(people, path)
        part = PlacedRows(
            place.X[drawn], np.ascontiguousarray(place.index[:, drawn]), place.rows.take(drawn), place.name
        )
        order = path.order.on_rows(view, part)
        counts = StepCounts.of(order, view, part, 1, 0).path_counts(part.name, PARITY)
        chosen_from = replace(path, order=order, counts=counts, accuracy_counts=counts, rows_to_check=None, hashes=None)
        for how, selection in choose(chosen_from):
            if isinstance(order, ShiftOrder):
                start, pull = _lines(people, path)
                prices = order.prices_at(order.reach[[selection.step]])[0]
                discrimination, accuracy = people.measure(start > prices @ pull)
            else:
                discrimination, accuracy = path.discrimination[selection.step], path.accuracy[selection.step]
            yield Choice(
                STRATEGIES[strategy], how, selection.epsilon, selection.met, float(discrimination), float(accuracy)
            )
    for epsilon in EPSILONS if peer else ():
        yield Choice(PEER, f"tol={epsilon:g}", epsilon, True, *_run_peer(people, drawn, epsilon))


def _run_peer(people: Population, drawn: np.ndarray, epsilon: float) -> tuple[float, float]:
    """fairlearn's thresholds for each group, on the same forest and the same rows."""
    optimizer = ThresholdOptimizer(
        estimator=Scored(),
        constraints="demographic_parity",
        prefit=True,
        predict_method="predict_proba",
        tol=epsilon,
    )
    score = people.score[:, None]
    optimizer.fit(score[drawn], people.y[drawn], sensitive_features=people.group[drawn])
    return people.measure(optimizer._pmf_predict(score, sensitive_features=people.group)[:, 1])


# Of each population and path once in each process.
_KEPT: dict[tuple[str, str, str], Any] = {}


def _placed(people: Population, path: FairnessPath) -> PlacedRows:
    key = (people.title, path.strategy, "placed")
    if key not in _KEPT:
        view = view_ensemble(path.model)
        coding = Coding(view.classes, view.favorable, GROUPS)
        rows = coding.encode(people.X, people.y, people.group, rows="the population")
        _KEPT[key] = PlacedRows(people.X, view.apply(view.check_rows(people.X)), rows, "selection rows")
    return _KEPT[key]


def _lines(people: Population, path: FairnessPath) -> tuple[np.ndarray, np.ndarray]:
    key = (people.title, path.strategy, "lines")
    if key not in _KEPT:
        assert isinstance(path.order, ShiftOrder)
        view, index = view_ensemble(path.model), _placed(people, path).index
        pull = np.stack([view.sum_leaves(index, direction, n_jobs=1) for direction in path.order.directions])
        _KEPT[key] = view.row_scores(index, n_jobs=1), pull
    return _KEPT[key]


def draw_all(people: Population, sizes: dict[int, int], n_jobs: int) -> dict[int, list[Choice]]:
    """All draws of each size."""
    results = {}
    for size, n_draws in sizes.items():
        began = time.perf_counter()
        parts = np.array_split(np.arange(n_draws), 4 * n_jobs)
        done = joblib.Parallel(n_jobs=n_jobs)(
            joblib.delayed(run_draws)(people, size, range(part[0], part[-1] + 1), size in SIZES)
            for part in parts
            if len(part)
        )
        results[size] = [choice for part in done for choice in part]
        print(f"{people.title}: {n_draws} draws of {size} rows in {time.perf_counter() - began:.0f} s", flush=True)
    return results


def rate(hits: list[bool]) -> str:
    """A share in percent with its standard error."""
    share = statistics.fmean(hits)
    return f"{100 * share:.1f} ± {100 * (share * (1 - share) / len(hits)) ** 0.5:.1f}"


def mean(values: list[float], digits: int = 4) -> str:
    return f"{statistics.fmean(values):.{digits}f}" if values else "n/a"


def say_table(results: dict[int, list[Choice]], epsilon: float) -> None:
    """How often the bound is broken, and what the choice does to the population."""
    head = ["selection rows", "method", "chosen", "met, %", "met and broken, % of all draws", "of those met, %"]
    rows = []
    for size in sorted(set(SIZES) & set(results)):
        of_size = [choice for choice in results[size] if choice.epsilon == epsilon]
        for method in (*STRATEGIES.values(), PEER):
            for how in dict.fromkeys(choice.how for choice in of_size if choice.method == method):
                own = [choice for choice in of_size if (choice.method, choice.how) == (method, how)]
                kept = [choice for choice in own if choice.met]
                rows.append(
                    [
                        f"{size:,}",
                        method,
                        how,
                        f"{100 * len(kept) / len(own):.1f}",
                        rate([choice.broken for choice in own]),
                        rate([choice.outside for choice in kept]) if kept else "n/a",
                        mean([choice.discrimination for choice in kept], 3),
                        mean([choice.accuracy for choice in kept]),
                    ]
                )
    table([*head, "discrimination", "accuracy"], rows)


def say_costs(people: Population, results: dict[int, list[Choice]]) -> None:
    """Accuracy over the number of selection rows."""
    head = [f"{name}: {what}" for name in STRATEGIES.values() for what in ("met, %", "lost, points")]
    rows = []
    for size in sorted(results):
        for way in (CERTIFIED, UPPER):
            cells = []
            for name in STRATEGIES.values():
                own = [c for c in results[size] if c.method == name and c.epsilon == CURVE_EPSILON]
                plain, certified = ([c for c in own if c.how == how] for how in (PLAIN, way))
                lost = [100 * (a.accuracy - c.accuracy) for a, c in zip(plain, certified, strict=True) if c.met]
                error = statistics.stdev(lost) / len(lost) ** 0.5 if len(lost) > 1 else float("nan")
                cells.append(f"{100 * len(lost) / len(certified):.1f}")
                cells.append(f"{statistics.fmean(lost):.2f} ± {error:.2f}" if lost else "n/a")
            rows.append([f"{size:,}", way, *cells])
    table(["selection rows", "chosen", *head], rows)


def say_level() -> None:
    """How often the test by itself errs where the population is at the bound, by going through all outcomes."""
    say("| rows of the groups | rates | epsilon | the score test rejects, % | as it is used, % |")
    say("|---|---|---|---|---|")
    for n, rates in LEVELS:
        counts = [np.arange(size + 1) for size in n]
        chance = np.outer(*(binom.pmf(count, size, p) for count, size, p in zip(counts, n, rates, strict=True)))
        unprivileged, privileged = np.meshgrid(*counts, indexing="ij")
        likely = chance > 1e-9
        epsilon = round(rates[1] - rates[0], 6)
        rejected = []
        for limit in (score_limit, difference_limit):
            limits = limit(privileged[likely], n[1], unprivileged[likely], n[0], CONFIDENCE)
            rejected.append(f"{100 * chance[likely][limits <= epsilon].sum():.2f}")
        say(f"| {n[0]:,} and {n[1]:,} | {rates[0]:.0%} and {rates[1]:.0%} | {epsilon:g} | {' | '.join(rejected)} |")
    say()


def say_highest(shares: dict[str, list[bool]]) -> None:
    """The highest and the mean share of broken bounds, with confidence; each of ``shares`` is of one case."""
    worst = max(shares, key=lambda name: statistics.fmean(shares[name]))
    n_draws = len(shares[worst])
    mean_share = 100 * statistics.fmean(statistics.fmean(broken) for broken in shares.values())
    # P(the largest of m such counts <= k) = F(k)^m
    largest = binom.ppf(CONFIDENCE ** (1 / len(shares)), n_draws, 1 - CONFIDENCE) / n_draws
    say(
        f"The bar, set before: in at most {100 * (1 - CONFIDENCE):g}% of *all* draws is a bound met and the population "
        f"beyond it. Over the {len(shares)} cases with confidence it is {mean_share:.1f}% on average, and "
        f"{rate(shares[worst])}% in the worst, {worst}. If all shares were exactly {100 * (1 - CONFIDENCE):g}%, the "
        f"largest of so many independent cases of {n_draws:,} draws would be up to {100 * largest:.1f}% in 19 of 20 "
        f"such tables; of {sum(statistics.fmean(broken) > largest for broken in shares.values())} cases it is more."
    )
    say()


def find_shares(everything: dict[str, tuple[Population, dict[int, list[Choice]]]]) -> dict[str, list[bool]]:
    """Of each case with confidence, which draws broke the bound."""
    return {
        f"{name}, {how}, on {people.title}, {size:,} rows, epsilon {epsilon:g}": [
            c.broken for c in results[size] if (c.method, c.how, c.epsilon) == (name, how, epsilon)
        ]
        for people, results in everything.values()
        for size in sorted(set(SIZES) & set(results))
        for name in STRATEGIES.values()
        for how in (CERTIFIED, UPPER)
        for epsilon in EPSILONS
    }


def draw_curve(everything: dict[str, tuple[Population, dict[int, list[Choice]]]]) -> bytes:
    """What confidence costs, as a picture."""
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(everything), figsize=(5.2 * len(everything), 4.6), layout="constrained")
    colors = dict(zip(STRATEGIES.values(), ("#0072b2", "#d55e00", "#009e73"), strict=True))
    for ax, (people, results) in zip(np.atleast_1d(axes), everything.values(), strict=True):
        for name, marker in zip(STRATEGIES.values(), "os^", strict=True):
            for how, style in ((PLAIN, ":"), (CERTIFIED, "-"), (UPPER, "--")):
                points = []
                for size in sorted(results):
                    own = [c for c in results[size] if (c.method, c.how, c.epsilon) == (name, how, CURVE_EPSILON)]
                    kept = [c.accuracy for c in own if c.met]
                    if len(kept) > len(own) / 2:
                        points.append((size, statistics.fmean(kept)))
                ax.plot(
                    *(zip(*points, strict=True) if points else ((), ())),
                    style,
                    marker=marker,
                    markersize=5,
                    color=colors[name],
                    label=f"{name}, {how}",
                )
        ax.set_xscale("log")
        ax.set_title(people.title)
        ax.set_xlabel("selection rows")
        ax.grid(alpha=0.3)
    np.atleast_1d(axes)[0].set_ylabel(f"accuracy in the population, epsilon = {CURVE_EPSILON:g}")
    figure.legend(
        *np.atleast_1d(axes)[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small"
    )
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small forests and few draws, to see that it runs")
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    n_draws = 40 if given.quick else given.draws
    sizes = dict.fromkeys(SIZES, n_draws) | dict.fromkeys(MORE_SIZES, max(n_draws // 5, 8))
    everything = {}
    for name, make in DATA.items():
        people = make(given.quick)
        there = {size: n for size, n in sorted(sizes.items()) if size <= len(people.y)}
        everything[name] = (people, draw_all(people, there, given.jobs))

    say("# A bound that holds on people the model has not seen")
    say()
    say(
        f"Made by `make benchmark-confidence` with {VERSIONS}, fairlearn {fairlearn.__version__}; "
        f"{n_draws:,} draws for each number of selection rows."
    )
    say()
    say(
        f"A forest of {N_TREES if not given.quick else 20} trees (at least 5 rows a leaf) is trained on part A, which "
        "also scores its leaves. Part B is the population. Selection rows are drawn from it with replacement; a step "
        "is chosen on them by `path.select(epsilon=...)`, and by `path.select(epsilon=..., confidence=0.95)`; what "
        "that step does to the whole of part B is counted. The sensitive column is not among the features."
    )
    say()
    say(
        "*Met*: how often `met` is true. *Met and broken*: how often it is, and the population's discrimination is "
        "beyond the bound all the same, of all draws and of those in which it was met, with standard errors over the "
        'draws; in either direction, or with `sides="upper"` in that in which the privileged group is favoured. The '
        f"first of the two is what confidence limits, to {100 * (1 - CONFIDENCE):g}%. Discrimination and accuracy are "
        "means over the draws in which the bound was met. fairlearn's "
        "ThresholdOptimizer is fitted on the same rows and the scores of the same forest "
        "with `tol` = epsilon. It must know the group to predict, and draws its decisions; its expected rates are "
        "measured."
    )
    say()
    say_highest(find_shares(everything))
    for people, results in everything.values():
        say(f"## {people.title}: trained on {people.n_trained:,} rows, a population of {len(people.y):,}")
        say()
        before = people.paths["leaf"]
        say(
            f"The original forest has discrimination {before.discrimination[0]:.3f} and accuracy "
            f"{before.accuracy[0]:.4f} in the population."
        )
        say()
        for epsilon in EPSILONS:
            say(f"### epsilon = {epsilon:g}")
            say()
            say_table(results, epsilon)
    say("## What the guarantee costs")
    say()
    say(
        f"How often the bound is met, and points of accuracy in the population that `confidence={CONFIDENCE:g}` then "
        f"costs beside the step chosen without it on the same rows, at epsilon {CURVE_EPSILON:g}, with standard errors "
        f"({max(n_draws // 5, 8):,} draws for {', '.join(f'{size:,}' for size in MORE_SIZES)} rows)."
    )
    say()
    for people, results in everything.values():
        say(f"### {people.title}")
        say()
        say_costs(people, results)
    say("## The test by itself")
    say()
    say(
        "Where the population's discrimination is exactly epsilon the test should reject in at most "
        f"{100 * (1 - CONFIDENCE):g}% of the draws; summed over all outcomes, for some sizes and rates, with the score "
        "test alone, and as it is used, with exact limits where a group has few decisions of either kind:"
    )
    say()
    say_level()
    if given.out is not None:
        picture = given.out.with_suffix(".png")
        write_whole(picture, draw_curve(everything))
        say(f"![accuracy over selection rows]({picture.name})")
    save(given.out)


if __name__ == "__main__":
    main()
