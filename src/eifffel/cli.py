"""The command line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

import eifffel
from eifffel.exceptions import DatasetError
from eifffel.experiments import EXPERIMENTS, plan

BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@contextmanager
def user_errors(debug: bool) -> Iterator[None]:
    """Say in one line what is wrong with what the user gave; anything else is a fault of ours and shows as one."""
    try:
        yield
    except (ValueError, DatasetError, ModuleNotFoundError) as error:
        if debug:
            raise
        typer.echo(f"eifffel: {in_options(str(error))}", err=True)
        raise typer.Exit(BAD_INPUT) from None


def in_options(message: str) -> str:
    """The message with the names of options in the place of those of parameters."""
    message = re.sub(r"^(data|out) must", r"--\1 must", message)
    return re.sub(r"\bdata_home\b", "--data-home", message)


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"eifffel {eifffel.__version__}")
        raise typer.Exit


@app.callback()
def eifffel_command(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Make trained tree ensembles fair by editing their leaves."""


@app.command(epilog="Example: eifffel reproduce --data compas --seeds 3 --out results")
def reproduce(
    data: Annotated[str, typer.Option(help="Data sets to run, separated by commas.")] = ",".join(EXPERIMENTS),
    seeds: Annotated[
        int | None, typer.Option(help="Splits per data set; by default 10 of adult, 20 of bank and compas.", min=1)
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder to write to. Finished runs that it holds are not run again.")
    ] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="One seed and 20 trees, to see that it works.")] = False,
    data_home: Annotated[
        Path | None,
        typer.Option(help="Folder with the data sets' files; by default the one that EIFFFEL_DATA names."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Runs at a time; by default one per core.", min=1)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar and no closing words.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Run the EiFFFeL paper's experiments: its tables and figures beside the printed numbers.

    An interrupted run goes on where it stopped if the same command is given again.
    """
    settings: dict[str, Any] = {"n_seeds": seeds}
    if quick:
        settings = {"n_seeds": 1 if seeds is None else seeds, "n_trees": 20}
    with user_errors(debug):
        names = [name.strip() for name in data.split(",") if name.strip()]
        planned = plan(out, data=names, data_home=data_home, n_jobs=jobs, verbose=not quiet, **settings)
    try:
        results = planned.run()
    except KeyboardInterrupt:
        typer.echo(f"\ninterrupted; finished runs are kept in {out}, and the same command goes on from there", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if not quiet:
        typer.echo(f"{len(results.runs())} runs. Read {out / 'README.md'}; tables and figures are beside it.")
