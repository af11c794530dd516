"""Summaries for tests of reports: people with names that a page must not take for its own."""

from functools import cache

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from eifffel import EiFFFeLClassifier
from eifffel.datasets import make_biased_classification
from eifffel.report import summarize

pd = pytest.importorskip("pandas")
EVIL = "<script>alert(1)</script>"


def people(n_rows, seed, evil=False):
    """Features, labels and groups; with ``evil``, columns, categories, labels and groups are scripts."""
    drawn = make_biased_classification(n_rows, random_state=seed)
    frame = pd.DataFrame(drawn.data, columns=drawn.feature_names)
    frame["part_time"] = np.where(frame["part_time"] == 1, f"{EVIL}" if evil else "yes", "no").astype(object)
    if evil:
        frame = frame.rename(columns={"income": f"income {EVIL}", "part_time": EVIL})
    group = np.where(drawn.sensitive == 1, "m" + EVIL if evil else "men", "women").astype(object)
    label = np.where(drawn.target == 1, "yes" + EVIL if evil else "yes", "no").astype(object)
    return frame, label, group


def grouped_by(groups, s):
    """The groups by their sex, as it is, by a race that is drawn, or by both."""
    race = np.random.default_rng(len(s)).choice(["a", "b", "c"], len(s), p=[0.5, 0.3, 0.2])
    return {"sex": s, "race": race, "both": {"sex": s, "race": race}}[groups]


@cache
def classifier(model="forest", evil=False, groups="sex", weighted=False, **bounds):
    X, y, s = people(3000, 0, evil)
    category = EVIL if evil else "part_time"
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), [category]), remainder="passthrough")
    ensemble = (
        RandomForestClassifier(30, min_samples_leaf=5, random_state=0)
        if model == "forest"
        else HistGradientBoostingClassifier(max_iter=30, random_state=0)
    )
    clf = EiFFFeLClassifier(
        make_pipeline(encoder, ensemble),
        **{"epsilon": 0.05, **bounds},
        favorable="yes" + EVIL if evil else "yes",
        random_state=0,
    )
    weight = np.random.default_rng(0).random(len(y)) if weighted else None
    return clf.fit(X, y, sensitive_features=grouped_by(groups, s), sample_weight=weight)


@cache
def summary(evil=False, groups="sex", weighted=False, **options):
    X, y, s = people(2000, 1, evil)
    clf = classifier(evil=evil, groups=groups, weighted=weighted, **options)
    return summarize(
        clf.estimator_ if weighted else clf,  # a path of weights has no report
        X,
        y,
        sensitive_features=grouped_by(groups, s),
        rows="test rows",
        sensitive_name=EVIL if evil else "gender",
        about={"data": EVIL, "intended_use": EVIL} if evil else None,
    )
