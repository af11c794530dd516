"""Trees of every library, exported, decide as the model does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier

onnx = pytest.importorskip("onnx")
skl2onnx = pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")

from exported import (  # noqa: E402
    CLOSE,
    CLOSE_XGBOOST,
    GAPS,
    MODELS,
    TAKES_GAPS,
    X,
    Y,
    assert_same,
    at_thresholds,
    edited,
    thresholds_of,
)

from boosters import as_words  # noqa: E402
from eifffel import to_onnx  # noqa: E402


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
