"""Models by name, trained on raw columns: an encoder and an ensemble in one Pipeline."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from eifffel._optional import import_optional
from eifffel.cli._progress import Advance
from eifffel.cli._tables import find_column, find_near
from eifffel.rows.columns import Features

NUMBERS, CATEGORIES = "numbers", "categories"
# Values of a column with fewer rows, or beyond so many, stand together: rare ones describe persons rather than groups.
MIN_FREQUENCY = 10
MAX_CATEGORIES = 50
N_TREES = 100
CHUNKS = 20


def _grow(make: Callable[[int, int], Any], size: str) -> Callable[..., Any]:
    """Train a model of scikit-learn's, some trees at a time; the result is that of training all at once."""

    def train(X: np.ndarray, y: np.ndarray, seed: int, jobs: int, done: Advance) -> Any:
        model = make(seed, jobs).set_params(warm_start=True)
        for k in range(1, CHUNKS + 1):
            model.set_params(**{size: N_TREES * k // CHUNKS}).fit(X, y)
            done(1 / CHUNKS)
        return model.set_params(warm_start=False)

    return train


def _train_lightgbm(X: np.ndarray, y: np.ndarray, seed: int, jobs: int, done: Advance) -> Any:
    lightgbm = import_optional("lightgbm", "--model lightgbm needs")
    model = lightgbm.LGBMClassifier(n_estimators=N_TREES, random_state=seed, n_jobs=jobs, verbose=-1)
    return model.fit(X, y, callbacks=[lambda _: done(1 / N_TREES)])


def _train_xgboost(X: np.ndarray, y: np.ndarray, seed: int, jobs: int, done: Advance) -> Any:
    xgboost = import_optional("xgboost", "--model xgboost needs")

    def after_iteration(watch: Any, model: Any, epoch: int, evals_log: Any) -> bool:
        done(1 / N_TREES)
        return False

    # A class made here, since XGBoost's is known only once it is imported.
    watch = type("Watch", (xgboost.callback.TrainingCallback,), {"after_iteration": after_iteration})()
    model = xgboost.XGBClassifier(n_estimators=N_TREES, random_state=seed, n_jobs=jobs, callbacks=[watch])
    return model.fit(X, y).set_params(callbacks=None)


def _train_catboost(X: np.ndarray, y: np.ndarray, seed: int, jobs: int, done: Advance) -> Any:
    catboost = import_optional("catboost", "--model catboost needs")

    class Watch:
        def after_iteration(self, info: Any) -> bool:
            done(1 / N_TREES)
            return True

    model = catboost.CatBoostClassifier(
        iterations=N_TREES, random_seed=seed, thread_count=jobs, verbose=False, allow_writing_files=False
    )
    return model.fit(X, y, callbacks=[Watch()])


MODELS: dict[str, Callable[[np.ndarray, np.ndarray, int, int, Advance], Any]] = {
    # Leaves of five rows and more are more accurate than those of one, and describe fewer single persons.
    "rf": _grow(
        lambda seed, jobs: RandomForestClassifier(min_samples_leaf=5, random_state=seed, n_jobs=jobs), "n_estimators"
    ),
    "extra-trees": _grow(
        lambda seed, jobs: ExtraTreesClassifier(min_samples_leaf=5, random_state=seed, n_jobs=jobs), "n_estimators"
    ),
    "hgb": _grow(
        lambda seed, jobs: HistGradientBoostingClassifier(early_stopping=False, random_state=seed), "max_iter"
    ),
    "lightgbm": _train_lightgbm,
    "xgboost": _train_xgboost,
    "catboost": _train_catboost,
}
# Those whose trees vote.
AVERAGED = ("rf", "extra-trees")
# Those whose labels must be 0 and 1.
CODED_LABELS = ("xgboost",)


def train(name: str, X: pd.DataFrame, y: np.ndarray, *, seed: int, jobs: int, done: Advance) -> Pipeline:
    """A Pipeline of an encoder and a model of `MODELS`, trained on a table; ``done`` hears of each part of the work."""
    numbers, categories = split_columns(X)
    encoder = make_encoder(numbers, categories)
    encoded = encoder.fit_transform(X)
    model = MODELS[name](encoded, y, seed, jobs, done)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=1)  # so that predictions add their trees in order, wherever the model is loaded
    return Pipeline([("encode", encoder), ("model", model)])


def split_columns(X: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The columns of numbers, and all others, which are categories."""
    is_number = [pd.api.types.is_numeric_dtype(X[name]) and not pd.api.types.is_bool_dtype(X[name]) for name in X]
    names = list(X.columns)
    return (
        [name for name, number in zip(names, is_number, strict=True) if number],
        [name for name, number in zip(names, is_number, strict=True) if not number],
    )


def find_stray_words(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Columns of numbers with words among them, which make them categories: how many words, and where the first is."""
    stray = {}
    for name in names:
        known = frame[name].notna().to_numpy()
        wrong = known & pd.to_numeric(frame[name], errors="coerce").isna().to_numpy()
        if 0 < 2 * wrong.sum() < known.sum():
            stray[name] = int(wrong.sum()), int(np.flatnonzero(wrong)[0])
    return stray


def make_encoder(numbers: Sequence[str], categories: Sequence[str]) -> ColumnTransformer:
    """Numbers as they are, missing ones too; one column for each category. New ones count as rare, or as none."""
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=MIN_FREQUENCY,
        max_categories=MAX_CATEGORIES,
        sparse_output=False,
    )
    return ColumnTransformer(
        [(NUMBERS, "passthrough", list(numbers)), (CATEGORIES, one_hot, list(categories))], sparse_threshold=0
    )


def trained_columns(model: Any) -> tuple[list[str], list[str]] | None:
    """The columns of numbers and of categories of a model that `train` made; ``None`` of any other."""
    encoder = model.steps[0][1] if isinstance(model, Pipeline) else None
    if not isinstance(encoder, ColumnTransformer):
        return None
    columns = {name: given for name, _, given in encoder.transformers_}
    known = {NUMBERS, CATEGORIES} <= set(columns)
    return (list(columns[NUMBERS]), list(columns[CATEGORIES])) if known else None


def as_trained(X: pd.DataFrame, numbers: Sequence[str], categories: Sequence[str]) -> pd.DataFrame:
    """Numbers as float64 and categories as texts, missing ones as NaN."""
    columns = {name: X[name].to_numpy(np.float64, na_value=np.nan) for name in numbers}
    for name in categories:
        code, values = pd.factorize(X[name])  # a missing value has the code -1
        columns[name] = np.array([*(_text(value) for value in values), np.nan], object)[code]
    for name in numbers:
        if np.isinf(columns[name]).any():
            raise ValueError(f"column {name!r} has infinite values; make them large numbers, or missing")
    return pd.DataFrame(columns)[[*numbers, *categories]]


def _text(value: Any) -> str:
    """A category; booleans are spelt in one way, whether they were read as such or as text."""
    text = str(value).strip()
    return text.capitalize() if text.lower() in ("true", "false") else text


def feature_columns(model: Any, frame: pd.DataFrame, path: Path, given: Sequence[str]) -> list[str]:
    """The columns that a model takes, in its order; ``given`` names them for one that does not know."""
    known = trained_columns(model)
    features = Features.of(model) if known is None else Features((*known[0], *known[1]), None)
    for name in given:
        find_column(frame, name, "--features", path)
    if given:
        features = features.named(given)
    found = features.find(frame.columns)
    if found is not None:
        return found
    if not given and not features.has_names:
        raise ValueError(
            f"the model does not know the names of its columns; name those of '{path}' that it takes, in its order, as "
            "in --features age,income"
        )
    there = features.match(frame.columns)
    missing = [name for name in features.names if name not in there]
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    near = find_near(missing[0], [name for name in frame.columns if name not in there.values()])
    meant = "" if near is None else f"; did you mean {near!r}? Rename it"
    raise ValueError(f"'{path}' has no column {missing[0]!r}{more}, which the model was trained with{meant}")


def features_for(model: Any, frame: pd.DataFrame, path: Path, given: Sequence[str] = ()) -> pd.DataFrame:
    """The columns that a model was trained on, in its order and kinds; raises if one is not there or no number."""
    names = feature_columns(model, frame, path, given)
    known = trained_columns(model)
    if known is None:
        return frame[names]
    frame = frame[names].copy()
    for name in known[0]:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        wrong = np.flatnonzero(numbers.isna().to_numpy() & frame[name].notna().to_numpy())
        if len(wrong):
            raise ValueError(
                f"column {name!r} of '{path}' has {str(frame[name].iloc[wrong[0]])!r} in row {wrong[0] + 1:,}, where "
                "the model expects a number"
            )
        frame[name] = numbers
    return as_trained(frame, *known)
