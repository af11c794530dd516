"""Runs -> what they show: agreement with the paper, goals that are met, and differences between settings."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reproduction import protocol
from reproduction.printed import PRINTED, PRINTED_ALPHA
from reproduction.summary import Runs, SeedMean, mean_of_seeds

PRINT_ROUNDING = 0.005  # the paper prints two decimals
SLACK = 0.01  # what is allowed beyond epsilon on test rows
SHARE_OF_LOSS = 0.5  # what is allowed of the printed loss, where that is at least LARGE_LOSS
LARGE_LOSS = 0.02
BEHIND_THRESHOLDS = 0.005
YES, WITHIN, NO, UNDECIDED = "yes", "within two standard errors", "**no**", "one seed"


@dataclass(frozen=True)
class PaperComparison:
    """A printed number beside what was measured in its place."""

    data: str
    method: str
    bound: str
    measure: str
    printed: float
    found: SeedMean

    @property
    def agrees(self) -> bool | None:
        """Whether the printed number, one run rounded to two decimals, could be one of our runs; None for one seed."""
        if self.found.n == 1:
            return None
        spread = self.found.sd * math.sqrt(1 + 1 / self.found.n)
        return abs(self.found.mean - self.printed) <= PRINT_ROUNDING + 2 * spread


@dataclass(frozen=True)
class Goal:
    """Something that a method should do, and whether it did."""

    data: str
    epsilon: float
    what: str
    found: SeedMean
    limit: float
    with_error: bool  # whether two standard errors above the limit are still met

    @property
    def verdict(self) -> str:
        """YES, WITHIN (two standard errors above the limit, where that is allowed), NO, or UNDECIDED for one seed."""
        if self.found.n == 1:
            return UNDECIDED
        if self.found.mean <= self.limit:
            return YES
        return WITHIN if self.with_error and self.found.mean <= self.limit + 2 * self.found.error else NO


def compare(runs: Runs, data: str) -> Iterator[PaperComparison]:
    """The printed numbers of a data set beside the means of the runs that follow the paper's protocol.

    The plain forest is left out, since its setting was chosen to come near the printed numbers.
    """
    tables = [("epsilon", {method: numbers for method, numbers in PRINTED[data].items() if method != protocol.PLAIN})]
    if protocol.EXPERIMENTS[data].alphas:
        tables.append(("alpha", PRINTED_ALPHA))
    for bound, printed in tables:
        for method, by_bound in printed.items():
            for value, numbers in by_bound.items():
                bounds: dict[str, Any] = {"epsilon": value, "alpha": None}
                if bound == "alpha":
                    bounds = {"epsilon": protocol.ALPHA_EPSILON, "alpha": value}
                rows = runs.pick(data=data, method=method, chosen_on=protocol.TRAINING, **bounds)
                for measure, number in zip(("accuracy", "discrimination"), numbers, strict=True):
                    words = "" if value is None else f"{bound} {value:g}"
                    yield PaperComparison(data, method, words, measure, number, mean_of_seeds(rows[measure]))


def goals(runs: Runs, data: str) -> Iterator[Goal]:
    """What leaf flipping should reach on test rows, chosen on held-out rows with the sensitive column as a feature."""
    experiment = protocol.EXPERIMENTS[data]
    for epsilon in protocol.EPSILONS:
        chosen: dict[str, Any] = {"data": data, "chosen_on": protocol.HELD_OUT, "epsilon": epsilon}
        rows = runs.pick(method=protocol.LF, **chosen)
        # The mean is signed, as the bound is; one that is far below 0 is as bad as one above.
        found = mean_of_seeds(rows["discrimination"] * (-1 if rows["discrimination"].mean() < 0 else 1))
        yield Goal(data, epsilon, "discrimination, absolute mean", found, epsilon + SLACK, True)
        printed = PRINTED[data]
        loss = round(printed[protocol.PLAIN][None][0] - printed[protocol.LF][epsilon][0], 2)
        if loss >= LARGE_LOSS:
            words = f"loss of accuracy, {loss:.2f} printed"
            yield Goal(data, epsilon, words, mean_of_seeds(rows["accuracy_loss"]), SHARE_OF_LOSS * loss, False)
        thresholds = runs.pick(method=protocol.THRESHOLDS, **chosen)
        behind = thresholds[experiment.objective] - rows[experiment.objective]
        words = f"{experiment.objective.replace('_', ' ')} behind GroupThresholds"
        yield Goal(data, epsilon, words, mean_of_seeds(behind), BEHIND_THRESHOLDS, True)


def difference(runs: Runs, measure: str, one: dict[str, Any], other: dict[str, Any]) -> SeedMean:
    """The paired difference of two settings, ``one`` minus ``other``, mean over the bounds and then over seeds."""
    total: Any = 0
    for epsilon in protocol.EPSILONS:
        first, second = runs.pick(epsilon=epsilon, **one), runs.pick(epsilon=epsilon, **other)
        total = total + first[measure] - second[measure]
    return mean_of_seeds(total.dropna() / len(protocol.EPSILONS))


def describe_difference(found: SeedMean, more: str, less: str) -> str:
    """A difference in words; one below two standard errors counts as none."""
    if found.n == 1:
        return f"{found.mean:+.3f}, one seed: no conclusion"
    if not found.differs:
        return f"not told apart ({found.mean:+.3f} ± {found.error:.3f})"
    return f"{abs(found.mean):.3f} ± {found.error:.3f} {more if found.mean > 0 else less}"
