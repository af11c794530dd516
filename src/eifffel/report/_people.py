"""Who changed: people whose decision the edit changed, by group and by readable rules."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.tree import DecisionTreeClassifier

from eifffel._validation import is_missing, named_columns
from eifffel.ensembles import INFREQUENT, Column, plain_columns, view_ensemble
from eifffel.report._estimates import one_line
from eifffel.report.facts import Changed, ChangedGroup, ChangedRule
from eifffel.rows.coding import Rows
from eifffel.rows.few import FEWEST
from eifffel.rows.groups import Groups
from eifffel.rules import Rule, read_rules

DEPTH = 3
# Of a column's values, the most frequent; the others stand together.
CATEGORIES = 20
# Trees see float32.
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows as numbers, with what each column says of the table they came from.

    Attributes
    ----------
    values : ndarray or sparse matrix of shape (n_rows, n_columns)
    columns : list of Column
    missing : ndarray of shape (n_columns,)
        Whether a value is missing anywhere.
    """

    values: Any
    columns: list[Column]
    missing: np.ndarray


def summarize_changes(
    before: np.ndarray,
    after: np.ndarray,
    rows: Rows,
    groups: Groups,
    X: Any,
    *,
    sensitive_columns: tuple[str, ...],
) -> Changed:
    """Who gains and who loses a favourable decision, of those who are described.

    Parameters
    ----------
    before, after : ndarray of bool
        Whether each row is decided favourably.
    rows, groups : Rows and Groups
        Who they are; whoever is not described weighs nothing.
    X : table
        The rows as they were given to the model.
    """
    known = rows.weight > 0
    gained, lost = ~before & after & known, before & ~after & known
    of_group = [groups.count_compared(rows.weigh_cells(chosen)).sum(axis=1) for chosen in (None, gained, lost)]
    counts = np.stack(of_group, axis=1).tolist()
    rules, n_hidden = _describe_changes(gained[known], lost[known], _only(as_numbers(X), known), sensitive_columns)
    return Changed(
        groups=tuple(ChangedGroup(*map(int, own)) if own[0] else ChangedGroup(None, None, None) for own in counts),
        rules=tuple(rules),
        n_rules_hidden=n_hidden,
    )


def _only(table: Table, inside: np.ndarray) -> Table:
    return replace(table, values=table.values[np.flatnonzero(inside)])


def _describe_changes(
    gained: np.ndarray, lost: np.ndarray, table: Table, sensitive_columns: tuple[str, ...]
) -> tuple[list[ChangedRule], int]:
    """Rules of where decisions changed, and how many are not told, for they are about fewer than ten people."""
    changed = gained | lost
    if not changed.any() or changed.all():
        return [], 0
    tree = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=FEWEST, random_state=0).fit(table.values, changed)
    view = view_ensemble(tree)
    leaf = view.apply(view.check_rows(table.values))[0]
    rules = read_rules(view, np.arange(view.n_leaves), [""] * view.n_leaves, table.columns)
    sizes = np.bincount(leaf, minlength=view.n_leaves)
    described = [
        ChangedRule(
            rule=words(rule, table.missing),
            rows=int(sizes[k]),
            gained=int(gained[leaf == k].sum()),
            lost=int(lost[leaf == k].sum()),
            tests_sensitive=tests_sensitive(rule, sensitive_columns),
        )
        for k, rule in enumerate(rules)
        if sizes[k] >= FEWEST
    ]
    described.sort(key=lambda rule: -(rule.gained + rule.lost) / rule.rows)
    return described, int((sizes < FEWEST).sum())


def words(rule: Rule, missing: np.ndarray) -> str:
    """A rule in brief, silent on missing values where there are none."""
    return one_line(rule.words(lambda feature: bool(missing[feature]), brief=True))


def tests_sensitive(rule: Rule, sensitive_columns: tuple[str, ...]) -> bool | None:
    """Whether a rule asks for the sensitive attribute; ``None`` if it is not known what its columns are made from."""
    if any(bound.column.source in sensitive_columns for bound in rule.bounds):
        return True
    unknown = sensitive_columns and any(bound.column.source is None for bound in rule.bounds)
    return None if unknown else False


def as_numbers(X: Any) -> Table:
    """A table as numbers: one column for each number, one for each frequent value of anything else."""
    if issparse(X):
        names = [f"x{k}" for k in range(X.shape[1])]
        return Table(X.tocsr(), plain_columns(names), np.zeros(X.shape[1], bool))
    named = named_columns(X)
    values: list[np.ndarray] = []
    columns: list[Column] = []
    for name, column in named:
        if column.dtype.kind in "iuf":
            values.append(np.clip(column, -LARGEST, LARGEST).astype(np.float32))
            columns.append(Column(name, name))
            continue
        texts = np.array(["missing" if is_missing(value) else str(value) for value in column.tolist()], object)
        for category, indicator in _indicators(texts):
            values.append(indicator.astype(np.float32))
            columns.append(Column(f"{name}_{category}", name, category))
    matrix = np.column_stack(values)
    return Table(matrix, columns, np.isnan(matrix).any(axis=0))


def _indicators(texts: np.ndarray) -> list[tuple[str, np.ndarray]]:
    kinds, code, counts = np.unique(texts.astype(str), return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:CATEGORIES]
    frequent = np.sort(frequent[counts[frequent] >= FEWEST])
    found = [(str(kinds[k]), code == k) for k in frequent]
    if len(kinds) > len(frequent):
        found.append((INFREQUENT, ~np.isin(code, frequent)))
    return found
