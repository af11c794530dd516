"""A table with a column of decisions, and no model -> a summary."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from eifffel.cli._editing import describe, known_task
from eifffel.cli._files import read_table, split_names
from eifffel.cli._tables import column_values, cut_table, find_column, match_value, need_favorable
from eifffel.report import Summary, summarize_decisions


class Given(TypedDict):
    """Options that say who is compared, and how."""

    target: str | None
    favorable: str | None
    sensitive: str | None
    privileged: str | None
    constraint: str | None
    combine: str | None
    min_group_rows: int | None
    missing: str | None


@dataclass(frozen=True)
class Asked:
    """The options of an audit: who is compared, how the table is read, what is measured, what is said."""

    compared: Given
    separator: str | None
    drop_missing: bool
    epsilon: float | None
    ratio: float | None
    tell_few: bool
    said: dict[str, str | None]
    quiet: bool


def summarize_column(data: Path, decision: str, score: str | None, asked: Asked) -> Summary:
    """What a report says of the decisions in a column of a table."""
    compared = asked.compared
    if compared["sensitive"] is None:
        raise ValueError("--sensitive is needed: name the column of groups")
    for option, name in (("--target", compared["target"]), ("--score", score)):
        if name == decision:
            raise ValueError(f"{option} and --decision are both {name!r}; name another column, or leave {option} out")
    frame = read_table(data, separator=asked.separator, verbose=not asked.quiet)
    task = replace(known_task(None, **compared), target=decision, favorable=None)
    table = cut_table(
        frame,
        task,
        data,
        keep_sensitive=True,
        drop_missing=asked.drop_missing,
        to_learn=False,
        favorable_needed=False,  # it may name several
        target_option="--decision",
    )
    assert table.y is not None
    target = compared["target"]
    return summarize_decisions(
        table.y,
        None if target is None else _labels(table.X[find_column(table.X, target, "--target", data)], target, data),
        sensitive_features=table.group,
        scores=None if score is None else _numbers(table.X[find_column(table.X, score, "--score", data)], score, data),
        rows=f"rows of {data.name}",
        epsilon=asked.epsilon,
        ratio=asked.ratio,
        tell_few=asked.tell_few,
        favorable=_find_good(compared["favorable"], table.y, decision),
        privileged=table.privileged,
        constraint=compared["constraint"],
        combine=task.combine,
        min_group_rows=task.min_group_rows,
        missing=task.missing,
        decided_by=f"column {decision} of {data.name}",
        score_name=score or "",
        sensitive_name=task.sensitive_name,
        about=describe(data, table, **asked.said),
    )


def _find_good(text: str | None, decisions: np.ndarray, column: str) -> set[Any]:
    """The decisions that --favorable names: one, or several separated by commas."""
    if text is None:
        raise need_favorable(f"decision of column {column!r}", decisions)
    if not split_names(text):
        raise ValueError(f"--favorable names no decision, got {text!r}; name those that are good for a person")
    texts = [text] if text in map(str, decisions.tolist()) else split_names(text)  # it may have a comma in it
    return {match_value(name, decisions, f"--favorable: column {column!r}") for name in texts}


def _labels(column: pd.Series, name: str, data: Path) -> np.ndarray:
    """What should have been decided."""
    missing = int(column.isna().sum())
    if missing:
        raise ValueError(
            f"column {name!r} (--target) is missing in {missing:,} of {len(column):,} rows of '{data}'; leave such "
            "rows out of the table"
        )
    return column_values(column)


def _numbers(column: pd.Series, name: str, data: Path) -> Any:
    """Scores as numbers; raises, naming the row, if one is none."""
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = numbers.isna().to_numpy().nonzero()[0]
    if len(wrong):
        raise ValueError(
            f"--score: column {name!r} of '{data}' has {str(column.iloc[wrong[0]])!r} in row {wrong[0] + 1:,}, where a "
            f"number is needed, as in {len(wrong):,} rows; leave such rows out of the table"
        )
    return numbers.to_numpy(float)
