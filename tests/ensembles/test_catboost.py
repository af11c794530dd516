"""CatBoost's classifier: how it is read, decided for and written, in every mode that its users choose."""

import copy
import os
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from draws import people
from eifffel.ensembles import view_ensemble
from eifffel.exceptions import UnsupportedModelError

catboost = pytest.importorskip("catboost")
pd = pytest.importorskip("pandas")

X, y, s = people(240, seed=5)
WEIGHT = np.random.RandomState(0).uniform(0.2, 3, len(y))
X_MISSING = np.where(np.random.RandomState(1).uniform(size=X.shape) < 0.2, np.nan, X)
FRAME = pd.DataFrame(
    {
        "age": X[:, 0],
        "town": np.array(["Rome", "Oslo", "Bonn", "Lyon"], dtype=object)[X[:, 1].astype(int)],
        "street": np.random.RandomState(2).randint(0, 30, len(y)),
        "group": s,
    }
)
CATEGORIES = ["town", "street"]


def classifier(**params):
    return catboost.CatBoostClassifier(
        **{"iterations": 8, "depth": 3, "verbose": False, "allow_writing_files": False, "thread_count": 1, **params}
    )


def fit_early_stopped():
    model = classifier(iterations=60, learning_rate=0.5, early_stopping_rounds=4)
    model.fit(X[:160], y[:160], eval_set=(X[160:], y[160:]))
    assert model.tree_count_ == model.best_iteration_ + 1 < 60
    return model


def fit_scaled():
    model = classifier().fit(X, y)
    model.set_scale_and_bias(-0.7, 0.3)
    return model


def fit_with_threshold(threshold):
    model = classifier().fit(X, y)
    model.set_probability_threshold(threshold)
    return model


# What is fitted, and the rows it predicts.
MODELS = {
    "symmetric": (lambda: classifier().fit(X, y), X),
    "depthwise": (lambda: classifier(grow_policy="Depthwise").fit(X, y), X),
    "lossguide": (lambda: classifier(grow_policy="Lossguide", max_leaves=5).fit(X, y), X),
    "ordered": (lambda: classifier(boosting_type="Ordered").fit(X, y), X),
    "one tree": (lambda: classifier(iterations=1, depth=1).fit(X, y), X),
    "one leaf per tree": (lambda: classifier(grow_policy="Depthwise", min_data_in_leaf=1000).fit(X, y), X),
    "nine levels": (lambda: classifier(depth=9, iterations=3).fit(X, y), X),
    "categories": (lambda: classifier(cat_features=CATEGORIES).fit(FRAME, y), FRAME),
    "categories, combined": (lambda: classifier(one_hot_max_size=1, max_ctr_complexity=3).fit(FRAME, y, [1, 2]), FRAME),
    "categories, depthwise": (
        lambda: classifier(cat_features=CATEGORIES, grow_policy="Depthwise").fit(FRAME, y),
        FRAME,
    ),
    "category type": (
        lambda: classifier(cat_features=CATEGORIES).fit(FRAME.astype({"town": "category"}), y),
        FRAME.astype({"town": "category"}),
    ),
    "categories, array": (lambda: classifier(cat_features=[1, 2]).fit(FRAME.to_numpy(), y), FRAME.to_numpy()),
    "embedding": (
        lambda: classifier(embedding_features=["point"]).fit(FRAME[["age"]].assign(point=X.tolist()), y),
        FRAME[["age"]].assign(point=X.tolist()),
    ),
    "sparse": (lambda: classifier().fit(csr_matrix(X), y), csr_matrix(X)),
    "missing values": (lambda: classifier().fit(X_MISSING, y), X_MISSING),
    "missing values, largest": (
        lambda: classifier(nan_mode="Max", grow_policy="Lossguide").fit(X_MISSING, y),
        X_MISSING,
    ),
    "sample weights": (lambda: classifier().fit(X, y, sample_weight=WEIGHT), X),
    "class weights": (lambda: classifier(class_weights=[1, 3]).fit(X, y), X),
    "balanced": (lambda: classifier(auto_class_weights="Balanced").fit(X, y), X),
    "scale_pos_weight": (lambda: classifier(scale_pos_weight=2.5).fit(X, y), X),
    "from the average": (lambda: classifier(boost_from_average=True).fit(X, y), X),
    "shrinking": (lambda: classifier(model_shrink_rate=0.2).fit(X, y), X),
    "early stopping": (fit_early_stopped, X),
    "cross entropy": (lambda: classifier(loss_function="CrossEntropy").fit(X, 0.1 + 0.8 * y), X),
    "focal": (lambda: classifier(loss_function="Focal:focal_alpha=0.4;focal_gamma=2").fit(X, y), X),
    "target border": (lambda: classifier(target_border=0.4).fit(X, WEIGHT / 3), X),
    "strings": (lambda: classifier().fit(X, np.where(y, "yes", "no")), X),
    "booleans": (lambda: classifier().fit(X, y.astype(bool)), X),
    "class names": (lambda: classifier(class_names=["yes", "no"]).fit(X, np.where(y, "yes", "no")), X),
    "scaled": (fit_scaled, X),
    "threshold 0.3": (lambda: fit_with_threshold(0.3), X),
    "threshold 0.9": (lambda: fit_with_threshold(0.9), X),
    "copied": (lambda: copy.copy(classifier().fit(X, y)), X),
    "pickled": (lambda: pickle.loads(pickle.dumps(classifier(cat_features=CATEGORIES).fit(FRAME, y))), FRAME),
}


@pytest.fixture(params=MODELS)
def case(request):
    fit, rows = MODELS[request.param]
    return fit(), rows


def raw(model, rows):
    return model.predict(rows, prediction_type="RawFormulaVal")


def read_back(model, path):
    model.save_model(path)
    return catboost.CatBoostClassifier().load_model(path)


@pytest.mark.parametrize("favorable", [1, 0], ids=["second class favourable", "first class favourable"])
def test_leaves_give_the_models_own_decisions(case, favorable):
    model, rows = case
    label = model.classes_[favorable]
    view = view_ensemble(model, favorable=label)
    index = view.apply(view.check_rows(rows))
    assert index.shape == (model.tree_count_, rows.shape[0])
    np.testing.assert_array_equal(view.decide(index, rows), model.predict(rows) == label)
    view.verify(rows)
    view.verify(rows, index)


def test_writing_changes_scores_as_the_leaves_say(case, tmp_path):
    model, rows = case
    view = view_ensemble(model, favorable=model.classes_[1])
    before, label, params, fingerprint = raw(model, rows), model.predict(rows), model.get_params(), view.fingerprint()
    amount = np.random.RandomState(0).normal(size=view.n_leaves)
    index = view.apply(view.check_rows(rows))
    expected = before - sum(amount[offset + leaf] for offset, leaf in zip(view.leaf_offset, index, strict=False))

    edited = view.write(view.shift(amount)[0])
    np.testing.assert_allclose(raw(edited, rows), expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(raw(model, rows), before)
    np.testing.assert_array_equal(model.predict(rows), label)
    assert view_ensemble(model, favorable=model.classes_[1]).fingerprint() == fingerprint

    assert type(edited) is type(model)
    assert edited.get_params() == model.get_params() == params
    assert edited.get_probability_threshold() == model.get_probability_threshold()
    assert edited.get_cat_feature_indices() == model.get_cat_feature_indices()
    for name in ("classes_", "feature_names_", "n_features_in_", "tree_count_", "best_iteration_", "learning_rate_"):
        np.testing.assert_array_equal(getattr(edited, name), getattr(model, name), err_msg=name)

    for same in (pickle.loads(pickle.dumps(edited)), copy.deepcopy(edited), read_back(edited, tmp_path / "edited.cbm")):
        np.testing.assert_array_equal(raw(same, rows), raw(edited, rows))
        np.testing.assert_array_equal(same.predict(rows), edited.predict(rows))
        np.testing.assert_array_equal(same.predict_proba(rows), edited.predict_proba(rows))

    # Once more, on what was edited, has predicted and was pickled: back to where it began.
    for again in (edited, pickle.loads(pickle.dumps(edited))):
        view = view_ensemble(again, favorable=model.classes_[1])
        view.verify(rows)
        np.testing.assert_allclose(raw(view.write(view.shift(-amount)[0]), rows), before, rtol=0, atol=1e-10)


def test_writing_what_was_read_changes_nothing(case):
    model, rows = case
    view = view_ensemble(model, favorable=model.classes_[0])
    written = view.write(view.leaf_value)
    np.testing.assert_allclose(raw(written, rows), raw(model, rows), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(view_ensemble(written, favorable=model.classes_[0]).leaf_value, view.leaf_value)


def test_fingerprint_is_of_the_trees_only(case, tmp_path):
    model, rows = case
    label = model.classes_[1]
    fingerprint = view_ensemble(model, favorable=label).fingerprint()
    model.predict(rows)
    for same in (model, pickle.loads(pickle.dumps(model)), copy.copy(model), read_back(model, tmp_path / "model.cbm")):
        assert view_ensemble(same, favorable=label).fingerprint() == fingerprint


def test_fingerprint_differs_where_splits_or_leaves_do():
    fitted = [classifier(depth=2).fit(rows, y) for rows in (X, X[:, [1, 0, 2]], X + 0.5)]
    views = [view_ensemble(model) for model in fitted]
    np.testing.assert_array_equal(views[0].leaf_value, views[2].leaf_value)  # the same trees, other borders
    edited = views[0].write(views[0].shift(np.eye(1, views[0].n_leaves)[0])[0])
    assert len({view.fingerprint() for view in (*views, view_ensemble(edited))}) == 4


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.7, 0.999])
def test_row_at_the_threshold_is_decided_as_the_model_does(threshold):
    """CatBoost decides for the second class above the threshold; all rows get a score at, or next to, it."""
    model = fit_with_threshold(threshold)
    cut = view_ensemble(model).raw_cut()
    for score, second in ((np.nextafter(cut, -9), False), (cut, False), (np.nextafter(cut, 9), True)):
        model.set_scale_and_bias(0.0, score)
        assert (model.predict(X) == second).all()
        for favorable in (0, 1):
            view = view_ensemble(model, favorable=favorable)
            decided = view.decide(view.apply(view.check_rows(X)), X)
            np.testing.assert_array_equal(decided, model.predict(X) == favorable)


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_threshold_that_no_leaf_can_reach(threshold):
    with pytest.raises(UnsupportedModelError, match=f"probability threshold {threshold}, .* set one between 0 and 1"):
        view_ensemble(fit_with_threshold(threshold)).verify(X)


@pytest.mark.parametrize("threshold", [0.5, 0.35])
def test_inside_pipelines_and_cut_offs(threshold):
    pipeline = make_pipeline(StandardScaler(), classifier())
    model = FixedThresholdClassifier(pipeline, threshold=threshold, response_method="predict_proba").fit(X, y)
    for favorable in (0, 1):
        view = view_ensemble(model, favorable=favorable)
        view.verify(X)
        assert view.feature_names == ["x0", "x1", "x2"]
        amount = np.random.RandomState(0).normal(size=view.n_leaves)
        edited = view.write(view.shift(amount)[0])
        assert (edited.predict(X) != model.predict(X)).any()
        again = view_ensemble(edited, favorable=favorable)
        again.verify(X)
        np.testing.assert_allclose(again.leaf_score, view.leaf_score - amount, atol=1e-12)


def test_feature_names():
    assert view_ensemble(classifier(cat_features=CATEGORIES).fit(FRAME, y)).feature_names == list(FRAME)
    model = classifier().fit(X, y)
    for same in (model, pickle.loads(pickle.dumps(model))):
        assert view_ensemble(same).feature_names == ["x0", "x1", "x2"]


def test_polars():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({name: FRAME[name].tolist() for name in FRAME})
    try:
        model = classifier(cat_features=CATEGORIES).fit(frame, y)
    except catboost.CatBoostError as error:
        pytest.skip(f"this CatBoost takes no frames of this polars: {error}")
    view = view_ensemble(model)
    view.verify(frame)
    index = view.apply(view.check_rows(frame))
    np.testing.assert_array_equal(index, view.apply(view.check_rows(FRAME)))
    np.testing.assert_array_equal(view.decide(index, frame), model.predict(frame) == 1)


def test_leaves_in_blocks_of_rows(case, monkeypatch):
    model, rows = case
    view = view_ensemble(model, favorable=model.classes_[1])
    whole = view.apply(view.check_rows(rows))
    monkeypatch.setattr("eifffel.ensembles._treewise.APPLIED_PER_BLOCK", 37 * view.n_trees)
    np.testing.assert_array_equal(view.apply(view.check_rows(rows)), whole)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (FRAME[["town", "age", "street", "group"]], "Cannot convert"),
        (FRAME.rename(columns={"age": "years"}), r"name age \(found years\)"),
        (FRAME[["age", "town", "street"]], "Feature group is present in model but not in pool"),
        (FRAME.assign(town=[*FRAME["town"][:-1], np.nan]), "cat_features must be integer or string"),
        (FRAME.assign(age=pd.Series([*FRAME["age"][:-1], "old"], dtype=object)), "Cannot convert"),
    ],
    ids=["order", "name", "too few", "missing category", "word for a number"],
)
def test_wrong_rows_raise_what_catboost_says(rows, message):
    model = classifier(cat_features=CATEGORIES).fit(FRAME, y)
    with pytest.raises(catboost.CatBoostError, match=message):
        model.predict(rows)
    with pytest.raises(catboost.CatBoostError, match=message):
        view_ensemble(model).check_rows(rows)


def test_columns_are_found_by_their_names():
    """CatBoost reorders the columns of a frame, as long as its categories stay where they were."""
    model = classifier(cat_features=CATEGORIES).fit(FRAME, y)
    view = view_ensemble(model)
    mixed = FRAME[["group", "town", "street", "age"]]
    view.verify(mixed)
    np.testing.assert_array_equal(view.apply(view.check_rows(mixed)), view.apply(view.check_rows(FRAME)))


def test_importances_are_those_of_the_edited_leaves():
    model = classifier().fit(X, y)
    view = view_ensemble(model)
    edited = view.write(view.shift(np.random.RandomState(0).normal(size=view.n_leaves))[0])
    importances = edited.feature_importances_
    np.testing.assert_array_equal(importances, edited.get_feature_importance())
    assert not np.allclose(importances, model.feature_importances_)


def test_derived_class():
    class Derived(catboost.CatBoostClassifier):
        """A user's own class."""

    view = view_ensemble(Derived(iterations=3, verbose=False, allow_writing_files=False).fit(X, y))
    view.verify(X)
    assert type(view.write(view.leaf_value)) is Derived


def test_no_files_are_left_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    view = view_ensemble(classifier().fit(X, y))
    view.verify(X)
    view_ensemble(view.write(view.leaf_value)).fingerprint()
    assert os.listdir(tmp_path) == []


class Objective:
    """A loss function as CatBoost's users write their own."""

    def calc_ders_range(self, approxes, targets, weights):
        return [(0.0, -1.0) for _ in approxes]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss_function": "MultiClass"}, "loss function 'MultiClass', .* train it with 'Logloss', 'CrossEntropy' or"),
        ({"loss_function": "MultiClassOneVsAll"}, "loss function 'MultiClassOneVsAll'"),
        ({"objective": "MultiClass"}, "loss function 'MultiClass'"),
        ({"monotone_constraints": [1, 0, 0]}, "monotone_constraints, and shifting leaves breaks .* train it without"),
        ({"monotone_constraints": {1: -1}}, "monotone_constraints"),
        ({"monotone_constraints": "(0,1,0)"}, "monotone_constraints"),
        ({"monotone_constraints": "0:0,1:-1"}, "monotone_constraints"),
    ],
)
def test_refusals(params, message):
    model = classifier(**params)
    with pytest.raises(UnsupportedModelError, match=f"this CatBoostClassifier has .*{message}"):
        view_ensemble(model)
    model.fit(X, y)
    for same in (model, pickle.loads(pickle.dumps(model))):
        with pytest.raises(UnsupportedModelError, match=f"this CatBoostClassifier has .*{message}"):
            view_ensemble(same)


def test_loss_functions_that_are_refused_before_a_fit():
    with pytest.raises(UnsupportedModelError, match=r"loss function Objective, .* train it with"):
        view_ensemble(classifier(loss_function=Objective(), eval_metric="Logloss"))


def test_refusals_of_what_was_fitted(tmp_path):
    with pytest.raises(UnsupportedModelError, match=r"loss function 'MultiClass', .* on a label of two values"):
        view_ensemble(classifier().fit(X, X[:, 0]))
    words = pd.DataFrame({"age": X[:, 0], "words": np.where(y, "good news", "bad news")})
    with pytest.raises(UnsupportedModelError, match=r"text_features, \[1\], .* embedding_features in their place"):
        view_ensemble(classifier().fit(words, y, text_features=["words"]))
    with pytest.raises(UnsupportedModelError, match=r"text_features, \['words'\]"):
        view_ensemble(classifier(text_features=["words"]))
    model = classifier().fit(X, y)
    with pytest.raises(UnsupportedModelError, match="a sum of models; edit a model that was fitted"):
        view_ensemble(catboost.to_classifier(catboost.sum_models([model, model])))
    regressor = catboost.CatBoostRegressor(iterations=2, verbose=False, allow_writing_files=False).fit(X, y)
    regressor.save_model(tmp_path / "regressor.cbm")
    with pytest.raises(UnsupportedModelError, match="loss function 'RMSE'"):
        view_ensemble(catboost.CatBoostClassifier().load_model(tmp_path / "regressor.cbm"))
    with pytest.raises(UnsupportedModelError, match="cannot edit a CatBoostRegressor"):
        view_ensemble(regressor)


def test_constraints_of_nothing_are_none():
    for constraints in ([0, 0, 0], "(0,0,0)", "1:0", {0: 0}):
        model = classifier(monotone_constraints=constraints)
        with pytest.raises(NotFittedError):
            view_ensemble(model)
    view_ensemble(classifier(monotone_constraints=[0, 0, 0]).fit(X, y)).verify(X)


def test_unfitted():
    with pytest.raises(NotFittedError, match="this CatBoostClassifier is not fitted; fit it first"):
        view_ensemble(classifier())


@pytest.mark.parametrize("nan_mode", ["Min", "Max", "Forbidden"])
@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise"])
def test_no_number_is_refused(nan_mode, policy):
    """So that one row of a table of numbers is enough to ask about."""
    model = classifier(nan_mode=nan_mode, grow_policy=policy).fit(X, y)
    view = view_ensemble(model)
    for value in (np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-310, -0.0, 2.0**63):
        rows = np.where(np.random.RandomState(0).rand(*X.shape) < 0.3, value, X)
        for given in (rows, pd.DataFrame(rows), np.asfortranarray(rows)):
            with np.errstate(over="ignore"):  # of which older versions warn
                index = view.apply(view.check_rows(given))
                np.testing.assert_array_equal(index, view._library_leaves(given, n_jobs=1, verbose=0))
    with pytest.raises(catboost.CatBoostError):
        view.check_rows(X[:, :-1])
