"""Options are declared once, in groups, and a command takes groups."""

import inspect
from collections import defaultdict
from typing import Annotated

import pytest

pytest.importorskip("pandas")
for library in ("typer", "skops"):
    pytest.importorskip(library)

import typer  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from eifffel.cli import app  # noqa: E402
from eifffel.cli._app import command  # noqa: E402
from eifffel.cli._groups import OptionGroup, declares_options, flatten_groups  # noqa: E402
from eifffel.cli._options import OutputOptions  # noqa: E402

COMMANDS = typer.main.get_command(app).commands
# Options that say something else in one command than in another.
OWN = {"data", "epsilon", "out", "ratio", "target", "sensitive", "model"}


@declares_options(panel="Colours")
class Colours(OptionGroup):
    """Some options."""

    ink: Annotated[str, typer.Option(help="Of the text.")]
    paper: Annotated[str, typer.Option(help="Below the text.")] = "white"


@declares_options(panel="Sizes")
class Layout(Colours):
    """Some more."""

    width: Annotated[int, typer.Option(help="In letters.", min=1)] = 80


def draw(first: Annotated[str, typer.Argument(help="A word.")], layout: Layout, times: int = 1) -> None:
    """Draw something."""
    typer.echo(f"{first} {layout} {times}")


def test_options_of_a_group_become_parameters_in_its_place():
    parameters = inspect.signature(flatten_groups(draw)).parameters
    assert list(parameters) == ["first", "ink", "paper", "width", "times"]
    assert parameters["ink"].default is inspect.Parameter.empty
    assert [parameters[name].default for name in ("paper", "width", "times")] == ["white", 80, 1]


def test_a_command_gets_its_groups(capsys):
    flatten_groups(draw)(first="a", ink="red", paper="blue", width=3, times=2)
    assert capsys.readouterr().out == "a Layout(ink='red', paper='blue', width=3) 2\n"


def test_typer_reads_them():
    shown = typer.Typer(add_completion=False)
    shown.command()(flatten_groups(draw))
    done = CliRunner().invoke(shown, ["a", "--ink", "red", "--width", "5"])
    assert done.stdout == "a Layout(ink='red', paper='white', width=5) 1\n"
    panels = {one.name: getattr(one, "rich_help_panel", None) for one in typer.main.get_command(shown).params}
    assert panels == {"first": None, "ink": "Colours", "paper": "Colours", "width": "Sizes", "times": None}
    assert CliRunner().invoke(shown, ["a"]).exit_code == 2, "a required option is one in a group"
    assert CliRunner().invoke(shown, ["a", "--ink", "red", "--width", "0"]).exit_code == 2


def test_an_error_of_a_command_with_groups_is_one_line(capsys):
    @command(example="eifffel fail")
    def fail(output: OutputOptions) -> None:
        raise ValueError("something is wrong")

    with pytest.raises(typer.Exit) as error:
        fail(overwrite=False, json=False, quiet=False, debug=False)
    assert error.value.exit_code == 2
    assert capsys.readouterr().err == "eifffel: something is wrong\n"


def test_an_option_says_the_same_in_every_command():
    said = defaultdict(set)
    for parameters in (one.params for one in COMMANDS.values()):
        for one in parameters:
            said[one.name].add((one.help, str(one.default), tuple(one.opts), one.metavar))
    assert {name for name, texts in said.items() if len(texts) > 1} <= OWN
    assert len(said) > 40


def test_no_command_takes_many_parameters():
    """What belongs together is a group."""
    for one in COMMANDS.values():
        assert len(inspect.signature(inspect.unwrap(one.callback), follow_wrapped=True).parameters) < 8, one.name
