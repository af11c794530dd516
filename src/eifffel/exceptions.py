"""The errors and warnings that have a name of their own."""

import sys
import warnings
from pathlib import Path
from typing import Any


class UnsupportedModelError(TypeError):
    """The model is of a class, or trained in a mode, whose leaves eifffel cannot edit."""


class ModelChangedError(ValueError):
    """The model's leaves are not those for which the path was traced."""


class NoRecordError(ValueError):
    """The model carries no record of an edit."""


class ModelFileError(ValueError):
    """A file that holds no model, a damaged one, or one that it is not safe to load."""


class ViewMismatchError(RuntimeError):
    """The decisions rebuilt from the leaves are not those of the model itself."""


class ExportMismatchError(ValueError):
    """An exported model does not decide as the model does.

    Attributes
    ----------
    rows : ndarray
        The places of the rows that differ.
    """

    def __init__(self, message: str, rows: Any = ()):
        super().__init__(message)
        self.rows = rows


class ConstraintNotMetWarning(UserWarning):
    """What was asked for, such as a bound on discrimination, is not met by anything that could be chosen."""


class FewRowsWarning(UserWarning):
    """There are too few selection rows for what was asked of them, and it shows in what was chosen."""


class SeenRowsWarning(UserWarning):
    """A step was chosen on rows that the model knows, which says little of other people."""


class PrivilegedGroupWarning(UserWarning):
    """The group given as privileged is not the one that the model favours."""


class IndistinctGroupsWarning(UserWarning):
    """The leaves of the model hardly tell the groups apart, so that shifting them is expensive."""


class NarrowProbabilitiesWarning(UserWarning):
    """The probabilities of an edited forest lie much nearer the cut-off than before."""


class StoredVersionWarning(UserWarning):
    """A model was stored with other versions of eifffel or of a model library than those that read it."""


class PickleWarning(UserWarning):
    """A file was loaded that can run any code of whoever made it."""


class DatasetError(OSError):
    """A file of a data set cannot be had, or is not the one that was published."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn with the line outside eifffel from which it was called."""
    package = str(Path(__file__).parent)
    frame = sys._getframe(1)
    level = 2  # of the frame above this one
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
