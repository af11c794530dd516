"""A leaf as a sentence: the conjunction of the splits that lead to it, bounds merged per feature."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils.validation import _num_samples

from eifffel.ensembles import EnsembleView, TreeStructure


@dataclass(frozen=True)
class Bound:
    """What a rule asks of one feature: ``low < value <= high``, or a missing value where ``missing``.

    Values are compared as float32, the type in which scikit-learn's trees see them.
    """

    feature: int
    name: str
    low: float
    high: float
    missing: bool

    def __str__(self) -> str:
        if self.low == np.inf or self.low >= self.high:
            return f"{self.name} is missing"
        if self.low == -np.inf and self.high == np.inf:
            return f"{self.name} is anything" if self.missing else f"{self.name} is not missing"
        low = "" if self.low == -np.inf else f"{_short(self.low)} < "
        high = "" if self.high == np.inf else f" <= {_short(self.high)}"
        text = f"{self.name} > {_short(self.low)}" if not high else f"{low}{self.name}{high}"
        return f"({text} or missing)" if self.missing else f"{text} (not missing)"

    def matches(self, X: Any) -> np.ndarray:
        """Whether each row of ``X`` meets the bound."""
        # The value is rounded to float32, the threshold is not.
        value = _column(X, self.feature, self.name).astype(np.float32).astype(np.float64)
        inside = (value > self.low) & (value <= self.high)
        return np.where(np.isnan(value), self.missing, inside)


@dataclass(frozen=True)
class Rule:
    """One changed leaf of one tree as a conjunction; ``str(rule)`` reads it aloud.

    Attributes
    ----------
    tree, leaf : int
        The leaf by its node id.
    bounds : tuple of Bound
    becomes : str
        What the leaf votes for after a flip, ``"favorable"`` or ``"unfavorable"``; or by how much a shift makes it
        more or less favorable.
    """

    tree: int
    leaf: int
    bounds: tuple[Bound, ...]
    becomes: str

    def __str__(self) -> str:
        conjunction = " and ".join(str(bound) for bound in self.bounds) if self.bounds else "every row"
        return f"{conjunction}: becomes {self.becomes}"

    def matches(self, X: Any) -> np.ndarray:
        """Whether each row of ``X``, an array, a sparse matrix or a frame, falls into the leaf."""
        inside = np.ones(_num_samples(X), bool)
        for bound in self.bounds:
            inside &= bound.matches(X)
        return inside


def read_rules(
    view: EnsembleView, leaves: np.ndarray, becomes: Sequence[str], feature_names: Sequence[str]
) -> list[Rule]:
    """The rules of ``leaves``, numbered over the ensemble, in the order given."""
    trees = view.leaf_tree[leaves]
    structures = {int(t): view.structure(int(t)) for t in np.unique(trees)}
    parents = {t: _parents(structure) for t, structure in structures.items()}
    rules = []
    for t, leaf, outcome in zip(trees.tolist(), leaves.tolist(), becomes, strict=True):
        node = int(view.leaf_node[leaf])
        bounds = tuple(_bounds(structures[t], parents[t], node, feature_names))
        rules.append(Rule(t, node, bounds, outcome))
    return rules


def _parents(structure: TreeStructure) -> np.ndarray:
    parent = np.full(len(structure.left), -1)
    inner = np.flatnonzero(structure.left != -1)
    parent[structure.left[inner]] = inner
    parent[structure.right[inner]] = inner
    return parent


def _bounds(structure: TreeStructure, parent: np.ndarray, node: int, feature_names: Sequence[str]) -> Iterator[Bound]:
    low: dict[int, float] = {}
    high: dict[int, float] = {}
    missing: dict[int, bool] = {}
    while parent[node] != -1:
        above = int(parent[node])
        feature = int(structure.feature[above])
        threshold = float(structure.threshold[above])
        goes_left = bool(structure.left[above] == node)
        if goes_left:
            high[feature] = min(high.get(feature, np.inf), threshold)
        else:
            low[feature] = max(low.get(feature, -np.inf), threshold)
        missing[feature] = missing.get(feature, True) and bool(structure.missing_left[above]) == goes_left
        node = above
    for feature in sorted(missing):
        yield Bound(
            feature,
            feature_names[feature],
            low.get(feature, -np.inf),
            high.get(feature, np.inf),
            missing[feature],
        )


def _column(X: Any, feature: int, name: str) -> np.ndarray:
    """One column: of a frame by its name where it has that, else by its place."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[name if name in frame.columns else frame.columns[feature]].to_numpy()
    if hasattr(X, "tocsc"):
        return X.tocsc()[:, [feature]].toarray()[:, 0]
    return np.asarray(X)[:, feature]


def _short(threshold: float) -> str:
    """The shortest text, from seven digits on, that parts all float32 values as the threshold does."""
    below = np.float32(threshold)
    if float(below) > threshold:
        below = np.nextafter(below, np.float32(-np.inf))
    above = float(np.nextafter(below, np.float32(np.inf)))
    texts = (f"{threshold:.{digits}g}" for digits in range(7, 18))
    return next(text for text in texts if float(below) <= float(text) < above)
