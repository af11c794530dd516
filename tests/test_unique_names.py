"""One name, one meaning: what a module defines at its top is defined in no other."""

import ast
from collections import defaultdict
from pathlib import Path

import eifffel

ROOT = Path(eifffel.__file__).parent
# Each data set has its files and its description.
OF_EACH_DATA_SET = {"DESCR", "FILES"}
# As type checkers know it, without loading typing.
OF_EACH_MODULE = {"TYPE_CHECKING"}


def names_of(path):
    """Functions, classes and constants at the top of a file."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def test_no_name_is_defined_twice():
    homes = defaultdict(set)
    for path in ROOT.rglob("*.py"):
        for name in names_of(path):
            if not name.startswith("__") and name not in OF_EACH_DATA_SET | OF_EACH_MODULE:
                homes[name].add(str(path.relative_to(ROOT)))
    assert len(homes) > 1000
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
