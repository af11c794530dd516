"""Mixins with which scikit-learn's own estimator checks, which know no groups, can be run."""

import warnings

import numpy as np
from sklearn.utils.validation import _num_samples

from eifffel import ConstraintNotMetWarning


def rows_in_turn(X) -> np.ndarray:
    """Groups for rows that have none: pairs of rows in turn."""
    return np.arange(_num_samples(X)) // 2 % 2


class GroupedByRow:
    """Supplies the groups to ``fit``, and takes the last label as the favourable one."""

    def fit(self, X, y, sample_weight=None):
        labels = [] if y is None else np.unique(np.asarray(y)).tolist()
        asked = "favorable" in self.get_params(deep=False)
        if asked:
            self.favorable = labels[-1] if len(labels) == 2 else None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstraintNotMetWarning)
                return super().fit(X, y, sensitive_features=rows_in_turn(X), sample_weight=sample_weight)
        finally:
            if asked:
                self.favorable = None
