"""Tables of an audit: records of plain values, the columns in which people read them, and what is said with them."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from eifffel.report import words as _words

Summary = dict[str, Any]
Record = dict[str, Any]
NOT_STATED = "not stated"


class Column(NamedTuple):
    """What a column of a table is called, how a cell of it is shown, and whether that is words."""

    heading: str
    show: Callable[[Record], str]
    words: bool = False


class Block(NamedTuple):
    """One table: records of plain values, and the columns in which people read them."""

    heading: str
    columns: tuple[Column, ...]
    records: list[Record]

    @property
    def head(self) -> list[str]:
        return [column.heading for column in self.columns]

    @property
    def cells(self) -> list[list[str]]:
        return [[column.show(record) for column in self.columns] for record in self.records]


class AuditTable(NamedTuple):
    """A table of an audit: its parts, and what must be said with them."""

    name: str
    title: str
    blocks: list[Block]
    notes: list[str]


def flat_record(summary: Summary, table: Record, category: Record) -> Record:
    """A category as one flat record, with what columns are shown by."""
    rate, ratio = category["rate"], category["ratio"]
    return {
        "attribute": name_attribute(summary, table),
        "category": category["name"],
        "people": category["rows"],
        "share": category["share"],
        "chosen": category["chosen"],
        "rate": rate["value"],
        "rate_low": rate["low"],
        "rate_high": rate["high"],
        "ratio": ratio["value"],
        "ratio_low": ratio["low"],
        "ratio_high": ratio["high"],
        "p_value": category["p_value"],
        "highest": category["highest"],
        "under_2_percent": category["small"],
        "under_10_people": category["few"],
    }


def show_people(record: Record) -> str:
    """How many people there are; not told where they are fewer than ten."""
    if record["people"] is not None:
        return f"{record['people']:,}"
    return "<10" if record["under_10_people"] else _words.NOT_TOLD


def name_attribute(summary: Summary, table: Record) -> str:
    """What the categories of a table are of."""
    name: str = table["attribute"] or summary["sensitive"]
    return name


def measured_on(summary: Summary) -> str:
    """Which rows were measured, who decided about them, and what is favourable."""
    rows, data = summary["rows"], summary["about"]["data"]
    return (
        f"Measured on {rows['n']:,} {rows['name']}{f' ({data})' if data else ''}, decided by: {decided_by(summary)}. "
        f"Favourable: {summary['favorable']}; not: {summary['unfavorable']}."
    )


def decided_by(summary: Summary) -> str:
    """Who decided: a model, edited or not, or whoever it was."""
    kind: str = summary["model"]["kind"]
    return f"{kind}, edited" if summary["model"]["edited"] else kind


def say_small(summary: Summary, so: str) -> Iterator[str]:
    """Name the groups of under two percent."""
    for table in summary["impact"]["selection"]:
        names = [c["name"] for c in table["categories"] if c["small"] and c["rows"] is not None]
        if names:
            yield f"Under 2% of all, by {name_attribute(summary, table)}: {'; '.join(names)}. {so}"


def say_unsaid(summary: Summary) -> Iterator[str]:
    """Name the groups that are not described, and say what that does to ratios; or that few people are described."""
    if summary["impact"]["tells_few"]:
        yield (
            "Categories of fewer than ten people are described here, as was asked for: such numbers can say what was "
            "decided about single persons. Show them only to those who may know it."
        )
    for table in summary["impact"]["selection"]:
        names = [c["name"] for c in table["categories"] if c["rows"] is None and not c["unknown"]]
        by = name_attribute(summary, table)
        if names:
            yield (
                f"Not described, by {by}: {'; '.join(names)}. They are fewer than ten, or fewer than ten others could "
                "be derived from them; rare categories put together are described."
            )
        if table["higher_hidden"]:
            yield f"BY {by.upper()}, A CATEGORY THAT IS NOT DESCRIBED HAS THE HIGHEST RATE: the ratios are too large."
