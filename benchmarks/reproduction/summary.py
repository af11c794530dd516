"""Means, standard deviations and paired differences of the runs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reproduction import protocol

RUN = ["data", "features", "seed"]  # the columns that name a run
SETTING = ["data", "features", "method", "chosen_on", "epsilon", "alpha"]


@dataclass(frozen=True)
class SeedMean:
    """A mean over seeds. ``sd`` and ``error`` are NaN for one seed."""

    mean: float
    sd: float
    n: int

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.sd / np.sqrt(self.n)

    @property
    def differs(self) -> bool:
        """Whether it is away from 0 by more than two standard errors; never for one seed."""
        return bool(abs(self.mean) > 2 * self.error)


def mean_of_seeds(values: Any) -> SeedMean:
    """The mean of one value per seed."""
    array = np.asarray(values, dtype=np.float64)
    return SeedMean(float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else float("nan"), len(array))


class Runs:
    """The rows of ``runs.csv``, by setting.

    A seed counts once it has been run with the sensitive column among the features and without.

    Attributes
    ----------
    frame : DataFrame
        The rows of those, with three columns more: ``accuracy_loss`` and ``balanced_accuracy_loss`` against the plain
        forest trained on the same rows, and ``excess``, by how much the absolute discrimination is above epsilon (0
        where it is not).
    names : list of str
        The data sets that were run.
    n_seeds : dict
        How many seeds each of them has.
    n_left_out : int
        How many runs are left out, because the other one of their seed is missing.
    """

    def __init__(self, frame: Any):
        n_settings = frame.groupby(["data", "seed"])["features"].transform("nunique")
        self.n_left_out = len(frame.loc[n_settings < len(protocol.FEATURES), RUN].drop_duplicates())
        frame = frame[n_settings == len(protocol.FEATURES)].reset_index(drop=True)
        key = ["data", "features", "seed", "chosen_on"]
        plain = frame.loc[frame["method"] == protocol.PLAIN, [*key, "accuracy", "balanced_accuracy"]]
        both = frame.merge(plain, on=key, how="left", suffixes=("", "_plain"), validate="many_to_one")
        self.frame = frame.assign(
            accuracy_loss=(both["accuracy_plain"] - both["accuracy"]).to_numpy(),
            balanced_accuracy_loss=(both["balanced_accuracy_plain"] - both["balanced_accuracy"]).to_numpy(),
            excess=(both["discrimination"].abs() - both["epsilon"]).clip(lower=0).to_numpy(),
        )
        seeds = frame.groupby("data")["seed"].nunique()
        self.names = [name for name in protocol.EXPERIMENTS if (frame["data"] == name).any()]
        self.n_seeds = {name: int(seeds[name]) for name in self.names}
        by_seed = self.frame.set_index("seed").sort_index()
        self._none = by_seed.iloc[:0]
        self._by_setting = {
            tuple(None if value != value else value for value in setting): rows
            for setting, rows in by_seed.groupby(SETTING, dropna=False, sort=False)
        }

    def pick(
        self,
        *,
        data: str,
        method: str,
        chosen_on: str,
        features: str = protocol.WITH,
        epsilon: float | None = None,
        alpha: float | None = None,
    ) -> Any:
        """The rows of one setting, indexed by seed; none if it was not run."""
        setting = (data, features, method, chosen_on, epsilon, alpha)
        return self._by_setting.get(setting, self._none)
