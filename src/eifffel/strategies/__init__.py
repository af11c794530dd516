"""Strategies: leaf scores -> order of flips. One file each, one entry in `STRATEGIES`."""

from collections.abc import Callable

from eifffel.scoring import LeafScores
from eifffel.strategies._base import FlipOrder
from eifffel.strategies._leaf import order_leaves
from eifffel.strategies._tree import order_trees

STRATEGIES: dict[str, Callable[[LeafScores], FlipOrder]] = {
    "leaf": order_leaves,
    "tree": order_trees,
}

__all__ = ["STRATEGIES", "FlipOrder", "order_leaves", "order_trees"]
