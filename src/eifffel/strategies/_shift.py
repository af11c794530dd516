"""Shifting leaves: every leaf moves along one direction, by lambda times as much.

``v -> v - lambda * d``, where the direction ``d`` is fitted so that the sum of it over the leaves of a row predicts
the weight of that row in what is bounded. A row's score is then linear in lambda, and its decision changes at most
once, at a lambda that is known: sorting those gives the whole path. This is the plug-in form of the optimal group-blind
rule (Menon and Williamson 2018), written into leaves.

For one difference of two rates the weights are known: one over the share of each side, with its sign. For several
they are not, and `_weighing` finds them.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from eifffel.constraints import Constraint
from eifffel.ensembles import EnsembleView, NearTies
from eifffel.exceptions import IndistinctGroupsWarning, warn_caller
from eifffel.kernels import leaf_kernels
from eifffel.leaves.placing import PlacedRows
from eifffel.rows.hashing import MOST_HASHES
from eifffel.strategies._base import ANY, UP, EditOrder, cumulate
from eifffel.strategies._least_squares import DAMPING, ITERATIONS, LeastSquares
from eifffel.strategies._steps import blocks_of, count_up, cut_out, find_between, find_within, of_rows
from eifffel.strategies._weighing import find_cell_weights, weigh_rows

# Where leaves must stay fractions: the factor by which all may have to be scaled where the scoring rows show no
# discrimination; how many times the bounds that follow are drawn again, and how many steps are made within them.
SCALE = 0.7
ROUNDS = 2
BOUNDED_ITERATIONS = 15
# Steps within the bound that nothing is taken off any leaf.
UP_ITERATIONS = 40
# A row that the direction pulls less than this, relative to the most that it could pull one, makes no step.
NO_PULL = 1e-10
# Steps at which the model itself may have to be asked about rows near its cut-off.
MOST_ASKED = 100
# Steps where not all rows are in memory, whose crossings would make more.
GRID = 10_000
# Below this share of pairs ranked rightly, the pull of the leaves says little of the group.
DISTINCT = 0.75


@dataclass(frozen=True, eq=False)
class ShiftOrder(EditOrder):
    """One direction for all leaves, and how far along it each step is.

    Attributes
    ----------
    score : ndarray of shape (n_leaves,)
        The direction: what is taken off the score of each leaf at ``lambda = 1``.
    reach : ndarray of shape (n_steps + 1,)
        Lambda at each step, 0 at step 0.
    target : ndarray of shape (n_groups, 2)
        The weight of a row in what is bounded, by its group and label, which the direction predicts.

    See Also
    --------
    order_shift : Fits the direction.

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.strategies import ShiftOrder
    >>> direction, target = np.array([0.2, 0.0, -0.5]), np.array([[-2.0, -2.0], [2.0, 2.0]])
    >>> order = ShiftOrder(score=direction, reach=np.array([0.0, 0.5, 0.8]), target=target)
    >>> order.n_steps, order.n_edited(1), order.leaves_at(1).tolist()  # the most shifted first
    (2, 2, [2, 0])
    """

    score: np.ndarray
    reach: np.ndarray
    target: np.ndarray

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("score", "reach", "target")}

    @property
    def positions(self) -> np.ndarray:
        return self.reach

    def on_rows(
        self, view: EnsembleView, placed: PlacedRows, *, some: bool = False, n_jobs: int | None = None
    ) -> "ShiftOrder":
        start, pull = self._lines(view, placed, n_jobs=n_jobs)
        moved = np.abs(pull) > NO_PULL * view.largest_sum(self.score)
        reach = find_between(start, pull, moved, *view.step_width(self.score), n_jobs=n_jobs)
        reach = reach[reach <= view.farthest(self.score)]
        near = None
        if not view.decides_quickly:
            near = view.near_ties(placed.index, self.score, n_jobs=n_jobs)
            reach = self._ask_less(reach, start, pull, near, n_jobs)
        if some and len(reach) > GRID + 1:  # as many crossings of the sample between any two
            reach = reach[np.append(0, np.linspace(1, len(reach) - 1, GRID).astype(np.intp))]
        order = replace(self, reach=reach)
        object.__setattr__(
            order, "_known", KnownLines(placed.index, start, pull, near)
        )  # a replay on these rows comes next
        return order

    def _ask_less(
        self, reach: np.ndarray, start: np.ndarray, pull: np.ndarray, near: NearTies, n_jobs: int | None
    ) -> np.ndarray:
        """Return the steps without some of those at which the model must be asked about rows, if these are many."""
        begin, end = find_within(reach, start, pull, *near.limits, n_jobs=n_jobs)
        n_asked = np.zeros(len(reach) + 1, np.int64)
        some = np.flatnonzero(end > begin)
        begin, end, start, pull = begin[some], end[some], start[some], pull[some]
        for low, high in cut_out(begin, end, *find_within(reach, start, pull, *of_rows(near.tie_limits, some))):
            np.add.at(n_asked, low, 1)
            np.add.at(n_asked, high, -1)
        asked = np.flatnonzero(np.cumsum(n_asked[:-1]))
        if len(asked) <= MOST_ASKED:
            return reach
        kept = np.ones(len(reach), bool)
        kept[asked] = False
        kept[asked[np.linspace(0, len(asked) - 1, MOST_ASKED).astype(np.intp)]] = True
        return reach[kept]

    def review(self, view: EnsembleView, placed: PlacedRows, constraint: Constraint) -> None:
        if len(constraint.pairs) > 1:  # the pull predicts how people are weighed then, not a group
            return
        rows = placed.rows
        pull = self._lines_of(view, placed, n_jobs=None).pull
        target = weigh_rows(rows, self.target)
        weight = np.abs(target) * rows.weight
        if len(pull) > MOST_HASHES:  # so many say it well enough
            some = np.linspace(0, len(pull) - 1, MOST_HASHES).astype(np.intp)
            pull, target, weight = pull[some], target[some], weight[some]
        if not all(weight[side].any() for side in (target > 0, target < 0)):
            return
        # P(pull_a > pull_b) of a pair with target_a > 0 > target_b, ties counted half, pairs weighed by w |target|
        distinct = roc_auc_score(target > 0, pull, sample_weight=weight)
        if distinct < DISTINCT:
            warn_caller(
                f"the leaves of this {type(view.model).__name__} hardly tell the groups apart: of all pairs of the "
                f"{placed.name} they rank the privileged person first in {distinct:.0%}, where 50% is chance. Lowering "
                "discrimination then costs much accuracy; look at path.accuracy before you choose a bound",
                IndistinctGroupsWarning,
            )

    def leaves_at(self, step: int) -> np.ndarray:
        moved = np.flatnonzero(self.score) if step else np.arange(0)
        return moved[np.argsort(-np.abs(self.score[moved]), kind="stable")]

    def n_edited(self, step: int) -> int:
        return int(np.count_nonzero(self.score)) if step else 0

    def step_of(self, leaves: np.ndarray) -> np.ndarray:
        return np.ones(len(leaves), np.int64)

    def edit(self, view: EnsembleView, step: int) -> tuple[np.ndarray, float]:
        if step == 0:
            return view.leaf_value, 1.0
        return view.shift(self.positions[step] * self.score)

    def outcomes(self, view: EnsembleView, leaves: np.ndarray, step: int) -> list[str]:
        change = view.favor(self.edit(view, step)[0])[leaves] - view.favor(view.leaf_value)[leaves]
        return [f"{'more' if by > 0 else 'less'} favorable by {abs(by):.3g}" for by in change]

    def replay(self, view: EnsembleView, placed: PlacedRows, *, n_jobs: int | None, verbose: int) -> np.ndarray:
        rows = placed.rows
        known = self._lines_of(view, placed, n_jobs=n_jobs)
        object.__setattr__(self, "_known", None)  # which takes as much memory as the rows, and is not needed again
        start, pull, near = known.start, known.pull, known.near
        if near is None:
            near = view.near_ties(placed.index, self.score, n_jobs=n_jobs)
        first = placed.decide(view, n_jobs, start)
        begin, end = find_within(self.reach, start, pull, *near.limits, n_jobs=n_jobs)
        between = first if near.favorable is None else near.favorable
        changes = np.zeros((rows.n_groups * rows.n_labels, self.n_steps + 1), np.int64)
        leaf_kernels.count_crossings(first, start > 0, between, pull < 0, begin, end, rows.cell, rows.weight, changes)
        self._count_near(view, placed, start, pull, near, between, begin, end, changes, n_jobs)
        return cumulate([changes], rows.n_labels)

    def _count_near(
        self,
        view: EnsembleView,
        placed: PlacedRows,
        start: np.ndarray,
        pull: np.ndarray,
        near: NearTies,
        between: np.ndarray,
        begin: np.ndarray,
        end: np.ndarray,
        changes: np.ndarray,
        n_jobs: int | None,
    ) -> None:
        """Put right what ``changes`` has of the steps at which neither the sign nor the side of ties decides a row."""
        some = np.flatnonzero(end > begin)
        ties = of_rows(near.tie_limits, some)
        tie_begin, tie_end = find_within(self.reach, start[some], pull[some], *ties)
        cell, weight = placed.rows.cell, placed.rows.weight
        last = changes.shape[1] - 1
        for low, high in cut_out(begin[some], end[some], tie_begin, tie_end):
            for part in blocks_of(high - low):
                row = np.repeat(some[part], high[part] - low[part])
                step = count_up(low[part], high[part])
                reach = self.reach[step]
                decided = view.decide_shifted(self.score, reach, placed.index, row, placed.X, n_jobs=n_jobs)
                wrong = np.flatnonzero(decided != between[row])
                row, step = row[wrong], step[wrong]
                more = np.where(decided[wrong], weight[row], -weight[row])
                np.add.at(changes, (cell[row], step), more)
                on = step < last
                np.add.at(changes, (cell[row[on]], step[on] + 1), -more[on])

    def _lines_of(self, view: EnsembleView, placed: PlacedRows, *, n_jobs: int | None) -> "KnownLines":
        """Return the lines of rows, which are known if these have just made the steps."""
        known: KnownLines | None = getattr(self, "_known", None)
        if known is None or known.leaves is not placed.index:
            known = KnownLines(placed.index, *self._lines(view, placed, n_jobs=n_jobs), None)
        return known

    def _lines(self, view: EnsembleView, placed: PlacedRows, *, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the score of each row and what lambda takes off it: ``start - lambda * pull``."""
        # start_i = bias + sum over the leaves of i of their scores, pull_i = sum over the leaves of i of d
        return placed.add_up(view, n_jobs), view.sum_leaves(placed.index, self.score, n_jobs=n_jobs)


class KnownLines(NamedTuple):
    """The scores of rows along a direction, and which of them are near the cut-off, if that was asked."""

    leaves: np.ndarray
    start: np.ndarray
    pull: np.ndarray
    near: NearTies | None


def order_shift(
    view: EnsembleView,
    placed: PlacedRows,
    constraint: Constraint,
    *,
    direction: str = ANY,
    selection_sample: PlacedRows | None = None,
    n_jobs: int | None = None,
) -> ShiftOrder:
    """Fit the direction to these rows; its steps come from the rows that `on_rows` is given.

    Leaves that hold fractions are bounded: at the lambda at which these rows show no discrimination, scaling by `SCALE`
    brings each between 0 and 1. Unbounded, a few leaves would go so far that all had to be scaled to almost nothing.

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
        how sure it is of people whom it has not seen. Where their features give the group away, several groups are then
        weighed to suit these very people, who can certify no bound.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    ShiftOrder
        With step 0 only.

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
    rows = placed.rows
    n_rows = min(placed.n_rows or len(placed), MOST_HASHES)
    weight = rows.weight * (n_rows / rows.weight.sum())  # sum_i w_i = n, so that DAMPING counts rows
    # d = argmin_d sum_i w_i (t_i - sum over the leaves l of i of d_l)^2 + DAMPING sum_l d_l^2
    fit = partial(LeastSquares, placed.index, view.leaf_offset, weight, n_jobs=n_jobs)
    target, aim = find_cell_weights(view, placed, constraint, fit, selection_sample, n_jobs)
    squares = fit(weigh_rows(rows, target))
    score = squares.solve(DAMPING, ITERATIONS)
    most = 0.0 if direction == UP else np.inf  # that may be taken off
    if direction == UP:
        anything = np.full(len(score), -np.inf)
        score = squares.solve_within(anything, np.zeros(len(score)), score, DAMPING, UP_ITERATIONS)
    order = ShiftOrder(score=score, reach=np.zeros(1), target=target)
    down, up = view.room(SCALE)
    for _ in range(0 if np.isinf(down).all() else ROUNDS):
        parity = _parity(order, view, placed, constraint, n_jobs) if np.isinf(aim) else aim
        if parity == 0:  # no row can be moved
            break
        # -up_l <= parity * d_l <= down_l, and d_l <= 0 upwards
        high = np.minimum(down / parity, most)
        within = squares.solve_within(-up / parity, high, order.score, DAMPING, BOUNDED_ITERATIONS)
        order = replace(order, score=within)
    return order


def _parity(
    order: ShiftOrder, view: EnsembleView, placed: PlacedRows, constraint: Constraint, n_jobs: int | None
) -> float:
    """Return the first lambda at which these rows show no discrimination; the last if that is step 0, or never so."""
    order = order.on_rows(view, placed, n_jobs=n_jobs)
    favorable = order.replay(view, placed, n_jobs=n_jobs, verbose=0)
    favorable, totals = (placed.rows.for_ratios(units) for units in (favorable, placed.rows.weigh_cells()))
    reached = constraint.worst(favorable, totals).value <= 0
    return float(order.positions[np.argmax(reached) or -1])
