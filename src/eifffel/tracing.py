"""trace_path: model and rows -> leaf counts -> order of edits -> path."""

from typing import Any

import numpy as np
from sklearn.utils import indexable

from eifffel._validation import (
    check_choice,
    check_n_jobs,
    check_select_on,
    check_table,
    find_label_sets,
    split_favorable,
)
from eifffel.coding import Coding, Rows
from eifffel.constraints import DEMOGRAPHIC_PARITY, MIN_GROUP_ROWS, Constraint, make_constraint
from eifffel.counts import PathCounts
from eifffel.ensembles import EnsembleView, view_ensemble
from eifffel.exceptions import PrivilegedGroupWarning, warn_caller
from eifffel.groups import EACH, ERROR, Groups, read_groups
from eifffel.leaves import PlacedRows, count_leaves
from eifffel.measuring import measure_rows
from eifffel.path import FairnessPath
from eifffel.strategies import ANY, AUTO, DIRECTIONS, STRATEGIES, resolve_strategy


def trace_path(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
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
    sample_weight: Any = None,
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
        The scoring rows: features, labels, and the group of each row. Several attributes are a data frame, or a dict of
        columns.
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
        scoring rows, as in the paper; selecting a step then warns.
    keep_apart : bool
        Where a shift is to bound several differences: let half of the selection rows have no part in how they are
        weighed, so that these can be asked for ``confidence``. Otherwise all have, and it needs other rows still.
    privileged : group, optional
        The privileged group, which all others are compared with; a dict of them by attribute where there are several.
        By default, of two groups the one that the model favours on the scoring rows; of more, and of both rates of
        equalized odds, none: the largest difference between any two is bounded.
    favorable : label or set of labels, optional
        The favourable class; by default the larger of 0/1, -1/1 or booleans. A set makes ``y`` of several labels
        binary, for a model that was trained on 0 and 1, where 1 stands for those in the set.
    sample_weight : array-like of shape (n_rows,), optional
        Weights count the scoring rows.
    n_jobs : int, optional
        Threads for the passes over rows.
    verbose : int
        Above 0, a progress bar appears on work over a second.

    Returns
    -------
    FairnessPath

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
    also = None if select_on is None else check_select_on(select_on)[2]
    groups = read_groups(sensitive_features, combine=combine, missing=missing, privileged=privileged, also=also)
    return trace_groups(
        model,
        X,
        y,
        sensitive_features=sensitive_features,
        groups=groups,
        strategy=strategy,
        direction=direction,
        constraint=constraint,
        min_group_rows=min_group_rows,
        select_on=select_on,
        keep_apart=keep_apart,
        favorable=favorable,
        sample_weight=sample_weight,
        n_jobs=n_jobs,
        verbose=verbose,
    )


def trace_groups(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    groups: Groups,
    strategy: str = AUTO,
    direction: str = ANY,
    constraint: str = DEMOGRAPHIC_PARITY,
    min_group_rows: int = MIN_GROUP_ROWS,
    select_on: tuple[Any, ...] | None = None,
    keep_apart: bool = False,
    favorable: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> FairnessPath:
    """`trace_path` for groups that are known beforehand, whether or not all are among the scoring rows."""
    check_n_jobs(n_jobs)
    favorable, good = split_favorable(favorable, y)
    view = view_ensemble(model, favorable=favorable)
    resolve_strategy(strategy, view)
    check_choice("direction", direction, DIRECTIONS)
    check_table(X)
    (X,) = indexable(X)
    if select_on is not None:
        select_X, *select_rest = check_select_on(select_on)
        check_table(select_X)
        (select_X,) = indexable(select_X)
    asked = make_constraint(constraint, groups, min_group_rows=min_group_rows)
    if y is None:
        raise ValueError("y is missing; leaves are scored by the labels of their rows")
    also = None if select_on is None else select_rest[0]
    label_sets = None if good is None else find_label_sets("y", y, good, also)
    coding = Coding(view.classes, view.favorable, groups, label_sets)
    scoring = coding.encode(X, y, sensitive_features, sample_weight, rows="the scoring rows")
    scoring_X = view.check_rows(X)
    selection = scoring
    if select_on is not None:
        selection = coding.encode(select_X, *select_rest, rows="the rows of select_on")
        selection_X = view.check_rows(select_X)
        if asked.needs_labels and selection.label is None:
            raise ValueError(
                f"constraint={constraint!r} compares people of one label, and the rows of select_on have no labels; "
                "give their y"
            )
    asked = asked.on_rows(scoring.count_cells(), selection.count_cells(), rows="the scoring or the selection rows")

    work: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose}
    scoring_index = view.apply(scoring_X, **work)
    view.verify(X, scoring_index)
    if len(groups) == 2:
        given = groups.privileged[0]
        advantage = _advantage(view, scoring_index, X, scoring, asked, n_jobs)
        if given is not None and (advantage * (1 if given == 1 else -1) < 0).all():
            warn_caller(
                f"privileged={groups[given]!r}, but the model favours {groups[1 - given]!r} on the scoring rows, and "
                "flips will favour it still more; leave privileged out to lower the discrimination that there is",
                PrivilegedGroupWarning,
            )
        if given is None and len(asked.names) == 2:
            given = int(advantage[0] > 0)
        if given is not None:  # code 1 is the privileged group from here on
            groups = groups.privileged_last(given)
            if given == 0:
                scoring, selection = scoring.swap_groups(), selection.swap_groups()
            asked = make_constraint(constraint, groups, min_group_rows=min_group_rows)

    scored = PlacedRows(X, scoring_index, scoring, "scoring rows")
    counts = count_leaves(view, scored, **work)
    chosen_on = scored
    if select_on is not None:
        chosen_on = PlacedRows(select_X, view.apply(selection_X, **work), selection, "selection rows")
    strategy = resolve_strategy(strategy, view, asked)
    ahead = None if select_on is None else chosen_on
    edits = STRATEGIES[strategy].order(
        view, scored, counts, asked, direction=direction, ahead=ahead, keep_apart=keep_apart, **work
    )
    order_of_edits = edits.on_rows(view, chosen_on.index, n_jobs=n_jobs)
    order_of_edits.review(view, chosen_on)
    path_counts, at_hand = measure_rows(view, chosen_on, order_of_edits, asked, **work)
    certain_counts: PathCounts | None = path_counts
    if ahead is not None and edits.fits_ahead:
        certain_counts = None
        if keep_apart:
            others = ahead.take(np.flatnonzero(~selection.halve()), "selection rows kept apart")
            certain_counts, _ = measure_rows(view, others, order_of_edits, asked, **work)
    accuracy_counts = path_counts
    if selection.label is None:
        accuracy_counts, _ = measure_rows(view, scored, order_of_edits, asked, **work)
    return FairnessPath(
        model=model,
        strategy=strategy,
        direction=direction,
        grouping=groups,
        constraint=asked,
        favorable=view.classes.tolist()[view.favorable],
        label_sets=label_sets,
        order=order_of_edits,
        leaf_counts=counts,
        counts=path_counts,
        accuracy_counts=accuracy_counts,
        certain_counts=certain_counts,
        fingerprint=view.fingerprint(),
        at_hand=at_hand,
        scored=X,
        known=True if select_on is None else None,
    )


def _advantage(
    view: EnsembleView, index: np.ndarray, X: Any, rows: Rows, constraint: Constraint, n_jobs: int | None
) -> np.ndarray:
    """Under the model as it came, the rate of the second of two groups minus that of the first, of each that counts.

    Up to a positive factor.
    """
    decided = view.decide(index, X, n_jobs=n_jobs)
    chosen = constraint.count_sides(rows.in_weight(rows.weigh_cells(decided)))
    totals = constraint.count_sides(rows.in_weight(rows.weigh_cells()))
    return chosen[1::2] * totals[0::2] - chosen[0::2] * totals[1::2]
