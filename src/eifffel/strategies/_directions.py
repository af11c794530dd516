"""Directions: what is taken off each leaf for a price, so that the leaves of a row add up to how it is priced."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from eifffel.constraints import Constraint
from eifffel.ensembles import EnsembleView
from eifffel.leaves.placing import PlacedRows
from eifffel.rows.hashing import MOST_HASHES
from eifffel.strategies._calibration import ScoreCalibration, calibrate
from eifffel.strategies._least_squares import DAMPING, ITERATIONS, LeastSquares
from eifffel.strategies._prices import Differences, PricedRows

Fit = Callable[[np.ndarray], LeastSquares]


def fit_leaves(view: EnsembleView, index: np.ndarray, weight: np.ndarray, n_rows: int, n_jobs: int | None) -> Fit:
    """Return what fits leaves to targets of rows, so weighed that `DAMPING` counts rows.

    ``d = argmin_d sum_i w_i (t_i - sum over the leaves l of i of d_l)^2 + DAMPING sum_l d_l^2``
    """
    scale = min(n_rows, MOST_HASHES) / weight.sum()
    return partial(LeastSquares, index, view.leaf_offset, weight * scale, n_jobs=n_jobs)


def fit_placed(view: EnsembleView, placed: PlacedRows, n_jobs: int | None) -> Fit:
    """Return what fits leaves to targets of placed rows."""
    return fit_leaves(view, placed.index, placed.rows.weight, placed.n_rows or len(placed), n_jobs)


def count_people(placed: PlacedRows) -> float:
    """How many people rows stand for; of weights that differ, how many of equal weight would say as much."""
    weight = placed.rows.weight[placed.rows.weight > 0].astype(np.float64)
    n_rows = float(placed.n_rows or len(weight))
    if isinstance(placed.rows.unit, int):
        return n_rows
    # (sum w)^2 / sum w^2
    return n_rows * float(weight.mean() ** 2 / (weight**2).mean())


@dataclass(frozen=True, eq=False)
class Pricing:
    """What leaves are fitted to, where several differences are bounded: how rows are priced.

    Attributes
    ----------
    view : EnsembleView
    honest : PlacedRows
        Rows that tell how sure the model is of people whom it has not seen, and of whom prices are counted.
    score : ndarray of shape (n_rows,)
        The scores of these.
    calibration : ScoreCalibration
    constraint : Constraint
    differences : Differences
    squares : tuple of LeastSquares
        One for each difference, over the rows that leaves are fitted to.
    n_jobs : int or None
    """

    view: EnsembleView
    honest: PlacedRows
    score: np.ndarray
    calibration: ScoreCalibration
    constraint: Constraint
    differences: Differences
    squares: tuple[LeastSquares, ...]
    n_jobs: int | None

    @classmethod
    def of(
        cls,
        view: EnsembleView,
        placed: PlacedRows,
        searched: PlacedRows | None,
        constraint: Constraint,
        n_jobs: int | None,
        *,
        with_scoring_rows: bool = False,
    ) -> "Pricing":
        """Find out from the scoring rows, ``placed``, who is likely to be in which side.

        ``searched`` are the honest rows; ``None`` if there are no others than the scoring rows. Leaves are fitted to
        the honest rows alone, or to both (results/shift_curve.md).
        """
        honest = placed if searched is None else searched
        fitted_on = [placed] if searched is None else [placed, searched] if with_scoring_rows else [searched]
        index = np.concatenate([some.index for some in fitted_on], axis=1)
        # A sample weighs as many rows as it stands for.
        n_rows = [some.n_rows or len(some) for some in fitted_on]
        weight = np.concatenate(
            [some.rows.weight * (n / some.rows.weight.sum()) for some, n in zip(fitted_on, n_rows, strict=True)]
        )
        score = view.row_scores(index, n_jobs=n_jobs)
        score_of_honest = score[len(score) - len(honest) :]
        calibration = calibrate(view, score_of_honest, honest.rows.label, honest.rows.weight, count_people(honest))
        differences = Differences.of(constraint, _find_rates(constraint, honest, score_of_honest > 0))
        likeness = _find_likeness(view, placed, index, constraint, differences, n_jobs)
        # t = f / m(f) P(side | x, its label) sum over its labels of p_y / c_y / P(side), the scores f, margins m
        labels = calibration.label_shares(score)
        for column, side in zip(likeness.T, differences.sides, strict=True):
            column *= labels[constraint.members[side].any(axis=0)].sum(axis=0)
        target = calibration.score_per_margin(score)[:, None] * (likeness @ differences.of_sides)
        fit = fit_leaves(view, index, weight, sum(n_rows), n_jobs)
        squares = tuple(fit(column) for column in target.T)
        return cls(view, honest, score_of_honest, calibration, constraint, differences, squares, n_jobs)

    def price(self, directions: np.ndarray) -> PricedRows:
        """The honest rows, priced as leaves with these ``directions``, (n_prices, n_leaves), add up to."""
        per_margin = self.calibration.score_per_margin(self.score)
        pull = np.stack([self.view.sum_leaves(self.honest.index, d, n_jobs=self.n_jobs) for d in directions], axis=1)
        # E[1 / c | x] is the sum of p_y / c_y; its inverse is how much people of this score count.
        share = self.honest.rows.weight / self.calibration.label_shares(self.score).sum(axis=0)
        return PricedRows(
            margin=self.calibration.margin(self.score),
            likeness=pull / per_margin[:, None],
            share=share / self.honest.rows.weight.sum(),
            rows=self.honest.rows,
            constraint=self.constraint,
            differences=self.differences,
            n_people=count_people(self.honest),
        )


def _find_rates(constraint: Constraint, placed: PlacedRows, favorable: np.ndarray) -> np.ndarray:
    """The rate of each side among rows; 0 where it has none."""
    chosen, size = (constraint.count_sides(placed.rows.weigh_cells(part)) for part in (favorable, None))
    return np.divide(chosen, size, out=np.zeros(len(size)), where=size > 0)


def _find_likeness(
    view: EnsembleView,
    placed: PlacedRows,
    index: np.ndarray,
    constraint: Constraint,
    differences: Differences,
    n_jobs: int | None,
) -> np.ndarray:
    """The probability of each bounded side, given the label that it is of, over its share: (n_rows, n_sides).

    Of rows in the leaves ``index``; found by least squares among the scoring rows of that label.
    """
    share = constraint.count_sides(placed.rows.weigh_cells()) / placed.rows.weight.sum()
    likeness = np.empty((index.shape[1], len(differences.sides)))
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for column, side in zip(likeness.T, differences.sides, strict=True):
        members = constraint.members[side][:, : placed.rows.n_labels]
        of_label = np.broadcast_to(members.any(axis=0), members.shape)
        known = [1 - likely for others, likely in found if (others == of_label & ~members).all()]
        likely = known[0] if known else _find_likely(view, placed, index, members, of_label, n_jobs)
        found.append((members, likely))
        column[:] = likely / share[side]
    return likeness


def _find_likely(
    view: EnsembleView,
    placed: PlacedRows,
    index: np.ndarray,
    members: np.ndarray,
    of_label: np.ndarray,
    n_jobs: int | None,
) -> np.ndarray:
    """The probability that rows are in some cells, if they are in those of the same label."""
    asked = np.flatnonzero(of_label.ravel()[placed.rows.cell])
    leaves, weight = placed.index, placed.rows.weight
    n_rows = placed.n_rows or len(placed)
    if len(asked) < len(placed):
        n_rows = round(n_rows * (float(weight[asked].sum()) / float(weight.sum())))
        leaves, weight = leaves.take(asked, axis=1), weight[asked]
    inside = members.ravel()[placed.rows.cell[asked]].astype(np.float64)
    base = float(np.average(inside, weights=weight))
    squares = fit_leaves(view, leaves, weight, n_rows, n_jobs)(inside - base)
    direction = squares.solve(DAMPING, ITERATIONS)
    return np.clip(base + view.sum_leaves(index, direction, n_jobs=n_jobs), 0, 1)
