"""A leaf as a sentence: the conjunction of the splits that lead to it, conditions merged per feature."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils.validation import _num_samples

from eifffel.ensembles import INFREQUENT, Column, EnsembleView
from eifffel.ensembles.trees import TreeTable
from eifffel.exceptions import UnsupportedModelError

# Values that a rule does not allow, in brief.
LISTED = 4


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one feature: ``low < value <= high``, or a missing value where ``missing``.

    Values are compared as float32, the type in which scikit-learn's trees see them. ``column`` says what the feature
    was made from.
    """

    feature: int
    column: Column
    low: float
    high: float
    missing: bool

    @property
    def name(self) -> str:
        """What the feature is called where the ensemble sees it."""
        return self.column.name

    def __str__(self) -> str:
        return self.words()

    def words(self, *, missing: bool = True, brief: bool = False) -> str:
        """Return the condition in words; without ``missing``, it does not say what becomes of missing values.

        ``brief`` rounds numbers.
        """
        if self.column.category is not None:
            return f"{self.column.source} is {'' if self.low >= 0 else 'not '}{_value(self.column)}"
        text = self._number_words(_rounded if brief else _short)
        if not missing or self._no_number or self._any_number:  # which say it themselves
            return text
        return f"({text} or missing)" if self.missing else f"{text} (not missing)"

    @property
    def _no_number(self) -> bool:
        return self.low == np.inf or self.low >= self.high

    @property
    def _any_number(self) -> bool:
        return self.low == -np.inf and self.high == np.inf

    def _number_words(self, show: Callable[[float], str]) -> str:
        name = self.column.shown
        if self._no_number:
            return f"{name} is missing"
        if self._any_number:
            return f"{name} is anything" if self.missing else f"{name} is not missing"
        if -np.inf < self.low < self.high < np.inf and show(self.low) == show(self.high):
            show = _short
        low = "" if self.low == -np.inf else f"{show(self.low)} < "
        high = "" if self.high == np.inf else f" <= {show(self.high)}"
        return f"{name} > {show(self.low)}" if not high else f"{low}{name}{high}"

    def matches(self, X: Any) -> np.ndarray:
        """Whether each row of ``X`` meets the condition."""
        # The value is rounded to float32, the threshold is not.
        value = _take_column(X, self.feature, self.name).astype(np.float32).astype(np.float64)
        inside = (value > self.low) & (value <= self.high)
        return np.where(np.isnan(value), self.missing, inside)


@dataclass(frozen=True)
class Rule:
    """One changed leaf of one tree as a conjunction; ``str(rule)`` is it in words.

    Attributes
    ----------
    tree, leaf : int
        The tree by its place in the ensemble, and the leaf by its node id.
    bounds : tuple of Condition
        What it asks of each feature, of which all must hold: ``low < value <= high``.
    becomes : str
        What the leaf votes for after a flip, ``"favorable"`` or ``"unfavorable"``; or by how much a shift makes it
        more or less favorable.

    See Also
    --------
    FairnessPath.rules : Makes them.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import trace_path
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> path = trace_path(DecisionTreeClassifier().fit(age, paid), age, paid, sensitive_features=sex)
    >>> rule = path.rules(1, ["age"])[0]
    >>> rule.tree, rule.bounds[0].high, rule.becomes
    (0, 25.0, 'favorable')
    >>> print(rule)
    age <= 25 (not missing): becomes favorable
    >>> rule.words(missing=lambda feature: False), rule.matches([[18], [25], [26]]).tolist()
    ('age <= 25', [True, True, False])
    """

    tree: int
    leaf: int
    bounds: tuple[Condition, ...]
    becomes: str

    def __str__(self) -> str:
        return f"{self.words()}: becomes {self.becomes}"

    def words(self, missing: Callable[[int], bool] = lambda feature: True, *, brief: bool = False) -> str:
        """Return the conjunction in words.

        Parameters
        ----------
        missing : function from int to bool
            Whether the feature in this place can be missing at all; by default any can, and each condition says what
            becomes of missing values.
        brief : bool
            Whether to round numbers and cut long lists of values short.

        Returns
        -------
        str
        """
        terms: dict[str | None, str] = {}
        refused: dict[str | None, list[str]] = {}
        for condition in self.bounds:
            column = condition.column
            if column.category is None:
                terms[f"number {condition.feature}"] = condition.words(missing=missing(condition.feature), brief=brief)
            elif condition.low >= 0:
                terms[column.source] = condition.words()
            else:
                refused.setdefault(column.source, []).append(_value(column))
        for source, values in refused.items():
            # One value rules the others out.
            terms.setdefault(source, f"{source} is {_none_of(values, LISTED if brief else len(values))}")
        return " and ".join(terms.values()) if terms else "every row"

    def matches(self, X: Any) -> np.ndarray:
        """Whether each row falls into the leaf.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Columns as they reach the ensemble; those of a frame are found by name.

        Returns
        -------
        ndarray of bool, of shape (n_rows,)
        """
        inside = np.ones(_num_samples(X), bool)
        for condition in self.bounds:
            inside &= condition.matches(X)
        return inside


def read_rules(view: EnsembleView, leaves: np.ndarray, becomes: Sequence[str], columns: Sequence[Column]) -> list[Rule]:
    """The rules of ``leaves``, numbered over the ensemble, in the order given."""
    table = view.table if view.votes else None
    if table is None:
        raise UnsupportedModelError(
            f"rules are read from scikit-learn's averaged trees, not yet from a {type(view.model).__name__}; "
            "path.flips(step) lists the leaves that were changed"
        )
    parents, at = _parents(table), np.flatnonzero(table.leaf >= 0)[leaves]
    return [
        Rule(t, node, tuple(_conditions(table, *parents, own, columns)), outcome)
        for t, node, own, outcome in zip(
            view.leaf_tree[leaves].tolist(), view.leaf_node[leaves].tolist(), at.tolist(), becomes, strict=True
        )
    ]


def _parents(table: TreeTable) -> tuple[np.ndarray, np.ndarray]:
    """The parent of each node, as a node of the table, -1 for roots; and whether the node is its left child."""
    parent, is_left = np.full(len(table.left), -1), np.zeros(len(table.left), bool)
    inner = np.flatnonzero(table.inner)
    first = np.repeat(table.offset[:-1], np.diff(table.offset))[inner]
    parent[first + table.left[inner]] = inner
    parent[first + table.right[inner]] = inner
    is_left[first + table.left[inner]] = True
    return parent, is_left


def _conditions(
    table: TreeTable, parent: np.ndarray, is_left: np.ndarray, node: int, columns: Sequence[Column]
) -> Iterator[Condition]:
    low: dict[int, float] = {}
    high: dict[int, float] = {}
    missing: dict[int, bool] = {}
    while parent[node] != -1:
        above = int(parent[node])
        feature = int(table.feature[above])
        threshold = float(table.threshold[above])
        goes_left = bool(is_left[node])
        if goes_left:
            high[feature] = min(high.get(feature, np.inf), threshold)
        else:
            low[feature] = max(low.get(feature, -np.inf), threshold)
        missing[feature] = missing.get(feature, True) and bool(table.missing_left[above]) == goes_left
        node = above
    for feature in sorted(missing):
        yield Condition(
            feature,
            columns[feature],
            low.get(feature, -np.inf),
            high.get(feature, np.inf),
            missing[feature],
        )


def _value(column: Column) -> str:
    if column.category == INFREQUENT:
        return "one of the rare values"
    # Quotes where it could be read otherwise.
    category = str(column.category)
    return category if re.fullmatch(r"[\w.+<>=/-]+", category) else repr(category)


def _none_of(values: list[str], limit: int) -> str:
    if len(values) > limit + 1:
        values = [*values[:limit], f"{len(values) - limit} others"]
    if len(values) <= 2:
        return f"not {values[0]}" if len(values) == 1 else f"neither {values[0]} nor {values[1]}"
    return f"none of {', '.join(values[:-1])} and {values[-1]}"


def _take_column(X: Any, feature: int, name: str) -> np.ndarray:
    """One column: of a frame by its name where it has that, else by its place."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[name if name in frame.columns else frame.columns[feature]].to_numpy()
    if hasattr(X, "tocsc"):
        return X.tocsc()[:, [feature]].toarray()[:, 0]
    return np.asarray(X)[:, feature]


def _rounded(threshold: float) -> str:
    """Four digits, or one behind the point of large numbers, with commas between thousands."""
    if abs(threshold) >= 1000:
        return f"{threshold:,.1f}".removesuffix(".0")
    return f"{float(f'{threshold:.4g}'):.10g}"


def _short(threshold: float) -> str:
    """The shortest text, from seven digits on, that separates all float32 values as the threshold does."""
    below = np.float32(threshold)
    if float(below) > threshold:
        below = np.nextafter(below, np.float32(-np.inf))
    above = float(np.nextafter(below, np.float32(np.inf)))
    texts = (f"{threshold:.{digits}g}" for digits in range(7, 18))
    return next(text for text in texts if float(below) <= float(text) < above)
