"""What the columns that reach an ensemble were made from."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from eifffel import trace_path, view_ensemble
from eifffel.edits.rules import Condition, Rule
from eifffel.ensembles._columns import INFREQUENT, Column

pandas = pytest.importorskip("pandas")
RANDOM = np.random.default_rng(0)
FRAME = pandas.DataFrame(
    {
        "age": RANDOM.normal(40, 10, 400),
        "job": np.array(["clerk", "cook", "judge", "rare 1", "rare 2"], object)[
            RANDOM.choice(5, 400, p=[0.4, 0.3, 0.26, 0.02, 0.02])
        ],
        "town": np.array(["A", "B", None], object)[RANDOM.choice(3, 400)],
    }
)
LABEL = (FRAME["age"] + 10 * (FRAME["job"] == "judge") + RANDOM.normal(0, 5, 400) > 42).astype(int)


def fitted(*steps):
    return make_pipeline(*steps, RandomForestClassifier(5, min_samples_leaf=5, random_state=0)).fit(FRAME, LABEL)


@pytest.mark.parametrize(
    ("options", "jobs"),
    [
        ({}, ["clerk", "cook", "judge", "rare 1", "rare 2"]),
        ({"min_frequency": 20}, ["clerk", "cook", "judge", INFREQUENT]),
        ({"drop": "first"}, ["cook", "judge", "rare 1", "rare 2"]),
        ({"min_frequency": 20, "drop": ["cook", "A"]}, ["clerk", "judge", INFREQUENT]),
    ],
)
@pytest.mark.parametrize("verbose", [True, False])
def test_a_column_transformer_tells_source_and_category(options, jobs, verbose):
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore", **options), ["job", "town"]),
        (StandardScaler(), ["age"]),
        verbose_feature_names_out=verbose,
    )
    model = fitted(encoder)
    columns = view_ensemble(model).columns
    assert [column.name for column in columns] == list(model[0].get_feature_names_out())
    assert [column.category for column in columns if column.source == "job"] == jobs
    assert [(column.source, column.category) for column in columns][-1] == ("age", None)
    assert columns[-1].shown == columns[-1].name, "its numbers are not those of the table"
    # The encoder itself says where each category stands.
    encoded = model[0].transform(FRAME)
    for k, column in enumerate(columns):
        if column.source == "job" and column.category != INFREQUENT:
            np.testing.assert_array_equal(encoded[:, k] == 1, FRAME["job"] == column.category)


def test_what_is_not_known_keeps_its_name():
    model = fitted(make_column_transformer((OneHotEncoder(), ["job"]), ("drop", ["town"]), remainder="passthrough"))
    assert [column.source for column in view_ensemble(model).columns][-1] == "age"
    forest = RandomForestClassifier(3, random_state=0).fit(FRAME[["age"]], LABEL)
    assert [(column.name, column.source) for column in view_ensemble(forest).columns] == [("age", "age")]


def test_rules_speak_of_the_table():
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["job"]), remainder="drop", verbose_feature_names_out=True
    )
    model = fitted(encoder)
    group = (FRAME["age"] > 40).astype(int)
    path = trace_path(model, FRAME, LABEL, sensitive_features=group)
    texts = {str(rule).partition(":")[0] for rule in path.rules(path.n_steps)}
    assert any("job is n" in text for text in texts)
    assert not any("onehotencoder__" in text for text in texts)
    for rule in path.rules(path.n_steps):
        inside = rule.matches(model[0].transform(FRAME))
        for job in FRAME["job"].unique():
            says = rule.words() in (f"job is {job}", f"job is {job!r}")
            assert not says or set(FRAME["job"][inside]) <= {job}


def test_one_value_rules_the_others_out_and_long_lists_are_cut():
    columns = view_ensemble(fitted(make_column_transformer((OneHotEncoder(sparse_output=False), ["job"])))).columns
    refused = tuple(Condition(k, column, -np.inf, 0.5, False) for k, column in enumerate(columns))
    assert Rule(0, 0, refused[:2], "").words() == "job is neither clerk nor cook"
    assert Rule(0, 0, refused, "").words(brief=True) == "job is none of clerk, cook, judge, 'rare 1' and 'rare 2'"
    wanted = Condition(2, columns[2], 0.5, np.inf, False)
    assert Rule(0, 0, (*refused[:2], wanted), "").words() == "job is judge"
    many = tuple(Condition(k, Column(f"j{k}", "job", f"j{k}"), -np.inf, 0.5, False) for k in range(9))
    assert Rule(0, 0, many, "").words(brief=True) == "job is none of j0, j1, j2, j3 and 5 others"
    age = Condition(0, Column("age", "age"), 1234567.8, np.inf, True)
    assert Rule(0, 0, (age,), "").words(lambda feature: False, brief=True) == "age > 1,234,567.8"
    assert Rule(0, 0, (age,), "").words(brief=True) == "(age > 1,234,567.8 or missing)"


def test_what_the_steps_make_of_columns():
    numbers, words = ["age"], ["job", "town"]
    one_hot = OneHotEncoder(sparse_output=False)
    cases = {
        "passthrough": ("passthrough", numbers, [("age", None, True)]),
        "imputed": (SimpleImputer(), numbers, [("age", None, True)]),
        "scaled": (StandardScaler(), numbers, [("age", None, False)]),
        "imputed and scaled": (make_pipeline(SimpleImputer(), StandardScaler()), numbers, [("age", None, False)]),
        "turned": (PCA(1), numbers, [(None, None, True)]),
        "numbered": (OrdinalEncoder(), words, [("job", None, False), ("town", None, False)]),
    }
    for name, (step, given, expected) in cases.items():
        columns = view_ensemble(fitted(make_column_transformer((step, given)))).columns
        assert [(column.source, column.category, column.as_given) for column in columns] == expected, name
    inner = make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot)
    columns = view_ensemble(fitted(make_column_transformer((inner, ["job"])))).columns
    assert (columns[0].source, columns[0].category) == ("job", "clerk")
    twice = fitted(make_column_transformer((one_hot, words), ("passthrough", numbers)), StandardScaler())
    assert {column.source for column in view_ensemble(twice).columns} == {None}


def test_a_missing_category_has_a_name():
    columns = view_ensemble(fitted(make_column_transformer((OneHotEncoder(sparse_output=False), ["town"])))).columns
    assert [column.category for column in columns] == ["A", "B", "missing"]


def test_rounding_does_not_empty_a_rule():
    date = Column("date", "date")
    assert Condition(0, date, 20230105.5, 20230110.5, False).words(missing=False, brief=True) == (
        "20,230,105.5 < date <= 20,230,110.5"
    )
    assert (
        Condition(0, date, 0.123441, 0.123449, False).words(missing=False, brief=True) == "0.123441 < date <= 0.123449"
    )
    assert Condition(0, date, -np.inf, 3.14159, False).words(missing=False, brief=True) == "date <= 3.142"
