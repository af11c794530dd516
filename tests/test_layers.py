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
    ["display", "native", "path"],
    ["loaded"],
    ["edits", "record", "selecting", "verdict"],
    ["advice"],
    ["measuring", "rules", "selection"],
    ["shortfall", "telling"],
    ["bounds"],
    ["path_counts", "strategies"],
    ["objective", "leaves.scoring"],
    ["leaves.counting"],
    ["leaves.training"],
    ["leaves.placing", "rows.reading"],
    ["rows.parquet"],
    ["rows.columns"],
    ["metrics"],
    ["comparison"],
    ["constraints", "datasets", "ensembles", "intervals"],
    ["rows.coding", "rows.kinds"],
    ["rows.survey"],
    ["rows.batches", "rows.groups", "rows.labels"],
    ["rows.few", "rows.sensitive"],
    ["_interval_kernels"],
    ["_validation", "_parallel", "_kernels", "_optional", "_version", "_writing"],
    ["_interrupts", "exceptions"],
]
ROOT = Path(eifffel.__file__).parent
LEVEL = {module: level for level, layer in enumerate(LAYERS) for module in layer}


def name_module(parts):
    """Files of the packages in the layers one by one, other packages as a whole."""
    two = ".".join(parts[:2])
    return two if two in LEVEL else parts[0]


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return "eifffel" if parts == ("__init__",) else name_module(parts)


def imports_of(path):
    """The eifffel modules that a file imports when it is imported: not in functions, nor for type checking."""
    pending = list(ast.parse(path.read_text()).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "eifffel":
            parts = node.module.split(".")[1:]
            names = [name_module(parts)] if parts else [alias.name for alias in node.names]
            yield from (name if name in LEVEL else "eifffel" for name in names)
        elif isinstance(node, ast.Import):
            parts = [alias.name.split(".") for alias in node.names if alias.name.split(".")[0] == "eifffel"]
            yield from (name_module(names[1:]) if len(names) > 1 else "eifffel" for names in parts)
        elif isinstance(node, ast.If | ast.Try) and "TYPE_CHECKING" not in ast.dump(node):
            pending.extend(ast.iter_child_nodes(node))


def test_every_module_has_a_layer():
    # What is in the file of a package is one sentence about it.
    packages = {name.partition(".")[0] for name in LEVEL if "." in name}
    assert {module_of(path) for path in ROOT.rglob("*.py")} == set(LEVEL) | packages


def test_imports_point_down():
    n_imports = 0
    for path in ROOT.rglob("*.py"):
        own = module_of(path)
        if own not in LEVEL:
            assert not list(imports_of(path))
            continue
        for imported in imports_of(path):
            n_imports += 1
            if imported != own:
                assert LEVEL[own] < LEVEL[imported], f"{path.name} imports {imported}, which is not below it"
    assert n_imports > 30


def test_files_that_begin_with_an_underscore_are_used_in_their_own_package_alone():
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("eifffel."):
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    package, private, _ = name.rpartition("._")
                    if private and package.startswith("eifffel.") and not name.startswith("eifffel._"):
                        assert package.split(".")[1] == path.relative_to(ROOT).parts[0], f"{path}: {name}"
