"""FairnessPath: every step from the model as it came to all edits made, measured on rows."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils import indexable

from eifffel import metrics
from eifffel._optional import import_optional
from eifffel._validation import Coding, Rows, check_choice, check_step, check_table
from eifffel.ensembles import EnsembleView, plain_columns, view_ensemble
from eifffel.exceptions import (
    ModelChangedError,
    NarrowProbabilitiesWarning,
    UnsupportedModelError,
    ViewMismatchError,
    warn_caller,
)
from eifffel.leaves import LeafCounts, PlacedRows
from eifffel.record import attach_record, make_record
from eifffel.rules import Rule, read_rules
from eifffel.selection import Selection, select_step
from eifffel.strategies import EditOrder

if TYPE_CHECKING:
    from eifffel.display import FairnessPathDisplay

# Below it, the probabilities of a shifted forest lie so near the cut-off that they say little.
LEAST_SCALE = 0.5

CELLS = ("unprivileged_unfavorable", "unprivileged_favorable", "privileged_unfavorable", "privileged_favorable")


@dataclass(frozen=True, eq=False)
class PathCounts:
    """Rows decided favourably after each step.

    Attributes
    ----------
    favorable : ndarray of shape (n_steps + 1, 2, n_labels)
        Per step, group (1 is privileged) and label (1 is favourable). int64 for unit weights, float64 for real ones;
        ``n_labels`` is 1 where the rows have no labels.
    totals : ndarray of shape (2, n_labels)
        All rows.
    rows : str
        Which rows these are.
    """

    favorable: np.ndarray
    totals: np.ndarray
    rows: str


@dataclass(frozen=True, eq=False)
class RowsAtHand:
    """Rows as they were given, and how many of them are decided favourably after each step, in units."""

    X: Any
    rows: Rows
    favorable: np.ndarray


@dataclass(frozen=True, eq=False)
class FairnessPath:
    """All steps from a model as it came (step 0) to all edits of its leaves made.

    Made by `trace_path`. Stores counts, never metric values: every metric at every step is arithmetic on them,
    and every bound is a look-up.

    Attributes
    ----------
    model : fitted classifier
        The model as it came; never changed.
    strategy : str
    groups : tuple
        The unprivileged and the privileged group.
    favorable : label
        The favourable class.
    order : EditOrder
        What is edited at each step.
    leaf_counts : LeafCounts
        Scoring rows in each leaf of the ensemble.
    counts : PathCounts
        On the selection rows.
    accuracy_counts : PathCounts
        On the rows that accuracy is measured on: the selection rows, or the scoring rows where the selection rows
        have no labels.
    fingerprint : str
        SHA-256 of the model's leaves when the path was traced.
    at_hand : RowsAtHand or None
        The rows of ``counts``, with which edited models are checked. They are kept by reference and are not stored
        with the path: a path that was pickled and loaded has none.
    """

    model: Any
    strategy: str
    groups: tuple[Any, Any]
    favorable: Any
    order: EditOrder
    leaf_counts: LeafCounts
    counts: PathCounts
    accuracy_counts: PathCounts
    fingerprint: str
    at_hand: RowsAtHand | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"at_hand": None}

    def __repr__(self) -> str:
        return (
            f"<FairnessPath of {type(self.model).__name__}: strategy {self.strategy!r}, {self.n_steps} steps, "
            f"{self.n_flips(self.n_steps)} leaves to edit; discrimination {self.discrimination[0]:.4f} at step 0 and "
            f"{self.discrimination[-1]:.4f} at the end, on the {self.counts.rows}>"
        )

    @property
    def n_steps(self) -> int:
        """Steps after step 0."""
        return self.order.n_steps

    @property
    def positions(self) -> np.ndarray:
        """How far each step is from the model as it came, shape (n_steps + 1,).

        The number of flipped leaves; with ``strategy="shift"``, lambda.
        """
        return self.order.positions

    @cached_property
    def discrimination(self) -> np.ndarray:
        """Signed discrimination after each step, shape (n_steps + 1,)."""
        return metrics.discrimination(self.counts.favorable, self.counts.totals)

    @cached_property
    def selection_rates(self) -> np.ndarray:
        """Share of favourable decisions after each step per group, shape (n_steps + 1, 2)."""
        return metrics.selection_rate(self.counts.favorable, self.counts.totals)

    @cached_property
    def accuracy(self) -> np.ndarray:
        """Accuracy after each step, shape (n_steps + 1,), on the rows that ``accuracy_counts.rows`` names."""
        return metrics.accuracy(self.accuracy_counts.favorable, self.accuracy_counts.totals)

    @cached_property
    def accuracy_drop(self) -> np.ndarray:
        """By how much each step is less accurate than step 0."""
        counts = self.accuracy_counts
        correct = metrics.n_correct(counts.favorable, counts.totals)
        # One division of exact counts, so that 2 rows of 100 are a drop of exactly 0.02.
        return (correct[0] - correct) / counts.totals.sum()

    def metric(self, name: str) -> np.ndarray:
        """Any metric of `eifffel.metrics.METRICS` after each step, on the selection rows."""
        check_choice("metric", name, list(metrics.METRICS))
        return metrics.METRICS[name](self.counts.favorable, self.counts.totals)

    def select(self, *, epsilon: float, alpha: float | None = None, rule: str = "first") -> Selection:
        """The step for a bound on discrimination and on the loss of accuracy; a look-up.

        Parameters
        ----------
        epsilon : float in [0, 1]
            Bound on discrimination.
        alpha : float in [0, 1], optional
            Bound on the absolute drop of accuracy; ``None`` is no limit.
        rule : {"first", "most_accurate", "paper"}
            The first step with ``abs(discrimination) <= epsilon`` and a drop ``<= alpha``; the most accurate of
            those; or where the loop of the paper's algorithms ends, the first step with
            ``discrimination <= epsilon`` or a drop ``>= alpha``.
        """
        return select_step(
            self.discrimination,
            self.accuracy,
            self.accuracy_drop,
            self.selection_rates,
            epsilon=epsilon,
            alpha=alpha,
            rule=rule,
            # Counts of rows are exact; sums of real weights round.
            tolerance=0 if self.counts.favorable.dtype.kind == "i" else 1e-9,
            discrimination_rows=self.counts.rows,
            accuracy_rows=self.accuracy_counts.rows,
        )

    def n_flips(self, step: int) -> int:
        """How many leaves are edited at ``step``."""
        return self.order.n_edited(check_step(step, self.n_steps))

    def scale(self, step: int) -> float:
        """By which factor all leaves are drawn towards the cut-off at ``step``, so that they stay probabilities.

        It changes no decision. 1 but for shifted forests, whose probabilities it narrows.
        """
        return self.order.edit(self._view(), check_step(step, self.n_steps))[1]

    def model_at(self, step: int) -> Any:
        """A copy of the model with the edits up to ``step`` made: the same class, ready to predict.

        It is read back and, where the rows of the path are at hand, asked to decide them again: its counts must be
        those of the path. It carries a record of the edit, with which `eifffel.undo` takes it back.
        """
        check_step(step, self.n_steps)
        view = self._view()
        wanted, scale = self.order.edit(view, step)
        model = view.write(wanted)
        written = view_ensemble(model, favorable=self.favorable)
        if not written.holds(wanted):
            raise ViewMismatchError(f"the leaves written into the copy of this {type(model).__name__} read otherwise")
        if self.at_hand is not None:
            self._check_written(written, step)
        record = make_record(view, written, strategy=self.strategy, groups=self.groups, step=step, scale=scale)
        attach_record(model, record)
        if scale < LEAST_SCALE:
            warn_caller(
                f"at step {step} the leaves had to be scaled by {scale:.2g} to stay probabilities: predict is as "
                "measured, but predict_proba is narrowed towards the cut-off. Calibrate the edited model, or take "
                "strategy='leaf'",
                NarrowProbabilitiesWarning,
            )
        return model

    def _check_written(self, written: EnsembleView, step: int) -> None:
        """Raise unless the written model decides the rows at hand as the path says."""
        assert self.at_hand is not None
        X, rows = self.at_hand.X, self.at_hand.rows
        written.verify(X)
        off_by = np.abs(rows.weigh_cells(written.decides(X)) - self.at_hand.favorable[step])
        if not off_by.any():
            return
        # A row whose score is within rounding of the threshold may go either way.
        score = written.model_score(X) - written.threshold
        near = rows.weigh_cells(np.abs(score) <= written.rounding)
        if (off_by > near).any():
            raise ViewMismatchError(
                f"the edited {type(self.model).__name__} decides {int(off_by.sum())} rows otherwise than the path says "
                f"for step {step}. If X was changed since, trace or measure again; else please report this with the "
                "versions of the libraries"
            )

    def flips(self, step: int) -> np.ndarray:
        """One record per leaf that is edited at ``step``, in the order of flipping, or the most shifted first.

        Fields: ``tree``; ``leaf``, its node id; ``before`` and ``after``, the favourable fraction, or what the leaf of
        a boosted ensemble adds to the favourable score; ``score``, for which it was flipped or along which it is
        shifted; ``step``, its first; and the scoring rows in the leaf per group and label,
        ``unprivileged_unfavorable`` to ``privileged_favorable``. ``pandas.DataFrame(path.flips(step))`` makes a table
        of it.
        """
        leaves = self.order.leaves_at(check_step(step, self.n_steps))
        view = self._view()
        records = np.empty(
            len(leaves),
            [
                ("tree", np.int64),
                ("leaf", np.int64),
                ("before", np.float64),
                ("after", np.float64),
                ("score", np.float64),
                ("step", np.int64),
                *((cell, np.result_type(self.leaf_counts.unit, np.int64)) for cell in CELLS),
            ],
        )
        records["tree"] = view.leaf_tree[leaves]
        records["leaf"] = view.leaf_node[leaves]
        records["before"] = view.favor(view.leaf_value)[leaves]
        records["after"] = view.favor(self.order.edit(view, step)[0])[leaves]
        records["score"] = self.order.score[leaves]
        records["step"] = self.order.step_of(leaves)
        for cell, counts in zip(CELLS, self.leaf_counts.counts[leaves].reshape(-1, 4).T, strict=True):
            records[cell] = counts * self.leaf_counts.unit
        return records

    def rules(
        self, step: int, feature_names: Sequence[str] | None = None, *, which: Sequence[int] | None = None
    ) -> list[Rule]:
        """The leaves edited at ``step`` as readable rules, in the order of `flips`.

        ``feature_names`` default to the names that the ensemble was trained with, those that the pipeline before it
        gives, or x0, x1, ... ``which`` are places in `flips`, for the rules of some leaves only.
        """
        view = self._view()
        columns = view.columns if feature_names is None else plain_columns(list(feature_names))
        if len(columns) != len(view.feature_names):
            raise ValueError(f"feature_names has {len(columns)} names for {len(view.feature_names)} features")
        leaves = self.order.leaves_at(check_step(step, self.n_steps))
        if which is not None:
            leaves = leaves[list(which)]
        return read_rules(view, leaves, self.order.outcomes(view, leaves, step), columns)

    def measure(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        *,
        sample_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> "FairnessPath":
        """The same path on other rows; ``y`` may be ``None``, and accuracy is then the one measured here."""
        check_table(X)
        (X,) = indexable(X)
        view = self._view()
        coding = Coding(view.classes, view.favorable, self.groups)
        rows = coding.encode(X, y, sensitive_features, sample_weight, rows="the measured rows")
        index = view.apply(view.check_rows(X), n_jobs=n_jobs, verbose=verbose)
        placed = PlacedRows(X, index, rows, "measured rows")
        counts, at_hand = measure_rows(view, placed, self.order, n_jobs=n_jobs, verbose=verbose)
        accuracy_counts = self.accuracy_counts if y is None else counts
        return replace(self, counts=counts, accuracy_counts=accuracy_counts, at_hand=at_hand)

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """One row per step: its position, discrimination, accuracy and selection rates.

        Accuracy is called ``scoring_accuracy`` where the selection rows have no labels.

        ``backend`` is ``"pandas"`` or ``"polars"``.
        """
        check_choice("backend", backend, ("pandas", "polars"))
        import_optional(backend, "to_frame needs")
        where = "" if self.accuracy_counts.rows == self.counts.rows else "scoring_"
        columns = {
            "step": np.arange(self.n_steps + 1),
            "position": self.positions,
            "discrimination": self.discrimination,
            f"{where}accuracy": self.accuracy,
            f"{where}accuracy_drop": self.accuracy_drop,
            "selection_rate_unprivileged": self.selection_rates[:, 0],
            "selection_rate_privileged": self.selection_rates[:, 1],
        }
        return nw.from_dict(columns, backend=backend).to_native()

    def plot(
        self,
        *,
        epsilon: float | None = None,
        alpha: float | None = None,
        rule: str = "first",
        ax: Any = None,
        name: str | None = None,
    ) -> "FairnessPathDisplay":
        """Draw accuracy against discrimination, with the step that ``epsilon`` selects if it is given."""
        from eifffel.display import FairnessPathDisplay

        return FairnessPathDisplay.from_path(self, epsilon=epsilon, alpha=alpha, rule=rule, ax=ax, name=name)

    def _view(self) -> EnsembleView:
        changed = ModelChangedError(
            f"the leaves of this {type(self.model).__name__} have changed since the path was traced (refitted or "
            "edited?); trace the path again"
        )
        try:
            view = view_ensemble(self.model, favorable=self.favorable)
        except (UnsupportedModelError, ValueError):  # it was a model of these labels when the path was traced
            raise changed from None
        if view.fingerprint() != self.fingerprint:
            raise changed
        if not self.order.fits(view.n_leaves) or len(self.leaf_counts.counts) != view.n_leaves:
            raise ValueError("the edits of this path are of other leaves than the model has; it is damaged")
        return view


def measure_rows(
    view: EnsembleView, placed: PlacedRows, order: EditOrder, *, n_jobs: int | None, verbose: int
) -> tuple[PathCounts, RowsAtHand]:
    """Measure every step on rows."""
    rows = placed.rows
    favorable = order.replay(view, placed, n_jobs=n_jobs, verbose=verbose)
    counts = PathCounts(rows.in_weight(favorable), rows.in_weight(rows.weigh_cells()), placed.name)
    return counts, RowsAtHand(placed.X, rows, favorable)
