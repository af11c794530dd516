"""Models to export, and what their files must do."""

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

onnx = pytest.importorskip("onnx")
skl2onnx = pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")

from boosters import BOOSTED, as_words  # noqa: E402
from eifffel import trace_path, verify_export  # noqa: E402
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
