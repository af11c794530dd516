"""Who is ahead: eifffel beside each peer at equal discrimination, and in time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from exchange import EPSILONS
from measures import LEVELS, Curve, Measured, behind, behind_setting
from methods import METHODS, RATES
from splits import CASES

Where = tuple[str, str]

# Points that eifffel may be behind the best that knows the group, unless two standard errors are more.
CLOSE = 0.3
# Splits below which nothing is said of who is ahead.
FEWEST = 3
# The largest share of ExponentiatedGradient's time.
SHARE = 0.1
# What a peer is compared with: a forest with a forest, boosting with boosting.
OURS = "best"
OURS_BOOSTED = "shift-lightgbm"
BOOSTED = ("fairgbm",)
REDUCTION = "exponentiated-gradient"


class Results(Protocol):
    curves: dict[Where, dict[str, Curve]]
    plain: dict[str, str]


@dataclass(frozen=True)
class Beside:
    """By how many points ours is behind a peer at equal discrimination, with the standard error."""

    where: Where
    level: float
    peer: str
    points: float
    error: float

    @property
    def is_loss(self) -> bool:
        return self.points > 2 * self.error

    @property
    def is_close(self) -> bool:
        return self.points <= max(CLOSE, 2 * self.error)


def ours_for(peer: str) -> str:
    return OURS_BOOSTED if peer in BOOSTED else OURS


def measured(results: Results, where: Where, method: str, by: str = RATES) -> Measured:
    return Measured(results.curves[where][method], CASES[where[0]].objective, by)


def beside(results: Results, where: Where, level: float, peer: str) -> Beside:
    ours, theirs = measured(results, where, ours_for(peer)), measured(results, where, peer)
    return Beside(where, level, peer, *behind(ours, theirs, level))


def peers(*, needs_group: bool) -> list[str]:
    """That are compared by rates."""
    theirs = {name: method for name, method in METHODS.items() if not (method.is_ours or method.again)}
    return [name for name, method in theirs.items() if method.needs_group == needs_group]


def beside_all(results: Results, *, needs_group: bool) -> Iterator[Beside]:
    """Every such peer, everywhere, if it was run on enough splits and gets as low as the largest of our bounds."""
    for where, of_method in results.curves.items():
        for level in LEVELS:
            for peer in peers(needs_group=needs_group):
                low = measured(results, where, peer).lowest <= max(EPSILONS)
                if low and of_method[peer].n_splits >= FEWEST:
                    yield beside(results, where, level, peer)


def furthest(found: list[Beside]) -> list[Beside]:
    """Of each case and level, that by which ours is furthest behind."""
    by_place: dict[tuple[Where, float], Beside] = {}
    for one in sorted(found, key=lambda one: one.points):
        by_place[one.where, one.level] = one
    return [by_place[place] for place in dict.fromkeys((one.where, one.level) for one in found)]


def settings_ahead(results: Results) -> dict[str, tuple[int, int]]:
    """Of each peer that does not need the group: how many settings are ahead beyond two standard errors, and all."""
    found = {}
    for peer in peers(needs_group=False):
        leads = [
            behind_setting(measured(results, where, ours_for(peer)), theirs, setting)
            for where in results.curves
            for theirs in [measured(results, where, peer)]
            if theirs.curve.n_splits >= FEWEST
            for setting in np.flatnonzero(theirs.points(np.arange(theirs.curve.n_splits))[0] <= max(EPSILONS))
        ]
        found[peer] = (sum(points > 2 * error for points, error in leads), len(leads))
    return found


def shares_of_reduction(results: Results) -> dict[Where, float]:
    """The time of the base forest and its paths with one bound, as a share of ExponentiatedGradient's for one."""
    found = {}
    for where, of_method in results.curves.items():
        n_splits = of_method[REDUCTION].n_splits
        ours = 1 + of_method[OURS].fit[:n_splits, 0].mean()
        found[where] = float(ours / of_method[REDUCTION].fit.mean())
    return found


def time_per_bound(results: Results, method: str) -> float:
    """Mean over the cases: the base forests' training times that one of ten bounds takes."""
    return float(np.mean([of_method[method].fit.mean() for of_method in results.curves.values()]))
