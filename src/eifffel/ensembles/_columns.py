"""What the columns that reach an ensemble say about the table that was given to its pipeline."""

import warnings
from dataclasses import dataclass
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

# What scikit-learn calls the categories that it puts together.
INFREQUENT = "infrequent_sklearn"


@dataclass(frozen=True)
class Column:
    """One column as it reaches the ensemble.

    Attributes
    ----------
    name : str
        What it is called there.
    source : str
        The column of the table that it was made from; where that is not known, the same.
    category : str, optional
        The value of ``source`` for which it is 1, and else 0.
    """

    name: str
    source: str
    category: str | None = None


def plain_columns(names: list[str]) -> list[Column]:
    """Columns of which no more is known than what they are called."""
    return [Column(name, name) for name in names]


def trace_columns(names: list[str], before: Any) -> list[Column]:
    """The columns ``names``, made by the step ``before`` the ensemble; a ColumnTransformer tells from what."""
    columns = plain_columns(names)
    if not isinstance(before, ColumnTransformer):
        return columns
    table = getattr(before, "feature_names_in_", None)
    if table is None:
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
            for place, (source, category) in zip(places, origins, strict=True):
                columns[place] = Column(names[place], source, category)
    return columns


def _origins(step: Any, given: list[str]) -> list[tuple[str, str | None]]:
    """Source and category of each column that a step makes of the columns ``given``."""
    if not isinstance(step, OneHotEncoder):
        return [(source, None) for source in given]
    origins: list[tuple[str, str | None]] = []
    for k, source in enumerate(given):
        categories = list(step.categories_[k])
        dropped = None if step.drop_idx_ is None else step.drop_idx_[k]
        infrequent = getattr(step, "infrequent_categories_", [None] * len(given))[k]
        rare = set() if infrequent is None else set(infrequent.tolist())
        kept = [str(category) for place, category in enumerate(categories) if category not in rare and place != dropped]
        origins += [(source, category) for category in kept + [INFREQUENT] * bool(rare)]
    return origins
