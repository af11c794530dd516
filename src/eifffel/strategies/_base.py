"""What a strategy makes: the order in which leaves are edited, step after step."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from eifffel.constraints import Constraint
from eifffel.ensembles import EnsembleView
from eifffel.leaves.placing import PlacedRows

# Which way decisions may change; up is only from unfavourable to favourable.
ANY, UP = "any", "up"
DIRECTIONS = (ANY, UP)


class EditOrder(ABC):
    """The steps of a path: which leaves are edited at each, and what rows are decided then.

    A kind of edit derives from it and says what is abstract here: `positions`, `leaves_at`, `step_of`, `edit`,
    `outcomes` and `replay`. What it holds is stored with a path; its type must be in
    `eifffel.edits.storage.TRUSTED_TYPES`, or be named, to be loaded, and `eifffel.edits.file_checks.CHECKS` says what
    must hold of it then. Leaves are numbered over the whole ensemble, as an `EnsembleView` has them. The model that
    `edit` makes must decide as `replay` counts: `FairnessPath.model_at` checks it.

    Attributes
    ----------
    score : ndarray of shape (n_leaves,)
        Why each leaf of the ensemble is edited; 0 or NaN where it is not.

    See Also
    --------
    FlipOrder : Leaves flipped one after another.
    ShiftOrder : All leaves moved along a line or a curve.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import trace_path
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> order = trace_path(DecisionTreeClassifier().fit(age, paid), age, paid, sensitive_features=sex).order
    >>> order.n_steps, order.n_edited(1), order.leaves_at(2).tolist()
    (2, 1, [0, 1])
    """

    score: np.ndarray

    def __getstate__(self) -> dict[str, Any]:
        """Return what is stored: nothing that follows from the rest, and could contradict it in a file."""
        derived = {name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)}
        return {name: value for name, value in vars(self).items() if name not in derived}

    @property
    @abstractmethod
    def positions(self) -> np.ndarray:
        """How far each step is from the original model, shape (n_steps + 1,)."""

    @property
    def n_steps(self) -> int:
        """Steps after step 0, the original model."""
        return len(self.positions) - 1

    def on_rows(
        self, view: EnsembleView, placed: PlacedRows, *, some: bool = False, n_jobs: int | None = None
    ) -> "EditOrder":
        """The same edits with the steps that these rows can tell apart by their leaves.

        Asked of strategies that do not flip. ``some`` says that these are a sample of the rows.
        """
        return self

    def review(  # noqa: B027, most have nothing to say
        self, view: EnsembleView, placed: PlacedRows, constraint: Constraint
    ) -> None:
        """Warn of what the rows that steps are measured on show of these edits."""

    def matches(self, n_leaves: int) -> bool:
        """Whether these are edits of so many leaves; of a path that was read from a file, nobody knows."""
        return len(self.score) == n_leaves

    @abstractmethod
    def leaves_at(self, step: int) -> np.ndarray:
        """The leaves that differ from the original model, the first edited or most changed first."""

    def n_edited(self, step: int) -> int:
        """How many leaves differ from the original model at a step."""
        return len(self.leaves_at(step))

    @abstractmethod
    def step_of(self, leaves: np.ndarray) -> np.ndarray:
        """The first step at which each of these leaves is edited, shape of ``leaves``."""

    @abstractmethod
    def edit(self, view: EnsembleView, step: int) -> tuple[np.ndarray, float]:
        """The leaf values at a step, as `EnsembleView.write` takes them, and the factor they were scaled by.

        The factor keeps them probabilities; 1 where nothing had to be scaled.
        """

    @abstractmethod
    def outcomes(self, view: EnsembleView, leaves: np.ndarray, step: int) -> list[str]:
        """What becomes of each of these leaves at a step, in words."""

    @abstractmethod
    def replay(self, view: EnsembleView, placed: PlacedRows, *, n_jobs: int | None, verbose: int) -> np.ndarray:
        """Rows decided favourably after each step, in units, shape (n_steps + 1, n_groups, n_labels).

        Entry 0 is the original model. Additive over rows.
        """


def cumulate(changes: list[np.ndarray], n_labels: int) -> np.ndarray:
    """What each step changes in each cell, summed up over parts of the rows -> favourable rows after each step.

    The first part of ``changes`` is overwritten.
    """
    total, *others = changes
    for other in others:
        total += other
    np.cumsum(total, axis=1, out=total)
    return total.reshape(-1, n_labels, total.shape[1]).transpose(2, 0, 1)
