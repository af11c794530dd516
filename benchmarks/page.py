"""What a benchmark prints, kept to be written to a file."""

import platform
from pathlib import Path

import sklearn

import eifffel
from eifffel._utils.writing import write_whole

LINES: list[str] = []
VERSIONS = f"eifffel {eifffel.__version__}, scikit-learn {sklearn.__version__}, Python {platform.python_version()}"


def say(line: str = "") -> None:
    """Print a line, and keep it."""
    print(line, flush=True)
    LINES.append(line)


def table(head: list[str], rows: list[list[str]]) -> None:
    """A table, and an empty line after it."""
    say(f"| {' | '.join(head)} |")
    say(f"|{'---|' * len(head)}")
    for row in rows:
        say(f"| {' | '.join(row)} |")
    say()


def save(path: Path | None) -> None:
    """Write all lines said to ``path``, if there is one."""
    if path is not None:
        write_whole(path, "\n".join(LINES).rstrip("\n") + "\n")
