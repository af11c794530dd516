"""A stored model and a table: the rows as the model takes them, and the model as it was before any edit."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from eifffel import load, undo
from eifffel.cli._files import is_table_name, read_table, split_names
from eifffel.cli._printing import say
from eifffel.cli._tables import Labelled, Task, cut_table, find_words, name_sets
from eifffel.cli._training import features_for, trained_columns
from eifffel.ensembles import read_classes, view_ensemble
from eifffel.exceptions import UnsupportedModelError
from eifffel.record import find_record
from eifffel.storage import check_storable


def load_model(path: Path, *, allow_pickle: bool) -> Any:
    """A stored model; raises, with what to do, where a table stands in its place."""
    if is_table_name(path):
        raise ValueError(f"'{path}' is a table, and a model is needed here: a model comes first, then the table")
    return load(path, allow_pickle=allow_pickle)


@dataclass(frozen=True)
class Reading:
    """How a table is read, by the options of these names."""

    separator: str | None
    drop_missing: bool
    features: str | None = None


def read_for_edit(
    model: Any, data: Path, task: Task, reading: Reading, *, quiet: bool, verbose: bool
) -> tuple[Labelled, Task, Any]:
    """The rows to edit a model on, what is decided about them, and the model as it was before any edit."""
    record = find_record(model)
    if task.target is None:
        raise ValueError("--target is needed: the model does not say which column holds the labels")
    said = task.labels is not None or task.comparison.favorable is not None
    if record is not None and record["label_sets"] is not None and not said:
        task = name_sets(task, *record["label_sets"])
    if record is not None and not quiet:
        say("The model was edited before; this starts from the original.")
    while find_record(model) is not None:
        model = undo(model)
    check_storable(model)
    table, task = read_rows(model, data, task, reading, record=record, verbose=verbose)
    if table.comparison.favorable is None:
        assert record is not None
        table = replace(table, comparison=replace(table.comparison, favorable=record["favorable"]))
    return table, task, model


def read_rows(
    model: Any,
    data: Path,
    task: Task,
    reading: Reading,
    *,
    record: dict[str, Any] | None,
    verbose: bool,
    labels_needed: bool = True,
    to_learn: bool = True,
) -> tuple[Labelled, Task]:
    """The rows of a table as a stored model takes them, and the task, with what 0 and 1 stand for if they do.

    ``record`` is that of the model's edit, if there was one, which knows what is favourable.
    """
    known = trained_columns(model)
    frame = read_table(data, separator=reading.separator, texts=() if known is None else known[1], verbose=verbose)
    given, classes = split_names(reading.features), _classes(model)
    in_record = record is not None and record["label_sets"] is not None
    found = find_words(frame, task) if classes == [0, 1] and not in_record else task
    in_words, task = found is not task, found
    table = cut_table(
        frame,
        task,
        data,
        keep_sensitive=True,
        drop_missing=reading.drop_missing,
        labels_needed=labels_needed,
        to_learn=to_learn,
        classes=classes,
        favorable_needed=record is None,
    )
    table = replace(table, X=features_for(model, table.X, data, given))
    if in_words:
        _check_not_inverted(model, table, task)
    return table, task


def _check_not_inverted(model: Any, table: Labelled, task: Task) -> None:
    """Raise if a model decides against the labels that are taken as what its 0 and 1 stand for."""
    assert table.y is not None
    assert task.labels is not None
    if hasattr(model, "classes_"):
        decided = np.asarray(model.predict(table.X)).ravel() == 1
    else:  # a Booster predicts probabilities
        decided = view_ensemble(model).model_decides(table.X)
    rates = [np.mean(decided[table.y == label] == label) for label in (0, 1)]
    if np.mean(rates) < 0.5:
        raise ValueError(
            f"--favorable {task.labels[1]} is taken as what the model's 1 stands for, and the model then decides "
            f"against the labels (balanced accuracy {np.mean(rates):.2f}); if its 1 stands for {task.labels[0]!r}, "
            "name that, and if that is not the good outcome, code the labels as 0 and 1 and say --favorable 0"
        )


def _classes(model: Any) -> list[Any]:
    """The labels of a model, if it knows them."""
    try:
        return read_classes(model)
    except UnsupportedModelError:
        return list(np.asarray(getattr(model, "classes_", ())).tolist())


def sensitive_among(table: Labelled, task: Task) -> tuple[str, ...]:
    """The sensitive columns that are among the features."""
    return tuple(name for name in task.sensitive_columns if name in table.X.columns)
