"""FairnessPathDisplay: the trade-off as a picture."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eifffel.selection import Selection

if TYPE_CHECKING:
    from eifffel.classifier import EiFFFeLClassifier
    from eifffel.path import FairnessPath


class FairnessPathDisplay:
    """Accuracy against discrimination along a path.

    Use `from_path` or `from_estimator`.

    Parameters
    ----------
    discrimination, accuracy : ndarray of shape (n_steps + 1,)
    rows : str
        Which rows were measured.
    selection : Selection, optional
        The step to mark.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Any
    figure_: Any

    def __init__(
        self, *, discrimination: np.ndarray, accuracy: np.ndarray, rows: str, selection: Selection | None = None
    ):
        self.discrimination = discrimination
        self.accuracy = accuracy
        self.rows = rows
        self.selection = selection

    @classmethod
    def from_path(
        cls, path: "FairnessPath", *, ax: Any = None, epsilon: float | None = None, alpha: float | None = None
    ) -> "FairnessPathDisplay":
        """Draw a path, and mark the step that ``epsilon`` and ``alpha`` select if ``epsilon`` is given."""
        selection = None if epsilon is None else path.select(epsilon=epsilon, alpha=alpha)
        return cls._of(path, selection).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: "EiFFFeLClassifier", *, ax: Any = None) -> "FairnessPathDisplay":
        """Draw the path of a fitted EiFFFeLClassifier and mark the step it selected."""
        check_is_fitted(estimator)
        return cls._of(estimator.path_, estimator.selection_).plot(ax=ax)

    @classmethod
    def _of(cls, path: "FairnessPath", selection: Selection | None) -> "FairnessPathDisplay":
        rows = path.counts.rows
        if path.accuracy_counts.rows != rows:
            rows += f", accuracy on the {path.accuracy_counts.rows}"
        return cls(discrimination=path.discrimination, accuracy=path.accuracy, rows=rows, selection=selection)

    def plot(self, ax: Any = None) -> "FairnessPathDisplay":
        """Draw on ``ax``, or on a new figure."""
        try:
            import matplotlib.pyplot as plt
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "plotting needs matplotlib; install it with: pip install 'eifffel[plot]'"
            ) from None
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        ax.axvline(0, color="0.75", linewidth=1, zorder=0)
        ax.plot(self.discrimination, self.accuracy, color="#0072b2", linewidth=1.5, label="path")
        ax.plot(
            self.discrimination[0], self.accuracy[0], "s", color="#d55e00", markersize=8, label="as it came (step 0)"
        )
        chosen = self.selection
        if chosen is not None:
            ax.axvspan(
                -chosen.epsilon,
                chosen.epsilon,
                color="#009e73",
                alpha=0.15,
                label=f"within epsilon = {chosen.epsilon:g}",
            )
            ax.plot(
                chosen.discrimination,
                chosen.accuracy,
                "o",
                color="#009e73",
                markersize=9,
                label=f"selected (step {chosen.step})",
            )
        ax.set_xlabel("discrimination (privileged minus unprivileged selection rate)")
        ax.set_ylabel("accuracy")
        ax.set_title(f"After each flip, on the {self.rows}", fontsize="medium")
        self._look_at_the_useful_part(ax)
        ax.grid(alpha=0.3)
        ax.legend()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _look_at_the_useful_part(self, ax: Any) -> None:
        """Show the way from step 0 to a little past 0; the rest of the path favours the other group."""
        start = abs(float(self.discrimination[0]))
        past = 0.0 if self.selection is None else max(self.selection.epsilon, -self.selection.discrimination)
        low = -max(0.2 * start, 1.2 * past)
        shown = self.accuracy[self.discrimination >= low]
        if start == 0 or len(shown) < 2:
            return
        ax.set_xlim(low, max(float(self.discrimination.max()), past) + 0.05 * start)
        slack = 0.05 * max(float(np.ptp(shown)), 1e-3)
        ax.set_ylim(shown.min() - slack, shown.max() + slack)
