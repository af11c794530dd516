"""Each kernel against a slow, obvious twin."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eifffel.ensembles import add_prices
from eifffel.kernels import compiling, leaf_kernels

# Halves and whole numbers add exactly in binary; thirds, fifths and tenths do not.
FRACTIONS = np.array([0, 1, 1 / 2, 1 / 3, 2 / 3, 1 / 5, 4 / 5, 1 / 10, 9 / 10, 3 / 7])


def test_kernels_compile_without_a_folder_to_cache_them_in(monkeypatch):
    def njit(cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: ("compiled", function, options)

    monkeypatch.setattr(compiling.numba, "njit", njit)
    assert compiling.compiled(len) == ("compiled", len, {"nogil": True})


class Leaves:
    """A drawn ensemble as the kernels see it, with an order of flips in steps of several leaves of one tree."""

    def __init__(self, seed, n_trees, n_rows, dtype=np.uint8, comparison=0, cut=0.5, weighted_rows=False):
        random = np.random.RandomState(seed)
        sizes = random.randint(1, 6, n_trees)
        self.offset = np.concatenate([[0], np.cumsum(sizes)])
        n_leaves = self.offset[-1]
        self.index = np.array([random.randint(0, size, n_rows) for size in sizes], dtype).reshape(n_trees, n_rows)
        favorable = random.choice(FRACTIONS, n_leaves)
        self.value = np.column_stack([1 - favorable, favorable])
        self.margin = np.rint((self.value[:, 1] - self.value[:, 0]) * leaf_kernels.FIXED_POINT).astype(np.int64)
        self.exact = (self.value * 1024 == np.rint(self.value * 1024)).all(axis=1)
        self.rounding = 2 * (n_trees + 1) + n_trees**2
        self.comparison, self.cut = comparison, cut
        favorable_cut = 1 - cut if comparison == leaf_kernels.UNFAVORABLE_REACHES else cut
        self.bias = int(np.rint(-n_trees * (2 * favorable_cut - 1) * leaf_kernels.FIXED_POINT))
        # Up to two leaves of one tree a step, each leaf at most once, some never.
        self.leaf, self.step = np.empty(0, int), np.empty(0, int)
        for step, t in enumerate(random.permutation(n_trees), start=1):
            own = random.permutation(np.arange(self.offset[t], self.offset[t + 1]))[: random.randint(0, 3)]
            self.leaf = np.append(self.leaf, own)
            self.step = np.append(self.step, np.full(len(own), step))
        self.rank = np.full(n_leaves, len(self.leaf), np.int32)
        self.rank[self.leaf] = np.arange(len(self.leaf))
        self.cell = random.randint(0, 4, n_rows).astype(np.uint8)
        ones = np.broadcast_to(np.int64(1), n_rows)
        self.weight = random.randint(0, 2**40, n_rows) if weighted_rows else ones

    def decide_slowly(self, n_flips):
        """Add tree after tree, as predict does with one job."""
        favorable = np.zeros(self.index.shape[1])
        unfavorable = np.zeros(self.index.shape[1])
        value = self.value.copy()
        value[self.leaf[:n_flips]] = value[self.leaf[:n_flips], ::-1]
        for t, leaf in enumerate(self.index):
            unfavorable += value[self.offset[t] + leaf, 0]
            favorable += value[self.offset[t] + leaf, 1]
        unfavorable /= len(self.index)
        favorable /= len(self.index)
        return {
            leaf_kernels.TIE_IS_UNFAVORABLE: favorable > unfavorable,
            leaf_kernels.TIE_IS_FAVORABLE: favorable >= unfavorable,
            leaf_kernels.FAVORABLE_REACHES: favorable >= self.cut,
            leaf_kernels.UNFAVORABLE_REACHES: unfavorable < self.cut,
        }[self.comparison]

    def replay_slowly(self, n_steps):
        counts = np.zeros((4, n_steps + 1), self.weight.dtype)
        for step in range(n_steps + 1):
            decided = self.decide_slowly(int(np.searchsorted(self.step, step, side="right")))
            for cell in range(4):
                counts[cell, step] = self.weight[decided & (self.cell == cell)].sum()
        return counts

    def replay(self, n_steps, low=0, high=None):
        changes = np.zeros((4, n_steps + 1), self.weight.dtype)
        leaf_kernels.replay(
            self.index,
            low,
            self.index.shape[1] if high is None else high,
            self.offset,
            self.margin,
            self.bias,
            self.value,
            self.exact,
            self.rank,
            self.step,
            -2 * self.margin[self.leaf],
            self.comparison,
            self.cut,
            self.rounding,
            self.cell,
            self.weight,
            changes,
        )
        return np.cumsum(changes, axis=1)


@st.composite
def leaves(draw, **kwargs):
    comparison = draw(st.sampled_from([0, 1, 2, 3]))
    # Cut-offs at which averages of drawn fractions lie, and others.
    cuts = st.sampled_from([0.5, 0.3, 1 / 3, 0.2, 0.7, 0.0, 1.0])
    return Leaves(
        seed=draw(st.integers(0, 2**20)),
        n_trees=draw(st.integers(1, 9)),
        n_rows=draw(st.integers(1, 40)),
        dtype=draw(st.sampled_from([np.uint8, np.uint16, np.uint32])),
        comparison=comparison,
        cut=0.5 if comparison < leaf_kernels.FAVORABLE_REACHES else draw(cuts),
        **kwargs,
    )


@settings(max_examples=300, deadline=None)
@given(drawn=leaves(), cut=st.floats(0, 1))
def test_replay_counts_what_deciding_after_every_step_counts(drawn, cut):
    n_steps = len(drawn.offset)
    slow = drawn.replay_slowly(n_steps)
    np.testing.assert_array_equal(drawn.replay(n_steps), slow)
    # Additive over rows.
    middle = int(cut * drawn.index.shape[1])
    np.testing.assert_array_equal(drawn.replay(n_steps, 0, middle) + drawn.replay(n_steps, middle), slow)


@settings(max_examples=60, deadline=None)
@given(drawn=leaves(weighted_rows=True))
def test_replay_adds_weights(drawn):
    n_steps = len(drawn.offset)
    np.testing.assert_array_equal(drawn.replay(n_steps), drawn.replay_slowly(n_steps))


@pytest.mark.parametrize("comparison", [0, 1, 2, 3])
def test_replay_and_decide_over_several_blocks_of_rows(comparison):
    drawn = Leaves(seed=1, n_trees=6, n_rows=400_000, comparison=comparison)
    assert drawn.index.size > 2 * leaf_kernels.PAIRS_PER_BLOCK, "the case does not test what it is for"
    np.testing.assert_array_equal(drawn.replay(7), drawn.replay_slowly(7))
    np.testing.assert_array_equal(decide(drawn, now=3), drawn.decide_slowly(4))


def decide(drawn, now):
    favorable = np.empty(drawn.index.shape[1], np.bool_)
    leaf_kernels.decide_rows(
        drawn.index,
        0,
        drawn.index.shape[1],
        drawn.offset,
        drawn.margin,
        drawn.bias,
        drawn.value,
        drawn.exact,
        drawn.rank,
        now,
        drawn.comparison,
        drawn.cut,
        drawn.rounding,
        favorable,
    )
    return favorable


@settings(max_examples=200, deadline=None)
@given(drawn=leaves(), share=st.floats(0, 1))
def test_decide_rows_adds_tree_after_tree(drawn, share):
    n_flips = int(share * len(drawn.leaf))
    np.testing.assert_array_equal(decide(drawn, now=n_flips - 1), drawn.decide_slowly(n_flips))


@settings(max_examples=100, deadline=None)
@given(drawn=leaves(), weighted_rows=st.booleans(), seed=st.integers(0, 1000))
def test_count_leaves_counts(drawn, weighted_rows, seed):
    random = np.random.RandomState(seed)
    n_rows = drawn.index.shape[1]
    weight = random.randint(0, 2**40, n_rows) if weighted_rows else np.broadcast_to(np.int64(1), n_rows)
    for t, leaf in enumerate(drawn.index):
        size = drawn.offset[t + 1] - drawn.offset[t]
        counts = np.zeros((size, 4), weight.dtype)
        leaf_kernels.count_tree_leaves(leaf, drawn.cell, weight, counts)
        expected = [[weight[(leaf == k) & (drawn.cell == c)].sum() for c in range(4)] for k in range(size)]
        np.testing.assert_array_equal(counts, expected)


def order_slowly(sides, totals, pairs, favorable, flippable, agree_more, floor, one_by_one):
    """The flips of a tree, in fractions: (leaf, score, pair, difference before), and the difference after the last.

    All at once, they are in the order of the leaves.
    """
    now = [Fraction(int(sides[favorable][:, k].sum()), int(totals[k])) for k in range(len(totals))]
    left, flips, worst = set(np.flatnonzero(flippable).tolist()), [], None
    while True:
        differences = [now[a] - now[b] for a, b in pairs]
        before = max(differences)
        worst = differences.index(before) if one_by_one or worst is None else worst
        a, b = pairs[worst]
        found = []
        for leaf in left:
            sign = 1 if favorable[leaf] else -1
            drop = sign * (
                Fraction(int(sides[leaf, a]), int(totals[a])) - Fraction(int(sides[leaf, b]), int(totals[b]))
            )
            cost = sign * Fraction(agree_more[leaf].item())
            if drop > 0:
                found.append((-(drop / cost if cost > 0 else float("inf")), -drop, leaf))
        if not found or (flips[0][3] if flips and not one_by_one else before) <= floor:
            return flips if one_by_one else sorted(flips), before
        score, _, leaf = min(found)
        flips.append((leaf, -score, worst, before if one_by_one or not flips else flips[0][3]))
        left.remove(leaf)
        for k in range(len(totals)):
            now[k] -= (1 if favorable[leaf] else -1) * Fraction(int(sides[leaf, k]), int(totals[k]))


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    n_leaves=st.integers(1, 12),
    n_sides=st.integers(2, 5),
    weighted=st.booleans(),
    one_by_one=st.booleans(),
    referenced=st.booleans(),
)
def test_order_tree_leaves_attacks_the_worst_pair(seed, n_leaves, n_sides, weighted, one_by_one, referenced):
    random = np.random.RandomState(seed)
    sides = random.randint(0, 4, (n_leaves, n_sides))
    totals = sides.sum(axis=0) + 1
    favorable, flippable = random.randint(0, 2, (2, n_leaves)).astype(bool)
    agree_more = random.randint(-4, 5, n_leaves) * (0.75 if weighted else 1)
    pairs = [(a, b) for a in range(n_sides) for b in range(n_sides) if a != b and (a == 0 or not referenced)]
    floor = -np.inf if referenced else 0.0
    leaf, pair, ratio, before = np.empty(n_leaves, int), np.empty(n_leaves, int), np.empty(n_leaves), np.empty(n_leaves)
    n_flips, after = leaf_kernels.order_tree_leaves(
        sides,
        totals,
        np.array(pairs),
        favorable,
        flippable,
        agree_more,
        0.0,
        floor,
        one_by_one,
        leaf,
        ratio,
        pair,
        before,
    )
    flips, last = order_slowly(sides, totals, pairs, favorable, flippable, agree_more, floor, one_by_one)
    assert list(zip(leaf[:n_flips], pair[:n_flips], strict=True)) == [(flip[0], flip[2]) for flip in flips]
    assert before[:n_flips].tolist() == [float(flip[3]) for flip in flips]
    scaled = [float(flip[1]) * totals[list(pairs[flip[2]])].prod() for flip in flips]
    np.testing.assert_allclose(ratio[:n_flips], scaled)
    assert after == float(last)


@settings(max_examples=100, deadline=None)
@given(drawn=leaves(), cut=st.floats(0, 1))
def test_sum_leaves_adds_the_leaves_of_each_row(drawn, cut):
    value = np.random.RandomState(0).normal(size=drawn.offset[-1])
    n_rows = drawn.index.shape[1]
    total = np.zeros(n_rows)
    middle = int(cut * n_rows)
    leaf_kernels.sum_row_leaves(drawn.index, 0, middle, drawn.offset, value, total)
    assert (total[middle:] == 0).all()
    leaf_kernels.sum_row_leaves(drawn.index, middle, n_rows, drawn.offset, value, total)
    slow = np.zeros(n_rows)
    for t, leaf in enumerate(drawn.index):
        slow += value[drawn.offset[t] + leaf]
    np.testing.assert_array_equal(total, slow)


def test_sum_leaves_over_several_blocks_of_rows():
    drawn = Leaves(seed=2, n_trees=6, n_rows=400_000)
    value = np.random.RandomState(0).normal(size=drawn.offset[-1])
    total = np.zeros(400_000)
    leaf_kernels.sum_row_leaves(drawn.index, 0, 400_000, drawn.offset, value, total)
    np.testing.assert_allclose(total, value[drawn.index.T + drawn.offset[:-1]].sum(axis=1), atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(drawn=leaves())
def test_spread_rows_adds_the_rows_of_each_leaf(drawn):
    value = np.random.RandomState(0).normal(size=drawn.index.shape[1])
    n_trees = len(drawn.index)
    middle = n_trees // 2
    total = np.zeros(drawn.offset[-1])
    leaf_kernels.spread_rows(drawn.index, middle, n_trees, drawn.offset, value, total)
    assert (total[: drawn.offset[middle]] == 0).all()
    leaf_kernels.spread_rows(drawn.index, 0, middle, drawn.offset, value, total)
    for t, leaf in enumerate(drawn.index):
        own = total[drawn.offset[t] : drawn.offset[t + 1]]
        np.testing.assert_allclose(own, [value[leaf == k].sum() for k in range(len(own))], atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(drawn=leaves(), start=st.floats(-3, 3))
def test_sum_sizes_adds_up_what_a_sum_goes_through(drawn, start):
    value = np.random.RandomState(0).normal(size=drawn.offset[-1])
    n_rows = drawn.index.shape[1]
    total = np.zeros(n_rows)
    for part in (slice(0, n_rows // 2), slice(n_rows // 2, n_rows)):
        leaf_kernels.sum_sizes(drawn.index, part.start, part.stop, drawn.offset, value, start, total)
    own = value[drawn.index + drawn.offset[:-1, None]]
    expected = np.abs(own).sum(axis=0) + np.abs(start + np.cumsum(own, axis=0)).sum(axis=0)
    np.testing.assert_allclose(total, expected, rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(
    drawn=leaves(),
    seed=st.integers(0, 2**20),
    taken_off=st.sampled_from([0.0, 0.3]),
    weighted=st.booleans(),
    n_prices=st.integers(1, 3),
)
def test_sum_shifted_adds_float32_one_after_another(drawn, seed, taken_off, weighted, n_prices):
    random = np.random.RandomState(seed)
    n_leaves = drawn.offset[-1]
    stored = random.normal(size=n_leaves).astype(np.float32)
    weight = random.rand(n_leaves).astype(np.float32).astype(float) if weighted else np.ones(n_leaves)
    value = stored.astype(float) * weight
    directions = random.normal(size=(n_prices, n_leaves)) * random.randint(0, 2, n_leaves)
    row = random.randint(0, drawn.index.shape[1], 5)
    prices = random.choice([0.5, 1e-12, 3.0], (5, n_prices))
    total = np.full(5, 0.7, np.float32)
    off = np.float32(taken_off)
    leaf_kernels.sum_shifted(drawn.index, row, prices, drawn.offset, value, directions, weight, stored, off, total)
    for k in range(5):
        expected = np.float32(0.7)
        for leaf in drawn.offset[:-1] + drawn.index[:, row[k]]:
            wanted = value[leaf] - add_prices(prices[k], directions[:, leaf])
            held = np.float32(wanted / weight[leaf])
            if wanted == value[leaf] or (held < stored[leaf]) == (wanted > value[leaf]):
                held = stored[leaf]
            held = np.float32(np.float32(off + held) - off) if taken_off else held
            expected = np.float32(expected + np.float32(held * np.float32(weight[leaf])))
        assert total[k] == expected


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    n_rows=st.integers(1, 30),
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=3),
    weighted=st.booleans(),
)
def test_count_crossings_counts_what_each_row_is_decided_at_each_step(seed, n_rows, lengths, weighted):
    random = np.random.RandomState(seed)
    cell = random.randint(0, 4, n_rows).astype(np.uint8)
    weight = random.randint(0, 2**40, n_rows) if weighted else np.broadcast_to(np.int64(1), n_rows)
    changes = np.zeros((4, sum(lengths)), np.int64)
    last = np.zeros(n_rows, bool)
    decided, first = [], 0
    for stop in np.cumsum(lengths).tolist():  # one line after the other
        before, between, after = random.randint(0, 2, (3, n_rows)).astype(bool)
        begin, end = np.sort(random.randint(first, stop + 1, (2, n_rows)), axis=0)
        if stop > first:
            steps = begin, end, first, stop
            leaf_kernels.count_crossings(last, before, between, after, *steps, cell, weight, changes)
        decided += [np.where(now < begin, before, np.where(now < end, between, after)) for now in range(first, stop)]
        if decided:
            np.testing.assert_array_equal(last, decided[-1])
        first = stop
    for now, chosen in enumerate(decided):
        expected = [weight[chosen & (cell == c)].sum() for c in range(4)]
        np.testing.assert_array_equal(changes[:, : now + 1].sum(axis=1), expected)


@settings(max_examples=100, deadline=None)
@given(drawn=leaves(), dtype=st.sampled_from([np.float32, np.int32, np.uint32, np.int64]), seed=st.integers(0, 1000))
def test_number_leaves_finds_each_node_among_its_trees_leaves(drawn, dtype, seed):
    random = np.random.RandomState(seed)
    n_trees, n_rows = drawn.index.shape
    # Leaves are some of the nodes of a tree, in the order of their ids.
    ids = [np.sort(random.choice(40, size, replace=False)) for size in np.diff(drawn.offset)]
    nodes = np.column_stack([own[leaf] for own, leaf in zip(ids, drawn.index, strict=True)]).astype(dtype)
    tables = [np.zeros(own[-1] + 1, np.uint8) for own in ids]
    for own, table in zip(ids, tables, strict=True):
        table[own] = np.arange(len(own))
    begin = np.concatenate([[0], np.cumsum([len(table) for table in tables])])
    index = np.full((n_trees, n_rows + 3), 255, np.uint8)
    leaf_kernels.number_leaves(nodes, np.concatenate(tables), begin, index[:, :n_rows])
    np.testing.assert_array_equal(index[:, :n_rows], drawn.index)
    assert (index[:, n_rows:] == 255).all()


def test_number_leaves_over_several_tiles_of_rows():
    drawn = Leaves(seed=3, n_trees=5, n_rows=1000)
    begin = drawn.offset
    number = np.concatenate([np.arange(size, dtype=np.uint8) for size in np.diff(begin)])
    index = np.empty_like(drawn.index)
    leaf_kernels.number_leaves(np.ascontiguousarray(drawn.index.T.astype(np.int32)), number, begin, index)
    np.testing.assert_array_equal(index, drawn.index)


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**20), n=st.integers(0, 200), n_values=st.sampled_from([1, 3, 100]))
def test_rank_is_a_stable_sort_by_two_keys(seed, n, n_values):
    random = np.random.RandomState(seed)
    first, second = random.randint(0, n_values, (2, n + 3)).astype(float)
    first[random.rand(n + 3) < 0.1] = -np.inf
    expected = np.lexsort((second[:n], first[:n]))
    np.testing.assert_array_equal(leaf_kernels._rank(first, second, n), expected)
