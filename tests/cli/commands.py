"""The command line as a user types it."""

import io
import re
import signal
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout

COMMAND = [sys.executable, "-m", "eifffel"]

BAR = re.compile(r"([\w. ]+:)? *\d+%\|")


def run(*arguments, **options):
    """Run a command in a process of its own."""
    words = [*COMMAND, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, **options)


def run_here(*arguments, cwd="."):
    """Run a command in this process: it is the same code and much faster."""
    from eifffel.cli import run as run_command

    out, err = io.StringIO(), io.StringIO()
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        code = run_command([str(word) for word in arguments])
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def start(words, command=COMMAND, **options):
    """Start a command that hears Ctrl-C, also where whoever runs the tests in the background made them deaf to it."""

    def hear():
        signal.signal(signal.SIGINT, signal.default_int_handler)

    return subprocess.Popen([*command, *words], stderr=subprocess.PIPE, preexec_fn=hear, **options)


def error_of(done):
    """The one line that a user's mistake gives; fails if there is more, or a traceback."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    # On a slow machine there was a bar before it, which was wiped out.
    lines = [line for line in done.stderr.splitlines() if line.strip() and not BAR.match(line)]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("eifffel: "), done.stderr
    return lines[0].removeprefix("eifffel: ")
