"""View of XGBoost's XGBClassifier and XGBRFClassifier, and of its Booster, whose labels are 0 and 1."""

import json
from collections.abc import Iterable
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing

from eifffel._utils.parallel import jobs_for, run_threads, split_evenly
from eifffel.ensembles._boosted import constrains
from eifffel.ensembles._boosters import MONOTONE, BoosterView, refuse_if, refuse_objective
from eifffel.ensembles._monotone import LeafBoxes, find_ordered
from eifffel.ensembles._numbers import CATEGORY, cast_rows, column_kinds, own_categories, own_codes, recode
from eifffel.ensembles._treewise import leaf_nodes
from eifffel.ensembles._wrappers import Wrappers
from eifffel.ensembles.trees import TreeTable, count_up_leaves
from eifffel.kernels import leaf_kernels

# Objectives whose raw score is the log-odds of the second class, and whose prediction is its probability.
XGBOOST_OBJECTIVES = ("binary:logistic", "reg:logistic")
# What rules other objectives out, where it is not the same for all.
OTHER_OBJECTIVES = {
    "binary:hinge": "which predicts labels and no probabilities",
    "binary:logitraw": "whose predict compares log-odds with 0.5",
}
# Why a model cannot be edited, and what to do.
STOPPED_EARLY = (
    "was stopped early in its training, and a Booster decides by all of its trees where XGBClassifier takes the best; "
    "read it as the class that you use and give that, or cut it to the best, booster[: booster.best_iteration + 1]"
)
LINEAR_BOOSTER = "has booster='gblinear', a linear model without leaves; train it with 'gbtree' or 'dart'"
VECTOR_LEAVES = "has multi_strategy='multi_output_tree', whose leaves hold vectors; train it without"
SEVERAL_LABELS = "was trained on several labels; eifffel edits classifiers of one binary label"
WEIGHTLESS = "has trees that dart scaled down to nothing; train it with normalize_type='tree'"
# A leaf of a tree with less weight than this could not hold, in float32, what makes a difference to the score.
SMALLEST_WEIGHT = 1e-30


class XGBoostView(BoosterView):
    """Leaf values stand in the JSON form of the model, with the thresholds of the splits."""

    score_tolerance = 1e-5
    score_type = np.float32

    def __init__(self, model: Any, wrappers: Wrappers, favorable: Any):
        super().__init__(model, wrappers, favorable)
        self._raw = bytes(self._booster.save_raw("json"))
        document = json.loads(self._raw)
        learner = document["learner"]
        self._refuse_trained(learner)
        # With early stopping, XGBClassifier uses the trees up to the best iteration; a Booster uses all that it has.
        best = None if self._is_bare else getattr(model, "best_iteration", None)
        self._iterations = (0, 0 if best is None else best + 1)  # 0 stands for all

        # All that is needed of the trees is read here, since it takes long to read them again.
        trees = self._used_trees(learner)
        nodes = [_leaves_of(tree) for tree in trees]
        self.leaf_offset, self.leaf_node = leaf_nodes(nodes)
        values = [
            np.asarray(tree["split_conditions"], np.float32)[leaves] for tree, leaves in zip(trees, nodes, strict=True)
        ]
        self._stored = np.concatenate(values)
        drop = _float32(learner["gradient_booster"].get("weight_drop", np.ones(self.n_trees)))[: self.n_trees]
        self._weight = drop[self.leaf_tree]
        self.leaf_value = self._stored.astype(np.float64) * self._weight
        # XGBClassifier predicts with dart in another way than a Booster does.
        self._takes_off_bias = not self._is_bare and learner["gradient_booster"]["name"] == "dart"
        self.raw_bias = _bias_of(document)
        self._splits_read = self._read_splits(trees)
        self._known_categories = self._read_categories(learner)
        self._first_hessians = np.asarray(trees[0]["sum_hessian"], np.float64)

    @staticmethod
    def _booster_of(model: Any) -> Any:
        return model.get_booster() if hasattr(model, "get_booster") else model

    @staticmethod
    def refuse_unsupported(model: Any) -> None:
        if not hasattr(model, "get_params"):  # a Booster tells little before it is read
            best = model.attr("best_iteration")
            refuse_if(best is not None and int(best) + 1 < model.num_boosted_rounds(), model, STOPPED_EARLY)
            return
        # get_params draws from a random_state that is a generator, and so would change what fit does.
        refuse_if(model.booster == "gblinear", model, LINEAR_BOOSTER)
        _refuse_other_objective(model, model.objective)
        refuse_if(getattr(model, "multi_strategy", None) == "multi_output_tree", model, VECTOR_LEAVES)
        refuse_if(constrains(model.monotone_constraints), model, MONOTONE)

    def _refuse_trained(self, learner: dict[str, Any]) -> None:
        """Raise on what only a trained booster shows, such as one that was read from a file."""
        refuse_if(learner["gradient_booster"]["name"] == "gblinear", self.model, LINEAR_BOOSTER)
        _refuse_other_objective(self.model, learner["objective"]["name"])
        refuse_if(int(learner["learner_model_param"].get("num_target", 1)) > 1, self.model, SEVERAL_LABELS)
        sizes = [int(tree["tree_param"]["size_leaf_vector"]) for tree in _gbtree(learner)["model"]["trees"]]
        refuse_if(max(sizes) > 1, self.model, VECTOR_LEAVES)
        # Known of a booster that was trained or unpickled; model files do not say it.
        train = _gbtree(json.loads(self._booster.save_config())["learner"])["tree_train_param"]
        refuse_if(constrains(train["monotone_constraints"]), self.model, MONOTONE)
        weights = learner["gradient_booster"].get("weight_drop", [1.0])
        refuse_if(min(weights) < SMALLEST_WEIGHT, self.model, WEIGHTLESS)

    @classmethod
    def check_fitted(cls, model: Any) -> None:
        super().check_fitted(model)
        try:
            n_rounds = cls._booster_of(model).num_boosted_rounds()
        except ValueError:  # XGBoost's own error: it has not seen any data
            n_rounds = 0
        if n_rounds == 0:
            raise NotFittedError(f"this {type(model).__name__} has no trees; train it first, for one round or more")

    @property
    def used_trees(self) -> list[dict[str, Any]]:
        """The trees that count, as XGBoost's JSON form has them."""
        return self._used_trees(json.loads(self._raw)["learner"])

    def _used_trees(self, learner: dict[str, Any]) -> list[dict[str, Any]]:
        model = _gbtree(learner)["model"]
        return model["trees"][: model["iteration_indptr"][self._iterations[1] or -1]]

    def hidden_monotone(self) -> dict[str, int]:
        # Reading a file sets these two parameters of XGBClassifier, which are seldom both given to train one.
        if not self._is_bare and (self.model.booster is None or self.model.base_score is None):
            return {}
        names = self.feature_names
        return {names[feature]: sign for feature, sign in find_ordered(map(_boxes_of, self.used_trees)).items()}

    @property
    def feature_names(self) -> list[str]:
        if not self._is_bare:
            return super().feature_names
        names = self._booster.feature_names
        return [f"x{k}" for k in range(self._booster.num_features())] if names is None else names

    def step_width(self, directions: np.ndarray) -> tuple[float, np.ndarray]:
        # Several times the errors of scores near the threshold: they cancel, and grow with the root of the number of
        # trees. The worst case would count so many scores as rounding that no step lay between crossings.
        largest = [self.largest_sum(self.leaf_value) + abs(self.raw_bias), *map(self.largest_sum, directions)]
        rounding, *growth = 2**-23 * np.sqrt(self.n_trees) * np.maximum(1.0, np.array(largest) / 8)
        return float(rounding) + self._probability_rounding(), np.array(growth)

    # Scores of float32 are near a cut-off so often that the sums are made here as XGBoost makes them, not asked for.

    decides_quickly = True

    def _score_errors(
        self, index: np.ndarray, directions: np.ndarray, *, n_jobs: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        # Twice the rounding of one sum, since leaves are rounded too; more often where the bias is added to each.
        unit = float(np.finfo(np.float32).eps) * (1 + self._takes_off_bias)
        bias = abs(self.raw_bias) * (2 + self.n_trees * self._takes_off_bias)
        rounding = unit * (self.sum_sizes(index, self.leaf_value, self.raw_bias, n_jobs=n_jobs) + bias)
        growth = np.stack([self.sum_sizes(index, direction, 0.0, n_jobs=n_jobs) for direction in directions])
        return rounding + self._probability_rounding(), unit * growth

    def decide_shifted(
        self,
        directions: np.ndarray,
        prices: np.ndarray,
        index: np.ndarray,
        row: np.ndarray,
        X: Any = None,
        *,
        n_jobs: int | None = 1,
    ) -> np.ndarray:
        raw = np.full(len(row), self.raw_bias, np.float32)
        prices = self._sign * prices
        bias = np.float32(self.raw_bias if self._takes_off_bias else 0)
        leaves = (self.leaf_offset, self.leaf_value, directions, self._weight, self._stored, bias)

        def fill(part: slice) -> None:
            leaf_kernels.sum_shifted(index, row[part], prices[part], *leaves, raw[part])

        n_jobs = jobs_for(len(row) * self.n_trees, n_jobs)
        parts = split_evenly(len(row), n_jobs)
        run_threads(fill, parts, n_jobs=n_jobs, verbose=0, description="shifted scores")
        second = raw > self._cut
        near = np.abs(raw - self._cut) <= self._probability_rounding()
        if near.any():
            second[near] = self._decide_raw(raw[near])
        return second == (self.favorable == 1)

    def _decide_raw(self, raw: np.ndarray) -> np.ndarray:
        """Whether rows of these raw scores get the second class, as XGBoost and what stands around it decide."""
        none = np.zeros((len(raw), self._booster.num_features()), np.float32)
        matrix = import_module("xgboost").DMatrix(none, base_margin=raw)
        probability = self._without_leaves.predict(matrix, iteration_range=self._iterations, validate_features=False)
        cutoff = self.wrappers.cutoff
        if cutoff is None:
            return np.asarray(probability > 0.5)
        return cutoff.reaches(probability if cutoff.positive == 1 else 1 - probability) == (cutoff.positive == 1)

    @cached_property
    def _without_leaves(self) -> Any:
        """A Booster of which every score is the margin that it is given."""
        booster = self._copy_booster()
        booster.load_model(bytearray(self._document(np.zeros(self.n_leaves, np.float32))))
        return booster

    def _matrix(self, X: Any) -> Any:
        """Rows as XGBoost's DMatrix; rows without names of columns get those of the booster."""
        missing, n_jobs = getattr(self.model, "missing", np.nan), getattr(self.model, "n_jobs", None)
        matrix = import_module("xgboost").DMatrix(X, missing=missing, nthread=n_jobs, enable_categorical=True)
        if matrix.feature_names is None:
            matrix.feature_names = self._booster.feature_names
        return matrix

    def _predict(self, X: Any, **kind: Any) -> Any:
        # XGBClassifier.predict validates less than a prediction from a DMatrix: _check_rows has asked it.
        validate = {"validate_features": self._is_bare}
        return self._booster.predict(self._matrix(X), iteration_range=self._iterations, **validate, **kind)

    def _check_rows(self, X: Any) -> Any:
        first = _safe_indexing(X, [0])
        if self._is_bare:
            self._predict(first)  # raises what XGBoost says about such rows
        else:
            self.model.predict(first)
        return X

    def _read_table(self) -> TreeTable:
        return self._splits_read

    def _read_splits(self, trees: list[dict[str, Any]]) -> TreeTable:
        offset = np.concatenate([[0], np.cumsum([len(tree["left_children"]) for tree in trees])])

        def join(name: str, kind: type) -> np.ndarray:
            return np.concatenate([np.asarray(tree[name], kind) for tree in trees])

        category_set = np.full(offset[-1], -1)
        categories: list[np.ndarray] = []
        for first, tree in zip(offset.tolist(), trees, strict=False):
            named = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
            for node, begin, size in named:
                category_set[first + node] = len(categories)
                categories.append(np.sort(tree["categories"][begin : begin + size]))
        is_leaf = np.zeros(offset[-1], bool)
        is_leaf[self.leaf_node + offset[self.leaf_tree]] = True
        return TreeTable(
            offset=offset,
            left=join("left_children", np.int32),
            right=join("right_children", np.int32),
            feature=join("split_indices", np.int32),
            threshold=join("split_conditions", np.float32),
            missing_left=join("default_left", np.bool_),
            leaf=count_up_leaves(offset, is_leaf),
            seen_as=np.float32,
            strict=True,
            category_set=category_set,
            categories=categories,
            others_left=True,  # those that a split names go right
        )

    def _values(self, rows: Any) -> np.ndarray | None:
        by_category = [place for place, kind in enumerate(column_kinds(rows)) if kind == CATEGORY]
        values = cast_rows(rows, np.float32, leaving=by_category)
        if values is None or values.shape[1] != self._booster.num_features():  # columns that are not there are missing
            return None
        for place in by_category:
            values[:, place] = own_codes(rows, place)
        missing = getattr(self.model, "missing", None)
        if missing is not None and not np.isnan(missing):
            if by_category and not hasattr(rows, "iloc"):  # then it matters which numbers a frame has for its words
                return None
            with np.errstate(over="ignore"):
                values = np.where(values == np.float32(missing), np.float32(np.nan), values)
        for place in by_category:
            known, own = self._known_categories[place], own_categories(rows, place)
            if known is None and hasattr(rows, "iloc"):
                continue
            # XGBoost refuses categories that it does not know, and cuts the bytes of words where letters end.
            if known is None or not all(map(_keeps_its_bytes, known)) or not set(own) <= set(known):
                return None
            values[:, place] = recode(values[:, place], own, known)
        if np.isinf(values).any():
            self._matrix(rows)  # raises what XGBoost says about such rows
        return values

    def _read_categories(self, learner: dict[str, Any]) -> list[list[Any] | None]:
        """What each column was trained on, of frames with categories; ``None`` where numbers stand as they are.

        XGBoost 3.1 and later keep them.
        """
        found: list[list[Any] | None] = []
        for own in _gbtree(learner)["model"].get("cats", {}).get("enc", []):
            values = own["values"]
            if "offsets" in own:  # words, whose bytes stand one after another
                text = bytes(value % 256 for value in values)
                values = [text[begin:end].decode("utf-8", "replace") for begin, end in pairwise(own["offsets"])]
            found.append(values or None)
        return found or [None] * self._booster.num_features()

    def _model_score(self, X: Any) -> np.ndarray:
        return self._predict(X, output_margin=True)

    @property
    def leaf_rows(self) -> np.ndarray:
        # Each row adds a hessian, which in the first tree is that of base_score for all.
        n_rows, first = super().leaf_rows, slice(0, self.leaf_offset[1])
        hessian = self._first_hessians[self.leaf_node[first]]
        found = hessian / (expit(self.raw_bias) * expit(-self.raw_bias))
        n_rows[first] = np.where(np.isclose(found, np.rint(found), rtol=1e-6, atol=1e-3), np.rint(found), np.nan)
        return n_rows

    def _splits(self) -> Iterable[Any]:
        yield self._document(np.zeros(self.n_leaves, np.float32))

    def _write(self, leaf_value: np.ndarray) -> Any:
        booster = self._copy_booster()
        booster.load_model(bytearray(self._document(self._divide(leaf_value, self._weight, self._stored))))
        booster.load_config(self._booster.save_config())  # load_model forgets the parameters
        return self._around_booster(booster)

    def _document(self, leaves: np.ndarray) -> bytes:
        """The model as JSON that stores these leaves."""
        document, stored = json.loads(self._raw), leaves.tolist()
        for t, tree in enumerate(self._used_trees(document["learner"])):
            for leaf in range(self.leaf_offset[t], self.leaf_offset[t + 1]):
                tree["split_conditions"][self.leaf_node[leaf]] = stored[leaf]
        return json.dumps(document, ensure_ascii=False).encode()


def _keeps_its_bytes(category: Any) -> bool:
    """Whether XGBoost keeps a category as it is: of letters beyond ASCII it cuts the bytes where letters end."""
    return category.isascii() if isinstance(category, str) else isinstance(category, int | np.integer)


def _gbtree(learner: dict[str, Any]) -> dict[str, Any]:
    """What holds the trees, in a model or in its configuration: dart has it inside."""
    booster = learner["gradient_booster"]
    return booster.get("gbtree", booster)


def _boxes_of(tree: dict[str, Any]) -> LeafBoxes:
    """The leaves of a tree as boxes; where missing values go does not matter to them."""
    left, right, feature = tree["left_children"], tree["right_children"], tree["split_indices"]
    begins = dict(zip(tree["categories_nodes"], tree["categories_segments"], strict=True))
    sizes = dict(zip(tree["categories_nodes"], tree["categories_sizes"], strict=True))
    named = {node: tree["categories"][begin : begin + sizes[node]] for node, begin in begins.items()}
    inner = [node for node, child in enumerate(left) if child >= 0]
    numbers = sorted({feature[node] for node in inner if node not in named})
    place = {f: k for k, f in enumerate(numbers)}
    known = {
        f: sorted({c for node in inner if node in named and feature[node] == f for c in named[node]})
        for f in {feature[node] for node in inner if node in named}
    }
    leaves = []
    box = np.tile([[-np.inf], [np.inf]], len(numbers))
    pending = [(0, box, {f: np.ones(len(categories) + 1, bool) for f, categories in known.items()})]
    while pending:
        node, box, has = pending.pop()
        if left[node] < 0:
            leaves.append((tree["split_conditions"][node], box, has))
        elif node in named:  # those that are named go right
            f = feature[node]
            goes = np.append(np.isin(known[f], named[node]), False)
            pending += [(left[node], box, has | {f: has[f] & ~goes}), (right[node], box, has | {f: has[f] & goes})]
        else:  # below the threshold to the left
            lower, upper = box.copy(), box.copy()
            k, threshold = place[feature[node]], tree["split_conditions"][node]
            lower[1, k] = min(lower[1, k], threshold)
            upper[0, k] = max(upper[0, k], threshold)
            pending += [(left[node], lower, has), (right[node], upper, has)]
    boxes = np.array([box for _, box, _ in leaves])
    return LeafBoxes(
        value=np.array([value for value, _, _ in leaves]),
        limits={f: boxes[:, :, k].T for k, f in enumerate(numbers)},
        categories={f: np.array([has[f] for _, _, has in leaves]) for f in known},
    )


def _leaves_of(tree: dict[str, Any]) -> np.ndarray:
    """The nodes without children that have a parent: pruned nodes stay in the arrays and have neither."""
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    inner = left >= 0
    reached = np.zeros(len(left), bool)
    reached[np.concatenate([[0], left[inner], right[inner]])] = True
    return np.flatnonzero(reached & ~inner)


def _float32(numbers: Any) -> np.ndarray:
    """Numbers as XGBoost holds them, in float64."""
    return np.asarray(numbers, dtype=np.float32).astype(np.float64)


def _bias_of(document: dict[str, Any]) -> float:
    """The log-odds of base_score, computed in float32; since version 3.1 a list holds it."""
    probability = np.ravel(json.loads(document["learner"]["learner_model_param"]["base_score"])).astype(np.float32)[0]
    one = np.float32(1)
    if document["version"] >= [3, 2]:  # of the library, not of the one that trained the model
        probability = np.clip(probability, np.float32(1e-6), one - np.float32(1e-6))
    # XGBoost's logarithm of float32 is that of float64, rounded; NumPy's own is not always.
    return float(np.float32(-np.log(np.float64(one / probability - one))))


def _refuse_other_objective(model: Any, objective: Any) -> None:
    if objective in XGBOOST_OBJECTIVES:
        return
    name = getattr(objective, "__name__", objective)
    refuse_if(
        str(name).startswith("multi:"),
        model,
        f"has the objective {name!r}, for more than two classes; eifffel edits binary classifiers: train it on a label "
        f"of two values with {XGBOOST_OBJECTIVES[0]!r}",
    )
    refuse_objective(model, objective, XGBOOST_OBJECTIVES, OTHER_OBJECTIVES.get(name))
