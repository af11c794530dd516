"""Make trained tree ensembles fair by editing their leaves."""

# Public names are imported when they are first asked for: what they need takes seconds to load, and a command must hear
# Ctrl-C before that.
TYPE_CHECKING = False  # as type checkers know it; typing itself is not loaded for it
if TYPE_CHECKING:
    from eifffel._version import __version__
    from eifffel.classifier import EiFFFeLClassifier
    from eifffel.display import FairnessPathDisplay
    from eifffel.ensembles import view_ensemble
    from eifffel.exceptions import (
        ConstraintNotMetWarning,
        DatasetError,
        ExportMismatchError,
        FewRowsWarning,
        HiddenMonotoneWarning,
        IndistinctGroupsWarning,
        InputError,
        ModelChangedError,
        ModelFileError,
        NarrowProbabilitiesWarning,
        NoRecordError,
        PickleWarning,
        PrivilegedGroupWarning,
        RepeatedRowsWarning,
        SeenRowsWarning,
        StoredVersionWarning,
        UnsupportedModelError,
        ViewMismatchError,
    )
    from eifffel.export import ExportCheck, to_onnx, verify_export
    from eifffel.path import FairnessPath
    from eifffel.record import undo
    from eifffel.rules import Rule
    from eifffel.selection import Selection
    from eifffel.splitting import DiscriminationAwareForestClassifier, DiscriminationAwareTreeClassifier
    from eifffel.storage import TRUSTED_TYPES, load, save
    from eifffel.tracing import trace_path
    from eifffel.verdict import Verdict

__all__ = [
    "ConstraintNotMetWarning",
    "DatasetError",
    "DiscriminationAwareForestClassifier",
    "DiscriminationAwareTreeClassifier",
    "EiFFFeLClassifier",
    "ExportCheck",
    "ExportMismatchError",
    "FairnessPath",
    "FairnessPathDisplay",
    "FewRowsWarning",
    "HiddenMonotoneWarning",
    "IndistinctGroupsWarning",
    "InputError",
    "ModelChangedError",
    "ModelFileError",
    "NarrowProbabilitiesWarning",
    "NoRecordError",
    "PickleWarning",
    "PrivilegedGroupWarning",
    "RepeatedRowsWarning",
    "Rule",
    "SeenRowsWarning",
    "Selection",
    "StoredVersionWarning",
    "TRUSTED_TYPES",
    "UnsupportedModelError",
    "Verdict",
    "ViewMismatchError",
    "__version__",
    "load",
    "save",
    "to_onnx",
    "trace_path",
    "undo",
    "verify_export",
    "view_ensemble",
]

_HOMES = {
    "_version": ("__version__",),
    "classifier": ("EiFFFeLClassifier",),
    "display": ("FairnessPathDisplay",),
    "ensembles": ("view_ensemble",),
    "exceptions": (
        "ConstraintNotMetWarning",
        "DatasetError",
        "ExportMismatchError",
        "FewRowsWarning",
        "HiddenMonotoneWarning",
        "IndistinctGroupsWarning",
        "InputError",
        "ModelChangedError",
        "ModelFileError",
        "NarrowProbabilitiesWarning",
        "NoRecordError",
        "PickleWarning",
        "PrivilegedGroupWarning",
        "RepeatedRowsWarning",
        "SeenRowsWarning",
        "StoredVersionWarning",
        "UnsupportedModelError",
        "ViewMismatchError",
    ),
    "export": (
        "ExportCheck",
        "to_onnx",
        "verify_export",
    ),
    "path": ("FairnessPath",),
    "record": ("undo",),
    "rules": ("Rule",),
    "selection": ("Selection",),
    "splitting": (
        "DiscriminationAwareForestClassifier",
        "DiscriminationAwareTreeClassifier",
    ),
    "storage": (
        "TRUSTED_TYPES",
        "load",
        "save",
    ),
    "tracing": ("trace_path",),
    "verdict": ("Verdict",),
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # else any name would seem to be there

    def __getattr__(name):
        from importlib import import_module

        for home, names in _HOMES.items():
            if name in names:
                found = globals()[name] = getattr(import_module(f"eifffel.{home}"), name)
                return found
        if not name.startswith("_"):
            try:
                return import_module(f"eifffel.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"eifffel.{name}":  # something that the module itself needs
                    raise
        raise AttributeError(f"module 'eifffel' has no attribute {name!r}")
