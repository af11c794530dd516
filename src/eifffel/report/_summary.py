"""summarize: a model, or decisions, and rows -> everything that a report says, as plain data."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.utils import indexable

from eifffel._utils.validation import (
    check_aligned,
    check_choice,
    check_fraction,
    check_length,
    check_table,
    listed,
    read_column,
)
from eifffel.comparison import Compared, Comparison, read_compared
from eifffel.edits.record import find_record
from eifffel.ensembles import view_ensemble
from eifffel.exceptions import InputError, parameter
from eifffel.path import FairnessPath
from eifffel.report._changes import summarize_changes, summarize_leaves, summarize_path
from eifffel.report._decisions import Decided, describe_decided
from eifffel.report._models import (
    check_of_path,
    decide_favorably,
    describe_making,
    describe_model,
    find_classes,
    find_original,
    measure_calibration,
    score_rows,
)
from eifffel.report.facts import (
    About,
    ChosenStep,
    Model,
    ModelDigests,
    Summary,
    SummaryFacts,
    number,
    one_line,
    read,
)
from eifffel.rows.batches import Batch, OneBatch
from eifffel.rows.coding import Coding
from eifffel.rows.hashing import collect_hashes, find_overlap
from eifffel.rows.labels import COLLECTIONS, LabelSets, find_label_sets, read_labels
from eifffel.rows.sensitive import name_columns, split_columns
from eifffel.selection.bounds import check_one_bound
from eifffel.selection.selection import Selection
from eifffel.selection.verdict import ChangedPeople, GroupFacts, PublicFacts, PublicVerdict, say_public_verdict

# More are not spelt out.
LABELS_NAMED = 8


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
    sensitive_name: str | None = None,
    sensitive_columns: tuple[str, ...] = (),
    about: dict[str, Any] | None = None,
    tell_few: bool = False,
) -> Summary:
    """Everything that a report says of a model, which `render_html` and `render_markdown` show.

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
    favorable_name, sensitive_name : str, optional
        What the favourable label and the sensitive attribute are called, if not as they are in what is given.
    sensitive_columns : tuple of str
        The columns of ``X`` that hold it, if any: rules that ask for them are marked.
    about : dict, optional
        What else the report should say: ``intended_use``, ``not_for``, ``owner`` (who answers for the model),
        ``data_source`` (where the rows come from), ``data``, ``split``, ``test_size``, ``seed``, ``trained_on``,
        ``model_file``, ``command``.
    tell_few : bool
        Whether the tables of an audit describe categories of fewer than ten people too, as some laws ask for. They can
        say what was decided about single persons; nothing else in a report does.

    Returns
    -------
    Summary
        It holds counts and rates, no rows, and no rule about fewer than ten of them.

    Raises
    ------
    ValueError
        If what is given does not fit together, such as a selection of another step than the model's; or if the path
        counts sample weights, for a report counts people.

    See Also
    --------
    summarize_decisions : The same without a model.
    save_report : Writes a report of it.

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
    >>> [group.rows for group in summary.groups]
    [399, 601]
    """
    _check_asked(epsilon, ratio, about)
    check_table(X)
    (X,) = indexable(X)
    if hasattr(model, "path_"):
        path, selection, model = model.path_, model.selection_, model.estimator_
    record = find_record(model)
    if path is not None:
        check_of_path(model, record, path, selection)
    original = find_original(model, path, record)
    asked = Comparison(favorable, privileged, constraint, combine, min_group_rows, missing)
    if path is not None and path.counts.weighted:
        raise ValueError("the path counts sample weights, and a report counts people; trace it without sample_weight")
    given = OneBatch(Batch(X, y, sensitive_features))
    compared, known = _resolve_comparison(asked, given, f"the {rows}", model, path, record)
    coding = compared.coding
    encoded = coding.encode(X, y, sensitive_features, rows=f"the {rows}")
    chances = score_rows(original if y is not None else None, X, coding), score_rows(model, X, coding)
    name, other = _name_labels(coding)
    if favorable_name is not None:
        name, other = one_line(favorable_name), "all else"
    decided = Decided(
        compared,
        encoded,
        encoded,
        None if original is None else decide_favorably(original, X, coding),
        decide_favorably(model, X, coding),
        chances[1],
        f"probability of {name}",
        tell_few,
    ).described()
    if path is None:
        decided = decided.name_favored()
    decided = decided.on_rows(rows)
    labelled = decided.count(rows).labelled
    measured = describe_decided(
        decided,
        rows,
        favorable=name,
        unfavorable=other,
        sensitive=sensitive_name,
        model=describe_model(model, record),
        made=describe_making(model),
        about=_make_about(about),
    )
    measured = replace(
        measured,
        sensitive_among_features=bool(sensitive_columns),
        selection=_asked(selection, record if known else None),
        calibration=measure_calibration(*chances, decided.rows, None if labelled is None else labelled.n_rows > 0),
    )
    if decided.before is not None:
        changed = summarize_changes(
            decided.before,
            decided.after,
            decided.rows,
            decided.groups,
            X,
            sensitive_columns=tuple(sensitive_columns),
        )
        measured = replace(measured, changed=changed)
    if path is not None and selection is not None:
        if compared.constraint.name == path.constraint.name:  # of another constraint it would be another path
            tradeoff = summarize_path(path, path.measure(X, y, sensitive_features), selection)
            measured = replace(measured, path=tradeoff)
        hashes = collect_hashes(X, view_ensemble(path.model, favorable=path.favorable).check_rows(X))
        seen, chose = (bool(find_overlap(hashes, other) > 0) for other in (path.scored, selection.hashes))
        measured = replace(
            measured,
            rows=replace(measured.rows, seen=seen, chose=chose),
            leaves=summarize_leaves(path, selection.step, X, sensitive_columns=tuple(sensitive_columns)),
        )
    return Summary.of(measured, judge_facts(measured, epsilon, ratio))


def summarize_decisions(
    decisions: Any,
    y: Any = None,
    *,
    sensitive_features: Any,
    scores: Any = None,
    rows: str = "rows given",
    epsilon: float | None = None,
    ratio: float | None = None,
    favorable: Any = None,
    privileged: Any = None,
    constraint: str | None = None,
    combine: str | None = None,
    min_group_rows: int | None = None,
    missing: str | None = None,
    decided_by: str = "decisions as they were made",
    score_name: str = "score",
    sensitive_name: str | None = None,
    about: dict[str, Any] | None = None,
    tell_few: bool = False,
) -> Summary:
    """`summarize` for decisions that people, or any other system, have made: no model is needed.

    Parameters
    ----------
    decisions : array-like of shape (n_rows,)
        What was decided about each person.
    y : array-like of shape (n_rows,), optional
        What should have been decided, in the same labels.
    sensitive_features : array-like, data frame or dict of columns
        The groups.
    scores : array-like of shape (n_rows,), optional
        Numbers that decisions were made by, the larger the better for a person; for scoring rates.
    favorable : label or set of labels
        The decisions that are good for a person; by default the larger of 0/1, -1/1 or booleans.
    decided_by, score_name : str
        What the report calls whoever decided, and the scores.
    rows, epsilon, ratio, privileged, constraint, combine, min_group_rows, missing, sensitive_name, about, tell_few
        As in `summarize`.

    Returns
    -------
    Summary

    Examples
    --------
    >>> from eifffel.report import summarize_decisions
    >>> summary = summarize_decisions(
    ...     ["yes", "no", "yes", "yes"] * 10, sensitive_features=["f", "f", "m", "m"] * 10, favorable="yes"
    ... )
    >>> [(group.name, group.after.selection_rate.value) for group in summary.groups]
    [('f', 0.5), ('m', 1.0)]
    """
    _check_asked(epsilon, ratio, about)
    columns = name_columns(split_columns(sensitive_features))
    check_aligned([("decisions", decisions), ("y", y), *columns, ("scores", scores)])
    values, labels, _ = read_column("decisions", decisions)
    sets = _find_decisions(labels, read_labels("y", y) or [], favorable)
    label = None if y is None else sets.join("y", y)
    asked = Comparison(1, privileged, constraint, combine, min_group_rows, missing)
    batch = Batch(decisions, label, sensitive_features)
    compared = asked.resolve([0, 1], asked.survey(OneBatch(batch), rows=f"the {rows}"))
    encoded = compared.coding.encode_batch(batch, rows=f"the {rows}")
    numbers = None if scores is None else _read_scores(scores, len(values))
    chosen = sets.code(values) == 1
    decided = Decided(compared, encoded, encoded, None, chosen, numbers, one_line(score_name), tell_few)
    decided = decided.described().name_favored().on_rows(rows)
    name, other = (_list_labels(labels) for labels in sets)
    measured = describe_decided(
        decided,
        rows,
        favorable=name,
        unfavorable=other,
        sensitive=sensitive_name,
        model=Model(one_line(decided_by), None, None, False, None, None, None, ModelDigests(None, None)),
        made=describe_making(),
        about=_make_about(about),
    )
    return Summary.of(measured, judge_facts(measured, epsilon, ratio))


def judge_facts(facts: SummaryFacts, epsilon: float | None, ratio: float | None) -> PublicVerdict:
    """The verdict on a bound, by default the one that chose the step, by what a report says."""
    rows, compared, before, after = facts.rows, facts.constraint, facts.overall.before, facts.overall.after
    groups = [
        GroupFacts(group.name, group.attribute, group.after.selection_rate.value, group.few, group.bounded)
        for group in facts.groups
    ]
    return say_public_verdict(
        PublicFacts(
            rows=rows.name,
            n_rows=rows.n,
            n_labelled=rows.n_labelled,
            without_group=rows.without_group,
            seen=rows.seen,
            chose=rows.chose,
            favorable=facts.favorable,
            sensitive=facts.sensitive,
            constraint=compared.name,
            rate=compared.rate,
            directed=compared.directed,
            min_group_rows=compared.min_group_rows,
            left_out=compared.left_out,
            groups=tuple(groups),
            discrimination=after.discrimination.value,
            interval=after.discrimination.interval,
            original=(after if before is None else before).discrimination.interval,
            between=after.between,
            rates=after.rates,
            by_attribute=tuple((part.name, part.value) for part in after.by_attribute),
            ratio=after.ratio.value,
            ratio_interval=after.ratio.interval,
            ratio_between=after.ratio_between,
            accuracy=after.accuracy.value,
            accuracy_before=None if before is None else before.accuracy.value,
            constant_accuracy=facts.overall.constant_accuracy,
            raised_errors=facts.overall.raised_errors,
            changed=_count_changed(facts),
            choice=facts.selection,
        ),
        epsilon,
        ratio,
    )


def _count_changed(facts: SummaryFacts) -> ChangedPeople | None:
    """How many people gain and lose a favourable decision, those who are not described not among them."""
    if facts.changed is None:
        return None
    counts = facts.changed.groups
    # Everybody has a value of each attribute.
    first = facts.groups[0].attribute
    own = [count for group, count in zip(facts.groups, counts, strict=True) if group.attribute == first]
    return ChangedPeople(
        anybody=any(count.gained or count.lost for count in counts),
        gained=sum(count.gained or 0 for count in own),
        lost=sum(count.lost or 0 for count in own),
    )


def _resolve_comparison(
    asked: Comparison,
    given: OneBatch,
    rows: str,
    model: Any,
    path: FairnessPath | None,
    record: Mapping[str, Any] | None,
) -> tuple[Compared, bool]:
    """What is compared: as asked for, as in the edit of the model, or the usual; and whether it is as in the edit."""
    if path is not None:
        return path.comparison.on_path(asked, given, rows=rows), True
    if record is not None:
        return read_compared(record).on_rows(asked, given, rows=rows)
    return asked.resolve(find_classes(model, given.in_memory.y).tolist(), asked.survey(given, rows=rows)), False


def _check_asked(epsilon: float | None, ratio: float | None, about: dict[str, Any] | None) -> None:
    check_fraction("epsilon", epsilon, optional=True)
    check_one_bound(epsilon, ratio)
    for name in about or {}:
        check_choice("about", name, [field.name for field in fields(About)])


def _make_about(about: dict[str, Any] | None) -> About:
    given = (about or {}).items()
    return read({name: one_line(text) if isinstance(text, str) else text for name, text in given}, About)


def _find_decisions(decided: list[Any], labels: list[Any], favorable: Any) -> LabelSets:
    """Which decisions are good for a person, and which are not; ``labels`` are what should have been decided."""
    if favorable is None:
        for usual in ([0, 1], [-1, 1]):
            if {*decided, *labels} <= set(usual):
                named = [next((label for label in (*decided, *labels) if label == value), value) for value in usual]
                return LabelSets.of(named[1:], named[:1])
        raise InputError(
            f"the decisions are {listed(decided)}: pass "
            + parameter("favorable")
            + "=, the one, or a set of those, that are good for a "
            "person. Only for 0/1, -1/1 and booleans is the larger one taken by default"
        )
    good = frozenset(favorable) if isinstance(favorable, COLLECTIONS) else frozenset([favorable])
    if not good or (len(good) > 1 and good >= set(decided)):
        what = "every decision" if good else "no decision"
        those = f"{what} of {listed(decided)}; name those that are good for a person"
        raise InputError(parameter("favorable") + " names " + those)
    sets = find_label_sets("decisions", decided, good)
    if len(decided) > 1:
        sets.check("y", labels)
    return sets if len(decided) > 1 else LabelSets.of(good, frozenset([*decided, *labels]) - good)


def _read_scores(scores: Any, n_rows: int) -> np.ndarray:
    values, distinct, _ = read_column("scores", scores)
    check_length("scores", values, n_rows)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"scores must be numbers, got {listed(distinct)}") from None
    if not np.isfinite(numbers).all():
        raise ValueError("scores must be finite; leave out rows without one")
    return numbers


def _asked(selection: Selection | None, record: dict[str, Any] | None) -> ChosenStep | None:
    """The bounds that chose the step, as the selection or the record has them; those of other groups say nothing."""
    stored = None if record is None else record["selection"]
    public = stored if selection is None else selection.to_public_dict()
    return None if public is None else read(_to_json(public), ChosenStep)


def _name_labels(coding: Coding) -> tuple[str, str]:
    """The favourable label, or labels, and the others."""
    if coding.label_sets is not None:
        good, bad = coding.label_sets
        return _list_labels(good), _list_labels(bad)
    classes = coding.classes.tolist()
    return one_line(classes[coding.favorable]), one_line(classes[1 - coding.favorable])


def _list_labels(labels: tuple[Any, ...]) -> str:
    names = sorted(map(one_line, labels))
    return " or ".join(names) if len(names) <= LABELS_NAMED else f"any of {len(names)} others"


def _to_json(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {key: _to_json(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_to_json(inner) for inner in value]
    value = value.item() if isinstance(value, np.generic) else value
    return number(value) if isinstance(value, float) else value
