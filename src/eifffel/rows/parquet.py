"""Rows in Parquet files, one stretch after another, of the columns that are needed."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from eifffel._utils.optional import import_optional
from eifffel._utils.validation import check_names
from eifffel.exceptions import first_line
from eifffel.rows.batches import Batch, LocalBatches
from eifffel.rows.columns import TableColumns

# Rows that are read at once: many enough that what each batch costs is little, few enough to be small.
ROWS_PER_BATCH = 1 << 17


def read_parquet(paths: Sequence[Path], named: TableColumns) -> LocalBatches:
    """Read files, or those of a folder, in the order of their names; a fault in one is raised before any is read."""
    modules = ("pyarrow", "pyarrow.dataset", "pyarrow.parquet")
    arrow, dataset_of, parquet = (import_optional(name, "reading Parquet files needs") for name in modules)
    import_optional("pandas", "reading Parquet files needs")
    for path in paths:
        if ":/" in str(path):
            raise ValueError(
                f"{path} is elsewhere, and files are read from this machine; give a function that reads them in "
                "batches, or a Dask data frame, as dask.dataframe.read_parquet does"
            )
        if not path.exists():
            raise FileNotFoundError(f"there is no file or folder {path}")
    called = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} other files"
    try:
        given = paths[0] if len(paths) == 1 else [str(path) for path in paths]
        dataset = dataset_of.dataset(given, format="parquet", partitioning="hive")
    except arrow.ArrowInvalid as error:
        with suppress(arrow.ArrowInvalid):  # what cannot be read is raised below
            for file in _list_files(paths):
                check_names(str(file), parquet.read_schema(file).names)
        raise ValueError(
            f"{called} is not in Parquet format, or is damaged ({first_line(error)}). For other files, give a "
            "function that reads them in batches, as in X=lambda: pandas.read_csv('people.csv', chunksize=100_000)"
        ) from error
    columns = dataset.schema.names
    files = list(dataset.get_fragments())
    if not files:
        raise ValueError(f"there are no Parquet files in {called}")
    for file in files:
        check_names(file.path, file.physical_schema.names)
    try:
        named.check(columns)
        features = named.find_features(columns)
    except ValueError as error:
        raise ValueError(f"{called}: {error}") from error
    every = list(dict.fromkeys([*features, *named.others]))
    schema = arrow.schema([_common_field(name, files, dataset.schema, arrow) for name in every])

    def read_parts(wanted: list[str]) -> Iterator[tuple[str, int, Any]]:
        """The name of a file, the number of a row in it, and rows from there on."""
        for file in files:
            # One group of rows after another: a scan of the whole would read a gigabyte ahead.
            row = 1
            for group in file.split_by_row_group():
                for part in group.to_batches(schema=schema, columns=wanted, batch_size=ROWS_PER_BATCH):
                    yield file.path, row, part
                    row += len(part)

    def read(*, with_features: bool) -> Iterator[Batch]:
        wanted = list(dict.fromkeys([*(features if with_features else []), *named.others]))
        pending: list[tuple[str, int, Any]] = []

        def cut() -> Batch:
            frame = arrow.Table.from_batches([part for *_, part in pending]).to_pandas(ignore_metadata=True)
            return named.cut(frame, _name_stretch(pending), with_features=with_features)

        for found in read_parts(wanted):
            pending.append(found)
            if sum(len(part) for *_, part in pending) >= ROWS_PER_BATCH:
                yield cut()
                pending = []
        if pending:
            yield cut()

    return LocalBatches(lambda: read(with_features=True), lambda: read(with_features=False))


def _list_files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.rglob("*.parquet")) if path.is_dir() else [path]


def _common_field(name: str, files: Sequence[Any], schema: Any, arrow: Any) -> Any:
    """A column with the type that it can be read as from all files.

    Raises if one lacks it, or has it as another kind of values: it would be read as missing, or as text.
    """
    found: list[tuple[Any, Any]] = []
    for file in files:
        own = file.physical_schema
        if name in own.names:
            found.append((file, own.field(name).type))
        elif name not in arrow.dataset.get_partition_keys(file.partition_expression):  # else a folder's name has it
            raise ValueError(
                f"{file.path} has no column {name!r}, which other files have; it has {', '.join(own.names)}"
            )
    found = [(file, type_) for file, type_ in found if not arrow.types.is_null(type_)]
    types = list(dict.fromkeys(type_ for _, type_ in found))
    if len(types) < 2:
        return arrow.field(name, types[0] if types else schema.field(name).type)
    kinds = {_type_of_values(type_, arrow.types): (file, type_) for file, type_ in reversed(found)}
    if len(kinds) > 1:
        (one, (file, _)), (other, _) = list(kinds.items())[:2]
        raise ValueError(f"{file.path} has the column {name!r} as {one}, and other files as {other}; make them alike")
    if "numbers" in kinds:
        whole = all(arrow.types.is_integer(type_) for type_ in types)
        return arrow.field(name, arrow.int64() if whole else arrow.float64())
    return arrow.field(name, arrow.string() if "text" in kinds else types[0])


def _type_of_values(type_: Any, types: Any) -> str:
    if types.is_dictionary(type_):
        type_ = type_.value_type
    if types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_):
        return "numbers"
    return "text" if types.is_string(type_) or types.is_large_string(type_) else str(type_)


def _name_stretch(pending: list[tuple[str, int, Any]]) -> str:
    """Which rows of which files these are."""
    (first, begin, _), (last, row, part) = pending[0], pending[-1]
    end = row + len(part) - 1
    if first == last:
        return f"rows {begin:,} to {end:,} of {first}"
    return f"row {begin:,} of {first} to row {end:,} of {last}"
