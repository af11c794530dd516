"""A classifier whose score is the first column of X, to test what is done with scores."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class GivenScores(ClassifierMixin, BaseEstimator):
    """The score of the second class is the first column; above 0.5 it is decided for that class."""

    def __init__(self, class_weight=None):
        self.class_weight = class_weight

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        score = np.asarray(X, dtype=float)[:, 0]
        return np.column_stack([1 - score, score])

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]
