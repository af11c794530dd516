"""Ensemble views: one file per model library, one entry in `VIEWS` per class.

A model is looked up by the package and name of its class and of the classes it derives from, so that no
library is imported to find out that a model is not one of its own.
"""

from importlib import import_module
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eifffel._validation import check_favorable
from eifffel.ensembles._base import EnsembleView, TreeStructure
from eifffel.exceptions import UnsupportedModelError

VIEWS = {
    "sklearn.DecisionTreeClassifier": "_sklearn.DecisionTreeView",
    "sklearn.RandomForestClassifier": "_sklearn.ForestView",
    "sklearn.ExtraTreesClassifier": "_sklearn.ForestView",
    "sklearn.BaggingClassifier": "_sklearn.BaggingView",
}

# What to do about objects that hold a model which can be edited.
REMEDIES = {
    "Pipeline": "pass its last step and the rows that reach it, pipe[-1] and pipe[:-1].transform(X)",
    "FrozenEstimator": "pass the model inside it, its .estimator",
    "EiFFFeLClassifier": "pass its .estimator_, or look at its path_",
    "type": "pass a fitted instance, not the class",
    "ABCMeta": "pass a fitted instance, not the class",
}

__all__ = ["VIEWS", "EnsembleView", "TreeStructure", "find_view", "view_ensemble"]


def find_view(model: Any) -> type[EnsembleView]:
    """The view for a model, fitted or not; raises if its class or its parameters cannot be edited."""
    names = [f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(model).__mro__]
    found = next((VIEWS[name] for name in names if name in VIEWS), None)
    if found is None:
        name = type(model).__name__
        remedy = REMEDIES.get(name, f"it edits {', '.join(sorted(VIEWS))}, and classes derived from them")
        raise UnsupportedModelError(f"eifffel cannot edit a {name}; {remedy}")
    module, _, name = found.partition(".")
    view: type[EnsembleView] = getattr(import_module(f"eifffel.ensembles.{module}"), name)
    view.refuse_unsupported(model)
    return view


def view_ensemble(model: Any, *, favorable: Any = None) -> EnsembleView:
    """See a fitted tree ensemble as arrays of leaves.

    Parameters
    ----------
    model : fitted classifier
        Of a class named in `VIEWS`, or derived from one.
    favorable : label, optional
        The favourable class; by default the larger of 0/1, -1/1 or booleans.
    """
    view = find_view(model)
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise NotFittedError(
            f"this {type(model).__name__} is not fitted; fit it first, or give it as it is to EiFFFeLClassifier, "
            "which fits it"
        ) from None
    n_outputs = getattr(model, "n_outputs_", 1)
    if n_outputs > 1:
        raise UnsupportedModelError(
            f"this {type(model).__name__} has {n_outputs} outputs; eifffel edits classifiers of one binary label"
        )
    if len(model.classes_) != 2:
        raise UnsupportedModelError(
            f"this {type(model).__name__} was trained on {len(model.classes_)} classes, {model.classes_.tolist()}; "
            "eifffel edits binary classifiers: train it on a label of two values"
        )
    return view(model, check_favorable(model.classes_, favorable))
