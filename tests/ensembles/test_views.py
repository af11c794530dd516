"""The conformance suite: what every view must do, on real fitted models of its library."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from draws import people
from eifffel import UnsupportedModelError, ViewMismatchError, trace_path, view_ensemble
from eifffel.ensembles import VIEWS


class DerivedForest(RandomForestClassifier):
    """A user's own class."""


MODELS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "extra tree": ExtraTreeClassifier(random_state=0),
    "forest of 6": RandomForestClassifier(6, random_state=0),
    "forest of 7": RandomForestClassifier(7, max_depth=3, random_state=0),
    "forest, out-of-bag": RandomForestClassifier(30, oob_score=True, random_state=0),
    "forest, two jobs": RandomForestClassifier(6, n_jobs=2, random_state=0),
    "forest, balanced": RandomForestClassifier(6, class_weight="balanced", random_state=0),
    "forest, derived": DerivedForest(6, random_state=0),
    "extra trees": ExtraTreesClassifier(6, random_state=0),
    "bagging": BaggingClassifier(n_estimators=6, random_state=0),
    "bagging, some features": BaggingClassifier(n_estimators=6, max_features=0.7, random_state=0),
    "bagging, drawn features": BaggingClassifier(n_estimators=6, bootstrap_features=True, random_state=0),
    "bagging, out-of-bag": BaggingClassifier(n_estimators=30, oob_score=True, random_state=0),
    "bagging, extra trees": BaggingClassifier(ExtraTreeClassifier(max_depth=3), n_estimators=6, random_state=0),
    "bagging, few samples": BaggingClassifier(n_estimators=6, max_samples=3, random_state=0),
}
X, y, s = people(200, seed=3)
LABELS = {"integers": np.array([0, 1]), "strings": np.array(["no", "yes"]), "booleans": np.array([False, True])}


@pytest.fixture(params=MODELS)
def model(request):
    return copy.deepcopy(MODELS[request.param]).fit(X, y)


@pytest.fixture(params=[1, 0], ids=["second class favourable", "first class favourable"])
def favorable(request):
    return request.param


def one_job(model):
    """The order of summation in which exactness is promised."""
    single = copy.deepcopy(model)
    if hasattr(single, "n_jobs"):
        single.n_jobs = 1
    return single


def index_of(view, rows):
    return view.apply(view.check_rows(rows))


def test_every_registered_class_is_tried():
    tried = {f"sklearn.{base.__name__}" for model in MODELS.values() for base in type(model).__mro__}
    assert set(VIEWS) <= tried


def test_view_predicts_what_the_model_predicts(model, favorable):
    view = view_ensemble(model, favorable=favorable)
    index = index_of(view, X)
    np.testing.assert_array_equal(view.decide(index), one_job(model).predict(X) == favorable)
    leaves = index.T + view.leaf_offset[:-1]
    np.testing.assert_allclose(
        view.leaf_value[leaves, 1].mean(axis=1), model.predict_proba(X)[:, favorable], atol=1e-10
    )
    np.testing.assert_array_equal(view.leaf_node[leaves[:, 0]], view.apply_tree(0, view.check_rows(X)))


def test_class_weight_of_bagging_whose_first_tree_saw_one_class():
    model = BaggingClassifier(DecisionTreeClassifier(class_weight={0: 1, 1: 3}), n_estimators=3, random_state=0)
    model.fit(X, y)
    model.estimators_[0] = DecisionTreeClassifier(class_weight={0: 1, 1: 3}).fit(X, np.ones(len(X), int))
    assert view_ensemble(model).class_weight == (1.0, 3.0)


# Grown to pure leaves in an even number, so that votes tie.
EVEN = [
    name for name, model in MODELS.items() if getattr(model, "n_estimators", 1) == 6 and name != "bagging, extra trees"
]


@pytest.mark.parametrize("name", EVEN)
def test_exact_ties_are_decided_as_the_model_decides_them(name, favorable):
    # Trees grown on noise until their leaves are pure: each votes 0 or 1, and three against three is common.
    random = np.random.RandomState(0)
    noise, labels, rows = random.uniform(size=(300, 3)), random.randint(0, 2, 300), random.uniform(size=(300, 3))
    model = copy.deepcopy(MODELS[name]).fit(noise, labels)
    tied = model.predict_proba(rows)[:, 0] == 0.5
    assert tied.sum() > 20, "the case does not test what it is for"
    view = view_ensemble(model, favorable=favorable)
    np.testing.assert_array_equal(view.decide(index_of(view, rows[tied])), model.predict(rows[tied]) == favorable)


def test_near_ties_are_decided_as_the_model_decides_them(favorable):
    # Three leaves of 1/3 against one of 1: sums that tie in arithmetic but round, in float64 and in fixed point.
    random = np.random.RandomState(0)
    coarse = random.randint(0, 20, (4000, 3)).astype(float)
    for n_trees in (6, 48, 150):
        model = BaggingClassifier(DecisionTreeClassifier(max_depth=6), n_estimators=n_trees, random_state=0)
        model.fit(coarse, random.randint(0, 2, 4000))
        for tree in model.estimators_:
            leaves = np.flatnonzero(tree.tree_.children_left == -1)
            fraction = random.choice([0, 1, 1 / 3, 2 / 3, 1 / 6, 5 / 6], len(leaves))
            tree.tree_.value[leaves, 0, 0] = 1 - fraction
            tree.tree_.value[leaves, 0, 1] = fraction
        near = np.abs(model.predict_proba(coarse)[:, 0] - 0.5) < 1e-9
        assert near.sum() > 5, "the case does not test what it is for"
        view = view_ensemble(model, favorable=favorable)
        index = index_of(view, coarse)
        total = view.margin[index.T + view.leaf_offset[:-1]].sum(axis=1)
        np.testing.assert_array_equal(view.decide(index), model.predict(coarse) == favorable)
        if n_trees > 6:
            assert (total[near] != 0).any(), "fixed point rounds too"


def test_a_leaf_of_equal_fractions_goes_to_the_first_class_and_is_not_flippable(favorable):
    tree = DecisionTreeClassifier().fit([[0], [0]], [0, 1])
    view = view_ensemble(tree, favorable=favorable)
    np.testing.assert_array_equal(view.leaf_value, [[0.5, 0.5]])
    assert view.leaf_favorable.tolist() == [favorable == 0]
    assert view.flippable.tolist() == [False]


def test_writing_unchanged_values_changes_nothing(model, favorable):
    view = view_ensemble(model, favorable=favorable)
    same = view.write(view.leaf_value)
    np.testing.assert_array_equal(one_job(same).predict_proba(X), one_job(model).predict_proba(X))
    assert view_ensemble(same, favorable=favorable).fingerprint() == view.fingerprint()


def test_flipping_twice_is_the_identity(model, favorable):
    view = view_ensemble(model, favorable=favorable)
    leaves = np.flatnonzero(view.flippable)[::2]
    once = view_ensemble(view.write(view.flip(leaves)), favorable=favorable)
    assert once.fingerprint() != view.fingerprint()
    assert view_ensemble(once.write(once.flip(leaves)), favorable=favorable).fingerprint() == view.fingerprint()


def test_a_written_flip_is_what_the_view_decides(model, favorable):
    view = view_ensemble(model, favorable=favorable)
    leaves = np.flatnonzero(view.flippable)[::3]
    edited = one_job(view.write(view.flip(leaves)))
    np.testing.assert_array_equal(view.decide(index_of(view, X), flipped=leaves), edited.predict(X) == favorable)
    np.testing.assert_allclose(edited.predict_proba(X).sum(axis=1), 1)


def test_the_input_model_is_untouched_and_the_result_is_of_its_class(model):
    before = pickle.dumps(model)
    view = view_ensemble(model)
    edited = view.write(view.flip(np.flatnonzero(view.flippable)))
    assert pickle.dumps(model) == before
    assert type(edited) is type(model)
    assert edited.get_params().keys() == model.get_params().keys()


def test_the_result_pickles(model):
    view = view_ensemble(model)
    edited = view.write(view.flip(np.flatnonzero(view.flippable)[:3]))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(edited)).predict(X), edited.predict(X))


@pytest.mark.parametrize("name", ["forest, out-of-bag", "bagging, out-of-bag"])
def test_stale_attributes_are_gone_from_the_result(name):
    model = copy.deepcopy(MODELS[name]).fit(X, y)
    view = view_ensemble(model)
    edited = view.write(view.leaf_value)
    for attribute in ("oob_score_", "oob_decision_function_"):
        assert hasattr(model, attribute)
        assert not hasattr(edited, attribute)


@pytest.mark.parametrize("labels", LABELS)
def test_labels_of_any_kind(labels):
    names = LABELS[labels]
    model = RandomForestClassifier(6, random_state=0).fit(X, names[y])
    view = view_ensemble(model, favorable=names[1])
    np.testing.assert_array_equal(view.decide(index_of(view, X)), model.predict(X) == names[1])


def test_missing_values_and_sparse_rows_go_where_the_model_sends_them():
    sparse = pytest.importorskip("scipy.sparse")
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    model = RandomForestClassifier(6, random_state=0).fit(gaps, y)
    view = view_ensemble(model)
    np.testing.assert_array_equal(view.decide(index_of(view, gaps)), model.predict(gaps))
    view = view_ensemble(model.fit(sparse.csr_matrix(X), y))
    np.testing.assert_array_equal(view.decide(index_of(view, sparse.csr_matrix(X))), model.predict(X))


def test_leaf_indices_take_the_smallest_type():
    stump = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    assert index_of(view_ensemble(stump), X).dtype == np.uint8
    random = np.random.RandomState(0)
    wide = random.uniform(size=(2000, 3))
    deep = DecisionTreeClassifier(random_state=0).fit(wide, random.randint(0, 2, 2000))
    assert deep.get_n_leaves() > 256
    assert index_of(view_ensemble(deep), wide).dtype == np.uint16


def test_a_bagged_tree_that_saw_one_class_is_read_and_left_alone():
    # Trees fitted on resampled rows, as bagging does for estimators that take no weights.
    model = BaggingClassifier(n_estimators=4, random_state=0).fit(X, y)
    model.estimators_[1] = DecisionTreeClassifier().fit(X, np.ones(len(X), int))
    model.estimators_[1].n_features_in_ = 3
    for favorable in (0, 1):
        view = view_ensemble(model, favorable=favorable)
        np.testing.assert_array_equal(view.decide(index_of(view, X)), model.predict(X) == favorable)
        assert view.class_weight is None
        own = slice(view.leaf_offset[1], view.leaf_offset[2])
        assert not view.flippable[own].any()
        np.testing.assert_array_equal(view.write(view.leaf_value).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("class_weight", "expected"),
    [
        (None, None),
        ("balanced", "balanced"),
        ("balanced_subsample", "balanced"),
        ({0: 1, 1: 3}, (1.0, 3.0)),
        ({1: 3}, (1.0, 3.0)),
    ],
)
def test_class_weight_is_read(class_weight, expected):
    model = RandomForestClassifier(3, class_weight=class_weight, random_state=0).fit(X, y)
    assert view_ensemble(model).class_weight == expected
    if class_weight != "balanced_subsample":
        bagged = BaggingClassifier(DecisionTreeClassifier(class_weight=class_weight), random_state=0)
        assert view_ensemble(bagged.fit(X, np.where(y == 1, "yes", "no")), favorable="yes").class_weight == expected


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(monotonic_cst=[1, 0, 0]),
        RandomForestClassifier(3, monotonic_cst=[1, 0, 0]),
        BaggingClassifier(DecisionTreeClassifier(monotonic_cst=[1, 0, 0])),
    ],
)
def test_monotonic_constraints_are_refused(model):
    with pytest.raises(UnsupportedModelError, match="has monotonic_cst, and flipping a leaf breaks"):
        view_ensemble(model.fit(X, y))


def test_models_that_are_not_supported_are_refused_with_the_reason():
    with pytest.raises(UnsupportedModelError, match=r"cannot edit a KNeighborsClassifier; it edits .*RandomForest"):
        view_ensemble(KNeighborsClassifier().fit(X, y))
    with pytest.raises(UnsupportedModelError, match=r"cannot edit a Pipeline; pass its last step .*pipe\[-1\]"):
        view_ensemble(make_pipeline(DecisionTreeClassifier()).fit(X, y))
    with pytest.raises(UnsupportedModelError, match=r"cannot edit a FrozenEstimator; .* its .estimator"):
        view_ensemble(FrozenEstimator(DecisionTreeClassifier().fit(X, y)))
    with pytest.raises(UnsupportedModelError, match="pass a fitted instance, not the class"):
        view_ensemble(RandomForestClassifier)
    with pytest.raises(UnsupportedModelError, match="bags KNeighborsClassifier"):
        view_ensemble(BaggingClassifier(KNeighborsClassifier(), random_state=0).fit(X, y))
    with pytest.raises(NotFittedError, match="RandomForestClassifier is not fitted; fit it first"):
        view_ensemble(RandomForestClassifier())
    with pytest.raises(UnsupportedModelError, match="has 2 outputs"):
        view_ensemble(RandomForestClassifier(2).fit(X, np.column_stack([y, s])))
    with pytest.raises(UnsupportedModelError, match=r"trained on 3 classes, \[0, 1, 2\]"):
        view_ensemble(RandomForestClassifier(2).fit(X, np.arange(200) % 3))
    with pytest.raises(UnsupportedModelError, match="trained on 1 classes"):
        view_ensemble(RandomForestClassifier(2).fit(X, np.ones(200)))


class Contrary(RandomForestClassifier):
    """Overrides predict, so that its leaves do not say what it decides."""

    def predict(self, X):
        return 1 - super().predict(X)


class Shy(RandomForestClassifier):
    """Overrides predict_proba only."""

    def predict_proba(self, X):
        return 0.25 + super().predict_proba(X) / 2


@pytest.mark.parametrize("kind", [Contrary, Shy])
def test_a_model_that_is_not_its_leaves_is_caught(kind):
    model = kind(5, random_state=0).fit(X, y)
    with pytest.raises(ViewMismatchError, match=f"leaves of this {kind.__name__} do not give its own predictions"):
        trace_path(model, X, y, sensitive_features=s)
