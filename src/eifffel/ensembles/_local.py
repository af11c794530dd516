"""Models that a library trained on a cluster, and the model of this process that each holds."""

from typing import Any

from eifffel._utils.validation import check_model


def to_local(model: Any) -> Any:
    """The local model that LightGBM trained on Dask, or the Booster that XGBoost did; any other model as it is."""
    check_model(model)
    if hasattr(model, "to_local"):  # LightGBM's
        return model.to_local()
    if type(model).__name__.startswith("DaskXGB"):
        return model.get_booster()
    return model
