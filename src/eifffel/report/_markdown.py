"""A summary -> Markdown."""

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any

from eifffel.report import words as _words
from eifffel.report._audit import TABLES
from eifffel.report._blocks import AuditTable
from eifffel.report.facts import Changed, ChangedLeaf, ChangedRule, Group, Summary, Tradeoff

# Bounds in the table of the trade-off, the loosest first.
BOUNDS = {"epsilon": (0.2, 0.15, 0.1, 0.05, 0.02, 0.01), "ratio": (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)}


def render_markdown(summary: Summary) -> str:
    """A summary as Markdown, with the same facts as the page; text from data is escaped.

    Parameters
    ----------
    summary : Summary
        From `summarize` or `summarize_decisions`.

    Returns
    -------
    str

    Examples
    --------
    >>> from eifffel.report import render_markdown, summarize_decisions
    >>> hired, sex = ["yes", "no", "yes", "yes", "no"] * 20, ["f", "f", "m", "m", "m"] * 20
    >>> summary = summarize_decisions(hired, sensitive_features=sex, favorable="yes", sensitive_name="sex")
    >>> render_markdown(summary).splitlines()[0]
    '# Fairness report: sex'
    """
    return "\n".join(_lines(summary)) + "\n"


def escape(text: Any) -> str:
    """Text from data so that neither Markdown nor HTML in it takes effect."""
    escaped = html.escape(" ".join(str(text).split()), quote=False)
    for character in "\\`*_[]|#~":
        escaped = escaped.replace(character, f"\\{character}")
    return escaped


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Cells that are escaped already -> a table."""
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def table_lines(audit: AuditTable) -> Iterator[str]:
    """A table of an audit, with a heading and what must be said with it."""
    yield f"## {audit.title}"
    yield ""
    for block in audit.blocks:
        yield f"### {escape(block.heading)}"
        yield ""
        yield from table(block.head, [[escape(cell) for cell in row] for row in block.cells])
    yield from (f"- {escape(note)}" for note in audit.notes)
    yield ""


def path_head(path: Tradeoff, groups: Sequence[Group]) -> list[str]:
    """What the columns of `path_rows` are called."""
    names = [groups[g].name for g in _words.group_columns(groups)]
    measured = ["discrimination"] if path.kind == "epsilon" else ["ratio there", "discrimination"]
    return [path.kind, "changed leaves", *names, *measured, "accuracy", ""]


def path_rows(path: Tradeoff, groups: Sequence[Group]) -> list[list[str]]:
    """The trade-off for some bounds: the bound, changed leaves, what it comes to, and accuracy."""
    kind = path.kind
    wanted = {*BOUNDS[kind], path.bounds[path.chosen_bound].bound}
    bounds = [bound for bound in path.bounds if bound.bound in wanted]
    bounds = bounds[::-1] if kind == "epsilon" else bounds
    chosen = [("as it came", path.points[0], "")]
    chosen += [(f"{b.bound:.4g}", path.points[b.point], "" if b.met else "NOT MET") for b in bounds]
    return [
        [
            name,
            f"{point.changed_leaves:,}",
            *(_words.percent(point.groups[g].selection_rate).number for g in _words.group_columns(groups)),
            *([str(_words.fraction(point.overall.ratio))] if kind == "ratio" else []),
            str(_words.fraction(point.overall.discrimination)),
            str(_words.fraction(point.overall.accuracy)),
            met,
        ]
        for name, point, met in chosen
    ]


def _lines(s: Summary) -> Iterator[str]:
    rows = f"{s.rows.n:,} {escape(s.rows.name)}"
    before, after = s.overall.before, s.overall.after
    yield f"# Fairness report: {escape(s.sensitive)}"
    yield ""
    yield f"**{escape(s.verdict.heading)}.** {escape(s.verdict.sentence)}"
    yield ""
    if before is not None and _words.unchanged_words(s) is None:
        yield (
            f"Before the edit the difference was {_words.fraction(before.discrimination)}; accuracy was "
            f"{_words.fraction(before.accuracy)} and is {_words.fraction(after.accuracy)}."
        )
        yield ""
    yield f"## {_words.groups_heading(s)}, on {rows}"
    yield ""
    head = [escape(s.sensitive), "rows", "favourable labels", "", *(rate.heading for rate in _words.GROUP_RATES)]
    yield from table(head, _group_rows(s.groups))
    if s.path is not None:
        yield f"## The trade-off, on {rows}"
        yield ""
        yield f"Steps {escape(_words.tradeoff_words(s.path, s.rows))}."
        yield ""
        yield from table([escape(name) for name in path_head(s.path, s.groups)], path_rows(s.path, s.groups))
    if s.changed is not None:
        yield "## Who changed"
        yield ""
        yield from _changes(s, s.changed)
    if s.leaves is not None and s.leaves.n_changed == 0:
        yield "## Which leaves changed"
        yield ""
        yield f"None of {s.leaves.n_leaves:,}. {_words.unchanged_words(s) or ''}"
        yield ""
    elif s.leaves is not None:
        leaves = s.leaves
        yield "## Which leaves changed"
        yield ""
        yield (
            f"{leaves.n_changed:,} of {leaves.n_leaves:,}, by {_words.strategy_words(s.model)}. "
            f"{leaves.n_hidden:,} of them hold fewer than ten scoring rows and are counted, not described. Numbers "
            "in rules are rounded."
        )
        yield ""
        yield from table(
            ["tree, leaf", "rule", "before", "after", *map(escape, _words.leaf_headings(leaves, s.groups))],
            [
                [
                    f"{leaf.tree}, {leaf.leaf}",
                    escape(leaf.rule or _words.NOT_TOLD) + _marked(leaf),
                    _words.plain(leaf.before),
                    _words.plain(leaf.after),
                    *_words.leaf_cells(leaf),
                ]
                for leaf in leaves.shown
            ],
        )
    yield "## What was measured, and how"
    yield ""
    yield from (f"- {fact}" for fact in _facts(s))
    yield ""
    for make_table in TABLES.values():
        yield from table_lines(make_table(s))
    yield "## Words"
    yield ""
    yield from (f"- {word}: {meaning}" for word, meaning in _words.glossary(s))
    yield ""
    yield "## Intended use, and limits"
    yield ""
    yield escape(s.about.intended_use or "Whoever made this report did not say what the decisions are for.")
    yield ""
    if s.about.not_for:
        yield f"Not for: {escape(s.about.not_for)}"
        yield ""
    yield from (f"- {escape(limit)}" for limit in s.limits)


def _changes(s: Summary, changed: Changed) -> Iterator[str]:
    nobody = _words.nobody_changed(changed, s.rows)
    if nobody is not None:
        yield escape(_words.unchanged_words(s) or nobody)
        yield ""
        return
    counts = zip(s.groups, changed.groups, strict=True)
    yield from table(
        [escape(s.sensitive), "rows", "gain a favourable decision", "lose one"],
        [[escape(g.name), *_words.changed_cells(g, c)] for g, c in counts],
    )
    yield from table(
        ["rule", "rows", "gain", "lose"],
        [[escape(r.rule) + _marked(r), f"{r.rows:,}", f"{r.gained:,}", f"{r.lost:,}"] for r in changed.rules],
    )


def _group_rows(groups: Sequence[Group]) -> list[list[str]]:
    return [
        [
            escape(group.name) + _words.group_marks(group),
            _words.group_rows(group),
            str(_words.percent(group.base_rate)),
            when,
            *(str(rate.show(rates)) for rate in _words.GROUP_RATES),
        ]
        for group in groups
        for when, rates in group.moments
    ]


def _code(text: str) -> str:
    """Text from data as code; a fence longer than any in it."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence} {' '.join(text.split())} {fence}"


def _marked(rule: ChangedRule | ChangedLeaf) -> str:
    if rule.tests_sensitive is None and rule.rule is not None:
        return " (**may test the sensitive attribute**)"
    return " (**tests the sensitive attribute**)" if rule.tests_sensitive else ""


def _facts(s: Summary) -> Iterator[str]:
    yield f"Favourable: {escape(s.favorable)}"
    yield f"Decided by: {escape(_words.decided_words(s))}"
    yield f"Sensitive attribute: {escape(s.sensitive)}; {_words.among_words(s)}"
    yield f"Compared: {escape(_words.compared_words(s))}"
    if s.selection is not None:
        yield f"Asked for: {escape(_words.asked_words(s.selection, s.groups))}"
    for name, value in vars(s.about).items():
        if value is not None and name not in ("intended_use", "test_size", "trained_on"):
            yield f"{name.capitalize().replace('_', ' ')}: {_code(value) if name == 'command' else escape(value)}"
    if s.calibration is not None:
        yield (
            f"Brier score, on the {escape(s.rows.name)}: {_words.plain(s.calibration.before, 4)} before, "
            f"{_words.plain(s.calibration.after, 4)} after"
        )
    for when, digests in vars(s.model.digests).items():
        if digests is not None:
            yield f"SHA-256 {when}: structure {escape(digests.structure)}, leaves {escape(digests.leaves)}"
    versions = ", ".join(f"{name} {version}" for name, version in s.made.versions.items())
    yield f"Made {escape(s.made.at)} with {escape(versions)}"
