"""The paper's experiments as data: data sets, forests, methods and bounds."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.utils import Bunch

from eifffel.datasets import fetch_adult, fetch_bank, fetch_compas

EPSILONS = (0.01, 0.05, 0.1, 0.15)
ALPHAS = (0.01, 0.02, 0.03, 0.05)
ALPHA_EPSILON = 0.01  # the epsilon that the alphas are run with
N_TREES = 100
TEST_SIZE = 0.2
HELD_OUT_SIZE = 0.25  # of the training rows

# Where a step or a threshold is chosen, and by which rule of `FairnessPath.select`.
TRAINING = "training"
HELD_OUT = "held-out"
RULES = {TRAINING: "paper", HELD_OUT: "first"}

# Whether the sensitive column is among the features.
WITH = "with"
WITHOUT = "without"
FEATURES = {WITH: "sensitive column among the features", WITHOUT: "sensitive column removed"}

PLAIN = "plain forest"
DFRF = "DFRF"
EOP = "EOP"  # calibrated equalized odds of weighted cost: the default of the code that the paper links to
ODDS = "EqualizedOdds"
THRESHOLDS = "GroupThresholds"


@dataclass(frozen=True)
class Flipping:
    """One of the paper's four: a strategy on a plain forest, or on one grown with discrimination-aware splits."""

    name: str
    strategy: str
    starred: bool


FLIPPINGS = (
    Flipping("EiFFFeL-TF", "tree", starred=False),
    Flipping("EiFFFeL-LF", "leaf", starred=False),
    Flipping("EiFFFeL-TF*", "tree", starred=True),
    Flipping("EiFFFeL-LF*", "leaf", starred=True),
)
LF = FLIPPINGS[1].name
METHODS = (PLAIN, DFRF, EOP, ODDS, *(flipping.name for flipping in FLIPPINGS), THRESHOLDS)


@dataclass(frozen=True)
class Experiment:
    """A data set and the forest whose accuracy and discrimination come near what the paper prints of its own.

    Attributes
    ----------
    title : str
    fetch : function
        Fetches the data set.
    forest : mapping
        Parameters of the forests; the paper does not give its own.
    n_seeds : int
        In a full run.
    objective : str
        The metric that the forest is trained for: balanced accuracy where classes are weighted.
    dfrf : mapping
        Parameters of DFRF where its authors' values are not the defaults.
    alphas : tuple of float
        Bounds on the drop of accuracy that are run as well.
    """

    title: str
    fetch: Callable[..., Bunch]
    forest: Mapping[str, Any]
    n_seeds: int
    objective: str = "accuracy"
    dfrf: Mapping[str, Any] = field(default_factory=dict)
    alphas: tuple[float, ...] = ()


EXPERIMENTS = {
    "adult": Experiment("Adult", fetch_adult, {}, n_seeds=10, alphas=ALPHAS),
    "bank": Experiment(
        "Bank",
        fetch_bank,
        {"max_depth": 7, "class_weight": "balanced"},
        n_seeds=20,
        objective="balanced_accuracy",
    ),
    "compas": Experiment(
        "COMPAS",
        fetch_compas,
        {"max_depth": 7, "max_features": 2},
        n_seeds=20,
        dfrf={"max_depth": 4, "min_samples_leaf": 1, "alpha": 5},
    ),
}


def fingerprint(name: str) -> str:
    """A hash of everything here that the runs of a data set depend on."""
    experiment = EXPERIMENTS[name]
    settings = (
        experiment.forest,
        experiment.dfrf,
        experiment.alphas,
        EPSILONS,
        ALPHA_EPSILON,
        TEST_SIZE,
        HELD_OUT_SIZE,
    )
    return hashlib.sha256(repr((settings, RULES, FLIPPINGS, METHODS)).encode()).hexdigest()[:12]
