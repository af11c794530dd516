"""Editing a model on a table: what fit, flip and path have in common."""

import os
import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eifffel import FairnessPath, Selection
from eifffel._utils.validation import check_choice, check_n_jobs
from eifffel.cli._files import hash_file
from eifffel.cli._options import EditOptions
from eifffel.cli._progress import Progress
from eifffel.cli._recorded import Split, TrainedOn
from eifffel.cli._tables import Labelled
from eifffel.cli._watched import Editing, Source, Unedited, WatchedClassifier
from eifffel.edits.record import attach_report
from eifffel.report import Summary, render_json, summarize
from eifffel.rows.small_counts import FEWEST
from eifffel.selection.bounds import Bounds
from eifffel.strategies import AUTO, DIRECTIONS, STRATEGIES


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


def read_editing(options: EditOptions) -> Editing:
    """How the options ask for a model to be edited; raises, before any work is done, if they contradict themselves."""
    bounds = Bounds.or_default(
        epsilon=options.epsilon,
        ratio=options.ratio,
        alpha=options.alpha,
        confidence=options.confidence,
        sides=options.sides,
        objective=_read_costs(options.objective) if "," in options.objective else options.objective,
    )
    split = Split(options.seed, options.test_size, options.selection_size)
    check_choice("strategy", options.strategy, [AUTO, *STRATEGIES])
    check_choice("direction", options.direction, DIRECTIONS)
    check_n_jobs(options.jobs)
    jobs = options.jobs if options.jobs is not None else os.cpu_count() or 1
    return Editing(bounds, options.strategy, options.direction, split, jobs)


def _read_costs(text: str) -> list[list[float]]:
    try:
        a, b, c, d = map(float, text.split(","))
    except ValueError:
        raise ValueError(f"--objective must be a name or four costs, such as 0,1,5,0, got {text!r}") from None
    return [[a, b], [c, d]]


def read_signs(text: str | None) -> dict[str, int] | None:
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


def edit(unedited: Unedited, source: Source, editing: Editing, progress: Progress) -> Edited:
    """Train a model unless that is done, edit it on the rows of a table, and measure it on test rows of that table."""
    fitted = WatchedClassifier(unedited, source, editing, progress).fit_table()
    made = unedited.trained_on
    if unedited.kind is not None:
        made = TrainedOn(source.about["data"], hash_file(source.data), fitted.rows_hash, **asdict(editing.split))
    with progress.stage("measuring"):
        summary = _summarize_test_rows(fitted, made)
    attach_report(
        fitted.estimator_,
        summary=render_json(summary),
        task=source.task.describe(),
        edited_on={"sha256": hash_file(source.data)},
        trained_on=made and asdict(made),
    )
    return Edited(fitted.estimator_, fitted.path_, fitted.selection_, summary)


def _summarize_test_rows(fitted: WatchedClassifier, made: TrainedOn | None) -> Summary:
    """What a report says of an edited model, by the test rows."""
    source, split, parts = fitted.source, fitted.editing.split, fitted.parts_
    table, labels = source.table, source.task.labels
    assert table.y is not None
    sizes = parts.shown_sizes
    what = "score leaves" if fitted.unedited.kind is None else "train and to score leaves"
    return summarize(
        fitted.estimator_,
        table.X.iloc[parts.test],
        table.y[parts.test],
        sensitive_features=table.group.iloc[parts.test],
        rows="test rows",
        path=fitted.path_,
        selection=fitted.selection_,
        favorable_name=None if labels is None else labels[1],
        sensitive_name=source.task.sensitive_name,
        sensitive_columns=source.sensitive_columns,
        about={
            "split": f"{sizes[0]} rows to {what}, {sizes[1]} to choose the step, {sizes[2]} test rows",
            "test_size": split.test_size,
            "seed": split.seed,
            "trained_on": made and {"data": made.data, **asdict(made.split)},
            **source.about,
        },
    )


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
