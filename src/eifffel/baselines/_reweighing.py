"""Reweighing: training rows weighted so that label and group are independent."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.pipeline import Pipeline

from eifffel._meta import GivenRows
from eifffel.baselines._base import PreProcessor


class Reweighing(PreProcessor):
    """A classifier trained on rows weighted so that label and group are independent.

    Each row of group s and label y gets the weight ``P(s) P(y) / P(s, y)``. Calders, Kamiran and Pechenizkiy (2009),
    "Building classifiers with independency constraints".

    ``predict`` needs no sensitive attribute and is not randomised.

    Parameters
    ----------
    estimator : classifier
        Trained on the weighted rows; its ``fit``, or that of the last step of a Pipeline, must take ``sample_weight``.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    cell_weights_ : dict
        The weight of the rows of each (group, label).
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel.baselines import Reweighing
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(1000, random_state=0)
    >>> clf = Reweighing(RandomForestClassifier(10, random_state=0))
    >>> clf = clf.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> clf.cell_weights_[0, 1] > 1 > clf.cell_weights_[1, 1]  # favourable labels are rare in group 0
    True
    """

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def _favorable(self, classes: np.ndarray) -> int:
        return 1  # the weights are the same whichever it is

    def _check_parameters(self) -> None:
        routed = get_config()["enable_metadata_routing"] and isinstance(self.estimator, Pipeline)
        if not routed and self._fit_parameter("sample_weight") is None:
            raise ValueError(
                f"Reweighing weighs rows, and the fit of {type(self.estimator).__name__} takes no sample_weight; use "
                "an estimator whose fit does, such as a forest"
            )
        self._refuse_sampler("the weight that Reweighing computes", "leave the sampler out")

    def _change(self, given: GivenRows) -> GivenRows:
        given.coding.check_both_labels(given.rows, "there is no weight that makes its labels those of all rows")
        cells = given.rows.weigh_cells().astype(np.float64)
        weight = cells.sum(axis=1, keepdims=True) * cells.sum(axis=0) / (cells.sum() * cells)
        labels = given.coding.decode(np.array([False, True])).tolist()
        self.cell_weights_ = {
            (group, label): float(weight[g, k])
            for g, group in enumerate(given.coding.groups)
            for k, label in enumerate(labels)
        }
        of_row = weight.ravel()[given.rows.cell]
        if given.columns[3] is not None:
            of_row = of_row * given.columns[3]
        name = self._fit_parameter("sample_weight") or "sample_weight"
        return replace(given, fit_params={**given.fit_params, name: of_row})
