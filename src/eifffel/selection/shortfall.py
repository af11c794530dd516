"""Shortfall: why no step is certified to keep a bound, and how many rows of whom would do."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.stats import norm

from eifffel.constraints import Constraint
from eifffel.exceptions import Message, Part, parameter, wording
from eifffel.intervals import difference_limit, ratio_limit, ratio_lower_limit
from eifffel.selection.bounds import BOTH, Bounds, name_looser
from eifffel.selection.certify import find_nearest, find_walks
from eifffel.selection.counts import PathCounts
from eifffel.selection.objective import Objective, name_loss

# How often so many rows as are said to be needed would do.
POWER = 0.8
# More than so many times the rows that there are is no advice.
MOST_OF_ROWS = 100
# A group is small that has at most this share of the rows of the largest that it is compared with.
SMALL = 1 / 3
# By how many draws it is found how often all tests pass at once, and of how many steps it is found which would do.
DRAWS, MOST_STEPS = 1000, 40

KINDS = ALPHA, BLOCKED, ABSENT, ROWS, UNCLEAR, BEYOND = "alpha", "blocked", "absent", "rows", "unclear", "beyond"
# Of those, the kinds of which words say what was measured at the nearest step.
OF_ONE_STEP = (ABSENT, UNCLEAR, BEYOND)


@dataclass(frozen=True)
class Shortfall:
    """Why a bound is not certified with the confidence asked for, and what would help.

    Attributes
    ----------
    kind : str
        ``"alpha"``: steps are certified, and each costs more than ``alpha``. ``"blocked"``: the nearest step would be
        by itself, and tests end before they come to it. ``"absent"``: of somebody who is bounded there are no rows that
        could certify anything. ``"rows"``: so many rows would do. ``"unclear"``: more rows may help, and these do not
        say how many. ``"beyond"``: no step is within the bound on these rows, beyond chance, and more would hardly
        help.
    steps : tuple of two ints
        The first and the last certified step; or the nearest step, and the one at which tests end; or twice the nearest
        step.
    at_the_end : bool
        Whether the second of them is the last of all.
    value, limit : float
        At that step: the difference and its limit, or the smallest ratio and its lower limit; NaN, or ``None`` in a
        report, where a ratio is not defined, or somebody is absent.
    pair : tuple of two str
        Between whom they are.
    rows_needed : dict of ints
        About how many rows of which side would certify a step four times in five; of others there are enough.
    n_rows : dict of ints
        How many rows those sides have.
    few_rows : dict of ints
        How many rows groups have that keep the bound from being certified because these are few, and that could be left
        out of it: of the scoring rows or of the rows to choose on, whichever are fewer.
    min_group_rows : int
        What leaves them out of it; 0 where there are none.
    absent : tuple of str
        The sides that have no rows among those that certify.
    """

    kind: str
    steps: tuple[int, int]
    at_the_end: bool
    value: float | None
    limit: float | None
    pair: tuple[str, str]
    rows_needed: dict[str, int]
    n_rows: dict[str, int]
    few_rows: dict[str, int]
    min_group_rows: int = 0
    absent: tuple[str, ...] = ()


def find_shortfall(
    counts: PathCounts,
    searched: PathCounts | None,
    certified: np.ndarray,
    allowed: np.ndarray,
    nearest: int,
    bounds: Bounds,
    start: int | None,
) -> Shortfall:
    """Why no step was chosen, where ``certified`` says which keep the bound, and ``nearest`` is the next to do so.

    Only steps that are ``allowed`` could have been chosen. ``start`` is where tests of several differences started, and
    ``searched`` are further rows, by which it was found; numbers of rows are of both together.
    """
    constraint = counts.constraint
    here = _Sides.at(counts, [nearest], bounds)
    everybody = counts if searched is None else counts.put_together(searched)
    n_all = constraint.count_sides(everybody.totals).astype(float)
    fewest = np.minimum(n_all, constraint.fewest)
    kind, steps, needed = ROWS, (nearest, nearest), here.n_rows
    few: np.ndarray = np.zeros(0, np.intp)
    direction: int | None = None  # of the pairs of sides
    absent = np.flatnonzero(constraint.kept & (here.n_rows == 0))
    if len(absent):
        kind, few = ABSENT, find_few(np.append(absent, here.find_in_the_way(constraint, fewest)), fewest, constraint)
    elif certified.any():
        first, last = np.flatnonzero(certified)[[0, -1]].tolist()
        kind, steps = ALPHA, (first, last)
    elif (here.limit(here.n_rows) <= 0).all() and (blocked := _find_blocked(counts, nearest, bounds, start)):
        direction = blocked[0] if constraint.directed else None
        kind, steps = BLOCKED, (nearest, blocked[1])
        here = _Sides.at(counts, [blocked[1]], bounds)
    else:
        likely = _Sides.at(everybody, _steps_to_certify(counts, everybody, allowed, nearest, bounds), bounds)
        among = [nearest, *_spread_over(np.flatnonzero(allowed))]
        of_all = replace(_Sides.at(everybody, among, bounds), n_rows=here.n_rows)
        few = find_few(of_all.find_in_the_way(constraint, fewest), fewest, constraint)
        found = replace(likely, n_rows=here.n_rows).find_needed()
        if found is None:
            kind = BEYOND if likely.beyond_chance() else UNCLEAR
        elif (found > MOST_OF_ROWS * np.maximum(here.n_rows, 1)).any() or (found <= here.n_rows).all():
            kind = UNCLEAR  # far too many; or as many, which by chance were not enough
        else:
            needed = found
    if direction is None:
        # Of a ratio the one that is the smallest, whose value selections show.
        by = here.excess[0] if bounds.ratio is None else -here.ratios[0]
        direction = int(np.argmax(by if kind in (UNCLEAR, BEYOND) else here.limit(here.n_rows)[0]))
    value, limit = (np.nan, np.nan) if kind == ABSENT else here.measure(direction)
    high, low = here.pairs[direction]
    if constraint.directed and direction and bounds.ratio is None:  # it is the lower limit that is beyond
        value, limit, high, low = -value, -limit, low, high
    factor = needed / np.maximum(here.n_rows, 1)
    grown = np.flatnonzero(factor > 1).tolist()
    names = constraint.names
    return Shortfall(
        kind=kind,
        steps=steps,
        at_the_end=steps[1] == len(certified) - 1,
        value=value,
        limit=limit,
        pair=(names[high], names[low]),
        rows_needed={names[side]: _round_up(factor[side] * n_all[side]) for side in grown},
        n_rows={names[side]: int(n_all[side]) for side in grown},
        few_rows={names[side]: int(fewest[side]) for side in few.tolist()},
        min_group_rows=int(fewest[few].max(initial=-1)) + 1,
        absent=tuple(names[side] for side in absent.tolist()),
    )


def find_few(in_the_way: np.ndarray, n_rows: np.ndarray, constraint: Constraint) -> np.ndarray:
    """These sides and all that have no more rows; none where they cannot be left out of the bound together.

    They can if none is one that all others are compared with, and two sides of every family are left.
    """
    few = constraint.kept & (n_rows <= n_rows[in_the_way].max(initial=-1))
    left = np.bincount(constraint.family[constraint.kept & ~few], minlength=constraint.family.max() + 1)
    bounded = np.unique(constraint.family[constraint.kept])
    can = not (few & constraint.reference).any() and (left[bounded] >= 2).all()
    return np.flatnonzero(few) if can else np.zeros(0, np.intp)


def _find_blocked(counts: PathCounts, nearest: int, bounds: Bounds, start: int | None) -> tuple[int, int] | None:
    """Which walk ends on its way to a step, and where; ``None`` if none does."""
    ends = [walk.find_end(nearest) for walk in find_walks(counts, bounds, start)]
    return next(((which, end) for which, end in enumerate(ends) if end is not None), None)


def _steps_to_certify(
    counts: PathCounts, everybody: PathCounts, allowed: np.ndarray, nearest: int, bounds: Bounds
) -> list[int]:
    """The steps of which one would have to be certified on more rows.

    Of several differences the one with the smallest limits on ``everybody``, at which tests would start. Of one bound
    in one direction the nearest. In both directions any may come to be certified that is allowed, that walks come by,
    and that is within the bound on these rows.
    """
    if counts.constraint.several:
        return [int(np.argmin(np.where(allowed, bounds.measure_excess(everybody), np.inf)))]
    if bounds.sides != BOTH:
        return [nearest]
    every = _Sides.at(counts, np.arange(len(counts.favorable)), bounds)
    passed_by = np.isfinite(find_nearest(counts, bounds, None))
    within = np.flatnonzero((every.excess < 0).all(axis=1) & passed_by & allowed)
    return sorted({nearest, *_spread_over(within)})


def _spread_over(steps: np.ndarray) -> list[int]:
    """Some of these steps, from the first to the last."""
    some: list[int] = steps[np.linspace(0, len(steps) - 1, min(len(steps), MOST_STEPS)).astype(np.intp)].tolist()
    return some


class Chosen(Protocol):
    """What is said of a step that was chosen: a `Selection`, or what a report knows of one."""

    @property
    def shortfall(self) -> Shortfall | None: ...
    @property
    def ratio(self) -> float | None: ...
    @property
    def alpha(self) -> float | None: ...
    @property
    def directed(self) -> bool: ...
    @property
    def accuracy_rows(self) -> str: ...
    @property
    def objective(self) -> Objective: ...


# The rows of which more are asked for; on the command line, what decides how many of a table's they are.
MORE_ROWS = "give more rows to choose on" + wording("more_rows", "")


def say_shortfall(chosen: Chosen, *, name_options: bool = True) -> Message:
    """A shortfall in words: the same in a warning, on a page and in a terminal.

    Without ``name_options`` no parameter is named, for readers who have none to set.
    """
    short = chosen.shortfall
    assert short is not None
    return _say_why(chosen, short) + _say_few_rows(short, name_options)


def _say_why(chosen: Chosen, short: Shortfall) -> Message:
    bound = name_looser(chosen.ratio)
    if chosen.alpha is not None:
        bound = f"larger alpha or a {bound}"
    first, last = short.steps
    if short.kind == ALPHA:
        upto = "on" if short.at_the_end else f"to {last}"
        return (
            f"steps from {first} {upto} are certified, and on the {chosen.accuracy_rows} each of them has a "
            f"{name_loss(chosen.objective)} of more than alpha. Allow a {bound}, or " + MORE_ROWS
        )
    between = "" if chosen.directed else " between {} and {}".format(*short.pair)
    what = "discrimination" if chosen.ratio is None else "ratio"
    value, limit = (
        "not known" if number is None or np.isnan(number) else f"{number:.4g}" for number in (short.value, short.limit)
    )
    if short.kind == BLOCKED:
        return (
            f"step {first} would be certified by itself, but tests go from step to step, and end before they come to "
            f"it, at step {last}, of which the {what} is {value}{between} with a limit of {limit}. Allow a {bound}, or "
            + MORE_ROWS
        )
    if short.kind == ABSENT:
        of = _join_words([f"group {name!r}" for name in short.absent])
        return f"of {of} there is nobody among the rows that certify steps. Put groups together, or " + MORE_ROWS
    step = "the last step" if short.at_the_end else f"step {last}, the nearest,"
    not_even = f"not even {step} can be certified: its {what} is {value}{between} on these rows"
    if short.kind == BEYOND:
        keeping = "" if chosen.alpha is None else " that keeps alpha"
        so = f"no step{keeping} is within the bound, and more rows would hardly help"
        return Message(Part(f"{not_even}, {so}. Allow a {bound}"))
    if short.kind == UNCLEAR:
        return not_even + f"; more rows may help, but these do not say how many. Allow a {bound}, or " + MORE_ROWS
    wanted = [
        f"{needed:,} rows of group {name!r} (there are {short.n_rows[name]:,})"
        for name, needed in short.rows_needed.items()
    ]
    return (
        f"about {_join_words(wanted)} would be needed to choose on, to certify a step four times in five. Allow a "
        f"{bound}, or less confidence, or " + MORE_ROWS
    )


def _say_few_rows(short: Shortfall, name_options: bool) -> str:
    """What leaves groups of few rows out of the bound."""
    if not short.few_rows:
        return ""
    groups = _join_words([f"{name!r} ({n:,} rows)" for name, n in short.few_rows.items()])
    option = " with " + parameter("min_group_rows") + f"={short.min_group_rows}" if name_options else ""
    has = "have" if len(short.few_rows) > 1 else "has"
    where = "of the scoring rows or of those to choose on, whichever are fewer"
    return "; or leave groups of few rows out of the bound" + option + f": {groups} {has} too few for it, {where}"


def _join_words(words: list[str]) -> str:
    """One, or "one and another", or "one, another and a third"."""
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1]


@dataclass(frozen=True, eq=False)
class _Sides:
    """The rates of all sides after some steps, how many rows they have, and which differences of them are tested."""

    rates: np.ndarray
    n_rows: np.ndarray
    pairs: np.ndarray
    bounds: Bounds

    @classmethod
    def at(cls, counts: PathCounts, steps: list[int] | np.ndarray, bounds: Bounds) -> "_Sides":
        constraint = counts.constraint
        size, chosen = constraint.count_sides(counts.totals), constraint.count_sides(counts.favorable[steps])
        pairs = constraint.pairs
        if constraint.directed and bounds.sides == BOTH:
            pairs = np.concatenate([pairs, pairs[:, ::-1]])
        return cls(chosen / np.maximum(size, 1), size.astype(float), pairs, bounds)

    @property
    def factor(self) -> float:
        """By what the first rate of a difference is multiplied."""
        return 1.0 if self.bounds.ratio is None else self.bounds.ratio

    @property
    def excess(self) -> np.ndarray:
        """What each difference is in excess of the bound on the rows that there are, shape (n_steps, n_pairs)."""
        high, low = self.pairs.T
        return self.factor * self.rates[:, high] - self.rates[:, low] - (self.bounds.epsilon or 0.0)

    @property
    def _errors(self) -> np.ndarray:
        """The variance of each rate, of one row."""
        return self.rates * (1 - self.rates)

    @property
    def ratios(self) -> np.ndarray:
        """The ratio of the second rate of each pair to the first, shape (n_steps, n_pairs); infinite if that is 0."""
        high, low = self.pairs.T
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(self.rates[:, low] / self.rates[:, high], nan=np.inf, posinf=np.inf)

    def _spread(self) -> np.ndarray:
        """The standard error of each difference, shape (n_steps, n_pairs)."""
        high, low = self.pairs.T
        variance = self._errors / np.maximum(self.n_rows, 1)
        return np.sqrt(self.factor**2 * variance[:, high] + variance[:, low])

    def beyond_chance(self) -> bool:
        """Whether at each step some difference exceeds the bound by more than its error."""
        return bool((self.excess >= norm.ppf(self.bounds.level) * self._spread()).any(axis=1).all())

    def _counts(self, n_rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The favourable and all rows of the first and of the second side of each pair, if sides had so many."""
        high, low = self.pairs.T
        chosen = np.round(self.rates * n_rows, 6)  # 15 of 44 are 15 again
        return chosen[:, high], n_rows[high], chosen[:, low], n_rows[low]

    def limit(self, n_rows: np.ndarray) -> np.ndarray:
        """The upper limit of what each difference is in excess of the bound, if sides had so many rows."""
        given, level = self._counts(n_rows), self.bounds.level
        if self.bounds.ratio is not None:
            found = ratio_limit(*given, ratio=self.bounds.ratio, confidence=level)
        else:
            found = difference_limit(*given, confidence=level) - self.bounds.value
        return np.nan_to_num(found, nan=1.0)  # of a side without rows nothing is known

    def measure(self, pair: int) -> tuple[float, float]:
        """A difference at the first step and its upper limit, or a ratio and its lower limit."""
        high, low = self.rates[0, self.pairs[pair]]
        first = replace(self, rates=self.rates[:1])
        if self.bounds.ratio is None:
            return float(high - low), float(first.limit(self.n_rows)[0, pair] + self.bounds.value)
        at_least = ratio_lower_limit(*first._counts(self.n_rows), confidence=self.bounds.level)
        return float(low / high) if high > 0 else np.nan, float(np.nan_to_num(at_least[0, pair]))

    def find_in_the_way(self, constraint: Constraint, fewest: np.ndarray) -> np.ndarray:
        """Sides of so few rows that these keep the bound from being certified; ``fewest`` are all that they have.

        The smallest of those with far fewer rows than others, if without them a step would be certified, and what they
        differ by at that step may be chance. Else those whose rate errs by more than the bound at the first step.
        """
        candidates = constraint.optional & (self.n_rows > 0)
        # Agresti and Coull's rates, for one of 0 is not known without error.
        rates = (self.rates * self.n_rows + 2) / (self.n_rows + 4)
        variance = rates * (1 - rates) / (self.n_rows + 4)
        high, low = self.pairs.T
        quantile = norm.ppf(self.bounds.level)
        by_chance = self.excess < quantile * np.sqrt(self.factor**2 * variance[:, high] + variance[:, low])
        passed = self.limit(self.n_rows) <= 0
        largest = np.array([self.n_rows[constraint.family == family].max() for family in constraint.family])
        small = np.flatnonzero(candidates & (self.n_rows <= SMALL * largest))
        small = small[np.argsort(fewest[small], kind="stable")]
        for n_small in range(1, len(small) + 1):
            left_out = find_few(small[:n_small], fewest, constraint)
            of_small = np.isin(self.pairs, left_out).any(axis=1)
            if len(left_out) and np.where(of_small, passed | by_chance, passed).all(axis=1).any():
                return left_out
        room = self.bounds.epsilon
        if room is None:
            room = (1 - self.factor) * float(self.rates[0, constraint.kept].max())
        return np.flatnonzero(candidates & (quantile * np.sqrt(variance[0]) > room))

    def find_needed(self) -> np.ndarray | None:
        """About how many rows of each side would do, four times in five; ``None`` if more would hardly help."""
        if (self.excess >= 0).any(axis=1).all():
            return None
        if len(np.unique(self.pairs)) == 2:
            return self._grow(self._raise_fewest)
        needed = self.n_rows.copy()
        for k in np.flatnonzero(self.limit(self.n_rows)[0] > 0).tolist():
            pair = self.pairs[k]
            own = replace(self, rates=self.rates[:, pair], n_rows=self.n_rows[pair], pairs=np.array([[0, 1]]))
            grown = own.find_needed()
            if grown is None:
                return None
            needed[pair] = np.maximum(needed[pair], grown)
        # All must pass at once: the more there are, the surer must each be.
        more, short = replace(self, n_rows=needed), needed > self.n_rows
        ways = [more._raise_fewest, lambda factor: needed * factor]
        if short.any():
            ways.append(lambda factor: np.where(short, factor, 1) * needed)
        grown_by_way = [grown for grown in map(more._grow, ways) if grown is not None]
        return min(grown_by_way, key=np.sum) if grown_by_way else None

    def _raise_fewest(self, factor: float) -> np.ndarray:
        """So many rows that no side that is tested has fewer than this factor of the fewest that one has now."""
        tested = np.unique(self.pairs)
        raised = self.n_rows.copy()
        raised[tested] = np.maximum(raised[tested], factor * raised[tested].min())
        return raised

    def _grow(self, grow: Callable[[float], np.ndarray]) -> np.ndarray | None:
        """The rows that the least factor gives of those that do; ``None`` if even very many do not."""

        def does(factor: float) -> bool:
            n_rows = grow(factor)
            limits = self.limit(n_rows)
            passes = (limits <= 0).all(axis=1).any()  # with these very rates, too
            return bool(passes) and self._power(n_rows, limits) >= POWER

        low = high = 1.0
        while not does(high):
            low, high = high, 2 * high
            if (grow(high) > MOST_OF_ROWS * np.maximum(self.n_rows, 1)).any():
                return None
        while high - low > 0.01 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if does(middle) else (middle, high)
        return grow(high)

    def _power(self, n_rows: np.ndarray, limits: np.ndarray) -> float:
        """About how often some step would pass all tests at once, by normal errors of the rates.

        ``limits`` are those of the rates as they are.
        """
        high, low = self.pairs.T
        spread = np.sqrt(self._errors / np.maximum(n_rows, 1))
        errors = np.random.default_rng(0).standard_normal((DRAWS, len(n_rows)))
        passed = np.zeros(DRAWS, bool)
        for limit, size in zip(limits, spread, strict=True):
            off = self.factor * (errors * size)[:, high] - (errors * size)[:, low]
            passed |= (limit + off <= 0).all(axis=1)
        return float(passed.mean())


def _round_up(n: float) -> int:
    """Round up to two significant digits."""
    unit = 10 ** max(int(np.log10(n)) - 1, 0)
    return int(np.ceil(n / unit) * unit)
