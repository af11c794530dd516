"""What all commands have in common."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run, run_here

import eifffel

pandas = pytest.importorskip("pandas")
typer = pytest.importorskip("typer")


def test_help_and_version():
    assert "datasets" in run_here("--help").stdout
    assert run("--version").stdout == f"eifffel {eifffel.__version__}\n"
    for command in ("demo", "fit", "predict", "path", "flip", "audit", "explain", "export", "datasets"):
        shown = run_here(command, "--help").stdout
        assert re.search(rf"Example:\s+eifffel\s+{command}", shown), "an example"
        for option in ("--json", "--quiet", "--debug"):
            assert option in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["datasets", "mnist", "--out", "new.csv"], "NAME must be one of 'adult', 'bank', 'compas', got 'mnist'"),
        (["datasets", "adult"], "--out is needed: where the table of adult is to be written"),
        (["datasets", "adult", "--out", "new.csv", "--data-home", "nowhere"], "--data-home must be a folder, got 'now"),
        (["demo", "--jobs", "0"], "--jobs"),
        (["demo", "--sedes", "0"], "No such option"),
        (["reproduce"], "No such command 'reproduce'"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message, tmp_path):
    done = run_here(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_where_an_error_comes_from(tmp_path):
    done = run("datasets", "mnist", "--out", "new.csv", "--debug", cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_files_of_somebody_elses_are_not_overwritten(tmp_path):
    (tmp_path / "report.html").write_text("mine")
    done = run_here("demo", "--out", str(tmp_path))
    assert done.returncode == 2
    assert "exists, and is not overwritten unasked" in done.stderr
    assert (tmp_path / "report.html").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1


def test_without_typer_it_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from eifffel.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert done.stderr == "eifffel: the command line needs typer; install it with: pip install 'eifffel[cli]'\n"


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("mine")
    done = run_here("demo", "--out", "file/out", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "eifffel: Not a directory 'file/out'; nothing was written there\n"
    assert (tmp_path / "file").read_text() == "mine"


def lines_of_commands():
    """The commands on the pages, by page."""
    root = Path(__file__).parents[2]
    for page in (root / "README.md", root / "docs" / "start.md", *sorted((root / "docs" / "guide").glob("*.md"))):
        text = page.read_text().replace("\\\n", " ")
        found = re.findall(r"^    (eifffel [a-z]+ .*)$|`(eifffel [a-z]+ [^`]*)`", text, re.MULTILINE)
        yield from ((page.name, indented or inline) for indented, inline in found)


def test_commands_on_the_pages_have_the_options_that_they_use():
    from eifffel.cli._app import app

    commands = typer.main.get_command(app).commands
    n_options = 0
    for page, line in lines_of_commands():
        words = shlex.split(line, comments=True)
        known = {option for parameter in commands[words[1]].params for option in parameter.opts}
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert given <= known, f"{page}: {line}"
        n_options += len(given)
    assert n_options > 40
