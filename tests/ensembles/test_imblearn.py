"""Pipelines and forests of imbalanced-learn: what draws rows to train on is passed over in predictions."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import eifffel
from draws import roles
from eifffel import DiscriminationAwareForestClassifier, EiFFFeLClassifier, trace_path, view_ensemble
from eifffel.baselines import Reweighing
from eifffel.datasets import make_biased_classification
from eifffel.exceptions import ModelFileError, UnsupportedModelError
from eifffel.report import summarize

pytest.importorskip("imblearn")
from imblearn.ensemble import (
    BalancedBaggingClassifier,
    BalancedRandomForestClassifier,
    EasyEnsembleClassifier,
)
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.pipeline import Pipeline, make_pipeline
from imblearn.under_sampling import RandomUnderSampler

people = make_biased_classification(900, random_state=0)
X, y, s = people.data, people.target, people.sensitive
TYPES = ["imblearn.pipeline.Pipeline", "imblearn.over_sampling._random_over_sampler.RandomOverSampler"]


def forest():
    return RandomForestClassifier(8, max_depth=5, random_state=0, n_jobs=1)


def sampler():
    return RandomOverSampler(random_state=0)


PIPELINES = {
    "sampler": lambda: make_pipeline(sampler(), forest()),
    "scaler, sampler": lambda: make_pipeline(StandardScaler(), sampler(), forest()),
    "sampler, scaler": lambda: make_pipeline(sampler(), StandardScaler(), forest()),
    "two samplers": lambda: make_pipeline(
        SMOTE(random_state=0), StandardScaler(), RandomUnderSampler(random_state=0), forest()
    ),
    "passthrough": lambda: Pipeline([("skip", "passthrough"), ("draw", sampler()), ("forest", forest())]),
    "no sampler": lambda: make_pipeline(StandardScaler(), forest()),
    "in a threshold": lambda: FixedThresholdClassifier(
        make_pipeline(StandardScaler(), sampler(), forest()), threshold=0.6
    ),
}
FORESTS = {
    "BalancedRandomForestClassifier": lambda: BalancedRandomForestClassifier(8, max_depth=5, random_state=0),
    "BalancedBaggingClassifier": lambda: BalancedBaggingClassifier(
        DecisionTreeClassifier(max_depth=4), n_estimators=6, max_features=0.7, random_state=0
    ),
}


@pytest.mark.parametrize("name", PIPELINES | FORESTS)
def test_it_goes_in_and_comes_out(name):
    model = (PIPELINES | FORESTS)[name]().fit(X[:600], y[:600])
    before = model.predict_proba(X)
    path = trace_path(model, X[:600], y[:600], sensitive_features=s[:600], select_on=(X[600:], y[600:], s[600:]))
    held_out = model.predict(X[600:])
    rates = [held_out[s[600:] == group].mean() for group in roles(path)]
    assert abs(path.discrimination[0] - (rates[1] - rates[0])) < 1e-12
    choice = path.select(epsilon=0.05)
    edited = path.model_at(choice.step)
    assert type(edited) is type(model)
    changed = edited.predict(X[600:])
    rates = [changed[s[600:] == group].mean() for group in roles(path)]
    assert abs(choice.discrimination - (rates[1] - rates[0])) < 1e-12
    assert (changed != held_out).any()
    np.testing.assert_array_equal(model.predict_proba(X), before)
    np.testing.assert_array_equal(eifffel.undo(edited).predict_proba(X), before)
    told = summarize(edited, X[600:], y[600:], sensitive_features=s[600:], path=path, selection=choice)
    assert told.changed.rules


@pytest.mark.parametrize("name", PIPELINES)
def test_rules_have_the_names_of_columns(name):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=people.feature_names)
    model = PIPELINES[name]().fit(table, y)
    assert [column.name for column in view_ensemble(model).columns] == list(people.feature_names)
    path = trace_path(model, table, y, sensitive_features=s)
    assert any(column in str(path.rules(1)[0]) for column in people.feature_names)
    # Read by name, in any order.
    rows = table[table.columns[::-1]].assign(label=y, group=s)
    later = path.measure([rows[:300], rows[300:]], "label", "group")
    np.testing.assert_array_equal(later.counts.favorable, path.counts.favorable)


@pytest.mark.parametrize("name", PIPELINES)
def test_it_is_trained(name):
    clf = EiFFFeLClassifier(PIPELINES[name](), epsilon=0.05, random_state=0).fit(X, y, sensitive_features=s)
    rows = clf.selection_rows_
    decided = clf.predict(X[rows])
    rates = [decided[s[rows] == group].mean() for group in clf.path_.groups]
    assert abs(clf.selection_.discrimination - (rates[1] - rates[0])) < 1e-12
    assert abs(clf.selection_.discrimination) <= 0.05


def test_what_is_given_for_each_row_is_not_of_the_rows_that_are_drawn():
    message = "sample_weight is of the rows that are given, and the last step is trained on others, which RandomOverS"
    with pytest.raises(ValueError, match=message):
        EiFFFeLClassifier(PIPELINES["sampler"]()).fit(X, y, sensitive_features=s, sample_weight=1.0 + y)
    aware = make_pipeline(sampler(), DiscriminationAwareForestClassifier(3, random_state=0))
    with pytest.raises(ValueError, match=r"sensitive_features is of the rows that are given, .* leave the sampler out"):
        EiFFFeLClassifier(aware).fit(X, y, sensitive_features=s)
    with pytest.raises(
        ValueError, match=r"Reweighing computes is of the rows that are given, .* leave the sampler out"
    ):
        Reweighing(PIPELINES["sampler"]()).fit(X, y, sensitive_features=s)
    weight = 1.0 + y
    model = PIPELINES["sampler"]().fit(X, y)
    weighed = trace_path(model, X, y, sensitive_features=s, sample_weight=weight)
    assert weighed.counts.totals.sum() == weight.sum()


def test_types_are_named_to_save_and_to_load(tmp_path):
    pytest.importorskip("skops")
    model = PIPELINES["scaler, sampler"]().fit(X, y)
    path = trace_path(model, X, y, sensitive_features=s)
    edited = path.model_at(path.n_steps // 2)
    file = tmp_path / "model.skops"
    with pytest.raises(
        ModelFileError, match=r"RandomOverSampler, imblearn.pipeline.Pipeline, .* name what you trust in"
    ):
        eifffel.save(edited, file)
    eifffel.save(edited, file, trusted=TYPES)
    with pytest.raises(ModelFileError, match=r"RandomOverSampler, imblearn.pipeline.Pipeline, .* name it in trusted="):
        eifffel.load(file)
    loaded = eifffel.load(file, trusted=TYPES)
    np.testing.assert_array_equal(loaded.predict_proba(X), edited.predict_proba(X))
    np.testing.assert_array_equal(eifffel.undo(loaded).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", [name for name in PIPELINES | FORESTS if name != "in a threshold"])
def test_onnx_files_have_no_samplers(name):
    for library in ("onnx", "onnxruntime", "skl2onnx"):
        pytest.importorskip(library)
    model = (PIPELINES | FORESTS)[name]().fit(X, y)
    assert eifffel.verify_export(model, eifffel.to_onnx(model), X).n_rows == len(y)


def test_ensembles_of_other_ensembles_are_refused():
    model = EasyEnsembleClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(
        UnsupportedModelError, match="this EasyEnsembleClassifier bags AdaBoostClassifier; eifffel edits"
    ):
        trace_path(model, X, y, sensitive_features=s)
