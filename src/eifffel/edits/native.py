"""Model files of LightGBM, XGBoost and CatBoost: read and written by these libraries, in their own forms."""

import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

from eifffel._utils.optional import import_optional
from eifffel.edits.file_checks import check_catboost_bytes, check_lightgbm_text, check_xgboost_bytes
from eifffel.ensembles import Wrappers, find_view
from eifffel.exceptions import ModelFileError, UnsupportedModelError, first_line


class Form(NamedTuple):
    """One library's files.

    Whether bytes look like one, of what type the model is, what must hold before the library sees it, how it is read,
    and how it is written.
    """

    looks_like: Callable[[bytes], bool]
    kind: str
    check: Callable[[bytes], None]
    read: Callable[[Any, bytes], Any]
    write: Callable[[Any], bytes]


def _load_lightgbm(library: Any, data: bytes) -> Any:
    return library.Booster(model_str=data.decode())


def _load_xgboost(library: Any, data: bytes) -> Any:
    booster = library.Booster()
    booster.load_model(bytearray(data))
    find_view(booster)  # raises if it is not known by which of its trees it is to decide
    return booster


def _write_catboost(model: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.cbm"
        model.save_model(str(file))
        return file.read_bytes()


NATIVE_FORMS = {
    "lightgbm": Form(
        lambda data: data[:40].splitlines()[:1] == [b"tree"],
        "lightgbm.basic.Booster",
        lambda data: check_lightgbm_text(data.decode()),
        _load_lightgbm,
        lambda model: getattr(model, "booster_", model).model_to_string().encode(),
    ),
    "xgboost": Form(
        lambda data: data.lstrip()[:1] == b"{" and b"learner" in data[:200],  # JSON, and its binary form
        "xgboost.core.Booster",
        check_xgboost_bytes,
        _load_xgboost,
        lambda model: bytes((model if hasattr(model, "save_raw") else model.get_booster()).save_raw(raw_format="json")),
    ),
    "catboost": Form(
        lambda data: data[:4] == b"CBM1",
        "catboost.core.CatBoostClassifier",
        check_catboost_bytes,
        lambda library, data: library.CatBoostClassifier().load_model(blob=data),
        _write_catboost,
    ),
}


def read_native(path: Path, data: bytes, trusted: Collection[str] = ()) -> Any:
    """The model in a library's own file; ``None`` if it is of none of them.

    Models of the types in ``trusted`` are given to their library without a look.
    """
    for name, form in NATIVE_FORMS.items():
        if form.looks_like(data):
            library = import_optional(name, f"'{path}' is a model file of {name}, and reading it needs")
            try:
                if form.kind not in trusted:
                    form.check(data)
                return form.read(library, data)
            except Exception as error:  # whatever a damaged file makes the library stumble over
                raise ModelFileError(f"'{path}' cannot be read as a model of {name}: {first_line(error)}") from error
    return None


def write_native(model: Any) -> bytes:
    """A model as its library's own file has it: the edited leaves, and nothing of eifffel's."""
    wrappers = Wrappers(model)
    library = type(wrappers.ensemble).__module__.partition(".")[0]
    if library not in NATIVE_FORMS or wrappers.layers:
        inside = "a part of it" if wrappers.layers else "it"
        raise UnsupportedModelError(
            f"a {type(model).__name__} has no file of its own that other programs read; {', '.join(NATIVE_FORMS)} have "
            f"one for their models by themselves. Save {inside} with eifffel.save, or export it to ONNX"
        )
    return NATIVE_FORMS[library].write(wrappers.ensemble)
