"""Strategies: rows in their leaves -> order of edits. One file each, one entry in `STRATEGIES`.

To write one that flips leaves in another order, give a function of `LeafScores` to `by_score`; for another kind of
edit, derive a class from `EditOrder`, and `Strategy` says what is given to the function that makes it. Under a name in
`STRATEGIES`, `eifffel.trace_path` takes it as ``strategy``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from eifffel._utils.validation import check_choice
from eifffel.constraints import Constraint
from eifffel.ensembles import AveragedView, EnsembleView
from eifffel.exceptions import UnsupportedModelError, parameter
from eifffel.leaves.counting import LeafCounts
from eifffel.leaves.placing import PlacedRows, RowsInLeaves
from eifffel.leaves.scoring import LeafScores, TreeFlips, label_weights, score_leaves
from eifffel.strategies._base import ANY, DIRECTIONS, UP, EditOrder
from eifffel.strategies._curve import ShiftOrder
from eifffel.strategies._flips import FlipOrder, make_order
from eifffel.strategies._leaf import order_leaves
from eifffel.strategies._shift import order_shift
from eifffel.strategies._tree import order_trees

AUTO = "auto"


@dataclass(frozen=True)
class Strategy:
    """How leaves are edited.

    Attributes
    ----------
    order : callable
        ``order(view, scored, counts, constraint, *, direction, draw, draw_selection_sample, n_jobs)`` gives an
        `EditOrder`, where

        - ``view``, an `EnsembleView`, is the model;
        - ``scored``, `RowsInLeaves`, are the scoring rows in their leaves, and ``counts``, `LeafCounts`, how many of
          each group and label are in each leaf;
        - ``constraint``, a `Constraint`, is what is to be bounded, and ``direction`` which way decisions may change;
        - ``draw()`` draws a sample of the scoring rows, as `PlacedRows`, and ``draw_selection_sample()`` one of the
          rows that steps will be measured on, of the part that certifies nothing; the latter is ``None`` where these
          are the same.
    flips : bool
        Whether leaves are flipped, which only leaves that vote can be.

    Examples
    --------
    All that ``"leaf"`` flips, in a single step:

    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import trace_path
    >>> from eifffel.strategies import STRATEGIES, Strategy
    >>> def order_at_once(*given, **options):
    ...     order = STRATEGIES["leaf"].order(*given, **options)
    ...     return replace(order, step=np.ones_like(order.step))
    >>> STRATEGIES["once"] = Strategy(order_at_once, flips=True)
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> tree = DecisionTreeClassifier().fit(age, paid)
    >>> trace_path(tree, age, paid, sensitive_features=sex, strategy="once").discrimination.tolist()
    [0.5, -0.5]
    >>> del STRATEGIES["once"]
    """

    order: Callable[..., EditOrder]
    flips: bool


def by_score(order: Callable[..., FlipOrder]) -> Strategy:
    """Make a strategy that sees only the scores of the leaves.

    It works with any number of groups, with every constraint, and upwards only.

    Parameters
    ----------
    order : callable
        ``order(scores, *, n_jobs) -> FlipOrder``, where ``scores`` are `LeafScores`: what flipping each leaf would
        change. ``scores.order_trees`` has the flips of each tree, and `make_order` puts them in an order.

    Returns
    -------
    Strategy

    Examples
    --------
    The best leaf first, in whatever tree it is:

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import trace_path
    >>> from eifffel.strategies import STRATEGIES, by_score, make_order
    >>> def order_best_first(scores, *, n_jobs=None):
    ...     trees = scores.order_trees(one_by_one=True, n_jobs=n_jobs)
    ...     score = np.concatenate([tree.score for tree in trees])
    ...     return make_order(scores, trees, np.argsort(-score, kind="stable"))
    >>> STRATEGIES["best first"] = by_score(order_best_first)
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> tree = DecisionTreeClassifier().fit(age, paid)
    >>> trace_path(tree, age, paid, sensitive_features=sex, strategy="best first").discrimination.tolist()
    [0.5, 0.0, -0.5]
    >>> del STRATEGIES["best first"]
    """

    def order_flips(
        view: EnsembleView,
        scored: RowsInLeaves,
        counts: LeafCounts,
        constraint: Constraint,
        *,
        direction: str = ANY,
        n_jobs: int | None = None,
        **others: Any,
    ) -> FlipOrder:
        view = cast(AveragedView, view)
        n_rows_of_label = scored.cells.sum(axis=0)
        # A leaf that decides unfavourably is raised by its flip, and with it every row in it.
        flippable = view.flippable & ~view.leaf_favorable if direction == UP else view.flippable
        label_weight = label_weights(view.class_weight, n_rows_of_label)
        return order(score_leaves(view, counts, constraint, label_weight, flippable), n_jobs=n_jobs)

    return Strategy(order_flips, flips=True)


def _by_sample(
    view: EnsembleView,
    scored: RowsInLeaves,
    counts: LeafCounts,
    constraint: Constraint,
    *,
    draw: Callable[[], PlacedRows],
    draw_selection_sample: Callable[[], PlacedRows | None] | None = None,
    **others: Any,
) -> ShiftOrder:
    """Fit the direction of a shift to a sample of the rows, which is enough."""
    several = len(constraint.pairs) > 1
    selection_sample = draw_selection_sample() if several and draw_selection_sample is not None else None
    return order_shift(view, draw(), constraint, selection_sample=selection_sample, **others)


STRATEGIES: dict[str, Strategy] = {
    "leaf": by_score(order_leaves),
    "tree": by_score(order_trees),
    "shift": Strategy(_by_sample, flips=False),
}
"""The strategies by name, which `eifffel.trace_path` takes; one more entry, and it takes that too."""

__all__ = [
    "ANY",
    "AUTO",
    "DIRECTIONS",
    "STRATEGIES",
    "UP",
    "EditOrder",
    "FlipOrder",
    "LeafScores",
    "ShiftOrder",
    "Strategy",
    "TreeFlips",
    "by_score",
    "make_order",
    "order_leaves",
    "order_shift",
    "order_trees",
]


def check_strategy(strategy: str, view: EnsembleView | type[EnsembleView]) -> None:
    """Raise if a strategy is not known, or an ensemble cannot be edited by it.

    Parameters
    ----------
    strategy : str
        ``"auto"``, or a name in `STRATEGIES`.
    view : EnsembleView, or a class of them
        The model; where it is not yet fitted, the class of its view.

    Raises
    ------
    ValueError
        If the name is not known.
    UnsupportedModelError
        If the ensemble cannot be edited in this way.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel.ensembles import find_view
    >>> from eifffel.strategies import check_strategy
    >>> check_strategy("leaf", find_view(RandomForestClassifier()))
    """
    check_choice("strategy", strategy, [AUTO, *STRATEGIES])
    if strategy == AUTO:
        return
    if STRATEGIES[strategy].flips and not view.votes:
        raise UnsupportedModelError(
            parameter("strategy")
            + f"={strategy!r} flips leaves, and those of a boosted ensemble are corrections to the trees before "
            "them, not votes: flipped, they spoil its decisions. Use "
            + parameter("strategy")
            + "='shift', or 'auto', which is shift here"
        )
    if strategy == "shift" and isinstance(view, EnsembleView) and view.unshiftable:
        raise UnsupportedModelError(parameter("strategy") + "='shift' moves every leaf, and " + view.unshiftable)


def resolve_strategy(strategy: str, view: EnsembleView, constraint: Constraint) -> str:
    """The strategy that edits a model: ``"auto"`` is leaf where leaves vote and one difference is bounded, else shift.

    Parameters
    ----------
    strategy : str
        ``"auto"``, or a name in `STRATEGIES`.
    view : EnsembleView
        The model.
    constraint : Constraint
        What is to be bounded.

    Returns
    -------
    str
        A name in `STRATEGIES`.

    Raises
    ------
    ValueError, UnsupportedModelError
        As in `check_strategy`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import view_ensemble
    >>> from eifffel.constraints import make_constraint
    >>> from eifffel.rows.groups import read_groups
    >>> from eifffel.strategies import resolve_strategy
    >>> view = view_ensemble(DecisionTreeClassifier().fit([[20], [30], [40], [50]], [0, 1, 1, 1]))
    >>> bounded = [make_constraint("demographic_parity", read_groups(list(groups))) for groups in ("fm", "fmx")]
    >>> [resolve_strategy("auto", view, constraint) for constraint in bounded]
    ['leaf', 'shift']
    """
    check_strategy(strategy, view)
    if strategy != AUTO:
        return strategy
    return "leaf" if view.votes and (view.unshiftable or not constraint.several) else "shift"
