"""The whole way on real people: the Adult data."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from eifffel import trace_path
from eifffel.datasets import fetch_adult
from real_data import needs_real_data

pytest.importorskip("pandas")


@needs_real_data
def test_counts_are_those_of_the_edited_forest_on_adult():
    people = fetch_adult()
    X = people.data.drop(columns=people.sensitive_columns).to_numpy()
    y, s = people.target.to_numpy(), people.sensitive.to_numpy()
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
