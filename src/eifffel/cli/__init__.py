"""The command line: one file for each command."""

from collections.abc import Sequence
from typing import Any

import typer
from typer.main import get_command

from eifffel._interrupts import INTERRUPTED
from eifffel.cli import _audit, _datasets, _demo, _explain, _export, _fit, _flip, _path, _predict, _reproduce
from eifffel.cli._app import BAD_INPUT, add_commands, app, say_error

# Every mistake in arguments is one of these; where the class is defined differs between versions of typer.
UsageError: Any = typer.BadParameter.__mro__[1]

add_commands(
    _demo.demo,
    _fit.fit,
    _predict.predict,
    _path.path,
    _flip.flip,
    _audit.audit,
    _explain.explain,
    _export.export,
    _datasets.datasets,
    _reproduce.reproduce,
)

__all__ = ["app", "run"]


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code. A mistake in the arguments is one line, as any other."""
    command = get_command(app)
    try:
        given = None if arguments is None else list(arguments)
        code = command.main(args=given, prog_name="eifffel", standalone_mode=False)
    except UsageError as error:
        context = getattr(error, "ctx", None)
        ask = "eifffel" if context is None else context.command_path
        message = error.format_message()
        if message:  # none where no command was given, and help was shown
            say_error(f"{message} ('{ask} --help' shows what there is)")
        return BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        say_error("interrupted")
        return INTERRUPTED
    return code if isinstance(code, int) else 0
