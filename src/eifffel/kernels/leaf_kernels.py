"""The hot loops over rows, trees and leaves, compiled: arrays in, arrays out.

Every kernel has a slow, obvious twin in ``tests/kernels/test_leaf_kernels.py`` that it must equal.

Shapes used throughout: ``index`` is ``(n_trees, n_rows)``, the leaf of each row in each tree,
counted from the tree's first leaf; ``offset`` is ``(n_trees + 1,)``, so that ``offset[t] + index[t, i]``
numbers the leaves of the whole ensemble; ``margin``, ``value``, ``exact`` and ``rank`` have one entry per leaf of the
ensemble. ``bias`` is added to the margins of every row.
"""

import numpy as np

from eifffel.kernels.compiling import compiled

# Leaf fractions in fixed point: integers add up to the same sum in any order.
FIXED_POINT = 2.0**44

# How averaged fractions are compared: the larger wins, and a tie goes to one side; or one class must reach a cut-off.
TIE_IS_UNFAVORABLE = 0
TIE_IS_FAVORABLE = 1
FAVORABLE_REACHES = 2
UNFAVORABLE_REACHES = 3

# (row, tree) pairs in a block of rows: few enough to stay in the cache.
PAIRS_PER_BLOCK = 1 << 20
# Entries that `_rank` sorts by insertion before it merges.
SORTED_AT_ONCE = 16


@compiled
def count_tree_leaves(leaf, cell, weight, counts):
    """Add the weight of each row to ``counts[leaf, cell]``, for one tree."""
    for i in range(leaf.shape[0]):
        counts[leaf[i], cell[i]] += weight[i]


@compiled
def _decide_near_tie(i, total, index, offset, value, exact, rank, now, comparison, cut):
    """Decide row ``i``, whose sum of margins is within rounding of 0, as ``predict`` does with one job.

    Where all its leaves are ``exact`` and the larger fraction wins, no sum rounds and the margins say all; else the
    fractions are added tree after tree, divided and compared.
    """
    n_trees = index.shape[0]
    t = 0 if comparison <= TIE_IS_FAVORABLE else n_trees + 1
    while t < n_trees and exact[offset[t] + index[t, i]]:
        t += 1
    if t == n_trees:
        return total > 0 or (total == 0 and comparison == TIE_IS_FAVORABLE)
    unfavorable = 0.0
    favorable = 0.0
    for t in range(n_trees):
        leaf = offset[t] + index[t, i]
        if rank[leaf] <= now:
            unfavorable += value[leaf, 1]
            favorable += value[leaf, 0]
        else:
            unfavorable += value[leaf, 0]
            favorable += value[leaf, 1]
    unfavorable /= n_trees
    favorable /= n_trees
    if comparison == FAVORABLE_REACHES:
        return favorable >= cut
    if comparison == UNFAVORABLE_REACHES:
        return not unfavorable >= cut
    return favorable > unfavorable or (favorable == unfavorable and comparison == TIE_IS_FAVORABLE)


@compiled
def decide_rows(index, low, high, offset, margin, bias, value, exact, rank, now, comparison, cut, rounding, favorable):
    """Fill ``favorable[low:high]`` with the decisions once the flips of rank <= ``now`` are made."""
    n_trees = index.shape[0]
    block = max(1, PAIRS_PER_BLOCK // n_trees)
    total = np.empty(block, np.int64)
    for start in range(low, high, block):
        n = min(block, high - start)
        total[:] = bias
        for t in range(n_trees):
            leaf = index[t, start : start + n]
            own_margin = margin[offset[t] : offset[t + 1]]
            own_rank = rank[offset[t] : offset[t + 1]]
            for i in range(n):
                if own_rank[leaf[i]] <= now:
                    total[i] -= own_margin[leaf[i]]
                else:
                    total[i] += own_margin[leaf[i]]
        for i in range(n):
            if abs(total[i]) > rounding:
                favorable[start + i] = total[i] > 0
            else:
                favorable[start + i] = _decide_near_tie(
                    start + i, total[i], index, offset, value, exact, rank, now, comparison, cut
                )


@compiled
def replay(
    index,
    low,
    high,
    offset,
    margin,
    bias,
    value,
    exact,
    rank,
    step,
    delta,
    comparison,
    cut,
    rounding,
    cell,
    weight,
    changes,
):
    """Make all flips in order on the rows ``low:high``; add to ``changes[c, s]`` what step ``s`` changes in cell ``c``.

    ``rank`` is each leaf's place in the order of flips (``len(step)`` if it is never flipped), ``step`` and
    ``delta`` are the step and the change of margin of the flip at each place. ``changes[:, 0]`` receives the favourable
    rows of the original model. A flip touches only the rows in its leaf, so the rows of a block are sorted by flip
    (a counting sort) and each (row, tree) pair is added once.
    """
    n_trees = index.shape[0]
    n_flips = step.shape[0]
    before_all = np.int64(-1)  # a plain number would be a type of its own, and compile what it is given to once more
    # A block walks over all flips, so it holds at least as many pairs as there are flips.
    block = max(1, min(high - low, max(PAIRS_PER_BLOCK, n_flips) // n_trees))
    total = np.empty(block, np.int64)
    decision = np.empty(block, np.bool_)
    # After the sort, the rows that flip r touches are row[end[r - 1]:end[r]].
    end = np.empty(n_flips + 1, np.int32)
    row = np.empty(block * n_trees, np.int32)
    for start in range(low, high, block):
        n = min(block, high - start)
        total[:] = bias
        end[:] = 0
        for t in range(n_trees):
            leaf = index[t, start : start + n]
            own_margin = margin[offset[t] : offset[t + 1]]
            own_rank = rank[offset[t] : offset[t + 1]]
            for i in range(n):
                total[i] += own_margin[leaf[i]]
                end[own_rank[leaf[i]]] += 1
        begin = 0
        for r in range(n_flips + 1):
            count = end[r]
            end[r] = begin
            begin += count
        for t in range(n_trees):
            leaf = index[t, start : start + n]
            own_rank = rank[offset[t] : offset[t + 1]]
            for i in range(n):
                r = own_rank[leaf[i]]
                place = end[r]
                row[place] = i
                end[r] = place + 1
        for i in range(n):
            if abs(total[i]) > rounding:
                decision[i] = total[i] > 0
            else:
                decision[i] = _decide_near_tie(
                    start + i, total[i], index, offset, value, exact, rank, before_all, comparison, cut
                )
            if decision[i]:
                changes[cell[start + i], 0] += weight[start + i]
        begin = 0
        for r in range(n_flips):
            for place in range(begin, end[r]):
                i = row[place]
                margin_now = total[i] + delta[r]
                total[i] = margin_now
                if abs(margin_now) > rounding:
                    favorable = margin_now > 0
                else:
                    favorable = _decide_near_tie(
                        start + i, margin_now, index, offset, value, exact, rank, r, comparison, cut
                    )
                if favorable != decision[i]:
                    decision[i] = favorable
                    if favorable:
                        changes[cell[start + i], step[r]] += weight[start + i]
                    else:
                        changes[cell[start + i], step[r]] -= weight[start + i]
            begin = end[r]


@compiled
def sum_row_leaves(index, low, high, offset, value, total):
    """Add to ``total[low:high]`` the values of each row's leaves, tree after tree.

    Four trees at a time, so that a sum is read and written once for them.
    """
    n_trees = index.shape[0]
    block = max(1, PAIRS_PER_BLOCK // n_trees)
    whole = n_trees // 4 * 4
    for start in range(low, high, block):
        part = total[start : min(start + block, high)]
        rows = slice(start, start + len(part))
        for t in range(0, whole, 4):
            one, two = value[offset[t] : offset[t + 1]], value[offset[t + 1] : offset[t + 2]]
            three, four = value[offset[t + 2] : offset[t + 3]], value[offset[t + 3] : offset[t + 4]]
            leaf_one, leaf_two = index[t, rows], index[t + 1, rows]
            leaf_three, leaf_four = index[t + 2, rows], index[t + 3, rows]
            for i in range(len(part)):
                part[i] = part[i] + one[leaf_one[i]] + two[leaf_two[i]] + three[leaf_three[i]] + four[leaf_four[i]]
        for t in range(whole, n_trees):
            own, leaf = value[offset[t] : offset[t + 1]], index[t, rows]
            for i in range(len(part)):
                part[i] += own[leaf[i]]


@compiled
def sum_sizes(index, low, high, offset, value, start, total):
    """Add to ``total[low:high]`` the sizes of the values of each row's leaves, and of their sum after each tree.

    Four trees at a time, as in `sum_row_leaves`.
    """
    n_trees = index.shape[0]
    block = max(1, PAIRS_PER_BLOCK // n_trees)
    whole = n_trees // 4 * 4
    so_far = np.empty(block)
    for begin in range(low, high, block):
        part = total[begin : min(begin + block, high)]
        rows = slice(begin, begin + len(part))
        so_far[:] = start
        for t in range(0, whole, 4):
            one, two = value[offset[t] : offset[t + 1]], value[offset[t + 1] : offset[t + 2]]
            three, four = value[offset[t + 2] : offset[t + 3]], value[offset[t + 3] : offset[t + 4]]
            leaf_one, leaf_two = index[t, rows], index[t + 1, rows]
            leaf_three, leaf_four = index[t + 2, rows], index[t + 3, rows]
            for i in range(len(part)):
                a, b, c, d = one[leaf_one[i]], two[leaf_two[i]], three[leaf_three[i]], four[leaf_four[i]]
                after_one = so_far[i] + a
                after_two = after_one + b
                after_three = after_two + c
                so_far[i] = after_three + d
                sizes = part[i] + (abs(a) + abs(after_one))
                sizes += abs(b) + abs(after_two)
                sizes += abs(c) + abs(after_three)
                part[i] = sizes + (abs(d) + abs(so_far[i]))
        for t in range(whole, n_trees):
            own, leaf = value[offset[t] : offset[t + 1]], index[t, rows]
            for i in range(len(part)):
                so_far[i] += own[leaf[i]]
                part[i] += abs(own[leaf[i]]) + abs(so_far[i])


@compiled
def sum_shifted(index, row, prices, offset, value, directions, weight, stored, offset_by, total):
    """Add to ``total[k]`` the leaves of row ``row[k]``, with ``sum_j prices[k, j] directions[j]`` off, as XGBoost does.

    In float32, tree after tree. A leaf adds its ``weight`` times what is stored, which is ``stored`` where it is not
    changed; see `BoostedView._divide`. Where ``offset_by`` is not 0, that is added to what is stored and taken off
    again before it is weighed.
    """
    n_trees = index.shape[0]
    for k in range(row.shape[0]):
        so_far = total[k]
        for t in range(n_trees):
            leaf = offset[t] + index[t, row[k]]
            amount = prices[k, 0] * directions[0, leaf]
            for j in range(1, prices.shape[1]):
                amount += prices[k, j] * directions[j, leaf]
            wanted = value[leaf] - amount
            own = np.float32(wanted / weight[leaf])
            if wanted == value[leaf]:
                own = stored[leaf]
            elif wanted > value[leaf]:
                own = max(own, stored[leaf])
            else:
                own = min(own, stored[leaf])
            if offset_by != 0:
                own = np.float32(np.float32(offset_by + own) - offset_by)
            so_far = np.float32(so_far + np.float32(own * np.float32(weight[leaf])))
        total[k] = so_far


@compiled
def spread_rows(index, low, high, offset, value, total):
    """Add the value of each row to ``total`` of its leaves, for the trees ``low:high``.

    Most rows of a tree are in few leaves; each sum is kept in four parts, so that additions need not wait for the last
    one to the same leaf.
    """
    n_rows = index.shape[1]
    whole = n_rows // 4 * 4
    for t in range(low, high):
        leaf = index[t]
        parts = np.zeros((4, offset[t + 1] - offset[t]))
        for i in range(0, whole, 4):
            for k in range(4):
                parts[k, leaf[i + k]] += value[i + k]
        for i in range(whole, n_rows):
            parts[0, leaf[i]] += value[i]
        own = total[offset[t] : offset[t + 1]]
        for leaf_number in range(own.shape[0]):
            for k in range(4):
                own[leaf_number] += parts[k, leaf_number]


@compiled
def number_leaves(nodes, number, begin, index):
    """Fill ``index``, (n_trees, n_rows), from node ids of shape (n_rows, n_trees).

    ``number[begin[t] + node]`` is the place of a node among the leaves of tree ``t``. In tiles of rows, so that neither
    array is read or written with long strides.
    """
    n_rows, n_trees = nodes.shape
    for start in range(0, n_rows, 64):
        stop = min(start + 64, n_rows)
        for t in range(n_trees):
            own = number[begin[t] : begin[t + 1]]
            for i in range(start, stop):
                index[t, i] = own[np.int64(nodes[i, t])]


@compiled
def count_crossings(last, before, between, after, begin, end, first_step, stop, cell, weight, changes):
    """Add to ``changes[c, s]`` what step ``s`` changes in cell ``c`` where each row changes at known steps.

    Of the steps from ``first_step`` to below ``stop``. A row was decided ``last`` before them, is ``before`` from the
    first of them on, ``between`` from step ``begin`` on and ``after`` from step ``end`` on; what it is decided at the
    last of them stands in ``last`` then. Where two of these are the same step, the later counts; a step may be
    ``stop``, never.
    """
    for i in range(last.shape[0]):
        c = cell[i]
        now = last[i]
        if begin[i] > first_step and before[i] != now:
            now = before[i]
            changes[c, first_step] += weight[i] if now else -weight[i]
        if end[i] > begin[i] and begin[i] < stop and between[i] != now:
            now = between[i]
            changes[c, begin[i]] += weight[i] if now else -weight[i]
        if end[i] < stop and after[i] != now:
            now = after[i]
            changes[c, end[i]] += weight[i] if now else -weight[i]
        last[i] = now


@compiled
def combine_cells(cells, members, label_weight, sides, agree_more):
    """Counts of (group, label) cells in leaves -> those of ``sides``, and how much more weight the good label has."""
    for k in range(cells.shape[0]):
        bad, good = cells[k, 0, 0], cells[k, 0, 1]
        for g in range(1, cells.shape[1]):
            bad += cells[k, g, 0]
            good += cells[k, g, 1]
        agree_more[k] = good * label_weight[1] - bad * label_weight[0]
        for side in range(members.shape[0]):
            for g in range(cells.shape[1]):
                for label in range(2):
                    if members[side, g, label]:
                        sides[k, side] += cells[k, g, label]


@compiled
def _worst_pair(now, totals, pairs):
    """The pair of sides whose rates differ most, the first of equals, and by how much.

    One division of two products, which are exact below 2**53, so that equal differences are equal numbers.
    """
    worst, value = -1, -np.inf
    for k in range(pairs.shape[0]):
        a, b = pairs[k, 0], pairs[k, 1]
        difference = (now[a] * totals[b] - now[b] * totals[a]) / (totals[a] * totals[b])
        if difference > value:
            worst, value = k, difference
    return worst, value


@compiled
def _rank(first, second, n):
    """The places of ``n`` entries, the lowest ``first`` in front, of equal ones the lowest ``second``; stable.

    By merging, as NumPy's own sort does it, which takes numba longer to compile.
    """
    order, merged = np.arange(n), np.empty(n, np.int64)
    for begin in range(0, n, SORTED_AT_ONCE):
        for i in range(begin + 1, min(begin + SORTED_AT_ONCE, n)):
            own, k = order[i], i - 1
            while k >= begin and (
                first[own] < first[order[k]] or (first[own] == first[order[k]] and second[own] < second[order[k]])
            ):
                order[k + 1] = order[k]
                k -= 1
            order[k + 1] = own
    width = SORTED_AT_ONCE
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            a, b = begin, middle
            for place in range(begin, end):
                take_a = b == end
                if not take_a and a < middle:
                    x, y = order[a], order[b]
                    take_a = not (first[y] < first[x] or (first[y] == first[x] and second[y] < second[x]))
                if take_a:
                    merged[place] = order[a]
                    a += 1
                else:
                    merged[place] = order[b]
                    b += 1
        order, merged = merged, order
        width *= 2
    return order


@compiled
def _queue(sides, totals, favorable, flippable, agree_more, least, a, b, by_score):
    """The candidates for a pair among leaves: highest score, then largest drop, then lowest leaf; or as they stand."""
    n = sides.shape[0]
    leaf = np.empty(n, np.int64)
    drop = np.empty(n, np.float64)
    ratio = np.empty(n, np.float64)
    found, of_a, of_b = np.int64(0), totals[a], totals[b]
    fewest = least * of_a * of_b
    for k in range(n):
        if flippable[k]:
            # By how much the flip lowers the rate of side a minus that of b, scaled; and what it costs.
            lowers, cost = sides[k, a] * of_b - sides[k, b] * of_a, agree_more[k]
            if not favorable[k]:
                lowers, cost = -lowers, -cost
            if lowers > fewest:
                leaf[found], drop[found], ratio[found] = k, -lowers, -lowers / cost if cost > 0 else -np.inf
                found += 1
    if not by_score:
        return leaf[:found], -ratio[:found]
    order = _rank(ratio, drop, found)
    ordered, ordered_ratio = np.empty(found, np.int64), np.empty(found)
    for k in range(found):  # what NumPy does in one expression takes numba seconds to compile
        ordered[k], ordered_ratio[k] = leaf[order[k]], -ratio[order[k]]
    return ordered, ordered_ratio


@compiled
def _favorable_sides(sides, favorable):
    """The rows of each side that the leaves of a tree decide favourably."""
    now = np.zeros(sides.shape[1], sides.dtype)
    for k in range(sides.shape[0]):
        if favorable[k]:
            for side in range(sides.shape[1]):
                now[side] += sides[k, side]
    return now


@compiled
def order_tree_leaves(
    sides, totals, pairs, favorable, flippable, agree_more, least, floor, one_by_one, leaf, ratio, pair, before
):
    """The flips of one tree in their order; returns how many, and its largest difference after the last.

    The first eight are of the leaves of the tree; `LeafScores` says what they are. Fills, for each flip, ``leaf``,
    its ``ratio``, the ``pair`` that it is made against and the largest difference ``before`` it. ``one_by_one`` looks
    for the worst pair after every flip (EiFFFeL-LF), else all candidates for the first one are taken (EiFFFeL-TF).
    """
    now = _favorable_sides(sides, favorable)
    flipped = np.zeros(sides.shape[0], np.bool_)
    queues = [np.empty(0, np.int64) for _ in range(pairs.shape[0])]
    ratios = [np.empty(0, np.float64) for _ in range(pairs.shape[0])]
    place = np.full(pairs.shape[0], -1, np.int64)
    n_flips = 0
    worst, value = _worst_pair(now, totals, pairs)
    while worst >= 0 and value > floor:
        if place[worst] < 0:
            queues[worst], ratios[worst] = _queue(
                sides, totals, favorable, flippable, agree_more, least, pairs[worst, 0], pairs[worst, 1], one_by_one
            )
            place[worst] = 0
        queue = queues[worst]
        while place[worst] < len(queue) and flipped[queue[place[worst]]]:
            place[worst] += 1
        if place[worst] == len(queue):
            break
        k = queue[place[worst]]
        flipped[k] = True
        for side in range(sides.shape[1]):
            now[side] += -sides[k, side] if favorable[k] else sides[k, side]
        leaf[n_flips], ratio[n_flips] = k, ratios[worst][place[worst]]
        pair[n_flips], before[n_flips] = worst, value
        n_flips += 1
        if one_by_one:
            worst, value = _worst_pair(now, totals, pairs)
    return n_flips, _worst_pair(now, totals, pairs)[1]
