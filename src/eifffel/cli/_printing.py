"""What commands print: a verdict, tables, where files went."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from eifffel.cli._progress import print_line
from eifffel.report import AuditTable, path_head, path_rows
from eifffel.report import words as _words
from eifffel.report.facts import Changed, ChangedLeaf, ChangedRule, Summary, Tradeoff

MAX_WIDTH = 120
# Between columns, and what the first of them needs to be read.
PADDING, LEAST_WIDTH = 2, 14


def printable(text: Any) -> str:
    """A text without anything that a terminal would act upon."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in str(text))


class PlainConsole(Console):
    """A console that raises an error where the reader has closed the pipe."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    """A console for plain text: nothing in data is taken for markup."""
    shown = PlainConsole(markup=False, highlight=False, emoji=False)
    if not shown.is_terminal:
        shown.width = MAX_WIDTH
    return shown


def show(content: Any, **options: Any) -> None:
    """Print something; where the reader has closed the pipe, the work goes on."""
    try:
        console().print(content, **options)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], words: Sequence[int] = (0,)) -> None:
    """Print a table; the columns at the places ``words`` hold words, all others numbers."""
    texts = [[printable(cell) for cell in row] for row in (head, *rows)]
    # Numbers stay on one line where there is room for that beside the words; nothing is ever cut off.
    widths = [max(map(len, column)) + PADDING for column in zip(*texts, strict=True)]
    numbers = sum(width for k, width in enumerate(widths) if k not in words)
    whole = numbers + LEAST_WIDTH * len(words) <= console().width
    show(Text(printable(title), style="bold"))  # not the table's own, which is no wider than the table
    table = Table(box=None, pad_edge=False)
    for k, name in enumerate(texts[0]):
        is_words = k in words
        table.add_column(name, justify="left" if is_words else "right", overflow="fold", no_wrap=not is_words and whole)
    for row in texts[1:]:
        table.add_row(*map(Text, row))
    show(table)
    show("")


def say(text: str) -> None:
    """Print a line or more."""
    show(printable(text), soft_wrap=True)


def say_where(**files: Path | None) -> None:
    """Print where each file is that was asked for."""
    for what, where in files.items():
        if where is not None:
            say(f"The {what} is in {where}.")


def say_note(text: str) -> None:
    """Print a note as a line on stderr."""
    print_line(f"note: {printable(text)}")


def say_json(content: Any) -> None:
    """Print JSON on stdout."""
    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def print_summary(summary: Summary) -> None:
    """Print the verdict, the groups, the trade-off and who changed."""
    say(f"{summary.verdict.heading}. {summary.verdict.sentence}\n")
    print_groups(summary)
    if summary.path is not None:
        print_path(summary, summary.path)
    if summary.changed is not None and _words.nobody_changed(summary.changed, summary.rows) is None:
        print_changes(summary, summary.changed)


def print_audit(table: AuditTable) -> None:
    """Print a table of an audit, with its notes."""
    say(f"{table.title}\n")
    for block in table.blocks:
        words = [k for k, column in enumerate(block.columns) if column.words]
        print_table(block.heading, block.head, block.cells, words)
    for note in table.notes:
        say(f"- {note}")
    say("")


def print_groups(summary: Summary) -> None:
    """Print the rates of each group."""
    brief = len(summary.groups) > _words.MOST_COLUMNS  # names are long then; the report has all rates
    rates = _words.shown_rates(summary.rows.labelled, brief=brief)
    rows = [
        [
            group.name + _words.group_marks(group),
            _words.group_rows(group),
            when,
            # The report has the intervals of all; a terminal has room for one.
            *(rate.show(own) if rate is _words.SELECTION_RATE else rate.show(own).number for rate in rates),
        ]
        for group in summary.groups
        for when, own in group.moments
    ]
    title = f"By {summary.sensitive}, on {summary.rows.n:,} {summary.rows.name} (95% intervals in brackets)"
    print_table(title, [summary.sensitive, "rows", "", *(rate.heading for rate in rates)], rows)


def print_path(summary: Summary, path: Tradeoff) -> None:
    """Print the trade-off for some bounds."""
    title = f"What each bound costs: {_words.tradeoff_words(path, summary.rows)}"
    print_table(title, path_head(path, summary.groups), path_rows(path, summary.groups))


def print_changes(summary: Summary, changed: Changed) -> None:
    """Print who gains and who loses a favourable decision."""
    counts = zip(summary.groups, changed.groups, strict=True)
    print_table(
        f"Who changed, of the {summary.rows.name}",
        [summary.sensitive, "rows", "gain a favourable decision", "lose one"],
        [[g.name, *_words.changed_cells(g, c)] for g, c in counts],
    )


def print_rules(summary: Summary) -> None:
    """Print rules of who changed, and of leaves that changed."""

    def marked(rule: ChangedRule | ChangedLeaf) -> str:
        text = rule.rule if rule.rule is not None else "rules of boosted trees are not read"
        return text + (" [TESTS THE SENSITIVE ATTRIBUTE]" if rule.tests_sensitive else "")

    changed, leaves = summary.changed, summary.leaves
    if changed is not None and changed.rules:
        print_table(
            f"Where decisions changed, of the {summary.rows.name}",
            ["rule", "rows", "gain", "lose"],
            [[marked(r), f"{r.rows:,}", f"{r.gained:,}", f"{r.lost:,}"] for r in changed.rules],
        )
    if leaves is not None and leaves.n_changed:
        headings = _words.leaf_headings(leaves, summary.groups)
        print_table(
            f"Changed leaves with the largest effect, of {leaves.n_changed:,}; {leaves.n_hidden:,} with fewer "
            "than ten scoring rows are not described",
            ["rule", "tree", "leaf", "before", "after", *headings],
            [
                [
                    marked(leaf),
                    leaf.tree,
                    leaf.leaf,
                    _words.rounded(leaf.before),
                    _words.rounded(leaf.after),
                    *_words.leaf_cells(leaf),
                ]
                for leaf in leaves.shown
            ],
        )
