"""FairnessPathDisplay: the trade-off as a picture."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eifffel._utils.optional import import_optional
from eifffel.intervals import CONFIDENCE
from eifffel.selection.bounds import BOTH
from eifffel.selection.choose import describe_step
from eifffel.selection.selection import Selection, check_own

if TYPE_CHECKING:
    from eifffel.classifier import EiFFFeLClassifier
    from eifffel.path import FairnessPath

# Up to so many steps, each is a point of its own.
SEPARATE_STEPS = 200
ORIGINAL = "original model (step 0)"

# The rows of the paths that are drawn on axes, and the title that says so.
_TITLES: WeakKeyDictionary[Any, tuple[str, list[str]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Mark:
    """What is drawn of a `Selection`, for those who have no more of it; its attributes are those of these names."""

    step: int
    met: bool
    discrimination: float
    accuracy: float
    epsilon: float | None
    alpha: float | None
    confidence: float | None
    sides: str
    interval: tuple[float, float] | None
    upper: float | None


class FairnessPathDisplay:
    """Accuracy against discrimination along a path.

    Use `from_path` or `from_estimator`.

    Parameters
    ----------
    discrimination, accuracy : ndarray of shape (n_steps + 1,)
        After each step.
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

    See Also
    --------
    FairnessPath.plot : The same as a method of a path.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from eifffel import FairnessPathDisplay
    >>> discrimination, accuracy = np.array([0.2, 0.1, 0.0]), np.array([0.85, 0.84, 0.8])
    >>> display = FairnessPathDisplay(discrimination=discrimination, accuracy=accuracy, rows="test rows", name="A")
    >>> display.plot(ax=Figure().subplots()).ax_.get_title()
    'After each step, on the test rows'
    >>> display.ax_.get_legend_handles_labels()[1]
    ['A', 'original model (step 0)']

    Of a classifier, with the step that it kept; ``from_path`` does the same for a path and bounds:

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eifffel import EiFFFeLClassifier
    >>> from eifffel.datasets import make_biased_classification
    >>> people = make_biased_classification(1000, random_state=0)
    >>> clf = EiFFFeLClassifier(RandomForestClassifier(10, random_state=0), epsilon=0.1, random_state=0)
    >>> clf = clf.fit(people.data, people.target, sensitive_features=people.sensitive)
    >>> display = FairnessPathDisplay.from_estimator(clf, ax=Figure().subplots())
    >>> display.selection is clf.selection_
    True
    >>> display = FairnessPathDisplay.from_path(clf.path_, ax=Figure().subplots(), epsilon=0.1)
    >>> display.selection == clf.selection_
    True
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
        selection: Selection | Mark | None = None,
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
        selection: Selection | None = None,
        **bounds: Any,
    ) -> "FairnessPathDisplay":
        """Draw a path, and mark the step that bounds choose, if there are any, or one that was chosen before.

        Parameters
        ----------
        path : FairnessPath
        ax : matplotlib Axes, optional
            Where to draw, by default on a new figure. Several paths can be drawn on one.
        name : str, optional
            What the legend calls the path.
        selection : Selection, optional
            A step chosen before, on these rows or on others, to be marked where it is on these.
        **bounds
            Those of `FairnessPath.select`: ``epsilon`` or ``ratio``, and whatever goes with it.

        Returns
        -------
        FairnessPathDisplay

        Raises
        ------
        ValueError
            If bounds are given without ``epsilon`` or ``ratio``, or with a ``selection``.
        """
        bounds = {what: value for what, value in bounds.items() if value is not None}
        if selection is not None:
            if bounds:
                raise ValueError(
                    f"selection was chosen already, and {', '.join(bounds)} would choose another step; give one"
                )
            check_own(selection, path.fingerprint)
            return cls._of(path, _on_rows_of(path, selection), name).plot(ax=ax)
        if bounds and "epsilon" not in bounds and "ratio" not in bounds:
            given = ", ".join(f"{what}={value!r}" for what, value in bounds.items())
            raise ValueError(f"{given} selects no step by itself; give epsilon or ratio too")
        return cls._of(path, path.select(**bounds) if bounds else None, name).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: "EiFFFeLClassifier", *, ax: Any = None, name: str | None = None
    ) -> "FairnessPathDisplay":
        """Draw the path of a fitted EiFFFeLClassifier and mark the step it selected.

        Parameters
        ----------
        estimator : EiFFFeLClassifier
        ax, name
            As in `from_path`.

        Returns
        -------
        FairnessPathDisplay

        Raises
        ------
        TypeError
            If it is another estimator.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "path_"):
            raise TypeError(f"from_estimator takes a fitted EiFFFeLClassifier, got a {type(estimator).__name__}")
        return cls._of(estimator.path_, estimator.selection_, name).plot(ax=ax)

    @classmethod
    def _of(cls, path: "FairnessPath", selection: Selection | None, name: str | None) -> "FairnessPathDisplay":
        counts, certain = path.counts, path.certification_counts
        if selection is not None and certain.rows == selection.discrimination_rows:
            counts = certain  # with confidence, a step may be chosen on some of the rows: the line is of those
        rows = counts.rows
        if path.accuracy_counts.rows != rows:
            rows += f", accuracy on the {path.accuracy_counts.rows}"
        return cls(
            discrimination=counts.discrimination,
            accuracy=path.accuracy,
            rows=rows,
            compared=path.constraint.words,
            selection=selection,
            name=name,
        )

    def plot(self, ax: Any = None) -> "FairnessPathDisplay":
        """Draw on ``ax``, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        FairnessPathDisplay
            Itself, with ``ax_`` and ``figure_``.
        """
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
            label=None if ORIGINAL in ax.get_legend_handles_labels()[1] else ORIGINAL,
        )
        chosen = self.selection
        if chosen is not None:
            if chosen.epsilon is not None:
                within = f"within epsilon = {chosen.epsilon:g}"
                if within not in ax.get_legend_handles_labels()[1]:  # a path beside another has the same band
                    low = -chosen.epsilon if chosen.sides == BOTH else -1
                    ax.axvspan(low, chosen.epsilon, color="#009e73", alpha=0.15, label=within)
            level = f"{100 * (CONFIDENCE if chosen.confidence is None else chosen.confidence):g}%"
            reach, what = chosen.interval, f"{level} interval of the selected"
            if chosen.upper is not None and chosen.sides != BOTH:
                reach, what = (chosen.discrimination, chosen.upper), f"at most, with {level} confidence"
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
        self._name_rows(ax)
        self._look_at_the_useful_part(ax, others)
        ax.grid(alpha=0.3)
        ax.legend()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _name_rows(self, ax: Any) -> None:
        """Name the rows of all paths that are drawn in the title; one that somebody else has set stays."""
        title, (known, rows) = ax.get_title(), _TITLES.get(ax, ("", []))
        rows = rows if title == known else []
        if rows or not title:
            rows = rows if self.rows in rows else [*rows, self.rows]
            title = f"After each step, on the {', and on the '.join(rows)}"
            _TITLES[ax] = title, rows
        ax.set_title(title, fontsize="medium")

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


def _on_rows_of(path: "FairnessPath", selection: Selection) -> Selection:
    """What a step that was chosen on other rows has on those of a path."""
    chosen_on = path.counts_for(selection.confidence)
    step, verdict = selection.step, path.verdict(selection)
    if (chosen_on.rows, chosen_on.discrimination[step], chosen_on.n_rows.sum()) == (
        selection.discrimination_rows,
        selection.discrimination,
        selection.n_discrimination_rows,
    ):
        return selection  # it was chosen here
    bounds = replace(selection.bounds, confidence=None)
    here = describe_step(
        path.counts, path.accuracy_counts, path.grouping, step, bounds, path.known_rows, met=verdict.holds
    )
    return replace(here, bounds=selection.bounds, interval=verdict.interval)
