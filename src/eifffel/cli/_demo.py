"""eifffel demo: eifffel fit on a synthetic table."""

import shlex
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from eifffel._utils.validation import check_fraction, check_n_jobs
from eifffel._utils.writing import write_whole
from eifffel.cli._app import command, run
from eifffel.cli._finish import check_targets
from eifffel.cli._options import Epsilon, Jobs, OutputOptions
from eifffel.cli._printing import say
from eifffel.datasets import make_biased_classification
from eifffel.selection.bounds import EPSILON

ROWS = 40_000
USE = "None: the people of this table are made up, to show what eifffel does."


@command(example="eifffel demo --out demo")
def demo(
    output: OutputOptions,
    out: Annotated[Path, typer.Option(help="Folder to write to; it is made if need be.")] = Path("eifffel-demo"),
    epsilon: Epsilon = None,
    jobs: Jobs = None,
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
        check_targets(overwrite=output.overwrite, report=report, table=table, model=model)
    out.mkdir(parents=True, exist_ok=True)
    write_whole(table, make_applicants(ROWS).to_csv(index=False))
    words = ["fit", str(table), "--target", "granted", "--favorable", "yes", "--sensitive", "gender"]
    words += ["--epsilon", f"{epsilon:g}", "--out", str(model), "--report", str(report), "--intended-use", USE]
    words += [] if jobs is None else ["--jobs", str(jobs)]
    words += [f"--{name}" for name in ("overwrite", "json", "quiet", "debug") if getattr(output, name)]
    if output.in_words:
        command_line = shlex.join(["eifffel", *words])
        say(f"{ROWS:,} synthetic applicants are in {table}. This does the same as:\n  {command_line}\n")
    code = run(words)
    if code:
        raise typer.Exit(code)


def make_applicants(n_rows: int) -> pd.DataFrame:
    """Synthetic applicants for a loan, with words for groups and labels."""
    people = make_biased_classification(n_rows, random_state=0)
    frame = pd.DataFrame(people.data, columns=people.feature_names).round(2)
    frame["part_time"] = np.where(frame["part_time"] == 1, "yes", "no")
    frame["region"] = np.array(list("ABCDEFGH"), object)[frame["region"].astype(int)]
    frame["gender"] = np.where(people.sensitive == 1, "man", "woman")
    frame["granted"] = np.where(people.target == 1, "yes", "no")
    return frame
