"""Models in files: what goes in comes out, and nothing in a file runs code."""

import json
import os
import pickle
import zipfile
from importlib import import_module

import joblib
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, StandardScaler
from test_record import MODELS, X, halfway, s, scores, y

from eifffel import (
    DiscriminationAwareForestClassifier,
    EiFFFeLClassifier,
    ModelFileError,
    PickleWarning,
    StoredVersionWarning,
    load,
    save,
    undo,
)
from eifffel.edits.record import attach_record, find_record
from eifffel.edits.storage import ABOUT, FORMAT, TRUSTED_TYPES

skops = pytest.importorskip("skops.io")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.skops"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::eifffel.exceptions.IndistinctGroupsWarning")
def test_models_of_every_library_come_back_with_their_record(name, file):
    model = MODELS[name](X, y)
    edited = halfway(model)
    for given in (model, edited):
        save(given, file, overwrite=True)
        same = load(file)
        assert type(same) is type(given)
        np.testing.assert_array_equal(scores(same), scores(given))
    np.testing.assert_array_equal(scores(undo(same)), scores(model))
    assert find_record(same)["digests"] == find_record(edited)["digests"]
    assert skops.load(file, trusted=list(TRUSTED_TYPES))["model"] is not None, "skops alone reads it too"


@pytest.mark.parametrize("strategy", ["leaf", "shift"])
def test_a_classifier_comes_back_with_its_path(strategy, file):
    forest = RandomForestClassifier(10, min_samples_leaf=3, random_state=0)
    clf = EiFFFeLClassifier(forest, epsilon=0.05, strategy=strategy, random_state=0).fit(X, y, sensitive_features=s)
    save(clf, file)
    same = load(file)
    np.testing.assert_array_equal(same.predict_proba(X), clf.predict_proba(X))
    assert same.at(epsilon=0.03).selection_ == clf.at(epsilon=0.03).selection_
    np.testing.assert_array_equal(same.path_.discrimination, clf.path_.discrimination)
    np.testing.assert_array_equal(scores(undo(same)), scores(undo(clf)))
    assert same.path_.rows_to_check is None, "no rows are stored"


def test_a_classifier_of_several_favorable_labels_comes_back(file):
    labels = np.array(["poor", "fair", "good"])[y + (np.arange(len(y)) % 2) * y]
    forest = RandomForestClassifier(10, min_samples_leaf=3, random_state=0)
    clf = EiFFFeLClassifier(forest, epsilon=0.1, favorable={"good", "fair"}, random_state=0)
    save(clf.fit(X, labels, sensitive_features=s), file)
    same = load(file)
    assert same.path_.label_sets == clf.path_.label_sets == (("fair", "good"), ("poor",))
    np.testing.assert_array_equal(same.predict(X), clf.predict(X))
    measured = [path.measure(X, labels, s).accuracy for path in (same.path_, clf.path_)]
    np.testing.assert_array_equal(*measured)


def test_a_file_is_not_overwritten_unasked(file):
    file.write_text("mine")
    with pytest.raises(FileExistsError, match="is not overwritten unasked; name another file, or pass overwrite=True"):
        save(MODELS["forest"](X, y), file)
    assert file.read_text() == "mine"
    save(MODELS["forest"](X, y), file, overwrite=True)
    load(file)
    assert os.listdir(file.parent) == [file.name]


def test_nothing_is_left_where_it_cannot_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save(MODELS["forest"](X, y), tmp_path / "none" / "model.skops")
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        save(MODELS["forest"](X, y), tmp_path)
    assert os.listdir(tmp_path) == []


def double(X):
    return 2 * X


def test_a_type_of_ones_own_is_named_and_must_be_trusted(file):
    model = make_pipeline(FunctionTransformer(double), RandomForestClassifier(3, random_state=0)).fit(X, y)
    own = f"{double.__module__}.double"
    with pytest.raises(ModelFileError, match=f"holds {own}, which eifffel.load would refuse"):
        save(model, file)
    assert not file.exists()
    save(model, file, trusted=[own])
    with pytest.raises(ModelFileError, match=f"holds {own}, which is not loaded"):
        load(file)
    np.testing.assert_array_equal(scores(load(file, trusted=[own])), scores(model))


def test_a_skops_file_that_holds_a_function_is_refused(file):
    file.write_bytes(skops.dumps({"model": RandomForestClassifier(2).fit(X, y), "more": os.mkdir}))
    with pytest.raises(ModelFileError, match=r"holds .*mkdir, which is not loaded"):
        load(file)


@pytest.mark.parametrize("write", [joblib.dump, lambda model, path: path.write_bytes(pickle.dumps(model))])
def test_a_pickle_is_loaded_only_by_request(write, tmp_path):
    path = tmp_path / "model.pkl"
    model = MODELS["forest"](X, y)
    write(model, path)
    with pytest.raises(ModelFileError, match="only if you trust whoever made it, pass allow_pickle=True"):
        load(path)
    with pytest.warns(PickleWarning, match="can run any code"):
        same = load(path, allow_pickle=True)
    np.testing.assert_array_equal(scores(same), scores(model))


def test_a_pickle_bomb_does_not_go_off(tmp_path):
    path = tmp_path / "bomb.skops"
    bomb = type("Bomb", (), {"__reduce__": lambda self: (os.mkdir, (str(tmp_path / "off"),))})
    globals()["Bomb"] = bomb
    path.write_bytes(pickle.dumps(bomb()))
    with pytest.raises(ModelFileError, match="is no skops file"):
        load(path)
    assert not (tmp_path / "off").exists()
    with pytest.warns(PickleWarning):
        load(path, allow_pickle=True)
    assert (tmp_path / "off").exists(), "it was live"


def test_what_is_no_model_is_said_to_be_none(tmp_path, file):
    with pytest.raises(ModelFileError, match=r"there is no file '.*none.skops'; check the name"):
        load(tmp_path / "none.skops")
    with pytest.raises(ModelFileError, match="is a folder"):
        load(tmp_path)
    file.write_bytes(b"")
    with pytest.raises(ModelFileError, match="is empty"):
        load(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(ModelFileError, match="is a zip file, but not one of skops"):
        load(file)
    file.write_text("no pickle either")
    with (
        pytest.warns(PickleWarning),
        pytest.raises(ModelFileError, match="cannot be read as a pickle or a joblib file"),
    ):
        load(file, allow_pickle=True)


def test_a_file_cut_off_anywhere_is_refused(file):
    save(halfway(MODELS["forest"](X, y)), file)
    whole = file.read_bytes()
    for length in np.linspace(1, len(whole) - 1, 40).astype(int):
        file.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"cut off|is no skops file|cannot be read"):
            load(file)


def test_a_damaged_file_is_refused_or_unharmed(file):
    model = halfway(MODELS["forest"](X, y))
    save(model, file)
    whole = bytearray(file.read_bytes())
    n_refused = 0
    for place in np.random.default_rng(0).integers(0, len(whole), 150):
        damaged = whole.copy()
        damaged[place] ^= 0xFF
        file.write_bytes(damaged)
        try:
            same = load(file)
        except ModelFileError:
            n_refused += 1
        else:
            np.testing.assert_array_equal(scores(same), scores(model))
    assert n_refused > 100


def pointing_outside(model):
    """The same forest, its first tree with a child that is not there."""
    tree = model.estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"]["left_child"][0] = 10**7
    make, arguments, _ = tree.__reduce__()
    model.estimators_[0].tree_ = make(*arguments)
    model.estimators_[0].tree_.__setstate__(state)
    return model


def feature_outside(model):
    """The same forest, its first tree with a feature that is not there, though the tree says it is."""
    tree = model.estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"]["feature"][0] = 10**6
    make, (_, *rest), _ = tree.__reduce__()
    model.estimators_[0].tree_ = make(10**7, *rest)
    model.estimators_[0].tree_.__setstate__(state)
    return model


def in_the_record_too(model):
    """Its trees where they are met first by somebody who does not know how many columns reach them."""
    attach_record(model, {"trees": [tree.tree_ for tree in model.estimators_]})
    return model


def nobody_counts_columns(model):
    for estimator in (model, *model.estimators_):
        del estimator.n_features_in_
    return model


def endless(model):
    nodes = model._predictors[0][0].nodes
    nodes["right"][0] = 0
    return model


@pytest.mark.parametrize(
    "harm",
    [
        lambda: pointing_outside(RandomForestClassifier(3, random_state=0).fit(X, y)),
        lambda: feature_outside(RandomForestClassifier(3, random_state=0).fit(X, y)),
        lambda: feature_outside(DiscriminationAwareForestClassifier(3, random_state=0).fit(X, y, sensitive_features=s)),
        lambda: in_the_record_too(feature_outside(RandomForestClassifier(3, random_state=0).fit(X, y))),
        lambda: nobody_counts_columns(RandomForestClassifier(3, random_state=0).fit(X, y)),
        lambda: endless(HistGradientBoostingClassifier(max_iter=2).fit(X, y)),
    ],
)
def test_a_tree_that_points_outside_of_itself_is_refused(harm, file):
    """scikit-learn would read whatever is in memory there, or never end."""
    file.write_bytes(skops.dumps({"models": [harm()]}))
    with pytest.raises(
        ModelFileError,
        match=r"holds (a tree whose nodes point outside of it|trees of other columns than the model around them has|"
        r"a tree that belongs to no model); it is damaged, or made to do harm",
    ):
        load(file)


@pytest.mark.parametrize(
    ("field", "place", "value"),
    [("left_child", 0, "n"), ("right_child", 0, "n"), ("feature", 0, "n_features"), ("feature", 0, -1)],
)
def test_the_nodes_just_outside_are_refused(field, place, value, file):
    model = RandomForestClassifier(2, random_state=0).fit(X, y)
    tree = model.estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"][field][place] = {"n": tree.node_count, "n_features": X.shape[1]}.get(value, value)
    make, arguments, _ = tree.__reduce__()
    model.estimators_[0].tree_ = make(*arguments)
    model.estimators_[0].tree_.__setstate__(state)
    file.write_bytes(skops.dumps(model))
    with pytest.raises(ModelFileError, match="holds a tree whose nodes point outside of it"):
        load(file)


def test_a_path_whose_edits_are_of_other_leaves_is_refused(file):
    """Compiled code would write wherever such a leaf would be."""
    clf = EiFFFeLClassifier(RandomForestClassifier(5, random_state=0), epsilon=0.2, random_state=0)
    clf.fit(X, y, sensitive_features=s)
    clf.path_.order.leaf[0] = 10**8
    save(clf, file)
    with pytest.raises(ModelFileError, match="holds edits whose leaves and steps do not fit together"):
        load(file)


def test_a_file_that_is_much_larger_unpacked_is_refused(file):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b"0" * 200_000_000)
    with pytest.raises(ModelFileError, match="times as large unpacked; no model is"):
        load(file)


@pytest.mark.parametrize("payload", [[1], {"model": 1}, {"model": 1, "record": {"a": 1}}, {"model": 1, "record": 3}])
def test_a_file_without_a_whole_record_is_refused(payload, file):
    file.write_bytes(skops.dumps(payload))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(ABOUT, json.dumps({"format": FORMAT, "versions": {}}))
    with pytest.raises(
        ModelFileError, match=r"does not hold a model and the record of its edit|holds a record of an edit that is none"
    ):
        load(file)


def test_the_usual_steps_before_a_forest_are_stored(file):
    steps = (SimpleImputer(add_indicator=True), StandardScaler(), PowerTransformer())
    model = make_pipeline(*steps, RandomForestClassifier(3, random_state=0)).fit(X, y)
    save(model, file)
    np.testing.assert_array_equal(scores(load(file)), scores(model))


def replace_member(file, name, content):
    with zipfile.ZipFile(file) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for member, old in members.items():
            archive.writestr(member, content if member == name else old)


def rewrite_about(file, change):
    with zipfile.ZipFile(file) as archive:
        about = json.loads(archive.read(ABOUT))
    change(about)
    replace_member(file, ABOUT, json.dumps(about).encode())


def test_a_file_of_another_version_says_so(file):
    model = MODELS["forest"](X, y)
    save(model, file)
    rewrite_about(file, lambda about: about["versions"].update({"scikit-learn": "0.1", "eifffel": "99.0"}))
    with pytest.warns(
        StoredVersionWarning,
        match=r"was written with eifffel 99.0 \(here: .*\), scikit-learn 0.1 \(here: .*\): it may not",
    ):
        same = load(file)
    np.testing.assert_array_equal(scores(same), scores(model))


@pytest.mark.parametrize(
    ("form", "remedy"),
    [
        (FORMAT + 1, "upgrade eifffel"),
        (FORMAT - 1, "save the model again"),
        (float(FORMAT), "again"),
        (True, "again"),
        (str(FORMAT), "again"),
        (None, "again"),
    ],
)
def test_a_file_of_another_form_is_refused_with_the_version_that_wrote_it(form, remedy, file):
    save(MODELS["tree"](X, y), file)
    rewrite_about(file, lambda about: about.update(format=form, versions={"eifffel": "99.0"}))
    with pytest.raises(
        ModelFileError,
        match=rf"was written by eifffel 99.0 in the form {form!r}, .*it reads the form {FORMAT}; .*{remedy}",
    ):
        load(file)


@pytest.mark.parametrize(
    "about",
    [
        None,
        [],
        3,
        "no",
        {},
        {"format": FORMAT},
        {"format": FORMAT, "versions": None},
        {"format": FORMAT, "versions": [1]},
        {"format": FORMAT, "versions": {"eifffel": None}},
        {"versions": {}},
    ],
)
def test_a_file_that_does_not_say_what_wrote_it_is_refused(about, file):
    save(MODELS["tree"](X, y), file)
    replace_member(file, ABOUT, json.dumps(about).encode())
    with pytest.raises(ModelFileError, match=r"does not say in its eifffel.json which versions wrote it"):
        load(file)


def test_a_file_of_skops_alone_is_read(file):
    model = MODELS["pipeline"](X, y)
    skops.dump(model, file)
    np.testing.assert_array_equal(scores(load(file)), scores(model))


def test_the_trusted_types_are_eifffels_and_those_of_model_libraries():
    for name in TRUSTED_TYPES:
        module, _, kind = name.rpartition(".")
        assert module.split(".")[0] in (
            "catboost",
            "collections",
            "eifffel",
            "lightgbm",
            "numpy",
            "sklearn",
            "xgboost",
        )
        if module.startswith("eifffel."):
            assert hasattr(import_module(module), kind), "a name that is no more may come to be another's"
