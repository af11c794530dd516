"""From a publisher's table to rows that a forest can be trained on."""

from typing import Any

from sklearn.utils import Bunch

from eifffel._utils.optional import import_optional


def import_pandas() -> Any:
    """The library that the data sets come in."""
    return import_optional("pandas", "the data sets need")


def prepare(frame: Any, *, label: str, target: Any, attribute: str, sensitive: Any, column: str, descr: str) -> Bunch:
    """One-hot categories, and the sensitive attribute as one binary column.

    Parameters
    ----------
    frame : DataFrame
        Features and label as published.
    label, attribute : str
        The columns of ``frame`` that hold the label and the sensitive attribute.
    target, sensitive : Series of bool
        Whether a row has the favourable label, and whether it is privileged.
    column : str
        What the binary column that takes the place of ``attribute`` is called.
    """
    pd = import_pandas()
    frame = frame.reset_index(drop=True)
    target, sensitive = (values.reset_index(drop=True).astype("int64") for values in (target, sensitive))
    place = [name for name in frame.columns if name != label].index(attribute)
    features = frame.drop(columns=[label, attribute])
    features.insert(place, column, sensitive)
    data = pd.get_dummies(features, dtype="float64").astype("float64")
    return Bunch(
        data=data,
        target=target.rename("target"),
        sensitive=sensitive.rename("sensitive"),
        frame=frame,
        feature_names=list(data.columns),
        sensitive_columns=[column],
        DESCR=descr,
    )
