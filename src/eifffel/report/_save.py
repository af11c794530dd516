"""A summary -> a file: HTML, Markdown or JSON by its name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eifffel._writing import check_target, write_whole
from eifffel.report._html import render_html
from eifffel.report._markdown import render_markdown


def render_json(summary: dict[str, Any]) -> str:
    """A summary as JSON, as `schema` describes it."""
    return json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


RENDERERS: dict[str, Callable[[dict[str, Any]], str]] = {
    ".html": render_html,
    ".md": render_markdown,
    ".json": render_json,
}


def check_report_name(path: str | Path) -> None:
    """Raise unless a report can be written under that name."""
    if Path(path).suffix.lower() not in RENDERERS:
        raise ValueError(f"a report must end in {', '.join(RENDERERS)}, got '{path}'; rename it")


def save_report(summary: dict[str, Any], path: str | Path, *, overwrite: bool = False) -> None:
    """Write a report: a self-contained page (.html), Markdown (.md) or the summary itself (.json), by its name.

    Parameters
    ----------
    summary : dict
        From `summarize`.
    path : str or Path
        It is written under a temporary name and renamed.
    overwrite : bool
        Whether a file that exists may be replaced.
    """
    check_report_name(path)
    check_target(Path(path), overwrite=overwrite)
    write_whole(Path(path), RENDERERS[Path(path).suffix.lower()](summary), overwrite=overwrite)
