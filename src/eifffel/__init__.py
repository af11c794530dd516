"""Make trained tree ensembles fair by editing their leaves."""

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
    "ModelChangedError",
    "ModelFileError",
    "NarrowProbabilitiesWarning",
    "NoRecordError",
    "PickleWarning",
    "PrivilegedGroupWarning",
    "Rule",
    "RepeatedRowsWarning",
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
