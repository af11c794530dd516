"""eifffel predict: decisions for the rows of a table."""

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from tqdm.auto import tqdm

from eifffel import view_ensemble
from eifffel.cli._app import command
from eifffel.cli._features import features_for, trained_categories
from eifffel.cli._files import read_table, split_names, write_table
from eifffel.cli._finish import check_targets
from eifffel.cli._options import FeatureNames, ModelOptions, OutputOptions, Separator, TableFile
from eifffel.cli._printing import say, say_json
from eifffel.cli._stored import load_model
from eifffel.cli._tables import find_column
from eifffel.edits.record import find_record

# Rows decided at a time, so that progress shows.
AT_A_TIME = 100_000


@command(example="eifffel predict model.skops new.csv --out predictions.csv")
def predict(
    stored: ModelOptions,
    data: TableFile,
    out: Annotated[Path, typer.Option(help="Write the decisions there, row by row.", metavar="FILE.csv")],
    output: OutputOptions,
    keep: Annotated[str | None, typer.Option(help="Columns to copy, such as an id, separated by commas.")] = None,
    features: FeatureNames = None,
    separator: Separator = None,
) -> None:
    """Decide about the rows of a table. No sensitive column is needed.

    The rows of the file stand in the order of the table: the decision, and the probability of the favourable one.
    """
    check_targets(overwrite=output.overwrite, table=out, reads=(stored.model, data))
    model = load_model(stored)
    frame = read_table(data, separator=separator, texts=trained_categories(model), verbose=output.verbose)
    kept = split_names(keep)
    copied = {name: frame[find_column(frame, name, "--keep", data)] for name in kept}
    X = features_for(model, frame, data, split_names(features))
    starts = tqdm(range(0, len(X), AT_A_TIME), desc="deciding", delay=1, disable=output.quiet, leave=False)
    decided = pd.concat([list_decisions(model, X.iloc[start : start + AT_A_TIME]) for start in starts])
    clash = sorted(set(copied) & set(decided))
    if clash:
        raise ValueError(f"--keep: {clash[0]!r} is what the decisions are called in '{out}'; rename the column")
    write_table(out, decided.assign(**copied)[[*copied, *decided]], overwrite=output.overwrite)
    counts = {str(label): int(n) for label, n in decided["prediction"].value_counts().items()}
    if output.json:
        say_json({"rows": len(frame), "decisions": counts, "out": str(out)})
    elif not output.quiet:
        words = ", ".join(f"{label}: {n:,}" for label, n in counts.items())
        say(f"Decided {len(frame):,} rows ({words}). They are in {out}.")


def list_decisions(model: Any, X: pd.DataFrame) -> pd.DataFrame:
    """Decisions, and the probability of the favourable class, or of the second where none is known."""
    record = find_record(model)
    labels = None if record is None else (record["task"] or {}).get("labels")
    if not hasattr(model, "classes_"):  # a Booster
        view = view_ensemble(model, favorable=1)
        return pd.DataFrame({"prediction": view.model_decides(X).astype(int)}, X.index)
    classes = list(model.classes_)
    favorable = classes[-1] if record is None else record["favorable"]
    names = dict(enumerate(labels)) if labels is not None else {label: label for label in classes}
    decided = pd.DataFrame({"prediction": pd.Series(model.predict(X).ravel(), X.index).map(names)})
    if hasattr(model, "predict_proba"):
        decided[f"probability of {names[favorable]}"] = model.predict_proba(X)[:, classes.index(favorable)]
    return decided
