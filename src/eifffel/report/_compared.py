"""Who is compared in a report, and how: as its caller says, as in the edit of the model, or by default."""

from dataclasses import replace
from typing import Any

import numpy as np

from eifffel._validation import listed
from eifffel.constraints import DEMOGRAPHIC_PARITY, MIN_GROUP_ROWS, Constraint, make_constraint
from eifffel.exceptions import InputError, parameter
from eifffel.path import FairnessPath
from eifffel.record import read_grouping, read_label_sets
from eifffel.rows.groups import EACH, Groups, read_groups
from eifffel.rows.labels import LabelSets, find_label_sets, read_labels, split_favorable
from eifffel.rows.sensitive import ERROR, OWN_GROUP, match_names

Record = dict[str, Any]


def find_groups(
    path: FairnessPath | None,
    record: Record | None,
    sensitive: Any,
    combine: str | None,
    missing: str | None,
    privileged: Any,
) -> tuple[Groups, bool]:
    """The groups, and whether they are compared as in the edit, so that its bound is about them."""
    given = {"combine": combine or EACH, "missing": missing or ERROR, "privileged": privileged}
    if path is not None:
        groups = path.grouping
        if combine not in (None, groups.combine) and len(groups.columns) > 1:
            known = f" must be {groups.combine!r}, as in the path, got {combine!r}; leave it out"
            raise InputError(parameter("combine") + known)
        if missing not in (None, groups.missing):
            known = f" must be {groups.missing!r}, as in the path, got {missing!r}; leave it out"
            raise InputError(parameter("missing") + known)
        if privileged is not None and groups.find_privileged(privileged).privileged != groups.privileged:
            named = [a.values[k] for a, k in zip(groups.attributes, groups.privileged, strict=True) if k is not None]
            raise InputError(
                parameter("privileged")
                + f" must be {', '.join(map(repr, named)) or None}, as in the path, got {privileged!r}; leave "
                "it out"
            )
        return groups, True
    if record is None:
        return read_groups(sensitive, **given), False
    groups = read_grouping(record)
    if combine not in (None, groups.combine) and len(groups.columns) > 1:
        return read_groups(sensitive, **given), False
    if missing not in (None, ERROR, groups.missing):  # the edit knew of no such rows
        if missing == OWN_GROUP:
            return read_groups(sensitive, **given), False
        groups = replace(groups, missing=missing)
    found = read_groups(sensitive, combine=groups.combine, missing=groups.missing)
    columns = match_names(list(zip(found.names, found.columns, strict=True)), groups.names)
    both = zip((values for _, values in columns), groups.columns, strict=False)
    if len(columns) != len(groups.columns) or any(set(own).isdisjoint(other) for own, other in both):
        return read_groups(sensitive, **given), False
    if privileged is None or groups.find_privileged(privileged).privileged == groups.privileged:
        return groups, True
    return read_groups(sensitive, **given | {"combine": groups.combine, "missing": groups.missing}), False


def find_labels(
    path: FairnessPath | None, record: Record | None, favorable: Any, y: Any, classes: np.ndarray
) -> tuple[Any, LabelSets | None]:
    """The favourable class, as the edit has it if there was one, and the labels that it stands for."""
    labels = read_labels("y", y)
    favorable, good = split_favorable(favorable, labels, classes.tolist())
    if path is not None:
        known, label_sets = path.favorable, path.label_sets
    elif record is not None:
        known, label_sets = record["favorable"], read_label_sets(record)
    else:
        return favorable, None if good is None or labels is None else find_label_sets("y", labels, good)
    known_good = None if label_sets is None else set(label_sets.good)
    if favorable is not None and (favorable != known or good != known_good):
        raise InputError(
            parameter("favorable")
            + f" must be {listed([known] if label_sets is None else label_sets.good)}, for which the model was "
            f"edited, got {listed([favorable] if good is None else sorted(good, key=str))}; leave it out"
        )
    return known, label_sets


def find_constraint(
    path: FairnessPath | None,
    record: Record | None,
    name: str | None,
    groups: Groups,
    min_group_rows: int | None,
    *,
    labelled: bool,
) -> Constraint:
    """What is compared: as asked for, as in the edit, or selection rates, which need no labels."""
    if path is not None:
        edited, least = path.constraint.name, path.constraint.min_rows
    elif record is not None:
        edited, least = record["constraint"]["name"], record["constraint"]["min_group_rows"]
    else:
        edited, least = DEMOGRAPHIC_PARITY, MIN_GROUP_ROWS
    own = make_constraint(edited, groups, min_group_rows=least)
    if name is None:
        name = edited if labelled or not own.needs_labels else DEMOGRAPHIC_PARITY
    constraint = make_constraint(name, groups, min_group_rows=least if min_group_rows is None else min_group_rows)
    same = path is not None and (constraint.name, constraint.min_rows) == (path.constraint.name, least)
    return path.constraint if path is not None and same else constraint
