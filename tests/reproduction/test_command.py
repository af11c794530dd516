"""``python -m reproduction``: a mistake is one line before any work, and an interrupted run can go on."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import BAR, start
from joblib import cpu_count
from made_up_runs import use_few_people

from real_data import needs_real_data
from reproduction.__main__ import INTERRUPT_LINE, OPTIONS, main, make_parser
from reproduction.results import Results
from reproduction.summary import Runs

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "reproduction"]
PATHS = [str(ROOT / "benchmarks"), *filter(None, [os.environ.get("PYTHONPATH")])]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(PATHS)}


def run(*arguments, cwd):
    """Run the program in a process of its own."""
    how = {"capture_output": True, "text": True, "check": False, "timeout": 600, "env": ENVIRONMENT}
    return subprocess.run([*COMMAND, *arguments], cwd=cwd, **how)


@pytest.fixture
def run_here(tmp_path, monkeypatch, capsys):
    """Run the program in this process, which is the same code and much faster."""
    monkeypatch.chdir(tmp_path)

    def run_main(*arguments):
        try:
            code = main(arguments)
        except SystemExit as left:
            code = left.code
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return run_main


def error_of(done):
    """The one line that a mistake gives."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("reproduction: ")
    return line.removeprefix("reproduction: ")


def test_help_names_every_option(run_here):
    done = run_here("--help")
    assert done.returncode == 0
    for option in ("--out", "--data", "--seeds", "--quick", "--data-home", "--jobs", "--quiet"):
        assert f" {option} " in done.stdout


def test_what_stands_for_parameters_are_options():
    known = {option for action in make_parser()._actions for option in action.option_strings}
    assert set(OPTIONS.values()) <= known


MISTAKES = [
    (["--out", "new", "--data", "mnist"], "--data must be one of 'adult', 'bank', 'compas', got 'mnist'"),
    (["--out", "new", "--data", ","], "no data set is named; there are adult, bank, compas"),
    (["--out", "new", "--data-home", "nowhere"], "--data-home must be a folder, got 'nowhere'"),
    (["--out", "new", "--seeds", "0"], "argument --seeds: must be an integer of at least 1, got '0'"),
    (["--out", "new", "--seeds", "two"], "argument --seeds: must be an integer of at least 1, got 'two'"),
    (["--out", "new", "--jobs", "-1"], "argument --jobs: must be an integer of at least 1, got '-1'"),
    (["--out", "new", "--sedes", "0"], "unrecognized arguments: --sedes 0 (--help shows what there is)"),
    (["--quick"], "the following arguments are required: --out"),
    (
        ["--out", "new", "--jobs", "1000000"],
        f"--jobs must be {64 * cpu_count():,} at most here, 64 for each core ({cpu_count()}), got 1000000; as many as",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message, run_here, tmp_path):
    assert error_of(run_here(*arguments)).startswith(message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("arguments", "message"), [MISTAKES[0], MISTAKES[3]])
def test_so_it_is_in_a_process_of_its_own(arguments, message, tmp_path):
    assert error_of(run(*arguments, cwd=tmp_path)).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_files_of_somebody_elses_are_not_overwritten(run_here, tmp_path):
    (tmp_path / "README.md").write_text("mine")
    assert "nothing there is overwritten" in error_of(run_here("--out", str(tmp_path)))
    assert (tmp_path / "README.md").read_text() == "mine"


def test_a_folder_that_cannot_be_made(run_here, tmp_path, monkeypatch):
    use_few_people(monkeypatch)
    (tmp_path / "file").write_text("mine")
    said = error_of(run_here("--out", "file/out"))
    assert said == "results cannot be written to the folder 'file/out': Not a directory"


def test_a_disk_that_is_full_is_one_line(run_here, monkeypatch):
    def fail(*args, **options):
        raise OSError(28, "No space left on device")

    use_few_people(monkeypatch)
    monkeypatch.setattr("reproduction.schedule.make_run", fail)
    said = error_of(run_here("--out", "new", "--quick", "--data", "compas", "--jobs", "1", "--quiet"))
    assert said == "[Errno 28] No space left on device"


def test_it_shows_a_bar_and_says_what_to_read(run_here, monkeypatch):
    use_few_people(monkeypatch)
    monkeypatch.setattr("reproduction.schedule.write_figures", lambda runs, folder: None)
    done = run_here("--quick", "--data", "compas", "--out", "out", "--jobs", "1")
    assert done.returncode == 0
    assert "2/2" in done.stderr, "a progress bar"
    assert done.stdout == "2 runs. Read out/README.md; tables and figures are beside it.\n"


@pytest.mark.slow
@needs_real_data
def test_a_quick_reproduction_that_is_interrupted_and_goes_on(tmp_path):
    """One test for both, since tests beside each other would each make all runs."""
    # The smallest data set first, so that a run is soon finished.
    arguments = ["--quick", "--data", "compas,bank,adult", "--jobs", "2", "--out", "out"]
    process = start(arguments, command=COMMAND, cwd=tmp_path, env=ENVIRONMENT, text=True)
    kept = tmp_path / "out" / "runs.csv"
    while not kept.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    assert 0 < len(Results.read(kept).runs()) < 6
    before = kept.read_text()
    done = run(*arguments, "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert set(before.splitlines()) <= set(kept.read_text().splitlines()), "nothing finished was made again"

    results = Results.read(kept)
    assert len(results.runs()) == 6
    assert len(results.frame) == 2 * (78 + 46 + 46)
    assert set(results.frame["trees"]) == {20}
    page = (tmp_path / "out" / "README.md").read_text()
    assert "One seed has no standard error" in page
    assert "Made by `make reproduce` with 20 trees" in page
    runs = Runs(results.frame)
    plain = runs.pick(data="adult", method="plain forest", chosen_on="held-out")
    assert plain["accuracy"].item() > 0.83
    assert plain["discrimination"].item() > 0.15
    fair = runs.pick(data="adult", method="EiFFFeL-LF", chosen_on="held-out", epsilon=0.01)
    assert fair["met"].item()
    assert abs(fair["discrimination"].item()) < 0.06
    pictures = list((tmp_path / "out" / "figures").glob("*.png"))
    assert len(pictures) == 6
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")


def lines_of(text):
    """What is printed beside a bar; an interrupted bar is not always wiped out before a line is printed behind it."""
    lines = (BAR.sub("", line).rpartition("]")[2] for line in re.split(r"[\r\n]+", text))
    return [line for line in lines if line.strip()]


@pytest.mark.slow
@needs_real_data
def test_ctrl_c_in_a_terminal_reaches_the_processes_of_the_runs_too(tmp_path):
    """They print nothing about it, at their start nor at work: the program does."""
    words = ["--quick", "--data", "compas", "--seeds", "6", "--jobs", "2", "--out", "out"]
    for moment in (0, 0.5, 2):
        process = start(words, command=COMMAND, cwd=tmp_path, env=ENVIRONMENT, start_new_session=True)
        said = b""
        while b"runs:" not in said:
            part = os.read(process.stderr.fileno(), 1000)
            assert part, "it ended by itself"
            said += part
        time.sleep(moment)
        os.killpg(process.pid, signal.SIGINT)
        _, rest = process.communicate(timeout=60)
        assert (process.returncode, lines_of((said + rest).decode())) == (130, [INTERRUPT_LINE])


@pytest.mark.slow
def test_ctrl_c_while_it_starts(tmp_path):
    """Once its own code runs, at whatever it imports."""
    for library in ("reproduction.schedule", "sklearn.ensemble", "pandas"):
        code = (
            "import sys, signal, runpy\n"
            "class Press:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            f"        if name == {library!r}:\n"
            "            sys.meta_path.remove(self)\n"
            "            signal.raise_signal(signal.SIGINT)\n"
            "sys.meta_path.insert(0, Press())\n"
            "sys.argv = ['reproduction', '--out', 'out']\n"
            "runpy.run_module('reproduction', run_name='__main__', alter_sys=True)\n"
        )
        process = start(["-c", code], command=[sys.executable], cwd=tmp_path, env=ENVIRONMENT, text=True)
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (130, f"{INTERRUPT_LINE}\n"), library
