"""trace_path: model and rows -> leaf counts -> order of edits -> path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from eifffel._utils.parallel import start_beside
from eifffel._utils.validation import (
    SHOWN_VALUES,
    check_choice,
    check_n_jobs,
    check_number,
    check_select_on,
    equal,
    listed,
)
from eifffel.comparison import Compared, Comparison
from eifffel.constraints import DEMOGRAPHIC_PARITY, MIN_GROUP_ROWS, Constraint
from eifffel.ensembles import (
    EnsembleView,
    find_features,
    find_view,
    read_classes,
    read_monotone,
    to_local,
    view_ensemble,
)
from eifffel.exceptions import (
    HiddenMonotoneWarning,
    InputError,
    PrivilegedGroupWarning,
    UnsupportedModelError,
    parameter,
    warn_caller,
    wording,
)
from eifffel.kernels.compiling import say_compiling
from eifffel.leaves.counting import Counted, count_rows
from eifffel.leaves.placing import PlacedRows, Placing, RowsInLeaves
from eifffel.leaves.training import Training, find_trained
from eifffel.metrics import balanced_accuracy
from eifffel.path import FairnessPath
from eifffel.rows.batches import Batches
from eifffel.rows.columns import check_features
from eifffel.rows.groups import EACH
from eifffel.rows.labels import LabelSets
from eifffel.rows.reading import read_rows, read_selection
from eifffel.rows.sensitive import ERROR
from eifffel.rows.survey import Survey
from eifffel.selection.counts import SCORING_ROWS, SELECTION_ROWS
from eifffel.selection.measure import measure_rows
from eifffel.strategies import ANY, AUTO, DIRECTIONS, STRATEGIES, EditOrder, check_strategy, resolve_strategy

# Leaf indices that are kept for a second pass where rows come in batches: those of 20 million rows in 100 trees.
MEMORY_BUDGET = 4e9
# What rows are called in errors.
SCORING, SELECTION = f"the {SCORING_ROWS}", "the rows of select_on"


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
        around one. Of a model that LightGBM or XGBoost trained on Dask, the local model, or the Booster, is taken.
    X, y, sensitive_features : array-like
        The scoring rows: features, labels, and the group of each row. Several attributes are a data frame, a dict of
        columns or an array of several; a tuple, in a list of them, is one group.

        Rows that are too many for memory are read in batches, more than once. ``X`` is then the path of a Parquet file
        or a folder of them, and ``y`` and ``sensitive_features`` name columns, the latter one or a list of them; or a
        list of batches, or a function that gives them again: data frames, with columns named likewise, or tuples
        ``(X, y, sensitive_features)``, or with ``sample_weight`` as a fourth entry, where ``y`` and
        ``sensitive_features`` are left out here. Columns are matched with those that the model was trained on. With
        ``strategy="shift"``, a sample of the rows then fits the direction and says at which steps all are counted.

        Rows on many machines are Dask collections: data frames, series or arrays with equal partitions, or a dict of
        them as ``sensitive_features``; or ``X`` is a Dask data frame, and the others name its columns, which is best:
        then each partition is read once in a pass. The model goes to the workers of the current client, and counts
        come back; of a sample, leaf indices do. Another client becomes the current one in a block
        ``with client.as_current():``.
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
        ``("later/", "hired", "sex")``, or ``(batches, None, None)``. They may be in memory and the scoring rows not, or
        the other way round.
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
        made again. Of Dask collections none are kept, whatever it is.
    n_jobs : int, optional
        Threads for the passes over rows; ``None`` for as many as the model has for its own. The workers of Dask take
        one for each partition, whatever it is.
    verbose : int
        Above 0, a progress bar appears on work over a second; it counts rows, or partitions of Dask collections.

    Returns
    -------
    FairnessPath
        Where steps were measured on Dask collections, it holds no rows, and `FairnessPath.model_at` checks what it
        wrote by reading it back alone.

    Raises
    ------
    UnsupportedModelError
        If the leaves of the model cannot be edited, or not by this strategy.
    ValueError, TypeError
        If rows, labels or groups are not what they should be, or a parameter is not, or rows are Dask collections and
        there is no client; the message says what to do.
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
    FairnessPath.measure : The same path on other rows.

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
    >>> fair = path.model_at(choice)
    >>> type(fair).__name__
    'RandomForestClassifier'

    The same rows as collections of Dask, on a cluster that is started for them:

    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> X, y, s = (da.from_array(column, chunks=500) for column in (X, y, s))
    >>> with Client(processes=False, dashboard_address="127.0.0.1:0") as client:
    ...     elsewhere = trace_path(model, X[:1000], y[:1000], sensitive_features=s[:1000],
    ...                            select_on=(X[1000:], y[1000:], s[1000:]))
    >>> elsewhere.fingerprint == path.fingerprint
    True
    """
    comparison = Comparison(favorable, privileged, constraint, combine, min_group_rows, missing)
    tracing = Tracing(strategy, direction, monotone, memory_budget, n_jobs, verbose)
    given = [(y, sensitive_features), *([] if select_on is None else [check_select_on(select_on)[1:3]])]
    names = check_features(features, *given)
    model = to_local(model)
    known = find_features(model)
    scoring = read_rows(known, X, y, sensitive_features, sample_weight, features=names)
    return trace_rows(model, scoring, read_selection(known, select_on, names), comparison, tracing)


@dataclass(frozen=True)
class Tracing:
    """How a path is traced, beside what is compared; see `trace_path` for those that it has too.

    Attributes
    ----------
    strategy, direction, monotone, memory_budget, n_jobs, verbose
    trained_here : bool
        Whether the model was trained on the scoring rows, and on no others.
    one_table : bool
        Whether scoring and selection rows were drawn from one table.
    """

    strategy: str = AUTO
    direction: str = ANY
    monotone: Mapping[Any, int] | None = None
    memory_budget: float = MEMORY_BUDGET
    n_jobs: int | None = None
    verbose: int = 0
    trained_here: bool = False
    one_table: bool = False

    def __post_init__(self) -> None:
        check_n_jobs(self.n_jobs)
        if self.memory_budget != np.inf:
            check_number("memory_budget", self.memory_budget, at_least=0)
        check_choice("direction", self.direction, DIRECTIONS)

    def work_on(self, rows: Batches) -> dict[str, Any]:
        """What a pass over rows takes: its threads, and whether there is a bar."""
        return {"n_jobs": rows.threads(self.n_jobs), "verbose": self.verbose}


def trace_rows(
    model: Any, scoring: Batches, selection: Batches | None, comparison: Comparison | Compared, tracing: Tracing
) -> FairnessPath:
    """`trace_path` for rows in batches; what is compared may be known already, from more rows than these."""
    with say_compiling(tracing.verbose):
        return _trace(model, scoring, selection, comparison, tracing)


def _trace(
    model: Any, scoring: Batches, selection: Batches | None, comparison: Comparison | Compared, tracing: Tracing
) -> FairnessPath:
    view, compared, surveys = _resolve(model, scoring, selection, comparison, tracing)
    tracing = replace(tracing, n_jobs=view.jobs_for(tracing.n_jobs))
    # Views that are sent to where the rows are must not change on their way.
    stays = all(rows is None or rows.in_memory is not None for rows in (scoring, selection))
    fingerprint = start_beside(view.fingerprint, tracing.n_jobs if stays else 1)
    strategy = resolve_strategy(tracing.strategy, view, compared.constraint)
    scored, chosen_on = _place(view, compared, scoring, selection, surveys, tracing)
    constraint = compared.constraint.on_rows(scored.cells, chosen_on.cells, rows="the scoring or the selection rows")
    scored.check()
    chosen_on.check()

    # The first pass.
    training = Training.of(view)
    sampled = not STRATEGIES[strategy].flips
    counted = count_rows(view, scored, sampled=sampled, training=training, **tracing.work_on(scored.given))
    compared = _find_privileged(replace(compared, constraint=constraint), counted)
    constraint = compared.constraint

    order = _order(view, constraint, counted, scored, chosen_on, strategy, tracing)

    # The second pass.
    # Rows that scored leaves certify nothing, and need no parts for it.
    same_rows = chosen_on is scored
    in_parts = constraint.several and not same_rows
    work = tracing.work_on(chosen_on.given)
    measured = measure_rows(view, chosen_on, order, in_parts=in_parts, training=training, hashed=not same_rows, **work)
    hashes = counted.hashes if measured.hashes is None else measured.hashes
    counts, searched_counts = measured.path_counts(chosen_on.name, constraint)
    accuracy_counts = counts
    if surveys[-1].labels is None:
        steps = measure_rows(view, scored, order, hashed=False, **tracing.work_on(scored.given)).steps
        accuracy_counts = steps.path_counts(scored.name, constraint)

    if compared.label_sets is not None and not tracing.trained_here:
        check_not_inverted(
            accuracy_counts.favorable[0], accuracy_counts.totals, compared.label_sets, rows=accuracy_counts.rows
        )

    overlap = 1.0 if same_rows else hashes.overlap(counted.hashes)
    repeats = max(hashes.repeats, 1 if overlap else hashes.join(counted.hashes).repeats)
    in_others = None if same_rows else measured.in_tree
    trained = find_trained(
        training, counted.in_tree, in_others, on_scoring=tracing.trained_here, one_table=tracing.one_table
    )
    return FairnessPath(
        model=model,
        strategy=strategy,
        direction=tracing.direction,
        comparison=compared,
        order=order,
        leaf_counts=counted.leaves,
        counts=counts,
        accuracy_counts=accuracy_counts,
        searched_counts=searched_counts,
        model_fingerprint=fingerprint(),
        # Of rows that are repeated, some of the same people are on either side.
        trained=None if trained is False and (overlap or repeats > 1) else trained,
        overlap=overlap,
        repeats=repeats,
        rows_to_check=measured.rows_to_check,
        scored=counted.hashes,
        hashes=hashes,
    )


def _resolve(
    model: Any, scoring: Batches, selection: Batches | None, comparison: Comparison | Compared, tracing: Tracing
) -> tuple[EnsembleView, Compared, list[Survey]]:
    """The leaves of the model, what is compared, and what the scoring and the selection rows hold.

    Mistakes raise here, before anything is counted.
    """
    view = _view(model, comparison.favorable, tracing)
    asked = comparison if isinstance(comparison, Comparison) else Comparison(missing=comparison.groups.missing)
    given = [(scoring, SCORING)] if selection is None else [(scoring, SCORING), (selection, SELECTION)]
    surveys = []
    for rows, name in given:
        surveys.append(asked.survey(rows, rows=name, verbose=tracing.verbose))
        if surveys[0].labels is None:
            raise ValueError("y is missing; leaves are scored by the labels of their rows")
    compared = comparison
    if isinstance(compared, Comparison):
        compared = compared.resolve(view.classes.tolist(), *surveys)
    if not equal(compared.favorable, view.classes.tolist()[view.favorable]):
        view = view_ensemble(model, favorable=compared.favorable)
    if tracing.monotone is None:
        _ask_if_monotone(view, compared.groups.names)
    if compared.constraint.needs_labels and surveys[-1].labels is None:
        raise InputError(
            parameter("constraint")
            + f"={compared.constraint.name!r} compares people of one label, and the rows of select_on have no labels; "
            "give their y"
        )
    return view, compared, surveys


def _place(
    view: EnsembleView,
    compared: Compared,
    scoring: Batches,
    selection: Batches | None,
    surveys: list[Survey],
    tracing: Tracing,
) -> tuple[RowsInLeaves, RowsInLeaves]:
    """The scoring rows and the rows that steps are measured on, to be placed in their leaves when they are read."""
    coding, work = compared.coding, tracing.work_on(scoring)
    # They are kept, as far as there is room, where they will be needed again.
    budget = tracing.memory_budget if selection is None or surveys[-1].labels is None else 0
    placing = Placing(view, coding, surveys[0], SCORING_ROWS, SCORING, scoring.in_memory is not None, **work)
    scored = RowsInLeaves.of(scoring, placing, budget)
    if selection is None:
        return scored, scored
    work = tracing.work_on(selection)
    placing = Placing(view, coding, surveys[-1], SELECTION_ROWS, SELECTION, selection.in_memory is not None, **work)
    return scored, RowsInLeaves.of(selection, placing)


def _view(model: Any, favorable: Any, tracing: Tracing) -> EnsembleView:
    """The leaves of a model; raises, before rows are read, if they cannot be edited as is asked for."""
    check_strategy(tracing.strategy, find_view(model))
    classes = read_classes(model)
    # The labels of a table may be others than those of the model, and stand for its second.
    known = favorable is None or any(equal(favorable, label) for label in classes)
    view = view_ensemble(model, favorable=favorable if known else classes[1])
    if tracing.monotone is not None:
        _refuse_monotone(model, read_monotone(tracing.monotone, view.feature_names))
    return view


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
    words = [
        f"{name!r} ({'rising' if sign > 0 else 'falling'})" for name, sign in list(constrained.items())[:SHOWN_VALUES]
    ]
    more = len(constrained) - len(words)
    return ", ".join(words) + (f" and {more} more" if more else "")


def _order(
    view: EnsembleView,
    constraint: Constraint,
    counted: Counted,
    scored: RowsInLeaves,
    chosen_on: RowsInLeaves,
    strategy: str,
    tracing: Tracing,
) -> EditOrder:
    """All edits, in their order, and the steps at which they are measured."""
    draw = cache(partial(scored.sample, counted.leaves.totals, counted.lowest))
    order = STRATEGIES[strategy].order(
        view,
        scored,
        counted.leaves,
        constraint,
        direction=tracing.direction,
        draw=draw,
        draw_selection_sample=None if chosen_on is scored else chosen_on.sample_searched,
        n_jobs=tracing.n_jobs,
    )
    if not STRATEGIES[strategy].flips:
        whole: PlacedRows | None = chosen_on.placed.in_memory
        shown = draw() if whole is None else whole
        order = order.on_rows(view, shown, some=whole is None, n_jobs=tracing.n_jobs)
        order.review(view, shown, constraint)
    return order


def check_not_inverted(favorable: np.ndarray, totals: np.ndarray, sets: LabelSets, *, rows: str) -> None:
    """Raise if an original model decides against the labels that were said to stand for its 1.

    Parameters
    ----------
    favorable, totals : ndarray of shape (n_groups, n_labels)
        Rows decided favourably, and all of them.
    sets : LabelSets
        The labels that stand for 1, and the others.
    rows : str
        What these rows are called.
    """
    agreement = float(balanced_accuracy(favorable, totals))
    if agreement < 0.5:
        good, bad = (listed(labels) for labels in sets)
        raise InputError(
            parameter("favorable")
            + f"={good} is taken as what the model's 1 stands for, and the model then decides against the "
            f"labels (balanced accuracy {agreement:.2f} on the {rows}). If its 1 stands for {bad}, name that; "
            f"if {good} is the good outcome all the same, " + wording("recode", "pass y as 0 and 1 and favorable=0")
        )


def _find_privileged(compared: Compared, counted: Counted) -> Compared:
    """The same with the privileged of two groups: the one that was named, else, of one rate, whom the model favours."""
    groups = compared.groups
    named = groups.privileged[0] if len(groups) == 2 else None
    if named is not None and (compared.constraint.find_advantage(counted.favorable, counted.leaves.totals) < 0).all():
        warn_caller(
            parameter("privileged")
            + f"={groups[named]!r}, but the model favours {groups[1 - named]!r} on the scoring rows, and flips "
            "will favour it still more; leave privileged out to lower the discrimination that there is",
            PrivilegedGroupWarning,
        )
    return compared.name_favored(counted.favorable, counted.leaves.totals)
