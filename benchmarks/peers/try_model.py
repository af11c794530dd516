"""Whether a stored model decides as it did where only numpy, scikit-learn and LightGBM are installed.

    python try_model.py MODEL.pickle

Prints "yes", or "no" and the reason.
"""

import pickle
import sys
import warnings
from pathlib import Path


def judge(path: Path) -> str:
    # Written a moment ago by this benchmark.
    stored = pickle.loads(path.read_bytes())
    if stored["model"] is None:
        return "no: cannot be pickled"
    try:
        model = pickle.loads(stored["model"])
    except ModuleNotFoundError as error:
        return f"no: needs {error.name}"
    if (model.predict(stored["rows"]) != stored["decided"]).any():
        return "no: decides otherwise"
    return "yes"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(judge(Path(sys.argv[1])))
