"""to_onnx: a model, with what stands around it, as an ONNX file that decides as it does."""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from eifffel._utils.optional import import_optional
from eifffel._version import __version__
from eifffel.edits.record import find_record
from eifffel.ensembles import Wrappers
from eifffel.exceptions import ModelFileError, UnsupportedModelError, first_line
from eifffel.export._inputs import read_inputs
from eifffel.export._running import open_session
from eifffel.export._steps import convert_steps, gives_sparse
from eifffel.export._trees import Ensemble, Tree, read_ensemble

# The first versions with ONNX's TreeEnsemble, which adds float64, and with all that skl2onnx writes.
OPSETS = {"": 18, "ai.onnx.ml": 5}
IR_VERSION = 10
MODES = {"LEQ": 0, "LT": 1}
OUTPUTS = ("label", "probabilities")
NEEDS = "exporting to ONNX needs"


def to_onnx(model: Any, X: Any = None) -> Any:
    """Convert a model to ONNX, edited or not.

    The file takes float64, and compares and adds in the types in which the model's own library does, so that it
    decides as the model does, on thresholds and ties too. `verify_export` compares them on rows of yours: do it before
    the file is used.

    Parameters
    ----------
    model : fitted model
        What `view_ensemble` takes but HistGradientBoostingClassifier: a tree ensemble of scikit-learn, LightGBM,
        XGBoost or CatBoost, also in a Pipeline, FixedThresholdClassifier, TunedThresholdClassifierCV or
        FrozenEstimator; or a fitted EiFFFeLClassifier.
    X : frame, optional
        Rows like those that are to be decided. Needed only where a pipeline does not tell which of its columns hold
        texts.

    Returns
    -------
    onnx.ModelProto
        Its input is ``X``, float64 of shape (rows, columns); where a Pipeline begins with a ColumnTransformer that
        knows the names of its columns, one input for each column, by its name, of shape (rows, 1): float64, or text,
        where an empty one is missing. Its outputs are ``label``, of shape (rows,), and ``probabilities``, float32 of
        shape (rows, 2), in the order of the model's ``classes_``. Its metadata has the classes, and of an edited model
        the favourable one and the hash of its leaves.

    Raises
    ------
    UnsupportedModelError
        If the model does not convert; the message says why, and what to do.

    Examples
    --------
    >>> import eifffel
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(500, random_state=0)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(people.data, people.target)
    >>> file = eifffel.to_onnx(forest)
    >>> eifffel.verify_export(forest, file, people.data).n_rows
    500
    """
    onnx = import_optional("onnx", NEEDS)
    ensemble, layers = unwrap(model)
    trees, labels = read_ensemble(ensemble)
    steps = [step for layer in layers if layer.before is not None for step in layer.before.steps]
    inputs = read_inputs(ensemble, steps, X)
    clash = [given.name for given in inputs if given.name in OUTPUTS]
    if clash:
        raise UnsupportedModelError(
            f"a column is called {clash[0]!r}, as what the file gives; rename it and train again"
        )
    graph = _Graph(onnx, trees.added_as)
    if steps:
        rows = convert_steps(steps, inputs, graph.proto)
        if trees.sparse_zeros_missing and gives_sparse(steps):
            rows = graph.zeros_as_missing(rows)
    else:
        rows = inputs[0].name
        graph.proto.graph.input.append(inputs[0].describe(onnx))
    cutoff = next((cutoff for layer in layers if (cutoff := layer.cutoff()) is not None), None)
    raw, probabilities = graph.score(rows, trees)
    if cutoff is None:
        second = graph.own_decision(raw, probabilities, trees)
    else:
        scores = probabilities if cutoff.method == "predict_proba" else [graph.add("Neg", raw), raw]
        reached = graph.add("GreaterOrEqual", scores[cutoff.positive], graph.number(cutoff.value))
        second = reached if cutoff.positive == 1 else graph.add("Not", reached)
    graph.finish(second, probabilities, labels)
    onnx.helper.set_model_props(graph.proto, _describe(find_record(model), labels))
    try:
        onnx.checker.check_model(graph.proto)
        open_session(graph.proto)
    except (ModelFileError, onnx.checker.ValidationError) as error:  # skl2onnx may write what does not fit together
        raise UnsupportedModelError(
            f"this {type(model).__name__} was converted to what is no model of ONNX: {first_line(error)}. "
            "Leave out the step that this is of, or transform the rows yourself and export the model alone"
        ) from error
    return graph.proto


def _describe(record: dict[str, Any] | None, labels: np.ndarray) -> dict[str, str]:
    """What the file says of itself: the labels, and of an edited model what it was edited for and its fingerprint."""
    said = {"classes": json.dumps(labels.tolist())}
    if record is not None:
        said |= {
            "favorable": json.dumps(record["favorable"]),
            "strategy": record["strategy"],
            "sha256_of_leaves": record["digests"]["after"]["leaves"],
        }
        meaning = (record["task"] or {}).get("labels")
        if meaning is not None:
            said["classes_mean"] = json.dumps(list(meaning))
    return said


def unwrap(model: Any) -> tuple[Any, list[Any]]:
    """The ensemble inside, and the layers around it, the outermost first; also those around an EiFFFeLClassifier."""
    wrappers = Wrappers(model)
    if hasattr(wrappers.ensemble, "path_") and hasattr(wrappers.ensemble, "estimator_"):
        ensemble, layers = unwrap(wrappers.ensemble.estimator_)
        return ensemble, wrappers.layers + layers
    return wrappers.ensemble, wrappers.layers


class _Graph:
    """An ONNX model to which nodes are added; ``number_type`` is that of its scores."""

    def __init__(self, onnx: Any, number_type: type[np.floating]):
        self._onnx, self._helper = onnx, onnx.helper
        self._type = number_type
        self._names = (f"eifffel_{k}" for k in count())
        self.proto = onnx.helper.make_model(
            onnx.GraphProto(name="eifffel"),
            opset_imports=[onnx.helper.make_opsetid(domain, version) for domain, version in OPSETS.items()],
            ir_version=IR_VERSION,
            producer_name="eifffel",
            producer_version=__version__,
        )

    def add(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        output = next(self._names) if output is None else output
        self.proto.graph.node.append(self._helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def constant(self, values: Any) -> str:
        name = next(self._names)
        self.proto.graph.initializer.append(self._onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def number(self, value: float) -> str:
        """A constant of the type of scores."""
        return self.constant(self._type(value))

    def cast(self, name: str, number_type: type, output: str | None = None) -> str:
        kind = self._helper.np_dtype_to_tensor_dtype(np.dtype(number_type))
        return self.add("Cast", name, to=kind, output=output)

    def zeros_as_missing(self, rows: str) -> str:
        """Return the numbers with NaN in place of zeros."""
        is_zero = self.add("Equal", rows, self.constant(np.float64(0)))
        return self.add("Where", is_zero, self.constant(np.float64(np.nan)), rows)

    def score(self, rows: str, ensemble: Ensemble) -> tuple[str, list[str]]:
        """The sum of the leaves, and the probabilities of both classes."""
        rows = self.cast(self.cast(rows, ensemble.seen_as), ensemble.added_as)
        if ensemble.slope is None:
            n_trees = self.number(len(ensemble.trees))
            for_second = self.add_trees(rows, ensemble, 1)
            if all(np.isin(tree.value, (0, 1)).all() for tree in ensemble.trees):  # whole numbers, which do not round
                for_first = self.add("Sub", n_trees, for_second)
            else:
                for_first = self.add_trees(rows, ensemble, 0)
            return for_second, [self.add("Div", total, n_trees) for total in (for_first, for_second)]
        raw = self.add_trees(rows, ensemble, 0)
        one = self.number(1)
        odds_against = self.add("Exp", self.add("Mul", raw, self.number(-ensemble.slope)))
        probability = self.add("Div", one, self.add("Add", one, odds_against))
        return raw, [self.add("Sub", one, probability), probability]

    def own_decision(self, raw: str, probabilities: Sequence[str], ensemble: Ensemble) -> str:
        """Whether the ensemble by itself decides for the second class."""
        if ensemble.cut is None:
            return self.add("Greater", probabilities[1], probabilities[0])
        return self.add("GreaterOrEqual" if ensemble.reached else "Greater", raw, self.number(ensemble.cut))

    def add_trees(self, rows: str, ensemble: Ensemble, column: int) -> str:
        """A sum over the leaves of rows; leaves and splits are numbered through all trees."""
        trees = ensemble.trees
        first_inner = np.cumsum([0, *(np.count_nonzero(tree.inner) for tree in trees)])
        first_leaf = np.cumsum([0, *(np.count_nonzero(~tree.inner) for tree in trees)])
        numbers = [_number_nodes(tree, *first) for tree, *first in zip(trees, first_inner, first_leaf, strict=False)]

        def joined(of_tree: Any) -> np.ndarray:
            return np.concatenate([of_tree(tree, number) for tree, number in zip(trees, numbers, strict=True)])

        def tensor(values: np.ndarray, kind: Any) -> Any:
            return self._onnx.numpy_helper.from_array(values.astype(kind))

        n_inner = int(first_inner[-1])
        return self.add(
            "TreeEnsemble",
            rows,
            domain="ai.onnx.ml",
            n_targets=1,
            aggregate_function=1,  # a sum
            post_transform=0,  # none
            tree_roots=first_inner[:-1].tolist(),
            nodes_featureids=joined(lambda tree, _: tree.feature[tree.inner]).tolist(),
            nodes_modes=tensor(np.full(n_inner, MODES[ensemble.mode]), np.uint8),
            nodes_splits=tensor(joined(lambda tree, _: tree.threshold[tree.inner]), ensemble.added_as),
            nodes_truenodeids=joined(lambda tree, number: number[tree.left[tree.inner]]).tolist(),
            nodes_trueleafs=joined(lambda tree, _: ~tree.inner[tree.left[tree.inner]]).astype(int).tolist(),
            nodes_falsenodeids=joined(lambda tree, number: number[tree.right[tree.inner]]).tolist(),
            nodes_falseleafs=joined(lambda tree, _: ~tree.inner[tree.right[tree.inner]]).astype(int).tolist(),
            nodes_missing_value_tracks_true=joined(lambda tree, _: tree.missing_left[tree.inner]).astype(int).tolist(),
            leaf_targetids=[0] * int(first_leaf[-1]),
            leaf_weights=tensor(
                joined(lambda tree, number: tree.value[_leaves_in_order(tree, number), column]), ensemble.added_as
            ),
        )

    def finish(self, second: str, probabilities: Sequence[str], labels: np.ndarray) -> None:
        """Name the outputs: labels, from whether each row is decided for the second, and probabilities."""
        values = np.array(labels.tolist())
        values = values.astype(object) if values.dtype.kind == "U" else values
        chosen = self.add("Gather", self.constant(values), self.cast(second, np.int64))
        self.add("Reshape", chosen, self.constant(np.array([-1])), output="label")
        self.cast(self.add("Concat", *probabilities, axis=1), np.float32, output="probabilities")
        kind = self._helper.np_dtype_to_tensor_dtype(values.dtype)
        describe = self._helper.make_tensor_value_info
        self.proto.graph.output.extend(
            [
                describe("label", kind, [None]),
                describe("probabilities", self._onnx.TensorProto.FLOAT, [None, len(labels)]),
            ]
        )


def _number_nodes(tree: Tree, first_inner: int, first_leaf: int) -> np.ndarray:
    """The number of each node among the splits or among the leaves of all trees."""
    inner, n_leaves = tree.inner, np.count_nonzero(~tree.inner)
    among_inner, among_leaves = np.cumsum(inner) - 1, np.cumsum(~inner) - 1
    for first in (0, 1):
        number = np.where(inner, first_inner + among_inner, first_leaf + (among_leaves + first) % n_leaves)
        # onnxruntime 1.21 to 1.23 take a root for a leaf if a split and a leaf of the same number are below it
        # (https://github.com/microsoft/onnxruntime/issues/24679); the leaves then begin with another one.
        if number[tree.left[0]] != number[tree.right[0]]:
            break
    return number


def _leaves_in_order(tree: Tree, number: np.ndarray) -> np.ndarray:
    leaves = np.flatnonzero(~tree.inner)
    return leaves[np.argsort(number[leaves])]
