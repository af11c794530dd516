"""eifffel explain: what an edit changed, from the record in the model's file."""

from json import loads
from pathlib import Path
from typing import Any

from eifffel import ModelFileError, NoRecordError
from eifffel.cli._app import command
from eifffel.cli._finish import check_targets, print_outcome, write_files
from eifffel.cli._options import ModelOptions, OutputOptions, ReportFile
from eifffel.cli._printing import print_rules, say
from eifffel.cli._progress import Progress
from eifffel.cli._stored import load_model
from eifffel.edits.record import find_record
from eifffel.report import Summary, conforms, read_summary, schema
from eifffel.report.words import strategy_words


@command(example="eifffel explain model.skops")
def explain(stored: ModelOptions, output: OutputOptions, report: ReportFile = None) -> None:
    """Say what was changed in a model: how much, for whom, by which rules. No data are needed."""
    check_targets(overwrite=output.overwrite, report=report, reads=(stored.model,))
    summary = stored_summary(load_model(stored), stored.model)
    try:
        with Progress(("report",), verbose=output.verbose) as progress:
            write_files(progress, summary, output, report=report)
        if output.in_words:
            leaves = summary.leaves
            assert leaves is not None
            say(
                f"{summary.model.kind}: {leaves.n_changed:,} of {leaves.n_leaves:,} leaves changed, by "
                f"{strategy_words(summary.model)}.\n"
            )
        print_outcome(summary, output, report=report, more=print_rules)
    except (LookupError, TypeError, AttributeError, ArithmeticError) as error:  # it conforms, and contradicts itself
        raise _unreadable(stored.model) from error


def stored_summary(model: Any, path: Path) -> Summary:
    """What the record of a model says of its edit."""
    record = find_record(model)
    if record is None:
        raise NoRecordError(f"'{path}' carries no record of an edit; eifffel fit and eifffel flip write models that do")
    if record["summary"] is None:
        raise NoRecordError(
            f"'{path}' says that leaves were changed, but not for whom: eifffel fit and eifffel flip write that too. "
            "eifffel audit compares it with what it was before, on a table"
        )
    try:
        plain = loads(record["summary"], parse_constant=_refuse_constant)
        summary = read_summary(plain) if conforms(plain, schema(), schema()["$defs"]) else None
    except (ValueError, TypeError, RecursionError) as error:
        raise _unreadable(path) from error
    if summary is None or summary.leaves is None:
        raise _unreadable(path)
    return summary


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of a report")


def _unreadable(path: Path) -> ModelFileError:
    return ModelFileError(f"what '{path}' says of its edit cannot be read; it is of another version, or damaged")
