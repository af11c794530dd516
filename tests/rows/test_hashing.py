"""Rows that leaves were scored by are known again, and others are not taken for them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import eifffel.rows.hashing as hashing_module
from draws import people
from eifffel import EiFFFeLClassifier, RepeatedRowsWarning, SeenRowsWarning, trace_path
from eifffel.datasets import fetch_adult, fetch_bank, fetch_compas, make_biased_classification
from eifffel.rows.hashing import RowHashes, collect_hashes, hash_rows
from real_data import needs_real_data

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
        (HELD_OUT, False),
        (slice(1500, 1640), False),
    ],
    ids=["all of them", "some", "some, mixed", "they and more", "most", "others", "few others"],
)
def test_selection_rows_that_were_scored_are_noticed(model, which, seen):
    path = trace(model, part(which))
    assert path.seen == seen
    if seen:
        why = "leaves were scored by the selection rows, or by half|the model was trained on the selection rows or some"
        with pytest.raises(ValueError, match=f"nor scored its leaves, and ({why})"):
            path.select(epsilon=0.3, confidence=0.9)
        how = "by which leaves were scored|and the model was trained on them"
        with pytest.warns(SeenRowsWarning, match=f"the step is chosen on the selection rows, ({how})"):
            path.select(epsilon=0.3)
    else:
        assert path.select(epsilon=0.3, confidence=0.9).confidence == 0.9


@pytest.mark.parametrize("n_known", [30, 300, 735])
def test_a_smaller_part_is_warned_of_and_its_share_is_told(model, n_known):
    which = np.concatenate([np.arange(n_known), np.arange(1500, 3000 - n_known)])
    path = trace(model, part(which))
    assert not path.seen
    assert path.overlap == pytest.approx(n_known / 1500)
    with pytest.warns(SeenRowsWarning, match=f"about {n_known / 1500:.2g} of the selection rows are rows by which"):
        choice = path.select(epsilon=0.3, confidence=0.9)
    assert (choice.confidence, choice.overlap) == (0.9, path.overlap)
    assert choice.trained is None  # some of these rows trained it, wherever the others come from


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


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_tables_that_owe_nothing_to_each_other_share_nothing_whatever_they_were_drawn_from(data):
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n_kinds = data.draw(st.sampled_from([3, 30, 300, 3000]))
    # Some rows are frequent in one table and rare in the other.
    tables = []
    for n_rows in (data.draw(st.sampled_from([50, 400, 3000])), data.draw(st.sampled_from([50, 400, 3000]))):
        weight = draw.gamma(data.draw(st.sampled_from([0.05, 0.5, 5])), size=n_kinds)
        tables.append(draw.choice(n_kinds, n_rows, p=weight / weight.sum())[:, None])
    one, two = (collect_hashes(table, table) for table in tables)
    assert one.overlap(two) == 0
    assert two.overlap(one) == 0
    assert one.repeats == two.repeats == 1


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
def test_of_a_table_that_repeats_itself_the_share_that_is_known_is_told(share):
    draw = np.random.default_rng(0)
    weight = 1 / np.arange(1, 2001)
    everybody = draw.choice(2000, 4000, p=weight / weight.sum())[:, None]  # four in five have a twin
    n_known = int(share * 2000)
    others = np.concatenate([everybody[:n_known], everybody[2000 : 4000 - n_known]])
    found = collect_hashes(others, others).overlap(collect_hashes(everybody[:2000], everybody[:2000]))
    twins = 0.79  # about so many rows of either table are found in the other by chance
    assert found == pytest.approx(share, abs=3 * np.sqrt(twins * 2 / 2000 / (1 - twins)))


def test_an_index_tells_rows_apart_that_look_alike():
    pd = pytest.importorskip("pandas")
    draw = np.random.default_rng(0)
    table = pd.DataFrame({"a": draw.integers(0, 3, 1000), "b": draw.integers(0, 3, 1000)}, index=draw.permutation(1000))
    one, two, known = table[:500], table[500:], table[250:500]
    as_numbers = [collect_hashes(rows.to_numpy(), rows.to_numpy()) for rows in (one, known)]
    assert as_numbers[1].overlap(as_numbers[0]) == 0  # nine distinct rows, each there many times
    one, two, known = (collect_hashes(rows, rows) for rows in (one, two, known))
    assert known.overlap(one) == 1
    assert one.overlap(known) == 0.5
    assert two.overlap(one) == 0
    # Names that two tables share by chance say nothing of rows that differ, nor does a count of rows.
    again = collect_hashes(table[500:].set_axis(table.index[:500]), table[500:])
    assert again.overlap(one) == 0
    counted = [collect_hashes(rows.reset_index(drop=True), rows) for rows in (table[:500], table[:500])]
    assert counted[0].overlap(counted[1]) == 0
    twice = [collect_hashes(rows, rows) for rows in (table[:500].set_axis([7] * 500), table[:500].set_axis([7] * 500))]
    assert twice[0].overlap(twice[1]) == 0


def test_names_are_told_apart_to_the_last_digit():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": np.zeros(100)}, index=np.arange(100) + 10**12)
    others = table.set_axis(table.index + 50)
    assert collect_hashes(table, table).names.count_same(collect_hashes(others, others).names) == (100, 50, 50)


def test_of_many_names_the_lowest_are_compared(monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr(hashing_module, "MOST_HASHES", 200)
    draw = np.random.default_rng(0)
    table = pd.DataFrame({"a": draw.integers(0, 3, 2000)}, index=draw.permutation(2000))
    every, half = (collect_hashes(rows, rows) for rows in (table, table[:1000]))
    assert len(every.names.name) == 200
    assert half.overlap(every) == 1
    assert every.overlap(half) == pytest.approx(0.5, abs=0.1)


def copies(kind):
    return {
        "float32": lambda rows: rows.astype(np.float32),
        "frame": lambda rows: pytest.importorskip("pandas").DataFrame(rows),
        "list": lambda rows: rows.tolist(),
    }[kind]


@needs_real_data
@pytest.mark.parametrize("fetch", [fetch_adult, fetch_bank, fetch_compas])
def test_splits_of_real_tables_are_not_taken_for_each_other_and_copies_are(fetch):
    pytest.importorskip("pandas")
    row_hash = hash_rows(fetch().data)
    draw = np.random.default_rng(0)
    for share in (0.1, 0.25, 0.5):
        places = draw.permutation(len(row_hash))
        cut, half = int(share * len(row_hash)), len(row_hash) // 2
        one, two = RowHashes.of(row_hash[places[:cut]]), RowHashes.of(row_hash[places[cut:]])
        assert one.overlap(two) == two.overlap(one) == 0
        assert one.repeats == two.repeats == 1
        # Of the rows of one half, a part that another table has too.
        known = int(share * half)
        others = np.concatenate([places[:known], places[half : 2 * half - known]])
        found = RowHashes.of(row_hash[others]).overlap(RowHashes.of(row_hash[places[:half]]))
        assert found == pytest.approx(share, abs=0.1)


@pytest.mark.parametrize("kind", ["float32", "frame", "list"])
def test_a_copy_in_another_form_is_the_same(kind):
    model = MODELS["shallow forest"].fit(X[TRAIN], y[TRAIN])
    copy = copies(kind)(X[TRAIN])
    path = trace_path(model, X[TRAIN], y[TRAIN], sensitive_features=s[TRAIN], select_on=(copy, y[TRAIN], s[TRAIN]))
    assert path.overlap == 1


def test_rows_are_compared_as_the_model_sees_them():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    kept = make_column_transformer(("passthrough", list(frame.columns)), remainder="drop")
    model = make_pipeline(kept, RandomForestClassifier(10, max_depth=4, random_state=0)).fit(frame[TRAIN], y[TRAIN])
    people, same = frame[TRAIN].assign(id=np.arange(1500)), frame[TRAIN].assign(id=np.arange(1500) + 9000)
    path = trace_path(model, people, y[TRAIN], sensitive_features=s[TRAIN], select_on=(same, y[TRAIN], s[TRAIN]))
    assert path.overlap == 1


@pytest.mark.parametrize(
    ("places", "times"),
    [
        (np.repeat(np.arange(700), 20), 20),
        (np.repeat(np.arange(700), 2), 2),
        (np.arange(3000), 1),
        (np.random.default_rng(0).integers(0, 3000, 3000), 1),
    ],
    ids=["twenty times", "twice", "once", "a bootstrap"],
)
def test_rows_that_are_repeated_are_noticed(places, times):
    assert collect_hashes(X[places], X[places]).repeats == times


def test_repeated_rows_are_warned_of_once():
    model = MODELS["shallow forest"].fit(X[TRAIN], y[TRAIN])
    path = trace(model, part(np.repeat(np.arange(1500, 1800), 20)))
    with pytest.warns(RepeatedRowsWarning, match=r"the selection rows are repeated: .* are there 20 times"):
        path.select(epsilon=0.3, confidence=0.9)
    path.select(epsilon=0.2)  # it was said


def test_rows_that_were_repeated_before_they_were_split_are_warned_of():
    clf = EiFFFeLClassifier(MODELS["shallow forest"], epsilon=0.3, confidence=0.9, random_state=0)
    twice = [np.concatenate([values, values]) for values in (X, y, s)]
    with pytest.warns(RepeatedRowsWarning, match="or with those that scored leaves, all are there 2 times"):
        clf.fit(*twice[:2], sensitive_features=twice[2])
    assert clf.selection_.trained is None  # of some, the other copy did


@pytest.mark.parametrize("which", [np.repeat(np.arange(1500), 2), np.arange(1500)[::-1]], ids=["twice", "turned"])
def test_repeated_and_in_another_order_they_are_the_same(which):
    assert collect_hashes(X[TRAIN], X[TRAIN]).overlap(collect_hashes(X[which], X[which]))
    assert not collect_hashes(X[TRAIN], X[TRAIN]).overlap(collect_hashes(X[HELD_OUT], X[HELD_OUT]))


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
