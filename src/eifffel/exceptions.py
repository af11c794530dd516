"""The errors and warnings that have a name of their own, and messages that name parameters."""

import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Part(NamedTuple):
    """A part of a message: its text as Python has it, and, where others have another, by what name they find it."""

    text: str
    name: str | None = None


class Message(str):
    """A sentence that knows where it names parameters: its text is as Python has it, and `say` has it otherwise.

    Sentences are put together with ``+``, from `parameter`, `wording` and plain text, in which nothing is replaced.
    """

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> "Message":
        message = super().__new__(cls, "".join(part.text for part in parts))
        message.parts = parts
        return message

    def __reduce__(self) -> tuple[Any, ...]:  # errors are pickled on their way from one process to another
        return Message, self.parts

    def __add__(self, other: str) -> "Message":
        return Message(*self.parts, *_parts_of(other))

    def __radd__(self, other: str) -> "Message":
        return Message(*_parts_of(other), *self.parts)

    def say(self, names: Mapping[str, str]) -> str:
        """The sentence with other ``names``; what they lack is said as in Python."""
        return "".join(text if name is None else names.get(name, text) for text, name in self.parts)

    @property
    def parameters(self) -> list[str]:
        """The parameters that it names, in their order."""
        return [name.partition("=")[0] for text, name in self.parts if name == text]


def _parts_of(text: str) -> tuple[Part, ...]:
    return text.parts if isinstance(text, Message) else (Part(text),)


def parameter(name: str) -> Message:
    """A parameter in a message, ``epsilon``, or one with what to set it to, ``overwrite=True``.

    It is added to the text around it: an f-string would forget that it is one.
    """
    return Message(Part(name, name))


def wording(name: str, text: str) -> Message:
    """What is typed in another form where it is no Python, and by what ``name`` that is found."""
    return Message(Part(text, name))


def message_of(error: BaseException) -> str:
    """What an error or a warning says; a `Message` where it was made with one."""
    return error.args[0] if error.args and isinstance(error.args[0], Message) else str(error)


class _AtFault(Exception):
    @property
    def parameter(self) -> str | None:
        """The parameter that the message names first; ``None`` if it names none."""
        message = message_of(self)
        return next(iter(message.parameters), None) if isinstance(message, Message) else None


class InputError(_AtFault, ValueError):
    """A parameter was given something that cannot be used.

    Where it is of a wrong type, the error is a ``TypeError`` as well.

    Attributes
    ----------
    parameter : str or None
        The parameter at fault, such as ``"epsilon"``.
    """


class InputTypeError(InputError, TypeError):
    """An `InputError` about a type."""


class UnsupportedModelError(_AtFault, TypeError):
    """The model is of a class, or trained in a mode, whose leaves eifffel cannot edit.

    Or in which it cannot be exported, or read as rules. The message says what to pass or to use instead.
    """


class ModelChangedError(ValueError):
    """The model's leaves are not those for which the path was traced, or which the record of its edit is of.

    It was refitted or edited since. Trace the path again; such an edit cannot be undone.
    """


class NoRecordError(ValueError):
    """The model carries no record of an edit, so that there is nothing to undo or to explain.

    Give what ``path.model_at`` gave, or what `eifffel.load` read from a file of `eifffel.save`: a model saved by its
    library's own means loses the record.
    """


class ModelFileError(_AtFault, ValueError):
    """A file that holds no model, a damaged one, or one that it is not safe to load.

    Also raised before a model is saved in such a file. If you trust the types that the message names, name them in
    ``trusted=``; if you trust the maker of a pickle, pass ``allow_pickle=True``.
    """


class ViewMismatchError(RuntimeError):
    """The decisions rebuilt from the leaves are not those of the model itself.

    Raised where a class overrides ``predict`` or ``predict_proba``: pass the plain ensemble inside it. Also where an
    edited model does not decide as its path says: trace or measure again if ``X`` was changed since, else report it.
    """


class FeaturesNeededError(RuntimeError):
    """The model must be asked about rows whose features were not kept.

    It reaches nobody: the pass over rows is made again with their features.
    """


class ExportMismatchError(ValueError):
    """An exported model does not decide as the model does, on rows that `eifffel.verify_export` compared.

    Do not deploy it; look at the rows, and export with `eifffel.to_onnx` if another converter made the file.

    Attributes
    ----------
    rows : ndarray
        The places of the rows that differ.
    """

    def __init__(self, message: str, rows: Any = ()):
        super().__init__(message)
        self.rows = rows


class ConstraintNotMetWarning(UserWarning):
    """What was asked for, such as a bound on discrimination, is not met by anything that could be chosen.

    The nearest is given, and ``met`` of a `Selection` is ``False``. The message says what to allow: a larger epsilon or
    alpha, less confidence, or more rows to choose on.
    """


class FewRowsWarning(UserWarning):
    """There are too few selection rows for what was asked of them, and it shows in what was chosen.

    With ``confidence``, where the step had to go so far that it favours the other group, or where a group is so small
    that the confidence is approximate. Choose on more rows, or allow a larger epsilon.
    """


class SeenRowsWarning(UserWarning):
    """A step was chosen on rows that the model knows, which says little of other people.

    Hold rows out: ``select_on=(X, y, sensitive_features)`` in `trace_path`, ``select_on="validation"`` in
    `EiFFFeLClassifier`. The paper's own ``rule="paper"`` does not warn.
    """


class RepeatedRowsWarning(UserWarning):
    """A step was chosen on rows that are there many times over, and each was counted as another person.

    Intervals are then too narrow, and confidence is too high. Give each person once.
    """


class PrivilegedGroupWarning(UserWarning):
    """The group given as privileged is not the one that the model favours, and edits will favour the other still more.

    Leave ``privileged`` out to lower the discrimination that there is.
    """


class IndistinctGroupsWarning(UserWarning):
    """The leaves of the model hardly tell the groups apart, so that shifting them is expensive.

    Look at ``path.accuracy`` before you choose a bound, or train with features that tell them apart.
    """


class HiddenMonotoneWarning(UserWarning):
    """The model looks as if it had been trained to be monotone, and its file would not say so; an edit may break that.

    Say ``monotone={}`` if it was not, or name the features, and it is refused.
    """


class NarrowProbabilitiesWarning(UserWarning):
    """The probabilities of an edited forest lie much nearer the cut-off than before.

    Its decisions are as measured. Calibrate a copy for its probabilities and decide with the edited model, or take
    ``strategy="leaf"``; ``path.scale(step)`` is the factor by which leaves were scaled.
    """


class StoredVersionWarning(UserWarning):
    """A model was stored with other versions of eifffel or of a model library than those that read it.

    It may not do the same here: compare its predictions with known ones, or install those versions.
    """


class PickleWarning(UserWarning):
    """A file was loaded that can run any code of its maker, because ``allow_pickle=True`` was passed.

    Save the model again with `eifffel.save`, and load that from then on.
    """


class DatasetError(_AtFault, OSError):
    """A file of a data set cannot be had, or is not the one that was published.

    Put the file that the message names into a folder, and name that in ``data_home`` or the variable EIFFFEL_DATA.
    """


def first_line(error: BaseException) -> str:
    """Return what an error of another library says, without its traceback."""
    lines = str(error).strip().splitlines()
    return (lines[0].rstrip(".") if lines else "") or type(error).__name__


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn with the line outside eifffel from which it was called."""
    package = str(Path(__file__).parent)
    frame = sys._getframe(1)
    level = 2  # of the frame above this one
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
