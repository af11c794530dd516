"""trace_path: model and rows -> leaf counts -> order of edits -> path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from eifffel._validation import SHOWN, check_choice, check_n_jobs, check_number, check_select_on, equal, listed
from eifffel.constraints import DEMOGRAPHIC_PARITY, MIN_GROUP_ROWS, Constraint, check_constraint, make_constraint
from eifffel.ensembles import EnsembleView, find_view, read_classes, read_monotone, view_ensemble
from eifffel.exceptions import (
    HiddenMonotoneWarning,
    InputError,
    PrivilegedGroupWarning,
    UnsupportedModelError,
    parameter,
    warn_caller,
    wording,
)
from eifffel.leaves.counting import Counted, count_rows
from eifffel.leaves.placing import PlacedRows, Placing, RowsInLeaves
from eifffel.leaves.training import Training, find_trained
from eifffel.measuring import measure_rows
from eifffel.metrics import balanced_accuracy
from eifffel.path import FairnessPath
from eifffel.path_counts import PathCounts
from eifffel.rows.batches import Batches
from eifffel.rows.coding import Coding
from eifffel.rows.columns import check_features
from eifffel.rows.groups import EACH, Groups, make_groups
from eifffel.rows.labels import LabelSets, find_label_sets, split_favorable
from eifffel.rows.reading import read_rows, read_selection
from eifffel.rows.sensitive import ERROR, MISSING
from eifffel.rows.survey import Survey, survey_batches
from eifffel.strategies import ANY, AUTO, DIRECTIONS, STRATEGIES, EditOrder, resolve_strategy

# Leaf indices that are kept for a second pass where rows come in batches: those of 20 million rows in 100 trees.
MEMORY_BUDGET = 4e9
# What rows are called in errors.
SCORING, SELECTION = "the scoring rows", "the rows of select_on"


def trace_path(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sensitive_features: Any = None,
    strategy: str = AUTO,
    direction: str = ANY,
    constraint: str = DEMOGRAPHIC_PARITY,
    combine: str = EACH,
    min_group_rows: int = MIN_GROUP_ROWS,
    missing: str = ERROR,
    select_on: tuple[Any, ...] | None = None,
    keep_apart: bool = False,
    privileged: Any = None,
    favorable: Any = None,
    monotone: Mapping[Any, int] | None = None,
    sample_weight: Any = None,
    features: Sequence[str] | None = None,
    memory_budget: float = MEMORY_BUDGET,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> FairnessPath:
    """Trace how editing leaves makes a fitted model fairer, step by step.

    One pass over the scoring rows counts them in their leaves and gives the order of all edits; one pass over the
    selection rows measures the model after every step. No step needs a prediction of its own.

    Parameters
    ----------
    model : fitted classifier
        Of two classes, and never changed: DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier,
        BaggingClassifier over trees; GradientBoostingClassifier, HistGradientBoostingClassifier, LGBMClassifier,
        XGBClassifier, CatBoostClassifier, and the Booster of LightGBM or XGBoost (labels 0 and 1, cut-off 1/2); a
        class derived from one; or a Pipeline, FixedThresholdClassifier, TunedThresholdClassifierCV or FrozenEstimator
        around one.
    X, y, sensitive_features : array-like
        The scoring rows: features, labels, and the group of each row. Several attributes are a data frame, a dict of
        columns or an array of several; a tuple, in a list of them, is one group.

        Rows that are too many for memory are read in batches, more than once. ``X`` is then the path of a Parquet file
        or a folder of them, and ``y`` and ``sensitive_features`` name columns, the latter one or a list of them; or a
        list of batches, or a function that gives them anew: data frames, with columns named likewise, or tuples
        ``(X, y, sensitive_features)``, or with ``sample_weight`` as a fourth entry, where ``y`` and
        ``sensitive_features`` are left out here. Columns are matched with those that the model was trained on. With
        ``strategy="shift"``, a sample of the rows then fits the direction and says at which steps all are counted.
    strategy : {"auto", "leaf", "tree", "shift"}
        Flip one leaf at a time (EiFFFeL-LF) or all candidate leaves of a tree at once (EiFFFeL-TF), where leaves vote;
        or shift all leaves together. ``"auto"`` is leaf for averaged trees of which one difference is bounded, and
        shift for boosted ones, and where several differences are.
    direction : {"any", "up"}
        ``"up"`` only turns unfavourable decisions into favourable ones: nobody loses by it, and it costs more accuracy.
    constraint : {"demographic_parity", "equal_opportunity", "predictive_equality", "equalized_odds"}
        Which rates of favourable decisions are compared between groups: of all people, of those with the favourable
        label (true positive rates), of those without it (false positive rates), or both of the latter. fairlearn's
        names are understood too.
    combine : {"each", "intersection"}
        With several attributes, whether groups are compared by each of them in turn, or by all their combinations.
    min_group_rows : int
        A group with fewer scoring rows or selection rows, of those whose rate is compared, is left out of the bound,
        and is counted all the same. Where an attribute has two groups, none is.
    missing : {"error", "own-group", "drop"}
        What becomes of rows without a group: an error, a group of their own called ``"(missing)"``, or they are left
        out of all counts.
    select_on : tuple (X, y, sensitive_features) or (X, y, sensitive_features, sample_weight), optional
        The selection rows, on which each step is measured: rows that the model was not trained on, or the bound says
        little of other people. ``y`` may be ``None``: accuracy is then measured on the scoring rows. By default the
        scoring rows, as in the paper; selecting a step then warns. Each entry is what it is for the scoring rows:
        ``("later/", "hired", "sex")``, or ``(batches, None, None)``.
    keep_apart : bool
        Where a shift is to bound several differences: let half of the selection rows, or of each batch of them, have no
        part in how they are weighed, so that these can be asked for ``confidence``. Otherwise all have, and it needs
        other rows still.
    privileged : group, optional
        The privileged group, which all others are compared with; a dict of them by attribute where there are several.
        By default, of two groups the one that the model favours on the scoring rows; of more, and of both rates of
        equalized odds, none: the largest difference between any two is bounded.
    favorable : label or set of labels, optional
        The favourable class; by default the larger of 0/1, -1/1 or booleans. A set makes ``y`` of several labels
        binary, for a model that was trained on 0 and 1, where 1 stands for those in the set. Where the labels are words
        and the model's are 0 and 1, as a Booster's are, the word for 1.
    monotone : dict, optional
        Features on which the model was trained to be monotone, with 1 (rising) or -1 (falling), and ``{}`` for none.
        An edit would break that, and such a model is refused. Models say so themselves, but for those that were read
        from a file of XGBoost, which does not hold it; where one looks monotone, a warning asks.
    sample_weight : array-like of shape (n_rows,), optional
        Weights count the scoring rows. Of a table, the name of a column.
    features : list of str, optional
        The columns of a table that are the model's features, in its order, for a model that was trained without names.
        Of a table in files or batches that is read by name, they must then be named; its order says nothing.
    memory_budget : float
        Bytes of leaf indices that may be kept where rows are read in batches and are needed again; what goes beyond is
        made again.
    n_jobs : int, optional
        Threads for the passes over rows.
    verbose : int
        Above 0, a progress bar appears on work over a second.

    Returns
    -------
    FairnessPath

    Raises
    ------
    UnsupportedModelError
        If the leaves of the model cannot be edited, or not by this strategy.
    ValueError, TypeError
        If rows, labels or groups are not what they should be, or a parameter is not; the message says what to do.
    ViewMismatchError
        If the leaves do not give the model's own decisions, as where a class overrides ``predict``.

    Warns
    -----
    PrivilegedGroupWarning
        If the model does not favour the group given as privileged.
    HiddenMonotoneWarning
        If the model looks as if it had been trained to be monotone, and ``monotone`` does not say.
    IndistinctGroupsWarning
        If a shift would cost much, because the leaves hardly tell the groups apart.

    See Also
    --------
    EiFFFeLClassifier : Trains the model, too.
    eifffel.dask.trace_path : For rows on many machines.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel import trace_path
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(2000, random_state=0)
    >>> X, y, s = people.data, people.target, people.sensitive
    >>> model = RandomForestClassifier(20, random_state=0).fit(X[:1000], y[:1000])
    >>> path = trace_path(model, X[:1000], y[:1000], sensitive_features=s[:1000],
    ...                   select_on=(X[1000:], y[1000:], s[1000:]))
    >>> choice = path.select(epsilon=0.05)
    >>> choice.met
    True
    >>> fair = path.model_at(choice.step)
    >>> type(fair).__name__
    'RandomForestClassifier'
    """
    given = [(y, sensitive_features), *([] if select_on is None else [check_select_on(select_on)[1:3]])]
    names = check_features(features, *given)
    scoring = read_rows(model, X, y, sensitive_features, sample_weight, features=names)
    selection = read_selection(model, select_on, names)
    return trace_batches(
        model,
        scoring,
        selection,
        combine=combine,
        missing=missing,
        privileged=privileged,
        strategy=strategy,
        direction=direction,
        constraint=constraint,
        min_group_rows=min_group_rows,
        keep_apart=keep_apart,
        favorable=favorable,
        monotone=monotone,
        memory_budget=memory_budget,
        n_jobs=n_jobs,
        verbose=verbose,
    )


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked, of a model and of rows that were surveyed.

    Attributes
    ----------
    view : EnsembleView
    coding : Coding
        How labels and groups are counted.
    constraint : Constraint
        What is bounded.
    scoring, selecting : Survey
        Of the scoring rows and of the rows that steps are measured on, which may be the same.
    """

    view: EnsembleView
    coding: Coding
    constraint: Constraint
    scoring: Survey
    selecting: Survey


def trace_batches(
    model: Any,
    scoring: Batches,
    selection: Batches | None,
    *,
    groups: Groups | None = None,
    combine: str = EACH,
    missing: str = ERROR,
    privileged: Any = None,
    strategy: str = AUTO,
    direction: str = ANY,
    constraint: str = DEMOGRAPHIC_PARITY,
    min_group_rows: int = MIN_GROUP_ROWS,
    keep_apart: bool = False,
    favorable: Any = None,
    monotone: Mapping[Any, int] | None = None,
    memory_budget: float = MEMORY_BUDGET,
    trained_here: bool = False,
    one_table: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> FairnessPath:
    """`trace_path` for rows in batches.

    ``groups`` may be known beforehand, whether or not all have scoring rows; ``combine``, ``missing`` and
    ``privileged`` are then theirs. ``trained_here`` says that the model was trained on the scoring rows and on no
    others, ``one_table`` that scoring and selection rows were drawn from one table.
    """
    check_n_jobs(n_jobs)
    if memory_budget != np.inf:
        check_number("memory_budget", memory_budget, at_least=0)
    check_choice("direction", direction, DIRECTIONS)
    check_choice("missing", missing, MISSING)
    check_constraint(constraint)
    grouping = {"combine": combine, "missing": missing, "privileged": privileged}
    task = _read_task(
        model, scoring, selection, groups, grouping, strategy, constraint, min_group_rows, favorable, monotone, verbose
    )
    work: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose}
    task, scored, chosen_on = _place(task, scoring, selection, memory_budget, **work)

    # The first pass.
    several = len(task.constraint.names) > 2
    needs_sample = not STRATEGIES[strategy].flips if strategy != AUTO else several or not task.view.votes
    training = Training.of(task.view)
    counted = count_rows(task.view, scored, sampled=needs_sample, training=training, **work)
    task, counted, scored, chosen_on = _put_privileged_last(task, counted, scored, chosen_on)

    strategy = resolve_strategy(strategy, task.view, task.constraint)
    order = _order(task, counted, scored, chosen_on, strategy, direction, keep_apart, n_jobs)

    # The second pass.
    weighed = chosen_on is not scored and order.saw_selection_rows
    measured = measure_rows(task.view, chosen_on, order, keep_apart=keep_apart and weighed, training=training, **work)
    counts = measured.steps.path_counts(chosen_on.name, task.constraint)
    certain_counts: PathCounts | None = counts
    if weighed:
        apart = measured.apart
        certain_counts = None if apart is None else apart.path_counts("selection rows kept apart", task.constraint)
    accuracy_counts = counts
    if task.selecting.labels is None:
        accuracy_counts = measure_rows(task.view, scored, order, **work).steps.path_counts(scored.name, task.constraint)

    if task.coding.label_sets is not None:
        _check_not_inverted(accuracy_counts, task.coding.label_sets)

    alone = chosen_on is scored
    overlap = 1.0 if alone else measured.kinds.overlap(counted.kinds)
    repeats = max(measured.kinds.repeats, 1 if overlap else measured.kinds.join(counted.kinds).repeats)
    in_others = None if alone else measured.in_tree
    trained = find_trained(training, counted.in_tree, in_others, on_scoring=trained_here, one_table=one_table)
    return FairnessPath(
        model=model,
        strategy=strategy,
        direction=direction,
        grouping=task.coding.groups,
        constraint=task.constraint,
        favorable=task.view.classes.tolist()[task.view.favorable],
        label_sets=task.coding.label_sets,
        order=order,
        leaf_counts=counted.leaves,
        counts=counts,
        accuracy_counts=accuracy_counts,
        certain_counts=certain_counts,
        model_fingerprint=task.view.fingerprint(),
        # Of rows that are repeated, some of the same people are on either side.
        trained=None if trained is False and (overlap or repeats > 1) else trained,
        overlap=overlap,
        repeats=repeats,
        at_hand=measured.at_hand,
        scored=counted.kinds,
        kinds=measured.kinds,
    )


def _read_task(
    model: Any,
    scoring: Batches,
    selection: Batches | None,
    groups: Groups | None,
    grouping: dict[str, Any],
    strategy: str,
    constraint: str,
    min_group_rows: int,
    favorable: Any,
    monotone: Mapping[Any, int] | None,
    verbose: int,
) -> Task:
    """What there is to count, before anything is; mistakes are told here."""
    resolve_strategy(strategy, find_view(model))
    classes = read_classes(model)
    # The labels of a table may be others than those of the model, and stand for them.
    known = favorable is None or any(equal(favorable, label) for label in classes)
    view = view_ensemble(model, favorable=favorable if known else classes[1])
    if monotone is not None:
        _refuse_monotone(model, read_monotone(monotone, view.feature_names))
    missing = grouping["missing"] if groups is None else groups.missing
    survey = survey_batches(scoring, missing, rows=SCORING, verbose=verbose)
    if survey.labels is None:
        raise ValueError("y is missing; leaves are scored by the labels of their rows")
    others = survey if selection is None else survey_batches(selection, missing, rows=SELECTION, verbose=verbose)
    if groups is None:
        groups = make_groups(survey.values, also=None if selection is None else others.values, **grouping)
    favorable, good = split_favorable(favorable, survey.labels, classes)
    view = view if known else view_ensemble(model, favorable=favorable)
    if monotone is None:
        _ask_if_monotone(view, groups.names)
    resolve_strategy(strategy, view)
    label_sets = None if good is None else find_label_sets("y", survey.labels, good, others.labels or ())
    asked = make_constraint(constraint, groups, min_group_rows=min_group_rows)
    if asked.needs_labels and others.labels is None:
        raise InputError(
            parameter("constraint")
            + f"={constraint!r} compares people of one label, and the rows of select_on have no labels; give "
            "their y"
        )
    return Task(view, Coding(view.classes, view.favorable, groups, label_sets), asked, survey, others)


def _refuse_monotone(model: Any, constrained: dict[str, int]) -> None:
    if constrained:
        raise UnsupportedModelError(
            f"this {type(model).__name__} is monotone in {_in_words(constrained)}, and editing leaves breaks such "
            "constraints; train it without them"
        )


def _ask_if_monotone(view: EnsembleView, sensitive: Sequence[str]) -> None:
    """Warn of features on which the model may have been trained to be monotone, without saying so."""
    found = {name: sign for name, sign in view.hidden_monotone().items() if name not in sensitive}
    if found:
        warn_caller(
            f"this {type(view.model).__name__} looks as if it had been trained to be monotone, in {_in_words(found)}: "
            "of any two leaves that lie apart there alone, none is out of order. A file of XGBoost does not say it, "
            "and an edit would break it. If it was not, say "
            + parameter("monotone={}")
            + "; if it was, name the features "
            + wording("signs", "in monotone, with 1 or -1")
            + ", and it is refused",
            HiddenMonotoneWarning,
        )


def _in_words(constrained: dict[str, int]) -> str:
    words = [f"{name!r} ({'rising' if sign > 0 else 'falling'})" for name, sign in list(constrained.items())[:SHOWN]]
    more = len(constrained) - len(words)
    return ", ".join(words) + (f" and {more} more" if more else "")


def _place(
    task: Task, scoring: Batches, selection: Batches | None, memory_budget: float, **work: Any
) -> tuple[Task, RowsInLeaves, RowsInLeaves]:
    """The scoring rows and the rows that steps are measured on, to be placed in their leaves when they are read."""
    alone = scoring.alone is not None
    placing = Placing(task.view, task.coding, task.scoring, "scoring rows", SCORING, alone, **work)
    # They are kept, as far as there is room, where they will be needed again.
    budget = memory_budget if selection is None or task.selecting.labels is None else 0
    chosen_on = scored = RowsInLeaves.of(scoring, placing, budget)
    if selection is not None:
        alone = selection.alone is not None
        placing = Placing(task.view, task.coding, task.selecting, "selection rows", SELECTION, alone, **work)
        chosen_on = RowsInLeaves.of(selection, placing)
    constraint = task.constraint.on_rows(scored.cells, chosen_on.cells, rows="the scoring or the selection rows")
    scored.check()
    chosen_on.check()
    return replace(task, constraint=constraint), scored, chosen_on


def _put_privileged_last(
    task: Task, counted: Counted, scored: RowsInLeaves, chosen_on: RowsInLeaves
) -> tuple[Task, Counted, RowsInLeaves, RowsInLeaves]:
    """Of two groups the privileged one, which the first pass has found if it was not named, has code 1 from here on."""
    groups = task.coding.groups
    privileged = _find_privileged(groups, counted, task.constraint) if len(groups) == 2 else None
    if privileged is None:
        return task, counted, scored, chosen_on
    coding = replace(task.coding, groups=groups.privileged_last(privileged))
    constraint = make_constraint(task.constraint.name, coding.groups, min_group_rows=task.constraint.min_rows)
    task = replace(task, coding=coding, constraint=constraint)
    if privileged == 1:
        return task, counted, scored, chosen_on
    swapped = scored.swap_groups(coding)
    others = swapped if chosen_on is scored else chosen_on.swap_groups(coding)
    return task, counted.swap_groups(), swapped, others


def _order(
    task: Task,
    counted: Counted,
    scored: RowsInLeaves,
    chosen_on: RowsInLeaves,
    strategy: str,
    direction: str,
    keep_apart: bool,
    n_jobs: int | None,
) -> EditOrder:
    """All edits, in their order, and the steps at which they are measured."""
    draw = cache(partial(scored.sample, counted.leaves.totals, counted.lowest))
    order = STRATEGIES[strategy].order(
        task.view,
        scored,
        counted.leaves,
        task.constraint,
        direction=direction,
        draw=draw,
        draw_ahead=None if chosen_on is scored else partial(chosen_on.sample_any, half=keep_apart),
        n_jobs=n_jobs,
    )
    if not STRATEGIES[strategy].flips:
        whole: PlacedRows | None = chosen_on.placed.alone
        shown = draw() if whole is None else whole
        order = order.on_rows(task.view, shown.index, some=whole is None, n_jobs=n_jobs)
        order.review(task.view, shown)
    return order


def _check_not_inverted(counts: PathCounts, sets: LabelSets) -> None:
    """Raise if a model, as it came, decides against the labels that were said to stand for its 1."""
    agreement = float(balanced_accuracy(counts.favorable[0], counts.totals))
    if agreement < 0.5:
        good, bad = (listed(labels) for labels in sets)
        raise InputError(
            parameter("favorable")
            + f"={good} is taken as what the model's 1 stands for, and the model then decides against the "
            f"labels (balanced accuracy {agreement:.2f} on the {counts.rows}). If its 1 stands for {bad}, name that; "
            f"if {good} is the good outcome all the same, pass y as 0 and 1 and " + parameter("favorable") + "=0"
        )


def _find_privileged(groups: Groups, counted: Counted, constraint: Constraint) -> int | None:
    """Which of two groups is privileged: the one that was named, else, of one rate, the one that the model favours."""
    named = groups.privileged[0]
    chosen, totals = (constraint.count_sides(cells) for cells in (counted.favorable, counted.leaves.totals))
    chosen, totals = chosen.astype(object), totals.astype(object)  # whole numbers of any size
    # The rate of the second group minus that of the first, up to a positive factor.
    advantage = chosen[1::2] * totals[0::2] - chosen[0::2] * totals[1::2]
    if named is not None and (advantage * (1 if named == 1 else -1) < 0).all():
        warn_caller(
            parameter("privileged")
            + f"={groups[named]!r}, but the model favours {groups[1 - named]!r} on the scoring rows, and flips "
            "will favour it still more; leave privileged out to lower the discrimination that there is",
            PrivilegedGroupWarning,
        )
    if named is None and len(constraint.names) == 2:
        return int(advantage[0] > 0)
    return named
