"""The kernels that send rows down trees equal slow, obvious twins."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from eifffel.kernels import tree_kernels

N_COLUMNS = 3


@settings(max_examples=100, deadline=None)
@given(
    cuts=st.lists(st.sets(st.sampled_from([-np.inf, -2.5, -0.0, 1e-300, 0.1, 3.0, np.inf]), min_size=1), min_size=2),
    values=st.lists(st.sampled_from([-np.inf, -3.0, -2.5, 0.0, 0.1, 0.2, 3.0, np.inf]), min_size=1),
)
def test_a_rank_is_how_many_cuts_are_below(cuts, values):
    cuts = [sorted(own) for own in cuts]
    begin = np.concatenate([[0], np.cumsum([len(own) for own in cuts])])
    table = np.tile(np.array(values), (len(cuts), 1))
    code = np.empty(table.shape, np.int32)
    tree_kernels.rank_values(table, begin, np.concatenate([np.array(own, float) for own in cuts]), code)
    for own, found in zip(cuts, code, strict=True):
        assert found.tolist() == [sum(cut < value for cut in own) for value in values]


@st.composite
def packed_trees(draw):
    """Trees whose nodes are numbers, as `place_rows` takes them; the last two columns are of categories."""
    root, cut, column, left, leaf, goes_right = [0], [], [], [], [], [False]
    last = 2 * N_COLUMNS - 2
    for _ in range(draw(st.integers(1, 3))):
        n_splits, n_open = 0, 1
        own = []  # whether each node is a split, parents first
        while n_open:
            split = n_splits < 6 and draw(st.booleans())
            own.append(split)
            n_splits += split
            n_open += 2 * split - 1
        n_leaves = 0
        rank = 0
        for place, split in enumerate(own):
            column.append(draw(st.integers(0, last)) if split else 0)
            left.append(1 + 2 * rank if split else place)
            leaf.append(-1 if split else n_leaves)
            rank, n_leaves = rank + split, n_leaves + (not split)
            if not split:
                cut.append(np.iinfo(np.int32).max)
            elif column[-1] == last:
                cut.append(len(goes_right))
                goes_right += draw(st.lists(st.booleans(), min_size=4, max_size=4))
            else:
                cut.append(draw(st.integers(-2, 2)))
        root.append(len(left))
    return (*map(np.array, (root, cut, column, left, leaf)), np.array(goes_right))


@settings(max_examples=150, deadline=None)
@given(
    trees=packed_trees(),
    rows=st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 3)), min_size=1, max_size=8),
    times=st.sampled_from([1, 90]),
    start=st.integers(0, 2),
    in_both=st.booleans(),
)
def test_rows_go_from_node_to_node(trees, rows, times, start, in_both):
    root, cut, column, left, leaf, goes_right = trees
    # The two columns that one stands for, side by side; where they are not the same, the second has other codes.
    sides = np.repeat(np.array(rows * times, np.int32).T, 2, axis=0)
    sides[1:4:2] -= 2 * (not in_both)
    code = np.ascontiguousarray(sides[::2] if in_both else sides)
    bits = 3
    node = left.astype(np.int64) << (32 + bits) | column << 32 | cut.astype(np.int32).view(np.uint32)
    index = np.full((len(root) - 1, code.shape[1] + start), 99, np.uint8)
    numbers = leaf.astype(np.int32)
    tree_kernels.place_rows(code, int(in_both), root, node, bits, N_COLUMNS - 1, goes_right, numbers, index, start)
    assert (index[:, :start] == 99).all()
    for t, begin in enumerate(root[:-1]):
        for i, own in enumerate(sides.T[: len(rows)]):
            at = 0
            while leaf[begin + at] < 0:
                k = begin + at
                value = own[column[k]]
                right = goes_right[cut[k] + value] if column[k] == 2 * N_COLUMNS - 2 else value > cut[k]
                at = left[k] + right
            assert (index[t, start + i :: len(rows)] == leaf[begin + at]).all()


@settings(max_examples=100, deadline=None)
@given(
    trees=st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(-2, 2)), max_size=4), min_size=1, max_size=3),
    rows=st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=8),
    times=st.sampled_from([1, 90]),
    in_both=st.booleans(),
)
def test_levels_are_the_bits_of_a_leaf(trees, rows, times, in_both):
    begin = np.concatenate([[0], np.cumsum([len(levels) for levels in trees])])
    column, cut = (np.array([level[k] for levels in trees for level in levels], np.int32) for k in (0, 1))
    code = np.array(rows * times, np.int32).T.copy()
    index = np.empty((len(trees), code.shape[1]), np.uint8)
    tree_kernels.place_oblivious(code, int(in_both), begin, 2 * column + 1 if in_both else column, cut, index, 0)
    expected = [
        [sum((row[c] > at) << k for k, (c, at) in enumerate(reversed(levels))) for row in rows] for levels in trees
    ]
    np.testing.assert_array_equal(index, np.tile(expected, times))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_nodes_are_packed_with_children_side_by_side(data):
    """In whatever order the nodes of a tree stand, its root first, and with nodes that were pruned between them."""
    offset, left, right, number, root = [0], [], [], [], [0]
    for _ in range(data.draw(st.integers(1, 3))):
        n_splits = data.draw(st.integers(0, 4))
        children, open_ends = {}, [0]
        n_nodes = 1
        for _ in range(n_splits):
            parent = open_ends.pop(data.draw(st.integers(0, len(open_ends) - 1)))
            children[parent] = (n_nodes, n_nodes + 1)
            open_ends += children[parent]
            n_nodes += 2
        n_all = n_nodes + data.draw(st.integers(0, 2))
        place = [0, *data.draw(st.permutations(range(1, n_all)))]  # of each node in the table
        own = [(-1, -1, -1)] * n_all
        for rank, leaf in enumerate(sorted(open_ends)):
            own[place[leaf]] = (-1, -1, rank)
        for parent, (a, b) in children.items():
            own[place[parent]] = (place[a], place[b], -1)
        for columns, value in zip((left, right, number), zip(*own, strict=True), strict=True):
            columns += value
        offset.append(len(left))
        root.append(root[-1] + n_nodes)
    arrays = [np.array(column, np.int32) for column in (left, right, number)]
    column, cut = np.arange(len(left), dtype=np.int32), -np.arange(len(left), dtype=np.int32)
    node, leaf = np.empty(root[-1], np.int64), np.empty(root[-1], np.int32)
    bits = 8
    middle = data.draw(st.integers(0, len(root) - 1))
    for low, high in ((0, middle), (middle, len(root) - 1)):
        tree_kernels.pack_nodes(low, high, np.array(offset), *arrays, column, cut, bits, np.array(root), node, leaf)

    def check(t, packed, own):
        there = root[t] + packed
        at = offset[t] + own
        assert leaf[there] == number[at]
        assert node[there] >> (32 + bits) == (packed if number[at] >= 0 else node[there] >> (32 + bits))
        if left[at] >= 0:
            assert (node[there] >> 32) & 255 == column[at]
            assert node[there].astype(np.int32) == cut[at]
            check(t, int(node[there] >> (32 + bits)), left[at])
            check(t, int(node[there] >> (32 + bits)) + 1, right[at])
        else:
            assert node[there].astype(np.int32) == np.iinfo(np.int32).max

    for t in range(len(offset) - 1):
        check(t, 0, 0)
