"""Training: which rows trained a model, as far as the numbers of rows that its trees keep for their leaves show."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, multinomial

from eifffel.ensembles import EnsembleView
from eifffel.leaves.placing import PlacedRows

# What is less probable than this is not taken for chance.
TRAINED_CHANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Training:
    """How many training rows were in each leaf of one tree: of the trees that keep it, the one with most leaves.

    Attributes
    ----------
    tree : int
    n_rows : ndarray of shape (n_leaves of the tree,)
    """

    tree: int
    n_rows: np.ndarray

    @classmethod
    def of(cls, view: EnsembleView) -> "Training | None":
        """Read the numbers from a model; ``None`` where it does not keep them."""
        n_rows = view.leaf_rows
        says = np.logical_and.reduceat(n_rows == np.rint(n_rows), view.leaf_offset[:-1])  # weights are no counts
        if not says.any():
            return None
        tree = int(np.argmax(np.where(says, np.diff(view.leaf_offset), 0)))
        return cls(tree, n_rows[view.leaf_offset[tree] : view.leaf_offset[tree + 1]].astype(np.int64))

    def count(self, placed: PlacedRows) -> np.ndarray:
        """How many rows there are in each leaf of the tree; additive over them."""
        return np.bincount(placed.index[self.tree], minlength=len(self.n_rows))

    def among(self, counts: np.ndarray, beside: np.ndarray | int = 0) -> bool:
        """Whether the training rows are all among rows of which so many are in each leaf, and others ``beside`` them.

        Then every leaf has as many of them, or more. Of rows that are merely drawn from the same population that is
        seldom so. Where it is not, because there are many rows or few leaves, or the others suffice, the answer is no.
        """
        wanted, n_given = np.maximum(self.n_rows - beside, 0), int(counts.sum())
        if not wanted.any() or (counts < wanted).any():
            return False
        share = self.n_rows / self.n_rows.sum()
        if n_given == wanted.sum():
            chance = multinomial.logpmf(wanted, n_given, share)
        else:
            # Counts of a fixed number of rows are large together less often than if they were independent.
            chance = binom.logsf(wanted - 1, n_given, share).sum()
        return bool(chance < np.log(TRAINED_CHANCE))


def find_trained(
    training: Training | None,
    scoring: np.ndarray | None,
    others: np.ndarray | None,
    *,
    on_scoring: bool = False,
    one_table: bool = False,
) -> bool | None:
    """Whether a model was trained on the rows of ``others``, from the counts of these and of the scoring rows.

    ``None`` where that cannot be known; ``on_scoring`` says that it is known to have been trained on the scoring rows,
    ``one_table`` that both were drawn from one table, so that each has some of the training rows that are in it. Where
    there are no others, it is the scoring rows that are asked about.
    """
    if training is None or scoring is None:
        return (others is None) if on_scoring else None
    if on_scoring or training.among(scoring):
        return others is None
    if others is not None:
        if training.among(others) or training.among(others, beside=scoring):
            return True
        if one_table and training.among(scoring + others):
            return True
    return None


def add_counts(one: np.ndarray | None, two: np.ndarray | None) -> np.ndarray | None:
    """The counts of two batches together, where there are any."""
    return None if one is None or two is None else one + two
