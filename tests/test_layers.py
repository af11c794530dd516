"""Imports point one way: each module may use only the layers below its own."""

import ast
from pathlib import Path

import eifffel

LAYERS = [
    ["__main__"],
    ["cli"],
    ["experiments"],
    ["eifffel"],  # the public names
    ["baselines", "classifier", "report"],
    ["splitting", "_meta"],
    ["dask"],
    ["export", "tracing", "storage"],
    ["display", "path"],
    ["editing", "record", "verdict"],
    ["flips", "measuring", "rules", "selection"],
    ["counts", "strategies"],
    ["scoring", "objective"],
    ["leaves"],
    ["placing", "tables"],
    ["parquet"],
    ["named"],
    ["constraints", "ensembles", "datasets", "metrics", "intervals"],
    ["coding", "seen"],
    ["survey"],
    ["batches", "groups"],
    ["values"],
    ["_interval_kernels"],
    ["_validation", "_parallel", "_kernels", "_optional", "_version", "_writing"],
    ["exceptions"],
]
ROOT = Path(eifffel.__file__).parent
LEVEL = {module: level for level, layer in enumerate(LAYERS) for module in layer}


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return "eifffel" if parts == ("__init__",) else parts[0]


def imports_of(path):
    """The eifffel modules that a file imports when it is imported: not in functions, nor for type checking."""
    pending = list(ast.parse(path.read_text()).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "eifffel":
            parts = node.module.split(".")
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            yield from (name if name in LEVEL else "eifffel" for name in names)
        elif isinstance(node, ast.Import):
            parts = [alias.name.split(".") for alias in node.names if alias.name.split(".")[0] == "eifffel"]
            yield from (names[1] if len(names) > 1 else "eifffel" for names in parts)
        elif isinstance(node, ast.If | ast.Try) and "TYPE_CHECKING" not in ast.dump(node):
            pending.extend(ast.iter_child_nodes(node))


def test_every_module_has_a_layer():
    assert {module_of(path) for path in ROOT.rglob("*.py")} == set(LEVEL)


def test_imports_point_down():
    n_imports = 0
    for path in ROOT.rglob("*.py"):
        own = module_of(path)
        for imported in imports_of(path):
            n_imports += 1
            if imported != own:
                assert LEVEL[own] < LEVEL[imported], f"{path.name} imports {imported}, which is not below it"
    assert n_imports > 30
