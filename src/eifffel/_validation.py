"""X, y and sensitive_features -> arrays and integer codes. Every input error is raised here."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

SHOWN = 5


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in the form that counting needs.

    Attributes
    ----------
    group : ndarray of shape (n_rows,)
        Index into the two group values.
    label : ndarray of shape (n_rows,) or None
        1 is the favourable class; ``None`` where labels are not known.
    weight : ndarray of shape (n_rows,)
        int64: ones, or sample weights in fixed point, whose sums are the same in any order of the rows.
    unit : int or float
        What a weight of 1 stands for: the integer 1 without sample weights.
    """

    group: np.ndarray
    label: np.ndarray | None
    weight: np.ndarray
    unit: float

    @property
    def n_labels(self) -> int:
        return 1 if self.label is None else 2

    @property
    def cell(self) -> np.ndarray:
        """The (group, label) cell of each row: ``group * n_labels + label``."""
        return self.group if self.label is None else self.group * np.uint8(2) + self.label

    def swap_groups(self) -> "Rows":
        """The same rows with the two groups exchanged."""
        return replace(self, group=1 - self.group)

    def take(self, part: np.ndarray) -> "Rows":
        """The rows at the places ``part``."""
        label = None if self.label is None else self.label[part]
        return replace(self, group=self.group[part], label=label, weight=self.weight[part])

    def for_ratios(self, units: np.ndarray) -> np.ndarray:
        """Sums of ``weight`` as integers where products of two of them fit 63 bits, else as float64.

        The unit is left out: it cancels in every ratio, and with it neither large nor small weights overflow.
        """
        return units if self.weight.sum() < 2**31 else units.astype(np.float64)

    def in_weight(self, units: np.ndarray) -> np.ndarray:
        """Sums of ``weight`` as sums of sample weights: float64 if there are any, else the counts as they are."""
        return units if isinstance(self.unit, int) else units * self.unit

    def weigh_cells(self, chosen: np.ndarray | None = None) -> np.ndarray:
        """Weight of all rows, or of the chosen ones, per group and label, in units; shape (2, n_labels)."""
        cell = self.cell
        inside = [cell == k if chosen is None else (cell == k) & chosen for k in range(2 * self.n_labels)]
        return np.array([self.weight[rows].sum() for rows in inside], np.int64).reshape(2, self.n_labels)


def check_fraction(name: str, value: Any, *, optional: bool = False, inner: bool = False) -> None:
    """Raise unless ``value`` is a number in [0, 1], or in (0, 1) if ``inner``, or ``None`` if ``optional``."""
    if optional and value is None:
        return
    none = " or None" if optional else ""
    allowed = "strictly between 0 and 1" if inner else f"in [0, 1]{none}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number {allowed}, got {value!r} of type {type(value).__name__}")
    number = float(value)
    if not (0 < number < 1 if inner else 0 <= number <= 1):
        remedy = f"; write {number / 100:g} for {number:g} percent" if 1 <= number < 100 else ""
        raise ValueError(f"{name} must be {allowed}, got {value!r}{remedy}")


def check_confidence(confidence: Any, *, optional: bool = False) -> None:
    """Raise unless ``confidence`` is a probability from 1/2 on and below 1, or ``None`` if ``optional``."""
    if optional and confidence is None:
        return
    allowed = f"at least 0.5 and below 1{', or None' if optional else ''}"
    if isinstance(confidence, bool | np.bool_) or not isinstance(confidence, Real):
        raise TypeError(
            f"confidence must be a number of {allowed}, got {confidence!r} of type {type(confidence).__name__}"
        )
    if not 0.5 <= float(confidence) < 1:
        share = float(confidence) / 100
        remedy = f"write {share:g} for {confidence:g} percent" if 0.5 <= share < 1 else "0.95 is usual"
        raise ValueError(f"confidence must be {allowed}, got {confidence!r}; {remedy}")


def check_number(name: str, value: Any, *, at_least: float, integer: bool = False, optional: bool = False) -> None:
    """Raise unless ``value`` is a finite number, or an integer, not below ``at_least``, or ``None`` if ``optional``."""
    if optional and value is None:
        return
    kind = Integral if integer else Real
    allowed = f"{'an integer' if integer else 'a number'} of at least {at_least:g}{' or None' if optional else ''}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
        raise TypeError(f"{name} must be {allowed}, got {value!r} of type {type(value).__name__}")
    if not at_least <= float(value) < np.inf:
        raise ValueError(f"{name} must be {allowed}, got {value!r}")


def check_choice(name: str, value: Any, choices: Sequence[str], *, hint: str = "") -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        remedy = f"; {hint}" if hint else ""
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {_shown(value)}{remedy}")


def check_table(X: Any) -> None:
    """Raise if ``X`` is a container of a model library, which cannot be cut into rows."""
    if any(hasattr(X, name) for name in ("num_row", "num_data")):  # DMatrix and Pool; LightGBM's Dataset
        raise TypeError(
            f"X must be an array, a sparse matrix or a data frame, got a {type(X).__name__}; pass what it was made from"
        )


def named_columns(X: Any) -> list[tuple[str, np.ndarray]]:
    """The columns of a table that is not sparse: numbers as they are, anything else as objects."""
    names = list(getattr(X, "columns", []))
    frame = None if len(set(names)) < len(names) else nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return [(str(series.name), _column_values(series)) for series in frame.iter_columns()]
    array = np.asarray(X)
    return [
        (f"x{k}", array[:, k] if array.dtype != object else _as_numbers(array[:, k])) for k in range(array.shape[1])
    ]


def _column_values(series: Any) -> np.ndarray:
    if series.dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64).to_numpy())
    return np.array(series.to_list(), dtype=object)


def _as_numbers(column: np.ndarray) -> np.ndarray:
    """Numbers in a column of objects as numbers."""
    try:
        return np.array([np.nan if value is None else value for value in column.tolist()], np.float64)
    except (TypeError, ValueError):
        return column


def check_n_jobs(n_jobs: Any) -> None:
    """Raise unless ``n_jobs`` is ``None`` or an integer other than 0."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")


def check_step(step: Any, n_steps: int) -> int:
    """The step as an int between 0 and ``n_steps``."""
    if isinstance(step, bool | np.bool_) or not isinstance(step, Integral):
        hint = "; pass its .step" if hasattr(step, "step") else ""
        raise TypeError(f"step must be an integer from 0 to {n_steps}, got a {type(step).__name__}{hint}")
    if not 0 <= int(step) <= n_steps:
        raise ValueError(f"step must be an integer from 0 to {n_steps}, got {step}")
    return int(step)


def check_favorable(classes: np.ndarray, favorable: Any) -> int:
    """The index of the favourable class in the two ``classes``.

    Labels 0/1, -1/1 and booleans default to the larger; what other labels mean only the caller knows.
    """
    if favorable is not None:
        return _place(f"favorable must be one of the labels {_listed(classes.tolist())}", classes.tolist(), favorable)
    if classes.tolist() not in ([0, 1], [-1, 1]):
        raise ValueError(
            f"the labels are {_listed(classes.tolist())}: pass favorable=, the label that is the good outcome for "
            "a person. Only for labels 0/1, -1/1 and booleans is the larger one taken by default"
        )
    return 1


def check_binary_labels(y: Any) -> np.ndarray:
    """The two labels in ``y``, sorted, before any model has seen it."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    values, distinct = _column("y", y)
    if len(distinct) == 1:
        raise ValueError(f"y must have two labels, got only {_listed(distinct)}: one class is nothing to learn from")
    if len(distinct) != 2:
        raise ValueError(
            f"y must have two labels, got {len(distinct)}: {_listed(distinct)}. Only binary classification is "
            f"supported. The type of the target is {type_of_target(values)}; make it favourable against the rest"
        )
    # Strings in a list get the type that NumPy gives them, as scikit-learn has it.
    return np.array(distinct, dtype=None if isinstance(y, list | tuple) else values.dtype)


def check_trainable(rows: Rows) -> None:
    """Raise unless both labels have weight."""
    if (rows.weigh_cells().sum(axis=0) == 0).any():
        raise ValueError("the training rows are of one class only, which is nothing to learn from; give more rows")


def check_split(rows: Rows, groups: Sequence[Any], parts: Sequence[np.ndarray]) -> None:
    """Raise unless both groups have weight in each part."""
    for code, value in enumerate(groups):
        if not all((rows.weight[part] * (rows.group[part] == code)).any() for part in parts):
            raise ValueError(
                f"group {value!r} has {np.sum(rows.group == code)} rows in all, too few to be both among the rows "
                "to train on and among those to choose on; give more rows of it, or select_on='train'"
            )


def check_select_on(select_on: Any) -> tuple[Any, Any, Any, Any]:
    """The selection rows as (X, y, sensitive_features, sample_weight)."""
    if not isinstance(select_on, tuple | list) or len(select_on) not in (3, 4):
        raise ValueError(
            "select_on must be None or the tuple (X, y, sensitive_features) of the selection rows, optionally with "
            f"sample_weight as a fourth entry; got {type(select_on).__name__}"
            + (f" of {len(select_on)} entries" if isinstance(select_on, tuple | list) else "")
        )
    X, y, sensitive_features, *weight = select_on
    return X, y, sensitive_features, weight[0] if weight else None


def check_groups(sensitive_features: Any) -> list[Any]:
    """The two values of the sensitive attribute, sorted."""
    _, distinct = _group_column(sensitive_features)
    if len(distinct) > 2:
        raise ValueError(
            f"sensitive_features must have two values, got {len(distinct)}: {_listed(distinct)}. Pass a column that "
            f"says who belongs to one group, such as sensitive_features == {distinct[0]!r}"
        )
    if not distinct:
        raise ValueError("sensitive_features has no rows")
    if len(distinct) < 2:
        raise ValueError(
            f"sensitive_features must have two values, got only {_listed(distinct)}: the other group is missing, "
            "and there is no difference between groups to measure"
        )
    return distinct


def check_privileged(groups: Sequence[Any], privileged: Any) -> int | None:
    """The index of the privileged group in ``groups``, ``None`` where it is left open."""
    if privileged is None:
        return None
    return _place(f"privileged must be one of the groups {_listed(groups)}", groups, privileged)


@dataclass(frozen=True, eq=False)
class Coding:
    """How labels and groups become codes.

    Attributes
    ----------
    classes : ndarray of shape (2,)
    favorable : int
        Index of the favourable class in ``classes``.
    groups : sequence of two group values
    """

    classes: np.ndarray
    favorable: int
    groups: Sequence[Any]

    def encode(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: Any = None,
        *,
        rows: str,
        both_groups: bool = True,
    ) -> Rows:
        """Check and encode rows; ``rows`` names them in errors, and ``y`` may be ``None``."""
        n_rows = _num_samples(X)
        group = self.encode_groups(X, sensitive_features, rows=rows)
        _check_aligned(f"y of {rows}", y, X)
        label = None
        if y is not None:
            labels, distinct = _column(f"y of {rows}", y)
            _check_length(f"y of {rows}", labels, n_rows)
            _check_known(f"y of {rows}", distinct, self.classes.tolist(), "the labels")
            label = (labels == self.classes[self.favorable]).astype(np.uint8)
        checked = Rows(group, label, *_check_weight(sample_weight, n_rows, rows))
        for value, weight in zip(self.groups, checked.weigh_cells().sum(axis=1), strict=True):
            if weight == 0 and both_groups:
                with_weight = "" if sample_weight is None else " with a weight above 0"
                raise ValueError(f"no row of group {value!r}{with_weight} among {rows}; give rows of both groups")
        return checked

    def encode_groups(self, X: Any, sensitive_features: Any, *, rows: str) -> np.ndarray:
        """The group of each row as an index into the two groups; not every group need have a row."""
        _check_aligned(f"sensitive_features of {rows}", sensitive_features, X)
        values, distinct = _group_column(sensitive_features)
        _check_length(f"sensitive_features of {rows}", values, _num_samples(X))
        _check_known(f"sensitive_features of {rows}", distinct, self.groups, "the groups")
        return (values == self.groups[1]).astype(np.uint8)

    def check_both_labels(self, rows: Rows, why: str) -> None:
        """Raise unless each group has rows of both labels; ``why`` says what needs them."""
        for value, of_label in zip(self.groups, rows.weigh_cells(), strict=True):
            if (of_label == 0).any():
                only = self.decode(of_label[1] > 0).item()
                raise ValueError(
                    f"group {value!r} has only rows of the label {only!r}, and {why}; give rows of both labels"
                )

    def decode(self, favorable: np.ndarray) -> np.ndarray:
        """The labels of decisions that are favourable or not."""
        return self.classes[np.where(favorable, self.favorable, 1 - self.favorable)]


def _check_aligned(name: str, column: Any, X: Any) -> None:
    """Raise if pandas rows stand in another order than those of ``X``: they are matched by place, not by index."""
    index: Any = getattr(X, "index", None)
    other: Any = getattr(column, "index", None)
    if not hasattr(index, "equals") or not hasattr(other, "equals") or len(index) != len(other) or index.equals(other):
        return
    if index.is_unique and index.sort_values().equals(other.sort_values()):
        raise ValueError(
            f"{name} has the index of X in another order, and rows are matched by place; sort it as X, as in "
            "column.loc[X.index], or pass .to_numpy() if the places are right"
        )


def _check_known(name: str, values: Sequence[Any], known: Sequence[Any], what: str) -> None:
    unknown = [value for value in values if not any(_equal(value, other) for other in known)]
    if unknown:
        raise ValueError(f"{name} has {_listed(unknown)}, not among {what} {_listed(known)}")


def spread_weight(sample_weight: Any, n_rows: int) -> np.ndarray | None:
    """Sample weights that have been checked, one per row; ``None`` if there are none."""
    return None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, np.float64), n_rows)


def _check_weight(sample_weight: Any, n_rows: int, rows: str) -> tuple[np.ndarray, float]:
    """The weights in whole units, and the unit."""
    if sample_weight is None:
        return np.broadcast_to(np.int64(1), n_rows), 1
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    _check_length(f"sample_weight of {rows}", weight, n_rows)
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(f"sample_weight of {rows} must be finite and not negative")
    if not weight.any():
        raise ValueError(f"sample_weight of {rows} is zero for every row")
    # As many binary digits as sums of all rows leave room for in 63 bits.
    digits = 62 - int(np.ceil(np.log2(weight.max()) + np.log2(n_rows)))
    fixed = np.rint(np.ldexp(weight, digits)).astype(np.int64)
    # Whole or equal weights become small integers, with which scoring is exact.
    divisor = int(np.gcd.reduce(fixed))
    return fixed // divisor, float(np.ldexp(divisor, -digits))


def _check_length(name: str, values: np.ndarray, n_rows: int) -> None:
    if len(values) != n_rows:
        raise ValueError(f"{name} has {len(values)} entries for {n_rows} rows; give one entry per row")


def _group_column(sensitive_features: Any) -> tuple[np.ndarray, list[Any]]:
    if sensitive_features is None:
        raise ValueError(
            "sensitive_features is missing; pass the group of each row, such as sensitive_features=df['sex']"
        )
    return _column("sensitive_features", sensitive_features)


def _column(name: str, values: Any) -> tuple[np.ndarray, list[Any]]:
    """One column as an array, and its distinct values, sorted; a missing value raises."""
    series = nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(series, nw.DataFrame):
        if series.shape[1] != 1:
            raise ValueError(f"{name} must be one column, got {series.shape[1]}: {_listed(series.columns)}; pick one")
        series = series[series.columns[0]]
    if isinstance(series, nw.Series):
        n_missing = int(series.is_null().sum())
        array: np.ndarray = series.drop_nulls().to_numpy()
    else:
        n_missing = int(np.ma.count_masked(values)) if isinstance(values, np.ma.MaskedArray) else 0
        array = np.asarray(values)
        if isinstance(values, list | tuple) and array.dtype.kind in "US":
            array = np.array(values, dtype=object)  # NumPy would make strings of numbers among them
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
    if array.ndim == 0:
        raise ValueError(f"{name} must be a column with one entry per row, such as df['sex'], got {_shown(values)}")
    if array.ndim != 1:
        raise ValueError(f"{name} must be one column, got an array of shape {array.shape}")
    if array.dtype.kind == "f":
        n_missing += int(np.isnan(array).sum())
    elif array.dtype == object:
        n_missing += sum(_is_missing(value) for value in array.tolist())
    if n_missing:
        raise ValueError(
            f"{name} has {n_missing} missing values; drop those rows, or give each of them one of the two values"
        )
    if array.dtype.kind not in "biufcOUS":
        raise ValueError(f"{name} must be numbers, booleans or strings, got {array.dtype}")
    if array.dtype.kind in "biufc":
        return array, np.unique(array).tolist()
    # Hashing is much faster than sorting strings.
    distinct = list(dict.fromkeys(array.tolist()))
    try:
        return array, sorted(distinct)
    except TypeError:
        raise ValueError(
            f"{name} mixes values of several types: {_listed(distinct)}; use one type throughout"
        ) from None


def _is_missing(value: Any) -> bool:
    # pandas.NA is recognised by name, since pandas may not be installed.
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _place(rule: str, values: Sequence[Any], wanted: Any) -> int:
    """Where ``wanted`` stands among ``values``; raises with the ``rule`` that it breaks."""
    for place, value in enumerate(values):
        if _equal(value, wanted):
            return place
    raise ValueError(f"{rule}, got {wanted!r}")


def _equal(a: Any, b: Any) -> bool:
    return bool(np.all(a == b)) and isinstance(a, str) == isinstance(b, str)


def _listed(values: Sequence[Any]) -> str:
    shown = ", ".join(repr(value) for value in values[:SHOWN])
    return shown if len(values) <= SHOWN else f"{shown}, ... ({len(values)} in all)"


def _shown(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, str | Real) else f"a {type(value).__name__}"
