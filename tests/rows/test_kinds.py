"""Rows that leaves were scored by are known again, and others are not taken for them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from draws import people
from eifffel import SeenRowsWarning, trace_path
from eifffel.datasets import make_biased_classification
from eifffel.rows.kinds import RowKinds, hash_rows

rows = make_biased_classification(3000, random_state=0)
X, y, s = rows.data, rows.target, rows.sensitive
TRAIN, HELD_OUT = slice(0, 1500), slice(1500, 3000)
MODELS = {
    "one tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(20, random_state=0),
    "shallow forest": RandomForestClassifier(20, max_depth=4, random_state=0),
    "boosted": HistGradientBoostingClassifier(max_iter=20, random_state=0),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param].fit(X[TRAIN], y[TRAIN])


def trace(model, select_on):
    return trace_path(model, X[TRAIN], y[TRAIN], sensitive_features=s[TRAIN], select_on=select_on)


def part(which):
    return X[which], y[which], s[which]


@pytest.mark.parametrize(
    ("which", "seen"),
    [
        (TRAIN, True),
        (slice(100, 400), True),
        (np.random.RandomState(0).permutation(1500)[:300], True),
        (slice(0, 3000), True),
        (slice(700, 2000), True),
        (slice(1300, 2300), False),
        (HELD_OUT, False),
        (slice(1500, 1640), False),
    ],
    ids=["all of them", "some", "some, mixed", "they and more", "most", "a fifth", "others", "few others"],
)
def test_selection_rows_that_were_scored_are_noticed(model, which, seen):
    path = trace(model, part(which))
    assert path.seen == seen
    if seen:
        with pytest.raises(
            ValueError, match="nor scored its leaves, and leaves were scored by the selection rows, or by half"
        ):
            path.select(epsilon=0.3, confidence=0.9)
        with pytest.warns(
            SeenRowsWarning, match="the step is chosen on the selection rows, by which leaves were scored"
        ):
            path.select(epsilon=0.3)
    else:
        assert path.select(epsilon=0.3, confidence=0.9).confidence == 0.9


def test_measured_rows_too(model):
    path = trace(model, part(HELD_OUT))
    again = path.measure(*part(TRAIN))
    assert again.seen
    assert "scored by these rows" in again.verdict(path.select(epsilon=0.3)).sentence
    assert not path.measure(*part(slice(1600, 2000))).seen


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n_values=st.integers(2, 6), depth=st.sampled_from([1, 3, None]))
def test_coarse_rows_that_look_alike_are_not_taken_for_the_same(seed, n_values, depth):
    X, y, s = people(400, seed, n_values)
    model = RandomForestClassifier(10, max_depth=depth, random_state=seed).fit(X[:300], y[:300])
    path = trace_path(model, X[:300], y[:300], sensitive_features=s[:300], select_on=(X[300:], None, s[300:]))
    assert not path.seen


@pytest.mark.parametrize("which", [np.repeat(np.arange(1500), 2), np.arange(1500)[::-1]], ids=["twice", "turned"])
def test_repeated_and_in_another_order_they_are_the_same(which):
    assert RowKinds.of(X[TRAIN]).overlap(RowKinds.of(X[which]))
    assert not RowKinds.of(X[TRAIN]).overlap(RowKinds.of(X[HELD_OUT]))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_rows_are_the_same_in_every_form(library):
    frames = pytest.importorskip(library)
    words = np.where(X[:, 0] > 0, "much", "little").astype(object)
    columns = {"word": words, **{f"x{k}": X[:, k] for k in range(X.shape[1])}}
    frame = frames.DataFrame(columns)
    array = np.column_stack([words, X.astype(object)])
    np.testing.assert_array_equal(hash_rows(frame), hash_rows(array))
    assert len(np.unique(hash_rows(frame))) == len(np.unique(hash_rows(X))) == len(np.unique(X, axis=0))


def test_columns_may_be_called_by_numbers():
    pd = pytest.importorskip("pandas")
    np.testing.assert_array_equal(hash_rows(pd.DataFrame(X[:, :2], columns=[0, 1])), hash_rows(X[:, :2]))


def test_sparse_rows_too():
    kept = np.where(np.random.default_rng(0).random(X.shape) < 0.5, X, 0)
    np.testing.assert_array_equal(hash_rows(csr_matrix(kept)), hash_rows(kept))


def test_a_missing_value_is_like_another_and_like_no_number():
    gaps = X[:50].copy()
    gaps[::3, 0] = np.nan
    others = np.where(np.isnan(gaps), -np.nan, gaps)
    np.testing.assert_array_equal(hash_rows(gaps), hash_rows(others))
    assert (hash_rows(gaps)[::3] != hash_rows(X[:50])[::3]).all()
    assert (hash_rows(gaps)[::3] != hash_rows(np.nan_to_num(gaps))[::3]).all()


def test_a_number_is_spread_over_all_there_are_and_goes_by_columns():
    zeros = np.zeros((1, 3))
    assert hash_rows(zeros)[0] > 2**32
    one, other = np.array([[1.0, 2.0]]), np.array([[2.0, 1.0]])
    assert hash_rows(one)[0] != hash_rows(other)[0]
    np.testing.assert_array_equal(hash_rows(csr_matrix(zeros)), hash_rows(zeros))


def test_a_value_has_its_number_whatever_others_there_are():
    few, more = np.array([["1"], ["2"]], object), np.array([["1"], ["2"], ["x"], [None]], object)
    np.testing.assert_array_equal(hash_rows(few), hash_rows(more)[:2])
    mixed = np.array([[1], [2.0], [None], [float("nan")]], object)
    np.testing.assert_array_equal(hash_rows(mixed), hash_rows(np.array([[1.0], [2.0], [np.nan], [np.nan]])))
    pd = pytest.importorskip("pandas")
    frames = pd.DataFrame({"a": ["u", None, "v"]}), pd.DataFrame({"a": pd.Categorical(["u", None, "v"])})
    np.testing.assert_array_equal(hash_rows(frames[0]), hash_rows(frames[1]))
    np.testing.assert_array_equal(hash_rows(frames[0]), hash_rows(frames[0].to_numpy()))
