"""What stands around an ensemble is exported with it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

onnx = pytest.importorskip("onnx")
skl2onnx = pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")

from exported import CLOSE_XGBOOST, GAPS, S, X, Y, assert_same, table  # noqa: E402

from eifffel import (  # noqa: E402
    DiscriminationAwareForestClassifier,
    EiFFFeLClassifier,
    UnsupportedModelError,
    to_onnx,
    verify_export,
)

forest, boosted = RandomForestClassifier(10, random_state=0), GradientBoostingClassifier(n_estimators=8)
scaled = make_pipeline(StandardScaler(), boosted)
AROUND = {
    "scaled": lambda: make_pipeline(StandardScaler(), forest).fit(X, Y),
    "several steps": lambda: make_pipeline(MinMaxScaler(), RobustScaler(), boosted).fit(X, Y),
    "a pipeline in a pipeline": lambda: make_pipeline(MinMaxScaler(), make_pipeline(StandardScaler(), forest)).fit(
        X, Y
    ),
    "zeros and ones": lambda: make_pipeline(Binarizer(threshold=0.25), forest).fit(X, Y),
    "imputed": lambda: make_pipeline(SimpleImputer(), StandardScaler(), boosted).fit(GAPS, Y),
    "a cut-off": lambda: FixedThresholdClassifier(scaled, threshold=0.3).fit(X, Y),
    "a cut-off of the first class": lambda: FixedThresholdClassifier(scaled, threshold=0.6, pos_label=0).fit(X, Y),
    "a cut-off of the score": lambda: FixedThresholdClassifier(
        scaled, threshold=-0.4, response_method="decision_function"
    ).fit(X, Y),
    "a cut-off of the first class's score": lambda: FixedThresholdClassifier(
        scaled, threshold=-0.4, pos_label=0, response_method="decision_function"
    ).fit(X, Y),
    "a cut-off in a pipeline": lambda: make_pipeline(
        StandardScaler(), FixedThresholdClassifier(forest, threshold=0.6)
    ).fit(X, Y),
    "a tuned cut-off": lambda: TunedThresholdClassifierCV(scaled, cv=2, random_state=0).fit(X, Y),
    "frozen": lambda: FrozenEstimator(scaled.fit(X, Y)),
    "discrimination-aware": lambda: DiscriminationAwareForestClassifier(8, random_state=0).fit(
        X, Y, sensitive_features=S
    ),
    "EiFFFeLClassifier": lambda: EiFFFeLClassifier(forest, epsilon=0.1, random_state=0).fit(X, Y, sensitive_features=S),
    "EiFFFeLClassifier in a pipeline": lambda: make_pipeline(
        StandardScaler(), EiFFFeLClassifier(forest, epsilon=0.1, random_state=0)
    ).fit(X, Y, eifffelclassifier__sensitive_features=S),
}


@pytest.mark.parametrize("kind", AROUND)
def test_what_stands_around(kind):
    model = AROUND[kind]()
    rows = GAPS if kind == "imputed" else X
    assert len(np.unique(model.predict(rows))) == 2
    assert_same(model, to_onnx(model), rows)


# Tables with names.


def strange(frame):
    """The same with categories that nobody had, and with all that can be missing missing."""
    frame = frame.copy()
    frame.loc[:20, "region"] = "elsewhere"
    frame.loc[10:40, "job"] = "pilot"
    frame.loc[30:60, "region"] = np.nan
    frame.loc[50:80, "income"] = np.nan
    frame.loc[70:90, "children"] = 17
    return frame


class Doubled(BaseEstimator, TransformerMixin):
    """A step of a user's own."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * np.asarray(X)

    def __sklearn_is_fitted__(self):
        return True


ENCODERS = {
    "one-hot": OneHotEncoder(handle_unknown="ignore"),
    "one-hot, rare ones together": OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=20),
    "one-hot, without the first": OneHotEncoder(handle_unknown="ignore", drop="first", sparse_output=False),
    "numbered": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
    "target": TargetEncoder(),
    "imputed, then one-hot": make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    ),
}


@pytest.mark.filterwarnings("ignore:Found unknown categories:UserWarning")
@pytest.mark.parametrize("rest", ["passthrough", "drop"])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_columns_by_name_without_being_shown_rows(encoder, rest):
    frame, y = table()
    encode = make_column_transformer(
        (ENCODERS[encoder], ["region", "job"]),
        ("drop", ["note"]),
        (OneHotEncoder(handle_unknown="ignore"), ["children"]),
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["income"]),
        remainder=rest,
    )
    model = make_pipeline(encode, RandomForestClassifier(10, min_samples_leaf=3, random_state=0)).fit(frame, y)
    exported = to_onnx(model)
    taken = [(value.name, value.type.tensor_type.elem_type) for value in exported.graph.input]
    kinds = {"region": onnx.TensorProto.STRING, "job": onnx.TensorProto.STRING}
    used = [name for name in frame.columns if name != "note" and (name != "age" or rest == "passthrough")]
    assert taken == [(name, kinds.get(name, onnx.TensorProto.DOUBLE)) for name in used]
    assert_same(model, exported, frame)
    assert_same(model, exported, strange(frame))


@pytest.mark.parametrize("name", ["rf", "extra-trees", "lightgbm", "xgboost", "catboost"])
def test_what_the_command_line_trains_without_being_shown_rows(name):
    for library in ("pandas", "typer", "altair", *((name,) if name not in ("rf", "extra-trees") else ())):
        pytest.importorskip(library)
    from eifffel.cli._features import as_trained
    from eifffel.cli._training import make_untrained

    frame, y = table()
    numbers, categories = ["income", "children", "age"], ["region", "job"]
    rows = as_trained(frame, numbers, categories)
    y = (y == "yes").astype(int) if name == "xgboost" else y
    model = make_untrained(name, rows, seed=0, jobs=1).fit(rows, y)
    exported = to_onnx(model)
    assert_same(model, exported, as_trained(strange(frame), numbers, categories), CLOSE_XGBOOST)


def test_names_of_columns_stay_as_they_are():
    frame, y = table()
    frame = frame.rename(columns={"age": "age, in years", "children": "age-in-years", "job": "Beruf (üblich)"})
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["Beruf (üblich)"]),
        (StandardScaler(), ["age-in-years", "age, in years"]),
    )
    model = make_pipeline(encode, RandomForestClassifier(10, random_state=0)).fit(frame, y)
    exported = to_onnx(model)
    assert {value.name for value in exported.graph.input} == {"age, in years", "age-in-years", "Beruf (üblich)"}
    assert_same(model, exported, frame)
    clash = make_pipeline(make_column_transformer((StandardScaler(), ["label"])), RandomForestClassifier(5))
    clash.fit(frame.rename(columns={"age-in-years": "label"}), y)
    with pytest.raises(UnsupportedModelError, match="a column is called 'label', as what the file gives; rename it"):
        to_onnx(clash)


def test_polars_frames_are_fed_too():
    polars = pytest.importorskip("polars")
    frame, y = table()
    numbers = make_column_transformer((StandardScaler(), ["age", "children"]))
    model = make_pipeline(numbers, RandomForestClassifier(5, random_state=0)).fit(frame, y)
    rows = polars.DataFrame({name: frame[name].tolist() for name in ("age", "children")})
    assert_same(model, to_onnx(model), rows)


def test_texts_alone_are_one_matrix():
    frame, y = table()
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), RandomForestClassifier(5, random_state=0))
    model.fit(frame[["region", "job"]], y)
    exported = to_onnx(model)
    assert [value.name for value in exported.graph.input] == ["X"]
    assert_same(model, exported, strange(frame)[["region", "job"]])


@pytest.mark.filterwarnings("ignore:Found unknown categories:UserWarning")
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_categories(data):
    pandas = pytest.importorskip("pandas")
    texts = st.sampled_from(["a", "b", "c", " ", "nan", "None", "é", None])
    column = st.lists(texts, min_size=30, max_size=30)
    frame = pandas.DataFrame({name: np.array(data.draw(column), object) for name in ("one", "two")})
    later = pandas.DataFrame({name: np.array(data.draw(column), object) for name in ("one", "two")})
    settings_ = {
        "min_frequency": data.draw(st.none() | st.integers(1, 10)),
        "drop": data.draw(st.sampled_from([None, "if_binary", "first"])),
        "handle_unknown": "infrequent_if_exist",
        "sparse_output": False,
    }
    encode = make_column_transformer((OneHotEncoder(**settings_), ["one", "two"]))
    encoded = encode.fit_transform(frame)
    if encoded.shape[1] == 0:
        return
    model = make_pipeline(encode, DecisionTreeClassifier(random_state=0)).fit(frame, np.arange(30) % 2)
    assert_same(model, to_onnx(model, frame), later)


def test_what_an_encoder_says_goes_before_what_rows_show():
    frame, y = table()
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["region"]), (StandardScaler(), ["age"]))
    model = make_pipeline(encode, RandomForestClassifier(5, random_state=0)).fit(frame, y)
    gone = frame.assign(region=np.nan)  # rows that happen to have no region look like numbers
    assert_same(model, to_onnx(model, gone), frame)


def test_rows_show_what_a_step_hides():
    frame, y = table()
    encode = make_column_transformer((Doubled(), ["age"]), (OneHotEncoder(handle_unknown="ignore"), ["region"]))
    model = make_pipeline(encode, RandomForestClassifier(5, random_state=0)).fit(frame, y)
    with pytest.raises(ValueError, match="whether the column 'age' holds numbers or texts"):
        to_onnx(model)
    # What is not known to skl2onnx either is refused by it, but the column is no longer the reason.
    with pytest.raises(UnsupportedModelError, match=r"skl2onnx cannot convert .*Doubled"):
        to_onnx(model, frame)


def test_a_step_that_hides_what_its_columns_are():
    frame, y = table()
    encode = make_column_transformer((FunctionTransformer(np.log1p), ["age"]), (StandardScaler(), ["children"]))
    model = make_pipeline(encode, RandomForestClassifier(5, random_state=0)).fit(frame, y)
    with pytest.raises(ValueError, match=r"whether the column 'age' holds numbers or texts .* pass rows as X"):
        to_onnx(model)
    with pytest.raises(ValueError, match=r"X must be a frame that names its columns, got ndarray"):
        to_onnx(model, frame.to_numpy())
    with pytest.raises(UnsupportedModelError, match=r"skl2onnx cannot convert the steps .*ColumnTransformer"):
        to_onnx(model, frame)  # it knows now, but skl2onnx does not know the function


# What is caught.


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
            r"\(KBinsDiscretizer\) in float32, and rows would be",
        ),
        (Normalizer(), "divides by zero where a Normalizer leaves rows of zeros alone; leave that step out"),
        (make_column_transformer((Normalizer(), [0, 1])), "divides by zero where a Normalizer leaves rows of zeros"),
    ],
)
def test_steps_that_skl2onnx_converts_wrongly_are_refused(step, message):
    with pytest.raises(UnsupportedModelError, match=message):
        to_onnx(make_pipeline(step, RandomForestClassifier(5, random_state=0)).fit(X, Y))


@pytest.mark.parametrize("scaled", [False, True])
def test_zeros_that_a_sparse_encoder_does_not_store_are_missing_for_xgboost(scaled):
    pandas = pytest.importorskip("pandas")
    xgboost = pytest.importorskip("xgboost")
    random = np.random.default_rng(0)
    frame = pandas.DataFrame({"region": random.choice([*"abcdefgh"], 800), "income": random.normal(size=800)})
    frame.loc[random.random(800) < 0.5, "income"] = 0.0
    label = ((frame["region"] < "d") ^ (frame["income"] == 0)).astype(int)
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["region"]), remainder="passthrough")
    steps = [encode, MaxAbsScaler()] if scaled else [encode]
    model = make_pipeline(*steps, xgboost.XGBClassifier(n_estimators=10)).fit(frame, label)
    assert encode.sparse_output_
    dense = make_pipeline(*model.named_steps.values())[:-1].transform(frame).toarray()
    assert (model[-1].predict_proba(dense) != model.predict_proba(frame)).any(), "zeros that are stored are numbers"
    assert verify_export(model, to_onnx(model), frame).n_rows == 800


def test_a_category_that_an_encoder_refuses_is_none_of_those_it_knows():
    pandas = pytest.importorskip("pandas")
    onnxruntime = pytest.importorskip("onnxruntime")
    frame = pandas.DataFrame({"region": np.random.default_rng(0).choice([*"abc"], 500)})
    label = (frame["region"] == "a").astype(int)
    for encoder in (OrdinalEncoder(), OneHotEncoder(drop="first"), OneHotEncoder()):
        encode = make_column_transformer((encoder, ["region"]))
        model = make_pipeline(encode, RandomForestClassifier(5, random_state=0)).fit(frame, label)
        session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
        texts = np.array([["a"], ["elsewhere"]], object)
        known, unknown = session.run(["probabilities"], {"region": texts})[0]
        assert known[1] == 1
        assert unknown[1] < 1, "not the first"


def test_a_column_may_be_called_as_the_matrix_is():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["X", *(f"x{k}" for k in range(1, X.shape[1]))])
    forest = RandomForestClassifier(5, random_state=0).fit(frame, Y)
    assert verify_export(forest, to_onnx(forest), frame).n_rows == len(X)


def test_steps_that_do_nothing_and_rows_in_lists():
    model = Pipeline([("nothing", "passthrough"), ("scale", StandardScaler()), ("none", None), ("forest", forest)])
    model.fit(X, Y)
    assert verify_export(model, to_onnx(model), X.tolist()).n_rows == len(X)
