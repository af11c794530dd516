"""EqualizedOdds, CalibratedEqualizedOdds, RejectOption and Reweighing give what aif360 0.6.1 gives.

How its numbers were obtained is in aif360_reference.py, which also draws the data.
"""

import json
import warnings

import numpy as np
import pytest
from aif360_reference import RESULTS, draw
from given_scores import GivenScores
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

from eifffel import ConstraintNotMetWarning
from eifffel.baselines import CalibratedEqualizedOdds, EqualizedOdds, RejectOption, Reweighing

REFERENCE = json.loads(RESULTS.read_text())
SEEDS = pytest.mark.parametrize("seed", sorted(REFERENCE["seeds"]))


def fitted(baseline, seed, **options):
    """A baseline fitted on the drawn scores as they are, and what aif360 found there."""
    score, label, group, _ = draw(int(seed))
    model = FrozenEstimator(GivenScores().fit(score.reshape(-1, 1), label))
    clf = baseline(model, **options).fit(score.reshape(-1, 1), label, sensitive_features=group)
    return clf, REFERENCE["seeds"][seed]


@SEEDS
def test_equalized_odds(seed):
    clf, theirs = fitted(EqualizedOdds, seed, objective="balanced_accuracy")
    kept_1, given_1, kept_0, given_0 = theirs["equalized_odds"]
    np.testing.assert_allclose(clf.probabilities_[0], [given_0, kept_0], atol=1e-9)
    np.testing.assert_allclose(clf.probabilities_[1], [given_1, kept_1], atol=1e-9)


@SEEDS
@pytest.mark.parametrize("cost", ["fpr", "fnr", "weighted"])
def test_calibrated_equalized_odds(seed, cost):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConstraintNotMetWarning)
        clf, found = fitted(CalibratedEqualizedOdds, seed, cost=cost)
    theirs = found["calibrated"][cost]
    np.testing.assert_allclose(list(clf.base_rates_.values()), theirs["base_rates"], rtol=1e-12)
    # They draw "random <= rate", so that rates outside [0, 1], which we warn of, mean never or always.
    np.testing.assert_allclose(list(clf.mix_rates_.values()), np.clip(theirs["mix_rates"], 0, 1), rtol=1e-9)
    assert bool(caught) == (max(theirs["mix_rates"]) > 1 or min(theirs["mix_rates"]) < 0)


def test_the_reference_has_rates_inside_above_and_below():
    rates = np.array([f["calibrated"][c]["mix_rates"] for f in REFERENCE["seeds"].values() for c in f["calibrated"]])
    assert ((rates > 0) & (rates < 1)).any()
    assert (rates > 1).any()
    assert (rates < 0).any()


@SEEDS
@pytest.mark.parametrize("bound", ["0.02", "0.05", "0.2"])
def test_reject_option(seed, bound):
    clf, found = fitted(RejectOption, seed, epsilon=float(bound), objective="balanced_accuracy")
    theirs = found["reject_option"][bound]
    assert clf.threshold_ == pytest.approx(theirs["threshold"], abs=1e-12)
    assert clf.margin_ == pytest.approx(theirs["margin"], abs=1e-12)
    score, _, group, _ = draw(int(seed))
    decided = clf.predict(score.reshape(-1, 1), sensitive_features=group)
    assert "".join(map(str, decided)) == theirs["decisions"]


@SEEDS
@pytest.mark.parametrize("name", ["equal", "weighted"])
def test_reweighing(seed, name):
    score, label, group, weight = draw(int(seed))
    clf = Reweighing(GaussianNB()).fit(
        score.reshape(-1, 1), label, sensitive_features=group, sample_weight=weight if name == "weighted" else None
    )
    theirs = REFERENCE["seeds"][seed]["reweighing"][name]
    ours = [[clf.cell_weights_[g, k] for k in (0, 1)] for g in (0, 1)]
    np.testing.assert_allclose(ours, [theirs["unprivileged"], theirs["privileged"]], rtol=1e-9)
