"""eifffel fit: a table -> a fair model."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from eifffel._validation import check_choice
from eifffel.cli import _app as shared
from eifffel.cli._editing import describe, edit, read_editing
from eifffel.cli._files import read_table, split_names
from eifffel.cli._finish import check_targets, exit_unless_met, tell, write_files
from eifffel.cli._printing import say, say_note
from eifffel.cli._progress import Progress
from eifffel.cli._tables import Labelled, Task, code_labels, cut_table, find_good
from eifffel.cli._training import (
    AVERAGED,
    CODED_LABELS,
    MAX_CATEGORIES,
    MODELS,
    as_trained,
    find_stray_words,
    split_columns,
    train,
)
from eifffel.comparison import USUAL, Comparison
from eifffel.ensembles import AveragedView, BoostedView
from eifffel.strategies import ANY, AUTO, check_strategy

Drop = Annotated[str | None, typer.Option(help="Columns that are no features, separated by commas.")]
# Columns that are told of, each in a line.
SHOWN = 3
KeepSensitive = Annotated[
    bool,
    typer.Option("--keep-sensitive", help="Keep the sensitive column among the features, so that trees see the group."),
]


@shared.command(
    example="eifffel fit people.csv --target income --favorable '>50K' --sensitive sex --out model.skops "
    "--report report.html"
)
def fit(
    data: shared.DataFile,
    target: Annotated[str, typer.Option(help="The column of labels.", metavar="COLUMN")],
    sensitive: Annotated[
        str, typer.Option(help="The column of groups, or several, separated by commas.", metavar="COLUMN")
    ],
    out: Annotated[Path, typer.Option(help="Write the model there.", metavar="FILE.skops")],
    favorable: shared.Favorable = None,
    privileged: shared.Privileged = None,
    keep_sensitive: KeepSensitive = False,
    constraint: shared.Constraint = None,
    combine: shared.Combine = None,
    min_group_rows: shared.MinGroupRows = None,
    missing: shared.Missing = None,
    epsilon: shared.Epsilon = None,
    ratio: shared.Ratio = None,
    alpha: shared.Alpha = None,
    confidence: shared.Confidence = None,
    objective: shared.Objective = "accuracy",
    strategy: shared.Strategy = AUTO,
    direction: shared.Direction = ANY,
    model: Annotated[str, typer.Option(help=f"What to train: {', '.join(MODELS)}.")] = "rf",
    drop: Drop = None,
    test_size: shared.TestSize = 0.2,
    selection_size: shared.SelectionSize = 0.25,
    drop_missing: shared.DropMissing = False,
    separator: shared.Separator = None,
    report: shared.Report = None,
    intended_use: shared.IntendedUse = None,
    seed: shared.Seed = 0,
    jobs: shared.Jobs = None,
    overwrite: shared.Overwrite = False,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Train a model on a table and make it fair.

    Categories are encoded inside the stored model, so that it takes raw rows. The sensitive column is no feature unless
    you say so, and is not needed to predict.
    """
    editing = read_editing(
        epsilon, ratio, alpha, confidence, objective, strategy, direction, test_size, selection_size, seed, jobs
    )
    check_choice("model", model, list(MODELS))
    check_strategy(strategy, AveragedView if model in AVERAGED else BoostedView)
    check_targets(overwrite=overwrite, model=out, report=report, reads=(data,))
    comparison = Comparison(favorable, privileged, constraint, combine, min_group_rows, missing)
    task = Task(target, sensitive, comparison.or_else(USUAL))
    verbose = not quiet
    dropped = split_names(drop)
    frame = read_table(data, separator=separator, verbose=verbose)
    task = find_good(frame, task)
    table = cut_table(frame, task, data, drop=dropped, keep_sensitive=keep_sensitive, drop_missing=drop_missing)
    if table.X.shape[1] == 0:
        raise ValueError(f"'{data}' has no column left to be a feature; name fewer in --drop")
    if verbose:
        say_of_words(frame, split_columns(table.X)[1])
    table = replace(table, X=as_trained(table.X, *split_columns(table.X)))
    if verbose and not json:
        say_of_columns(table, data)
    if model in CODED_LABELS and task.labels is None:
        table, labels = code_labels(table)
        task = replace(task, labels=labels)

    def fit_model(X: Any, y: np.ndarray, progress: Progress) -> Any:
        with progress.stage("training", f"training {model}") as done:
            return train(model, X, y, seed=seed, jobs=editing.jobs, done=done)

    with Progress(("training", "tracing", "measuring", "saving", "report"), verbose=verbose) as progress:
        edited = edit(
            table,
            task,
            fit_model,
            editing,
            data=data,
            trained=False,
            about=describe(data, table, intended_use),
            sensitive_columns=tuple(task.sensitive_columns) if keep_sensitive else (),
            progress=progress,
        )
        write_files(progress, overwrite=overwrite, model=edited.model, out=out, summary=edited.summary, report=report)
    tell(edited.summary, json=json, quiet=quiet, out=out, report=report)
    exit_unless_met(edited, quiet=quiet)


def say_of_words(frame: pd.DataFrame, categories: Sequence[str]) -> None:
    """Which columns became categories by a few words among their numbers."""
    stray = find_stray_words(frame, categories)
    for name, (n_words, first) in list(stray.items())[:SHOWN]:
        more = f", the first of {n_words:,} words" if n_words > 1 else ""
        say_note(
            f"column {name!r} has {str(frame[name].iloc[first])!r} in row {first + 1:,}{more}, so that its numbers are "
            "taken as categories; make that a number, or leave it empty where it is not known"
        )
    if len(stray) > SHOWN:
        say_note(f"{len(stray) - SHOWN:,} more columns have words among their numbers")


def say_of_columns(table: Labelled, data: Path) -> None:
    """What becomes of the columns, and which look like names of persons."""
    numbers, categories = split_columns(table.X)
    dropped = f"; {table.n_dropped:,} rows without a label or a group left out" if table.n_dropped else ""
    say(f"{data.name}: {len(table.X):,} rows{dropped}; features: {len(numbers)} numbers, {len(categories)} categories.")
    for name in categories:
        n_values = table.X[name].nunique()
        if n_values > max(MAX_CATEGORIES, len(table.X) / 2):
            say(
                f"note: column {name!r} has {n_values:,} different values; if it names persons, leave it out "
                "with --drop"
            )
