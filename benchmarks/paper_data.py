"""The paper's three data sets, prepared as it says, from the folder that EIFFFEL_DATA names.

One-hot categories, binary sensitive attribute, which stays among the features; group 1 is the one that the labels
favour. Each also names the forest whose accuracy and discrimination come near the paper's baseline.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

COMPAS_FEATURES = [
    "sex",
    "age",
    "age_cat",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "c_charge_degree",
]


@dataclass(frozen=True, eq=False)
class PaperData:
    """Rows, labels (1 is favourable), groups (1 is privileged) and how the paper's forest is imitated.

    ``sensitive_columns`` are the places of the columns of ``X`` that hold the group.
    """

    X: np.ndarray
    y: np.ndarray
    s: np.ndarray
    sensitive_columns: list[int]
    forest: dict[str, Any]
    metric: str
    dfrf: dict[str, Any]


def _folder() -> Path:
    return Path(os.environ["EIFFFEL_DATA"])


def _encode(table: pd.DataFrame, sensitive: list[str]) -> tuple[np.ndarray, list[int]]:
    columns = pd.get_dummies(table, dtype=float)
    places = [k for k, name in enumerate(columns) if any(name == s or name.startswith(f"{s}_") for s in sensitive)]
    return columns.to_numpy(dtype=np.float64), places


def read_adult() -> PaperData:
    """Adult, both files, rows with missing values dropped; men are privileged."""
    read = {"header": None, "skipinitialspace": True, "na_values": "?"}
    parts = [pd.read_csv(_folder() / "adult.data", **read), pd.read_csv(_folder() / "adult.test", skiprows=1, **read)]
    table = pd.concat(parts).dropna().rename(columns=lambda k: "sex" if k == 9 else f"c{k}")
    y = table.pop("c14").str.startswith(">50K").to_numpy().astype(int)
    s = (table["sex"] == "Male").to_numpy().astype(int)
    X, places = _encode(table, ["sex"])
    return PaperData(X, y, s, places, {}, "accuracy", {})


def read_bank() -> PaperData:
    """Bank marketing, all rows and features; clients under 25, whom the labels favour, are privileged."""
    table = pd.read_csv(_folder() / "bank-full.csv", sep=";")
    y = (table.pop("y") == "yes").to_numpy().astype(int)
    s = (table["age"] < 25).to_numpy().astype(int)
    table.insert(0, "under_25", s)
    X, places = _encode(table, ["under_25"])
    return PaperData(X, y, s, places, {"max_depth": 9, "class_weight": "balanced"}, "balanced_accuracy", {})


def read_compas() -> PaperData:
    """COMPAS, what was known at screening; not to reoffend is favourable, African-Americans are unprivileged."""
    table = pd.read_csv(_folder() / "compas-scores-two-years.csv").dropna(subset=[*COMPAS_FEATURES, "race"])
    y = (table["two_year_recid"] == 0).to_numpy().astype(int)
    s = (table["race"] != "African-American").to_numpy().astype(int)
    features = table[COMPAS_FEATURES].assign(race=s)
    X, places = _encode(features, ["race"])
    return PaperData(X, y, s, places, {"max_depth": 6}, "accuracy", {"max_depth": 4, "min_samples_leaf": 1, "alpha": 5})


READERS: dict[str, Callable[[], PaperData]] = {"adult": read_adult, "bank": read_bank, "compas": read_compas}
