"""A folder and what is asked for -> the missing runs, then the page, tables and figures of all runs."""

import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils import Bunch
from tqdm.auto import tqdm

from eifffel._utils.optional import import_optional
from eifffel._utils.validation import check_choice, check_n_jobs, check_number
from eifffel._utils.writing import UNFINISHED
from reproduction import protocol
from reproduction.output import write_figures, write_texts
from reproduction.results import Results
from reproduction.runs import make_run
from reproduction.summary import Runs

RUNS_FILE = "runs.csv"
Run = tuple[str, str, int]  # data set, features, seed


@dataclass(frozen=True, eq=False)
class Plan:
    """A folder that was checked, and the runs to make in it.

    Attributes
    ----------
    folder : Path
    results : Results
        Of the runs that were made earlier.
    wanted, missing : list of tuples (data set, features, seed)
        All runs, and those that are still to be made.
    n_trees : int
    people : dict of Bunch
        The data sets that are needed.
    n_jobs : int
        Runs at a time.
    verbose : int
    """

    folder: Path
    results: Results
    wanted: list[Run]
    missing: list[Run]
    n_trees: int
    people: dict[str, Bunch]
    n_jobs: int
    verbose: int

    def run(self) -> Results:
        """Make the runs that are missing, then write the page, tables and figures of all.

        Returns
        -------
        Results
        """
        finished = len(self.wanted) - len(self.missing)
        progress = tqdm(total=len(self.wanted), initial=finished, desc="runs", unit="run", disable=not self.verbose)
        tasks = (
            delayed(_run)(name, self.people[name], features, seed, n_trees=self.n_trees, n_jobs=1)
            for name, features, seed in self.missing
        )
        # One process for each run uses the cores better than threads within a run.
        one_a_process = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")
        with progress, warnings.catch_warnings(), one_a_process as parallel:
            # joblib warns if the loop is interrupted.
            warnings.filterwarnings("ignore", ".* tasks which were still being processed", UserWarning)
            with _blocked_interrupts():
                made = parallel(tasks)
            for outcomes in made:
                self.results.add(outcomes, self.n_trees)
                progress.update()
        runs = Runs(self.results.frame)
        write_figures(runs, self.folder)
        write_texts(runs, self.folder)
        return self.results


@contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Block Ctrl-C in processes that are started here: a terminal sends it to all of them, and this one ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # a process that unblocks them when it is started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(*what: Any, **how: Any) -> Any:
    """Make a run in a process of its own: its bars need no lock with others, which would be lost when it is ended."""
    tqdm.set_lock(threading.RLock())
    return make_run(*what, **how)


def plan(
    out: str | os.PathLike[str],
    *,
    data: str | Sequence[str] | None = None,
    n_seeds: int | None = None,
    n_trees: int = protocol.N_TREES,
    data_home: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: int = 1,
) -> Plan:
    """Check everything that `reproduce` is given, the data and the folder too, before any work is done.

    Parameters
    ----------
    out, data, n_seeds, n_trees, data_home, n_jobs, verbose
        As in `reproduce`.

    Returns
    -------
    Plan
        ``wanted`` and ``missing`` are runs as tuples (data set, features, seed); its ``run()`` makes them.

    Raises
    ------
    ValueError
        If something given makes no sense, or the folder holds other files or runs of another setting.
    DatasetError
        If data cannot be had.
    ModuleNotFoundError
        If pandas or matplotlib is not installed.

    Examples
    --------
    >>> from reproduction.schedule import plan
    >>> planned = plan("results", data="compas", n_seeds=2)  # doctest: +SKIP
    >>> len(planned.missing), planned.missing[0]  # doctest: +SKIP
    (4, ('compas', 'with', 0))
    """
    given = list(protocol.EXPERIMENTS) if data is None else [data] if isinstance(data, str) else data
    names = list(dict.fromkeys(given))
    if not names:
        raise ValueError(f"no data set is named; there are {', '.join(protocol.EXPERIMENTS)}")
    for name in names:
        check_choice("data", name, list(protocol.EXPERIMENTS))
    check_number("n_seeds", n_seeds, at_least=1, integer=True, optional=True)
    check_number("n_trees", n_trees, at_least=2, integer=True)
    check_n_jobs(n_jobs)
    import_optional("matplotlib", "figures need")
    folder = Path(out)
    results = _open(folder)
    results.check_setting(n_trees)
    wanted = list(_runs(names, n_seeds))
    missing = [one for one in wanted if one not in results.runs()]
    people = {}
    for name in dict.fromkeys(name for name, _, _ in missing):
        fetched = protocol.EXPERIMENTS[name].fetch(data_home=data_home, verbose=verbose)
        people[name] = Bunch(**{part: fetched[part] for part in ("data", "target", "sensitive", "sensitive_columns")})
    _make_writable(folder)
    return Plan(
        folder=folder,
        results=results,
        wanted=wanted,
        missing=missing,
        n_trees=n_trees,
        people=people,
        n_jobs=min(effective_n_jobs(-1 if n_jobs is None else n_jobs), max(1, len(missing))),
        verbose=verbose,
    )


def reproduce(
    out: str | os.PathLike[str],
    *,
    data: str | Sequence[str] | None = None,
    n_seeds: int | None = None,
    n_trees: int = protocol.N_TREES,
    data_home: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: int = 1,
) -> Results:
    """Run the paper's experiments and write tables, figures and a page that says what they show.

    Finished runs are kept in ``runs.csv`` in ``out``; called again with the same folder, only those that are missing
    are run. A run is one split of one data set, with the sensitive column among the features or without.

    Parameters
    ----------
    out : path
        The folder to write to: one that does not exist, is empty, or is of an earlier call.
    data : {"adult", "bank", "compas"} or list of them, optional
        By default all three.
    n_seeds : int, optional
        How many splits; by default 10 for Adult and 20 for Bank and COMPAS.
    n_trees : int
        In each forest, 100 by default; DFRF has half as many.
    data_home : path, optional
        Where the data are, as in `eifffel.datasets.fetch_adult`.
    n_jobs : int, optional
        Runs at a time; by default one for each core.
    verbose : int
        Above 0, the default, a progress bar.

    Returns
    -------
    Results
        ``frame``, a pandas data frame, has one row per run, method and bound.

    Raises
    ------
    ValueError, DatasetError, ModuleNotFoundError
        As in `plan`, before any work is done.

    See Also
    --------
    plan : Checks the same, and runs nothing.

    Examples
    --------
    >>> from reproduction.schedule import reproduce
    >>> results = reproduce("results", data="compas", n_seeds=1)  # doctest: +SKIP
    >>> results.frame.groupby("method")["accuracy"].mean()  # doctest: +SKIP
    """
    planned = plan(
        out, data=data, n_seeds=n_seeds, n_trees=n_trees, data_home=data_home, n_jobs=n_jobs, verbose=verbose
    )
    return planned.run()


def _open(folder: Path) -> Results:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"results need a folder, and {str(folder)!r} is a file")
    others = [path for path in folder.iterdir() if path.suffix != UNFINISHED] if folder.is_dir() else []
    if others and not (folder / RUNS_FILE).exists():
        raise ValueError(
            f"{folder} holds files, but no {RUNS_FILE} of an earlier run; nothing there is overwritten: give an empty "
            "folder, or one that does not exist"
        )
    return Results.read(folder / RUNS_FILE)


def _make_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(f"results cannot be written to the folder {str(folder)!r}: {error.strerror}") from None


def _runs(names: Iterable[str], n_seeds: int | None) -> Iterable[Run]:
    """Seed after seed, so that an interrupted run has something of every data set."""
    n_of = {name: protocol.EXPERIMENTS[name].n_seeds if n_seeds is None else n_seeds for name in names}
    for seed in range(max(n_of.values(), default=0)):
        yield from ((name, features, seed) for name, n in n_of.items() if seed < n for features in protocol.FEATURES)
