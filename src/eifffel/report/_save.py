"""A summary, or a table of an audit -> a file, in the form that its name says."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eifffel._utils.optional import import_optional
from eifffel._utils.validation import check_choice
from eifffel._utils.writing import check_target, write_whole
from eifffel.report._rendering import render_audit_table, render_html, render_markdown
from eifffel.report._tables import TABLES, AuditTable, TableRecord, decided_by
from eifffel.report.facts import Summary, to_plain
from eifffel.report.words import NO_ADVICE


def render_json(summary: Summary) -> str:
    """A summary as JSON, as `schema` describes it."""
    return json.dumps(summary.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


RENDERERS: dict[str, Callable[[Summary], str]] = {
    ".html": render_html,
    ".md": render_markdown,
    ".json": render_json,
}


def check_report_name(path: str | Path) -> None:
    """Raise unless a report can be written under that name."""
    if Path(path).suffix.lower() not in RENDERERS:
        raise ValueError(f"a report must end in {', '.join(RENDERERS)}, got '{path}'; rename it")
    _check_templates(path)


def _check_templates(path: str | Path) -> None:
    """Raise if a page or Markdown is wanted and what fills templates is not installed."""
    if Path(path).suffix.lower() in (".html", ".md"):
        import_optional("jinja2", "reports need")


def save_report(summary: Summary, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a report: a self-contained page (.html), Markdown (.md) or the summary itself (.json), by its name.

    Parameters
    ----------
    summary : Summary
        From `summarize` or `summarize_decisions`.
    path : str or Path
        It is written under a temporary name and renamed.
    overwrite : bool
        Whether a file that exists may be replaced.

    Raises
    ------
    ValueError
        If the name has another ending.
    OSError
        If the file exists and ``overwrite`` is not said, or it cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from eifffel.report import save_report, summarize_decisions
    >>> hired, sex = ["yes", "no", "yes", "yes", "no"] * 20, ["f", "f", "m", "m", "m"] * 20
    >>> summary = summarize_decisions(hired, sensitive_features=sex, favorable="yes")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_report(summary, f"{folder}/report.md")
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['report.md']
    """
    check_report_name(path)
    check_target(Path(path), overwrite=overwrite)
    write_whole(Path(path), RENDERERS[Path(path).suffix.lower()](summary), overwrite=overwrite)


def _table_csv(summary: Summary, audit: AuditTable) -> str:
    """One line for each record, numbers as they are."""
    records: list[TableRecord] = [
        {"table": block.heading, **record} for block in audit.blocks for record in block.records
    ]
    said: TableRecord = {
        "measured_on": f"{summary.rows.n} {summary.rows.name}",
        "decided_by": decided_by(summary),
        "favorable": summary.favorable,
        "note": NO_ADVICE,
    }
    names = list(dict.fromkeys([*(name for record in records for name in record), *said]))
    written = io.StringIO()
    lines = csv.DictWriter(written, names, lineterminator="\n")
    lines.writeheader()
    lines.writerows({name: _csv_cell(value) for name, value in (record | said).items()} for record in records)
    return written.getvalue()


def _csv_cell(value: Any) -> Any:
    """A value so that no spreadsheet takes a text for a formula; a number is none."""
    is_formula = isinstance(value, str) and re.match(r"\s*[=+\-@]", value) and not re.match(r"-?[\d.]+( |$)", value)
    return f"'{value}" if is_formula else value


def _table_json(summary: Summary, audit: AuditTable) -> str:
    content = {
        "table": audit.name,
        "title": audit.title,
        "rows": to_plain(summary.rows),
        "favorable": summary.favorable,
        "sensitive": summary.sensitive,
        "blocks": [{"heading": block.heading, "records": block.records} for block in audit.blocks],
        "notes": audit.notes,
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


TABLE_RENDERERS: dict[str, Callable[[Summary, AuditTable], str]] = {
    ".md": lambda summary, audit: render_audit_table(audit),
    ".csv": _table_csv,
    ".json": _table_json,
}


def check_audit_name(path: str | Path) -> None:
    """Raise unless a table of an audit can be written under that name."""
    if Path(path).suffix.lower() not in TABLE_RENDERERS:
        raise ValueError(
            f"a table of an audit must end in {', '.join(TABLE_RENDERERS)}, got '{path}'; rename it (a report in .html "
            "has all tables)"
        )
    _check_templates(path)


def render_table(summary: Summary, name: str, ending: str = ".md") -> str:
    """A table that auditors ask for, as Markdown, CSV or JSON.

    Parameters
    ----------
    summary : Summary
        From `summarize` or `summarize_decisions`.
    name : {"four-fifths", "ll144", "model-card"}
        Ratios to the highest rate, with intervals and tests; the layouts of New York City's Local Law 144; or a model
        card with the fields of the EU's technical documentation.
    ending : {".md", ".csv", ".json"}

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the table or the ending is not known.
    ModuleNotFoundError
        If Markdown is asked for, and what ``pip install 'eifffel[report]'`` installs is missing.

    Examples
    --------
    >>> from eifffel.report import render_table, summarize_decisions
    >>> hired, sex = ["yes", "no", "yes", "yes", "no"] * 20, ["f", "f", "m", "m", "m"] * 20
    >>> summary = summarize_decisions(hired, sensitive_features=sex, favorable="yes", sensitive_name="sex")
    >>> print(render_table(summary, "ll144").splitlines()[4])
    | category | # of applicants | # selected | selection rate | impact ratio |
    """
    check_choice("name", name, list(TABLES))
    ending = f".{ending.lstrip('.')}"
    check_choice("ending", ending, list(TABLE_RENDERERS))
    return TABLE_RENDERERS[ending](summary, TABLES[name](summary))


def save_table(summary: Summary, name: str, path: str | Path, *, overwrite: bool = False) -> None:
    """Write what `render_table` gives; the ending of the name says in which form.

    Parameters
    ----------
    summary, name
        As `render_table` has them.
    path : str or Path
        It is written under a temporary name and renamed.
    overwrite : bool
        Whether a file that exists may be replaced.

    Raises
    ------
    ValueError
        If the table is not known, or the name of the file has another ending.
    OSError
        If the file exists and ``overwrite`` is not said, or it cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from eifffel.report import save_table, summarize_decisions
    >>> hired, sex = ["yes", "no", "yes", "yes", "no"] * 20, ["f", "f", "m", "m", "m"] * 20
    >>> summary = summarize_decisions(hired, sensitive_features=sex, favorable="yes")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_table(summary, "four-fifths", f"{folder}/table.csv")
    ...     pathlib.Path(folder, "table.csv").read_text().count("\\n")  # a head, and two groups
    3
    """
    check_audit_name(path)
    check_target(Path(path), overwrite=overwrite)
    write_whole(Path(path), render_table(summary, name, Path(path).suffix.lower()), overwrite=overwrite)
