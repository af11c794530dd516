"""A stored model and a table: the rows as the model takes them, and the original model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from eifffel import load, undo
from eifffel.cli._features import features_for, trained_categories
from eifffel.cli._files import is_table_name, read_table, split_names
from eifffel.cli._options import ModelOptions, OutputOptions, ReadingOptions
from eifffel.cli._printing import say
from eifffel.cli._tables import Cut, DecisionTask, Labelled, cut_table, find_words, name_sets
from eifffel.edits.record import find_record
from eifffel.edits.storage import check_storable
from eifffel.ensembles import read_classes, view_ensemble
from eifffel.exceptions import UnsupportedModelError
from eifffel.rows.labels import LabelSets
from eifffel.tracing import check_not_inverted


def load_model(stored: ModelOptions) -> Any:
    """A stored model; raises, with what to do, where a table stands in its place."""
    path = stored.model
    if is_table_name(path):
        raise ValueError(f"'{path}' is a table, and a model is needed here: a model comes first, then the table")
    return load(path, allow_pickle=stored.allow_pickle)


def read_for_edit(
    model: Any, data: Path, task: DecisionTask, reading: ReadingOptions, output: OutputOptions
) -> tuple[Labelled, DecisionTask, Any]:
    """The rows to edit a model on, what is decided about them, and the original model."""
    record = find_record(model)
    if task.target is None:
        raise ValueError("--target is needed: the model does not say which column holds the labels")
    said = task.labels is not None or task.comparison.favorable is not None
    if record is not None and record["label_sets"] is not None and not said:
        task = name_sets(task, *record["label_sets"])
    if record is not None and output.in_words:
        say("The model was edited before; this starts from the original.")
    while find_record(model) is not None:
        model = undo(model)
    check_storable(model)
    table, task = read_labelled(model, data, task, reading, Cut(), record=record, verbose=output.verbose)
    if table.comparison.favorable is None:
        assert record is not None
        table = replace(table, comparison=replace(table.comparison, favorable=record["favorable"]))
    return table, task, model


def read_labelled(
    model: Any,
    data: Path,
    task: DecisionTask,
    reading: ReadingOptions,
    cut: Cut,
    *,
    record: dict[str, Any] | None,
    verbose: bool,
) -> tuple[Labelled, DecisionTask]:
    """The rows of a table as a stored model takes them, and the task, with what 0 and 1 stand for if they do.

    ``cut`` says what labels and rows are for, and ``record``, of the model's edit if there was one, what is favourable.
    """
    frame = read_table(data, separator=reading.separator, texts=trained_categories(model), verbose=verbose)
    classes = _find_classes(model)
    in_record = record is not None and record["label_sets"] is not None
    found = find_words(frame, task) if classes == [0, 1] and not in_record else task
    in_words, task = found is not task, found
    cut = replace(
        cut,
        keep_sensitive=True,
        drop_missing=reading.drop_missing,
        classes=classes,
        favorable_needed=record is None,
    )
    table = cut_table(frame, task, data, cut)
    table = replace(table, X=features_for(model, table.X, data, split_names(reading.features)))
    if in_words:
        _check_words(model, table, task, data)
    return table, task


def _check_words(model: Any, table: Labelled, task: DecisionTask, data: Path) -> None:
    """Raise if a model decides against the labels that are taken as what its 0 and 1 stand for."""
    assert table.y is not None
    assert task.labels is not None
    if hasattr(model, "classes_"):
        decided = np.asarray(model.predict(table.X)).ravel() == 1
    else:  # a Booster predicts probabilities
        decided = view_ensemble(model).model_decides(table.X)
    of_label = [table.y == label for label in (0, 1)]
    favorable, totals = (np.array([[np.sum(rows & chosen) for rows in of_label]]) for chosen in (decided, True))
    bad, good = task.labels
    check_not_inverted(favorable, totals, LabelSets.of([good], [bad]), rows=f"rows of {data.name}")


def _find_classes(model: Any) -> list[Any]:
    """The labels of a model, if it knows them."""
    try:
        return read_classes(model)
    except UnsupportedModelError:
        return list(np.asarray(getattr(model, "classes_", ())).tolist())


def sensitive_among(table: Labelled, task: DecisionTask) -> tuple[str, ...]:
    """The sensitive columns that are among the features."""
    return tuple(name for name in task.sensitive_columns if name in table.X.columns)
