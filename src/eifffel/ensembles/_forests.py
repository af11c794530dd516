"""Views of scikit-learn's averaged trees: a single tree, forests, and bagging of trees."""

import copy
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from eifffel.ensembles._averaged import AveragedView
from eifffel.ensembles._treewise import apply_trees, dense, gather_leaves, leaf_nodes, read_trees
from eifffel.ensembles._wrappers import Wrappers
from eifffel.ensembles.trees import TreeTable
from eifffel.exceptions import UnsupportedModelError


def _refuse_monotonic(model: Any, constraints: Any) -> None:
    if constraints is not None and np.any(constraints):
        raise UnsupportedModelError(
            f"this {type(model).__name__} has monotonic_cst, and editing leaves breaks such constraints; train it "
            "without them"
        )


def _refuse_other_than_trees(model: Any, bagged: Any) -> None:
    if not isinstance(bagged, DecisionTreeClassifier):
        raise UnsupportedModelError(
            f"this {type(model).__name__} bags {type(bagged).__name__}; eifffel edits bagging of "
            "DecisionTreeClassifier or ExtraTreeClassifier only"
        )


class _AveragedTreesView(AveragedView):
    """Trees whose ``tree_.value`` holds class fractions; ``predict`` averages them and takes the argmax."""

    stale_attributes = ("oob_score_", "oob_decision_function_")

    def __init__(self, model: Any, wrappers: Wrappers, favorable: Any):
        super().__init__(model, wrappers, favorable)
        self._trees = self._estimators(model)
        nodes = [np.flatnonzero(tree.tree_.children_left == -1) for tree in self._trees]
        self.leaf_offset, self.leaf_node = leaf_nodes(nodes)
        self.leaf_value = np.concatenate([self._read(t, leaves) for t, leaves in enumerate(nodes)])
        self.writable = np.repeat([tree.tree_.value.shape[2] == 2 for tree in self._trees], np.diff(self.leaf_offset))

    @staticmethod
    def refuse_unsupported(model: Any) -> None:
        _refuse_monotonic(model, model.monotonic_cst)

    @staticmethod
    @abstractmethod
    def _estimators(model: Any) -> list[Any]:
        """The fitted trees of the model, in the order in which ``predict`` adds them."""

    def _features(self, t: int) -> np.ndarray | None:
        """The input columns that tree ``t`` sees, ``None`` for all in order."""
        return None

    def _columns(self, t: int) -> tuple[list[int], list[int]]:
        """The columns of ``tree_.value`` that tree ``t`` has, and the columns of ``leaf_value`` they stand in."""
        if self._trees[t].tree_.value.shape[2] == 2:
            return [1 - self.favorable, self.favorable], [0, 1]
        # Grown on rows of one class (bagging can draw such a sample); its label is the index of that class.
        return [0], [int(self._trees[t].classes_[0] == self.favorable)]

    def _read(self, t: int, leaves: np.ndarray) -> np.ndarray:
        theirs, ours = self._columns(t)
        leaf_value = np.zeros((len(leaves), 2))
        leaf_value[:, ours] = self._trees[t].tree_.value[:, 0].take(leaves, axis=0)[:, theirs]
        return leaf_value

    @property
    def class_weight(self) -> Any:
        weight = self._class_weight_owner.class_weight
        if weight is None or isinstance(weight, str):
            # "balanced_subsample" balances every bootstrap sample, whose label shares are those of all rows.
            return None if weight is None else "balanced"
        return tuple(float(weight.get(self._class_weight_keys[k], 1.0)) for k in (1 - self.favorable, self.favorable))

    @property
    def _class_weight_owner(self) -> Any:
        return self.model

    @property
    def _class_weight_keys(self) -> Any:
        return self.classes

    def _model_score(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(X)[:, self.favorable]

    def _check_rows(self, X: Any) -> Any:
        allow_nan = get_tags(self._trees[0]).input_tags.allow_nan
        return validate_data(
            self.model,
            X,
            reset=False,
            dtype=np.float32,
            accept_sparse="csr",
            ensure_all_finite="allow-nan" if allow_nan else True,
        )

    def _read_table(self) -> TreeTable:
        return read_trees([tree.tree_ for tree in self._trees], self._features)

    def _values(self, rows: Any) -> np.ndarray | None:
        return dense(rows)

    def _library_leaves(self, rows: Any, *, n_jobs: int | None, verbose: int) -> np.ndarray:
        def nodes_of(t: int) -> np.ndarray:
            features = self._features(t)
            return self._trees[t].tree_.apply(rows if features is None else rows[:, features])

        return apply_trees(self, nodes_of, rows.shape[0], n_jobs=n_jobs, verbose=verbose)

    @property
    def leaf_rows(self) -> np.ndarray:
        return gather_leaves(self, [tree.tree_.n_node_samples for tree in self._trees])

    def _splits(self) -> Iterable[Any]:
        for t, tree in enumerate(self._trees):
            features, own = self._features(t), tree.tree_.feature
            yield tree.tree_.threshold
            # Leaves have -2 in the place of a feature.
            yield own if features is None else np.where(own >= 0, features[np.maximum(own, 0)], -2)

    def _write(self, leaf_value: np.ndarray) -> Any:
        model = copy.deepcopy(self.model)
        for t, tree in enumerate(self._estimators(model)):
            leaves = slice(self.leaf_offset[t], self.leaf_offset[t + 1])
            theirs, ours = self._columns(t)
            # Nothing renormalises the fractions: each class is written.
            tree.tree_.value[self.leaf_node[leaves, None], 0, theirs] = leaf_value[leaves][:, ours]
        return model


class DecisionTreeView(_AveragedTreesView):
    """A single DecisionTreeClassifier or ExtraTreeClassifier."""

    @staticmethod
    def _estimators(model: Any) -> list[Any]:
        return [model]


class ForestView(_AveragedTreesView):
    """RandomForestClassifier and ExtraTreesClassifier."""

    def _model_answers(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        own = getattr(self.model.predict, "__func__", None) is RandomForestClassifier.predict
        if self.wrappers.outer is not self.model or not own:
            return super()._model_answers(X)
        # Scikit-learn's own predict takes the more likely class of predict_proba, which need not be asked twice.
        probability = self.model.predict_proba(X)
        return probability[:, self.favorable], probability.argmax(axis=1) == self.favorable

    @staticmethod
    def _estimators(model: Any) -> list[Any]:
        return list(model.estimators_)


class BaggingView(_AveragedTreesView):
    """BaggingClassifier over single trees, each on its own columns."""

    @classmethod
    def check_fitted(cls, model: Any) -> None:
        super().check_fitted(model)
        for tree in cls._estimators(model):
            _refuse_other_than_trees(model, tree)

    @staticmethod
    def _estimators(model: Any) -> list[Any]:
        # Those of imbalanced-learn are each behind a sampler, in a Pipeline.
        return [Wrappers(tree).ensemble for tree in model.estimators_]

    @staticmethod
    def refuse_unsupported(model: Any) -> None:
        tree = model.estimator
        if tree is None:  # BaggingClassifier's own default, a DecisionTreeClassifier
            return
        _refuse_other_than_trees(model, tree)
        _refuse_monotonic(model, tree.monotonic_cst)

    def _features(self, t: int) -> np.ndarray | None:
        features = self.model.estimators_features_[t]
        return None if np.array_equal(features, np.arange(self.model.n_features_in_)) else features

    @property
    def _class_weight_owner(self) -> Any:
        return self._trees[0]

    @property
    def _class_weight_keys(self) -> Any:
        return (0, 1)  # bagging encodes the labels before its trees see them
