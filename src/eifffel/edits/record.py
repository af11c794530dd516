"""The record of an edit: what it takes to say what was changed, and to undo it. It travels with the edited model.

A record is a dict of plain values and one array, so that a pickle of the model needs no eifffel to be read.
"""

from typing import Any

import numpy as np

from eifffel._utils.validation import check_model
from eifffel.comparison import Compared
from eifffel.ensembles import EnsembleView, view_ensemble
from eifffel.exceptions import ModelChangedError, ModelFileError, NoRecordError
from eifffel.selection.selection import Selection

ATTRIBUTE = "eifffel_record_"
# What is known of an edit once a report was made of it.
REPORTED = ("summary", "task", "edited_on", "trained_on")
RECORD_KEYS = (
    "strategy",
    "direction",
    "grouping",
    "constraint",
    "classes",
    "favorable",
    "label_sets",
    "step",
    "scale",
    "path",
    "digests",
    "leaf_value",
    "selection",
    *REPORTED,
    "earlier",
)


def make_record(
    view: EnsembleView,
    edited: EnsembleView,
    compared: Compared,
    *,
    strategy: str,
    direction: str,
    step: int,
    scale: float,
    path: str,
    selection: Selection | None,
) -> dict[str, Any]:
    """The record of an edit from one view of a model to another.

    Keys: ``strategy``, ``direction``; ``grouping``, ``constraint``, ``classes``, ``favorable`` and ``label_sets``,
    from which `read_compared` makes what was compared; ``step``, ``scale``; ``path``, the fingerprint of the path that
    it is a step of; ``digests``, those of the model ``before`` and ``after``; ``leaf_value``, the leaves before;
    ``selection``, the bounds and what was measured where they chose the step, if they did; ``summary``, what a report
    says of the edit, as JSON, ``task``, the columns of the table, ``edited_on`` and ``trained_on``, which tables these
    were, if the command line made it; ``earlier``, the record of an edit before this one.
    """
    return {
        "strategy": strategy,
        "direction": direction,
        **compared.describe(),
        "step": step,
        "scale": scale,
        "path": path,
        "digests": {"before": view.digests, "after": edited.digests},
        "leaf_value": view.stored_leaves,
        "selection": None if selection is None else selection.to_public_dict(),
        **dict.fromkeys(REPORTED),
        "earlier": find_record(view.wrappers.outer),
    }


def attach_record(model: Any, record: dict[str, Any] | None) -> None:
    """Let a record travel with a model, in the place of any that it has."""
    if record is not None:
        setattr(model, ATTRIBUTE, record)
    elif hasattr(model, ATTRIBUTE):
        delattr(model, ATTRIBUTE)


def find_record(model: Any) -> dict[str, Any] | None:
    """The record that a model carries, if it does."""
    record: dict[str, Any] | None = getattr(edited_model(model), ATTRIBUTE, None)
    return record


def attach_report(model: Any, **reported: Any) -> None:
    """Let the record of a model say what a report says of it too: the entries of `REPORTED`."""
    record = find_record(model)
    assert record is not None
    assert set(reported) == set(REPORTED)
    attach_record(edited_model(model), {**record, **reported})


def undo(model: Any) -> Any:
    """The model as it was before its edit.

    Its leaves are those of the original to the last bit. What the edit removed because it no longer held, such as
    ``oob_score_``, does not come back.

    Parameters
    ----------
    model : edited model
        What ``path.model_at`` or `load` gave, or a fitted `EiFFFeLClassifier`. It is left as it is.

    Returns
    -------
    model
        Of the same class; of a classifier, its estimator before the edit. A model that was edited twice still carries
        the record of the first edit, and can be undone again.

    Raises
    ------
    NoRecordError
        If the model carries no record of an edit.
    ModelChangedError
        If it was refitted or edited otherwise since.
    ModelFileError
        If the record that it carries is damaged.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel import trace_path, undo
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(1000, random_state=0)
    >>> X, y, s = people.data, people.target, people.sensitive
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X[:500], y[:500])
    >>> path = trace_path(forest, X[:500], y[:500], sensitive_features=s[:500], select_on=(X[500:], y[500:], s[500:]))
    >>> fair = path.model_at(path.select(epsilon=0.05))
    >>> bool((undo(fair).predict_proba(X) == forest.predict_proba(X)).all())
    True
    """
    model = edited_model(model)
    record = find_record(model)
    if record is None:
        raise NoRecordError(
            f"this {type(model).__name__} carries no record of an edit, so there is nothing to undo. Models carry it "
            "that path.model_at gave, or that eifffel.load read from a file written by eifffel.save; a part of a "
            "Pipeline, or a model saved by its library's own means, does not"
        )
    view = view_ensemble(model, favorable=record["favorable"])
    if view.digests != record["digests"]["after"]:
        raise ModelChangedError(
            f"this {type(model).__name__} has changed since the edit that it carries the record of (refitted or edited "
            "otherwise?), so the edit cannot be undone"
        )
    stored, now = np.asarray(record["leaf_value"]), view.stored_leaves
    if stored.shape != now.shape or stored.dtype.kind != "f":
        raise ModelFileError(
            f"the record of the edit that this {type(model).__name__} carries has leaves of the shape {stored.shape}, "
            f"where the model has {now.shape}: the record is damaged, and the edit cannot be undone. Read the model "
            "again from a file that is whole"
        )
    original = view.restore(stored)
    attach_record(original, record["earlier"])
    if view_ensemble(original, favorable=record["favorable"]).digests != record["digests"]["before"]:
        raise ModelFileError(
            f"the leaves that the record of this {type(model).__name__} has are not those of the original: the record "
            "is damaged, and the edit cannot be undone. Read the model again from a file that is whole"
        )
    return original


def edited_model(model: Any) -> Any:
    """The edited model itself; an EiFFFeLClassifier has it inside."""
    check_model(model)
    return model.estimator_ if hasattr(model, "path_") else model
