"""What commands do last: write files, print, exit."""

from pathlib import Path
from typing import Any

import typer

from eifffel import save
from eifffel._writing import check_target
from eifffel.cli._app import NOT_MET
from eifffel.cli._editing import Edited
from eifffel.cli._printing import print_summary, say
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


def finish_edit(
    edited: Edited, *, out: Path | None, report: Path | None, overwrite: bool, json: bool, quiet: bool
) -> None:
    """Write the model and the report, print, and exit with 3 if the bound is not met."""
    if out is not None:
        save(edited.model, out, overwrite=overwrite)
    finish_summary(edited.summary, report=report, overwrite=overwrite, json=json, quiet=quiet)
    if out is not None and not quiet and not json:
        say(f"The model is in {out}.")
    if not edited.met:
        raise typer.Exit(NOT_MET)


def finish_summary(summary: dict[str, Any], *, report: Path | None, overwrite: bool, json: bool, quiet: bool) -> None:
    """Write the report and print."""
    if report is not None:
        save_report(summary, report, overwrite=overwrite)
    if json:
        typer.echo(render_json(summary), nl=False)
    elif not quiet:
        print_summary(summary)
        if report is not None:
            say(f"The report is in {report}.")
