"""Imports point one way: each folder, or file at the top, uses only the layers below its own, and no two each other."""

import ast
from pathlib import Path

import pytest

import eifffel

LAYERS = [
    ["__main__"],
    ["cli"],
    ["eifffel"],  # the public names
    ["baselines", "classifier", "report"],
    ["_meta", "aware_trees"],
    ["display", "export", "tracing"],
    ["path"],
    ["edits"],
    ["selection"],
    ["strategies"],
    ["leaves"],
    ["ensembles", "metrics"],
    ["comparison"],
    ["constraints", "datasets", "intervals"],
    ["rows"],
    ["kernels"],
    ["_utils", "_version"],
    ["exceptions"],
]
ROOT = Path(eifffel.__file__).parent
LEVEL = {part: level for level, layer in enumerate(LAYERS) for part in layer}


def read_name(parts):
    """The dotted name of a module inside the package, of which a file or an import has these parts."""
    return ".".join(parts[:-1] if parts[-1:] == ("__init__",) else parts)


MODULES = {read_name(path.relative_to(ROOT).with_suffix("").parts): path for path in ROOT.rglob("*.py")}


def part_of(module):
    """The folder, or the file at the top, that a module is in."""
    return module.split(".")[0] or "eifffel"


def imports_of(path):
    """The modules of the package that a file imports when it is imported: not in functions, nor for type checking."""
    pending = list(ast.parse(path.read_text()).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "eifffel":
            home = read_name(tuple(node.module.split(".")[1:]))
            for alias in node.names:
                inside = f"{home}.{alias.name}".lstrip(".")
                yield inside if inside in MODULES else home
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            yield from (".".join(parts[1:]) for parts in names if parts[0] == "eifffel")
        elif isinstance(node, ast.If | ast.Try) and "TYPE_CHECKING" not in ast.dump(node):
            pending.extend(ast.iter_child_nodes(node))


IMPORTS = [(module, imported) for module, path in MODULES.items() for imported in imports_of(path)]


def test_every_part_has_a_layer():
    assert {part_of(module) for module in MODULES} == set(LEVEL)


def test_imports_point_down():
    assert len(IMPORTS) > 300
    for module, imported in IMPORTS:
        own, other = part_of(module), part_of(imported)
        if own != other:
            assert LEVEL[own] < LEVEL[other], f"{module} imports {imported}, and {other} is not below {own}"


@pytest.mark.parametrize("folder", sorted({part_of(module) for module in MODULES if "." in module}))
def test_files_of_a_folder_do_not_import_each_other_in_a_circle(folder):
    # What a folder's own __init__ offers is for others: that it imports its files, which import others of them.
    below = {
        module: {other for own, other in IMPORTS if own == module and part_of(other) == folder and "." in other}
        for module in MODULES
        if module.startswith(f"{folder}.")
    }
    while below:
        ready = {module for module, needs in below.items() if not needs & set(below) - {module}}
        assert ready, f"these import each other: {', '.join(sorted(below))}"
        below = {module: needs for module, needs in below.items() if module not in ready}


def test_files_that_begin_with_an_underscore_are_used_in_their_own_package_alone():
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("eifffel."):
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    package, private, _ = name.rpartition("._")
                    if private and package.startswith("eifffel.") and not name.startswith("eifffel._"):
                        assert package.split(".")[1] == path.relative_to(ROOT).parts[0], f"{path}: {name}"
