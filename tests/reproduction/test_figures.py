"""Figures show the printed numbers and the means of the runs where they belong."""

import numpy as np
import pytest
from made_up_runs import made_up_frame

from reproduction import protocol
from reproduction.figures import FIGURES, curves, draw_figure
from reproduction.summary import Runs

pytest.importorskip("matplotlib")


def numbers(outcome):
    place = protocol.METHODS.index(outcome.method)
    return {
        "accuracy": 0.8 - 0.01 * place + 0.002 * outcome.seed,
        "discrimination": (outcome.epsilon or 0.3) + 0.01 * place,
    }


@pytest.fixture(scope="module")
def frame():
    return Runs(made_up_frame(numbers, ["adult", "compas"]))


def test_curves_are_the_printed_numbers_and_the_means(frame):
    printed = {curve.method: curve for curve in curves(frame, "compas", "with", "printed")}
    assert printed["EiFFFeL-TF"].values["accuracy"].tolist() == [0.44, 0.57, 0.62, 0.68]
    assert printed["DFRF"].values["discrimination"].tolist() == [0.02, 0.17, 0.23, 0.24]
    assert "GroupThresholds" not in printed
    measured = {curve.method: curve for curve in curves(frame, "compas", "with", "held-out")}
    assert "DFRF" not in measured, "it has nothing to choose"
    curve = measured["EiFFFeL-LF*"]
    place = protocol.METHODS.index("EiFFFeL-LF*")
    np.testing.assert_allclose(curve.values["accuracy"], 0.8 - 0.01 * place + 0.002)
    np.testing.assert_allclose(curve.errors["accuracy"], 2 * 0.002 / np.sqrt(3))
    np.testing.assert_allclose(curve.values["discrimination"], np.array(protocol.EPSILONS) + 0.01 * place)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_a_figure_has_a_panel_for_each_data_set_and_choice_of_rows(figure, frame):
    canvas = draw_figure(frame, figure, "with")
    assert len(canvas.axes) == 2 * 3
    assert [panel.get_title() for panel in canvas.axes[:2]] == ["Adult", "COMPAS"]
    assert len(draw_figure(frame, figure, "without").axes) == 2 * 2, "nothing is printed without the sensitive column"
    panel = canvas.axes[-2]  # Adult, held-out rows
    assert panel.get_xlabel() == figure.x
    assert figure.y in panel.get_ylabel()
    lines = [line for line in panel.lines if len(line.get_xdata()) == len(protocol.EPSILONS)]
    shown = {tuple(np.round(line.get_xdata(), 9)) + tuple(np.round(line.get_ydata(), 9)) for line in lines}
    for curve in curves(frame, "adult", "with", "held-out"):
        assert tuple(np.round(curve.values[figure.x], 9)) + tuple(np.round(curve.values[figure.y], 9)) in shown


def test_the_third_figure_has_the_identity_line(frame):
    for figure in FIGURES:
        lines = draw_figure(frame, figure, "with").axes[0].lines
        identity = [line for line in lines if list(line.get_xdata()) == list(line.get_ydata()) == [0, 0.16]]
        assert len(identity) == (figure.name == "figure3")
