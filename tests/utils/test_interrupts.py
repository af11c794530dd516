"""Ctrl-C is one line and exit code 130, whenever it comes, and leaves nothing half written."""

import os
import signal
import subprocess
import sys
import time

import pytest
from commands import BAR, COMMAND, start

LINE = "eifffel: interrupted; no file was left half written"
# As installers write it.
SCRIPT = [sys.executable, "-c", "import sys\nfrom eifffel.__main__ import main\nsys.exit(main())"]
# Python runs this at its own start: it tells when the guard stands, and what had been imported for it until then.
TELLS = """
import _signal, os, sys

before, set_handler = set(sys.modules), _signal.signal

def tell(number, handler):
    former = set_handler(number, handler)
    if number == _signal.SIGINT:
        _signal.signal = set_handler
        os.write(int(os.environ["TELL"]), " ".join({*sys.modules} - before - {"sitecustomize"}).encode() + b"\\n")
    return former

_signal.signal = tell
"""


def told_of(text):
    """What is said beside progress bars, line by line."""
    lines = [line.strip() for line in text.replace("\r", "\n").splitlines()]
    return [line for line in lines if line and not BAR.match(line)]


def start_guarded(command, words, folder):
    """Start a command and wait until its guard stands, before which there is nothing of ours; what it had imported."""
    site = folder.parent / f"{folder.name}-site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(TELLS)
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    reader, writer = os.pipe()
    with open(reader) as told:
        process = start(
            words,
            command=command,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": path, "TELL": str(writer)},
            pass_fds=(writer,),
            stdout=subprocess.PIPE,
        )
        os.close(writer)
        return process, told.readline().split()


@pytest.mark.parametrize("command", [COMMAND, SCRIPT], ids=["python -m", "script"])
def test_nothing_is_imported_before_the_guard_stands(command, tmp_path):
    process, imported = start_guarded(command, ["--version"], tmp_path)
    process.communicate(timeout=120)
    ours = {name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names}
    assert ours - {"eifffel.__main__"} == {"eifffel", "eifffel._utils", "eifffel._utils.interrupts"}
    if command is SCRIPT:  # Python's own module for -m imports some more
        assert ours == set(imported)


@pytest.mark.slow
def test_ctrl_c_at_any_moment_of_the_start_and_of_the_work(tmp_path):
    """Moments are spread over the time that this machine takes until a model is trained, which then takes longer."""
    for library in ("pandas", "typer", "rich", "skops", "altair", "vl_convert"):
        pytest.importorskip(library)
    from eifffel.cli._demo import make_applicants

    make_applicants(40_000).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "model.skops").write_text("old")
    words = ["fit", "people.csv", "--target", "granted", "--favorable", "yes", "--sensitive", "gender"]
    words += ["--out", "model.skops", "--report", "report.html", "--overwrite", "--jobs", "1"]

    def assert_interrupted(process, said=b""):
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=120)
        text = (said + rest).decode()
        assert process.returncode == 130, text
        assert told_of(text) == [LINE], text
        assert sorted(os.listdir(tmp_path)) == ["model.skops", "people.csv"]
        assert (tmp_path / "model.skops").read_text() == "old"

    process, _ = start_guarded(COMMAND, words, tmp_path)
    began, said = time.monotonic(), b""
    while b"training" not in said:
        part = os.read(process.stderr.fileno(), 1000)
        assert part, "it ended by itself"
        said += part
    taken = time.monotonic() - began
    assert_interrupted(process, said)
    n_moments = 10
    for k in range(n_moments):
        process, _ = start_guarded((COMMAND, SCRIPT)[k % 2], words, tmp_path)
        time.sleep(taken * k / n_moments)
        assert_interrupted(process)


# What a library may make of an interrupt, each in a small process.


BEGIN = """
import signal, sys
from eifffel._utils import interrupts
from eifffel._utils.interrupts import Interruptible, end_guard, guard, unfinished

def press():
    signal.raise_signal(signal.SIGINT)

guard()
open("half", "w").close()
unfinished.add("half")
"""


def run_small(code, folder):
    words = [sys.executable, "-c", BEGIN + code]

    def hear():
        signal.signal(signal.SIGINT, signal.default_int_handler)

    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=120, preexec_fn=hear)


def assert_ended_at_once(done, folder):
    assert (done.returncode, done.stdout, done.stderr) == (130, "", f"{LINE}\n")
    assert not (folder / "half").exists()


def test_while_nothing_is_done_yet_it_ends_at_once(tmp_path):
    assert_ended_at_once(run_small("press()\nprint('here')", tmp_path), tmp_path)


def test_an_error_made_of_an_interrupt_is_one_again(tmp_path):
    done = run_small(
        """
try:
    with Interruptible():
        try:
            press()
        except KeyboardInterrupt as error:
            raise SystemError("initialization failed") from error
except KeyboardInterrupt:
    print("interrupted")
""",
        tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


def test_an_interrupt_that_somebody_swallowed_is_heard_in_the_end(tmp_path):
    done = run_small(
        """
try:
    with Interruptible():
        try:
            press()
        except BaseException:
            pass
except KeyboardInterrupt:
    print("interrupted")
""",
        tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


def test_an_interrupt_during_an_import_ends_the_process(tmp_path):
    (tmp_path / "without.py").write_text("import __main__\n__main__.press()\n")
    code = (
        "with Interruptible():\n    try:\n        import without\n    except BaseException:\n        print('goes on')"
    )
    assert_ended_at_once(run_small(code, tmp_path), tmp_path)


def test_an_interrupt_where_none_can_be_raised_ends_the_process(tmp_path):
    code = (
        "class Deleted:\n    def __del__(self):\n        press()\nwith Interruptible():\n    Deleted()\n    print('on')"
    )
    assert_ended_at_once(run_small(code, tmp_path), tmp_path)


TWICE = """
with Interruptible():
    try:
        press()
    finally:
        press()
        print("cleaned up")
"""


def test_a_key_that_is_pressed_twice_does_not_stop_the_cleaning_up(tmp_path):
    done = run_small(
        f"try:{TWICE.replace(chr(10), chr(10) + '    ')}\nexcept KeyboardInterrupt: print('told')", tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "cleaned up\ntold\n", "")


def test_who_waits_no_longer_presses_again(tmp_path):
    assert_ended_at_once(run_small(f"interrupts.PATIENCE = -1\n{TWICE}", tmp_path), tmp_path)


def test_what_was_done_stands_while_python_shuts_down(tmp_path):
    done = run_small("import atexit\natexit.register(press)\nend_guard()\nsys.exit(3)", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_a_process_that_was_made_deaf_stays_so(tmp_path):
    """Shells start commands in the background like that."""
    words = [sys.executable, "-c", BEGIN + "with Interruptible():\n    press()\nprint('done')"]
    deaf = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120, **deaf)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
