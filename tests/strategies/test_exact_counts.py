"""What a path counts is what the written models decide, at every step, for every row, those at the cut-off included."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier

from boosters import BOOSTED
from eifffel import UnsupportedModelError, trace_path, view_ensemble
from eifffel.constraints import CONSTRAINTS
from eifffel.leaves.placing import PlacedRows
from eifffel.strategies import DIRECTIONS, STRATEGIES, ShiftOrder, Strategy, _curve, _steps

# Few fractions, so that their sums tie: some add up without rounding, others do not.
FRACTIONS = np.array([0, 1 / 4, 1 / 3, 1 / 2, 1, 0.1, 0.2, 0.3, 1 / 7])
N_ROWS = 160


def draw_rows(random, *, discrete):
    X = random.randint(0, 3, (2 * N_ROWS, 4)).astype(float) if discrete else random.normal(size=(2 * N_ROWS, 4))
    group = random.randint(0, random.randint(2, 4), 2 * N_ROWS)
    label = (X[:, 0] + group / 2 + random.normal(size=2 * N_ROWS) > 1).astype(int)
    group[:6], label[:6] = [0, 0, 1, 1, 2, 2], [0, 1] * 3  # each group has both labels, on both sides
    group[N_ROWS : N_ROWS + 6], label[N_ROWS : N_ROWS + 6] = group[:6], label[:6]
    return X, label, group


def draw_forest(random, n_trees, X, y):
    """A forest on these rows whose leaves hold few fractions, perhaps with a cut-off of its own."""
    settings = {"n_estimators": n_trees, "random_state": random.randint(99), "n_jobs": 1}
    depth = [None, 1, 2, 4][random.randint(4)]
    model = [
        RandomForestClassifier(max_depth=depth, **settings),
        ExtraTreesClassifier(max_depth=depth, **settings),
        BaggingClassifier(DecisionTreeClassifier(max_depth=depth), max_features=0.7, **settings),
    ][random.randint(3)].fit(X, y)
    view = view_ensemble(model)
    some = random.choice(FRACTIONS, random.randint(2, 5))
    if view.writable.all() and random.rand() < 0.8:
        favorable = random.choice(np.concatenate([some, 1 - some]), view.n_leaves)
        model = view.write(np.column_stack([1 - favorable, favorable]))
    if random.rand() < 0.3:
        cut, label = random.choice([0.3, 0.5, 0.1 + 0.2, 0.6, 0.7]), int(random.randint(2))
        model = FixedThresholdClassifier(FrozenEstimator(model), threshold=cut, pos_label=label).fit(X, y)
    return model


def trace(model, scoring, selection, **options):
    (X, y, s), others = scoring, selection
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of groups that are hardly told apart, or wrongly called privileged
        return trace_path(model, X, y, sensitive_features=s, min_group_rows=0, select_on=others, **options)


def check_counts(path, rows, steps):
    """The written models decide what the path counts, and, upwards, take nothing from anybody."""
    X, y, s = rows
    view = view_ensemble(path.model, favorable=path.favorable)
    before = view.model_decides(X)
    good = y == path.favorable
    for step in steps:
        written = view_ensemble(view.write(path.order.edit(view, step)[0]), favorable=path.favorable)
        decided = written.model_decides(X)
        cells = [[(decided & (s == group) & (good == label)).sum() for label in (0, 1)] for group in path.groups]
        np.testing.assert_array_equal(path.counts.favorable[step], cells, err_msg=f"step {step} of {path.n_steps}")
        if path.direction == "up":
            assert not (before & ~decided).any()


def some_steps(path, random, most=7):
    inner = random.randint(0, path.n_steps + 1, most)
    return sorted({0, min(1, path.n_steps), path.n_steps, *inner.tolist()})


@pytest.mark.parametrize("n_trees", [1, 2, 3, 4, 10, 50, 100])
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**20), discrete=st.booleans())
def test_forests(n_trees, seed, discrete):
    random = np.random.RandomState(seed)
    X, y, s = draw_rows(random, discrete=discrete)
    selection = X[N_ROWS:], y[N_ROWS:], s[N_ROWS:]
    model = draw_forest(random, n_trees, X[:N_ROWS], y[:N_ROWS])
    # Scoring rows that miss leaves, which then nothing moves.
    seen = np.append(np.arange(6), np.flatnonzero((X[6:N_ROWS, 0] == X[0, 0]) | (random.rand(N_ROWS - 6) < 0.1)) + 6)
    scoring = X[seen], y[seen], s[seen]
    for strategy, direction in product(STRATEGIES, DIRECTIONS):
        if strategy == "shift" and view_ensemble(model).unshiftable:
            continue
        options = {"strategy": strategy, "direction": direction, "favorable": int(random.randint(2))}
        path = trace(model, scoring, selection, constraint=random.choice(list(CONSTRAINTS)), **options)
        check_counts(path, selection, some_steps(path, random))
        others = X[:N_ROWS], y[:N_ROWS], s[:N_ROWS]
        check_counts(path.measure(*others), others, some_steps(path, random, most=2))


@pytest.mark.parametrize("name", BOOSTED)
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 2**20), discrete=st.booleans())
def test_boosted_models(name, seed, discrete):
    random = np.random.RandomState(seed)
    X, y, s = draw_rows(random, discrete=discrete)
    if random.rand() < 0.5:
        y = np.arange(len(y)) % 2  # leaves of nothing, at the cut-off
    selection = X[N_ROWS:], y[N_ROWS:], s[N_ROWS:]
    model = BOOSTED[name](X[:N_ROWS], y[:N_ROWS])
    if hasattr(model, "fit") and random.rand() < 0.3:
        cut = [0.3, np.float64(0.3), 0.7, np.float64(0.7)][random.randint(4)]
        model = FixedThresholdClassifier(FrozenEstimator(model), threshold=cut, pos_label=int(random.randint(2)))
        model = model.fit(X[:N_ROWS], y[:N_ROWS])
    scoring = X[:60], y[:60], s[:60]
    for direction in DIRECTIONS:
        constraint, favorable = random.choice(list(CONSTRAINTS)), int(random.randint(2))
        path = trace(model, scoring, selection, direction=direction, constraint=constraint, favorable=favorable)
        check_counts(path, selection, some_steps(path, random, most=3))
        others = X[:N_ROWS], y[:N_ROWS], s[:N_ROWS]
        check_counts(path.measure(*others), others, some_steps(path, random, most=2))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("favorable", [0, 1])
@pytest.mark.parametrize("n_trees", [2, 3, 100])
def test_grown_out_forests_with_many_ties(n_trees, favorable, direction):
    random = np.random.RandomState(n_trees)
    X, y, s = draw_rows(random, discrete=True)
    rows = X, y, s
    model = RandomForestClassifier(n_trees, random_state=0, n_jobs=1).fit(X[:N_ROWS], y[:N_ROWS])
    part = tuple(column[:N_ROWS] for column in rows)
    path = trace(model, part, rows, strategy="shift", direction=direction, favorable=favorable)
    check_counts(path, rows, range(path.n_steps + 1))


def test_shifted_forests_decide_the_same_in_any_order_of_their_trees():
    random = np.random.RandomState(0)
    rows = X, y, _ = draw_rows(random, discrete=True)
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    path = trace(model, rows, rows, strategy="shift")
    view = view_ensemble(model)
    edited = view.write(path.order.edit(view, path.n_steps // 2)[0])
    sums = []
    for order in (np.arange(30), np.arange(30)[::-1], random.permutation(30)):
        sums.append(sum(edited.estimators_[t].predict_proba(X) for t in order))
    np.testing.assert_array_equal(sums[0], sums[1])
    np.testing.assert_array_equal(sums[0], sums[2])
    assert edited.predict_proba(X).min() >= 0
    np.testing.assert_array_equal(edited.predict_proba(X).sum(axis=1), 1)


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**20), n_steps=st.integers(0, 8), scalars=st.booleans())
def test_steps_within_rounding(seed, n_steps, scalars):
    random = np.random.RandomState(seed)
    n_rows = 12
    # Whole numbers, so that nothing rounds; some steps are right at the border.
    reach = np.append(0, np.unique(random.randint(1, 12, n_steps))).astype(float)
    start, pull = (random.randint(-6, 7, n_rows).astype(float) for _ in range(2))
    rounding, growth = ((random.randint(0, 4, n_rows)).astype(float) for _ in range(2))
    rounding[random.rand(n_rows) < 0.2] = np.inf
    rounding[random.rand(n_rows) < 0.2] = -np.inf
    if scalars:
        rounding, growth = 2.0, 1.0
    begin, end = _steps.find_within(reach, start, pull, rounding, growth)
    with np.errstate(invalid="ignore"):
        within = np.array([np.abs(start - at * pull) <= rounding + at * growth for at in reach])
    steps = np.arange(len(reach))[:, None]
    np.testing.assert_array_equal((steps >= begin) & (steps < end), within & (steps > 0))


@pytest.fixture
def balanced():
    """Half of the rows are in a leaf that adds nothing, and get no score at all."""
    X = np.repeat([[0.0], [1.0]], 100, axis=0)
    label = np.concatenate([np.tile([0, 1], 50), np.ones(100, int)])
    group = np.tile([0, 1, 1, 0], 50)
    model = GradientBoostingClassifier(n_estimators=2, init="zero", max_depth=1).fit(X, label)
    return model, (X, label, group)


def along(monkeypatch, direction, reach):
    """A strategy that shifts along a direction of our own."""

    def order(view, *given, **options):
        return ShiftOrder.straight(np.array([direction(value) for value in view.leaf_value]), reach)

    monkeypatch.setitem(STRATEGIES, "along", Strategy(order, flips=False))
    monkeypatch.setattr(ShiftOrder, "on_rows", lambda self, *given, **options: self)


@pytest.mark.parametrize("next_to_nothing", [0.0, 1e-14, -1e-14, 1e-300])
@pytest.mark.parametrize("favorable", [0, 1])
def test_rows_at_the_cut_off_that_next_to_nothing_moves(balanced, monkeypatch, favorable, next_to_nothing):
    model, rows = balanced
    along(monkeypatch, lambda value: next_to_nothing if value == 0 else 1.0, np.array([0.0, 0.01, 0.1, 1e6]))
    path = trace(model, rows, rows, strategy="along", favorable=favorable)
    check_counts(path, rows, range(4))
    if next_to_nothing == 0:  # this library gives a tie to the second class
        assert path.counts.favorable[-1].sum() == (100 if favorable == 1 else 0)


def test_batches_whose_features_were_not_kept_are_read_again(balanced, monkeypatch):
    model, (X, y, s) = balanced
    along(monkeypatch, lambda value: 1e-14 if value == 0 else 1.0, np.array([0.0, 0.01, 0.1, 1e6]))
    parts = [np.arange(k, 200, 4) for k in range(4)]
    n_readings = []

    def read():
        n_readings.append(1)
        return iter([(X[part], y[part], s[part]) for part in parts])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = trace_path(model, read, strategy="along")
        n_kept = len(n_readings)
        in_memory = trace_path(model, X, y, sensitive_features=s, strategy="along")
    np.testing.assert_array_equal(path.counts.favorable, in_memory.counts.favorable)
    check_counts(path, (X, y, s), range(4))
    # With nothing near the cut-off, what was kept of the batches is enough.
    n_readings.clear()
    along(monkeypatch, lambda value: 0.0 if value == 0 else 1.0, np.array([0.0, 0.01, 0.1, 1e6]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace_path(model, read, strategy="along")
    assert len(n_readings) < n_kept


def test_a_model_is_asked_about_few_steps(monkeypatch):
    random = np.random.RandomState(0)
    X = np.append(np.zeros(100), 1 + random.rand(200))[:, None]
    y = np.append(np.tile([0, 1], 50), random.randint(0, 2, 200))
    model = GradientBoostingClassifier(n_estimators=20, init="zero", max_depth=4, random_state=0).fit(X, y)
    view = view_ensemble(model)
    index = view.apply(view.check_rows(X))
    # Those of 0 have no score, and what moves their leaves adds up to nothing.
    tied = view.leaf_offset[:-1] + index[:, 0]
    leaf_value = view.leaf_value.copy()
    leaf_value[tied] = 0
    view = view_ensemble(view.write(leaf_value))
    direction = view.leaf_score + 0.1 * random.normal(size=view.n_leaves)
    direction[tied] = [1e-15, -1e-15] * 10
    order = ShiftOrder.straight(direction)
    placed = PlacedRows(X, index, None, "rows")
    many = order.on_rows(view, placed)
    monkeypatch.setattr(_curve, "MOST_ASKED", 5)
    few = order.on_rows(view, placed)
    assert few.n_steps == 5 < many.n_steps
    assert set(few.reach) <= set(many.reach)


@pytest.mark.parametrize("cut", [1e-4, 0.9999, 1 - 1e-11, 1e-11])
@pytest.mark.parametrize(
    "model", [RandomForestClassifier(5, random_state=0), GradientBoostingClassifier(n_estimators=9)]
)
def test_cut_offs_at_the_ends(model, cut):
    rows = X, y, _ = draw_rows(np.random.RandomState(1), discrete=True)
    model = FixedThresholdClassifier(model, threshold=cut).fit(X, y)
    if isinstance(model.estimator, RandomForestClassifier) and not 1e-4 <= cut <= 0.9999:
        with pytest.raises(UnsupportedModelError, match=rf"the cut-off {cut!r} leaves them no room on one side"):
            trace(model, rows, rows, strategy="shift")
        return
    path = trace(model, rows, rows, strategy="shift")
    check_counts(path, rows, range(0, path.n_steps + 1, max(1, path.n_steps // 9)))
