"""eifffel explain: what an edit changed, from the record in the model's file."""

from json import loads
from pathlib import Path
from typing import Any

from eifffel import ModelFileError, NoRecordError
from eifffel.cli import _app as shared
from eifffel.cli._finish import check_targets, tell, write_files
from eifffel.cli._printing import print_rules, say
from eifffel.cli._progress import Progress
from eifffel.cli._stored import load_model
from eifffel.record import find_record
from eifffel.report import Summary, conforms, read_summary, schema
from eifffel.report.words import strategy_words


@shared.command(example="eifffel explain model.skops")
def explain(
    model: shared.ModelFile,
    report: shared.Report = None,
    allow_pickle: shared.AllowPickle = False,
    overwrite: shared.Overwrite = False,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Say what was changed in a model: how much, for whom, by which rules. No data are needed."""
    check_targets(overwrite=overwrite, report=report, reads=(model,))
    summary = stored_summary(load_model(model, allow_pickle=allow_pickle), model)
    try:
        with Progress(("report",), verbose=not quiet) as progress:
            write_files(progress, overwrite=overwrite, summary=summary, report=report)
        if not quiet and not json:
            leaves = summary.leaves
            assert leaves is not None
            say(
                f"{summary.model.kind}: {leaves.n_changed:,} of {leaves.n_leaves:,} leaves changed, by "
                f"{strategy_words(summary.model)}.\n"
            )
        tell(summary, json=json, quiet=quiet, report=report, more=print_rules)
    except (LookupError, TypeError, AttributeError, ArithmeticError) as error:  # it conforms, and contradicts itself
        raise _unreadable(model) from error


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
