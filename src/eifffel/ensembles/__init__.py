"""Ensemble views: one file per model library, one entry in `VIEWS` per class.

A model is looked up by the package and name of its class and of the classes it derives from, so that no
library is imported to find out that a model is not one of its own.
"""

from importlib import import_module
from typing import Any

from eifffel.ensembles._averaged import AveragedView
from eifffel.ensembles._base import EnsembleView, NearTies, add_prices, sum_leaves
from eifffel.ensembles._boosted import BoostedView
from eifffel.ensembles._columns import INFREQUENT, Column, plain_columns
from eifffel.ensembles._features import find_features
from eifffel.ensembles._local import to_local
from eifffel.ensembles._monotone import read_monotone
from eifffel.ensembles._wrappers import LAYERS, Wrappers
from eifffel.exceptions import UnsupportedModelError

VIEWS = {
    "sklearn.DecisionTreeClassifier": "_forests.DecisionTreeView",
    "sklearn.RandomForestClassifier": "_forests.ForestView",
    "sklearn.ExtraTreesClassifier": "_forests.ForestView",
    "sklearn.BaggingClassifier": "_forests.BaggingView",
    "sklearn.GradientBoostingClassifier": "_gradient_boosting.GradientBoostingView",
    "sklearn.HistGradientBoostingClassifier": "_hist_gradient_boosting.HistGradientBoostingView",
    "lightgbm.LGBMClassifier": "_lightgbm.LightGBMView",
    "lightgbm.Booster": "_lightgbm.LightGBMView",
    "xgboost.XGBClassifier": "_xgboost.XGBoostView",
    "xgboost.Booster": "_xgboost.XGBoostView",
    "catboost.CatBoostClassifier": "_catboost.CatBoostView",
}

# What to do about objects that hold a model which can be edited.
REMEDIES = {
    "CalibratedClassifierCV": "an edit would undo its calibration; edit the model that it calibrates, and calibrate "
    "a copy of it afterwards, as CalibratedClassifierCV(FrozenEstimator(edited)) does, whose decisions are others",
    "EiFFFeLClassifier": "pass its .estimator_, or look at its path_",
    "CatBoost": "pass a CatBoostClassifier, whose from_file or load_model reads the same model",
    "str": "the last step must be an ensemble",
    "type": "pass a fitted instance, not the class",
    "ABCMeta": "pass a fitted instance, not the class",
}

__all__ = [
    "INFREQUENT",
    "VIEWS",
    "Wrappers",
    "AveragedView",
    "BoostedView",
    "Column",
    "EnsembleView",
    "NearTies",
    "find_features",
    "find_view",
    "plain_columns",
    "read_classes",
    "read_monotone",
    "sum_leaves",
    "add_prices",
    "to_local",
    "view_ensemble",
]


def find_view(model: Any) -> type[EnsembleView]:
    """The view for a model, fitted or not; raises if its class or its parameters cannot be edited."""
    ensemble = Wrappers(model).ensemble
    names = [f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(ensemble).__mro__]
    found = next((VIEWS[name] for name in names if name in VIEWS), None)
    if found is None:
        name = type(ensemble).__name__
        inside = "" if ensemble is model else f", which is inside this {type(model).__name__}"
        remedy = REMEDIES.get(
            name, f"it edits {', '.join(sorted(VIEWS))}, classes derived from them, and {', '.join(LAYERS)} around them"
        )
        raise UnsupportedModelError(f"eifffel cannot edit a {name}{inside}; {remedy}")
    module, _, name = found.partition(".")
    view: type[EnsembleView] = getattr(import_module(f"eifffel.ensembles.{module}"), name)
    view.refuse_unsupported(ensemble)
    return view


def read_classes(model: Any) -> list[Any]:
    """The two labels that a fitted model was trained on."""
    view, ensemble = find_view(model), Wrappers(model).ensemble
    view.check_fitted(ensemble)
    return list(view.classes_of(ensemble).tolist())


def view_ensemble(model: Any, *, favorable: Any = None) -> EnsembleView:
    """See a fitted tree ensemble as arrays of leaves.

    Parameters
    ----------
    model : fitted classifier
        Of a class named in `VIEWS`, or derived from one; or a Pipeline, FixedThresholdClassifier,
        TunedThresholdClassifierCV or FrozenEstimator around one.
    favorable : label, optional
        The favourable class; by default the larger of 0/1, -1/1 or booleans.

    Returns
    -------
    EnsembleView
        What eifffel reads of a model: ``n_trees``, ``n_leaves``, ``leaf_value``, and more.

    Raises
    ------
    UnsupportedModelError
        If the model is of another class, or trained in a mode, whose leaves cannot be edited.
    NotFittedError
        If it is not fitted.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import view_ensemble
    >>> view = view_ensemble(DecisionTreeClassifier().fit([[20], [30], [40], [50]], [0, 1, 1, 1]))
    >>> view.n_trees, view.n_leaves, view.leaf_value.tolist()
    (1, 2, [[1.0, 0.0], [0.0, 1.0]])
    """
    view = find_view(model)
    wrappers = Wrappers(model)
    view.check_fitted(wrappers.ensemble)
    return view(wrappers.ensemble, wrappers, favorable)
