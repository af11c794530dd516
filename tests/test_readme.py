"""The code in the README and the docs runs."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from real_data import needs_real_data

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("[a-z]*/*.md")))
    if "```python" in page.read_text()
]
# What code needs that has these words in it.
NEEDS = {
    "import lightgbm": ("lightgbm",),
    "import catboost": ("catboost",),
    "from imblearn": ("imblearn",),
    "import pandas": ("pandas",),
    "to_parquet": ("pyarrow",),
    "from dask.distributed": ("distributed",),
    "eifffel.save": ("skops",),
    "to_onnx": ("onnx", "onnxruntime", "skl2onnx"),
    "save_report": ("jinja2", "altair", "vl_convert"),
    "render_table": ("jinja2",),
}
# Where the pages are built, numbers on them must be those that the code gives; older libraries train other models.
NEWEST = find_spec("sphinx") is not None
FETCHING = re.compile(r"^from eifffel\.datasets import fetch_", re.MULTILINE)


def marks_of(page):
    """The data that its code needs; all pages but the first that people read take long and seldom break."""
    marks = [] if page.name == "README.md" else [pytest.mark.slow]
    return [*marks, needs_real_data] if FETCHING.search(page.read_text()) else marks


MARKED = [pytest.param(page, marks=marks_of(page)) for page in PAGES]


@pytest.mark.parametrize("page", MARKED, ids=lambda page: page.name)
def test_code_blocks_run_in_order(page, tmp_path, monkeypatch, capsys):
    # A block of text that follows one of Python is what it prints.
    found = re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", page.read_text(), re.DOTALL | re.MULTILINE)
    blocks = [block for block, _ in found]
    assert blocks
    if FETCHING.search(page.read_text()):
        pytest.importorskip("pandas")
    code = "".join(blocks)
    for words, libraries in NEEDS.items():
        if words in code:
            for library in libraries:
                pytest.importorskip(library)
    if "plot" in code:
        pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block, printed in found:
        capsys.readouterr()
        exec(compile(block, str(page), "exec"), names)
        if printed and NEWEST:
            assert capsys.readouterr().out == printed


def test_the_pages_that_should_have_code_have():
    assert {page.name for page in PAGES} >= {
        *("README.md", "start.md", "method.md", "baselines.md", "reproduction.md"),
        *("choosing.md", "rows.md", "sensitive_column.md", "ensembles.md", "groups.md", "model_files.md", "export.md"),
        *("large_data.md", "audit.md", "command_line.md"),
    }
