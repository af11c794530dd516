"""Checks of parameters, and columns as they are given -> arrays."""

import os
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from joblib import cpu_count

from eifffel.exceptions import InputError, InputTypeError, Message, parameter, wording

SHOWN_VALUES = 5
# What files of pickles end in.
PICKLES = ("joblib", "pkl", "pickle")
FRAMES = (nw.DataFrame, nw.LazyFrame)
# How lazy frames give their rows: polars, Dask, Spark, DuckDB.
LOADING_METHODS = ("compute", "toPandas", "df", "collect")
# More threads than this for each core make no sense, whatever they wait for.
JOBS_A_CORE = 64


def check_fraction(name: str, value: Any, *, optional: bool = False, inner: bool = False) -> None:
    """Raise unless ``value`` is a number in [0, 1], or in (0, 1) if ``inner``, or ``None`` if ``optional``."""
    if optional and value is None:
        return
    allowed = "strictly between 0 and 1" if inner else "in [0, 1]" + _or_none(optional)
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise _wrong_type(name, "a number " + allowed, value)
    number = float(value)
    if not (0 < number < 1 if inner else 0 <= number <= 1):
        remedy = f"; write {number / 100:g} for {number:g} percent" if 1 <= number < 100 else ""
        raise InputError(parameter(name) + " must be " + allowed + f", got {value!r}{remedy}")


def check_confidence(confidence: Any, *, optional: bool = False) -> None:
    """Raise unless ``confidence`` is a probability from 1/2 on and below 1, or ``None`` if ``optional``."""
    if optional and confidence is None:
        return
    allowed = "at least 0.5 and below 1" + _or_none(optional, ", or None")
    if isinstance(confidence, bool | np.bool_) or not isinstance(confidence, Real):
        raise _wrong_type("confidence", "a number of " + allowed, confidence)
    if not 0.5 <= float(confidence) < 1:
        share = float(confidence) / 100
        remedy = f"write {share:g} for {confidence:g} percent" if 0.5 <= share < 1 else "0.95 is usual"
        raise InputError(parameter("confidence") + " must be " + allowed + f", got {confidence!r}; {remedy}")


def check_number(name: str, value: Any, *, at_least: float, integer: bool = False, optional: bool = False) -> None:
    """Raise unless ``value`` is a finite number, or an integer, not below ``at_least``, or ``None`` if ``optional``."""
    if optional and value is None:
        return
    kind = Integral if integer else Real
    allowed = f"{'an integer' if integer else 'a number'} of at least {at_least:g}" + _or_none(optional)
    if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
        raise _wrong_type(name, allowed, value)
    if not at_least <= float(value) < np.inf:
        raise InputError(parameter(name) + " must be " + allowed + f", got {value!r}")


def _or_none(optional: bool, text: str = " or None") -> Message:
    """What is said where ``None`` leaves a parameter out; an option that is left out is not there."""
    return wording("or_none", text) if optional else Message()


def _wrong_type(name: str, allowed: str, value: Any) -> InputTypeError:
    return InputTypeError(parameter(name) + " must be " + allowed + f", got {value!r} of type {type(value).__name__}")


def check_choice(name: str, value: Any, choices: Sequence[str], *, hint: str = "") -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        one = f" must be one of {', '.join(map(repr, choices))}, got {_shown(value)}"
        raise InputError(parameter(name) + one + ("; " + hint if hint else ""))


def check_model(model: Any, name: str = "model") -> None:
    """Raise if the path of a file is given in place of the model in it."""
    if not isinstance(model, str | os.PathLike):
        return
    path = os.fspath(model)
    ending = path.lower().rpartition(".")[2]
    if ending == "onnx":
        remedy = "ONNX files are written here, and not read: give the model that it was made from"
    elif ending in PICKLES:
        remedy = (
            f"load it first, as in eifffel.load({path!r}, allow_pickle=True), which runs what is in the file: only if "
            "you trust whoever made it"
        )
    else:
        remedy = f"load it first, as in eifffel.load({path!r})"
    raise TypeError(f"{name} must be a model, got the path {path!r}; {remedy}")


def check_table(X: Any, name: str = "X") -> None:
    """Raise if ``X`` cannot be cut into rows and columns; ``name`` is what it is called.

    A container of a model library cannot, nor what holds no rows yet, nor a data frame with two columns of one name.
    """
    if any(hasattr(type(X), own) for own in ("num_row", "num_data")):  # DMatrix and Pool; LightGBM's Dataset
        raise TypeError(
            f"{name} must be an array, a sparse matrix or a data frame, got a {type(X).__name__}; pass what it was "
            "made from"
        )
    check_in_memory(name, X)
    check_names(name, column_names(X))


def check_in_memory(name: str, values: Any) -> None:
    """Raise if ``values`` are lazy: what another library would make rows by, and no rows."""
    library = type(values).__module__.partition(".")[0]
    how = next((method for method in LOADING_METHODS if hasattr(values, method)), None)
    if is_dask(values):
        raise TypeError(
            f"{name} is a collection of Dask, whose rows are not in memory; give them, as its {how}() does. Only "
            "trace_path and FairnessPath.measure go to where its partitions are, where X, y and sensitive_features "
            "are all collections, or X is a data frame and the others name its columns"
        )
    if not hasattr(values, "__array__") and isinstance(nw.from_native(values, pass_through=True), FRAMES):
        remedy = "make a data frame of them first" if how is None else f"give them, as its {how}() does"
        raise TypeError(f"{name} is a {type(values).__name__} of {library}, whose rows are not in memory; {remedy}")


def is_dask(values: Any) -> bool:
    """Whether ``values`` are a collection of Dask, such as one of its data frames; Dask need not be installed."""
    return any(base.__module__.partition(".")[0] == "dask" for base in type(values).__mro__)


def check_names(name: str, columns: Sequence[Any]) -> None:
    """Raise if more than one of the columns of a table has the same name."""
    several = [column for column, n in Counter(columns).items() if n > 1]
    if several:
        raise ValueError(f"{name} has more than one column named {listed(several)}; rename them")


def column_names(table: Any) -> list[Any]:
    """What the columns of a table are called; nothing where they have no names."""
    kind = type(table)  # a frame has its columns as attributes too
    if hasattr(kind, "column_names"):  # an Arrow table, whose columns are what is in them
        return list(table.column_names)
    return list(table.columns) if hasattr(kind, "columns") else []


def named_columns(X: Any) -> list[tuple[str, np.ndarray]]:
    """The columns of a table that is not sparse: numbers as they are, anything else as objects."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return [(str(series.name), _column_values(series)) for series in frame.iter_columns()]
    array = np.asarray(X)
    return [
        (f"x{k}", array[:, k] if array.dtype != object else _as_numbers(array[:, k])) for k in range(array.shape[1])
    ]


def _column_values(series: Any) -> np.ndarray:
    if series.dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64).to_numpy())
    return np.array(series.to_list(), dtype=object)


def _as_numbers(column: np.ndarray) -> np.ndarray:
    """Numbers in a column of objects as numbers."""
    try:
        return np.array([np.nan if value is None else value for value in column.tolist()], np.float64)
    except (TypeError, ValueError):
        return column


def check_n_jobs(n_jobs: Any) -> None:
    """Raise unless ``n_jobs`` is ``None`` or an integer other than 0, and not far more than there are cores."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InputError(parameter("n_jobs") + f" must be None or an integer other than 0, got {n_jobs!r}")
    n_cores = cpu_count()
    if n_jobs is not None and n_jobs > JOBS_A_CORE * n_cores:
        raise InputError(
            parameter("n_jobs")
            + f" must be {JOBS_A_CORE * n_cores:,} at most here, {JOBS_A_CORE} for each core ({n_cores}), got "
            f"{n_jobs!r}; as many as there are cores is fastest"
        )


def check_step(step: Any, n_steps: int) -> int:
    """The step as an int between 0 and ``n_steps``."""
    if isinstance(step, bool | np.bool_) or not isinstance(step, Integral):
        hint = "; pass its .step" if hasattr(step, "step") else ""
        raise TypeError(f"step must be an integer from 0 to {n_steps}, got a {type(step).__name__}{hint}")
    if not 0 <= int(step) <= n_steps:
        raise ValueError(f"step must be an integer from 0 to {n_steps}, got {step}")
    return int(step)


def check_select_on(select_on: Any) -> tuple[Any, Any, Any, Any]:
    """The selection rows as (X, y, sensitive_features, sample_weight)."""
    if not isinstance(select_on, tuple | list) or len(select_on) not in (3, 4):
        raise ValueError(
            "select_on must be None or the tuple (X, y, sensitive_features) of the selection rows, optionally with "
            f"sample_weight as a fourth entry; got {type(select_on).__name__}"
            + (f" of {len(select_on)} entries" if isinstance(select_on, tuple | list) else "")
        )
    X, y, sensitive_features, *weight = select_on
    return X, y, sensitive_features, weight[0] if weight else None


def check_aligned(columns: Sequence[tuple[str, Any]]) -> None:
    """Raise if columns, given with their names, do not belong to the same rows by what their pandas indexes say.

    Rows are matched by place, and nothing is ever put into another order. So any two indexes must be equal, in the same
    order; or one of them counts 0, 1, 2, ..., as pandas does where nobody gave an index, and says nothing, unless the
    other has the same numbers in another order. Columns without an index, such as arrays, belong to any.
    """
    indexed = [(name, _plain_index(column.index)) for name, column in columns if _has_index(column)]
    for k, (name, index) in enumerate(indexed):
        for known, other in indexed[:k]:
            if len(index) == len(other) and not index.equals(other):  # another length is refused elsewhere
                _check_by_place(name, index, known, other)


def set_index(column: Any, beside: Sequence[Any]) -> Any:
    """A column with the index of the first ``beside`` it that has one, if it has one itself.

    What was matched by place then stays matched when all are cut into parts.
    """
    known = next((other.index for other in beside if _has_index(other)), None)
    return column if known is None or not _has_index(column) else column.set_axis(known, axis=0)


def find_row_names(X: Any) -> Any:
    """The pandas index of a table, if it tells rows apart: no name twice, and not 0, 1, 2, ..., as by default."""
    if not _has_index(X):
        return None
    index = _plain_index(X.index)
    return index if index.is_unique and not _counts_up(index) else None


def _has_index(column: Any) -> bool:
    return hasattr(getattr(column, "index", None), "equals")


def _plain_index(index: Any) -> Any:
    """An index whose numbers are NumPy's, so that equal ones are equal whichever type pandas has them in."""
    kind = getattr(index.dtype, "numpy_dtype", None)
    if kind is not None and kind.kind in "iuf" and not index.hasnans:
        return index.astype(kind)
    return index.infer_objects() if index.dtype == object and index.nlevels == 1 else index


def _check_by_place(name: str, index: Any, known: str, other: Any) -> None:
    """Raise unless rows with these two different indexes may be matched by place."""
    if any(_counts_up(one) and not _counts_up(another, sort=True) for one, another in ((index, other), (other, index))):
        return
    try:
        reordered = bool(index.sort_values().equals(other.sort_values()))
    except TypeError:  # values that cannot be compared
        reordered = False
    pairs = enumerate(zip(index.tolist(), other.tolist(), strict=True))
    where = next((f" (in place {k}, {own!r} and {its!r})" for k, (own, its) in pairs if own != its), "")
    how = f"the index of {known} in another order" if reordered else f"another index than {known}"
    raise ValueError(
        f"{name} has {how}{where}, and rows are matched by place; give both in one order, as in column.loc[X.index], "
        "or pass .to_numpy() of it if the places are right"
    )


def _counts_up(index: Any, *, sort: bool = False) -> bool:
    """Whether an index is 0, 1, 2, ..., perhaps once it is sorted."""
    if getattr(index.dtype, "kind", "") not in "iuf":
        return False
    values = index.to_numpy()
    return np.array_equal(np.sort(values) if sort else values, np.arange(len(index)))


def check_known(
    name: str,
    values: Sequence[Any],
    known: Sequence[Any],
    what: str,
    hint: str = "",
    find: Callable[[Any], str] | None = None,
) -> None:
    """Raise if a value is not ``known``; ``what`` those are, and ``find`` where the first unknown one is, in words."""
    unknown = [value for value in values if not any(equal(value, other) for other in known)]
    if unknown:
        where = "" if find is None else find(unknown[0])
        raise ValueError(f"{name} has {listed(unknown)}{where}, not among {what} {listed(known)}" + hint)


def check_length(name: str, values: np.ndarray, n_rows: int) -> None:
    if len(values) != n_rows:
        raise ValueError(f"{name} has {len(values)} entries for {n_rows} rows; give one entry per row")


def read_column(
    name: str, values: Any, *, gaps: bool = False, remedy: str = "drop those rows"
) -> tuple[np.ndarray, list[Any], np.ndarray]:
    """The values of one column, those of them that are distinct, sorted, and where values are missing.

    Missing values are not among the first two; unless ``gaps`` are allowed they raise, with a ``remedy``.
    """
    check_in_memory(name, values)
    check_names(name, column_names(values))
    series = nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(series, nw.DataFrame):
        if series.shape[1] != 1:
            raise ValueError(f"{name} must be one column, got {series.shape[1]}: {listed(series.columns)}; pick one")
        series = series[series.columns[0]]
    if isinstance(series, nw.Series):
        missing: np.ndarray = series.is_null().to_numpy()
        array: np.ndarray = series.drop_nulls().to_numpy()
    else:
        array = np.asarray(values)
        if isinstance(values, list | tuple) and array.dtype.kind in "US":
            array = np.array(values, dtype=object)  # NumPy would make strings of numbers among them
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim == 0:
            raise ValueError(f"{name} must be a column with one entry per row, such as df['sex'], got {_shown(values)}")
        if array.ndim != 1:
            raise ValueError(f"{name} must be one column, got an array of shape {array.shape}")
        missing = (
            np.ma.getmaskarray(values).ravel() if isinstance(values, np.ma.MaskedArray) else np.zeros(len(array), bool)
        )
        array = array[~missing] if missing.any() else array
    empty = _find_missing(array)
    if empty.any():
        missing = missing.copy()
        missing[~missing] = empty
        array = array[~empty]
    if missing.any() and not gaps:
        raise ValueError(f"{name} has {missing.sum()} missing values; " + remedy)
    if array.dtype.kind not in "biufcOUS":
        raise ValueError(f"{name} must be numbers, booleans or strings, got {array.dtype}")
    if array.dtype.kind in "biufc":
        return array, np.unique(array).tolist(), missing
    # Hashing is much faster than sorting strings.
    try:
        distinct = list(dict.fromkeys(array.tolist()))
    except TypeError:
        kinds = (type(value).__name__ for value in array.tolist() if not isinstance(value, Hashable))
        kind = next(kinds, "tuple that can change")
        raise ValueError(f"{name} must be numbers, booleans or strings, got a {kind}") from None
    return array, sort_values(name, distinct), missing


def sort_values(name: str, values: Sequence[Any]) -> list[Any]:
    """Distinct values of a column, sorted; raises if they are of several types."""
    try:
        return sorted(values)
    except TypeError:
        raise ValueError(f"{name} mixes values of several types: {listed(values)}; use one type throughout") from None


def _find_missing(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype == object:
        return np.array([_lacks_value(value) for value in array.tolist()], bool)
    return np.zeros(len(array), bool)


def _lacks_value(value: Any) -> bool:
    """Whether a value, or a part of it where it is a tuple, is missing."""
    return any(map(is_missing, value)) if isinstance(value, tuple) else is_missing(value)


def is_missing(value: Any) -> bool:
    """Whether a value of a column of objects is none: None, NaN, or what pandas has for it."""
    # pandas.NA is recognised by name, since pandas may not be installed.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Real | Decimal | np.datetime64) and bool(value != value)


def place(rule: str, values: Sequence[Any], wanted: Any) -> int:
    """Where ``wanted`` stands among ``values``; raises with the ``rule`` that it breaks."""
    for place, value in enumerate(values):
        if equal(value, wanted):
            return place
    raise InputError(rule + f", got {wanted!r}")


def equal(a: Any, b: Any) -> bool:
    return bool(np.all(a == b)) and isinstance(a, str) == isinstance(b, str)


def listed(values: Sequence[Any], most: int = SHOWN_VALUES) -> str:
    """Values in words, at ``most`` so many of them, and how many there are if there are more."""
    some = ", ".join(repr(value) for value in values[:most])
    return some if len(values) <= most else f"{some}, ... ({len(values):,} in all)"


def _shown(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, str | Real) else f"a {type(value).__name__}"
