"""What commands do last: write files, print, exit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from eifffel import save
from eifffel._writing import check_target
from eifffel.cli._app import NOT_MET
from eifffel.cli._editing import Edited
from eifffel.cli._printing import print_summary, say
from eifffel.cli._progress import Progress
from eifffel.report import save_report
from eifffel.report._save import check_report_target, render_json


def check_targets(*, overwrite: bool, report: Path | None, **files: Path | None) -> None:
    """Raise, before any work is done, if a file cannot be written."""
    for path in files.values():
        if path is not None:
            check_target(path, overwrite=overwrite)
    if report is not None:
        check_report_target(report, overwrite=overwrite)
    named = [path.absolute() for path in (*files.values(), report) if path is not None]
    if len(set(named)) < len(named):
        raise ValueError(f"two files are to be written to '{named[0]}'; name them differently")


def write_files(
    progress: Progress,
    *,
    overwrite: bool,
    model: Any = None,
    out: Path | None = None,
    summary: dict[str, Any],
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
    summary: dict[str, Any],
    *,
    json: bool,
    quiet: bool,
    out: Path | None = None,
    report: Path | None,
    more: Callable[[dict[str, Any]], None] = lambda summary: None,
) -> None:
    """Print a summary and where the files are; ``more`` prints what else there is to say."""
    if json:
        typer.echo(render_json(summary), nl=False)
    elif not quiet:
        print_summary(summary)
        more(summary)
        for what, where in (("model", out), ("report", report)):
            if where is not None:
                say(f"The {what} is in {where}.")


def exit_unless_met(edited: Edited) -> None:
    """Exit with 3 if the bound is not met."""
    if not edited.met:
        raise typer.Exit(NOT_MET)
