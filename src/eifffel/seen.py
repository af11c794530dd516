"""SeenRows: whether rows are among those that leaves were scored by, told from the leaves that they fall into."""

from dataclasses import dataclass

import numpy as np

# Trees that tell rows apart; more would cost time.
TREES = 32
# Rows that are not the same agree by chance, all of them, less often than this.
CHANCE = 1e-6
MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class SeenRows:
    """What rows look like to the trees, as numbers.

    Attributes
    ----------
    signature : ndarray of uint64
        Of each kind of rows that fall into the same leaves, sorted.
    n_rows : int
    alone : int
        Rows that are of a kind of their own.
    """

    signature: np.ndarray
    n_rows: int
    alone: int

    @classmethod
    def of(cls, index: np.ndarray) -> "SeenRows":
        """From the leaf of each row in each tree, shape (n_trees, n_rows)."""
        signature = np.zeros(index.shape[1], np.uint64)
        for leaf in index[:TREES]:
            signature = (signature ^ leaf.astype(np.uint64)) * MIX
            signature ^= signature >> np.uint64(29)
        kinds, counts = np.unique(signature, return_counts=True)
        return cls(kinds, index.shape[1], int((counts == 1).sum()))

    def overlap(self, other: "SeenRows") -> bool:
        """Whether these are all among the others, or the others among these, and not by chance."""
        return self._within(other) or other._within(self)

    def _within(self, other: "SeenRows") -> bool:
        if self.n_rows > other.n_rows or not np.isin(self.signature, other.signature).all():
            return False
        # Of other rows drawn like these, so many have a twin; half of the rest, in case they are drawn otherwise.
        twins = 1 - other.alone / other.n_rows / 2
        return bool(self.n_rows * np.log(twins) < np.log(CHANCE))
