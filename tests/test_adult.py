"""The whole way on real people: the Adult data in the folder that EIFFFEL_DATA names."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from eifffel import trace_path

FOLDER = Path(os.environ.get("EIFFFEL_DATA", "nowhere"))


@pytest.mark.skipif(
    not (FOLDER / "adult.data").exists(),
    reason="NOT TESTED ON REAL DATA: set EIFFFEL_DATA to a folder that holds adult.data",
)
def test_counts_are_those_of_the_edited_forest_on_adult():
    lines = [line.split(", ") for line in (FOLDER / "adult.data").read_text().splitlines() if line and "?" not in line]
    table = np.array(lines)
    y = (table[:, 14] == ">50K").astype(int)
    s = (table[:, 9] == "Male").astype(int)
    numbers = table[:, [0, 2, 4, 10, 11, 12]].astype(float)
    codes = np.column_stack([np.unique(table[:, k], return_inverse=True)[1] for k in (1, 5, 6, 7, 8, 13)])
    X = np.column_stack([numbers, codes])  # sex is not among the features
    train, held = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    # An even number of trees whose leaves are mostly pure: exact ties are frequent.
    forest = RandomForestClassifier(20, random_state=0, n_jobs=1).fit(X[train], y[train])
    path = trace_path(
        forest, X[train], y[train], sensitive_features=s[train], select_on=(X[held], y[held], s[held]), n_jobs=2
    )
    assert path.groups == (0, 1)
    assert path.discrimination[0] > 0.1
    ties = 0
    for step in [0, 1, path.select(epsilon=0.05).step, path.n_steps // 3, path.n_steps]:
        model = path.model_at(step)
        decision = model.predict(X[held])
        ties += (model.predict_proba(X[held])[:, 0] == 0.5).sum()
        for g in (0, 1):
            for k in (0, 1):
                cell = (s[held] == g) & (y[held] == k)
                assert path.counts.favorable[step, g, k] == decision[cell].sum()
    assert ties > 100, "the case does not test what it is for"
