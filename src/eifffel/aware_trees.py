"""Trees and forests grown with the discrimination-aware criterion: what the paper's TF* and LF* start from.

Kamiran et al. (2010) add to the information gain on the label the one on the sensitive attribute, IGC + IGS. A
two-output entropy tree of scikit-learn, fitted on label and group, maximises the mean of the two gains, so its splits
are those. Once grown, the second output is dropped, and what remains is an ordinary one-output classifier.
"""

import copy
import inspect
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from eifffel.rows.coding import Coding, check_trainable, spread_weight
from eifffel.rows.groups import INTERSECTION, read_groups
from eifffel.rows.labels import check_binary_labels

CRITERION = "entropy"
LABEL = 0  # the output that is kept

# Of late scikit-learn's forests, but not its trees, balance classes by weight rather than by number of rows.
BALANCED_BY_WEIGHT = "sample_weight" in inspect.signature(compute_class_weight).parameters


class _DiscriminationAware(BaseEstimator):
    """What tree and forest share: scikit-learn's own class grows on both targets, and this one takes what it learnt."""

    # Nothing grows without it, so where metadata routing is on it need not be asked for.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012

    def _learn(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Any:
        """Grow on label and group; keep what was learnt of the label."""
        targets, weight, classes = self._check_targets(X, y, sensitive_features, sample_weight)
        grown = self._plain(class_weight=None)
        not_learnt = set(vars(grown))
        self._grow(grown, X, targets, weight)
        for name in [name for name in vars(self) if name.endswith("_")]:  # of an earlier fit
            delattr(self, name)
        self.__dict__.update({name: value for name, value in vars(grown).items() if name not in not_learnt})
        self._keep_label(classes)
        return self

    def _check_targets(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Label and group of each row, the weight that it grows with, and the two classes."""
        self._refuse_unsupported()
        self._validate_params()
        classes = check_binary_labels(y)
        coding = Coding(classes, 1, read_groups(sensitive_features, combine=INTERSECTION))
        rows = coding.encode(X, y, sensitive_features, sample_weight, rows="the training rows")
        column_or_1d(y, warn=True)
        check_trainable(rows)
        weight = spread_weight(sample_weight, len(rows.group))
        label = rows.known_label
        if self.class_weight is not None:
            # Given both targets, scikit-learn would multiply in weights of the group.
            of_row = self._weigh_classes(classes, label, weight)[label]
            weight = of_row if weight is None else weight * of_row
        return np.column_stack([label, rows.group]), weight, classes

    def _weigh_classes(self, classes: np.ndarray, label: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """The weights of the two classes, computed from the labels only, as scikit-learn's own class does."""
        return compute_class_weight(self.class_weight, classes=classes, y=classes[label])

    def to_sklearn(self) -> Any:
        """A copy of the fitted model in scikit-learn's own class, which loads where eifffel is not installed.

        Returns
        -------
        DecisionTreeClassifier or RandomForestClassifier
        """
        check_is_fitted(self)
        plain = self._plain()
        learnt = {name: value for name, value in vars(self).items() if name != "_metadata_request"}
        plain.__dict__.update(copy.deepcopy(learnt))
        return plain

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = False
        tags.target_tags.multi_output = False
        return tags

    def _plain(self, **changes: Any) -> Any:
        """An unfitted model of scikit-learn's own class with the same parameters but for the changes."""
        return self._plain_class(criterion=CRITERION, **{**self.get_params(deep=False), **changes})

    def _refuse_unsupported(self) -> None:
        if self.monotonic_cst is not None:
            raise ValueError(
                "monotonic_cst is not supported: trees are grown on label and group, and scikit-learn knows no "
                "monotonic constraints for two targets; leave it out"
            )
        if isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample":
            raise ValueError(
                "class_weight='balanced_subsample' is not supported: scikit-learn would balance the groups of each "
                "bootstrap sample along with its labels; use 'balanced', whose weights come from y alone"
            )
        if not (self.class_weight is None or self.class_weight == "balanced" or isinstance(self.class_weight, dict)):
            raise ValueError(
                f"class_weight must be None, 'balanced' or a dict from label to weight, got {self.class_weight!r}"
            )

    def _grow(self, grown: Any, X: Any, targets: np.ndarray, weight: np.ndarray | None) -> None:
        grown.fit(X, targets, sample_weight=weight)

    @abstractmethod
    def _keep_label(self, classes: np.ndarray) -> None:
        """Drop the second output of every tree."""


class DiscriminationAwareTreeClassifier(_DiscriminationAware, DecisionTreeClassifier):
    """A decision tree whose splits maximise information gain on the label plus that on the sensitive attribute.

    Leaves that hold one group can be flipped at will, which is what Kamiran, Calders and Pechenizkiy (2010),
    "Discrimination aware decision tree learning", grow such trees for. ``predict`` needs no sensitive attribute.

    The parameters are those of DecisionTreeClassifier but for ``criterion``, which is fixed, and ``monotonic_cst``,
    which is refused. Impurities, and so ``min_impurity_decrease``, ``ccp_alpha``, ``tree_.impurity`` and
    ``feature_importances_``, are the mean of the entropies of label and group; trees without a limit grow until both
    are pure. Class weights weigh labels only.

    Examples
    --------
    >>> from eifffel import DiscriminationAwareTreeClassifier
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(1000, random_state=0)
    >>> tree = DiscriminationAwareTreeClassifier(max_depth=5, random_state=0)
    >>> tree = tree.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> tree.predict_proba(people.data[:3]).shape
    (3, 2)
    >>> type(tree.to_sklearn()).__name__
    'DecisionTreeClassifier'

    Those of 30 and of 40 get the same, and are kept apart since they are of different groups:

    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> tree = DiscriminationAwareTreeClassifier(random_state=0).fit(age, paid, sensitive_features=sex)
    >>> int(tree.get_n_leaves()), tree.predict(age).tolist()
    (3, [0, 1, 1, 1])
    >>> tree.cost_complexity_pruning_path(age, paid, sensitive_features=sex).ccp_alphas.shape
    (3,)
    """

    _plain_class = DecisionTreeClassifier

    def __init__(
        self,
        *,
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
    ):
        super().__init__(
            criterion=CRITERION,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
        )

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None, check_input: bool = True
    ) -> "DiscriminationAwareTreeClassifier":
        """Grow on label and group; keep what was learnt of the label.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Without the sensitive attribute, unless the trees are to see it.
        y : array-like of shape (n_rows,)
            Two labels.
        sensitive_features : array-like of shape (n_rows,), data frame or dict of columns
            The group of each row; of several columns, their combination. It directs the growth; ``predict`` does not
            need it.
        sample_weight : array-like of shape (n_rows,), optional
        check_input : bool
            Has no effect, the input is always checked; here because DecisionTreeClassifier has it.

        Returns
        -------
        DiscriminationAwareTreeClassifier
            Itself, fitted.

        Raises
        ------
        ValueError
            If a parameter is not supported, or there are not two labels, and two groups or more.
        """
        return self._learn(X, y, sensitive_features, sample_weight)

    def cost_complexity_pruning_path(
        self, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None
    ) -> Any:
        """The values of ``ccp_alpha`` at which the tree loses nodes, as in DecisionTreeClassifier.

        Impurities are the mean of those of label and group.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`.

        Returns
        -------
        Bunch
            With ``ccp_alphas`` and ``impurities``.
        """
        targets, weight, _ = self._check_targets(X, y, sensitive_features, sample_weight)
        return self._plain(class_weight=None).cost_complexity_pruning_path(X, targets, sample_weight=weight)

    def _keep_label(self, classes: np.ndarray) -> None:
        _keep_label_of_tree(self, classes)


class DiscriminationAwareForestClassifier(_DiscriminationAware, RandomForestClassifier):
    """A random forest whose splits maximise information gain on the label plus that on the sensitive attribute.

    Flipping its leaves is EiFFFeL-TF* and EiFFFeL-LF*, the starred variants of the paper. ``predict`` needs no
    sensitive attribute; the trees inside are plain DecisionTreeClassifiers.

    The parameters are those of RandomForestClassifier but for ``criterion``, which is fixed, and ``monotonic_cst`` and
    ``class_weight="balanced_subsample"``, which are refused. Impurities, and so ``min_impurity_decrease``,
    ``ccp_alpha`` and ``feature_importances_``, are the mean of the entropies of label and group; trees without a limit
    grow until both are pure. Class weights weigh labels only.

    Examples
    --------
    >>> from eifffel import DiscriminationAwareForestClassifier, EiFFFeLClassifier
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(2000, random_state=0)
    >>> forest = DiscriminationAwareForestClassifier(20, random_state=0)
    >>> starred = EiFFFeLClassifier(forest, epsilon=0.05, strategy="leaf", random_state=0)  # LF*
    >>> starred = starred.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> starred.selection_.met
    True
    >>> forest = forest.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> type(forest.estimators_[0]).__name__, forest.predict(people.data).shape
    ('DecisionTreeClassifier', (2000,))
    """

    _plain_class = RandomForestClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
    ):
        super().__init__(
            n_estimators,
            criterion=CRITERION,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            max_samples=max_samples,
            monotonic_cst=monotonic_cst,
        )

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None
    ) -> "DiscriminationAwareForestClassifier":
        """Grow on label and group; keep what was learnt of the label.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Without the sensitive attribute, unless the trees are to see it.
        y : array-like of shape (n_rows,)
            Two labels.
        sensitive_features : array-like of shape (n_rows,), data frame or dict of columns
            The group of each row; of several columns, their combination. It directs the growth; ``predict`` does not
            need it.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        DiscriminationAwareForestClassifier
            Itself, fitted.

        Raises
        ------
        ValueError
            If a parameter is not supported, or there are not two labels, and two groups or more.
        """
        return self._learn(X, y, sensitive_features, sample_weight)

    def _weigh_classes(self, classes: np.ndarray, label: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        if weight is None or not BALANCED_BY_WEIGHT:
            return super()._weigh_classes(classes, label, weight)
        return compute_class_weight(self.class_weight, classes=classes, y=classes[label], sample_weight=weight)

    def _grow(self, grown: Any, X: Any, targets: np.ndarray, weight: np.ndarray | None) -> None:
        if self.oob_score:
            score = self.oob_score if callable(self.oob_score) else accuracy_score
            grown.set_params(oob_score=lambda true, voted: score(true[:, LABEL], voted[:, LABEL]))
        if self.warm_start and hasattr(self, "estimators_"):
            grown.estimators_ = list(self.estimators_)
        super()._grow(grown, X, targets, weight)

    def _keep_label(self, classes: np.ndarray) -> None:
        for tree in self.estimators_:
            if tree.n_outputs_ > 1:  # a warm start keeps trees that were cut before
                _keep_label_of_tree(tree, tree.classes_[LABEL])
        self.n_outputs_, self.n_classes_, self.classes_ = 1, len(classes), classes
        if self.oob_score:
            votes = vars(self)["oob_decision_function_"]
            self.oob_decision_function_ = np.ascontiguousarray(votes[..., LABEL])


def _keep_label_of_tree(tree: Any, classes: np.ndarray) -> None:
    """Drop all outputs of a fitted tree but the label."""
    state = tree.tree_.__getstate__()
    n_classes = np.array([len(classes)], np.intp)
    one_output = Tree(tree.n_features_in_, n_classes, 1)
    # Where there are more groups than labels, there is room for as many.
    values = np.ascontiguousarray(state["values"][:, [LABEL], : len(classes)])
    one_output.__setstate__({**state, "values": values})
    tree.tree_ = one_output
    tree.n_outputs_, tree.n_classes_, tree.classes_ = 1, n_classes[0], classes
