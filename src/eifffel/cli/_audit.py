"""eifffel audit: measure a stored model, edited or not."""

from typing import Annotated

import typer

from eifffel import load
from eifffel._validation import check_fraction
from eifffel.cli import _app as shared
from eifffel.cli._editing import describe, known_rows, known_task, say_assumed, say_of_rows
from eifffel.cli._finish import check_targets, tell, write_files
from eifffel.cli._progress import Progress
from eifffel.cli._stored import read_rows, sensitive_among
from eifffel.record import find_record
from eifffel.report import summarize
from eifffel.selection import check_one_bound


@shared.command(example="eifffel audit model.skops people.csv --sensitive sex --report audit.html")
def audit(
    model: shared.ModelFile,
    data: shared.DataFile,
    target: shared.Target = None,
    favorable: shared.Favorable = None,
    sensitive: shared.Sensitive = None,
    privileged: shared.Privileged = None,
    constraint: shared.Constraint = None,
    combine: shared.Combine = None,
    min_group_rows: shared.MinGroupRows = None,
    missing: shared.Missing = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="A bound to judge by; the exit code is 3 if it is broken. By default that of the model's edit."
        ),
    ] = None,
    ratio: Annotated[
        float | None, typer.Option(help="In place of --epsilon: a bound on the smallest rate over the largest.")
    ] = None,
    features: shared.Features = None,
    drop_missing: shared.DropMissing = False,
    separator: shared.Separator = None,
    report: shared.Report = None,
    intended_use: shared.IntendedUse = None,
    allow_pickle: shared.AllowPickle = False,
    overwrite: shared.Overwrite = False,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Measure what a model decides about the rows of a table, group by group.

    Without --target it measures what needs no labels. An edited model is compared with what it was before, and judged
    by the bound that it was edited for: does it still hold, on these rows?
    """
    check_fraction("--epsilon", epsilon, optional=True)
    check_one_bound(epsilon, ratio)
    check_targets(overwrite=overwrite, report=report, reads=(model, data))
    loaded = load(model, allow_pickle=allow_pickle)
    task = known_task(
        loaded,
        target=target,
        favorable=favorable,
        sensitive=sensitive,
        privileged=privileged,
        constraint=constraint,
        combine=combine,
        min_group_rows=min_group_rows,
        missing=missing,
    )
    table = read_rows(
        loaded,
        data,
        task,
        separator=separator,
        drop_missing=drop_missing,
        features=features,
        verbose=not quiet,
        labels_needed=target is not None,
        to_learn=False,
    )
    about = describe(data, table, intended_use)
    if not quiet:
        say_of_rows(loaded, data)
        if find_record(loaded) is None:
            say_assumed(table, task)
    with Progress(("measuring", "report"), verbose=not quiet) as progress:
        with progress.stage("measuring"):
            summary = summarize(
                loaded,
                table.X,
                table.y,
                sensitive_features=table.group,
                rows=f"rows of {data.name}",
                epsilon=epsilon,
                ratio=ratio,
                favorable=table.favorable,
                privileged=table.privileged,
                constraint=task.constraint if table.y is not None else constraint,
                combine=task.combine,
                min_group_rows=task.min_group_rows,
                missing=task.missing,
                favorable_name=None if task.labels is None else task.labels[1],
                sensitive_name=task.sensitive_name,
                sensitive_columns=sensitive_among(table, task),
                about=about | {"data": about["data"] + known_rows(loaded, data)},
            )
        write_files(progress, overwrite=overwrite, summary=summary, report=report)
    tell(summary, json=json, quiet=quiet, report=report)
    verdict = summary["verdict"]
    # A bound that is asked for is one of these rows; the one that the model was edited for is one of all people.
    if verdict["holds"] is False and (epsilon is not None or ratio is not None or verdict["certain"]):
        raise typer.Exit(shared.NOT_MET)
