"""Edited models in other hands: SHAP, fairlearn, and their own libraries in a process without eifffel."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from boosters import BOOSTED
from eifffel import to_onnx, trace_path
from eifffel.datasets import make_biased_classification

PEOPLE = make_biased_classification(400, random_state=0)
X, Y, S = PEOPLE.data, PEOPLE.target, PEOPLE.sensitive
MODELS = {
    "forest": lambda X, y: RandomForestClassifier(10, min_samples_leaf=3, random_state=0).fit(X, y),
    "extra trees": lambda X, y: ExtraTreesClassifier(10, min_samples_leaf=3, random_state=0).fit(X, y),
}
MODELS |= {name: fit for name, fit in BOOSTED.items() if "," not in name}

# Leaves of boosted models on these few rows hardly tell groups apart; what is tested is what comes out.
pytestmark = pytest.mark.filterwarnings(
    "ignore::eifffel.IndistinctGroupsWarning", "ignore::eifffel.NarrowProbabilitiesWarning"
)


def edited(name):
    """An original model, and the one of the first step that halves its discrimination."""
    model = MODELS[name](X, Y)
    path = trace_path(model, X, Y, sensitive_features=S)
    return model, path.model_at(int(np.argmax(np.abs(path.discrimination) <= path.discrimination[0] / 2)))


# SHAP says so of every LightGBM model.
@pytest.mark.filterwarnings("ignore:LightGBM binary classifier with TreeExplainer:UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_shap_adds_up(name):
    """What SHAP gives each column, and what it expects, add up to what the edited model says of each row."""
    shap = pytest.importorskip("shap")
    model, fair = edited(name)
    explainer = shap.TreeExplainer(fair)
    values = np.asarray(explainer.shap_values(X[:100]))
    expected = np.ravel(explainer.expected_value)
    if values.ndim == 3:  # of both classes; older versions have them first
        values = values[..., 1] if values.shape[-1] == 2 else values[1]
    told = values.sum(axis=1) + expected[-1]
    if name in ("forest", "extra trees"):
        own, before = (each.predict_proba(X[:100])[:, 1] for each in (fair, model))
    else:
        own, before = (raw_score(each, X[:100]) for each in (fair, model))
    assert np.abs(own - before).max() > 1e-3, "the edit shows"
    np.testing.assert_allclose(told, own, rtol=0, atol=1e-5)


def raw_score(model, X):
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    library = type(model).__module__.partition(".")[0]
    ways = {"lightgbm": {"raw_score": True}, "xgboost": {"output_margin": True}}
    return model.predict(X, **ways.get(library, {"prediction_type": "RawFormulaVal"}))


@pytest.mark.parametrize("name", MODELS)
def test_fairlearn_measures_what_eifffel_does(name):
    fairlearn_metrics = pytest.importorskip("fairlearn.metrics")
    model = MODELS[name](X, Y)
    path = trace_path(model, X, Y, sensitive_features=S)
    for step in (0, len(path.discrimination) - 1):
        decided = path.model_at(step).predict(X)
        frame = fairlearn_metrics.MetricFrame(
            metrics=fairlearn_metrics.selection_rate, y_true=Y, y_pred=decided, sensitive_features=S
        )
        assert frame.by_group[1] - frame.by_group[0] == pytest.approx(path.discrimination[step], abs=1e-12)
        difference = fairlearn_metrics.demographic_parity_difference(Y, decided, sensitive_features=S)
        assert difference == pytest.approx(abs(path.discrimination[step]), abs=1e-12)


# What is run where eifffel cannot be imported: it reads rows and writes labels and probabilities.
ALONE = """
import json, sys
sys.modules["eifffel"] = None
{hidden}
try:
    import eifffel
except ImportError:
    pass
else:
    raise SystemExit("eifffel is here")
import numpy as np
X = np.load("rows.npy")
{work}
assert not any(name.startswith("eifffel.") for name in sys.modules)
print(json.dumps([np.ravel(label).tolist(), np.asarray(probability, float).tolist()]))
"""
NATIVE = {
    "lightgbm": """
import lightgbm
probability = lightgbm.Booster(model_file="model.txt").predict(X)
label = (probability > 0.5).astype(int)
""",
    "xgboost": """
import xgboost
model = xgboost.XGBClassifier()
model.load_model("model.ubj")
label, probability = model.predict(X), model.predict_proba(X)[:, 1]
""",
    "catboost": """
import catboost
model = catboost.CatBoostClassifier()
model.load_model("model.cbm")
label, probability = model.predict(X), model.predict_proba(X)[:, 1]
""",
}
FILES = {"lightgbm": "model.txt", "xgboost": "model.ubj", "catboost": "model.cbm"}


def run_alone(work, folder, hidden=""):
    np.save(folder / "rows.npy", X)
    words = [sys.executable, "-W", "ignore", "-c", ALONE.format(work=work, hidden=hidden)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    label, probability = json.loads(done.stdout.splitlines()[-1])
    return np.array(label), np.array(probability)


@pytest.mark.parametrize("name", NATIVE)
def test_a_library_reads_its_edited_model_without_eifffel(name, tmp_path):
    if name not in MODELS:
        pytest.skip(f"{name} is not installed")
    model, fair = edited(name)
    (fair.booster_ if name == "lightgbm" else fair).save_model(str(tmp_path / FILES[name]))
    label, probability = run_alone(NATIVE[name], tmp_path)
    assert label.tolist() == fair.predict(X).tolist()
    np.testing.assert_allclose(probability, fair.predict_proba(X)[:, 1], rtol=0, atol=1e-12)
    assert (label != model.predict(X)).any(), "it is not the original model"


ONNX = """
import onnxruntime
session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
label, probability = session.run(["label", "probabilities"], {"X": X})
probability = probability[:, 1]
"""


@pytest.mark.parametrize("name", [name for name in MODELS if name != "histograms"])
def test_an_onnx_file_needs_neither_eifffel_nor_the_library(name, tmp_path):
    for library in ("onnx", "skl2onnx", "onnxruntime"):
        pytest.importorskip(library)
    model, fair = edited(name)
    (tmp_path / "model.onnx").write_bytes(to_onnx(fair).SerializeToString())
    hidden = "for name in ('sklearn', 'lightgbm', 'xgboost', 'catboost', 'skl2onnx', 'onnx'): sys.modules[name] = None"
    label, probability = run_alone(ONNX, tmp_path, hidden)
    assert label.tolist() == fair.predict(X).ravel().tolist()
    assert (label != model.predict(X)).any(), "it is not the original model"
    np.testing.assert_allclose(probability, fair.predict_proba(X)[:, 1], rtol=0, atol=2e-7)
