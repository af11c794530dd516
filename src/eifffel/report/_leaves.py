"""The changed leaves by what they do: rows times the weight of the change, per group."""

from dataclasses import replace
from typing import Any

import numpy as np

from eifffel.ensembles import view_ensemble
from eifffel.ensembles._columns import INFREQUENT
from eifffel.exceptions import UnsupportedModelError
from eifffel.path import CELLS, FairnessPath
from eifffel.report._people import FEWEST, tests_sensitive, words
from eifffel.rules import Rule

SHOWN = 15


def summarize_leaves(path: FairnessPath, step: int, X: Any, *, sensitive_columns: tuple[str, ...]) -> dict[str, Any]:
    """The leaves changed at a step, those with the largest effect first.

    A leaf with fewer than `FEWEST` scoring rows is counted and not described; of one that is, a group with fewer is not
    counted.
    """
    flips = path.flips(step)
    view = view_ensemble(path.model, favorable=path.favorable)
    per_group = np.stack([flips[cell] for cell in CELLS], axis=1).reshape(-1, 2, 2).sum(axis=2)
    change = flips["after"] - flips["before"]
    # A leaf that votes moves the score of its rows by its share of the trees.
    effect = per_group * (np.abs(change) / (view.n_trees if view.votes else 1))[:, None]
    describable = per_group.sum(axis=1) >= FEWEST
    shown = np.flatnonzero(describable)
    shown = shown[np.argsort(-effect[shown].sum(axis=1), kind="stable")][:SHOWN]
    texts, marks = _rules(path, step, shown, X, sensitive_columns)
    return {
        "n_leaves": view.n_leaves,
        "n_trees": view.n_trees,
        "n_changed": len(flips),
        "n_hidden": int((~describable).sum()),
        "n_more": int(describable.sum()) - len(shown),
        "shown": [
            {
                "tree": int(flips["tree"][k]),
                "leaf": int(flips["leaf"][k]),
                "rule": text,
                "before": float(flips["before"][k]),
                "after": float(flips["after"][k]),
                "rows": [int(n) if n >= FEWEST or n == 0 else None for n in per_group[k]],
                "effect": [
                    float(e) if n >= FEWEST or n == 0 else None for e, n in zip(effect[k], per_group[k], strict=True)
                ],
                "tests_sensitive": mark,
            }
            for k, text, mark in zip(shown.tolist(), texts, marks, strict=True)
        ],
    }


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
