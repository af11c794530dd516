"""Who is ahead: eifffel beside each peer at equal discrimination, and in time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from measures import LEVELS, Curve, Measured, behind
from methods import METHODS
from splits import CASES

Where = tuple[str, str]

# Points that eifffel may be behind the best that knows the group, unless two standard errors are more.
CLOSE = 0.3
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


def measured(results: Results, where: Where, method: str) -> Measured:
    return Measured(results.curves[where][method], CASES[where[0]].objective)


def beside(results: Results, where: Where, level: float, peer: str) -> Beside:
    points, error = behind(measured(results, where, ours_for(peer)), measured(results, where, peer), level)
    return Beside(where, level, peer, points, error)


def peers(*, needs_group: bool) -> list[str]:
    return [name for name, method in METHODS.items() if not method.is_ours and method.needs_group == needs_group]


def beside_blind(results: Results) -> Iterator[Beside]:
    """Every peer that does not need the group, everywhere."""
    for where in results.curves:
        for level in LEVELS:
            for peer in peers(needs_group=False):
                yield beside(results, where, level, peer)


def beside_best_aware(results: Results) -> Iterator[Beside]:
    """Everywhere, the best of the peers that need the group."""
    for where in results.curves:
        for level in LEVELS:
            found = (beside(results, where, level, peer) for peer in peers(needs_group=True))
            yield max(found, key=lambda one: one.points)


def shares_of_reduction(results: Results) -> dict[Where, float]:
    """The time of all bounds of one path, as a share of ExponentiatedGradient's for one bound."""
    return {
        where: float(of_method[OURS].fit[:, 0].mean() / of_method[REDUCTION].fit.mean())
        for where, of_method in results.curves.items()
    }


def time_per_bound(results: Results, method: str) -> float:
    """Mean over the cases: the base forests' training times that one of ten bounds takes."""
    return float(np.mean([of_method[method].fit.mean() for of_method in results.curves.values()]))
