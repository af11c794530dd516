"""The layouts of New York City's Local Law 144 (6 RCNY 5-301): selection rates, scoring rates, impact ratios."""

from collections.abc import Iterator

from eifffel.report import words as _words
from eifffel.report._blocks import (
    NOT_STATED,
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


def ll144(summary: Summary) -> AuditTable:
    """The layouts of New York City's Local Law 144: selection rates, and scoring rates where there are scores."""
    impact = summary["impact"]
    scoring = impact["scoring"]
    selected = (
        Column("# of applicants", show_people),
        Column("# selected", lambda r: _words.NOT_TOLD if r["selected"] is None else f"{r['selected']:,}"),
        Column("selection rate", lambda r: _show_share(r["rate"])),
    )
    scored = (Column("# of applicants", show_people), Column("scoring rate", lambda r: _show_share(r["rate"])))
    layouts: list[tuple[str, list[Record], tuple[Column, ...], str]] = [
        ("Selection rates", impact["selection"], selected, "selected")
    ]
    if scoring is not None:
        layouts.append(("Scoring rates", scoring["tables"], scored, "above_median"))
    category = Column("category", lambda r: r["category"], words=True)
    ratio = Column("impact ratio", lambda r: "excluded" if r["excluded"] else _words.plain(r["ratio"]))
    blocks = [
        Block(
            f"{layout}, {_name_categories(summary, table)}",
            (category, *columns, ratio),
            [_ll144_record(summary, table, c, counted) for c in table["categories"] if not c["unknown"]],
        )
        for layout, tables, columns, counted in layouts
        for table in tables
    ]
    blocks.append(
        Block(
            "Not included in the calculations, a category not known",
            (Column("attribute", lambda r: r["attribute"], words=True), Column("# of applicants", show_people)),
            list(_unknown_records(summary)),
        )
    )
    return AuditTable("ll144", "Impact ratios in the layout of Local Law 144", blocks, list(_ll144_notes(summary)))


def _ll144_record(summary: Summary, table: Record, category: Record, counted: str) -> Record:
    """As the layout has it; the impact ratio of an excluded category is not calculated."""
    record = flat_record(summary, table, category)
    excluded = category["small"] and category["rows"] is not None
    return {
        "attribute": record["attribute"],
        "category": record["category"],
        "people": record["people"],
        counted: record["chosen"],
        "rate": record["rate"],
        "ratio": None if excluded else record["ratio"],
        "excluded": excluded,
        "under_10_people": record["under_10_people"],
    }


def _unknown_records(summary: Summary) -> Iterator[Record]:
    """How many people no table has, or each table leaves out, because it is not known which category is theirs."""
    impact = summary["impact"]
    unknown = [(name_attribute(summary, table), table["unknown"]) for table in impact["selection"]]
    if impact["without_group"] != 0:
        unknown = [
            (f"any of {summary['sensitive']}", impact["without_group"]),
            *(kept for kept in unknown if kept[1] != 0),
        ]
    for attribute, n_people in unknown:
        yield {"attribute": attribute, "people": n_people, "under_10_people": n_people is None}


def _ll144_notes(summary: Summary) -> Iterator[str]:
    impact = summary["impact"]
    yield f"{measured_on(summary)} Selected: decided favourably."
    yield "The impact ratio is the rate of a category divided by the highest rate described in the same table."
    if impact["scoring"] is None:
        yield "Scoring rates are not here: no scores were given, or the model has no predict_proba."
    else:
        yield (
            f"The scoring rate is the share of a category whose score ({impact['scoring']['score']}) is above the "
            f"median of all people assessed, also those whose category is not known: {impact['scoring']['median']:.4g}."
        )
    yield from say_small(
        summary,
        "They are excluded from the impact ratios, and not taken as the highest rate, because a rate of so few says "
        "little; their numbers and rates stand in the table.",
    )
    yield from say_unsaid(summary)
    yield f"Source and explanation of the data: {summary['about']['data_source'] or NOT_STATED}."
    yield (
        "Ratios of few people vary by chance; the four-fifths table has their intervals. The law asks for an "
        "independent auditor, for dates and for notices, which no table gives. " + NO_ADVICE
    )


def _show_share(value: float | None) -> str:
    return _words.NOT_TOLD if value is None else f"{value:.1%}"


def _name_categories(summary: Summary, table: Record) -> str:
    name = name_attribute(summary, table)
    return f"intersectional categories ({name})" if table["intersection"] else f"{name} categories"
