"""Runs -> files: tables, figures and the page."""

import io
from pathlib import Path
from typing import Any

from eifffel._utils.optional import import_optional
from eifffel._utils.writing import write_whole
from reproduction import protocol
from reproduction.figures import FIGURES, draw_figure
from reproduction.page import page_lines
from reproduction.summary import Runs
from reproduction.tables import make_tables

PAGE = "README.md"


def write_texts(runs: Runs, folder: Path) -> None:
    """Write the tables, and the page that shows them."""
    tables = list(make_tables(runs))
    (folder / "tables").mkdir(exist_ok=True)
    for table in tables:
        texts = {"md": f"{table.title}\n\n{table.to_markdown()}", "csv": table.to_csv(), "tex": table.to_latex()}
        for ending, text in texts.items():
            write_whole(folder / "tables" / f"{table.name}.{ending}", text)
    write_whole(folder / PAGE, "\n".join(page_lines(runs, tables)) + "\n")


def write_figures(runs: Runs, folder: Path) -> None:
    """Draw the figures."""
    (folder / "figures").mkdir(exist_ok=True)
    for features in protocol.FEATURES:
        for figure in FIGURES:
            canvas = draw_figure(runs, figure, features)
            for ending in ("png", "svg"):
                write_whole(folder / "figures" / f"{figure.name}_{features}.{ending}", _render(canvas, ending))


def _render(canvas: Any, ending: str) -> bytes:
    matplotlib = import_optional("matplotlib", "figures need")
    content = io.BytesIO()
    # The same runs give the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "eifffel", "svg.fonttype": "none"}):
        canvas.savefig(content, format=ending, dpi=120, metadata={"Date": None} if ending == "svg" else None)
    return content.getvalue()
