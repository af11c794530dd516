"""eifffel flip: edit a stored model without retraining it."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from eifffel import load, undo
from eifffel.cli import _app as shared
from eifffel.cli._editing import Bounds, describe, edit, known_task, n_jobs, say_assumed, say_of_rows
from eifffel.cli._finish import check_targets, exit_unless_met, tell, write_files
from eifffel.cli._fit import check_bounds
from eifffel.cli._printing import say
from eifffel.cli._progress import Progress
from eifffel.cli._tables import Labelled, Task, cut_table, read_table, split_names
from eifffel.cli._training import feature_columns, features_for, trained_columns
from eifffel.record import find_record
from eifffel.storage import check_storable
from eifffel.strategies import AUTO


@shared.command(example="eifffel flip model.skops people.csv --epsilon 0.02 --out fairer.skops --report report.html")
def flip(
    model: shared.ModelFile,
    data: shared.DataFile,
    out: Annotated[Path, typer.Option(help="Write the edited model there.", metavar="FILE.skops")],
    target: shared.Target = None,
    favorable: shared.Favorable = None,
    sensitive: shared.Sensitive = None,
    privileged: shared.Privileged = None,
    epsilon: shared.Epsilon = 0.05,
    alpha: shared.Alpha = None,
    strategy: shared.Strategy = AUTO,
    test_size: shared.TestSize = 0.2,
    features: shared.Features = None,
    drop_missing: shared.DropMissing = False,
    separator: shared.Separator = None,
    report: shared.Report = None,
    intended_use: shared.IntendedUse = None,
    seed: shared.Seed = 0,
    jobs: shared.Jobs = None,
    allow_pickle: shared.AllowPickle = False,
    overwrite: shared.Overwrite = False,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Make a stored model fair, without training it again.

    Best on rows that the model has not seen. A model that was edited is taken back to the original first. Columns and
    labels need not be named again for a model that eifffel fit made.
    """
    check_bounds(epsilon, alpha, strategy, test_size)
    check_targets(overwrite=overwrite, model=out, report=report, reads=(model, data))
    given = {"target": target, "favorable": favorable, "sensitive": sensitive, "privileged": privileged}
    stored = load(model, allow_pickle=allow_pickle)
    if not quiet and data.is_file():
        say_of_rows(stored, data, seed)
    table, task, stored = read_for_edit(
        stored,
        data,
        given,
        separator=separator,
        drop_missing=drop_missing,
        features=features,
        quiet=quiet or json,
        verbose=not quiet,
    )
    if not quiet:
        say_assumed(table, task)
    with Progress(("tracing", "measuring", "saving", "report"), verbose=not quiet) as progress:
        edited = edit(
            table,
            task,
            lambda X, y, progress: stored,
            Bounds(epsilon, alpha, strategy, test_size, seed, n_jobs(jobs)),
            trained=True,
            about=describe(data, table, intended_use),
            sensitive_columns=sensitive_among(table, task),
            progress=progress,
        )
        write_files(progress, overwrite=overwrite, model=edited.model, out=out, summary=edited.summary, report=report)
    tell(edited.summary, json=json, quiet=quiet, out=out, report=report)
    exit_unless_met(edited, quiet=quiet)


def read_for_edit(
    model: Any,
    data: Path,
    given: dict[str, str | None],
    *,
    separator: str | None,
    drop_missing: bool,
    features: str | None,
    quiet: bool,
    verbose: bool,
) -> tuple[Labelled, Task, Any]:
    """The rows to edit a model on, what is decided about them, and the model as it was before any edit."""
    task = known_task(model, **given)
    if task.target is None:
        raise ValueError("--target is needed: the model does not say which column holds the labels")
    if find_record(model) is not None and not quiet:
        say("The model was edited before; this starts from the original.")
    while find_record(model) is not None:
        model = undo(model)
    check_storable(model)
    table = read_rows(
        model, data, task, separator=separator, drop_missing=drop_missing, features=features, verbose=verbose
    )
    return table, task, model


def read_rows(
    model: Any,
    data: Path,
    task: Task,
    *,
    separator: str | None,
    drop_missing: bool,
    features: str | None,
    verbose: bool,
    labels_needed: bool = True,
    to_learn: bool = True,
) -> Labelled:
    """The rows of a table as a stored model takes them."""
    known = trained_columns(model)
    frame = read_table(data, separator=separator, texts=() if known is None else known[1], verbose=verbose)
    given = split_names(features)
    table = cut_table(
        frame,
        task,
        data,
        keep_sensitive=task.sensitive in feature_columns(model, frame, data, given),
        drop_missing=drop_missing,
        labels_needed=labels_needed,
        to_learn=to_learn,
        classes=np.asarray(getattr(model, "classes_", ())).tolist(),
    )
    return replace(table, X=features_for(model, table.X, data, given))


def sensitive_among(table: Labelled, task: Task) -> tuple[str, ...]:
    """The sensitive column where it is among the features."""
    return (task.sensitive,) if task.sensitive in table.X.columns else ()
