"""Arrays and frames as the numbers that a library compares, and their columns of categories as places in a list."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

CATEGORY = "category"


def column_kinds(X: Any) -> list[str]:
    """What each column holds: a kind of NumPy's types, `CATEGORY`, or nothing that is a number without its library.

    Of rows that are no array and no frame of pandas or polars, an empty list.
    """
    frame = _polars_frame(X)
    if frame is not None:
        return [_kind_of(dtype) for dtype in frame.schema.values()]
    if hasattr(X, "iloc"):
        return [CATEGORY if str(dtype) == CATEGORY else _numpy_kind(dtype) for dtype in X.dtypes]
    if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray) and X.ndim == 2:
        return [_numpy_kind(X.dtype)] * X.shape[1]
    return []


def cast_rows(X: Any, kind: type[np.floating], *, leaving: Sequence[int] = ()) -> np.ndarray | None:
    """Rows as an array of this type, as a library casts it; ``None`` if they are no numbers of NumPy's.

    Frames are cast column by column. What is in the columns to leave means nothing, and is for the caller to fill in.
    """
    if isinstance(X, list):
        try:
            X = np.asarray(X)
        except ValueError:  # not rows of as many numbers each, of which libraries have words of their own
            return None
    kinds = column_kinds(X)
    if not kinds or not all(kinds[place] in "buif" for place in range(len(kinds)) if place not in leaving):
        return None
    with np.errstate(over="ignore"):  # infinite, which libraries take or refuse
        if isinstance(X, np.ndarray):
            return X.astype(kind, copy=False)
        if not len(leaving) and hasattr(X, "iloc"):
            return X.to_numpy(kind)
        values = np.empty((len(X), len(kinds)), kind, order="F")
        for place in range(len(kinds)):
            if place not in leaving:
                values[:, place] = _numbers(X, place, kind)
    return values


def own_categories(X: Any, place: int) -> list[Any]:
    """The categories of a column, of pandas in their order."""
    frame = _polars_frame(X)
    if frame is None:
        return list(X.iloc[:, place].cat.categories)
    return sorted(frame[:, place].cast(nw.String).drop_nulls().unique().to_list())


def own_codes(X: Any, place: int) -> np.ndarray:
    """The place of each row of a column among its `own_categories`, NaN where it is missing."""
    frame = _polars_frame(X)
    if frame is None:
        codes = X.iloc[:, place].cat.codes.to_numpy()
        return np.where(codes < 0, np.nan, codes)
    words = own_categories(X, place)
    if not words:
        return np.full(len(X), np.nan)
    column = frame[:, place].cast(nw.String)
    return column.replace_strict(words, list(range(len(words))), return_dtype=nw.Float64).to_numpy()


def recode(codes: np.ndarray, own: Sequence[Any], known: Sequence[Any]) -> np.ndarray:
    """Places among ``known``, NaN for others and missing ones, in the place of those among ``own``."""
    place = {category: k for k, category in enumerate(known)}
    places = np.array([*(place.get(category, np.nan) for category in own), np.nan])
    return places[np.where(np.isnan(codes), len(own), codes).astype(np.intp)]


def number_values(X: Any, place: int) -> tuple[np.ndarray, np.ndarray] | None:
    """A number for each distinct value of a column, and for each number a row that has it.

    ``None`` if values are missing, or of several types, of which some may be equal and yet not the same category.
    """
    frame = _polars_frame(X)
    if frame is not None:
        column = frame[:, place]
        if column.null_count():
            return None
        values = column.unique().to_list()
        codes = column.replace_strict(values, list(range(len(values))), return_dtype=nw.Int64).to_numpy()
    else:
        column = X.iloc[:, place] if hasattr(X, "iloc") else X[:, place]
        if column.dtype == object and len(set(map(type, column))) > 1:
            return None
        codes, _ = import_module("pandas").factorize(column)
        if codes.min() < 0:
            return None
    return codes, np.unique(codes, return_index=True)[1]


def _polars_frame(X: Any) -> Any:
    """A frame of polars, seen by narwhals; ``None`` for anything else."""
    return nw.from_native(X, eager_only=True) if nw.dependencies.is_polars_dataframe(X) else None


def _numpy_kind(dtype: Any) -> str:
    return dtype.kind if isinstance(dtype, np.dtype) and dtype.kind in "buif" and dtype.isnative else " "


def _kind_of(dtype: Any) -> str:
    """The kind of a type of polars."""
    if isinstance(dtype, nw.Categorical | nw.Enum):
        return CATEGORY
    if dtype == nw.Boolean:
        return "b"
    if dtype.is_float():
        return "f"
    return "i" if dtype.is_signed_integer() else "u" if dtype.is_unsigned_integer() else " "


def _numbers(X: Any, place: int, kind: type[np.floating]) -> np.ndarray:
    frame = _polars_frame(X)
    if frame is None:
        return X.iloc[:, place].to_numpy(kind)
    return frame[:, place].cast(nw.Float32 if kind is np.float32 else nw.Float64).to_numpy()
