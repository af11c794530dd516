"""The paper's experiments from a terminal: ``make reproduce``, or ``PYTHONPATH=benchmarks python -m reproduction``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from eifffel._utils.interrupts import INTERRUPTED, Interruptible, end_guard, guard

BAD_INPUT = 2
QUICK_TREES, QUICK_SEEDS = 20, 1
INTERRUPT_LINE = "reproduction: interrupted; finished runs are kept, and the same command goes on from there"
# What the parameters that messages name are called here.
OPTIONS = {"data": "--data", "data_home": "--data-home", "n_jobs": "--jobs"}


class OneLineParser(argparse.ArgumentParser):
    """A parser that answers a mistake with one line."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and exit."""
        self.exit(BAD_INPUT, f"reproduction: {message} (--help shows what there is)\n")


def make_parser() -> argparse.ArgumentParser:
    """The options of the program."""
    parser = OneLineParser(
        prog="python -m reproduction",
        description="Run the EiFFFeL paper's experiments, and write its tables and figures beside the printed numbers. "
        "An interrupted run goes on where it stopped if the same command is given again.",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder to write to; finished runs that it holds are not run again",
    )
    parser.add_argument("--data", metavar="NAMES", help="adult, bank or compas, or several with commas; all by default")
    parser.add_argument(
        "--seeds",
        type=read_count,
        metavar="N",
        help="splits per data set; by default 10 of adult, 20 of bank and compas",
    )
    parser.add_argument("--quick", action="store_true", help="one seed and 20 trees, to see that it works")
    parser.add_argument(
        "--data-home",
        type=Path,
        metavar="DIR",
        help="folder with the data sets' files; by default the one that EIFFFEL_DATA names",
    )
    parser.add_argument("--jobs", type=read_count, metavar="N", help="runs at a time; by default one per core")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no words; errors are still printed")
    return parser


def read_count(text: str) -> int:
    """A number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, got {text!r}")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program on these arguments, by default those of the process; the exit code."""
    given = make_parser().parse_args(arguments)
    try:
        with Interruptible():
            return run_experiments(given)
    except KeyboardInterrupt:
        end_guard()
        print(INTERRUPT_LINE, file=sys.stderr)
        return INTERRUPTED
    except OSError as error:  # such as a disk that is full
        return print_mistake(str(error))


def run_experiments(given: argparse.Namespace) -> int:
    """Run what was asked for; the exit code."""
    from eifffel.exceptions import Message, message_of
    from reproduction.schedule import plan

    settings: dict[str, Any] = {"n_seeds": given.seeds, "data_home": given.data_home, "n_jobs": given.jobs}
    if given.quick:
        settings |= {"n_seeds": QUICK_SEEDS if given.seeds is None else given.seeds, "n_trees": QUICK_TREES}
    if given.data is not None:
        settings["data"] = [name.strip() for name in given.data.split(",") if name.strip()]
    try:
        planned = plan(given.out, verbose=not given.quiet, **settings)
    except (ValueError, OSError, ModuleNotFoundError) as error:
        message = message_of(error)
        return print_mistake(message.say(OPTIONS) if isinstance(message, Message) else message)
    n_runs = len(planned.run().runs())
    if not given.quiet:
        print(f"{n_runs} runs. Read {given.out / 'README.md'}; tables and figures are beside it.")
    return 0


def print_mistake(message: str) -> int:
    """Print in one line what is wrong with what was given; the exit code."""
    print(f"reproduction: {' '.join(message.split())}", file=sys.stderr)
    return BAD_INPUT


if __name__ == "__main__":
    guard(INTERRUPT_LINE)  # before anything is imported that takes time
    code = main()
    end_guard()
    sys.exit(code)
