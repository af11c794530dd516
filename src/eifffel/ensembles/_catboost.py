"""View of CatBoost's CatBoostClassifier."""

import copy
import io
import json
import math
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from eifffel._utils.parallel import all_threads
from eifffel.ensembles._boosted import BoostedView, constrains
from eifffel.ensembles._treewise import apply_blocks, cast_rows, leaf_nodes
from eifffel.ensembles._wrappers import Wrappers
from eifffel.ensembles.trees import TreeTable, count_up_leaves
from eifffel.exceptions import UnsupportedModelError

# Whole numbers below are float32, too.
EXACT = 2.0**24
# Loss functions whose raw score is the log-odds of the second class.
LOSSES = ("Logloss", "CrossEntropy", "Focal")


class CatBoostView(BoostedView):
    """Leaf values are read and set all at once; leaves are numbered as CatBoost numbers them in each tree."""

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
        self.model.calc_leaf_indexes(X, ntree_end=1)  # raises what CatBoost says about such rows
        return X

    def _read_table(self) -> TreeTable | None:
        model = self.model
        if len(model.get_cat_feature_indices()) or len(model.get_embedding_feature_indices()):
            return None
        with TemporaryDirectory() as folder:
            model.save_model(f"{folder}/model.json", format="json")
            document = json.loads(Path(f"{folder}/model.json").read_text(encoding="utf-8"))
        own = document["features_info"]["float_features"]
        flat = np.array([feature["flat_feature_index"] for feature in own])
        # Missing values are below all others, and never go right, or above all.
        below = np.array([feature["nan_value_treatment"] != "AsTrue" for feature in own])
        oblivious = "oblivious_trees" in document
        read, grown = (_read_oblivious, "oblivious_trees") if oblivious else (_read_nested, "trees")
        trees = list(map(read, document[grown]))
        offset = np.concatenate([[0], np.cumsum([len(left) for left, *_ in trees])])
        left, right, feature, border, value = (np.concatenate(part) for part in zip(*trees, strict=True))
        if not np.allclose(value[left < 0], model.get_leaf_values()):  # of one read from JSON, numbered otherwise
            return None
        return TreeTable(
            offset=offset,
            left=left,
            right=right,
            feature=flat[feature],
            threshold=border.astype(np.float32),
            missing_left=below[feature],
            leaf=count_up_leaves(offset, left < 0),
            seen_as=np.float32,
            oblivious=oblivious,
        )

    def _values(self, rows: Any) -> np.ndarray | None:
        own = self.model.feature_names_
        if hasattr(rows, "columns") and own not in (
            [str(name) for name in rows.columns],
            list(map(str, range(len(own)))),
        ):
            return None  # it finds its columns by their names
        values = cast_rows(rows, np.float32)
        whole = {kind.kind for kind in getattr(rows, "dtypes", [getattr(rows, "dtype", np.dtype(int))])} & set("iu")
        if values is not None and whole and (np.abs(values) >= EXACT).any():
            return None  # versions round whole numbers of many digits in several ways
        return values

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


Splits = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _read_oblivious(tree: dict[str, Any]) -> Splits:
    """A tree that asks the same of all rows at a level, as nodes: children, feature, border and value of each."""
    splits = tree.get("splits") or []
    n_splits = 2 ** len(splits) - 1
    node = np.arange(2 * n_splits + 1)
    left = np.where(node < n_splits, 2 * node + 1, -1)
    # The last split of the list is the highest bit of the number of a leaf, and asked first here.
    level = np.log2(node + 1).astype(np.int64)
    feature, border = (
        np.array([*(split[name] for split in reversed(splits)), 0])[level] for name in ("float_feature_index", "border")
    )
    value = np.concatenate([np.zeros(n_splits), tree["leaf_values"]])
    return left, np.where(left < 0, -1, left + 1), feature, border, value


def _read_nested(tree: dict[str, Any]) -> Splits:
    """A tree of nodes in nodes, as `_read_oblivious` gives one, with its leaves in the order of their numbers.

    CatBoost numbers them from left to right, but for one whose sibling is a split: it comes before all that are below.
    """
    nodes: list[list[Any]] = []  # children, feature, border and value
    pending: list[tuple[dict[str, Any], int, int]] = [(tree, 0, 0)]
    while pending:
        node, parent, side = pending.pop()
        if nodes:
            nodes[parent][side] = len(nodes)
        split = node.get("split")
        if split is None:
            nodes.append([-1, -1, 0, 0.0, node["value"]])
            continue
        children = [(node[name], len(nodes), k) for k, name in enumerate(("left", "right"))]
        if "split" in node["left"] and "split" not in node["right"]:
            children.reverse()
        nodes.append([0, 0, split["float_feature_index"], split["border"], 0.0])
        pending += reversed(children)
    left, right, feature, border, value = map(np.array, zip(*nodes, strict=True))
    return left, right, feature, border, value
