"""View of scikit-learn's HistGradientBoostingClassifier."""

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from eifffel.ensembles._boosted import BoostedView, constrains
from eifffel.ensembles._treewise import apply_trees, gather_leaves, leaf_nodes
from eifffel.ensembles._wrappers import Wrappers
from eifffel.ensembles.trees import TreeTable, count_up_leaves
from eifffel.exceptions import UnsupportedModelError


class HistGradientBoostingView(BoostedView):
    """Leaf values lie in the nodes of its predictors, shrinkage included; there is no public way to them."""

    stale_attributes = ("train_score_", "validation_score_")

    def __init__(self, model: Any, wrappers: Wrappers, favorable: Any):
        super().__init__(model, wrappers, favorable)
        self._trees = self._predictors(model)
        nodes = [np.flatnonzero(tree.nodes["is_leaf"]) for tree in self._trees]
        self.leaf_offset, self.leaf_node = leaf_nodes(nodes)
        values = [tree.nodes["value"][leaves] for tree, leaves in zip(self._trees, nodes, strict=True)]
        self.leaf_value = np.concatenate(values)
        self.raw_bias = float(np.ravel(model._baseline_prediction)[0])

    @staticmethod
    def refuse_unsupported(model: Any) -> None:
        if constrains(model.monotonic_cst):
            raise UnsupportedModelError(
                "this HistGradientBoostingClassifier has monotonic_cst, and shifting leaves breaks such constraints; "
                "train it without them"
            )

    @staticmethod
    def _predictors(model: Any) -> list[Any]:
        return [trees[0] for trees in model._predictors]

    def _check_rows(self, X: Any) -> Any:
        return self.model._preprocess_X(X, reset=False)

    def _read_table(self) -> TreeTable:
        nodes = np.concatenate([tree.nodes for tree in self._trees])
        offset = np.concatenate([[0], np.cumsum([len(tree.nodes) for tree in self._trees])])
        inner = nodes["is_leaf"] == 0
        # Each tree numbers its own sets, of 256 bits each.
        bits = np.concatenate([tree.raw_left_cat_bitsets for tree in self._trees]).view(np.uint8)
        n_sets = np.cumsum([0, *(len(tree.raw_left_cat_bitsets) for tree in self._trees)])
        first_set = np.repeat(n_sets[:-1], np.diff(offset))
        by_category = inner & (nodes["is_categorical"] == 1)
        return TreeTable(
            offset=offset,
            left=np.where(inner, nodes["left"].astype(np.int32), -1),
            right=np.where(inner, nodes["right"].astype(np.int32), -1),
            feature=nodes["feature_idx"].astype(np.int32),
            threshold=nodes["num_threshold"],
            missing_left=nodes["missing_go_to_left"] == 1,
            leaf=count_up_leaves(offset, ~inner),
            seen_as=np.float64,
            category_set=np.where(by_category, first_set + nodes["bitset_idx"], -1),
            categories=[np.flatnonzero(own) for own in np.unpackbits(bits, axis=1, bitorder="little")],
        )

    def _values(self, rows: Any) -> np.ndarray:
        return rows

    def _library_leaves(self, rows: Any, *, n_jobs: int | None, verbose: int) -> np.ndarray:
        known_cat_bitsets, f_idx_map = self.model._bin_mapper.make_known_categories_bitsets()

        def nodes_of(t: int) -> np.ndarray:
            tree = copy.copy(self._trees[t])
            tree.nodes = tree.nodes.copy()
            tree.nodes["value"] = np.arange(len(tree.nodes))
            return tree.predict(rows, known_cat_bitsets, f_idx_map, 1).astype(np.intp)

        return apply_trees(self, nodes_of, rows.shape[0], n_jobs=n_jobs, verbose=verbose)

    def _model_score(self, X: Any) -> np.ndarray:
        return self.model.decision_function(X)

    @property
    def leaf_rows(self) -> np.ndarray:
        return gather_leaves(self, [tree.nodes["count"] for tree in self._trees])

    def _splits(self) -> Iterable[Any]:
        for tree in self._trees:
            yield tree.nodes["num_threshold"]
            yield tree.nodes["feature_idx"]
            yield tree.raw_left_cat_bitsets

    def _write(self, leaf_value: np.ndarray) -> Any:
        model = copy.deepcopy(self.model)
        for t, tree in enumerate(self._predictors(model)):
            leaves = slice(self.leaf_offset[t], self.leaf_offset[t + 1])
            tree.nodes["value"][self.leaf_node[leaves]] = leaf_value[leaves]
        return model
