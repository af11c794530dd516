"""Who is ahead: eifffel beside each peer at equal discrimination, and in time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from exchange import EPSILONS
from measures import LEVELS, Measured, behind, behind_setting
from methods import ERRORS, METHODS, N_SEEDS, RATES, Method
from results import Results, Where
from splits import CASES

# Points that eifffel may be behind the best that knows the group, unless two standard errors are more.
CLOSE = 0.3
# Splits below which nothing is said of who is ahead.
FEWEST = N_SEEDS
# The largest share of ExponentiatedGradient's time.
SHARE = 0.1
# What a peer is compared with: a forest with a forest, boosting with boosting.
OURS = {RATES: "best", ERRORS: "shift-odds"}
OURS_BOOSTED = {RATES: "shift-lightgbm", ERRORS: "shift-lightgbm-odds"}
BOOSTED = ("fairgbm", "fairgbm-fewer")
REDUCTION = "exponentiated-gradient"


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


def ours_for(peer: str, by: str = RATES) -> str:
    return (OURS_BOOSTED if peer in BOOSTED else OURS)[by]


def measured(results: Results, where: Where, method: str, by: str = RATES) -> Measured:
    return Measured(results.curves[where][method], CASES[where[0]].objective, by)


def beside(results: Results, where: Where, level: float, peer: str, by: str) -> Beside:
    ours, theirs = measured(results, where, ours_for(peer, by), by), measured(results, where, peer, by)
    return Beside(where, level, peer, *behind(ours, theirs, level))


def peers(*, needs_group: bool, by: str = RATES) -> list[str]:
    """That are compared by rates, or by error rates."""

    def takes_part(method: Method) -> bool:
        return method.bounds == ERRORS if by == ERRORS else not method.again

    theirs = {name: method for name, method in METHODS.items() if not method.is_ours and takes_part(method)}
    return [name for name, method in theirs.items() if method.needs_group == needs_group]


def beside_all(results: Results, *, needs_group: bool, by: str = RATES) -> Iterator[Beside]:
    """Every such peer, everywhere, if it was run on enough splits and gets as low as the largest of our bounds."""
    for where, of_method in results.curves.items():
        for level in LEVELS:
            for peer in peers(needs_group=needs_group, by=by):
                low = measured(results, where, peer, by).lowest <= max(EPSILONS)
                if low and of_method[peer].n_splits >= FEWEST:
                    yield beside(results, where, level, peer, by)


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
        ours = 1 + of_method[OURS[RATES]].fit[:n_splits, 0].mean()
        found[where] = float(ours / of_method[REDUCTION].fit.mean())
    return found


def time_per_bound(results: Results, method: str) -> float:
    """Mean over the cases: the base forests' training times that one of ten bounds takes."""
    return float(np.mean([of_method[method].fit.mean() for of_method in results.curves.values()]))
