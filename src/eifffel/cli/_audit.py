"""eifffel audit: measure a stored model, edited or not, or decisions that somebody else has made."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from eifffel._validation import check_choice, check_fraction, listed
from eifffel.bounds import check_one_bound
from eifffel.cli import _app as shared
from eifffel.cli._decisions import Asked, summarize_column
from eifffel.cli._editing import (
    describe,
    known_rows,
    known_task,
    say_of_rows,
    stored_about,
)
from eifffel.cli._files import hash_file
from eifffel.cli._finish import check_targets, tell, write_files
from eifffel.cli._printing import print_audit, say_note, say_where
from eifffel.cli._progress import Progress
from eifffel.cli._stored import Reading, load_model, read_rows, sensitive_among
from eifffel.comparison import Comparison
from eifffel.record import find_record
from eifffel.report import TABLES, Summary, render_table, save_table, summarize
from eifffel.rows.sensitive import DROP
from eifffel.verdict import MEASURED


@shared.command(example="eifffel audit model.skops people.csv --sensitive sex --report audit.html")
def audit(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[MODEL] DATA",
            help="A model saved by eifffel or skops, and a table; with --decision, the table alone.",
            readable=False,
        ),
    ],
    decision: Annotated[
        str | None,
        typer.Option(
            help="The column of decisions that people, or any other system, made: no model.", metavar="COLUMN"
        ),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            help="With --decision: a column of scores, the larger the better for a person, for scoring rates.",
            metavar="COLUMN",
        ),
    ] = None,
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
            help="A bound to judge by; the exit code is 3 if it is broken, or cannot be judged. By default that of the "
            "model's edit."
        ),
    ] = None,
    ratio: Annotated[
        float | None, typer.Option(help="In place of --epsilon: a bound on the smallest rate over the largest.")
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            help="Print a table that auditors ask for, in place of the summary: four-fifths, ll144 (New York City's "
            "Local Law 144) or model-card."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write that table there: .md, .csv or .json.", metavar="FILE")
    ] = None,
    tell_few: Annotated[
        bool,
        typer.Option(
            "--tell-few",
            help="Let tables describe categories of fewer than ten people too. Not for publication: such numbers can "
            "say what was decided about single persons.",
        ),
    ] = False,
    features: shared.Features = None,
    drop_missing: shared.DropMissing = False,
    separator: shared.Separator = None,
    report: shared.Report = None,
    intended_use: shared.IntendedUse = None,
    not_for: Annotated[str | None, typer.Option(help="What the decisions must not be used for, to be said.")] = None,
    owner: Annotated[str | None, typer.Option(help="Who answers for the decisions, to be said.")] = None,
    data_source: Annotated[
        str | None, typer.Option(help="Where the rows come from, and why these, to be said.")
    ] = None,
    allow_pickle: shared.AllowPickle = False,
    overwrite: shared.Overwrite = False,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Measure what is decided about the rows of a table, group by group.

    By a model: without --target it measures what needs no labels. An edited model is compared with what it was before,
    and judged by the bound that it was edited for: does it still hold, on these rows?

    By people, or by any other system: --decision names the column that says what they decided.
    """
    check_fraction("epsilon", epsilon, optional=True)
    check_one_bound(epsilon, ratio)
    check_asked_for(table, out)
    model, data = split_files(files, decision)
    check_targets(overwrite=overwrite, report=report, audit=out, reads=files)
    if drop_missing and missing is None:
        missing = DROP  # rows without a group are counted as such rather than cut off
    asked = Asked(
        target,
        sensitive,
        Comparison(favorable, privileged, constraint, combine, min_group_rows, missing),
        Reading(separator, drop_missing, features),
        epsilon=epsilon,
        ratio=ratio,
        tell_few=tell_few,
        about={"intended_use": intended_use, "not_for": not_for, "owner": owner, "data_source": data_source},
        quiet=quiet,
    )
    with Progress(("measuring", "report"), verbose=not quiet) as progress:
        with progress.stage("measuring"):
            if model is None:
                assert decision is not None
                refuse({"--features": features, "--allow-pickle": allow_pickle}, "is for models")
                summary = summarize_column(data, decision, score, asked)
            else:
                refuse({"--score": score}, "goes with --decision, and a model gives scores of its own")
                summary = summarize_stored(model, data, asked, allow_pickle=allow_pickle)
        write_files(progress, overwrite=overwrite, summary=summary, report=report)
        if table is not None and out is not None:
            save_table(summary, table, out, overwrite=overwrite)
    if table is None:
        tell(summary, json=json, quiet=quiet, report=report)
    else:
        tell_table(summary, table, json=json, quiet=quiet, out=out, report=report)
    verdict = summary.verdict
    # A bound that is asked for is one of these rows; the one that the model was edited for is one of all people.
    broken = verdict.holds is False and (epsilon is not None or ratio is not None or verdict.certain)
    unjudged = verdict.holds is None and verdict.kind != MEASURED
    if broken or unjudged:  # a bound that cannot be judged is not known to hold
        if table is not None and not quiet:
            say_note(f"{verdict.heading}, so that the exit code is {shared.NOT_MET}. {verdict.sentence}")
        raise typer.Exit(shared.NOT_MET)


def check_asked_for(table: str | None, out: Path | None) -> None:
    """Raise if no such table can be made."""
    if table is not None:
        check_choice("table", table, list(TABLES))
    elif out is not None:
        raise ValueError(
            f"--out is for a table: say which, as in --table {next(iter(TABLES))}; --report writes a report"
        )


def split_files(files: list[Path], decision: str | None) -> tuple[Path | None, Path]:
    """The model, if there is one, and the table."""
    given = listed(list(map(str, files)))
    if decision is not None:
        if len(files) != 1:
            raise ValueError(f"with --decision name one table and no model, got {given}")
        return None, files[0]
    if len(files) != 2:
        raise ValueError(
            f"name a model and a table, as in eifffel audit model.skops people.csv, got {given}; for decisions without "
            "a model say --decision COLUMN"
        )
    return files[0], files[1]


def refuse(options: Mapping[str, object], why: str) -> None:
    """Raise if an option was given that says nothing here."""
    for name, value in options.items():
        if value:
            raise ValueError(f"{name} {why}; leave it out")


def summarize_stored(file: Path, data: Path, asked: Asked, *, allow_pickle: bool) -> Summary:
    """What a report says of a stored model on the rows of a table."""
    model = load_model(file, allow_pickle=allow_pickle)
    table, task = read_rows(
        model,
        data,
        known_task(model, asked.target, asked.sensitive, asked.comparison),
        asked.reading,
        record=find_record(model),
        verbose=not asked.quiet,
        labels_needed=asked.target is not None,
        to_learn=False,
    )
    comparison = table.comparison
    if table.y is None:  # rows without labels need not have the rates of the edit
        comparison = replace(comparison, constraint=asked.comparison.constraint)
    if not asked.quiet:
        say_of_rows(model, data)
    said = asked.about | {"model_file": f"{file.name}, SHA-256 {hash_file(file)}"}
    about = describe(data, table, **said_before(model, said))
    return summarize(
        model,
        table.X,
        table.y,
        sensitive_features=table.group,
        rows=f"rows of {data.name}",
        epsilon=asked.epsilon,
        ratio=asked.ratio,
        tell_few=asked.tell_few,
        **asdict(comparison),
        favorable_name=None if task.labels is None else task.labels[1],
        sensitive_name=task.sensitive_name,
        sensitive_columns=sensitive_among(table, task),
        about=about | {"data": about["data"] + known_rows(model, data)},
    )


def said_before(model: Any, said: dict[str, str | None]) -> dict[str, Any]:
    """What is said of a model: now, or else when it was made."""
    before = stored_about(model)
    made = {name: before.get(name) for name in ("trained_on", "intended_use")}
    return made | {name: made.get(name) if text is None else text for name, text in said.items()}


def tell_table(summary: Summary, name: str, *, json: bool, quiet: bool, out: Path | None, report: Path | None) -> None:
    """Print a table, and where files are."""
    if json:
        typer.echo(render_table(summary, name, ".json"), nl=False)
    elif not quiet:
        print_audit(TABLES[name](summary))
        say_where(table=out, report=report)
