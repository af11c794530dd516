"""What classifiers that wrap another have in common: reading rows, routing, splitting off held-out rows, training."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _check_method_params, check_is_fitted, has_fit_parameter, validate_data

from eifffel._utils.validation import check_choice, check_fraction, check_in_memory, check_model, check_table, set_index
from eifffel.rows.coding import Coding, Rows, check_split, check_trainable, is_constant, spread_weight
from eifffel.rows.groups import read_two_groups
from eifffel.rows.labels import check_binary_labels, check_favorable
from eifffel.rows.sensitive import set_group_index, split_columns, take_rows

SELECT_ON = ("validation", "train")


@dataclass(frozen=True, eq=False)
class GivenRows:
    """The rows given to ``fit``, as given and encoded.

    Attributes
    ----------
    columns : tuple
        X, y, sensitive_features and sample_weight, as given; the last may be ``None``.
    coding : Coding
    rows : Rows
    fit_params : dict
        What the fit of the estimator inside receives beside X and y, for all rows.
    """

    columns: tuple[Any, Any, Any, Any]
    coding: Coding
    rows: Rows
    fit_params: dict[str, Any]

    def take(self, part: np.ndarray | None) -> tuple[Any, ...]:
        """The columns of the rows at the places ``part``; ``None`` is every row."""
        if part is None:
            return self.columns
        return tuple(None if column is None else take_rows(column, part) for column in self.columns)


class MetaClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier around another one, whose fit takes the group of each row."""

    # There is no fit without it, so where metadata routing is on it need not be asked for.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012

    # What the rows given to fit are called in errors.
    _rows_given = "the rows given"

    estimator: Any
    estimator_: Any

    @property
    def classes_(self) -> np.ndarray:
        check_is_fitted(self, "estimator_")
        return self.estimator_.classes_

    def get_metadata_routing(self) -> MetadataRouter:
        """What this classifier takes itself and what it passes on to the estimator."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.classifier_tags.multi_class = False
        return tags

    @property
    def _frozen(self) -> bool:
        return isinstance(self.estimator, FrozenEstimator)

    def _favorable(self, classes: np.ndarray) -> int:
        """The index of the favourable class."""
        return check_favorable(classes, self.favorable)

    def _read(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: Any,
        fit_params: dict[str, Any],
        coding: Coding | None = None,
    ) -> GivenRows:
        """Check and encode the rows given to ``fit``; by default they are of two groups and two labels."""
        check_table(X)
        check_in_memory("y", y)
        (X,), (y,) = indexable(X), indexable(y)
        validate_data(self, X, skip_check_array=True)
        if coding is None:
            classes = self.estimator.estimator.classes_ if self._frozen else check_binary_labels(y)
            coding = Coding(classes, self._favorable(classes), read_two_groups(sensitive_features))
        rows = coding.encode(X, y, sensitive_features, sample_weight, rows=self._rows_given)
        weighs_alike = is_constant(sample_weight) and np.all(np.asarray(sample_weight) != 0)
        sample_weight = None if weighs_alike else spread_weight(sample_weight, len(rows.group))
        y, sensitive_features = set_index(y, [X]), set_group_index(sensitive_features, [X, y])
        routed = self._route(sensitive_features, sample_weight, fit_params)
        return GivenRows((X, y, sensitive_features, sample_weight), coding, rows, routed)

    def _check_estimator(self) -> None:
        """Raise unless the estimator is a binary classifier, fitted if it is frozen."""
        check_model(self.estimator.estimator if self._frozen else self.estimator, "estimator")
        if not hasattr(self.estimator, "fit") or not is_classifier(self.estimator):
            raise TypeError(f"estimator must be a classifier, got {self.estimator!r}")
        if self._frozen:
            model = self.estimator.estimator
            check_is_fitted(model)
            if len(model.classes_) != 2:
                raise ValueError(
                    f"this {type(model).__name__} was trained on {len(model.classes_)} classes, "
                    f"{model.classes_.tolist()}; only binary classifiers are supported: train it on two labels"
                )

    def _route(self, sensitive_features: Any, sample_weight: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        """What the fit of the estimator receives beside X and y."""
        if self._frozen:
            if fit_params:
                raise ValueError(
                    f"a FrozenEstimator is not fitted, so {', '.join(fit_params)} would have no effect; leave it out"
                )
            return {}
        if isinstance(sensitive_features, Mapping):  # in a form that is cut into rows with the others
            columns = [np.asarray(column, object) for _, column in split_columns(sensitive_features)]
            sensitive_features = np.column_stack(columns)
        if get_config()["enable_metadata_routing"]:
            return process_routing(
                self, "fit", sensitive_features=sensitive_features, sample_weight=sample_weight, **fit_params
            ).estimator.fit
        routed = dict(fit_params)
        if sample_weight is not None:
            self._refuse_sampler(
                "sample_weight", "leave it out, or train the pipeline and give it with weights to trace_path"
            )
            routed[self._fit_parameter("sample_weight") or "sample_weight"] = sample_weight
        groups = self._fit_parameter("sensitive_features")
        if groups is not None:
            self._refuse_sampler(
                "sensitive_features", "leave the sampler out, or take a model that needs no groups to train"
            )
            routed[groups] = sensitive_features
        return routed

    def _refuse_sampler(self, what: str, remedy: str) -> None:
        """Raise if a step of imbalanced-learn draws other rows than those that something was given for."""
        steps = self.estimator.steps[:-1] if isinstance(self.estimator, Pipeline) else []
        sampler = next((type(step).__name__ for _, step in steps if hasattr(step, "fit_resample")), None)
        if sampler is not None:
            raise ValueError(
                f"{what} is of the rows that are given, and the last step is trained on others, which {sampler} draws; "
                f"{remedy}"
            )

    def _fit_parameter(self, name: str) -> str | None:
        """By what name the fit of the estimator, or of the last step of a Pipeline, takes something; if it does."""
        if isinstance(self.estimator, Pipeline) and not get_config()["enable_metadata_routing"]:
            step, last = self.estimator.steps[-1]
            return f"{step}__{name}" if has_fit_parameter(last, name) else None
        return name if has_fit_parameter(self.estimator, name) else None

    def _train(self, given: GivenRows, part: np.ndarray | None = None) -> Any:
        """The estimator fitted on the rows at the places ``part``, or on all; one that is frozen as it is.

        Where several labels are favourable, it learns 1 for them and 0 for all others.
        """
        if self._frozen:
            return self.estimator.estimator
        X, y, *_ = given.take(part)
        if given.coding.label_sets is not None:
            y = given.coding.label_sets.join("y", y)
        params = _check_method_params(given.columns[0], params=given.fit_params, indices=part)
        return self._fit_estimator(_unfitted(self.estimator), X, y, params)

    def _fit_estimator(self, estimator: Any, X: Any, y: Any, params: dict[str, Any]) -> Any:
        """Fit a copy of the estimator and return it; a derived class that watches the training overrides this."""
        return estimator.fit(X, y, **params)


class HeldOutClassifier(MetaClassifier):
    """A `MetaClassifier` that sets rows aside from training to choose on."""

    select_on: str
    validation_fraction: float
    random_state: Any

    def _check_split_parameters(self, own_rows: str) -> None:
        """Raise if they cannot be used; ``own_rows`` says what to do with held-out rows of one's own."""
        check_fraction("validation_fraction", self.validation_fraction, inner=True)
        check_choice("select_on", self.select_on, SELECT_ON, hint=own_rows)
        check_random_state(self.random_state)

    def _split(self, given: GivenRows) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Places of the rows to train on and of those to choose on; ``None`` is every row.

        Stratified by group and label as far as the cells allow.
        """
        rows = given.rows
        if self.select_on == "train":
            if not self._frozen:
                check_trainable(rows)
            return None, None
        train, chosen = split_rows(rows, self.validation_fraction, self.random_state)
        if not self._frozen:
            check_trainable(rows.take(train))
        check_split(rows, given.coding.groups, [train, chosen], or_else=", or select_on='train'")
        return train, chosen


def split_rows(rows: Rows, fraction: float, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
    """Places of rows to keep and of the ``fraction`` to hold out, stratified by group and label as far as possible."""
    every = np.arange(len(rows.group))
    n_held_out = int(np.ceil(fraction * len(every)))
    random = check_random_state(random_state)
    choices = (_large_enough(rows.cell), rows.known_label)  # by group and label, or by label alone
    strata = next((by for by in choices if _can_stratify(by, n_held_out, len(every) - n_held_out)), None)
    kept, held_out = train_test_split(every, test_size=fraction, random_state=random, stratify=strata)
    return kept, held_out


def _large_enough(cell: np.ndarray) -> np.ndarray:
    """The cells of rows; a row alone in its cell, which cannot be in both parts, joins the largest of its label."""
    cell = cell.copy()
    sizes = np.bincount(cell)
    for single in np.flatnonzero(sizes == 1):
        of_label = np.arange(single % 2, len(sizes), 2)
        cell[cell == single] = of_label[np.argmax(sizes[of_label])]
    return cell


def _unfitted(estimator: Any) -> Any:
    """A copy of an estimator to be fitted."""
    try:
        return clone(estimator)
    except RuntimeError:  # CatBoost copies lists that are parameters, such as cat_features, and clone objects to that
        return copy.deepcopy(estimator)


def _can_stratify(strata: np.ndarray, *part_sizes: int) -> bool:
    """Whether each stratum can be in both parts."""
    sizes = np.unique(strata, return_counts=True)[1]
    return bool(sizes.min() >= 2 and len(sizes) <= min(part_sizes))
