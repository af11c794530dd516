"""eifffel explain: what an edit changed, from the record in the model's file."""

from json import loads
from pathlib import Path
from typing import Any

import typer

from eifffel import NoRecordError, load
from eifffel.cli import _app as shared
from eifffel.cli._finish import check_targets
from eifffel.cli._printing import print_rules, print_summary, say
from eifffel.record import find_record
from eifffel.report import save_report
from eifffel.report._save import render_json
from eifffel.report._words import strategy_words


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
    check_targets(overwrite=overwrite, report=report)
    summary = stored_summary(load(model, allow_pickle=allow_pickle), model)
    if report is not None:
        save_report(summary, report, overwrite=overwrite)
    if json:
        typer.echo(render_json(summary), nl=False)
    elif not quiet:
        leaves = summary["leaves"]
        say(
            f"{summary['model']['kind']}: {leaves['n_changed']:,} of {leaves['n_leaves']:,} leaves changed, by "
            f"{strategy_words(summary['model']['strategy'])}.\n"
        )
        print_summary(summary)
        print_rules(summary)
        if report is not None:
            say(f"The report is in {report}.")


def stored_summary(model: Any, path: Path) -> dict[str, Any]:
    """What the record of a model says of its edit."""
    record = find_record(model)
    if record is None:
        raise NoRecordError(f"'{path}' carries no record of an edit; eifffel fit and eifffel flip write models that do")
    if record["summary"] is None:
        raise NoRecordError(
            f"'{path}' says that leaves were changed, but not for whom: eifffel fit and eifffel flip write that too. "
            "eifffel audit compares it with what it was before, on a table"
        )
    summary: dict[str, Any] = loads(record["summary"])
    return summary
