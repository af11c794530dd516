"""Columns of sensitive_features, as they are given -> what is in them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from eifffel._utils.validation import (
    check_aligned,
    check_in_memory,
    check_length,
    check_names,
    column_names,
    read_column,
    set_index,
    sort_values,
)
from eifffel.exceptions import parameter

ERROR, OWN_GROUP, DROP = "error", "own-group", "drop"
MISSING = (ERROR, OWN_GROUP, DROP)
# What people whose group is not known are called where they are a group of their own.
UNKNOWN = "(missing)"
REMEDY = (
    "drop those rows, say which group they are of, or pass "
    + parameter("missing")
    + "='own-group' to count them as a group or "
    + parameter("missing")
    + "='drop' to leave them out of all counts"
)
Tagged = TypeVar("Tagged", bound=tuple[Any, ...])


class ColumnValues(NamedTuple):
    """What is in a column of sensitive_features: its name, its values, sorted, and whether some rows have none."""

    name: str
    values: list[Any]
    gaps: bool

    def join(self, other: "ColumnValues") -> "ColumnValues":
        """What is in either of two parts of a column."""
        found: dict[Any, Any] = {}
        for value in (*self.values, *other.values):
            if isinstance(found.setdefault(value, value), float):  # a gap elsewhere makes floats of whole numbers
                found[value] = value
        what = name_column("sensitive_features", self.name)
        return ColumnValues(self.name, sort_values(what, list(found.values())), self.gaps or other.gaps)


class ReadColumn(NamedTuple):
    """A column of sensitive_features: what is in it, the values of the rows that have one, and which have none."""

    values: ColumnValues
    found: np.ndarray
    gaps: np.ndarray


def read_columns(
    columns: list[tuple[str, Any]], X: Any, missing: str, *, rows: str | None = None, beside: Sequence[Any] = ()
) -> list[ReadColumn]:
    """Read columns of sensitive_features, one entry for each row of ``X``; ``rows`` names them in errors.

    ``beside`` are other columns of the same rows, each with its name.
    """
    named = name_columns(columns, rows)
    check_aligned([*beside, *named])
    read = []
    for (name, _), (what, column) in zip(columns, named, strict=True):
        found, distinct, gaps = _read_group_column(what, column, missing)
        check_length(what, gaps, _num_samples(X))
        read.append(ReadColumn(ColumnValues(name, distinct, bool(gaps.any())), found, gaps))
    return read


def with_unknown(column: ColumnValues, missing: str) -> list[Any]:
    """The values of a column, those who have none as one of them where they are a group."""
    return [*column.values, UNKNOWN] if missing == OWN_GROUP and column.gaps else column.values


def join_values(first: list[ColumnValues], others: list[ColumnValues]) -> list[ColumnValues]:
    """What is in either of two parts of the same columns."""
    others = match_names(others, [column.name for column in first])
    if len(first) != len(others):
        raise ValueError(
            f"sensitive_features has {len(others)} columns, and {len(first)} elsewhere; give the same "
            "columns throughout"
        )
    return [column.join(other) for column, other in zip(first, others, strict=True)]


def match_names(columns: list[Tagged], names: Sequence[str]) -> list[Tagged]:
    """Columns, each a tuple with its name first, in the order of these names, if they have them; else as they are."""
    found = {column[0]: column for column in columns}
    return [found[name] for name in names] if set(found) == set(names) and len(found) == len(names) else columns


def match_group(group: Any, columns: list[ColumnValues], names: Sequence[str]) -> Any:
    """A group whose values stand in the order of some columns, in the order of these names."""
    if len(columns) == 1:
        return group
    named = [(column.name, value) for column, value in zip(columns, group, strict=True)]
    return tuple(value for _, value in match_names(named, names))


def split_columns(sensitive_features: Any) -> list[tuple[str, Any]]:
    """The columns of sensitive_features and their names, empty where there is none."""
    if sensitive_features is None:
        raise ValueError(
            "sensitive_features is missing; pass the group of each row, such as sensitive_features=df['sex']"
        )
    if isinstance(sensitive_features, list) and sensitive_features and isinstance(sensitive_features[0], list):
        sensitive_features = _as_array(sensitive_features)
    if isinstance(sensitive_features, Mapping):
        columns = [(str(name), _keep_tuples(column)) for name, column in sensitive_features.items()]
    else:
        check_in_memory("sensitive_features", sensitive_features)
        check_names("sensitive_features", column_names(sensitive_features))
        frame = nw.from_native(sensitive_features, eager_only=True, allow_series=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            columns = [(str(series.name), series.to_native()) for series in frame.iter_columns()]
        elif isinstance(frame, nw.Series):
            columns = [(str(frame.name or ""), sensitive_features)]
        else:
            array = _keep_tuples(sensitive_features)
            columns = [("", array)]
            if isinstance(array, np.ndarray) and array.ndim == 2 and array.shape[1] > 1:
                columns = [("", array[:, k]) for k in range(array.shape[1])]
    if not columns:
        raise ValueError("sensitive_features has no columns; pass the group of each row")
    return columns


def take_rows(sensitive_features: Any, part: np.ndarray) -> Any:
    """The rows of sensitive_features at the places ``part``."""
    if isinstance(sensitive_features, Mapping):
        return {name: _safe_indexing(column, part) for name, column in sensitive_features.items()}
    return _safe_indexing(sensitive_features, part)


def set_group_index(sensitive_features: Any, beside: Sequence[Any]) -> Any:
    """What `set_index` makes of sensitive_features, of each column where they are a dict."""
    if not isinstance(sensitive_features, Mapping):
        return set_index(sensitive_features, beside)
    columns = list(sensitive_features.values())
    return {name: set_index(column, [*beside, *columns]) for name, column in sensitive_features.items()}


def name_columns(columns: list[tuple[str, Any]], rows: str | None = None) -> list[tuple[str, Any]]:
    """Return the columns with what they are called in errors."""
    what = "sensitive_features" if rows is None else f"sensitive_features of {rows}"
    return [(name_column(what, name), column) for name, column in columns]


def name_column(what: str, name: str) -> str:
    """What a column is called in errors."""
    return f"{what} ({name})" if name else what


def _keep_tuples(column: Any) -> Any:
    """A list of tuples as a column of them, each a group; NumPy would make columns of their parts."""
    if not (isinstance(column, list | tuple) and column and isinstance(column[0], tuple)):
        return column
    array = np.empty(len(column), object)
    array[:] = column
    return array


def _as_array(rows: Any) -> np.ndarray:
    """Lists of several values as a table of them."""
    if len({len(row) for row in rows}) > 1:
        raise ValueError("sensitive_features has rows of several lengths; give each row one value of each attribute")
    table = np.empty((len(rows), len(rows[0]) if rows else 0), object)
    for k, row in enumerate(rows):
        table[k] = list(row)
    return table


def _read_group_column(what: str, column: Any, missing: str) -> tuple[np.ndarray, list[Any], np.ndarray]:
    """What `read_column` gives of a column of groups; bands of numbers, as pandas cuts them, by their names.

    Tuples are of plain values, as what is stored must be.
    """
    found, distinct, gaps = read_column(what, column, gaps=missing != ERROR, remedy=REMEDY)
    if any(isinstance(value, tuple) for value in distinct):
        plain = {value: tuple(_as_plain(part) for part in value) for value in distinct}
        return _keep_tuples([plain[value] for value in found]), list(plain.values()), gaps
    if any(type(value).__name__ == "Interval" for value in distinct):
        return np.array([str(value) for value in found], object), [str(value) for value in distinct], gaps
    return found, distinct, gaps


def _as_plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
