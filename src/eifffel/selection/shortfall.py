"""Shortfall: why no step is certified to keep a bound, and how many rows of whom would do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.stats import norm

from eifffel.intervals import difference_limit, ratio_limit
from eifffel.selection.bounds import Bounds, name_looser
from eifffel.selection.counts import PathCounts
from eifffel.selection.objective import Objective, name_loss

# How often so many rows as are said to be needed would do.
POWER = 0.8
# More rows of a group than this are no advice.
MOST_ROWS = 1e9
# By how many draws it is found how often several differences pass at once.
DRAWS = 1000

ALPHA, ROWS, UNCLEAR, BEYOND = "alpha", "rows", "unclear", "beyond"


@dataclass(frozen=True)
class Shortfall:
    """Why a bound is not certified with the confidence asked for, and what would help.

    Attributes
    ----------
    kind : str
        ``"alpha"``: steps are certified, and each costs more than ``alpha``. ``"rows"``: more rows would do.
        Else even the step that should discriminate least is not within the bound. ``"unclear"``: which may be chance,
        so that these rows do not say how many would do. ``"beyond"``: beyond chance, and more would hardly help.
    steps : tuple of two ints
        The first and the last certified step; where there is none, twice the step that should discriminate least.
    at_the_end : bool
        Whether the second of them is the last of all.
    value, limit : float
        At that step: the difference and its upper limit, or the smallest ratio and its lower limit; NaN, or ``None`` in
        a report, where a ratio is not defined.
    pair : tuple of two str
        Between whom they are.
    rows_needed : dict of ints
        About how many rows of which side would certify that step four times in five; of others there are enough.
    n_rows : dict of ints
        How many rows those sides have.
    """

    kind: str
    steps: tuple[int, int]
    at_the_end: bool
    value: float | None
    limit: float | None
    pair: tuple[str, str]
    rows_needed: dict[str, int]
    n_rows: dict[str, int]


def find_shortfall(counts: PathCounts, certified: np.ndarray, safest: int, bounds: Bounds) -> Shortfall:
    """Why no step was chosen, where ``certified`` says which keep the bound and ``safest`` is the first to be tried."""
    constraint, at_the_end, confidence = counts.constraint, safest == len(certified) - 1, bounds.confidence
    assert confidence is not None
    sides = _Sides.at(counts, safest, bounds)
    names = constraint.names
    first = int(np.argmax(certified)) if certified.any() else safest
    needed = None if certified.any() else sides.find_needed(confidence)
    kind = ALPHA if certified.any() else ROWS
    worst = int(np.argmax(sides.limit(sides.n_rows, confidence)))
    if kind == ROWS and needed is None:
        worst = int(np.argmax(sides.excess))
        kind = BEYOND if sides.beyond_chance(worst, confidence) else UNCLEAR
    value, limit = sides.measure(worst, confidence)
    high, low = (names[side] for side in constraint.pairs[worst])
    grown = {} if needed is None else {side: n for side, n in enumerate(needed) if n > sides.n_rows[side]}
    return Shortfall(
        kind=kind,
        steps=(first, safest),
        at_the_end=at_the_end,
        value=value,
        limit=limit,
        pair=(high, low),
        rows_needed={names[side]: _round_up(n) for side, n in grown.items()},
        n_rows={names[side]: int(sides.n_rows[side]) for side in grown},
    )


class Chosen(Protocol):
    """What is said of a step that was chosen: a `Selection`, or what a report knows of one."""

    @property
    def shortfall(self) -> Shortfall | None: ...
    @property
    def ratio(self) -> float | None: ...
    @property
    def directed(self) -> bool: ...
    @property
    def accuracy_rows(self) -> str: ...
    @property
    def objective(self) -> Objective: ...


def say_shortfall(chosen: Chosen) -> str:
    """A shortfall in words: the same in a warning, on a page and in a terminal."""
    short = chosen.shortfall
    assert short is not None
    bound = name_looser(chosen.ratio)
    first, safest = short.steps
    if short.kind == ALPHA:
        upto = "on" if short.at_the_end else f"to {safest}"
        return (
            f"steps from {first} {upto} are certified, and on the {chosen.accuracy_rows} each of them has a "
            f"{name_loss(chosen.objective)} of more than alpha. Allow a larger alpha or a {bound}, or give more "
            "rows to choose on"
        )
    step = "the last step" if short.at_the_end else f"step {safest}, which should discriminate least,"
    if short.kind in (BEYOND, UNCLEAR):
        what = "discrimination" if chosen.ratio is None else "ratio"
        between = "" if chosen.directed else " between {} and {}".format(*short.pair)
        value = "not known" if short.value is None else f"{short.value:.4g}"
        so = "so that more rows would hardly help"
        if short.kind == UNCLEAR:
            so = "which may be chance: more rows may help, and these do not say how many"
        why = f"its {what} is {value}{between}, {so}"
    else:
        wanted = [
            f"{needed:,} rows of group {name!r} (there are {short.n_rows[name]:,})"
            for name, needed in short.rows_needed.items()
        ]
        several = ", ".join(wanted[:-1]) + (" and " if len(wanted) > 1 else "") + wanted[-1]
        why = f"for that, about {several} would be needed, to succeed four times in five"
    return f"not even {step} can be certified; {why}. Allow a {bound}, or less confidence"


@dataclass(frozen=True, eq=False)
class _Sides:
    """The rates of all sides at a step, how many rows they have, and which differences of them are bounded."""

    rates: np.ndarray
    n_rows: np.ndarray
    pairs: np.ndarray
    epsilon: float | None
    ratio: float | None

    @classmethod
    def at(cls, counts: PathCounts, step: int, bounds: Bounds) -> "_Sides":
        size = counts.constraint.count_sides(counts.totals)
        chosen = counts.constraint.count_sides(counts.favorable[step])
        rates, pairs = chosen / np.maximum(size, 1), counts.constraint.pairs
        return cls(rates, size.astype(float), pairs, bounds.epsilon, bounds.ratio)

    @property
    def excess(self) -> np.ndarray:
        """What each difference is in excess of the bound on the rows that there are."""
        high, low = self.rates[self.pairs.T]
        return high - low - self.epsilon if self.epsilon is not None else self.ratio * high - low

    def beyond_chance(self, pair: int, confidence: float) -> bool:
        """Whether a difference exceeds the bound by more than its error."""
        errors = self.rates * (1 - self.rates) / np.maximum(self.n_rows, 1)
        high, low = errors[self.pairs[pair]]
        spread = np.sqrt((1.0 if self.ratio is None else self.ratio**2) * high + low)
        return bool(self.excess[pair] >= norm.ppf(confidence) * spread)

    def limit(self, n_rows: np.ndarray, confidence: float, ratio: float | None = None) -> np.ndarray:
        """The upper limit of what each difference is in excess of the bound, if sides had so many rows."""
        high, low = self.pairs.T
        given = (self.rates[high] * n_rows[high], n_rows[high], self.rates[low] * n_rows[low], n_rows[low])
        if self.ratio is not None:
            return ratio_limit(*given, ratio=self.ratio if ratio is None else ratio, confidence=confidence)
        assert self.epsilon is not None
        return difference_limit(*given, confidence=confidence) - self.epsilon

    def measure(self, pair: int, confidence: float) -> tuple[float, float]:
        """A difference and its upper limit, or a ratio and its lower limit."""
        high, low = self.rates[self.pairs[pair]]
        if self.epsilon is not None:
            return float(high - low), float(self.limit(self.n_rows, confidence)[pair] + self.epsilon)
        below, above = 0.0, 1.0
        while above - below > 1e-6:
            middle = (below + above) / 2
            certified = self.limit(self.n_rows, confidence, middle)[pair] <= 0
            below, above = (middle, above) if certified else (below, middle)
        return float(low / high) if high > 0 else np.nan, below

    def find_needed(self, confidence: float) -> np.ndarray | None:
        """About how many rows of each side would do, four times in five; ``None`` if more would hardly help."""
        powered = float(norm.cdf(norm.ppf(confidence) + norm.ppf(POWER)))
        short = np.flatnonzero(self.limit(self.n_rows, confidence) > 0)
        if (self.excess >= 0).any():
            return None
        needed = self.n_rows.copy()
        for k in short.tolist():
            own = self._grow_pair(k, powered)
            if own is None:
                return None
            needed[self.pairs[k]] = np.maximum(needed[self.pairs[k]], own)
        if len(self.pairs) == 1:
            return needed
        # All must pass at once: the more there are, the surer must each be.
        grown = needed > self.n_rows
        for sides in (grown, np.isin(np.arange(len(needed)), self.pairs)):
            factor = self._least_factor(needed, sides, lambda n_rows: self._power(n_rows, confidence) >= POWER)
            if factor is not None:
                return np.where(sides, needed * factor, needed)
        return None

    @staticmethod
    def _least_factor(n_rows: np.ndarray, sides: np.ndarray, does: Callable[[np.ndarray], bool]) -> float | None:
        """By what factor the rows of these sides must grow; ``None`` if that would hardly help."""
        most = MOST_ROWS / n_rows.max()
        return _least(lambda factor: does(np.where(sides, n_rows * factor, n_rows)), most)

    def _grow_pair(self, k: int, confidence: float) -> np.ndarray | None:
        """How many rows of the two sides of a difference would certify it; ``None`` if more would hardly help."""
        pair = self.pairs[k]
        one = _Sides(self.rates[pair], self.n_rows[pair], np.array([[0, 1]]), self.epsilon, self.ratio)

        def grow(*sides: int) -> np.ndarray | None:
            inside = np.isin(np.arange(2), sides)
            factor = self._least_factor(one.n_rows, inside, lambda n: bool(one.limit(n, confidence)[0] <= 0))
            return None if factor is None else np.where(inside, factor * one.n_rows, one.n_rows)

        # More rows of the side that needs fewer of them; of both, where more of one side would not do.
        one_side = [found for found in (grow(0), grow(1)) if found is not None]
        return min(one_side, key=np.sum) if one_side else grow(0, 1)

    def _power(self, n_rows: np.ndarray, confidence: float) -> float:
        """About how often all differences would be certified at once, by normal errors of the rates."""
        errors = np.random.default_rng(0).standard_normal((DRAWS, len(n_rows)))
        errors *= np.sqrt(self.rates * (1 - self.rates) / np.maximum(n_rows, 1))
        high, low = self.pairs.T
        off = (1.0 if self.ratio is None else self.ratio) * errors[:, high] - errors[:, low]
        return float((self.limit(n_rows, confidence) + off <= 0).all(axis=1).mean())


def _least(does: Callable[[float], bool], most: float) -> float | None:
    """The least factor of rows that does; ``None`` if none up to ``most`` does."""
    if does(1.0):
        return 1.0
    low, high = 1.0, 2.0
    while not does(high):
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > 0.01 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if does(middle) else (middle, high)
    return high


def _round_up(n: float) -> int:
    """Round up to two significant digits."""
    unit = 10 ** max(int(np.log10(n)) - 1, 0)
    return int(np.ceil(n / unit) * unit)
