"""Public names are loaded when they are asked for, and are where type checkers and readers find them."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import eifffel


def imports_for_type_checkers():
    """Public names and the modules that they come from, as the file says to type checkers."""
    tree = ast.parse(Path(eifffel.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_what_is_loaded_is_what_type_checkers_see():
    homes = imports_for_type_checkers()
    assert sorted(homes) == sorted(eifffel.__all__)
    assert {name: f"eifffel.{home}" for home, names in eifffel._HOMES.items() for name in names} == homes
    for name, home in homes.items():
        assert getattr(eifffel, name) is getattr(import_module(home), name)


def test_they_are_listed():
    assert set(eifffel.__all__) <= set(dir(eifffel))


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_is_loaded_before_it_is_asked_for():
    assert run("import eifffel, sys; print('numpy' in sys.modules, sorted(dir(eifffel))[0])") == (
        "False ConstraintNotMetWarning\n"
    )


def test_modules_are_there_without_an_import_of_their_own():
    assert run("import eifffel; print(eifffel.metrics.__name__, eifffel.rows.labels.__name__)") == (
        "eifffel.metrics eifffel.rows.labels\n"
    )


def test_all_names_at_once():
    code = "from eifffel import *; print(load.__name__, EiFFFeLClassifier.__name__, __version__)"
    assert run(code) == f"load EiFFFeLClassifier {eifffel.__version__}\n"


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'eifffel' has no attribute 'flip_leaves'"):
        eifffel.flip_leaves  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'flip_leaves'"):
        exec("from eifffel import flip_leaves")
