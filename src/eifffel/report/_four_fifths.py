"""The four-fifths table: each group's rate beside the highest, with an interval and a test."""

from collections.abc import Iterator
from typing import Any

from eifffel.report import words as _words
from eifffel.report._blocks import (
    AuditTable,
    Block,
    Column,
    Record,
    Summary,
    flat_record,
    measured_on,
    name_attribute,
    say_small,
    say_unsaid,
    show_people,
)
from eifffel.report._limits import NO_ADVICE

RATIO, SIGNIFICANT = 0.8, 0.05


def four_fifths(summary: Summary) -> AuditTable:
    """The ratio of each rate to the highest one, with its interval and a test."""
    columns = (
        Column("group", lambda r: r["category"], words=True),
        Column("people", show_people),
        Column("share of all", lambda r: _words.NOT_TOLD if r["share"] is None else f"{r['share']:.1%}"),
        Column("rate (95% interval)", lambda r: _words.percent(_estimate(r, "rate"))),
        Column("ratio (95% interval)", lambda r: _words.fraction(_estimate(r, "ratio"))),
        Column("p-value", _show_p),
        Column("reading", lambda r: r["reading"], words=True),
    )
    blocks = [
        Block(
            f"By {name_attribute(summary, table)}",
            columns,
            [flat_record(summary, table, c) | {"reading": _read(c, table)} for c in table["categories"]],
        )
        for table in summary["impact"]["selection"]
    ]
    notes = [
        f"{measured_on(summary)} A rate is the share of a group decided favourably.",
        "The ratio is a group's rate divided by the highest rate that is described of a group of two percent of the "
        "people or more. Its interval is Koopman's; the p-value is of Fisher's exact test, two-sided, of no difference "
        "between the two rates. Each group is compared by itself: among many, some differ by chance. A bound is judged "
        "by another ratio, of all groups that are bounded, also those of under two percent.",
        "Four fifths is a rule of thumb (29 CFR 1607.4 D): a smaller ratio is looked into, and a larger one can still "
        "be a difference that matters.",
        *say_small(summary, "They are compared, but theirs is not taken as the highest rate."),
        *say_unsaid(summary),
        *_say_unknown(summary),
        NO_ADVICE,
    ]
    return AuditTable("four-fifths", "Four-fifths table", blocks, notes)


def _read(category: Record, table: Record) -> str:
    """What the ratio of a category says, and whether it may be chance."""
    ratio = category["ratio"]
    if category["unknown"]:
        return "not known, and not compared"
    if category["rows"] is None:
        return "not described"
    if category["highest"]:
        # A category that is not described may have a higher one.
        all_told = all(c["rows"] is not None or c["small"] or c["unknown"] for c in table["categories"])
        return "highest rate" if all_told else "highest rate of those described"
    if ratio["value"] is None:
        n_told = sum(c["rows"] is not None and not c["unknown"] for c in table["categories"])
        return "no other group is described" if n_told == 1 else "no ratio: the highest rate is 0"
    side = "below four fifths" if category["below"] else "four fifths or more"
    if ratio["low"] < RATIO <= ratio["high"]:
        side += ", though the interval includes 0.8"
    chance = "differs beyond chance" if category["p_value"] < SIGNIFICANT else "may differ by chance"
    return f"{side}; {chance}{'; under 2% of all' if category['small'] else ''}"


def _estimate(record: Record, key: str) -> dict[str, Any]:
    return {"value": record[key], "low": record[f"{key}_low"], "high": record[f"{key}_high"]}


def _show_p(record: Record) -> str:
    p_value = record["p_value"]
    if p_value is None:
        return _words.NOT_TOLD if not record["highest"] else ""
    return f"{p_value:.3f}" if p_value >= 0.001 else "<0.001"


def _say_unknown(summary: Summary) -> Iterator[str]:
    without = summary["impact"]["without_group"]
    if without != 0:
        yield f"In no table: {_words.how_many(without)} people of whom a category is not known."
    for table in summary["impact"]["selection"]:
        if table["unknown"] != 0:
            by = name_attribute(summary, table)
            yield f"Not compared by {by}: {_words.how_many(table['unknown'])} people of whom it is not known."
