"""``python -m eifffel`` and the command ``eifffel``."""

import sys

from eifffel._optional import import_optional


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        import_optional("typer", "the command line needs")
    except ModuleNotFoundError as error:
        sys.exit(f"eifffel: {error}")
    from eifffel.cli import app

    app(prog_name="eifffel")


if __name__ == "__main__":
    main()
