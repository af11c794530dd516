"""The model card: what it is, data, what was measured, limits, versions and hashes, as far as they are known."""

from collections.abc import Iterator
from typing import NamedTuple

from eifffel.report import words as _words
from eifffel.report._blocks import NOT_STATED, AuditTable, Block, Column, Record
from eifffel.report._limits import NO_ADVICE
from eifffel.report.facts import Summary


class Field(NamedTuple):
    """An entry of a model card, and the entry of Annex IV of the EU AI Act that it can serve."""

    part: str
    name: str
    value: str | _words.Shown
    annex: str = ""


def model_card(summary: Summary) -> AuditTable:
    """What a model card and the EU's technical documentation ask for, as far as it is known."""
    columns: tuple[Column[Field], ...] = (
        Column("field", lambda field: field.name, words=True),
        Column("what is known", lambda field: field.value, words=True),
        Column("EU AI Act, Annex IV", lambda field: field.annex, words=True),
    )
    fields = list(_card_fields(summary))
    parts = dict.fromkeys(field.part for field in fields)
    blocks = [Block(part, columns, [field for field in fields if field.part == part], _record) for part in parts]
    empty = sum(field.value == NOT_STATED for field in fields)
    notes = [
        "Numbers of Annex IV of Regulation (EU) 2024/1689 say where an entry can serve. It asks for more than a table "
        f"can know, such as human oversight and risk management. Of the {len(fields)} entries here {empty} are "
        f"{NOT_STATED}.",
        NO_ADVICE,
    ]
    return AuditTable("model-card", "Model card", blocks, notes)


def _record(field: Field) -> Record:
    return {"field": field.name, "value": str(field.value), "annex_iv": field.annex}


def _stated(text: str | None) -> str:
    return NOT_STATED if text is None else str(text)


def _card_fields(s: Summary) -> Iterator[Field]:
    about, model = s.about, s.model
    is_model = s.sensitive_among_features is not None
    part = "What it is"
    trees = "" if model.n_trees is None else f", {_words.count(model.n_trees, 'tree')}"
    leaves = "" if model.n_leaves is None else f", {model.n_leaves:,} leaves"
    yield Field(part, "Decided by", f"{model.kind}{trees}{leaves}", "1(a), 2(c)")
    yield Field(part, "Who answers for it", _stated(about.owner), "1(a)")
    yield Field(part, "Intended use", _stated(about.intended_use), "1(a)")
    yield Field(part, "Not for", _stated(about.not_for), "3")
    yield Field(part, "Favourable decision", f"{s.favorable}; not: {s.unfavorable}", "2(b)")
    if is_model:
        yield Field(part, "Edit", _words.strategy_words(model), "2(b), 6")
    if s.selection is not None:
        yield Field(part, "Asked for", _words.asked_words(s.selection, s.groups), "2(b)")
    part = "Data"
    yield Field(part, "Measured on", f"{s.rows.n:,} {s.rows.name}", "2(g)")
    yield Field(part, "Table", _stated(about.data), "2(d), 2(g)")
    yield Field(part, "Where it comes from", _stated(about.data_source), "2(d)")
    if about.split is not None:
        yield Field(part, "Split", about.split, "2(g)")
    if is_model:
        trained = about.trained_on
        yield Field(part, "Trained on rows of", NOT_STATED if trained is None else str(trained["data"]), "2(d)")
    yield Field(part, "Sensitive attribute", f"{s.sensitive}; {_words.among_words(s)}", "2(b), 2(d)")
    part = "What was measured"
    yield Field(part, "Verdict", f"{s.verdict.heading}. {s.verdict.sentence}", "2(g), 3")
    yield Field(part, "Compared", _words.compared_words(s), "4")
    for outcome, when in ((s.overall.before, "before the edit"), (s.overall.after, "now")):
        if outcome is not None:
            yield Field(part, f"Discrimination, {when}", _words.fraction(outcome.discrimination), "2(g), 3")
            yield Field(part, f"Smallest ratio, {when}", _words.fraction(outcome.ratio), "2(g), 3")
            if s.rows.labelled:
                yield Field(part, f"Accuracy, {when}", _words.fraction(outcome.accuracy), "2(g), 3")
    for group in s.groups:
        rates = [
            f"{rate.heading} {rate.show(group.after)}"
            for rate in _words.shown_rates(s.rows.labelled)
            if rate.name != "ratio_to_highest"  # the four-fifths table has it, with what must be said of it
        ]
        name = f"{group.name}{_words.group_marks(group)}"
        yield Field(part, name, f"{_words.group_rows(group)} people; {'; '.join(rates)}", "2(g), 3")
    part = "Limits"
    for k, limit in enumerate(s.limits, start=1):
        yield Field(part, f"{k}", limit, "3")
    part = "Versions and hashes"
    for when, digests in vars(model.digests).items():
        if digests is not None:
            name = when if model.edited else "now"
            value = f"SHA-256 of the structure {digests.structure}, of the leaves {digests.leaves}"
            yield Field(part, f"Model, {name}", value, "1(a), 6")
    if is_model:
        yield Field(part, "Model file", _stated(about.model_file), "1(a)")
    versions = ", ".join(f"{name} {version}" for name, version in s.made.versions.items())
    yield Field(part, "Software", versions, "1(c)")
    yield Field(part, "Command", _stated(about.command), "2(g)")
    yield Field(part, "Made", s.made.at, "2(g)")
