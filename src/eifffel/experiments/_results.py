"""The results of finished runs: tidy rows in one file, from which everything else is made."""

import platform
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import sklearn

import eifffel
from eifffel._optional import import_optional
from eifffel._writing import write_whole
from eifffel.experiments._runs import Outcome

RUN = ["data", "features", "seed"]  # the columns that name a run
TYPES = {"epsilon": "float64", "alpha": "float64", "met": "boolean", "n_flips": "Int64"}  # what some rows lack


class Results:
    """The outcomes of all finished runs, kept in a CSV file that is rewritten whole after each.

    A file holds the runs of one setting: as many trees, the same versions. ``frame`` is a pandas data frame with one
    row for each `Outcome`, ``trees`` and ``made_with`` beside it.
    """

    def __init__(self, path: Path, frame: Any):
        self.path = path
        self.frame = frame

    @classmethod
    def read(cls, path: Path) -> "Results":
        """What the file holds; nothing if there is none."""
        pd = import_optional("pandas", "results need")
        columns = [field.name for field in fields(Outcome)] + ["trees", "made_with"]
        if not path.exists():
            return cls(path, pd.DataFrame(columns=columns))
        try:
            frame = pd.read_csv(path, dtype=TYPES)
            missing = [column for column in columns if column not in frame]
        except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} cannot be read as results of eifffel reproduce: {error}") from None
        if missing:
            raise ValueError(f"{path} does not hold results of eifffel reproduce: it lacks {', '.join(missing)}")
        return cls(path, frame)

    def check_setting(self, n_trees: int) -> None:
        """Raise if the runs kept were made with another setting: means over both would mean nothing."""
        for column, wanted in (("trees", n_trees), ("made_with", made_with())):
            kept = set(self.frame[column]) - {wanted}
            if kept:
                raise ValueError(
                    f"{self.path} holds runs with {column.replace('_', ' ')} {', '.join(map(str, sorted(kept)))}, and "
                    f"this run has {wanted}; give another folder, or delete that file"
                )

    def runs(self) -> set[tuple[str, str, int]]:
        """The finished runs: data set, features, seed."""
        return set(self.frame[RUN].drop_duplicates().itertuples(index=False, name=None))

    def add(self, outcomes: list[Outcome], n_trees: int) -> None:
        """Keep a finished run."""
        pd = import_optional("pandas", "results need")
        added = pd.DataFrame([asdict(outcome) for outcome in outcomes]).astype(TYPES)
        added["trees"], added["made_with"] = n_trees, made_with()
        frame = added if self.frame.empty else pd.concat([self.frame, added])
        frame = frame.sort_values(RUN, kind="stable")
        write_whole(self.path, frame.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
        self.frame = self.read(self.path).frame  # rows just made and rows of an earlier session alike


def made_with() -> str:
    """The versions that results depend on."""
    return f"eifffel {eifffel.__version__}; scikit-learn {sklearn.__version__}; Python {platform.python_version()}"
