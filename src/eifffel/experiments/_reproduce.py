"""Which runs are to be made in which folder; making them, and everything that is made of them."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils import Bunch
from tqdm.auto import tqdm

from eifffel._optional import import_optional
from eifffel._validation import check_choice, check_n_jobs, check_number
from eifffel.experiments import _protocol as protocol
from eifffel.experiments._pages import write_pages
from eifffel.experiments._results import Results
from eifffel.experiments._runs import Outcome, run

RUNS_FILE = "runs.csv"
Run = tuple[str, str, int]  # data set, features, seed


@dataclass(frozen=True, eq=False)
class Plan:
    """A folder that was looked at, and the runs to make in it."""

    folder: Path
    results: Results
    wanted: list[Run]
    missing: list[Run]
    n_trees: int
    data_home: Path | None
    n_jobs: int
    verbose: int

    def run(self) -> Results:
        """Make the runs that are missing, then write the page, tables and figures of all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        finished = len(self.wanted) - len(self.missing)
        progress = tqdm(total=len(self.wanted), initial=finished, desc="runs", unit="run", disable=not self.verbose)
        with progress, Parallel(n_jobs=self.n_jobs, return_as="generator_unordered") as parallel:
            # One process a run, which uses the cores better than threads within it.
            for outcomes in parallel(delayed(_run)(one, self.data_home, self.n_trees) for one in self.missing):
                self.results.add(outcomes, self.n_trees)
                progress.update()
        write_pages(self.results.frame, self.folder)
        return self.results


def plan(
    out: str | os.PathLike[str],
    *,
    data: Sequence[str] | None = None,
    n_seeds: int | None = None,
    n_trees: int = protocol.N_TREES,
    data_home: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: int = 1,
) -> Plan:
    """Check everything that `reproduce` is given, the data too, before any work is done."""
    names = list(protocol.EXPERIMENTS) if data is None else list(dict.fromkeys(data))
    if not names:
        raise ValueError(f"data must name at least one of {', '.join(protocol.EXPERIMENTS)}, got none")
    for name in names:
        check_choice("data", name, list(protocol.EXPERIMENTS))
    check_number("n_seeds", n_seeds, at_least=1, integer=True, optional=True)
    check_number("n_trees", n_trees, at_least=2, integer=True)
    check_n_jobs(n_jobs)
    import_optional("matplotlib", "figures need")
    folder, home = Path(out), None if data_home is None else Path(data_home)
    results = _open(folder)
    results.check_setting(n_trees)
    wanted = list(_runs(names, n_seeds))
    missing = [one for one in wanted if one not in results.runs()]
    for name in dict.fromkeys(name for name, _, _ in missing):
        _fetch(name, home)
    return Plan(
        folder=folder,
        results=results,
        wanted=wanted,
        missing=missing,
        n_trees=n_trees,
        data_home=home,
        n_jobs=min(effective_n_jobs(-1 if n_jobs is None else n_jobs), max(1, len(missing))),
        verbose=verbose,
    )


def reproduce(out: str | os.PathLike[str], **settings: Any) -> Results:
    """Run the paper's experiments and write tables, figures and a page that says what they show.

    Finished runs are kept in ``runs.csv`` in ``out``; called again with the same folder, only those that are missing
    are run. A run is one split of one data set, with the sensitive column among the features or without.

    Parameters
    ----------
    out : path
        The folder to write to: one that does not exist, is empty, or is of an earlier call.
    data : list of {"adult", "bank", "compas"}, optional
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
    """
    return plan(out, **settings).run()


def _open(folder: Path) -> Results:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"out must be a folder, got {str(folder)!r}, which is a file")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RUNS_FILE).exists():
        raise ValueError(
            f"{folder} holds files, but no {RUNS_FILE} of an earlier run; nothing there is overwritten: give an empty "
            "folder, or one that does not exist"
        )
    return Results.read(folder / RUNS_FILE)


def _runs(names: Iterable[str], n_seeds: int | None) -> Iterable[Run]:
    """Seed after seed, so that an interrupted run has something of every data set."""
    n_of = {name: protocol.EXPERIMENTS[name].n_seeds if n_seeds is None else n_seeds for name in names}
    for seed in range(max(n_of.values(), default=0)):
        yield from ((name, features, seed) for name, n in n_of.items() if seed < n for features in protocol.FEATURES)


@cache
def _fetch(name: str, data_home: Path | None) -> Bunch:
    return protocol.EXPERIMENTS[name].fetch(data_home=data_home)


def _run(one: Run, data_home: Path | None, n_trees: int) -> list[Outcome]:
    name, features, seed = one
    return run(name, _fetch(name, data_home), features, seed, n_trees=n_trees, n_jobs=1)
