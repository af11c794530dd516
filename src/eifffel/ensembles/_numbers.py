"""Arrays and frames as the numbers that a library compares, and their columns of categories as places in a list."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

CATEGORY = "category"
# Whole numbers below are float64, too.
LONGEST = 2.0**53


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

    Frames are cast column by column; the columns to leave are NaN, for the caller to fill in. Of whole numbers of so
    many digits that libraries round them in several ways, frames of polars are not cast.
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
        values = np.full((len(X), len(kinds)), np.nan, kind, order="F")
        for place in range(len(kinds)):
            if place not in leaving:
                values[:, place] = _numbers(X, place, kind)
    whole = [place for place in range(len(kinds)) if kinds[place] in "iu" and place not in leaving]
    too_long = _polars_frame(X) is not None and (np.abs(values[:, whole]) >= LONGEST).any()
    return None if too_long else values


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
    """Places among ``known``, NaN for others and missing ones, in the place of those among ``own``.

    Categories are the same if Python takes them for equal: 1 is 1.0, and True.
    """
    place = {category: k for k, category in enumerate(known)}
    places = np.array([*(place.get(category, np.nan) for category in own), np.nan])
    return places[np.where(np.isnan(codes), len(own), codes).astype(np.intp)]


def code_values(X: Any, place: int) -> tuple[np.ndarray, np.ndarray] | None:
    """A code for each distinct value of a column, and for each code a row that has it.

    ``None`` if values are missing, are of no type of NumPy's or of several types, of which some may be equal and yet
    not the same category.
    """
    frame = _polars_frame(X)
    if frame is not None:
        column = frame[:, place]
        if column.null_count() or _kind_of(column.dtype) == "f":
            return None
        known = column.unique().to_list()
        codes = column.replace_strict(known, list(range(len(known))), return_dtype=nw.Int64).to_numpy()
    else:
        column = X.iloc[:, place] if hasattr(X, "iloc") else X[:, place]
        if str(column.dtype) == CATEGORY:
            codes = column.cat.codes.to_numpy()
        elif _numpy_kind(column.dtype) in "biu":
            codes = np.unique(np.asarray(column), return_inverse=True)[1]
        else:
            # Not by pandas, which up to 2.1 reads a word as far as its first NUL.
            words = np.asarray(column, object).tolist()
            types = set(map(type, words))
            if len(types) != 1 or not issubclass(types.pop(), str | int | np.integer):
                return None
            code: dict[Any, int] = {}
            codes = np.fromiter((code.setdefault(word, len(code)) for word in words), np.int64, len(words))
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
