"""Whether a stored model decides as it did where only numpy, scikit-learn and LightGBM are installed.

    python try_model.py MODEL.pickle

Prints "yes", or "no" and the reason.
"""

import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import lightgbm


def judge(path: Path) -> str:
    # Written a moment ago by this benchmark.
    stored = pickle.loads(path.read_bytes())
    if stored["model"] is None:
        return "no: cannot be pickled"
    try:
        model = pickle.loads(stored["model"])
    except ModuleNotFoundError as error:
        return judge_text(stored) or f"no: needs {error.name}"
    return "yes" if (model.predict(stored["rows"]) == stored["decided"]).all() else "no: decides otherwise"


def judge_text(stored: dict[str, Any]) -> str | None:
    """Of what is there as LightGBM's own kind of file too."""
    if stored["text"] is None:
        return None
    try:
        booster = lightgbm.Booster(model_str=stored["text"])
    except lightgbm.basic.LightGBMError as error:
        return f"no: LightGBM says of its file: {error}"
    same = ((booster.predict(stored["rows"]) > 0.5) == stored["decided"]).all()
    return "yes, as a file" if same else "no: decides otherwise"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(judge(Path(sys.argv[1])))
