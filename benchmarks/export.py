"""How exported models decide: those that each library's own converter writes, and those of eifffel.to_onnx.

python benchmarks/export.py [--rows N] [--out FILE.md]
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import onnx
import onnxruntime
import xgboost
from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm
from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost
from skl2onnx import convert_sklearn, update_registered_converter
from skl2onnx.common.data_types import FloatTensorType
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eifffel import to_onnx, trace_path
from eifffel.datasets import make_biased_classification
from page import VERSIONS, save, say

N_TREES = 50
N_TRAINED = 5000
REPEATS = 3
OPTIONS = {"nocl": [True, False], "zipmap": [True, False, "columns"]}
OPSET = {"": 15, "ai.onnx.ml": 3}  # the newest that onnxmltools writes


def make_models() -> Iterator[tuple[str, Any]]:
    forest = RandomForestClassifier(N_TREES, random_state=0)
    yield "RandomForest", forest
    yield "RandomForest of 20 trees", RandomForestClassifier(20, random_state=0)  # votes tie more often
    yield "RandomForest, missing values", forest
    yield "StandardScaler and RandomForest", make_pipeline(StandardScaler(), forest)
    yield "TunedThreshold around RandomForest", TunedThresholdClassifierCV(forest, cv=3)
    yield "ExtraTrees", ExtraTreesClassifier(N_TREES, random_state=0)
    yield "GradientBoosting", GradientBoostingClassifier(n_estimators=N_TREES, random_state=0)
    settings = {"n_estimators": N_TREES, "random_state": 0, "n_jobs": 1}
    yield "LightGBM", lightgbm.LGBMClassifier(verbose=-1, **settings)
    bagged = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    yield "LightGBM, boosting rf", lightgbm.LGBMClassifier(verbose=-1, **settings, **bagged)
    yield "LightGBM, sigmoid 2", lightgbm.LGBMClassifier(verbose=-1, **settings, sigmoid=2.0)
    yield "XGBoost", xgboost.XGBClassifier(**settings)
    yield "XGBoost, dart", xgboost.XGBClassifier(**settings, booster="dart", rate_drop=0.2)
    yield "XGBoost, 3 parallel trees", xgboost.XGBClassifier(**settings, num_parallel_tree=3, subsample=0.5)
    yield "StandardScaler and XGBoost", make_pipeline(StandardScaler(), xgboost.XGBClassifier(**settings))
    quiet = {"verbose": False, "allow_writing_files": False}
    yield "CatBoost", catboost.CatBoostClassifier(iterations=N_TREES, random_seed=0, thread_count=1, **quiet)


def convert_by_library(model: Any, X: np.ndarray) -> onnx.ModelProto:
    """What the library's own converter writes: skl2onnx, onnxmltools or CatBoost."""
    if isinstance(model, catboost.CatBoostClassifier):
        with tempfile.TemporaryDirectory() as folder:
            model.save_model(f"{folder}/model.onnx", format="onnx")
            return onnx.load(f"{folder}/model.onnx")
    types = [("X", FloatTensorType([None, X.shape[1]]))]  # float64 fails for most of them, and forests get worse
    return convert_sklearn(model, initial_types=types, options={"zipmap": False}, target_opset=OPSET)


def run(proto: onnx.ModelProto, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    rows = X.astype(np.float32 if given.type == "tensor(float)" else np.float64)
    (label, chance), seconds = best_of(lambda: session.run(None, {given.name: rows}))
    if isinstance(chance, list):
        chance = np.array([list(of_row.values()) for of_row in chance])
    return label, chance, seconds


def best_of(work: Callable[[], Any]) -> tuple[Any, float]:
    """What some work gives, and the shortest time that it took."""
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        found = work()
        taken.append(time.perf_counter() - start)
    return found, min(taken)


def compare(convert: Callable[..., onnx.ModelProto], model: Any, X: np.ndarray) -> list[str]:
    expected, seconds = best_of(lambda: model.predict_proba(X))
    try:
        label, chance, taken = run(convert(model, X), X)
    except Exception as error:  # of any of the libraries
        return ["fails: " + str(error).splitlines()[0][:60], "", ""]
    wrong = int((label.astype(str) != np.asarray(model.predict(X)).ravel().astype(str)).sum())
    return [f"{wrong:,}", f"{np.abs(chance - expected).max():.1e}", f"{taken / seconds:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for library, converter in ((lightgbm.LGBMClassifier, convert_lightgbm), (xgboost.XGBClassifier, convert_xgboost)):
        update_registered_converter(
            library, library.__name__, calculate_linear_classifier_output_shapes, converter, options=OPTIONS
        )
    people = make_biased_classification(arguments.rows, random_state=0)
    random = np.random.default_rng(0)
    X = people.data + random.normal(scale=1e-3, size=people.data.shape)  # numbers with all their digits
    gaps = X.copy()
    gaps[random.random(X.shape) < 0.05] = np.nan
    say("# Exported models")
    say()
    say(f"Made by `make benchmark-export` with {VERSIONS}, onnxruntime {onnxruntime.__version__}.")
    say()
    say(
        f"Models of {N_TREES} trees, unless it says otherwise, trained on {N_TRAINED:,} rows, exported, and compared "
        f"with themselves on {arguments.rows:,} rows of float64: labels that differ, the largest difference of a "
        f"probability, and time of onnxruntime as a ratio to `predict_proba` (one thread each, best of {REPEATS}). "
        "*Library*: skl2onnx, onnxmltools for LightGBM and XGBoost, CatBoost's own. *eifffel*: `eifffel.to_onnx`. Each "
        "original model and, in a second line, edited for epsilon 0.05."
    )
    say()
    say("| model | library: labels | probability | time | eifffel: labels | probability | time |")
    say("|---|---|---|---|---|---|---|")
    for name, model in make_models():
        rows = gaps if "missing" in name else X
        trained = slice(N_TRAINED)
        chosen = slice(N_TRAINED, 2 * N_TRAINED)
        y, s = people.target, people.sensitive
        model.fit(rows[trained], y[trained])
        path = trace_path(
            model,
            rows[trained],
            y[trained],
            sensitive_features=s[trained],
            select_on=(rows[chosen], y[chosen], s[chosen]),
            n_jobs=1,
        )
        edited = path.model_at(path.select(epsilon=0.05).step)
        for called, given in ((name, model), (f"{name}, edited", edited)):
            theirs = compare(convert_by_library, given, rows)
            ours = compare(lambda given, _: to_onnx(given), given, rows)
            say(f"| {called} | {' | '.join([*theirs, *ours])} |")
    save(arguments.out)


if __name__ == "__main__":
    main()
