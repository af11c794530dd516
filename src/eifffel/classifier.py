"""EiFFFeLClassifier: fit an ensemble, trace its path, choose a step. It owns no algorithm."""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eifffel._meta import HeldOutClassifier
from eifffel._utils.validation import check_model
from eifffel.comparison import Compared, Comparison
from eifffel.constraints import DEMOGRAPHIC_PARITY, MIN_GROUP_ROWS
from eifffel.ensembles import find_view, read_classes
from eifffel.path import FairnessPath
from eifffel.rows.batches import Batch, OneBatch
from eifffel.rows.coding import is_constant
from eifffel.rows.groups import EACH
from eifffel.rows.sensitive import ERROR
from eifffel.selection.bounds import BOTH, Bounds
from eifffel.selection.selection import Selection
from eifffel.strategies import ANY, AUTO, check_strategy
from eifffel.tracing import Tracing, trace_rows

UNCHANGED: Any = "unchanged"


class EiFFFeLClassifier(HeldOutClassifier):
    """A tree ensemble made fair by editing leaves.

    Fits the estimator, traces the path of all edits and keeps the step that meets the bounds. The fitted model is a
    plain ensemble of the estimator's own class; its ``predict`` needs no sensitive attribute.

    Parameters
    ----------
    estimator : classifier
        A forest, a boosted ensemble of scikit-learn, LightGBM, XGBoost or CatBoost, or something around one; see
        `trace_path`. One that is already fitted is passed as ``FrozenEstimator(model)``: nothing is refitted, and the
        rows given to ``fit`` only score leaves and select the step.
    epsilon : float in [0, 1], optional
        Bound on discrimination: on the difference of selection rates between any two groups, or of other rates that
        ``constraint`` names. 0.05, unless ``ratio`` is given.
    ratio : float in (0, 1], optional
        In place of epsilon, bound on the smallest of these rates divided by the largest: 0.8 is the four-fifths rule.
    alpha : float in [0, 1], optional
        Bound on the absolute drop of accuracy, or of what ``objective`` names; ``None`` is no limit.
    confidence : float in [0.5, 1), optional
        Choose a step such that, with this confidence, the bound holds for people drawn as the selection rows were and
        not only on these rows; see `FairnessPath.select`. A frozen estimator must not have been trained on the rows
        given to ``fit``.
    sides : {"both", "upper"}
        Bound the difference of two groups in both directions, or only in that in which the privileged one is favoured.
    objective : {"accuracy", "balanced_accuracy"} or 2 x 2 costs
        What ``alpha`` limits the loss of; see `FairnessPath.select`.
    strategy : {"auto", "leaf", "tree", "shift"}
        See `trace_path`.
    direction : {"any", "up"}
        ``"up"`` only turns unfavourable decisions into favourable ones.
    constraint : {"demographic_parity", "equal_opportunity", "predictive_equality", "equalized_odds"}
        Which rates are compared; see `trace_path`.
    combine : {"each", "intersection"}
        With several attributes, whether groups are compared by each of them in turn, or by all their combinations.
    min_group_rows : int
        A group with fewer rows to score or to choose on is left out of the bound; where there are two, none is.
    missing : {"error", "own-group", "drop"}
        What becomes of rows without a group; dropped ones still train the estimator.
    select_on : {"validation", "train"}
        Where the step is chosen: on rows held out from training and scoring, or, as in the paper, on the training
        rows, which deep trees know by heart and which therefore say little about unseen people; that warns unless
        ``rule="paper"``.
    validation_fraction : float in (0, 1)
        Share of the rows held out with ``select_on="validation"``, stratified by group and label where each such
        cell has two rows or more, else by label, else not.
    rule : {"first", "most_accurate", "paper"}
        See `FairnessPath.select`.
    privileged : group, optional
        The privileged group, which all others are compared with; a dict of them by attribute where there are several.
        By default, of two groups the one that the model favours on the scoring rows, of more none.
    favorable : label or set of labels, optional
        The favourable class; by default the larger of 0/1, -1/1 or booleans. With a set, the estimator is trained on 1
        for the labels in it and 0 for all others, and predicts that.
    monotone : dict, optional
        Of a frozen estimator, the features on which it was trained to be monotone, as in `trace_path`.
    random_state : int, RandomState instance or None
        For the split into training and selection rows.
    n_jobs : int, optional
        Threads for tracing the path. Training uses the ``n_jobs`` of the estimator.
    verbose : int
        Above 0, a progress bar appears on work over a second.

    Attributes
    ----------
    estimator_ : classifier
        The edited ensemble.
    path_ : FairnessPath
        All steps from the estimator as it was trained, which ``path_.model`` is.
    selection_ : Selection
        The step that was kept, and what was measured there.
    selection_rows_ : ndarray
        Places, among the rows given to ``fit``, of the rows that the step was chosen on.
    classes_ : ndarray of shape (2,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has column names.

    See Also
    --------
    trace_path : The same for a model that was trained elsewhere.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel import EiFFFeLClassifier
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(2000, random_state=0)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> clf = EiFFFeLClassifier(forest, epsilon=0.05, random_state=0)
    >>> clf = clf.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> abs(clf.selection_.discrimination) <= 0.05
    True
    >>> clf.predict(people.data[:3]).shape, clf.predict_proba(people.data[:3]).shape
    ((3,), (3, 2))
    >>> clf.selection_.met, clf.selection_.discrimination_rows
    (True, 'selection rows')
    >>> stricter = clf.at(epsilon=0.02)  # another step of the same path; nothing is fitted again
    >>> stricter.selection_.step > clf.selection_.step, stricter.path_ is clf.path_
    (True, True)
    >>> changed = clf.changed(people.data)  # the people who are decided otherwise than by the original model
    >>> changed.dtype.names, 0 < len(changed) < len(people.data)
    (('row', 'before', 'after'), True)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        epsilon: float | None = None,
        ratio: float | None = None,
        alpha: float | None = None,
        confidence: float | None = None,
        sides: str = BOTH,
        objective: Any = "accuracy",
        strategy: str = AUTO,
        direction: str = ANY,
        constraint: str = DEMOGRAPHIC_PARITY,
        combine: str = EACH,
        min_group_rows: int = MIN_GROUP_ROWS,
        missing: str = ERROR,
        select_on: str = "validation",
        validation_fraction: float = 0.25,
        rule: str = "first",
        privileged: Any = None,
        favorable: Any = None,
        monotone: Mapping[Any, int] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.epsilon = epsilon
        self.ratio = ratio
        self.alpha = alpha
        self.confidence = confidence
        self.sides = sides
        self.objective = objective
        self.strategy = strategy
        self.direction = direction
        self.constraint = constraint
        self.combine = combine
        self.min_group_rows = min_group_rows
        self.missing = missing
        self.select_on = select_on
        self.validation_fraction = validation_fraction
        self.rule = rule
        self.privileged = privileged
        self.favorable = favorable
        self.monotone = monotone
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None, **fit_params: Any
    ) -> "EiFFFeLClassifier":
        """Fit the ensemble and edit it.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Two labels, or any number with a set of favourable ones.
        sensitive_features : array-like of shape (n_rows,), data frame or dict of columns
            The group of each row. No feature: it goes to the ``fit`` of an estimator that asks for it, as
            `DiscriminationAwareForestClassifier` does, and to no ``predict``.
        sample_weight : array-like of shape (n_rows,), optional
            For training, and to count rows in scoring and selection.
        **fit_params
            Passed on to the ``fit`` of the estimator.

        Returns
        -------
        EiFFFeLClassifier
            Itself, fitted.

        Raises
        ------
        ValueError
            If a parameter, or what they ask for together, makes no sense, or rows lack a label or a group.
        UnsupportedModelError
            If the leaves of the estimator cannot be edited.

        Warns
        -----
        ConstraintNotMetWarning
            If no step meets the bounds; ``selection_.met`` is then ``False``.
        FewRowsWarning, SeenRowsWarning
            As in `FairnessPath.select`.
        PrivilegedGroupWarning
            If the model does not favour the group given as privileged.
        """
        bounds = self._bounds
        comparison = Comparison(
            self.favorable, self.privileged, self.constraint, self.combine, self.min_group_rows, self.missing
        )
        self._check_split_parameters(own_rows="rows of your own go into trace_path")
        # One that is trained here says itself whether it is monotone.
        monotone = {} if self.monotone is None and not self._frozen else self.monotone
        tracing = Tracing(
            self.strategy,
            self.direction,
            monotone=monotone,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            trained_here=not self._frozen,
            one_table=True,
        )
        self._check_confidence(bounds, sample_weight)
        classes = self._check_model()
        rows = OneBatch(Batch(X, y, sensitive_features, sample_weight))
        compared = comparison.resolve(classes, comparison.survey(rows, rows=self._rows_given))
        bounds.check_sides(compared.constraint)
        given = self._read(X, y, sensitive_features, sample_weight, fit_params, compared.coding)
        scoring, selection = self._split(given)
        self._edit(
            self._train(given, scoring),
            Batch(*given.take(scoring)),
            None if selection is None else Batch(*given.take(selection)),
            compared,
            tracing,
        )
        self.selection_rows_ = np.arange(len(given.rows.group)) if selection is None else selection
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

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of the edited ensemble; they are no longer calibrated.

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

    def at(
        self,
        *,
        epsilon: Any = UNCHANGED,
        ratio: Any = UNCHANGED,
        alpha: Any = UNCHANGED,
        rule: Any = UNCHANGED,
        confidence: Any = UNCHANGED,
        sides: Any = UNCHANGED,
        objective: Any = UNCHANGED,
    ) -> "EiFFFeLClassifier":
        """The same fitted path under another bound: a new classifier, without refitting.

        Of several bounds tried with ``confidence`` on the same rows, only one chosen beforehand has it.

        Parameters
        ----------
        epsilon, ratio, alpha, rule, confidence, sides, objective
            As in the class. What is left out stays as it is; ``epsilon`` takes the place of ``ratio``, and the other
            way round.

        Returns
        -------
        EiFFFeLClassifier
            Fitted; this one is left as it is.

        Raises
        ------
        ValueError
            As in `FairnessPath.select`.

        Warns
        -----
        ConstraintNotMetWarning, FewRowsWarning
            As in `FairnessPath.select`.
        """
        check_is_fitted(self, "estimator_")
        if epsilon is not UNCHANGED and epsilon is not None and ratio is UNCHANGED:
            ratio = None
        elif ratio is not UNCHANGED and ratio is not None and epsilon is UNCHANGED:
            epsilon = None
        given = {
            "epsilon": epsilon,
            "ratio": ratio,
            "alpha": alpha,
            "rule": rule,
            "confidence": confidence,
            "sides": sides,
            "objective": objective,
        }
        other = copy.copy(self)
        other.set_params(**{name: value for name, value in given.items() if value is not UNCHANGED})
        return other._choose(other._bounds)

    def changed(self, X: Any) -> np.ndarray:
        """The rows whose decision the edit changed.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of records
            One for each such row: ``row``, its place in ``X``, and the labels ``before`` and ``after``.
        """
        check_is_fitted(self, "estimator_")
        before = self.path_.model.predict(X)
        after = self.estimator_.predict(X)
        rows = np.flatnonzero(before != after)
        records = np.empty(len(rows), [("row", np.int64), ("before", before.dtype), ("after", after.dtype)])
        records["row"], records["before"], records["after"] = rows, before[rows], after[rows]
        return records

    @property
    def _bounds(self) -> Bounds:
        return Bounds.or_default(
            epsilon=self.epsilon,
            ratio=self.ratio,
            alpha=self.alpha,
            rule=self.rule,
            confidence=self.confidence,
            sides=self.sides,
            objective=self.objective,
        )

    def _check_confidence(self, bounds: Bounds, sample_weight: Any) -> None:
        """Raise if there are no rows to be confident by."""
        if bounds.confidence is not None and self.select_on == "train":
            raise ValueError(
                f"confidence={bounds.confidence:g} needs rows that neither trained the model nor scored its leaves, "
                "and with select_on='train' there are none; use select_on='validation'"
            )
        if bounds.confidence is not None and not is_constant(sample_weight):
            raise ValueError(
                f"confidence={bounds.confidence:g} counts people, and sample_weight makes some of them count more than "
                "others; leave one of the two out, or weigh only the scoring rows, with trace_path"
            )

    def _check_model(self) -> list[Any] | None:
        """The labels of a model that is fitted; raises if it, or the estimator, is none that can be edited."""
        model = self.estimator.estimator if self._frozen else self.estimator
        check_model(model, "estimator")
        if hasattr(model, "predict") and not hasattr(model, "fit"):
            raise TypeError(
                f"estimator must be a classifier of scikit-learn's kind, got a {type(model).__name__}; give it to "
                "trace_path, which edits it as it is"
            )
        classes = read_classes(model) if self._frozen else None
        check_strategy(self.strategy, find_view(self.estimator))
        return classes

    def _edit(self, model: Any, scoring: Batch, selection: Batch | None, compared: Compared, tracing: Tracing) -> None:
        """Trace the path of a trained model and choose a step of it."""
        chosen_on = None if selection is None else OneBatch(selection)
        self.path_: FairnessPath = trace_rows(model, OneBatch(scoring), chosen_on, compared, tracing)
        self._choose(self._bounds)

    def _choose(self, bounds: Bounds) -> "EiFFFeLClassifier":
        self.selection_: Selection = self.path_.choose(bounds)
        self.estimator_ = self.path_.model_at(self.selection_)
        return self
