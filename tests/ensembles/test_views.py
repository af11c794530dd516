"""The conformance suite: what every view must do, on real fitted models of its library."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from boosters import BOOSTED
from draws import people
from eifffel import (
    NarrowProbabilitiesWarning,
    UnsupportedModelError,
    ViewMismatchError,
    trace_path,
    view_ensemble,
)
from eifffel.ensembles import VIEWS, EnsembleView


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
    "bagging, one feature": BaggingClassifier(n_estimators=6, max_features=1, random_state=0),
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


@pytest.fixture(params=[*MODELS, *BOOSTED])
def any_model(request):
    """A model of any kind; boosted ones are not fitted before they are asked for."""
    name = request.param
    return copy.deepcopy(MODELS[name]).fit(X, y) if name in MODELS else BOOSTED[name](X, y)


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


def decisions(model, rows):
    """What the model decides: a Booster of LightGBM or XGBoost gives probabilities, and its label is the likelier."""
    if hasattr(model, "classes_"):
        return np.asarray(one_job(model).predict(rows)).ravel()
    if type(model).__module__.startswith("xgboost"):
        rows = sys.modules["xgboost"].DMatrix(rows)
    return (model.predict(rows) > 0.5).astype(int)


def bytes_of(model):
    """Everything that the model is made of. A booster of XGBoost or LightGBM pickles its text, CatBoost's its blob."""
    return pickle.dumps(model)


def test_every_registered_class_is_tried():
    fitted = [*MODELS.values(), *(make(X, y) for make in BOOSTED.values())]
    tried = {f"{base.__module__.partition('.')[0]}.{base.__name__}" for model in fitted for base in type(model).__mro__}
    installed = {name for name in VIEWS if name.partition(".")[0] in sys.modules}
    assert {"sklearn.RandomForestClassifier", "sklearn.GradientBoostingClassifier"} <= installed <= tried


def test_no_library_is_imported_to_look_a_model_up():
    code = (
        "import sys\n"
        "from sklearn.neighbors import KNeighborsClassifier\n"
        "import eifffel\n"
        "try:\n    eifffel.view_ensemble(KNeighborsClassifier())\n"
        "except eifffel.UnsupportedModelError:\n    pass\n"
        "assert not {'lightgbm', 'xgboost', 'catboost'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_view_predicts_what_the_model_predicts(any_model, favorable):
    view = view_ensemble(any_model, favorable=favorable)
    index = index_of(view, X)
    assert index.shape == (view.n_trees, len(X))
    decided = decisions(any_model, X) == favorable
    np.testing.assert_array_equal(view.decide(index, X), decided)
    score = view.leaf_sum(index)
    np.testing.assert_allclose(score, view.model_score(X), atol=view.score_tolerance)
    # The score that edits are made of, and its sign.
    total = view.leaf_score[index.T + view.leaf_offset[:-1]].sum(axis=1) + view.bias
    sign = 1 if view.votes or favorable == 1 else -1
    np.testing.assert_allclose(total, sign * (score - view.threshold), atol=1e-9)
    np.testing.assert_array_equal((total > 0)[np.abs(total) > view.rounding], decided[np.abs(total) > view.rounding])
    view.verify(X, index)
    view.verify(X)


def test_leaves_are_those_of_the_tree():
    view = view_ensemble(RandomForestClassifier(3, random_state=0).fit(X, y))
    leaves = index_of(view, X).T + view.leaf_offset[:-1]
    np.testing.assert_array_equal(view.leaf_node[leaves], view.model.apply(X))


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
        total = view.fixed_margin[index.T + view.leaf_offset[:-1]].sum(axis=1)
        np.testing.assert_array_equal(view.decide(index), model.predict(coarse) == favorable)
        if n_trees > 6:
            assert (total[near] != 0).any(), "fixed point rounds too"


def test_a_leaf_of_equal_fractions_goes_to_the_first_class_and_is_not_flippable(favorable):
    tree = DecisionTreeClassifier().fit([[0], [0]], [0, 1])
    view = view_ensemble(tree, favorable=favorable)
    np.testing.assert_array_equal(view.leaf_value, [[0.5, 0.5]])
    assert view.leaf_favorable.tolist() == [favorable == 0]
    assert view.flippable.tolist() == [False]


def test_writing_unchanged_values_changes_nothing(any_model, favorable):
    view = view_ensemble(any_model, favorable=favorable)
    same = view_ensemble(view.write(view.leaf_value), favorable=favorable)
    np.testing.assert_array_equal(same.leaf_value, view.leaf_value)
    np.testing.assert_array_equal(decisions(same.model, X), decisions(any_model, X))


def test_a_fingerprint_is_of_the_leaves_and_splits(any_model):
    view = view_ensemble(any_model)
    decisions(any_model, X)
    assert view_ensemble(any_model).fingerprint() == view.fingerprint()
    assert view_ensemble(pickle.loads(pickle.dumps(any_model))).fingerprint() == view.fingerprint()
    amount = np.zeros(view.n_leaves)
    amount[0] = 0.125
    assert view_ensemble(view.write(view.shift(amount)[0])).fingerprint() != view.fingerprint()


@pytest.mark.parametrize("size", [1e-3, 0.3])
def test_a_written_shift_is_what_the_scores_say(any_model, favorable, size):
    view = view_ensemble(any_model, favorable=favorable)
    if view.unshiftable:  # the next test holds that it is refused
        assert not view.writable.all()
        return
    amount = np.random.RandomState(1).normal(size=view.n_leaves) * size / (view.n_trees if view.votes else 1)
    leaf_value, scale = view.shift(amount)
    edited = view.write(leaf_value)
    written = view_ensemble(edited, favorable=favorable)
    assert written.holds(leaf_value)
    assert 0 < scale <= 1
    index = index_of(view, X)
    np.testing.assert_array_equal(index_of(written, X), index)
    score = (view.leaf_score - amount)[index.T + view.leaf_offset[:-1]].sum(axis=1) + view.bias
    sign = 1 if view.votes or favorable == 1 else -1
    np.testing.assert_allclose(
        sign * (written.model_score(X) - written.threshold), scale * score, atol=written.score_tolerance
    )
    sure = np.abs(score) > view.rounding
    assert sure.mean() > 0.9
    np.testing.assert_array_equal((decisions(edited, X) == favorable)[sure], (score > 0)[sure])
    if hasattr(edited, "predict_proba"):
        probability = edited.predict_proba(X)
        assert probability.min() >= 0
        np.testing.assert_allclose(probability.sum(axis=1), 1, atol=1e-6)


@pytest.mark.filterwarnings("ignore::eifffel.IndistinctGroupsWarning")
@pytest.mark.parametrize("strategy", ["leaf", "tree", "shift"])
def test_every_step_of_a_path_is_what_the_written_model_decides(any_model, strategy):
    view = view_ensemble(any_model)
    if strategy != "shift" and not view.votes:
        with pytest.raises(UnsupportedModelError, match=f"strategy='{strategy}' flips leaves, and those of a boosted"):
            trace_path(any_model, X, y, sensitive_features=s, strategy=strategy)
        return
    if strategy == "shift" and view.unshiftable:
        with pytest.raises(UnsupportedModelError, match="a tree of it saw rows of one class only"):
            trace_path(any_model, X, y, sensitive_features=s, strategy=strategy)
        return
    path = trace_path(any_model, X[:120], y[:120], sensitive_features=s[:120], strategy=strategy)
    other = path.measure(X[120:], y[120:], s[120:])
    for measured, rows in ((path, slice(0, 120)), (other, slice(120, 200))):
        for step in np.unique(np.linspace(0, path.n_steps, 7).astype(int)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NarrowProbabilitiesWarning)
                decided = decisions(measured.model_at(step), X[rows]) == 1
            for group in (0, 1):
                for label in (0, 1):
                    inside = (s[rows] == path.groups[group]) & (y[rows] == label)
                    assert decided[inside].sum() == measured.counts.favorable[step, group, label]


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
    written = view_ensemble(edited, favorable=favorable)
    np.testing.assert_array_equal(written.decide(index_of(written, X)), edited.predict(X) == favorable)
    np.testing.assert_allclose(edited.predict_proba(X).sum(axis=1), 1)


def test_the_input_model_is_untouched_and_the_result_is_of_its_class(any_model):
    before, decided = bytes_of(any_model), decisions(any_model, X)
    view = view_ensemble(any_model)
    edited = view.write(view.shift(np.full(view.n_leaves, 0.25 / view.n_trees))[0])
    assert bytes_of(any_model) == before
    np.testing.assert_array_equal(decisions(any_model, X), decided)
    assert type(edited) is type(any_model)
    if hasattr(edited, "get_params"):
        params = any_model.get_params()
        assert {name: repr(value) for name, value in edited.get_params().items()} == {
            name: repr(value) for name, value in params.items()
        }
        np.testing.assert_array_equal(edited.classes_, any_model.classes_)


def test_the_result_pickles_and_can_be_edited_again(any_model):
    view = view_ensemble(any_model)
    amount = np.full(view.n_leaves, 0.25 / view.n_trees)
    edited = view.write(view.shift(amount)[0])
    again = pickle.loads(pickle.dumps(edited))
    np.testing.assert_array_equal(decisions(again, X), decisions(edited, X))
    twice = view_ensemble(again)
    np.testing.assert_array_equal(twice.leaf_value, view_ensemble(edited).leaf_value)
    leaf_value = twice.shift(-amount)[0]
    assert view_ensemble(twice.write(leaf_value)).holds(leaf_value)


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
    with pytest.raises(UnsupportedModelError, match="has monotonic_cst, and editing leaves breaks"):
        view_ensemble(model.fit(X, y))


def test_models_that_are_not_supported_are_refused_with_the_reason():
    with pytest.raises(UnsupportedModelError, match=r"cannot edit a KNeighborsClassifier; it edits .*RandomForest"):
        view_ensemble(KNeighborsClassifier().fit(X, y))
    with pytest.raises(
        UnsupportedModelError, match="cannot edit a KNeighborsClassifier, which is inside this Pipeline"
    ):
        view_ensemble(make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(X, y))
    with pytest.raises(UnsupportedModelError, match="edit the model that it calibrates, and calibrate a copy of it"):
        view_ensemble(CalibratedClassifierCV(RandomForestClassifier(3)).fit(X, y))
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


def test_threads_are_those_of_the_model_unless_others_are_asked_for(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    own = {
        RandomForestClassifier(2): None,
        RandomForestClassifier(2, n_jobs=2): 2,
        DecisionTreeClassifier(): None,
        GradientBoostingClassifier(n_estimators=2): None,
        HistGradientBoostingClassifier(max_iter=2): 3,
    }
    for model, jobs in own.items():
        view = view_ensemble(model.fit(X, y))
        assert view.jobs_for(None) == jobs
        assert view.jobs_for(1) == 1
    taken = []
    apply = EnsembleView.apply

    def noted(self, rows, *, n_jobs=None, verbose=0):
        taken.append(n_jobs)
        return apply(self, rows, n_jobs=n_jobs, verbose=verbose)

    monkeypatch.setattr(EnsembleView, "apply", noted)
    model = RandomForestClassifier(2, n_jobs=2, random_state=0).fit(X, y)
    path = trace_path(model, X, y, sensitive_features=s)
    assert set(taken) <= {2, None}, "the check of a sample takes one thread"
    assert 2 in taken
    taken.clear()
    path.measure(X, y, s)
    assert 2 in taken
    taken.clear()
    trace_path(model, X, y, sensitive_features=s, n_jobs=1)
    assert 2 not in taken


@pytest.mark.parametrize(
    ("library", "name", "given", "jobs"),
    [
        ("lightgbm", "LGBMClassifier", {"n_jobs": 2}, 2),
        ("lightgbm", "LGBMClassifier", {}, 3),
        ("xgboost", "XGBClassifier", {"n_jobs": 2}, 2),
        ("xgboost", "XGBClassifier", {}, 3),
        ("catboost", "CatBoostClassifier", {"thread_count": 2, "verbose": False, "allow_writing_files": False}, 2),
        ("catboost", "CatBoostClassifier", {"verbose": False, "allow_writing_files": False}, 3),
    ],
)
def test_threads_of_libraries_that_take_all(library, name, given, jobs, monkeypatch):
    package = pytest.importorskip(library)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    quiet = {"verbose": -1} if library == "lightgbm" else {}
    model = getattr(package, name)(n_estimators=2, **given, **quiet).fit(X, y)
    assert view_ensemble(model).jobs_for(None) == jobs
