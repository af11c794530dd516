"""Runs -> the paper's three figures: printed above measured, one column per data set."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from eifffel._utils.optional import import_optional
from reproduction import protocol
from reproduction.printed import PRINTED
from reproduction.summary import Runs, mean_of_seeds

STYLES = {  # colours that colour-blind readers can tell apart, and a marker each
    protocol.DFRF: ("#7f7f7f", "v"),
    "EiFFFeL-TF": ("#0072b2", "s"),
    "EiFFFeL-LF": ("#d55e00", "o"),
    "EiFFFeL-TF*": ("#56b4e9", "D"),
    "EiFFFeL-LF*": ("#e69f00", "^"),
    protocol.THRESHOLDS: ("black", "x"),
}
PANEL_ROWS = {
    "printed": "printed in the paper",
    protocol.TRAINING: "measured, chosen on training rows\n(as in the paper)",
    protocol.HELD_OUT: "measured, chosen on held-out rows",
}


@dataclass(frozen=True)
class PaperFigure:
    """One of the paper's figures: its name, its title and what its axes show."""

    name: str
    title: str
    x: str
    y: str


FIGURES = (
    PaperFigure("figure1", "Accuracy against discrimination", "discrimination", "accuracy"),
    PaperFigure("figure2", "Accuracy against epsilon", "epsilon", "accuracy"),
    PaperFigure("figure3", "Discrimination against epsilon", "epsilon", "discrimination"),
)


@dataclass(frozen=True, eq=False)
class Curve:
    """One method over all epsilons: values and two standard errors of each measure."""

    method: str
    values: dict[str, np.ndarray]
    errors: dict[str, np.ndarray]


def curves(runs: Runs, data: str, features: str, row: str) -> Iterator[Curve]:
    """The methods that one panel shows."""
    for method in STYLES:
        if row == "printed":
            printed = PRINTED[data].get(method)
            if printed is None or features == protocol.WITHOUT:
                continue
            points = np.array([printed[epsilon] for epsilon in protocol.EPSILONS])
            values = {"epsilon": np.array(protocol.EPSILONS), "accuracy": points[:, 0], "discrimination": points[:, 1]}
            yield Curve(method, values, {})
            continue
        of_method = [
            runs.pick(data=data, features=features, method=method, chosen_on=row, epsilon=epsilon)
            for epsilon in protocol.EPSILONS
        ]
        if all(len(rows) for rows in of_method):
            found = {m: [mean_of_seeds(rows[m]) for rows in of_method] for m in ("accuracy", "discrimination")}
            values = {m: np.array([one.mean for one in each]) for m, each in found.items()}
            errors = {m: np.array([2 * one.error for one in each]) for m, each in found.items()}
            yield Curve(method, values | {"epsilon": np.array(protocol.EPSILONS)}, errors)


def draw_figure(runs: Runs, figure: PaperFigure, features: str) -> Any:
    """Draw a matplotlib figure: one row for the printed numbers, and one for each choice of rows."""
    names = runs.names
    rows = [row for row in PANEL_ROWS if row != "printed" or features == protocol.WITH]
    canvas = import_optional("matplotlib.figure", "figures need").Figure(
        figsize=(max(3.6 * len(names) + 1.2, 8.0), 2.7 * len(rows) + 0.9), layout="constrained"
    )
    panels = canvas.subplots(len(rows), len(names), squeeze=False, sharex="col", sharey="col")
    handles: dict[str, Any] = {}
    for i, row in enumerate(rows):
        for j, name in enumerate(names):
            panel = panels[i, j]
            for curve in curves(runs, name, features, row):
                colour, marker = STYLES[curve.method]
                line = panel.errorbar(
                    curve.values[figure.x],
                    curve.values[figure.y],
                    xerr=curve.errors.get(figure.x),
                    yerr=curve.errors.get(figure.y),
                    color=colour,
                    marker=marker,
                    markersize=5,
                    linewidth=1.2,
                    elinewidth=0.8,
                )
                handles.setdefault(curve.method, line)
            _reference(panel, runs, figure, name, features, row, handles)
            panel.grid(alpha=0.3)
            if i == 0:
                panel.set_title(protocol.EXPERIMENTS[name].title)
            if i == len(rows) - 1:
                panel.set_xlabel(figure.x)
        panels[i, 0].set_ylabel(f"{PANEL_ROWS[row]}\n\n{figure.y}", fontsize="small")
    canvas.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize="small")
    bars = "" if min(runs.n_seeds.values()) == 1 else "; bars: two standard errors"
    canvas.suptitle(f"{figure.title}, test rows, {protocol.FEATURES[features]}{bars}", fontsize="medium")
    return canvas


def _reference(
    panel: Any, runs: Runs, figure: PaperFigure, data: str, features: str, row: str, handles: dict[str, Any]
) -> None:
    """Draw what the curves are compared with: the plain forest, and the line of a bound that is kept exactly."""
    if row == "printed":
        accuracy, discrimination = PRINTED[data][protocol.PLAIN][None]
    else:
        plain = runs.pick(data=data, features=features, method=protocol.PLAIN, chosen_on=row)
        accuracy, discrimination = plain["accuracy"].mean(), plain["discrimination"].mean()
    if figure.x == "discrimination":
        line = panel.plot(discrimination, accuracy, "*", color="#009e73", markersize=11)[0]
        panel.axvline(0, color="0.75", linewidth=1, zorder=0)
    else:
        height = accuracy if figure.y == "accuracy" else discrimination
        line = panel.axhline(height, color="#009e73", linestyle=":", linewidth=1.5)
    handles.setdefault(protocol.PLAIN, line)
    if (figure.x, figure.y) == ("epsilon", "discrimination"):
        ends = [0, max(protocol.EPSILONS) + 0.01]
        handles.setdefault("discrimination = epsilon", panel.plot(ends, ends, color="0.4", linewidth=1, zorder=0)[0])
