"""View of scikit-learn's GradientBoostingClassifier."""

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from eifffel.ensembles._boosted import BoostedView
from eifffel.ensembles._treewise import apply_trees, dense, gather_leaves, leaf_nodes, read_trees
from eifffel.ensembles._wrappers import Wrappers
from eifffel.ensembles.trees import TreeTable
from eifffel.exceptions import UnsupportedModelError


class GradientBoostingView(BoostedView):
    """Each tree adds ``learning_rate * tree_.value`` to a constant raw score."""

    stale_attributes = ("oob_improvement_", "oob_scores_", "oob_score_", "train_score_")

    def __init__(self, model: Any, wrappers: Wrappers, favorable: Any):
        super().__init__(model, wrappers, favorable)
        self._trees = [tree.tree_ for tree in model.estimators_[:, 0]]
        nodes = [np.flatnonzero(tree.children_left == -1) for tree in self._trees]
        self.leaf_offset, self.leaf_node = leaf_nodes(nodes)
        self._stored = np.concatenate(
            [tree.value[leaves, 0, 0] for tree, leaves in zip(self._trees, nodes, strict=True)]
        )
        self.leaf_value = model.learning_rate * self._stored
        no_row = np.zeros((1, model.n_features_in_), np.float32)
        self.raw_bias = float(model._raw_predict_init(no_row)[0, 0])

    @staticmethod
    def refuse_unsupported(model: Any) -> None:
        if model.learning_rate == 0:
            raise UnsupportedModelError(
                "this GradientBoostingClassifier has the learning_rate 0, so that its leaves say nothing; train it "
                "with a larger one"
            )
        if model.init is not None and model.init != "zero":
            raise UnsupportedModelError(
                f"this GradientBoostingClassifier starts from init={model.init!r}, whose score differs from row to "
                "row; eifffel edits those that start from a constant, init=None or 'zero'"
            )

    @property
    def _own_jobs(self) -> int | None:
        return None  # it predicts in one thread

    def raw_of_probability(self, probability: float) -> float:
        # The exponential loss estimates half the log-odds.
        return super().raw_of_probability(probability) / (2 if self.model.loss == "exponential" else 1)

    def _check_rows(self, X: Any) -> Any:
        return validate_data(self.model, X, reset=False, dtype=np.float32, order="C", accept_sparse="csr")

    def _read_table(self) -> TreeTable:
        return read_trees(self._trees)

    def _values(self, rows: Any) -> np.ndarray | None:
        return dense(rows)

    def _library_leaves(self, rows: Any, *, n_jobs: int | None, verbose: int) -> np.ndarray:
        return apply_trees(self, lambda t: self._trees[t].apply(rows), rows.shape[0], n_jobs=n_jobs, verbose=verbose)

    def _model_score(self, X: Any) -> np.ndarray:
        return self.model.decision_function(X)

    @property
    def leaf_rows(self) -> np.ndarray:
        return gather_leaves(self, [tree.n_node_samples for tree in self._trees])

    def _splits(self) -> Iterable[Any]:
        for tree in self._trees:
            yield tree.threshold
            yield tree.feature

    def _write(self, leaf_value: np.ndarray) -> Any:
        model = copy.deepcopy(self.model)
        stored = self._divide(leaf_value, model.learning_rate, self._stored)
        for t, tree in enumerate(model.estimators_[:, 0]):
            leaves = slice(self.leaf_offset[t], self.leaf_offset[t + 1])
            tree.tree_.value[self.leaf_node[leaves], 0, 0] = stored[leaves]
        return model
