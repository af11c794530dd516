"""One progress bar for a whole command, with the time that is left."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import time
from types import TracebackType
from typing import Any

from tqdm.auto import tqdm

# About how long the parts of a command take, beside each other.
SHARES = {"training": 45, "tracing": 15, "measuring": 10, "saving": 10, "report": 15}
DELAY = 1

Advance = Callable[[float], None]


class UntilClosed:
    """Standard error for bars; where it is closed, nothing is written."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)

    def write(self, text: str) -> None:
        if sys.stderr is not None:
            with suppress(BrokenPipeError):
                sys.stderr.write(text)

    def flush(self) -> None:
        if sys.stderr is not None:
            with suppress(BrokenPipeError):
                sys.stderr.flush()


def print_line(text: str) -> None:
    """Print a line on standard error; a bar that is shown is cleared first, and appears again by itself."""
    for bar in list(getattr(tqdm, "_instances", ())):
        if bar.last_print_t >= bar.start_t + bar.delay:  # it is shown
            bar.clear()
    print(text, file=UntilClosed())


class Progress:
    """A bar over the stages of a command, named by keys of `SHARES`; it appears after a second."""

    def __init__(self, stages: tuple[str, ...], *, verbose: bool):
        total = sum(SHARES[stage] for stage in stages)
        form = "{desc}{percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
        self._bar = tqdm(
            total=total, delay=DELAY, disable=not verbose, leave=False, bar_format=form, file=UntilClosed()
        )
        self._ended = threading.Event()
        # Time goes on where a stage cannot say how far it is.
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> "Progress":
        if not self._bar.disable:
            self._clock.start()
        return self

    def _tick(self) -> None:
        while not self._ended.wait(DELAY):
            self._bar.refresh()
            self._bar.last_print_t = time()  # so that it knows that it is there to be cleared

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._clock.is_alive():
            self._clock.join()
        self._bar.close()

    @contextmanager
    def stage(self, name: str, words: str | None = None) -> Iterator[Advance]:
        """Show a stage while it lasts; it gives a function to call when a part of it, such as 0.1, is done."""
        share = SHARES[name]
        end = self._bar.n + share
        self._bar.set_description(words or name, refresh=False)
        yield lambda part: self._update(part * share)
        self._update(end - self._bar.n)

    def _update(self, amount: float) -> None:
        if not self._bar.disable:
            self._bar.update(amount)
