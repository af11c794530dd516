"""Pipelines, cut-offs and frozen estimators go in and come out, with the edited ensemble inside."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from boosters import as_words
from draws import people
from eifffel import EiFFFeLClassifier, NarrowProbabilitiesWarning, UnsupportedModelError, trace_path, view_ensemble

X, y, s = people(300, seed=5)

ENSEMBLES = {
    "forest": RandomForestClassifier(10, random_state=0),
    "shallow forest": RandomForestClassifier(7, max_depth=3, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "gradient boosting": GradientBoostingClassifier(n_estimators=10, random_state=0),
    "exponential": GradientBoostingClassifier(n_estimators=10, loss="exponential", random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=10, random_state=0),
}
AROUND = {
    "pipeline": lambda model: make_pipeline(StandardScaler(), model),
    "pipeline of one step": lambda model: make_pipeline(model),
    "pipeline in a pipeline": lambda model: make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), model)),
    "fixed": lambda model: FixedThresholdClassifier(model, threshold=0.4),
    "fixed, other class": lambda model: FixedThresholdClassifier(model, threshold=0.4, pos_label=0),
    "fixed, automatic": lambda model: FixedThresholdClassifier(model),
    "fixed around a pipeline": lambda model: FixedThresholdClassifier(
        make_pipeline(StandardScaler(), model), threshold=0.6
    ),
    "pipeline around fixed": lambda model: make_pipeline(
        StandardScaler(), FixedThresholdClassifier(model, threshold=0.6)
    ),
    "fixed around fixed": lambda model: FixedThresholdClassifier(
        FixedThresholdClassifier(model, threshold=0.2), threshold=0.6
    ),
    "tuned": lambda model: TunedThresholdClassifierCV(model, scoring="balanced_accuracy", cv=3, random_state=0),
}


def shift_of(view):
    return np.random.RandomState(0).normal(size=view.n_leaves) * 0.5 / (view.n_trees if view.votes else 1)


@pytest.mark.parametrize("favorable", [1, 0])
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_what_goes_in_comes_out(ensemble, around, favorable):
    model = AROUND[around](ENSEMBLES[ensemble]).fit(X, y)
    before = model.predict(X)
    view = view_ensemble(model, favorable=favorable)
    index = view.apply(view.check_rows(X))
    np.testing.assert_array_equal(view.decide(index, X), before == favorable)
    view.verify(X, index)

    amount = shift_of(view)
    leaf_value, _ = view.shift(amount)
    edited = view.write(leaf_value)
    assert type(edited) is type(model)
    score = (view.leaf_score - amount)[index.T + view.leaf_offset[:-1]].sum(axis=1) + view.bias
    sure = np.abs(score) > view.rounding
    np.testing.assert_array_equal((edited.predict(X) == favorable)[sure], (score > 0)[sure])
    assert (edited.predict(X) != before).any()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(edited)).predict(X), edited.predict(X))
    assert view_ensemble(edited, favorable=favorable).holds(leaf_value)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("strategy", ["leaf", "tree", "shift"])
@pytest.mark.parametrize("around", AROUND)
def test_every_step_is_what_the_object_around_decides(around, strategy):
    model = AROUND[around](RandomForestClassifier(6, max_depth=5, random_state=0)).fit(X, y)
    path = trace_path(model, X, y, sensitive_features=s, strategy=strategy)
    assert path.discrimination[0] > 0
    for step in np.unique(np.linspace(0, path.n_steps, 9).astype(int)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NarrowProbabilitiesWarning)
            edited = path.model_at(step)
        decided = edited.predict(X) == 1
        assert type(edited) is type(model)
        for group in (0, 1):
            for label in (0, 1):
                inside = (s == path.groups[group]) & (y == label)
                assert decided[inside].sum() == path.counts.favorable[step, group, label]
        probability = edited.predict_proba(X)
        assert probability.min() >= 0
        assert probability.max() <= 1


def test_with_a_cut_off_only_leaves_whose_own_decision_changes_are_flipped():
    model = FixedThresholdClassifier(RandomForestClassifier(6, max_depth=4, random_state=0), threshold=0.25).fit(X, y)
    view = view_ensemble(model)
    favorable = view.leaf_value[:, 1]
    np.testing.assert_array_equal(view.leaf_favorable, favorable >= 0.25)
    np.testing.assert_array_equal(view.flippable, (favorable >= 0.25) != (1 - favorable >= 0.25))
    assert not view.flippable.all()
    lowered = trace_path(model, X, y, sensitive_features=s, strategy="leaf")
    assert lowered.discrimination.min() < lowered.discrimination[0] / 2


def test_a_decision_function_has_a_cut_off_too():
    inside = GradientBoostingClassifier(n_estimators=10, random_state=0)
    for positive in (None, 0):
        model = FixedThresholdClassifier(
            inside, threshold=0.3, response_method="decision_function", pos_label=positive
        ).fit(X, y)
        view = view_ensemble(model)
        np.testing.assert_array_equal(view.decide(view.apply(view.check_rows(X))), model.predict(X) == 1)
        assert view.threshold == (0.3 if positive is None else -0.3)


@pytest.mark.parametrize("threshold", [0.0, 1.0])
@pytest.mark.parametrize("ensemble", ["forest", "histograms"])
def test_a_cut_off_that_no_edit_can_reach_is_refused(ensemble, threshold):
    model = FixedThresholdClassifier(ENSEMBLES[ensemble], threshold=threshold).fit(X, y)
    with pytest.raises(
        UnsupportedModelError, match=f"has the threshold {threshold}, at which edits of leaves change no"
    ):
        trace_path(model, X, y, sensitive_features=s)


def test_a_frozen_estimator_and_a_prefit_cut_off():
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    frozen = FrozenEstimator(forest)
    for model in (
        frozen,
        FixedThresholdClassifier(frozen, threshold=0.3),
        TunedThresholdClassifierCV(forest, cv="prefit", refit=False).fit(X, y),
    ):
        view = view_ensemble(model)
        edited = view.write(view.flip(np.flatnonzero(view.flippable)[::2]))
        assert type(edited) is type(model)
        assert (edited.predict(X) != model.predict(X)).any()
        flipped = view_ensemble(edited)
        assert type(flipped.model) is RandomForestClassifier
        assert (flipped.leaf_value != view.leaf_value).any()


@pytest.mark.filterwarnings("ignore::eifffel.SeenRowsWarning")
def test_words_as_labels_and_a_word_as_positive_label():
    words = as_words(y)
    model = FixedThresholdClassifier(
        make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=8)), threshold=0.35, pos_label="no"
    ).fit(X, words)
    path = trace_path(model, X, words, sensitive_features=s, favorable="yes")
    assert path.strategy == "shift"
    choice = path.select(epsilon=0.02)
    fair = path.model_at(choice.step)
    decided = fair.predict(X) == "yes"
    got = decided[s == path.privileged].mean() - decided[s != path.privileged].mean()
    assert got == pytest.approx(choice.discrimination, abs=1e-12)
    assert abs(got) <= 0.02


def test_steps_before_the_ensemble_are_copied_not_shared():
    model = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)).fit(X, y)
    edited = trace_path(model, X, y, sensitive_features=s).model_at(1)
    edited[0].mean_[:] = 1e6
    assert np.abs(model[0].mean_).max() < 100


def test_pipelines_of_frames_name_the_columns_of_their_rules():
    pd = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    frame = pd.DataFrame({"age": X[:, 0], "sector": np.where(X[:, 1] > 0.5, "public", "private")})
    encode = make_column_transformer((OneHotEncoder(), ["sector"]), remainder="passthrough")
    model = Pipeline([("encode", encode), ("forest", RandomForestClassifier(4, max_depth=4, random_state=0))])
    clf = EiFFFeLClassifier(model, epsilon=0.05, random_state=0).fit(frame, y, sensitive_features=s)
    assert isinstance(clf.estimator_, Pipeline)
    np.testing.assert_array_equal(clf.predict(frame), clf.estimator_.predict(frame))
    rules = clf.path_.rules(clf.path_.n_steps)
    names = {condition.name for rule in rules for condition in rule.bounds}
    assert names <= set(clf.estimator_[0].get_feature_names_out())
    assert "remainder__age" in names
    with pytest.raises(ValueError, match="feature_names has 1 names for 3 features"):
        clf.path_.rules(1, ["age"])


def test_a_step_that_cannot_name_its_columns():
    model = make_pipeline(FunctionTransformer(), RandomForestClassifier(3, max_depth=3, random_state=0)).fit(X, y)
    rules = trace_path(model, X, y, sensitive_features=s).rules(1)
    assert {condition.name for rule in rules for condition in rule.bounds} <= {"x0", "x1", "x2"}


@pytest.mark.parametrize("wrap", [lambda model: model, lambda model: make_pipeline(StandardScaler(), model)])
def test_calibrated_models_are_refused_with_advice(wrap):
    model = wrap(CalibratedClassifierCV(RandomForestClassifier(3, random_state=0), cv=2))
    message = "cannot edit a CalibratedClassifierCV.*calibrate a copy of it afterwards"
    with pytest.raises(UnsupportedModelError, match=message):
        trace_path(model.fit(X, y), X, y, sensitive_features=s)
    with pytest.raises(UnsupportedModelError, match=message):
        EiFFFeLClassifier(model).fit(X, y, sensitive_features=s)


@pytest.mark.filterwarnings("ignore::eifffel.SeenRowsWarning")
def test_the_advice_works():
    forest = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y)
    path = trace_path(forest, X, y, sensitive_features=s)
    fair = path.model_at(path.select(epsilon=0.05).step)
    calibrated = CalibratedClassifierCV(FrozenEstimator(fair)).fit(X, y)
    assert calibrated.predict_proba(X).shape == (len(X), 2)


@pytest.mark.parametrize("around", ["pipeline", "fixed", "tuned"])
@pytest.mark.parametrize("ensemble", ["forest", "histograms"])
def test_the_classifier_fits_what_stands_around_an_ensemble(ensemble, around):
    clf = EiFFFeLClassifier(AROUND[around](ENSEMBLES[ensemble]), epsilon=0.2, random_state=0)
    clf.fit(X, y, sensitive_features=s)
    assert type(clf.estimator_) is type(clf.estimator)
    held_out = clf.selection_rows_
    decided = clf.predict(X[held_out])
    got = decided[s[held_out] == clf.path_.privileged].mean() - decided[s[held_out] != clf.path_.privileged].mean()
    assert got == pytest.approx(clf.selection_.discrimination, abs=1e-12)
