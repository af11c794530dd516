"""TableColumns: the columns of a table that are labels, groups, weights and features, by their names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import narwhals.stable.v1 as nw

from eifffel._utils.validation import listed
from eifffel.exceptions import InputError, parameter
from eifffel.rows.batches import Batch

# So many names are listed.
MOST_NAMES = 30
# Names that pandas makes up for an index in a file.
INDEX = re.compile(r"^__index_level_\d+__$")


@dataclass(frozen=True)
class Features:
    """The columns that a model was trained on, as far as it knows them.

    Attributes
    ----------
    names : tuple of str
        In its order; empty where nobody named them.
    n_features : int or None
        How many there are, if that is known.
    blanks_lost : bool
        Whether the names have underscores where the table may have blanks, as LightGBM writes them.
    made_up : bool
        Whether the names are those that a library gives to columns without one.
    """

    names: tuple[str, ...]
    n_features: int | None
    blanks_lost: bool = False
    made_up: bool = False

    @property
    def has_names(self) -> bool:
        """Whether somebody named the columns; names that a library made up say no more than places."""
        return bool(self.names) and not self.made_up

    def named(self, given: Sequence[str]) -> "Features":
        """Return the features with the names that a caller gives to them; raises if the model knows other names."""
        if self.has_names and list(map(self._spelt, given)) != list(map(self._spelt, self.names)):
            raise InputError(
                parameter("features")
                + f" names {listed(given)}, and the model was trained on {listed(self.names, MOST_NAMES)}; leave "
                "it out"
            )
        if self.n_features not in (None, len(given)):
            raise InputError(
                parameter("features")
                + f" names {len(given)} columns, and the model was trained on {self.n_features}; name each of "
                "them, in the model's order"
            )
        return replace(self, names=tuple(given), blanks_lost=False, made_up=False)

    def match(self, columns: Sequence[Any]) -> dict[str, Any]:
        """The column of a table that each name stands for, of those that it has."""
        exact = {str(column): column for column in columns}
        if not self.blanks_lost:
            return {name: exact[name] for name in self.names if name in exact}
        alike: dict[str, list[Any]] = {}
        for column in columns:
            alike.setdefault(self._spelt(str(column)), []).append(column)
        found = {name: alike[self._spelt(name)] for name in self.names if self._spelt(name) in alike}
        for name, several in found.items():
            if len(several) > 1 and " " not in name:
                raise ValueError(
                    f"the model was trained on the column {name!r}, as LightGBM writes it, and the table has "
                    f"{listed(several)}; say which by naming all features that the model takes, in its order"
                )
        return {name: exact[name] if name in exact else several[0] for name, several in found.items()}

    def find(self, columns: Sequence[Any]) -> list[Any] | None:
        """The columns of a table that the model takes, in its order, if it has them all by name.

        A model that knows no names was trained on columns 0, 1, 2, ..., and a table may call them so.
        """
        numbered = Features(tuple(map(str, range(0 if self.has_names else self.n_features or 0))), self.n_features)
        for known in (self, numbered):
            found = known.match(columns)
            if found and len(found) == len(known.names):
                return [found[name] for name in known.names]
        return None

    def _spelt(self, name: str) -> str:
        return name.replace(" ", "_") if self.blanks_lost else name


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table that are labels, groups, weights and features.

    Attributes
    ----------
    y : str or None
    sensitive : tuple of str
    weight : str or None
    features : Features
        Those that the model was trained on.
    named : bool
        Whether a caller has named the features of a model that does not know their names.
    by_place : bool
        Whether those of such a model may be taken as they stand in a table: only where the caller holds the table.
    """

    y: str | None
    sensitive: tuple[str, ...]
    weight: str | None
    features: Features
    named: bool = False
    by_place: bool = False

    @property
    def others(self) -> list[str]:
        """The columns that are not features, or need not be."""
        return [*dict.fromkeys(name for name in (self.y, *self.sensitive, self.weight) if name is not None)]

    def check(self, columns: Sequence[str]) -> None:
        """Raise if a column is missing that is not a feature, or need not be."""
        _check_there(self.others, columns)

    def find_features(self, columns: Sequence[Any]) -> list[Any]:
        """The columns to give to the model: by the names that it was trained on, or that it was given by a caller.

        One that knows no names gets, of a table that may be taken by place, all that are neither labels nor weights,
        nor, if these are too many, groups.
        """
        features, has = self.features, listed(columns, MOST_NAMES)
        by_name = features.find(columns)
        if by_name is not None:
            return by_name
        if self.named:
            _check_there(features.names, columns)
        if features.has_names:
            found = features.match(columns)
            lacking = next(name for name in features.names if name not in found)
            raise ValueError(f"the model was trained on the column {lacking!r}, and the table has {has}")
        if not self.by_place:
            raise ValueError(
                "the model does not know the names of its columns, and in a table that is read by name their places "
                "say nothing; name those that it takes, in its order, as in features=['age', 'income']. The table has "
                f"{has}"
            )
        every = [name for name in columns if name not in (self.y, self.weight) and not INDEX.match(str(name))]
        rest = [name for name in every if name not in self.sensitive]
        for by_place in (every, rest):
            if features.n_features in (None, len(by_place)):
                return rest if features.n_features is None else by_place
        raise ValueError(f"the model was trained on {features.n_features} columns, and the table has {has}")

    def cut_batch(self, table: Batch) -> Batch:
        """The rows of a data frame, which is the ``X`` of a batch."""
        return self.cut(table.X, table.where)

    def cut(self, frame: Any, where: str = "", *, with_features: bool = True) -> Batch:
        """The rows of a data frame."""
        if type(frame).__module__.split(".")[0] == "pyarrow":
            frame = frame.to_pandas()
        wrapped = nw.from_native(frame, eager_only=True, pass_through=True)
        if not isinstance(wrapped, nw.DataFrame):
            raise TypeError(f"columns are named, and a {type(frame).__name__} has no names of columns")
        self.check(wrapped.columns)
        X: Any = None
        if with_features:
            features = wrapped.select(nw.col(*self.find_features(wrapped.columns)))
            # A model that knows no names was trained on an array.
            found = self.features.match(wrapped.columns)
            known = bool(found) and len(found) == len(self.features.names) and not self.named
            plain = not known and all(dtype.is_numeric() for dtype in features.schema.values())
            X = features.to_numpy() if plain else features.to_native()
        return Batch(
            X,
            None if self.y is None else wrapped[self.y].to_native(),
            wrapped.select(nw.col(*self.sensitive)).to_native(),
            None if self.weight is None else wrapped[self.weight].to_native(),
            where,
        )


def find_columns(
    known: Features,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    features: list[str] | None = None,
    table: Any = None,
) -> TableColumns | None:
    """The columns that y, sensitive_features and sample_weight name; ``None`` if they are columns themselves.

    ``known`` are the features of the model, and ``features`` names them if it does not know their names. Texts may be
    names or columns where there is no ``y``: they are names if the ``table``, if there is one, has such columns.
    """
    if not names_columns(y, sensitive_features, table):
        return None
    sensitive = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
    if not (sample_weight is None or isinstance(sample_weight, str)):
        raise ValueError(
            f"sample_weight must be the name of a column, as y and sensitive_features are, got {shown(sample_weight)}"
        )
    named = features is not None and not known.has_names
    if features is not None:
        taken = [name for name in features if name in (y, sample_weight)]
        if taken:
            raise ValueError(f"features names {taken[0]!r}, which is the column of labels or of weights; leave it out")
        known = known.named(features)
    return TableColumns(y, tuple(sensitive), sample_weight, known, named, table is not None)


def names_columns(y: Any, sensitive_features: Any, table: Any = None) -> bool:
    """Whether y and sensitive_features name columns of a table that is read by name."""
    sensitive = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
    by_name = isinstance(sensitive, list | tuple) and bool(sensitive) and all(isinstance(s, str) for s in sensitive)
    if not by_name or not (y is None or isinstance(y, str)):
        return False
    return y is not None or table is None or set(sensitive) <= set(getattr(table, "columns", ()))


def check_features(features: Any, *given: Any) -> list[str] | None:
    """The names in ``features``, if any; raises unless they can be of one of the ``given``, (y, sensitive_features)."""
    if features is None:
        return None
    names = list(features) if isinstance(features, list | tuple) or hasattr(features, "tolist") else []
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(
            f"features must be a list of different names of columns, as in features=['age', 'income'], got {features!r}"
        )
    if not any(names_columns(*columns) for columns in given):
        raise ValueError(
            "features names columns of a table, and then y and sensitive_features must be names of its columns too, as "
            "in y='hired', sensitive_features='sex'; where X is given by itself, give it with the model's columns"
        )
    return names


def _check_there(names: Sequence[str], columns: Sequence[Any]) -> None:
    for name in names:
        if name not in columns:
            meant = get_close_matches(name, [str(column) for column in columns], 1)
            hint = f"did you mean {meant[0]!r}? There are" if meant else "there are"
            raise ValueError(f"there is no column {name!r}; {hint} {listed(columns, MOST_NAMES)}")


def shown(value: Any) -> str:
    """A value, or what kind of thing it is, in words."""
    return "nothing" if value is None else repr(value) if isinstance(value, str) else f"a {type(value).__name__}"
