"""How much each group counts in what is bounded: of one difference that is known, of several it is found."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from eifffel.constraints import Constraint
from eifffel.ensembles import EnsembleView
from eifffel.leaves.placing import PlacedRows
from eifffel.rows.coding import Rows
from eifffel.strategies._least_squares import DAMPING, ITERATIONS, LeastSquares

# Several differences are weighed so that each would be within this bound.
AIM = 0.02
# How far from it the best lambda is looked for.
REACHES = np.geomspace(0.25, 8, 61)
# How sharply rows are told to be on one side of the cut-off, the last time most of all.
SHARPNESS = (0.1, 0.02, 0.005)


def weigh_rows(rows: Rows, target: np.ndarray) -> np.ndarray:
    """The weight of each row in what is bounded, from those of the (group, label) cells."""
    return (target[:, :1] if rows.label is None else target).ravel()[rows.cell]


def weigh_cells(
    view: EnsembleView,
    placed: PlacedRows,
    constraint: Constraint,
    fit: Callable[[np.ndarray], LeastSquares],
    ahead: PlacedRows | None,
    n_jobs: int | None,
) -> tuple[np.ndarray, float]:
    """The weight of a row of each (group, label) cell in what is bounded, and the lambda to aim at.

    ``fit`` takes targets of the ``placed`` rows.
    """
    rows = placed.rows
    totals = rows.weigh_cells()
    share = constraint.count_sides(totals) / totals.sum()
    if len(constraint.pairs) == 1:
        weight, aim = np.zeros(len(share)), np.inf
        weight[constraint.pairs[0]] = 1, -1
    else:
        weight, aim = _weigh_sides(view, rows, constraint, share, fit, placed if ahead is None else ahead, n_jobs)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_side = np.where(weight == 0, 0.0, weight / share)
    return np.tensordot(of_side, constraint.members.astype(np.float64), axes=1), aim


def _weigh_sides(
    view: EnsembleView,
    rows: Rows,
    constraint: Constraint,
    share: np.ndarray,
    fit: Callable[[np.ndarray], LeastSquares],
    suited: PlacedRows,
    n_jobs: int | None,
) -> tuple[np.ndarray, float]:
    """The weight of each side, such that deciding by ``margin > sum of weight * likeness`` is fair and most accurate.

    How much a row is like those of a side is foretold by the leaves as the direction is, so that the rule is one that
    leaves can hold: nobody's group is asked for. Among such rules the most accurate that keeps the rates of a family
    within `AIM` of each other has the weights that minimise a convex function of them (the dual of a linear programme),
    which sum to 0 in each family without a reference. ``suited`` are the people it is to suit.
    """
    bounded = np.unique(constraint.pairs)
    index, people = suited.index, suited.rows.weight / suited.rows.weight.sum()
    likeness = np.empty((index.shape[1], len(bounded)))
    for k, side in enumerate(bounded):
        of_side = np.zeros(constraint.members.shape[1:])
        of_side[constraint.members[side]] = 1 / share[side]
        direction = fit(weigh_rows(rows, of_side)).solve(DAMPING, ITERATIONS)
        likeness[:, k] = view.sum_leaves(index, direction, n_jobs=n_jobs)
    score = view.row_scores(index, n_jobs=n_jobs)
    margin, family = view.margin(score), constraint.family[bounded]
    same = (family[:, None] == family) / np.bincount(family)[family]

    def loss(free: np.ndarray, sharpness: float) -> tuple[float, np.ndarray]:
        weight = free - same @ free  # sums to 0 in each family
        over = (margin - likeness @ weight) / sharpness
        size = np.sqrt(weight**2 + 1e-8)
        value = sharpness * (people @ np.logaddexp(0, over)) + AIM / 2 * size.sum()
        slope = -((people * expit(over)) @ likeness) + AIM / 2 * weight / size
        return value, slope - same @ slope

    free = np.zeros(len(bounded))
    for sharpness in SHARPNESS:
        free = minimize(loss, free, args=(sharpness,), jac=True, method="L-BFGS-B").x
    weight = np.zeros(len(share))
    weight[bounded] = free - same @ free
    # The rule compares margins, and leaves add up to scores; near the cut-off one is a multiple of the other. That
    # is rough: of the lambdas near it the one is taken at which the rates that the leaves foretell differ least.
    near = float(1e-6 / view.margin(np.array(1e-6)))
    pull = likeness @ weight[bounded]
    likeness = people[:, None] * likeness
    return weight, min(near * REACHES, key=lambda reach: _foretell(score - reach * pull > 0, likeness, family))


def _foretell(favorable: np.ndarray, likeness: np.ndarray, family: np.ndarray) -> float:
    """The largest difference of the rates that sides of a family have, by how much rows are like theirs, weighed."""
    rates = (favorable @ likeness) / likeness.sum(axis=0)
    return float(max(np.ptp(rates[family == f]) for f in np.unique(family)))
