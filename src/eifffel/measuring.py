"""The last pass: an order of edits and rows in their leaves -> what is decided about them after every step."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import parallel_config

from eifffel.comparison import Compared
from eifffel.constraints import Constraint
from eifffel.ensembles import EnsembleView
from eifffel.exceptions import FeaturesNeededError, ViewMismatchError
from eifffel.leaves.placing import PlacedRows, Placing, RowsInLeaves, halve
from eifffel.leaves.training import Training, add_counts
from eifffel.path_counts import MEASURED_ROWS, PathCounts
from eifffel.rows.batches import Batches
from eifffel.rows.coding import Rows
from eifffel.rows.kinds import RowKinds
from eifffel.rows.survey import survey_batches
from eifffel.strategies import EditOrder


@dataclass(frozen=True, eq=False)
class RowsAtHand:
    """Rows as they were given, and how many of them are decided favourably after each step, in units."""

    X: Any
    rows: Rows
    favorable: np.ndarray

    def check_written(self, written: EnsembleView, step: int) -> None:
        """Raise unless a written model decides these rows as was measured for a step."""
        written.verify(self.X)
        with parallel_config(backend="sequential"):  # one job adds the trees in their order
            decided = written.model_decides(self.X)
        off_by = np.abs(self.rows.weigh_cells(decided) - self.favorable[step])
        if off_by.any():
            raise ViewMismatchError(
                f"the edited {type(written.around.outer).__name__} decides {int(off_by.sum())} rows otherwise than the "
                f"path says for step {step}. If X was changed since, trace or measure again; else please report this "
                "with the versions of the libraries"
            )


@dataclass(frozen=True, eq=False)
class StepCounts:
    """What is decided about rows after each step; additive over them.

    Attributes
    ----------
    favorable : ndarray of shape (n_steps + 1, n_groups, n_labels)
        Weight of those decided favourably after each step, in units.
    totals, n_rows : ndarray of shape (n_groups, n_labels)
        Weight of all of them, in units, and how many there are.
    unit : int or float
        The weight of a row that counts 1.
    """

    favorable: np.ndarray
    totals: np.ndarray
    n_rows: np.ndarray
    unit: float

    @classmethod
    def of(
        cls, order: EditOrder, view: EnsembleView, placed: PlacedRows, n_jobs: int | None, verbose: int
    ) -> "StepCounts":
        rows = placed.rows
        favorable = order.replay(view, placed, n_jobs=n_jobs, verbose=verbose)
        return cls(favorable, rows.weigh_cells(), rows.count_cells(), rows.unit)

    def join(self, other: "StepCounts") -> "StepCounts":
        favorable, totals = self.favorable + other.favorable, self.totals + other.totals
        return StepCounts(favorable, totals, self.n_rows + other.n_rows, self.unit)

    def path_counts(self, name: str, constraint: Constraint) -> PathCounts:
        """The counts of a path; ``name`` is what the rows are called."""
        whole = isinstance(self.unit, int)
        favorable, totals = (units if whole else units * self.unit for units in (self.favorable, self.totals))
        return PathCounts(favorable, totals, name, self.n_rows.sum(axis=1), constraint)


@dataclass(frozen=True, eq=False)
class Measured:
    """All that a pass over rows finds.

    Attributes
    ----------
    steps : StepCounts
        Of all rows.
    apart : StepCounts or None
        Of the half that was kept apart, if one was.
    at_hand : RowsAtHand or None
        The rows, or some of them, to check written models with.
    kinds : RowKinds
        The kinds of rows there are.
    in_tree : ndarray or None
        How many of them fall into each leaf of the tree that `Training` looks at.
    """

    steps: StepCounts
    apart: StepCounts | None
    at_hand: RowsAtHand | None
    kinds: RowKinds
    in_tree: np.ndarray | None

    def join(self, other: "Measured") -> "Measured":
        apart = self.apart or other.apart
        if self.apart is not None and other.apart is not None:
            apart = self.apart.join(other.apart)
        kinds, in_tree = self.kinds.join(other.kinds), add_counts(self.in_tree, other.in_tree)
        return Measured(self.steps.join(other.steps), apart, self.at_hand, kinds, in_tree)


def measure_rows(
    view: EnsembleView,
    chosen_on: RowsInLeaves,
    order: EditOrder,
    *,
    keep_apart: bool = False,
    training: Training | None = None,
    n_jobs: int | None,
    verbose: int,
) -> Measured:
    """Measure every step on rows; ``keep_apart`` half of them by themselves too."""
    work = partial(
        measure_batch,
        view=view,
        order=order,
        keep_apart=keep_apart,
        training=training,
        alone=chosen_on.placing.alone,
        at_hand=not chosen_on.given.stay,
        n_jobs=n_jobs,
        verbose=verbose if chosen_on.placing.alone else 0,
    )
    try:
        measured: Measured = chosen_on.reduce(work, Measured.join, "replaying edits")
    except FeaturesNeededError:
        measured = chosen_on.with_features().reduce(work, Measured.join, "replaying edits")
    chosen_on.check_same(measured.steps.n_rows)
    return measured


def measure_given(
    view: EnsembleView,
    compared: Compared,
    given: Batches,
    order: EditOrder,
    *,
    n_jobs: int | None,
    verbose: int,
) -> tuple[PathCounts, Measured]:
    """Measure every step on rows as they are given, and all that was found of them."""
    called = f"the {MEASURED_ROWS}"
    survey = survey_batches(given, compared.groups.missing, rows=called, verbose=verbose)
    placing = Placing(view, compared.coding, survey, MEASURED_ROWS, called, given.alone is not None, n_jobs, verbose)
    rows = RowsInLeaves.of(given, placing)
    constraint = compared.constraint.on_rows(rows.cells, rows=called)
    measured = measure_rows(view, rows, order, training=Training.of(view), n_jobs=n_jobs, verbose=verbose)
    return measured.steps.path_counts(MEASURED_ROWS, constraint), measured


def measure_batch(
    placed: PlacedRows,
    *,
    view: EnsembleView,
    order: EditOrder,
    keep_apart: bool,
    training: Training | None,
    alone: bool,
    at_hand: bool,
    n_jobs: int | None,
    verbose: int,
) -> Measured:
    """Measure every step on some rows."""
    steps = StepCounts.of(order, view, placed, n_jobs, verbose)
    apart = None
    if keep_apart:
        inside = halve(placed.rows, None if alone else placed.kind)
        others = placed.take(np.flatnonzero(~inside), placed.name)
        apart = StepCounts.of(order, view, others, n_jobs, verbose) if len(others) else None
    return Measured(
        steps=steps,
        apart=apart,
        at_hand=RowsAtHand(placed.X, placed.rows, steps.favorable) if at_hand and placed.X is not None else None,
        kinds=placed.kinds,
        in_tree=None if training is None else training.count(placed),
    )
