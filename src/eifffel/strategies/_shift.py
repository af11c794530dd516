"""The order of a shift: which directions leaves move along, and which prices the curve goes through.

On a line there is one direction, which is fitted so that the leaves of a row predict its weight in what is bounded. Of
one difference of two rates the weight is known: one over the share of its side, with its sign. Of several it is found
by `_weighing`. On a curve each difference has a direction, and prices that depend on the bound; see `_directions` and
`_prices`.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from eifffel.constraints import Constraint
from eifffel.ensembles import EnsembleView
from eifffel.leaves.placing import PlacedRows
from eifffel.strategies._base import ANY, UP
from eifffel.strategies._curve import ShiftOrder
from eifffel.strategies._directions import Pricing, fit_placed
from eifffel.strategies._least_squares import DAMPING, ITERATIONS, solve_within
from eifffel.strategies._prices import PricedRows, find_knots
from eifffel.strategies._weighing import find_cell_weights, weigh_rows

# Where leaves must stay fractions: the factor by which all may have to be scaled where the scoring rows show no
# discrimination; how many times the bounds that follow are drawn again, and how many steps are made within them.
SCALE = 0.7
ROUNDS = 2
BOUNDED_ITERATIONS = 15
# At so many knots of a curve, leaves are kept within their bounds.
KNOTS_WITHIN = 16
# Steps within the bound that nothing is taken off any leaf.
UP_ITERATIONS = 40


def order_shift(
    view: EnsembleView,
    placed: PlacedRows,
    constraint: Constraint,
    *,
    direction: str = ANY,
    selection_sample: PlacedRows | None = None,
    n_jobs: int | None = None,
) -> ShiftOrder:
    """Fit directions to these rows, and find prices; the steps come from the rows that `on_rows` is given.

    Leaves that hold fractions are bounded: where these rows show no discrimination, scaling by about `SCALE` brings
    each between 0 and 1. Unbounded, a few leaves would go so far that all had to be scaled to almost nothing.

    Parameters
    ----------
    view : EnsembleView
    placed : PlacedRows
        The scoring rows, or a sample of them, in their leaves.
    constraint : Constraint
        What is to be bounded.
    direction : {"any", "up"}
        ``"up"`` takes nothing off any leaf. The fit is restricted to that: where leaves correct each other, as in
        boosted ensembles, the free direction with its positive part left out would spoil many decisions.
    selection_sample : PlacedRows, optional
        Some of the rows that steps will be measured on, if they are others: the scores that the model gives them tell
        how sure it is of people whom it has not seen. The prices of several differences are found for these very
        people, who can certify no bound.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    ShiftOrder
        With step 0 only. Of two error rates of two groups it goes along a curve, else along a straight line.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import trace_path, view_ensemble
    >>> from eifffel.leaves.placing import PlacedRows
    >>> from eifffel.strategies import order_shift
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> tree = DecisionTreeClassifier().fit(age, paid)
    >>> path, view = trace_path(tree, age, paid, sensitive_features=sex), view_ensemble(tree)
    >>> placed = PlacedRows(age, view.apply(view.check_rows(age)), path.rows_to_check.rows, "scoring rows")
    >>> order = order_shift(view, placed, path.constraint)
    >>> (order.score > 0).tolist()  # the leaf of 20 is raised, that of all others lowered
    [False, True]
    """
    if goes_along_curve(constraint, direction):
        return fit_curve(view, Pricing.of(view, placed, selection_sample, constraint, n_jobs))
    fit = fit_placed(view, placed, n_jobs)
    target, aim = find_cell_weights(view, placed, constraint, fit, selection_sample, n_jobs)
    squares = fit(weigh_rows(placed.rows, target))
    score = squares.solve(DAMPING, ITERATIONS)
    most = 0.0 if direction == UP else np.inf  # that may be taken off
    if direction == UP:
        anything = np.full(len(score), -np.inf)
        score = squares.solve_within(anything, np.zeros(len(score)), score, DAMPING, UP_ITERATIONS)
    down, up = view.room(SCALE)
    for _ in range(0 if np.isinf(down).all() else ROUNDS):
        line = ShiftOrder.straight(score)
        parity = _parity(line, view, placed, constraint, n_jobs) if np.isinf(aim) else aim
        if parity == 0:  # no row can be moved
            break
        # -up_l <= parity * d_l <= down_l, and d_l <= 0 upwards
        high = np.minimum(down / parity, most)
        score = squares.solve_within(-up / parity, high, score, DAMPING, BOUNDED_ITERATIONS)
    return ShiftOrder.straight(score)


def goes_along_curve(constraint: Constraint, direction: str) -> bool:
    """Whether a shift goes along a curve: of two error rates, each of two groups, in any direction.

    Of more groups no curve is ahead of the line: what is counted of each is of fewer people (results/shift_groups.md).
    """
    sides = constraint.family[np.unique(constraint.pairs)]
    return direction == ANY and constraint.needs_labels and len(sides) == 4 and len(np.unique(sides)) == 2


def fit_curve(
    view: EnsembleView, pricing: Pricing, find: Callable[[PricedRows], np.ndarray] = find_knots
) -> ShiftOrder:
    """A direction for each difference, and the prices at the knots of the curve, which ``find`` finds."""
    directions = np.stack([squares.solve(DAMPING, ITERATIONS) for squares in pricing.squares])
    knots = find(pricing.price(directions))
    down, up = view.room(SCALE)
    for _ in range(0 if np.isinf(down).all() else ROUNDS):
        some = knots[np.unique(np.linspace(1, len(knots) - 1, KNOTS_WITHIN).astype(np.intp))]
        within = partial(_draw_within, some, down, up)
        directions = solve_within(pricing.squares, within, directions, DAMPING, BOUNDED_ITERATIONS)
        knots = find(pricing.price(directions))
    return ShiftOrder(directions, knots, np.zeros(1))


def _draw_within(knots: np.ndarray, down: np.ndarray, up: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """The directions, those of a leaf by a common factor, so that at the knots it is moved within its bounds."""
    amounts = knots @ directions
    lowered, raised = np.maximum(amounts.max(axis=0), 0), np.maximum(-amounts.min(axis=0), 0)
    with np.errstate(divide="ignore"):
        return directions * np.minimum(1, np.minimum(down / lowered, up / raised))


def _parity(
    order: ShiftOrder, view: EnsembleView, placed: PlacedRows, constraint: Constraint, n_jobs: int | None
) -> float:
    """Return the first lambda at which these rows show no discrimination; the last if that is step 0, or never so."""
    order = order.on_rows(view, placed, n_jobs=n_jobs)
    favorable = order.replay(view, placed, n_jobs=n_jobs, verbose=0)
    favorable, totals = (placed.rows.for_ratios(units) for units in (favorable, placed.rows.weigh_cells()))
    reached = constraint.worst(favorable, totals).value <= 0
    return float(order.positions[np.argmax(reached) or -1])
