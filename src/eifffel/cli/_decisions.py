"""A table with a column of decisions, and no model -> a summary."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eifffel.cli._editing import describe
from eifffel.cli._files import read_table, split_names
from eifffel.cli._options import PeopleOptions, ReadingOptions
from eifffel.cli._tables import Cut, DecisionTask, column_values, cut_table, find_column, match_value, need_favorable
from eifffel.report import Summary, summarize_decisions


@dataclass(frozen=True)
class Asked:
    """What is asked of an audit.

    Attributes
    ----------
    people : PeopleOptions
        Who is compared, and by which columns.
    reading : ReadingOptions
        How the table is read.
    epsilon, ratio : float or None
        The bound that decisions are judged by.
    tell_few : bool
        Whether fewer than ten people are described too.
    about : dict
        What a report says of the decisions.
    verbose : bool
    """

    people: PeopleOptions
    reading: ReadingOptions
    epsilon: float | None
    ratio: float | None
    tell_few: bool
    about: dict[str, str | None]
    verbose: bool


def summarize_column(data: Path, decision: str, score: str | None, asked: Asked) -> Summary:
    """What a report says of the decisions in a column of a table."""
    people = asked.people
    target, favorable = people.target, people.favorable
    if people.sensitive is None:
        raise ValueError("--sensitive is needed: name the column of groups")
    for option, name in (("--target", target), ("--score", score)):
        if name == decision:
            raise ValueError(f"{option} and --decision are both {name!r}; name another column, or leave {option} out")
    frame = read_table(data, separator=asked.reading.separator, verbose=asked.verbose)
    task = DecisionTask(decision, people.sensitive, replace(people.comparison, favorable=None))
    cut = Cut(
        keep_sensitive=True,
        drop_missing=asked.reading.drop_missing,
        to_learn=False,
        favorable_needed=False,  # it may name several
        target_option="--decision",
    )
    table = cut_table(frame, task, data, cut)
    assert table.y is not None
    return summarize_decisions(
        table.y,
        None if target is None else _labels(table.X[find_column(table.X, target, "--target", data)], target, data),
        sensitive_features=table.group,
        scores=None
        if score is None
        else _score_column(table.X[find_column(table.X, score, "--score", data)], score, data),
        rows=f"rows of {data.name}",
        epsilon=asked.epsilon,
        ratio=asked.ratio,
        tell_few=asked.tell_few,
        **asdict(replace(table.comparison, favorable=_find_good(favorable, table.y, decision))),
        decided_by=f"column {decision} of {data.name}",
        score_name=score or "",
        sensitive_name=task.sensitive_name,
        about=describe(data, table, **asked.about),
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
    """The labels of a column, which say what should have been decided; raises if one is missing."""
    missing = int(column.isna().sum())
    if missing:
        raise ValueError(
            f"column {name!r} (--target) is missing in {missing:,} of {len(column):,} rows of '{data}'; leave such "
            "rows out of the table"
        )
    return column_values(column)


def _score_column(column: pd.Series, name: str, data: Path) -> Any:
    """The scores of a column; raises, naming the row, if one is not a number."""
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = numbers.isna().to_numpy().nonzero()[0]
    if len(wrong):
        raise ValueError(
            f"--score: column {name!r} of '{data}' has {str(column.iloc[wrong[0]])!r} in row {wrong[0] + 1:,}, where a "
            f"number is needed, as in {len(wrong):,} rows; leave such rows out of the table"
        )
    return numbers.to_numpy(float)
