"""What the columns that reach an ensemble were made from."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from eifffel import trace_path, view_ensemble
from eifffel.ensembles._columns import INFREQUENT
from eifffel.rules import Bound, Rule

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
    refused = tuple(Bound(k, column, -np.inf, 0.5, False) for k, column in enumerate(columns))
    assert Rule(0, 0, refused[:2], "").words() == "job is neither clerk nor cook"
    assert Rule(0, 0, refused, "").words(brief=True) == "job is none of clerk, cook, judge, 'rare 1' and 'rare 2'"
    wanted = Bound(2, columns[2], 0.5, np.inf, False)
    assert Rule(0, 0, (*refused[:2], wanted), "").words() == "job is judge"
    many = tuple(Bound(k, columns[0].__class__(f"j{k}", "job", f"j{k}"), -np.inf, 0.5, False) for k in range(9))
    assert Rule(0, 0, many, "").words(brief=True) == "job is none of j0, j1, j2, j3 and 5 others"
    age = Bound(0, columns[0].__class__("age", "age"), 1234567.8, np.inf, True)
    assert Rule(0, 0, (age,), "").words(lambda feature: False, brief=True) == "age > 1,235,000"
    assert Rule(0, 0, (age,), "").words(brief=True) == "(age > 1,235,000 or missing)"
