"""The columns of a table as models take them: numbers, and categories, which an encoder turns into numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from eifffel.cli._tables import find_column, find_near
from eifffel.ensembles import find_features
from eifffel.rows.columns import Features

# What the steps of an encoder are called.
NUMBER_STEP, CATEGORY_STEP = "numbers", "categories"
# Values of a column with fewer rows, or beyond so many, stand together: rare ones describe persons rather than groups.
MIN_FREQUENCY = 10
MAX_CATEGORIES = 50


def split_kinds(X: pd.DataFrame) -> tuple[list[str], list[str]]:
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
    """An encoder that passes numbers on, missing ones too, and makes a column of each category.

    A category that it has not seen counts as a rare one, or as none.
    """
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=MIN_FREQUENCY,
        max_categories=MAX_CATEGORIES,
        sparse_output=False,
    )
    return ColumnTransformer(
        [(NUMBER_STEP, "passthrough", list(numbers)), (CATEGORY_STEP, one_hot, list(categories))], sparse_threshold=0
    )


def trained_columns(model: Any) -> tuple[list[str], list[str]] | None:
    """The columns of numbers and of categories of a model that `make_untrained` made; ``None`` of any other."""
    encoder = model.steps[0][1] if isinstance(model, Pipeline) else None
    if not isinstance(encoder, ColumnTransformer):
        return None
    columns = {name: given for name, _, given in encoder.transformers_}
    known = {NUMBER_STEP, CATEGORY_STEP} <= set(columns)
    return (list(columns[NUMBER_STEP]), list(columns[CATEGORY_STEP])) if known else None


def trained_categories(model: Any) -> list[str]:
    """The columns whose values such a model takes as texts."""
    known = trained_columns(model)
    return [] if known is None else known[1]


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
    features = find_features(model) if known is None else Features((*known[0], *known[1]), None)
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
    """The columns that a model was trained on, in its order and kinds; raises if one is missing or not a number."""
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
