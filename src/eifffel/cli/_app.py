"""What all commands share: the application, options, and how errors become one line and an exit code."""

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from eifffel._interrupts import INTERRUPTED, NOTHING_HALF_WRITTEN, Interruptible, end_guard
from eifffel._version import __version__
from eifffel.cli._printing import printable
from eifffel.cli._progress import print_line
from eifffel.exceptions import Message, PickleWarning, message_of

BROKEN, BAD_INPUT, NOT_MET = 1, 2, 3

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 100},
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bars and no words; errors are still said.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]
AllowPickle = Annotated[
    bool,
    typer.Option("--allow-pickle", help="Load a pickle or joblib file. It can run any code: only if you trust it."),
]
# Files are checked where they are read, with errors of our own.
ModelFile = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="A model saved by eifffel or skops, or the own file of LightGBM, XGBoost or CatBoost.",
        readable=False,
    ),
]
DataFile = Annotated[
    Path, typer.Argument(metavar="DATA", help="A table: .csv, .tsv or .parquet, also with .gz.", readable=False)
]
Report = Annotated[
    Path | None, typer.Option(help="Write a report there: .html (opens in any browser), .md or .json.", metavar="FILE")
]
IntendedUse = Annotated[str | None, typer.Option(help="What the decisions are for, to be said in the report.")]
Target = Annotated[str | None, typer.Option(help="The column of labels.", metavar="COLUMN")]
Favorable = Annotated[
    str | None,
    typer.Option(
        help="The label that is good for a person; several, separated by commas, stand against all others.",
        metavar="LABEL",
    ),
]
Sensitive = Annotated[
    str | None, typer.Option(help="The column of groups, or several, separated by commas.", metavar="COLUMN")
]
Privileged = Annotated[
    str | None,
    typer.Option(
        help="The privileged group, which others are compared with; as in sex=Male,race=White for several columns. By "
        "default, of two groups the one that the model favours, of more none.",
        metavar="GROUP",
    ),
]
Constraint = Annotated[
    str | None,
    typer.Option(
        help="Which rates are compared: demographic_parity (the default), equal_opportunity, predictive_equality or "
        "equalized_odds."
    ),
]
Combine = Annotated[
    str | None,
    typer.Option(help="With several columns of groups: each by itself (the default), or their intersection."),
]
MinGroupRows = Annotated[
    int | None,
    typer.Option(help="A group with fewer rows is left out of the bound, and named; by default 30.", min=0),
]
Missing = Annotated[
    str | None,
    typer.Option(
        help="What becomes of rows without a group: error (the default), own-group, or drop, which leaves them out of "
        "all counts."
    ),
]
Ratio = Annotated[
    float | None,
    typer.Option(help="In place of --epsilon: the smallest rate must be so large a part of the largest, such as 0.8."),
]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows without a label or a group, and say how many.")
]
Features = Annotated[
    str | None,
    typer.Option(help="The columns that the model takes, in its order, separated by commas; if it knows no names."),
]
Monotone = Annotated[
    str | None,
    typer.Option(
        help="Features on which the model was trained to be monotone, if its file does not say so (XGBoost's): 1 for "
        "rising, -1 for falling, as in arrears:-1,income:1; or none. A monotone model is refused.",
        metavar="COLUMN:SIGN",
    ),
]
Separator = Annotated[str | None, typer.Option(help="What stands between the values of a CSV file, such as ';'.")]
Epsilon = Annotated[
    float | None,
    typer.Option(help="Bound on the largest difference of the groups' rates of favourable decisions; by default 0.05."),
]
Alpha = Annotated[
    float | None, typer.Option(help="Bound on the drop of accuracy, such as 0.02 for two points; by default none.")
]
Confidence = Annotated[
    float | None,
    typer.Option(
        help="Let the bound hold, with this confidence, such as 0.95, for people drawn like those of the table. It "
        "then bounds the difference in the direction that there was."
    ),
]
Objective = Annotated[
    str,
    typer.Option(
        help="What --alpha limits the loss of: accuracy, balanced_accuracy, or the mean of four costs: of people with "
        "the bad label decided badly and well, then of those with the good one; such as 0,1,5,0."
    ),
]
Strategy = Annotated[
    str,
    typer.Option(
        help="How leaves are edited: leaf, tree, shift, or auto (leaf for forests and two groups, else shift)."
    ),
]
Direction = Annotated[
    str, typer.Option(help="Which way decisions may change: any, or up, so that nobody loses a favourable one.")
]
TestSize = Annotated[float, typer.Option(help="Share of the rows that only the report is measured on.")]
SelectionSize = Annotated[float, typer.Option(help="Share of the other rows that the step is chosen on.")]
Seed = Annotated[int, typer.Option(help="For the split of the rows, and for training.", min=0)]
Jobs = Annotated[int | None, typer.Option(help="Threads; by default one per core.", min=1)]


Command = Callable[..., None]


def command(example: str) -> Callable[[Command], Command]:
    """Make a function a command: its help has an example, its errors are one line and an exit code."""

    def decorate(run: Command) -> Command:
        @functools.wraps(run)
        def guarded(**options: Any) -> None:
            with user_errors(debug=options["debug"]), notes(options["quiet"], options["debug"]):
                run(**options)

        guarded.__dict__["epilog"] = f"Example: {example}"
        return guarded

    return decorate


def add_commands(*commands: Command) -> None:
    """Let the application have these commands; help lists them in this order."""
    for run in commands:
        app.command(epilog=run.__dict__["epilog"])(run)


@contextmanager
def user_errors(debug: bool) -> Iterator[None]:
    """Say in one line what is wrong with what the user gave, or that the fault is ours."""
    try:
        with Interruptible():
            yield
    except typer.Exit:
        raise
    except BrokenPipeError:  # whoever reads has heard enough
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
    """One line on stderr."""
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
    "data": "--data",
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
    "n_seeds": "--seeds",
    "name": "NAME",
    "objective": "--objective",
    "or_none": "",
    "out": "--out",
    "overwrite=True": "--overwrite",
    "privileged": "--privileged",
    "privileged=": "--privileged naming",
    "ratio": "--ratio",
    "selection_size": "--selection-size",
    "signs": "with --monotone, as in arrears:-1",
    "strategy": "--strategy",
    "table": "--table",
    "test_size": "--test-size",
    "trusted": "save it in Python: eifffel.save(..., trusted=...)",
}


def in_options(error: BaseException) -> str:
    """What an error or a warning says, with options in the place of parameters."""
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
