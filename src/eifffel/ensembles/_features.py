"""What a model knows of the columns that it was trained on."""

from collections.abc import Iterator, Sequence
from typing import Any

from eifffel.ensembles._wrappers import Wrappers
from eifffel.rows.columns import Features


def find_features(model: Any) -> Features:
    """The columns that a model was trained on, as far as it or what stands around it knows them."""
    wrappers = Wrappers(model)
    names, n_features, made_up = _known_names(wrappers)
    bases = type(wrappers.ensemble).__mro__
    lightgbm = any(base.__module__.partition(".")[0] == "lightgbm" for base in bases)
    return Features(names, n_features, lightgbm and not wrappers.transforms, made_up)


def _known_names(wrappers: Wrappers) -> tuple[tuple[str, ...], int | None, bool]:
    """What a model calls its columns, how many they are, if it knows, and whether a library made up the names."""
    seen = list(_that_see_the_table(wrappers))
    for model in seen:
        for attribute in ("feature_names_in_", "feature_names_"):  # CatBoost has the second
            names = getattr(model, attribute, None)
            if names is not None:
                # scikit-learn keeps only names that its caller gave, digits or not.
                prefixes = ("Column_",) if attribute == "feature_names_in_" else ("Column_", "")
                return tuple(map(str, names)), len(names), _is_numbered(names, prefixes)
        if not hasattr(model, "predict_proba") and hasattr(model, "num_feature"):  # LightGBM's Booster
            names = model.feature_name()
            return tuple(names), model.num_feature(), _is_numbered(names, ("Column_",))
        if not hasattr(model, "predict_proba") and hasattr(model, "num_features"):  # XGBoost's
            return tuple(model.feature_names or ()), model.num_features(), False
    return (), next((model.n_features_in_ for model in seen if hasattr(model, "n_features_in_")), None), False


def _is_numbered(names: Sequence[Any], prefixes: Sequence[str]) -> bool:
    """Whether names are one of these prefixes and 0, 1, 2, ..."""
    return any([str(name) for name in names] == [f"{prefix}{k}" for k in range(len(names))] for prefix in prefixes)


def _that_see_the_table(wrappers: Wrappers) -> Iterator[Any]:
    """A model and what is inside it, as far as the columns that reach it are those of the table."""
    for layer in wrappers.layers:
        yield layer.model
        if layer.before is not None:
            yield layer.before
            return
    yield wrappers.ensemble
