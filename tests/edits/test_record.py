"""An edited model carries what it takes to undo the edit, exactly."""

import copy
import pickle
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from boosters import BOOSTED
from eifffel import (
    DiscriminationAwareForestClassifier,
    EiFFFeLClassifier,
    ModelChangedError,
    ModelFileError,
    NoRecordError,
    trace_path,
    undo,
    view_ensemble,
)
from eifffel.datasets import make_biased_classification
from eifffel.edits.record import find_record

PEOPLE = make_biased_classification(600, random_state=0)
X, y, s = PEOPLE.data, PEOPLE.target, PEOPLE.sensitive
FOREST = RandomForestClassifier(8, random_state=0)
MODELS = {
    "forest": lambda X, y: RandomForestClassifier(8, random_state=0).fit(X, y),
    "tree": lambda X, y: DecisionTreeClassifier(random_state=0).fit(X, y),
    "bagging": lambda X, y: BaggingClassifier(DecisionTreeClassifier(), 5, max_features=0.6, random_state=0).fit(X, y),
    "pipeline": lambda X, y: make_pipeline(StandardScaler(), RandomForestClassifier(8, random_state=0)).fit(X, y),
    "threshold": lambda X, y: FixedThresholdClassifier(RandomForestClassifier(8, random_state=0), threshold=0.4).fit(
        X, y
    ),
    "starred": lambda X, y: DiscriminationAwareForestClassifier(5, random_state=0).fit(X, y, sensitive_features=s),
    **BOOSTED,
}
if "catboost" in BOOSTED:

    def cat_scaled(X, y):
        model = BOOSTED["catboost"](X, y)
        model.set_scale_and_bias(0.3, 0.1)
        return model

    MODELS["catboost, scaled"] = cat_scaled


def scores(model):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else view_ensemble(model).model_score(X)


def halfway(model):
    """An edited model from the middle of its path."""
    path = trace_path(model, X, y, sensitive_features=s)
    step = int(np.argmin(np.abs(path.discrimination - path.discrimination[0] / 2)))
    return path.model_at(step)


@pytest.fixture(params=MODELS)
def case(request):
    model = MODELS[request.param](X, y)
    with pytest.warns() if request.param == "lightgbm, one leaf" else nullcontext():
        return model, halfway(model)


def test_undo_gives_back_the_original_to_the_last_bit(case):
    model, edited = case
    before = scores(edited)
    original = undo(edited)
    assert type(original) is type(model)
    np.testing.assert_array_equal(scores(original), scores(model))
    assert view_ensemble(original).digests == view_ensemble(model).digests
    assert find_record(original) is None
    if hasattr(model, "get_leaf_values"):
        np.testing.assert_array_equal(original.get_leaf_values(), model.get_leaf_values())
    np.testing.assert_array_equal(scores(edited), before)  # it is left as it is
    assert find_record(edited) is not None


def test_an_edit_changes_the_leaves_and_not_the_structure(case):
    model, edited = case
    digests = find_record(edited)["digests"]
    assert digests["before"] == view_ensemble(model).digests
    assert digests["after"] == view_ensemble(edited).digests
    assert digests["before"]["structure"] == digests["after"]["structure"]


def test_edits_are_undone_one_by_one():
    model = MODELS["forest"](X, y)
    once = halfway(model)
    twice = halfway(once)
    assert find_record(undo(twice))["digests"] == find_record(once)["digests"]
    np.testing.assert_array_equal(scores(undo(twice)), scores(once))
    np.testing.assert_array_equal(scores(undo(undo(twice))), scores(model))


def test_a_classifier_is_undone_to_its_estimator_before_the_edit():
    clf = EiFFFeLClassifier(FOREST, epsilon=0.05, random_state=0).fit(X, y, sensitive_features=s)
    np.testing.assert_array_equal(scores(undo(clf)), scores(clf.path_.model))
    record = find_record(clf)
    assert record["selection"]["epsilon"] == 0.05
    assert record["selection"]["step"] == record["step"] == clf.selection_.step
    assert find_record(clf.at(epsilon=0.1))["selection"]["epsilon"] == 0.1
    assert find_record(clf)["selection"]["epsilon"] == 0.05
    frozen = EiFFFeLClassifier(FrozenEstimator(clf.path_.model), epsilon=0.05, random_state=0)
    np.testing.assert_array_equal(scores(undo(frozen.fit(X, y, sensitive_features=s))), scores(clf.path_.model))


@pytest.mark.parametrize("name", ["forest", "pipeline", "gradient boosting"])
def test_the_record_survives_copies_and_pickles(name):
    model = MODELS[name](X, y)
    edited = halfway(model)
    for same in (copy.deepcopy(edited), pickle.loads(pickle.dumps(edited))):
        np.testing.assert_array_equal(scores(undo(same)), scores(model))


def test_a_bare_model_has_nothing_to_undo():
    model = MODELS["pipeline"](X, y)
    for bare in (model, halfway(model)[-1]):
        with pytest.raises(NoRecordError, match="carries no record of an edit, so there is nothing to undo"):
            undo(bare)


def test_a_model_that_changed_since_is_not_undone():
    edited = halfway(MODELS["forest"](X, y))
    edited.fit(X[:300], y[:300])
    with pytest.raises(ModelChangedError, match="changed since the edit"):
        undo(edited)


def test_a_pickle_of_an_edited_model_needs_no_eifffel(tmp_path):
    edited = halfway(MODELS["pipeline"](X, y))
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(edited))
    np.save(tmp_path / "X.npy", X)
    code = (
        "import pickle, sys, numpy; sys.modules['eifffel'] = None; "
        "model = pickle.load(open('model.pickle', 'rb')); print(model.predict(numpy.load('X.npy')).sum())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) == edited.predict(X).sum()


def test_leaves_that_read_otherwise_are_found():
    """A record that is not of this model, or was tampered with, gives no original."""
    edited = halfway(MODELS["forest"](X, y))
    record = find_record(edited)
    whole = record["leaf_value"]
    record["leaf_value"] = whole[::-1].copy()
    with pytest.raises(ModelFileError, match=r"are not those of the original: the record is damaged"):
        undo(edited)
    for damaged in (whole[:-1], whole[:, :1], whole.astype(int), whole.astype(str), whole[0, 0]):
        record["leaf_value"] = damaged
        with pytest.raises(ModelFileError, match=r"has leaves of the shape .*: the record is damaged"):
            undo(edited)
