"""SeenRows: whether rows are among those that leaves were scored by, told from what is in them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from eifffel._validation import named_columns

# Rows are the same if so large a share of them must be, and chance is so many standard errors away.
SHARE = 0.5
ERRORS = 5.0
MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Kinds of rows, as numbers.

    Attributes
    ----------
    kind : ndarray of uint64
        Of each set of equal rows, sorted.
    count : ndarray
        How many rows there are of each kind.
    """

    kind: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, X: Any) -> "SeenRows":
        """From rows as they were given."""
        return cls(*np.unique(hash_rows(X), return_counts=True))

    def overlap(self, other: "SeenRows") -> bool:
        """Whether half of these rows or more are among the others, or half of the others among these."""
        return self._mostly_in(other) or other._mostly_in(self)

    def _mostly_in(self, other: "SeenRows") -> bool:
        n_rows, n_other = self.count.sum(), other.count.sum()
        found = self.count[np.isin(self.kind, other.kind)].sum() / n_rows
        # Rows that are not the same, but drawn alike, are found as often as rows of the other set have a twin in it.
        twins = other.count[other.count > 1].sum() / n_other
        same = found - twins
        error = np.sqrt(max(twins * (1 - twins), 1 / n_rows) * (1 / n_rows + 1 / n_other))
        return bool(same > SHARE * (1 - twins) and same > ERRORS * error)


def hash_rows(X: Any) -> np.ndarray:
    """A number for each row, equal for equal rows; it holds within a process and is not to be stored."""
    if issparse(X):
        entries = X.tocoo()
        total = np.zeros(X.shape[0], np.uint64)
        np.add.at(total, entries.row, _mix(entries.data.astype(np.float64), entries.col.astype(np.uint64)))
        return total
    total = np.zeros(1, np.uint64)
    for place, (_, column) in enumerate(named_columns(X)):
        if column.dtype.kind not in "iufb":
            column = np.fromiter((hash(value) if value == value else 0 for value in map(_plain, column)), np.float64)
        total = total + _mix(column.astype(np.float64), np.uint64(place))
    return total


def _plain(value: Any) -> Any:
    """A value that has a hash and can be compared with itself."""
    return None if type(value).__name__ in ("NAType", "NaTType") else value if value is None else str(value)


def _mix(value: np.ndarray, place: np.ndarray | np.uint64) -> np.ndarray:
    """Bits of values and of their columns, mixed; 0 for 0, which a sparse matrix leaves out."""
    mixed = (value + 0.0).view(np.uint64) ^ (np.asarray(place + np.uint64(1)) * MIX)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * MIX
    return np.where((value == 0) | np.isnan(value), np.uint64(0), mixed ^ (mixed >> np.uint64(29)))
