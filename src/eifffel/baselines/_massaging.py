"""Massaging: the labels of the rows nearest the boundary changed until the groups' rates are equal."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import get_tags

from eifffel._meta import GivenRows
from eifffel.baselines._base import PreProcessor


class Massaging(PreProcessor):
    """A classifier trained on labels changed so that both groups have the same rate of favourable ones.

    A ranker scores the training rows; the unfavourable labels of the highest-ranked unprivileged rows become
    favourable, and as many favourable labels of the lowest-ranked privileged rows unfavourable. Kamiran and Calders
    (2009), "Classifying without discriminating".

    ``predict`` needs no sensitive attribute and is not randomised.

    Parameters
    ----------
    estimator : classifier
        Trained on the changed labels.
    ranker : classifier, optional
        Its favourable score ranks the rows; by default Gaussian naive Bayes, the authors' choice being naive Bayes.
        That takes neither missing values nor sparse rows nor strings, even where the estimator does.
    privileged : group, optional
        The privileged group; by default the one that the labels favour.
    favorable : label, optional
        The favourable class; by default the larger of 0/1, -1/1 or booleans.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    promoted_, demoted_ : ndarray
        Places of the rows whose label became favourable, and unfavourable. Rows are counted: sample weights go to
        training only.
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel.baselines import Massaging
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(1000, random_state=0)
    >>> clf = Massaging(RandomForestClassifier(10, random_state=0))
    >>> clf = clf.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> len(clf.promoted_) == len(clf.demoted_) > 0
    True
    """

    def __init__(self, estimator: Any, *, ranker: Any = None, privileged: Any = None, favorable: Any = None):
        self.estimator = estimator
        self.ranker = ranker
        self.privileged = privileged
        self.favorable = favorable

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        ranker = get_tags(self._ranker()).input_tags
        tags.input_tags.allow_nan &= ranker.allow_nan
        tags.input_tags.sparse &= ranker.sparse
        return tags

    def _ranker(self) -> Any:
        return GaussianNB() if self.ranker is None else self.ranker

    def _check_parameters(self) -> None:
        ranker = self._ranker()
        if not hasattr(ranker, "predict_proba"):
            raise ValueError(
                f"ranker must have predict_proba, to rank rows by, and {type(ranker).__name__} has none; leave it out "
                "for naive Bayes"
            )

    def _rank(self, X: Any, y: Any) -> np.ndarray:
        ranker = clone(self._ranker())
        try:
            return ranker.fit(X, y).predict_proba(X)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"the ranker, {type(ranker).__name__}, cannot rank these rows; pass as ranker= a classifier that can, "
                f"such as one like the estimator. It says: {error}"
            ) from error

    def _change(self, given: GivenRows) -> GivenRows:
        X, y, sensitive_features, sample_weight = given.columns
        rows = given.rows
        label = rows.known_label
        n_rows = np.bincount(rows.group, minlength=2)
        n_favorable = np.bincount(rows.group, label, minlength=2).astype(np.int64)
        # The difference of the groups' favourable rates times the sizes of both, an integer.
        advantage = int(n_favorable[1] * n_rows[0] - n_favorable[0] * n_rows[1])
        (privileged,) = given.coding.groups.find_privileged(self.privileged).privileged
        if privileged is None:
            privileged = int(advantage > 0)
        if privileged == 0:
            advantage = -advantage
        if advantage < 0:
            raise ValueError(
                f"privileged={self.privileged!r}, but the labels favour {given.coding.groups[1 - privileged]!r}: there "
                "is nothing to massage; leave privileged out to take the group that the labels favour"
            )
        score = self._rank(X, y)[:, given.coding.favorable]
        candidates = {
            "promoted": np.flatnonzero((rows.group != privileged) & (label == 0)),
            "demoted": np.flatnonzero((rows.group == privileged) & (label == 1)),
        }
        # As many changes as make the rates equal, rounded up; there are at least as many candidates.
        n_changes = -(-advantage // int(n_rows.sum()))
        by_score = {name: places[np.argsort(score[places], kind="stable")] for name, places in candidates.items()}
        self.promoted_ = np.sort(by_score["promoted"][len(by_score["promoted"]) - n_changes :])
        self.demoted_ = np.sort(by_score["demoted"][:n_changes])
        changed = label.astype(bool)
        changed[self.promoted_], changed[self.demoted_] = True, False
        return replace(given, columns=(X, given.coding.decode(changed), sensitive_features, sample_weight))
