"""Tables of an audit: the columns in which people read them, flat records for programs, and what is said with them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from eifffel.report.facts import Categories, Category, Summary
from eifffel.report.words import NOT_TOLD, Shown, few

NOT_STATED = "not stated"

# A line of a table, as columns are shown by it; as CSV and JSON have it.
Line = TypeVar("Line")
Record = dict[str, str | int | float | None]


@dataclass(frozen=True)
class Column(Generic[Line]):
    """What a column of a table is called, how a cell of it is shown, and whether that is words."""

    heading: str
    show: Callable[[Line], str | Shown]
    words: bool = False


@dataclass(frozen=True)
class Block(Generic[Line]):
    """One table: its lines, the columns in which people read them, and how programs do."""

    heading: str
    columns: tuple[Column[Line], ...]
    lines: Sequence[Line]
    record: Callable[[Line], Record]

    @property
    def head(self) -> list[str]:
        return [column.heading for column in self.columns]

    @property
    def cells(self) -> list[list[str | Shown]]:
        return [[column.show(line) for column in self.columns] for line in self.lines]

    @property
    def records(self) -> list[Record]:
        return [self.record(line) for line in self.lines]


class AuditTable(NamedTuple):
    """A table of an audit: its parts, and what must be said with them."""

    name: str
    title: str
    blocks: list[Block[Any]]
    notes: list[str]


def show_people(category: Category) -> str:
    """How many people there are; not told where they are fewer than ten."""
    return few(category.rows) if category.few or category.rows is not None else NOT_TOLD


def name_attribute(summary: Summary, table: Categories) -> str:
    """What the categories of a table are of."""
    return table.attribute or summary.sensitive


def measured_on(summary: Summary) -> str:
    """Which rows were measured, who decided about them, and what is favourable."""
    rows, data = summary.rows, summary.about.data
    return (
        f"Measured on {rows.n:,} {rows.name}{f' ({data})' if data else ''}, decided by: {decided_by(summary)}. "
        f"Favourable: {summary.favorable}; not: {summary.unfavorable}."
    )


def decided_by(summary: Summary) -> str:
    """Who decided: a model, edited or not, or whoever it was."""
    return f"{summary.model.kind}, edited" if summary.model.edited else summary.model.kind


def say_small(summary: Summary, so: str) -> Iterator[str]:
    """Name the groups of under two percent."""
    for table in summary.impact.selection:
        names = [c.name for c in table.categories if c.small and c.rows is not None]
        if names:
            yield f"Under 2% of all, by {name_attribute(summary, table)}: {'; '.join(names)}. {so}"


def say_unsaid(summary: Summary) -> Iterator[str]:
    """Name the groups that are not described, and say what that does to ratios; or that few people are described."""
    if summary.impact.tells_few:
        yield (
            "Categories of fewer than ten people are described here, as was asked for: such numbers can say what was "
            "decided about single persons. Show them only to those who may know it."
        )
    for table in summary.impact.selection:
        names = [c.name for c in table.categories if c.rows is None and not c.unknown]
        by = name_attribute(summary, table)
        if names:
            yield (
                f"Not described, by {by}: {'; '.join(names)}. They are fewer than ten, or fewer than ten others could "
                "be derived from them; rare categories put together are described."
            )
        if table.higher_hidden:
            yield f"BY {by.upper()}, A CATEGORY THAT IS NOT DESCRIBED HAS THE HIGHEST RATE: the ratios are too large."
