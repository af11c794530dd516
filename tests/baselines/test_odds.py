"""EqualizedOdds and CalibratedEqualizedOdds: what they promise of rates, and that no mixture does better."""

import numpy as np
import pytest
from given_scores import GivenScores
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from draws import people
from eifffel import ConstraintNotMetWarning
from eifffel.baselines import CalibratedEqualizedOdds, EqualizedOdds
from eifffel.datasets import make_biased_classification


def drawn_scores(n_rows, seed):
    """Scores, labels and groups; every (group, label) has rows."""
    random = np.random.RandomState(seed)
    y, s = random.randint(0, 2, n_rows), random.randint(0, 2, n_rows)
    s[:4], y[:4] = [0, 0, 1, 1], [0, 1, 0, 1]
    score = np.clip(0.3 * y + 0.2 * s + 0.5 * random.random_sample(n_rows), 0, 1)
    return score.reshape(-1, 1), y, s


def fit(baseline, X, y, s, weight=None, **options):
    model = FrozenEstimator(GivenScores().fit(X, [0, 1]))
    return baseline(model, **options).fit(X, y, sensitive_features=s, sample_weight=weight)


def inside_both(points, polygons):
    """Whether each point is in every polygon, up to rounding."""
    inside = np.ones(len(points), bool)
    for corners in polygons:
        if np.ptp(corners[:, 0] - corners[:, 1]) < 1e-9:  # decisions that say nothing of the label: the diagonal
            inside &= np.abs(points[:, 0] - points[:, 1]) < 1e-9
        else:
            sides = ConvexHull(corners).equations
            inside &= (points @ sides[:, :2].T + sides[:, 2] < 1e-9).all(axis=1)
    return inside


@given(st.integers(8, 60), st.integers(0, 2**16), st.sampled_from(["accuracy", "balanced_accuracy"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_odds_are_equal_and_no_mixture_is_better(n_rows, seed, objective, weighted):
    X, y, s = drawn_scores(n_rows, seed)
    weight = np.random.RandomState(seed).choice([0.5, 1, 3], n_rows) if weighted else np.ones(n_rows)
    clf = fit(EqualizedOdds, X, y, s, weight if weighted else None, objective=objective)
    probability = clf.favorable_probability(X, sensitive_features=s)

    def rate(values, group, label):
        inside = (s == group) & (y == label)
        return np.average(values[inside], weights=weight[inside])

    for label in (0, 1):
        assert rate(probability, 0, label) == pytest.approx(rate(probability, 1, label), abs=1e-7)

    # What a group can reach by mixing is the polygon of (false, true positive rate) of its decisions, of their
    # opposite, of nobody and of everybody; both groups must stand in one point.
    decided = (X[:, 0] > 0.5).astype(float)
    polygons = [
        np.array([[0, 0], [1, 1], point, 1 - point])
        for point in (np.array([rate(decided, group, 0), rate(decided, group, 1)]) for group in (0, 1))
    ]
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101)), axis=-1).reshape(-1, 2)
    points = np.vstack([grid, *polygons])
    reachable = points[inside_both(points, polygons)]
    favorable_share = 0.5 if objective == "balanced_accuracy" else np.average(y, weights=weight)

    def value(fpr, tpr):
        return favorable_share * tpr + (1 - favorable_share) * (1 - fpr)

    reached = value(rate(probability, 0, 0), rate(probability, 0, 1))
    assert value(*reachable.T).max() <= reached + 1e-7


@given(st.integers(20, 80), st.integers(0, 2**16), st.sampled_from(["fpr", "fnr", "weighted"]), st.booleans())
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:with every score of group:eifffel.ConstraintNotMetWarning")
def test_the_costs_are_equal_on_average(n_rows, seed, cost, weighted):
    X, y, s = drawn_scores(n_rows, seed)
    weight = np.random.RandomState(seed).choice([0.5, 1, 3], n_rows) if weighted else np.ones(n_rows)
    clf = fit(CalibratedEqualizedOdds, X, y, s, weight if weighted else None, cost=cost)

    def mean(values, rows):
        return np.average(values[rows], weights=weight[rows])

    bears = []
    for group in (0, 1):
        mix, base = clf.mix_rates_[group], clf.base_rates_[group]
        assert base == pytest.approx(mean(y, s == group))
        score = (1 - mix) * X[:, 0] + mix * base
        fpr, fnr = mean(score, (s == group) & (y == 0)), 1 - mean(score, (s == group) & (y == 1))
        bears.append({"fpr": fpr, "fnr": fnr, "weighted": (fpr * (1 - base) + fnr * base) / 2}[cost])
    rates = sorted(clf.mix_rates_.values())
    assert rates[0] == 0, "only the group that is served better is mixed"
    if 0 < rates[1] < 1:
        assert bears[0] == pytest.approx(bears[1])


def test_costs_that_cannot_be_made_equal_warn():
    # All labels of group 1 are known for certain, those of group 0 are told the wrong way round.
    y, s = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    X = np.array([[0.9], [0.1], [0.0], [1.0]])
    with pytest.warns(
        ConstraintNotMetWarning, match=r"every score of group 1 withheld its cost \(fpr\) is 0.5, with none"
    ):
        clf = fit(CalibratedEqualizedOdds, X, y, s, cost="fpr")
    assert clf.mix_rates_ == {0: 0.0, 1: 1.0}
    # Every score of group 1 is above its base rate: withholding lowers its cost still more.
    with pytest.warns(ConstraintNotMetWarning, match="none of its scores are withheld"):
        clf = fit(CalibratedEqualizedOdds, np.array([[0.9], [0.9], [0.6], [0.6]]), y, s, cost="fpr")
    assert clf.mix_rates_ == {0: 0.0, 1: 0.0}


@pytest.mark.parametrize("scores", [[0.3, 0.5, 0.4], [0.1, 0.7, 0.4]])
def test_rounding_withholds_nothing(scores):
    # The mean score of the unfavourable rows of group 1 is 0.4, as is its base rate: withholding changes no cost.
    y, s = np.array([0, 1, 0, 1, 0, 0, 0, 1, 1]), np.array([0] * 4 + [1] * 5)
    X = np.array([0.6, 0.6, 0.6, 0.6, *scores, 0.9, 0.9]).reshape(-1, 1)
    with pytest.warns(ConstraintNotMetWarning, match="none of its scores are withheld"):
        clf = fit(CalibratedEqualizedOdds, X, y, s, cost="fpr")
    assert clf.mix_rates_ == {0: 0.0, 1: 0.0}


def test_a_score_or_base_rate_of_one_half_is_favourable():
    # Group 1 has base rate 0.5 and better scores, so some are withheld; 0.5 itself is in group 0.
    y, s = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    X = np.array([[0.5], [0.5], [0.2], [0.8]])
    clf = fit(CalibratedEqualizedOdds, X, y, s, cost="fnr")
    assert clf.base_rates_ == {0: 0.5, 1: 0.5}
    assert clf.mix_rates_[1] == pytest.approx(1)
    np.testing.assert_allclose(clf.favorable_probability(X, sensitive_features=s), 1)


def test_a_withheld_score_is_decided_by_the_base_rate():
    X, y, s = drawn_scores(200, 3)
    clf = fit(CalibratedEqualizedOdds, X, y, s, cost="fnr")
    mix = np.array([clf.mix_rates_[0], clf.mix_rates_[1]])[s]
    base = np.array([clf.base_rates_[0], clf.base_rates_[1]])[s]
    wanted = np.where(base >= 0.5, mix, 0) + np.where(X[:, 0] >= 0.5, 1 - mix, 0)
    np.testing.assert_allclose(clf.favorable_probability(X, sensitive_features=s), wanted)
    assert ((wanted > 0) & (wanted < 1)).any()


X, y, s = people(600, seed=0)


@pytest.mark.parametrize("baseline", [EqualizedOdds, CalibratedEqualizedOdds])
@pytest.mark.filterwarnings("ignore:with every score of group:eifffel.ConstraintNotMetWarning")
def test_draws_have_the_expected_rates(baseline):
    clf = baseline(RandomForestClassifier(8, max_depth=4, random_state=0), random_state=0)
    clf.fit(X, y, sensitive_features=s)
    probability = clf.favorable_probability(X, sensitive_features=s)
    assert ((probability > 0) & (probability < 1)).any(), "something is random"
    draws = np.array([clf.predict(X, sensitive_features=s) for _ in range(400)])
    error = np.sqrt(probability * (1 - probability) / 400)
    assert (np.abs(draws.mean(axis=0) - probability) <= 5 * error + 1e-12).all()
    expected = clf.expected_rates(X, y, sensitive_features=s)
    for group in (0, 1):
        inside = s == group
        assert expected[group] == pytest.approx(
            {
                "selection_rate": probability[inside].mean(),
                "true_positive_rate": probability[inside & (y == 1)].mean(),
                "false_positive_rate": probability[inside & (y == 0)].mean(),
            }
        )


def test_a_seed_fixes_the_draws_and_none_does_not():
    clf = EqualizedOdds(RandomForestClassifier(8, max_depth=4, random_state=0), random_state=3)
    clf.fit(X, y, sensitive_features=s)
    draws = [clf.predict(X, sensitive_features=s) for _ in range(3)]
    clf.fit(X, y, sensitive_features=s)
    for drawn in draws:
        np.testing.assert_array_equal(clf.predict(X, sensitive_features=s), drawn)
    assert len({drawn.tobytes() for drawn in draws}) == 3, "and each call has draws of its own"
    clf.set_params(random_state=None).fit(X, y, sensitive_features=s)
    assert (clf.predict(X, sensitive_features=s) != draws[0]).any()


@pytest.mark.parametrize("seed", range(4))
def test_people_decided_one_at_a_time_get_draws_of_their_own(seed):
    clf = EqualizedOdds(RandomForestClassifier(8, max_depth=4, random_state=0), random_state=seed)
    clf.fit(X, y, sensitive_features=s)
    probability = clf.favorable_probability(X, sensitive_features=s)
    random = (probability > 0.01) & (probability < 0.99)
    decided = np.array([clf.predict(X[[i]], sensitive_features=s[[i]])[0] for i in np.flatnonzero(random)])
    error = np.sqrt((probability * (1 - probability))[random].sum())
    assert abs(decided.sum() - probability[random].sum()) < 4 * error


@pytest.mark.parametrize("seed", range(4))
def test_the_draws_do_not_depend_on_rows_drawn_from_the_same_seed(seed):
    people = make_biased_classification(6000, random_state=seed)
    given_rows = (people.data, people.target)
    forest = RandomForestClassifier(10, max_depth=6, random_state=seed)
    clf = EqualizedOdds(forest, random_state=seed).fit(*given_rows, sensitive_features=people.sensitive)
    probability = clf.favorable_probability(people.data, sensitive_features=people.sensitive)
    decided = clf.predict(people.data, sensitive_features=people.sensitive)
    for group in (0, 1):
        inside = people.sensitive == group
        error = np.sqrt((probability * (1 - probability))[inside].sum())
        assert abs(decided[inside].sum() - probability[inside].sum()) <= 4 * error


def test_expected_rates_without_rows_of_a_label_are_nan():
    clf = EqualizedOdds(RandomForestClassifier(8, max_depth=4, random_state=0), random_state=3)
    clf.fit(X, y, sensitive_features=s)
    rows = (s == 0) | (y == 1)
    expected = clf.expected_rates(X[rows], y[rows], sensitive_features=s[rows])
    assert np.isnan(expected[1]["false_positive_rate"])
    assert expected[1]["true_positive_rate"] == expected[1]["selection_rate"]
    one = clf.expected_rates(X[:1], y[:1], sensitive_features=s[:1])
    assert one[s[0]]["selection_rate"] == clf.favorable_probability(X[:1], sensitive_features=s[:1])[0]
    assert np.isnan(one[1 - s[0]]["selection_rate"])


def test_expected_rates_count_rows_by_weight():
    clf = EqualizedOdds(RandomForestClassifier(8, max_depth=4, random_state=0), random_state=3)
    clf.fit(X, y, sensitive_features=s)
    times = np.arange(600) % 3 + 1
    weighted = clf.expected_rates(X, y, sensitive_features=s, sample_weight=times * 0.7)
    rows = np.repeat(np.arange(600), times)
    repeated = clf.expected_rates(X[rows], y[rows], sensitive_features=s[rows])
    for group in (0, 1):
        assert weighted[group] == pytest.approx(repeated[group])
