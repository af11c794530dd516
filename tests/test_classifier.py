"""EiFFFeLClassifier: what it composes, and that it lives where scikit-learn's users put it."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from draws import people
from eifffel import ConstraintNotMetWarning, EiFFFeLClassifier, SeenRowsWarning, UnsupportedModelError, trace_path
from eifffel.tracing import Tracing, trace_rows
from grouped import GroupedByRow

X, y, s = people(600, seed=0)


def forest(**changes):
    return RandomForestClassifier(**({"n_estimators": 12, "random_state": 0} | changes))


def classifier(estimator=None, **changes):
    given = {"epsilon": 0.1, "random_state": 0} | changes
    return EiFFFeLClassifier(forest() if estimator is None else estimator, **given)


def fit(estimator=None, **changes):
    return classifier(estimator, **changes).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize(
    "estimator",
    [
        forest(),
        ExtraTreesClassifier(10, max_depth=5, random_state=0),
        DecisionTreeClassifier(max_depth=5, random_state=0),
        BaggingClassifier(n_estimators=10, max_features=0.7, random_state=0),
    ],
)
def test_what_comes_out_is_a_plain_model_that_meets_the_bound(estimator):
    clf = fit(estimator)
    assert type(clf.estimator_) is type(estimator)
    assert clf.selection_.met
    assert abs(clf.selection_.discrimination) <= 0.1 < clf.path_.discrimination[0]
    np.testing.assert_array_equal(clf.predict(X), clf.estimator_.predict(X))
    np.testing.assert_array_equal(clf.predict_proba(X), clf.estimator_.predict_proba(X))
    np.testing.assert_array_equal(clf.classes_, [0, 1])
    assert not hasattr(estimator, "classes_"), "the estimator given is only a template"


def test_validation_rows_are_held_out_from_training_and_scoring():
    clf = fit(validation_fraction=0.3)
    assert clf.path_.counts.totals.sum() == 180
    assert clf.path_.leaf_counts.totals.sum() == 420
    assert clf.path_.counts.rows == "selection rows"
    by_hand = clf.path_.measure(X[clf.selection_rows_], y[clf.selection_rows_], s[clf.selection_rows_])
    np.testing.assert_array_equal(by_hand.counts.favorable, clf.path_.counts.favorable)
    # Stratified by group and label.
    shares = clf.path_.counts.totals / 180 - clf.path_.leaf_counts.totals / 420
    assert np.abs(shares).max() < 0.01


def test_train_selects_on_the_rows_it_trained_on_and_warns_once():
    with pytest.warns(
        SeenRowsWarning, match="the step is chosen on the scoring rows, .* Choose on rows held out"
    ) as said:
        clf = fit(select_on="train", epsilon=0.2)
    assert len(said) == 1
    assert said[0].filename == __file__
    clf.at(epsilon=0.3)  # it was said
    assert clf.path_.counts.rows == "scoring rows"
    np.testing.assert_array_equal(clf.selection_rows_, np.arange(600))
    by_hand = trace_path(forest().fit(X, y), X, y, sensitive_features=s)
    np.testing.assert_array_equal(clf.path_.counts.favorable, by_hand.counts.favorable)
    with pytest.warns(SeenRowsWarning):
        chosen = by_hand.select(epsilon=0.2)
    assert clf.selection_ == replace(chosen, trained=True)  # which its few leaves do not tell


def test_the_papers_rule_on_the_training_rows_needs_no_warning():
    assert fit(select_on="train", rule="paper", epsilon=0.2).path_.seen


def test_every_parameter_reaches_the_path(monkeypatch):
    given = []

    def spy(*args):
        given.extend(args)
        return trace_rows(*args)

    monkeypatch.setattr("eifffel.classifier.trace_rows", spy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = fit(strategy="tree", privileged=0, favorable=0, n_jobs=2, verbose=1, rule="paper", min_group_rows=7)
    *_, compared, tracing = given
    assert (compared.favorable, compared.groups.privileged, compared.constraint.min_rows) == (0, (0,), 7)
    assert tracing == Tracing("tree", "any", monotone={}, n_jobs=2, verbose=1, trained_here=True, one_table=True)
    assert (clf.path_.strategy, clf.path_.privileged, clf.path_.favorable) == ("tree", 0, 0)
    assert clf.selection_.rule == "paper"


def test_confidence_chooses_a_step_that_is_certified_on_the_rows_held_out():
    clf = fit(confidence=0.9, epsilon=0.2)
    chosen = clf.selection_
    assert chosen == clf.path_.select(epsilon=0.2, confidence=0.9)
    assert chosen.met
    assert chosen.discrimination < chosen.upper <= 0.2
    assert (chosen.lower, chosen.upper) == pytest.approx(chosen.interval)
    assert -0.2 <= chosen.lower < chosen.discrimination
    assert sum(chosen.n_rows) == chosen.n_accuracy_rows == len(clf.selection_rows_) == 150
    assert chosen.step > clf.at(confidence=None).selection_.step
    assert clf.at(confidence=0.6).selection_.confidence == 0.6


def test_in_one_direction_a_step_is_certified_that_may_be_beyond_the_bound_in_the_other():
    clf = fit(confidence=0.9, epsilon=0.2, sides="upper")
    chosen = clf.selection_
    assert chosen == clf.path_.select(epsilon=0.2, confidence=0.9, sides="upper")
    assert (chosen.sides, chosen.lower, chosen.met) == ("upper", None, True)
    assert chosen.interval[0] < chosen.discrimination < chosen.upper < chosen.interval[1]
    assert chosen.step < clf.at(sides="both").selection_.step, "one test has all of the error"
    several = np.arange(len(y)) % 3
    with pytest.raises(ValueError, match=r"sides='upper' bounds a difference in the one direction that it has between"):
        classifier(UntrainableForest(), sides="upper").fit(X, y, sensitive_features=several)


def test_confidence_takes_no_weights_that_differ():
    for weight in (np.linspace(1, 2, len(y)), np.arange(len(y)) % 3):
        with pytest.raises(
            ValueError, match=r"confidence=0.9 counts people, and sample_weight makes some of them count more"
        ):
            classifier(UntrainableForest(), confidence=0.9).fit(X, y, sensitive_features=s, sample_weight=weight)


@pytest.mark.parametrize("weight", [1, 0.3, 1e12])
def test_weights_that_are_all_the_same_are_no_weights(weight):
    others = people(600, seed=1)
    frozen = FrozenEstimator(forest().fit(*others[:2]))
    plain = fit(frozen, confidence=0.9, epsilon=0.2)
    clf = classifier(frozen, confidence=0.9, epsilon=0.2)
    clf.fit(X, y, sensitive_features=s, sample_weight=np.full(len(y), weight))
    np.testing.assert_array_equal(clf.path_.counts.favorable, plain.path_.counts.favorable)
    assert clf.path_.counts.favorable.dtype == np.int64
    chosen, expected = (one.selection_ for one in (clf, plain))
    assert (chosen.step, chosen.met, chosen.interval) == (expected.step, expected.met, expected.interval)
    # A forest draws other bootstrap samples with weights, and without them the same.
    expected = fit(forest())
    trained = classifier(forest()).fit(X, y, sensitive_features=s, sample_weight=np.full(len(y), weight))
    np.testing.assert_array_equal(trained.predict(X), expected.predict(X))
    np.testing.assert_array_equal(trained.path_.counts.favorable, expected.path_.counts.favorable)


def test_alpha_limits_what_the_objective_names():
    clf = fit(alpha=0.1, objective="balanced_accuracy", epsilon=0.2, rule="most_accurate")
    chosen = clf.selection_
    assert chosen.objective == "balanced_accuracy"
    assert chosen.objective_value == clf.path_.metric("balanced_accuracy")[chosen.step]
    assert chosen.objective_drop <= 0.1
    costs = clf.at(objective=[[0, 1], [5, 0]], alpha=0.5)
    assert costs.selection_.objective == ((0, 1), (5, 0))


def test_upwards_nobody_loses_a_favourable_decision():
    clf = fit(direction="up", epsilon=0.05)
    assert clf.path_.direction == "up"
    changed = clf.changed(X)
    assert len(changed)
    assert (changed["after"] == 1).all()


def test_a_failed_fit_leaves_an_unfitted_classifier():
    clf = classifier()
    with pytest.raises(ValueError, match="must have two values"):
        clf.fit(X, y, sensitive_features=np.zeros(600))
    with pytest.raises(NotFittedError):
        clf.predict(X)


def test_the_same_seed_gives_the_same_result():
    np.testing.assert_array_equal(fit().predict_proba(X), fit().predict_proba(X))
    assert (fit(random_state=1).predict_proba(X) != fit().predict_proba(X)).any()


def test_a_frozen_model_is_not_refitted_and_comes_out_unwrapped():
    model = forest().fit(X[:300], y[:300])
    before = pickle.dumps(model)
    clf = classifier(FrozenEstimator(model)).fit(X[300:], y[300:], sensitive_features=s[300:])
    assert pickle.dumps(model) == before
    assert clf.path_.model is model
    assert type(clf.estimator_) is RandomForestClassifier
    assert clf.path_.leaf_counts.totals.sum() == 225
    assert clf.path_.counts.totals.sum() == 75
    np.testing.assert_array_equal(clf.path_.model_at(0).predict(X), model.predict(X))


def test_a_frozen_model_takes_no_fit_parameters():
    clf = classifier(FrozenEstimator(forest().fit(X, y)))
    with pytest.raises(ValueError, match="a FrozenEstimator is not fitted, so monitor would have no effect"):
        clf.fit(X, y, sensitive_features=s, monitor=1)


def test_at_gives_another_bound_without_refitting(monkeypatch):
    clf = fit()
    monkeypatch.setattr("eifffel.classifier.trace_rows", None)
    other = clf.at(epsilon=0.02)
    assert other.path_ is clf.path_
    assert other.selection_ == clf.path_.select(epsilon=0.02)
    assert (clf.epsilon, other.epsilon) == (0.1, 0.02)
    np.testing.assert_array_equal(other.predict(X), clf.path_.model_at(other.selection_.step).predict(X))
    limited = other.at(alpha=0.5, rule="most_accurate")
    assert (limited.epsilon, limited.alpha, limited.rule) == (0.02, 0.5, "most_accurate")
    assert limited.at(alpha=None).alpha is None


@pytest.mark.parametrize("labels", [np.array([0, 1]), np.array(["no", "yes"]), np.array(["no", "yes"], object)])
def test_changed_says_whose_decision_the_edit_changed(labels):
    clf = classifier(favorable=labels[1]).fit(X, labels[y], sensitive_features=s)
    records = clf.changed(X)
    before, after = clf.path_.model.predict(X), clf.predict(X)
    assert 0 < len(records) < len(X)
    np.testing.assert_array_equal(records["row"], np.flatnonzero(before != after))
    np.testing.assert_array_equal(records["before"], before[records["row"]])
    np.testing.assert_array_equal(records["after"], after[records["row"]])


def test_an_unmet_bound_warns_and_is_said():
    with pytest.warns(ConstraintNotMetWarning, match=r"epsilon=0 with alpha=0 is not met"):
        clf = fit(epsilon=0, alpha=0)
    assert not clf.selection_.met
    assert clf.selection_.accuracy_drop <= 0


def test_sample_weight_trains_scores_and_selects():
    weight = np.random.RandomState(0).uniform(0.5, 2, 600)
    clf = classifier().fit(X, y, sensitive_features=s, sample_weight=weight)
    scoring = clf.path_.leaf_counts
    total = clf.path_.counts.totals.sum() + scoring.totals.sum() * scoring.unit
    assert total == pytest.approx(weight.sum())
    assert (clf.path_.model.predict_proba(X) != fit().path_.model.predict_proba(X)).any()


class Attentive(RandomForestClassifier):
    """Records what its fit receives."""

    def fit(self, X, y, sample_weight=None, monitor=None, row_ids=None):
        self.monitor_ = monitor
        self.row_ids_ = row_ids
        return super().fit(X, y, sample_weight=sample_weight)


def test_fit_parameters_are_passed_on_those_of_rows_cut_to_the_training_rows():
    clf = classifier(Attentive(5, random_state=0))
    clf.fit(X, y, sensitive_features=s, monitor="loud", row_ids=np.arange(600))
    assert clf.path_.model.monitor_ == "loud"
    assert len(clf.path_.model.row_ids_) == 450


def test_small_cells_fall_back_to_labels_then_to_nothing():
    rows = np.random.RandomState(0).uniform(size=(80, 3))
    groups = np.repeat([0, 1], 40)
    labels = np.where(np.arange(80) < 30, 1, 0)
    labels[79] = 1  # the only row of its cell: it cannot be in both parts
    clf = classifier(epsilon=1.0).fit(rows, labels, sensitive_features=groups)
    n_labels = clf.path_.counts.totals.sum(axis=0)
    assert n_labels.tolist() == [12, 8], "stratified by label: 31 of 80"
    lonely = np.where(np.arange(80) == 0, 1, 0)  # nothing to stratify by
    tree = DecisionTreeClassifier(random_state=0).fit(rows, lonely)
    clf = classifier(FrozenEstimator(tree), epsilon=1.0).fit(rows, lonely, sensitive_features=groups)
    assert clf.path_.counts.totals.sum() == 20


def test_a_group_missing_from_one_part_is_an_error():
    lonely = np.zeros(40, int)
    lonely[0] = 1
    with pytest.raises(ValueError, match="group 1 has 1 rows in all, too few to be both"):
        classifier().fit(X[:40], np.arange(40) % 2, sensitive_features=lonely)


def test_parts_that_cannot_be_used_are_noticed_before_training():
    weight = np.ones(600)
    weight[s == 1] = 0
    weight[np.flatnonzero(s == 1)[0]] = 1  # all the weight of the group is in one part
    with pytest.raises(ValueError, match="too few to be both among the rows to train on and among those to choose on"):
        classifier(UntrainableForest()).fit(X, y, sensitive_features=s, sample_weight=weight)
    with pytest.raises(ValueError, match="the training rows are of one class only"):
        classifier(UntrainableForest(), select_on="train").fit(X, y, sensitive_features=s, sample_weight=y)


def test_an_unfitted_classifier_says_so():
    for use in ("predict", "predict_proba", "changed"):
        with pytest.raises(NotFittedError):
            getattr(classifier(), use)(X)
    with pytest.raises(NotFittedError):
        classifier().at(epsilon=0.1)


def test_it_pickles_and_clones():
    clf = fit()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict(X), clf.predict(X))
    fresh = clone(clf)
    assert fresh.epsilon == 0.1
    assert not hasattr(fresh, "estimator_")


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"epsilon": 5}, ValueError, "epsilon must be in"),
        ({"epsilon": "x"}, TypeError, "epsilon must be a number"),
        ({"alpha": -1}, ValueError, "alpha must be in"),
        ({"validation_fraction": 0}, ValueError, "validation_fraction must be strictly between 0 and 1, got 0"),
        ({"validation_fraction": 1.0}, ValueError, "validation_fraction must be strictly between 0 and 1"),
        ({"validation_fraction": "a"}, TypeError, "validation_fraction must be a number strictly between"),
        ({"select_on": "test"}, ValueError, "select_on must be one of 'validation', 'train', got 'test'"),
        ({"select_on": (X, y, s)}, ValueError, "got a tuple; rows of your own go into trace_path"),
        ({"n_jobs": "2"}, ValueError, "n_jobs must be None or an integer other than 0"),
        ({"validation_fraction": 25}, ValueError, "got 25; write 0.25 for 25 percent"),
        ({"strategy": "x"}, ValueError, "strategy must be one of"),
        ({"rule": "x"}, ValueError, "rule must be one of"),
        ({"direction": "down"}, ValueError, "direction must be one of 'any', 'up', got 'down'"),
        ({"objective": "f1"}, ValueError, "objective must be one of 'accuracy', 'balanced_accuracy', got 'f1'"),
        ({"confidence": 95}, ValueError, "confidence must be .* write 0.95 for 95 percent"),
        ({"confidence": 0.9, "rule": "paper"}, ValueError, "rule='paper' stops"),
        (
            {"confidence": 0.9, "select_on": "train"},
            ValueError,
            "confidence=0.9 needs rows that neither .* use select_on='validation'",
        ),
        ({"privileged": 9}, ValueError, "privileged must be one of the groups 0, 1, got 9"),
        ({"favorable": 9}, ValueError, "favorable must be one of the labels 0, 1, got 9"),
    ],
)
def test_bad_parameters_are_refused_before_training(changes, error, message):
    with pytest.raises(error, match=message):
        classifier(UntrainableForest(), **changes).fit(X, y, sensitive_features=s)


class Untrainable:
    """Mixed into a model that must not be trained."""

    def fit(self, *args, **kwargs):
        raise AssertionError("training was begun")


class UntrainableForest(Untrainable, RandomForestClassifier):
    pass


class UntrainableBoosting(Untrainable, GradientBoostingClassifier):
    pass


class UntrainableNeighbours(Untrainable, KNeighborsClassifier):
    pass


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (UntrainableNeighbours(), "cannot edit a UntrainableNeighbours; it edits .*sklearn.BaggingClassifier"),
        (
            make_pipeline(StandardScaler(), UntrainableNeighbours()),
            "cannot edit a UntrainableNeighbours, which is inside this Pipeline; it edits",
        ),
        (UntrainableForest(monotonic_cst=[1, 0, 0]), "has monotonic_cst"),
        (BaggingClassifier(UntrainableBoosting()), "this BaggingClassifier bags UntrainableBoosting"),
    ],
)
def test_models_that_cannot_be_edited_are_refused_before_training(estimator, message):
    with pytest.raises(UnsupportedModelError, match=message):
        classifier(estimator).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            np.arange(600) % 3,
            r"y must have two labels, got 3: 0, 1, 2.* as a set, as in favorable=\{2\}, and all others",
        ),
        (np.linspace(0, 1, 600) ** 2, r"y must have two labels, got 600: .*; give y as two, such as y > 0.25"),
        (np.zeros(600), "y must have two labels, got only 0.0: one class"),
        (np.array(["no", "yes"])[y], "pass favorable="),
    ],
)
def test_labels_that_cannot_be_used(labels, message):
    with pytest.raises(ValueError, match=message):
        classifier().fit(X, labels, sensitive_features=s)


def test_what_makes_labels_two_is_what_is_suggested():
    grades = np.array(["bad", "fair", "good"])[np.where(y == 1, 2, s)]
    with pytest.raises(ValueError, match=r"as in favorable=\{'fair'\}, and all others are taken as unfavourable"):
        classifier(favorable="fair").fit(X, grades, sensitive_features=s)
    assert classifier(favorable={"fair"}).fit(X, grades, sensitive_features=s).path_.label_sets.good == ("fair",)
    three = FrozenEstimator(RandomForestClassifier(2, random_state=0).fit(X, grades))
    message = (
        r"trained on 3 classes, .* such as y == 'good', or .* unfitted, not frozen, .* fitted model favorable makes no"
    )
    with pytest.raises(UnsupportedModelError, match=message):
        classifier(three, favorable={"fair", "good"}).fit(X, grades, sensitive_features=s)
    two = FrozenEstimator(RandomForestClassifier(2, random_state=0).fit(X, np.array(["bad", "good"])[y]))
    with pytest.raises(ValueError, match="has 'fair', not among the labels 'bad', 'good'; give each row one of these"):
        classifier(two, favorable="good").fit(X, grades, sensitive_features=s)
    message = "favorable names 'fair', 'good' as a set, .* was trained on 'bad', 'good'; name one of these"
    with pytest.raises(ValueError, match=message):
        classifier(two, favorable={"fair", "good"}).fit(X, grades, sensitive_features=s)


def test_sensitive_features_must_be_given():
    with pytest.raises(TypeError, match="sensitive_features"):
        classifier().fit(X, y)
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        classifier().fit(X, y, sensitive_features=None)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({name: X[:, k] for k, name in enumerate(["age", "income", "hours"])})
    groups = frames.DataFrame({"sex": np.array(["f", "m"])[s]})
    clf = classifier(favorable="yes").fit(frame, frames.Series(np.array(["no", "yes"])[y]), sensitive_features=groups)
    assert clf.feature_names_in_.tolist() == ["age", "income", "hours"]
    assert clf.n_features_in_ == 3
    np.testing.assert_array_equal(clf.predict(frame) == "yes", fit().predict(X) == 1)


def test_lists():
    clf = classifier().fit(X.tolist(), y.tolist(), sensitive_features=s.tolist())
    np.testing.assert_array_equal(clf.predict(X.tolist()), fit().predict(X))


@pytest.fixture(params=[False, True], ids=["routing off", "routing on"])
def routing(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield request.param


def requested(clf, routing):
    return clf.set_fit_request(sensitive_features=True) if routing else clf


def test_in_a_pipeline(routing):
    clf = requested(classifier(), routing)
    pipe = Pipeline([("scale", StandardScaler()), ("fair", clf)])
    name = "sensitive_features" if routing else "fair__sensitive_features"
    pipe.fit(X, y, **{name: s})
    assert pipe["fair"].selection_.met
    assert pipe.predict(X).shape == (600,)


def test_in_cross_validation(routing):
    scores = cross_val_score(requested(classifier(), routing), X, y, cv=3, params={"sensitive_features": s})
    assert scores.shape == (3,)
    assert (scores > 0.5).all()


@pytest.mark.filterwarnings("ignore::eifffel.ConstraintNotMetWarning")
def test_in_a_grid_search(routing):
    grid = {"epsilon": [0.05, 0.2], "estimator__max_depth": [2, 4]}
    search = GridSearchCV(requested(classifier(), routing), grid, cv=3)
    search.fit(X, y, sensitive_features=s)
    assert search.best_params_.keys() == grid.keys()
    assert search.best_estimator_.epsilon == search.best_params_["epsilon"]
    assert search.predict(X).shape == (600,)


def test_weights_are_routed_to_the_estimator_that_asks_for_them():
    with sklearn.config_context(enable_metadata_routing=True):
        asks = classifier(forest().set_fit_request(sample_weight=True))
        weight = np.random.RandomState(0).uniform(0.1, 5, 600)
        weighted = asks.fit(X, y, sensitive_features=s, sample_weight=weight)
        declines = classifier(forest().set_fit_request(sample_weight=False))
        unweighted = declines.fit(X, y, sensitive_features=s, sample_weight=weight)
        assert (weighted.path_.model.predict_proba(X) != unweighted.path_.model.predict_proba(X)).any()
        # Both count rows by weight.
        np.testing.assert_allclose(weighted.path_.counts.totals, unweighted.path_.counts.totals)
        with pytest.raises(UnsetMetadataPassedError):
            classifier().fit(X, y, sensitive_features=s, sample_weight=weight)


class GroupedClassifier(GroupedByRow, EiFFFeLClassifier):
    pass


NOT_EQUIVALENT = "a row of weight 0 takes a place in the random split and in the bootstrap; a row left out does not"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": NOT_EQUIVALENT,
    "check_sample_weight_equivalence_on_sparse_data": NOT_EQUIVALENT,
}


@parametrize_with_checks(
    [GroupedClassifier(RandomForestClassifier(3, random_state=0), alpha=0.05, random_state=0)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learns_estimator_checks(estimator, check):
    check(estimator)


class Booster:
    """Predicts, and cannot be fitted, as the boosters of LightGBM and XGBoost."""

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize("wrap", [lambda model: model, FrozenEstimator])
def test_a_bare_booster_is_sent_to_trace_path(wrap):
    with pytest.raises(TypeError, match="got a Booster; give it to trace_path, which edits it as it is"):
        EiFFFeLClassifier(wrap(Booster())).fit(X, y, sensitive_features=s)


def test_catboost_with_lists_as_parameters_is_fitted_though_it_cannot_be_cloned():
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostClassifier(
        5, class_weights=[1, 2], verbose=False, thread_count=1, allow_writing_files=False
    )
    clf = EiFFFeLClassifier(model, epsilon=0.3, random_state=0).fit(X, y, sensitive_features=s)
    assert type(clf.estimator_) is catboost.CatBoostClassifier
    assert not model.is_fitted()


def test_a_derived_class_can_watch_the_steps_of_fit():
    """Training, tracing and choosing are methods of their own, as the command line needs them."""
    seen = []

    class Watching(EiFFFeLClassifier):
        def _fit_estimator(self, estimator, X, y, params):
            seen.append(("train", len(X)))
            return super()._fit_estimator(estimator, X, y, params)

        def _edit(self, model, scoring, selection, compared, tracing):
            seen.append(("edit", len(scoring), len(selection)))
            super()._edit(model, scoring, selection, compared, tracing)

        def _choose(self, bounds):
            seen.append(("choose", bounds.epsilon))
            return super()._choose(bounds)

    watched, plain = (kind(forest(), epsilon=0.1, random_state=0) for kind in (Watching, EiFFFeLClassifier))
    for clf in (watched, plain):
        clf.fit(X, y, sensitive_features=s)
    assert seen == [("train", 450), ("edit", 450, 150), ("choose", 0.1)]
    np.testing.assert_array_equal(watched.predict_proba(X), plain.predict_proba(X))
