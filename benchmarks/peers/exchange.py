"""What goes between the environments: a task in, counts and times out. Needs numpy alone.

Each library's file has functions that take a `Task` and give an `Answer` for each setting, and ends with ``main``:

    python with_PEER.py METHOD TASK.npz [TASK.npz ...]

For each task the answers are written beside it, as ``TASK.METHOD.json``.
"""

import json
import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

# The bounds that are asked for.
EPSILONS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.12, 0.15, 0.2)

# Of random decisions whose probabilities a library does not tell: what is measured is their mean.
N_DRAWS = 20

# Where this is set, the first model is stored as well.
KEEP = "EIFFFEL_PEERS_KEEP"


@dataclass(frozen=True, eq=False)
class Task:
    """One split of one data set, and what the base forest gives for it.

    Attributes
    ----------
    X, y, group : arrays
        All rows; ``group`` is 1 for the group that the labels favour.
    fitted_on, held_out, test : arrays of row numbers
        The base forest is trained on the first. What comes after training uses the second; what trains by itself has
        the two together, `train`.
    proba : array of shape (n_rows, 2)
        The base forest's probabilities.
    forest : dict
        The base forest's parameters, ``class_weight`` among them where classes are balanced.
    balanced : bool
        Whether balanced accuracy is what counts.
    sensitive_columns : list of int
    seed : int
    predict_seconds : float
        Of the base forest, for a row.
    """

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray
    fitted_on: np.ndarray
    held_out: np.ndarray
    test: np.ndarray
    proba: np.ndarray
    forest: dict[str, Any]
    balanced: bool
    sensitive_columns: list[int]
    seed: int
    predict_seconds: float

    @property
    def train(self) -> np.ndarray:
        return np.concatenate([self.fitted_on, self.held_out])

    def class_weights(self, rows: np.ndarray) -> np.ndarray:
        """Of these rows: such that both labels weigh the same, or all ones."""
        share = np.bincount(self.y[rows], minlength=2) / len(rows)
        return 0.5 / share[self.y[rows]] if self.balanced else np.ones(len(rows))

    def count(self, favorable: np.ndarray) -> list[list[float]]:
        """Test rows decided favourably, or their expected number, by group and label."""
        cell = 2 * self.group[self.test] + self.y[self.test]
        counted: list[list[float]] = np.bincount(cell, favorable, minlength=4).reshape(2, 2).tolist()
        return counted

    @property
    def costs(self) -> tuple[float, float]:
        """Of favouring the wrong and of refusing the right: what makes errors count as `balanced` says."""
        share = float(self.y[self.train].mean())
        return (share, 1 - share) if self.balanced else (1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method does with one setting.

    Attributes
    ----------
    favorable : array
        The test rows' probability of a favourable decision; 0 or 1 where decisions are not random.
    fit, predict : float
        Seconds of one core: of fitting after, or instead of, the base forest; of deciding for the test rows.
    bound : float or None
        The bound asked for on the difference of rates, if the setting is one.
    setting : str
        What was set, to be read.
    model : object
        What comes out.
    """

    favorable: np.ndarray
    fit: float
    predict: float
    bound: float | None = None
    setting: str = ""
    model: Any = field(default=None, repr=False)


@contextmanager
def clock() -> Iterator[SimpleNamespace]:
    """What is given has the ``seconds`` of one core that were spent inside."""
    spent = SimpleNamespace(seconds=0.0)
    began = time.process_time()
    yield spent
    spent.seconds = time.process_time() - began


def read(path: Path) -> Task:
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files if name != "more"}
        more = json.loads(str(stored["more"]))
    return Task(**arrays, **more)


def write(path: Path, task: Task) -> None:
    arrays = {name: value for name, value in vars(task).items() if isinstance(value, np.ndarray)}
    more = {name: value for name, value in vars(task).items() if not isinstance(value, np.ndarray)}
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as file:
        np.savez_compressed(file, more=json.dumps(more), **arrays)
    temporary.rename(path)


def answer_file(task: Path, method: str) -> Path:
    return task.with_name(f"{task.stem}.{method}.json")


def model_file(task: Path, method: str) -> Path:
    return task.with_name(f"{task.stem}.{method}.pickle")


def describe(task: Task, answer: Answer) -> dict[str, Any]:
    """The answer as what is stored: favourable test rows by group and label in place of rows."""
    decided = np.asarray(answer.favorable, dtype=float)
    return {
        "favorable": task.count(decided),
        "random": bool(((decided > 0) & (decided < 1)).any()),
        "fit": answer.fit,
        "predict": answer.predict,
        "bound": answer.bound,
        "setting": answer.setting,
    }


def store_model(file: Path, task: Task, answer: Answer) -> None:
    """The model with a few rows and what it decides for them, to be tried where its library is not installed."""
    booster = getattr(answer.model, "booster_", None)
    stored = {
        "rows": task.X[task.test][:200],
        "decided": np.asarray(answer.favorable)[:200],
        "model": None,
        # What LightGBM, and what is made from it, writes to files.
        "text": None if booster is None else booster.model_to_string(),
    }
    # The model by itself, so that the rest can be read where it cannot.
    with suppress(pickle.PicklingError, AttributeError, TypeError):
        stored["model"] = pickle.dumps(answer.model)
    file.write_bytes(pickle.dumps(stored))


def name_class(model: Any) -> str:
    return f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}"


def main(methods: dict[str, Callable[[Task], Iterator[Answer]]]) -> None:
    method, *names = sys.argv[1:]
    for path in map(Path, names):
        task = read(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers = list(methods[method](task))
        if KEEP in os.environ:
            store_model(model_file(path, method), task, answers[0])
        found = {"model": name_class(answers[0].model), "answers": [describe(task, answer) for answer in answers]}
        file = answer_file(path, method)
        temporary = file.with_suffix(".part")
        temporary.write_text(json.dumps(found))
        temporary.rename(file)
        print(file.stem, flush=True)
