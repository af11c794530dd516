"""The classifier of the command line: `EiFFFeLClassifier` on a table, with test rows held out and progress shown."""

import hashlib
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from eifffel import EiFFFeLClassifier
from eifffel._meta import GivenRows, MetaClassifier, split_rows
from eifffel.cli._progress import Progress
from eifffel.cli._recorded import Split, TrainedOn, check_unseen
from eifffel.cli._tables import DecisionTask, Labelled
from eifffel.cli._training import fit_in_parts
from eifffel.comparison import USUAL, Compared
from eifffel.constraints import Constraint, make_constraint
from eifffel.ensembles import read_classes
from eifffel.exceptions import ConstraintNotMetWarning, FewRowsWarning
from eifffel.rows.batches import Batch
from eifffel.rows.coding import Rows, check_split
from eifffel.rows.groups import Groups
from eifffel.rows.parts import draw_searched
from eifffel.rows.small_counts import FEWEST
from eifffel.selection.advice import say_unmet, say_without_reason
from eifffel.selection.bounds import Bounds
from eifffel.selection.counts import KEPT_APART, SEARCHED, SELECTION_ROWS
from eifffel.selection.shortfall import say_shortfall
from eifffel.tracing import Tracing


@dataclass(frozen=True)
class Editing:
    """How a model is edited: within which bounds, by which strategy, on which rows."""

    bounds: Bounds
    strategy: str
    direction: str
    split: Split
    jobs: int


@dataclass(frozen=True, eq=False)
class Source:
    """A table, the file that it was read from and what is decided about its rows.

    Attributes
    ----------
    data : Path
    table : Labelled
    task : DecisionTask
    sensitive_columns : tuple of str
        Those among the features.
    about : dict
        What a report says of where it comes from.
    """

    data: Path
    table: Labelled
    task: DecisionTask
    sensitive_columns: tuple[str, ...] = ()
    about: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Unedited:
    """What an edit starts from.

    Attributes
    ----------
    model : classifier
        An estimator to be trained, or a model.
    kind : str or None
        The kind of estimator, by its name in `MODELS`; ``None`` of a model.
    monotone : dict or None
        On which features a model is constrained; one that is trained here says so itself.
    trained_on : TrainedOn or None
        What the record of a model knows of its rows.
    """

    model: Any
    kind: str | None = None
    monotone: dict[str, int] | None = None
    trained_on: TrainedOn | None = None


@dataclass(frozen=True, eq=False)
class Parts:
    """The rows of a table, and the places among them of those that score leaves, choose the step and are for tests."""

    rows: Rows
    groups: Groups
    scoring: np.ndarray
    selection: np.ndarray
    test: np.ndarray

    @property
    def each(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.scoring, self.selection, self.test

    @property
    def shown_sizes(self) -> list[str]:
        """How many rows each part has; where some groups are too small to be described, about which share."""
        if all(map(self._is_described, self.each)):
            return [f"{len(part):,}" for part in self.each]
        # With the number of those described, exact numbers would give the number of the others.
        return [f"about {100 * len(part) / len(self.rows.group):.0f}%" for part in self.each]

    def _is_described(self, part: np.ndarray) -> bool:
        """Whether every group of a part is large enough to be described."""
        n_rows = self.rows.take(part).count_cells().sum(axis=1)
        return bool(self.groups.find_described(n_rows)[n_rows > 0].all())


class WatchedClassifier(EiFFFeLClassifier):
    """`EiFFFeLClassifier` as commands fit it.

    It differs in this: test rows are held out first, no step is chosen by fewer than ten people of a group, a bar shows
    how far training and tracing are, no warning describes fewer than ten people, and the model may be a Booster.

    Parameters
    ----------
    unedited : Unedited
    source : Source
    editing : Editing
    progress : Progress

    Attributes
    ----------
    parts_ : Parts
    """

    _rows_given = "the table"

    def __init__(self, unedited: Unedited, source: Source, editing: Editing, progress: Progress):
        super().__init__(
            unedited.model if unedited.kind is not None else FrozenEstimator(unedited.model),
            **vars(editing.bounds),
            **vars(source.table.comparison.or_else(USUAL)),
            strategy=editing.strategy,
            direction=editing.direction,
            validation_fraction=editing.split.selection_size,
            monotone=unedited.monotone,
            random_state=editing.split.seed,
            n_jobs=editing.jobs,
        )
        self.unedited = unedited
        self.source = source
        self.editing = editing
        self.progress = progress

    def fit_table(self) -> "WatchedClassifier":
        """Fit the classifier on the rows of the table that are no test rows."""
        table = self.source.table
        self.fit(table.X, table.y, sensitive_features=table.group)
        return self

    @cached_property
    def rows_hash(self) -> str:
        """SHA-256 of the places, in the file, of the rows that score leaves and train the model, if one is trained."""
        places = np.sort(self.source.table.row[self.parts_.scoring])
        return hashlib.sha256(places.astype(np.int64).tobytes()).hexdigest()

    def __sklearn_tags__(self) -> Any:
        return super(MetaClassifier, self).__sklearn_tags__()  # a Booster has none to take over

    def _check_model(self) -> list[Any] | None:
        # Python's classifier refuses a Booster; a command edits it as it is.
        return read_classes(self.estimator.estimator) if self._frozen else super()._check_model()

    def _split(self, given: GivenRows) -> tuple[np.ndarray, np.ndarray]:
        rows, split, groups = given.rows, self.editing.split, given.coding.groups
        rest, test = split_rows(rows, split.test_size, split.seed)
        scoring, selection = (rest[part] for part in split_rows(rows.take(rest), split.selection_size, split.seed))
        self.parts_ = Parts(rows, groups, scoring, selection, test)
        check_split(rows, groups, self.parts_.each)
        constraint = make_constraint(self.constraint, groups, min_group_rows=self.min_group_rows)
        check_describable(rows.take(scoring), rows.take(selection), constraint, certified=self.confidence is not None)
        if self.confidence is not None:
            check_unseen(self.unedited.trained_on, self.source.data, self.rows_hash)
        return scoring, selection

    def _fit_estimator(self, estimator: Any, X: Any, y: Any, params: dict[str, Any]) -> Any:
        kind = self.unedited.kind
        assert kind is not None
        with self.progress.stage("training", f"training {kind}") as done:
            return fit_in_parts(kind, estimator, X, y, done)

    def _edit(self, model: Any, scoring: Batch, selection: Batch | None, compared: Compared, tracing: Tracing) -> None:
        with self.progress.stage("tracing"):
            super()._edit(model, scoring, selection, compared, tracing)

    def _choose(self, bounds: Bounds) -> EiFFFeLClassifier:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            super()._choose(bounds)
        selection = self.selection_
        for warning in said:
            message: Warning | str = warning.message
            if selection.public_values and warning.category is FewRowsWarning:
                continue  # its numbers are of everybody, and those that can be published are in the report
            if selection.public_values and warning.category is ConstraintNotMetWarning:
                public = selection.public_shortfall
                why = say_without_reason(selection)
                if public is not None:
                    why = say_shortfall(replace(selection, shortfall=public))
                message = say_unmet(selection) + ": " + why
            warnings.warn_explicit(message, warning.category, warning.filename, warning.lineno)
        return self


def check_describable(scoring: Rows, chosen: Rows, constraint: Constraint, *, certified: bool) -> None:
    """Raise, before any work is done, if a step would be chosen by what is decided about fewer than ten people.

    A step that is ``certified`` for several differences is chosen by what is decided about each part of the rows.
    """
    cells = chosen.count_cells()
    constraint = constraint.on_rows(scoring.count_cells(), cells, rows="the scoring or the selection rows")
    parts = {SELECTION_ROWS: cells}
    if certified and constraint.several:
        searched = chosen.take(np.flatnonzero(draw_searched(0, len(chosen.group)))).count_cells()
        parts = {SELECTION_ROWS + SEARCHED: searched, SELECTION_ROWS + KEPT_APART: cells - searched}
    for rows, counted in parts.items():
        few = constraint.kept & (constraint.count_sides(counted) < FEWEST)
        for side in np.flatnonzero(few):
            leave_out = " or --min-group-rows" if constraint.optional[side] else ""
            raise ValueError(
                f"{constraint.names[side]} has fewer than ten of the {rows}, and no step is chosen by what is decided "
                "about so few people, who are not described; give more rows of it, put groups together, or take a "
                f"larger --selection-size{leave_out}"
            )
