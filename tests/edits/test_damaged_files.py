"""No file kills the process: whatever is changed in one, it is refused when it is read, or does no harm in use.

`damage.py` changes numbers, shapes, types and structure in the stored models of every library, in all that skops has
in a file: the nodes of ``schema.json``, its arrays, and the text and bytes of boosters. `try_damages.py` is a program
of its own, which writes down what it is about to try, so that its death names the file that it died of. The variable
``EIFFFEL_DAMAGES`` says how many changes are tried; ``make check-slow`` tries thousands. Nothing of a file is left
out: the bytes of XGBoost are also changed as the document that they are, those of CatBoost as bytes alone.
"""

import json
import os
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from eifffel import DiscriminationAwareForestClassifier, EiFFFeLClassifier, save, trace_path
from eifffel.datasets import make_biased_classification
from eifffel.edits.native import write_native

pytest.importorskip("skops")
assert resource  # the program limits its memory by it

NUMBER = int(os.environ.get("EIFFFEL_DAMAGES", "200"))
# Many are tried in parts, which run beside each other.
PARTS = 1 if NUMBER <= 500 else 4
# What scikit-learn makes numbers of categories with, and eifffel does not trust by itself.
TRUSTED = ["functools.partial", "sklearn.utils.validation.check_array"]
PEOPLE = make_biased_classification(300, random_state=0)
X = PEOPLE.data.copy()
X[:, 0] = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.2, 0.4, 0.6, 0.8]))  # a column of categories
y, s = PEOPLE.target, PEOPLE.sensitive


def make_models():
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), [0]), remainder=StandardScaler())
    models = {
        "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
        "forest": forest,
        "extra trees": ExtraTreesClassifier(3, max_depth=3, random_state=0),
        "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=3), 3, max_features=0.6, random_state=0),
        "gradient boosting": GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
        "histograms": HistGradientBoostingClassifier(
            max_iter=3, max_depth=3, min_samples_leaf=5, max_bins=8, categorical_features=[0], random_state=0
        ),
        "pipeline": make_pipeline(columns, RandomForestClassifier(3, max_depth=3, random_state=0)),
        "threshold": FixedThresholdClassifier(forest, threshold=0.4),
        "classifier, flips": EiFFFeLClassifier(forest, epsilon=0.03, random_state=0),
        "classifier, shift": EiFFFeLClassifier(
            GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0), epsilon=0.03, random_state=0
        ),
        "discrimination-aware": DiscriminationAwareForestClassifier(3, max_depth=3, random_state=0),
    }
    for model in models.values():
        asks = isinstance(model, EiFFFeLClassifier | DiscriminationAwareForestClassifier)
        model.fit(X, y, **({"sensitive_features": s} if asks else {}))
    edited = trace_path(models["forest"], X, y, sensitive_features=s).model_at(1)
    return {**models, "edited": edited, **make_boosters()}


def make_boosters():
    models = {}
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        quiet = {"verbose": -1, "n_jobs": 1, "min_child_samples": 5, "min_data_per_group": 5, "cat_smooth": 1}
        model = LGBMClassifier(n_estimators=3, num_leaves=5, max_cat_to_onehot=1, **quiet)
        models["lightgbm"] = model.fit(X, y, categorical_feature=[0])
    if find_spec("xgboost"):
        from xgboost import XGBClassifier

        types = ["c"] + ["q"] * (X.shape[1] - 1)
        settings = {"enable_categorical": True, "feature_types": types, "max_cat_to_onehot": 1}
        models["xgboost"] = XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1, **settings).fit(X, y)
    if find_spec("catboost"):
        from catboost import CatBoostClassifier

        models["catboost"] = CatBoostClassifier(
            iterations=3, depth=2, verbose=False, thread_count=1, allow_writing_files=False
        ).fit(X, y)
    return models


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, model in make_models().items():
        save(model, folder / f"{name}.skops", trusted=TRUSTED)
    for name, model in make_boosters().items():
        (folder / f"{name}.native").write_bytes(write_native(model))
    np.savez(folder / "rows.npz", X=X, y=y, s=s)
    (folder / "trusted.json").write_text(json.dumps(TRUSTED))
    return folder


def try_damages(folder, first, last):
    """Run the program until all damages are tried, anew after each death; the lines of its log, and the deaths."""
    log, deaths = folder / f"log-{first}.txt", []
    while first < last:
        program = [sys.executable, str(Path(__file__).parent / "try_damages.py"), folder, log, first, last]
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OMP_STACKSIZE": "512k",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        done = subprocess.run(
            [*map(str, program)], env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
        lines = log.read_text().splitlines() if log.exists() else []
        if done.returncode == 0 and lines[-1:] == ["end"]:
            return lines, deaths
        assert lines, f"the program did not start: {done.stderr}"
        number = int(lines[-1].split()[0])
        deaths.append(f"{lines[-1]} (exit code {done.returncode}) {done.stderr[-1500:]}")
        first = number + 1
    return log.read_text().splitlines(), deaths


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_damage_of_a_file_kills_the_process(part, folder):
    first, last = (NUMBER * k // PARTS for k in (part, part + 1))
    lines, deaths = try_damages(folder, first, last)
    assert not deaths, "\n\n".join(deaths)
    kinds = [line.split()[1].rstrip(":,") for line in lines if line != "end"]
    assert "wrong" not in kinds, "\n".join(line for line in lines if " wrong: " in line)
    assert "broken" not in kinds, "\n".join(line for line in lines if " broken " in line)
    assert kinds.count("tried") == last - first == kinds.count("refused") + kinds.count("loaded")
    fewest = min(kinds.count("refused"), kinds.count("loaded"))
    assert fewest > (last - first) / 10, "damages are found, and some do no harm"
