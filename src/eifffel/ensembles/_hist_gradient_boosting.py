"""View of scikit-learn's HistGradientBoostingClassifier."""

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from eifffel.ensembles._boosted import BoostedView, constrains
from eifffel.ensembles._treewise import apply_trees, gather_leaves, leaf_nodes
from eifffel.ensembles._wrappers import Wrappers
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

    def apply(self, rows: Any, *, n_jobs: int | None = None, verbose: int = 0) -> np.ndarray:
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
