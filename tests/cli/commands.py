"""The command line as a user types it."""

import signal
import subprocess
import sys

COMMAND = [sys.executable, "-m", "eifffel"]


def run(*arguments, **options):
    """Run a command in a process of its own."""
    words = [*COMMAND, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, **options)


def start(words, **options):
    """Start a command that hears Ctrl-C, also where whoever runs the tests in the background made them deaf to it."""

    def hear():
        signal.signal(signal.SIGINT, signal.default_int_handler)

    return subprocess.Popen([*COMMAND, *words], stderr=subprocess.PIPE, preexec_fn=hear, **options)


def error_of(done):
    """The one line that a user's mistake gives; fails if there is more, or a traceback."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("eifffel: ")
    return done.stderr.removeprefix("eifffel: ").rstrip("\n")
