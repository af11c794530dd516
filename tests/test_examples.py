"""Every example runs, warns of nothing and draws a picture."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
# What eifffel itself, or what an example imports, asks for only when it is called.
NEEDED_BY = {
    "save_report(": ("altair", "jinja2", "vl_convert"),
    "eifffel.save(": ("skops",),
    "to_parquet(": ("pyarrow",),
    "dask.distributed": ("distributed",),
}
# As sphinx-gallery does it: executed as __main__, and figures stay open.
RUN = """
import runpy, sys
runpy.run_path(sys.argv[1], run_name="__main__")
import matplotlib.pyplot as plt
sys.exit(0 if plt.get_fignums() else "it drew nothing")
"""


def find_libraries(source):
    """The libraries that a script needs, without those of the standard library."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
    names = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"eifffel"}
    return sorted(names.union(*(libraries for call, libraries in NEEDED_BY.items() if call in source)))


def test_there_are_examples():
    """All are of the gallery, which takes scripts of this name."""
    assert len(EXAMPLES) >= 8
    assert all(re.match(r"plot_\d\d_", script.name) for script in EXAMPLES)


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_an_example_runs(script, tmp_path):
    source = script.read_text(encoding="utf-8")
    for library in find_libraries(source):
        pytest.importorskip(library)
    run = subprocess.run(
        [sys.executable, "-c", RUN, script],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert not re.search(r"\w*Warning: ", run.stderr), run.stderr
    assert not list(tmp_path.iterdir()), "it cleans up"
    assert not re.search(r"plt\.show|savefig", source), "the gallery does so"
