"""Shifting leaves: every leaf moves along a curve of prices.

``v -> v - sum_j price_j * d_j``, where the sum of a direction ``d_j`` over the leaves of a row says how much the row
counts in the j-th difference that is bounded. The curve is straight between its knots, and so is the score of each row
there, which changes its decision at most once between two knots, at a place that is known: sorting those gives the
whole path. This is the plug-in form of the optimal group-blind rule (Menon and Williamson 2018), written into leaves.

A straight line is a curve with two knots and one direction.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np
from sklearn.metrics import roc_auc_score

from eifffel._utils.parallel import jobs_for, run_threads, split_evenly
from eifffel.constraints import Constraint
from eifffel.ensembles import EnsembleView, NearTies, add_prices
from eifffel.exceptions import IndistinctGroupsWarning, ViewMismatchError, warn_caller
from eifffel.kernels import leaf_kernels, step_kernels
from eifffel.leaves.placing import PlacedRows
from eifffel.rows.hashing import MOST_HASHES
from eifffel.strategies._base import EditOrder, cumulate
from eifffel.strategies._steps import (
    STEPS_OF_SEARCH,
    Limit,
    blocks_of,
    count_up,
    cut_out,
    find_between,
    find_crossings,
    find_within,
    of_rows,
)

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
    """Directions for all leaves, the prices at the knots of a curve, and how far along it each step is.

    Attributes
    ----------
    directions : ndarray of shape (n_prices, n_leaves)
        What is taken off the score of each leaf for a price of 1.
    knots : ndarray of shape (n_knots, n_prices)
        The first is no price at all. Where there are two, the line through them goes on beyond the second.
    reach : ndarray of shape (n_steps + 1,)
        Where each step is: the k-th knot is at k, and the way from one to the next is straight. 0 at step 0.

    See Also
    --------
    order_shift : Fits the directions and finds the prices.

    Examples
    --------
    >>> import numpy as np
    >>> from eifffel.strategies import ShiftOrder
    >>> order = ShiftOrder.straight(np.array([0.2, 0.0, -0.5]), reach=[0.0, 0.5, 0.8])
    >>> order.n_steps, order.n_edited(1), order.leaves_at(1).tolist()  # the most shifted first
    (2, 2, [2, 0])
    >>> knots = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 3.0]])
    >>> bent = ShiftOrder(np.array([[0.2, 0.0, -0.5], [0.1, 0.1, 0.1]]), knots, np.array([0.0, 0.5, 1.5]))
    >>> bent.prices_at(bent.reach).tolist()
    [[0.0, 0.0], [0.5, 0.0], [1.0, 1.5]]
    """

    directions: np.ndarray
    knots: np.ndarray
    reach: np.ndarray

    @classmethod
    def straight(cls, direction: np.ndarray, reach: Any = (0.0,)) -> "ShiftOrder":
        """All leaves along one direction; a step is as far along it as ``reach`` says."""
        return cls(direction[None], np.array([[0.0], [1.0]]), np.asarray(reach, np.float64))

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("directions", "knots", "reach")}

    # A field of other orders; a property cannot stand for one in the eyes of mypy.
    @property
    def score(self) -> np.ndarray:  # type: ignore[override]
        """What is taken off the score of each leaf at the last knot."""
        return add_prices(self.knots[-1], self.directions)

    @property
    def positions(self) -> np.ndarray:
        return self.reach

    def prices_at(self, reach: np.ndarray) -> np.ndarray:
        """The prices at places of the curve, shape (n_places, n_prices)."""
        segment = np.clip(np.floor(reach), 0, len(self.knots) - 2).astype(np.intp)
        begin = self.knots[segment]
        return begin + (reach - segment)[:, None] * (self.knots[segment + 1] - begin)

    def on_rows(
        self, view: EnsembleView, placed: PlacedRows, *, some: bool = False, n_jobs: int | None = None
    ) -> "ShiftOrder":
        lines = RowLines.of(self, view, placed, n_jobs)
        rounding, growth = view.step_width(self.directions)
        largest = np.array([view.largest_sum(direction) for direction in self.directions])
        lows, highs = [], []
        for segment in self._segments(view):
            if segment.ties is None:
                lows.append(np.array([segment.place]))
                highs.append(np.array([segment.place + segment.length]))
                continue
            limits = segment.limits(rounding, growth)
            _, start, pull = segment.cut(lines, limits, n_jobs=n_jobs)
            moved = np.abs(pull) > NO_PULL * (np.abs(segment.slope) @ largest)
            low, high = find_crossings(start, pull, moved, *limits, segment.length, n_jobs=n_jobs)
            if segment.place:  # before it, another line is what rows are on
                low = np.maximum(low, 0)
            lows.append(segment.place + low)
            highs.append(segment.place + np.minimum(high, segment.length))
        reach = find_between(np.concatenate(lows), np.concatenate(highs), self._end, n_jobs=n_jobs)
        # Right at no price at all is the original model, whose ties are not those of an edit: that is step 0 alone.
        prices = self.prices_at(reach)
        kept = view.can_shift(self.directions, prices) & prices.any(axis=1)
        reach = np.append(0.0, reach[1:][kept[1:]])
        order = replace(self, reach=reach)
        if not view.decides_quickly:
            lines = lines.find_near(view, self, n_jobs)
            order = order._ask_less(view, lines, n_jobs)
        if some and order.n_steps > GRID:  # as many crossings of the sample between any two
            order = replace(order, reach=order.reach[np.append(0, np.linspace(1, order.n_steps, GRID).astype(np.intp))])
        object.__setattr__(order, "_known", lines)  # a replay on these rows comes next
        return order

    def _ask_less(self, view: EnsembleView, lines: "RowLines", n_jobs: int | None) -> "ShiftOrder":
        """The same without some of the steps at which the model must be asked about rows, if these are many."""
        n_asked = np.zeros(self.n_steps + 2, np.int64)
        for part in self._pass(view, lines, n_jobs):
            for low, high in part.uncertain():
                np.add.at(n_asked, low, 1)
                np.add.at(n_asked, high, -1)
        asked = np.flatnonzero(np.cumsum(n_asked[:-1]))
        if len(asked) <= MOST_ASKED:
            return self
        kept = np.ones(self.n_steps + 1, bool)
        kept[asked] = False
        kept[asked[np.linspace(0, len(asked) - 1, MOST_ASKED).astype(np.intp)]] = True
        return replace(self, reach=self.reach[kept])

    def review(self, view: EnsembleView, placed: PlacedRows, constraint: Constraint) -> None:
        if len(constraint.pairs) > 1:  # what a leaf takes off then depends on how sure the model is, too
            return
        rows, some = placed.rows, np.arange(len(placed))
        if len(some) > MOST_HASHES:  # so many say it well enough
            some = np.linspace(0, len(some) - 1, MOST_HASHES).astype(np.intp)
        pull = self._lines_of(view, placed, None).pull[0][some]
        in_side = constraint.members[constraint.pairs[0]][:, :, : rows.n_labels].reshape(2, -1)[:, rows.cell[some]]
        compared, weight = in_side.any(axis=0), rows.weight[some]
        if not all(weight[side].any() for side in in_side):
            return
        # P(pull_a > pull_b) of a pair of people of the sides a and b, ties counted half
        distinct = roc_auc_score(in_side[0][compared], pull[compared], sample_weight=weight[compared])
        if distinct < DISTINCT:
            warn_caller(
                f"the leaves of this {type(view.model).__name__} hardly tell the groups apart: of all pairs of the "
                f"{placed.name} they rank the privileged person first in {distinct:.0%}, where 50% is chance. Lowering "
                "discrimination then costs much accuracy; look at path.accuracy before you choose a bound",
                IndistinctGroupsWarning,
            )

    def leaves_at(self, step: int) -> np.ndarray:
        if step == 0:
            return np.arange(0)
        moved = np.flatnonzero(self._is_moved)
        by_step, by_end = (-np.abs(amount[moved]) for amount in (self._amount(step), self.score))
        return moved[np.lexsort((by_end, by_step))]

    def n_edited(self, step: int) -> int:
        return int(np.count_nonzero(self._is_moved)) if step else 0

    @property
    def _is_moved(self) -> np.ndarray:
        """Which leaves have a direction."""
        return np.any(self.directions, axis=0)

    def _amount(self, step: int) -> np.ndarray:
        """What is taken off the score of each leaf at a step."""
        return add_prices(self.prices_at(self.reach[step : step + 1])[0], self.directions)

    def step_of(self, leaves: np.ndarray) -> np.ndarray:
        return np.ones(len(leaves), np.int64)

    def edit(self, view: EnsembleView, step: int) -> tuple[np.ndarray, float]:
        if step == 0:
            return view.leaf_value, 1.0
        return view.shift(self._amount(step))

    def outcomes(self, view: EnsembleView, leaves: np.ndarray, step: int) -> list[str]:
        change = view.favor(self.edit(view, step)[0])[leaves] - view.favor(view.leaf_value)[leaves]
        return [f"{'more' if by > 0 else 'less'} favorable by {abs(by):.3g}" for by in change]

    def replay(self, view: EnsembleView, placed: PlacedRows, *, n_jobs: int | None, verbose: int) -> np.ndarray:
        rows = placed.rows
        lines = self._lines_of(view, placed, n_jobs).find_near(view, self, n_jobs)
        object.__setattr__(self, "_known", None)  # which takes as much memory as the rows, and is not needed again
        decided = placed.decide(view, n_jobs, lines.start).copy()
        assert lines.near is not None
        ties = lines.near.favorable
        ties = placed.decide(view, n_jobs, lines.start) if ties is None else ties
        changes = np.zeros((rows.n_groups * rows.n_labels, self.n_steps + 1), np.int64)
        changes[:, 0] = rows.weigh_cells(decided).ravel()
        for part in self._pass(view, lines, n_jobs, decided):
            own, cell, weight = part.rows, rows.cell, rows.weight
            before, after, last, cell, weight = part.start > 0, part.pull < 0, decided[own], cell[own], weight[own]
            steps = (part.begin, part.end, part.first, part.stop)
            leaf_kernels.count_crossings(last, before, ties[own], after, *steps, cell, weight, changes)
            decided[own] = last
            self._count_near(view, placed, part, ties, changes, n_jobs)
        return cumulate([changes], rows.n_labels)

    def _count_near(
        self,
        view: EnsembleView,
        placed: PlacedRows,
        part: "RowsOnLine",
        ties: np.ndarray,
        changes: np.ndarray,
        n_jobs: int | None,
    ) -> None:
        """Put right what ``changes`` has of the steps at which neither the sign nor the side of ties decides a row."""
        cell, weight = placed.rows.cell, placed.rows.weight
        some = np.arange(len(placed))[part.rows][part.near]
        last = changes.shape[1] - 1
        for low, high in part.uncertain():
            for block in blocks_of(high - low):
                row = np.repeat(some[block], high[block] - low[block])
                step = count_up(low[block], high[block])
                prices = self.prices_at(self.reach[step])
                decided = view.decide_shifted(self.directions, prices, placed.index, row, placed.X, n_jobs=n_jobs)
                wrong = np.flatnonzero(decided != ties[row])
                row, step = row[wrong], step[wrong]
                more = np.where(decided[wrong], weight[row], -weight[row])
                np.add.at(changes, (cell[row], step), more)
                on = step < last
                np.add.at(changes, (cell[row[on]], step[on] + 1), -more[on])

    def _lines_of(self, view: EnsembleView, placed: PlacedRows, n_jobs: int | None) -> "RowLines":
        """The lines of rows, which are known if these have just made the steps."""
        known: RowLines | None = getattr(self, "_known", None)
        return RowLines.of(self, view, placed, n_jobs) if known is None or known.leaves is not placed.index else known

    @property
    def _end(self) -> float:
        """Where the curve ends."""
        return np.inf if len(self.knots) == 2 else len(self.knots) - 1.0

    def _segments(self, view: EnsembleView) -> Iterator["Segment"]:
        """The lines between the knots."""
        known = _SEGMENTS.get(self)
        if known is None or known[0]() is not view:
            known = ref(view), list(self._find_segments(view))
            _SEGMENTS[self] = known
        yield from known[1]

    def _find_segments(self, view: EnsembleView) -> Iterator["Segment"]:
        for k, (begin, end) in enumerate(pairwise(self.knots)):
            length = np.inf if len(self.knots) == 2 else 1.0
            yield Segment(k, begin, end - begin, length, view.ties_along(self.directions, begin, end))

    def _pass(
        self, view: EnsembleView, lines: "RowLines", n_jobs: int | None, decided: np.ndarray | None = None
    ) -> Iterator["RowsOnLine"]:
        """Rows along one line after the other, those alone that may change there.

        ``decided`` is what rows are decided, and is looked at when a line begins.
        """
        near = lines.near
        assert near is not None
        borders = np.searchsorted(self.reach, np.arange(1, len(self.knots) - 1)).tolist()
        ranges = pairwise([1, *borders, self.n_steps + 1])
        for segment, (first, stop) in zip(self._segments(view), ranges, strict=True):
            if first >= stop:
                continue
            if segment.ties is None:
                raise ViewMismatchError(
                    "steps of this path are where ties of its model change sides, and no path has steps there; its "
                    "file is damaged: trace the path again"
                )
            of_all = segment.limits(near.rounding, near.growth)
            rows, start, pull = segment.cut(lines, of_all, decided, n_jobs=n_jobs)
            limits = of_rows(of_all, rows)
            reach = np.append(0.0, self.reach[first:stop] - segment.place)
            begin, end = (step + (first - 1) for step in find_within(reach, start, pull, *limits, n_jobs=n_jobs))
            some = np.flatnonzero(end > begin)
            at_ties, more = segment.ties
            tie_rounding = of_rows((near.tie_rounding,), rows)[0]
            ties = of_rows((tie_rounding + at_ties, more), some)
            inner = tuple(step + (first - 1) for step in find_within(reach, start[some], pull[some], *ties))
            yield RowsOnLine(rows, start, pull, first, stop, begin, end, some, inner)


# The segments of orders, with the view that they were found for: batches of rows follow each other. Beside the orders,
# which are stored, and hold no models.
_SEGMENTS: WeakKeyDictionary[ShiftOrder, tuple[ref[EnsembleView], list["Segment"]]] = WeakKeyDictionary()


class RowLines(NamedTuple):
    """What the score of each row is, and what prices take off it.

    Attributes
    ----------
    leaves : ndarray
        The leaves of the rows, by which they are known again.
    start : ndarray of shape (n_rows,)
        ``bias`` and the sum over the leaves of a row of their scores.
    pull : ndarray of shape (n_prices, n_rows)
        The sum over the leaves of a row of each direction.
    near : NearTies or None
        Which of them are near the cut-off, if that was asked.
    """

    leaves: np.ndarray
    start: np.ndarray
    pull: np.ndarray
    near: NearTies | None

    @classmethod
    def of(cls, order: ShiftOrder, view: EnsembleView, placed: PlacedRows, n_jobs: int | None) -> "RowLines":
        pull = np.stack([view.sum_leaves(placed.index, d, n_jobs=n_jobs) for d in order.directions])
        return cls(placed.index, placed.add_up(view, n_jobs), pull, None)

    def find_near(self, view: EnsembleView, order: ShiftOrder, n_jobs: int | None) -> "RowLines":
        """The same, and which rows are near the cut-off."""
        if self.near is not None:
            return self
        return self._replace(near=view.near_ties(self.leaves, order.directions, n_jobs=n_jobs))


class Segment(NamedTuple):
    """The prices ``begin + u * slope`` for u from 0 to a length.

    Attributes
    ----------
    place : int
        Where it begins on the curve.
    begin, slope : ndarray of shape (n_prices,)
    length : float
    ties : tuple of float, or None
        See `EnsembleView.ties_along`; without them no step can be here.
    """

    place: int
    begin: np.ndarray
    slope: np.ndarray
    length: float
    ties: tuple[float, float] | None

    def limits(self, rounding: Limit, growth: np.ndarray) -> tuple[Limit, Limit]:
        """How near to 0 a score must be to need a second look: at the beginning, and how much more per u."""
        return rounding + add_prices(np.abs(self.begin), growth), add_prices(np.abs(self.slope), growth)

    def cut(
        self,
        lines: RowLines,
        limits: tuple[Limit, Limit],
        decided: np.ndarray | None = None,
        *,
        n_jobs: int | None = 1,
    ) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray]:
        """The rows that cross here or come near, or are decided otherwise than they begin; their scores and pulls.

        All of them where there is but one line.
        """
        if np.isinf(self.length):
            return slice(None), lines.start, add_prices(self.slope, lines.pull)
        n_rows = len(lines.start)
        rounding, growth = (np.broadcast_to(np.asarray(limit, np.float64), n_rows) for limit in limits)
        row, start, drift = np.empty(n_rows, np.int64), np.empty(n_rows), np.empty(n_rows)

        def find(part: slice) -> slice:
            asked = np.empty(0, bool) if decided is None else decided[part]
            given = lines.start[part], lines.pull[:, part], self.begin, self.slope, rounding[part], growth[part], asked
            n_found = step_kernels.find_movable(*given, row[part], start[part], drift[part])
            row[part.start : part.start + n_found] += part.start
            return slice(part.start, part.start + n_found)

        n_jobs = jobs_for(STEPS_OF_SEARCH * n_rows, n_jobs)
        found = run_threads(find, split_evenly(n_rows, n_jobs), n_jobs=n_jobs, verbose=0, description="rows that move")
        if len(found) == 1:
            return row[found[0]], start[found[0]], drift[found[0]]
        moved = tuple(np.concatenate([of_all[part] for part in found]) for of_all in (row, start, drift))
        return moved[0], moved[1], moved[2]


class RowsOnLine(NamedTuple):
    """Rows along a line, and from which step to which each is near the cut-off.

    Attributes
    ----------
    rows : ndarray or slice
        Which rows they are.
    start, pull : ndarray
        Their score at ``u`` is ``start - u * pull``.
    first, stop : int
        The steps along the line.
    begin, end : ndarray
        From which step on each is near, and no longer.
    near : ndarray
        The places of those that are near at some step.
    ties : pair of ndarray
        From which step on, and up to which, the side of ties decides these.
    """

    rows: np.ndarray | slice
    start: np.ndarray
    pull: np.ndarray
    first: int
    stop: int
    begin: np.ndarray
    end: np.ndarray
    near: np.ndarray
    ties: tuple[np.ndarray, ...]

    def uncertain(self) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """The steps at which neither sign nor ties decide those who are near: before and after the ties."""
        return cut_out(self.begin[self.near], self.end[self.near], *self.ties)
