"""eifffel reproduce, and what all commands have in common."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import BAR, run, start

import eifffel
from eifffel.experiments import Results
from eifffel.experiments._summary import Runs
from real_data import needs_real_data

pandas = pytest.importorskip("pandas")
typer = pytest.importorskip("typer")


def test_help_and_version():
    assert "reproduce" in run("--help").stdout
    assert run("--version").stdout == f"eifffel {eifffel.__version__}\n"
    for command in ("demo", "fit", "predict", "path", "flip", "audit", "explain", "datasets", "reproduce"):
        shown = run(command, "--help").stdout
        assert re.search(rf"Example:\s+eifffel\s+{command}", shown), "an example"
        for option in ("--json", "--quiet", "--debug"):
            assert option in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "mnist"], "--data must be one of 'adult', 'bank', 'compas', got 'mnist'"),
        (["--data", ","], "--data must name at least one of"),
        (["--data-home", "nowhere"], "--data-home must be a folder, got 'nowhere'"),
        (["--seeds", "0"], "--seeds"),
        (["--sedes", "0"], "No such option"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message, tmp_path):
    done = run("reproduce", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_where_an_error_comes_from(tmp_path):
    done = run("reproduce", "--data", "mnist", "--debug", cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_files_of_somebody_elses_are_not_overwritten(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    done = run("reproduce", "--out", str(tmp_path))
    assert done.returncode == 2
    assert "nothing there is overwritten" in done.stderr
    assert (tmp_path / "README.md").read_text() == "mine"


def test_without_typer_it_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from eifffel.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert done.stderr == "eifffel: the command line needs typer; install it with: pip install 'eifffel[cli]'\n"


@needs_real_data
def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("mine")
    done = run("reproduce", "--out", "file/out", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "eifffel: --out must be a folder that can be written, got 'file/out': Not a directory\n"


@needs_real_data
def test_a_quick_reproduction_of_the_paper(tmp_path):
    done = run("reproduce", "--quick", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6/6" in done.stderr, "a progress bar"
    assert "Read out/README.md" in done.stdout
    frame = Results.read(tmp_path / "out" / "runs.csv").frame
    assert len(frame) == 2 * (78 + 46 + 46)
    assert set(frame["trees"]) == {20}
    page = (tmp_path / "out" / "README.md").read_text()
    assert "One seed has no standard error" in page
    runs = Runs(frame)
    plain = runs.pick(data="adult", method="plain forest", chosen_on="held-out")
    assert plain["accuracy"].item() > 0.83
    assert plain["discrimination"].item() > 0.15
    fair = runs.pick(data="adult", method="EiFFFeL-LF", chosen_on="held-out", epsilon=0.01)
    assert fair["met"].item()
    assert abs(fair["discrimination"].item()) < 0.06
    for picture in (tmp_path / "out" / "figures").glob("*.png"):
        assert picture.read_bytes().startswith(b"\x89PNG")


@needs_real_data
def test_ctrl_c_keeps_what_is_finished(tmp_path):
    arguments = ["reproduce", "--quick", "--data", "compas", "--seeds", "6", "--jobs", "1", "--out", "out"]
    process = start(arguments, cwd=tmp_path, text=True)
    kept = tmp_path / "out" / "runs.csv"
    while not kept.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    finished = Results.read(kept).runs()
    assert 0 < len(finished) < 12
    before = kept.read_bytes()
    done = run(*arguments, "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    rows = kept.read_text().splitlines()
    assert set(before.decode().splitlines()) <= set(rows), "nothing finished was made again"
    assert len(Results.read(kept).runs()) == 12


@needs_real_data
def test_ctrl_c_in_a_terminal_reaches_the_processes_of_the_runs_too(tmp_path):
    """They say nothing of it, at their start nor at work: the command does."""
    words = ["reproduce", "--quick", "--data", "compas", "--seeds", "6", "--jobs", "2", "--out", "out"]
    for moment in (0, 0.5, 2):
        process = start(words, cwd=tmp_path, start_new_session=True)
        said = b""
        while b"runs:" not in said:
            part = os.read(process.stderr.fileno(), 1000)
            assert part, "it ended by itself"
            said += part
        time.sleep(moment)
        os.killpg(process.pid, signal.SIGINT)
        _, rest = process.communicate(timeout=60)
        # An interrupted bar is not always wiped out before something is said behind it.
        lines = (BAR.sub("", line).rpartition("]")[2] for line in re.split(r"[\r\n]+", (said + rest).decode()))
        kept = "eifffel: interrupted; finished runs are kept in out, and the same command goes on from there"
        assert (process.returncode, [line for line in lines if line.strip()]) == (130, [kept])


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
