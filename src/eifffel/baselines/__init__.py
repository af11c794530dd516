"""The methods that leaf flipping is compared with: one file per method, one entry in `BASELINES`.

All are classifiers with ``fit(X, y, *, sensitive_features)``. The docstring of each cites its paper, and says whether
``predict`` needs the sensitive attribute and whether it is randomised.
"""

from typing import Any

from eifffel.baselines._calibrated_equalized_odds import CalibratedEqualizedOdds
from eifffel.baselines._dfrf import DFRF
from eifffel.baselines._equalized_odds import EqualizedOdds
from eifffel.baselines._group_thresholds import GroupThresholds
from eifffel.baselines._massaging import Massaging
from eifffel.baselines._reject_option import RejectOption
from eifffel.baselines._reweighing import Reweighing

BASELINES: dict[str, Any] = {
    "DFRF": DFRF,
    "EqualizedOdds": EqualizedOdds,
    "CalibratedEqualizedOdds": CalibratedEqualizedOdds,
    "Reweighing": Reweighing,
    "Massaging": Massaging,
    "RejectOption": RejectOption,
    "GroupThresholds": GroupThresholds,
}

__all__ = ["BASELINES", *BASELINES]
