"""The tables that auditors ask for: columns in which people read them, flat records for programs, and notes on both."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from eifffel.report import words as _words
from eifffel.report.facts import Categories, Category, Summary
from eifffel.selection.verdict import how_many

NOT_STATED = "not stated"
# The ratio that the rule of thumb asks for, and below which p-value a difference is beyond chance.
FOUR_FIFTHS, SIGNIFICANT = 0.8, 0.05

# A line of a table, as columns are shown by it; as CSV and JSON have it.
Line = TypeVar("Line")
TableRecord = dict[str, str | int | float | None]


@dataclass(frozen=True)
class TableColumn(Generic[Line]):
    """What a column of a table is called, how a cell of it is shown, and whether that is words."""

    heading: str
    show: Callable[[Line], str | _words.Shown]
    words: bool = False


@dataclass(frozen=True)
class Block(Generic[Line]):
    """One table: its lines, the columns in which people read them, and how programs do."""

    heading: str
    columns: tuple[TableColumn[Line], ...]
    lines: Sequence[Line]
    record: Callable[[Line], TableRecord]

    @property
    def head(self) -> list[str]:
        return [column.heading for column in self.columns]

    @property
    def cells(self) -> list[list[str | _words.Shown]]:
        return [[column.show(line) for column in self.columns] for line in self.lines]

    @property
    def records(self) -> list[TableRecord]:
        return [self.record(line) for line in self.lines]


class AuditTable(NamedTuple):
    """A table of an audit: its parts, and what must be said with them."""

    name: str
    title: str
    blocks: list[Block[Any]]
    notes: list[str]


def show_people(category: Category) -> str:
    """How many people there are; not shown where they are fewer than ten."""
    return _words.few(category.rows) if category.few or category.rows is not None else _words.NOT_SHOWN


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
        _words.NO_ADVICE,
    ]
    blocks = [_four_fifths_block(table, name_attribute(summary, table)) for table in summary.impact.selection]
    return AuditTable("four-fifths", "Four-fifths table", blocks, notes)


def _four_fifths_block(table: Categories, attribute: str) -> Block[Category]:
    columns: tuple[TableColumn[Category], ...] = (
        TableColumn("group", lambda c: c.name, words=True),
        TableColumn("people", show_people),
        TableColumn("share of all", lambda c: _words.NOT_SHOWN if c.share is None else f"{c.share:.1%}"),
        TableColumn("rate (95% interval)", lambda c: _words.percent(c.rate)),
        TableColumn("ratio (95% interval)", lambda c: _words.fraction(c.ratio)),
        TableColumn("p-value", _show_p),
        TableColumn("reading", lambda c: _say_reading(c, table), words=True),
    )

    def record(category: Category) -> TableRecord:
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
            "reading": _say_reading(category, table),
        }

    return Block(f"By {attribute}", columns, table.categories, record)


def _say_reading(category: Category, table: Categories) -> str:
    """What the ratio of a category says, and whether it may be chance."""
    ratio = category.ratio
    if category.unknown:
        return "not known, and not compared"
    if category.rows is None:
        return "not described"
    if category.highest:
        # A category that is not described may have a higher one.
        all_shown = all(c.rows is not None or c.small or c.unknown for c in table.categories)
        return "highest rate" if all_shown else "highest rate of those described"
    if ratio.value is None:
        n_shown = sum(c.rows is not None and not c.unknown for c in table.categories)
        return "no other group is described" if n_shown == 1 else "no ratio: the highest rate is 0"
    side = "below four fifths" if category.below else "four fifths or more"
    if ratio.interval is not None and ratio.interval[0] < FOUR_FIFTHS <= ratio.interval[1]:
        side += ", though the interval includes 0.8"
    beyond_chance = category.p_value is not None and category.p_value < SIGNIFICANT
    chance = "differs beyond chance" if beyond_chance else "may differ by chance"
    return f"{side}; {chance}{'; under 2% of all' if category.small else ''}"


def _show_p(category: Category) -> str:
    p_value = category.p_value
    if p_value is None:
        return _words.NOT_SHOWN if not category.highest else ""
    return f"{p_value:.3f}" if p_value >= 0.001 else "<0.001"


def _say_unknown(summary: Summary) -> Iterator[str]:
    without = summary.impact.without_group
    if without != 0:
        yield f"In no table: {how_many(without)} people of whom a category is not known."
    for table in summary.impact.selection:
        if table.unknown != 0:
            by = name_attribute(summary, table)
            yield f"Not compared by {by}: {how_many(table.unknown)} people of whom it is not known."


class UnknownPeople(NamedTuple):
    """People of whom a category is not known; ``None`` stands for fewer than ten."""

    attribute: str
    people: int | None


def ll144(summary: Summary) -> AuditTable:
    """The layouts of New York City's Local Law 144: selection rates, and scoring rates where there are scores."""
    impact = summary.impact
    blocks: list[Block[Any]] = [
        _ll144_block(summary, table, "Selection rates", "selected", _SELECTION_COLUMNS) for table in impact.selection
    ]
    if impact.scoring is not None:
        blocks += [
            _ll144_block(summary, table, "Scoring rates", "above_median", _SCORING_COLUMNS)
            for table in impact.scoring.tables
        ]
    columns: tuple[TableColumn[UnknownPeople], ...] = (
        TableColumn("attribute", lambda u: u.attribute, words=True),
        TableColumn("# of applicants", lambda u: _words.few(u.people)),
    )
    heading = "Not included in the calculations, a category not known"
    blocks.append(Block(heading, columns, list(_find_unknown(summary)), _unknown_record))
    return AuditTable("ll144", "Impact ratios in the layout of Local Law 144", blocks, list(_ll144_notes(summary)))


_SCORING_COLUMNS: tuple[TableColumn[Category], ...] = (
    TableColumn("# of applicants", show_people),
    TableColumn("scoring rate", lambda c: _show_rate(c.rate.value)),
)
_SELECTION_COLUMNS: tuple[TableColumn[Category], ...] = (
    TableColumn("# of applicants", show_people),
    TableColumn("# selected", lambda c: _words.NOT_SHOWN if c.chosen is None else f"{c.chosen:,}"),
    TableColumn("selection rate", lambda c: _show_rate(c.rate.value)),
)


def _ll144_block(
    summary: Summary, table: Categories, layout: str, counted: str, columns: tuple[TableColumn[Category], ...]
) -> Block[Category]:
    """As a layout has it; ``counted`` is what its records call those who are chosen."""
    attribute = name_attribute(summary, table)
    categories = f"intersectional categories ({attribute})" if table.intersection else f"{attribute} categories"
    first = TableColumn[Category]("category", lambda c: c.name, words=True)
    last = TableColumn[Category](
        "impact ratio", lambda c: "excluded" if _excluded(c) else _words.rounded(c.ratio.value)
    )

    def record(category: Category) -> TableRecord:
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


def _find_unknown(summary: Summary) -> Iterator[UnknownPeople]:
    """How many people no table has, or each table leaves out, because it is not known which category is theirs."""
    impact, in_none = summary.impact, summary.impact.without_group
    if in_none != 0:
        yield UnknownPeople(f"any of {summary.sensitive}", in_none)
    for table in impact.selection:
        if in_none == 0 or table.unknown != 0:
            yield UnknownPeople(name_attribute(summary, table), table.unknown)


def _unknown_record(unknown: UnknownPeople) -> TableRecord:
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
        "independent auditor, for dates and for notices, which no table gives. " + _words.NO_ADVICE
    )


def _show_rate(value: float | None) -> str:
    return _words.NOT_SHOWN if value is None else f"{value:.1%}"


class CardField(NamedTuple):
    """An entry of a model card, and the entry of Annex IV of the EU AI Act that it can serve."""

    part: str
    name: str
    value: str | _words.Shown
    annex: str = ""


def model_card(summary: Summary) -> AuditTable:
    """What a model card and the EU's technical documentation ask for, as far as it is known."""
    columns: tuple[TableColumn[CardField], ...] = (
        TableColumn("field", lambda field: field.name, words=True),
        TableColumn("what is known", lambda field: field.value, words=True),
        TableColumn("EU AI Act, Annex IV", lambda field: field.annex, words=True),
    )
    fields = list(_card_fields(summary))
    parts = dict.fromkeys(field.part for field in fields)
    blocks = [Block(part, columns, [field for field in fields if field.part == part], _card_record) for part in parts]
    empty = sum(field.value == NOT_STATED for field in fields)
    notes = [
        "Numbers of Annex IV of Regulation (EU) 2024/1689 say where an entry can serve. It asks for more than a table "
        f"can know, such as human oversight and risk management. Of the {len(fields)} entries here {empty} are "
        f"{NOT_STATED}.",
        _words.NO_ADVICE,
    ]
    return AuditTable("model-card", "Model card", blocks, notes)


def _card_record(field: CardField) -> TableRecord:
    return {"field": field.name, "value": str(field.value), "annex_iv": field.annex}


def _stated(text: str | None) -> str:
    return NOT_STATED if text is None else str(text)


def _card_fields(s: Summary) -> Iterator[CardField]:
    about, model = s.about, s.model
    is_model = s.sensitive_among_features is not None
    part = "What it is"
    trees = "" if model.n_trees is None else f", {_words.count(model.n_trees, 'tree')}"
    leaves = "" if model.n_leaves is None else f", {model.n_leaves:,} leaves"
    yield CardField(part, "Decided by", f"{model.kind}{trees}{leaves}", "1(a), 2(c)")
    yield CardField(part, "Who answers for it", _stated(about.owner), "1(a)")
    yield CardField(part, "Intended use", _stated(about.intended_use), "1(a)")
    yield CardField(part, "Not for", _stated(about.not_for), "3")
    yield CardField(part, "Favourable decision", f"{s.favorable}; not: {s.unfavorable}", "2(b)")
    if is_model:
        yield CardField(part, "Edit", _words.strategy_words(model), "2(b), 6")
    if s.selection is not None:
        yield CardField(part, "Asked for", _words.asked_words(s.selection, s.groups), "2(b)")
    part = "Data"
    yield CardField(part, "Measured on", f"{s.rows.n:,} {s.rows.name}", "2(g)")
    yield CardField(part, "Table", _stated(about.data), "2(d), 2(g)")
    yield CardField(part, "Where it comes from", _stated(about.data_source), "2(d)")
    if about.split is not None:
        yield CardField(part, "Split", about.split, "2(g)")
    if is_model:
        trained = about.trained_on
        yield CardField(part, "Trained on rows of", NOT_STATED if trained is None else str(trained["data"]), "2(d)")
    yield CardField(part, "Sensitive attribute", f"{s.sensitive}; {_words.among_words(s)}", "2(b), 2(d)")
    part = "What was measured"
    yield CardField(part, "Verdict", f"{s.verdict.heading}. {s.verdict.sentence}", "2(g), 3")
    yield CardField(part, "Compared", _words.compared_words(s), "4")
    for outcome, when in ((s.overall.before, "before the edit"), (s.overall.after, "now")):
        if outcome is not None:
            yield CardField(part, f"Discrimination, {when}", _words.fraction(outcome.discrimination), "2(g), 3")
            yield CardField(part, f"Smallest ratio, {when}", _words.fraction(outcome.ratio), "2(g), 3")
            if s.rows.labelled:
                yield CardField(part, f"Accuracy, {when}", _words.fraction(outcome.accuracy), "2(g), 3")
    for group in s.groups:
        rates = [
            f"{rate.heading} {rate.show(group.after)}"
            for rate in _words.shown_rates(s.rows.labelled)
            if rate.name != "ratio_to_highest"  # the four-fifths table has it, with what must be said of it
        ]
        name = f"{group.name}{_words.group_marks(group)}"
        yield CardField(part, name, f"{_words.group_rows(group)} people; {'; '.join(rates)}", "2(g), 3")
    part = "Limits"
    for k, limit in enumerate(s.limits, start=1):
        yield CardField(part, f"{k}", limit, "3")
    part = "Versions and hashes"
    for when, digests in vars(model.digests).items():
        if digests is not None:
            name = when if model.edited else "now"
            value = f"SHA-256 of the structure {digests.structure}, of the leaves {digests.leaves}"
            yield CardField(part, f"Model, {name}", value, "1(a), 6")
    if is_model:
        yield CardField(part, "Model file", _stated(about.model_file), "1(a)")
    versions = ", ".join(f"{name} {version}" for name, version in s.made.versions.items())
    yield CardField(part, "Software", versions, "1(c)")
    yield CardField(part, "Command", _stated(about.command), "2(g)")
    yield CardField(part, "Made", s.made.at, "2(g)")


TABLES: dict[str, Callable[[Summary], AuditTable]] = {
    "four-fifths": four_fifths,
    "ll144": ll144,
    "model-card": model_card,
}
