"""COMPAS: which defendant is arrested again within two years; Broward County, Florida."""

import io
import os

from sklearn.utils import Bunch

from eifffel.datasets._files import DataFile, read_files
from eifffel.datasets._prepare import import_pandas, prepare

FILES = (
    DataFile(
        "compas-scores-two-years.csv",
        "https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv",
        size=2_546_489,
        sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    ),
)
# What was known at screening; nothing recorded after it, and no names, dates or case numbers.
FEATURES = (
    "sex",
    "age",
    "age_cat",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "c_charge_degree",
)
DESCR = """COMPAS: defendants screened in Broward County, Florida, in 2013 and 2014 (two-year scores).

Angwin, J., Larson, J., Mattu, S. and Kirchner, L. (2016), Machine bias, ProPublica; data in ProPublica's repository
compas-analysis.

`target` is 1 for defendants who did *not* reoffend within two years, `sensitive` is 0 for African-American defendants.
Features are what was known at screening: sex, age, age_cat, juv_fel_count, juv_misd_count, juv_other_count,
priors_count and c_charge_degree. Nothing recorded later is kept (is_recid, r_*, vr_*, violent recidivism, custody,
start, end, event), nor names, dates, case numbers or COMPAS's own scores. Rows are dropped only where one of these
is missing, which is nowhere: all 7,214 are left. In `data` categories are one-hot and race is the one column
race_not_African-American; `frame` holds the same columns as published.
"""


def fetch_compas(
    *, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True, verbose: int = 1
) -> Bunch:
    """COMPAS two-year scores: does a defendant not reoffend? African-Americans are the unprivileged group.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds compas-scores-two-years.csv; by default the one that EIFFFEL_DATA names. If it is not there
        it is taken from the cache, and if it is not there either it is downloaded from ProPublica into the cache.
    download_if_missing : bool
        Whether to download at all.
    verbose : int
        Above 0, a download has a progress bar.

    Returns
    -------
    Bunch
        ``data``, a pandas data frame of 7,214 rows and 13 numeric columns, and the rest as `fetch_adult` says.

    Raises
    ------
    DatasetError
        If the file cannot be had or is not the published one.
    ModuleNotFoundError
        If pandas is not installed.

    Examples
    --------
    >>> from eifffel.datasets import fetch_compas
    >>> people = fetch_compas()  # doctest: +SKIP
    >>> people.data.shape, people.sensitive_columns  # doctest: +SKIP
    ((7214, 13), ['race_not_African-American'])
    """
    pd = import_pandas()
    (content,) = read_files(FILES, data_home=data_home, download_if_missing=download_if_missing, verbose=verbose)
    frame = pd.read_csv(io.BytesIO(content), usecols=[*FEATURES, "race", "two_year_recid"]).dropna()
    return prepare(
        frame,
        label="two_year_recid",
        target=frame["two_year_recid"] == 0,
        attribute="race",
        sensitive=frame["race"] != "African-American",
        column="race_not_African-American",
        descr=DESCR,
    )
