"""What is LightGBM's own: its files, its categories, its parameters, and what is refused."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from draws import people
from eifffel import EiFFFeLClassifier, UnsupportedModelError, trace_path, view_ensemble

lightgbm = pytest.importorskip("lightgbm")

X, y, s = people(300, seed=7)
QUIET = {"verbose": -1, "n_jobs": 1, "min_child_samples": 5, "n_estimators": 10, "random_state": 0}


def fit(**params):
    return lightgbm.LGBMClassifier(**{**QUIET, **params}).fit(X, y)


def edit(model, rows=X):
    view = view_ensemble(model)
    amount = np.random.RandomState(0).normal(size=view.n_leaves) * 0.2
    view.verify(rows)
    return view.write(view.shift(amount)[0])


def test_leaf_values_in_the_text_are_those_of_the_booster():
    view = view_ensemble(fit(boosting_type="dart"))
    booster = view.model.booster_
    own = [booster.get_leaf_output(t, n) for t, n in zip(view.leaf_tree.tolist(), view.leaf_node.tolist(), strict=True)]
    np.testing.assert_array_equal(view.leaf_value, own)


def test_native_files_hold_the_edited_leaves(tmp_path):
    model = fit()
    edited = edit(model)
    assert np.abs(edited.predict_proba(X) - model.predict_proba(X)).max() > 0.01
    edited.booster_.save_model(tmp_path / "model.txt")
    read = lightgbm.Booster(model_file=tmp_path / "model.txt")
    np.testing.assert_allclose(read.predict(X), edited.predict_proba(X)[:, 1], atol=1e-12)
    text = lightgbm.Booster(model_str=edited.booster_.model_to_string())
    np.testing.assert_allclose(text.predict(X, raw_score=True), edited.predict(X, raw_score=True), atol=1e-12)
    # A booster that was read can be edited, and comes out as one.
    path = trace_path(read, X, y, sensitive_features=s)
    assert type(path.model_at(path.n_steps)) is lightgbm.Booster


def test_only_trees_up_to_the_best_iteration_count():
    stop = lightgbm.early_stopping(3, verbose=False)
    model = lightgbm.LGBMClassifier(**{**QUIET, "n_estimators": 80, "learning_rate": 0.5})
    new_names = "eval_X" in model.fit.__code__.co_varnames
    held_out = {"eval_X": X[150:], "eval_y": y[150:]} if new_names else {"eval_set": [(X[150:], y[150:])]}
    model.fit(X[:150], y[:150], **held_out, callbacks=[stop])
    view = view_ensemble(model)
    assert view.n_trees == model.best_iteration_ < 80
    edited = edit(model)
    assert edited.best_iteration_ == edited.booster_.best_iteration == model.best_iteration_
    assert edited.booster_.params == model.booster_.params


def test_categories_and_missing_values():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = pd.Categorical(np.random.RandomState(0).choice(["x", "y", "z"], len(X)))
    frame.loc[::5, "a"] = np.nan
    model = lightgbm.LGBMClassifier(**QUIET, min_data_per_group=5).fit(
        frame, (y + (frame["kind"] == "x") > 0).astype(int)
    )
    edited = edit(model, frame)
    labels = (y + (frame["kind"] == "x") > 0).astype(int)
    path = trace_path(model, frame, labels, sensitive_features=s)
    assert path.model_at(path.n_steps).predict(frame).shape == (len(frame),)
    with pytest.raises(lightgbm.basic.LightGBMError, match="Expected 'a' at position 0 but found 'kind'"):
        trace_path(model, frame[["kind", "a", "b", "c"]], y, sensitive_features=s)
    assert view_ensemble(edited).feature_names == ["a", "b", "c", "kind"]


def test_a_model_trained_without_names_takes_frames_as_its_predict_does():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = fit()
    straight = trace_path(model, X, y, sensitive_features=s)
    named = trace_path(model, frame, y, sensitive_features=s)
    np.testing.assert_array_equal(named.counts.favorable, straight.counts.favorable)
    pipe = (
        make_pipeline(StandardScaler(), lightgbm.LGBMClassifier(**QUIET)).fit(frame, y).set_output(transform="pandas")
    )
    trace_path(pipe, frame, y, sensitive_features=s).model_at(1)


@pytest.mark.parametrize("favorable", [0, 1])
def test_a_booster_at_one_half_decides_for_the_first_class(favorable):
    even = np.tile([0, 1], 150)
    params = {"objective": "binary", "min_data_in_leaf": 10_000, "verbose": -1}
    booster = lightgbm.train(params, lightgbm.Dataset(X, even), 2)
    np.testing.assert_array_equal(booster.predict(X), 0.5)
    for model in (booster, FrozenEstimator(booster)):
        view = view_ensemble(model, favorable=favorable)
        decided = view.decide(view.apply(view.check_rows(X)), X)
        np.testing.assert_array_equal(decided, favorable == 0)


@pytest.mark.parametrize("params", [{"boosting_type": "rf", "subsample_freq": 1, "subsample": 0.5}, {"sigmoid": 2.0}])
def test_a_cut_off_around_a_forest_or_a_steep_sigmoid(params):
    model = FixedThresholdClassifier(lightgbm.LGBMClassifier(**QUIET, **params), threshold=0.6).fit(X, y)
    view = view_ensemble(model)
    index = view.apply(view.check_rows(X))
    score = view.sum_leaves(index, view.leaf_score) + view.bias
    assert 0 < (score > 0).sum() < len(X)
    np.testing.assert_array_equal(score > 0, model.predict(X) == 1)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"linear_tree": True}, "was trained with linear_tree, whose leaves hold linear models and ignore values"),
        ({"monotone_constraints": [1, 0, 0]}, "has monotone_constraints, and shifting leaves breaks such"),
        ({"monotone_constraints": np.array([1, 0, 0])}, "has monotone_constraints"),
        ({"monotone_constraints": "0,-1,0"}, "has monotone_constraints"),
        ({"mc": [0, 1, 0]}, "has monotone_constraints"),
        ({"objective": "regression"}, "has the objective 'regression', whose score is not known to be a margin"),
        ({"objective": lambda label, score: (score - label, np.ones_like(score))}, "has the objective '<lambda>'"),
    ],
)
def test_what_is_refused_before_training(params, message):
    with pytest.raises(UnsupportedModelError, match=message):
        view_ensemble(lightgbm.LGBMClassifier(**QUIET, **params))


STOPPING = {"pred_early_stop": True, "pred_early_stop_freq": 1, "pred_early_stop_margin": 0.1}


def test_predictions_that_stop_early_are_refused_until_they_are_switched_off():
    model = fit(**STOPPING)
    early = model.predict_proba(X)
    # A Booster does not look at it, and a file does not hold it.
    for booster in (model.booster_, lightgbm.Booster(model_str=model.booster_.model_to_string())):
        assert np.abs(booster.predict(X) - early[:, 1]).max() > 0.01
        view_ensemble(booster).verify(X)
    message = r"this LGBMClassifier has pred_early_stop, .*model.set_params\(pred_early_stop=False\)"
    with pytest.raises(UnsupportedModelError, match=message):
        trace_path(model, X, y, sensitive_features=s)
    with pytest.raises(UnsupportedModelError, match=message):
        EiFFFeLClassifier(lightgbm.LGBMClassifier(**QUIET, pred_early_stop="true")).fit(X, y, sensitive_features=s)
    edit(model.set_params(pred_early_stop=False))


@pytest.mark.parametrize(
    "params",
    [
        {name: value for name, value in STOPPING.items() if name != "pred_early_stop"},
        {"num_iteration_predict": 2},
        {"start_iteration_predict": 2},
        {"predict_raw_score": True},
        {"predict_leaf_index": True},
        {"predict_contrib": True},
        {"predict_disable_shape_check": True},
    ],
    ids=lambda params: next(iter(params)),
)
def test_other_parameters_of_prediction_change_none(params):
    model = fit(**params)
    np.testing.assert_array_equal(model.predict_proba(X), fit().predict_proba(X))
    np.testing.assert_array_equal(model.booster_.predict(X), fit().booster_.predict(X))
    edit(model)


@pytest.mark.parametrize(
    "params", [{"monotone_constraints": [0, 0, 0]}, {"monotone_constraints": "0,0,0"}, {"linear_tree": "false"}]
)
def test_what_constrains_nothing_is_not_refused(params):
    edit(fit(**params))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "binary", "linear_tree": True}, "linear_tree"),
        ({"objective": "binary", "monotone_constraints": [1, 0, 0]}, "monotone_constraints"),
        ({"objective": "regression"}, "the objective 'regression'"),
        ({"objective": "multiclass", "num_class": 3}, "the objective 'multiclass'"),
    ],
)
def test_what_a_booster_tells_of_its_training_is_refused(params, message, tmp_path):
    labels = np.arange(len(X)) % 3 if "num_class" in params else y
    data = lightgbm.Dataset(X, labels, params={"linear_tree": "linear_tree" in params, "verbose": -1})
    booster = lightgbm.train({"verbose": -1, **params}, data, 3)
    booster.save_model(tmp_path / "model.txt")
    for model in (booster, lightgbm.Booster(model_file=tmp_path / "model.txt")):
        with pytest.raises(UnsupportedModelError, match=f"this Booster .*{message}"):
            trace_path(model, X, y, sensitive_features=s)
