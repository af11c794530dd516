"""With verbose, a line says that kernels are compiled."""

from types import SimpleNamespace

import pytest
from numba.core import event

from eifffel.kernels.compiling import say_compiling


def compile_of(module):
    return event.trigger_event("numba:compile", data={"dispatcher": SimpleNamespace(__module__=module)})


@pytest.mark.parametrize(
    ("verbose", "modules", "n_lines"),
    [
        (1, ["numba.misc", "eifffel.kernels.tree_kernels", "eifffel.kernels.leaf_kernels"], 1),
        (1, ["numba.misc"], 0),
        (0, ["eifffel.kernels.tree_kernels"], 0),
    ],
)
def test_it_is_said_once(verbose, modules, n_lines, capsys):
    with say_compiling(verbose):
        for module in modules:
            with compile_of(module):
                pass
    with compile_of("eifffel.kernels.tree_kernels"):
        pass  # not in the block
    said = capsys.readouterr().err
    assert said.count("compiling, once in each environment") == said.count("\n") == n_lines
