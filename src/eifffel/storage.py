"""save and load: models in files that run no code when they are read."""

import io
import json
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import sklearn

from eifffel._optional import import_optional
from eifffel._version import __version__
from eifffel._writing import check_target, write_whole
from eifffel.ensembles import Around
from eifffel.exceptions import ModelFileError, PickleWarning, StoredVersionWarning, first_line, warn_caller
from eifffel.native import read_native
from eifffel.record import RECORD_KEYS, attach_record, edited_model, find_record

FORMAT = 1
# A member of the zip file beside skops's own.
ABOUT = "eifffel.json"
# Models are several times as large unpacked as packed; what is much larger fills the memory and is none.
LARGEST_RATIO = 200
LARGEST_ALWAYS = 100_000_000

TRUSTED_TYPES = (
    "catboost.core.CatBoostClassifier",
    "collections.OrderedDict",
    "eifffel.classifier.EiFFFeLClassifier",
    "eifffel.constraints.Constraint",
    "eifffel.rows.groups.Groups",
    "eifffel.rows.labels.LabelSets",
    "eifffel.leaves.counting.LeafCounts",
    "eifffel.path.FairnessPath",
    "eifffel.path_counts.PathCounts",
    "eifffel.selection.Selection",
    "eifffel.splitting.DiscriminationAwareForestClassifier",
    "eifffel.splitting.DiscriminationAwareTreeClassifier",
    "eifffel.strategies._flips.FlipOrder",
    "eifffel.strategies._shift.ShiftOrder",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "numpy.dtype",
    "sklearn._loss.link.HalfLogitLink",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.loss.ExponentialLoss",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn.compose._column_transformer._RemainderColsList",  # up to scikit-learn 1.6
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
    "xgboost.sklearn.XGBRFClassifier",
)
"""The types that a model file may hold, beside those that skops trusts itself: arrays, scikit-learn's estimators."""


def save(model: Any, path: str | Path, *, overwrite: bool = False, trusted: Sequence[str] = ()) -> None:
    """Write a model to a file that can be read without running code from it.

    The file is one of skops; `skops.io.load` reads it too. The record of an edit goes with the model.

    Parameters
    ----------
    model : fitted model or EiFFFeLClassifier
        Edited or not.
    path : str or Path
        Usually ends in ``.skops``. It is written under a temporary name and renamed.
    overwrite : bool
        Whether a file that exists may be replaced.
    trusted : sequence of str
        Types of your own, such as ``"my_package.MyTransformer"``, that the model holds beside `TRUSTED_TYPES`. They
        must be named again to load the file.

    Raises
    ------
    ModelFileError
        If the model holds types that `load` would refuse.
    ModuleNotFoundError
        If skops is not installed.
    OSError
        If the file exists and ``overwrite`` is not said, or it cannot be written.

    See Also
    --------
    load : Reads it.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import eifffel
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(500, random_state=0)
    >>> forest = RandomForestClassifier(5, random_state=0)
    >>> clf = eifffel.EiFFFeLClassifier(forest, epsilon=0.1, random_state=0)
    >>> clf = clf.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     eifffel.save(clf, f"{folder}/model.skops")
    ...     same = eifffel.load(f"{folder}/model.skops")
    >>> bool((same.predict(people.data) == clf.predict(people.data)).all())
    True
    """
    sio = import_optional("skops.io", "saving and loading models need")
    target = Path(path)
    check_target(target, overwrite=overwrite)
    buffer = io.BytesIO(_dump(sio, model, trusted))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(ABOUT, json.dumps({"format": FORMAT, "versions": _versions(model)}))
    write_whole(target, buffer.getvalue(), overwrite=overwrite)


def check_storable(model: Any) -> None:
    """Raise, before any work is done, if a model could not be saved."""
    _dump(import_optional("skops.io", "saving and loading models need"), model, ())


def _dump(sio: Any, model: Any, trusted: Sequence[str]) -> bytes:
    payload = {"model": model, "record": find_record(model)}
    data: bytes = sio.dumps(payload, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
    unknown = _untrusted(sio, data, trusted)
    if unknown:
        raise ModelFileError(
            f"this {type(model).__name__} holds {', '.join(unknown)}, which eifffel.load would refuse; name what you "
            "trust in trusted=, here and when you load it"
        )
    return data


def load(path: str | Path, *, allow_pickle: bool = False, trusted: Sequence[str] = ()) -> Any:
    """Read a model from a file.

    Parameters
    ----------
    path : str or Path
        Written by `save`, or by skops; or LightGBM's, XGBoost's or CatBoost's own file, which that library reads.
    allow_pickle : bool
        Whether a pickle or a joblib file may be loaded. Such a file can run any code: do it only if you trust whoever
        made it.
    trusted : sequence of str
        Types that the file may hold beside `TRUSTED_TYPES`.

    Returns
    -------
    model
        As it was saved; an edited one carries the record of its edit, for `undo`.

    Raises
    ------
    ModelFileError
        If there is no such file, it holds no model, it is damaged, or it is not safe to load; the message says which.

    Warns
    -----
    StoredVersionWarning
        If it was written with other versions of eifffel or of the model's library.
    PickleWarning
        If it is a pickle, and ``allow_pickle`` is said.

    See Also
    --------
    save : Writes such a file.
    undo : The model as it was before its edit.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import eifffel
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     eifffel.save(DecisionTreeClassifier().fit([[20], [30]], [0, 1]), f"{folder}/model.skops")
    ...     model = eifffel.load(f"{folder}/model.skops")
    >>> model.predict([[18], [40]]).tolist()
    [0, 1]
    """
    path = Path(path)
    data = _read(path)
    if not zipfile.is_zipfile(io.BytesIO(data)):
        native = read_native(path, data)
        return _load_pickle(path, data, allow_pickle) if native is None else native
    sio = import_optional("skops.io", "saving and loading models need")
    stored_with: dict[str, str] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > max(LARGEST_RATIO * len(data), LARGEST_ALWAYS):
                raise ModelFileError(
                    f"'{path}' would be more than {LARGEST_RATIO} times as large unpacked; no model is"
                )
            damaged = archive.testzip()
            if damaged is not None:
                raise zipfile.BadZipFile(f"{damaged} is damaged")
            about = json.loads(archive.read(ABOUT)) if ABOUT in archive.namelist() else None
            if about is None and "schema.json" not in archive.namelist():
                raise ModelFileError(f"'{path}' is a zip file, but not one of skops: it holds no model")
        if about is not None:
            _check_about(path, about)
            stored_with = about["versions"]
        unknown = _untrusted(sio, data, trusted)
        if unknown:
            raise ModelFileError(
                f"'{path}' holds {', '.join(unknown)}, which is not loaded: a file can do harm by it. If you know what "
                "it is and trust whoever made the file, name it in trusted="
            )
        loaded = sio.loads(data, trusted=[*TRUSTED_TYPES, *trusted])
    except ModelFileError:
        raise
    except Exception as error:  # whatever a damaged or a foreign file makes skops or a model library stumble over
        raise ModelFileError(f"'{path}' cannot be read as a model{_why(stored_with)}: {first_line(error)}") from error
    _check_nodes(path, loaded)
    _warn_of_versions(path, stored_with)
    if about is None:
        return loaded
    if not isinstance(loaded, dict) or set(loaded) != {"model", "record"} or not _is_record(loaded["record"]):
        raise ModelFileError(f"'{path}' does not hold a model and the record of its edit, as files of eifffel do")
    if loaded["record"] is not None and find_record(loaded["model"]) is None:  # CatBoost's own copies forget it
        attach_record(loaded["model"], loaded["record"])
    return loaded["model"]


def _is_record(record: Any) -> bool:
    return record is None or (isinstance(record, dict) and set(RECORD_KEYS) <= set(record))


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise ModelFileError(f"'{path}' is a folder; name the file of a model")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelFileError(f"there is no file '{path}'; check the name") from None
    except PermissionError:
        raise ModelFileError(f"no permission to read '{path}'") from None
    if not data:
        raise ModelFileError(f"'{path}' is empty; it holds no model")
    return data


def _load_pickle(path: Path, data: bytes, allow_pickle: bool) -> Any:
    if data.startswith(b"PK"):
        raise ModelFileError(f"'{path}' is cut off or damaged: it begins as a model file and does not end as one")
    if not allow_pickle:
        raise ModelFileError(
            f"'{path}' is no skops file. If it is a pickle or a joblib file, loading it can run any code: only if you "
            "trust whoever made it, pass allow_pickle=True, and save the model anew with eifffel.save"
        )
    warn_caller(f"loading '{path}' as a pickle, which can run any code of whoever made it", PickleWarning)
    try:
        return joblib.load(path)
    except Exception as error:  # a pickle can raise anything
        raise ModelFileError(f"'{path}' cannot be read as a pickle or a joblib file: {first_line(error)}") from error


def _untrusted(sio: Any, data: bytes, trusted: Sequence[str]) -> list[str]:
    return sorted(set(sio.get_untrusted_types(data=data)) - {*TRUSTED_TYPES, *trusted})


def _versions(model: Any) -> dict[str, str]:
    """Of what decides whether a file can be read, and whether the model then does the same."""
    ensemble = Around(edited_model(model)).ensemble
    library = type(ensemble).__module__.partition(".")[0]
    versions = {"eifffel": __version__, "scikit-learn": sklearn.__version__}
    if library in ("lightgbm", "xgboost", "catboost"):
        versions[library] = sys.modules[library].__version__
    return versions


def _check_about(path: Path, about: Any) -> None:
    if about["format"] > FORMAT:
        raise ModelFileError(
            f"'{path}' was written by eifffel {about['versions']['eifffel']} in a form that this version, "
            f"{__version__}, does not know; upgrade eifffel"
        )


def _differing(stored_with: dict[str, str]) -> Iterator[str]:
    for library, stored in stored_with.items():
        here = {"eifffel": __version__, "scikit-learn": sklearn.__version__}.get(library)
        if here is None:
            here = getattr(sys.modules.get(library), "__version__", "not installed")
        if here != stored:
            yield f"{library} {stored} (here: {here})"


def _why(stored_with: dict[str, str]) -> str:
    differing = list(_differing(stored_with))
    return f", perhaps because it was written with {', '.join(differing)}" if differing else ""


def _warn_of_versions(path: Path, stored_with: dict[str, str]) -> None:
    differing = list(_differing(stored_with))
    if differing:
        warn_caller(
            f"'{path}' was written with {', '.join(differing)}: it may not do the same here. Compare its predictions "
            "with known ones, or save it anew",
            StoredVersionWarning,
        )


def _check_nodes(path: Path, loaded: Any) -> None:
    """Raise if a tree points outside its own arrays, where scikit-learn would read whatever is in memory."""
    if not all(_points_inside(tree, n_features) for tree, n_features in _trees_in(loaded)):
        raise ModelFileError(
            f"'{path}' holds a tree whose nodes point outside of it; it is damaged, or made to do harm"
        )


def _points_inside(tree: Any, n_features: float) -> bool:
    if hasattr(tree, "nodes"):  # HistGradientBoosting's
        inner = np.flatnonzero(tree.nodes["is_leaf"] == 0)
        left, right, feature = (tree.nodes[name][inner].astype(np.int64) for name in ("left", "right", "feature_idx"))
        n_nodes = len(tree.nodes)
        categorical = inner[tree.nodes["is_categorical"][inner] != 0]
        if (tree.nodes["bitset_idx"][categorical] >= len(tree.raw_left_cat_bitsets)).any():
            return False
    else:
        inner = np.flatnonzero(tree.children_left != -1)
        left, right, feature = (array[inner] for array in (tree.children_left, tree.children_right, tree.feature))
        n_nodes = tree.node_count
    if n_features == np.inf:  # nobody checks how many columns reach it
        return False
    # Children come after their parents, so that no way through a tree is endless.
    children = all(((child > inner) & (child < n_nodes)).all() for child in (left, right))
    return children and bool(((feature >= 0) & (feature < n_features)).all())


def _trees_in(loaded: Any) -> Iterator[tuple[Any, float]]:
    """The trees of scikit-learn anywhere in an object, each with the number of columns that reach it."""
    pending, seen = [(loaded, np.inf)], set()
    while pending:
        item, n_features = pending.pop()
        if (id(item), n_features) in seen or isinstance(item, str | bytes | int | float | None):
            continue
        seen.add((id(item), n_features))
        module = type(item).__module__
        inside: Iterable[Any] = ()
        if type(item).__name__ in ("Tree", "TreePredictor") and module.startswith("sklearn."):
            yield item, n_features
        elif isinstance(item, dict):
            inside = item.values()
        elif isinstance(item, list | tuple | set):
            inside = item
        elif isinstance(item, np.ndarray):
            inside = item.ravel().tolist() if item.dtype == object else ()
        elif hasattr(item, "__dict__"):
            inside = vars(item).values()
            # An ensemble hands its columns to its trees; what else is around it may make others of them.
            hands_on = module.startswith(("sklearn.ensemble.", "sklearn.tree.", "eifffel.splitting"))
            n_features = min(n_features, vars(item).get("n_features_in_", np.inf)) if hands_on else np.inf
        pending.extend((other, n_features) for other in inside)
