"""What LightGBM and XGBoost have in common: a classifier around a Booster, or a bare Booster of the labels 0 and 1."""

import copy
from abc import abstractmethod
from typing import Any

import numpy as np

from eifffel.ensembles._boosted import BoostedView
from eifffel.ensembles._treewise import apply_blocks
from eifffel.ensembles._wrappers import Wrappers
from eifffel.exceptions import UnsupportedModelError

MONOTONE = "has monotone_constraints, and shifting leaves breaks such constraints; train it without"


class BoosterView(BoostedView):
    """A view of a Booster, by itself or in its classifier."""

    def __init__(self, model: Any, wrappers: Wrappers, favorable: Any):
        super().__init__(model, wrappers, favorable)
        self._booster = self._booster_of(model)

    @staticmethod
    @abstractmethod
    def _booster_of(model: Any) -> Any:
        """Return the Booster of a classifier, or a Booster itself."""

    @abstractmethod
    def _predict(self, X: Any, **kind: Any) -> Any:
        """Predict with the trees that count: probabilities of the second class, or what ``kind`` asks for."""

    @property
    def _is_bare(self) -> bool:
        return self.model is self._booster

    @classmethod
    def check_fitted(cls, model: Any) -> None:
        if hasattr(model, "get_params"):  # a Booster is trained
            super().check_fitted(model)

    @staticmethod
    def classes_of(model: Any) -> np.ndarray:
        return model.classes_ if hasattr(model, "classes_") else np.array([0, 1])

    def _library_leaves(self, rows: Any, *, n_jobs: int | None, verbose: int) -> np.ndarray:
        return apply_blocks(self, lambda block: self._predict(block, pred_leaf=True), rows, verbose=verbose)

    def probability(self, X: Any) -> np.ndarray:
        """The probability of the second class that the Booster itself gives to rows."""
        return self._predict(self.wrappers.transform(X))

    def model_decides(self, X: Any) -> np.ndarray:
        if self._is_bare:  # it gives probabilities only
            return (self.probability(X) > 0.5) == (self.favorable == 1)
        return super().model_decides(X)

    def _copy_booster(self) -> Any:
        """Copy the Booster by its state: copy.deepcopy forgets the best iteration and the parameters."""
        booster = self._booster.__class__.__new__(self._booster.__class__)
        booster.__setstate__(self._booster.__getstate__())
        return booster

    def _around_booster(self, booster: Any) -> Any:
        """A copy of the model with another Booster inside."""
        return booster if self._is_bare else copy.deepcopy(self.model, {id(self._booster): booster})


def refuse_if(condition: Any, model: Any, reason: str) -> None:
    """Raise with a reason, which follows the name of the model, if a condition holds."""
    if condition:
        raise UnsupportedModelError(f"this {type(model).__name__} {reason}")


def refuse_objective(model: Any, objective: Any, allowed: tuple[str, ...], reason: str | None = None) -> None:
    """Raise since a model was trained with an objective other than the allowed ones."""
    name = getattr(objective, "__name__", objective)
    reason = "whose score is not known to be a margin between two classes" if reason is None else reason
    refuse_if(True, model, f"has the objective {name!r}, {reason}; train it with {' or '.join(map(repr, allowed))}")
