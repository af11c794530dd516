"""eifffel audit: measure a stored model, edited or not, or decisions that somebody else has made."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from eifffel._utils.validation import check_choice, check_fraction, listed
from eifffel.cli._app import NOT_MET, command
from eifffel.cli._decisions import Asked, summarize_column
from eifffel.cli._editing import describe
from eifffel.cli._files import hash_file
from eifffel.cli._finish import check_targets, print_outcome, write_files
from eifffel.cli._groups import OptionGroup, declares_options
from eifffel.cli._options import (
    BOUNDS_PANEL,
    REPORT_PANEL,
    TABLE_PANEL,
    AllowPickle,
    ModelOptions,
    OutputOptions,
    PeopleOptions,
    ReadingOptions,
    ReportOptions,
)
from eifffel.cli._printing import print_audit, say_note, say_where
from eifffel.cli._progress import Progress
from eifffel.cli._recorded import known_rows, known_task, note_known_rows, stored_about
from eifffel.cli._stored import load_model, read_labelled, sensitive_among
from eifffel.cli._tables import Cut
from eifffel.edits.record import find_record
from eifffel.report import TABLES, Summary, render_table, save_table, summarize
from eifffel.rows.sensitive import DROP
from eifffel.selection.bounds import check_one_bound
from eifffel.selection.verdict import MEASURED


@declares_options()
class AuditedFiles(OptionGroup):
    """What is measured: a model on a table, or a column of a table."""

    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[MODEL] DATA",
            help="A model saved by eifffel or skops, and a table; with --decision, the table alone.",
            readable=False,
        ),
    ]
    allow_pickle: AllowPickle = False


@declares_options(panel=BOUNDS_PANEL)
class JudgingBounds(OptionGroup):
    """The bound that decisions are judged by."""

    epsilon: Annotated[
        float | None,
        typer.Option(
            help="A bound to judge by; the exit code is 3 if it is broken, or cannot be judged. By default that of the "
            "model's edit."
        ),
    ] = None
    ratio: Annotated[
        float | None, typer.Option(help="In place of --epsilon: a bound on the smallest rate over the largest.")
    ] = None


@declares_options(panel=TABLE_PANEL)
class DecisionColumns(ReadingOptions):
    """How a table is read, and the columns of decisions that it may have."""

    decision: Annotated[
        str | None,
        typer.Option(
            help="The column of decisions that people, or any other system, made: no model.", metavar="COLUMN"
        ),
    ] = None
    score: Annotated[
        str | None,
        typer.Option(
            help="With --decision: a column of scores, the larger the better for a person, for scoring rates.",
            metavar="COLUMN",
        ),
    ] = None


@declares_options(panel=REPORT_PANEL)
class AuditReport(ReportOptions):
    """The report and the tables that are made of an audit."""

    not_for: Annotated[str | None, typer.Option(help="What the decisions must not be used for, to be said.")] = None
    owner: Annotated[str | None, typer.Option(help="Who answers for the decisions, to be said.")] = None
    data_source: Annotated[str | None, typer.Option(help="Where the rows come from, and why these, to be said.")] = None
    table: Annotated[
        str | None,
        typer.Option(
            help="Print a table that auditors ask for, in place of the summary: four-fifths, ll144 (New York City's "
            "Local Law 144) or model-card."
        ),
    ] = None
    out: Annotated[Path | None, typer.Option(help="Write that table there: .md, .csv or .json.", metavar="FILE")] = None
    tell_few: Annotated[
        bool,
        typer.Option(
            "--tell-few",
            help="Let tables describe categories of fewer than ten people too. Not for publication: such numbers can "
            "say what was decided about single persons.",
        ),
    ] = False

    @property
    def about(self) -> dict[str, str | None]:
        """What a report says of the decisions."""
        return {name: getattr(self, name) for name in ("intended_use", "not_for", "owner", "data_source")}


@command(example="eifffel audit model.skops people.csv --sensitive sex --report audit.html")
def audit(
    audited: AuditedFiles,
    reading: DecisionColumns,
    people: PeopleOptions,
    bounds: JudgingBounds,
    wanted: AuditReport,
    output: OutputOptions,
) -> None:
    """Measure what is decided about the rows of a table, group by group.

    By a model: without --target it measures what needs no labels. An edited model is compared with what it was before,
    and judged by the bound that it was edited for: does it still hold, on these rows?

    By people, or by any other system: --decision names the column that says what they decided.
    """
    check_fraction("epsilon", bounds.epsilon, optional=True)
    check_one_bound(bounds.epsilon, bounds.ratio)
    check_asked_for(wanted.table, wanted.out)
    model, data = split_files(audited.files, reading.decision)
    check_targets(overwrite=output.overwrite, report=wanted.report, audit=wanted.out, reads=audited.files)
    if reading.drop_missing and people.missing is None:
        people = replace(people, missing=DROP)  # rows without a group are counted as such rather than cut off
    asked = Asked(
        people,
        reading,
        epsilon=bounds.epsilon,
        ratio=bounds.ratio,
        tell_few=wanted.tell_few,
        about=wanted.about,
        verbose=output.verbose,
    )
    with Progress(("measuring", "report"), verbose=output.verbose) as progress:
        with progress.stage("measuring"):
            if model is None:
                assert reading.decision is not None
                refuse({"--features": reading.features, "--allow-pickle": audited.allow_pickle}, "is for models")
                summary = summarize_column(data, reading.decision, reading.score, asked)
            else:
                refuse({"--score": reading.score}, "goes with --decision, and a model gives scores of its own")
                stored = ModelOptions(model=model, allow_pickle=audited.allow_pickle)
                summary = summarize_stored(stored, data, asked)
        write_files(progress, summary, output, report=wanted.report)
        if wanted.table is not None and wanted.out is not None:
            save_table(summary, wanted.table, wanted.out, overwrite=output.overwrite)
    if wanted.table is None:
        print_outcome(summary, output, report=wanted.report)
    else:
        print_audit_table(summary, wanted.table, output, out=wanted.out, report=wanted.report)
    verdict = summary.verdict
    # A bound that is asked for is one of these rows; the one that the model was edited for is one of all people.
    broken = verdict.holds is False and (bounds != JudgingBounds() or verdict.certain)
    unjudged = verdict.holds is None and verdict.kind != MEASURED
    # A bound that cannot be judged, or was not met where the step was chosen, is not known to hold.
    if broken or unjudged or verdict.chosen is False:
        if wanted.table is not None and not output.quiet:
            say_note(f"{verdict.heading}, so that the exit code is {NOT_MET}. {verdict.sentence}")
        raise typer.Exit(NOT_MET)


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
    """Raise if an option was given that has no effect here."""
    for name, value in options.items():
        if value:
            raise ValueError(f"{name} {why}; leave it out")


def summarize_stored(stored: ModelOptions, data: Path, asked: Asked) -> Summary:
    """What a report says of a stored model on the rows of a table."""
    model, file, people = load_model(stored), stored.model, asked.people
    table, task = read_labelled(
        model,
        data,
        known_task(model, people.target, people.sensitive, people.comparison),
        asked.reading,
        Cut(labels_needed=people.target is not None, to_learn=False),
        record=find_record(model),
        verbose=asked.verbose,
    )
    comparison = table.comparison
    if table.y is None:  # rows without labels need not have the rates of the edit
        comparison = replace(comparison, constraint=people.comparison.constraint)
    if asked.verbose:
        note_known_rows(model, data)
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
    """What a report says of a model: what is given now, or else what was given when it was made."""
    before = stored_about(model)
    made = {name: before.get(name) for name in ("trained_on", "intended_use")}
    return made | {name: made.get(name) if text is None else text for name, text in said.items()}


def print_audit_table(
    summary: Summary, name: str, output: OutputOptions, *, out: Path | None, report: Path | None
) -> None:
    """Print a table of an audit, and where files are."""
    if output.json:
        typer.echo(render_table(summary, name, ".json"), nl=False)
    elif not output.quiet:
        print_audit(TABLES[name](summary))
        say_where(table=out, report=report)
