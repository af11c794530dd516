"""A summary -> a self-contained page, or Markdown, by templates: no network, no server, text from data escaped."""

import html
import re
from importlib.resources import files
from typing import Any

from eifffel._utils.optional import import_optional
from eifffel.report import words as _words
from eifffel.report._charts import bundle_scripts, draw_changes, draw_tradeoff
from eifffel.report._tables import TABLES, AuditTable
from eifffel.report.facts import Point, Summary, Tradeoff, to_plain
from eifffel.selection.judgement import OUTSIDE, WITHIN, say_limits
from eifffel.selection.verdict import NOT_MET

# The class of a page's heading by the kind of its verdict; others have none.
HEADING_CLASSES = {WITHIN: "holds", OUTSIDE: "broken", NOT_MET: "broken"}


def render_html(summary: Summary) -> str:
    """A summary as a page that opens in any browser, without a network.

    Parameters
    ----------
    summary : Summary
        From `summarize` or `summarize_decisions`.

    Returns
    -------
    str
        HTML, with scripts, styles and charts inside.

    Raises
    ------
    ModuleNotFoundError
        If what ``pip install 'eifffel[report]'`` installs is missing.

    See Also
    --------
    save_report : Writes it to a file.

    Examples
    --------
    >>> from eifffel.report import render_html, summarize_decisions
    >>> hired, sex = ["yes", "no", "yes", "yes", "no"] * 20, ["f", "f", "m", "m", "m"] * 20
    >>> page = render_html(summarize_decisions(hired, sensitive_features=sex, favorable="yes"))
    >>> page.splitlines()[0]
    '<!DOCTYPE html>'
    """
    path, changed, charts = summary.path, summary.changed, {}
    if path is not None:
        charts["tradeoff"] = draw_tradeoff(path, summary.rows, summary.constraint)
    if changed is not None and _words.nobody_changed(changed, summary.rows) is None:
        charts["changes"] = draw_changes(changed, summary.groups)
    return _fill(
        "report.html",
        s=summary,
        w=_words,
        look=HEADING_CLASSES.get(summary.verdict.kind, ""),
        slider=None if path is None else slider_data(path),
        charts=charts,
        tables=[make_table(summary) for make_table in TABLES.values()],
        style=_read_template("report.css"),
        script=_read_template("report.js"),
        vega=bundle_scripts() if charts else "",
    )


def render_markdown(summary: Summary) -> str:
    """A summary as Markdown, with the same facts as the page; text from data is escaped.

    Parameters
    ----------
    summary : Summary
        From `summarize` or `summarize_decisions`.

    Returns
    -------
    str

    Raises
    ------
    ModuleNotFoundError
        If what ``pip install 'eifffel[report]'`` installs is missing.

    Examples
    --------
    >>> from eifffel.report import render_markdown, summarize_decisions
    >>> hired, sex = ["yes", "no", "yes", "yes", "no"] * 20, ["f", "f", "m", "m", "m"] * 20
    >>> summary = summarize_decisions(hired, sensitive_features=sex, favorable="yes", sensitive_name="sex")
    >>> render_markdown(summary).splitlines()[0]
    '# Fairness report: sex'
    """
    return _fill("report.md", s=summary, w=_words, tables=[make_table(summary) for make_table in TABLES.values()])


def render_audit_table(table: AuditTable) -> str:
    """A table of an audit as Markdown, with what must be said with it."""
    return _fill("audit_table.md", table=table)


def _fill(name: str, **values: Any) -> str:
    """A template with values in it; what its expressions give is escaped, for Markdown or for HTML by its name."""
    jinja2 = import_optional("jinja2", "reports need")
    markup, is_markdown = jinja2.utils.markupsafe.Markup, name.endswith(".md")

    def finalize(value: Any) -> Any:
        return value if isinstance(value, markup) or not is_markdown else markup(escape_markdown(value))

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("eifffel.report"),
        autoescape=True,
        finalize=finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=is_markdown,
    )
    environment.filters["code"] = lambda text: markup(_as_code(text))
    text: str = environment.get_template(name).render(values)
    return text


def escape_markdown(text: Any) -> str:
    """Text from data so that neither Markdown nor HTML in it takes effect."""
    escaped = html.escape(" ".join(str(text).split()), quote=False)
    for character in "\\`*_[]|#~":
        escaped = escaped.replace(character, f"\\{character}")
    return escaped


def _as_code(text: str) -> str:
    """Text from data as code; a fence longer than any in it."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence} {' '.join(text.split())} {fence}"


def slider_data(path: Tradeoff) -> dict[str, Any]:
    """What the page shows for each bound: texts to be put into cells, so that nothing is computed there."""
    return {
        "start": path.chosen_bound,
        "bounds": [
            {**to_plain(bound), "text": f"{bound.bound:g}", "met_text": "met" if bound.met else "NOT MET"}
            for bound in path.bounds
        ],
        "points": [point_cells(point, path.kind) for point in path.points],
    }


def point_cells(point: Point, kind: str) -> dict[str, str]:
    """The cells of the page that a step fills, by their names; of the ``kind`` of bound are the limits."""
    selection = point.selection
    of_difference = say_limits(selection, digits=4) if kind == "epsilon" else ""
    of_ratio = say_limits(selection, digits=3) if kind == "ratio" else ""
    cells = {
        "changed_leaves": f"{point.changed_leaves:,}",
        "step": f"{point.step:,}",
        "selection_discrimination": _words.rounded(selection.discrimination, 4) + of_difference,
        "selection_ratio": _words.rounded(selection.ratio) + of_ratio,
        "selection_accuracy": _words.rounded(selection.accuracy),
        "discrimination": _words.fraction(point.overall.discrimination).unbroken,
        "ratio": _words.fraction(point.overall.ratio).unbroken,
        "accuracy": _words.fraction(point.overall.accuracy).unbroken,
    }
    for g, rates in enumerate(point.groups):
        cells |= {f"{rate.name}_{g}": rate.show(rates).unbroken for rate in _words.GROUP_RATES}
    return cells


def _read_template(name: str) -> str:
    return files("eifffel.report").joinpath("templates", name).read_text(encoding="utf-8")
