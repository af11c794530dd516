"""How the kernels are compiled."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numba
from numba.core import event
from tqdm.auto import tqdm


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function, and keep that on disk where it can be."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return numba.njit(nogil=True)(function)


class _Saying(event.Listener):
    """Says once that kernels are being compiled."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: event.Event) -> None:
        if not self.said and event.data["dispatcher"].__module__.startswith("eifffel."):
            self.said = True
            tqdm.write("compiling, once in each environment, which takes some seconds", file=sys.stderr)

    def on_end(self, event: event.Event) -> None:
        pass


def say_compiling(verbose: int) -> AbstractContextManager[Any]:
    """With ``verbose``, kernels that are compiled in the block are announced by a line."""
    return event.install_listener("numba:compile", _Saying()) if verbose else nullcontext()
