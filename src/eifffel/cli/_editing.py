"""From a table to an edited model and its summary: what fit and flip have in common."""

import json
import os
import shlex
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eifffel import FairnessPath, Selection
from eifffel._meta import split_rows
from eifffel._validation import check_choice, check_fraction, check_n_jobs
from eifffel.advice import say_unmet
from eifffel.cli._files import hash_file
from eifffel.cli._printing import say_note
from eifffel.cli._progress import Progress
from eifffel.cli._tables import Labelled, Task, is_spelt
from eifffel.constraints import check_constraint, make_constraint
from eifffel.exceptions import ConstraintNotMetWarning, FewRowsWarning
from eifffel.record import find_record, note_report, note_selection
from eifffel.report import Summary, render_json, summarize
from eifffel.rows.batches import Batch, OneBatch
from eifffel.rows.coding import Coding, Rows, check_split
from eifffel.rows.few import FEWEST
from eifffel.rows.groups import COMBINE, Groups, read_groups
from eifffel.rows.labels import check_binary_labels, check_favorable
from eifffel.rows.sensitive import MISSING
from eifffel.selection import EPSILON, check_bounds
from eifffel.shortfall import say_shortfall
from eifffel.strategies import AUTO, DIRECTIONS, STRATEGIES, UP
from eifffel.tracing import trace_batches

# What of a task says how groups are compared.
COMPARED = ("constraint", "combine", "min_group_rows", "missing")

# (X, y) of the training rows, and something to tell of progress -> a fitted model.
Train = Callable[[Any, np.ndarray, Progress], Any]


@dataclass(frozen=True)
class Bounds:
    """What is asked for."""

    epsilon: float | None
    ratio: float | None
    alpha: float | None
    confidence: float | None
    objective: Any
    strategy: str
    direction: str
    test_size: float
    selection_size: float
    seed: int
    jobs: int

    @property
    def split(self) -> dict[str, float]:
        """What the rows that each thing is done with follow from."""
        return {"seed": self.seed, "test_size": self.test_size, "selection_size": self.selection_size}


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


def read_bounds(
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
) -> Bounds:
    """What is asked for; raises, before any work is done, if it makes no sense."""
    asked = objective if "," not in objective else _read_costs(objective)
    if epsilon is None and ratio is None:
        epsilon = EPSILON
    checked = check_bounds(epsilon, ratio, alpha, "first", confidence, asked)
    check_fraction("test_size", test_size, inner=True)
    check_fraction("selection_size", selection_size, inner=True)
    check_choice("strategy", strategy, [AUTO, *STRATEGIES])
    check_choice("direction", direction, DIRECTIONS)
    check_n_jobs(jobs)
    jobs = jobs if jobs is not None else os.cpu_count() or 1
    sizes = {"test_size": test_size, "selection_size": selection_size}
    return Bounds(epsilon, ratio, alpha, confidence, checked, strategy, direction, **sizes, seed=seed, jobs=jobs)


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
    train: Train,
    bounds: Bounds,
    *,
    trained: bool,
    monotone: dict[str, int] | None = None,
    trained_on: dict[str, Any] | None = None,
    about: dict[str, Any],
    sensitive_columns: tuple[str, ...],
    progress: Progress,
) -> Edited:
    """Split the rows, train unless that is done, trace the path, choose a step and measure it on test rows.

    ``trained`` says that ``train`` gives a model that exists, so that the rows only score leaves; ``monotone`` on which
    features that is constrained, and ``trained_on`` what its record says of the table that it was trained on.
    """
    assert table.y is not None
    classes = check_binary_labels(table.y)
    groups = read_groups(table.group, combine=task.combine, missing=task.missing, privileged=table.privileged)
    make_constraint(task.constraint, groups, min_group_rows=task.min_group_rows)
    coding = Coding(classes, check_favorable(classes, table.favorable), groups)
    rows = coding.encode(table.X, table.y, table.group, rows="the table")
    rest, test = split_rows(rows, bounds.test_size, bounds.seed)
    scoring, chosen = (rest[part] for part in split_rows(rows.take(rest), bounds.selection_size, bounds.seed))
    check_split(rows, coding.groups, [scoring, chosen, test])
    check_describable(rows.take(scoring), rows.take(chosen), groups, task)

    def cut(part: np.ndarray) -> tuple[Any, Any, Any]:
        assert table.y is not None
        return table.X.iloc[part], table.y[part], table.group.iloc[part]

    X, y, group = cut(scoring)
    model = train(X, y, progress)
    with progress.stage("tracing"):
        path = trace_batches(
            model,
            OneBatch(Batch(X, y, group)),
            OneBatch(Batch(*cut(chosen))),
            groups=groups,
            strategy=bounds.strategy,
            direction=bounds.direction,
            constraint=task.constraint,
            min_group_rows=task.min_group_rows,
            keep_apart=bounds.confidence is not None,
            favorable=table.favorable,
            monotone=monotone if trained else {},  # one that is trained here says so itself
            trained_here=not trained,
            one_table=True,
            n_jobs=bounds.jobs,
        )
        selection = select(path, bounds)
        edited = path.model_at(selection.step)
        note_selection(edited, selection)
    X_test, y_test, group_test = cut(test)
    what = "score leaves" if trained else "train and to score leaves"
    parts = [f"{len(part):,}" for part in (scoring, chosen, test)]
    if not all(is_described(rows.take(part), groups) for part in (scoring, chosen, test)):
        # Beside how many are described, they would tell how many are not.
        parts = [f"about {100 * len(part) / len(rows.group):.0f}%" for part in (scoring, chosen, test)]
    split = f"{parts[0]} rows to {what}, {parts[1]} to choose the step, {parts[2]} test rows"
    with progress.stage("measuring"):
        summary = summarize(
            edited,
            X_test,
            y_test,
            sensitive_features=group_test,
            rows="test rows",
            path=path,
            selection=selection,
            favorable_name=None if task.labels is None else task.labels[1],
            sensitive_name=task.sensitive_name,
            sensitive_columns=sensitive_columns,
            about={
                "split": split,
                "test_size": bounds.test_size,
                "seed": bounds.seed,
                "trained_on": trained_on if trained else {"data": about["data"], **bounds.split},
                **about,
            },
        )
    note_report(edited, summary=render_json(summary), task=asdict(task))
    return Edited(edited, path, selection, summary)


def is_described(rows: Rows, groups: Groups) -> bool:
    """Whether everybody is in what others read."""
    n_rows = rows.count_cells().sum(axis=1)
    return bool(groups.find_described(n_rows)[n_rows > 0].all())


def check_describable(scoring: Rows, chosen: Rows, groups: Groups, task: Task) -> None:
    """Raise, before any work is done, if a step would be chosen by what is decided about fewer than ten people."""
    constraint = make_constraint(task.constraint, groups, min_group_rows=task.min_group_rows)
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


def select(path: FairnessPath, bounds: Bounds) -> Selection:
    """The step that bounds select; what is said where they are not met describes no group of fewer than ten people."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        selection = path.select(
            epsilon=bounds.epsilon,
            ratio=bounds.ratio,
            alpha=bounds.alpha,
            confidence=bounds.confidence,
            objective=bounds.objective,
        )
    for warning in said:
        message: Warning | str = warning.message
        if selection.told_instead and warning.category is FewRowsWarning:
            continue  # its numbers are of everybody, and those that are told are in the report
        if selection.told_instead and warning.category is ConstraintNotMetWarning:
            told = selection.told()
            message = say_unmet(selection) + ("" if told["shortfall"] is None else f": {say_shortfall(told)}")
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
    made = made_from(model, data)
    if made is not None and (seed is None or seed != made.get("seed")):
        say_note(
            f"'{data}' is the table that the model was made from: it knows most of these rows, and does better on them"
        )
    elif made is None and seed is None and hash_file(data) in str(stored_about(model).get("data")):
        say_note(
            f"'{data}' is the table that the model was edited on: most of its rows scored leaves or chose the step, "
            "and say little of other people"
        )


def check_unseen(model: Any, data: Path, about: dict[str, Any], bounds: Bounds, *, quiet: bool) -> None:
    """Raise if confidence is asked for on rows that a stored model knows; where it does not say, leave it to the user.

    ``about`` is what a report would say of the table.
    """
    if bounds.confidence is None:
        return
    made = made_from(model, data)
    if made is None:
        if not quiet:
            say_note(f"--confidence holds only if the model was not trained on rows of '{data}'")
        return
    same_rows = made["data"].endswith(about["data"].removeprefix(data.name))  # whatever the file is called
    known = {name: made.get(name) for name in bounds.split}
    if not (same_rows and known == bounds.split):
        options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in known.items())
        raise ValueError(
            f"--confidence needs rows that the model was not trained on, and '{data}' is the table that it was made "
            f"from, split otherwise; give {options}, as then, or another table"
        )


def say_of_bounds(model: Any, bounds: Bounds) -> None:
    """Say what a model was edited for that this edit does not ask for."""
    record = find_record(model) or {}
    asked, given = record.get("selection") or {}, []
    if asked.get("confidence") is not None and bounds.confidence is None:
        given.append(f"--confidence {asked['confidence']:g}")
    if record.get("direction") == UP and bounds.direction != UP:
        given.append("--direction up")
    if asked.get("alpha") is not None and bounds.alpha is None:
        given.append(f"--alpha {asked['alpha']:g}")
    if given:
        say_note(f"the model was edited with {' '.join(given)}, and this edit is without; say it again if you want it")


def known_rows(model: Any, data: Path) -> str:
    """What a report must say of a table that a model was made from."""
    known = made_from(model, data) is not None
    return "; the model was made from this table and knows most of its rows" if known else ""


def made_from(model: Any, data: Path) -> dict[str, Any] | None:
    """What the record of a model says of the table that it was trained on, if that is this one."""
    made = trained_on(model)
    return made if made is not None and hash_file(data) in str(made.get("data")) else None


def trained_on(model: Any) -> dict[str, Any] | None:
    """What the record of a model says of the table that it was trained on: the table, seed and test size."""
    known: dict[str, Any] | None = stored_about(model).get("trained_on")
    return known


def stored_about(model: Any) -> dict[str, Any]:
    """What was said of a model when it was made."""
    record = find_record(model) or {}
    about: dict[str, Any] = json.loads(record.get("summary") or "{}").get("about", {})
    return about


def check_compared(task: Task) -> None:
    """Raise, before any work is done, if groups cannot be compared as a task says."""
    check_constraint(task.constraint)
    check_choice("combine", task.combine, COMBINE)
    check_choice("missing", task.missing, MISSING)
    if not task.sensitive_columns:
        raise ValueError("--sensitive names no column; name the column of groups")


def _compared_before(record: dict[str, Any]) -> dict[str, Any]:
    """How the edit of a model compared groups, also where no command made it."""
    if not record:
        return {}
    constraint, grouping = record["constraint"], record["grouping"]
    return {
        "constraint": constraint["name"],
        "min_group_rows": constraint["min_group_rows"],
        "combine": grouping["combine"],
        "missing": grouping["missing"],
    }


def known_task(model: Any, **given: Any) -> Task:
    """The task as it was given, and as the model's record knows it where it was not."""
    record = find_record(model) or {}
    known = _compared_before(record) | (record.get("task") or {})
    known |= {name: value for name, value in given.items() if value is not None}
    if known.get("sensitive") is None:
        raise ValueError("--sensitive is needed: the model does not say which column holds the groups")
    labels = known.get("labels")
    if labels is not None and not (known.get("favorable") is None or is_spelt(labels[1], known["favorable"])):
        raise ValueError(f"--favorable must be {labels[1]!r}, for which the model was trained; leave it out")
    if given.get("sensitive") is not None and given.get("privileged") is None:
        known["privileged"] = None  # of other groups
    compared: dict[str, Any] = {name: known[name] for name in COMPARED if known.get(name) is not None}
    sets = {name: tuple(known[name]) for name in ("good", "bad") if known.get(name) is not None}
    task = Task(
        known.get("target"),
        known.get("favorable"),
        known["sensitive"],
        known.get("privileged"),
        None if labels is None else (labels[0], labels[1]),
        **(compared | sets),
    )
    check_compared(task)
    return task
