"""A model -> its decisions and scores, and what a report says of it."""

import platform
import warnings
from datetime import UTC, datetime
from typing import Any

import numpy as np
import sklearn
from sklearn.metrics import brier_score_loss

from eifffel._version import __version__
from eifffel.edits.record import undo
from eifffel.ensembles import EnsembleView, Wrappers, read_classes, view_ensemble
from eifffel.exceptions import UnsupportedModelError
from eifffel.path import FairnessPath
from eifffel.report.facts import Calibration, Digests, Made, Model, ModelDigests, number
from eifffel.rows.coding import Coding, Rows
from eifffel.rows.labels import check_binary_labels
from eifffel.selection.selection import Selection, check_own


def find_original(model: Any, path: FairnessPath | None, record: dict[str, Any] | None) -> Any:
    """The model before its edit; ``None`` if there was none."""
    if path is not None:
        return path.model
    return None if record is None else undo(model)


def check_of_path(model: Any, record: dict[str, Any] | None, path: FairnessPath, selection: Selection | None) -> None:
    """Raise unless a model is one of a path, and, where a step was chosen, that of the step."""
    if selection is not None:
        check_own(selection, path.fingerprint)
    digests = view_ensemble(model, favorable=path.favorable).digests
    if record is not None and record["path"] == path.fingerprint and record["digests"]["after"] == digests:
        if selection is not None and record["step"] != selection.step:
            raise ValueError(f"the model is that of step {record['step']}, and the selection is step {selection.step}")
        return
    step = 0 if selection is None else selection.step
    expected = view_ensemble(path.model_at(step), favorable=path.favorable).digests
    parts = ("structure",) if selection is None else tuple(expected)
    if any(digests[part] != expected[part] for part in parts):
        what = "of this path" if selection is None else f"of step {step} of this path, which the selection chose"
        raise ValueError(
            f"the {type(model).__name__} that is given is not the model {what}; give path.model_at(selection), or "
            "leave path and selection out to measure a model by itself"
        )


def find_classes(model: Any, y: Any) -> np.ndarray:
    """The two labels that a model decides between."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        try:
            classes = read_classes(model)
        except UnsupportedModelError:
            classes = check_binary_labels(y)
    if len(classes) != 2:
        raise ValueError(
            f"the model has {len(classes)} classes, {list(classes)}, and a report compares two; name those that are "
            "good for a person and measure what it decides: summarize_decisions(model.predict(X), y, ..., "
            f"favorable={{{classes[-1]!r}}})"
        )
    return np.asarray(classes)


def decide_favorably(model: Any, X: Any, coding: Coding) -> np.ndarray:
    """Which rows a model decides favourably."""
    if hasattr(model, "classes_"):
        return np.asarray(model.predict(X)).ravel() == coding.classes[coding.favorable]
    favorable = coding.classes.tolist()[coding.favorable]
    return view_ensemble(model, favorable=favorable).model_decides(X)  # a Booster predicts probabilities


def score_rows(model: Any, X: Any, coding: Coding) -> np.ndarray | None:
    """The probability of the favourable class, where a model gives one."""
    if model is None or not hasattr(model, "predict_proba"):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names of columns, said when it decided
        return np.asarray(model.predict_proba(X))[:, coding.favorable]


def measure_calibration(
    before: np.ndarray | None, after: np.ndarray | None, rows: Rows, labelled: np.ndarray | None
) -> Calibration | None:
    """Brier scores of probabilities before and after an edit, where there are any and labels are known.

    Of people of the ``labelled`` groups alone, of whom labels are shown, if there are such.
    """
    if rows.label is None or after is None or labelled is None:
        return None
    inside = (rows.weight > 0) & labelled[rows.group]
    label = rows.label[inside] == 1
    scores = [
        None if chance is None else number(brier_score_loss(label, np.clip(chance[inside], 0, 1)))
        for chance in (before, after)
    ]
    return Calibration(*scores)


def describe_model(model: Any, record: dict[str, Any] | None) -> Model:
    """What a report says of a model itself."""
    wrappers = Wrappers(model)
    view: EnsembleView | None
    try:
        view = view_ensemble(model, favorable=None if record is None else record["favorable"])
    except (UnsupportedModelError, ValueError):  # it can be measured all the same
        view = None
    kinds = [type(layer.model).__name__ for layer in wrappers.layers] + [type(wrappers.ensemble).__name__]
    digests = (None, None if view is None else view.digests)
    if record is not None:
        digests = record["digests"]["before"], record["digests"]["after"]
    return Model(
        kind=" of ".join(kinds),
        n_trees=None if view is None else view.n_trees,
        n_leaves=None if view is None else view.n_leaves,
        edited=record is not None,
        strategy=None if record is None else record["strategy"],
        direction=None if record is None else record["direction"],
        scale=None if record is None else number(record["scale"]),
        digests=ModelDigests(*(None if known is None else Digests(**known) for known in digests)),
    )


def describe_making(model: Any = None) -> Made:
    """When a report was made, and with which versions."""
    versions = {
        "eifffel": __version__,
        "python": platform.python_version(),
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
    }
    library = type(Wrappers(model).ensemble).__module__.partition(".")[0]
    if library not in ("sklearn", "eifffel", "builtins"):
        versions[library] = str(getattr(__import__(library), "__version__", "unknown"))
    return Made(datetime.now(UTC).isoformat(timespec="seconds"), versions)
