"""``python -m eifffel`` and the command ``eifffel``."""

import sys

from eifffel._utils.interrupts import end_guard, guard

# What the command line is made with; each comes with the extra cli.
NEEDED = ("typer", "rich", "pandas", "skops")


def main() -> None:
    """Run the command line, or say what it needs."""
    guard()  # before anything is imported that takes time
    from eifffel._utils.optional import import_optional
    from eifffel._version import __version__

    if sys.argv[1:] == ["--version"]:  # without waiting for all that a command needs
        print(f"eifffel {__version__}")
        return
    try:
        for library in NEEDED:
            import_optional(library, "the command line needs")
        from eifffel.cli import run

        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # a console that lacks a sign shows another
        code = run()
    except ModuleNotFoundError as error:
        sys.exit(f"eifffel: {error}")
    end_guard()
    sys.exit(code)


if __name__ == "__main__":
    main()
