"""One picture a case: accuracy and balanced accuracy against discrimination, with and without the sensitive column."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from measures import Curve, Measured
from methods import METHODS

METRICS = {"accuracy": "accuracy, %", "balanced_accuracy": "balanced accuracy, %"}
# How far beyond the base forest's discrimination is shown.
WIDER = 1.25
OURS = ("#08306b", "#6baed6", "#2171b5", "#a1d99b", "#41ab5d", "#225ea8", "#006d2c")
THEIRS = (
    "#d62728",
    "#ff7f0e",
    "#8c564b",
    "#e377c2",
    "#bcbd22",
    "#7f7f7f",
    "#9467bd",
    "#c49c94",
    "#17becf",
    "#000000",
    "#6b6ecf",
)
MARKERS = "os^vDPX*<>p"
# Settings that are no scale, and so no line.
LOOSE = ("fairgbm", "calibrated")
# Points of accuracy below and above the base forest that are shown.
DEPTH, HEIGHT = 14, 6


def drawn() -> list[str]:
    """Which methods: those that are compared by rates."""
    return [name for name, method in METHODS.items() if not method.again]


def draw(path: Path, title: str, curves: dict[str, dict[str, Curve]], base: dict[str, Curve]) -> None:
    """``curves`` by features and method; those that need the group at prediction are dashed."""
    figure, axes = plt.subplots(2, len(curves), figsize=(12, 8.5), sharex="col", sharey="row", squeeze=False)
    names = drawn()
    ours = [name for name in names if METHODS[name].is_ours]
    theirs = [name for name in names if name not in ours]
    looks = {name: (OURS[place], "o") for place, name in enumerate(ours)}
    looks.update({name: (THEIRS[place], MARKERS[place]) for place, name in enumerate(theirs)})
    for column, (features, of_method) in enumerate(curves.items()):
        for row, (metric, label) in enumerate(METRICS.items()):
            ax = axes[row][column]
            for name in names:
                curve = of_method[name]
                gap, value = Measured(curve, metric).points(np.arange(curve.n_splits))
                order = np.argsort(gap)
                color, marker = looks[name]
                ax.plot(
                    gap[order],
                    100 * value[order],
                    color=color,
                    marker=marker,
                    markersize=4,
                    linewidth=2 if name in ours else 1.2,
                    linestyle="" if name in LOOSE else "--" if METHODS[name].needs_group else "-",
                    label=METHODS[name].title,
                    zorder=3 if name in ours else 2,
                )
            gap, value = Measured(base[features], metric).points(np.arange(base[features].n_splits))
            ax.plot(gap, 100 * value, "k*", markersize=13, label="base forest", zorder=4)
            ax.set_xlim(-0.005, WIDER * gap[0])
            ax.set_ylim(100 * value[0] - DEPTH, 100 * value[0] + HEIGHT)
            ax.grid(alpha=0.3)
            if row == 0:
                ax.set_title(f"{title}, sensitive column {'among the features' if features == 'with' else 'removed'}")
            else:
                ax.set_xlabel("discrimination: difference of rates, mean over the splits")
            if column == 0:
                ax.set_ylabel(label)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=4, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.11, 1, 1))
    temporary = path.with_suffix(".part.png")
    figure.savefig(temporary, dpi=110)
    temporary.rename(path)
    plt.close(figure)
