"""An export that is not the model is caught, and the rows are named."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

onnx = pytest.importorskip("onnx")
skl2onnx = pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")

from exported import GAPS, X, Y, assert_same, table  # noqa: E402

from boosters import as_words  # noqa: E402
from eifffel import ExportMismatchError, ModelFileError, to_onnx, verify_export  # noqa: E402


def attribute_of(exported, name):
    return next(item for node in exported.graph.node for item in node.attribute if item.name == name)


def test_a_forest_on_missing_values_that_skl2onnx_converts_wrongly_is_caught():
    forest = RandomForestClassifier(10, random_state=0).fit(GAPS, Y)
    types = [("X", skl2onnx.common.data_types.FloatTensorType([None, X.shape[1]]))]
    theirs = skl2onnx.convert_sklearn(forest, initial_types=types, options={"zipmap": False})
    tracks = attribute_of(theirs, "nodes_missing_value_tracks_true").ints
    tracks[:] = [0] * len(tracks)  # as skl2onnx 1.20 leaves them; a later one may not
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


def test_labels_of_another_type_are_other_labels():
    as_numbers = RandomForestClassifier(5, random_state=0).fit(X, Y)
    texts = RandomForestClassifier(5, random_state=0).fit(X, Y.astype(str))
    with pytest.raises(ExportMismatchError, match=f"{len(X)} have another label and 0 other probabilities"):
        verify_export(as_numbers, to_onnx(texts), X)
