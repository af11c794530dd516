"""Which rows trained a model is told by how many there were in its leaves, where that is no chance."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from eifffel import EiFFFeLClassifier, SeenRowsWarning, trace_path
from eifffel.datasets import make_biased_classification
from eifffel.ensembles import view_ensemble
from eifffel.leaves.training import Training, find_trained

people = make_biased_classification(3000, random_state=0)
X, y, s = people.data, people.target, people.sensitive
MODELS = {
    "tree": lambda: DecisionTreeClassifier(max_depth=8, random_state=0),
    "forest": lambda: RandomForestClassifier(5, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(5, max_depth=8, random_state=0),
    "bagging": lambda: BaggingClassifier(DecisionTreeClassifier(), 5, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=5, random_state=0),
    "hist": lambda: HistGradientBoostingClassifier(max_iter=5, early_stopping=False, random_state=0),
    "lightgbm": lambda: pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=5, verbose=-1),
    "xgboost": lambda: pytest.importorskip("xgboost").XGBClassifier(n_estimators=5),
    "catboost": lambda: pytest.importorskip("catboost").CatBoostClassifier(
        iterations=5, verbose=False, allow_writing_files=False
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]().fit(X[:1000], y[:1000])


def trace(model, scoring, select_on):
    others = (X[select_on], y[select_on], s[select_on])
    return trace_path(model, X[scoring], y[scoring], sensitive_features=s[scoring], select_on=others)


@pytest.mark.parametrize(
    ("scoring", "select_on", "trained"),
    [
        (slice(0, 1000), slice(1000, 2000), False),
        (slice(1000, 2000), slice(0, 1000), True),
        (slice(0, 600), slice(600, 1000), True),
        (slice(1000, 2000), slice(2000, 3000), None),
        (slice(0, 500), slice(1000, 2000), None),
    ],
    ids=["the scoring rows", "the selection rows", "both", "others", "some of the scoring rows"],
)
def test_leaves_tell_which_rows_trained_a_model(model, scoring, select_on, trained):
    path = trace(model, scoring, select_on)
    assert path.trained is trained
    if not trained:
        choice = path.select(epsilon=0.5, confidence=0.8)
        assert choice.trained is trained
        assert ("rests on your word" in str(choice)) == (trained is None)
        return
    with pytest.raises(
        ValueError, match="and the model was trained on the selection rows or some of them, as the numb"
    ):
        path.select(epsilon=0.5, confidence=0.8)
    with pytest.warns(SeenRowsWarning, match="the model was trained on them or on some of them"):
        assert path.select(epsilon=0.5).trained


def test_so_do_those_of_rows_that_are_measured_later(model):
    path = trace(model, slice(1000, 2000), slice(2000, 3000))
    assert path.measure(X[:1000], y[:1000], s[:1000]).trained
    assert path.measure(X[1000:1500], y[1000:1500], s[1000:1500]).trained is None
    apart = trace(model, slice(0, 1000), slice(1000, 2000))
    assert apart.measure(X[2000:], y[2000:], s[2000:]).trained is False
    assert apart.measure(X[900:1900], y[900:1900], s[900:1900]).trained is None  # some of them did


def test_a_frozen_model_is_not_certified_on_the_rows_that_trained_it(model):
    frozen = EiFFFeLClassifier(FrozenEstimator(model), epsilon=0.3, confidence=0.8, random_state=0)
    with pytest.raises(ValueError, match=r"confidence=0.8 needs rows that neither trained the model nor"):
        frozen.fit(X[:1000], y[:1000], sensitive_features=s[:1000])
    clf = frozen.fit(X[1000:], y[1000:], sensitive_features=s[1000:])
    assert clf.selection_.trained is None
    fitted = EiFFFeLClassifier(MODELS["tree"](), epsilon=0.3, confidence=0.8, random_state=0)
    assert fitted.fit(X[:1000], y[:1000], sensitive_features=s[:1000]).selection_.trained is False


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("name", ["xgboost", "catboost"])
def test_sums_of_weights_are_taken_for_no_counts(name, weighted):
    weight = np.random.default_rng(0).random(1000) + 0.5 if weighted else None
    model = MODELS[name]().fit(X[:1000], y[:1000], sample_weight=weight)
    assert (Training.of(view_ensemble(model)) is None) == weighted


@pytest.mark.parametrize("n_left_out", [1, 5, 50])
def test_some_training_rows_less_do_not_make_others_trained(model, n_left_out):
    """The scoring rows fill most leaves, and any others would fill the rest."""
    path = trace(model, slice(0, 1000 - n_left_out), slice(1000, 3000))
    assert not path.trained


def test_few_leaves_tell_nothing():
    stump = DecisionTreeClassifier(max_depth=1).fit(X[:1000], y[:1000])
    path = trace(stump, slice(0, 1000), slice(1000, 2000))
    assert path.trained is None
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X[:1000], y[:1000])
    assert trace(forest, slice(0, 1000), slice(1000, 2000)).trained is None


def test_rows_that_are_drawn_alike_are_not_taken_for_those_that_trained():
    """However many there are; each draw is a chance to be wrong."""
    draw = np.random.default_rng(0)
    for n_leaves in (2, 8, 32, 200):
        share = draw.dirichlet(np.ones(n_leaves), 200)
        trained = [draw.multinomial(2000, p) for p in share]
        for factor in (0.5, 1, 1.02, 1.2, 2, 10):
            others = [draw.multinomial(int(factor * 2000), p) for p in share]
            assert not any(Training(0, own).among(counts) for own, counts in zip(trained, others, strict=True))


def test_what_is_known_without_a_look_at_leaves():
    assert find_trained(None, None, None, on_scoring=True) is True
    assert find_trained(None, None, np.ones(3), on_scoring=True) is False
    assert find_trained(None, None, np.ones(3)) is None


def test_a_table_without_a_group_for_all_still_tells():
    groups = np.where(np.arange(1000) % 10 == 0, None, s[:1000].astype(object))
    model = MODELS["tree"]().fit(X[:1000], y[:1000])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = trace_path(
            model,
            X[:1000],
            y[:1000],
            sensitive_features=groups,
            select_on=(X[1000:], y[1000:], s[1000:].astype(object)),
            missing="drop",
        )
    assert path.trained is False
