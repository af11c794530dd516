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
from eifffel.leaves.placing import PlacedRows, Placing, RowsInLeaves
from eifffel.leaves.training import Training, add_counts
from eifffel.rows.batches import Batches
from eifffel.rows.coding import Rows
from eifffel.rows.hashing import RowHashes
from eifffel.rows.parts import draw_searched
from eifffel.rows.survey import survey_batches
from eifffel.selection.counts import MEASURED_ROWS, SEARCHED, PathCounts
from eifffel.strategies import EditOrder


@dataclass(frozen=True, eq=False)
class RowsToCheck:
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
                f"the edited {type(written.wrappers.outer).__name__} decides {int(off_by.sum())} rows otherwise than "
                f"the path says for step {step}. If X was changed since, trace or measure again; else please report "
                "this with the versions of the libraries"
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
        if len(placed):
            favorable = order.replay(view, placed, n_jobs=n_jobs, verbose=verbose)
        else:
            favorable = np.zeros((order.n_steps + 1, rows.n_groups, rows.n_labels), np.int64)
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
class MeasuredSteps:
    """All that a pass over rows measures.

    Attributes
    ----------
    steps : StepCounts
        Of all rows.
    searched : StepCounts or None
        Of the part of them that is searched, where there are parts; see `draw_searched`.
    rows_to_check : RowsToCheck or None
        The rows, or some of them, to check written models with.
    hashes : RowHashes or None
        The hashes of the rows, unless they are known.
    in_tree : ndarray or None
        How many of them fall into each leaf of the tree that `Training` looks at.
    """

    steps: StepCounts
    searched: StepCounts | None
    rows_to_check: RowsToCheck | None
    hashes: RowHashes | None
    in_tree: np.ndarray | None

    def join(self, other: "MeasuredSteps") -> "MeasuredSteps":
        searched = None if self.searched is None or other.searched is None else self.searched.join(other.searched)
        hashes = None if self.hashes is None or other.hashes is None else self.hashes.join(other.hashes)
        in_tree = add_counts(self.in_tree, other.in_tree)
        return MeasuredSteps(self.steps.join(other.steps), searched, self.rows_to_check, hashes, in_tree)

    def path_counts(self, name: str, constraint: Constraint) -> tuple[PathCounts, PathCounts | None]:
        """The counts of a path, of all rows and of the part that is searched; ``name`` is what the rows are called."""
        searched = None if self.searched is None else self.searched.path_counts(name + SEARCHED, constraint)
        return self.steps.path_counts(name, constraint), searched


def measure_rows(
    view: EnsembleView,
    chosen_on: RowsInLeaves,
    order: EditOrder,
    *,
    in_parts: bool = False,
    training: Training | None = None,
    hashed: bool = True,
    n_jobs: int | None,
    verbose: int,
) -> MeasuredSteps:
    """Measure every step on rows; ``in_parts`` also on the part of them that is searched."""
    work = partial(
        measure_batch,
        view=view,
        order=order,
        in_parts=in_parts,
        training=training,
        hashed=hashed,
        keep_rows=not chosen_on.given.stay,
        n_jobs=n_jobs,
        verbose=verbose if chosen_on.placing.in_memory else 0,
    )
    try:
        measured: MeasuredSteps = chosen_on.reduce(work, MeasuredSteps.join, "replaying edits")
    except FeaturesNeededError:
        measured = chosen_on.with_features().reduce(work, MeasuredSteps.join, "replaying edits")
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
) -> tuple[Constraint, MeasuredSteps]:
    """Measure every step on rows as they are given; return what is compared of them, and all that was measured."""
    called = f"the {MEASURED_ROWS}"
    survey = survey_batches(given, compared.groups.missing, rows=called, verbose=verbose)
    placing = Placing(
        view, compared.coding, survey, MEASURED_ROWS, called, given.in_memory is not None, n_jobs, verbose
    )
    rows = RowsInLeaves.of(given, placing)
    constraint = compared.constraint.on_rows(rows.cells, rows=called)
    in_parts, training = constraint.several, Training.of(view)
    measured = measure_rows(view, rows, order, in_parts=in_parts, training=training, n_jobs=n_jobs, verbose=verbose)
    return constraint, measured


def measure_batch(
    placed: PlacedRows,
    *,
    view: EnsembleView,
    order: EditOrder,
    in_parts: bool,
    training: Training | None,
    hashed: bool,
    keep_rows: bool,
    n_jobs: int | None,
    verbose: int,
) -> MeasuredSteps:
    """Measure every step on some rows."""
    count = partial(StepCounts.of, order, view, n_jobs=n_jobs, verbose=verbose)
    searched: StepCounts | None = None
    if in_parts:
        inside = draw_searched(placed.start, len(placed))
        searched, apart = (count(placed.take(np.flatnonzero(part), placed.name)) for part in (inside, ~inside))
        steps = searched.join(apart)
    else:
        steps = count(placed)
    X = placed.X if keep_rows else None
    return MeasuredSteps(
        steps=steps,
        searched=searched,
        rows_to_check=None if X is None else RowsToCheck(X, placed.rows, steps.favorable),
        hashes=placed.hashes if hashed else None,
        in_tree=None if training is None else training.count(placed),
    )
