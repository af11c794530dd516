"""What the columns that reach an ensemble say about the table that was given to its pipeline."""

import warnings
from dataclasses import dataclass
from typing import Any

from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

# What scikit-learn calls the categories that it puts together.
INFREQUENT = "infrequent_sklearn"


@dataclass(frozen=True)
class Column:
    """One column as it reaches the ensemble.

    Attributes
    ----------
    name : str
        What it is called there.
    source : str or None
        The column of the table that it was made from; ``None`` where that is not known.
    category : str, optional
        The value of ``source`` for which it is 1, and else 0.
    as_given : bool
        Whether it has the numbers of ``source`` as they are.
    """

    name: str
    source: str | None
    category: str | None = None
    as_given: bool = True

    @property
    def shown(self) -> str:
        """What a rule calls it: the column of the table if it has its numbers."""
        return self.source if self.source is not None and self.as_given else self.name


def plain_columns(names: list[str]) -> list[Column]:
    """Columns that are those of the table."""
    return [Column(name, name) for name in names]


def trace_columns(names: list[str], before: Any) -> list[Column]:
    """The columns ``names``, made by the step ``before`` the ensemble; a ColumnTransformer tells from what."""
    columns = [Column(name, None) for name in names]
    table = getattr(before, "feature_names_in_", None)
    if not isinstance(before, ColumnTransformer) or table is None:
        return columns
    for name, step, given in before.transformers_:
        places = range(*before.output_indices_[name].indices(len(names)))
        if step == "drop":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", FutureWarning
            )  # up to scikit-learn 1.6: what is left over is given by place
            sources = [source if isinstance(source, str) else str(table[source]) for source in given]
        origins = _origins(step, sources)
        if len(origins) == len(places):
            for place, (source, category, as_given) in zip(places, origins, strict=True):
                columns[place] = Column(names[place], source, category, as_given)
    return columns


Origin = tuple[str | None, str | None, bool]


def _origins(step: Any, given: list[str]) -> list[Origin]:
    """Source, category and whether it is as given, of each column that a step makes of the columns ``given``."""
    if isinstance(step, Pipeline):
        as_given = True
        for inner in step.named_steps.values():
            if isinstance(inner, OneHotEncoder):
                return _one_hot(inner, given) if inner is step.steps[-1][1] else []
            as_given = as_given and _keeps_numbers(inner)
            if not (_keeps_numbers(inner) or _is_one_to_one(inner)):
                return []
        return [(source, None, as_given) for source in given]
    if isinstance(step, OneHotEncoder):
        return _one_hot(step, given)
    if _keeps_numbers(step):
        return [(source, None, True) for source in given]
    return [(source, None, False) for source in given] if _is_one_to_one(step) else []


def _keeps_numbers(step: Any) -> bool:
    """Whether a step hands on its columns as they are, but for missing values."""
    if isinstance(step, FunctionTransformer):
        return step.func is None
    imputes = isinstance(step, SimpleImputer) and not step.add_indicator
    return imputes or (isinstance(step, str) and step == "passthrough")


def _is_one_to_one(step: Any) -> bool:
    """Whether each column that a step makes is of the one in its place."""
    return isinstance(step, OneToOneFeatureMixin)


def _one_hot(step: OneHotEncoder, given: list[str]) -> list[Origin]:
    origins: list[Origin] = []
    for k, source in enumerate(given):
        categories = list(step.categories_[k])
        dropped = None if step.drop_idx_ is None else step.drop_idx_[k]
        infrequent = getattr(step, "infrequent_categories_", [None] * len(given))[k]
        rare = set() if infrequent is None else set(infrequent.tolist())
        kept = [
            "missing" if category is None or category != category else str(category)
            for place, category in enumerate(categories)
            if category not in rare and place != dropped
        ]
        origins += [(source, category, True) for category in kept + [INFREQUENT] * bool(rare)]
    return origins
