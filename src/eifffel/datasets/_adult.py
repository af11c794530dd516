"""Adult: who earns more than 50,000 dollars; census of 1994."""

import io
import os

from sklearn.utils import Bunch

from eifffel.datasets._files import DataFile, read_files
from eifffel.datasets._prepare import import_pandas, prepare

ARCHIVE = "https://archive.ics.uci.edu/static/public/2/adult.zip"
FILES = (
    DataFile(
        "adult.data",
        ARCHIVE,
        inside=(),
        size=3_974_305,
        sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    DataFile(
        "adult.test",
        ARCHIVE,
        inside=(),
        size=2_003_153,
        sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
)
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
DESCR = """Adult: people in the US census of 1994.

Becker, B. and Kohavi, R. (1996), Adult, UCI Machine Learning Repository, doi:10.24432/C5XW20, CC BY 4.0.

`target` is 1 for an income above 50,000 dollars, `sensitive` is 1 for men. Both published files, adult.data and
adult.test, are put together, and the rows with a missing value (`?`) are dropped: 45,222 of 48,842 are left. In `data`
categories are one-hot and sex is the one column sex_Male; `frame` holds the same rows as published.
"""


def fetch_adult(
    *, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True, verbose: int = 1
) -> Bunch:
    """Adult: does somebody earn more than 50,000 dollars? Men are the privileged group.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds adult.data and adult.test; by default the one that EIFFFEL_DATA names. What is not there is
        taken from the cache, and what is not there either is downloaded from the UCI repository into the cache.
    download_if_missing : bool
        Whether to download at all.
    verbose : int
        Above 0, a download has a progress bar.

    Returns
    -------
    Bunch
        ``data``, a pandas data frame of 45,222 rows and 103 numeric columns; ``target`` and ``sensitive``, series of 0
        and 1 (1 is favourable, and privileged); ``frame``, the same rows as published; ``feature_names``;
        ``sensitive_columns``, the columns of ``data`` that hold the group; ``DESCR``, what was done.

    Raises
    ------
    DatasetError
        If a file cannot be had or is not the published one.
    ModuleNotFoundError
        If pandas is not installed.

    Examples
    --------
    >>> from eifffel.datasets import fetch_adult
    >>> people = fetch_adult()  # doctest: +SKIP
    >>> people.data.shape, people.sensitive_columns  # doctest: +SKIP
    ((45222, 103), ['sex_Male'])
    """
    pd = import_pandas()
    data, test = read_files(FILES, data_home=data_home, download_if_missing=download_if_missing, verbose=verbose)
    read = {"header": None, "names": list(COLUMNS), "skipinitialspace": True, "na_values": "?"}
    parts = [pd.read_csv(io.BytesIO(data), **read), pd.read_csv(io.BytesIO(test), skiprows=1, **read)]
    frame = pd.concat(parts).dropna()
    frame["income"] = frame["income"].str.rstrip(".")
    return prepare(
        frame,
        label="income",
        target=frame["income"] == ">50K",
        attribute="sex",
        sensitive=frame["sex"] == "Male",
        column="sex_Male",
        descr=DESCR,
    )
