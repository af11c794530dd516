"""X, y, sensitive_features and sample_weight -> Rows: integer codes that can be counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from eifffel._utils.validation import check_known, equal
from eifffel.exceptions import parameter
from eifffel.kernels import leaf_kernels
from eifffel.rows.batches import Batch
from eifffel.rows.groups import Groups
from eifffel.rows.labels import LabelSets
from eifffel.rows.sensitive import match_group
from eifffel.rows.survey import Survey, WeightScale, check_weight, read_batch


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in the form that counting needs.

    Attributes
    ----------
    group : ndarray of shape (n_rows,)
        Index into the groups.
    label : ndarray of shape (n_rows,) or None
        1 is the favourable class; ``None`` where labels are not known.
    weight : ndarray of shape (n_rows,)
        int64: ones, or sample weights in fixed point, whose sums are the same in any order of the rows.
    unit : int or float
        What a weight of 1 stands for: the integer 1 without sample weights, and where these are all the same.
    n_groups : int
    """

    group: np.ndarray
    label: np.ndarray | None
    weight: np.ndarray
    unit: float
    n_groups: int = 2

    @property
    def n_labels(self) -> int:
        return 1 if self.label is None else 2

    @property
    def known_label(self) -> np.ndarray:
        """The labels, of rows that have them."""
        if self.label is None:
            raise ValueError("these rows have no labels; give y")
        return self.label

    @property
    def cell(self) -> np.ndarray:
        """The (group, label) cell of each row: ``group * n_labels + label``."""
        return self.group if self.label is None else self.group * np.uint8(2) + self.label

    def take(self, part: np.ndarray) -> "Rows":
        """The rows at the places ``part``."""
        label = None if self.label is None else self.label[part]
        return replace(self, group=self.group[part], label=label, weight=self.weight[part])

    def join(self, other: "Rows") -> "Rows":
        """Return the rows of both, one after the other."""
        label = None if self.label is None or other.label is None else np.concatenate([self.label, other.label])
        group, weight = np.concatenate([self.group, other.group]), np.concatenate([self.weight, other.weight])
        return replace(self, group=group, label=label, weight=weight)

    def for_ratios(self, units: np.ndarray) -> np.ndarray:
        """Sums of ``weight`` as integers where products of two of them fit 63 bits, else as float64.

        The unit is left out: it cancels in every ratio, and with it neither large nor small weights overflow.
        """
        return units if self.weight.sum() < 2**31 else units.astype(np.float64)

    def in_weight(self, units: np.ndarray) -> np.ndarray:
        """Sums of ``weight`` as sums of sample weights: float64 if there are any, else the counts as they are."""
        return units if isinstance(self.unit, int) else units * self.unit

    def weigh_cells(self, chosen: np.ndarray | None = None) -> np.ndarray:
        """Weight of all rows, or of the chosen ones, per group and label, in units; shape (n_groups, n_labels)."""
        counts = np.zeros((2, self.n_groups * self.n_labels), np.int64)
        side = np.ones(len(self.group), bool) if chosen is None else np.asarray(chosen, bool)
        leaf_kernels.count_tree_leaves(side.view(np.uint8), self.cell, self.weight, counts)
        return counts[1].reshape(-1, self.n_labels)

    def count_cells(self) -> np.ndarray:
        """How many rows there are per group and label, whatever they weigh; shape (n_groups, n_labels)."""
        counted = self.cell[self.weight > 0]
        return np.bincount(counted, minlength=self.n_groups * self.n_labels).reshape(-1, self.n_labels)


@dataclass(frozen=True, eq=False)
class Coding:
    """How labels and groups become codes.

    Attributes
    ----------
    classes : ndarray of shape (2,)
    favorable : int
        Index of the favourable class in ``classes``.
    groups : Groups
    label_sets : LabelSets, optional
        The labels of a table that stand for the favourable class, where the model knows only that.
    """

    classes: np.ndarray
    favorable: int
    groups: Groups
    label_sets: LabelSets | None = None

    def encode(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: Any = None,
        *,
        rows: str,
        whole: bool = True,
        scale: WeightScale | None = None,
    ) -> Rows:
        """Check and encode rows; ``rows`` names them in errors, and ``y`` may be ``None``.

        Rows whose group is not known weigh nothing. Where people are of two groups, both must have rows, unless these
        are not the ``whole``; ``scale`` is then that of all weights.
        """
        batch = Batch(X, y, sensitive_features, sample_weight)
        return self.encode_batch(batch, rows=rows, whole=whole, scale=scale)

    def encode_batch(self, batch: Batch, *, rows: str, whole: bool = True, scale: WeightScale | None = None) -> Rows:
        """`encode` for a batch."""
        n_rows, sample_weight = len(batch), batch.sample_weight
        read = read_batch(batch, self.groups.missing, rows)
        group, known = self.groups.encode_read(self.groups.match_columns(read.columns, rows))
        label = None
        if read.labels is not None:
            labels, distinct = read.labels
            self._check_labels(f"y of {rows}", distinct)
            if self.label_sets is None:
                label = (labels == self.classes[self.favorable]).astype(np.uint8)
            else:
                label = self.label_sets.code(labels)
        weight, unit = _count_weight(sample_weight, n_rows, rows, scale)
        if known is not None:
            weight = weight * known
        checked = Rows(group, label, weight, unit, len(self.groups))
        if whole:
            if known is not None and not weight.any():
                raise ValueError(f"no row of {rows} has a group; give rows whose group is known")
            self._check_both_groups(checked.weigh_cells(), sample_weight is not None, rows)
        return checked

    def count_cells(self, survey: Survey, *, rows: str) -> np.ndarray:
        """How many rows were surveyed per group and label, shape (n_groups, n_labels), and raise if some are unknown.

        The same as `Rows.count_cells` of all of them.
        """
        self.groups.check_values(survey.values, rows, survey.find)
        labels = [None]
        if survey.labels is not None:
            labels = survey.labels
            self._check_labels(f"y of {rows}", labels, partial(survey.find, "y"))
        place = {group: k for k, group in enumerate(self.groups)}
        code = {label: self._is_good(label) for label in labels}
        cells = np.zeros((len(place), 1 if survey.labels is None else 2), np.int64)
        for (group, label), n_rows in survey.tally.items():
            cells[place[match_group(group, survey.values, self.groups.names)], code[label]] += n_rows
        self._check_both_groups(cells, survey.scale is not None, rows)
        return cells

    def _check_labels(self, what: str, labels: list[Any], find: Callable[[Any], str] | None = None) -> None:
        """Raise if one of the labels is unknown; ``find`` says where it is."""
        if self.label_sets is None:
            hint = "; give each row one of these, or leave it out"
            if self.classes.tolist() == [0, 1]:
                several = "those that are good for a person as a set, as in ", f"={{{labels[-1]!r}}}"
                one = "the label that stands for 1, as in ", f"={labels[-1]!r}"
                before, after = several if len(labels) > 2 else one
                hint = ", those of the model; name " + before + parameter("favorable") + after
            check_known(what, labels, self.classes.tolist(), "the labels", hint, find)
        else:
            self.label_sets.check(what, labels, find)

    def _is_good(self, label: Any) -> int:
        if self.label_sets is not None:
            return int(label in self.label_sets.good)
        return int(label is not None and equal(label, self.classes.tolist()[self.favorable]))

    def _check_both_groups(self, cells: np.ndarray, weighted: bool, rows: str) -> None:
        if len(self.groups) > 2:
            return
        for value, of_group in zip(self.groups, cells.sum(axis=1), strict=True):
            if of_group == 0:
                with_weight = " with a weight above 0" if weighted else ""
                raise ValueError(f"no row of group {value!r}{with_weight} among {rows}; give rows of both groups")

    def encode_groups(self, X: Any, sensitive_features: Any, *, rows: str) -> np.ndarray:
        """The group of each row as an index into the groups; not every group need have a row."""
        return self.groups.encode(sensitive_features, X, rows=rows)[0]

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


def without_scale(favorable: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide sums of weights by a power of two, so that the product of two of them does not overflow.

    Counts of rows stay as they are. No ratio changes.
    """
    if totals.dtype.kind != "f" or not totals.any():
        return favorable, totals
    power = -np.frexp(totals.max())[1]
    return np.ldexp(favorable, power), np.ldexp(totals, power)


def check_trainable(rows: Rows) -> None:
    """Raise unless both labels have weight."""
    if (rows.weigh_cells().sum(axis=0) == 0).any():
        raise ValueError("the training rows are of one class only, which is nothing to learn from; give more rows")


def check_split(rows: Rows, groups: Groups, parts: Sequence[np.ndarray], or_else: str = "") -> None:
    """Raise unless both groups, where there are two, have weight in each part; ``or_else`` is what else would help."""
    if len(groups) > 2:  # those that are small are left out of the bound
        return
    for code, value in enumerate(groups):
        if not all((rows.weight[part] * (rows.group[part] == code)).any() for part in parts):
            raise ValueError(
                f"group {value!r} has {np.sum(rows.group == code)} rows in all, too few to be both among the rows "
                f"to train on and among those to choose on; give more rows of it{or_else}"
            )


def spread_weight(sample_weight: Any, n_rows: int) -> np.ndarray | None:
    """Sample weights that have been checked, one per row; ``None`` if there are none."""
    return None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, np.float64), n_rows)


def is_constant(sample_weight: Any) -> bool:
    """Whether sample weights above 0 are all the same, so that they only say which rows count; or there are none."""
    if sample_weight is None:
        return True
    weight = np.asarray(sample_weight, np.float64)
    return len(np.unique(weight[weight > 0])) <= 1


def _count_weight(sample_weight: Any, n_rows: int, rows: str, scale: WeightScale | None) -> tuple[np.ndarray, float]:
    """Return the weights in whole units, and the unit; ``scale`` is that of all rows, where these are some of them."""
    if sample_weight is None:
        return np.broadcast_to(np.int64(1), n_rows), 1
    weight = check_weight(sample_weight, n_rows, rows)
    if scale is None:
        scale = WeightScale.of(weight)
        scale.check(rows)
    return np.rint(weight / scale.unit).astype(np.int64), 1 if scale.constant else scale.unit
