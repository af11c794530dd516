"""Reports: summarize, then render. Text from data is escaped; there are no rows of people in it."""

from eifffel.report._audit import TABLES as TABLES  # this and others named twice: for the command line
from eifffel.report._blocks import AuditTable as AuditTable
from eifffel.report._conforming import conforms as conforms
from eifffel.report._html import render_html
from eifffel.report._markdown import path_head as path_head
from eifffel.report._markdown import path_rows as path_rows
from eifffel.report._markdown import render_markdown
from eifffel.report._save import check_audit_name as check_audit_name
from eifffel.report._save import check_report_name as check_report_name
from eifffel.report._save import render_json as render_json
from eifffel.report._save import render_table, save_report, save_table
from eifffel.report._summary import schema, summarize, summarize_decisions
from eifffel.report.facts import SCHEMA_NAME as SCHEMA_NAME
from eifffel.report.facts import Summary
from eifffel.report.facts import read_summary as read_summary

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
