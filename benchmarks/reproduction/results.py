"""The results of finished runs: tidy rows in one file, from which everything else is made."""

import platform
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import sklearn

import eifffel
from eifffel._utils.optional import import_optional
from eifffel._utils.writing import write_whole
from reproduction import protocol
from reproduction.runs import MethodOutcome
from reproduction.summary import RUN

BOUNDED = ["method", "chosen_on", "epsilon", "alpha"]  # the columns that name a row of a run
MADE_WITH = ["trees", "protocol", "made_with"]
COLUMN_TYPES = {
    "epsilon": "float64",
    "alpha": "float64",
    "met": "boolean",
    "n_flips": "Int64",
}  # some rows have no value


class Results:
    """The outcomes of all finished runs, kept in a CSV file that is rewritten whole after each.

    Made by `reproduce`, or by `Results.read` from the ``runs.csv`` that it wrote.

    Parameters
    ----------
    path : Path
        The file.
    frame : pandas.DataFrame
        What it holds.

    Attributes
    ----------
    path : Path
    frame : pandas.DataFrame
        One row for each `MethodOutcome`, of a run, a method and a bound; beside it the number of trees, a fingerprint
        of the protocol, and the versions that made it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from reproduction.results import Results
    >>> results = Results.read(Path("no_such_folder/runs.csv"))
    >>> len(results.frame), {"data", "method", "epsilon", "accuracy"} <= set(results.frame)
    (0, True)
    """

    def __init__(self, path: Path, frame: Any):
        self.path = path
        self.frame = frame

    @classmethod
    def read(cls, path: Path) -> "Results":
        """What the file holds; nothing if there is none.

        Parameters
        ----------
        path : Path

        Returns
        -------
        Results

        Raises
        ------
        ValueError
            If it cannot be read, or runs in it are not whole.
        """
        pd = import_optional("pandas", "results need")
        columns = [field.name for field in fields(MethodOutcome)] + MADE_WITH
        if not path.exists():
            return cls(path, pd.DataFrame(columns=columns))
        try:
            frame = pd.read_csv(path, dtype=COLUMN_TYPES)
            missing = [column for column in columns if column not in frame]
        except (OSError, ValueError) as error:  # those of pandas are ValueErrors
            raise ValueError(f"{path} cannot be read as results of make reproduce: {error}") from None
        if missing:
            raise ValueError(f"{path} does not hold results of make reproduce: it lacks {', '.join(missing)}")
        _check_whole(path, frame)
        return cls(path, frame)

    def check_setting(self, n_trees: int) -> None:
        """Raise if the stored runs were made with another setting: means over both would be meaningless.

        Parameters
        ----------
        n_trees : int

        Raises
        ------
        ValueError
            If they have another number of trees, another protocol or other versions.
        """
        for name in dict.fromkeys(self.frame["data"]):
            kept = self.frame.loc[self.frame["data"] == name, MADE_WITH].drop_duplicates()
            wanted = (n_trees, protocol.fingerprint(name), made_with())
            for other in set(kept.itertuples(index=False, name=None)) - {wanted}:
                raise ValueError(
                    f"{self.path} holds runs of {name} of {_words(other)}, and this run is of {_words(wanted)}; give "
                    "another folder, or delete that file"
                )

    def runs(self) -> set[tuple[str, str, int]]:
        """The finished runs.

        Returns
        -------
        set of tuples (data set, features, seed)

        Examples
        --------
        >>> from pathlib import Path
        >>> from reproduction.results import Results
        >>> Results.read(Path("no_such_folder/runs.csv")).runs()
        set()
        """
        return set(self.frame[RUN].drop_duplicates().itertuples(index=False, name=None))

    def add(self, outcomes: list[MethodOutcome], n_trees: int) -> None:
        """Store a finished run, beside what the file holds by now.

        Parameters
        ----------
        outcomes : list of MethodOutcome
            All of one run.
        n_trees : int
            Of its forests.
        """
        pd = import_optional("pandas", "results need")
        kept = self.read(self.path)
        run = outcomes[0]
        if (run.data, run.features, run.seed) not in kept.runs():
            added = pd.DataFrame([asdict(outcome) for outcome in outcomes]).astype(COLUMN_TYPES)
            added[MADE_WITH] = [n_trees, protocol.fingerprint(run.data), made_with()]
            frame = added if kept.frame.empty else pd.concat([kept.frame, added])
            frame = frame.sort_values(RUN, kind="stable")
            write_whole(self.path, frame.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
        self.frame = self.read(self.path).frame  # rows just made and rows of an earlier session alike


def made_with() -> str:
    """The versions that results depend on."""
    return f"eifffel {eifffel.__version__}; scikit-learn {sklearn.__version__}; Python {platform.python_version()}"


def _words(setting: tuple[int, str, str]) -> str:
    trees, fingerprint, versions = setting
    return f"{trees} trees, protocol {fingerprint}, {versions}"


def _check_whole(path: Path, frame: Any) -> None:
    """Raise if a run lacks rows, or has some twice."""
    remedy = "delete the lines of that run, with the same data, features and seed, and it is made again"
    cut = frame[frame[[*RUN, *MADE_WITH]].isna().any(axis=1)]
    if len(cut):
        raise ValueError(f"line {cut.index[0] + 2} of {path} is cut short; {remedy}")
    twice = frame[frame.duplicated([*RUN, *BOUNDED])]
    if len(twice):
        raise ValueError(f"line {twice.index[0] + 2} of {path} is there twice; {remedy}")
    n_rows = frame.groupby(RUN).size()
    lacking = n_rows[n_rows < n_rows.groupby("data").transform("max")]
    if len(lacking):
        name, features, seed = lacking.index[0]
        raise ValueError(f"{path} lacks rows of the run {name}, {features}, seed {seed}; {remedy}")
