"""The contract between eifffel and a model library: what a view reads, decides and writes."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from eifffel import _kernels
from eifffel._parallel import run_threads, split_rows
from eifffel.exceptions import ViewMismatchError

NEVER = np.int32(np.iinfo(np.int32).max)
ROWS_VERIFIED = 100
SCORE_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class TreeStructure:
    """The splits of one tree, one entry per node; leaves have ``left == -1``.

    A row goes left if its value, as float32, is ``<= threshold``; a missing value goes left
    where ``missing_left``.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray


class EnsembleView(ABC):
    """A fitted ensemble of trees whose leaf fractions are averaged, seen as arrays of leaves.

    The leaves of all trees stand in one row: tree ``t`` owns the leaves
    ``leaf_offset[t]:leaf_offset[t + 1]``, in the order of their node ids.

    Parameters
    ----------
    model : fitted classifier with two classes
    favorable : int
        Index of the favourable class in ``model.classes_``.

    Attributes
    ----------
    leaf_offset : ndarray of shape (n_trees + 1,)
    leaf_node : ndarray of shape (n_leaves,)
        Node id of each leaf in its own tree.
    leaf_value : ndarray of shape (n_leaves, 2)
        Fractions of the unfavourable and of the favourable class.
    flippable : ndarray of shape (n_leaves,)
        Whether swapping the two fractions changes the leaf and can be written into the model.
    """

    leaf_offset: np.ndarray
    leaf_node: np.ndarray
    leaf_value: np.ndarray
    flippable: np.ndarray

    def __init__(self, model: Any, favorable: int):
        self.model = model
        self.favorable = favorable

    # What each model library must say.

    @staticmethod
    @abstractmethod
    def refuse_unsupported(model: Any) -> None:
        """Raise `UnsupportedModelError` if the parameters of the model, fitted or not, rule an edit out."""

    @property
    @abstractmethod
    def class_weight(self) -> Any:
        """``None``, ``"balanced"``, or the weights of the unfavourable and the favourable class."""

    @abstractmethod
    def check_rows(self, X: Any) -> Any:
        """Validate ``X`` as the model's own ``predict`` does; what comes out goes into `apply`."""

    @abstractmethod
    def apply_tree(self, t: int, rows: Any) -> np.ndarray:
        """Node id of the leaf of each row in tree ``t``."""

    @abstractmethod
    def model_outputs(self, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        """What the model itself says of rows: the favourable score and whether it decides for that class."""

    @abstractmethod
    def structure(self, t: int) -> TreeStructure:
        """The splits of tree ``t``, features numbered as the model's input columns."""

    @abstractmethod
    def write(self, leaf_value: np.ndarray) -> Any:
        """A copy of the model with these leaf fractions, without attributes that they make stale."""

    # What follows from it.

    @property
    def n_trees(self) -> int:
        return len(self.leaf_offset) - 1

    @property
    def n_leaves(self) -> int:
        return len(self.leaf_node)

    @property
    def classes(self) -> np.ndarray:
        return self.model.classes_

    @property
    def leaf_tree(self) -> np.ndarray:
        """The tree of each leaf."""
        return np.repeat(np.arange(self.n_trees), np.diff(self.leaf_offset))

    @property
    def tie_is_favorable(self) -> bool:
        # scikit-learn takes the argmax of the class fractions, and that gives a tie to the first class.
        return self.favorable == 0

    @cached_property
    def leaf_favorable(self) -> np.ndarray:
        """Whether each leaf, by itself, decides for the favourable class."""
        unfavorable, favorable = self.leaf_value.T
        return favorable >= unfavorable if self.tie_is_favorable else favorable > unfavorable

    @cached_property
    def margin(self) -> np.ndarray:
        """Favourable minus unfavourable fraction of each leaf in fixed point."""
        return np.rint((self.leaf_value[:, 1] - self.leaf_value[:, 0]) * _kernels.FIXED_POINT).astype(np.int64)

    @cached_property
    def exact(self) -> np.ndarray:
        """Whether each leaf's fractions are short binary fractions, which float64 adds without rounding.

        0 and 1 are, so rows of pure leaves, whose ties are frequent, need no second look.
        """
        unfavorable, favorable = self.leaf_value.T * 2.0**20
        return (unfavorable == np.rint(unfavorable)) & (favorable == np.rint(favorable))

    @property
    def rounding(self) -> int:
        """The largest sum of margins whose sign `predict`, adding float64, might see otherwise.

        Each margin is off by half a unit; each of the two float sums of n fractions by at most
        ``n * n * 2**-53``, and its quotient by one more rounding.
        """
        n = self.n_trees
        return int(np.ceil(0.51 * n + (2 * n * n + 2 * n) * 2.0**-53 * _kernels.FIXED_POINT)) + 1

    def apply(self, rows: Any, *, n_jobs: int | None = None, verbose: int = 0) -> np.ndarray:
        """The leaf of each row in each tree, shape (n_trees, n_rows), counted from the tree's first leaf.

        The smallest unsigned type that holds them: the indices are most of what a path needs of memory.
        """
        sizes = np.diff(self.leaf_offset)
        index = np.empty((self.n_trees, _num_samples(rows)), np.min_scalar_type(int(sizes.max()) - 1))

        def fill(t: int) -> None:
            nodes = self.leaf_node[self.leaf_offset[t] : self.leaf_offset[t + 1]]
            number = np.zeros(nodes[-1] + 1, index.dtype)
            number[nodes] = np.arange(len(nodes))
            np.take(number, self.apply_tree(t, rows), out=index[t], mode="clip")

        run_threads(fill, range(self.n_trees), n_jobs=n_jobs, verbose=verbose, description="leaf indices")
        return index

    def decide(self, index: np.ndarray, *, flipped: np.ndarray | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Whether the ensemble decides for the favourable class, for each row; exactly as ``predict``."""
        rank = np.full(self.n_leaves, NEVER)
        if flipped is not None:
            rank[flipped] = 0
        favorable = np.empty(index.shape[1], np.bool_)

        def fill(rows: slice) -> None:
            _kernels.decide_rows(
                index,
                rows.start,
                rows.stop,
                self.leaf_offset,
                self.margin,
                self.leaf_value,
                self.exact,
                rank,
                0,
                self.tie_is_favorable,
                self.rounding,
                favorable,
            )

        run_threads(fill, split_rows(len(favorable), n_jobs), n_jobs=n_jobs, verbose=0, description="decisions")
        return favorable

    def flip(self, leaves: np.ndarray) -> np.ndarray:
        """The leaf fractions after swapping those of ``leaves``."""
        leaf_value = self.leaf_value.copy()
        leaf_value[leaves] = leaf_value[leaves, ::-1]
        return leaf_value

    def fingerprint(self) -> str:
        """SHA-256 of the classes, the thresholds and the leaves: which rows they hold and what they say."""
        digest = hashlib.sha256(repr(self.classes.tolist()).encode())
        thresholds = (self.structure(t).threshold for t in range(self.n_trees))
        for array in (self.leaf_offset, self.leaf_node, self.leaf_value, *thresholds):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def verify(self, X: Any, index: np.ndarray) -> None:
        """Raise unless the leaves in ``index`` give the model's own decisions and scores on a sample of the rows."""
        n_rows = index.shape[1]
        sample = np.unique(np.linspace(0, n_rows - 1, min(n_rows, ROWS_VERIFIED)).astype(np.intp))
        rows = _safe_indexing(X, sample)
        leaves = index[:, sample]
        score = self.leaf_value[leaves.T + self.leaf_offset[:-1], 1].mean(axis=1)
        with parallel_config(backend="sequential"):  # one job adds the trees in their order
            model_score, model_favorable = self.model_outputs(rows)
        n_wrong = np.count_nonzero(self.decide(np.ascontiguousarray(leaves)) != model_favorable)
        off_by = np.abs(score - model_score).max()
        if n_wrong or off_by > SCORE_TOLERANCE:
            raise ViewMismatchError(
                f"the leaves of this {type(self.model).__name__} do not give its own predictions: {n_wrong} of "
                f"{len(sample)} decisions differ, and scores by up to {off_by:.2g}. A class that overrides predict or "
                "predict_proba cannot be edited; pass the plain ensemble inside it"
            )
