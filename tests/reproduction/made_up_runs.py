"""Runs of the paper's protocol whose numbers are made up, and people to make real ones of."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from sklearn.utils import Bunch

from eifffel.datasets import make_biased_classification
from reproduction import protocol
from reproduction.results import COLUMN_TYPES
from reproduction.runs import MethodOutcome


def settings(data):
    """Every (method, chosen_on, epsilon, alpha) that a run of this data set has, plain forests first."""
    bounds = [(epsilon, None) for epsilon in protocol.EPSILONS]
    with_alpha = [(protocol.ALPHA_EPSILON, alpha) for alpha in protocol.EXPERIMENTS[data].alphas]
    for chosen_on in (protocol.TRAINING, protocol.HELD_OUT):
        yield protocol.PLAIN, chosen_on, None, None
        yield protocol.EOP, chosen_on, None, None
        yield protocol.ODDS, chosen_on, None, None
        for flipping in protocol.FLIPPINGS:
            yield from ((flipping.name, chosen_on, *bound) for bound in bounds + with_alpha)
    yield from ((protocol.DFRF, protocol.TRAINING, *bound) for bound in bounds)
    yield from ((protocol.THRESHOLDS, protocol.HELD_OUT, *bound) for bound in bounds)


def made_up_frame(numbers, data=("adult",), n_seeds=3):
    """A frame of runs; ``numbers(outcome)`` gives the changes to an outcome of zeros."""
    pandas = pytest.importorskip("pandas")
    outcomes = []
    for name in data:
        for features in protocol.FEATURES:
            for seed in range(n_seeds):
                for setting in settings(name):
                    zeros = MethodOutcome(name, features, seed, *setting, None, None, 0.0, 0.0, 0.0, 0.0, 0.0)
                    outcomes.append(replace(zeros, **numbers(zeros)))
    frame = pandas.DataFrame([asdict(outcome) for outcome in outcomes]).astype(COLUMN_TYPES)
    return frame.assign(trees=20, protocol="none", made_with="nothing")


def few_people(n_rows=400, seed=0, **options):
    """Synthetic people as a data set is given, the group among the features."""
    pandas = pytest.importorskip("pandas")
    people = make_biased_classification(n_rows, random_state=seed, **options)
    data = pandas.DataFrame(people.data, columns=people.feature_names)
    data.insert(3, "group", people.sensitive.astype(np.float64))
    return Bunch(
        data=data,
        target=pandas.Series(people.target),
        sensitive=pandas.Series(people.sensitive),
        feature_names=list(data),
        sensitive_columns=["group"],
    )


def use_few_people(monkeypatch, names=tuple(protocol.EXPERIMENTS)):
    """Let the experiments fetch a few synthetic people."""
    small = {
        name: replace(
            experiment, fetch=lambda data_home, verbose: few_people(), dfrf={"max_depth": 3, "max_rejected": 10**6}
        )
        for name, experiment in protocol.EXPERIMENTS.items()
        if name in names
    }
    monkeypatch.setattr(protocol, "EXPERIMENTS", small)
