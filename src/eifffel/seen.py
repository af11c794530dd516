"""SeenRows: whether rows are among those that leaves were scored by, told from the leaves that they fall into."""

from dataclasses import dataclass

import numpy as np

# Trees that tell rows apart; more would cost time.
TREES = 32
# Rows are the same if so large a share of them must be, and chance is so many standard errors away.
SHARE = 0.5
ERRORS = 5.0
MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class SeenRows:
    """What rows look like to the trees, as numbers.

    Attributes
    ----------
    signature : ndarray of uint64
        Of each kind of rows that fall into the same leaves, sorted.
    count : ndarray
        How many rows there are of each kind.
    """

    signature: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, index: np.ndarray) -> "SeenRows":
        """From the leaf of each row in each tree, shape (n_trees, n_rows)."""
        signature = np.zeros(index.shape[1], np.uint64)
        for leaf in index[:TREES]:
            signature = (signature ^ leaf.astype(np.uint64)) * MIX
            signature ^= signature >> np.uint64(29)
        return cls(*np.unique(signature, return_counts=True))

    def overlap(self, other: "SeenRows") -> bool:
        """Whether half of these rows or more are among the others, or half of the others among these."""
        return self._mostly_in(other) or other._mostly_in(self)

    def _mostly_in(self, other: "SeenRows") -> bool:
        n_rows, n_other = self.count.sum(), other.count.sum()
        found = self.count[np.isin(self.signature, other.signature)].sum() / n_rows
        # Rows that are not the same, but drawn alike, are found as often as rows of the other set have a twin in it.
        twins = other.count[other.count > 1].sum() / n_other
        same = found - twins
        error = np.sqrt(max(twins * (1 - twins), 1 / n_rows) * (1 / n_rows + 1 / n_other))
        return bool(same > SHARE * (1 - twins) and same > ERRORS * error)
