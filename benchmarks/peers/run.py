"""eifffel beside what people would use instead, on the same splits and the same base forests.

    python benchmarks/peers/run.py [--errors] [--quick] [--jobs N] [--runs FOLDER] [--out FILE.md]

Rates are compared, or with ``--errors`` error rates, on other splits and by those methods that bound them.

Makes an environment for each library below .venv/peers, from the pinned versions in requirements/peers. Answers that
are in the folder are not made again. The paper's data are read from the folder that EIFFFEL_DATA names.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from itertools import product, zip_longest
from pathlib import Path

import lightgbm
import sklearn
from exchange import KEEP, answer_file, model_file
from methods import BY_ERRORS, BY_RATES, EIFFFEL, METHODS, REQUIREMENTS, Contest
from tqdm import tqdm

from eifffel._utils.writing import write_whole

sys.path.append(str(Path(__file__).parents[1]))
from splits import CASES, ERROR_CASES, ERROR_SEED, base_file, make_task, task_file
from write_errors import write_errors
from write_page import write_page

from reproduction.protocol import FEATURES, WITH

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
ENVIRONMENTS = ROOT / ".venv" / "peers"
# What a model is tried in to see whether it is plain.
PLAIN = "plain"
# Whose models are: the quickest to make.
TRIED = ("compas", WITH, 0)
QUICK = ("compas",)
# Last, and one split after the other.
LONG = ("reject-option", "exponentiated-gradient")


@dataclass(frozen=True)
class Job:
    """One method on some splits of one case."""

    method: str
    tasks: tuple[Path, ...]

    def run(self, **environment: str) -> str | None:
        """What failed, if it did, so that others go on."""
        library = METHODS[self.method].library
        script = HERE / f"with_{library.replace('-', '_')}.py"
        log = self.tasks[0].with_name(f"{self.tasks[0].stem}.{self.method}.log")
        with log.open("w") as output:
            done = subprocess.run(
                [python(library), str(script), self.method, *map(str, self.tasks)],
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                env={**os.environ, **environment},
            )
        return f"{self.method} on {self.tasks[0].stem}: what it printed is in {log}" if done.returncode else None


def python(library: str) -> str:
    return sys.executable if library == EIFFFEL else str(ENVIRONMENTS / library / "bin" / "python")


def make_environment(library: str, requirements: list[str]) -> None:
    """Unless it is there, with these requirements."""
    folder = ENVIRONMENTS / library
    marker = folder / "installed"
    wanted = sha256("\n".join(requirements).encode()).hexdigest()
    if marker.exists() and marker.read_text() == wanted:
        return
    print(f"installing {library}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([python(library), "-m", "pip", "install", *quiet, *requirements], check=True)
    marker.write_text(wanted)


def make_environments(libraries: set[str]) -> None:
    if sys.version_info >= (3, 13) or sys.platform != "linux":
        raise SystemExit(
            f"the peers are pinned for Python 3.11 and 3.12 on Linux; this is {sys.version} on {sys.platform}"
        )
    for file in sorted(REQUIREMENTS.glob("*.txt")):
        if file.stem not in libraries:
            continue
        lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
        make_environment(file.stem, lines)
    make_environment(PLAIN, [f"scikit-learn=={sklearn.__version__}", f"lightgbm=={lightgbm.__version__}"])


def jobs(contest: Contest, folder: Path) -> Iterator[Job]:
    """What is not in the folder."""

    def left(name: str) -> Iterator[list[Path]]:
        for case, features in product(contest.cases, FEATURES):
            tasks = [task_file(folder, case, features, seed) for seed in contest.seeds(name, case)]
            yield [task for task in tasks if not answer_file(task, name).exists()]

    for name in contest.methods:
        if name not in LONG:
            yield from (Job(name, tuple(tasks)) for tasks in left(name) if tasks)
    for name in LONG:
        if name in contest.methods:
            yield from (Job(name, (task,)) for row in zip_longest(*left(name)) for task in row if task)


def make_tasks(contest: Contest, folder: Path) -> None:
    wanted = [
        (case, features, seed)
        for case, features in product(contest.cases, FEATURES)
        for seed in max((contest.seeds(name, case) for name in contest.methods), key=len)
    ]
    left = [what for what in wanted if not base_file(task_file(folder, *what)).exists()]
    for what in tqdm(left, desc="base forests", disable=not left):
        make_task(task_file(folder, *what), *what)


def try_models(folder: Path) -> None:
    """Train each method's model once more, and try it in the plain environment; written as ``METHOD.plain.txt``."""
    task = folder / "tried.npz"
    shutil.copyfile(task_file(folder, *TRIED), task)
    for method in METHODS:
        verdict = folder / f"{method}.plain.txt"
        if verdict.exists():
            continue
        stop_if(Job(method, (task,)).run(**{KEEP: "1"}))
        model = model_file(task, method)
        tried = subprocess.run(
            [python(PLAIN), str(HERE / "try_model.py"), str(model)], capture_output=True, text=True, check=True
        )
        write_whole(verdict, tried.stdout)
        model.unlink()


def stop_if(*failed: str | None) -> None:
    told = [message for message in failed if message]
    if told:
        raise SystemExit("\n".join(["some methods failed; run again to try them once more", *told]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errors", action="store_true", help="compare error rates")
    parser.add_argument("--quick", action="store_true", help="two splits of COMPAS alone")
    parser.add_argument("--jobs", type=int, default=2, help="methods at once, each of one core (2)")
    parser.add_argument("--runs", type=Path, default=ROOT / ".runs" / "peers")
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    # Times are of one core.
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")})
    most_seeds = 2 if given.quick else None
    if given.errors:
        contest = Contest(BY_ERRORS, list(QUICK if given.quick else ERROR_CASES), ERROR_SEED, most_seeds)
    else:
        contest = Contest(BY_RATES, list(QUICK if given.quick else CASES), 0, most_seeds)
    given.runs.mkdir(parents=True, exist_ok=True)
    make_environments({method.library for method in contest.methods.values()})
    make_tasks(contest, given.runs)
    todo = list(jobs(contest, given.runs))
    with ThreadPoolExecutor(given.jobs) as pool, tqdm(total=len(todo), desc="methods", disable=not todo) as bar:
        failed = []
        for message in pool.map(Job.run, todo):
            bar.update()
            failed.append(message)
    stop_if(*failed)
    if given.errors:
        write_errors(given.runs, contest, given.out)
        return
    try_models(given.runs)
    write_page(given.runs, contest, given.out)


if __name__ == "__main__":
    main()
