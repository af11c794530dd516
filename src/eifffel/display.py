"""FairnessPathDisplay: the trade-off as a picture."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eifffel._optional import import_optional
from eifffel.selection import Selection

if TYPE_CHECKING:
    from eifffel.classifier import EiFFFeLClassifier
    from eifffel.path import FairnessPath

# Up to so many steps, each is a point of its own.
SEPARATE_STEPS = 200


class FairnessPathDisplay:
    """Accuracy against discrimination along a path.

    Use `from_path` or `from_estimator`.

    Parameters
    ----------
    discrimination, accuracy : ndarray of shape (n_steps + 1,)
    rows : str
        Which rows were measured.
    compared : str
        What discrimination is the difference of.
    selection : Selection, optional
        The step to mark.
    name : str, optional
        What the legend calls the path.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        *,
        discrimination: np.ndarray,
        accuracy: np.ndarray,
        rows: str,
        compared: str = "privileged minus unprivileged selection rate",
        selection: Selection | None = None,
        name: str | None = None,
    ):
        self.discrimination = discrimination
        self.accuracy = accuracy
        self.rows = rows
        self.compared = compared
        self.selection = selection
        self.name = name

    @classmethod
    def from_path(
        cls,
        path: "FairnessPath",
        *,
        ax: Any = None,
        name: str | None = None,
        **bounds: Any,
    ) -> "FairnessPathDisplay":
        """Draw a path, and mark the step that ``bounds``, those of `FairnessPath.select`, choose if there are any."""
        bounds = {what: value for what, value in bounds.items() if value is not None}
        if bounds and "epsilon" not in bounds and "ratio" not in bounds:
            given = ", ".join(f"{what}={value!r}" for what, value in bounds.items())
            raise ValueError(f"{given} selects no step by itself; give epsilon too")
        return cls._of(path, path.select(**bounds) if bounds else None, name).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: "EiFFFeLClassifier", *, ax: Any = None, name: str | None = None
    ) -> "FairnessPathDisplay":
        """Draw the path of a fitted EiFFFeLClassifier and mark the step it selected."""
        check_is_fitted(estimator)
        if not hasattr(estimator, "path_"):
            raise TypeError(f"from_estimator takes a fitted EiFFFeLClassifier, got a {type(estimator).__name__}")
        return cls._of(estimator.path_, estimator.selection_, name).plot(ax=ax)

    @classmethod
    def _of(cls, path: "FairnessPath", selection: Selection | None, name: str | None) -> "FairnessPathDisplay":
        rows = path.counts.rows
        if path.accuracy_counts.rows != rows:
            rows += f", accuracy on the {path.accuracy_counts.rows}"
        return cls(
            discrimination=path.discrimination,
            accuracy=path.accuracy,
            rows=rows,
            compared=path.constraint.words,
            selection=selection,
            name=name,
        )

    def plot(self, ax: Any = None) -> "FairnessPathDisplay":
        """Draw on ``ax``, or on a new figure."""
        plt = import_optional("matplotlib.pyplot", "plots need")
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        others = (ax.get_xlim(), ax.get_ylim()) if ax.has_data() else None
        ax.axvline(0, color="0.75", linewidth=1, zorder=0)
        few_steps = len(self.accuracy) <= SEPARATE_STEPS
        (line,) = ax.plot(
            self.discrimination,
            self.accuracy,
            linewidth=1 if few_steps else 1.5,
            marker="." if few_steps else None,
            label="path" if self.name is None else self.name,
        )
        ax.plot(
            self.discrimination[0],
            self.accuracy[0],
            "s",
            color=line.get_color(),
            markersize=8,
            label="as it came (step 0)",
        )
        chosen = self.selection
        if chosen is not None:
            if chosen.epsilon is not None:
                within = f"within epsilon = {chosen.epsilon:g}"
                if within not in ax.get_legend_handles_labels()[1]:  # a path beside another has the same band
                    low = -chosen.epsilon if chosen.confidence is None else -1  # with confidence it is one-sided
                    ax.axvspan(low, chosen.epsilon, color="#009e73", alpha=0.15, label=within)
            reach: tuple[float, float] | None
            if chosen.confidence is not None and chosen.upper is not None:
                reach, what = (
                    (chosen.discrimination, chosen.upper),
                    f"at most, with {100 * chosen.confidence:g}% confidence",
                )
            else:
                reach, what = chosen.interval, "95% interval of the selected"
            if reach is not None:
                ax.plot(reach, [chosen.accuracy] * 2, "|-", color="0.4", linewidth=1, label=what)
            limits = "" if chosen.alpha is None else f" with alpha = {chosen.alpha:g}"
            whose = "" if self.name is None else f"{self.name}: "
            ax.plot(
                chosen.discrimination,
                chosen.accuracy,
                "o" if chosen.met else "X",
                color="#009e73" if chosen.met else "#d55e00",
                markeredgecolor=line.get_color(),
                markersize=9,
                label=whose
                + (f"selected (step {chosen.step})" if chosen.met else f"NOT MET{limits} (step {chosen.step})"),
            )
        ax.set_xlabel(f"discrimination ({self.compared})")
        ax.set_ylabel("accuracy")
        ax.set_title(f"After each step, on the {self.rows}", fontsize="medium")
        self._look_at_the_useful_part(ax, others)
        ax.grid(alpha=0.3)
        ax.legend()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _look_at_the_useful_part(self, ax: Any, others: Any) -> None:
        """Show the way from step 0 to a little past 0; the rest of the path favours the other group.

        ``others`` are the limits of what was drawn before, which stays in sight.
        """
        start = abs(float(self.discrimination[0]))
        past = 0.0
        if self.selection is not None:
            past = max(self.selection.epsilon or 0.0, -self.selection.discrimination)
        low = -max(0.2 * start, 1.2 * past)
        shown = self.accuracy[self.discrimination >= low]
        if start == 0 or len(shown) < 2:
            return
        slack = 0.05 * max(float(np.ptp(shown)), 1e-3)
        x = (low, max(float(self.discrimination.max()), past) + 0.05 * start)
        y = (shown.min() - slack, shown.max() + slack)
        if others is not None:
            x, y = ((min(a[0], b[0]), max(a[1], b[1])) for a, b in zip((x, y), others, strict=True))
        ax.set_xlim(x)
        ax.set_ylim(y)
