"""Rows in Dask collections: the passes go to where the partitions are, and only counts travel.

The rest of eifffel does not know of Dask; this file says how batches that are partitions of its collections are mapped
and reduced.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

from eifffel._utils.optional import import_optional
from eifffel._utils.parallel import Bar
from eifffel._utils.validation import check_names, column_names, is_dask
from eifffel.rows.batches import Batch, Batches, do_named, merge_found
from eifffel.rows.columns import Features, TableColumns, find_columns, shown

# What so many partitions gave is merged at once.
MERGED_AT_ONCE = 8
# Who needs the libraries.
WHO_NEEDS_DASK = "counting the rows of Dask collections needs"


def read_partitions(
    known: Features,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any = None,
    *,
    features: list[str] | None = None,
    of: str = "",
) -> "DaskBatches":
    """Dask collections as batches, to be read by the current client; the parameters are those of `read_rows`."""
    what = f"X{of}"
    _check_collection(what, X)
    check_names(what, column_names(X))
    named = find_columns(known, y, sensitive_features, sample_weight, features)
    if named is not None:
        if not hasattr(X, "columns"):
            raise TypeError(f"columns are named, and {what}, a Dask {type(X).__name__}, has no names of columns")
        named.check(list(X.columns))
        wanted = list(dict.fromkeys([*named.find_features(list(X.columns)), *named.others]))
        parts, columns = (
            [DaskPartition(part, None, None, None) for part in _delay(X[names])] for names in (wanted, named.others)
        )
        return DaskBatches(find_client(), parts, columns, named)
    if sensitive_features is None or (isinstance(sensitive_features, Mapping) and not sensitive_features):
        raise ValueError(
            f"sensitive_features{of} is missing; pass the group of each row as a Dask collection, or the name of a "
            f"column of {what} with those of y"
        )
    tables = _delay(X)
    given = {"y": y, "sensitive_features": sensitive_features, "sample_weight": sample_weight}
    others = {
        name: None if column is None else _delay_beside(f"{name}{of}", column, what, X)
        for name, column in given.items()
    }
    for name, found in others.items():
        if found is not None and len(found) != len(tables):
            raise ValueError(
                f"{name}{of} has {len(found)} partitions, and {what} has {len(tables)}; give columns of one data "
                f"frame, or repartition {name} as X is"
            )
    rows = [tuple(None if found is None else found[k] for found in others.values()) for k in range(len(tables))]
    parts = [DaskPartition(part, *row) for part, row in zip(tables, rows, strict=True)]
    return DaskBatches(find_client(), parts, [DaskPartition(None, *row) for row in rows], None)


def find_client() -> Any:
    """The current client of Dask."""
    distributed = import_optional("distributed", WHO_NEEDS_DASK)
    try:
        return distributed.default_client()
    except ValueError:
        raise ValueError(
            "there is no Dask client; start one, as in client = dask.distributed.Client(), or make one that you have "
            "the current one, as in with client.as_current():"
        ) from None


@dataclass(frozen=True)
class DaskPartition:
    """A batch that is elsewhere: what becomes its X, y, sensitive_features and sample_weight there."""

    X: Any
    y: Any
    sensitive_features: Any
    sample_weight: Any


@dataclass(frozen=True)
class Errand:
    """All that is done with a partition where it is."""

    named: TableColumns | None
    functions: tuple[Callable[[Any], Any], ...]
    with_features: bool

    def run(self, number: int, where: str, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Any:
        """What the last function gives; ``None`` for a partition without rows."""
        batch: Any = Batch(X, y, sensitive_features, sample_weight, where, number=number)
        if len(batch) == 0:
            return None
        functions = self.functions if self.named is None else (self._cut, *self.functions)
        for function in functions:
            batch = do_named(function, batch)
        return batch

    def _cut(self, table: Batch) -> Batch:
        assert self.named is not None
        batch = self.named.cut(table.X, table.where, with_features=self.with_features)
        return replace(batch, number=table.number)


class DaskBatches(Batches):
    """The partitions of Dask collections.

    Parameters
    ----------
    client : distributed.Client
    parts : list of DaskPartition
        Of delayed objects; of a named table, ``X`` is all of it.
    columns : list of DaskPartition
        The same without features.
    named : TableColumns or None
        The columns of a table that are not features.
    functions : tuple of callables
        What is made of each.
    """

    stay = True

    def __init__(
        self,
        client: Any,
        parts: list[DaskPartition],
        columns: list[DaskPartition],
        named: TableColumns | None,
        functions: tuple[Callable[[Any], Any], ...] = (),
        *,
        with_features: bool = True,
    ):
        self._client, self._parts, self._columns, self._named = client, parts, columns, named
        self._functions, self._with_features = functions, with_features

    def threads(self, n_jobs: int | None) -> int | None:
        return 1  # a worker has a thread of its own for each partition that it works on

    def map(self, function: Callable[[Any], Any], budget: float = 0) -> "DaskBatches":
        functions = (*self._functions, function)
        return DaskBatches(self._client, self._parts, self._columns, self._named, functions)

    @property
    def without_features(self) -> "DaskBatches":
        return DaskBatches(self._client, self._columns, self._columns, self._named, with_features=False)

    def reduce(
        self, work: Callable[[Any], Any], merge: Callable[[Any, Any], Any], bar: Bar, n_rows: int | None = None
    ) -> Any:
        dask, distributed = (import_optional(name, WHO_NEEDS_DASK) for name in ("dask", "distributed"))
        errand = Errand(self._named, (*self._functions, work), self._with_features)
        # Sent once to every worker; whoever comes later gets it from another.
        there = self._client.scatter(errand, broadcast=True, hash=False)
        run = dask.delayed(run_errand, pure=False)
        n_parts = len(self._parts)
        tasks = [
            run(there, k, name_partition(k, n_parts), part.X, part.y, part.sensitive_features, part.sample_weight)
            for k, part in enumerate(self._parts)
        ]
        number = {}
        finished = distributed.as_completed(loop=self._client.loop)
        for k, future in enumerate(self._client.compute(tasks)):
            number[future.key] = k
            finished.add(future)
        del tasks, future
        unmerged: list[Any] = []
        with bar.open(n_parts, unit=" partitions") as progress:
            for future in finished:
                if future.status != "finished":
                    raise_failed(future, number.get(future.key), n_parts)
                progress.update(future.key in number)
                unmerged.append(future)
                # No reference to what was merged stays, so that the workers can let it go.
                if len(unmerged) == MERGED_AT_ONCE:
                    finished.add(self._client.submit(merge_partitions, merge, unmerged, pure=False))
                    unmerged = []
        return self._client.submit(merge_partitions, merge, unmerged, pure=False).result()


def name_partition(number: int, n_parts: int) -> str:
    """What a partition is called in errors; ``X.partitions[number]`` is it."""
    return f"partition {number} (of 0 to {n_parts - 1})"


def run_errand(errand: Errand, number: int, where: str, *columns: Any) -> Any:
    """What an errand makes of a partition, on the worker that has it."""
    return errand.run(number, where, *columns)


def merge_partitions(merge: Callable[[Any, Any], Any], found: list[Any]) -> Any:
    """Merge what several partitions gave, on a worker."""
    return reduce(partial(merge_found, merge), found)


def raise_failed(future: Any, number: int | None, n_parts: int) -> None:
    """Raise what went wrong, with the partition in which it did."""
    error, where = future.exception(), "" if number is None else name_partition(number, n_parts)
    if error is None:
        raise RuntimeError(f"{where} was {future.status}")
    if number is None or getattr(error, "where", None) == where:
        raise error
    raise RuntimeError(f"{where}: {type(error).__name__}: {error}") from error


def _check_collection(name: str, collection: Any) -> None:
    """Raise if a collection of Dask has no rows and columns: a bag, a delayed object, a single number."""
    kind = type(collection)  # a delayed object itself has any attribute
    if not hasattr(kind, "to_delayed") or getattr(collection, "ndim", 0) == 0:
        raise TypeError(
            f"{name} must be a Dask data frame, series or array, got a {kind.__name__} of Dask; make one of it, as "
            "dask.dataframe.from_delayed does, or read files with dask.dataframe.read_parquet"
        )


def _delay_beside(name: str, given: Any, what: str, X: Any) -> Any:
    """The partitions of y, sensitive_features or sample_weight; of a dict of columns, dicts."""
    if isinstance(given, Mapping):
        columns = {key: _delay_beside(f"{key!r} of {name}", column, what, X) for key, column in given.items()}
        sizes = {len(parts) for parts in columns.values()}
        if len(sizes) > 1:
            raise ValueError(f"the columns of {name} have {sorted(sizes)} partitions; give columns of one data frame")
        return [{key: parts[k] for key, parts in columns.items()} for k in range(sizes.pop())]
    if not is_dask(given):
        raise TypeError(
            f"{what} is a Dask {type(X).__name__}, and {name} is {shown(given)}; beside it y, sensitive_features and "
            "sample_weight must be Dask collections, or, if it is a data frame, all names of its columns. Make a "
            f"collection of {name}, as dask.array.from_array does, or a column of the data frame; or give all rows in "
            "memory, as compute() does"
        )
    _check_collection(name, given)
    return _delay(given, like=X)


def _delay(collection: Any, like: Any = None) -> list[Any]:
    """The partitions of a collection as delayed objects, cut as those of another where that can be done."""
    if hasattr(collection, "chunks"):
        if collection.ndim == 2 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        rows = getattr(like, "chunks", (collection.chunks[0],))[0]
        if rows != collection.chunks[0] and sum(rows) == sum(collection.chunks[0]):
            collection = collection.rechunk({0: rows})
        delayed: list[Any] = collection.to_delayed().ravel().tolist()
        return delayed
    # Columns that are not needed are not read, but partitions stay as they are: Dask's full optimization would read
    # several at once where columns are few, and then not the same ones of X and of y.
    return list(collection.simplify().to_delayed(optimize_graph=False))
