"""Checks of LightGBM's models: a text of one block of arrays for each tree, which LightGBM reads without a look."""

import re
from typing import Any

import numpy as np

from eifffel.edits.file_checks._damage import DamageError, check_threads, refuse_unless, walk_tree

# Bits of decision_type: whether the split is by categories.
CATEGORICAL = 1
# What has an entry for each split, and what for each leaf.
OF_SPLITS = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
MAY_BE_OF_SPLITS = ("split_gain", "internal_value", "internal_weight", "internal_count")
MAY_BE_OF_LEAVES = ("leaf_weight", "leaf_count")
# Objectives that have a score for each class; all others have one.
OF_CLASSES = ("multiclass", "softmax", "multiclassova", "multiclass_ova", "ova", "ovr")
PARAMETERS, END_OF_PARAMETERS = "parameters:", "end of parameters"
PARAMETER = re.compile(r"\[[A-Za-z0-9_]+: [^\n]*\]")
INTEGER = re.compile(r"-?[0-9]{1,18}")
NUMBER = re.compile(r"[-+]?([0-9.]+([eE][-+]?[0-9]+)?|inf|nan)", re.IGNORECASE)


def check_lightgbm_text(text: Any) -> None:
    """Raise unless the trees of a model of LightGBM, as its text has them, are trees of its features."""
    refuse_unless(isinstance(text, str), "a model of LightGBM that is no text")
    # Text ends for LightGBM at the first zero, and lines also where it has a carriage return.
    refuse_unless("\0" not in text and "\r" not in text, "a model of LightGBM with signs that no text has")
    head, found, rest = text.partition("\nTree=")
    body, end, tail = (found + rest).partition("\nend of trees\n")
    refuse_unless(end, "a model of LightGBM whose end is missing")
    _check_parameters(tail.split("\n"))
    header = _fields(head.split("\n"), "the head of a model of LightGBM")
    n_features = _integer(header, "max_feature_idx") + 1
    names = header.get("feature_names", "").split(" ")
    refuse_unless(n_features == len(names) and n_features >= 1, "a model of LightGBM with other features than names")
    for name in ("feature_infos", "monotone_constraints"):
        if name in header:
            what = f"a model of LightGBM with other features than {name}"
            refuse_unless(len(header[name].split()) == n_features, what)
    n_outputs = _check_outputs(header)
    blocks = _split_trees(body, header)
    refuse_unless(len(blocks) % n_outputs == 0, "a model of LightGBM with too few trees for its classes")
    for block in blocks:
        _check_lightgbm_tree(_fields(block.split("\n"), "a tree of LightGBM"), n_features)


def _check_parameters(lines: list[str]) -> None:
    """What a model was trained with, a parameter in each line, which LightGBM cuts where it expects its signs."""
    if PARAMETERS in lines:
        what = "a model of LightGBM whose parameters cannot be read"
        first = lines.index(PARAMETERS) + 1
        refuse_unless(END_OF_PARAMETERS in lines[first:] and lines.count(PARAMETERS) == 1, what)
        given = lines[first : lines.index(END_OF_PARAMETERS, first)]
        refuse_unless(all(PARAMETER.fullmatch(line) for line in given if line), what)
        check_threads(dict(line[1:-1].split(": ", 1) for line in given if line))


def _fields(lines: list[str], what: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if equals:
            refuse_unless(name not in fields, f"{what} that says {name} twice")
            fields[name] = value
    return fields


def _integer(fields: dict[str, str], name: str) -> int:
    refuse_unless(INTEGER.fullmatch(fields.get(name, "")), f"a model of LightGBM without a number for {name}")
    return int(fields[name])


def _check_outputs(header: dict[str, str]) -> int:
    """How many trees there are in an iteration: as many as what is made of their sums."""
    n_classes, n_outputs = _integer(header, "num_class"), _integer(header, "num_tree_per_iteration")
    objective = header.get("objective", "").split()
    said = [part.partition(":")[2] for part in objective if part.startswith("num_class:")]
    of_classes = bool(objective) and objective[0] in OF_CLASSES
    same = n_classes == n_outputs >= 1 and (of_classes or n_outputs == 1 or not objective)
    same = same and len(said) == of_classes and all(number == str(n_classes) for number in said)
    refuse_unless(same, "a model of LightGBM with other classes than its objective has")
    return n_outputs


def _split_trees(body: str, header: dict[str, str]) -> list[str]:
    """The text of each tree; LightGBM finds them by their sizes."""
    blocks = re.split(r"\n(?=Tree=)", body)[1:]
    refuse_unless(all(re.match(rf"Tree={k}\n", block) for k, block in enumerate(blocks)), "trees in another order")
    if "tree_sizes" in header:
        sizes = [len(block.encode()) + 1 for block in blocks]
        given = header["tree_sizes"].split()
        refuse_unless(given == [str(size) for size in sizes], "trees of other sizes than tree_sizes says")
    refuse_unless(blocks, "a model of LightGBM without trees")
    return blocks


def _check_lightgbm_tree(fields: dict[str, str], n_features: int) -> None:
    outside = "a tree of LightGBM whose nodes point outside of it"
    n_leaves, n_sets = _integer(fields, "num_leaves"), _integer(fields, "num_cat")
    refuse_unless(n_leaves >= 1 and n_sets >= 0, outside)
    n_splits = n_leaves - 1
    _read_numbers(fields, "leaf_value", n_leaves)
    if "shrinkage" in fields:
        _read_numbers(fields, "shrinkage", 1)
    refuse_unless(fields.get("is_linear", "0") == "0", "linear trees of LightGBM, whose leaves cannot be edited")
    if n_splits == 0:
        return
    feature, threshold, decision, left, right = (_read_numbers(fields, name, n_splits) for name in OF_SPLITS)
    for names, size in ((MAY_BE_OF_SPLITS, n_splits), (MAY_BE_OF_LEAVES, n_leaves)):
        for name in names:
            if fields.get(name):
                _read_numbers(fields, name, size)
    for numbers, low, high in ((feature, 0, n_features - 1), (decision, -128, 127)):
        refuse_unless((numbers == np.floor(numbers)).all() and numbers.min() >= low and numbers.max() <= high, outside)
    # A child below 0 is a leaf: -1 the first, -2 the second.
    children = np.concatenate([left, right])
    refuse_unless((children == np.floor(children)).all() and children.min() >= -n_leaves, outside)
    refuse_unless(children.max() < n_splits, outside)
    nodes = [np.where(child >= 0, child, n_splits - 1 - child).astype(np.int64) for child in (left, right)]
    no_child = np.zeros(n_leaves, np.int64)
    left, right = (np.concatenate([child, no_child]) for child in nodes)
    walk_tree(left, right, np.arange(n_splits + n_leaves) < n_splits, outside)
    _check_lightgbm_categories(fields, n_sets, threshold[(decision.astype(np.int64) & CATEGORICAL) != 0])


def _check_lightgbm_categories(fields: dict[str, str], n_sets: int, used: np.ndarray) -> None:
    """The sets of categories that splits name, which are words of one list between boundaries."""
    what = "a tree of LightGBM whose sets of categories are not in it"
    refuse_unless(len(used) == 0 or (used.min() >= 0 and used.max() < n_sets), what)
    if n_sets == 0:
        return
    boundaries = _read_numbers(fields, "cat_boundaries", n_sets + 1)
    refuse_unless(boundaries[0] == 0 and (np.diff(boundaries) >= 0).all(), what)
    refuse_unless((boundaries == np.floor(boundaries)).all(), what)
    _read_numbers(fields, "cat_threshold", int(boundaries[-1]))


def _read_numbers(fields: dict[str, str], name: str, size: int) -> np.ndarray:
    given = fields.get(name, "").split()
    refuse_unless(len(given) == size, f"a tree of LightGBM with {len(given)} numbers for {name}, where {size} belong")
    if not all(NUMBER.fullmatch(number) for number in given):
        raise DamageError(f"a tree of LightGBM with {name} that are no numbers")
    return np.array(given, np.float64)
