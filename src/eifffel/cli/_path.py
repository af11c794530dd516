"""eifffel path: the trade-off of a stored model as a table and a picture."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from eifffel import FairnessPathDisplay
from eifffel._utils.optional import import_optional
from eifffel._utils.writing import write_whole
from eifffel.cli._app import OPTIONS, command
from eifffel.cli._editing import edit, read_editing, read_signs
from eifffel.cli._explain import stored_summary
from eifffel.cli._files import write_table
from eifffel.cli._finish import check_targets
from eifffel.cli._groups import OptionGroup, declares_options
from eifffel.cli._options import (
    TABLE_PANEL,
    ModelOptions,
    OutputOptions,
    PeopleOptions,
    ReadingOptions,
    StoredEditOptions,
)
from eifffel.cli._printing import print_path, say, say_json, say_where
from eifffel.cli._progress import Progress
from eifffel.cli._recorded import known_task, note_confidence, trained_on
from eifffel.cli._stored import load_model, read_for_edit
from eifffel.cli._watched import Source, Unedited
from eifffel.display import Mark
from eifffel.report.facts import ChosenStep, Summary, Tradeoff
from eifffel.selection.shortfall import say_shortfall

# What can be asked of the path that a model was made by.
WITHOUT_TABLE = {"model", "out", "picture", "allow_pickle", "overwrite", "json", "quiet", "debug"}


@declares_options(panel=TABLE_PANEL)
class OptionalTable(ReadingOptions):
    """A table, if there is one, and how it is read."""

    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]", help="A table to trace the path on; without it, the path the model was made by."
        ),
    ] = None


@declares_options()
class TradeoffFiles(OptionGroup):
    """The files that the trade-off is written to."""

    out: Annotated[Path | None, typer.Option(help="Write the table there.", metavar="FILE.csv")] = None
    picture: Annotated[Path | None, typer.Option(help="Draw it there.", metavar="FILE.png")] = None


@command(example="eifffel path model.skops --out tradeoff.csv --picture tradeoff.png")
def path(
    context: typer.Context,
    stored: ModelOptions,
    given: OptionalTable,
    people: PeopleOptions,
    options: StoredEditOptions,
    files: TradeoffFiles,
    output: OutputOptions,
) -> None:
    """Show what each bound costs: accuracy, discrimination and changed leaves for every epsilon.

    No model is changed.
    """
    if given.data is None:
        check_asks_nothing(context)
    monotone, comparison, editing = read_signs(options.monotone), people.comparison, read_editing(options)
    out, picture = files.out, files.picture
    check_targets(overwrite=output.overwrite, table=out, picture=picture, reads=(stored.model, given.data))
    model = load_model(stored)
    if given.data is None:
        summary = stored_summary(model, stored.model)
    else:
        task = known_task(model, people.target, people.sensitive, comparison)
        table, task, original = read_for_edit(model, given.data, task, given, output)
        if output.verbose:
            note_confidence(model, given.data, editing.bounds)
        unedited = Unedited(original, monotone=monotone, trained_on=trained_on(model))
        with Progress(("tracing", "measuring"), verbose=output.verbose) as progress:
            summary = edit(unedited, Source(given.data, table, task), editing, progress).summary
    tradeoff = summary.path
    if tradeoff is None:
        raise ValueError(
            "the trade-off cannot be shown: where the steps were chosen, a group that is compared has fewer than ten "
            "people; trace it on more rows, or put groups together"
        )
    rows = tabulate(summary, tradeoff)
    if out is not None:
        write_table(out, pd.DataFrame(rows), overwrite=output.overwrite)
    if picture is not None:
        write_whole(picture, draw(summary, tradeoff, picture.suffix[1:].lower()), overwrite=output.overwrite)
    if output.json:
        say_json(rows)
    elif not output.quiet:
        print_path(summary, tradeoff)
        if summary.selection is not None and summary.selection.shortfall is not None:
            asked = summary.selection
            what = f"epsilon={asked.epsilon:g}" if asked.ratio is None else f"ratio={asked.ratio:g}"
            say(f"--{what} is not met: {say_shortfall(asked).say(OPTIONS)}.")
        say_where(table=out, picture=picture)


def check_asks_nothing(context: typer.Context) -> None:
    """Raise if an option was given that only a table could answer."""
    for option in context.command.params:
        name = option.name or ""
        source = context.get_parameter_source(name)
        if name not in WITHOUT_TABLE and source is not None and source.name == "COMMANDLINE":
            raise ValueError(
                f"{option.opts[0]} needs a table, and without one this shows the path that the model was made by; name "
                "DATA"
            )


def tabulate(summary: Summary, path: Tradeoff) -> list[dict[str, str | float | None]]:
    """One record for each bound; a measurement is named after the rows that it was made on."""
    chosen_on, here = (name.replace(" ", "_") for name in (path.chosen_on.rows, summary.rows.name))
    rows = []
    measured = ("discrimination", "accuracy") if path.kind == "epsilon" else ("ratio", "discrimination", "accuracy")
    for bound in path.bounds:
        point = path.points[bound.point]
        row: dict[str, str | float | None] = {path.kind: bound.bound, "met": bound.met}
        row |= {"step": point.step, "position": point.position, "changed_leaves": point.changed_leaves}
        row |= {f"{name}_{chosen_on}": getattr(point.selection, name) for name in measured}
        row |= {f"{name}_{here}": getattr(point.overall, name).value for name in measured}
        rates = zip(summary.groups, point.groups, strict=True)
        row |= {f"selection_rate_{group.name}": rate.selection_rate.value for group, rate in rates}
        rows.append(row)
    return rows


def draw(summary: Summary, path: Tradeoff, form: str) -> bytes:
    """A picture of the steps that some bound selects, on the rows that chose them and on those of the report."""
    matplotlib = import_optional("matplotlib", "pictures need")
    matplotlib.use("Agg")
    chosen_on, here = path.chosen_on.rows, summary.rows.name
    measured = [(point.overall.discrimination.value, point.overall.accuracy.value) for point in path.points]
    shown = all(discrimination is not None for discrimination, _ in measured)

    def line(
        points: Sequence[tuple[float | None, float | None]], name: str, ax: Any, mark: Mark | None
    ) -> FairnessPathDisplay:
        discrimination, accuracy = np.array(points, float).T
        return FairnessPathDisplay(
            discrimination=discrimination,
            accuracy=accuracy,
            rows=f"{chosen_on}, which chose the step" + (f", and the {here}" if shown else ""),
            compared=summary.constraint.words,
            selection=mark,
            name=name,
        ).plot(ax=ax)

    ax = line(measured, here, None, None).ax_ if shown else None
    chosen = [(point.selection.discrimination, point.selection.accuracy) for point in path.points]
    display = line(chosen, chosen_on, ax, None if summary.selection is None else mark_step(summary.selection))
    buffer = io.BytesIO()
    display.figure_.savefig(buffer, format=form, dpi=150)
    return buffer.getvalue()


def mark_step(chosen: ChosenStep) -> Mark | None:
    """The step that was chosen, where what was measured there is reported."""
    if chosen.met is None or chosen.discrimination is None or chosen.accuracy is None:
        return None
    return Mark(
        step=chosen.step,
        met=chosen.met,
        discrimination=chosen.discrimination,
        accuracy=chosen.accuracy,
        epsilon=chosen.epsilon,
        alpha=chosen.alpha,
        confidence=chosen.confidence,
        sides=chosen.sides,
        interval=chosen.interval,
        upper=chosen.upper,
    )
