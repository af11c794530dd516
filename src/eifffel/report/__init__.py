"""Reports: summarize to plain data, then render. Text from data is escaped; there are no rows of people in it."""

from eifffel.report._html import render_html
from eifffel.report._markdown import render_markdown
from eifffel.report._save import render_table, save_report, save_table
from eifffel.report._summary import schema, summarize, summarize_decisions

__all__ = [
    "render_html",
    "render_markdown",
    "render_table",
    "save_report",
    "save_table",
    "schema",
    "summarize",
    "summarize_decisions",
]
