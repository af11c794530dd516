"""Strategies: rows in their leaves -> order of edits. One file each, one entry in `STRATEGIES`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from eifffel._validation import check_choice
from eifffel.ensembles import EnsembleView
from eifffel.ensembles._averaged import AveragedView
from eifffel.exceptions import UnsupportedModelError
from eifffel.leaves import LeafCounts, PlacedRows
from eifffel.scoring import LeafScores, label_weights, score_leaves
from eifffel.strategies._base import ANY, DIRECTIONS, UP, EditOrder
from eifffel.strategies._flips import FlipOrder
from eifffel.strategies._leaf import order_leaves
from eifffel.strategies._shift import ShiftOrder, order_shift
from eifffel.strategies._tree import order_trees

AUTO = "auto"


@dataclass(frozen=True)
class Strategy:
    """How leaves are edited.

    Attributes
    ----------
    order : callable
        View, scoring rows in their leaves, their counts and a direction -> `EditOrder`.
    flips : bool
        Whether leaves are flipped, which only leaves that vote can be.
    """

    order: Callable[..., EditOrder]
    flips: bool


def _by_score(order: Callable[[LeafScores], FlipOrder]) -> Strategy:
    """A strategy that sees nothing but the scores of the leaves."""

    def order_flips(
        view: EnsembleView, placed: PlacedRows, counts: LeafCounts, *, direction: str = ANY, **work: Any
    ) -> FlipOrder:
        view = cast(AveragedView, view)
        n_rows_of_label = np.bincount(placed.rows.cell % 2, minlength=2)
        # A leaf that decides unfavourably is raised by its flip, and with it every row in it.
        flippable = view.flippable & ~view.leaf_favorable if direction == UP else view.flippable
        return order(score_leaves(view, counts, label_weights(view.class_weight, n_rows_of_label), flippable))

    return Strategy(order_flips, flips=True)


STRATEGIES: dict[str, Strategy] = {
    "leaf": _by_score(order_leaves),
    "tree": _by_score(order_trees),
    "shift": Strategy(order_shift, flips=False),
}

__all__ = [
    "ANY",
    "AUTO",
    "DIRECTIONS",
    "STRATEGIES",
    "UP",
    "EditOrder",
    "FlipOrder",
    "ShiftOrder",
    "order_leaves",
    "order_shift",
    "order_trees",
    "resolve_strategy",
]


def resolve_strategy(strategy: str, view: EnsembleView | type[EnsembleView]) -> str:
    """The strategy by its name: ``"auto"`` is leaf where leaves vote and shift where they do not.

    Raises if the ensemble cannot be edited in this way.
    """
    check_choice("strategy", strategy, [AUTO, *STRATEGIES])
    if strategy == AUTO:
        return "leaf" if view.votes else "shift"
    if STRATEGIES[strategy].flips and not view.votes:
        raise UnsupportedModelError(
            f"strategy={strategy!r} flips leaves, and those of a boosted ensemble are corrections to the trees before "
            "them, not votes: flipped, they spoil its decisions. Use strategy='shift', or 'auto', which is shift here"
        )
    if strategy == "shift" and isinstance(view, EnsembleView) and not view.shiftable:
        raise UnsupportedModelError(
            "strategy='shift' moves every leaf, and a tree of it saw rows of one class only and cannot hold another "
            "fraction; use strategy='leaf', or train with larger samples"
        )
    return strategy
