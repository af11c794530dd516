"""trace_path: model and rows -> leaf counts -> order of edits -> path."""

from typing import Any

import numpy as np
from sklearn.utils import indexable

from eifffel import metrics
from eifffel._validation import (
    Coding,
    Rows,
    check_choice,
    check_groups,
    check_n_jobs,
    check_privileged,
    check_select_on,
    check_table,
)
from eifffel.ensembles import EnsembleView, view_ensemble
from eifffel.exceptions import PrivilegedGroupWarning, warn_caller
from eifffel.leaves import PlacedRows, count_leaves
from eifffel.path import FairnessPath, measure_rows
from eifffel.strategies import ANY, AUTO, DIRECTIONS, STRATEGIES, resolve_strategy


def trace_path(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    strategy: str = AUTO,
    direction: str = ANY,
    select_on: tuple[Any, ...] | None = None,
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
        The scoring rows: features, labels, and the group of each row (two values).
    strategy : {"auto", "leaf", "tree", "shift"}
        Flip one leaf at a time (EiFFFeL-LF) or all candidate leaves of a tree at once (EiFFFeL-TF), where leaves vote;
        or shift all leaves together. ``"auto"`` is leaf for averaged trees and shift for boosted ones.
    direction : {"any", "up"}
        ``"up"`` only turns unfavourable decisions into favourable ones: nobody loses by it, and it costs more accuracy.
    select_on : tuple (X, y, sensitive_features) or (X, y, sensitive_features, sample_weight), optional
        The selection rows, on which each step is measured: rows that the model was not trained on, or the bound says
        little of other people. ``y`` may be ``None``: accuracy is then measured on the scoring rows. By default the
        scoring rows, as in the paper; selecting a step then warns.
    privileged : group, optional
        The privileged group; by default the one that the model favours on the scoring rows.
    favorable : label, optional
        The favourable class; by default the larger of 0/1, -1/1 or booleans.
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
    check_n_jobs(n_jobs)
    view = view_ensemble(model, favorable=favorable)
    strategy = resolve_strategy(strategy, view)
    check_choice("direction", direction, DIRECTIONS)
    check_table(X)
    (X,) = indexable(X)
    groups = check_groups(sensitive_features)
    given = check_privileged(groups, privileged)
    if y is None:
        raise ValueError("y is missing; leaves are scored by the labels of their rows")
    coding = Coding(view.classes, view.favorable, groups)
    scoring = coding.encode(X, y, sensitive_features, sample_weight, rows="the scoring rows")
    scoring_X = view.check_rows(X)
    selection, select_X, selection_X = scoring, X, scoring_X
    if select_on is not None:
        select_X, *select_rest = check_select_on(select_on)
        check_table(select_X)
        (select_X,) = indexable(select_X)
        selection = coding.encode(select_X, *select_rest, rows="the rows of select_on")
        selection_X = view.check_rows(select_X)

    work: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose}
    scoring_index = view.apply(scoring_X, **work)
    view.verify(X, scoring_index)
    advantage = _advantage(view, scoring_index, X, scoring, n_jobs)
    if given is None:
        given = int(advantage > 0)
    elif advantage * (1 if given == 1 else -1) < 0:
        warn_caller(
            f"privileged={privileged!r}, but the model favours {groups[1 - given]!r} on the scoring rows, and flips "
            "will favour it still more; leave privileged out to lower the discrimination that there is",
            PrivilegedGroupWarning,
        )
    if given == 0:  # code 1 is the privileged group from here on
        groups = groups[::-1]
        scoring, selection = scoring.swap_groups(), selection.swap_groups()

    scored = PlacedRows(X, scoring_index, scoring, "scoring rows")
    counts = count_leaves(view, scored, **work)
    edits = STRATEGIES[strategy].order(view, scored, counts, direction=direction, **work)
    chosen_on = scored
    if select_on is not None:
        chosen_on = PlacedRows(select_X, view.apply(selection_X, **work), selection, "selection rows")
    order = edits.on_rows(view, chosen_on.index, n_jobs=n_jobs)
    order.review(view, chosen_on)
    path_counts, at_hand = measure_rows(view, chosen_on, order, **work)
    accuracy_counts = path_counts
    if selection.label is None:
        accuracy_counts, _ = measure_rows(view, scored, order, **work)
    return FairnessPath(
        model=model,
        strategy=strategy,
        direction=direction,
        groups=(groups[0], groups[1]),
        favorable=view.classes.tolist()[view.favorable],
        order=order,
        leaf_counts=counts,
        counts=path_counts,
        accuracy_counts=accuracy_counts,
        fingerprint=view.fingerprint(),
        at_hand=at_hand,
        scored=X,
        known=True if select_on is None else None,
    )


def _advantage(view: EnsembleView, index: np.ndarray, X: Any, rows: Rows, n_jobs: int | None) -> float:
    """The selection rate of group 1 minus that of group 0 under the model as it came."""
    decided = view.decide(index, X, n_jobs=n_jobs)
    chosen, totals = rows.in_weight(rows.weigh_cells(decided)), rows.in_weight(rows.weigh_cells())
    return float(metrics.discrimination(chosen, totals))
