"""TableColumns: the columns of a table that are labels, groups, weights and features, by their names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import narwhals.stable.v1 as nw

from eifffel._validation import listed
from eifffel.ensembles import Around
from eifffel.rows.batches import Batch

# So many names are listed.
MOST_NAMES = 30
# Names that libraries make up for columns without one, and that pandas makes up for an index in a file.
GENERATED = re.compile(r"^(Column_)?\d+$")
INDEX = re.compile(r"^__index_level_\d+__$")


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table that are labels, groups, weights and features.

    Attributes
    ----------
    y : str or None
    sensitive : tuple of str
    weight : str or None
    features : tuple of str
        Those that the model was trained on, by name; empty where it does not know.
    n_features : int or None
        How many there are, if that is known.
    """

    y: str | None
    sensitive: tuple[str, ...]
    weight: str | None
    features: tuple[str, ...]
    n_features: int | None

    @property
    def others(self) -> list[str]:
        """The columns that are not features, or need not be."""
        return [*dict.fromkeys(name for name in (self.y, *self.sensitive, self.weight) if name is not None)]

    def check(self, columns: Sequence[str]) -> None:
        """Raise if a column is missing."""
        for name in self.others:
            if name not in columns:
                meant = get_close_matches(name, columns, 1)
                hint = f"did you mean {meant[0]!r}? There are" if meant else "there are"
                raise ValueError(f"there is no column {name!r}; {hint} {listed(columns, MOST_NAMES)}")

    def find_features(self, columns: Sequence[Any]) -> list[Any]:
        """The columns to give to the model: by the names that it was trained on; else by their number.

        Of a model that knows no names, all that are neither labels nor weights, nor, if these are too many, groups.
        """
        # LightGBM has no blanks in names.
        by_name = {str(name).replace(" ", "_"): name for name in columns} | {str(name): name for name in columns}
        if self.features and all(name in by_name for name in self.features):
            return [by_name[name] for name in self.features]
        if not all(GENERATED.match(name) for name in self.features):
            lacking = next(name for name in self.features if name not in by_name)
            has = listed(columns, MOST_NAMES)
            raise ValueError(f"the model was trained on the column {lacking!r}, and the table has {has}")
        every = [name for name in columns if name not in (self.y, self.weight) and not INDEX.match(str(name))]
        rest = [name for name in every if name not in self.sensitive]
        for found in (every, rest):
            if self.n_features in (None, len(found)):
                return rest if self.n_features is None else found
        has = listed(columns, MOST_NAMES)
        raise ValueError(f"the model was trained on {self.n_features} columns, and the table has {has}")

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
            has_names = self.features or not all(dtype.is_numeric() for dtype in features.schema.values())
            X = features.to_native() if has_names else features.to_numpy()
        return Batch(
            X,
            None if self.y is None else wrapped[self.y].to_native(),
            wrapped.select(nw.col(*self.sensitive)).to_native(),
            None if self.weight is None else wrapped[self.weight].to_native(),
            where,
        )


def find_columns(
    model: Any, y: Any, sensitive_features: Any, sample_weight: Any, table: Any = None
) -> TableColumns | None:
    """The columns that y, sensitive_features and sample_weight name; ``None`` if they are columns themselves.

    Texts may be either where there is no ``y``: they are names if the ``table``, if there is one, has such columns.
    """
    sensitive = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
    by_name = isinstance(sensitive, list | tuple) and bool(sensitive) and all(isinstance(s, str) for s in sensitive)
    if not by_name or not (y is None or isinstance(y, str)):
        return None
    if y is None and table is not None and not set(sensitive) <= set(getattr(table, "columns", ())):
        return None
    if not (sample_weight is None or isinstance(sample_weight, str)):
        raise ValueError(
            f"sample_weight must be the name of a column, as y and sensitive_features are, got {shown(sample_weight)}"
        )
    features, n_features = _features_of(Around(model))
    return TableColumns(y, tuple(sensitive), sample_weight, features, n_features)


def _features_of(around: Around) -> tuple[tuple[str, ...], int | None]:
    """What a model calls its columns, and how many they are, as far as it knows."""
    for model in (around.outer, around.ensemble):
        for attribute in ("feature_names_in_", "feature_names_"):  # CatBoost has the second
            names = getattr(model, attribute, None)
            if names is not None:
                return tuple(map(str, names)), len(names)
        if not hasattr(model, "predict_proba") and hasattr(model, "num_feature"):  # LightGBM's Booster
            return tuple(model.feature_name()), model.num_feature()
        if not hasattr(model, "predict_proba") and hasattr(model, "num_features"):  # XGBoost's
            return tuple(model.feature_names or ()), model.num_features()
    return (), getattr(around.outer, "n_features_in_", None)


def shown(value: Any) -> str:
    """A value, or what kind of thing it is, in words."""
    return "nothing" if value is None else repr(value) if isinstance(value, str) else f"a {type(value).__name__}"
