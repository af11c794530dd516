"""Prices: how much each bounded difference costs, so that people who are decided by what is left are treated alike.

A person is decided favourably where the margin exceeds what the prices take off, ``sum_j price_j * likeness_j``. Of all
such rules, the most accurate that keeps each difference within a bound has the prices at which a convex function of
them is least, the dual of a linear programme; they depend on the bound, and their way from the original model to no
difference is a curve.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import minimize

from eifffel._utils.parallel import one_blas_thread
from eifffel.constraints import Constraint
from eifffel.rows.coding import Rows

# Prices are found for so many bounds between the differences of the original model and none.
N_BOUNDS = 25
# How often, for each, what the prices bring about is counted and corrected, and how much of a correction is made.
CORRECTIONS, STEP = 3, 0.5
# How smooth the step at the cut-off is taken to be: less the second time.
SMOOTHING = (0.02, 0.005)
BENT = 40.0
# Prices are found with at most so many rows; what they bring about is counted with all.
MOST_PRICED = 20_000
# How often prices are moved in one search.
MOST_SEARCHED = 100
# What takes so many margins off, in the mean, decides by likeness alone. Where no prices do, they hardly go beyond:
# that costs so many times its square.
MOST_UNITS = 10.0
STIFF = 100.0
NO_LIKENESS = 1e-9
# Between two bounds, a difference may rise above both by this much, or bounds are put between them, so many times.
LEAST_RISE = 0.002
MOST_HALVED = 2
LOOKED_AT = (0.25, 0.5, 0.75)
# How many standard errors around no difference the end of the curve goes through, in how many rings, and at how many
# prices on the first of them, for one difference and for two.
SWEEP = 2.0
N_RINGS = 3
ON_A_RING = (2, 6)


@dataclass(frozen=True, eq=False)
class Differences:
    """The differences that have a price.

    Attributes
    ----------
    sides : ndarray of shape (n_bounded,)
        The sides of a constraint that are bounded; of a family, that with the highest rate first.
    of_sides : ndarray of shape (n_bounded, n_prices)
        Each difference as a sum of rates. With a reference in the family, of each other side minus it; of two sides, of
        the one that is favoured minus the other; of more, of each minus the mean of all.
    priced : ndarray of bools, shape (n_bounded, n_prices)
        Which side each is of.
    paid : ndarray of shape (n_paid, n_prices)
        What a bound multiplies the sizes of, in prices.
    level : ndarray of shape (n_prices, n_prices)
        Takes what the prices of a family have in common off, where they have to sum to 0.
    family : ndarray of shape (n_prices,)
    """

    sides: np.ndarray
    of_sides: np.ndarray
    priced: np.ndarray
    paid: np.ndarray
    level: np.ndarray
    family: np.ndarray

    @classmethod
    def of(cls, constraint: Constraint, rates: np.ndarray) -> "Differences":
        """Those of a constraint; ``rates`` are those of all its sides, by which they are put in order."""
        # Of a family with a reference r, |rate_s - rate_r| <= e for every s: the dual has e sum_s |u_s|. Without, of
        # any two: e / 2 sum_s |u_s| over all sides, whose prices u sum to 0.
        # In an order that does not depend on the names of groups.
        sides = np.unique(constraint.pairs)
        sides = sides[np.lexsort((-rates[sides], constraint.family[sides]))]
        columns, priced, paid, level, family = [], [], [], [], []
        for f in np.unique(constraint.family[sides]):
            own = np.flatnonzero(constraint.family[sides] == f)
            named = constraint.reference[sides[own]]
            if len(own) == 2 and not named.any():
                named = np.array([False, True])
            others = own[~named]
            block = np.zeros((len(sides), len(others)))
            block[others, np.arange(len(others))] = 1
            priced.append(block > 0)
            block[own] -= named[:, None] if named.any() else 1 / len(own)
            columns.append(block)
            paid.append(np.eye(len(others)) if named.any() else block[own] / 2)
            level.append(np.eye(len(others)) if named.any() else block[own])
            family += [f] * len(others)
        return cls(
            sides, np.hstack(columns), np.hstack(priced), block_diag(*paid), block_diag(*level), np.array(family)
        )


@dataclass(frozen=True, eq=False)
class PricedRows:
    """Rows that are decided by prices, and what is counted of them.

    Attributes
    ----------
    margin : ndarray of shape (n_rows,)
        How much more likely than not the favourable label is.
    likeness : ndarray of shape (n_rows, n_prices)
        How much each row counts in each difference, by what the model knows of it.
    share : ndarray of shape (n_rows,)
        The weight of each row in the mean of margins and likenesses.
    rows : Rows
        Their groups and labels.
    constraint : Constraint
    differences : Differences
    n_people : float
        How many people they stand for.
    """

    margin: np.ndarray
    likeness: np.ndarray
    share: np.ndarray
    rows: Rows
    constraint: Constraint
    differences: Differences
    n_people: float

    @property
    def n_prices(self) -> int:
        return self.likeness.shape[1]

    def decide(self, prices: np.ndarray) -> np.ndarray:
        """Which rows are decided favourably."""
        favorable: np.ndarray = self.margin > self.likeness @ prices
        return favorable

    def count(self, favorable: np.ndarray) -> np.ndarray:
        """The differences as they are counted, shape (n_prices,); as expected where there is nobody to count."""
        counted = self._rates(favorable) @ self.differences.of_sides
        nobody = np.abs(self.differences.of_sides[self._sizes == 0]).any(axis=0)
        return np.where(nobody, self.expect(favorable), counted)

    def expect(self, favorable: np.ndarray) -> np.ndarray:
        """The differences as they are to be expected, shape (n_prices,)."""
        expected: np.ndarray = (self.share * favorable) @ self.likeness
        return expected

    def worst(self, prices: np.ndarray) -> float:
        """The largest difference that is counted."""
        favorable, totals = (
            self.rows.for_ratios(units) for units in (self.rows.weigh_cells(self.decide(prices)), self._cells)
        )
        return float(np.nan_to_num(np.abs(self.constraint.worst(favorable, totals).value)))

    def largest(self, prices: np.ndarray) -> float:
        """The largest difference that is bounded, as it is counted or as it is to be expected."""
        # Rates of sides, but for what those of a family have in common.
        rates = self.differences.priced @ self.expect(self.decide(prices))
        of_side = np.zeros(len(self.constraint.members))
        of_side[self.differences.sides] = rates
        of_pair = of_side[self.constraint.pairs]
        return max(self.worst(prices), float(np.abs(of_pair[:, 0] - of_pair[:, 1]).max()))

    @property
    def errors(self) -> np.ndarray:
        """The standard error of each difference as it is counted for the original model, shape (n_prices,)."""
        rates = self._rates(self.decide(np.zeros(self.n_prices)))
        people = self._sizes * (self.n_people / self.rows.weight.sum())
        variance = np.divide(rates * (1 - rates), people, out=np.zeros(len(rates)), where=people > 0)
        errors: np.ndarray = np.sqrt(variance @ np.abs(self.differences.of_sides))
        return errors

    @property
    def largest_row(self) -> float:
        """By how much one row can change a rate."""
        return float(self.rows.weight.max() / self._sizes[self._sizes > 0].min(initial=np.inf))

    def _rates(self, favorable: np.ndarray) -> np.ndarray:
        """The rate of each bounded side; 0 where it has no rows."""
        chosen = self.constraint.count_sides(self.rows.weigh_cells(favorable))[self.differences.sides]
        return np.divide(chosen, self._sizes, out=np.zeros(len(chosen)), where=self._sizes > 0)

    @cached_property
    def _sizes(self) -> np.ndarray:
        """The weight of the rows of each bounded side."""
        sizes: np.ndarray = self.constraint.count_sides(self._cells)[self.differences.sides].astype(np.float64)
        return sizes

    @cached_property
    def _cells(self) -> np.ndarray:
        return self.rows.weigh_cells()

    @cached_property
    def _unit(self) -> np.ndarray:
        """By which prices are divided: so much takes a margin of 1 off, in the mean over all in a family."""
        family = self.differences.family
        sizes = np.array([np.abs(self.likeness[:, family == f]).mean() for f in family])
        return np.where(sizes > NO_LIKENESS, 1 / np.maximum(sizes, NO_LIKENESS), 1.0)

    @cached_property
    def _some(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Margin, likeness in units, and share of the rows that prices are found with."""
        part = np.linspace(0, len(self.margin) - 1, min(len(self.margin), MOST_PRICED)).astype(np.intp)
        share = self.share[part]
        return self.margin[part], self.likeness[part] * self._unit, share * (self.share.sum() / share.sum())

    def find_prices(
        self, bound: float, excess: np.ndarray, prices: np.ndarray, sharpness: Sequence[float] = SMOOTHING
    ) -> np.ndarray:
        """The best prices for a bound, given how much each difference exceeds what is expected, from some ``prices``.

        With m, L, p the margin, likeness and share of rows, P what is paid, e the bound and c the excess::

            mu = argmin sum_i p_i max(0, m_i - L_i mu) - c mu + e sum |P mu|
        """
        # Smooth: max(0, z) ~ h log(1 + exp(z / h)), h the sharpness, and |u| ~ sqrt(u^2 + 1e-8), in units of prices.
        margin, likeness, share = self._some
        unit, paid, level = self._unit, self.differences.paid * self._unit, self.differences.level
        size_of_unit = float(np.mean(unit))

        def loss(free: np.ndarray, sharp: float) -> tuple[float, np.ndarray]:
            free = level @ free
            over = (margin - likeness @ free) / sharp
            owed = paid @ free / size_of_unit
            size = np.sqrt(owed**2 + 1e-8)
            beyond = free - np.clip(free, -MOST_UNITS, MOST_UNITS)
            soft, rise = soften(over)
            value = sharp * (share @ soft) - (unit * excess) @ free + STIFF / 2 * beyond @ beyond
            slope = -((share * rise) @ likeness) - unit * excess + STIFF * beyond
            return value + bound * size_of_unit * size.sum(), level @ (slope + bound * (owed / size) @ paid)

        free = prices / unit
        for sharp in sharpness:
            free = minimize(
                loss, free, args=(sharp,), jac=True, method="L-BFGS-B", options={"maxiter": MOST_SEARCHED}
            ).x
        return unit * (level @ free)


def soften(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``log(1 + exp(z))``, which is nearly the larger of 0 and z, and its slope ``1 / (1 + exp(-z))``."""
    soft, rise = np.maximum(z, 0), (z > 0).astype(np.float64)
    bent = np.flatnonzero(np.abs(z) < BENT)  # exp takes longer than all else, and elsewhere adds nothing to a float
    near = z[bent]
    small = np.exp(-np.abs(near))
    soft[bent] += np.log1p(small)
    rise[bent] = np.where(near > 0, 1, small) / (1 + small)
    return soft, rise


@dataclass(frozen=True, eq=False)
class Knot:
    """A place on the curve: prices, and how much each difference then exceeds what is expected."""

    prices: np.ndarray
    excess: np.ndarray

    def lower(self, people: PricedRows, bound: float, trust: np.ndarray | float) -> "Knot":
        """The knot of a lower bound; see `find_knots` for ``trust``."""
        prices, excess = self.prices, self.excess
        for _ in range(CORRECTIONS):
            prices = people.find_prices(bound, excess, prices)
            favorable = people.decide(prices)
            counted = trust * (people.count(favorable) - people.expect(favorable))
            excess = excess + STEP * (counted - excess)
        return Knot(people.find_prices(bound, excess, prices), excess)


def find_knots(people: PricedRows, *, trust: np.ndarray | float = 1.0, sweep: float = SWEEP) -> np.ndarray:
    """The prices along the curve, shape (n_knots, n_prices): first none, then down to those of no difference, and on.

    For each bound they start from those of the bound before: of several that do as well, a search without a start could
    take others each time, and the curve would jump.

    What is counted is that of few people, and where there is no difference among them there is one among others. So the
    curve then goes on through the prices at which each of one or two differences is within ``sweep`` standard errors of
    none, the nearest first. ``trust`` is how much of what is counted beyond expectation is believed, of each
    difference.
    """
    none = np.zeros(people.n_prices)
    knots = [Knot(none, none)]
    with one_blas_thread():
        for upper, bound in pairwise(np.linspace(people.largest(none), 0, N_BOUNDS + 1)):
            knots += _lower(people, knots[-1], upper, bound, trust, MOST_HALVED)
        prices = [knot.prices for knot in knots]
        for away in _go_around(people.n_prices, sweep):
            excess = knots[-1].excess + away * people.errors
            prices.append(people.find_prices(0.0, excess, prices[-1], SMOOTHING[-1:]))
    return np.array(prices)


def _go_around(n_prices: int, width: float) -> Iterator[np.ndarray]:
    """Places around 0, ring by ring, in standard errors; of more than two differences they would be too many."""
    if n_prices > len(ON_A_RING) or width == 0:
        return
    for ring in range(1, N_RINGS + 1):
        n = ON_A_RING[n_prices - 1] * (1 if n_prices == 1 else ring)
        for angle in np.linspace(0, 2 * np.pi, n, endpoint=False):
            yield width * ring / N_RINGS * np.array([np.cos(angle), np.sin(angle)])[:n_prices]


def _lower(
    people: PricedRows, knot: Knot, upper: float, bound: float, trust: np.ndarray | float, halved: int
) -> list[Knot]:
    """The knots from one bound to a lower one, with others between where differences would rise on the way."""
    end = knot.lower(people, bound, trust)
    if halved == 0 or not _rises(people, knot.prices, end.prices):
        return [end]
    middle = (upper + bound) / 2
    way = _lower(people, knot, upper, middle, trust, halved - 1)
    return way + _lower(people, way[-1], middle, bound, trust, halved - 1)


def _rises(people: PricedRows, begin: np.ndarray, end: np.ndarray) -> bool:
    """Whether the largest difference rises between two prices above that at both, by more than one row is."""
    allowed = max(people.worst(begin), people.worst(end)) + max(LEAST_RISE, people.largest_row)
    return any(people.worst(begin + part * (end - begin)) > allowed for part in LOOKED_AT)
