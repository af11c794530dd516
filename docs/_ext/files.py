"""The directive `files`: each file of the package with what its own first paragraph says of it."""

import ast
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SOURCE = Path(__file__).parents[2] / "src" / "eifffel"


class Files(SphinxDirective):
    """Its content names files, or folders with all files in them, one a line."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        named = [SOURCE / line for line in self.content if line.strip()]
        files = [file for name in named for file in (sorted(name.glob("*.py")) if name.is_dir() else [name])]
        for file in files:
            self.env.note_dependency(str(file))
        return self.parse_text_to_nodes("\n".join(map(describe, files)))


def describe(file: Path) -> str:
    """As an entry of a list in Markdown."""
    words = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    if words is None:
        raise ValueError(f"{file} does not say what it is")
    first = " ".join(words.partition("\n\n")[0].replace("``", "`").split())
    return f"- `{file.relative_to(SOURCE)}`: {first}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("files", Files)
    return {"parallel_read_safe": True}
