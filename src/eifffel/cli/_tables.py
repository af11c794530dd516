"""Tables from files: features, labels and groups, with errors that name the file, the column and the value."""

import csv
import difflib
import gzip
import hashlib
import io
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from eifffel._optional import import_optional
from eifffel._validation import check_binary_labels, check_favorable
from eifffel._writing import write_whole

SEPARATORS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"
SHOWN = 8
FEWEST_ROWS = 30


@dataclass(frozen=True)
class Task:
    """What is decided about whom: names of columns and values, as texts of the command line.

    Attributes
    ----------
    target, favorable : str
        The column of labels, and the good one.
    sensitive : str
        The column of groups.
    privileged : str, optional
    labels : pair of str, optional
        The unfavourable and the favourable label of a model that was trained on 0 and 1 in their place.
    """

    target: str | None
    favorable: str | None
    sensitive: str
    privileged: str | None = None
    labels: tuple[str, str] | None = None


@dataclass(frozen=True, eq=False)
class Labelled:
    """A table cut into what a model needs.

    Attributes
    ----------
    X : DataFrame
        Features as they were read.
    y : ndarray or None
        Labels.
    group : ndarray
    favorable, privileged : label and group
        As they stand in the table; ``privileged`` may be ``None``.
    n_dropped : int
        Rows left out for want of a label or a group.
    """

    X: Any
    y: np.ndarray | None
    group: np.ndarray
    favorable: Any
    privileged: Any
    n_dropped: int


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
            raise ValueError(f"'{path}' cannot be read as Parquet: {_first_line(error)}") from error
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


def check_table_name(path: Path) -> None:
    """Raise unless a table can be written under that name."""
    if _kind(path)[0] not in (*SEPARATORS, PARQUET):
        raise ValueError(f"a table must end in {_allowed()}, got '{path}'; rename it")


def write_table(path: Path, frame: pd.DataFrame, *, overwrite: bool) -> None:
    """Write a table in the form that its name says."""
    kind, packed = _kind(path)
    if kind == PARQUET:
        content = frame.to_parquet(index=False)
    else:
        content = frame.to_csv(index=False, sep=SEPARATORS[kind]).encode()
    write_whole(path, gzip.compress(content) if packed else content, overwrite=overwrite)


def split_names(text: str | None) -> list[str]:
    """Names separated by commas; one that has a comma in it stands in quotes."""
    names = next(csv.reader([text or ""], skipinitialspace=True), [])
    return [name.strip() for name in names if name.strip()]


def _kind(path: Path) -> tuple[str, bool]:
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
    kind, packed = _kind(path)
    check_table_name(path)
    if path.is_dir():
        raise ValueError(f"'{path}' is a folder; name a table in it")
    try:
        size = path.stat().st_size
        with (
            open(path, "rb") as file,
            tqdm.wrapattr(
                file, "read", total=size, desc=f"reading {path.name}", delay=1, disable=not verbose
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
                f"'{path}' cannot be unpacked: {_first_line(error)}; is it a gzip file, and whole?"
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
        raise ValueError(f"'{path}' cannot be read as a table: {_first_line(error)}") from error


def find_column(frame: pd.DataFrame, name: str, option: str, path: Path) -> str:
    """The column of that name; an error says which there are."""
    if name in frame.columns:
        return name
    near = difflib.get_close_matches(name, frame.columns, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{option}: '{path}' has no column {name!r}{meant or '.'} It has {_listed(list(frame.columns))}")


def cut_table(
    frame: pd.DataFrame,
    task: Task,
    path: Path,
    *,
    drop: Sequence[str] = (),
    keep_sensitive: bool = False,
    drop_missing: bool = False,
    labels_needed: bool = True,
    to_learn: bool = True,
    classes: Sequence[Any] = (),
) -> Labelled:
    """Features, labels and groups of a table; a missing label or group is refused unless ``drop_missing``.

    Rows ``to_learn`` from must be some, and of both labels. ``classes`` are the labels that a model knows.
    """
    for name in drop:
        find_column(frame, name, "--drop", path)
    sensitive = find_column(frame, task.sensitive, "--sensitive", path)
    columns = {"--sensitive": sensitive}
    if task.target is not None and (labels_needed or task.target in frame.columns):
        columns["--target"] = find_column(frame, task.target, "--target", path)
    if columns.get("--target") == sensitive:
        raise ValueError(f"--target and --sensitive are both {sensitive!r}; the label cannot be the group")
    for name in columns.values():
        if name in drop:
            raise ValueError(
                f"--drop names {name!r}, which is needed; leave it out of --drop (labels and groups are no features)"
            )
    gaps = {option: frame[name].isna().to_numpy() for option, name in columns.items()}
    complete = ~np.any(list(gaps.values()), axis=0)
    if not complete.all():
        if not drop_missing:
            option, gap = next((option, gap) for option, gap in gaps.items() if gap.any())
            raise ValueError(
                f"column {columns[option]!r} ({option}) is missing in {gap.sum():,} of {len(frame):,} rows of "
                f"'{path}'; --drop-missing leaves such rows out"
            )
        if not complete.any():
            raise ValueError(f"no row of '{path}' has both a label and a group")
        frame = frame[complete]
    if to_learn and len(frame) < FEWEST_ROWS:
        raise ValueError(
            f"'{path}' has {len(frame)} rows, too few to train, to choose and to measure on; give {FEWEST_ROWS} or more"
        )
    group = _values(frame[sensitive])
    _check_two(group, f"--sensitive: column {sensitive!r}", "make a column that says who belongs to one group")
    privileged = None
    if task.privileged is not None:
        privileged = _match(task.privileged, group, f"--privileged: column {sensitive!r}")
    y, favorable = None, None
    if "--target" in columns:
        y = _values(frame[columns["--target"]])
        if task.labels is not None:
            y, favorable = _code(y, task.labels, columns["--target"]), 1
        elif to_learn:
            what = f"--target: column {columns['--target']!r}"
            _check_two(y, what, "make a column of the favourable label against the rest")
    if task.labels is None and task.favorable is not None and (y is not None or classes):
        known = y if y is not None and not classes else np.array(list(classes), object)
        where = "the model" if classes else f"column {columns['--target']!r}"
        favorable = _match(task.favorable, known, f"--favorable: {where}")
    leave = {columns.get("--target"), *drop, *(() if keep_sensitive else (sensitive,))}
    X = frame[[name for name in frame.columns if name not in leave]].reset_index(drop=True)
    return Labelled(X, y, group, favorable, privileged, int((~complete).sum()))


def _values(column: pd.Series) -> np.ndarray:
    """Labels or groups, none missing: whole numbers as integers, texts as str."""
    array = column.to_numpy()
    if array.dtype.kind not in "biuf":
        array = np.array([str(value).strip() for value in array], object)
        if set(array.tolist()) <= {"True", "False", "true", "false", "TRUE", "FALSE"}:
            # One kind of booleans, however a file spells them and whether or not some were missing.
            return np.array([value.lower() == "true" for value in array])
    if array.dtype.kind == "f" and (array == np.rint(array)).all():
        return array.astype(np.int64)
    return array


def _match(text: str, values: np.ndarray, what: str) -> Any:
    """The value that a text of the command line stands for."""
    distinct = list(dict.fromkeys(values.tolist()))
    for value in distinct:
        names = (str(value), str(value).lower(), str(int(value))) if isinstance(value, bool) else (str(value),)
        if text.strip() in names:
            return value
    raise ValueError(f"{what} has no {text!r}; it has {_listed(sorted(map(str, distinct)))}")


def _check_two(values: np.ndarray, what: str, remedy: str) -> None:
    """Raise unless there are two values."""
    distinct = sorted(set(map(str, values.tolist())))
    if len(distinct) == 1:
        raise ValueError(f"{what} is {distinct[0]!r} in every row; there must be two values to tell apart")
    if len(distinct) > 2:
        raise ValueError(f"{what} has {len(distinct):,} values, {_listed(distinct)}, and must have two; {remedy}")


def code_labels(table: Labelled) -> tuple[Labelled, tuple[str, str] | None]:
    """The table with the labels 0 and 1, and what they stand for; as it is if it has these already."""
    assert table.y is not None
    classes = check_binary_labels(table.y)
    if classes.tolist() == [0, 1] and classes.dtype.kind == "i" and table.favorable in (None, 1):
        return table, None
    place = check_favorable(classes, table.favorable)
    labels = (str(classes.tolist()[1 - place]), str(classes.tolist()[place]))
    return replace(table, y=(table.y == classes[place]).astype(np.int64), favorable=1), labels


def _code(y: np.ndarray, labels: tuple[str, str], column: str) -> np.ndarray:
    texts = np.array([str(value) for value in y.tolist()], object)
    unknown = sorted(set(texts.tolist()) - set(labels))
    if unknown:
        raise ValueError(
            f"column {column!r} has the label {unknown[0]!r}, and the model was trained on {_listed(labels)}"
        )
    return (texts == labels[1]).astype(np.int64)


def _listed(values: Sequence[Any]) -> str:
    shown = ", ".join(repr(value) for value in values[:SHOWN])
    return shown if len(values) <= SHOWN else f"{shown}, ... ({len(values):,} in all)"


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
