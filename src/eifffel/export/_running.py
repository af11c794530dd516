"""ONNX models, read and run by onnxruntime on rows as a user has them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from eifffel._utils.optional import import_optional
from eifffel._utils.validation import is_missing
from eifffel.exceptions import ModelFileError, first_line
from eifffel.export._steps import MISSING_TEXT

TYPES = {"tensor(double)": np.float64, "tensor(float)": np.float32, "tensor(string)": object}
ERRORS_ONLY = 4  # of onnxruntime's own log


def open_session(onnx: Any) -> Any:
    """An ONNX model, its bytes or its path -> a session of onnxruntime on the processor."""
    runtime = import_optional("onnxruntime", "running an ONNX model needs")
    if isinstance(onnx, str | Path):
        try:
            content = Path(onnx).read_bytes()
        except OSError as error:
            raise ModelFileError(f"'{onnx}' cannot be read: {error.strerror}; name an ONNX file") from None
        said = f"'{onnx}'"
    else:
        content = onnx.SerializeToString() if hasattr(onnx, "SerializeToString") else onnx
        said = "what was given as onnx"
    if not isinstance(content, bytes):
        raise TypeError(f"onnx must be an ONNX model, its bytes or the path of its file, got {type(onnx).__name__}")
    options = runtime.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    options.intra_op_num_threads = 1  # so that trees are added in their order
    try:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own, of several kinds
        why = first_line(error) if content else "it is empty"
        raise ModelFileError(f"{said} is no ONNX model that onnxruntime can run: {why}") from error


def feeder(session: Any, X: Any) -> Callable[[Any], dict[str, np.ndarray]]:
    """A function from rows like ``X`` to what a session takes; raises if it takes something else."""
    inputs = session.get_inputs()
    for given in inputs:
        if given.type not in TYPES:
            raise ValueError(
                f"the ONNX model takes {given.type} as {given.name!r}; eifffel feeds float64, float32 and texts, as "
                "eifffel.to_onnx writes them"
            )
    frame = _as_frame(X)
    names = [] if frame is None else frame.columns
    is_matrix = len(inputs) == 1 and (inputs[0].shape[-1] != 1 or inputs[0].name not in names)
    if is_matrix:
        (given,) = inputs
        n_columns = len(names) if frame is not None else (X.shape[1] if getattr(X, "ndim", 2) == 2 else 0)
        width = given.shape[1] if len(given.shape) == 2 else None
        if isinstance(width, int) and width != n_columns:
            raise ValueError(f"the ONNX model takes {width} columns, and X has {n_columns}; pass those it was made for")
        return lambda rows: {given.name: _matrix(rows, TYPES[given.type])}
    absent = [given.name for given in inputs if given.name not in names]
    if frame is None or absent:
        what = "no names of columns" if frame is None else f"no column {absent[0]!r}"
        wanted = ", ".join(repr(given.name) for given in inputs)
        raise ValueError(
            f"the ONNX model takes columns by name, {wanted}, and X has {what}; pass a frame with all of them"
        )
    return lambda rows: {
        given.name: _typed_column(_as_frame(rows)[given.name], TYPES[given.type])[:, None] for given in inputs
    }


def missing_in(fed: dict[str, np.ndarray]) -> np.ndarray:
    """Whether each row of what is fed holds a missing value."""
    gaps = [array == MISSING_TEXT if array.dtype == object else np.isnan(array) for array in fed.values()]
    return np.any(np.concatenate(gaps, axis=1), axis=1, keepdims=True)[:, 0]


def _as_frame(X: Any) -> Any:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _matrix(rows: Any, kind: Any) -> np.ndarray:
    frame = _as_frame(rows)
    if frame is not None:
        return np.column_stack([_typed_column(frame[name], kind) for name in frame.columns])
    dense = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    return _texts(dense.ravel().tolist()).reshape(dense.shape) if kind is object else dense.astype(kind)


def _typed_column(column: Any, kind: Any) -> np.ndarray:
    if kind is object:
        return _texts(column.to_list())
    if column.dtype.is_numeric():
        return column.to_numpy().astype(kind)
    try:
        return np.array([np.nan if is_missing(value) else float(value) for value in column.to_list()], kind)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the column {column.name!r} of X must hold numbers for the ONNX model: {error}") from None


def _texts(values: list[Any]) -> np.ndarray:
    return np.array([MISSING_TEXT if is_missing(value) else str(value) for value in values], object)
