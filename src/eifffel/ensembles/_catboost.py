"""View of CatBoost's CatBoostClassifier."""

import copy
import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from eifffel._utils.parallel import all_threads
from eifffel.ensembles._boosted import BoostedView, constrains
from eifffel.ensembles._numbers import cast_rows, code_values, column_kinds
from eifffel.ensembles._treewise import apply_blocks, leaf_nodes
from eifffel.ensembles._wrappers import Wrappers
from eifffel.ensembles.trees import TreeTable, count_up_leaves
from eifffel.exceptions import UnsupportedModelError

# Whole numbers below are float32, too.
EXACT = 2.0**24
# Loss functions whose raw score is the log-odds of the second class.
LOSSES = ("Logloss", "CrossEntropy", "Focal")


class CatBoostView(BoostedView):
    """Leaf values are read and set all at once; leaves are numbered as CatBoost numbers them in each tree."""

    _columns: "SplitColumns"

    def __init__(self, model: Any, wrappers: Wrappers, favorable: Any):
        super().__init__(model, wrappers, favorable)
        self.leaf_offset, self.leaf_node = leaf_nodes([np.arange(size) for size in model.get_tree_leaf_counts()])
        self.scale, bias = model.get_scale_and_bias()
        self.leaf_value = self.scale * model.get_leaf_values()
        self.raw_bias = float(bias)

    @staticmethod
    def refuse_unsupported(model: Any) -> None:
        name = type(model).__name__
        if model.is_fitted():
            if "params" not in model.get_metadata().keys():  # noqa: SIM118, it is no mapping
                raise UnsupportedModelError(
                    f"this {name} does not say how it was trained, as a sum of models; edit a model that was fitted"
                )
            # What was given to fit too, and all that is known of a model that was read from a file.
            params = {**model.get_all_params(), "text_features": model.get_text_feature_indices()}
        else:
            params = model.get_params()
        loss = params.get("loss_function", params.get("objective"))
        if loss is not None and not (isinstance(loss, str) and loss.partition(":")[0] in LOSSES):
            given = repr(loss) if isinstance(loss, str) else type(loss).__name__
            raise UnsupportedModelError(
                f"this {name} has the loss function {given}, whose score is not known to be a margin between two "
                f"classes; train it with {', '.join(map(repr, LOSSES[:-1]))} or {LOSSES[-1]!r} on a label of two values"
            )
        if constrains(params.get("monotone_constraints")):
            raise UnsupportedModelError(
                f"this {name} has monotone_constraints, and shifting leaves breaks such constraints; train it without"
            )
        text_features = params.get("text_features")
        if text_features is not None and len(text_features):
            raise UnsupportedModelError(
                f"this {name} has text_features, {list(text_features)}, with which CatBoost crashes when a copy of a "
                "model is copied or pickled; give it numbers or embedding_features in their place"
            )

    @property
    def feature_names(self) -> list[str]:
        own = [str(name) for name in self.model.feature_names_]
        if own != [str(k) for k in range(len(own))]:
            return own
        # The columns were not named. n_features_in_ is 0 in models that were copied or read from a file.
        names = super().feature_names
        return names if len(names) == len(own) else [f"x{k}" for k in range(len(own))]

    @property
    def _own_jobs(self) -> int | None:
        jobs = self.model.get_params().get("thread_count")
        return all_threads() if jobs in (None, -1) else jobs

    def raw_cut(self) -> float:
        # CatBoost compares raw scores: the second class is decided for above, not at, this cut.
        threshold = self.model.get_probability_threshold()
        if not 0 < threshold < 1:
            raise UnsupportedModelError(
                f"this {type(self.model).__name__} has the probability threshold {threshold}, with which it decides "
                "for the same class whatever its leaves say; set one between 0 and 1 with set_probability_threshold"
            )
        return -math.log(1 / threshold - 1)

    def _check_rows(self, X: Any) -> Any:
        # It refuses no number, so that of a table of numbers one row tells whether the columns are those of the model.
        kinds = column_kinds(X)
        numbers = len(kinds) > 0 and all(kind in "buif" for kind in kinds)
        by_words = len(self.model.get_cat_feature_indices()) > 0
        some = _safe_indexing(X, [0]) if numbers and not by_words else X
        self.model.calc_leaf_indexes(some, ntree_end=1)  # raises what CatBoost says about such rows
        return X

    def _read_document(self) -> dict[str, Any]:
        """The model as CatBoost writes it to JSON."""
        with TemporaryDirectory() as folder:
            self.model.save_model(f"{folder}/model.json", format="json")
            document: dict[str, Any] = json.loads(Path(f"{folder}/model.json").read_text(encoding="utf-8"))
        return document

    def _read_table(self) -> TreeTable | None:
        if len(self.model.get_embedding_feature_indices()):
            return None
        document = self._read_document()
        self._columns = columns = SplitColumns.of(document["features_info"])
        oblivious = "oblivious_trees" in document
        read, grown = (_read_oblivious, "oblivious_trees") if oblivious else (_read_nested, "trees")
        given = document[grown]
        trees = [nodes for nodes in (read(tree, columns) for tree in given) if nodes is not None]
        if len(trees) < len(given):
            return None
        offset = np.concatenate([[0], np.cumsum([len(tree.left) for tree in trees])])
        nodes = TreeNodes._make(np.concatenate(part) for part in zip(*trees, strict=True))
        # Of a model read from JSON, leaves are numbered otherwise.
        if not np.allclose(nodes.value[nodes.left < 0], self.model.get_leaf_values()):
            return None
        return TreeTable(
            offset=offset,
            left=nodes.left,
            right=nodes.right,
            feature=nodes.feature,
            threshold=nodes.border.astype(np.float32),
            missing_left=nodes.missing_left,
            leaf=count_up_leaves(offset, nodes.left < 0),
            seen_as=np.float32,
            category_set=nodes.category_set,
            categories=list(np.arange(columns.n_splits)[:, None]),
            others_left=True,  # the one that a split names goes right
            oblivious=oblivious,
        )

    @cached_property
    def _namer(self) -> Any:
        """A model of one tree for each category that a split names, whose second leaf is that of the category.

        It tells which words these are, of which models keep hashes.
        """
        document = self._read_document()
        document.pop("trees", None)
        document["oblivious_trees"] = [
            {"splits": [split], "leaf_values": [0, 1], "leaf_weights": [1, 1]} for split in self._columns.by_category()
        ]
        with TemporaryDirectory() as folder:
            Path(f"{folder}/model.json").write_text(json.dumps(document), encoding="utf-8")
            return import_module("catboost").CatBoost().load_model(f"{folder}/model.json", format="json")

    def _values(self, rows: Any) -> np.ndarray | None:
        own = self.model.feature_names_
        if hasattr(rows, "columns") and own not in (
            [str(name) for name in rows.columns],
            list(map(str, range(len(own)))),
        ):
            return None  # it finds its columns by their names
        self._compile()  # which reads the columns
        columns, numbers = self._columns, rows
        if columns.place and isinstance(rows, np.ndarray) and rows.dtype == object:
            numbers = import_module("pandas").DataFrame(rows).infer_objects()
        kinds = column_kinds(numbers)
        if columns.place and len(kinds) != len(own):
            return None
        values = cast_rows(numbers, np.float32, leaving=columns.place)
        if values is None:
            return None
        for column, place in enumerate(columns.place):
            code = self._code_categories(rows, column, place)
            if code is None:
                return None
            values[:, place] = code
        whole = [place for place, kind in enumerate(kinds) if kind in "iu"] if kinds else slice(None)
        if (np.abs(values[:, whole]) >= EXACT).any():
            return None  # versions round whole numbers of many digits in several ways
        return values

    def _code_categories(self, rows: Any, column: int, place: int) -> np.ndarray | None:
        """Of a column of categories, the number that splits have for each row; of others one that none has."""
        splits = np.flatnonzero(self._columns.column_of_split == column)
        if not len(splits):
            return np.zeros(_num_samples(rows))
        coded = code_values(rows, place)
        if coded is None:
            return None
        codes, one_of_each = coded
        is_named = self._namer.calc_leaf_indexes(_safe_indexing(rows, one_of_each))[:, splits]
        return np.where(is_named.any(axis=1), splits[is_named.argmax(axis=1)], self._columns.n_splits)[codes]

    def _library_leaves(self, rows: Any, *, n_jobs: int | None, verbose: int) -> np.ndarray:
        return apply_blocks(self, self.model.calc_leaf_indexes, rows, verbose=verbose)

    def _model_score(self, X: Any) -> np.ndarray:
        return self.model.predict(X, prediction_type="RawFormulaVal")

    @property
    def leaf_rows(self) -> np.ndarray:
        weights = self.model.get_leaf_weights()
        return weights if len(weights) == self.n_leaves else super().leaf_rows

    def _splits(self) -> Iterable[Any]:
        bare = self._copy()
        # Files and pickles change how metadata, such as the time of training, are written, but nothing else.
        metadata = bare.get_metadata()
        for key in list(metadata.keys()):
            del metadata[key]
        bare.set_leaf_values(np.zeros(self.n_leaves))
        yield bare._serialize_model()

    @property
    def stored_leaves(self) -> np.ndarray:
        return self.model.get_leaf_values()

    def restore(self, stored: np.ndarray) -> Any:
        return self.wrappers.rewrap(self._set_leaves(stored))

    def _write(self, leaf_value: np.ndarray) -> Any:
        return self._set_leaves(self._divide(leaf_value, self.scale, self.stored_leaves))

    def _set_leaves(self, stored: np.ndarray) -> Any:
        model = self._copy()
        model.set_leaf_values(stored)
        # Where a model has predicted, leaf values count only after this call.
        model.set_scale_and_bias(self.scale, self.raw_bias)
        importances = model.__dict__.pop("_prediction_values_change", None)
        if importances is not None and len(model.get_leaf_weights()):
            model.get_feature_importance()  # stores them for feature_importances_, as fit does
        return model

    def _copy(self) -> Any:
        """A copy whose leaf values can be set; those of copies and pickles cannot, only of models that were read."""
        model = copy.deepcopy(self.model)
        model.load_model(stream=io.BytesIO(self.model._serialize_model()))
        model._n_features_in = self.model.n_features_in_  # reading sets it to 0
        return model


@dataclass(frozen=True, eq=False)
class SplitColumns:
    """What splits say of columns, in the numbers that CatBoost has for those of numbers and those of categories.

    Attributes
    ----------
    flat : ndarray
        The place among all columns of each column of numbers.
    missing_left : ndarray of bools
        Whether missing values of these are below all others; else they are above all.
    n_borders : int
        The splits by borders, which CatBoost counts before those by category.
    place : list of ints
        The place among all columns of each column of categories.
    hashes : list of lists of ints
        The categories of these that splits name.
    """

    flat: np.ndarray
    missing_left: np.ndarray
    n_borders: int
    place: list[int]
    hashes: list[list[int]]

    @classmethod
    def of(cls, info: dict[str, Any]) -> "SplitColumns":
        """Read them from the ``features_info`` of a model."""
        numbers, categories = info.get("float_features", []), info.get("categorical_features", [])
        return cls(
            flat=np.array([column["flat_feature_index"] for column in numbers], np.int64),
            missing_left=np.array([column["nan_value_treatment"] != "AsTrue" for column in numbers], bool),
            n_borders=sum(len(column["borders"]) for column in numbers),
            place=[column["flat_feature_index"] for column in categories],
            hashes=[column.get("values", []) for column in categories],
        )

    @property
    def column_of_split(self) -> np.ndarray:
        """The column of each split by category, among those of categories."""
        return np.repeat(np.arange(len(self.hashes)), [len(own) for own in self.hashes])

    @property
    def n_splits(self) -> int:
        """How many splits by category there are."""
        return len(self.column_of_split)

    def by_category(self) -> list[dict[str, Any]]:
        """The splits by category, as CatBoost's JSON has them."""
        named = [(column, value) for column, own in enumerate(self.hashes) for value in own]
        return [
            {"split_type": "OneHotFeature", "cat_feature_index": column, "value": value, "split_index": k}
            for k, (column, value) in enumerate(named, self.n_borders)
        ]

    def read(self, split: dict[str, Any]) -> tuple[int, float, bool, int] | None:
        """The column of a split, its border, whether missing values go left, and its number among those by category.

        ``None`` for a split by counters of categories.
        """
        if split["split_type"] == "FloatFeature":
            column = split["float_feature_index"]
            return self.flat[column], split["border"], self.missing_left[column], -1
        if split["split_type"] == "OneHotFeature":
            return self.place[split["cat_feature_index"]], 0.0, False, split["split_index"] - self.n_borders
        return None


class TreeNodes(NamedTuple):
    """The nodes of a tree: children, and what splits ask and leaves hold."""

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    border: np.ndarray
    missing_left: np.ndarray
    category_set: np.ndarray
    value: np.ndarray


NO_SPLIT = (0, 0.0, False, -1)


def _read_oblivious(tree: dict[str, Any], columns: SplitColumns) -> TreeNodes | None:
    """A tree that asks the same of all rows at a level; ``None`` if it has splits that are no numbers of rows."""
    # The last split of the list is the highest bit of the number of a leaf, and asked first here.
    given = tree.get("splits") or []
    splits = [split for split in map(columns.read, reversed(given)) if split is not None]
    if len(splits) < len(given):
        return None
    n_splits = 2 ** len(splits) - 1
    node = np.arange(2 * n_splits + 1)
    left = np.where(node < n_splits, 2 * node + 1, -1)
    level = np.log2(node + 1).astype(np.int64)
    asked = [np.array(part)[level] for part in zip(*splits, NO_SPLIT, strict=True)]
    value = np.concatenate([np.zeros(n_splits), tree["leaf_values"]])
    return TreeNodes._make([left, np.where(left < 0, -1, left + 1), *asked, value])


def _read_nested(tree: dict[str, Any], columns: SplitColumns) -> TreeNodes | None:
    """A tree of nodes in nodes, as `_read_oblivious` gives one, with its leaves in the order of their numbers.

    CatBoost numbers them from left to right, but for one whose sibling is a split: it comes before all that are below.
    """
    nodes: list[list[Any]] = []  # as `TreeNodes` has them
    pending: list[tuple[dict[str, Any], int, int]] = [(tree, 0, 0)]
    while pending:
        node, parent, side = pending.pop()
        if nodes:
            nodes[parent][side] = len(nodes)
        if "split" not in node:
            nodes.append([-1, -1, *NO_SPLIT, node["value"]])
            continue
        split = columns.read(node["split"])
        if split is None:
            return None
        children = [(node[name], len(nodes), k) for k, name in enumerate(("left", "right"))]
        if "split" in node["left"] and "split" not in node["right"]:
            children.reverse()
        nodes.append([0, 0, *split, 0.0])
        pending += reversed(children)
    return TreeNodes._make(map(np.array, zip(*nodes, strict=True)))
