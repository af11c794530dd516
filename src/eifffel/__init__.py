"""Make trained tree ensembles fair by editing their leaves."""

# Public names are imported when they are first asked for: what they need takes seconds to load, and a command must hear
# Ctrl-C before that.
TYPE_CHECKING = False  # as type checkers know it; typing itself is not loaded for it
if TYPE_CHECKING:
    from eifffel._version import __version__
    from eifffel.aware_trees import DiscriminationAwareForestClassifier, DiscriminationAwareTreeClassifier
    from eifffel.classifier import EiFFFeLClassifier
    from eifffel.display import FairnessPathDisplay
    from eifffel.edits.record import undo
    from eifffel.edits.rules import Rule
    from eifffel.edits.storage import TRUSTED_TYPES, load, save
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
    from eifffel.selection.selection import Selection
    from eifffel.selection.verdict import Verdict
    from eifffel.tracing import trace_path

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
    "edits.record": ("undo",),
    "edits.rules": ("Rule",),
    "selection.selection": ("Selection",),
    "aware_trees": (
        "DiscriminationAwareForestClassifier",
        "DiscriminationAwareTreeClassifier",
    ),
    "edits.storage": (
        "TRUSTED_TYPES",
        "load",
        "save",
    ),
    "tracing": ("trace_path",),
    "selection.verdict": ("Verdict",),
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
