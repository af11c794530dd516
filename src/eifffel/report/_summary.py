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

from eifffel._validation import (
    check_binary_labels,
    check_choice,
    check_favorable,
    check_fraction,
    check_table,
)
from eifffel._version import __version__
from eifffel.coding import Coding, Rows
from eifffel.constraints import DEMOGRAPHIC_PARITY, Constraint, make_constraint
from eifffel.counts import PathCounts
from eifffel.ensembles import Around, EnsembleView, view_ensemble
from eifffel.exceptions import UnsupportedModelError
from eifffel.groups import Groups
from eifffel.path import FairnessPath
from eifffel.record import find_record, undo
from eifffel.report._compared import find_constraint, find_groups, find_labels
from eifffel.report._estimates import (
    estimate,
    is_small,
    measure_all,
    measure_groups,
    number,
    one_line,
    people,
    rate,
    tells_labels,
)
from eifffel.report._leaves import summarize_leaves
from eifffel.report._people import summarize_changes
from eifffel.report._tradeoff import summarize_path
from eifffel.report._verdict import say_verdict
from eifffel.seen import SeenRows
from eifffel.selection import Selection, check_one_bound

SCHEMA_NAME = "eifffel-report-3"
ABOUT = ("data", "split", "test_size", "seed", "trained_on", "command", "intended_use")

Summary = dict[str, Any]

LIMITS = (
    "Every number is of the rows that it names. Other people differ from them, and intervals say by how much rates may "
    "differ for that reason alone; they know nothing of a population that changes.",
    "{discrimination}",
    "A smaller difference can be had by giving favourable decisions to some people and by taking them from others; "
    "the table of who changed has both.",
    "Probabilities of an edited model are no longer calibrated.",
    "This page measures; it does not say that a law is complied with.",
)


# What discrimination does not say, by what is compared.
UNSAID = {
    DEMOGRAPHIC_PARITY: "Discrimination is the difference between the groups' rates of favourable decisions "
    "(demographic parity). It does not say whether decisions are right, whether errors fall on all groups alike, or "
    "whether the labels were fair.",
    "equal_opportunity": "Discrimination is the difference between the groups' rates of favourable decisions among "
    "people with a favourable label (equal opportunity). It is silent on people without one, and on whether the labels "
    "were fair.",
    "predictive_equality": "Discrimination is the difference between the groups' rates of favourable decisions among "
    "people without a favourable label (predictive equality). It is silent on people with one, and on whether the "
    "labels were fair.",
    "equalized_odds": "Discrimination is the larger of two differences between groups: of the rates of favourable "
    "decisions among people with a favourable label, and among those without (equalized odds). It does not say whether "
    "the labels were fair, nor whether as many of each group are decided favourably.",
}


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
    ratio: float | None = None,
    favorable: Any = None,
    privileged: Any = None,
    constraint: str | None = None,
    combine: str | None = None,
    min_group_rows: int | None = None,
    missing: str | None = None,
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
    epsilon, ratio : float, optional
        The bound to judge by, on the difference or on the ratio of rates; by default that of the selection, or the one
        that the model was edited for.
    favorable, privileged : optional
        As in `eifffel.trace_path`, where the model does not know them.
    constraint, combine, min_group_rows, missing : optional
        Likewise, where they are not to be as in the edit of the model. A model is judged by the bound that it was
        edited for only where people are compared as they were then.
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
    check_one_bound(epsilon, ratio)
    for name in about or {}:
        check_choice("about", name, ABOUT)
    check_table(X)
    (X,) = indexable(X)
    if hasattr(model, "path_"):
        path, selection, model = model.path_, model.selection_, model.estimator_
    record = find_record(model)
    original = _original(model, path, record)
    groups, known = find_groups(path, record, sensitive_features, combine, missing, privileged)
    favorable, label_sets = find_labels(path, record, favorable, y)
    if record is not None and selection is not None and record["step"] != selection.step:
        raise ValueError(f"the model is that of step {record['step']}, and the selection is step {selection.step}")
    if path is not None and path.counts.favorable.dtype.kind != "i":
        raise ValueError("the path counts sample weights, and a report counts people; trace it without sample_weight")
    classes = _classes(model, y, favorable)
    coding = Coding(classes, check_favorable(classes, favorable), groups, label_sets)
    encoded = coding.encode(X, y, sensitive_features, rows=f"the {rows}")
    after = _decides(model, X, coding)
    asked = find_constraint(path, record if known else None, constraint, groups, min_group_rows, labelled=y is not None)
    if path is None and len(groups) == 2 and len(asked.names) == 2:
        favored = groups.privileged[0]
        if favored is None:
            chosen, totals = (asked.count_sides(table) for table in (encoded.weigh_cells(after), encoded.weigh_cells()))
            favored = int(chosen[1] * totals[0] >= chosen[0] * totals[1])
        groups = groups.privileged_last(favored)
        encoded = encoded if favored else encoded.swap_groups()
        asked = make_constraint(asked.name, groups, min_group_rows=asked.min_rows)
        coding = Coding(classes, coding.favorable, groups, label_sets)
    asked = asked.on_rows(encoded.count_cells(), rows=f"the {rows}")
    before = None if original is None else _decides(original, X, coding)
    totals = encoded.weigh_cells()
    decided = PathCounts(
        np.stack([encoded.weigh_cells(after if before is None else before), encoded.weigh_cells(after)]),
        totals,
        rows,
        encoded.count_cells().sum(axis=1),
        asked,
    )
    summary: Summary = {
        "schema": SCHEMA_NAME,
        "rows": {
            "name": rows,
            "n": int(totals.sum()),
            "labelled": y is not None,
            "seen": False,
            "without_group": people((encoded.weight == 0).sum()),
        },
        "favorable": one_line(_name_favorable(coding) if favorable_name is None else favorable_name),
        "sensitive": one_line(sensitive_name),
        "sensitive_among_features": bool(sensitive_columns),
        "constraint": {
            "name": asked.name,
            "rate": asked.rate,
            "words": asked.words,
            "directed": asked.directed,
            "combine": groups.combine,
            "missing": groups.missing,
            "min_group_rows": asked.min_rows,
            "left_out": [one_line(name) for name in asked.left_out],
        },
        "groups": _groups(groups, encoded, before, after, asked),
        "overall": {
            "before": None if before is None else measure_all(decided, 0, groups),
            "after": measure_all(decided, 1, groups),
            "constant_accuracy": None if y is None else number(totals.sum(axis=0).max() / totals.sum()),
        },
        "selection": _asked(selection, record if known else None),
        "path": None,
        "changed": None,
        "leaves": None,
        "model": _describe_model(model, record, path, selection),
        "calibration": _calibration(original, model, X, encoded, coding),
        "made": _made(model),
        "about": {**dict.fromkeys(ABOUT), **(about or {})},
        "limits": [limit.format(discrimination=UNSAID[asked.name]) for limit in LIMITS],
    }
    if before is not None:
        summary["changed"] = summarize_changes(
            before, after, encoded, groups, asked, X, sensitive_columns=tuple(sensitive_columns)
        )
    if path is not None and selection is not None:
        if asked.name == path.constraint.name:  # of another constraint it would be another path
            summary["path"] = summarize_path(path, path.measure(X, y, sensitive_features), selection)
        summary["rows"]["seen"] = path.scored is not None and SeenRows.of(X).overlap(SeenRows.of(path.scored))
        summary["leaves"] = summarize_leaves(path, selection.step, X, sensitive_columns=tuple(sensitive_columns))
    summary["verdict"] = say_verdict(summary, epsilon, ratio)
    return summary


def _asked(selection: Selection | None, record: dict[str, Any] | None) -> dict[str, Any] | None:
    """The bounds that chose the step, as the selection or the record has them; those of other groups say nothing."""
    if selection is not None:
        return dict(_plain(selection.told()))
    stored = None if record is None else record["selection"]
    return None if stored is None else dict(_plain(stored))


def _original(model: Any, path: FairnessPath | None, record: dict[str, Any] | None) -> Any:
    if path is not None:
        return path.model
    return None if record is None else undo(model)


def _classes(model: Any, y: Any, favorable: Any) -> np.ndarray:
    """The two labels that a model decides between."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        try:
            classes = view_ensemble(model, favorable=favorable).classes
        except UnsupportedModelError:
            classes = check_binary_labels(y)
    if len(classes) != 2:
        raise ValueError(f"the model has {len(classes)} classes, {list(classes)}; only two can be measured")
    return np.asarray(classes)


def _name_favorable(coding: Coding) -> str:
    if coding.label_sets is not None:
        return " or ".join(sorted(map(str, coding.label_sets.good)))
    return str(coding.classes.tolist()[coding.favorable])


def _decides(model: Any, X: Any, coding: Coding) -> np.ndarray:
    if hasattr(model, "classes_"):
        return np.asarray(model.predict(X)).ravel() == coding.classes[coding.favorable]
    favorable = coding.classes.tolist()[coding.favorable]
    return view_ensemble(model, favorable=favorable).decides(X)  # a Booster predicts probabilities


def _groups(
    groups: Groups, rows: Rows, before: np.ndarray | None, after: np.ndarray, constraint: Constraint
) -> list[dict[str, Any]]:
    totals = groups.count_compared(rows.weigh_cells())
    decided = {"before": before, "after": after}
    measured = {
        when: None
        if favorable is None
        else measure_groups(rows.weigh_cells(favorable), rows.weigh_cells(), groups, constraint)
        for when, favorable in decided.items()
    }
    size, n_all, labelled = totals.sum(axis=1), rows.weigh_cells().sum(), totals.shape[1] == 2
    bounded = constraint.find_bounded(groups)
    hidden = groups.find_hidden(size, bounded)
    values = [(attribute, v) for attribute in groups.attributes for v in range(len(attribute.values))]
    return [
        {
            "name": one_line(groups.compared[g]),
            "attribute": one_line(attribute.name),
            "role": _role(attribute.privileged, v),
            "rows": None if hidden[g] else int(size[g]),
            "few": people(size[g]) is None,
            "share": None if hidden[g] else number(size[g] / n_all),
            "small": is_small(size[g], n_all),
            "bounded": bool(bounded[g]),
            "base_rate": _base_rate(totals[g], hidden=hidden[g]) if labelled else None,
            **{when: None if of_group is None else of_group[g] for when, of_group in measured.items()},
        }
        for g, (attribute, v) in enumerate(values)
    ]


def _base_rate(totals: np.ndarray, *, hidden: bool) -> dict[str, float | None]:
    """The share with a favourable label, where that can be told."""
    return rate(totals[1], totals.sum()) if not hidden and tells_labels(totals) else estimate(np.nan)


def _role(privileged: int | None, value: int) -> str:
    if privileged is None:
        return "compared"
    return "privileged" if value == privileged else "unprivileged"


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


def _calibration(before: Any, after: Any, X: Any, rows: Rows, coding: Coding) -> dict[str, float | None] | None:
    """Brier scores, where the models give probabilities."""
    if rows.label is None or not hasattr(after, "predict_proba"):
        return None
    label = rows.label == 1
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


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(inner) for inner in value]
    value = value.item() if isinstance(value, np.generic) else value
    return number(value) if isinstance(value, float) else value
