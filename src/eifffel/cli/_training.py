"""Models by name, each a Pipeline of an encoder and an ensemble, trained so that progress shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline

from eifffel._utils.optional import import_optional
from eifffel.cli._features import make_encoder, split_kinds
from eifffel.cli._progress import Advance

N_TREES = 100
CHUNKS = 20
# Trains an estimator on encoded rows, and calls a function with each part of the work that is done.
FitParts = Callable[[Any, np.ndarray, np.ndarray, Advance], None]


@dataclass(frozen=True)
class ModelKind:
    """A kind of model that can be trained.

    Attributes
    ----------
    make : callable
        A seed and a number of threads -> an estimator.
    fit : callable
        Trains it; the result is that of its own ``fit``.
    coded_labels : bool
        Whether labels must be 0 and 1.
    """

    make: Callable[[int, int], Any]
    fit: FitParts
    coded_labels: bool = False


def _grow(size: str) -> FitParts:
    """Train an estimator of scikit-learn's some trees at a time; ``size`` is the parameter that says how many."""

    def fit(model: Any, X: np.ndarray, y: np.ndarray, done: Advance) -> None:
        n_trees = getattr(model, size)
        model.set_params(warm_start=True)
        for k in range(1, CHUNKS + 1):
            model.set_params(**{size: n_trees * k // CHUNKS}).fit(X, y)
            done(1 / CHUNKS)
        model.set_params(warm_start=False)

    return fit


def _fit_lightgbm(model: Any, X: np.ndarray, y: np.ndarray, done: Advance) -> None:
    model.fit(X, y, callbacks=[lambda _: done(1 / N_TREES)])


def _fit_xgboost(model: Any, X: np.ndarray, y: np.ndarray, done: Advance) -> None:
    xgboost = import_optional("xgboost", "--model xgboost needs")

    def after_iteration(watch: Any, model: Any, epoch: int, evals_log: Any) -> bool:
        done(1 / N_TREES)
        return False

    # A class made here, since XGBoost's is known only once it is imported.
    watch = type("Watch", (xgboost.callback.TrainingCallback,), {"after_iteration": after_iteration})()
    model.set_params(callbacks=[watch]).fit(X, y).set_params(callbacks=None)


def _fit_catboost(model: Any, X: np.ndarray, y: np.ndarray, done: Advance) -> None:
    class Watch:
        def after_iteration(self, info: Any) -> bool:
            done(1 / N_TREES)
            return True

    model.fit(X, y, callbacks=[Watch()])


def _make_forest(forest: Callable[..., Any]) -> Callable[[int, int], Any]:
    # Leaves of five rows and more are more accurate than those of one, and describe fewer single persons.
    return lambda seed, jobs: forest(N_TREES, min_samples_leaf=5, random_state=seed, n_jobs=jobs)


def _make_hgb(seed: int, jobs: int) -> Any:
    return HistGradientBoostingClassifier(max_iter=N_TREES, early_stopping=False, random_state=seed)


def _make_lightgbm(seed: int, jobs: int) -> Any:
    lightgbm = import_optional("lightgbm", "--model lightgbm needs")
    return lightgbm.LGBMClassifier(n_estimators=N_TREES, random_state=seed, n_jobs=jobs, verbose=-1)


def _make_xgboost(seed: int, jobs: int) -> Any:
    xgboost = import_optional("xgboost", "--model xgboost needs")
    return xgboost.XGBClassifier(n_estimators=N_TREES, random_state=seed, n_jobs=jobs)


def _make_catboost(seed: int, jobs: int) -> Any:
    catboost = import_optional("catboost", "--model catboost needs")
    return catboost.CatBoostClassifier(
        iterations=N_TREES, random_seed=seed, thread_count=jobs, verbose=False, allow_writing_files=False
    )


MODELS = {
    "rf": ModelKind(_make_forest(RandomForestClassifier), _grow("n_estimators")),
    "extra-trees": ModelKind(_make_forest(ExtraTreesClassifier), _grow("n_estimators")),
    "hgb": ModelKind(_make_hgb, _grow("max_iter")),
    "lightgbm": ModelKind(_make_lightgbm, _fit_lightgbm),
    "xgboost": ModelKind(_make_xgboost, _fit_xgboost, coded_labels=True),
    "catboost": ModelKind(_make_catboost, _fit_catboost),
}


def make_untrained(kind: str, X: pd.DataFrame, *, seed: int, jobs: int) -> Pipeline:
    """A Pipeline of an encoder for the columns of a table and a model of `MODELS`, to be trained."""
    return Pipeline([("encode", make_encoder(*split_kinds(X))), ("model", MODELS[kind].make(seed, jobs))])


def fit_in_parts(kind: str, pipeline: Pipeline, X: pd.DataFrame, y: np.ndarray, done: Advance) -> Pipeline:
    """The same as ``pipeline.fit(X, y)``, which calls ``done`` with each part of the work."""
    encoder, model = (step for _, step in pipeline.steps)
    MODELS[kind].fit(model, encoder.fit_transform(X), y, done)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=1)  # so that predictions add their trees in order, wherever the model is loaded
    return pipeline
