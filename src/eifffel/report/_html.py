"""A summary -> one self-contained page: no network, no server, text from data escaped."""

from importlib.resources import files
from typing import Any

from eifffel._optional import import_optional
from eifffel.report import words as _words
from eifffel.report._audit import TABLES
from eifffel.report._charts import bundle_scripts, draw_changes, draw_tradeoff
from eifffel.report._verdict import LOOKS
from eifffel.report.facts import Point, Summary, Tradeoff, to_plain


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
    jinja2 = import_optional("jinja2", "reports need")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("eifffel.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    path, changed, charts = summary.path, summary.changed, {}
    if path is not None:
        charts["tradeoff"] = draw_tradeoff(path, summary.rows, summary.constraint)
    if changed is not None and _words.nobody_changed(changed, summary.rows) is None:
        charts["changes"] = draw_changes(changed, summary.groups)
    page: str = environment.get_template("report.html").render(
        s=summary,
        w=_words,
        look=LOOKS[summary.verdict.kind],
        slider=None if path is None else slider_data(path),
        charts=charts,
        tables=[make_table(summary) for make_table in TABLES.values()],
        # From this package and from vl-convert, not from data.
        style=jinja2.utils.markupsafe.Markup(_template("report.css")),
        script=jinja2.utils.markupsafe.Markup(_template("report.js")),
        vega=jinja2.utils.markupsafe.Markup(bundle_scripts()) if charts else "",
    )
    return page


def slider_data(path: Tradeoff) -> dict[str, Any]:
    """What the page shows for each bound: texts to be put into cells, so that nothing is computed there."""
    return {
        "start": path.chosen_bound,
        "bounds": [
            {**to_plain(bound), "text": f"{bound.bound:g}", "met_text": "met" if bound.met else "NOT MET"}
            for bound in path.bounds
        ],
        "points": [point_cells(point) for point in path.points],
    }


def point_cells(point: Point) -> dict[str, str]:
    """The cells of the page that a step fills, by their names."""
    selection = point.selection
    cells = {
        "changed_leaves": f"{point.changed_leaves:,}",
        "step": f"{point.step:,}",
        "selection_discrimination": _words.plain(selection.discrimination, 4)
        + ("" if selection.upper is None else f", at most {_words.plain(selection.upper, 4)}"),
        "selection_ratio": _words.plain(selection.ratio),
        "selection_accuracy": _words.plain(selection.accuracy),
        "discrimination": _words.fraction(point.overall.discrimination).unbroken,
        "ratio": _words.fraction(point.overall.ratio).unbroken,
        "accuracy": _words.fraction(point.overall.accuracy).unbroken,
    }
    for g, rates in enumerate(point.groups):
        cells |= {f"{rate.name}_{g}": rate.show(rates).unbroken for rate in _words.GROUP_RATES}
    return cells


def _template(name: str) -> str:
    return files("eifffel.report").joinpath("templates", name).read_text(encoding="utf-8")
