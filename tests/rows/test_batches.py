"""Rows in batches give the path of the same rows in memory, however they are cut, and never need all of them."""

import tracemalloc
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from eifffel import trace_path
from eifffel.datasets import make_biased_classification
from eifffel.ensembles._forests import ForestView
from eifffel.rows import batches as batches_module
from eifffel.rows import columns as columns_module
from eifffel.rows import hashing, parquet
from eifffel.rows.batches import Batch, Batches
from eifffel.rows.coding import Coding
from eifffel.rows.groups import read_groups
from eifffel.rows.hashing import RowHashes, collect_hashes
from eifffel.rows.parts import draw_searched
from eifffel.rows.survey import WeightScale, common_divisor, survey_batch, survey_batches
from eifffel.strategies import _curve, _shift

people = make_biased_classification(1500, random_state=0)
X, y, s = people.data, people.target, people.sensitive
N = 1000  # scoring rows; the others are held out
NAMES = np.array(["f", "m"])
FOREST = RandomForestClassifier(10, max_depth=6, random_state=0).fit(X[:N], y[:N])
BOOSTED = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X[:N], y[:N])
SCORING = (X[:N], y[:N], s[:N])
HELD_OUT = (X[N:], y[N:], s[N:])

cuts = st.lists(st.integers(0, 500), max_size=8).map(sorted)


def cut(columns, places):
    """Columns in batches, some of which may be empty."""
    n_rows = len(columns[0])
    places = [0, *(place for place in places if place <= n_rows), n_rows]
    return [tuple(column[low:high] for column in columns) for low, high in pairwise(places)]


def in_memory(model, select_on=HELD_OUT, scoring=SCORING, **options):
    features, labels, groups, *weight = scoring
    weight = {"sample_weight": weight[0]} if weight else {}
    return trace_path(model, features, labels, sensitive_features=groups, select_on=select_on, **weight, **options)


def assert_same_path(got, expected):
    assert got.groups == expected.groups
    assert got.seen == expected.seen
    np.testing.assert_array_equal(got.leaf_counts.counts, expected.leaf_counts.counts)
    np.testing.assert_array_equal(got.positions, expected.positions)
    for counts in ("counts", "accuracy_counts"):
        one, two = getattr(got, counts), getattr(expected, counts)
        np.testing.assert_array_equal(one.favorable, two.favorable)
        np.testing.assert_array_equal(one.totals, two.totals)
        np.testing.assert_array_equal(one.n_rows, two.n_rows)
        assert one.rows == two.rows
    assert (got.searched_counts is None) == (expected.searched_counts is None)
    if got.searched_counts is not None:
        np.testing.assert_array_equal(got.searched_counts.favorable, expected.searched_counts.favorable)
        np.testing.assert_array_equal(got.certification_counts.totals, expected.certification_counts.totals)
    step = got.n_steps // 2
    np.testing.assert_array_equal(got.order.leaves_at(step), expected.order.leaves_at(step))
    model, other = got.model_at(step), expected.model_at(step)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


@settings(max_examples=30, deadline=None)
@given(
    places=cuts,
    others=cuts,
    strategy=st.sampled_from(["leaf", "tree"]),
    held_out=st.booleans(),
    budget=st.sampled_from([0, 3000, 1e9]),
    by_group=st.booleans(),
)
def test_however_rows_are_cut_the_path_is_that_of_all_of_them(places, others, strategy, held_out, budget, by_group):
    order = np.argsort(s[:N], kind="stable") if by_group else np.arange(N)  # batches of one group
    columns = tuple(column[order] for column in SCORING)
    select_on = HELD_OUT if held_out else None
    got = trace_path(
        FOREST,
        cut(columns, places),
        select_on=(cut(HELD_OUT, others), None, None) if held_out else None,
        strategy=strategy,
        memory_budget=budget,
    )
    assert_same_path(got, in_memory(FOREST, select_on, columns, strategy=strategy))


@settings(max_examples=15, deadline=None)
@given(places=cuts, others=cuts, weighted=st.booleans())
def test_a_shift_is_the_same_however_rows_are_cut(places, others, weighted):
    weight = np.random.RandomState(0).randint(1, 4, len(X)).astype(float)
    columns = (*SCORING, weight[:N]) if weighted else SCORING
    expected = trace_path(BOOSTED, cut(columns, [400]), select_on=(cut(HELD_OUT, [200]), None, None))
    got = trace_path(BOOSTED, cut(columns, places), select_on=(cut(HELD_OUT, others), None, None))
    np.testing.assert_array_equal(got.order.score, expected.order.score)
    assert_same_path(got, expected)


@pytest.mark.filterwarnings("ignore::eifffel.NarrowProbabilitiesWarning")
@pytest.mark.parametrize("name", ["forest", "boosted"])
def test_a_shift_of_batches_is_near_that_of_rows_in_memory_and_exact_at_its_steps(name):
    model = {"forest": FOREST, "boosted": BOOSTED}[name]
    expected = in_memory(model, strategy="shift")
    got = trace_path(model, cut(SCORING, [300]), select_on=(cut(HELD_OUT, [100]), None, None), strategy="shift")
    np.testing.assert_allclose(got.order.score, expected.order.score, atol=1e-10)
    for step in np.linspace(0, got.n_steps, 15).astype(int):
        decided = got.model_at(step).predict(HELD_OUT[0]) == 1
        for code, group in enumerate(got.groups):
            for label in (0, 1):
                inside = (HELD_OUT[2] == group) & (HELD_OUT[1] == label)
                assert got.counts.favorable[step, code, label] == (decided & inside).sum()
    for epsilon in (0.02, 0.05, 0.1):
        one, two = got.select(epsilon=epsilon), expected.select(epsilon=epsilon)
        assert one.met
        assert two.met
        assert abs(one.accuracy - two.accuracy) < 0.01


def test_steps_of_batches_are_quantiles_of_a_sample(monkeypatch):
    monkeypatch.setattr(_curve, "GRID", 40)
    got = trace_path(BOOSTED, cut(SCORING, [300]), select_on=(cut(HELD_OUT, [100]), None, None))
    monkeypatch.setattr(_curve, "GRID", 10**6)
    every = trace_path(BOOSTED, cut(SCORING, [300]), select_on=(cut(HELD_OUT, [100]), None, None))
    assert got.n_steps == 40 < every.n_steps
    places = np.searchsorted(every.positions, got.positions)
    np.testing.assert_array_equal(every.positions[places], got.positions)
    np.testing.assert_array_equal(every.counts.favorable[places], got.counts.favorable)
    assert np.ptp(np.diff(places)[1:]) <= 1
    assert got.positions[-1] == every.positions[-1]


@pytest.fixture
def small_samples(monkeypatch):
    """Samples of 200 distinct rows or so, and 40 at least of each group and label."""
    for module in ("rows.hashing", "leaves.placing", "strategies._directions"):
        monkeypatch.setattr(f"eifffel.{module}.MOST_HASHES", 200)
    monkeypatch.setattr("eifffel.leaves.placing.LEAST_SAMPLED", 40)
    drawn = []
    order = _shift.order_shift

    def spy(view, placed, *rest, **options):
        drawn.append((placed, options.get("selection_sample")))
        return order(view, placed, *rest, **options)

    monkeypatch.setattr("eifffel.strategies.order_shift", spy)
    return drawn


def test_a_sample_is_of_distinct_rows_and_each_cell_weighs_as_all_of_it(small_samples):
    columns = tuple(np.repeat(column, 3, axis=0) for column in SCORING)  # each row three times
    rare = (columns[2] == 1) & (columns[1] == 0) & (np.arange(3 * N) % 30 >= 3)
    columns = tuple(column[~rare] for column in columns)  # and one cell that is small
    paths = [trace_path(BOOSTED, cut(columns, places), strategy="shift") for places in ([100, 500], [7], [4, 5, 6])]
    paths.append(in_memory(BOOSTED, None, columns, strategy="shift"))
    expected = paths[0].leaf_counts.totals
    assert 0 < expected.min() < 0.05 * expected.sum()
    first = small_samples[0][0]
    for placed, _ in small_samples:
        np.testing.assert_array_equal(placed.index, first.index)
        np.testing.assert_array_equal(placed.rows.cell, first.rows.cell)
        np.testing.assert_array_equal(placed.rows.weight, first.rows.weight)
        assert placed.n_rows == 3 * len(placed)
    kinds_of_cell = np.bincount(first.rows.cell, minlength=4)
    kinds_of_all = expected.ravel() / 3
    wanted = np.maximum(np.ceil(200 * kinds_of_all / kinds_of_all.sum()), 40)
    np.testing.assert_array_equal(kinds_of_cell, np.minimum(wanted, kinds_of_all))
    weight = first.rows.weigh_cells()
    np.testing.assert_allclose(weight / weight.sum(), expected / expected.sum(), rtol=1e-6)
    for path in paths[1:]:
        np.testing.assert_array_equal(path.order.score, paths[0].order.score)
        assert path.n_steps > 20
    # As if rows of these weights had been given in memory.
    view, constraint = paths[0]._view(), paths[0].constraint
    alone = replace(first, n_rows=None, rows=replace(first.rows, weight=first.rows.weight * 2))
    as_many = _shift.order_shift(view, replace(alone, n_rows=200), constraint)
    np.testing.assert_allclose(as_many.score, paths[0].order.score, atol=1e-10)
    fewer = _shift.order_shift(view, replace(alone, n_rows=100), constraint)
    assert np.abs(fewer.score - as_many.score).max() > 1e-4, "fewer rows are damped more"


@pytest.mark.filterwarnings("ignore::eifffel.IndistinctGroupsWarning")
def test_rows_of_equal_features_are_told_apart_by_group_and_label(small_samples):
    features = np.repeat(X[:100], 4, axis=0)
    labels, groups = np.tile([0, 0, 1, 1], 100), np.tile([0, 1, 0, 1], 100)
    trace_path(BOOSTED, cut((features, labels, groups), [150]), strategy="shift")
    placed = small_samples[0][0]
    np.testing.assert_array_equal(np.bincount(placed.rows.cell), 50)
    assert len(placed) == placed.n_rows == 200


@pytest.mark.parametrize("size", [500, 100, 7, 1])
def test_the_part_that_weighs_groups_is_not_the_part_that_certifies(small_samples, size):
    race = np.random.RandomState(1).choice(["x", "y", "z"], len(X))
    held_out = (X[N:], y[N:], race[N:])
    path = trace_path(
        BOOSTED,
        cut((X[:N], y[:N], race[:N]), [300]),
        select_on=(cut(held_out, list(range(size, 500, size))), None, None),
        strategy="shift",
    )
    searched = draw_searched(0, 500)
    place = dict(zip(hashing.hash_rows(X[N:]).tolist(), range(500), strict=True))
    weighed = {place[row_hash] for row_hash in small_samples[0][1].row_hash.tolist()}
    assert 50 < len(weighed) <= searched.sum()
    assert weighed <= set(np.flatnonzero(searched).tolist()), "whatever the batches"
    for counts, part in ((path.searched_counts, searched), (path.certification_counts, ~searched)):
        expected = [[((race[N:] == g) & (y[N:] == label) & part).sum() for label in (0, 1)] for g in "xyz"]
        np.testing.assert_array_equal(counts.totals, expected)


def test_of_equal_rows_some_are_in_either_part():
    races = np.random.RandomState(1).choice(["x", "y", "z"], 400)
    same = np.repeat(X[N : N + 1], 400, axis=0), np.ones(400, int), np.sort(races)
    path = trace_path(
        FOREST, *SCORING[:2], sensitive_features=np.resize(list("xyz"), N), select_on=same, min_group_rows=5
    )
    searched, whole = path.searched_counts.n_rows, path.counts.n_rows
    assert (abs(searched / whole - 0.5) < 0.15).all()


def test_several_groups_attributes_and_constraints_too():
    race = np.random.RandomState(1).choice(["x", "y", "z"], len(X))
    both = {"sex": NAMES[s], "race": race}

    def part(low, high, swap=False):
        names = ["race", "sex"] if swap else ["sex", "race"]
        return X[low:high], y[low:high], {name: both[name][low:high] for name in names}

    scoring = [part(0, 300), part(300, 700, swap=True), part(700, N)]
    for options in (
        {"strategy": "leaf", "constraint": "equalized_odds"},
        {"strategy": "tree", "combine": "intersection", "min_group_rows": 20},
        {"strategy": "leaf", "privileged": {"sex": "m"}},
    ):
        expected = in_memory(FOREST, part(N, 1500), part(0, N), **options)
        got = trace_path(
            FOREST, scoring, select_on=([part(N, 1200, swap=True), part(1200, 1500)], None, None), **options
        )
        assert_same_path(got, expected)
    apart = trace_path(BOOSTED, scoring, select_on=([part(N, 1200), part(1200, 1500)], None, None))
    assert apart.certification_counts.rows == "selection rows kept apart"
    assert apart.certification_counts.n_rows.sum() == (~draw_searched(0, 500)).sum()
    assert apart.select(epsilon=0.4, confidence=0.6).discrimination_rows == "selection rows kept apart"


@pytest.mark.parametrize("missing", ["own-group", "drop"])
def test_rows_without_a_group(missing):
    groups = NAMES[s].astype(object)
    groups[::7] = None
    columns = (X[:N], y[:N], groups[:N])
    expected = in_memory(FOREST, (*HELD_OUT[:2], groups[N:]), columns, missing=missing, strategy="leaf")
    got = trace_path(
        FOREST,
        cut(columns, [1, 2, 300]),  # the first batch has nobody whose group is known
        select_on=(cut((*HELD_OUT[:2], groups[N:]), [50]), None, None),
        missing=missing,
        strategy="leaf",
    )
    assert_same_path(got, expected)


@pytest.mark.parametrize("kind", ["whole", "real"])
def test_weights_count_in_the_same_units(kind):
    weight = np.random.RandomState(0).randint(0, 4, N).astype(float)
    weight = weight if kind == "whole" else weight * np.random.RandomState(1).uniform(size=N)
    columns = (*SCORING, weight)
    got = trace_path(FOREST, cut(columns, [10, 600]), strategy="leaf")
    expected = in_memory(FOREST, None, columns, strategy="leaf")
    assert_same_path(got, expected)
    assert got.leaf_counts.unit == expected.leaf_counts.unit


def test_a_set_of_labels():
    grades = np.array(["good", "fair", "poor"])[np.where(y == 1, s, 2)]
    columns, held = (X[:N], grades[:N], s[:N]), (X[N:], grades[N:], s[N:])
    options = {"favorable": {"good", "fair"}, "strategy": "leaf"}
    got = trace_path(FOREST, cut(columns, [3, 500]), select_on=(cut(held, [20]), None, None), **options)
    assert_same_path(got, in_memory(FOREST, held, columns, **options))
    assert got.label_sets.bad == ("poor",)


def test_selection_rows_without_labels():
    select_on = (X[N:], None, s[N:])
    batches = [(X[N:1200], None, s[N:1200]), (X[1200:], None, s[1200:])]
    got = trace_path(FOREST, cut(SCORING, [400]), select_on=(batches, None, None), strategy="leaf")
    assert_same_path(got, in_memory(FOREST, select_on, strategy="leaf"))
    assert got.accuracy_counts.rows == "scoring rows"


def test_measuring_on_batches():
    path = in_memory(FOREST, None, strategy="leaf")
    expected = path.measure(*HELD_OUT)
    got = path.measure(cut(HELD_OUT, [9, 300]), None, None)
    np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)
    assert got.seen is expected.seen is False
    assert path.measure(cut(SCORING, [9, 300]), None, None).seen
    assert got.verdict(path.select(epsilon=0.1, rule="paper")) == expected.verdict(
        path.select(epsilon=0.1, rule="paper")
    )


class Changing:
    """Batches that are others from some reading on."""

    def __init__(self, last):
        self.read, self.last = 0, last

    def __iter__(self):
        self.read += 1
        yield from cut(SCORING, [500 if self.read <= self.last else 501])[:1]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            iter(cut(SCORING, [5])),
            TypeError,
            "X is a list_iterator, which can be read once, and rows are read more than",
        ),
        ((batch for batch in cut(SCORING, [5])), TypeError, "X is a generator, .* give a function that makes it again"),
        (Changing(1), ValueError, "the scoring rows are read more than once, and gave other rows this time: 501 where"),
        (Changing(2), ValueError, "the scoring rows are read more than once, and gave other rows this time: 501 where"),
        ([X[:5], X[5:]], TypeError, r"batch 1 is a ndarray, and must be a tuple \(X, y, sensitive_features\)"),
        ([(X, y)], TypeError, "batch 1 is a tuple of 2 entries, and must be a tuple"),
        ((lambda once: lambda: once)(iter(cut(SCORING, [5]))), ValueError, "gave other rows this time: 0 where there"),
        (lambda: 3, TypeError, "X gives a int, which has no batches. Give rows as an array"),
        ([], ValueError, "there are no rows: the scoring rows are empty"),
        ([(X[:0], y[:0], s[:0])], ValueError, "there are no rows: the scoring rows are empty"),
        ([SCORING, (X, y[:7], s)], ValueError, "batch 2: y of the scoring rows has 7 entries for 1500 rows"),
        (
            [SCORING, (X, y + 1, s)],
            ValueError,
            r"y of the scoring rows has 2 \(in batch 2\), not among the labels 0, 1",
        ),
        ([SCORING, (X, None, s)], ValueError, "some batches have y and others have none"),
        ([SCORING, (*SCORING, np.ones(N))], ValueError, "some batches have a sample_weight and others have none"),
        ([(X, y, np.arange(1500))], ValueError, "batch 1: sensitive_features has 1500 groups, and 50 are the most"),
        ([(X, y, s * 0)], ValueError, "must have two values or more, got only 0: the other group is missing"),
        ([SCORING, (X, y, NAMES[s])], ValueError, "sensitive_features mixes values of several types: 0, 1, 'f', 'm'"),
        ([SCORING, (X[:, :2], y, s)], ValueError, "batch 2: X has 2 features, but RandomForestClassifier is expecting"),
        ([(X, None, s)], ValueError, "y is missing; leaves are scored by the labels"),
        (
            [(*SCORING, np.full(N, 1e-20)), (*SCORING, np.full(N, 1e19))],
            ValueError,
            r"sample_weight of the scoring rows ranges from 1e-20 to 1e\+19; beside weights that large, of 2000 rows",
        ),
    ],
)
def test_mistakes_are_named_with_their_batch(given, error, message):
    with pytest.raises(error, match=message):
        trace_path(FOREST, given, strategy="leaf", memory_budget=0)


@pytest.mark.parametrize(
    ("budget", "n_rows"), [(0, 2 * N), (1e9, N), (8000, 2 * N - 300)], ids=["none", "all", "the first batch"]
)
def test_leaf_indices_are_made_once_if_there_is_room_for_them(budget, n_rows, monkeypatch):
    placed = []

    def spy(self, rows, **work):
        placed.append(rows.shape[0])
        return apply(self, rows, **work)

    apply = ForestView.apply
    monkeypatch.setattr(ForestView, "apply", spy)
    trace_path(FOREST, cut(SCORING, [300, 600]), strategy="leaf", memory_budget=budget)
    assert sum(placed) == n_rows


def test_memory_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr(hashing, "MOST_HASHES", 2000)

    def batches(n_batches):
        for seed in range(n_batches):
            rows = make_biased_classification(4000, random_state=seed)
            yield rows.data, rows.target, rows.sensitive

    def peak(n_batches):
        tracemalloc.start()
        try:
            trace_path(FOREST, lambda: batches(n_batches), strategy="leaf", memory_budget=0)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)
    few, many = peak(4), peak(24)
    assert many < 1.2 * few


def test_both_passes_have_a_progress_bar(monkeypatch):
    bars = []

    class Bar:
        def __init__(self, **options):
            self.options, self.n = options, 0
            bars.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def update(self, n=1):
            self.n += n

    monkeypatch.setattr("eifffel._utils.parallel.tqdm", Bar)
    trace_path(FOREST, cut(SCORING, [300]), strategy="leaf", verbose=1)
    shown = {bar.options["desc"]: bar for bar in bars if bar.options.get("unit") == " rows"}
    assert list(shown) == ["reading groups and labels", "counting leaves", "replaying edits"]
    for bar in shown.values():
        assert bar.n == N
        assert not bar.options["disable"]
    assert shown["counting leaves"].options["total"] == N


# Tables and files.


def table(library, low=0, high=1500):
    frames = pytest.importorskip(library)
    columns = {f"f{k}": X[low:high, k] for k in range(X.shape[1])}
    return frames.DataFrame({**columns, "label": y[low:high], "sex": NAMES[s[low:high]], "age": s[low:high] * 10})


FEATURES = [f"f{k}" for k in range(X.shape[1])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("people")
    for k, (low, high) in enumerate([(0, 400), (400, 401), (401, N)]):
        table("pandas", low, high).to_parquet(folder / f"part{k}.parquet", row_group_size=150)
    return folder


@pytest.mark.parametrize("rows_per_batch", [100, 1 << 17])
def test_a_folder_of_parquet_files(folder, rows_per_batch, monkeypatch):
    monkeypatch.setattr(parquet, "ROWS_PER_BATCH", rows_per_batch)
    frame = table("pandas")
    model = RandomForestClassifier(8, max_depth=5, random_state=0).fit(frame[FEATURES][:N], y[:N])
    got = trace_path(model, folder, "label", sensitive_features="sex", strategy="leaf")
    expected = trace_path(model, frame[FEATURES][:N], y[:N], sensitive_features=frame["sex"][:N], strategy="leaf")
    np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)
    assert got.groups == expected.groups
    assert got.grouping.names == ("sex",)
    file = trace_path(model, str(folder / "part0.parquet"), "label", sensitive_features=["sex", "age"], strategy="leaf")
    assert file.counts.n_rows.sum() == 400
    assert file.grouping.names == ("sex", "age")
    unlabelled = trace_path(
        model, folder, "label", sensitive_features="sex", select_on=(folder, None, "sex"), strategy="leaf"
    )
    assert unlabelled.counts.totals.shape == (2, 1)


def test_groups_and_labels_are_surveyed_without_reading_features(folder, monkeypatch):
    read = []
    from_arrow = columns_module.TableColumns.cut

    def spy(self, frame, where, **options):
        read.append(list(frame.columns))
        return from_arrow(self, frame, where, **options)

    monkeypatch.setattr(columns_module.TableColumns, "cut", spy)
    model = RandomForestClassifier(3, random_state=0).fit(table("pandas")[FEATURES], y)
    trace_path(model, folder, "label", sensitive_features="sex", strategy="leaf", memory_budget=0)
    assert read == [["label", "sex"], [*FEATURES, "label", "sex"], [*FEATURES, "label", "sex"]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_frames_by_name(library):
    frame = table(library)
    names = RandomForestClassifier(8, max_depth=5, random_state=0).fit(frame[FEATURES], y)
    with_group = np.column_stack([X, s * 10])
    places = RandomForestClassifier(8, max_depth=5, random_state=0).fit(with_group, y)  # and no names
    for model, features, group, columns in (
        (names, frame[FEATURES], "sex", None),
        (names, frame[FEATURES], "sex", FEATURES),
        (FOREST, X, "sex", FEATURES),
        (places, with_group, "age", [*FEATURES, "age"]),
    ):
        expected = trace_path(model, features, y, sensitive_features=frame[group], strategy="leaf")
        table_columns = ["sex", "age", *FEATURES[::-1], "label"]
        halves = [frame[table_columns][:700], frame[table_columns][700:]]
        for rows in (halves, lambda halves=halves: iter(halves)):
            got = trace_path(model, rows, "label", sensitive_features=group, strategy="leaf", features=columns)
            np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)
    whole = trace_path(names, frame, "label", sensitive_features="sex", strategy="leaf")
    assert whole.rows_to_check.X.shape == (1500, len(FEATURES))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"X": "nowhere"}, FileNotFoundError, "there is no file or folder nowhere"),
        ({"y": "lable"}, ValueError, "there is no column 'lable'; did you mean 'label'"),
        ({"y": "hired"}, ValueError, r"people.*: there is no column 'hired'; there are 'f0', .* 'sex', 'age'"),
        ({"sensitive_features": "race"}, ValueError, "there is no column 'race'"),
        ({"sample_weight": "weight"}, ValueError, "there is no column 'weight'"),
        ({"sample_weight": np.ones(N)}, ValueError, "sample_weight must be the name of a column, .* got a ndarray"),
        ({"y": y[:N]}, ValueError, "y and sensitive_features must then be names of columns in them, .* got a ndarray"),
        ({"y": None, "sensitive_features": None}, ValueError, "must then be names of columns in them, .* got nothing"),
        ({"model": "other"}, ValueError, "the model was trained on the column 'g0', and the table has"),
        (
            {"model": "forest"},
            ValueError,
            r"people.*: the model does not know the names of its columns, .*features=",
        ),
        ({"features": FEATURES[:2]}, ValueError, "features names 2 columns, and the model was trained on 10"),
        ({"features": "f0"}, ValueError, "features must be a list of different names of columns, .* got 'f0'"),
        ({"features": [*FEATURES[1:], "f1"]}, ValueError, "features must be a list of different names"),
        ({"features": [*FEATURES[1:], "f00"]}, ValueError, "there is no column 'f00'; did you mean 'f0'"),
        ({"features": [*FEATURES[1:], "label"]}, ValueError, "features names 'label', which is the column of labels"),
        (
            {"model": "other", "features": FEATURES},
            ValueError,
            "features names 'f0', .* was trained on 'g0',",
        ),
        (
            {"X": X, "y": y, "sensitive_features": s, "features": FEATURES},
            ValueError,
            "must be names of its columns",
        ),
    ],
)
def test_mistakes_with_files(folder, changes, error, message):
    pd = pytest.importorskip("pandas")
    models = {
        "other": RandomForestClassifier(2, random_state=0).fit(
            pd.DataFrame(X, columns=[f"g{k}" for k in range(X.shape[1])]), y
        ),
        "forest": FOREST,
    }
    given = {"model": "forest", "X": folder, "y": "label", "sensitive_features": "sex"} | changes
    with pytest.raises(error, match=message):
        trace_path(models[given.pop("model")], **given)


def test_a_list_of_files(folder):
    frame = table("pandas")
    model = RandomForestClassifier(3, random_state=0).fit(frame[FEATURES], y)
    files = sorted(folder.glob("*.parquet"))
    got = trace_path(model, files[:2], "label", sensitive_features="sex", select_on=(files[2:], "label", "sex"))
    assert got.counts.n_rows.sum() == N - 401
    assert got.leaf_counts.totals.sum() == 401


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="f3"), "b.parquet has no column 'f3', which other files have; it has f0, f1"),
        (lambda frame: frame.assign(f3="1"), "b.parquet has the column 'f3' as text, and other files as numbers"),
        (
            lambda frame: frame.assign(label=7),
            r"has 7 \(in row 1 of .*a.parquet to row 1,000 of .*b.parquet\), not among",
        ),
        (lambda frame: frame.assign(f3=frame["f3"].astype("float32")), None),
        (lambda frame: frame.assign(sex=frame["sex"].astype("category")), None),
    ],
)
def test_a_file_that_is_unlike_the_others_is_named(tmp_path, change, message):
    pytest.importorskip("pyarrow")
    frame = table("pandas")
    model = RandomForestClassifier(3, random_state=0).fit(frame[FEATURES], y)
    frame[:500].to_parquet(tmp_path / "a.parquet")
    change(frame[500:]).to_parquet(tmp_path / "b.parquet")
    if message is None:
        assert trace_path(model, tmp_path, "label", sensitive_features="sex").counts.n_rows.sum() == 1500
    else:
        with pytest.raises(ValueError, match=message):
            trace_path(model, tmp_path, "label", sensitive_features="sex")


@pytest.mark.parametrize("wrong", ["a.parquet", "b.parquet"])
def test_a_file_with_two_columns_of_one_name_is_named(tmp_path, wrong):
    arrow, parquet = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    frame = table("pandas")
    model = RandomForestClassifier(3, random_state=0).fit(frame[FEATURES], y)
    rows = arrow.Table.from_pandas(frame)
    twice = rows.append_column("sex", rows["sex"])
    for name in ("a.parquet", "b.parquet"):
        parquet.write_table(twice if name == wrong else rows, tmp_path / name)
    for path in (tmp_path, tmp_path / wrong):
        with pytest.raises(ValueError, match=f"{wrong} has more than one column named 'sex'; rename them"):
            trace_path(model, path, "label", sensitive_features="sex")


def test_folders_named_by_a_column_and_other_files(tmp_path):
    pytest.importorskip("pyarrow")
    frame = table("pandas")
    model = RandomForestClassifier(3, random_state=0).fit(frame[FEATURES], y)
    frame.to_parquet(tmp_path / "hive", partition_cols=["sex"])
    got = trace_path(model, tmp_path / "hive", "label", sensitive_features="sex")
    expected = trace_path(model, frame[FEATURES], y, sensitive_features=frame["sex"])
    np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)
    frame.to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(ValueError, match=r"people.csv is not in Parquet format, or is damaged .* give a function"):
        trace_path(model, tmp_path / "people.csv", "label", sensitive_features="sex")
    pd = pytest.importorskip("pandas")
    got = trace_path(
        model, lambda: pd.read_csv(tmp_path / "people.csv", chunksize=400), "label", sensitive_features="sex"
    )
    np.testing.assert_array_equal(got.counts.n_rows, expected.counts.n_rows)


def test_categories_that_came_as_text_are_told():
    lightgbm = pytest.importorskip("lightgbm")
    frame = table("pandas").assign(job=np.array(["a", "b", "c"])[np.arange(1500) % 3])
    model = lightgbm.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1)
    model.fit(frame[[*FEATURES, "job"]].astype({"job": "category"}), y)
    with pytest.raises(
        ValueError, match="batch 1: the model was trained on 1 columns of pandas' type category, and these"
    ):
        trace_path(model, [frame], "label", sensitive_features="sex")
    got = trace_path(model, [frame.astype({"job": "category"})], "label", sensitive_features="sex")
    assert got.counts.n_rows.sum() == 1500


def test_a_folder_without_files(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="there are no Parquet files in"):
        trace_path(FOREST, tmp_path, "label", sensitive_features="sex")


# What passes are made of.


@settings(max_examples=100, deadline=None)
@given(hashes=st.lists(st.lists(st.integers(0, 40), max_size=30), min_size=1, max_size=5), most=st.integers(1, 12))
def test_what_is_kept_of_batches_is_the_lowest_of_all(hashes, most):
    old = hashing.MOST_HASHES
    hashing.MOST_HASHES = most
    try:
        parts = [RowHashes.of(np.array(part, np.uint64)) for part in hashes]
        got = reduce(RowHashes.join, parts)
    finally:
        hashing.MOST_HASHES = old
    every = sorted(value for part in hashes for value in part)
    lowest = sorted(set(every))[:most]
    assert got.value.tolist() == lowest
    assert got.count.tolist() == [every.count(value) for value in lowest]
    assert all(value <= got.last for value in lowest)
    assert [value for value in sorted(set(every)) if value <= got.last] == lowest


def test_overlap_is_told_from_the_lowest_kinds(monkeypatch):
    monkeypatch.setattr(hashing, "MOST_HASHES", 300)
    one, two, three = (collect_hashes(X[part], X[part]) for part in (slice(0, 900), slice(300, 1200), slice(900, 1500)))
    assert len(one.value) == 300
    assert one.overlap(two)
    assert not one.overlap(three)
    assert collect_hashes(X[:90], X[:90]).overlap(one) == 1


@given(st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=6).filter(any))
def test_the_common_divisor_of_weights_divides_them_all(weights):
    fractions = [Fraction(weight) for weight in weights if weight]
    common = reduce(
        lambda a, b: Fraction(
            gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator
        ),
        fractions,
    )
    got = common_divisor(np.array(weights))
    assert Fraction(got) == common
    smallest = min(weight for weight in weights if weight)
    assert WeightScale.of(np.array(weights)) == WeightScale(smallest, max(weights), got, len(weights))
    if len(weights) > 1:
        halves = WeightScale.of(np.array(weights[:1])).join(WeightScale.of(np.array(weights[1:])))
        assert halves == WeightScale.of(np.array(weights))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 1000), n_groups=st.integers(2, 4), places=cuts)
def test_a_survey_counts_what_coding_counts(seed, n_groups, places):
    random = np.random.RandomState(seed)
    group, label = random.randint(0, n_groups, 60), random.randint(0, 2, 60)
    group[:n_groups] = np.arange(n_groups)
    weight = random.randint(0, 3, 60).astype(float)
    weight[:n_groups] = 1
    features = np.zeros((60, 1))
    coding = Coding(np.array([0, 1]), 1, read_groups(group))
    surveys = [
        survey_batch(Batch(*part), "error", "rows")
        for part in cut((features, label, group, weight), places)
        if len(part[0])
    ]
    joined = reduce(lambda a, b: a.join(b), surveys)
    rows = coding.encode(features, label, group, weight, rows="rows")
    np.testing.assert_array_equal(coding.count_cells(joined, rows="rows"), rows.count_cells())
    assert joined.n_rows == 60
    assert joined.scale.unit == rows.unit


@pytest.mark.parametrize(
    "model",
    [
        ExtraTreesClassifier(5, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=5, random_state=0),
    ],
)
def test_other_models_too(model):
    model.fit(X[:N], y[:N])
    got = trace_path(model, cut(SCORING, [100, 800]), select_on=(cut(HELD_OUT, [30]), None, None))
    assert got.select(epsilon=0.1).met
    got.model_at(got.n_steps // 2)


def libraries():
    yield "lightgbm", "LGBMClassifier", {"n_estimators": 5, "verbose": -1, "n_jobs": 1}
    yield "xgboost", "XGBClassifier", {"n_estimators": 5, "n_jobs": 1}
    yield (
        "catboost",
        "CatBoostClassifier",
        {"iterations": 5, "verbose": 0, "thread_count": 1, "allow_writing_files": False},
    )


@pytest.mark.parametrize("named", [True, False], ids=["trained on a frame", "trained on an array"])
@pytest.mark.parametrize(("library", "name", "options"), list(libraries()), ids=[name for name, *_ in libraries()])
def test_models_of_other_libraries_find_their_columns(library, name, options, named):
    frame = table("pandas").drop(columns="age")
    model = getattr(pytest.importorskip(library), name)(**options)
    model.fit(frame[FEATURES] if named else X, y)
    columns = ["sex", *FEATURES[::-1], "label"] if named else [*FEATURES, "sex", "label"]
    expected = trace_path(model, frame[FEATURES] if named else X, y, sensitive_features=frame["sex"])
    got = trace_path(model, frame[columns], "label", sensitive_features="sex")
    np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)
    if library != "catboost":
        booster = model.booster_ if library == "lightgbm" else model.get_booster()
        got = trace_path(booster, frame[columns], "label", sensitive_features="sex")
        np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)


def test_texts_are_names_only_of_columns_that_there_are():
    path = in_memory(FOREST, None, (X[:N], y[:N], NAMES[s[:N]]), strategy="leaf")
    groups = NAMES[s[N:]].tolist()
    expected = path.measure(X[N:], None, NAMES[s[N:]])
    np.testing.assert_array_equal(path.measure(X[N:], None, groups).counts.favorable, expected.counts.favorable)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[N:])
    got = path.measure(frame, None, groups)
    np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)
    got = path.measure(frame.assign(sex=groups), None, "sex")  # columns named by numbers
    np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)


def test_a_name_that_the_model_knows_must_be_there():
    pd = pytest.importorskip("pandas")
    frame = table("pandas")
    model = RandomForestClassifier(2, random_state=0).fit(frame[FEATURES], y)
    other = frame.drop(columns="f1").assign(g1=0.0).drop(columns="age")
    with pytest.raises(ValueError, match="the model was trained on the column 'f1', and the table has 'f0', 'f2'"):
        trace_path(model, other, "label", sensitive_features="sex")
    assert pd


def test_an_index_in_a_file_and_arrow_batches(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    frame = table("pandas").drop(columns="age")
    expected = trace_path(FOREST, X, y, sensitive_features=frame["sex"], strategy="leaf").counts.favorable
    frame.sample(frac=1, random_state=0).sort_index().set_index("sex").to_parquet(tmp_path / "a.parquet")
    named = {"sensitive_features": "sex", "strategy": "leaf", "features": FEATURES}
    got = trace_path(FOREST, tmp_path / "a.parquet", "label", **named)
    np.testing.assert_array_equal(got.counts.favorable, expected)
    frame.loc[::-1].to_parquet(tmp_path / "b.parquet")  # with __index_level_0__
    got = trace_path(FOREST, tmp_path / "b.parquet", "label", **named)
    np.testing.assert_array_equal(got.counts.favorable, expected)
    parts = pyarrow.Table.from_pandas(frame).to_batches(max_chunksize=400)
    got = trace_path(FOREST, parts, "label", **named)
    np.testing.assert_array_equal(got.counts.favorable, expected)


def test_other_errors_keep_their_type_and_get_a_note():
    class Odd(Exception):
        pass

    def fail():
        yield SCORING
        raise Odd("broken")

    with pytest.raises(Odd):
        trace_path(FOREST, fail, strategy="leaf")

    def work(batch):
        raise Odd("broken")

    with pytest.raises(Odd) as caught:
        batches_module.do_named(work, Batch(X, y, s, None, "batch 3"))
    assert caught.value.__notes__ == ["in batch 3"]


def test_the_first_batch_of_a_value_is_named():
    batches = [SCORING, *([(X[:9], y[:9], s[:9])] * 8), (X[:9], np.full(9, 5), s[:9]), (X[:9], np.full(9, 5), s[:9])]
    with pytest.raises(ValueError, match=r"has 5 \(in batch 10\)"):
        trace_path(FOREST, batches, strategy="leaf")


def test_groups_are_the_same_whichever_batch_has_gaps():
    gaps = np.where(np.arange(N) % 5, s[:N], np.nan)
    parts = [(X[:500], y[:500], gaps[:500]), (X[500:N], y[500:N], s[500:N])]
    paths = [trace_path(FOREST, batches, strategy="leaf", missing="drop") for batches in (parts, parts[::-1])]
    assert [repr(path.groups) for path in paths] == [repr(paths[0].groups)] * 2
    assert all(isinstance(group, int) for group in paths[0].groups)


class Unnumbered(Batches):
    """Batches that do not say which is which."""

    def __init__(self, parts):
        self.parts = parts

    def map(self, function, budget=0):
        return Unnumbered([function(part) for part in self.parts])

    def reduce(self, work, merge, bar, n_rows=None):
        return reduce(merge, map(work, self.parts))


def test_batches_of_the_same_number_are_refused():
    parts = [Batch(X[part], y[part], s[part]) for part in (slice(0, 700), slice(700, 1500))]
    with pytest.raises(ValueError, match=r"batches of the rows have the same number.*give each Batch its own, number="):
        survey_batches(Unnumbered(parts), "error", rows="the rows")
    numbered = [replace(part, number=k) for k, part in enumerate(parts)]
    assert survey_batches(Unnumbered(numbered), "error", rows="the rows").starts == {0: 0, 1: 700}
