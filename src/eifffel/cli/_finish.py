"""What commands do last: write files, print, exit."""

from collections.abc import Callable, Sequence
from os.path import realpath
from pathlib import Path
from typing import Any

import typer

from eifffel import save
from eifffel._writing import check_target
from eifffel.cli._app import NOT_MET
from eifffel.cli._editing import Edited
from eifffel.cli._files import check_table_name
from eifffel.cli._printing import print_summary, say_note, say_where
from eifffel.cli._progress import Progress
from eifffel.report import Summary, check_audit_name, check_report_name, render_json, save_report

MODEL_ENDING = ".skops"
EXPORT_ENDING = ".onnx"
PICTURES = (".png", ".svg", ".pdf")


def check_targets(
    *,
    overwrite: bool,
    reads: Sequence[Path | None] = (),
    model: Path | None = None,
    table: Path | None = None,
    picture: Path | None = None,
    report: Path | None = None,
    audit: Path | None = None,
    exported: Path | None = None,
    native: Path | None = None,
) -> None:
    """Raise, before any work is done, if a file cannot be written, or is one that is read."""
    wanted = [path for path in (model, table, picture, report, audit, exported, native) if path is not None]
    if model is not None and model.suffix != MODEL_ENDING:
        raise ValueError(f"a model file must end in {MODEL_ENDING}, got '{model}'; rename it")
    if exported is not None and exported.suffix != EXPORT_ENDING:
        raise ValueError(f"an exported model must end in {EXPORT_ENDING}, got '{exported}'; rename it")
    if table is not None:
        check_table_name(table)
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise ValueError(f"--picture must end in {', '.join(PICTURES)}, got '{picture}'; rename it")
    if report is not None:
        check_report_name(report)
    if audit is not None:
        check_audit_name(audit)
    for path in wanted:
        if any(given is not None and realpath(path) == realpath(given) for given in reads):
            raise ValueError(f"'{path}' is read, and would be written over; name another file")
        check_target(path, overwrite=overwrite)
    if len(set(map(realpath, wanted))) < len(wanted):
        raise ValueError(f"two files are to be written to '{wanted[0]}'; name them differently")


def write_files(
    progress: Progress,
    *,
    overwrite: bool,
    model: Any = None,
    out: Path | None = None,
    summary: Summary,
    report: Path | None,
) -> None:
    """Write the model and the report, those that are wanted."""
    if out is not None:
        with progress.stage("saving", "saving the model"):
            save(model, out, overwrite=overwrite)
    if report is not None:
        with progress.stage("report", "writing the report"):
            save_report(summary, report, overwrite=overwrite)


def tell(
    summary: Summary,
    *,
    json: bool,
    quiet: bool,
    out: Path | None = None,
    report: Path | None,
    more: Callable[[Summary], None] = lambda summary: None,
) -> None:
    """Print a summary and where the files are; ``more`` prints what else there is to say."""
    if json:
        typer.echo(render_json(summary), nl=False)
    elif not quiet:
        print_summary(summary)
        more(summary)
        say_where(model=out, report=report)


def exit_unless_met(edited: Edited, *, quiet: bool) -> None:
    """Say what to do where the test rows break the bound, and exit with 3 if it is not met, or cannot be judged."""
    if edited.selection.met and edited.summary.verdict.holds is False and not quiet:
        if edited.selection.confidence is None:
            say_note(
                "a bound is met on the rows that choose the step, and other people differ by chance; --confidence 0.95 "
                "chooses a step for which it holds for them too"
            )
        else:
            say_note(
                "the bound was met with the confidence asked for on the selection rows; test rows differ by chance"
            )
    if not edited.met:
        raise typer.Exit(NOT_MET)
