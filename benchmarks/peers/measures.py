"""Curves of discrimination and accuracy over the splits, and how far apart two of them are at equal discrimination."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from exchange import answer_file
from methods import RATES
from splits import base_file

from eifffel.metrics import METRICS

LEVELS = (0.01, 0.05, 0.10)


@dataclass(frozen=True, eq=False)
class Curve:
    """What a method does on the splits of one case, with each of its settings.

    Attributes
    ----------
    favorable : array of shape (n_splits, n_settings, 2, 2)
        Test rows decided favourably, by group and label.
    totals : array of shape (n_splits, 2, 2)
    fit, predict : arrays of shape (n_splits, n_settings)
        As ratios to the base forest's.
    bounds : list of float or None
    settings : list of str
    seconds : float
        Of one core, that training took, all splits and settings together.
    random : bool
    model : str
        The class of what comes out.
    """

    favorable: np.ndarray
    totals: np.ndarray
    fit: np.ndarray
    predict: np.ndarray
    bounds: list[float | None]
    settings: list[str]
    seconds: float
    random: bool
    model: str

    @property
    def n_splits(self) -> int:
        return len(self.favorable)

    def metric(self, name: str) -> np.ndarray:
        """Of each split and setting."""
        pairs = zip(self.favorable, self.totals, strict=True)
        return np.stack([METRICS[name](favorable, totals) for favorable, totals in pairs])

    def gaps(self, by: str) -> np.ndarray:
        """Differences between the groups, of each split and setting: one of rates, or one for each label."""
        if by == RATES:
            rates = self.favorable.sum(axis=-1) / self.totals.sum(axis=-1)[:, None]
            return (rates[..., 1] - rates[..., 0])[..., None]
        rates = self.favorable / self.totals[:, None]
        return np.asarray(rates[..., 1, :] - rates[..., 0, :])

    def constant(self, name: str) -> np.ndarray:
        """Of each split: of the better of deciding favourably for all, and for none."""
        nobody = np.zeros((2, 2))
        return np.array([max(METRICS[name](totals, totals), METRICS[name](nobody, totals)) for totals in self.totals])


@dataclass(frozen=True, eq=False)
class Measured:
    """A curve by one metric and one way of comparing groups."""

    curve: Curve
    metric: str
    by: str = RATES

    @cached_property
    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.curve.gaps(self.by), self.curve.metric(self.metric), self.curve.constant(self.metric)

    def points(self, splits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Discrimination and metric of each setting, in the mean over these splits.

        The size of the mean difference: the mean size of noise around no difference would not be 0.
        """
        gaps, values, _ = self._parts
        return np.abs(gaps[splits].mean(axis=0)).max(axis=-1), values[splits].mean(axis=0)

    @cached_property
    def lowest(self) -> float:
        """The least discrimination of a setting."""
        return float(self.points(np.arange(self.curve.n_splits))[0].min())

    def reaches(self, level: float) -> bool:
        """Whether some setting discriminates no more than that, or less than two standard errors more."""
        gaps = self._parts[0]
        n_splits = len(gaps)
        error = gaps.std(axis=0, ddof=1) / np.sqrt(n_splits) if n_splits > 1 else np.zeros(gaps.shape[1:])
        return bool((np.abs(gaps.mean(axis=0)) <= level + 2 * error).all(axis=-1).any())

    def at(self, level: float, splits: np.ndarray) -> float:
        """The metric at this discrimination: the best of settings, deciding alike for all, and mixtures of two.

        Settings that do not reach it but for two standard errors count as reaching it.
        """
        gaps, values, alike = self._parts
        gap, value = gaps[splits].mean(axis=0), values[splits].mean(axis=0)
        if self.reaches(level):
            level = max(level, float(np.abs(gap).max(axis=-1).min()))
        nobody = np.zeros((1, gap.shape[1]))
        return best_mixture(np.concatenate([gap, nobody]), np.append(value, alike[splits].mean()), level)


def best_mixture(gap: np.ndarray, value: np.ndarray, level: float) -> float:
    """The highest value of a mixture of two points none of whose mixed gaps is larger than ``level``; some are 0.

    Gaps have signs, so that mixing a point with one on the other side of 0 brings it nearer.
    """
    start, change = gap[:, None, :], gap[None, :, :] - gap[:, None, :]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ends = np.sort(np.stack([(-level - start) / change, (level - start) / change]), axis=0)
    # Where two points have the same gap, all of their mixtures are within the level, or none.
    still, inside = change == 0, np.abs(start) <= level
    low = np.where(still, np.where(inside, 0, 2), ends[0]).max(axis=-1).clip(0, 2)
    high = np.where(still, np.where(inside, 1, -1), ends[1]).min(axis=-1).clip(-1, 1)
    best = -np.inf
    for share in (low, high):  # a line is highest at an end
        mixed = value[:, None] + share * (value[None, :] - value[:, None])
        best = max(best, float(mixed[low <= high].max()))
    return best


def jackknife(statistic: Callable[[np.ndarray], float], n_splits: int) -> tuple[float, float]:
    """A statistic of splits, and its standard error by leaving out one at a time."""
    splits = np.arange(n_splits)
    if n_splits == 1:
        return statistic(splits), float("nan")
    left_out = np.array([statistic(np.delete(splits, split)) for split in splits])
    return statistic(splits), float(np.sqrt((n_splits - 1) * left_out.var()))


def behind(ours: Measured, theirs: Measured, level: float) -> tuple[float, float]:
    """Points by which ours is below theirs at equal discrimination on the splits of both, with the standard error.

    Where theirs does not reach the level, at the least discrimination that it has.
    """
    n_splits = min(ours.curve.n_splits, theirs.curve.n_splits)
    equal = level if theirs.reaches(level) else theirs.lowest
    return jackknife(lambda splits: 100 * (theirs.at(equal, splits) - ours.at(equal, splits)), n_splits)


def behind_setting(ours: Measured, theirs: Measured, setting: int) -> tuple[float, float]:
    """The same beside one setting, at the discrimination that it has."""
    n_splits = min(ours.curve.n_splits, theirs.curve.n_splits)

    def lead(splits: np.ndarray) -> float:
        gap, value = theirs.points(splits)
        return 100 * float(value[setting] - ours.at(float(gap[setting]), splits))

    return jackknife(lead, n_splits)


def read_curve(tasks: list[Path], method: str) -> Curve:
    """From the answers to these tasks."""
    found = [json.loads(answer_file(task, method).read_text()) for task in tasks]
    return _make_curve(tasks, [one["answers"] for one in found], found[0]["model"])


def read_base(tasks: list[Path]) -> Curve:
    """The base forests of these tasks, as they are."""
    own = {"random": False, "bound": None, "setting": ""}
    return _make_curve(tasks, [[{**json.loads(base_file(task).read_text()), **own}] for task in tasks], "")


def _make_curve(tasks: list[Path], answers: list[list[dict[str, Any]]], model: str) -> Curve:
    bases = [json.loads(base_file(task).read_text()) for task in tasks]

    def ratio(what: str) -> np.ndarray:
        pairs = zip(answers, bases, strict=True)
        return np.array([[one[what] / base[what] for one in answer] for answer, base in pairs])

    return Curve(
        favorable=np.array([[one["favorable"] for one in answer] for answer in answers]),
        totals=np.array([base["totals"] for base in bases]),
        fit=ratio("fit"),
        predict=ratio("predict"),
        bounds=[one["bound"] for one in answers[0]],
        settings=[one["setting"] for one in answers[0]],
        seconds=sum(one["fit"] for answer in answers for one in answer),
        random=any(one["random"] for answer in answers for one in answer),
        model=model,
    )
