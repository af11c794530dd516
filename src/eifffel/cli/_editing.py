"""From a table to an edited model and its summary: what fit and flip have in common."""

import hashlib
import json
import os
import shlex
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from eifffel import FairnessPath, Selection
from eifffel._meta import split_rows
from eifffel._validation import check_choice, check_fraction, check_n_jobs
from eifffel.advice import say_unmet
from eifffel.bounds import Bounds
from eifffel.cli._files import hash_file
from eifffel.cli._printing import say_note
from eifffel.cli._progress import Progress
from eifffel.cli._tables import Labelled, Task, is_spelt, read_task
from eifffel.comparison import Comparison, read_compared
from eifffel.constraints import Constraint
from eifffel.ensembles import read_classes
from eifffel.exceptions import ConstraintNotMetWarning, FewRowsWarning
from eifffel.record import attach_report, find_record
from eifffel.report import Summary, render_json, summarize
from eifffel.rows.batches import Batch, OneBatch
from eifffel.rows.coding import Rows, check_split
from eifffel.rows.few import FEWEST
from eifffel.rows.groups import Groups
from eifffel.shortfall import say_shortfall
from eifffel.strategies import AUTO, DIRECTIONS, STRATEGIES, UP
from eifffel.tracing import Tracing, trace_rows

# (X, y) of the training rows, and something to tell of progress -> a fitted model.
Train = Callable[[Any, np.ndarray, Progress], Any]


@dataclass(frozen=True)
class Split:
    """What the rows that each thing is done with follow from."""

    seed: int
    test_size: float
    selection_size: float

    def __post_init__(self) -> None:
        check_fraction("test_size", self.test_size, inner=True)
        check_fraction("selection_size", self.selection_size, inner=True)


@dataclass(frozen=True)
class Editing:
    """How a model is edited: within which bounds, by which strategy, on which rows."""

    bounds: Bounds
    strategy: str
    direction: str
    split: Split
    jobs: int


@dataclass(frozen=True)
class TrainedOn:
    """The rows that a model was trained on, by which they are known again.

    Attributes
    ----------
    data, sha256 : str
        What a report says of the table, and the hash of its file.
    rows : str
        SHA-256 of the places of these rows in the table.
    seed, test_size, selection_size
        As in `Split`.
    """

    data: str
    sha256: str
    rows: str
    seed: int
    test_size: float
    selection_size: float

    @property
    def split(self) -> Split:
        return Split(self.seed, self.test_size, self.selection_size)


@dataclass(frozen=True, eq=False)
class Edited:
    """An edited model, where it comes from and what a report says of it."""

    model: Any
    path: FairnessPath
    selection: Selection
    summary: Summary

    @property
    def met(self) -> bool:
        """Whether the bound is kept where the step was chosen, and judged and not broken beyond chance on test rows."""
        verdict = self.summary.verdict
        broken = verdict.certain and not verdict.holds
        return self.selection.met and verdict.holds is not None and not broken


def read_editing(
    epsilon: float | None,
    ratio: float | None,
    alpha: float | None,
    confidence: float | None,
    objective: str,
    strategy: str,
    direction: str,
    test_size: float,
    selection_size: float,
    seed: int,
    jobs: int | None,
) -> Editing:
    """How a model is to be edited; raises, before any work is done, if it makes no sense."""
    costs = objective if "," not in objective else _read_costs(objective)
    bounds = Bounds.or_default(epsilon=epsilon, ratio=ratio, alpha=alpha, confidence=confidence, objective=costs)
    split = Split(seed, test_size, selection_size)
    check_choice("strategy", strategy, [AUTO, *STRATEGIES])
    check_choice("direction", direction, DIRECTIONS)
    check_n_jobs(jobs)
    return Editing(bounds, strategy, direction, split, jobs if jobs is not None else os.cpu_count() or 1)


def _read_costs(text: str) -> list[list[float]]:
    try:
        a, b, c, d = map(float, text.split(","))
    except ValueError:
        raise ValueError(f"--objective must be a name or four costs, such as 0,1,5,0, got {text!r}") from None
    return [[a, b], [c, d]]


def read_monotone(text: str | None) -> dict[str, int] | None:
    """Features and signs out of a text such as ``"arrears:-1,income:1"``, or ``"none"``."""
    if text is None:
        return None
    parts = [] if text.strip() == "none" else text.split(",")
    signs = {"1": 1, "+1": 1, "-1": -1, "0": 0}
    found = {}
    for part in parts:
        name, _, sign = part.rpartition(":")
        if not name.strip() or sign.strip() not in signs:
            raise ValueError(
                f"--monotone must be features with 1 or -1, as in arrears:-1,income:1, or none, got {text!r}"
            )
        found[name.strip()] = signs[sign.strip()]
    return found


def edit(
    table: Labelled,
    task: Task,
    model: Any | Train,
    editing: Editing,
    *,
    data: Path,
    trained: bool,
    trained_on: TrainedOn | None = None,
    monotone: dict[str, int] | None = None,
    about: dict[str, Any],
    sensitive_columns: tuple[str, ...],
    progress: Progress,
) -> Edited:
    """Split the rows, train unless that is done, trace the path, choose a step and measure it on test rows.

    ``model`` is one that exists where ``trained`` says so, and the rows then only score leaves; else what trains it.
    ``monotone`` says on which features that is constrained, and ``trained_on`` what its record knows of its rows.
    """
    assert table.y is not None
    comparison, split = table.comparison, editing.split
    everybody = OneBatch(Batch(table.X, table.y, table.group))
    classes = read_classes(model) if trained else None
    compared = comparison.resolve(classes, comparison.survey(everybody, rows="the table"))
    rows = compared.coding.encode_batch(everybody.alone, rows="the table")
    rest, test = split_rows(rows, split.test_size, split.seed)
    scoring, chosen = (rest[part] for part in split_rows(rows.take(rest), split.selection_size, split.seed))
    check_split(rows, compared.groups, [scoring, chosen, test])
    check_describable(rows.take(scoring), rows.take(chosen), compared.constraint)
    places = hashlib.sha256(np.sort(table.row[scoring]).astype(np.int64).tobytes()).hexdigest()
    if editing.bounds.confidence is not None:
        check_unseen(trained_on, data, places)

    def cut(part: np.ndarray) -> Batch:
        assert table.y is not None
        return Batch(table.X.iloc[part], table.y[part], table.group.iloc[part])

    to_score, to_measure = cut(scoring), cut(test)
    if not trained:
        model = model(to_score.X, to_score.y, progress)
        trained_on = TrainedOn(about["data"], hash_file(data), places, **asdict(split))
    tracing = Tracing(
        editing.strategy,
        editing.direction,
        keep_apart=editing.bounds.confidence is not None,
        monotone=monotone if trained else {},  # one that is trained here says so itself
        n_jobs=editing.jobs,
        trained_here=not trained,
        one_table=True,
    )
    with progress.stage("tracing"):
        path = trace_rows(model, OneBatch(to_score), OneBatch(cut(chosen)), compared, tracing)
        selection = choose(path, editing.bounds)
        edited = path.model_at(selection)
    what = "score leaves" if trained else "train and to score leaves"
    parts = [f"{len(part):,}" for part in (scoring, chosen, test)]
    if not all(is_described(rows.take(part), compared.groups) for part in (scoring, chosen, test)):
        # Beside how many are described, they would tell how many are not.
        parts = [f"about {100 * len(part) / len(rows.group):.0f}%" for part in (scoring, chosen, test)]
    with progress.stage("measuring"):
        summary = summarize(
            edited,
            to_measure.X,
            to_measure.y,
            sensitive_features=to_measure.sensitive_features,
            rows="test rows",
            path=path,
            selection=selection,
            favorable_name=None if task.labels is None else task.labels[1],
            sensitive_name=task.sensitive_name,
            sensitive_columns=sensitive_columns,
            about={
                "split": f"{parts[0]} rows to {what}, {parts[1]} to choose the step, {parts[2]} test rows",
                "test_size": split.test_size,
                "seed": split.seed,
                "trained_on": trained_on and {"data": trained_on.data, **asdict(trained_on.split)},
                **about,
            },
        )
    attach_report(
        edited,
        summary=render_json(summary),
        task=task.describe(),
        edited_on={"sha256": hash_file(data)},
        trained_on=trained_on and asdict(trained_on),
    )
    return Edited(edited, path, selection, summary)


def is_described(rows: Rows, groups: Groups) -> bool:
    """Whether everybody is in what others read."""
    n_rows = rows.count_cells().sum(axis=1)
    return bool(groups.find_described(n_rows)[n_rows > 0].all())


def check_describable(scoring: Rows, chosen: Rows, constraint: Constraint) -> None:
    """Raise, before any work is done, if a step would be chosen by what is decided about fewer than ten people."""
    cells = chosen.count_cells()
    constraint = constraint.on_rows(scoring.count_cells(), cells, rows="the rows to choose on")
    size = constraint.count_sides(cells)
    for side in np.flatnonzero(constraint.kept & (size < FEWEST)):
        raise ValueError(
            f"{constraint.names[side]} has fewer than ten of the selection rows, and no step is chosen by what is "
            "decided about so few people, of whom nothing is told; give more rows of it, put groups together, or take "
            "a larger "
            f"{'--selection-size' if len(constraint.names) == 2 else '--selection-size or --min-group-rows'}"
        )


def choose(path: FairnessPath, bounds: Bounds) -> Selection:
    """The step that bounds choose; what is said where they are not met describes no group of fewer than ten people."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        selection = path.choose(bounds)
    for warning in said:
        message: Warning | str = warning.message
        if selection.told_instead and warning.category is FewRowsWarning:
            continue  # its numbers are of everybody, and those that are told are in the report
        if selection.told_instead and warning.category is ConstraintNotMetWarning:
            message = say_unmet(selection)
            if selection.told()["shortfall"] is not None:
                message += f": {say_shortfall(selection)}"
        warnings.warn_explicit(message, warning.category, warning.filename, warning.lineno)
    return selection


def describe(data: Path, table: Labelled, intended_use: str | None, **more: Any) -> dict[str, Any]:
    """What a report says of where it comes from: the table, with the hash of its file, the command and more."""
    n_dropped = f"{table.n_dropped:,}" if table.n_dropped >= FEWEST else "some"
    dropped = f" ({n_dropped} rows without a label or a group left out)" if table.n_dropped else ""
    return {
        "data": f"{data.name}{dropped}, SHA-256 {hash_file(data)}",
        "command": shlex.join(["eifffel", *sys.argv[1:]]),
        "intended_use": intended_use,
        **more,
    }


def say_of_rows(model: Any, data: Path, seed: int | None = None) -> None:
    """Say so if a table is the one that a model was made from, unless it is split by the same seed as then."""
    made, edited_on = trained_on(model), _recorded(model, "edited_on")
    if is_made_from(model, data):
        if made is not None and (seed is None or seed != made.seed):
            say_note(
                f"'{data}' is the table that the model was made from: it knows most of these rows, and does better on "
                "them"
            )
    elif seed is None and edited_on is not None and edited_on["sha256"] == hash_file(data):
        say_note(
            f"'{data}' is the table that the model was edited on: most of its rows scored leaves or chose the step, "
            "and say little of other people"
        )


def say_of_confidence(model: Any, data: Path, bounds: Bounds) -> None:
    """Say on what a confidence rests where a stored model does not say on which rows it was trained."""
    if bounds.confidence is not None and not is_made_from(model, data):
        say_note(f"--confidence holds only if the model was not trained on rows of '{data}'")


def check_unseen(made: TrainedOn | None, data: Path, places: str) -> None:
    """Raise if a model was trained on other rows of this table than those that score its leaves now.

    ``places`` is the hash of the places of these; all others then had no part in training.
    """
    if made is None or made.sha256 != hash_file(data) or made.rows == places:
        return
    options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in asdict(made.split).items())
    raise ValueError(
        f"--confidence needs rows that the model was not trained on, and '{data}' is the table that it was made from, "
        f"split otherwise; give {options}, as then, and the same --target, --sensitive and rows, or another table"
    )


def say_of_bounds(model: Any, editing: Editing) -> None:
    """Say what a model was edited for that this edit does not ask for."""
    asked, bounds, given = _recorded(model, "selection") or {}, editing.bounds, []
    if asked.get("confidence") is not None and bounds.confidence is None:
        given.append(f"--confidence {asked['confidence']:g}")
    if _recorded(model, "direction") == UP and editing.direction != UP:
        given.append("--direction up")
    if asked.get("alpha") is not None and bounds.alpha is None:
        given.append(f"--alpha {asked['alpha']:g}")
    if given:
        say_note(f"the model was edited with {' '.join(given)}, and this edit is without; say it again if you want it")


def known_rows(model: Any, data: Path) -> str:
    """What a report must say of a table that a model was made from."""
    return "; the model was made from this table and knows most of its rows" if is_made_from(model, data) else ""


def trained_on(model: Any) -> TrainedOn | None:
    """What the record of a model says of the rows that it was trained on."""
    made = _recorded(model, "trained_on")
    return None if made is None else TrainedOn(**made)


def is_made_from(model: Any, data: Path) -> bool:
    """Whether a model was trained on rows of this table, as its record says."""
    made = trained_on(model)
    return made is not None and made.sha256 == hash_file(data)


def _recorded(model: Any, name: str) -> Any:
    """What the record of a model says; ``None`` where it has none."""
    record = find_record(model)
    return None if record is None else record[name]


def stored_about(model: Any) -> dict[str, Any]:
    """What was said of a model when it was made."""
    about: dict[str, Any] = json.loads(_recorded(model, "summary") or "{}").get("about", {})
    return about


def known_task(model: Any, target: str | None, sensitive: str | None, asked: Comparison) -> Task:
    """The task as it was given, and as the model's record knows it where it was not."""
    record = find_record(model)
    known: Task | None = None
    if record is not None and record["task"] is not None:
        known = read_task(record["task"])
        if sensitive is not None:  # a privileged group would be one of others
            known = replace(known, sensitive=sensitive, comparison=replace(known.comparison, privileged=None))
    elif record is not None:
        compared = read_compared(record)
        usual = Comparison(
            constraint=compared.constraint.name,
            min_group_rows=compared.constraint.min_rows,
            combine=compared.groups.combine,
            missing=compared.groups.missing,
        )
        asked = asked.or_else(usual)
    if known is None:
        if sensitive is None:
            raise ValueError("--sensitive is needed: the model does not say which column holds the groups")
        return Task(target, sensitive, asked)
    if known.labels is not None and not (asked.favorable is None or is_spelt(known.labels[1], asked.favorable)):
        raise ValueError(f"--favorable must be {known.labels[1]!r}, for which the model was trained; leave it out")
    return replace(
        known,
        target=known.target if target is None else target,
        comparison=asked.or_else(known.comparison),
    )
