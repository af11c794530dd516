"""Ctrl-C on the command line: one line and exit code 130, from the first moment on.

Nothing is imported here that Python has not loaded at its own start, so that the guard stands before what takes time.
"""

import _signal  # type: ignore[import-not-found]  # signal would load enum first, which takes longer than all before it
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType

INTERRUPTED = 130
NOTHING_HALF_WRITTEN = "no file was left half written"

# Seconds within which another Ctrl-C is one that was pressed twice, and what is being cleaned up goes on.
PATIENCE = 1.0

# Files that are being written, under temporary names.
unfinished: set[str] = set()

# What is printed where the process is ended at once.
_line = f"eifffel: interrupted; {NOTHING_HALF_WRITTEN}"


def guard(line: str = _line) -> None:
    """Make Ctrl-C print a line and end the process at once, unless its parent process had it ignore Ctrl-C."""
    global _line
    _line = line
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _leave)


def end_guard() -> None:
    """Ignore Ctrl-C from here on, while the outcome of a command is printed and while Python shuts down."""
    if _is_guarded():
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)


class Interruptible:
    """While a command works, Ctrl-C raises KeyboardInterrupt, so that it cleans up; another ends the process at once.

    Whatever else comes out, such as the error that a library makes of it, is turned into KeyboardInterrupt again.
    """

    asked: float | None = None  # when

    def __enter__(self) -> None:
        self._handler, self._hook = _signal.getsignal(_signal.SIGINT), sys.unraisablehook
        if _is_guarded():
            sys.unraisablehook = self._hear_unraisable
            _signal.signal(_signal.SIGINT, _interrupt)

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        if _is_guarded():
            sys.unraisablehook = self._hook
            if Interruptible.asked is not None and not isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            if Interruptible.asked is None:
                _signal.signal(_signal.SIGINT, self._handler)

    def _hear_unraisable(self, raised: "sys.UnraisableHookArgs") -> None:
        """Where no error can be raised, such as in ``__del__``, an interrupt would be printed and lost."""
        if issubclass(raised.exc_type, KeyboardInterrupt):
            _leave()
        self._hook(raised)


def _is_guarded() -> bool:
    return _signal.getsignal(_signal.SIGINT) in (_leave, _interrupt)


def _interrupt(number: int, frame: "FrameType | None") -> None:
    now, asked = time.monotonic(), Interruptible.asked
    if asked is None and not _is_importing(frame):
        Interruptible.asked = now
        raise KeyboardInterrupt
    if asked is None or now > asked + PATIENCE:
        _leave()


def _is_importing(frame: "FrameType | None") -> bool:
    """Whether a module is being imported, which makes another error of an interrupt, or goes on without the module."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _leave(number: int = 0, frame: "FrameType | None" = None) -> None:
    """End the process here and now, so that nothing can make anything else of it; no file stays half written."""
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    try:
        for path in filter(os.path.exists, unfinished.copy()):
            os.unlink(path)
        os.write(2, f"{_wipe()}{_line}\n".encode())
    finally:
        os._exit(INTERRUPTED)


def _wipe() -> str:
    """What wipes out a progress bar, if there is one."""
    bars = getattr(getattr(sys.modules.get("tqdm"), "tqdm", None), "_instances", ())
    if not len(bars):
        return ""
    return "\r\x1b[K" if os.isatty(2) else f"\r{' ' * 120}\r"
