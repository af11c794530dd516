"""What holds of every baseline: how it is fitted, asked and refused."""

import inspect
import pickle

import numpy as np
import pytest
import sklearn
from given_scores import GivenScores
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from draws import people
from eifffel import DiscriminationAwareForestClassifier
from eifffel.baselines import (
    BASELINES,
    DFRF,
    CalibratedEqualizedOdds,
    EqualizedOdds,
    GroupThresholds,
    Massaging,
    RejectOption,
    Reweighing,
)
from grouped import GroupedByRow, rows_in_turn

X, y, s = people(600, seed=0)
AT_PREDICTION = {"EqualizedOdds", "CalibratedEqualizedOdds", "RejectOption", "GroupThresholds"}
RANDOMISED = {"EqualizedOdds", "CalibratedEqualizedOdds"}
EVERY = pytest.mark.parametrize("name", BASELINES)
POST = pytest.mark.parametrize("name", sorted(AT_PREDICTION))

pytestmark = pytest.mark.filterwarnings("ignore:with every score of group:eifffel.ConstraintNotMetWarning")


def make(name, **changes):
    if name == "DFRF":
        return DFRF(**({"n_estimators": 5, "max_depth": 3, "rho": 0.3, "random_state": 0} | changes))
    given = dict(changes)
    estimator = given.pop("estimator", RandomForestClassifier(8, max_depth=4, random_state=0))
    if name in AT_PREDICTION:
        given = {"random_state": 0} | given
    return BASELINES[name](estimator, **given)


def outcome(clf):
    """What it makes of the rows, without the draws."""
    if isinstance(clf, EqualizedOdds | CalibratedEqualizedOdds):
        return clf.favorable_probability(X, sensitive_features=s)
    return predict(clf, X, s)


def predict(clf, rows, groups):
    takes_groups = "sensitive_features" in inspect.signature(clf.predict).parameters
    return clf.predict(rows, sensitive_features=groups) if takes_groups else clf.predict(rows)


@EVERY
def test_the_docstring_says_what_predict_needs_and_whether_it_is_random(name):
    doc = " ".join(inspect.getdoc(BASELINES[name]).split())
    needs, random = name in AT_PREDICTION, name in RANDOMISED
    assert f"``predict`` needs {'the' if needs else 'no'} sensitive attribute" in doc
    assert f"and is {'' if random else 'not '}randomised" in doc
    assert ("sensitive_features" in inspect.signature(BASELINES[name].predict).parameters) == needs
    assert hasattr(BASELINES[name], "expected_rates") == random
    assert "(20" in doc, "the year of the paper it is from"


@EVERY
def test_it_lowers_discrimination_or_odds_and_stays_useful(name):
    clf = make(name).fit(X, y, sensitive_features=s)
    decided = predict(clf, X, s)
    assert (decided == y).mean() > max(y.mean(), 1 - y.mean()), "better than one answer for all"
    plain = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, y).predict(X)

    def gap(decision):
        return abs(decision[s == 1].mean() - decision[s == 0].mean())

    if name != "CalibratedEqualizedOdds":  # which equalises a cost, and may well raise the difference of rates
        assert gap(decided) < gap(plain)


@EVERY
@pytest.mark.parametrize("library", ["lists", "pandas", "polars"])
def test_labels_and_groups_of_any_kind(name, library):
    labels, groups = np.array(["bad", "good"])[y], np.array(["f", "m"])[s]
    table, given_labels, given_groups = X.tolist(), labels.tolist(), groups.tolist()
    if library != "lists":
        lib = pytest.importorskip(library)
        table = lib.DataFrame({f"x{k}": X[:, k] for k in range(3)})
        given_labels, given_groups = lib.Series(given_labels), lib.Series(given_groups)
    changes = {} if name in ("DFRF", "Reweighing") else {"favorable": "good"}
    clf = make(name, **changes).fit(table, given_labels, sensitive_features=given_groups)
    assert clf.classes_.tolist() == ["bad", "good"]
    numbers = make(name).fit(X, y, sensitive_features=s)
    np.testing.assert_array_equal(predict(clf, table, given_groups), np.array(["bad", "good"])[predict(numbers, X, s)])
    assert clf.n_features_in_ == 3
    if library == "pandas":
        assert clf.feature_names_in_.tolist() == ["x0", "x1", "x2"]


@EVERY
def test_the_same_seed_gives_the_same_result_and_it_pickles(name):
    first = make(name).fit(X, y, sensitive_features=s)
    same = [clone(first).fit(X, y, sensitive_features=s), pickle.loads(pickle.dumps(first))]
    decided = predict(first, X, s)
    for other in same:
        np.testing.assert_array_equal(predict(other, X, s), decided)


@POST
def test_the_favourable_class_may_be_the_first(name):
    # The same people called by other names: the score of class 1 is one minus what it was, exactly.
    score = np.random.RandomState(0).randint(0, 512, (600, 1)) / 1024 + 0.25 * (y + s)[:, None] + 1 / 4096
    second = make(name, estimator=FrozenEstimator(GivenScores().fit(score, y)))
    second.fit(score, y, sensitive_features=s)
    first = make(name, estimator=FrozenEstimator(GivenScores().fit(score, y)), favorable=0)
    first.fit(1 - score, 1 - y, sensitive_features=s)
    decided = predict(second, score, s)
    assert 0 < decided.mean() < 1
    np.testing.assert_array_equal(predict(first, 1 - score, s), 1 - decided)


def test_massaging_promotes_the_same_people_whichever_class_is_favourable():
    second = make("Massaging").fit(X, y, sensitive_features=s)
    first = make("Massaging", favorable=0).fit(X, 1 - y, sensitive_features=s)
    np.testing.assert_array_equal(first.promoted_, second.promoted_)
    np.testing.assert_array_equal(first.demoted_, second.demoted_)


@EVERY
def test_bad_rows_are_refused_before_training(name):
    class Untrainable(RandomForestClassifier):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("trained before the input was checked")

    if name != "DFRF":
        wrong = {"RejectOption": {"privileged": "m"}, "Massaging": {"privileged": "m"}}.get(name, {})
        if wrong:
            with pytest.raises(ValueError, match="privileged must be one of the groups"):
                make(name, estimator=Untrainable(), **wrong).fit(X, y, sensitive_features=s)
        if name in AT_PREDICTION:
            with pytest.raises(ValueError, match="cannot be used to seed"):
                make(name, estimator=Untrainable(), random_state="a", select_on="train").fit(X, y, sensitive_features=s)
        if name in {"EqualizedOdds", "CalibratedEqualizedOdds", "Reweighing"}:
            with pytest.raises(ValueError, match="group 1 has only rows of the label 1"):
                make(name, estimator=Untrainable()).fit(X, np.where(s == 1, 1, y), sensitive_features=s)
    clf = make(name) if name == "DFRF" else make(name, estimator=Untrainable())
    for changes, message in [
        ({"sensitive_features": None}, "sensitive_features is missing; pass the group of each row"),
        ({"sensitive_features": np.zeros(600)}, "must have two values or more, got only 0"),
        ({"sensitive_features": np.arange(600)}, "has 600 groups, and 50 are the most"),
        ({"sensitive_features": s[:-1]}, "has 599 entries for 600 rows"),
        ({"y": np.arange(600) % 3}, "y must have two labels, got 3: .*; give y as two, such as y == 2$"),
        ({"y": np.zeros(600)}, "y must have two labels, got only 0"),
        ({"sample_weight": -np.ones(600)}, "must be finite and not negative"),
    ]:
        given = {"y": y, "sensitive_features": s} | changes
        with pytest.raises(ValueError, match=message):
            clf.fit(X, given.pop("y"), **given)
    with pytest.raises(TypeError, match="sensitive_features"):
        clf.fit(X, y)


@EVERY
def test_unfitted_it_says_so(name):
    with pytest.raises(NotFittedError):
        predict(make(name), X, s)


@EVERY
def test_sample_weights_count(name):
    # Without bootstrap, whose draws depend on whether weights are given.
    trees = {} if name == "DFRF" else {"estimator": ExtraTreesClassifier(8, max_depth=4, random_state=0)}
    weight = np.where((s == 1) & (y == 0), 5.0, 1.0)
    weighted = make(name, **trees).fit(X, y, sensitive_features=s, sample_weight=weight)
    plain = make(name, **trees).fit(X, y, sensitive_features=s)
    same = make(name, **trees).fit(X, y, sensitive_features=s, sample_weight=np.ones(600))
    assert (outcome(weighted) != outcome(plain)).any()
    np.testing.assert_array_equal(outcome(same), outcome(plain))


@POST
@pytest.mark.parametrize("scale", [0.1, 1, 1e-200, 1e160, 1e300])
def test_the_rows_chosen_on_are_counted_by_weight_whatever_its_scale(name, scale):
    # A row of weight 3 counts as three rows; and what all weights have in common makes no difference.
    model = FrozenEstimator(RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, y))
    times = np.random.RandomState(0).randint(1, 4, 600) + 6 * ((s == 1) & (y == 1))
    weighted = make(name, estimator=model).fit(X, y, sensitive_features=s, sample_weight=times * scale)
    rows = np.repeat(np.arange(600), times)
    repeated = make(name, estimator=model).fit(X[rows], y[rows], sensitive_features=s[rows])
    np.testing.assert_allclose(outcome(weighted), outcome(repeated), atol=1e-9)
    plain = make(name, estimator=model).fit(X, y, sensitive_features=s)
    assert (outcome(plain) != outcome(repeated)).any(), "the weights matter"


@POST
def test_held_out_rows_keep_their_weights(name):
    trees = ExtraTreesClassifier(8, max_depth=4, random_state=0)
    weight = np.random.RandomState(1).choice([1.0, 7.0], 600)
    clf = make(name, estimator=trees).fit(X, y, sensitive_features=s, sample_weight=weight)
    train, rest = train_test_split(np.arange(600), test_size=0.25, random_state=0, stratify=2 * s + y)
    model = FrozenEstimator(clone(trees).fit(X[train], y[train], weight[train]))
    by_hand = make(name, estimator=model).fit(X[rest], y[rest], sensitive_features=s[rest], sample_weight=weight[rest])
    np.testing.assert_array_equal(outcome(clf), outcome(by_hand))
    unweighted = make(name, estimator=model).fit(X[rest], y[rest], sensitive_features=s[rest])
    assert (outcome(clf) != outcome(unweighted)).any()


@EVERY
def test_the_estimator_given_is_only_a_template(name):
    clf = make(name).fit(X, y, sensitive_features=s)
    if name != "DFRF":
        assert not hasattr(clf.estimator, "classes_")


def test_the_defaults():
    shared = {"select_on": "validation", "validation_fraction": 0.25, "favorable": None, "random_state": None}
    wanted = {
        "EqualizedOdds": shared | {"objective": "auto"},
        "CalibratedEqualizedOdds": shared | {"cost": "weighted"},
        "RejectOption": shared
        | {"epsilon": 0.05, "objective": "auto", "n_thresholds": 100, "n_margins": 50, "privileged": None},
        "GroupThresholds": shared | {"epsilon": 0.05, "objective": "auto"},
        "Reweighing": {},
        "Massaging": {"ranker": None, "privileged": None, "favorable": None},
    }
    for name, defaults in wanted.items():
        parameters = BASELINES[name](None).get_params(deep=False)
        parameters.pop("estimator")
        assert parameters == defaults


# Those that need the group to predict.


@POST
def test_without_the_group_there_is_no_decision(name):
    clf = make(name).fit(X, y, sensitive_features=s)
    with pytest.raises(ValueError, match=rf"{name} decides by the group of each person, and sensitive_features is mis"):
        clf.predict(X)
    with pytest.raises(ValueError, match="has 2, not among the groups 0, 1"):
        clf.predict(X, sensitive_features=np.full(600, 2))
    with pytest.raises(ValueError, match="has 599 entries for 600 rows"):
        clf.predict(X, sensitive_features=s[:-1])


@POST
def test_people_of_one_group_can_be_decided_by_themselves(name):
    clf = make(name).fit(X, y, sensitive_features=s)
    if name in RANDOMISED:
        together = clf.favorable_probability(X, sensitive_features=s)
        alone = clf.favorable_probability(X[s == 1], sensitive_features=s[s == 1])
    else:
        together, alone = clf.predict(X, sensitive_features=s), clf.predict(X[s == 1], sensitive_features=s[s == 1])
    np.testing.assert_array_equal(alone, together[s == 1])
    assert len(clf.predict(X[:1], sensitive_features=s[:1])) == 1


@POST
def test_it_chooses_on_rows_held_out_from_training(name):
    train, rest = train_test_split(np.arange(600), test_size=0.3, random_state=0, stratify=2 * s + y)
    forest = RandomForestClassifier(8, max_depth=4, random_state=0)
    clf = make(name, estimator=forest, validation_fraction=0.3).fit(X, y, sensitive_features=s)
    model = clone(forest).fit(X[train], y[train])
    by_hand = make(name, estimator=FrozenEstimator(model)).fit(X[rest], y[rest], sensitive_features=s[rest])
    np.testing.assert_array_equal(clf.estimator_.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(predict(clf, X, s), predict(by_hand, X, s))
    assert by_hand.estimator_ is model


@POST
def test_it_may_choose_on_the_training_rows(name):
    forest = RandomForestClassifier(8, max_depth=4, random_state=0)
    clf = make(name, estimator=forest, select_on="train").fit(X, y, sensitive_features=s)
    model = clone(forest).fit(X, y)
    by_hand = make(name, estimator=FrozenEstimator(model)).fit(X, y, sensitive_features=s)
    np.testing.assert_array_equal(predict(clf, X, s), predict(by_hand, X, s))


@POST
def test_a_pipeline_inside_and_outside(name):
    inside = make_pipeline(StandardScaler(), RandomForestClassifier(8, max_depth=4, random_state=0))
    clf = make(name, estimator=inside).fit(X, y, sensitive_features=s)
    outside = make_pipeline(StandardScaler(), make(name))
    outside.fit(X, y, **{f"{name.lower()}__sensitive_features": s})
    twin = pickle.loads(pickle.dumps(clf))
    decided = outside.predict(X, sensitive_features=s)
    np.testing.assert_array_equal(decided, clf.predict(X, sensitive_features=s))
    weight = np.arange(600)
    assert twin.score(X, y, weight, sensitive_features=s) == np.average(decided == y, weights=weight)


@POST
def test_the_groups_are_routed_to_fit_and_predict(name):
    plain = make(name).fit(X, y, sensitive_features=s)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = make(name).set_fit_request(sensitive_features=True).set_predict_request(sensitive_features=True)
        pipe = make_pipeline(StandardScaler(), clf).fit(X, y, sensitive_features=s)
        decided = pipe.predict(X, sensitive_features=s)
    np.testing.assert_array_equal(decided, plain.predict(X, sensitive_features=s))


@POST
def test_an_estimator_that_asks_for_the_groups_gets_those_it_trains_on(name):
    forest = DiscriminationAwareForestClassifier(5, max_depth=3, random_state=0)
    clf = make(name, estimator=forest).fit(X, y, sensitive_features=s)
    assert type(clf.estimator_) is DiscriminationAwareForestClassifier


@pytest.mark.parametrize("name", ["CalibratedEqualizedOdds", "RejectOption", "GroupThresholds"])
def test_an_estimator_without_scores_is_refused(name):
    class UntrainableRidge(RidgeClassifier):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("trained before it was looked at")

    with pytest.raises(ValueError, match=f"{name} needs scores, and UntrainableRidge has no predict_proba"):
        make(name, estimator=UntrainableRidge()).fit(X, y, sensitive_features=s)
    with pytest.raises(ValueError, match=rf"{name} needs scores, and RidgeClassifier has no predict_proba"):
        make(name, estimator=RidgeClassifier()).fit(X, y, sensitive_features=s)


def test_equalized_odds_needs_no_scores():
    clf = make("EqualizedOdds", estimator=RidgeClassifier()).fit(X, y, sensitive_features=s)
    assert clf.predict(X, sensitive_features=s).shape == (600,)


@pytest.mark.parametrize("name", sorted(set(BASELINES) - {"DFRF"}))
@pytest.mark.parametrize("estimator", [None, 3, RandomForestRegressor(), FrozenEstimator(RandomForestRegressor())])
def test_what_is_no_classifier_is_refused(name, estimator):
    with pytest.raises(TypeError, match="estimator must be a classifier, got"):
        make(name, estimator=estimator).fit(X, y, sensitive_features=s)


@POST
def test_frozen_models_that_cannot_be_used_are_refused(name):
    with pytest.raises(NotFittedError):
        make(name, estimator=FrozenEstimator(RandomForestClassifier())).fit(X, y, sensitive_features=s)
    three = RandomForestClassifier(3).fit(X, np.arange(600) % 3)
    with pytest.raises(TypeError, match=r"estimator must be a model, got the path 'm.skops'; load it first"):
        make(name, estimator=FrozenEstimator("m.skops")).fit(X, y, sensitive_features=s)
    with pytest.raises(
        ValueError, match=r"was trained on 3 classes, \[0, 1, 2\]; only binary classifiers are supported: train"
    ):
        make(name, estimator=FrozenEstimator(three), favorable=2).fit(X, y, sensitive_features=s)


def test_the_groups_at_prediction_can_be_routed_through_cross_validation():
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(make("GroupThresholds"), X, y, params={"sensitive_features": s}, cv=3)
    assert scores.min() > 0.5


# Those that change the rows.


@pytest.mark.parametrize("name", ["Reweighing", "Massaging"])
def test_what_comes_out_is_the_estimator_itself(name):
    clf = make(name).fit(X, y, sensitive_features=s)
    assert type(clf.estimator_) is RandomForestClassifier
    np.testing.assert_array_equal(clf.predict_proba(X), clf.estimator_.predict_proba(X))
    assert not hasattr(make(name, estimator=RidgeClassifier()), "predict_proba")


@pytest.mark.parametrize("name", ["Reweighing", "Massaging"])
def test_a_frozen_estimator_cannot_be_trained(name):
    model = FrozenEstimator(RandomForestClassifier(3).fit(X, y))
    with pytest.raises(ValueError, match=f"{name} trains its estimator on changed rows, and a FrozenEstimator is not"):
        make(name, estimator=model).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize("routing", [False, True])
def test_reweighing_weighs_the_last_step_of_a_pipeline(routing):
    plain = Reweighing(LogisticRegression()).fit(StandardScaler().fit_transform(X), y, sensitive_features=s)
    with sklearn.config_context(enable_metadata_routing=routing):
        last = LogisticRegression().set_fit_request(sample_weight=True) if routing else LogisticRegression()
        scaler = StandardScaler().set_fit_request(sample_weight=False) if routing else StandardScaler()
        clf = Reweighing(make_pipeline(scaler, last)).fit(X, y, sensitive_features=s)
    np.testing.assert_allclose(clf.estimator_[-1].coef_, plain.estimator_.coef_)
    unweighted = LogisticRegression().fit(StandardScaler().fit_transform(X), y)
    assert not np.allclose(plain.estimator_.coef_, unweighted.coef_)


def test_the_last_step_of_a_pipeline_gets_the_groups_and_weights_it_asks_for():
    forest = DiscriminationAwareForestClassifier(5, max_depth=3, random_state=0)
    weight = np.arange(1.0, 601)
    inside = make("GroupThresholds", estimator=make_pipeline(StandardScaler(), forest), select_on="train")
    inside.fit(X, y, sensitive_features=s, sample_weight=weight)
    by_hand = clone(forest).fit(StandardScaler().fit_transform(X), y, sensitive_features=s, sample_weight=weight)
    np.testing.assert_array_equal(inside.estimator_[-1].predict_proba(X), by_hand.predict_proba(X))


def test_reweighing_needs_an_estimator_that_takes_weights():
    with pytest.raises(ValueError, match="the fit of KNeighborsClassifier takes no sample_weight; use an estimator"):
        Reweighing(KNeighborsClassifier()).fit(X, y, sensitive_features=s)


# A group with a single label.


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("EqualizedOdds", "its true and false positive rates cannot both be measured"),
        ("CalibratedEqualizedOdds", "its generalised error rates cannot both be measured"),
        ("Reweighing", "there is no weight that makes its labels those of all rows"),
    ],
)
def test_a_group_of_one_label_is_named_where_a_rate_is_undefined(name, why):
    one_sided = np.where(s == 1, 1, y)
    groups = np.array(["f", "m"])[s]
    with pytest.raises(ValueError, match=f"group 'm' has only rows of the label 1, and {why}; give rows of both"):
        make(name).fit(X, one_sided, sensitive_features=groups)
    with pytest.raises(ValueError, match="group 'f' has only rows of the label 0"):
        make(name).fit(X, np.where(s == 0, 0, y), sensitive_features=groups)


@pytest.mark.parametrize("name", ["DFRF", "Massaging", "RejectOption", "GroupThresholds"])
def test_a_group_of_one_label_is_no_obstacle_where_rates_are_defined(name):
    one_sided = np.where(s == 1, 1, y)
    clf = make(name, rho=1.0) if name == "DFRF" else make(name)
    assert predict(clf.fit(X, one_sided, sensitive_features=s), X, s).shape == (600,)


def test_rows_of_one_label_have_no_balanced_accuracy():
    model = FrozenEstimator(RandomForestClassifier(3, random_state=0).fit(X, y))
    rows = y == 1
    for method in (GroupThresholds, RejectOption):
        with pytest.raises(ValueError, match="rows to choose on are of one class only, and have no balanced accuracy"):
            method(model, objective="balanced_accuracy").fit(X[rows], y[rows], sensitive_features=s[rows])
        clf = method(model, objective="accuracy").fit(X[rows], y[rows], sensitive_features=s[rows])
        assert clf.predict(X[rows], sensitive_features=s[rows]).all(), "whose label is favourable"


# Parameters.


@pytest.mark.parametrize(
    ("name", "changes", "error", "message"),
    [
        ("EqualizedOdds", {"objective": "f1"}, ValueError, "objective must be one of 'auto', 'accuracy', 'balanced_ac"),
        ("CalibratedEqualizedOdds", {"cost": "tpr"}, ValueError, "cost must be one of 'fpr', 'fnr', 'weighted'"),
        ("RejectOption", {"epsilon": 5}, ValueError, r"epsilon must be in \[0, 1\], got 5; write 0.05 for 5 percent"),
        ("RejectOption", {"n_margins": 0}, ValueError, "n_margins must be an integer of at least 1, got 0"),
        ("RejectOption", {"n_thresholds": 1.5}, TypeError, "n_thresholds must be an integer of at least 1, got 1.5"),
        ("RejectOption", {"privileged": "m"}, ValueError, "privileged must be one of the groups 0, 1, got 'm'"),
        ("GroupThresholds", {"epsilon": -0.1}, ValueError, r"epsilon must be in \[0, 1\], got -0.1"),
        ("GroupThresholds", {"select_on": "test"}, ValueError, r"give them to fit with FrozenEstimator\(model\)"),
        ("GroupThresholds", {"validation_fraction": 1}, ValueError, "must be strictly between 0 and 1"),
        ("GroupThresholds", {"favorable": 7}, ValueError, "favorable must be one of the labels 0, 1, got 7"),
        ("Massaging", {"privileged": 2}, ValueError, "privileged must be one of the groups 0, 1, got 2"),
        ("Massaging", {"ranker": RidgeClassifier()}, ValueError, "ranker must have predict_proba"),
        ("DFRF", {"n_estimators": 0}, ValueError, "n_estimators must be an integer of at least 1, got 0"),
        ("DFRF", {"max_depth": 0}, ValueError, "max_depth must be an integer of at least 1 or None, got 0"),
        ("DFRF", {"alpha": -1}, ValueError, "alpha must be a number of at least 0, got -1"),
        ("DFRF", {"alpha": "1"}, TypeError, "alpha must be a number of at least 0, got '1' of type str"),
        ("DFRF", {"rho": 5}, ValueError, r"rho must be in \[0, 1\], got 5"),
        ("DFRF", {"rho": 0}, ValueError, "rho must be above 0, since a tree is kept if its parity is below it"),
        ("DFRF", {"max_rejected": None}, TypeError, "max_rejected must be an integer of at least 0"),
        ("DFRF", {"n_jobs": 0}, ValueError, "n_jobs must be None or an integer other than 0"),
    ],
)
def test_parameters_that_cannot_be_used(name, changes, error, message):
    with pytest.raises(error, match=message):
        make(name, **changes).fit(X, y, sensitive_features=s)


# scikit-learn's own checks.


class GroupedToPredict(GroupedByRow):
    def predict(self, X, sensitive_features=None):
        return super().predict(X, sensitive_features=rows_in_turn(X))


class GroupedDFRF(GroupedByRow, DFRF):
    pass


class GroupedReweighing(GroupedByRow, Reweighing):
    pass


class GroupedMassaging(GroupedByRow, Massaging):
    pass


class GroupedOdds(GroupedToPredict, EqualizedOdds):
    pass


class GroupedCalibrated(GroupedToPredict, CalibratedEqualizedOdds):
    pass


class GroupedRejectOption(GroupedToPredict, RejectOption):
    pass


class GroupedThresholds(GroupedToPredict, GroupThresholds):
    pass


BY_PLACE = ("sample_weight_equivalence",)
BY_PLACE_TO_PREDICT = (*BY_PLACE, "subset_invariance", "sample_order_invariance")
RANKER_ONLY = {"check_estimators_nan_inf": "the ranker refuses missing values in fit; the forest predicts them"}
FOREST = RandomForestClassifier(5, random_state=0)


@parametrize_with_checks(
    [
        GroupedDFRF(3, min_samples_leaf=1, alpha=1, rho=1, random_state=0),
        GroupedReweighing(FOREST),
        GroupedMassaging(FOREST),
        GroupedOdds(FOREST, select_on="train", random_state=0),
        GroupedCalibrated(FOREST, select_on="train", random_state=0),
        GroupedRejectOption(FOREST, epsilon=0.5, select_on="train", random_state=0),
        GroupedThresholds(FOREST, epsilon=0.5, select_on="train", random_state=0),
    ],
    expected_failed_checks=lambda estimator: RANKER_ONLY if isinstance(estimator, Massaging) else {},
)
def test_scikit_learns_estimator_checks(estimator, check):
    moved = BY_PLACE_TO_PREDICT if isinstance(estimator, GroupedToPredict) else BY_PLACE
    if any(part in check.func.__name__ for part in moved):
        pytest.skip("the groups that the test supplies go by the place of a row, and here rows move")
    check(estimator)
