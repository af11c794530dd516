"""Who takes part, in which environment, on how many splits, and what each is given."""

from dataclasses import dataclass
from pathlib import Path

EIFFFEL = "eifffel"
# A file of pinned versions for each library.
REQUIREMENTS = Path(__file__).parents[2] / "requirements" / "peers"
N_SEEDS = 5
# Of the data sets whose forests train quickly, for methods that are quick.
MANY = {"bank": 20, "compas": 20}

# What a method bounds.
RATES = "rates"
ERRORS = "errors"

AFTER = "the base forest's probabilities of the held-out rows"
INSTEAD = "training and held-out rows"
PATH = "base forest; scored on its training rows, steps chosen on the held-out rows; ten epsilons of one path"


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes
    ----------
    title, library : str
        The library is also the name of its environment, and of the file that has the method.
    given : str
        What it gets, and what is set.
    needs_group : bool
        Whether it has to be told the group of whom it decides about.
    seeds : dict
        How many splits of a data set, where it is not `N_SEEDS`.
    bounds : str or None
        What its settings bound.
    again : bool
        Whether it is a method that bounds rates, made to bound errors: it is compared by those alone.
    """

    title: str
    library: str
    given: str
    needs_group: bool = False
    seeds: dict[str, int] | None = None
    bounds: str | None = RATES
    again: bool = False

    def n_seeds(self, case: str, most: int | None = None) -> int:
        """How many splits of a case, at ``most``."""
        wanted = (self.seeds or {}).get(case, N_SEEDS)
        return wanted if most is None else min(wanted, most)

    @property
    def is_ours(self) -> bool:
        return self.title.startswith(EIFFFEL)


# By its name.
METHODS = {
    "best": Method(
        "eifffel, best of TF, LF, shift",
        EIFFFEL,
        "the three paths; for each epsilon the step of the path that is most accurate on the held-out rows",
        seeds=MANY,
    ),
    "tf": Method("eifffel TF", EIFFFEL, PATH, seeds=MANY),
    "lf": Method("eifffel LF", EIFFFEL, PATH, seeds=MANY),
    "tf-star": Method("eifffel TF*", EIFFFEL, "as TF, on a forest with discrimination-aware splits", seeds=MANY),
    "lf-star": Method("eifffel LF*", EIFFFEL, "as LF, on a forest with discrimination-aware splits", seeds=MANY),
    "shift": Method("eifffel shift", EIFFFEL, PATH, seeds=MANY),
    "shift-lightgbm": Method(
        "eifffel shift, LightGBM",
        EIFFFEL,
        "as shift, on LightGBM of as many trees, classes weighed on Bank",
        seeds=MANY,
    ),
    "shift-odds": Method(
        "eifffel shift, equalized odds", EIFFFEL, "as shift, of equalized odds", seeds=MANY, bounds=ERRORS, again=True
    ),
    "shift-lightgbm-odds": Method(
        "eifffel shift, LightGBM, equalized odds",
        EIFFFEL,
        "as shift on LightGBM, of equalized odds",
        seeds=MANY,
        bounds=ERRORS,
        again=True,
    ),
    "exponentiated-gradient": Method(
        "fairlearn ExponentiatedGradient",
        "fairlearn",
        f"{INSTEAD}; forests of the base forest's settings; `DemographicParity` bounded by 0, 0.05 and 0.1 times the "
        "larger group's share, which bounds the difference by these; on Bank costs by which both classes weigh the "
        "same; else its defaults. What is measured is the mean of its random decisions",
    ),
    "threshold-optimizer": Method(
        "fairlearn ThresholdOptimizer",
        "fairlearn",
        f"{AFTER}; `tol` of ten bounds; `objective` accuracy, on Bank balanced accuracy. The mean of its random "
        "decisions",
        needs_group=True,
        seeds=MANY,
    ),
    "threshold-optimizer-odds": Method(
        "fairlearn ThresholdOptimizer, equalized odds",
        "fairlearn",
        f"{AFTER}; equalized odds, on which it has no bound",
        needs_group=True,
        seeds=MANY,
        bounds=ERRORS,
        again=True,
    ),
    "oxonfair-inferred": Method(
        "OxonFair, groups inferred",
        "oxonfair",
        f"{AFTER}, and those of a second forest of the group, its classes balanced, trained on the same rows; "
        "ten bounds of one frontier; "
        "accuracy, on Bank balanced accuracy; its default threshold, or none where nobody's group is uncertain, with "
        "which it fails",
        seeds=MANY,
    ),
    "oxonfair": Method(
        "OxonFair, groups given",
        "oxonfair",
        f"{AFTER}; ten bounds of one frontier; accuracy, on Bank balanced accuracy",
        needs_group=True,
        seeds=MANY,
    ),
    "error-parity": Method(
        "error-parity",
        "error-parity",
        f"{AFTER}; `tolerance` of ten bounds on demographic parity; on Bank costs that balance the classes. "
        "The mean of 20 draws of its random decisions",
        needs_group=True,
        seeds=MANY,
    ),
    "error-parity-odds": Method(
        "error-parity, equalized odds",
        "error-parity",
        f"{AFTER}; `tolerance` of ten bounds on equalized odds, its default constraint",
        needs_group=True,
        seeds=MANY,
        bounds=ERRORS,
        again=True,
    ),
    "reject-option": Method(
        "aif360 RejectOption",
        "aif360",
        f"{AFTER}; four bounds on the statistical parity difference; balanced accuracy, the only objective of "
        "this class",
        needs_group=True,
    ),
    "equalized-odds": Method(
        "aif360 EqOdds",
        "aif360",
        f"{AFTER}; nothing to set. The mean of 20 draws of its random decisions",
        needs_group=True,
        seeds=MANY,
        bounds=ERRORS,
    ),
    "calibrated": Method(
        "aif360 CalibratedEqOdds",
        "aif360",
        f"{AFTER}; its three cost constraints. The mean of 20 draws of its random decisions",
        needs_group=True,
        seeds=MANY,
        bounds=ERRORS,
    ),
    "fair-trees": Method(
        "fair-trees",
        "fair-trees",
        f"{INSTEAD}; a forest of the base forest's settings; ten weights of fairness, `theta`, from 0 to 1",
        seeds=MANY,
        bounds=None,
    ),
    "fairgbm": Method(
        "FairGBM",
        "fairgbm",
        f"{INSTEAD}; as many trees as the base forest; its three constraints on error rates, each with four tolerances "
        "from 0 to 0.1 and two learning rates of multipliers; on Bank rows of the rare class repeated, for its bounds "
        "take no weights",
        seeds=MANY,
        bounds=ERRORS,
    ),
    "fairgbm-fewer": Method(
        "FairGBM, fewer rows",
        "fairgbm",
        "as FairGBM, on the rows alone that the models which eifffel edits were trained on",
        seeds=MANY,
        bounds=ERRORS,
        again=True,
    ),
    "dfrf": Method(
        "DFRF",
        EIFFFEL,
        f"{INSTEAD}; 50 trees and the reproduction's settings; nine bounds on the difference of a tree; classes "
        "weighed on Bank",
        seeds=MANY,
    ),
}

# Who takes part where rates are compared, and where error rates are.
BY_RATES = {name: method for name, method in METHODS.items() if not method.again}
BY_ERRORS = {name: method for name, method in METHODS.items() if method.bounds == ERRORS}


@dataclass(frozen=True)
class Contest:
    """Who takes part, on which splits.

    Attributes
    ----------
    methods : dict
    cases : list of str
    first_seed : int
    most_seeds : int or None
        At most so many splits of each case.
    """

    methods: dict[str, Method]
    cases: list[str]
    first_seed: int
    most_seeds: int | None

    def seeds(self, name: str, case: str) -> range:
        """The splits of a case that a method is run on."""
        return range(self.first_seed, self.first_seed + self.methods[name].n_seeds(case, self.most_seeds))
