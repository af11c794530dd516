"""What the page concludes follows from the runs, and a difference below two standard errors is none."""

import math

import pytest

from eifffel.experiments import PRINTED, PRINTED_ALPHA
from eifffel.experiments import _protocol as protocol
from eifffel.experiments._findings import Comparison, Goal, compare, difference, goals, say
from eifffel.experiments._pages import page_lines
from eifffel.experiments._summary import Estimate, Runs
from eifffel.experiments._tables import make_tables
from made_up_runs import made_up_frame

JITTER = (-0.002, 0.0, 0.002)  # by seed: mean 0, standard deviation 0.002


def as_printed(outcome):
    """Runs whose means are the printed numbers, on whatever rows they are chosen."""
    table, bound = PRINTED[outcome.data], outcome.epsilon
    if outcome.alpha is not None:
        table, bound = PRINTED_ALPHA, outcome.alpha
    accuracy, discrimination = table.get(outcome.method, table.get(protocol.LF)).get(bound, (0.8, 0.1))
    jitter = JITTER[outcome.seed % 3]
    return {
        "accuracy": accuracy + jitter,
        "balanced_accuracy": accuracy + jitter,
        "discrimination": discrimination - jitter,
    }


def changed(method, chosen_on, **shifts):
    """As printed, but one method shifted."""

    def numbers(outcome):
        found = as_printed(outcome)
        if (outcome.method, outcome.chosen_on) == (method, chosen_on):
            found |= {measure: found[measure] + shift for measure, shift in shifts.items()}
        return found

    return numbers


def frame_of(numbers, data=tuple(protocol.EXPERIMENTS), n_seeds=3):
    return Runs(made_up_frame(numbers, data, n_seeds))


def page(frame):
    return "\n".join(page_lines(frame, list(make_tables(frame))))


def test_runs_that_are_the_printed_numbers_agree_with_all_of_them():
    frame = frame_of(as_printed)
    for name, n_printed in (("adult", 44 + 32), ("bank", 44), ("compas", 44)):
        comparisons = list(compare(frame, name))
        assert len(comparisons) == n_printed
        assert all(one.agrees for one in comparisons)
    text = page(frame)
    assert "76 of 76 printed numbers agree" in text
    assert "- EiFFFeL-LF*: all 8 agree." in text


def test_a_method_that_is_off_is_named_with_its_farthest_number():
    frame = frame_of(changed("EiFFFeL-TF", "training", discrimination=-0.1, accuracy=0.03), ["bank"])
    disagreeing = [one for one in compare(frame, "bank") if not one.agrees]
    assert {one.method for one in disagreeing} == {"EiFFFeL-TF"}
    assert len(disagreeing) == 8
    assert "36 of 44 printed numbers agree" in page(frame)
    assert "- EiFFFeL-TF: 0 of 8 agree; farthest off is discrimination at epsilon 0.01, -0.090 ± 0.001" in page(frame)
    held_out = frame_of(changed("EiFFFeL-TF", "held-out", discrimination=-0.1), ["bank"])
    assert all(one.agrees for one in compare(held_out, "bank")), "the paper chooses on training rows"


def test_agreement_is_two_standard_deviations_of_a_run_and_the_rounding():
    def agrees(mean, sd, n, printed=0.5):
        return Comparison("adult", "", "", "accuracy", printed, Estimate(mean, sd, n)).agrees

    assert agrees(0.5049, 0.0, 10)
    assert not agrees(0.5051, 0.0, 10)
    limit = 0.005 + 2 * 0.01 * math.sqrt(1.1)
    assert agrees(0.5 + limit - 1e-6, 0.01, 10)
    assert not agrees(0.5 + limit + 1e-6, 0.01, 10)
    assert agrees(0.5, float("nan"), 1) is None


def test_goals_that_are_met_and_goals_that_are_missed():
    """LF as printed keeps its bounds on Adult, but loses all the accuracy that is printed."""
    met = {
        (goal.epsilon, goal.what.split(",")[0]): goal.met for goal in goals(frame_of(as_printed, ["adult"]), "adult")
    }
    assert {epsilon for epsilon, what in met if what == "loss of accuracy"} == {0.01, 0.05}, (
        "where 2 points are printed"
    )
    assert not met[0.01, "loss of accuracy"]
    assert all(kept for (_, what), kept in met.items() if what != "loss of accuracy")

    frame = frame_of(changed(protocol.LF, "held-out", discrimination=0.04, accuracy=0.03), ["adult"])
    found = {(goal.epsilon, goal.what.split(",")[0]): goal for goal in goals(frame, "adult")}
    assert not found[0.05, "discrimination"].met, "0.09 is above 0.06"
    assert found[0.01, "loss of accuracy"].met
    assert found[0.01, "loss of accuracy"].found.mean == pytest.approx(0.01)
    behind = found[0.05, "accuracy behind GroupThresholds"]
    assert behind.found.mean == pytest.approx(-0.03)
    text = page(frame)
    n_met = sum(goal.met for goal in found.values())
    assert 0 < n_met < len(found)
    assert f"{n_met} of {len(found)} goals are met" in text
    assert text.count("**no**") == len(found) - n_met


def test_bank_is_compared_in_balanced_accuracy():
    frame = frame_of(changed(protocol.THRESHOLDS, "held-out", balanced_accuracy=0.2), ["bank"])
    missed = [goal.what for goal in goals(frame, "bank") if not goal.met and "behind" in goal.what]
    assert missed == ["balanced accuracy behind GroupThresholds"] * 4
    frame = frame_of(changed(protocol.THRESHOLDS, "held-out", accuracy=0.2), ["bank"])
    assert all(goal.met for goal in goals(frame, "bank") if "behind" in goal.what)


def test_two_standard_errors_excuse_where_they_may():
    noisy = Estimate(0.03, 0.1, 20)
    assert Goal("adult", 0.01, "", noisy, 0.02, with_error=True).met
    assert not Goal("adult", 0.01, "", noisy, 0.02, with_error=False).met
    assert not Goal("adult", 0.01, "", Estimate(0.03, 0.01, 20), 0.02, with_error=True).met
    assert not Goal("adult", 0.01, "", Estimate(0.03, float("nan"), 1), 0.02, with_error=True).met


def test_a_difference_is_paired_by_seed():
    frame = frame_of(changed(protocol.LF, "held-out", accuracy=0.01), ["compas"], n_seeds=3)
    one, other = ({"data": "compas", "method": protocol.LF, "chosen_on": rows} for rows in ("held-out", "training"))
    found = difference(frame, "accuracy", one, other)
    assert found.mean == pytest.approx(0.01)
    assert found.sd == pytest.approx(0, abs=1e-12), "what both share by seed is no error of the difference"


def test_a_difference_below_two_standard_errors_is_none():
    assert say(Estimate(0.02, 0.01, 4), "higher", "lower") == "0.020 ± 0.005 higher"
    assert say(Estimate(-0.02, 0.01, 4), "higher", "lower") == "0.020 ± 0.005 lower"
    assert say(Estimate(0.02, 0.03, 4), "higher", "lower") == "no difference (+0.020 ± 0.015)"
    assert say(Estimate(0.02, float("nan"), 1), "higher", "lower") == "+0.020, one seed: no conclusion"


def test_one_seed_concludes_nothing():
    text = page(frame_of(as_printed, n_seeds=1))
    assert "One seed has no standard error" in text
    assert "printed numbers agree" not in text
    choices = text[text.index("| choice |") :].split("\n\n")[0].splitlines()[2:]
    assert len(choices) == 18
    assert all(line.count("one seed: no conclusion") == 2 for line in choices)
