"""The layouts of New York City's Local Law 144 (6 RCNY 5-301): selection rates, scoring rates, impact ratios."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from eifffel.report import words as _words
from eifffel.report._blocks import (
    NOT_STATED,
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


class Unknown(NamedTuple):
    """People of whom a category is not known; ``None`` stands for fewer than ten."""

    attribute: str
    people: int | None


def ll144(summary: Summary) -> AuditTable:
    """The layouts of New York City's Local Law 144: selection rates, and scoring rates where there are scores."""
    impact = summary.impact
    blocks: list[Block[Any]] = [
        _block(summary, table, "Selection rates", "selected", _SELECTED) for table in impact.selection
    ]
    if impact.scoring is not None:
        blocks += [_block(summary, table, "Scoring rates", "above_median", _SCORED) for table in impact.scoring.tables]
    columns: tuple[Column[Unknown], ...] = (
        Column("attribute", lambda u: u.attribute, words=True),
        Column("# of applicants", lambda u: _words.few(u.people)),
    )
    heading = "Not included in the calculations, a category not known"
    blocks.append(Block(heading, columns, list(_find_unknown(summary)), _unknown_record))
    return AuditTable("ll144", "Impact ratios in the layout of Local Law 144", blocks, list(_ll144_notes(summary)))


_SCORED: tuple[Column[Category], ...] = (
    Column("# of applicants", show_people),
    Column("scoring rate", lambda c: _show_share(c.rate.value)),
)
_SELECTED: tuple[Column[Category], ...] = (
    Column("# of applicants", show_people),
    Column("# selected", lambda c: _words.NOT_TOLD if c.chosen is None else f"{c.chosen:,}"),
    Column("selection rate", lambda c: _show_share(c.rate.value)),
)


def _block(
    summary: Summary, table: Categories, layout: str, counted: str, columns: tuple[Column[Category], ...]
) -> Block[Category]:
    """As a layout has it; ``counted`` is what its records call those who are chosen."""
    attribute = name_attribute(summary, table)
    categories = f"intersectional categories ({attribute})" if table.intersection else f"{attribute} categories"
    first = Column[Category]("category", lambda c: c.name, words=True)
    last = Column[Category]("impact ratio", lambda c: "excluded" if _excluded(c) else _words.plain(c.ratio.value))

    def record(category: Category) -> Record:
        return {
            "attribute": attribute,
            "category": category.name,
            "people": category.rows,
            counted: category.chosen,
            "rate": category.rate.value,
            "ratio": None if _excluded(category) else category.ratio.value,
            "excluded": _excluded(category),
            "under_10_people": category.few,
        }

    known = [category for category in table.categories if not category.unknown]
    return Block(f"{layout}, {categories}", (first, *columns, last), known, record)


def _excluded(category: Category) -> bool:
    """Whether an impact ratio is not calculated."""
    return category.small and category.rows is not None


def _find_unknown(summary: Summary) -> Iterator[Unknown]:
    """How many people no table has, or each table leaves out, because it is not known which category is theirs."""
    impact, in_none = summary.impact, summary.impact.without_group
    if in_none != 0:
        yield Unknown(f"any of {summary.sensitive}", in_none)
    for table in impact.selection:
        if in_none == 0 or table.unknown != 0:
            yield Unknown(name_attribute(summary, table), table.unknown)


def _unknown_record(unknown: Unknown) -> Record:
    return {"attribute": unknown.attribute, "people": unknown.people, "under_10_people": unknown.people is None}


def _ll144_notes(summary: Summary) -> Iterator[str]:
    impact = summary.impact
    yield f"{measured_on(summary)} Selected: decided favourably."
    yield "The impact ratio is the rate of a category divided by the highest rate described in the same table."
    if impact.scoring is None:
        yield "Scoring rates are not here: no scores were given, or the model has no predict_proba."
    else:
        yield (
            f"The scoring rate is the share of a category whose score ({impact.scoring.score}) is above the "
            f"median of all people assessed, also those whose category is not known: {impact.scoring.median:.4g}."
        )
    yield from say_small(
        summary,
        "They are excluded from the impact ratios, and not taken as the highest rate, because a rate of so few says "
        "little; their numbers and rates stand in the table.",
    )
    yield from say_unsaid(summary)
    yield f"Source and explanation of the data: {summary.about.data_source or NOT_STATED}."
    yield (
        "Ratios of few people vary by chance; the four-fifths table has their intervals. The law asks for an "
        "independent auditor, for dates and for notices, which no table gives. " + NO_ADVICE
    )


def _show_share(value: float | None) -> str:
    return _words.NOT_TOLD if value is None else f"{value:.1%}"
