"""The layouts of New York City's Local Law 144 (6 RCNY 5-301): selection rates, scoring rates, impact ratios."""

from collections.abc import Iterator

from eifffel.report import _words
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
        Column("# selected", lambda r: _words.UNKNOWN if r["chosen"] is None else f"{r['chosen']:,}"),
        Column("selection rate", lambda r: _show_share(r["rate"])),
    )
    scored = (Column("# of applicants", show_people), Column("scoring rate", lambda r: _show_share(r["rate"])))
    layouts: list[tuple[str, list[Record], tuple[Column, ...]]] = [("Selection rates", impact["selection"], selected)]
    if scoring is not None:
        layouts.append(("Scoring rates", scoring["tables"], scored))
    ratio = Column("impact ratio", lambda r: "excluded" if r["excluded"] else _words.plain(r["ratio"]))
    blocks: list[Block] = [
        Block(
            f"{layout}, {_name_categories(summary, table)}",
            (Column("category", lambda r: r["category"]), *columns, ratio),
            [
                {"layout": layout, **_ll144_record(summary, table, category)}
                for category in table["categories"]
                if not category["unknown"]
            ],
        )
        for layout, tables, columns in layouts
        for table in tables
    ]
    blocks.append(
        Block(
            "Not included in the calculations: a category not known",
            (Column("attribute", lambda r: r["attribute"]), Column("# of applicants", show_people)),
            [
                {"attribute": name_attribute(summary, table), "people": table["unknown"]}
                for table in impact["selection"]
            ],
        )
    )
    return AuditTable("ll144", "Impact ratios in the layout of Local Law 144", blocks, list(_ll144_notes(summary)))


def _ll144_record(summary: Summary, table: Record, category: Record) -> Record:
    """As the layout has it; the impact ratio of an excluded category is not calculated."""
    record = flat_record(summary, table, category)
    kept = {key: record[key] for key in ("attribute", "category", "people", "chosen", "rate", "under_10_people")}
    excluded = category["small"] and category["rows"] is not None
    return kept | {"ratio": None if excluded else record["ratio"], "excluded": excluded}


def _ll144_notes(summary: Summary) -> Iterator[str]:
    impact = summary["impact"]
    yield f"{measured_on(summary)} Selected: decided favourably ({summary['favorable']})."
    yield "The impact ratio is the rate of a category divided by the highest rate described in the same table."
    if impact["scoring"] is None:
        yield "Scoring rates are not here: no scores were given, or the model has no predict_proba."
    else:
        yield (
            f"The scoring rate is the share of a category whose score ({impact['scoring']['score']}) is above the "
            f"median of all people assessed, {impact['scoring']['median']:.4g}."
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
    return _words.UNKNOWN if value is None else f"{value:.1%}"


def _name_categories(summary: Summary, table: Record) -> str:
    name = name_attribute(summary, table)
    return f"intersectional categories ({name})" if table["intersection"] else f"{name} categories"
