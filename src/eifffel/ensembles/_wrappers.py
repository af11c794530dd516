"""What stands around an ensemble: pipelines, cut-offs and frozen estimators go in, and come out, with it inside."""

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from eifffel._utils.validation import check_model
from eifffel.ensembles._columns import Column, plain_columns, trace_columns
from eifffel.exceptions import UnsupportedModelError


@dataclass(frozen=True)
class Cutoff:
    """A decision threshold that is not the ensemble's own: ``score >= value`` decides for class ``positive``.

    Attributes
    ----------
    method : {"predict_proba", "decision_function"}
        Where the score of the class ``positive`` comes from.
    value : float
    positive : int
        Index of a class.
    given : float or numpy.float64
        The value as scikit-learn compares it: one of Python is rounded to the type of float32 scores.
    """

    method: str
    value: float
    positive: int
    given: Any = field(repr=False, compare=False)

    def reaches(self, score: np.ndarray) -> np.ndarray:
        """Which scores of the class ``positive`` decide for it."""
        return np.asarray(score >= self.given)


class Layer(ABC):
    """One object around another."""

    def __init__(self, model: Any):
        self.model = model

    @property
    @abstractmethod
    def inner(self) -> Any:
        """The object inside, fitted where this one is."""

    @abstractmethod
    def rewrap(self, inner: Any) -> Any:
        """A copy of this object around another inner one."""

    @property
    def before(self) -> Pipeline | None:
        """The steps, if any, that rows go through on their way to the object inside, when this one predicts."""
        return None

    def transform(self, X: Any) -> Any:
        """What reaches the object inside when this one predicts."""
        return X if self.before is None else self.before.transform(X)

    def cutoff(self) -> Cutoff | None:
        """The decision threshold of this object, if it has one."""
        return None


class PipelineLayer(Layer):
    """A Pipeline whose last step is, or holds, the ensemble: scikit-learn's, or that of imbalanced-learn."""

    @property
    def inner(self) -> Any:
        return self.model.steps[-1][1]

    def rewrap(self, inner: Any) -> Any:
        pipeline = _copy_wrapper(self.model, self.inner)
        pipeline.steps[-1] = (pipeline.steps[-1][0], inner)
        return pipeline

    @property
    def before(self) -> Pipeline | None:
        steps = self.model.steps[:-1]
        # Samplers of imbalanced-learn change what is trained on, and are passed over in predictions.
        used = [step for step in steps if step[1] not in (None, "passthrough") and not hasattr(step[1], "fit_resample")]
        if not used:
            return None
        return self.model[:-1] if len(used) == len(steps) else Pipeline(used)


class ThresholdLayer(Layer):
    """FixedThresholdClassifier and TunedThresholdClassifierCV."""

    @property
    def _name(self) -> str:
        return "estimator_" if hasattr(self.model, "estimator_") else "estimator"

    @property
    def inner(self) -> Any:
        return getattr(self.model, self._name)

    def rewrap(self, inner: Any) -> Any:
        wrapper = _copy_wrapper(self.model, self.inner)
        setattr(wrapper, self._name, inner)
        return wrapper

    def cutoff(self) -> Cutoff | None:
        model = self.model
        method = model.response_method
        if method == "auto":
            method = "predict_proba" if hasattr(self.inner, "predict_proba") else "decision_function"
        if hasattr(model, "best_threshold_"):
            value, label = model.best_threshold_, model._curve_scorer._get_pos_label()
        else:
            value, label = model.threshold, model.pos_label
        if value == "auto":
            value = 0.5 if method == "predict_proba" else 0.0
        if method == "predict_proba" and not 0 < value < 1:
            raise UnsupportedModelError(
                f"this {type(model).__name__} has the threshold {value}, at which edits of leaves change no decision; "
                "set one between 0 and 1"
            )
        positive = 1 if label is None else model.classes_.tolist().index(label)
        return Cutoff(method, float(value), positive, value)


class FrozenLayer(Layer):
    """A FrozenEstimator."""

    @property
    def inner(self) -> Any:
        return self.model.estimator

    def rewrap(self, inner: Any) -> Any:
        return type(self.model)(inner)


LAYERS: dict[str, type[Layer]] = {
    "Pipeline": PipelineLayer,
    "FixedThresholdClassifier": ThresholdLayer,
    "TunedThresholdClassifierCV": ThresholdLayer,
    "FrozenEstimator": FrozenLayer,
}


class Wrappers:
    """All that stands around an ensemble, the outermost first.

    Attributes
    ----------
    outer : object
        The model as it was given.
    ensemble : object
        What is inside; where nothing stands around it, the same.
    """

    def __init__(self, model: Any):
        check_model(model)
        self.outer = model
        self.layers: list[Layer] = []
        while (kind := _layer_of(model)) is not None:
            self.layers.append(kind(model))
            model = self.layers[-1].inner
        self.ensemble = model

    def transform(self, X: Any) -> Any:
        """Rows as they are given to the outermost object -> rows as they reach the ensemble."""
        for layer in self.layers:
            X = layer.transform(X)
        return X

    def rewrap(self, ensemble: Any) -> Any:
        """A copy of all of it around another ensemble."""
        for layer in reversed(self.layers):
            ensemble = layer.rewrap(ensemble)
        return ensemble

    @cached_property
    def cutoff(self) -> Cutoff | None:
        """The decision threshold that counts, the outermost; ``None`` where it is the ensemble's own."""
        for layer in self.layers:
            cutoff = layer.cutoff()
            if cutoff is not None:
                return cutoff
        return None

    def feature_names(self, ensemble: Any) -> list[str]:
        """Names of the columns that reach the ensemble: its own, those its pipelines give, or x0, x1, ..."""
        names = getattr(ensemble, "feature_names_in_", None)
        steps = self._steps
        if names is None and steps is not None:
            try:
                names = steps.get_feature_names_out()
            except (AttributeError, ValueError):  # a step that cannot name its columns
                names = None
        if names is None:
            names = [f"x{k}" for k in range(ensemble.n_features_in_)]
        return [str(name) for name in names]

    def columns(self, names: list[str]) -> list[Column]:
        """The columns that reach the ensemble, by their names, and what they were made from."""
        if not self.transforms:
            return plain_columns(names)
        steps = self._steps
        return trace_columns(names, steps[0] if steps is not None and len(steps) == 1 else None)

    @property
    def transforms(self) -> bool:
        """Whether other columns reach the ensemble than those that are given."""
        return any(layer.before is not None for layer in self.layers)

    @property
    def _steps(self) -> Pipeline | None:
        """What stands before the ensemble in the one pipeline around it."""
        pipelines = [layer.before for layer in self.layers if isinstance(layer, PipelineLayer)]
        return pipelines[0] if len(pipelines) == 1 else None


def _layer_of(model: Any) -> type[Layer] | None:
    sklearns = [base.__name__ for base in type(model).__mro__ if base.__module__.startswith("sklearn.")]
    return next((LAYERS[name] for name in sklearns if name in LAYERS), None)


def _copy_wrapper(model: Any, inner: Any) -> Any:
    """A deep copy that leaves out what is inside: it is replaced, and may be large."""
    return copy.deepcopy(model, {id(inner): inner})
