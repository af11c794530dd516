"""The contract between eifffel and a model library: what a view reads, decides and writes."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from joblib import parallel_config
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from eifffel._utils.parallel import jobs_for, run_threads, split_evenly
from eifffel.ensembles._columns import Column
from eifffel.ensembles._traversal import Traversal
from eifffel.ensembles._wrappers import Wrappers
from eifffel.ensembles.trees import TreeTable
from eifffel.exceptions import UnsupportedModelError, ViewMismatchError
from eifffel.kernels import leaf_kernels
from eifffel.rows.labels import check_favorable

ROWS_VERIFIED = 100
# Rows of which the leaves by the table are compared with the library's own each time.
ROWS_COMPARED = 20


@dataclass(frozen=True, eq=False)
class NearTies:
    """Which rows of a shifted ensemble are so near its cut-off that the sign of their score does not decide them.

    With ``sum_j price_j * directions[j]`` taken off the leaf scores, a row is decided by the sign of its score where
    that is further than ``rounding + sum_j |price_j| growth[j]`` from 0. Within ``tie_rounding``, which `ties_along`
    may add to, it is decided as ``favorable`` says. Between the two, `EnsembleView.decide_shifted` tells.

    Attributes
    ----------
    rounding, tie_rounding : float or ndarray of shape (n_rows,)
    growth : ndarray of shape (n_prices,) or (n_prices, n_rows)
    favorable : ndarray of shape (n_rows,), or None
        ``None`` stands for the decisions of the original model.
    """

    rounding: float | np.ndarray
    growth: np.ndarray
    favorable: np.ndarray | None
    tie_rounding: float | np.ndarray


def add_prices(prices: np.ndarray, values: np.ndarray) -> Any:
    """The sum of ``price_j * values[j]``, one after another, where each of the values is a number or an array.

    Of directions it is what the prices take off the score of each leaf.
    """
    amount = prices[0] * values[0]
    for price, value in zip(prices[1:], values[1:], strict=True):
        amount = amount + price * value
    return amount


class EnsembleView(ABC):
    """A fitted ensemble of trees, seen as arrays of leaves.

    The leaves of all trees stand in one row: tree ``t`` owns the leaves
    ``leaf_offset[t]:leaf_offset[t + 1]``, in the order of their node ids. The score of a row is ``bias`` and the sum
    of ``leaf_score`` over its leaves; above 0 the ensemble decides for the favourable class.

    Parameters
    ----------
    model : fitted classifier with two classes
    wrappers : Wrappers
        What stands around it, such as a Pipeline.
    favorable : label, optional
        The favourable class.

    Attributes
    ----------
    favorable : int
        Index of the favourable class in ``classes``.
    leaf_offset : ndarray of shape (n_trees + 1,)
    leaf_node : ndarray of shape (n_leaves,)
        Node id of each leaf in its own tree, by the library's own numbers.
    leaf_value : ndarray
        What the leaves hold, one entry or row for each; what `write` takes.
    """

    votes: ClassVar[bool]
    """Whether each leaf is a vote, so that flipping it makes sense, or a correction to the trees before it."""

    score_tolerance: ClassVar[float] = 1e-10
    """By how much the sum of the leaves may differ from the score that the model itself gives."""

    stale_attributes: ClassVar[tuple[str, ...]] = ()
    """Attributes of the model that describe its trees as they were grown; edited models lack them."""

    leaf_offset: np.ndarray
    leaf_node: np.ndarray
    leaf_value: np.ndarray
    _traversal: Traversal | None

    def __init__(self, model: Any, wrappers: Wrappers, favorable: Any):
        self.model = model
        self.wrappers = wrappers
        self.classes = self.classes_of(model)
        self.favorable = check_favorable(self.classes, favorable)

    # What each model library must say.

    @staticmethod
    @abstractmethod
    def refuse_unsupported(model: Any) -> None:
        """Raise `UnsupportedModelError` if the parameters of the model, fitted or not, rule an edit out."""

    @classmethod
    def check_fitted(cls, model: Any) -> None:
        """Raise unless the model is fitted on two classes; for models that were fitted."""
        try:
            check_is_fitted(model)
        except NotFittedError:
            raise NotFittedError(
                f"this {type(model).__name__} is not fitted; fit it first, or give it, not frozen, to "
                "EiFFFeLClassifier, which fits it"
            ) from None
        n_outputs = getattr(model, "n_outputs_", 1)
        if n_outputs > 1:
            raise UnsupportedModelError(
                f"this {type(model).__name__} has {n_outputs} outputs; eifffel edits classifiers of one binary label"
            )
        classes = cls.classes_of(model)
        if len(classes) != 2:
            good = classes.tolist()[-1]
            more = (
                f" such as y == {good!r}, or give it to EiFFFeLClassifier unfitted, not frozen, with the labels that "
                f"are good for a person as a set, as in favorable={{{good!r}}}; of the classes of a fitted model "
                "favorable makes no two"
            )
            raise UnsupportedModelError(
                f"this {type(model).__name__} was trained on {len(classes)} classes, {classes.tolist()}; eifffel edits "
                f"binary classifiers. Train one on two labels{',' + more if len(classes) > 2 else ''}"
            )

    @staticmethod
    def classes_of(model: Any) -> np.ndarray:
        """The labels that the model was trained on."""
        return model.classes_

    @abstractmethod
    def _check_rows(self, X: Any) -> Any:
        """Validate ``X`` as the model's own ``predict`` does; what comes out goes into `apply`."""

    @abstractmethod
    def _read_table(self) -> TreeTable | None:
        """The splits of all trees; ``None`` if some are of a kind that a table cannot hold."""

    @abstractmethod
    def _values(self, rows: Any) -> np.ndarray | None:
        """Rows as numbers, NaN where they are missing, as the splits of the table compare them.

        ``None`` if only the library can make them, as of sparse rows.
        """

    @abstractmethod
    def _library_leaves(self, rows: Any, *, n_jobs: int | None, verbose: int) -> np.ndarray:
        """What `apply` gives, by the library's own leaf indices."""

    @abstractmethod
    def decide(
        self, index: np.ndarray, X: Any = None, *, n_jobs: int | None = None, score: np.ndarray | None = None
    ) -> np.ndarray:
        """Whether the ensemble decides for the favourable class, for each row; exactly as ``predict``.

        ``X`` are the rows as they were given, where the model itself must be asked about those near its threshold, and
        ``score`` their `row_scores`, where these are known.
        """

    @abstractmethod
    def _model_score(self, X: Any) -> np.ndarray:
        """The score that the ensemble itself gives to rows, its threshold not subtracted."""

    @abstractmethod
    def leaf_sum(self, index: np.ndarray) -> np.ndarray:
        """The score of rows as a sum of their leaves; see `model_score`."""

    @property
    @abstractmethod
    def leaf_score(self) -> np.ndarray:
        """What each leaf adds to the score of its rows, shape (n_leaves,)."""

    @property
    @abstractmethod
    def bias(self) -> float:
        """What is added to the score of every row; the model's decision threshold is subtracted in it."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """The largest score whose sign the model, adding in its own type and order, might see otherwise."""

    @abstractmethod
    def step_width(self, directions: np.ndarray) -> tuple[float, np.ndarray]:
        """How far the score of a row must be from 0 at a step that its crossing makes, as it is and for each price.

        Crossings that are nearer to each other make one step. `near_ties` is what decides.
        """

    @abstractmethod
    def leaf_magnitude(self, index: np.ndarray) -> np.ndarray:
        """The sum of the sizes of what `leaf_sum` adds up, which is what its rounding goes by; at least 1."""

    @abstractmethod
    def shift(self, amount: np.ndarray) -> tuple[np.ndarray, float]:
        """The leaf values with ``amount`` taken off the score of each leaf, and the factor they were scaled by."""

    @abstractmethod
    def near_ties(self, index: np.ndarray, directions: np.ndarray, *, n_jobs: int | None = None) -> NearTies:
        """Which rows in these leaves are near the cut-off once leaves are shifted along ``directions``."""

    def ties_along(self, directions: np.ndarray, begin: np.ndarray, end: np.ndarray) -> tuple[float, float] | None:
        """What is added to `NearTies.tie_rounding` along a line of prices: at ``begin``, and more towards ``end``.

        ``None`` if ties do not fall on the same side all the way.
        """
        return 0.0, 0.0

    @abstractmethod
    def decide_shifted(
        self,
        directions: np.ndarray,
        prices: np.ndarray,
        index: np.ndarray,
        row: np.ndarray,
        X: Any = None,
        *,
        n_jobs: int | None = 1,
    ) -> np.ndarray:
        """What shifted ensembles decide about rows near their cut-offs; exactly as their ``predict``.

        Entry ``k`` is the decision about row ``row[k]`` of ``index`` and ``X`` where ``prices[k]`` are taken off the
        leaf scores along ``directions``. Raises `FeaturesNeededError` where the model must be asked and ``X`` is not
        there.
        """

    def can_shift(self, directions: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Whether leaves can be shifted so far, for each of these prices, (n_places, n_prices)."""
        return np.ones(len(prices), bool)

    decides_quickly: ClassVar[bool] = False
    """Whether `decide_shifted` takes no longer for many prices than for one."""

    def room(self, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """By how much the score of each leaf can be lowered and raised before all must be scaled by less."""
        return np.full(self.n_leaves, np.inf), np.full(self.n_leaves, np.inf)

    @abstractmethod
    def _write(self, leaf_value: np.ndarray) -> Any:
        """A copy of the ensemble with these leaf values."""

    @abstractmethod
    def _splits(self) -> Iterable[Any]:
        """Bytes or arrays that differ where the model sends rows to other leaves, whatever the leaves hold."""

    @property
    def leaf_rows(self) -> np.ndarray:
        """How many of the rows that a tree was grown on each leaf had, as the model says; NaN where it does not."""
        return np.full(self.n_leaves, np.nan)

    def hidden_monotone(self) -> dict[str, int]:
        """Features on which the model looks monotone, with 1 or -1, where its file would not say that it is."""
        return {}

    @abstractmethod
    def favor(self, leaf_value: np.ndarray) -> np.ndarray:
        """How much leaves with these values speak for the favourable class, one number for each."""

    @property
    @abstractmethod
    def threshold(self) -> float:
        """The `model_score` at which the decision turns."""

    @abstractmethod
    def margin(self, score: np.ndarray) -> np.ndarray:
        """How much more likely than not the favourable class is, from -1 to 1, for rows of these scores."""

    # What follows from it.

    def jobs_for(self, n_jobs: int | None) -> int | None:
        """The jobs that are asked for, or else those of the model itself."""
        return self._own_jobs if n_jobs is None else n_jobs

    @property
    def _own_jobs(self) -> int | None:
        """How many jobs the model predicts with, as it says."""
        jobs: int | None = getattr(self.model, "n_jobs", None)
        return jobs

    @property
    def table(self) -> TreeTable | None:
        """The splits of all trees; ``None`` if some are of a kind that a table cannot hold."""
        return self._read_table()

    def _compile(self, n_jobs: int | None = 1) -> Traversal | None:
        """The table, compiled once, so that rows are sent down all trees at once."""
        if not hasattr(self, "_traversal"):
            table = self._read_table()
            self._traversal = None if table is None else Traversal.of(table, n_jobs)
        return self._traversal

    def apply(self, rows: Any, *, n_jobs: int | None = None, verbose: int = 0) -> np.ndarray:
        """The leaf of each row in each tree, shape (n_trees, n_rows), counted from the tree's first leaf.

        ``rows`` are what `check_rows` made. The smallest unsigned type that holds the indices: they are most of what a
        path needs of memory.
        """
        index = self._table_leaves(rows, n_jobs=n_jobs, verbose=verbose)
        if index is not None:
            some = np.unique(np.linspace(0, index.shape[1] - 1, min(index.shape[1], ROWS_COMPARED)).astype(np.intp))
            if np.array_equal(index[:, some], self._library_leaves(_safe_indexing(rows, some), n_jobs=1, verbose=0)):
                return index
        return self._library_leaves(rows, n_jobs=n_jobs, verbose=verbose)

    def _table_leaves(self, rows: Any, *, n_jobs: int | None, verbose: int) -> np.ndarray | None:
        """What `apply` gives, by the table of splits; ``None`` if that or the numbers in rows cannot be had."""
        if not _num_samples(rows):
            return None
        traversal = self._compile(n_jobs)
        values = None if traversal is None else self._values(rows)
        if traversal is None or values is None or values.shape[1] < traversal.n_features:
            return None
        index = np.empty((self.n_trees, len(values)), self.index_type)
        traversal.place(values, index, n_jobs=n_jobs, verbose=verbose)
        return index

    @property
    def unshiftable(self) -> str:
        """Why the score of some leaf cannot be changed, and what to do; empty where all can be."""
        return ""

    @property
    def n_trees(self) -> int:
        return len(self.leaf_offset) - 1

    @property
    def n_leaves(self) -> int:
        return len(self.leaf_node)

    @property
    def leaf_tree(self) -> np.ndarray:
        """The tree of each leaf."""
        return np.repeat(np.arange(self.n_trees), np.diff(self.leaf_offset))

    @cached_property
    def index_type(self) -> np.dtype:
        """The smallest unsigned type that counts the leaves of every tree."""
        return np.min_scalar_type(int(np.diff(self.leaf_offset).max()) - 1)

    @property
    def feature_names(self) -> list[str]:
        """What the columns that reach the ensemble are called."""
        return self.wrappers.feature_names(self.model)

    @property
    def columns(self) -> list[Column]:
        """The columns that reach the ensemble, and what they were made from."""
        return self.wrappers.columns(self.feature_names)

    def sum_leaves(self, index: np.ndarray, value: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """The sum of ``value``, one entry per leaf of the ensemble, over the leaves of each row."""
        return sum_leaves(index, self.leaf_offset, value, n_jobs=n_jobs)

    def sum_sizes(self, index: np.ndarray, value: np.ndarray, start: float, *, n_jobs: int | None = None) -> np.ndarray:
        """How large the numbers are that summing ``value`` over the leaves of a row goes through, added up.

        These are what is added, and what it adds up to after each tree, beginning at ``start``. The rounding of the sum
        goes by them.
        """

        def fill(part: slice, total: np.ndarray) -> None:
            leaf_kernels.sum_sizes(index, part.start, part.stop, self.leaf_offset, value, start, total)

        return _sum_rows(fill, index, n_jobs, "sizes of sums")

    def row_scores(self, index: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """The score of each row by its leaves; above 0 the decision is favourable."""
        return self.sum_leaves(index, self.leaf_score, n_jobs=n_jobs) + self.bias

    def largest_sum(self, value: np.ndarray) -> float:
        """The largest that ``value``, one entry per leaf of the ensemble, could add up to over the leaves of a row."""
        return float(np.maximum.reduceat(np.abs(value), self.leaf_offset[:-1]).sum())

    def check_rows(self, X: Any) -> Any:
        """Rows as they are given to the model -> rows as `apply` takes them; raises what ``predict`` would."""
        return self._check_rows(self.wrappers.transform(X))

    def model_score(self, X: Any) -> np.ndarray:
        """The score that the ensemble itself gives to rows as they are given to the model."""
        return self._model_score(self.wrappers.transform(X))

    def _model_answers(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The `model_score` of rows, and what the model decides about them."""
        return self.model_score(X), self.model_decides(X)

    def model_decides(self, X: Any) -> np.ndarray:
        """Whether the model itself decides for the favourable class."""
        return np.asarray(self.wrappers.outer.predict(X)).ravel() == self.classes[self.favorable]

    def holds(self, leaf_value: np.ndarray) -> bool:
        """Whether the leaves have these values, up to the type in which the library stores them."""
        return np.array_equal(self.leaf_value, leaf_value)

    def write(self, leaf_value: np.ndarray) -> Any:
        """A copy of the model, with all that stands around the ensemble, whose leaves have these values."""
        ensemble = self._write(leaf_value)
        for name in self.stale_attributes:
            if hasattr(ensemble, name):
                delattr(ensemble, name)
        return self.wrappers.rewrap(ensemble)

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 of the ``structure``, which rows the leaves hold and how a score is decided, and of the ``leaves``.

        An edit changes only the leaves.
        """
        decision = (self.classes.tolist(), self.bias, self.threshold, self.wrappers.cutoff)
        structure = hashlib.sha256(repr(decision).encode())
        for part in (self.leaf_offset, self.leaf_node, *self._splits()):
            structure.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).data)
        leaves = hashlib.sha256(np.ascontiguousarray(self.leaf_value).data)
        return {"structure": structure.hexdigest(), "leaves": leaves.hexdigest()}

    @property
    def stored_leaves(self) -> np.ndarray:
        """The leaves as the library holds them, from which `restore` makes the same model to the last bit."""
        return self.leaf_value

    def restore(self, stored: np.ndarray) -> Any:
        """A copy of the model, with all that stands around the ensemble, that holds these leaves."""
        return self.write(stored)

    def fingerprint(self) -> str:
        """SHA-256 of the model: its structure and its leaves."""
        return hashlib.sha256("".join(self.digests.values()).encode()).hexdigest()

    def verify(self, X: Any, index: np.ndarray | None = None) -> None:
        """Raise unless the leaves give the model's own decisions and scores on a sample of the rows ``X``.

        ``index`` has the leaves of all rows of ``X`` where they are known.
        """
        n_rows = _num_samples(X)
        sample = np.unique(np.linspace(0, n_rows - 1, min(n_rows, ROWS_VERIFIED)).astype(np.intp))
        given = _safe_indexing(X, sample)
        leaves = self.apply(self.check_rows(given)) if index is None else np.ascontiguousarray(index[:, sample])
        with parallel_config(backend="sequential"):  # one job adds the trees in their order
            model_score, decided = self._model_answers(given)
        n_wrong = np.count_nonzero(self.decide(leaves, given) != decided)
        off_by = np.abs(self.leaf_sum(leaves) - model_score)
        if n_wrong or not np.all(off_by <= self.score_tolerance * self.leaf_magnitude(leaves)):
            raise ViewMismatchError(
                f"the leaves of this {type(self.model).__name__} do not give its own predictions: {n_wrong} of "
                f"{len(sample)} decisions differ, and scores by up to {off_by.max():.2g}. A class that overrides "
                "predict or predict_proba cannot be edited; pass the plain ensemble inside it"
            )


def sum_leaves(index: np.ndarray, offset: np.ndarray, value: np.ndarray, *, n_jobs: int | None) -> np.ndarray:
    """The sum of ``value`` over the leaves of each row, tree after tree."""

    def fill(part: slice, total: np.ndarray) -> None:
        leaf_kernels.sum_row_leaves(index, part.start, part.stop, offset, value, total)

    return _sum_rows(fill, index, n_jobs, "sums over leaves")


def _sum_rows(
    fill: Callable[[slice, np.ndarray], None], index: np.ndarray, n_jobs: int | None, description: str
) -> np.ndarray:
    """A number for each row, which ``fill`` adds to zeros, part by part."""
    total = np.zeros(index.shape[1])
    n_jobs = jobs_for(index.size, n_jobs)
    parts = split_evenly(len(total), n_jobs)
    run_threads(lambda part: fill(part, total), parts, n_jobs=n_jobs, verbose=0, description=description)
    return total
