"""What a path costs, as ratios measured in one run: to `predict`, to `fit`, and to the algorithm run literally.

    python benchmarks/core.py [--quick] [--out FILE]

The paper's data are read from the folder that EIFFFEL_DATA names; without it only the synthetic part runs.
"""

import argparse
import copy
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import Bunch

from eifffel import DiscriminationAwareForestClassifier, trace_path
from eifffel.datasets import make_biased_classification
from eifffel.ensembles import EnsembleView
from page import VERSIONS, save, say
from reproduction.protocol import EXPERIMENTS
from stages import say_stages

N_JOBS = 2


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


@contextmanager
def moment_of_leaf_indices():
    """Notes when the leaves have been read, the trees traversed and the result checked against the model."""
    verify = EnsembleView.verify
    moments: list[float] = []

    def noted(self, *args):
        verify(self, *args)
        moments.append(time.perf_counter())

    EnsembleView.verify = noted
    try:
        yield moments
    finally:
        EnsembleView.verify = verify


class PeakMemory:
    """Largest resident memory while the block runs, above what it was before, in bytes."""

    def __enter__(self):
        self.before = self.largest = self._resident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._stop.set()
        self._thread.join()
        self.above = self.largest - self.before

    def _watch(self):
        while not self._stop.wait(0.002):
            self.largest = max(self.largest, self._resident())

    @staticmethod
    def _resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def training_rows(people: Bunch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The 80% of the rows that the paper trains on."""
    X, y, s = people.data.to_numpy(), people.target.to_numpy(), people.sensitive.to_numpy()
    train = np.random.RandomState(0).permutation(len(y))[: int(0.8 * len(y))]
    return X[train], y[train], s[train]


def make_synthetic(n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The built-in applicants with ten more columns of noise: 20 features."""
    people = make_biased_classification(n_rows, random_state=0)
    noise = np.random.RandomState(1).normal(size=(n_rows, 10))
    return np.hstack([people.data, noise]), people.target, people.sensitive


def seconds_per_literal_flip(forest, X, y, s, n_flips: int = 5) -> float:
    """One turn of the literal loop: flip a leaf, predict with the forest, measure discrimination and accuracy."""
    forest = copy.deepcopy(forest)

    def turn():
        value = forest.estimators_[0].tree_.value
        value[-1, 0] = value[-1, 0, ::-1].copy()
        decision = forest.predict(X)
        return decision[s == 1].mean() - decision[s == 0].mean(), (decision == y).mean()

    return statistics.median(seconds(turn) for _ in range(n_flips))


def compare(name: str, forest, X, y, s, fit_seconds: float, repeats: int) -> None:
    n_leaves = sum(tree.get_n_leaves() for tree in forest.estimators_)
    say(f"## {name}")
    say()
    say(f"{X.shape[0]:,} rows x {X.shape[1]} features, {len(forest.estimators_)} trees, {n_leaves:,} leaves;")
    say(f"n_jobs={N_JOBS} throughout; medians of {repeats} turns, in each of which predict and both paths run.")
    say("From the leaf indices on: once the leaves are read, the trees traversed and both checked against the model.")
    say()
    predict, total, rest = [], {"leaf": [], "tree": []}, {"leaf": [], "tree": []}
    paths = {}
    for _ in range(repeats):
        predict.append(seconds(lambda: forest.predict(X)))
        for strategy in total:
            with moment_of_leaf_indices() as moments:
                begin = time.perf_counter()
                paths[strategy] = trace_path(forest, X, y, sensitive_features=s, strategy=strategy, n_jobs=N_JOBS)
                end = time.perf_counter()
            total[strategy].append(end - begin)
            rest[strategy].append(end - moments[0])
    flip_seconds = seconds_per_literal_flip(forest, X, y, s)
    say(f"predict {statistics.median(predict):.3f} s, fit {fit_seconds:.1f} s, one literal flip {flip_seconds:.3f} s")
    say()
    say("| | complete LF path | complete TF path |")
    say("|---|---|---|")

    def row(label: str, cell: Callable[[str], str]) -> None:
        say(f"| {label} | {cell('leaf')} | {cell('tree')} |")

    def ratio(times: list[float]) -> str:
        return f"{statistics.median(t / p for t, p in zip(times, predict, strict=True)):.2f}"

    row("steps", lambda k: f"{paths[k].n_steps:,}")
    row("flips", lambda k: f"{len(paths[k].order.leaf):,}")
    row("seconds", lambda k: f"{statistics.median(total[k]):.3f}")
    row("times one predict, leaf indices included", lambda k: ratio(total[k]))
    row("times one predict, from the leaf indices on", lambda k: ratio(rest[k]))
    row("times one fit", lambda k: f"{statistics.median(total[k]) / fit_seconds:.3f}")
    row("literal steps to epsilon 0.01", lambda k: f"{paths[k].select(epsilon=0.01, rule='paper').step:,}")
    row(
        "literal algorithm to epsilon 0.01, times the complete path",
        lambda k: (
            f"{paths[k].select(epsilon=0.01, rule='paper').step * flip_seconds / statistics.median(total[k]):,.0f}"
        ),
    )
    row(
        "literal algorithm, complete, times the complete path",
        lambda k: f"{paths[k].n_steps * flip_seconds / statistics.median(total[k]):,.0f}",
    )
    say()


def grow(name: str, X, y, s, repeats: int, **options) -> None:
    """What discrimination-aware splits cost: the same forest with and without the added term."""
    plain, aware = [], []
    for seed in range(repeats):
        given = {"n_estimators": 100, "random_state": seed, "n_jobs": N_JOBS, **options}
        forest = RandomForestClassifier(criterion="entropy", **given)
        plain.append(seconds(lambda forest=forest: forest.fit(X, y)))
        starred = DiscriminationAwareForestClassifier(**given)
        aware.append(seconds(lambda starred=starred: starred.fit(X, y, sensitive_features=s)))
    ratio = statistics.median(a / p for a, p in zip(aware, plain, strict=True))
    leaves = [sum(tree.get_n_leaves() for tree in model.estimators_) for model in (forest, starred)]
    say(
        f"| {name} | {len(y):,} | {statistics.median(plain):.2f} | {statistics.median(aware):.2f} | {ratio:.2f} | "
        f"{leaves[0]:,} | {leaves[1]:,} |"
    )


FIRST_PATHS = """
import time
from sklearn.ensemble import RandomForestClassifier
from eifffel import DiscriminationAwareForestClassifier, trace_path
from eifffel.datasets import make_biased_classification
people = make_biased_classification(4000, random_state=0)
spent = 0.0
for depth in (3, None):  # leaf indices of 8 and of 16 bits
    model = RandomForestClassifier(2, max_depth=depth, random_state=0).fit(people.data, people.target)
    for turn in (0, 1):
        begin = time.perf_counter()
        trace_path(model, people.data, people.target, sensitive_features=people.sensitive)
        spent += (time.perf_counter() - begin) * (1 if turn == 0 else -1)
print(spent)
"""


def first_path_seconds(cache: str) -> float:
    """What the first path of each index size costs more than the second, in a process of its own."""
    process = subprocess.run(
        [sys.executable, "-c", FIRST_PATHS],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(process.stdout)


def slope(sizes: list[int], times: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def scale(forest, X, y, s, repeats: int) -> None:
    say("## Growth")
    say()

    def path_seconds(model, n_rows: int) -> float:
        rows = slice(0, n_rows)
        return statistics.median(
            seconds(lambda: trace_path(model, X[rows], y[rows], sensitive_features=s[rows], n_jobs=N_JOBS))
            for _ in range(repeats)
        )

    def first_trees(n_trees: int):
        part = copy.copy(forest)
        part.estimators_ = forest.estimators_[:n_trees]
        part.n_estimators = n_trees
        return part

    n_rows = [len(y) // 10, len(y) * 3 // 10, len(y)]
    by_rows = [path_seconds(forest, n) for n in n_rows]
    n_trees = [25, 50, 100]
    by_trees = [path_seconds(first_trees(n), len(y)) for n in n_trees]
    say("| what grows | seconds of the complete LF path | slope of log time on log size |")
    say("|---|---|---|")
    for what, sizes, times in (("rows", n_rows, by_rows), ("trees", n_trees, by_trees)):
        cells = ", ".join(f"{size:,}: {t:.2f}" for size, t in zip(sizes, times, strict=True))
        say(f"| {what} | {cells} | {slope(sizes, times):.2f} |")
    say()
    with PeakMemory() as memory:
        trace_path(forest, X, y, sensitive_features=s, n_jobs=N_JOBS)
    say(f"Peak memory above the model and X, {len(y):,} rows: {memory.above / 2**30:.2f} GiB.")
    say()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer turns")
    parser.add_argument("--out", type=Path, help="also write what is printed to this file")
    options = parser.parse_args()

    say("# What a path costs")
    say()
    say(f"{VERSIONS}, NumPy {np.__version__}, {os.cpu_count()} cores; made by `make benchmark`.")
    say()
    with tempfile.TemporaryDirectory() as cache:
        compiling, loading = first_path_seconds(cache), first_path_seconds(cache)
    say(
        f"Compiling the kernels for leaf indices of 8 and 16 bits into an empty cache on disk took {compiling:.1f} s; "
        f"a new process then loads them in {loading:.2f} s. The times below are without either."
    )
    say()

    if "EIFFFEL_DATA" in os.environ:
        X, y, s = training_rows(EXPERIMENTS["adult"].fetch())
        forest = RandomForestClassifier(100, random_state=0, n_jobs=N_JOBS)
        fit_seconds = seconds(lambda: forest.fit(X, y))
        trace_path(forest, X, y, sensitive_features=s)
        compare("Adult, 80% split, unlimited trees", forest, X, y, s, fit_seconds, repeats=5 if options.quick else 11)
        alone = copy.copy(forest).set_params(n_jobs=1)
        predict = statistics.median(seconds(lambda: alone.predict(X)) for _ in range(5))
        say_stages(
            lambda: trace_path(alone, X, y, sensitive_features=s, strategy="leaf", n_jobs=1), predict, "one predict"
        )
    else:
        say("Adult: NOT MEASURED, EIFFFEL_DATA is not set.")
        say()

    n_rows = 100_000 if options.quick else 1_000_000
    X, y, s = make_synthetic(n_rows)
    forest = RandomForestClassifier(100, max_depth=12, random_state=0, n_jobs=N_JOBS)
    fit_seconds = seconds(lambda: forest.fit(X, y))
    compare("Synthetic, depth 12", forest, X, y, s, fit_seconds, repeats=3)
    scale(forest, X, y, s, repeats=3)

    say("## Growing discrimination-aware forests")
    say()
    say(f"100 trees, n_jobs={N_JOBS}, medians of 3 seeds, in each of which both forests grow.")
    say()
    say("| data | rows | entropy forest, s | discrimination-aware, s | ratio | leaves of the first | of the second |")
    say("|---|---|---|---|---|---|---|")
    if "EIFFFEL_DATA" in os.environ:
        for name, experiment in EXPERIMENTS.items():
            grow(f"{name}, as in the paper", *training_rows(experiment.fetch()), repeats=3, **experiment.forest)
    part = slice(0, 100_000)
    grow("synthetic, depth 12", X[part], y[part], s[part], repeats=3, max_depth=12)
    grow("synthetic, unlimited", X[part], y[part], s[part], repeats=3)
    say()
    save(options.out)


if __name__ == "__main__":
    main()
