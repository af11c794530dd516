"""Boosted models of every library that is installed, by name: functions that fit one on X and y of labels 0 and 1."""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.utils.fixes import parse_version

BOOSTED = {
    "gradient boosting": lambda X, y: GradientBoostingClassifier(n_estimators=12, random_state=0).fit(X, y),
    "gradient boosting, exponential": lambda X, y: GradientBoostingClassifier(
        n_estimators=12, loss="exponential", random_state=0
    ).fit(X, y),
    "gradient boosting, from zero": lambda X, y: GradientBoostingClassifier(
        n_estimators=5, init="zero", subsample=0.5, random_state=0
    ).fit(X, y),
    "histograms": lambda X, y: HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=5, random_state=0).fit(
        X, y
    ),
    "histograms, balanced": lambda X, y: HistGradientBoostingClassifier(
        max_iter=12, class_weight="balanced", early_stopping=True, n_iter_no_change=2, random_state=0
    ).fit(X, y),
}

if find_spec("lightgbm"):
    import lightgbm

    QUIET = {"verbose": -1, "n_jobs": 1, "min_child_samples": 5, "random_state": 0}

    def lgbm(**params):
        return lambda X, y: lightgbm.LGBMClassifier(**{"n_estimators": 12, **QUIET, **params}).fit(X, y)

    def lgbm_booster(X, y):
        return lightgbm.train({"objective": "binary", **QUIET}, lightgbm.Dataset(X, y), num_boost_round=8)

    def lgbm_stopped(X, y):
        model = lightgbm.LGBMClassifier(n_estimators=60, learning_rate=0.3, **QUIET)
        stop = lightgbm.early_stopping(5, verbose=False)
        return model.fit(X[:100], y[:100], **_evaluation(model, X[100:], y[100:]), callbacks=[stop])

    def _evaluation(model, X, y):
        """LightGBM 4.7 has new names for its evaluation rows and warns of the old."""
        if "eval_X" in model.fit.__code__.co_varnames:
            return {"eval_X": X, "eval_y": y}
        return {"eval_set": [(X, y)]}

    BOOSTED |= {
        "lightgbm": lgbm(),
        "lightgbm, weighted": lgbm(scale_pos_weight=3.0),
        "lightgbm, balanced": lgbm(class_weight="balanced"),
        "lightgbm, dart": lgbm(boosting_type="dart"),
        "lightgbm, forest": lgbm(boosting_type="rf", subsample_freq=1, subsample=0.5),
        "lightgbm, steep": lgbm(sigmoid=2.0),
        "lightgbm, cross-entropy": lgbm(objective="cross_entropy"),
        "lightgbm, one leaf": lgbm(min_child_samples=10_000),
        "lightgbm, stopped early": lgbm_stopped,
        "lightgbm, booster": lgbm_booster,
    }

if find_spec("xgboost"):
    import xgboost

    def xgb(**params):
        settings = {"n_estimators": 12, "max_depth": 3, "n_jobs": 1, "random_state": 0, **params}
        return lambda X, y: xgboost.XGBClassifier(**settings).fit(X, y)

    def xgb_stopped(X, y):
        model = xgboost.XGBClassifier(n_estimators=60, learning_rate=0.5, n_jobs=1, early_stopping_rounds=3)
        return model.fit(X[:100], y[:100], eval_set=[(X[100:], y[100:])], verbose=False)

    def xgb_booster(X, y):
        params = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1}
        return xgboost.train(params, xgboost.DMatrix(X, label=y), num_boost_round=8)

    BOOSTED |= {
        "xgboost": xgb(),
        "xgboost, weighted": xgb(scale_pos_weight=3.0),
        "xgboost, dart": xgb(booster="dart", rate_drop=0.3),
        "xgboost, parallel trees": xgb(n_estimators=4, num_parallel_tree=3, subsample=0.7),
        "xgboost, stopped early": xgb_stopped,
        "xgboost, booster": xgb_booster,
    }

if find_spec("catboost"):
    import catboost

    def cat(**params):
        settings = {"iterations": 12, "depth": 3, "verbose": False, "thread_count": 1, "random_seed": 0}
        settings |= {"allow_writing_files": False, **params}
        return lambda X, y: catboost.CatBoostClassifier(**settings).fit(X, y)

    def cat_threshold(X, y):
        model = cat()(X, y)
        model.set_probability_threshold(0.3)
        return model

    BOOSTED |= {
        "catboost": cat(),
        "catboost, depthwise": cat(grow_policy="Depthwise"),
        "catboost, lossguide": cat(grow_policy="Lossguide", max_leaves=6),
        "catboost, weighted": cat(class_weights=[1.0, 3.0]),
        "catboost, threshold": cat_threshold,
    }


def as_words(y):
    """Labels that are words."""
    return np.where(np.asarray(y) == 1, "yes", "no")


# From which version on each library takes frames of polars: with numbers, and with categories.
POLARS_NUMBERS = {"lightgbm": "4.7", "xgboost": "2.1", "catboost": "1.2.8"}
POLARS_CATEGORIES = {"xgboost": "3.1", "catboost": "1.2.8"}


def skip_unless_polars(name, since):
    """Skip the test where a library, or polars, is not there, or is older than it must be."""
    library, _ = pytest.importorskip(name), pytest.importorskip("polars")
    if name == "xgboost":
        pytest.importorskip("pyarrow")  # XGBoost reads polars through it
    if parse_version(library.__version__) < parse_version(since[name]):
        pytest.skip(f"{name} reads such frames of polars from {since[name]} on")
