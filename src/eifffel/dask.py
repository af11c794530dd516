"""Paths of data on many machines: the passes go to where the partitions are, and only counts travel.

The rest of eifffel does not know of Dask; this file says how batches that are partitions of its collections are mapped
and reduced.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from eifffel._optional import import_optional
from eifffel._parallel import Bar
from eifffel._validation import check_model, check_names, check_select_on, column_names
from eifffel.comparison import Comparison
from eifffel.constraints import DEMOGRAPHIC_PARITY, MIN_GROUP_ROWS
from eifffel.path import FairnessPath
from eifffel.rows.batches import Batch, Batches, do_named, merge_found
from eifffel.rows.columns import TableColumns, check_features, find_columns
from eifffel.rows.groups import EACH
from eifffel.rows.sensitive import ERROR
from eifffel.strategies import ANY, AUTO
from eifffel.tracing import Tracing, trace_rows

__all__ = ["measure_path", "trace_path"]

# What so many partitions gave is merged at once.
MERGED_AT_ONCE = 8


def trace_path(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    strategy: str = AUTO,
    direction: str = ANY,
    constraint: str = DEMOGRAPHIC_PARITY,
    combine: str = EACH,
    min_group_rows: int = MIN_GROUP_ROWS,
    missing: str = ERROR,
    select_on: tuple[Any, ...] | None = None,
    keep_apart: bool = False,
    privileged: Any = None,
    favorable: Any = None,
    monotone: Mapping[Any, int] | None = None,
    sample_weight: Any = None,
    features: Sequence[str] | None = None,
    client: Any = None,
    verbose: int = 0,
) -> FairnessPath:
    """`eifffel.trace_path` for Dask collections: the same path, counted where the partitions are.

    The model is sent to every worker, and each pass sends back counts. For ``strategy="leaf"`` and ``"tree"`` the path
    is that of the same rows in memory, bit for bit, however they are partitioned. For ``"shift"`` the direction is
    fitted on a sample of about 100,000 kinds of rows, which is chosen by a hash of what is in them; its leaf indices
    travel, without features. Rows are then counted exactly at 10,000 steps, which are quantiles of that sample's.

    Parameters
    ----------
    model : fitted classifier
        As in `eifffel.trace_path`; or one that LightGBM or XGBoost trained on Dask, of which the local model, or the
        Booster, is taken.
    X, y, sensitive_features : Dask data frame, series or array
        With equal partitions; ``sensitive_features`` may be a dict of them. Or ``X`` is a data frame, and the other two
        are names of its columns, which is best: then each partition is read once in a pass.
    client : distributed.Client, optional
        By default the current one.
    select_on, sample_weight : optional
        Dask collections likewise.
    features : list of str, optional
        The columns of a table that are the model's features, in its order, for a model that was trained without names.
        They must then be named; the order of a table says nothing.
    strategy, direction, constraint, combine, min_group_rows, missing, keep_apart, privileged, favorable, monotone
        As in `eifffel.trace_path`.
    verbose : int
        Above 0, a progress bar counts partitions.

    Returns
    -------
    FairnessPath
        It holds no rows, so that `model_at` checks what it wrote by reading it back, and not on rows.

    Raises
    ------
    ValueError
        If there is no client, or collections are not partitioned alike.
    TypeError
        If rows are no collections of Dask.

    See Also
    --------
    measure_path : The same path on other rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import eifffel.dask
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(2000, random_state=0)
    >>> model = RandomForestClassifier(20, random_state=0).fit(people.data[:1000], people.target[:1000])
    >>> X, y, s = (da.from_array(a, chunks=500) for a in (people.data, people.target, people.sensitive))
    >>> with Client(processes=False, dashboard_address="127.0.0.1:0") as client:
    ...     path = eifffel.dask.trace_path(model, X[:1000], y[:1000], sensitive_features=s[:1000],
    ...                                    select_on=(X[1000:], y[1000:], s[1000:]))
    >>> path.select(epsilon=0.05).met
    True
    """
    comparison = Comparison(favorable, privileged, constraint, combine, min_group_rows, missing)
    tracing = Tracing(strategy, direction, keep_apart, monotone, n_jobs=1, verbose=verbose)
    model, client = to_local(model), find_client(client)
    others = None if select_on is None else check_select_on(select_on)
    names = check_features(features, (y, sensitive_features), *([] if others is None else [others[1:3]]))
    scoring = read_partitions(model, client, X, y, sensitive_features, sample_weight, names)
    selection = None if others is None else read_partitions(model, client, *others, names)
    return trace_rows(model, scoring, selection, comparison, tracing)


def measure_path(
    path: FairnessPath,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    features: Sequence[str] | None = None,
    client: Any = None,
    verbose: int = 0,
) -> FairnessPath:
    """`FairnessPath.measure` for Dask collections: the same path on other rows, counted where they are.

    ``path.verdict(selection)`` of what comes out says whether a bound still holds there.

    Parameters
    ----------
    path : FairnessPath
        Of `eifffel.trace_path` or `trace_path`.
    X, y, sensitive_features, sample_weight
        Dask collections, or names of columns, as in `trace_path`; ``y`` may be ``None``.
    features : list of str, optional
        As in `trace_path`.
    client : distributed.Client, optional
        By default the current one.
    verbose : int
        Above 0, a progress bar counts partitions.

    Returns
    -------
    FairnessPath
        The same edits, with the counts of these rows.

    Raises
    ------
    ValueError, TypeError
        As in `trace_path`, and if rows have a group or a label that the path does not know.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import eifffel.dask
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> path = eifffel.trace_path(DecisionTreeClassifier().fit(age, paid), age, paid, sensitive_features=sex)
    >>> X, y, s = (da.from_array(column, chunks=2) for column in ([[22], [24], [60]], [1, 0, 1], ["f", "m", "m"]))
    >>> with Client(processes=False, dashboard_address="127.0.0.1:0") as client:
    ...     later = eifffel.dask.measure_path(path, X, y, sensitive_features=s)
    >>> later.discrimination.tolist()
    [0.5, 0.0, -0.5]
    """
    names = check_features(features, (y, sensitive_features))
    partitions = read_partitions(path.model, find_client(client), X, y, sensitive_features, sample_weight, names)
    return path.measure_batches(partitions, n_jobs=1, verbose=verbose)


def to_local(model: Any) -> Any:
    """The model that a model trained on Dask holds; any other as it is."""
    check_model(model)
    if hasattr(model, "to_local"):  # LightGBM's
        return model.to_local()
    if type(model).__name__.startswith("DaskXGB"):
        return model.get_booster()
    return model


def find_client(client: Any) -> Any:
    """The client that was given, or the current one."""
    distributed = import_optional("distributed", "eifffel.dask needs")
    if client is not None:
        return client
    try:
        return distributed.default_client()
    except ValueError:
        raise ValueError(
            "there is no Dask client; start one, as in client = dask.distributed.Client(), or pass client="
        ) from None


@dataclass(frozen=True)
class Partition:
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

    def run(self, where: str, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Any:
        """What the last function gives; ``None`` for a partition without rows."""
        batch: Any = Batch(X, y, sensitive_features, sample_weight, where)
        if len(batch) == 0:
            return None
        functions = self.functions if self.named is None else (self._cut, *self.functions)
        for function in functions:
            batch = do_named(function, batch)
        return batch

    def _cut(self, table: Batch) -> Batch:
        assert self.named is not None
        return self.named.cut(table.X, table.where, with_features=self.with_features)


class Partitions(Batches):
    """The partitions of Dask collections.

    Parameters
    ----------
    client : distributed.Client
    parts : list of Partition
        Of delayed objects; of a named table, ``X`` is all of it.
    columns : list of Partition
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
        parts: list[Partition],
        columns: list[Partition],
        named: TableColumns | None,
        functions: tuple[Callable[[Any], Any], ...] = (),
        *,
        with_features: bool = True,
    ):
        self._client, self._parts, self._columns, self._named = client, parts, columns, named
        self._functions, self._with_features = functions, with_features

    def map(self, function: Callable[[Any], Any], budget: float = 0) -> "Partitions":
        functions = (*self._functions, function)
        return Partitions(self._client, self._parts, self._columns, self._named, functions)

    @property
    def without_features(self) -> "Partitions":
        return Partitions(self._client, self._columns, self._columns, self._named, with_features=False)

    def reduce(
        self, work: Callable[[Any], Any], merge: Callable[[Any, Any], Any], bar: Bar, n_rows: int | None = None
    ) -> Any:
        dask, distributed = (
            import_optional("dask", "eifffel.dask needs"),
            import_optional("distributed", "eifffel.dask needs"),
        )
        errand = Errand(self._named, (*self._functions, work), self._with_features)
        # Sent once to every worker; whoever comes later gets it from another.
        there = self._client.scatter(errand, broadcast=True, hash=False)
        run = dask.delayed(_run, pure=False)
        n_parts = len(self._parts)
        tasks = [
            run(there, name_partition(k, n_parts), part.X, part.y, part.sensitive_features, part.sample_weight)
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
                    _raise(future, number.get(future.key), n_parts)
                progress.update(future.key in number)
                unmerged.append(future)
                # No reference to what was merged stays, so that the workers can let it go.
                if len(unmerged) == MERGED_AT_ONCE:
                    finished.add(self._client.submit(_merge, merge, unmerged, pure=False))
                    unmerged = []
        return self._client.submit(_merge, merge, unmerged, pure=False).result()


def name_partition(number: int, n_parts: int) -> str:
    """What a partition is called in errors; ``X.partitions[number]`` is it."""
    return f"partition {number} (of 0 to {n_parts - 1})"


def _run(errand: Errand, where: str, *columns: Any) -> Any:
    return errand.run(where, *columns)


def _merge(merge: Callable[[Any, Any], Any], found: list[Any]) -> Any:
    return reduce(partial(merge_found, merge), found)


def _raise(future: Any, number: int | None, n_parts: int) -> None:
    """Raise what went wrong, with the partition in which it did."""
    error, where = future.exception(), "" if number is None else name_partition(number, n_parts)
    if error is None:
        raise RuntimeError(f"{where} was {future.status}")
    if number is None or getattr(error, "where", None) == where:
        raise error
    raise RuntimeError(f"{where}: {type(error).__name__}: {error}") from error


def read_partitions(
    model: Any,
    client: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any = None,
    features: list[str] | None = None,
) -> Partitions:
    """Dask collections as batches; ``features`` names the columns of a model that does not know their names."""
    _check_collection("X", X)
    check_names("X", column_names(X))
    named = find_columns(model, y, sensitive_features, sample_weight, features)
    if named is not None:
        if not hasattr(X, "columns"):
            raise TypeError(f"columns are named, and X, a Dask {type(X).__name__}, has no names of columns")
        named.check(list(X.columns))
        wanted = list(dict.fromkeys([*named.find_features(list(X.columns)), *named.others]))
        parts, columns = (
            [Partition(part, None, None, None) for part in _parts("X", X[names])] for names in (wanted, named.others)
        )
        return Partitions(client, parts, columns, named)
    tables = _parts("X", X)
    given = {"y": y, "sensitive_features": sensitive_features, "sample_weight": sample_weight}
    others = {name: _parts(name, column, like=X) for name, column in given.items()}
    for name, found in others.items():
        if found is not None and len(found) != len(tables):
            raise ValueError(
                f"{name} has {len(found)} partitions, and X has {len(tables)}; give columns of one data frame, or "
                f"repartition {name} as X is"
            )
    rows = [tuple(None if found is None else found[k] for found in others.values()) for k in range(len(tables))]
    parts = [Partition(part, *row) for part, row in zip(tables, rows, strict=True)]
    return Partitions(client, parts, [Partition(None, *row) for row in rows], None)


def _check_collection(name: str, collection: Any) -> None:
    if not hasattr(collection, "to_delayed"):
        raise TypeError(
            f"{name} must be a Dask data frame, series or array, got a {type(collection).__name__}; for files give "
            "dask.dataframe.read_parquet(...), and for rows in memory use eifffel.trace_path"
        )


def _parts(name: str, collection: Any, like: Any = None) -> Any:
    """The partitions of a collection as delayed objects, cut as those of another where that can be done."""
    if collection is None:
        return None
    if isinstance(collection, Mapping):
        columns = {key: _parts(name, column, like) for key, column in collection.items()}
        sizes = {len(parts) for parts in columns.values()}
        if len(sizes) > 1:
            raise ValueError(f"the columns of {name} have {sorted(sizes)} partitions; give columns of one data frame")
        return [{key: parts[k] for key, parts in columns.items()} for k in range(sizes.pop())]
    _check_collection(name, collection)
    if hasattr(collection, "chunks"):
        if collection.ndim == 2 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        rows = getattr(like, "chunks", (collection.chunks[0],))[0]
        if rows != collection.chunks[0] and sum(rows) == sum(collection.chunks[0]):
            collection = collection.rechunk({0: rows})
        return collection.to_delayed().ravel().tolist()
    # Columns that are not needed are not read, but partitions stay as they are: Dask's full optimization would read
    # several at once where columns are few, and then not the same ones of X and of y.
    return collection.simplify().to_delayed(optimize_graph=False)
