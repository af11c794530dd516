"""Bank Marketing: which client subscribes a term deposit; a Portuguese bank's telephone campaigns."""

import io
import os

from sklearn.utils import Bunch

from eifffel.datasets._files import DataFile, read_files
from eifffel.datasets._prepare import import_pandas, prepare


def without_quotes(content: bytes) -> bytes:
    """Without quotes and carriage returns, and with the jobs spelt as published.

    The table circulates with quotes and without; one copy also misspells the job in four of its rows.
    """
    content = content.replace(b'"', b"").replace(b"\r\n", b"\n")
    return content.replace(b";admin;", b";admin.;").replace(b";mgmt;", b";management;")


FILES = (
    DataFile(
        "bank-full.csv",
        "https://archive.ics.uci.edu/static/public/222/bank+marketing.zip",
        inside=("bank.zip",),
        size=3_706_094,
        sha256="901de183bd388859870e3cc94fce05cca572089059ed034f0d14bb1e04893a03",
        plain=without_quotes,
    ),
)
AGE = 25
DESCR = """Bank Marketing: clients whom a Portuguese bank called between 2008 and 2010 (bank-full.csv).

Moro, S., Rita, P. and Cortez, P. (2014), Bank Marketing, UCI Machine Learning Repository, doi:10.24432/C5K306,
CC BY 4.0.

`target` is 1 if the client subscribed a term deposit, `sensitive` is 1 for an age of 25 or more. All 45,211 rows and
all 16 features are kept; "unknown" is a category. In `data` categories are one-hot, and in the place of the age in
years is the one column age_25_or_more; `frame` holds the same rows as published. A copy of the file without quotes is
as good, and one that misspells the job in four rows (admin, mgmt) is read as published.

Two warnings. `duration`, the length of the call, is known only once the call is over and the outcome with it: a model
that uses it leaks the outcome and could not decide whom to call (the EiFFFeL paper keeps it). And clients under 25 are
favoured by the labels: their rate of subscription is the higher one, so that the difference between group 1 and group 0
is negative.
"""


def fetch_bank(
    *, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True, verbose: int = 1
) -> Bunch:
    """Bank Marketing: does a client subscribe a term deposit? Group 1 is 25 or older; the labels favour group 0.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds bank-full.csv; by default the one that EIFFFEL_DATA names. If it is not there it is taken
        from the cache, and if it is not there either it is downloaded from the UCI repository into the cache.
    download_if_missing : bool
        Whether to download at all.
    verbose : int
        Above 0, a download has a progress bar.

    Returns
    -------
    Bunch
        ``data``, a pandas data frame of 45,211 rows and 51 numeric columns, and the rest as `fetch_adult` says.

    Raises
    ------
    DatasetError
        If the file cannot be had or is not the published one.
    ModuleNotFoundError
        If pandas is not installed.

    Examples
    --------
    >>> from eifffel.datasets import fetch_bank
    >>> people = fetch_bank()  # doctest: +SKIP
    >>> people.data.shape, people.sensitive_columns  # doctest: +SKIP
    ((45211, 51), ['age_25_or_more'])
    """
    pd = import_pandas()
    (content,) = read_files(FILES, data_home=data_home, download_if_missing=download_if_missing, verbose=verbose)
    frame = pd.read_csv(io.BytesIO(content), sep=";")
    return prepare(
        frame,
        label="y",
        target=frame["y"] == "yes",
        attribute="age",
        sensitive=frame["age"] >= AGE,
        column="age_25_or_more",
        descr=DESCR,
    )
