"""eifffel fit: a table -> a fair model."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from eifffel._utils.validation import check_choice
from eifffel.cli._app import command
from eifffel.cli._editing import describe, edit, read_editing
from eifffel.cli._features import MAX_CATEGORIES, as_trained, find_stray_words, split_kinds
from eifffel.cli._files import read_table, split_names
from eifffel.cli._finish import check_targets, exit_unless_met, print_outcome, write_files
from eifffel.cli._groups import OptionGroup, declares_options
from eifffel.cli._options import (
    PEOPLE_PANEL,
    TABLE_PANEL,
    ComparisonOptions,
    DropMissing,
    EditOptions,
    OutputOptions,
    ReportOptions,
    Separator,
    TableFile,
)
from eifffel.cli._printing import say, say_note
from eifffel.cli._progress import Progress
from eifffel.cli._tables import Cut, DecisionTask, Labelled, code_labels, cut_table, find_good
from eifffel.cli._training import MODELS, make_untrained
from eifffel.cli._watched import Source, Unedited
from eifffel.comparison import USUAL
from eifffel.ensembles import find_view
from eifffel.strategies import check_strategy

# Columns with words among their numbers that are named, each in a line.
MOST_NOTES = 3


@declares_options(panel=PEOPLE_PANEL)
class TrainingColumns(OptionGroup):
    """The columns of labels and of groups of a table to train on."""

    target: Annotated[str, typer.Option(help="The column of labels.", metavar="COLUMN")]
    sensitive: Annotated[
        str, typer.Option(help="The column of groups, or several, separated by commas.", metavar="COLUMN")
    ]
    keep_sensitive: Annotated[
        bool,
        typer.Option(
            "--keep-sensitive", help="Keep the sensitive column among the features, so that trees see the group."
        ),
    ] = False


@declares_options(panel=TABLE_PANEL)
class TrainingTable(OptionGroup):
    """A table to train on, and how it is read."""

    data: TableFile
    drop: Annotated[str | None, typer.Option(help="Columns that are no features, separated by commas.")] = None
    drop_missing: DropMissing = False
    separator: Separator = None


@declares_options()
class TrainedModel(ReportOptions):
    """What is trained, and where it is written."""

    out: Annotated[Path, typer.Option(help="Write the model there.", metavar="FILE.skops")]
    model: Annotated[str, typer.Option(help=f"What to train: {', '.join(MODELS)}.")] = "rf"


@command(
    example="eifffel fit people.csv --target income --favorable '>50K' --sensitive sex --out model.skops "
    "--report report.html"
)
def fit(
    given: TrainingTable,
    columns: TrainingColumns,
    compared: ComparisonOptions,
    options: EditOptions,
    result: TrainedModel,
    output: OutputOptions,
) -> None:
    """Train a model on a table and make it fair.

    Categories are encoded inside the stored model, so that it takes raw rows. The sensitive column is no feature unless
    you say so, and is not needed to predict.
    """
    editing, kind = read_editing(options), result.model
    check_choice("model", kind, list(MODELS))
    check_strategy(options.strategy, find_view(MODELS[kind].make(options.seed, editing.jobs)))
    check_targets(overwrite=output.overwrite, model=result.out, report=result.report, reads=(given.data,))
    task = DecisionTask(columns.target, columns.sensitive, compared.comparison.or_else(USUAL))
    table, task = read_training(given, task, keep_sensitive=columns.keep_sensitive, output=output)
    if MODELS[kind].coded_labels and task.labels is None:
        table, labels = code_labels(table)
        task = replace(task, labels=labels)
    source = Source(
        given.data,
        table,
        task,
        sensitive_columns=tuple(task.sensitive_columns) if columns.keep_sensitive else (),
        about=describe(given.data, table, result.intended_use),
    )
    unedited = Unedited(make_untrained(kind, table.X, seed=options.seed, jobs=editing.jobs), kind)
    with Progress(("training", "tracing", "measuring", "saving", "report"), verbose=output.verbose) as progress:
        edited = edit(unedited, source, editing, progress)
        write_files(progress, edited.summary, output, model=edited.model, out=result.out, report=result.report)
    print_outcome(edited.summary, output, out=result.out, report=result.report)
    exit_unless_met(edited, quiet=output.quiet)


def read_training(
    given: TrainingTable, task: DecisionTask, *, keep_sensitive: bool, output: OutputOptions
) -> tuple[Labelled, DecisionTask]:
    """The rows to train on, with features as models take them, and the task, with the labels that are good."""
    frame = read_table(given.data, separator=given.separator, verbose=output.verbose)
    task = find_good(frame, task)
    cut = Cut(drop=split_names(given.drop), keep_sensitive=keep_sensitive, drop_missing=given.drop_missing)
    table = cut_table(frame, task, given.data, cut)
    if table.X.shape[1] == 0:
        raise ValueError(f"'{given.data}' has no column left to be a feature; name fewer in --drop")
    if output.verbose:
        note_stray_words(frame, split_kinds(table.X)[1])
    table = replace(table, X=as_trained(table.X, *split_kinds(table.X)))
    if output.in_words:
        say_features(table, given.data)
    return table, task


def note_stray_words(frame: pd.DataFrame, categories: Sequence[str]) -> None:
    """Say which columns became categories by a few words among their numbers."""
    stray = find_stray_words(frame, categories)
    for name, (n_words, first) in list(stray.items())[:MOST_NOTES]:
        more = f", the first of {n_words:,} words" if n_words > 1 else ""
        say_note(
            f"column {name!r} has {str(frame[name].iloc[first])!r} in row {first + 1:,}{more}, so that its numbers are "
            "taken as categories; make that a number, or leave it empty where it is not known"
        )
    if len(stray) > MOST_NOTES:
        say_note(f"{len(stray) - MOST_NOTES:,} more columns have words among their numbers")


def say_features(table: Labelled, data: Path) -> None:
    """Say how many columns are numbers and categories, and which look like names of persons."""
    numbers, categories = split_kinds(table.X)
    dropped = f"; {table.n_dropped:,} rows without a label or a group left out" if table.n_dropped else ""
    say(f"{data.name}: {len(table.X):,} rows{dropped}; features: {len(numbers)} numbers, {len(categories)} categories.")
    for name in categories:
        n_values = table.X[name].nunique()
        if n_values > max(MAX_CATEGORIES, len(table.X) / 2):
            say(
                f"note: column {name!r} has {n_values:,} different values; if it names persons, leave it out "
                "with --drop"
            )
