"""summarize: a model and rows -> everything that a report says, as plain data."""

import json
import platform
import warnings
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import numpy as np
import sklearn
from sklearn.metrics import brier_score_loss
from sklearn.utils import indexable

from eifffel import metrics
from eifffel._validation import (
    Coding,
    check_binary_labels,
    check_choice,
    check_favorable,
    check_fraction,
    check_groups,
    check_table,
)
from eifffel._version import __version__
from eifffel.ensembles import Around, EnsembleView, view_ensemble
from eifffel.exceptions import UnsupportedModelError
from eifffel.path import FairnessPath
from eifffel.record import find_record, undo
from eifffel.report._estimates import is_small, measure_all, measure_groups, number, rate
from eifffel.report._leaves import summarize_leaves
from eifffel.report._people import one_line, summarize_changes
from eifffel.report._tradeoff import summarize_path
from eifffel.report._verdict import say_verdict
from eifffel.selection import Selection

SCHEMA_NAME = "eifffel-report-2"
ABOUT = ("data", "split", "test_size", "seed", "trained_on", "command", "intended_use")

Summary = dict[str, Any]

LIMITS = (
    "Every number is of the rows that it names. Other people differ from them, and intervals say by how much rates may "
    "differ for that reason alone; they know nothing of a population that changes.",
    "Discrimination is the difference between the groups' rates of favourable decisions (demographic parity). It does "
    "not say whether decisions are right, whether errors fall on both groups alike, or whether the labels were fair.",
    "A smaller difference can be had by giving favourable decisions to some people and by taking them from others; "
    "the table of who changed has both.",
    "Probabilities of an edited model are no longer calibrated.",
    "This page measures; it does not say that a law is complied with.",
)


def schema() -> dict[str, Any]:
    """The JSON Schema of a summary."""
    text = files("eifffel.report").joinpath("schema.json").read_text(encoding="utf-8")
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def summarize(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    rows: str = "rows given",
    path: FairnessPath | None = None,
    selection: Selection | None = None,
    epsilon: float | None = None,
    favorable: Any = None,
    privileged: Any = None,
    favorable_name: str | None = None,
    sensitive_name: str = "group",
    sensitive_columns: tuple[str, ...] = (),
    about: dict[str, Any] | None = None,
) -> Summary:
    """Everything that a report says of a model, as plain data that `render_html` and `render_markdown` take.

    Parameters
    ----------
    model : fitted classifier
        An `EiFFFeLClassifier`; or any classifier of two classes, which is compared with what it was before if it
        carries the record of an edit.
    X, y, sensitive_features : array-like
        The rows to measure on, best such as no part of the model has seen; ``y`` may be ``None``.
    rows : str
        What the report calls these rows, such as ``"test rows"``.
    path, selection : FairnessPath and Selection, optional
        Where the model comes from, for the trade-off; an EiFFFeLClassifier brings its own.
    epsilon : float, optional
        The bound to judge by; by default that of the selection, or the one that the model was edited for.
    favorable, privileged : optional
        As in `eifffel.trace_path`, where the model does not know them.
    favorable_name, sensitive_name : str
        What the favourable label, if not as it is, and the sensitive attribute are called.
    sensitive_columns : tuple of str
        The columns of ``X`` that hold it, if any: rules that ask for them are marked.
    about : dict, optional
        What else the report should say: ``data``, ``split``, ``test_size``, ``seed``, ``trained_on``, ``command``,
        ``intended_use``.

    Returns
    -------
    dict
        As `schema` describes it. It holds counts and rates, no rows, and no rule about fewer than ten of them.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel import EiFFFeLClassifier
    >>> from eifffel.datasets import make_biased_classification
    >>> from eifffel.report import summarize
    >>> people, new = (make_biased_classification(1000, random_state=seed) for seed in (0, 1))
    >>> clf = EiFFFeLClassifier(RandomForestClassifier(10, random_state=0), epsilon=0.05, random_state=0)
    >>> clf = clf.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> summary = summarize(clf, new.data, new.target, sensitive_features=new.sensitive, rows="test rows")
    >>> [group["rows"] for group in summary["groups"]]
    [399, 601]
    """
    check_fraction("epsilon", epsilon, optional=True)
    for name in about or {}:
        check_choice("about", name, ABOUT)
    check_table(X)
    (X,) = indexable(X)
    if hasattr(model, "path_"):
        path, selection, model = model.path_, model.selection_, model.estimator_
    record = find_record(model)
    original = _original(model, path, record)
    favorable, known_groups = _known(path, record, favorable, privileged, sensitive_features)
    if record is not None and selection is not None and record["step"] != selection.step:
        raise ValueError(f"the model is that of step {record['step']}, and the selection is step {selection.step}")
    if path is not None and path.counts.favorable.dtype.kind != "i":
        raise ValueError("the path counts sample weights, and a report counts people; trace it without sample_weight")
    coding = _coding(model, y, sensitive_features, favorable, privileged, known_groups)
    encoded = coding.encode(X, y, sensitive_features, rows=f"the {rows}")
    after = _decides(model, X, coding)
    if known_groups is None and privileged is None:
        chosen, totals = encoded.weigh_cells(after), encoded.weigh_cells()
        if metrics.discrimination(chosen, totals) < 0:
            coding, encoded = Coding(coding.classes, coding.favorable, coding.groups[::-1]), encoded.swap_groups()
    before = None if original is None else _decides(original, X, coding)
    totals = encoded.weigh_cells()
    summary: Summary = {
        "schema": SCHEMA_NAME,
        "rows": {"name": rows, "n": int(totals.sum()), "labelled": y is not None, "seen": False},
        "favorable": one_line(coding.classes.tolist()[coding.favorable] if favorable_name is None else favorable_name),
        "sensitive": one_line(sensitive_name),
        "sensitive_among_features": bool(sensitive_columns),
        "groups": _groups(coding, encoded, before, after),
        "overall": {
            "before": None if before is None else measure_all(encoded.weigh_cells(before), totals),
            "after": measure_all(encoded.weigh_cells(after), totals),
            "constant_accuracy": None if y is None else number(totals.sum(axis=0).max() / totals.sum()),
        },
        "selection": _asked(selection, record, known_groups),
        "path": None,
        "changed": None,
        "leaves": None,
        "model": _describe_model(model, record, path, selection),
        "calibration": _calibration(original, model, X, y, coding),
        "made": _made(model),
        "about": {**dict.fromkeys(ABOUT), **(about or {})},
        "limits": list(LIMITS),
    }
    if before is not None:
        summary["changed"] = summarize_changes(
            before, after, encoded.group, X, sensitive_columns=tuple(sensitive_columns)
        )
    if path is not None and selection is not None:
        measured = path.measure(X, y, sensitive_features)
        summary["rows"]["seen"] = measured.seen
        summary["path"] = summarize_path(path, measured, selection)
        summary["leaves"] = summarize_leaves(path, selection.step, X, sensitive_columns=tuple(sensitive_columns))
    if epsilon is None and summary["selection"] is not None:
        epsilon = summary["selection"]["epsilon"]
    summary["verdict"] = say_verdict(summary, epsilon)
    return summary


def _known(
    path: FairnessPath | None, record: dict[str, Any] | None, favorable: Any, privileged: Any, sensitive: Any
) -> tuple[Any, tuple[Any, Any] | None]:
    """The favourable class and the groups, as the edit has them; groups of another attribute are found anew."""
    if path is not None:
        known, groups = path.favorable, path.groups
    elif record is not None:
        known, groups = record["favorable"], record["groups"]
    else:
        return favorable, None
    if favorable is not None and favorable != known:
        raise ValueError(
            f"favorable must be {known!r}, for which the model was edited, got {favorable!r}; leave it out"
        )
    if path is None and set(check_groups(sensitive)).isdisjoint(groups):
        return known, None
    if privileged is not None and privileged != groups[1]:
        raise ValueError(
            f"privileged must be {groups[1]!r}, as in the edit of the model, got {privileged!r}; leave it out"
        )
    return known, (groups[0], groups[1])


def _asked(selection: Selection | None, record: dict[str, Any] | None, groups: Any) -> dict[str, Any] | None:
    """The bounds that chose the step, as the selection or the record has them; those of other groups say nothing."""
    if selection is not None:
        return _plain(selection.__dict__)
    stored = None if record is None or groups is None else record["selection"]
    return None if stored is None else _plain(stored)


def _original(model: Any, path: FairnessPath | None, record: dict[str, Any] | None) -> Any:
    if path is not None:
        return path.model
    return None if record is None else undo(model)


def _coding(model: Any, y: Any, sensitive: Any, favorable: Any, privileged: Any, groups: Any) -> Coding:
    """How labels and groups are read, as far as the model or the caller says; the privileged group is the second."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        try:
            classes = view_ensemble(model, favorable=favorable).classes
        except UnsupportedModelError:
            classes = check_binary_labels(y)
    if len(classes) != 2:
        raise ValueError(f"the model has {len(classes)} classes, {list(classes)}; only two can be measured")
    if groups is None:
        groups = check_groups(sensitive)
        if privileged is not None:
            if privileged not in groups:
                raise ValueError(f"privileged must be one of the groups {groups}, got {privileged!r}")
            groups = [group for group in groups if group != privileged] + [privileged]
    return Coding(np.asarray(classes), check_favorable(np.asarray(classes), favorable), groups)


def _decides(model: Any, X: Any, coding: Coding) -> np.ndarray:
    if hasattr(model, "classes_"):
        return np.asarray(model.predict(X)).ravel() == coding.classes[coding.favorable]
    favorable = coding.classes.tolist()[coding.favorable]
    return view_ensemble(model, favorable=favorable).decides(X)  # a Booster predicts probabilities


def _groups(coding: Coding, rows: Any, before: np.ndarray | None, after: np.ndarray) -> list[dict[str, Any]]:
    totals = rows.weigh_cells()
    decided = {"before": before, "after": after}
    measured = {
        when: None if favorable is None else measure_groups(rows.weigh_cells(favorable), totals)
        for when, favorable in decided.items()
    }
    size, labelled = totals.sum(axis=1), totals.shape[1] == 2
    return [
        {
            "name": one_line(name),
            "role": ("unprivileged", "privileged")[g],
            "rows": int(size[g]),
            "share": number(size[g] / size.sum()),
            "small": is_small(size[g], size.sum()),
            "base_rate": rate(totals[g, 1], size[g]) if labelled else None,
            **{when: None if groups is None else groups[g] for when, groups in measured.items()},
        }
        for g, name in enumerate(coding.groups)
    ]


def _describe_model(
    model: Any, record: dict[str, Any] | None, path: FairnessPath | None, selection: Selection | None
) -> dict[str, Any]:
    around = Around(model)
    view: EnsembleView | None
    try:
        view = view_ensemble(model, favorable=None if record is None else record["favorable"])
    except (UnsupportedModelError, ValueError):  # it can be measured all the same
        view = None
    kinds = [type(layer.model).__name__ for layer in around.layers] + [type(around.ensemble).__name__]
    digests = record["digests"] if record is not None else {"before": None, "after": view and view.digests}
    return {
        "kind": " of ".join(kinds),
        "n_trees": None if view is None else view.n_trees,
        "n_leaves": None if view is None else view.n_leaves,
        "edited": record is not None,
        "strategy": None if record is None else record["strategy"],
        "direction": None if record is None else record["direction"],
        "scale": None if record is None else number(record["scale"]),
        "digests": digests,
    }


def _calibration(before: Any, after: Any, X: Any, y: Any, coding: Coding) -> dict[str, float | None] | None:
    """Brier scores, where the models give probabilities."""
    if y is None or not hasattr(after, "predict_proba"):
        return None
    label = np.asarray(y).ravel() == coding.classes[coding.favorable]
    scores = {}
    for when, model in (("before", before), ("after", after)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores[when] = (
                None
                if model is None
                else number(brier_score_loss(label, np.clip(model.predict_proba(X)[:, coding.favorable], 0, 1)))
            )
    return scores


def _made(model: Any) -> dict[str, Any]:
    library = type(Around(model).ensemble).__module__.partition(".")[0]
    versions = {
        "eifffel": __version__,
        "python": platform.python_version(),
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
    }
    if library not in ("sklearn", "eifffel"):
        versions[library] = str(getattr(__import__(library), "__version__", "unknown"))
    return {"at": datetime.now(UTC).isoformat(timespec="seconds"), "versions": versions}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Values as JSON has them."""
    return {
        key: list(value) if isinstance(value, tuple) else value.item() if isinstance(value, np.generic) else value
        for key, value in values.items()
    }
