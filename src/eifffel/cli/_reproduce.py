"""eifffel reproduce: the paper's experiments."""

from pathlib import Path
from typing import Annotated, Any

import typer

from eifffel._validation import check_n_jobs
from eifffel.cli import _app as shared
from eifffel.cli._printing import say, say_json
from eifffel.experiments import EXPERIMENTS, plan


@shared.command(example="eifffel reproduce --data compas --seeds 3 --out results")
def reproduce(
    data: Annotated[str, typer.Option(help="Data sets to run, separated by commas.")] = ",".join(EXPERIMENTS),
    seeds: Annotated[
        int | None, typer.Option(help="Splits per data set; by default 10 of adult, 20 of bank and compas.", min=1)
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder to write to. Finished runs that it holds are not run again.")
    ] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="One seed and 20 trees, to see that it works.")] = False,
    data_home: Annotated[
        Path | None,
        typer.Option(help="Folder with the data sets' files; by default the one that EIFFFEL_DATA names."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Runs at a time; by default one per core.", min=1)] = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Run the EiFFFeL paper's experiments: its tables and figures beside the printed numbers.

    An interrupted run goes on where it stopped if the same command is given again.
    """
    check_n_jobs(jobs)
    settings: dict[str, Any] = {"n_seeds": seeds}
    if quick:
        settings = {"n_seeds": 1 if seeds is None else seeds, "n_trees": 20}
    names = [name.strip() for name in data.split(",") if name.strip()]
    planned = plan(out, data=names, data_home=data_home, n_jobs=jobs, verbose=not quiet, **settings)
    try:
        results = planned.run()
    except KeyboardInterrupt:
        kept = f"finished runs are kept in {out}, and the same command goes on from there"
        raise KeyboardInterrupt(kept) from None
    if json:
        say_json({"runs": len(results.runs()), "out": str(out)})
    elif not quiet:
        say(f"{len(results.runs())} runs. Read {out / 'README.md'}; tables and figures are beside it.")
