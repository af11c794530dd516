"""View of CatBoost's CatBoostClassifier."""

import copy
import io
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from eifffel.ensembles._boosted import BoostedView, constrains
from eifffel.ensembles._treewise import apply_blocks, leaf_nodes
from eifffel.ensembles._wrappers import Wrappers
from eifffel.exceptions import UnsupportedModelError

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

    def apply(self, rows: Any, *, n_jobs: int | None = None, verbose: int = 0) -> np.ndarray:
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
