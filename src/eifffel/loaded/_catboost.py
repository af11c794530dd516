"""Checks of CatBoost's models."""

from typing import Any

from eifffel.loaded._damage import refuse_unless


def check_catboost_bytes(data: Any) -> None:
    """Raise unless bytes begin as a model of CatBoost, and are as long as they say."""
    refuse_unless(isinstance(data, bytes) and data[:4] == b"CBM1", "a model of CatBoost that is none")
