"""What an exported model takes: one matrix of numbers, or columns by name, each of numbers or of texts."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

# Steps whose columns are numbers unless their categories or their statistics say otherwise.
NUMBERS_FROM = ("sklearn.preprocessing", "sklearn.impute", "sklearn.decomposition", "sklearn.feature_selection")


@dataclass(frozen=True)
class Input:
    """One input of an ONNX model.

    Attributes
    ----------
    name : str
    width : int
        The number of its columns.
    is_text : bool
        Whether it holds texts, or else float64.
    column : bool
        Whether it is a column of a table, or else the whole of it.
    """

    name: str
    width: int
    is_text: bool
    column: bool

    def describe(self, onnx: Any) -> Any:
        """Return the input as ONNX describes it."""
        kind = onnx.TensorProto.STRING if self.is_text else onnx.TensorProto.DOUBLE
        return onnx.helper.make_tensor_value_info(self.name, kind, [None, self.width])


def read_inputs(ensemble: Any, steps: list[tuple[str, Any]], X: Any = None) -> list[Input]:
    """What a model takes, from the steps before its ensemble, or from rows."""
    first = _first(steps[0][1]) if steps else None
    names = getattr(first, "feature_names_in_", None)
    if isinstance(first, ColumnTransformer) and names is not None:
        shown = {} if X is None else _texts_of(X)
        kinds = {name: shown.get(name) if kind is None else kind for name, kind in _column_kinds(first).items()}
        for name, is_text in kinds.items():
            if is_text is None:
                raise ValueError(
                    f"whether the column {name!r} holds numbers or texts does not follow from the pipeline; pass rows "
                    "as X, to_onnx(model, X), to show it"
                )
        return [Input(str(name), 1, bool(is_text), True) for name, is_text in kinds.items()]
    n_columns = _n_columns(first if first is not None else ensemble)
    kinds_seen = {_is_text(first, k) for k in range(n_columns)}
    if len(kinds_seen) > 1:
        raise ValueError(
            f"the {type(first).__name__} at the beginning of the pipeline takes texts and numbers, and one matrix of "
            "ONNX holds either; put it in a ColumnTransformer that names its columns, fitted on a frame"
        )
    return [Input("X", n_columns, kinds_seen == {True}, False)]


def _n_columns(model: Any) -> int:
    for name in ("num_features", "num_feature"):  # Boosters of XGBoost and LightGBM
        if hasattr(model, name):
            return int(getattr(model, name)())
    if hasattr(model, "feature_names_"):  # CatBoost's n_features_in_ is 0 in models that were read from a file
        return len(model.feature_names_)
    return int(model.n_features_in_)


def _first(step: Any) -> Any:
    while isinstance(step, Pipeline):
        step = step.steps[0][1]
    return step


def _texts_of(X: Any) -> dict[str, bool]:
    """Return which columns of a frame hold texts; empty for anything but a frame."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise ValueError(
            f"X must be a frame that names its columns, got {type(X).__name__}; pass a pandas or polars one"
        )
    return {
        name: not (kind.is_numeric() or kind == nw.Boolean) and not _holds_numbers(frame[name])
        for name, kind in frame.schema.items()
    }


def _holds_numbers(column: Any) -> bool:
    values = [value for value in column.to_list() if value is not None and value == value]
    return bool(values) and all(isinstance(value, int | float | np.number | np.bool_) for value in values)


def _column_kinds(transformer: ColumnTransformer) -> dict[str, bool | None]:
    """Whether each column of the table holds texts; ``None`` where that is not known."""
    table = transformer.feature_names_in_
    kinds: dict[str, bool | None] = dict.fromkeys(table, False)  # a column that is dropped need not be known
    for name, step, _ in transformer.transformers_:
        if isinstance(step, str) and step == "drop":
            continue
        places = transformer._transformer_to_input_indices[name]
        for k, place in enumerate(places):
            kinds[table[place]] = _is_text(step, k)
    return kinds


def _is_text(step: Any, k: int) -> bool | None:
    """Whether the ``k``-th column that a step takes holds texts; ``None`` where that is not known."""
    if isinstance(step, Pipeline):
        inside = [_is_text(inner, k) for _, inner in step.steps]
        return next((kind for kind in inside if kind), inside[0])
    if isinstance(step, ColumnTransformer):
        return False  # it takes columns by their places in a matrix
    known = getattr(step, "categories_", None)
    if known is not None:
        return any(isinstance(value, str) for value in known[k])
    known = getattr(step, "statistics_", None)
    if known is not None:
        return isinstance(known[k], str)
    if step is None or isinstance(step, str):
        return False
    numeric = type(step).__module__.startswith(NUMBERS_FROM) and getattr(step, "func", None) is None
    return False if numeric else None
