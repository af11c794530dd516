"""eifffel datasets: the paper's data sets as tables."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from eifffel import datasets as sets
from eifffel._utils.validation import check_choice
from eifffel.cli._app import command
from eifffel.cli._files import write_table
from eifffel.cli._finish import check_targets
from eifffel.cli._options import OutputOptions
from eifffel.cli._printing import print_table, say, say_json


@dataclass(frozen=True)
class Offered:
    """A data set and how its table is made.

    Attributes
    ----------
    fetch : function
    about : str
    target, favorable : str
        The column of labels and the good one.
    attribute : str
        The published column that tells the groups.
    sensitive : str
        What the column of groups is called that takes its place.
    groups : pair of str
        The unprivileged and the privileged group.
    """

    fetch: Callable[..., Any]
    about: str
    target: str
    favorable: str
    attribute: str
    sensitive: str
    groups: tuple[str, str]

    def table(self, data_home: Path | None, verbose: int) -> pd.DataFrame:
        """The rows as published, with the groups in the place of the attribute."""
        data = self.fetch(data_home=data_home, verbose=verbose)
        frame = data.frame.drop(columns=self.attribute)
        frame.insert(0, self.sensitive, data.sensitive.map(dict(enumerate(self.groups))))
        return frame


DATASETS = {
    "adult": Offered(
        sets.fetch_adult,
        "people in the US census of 1994: who earns more than 50,000 dollars",
        "income",
        ">50K",
        "sex",
        "sex",
        ("Female", "Male"),
    ),
    "bank": Offered(
        sets.fetch_bank,
        "clients called by a Portuguese bank: who opens a deposit",
        "y",
        "yes",
        "age",
        "age_group",
        ("under 25", "25 or more"),
    ),
    "compas": Offered(
        sets.fetch_compas,
        "defendants in Broward County: who is not charged again within two years",
        "two_year_recid",
        "0",
        "race",
        "race",
        ("African-American", "other"),
    ),
}


@command(example="eifffel datasets adult --out adult.csv")
def datasets(
    output: OutputOptions,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The one to write; without it, all are listed.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the table there.", metavar="FILE.csv")] = None,
    data_home: Annotated[
        Path | None, typer.Option(help="Folder with the publishers' files; by default the one that EIFFFEL_DATA names.")
    ] = None,
) -> None:
    """List the data sets of the paper, or write one as a table that eifffel fit takes, downloaded if need be."""
    if name is None:
        if out is not None:
            raise ValueError(f"--out needs the name of a data set, one of {', '.join(DATASETS)}")
        listed = [
            {"name": key, "about": d.about, "target": d.target, "favorable": d.favorable, "sensitive": d.sensitive}
            for key, d in DATASETS.items()
        ]
        if output.json:
            say_json(listed)
        elif not output.quiet:
            print_table("Data sets of the paper", list(listed[0]), [list(row.values()) for row in listed])
        return
    check_choice("name", name, list(DATASETS))
    offered = DATASETS[name]
    if out is None:
        raise ValueError(f"--out is needed: where the table of {name} is to be written, such as --out {name}.csv")
    check_targets(overwrite=output.overwrite, table=out)
    frame = offered.table(data_home, int(output.verbose))
    write_table(out, frame, overwrite=output.overwrite)
    if output.json:
        say_json({"name": name, "rows": len(frame), "columns": list(frame.columns), "out": str(out)})
    elif not output.quiet:
        say(f"{len(frame):,} rows of {name} are in {out}. To make a model of it fair:")
        words = ["eifffel", "fit", str(out), "--target", offered.target, "--favorable", offered.favorable]
        say(f"  {shlex.join([*words, '--sensitive', offered.sensitive, '--out', f'{name}.skops'])}")
