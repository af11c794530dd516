"""Models by name: trained in parts with a progress bar, they are those trained at once."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier

pandas = pytest.importorskip("pandas")
for library in ("typer", "skops"):
    pytest.importorskip(library)

from eifffel import EiFFFeLClassifier, view_ensemble  # noqa: E402
from eifffel._meta import split_rows  # noqa: E402
from eifffel.cli._demo import make_applicants  # noqa: E402
from eifffel.cli._features import as_trained, make_encoder, split_kinds  # noqa: E402
from eifffel.cli._progress import Progress  # noqa: E402
from eifffel.cli._recorded import Split  # noqa: E402
from eifffel.cli._tables import DecisionTask, Labelled  # noqa: E402
from eifffel.cli._training import MODELS, N_TREES, fit_in_parts, make_untrained  # noqa: E402
from eifffel.cli._watched import Editing, Source, Unedited, WatchedClassifier  # noqa: E402
from eifffel.comparison import USUAL, Comparison  # noqa: E402
from eifffel.selection.bounds import Bounds  # noqa: E402

FRAME = make_applicants(500)
X = as_trained(FRAME.drop(columns=["gender", "granted"]), *split_kinds(FRAME.drop(columns=["gender", "granted"])))
y = (FRAME["granted"] == "yes").to_numpy().astype(int)
TASK = DecisionTask("granted", "gender", USUAL)
AT_ONCE = {
    "rf": RandomForestClassifier(N_TREES, min_samples_leaf=5, random_state=3),
    "extra-trees": ExtraTreesClassifier(N_TREES, min_samples_leaf=5, random_state=3),
    "hgb": HistGradientBoostingClassifier(max_iter=N_TREES, early_stopping=False, random_state=3),
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_training_in_parts_is_training_at_once(name):
    encoded = make_encoder(*split_kinds(X)).fit_transform(X)
    whole = AT_ONCE[name].fit(encoded, y)
    parts = fit_in_parts(name, make_untrained(name, X, seed=3, jobs=2), X, y, lambda part: None)
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(encoded))
    assert view_ensemble(parts).digests == view_ensemble(whole).digests
    assert not parts[-1].warm_start


@pytest.mark.parametrize("name", MODELS)
def test_progress_comes_to_an_end(name):
    if name not in AT_ONCE:
        pytest.importorskip(name)
    done = []
    fit_in_parts(name, make_untrained(name, X, seed=0, jobs=1), X, y, done.append)
    assert sum(done) == pytest.approx(1)


def test_rare_and_unseen_categories_stand_together():
    frame = pandas.DataFrame({"job": ["a"] * 50 + ["b"] * 50 + ["rare"] * 3 + [None] * 20})
    encoder = make_encoder([], ["job"]).fit(as_trained(frame, [], ["job"]))
    new = pandas.DataFrame({"job": ["a", "b", "rare", "never seen", None]})
    encoded = encoder.transform(as_trained(new, [], ["job"]))
    assert encoded.sum(axis=1).tolist() == [1, 1, 1, 1, 1]
    np.testing.assert_array_equal(encoded[2], encoded[3])
    assert len({tuple(row) for row in encoded}) == 4


@pytest.mark.parametrize("name", ["rf", "hgb"])
def test_a_command_trains_and_edits_as_the_classifier_does(name):
    """But for the test rows, which it holds out first."""
    people = Comparison(favorable=1).or_else(USUAL)
    source = Source(Path("people.csv"), Labelled(X, y, FRAME[["gender"]], people, np.arange(len(y)), 0), TASK)
    editing = Editing(Bounds(epsilon=0.1), "auto", "any", Split(3, 0.2, 0.25), 1)
    unedited = Unedited(make_untrained(name, X, seed=3, jobs=1), name)
    with Progress(("training", "tracing"), verbose=False) as progress:
        watched = WatchedClassifier(unedited, source, editing, progress).fit_table()
    rest = split_rows(watched.parts_.rows, 0.2, 3)[0]
    plain = EiFFFeLClassifier(make_untrained(name, X, seed=3, jobs=1), epsilon=0.1, random_state=3)
    plain.fit(X.iloc[rest], y[rest], sensitive_features=FRAME["gender"].iloc[rest])
    np.testing.assert_array_equal(watched.parts_.selection, rest[plain.selection_rows_])
    assert watched.selection_.step == plain.selection_.step
    assert watched.selection_.discrimination == plain.selection_.discrimination
    np.testing.assert_array_equal(watched.estimator_.predict_proba(X), plain.estimator_.predict_proba(X))
