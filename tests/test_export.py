"""Exported models decide as the models do; what does not is caught, or refused beforehand."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

onnx = pytest.importorskip("onnx")
skl2onnx = pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")

from boosters import BOOSTED, as_words  # noqa: E402
from eifffel import (  # noqa: E402
    DiscriminationAwareForestClassifier,
    EiFFFeLClassifier,
    ExportMismatchError,
    ModelFileError,
    UnsupportedModelError,
    to_onnx,
    trace_path,
    verify_export,
    view_ensemble,
)
from eifffel.datasets import make_biased_classification  # noqa: E402

# Half of what float32 tells apart below 1, and three times that for XGBoost, whose own probabilities are float32.
CLOSE, CLOSE_XGBOOST = 3e-8, 2e-7
PEOPLE = make_biased_classification(500, random_state=0)
X, Y, S = PEOPLE.data, PEOPLE.target, PEOPLE.sensitive
GAPS = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)

AVERAGED = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "extra tree": ExtraTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(10, random_state=0),
    "forest, large leaves": RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
    "extra trees": ExtraTreesClassifier(9, min_samples_leaf=2, random_state=0),
    "bagging": BaggingClassifier(n_estimators=8, max_samples=40, max_features=0.5, random_state=0),
}
MODELS = {name: (lambda X, y, model=model: model.fit(X, y)) for name, model in AVERAGED.items()}
MODELS |= {name: fit for name, fit in BOOSTED.items() if not name.startswith("histograms")}
TAKES_GAPS = [name for name in MODELS if not name.startswith("gradient boosting")]


def thresholds_of(exported):
    attributes = [attribute for node in exported.graph.node for attribute in node.attribute]
    splits = [onnx.numpy_helper.to_array(item.t) for item in attributes if item.name == "nodes_splits"]
    return np.unique(np.concatenate(splits).astype(np.float64))


def at_thresholds(exported, n_rows=1500, n_features=X.shape[1]):
    """Rows whose values are thresholds of the model, or as near to one as float32 and float64 allow."""
    random = np.random.default_rng(1)
    near = thresholds_of(exported)
    near = random.choice(near[np.abs(near) < 1e37], (n_rows, n_features))
    as_float = near.astype(np.float32)
    ways = [
        near,
        np.nextafter(near, np.inf),
        np.nextafter(near, -np.inf),
        np.nextafter(as_float, np.float32(np.inf)).astype(np.float64),
        np.nextafter(as_float, np.float32(-np.inf)).astype(np.float64),
        (near + np.nextafter(as_float, np.float32(np.inf))) / 2,  # where rounding to float32 turns
    ]
    return np.choose(random.integers(0, len(ways), near.shape), ways)


def edited(model, X, y=Y):
    """The model of a step halfway along its path, with leaves that differ."""
    path = trace_path(model, X, y, sensitive_features=S)
    return path.model_at(len(path.discrimination) // 2)


def assert_same(model, exported, rows, tolerance=CLOSE):
    """All labels, and all probabilities to what float32 tells apart."""
    check = verify_export(model, exported, rows, tolerance=tolerance)
    assert check.n_rows == len(rows)
    assert check.largest_difference <= tolerance
    return check


@pytest.mark.filterwarnings("ignore::eifffel.IndistinctGroupsWarning", "ignore::eifffel.NarrowProbabilitiesWarning")
@pytest.mark.parametrize("name", MODELS)
def test_an_edited_model_decides_the_same_on_its_rows_and_on_thresholds(name):
    model = edited(MODELS[name](X, Y), X)
    exported = to_onnx(model)
    tolerance = CLOSE_XGBOOST if name.startswith("xgboost") else CLOSE
    assert_same(model, exported, X, tolerance)
    assert_same(model, exported, at_thresholds(exported), tolerance)
    given = [(value.name, value.type.tensor_type.elem_type) for value in exported.graph.input]
    assert given == [("X", onnx.TensorProto.DOUBLE)]
    assert [value.name for value in exported.graph.output] == ["label", "probabilities"]


@pytest.mark.parametrize("name", TAKES_GAPS)
def test_missing_values_go_where_the_model_sends_them(name):
    model = MODELS[name](GAPS, Y)
    exported = to_onnx(model)
    rows = at_thresholds(exported)
    rows[np.random.default_rng(2).random(rows.shape) < 0.2] = np.nan
    tolerance = CLOSE_XGBOOST if name.startswith("xgboost") else CLOSE
    assert_same(model, exported, np.concatenate([GAPS, rows]), tolerance)


@pytest.mark.parametrize("name", ["forest", "lightgbm", "xgboost", "catboost"])
def test_values_missing_only_later(name):
    if name not in MODELS:
        pytest.skip(f"{name} is not installed")
    model = MODELS[name](X, Y)
    assert_same(model, to_onnx(model), GAPS, CLOSE_XGBOOST)


def test_what_is_zero_for_lightgbm():
    if "lightgbm" not in MODELS:
        pytest.skip("lightgbm is not installed")
    random = np.random.default_rng(0)
    signs = random.integers(-1, 2, (500, 4)).astype(float)
    model = MODELS["lightgbm"](signs, (signs.sum(axis=1) + random.normal(size=500) > 0).astype(int))
    exported = to_onnx(model)
    zero = float(np.float32(1e-35))
    assert np.abs(np.abs(thresholds_of(exported)) - zero).min() < 1e-45, "it splits there"
    near = [0, zero, -zero, np.nextafter(zero, 1), np.nextafter(-zero, -1), np.nextafter(-zero, 0), 1e-36, -1e-36]
    assert_same(model, exported, random.choice(near, (1000, 4)))


@pytest.mark.parametrize("treatment", ["Min", "Max"])
def test_where_catboost_sends_missing_values(treatment):
    if "catboost" not in MODELS:
        pytest.skip("catboost is not installed")
    from boosters import cat

    model = cat(nan_mode=treatment)(GAPS, Y)
    assert_same(model, to_onnx(model), GAPS)


@settings(max_examples=25, deadline=None)
@given(n_trees=st.integers(1, 30), seed=st.integers(0, 1000))
def test_no_root_looks_like_a_leaf(n_trees, seed):
    """A split and a leaf below a root never have the same number, which onnxruntime 1.21 to 1.23 take for one leaf."""
    rows = slice(seed % 400, seed % 400 + 100)
    forest = RandomForestClassifier(n_trees, max_leaf_nodes=4, random_state=seed).fit(X[rows], np.arange(100) % 2)
    for node in to_onnx(forest).graph.node:
        if node.op_type == "TreeEnsemble":
            parts = {item.name: np.array(item.ints) for item in node.attribute}
            roots = parts["tree_roots"]
            mixed = parts["nodes_trueleafs"][roots] != parts["nodes_falseleafs"][roots]
            same = parts["nodes_truenodeids"][roots] == parts["nodes_falsenodeids"][roots]
            assert not (mixed & same).any()


@pytest.mark.parametrize("n_trees", [2, 6, 10, 14, 22, 100])
def test_exact_ties_are_decided_as_the_forest_does(n_trees):
    forest = RandomForestClassifier(n_trees, random_state=0).fit(X[:200], Y[:200])  # leaves are 0 or 1
    rows = X[200:]
    tied = forest.predict_proba(rows)[:, 1] == 0.5
    assert tied.any(), "no test without ties"
    assert_same(forest, to_onnx(forest), rows)
    # At a cut-off that sums reach exactly, such as 3 of 10 trees.
    for cut in (0.3, 0.5, 0.7, 1 / n_trees):
        for label in (0, 1):
            strict = FixedThresholdClassifier(FrozenEstimator(forest), threshold=cut, pos_label=label).fit(X, Y)
            assert_same(strict, to_onnx(strict), rows)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_numbers(data):
    """A forest on few values, whose thresholds and leaves coincide, and rows of any float64."""
    n_trees = data.draw(st.integers(1, 6))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    few = random.choice([0.1, 0.2, 0.3, 1e-20, -1e30, 0.1 + 1e-8], (40, 3))
    labels = random.permutation(np.arange(40) % 2)
    forest = RandomForestClassifier(n_trees, max_leaf_nodes=4, random_state=0).fit(few, labels)
    numbers = st.floats(-1e38, 1e38) | st.sampled_from(few.ravel().tolist())
    rows = data.draw(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=20))
    assert_same(forest, to_onnx(forest), np.array(rows))


LABELS = {
    "words": as_words,
    "truth values": lambda y: y == 1,
    "signs": lambda y: 2 * y - 1,
    "numbers with a point": lambda y: y.astype(float),
    "small integers": lambda y: y.astype(np.uint8),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", ["forest", "gradient boosting", "lightgbm", "catboost"])
def test_labels_of_any_kind(name, kind):
    if name not in MODELS:
        pytest.skip(f"{name} is not installed")
    labels = LABELS[kind](Y)
    model = MODELS[name](X, labels)
    exported = to_onnx(model)
    assert_same(model, exported, X)
    import onnxruntime

    given = onnxruntime.InferenceSession(exported.SerializeToString()).run(["label"], {"X": X[:50]})[0]
    assert given.tolist() == model.predict(X[:50]).ravel().tolist()


forest, boosted = RandomForestClassifier(10, random_state=0), GradientBoostingClassifier(n_estimators=8)
scaled = make_pipeline(StandardScaler(), boosted)
AROUND = {
    "scaled": lambda: make_pipeline(StandardScaler(), forest).fit(X, Y),
    "several steps": lambda: make_pipeline(MinMaxScaler(), RobustScaler(), boosted).fit(X, Y),
    "a pipeline in a pipeline": lambda: make_pipeline(MinMaxScaler(), make_pipeline(StandardScaler(), forest)).fit(
        X, Y
    ),
    "bins": lambda: make_pipeline(KBinsDiscretizer(4, encode="ordinal", strategy="uniform"), forest).fit(X, Y),
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

REGIONS = np.array(["north", "south", "east", "west", "a rare one", np.nan], object)


def table(n_rows=500, seed=0):
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(seed)
    place = random.choice(len(REGIONS), n_rows, p=[0.3, 0.3, 0.2, 0.1, 0.01, 0.09])
    columns = {
        "income": np.where(random.random(n_rows) < 0.1, np.nan, random.normal(30, 9, n_rows)),
        "region": REGIONS[place],
        "children": random.integers(0, 4, n_rows),
        "age": random.integers(18, 80, n_rows),
        "job": random.choice(["clerk", "nurse", "cook"], n_rows),
        "note": "not used",
    }
    frame = pandas.DataFrame(columns)
    return frame, as_words((frame["age"] + 10 * (frame["region"] == "north") + random.normal(0, 15, n_rows)) > 50)


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
    from eifffel.cli._training import as_trained, train

    frame, y = table()
    numbers, categories = ["income", "children", "age"], ["region", "job"]
    rows = as_trained(frame, numbers, categories)
    y = (y == "yes").astype(int) if name == "xgboost" else y
    model = train(name, rows, y, seed=0, jobs=1, done=lambda part: None)
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


def attribute_of(exported, name):
    return next(item for node in exported.graph.node for item in node.attribute if item.name == name)


def test_a_forest_on_missing_values_that_skl2onnx_converts_wrongly_is_caught():
    forest = RandomForestClassifier(10, random_state=0).fit(GAPS, Y)
    types = [("X", skl2onnx.common.data_types.FloatTensorType([None, X.shape[1]]))]
    theirs = skl2onnx.convert_sklearn(forest, initial_types=types, options={"zipmap": False})
    if any(attribute_of(theirs, "nodes_missing_value_tracks_true").ints):
        pytest.skip("this skl2onnx writes where missing values go")
    with pytest.raises(
        ExportMismatchError, match=r"must not be deployed: of 500 rows .* all hold missing values"
    ) as told:
        verify_export(forest, theirs, GAPS)
    wrong = told.value.rows
    assert np.isnan(GAPS[wrong]).any(axis=1).all()
    assert 0 < len(wrong) < 500
    whole = GAPS[~np.isnan(GAPS).any(axis=1)]
    assert verify_export(forest, theirs, whole).n_rows == len(whole) > 0, "rows without gaps do not show it"
    assert_same(forest, to_onnx(forest), GAPS)


def test_the_rows_that_differ_are_named():
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
    exported = to_onnx(tree)
    leaf = tree.apply(X)
    # The leaves of our file come in the order of the nodes.
    weights = [item for node in exported.graph.node for item in node.attribute if item.name == "leaf_weights"]
    values = onnx.numpy_helper.to_array(weights[0].t).copy()
    values[2] += 1e-3
    weights[0].t.CopyFrom(onnx.numpy_helper.from_array(values))
    changed = np.flatnonzero(leaf == np.unique(leaf)[2])
    assert len(changed) > 10
    with pytest.raises(ExportMismatchError) as told:
        verify_export(tree, exported, X)
    assert told.value.rows.tolist() == changed.tolist()
    said = str(told.value)
    assert f"0 have another label and {len(changed)} other probabilities, by up to 0.001." in said
    assert f"are {', '.join(map(str, changed[:10]))}, ...; none of them holds missing values" in said
    assert verify_export(tree, exported, X, tolerance=0.01).largest_difference == pytest.approx(1e-3, rel=1e-3)


def test_labels_that_differ_count_whatever_the_tolerance():
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    turned = RandomForestClassifier(5, random_state=0).fit(X, 1 - Y)
    with pytest.raises(ExportMismatchError, match=r"of 500 rows 500 have another label") as told:
        verify_export(forest, to_onnx(turned), X, tolerance=0.999999)
    assert len(told.value.rows) == 500
    words = RandomForestClassifier(5, random_state=0).fit(X, as_words(Y))
    with pytest.raises(ExportMismatchError, match=r"500 have another label and 0 other probabilities"):
        verify_export(forest, to_onnx(words), X)


def test_rows_in_many_batches(monkeypatch):
    monkeypatch.setattr("eifffel.export._verify.ROWS_AT_A_TIME", 7)
    forest = RandomForestClassifier(5, random_state=0).fit(GAPS, Y)
    exported = to_onnx(forest)
    assert_same(forest, exported, GAPS)
    gaps = [item for node in exported.graph.node for item in node.attribute if "missing_value" in item.name]
    for item in gaps:
        item.ints[:] = [1 - k for k in item.ints]
    with pytest.raises(ExportMismatchError) as told:
        verify_export(forest, exported, GAPS)
    monkeypatch.undo()
    with pytest.raises(ExportMismatchError) as at_once:
        verify_export(forest, exported, GAPS)
    assert told.value.rows.tolist() == at_once.value.rows.tolist()


def test_files_and_bytes(tmp_path):
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    content = to_onnx(forest).SerializeToString()
    (tmp_path / "model.onnx").write_bytes(content)
    for given_as in (content, tmp_path / "model.onnx", str(tmp_path / "model.onnx")):
        assert_same(forest, given_as, X)
    with pytest.raises(ModelFileError, match=r"none.onnx' cannot be read: No such file"):
        verify_export(forest, tmp_path / "none.onnx", X)
    (tmp_path / "other.onnx").write_bytes(b"a text")
    with pytest.raises(ModelFileError, match=r"other.onnx' is no ONNX model that onnxruntime can run"):
        verify_export(forest, tmp_path / "other.onnx", X)
    with pytest.raises(ModelFileError, match="it is empty"):
        verify_export(forest, b"", X)
    with pytest.raises(TypeError, match="onnx must be an ONNX model, its bytes or the path of its file, got int"):
        verify_export(forest, 3, X)


def test_rows_that_cannot_be_compared():
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    exported = to_onnx(forest)
    with pytest.raises(ValueError, match="X has no rows, and nothing can be compared on none"):
        verify_export(forest, exported, X[:0])
    with pytest.raises(ValueError, match=f"takes {X.shape[1]} columns, and X has {X.shape[1] - 1}"):
        verify_export(forest, exported, X[:, 1:])
    with pytest.raises(ValueError, match=r"tolerance must be in \[0, 1\), got 1"):
        verify_export(forest, exported, X, tolerance=1)
    frame, y = table()
    encode = make_column_transformer((StandardScaler(), ["age", "children"]))
    named = make_pipeline(encode, RandomForestClassifier(5, random_state=0)).fit(frame, y)
    with pytest.raises(ValueError, match=r"takes columns by name, 'children', 'age', and X has no column 'age'"):
        verify_export(named, to_onnx(named), frame.drop(columns="age"))
    with pytest.raises(ValueError, match="and X has no names of columns; pass a frame with all of them"):
        verify_export(named, to_onnx(named), X)
    with pytest.raises(ValueError, match=r"the column 'age' of X must hold numbers for the ONNX model: .*'old'"):
        verify_export(named, to_onnx(named), frame.assign(age="old"))


def test_a_file_that_gives_something_else():
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    types = [("X", skl2onnx.common.data_types.FloatTensorType([None, X.shape[1]]))]
    mapped = skl2onnx.convert_sklearn(forest, initial_types=types)  # probabilities in dicts
    with pytest.raises(ValueError, match="must give labels and a matrix of probabilities, got output_label"):
        verify_export(forest, mapped, X)
    types = [("X", skl2onnx.common.data_types.Int64TensorType([None, X.shape[1]]))]
    integers = skl2onnx.convert_sklearn(forest, initial_types=types, options={"zipmap": False})
    with pytest.raises(ValueError, match=r"takes tensor\(int64\) as 'X'"):
        verify_export(forest, integers, X)


# What is refused.


def test_histograms_are_refused_with_the_reason():
    codes = X.copy()
    codes[:, 0] = np.arange(len(X)) % 6
    y = np.isin(codes[:, 0], (1, 4)).astype(int)
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features=[0]).fit(codes, y)
    for refused in (model, make_pipeline(StandardScaler(), model)):
        with pytest.raises(UnsupportedModelError, match=r"does not convert to ONNX: skl2onnx.* eifffel.save, or train"):
            to_onnx(refused)
    # If one of these passes, the reason is none any more.
    types = [("X", skl2onnx.common.data_types.FloatTensorType([None, X.shape[1]]))]
    with pytest.raises((ValueError, ExportMismatchError), match=r"Unable to create node|must not be deployed"):
        verify_export(model, skl2onnx.convert_sklearn(model, initial_types=types, options={"zipmap": False}), codes)


def test_categories_that_a_library_splits_on_by_itself_are_refused():
    codes = X.copy()
    codes[:, 0] = np.arange(len(X)) % 6
    y = np.isin(codes[:, 0], (1, 4)).astype(int)
    refused = []
    if "lightgbm" in MODELS:
        import lightgbm

        data = lightgbm.Dataset(codes, y, categorical_feature=[0], params={"verbose": -1})
        refused.append(lightgbm.train({"objective": "binary", "verbose": -1, "num_threads": 1}, data, 3))
    if "xgboost" in MODELS:
        import xgboost

        kinds = ["c"] + ["float"] * (X.shape[1] - 1)
        data = xgboost.DMatrix(codes, y, feature_types=kinds, enable_categorical=True)
        refused.append(xgboost.train({"objective": "binary:logistic", "max_cat_to_onehot": 1}, data, 3))
    if "catboost" in MODELS:
        import catboost

        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(codes).assign(**{"0": codes[:, 0].astype(int)}).drop(columns=0)
        frame.columns = frame.columns.astype(str)
        model = catboost.CatBoostClassifier(3, cat_features=["0"], verbose=False, allow_writing_files=False)
        refused.append(model.fit(frame, y))
    if not refused:
        pytest.skip("none of LightGBM, XGBoost and CatBoost is installed")
    for model in refused:
        with pytest.raises(UnsupportedModelError, match="splits on categories by itself"):
            to_onnx(model)


def test_numbers_that_stand_for_missing_ones_are_refused():
    zeros = np.where(np.median(X, axis=0) < X, 0, X)
    if "lightgbm" in MODELS:
        with pytest.raises(UnsupportedModelError, match="was trained with zero_as_missing"):
            to_onnx(__import__("boosters").lgbm(zero_as_missing=True)(zeros, Y))
    if "xgboost" in MODELS:
        with pytest.raises(UnsupportedModelError, match=r"has missing=0, a number that stands for a missing value"):
            to_onnx(__import__("boosters").xgb(missing=0)(zeros, Y))
    zeros[0] = 1.0  # no column is missing altogether
    imputed = make_pipeline(SimpleImputer(missing_values=0.0), RandomForestClassifier(5)).fit(zeros, Y)
    with pytest.raises(UnsupportedModelError, match="a SimpleImputer converts to ONNX with missing_values=nan"):
        to_onnx(imputed)
    flagged = make_pipeline(SimpleImputer(add_indicator=True), RandomForestClassifier(5)).fit(GAPS, Y)
    with pytest.raises(UnsupportedModelError, match="without add_indicator"):
        to_onnx(flagged)


def test_other_refusals():
    forest = RandomForestClassifier(5, random_state=0)
    with pytest.raises(NotFittedError, match="is not fitted"):
        to_onnx(forest)
    with pytest.raises(UnsupportedModelError, match="cannot edit a CalibratedClassifierCV"):
        to_onnx(CalibratedClassifierCV(forest, cv=2).fit(X, Y))
    products = make_pipeline(PolynomialFeatures(2), RandomForestClassifier(5)).fit(X, Y)
    with pytest.raises(UnsupportedModelError, match="Leave out the step that this is of, or transform the rows"):
        to_onnx(products)
    frame, y = table()
    mixed = make_pipeline(OrdinalEncoder(), RandomForestClassifier(5)).fit(frame[["job", "children"]], y)
    with pytest.raises(ValueError, match="takes texts and numbers, and one matrix of ONNX holds either"):
        to_onnx(mixed)
    both = frame.assign(region=frame["region"].replace("west", ""))
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["region"]))
    with pytest.raises(UnsupportedModelError, match="has both empty texts and missing values"):
        to_onnx(make_pipeline(encode, RandomForestClassifier(5)).fit(both, y))


@pytest.mark.parametrize("library", ["onnx", "skl2onnx", "onnxruntime"])
def test_without_the_extra(library, monkeypatch):
    model = make_pipeline(StandardScaler(), RandomForestClassifier(5)).fit(X, Y)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError, match=rf"{library}; install it with: pip install 'eifffel\[onnx\]'"):
        to_onnx(model)


def test_the_error_can_be_pickled():
    import pickle

    error = pickle.loads(pickle.dumps(ExportMismatchError("they differ", rows=np.array([3, 5]))))
    assert str(error) == "they differ"
    assert error.rows.tolist() == [3, 5]


def test_a_file_says_what_its_labels_are_and_what_it_was_edited_for():
    people = make_biased_classification(1000, random_state=0)
    X, y, s = people.data, np.where(people.target == 1, "yes", "no"), people.sensitive
    forest = RandomForestClassifier(5, random_state=0).fit(X[:500], y[:500])
    path = trace_path(
        forest, X[:500], y[:500], sensitive_features=s[:500], select_on=(X[500:], y[500:], s[500:]), favorable="yes"
    )
    fair = path.model_at(3)
    said = {entry.key: entry.value for entry in to_onnx(fair).metadata_props}
    assert said["classes"] == '["no", "yes"]'
    assert said["favorable"] == '"yes"'
    assert said["sha256_of_leaves"] == view_ensemble(fair, favorable="yes").digests["leaves"]
    assert {entry.key for entry in to_onnx(forest).metadata_props} == {"classes"}


def test_a_path_of_a_file_is_no_model():
    with pytest.raises(TypeError, match=r"takes a model, got the path 'm.skops'; load it first: eifffel.load"):
        to_onnx("m.skops")
