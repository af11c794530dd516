"""What cannot be exported is refused with the reason; what is exported says what it is."""

import sys

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

onnx = pytest.importorskip("onnx")
skl2onnx = pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")

from exported import GAPS, MODELS, X, Y, table  # noqa: E402

from eifffel import (  # noqa: E402
    ExportMismatchError,
    UnsupportedModelError,
    to_onnx,
    trace_path,
    verify_export,
    view_ensemble,
)
from eifffel.datasets import make_biased_classification  # noqa: E402


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
    with pytest.raises(TypeError, match=r"model must be a model, got the path 'm.skops'; load it first"):
        to_onnx("m.skops")
    with pytest.raises(TypeError, match=r"model must be a model, got the path 'm.skops'; load it first"):
        verify_export("m.skops", "m.onnx", [[1.0]])
