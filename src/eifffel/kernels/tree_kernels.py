"""The loops that send rows down trees, compiled: arrays in, arrays out.

Their slow, obvious twins are in ``tests/kernels/test_tree_kernels.py``. A node is one number of 64 bits: from the
lowest on its cut (32 bits, signed), its column (``column_bits``) and its left child, whose right neighbour is the right
child. A row goes to the right where its code in the column is above the cut. A leaf is its own left child, and no code
is above its cut.
"""

import numpy as np

from eifffel.kernels.compiling import compiled

# Rows that go down a tree side by side, and by how many levels before those that are in a leaf are taken out. Their
# next nodes do not depend on each other, so that the processor looks them up at once and has no branch to guess.
ROWS_SIDE_BY_SIDE = 512
LEVELS_AT_ONCE = 6


@compiled
def rank_values(values, begin, cuts, code):
    """Fill ``code`` with the number of cuts below each value; what it gets for NaN means nothing.

    ``values`` and ``code`` are (n_columns, n_rows). The cuts ``cuts[begin[c]:begin[c + 1]]`` of column ``c`` rise. A
    value is at most the ``k``-th of them if its code is at most ``k``.
    """
    for c in range(values.shape[0]):
        own = cuts[begin[c] : begin[c + 1]]
        for i in range(values.shape[1]):
            value = values[c, i]
            low = 0
            size = own.shape[0]
            while size > 1:
                half = size >> 1
                low += half * (own[low + half - 1] < value)
                size -= half
            code[c, i] = low + (own[low] < value)


@compiled
def pack_nodes(low, high, offset, left, right, number, column, cut, column_bits, root, node, leaf):
    """Fill ``node`` and ``leaf`` from the columns of a `TreeTable`, the two children of a split beside each other.

    Of the trees ``low:high``.

    ``number`` is that of each leaf in its tree; ``column`` and ``cut`` are what each split compares. Returns the first
    tree whose nodes are no tree, or -1: rows are sent on without a look at where a node says that its children are.
    """
    place = np.empty(0, np.int64)
    for t in range(low, high):
        first, n_nodes, begin = offset[t], offset[t + 1] - offset[t], root[t]
        if place.shape[0] < n_nodes:
            place = np.empty(n_nodes, np.int64)
        place[:n_nodes] = -1  # nodes that were pruned stand nowhere
        place[0] = 0
        child = 1
        for k in range(n_nodes):
            if left[first + k] >= 0:
                a, b = left[first + k], right[first + k]
                # Each child is a node of the tree, not its root, and has one parent.
                if not 0 < a < n_nodes or not 0 < b < n_nodes or a == b or place[a] >= 0 or place[b] >= 0:
                    return t
                place[a], place[b] = child, child + 1
                child += 2
        child = 1
        for k in range(n_nodes):
            at = begin + place[k]
            if place[k] < 0 <= left[first + k] or (left[first + k] < 0 <= place[k] and number[first + k] < 0):
                return t
            if left[first + k] >= 0:
                own_cut = np.int64(cut[first + k]) & 0xFFFFFFFF
                node[at] = (np.int64(child) << (32 + column_bits)) | (np.int64(column[first + k]) << 32) | own_cut
                leaf[at] = -1
                child += 2
            elif place[k] >= 0:
                # No code is above the highest cut.
                node[at] = (place[k] << (32 + column_bits)) | 0x7FFFFFFF
                leaf[at] = number[first + k]
    return -1


@compiled
def place_rows(code, in_both, root, node, column_bits, n_thresholds, goes_right, leaf, index, start):
    """Fill ``index[t, start + i]`` with the leaf in tree ``t`` of each row ``i``.

    ``code`` is (n_columns, n_rows); with ``in_both``, 1 in place of 0, each is two columns of the nodes. Tree ``t``
    owns ``node[root[t]:root[t + 1]]`` and ``leaf``, the numbers of its leaves. Columns from ``2 * n_thresholds`` on are
    of categories: there, ``goes_right[cut + code]`` decides; where there are none, ``None`` spares looking.
    """
    # Unsigned, for compiled code looks first whether a signed index counts from the end.
    low_bits, column_mask = np.uint64(32), np.uint64((1 << column_bits) - 1)
    shift, one_of = np.uint64(32 + column_bits), np.uint64(in_both)
    n_rows, n_compared = np.uint64(code.shape[1]), np.uint64(2 * n_thresholds)
    codes = code.ravel()
    at = np.empty(ROWS_SIDE_BY_SIDE, np.uint32)
    row = np.empty(ROWS_SIDE_BY_SIDE, np.uint32)
    for t in range(root.shape[0] - 1):
        own = node[root[t] : root[t + 1]]
        own_leaf = leaf[root[t] : root[t + 1]]
        for low in range(0, code.shape[1], ROWS_SIDE_BY_SIDE):
            n = min(ROWS_SIDE_BY_SIDE, code.shape[1] - low)
            for j in range(n):
                at[j] = 0
                row[j] = low + j
            while n > 0:
                for _ in range(LEVELS_AT_ONCE):
                    for j in range(n):
                        here = np.uint64(own[at[j]])
                        column = (here >> low_bits) & column_mask
                        own_code = codes[(column >> one_of) * n_rows + np.uint64(row[j])]
                        right = own_code > np.int32(here)
                        if goes_right is not None:  # noqa: SIM102, by itself it is left out of what is compiled
                            if column >= n_compared:
                                right = goes_right[np.int32(here) + own_code]
                        at[j] = np.uint32(here >> shift) + np.uint32(right)
                still = 0
                for j in range(n):
                    number = own_leaf[at[j]]
                    index[t, start + row[j]] = number  # overwritten below where it is no leaf yet
                    at[still] = at[j]
                    row[still] = row[j]
                    still += number < 0
                n = still


@compiled
def place_oblivious(code, in_both, begin, column, cut, index, start):
    """Fill ``index`` as `place_rows` does, where all nodes of a level of a tree ask the same.

    Levels ``begin[t]:begin[t + 1]`` are of tree ``t``, from its root on; each adds a bit to the number of the leaf.
    """
    number = np.empty(ROWS_SIDE_BY_SIDE, np.int32)
    for low in range(0, code.shape[1], ROWS_SIDE_BY_SIDE):
        n = min(ROWS_SIDE_BY_SIDE, code.shape[1] - low)
        for t in range(begin.shape[0] - 1):
            number[:n] = 0
            for level in range(begin[t], begin[t + 1]):
                own = code[column[level] >> in_both, low : low + n]
                own_cut = cut[level]
                for j in range(n):
                    number[j] = 2 * number[j] + (own[j] > own_cut)
            for j in range(n):
                index[t, start + low + j] = number[j]
