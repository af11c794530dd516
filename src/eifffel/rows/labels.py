"""Labels: which one is favourable, and sets of labels that stand for it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import type_of_target

from eifffel._utils.validation import check_known, equal, listed, place, read_column
from eifffel.exceptions import InputError, parameter

# What several labels may come in.
COLLECTIONS = (set, frozenset, list, tuple)
# Labels of which it is known that 1 is the good one.
ONE_AND_OTHER = ([0, 1], [-1, 1])


def check_favorable(classes: np.ndarray, favorable: Any) -> int:
    """The index of the favourable class in the two ``classes``.

    Labels 0/1, -1/1 and booleans default to the larger; what other labels mean only the caller knows.
    """
    if favorable is not None:
        rule = parameter("favorable") + f" must be one of the labels {listed(classes.tolist())}"
        return place(rule, classes.tolist(), favorable)
    if classes.tolist() not in ONE_AND_OTHER:
        raise InputError(
            f"the labels are {listed(classes.tolist())}: pass "
            + parameter("favorable")
            + "=, the label that is the good outcome for "
            "a person. Only for labels 0/1, -1/1 and booleans is the larger one taken by default"
        )
    return 1


def split_favorable(
    favorable: Any, labels: Sequence[Any] | None = None, classes: Sequence[Any] | None = None
) -> tuple[Any, frozenset[Any] | None]:
    """The favourable label of a model, and the labels that it stands for where these are others.

    A set of several labels stands for 1 against all others, one label where there are more than two ``labels``, and
    also where the ``classes`` of a model are 0 and 1 and the labels are words.
    """
    named = favorable if isinstance(favorable, COLLECTIONS) else (favorable,)
    if not named:
        raise InputError(
            parameter("favorable") + " is empty; name the label, or the labels, that are good for a person"
        )
    if len(named) == 1:
        label = next(iter(named))
        several = isinstance(favorable, COLLECTIONS) and labels is not None and len(labels) > 2
        if not several and not _is_word_for_one(label, labels, classes):
            return label, None
    if classes is not None and list(classes) not in ONE_AND_OTHER:
        raise InputError(
            parameter("favorable")
            + f" names {listed(sorted(named, key=str))} as a set, which stands for the 1 of a model that was "
            f"trained on 0 and 1, and this one was trained on {listed(classes)}; name one of these, and give y in them"
        )
    return 1, frozenset(named)


def _is_word_for_one(label: Any, labels: Sequence[Any] | None, classes: Sequence[Any] | None) -> bool:
    """Whether a label of a table stands for the 1 of a model that was trained on 0 and 1."""
    if label is None or labels is None or classes is None or list(classes) != [0, 1]:
        return False
    return not any(equal(label, known) for known in classes) and any(equal(label, value) for value in labels)


class LabelSets(NamedTuple):
    """The labels of a table that stand for the favourable class, and all others that it had."""

    good: tuple[Any, ...]
    bad: tuple[Any, ...]

    @classmethod
    def of(cls, good: Iterable[Any], bad: Iterable[Any]) -> "LabelSets":
        """Each label once, in the order of what they are called."""
        return cls(*(tuple(sorted(set(labels), key=str)) for labels in (good, bad)))

    def join(self, name: str, y: Any) -> np.ndarray:
        """Return 1 where a label is good, else 0; none may be unknown."""
        values, distinct, _ = read_column(name, y)
        self.check(name, distinct)
        return self.code(values)

    def code(self, labels: np.ndarray) -> np.ndarray:
        """Return 1 where a label is good, else 0."""
        return np.isin(labels, list(self.good)).astype(np.uint8)

    def check(self, name: str, labels: Sequence[Any], find: Callable[[Any], str] | None = None) -> None:
        """Raise if one of the labels is unknown; ``find`` says where it is."""
        check_known(name, labels, [*self.good, *self.bad], "the labels", find=find)


def find_label_sets(name: str, labels: Sequence[Any], good: frozenset[Any], also: Sequence[Any] = ()) -> LabelSets:
    """Which of the ``labels`` are good and which are not; each good one must occur, so that none is misspelt.

    ``also`` are labels of other rows; some of the other labels may occur only there.
    """
    unknown = [label for label in good if not any(equal(label, value) for value in labels)]
    if unknown:
        known = f"not among the labels of {name}, {listed(labels)}"
        raise InputError(parameter("favorable") + f" names {listed(unknown)}, " + known)
    return LabelSets.of(good, frozenset([*labels, *also]) - good)


def read_labels(name: str, y: Any) -> list[Any] | None:
    """The distinct labels of ``y``, sorted; ``None`` if there is none."""
    return None if y is None else read_column(name, y)[1]


def check_binary_labels(y: Any, *, sets: bool = False, favorable: Any = None) -> np.ndarray:
    """The two labels in ``y``, sorted, before any model has seen it.

    Where there are more, what to do depends on whether ``favorable``, as it was given, may be a set of labels.
    """
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    values, distinct, _ = read_column("y", y)
    check_two_labels(distinct, sets=sets, favorable=favorable)
    # Strings in a list get the type that NumPy gives them, as scikit-learn has it.
    return np.array(distinct, dtype=None if isinstance(y, list | tuple) else values.dtype)


def check_two_labels(labels: Sequence[Any], *, sets: bool = False, favorable: Any = None) -> None:
    """Raise unless these are two labels; see `check_binary_labels`."""
    if not labels:
        raise ValueError("y has no rows")
    if len(labels) == 1:
        raise ValueError(f"y must have two labels, got only {listed(labels)}: one class is nothing to learn from")
    if len(labels) == 2:
        return
    kind = type_of_target(np.array(labels))
    good = next((label for label in labels if equal(label, favorable)), labels[-1])
    if kind.startswith("continuous"):
        remedy = f"give y as two, such as y > {labels[len(labels) // 2]:g}"
    elif sets:
        remedy = (
            "name the labels that are good for a person as a set, as in "
            f"favorable={{{good!r}}}, and all others are taken as unfavourable"
        )
    else:
        remedy = f"give y as two, such as y == {good!r}"
    raise ValueError(
        f"y must have two labels, got {len(labels)}: {listed(labels)}. Only binary classification is supported. The "
        f"type of the target is {kind}; {remedy}"
    )
