"""eifffel export: a model as a file for other programs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from eifffel import to_onnx, verify_export
from eifffel._utils.writing import write_whole
from eifffel.cli._app import command
from eifffel.cli._features import features_for, trained_categories
from eifffel.cli._files import read_table, split_names
from eifffel.cli._finish import check_targets
from eifffel.cli._options import FeatureNames, ModelOptions, OutputOptions, Separator
from eifffel.cli._printing import say, say_json, say_note, say_where
from eifffel.cli._stored import load_model
from eifffel.edits.native import write_native

FORMATS = ("onnx", "native")


@command(example="eifffel export model.skops --to onnx --out model.onnx --check people.csv")
def export(
    stored: ModelOptions,
    out: Annotated[Path, typer.Option(help="Write the exported model there.", metavar="FILE")],
    output: OutputOptions,
    to: Annotated[
        str, typer.Option(help="onnx, or native: the own file of LightGBM, XGBoost (as JSON) or CatBoost.")
    ] = "onnx",
    check: Annotated[
        Path | None,
        typer.Option(
            help="Compare the export with the model on the rows of this table, and write nothing if they differ. Give "
            "all kinds of rows that it will see.",
            metavar="DATA",
        ),
    ] = None,
    features: FeatureNames = None,
    separator: Separator = None,
) -> None:
    """Export a model to ONNX, which runs in other programs and languages, without Python and without eifffel.

    The file takes columns by name, or a matrix of numbers, and gives labels and probabilities. With --to native, a
    model of LightGBM, XGBoost or CatBoost is written as its library's own file.
    """
    if to not in FORMATS:
        raise ValueError(f"--to must be {' or '.join(FORMATS)}, got {to!r}")
    kind = {"exported": out} if to == "onnx" else {"native": out}
    check_targets(overwrite=output.overwrite, reads=(stored.model, check), **kind)
    if check is None and (features or separator):
        raise ValueError("--features and --separator are of the table of --check; give one, or leave them out")
    if to == "native" and check is not None:
        raise ValueError("--check compares ONNX files with the model; leave it out with --to native")
    model = load_model(stored)
    if to == "native":
        write_whole(out, write_native(model), overwrite=output.overwrite)
        if output.json:
            say_json({"out": str(out)})
        elif not output.quiet:
            say_where(model=out)
        return
    X = None if check is None else rows_for(model, check, features, separator, verbose=output.verbose)
    exported = to_onnx(model, X)
    found = None if X is None else verify_export(model, exported, X, verbose=output.verbose)
    write_whole(out, exported.SerializeToString(), overwrite=output.overwrite)
    if output.json:
        say_json(
            {
                "out": str(out),
                "rows_compared": 0 if found is None else found.n_rows,
                "largest_difference": None if found is None else found.largest_difference,
            }
        )
    elif not output.quiet:
        if found is None:
            say_note("the export was not compared with the model; --check TABLE does, on rows of yours")
        else:
            say(
                f"Compared on {found.n_rows:,} rows: the same labels, and probabilities that differ by "
                f"{found.largest_difference:.1g} at most."
            )
        say(f"The exported model is in {out}.")


def rows_for(model: Any, data: Path, features: str | None, separator: str | None, *, verbose: bool) -> Any:
    """The rows of a table as the model takes them."""
    frame = read_table(data, separator=separator, texts=trained_categories(model), verbose=verbose)
    return features_for(model, frame, data, split_names(features))
