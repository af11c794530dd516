"""Threads and progress for the passes over trees and rows."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from threading import RLock
from typing import Any, NamedTuple, TypeVar

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

Result = TypeVar("Result")

_BLAS_LIMIT = RLock()

# (row, tree) pairs of plain sums from which on a second thread saves more than waking it costs.
PAIRS_WORTH_A_THREAD = 1 << 21


def jobs_for(n_pairs: int, n_jobs: int | None) -> int | None:
    """The jobs to take for sums over (row, tree) pairs: one where there is little to do."""
    return n_jobs if n_pairs >= PAIRS_WORTH_A_THREAD else 1


def all_threads() -> int:
    """How many threads there are for libraries that take all: those that OpenMP may have, or else one for each core."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdigit() and int(said) else cpu_count()


class Bar(NamedTuple):
    """A progress bar that appears once its work has taken a second, if at all."""

    description: str
    verbose: int = 0

    def open(self, total: int | None, **options: Any) -> Any:
        """The bar itself, to be used in a ``with`` block."""
        return tqdm(total=total, desc=self.description, disable=not self.verbose, delay=1, leave=False, **options)


def run_threads(
    function: Callable[[Any], Any],
    arguments: Sequence[Any],
    *,
    n_jobs: int | None,
    verbose: int,
    description: str,
) -> list[Any]:
    """Call ``function`` with each argument in threads; the results keep the order of the arguments.

    ``n_jobs`` means what it means in scikit-learn; its threads are started here because joblib's cost more per call
    than a pass over one tree. The work must release the interpreter lock, as compiled kernels and tree traversal do.
    A progress bar appears with ``verbose`` once the work has taken a second.
    """
    n_threads = min(effective_n_jobs(n_jobs), len(arguments))
    progress = Bar(description, verbose).open(len(arguments))
    with progress, ThreadPoolExecutor(n_threads) as executor:
        # One thread is the caller's own: no pool to start, and a traceback without it.
        results = map(function, arguments) if n_threads == 1 else executor.map(function, arguments)
        return [_counted(result, progress) for result in results]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra in the block takes one thread; one thread at a time may be in such a block.

    Products of few columns gain nothing by more, and where other work takes the cores, each thread waits for all. The
    limit is one of the process: of two that overlapped, the one that ends last would put back what the other had set.
    """
    with _BLAS_LIMIT, threadpool_limits(limits=1, user_api="blas"):
        yield


def start_beside(work: Callable[[], Result], n_jobs: int | None) -> Callable[[], Result]:
    """Begin work that releases the interpreter lock in a thread of its own; what is returned waits for its result.

    With one job it is done when it is asked for.
    """
    if effective_n_jobs(n_jobs) == 1:
        return work
    with_one = ThreadPoolExecutor(1)
    begun = with_one.submit(work)
    with_one.shutdown(wait=False)
    return begun.result


def _counted(result: Any, progress: Any) -> Any:
    progress.update()
    return result


def split_evenly(n: int, n_jobs: int | None) -> list[slice]:
    """Cut ``n`` rows, or trees, into one slice for each job."""
    n_slices = max(1, min(n, effective_n_jobs(n_jobs)))
    bounds = [n * k // n_slices for k in range(n_slices + 1)]
    return [slice(low, high) for low, high in pairwise(bounds)]
