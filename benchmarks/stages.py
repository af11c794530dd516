"""Where the time of a path goes: seconds of its stages, with one thread."""

import cProfile
import pstats
from collections.abc import Callable
from pathlib import Path

from page import say, table

# The function that does each, by its file; those of an order are part of it.
STAGES = {
    "the trees are read and packed": ("_base.py", "_compile"),
    "rows go down the trees": ("_traversal.py", "place"),
    "the view is compared with the model": ("_base.py", "verify"),
    "fingerprint of the model": ("_base.py", "fingerprint"),
    "rows are hashed": ("hashing.py", "hash_rows"),
    "rows in leaves are counted": ("counting.py", "count_leaves"),
    "order of the edits": ("tracing.py", "_order"),
    "of that, least squares": ("_least_squares.py", "solve"),
    "counts of every step": ("measure.py", "measure_rows"),
}


def say_stages(work: Callable[[], object], unit: float, of: str, repeats: int = 5) -> None:
    """A table of what the stages take, in the mean over so many turns, as shares of ``unit`` seconds."""
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(repeats):
        work()
    profile.disable()
    stats = pstats.Stats(profile)
    spent = {(Path(file).name, name): cumulative for (file, _, name), (_, _, _, cumulative, _) in stats.stats.items()}
    rows = [[title, f"{spent[where] / repeats / unit:.2f}"] for title, where in STAGES.items() if where in spent]
    rows.append(["all of the path", f"{spent['tracing.py', 'trace_rows'] / repeats / unit:.2f}"])
    say(f"Where the time goes with one thread, in times {of} with one thread (under a profiler, which adds a little):")
    say()
    table(["stage", f"times {of}"], rows)
