"""Tests on the publishers' own files run where EIFFFEL_DATA names a folder that holds them, and say so elsewhere."""

import os
from pathlib import Path

import pytest

NAMES = ("adult.data", "adult.test", "bank-full.csv", "compas-scores-two-years.csv")
FOLDER = Path(os.environ.get("EIFFFEL_DATA", "nowhere"))

needs_real_data = pytest.mark.skipif(
    not all((FOLDER / name).exists() for name in NAMES),
    reason=f"NOT TESTED ON REAL DATA: set EIFFFEL_DATA to a folder that holds {', '.join(NAMES)}",
)
