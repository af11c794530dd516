"""The view of XGBoost, on real fitted models of each kind that it edits or refuses."""

import json
import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from draws import people
from eifffel import load, trace_path
from eifffel.ensembles import find_view, view_ensemble
from eifffel.exceptions import ModelFileError, UnsupportedModelError

xgboost = pytest.importorskip("xgboost")
VERSION = tuple(int(part) for part in xgboost.__version__.split(".")[:2])

X, y, s = people(300, seed=3)
X = X + np.random.RandomState(0).uniform(-0.4, 0.4, X.shape).round(1)
HOLES = np.where(np.random.RandomState(1).uniform(size=X.shape) < 0.2, np.nan, X)
WEIGHTS = np.random.RandomState(2).uniform(0.5, 2, len(y))
CATEGORIES = ["a", "b", "c", "d"]


class DerivedClassifier(xgboost.XGBClassifier):
    """A user's own class."""


def fitted(rows=X, kind=xgboost.XGBClassifier, fit=None, **params):
    model = kind(**{"n_estimators": 12, "max_depth": 3, **params})
    return model.fit(rows, y, **(fit or {})), rows


def cut_to_best(model):
    return model.get_booster()[: model.best_iteration + 1]


def stopped_early(**params):
    model = xgboost.XGBClassifier(n_estimators=200, early_stopping_rounds=3, **params)
    model.fit(X[60:], y[60:], eval_set=[(X[:60], y[:60])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds(), "the case does not test what it is for"
    return model, X


def trained(params=None, rows=X, n_rounds=12, **matrix):
    params = {"objective": "binary:logistic", **(params or {})}
    return xgboost.train(params, xgboost.DMatrix(rows, y, **matrix), n_rounds), rows


def reloaded(model, rows):
    """From the bytes of a model file, which say nothing of the parameters of training."""
    copied = type(model)()
    copied.load_model(bytearray(booster_of(model).save_raw()))
    return copied, rows


def pandas_frame(categories=CATEGORIES):
    pandas = pytest.importorskip("pandas")
    kind = np.array(CATEGORIES)[np.clip(np.round(X[:, 2]), 0, 3).astype(int)]
    # Names that JSON must escape, or must not.
    return pandas.DataFrame(
        {"âge": X[:, 0], 'quoted "\\': X[:, 1], "kind": pandas.Categorical(kind, categories=categories)}
    )


def polars_frame():
    if VERSION < (3, 0):
        pytest.skip("this XGBoost does not read polars")
    pytest.importorskip("pyarrow")  # XGBoost reads polars through it
    return pytest.importorskip("polars").DataFrame({"age": X[:, 0], "size": X[:, 1], "kind": X[:, 2]})


CATEGORICAL = {"enable_categorical": True, "tree_method": "hist"}
PRUNED = {"tree_method": "exact", "gamma": 1.0, "max_depth": 5}
DART = {"booster": "dart", "rate_drop": 0.5, "seed": 1}
MODELS = {
    "plain": fitted,
    "reg:logistic": lambda: fitted(objective="reg:logistic"),
    "derived": lambda: fitted(kind=DerivedClassifier),
    "dart": lambda: fitted(booster="dart", rate_drop=0.5, random_state=1),
    "dart, forests": lambda: fitted(booster="dart", rate_drop=0.5, num_parallel_tree=2, normalize_type="forest"),
    "dart, stopped early": lambda: stopped_early(booster="dart", rate_drop=0.3),
    "random forest": lambda: fitted(kind=xgboost.XGBRFClassifier),
    "boosted forests": lambda: fitted(num_parallel_tree=3, subsample=0.7),
    "stopped early": stopped_early,
    "forests stopped early": lambda: stopped_early(num_parallel_tree=3, subsample=0.7),
    "stopped early, from a file": lambda: reloaded(*stopped_early()),
    "missing values": lambda: fitted(HOLES),
    "missing is -1": lambda: fitted(np.nan_to_num(HOLES, nan=-1.0), missing=-1.0),
    "weights": lambda: fitted(fit={"sample_weight": WEIGHTS}, scale_pos_weight=3.0),
    "base_score": lambda: fitted(base_score=0.2),
    "pruned": lambda: fitted(**PRUNED),
    "by loss": lambda: fitted(grow_policy="lossguide", max_leaves=6, max_depth=0, tree_method="hist"),
    "single leaves": lambda: fitted(gamma=1e6),
    "one tree": lambda: fitted(n_estimators=1),
    "categories": lambda: fitted(pandas_frame(), max_cat_to_onehot=1, **CATEGORICAL),
    "categories, one against others": lambda: fitted(pandas_frame(), max_cat_to_onehot=9, **CATEGORICAL),
    "categories, by number": lambda: fitted(
        np.column_stack([X[:, :2], np.clip(np.round(X[:, 2]), 0, 3)]), feature_types=["q", "q", "c"], **CATEGORICAL
    ),
    "polars": lambda: fitted(polars_frame()),
    "sparse rows": lambda: fitted(scipy.sparse.csr_matrix(np.round(X))),
    "sparse columns": lambda: fitted(scipy.sparse.csc_matrix(np.round(X))),
    "lists": lambda: fitted(X.tolist()),
    "Booster": trained,
    "Booster, dart": lambda: trained(DART),
    "Booster, missing values": lambda: trained(rows=HOLES),
    "Booster, names": lambda: trained(feature_names=["p", "q", "r"]),
    "Booster, categories": lambda: trained({"tree_method": "hist"}, pandas_frame(), enable_categorical=True),
    "Booster, from a file": lambda: reloaded(*trained(DART)),
    "Booster, cut to its best iteration": lambda: (cut_to_best(stopped_early()[0]), X),
    "pipeline": lambda: (make_pipeline(StandardScaler(), fitted()[0]).fit(X, y), X),
    "threshold": lambda: (FixedThresholdClassifier(fitted()[0], threshold=0.7).fit(X, y), X),
}


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """Threads that wait for each other take longer than these models."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def cases():
    """Each kind of model is trained once; no test may change it."""
    return {}


@pytest.fixture(params=MODELS)
def case(request, cases):
    if request.param not in cases:
        cases[request.param] = MODELS[request.param]()
    return cases[request.param]


@pytest.fixture(params=[1, 0], ids=["second class favourable", "first class favourable"])
def favorable(request):
    return request.param


def booster_of(model):
    return model.get_booster() if hasattr(model, "get_booster") else model


def inner(model):
    return view_ensemble(model).model


def raw(model):
    return bytes(booster_of(inner(model)).save_raw("json"))


def probabilities(model, rows):
    """What the model itself gives, asked without the view."""
    if isinstance(model, xgboost.Booster):
        matrix = xgboost.DMatrix(rows, enable_categorical=True)
        return model.predict(matrix, validate_features=matrix.feature_names is not None)
    return model.predict_proba(rows)[:, 1]


def predicts(model, rows):
    return probabilities(model, rows) > 0.5 if isinstance(model, xgboost.Booster) else model.predict(rows)


def index_of(view, rows):
    return view.apply(view.check_rows(rows))


def shifted(model, rows, seed=0):
    """A view, leaf values that turn many decisions, and the model that has them."""
    view = view_ensemble(model, favorable=1)
    amount = np.random.RandomState(seed).normal(scale=0.5, size=view.n_leaves)
    value = view.shift(amount)[0]
    return view, value, view.write(value)


def sigmoid(score):
    return 1 / (1 + np.exp(-score))


def test_view_decides_what_the_model_predicts(case, favorable):
    model, rows = case
    view = view_ensemble(model, favorable=favorable)
    index = index_of(view, rows)
    np.testing.assert_array_equal(view.decide(index, rows), predicts(model, rows) == favorable)
    np.testing.assert_allclose(sigmoid(view.leaf_sum(index)), probabilities(model, rows), atol=1e-6)
    view.verify(rows)


def test_every_leaf_holds_rows_it_was_grown_on(case):
    # Nodes that were pruned would be leaves without rows; rows left out by subsampling may leave some empty.
    model, rows = case
    view = view_ensemble(model)
    index = index_of(view, rows)
    reached = sum(len(np.unique(leaves)) for leaves in index)
    assert reached >= 0.9 * view.n_leaves
    assert index.shape == (view.n_trees, len(y))


def test_pruned_nodes_are_not_leaves():
    model, _ = fitted(**PRUNED)
    trees = json.loads(raw(model))["learner"]["gradient_booster"]["model"]["trees"]
    assert any(int(tree["tree_param"]["num_deleted"]) for tree in trees), "the case does not test what it is for"
    assert view_ensemble(model).n_leaves == sum(tree.count("leaf=") for tree in model.get_booster().get_dump())


def test_written_leaves_change_the_scores_as_their_sums_say(case):
    model, rows = case
    view, value, edited = shifted(model, rows)
    index = index_of(view, rows)
    expected = view.raw_bias + value[index.T + view.leaf_offset[:-1]].sum(axis=1)

    again = view_ensemble(edited, favorable=1)
    score = again.model_score(rows)
    np.testing.assert_allclose(score, expected, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(probabilities(edited, rows), sigmoid(expected), atol=1e-5)
    clear = np.abs(expected - view.threshold) > 1e-4
    np.testing.assert_array_equal(predicts(edited, rows)[clear], (expected > view.threshold)[clear])
    np.testing.assert_array_equal(index_of(again, rows), index)
    assert again.holds(value)
    again.verify(rows)


def test_model_that_was_given_stays_as_it_is(case):
    model, rows = case
    before, bytes_before = probabilities(model, rows), raw(model)
    _, _, edited = shifted(model, rows)
    edited_probabilities = probabilities(edited, rows)
    assert not np.array_equal(edited_probabilities, before)
    np.testing.assert_array_equal(probabilities(model, rows), before)
    assert raw(model) == bytes_before
    assert raw(edited) != bytes_before


def test_writing_the_same_values_gives_the_same_model(case):
    model, rows = case
    view = view_ensemble(model)
    same = view.write(view.leaf_value)
    assert raw(same) == raw(model)
    np.testing.assert_array_equal(probabilities(same, rows), probabilities(model, rows))
    assert view_ensemble(same).fingerprint() == view.fingerprint()


def test_edited_model_keeps_all_but_its_leaves(case):
    model, rows = case
    edited = shifted(model, rows)[2]
    assert type(edited) is type(model)
    model, edited = inner(model), inner(edited)
    assert type(edited) is type(model)
    old, new = booster_of(model), booster_of(edited)
    assert new.feature_names == old.feature_names
    assert new.feature_types == old.feature_types
    assert new.attributes() == old.attributes()
    assert new.save_config() == old.save_config()
    if edited is not new:
        assert repr(edited.get_params()) == repr(model.get_params())  # nan is not equal to itself
        np.testing.assert_array_equal(edited.classes_, model.classes_)
        assert edited.n_features_in_ == model.n_features_in_
        assert getattr(edited, "best_iteration", None) == getattr(model, "best_iteration", None)
        assert getattr(edited, "evals_result_", None) == getattr(model, "evals_result_", None)
        assert set(vars(edited)) == set(vars(model))


@pytest.mark.parametrize("suffix", ["json", "ubj"])
def test_edits_survive_the_library_s_own_files(case, suffix, tmp_path):
    model, rows = case
    edited = inner(shifted(model, rows)[2])
    edited.save_model(tmp_path / f"model.{suffix}")
    read = type(edited)(**({"missing": edited.missing} if hasattr(edited, "missing") else {}))
    read.load_model(tmp_path / f"model.{suffix}")
    np.testing.assert_array_equal(probabilities(read, rows), probabilities(edited, rows))


def test_edits_survive_pickling(case):
    model, rows = case
    edited = shifted(model, rows)[2]
    read = pickle.loads(pickle.dumps(edited))
    np.testing.assert_array_equal(probabilities(read, rows), probabilities(edited, rows))
    assert view_ensemble(read).fingerprint() == view_ensemble(edited).fingerprint()
    assert view_ensemble(read).fingerprint() != view_ensemble(model).fingerprint()


def test_apply_of_an_edited_classifier_is_that_of_the_original():
    model, rows = stopped_early()
    edited = shifted(model, rows)[2]
    leaves = edited.apply(rows)
    np.testing.assert_array_equal(leaves, model.apply(rows))
    view = view_ensemble(edited)
    np.testing.assert_array_equal(view.leaf_node[index_of(view, rows).T + view.leaf_offset[:-1]], leaves)


def test_a_booster_that_was_stopped_early_is_refused(tmp_path):
    """By all of its trees it decides otherwise than its classifier; cut to the best, it decides the same."""
    model, rows = stopped_early(num_parallel_tree=3, subsample=0.7)
    assert view_ensemble(model).n_trees == 3 * (model.best_iteration + 1)
    model.save_model(tmp_path / "model.json")
    from_file = xgboost.Booster(model_file=tmp_path / "model.json")
    message = (
        r"this Booster was stopped early in its training, .*; read it as .* booster\[: booster.best_iteration \+ 1\]"
    )
    for booster in (model.get_booster(), from_file):
        with pytest.raises(UnsupportedModelError, match=message):
            trace_path(booster, rows, y, sensitive_features=s)
        path = trace_path(booster[: booster.best_iteration + 1], rows, y, sensitive_features=s)
        expected = trace_path(model, rows, y, sensitive_features=s)
        np.testing.assert_array_equal(path.counts.favorable, expected.counts.favorable)
    with pytest.raises(ModelFileError, match="cannot be read as a model of xgboost: this Booster was stopped early in"):
        load(tmp_path / "model.json")


def test_a_booster_whose_last_trees_are_the_best_is_taken():
    model = xgboost.XGBClassifier(n_estimators=2, early_stopping_rounds=5).fit(X, y, eval_set=[(X, y)], verbose=False)
    booster = model.get_booster()
    assert booster.attr("best_iteration") == "1", "the case does not test what it is for"
    assert view_ensemble(booster).n_trees == view_ensemble(model).n_trees == 2


def test_trees_after_the_best_iteration_stay_as_they_are():
    model, rows = stopped_early()
    n_used = model.best_iteration + 1
    trees, edited = (
        json.loads(raw(each))["learner"]["gradient_booster"]["model"]["trees"]
        for each in (model, shifted(model, rows)[2])
    )
    assert edited[n_used:] == trees[n_used:]
    assert edited[:n_used] != trees[:n_used]


def test_edited_booster_trains_on_as_the_original_would():
    booster, rows = trained({"max_depth": 2, "eta": 0.05})
    view = view_ensemble(booster)
    params = {"objective": "binary:logistic"}  # the rest comes with the booster
    matrix = xgboost.DMatrix(rows, y)
    on = [
        xgboost.train(params, matrix, 2, xgb_model=start).get_dump()
        for start in (pickle.loads(pickle.dumps(booster)), view.write(view.leaf_value))
    ]
    assert on[0] == on[1]


@pytest.mark.parametrize("base_score", [1e-5, 0.5, 0.99999, None])
def test_bias_is_the_margin_of_no_tree(base_score):
    model, rows = fitted(learning_rate=0.0, base_score=base_score)
    np.testing.assert_allclose(view_ensemble(model).raw_bias, model.predict(rows, output_margin=True), rtol=1e-6)


@pytest.mark.skipif(VERSION < (3, 2), reason="older versions refuse such base scores")
@pytest.mark.parametrize("base_score", [0.0, 1e-9, 1.0])
def test_extreme_base_scores_are_clipped_as_by_the_library(base_score):
    model, rows = fitted(base_score=base_score)
    view_ensemble(model).verify(rows)


def test_categories_in_another_order():
    # The library translates them to those of the training since 3.1, and before took their numbers as they came.
    model, _ = fitted(pandas_frame(), max_cat_to_onehot=1, **CATEGORICAL)
    rows = pandas_frame(CATEGORIES[::-1])
    view = view_ensemble(model, favorable=1)
    np.testing.assert_array_equal(view.decide(index_of(view, rows), rows), model.predict(rows))


def test_many_rows_come_in_blocks(monkeypatch):
    model, rows = fitted(HOLES)
    view = view_ensemble(model)
    whole = index_of(view, rows)
    monkeypatch.setattr("eifffel.ensembles._treewise.APPLIED_PER_BLOCK", 12 * 70)
    np.testing.assert_array_equal(index_of(view, rows), whole)


def test_rounding_is_small_beside_the_scores_of_many_trees():
    model, rows = fitted(n_estimators=400, learning_rate=0.1)
    view = view_ensemble(model, favorable=1)
    index = index_of(view, rows)
    assert np.abs(view.leaf_sum(index) - view.model_score(rows)).max() < view.rounding < 1e-2
    np.testing.assert_array_equal(view.decide(index, rows), model.predict(rows))


def test_fingerprint_does_not_depend_on_what_was_asked_before():
    model, rows = stopped_early()
    before = view_ensemble(model).fingerprint()
    model.predict(rows)
    model.apply(rows)
    assert view_ensemble(model).fingerprint() == before
    assert view_ensemble(pickle.loads(pickle.dumps(model))).fingerprint() == before
    assert view_ensemble(fitted()[0]).fingerprint() != before


def test_random_state_is_not_drawn_from():
    # Training after the question must give what it gives without: get_params would draw from the generator.
    generator = np.random.RandomState(0)
    find_view(xgboost.XGBClassifier(random_state=generator))
    assert generator.randint(1 << 30) == np.random.RandomState(0).randint(1 << 30)


def test_arrays_for_a_model_that_was_trained_on_a_frame():
    rows = pandas_frame().drop(columns="kind")
    model, _ = fitted(rows)
    for each in (model, model.get_booster()):
        view = view_ensemble(each, favorable=1)
        np.testing.assert_array_equal(view.decide(index_of(view, X[:, :2]), X[:, :2]), model.predict(rows))


def test_rows_that_do_not_fit_raise_the_library_s_own_error():
    frame = pandas_frame().drop(columns="kind")
    model, _ = fitted(frame)
    for each in (model, model.get_booster()):
        view = view_ensemble(each)
        with pytest.raises(ValueError, match="feature_names mismatch"):
            view.check_rows(frame.rename(columns={"âge": "age"}))
        with pytest.raises(ValueError, match="feature_names mismatch"):
            view.check_rows(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="Feature shape mismatch, expected: 2, got 3"):
        view_ensemble(model).check_rows(X)
    with pytest.raises(ValueError, match="feature names must have the same length"):
        view_ensemble(model.get_booster()).check_rows(X)
    with pytest.raises(ValueError, match="columns"):
        view_ensemble(trained()[0]).check_rows(np.column_stack([X, X]))


def test_names_of_features():
    assert view_ensemble(trained()[0]).feature_names == ["x0", "x1", "x2"]
    assert view_ensemble(trained(feature_names=["p", "q", "r"])[0]).feature_names == ["p", "q", "r"]
    assert view_ensemble(fitted()[0]).feature_names == ["x0", "x1", "x2"]
    assert view_ensemble(fitted(pandas_frame(), **CATEGORICAL)[0]).feature_names == list(pandas_frame())


def test_models_without_trees():
    with pytest.raises(NotFittedError, match="this XGBClassifier is not fitted"):
        view_ensemble(xgboost.XGBClassifier())
    with pytest.raises(NotFittedError, match="this Booster has no trees"):
        view_ensemble(xgboost.Booster())
    with pytest.raises(NotFittedError, match="this XGBClassifier has no trees"):
        view_ensemble(fitted(n_estimators=0)[0])


def own_objective(y_true, y_pred):
    return y_pred - y_true, np.ones_like(y_pred)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"booster": "gblinear"}, "booster='gblinear', a linear model without leaves; train it with 'gbtree'"),
        ({"objective": "multi:softprob"}, "'multi:softprob', for more than two classes; eifffel edits binary"),
        ({"objective": "binary:hinge"}, "'binary:hinge', which predicts labels .* train it with 'binary:logistic'"),
        ({"objective": "binary:logitraw"}, "'binary:logitraw', whose predict compares log-odds with 0.5; train"),
        ({"objective": "count:poisson"}, "'count:poisson', whose score is not known to be a margin"),
        ({"objective": own_objective}, "'own_objective', whose score is not known to be a margin"),
        ({"monotone_constraints": (0, -1, 0)}, "monotone_constraints, and shifting leaves breaks .* train it without"),
        ({"monotone_constraints": {"age": 1}}, "monotone_constraints"),
        ({"monotone_constraints": "(0,1,0)"}, "monotone_constraints"),
        ({"multi_strategy": "multi_output_tree"}, "multi_strategy='multi_output_tree', whose leaves hold vectors"),
    ],
)
def test_parameters_that_rule_an_edit_out_are_refused_before_training(params, message):
    with pytest.raises(UnsupportedModelError, match=f"this XGBClassifier has .*{message}"):
        find_view(xgboost.XGBClassifier(**params))


@pytest.mark.parametrize("constraints", [None, (0, 0, 0), "(0,0,0)", {}])
def test_constraints_that_constrain_nothing(constraints):
    find_view(xgboost.XGBClassifier(monotone_constraints=constraints))


@pytest.mark.parametrize("read", [False, True], ids=["trained", "from a file"])
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"booster": "gblinear"}, "booster='gblinear'"),
        ({"objective": "multi:softprob", "num_class": 3}, "for more than two classes"),
        ({"objective": "binary:hinge"}, "predicts labels"),
        ({"objective": "binary:logitraw"}, "compares log-odds with 0.5"),
        ({"objective": "reg:squarederror"}, "not known to be a margin"),
        ({"booster": "dart", "normalize_type": "forest", "eta": 1, "rate_drop": 1.0}, "scaled down to nothing"),
    ],
)
def test_trained_boosters_are_refused(params, message, read):
    n_rounds = 160 if params.get("booster") == "dart" else 2
    booster, rows = trained(params, n_rounds=n_rounds)
    if read:
        booster, _ = reloaded(booster, rows)
    with pytest.raises(UnsupportedModelError, match=f"this Booster .*{message}"):
        view_ensemble(booster)


def test_constraints_of_a_trained_booster_are_refused():
    booster, _ = trained({"monotone_constraints": "(1,0,0)"})
    with pytest.raises(UnsupportedModelError, match="this Booster has monotone_constraints"):
        view_ensemble(booster)
    booster, _ = trained({"monotone_constraints": "(0,-1,0)", **DART})
    with pytest.raises(UnsupportedModelError, match="this Booster has monotone_constraints"):
        view_ensemble(pickle.loads(pickle.dumps(booster)))


def test_several_classes_or_labels_are_refused():
    three = xgboost.XGBClassifier(n_estimators=2).fit(X, np.arange(len(X)) % 3)
    with pytest.raises(UnsupportedModelError, match="more than two classes"):
        view_ensemble(three)
    labels = np.column_stack([y, 1 - y])
    with pytest.raises(UnsupportedModelError, match="trained on several labels"):
        view_ensemble(xgboost.XGBClassifier(n_estimators=2).fit(X, labels))
    vectors = xgboost.XGBClassifier(n_estimators=2, multi_strategy="multi_output_tree", tree_method="hist")
    with pytest.raises(UnsupportedModelError, match="trained on several labels"):
        view_ensemble(vectors.fit(X, labels).get_booster())


@pytest.mark.parametrize(("n_trees", "rate"), [(20, 1.0), (200, 0.3), (800, 0.1)])
def test_scores_near_the_threshold_are_off_by_a_fraction_of_the_rounding(n_trees, rate):
    rows, labels, _ = people(3000, seed=1)
    model = xgboost.XGBClassifier(n_estimators=n_trees, learning_rate=rate, max_depth=5, n_jobs=1).fit(rows, labels)
    view = view_ensemble(model)
    score = view.leaf_sum(view.apply(view.check_rows(rows)))
    near = np.abs(score) < 0.5
    assert near.sum() > 50
    assert np.abs(score - view.model_score(rows))[near].max() < view.rounding / 3
