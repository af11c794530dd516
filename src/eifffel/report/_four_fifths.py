"""The four-fifths table: each group's rate beside the highest, with an interval and a test."""

from collections.abc import Iterator

from eifffel.report import words as _words
from eifffel.report._blocks import (
    AuditTable,
    Block,
    Column,
    Record,
    measured_on,
    name_attribute,
    say_small,
    say_unsaid,
    show_people,
)
from eifffel.report._limits import NO_ADVICE
from eifffel.report.facts import Categories, Category, Summary

RATIO, SIGNIFICANT = 0.8, 0.05


def four_fifths(summary: Summary) -> AuditTable:
    """The ratio of each rate to the highest one, with its interval and a test."""
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
    blocks = [_block(table, name_attribute(summary, table)) for table in summary.impact.selection]
    return AuditTable("four-fifths", "Four-fifths table", blocks, notes)


def _block(table: Categories, attribute: str) -> Block[Category]:
    columns: tuple[Column[Category], ...] = (
        Column("group", lambda c: c.name, words=True),
        Column("people", show_people),
        Column("share of all", lambda c: _words.NOT_TOLD if c.share is None else f"{c.share:.1%}"),
        Column("rate (95% interval)", lambda c: _words.percent(c.rate)),
        Column("ratio (95% interval)", lambda c: _words.fraction(c.ratio)),
        Column("p-value", _show_p),
        Column("reading", lambda c: _read(c, table), words=True),
    )

    def record(category: Category) -> Record:
        rate, ratio = category.rate, category.ratio
        return {
            "attribute": attribute,
            "category": category.name,
            "people": category.rows,
            "share": category.share,
            "chosen": category.chosen,
            "rate": rate.value,
            "rate_low": rate.low,
            "rate_high": rate.high,
            "ratio": ratio.value,
            "ratio_low": ratio.low,
            "ratio_high": ratio.high,
            "p_value": category.p_value,
            "highest": category.highest,
            "under_2_percent": category.small,
            "under_10_people": category.few,
            "reading": _read(category, table),
        }

    return Block(f"By {attribute}", columns, table.categories, record)


def _read(category: Category, table: Categories) -> str:
    """What the ratio of a category says, and whether it may be chance."""
    ratio = category.ratio
    if category.unknown:
        return "not known, and not compared"
    if category.rows is None:
        return "not described"
    if category.highest:
        # A category that is not described may have a higher one.
        all_told = all(c.rows is not None or c.small or c.unknown for c in table.categories)
        return "highest rate" if all_told else "highest rate of those described"
    if ratio.value is None:
        n_told = sum(c.rows is not None and not c.unknown for c in table.categories)
        return "no other group is described" if n_told == 1 else "no ratio: the highest rate is 0"
    side = "below four fifths" if category.below else "four fifths or more"
    if ratio.interval is not None and ratio.interval[0] < RATIO <= ratio.interval[1]:
        side += ", though the interval includes 0.8"
    beyond_chance = category.p_value is not None and category.p_value < SIGNIFICANT
    chance = "differs beyond chance" if beyond_chance else "may differ by chance"
    return f"{side}; {chance}{'; under 2% of all' if category.small else ''}"


def _show_p(category: Category) -> str:
    p_value = category.p_value
    if p_value is None:
        return _words.NOT_TOLD if not category.highest else ""
    return f"{p_value:.3f}" if p_value >= 0.001 else "<0.001"


def _say_unknown(summary: Summary) -> Iterator[str]:
    without = summary.impact.without_group
    if without != 0:
        yield f"In no table: {_words.how_many(without)} people of whom a category is not known."
    for table in summary.impact.selection:
        if table.unknown != 0:
            by = name_attribute(summary, table)
            yield f"Not compared by {by}: {_words.how_many(table.unknown)} people of whom it is not known."
