"""The steps before an ensemble, converted by skl2onnx; encoders and imputers by tables of their own output."""

import warnings
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, Normalizer, OneHotEncoder, OrdinalEncoder, TargetEncoder

from eifffel._utils.optional import import_optional
from eifffel.exceptions import UnsupportedModelError, first_line
from eifffel.export._inputs import Input

# What stands for a missing text, which a tensor of ONNX cannot hold.
MISSING_TEXT = ""
# A text that no table has.
UNKNOWN_TEXT = "\0unknown"
# What skl2onnx is asked for: what its oldest tested version writes.
TARGET = {"": 18, "ai.onnx.ml": 3}


def convert_steps(steps: list[tuple[str, Any]], inputs: list[Input], proto: Any) -> str:
    """Add the steps of a pipeline to an empty ONNX model; the name of what reaches the ensemble."""
    onnx = import_optional("onnx", "exporting to ONNX needs")
    skl2onnx = import_optional("skl2onnx", "exporting a Pipeline to ONNX needs")
    types = import_optional("skl2onnx.common.data_types", "exporting a Pipeline to ONNX needs")
    kinds = {True: types.StringTensorType, False: types.DoubleTensorType}
    # What skl2onnx writes wrongly, not in float64, or not at all for unknown and missing categories.
    ours = {
        OneHotEncoder: _convert_encoder,
        OrdinalEncoder: _convert_encoder,
        TargetEncoder: _convert_encoder,
        SimpleImputer: _convert_imputer,
        Binarizer: _convert_binarizer,
        Normalizer: _refuse_normalizer,
    }
    pipeline = Pipeline([(f"step_{k}", step) for k, (_, step) in enumerate(steps)])
    try:
        with warnings.catch_warnings():
            # Up to scikit-learn 1.6: what is left over is given by place.
            warnings.filterwarnings("ignore", r"\s*The format of the columns of the 'remainder'", FutureWarning)
            converted = skl2onnx.convert_sklearn(
                pipeline,
                initial_types=[(given.name, kinds[given.is_text]([None, given.width])) for given in inputs],
                target_opset=TARGET,
                custom_conversion_functions=ours,
                custom_shape_calculators=dict.fromkeys(ours, _shape),
            )
    except UnsupportedModelError:
        raise
    except Exception as error:  # skl2onnx's own, of many kinds
        names = ", ".join(type(step).__name__ for _, step in steps)
        raise UnsupportedModelError(
            f"skl2onnx cannot convert the steps before the model ({names}): {first_line(error)}. Leave out the step "
            "that it names, or transform the rows yourself and export the model alone"
        ) from error
    graph = converted.graph
    _refuse_float32(onnx, graph, steps)
    used = {name for node in graph.node for name in node.input} | {result.name for result in graph.output}
    for given, theirs in zip(inputs, graph.input, strict=True):
        if theirs.name not in used:
            continue
        if theirs.name != given.name:  # skl2onnx allows letters, digits and underscores only
            proto.graph.node.append(onnx.helper.make_node("Identity", [given.name], [theirs.name]))
        proto.graph.input.append(given.describe(onnx))
    proto.graph.node.extend(graph.node)
    proto.graph.initializer.extend(graph.initializer)
    for opset in converted.opset_import:
        if opset.domain not in {ours.domain for ours in proto.opset_import}:
            proto.opset_import.append(opset)
    return graph.output[0].name


def _refuse_float32(onnx: Any, graph: Any, steps: list[tuple[str, Any]]) -> None:
    """Raise if numbers are rounded on the way, which puts rows on the other side of a split."""
    casts = (attribute.i for node in graph.node if node.op_type == "Cast" for attribute in node.attribute)
    if onnx.TensorProto.FLOAT in (*(tensor.data_type for tensor in graph.initializer), *casts):
        names = ", ".join(type(step).__name__ for _, step in steps)
        raise UnsupportedModelError(
            f"skl2onnx converts one of the steps before the model ({names}) in float32, and rows would be decided "
            "otherwise; leave it out (KBinsDiscretizer is one), or transform the rows yourself and export the model "
            "alone"
        )


def gives_sparse(steps: list[tuple[str, Any]]) -> bool:
    """Whether what reaches the ensemble is a sparse matrix, whose zeros are not stored."""
    sparse = False
    for _, step in steps:
        if isinstance(step, Pipeline):
            sparse = gives_sparse(step.steps)
        elif isinstance(step, ColumnTransformer):
            sparse = step.sparse_output_
        elif isinstance(step, OneHotEncoder):
            sparse = step.sparse_output
        # Scalers and selectors leave a matrix as it is.
    return sparse


def _shape(operator: Any) -> None:
    step = operator.raw_operator
    types = import_optional("skl2onnx.common.data_types", "exporting a Pipeline to ONNX needs")
    is_text = isinstance(step, SimpleImputer) and isinstance(step.statistics_[0], str)
    kind = types.StringTensorType if is_text else types.DoubleTensorType
    operator.outputs[0].type = kind([None, len(step.get_feature_names_out())])


class _Writer:
    """Adds nodes to what skl2onnx is converting."""

    def __init__(self, scope: Any, container: Any):
        self._scope, self._container = scope, container
        self._onnx = import_optional("onnx", "exporting to ONNX needs")

    def add(self, kind: str, *inputs: str, output: str | None = None, **options: Any) -> str:
        output = self._scope.get_unique_variable_name("made") if output is None else output
        name = self._scope.get_unique_operator_name(kind)
        self._container.add_node(kind, list(inputs), [output], name=name, **options)
        return output

    def constant(self, values: np.ndarray) -> str:
        name = self._scope.get_unique_variable_name("constant")
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(values.dtype)
        self._container.add_initializer(name, kind, values.shape, values.ravel().tolist())
        return name

    def cast(self, name: str, kind: type) -> str:
        return self.add("Cast", name, to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def columns(self, operator: Any) -> list[str]:
        """The columns of all inputs of a step, one by one, of shape (rows, 1)."""
        names = []
        for given in operator.inputs:
            width = given.type.shape[1]
            for k in range(width):
                whole = width == 1
                names.append(
                    given.full_name
                    if whole
                    else self.add("Gather", given.full_name, self.constant(np.array([k])), axis=1)
                )
        return names


def _convert_encoder(scope: Any, operator: Any, container: Any) -> None:
    """An encoder of categories: what it makes of each category, and of one that it does not know, is a table."""
    encoder, write = operator.raw_operator, _Writer(scope, container)
    parts = []
    for k, column in enumerate(write.columns(operator)):
        categories, table = _table(encoder, k)
        places = list(range(len(categories)))
        if any(isinstance(category, str) for category in categories):
            place = _place_of_text(write, column, categories, places, len(categories))
        else:
            place = _place_of_number(write, column, np.array(categories, np.float64))
        row = write.add("Reshape", place, write.constant(np.array([-1])))
        parts.append(write.add("Gather", write.constant(table), row, axis=0))
    write.add("Concat", *parts, axis=1, output=operator.outputs[0].full_name)


def _place_of_number(write: _Writer, column: str, numbers: np.ndarray) -> str:
    is_gap = write.add("And", write.add("IsNaN", column), write.constant(np.isnan(numbers)[None]))
    hits = write.cast(write.add("Or", write.add("Equal", column, write.constant(numbers[None])), is_gap), np.int64)
    # The place of the first 1; one behind all of them is that of any other number.
    padded = write.add("Pad", hits, write.constant(np.array([0, 0, 0, 1])), write.constant(np.array(1)))
    return write.add("ArgMax", padded, axis=1)


def _place_of_text(write: _Writer, column: str, texts: list[Any], places: list[int], default: int) -> str:
    keys = [text if isinstance(text, str) else MISSING_TEXT for text in texts]
    if len(set(keys)) < len(keys):
        raise UnsupportedModelError(
            "a column of categories has both empty texts and missing values, and ONNX knows no missing text; make them "
            "one before training"
        )
    return write.add(
        "LabelEncoder",
        column,
        op_domain="ai.onnx.ml",
        op_version=2,
        keys_strings=keys,
        values_int64s=places,
        default_int64=default,
    )


def _table(encoder: Any, k: int) -> tuple[list[Any], np.ndarray]:
    """The categories of column ``k``, and what the encoder makes of each and, last, of any other value."""
    categories = list(encoder.categories_[k])
    widths = getattr(encoder, "_n_features_outs", [1] * len(encoder.categories_))  # of OneHotEncoder
    own = slice(sum(widths[:k]), sum(widths[: k + 1]))
    usual = np.array([known[0] for known in encoder.categories_], object)

    def encoded(values: list[Any]) -> np.ndarray:
        rows = np.tile(usual, (len(values), 1))
        rows[:, k] = values
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of categories that are not known, and of missing names
            made = encoder.transform(rows)
        return np.asarray(made.toarray() if hasattr(made, "toarray") else made, np.float64)[:, own]

    known = encoded(categories)
    is_text = any(isinstance(category, str) for category in categories)
    try:
        other = encoded([UNKNOWN_TEXT if is_text else np.inf])
    except ValueError:  # the encoder refuses what it does not know; a file cannot, and takes it as missing
        no_category = isinstance(encoder, OneHotEncoder) and encoder.drop is None
        other = np.full((1, known.shape[1]), 0.0 if no_category else np.nan)
    return categories, np.concatenate([known, other])


def _refuse_normalizer(scope: Any, operator: Any, container: Any) -> None:
    raise UnsupportedModelError(
        "skl2onnx divides by zero where a Normalizer leaves rows of zeros alone; leave that step out, or transform the "
        "rows yourself and export the model alone"
    )


def _convert_imputer(scope: Any, operator: Any, container: Any) -> None:
    imputer, write = operator.raw_operator, _Writer(scope, container)
    statistics = imputer.statistics_
    is_text = isinstance(statistics[0], str)
    empty = not is_text and np.isnan(np.asarray(statistics, np.float64)).any()
    other = imputer.missing_values is not None and imputer.missing_values == imputer.missing_values
    if imputer.add_indicator or empty or other:
        raise UnsupportedModelError(
            "a SimpleImputer converts to ONNX with missing_values=nan, without add_indicator, and if no column was "
            "missing altogether when it was fitted; fit it so"
        )
    parts = []
    for column, fill in zip(write.columns(operator), statistics, strict=True):
        if is_text:
            is_missing = write.cast(_place_of_text(write, column, [MISSING_TEXT], [1], 0), np.bool_)
            replacement = np.array([[fill]], object)
        else:
            is_missing, replacement = write.add("IsNaN", column), np.array([[fill]], np.float64)
        parts.append(write.add("Where", is_missing, write.constant(replacement), column))
    write.add("Concat", *parts, axis=1, output=operator.outputs[0].full_name)


def _convert_binarizer(scope: Any, operator: Any, container: Any) -> None:
    write = _Writer(scope, container)
    threshold = write.constant(np.array([[float(operator.raw_operator.threshold)]]))
    parts = [write.cast(write.add("Greater", column, threshold), np.float64) for column in write.columns(operator)]
    write.add("Concat", *parts, axis=1, output=operator.outputs[0].full_name)
