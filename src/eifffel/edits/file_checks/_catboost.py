"""Checks of CatBoost's models: trees of splits by their numbers, and tables of what categories were in training."""

import struct
from typing import Any, NamedTuple

import numpy as np

from eifffel.edits.file_checks._damage import DamageError, refuse_unless
from eifffel.edits.file_checks._flatbuffers import PARTS_OUTSIDE, FlatTable, unpack

NONE = "a model of CatBoost that is none"
SPLITS = "a tree of CatBoost whose splits are not in it"
CATEGORY_TABLES = "a model of CatBoost whose tables of categories do not fit together"
# CatBoost grows no deeper trees.
DEEPEST_TREE = 16
# So many values of a feature stand in one column of bytes.
VALUES_PER_COLUMN = 254
# The part of a file that holds tables of categories; others hold texts and embeddings.
CATEGORY_PART = "static_provider_v1"
BUCKET = np.dtype([("hash", "<u8"), ("place", "<u4")])
EMPTY, NOWHERE = 2**64 - 1, 2**32 - 1
# What each kind of table holds for one category: counts of each class, a sum and a count, or a count.
OF_CLASSES, OF_MEANS = (0, 1), (2, 3)


Key = tuple[bytes, bytes, bytes, int]


class Columns(NamedTuple):
    """How many columns of numbers and of categories a model has."""

    numbers: int
    categories: int


def check_catboost_bytes(data: Any) -> None:
    """Raise unless bytes are a model of CatBoost whose trees split by its features."""
    refuse_unless(isinstance(data, bytes) and data[:4] == b"CBM1", NONE)
    size = unpack("<I", data, 4)
    core, rest = data[8 : 8 + size], data[8 + size :]
    refuse_unless(len(core) == size, "a model of CatBoost that is cut off")
    try:
        root = FlatTable.root(core)
        trees = root.table(1)
        refuse_unless(trees is not None, NONE)
        assert trees is not None
        columns = _check_catboost_features(trees)
        _check_trees(trees)
        parts = root.texts(3)
        refuse_unless(set(parts) <= {CATEGORY_PART}, "a model of CatBoost with parts for texts or embeddings")
        _check_tables(rest if parts else b"\0\0\0\0", columns, trees)
    except DamageError:
        raise
    except (struct.error, ValueError, UnicodeDecodeError) as error:
        raise DamageError(f"{NONE}: {error}") from None


def _check_catboost_features(trees: FlatTable) -> Columns:
    """Raise unless the columns of a table are those of the features, each once."""
    numbers, categories = list(trees.tables(5)), list(trees.tables(4))
    flat = []
    for features, index_field in ((numbers, 1), (categories, 0)):
        for k, feature in enumerate(features):
            refuse_unless(feature.number(index_field, "<i", -1) == k, "features of CatBoost in another order")
            flat.append(feature.number(index_field + 1, "<i", -1))
    refuse_unless(not list(trees.tables(18)), "a model of CatBoost for embeddings")
    refuse_unless(not list(trees.tables(12)) and not list(trees.tables(13)), "a model of CatBoost for texts")
    refuse_unless(sorted(flat) == list(range(len(flat))), "features of CatBoost that are not columns of a table")
    for feature in numbers:
        borders = feature.numbers(3, "<f4")
        refuse_unless((np.diff(borders) > 0).all(), "features of CatBoost whose borders do not rise")
    for feature in trees.tables(6):
        refuse_unless(0 <= feature.number(0, "<i", -1) < len(categories), SPLITS)
    for feature in trees.tables(7):
        _check_combination(_base_of(feature), Columns(len(numbers), len(categories)))
    return Columns(len(numbers), len(categories))


def _base_of(feature: FlatTable) -> FlatTable:
    """What categories a feature is made of."""
    made = feature.table(0)
    base = None if made is None else made.table(0)
    refuse_unless(base is not None, CATEGORY_TABLES)
    assert base is not None
    return base


def _check_combination(base: FlatTable, columns: Columns) -> Key:
    """What a table of categories is of: its columns, the splits that it looks at, and what it counts."""
    combination = base.table(0)
    refuse_unless(combination is not None and base.number(1, "<b", 0) in range(6), CATEGORY_TABLES)
    assert combination is not None
    by_number = combination.numbers(1, [("index", "<i4"), ("border", "<f4")])["index"]
    by_category = combination.numbers(2, [("index", "<i4"), ("value", "<i4")])["index"]
    for index, n_columns in (
        (combination.numbers(0, "<i4"), columns.categories),
        (by_number, columns.numbers),
        (by_category, columns.categories),
    ):
        refuse_unless(len(index) == 0 or (index.min() >= 0 and index.max() < n_columns), CATEGORY_TABLES)
    of_categories, of_numbers, of_values = (
        combination.numbers(k, kind) for k, kind in enumerate(("<i4", "<u8", "<u8"))
    )
    return of_categories.tobytes(), of_numbers.tobytes(), of_values.tobytes(), base.number(1, "<b", 0)


def _check_trees(trees: FlatTable) -> None:
    sizes = [len(feature.numbers(3, "<f4")) for feature in trees.tables(5)]
    sizes += [len(feature.numbers(1, "<i4")) for feature in trees.tables(6)]
    sizes += [len(feature.numbers(1, "<f4")) for feature in trees.tables(7)]
    splits, depth, start = (trees.numbers(field, "<i4") for field in (1, 2, 3))
    leaves, weights = trees.numbers(8, "<f8"), trees.numbers(9, "<f8")
    n_outputs = trees.number(0, "<i", 0)
    refuse_unless(len(depth) and depth.min() >= 0 and depth.sum(dtype=np.int64) == len(splits), SPLITS)
    refuse_unless(np.array_equal(start, np.cumsum(depth, dtype=np.int64) - depth), SPLITS)
    refuse_unless(len(splits) == 0 or (splits.min() >= 0 and splits.max() < sum(sizes)), SPLITS)
    packed = trees.numbers(17, [("column", "<u2"), ("mask", "u1"), ("value", "u1")])
    n_packed = sum(-(-size // VALUES_PER_COLUMN) for size in sizes)
    refuse_unless(len(packed) in (0, len(splits)), SPLITS)
    refuse_unless(len(packed) == 0 or packed["column"].max() < n_packed, SPLITS)
    steps = trees.numbers(10, [("left", "<u2"), ("right", "<u2")])
    leaf_of_node = trees.numbers(11, "<u4")
    if len(steps) == 0:
        refuse_unless(len(leaf_of_node) == 0 and depth.max() <= DEEPEST_TREE and 1 <= n_outputs <= len(leaves), SPLITS)
        n_leaves = int((2 ** depth.astype(np.int64)).sum())
        refuse_unless(len(leaves) == n_leaves * n_outputs, SPLITS)
    else:
        refuse_unless(n_outputs == 1, "a model of CatBoost for several classes")
        n_leaves = len(leaves)
        _check_steps(steps, leaf_of_node, start + depth, depth, n_leaves)
    refuse_unless(len(weights) in (0, n_leaves), SPLITS)
    refuse_unless(len(trees.numbers(16, "<f8")) in (0, n_outputs), SPLITS)


def _check_steps(steps: np.ndarray, leaf: np.ndarray, end: np.ndarray, size: np.ndarray, n_leaves: int) -> None:
    """Trees that are not the same at each depth: how far on the children of each node are; 0 is none."""
    refuse_unless(len(steps) == len(leaf) == size.sum() and size.min() >= 1, SPLITS)
    place, last = np.arange(len(steps)), np.repeat(end, size)
    for side in ("left", "right"):
        refuse_unless((place + steps[side] < last).all(), SPLITS)
    ends = (steps["left"] == 0) | (steps["right"] == 0)
    refuse_unless((leaf[ends] < n_leaves).all(), SPLITS)


def _check_tables(data: bytes, columns: Columns, trees: FlatTable) -> None:
    """The tables of categories, which CatBoost reads without a look, each after its size."""
    n_tables, place = unpack("<I", data, 0), 4
    n_classes: dict[Key, int] = {}
    for _ in range(n_tables):
        size = unpack("<I", data, place)
        refuse_unless(place + 4 + size <= len(data), PARTS_OUTSIDE)
        key, own = _check_count_table(FlatTable.root(data[place + 4 : place + 4 + size]), columns)
        n_classes[key] = own
        place += 4 + size
    refuse_unless(place == len(data), CATEGORY_TABLES)
    for feature in trees.tables(7):
        made = feature.table(0)
        assert made is not None
        key = _check_combination(_base_of(feature), columns)
        refuse_unless(key in n_classes and 0 <= made.number(1, "<i", 0) < n_classes[key], CATEGORY_TABLES)


def _check_count_table(table: FlatTable, columns: Columns) -> tuple[Key, int]:
    """One table: places in a list of counts, by hashes. Returns what it is of, and for how many classes it counts."""
    base = table.table(0)
    refuse_unless(base is not None, CATEGORY_TABLES)
    assert base is not None
    key = _check_combination(base, columns)
    kind, n_classes = base.number(1, "<b", 0), table.number(4, "<i", 0)
    buckets = table.numbers(1, "u1")
    refuse_unless(len(buckets) and len(buckets) % BUCKET.itemsize == 0, CATEGORY_TABLES)
    buckets = np.frombuffer(buckets.tobytes(), BUCKET)
    # Looked up from the place that a hash has until an empty one, so there must be one.
    refuse_unless(len(buckets) & (len(buckets) - 1) == 0 and (buckets["hash"] == EMPTY).any(), CATEGORY_TABLES)
    counts = len(table.numbers(2, "u1"))
    refuse_unless(0 <= n_classes <= counts, CATEGORY_TABLES)
    per_category = {**dict.fromkeys(OF_CLASSES, 4 * max(n_classes, 1)), **dict.fromkeys(OF_MEANS, 8)}.get(kind, 4)
    places = buckets["place"][(buckets["hash"] != EMPTY) & (buckets["place"] != NOWHERE)]
    refuse_unless(len(places) == 0 or (int(places.max()) + 1) * per_category <= counts, CATEGORY_TABLES)
    return key, n_classes if kind in OF_CLASSES else NOWHERE
