"""Features of tables that are read by name: a table in another order gives the same path or an error, never another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import eifffel
from eifffel import trace_path
from eifffel.datasets import make_biased_classification
from eifffel.report import summarize

pd = pytest.importorskip("pandas")

people = make_biased_classification(600, random_state=0)
X, y, s = people.data, people.target, np.where(people.sensitive == 1, "m", "f")
FEATURES = [f"f{k}" for k in range(X.shape[1])]
TABLE = pd.DataFrame(X, columns=FEATURES).assign(label=y, sex=s)
NAMES = {"y": "label", "sensitive_features": "sex"}


def of(library, name, **options):
    return getattr(pytest.importorskip(library), name)(**options)


def scaled():
    return make_pipeline(StandardScaler(), forest())


def forest():
    return RandomForestClassifier(5, max_depth=4, random_state=0, n_jobs=1)


def lightgbm():
    return of("lightgbm", "LGBMClassifier", n_estimators=4, verbose=-1, n_jobs=1)


def xgboost():
    return of("xgboost", "XGBClassifier", n_estimators=4, n_jobs=1)


def catboost():
    options = {"iterations": 4, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    return of("catboost", "CatBoostClassifier", **options)


# Models of each kind, from the features that they are trained on; names that a step inside makes up say nothing.
MODELS = {
    "forest": lambda X: forest().fit(X, y),
    "pipeline": lambda X: scaled().fit(X, y),
    "pipeline whose steps name columns": lambda X: scaled().set_output(transform="pandas").fit(X, y),
    "threshold": lambda X: FixedThresholdClassifier(scaled(), threshold=0.4).fit(X, y),
    "LGBMClassifier": lambda X: lightgbm().fit(X, y),
    "LightGBM's Booster": lambda X: lightgbm().fit(X, y).booster_,
    "XGBClassifier": lambda X: xgboost().fit(X, y),
    "XGBoost's Booster": lambda X: xgboost().fit(X, y).get_booster(),
    "CatBoostClassifier": lambda X: catboost().fit(X, y),
}


def counts(path):
    return [path.counts.favorable.tolist(), path.leaf_counts.counts.tolist()]


def forms(table, tmp_path):
    """A table as each thing that is read by name."""
    pytest.importorskip("pyarrow")
    table.to_parquet(tmp_path / "table.parquet")
    yield tmp_path / "table.parquet"
    yield [table[:200], table[200:]]
    yield lambda: iter([table])


@pytest.mark.parametrize("model", MODELS)
def test_a_model_without_names_asks_for_them(model, tmp_path):
    made = MODELS[model](X)
    expected = trace_path(made, X, y, sensitive_features=s)
    for rows in forms(TABLE[["sex", *FEATURES[::-1], "label"]], tmp_path):
        with pytest.raises(ValueError, match=r"does not know the names of its columns.*features=\['age', 'income'\]"):
            trace_path(made, rows, **NAMES)
        with pytest.raises(ValueError, match="does not know the names of its columns"):
            trace_path(made, X, y, sensitive_features=s, select_on=(rows, "label", "sex"))
        with pytest.raises(ValueError, match="does not know the names of its columns"):
            expected.measure(rows, "label", "sex")
        later = expected.measure(rows, "label", "sex", features=FEATURES)
        assert later.counts.favorable.sum(axis=(1, 2)).tolist() == expected.counts.favorable.sum(axis=(1, 2)).tolist()
        chosen = trace_path(
            made, X, y, sensitive_features=s, select_on=(rows, "label", "sex"), features=FEATURES, strategy="auto"
        )
        assert chosen.counts.favorable[0].tolist() == expected.counts.favorable[0].tolist()
    # In memory it is taken by place, as scikit-learn does, and by name where names are given.
    assert counts(trace_path(made, TABLE, **NAMES)) == counts(expected)
    assert counts(trace_path(made, TABLE[["sex", *FEATURES[::-1], "label"]], **NAMES, features=FEATURES)) == counts(
        expected
    )


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_the_order_of_a_table_changes_no_path(data):
    """Of models that know names, are given them, or know places and get numbers; columns may be more than they take."""
    kind = data.draw(st.sampled_from(["named", "given", "numbered"]), label="names")
    called = [str(k) for k in range(X.shape[1])] if kind == "numbered" else FEATURES
    table = TABLE.rename(columns=dict(zip(FEATURES, called, strict=True))).assign(other=np.arange(len(y)))
    trained_on = table[called] if kind == "named" else X
    model = forest().fit(trained_on, y)
    expected = trace_path(model, trained_on, y, sensitive_features=s)
    table = table[data.draw(st.permutations(table.columns.tolist()), label="order")]
    places = data.draw(st.lists(st.integers(1, len(y) - 1), max_size=2).map(sorted), label="batches")
    batches = [table[low:high] for low, high in zip([0, *places], [*places, None], strict=True)]
    got = trace_path(model, batches, **NAMES, features=called if kind == "given" else None)
    assert counts(got) == counts(expected)


def test_names_that_are_given_must_be_those_that_the_model_knows():
    model = forest().fit(TABLE[FEATURES], y)
    same = trace_path(model, [TABLE], **NAMES, features=FEATURES)
    assert counts(same) == counts(trace_path(model, [TABLE], **NAMES))
    with pytest.raises(ValueError, match=r"features names 'f9', .* was trained on 'f0', .*; leave it out"):
        trace_path(model, [TABLE], **NAMES, features=FEATURES[::-1])


# LightGBM writes underscores for blanks.

DUMMIES = ["job type_self employed", "age <30", "plain", *[f"f {k}" for k in range(3, X.shape[1])]]
WITH_BLANKS = pd.DataFrame(X, columns=DUMMIES).assign(label=y, sex=s)
OF_LIGHTGBM = {
    "LGBMClassifier": lambda table: lightgbm().fit(table, y),
    "Booster": lambda table: lightgbm().fit(table, y).booster_,
    "in a threshold": lambda table: FixedThresholdClassifier(lightgbm(), threshold=0.5).fit(table, y),
    "in a pipeline": lambda table: make_pipeline(StandardScaler().set_output(transform="pandas"), lightgbm()).fit(
        table, y
    ),
}


@pytest.mark.parametrize("model", OF_LIGHTGBM)
@pytest.mark.filterwarnings("ignore:Found whitespace in feature_names")
def test_lightgbm_on_columns_with_blanks(model, tmp_path):
    made, plain = OF_LIGHTGBM[model](WITH_BLANKS[DUMMIES]), OF_LIGHTGBM[model](TABLE[FEATURES])
    path = trace_path(made, WITH_BLANKS[DUMMIES], y, sensitive_features=s)
    expected = trace_path(plain, TABLE[FEATURES], y, sensitive_features=s)
    assert counts(path) == counts(expected)
    assert counts(trace_path(made, WITH_BLANKS, **NAMES)) == counts(path)
    mixed = WITH_BLANKS[["sex", *DUMMIES[::-1], "label"]].assign(other=1)
    for rows in forms(mixed, tmp_path):
        later = path.measure(rows, "label", "sex")
        assert later.counts.favorable[0].tolist() == path.counts.favorable[0].tolist()
    with pytest.warns(eifffel.SeenRowsWarning):
        choice = path.select(epsilon=0.05)
    edited = path.model_at(choice.step)
    told = summarize(edited, WITH_BLANKS[DUMMIES], y, sensitive_features=s, path=path, selection=choice)
    rules = " ".join(rule.rule for rule in told.changed.rules)
    assert any(name in rules for name in DUMMIES if " " in name), rules
    pytest.importorskip("skops")
    eifffel.save(edited, tmp_path / "model.skops")
    loaded = eifffel.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict(WITH_BLANKS[DUMMIES]), edited.predict(WITH_BLANKS[DUMMIES]))
    wrong = WITH_BLANKS[DUMMIES[::-1]]
    with pytest.raises(Exception, match=r"(?i)expected|same order"):
        trace_path(made, wrong, y, sensitive_features=s)


@pytest.mark.filterwarnings("ignore:Found whitespace in feature_names")
def test_two_columns_that_lightgbm_would_call_the_same():
    model = lightgbm().fit(WITH_BLANKS[DUMMIES], y)
    both = WITH_BLANKS.assign(f_3=0.0)
    with pytest.raises(ValueError, match=r"on the column 'f_3', as LightGBM writes it, .* has 'f 3', 'f_3'; say"):
        trace_path(model, [both], **NAMES)
    expected = counts(trace_path(model, [WITH_BLANKS], **NAMES))
    assert counts(trace_path(model, [both], **NAMES, features=DUMMIES)) == expected


@pytest.mark.filterwarnings("ignore:Found whitespace in feature_names")
@pytest.mark.parametrize("model", ["LGBMClassifier", "in a threshold"])
def test_lightgbm_on_columns_with_blanks_is_exported(model):
    for library in ("onnx", "onnxruntime"):
        pytest.importorskip(library)
    made = OF_LIGHTGBM[model](WITH_BLANKS[DUMMIES])
    checked = eifffel.verify_export(made, eifffel.to_onnx(made), WITH_BLANKS[DUMMIES])
    assert checked.n_rows == len(y)


def test_blanks_are_lost_by_lightgbm_alone():
    model = forest().fit(WITH_BLANKS[DUMMIES].rename(columns=lambda name: name.replace(" ", "_")), y)
    with pytest.raises(ValueError, match="the model was trained on the column 'job_type_self_employed', and the table"):
        trace_path(model, [WITH_BLANKS], **NAMES)


def test_names_that_are_digits_are_names():
    years = ["2019", "2020", "2021"]
    spent = pd.DataFrame(X[:, :3], columns=years)
    model = forest().fit(spent, y)
    table = spent.assign(label=y, sex=s)
    whole = counts(trace_path(model, table, **NAMES))
    assert counts(trace_path(model, [table[["2021", "label", "2019", "sex", "2020"]]], **NAMES)) == whole
    lost = table.drop(columns="2019").assign(code=X[:, 3])
    for lacking in (lost, [lost]):
        with pytest.raises(ValueError, match="the model was trained on the column '2019', and the table has '2020'"):
            trace_path(model, lacking, **NAMES)
    with pytest.raises(ValueError, match="features names '2021', '2020', '2019', and the model was trained on '2019'"):
        trace_path(model, [table], **NAMES, features=years[::-1])
