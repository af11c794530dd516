"""The three rules, each against its definition."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eifffel import ConstraintNotMetWarning
from eifffel.selection import RULES, select_step

ROWS = {"tolerance": 0, "discrimination_rows": "selection rows", "accuracy_rows": "selection rows"}
points = st.lists(st.tuples(st.integers(-20, 40), st.integers(0, 20)), min_size=1, max_size=12)


def select(disc, accuracy, **kwargs):
    return select_step(disc, accuracy, accuracy[0] - accuracy, np.column_stack([accuracy, disc]), **ROWS, **kwargs)


@settings(max_examples=300, deadline=None)
@given(
    points=points,
    epsilon=st.sampled_from([0.0, 0.05, 0.25]),
    alpha=st.sampled_from([None, 0.0, 0.125, 0.5]),
    rule=st.sampled_from(RULES),
)
def test_rules(points, epsilon, alpha, rule):
    # Sixteenths are exact, so the test needs no tolerance.
    disc = np.array([d / 16 for d, _ in points])
    accuracy = np.array([a / 16 for _, a in points])
    drop = accuracy[0] - accuracy
    limit = np.inf if alpha is None else alpha
    steps = range(len(disc))
    good = [k for k in steps if abs(disc[k]) <= epsilon and drop[k] <= limit]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chosen = select(disc, accuracy, epsilon=epsilon, alpha=alpha, rule=rule)
    if rule == "paper":
        step = 0
        while step < len(disc) - 1 and disc[step] > epsilon and drop[step] < limit:
            step += 1
        assert (chosen.step, chosen.met) == (step, disc[step] <= epsilon)
    elif good:
        best = good[0] if rule == "first" else max(good, key=lambda k: (accuracy[k], -k))
        assert (chosen.step, chosen.met) == (best, True)
    else:
        nearest = min((k for k in steps if drop[k] <= limit), key=lambda k: (abs(disc[k]), k))
        assert (chosen.step, chosen.met) == (nearest, False)
    assert [w.category for w in caught] == ([] if chosen.met else [ConstraintNotMetWarning])
    assert chosen.discrimination == disc[chosen.step]
    assert chosen.accuracy == accuracy[chosen.step]
    assert chosen.accuracy_drop == drop[chosen.step]
    assert chosen.selection_rates == (accuracy[chosen.step], disc[chosen.step])


def test_an_unmet_bound_says_what_was_reached():
    with pytest.warns(
        ConstraintNotMetWarning, match=r"epsilon=0.01 with alpha=0.02 is not met: the nearest is step 1 .*0.125"
    ):
        select(np.array([0.25, 0.125]), np.array([0.75, 0.75]), epsilon=0.01, alpha=0.02, rule="first")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"epsilon": 5}, ValueError, r"epsilon must be in \[0, 1\], got 5; write 0.05 for 5 percent"),
        ({"epsilon": -0.1}, ValueError, r"epsilon must be in \[0, 1\], got -0.1"),
        ({"epsilon": float("nan")}, ValueError, r"epsilon must be in \[0, 1\], got nan"),
        ({"epsilon": "0.05"}, TypeError, r"epsilon must be a number in \[0, 1\], got '0.05' of type str"),
        ({"epsilon": True}, TypeError, "epsilon must be a number"),
        ({"epsilon": None}, TypeError, "epsilon must be a number"),
        ({"alpha": 2}, ValueError, r"alpha must be in \[0, 1\] or None, got 2; write 0.02 for 2 percent"),
        ({"alpha": "low"}, TypeError, "alpha must be a number"),
        ({"rule": "best"}, ValueError, "rule must be one of 'first', 'most_accurate', 'paper', got 'best'"),
    ],
)
def test_bad_bounds(given, error, message):
    asked = {"epsilon": 0.1, "alpha": None, "rule": "first"} | given
    with pytest.raises(error, match=message):
        select(np.array([0.0]), np.array([1.0]), **asked)


def test_the_advice_names_only_bounds_that_were_given():
    with pytest.warns(ConstraintNotMetWarning, match=r"Allow a larger epsilon$"):
        select(np.array([0.25]), np.array([0.75]), epsilon=0.01, alpha=None, rule="first")
    with pytest.warns(ConstraintNotMetWarning, match=r"Allow a larger epsilon or alpha$"):
        select(np.array([0.25]), np.array([0.75]), epsilon=0.01, alpha=0.5, rule="first")


def test_a_path_that_begins_on_the_other_side_is_explained():
    other = "favours the group that was taken as unprivileged; trace it with privileged= the other one$"
    with pytest.warns(ConstraintNotMetWarning, match=other):
        select(np.array([-0.25, -0.5]), np.array([0.75, 0.75]), epsilon=0.01, alpha=None, rule="first")


@pytest.mark.parametrize("rule", RULES)
def test_with_real_weights_a_bound_is_met_up_to_rounding(rule):
    off_by = np.array([0.5, 0.1 + 1e-12]), np.array([1.0, 0.9 - 1e-12])
    for tolerance, met in ((0, False), (1e-9, True)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintNotMetWarning)
            asked = {"epsilon": 0.1, "alpha": 0.1, "rule": rule} | ROWS | {"tolerance": tolerance}
            chosen = select_step(*off_by, 1 - off_by[1], np.zeros((2, 2)), **asked)
        assert chosen.met == met
