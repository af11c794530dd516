"""What the baselines share: `PreProcessor` trains on changed rows, `PostProcessor` changes decisions by group."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from eifffel._meta import GivenRows, HeldOutClassifier, MetaClassifier
from eifffel._utils.validation import check_aligned, check_choice
from eifffel.rows.coding import Coding, Rows, check_trainable
from eifffel.selection.objective import OBJECTIVES, favorable_gains

AUTO_OBJECTIVE = "auto"

# Rates and objectives are quotients of sums; closer than this to a bound or to each other they are equal.
ROUNDING = 1e-12


def _estimator_has_probabilities(classifier: Any) -> bool:
    return hasattr(getattr(classifier, "estimator_", classifier.estimator), "predict_proba")


class PreProcessor(MetaClassifier):
    """A classifier trained on changed rows; what comes out is the estimator itself, fitted."""

    def fit(self, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Change the rows and train on them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Two labels.
        sensitive_features : array-like of shape (n_rows,)
            The group of each row, two values.
        sample_weight : array-like of shape (n_rows,), optional
        **fit_params
            Passed on to the ``fit`` of the estimator.

        Returns
        -------
        self
        """
        self._check_estimator()
        if self._frozen:
            raise ValueError(
                f"{type(self).__name__} trains its estimator on changed rows, and a FrozenEstimator is not trained; "
                "pass the estimator itself, unfitted"
            )
        self._check_parameters()
        given = self._read(X, y, sensitive_features, sample_weight, fit_params)
        check_trainable(given.rows)
        self.estimator_ = self._train(self._change(given))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Decide; no sensitive attribute is needed.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels of ``classes_``.
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    @available_if(_estimator_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of the estimator.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)

    def _check_parameters(self) -> None:
        """Raise if a parameter cannot be used."""

    @abstractmethod
    def _change(self, given: GivenRows) -> GivenRows:
        """The rows to train on instead."""


class PostProcessor(HeldOutClassifier):
    """A classifier whose decisions are changed by the group of each row, which ``predict`` therefore needs."""

    __metadata_request__predict = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__score = {"sensitive_features": True}  # noqa: RUF012

    favorable: Any

    def fit(self, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Train the estimator, and choose how to change its decisions.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Two labels.
        sensitive_features : array-like of shape (n_rows,)
            The group of each row, two values.
        sample_weight : array-like of shape (n_rows,), optional
            For training, and to count the rows chosen on.
        **fit_params
            Passed on to the ``fit`` of the estimator.

        Returns
        -------
        self
        """
        self._check_estimator()
        self._check_split_parameters(
            own_rows="for rows of your own, give them to fit with FrozenEstimator(model) as the estimator"
        )
        self._check_parameters()
        given = self._read(X, y, sensitive_features, sample_weight, fit_params)
        train, chosen = (None, None) if self._frozen else self._split(given)
        rows = given.rows if chosen is None else given.rows.take(chosen)
        self._check_rows(rows, given.coding)
        model = self._train(given, train)
        self._adjust(model, self._look(model, given.take(chosen)[0], given.coding), rows, given.coding)
        self._coding = given.coding
        self.estimator_ = model
        return self

    def predict(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """Decide by row and group.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        sensitive_features : array-like of shape (n_rows,)
            The group of each row; there is no decision without it.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels of ``classes_``.

        Raises
        ------
        ValueError
            If ``sensitive_features`` is missing.
        """
        favorable = self._draw(self._probability_of(X, sensitive_features))
        return self._coding.decode(favorable)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None) -> float:
        """Accuracy of ``predict``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y, sample_weight : array-like of shape (n_rows,)
            Labels, and weights, which are optional.
        sensitive_features : array-like of shape (n_rows,)
            As in `predict`.

        Returns
        -------
        float
        """
        check_aligned([("X", X), ("y", y), ("sample_weight", sample_weight)])
        return accuracy_score(y, self.predict(X, sensitive_features=sensitive_features), sample_weight=sample_weight)

    def _probability_of(self, X: Any, sensitive_features: Any) -> np.ndarray:
        check_is_fitted(self, "estimator_")
        if sensitive_features is None:
            raise ValueError(
                f"{type(self).__name__} decides by the group of each person, and sensitive_features is missing; call "
                "predict(X, sensitive_features=...)"
            )
        group = self._coding.encode_groups(X, sensitive_features, rows="the rows to predict")
        return self._probability(self._look(self.estimator_, X, self._coding), group)

    def _look(self, model: Any, X: Any, coding: Coding) -> np.ndarray:
        """What the method looks at: the score that the estimator gives to the favourable class."""
        return model.predict_proba(X)[:, coding.favorable]

    def _draw(self, probability: np.ndarray) -> np.ndarray:
        """Whether each row is decided favourably."""
        return probability > 0

    def _check_parameters(self) -> None:
        """Raise if a parameter of the method, or the estimator, cannot be used."""
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(
                f"{type(self).__name__} needs scores, and {type(self.estimator).__name__} has no predict_proba; use an "
                "estimator that has, such as a forest, or wrap it in CalibratedClassifierCV"
            )

    def _check_rows(self, rows: Rows, coding: Coding) -> None:
        """Raise if the method cannot choose on these rows."""

    @abstractmethod
    def _adjust(self, model: Any, seen: np.ndarray, rows: Rows, coding: Coding) -> None:
        """Choose how to change decisions, from what the method looks at of the rows chosen on."""

    @abstractmethod
    def _probability(self, seen: np.ndarray, group: np.ndarray) -> np.ndarray:
        """The probability with which each row is decided favourably; 0 or 1 if nothing is random."""


class RandomisedPostProcessor(PostProcessor):
    """A `PostProcessor` that draws its decisions."""

    def fit(self, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None, **fit_params: Any) -> Any:
        super().fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight, **fit_params)
        # Another kind of generator than NumPy's old one, so that its numbers are not those with which, from the same
        # seed, somebody drew the rows or their groups.
        self._random = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        return self

    def favorable_probability(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """The probability with which ``predict`` decides each row favourably.

        Parameters
        ----------
        X, sensitive_features
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._probability_of(X, sensitive_features)

    def expected_rates(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> dict[Any, dict[str, float]]:
        """The rates that decisions have on average over all draws.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `score`.

        Returns
        -------
        dict
            Per group its ``selection_rate``, ``true_positive_rate`` and ``false_positive_rate``, where positive means
            favourable; NaN where there is no such row.
        """
        probability = self.favorable_probability(X, sensitive_features=sensitive_features)
        rows = self._coding.encode(X, y, sensitive_features, sample_weight, rows="the rows given", whole=False)
        sums = np.bincount(rows.cell, rows.weight * probability, minlength=4).reshape(2, 2)
        sizes = np.bincount(rows.cell, rows.weight, minlength=4).reshape(2, 2)
        with np.errstate(invalid="ignore"):
            rates, selected = sums / sizes, sums.sum(axis=1) / sizes.sum(axis=1)
        return {
            value: {
                "selection_rate": float(selected[g]),
                "true_positive_rate": float(rates[g, 1]),
                "false_positive_rate": float(rates[g, 0]),
            }
            for g, value in enumerate(self._coding.groups)
        }

    def _draw(self, probability: np.ndarray) -> np.ndarray:
        return self._random.random(len(probability)) < probability

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


class ThresholdPostProcessor(PostProcessor):
    """A `PostProcessor` that is one threshold per group.

    Attributes
    ----------
    thresholds_ : dict
        Per group the score above which a row is decided favourably.
    """

    thresholds_: dict[Any, float]

    def _probability(self, seen: np.ndarray, group: np.ndarray) -> np.ndarray:
        threshold = np.array([self.thresholds_[value] for value in self._coding.groups])
        return seen > threshold[group]


def check_auto_objective(objective: Any) -> None:
    check_choice("objective", objective, (AUTO_OBJECTIVE, *OBJECTIVES))


def auto_gains(objective: str, model: Any, totals: np.ndarray) -> np.ndarray:
    """What one unit of weight decided favourably adds to the objective, by its label: a loss if it is unfavourable."""
    if objective == AUTO_OBJECTIVE:
        objective = "balanced_accuracy" if _weighs_classes(model) else "accuracy"
    gains, divisor = favorable_gains(objective, totals)
    return gains / divisor


def _weighs_classes(model: Any) -> bool:
    """Whether a model was trained for balanced accuracy rather than for accuracy."""
    model = getattr(model, "best_estimator_", model)
    return (
        _weighs_classes(model[-1]) if isinstance(model, Pipeline) else getattr(model, "class_weight", None) is not None
    )


def weigh_above(score: np.ndarray, rows: Rows, thresholds: np.ndarray) -> np.ndarray:
    """Weight of the rows whose score is above each threshold, per group and label; shape (n_thresholds, 2, 2)."""
    above = np.empty((len(thresholds), 4), np.int64)
    for cell in range(4):
        inside = np.flatnonzero(rows.cell == cell)
        inside = inside[np.argsort(score[inside])]
        from_the_top = np.append(np.cumsum(rows.weight[inside][::-1])[::-1], 0)
        above[:, cell] = from_the_top[np.searchsorted(score[inside], thresholds, side="right")]
    return rows.for_ratios(above.reshape(-1, 2, 2))
