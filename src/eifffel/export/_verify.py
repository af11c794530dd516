"""verify_export: does an exported model decide about rows as the model does?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples
from tqdm.auto import tqdm

from eifffel._utils.validation import check_model
from eifffel.ensembles import view_ensemble
from eifffel.exceptions import ExportMismatchError
from eifffel.export._running import feeder, missing_in, open_session

ROWS_AT_A_TIME = 10_000
ROWS_NAMED = 10


@dataclass(frozen=True)
class ExportCheck:
    """What `verify_export` found where an exported model does as the model.

    Attributes
    ----------
    n_rows : int
        The rows that were compared; all have the same label from both.
    largest_difference : float
        The largest difference between two probabilities.

    See Also
    --------
    verify_export : Makes one, or raises.

    Examples
    --------
    >>> import eifffel
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> age, paid = [[20], [30], [40], [50]], [0, 1, 1, 1]
    >>> tree = DecisionTreeClassifier().fit(age, paid)
    >>> check = eifffel.verify_export(tree, eifffel.to_onnx(tree), age)
    >>> check.n_rows, check.largest_difference
    (4, 0.0)
    """

    n_rows: int
    largest_difference: float


def verify_export(model: Any, onnx: Any, X: Any, *, tolerance: float = 1e-5, verbose: bool = False) -> ExportCheck:
    """Compare an exported model with the model on rows, and raise if they differ.

    Give it all kinds of rows that the model will see: a fault shows only on rows that meet it, such as those with
    missing values.

    Parameters
    ----------
    model : fitted model
        The model as it is in Python; whatever `to_onnx` takes.
    onnx : onnx.ModelProto, bytes, str or Path
        The exported model, or its file; by `to_onnx` or by anything else whose outputs are labels and a matrix of
        probabilities.
    X : array or frame
        Rows as the model takes them.
    tolerance : float
        By how much probabilities may differ. Labels must be the same.
    verbose : bool
        Whether a bar shows how far it is, once it has taken a second.

    Returns
    -------
    ExportCheck

    Raises
    ------
    ExportMismatchError
        If a label differs, or a probability by more than ``tolerance``; its ``rows`` has the places of these rows.
    ModelFileError
        If the ONNX model cannot be read or run.
    ValueError
        If it gives something else than labels and a matrix of probabilities, or ``X`` has no rows.

    Examples
    --------
    >>> import eifffel
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(500, random_state=0)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(people.data, people.target)
    >>> file = eifffel.to_onnx(forest)
    >>> eifffel.verify_export(forest, file, people.data).n_rows
    500
    """
    check_model(model)
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must be in [0, 1), got {tolerance}; probabilities of ONNX are good to about 1e-7")
    X = np.asarray(X) if isinstance(X, list | tuple) else X
    n_rows = _num_samples(X)
    if n_rows == 0:
        raise ValueError("X has no rows, and nothing can be compared on none; pass rows like those to be decided")
    session = open_session(onnx)
    outputs = _find_outputs(session)
    feed = feeder(session, X)
    other_label, off_by, missing = (np.zeros(n_rows, kind) for kind in (bool, float, bool))
    starts = range(0, n_rows, ROWS_AT_A_TIME)
    for start in tqdm(starts, desc="comparing", delay=1, disable=not verbose, leave=False):
        here = slice(start, min(start + ROWS_AT_A_TIME, n_rows))
        rows = _safe_indexing(X, np.arange(here.start, here.stop))
        fed = feed(rows)
        label, probability = session.run(outputs, fed)
        with parallel_config(backend="sequential"):  # one job adds the trees in their order, as one thread does there
            own_label, own_probability = _predict(model, rows)
        if probability.shape != own_probability.shape:
            raise ValueError(
                f"the ONNX model gives probabilities of shape {probability.shape}, and the model of shape "
                f"{own_probability.shape}; it is not an export of this model"
            )
        other_label[here] = _differ(label.ravel(), own_label)
        off_by[here] = np.abs(probability - own_probability).max(axis=1)
        missing[here] = missing_in(fed)
    other_probability = ~(off_by <= tolerance)  # also where one is not a number
    wrong = np.flatnonzero(other_label | other_probability)
    if len(wrong):
        raise ExportMismatchError(_words(n_rows, wrong, other_label, other_probability, off_by, missing), rows=wrong)
    return ExportCheck(n_rows, float(off_by.max()))


def _find_outputs(session: Any) -> list[str]:
    """The names of the outputs that are labels and probabilities, the first two."""
    outputs = session.get_outputs()
    if len(outputs) < 2 or outputs[1].type not in ("tensor(float)", "tensor(double)"):
        raise ValueError(
            f"the ONNX model must give labels and a matrix of probabilities, got "
            f"{', '.join(f'{output.name}: {output.type}' for output in outputs)}; export it with eifffel.to_onnx, or "
            "without zipmap"
        )
    return [output.name for output in outputs[:2]]


def _predict(model: Any, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels and the probabilities of the model itself."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict(rows)).ravel(), np.asarray(model.predict_proba(rows))
    view: Any = view_ensemble(model, favorable=1)  # a Booster, of the labels 0 and 1
    second = view.probability(rows)
    return view.model_decides(rows).astype(int), np.column_stack([1 - second, second])


def _differ(label: np.ndarray, own: np.ndarray) -> np.ndarray:
    if (label.dtype.kind in "OSU") != (own.dtype.kind in "OSU"):  # texts are no numbers, whatever they say
        return np.ones(len(own), bool)
    return np.asarray(label != own, bool)


def _words(
    n_rows: int,
    wrong: np.ndarray,
    other_label: np.ndarray,
    other_probability: np.ndarray,
    off_by: np.ndarray,
    missing: np.ndarray,
) -> str:
    shown = ", ".join(map(str, wrong[:ROWS_NAMED].tolist()))
    n_missing = np.count_nonzero(missing[wrong])
    gaps = "none of them holds" if n_missing == 0 else "all hold" if n_missing == len(wrong) else f"{n_missing:,} hold"
    return (
        f"the exported model is not the model and must not be deployed: of {n_rows:,} rows "
        f"{np.count_nonzero(other_label):,} have another label and {np.count_nonzero(other_probability):,} other "
        f"probabilities, by up to {off_by[wrong].max():.2g}. The rows, counted from 0, are {shown}"
        f"{', ...' if len(wrong) > ROWS_NAMED else ''}; {gaps} missing values"
    )
