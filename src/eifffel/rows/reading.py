"""What callers give for X, y and sensitive_features -> batches of rows: in memory, one by one, in files, or of Dask."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from eifffel._utils.validation import check_in_memory, check_select_on, check_table, is_dask
from eifffel.rows.batches import Batch, Batches, LocalBatches, OneBatch, do_named
from eifffel.rows.columns import Features, TableColumns, find_columns, shown
from eifffel.rows.dask import read_partitions
from eifffel.rows.parquet import read_parquet

ROW_FORMS = (
    "Give rows as an array or a data frame, with y and sensitive_features beside it; a Parquet file, a list of them or "
    "a folder, with y and sensitive_features as names of columns; batches, as a list or a function that gives them: "
    "data frames, with names of columns, or tuples (X, y, sensitive_features), with neither; or Dask collections, or a "
    "Dask data frame with names of columns"
)


def read_rows(
    known: Features,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any = None,
    *,
    features: list[str] | None = None,
    of: str = "",
) -> Batches:
    """Rows in batches, whichever way they were given; see `ROW_FORMS`.

    ``known`` are the features of the model, ``features`` names them if it does not know their names, and ``of`` says
    in errors which rows these are, as in "X of select_on".
    """
    if is_dask(X):
        return read_partitions(known, X, y, sensitive_features, sample_weight, features=features, of=of)
    given = {"y": y, "sensitive_features": sensitive_features, "sample_weight": sample_weight}
    for name, column in given.items():
        for part in column.values() if isinstance(column, Mapping) else [column]:
            if is_dask(part):
                check_in_memory(f"{name}{of}", part)
    what = f"X{of}"
    check_table(X, what)
    named = find_columns(known, y, sensitive_features, sample_weight, features, X if _is_table(X) else None)
    files = [X] if isinstance(X, str | os.PathLike) else X
    if isinstance(files, list | tuple) and files and all(isinstance(path, str | os.PathLike) for path in files):
        if named is None:
            raise ValueError(
                f"{what} names Parquet files, and y and sensitive_features must then be names of columns in "
                f"them, as in y='hired', sensitive_features='sex'; got {shown(y)} and {shown(sensitive_features)}"
            )
        return read_parquet([Path(path) for path in files], named)
    if callable(X) and not hasattr(X, "__array__"):
        return _read_batches(X, named)
    if _is_table(X):
        if named is not None:
            return OneBatch(named.cut(X))
        return OneBatch(Batch(X, y, sensitive_features, sample_weight))
    if named is not None or (y is None and sensitive_features is None):
        if isinstance(X, Iterator):
            raise TypeError(
                f"{what} is a {type(X).__name__}, which can be read once, and rows are read more than once; give a "
                "function that makes it again, as in lambda: read_batches(), or a list"
            )
        if isinstance(X, Iterable):
            return _read_batches(X.__iter__, named)
    return OneBatch(Batch(X, y, sensitive_features, sample_weight))


def read_selection(known: Features, select_on: Any, features: list[str] | None = None) -> Batches | None:
    """The selection rows in batches; ``None`` if there are none."""
    if select_on is None:
        return None
    return read_rows(known, *check_select_on(select_on), features=features, of=" of select_on")


def _is_table(X: Any) -> bool:
    """Whether these are rows, and not batches of them."""
    return hasattr(X, "shape") or hasattr(X, "__array__") or hasattr(X, "__dataframe__") or hasattr(X, "num_row")


def _read_batches(read: Callable[[], Any], named: TableColumns | None) -> LocalBatches:
    def batches() -> Iterator[Batch]:
        given = read()
        if not isinstance(given, Iterable):
            raise TypeError(f"X gives a {type(given).__name__}, which has no batches. {ROW_FORMS}")
        for number, batch in enumerate(given, start=1):
            where = f"batch {number}"
            if named is not None:
                yield do_named(named.cut_batch, Batch(batch, None, None, None, where))
            elif isinstance(batch, tuple | list) and len(batch) in (3, 4):
                rows, y, sensitive_features, *weight = batch
                yield Batch(rows, y, sensitive_features, weight[0] if weight else None, where)
            else:
                size = f" of {len(batch)} entries" if isinstance(batch, tuple | list) else ""
                raise TypeError(
                    f"{where} is a {type(batch).__name__}{size}, and must be a tuple (X, y, sensitive_features), or "
                    "with sample_weight as a fourth entry; or a data frame, and y and sensitive_features names of "
                    "its columns"
                )

    return LocalBatches(batches)
