"""Reports: summarize, then render. Text from data is escaped; there are no rows of people in it."""

# facts.py is what a summary holds. _summary.py makes one, by _decisions.py, _impact.py, _changes.py and _models.py;
# _schema.py describes it as JSON. words.py, _tables.py, _charts.py and templates/ are how it is shown;
# _rendering.py and _save.py write it.

from eifffel.report._rendering import render_html, render_markdown
from eifffel.report._save import check_audit_name as check_audit_name  # this and others named twice: for cli
from eifffel.report._save import check_report_name as check_report_name
from eifffel.report._save import render_json as render_json
from eifffel.report._save import render_table, save_report, save_table
from eifffel.report._schema import conforms as conforms
from eifffel.report._schema import schema
from eifffel.report._summary import summarize, summarize_decisions
from eifffel.report._tables import TABLES as TABLES
from eifffel.report._tables import AuditTable as AuditTable
from eifffel.report.facts import SCHEMA_NAME as SCHEMA_NAME
from eifffel.report.facts import Summary
from eifffel.report.facts import read_summary as read_summary
from eifffel.report.words import path_head as path_head
from eifffel.report.words import path_rows as path_rows

__all__ = [
    "Summary",
    "render_html",
    "render_markdown",
    "render_table",
    "save_report",
    "save_table",
    "schema",
    "summarize",
    "summarize_decisions",
]
