"""Models by name: trained in parts with a progress bar, they are those trained at once."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier

pandas = pytest.importorskip("pandas")
for library in ("typer", "skops"):
    pytest.importorskip(library)

from eifffel import view_ensemble  # noqa: E402
from eifffel.cli._demo import make_applicants  # noqa: E402
from eifffel.cli._training import MODELS, N_TREES, as_trained, make_encoder, split_columns, train  # noqa: E402

FRAME = make_applicants(500)
X = as_trained(FRAME.drop(columns=["gender", "granted"]), *split_columns(FRAME.drop(columns=["gender", "granted"])))
y = (FRAME["granted"] == "yes").to_numpy().astype(int)
AT_ONCE = {
    "rf": RandomForestClassifier(N_TREES, min_samples_leaf=5, random_state=3),
    "extra-trees": ExtraTreesClassifier(N_TREES, min_samples_leaf=5, random_state=3),
    "hgb": HistGradientBoostingClassifier(max_iter=N_TREES, early_stopping=False, random_state=3),
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_training_in_parts_is_training_at_once(name):
    encoded = make_encoder(*split_columns(X)).fit_transform(X)
    whole = AT_ONCE[name].fit(encoded, y)
    parts = train(name, X, y, seed=3, jobs=2, done=lambda part: None)
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(encoded))
    assert view_ensemble(parts).digests == view_ensemble(whole).digests
    assert not parts[-1].warm_start


@pytest.mark.parametrize("name", MODELS)
def test_progress_comes_to_an_end(name):
    if name not in AT_ONCE:
        pytest.importorskip(name)
    done = []
    encoded = make_encoder(*split_columns(X)).fit_transform(X)
    MODELS[name](encoded, y, 0, 1, done.append)
    assert sum(done) == pytest.approx(1)


def test_rare_and_unseen_categories_stand_together():
    frame = pandas.DataFrame({"job": ["a"] * 50 + ["b"] * 50 + ["rare"] * 3 + [None] * 20})
    encoder = make_encoder([], ["job"]).fit(as_trained(frame, [], ["job"]))
    new = pandas.DataFrame({"job": ["a", "b", "rare", "never seen", None]})
    encoded = encoder.transform(as_trained(new, [], ["job"]))
    assert encoded.sum(axis=1).tolist() == [1, 1, 1, 1, 1]
    np.testing.assert_array_equal(encoded[2], encoded[3])
    assert len({tuple(row) for row in encoded}) == 4
