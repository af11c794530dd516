"""What commands do last: write files, print, exit."""

from collections.abc import Callable, Sequence
from os.path import realpath
from pathlib import Path
from typing import Any

import typer

from eifffel import save
from eifffel._utils.writing import check_target
from eifffel.cli._app import NOT_MET
from eifffel.cli._editing import Edited
from eifffel.cli._files import check_table_name
from eifffel.cli._options import OutputOptions
from eifffel.cli._printing import print_summary, say_note, say_where
from eifffel.cli._progress import Progress
from eifffel.report import Summary, check_audit_name, check_report_name, render_json, save_report

MODEL_ENDING = ".skops"
EXPORT_ENDING = ".onnx"
PICTURES = (".png", ".svg", ".pdf")


def _check_model_name(path: Path) -> None:
    if path.suffix != MODEL_ENDING:
        raise ValueError(f"a model file must end in {MODEL_ENDING}, got '{path}'; rename it")


def _check_export_name(path: Path) -> None:
    if path.suffix != EXPORT_ENDING:
        raise ValueError(f"an exported model must end in {EXPORT_ENDING}, got '{path}'; rename it")


def _check_picture_name(path: Path) -> None:
    if path.suffix.lower() not in PICTURES:
        raise ValueError(f"--picture must end in {', '.join(PICTURES)}, got '{path}'; rename it")


# What a file is -> what raises unless its name says so; a model in its library's own form may have any name.
NAME_CHECKS: dict[str, Callable[[Path], object]] = {
    "model": _check_model_name,
    "exported": _check_export_name,
    "table": check_table_name,
    "picture": _check_picture_name,
    "report": check_report_name,
    "audit": check_audit_name,
    "native": lambda path: None,
}


def check_targets(*, overwrite: bool, reads: Sequence[Path | None] = (), **files: Path | None) -> None:
    """Raise, before any work is done, if a file cannot be written, or is one that is read.

    ``files`` are the paths of what is to be written, by what they are: a name in `NAME_CHECKS`.
    """
    wanted = {what: path for what, path in files.items() if path is not None}
    for what, path in wanted.items():
        NAME_CHECKS[what](path)
    for path in wanted.values():
        if any(given is not None and realpath(path) == realpath(given) for given in reads):
            raise ValueError(f"'{path}' is read, and would be written over; name another file")
        check_target(path, overwrite=overwrite)
    if len(set(map(realpath, wanted.values()))) < len(wanted):
        raise ValueError(f"two files are to be written to '{next(iter(wanted.values()))}'; name them differently")


def write_files(
    progress: Progress,
    summary: Summary,
    output: OutputOptions,
    *,
    model: Any = None,
    out: Path | None = None,
    report: Path | None,
) -> None:
    """Write the model and the report, where they are asked for."""
    if out is not None:
        with progress.stage("saving", "saving the model"):
            save(model, out, overwrite=output.overwrite)
    if report is not None:
        with progress.stage("report", "writing the report"):
            save_report(summary, report, overwrite=output.overwrite)


def print_outcome(
    summary: Summary,
    output: OutputOptions,
    *,
    out: Path | None = None,
    report: Path | None,
    more: Callable[[Summary], None] = lambda summary: None,
) -> None:
    """Print a summary and where the files are; ``more`` prints what else there is to say."""
    if output.json:
        typer.echo(render_json(summary), nl=False)
    elif not output.quiet:
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
