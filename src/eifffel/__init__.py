"""Make trained tree ensembles fair by editing their leaves."""

from eifffel.classifier import EiFFFeLClassifier
from eifffel.display import FairnessPathDisplay
from eifffel.ensembles import view_ensemble
from eifffel.exceptions import (
    ConstraintNotMetWarning,
    IndistinctGroupsWarning,
    ModelChangedError,
    NarrowProbabilitiesWarning,
    PrivilegedGroupWarning,
    UnsupportedModelError,
    ViewMismatchError,
)
from eifffel.path import FairnessPath
from eifffel.rules import Rule
from eifffel.selection import Selection
from eifffel.splitting import DiscriminationAwareForestClassifier, DiscriminationAwareTreeClassifier
from eifffel.tracing import trace_path

__version__ = "0.1.0.dev0"

__all__ = [
    "ConstraintNotMetWarning",
    "DiscriminationAwareForestClassifier",
    "DiscriminationAwareTreeClassifier",
    "EiFFFeLClassifier",
    "FairnessPath",
    "FairnessPathDisplay",
    "IndistinctGroupsWarning",
    "ModelChangedError",
    "NarrowProbabilitiesWarning",
    "PrivilegedGroupWarning",
    "Rule",
    "Selection",
    "UnsupportedModelError",
    "ViewMismatchError",
    "trace_path",
    "view_ensemble",
]
