"""The application: how commands are made and run, and how errors become one line and an exit code."""

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.main import get_command

from eifffel._utils.interrupts import INTERRUPTED, NOTHING_HALF_WRITTEN, Interruptible, end_guard
from eifffel._version import __version__
from eifffel.cli._groups import flatten_groups
from eifffel.cli._printing import printable
from eifffel.cli._progress import print_line
from eifffel.exceptions import Message, PickleWarning, message_of

BROKEN, BAD_INPUT, NOT_MET = 1, 2, 3
# Every mistake in arguments is one of these; where the class is defined differs between versions of typer.
UsageError: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 100},
)

Command = Callable[..., None]


def command(example: str) -> Callable[[Command], Command]:
    """Make a function a command: its help has an example, its errors are one line and an exit code.

    Its parameters are options and arguments, or groups of them (`OptionGroup`). Among them are json, quiet and debug.
    """

    def decorate(function: Command) -> Command:
        flat = flatten_groups(function)

        @functools.wraps(flat)
        def guarded(**options: Any) -> None:
            with user_errors(debug=options["debug"]), notes(options["quiet"], options["debug"]):
                flat(**options)

        guarded.__dict__["epilog"] = f"Example: {example}"
        return guarded

    return decorate


def add_commands(*commands: Command) -> None:
    """Add commands to the application; help lists them in this order."""
    for function in commands:
        app.command(epilog=function.__dict__["epilog"])(function)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command, given as words, and return its exit code; by default the words are those of the process.

    A mistake in the arguments is one line, as any other error is.
    """
    given = None if arguments is None else list(arguments)
    try:
        code = get_command(app).main(args=given, prog_name="eifffel", standalone_mode=False)
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


@contextmanager
def user_errors(debug: bool) -> Iterator[None]:
    """Print an error as one line: what is wrong with what the user gave, or that eifffel itself has a fault."""
    try:
        with Interruptible():
            yield
    except typer.Exit:
        raise
    except BrokenPipeError:  # the reader has closed the pipe
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, for what Python would still flush
        raise typer.Exit(0) from None
    except KeyboardInterrupt as error:
        end_guard()
        say_error(f"interrupted; {str(error) or NOTHING_HALF_WRITTEN}")
        raise typer.Exit(INTERRUPTED) from None
    except (ValueError, TypeError, OSError, ModuleNotFoundError) as error:
        if debug:
            raise
        say_error(_message(error))
        raise typer.Exit(BAD_INPUT) from None
    except Exception as error:
        if debug:
            raise
        say_error(
            f"a fault of eifffel's own, {type(error).__name__}: {_message(error)} (--debug shows where; please report "
            "it)"
        )
        raise typer.Exit(BROKEN) from None


@contextmanager
def notes(quiet: bool, debug: bool) -> Iterator[None]:
    """Show eifffel's warnings as notes of one line; those of other libraries only with --debug."""

    def show(message: Any, category: type[Warning], *where: Any, **how: Any) -> None:
        if category is PickleWarning or (category.__module__.startswith("eifffel.") and not quiet):
            print_line(printable(f"note: {in_options(message)}"))
        elif debug:
            print_line(printable(f"{category.__name__}: {message}"))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def say_error(message: str) -> None:
    """Print an error as one line on stderr."""
    typer.echo(f"eifffel: {printable(' '.join(message.split()))}", err=True)


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror is not None:
        about = f" '{error.filename}'" if error.filename is not None else ""
        return f"{error.strerror}{about}; nothing was written there"
    return in_options(error)


# What parameters that messages name are called here, and what is typed here in another form.
OPTIONS = {
    "allow_pickle=True": "--allow-pickle",
    "alpha": "--alpha",
    "combine": "--combine",
    "confidence": "--confidence",
    "constraint": "--constraint",
    "costs": "0,1,5,0",
    "data_home": "--data-home",
    "direction": "--direction",
    "epsilon": "--epsilon",
    "favorable": "--favorable",
    "features": "--features",
    "give_y": "name their column with --target",
    "matrix": "four costs",
    "min_group_rows": "--min-group-rows",
    "missing": "--missing",
    "model": "--model",
    "monotone": "--monotone",
    "monotone={}": "--monotone none",
    "n_jobs": "--jobs",
    "more_rows": ", or a larger share of the table with --selection-size",
    "name": "NAME",
    "objective": "--objective",
    "or_none": "",
    "overwrite=True": "--overwrite",
    "privileged": "--privileged",
    "privileged=": "--privileged naming",
    "ratio": "--ratio",
    "recode": "code the labels as 0 and 1 and say --favorable 0",
    "selection_size": "--selection-size",
    "signs": "with --monotone, as in arrears:-1",
    "sides": "--sides",
    "strategy": "--strategy",
    "table": "--table",
    "test_size": "--test-size",
    "trusted": "save it in Python: eifffel.save(..., trusted=...)",
}


def in_options(error: BaseException) -> str:
    """The text of an error or a warning, with options in the place of parameters."""
    message = message_of(error)
    return message.say(OPTIONS) if isinstance(message, Message) else message


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"eifffel {__version__}")
        raise typer.Exit


@app.callback()
def eifffel_command(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Make trained tree ensembles fair by editing their leaves.

    From a table to a fair model and a page to show: eifffel fit. For a model that is trained: eifffel flip.
    To see what it does: eifffel demo.
    """
