"""eifffel flip: edit a stored model without retraining it."""

from pathlib import Path
from typing import Annotated

import typer

from eifffel.cli import _app as shared
from eifffel.cli._editing import (
    describe,
    edit,
    known_task,
    read_editing,
    read_monotone,
    say_of_bounds,
    say_of_confidence,
    say_of_rows,
    trained_on,
)
from eifffel.cli._finish import check_targets, exit_unless_met, tell, write_files
from eifffel.cli._progress import Progress
from eifffel.cli._stored import Reading, load_model, read_for_edit, sensitive_among
from eifffel.comparison import Comparison
from eifffel.strategies import ANY, AUTO


@shared.command(example="eifffel flip model.skops people.csv --epsilon 0.02 --out fairer.skops --report report.html")
def flip(
    model: shared.ModelFile,
    data: shared.DataFile,
    out: Annotated[Path, typer.Option(help="Write the edited model there.", metavar="FILE.skops")],
    target: shared.Target = None,
    favorable: shared.Favorable = None,
    sensitive: shared.Sensitive = None,
    privileged: shared.Privileged = None,
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
    test_size: shared.TestSize = 0.2,
    selection_size: shared.SelectionSize = 0.25,
    features: shared.Features = None,
    monotone: shared.Monotone = None,
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
    constrained = read_monotone(monotone)
    comparison = Comparison(favorable, privileged, constraint, combine, min_group_rows, missing)
    editing = read_editing(
        epsilon, ratio, alpha, confidence, objective, strategy, direction, test_size, selection_size, seed, jobs
    )
    check_targets(overwrite=overwrite, model=out, report=report, reads=(model, data))
    stored = load_model(model, allow_pickle=allow_pickle)
    if not quiet and data.is_file():
        say_of_rows(stored, data, seed)
    task, reading = known_task(stored, target, sensitive, comparison), Reading(separator, drop_missing, features)
    table, task, original = read_for_edit(stored, data, task, reading, quiet=quiet or json, verbose=not quiet)
    if not quiet:
        say_of_confidence(stored, data, editing.bounds)
        say_of_bounds(stored, editing)
    with Progress(("tracing", "measuring", "saving", "report"), verbose=not quiet) as progress:
        edited = edit(
            table,
            task,
            original,
            editing,
            data=data,
            trained=True,
            monotone=constrained,
            trained_on=trained_on(stored),
            about=describe(data, table, intended_use),
            sensitive_columns=sensitive_among(table, task),
            progress=progress,
        )
        write_files(progress, overwrite=overwrite, model=edited.model, out=out, summary=edited.summary, report=report)
    tell(edited.summary, json=json, quiet=quiet, out=out, report=report)
    exit_unless_met(edited, quiet=quiet)
