"""What an edit does: the steps of its path, the people whose decision it changed, and the leaves that it changed."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.tree import DecisionTreeClassifier

from eifffel._utils.validation import is_missing, named_columns
from eifffel.edits.rules import Rule, read_rules
from eifffel.ensembles import INFREQUENT, Column, plain_columns, view_ensemble
from eifffel.exceptions import UnsupportedModelError
from eifffel.path import FairnessPath
from eifffel.report._decisions import measure_group_rates, measure_outcome
from eifffel.report.facts import (
    AtChoice,
    BoundChoice,
    Changed,
    ChangedGroup,
    ChangedLeaf,
    ChangedLeaves,
    ChangedRule,
    NamedRows,
    Point,
    Tradeoff,
    number,
    one_line,
)
from eifffel.report.words import MOST_COLUMNS
from eifffel.rows.coding import Rows
from eifffel.rows.groups import Groups
from eifffel.rows.small_counts import FEWEST
from eifffel.selection.bounds import BOTH, Bounds
from eifffel.selection.choose import choose_step, find_limits
from eifffel.selection.counts import PathCounts
from eifffel.selection.objective import name_loss
from eifffel.selection.public_counts import PublicCounts, find_public_counts
from eifffel.selection.selection import Selection

# Bounds that a reader can ask for are this far apart.
BOUND_STEPS = {"epsilon": 0.001, "ratio": 0.005}
# Of the tree whose leaves are the rules of who changed.
DEPTH = 3
# Of a column's values, the most frequent; the others stand together.
MOST_VALUES = 20
# Trees see float32.
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
# Of the changed leaves, those with the largest effect.
LEAVES_SHOWN = 15


def summarize_path(path: FairnessPath, measured: FairnessPath, selection: Selection) -> Tradeoff | None:
    """The steps that bounds select on the selection rows, and what they do to the rows of the report.

    Of people who are described, on both; ``None`` where that leaves nobody of a group that is bounded, for without it
    other steps would keep a bound.
    """
    kind, asked = selection.bounds.kind, selection.bounds.value
    chosen_on = find_public_counts(path.counts_for(selection.confidence), path.grouping)
    counts, accuracy_counts = chosen_on.compared, find_public_counts(path.accuracy_counts, path.grouping).labelled
    if counts is None or accuracy_counts is None or not _has_objective(accuracy_counts, selection):
        return None
    if not np.array_equal(counts.constraint.kept, path.counts_for(selection.confidence).constraint.kept):
        return None
    bounds = sorted({*_list_bounds(counts, selection.bounds), asked})
    searched = None if selection.confidence is None else path.searched_counts
    chosen = [choose_step(counts, searched, accuracy_counts, selection.bounds.at(bound)) for bound in bounds]
    own = bounds.index(asked)
    chosen[own] = selection.step, selection.met
    steps = sorted({step for step, _ in chosen} | {0, selection.step})
    place = {step: k for k, step in enumerate(steps)}
    here = find_public_counts(measured.counts, path.grouping)
    return Tradeoff(
        strategy=path.strategy,
        n_steps=path.n_steps,
        rule=selection.rule,
        alpha=selection.alpha,
        confidence=selection.confidence,
        sides=selection.sides,
        loss=name_loss(selection.objective),
        chosen_on=NamedRows(selection.discrimination_rows, int(chosen_on.decided.n_rows.sum())),
        accuracy_on=NamedRows(accuracy_counts.rows, int(accuracy_counts.n_rows.sum())),
        kind=kind,
        chosen_bound=own,
        bounds=tuple(BoundChoice(bound, place[step], met) for bound, (step, met) in zip(bounds, chosen, strict=True)),
        points=tuple(_measure_point(path, here, counts, accuracy_counts, step, selection.bounds) for step in steps),
    )


def _has_objective(counts: PathCounts, selection: Selection) -> bool:
    """Whether rows have what is limited; balanced accuracy needs both labels."""
    return selection.objective != "balanced_accuracy" or bool(counts.totals.sum(axis=0).all())


def _list_bounds(counts: PathCounts, asked: Bounds) -> list[float]:
    """From what the original model would keep to the strictest of all that can be met."""
    step = BOUND_STEPS[asked.kind]
    # That only rates that are the same keep is certified by no number of rows.
    strictest = 0 if asked.confidence is None or asked.sides != BOTH else 1
    if asked.kind == "epsilon":
        most = max(abs(float(counts.discrimination[0])), asked.value)
        return [round(k * step, 6) for k in range(strictest, min(int(np.ceil(most / step)) + 5, round(1 / step)) + 1)]
    least = min(float(np.nan_to_num(counts.ratio[0])), asked.value)
    return [round(k * step, 6) for k in range(max(int(least / step) - 5, 1), round(1 / step) + 1 - strictest)]


def _measure_point(
    path: FairnessPath,
    here: PublicCounts,
    chosen: PathCounts,
    accuracy_counts: PathCounts,
    step: int,
    bounds: Bounds,
) -> Point:
    constraint = path.counts.constraint if here.compared is None else here.compared.constraint
    return Point(
        step=step,
        position=float(path.positions[step]),
        changed_leaves=path.n_flips(step),
        selection=AtChoice(
            discrimination=float(chosen.discrimination[step]),
            ratio=number(chosen.ratio[step]),
            accuracy=float(accuracy_counts.objective("accuracy")[step]),
            accuracy_drop=float(accuracy_counts.drop("accuracy")[step]),
            directed=chosen.constraint.directed,
            **find_limits(chosen, step, bounds)._asdict(),
        ),
        overall=measure_outcome(here, step, path.grouping),
        groups=measure_group_rates(here, step, path.grouping, constraint),
    )


@dataclass(frozen=True, eq=False)
class NumericTable:
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
    table = as_numbers(X)
    described = replace(table, values=table.values[np.flatnonzero(known)])
    rules, n_hidden = _describe_changes(gained[known], lost[known], described, sensitive_columns)
    return Changed(
        groups=tuple(ChangedGroup(*map(int, own)) if own[0] else ChangedGroup(None, None, None) for own in counts),
        rules=tuple(rules),
        n_rules_hidden=n_hidden,
    )


def _describe_changes(
    gained: np.ndarray, lost: np.ndarray, table: NumericTable, sensitive_columns: tuple[str, ...]
) -> tuple[list[ChangedRule], int]:
    """Rules of where decisions changed, and how many are not shown, for they are about fewer than ten people."""
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
            rule=rule_words(rule, table.missing),
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


def rule_words(rule: Rule, missing: np.ndarray) -> str:
    """A rule in brief, silent on missing values where there are none."""
    return one_line(rule.words(lambda feature: bool(missing[feature]), brief=True))


def tests_sensitive(rule: Rule, sensitive_columns: tuple[str, ...]) -> bool | None:
    """Whether a rule asks for the sensitive attribute; ``None`` if it is not known what its columns are made from."""
    if any(bound.column.source in sensitive_columns for bound in rule.bounds):
        return True
    unknown = sensitive_columns and any(bound.column.source is None for bound in rule.bounds)
    return None if unknown else False


def as_numbers(X: Any) -> NumericTable:
    """A table as numbers: one column for each number, one for each frequent value of anything else."""
    if issparse(X):
        names = [f"x{k}" for k in range(X.shape[1])]
        return NumericTable(X.tocsr(), plain_columns(names), np.zeros(X.shape[1], bool))
    named = named_columns(X)
    values: list[np.ndarray] = []
    columns: list[Column] = []
    for name, column in named:
        if column.dtype.kind in "iuf":
            values.append(np.clip(column, -LARGEST_FLOAT32, LARGEST_FLOAT32).astype(np.float32))
            columns.append(Column(name, name))
            continue
        texts = np.array(["missing" if is_missing(value) else str(value) for value in column.tolist()], object)
        for category, indicator in _indicators(texts):
            values.append(indicator.astype(np.float32))
            columns.append(Column(f"{name}_{category}", name, category))
    matrix = np.column_stack(values)
    return NumericTable(matrix, columns, np.isnan(matrix).any(axis=0))


def _indicators(texts: np.ndarray) -> list[tuple[str, np.ndarray]]:
    kinds, code, counts = np.unique(texts.astype(str), return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:MOST_VALUES]
    frequent = np.sort(frequent[counts[frequent] >= FEWEST])
    found = [(str(kinds[k]), code == k) for k in frequent]
    if len(kinds) > len(frequent):
        found.append((INFREQUENT, ~np.isin(code, frequent)))
    return found


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
    shown = shown[np.argsort(-(in_leaf * share)[shown], kind="stable")][:LEAVES_SHOWN]
    # Not both the sum and its parts, or those of several attributes: what is not shown could be derived from them.
    by_group = len(path.grouping.attributes) == 1 and per_group.shape[1] <= MOST_COLUMNS
    texts, marks = _leaf_rules(path, step, shown, X, sensitive_columns)
    public = ~hidden & ((per_group >= FEWEST) | (per_group == 0))
    leaves = []
    for k, text, mark in zip(shown.tolist(), texts, marks, strict=True):
        n_rows = [int(n) if show else None for n, show in zip(per_group[k], public[k], strict=True) if by_group]
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


def _leaf_rules(
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
    shown: list[str | None] = [rule_words(_without_names(rule, rare), missing) for rule in rules]
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
