"""DFRF, Distributed Fair Random Forest: random trees kept only if they are fair, combined by ridge classification."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import RidgeClassifier
from sklearn.tree import ExtraTreeClassifier
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm.auto import tqdm

from eifffel import metrics
from eifffel._utils.validation import check_fraction, check_n_jobs, check_number
from eifffel.exceptions import warn_caller
from eifffel.rows.coding import Coding, Rows, check_trainable, spread_weight
from eifffel.rows.groups import read_two_groups
from eifffel.rows.labels import check_binary_labels

TREES_PER_JOB = 4  # grown between two looks at how many have been kept


class DFRF(ClassifierMixin, BaseEstimator):
    """Distributed Fair Random Forest: extra-random trees, of which only the fair ones are kept.

    Trees with one random feature per split are grown on all training rows; one is kept if the absolute difference of
    the groups' selection rates on these rows is below ``rho``. Once enough are kept, ridge classification combines
    their 0/1 predictions. Fantin (2020), "A distributed fair random forest", as in the published code.

    ``predict`` needs no sensitive attribute and is not randomised. ``rho`` bounds each tree, not the forest.

    Parameters
    ----------
    n_estimators : int
        How many trees to keep.
    max_depth : int, optional
    min_samples_leaf : int or float
        Both as in ExtraTreeClassifier. The authors use depth 20 with 3 rows, 4 with 1 on COMPAS, 12 with 1 on credit
        data.
    alpha : float
        Ridge penalty; the authors use 100, 5 on COMPAS, 225 on credit data.
    rho : float in (0, 1]
        A tree is kept if its absolute statistical parity on the training rows is below. One that decides all rows
        alike has parity 0 and is kept, as in the authors' code: with a small ``rho`` such trees fill the forest.
    sensitive_columns : str, int, or list of them, optional
        The columns of X that hold the sensitive attribute; the trees do not see them. By default X is taken to be
        without, and a column that is the group by another name warns.
    max_rejected : int
        After how many rejected trees to give up with an error.
    random_state : int, RandomState instance or None
        The result depends on it, not on the number of jobs.
    n_jobs : int, optional
        Trees are grown through joblib, so that ``joblib.parallel_config(backend=...)`` distributes them.
    verbose : int
        Above 0, a progress bar appears on work over a second.

    Attributes
    ----------
    estimators_ : list of ExtraTreeClassifier
        The trees kept.
    parity_ : ndarray of shape (n_estimators,)
        The absolute statistical parity of each on the training rows.
    n_rejected_ : int
    ridge_ : RidgeClassifier
    classes_ : ndarray of shape (2,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has column names.

    Examples
    --------
    >>> from eifffel.baselines import DFRF
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(1000, random_state=0)
    >>> clf = DFRF(5, max_depth=4, rho=0.1, random_state=0)
    >>> clf = clf.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> len(clf.estimators_), bool(clf.parity_.max() < 0.1)
    (5, True)
    >>> decided = clf.predict(people.data)
    >>> set(decided.tolist()) <= {0, 1}, ((clf.decision_function(people.data) > 0) == decided).all().item()
    (True, True)
    """

    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        max_depth: int | None = 20,
        min_samples_leaf: float = 3,
        alpha: float = 100,
        rho: float = 0.05,
        sensitive_columns: Any = None,
        max_rejected: int = 10_000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.alpha = alpha
        self.rho = rho
        self.sensitive_columns = sensitive_columns
        self.max_rejected = max_rejected
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None) -> "DFRF":
        """Grow trees until enough fair ones are kept, and combine them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Two labels.
        sensitive_features : array-like of shape (n_rows,)
            The group of each row, two values.
        sample_weight : array-like of shape (n_rows,), optional
            For the trees, their parity and the ridge.

        Returns
        -------
        DFRF
            Itself, fitted.

        Raises
        ------
        ValueError
            If more than ``max_rejected`` trees are not fair enough, or a parameter makes no sense.

        Warns
        -----
        UserWarning
            If a column that the trees see is the group by another name.
        """
        check_number("n_estimators", self.n_estimators, at_least=1, integer=True)
        check_number("max_depth", self.max_depth, at_least=1, integer=True, optional=True)
        check_number("alpha", self.alpha, at_least=0)
        check_fraction("rho", self.rho)
        if self.rho == 0:
            raise ValueError("rho must be above 0, since a tree is kept if its parity is below it, got 0")
        check_number("max_rejected", self.max_rejected, at_least=0, integer=True)
        check_n_jobs(self.n_jobs)
        classes = check_binary_labels(y)
        coding = Coding(classes, 1, read_two_groups(sensitive_features))
        rows = coding.encode(X, y, sensitive_features, sample_weight, rows="the training rows")
        column_or_1d(y, warn=True)
        check_trainable(rows)
        features = validate_data(self, X, dtype=np.float32, accept_sparse="csc", ensure_all_finite="allow-nan")
        columns = self._columns()
        features = _drop_columns(features, columns)
        if features.shape[1] == 0:
            raise ValueError(
                f"sensitive_columns={self.sensitive_columns!r} are all the columns of X: no feature is left to grow on"
            )
        self._warn_of_group(features, rows.group, columns)
        weight = spread_weight(sample_weight, len(rows.group))
        self.estimators_, self.parity_, self.n_rejected_, decided = self._grow(features, rows, weight)
        self._sensitive_columns = columns
        self.ridge_ = RidgeClassifier(alpha=self.alpha).fit(np.transpose(decided), rows.known_label, weight)
        self.classes_ = classes
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Decide; no sensitive attribute is needed.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            With the columns that ``fit`` had, the sensitive ones too.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels of ``classes_``.
        """
        second = self.decision_function(X) > 0
        return self.classes_[second.astype(np.intp)]

    def decision_function(self, X: Any) -> np.ndarray:
        """The ridge's score: above 0 for the second class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "ridge_")
        features = validate_data(
            self, X, reset=False, dtype=np.float32, accept_sparse="csr", ensure_all_finite="allow-nan"
        )
        features = _drop_columns(features, self._sensitive_columns)
        return self.ridge_.decision_function(np.column_stack([tree.predict(features) for tree in self.estimators_]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _columns(self) -> list[int]:
        """The places of the columns that trees do not see."""
        if self.sensitive_columns is None:
            return []
        one = isinstance(self.sensitive_columns, str | Integral) or not isinstance(self.sensitive_columns, Iterable)
        return sorted({self._column(name) for name in ([self.sensitive_columns] if one else self.sensitive_columns)})

    def _column(self, name: Any) -> int:
        names = getattr(self, "feature_names_in_", np.array([])).tolist()
        if isinstance(name, str) and name in names:
            return names.index(name)
        if isinstance(name, Integral) and not isinstance(name, bool) and 0 <= int(name) < self.n_features_in_:
            return int(name)
        named = f"by name ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''}) or " if names else ""
        raise ValueError(
            f"sensitive_columns must be columns of X, {named}by number from 0 to {self.n_features_in_ - 1}, "
            f"got {name!r}"
        )

    def _warn_of_group(self, X: Any, group: np.ndarray, columns: list[int]) -> None:
        """Warn if a column that the trees see is the group by another name."""
        low, high = (np.array([_extreme(X[group == code], name) for code in (0, 1)]) for name in ("min", "max"))
        separating = np.flatnonzero((low == high).all(axis=0) & (low[0] != low[1]))
        if len(separating):
            places = np.setdiff1d(np.arange(self.n_features_in_), columns)[separating].tolist()
            names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))[places].tolist()
            warn_caller(
                f"the columns {names} of X are the sensitive attribute, which DFRF grows its trees without; name them "
                "in sensitive_columns, or leave them out of X",
                UserWarning,
            )

    def _grow(
        self, X: Any, rows: Rows, weight: np.ndarray | None
    ) -> tuple[list[Any], np.ndarray, int, list[np.ndarray]]:
        """The trees kept, their parities, how many were rejected, and what those kept decide of the rows."""
        root = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        tree = ExtraTreeClassifier(max_features=1, max_depth=self.max_depth, min_samples_leaf=self.min_samples_leaf)
        kept: list[tuple[Any, np.ndarray, float]] = []
        n_tried, lowest = 0, np.inf  # of the trees that decide anything
        batch = TREES_PER_JOB * effective_n_jobs(self.n_jobs)
        progress = tqdm(total=self.n_estimators, desc="fair trees", disable=not self.verbose, delay=1, leave=False)
        with progress, Parallel(n_jobs=self.n_jobs, prefer="threads") as parallel:
            while True:
                # The seed of a tree follows from its number, so the result does not depend on the number of jobs.
                seeds = [np.random.SeedSequence([root, n_tried + k]).generate_state(1)[0] for k in range(batch)]
                for grown, decided, parity, constant in parallel(
                    delayed(_grow_tree)(tree, int(seed), X, rows, weight, self.rho) for seed in seeds
                ):
                    n_tried += 1
                    lowest = lowest if constant else min(lowest, parity)
                    if grown is not None:
                        kept.append((grown, decided, parity))
                        progress.update()
                    if len(kept) == self.n_estimators:
                        trees, decisions, parities = zip(*kept, strict=True)
                        return list(trees), np.array(parities), n_tried - len(kept), list(decisions)
                    if n_tried - len(kept) > self.max_rejected:
                        raise ValueError(
                            f"DFRF kept {len(kept)} of {self.n_estimators} trees after {n_tried:,} were tried: the "
                            f"lowest statistical parity seen, of a tree that does not decide all rows alike, is "
                            f"{lowest:.3g}, and rho is {self.rho:g}; raise rho or max_rejected, or grow other trees "
                            "with max_depth and min_samples_leaf"
                        )
                progress.set_postfix(tried=n_tried, lowest_parity=f"{lowest:.3g}")


def _grow_tree(
    template: ExtraTreeClassifier, seed: int, X: Any, rows: Rows, weight: np.ndarray | None, rho: float
) -> tuple[Any, Any, float, bool]:
    """A tree, what it decides of the rows, its parity, and whether it decides all alike.

    The first two are ``None`` if it is not fair.
    """
    tree = clone(template).set_params(random_state=seed).fit(X, rows.known_label, sample_weight=weight)
    decided = tree.predict(X)
    favorable, totals = (rows.for_ratios(cells) for cells in (rows.weigh_cells(decided == 1), rows.weigh_cells()))
    parity = float(metrics.demographic_parity_difference(favorable, totals))
    constant = bool((decided == decided[0]).all())
    return (tree, decided, parity, constant) if parity < rho else (None, None, parity, constant)


def _extreme(X: Any, name: str) -> np.ndarray:
    """The smallest or the largest value of each column."""
    values = getattr(X, name)(axis=0)
    return values.toarray().ravel() if issparse(values) else values


def _drop_columns(X: Any, columns: list[int]) -> Any:
    return X if not columns else X[:, np.setdiff1d(np.arange(X.shape[1]), columns)]
