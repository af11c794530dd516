"""FairnessPath: every step from the model as it came to all flips made, measured on rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v1 as nw
import numpy as np

from eifffel import metrics
from eifffel._optional import import_optional
from eifffel._validation import Coding, Rows, check_choice, check_step
from eifffel.ensembles import EnsembleView, view_ensemble
from eifffel.exceptions import ModelChangedError, UnsupportedModelError, ViewMismatchError
from eifffel.leaves import LeafCounts
from eifffel.replay import replay_flips
from eifffel.rules import Rule, read_rules
from eifffel.selection import Selection, select_step
from eifffel.strategies import FlipOrder

if TYPE_CHECKING:
    from eifffel.display import FairnessPathDisplay

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
class FairnessPath:
    """All steps from a model as it came (step 0) to all its candidate leaves flipped.

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
    order : FlipOrder
    leaf_score : ndarray of shape (n_leaves,)
        The score of each leaf of the ensemble, NaN where it is no candidate.
    leaf_counts : LeafCounts
        Scoring rows in each leaf of the ensemble.
    counts : PathCounts
        On the selection rows.
    accuracy_counts : PathCounts
        On the rows that accuracy is measured on: the selection rows, or the scoring rows where the selection rows
        have no labels.
    fingerprint : str
        SHA-256 of the model's leaves when the path was traced.
    """

    model: Any
    strategy: str
    groups: tuple[Any, Any]
    favorable: Any
    order: FlipOrder
    leaf_score: np.ndarray
    leaf_counts: LeafCounts
    counts: PathCounts
    accuracy_counts: PathCounts
    fingerprint: str

    def __repr__(self) -> str:
        return (
            f"<FairnessPath of {type(self.model).__name__}: strategy {self.strategy!r}, {self.n_steps} steps, "
            f"{len(self.order.leaf)} flips; discrimination {self.discrimination[0]:.4f} at step 0 and "
            f"{self.discrimination[-1]:.4f} at the end, on the {self.counts.rows}>"
        )

    @property
    def n_steps(self) -> int:
        """Steps after step 0."""
        return self.order.n_steps

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
        """How many leaves are flipped at ``step``."""
        return int(np.searchsorted(self.order.step, check_step(step, self.n_steps), side="right"))

    def model_at(self, step: int) -> Any:
        """A copy of the model with the flips up to ``step`` made: the same class, ready to predict."""
        flipped = self.order.leaf[: self.n_flips(step)]
        view = self._view()
        wanted = view.flip(flipped)
        model = view.write(wanted)
        if not np.array_equal(view_ensemble(model, favorable=self.favorable).leaf_value, wanted):
            raise ViewMismatchError(f"the leaves written into the copy of this {type(model).__name__} read otherwise")
        return model

    def flips(self, step: int) -> np.ndarray:
        """One record per leaf that is flipped at ``step``, in the order of flipping.

        Fields: ``tree``; ``leaf``, its node id; ``before`` and ``after``, the favourable fraction; ``score``;
        ``step``; and the scoring rows in the leaf per group and label, ``unprivileged_unfavorable`` to
        ``privileged_favorable``. ``pandas.DataFrame(path.flips(step))`` makes a table of it.
        """
        n = self.n_flips(step)
        view = self._view()
        leaves = self.order.leaf[:n]
        records = np.empty(
            n,
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
        records["after"], records["before"] = view.leaf_value[leaves].T
        records["score"] = self.leaf_score[leaves]
        records["step"] = self.order.step[:n]
        for cell, counts in zip(CELLS, self.leaf_counts.counts[leaves].reshape(n, 4).T, strict=True):
            records[cell] = counts * self.leaf_counts.unit
        return records

    def rules(self, step: int, feature_names: Sequence[str] | None = None) -> list[Rule]:
        """The leaves flipped at ``step`` as readable rules, in the order of `flips`.

        ``feature_names`` default to the names that the model was trained with, or x0, x1, ...
        """
        n_features = self.model.n_features_in_
        if feature_names is None:
            feature_names = getattr(self.model, "feature_names_in_", [f"x{k}" for k in range(n_features)])
        if len(feature_names) != n_features:
            raise ValueError(f"feature_names has {len(feature_names)} names for {n_features} features")
        return read_rules(self._view(), self.order.leaf[: self.n_flips(step)], list(feature_names))

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
        view = self._view()
        coding = Coding(view.classes, view.favorable, self.groups)
        rows = coding.encode(X, y, sensitive_features, sample_weight, rows="the measured rows")
        index = view.apply(view.check_rows(X), n_jobs=n_jobs, verbose=verbose)
        counts = measure_rows(view, index, self.order, rows, "measured rows", n_jobs=n_jobs, verbose=verbose)
        return replace(self, counts=counts, accuracy_counts=self.accuracy_counts if y is None else counts)

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """One row per step: discrimination, accuracy, selection rates and flips so far.

        Accuracy is called ``scoring_accuracy`` where the selection rows have no labels.

        ``backend`` is ``"pandas"`` or ``"polars"``.
        """
        check_choice("backend", backend, ("pandas", "polars"))
        import_optional(backend, "to_frame needs")
        steps = np.arange(self.n_steps + 1)
        where = "" if self.accuracy_counts.rows == self.counts.rows else "scoring_"
        columns = {
            "step": steps,
            "n_flips": np.searchsorted(self.order.step, steps, side="right"),
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
        return view


def measure_rows(
    view: EnsembleView,
    index: np.ndarray,
    order: FlipOrder,
    rows: Rows,
    name: str,
    *,
    n_jobs: int | None,
    verbose: int,
) -> PathCounts:
    """Measure every step on rows whose leaves are in ``index``."""
    favorable = replay_flips(view, index, order, rows, n_jobs=n_jobs, verbose=verbose)
    return PathCounts(rows.in_weight(favorable), rows.in_weight(rows.weigh_cells()), name)
