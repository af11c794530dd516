"""What was read from a file, before it is used: everything that compiled code looks things up by is checked.

skops rebuilds objects of known types, whatever their numbers say, and compiled code believes these numbers: a node that
is not there, a table that is too narrow, and it reads or writes wherever that would be. One registry, `CHECKS`, says
for each type what must hold; `check_loaded` goes through all that a file held, and looks at every object once.
"""

from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from scipy.sparse import issparse

from eifffel.edits.file_checks import _paths, _trees
from eifffel.edits.file_checks._catboost import check_catboost_bytes
from eifffel.edits.file_checks._damage import DamageError, check_threads, refuse_unless
from eifffel.edits.file_checks._lightgbm import check_lightgbm_text
from eifffel.edits.file_checks._paths import check_record
from eifffel.edits.file_checks._schema import MAKERS, STATES, TRUSTED_MAKERS, find_unchecked, guard_schema
from eifffel.edits.file_checks._xgboost import check_xgboost_bytes

__all__ = [
    "CHECKS",
    "LATER",
    "MAKERS",
    "TRUSTED_MAKERS",
    "DamageError",
    "check_boosters",
    "check_catboost_bytes",
    "check_lightgbm_text",
    "check_loaded",
    "check_record",
    "check_xgboost_bytes",
    "find_unchecked",
    "guard_schema",
]

Check = Callable[[Any], None]

CHECKS: dict[str, Check] = {
    "sklearn.BaseDecisionTree": _trees.check_tree,
    "sklearn.BaseForest": _trees.check_forest,
    "sklearn.BaseBagging": _trees.check_bagging,
    "sklearn.BaseGradientBoosting": _trees.check_gradient_boosting,
    "sklearn.BaseHistGradientBoosting": _trees.check_histograms,
    "eifffel.Groups": _paths.check_groups,
    "eifffel.LabelSets": _paths.check_label_sets,
    "eifffel.Constraint": _paths.check_constraint,
    "eifffel.LeafCounts": _paths.check_leaf_counts,
    "eifffel.PathCounts": _paths.check_path_counts,
    "eifffel.FlipOrder": _paths.check_flips,
    "eifffel.ShiftOrder": _paths.check_shift,
    "eifffel.Bounds": _paths.check_bounds,
    "eifffel.Selection": _paths.check_selection,
    "eifffel.Shortfall": _paths.check_shortfall,
    "eifffel.RaisedError": _paths.check_raised_error,
}
"""What must hold of a type, by the package and name of its class or of one that it derives from."""

# Checks that ask what is inside, and so come once all of that has been checked.
LATER: dict[str, Check] = {
    "eifffel.Compared": _paths.check_compared,
    "eifffel.FairnessPath": _paths.check_path,
    "eifffel.EiFFFeLClassifier": _paths.check_classifier,
    "sklearn.BaseGradientBoosting": _trees.probe_gradient_boosting,
}
# Trees belong to estimators, which say how many columns reach them.
OWNERS = {"Tree": "BaseDecisionTree", "TreePredictor": "BaseHistGradientBoosting"}
# How many numbers the state of the generator has that RandomState and some Generators draw from.
STATE_SIZE = 624


def check_loaded(loaded: Any) -> None:
    """Raise `DamageError` unless all that a file held can be used without harm."""
    items = list(_items_in(loaded))
    for item in items:
        _check_attributes(item)
    for checks in (CHECKS, LATER):
        for item in items:
            for base in type(item).__mro__:
                check = checks.get(f"{base.__module__.partition('.')[0]}.{base.__name__}")
                if check is not None:
                    _run_check(check, item)


def check_boosters(model: Any, trusted: Collection[str]) -> None:
    """Raise `DamageError` if a model holds a booster that would be refused when its file is read."""
    for item in _items_in(model):
        name = f"{type(item).__module__}.{type(item).__name__}"
        if name in STATES and name not in trusted:
            STATES[name](item.__getstate__())


def _run_check(check: Check, item: Any) -> None:
    try:
        check(item)
    except DamageError:
        raise
    except Exception as error:  # whatever a check stumbles over is not as it should be
        raise DamageError(f"a {type(item).__name__} whose parts do not fit together: {error}") from error


def _check_attributes(item: Any) -> None:
    """Take off what is derived from other attributes, and refuse what would stand in the place of a method."""
    if issparse(item):
        item.check_format(full_check=True)
        return
    if isinstance(item, np.random.RandomState | np.random.Generator):
        _check_generator(item)
    if isinstance(item, dict):
        check_threads(item)
    state = getattr(item, "__dict__", None)
    if not isinstance(state, dict):
        return
    check_threads(state)
    for name in list(state):
        of_class = getattr(type(item), name, None) if isinstance(name, str) else None
        if isinstance(of_class, cached_property):
            del state[name]
        elif isinstance(of_class, FunctionType | MethodType):
            raise DamageError(f"a {type(item).__name__} with something in the place of its method {name}")


def _check_generator(generator: Any) -> None:
    bits = generator._bit_generator if isinstance(generator, np.random.RandomState) else generator.bit_generator
    place = bits.state["state"].get("pos") if isinstance(bits.state.get("state"), dict) else None
    refuse_unless(place is None or 0 <= place <= STATE_SIZE, "a random generator that draws from outside of its state")


def _items_in(loaded: Any) -> Iterator[Any]:
    """Everything in an object but plain values, each once; what is inside something comes after it."""
    pending, seen = [loaded], set()
    while pending:
        item = pending.pop()
        if id(item) in seen or isinstance(item, str | bytes | bytearray | int | float | None):
            continue
        seen.add(id(item))
        yield item
        inside: Any = ()
        if isinstance(item, dict):
            inside = item.values()
        elif isinstance(item, list | tuple | set):
            inside = item
        elif isinstance(item, np.ndarray):
            inside = item.ravel().tolist() if item.dtype == object else ()
        if isinstance(getattr(item, "__dict__", None), dict):
            inside = [*inside, *vars(item).values()]
        bases = {base.__name__ for base in type(item).__mro__}
        for other in inside:
            owner = OWNERS.get(type(other).__name__)
            # A list of trees has an owner that is checked with it.
            refuse_unless(
                owner is None or owner in bases or (type(item) is list and owner != "BaseDecisionTree"),
                "a tree that belongs to no model",
            )
        pending.extend(inside)
