"""save and load: models in files that run no code when they are read."""

import io
import json
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib
import sklearn

from eifffel._utils.optional import import_optional
from eifffel._utils.writing import check_target, write_whole
from eifffel._version import __version__
from eifffel.edits.file_checks import (
    TRUSTED_MAKERS,
    DamageError,
    check_boosters,
    check_loaded,
    check_record,
    find_unchecked,
    guard_schema,
)
from eifffel.edits.native import read_native
from eifffel.edits.record import attach_record, edited_model, find_record
from eifffel.ensembles import Wrappers
from eifffel.exceptions import (
    ModelFileError,
    PickleWarning,
    StoredVersionWarning,
    first_line,
    parameter,
    warn_caller,
    wording,
)

FORMAT = 7
# A member of the zip file beside skops's own.
ABOUT = "eifffel.json"
# Models are several times as large unpacked as packed; what is much larger fills the memory and is no model.
LARGEST_RATIO = 200
LARGEST_ALWAYS = 100_000_000

TRUSTED_TYPES = (
    "catboost.core.CatBoostClassifier",
    "collections.OrderedDict",
    "eifffel.classifier.EiFFFeLClassifier",
    "eifffel.selection.bounds.Bounds",
    "eifffel.comparison.Compared",
    "eifffel.constraints.Constraint",
    "eifffel.rows.groups.Groups",
    "eifffel.rows.labels.LabelSets",
    "eifffel.leaves.counting.LeafCounts",
    "eifffel.path.FairnessPath",
    "eifffel.selection.counts.PathCounts",
    "eifffel.selection.raised_errors.RaisedError",
    "eifffel.selection.selection.Selection",
    "eifffel.selection.shortfall.Shortfall",
    "eifffel.aware_trees.DiscriminationAwareForestClassifier",
    "eifffel.aware_trees.DiscriminationAwareTreeClassifier",
    "eifffel.strategies._flips.FlipOrder",
    "eifffel.strategies._curve.ShiftOrder",
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
            f"this {type(model).__name__} holds {', '.join(unknown)}, which eifffel.load would refuse; "
            + wording("trusted", "name what you trust in trusted=, here and when you load it")
        )
    try:
        check_boosters(model, trusted)
    except DamageError as error:
        raise ModelFileError(
            f"this {type(model).__name__} holds {error}, which eifffel.load would refuse; name its type in trusted=, "
            "here and when you load it, or save it by its library's own means"
        ) from error
    return data


def load(path: str | Path, *, allow_pickle: bool = False, trusted: Sequence[str] = ()) -> Any:
    """Read a model from a file.

    Parameters
    ----------
    path : str or Path
        Written by `save`, or by skops; or LightGBM's, XGBoost's or CatBoost's own file, which that library reads.
    allow_pickle : bool
        Whether a pickle or a joblib file may be loaded. Such a file can run any code: do it only if you trust its
        maker.
    trusted : sequence of str
        Types that the file may hold beside `TRUSTED_TYPES`. The booster of a type that is named here is given to its
        library without a look: do it only if you trust the maker of the file.

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
    data = _read_bytes(path)
    if not zipfile.is_zipfile(io.BytesIO(data)):
        native = read_native(path, data, trusted)
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
            about = _read_about(path, archive.read(ABOUT)) if ABOUT in archive.namelist() else None
            if about is None and "schema.json" not in archive.namelist():
                raise ModelFileError(f"'{path}' is a zip file, but not one of skops: it holds no model")
        if about is not None:
            stored_with = about
        unknown = _untrusted(sio, data, trusted)
        if unknown:
            raise ModelFileError(
                f"'{path}' holds {', '.join(unknown)}, which is not loaded: a file can do harm by it. If you know what "
                "it is and trust whoever made the file, name it in trusted="
            )
        loaded = sio.loads(
            guard_schema(data, TRUSTED_TYPES, unseen=trusted), trusted=[*TRUSTED_TYPES, *TRUSTED_MAKERS, *trusted]
        )
        check_loaded(loaded)
        model, record = (loaded, None) if about is None else _split(path, loaded)
        own_record = find_record(model)
        check_record(own_record)
        if own_record is None:  # CatBoost's own copies forget it
            attach_record(model, record)
    except ModelFileError:
        raise
    except DamageError as error:
        raise ModelFileError(f"'{path}' holds {error}; it is damaged, or made to do harm") from error
    except Exception as error:  # whatever a damaged or a foreign file makes skops or a model library stumble over
        raise ModelFileError(f"'{path}' cannot be read as a model{_why(stored_with)}: {first_line(error)}") from error
    _warn_of_versions(path, stored_with)
    return model


def _split(path: Path, loaded: Any) -> tuple[Any, dict[str, Any] | None]:
    """The model and the record of its edit, as files of eifffel hold them."""
    if not isinstance(loaded, dict) or set(loaded) != {"model", "record"}:
        raise ModelFileError(f"'{path}' does not hold a model and the record of its edit, as files of eifffel do")
    check_record(loaded["record"])
    return loaded["model"], loaded["record"]


def _read_bytes(path: Path) -> bytes:
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
            "trust whoever made it, pass "
            + parameter("allow_pickle=True")
            + ", and save the model again with eifffel.save"
        )
    warn_caller(f"loading '{path}' as a pickle, which can run any code of whoever made it", PickleWarning)
    try:
        return joblib.load(path)
    except Exception as error:  # a pickle can raise anything
        raise ModelFileError(f"'{path}' cannot be read as a pickle or a joblib file: {first_line(error)}") from error


def _untrusted(sio: Any, data: bytes, trusted: Sequence[str]) -> list[str]:
    found = {*sio.get_untrusted_types(data=data), *find_unchecked(data)}
    return sorted(found - {*TRUSTED_TYPES, *trusted})


def _versions(model: Any) -> dict[str, str]:
    """Of what decides whether a file can be read, and whether the model then does the same."""
    ensemble = Wrappers(edited_model(model)).ensemble
    library = type(ensemble).__module__.partition(".")[0]
    versions = {"eifffel": __version__, "scikit-learn": sklearn.__version__}
    if library in ("lightgbm", "xgboost", "catboost"):
        versions[library] = sys.modules[library].__version__
    return versions


def _read_about(path: Path, data: bytes) -> dict[str, str]:
    """The versions that a file was written with; raises unless this version of eifffel knows its form."""
    try:
        about = json.loads(data)
        versions, form = about["versions"], about["format"]
        known = all(isinstance(word, str) for pair in versions.items() for word in pair)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        known = False
    if not known:
        raise ModelFileError(
            f"'{path}' does not say in its {ABOUT} which versions wrote it and in which form; it is damaged. Save the "
            "model again with eifffel.save"
        )
    if type(form) is not int or form != FORMAT:
        writer = f"eifffel {versions['eifffel']}" if "eifffel" in versions else "an unknown version of eifffel"
        newer = isinstance(form, int) and form > FORMAT
        remedy = "upgrade eifffel" if newer else "save the model again with eifffel.save, where it can be read"
        raise ModelFileError(
            f"'{path}' was written by {writer} in the form {form!r}, which this version, {__version__}, does not know: "
            f"it reads the form {FORMAT}; {remedy}"
        )
    return dict(versions)


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
            "with known ones, or save it again",
            StoredVersionWarning,
        )
