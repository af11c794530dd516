"""Monotone models: constraints that are named, and features on which the leaves look as if they had been constrained.

A feature is *ordered* if, of every two leaves of a tree that overlap in all other features, the one that lies lower on
it never has the larger value, or never the smaller. Constrained features are; others are by chance, where trees are few
and small.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from eifffel._utils.validation import listed
from eifffel.exceptions import InputError, InputTypeError, parameter

# Pairs of leaves that are compared at once.
LEAF_PAIRS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class LeafBoxes:
    """The leaves of a tree as boxes.

    Attributes
    ----------
    value : ndarray of shape (n_leaves,)
    limits : dict
        For each feature that numbers are split on, the lower and upper limit of each leaf, shape (2, n_leaves).
    categories : dict
        For each feature that categories are split on, which of those that splits name, and of all others as the last,
        each leaf has, shape (n_leaves, n_categories + 1).
    """

    value: np.ndarray
    limits: dict[int, np.ndarray]
    categories: dict[int, np.ndarray]


def find_ordered(trees: Iterable[LeafBoxes]) -> dict[int, int]:
    """The features on which all trees are ordered: 1 where they rise along it, -1 where they fall.

    Those on which nothing ever rises or falls are none, nor are those that are split at one place only, as columns of
    two values are. Trees of a single split are always ordered; where there are no others, no feature is.
    """
    rises: dict[int, bool] = {}
    falls: dict[int, bool] = {}
    places: dict[int, set[float]] = {}
    deep = False
    for tree in trees:
        deep |= len(tree.value) > 2
        for feature, limits in tree.limits.items():
            places.setdefault(feature, set()).update(limits[np.isfinite(limits)].tolist())
        # What rises somewhere and falls elsewhere is not looked at again.
        undecided = [feature for feature in tree.limits if not (rises.get(feature) and falls.get(feature))]
        for feature, more, less in _compare_leaves(tree, undecided):
            rises[feature] = rises.get(feature, False) or more
            falls[feature] = falls.get(feature, False) or less
    return {
        feature: 1 if rises[feature] else -1
        for feature in sorted(rises)
        if deep and rises[feature] != falls[feature] and len(places[feature]) > 1
    }


def _compare_leaves(tree: LeafBoxes, features: list[int]) -> Iterator[tuple[int, bool, bool]]:
    """For each feature, whether values rise, and whether they fall, between leaves that lie apart on it only."""
    n = len(tree.value)
    size = max(1, LEAF_PAIRS_AT_ONCE // n)
    for part in (slice(start, start + size) for start in range(0, n if features else 0, size)):
        n_apart = np.zeros((len(tree.value[part]), n), np.int16)
        for low, high in tree.limits.values():
            n_apart += (high[part, None] <= low) | (high <= low[part, None])
        for has in tree.categories.values():
            n_apart += has[part].astype(np.float32) @ has.T.astype(np.float32) == 0
        rises, falls = (tree.value[part, None] < tree.value), (tree.value[part, None] > tree.value)
        for feature in features:
            low, high = tree.limits[feature]
            pair = (n_apart == 1) & (high[part, None] <= low)  # the first lies lower, and only on this feature
            yield feature, bool((pair & rises).any()), bool((pair & falls).any())


def read_monotone(monotone: Any, names: list[str]) -> dict[str, int]:
    """The features that are said to be constrained, by name, with 1 or -1; raises if that cannot be.

    ``names`` are those of all features.
    """
    if not isinstance(monotone, Mapping):
        raise InputTypeError(
            parameter("monotone")
            + " must be None or a dict of features with 1 (rising), -1 (falling) or 0, such as {'arrears': -1}, "
            f"and {{}} if no feature is constrained; got {monotone!r} of type {type(monotone).__name__}"
        )
    constrained = {}
    for feature, sign in monotone.items():
        place = int(feature) if isinstance(feature, Integral) and not isinstance(feature, bool) else None
        if feature not in names and (place is None or not 0 <= place < len(names)):
            raise InputError(
                parameter("monotone") + f" names {feature!r}, not among the features of the model, {listed(names)}"
            )
        if isinstance(sign, bool) or sign not in (-1, 0, 1):
            raise InputError(
                parameter("monotone") + f" must have 1, -1 or 0 for each feature, got {sign!r} for {feature!r}"
            )
        if sign:
            constrained[str(feature) if place is None else names[place]] = int(sign)
    return constrained
