"""One run: every method on one split of one data set, measured on the test rows."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from eifffel import ConstraintNotMetWarning, DiscriminationAwareForestClassifier, baselines, trace_path
from eifffel.metrics import METRICS, selection_rate
from reproduction import protocol


@dataclass(frozen=True)
class MethodOutcome:
    """The outcome of one method with one bound on the test rows of one split: a row of the results.

    Attributes
    ----------
    data, features, seed
        Which run: the data set, whether the sensitive column is among the features, and the seed of split and forests.
    method, chosen_on
        ``chosen_on`` is "training" or "held-out": the rows that a step or threshold is chosen on. The forests of
        "held-out" are trained on the other three quarters of the training rows.
    epsilon, alpha : float or None
        The bounds; DFRF's rho stands under epsilon.
    met : bool or None
        Whether the bounds were met on the rows chosen on, where the method says so.
    n_flips : int or None
    accuracy, balanced_accuracy, discrimination, unprivileged_rate, privileged_rate : float
        On the test rows; privileged is the group that the labels favour.
    """

    data: str
    features: str
    seed: int
    method: str
    chosen_on: str
    epsilon: float | None
    alpha: float | None
    met: bool | None
    n_flips: int | None
    accuracy: float
    balanced_accuracy: float
    discrimination: float
    unprivileged_rate: float
    privileged_rate: float


@dataclass(frozen=True, eq=False)
class MethodDecisions:
    """A method with its bounds, and the test rows that it decides favourably, per group and label."""

    method: str
    chosen_on: str
    favorable: np.ndarray
    epsilon: float | None = None
    alpha: float | None = None
    met: bool | None = None
    n_flips: int | None = None


@dataclass(frozen=True, eq=False)
class RunSplit:
    """The rows of one run. ``group`` is 1 for the group that the labels favour."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray
    sensitive_columns: list[int]
    train: np.ndarray
    test: np.ndarray
    fitted_on: np.ndarray
    held_out: np.ndarray

    def rows(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features, labels and groups of these rows."""
        return self.X[which], self.y[which], self.group[which]

    def count(self, favorable: np.ndarray) -> np.ndarray:
        """Test rows decided favourably, or their expected number, per group and label."""
        cell = 2 * self.group[self.test] + self.y[self.test]
        return np.bincount(cell, favorable, minlength=4).reshape(2, 2)


def split_people(people: Bunch, features: str, seed: int) -> RunSplit:
    """Split the rows, stratified by group and label: 20% are test rows, and of the others 25% are held out."""
    data, sensitive_columns = people.data, people.sensitive_columns
    if features == protocol.WITHOUT:
        data, sensitive_columns = data.drop(columns=sensitive_columns), []
    y, group = people.target.to_numpy(), people.sensitive.to_numpy()
    if y[group == 0].mean() > y[group == 1].mean():
        group = 1 - group
    cell = 2 * group + y
    train, test = train_test_split(np.arange(len(y)), test_size=protocol.TEST_SIZE, random_state=seed, stratify=cell)
    fitted_on, held_out = train_test_split(
        train, test_size=protocol.HELD_OUT_SIZE, random_state=seed, stratify=cell[train]
    )
    places = [data.columns.get_loc(column) for column in sensitive_columns]
    return RunSplit(data.to_numpy(), y, group, places, train, test, fitted_on, held_out)


def grow_plain(experiment: protocol.Experiment, split: RunSplit, rows: np.ndarray, **settings: Any) -> Any:
    """The plain forest of an experiment, trained on these rows."""
    forest = RandomForestClassifier(**{**experiment.forest, **settings}).fit(split.X[rows], split.y[rows])
    # With several jobs a forest adds the votes of its trees in an order of its own, with one in tree order.
    return forest.set_params(n_jobs=1)


def make_run(
    name: str, people: Bunch, features: str, seed: int, *, n_trees: int, n_jobs: int | None = None
) -> list[MethodOutcome]:
    """Run every method of the protocol on one split. The result depends only on the seed."""
    experiment = protocol.EXPERIMENTS[name]
    split = split_people(people, features, seed)
    totals = split.count(np.ones(len(split.test)))

    def outcome(decided: MethodDecisions) -> MethodOutcome:
        measured = {
            metric: float(METRICS[metric](decided.favorable, totals))
            for metric in ("accuracy", "balanced_accuracy", "discrimination")
        }
        unprivileged, privileged = selection_rate(decided.favorable, totals)
        return MethodOutcome(
            data=name,
            features=features,
            seed=seed,
            method=decided.method,
            chosen_on=decided.chosen_on,
            epsilon=decided.epsilon,
            alpha=decided.alpha,
            met=decided.met,
            n_flips=decided.n_flips,
            **measured,
            unprivileged_rate=float(unprivileged),
            privileged_rate=float(privileged),
        )

    def methods() -> Iterator[MethodDecisions]:
        settings = {"random_state": seed, "n_jobs": n_jobs}
        # Its authors take 50 trees, where a full run has 100 in the other forests.
        yield from _keep_fair_trees(experiment, split, n_estimators=n_trees // 2, **settings)
        settings["n_estimators"] = n_trees
        for chosen_on, fitted_on in ((protocol.TRAINING, split.train), (protocol.HELD_OUT, split.fitted_on)):
            X, y, group = split.rows(fitted_on)
            plain = grow_plain(experiment, split, fitted_on, **settings)
            aware = DiscriminationAwareForestClassifier(**{**experiment.forest, **settings})
            aware.fit(X, y, sensitive_features=group)
            yield MethodDecisions(protocol.PLAIN, chosen_on, split.count(plain.predict(split.X[split.test])))
            for flipping in protocol.FLIPPINGS:
                forest = aware if flipping.starred else plain
                yield from _flip(experiment, split, flipping, forest, chosen_on, n_jobs)
            yield from _adjust(split, plain, chosen_on)

    return [outcome(decided) for decided in methods()]


def _keep_fair_trees(experiment: protocol.Experiment, split: RunSplit, **settings: Any) -> Iterator[MethodDecisions]:
    X, y, group = split.rows(split.train)
    for rho in protocol.EPSILONS:
        fair = baselines.DFRF(rho=rho, sensitive_columns=split.sensitive_columns, **{**experiment.dfrf, **settings})
        favorable = fair.fit(X, y, sensitive_features=group).predict(split.X[split.test])
        yield MethodDecisions(protocol.DFRF, protocol.TRAINING, split.count(favorable), epsilon=rho)


def _flip(
    experiment: protocol.Experiment,
    split: RunSplit,
    flipping: protocol.Flipping,
    forest: Any,
    chosen_on: str,
    n_jobs: int | None,
) -> Iterator[MethodDecisions]:
    """All bounds from one path."""
    held_out = chosen_on == protocol.HELD_OUT
    X, y, group = split.rows(split.fitted_on if held_out else split.train)
    path = trace_path(
        forest,
        X,
        y,
        sensitive_features=group,
        strategy=flipping.strategy,
        select_on=split.rows(split.held_out) if held_out else None,
        privileged=1,
        n_jobs=n_jobs,
    )
    tested = path.measure(*split.rows(split.test), n_jobs=n_jobs).counts.favorable
    without_limit = ((epsilon, None) for epsilon in protocol.EPSILONS)
    for epsilon, alpha in chain(without_limit, ((protocol.ALPHA_EPSILON, alpha) for alpha in experiment.alphas)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintNotMetWarning)  # `met` records it
            choice = path.select(epsilon=epsilon, alpha=alpha, rule=protocol.RULES[chosen_on])
        n_flips = path.n_flips(choice.step)
        yield MethodDecisions(flipping.name, chosen_on, tested[choice.step], epsilon, alpha, choice.met, n_flips)


def _adjust(split: RunSplit, forest: Any, chosen_on: str) -> Iterator[MethodDecisions]:
    """The post-processing methods, which know the group of a test row."""
    held_out = chosen_on == protocol.HELD_OUT
    X, y, group = split.rows(split.held_out if held_out else split.train)
    X_test, _, group_test = split.rows(split.test)
    for name, method in (
        (protocol.EOP, baselines.CalibratedEqualizedOdds(FrozenEstimator(forest), cost="weighted")),
        (protocol.ODDS, baselines.EqualizedOdds(FrozenEstimator(forest))),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintNotMetWarning)  # it does what it can
            method.fit(X, y, sensitive_features=group)
        expected = method.favorable_probability(X_test, sensitive_features=group_test)
        yield MethodDecisions(name, chosen_on, split.count(expected))
    for epsilon in protocol.EPSILONS if held_out else ():
        thresholds = baselines.GroupThresholds(FrozenEstimator(forest), epsilon=epsilon)
        thresholds.fit(X, y, sensitive_features=group)
        favorable = thresholds.predict(X_test, sensitive_features=group_test)
        yield MethodDecisions(protocol.THRESHOLDS, chosen_on, split.count(favorable), epsilon=epsilon)
