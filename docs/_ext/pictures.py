"""Draws the pictures of the pages before they are read: `drawings/NAME.py`, and the first Python of some pages."""

import re
import runpy
import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from sphinx.application import Sphinx

# Pages whose first block of Python ends with a picture, which stands below it.
PAGES = ("start", "guide/choosing")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def draw(app: Sphinx) -> None:
    """Into the folder `made`, where pages find them."""
    source = Path(app.srcdir)
    made = source / "made"
    made.mkdir(exist_ok=True)
    mpl.use("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for script in sorted((source / "drawings").glob("*.py")):
            runpy.run_path(str(script))
            keep(made / f"{script.stem}.png")
        for page in PAGES:
            block = BLOCK.search((source / f"{page}.md").read_text())
            if block is None:
                raise ValueError(f"{page}.md has no block of Python, of which its picture is to be made")
            exec(compile(block[1], f"{page}.md", "exec"), {})
            keep(made / f"{Path(page).name}.png")


def keep(file: Path) -> None:
    """The one figure that is open."""
    (number,) = plt.get_fignums()
    plt.figure(number).savefig(file, dpi=160)
    plt.close(number)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}
