"""Checks of eifffel's own objects: what compiled code counts by, and what is looked up in tables of counts."""

import json
from dataclasses import fields
from math import prod
from typing import Any

import numpy as np

from eifffel.comparison import Comparison, read_grouping
from eifffel.constraints import CONSTRAINTS, make_constraint
from eifffel.edits.file_checks._damage import DamageError, is_array, is_integer, is_number, refuse_unless
from eifffel.edits.record import RECORD_KEYS
from eifffel.rows.groups import COMBINE, EACH, MOST_GROUPS
from eifffel.rows.labels import LabelSets
from eifffel.rows.sensitive import MISSING
from eifffel.selection.bounds import Bounds
from eifffel.selection.counts import ROW_SETS
from eifffel.strategies import DIRECTIONS

GROUPS = "groups that are none"
ORDER = "edits whose leaves and steps do not fit together"
COUNTS = "counts of rows that do not fit together"
COMPARED = "a comparison of nobody"
PATH = "a path whose parts are not of the same leaves, steps and groups"
RECORD = "a record of an edit that is none"
GROUPING_KEYS = {"columns", "names", "combine", "missing", "privileged"}
TASK_KEYS = {"target", "sensitive", "labels", "good", "bad", *(field.name for field in fields(Comparison))}
TABLE_KEYS = {"sha256"}
SPLIT_KEYS = {"data", "rows", "seed", "test_size", "selection_size"}
# An edit of an edit of an edit; nobody makes more of them.
MOST_EDITS = 100


def check_groups(groups: Any) -> None:
    """The groups that rows are counted in: each value has one place, and all of them fit into a byte."""
    columns, names, privileged = (vars(groups).get(name) for name in ("columns", "names", "privileged"))
    refuse_unless(isinstance(columns, tuple) and columns and isinstance(names, tuple), GROUPS)
    refuse_unless(len(names) == len(columns) and all(isinstance(name, str) for name in names), GROUPS)
    for values in columns:
        refuse_unless(isinstance(values, tuple) and 0 < len(values) <= MOST_GROUPS, GROUPS)
        refuse_unless(all(map(_is_group, values)) and len(set(values)) == len(values), GROUPS)
    refuse_unless(prod(map(len, columns)) <= MOST_GROUPS, GROUPS)
    refuse_unless(groups.combine in COMBINE and groups.missing in MISSING, GROUPS)
    several = len(columns) > 1 and groups.combine == EACH
    sizes = [len(values) for values in columns] if several else [prod(map(len, columns))]
    refuse_unless(isinstance(privileged, tuple) and len(privileged) == len(sizes), GROUPS)
    for place, size in zip(privileged, sizes, strict=True):
        refuse_unless(place is None or is_integer(place, 0, size - 1), GROUPS)


def _is_group(value: Any) -> bool:
    """Whether a value tells people apart: a plain one, or a tuple of such."""
    return all(map(_is_plain, value)) if isinstance(value, tuple) else _is_plain(value)


def _is_plain(value: Any) -> bool:
    """Whether a value of a table has a place of its own: text or a number, and not NaN, which equals nothing."""
    return isinstance(value, str | bool | np.bool_) or is_number(value)


def check_label_sets(sets: Any) -> None:
    """The labels of a table that are favourable, and the others."""
    refuse_unless(len(sets) == 2 and all(isinstance(labels, tuple) for labels in sets), "sets of labels that are none")
    refuse_unless(all(_is_plain(label) for labels in sets for label in labels), "sets of labels that are none")


def check_flips(order: Any) -> None:
    """Flips: each leaf once, in steps that never fall."""
    state = vars(order)
    leaf, step, score = (state.get(name) for name in ("leaf", "step", "score"))
    refuse_unless(is_array(leaf, "i", 1) and is_array(step, "i", 1) and is_array(score, "f", 1), ORDER)
    refuse_unless(len(leaf) == len(step) and len(np.unique(leaf)) == len(leaf), ORDER)
    if len(leaf):
        refuse_unless(leaf.min() >= 0 and leaf.max() < len(score) and step[0] >= 1, ORDER)
        refuse_unless((step[1:] >= step[:-1]).all(), ORDER)


def check_shift(order: Any) -> None:
    """A shift: its directions, the prices at the knots of its curve, and how far along that each step is."""
    state = vars(order)
    directions, knots, reach = (state.get(name) for name in ("directions", "knots", "reach"))
    refuse_unless(is_array(directions, "f", 2) and is_array(knots, "f", 2) and is_array(reach, "f", 1), ORDER)
    for numbers in (directions, knots, reach):
        refuse_unless(numbers.dtype == np.float64 and np.isfinite(numbers).all(), ORDER)
    refuse_unless(knots.shape[1] == len(directions) > 0 and len(knots) > 1 and not knots[0].any(), ORDER)
    refuse_unless(len(reach) and reach[0] == 0 and (reach[1:] >= reach[:-1]).all(), ORDER)
    refuse_unless(len(knots) == 2 or reach[-1] <= len(knots) - 1, ORDER)


def check_leaf_counts(counts: Any) -> None:
    """Rows in each leaf, by group and label."""
    state = vars(counts)
    table, totals, unit = (state.get(name) for name in ("counts", "totals", "unit"))
    refuse_unless(is_array(table, "i", 3) and is_array(totals, "iu", 2) and table.shape[1:] == totals.shape, COUNTS)
    refuse_unless(totals.shape[1] == 2 and totals.min(initial=0) >= 0 and table.min(initial=0) >= 0, COUNTS)
    refuse_unless(is_number(unit) and 0 < unit < np.inf, COUNTS)


def check_path_counts(counts: Any) -> None:
    """Rows decided favourably after each step, by group and label: never more than there are."""
    state = vars(counts)
    favorable, totals, n_rows = (state.get(name) for name in ("favorable", "totals", "n_rows"))
    refuse_unless(is_array(favorable, "if", 3) and is_array(totals, "if", 2) and is_array(n_rows, "i", 1), COUNTS)
    refuse_unless(len(favorable) and favorable.shape[1:] == totals.shape and totals.shape[1] in (1, 2), COUNTS)
    refuse_unless(len(n_rows) == len(totals) and len(totals) <= MOST_GROUPS, COUNTS)
    refuse_unless(np.isfinite(totals).all() and totals.min(initial=0) >= 0 and n_rows.min(initial=0) >= 0, COUNTS)
    room = 0 if favorable.dtype.kind == "i" else 1e-9 * totals.sum()
    refuse_unless((favorable >= -room).all() and (favorable <= totals + room).all(), COUNTS)
    refuse_unless(state.get("rows") in ROW_SETS, COUNTS)


def check_constraint(constraint: Any) -> None:
    """Which rates are compared: sides of groups and labels."""
    state, what = vars(constraint), "a constraint that compares nobody"
    members, family, reference, kept = (state.get(name) for name in ("members", "family", "reference", "kept"))
    refuse_unless(isinstance(state.get("name"), str) and state["name"] in CONSTRAINTS, what)
    refuse_unless(is_array(members, "b", 3) and members.shape[2] == 2 and members.shape[1] <= MOST_GROUPS, what)
    refuse_unless(is_array(family, "i", 1) and is_array(reference, "b", 1) and is_array(kept, "b", 1), what)
    names = state.get("names")
    refuse_unless(isinstance(names, tuple) and all(isinstance(name, str) for name in names), what)
    refuse_unless(is_array(state.get("fewest"), "i", 1), what)
    refuse_unless(
        len(members) == len(family) == len(reference) == len(kept) == len(names) == len(state["fewest"]), what
    )
    refuse_unless(is_integer(state.get("min_rows"), 0), what)


def check_path(path: Any) -> None:
    """A path: its edits, its counts and its groups are of the same leaves, steps and groups."""
    state = vars(path)
    kinds = {
        "comparison": ("Compared",),
        "leaf_counts": ("LeafCounts",),
        "counts": ("PathCounts",),
        "accuracy_counts": ("PathCounts",),
        "searched_counts": ("PathCounts", "NoneType"),
        "trained": ("bool", "NoneType"),
        "overlap": ("float",),
        "repeats": ("int",),
        "model_fingerprint": ("str",),
        "strategy": ("str",),
    }
    for name, allowed in kinds.items():
        refuse_unless(name in state and type(state[name]).__name__ in allowed, PATH)
    refuse_unless(state.get("direction") in DIRECTIONS and "model" in state, PATH)
    rows = [state.get(name) for name in ("rows_to_check", "scored", "hashes")]
    refuse_unless(rows == [None, None, None], "rows of people, which no path stores")
    order, groups = state.get("order"), state["comparison"].groups
    refuse_unless(hasattr(order, "score") and hasattr(type(order), "positions"), PATH)
    steps = vars(order).get("step")
    # A table of all steps is made of it, however many it says there are.
    refuse_unless(steps is None or steps.max(initial=0) < len(state["counts"].favorable), PATH)
    n_steps, n_groups = len(order.positions) - 1, len(groups)
    refuse_unless(is_array(order.score, "f", 1), ORDER)
    refuse_unless(state["leaf_counts"].counts.shape == (len(order.score), n_groups, 2), PATH)
    counts, searched = state["counts"], state["searched_counts"]
    for counted in (counts, state["accuracy_counts"], *([] if searched is None else [searched])):
        refuse_unless(counted.favorable.shape[:2] == (n_steps + 1, n_groups), PATH)
        _check_same_sides(vars(counted).get("constraint"), groups)
    if searched is not None:
        # They are taken away from all rows.
        check_path_counts(counts.take_away(searched, counts.rows))


def check_compared(compared: Any) -> None:
    """Who is compared, and what is favourable: of two labels one, and rates between these groups."""
    state = vars(compared)
    refuse_unless(set(state) == set(type(compared).__dataclass_fields__), COMPARED)
    _check_classes(state["classes"], state["favorable"], COMPARED)
    refuse_unless(type(state["label_sets"]).__name__ in ("LabelSets", "NoneType"), COMPARED)
    refuse_unless(type(state["groups"]).__name__ == "Groups", COMPARED)
    _check_same_sides(state["constraint"], state["groups"])


def _check_classes(classes: Any, favorable: Any, what: str) -> None:
    refuse_unless(isinstance(classes, tuple | list) and len(classes) == 2 and all(map(_is_plain, classes)), what)
    refuse_unless(_is_plain(favorable) and favorable in classes, what)


def check_bounds(bounds: Any) -> None:
    """What is asked of a step, which says itself what it may be."""
    Bounds(**vars(bounds))


def _check_same_sides(constraint: Any, groups: Any) -> None:
    """Raise unless a constraint is the one of its name for these groups, but for who is too few to be bounded."""
    refuse_unless(type(constraint).__name__ == "Constraint", PATH)
    same = make_constraint(constraint.name, groups, min_group_rows=int(constraint.min_rows))
    for name in ("members", "family", "reference"):
        refuse_unless(np.array_equal(getattr(constraint, name), getattr(same, name)), PATH)
    refuse_unless(constraint.names == same.names, PATH)


def check_shortfall(shortfall: Any) -> None:
    """Why a bound was not certified: numbers of rows by the names of groups, and between which steps."""
    what = "a shortfall that is none"
    state = vars(shortfall)
    refuse_unless(set(state) == set(type(shortfall).__dataclass_fields__), what)
    steps, pair = state["steps"], state["pair"]
    refuse_unless(isinstance(steps, tuple) and len(steps) == 2 and all(is_integer(step, 0) for step in steps), what)
    refuse_unless(isinstance(pair, tuple) and len(pair) == 2, what)
    refuse_unless(
        isinstance(state["absent"], tuple) and all(isinstance(name, str) for name in pair + state["absent"]), what
    )
    for rows in (state["rows_needed"], state["n_rows"], state["few_rows"]):
        refuse_unless(isinstance(rows, dict) and all(is_integer(n, 0) for n in rows.values()), what)
    refuse_unless(set(state["rows_needed"]) <= set(state["n_rows"]) and is_integer(state["min_group_rows"], 0), what)


def check_raised_error(raised: Any) -> None:
    """About whom a step errs more: names of groups, and shares."""
    what = "raised errors that are none"
    state = dict(vars(raised))
    refuse_unless(set(state) == set(type(raised).__dataclass_fields__), what)
    names = [state.pop(name) for name in ("group", "other")]
    refuse_unless(all(isinstance(name, str) for name in names), what)
    refuse_unless(all(isinstance(share, float) and 0 <= share <= 1 for share in state.values()), what)


def check_selection(selection: Any) -> None:
    """The step that a bound selected, and what was measured there."""
    what = "a selection that is none"
    state = vars(selection)
    refuse_unless(set(state) == set(type(selection).__dataclass_fields__) and is_integer(state["step"], 0), what)
    lists = [state[name] for name in ("selection_rates", "n_rows", "hidden")]
    refuse_unless(all(isinstance(values, tuple) for values in lists) and len(set(map(len, lists))) == 1, what)
    refuse_unless(isinstance(state["path"], str) and state["hashes"] is None, what)
    refuse_unless(type(state["bounds"]).__name__ == "Bounds", what)
    refuse_unless(type(state["shortfall"]).__name__ in ("Shortfall", "NoneType"), what)
    raised = state["raised_errors"]
    refuse_unless(isinstance(raised, tuple) and all(type(one).__name__ == "RaisedError" for one in raised), what)


def check_classifier(model: Any) -> None:
    """A classifier that was fitted has a path, a selection and an edited model."""
    if "path_" not in vars(model):
        return
    what = "a classifier whose path, selection and model are not those of one edit"
    refuse_unless(type(model.path_).__name__ == "FairnessPath" and hasattr(model, "estimator_"), what)
    selection = vars(model).get("selection_")
    refuse_unless(type(selection).__name__ == "Selection", what)
    refuse_unless(selection.step < len(model.path_.order.positions), what)


def check_record(record: Any) -> None:
    """The record of an edit, and those of the edits before it."""
    for _ in range(MOST_EDITS):
        if record is None:
            return
        _check_one_record(record)
        record = record["earlier"]
    raise DamageError(f"a record of more than {MOST_EDITS} edits")


def _check_one_record(record: Any) -> None:
    refuse_unless(isinstance(record, dict) and set(RECORD_KEYS) <= set(record), RECORD)
    refuse_unless(isinstance(record["strategy"], str) and record["direction"] in DIRECTIONS, RECORD)
    refuse_unless(is_integer(record["step"], 0) and is_number(record["scale"]), RECORD)
    stored = record["leaf_value"]
    refuse_unless(type(stored) is np.ndarray and stored.dtype.kind == "f" and stored.ndim in (1, 2), RECORD)
    refuse_unless(isinstance(record["path"], str), RECORD)
    digests = record["digests"]
    refuse_unless(isinstance(digests, dict) and set(digests) == {"before", "after"}, RECORD)
    for of in digests.values():
        refuse_unless(isinstance(of, dict) and set(of) == {"structure", "leaves"}, RECORD)
        refuse_unless(all(isinstance(digest, str) for digest in of.values()), RECORD)
    _check_classes(record["classes"], record["favorable"], RECORD)
    constraint = record["constraint"]
    refuse_unless(isinstance(constraint, dict) and set(constraint) == {"name", "min_group_rows"}, RECORD)
    refuse_unless(isinstance(constraint["name"], str) and constraint["name"] in CONSTRAINTS, RECORD)
    refuse_unless(is_integer(constraint["min_group_rows"], 0), RECORD)
    grouping = record["grouping"]
    refuse_unless(isinstance(grouping, dict) and set(grouping) == GROUPING_KEYS, RECORD)
    lists = [*(grouping[name] for name in ("columns", "names", "privileged")), *grouping["columns"]]
    refuse_unless(all(isinstance(values, list | tuple) for values in lists), RECORD)
    check_groups(read_grouping(record))  # before anything is made of their combinations
    sets = record["label_sets"]
    refuse_unless(sets is None or (isinstance(sets, list | tuple) and len(sets) == 2), RECORD)
    refuse_unless(sets is None or all(isinstance(labels, list | tuple) for labels in sets), RECORD)
    if sets is not None:
        check_label_sets(LabelSets(*map(tuple, sets)))
    _check_selection(record["selection"])
    _check_task(record["task"])
    _check_source_table(record["edited_on"], TABLE_KEYS)
    _check_source_table(record["trained_on"], TABLE_KEYS | SPLIT_KEYS)
    _check_summary(record["summary"])


def _check_selection(stored: Any) -> None:
    """The bounds that chose an edit, as `Selection.to_public_dict` gives them."""
    refuse_unless(stored is None or isinstance(stored, dict), RECORD)
    for name in () if stored is None else ("epsilon", "ratio", "alpha", "confidence"):
        refuse_unless(stored.get(name) is None or is_number(stored[name]), RECORD)


def _check_task(stored: Any) -> None:
    """The columns of a table that the command line made a model from: texts, and lists of them."""
    if stored is None:
        return
    refuse_unless(isinstance(stored, dict) and set(stored) == TASK_KEYS and stored["sensitive"] is not None, RECORD)
    for name, value in stored.items():
        if name in ("labels", "good", "bad"):
            texts = value is None or (isinstance(value, list | tuple) and all(isinstance(text, str) for text in value))
            refuse_unless(texts and (name != "labels" or value is None or len(value) == 2), RECORD)
        elif name == "min_group_rows":
            refuse_unless(value is None or is_integer(value, 0), RECORD)
        else:
            refuse_unless(value is None or isinstance(value, str), RECORD)
    known = {"constraint": CONSTRAINTS, "combine": COMBINE, "missing": MISSING}
    refuse_unless(all(stored[name] in (None, *allowed) for name, allowed in known.items()), RECORD)


def _check_source_table(stored: Any, keys: set[str]) -> None:
    """The table that a model was edited or trained on: its hash, that of the rows, and how it was split."""
    if stored is None:
        return
    refuse_unless(isinstance(stored, dict) and set(stored) == keys, RECORD)
    for name, value in stored.items():
        if name in ("sha256", "data", "rows"):
            refuse_unless(isinstance(value, str), RECORD)
        else:
            refuse_unless(is_number(value) and (name != "seed" or is_integer(value, 0)), RECORD)


def _check_summary(summary: Any) -> None:
    """What a report says of an edit: JSON of one object, which `eifffel explain` looks at more closely."""
    if summary is None:
        return
    what = "a record whose report is no JSON of one"
    try:
        refuse_unless(isinstance(summary, str), what)
        report = json.loads(summary)
    except (ValueError, RecursionError):
        raise DamageError(what) from None
    refuse_unless(isinstance(report, dict) and isinstance(report.get("about", {}), dict), what)
    made = report.get("about", {}).get("trained_on")
    refuse_unless(made is None or isinstance(made, dict), what)
