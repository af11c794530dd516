"""A synthetic data set with a stated bias, for the demo, the tests and the benchmarks."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from eifffel._utils.validation import check_fraction

FEATURE_NAMES = (
    "income",
    "debt",
    "years_employed",
    "savings",
    "hours_per_week",
    "career_break_years",
    "part_time",
    "region",
    "age",
    "n_accounts",
)

DESCR = """Applicants for a loan, synthetic.

`sensitive` is 1 for the privileged group. `target` is 1 if the loan was granted. Merit (income, debt, years employed,
savings) is distributed alike in both groups, but past decisions favoured the privileged group: their score was raised
by `bias` standard deviations. hours_per_week, career_break_years and part_time are proxies: they differ between the
groups by `proxy` standard deviations (part_time: in its odds), so that a model can favour a group without being told
it. region, age and n_accounts tell nothing. The sensitive attribute is not among the features.
"""


def make_biased_classification(
    n_samples: int = 10_000,
    *,
    bias: float = 1.5,
    proxy: float = 1.5,
    privileged_share: float = 0.6,
    random_state: Any = None,
) -> Bunch:
    """Draw applicants whose past decisions favoured one group.

    Parameters
    ----------
    n_samples : int
    bias : float
        By how many standard deviations past decisions raised the score of the privileged group.
    proxy : float
        By how many standard deviations the proxies differ between the groups.
    privileged_share : float strictly between 0 and 1
    random_state : int, RandomState instance or None

    Returns
    -------
    Bunch with ``data`` of shape (n_samples, 10), ``target``, ``sensitive``, ``feature_names`` and ``DESCR``.

    Examples
    --------
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(1000, random_state=0)
    >>> people.data.shape
    (1000, 10)
    """
    check_fraction("privileged_share", privileged_share, inner=True)
    random = check_random_state(random_state)
    sensitive = (random.uniform(size=n_samples) < privileged_share).astype(np.int64)
    merit = random.normal(size=(n_samples, 4))
    proxies = random.normal(size=(n_samples, 3)) + proxy * sensitive[:, None] * np.array([1.0, -1.0, -1.0])
    noise = random.normal(size=(n_samples, 3))
    score = merit @ np.array([1.0, -0.7, 0.5, 0.4]) + bias * (sensitive - privileged_share)
    target = (score + random.normal(scale=0.7, size=n_samples) > 0.4).astype(np.int64)
    data = np.column_stack(
        [
            np.exp(0.5 * merit[:, 0]) * 30_000,
            np.exp(0.6 * merit[:, 1]) * 8_000,
            np.maximum(0, 8 + 5 * merit[:, 2]),
            np.exp(0.8 * merit[:, 3]) * 5_000,
            np.clip(36 + 5 * proxies[:, 0], 5, 80),
            np.maximum(0, 1 + 1.5 * proxies[:, 1]),
            proxies[:, 2] > 0.5,
            np.floor(8 * random.uniform(size=n_samples)),
            np.clip(42 + 12 * noise[:, 1], 18, 90),
            np.round(np.exp(0.4 * noise[:, 2]) * 3),
        ]
    )
    return Bunch(data=data, target=target, sensitive=sensitive, feature_names=list(FEATURE_NAMES), DESCR=DESCR)
