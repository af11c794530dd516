"""View of LightGBM's LGBMClassifier and of its Booster, whose labels are 0 and 1."""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from eifffel.ensembles._boosted import constrains
from eifffel.ensembles._boosters import MONOTONE, BoosterView, refuse_if, refuse_objective
from eifffel.ensembles._numbers import CATEGORY, cast_rows, column_kinds, own_categories, own_codes, recode
from eifffel.ensembles._treewise import leaf_nodes
from eifffel.ensembles._wrappers import Wrappers
from eifffel.ensembles.trees import TreeTable

# Objectives whose raw score is the log-odds of the second class, up to a factor.
LIGHTGBM_OBJECTIVES = ("binary", "cross_entropy")
MONOTONE_PARAMETERS = ("monotone_constraints", "mc", "monotone_constraint", "monotonic_cst")
LINEAR_PARAMETERS = ("linear_tree", "linear_trees")
# The bits of decision_type.
BY_CATEGORY, DEFAULT_LEFT, MISSING_SHIFT = 1, 2, 2
ZERO_IS_MISSING, NAN_IS_MISSING = 1, 2
# What is no further from 0 is 0.
ZERO = float(np.float32(1e-35))
# Why a model cannot be edited, and what to do.
LINEAR = (
    "was trained with linear_tree, whose leaves hold linear models and ignore values that are set; train it without"
)
EARLY_STOP = (
    "has pred_early_stop, with which it leaves out trees where the first ones seem to decide, and does not add up the "
    "leaves of a row; switch it off, as in model.set_params(pred_early_stop=False), which needs no training"
)


class LightGBMView(BoosterView):
    """Leaf values stand in the text of the model and are set one by one; the first tree carries the bias.

    Attributes
    ----------
    text : str
        The model as LightGBM writes it, with the trees that count.
    """

    def __init__(self, model: Any, wrappers: Wrappers, favorable: Any):
        super().__init__(model, wrappers, favorable)
        # With early stopping, predict uses the trees up to the best iteration.
        self._n_iterations = max(self._booster.best_iteration, -1) or -1
        self.text = self._booster.model_to_string(num_iteration=self._n_iterations)
        # What follows has names of columns where these have names of fields.
        self._of_trees = self.text.partition("\nend of trees")[0]
        self._refuse_trained()
        # Trained without names of columns, it takes frames whatever their columns are called.
        names = self._booster.feature_name()
        self._named = names != [f"Column_{k}" for k in range(len(names))]
        sizes = [int(size) for size in re.findall(r"^num_leaves=(\d+)$", self._of_trees, re.MULTILINE)]
        self.leaf_offset, self.leaf_node = leaf_nodes([np.arange(size) for size in sizes])
        # All digits are in the text; asking for one leaf after another takes longer.
        values = re.findall(r"^leaf_value=(.*)$", self._of_trees, re.MULTILINE)
        self.leaf_value = np.array(" ".join(values).split(), np.float64)
        self.raw_bias = 0.0

    @staticmethod
    def _booster_of(model: Any) -> Any:
        return model.booster_ if hasattr(model, "booster_") else model

    @staticmethod
    def refuse_unsupported(model: Any) -> None:
        if not hasattr(model, "get_params"):  # a Booster is always trained
            return
        params = model.get_params()
        refuse_if(any(_is_on(params.get(name)) for name in LINEAR_PARAMETERS), model, LINEAR)
        # Of the parameters of prediction, the classifier passes on only this one; a Booster reads none of them.
        refuse_if(_is_on(params.get("pred_early_stop")), model, EARLY_STOP)
        refuse_if(any(constrains(params.get(name)) for name in MONOTONE_PARAMETERS), model, MONOTONE)
        objective = params.get("objective")
        if objective is not None and objective not in LIGHTGBM_OBJECTIVES:
            refuse_objective(model, objective, LIGHTGBM_OBJECTIVES)

    def _refuse_trained(self) -> None:
        """Raise on what only a trained booster shows, such as one that was read from a file."""
        header = self.text[: self.text.find("\nTree=")]
        fields = dict(line.partition("=")[::2] for line in header.splitlines())
        objective = (fields.get("objective") or "none").split()
        if objective[0] not in LIGHTGBM_OBJECTIVES:
            refuse_objective(self.model, objective[0], LIGHTGBM_OBJECTIVES)
        refuse_if("is_linear=1" in self.text, self.model, LINEAR)
        refuse_if("1" in fields.get("monotone_constraints", ""), self.model, MONOTONE)
        settings = dict(setting.partition(":")[::2] for setting in objective[1:])
        self._sigmoid = float(settings.get("sigmoid", 1))
        self._averages = "average_output" in fields

    @property
    def feature_names(self) -> list[str]:
        return self._booster.feature_name() if self._is_bare else super().feature_names

    @property
    def slope(self) -> float:
        """The log-odds divided by the raw score."""
        # boosting="rf" averages the trees, and its raw score is their sum.
        return self._sigmoid / (self.n_trees if self._averages else 1)

    def raw_of_probability(self, probability: float) -> float:
        return super().raw_of_probability(probability) / self.slope

    def _predict(self, X: Any, **kind: Any) -> Any:
        # LightGBM has underscores for blanks in names, and refuses the table that it was trained on for its blanks.
        names = [] if hasattr(X, "column_names") else [str(name) for name in getattr(X, "columns", ())]
        validate = self._named and [name.replace(" ", "_") for name in names] != self._booster.feature_name()
        return self._booster.predict(X, num_iteration=self._n_iterations, validate_features=validate, **kind)

    def _check_rows(self, X: Any) -> Any:
        try:
            self._predict(_safe_indexing(X, [0]), pred_leaf=True)  # raises what LightGBM says about such rows
        except ValueError as error:
            kinds = [str(kind) for kind in getattr(X, "dtypes", ())]
            n_known = len(self._booster.pandas_categorical or ())
            if not kinds or kinds.count("category") == n_known:
                raise
            raise ValueError(
                f"the model was trained on {n_known} columns of pandas' type category, "
                "and these rows have another number of them (in files, text is text); make them categories before they "
                "come here, as in frame.astype({'job': 'category'})"
            ) from error
        return X

    def _read_table(self) -> TreeTable | None:
        n_leaves = np.diff(self.leaf_offset)
        offset = np.concatenate([[0], np.cumsum(2 * n_leaves - 1)])
        # The nodes of each tree: its splits, then its leaves, which are children below 0, counted downwards from -1.
        place = np.arange(offset[-1]) - np.repeat(offset[:-1], np.diff(offset))
        n_splits = np.repeat(n_leaves - 1, np.diff(offset))
        inner = place < n_splits

        lines: dict[str, list[str]] = {}
        for line in self._of_trees.splitlines():
            name, _, numbers = line.partition("=")
            lines.setdefault(name, []).append(numbers)

        def read(name: str, kind: type, fill: Any) -> np.ndarray:
            nodes = np.full(offset[-1], fill, kind)
            nodes[inner] = np.array(" ".join(lines.get(name, [])).split(), np.float64).astype(kind)
            return nodes

        children = [read(f"{side}_child", np.int32, 0) for side in ("left", "right")]
        left, right = (np.where(inner, np.where(child < 0, n_splits + ~child, child), -1) for child in children)
        feature, threshold = read("split_feature", np.int32, -1), read("threshold", np.float64, 0)
        decision = read("decision_type", np.int32, 0)
        missing, by_category = decision >> MISSING_SHIFT & 3, decision & BY_CATEGORY > 0
        # Where no value was missing in training, a missing one counts as 0; one that is split by categories goes right.
        missing_left = np.where(missing > 0, decision & DEFAULT_LEFT > 0, threshold >= 0) & ~by_category
        # Training that was continued with other settings may split a column in several ways.
        kind = np.where(by_category, 2, missing == ZERO_IS_MISSING)[inner]
        kinds = np.unique(np.column_stack([feature[inner], kind]), axis=0)
        if len(np.unique(kinds[:, 0])) < len(kinds):
            return None
        first, categories = self._read_categories()
        return TreeTable(
            offset=offset,
            left=left,
            right=right,
            feature=feature,
            threshold=threshold,
            missing_left=missing_left,
            leaf=np.where(inner, -1, place - n_splits).astype(np.int32),
            seen_as=np.float64,
            category_set=np.where(by_category, np.repeat(first, np.diff(offset)) + threshold, -1).astype(np.int64),
            categories=categories,
            zeros_missing=tuple(np.unique(feature[inner & (missing == ZERO_IS_MISSING) & ~by_category]).tolist()),
            zero=ZERO,
        )

    def _read_categories(self) -> tuple[list[int], list[np.ndarray]]:
        """The sets of categories that splits send to the left, and the number of the first of each tree."""
        first: list[int] = []
        sets: list[np.ndarray] = []
        for block in self._of_trees.split("\nTree=")[1:]:
            fields = dict(line.partition("=")[::2] for line in block.splitlines())
            first.append(len(sets))
            if int(fields.get("num_cat", 0)):
                begin = np.array(fields["cat_boundaries"].split(), np.int64)
                words = np.array(fields["cat_threshold"].split(), np.int64).astype("<u4")
                bits = np.unpackbits(words.view(np.uint8), bitorder="little")
                sets += [np.flatnonzero(bits[32 * low : 32 * high]) for low, high in pairwise(begin)]
        return first, sets

    def _values(self, rows: Any) -> np.ndarray | None:
        if isinstance(rows, list | np.ndarray) and getattr(rows, "dtype", None) not in (np.float32, np.float64):
            rows = cast_rows(rows, np.float32)  # LightGBM's own way with other arrays, and with lists
        known = self._booster.pandas_categorical if hasattr(rows, "iloc") else None
        of_words = [place for place, kind in enumerate(column_kinds(rows)) if kind == CATEGORY] if known else []
        values = cast_rows(rows, np.float64, leaving=of_words)
        if values is None:
            return None
        if len(of_words) != len(known or ()) and of_words:
            return None
        for place, categories in zip(of_words, known or (), strict=False):
            own = own_categories(rows, place)
            if _has_booleans(own) != _has_booleans(categories):  # True equals 1, but is another category
                return None
            values[:, place] = recode(own_codes(rows, place), own, categories)
        traversal = self._compile()
        by_category = [] if traversal is None else [column.feature for column in traversal.categories]
        if by_category:
            # Categories are cut off at the point before it is looked whether they are below 0.
            values = values.copy()
            values[:, by_category] = np.trunc(values[:, by_category])
        return values

    def _model_score(self, X: Any) -> np.ndarray:
        return self._predict(X, raw_score=True)

    @property
    def leaf_rows(self) -> np.ndarray:
        counts = " ".join(re.findall(r"^leaf_count=(.*)$", self._of_trees, re.MULTILINE)).split()
        return np.array(counts, np.float64) if len(counts) == self.n_leaves else super().leaf_rows

    def _splits(self) -> Iterable[Any]:
        yield re.sub(r"^(leaf_value|tree_sizes)=.*$", "", self.text, flags=re.MULTILINE).encode()

    def _write(self, leaf_value: np.ndarray) -> Any:
        booster = self._copy_booster()
        for t, leaf, value in zip(self.leaf_tree.tolist(), self.leaf_node.tolist(), leaf_value.tolist(), strict=True):
            booster.set_leaf_output(t, leaf, value)
        return self._around_booster(booster)


def _has_booleans(categories: Any) -> bool:
    return any(isinstance(category, bool | np.bool_) for category in categories)


def _is_on(value: Any) -> bool:
    return str(value).lower() in ("true", "1")
