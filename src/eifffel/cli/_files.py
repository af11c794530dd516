"""Tables in files: CSV, TSV and Parquet, with errors that name the file."""

import csv
import gzip
import hashlib
import io
import warnings
import zlib
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pandas as pd
from tqdm.auto import tqdm

from eifffel._utils.optional import import_optional
from eifffel._utils.writing import write_whole
from eifffel.cli._progress import UntilClosed
from eifffel.exceptions import first_line

SEPARATORS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"


def read_table(
    path: Path, *, separator: str | None = None, texts: Sequence[str] = (), verbose: bool = False
) -> pd.DataFrame:
    """Read a table; ``texts`` are columns whose values stay as they are written."""
    kind, content = _open(path, verbose)
    if kind == PARQUET:
        if separator is not None:
            raise ValueError(f"--separator is for CSV files, and '{path}' is Parquet; leave it out")
        import_optional("pyarrow", "reading Parquet files needs")
        try:
            frame = pd.read_parquet(io.BytesIO(content))
        except Exception as error:  # pyarrow's own errors, of several kinds
            raise ValueError(f"'{path}' cannot be read as Parquet: {first_line(error)}") from error
        frame.columns = [str(name) for name in frame.columns]
        for name in frame.columns[frame.columns.duplicated()]:
            raise ValueError(f"'{path}' has more than one column named {name!r}; rename them")
        frame = frame.assign(**{name: _plain_numbers(frame[name]) for name in frame.columns})
    else:
        frame = _read_csv(path, content, SEPARATORS[kind] if separator is None else separator, texts)
    if frame.empty:
        raise ValueError(f"'{path}' has a header and no rows; there is nothing to learn from or to decide")
    return frame.reset_index(drop=True)


def _plain_numbers(column: pd.Series) -> pd.Series:
    """Decimals as floats, and points in time as days since 1970."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return (column - pd.Timestamp(0, tz=column.dt.tz)) / pd.Timedelta(days=1)
    values = column.dropna()
    if column.dtype == object and len(values) and all(isinstance(value, Decimal) for value in values):
        return column.astype(float)
    return column


def is_table_name(path: Path) -> bool:
    """Whether a file of that name is a table."""
    return _find_ending(path)[0] in (*SEPARATORS, PARQUET)


def check_table_name(path: Path) -> None:
    """Raise unless a table can be written under that name."""
    if not is_table_name(path):
        raise ValueError(f"a table must end in {_allowed()}, got '{path}'; rename it")


def write_table(path: Path, frame: pd.DataFrame, *, overwrite: bool) -> None:
    """Write a table in the form that its name says."""
    kind, packed = _find_ending(path)
    if kind == PARQUET:
        content = frame.to_parquet(index=False)
    else:
        content = frame.to_csv(index=False, sep=SEPARATORS[kind]).encode()
    write_whole(path, gzip.compress(content) if packed else content, overwrite=overwrite)


def split_names(text: str | None) -> list[str]:
    """Names separated by commas; one that has a comma in it stands in quotes."""
    names = next(csv.reader([text or ""], skipinitialspace=True), [])
    return [name.strip() for name in names if name.strip()]


def _find_ending(path: Path) -> tuple[str, bool]:
    """The ending of a name that says what a table is, and whether it is packed."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    return (suffixes[:-1] if packed else suffixes)[-1:][0] if suffixes[: len(suffixes) - packed] else "", packed


def _allowed() -> str:
    return f"{', '.join((*SEPARATORS, PARQUET))}, or in one of these and .gz"


def hash_file(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _open(path: Path, verbose: bool) -> tuple[str, bytes]:
    """The kind of a file and its content, unpacked."""
    kind, packed = _find_ending(path)
    check_table_name(path)
    if path.is_dir():
        raise ValueError(f"'{path}' is a folder; name a table in it")
    try:
        size = path.stat().st_size
        with (
            open(path, "rb") as file,
            tqdm.wrapattr(
                file,
                "read",
                total=size,
                desc=f"reading {path.name}",
                delay=1,
                disable=not verbose,
                file=UntilClosed(),
            ) as watched,
        ):
            content = b"".join(iter(lambda: watched.read(1 << 24), b""))
    except FileNotFoundError:
        raise ValueError(f"there is no file '{path}'; check the name") from None
    except PermissionError:
        raise ValueError(f"no permission to read '{path}'") from None
    if packed:
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"'{path}' cannot be unpacked: {first_line(error)}; is it a gzip file, and whole?"
            ) from error
    if not content.strip():
        raise ValueError(f"'{path}' is empty; give a table with a header and rows")
    return kind, content


def _read_csv(path: Path, content: bytes, separator: str, texts: Sequence[str]) -> pd.DataFrame:
    try:
        head = content.splitlines()[0].decode("utf-8-sig")
        names = next(csv.reader([head], delimiter=separator, skipinitialspace=True))
    except UnicodeDecodeError:
        raise ValueError(f"'{path}' is not UTF-8 text; save it as UTF-8") from None
    except (csv.Error, TypeError) as error:
        raise ValueError(f"--separator must be one character, got {separator!r}") from error
    if len(names) == 1:
        others = [other for other in (",", ";", "\t", "|") if other in names[0]]
        if others:
            raise ValueError(
                f"'{path}' reads as one column named {names[0]!r}; if its values are separated by {others[0]!r}, say "
                f"--separator {others[0]!r}"
            )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"'{path}' has more than one column named {repeated[0]!r}; rename them")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # such as of values that would be lost
            return pd.read_csv(
                io.BytesIO(content),
                sep=separator,
                skipinitialspace=True,
                low_memory=False,
                index_col=False,
                encoding="utf-8-sig",
                dtype=dict.fromkeys(texts, str),
            )
    except UnicodeDecodeError:
        raise ValueError(f"'{path}' is not UTF-8 text; save it as UTF-8") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise ValueError(f"'{path}' cannot be read as a table: {first_line(error)}") from error
