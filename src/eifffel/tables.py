"""What callers give for X, y and sensitive_features -> batches of rows: all at hand, one after another, or in files."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw

from eifffel._optional import import_optional
from eifffel._validation import check_select_on, check_table, listed
from eifffel.batches import Batch, Batches, LocalBatches, OneBatch
from eifffel.ensembles import Around

# Rows that are read from files at once: many enough that what each batch costs is little, few enough to be small.
ROWS_PER_BATCH = 1 << 17

FORMS = (
    "Give rows as an array or a data frame, with y and sensitive_features beside it; a folder of Parquet files, with y "
    "and sensitive_features as names of columns; or batches, as a list or a function that gives them: data frames, "
    "with names of columns, or tuples (X, y, sensitive_features), with neither"
)


@dataclass(frozen=True)
class Named:
    """The columns of a table that are labels, groups, weights and features.

    Attributes
    ----------
    y : str or None
    sensitive : tuple of str
    weight : str or None
    features : tuple of str
        Those that the model was trained on, by name; empty where it does not know.
    n_features : int or None
        How many there are, if that is known.
    """

    y: str | None
    sensitive: tuple[str, ...]
    weight: str | None
    features: tuple[str, ...]
    n_features: int | None

    @property
    def others(self) -> list[str]:
        """The columns that are not features, or need not be."""
        return [*dict.fromkeys(name for name in (self.y, *self.sensitive, self.weight) if name is not None)]

    def check(self, columns: Sequence[str]) -> None:
        """Raise if a column is missing."""
        lacking = [name for name in self.others if name not in columns]
        if lacking:
            raise ValueError(f"there is no column {lacking[0]!r}, only {listed(list(columns))}")

    def find_features(self, columns: Sequence[str]) -> list[str]:
        """The columns to give to the model: those it was trained on; else all but labels, weights and, if need be,
        groups."""
        if self.features and set(self.features) <= set(columns):
            return list(self.features)
        every = [name for name in columns if name not in (self.y, self.weight)]
        rest = [name for name in every if name not in self.sensitive]
        for found in (every, rest):
            if len(found) == self.n_features:
                return found
        if self.n_features is None and not self.features:
            return rest
        lacking = [name for name in self.features if name not in columns]
        what = f"the column {lacking[0]!r}" if lacking else f"{self.n_features} columns"
        raise ValueError(f"the model was trained on {what}, and the table has {listed(list(columns))}")

    def cut(self, frame: Any, where: str = "", *, with_features: bool = True) -> Batch:
        """The rows of a data frame."""
        wrapped = nw.from_native(frame, eager_only=True, pass_through=True)
        if not isinstance(wrapped, nw.DataFrame):
            raise TypeError(f"columns are named, and a {type(frame).__name__} has no names of columns. {FORMS}")
        self.check(wrapped.columns)
        X: Any = None
        if with_features:
            features = wrapped.select(self.find_features(wrapped.columns))
            # A model that knows no names was trained on an array.
            named = self.features or not all(dtype.is_numeric() for dtype in features.schema.values())
            X = features.to_native() if named else features.to_numpy()
        return Batch(
            X,
            None if self.y is None else wrapped[self.y].to_native(),
            wrapped.select(list(self.sensitive)).to_native(),
            None if self.weight is None else wrapped[self.weight].to_native(),
            where,
        )


def read_rows(model: Any, X: Any, y: Any, sensitive_features: Any, sample_weight: Any = None) -> Batches:
    """Rows in batches, whichever way they were given; see `FORMS`."""
    check_table(X)
    if type(X).__module__.split(".")[0] == "dask":
        raise TypeError("X is a collection of Dask; use eifffel.dask.trace_path, which goes to where its parts are")
    named = find_named(model, y, sensitive_features, sample_weight)
    if isinstance(X, str | os.PathLike):
        if named is None:
            raise ValueError(
                "X is a folder of Parquet files, and y and sensitive_features must then be names of columns in them, "
                f"as in y='hired', sensitive_features='sex'; got {_shown(y)} and {_shown(sensitive_features)}"
            )
        return _read_parquet(Path(X), named)
    if callable(X) and not hasattr(X, "__array__"):
        return _read_batches(X, named)
    if _is_table(X):
        if named is not None:
            return OneBatch(named.cut(X))
        return OneBatch(Batch(X, y, sensitive_features, sample_weight))
    if named is not None or (y is None and sensitive_features is None):
        if isinstance(X, Iterator):
            raise TypeError(
                f"X is a {type(X).__name__}, which can be read once, and rows are read more than once; give a function "
                "that makes it anew, as in X=lambda: read_batches(), or a list"
            )
        if isinstance(X, Iterable):
            return _read_batches(X.__iter__, named)
    return OneBatch(Batch(X, y, sensitive_features, sample_weight))


def read_selection(model: Any, select_on: Any) -> Batches | None:
    """The selection rows in batches; ``None`` if there are none."""
    return None if select_on is None else read_rows(model, *check_select_on(select_on))


def find_named(model: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Named | None:
    """The columns that y, sensitive_features and sample_weight name; ``None`` if they are columns themselves."""
    sensitive = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
    by_name = isinstance(sensitive, list | tuple) and bool(sensitive) and all(isinstance(s, str) for s in sensitive)
    if not by_name or not (y is None or isinstance(y, str)):
        return None
    if not (sample_weight is None or isinstance(sample_weight, str)):
        raise ValueError(
            f"sample_weight must be the name of a column, as y and sensitive_features are, got {_shown(sample_weight)}"
        )
    features, n_features = _features_of(Around(model))
    return Named(y, tuple(sensitive), sample_weight, features, n_features)


def _features_of(around: Around) -> tuple[tuple[str, ...], int | None]:
    """What a model calls its columns, and how many they are, as far as it knows."""
    for model in (around.outer, around.ensemble):
        for attribute in ("feature_names_in_", "feature_names_"):  # CatBoost has the second
            names = getattr(model, attribute, None)
            if names is not None:
                return tuple(map(str, names)), len(names)
        if not hasattr(model, "predict_proba") and hasattr(model, "num_feature"):  # LightGBM's Booster
            return tuple(model.feature_name()), model.num_feature()
        if not hasattr(model, "predict_proba") and hasattr(model, "num_features"):  # XGBoost's
            return tuple(model.feature_names or ()), model.num_features()
    return (), getattr(around.outer, "n_features_in_", None)


def _is_table(X: Any) -> bool:
    """Whether these are rows, and not batches of them."""
    return hasattr(X, "shape") or hasattr(X, "__array__") or hasattr(X, "__dataframe__") or hasattr(X, "num_row")


def _read_batches(read: Callable[[], Any], named: Named | None) -> LocalBatches:
    def batches() -> Iterator[Batch]:
        given = read()
        if not isinstance(given, Iterable):
            raise TypeError(f"X gives a {type(given).__name__}, which has no batches. {FORMS}")
        for number, batch in enumerate(given, start=1):
            where = f"batch {number}"
            if named is not None:
                try:
                    yield named.cut(batch, where)
                except (TypeError, ValueError) as error:
                    raise type(error)(f"{where}: {error}") from error
            elif isinstance(batch, tuple | list) and len(batch) in (3, 4):
                yield replace(Batch(*batch), where=where)
            else:
                size = f" of {len(batch)} entries" if isinstance(batch, tuple | list) else ""
                raise TypeError(
                    f"{where} is a {type(batch).__name__}{size}, and must be a tuple (X, y, sensitive_features), or "
                    "with sample_weight as a fourth entry; or a data frame, and y and sensitive_features names of "
                    "its columns"
                )

    return LocalBatches(batches)


def _read_parquet(path: Path, named: Named) -> LocalBatches:
    """Files of a folder in the order of their names, one stretch of rows after another."""
    dataset_of = import_optional("pyarrow.dataset", "reading Parquet files needs").dataset
    arrow = import_optional("pyarrow", "reading Parquet files needs")
    import_optional("pandas", "reading Parquet files needs")
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    dataset = dataset_of(path, format="parquet", partitioning="hive")
    columns = dataset.schema.names
    if not columns:
        raise ValueError(f"there are no Parquet files in {path}")
    try:
        named.check(columns)
        features = named.find_features(columns)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error

    def read_parts(wanted: list[str]) -> Iterator[Any]:
        # One group of rows after another: a scan of the whole would read a gigabyte ahead.
        for file in dataset.get_fragments():
            for rows in file.split_by_row_group():
                yield from rows.to_batches(schema=dataset.schema, columns=wanted, batch_size=ROWS_PER_BATCH)

    def stretches(wanted: list[str]) -> Iterator[Any]:
        pending: list[Any] = []
        for part in read_parts(wanted):
            pending.append(part)
            if sum(map(len, pending)) >= ROWS_PER_BATCH:
                yield arrow.Table.from_batches(pending).to_pandas()
                pending = []
        if pending:
            yield arrow.Table.from_batches(pending).to_pandas()

    def read(*, with_features: bool) -> Iterator[Batch]:
        wanted = list(dict.fromkeys([*(features if with_features else []), *named.others]))
        first = 1
        for frame in stretches(wanted):
            where = f"rows {first:,} to {first + len(frame) - 1:,} of {path}"
            first += len(frame)
            yield named.cut(frame, where, with_features=with_features)

    return LocalBatches(lambda: read(with_features=True), lambda: read(with_features=False))


def _shown(value: Any) -> str:
    return "nothing" if value is None else repr(value) if isinstance(value, str) else f"a {type(value).__name__}"
