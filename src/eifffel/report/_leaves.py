"""The changed leaves by what they do: rows times the weight of the change, per group."""

from dataclasses import replace
from typing import Any

import numpy as np

from eifffel.ensembles import INFREQUENT, view_ensemble
from eifffel.exceptions import UnsupportedModelError
from eifffel.path import FairnessPath
from eifffel.report._people import tests_sensitive, words
from eifffel.report.facts import ChangedLeaf, ChangedLeaves
from eifffel.report.words import MOST_COLUMNS
from eifffel.rows.few import FEWEST
from eifffel.rules import Rule

SHOWN = 15


def summarize_leaves(path: FairnessPath, step: int, X: Any, *, sensitive_columns: tuple[str, ...]) -> ChangedLeaves:
    """The leaves changed at a step, those with the largest effect first.

    A leaf with fewer than `FEWEST` scoring rows is counted and not described; of one that is, a group with fewer is not
    counted. Rows of groups that are not described are in no number.
    """
    flips = path.flips(step)
    view = view_ensemble(path.model, favorable=path.favorable)
    cells = np.stack([flips[cell] for cell in path.cell_names], axis=1).reshape(len(flips), len(path.groups), 2)
    described = path.grouping.find_described(path.leaf_counts.totals.sum(axis=1))
    cells = cells * described[:, None]
    hidden = path.grouping.count_people(described.astype(np.int64)) == 0
    in_leaf, per_group = cells.sum(axis=(1, 2)), path.grouping.count_compared(cells).sum(axis=2)
    change = flips["after"] - flips["before"]
    # A leaf that votes moves the score of its rows by its share of the trees.
    share = np.abs(change) / (view.n_trees if view.votes else 1)
    describable = in_leaf >= FEWEST
    shown = np.flatnonzero(describable)
    shown = shown[np.argsort(-(in_leaf * share)[shown], kind="stable")][:SHOWN]
    # Not both the sum and its parts, or those of several attributes: what is not told could be reckoned from them.
    by_group = len(path.grouping.attributes) == 1 and per_group.shape[1] <= MOST_COLUMNS
    texts, marks = _rules(path, step, shown, X, sensitive_columns)
    told = ~hidden & ((per_group >= FEWEST) | (per_group == 0))
    leaves = []
    for k, text, mark in zip(shown.tolist(), texts, marks, strict=True):
        n_rows = [int(n) if tell else None for n, tell in zip(per_group[k], told[k], strict=True) if by_group]
        leaves.append(
            ChangedLeaf(
                tree=int(flips["tree"][k]),
                leaf=int(flips["leaf"][k]),
                rule=text,
                before=float(flips["before"][k]),
                after=float(flips["after"][k]),
                rows=tuple(n_rows),
                effect=tuple(None if n is None else float(n * share[k]) for n in n_rows),
                all_rows=None if by_group else int(in_leaf[k]),
                all_effect=None if by_group else float(in_leaf[k] * share[k]),
                tests_sensitive=mark,
            )
        )
    return ChangedLeaves(
        n_leaves=view.n_leaves,
        n_trees=view.n_trees,
        n_changed=len(flips),
        n_hidden=int((~describable).sum()),
        n_more=int(describable.sum()) - len(shown),
        shown=tuple(leaves),
    )


def _rules(
    path: FairnessPath, step: int, which: np.ndarray, X: Any, sensitive_columns: tuple[str, ...]
) -> tuple[list[str | None], list[bool | None]]:
    try:
        rules = path.rules(step, which=which.tolist())
    except UnsupportedModelError:  # boosted trees are not read as rules
        return [None] * len(which), [None] * len(which)
    rows = view_ensemble(path.model, favorable=path.favorable).check_rows(X)
    missing = np.zeros(rows.shape[1], bool)
    if isinstance(rows, np.ndarray):
        missing |= np.isnan(rows).any(axis=0)
    # A value that fewer people have is not named.
    rare = {k for k in range(rows.shape[1]) if isinstance(rows, np.ndarray) and np.count_nonzero(rows[:, k]) < FEWEST}
    shown: list[str | None] = [words(_without_names(rule, rare), missing) for rule in rules]
    return shown, [tests_sensitive(rule, sensitive_columns) for rule in rules]


def _without_names(rule: Rule, rare: set[int]) -> Rule:
    """A rule whose bounds on columns of rare values do not name them."""
    bounds = tuple(
        replace(bound, column=replace(bound.column, category=INFREQUENT))
        if bound.feature in rare and bound.column.category is not None
        else bound
        for bound in rule.bounds
    )
    return replace(rule, bounds=bounds)
