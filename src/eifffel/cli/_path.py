"""eifffel path: the trade-off of a stored model as a table and a picture."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from eifffel import FairnessPathDisplay
from eifffel._optional import import_optional
from eifffel._writing import write_whole
from eifffel.cli import _app as shared
from eifffel.cli._editing import edit, known_task, read_editing, read_monotone, say_of_confidence, trained_on
from eifffel.cli._explain import stored_summary
from eifffel.cli._files import write_table
from eifffel.cli._finish import check_targets
from eifffel.cli._printing import print_path, say, say_json, say_where
from eifffel.cli._progress import Progress
from eifffel.cli._stored import Reading, load_model, read_for_edit
from eifffel.comparison import Comparison
from eifffel.display import Mark
from eifffel.report.facts import ChosenStep, Summary, Tradeoff
from eifffel.shortfall import say_shortfall
from eifffel.strategies import ANY, AUTO

# What can be asked of the path that a model was made by.
WITHOUT_TABLE = {"model", "out", "picture", "allow_pickle", "overwrite", "json", "quiet", "debug"}


@shared.command(example="eifffel path model.skops --out tradeoff.csv --picture tradeoff.png")
def path(
    context: typer.Context,
    model: shared.ModelFile,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]", help="A table to trace the path on; without it, the path the model was made by."
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
    epsilon: shared.Epsilon = None,
    ratio: shared.Ratio = None,
    alpha: shared.Alpha = None,
    confidence: shared.Confidence = None,
    objective: shared.Objective = "accuracy",
    strategy: shared.Strategy = AUTO,
    direction: shared.Direction = ANY,
    test_size: shared.TestSize = 0.2,
    selection_size: shared.SelectionSize = 0.25,
    features: shared.Features = None,
    monotone: shared.Monotone = None,
    drop_missing: shared.DropMissing = False,
    separator: shared.Separator = None,
    out: Annotated[Path | None, typer.Option(help="Write the table there.", metavar="FILE.csv")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw it there.", metavar="FILE.png")] = None,
    seed: shared.Seed = 0,
    jobs: shared.Jobs = None,
    allow_pickle: shared.AllowPickle = False,
    overwrite: shared.Overwrite = False,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Show what each bound costs: accuracy, discrimination and changed leaves for every epsilon.

    No model is changed.
    """
    if data is None:
        check_asks_nothing(context)
    constrained = read_monotone(monotone)
    comparison = Comparison(favorable, privileged, constraint, combine, min_group_rows, missing)
    editing = read_editing(
        epsilon, ratio, alpha, confidence, objective, strategy, direction, test_size, selection_size, seed, jobs
    )
    check_targets(overwrite=overwrite, table=out, picture=picture, reads=(model, data))
    loaded = load_model(model, allow_pickle=allow_pickle)
    if data is None:
        summary = stored_summary(loaded, model)
    else:
        task, reading = known_task(loaded, target, sensitive, comparison), Reading(separator, drop_missing, features)
        table, task, original = read_for_edit(loaded, data, task, reading, quiet=quiet or json, verbose=not quiet)
        if not quiet:
            say_of_confidence(loaded, data, editing.bounds)
        with Progress(("tracing", "measuring"), verbose=not quiet) as progress:
            summary = edit(
                table,
                task,
                original,
                editing,
                data=data,
                trained=True,
                trained_on=trained_on(loaded),
                monotone=constrained,
                about={},
                sensitive_columns=(),
                progress=progress,
            ).summary
    tradeoff = summary.path
    if tradeoff is None:
        raise ValueError(
            "the trade-off cannot be told: where the steps were chosen, a group that is compared has fewer than ten "
            "people; trace it on more rows, or put groups together"
        )
    rows = tabulate(summary, tradeoff)
    if out is not None:
        write_table(out, pd.DataFrame(rows), overwrite=overwrite)
    if picture is not None:
        write_whole(picture, draw(summary, tradeoff, picture.suffix[1:].lower()), overwrite=overwrite)
    if json:
        say_json(rows)
    elif not quiet:
        print_path(summary, tradeoff)
        if summary.selection is not None and summary.selection.shortfall is not None:
            say(f"The bound is not met: {say_shortfall(summary.selection)}.")
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
    """One row for each bound; what was measured on some rows is called after them."""
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
    """The steps that some bound selects, on the rows they were chosen on and on those of the report."""
    matplotlib = import_optional("matplotlib", "pictures need")
    matplotlib.use("Agg")
    chosen_on, here = path.chosen_on.rows, summary.rows.name
    measured = [(point.overall.discrimination.value, point.overall.accuracy.value) for point in path.points]
    told = all(discrimination is not None for discrimination, _ in measured)

    def line(
        points: Sequence[tuple[float | None, float | None]], name: str, ax: Any, mark: Mark | None
    ) -> FairnessPathDisplay:
        discrimination, accuracy = np.array(points, float).T
        return FairnessPathDisplay(
            discrimination=discrimination,
            accuracy=accuracy,
            rows=f"{chosen_on}, which chose the step" + (f", and the {here}" if told else ""),
            compared=summary.constraint.words,
            selection=mark,
            name=name,
        ).plot(ax=ax)

    ax = line(measured, here, None, None).ax_ if told else None
    chosen = [(point.selection.discrimination, point.selection.accuracy) for point in path.points]
    display = line(chosen, chosen_on, ax, None if summary.selection is None else mark_step(summary.selection))
    buffer = io.BytesIO()
    display.figure_.savefig(buffer, format=form, dpi=150)
    return buffer.getvalue()


def mark_step(chosen: ChosenStep) -> Mark | None:
    """The step that was chosen, where it is told what was measured there."""
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
        interval=chosen.interval,
        upper=chosen.upper,
    )
