"""Traversal: rows go down the trees of a `TreeTable`, blocks of rows outside and trees inside."""

from dataclasses import dataclass

import numpy as np

from eifffel._utils.parallel import run_threads, split_evenly
from eifffel.ensembles.trees import TreeTable
from eifffel.exceptions import UnsupportedModelError
from eifffel.kernels import tree_kernels

# A code that no cut is below, and one that every cut is above.
HIGHEST, LOWEST = np.iinfo(np.int32).max, np.iinfo(np.int32).min
# Values that one thread codes at once: few enough that they stay in its cache beside the nodes of a large tree.
VALUES_PER_BLOCK = 1 << 16
# Rows that one thread takes at a time, so that all threads end together.
ROWS_PER_PART = 1 << 14


@dataclass(frozen=True, eq=False)
class ThresholdCodes:
    """The columns of codes that splits compare with cuts, in place of values with thresholds.

    A code is a whole number in the order of the values.

    Attributes
    ----------
    feature : ndarray of shape (n_columns,)
    begin, cuts : ndarray, or None
        A code is the number of thresholds among ``cuts[begin[c]:begin[c + 1]]`` that are below the value; ``None``
        where values are float32, whose bits are codes as they stand.
    """

    feature: np.ndarray
    begin: np.ndarray | None
    cuts: np.ndarray | None

    def fill(self, values: np.ndarray, code: np.ndarray) -> None:
        """Fill ``code`` from ``values``, both (n_columns, n_rows); what stands for missing ones means nothing."""
        if self.begin is None:
            code[:] = code_floats(values)
        else:
            tree_kernels.rank_values(values, self.begin, self.cuts, code)


@dataclass(frozen=True, eq=False)
class CategoryCodes:
    """A column of codes that splits look up: the place of a category among ``known``, then others, then missing."""

    feature: int
    known: np.ndarray

    @property
    def n_codes(self) -> int:
        return len(self.known) + 2

    def fill(self, values: np.ndarray, code: np.ndarray) -> None:
        """Fill ``code`` from the values of the column, both (n_rows,)."""
        n = len(self.known)
        number = np.trunc(values)
        place = np.searchsorted(self.known, number)
        # One more that is no number, and equals none, for those that are above all, or where all sets are empty.
        found = (values >= 0) & (np.append(self.known, np.nan)[place] == number)
        code[:] = np.where(np.isnan(values), n + 1, np.where(found, place, n))


@dataclass(frozen=True, eq=False)
class Nodes:
    """Trees as nodes of 64 bits; see `eifffel.kernels.tree_kernels`.

    Attributes
    ----------
    root : ndarray of shape (n_trees + 1,)
    node, leaf : ndarray of shape (n_nodes,)
    column_bits, n_thresholds : int
    goes_right : ndarray of bools, or None
        For the splits by categories, one after another, which codes go to the right, if there are any.
    """

    root: np.ndarray
    node: np.ndarray
    leaf: np.ndarray
    column_bits: int
    n_thresholds: int
    goes_right: np.ndarray | None

    def descend(self, code: np.ndarray, in_both: bool, index: np.ndarray, start: int) -> None:
        """Fill in the leaves of rows, of which the first is ``index[:, start]``; see `Traversal` for ``in_both``."""
        own = (self.root, self.node, self.column_bits, self.n_thresholds, self.goes_right, self.leaf)
        tree_kernels.place_rows(code, int(in_both), *own, index, start)


@dataclass(frozen=True, eq=False)
class Levels:
    """Oblivious trees: where the levels of each begin, and the columns and cuts of levels."""

    begin: np.ndarray
    column: np.ndarray
    cut: np.ndarray

    def descend(self, code: np.ndarray, in_both: bool, index: np.ndarray, start: int) -> None:
        """Fill in the leaves of rows, of which the first is ``index[:, start]``; see `Traversal` for ``in_both``."""
        tree_kernels.place_oblivious(code, int(in_both), self.begin, self.column, self.cut, index, start)


@dataclass(frozen=True, eq=False)
class Traversal:
    """A `TreeTable` compiled: how values become codes, and how rows go by them from node to node.

    Splits look at columns ``2 * c`` and ``2 * c + 1``, in which missing values are above and below all others, of the
    ``c``-th column of codes. In a block of rows without missing values they are the same, and ``in_both`` are those of
    one.

    Attributes
    ----------
    seen_as, zero, zeros_missing
        See `TreeTable`.
    thresholds : ThresholdCodes
    categories : tuple of CategoryCodes
        The columns after those of the thresholds.
    trees : Nodes or Levels
    """

    seen_as: type[np.floating]
    zero: float
    zeros_missing: tuple[int, ...]
    thresholds: ThresholdCodes
    categories: tuple[CategoryCodes, ...]
    trees: Nodes | Levels

    @classmethod
    def of(cls, table: TreeTable, n_jobs: int | None = 1) -> "Traversal | None":
        """Compile a table; ``None`` if it has more columns and nodes than fit into 64 bits together."""
        thresholds, column, cut = _cut_thresholds(table)
        if table.oblivious and not table.by_category.any():
            trees: Nodes | Levels | None = _find_levels(table, column, cut)
            categories: tuple[CategoryCodes, ...] = ()
        else:
            n_thresholds = len(thresholds.feature)
            categories, goes_right = _cut_categories(table, n_thresholds, column, cut)
            column_bits = (2 * (n_thresholds + len(categories))).bit_length()
            trees = _pack(table, column, cut, column_bits, n_thresholds, goes_right, n_jobs)
        if trees is None:
            return None
        return cls(table.seen_as, table.zero, table.zeros_missing, thresholds, categories, trees)

    @property
    def n_features(self) -> int:
        """How many columns rows must have at least."""
        return max(int(self.thresholds.feature.max()), *(own.feature for own in self.categories), 0) + 1

    def place(self, values: np.ndarray, index: np.ndarray, *, n_jobs: int | None, verbose: int) -> None:
        """Fill ``index``, (n_trees, n_rows), with the leaves of rows whose values are (n_rows, n_features)."""
        n_columns = len(self.thresholds.feature) + len(self.categories)
        at_once = tree_kernels.ROWS_SIDE_BY_SIDE
        size = at_once * max(1, VALUES_PER_BLOCK // n_columns // at_once)

        def fill(part: slice) -> None:
            for start in range(part.start, part.stop, size):
                code, in_both = self._code(values[start : min(start + size, part.stop)])
                self.trees.descend(code, in_both, index, start)

        n_rows = len(values)
        parts = [slice(start, min(start + ROWS_PER_PART, n_rows)) for start in range(0, n_rows, ROWS_PER_PART)]
        run_threads(fill, parts, n_jobs=n_jobs, verbose=verbose, description="leaf indices")

    def _code(self, values: np.ndarray) -> tuple[np.ndarray, bool]:
        """The codes of rows, (n_columns, n_rows), and whether each column is for both sides of missing values."""
        own = self._see(values, self.thresholds.feature)
        missing, n = np.isnan(own), len(own)
        n_sides = 2 if missing.any() else 1
        code = np.empty((n_sides * (n + len(self.categories)), len(values)), np.int32)
        self.thresholds.fill(own, code[:n])
        if n_sides == 2:
            code[1 : 2 * n : 2] = code[0 : 2 * n : 2] = code[:n].copy()
            np.copyto(code[0 : 2 * n : 2], HIGHEST, where=missing)
            np.copyto(code[1 : 2 * n : 2], LOWEST, where=missing)
        for k, categories in enumerate(self.categories, n):
            categories.fill(self._see(values, np.array([categories.feature]))[0], code[n_sides * k])
        return code, n_sides == 1

    def _see(self, values: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Some columns, (n_columns, n_rows), as the ensemble sees them."""
        seen = np.ascontiguousarray(np.asarray(values, self.seen_as).T[features])
        if self.zero:
            np.copyto(seen, 0, where=np.abs(seen) <= self.zero)
        for k in np.flatnonzero(np.isin(features, self.zeros_missing)):
            seen[k, seen[k] == 0] = np.nan
        return seen


def code_floats(values: np.ndarray) -> np.ndarray:
    """Whole numbers of 32 bits in the order of float32 ``values``; those of NaN mean nothing."""
    bits = np.ascontiguousarray(values).view(np.int32)
    # Below 0, where the highest bit is set, larger bits are those of smaller numbers.
    code: np.ndarray = bits ^ ((bits >> 31) & HIGHEST)
    return code


def _cut_thresholds(table: TreeTable) -> tuple[ThresholdCodes, np.ndarray, np.ndarray]:
    """The columns that are compared with thresholds, and the column and the cut of each node."""
    compared = np.flatnonzero(table.inner & ~table.by_category)
    own = table.feature[compared]
    used = np.zeros(int(own.max(initial=0)) + 1, bool)
    used[own] = True
    used[0] |= not len(compared)  # leaves need a column, too
    features, place = np.flatnonzero(used), (np.cumsum(used, dtype=np.int32) - 1)[own]
    column = np.zeros(len(table.left), np.int32)
    column[compared] = 2 * place + table.missing_left[compared]
    if table.seen_as is np.float32:
        # The largest float32 that goes to the left; -0.0 is 0.0.
        lowered = table.threshold.astype(np.float32) + np.float32(0)
        too_high = np.flatnonzero(lowered >= table.threshold if table.strict else lowered > table.threshold)
        lowered[too_high] = np.nextafter(lowered[too_high], np.float32(-np.inf))
        cut = code_floats(lowered)
        if table.strict:
            cut[table.threshold == -np.inf] = LOWEST  # which nothing is below, but for what is missing
        return ThresholdCodes(features, None, None), column, cut
    order = compared[np.lexsort((table.threshold[compared], place))]
    value, of = table.threshold[order], column[order] // 2
    new = np.append(True, (value[1:] != value[:-1]) | (of[1:] != of[:-1]))[: len(order)]
    begin = np.searchsorted(of[new], np.arange(len(features) + 1))
    cut = np.zeros(len(column), np.int32)
    cut[order] = np.cumsum(new) - 1 - begin[of]
    cuts = value[new]
    if not len(cuts):
        begin, cuts = np.array([0, 1]), np.zeros(1)
    return ThresholdCodes(features, begin, cuts), column, cut


def _cut_categories(
    table: TreeTable, n_thresholds: int, column: np.ndarray, cut: np.ndarray
) -> tuple[tuple[CategoryCodes, ...], np.ndarray]:
    """The columns that splits look up in sets, and which codes go to the right; fills in where each split begins."""
    by_category, goes_right = table.by_category, [np.zeros(0, bool)]
    columns: list[CategoryCodes] = []
    n_codes = 0
    for feature in np.unique(table.feature[by_category]).tolist():
        splits = np.flatnonzero(by_category & (table.feature == feature))
        assert table.category_set is not None
        sets = [table.categories[k] for k in table.category_set[splits].tolist()]
        own = CategoryCodes(feature, np.unique(np.concatenate(sets)).astype(np.float64))
        column[splits] = 2 * (n_thresholds + len(columns))
        columns.append(own)
        for split, named in zip(splits.tolist(), sets, strict=True):
            right = np.full(own.n_codes, not table.others_left)
            right[np.searchsorted(own.known, named)] = table.others_left
            right[-1] = not table.missing_left[split]
            cut[split] = n_codes
            goes_right.append(right)
            n_codes += len(right)
    return tuple(columns), np.concatenate(goes_right)


def _pack(
    table: TreeTable,
    column: np.ndarray,
    cut: np.ndarray,
    column_bits: int,
    n_thresholds: int,
    goes_right: np.ndarray,
    n_jobs: int | None,
) -> Nodes | None:
    """The nodes, the two children of a split beside each other; ``None`` if they need more than 64 bits."""
    n_splits = np.add.reduceat(table.inner, table.offset[:-1], dtype=np.int64)
    root = np.concatenate([[0], np.cumsum(1 + 2 * n_splits)])
    if 32 + column_bits + int(np.diff(root).max()).bit_length() > 63:
        return None
    node, leaf = np.empty(root[-1], np.int64), np.empty(root[-1], np.int32)
    nodes = (table.offset, table.left, table.right, table.leaf, column, cut)

    def pack(trees: slice) -> int:
        return int(tree_kernels.pack_nodes(trees.start, trees.stop, *nodes, column_bits, root, node, leaf))

    parts = split_evenly(table.n_trees, n_jobs)
    found = run_threads(pack, parts, n_jobs=n_jobs, verbose=0, description="nodes")
    broken = next((tree for tree in found if tree >= 0), -1)
    if broken >= 0:
        raise UnsupportedModelError(
            f"the nodes of tree {broken} of this model are no tree: a node is its own ancestor, has two parents, or is "
            "none of the tree's; read the model from an intact file"
        )
    return Nodes(root, node, leaf, column_bits, n_thresholds, goes_right if len(goes_right) else None)


def _find_levels(table: TreeTable, column: np.ndarray, cut: np.ndarray) -> Levels:
    """The levels of oblivious trees, by the first node of each."""
    n_nodes = np.diff(table.offset)
    depth = np.log2(n_nodes + 1).astype(np.int64) - 1
    begin = np.concatenate([[0], np.cumsum(depth)])
    level = np.arange(begin[-1]) - np.repeat(begin[:-1], depth)
    first = np.repeat(table.offset[:-1], depth) + 2**level - 1
    return Levels(begin, column[first], cut[first])
