"""What the page concludes follows from the runs, and a difference below two standard errors is none."""

import math

import pytest
from made_up_runs import made_up_frame

from reproduction import protocol
from reproduction.findings import NO, YES, Goal, PaperComparison, compare, describe_difference, difference, goals
from reproduction.page import page_lines
from reproduction.printed import PRINTED, PRINTED_ALPHA
from reproduction.summary import Runs, SeedMean
from reproduction.tables import make_tables

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
    for name, n_printed in (("adult", 42 + 32), ("bank", 42), ("compas", 42)):
        comparisons = list(compare(frame, name))
        assert len(comparisons) == n_printed
        assert all(one.agrees for one in comparisons)
    text = page(frame)
    assert "74 of 74 printed numbers agree" in text
    assert "- EiFFFeL-LF*: all 8 agree." in text


def test_a_method_that_is_off_is_named_with_its_farthest_number():
    frame = frame_of(changed("EiFFFeL-TF", "training", discrimination=-0.1, accuracy=0.03), ["bank"])
    disagreeing = [one for one in compare(frame, "bank") if not one.agrees]
    assert {one.method for one in disagreeing} == {"EiFFFeL-TF"}
    assert len(disagreeing) == 8
    text = page(frame)
    assert "34 of 42 printed numbers agree" in text
    assert "- EiFFFeL-TF: 0 of 8 agree; farthest off is discrimination at epsilon 0.01, -0.090 ± 0.001" in text
    held_out = frame_of(changed("EiFFFeL-TF", "held-out", discrimination=-0.1), ["bank"])
    assert all(one.agrees for one in compare(held_out, "bank")), "the paper chooses on training rows"


def test_agreement_is_two_standard_deviations_of_a_run_and_the_rounding():
    def agrees(mean, sd, n, printed=0.5):
        return PaperComparison("adult", "", "", "accuracy", printed, SeedMean(mean, sd, n)).agrees

    assert agrees(0.5049, 0.0, 10)
    assert not agrees(0.5051, 0.0, 10)
    limit = 0.005 + 2 * 0.01 * math.sqrt(1.1)
    assert agrees(0.5 + limit - 1e-6, 0.01, 10)
    assert not agrees(0.5 + limit + 1e-6, 0.01, 10)
    assert agrees(0.5, float("nan"), 1) is None


def verdicts(runs, name):
    return {(goal.epsilon, goal.what.split(",")[0]): goal for goal in goals(runs, name)}


def test_goals_that_are_met_and_goals_that_are_missed():
    """LF as printed keeps its bounds on Adult, but loses all the accuracy that is printed."""
    found = verdicts(frame_of(as_printed, ["adult"]), "adult")
    assert {epsilon for epsilon, what in found if what == "loss of accuracy"} == {0.01, 0.05}, "2 points or more"
    assert found[0.01, "loss of accuracy"].verdict == NO
    assert all(goal.verdict == YES for (_, what), goal in found.items() if what != "loss of accuracy")

    runs = frame_of(changed(protocol.LF, "held-out", discrimination=0.04, accuracy=0.03), ["adult"])
    found = verdicts(runs, "adult")
    assert found[0.05, "discrimination"].verdict == NO, "0.09 is above 0.06"
    assert found[0.01, "loss of accuracy"].verdict == YES
    assert found[0.01, "loss of accuracy"].found.mean == pytest.approx(0.01)
    behind = found[0.05, "accuracy behind GroupThresholds"]
    assert behind.found.mean == pytest.approx(-0.03)
    text = page(runs)
    n_missed = sum(goal.verdict == NO for goal in found.values())
    assert 0 < n_missed < len(found)
    assert f"- {len(found) - n_missed} of {len(found)} goals are met, 0 of them within" in text
    assert text.count("**no**") == n_missed


def test_the_other_group_favoured_is_no_success():
    runs = frame_of(changed(protocol.LF, "held-out", discrimination=-0.3), ["adult"])
    assert {goal.verdict for (_, what), goal in verdicts(runs, "adult").items() if what == "discrimination"} == {NO}


def test_bank_is_compared_in_balanced_accuracy():
    frame = frame_of(changed(protocol.THRESHOLDS, "held-out", balanced_accuracy=0.2), ["bank"])
    missed = [goal.what for goal in goals(frame, "bank") if goal.verdict == NO and "behind" in goal.what]
    assert missed == ["balanced accuracy behind GroupThresholds"] * 4
    frame = frame_of(changed(protocol.THRESHOLDS, "held-out", accuracy=0.2), ["bank"])
    assert all(goal.verdict == YES for goal in goals(frame, "bank") if "behind" in goal.what)


def test_two_standard_errors_excuse_where_they_may():
    noisy = SeedMean(0.03, 0.1, 20)
    assert Goal("adult", 0.01, "", noisy, 0.02, with_error=True).verdict == "within two standard errors"
    assert Goal("adult", 0.01, "", noisy, 0.02, with_error=False).verdict == "**no**"
    assert Goal("adult", 0.01, "", SeedMean(0.03, 0.01, 20), 0.02, with_error=True).verdict == "**no**"
    assert Goal("adult", 0.01, "", SeedMean(0.01, 0.01, 20), 0.02, with_error=False).verdict == "yes"
    assert Goal("adult", 0.01, "", SeedMean(0.03, float("nan"), 1), 0.02, with_error=True).verdict == "one seed"


def test_a_difference_is_paired_by_seed():
    frame = frame_of(changed(protocol.LF, "held-out", accuracy=0.01), ["compas"], n_seeds=3)
    one, other = ({"data": "compas", "method": protocol.LF, "chosen_on": rows} for rows in ("held-out", "training"))
    found = difference(frame, "accuracy", one, other)
    assert found.mean == pytest.approx(0.01)
    assert found.sd == pytest.approx(0, abs=1e-12), "what both share by seed is no error of the difference"


def test_a_difference_below_two_standard_errors_is_none():
    assert describe_difference(SeedMean(0.02, 0.01, 4), "higher", "lower") == "0.020 ± 0.005 higher"
    assert describe_difference(SeedMean(-0.02, 0.01, 4), "higher", "lower") == "0.020 ± 0.005 lower"
    assert describe_difference(SeedMean(0.02, 0.03, 4), "higher", "lower") == "not told apart (+0.020 ± 0.015)"
    assert describe_difference(SeedMean(0.02, float("nan"), 1), "higher", "lower") == "+0.020, one seed: no conclusion"


def test_one_seed_concludes_nothing():
    text = page(frame_of(as_printed, n_seeds=1))
    assert "One seed has no standard error" in text
    assert "printed numbers agree" not in text
    choices = text[text.index("| choice |") :].split("\n\n")[0].splitlines()[2:]
    assert len(choices) == 18
    assert all(line.count("one seed: no conclusion") == 3 for line in choices)
    assert "goals are met" not in text
    assert "**no**" not in text
    assert text.count("| one seed |") == 32


def test_a_difference_is_the_mean_over_the_bounds():
    def by_epsilon(outcome):
        held_out = outcome.chosen_on == "held-out"
        return {"accuracy": (outcome.epsilon or 0) * held_out, "discrimination": 0.1}

    one, other = ({"data": "compas", "method": protocol.LF, "chosen_on": rows} for rows in ("held-out", "training"))
    found = difference(frame_of(by_epsilon, ["compas"]), "accuracy", one, other)
    assert found.mean == pytest.approx((0.01 + 0.05 + 0.1 + 0.15) / 4)


def test_losses_and_excess():
    def numbers(outcome):
        plain = outcome.method == protocol.PLAIN
        discrimination = {"EiFFFeL-LF": 0.08, "EiFFFeL-TF": -0.08}.get(outcome.method, 0.0)
        values = {"accuracy": 0.9, "balanced_accuracy": 0.8} if plain else {"accuracy": 0.7, "balanced_accuracy": 0.75}
        return values | {"discrimination": discrimination}

    runs = frame_of(numbers, ["compas"])
    for method in ("EiFFFeL-LF", "EiFFFeL-TF"):
        rows = runs.pick(data="compas", method=method, chosen_on="training", epsilon=0.05)
        assert rows["accuracy_loss"].tolist() == pytest.approx([0.2] * 3)
        assert rows["balanced_accuracy_loss"].tolist() == pytest.approx([0.05] * 3)
        assert rows["excess"].tolist() == pytest.approx([0.03] * 3), "whichever group is favoured"
        rows = runs.pick(data="compas", method=method, chosen_on="training", epsilon=0.1)
        assert rows["excess"].tolist() == [0.0] * 3
    text = page(runs)
    assert "discrimination on test rows COMPAS 0.080 for 20.0 points of accuracy" in text
    assert "| COMPAS | 0.05 | 3 of 3; 0.080 | 3 of 3; 0.080 | 0 of 3; 0.000 |" in text


def test_the_page_says_which_way_a_difference_goes():
    runs = frame_of(
        changed(protocol.LF, "held-out", accuracy=0.01, balanced_accuracy=-0.02, discrimination=0.2), ["compas"]
    )
    (line,) = [line for line in page(runs).splitlines() if line.startswith("| LF chosen on held-out rows, against")]
    accuracy, balanced, excess = [cell.strip() for cell in line.split("|")[3:6]]
    assert accuracy == "0.010 ± 0.000 higher"
    assert balanced == "0.020 ± 0.000 lower"
    assert excess.endswith("larger")


def test_the_page_shows_the_rates_of_both_groups():
    def rates(outcome):
        return {"unprivileged_rate": 0.25, "privileged_rate": 0.5 + (outcome.method == protocol.LF) / 10}

    text = page(frame_of(rates, ["compas"]))
    assert "| COMPAS | among the features | unprivileged | 0.250 | 0.250 | 0.250 |" in text
    assert "| COMPAS | among the features | privileged | 0.500 | 0.600 | 0.500 |" in text


def test_a_seed_counts_once_both_its_runs_are_there():
    frame = made_up_frame(as_printed, ["adult", "compas"], n_seeds=2)
    unfinished = (frame["features"] == "without") & (frame["seed"] == 1) | (frame["data"] == "compas") & (
        frame["features"] == "without"
    )
    runs = Runs(frame[~unfinished])
    assert runs.n_seeds == {"adult": 1}
    assert runs.n_left_out == 3
    text = page(runs)
    assert "is missing: 3." in text
    assert "### COMPAS" not in text
    assert "**COMPAS.**" not in text
