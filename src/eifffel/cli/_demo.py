"""eifffel demo: the main job on built-in data."""

import shlex
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from eifffel._validation import check_fraction, check_n_jobs
from eifffel._writing import write_whole
from eifffel.bounds import EPSILON
from eifffel.cli import _app as shared
from eifffel.cli._finish import check_targets
from eifffel.cli._fit import fit
from eifffel.cli._printing import say
from eifffel.datasets import make_biased_classification
from eifffel.strategies import ANY, AUTO

ROWS = 40_000


@shared.command(example="eifffel demo --out demo")
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to; it is made if need be.")] = Path("eifffel-demo"),
    epsilon: shared.Epsilon = None,
    overwrite: shared.Overwrite = False,
    jobs: shared.Jobs = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Make a table of synthetic applicants, train a forest on it, make it fair, and write model and report.

    The group is not among the features; the forest favours one through proxies.
    """
    table, model, report = out / "applicants.csv", out / "model.skops", out / "report.html"
    epsilon = EPSILON if epsilon is None else epsilon
    check_fraction("epsilon", epsilon)
    check_n_jobs(jobs)
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"'{out}' is a file; name a folder with --out")
    if out.is_dir():
        check_targets(overwrite=overwrite, report=report, table=table, model=model)
    out.mkdir(parents=True, exist_ok=True)
    write_whole(table, make_applicants(ROWS).to_csv(index=False))
    words = ["eifffel", "fit", str(table), "--target", "granted", "--favorable", "yes", "--sensitive", "gender"]
    words += ["--epsilon", f"{epsilon:g}", "--out", str(model), "--report", str(report)]
    if not quiet and not json:
        say(f"{ROWS:,} synthetic applicants are in {table}. This does the same as:\n  {shlex.join(words)}\n")
    fit(
        data=table,
        target="granted",
        sensitive="gender",
        out=model,
        favorable="yes",
        privileged=None,
        keep_sensitive=False,
        constraint=None,
        combine=None,
        min_group_rows=None,
        missing=None,
        epsilon=epsilon,
        ratio=None,
        alpha=None,
        confidence=None,
        objective="accuracy",
        strategy=AUTO,
        direction=ANY,
        model="rf",
        drop=None,
        test_size=0.2,
        selection_size=0.25,
        drop_missing=False,
        separator=None,
        report=report,
        intended_use="None: the people of this table are made up, to show what eifffel does.",
        seed=0,
        jobs=jobs,
        overwrite=overwrite,
        json=json,
        quiet=quiet,
        debug=debug,
    )


def make_applicants(n_rows: int) -> pd.DataFrame:
    """Synthetic applicants for a loan, with words for groups and labels."""
    people = make_biased_classification(n_rows, random_state=0)
    frame = pd.DataFrame(people.data, columns=people.feature_names).round(2)
    frame["part_time"] = np.where(frame["part_time"] == 1, "yes", "no")
    frame["region"] = np.array(list("ABCDEFGH"), object)[frame["region"].astype(int)]
    frame["gender"] = np.where(people.sensitive == 1, "man", "woman")
    frame["granted"] = np.where(people.target == 1, "yes", "no")
    return frame
