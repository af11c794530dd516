"""How much each group counts in what is bounded: for one difference it is known, for several it is found."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from eifffel._utils.parallel import one_blas_thread
from eifffel.constraints import Constraint
from eifffel.ensembles import EnsembleView
from eifffel.leaves.placing import PlacedRows
from eifffel.rows.coding import Rows
from eifffel.strategies._least_squares import DAMPING, ITERATIONS, LeastSquares

# Several differences are weighed so that each would be within this bound.
AIM = 0.02
# The best lambda is looked for at these multiples of the one that the weights give.
REACHES = np.geomspace(0.25, 8, 61)
# How smooth the step at the cut-off is taken to be: less each time.
SHARPNESS = (0.1, 0.02, 0.005)


def weigh_rows(rows: Rows, target: np.ndarray) -> np.ndarray:
    """Return the weight of each row in what is bounded, given those of the (group, label) cells."""
    # t_i = target[group_i, label_i]; rows without labels count the same whatever their label.
    return (target[:, :1] if rows.label is None else target).ravel()[rows.cell]


def find_cell_weights(
    view: EnsembleView,
    placed: PlacedRows,
    constraint: Constraint,
    fit: Callable[[np.ndarray], LeastSquares],
    selection_sample: PlacedRows | None,
    n_jobs: int | None,
) -> tuple[np.ndarray, float]:
    """Return the weight of a row of each (group, label) cell in what is bounded, and the lambda to aim at.

    ``fit`` takes targets of the ``placed`` rows.
    """
    # target[cell] = sum_s u_s [cell in side s] / P(s). With u = 1 and -1 for the two sides of one difference,
    # (1/n) sum_i w_i target[cell_i] [i is decided favourably] is the difference of their rates.
    rows = placed.rows
    totals = rows.weigh_cells()
    share = constraint.count_sides(totals) / totals.sum()
    if len(constraint.pairs) == 1:
        weight, aim = np.zeros(len(share)), np.inf
        weight[constraint.pairs[0]] = 1, -1
    else:
        weight, aim = _weigh_sides(
            view, rows, constraint, share, fit, placed if selection_sample is None else selection_sample, n_jobs
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        of_side = np.where(weight == 0, 0.0, weight / share)
    return np.tensordot(of_side, constraint.members.astype(np.float64), axes=1), aim


def _weigh_sides(
    view: EnsembleView,
    rows: Rows,
    constraint: Constraint,
    share: np.ndarray,
    fit: Callable[[np.ndarray], LeastSquares],
    sample: PlacedRows,
    n_jobs: int | None,
) -> tuple[np.ndarray, float]:
    """Return weights of the sides for which deciding by ``margin > sum of weight * likeness`` is fair and accurate.

    The leaves predict how much a row is like those of a side, as they predict the direction, so that leaves can hold
    the rule: it does not see anybody's group. Among such rules the most accurate that keeps the rates of a family
    within `AIM` of each other has the weights that minimise a convex function of them (the dual of a linear programme),
    which sum to 0 in each family. ``sample`` are the people whom the rule is to suit.
    """
    # Row i has the margin m_i = P(favourable) - P(unfavourable) and the share p_i of all weight. Its likeness to side s
    # is L_is = sum over its leaves l of d_l, with d fitted to the targets [i in s] / P(s): a prediction of
    # P(s | x_i) / P(s).
    #   u = argmin_u sum_i p_i max(0, m_i - sum_s u_s L_is) + AIM/2 sum_s |u_s|,  sum of u_s over each family = 0
    bounded = np.unique(constraint.pairs)
    index, people = sample.index, sample.rows.weight / sample.rows.weight.sum()
    likeness = np.empty((index.shape[1], len(bounded)))
    for k, side in enumerate(bounded):
        of_side = np.zeros(constraint.members.shape[1:])
        of_side[constraint.members[side]] = 1 / share[side]
        direction = fit(weigh_rows(rows, of_side)).solve(DAMPING, ITERATIONS)
        likeness[:, k] = view.sum_leaves(index, direction, n_jobs=n_jobs)
    score = sample.add_up(view, n_jobs)
    margin, family = view.margin(score), constraint.family[bounded]
    same = (family[:, None] == family) / np.bincount(family)[family]

    def loss(free: np.ndarray, sharpness: float) -> tuple[float, np.ndarray]:
        # Smooth: max(0, z) ~ h log(1 + exp(z / h)) with h = sharpness, and |u| ~ sqrt(u^2 + 1e-8). The slope is
        #   -sum_i p_i L_is / (1 + exp(-z_i / h)) + AIM/2 u_s / |u_s|,  minus its mean over the family
        weight = free - same @ free  # sums to 0 in each family
        over = (margin - likeness @ weight) / sharpness
        size = np.sqrt(weight**2 + 1e-8)
        value = sharpness * (people @ np.logaddexp(0, over)) + AIM / 2 * size.sum()
        slope = -((people * expit(over)) @ likeness) + AIM / 2 * weight / size
        return value, slope - same @ slope

    free = np.zeros(len(bounded))
    with one_blas_thread():
        for sharpness in SHARPNESS:
            free = minimize(loss, free, args=(sharpness,), jac=True, method="L-BFGS-B").x
    weight = np.zeros(len(share))
    weight[bounded] = free - same @ free
    # The rule compares margins, and leaves add up to scores f_i; near the cut-off one is a multiple of the other,
    # m ~ f / near. That is rough: of the lambdas near it the one is taken at which the predicted rates differ least.
    #   aim = argmin_lambda max_family (max_s - min_s) rate_s(lambda),
    #   rate_s(lambda) = sum_i p_i L_is [f_i > lambda sum_s u_s L_is] / sum_i p_i L_is
    near = float(1e-6 / view.margin(np.array(1e-6)))
    pull = likeness @ weight[bounded]
    likeness = people[:, None] * likeness
    return weight, min(near * REACHES, key=lambda reach: _predict_gap(score - reach * pull > 0, likeness, family))


def _predict_gap(favorable: np.ndarray, likeness: np.ndarray, family: np.ndarray) -> float:
    """Return the largest difference of the rates in a family; ``likeness`` says how much each row counts to a side."""
    rates = (favorable @ likeness) / likeness.sum(axis=0)
    return float(max(np.ptp(rates[family == f]) for f in np.unique(family)))
