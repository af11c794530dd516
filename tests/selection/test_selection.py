"""The three rules, each against its definition, and the bound that holds beyond the rows it was chosen on."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from draws import parity, two_groups
from eifffel import ConstraintNotMetWarning, FewRowsWarning
from eifffel.intervals import FEW, difference_interval, difference_limit
from eifffel.kernels.interval_kernels import score_statistic
from eifffel.selection.bounds import RULES, Bounds
from eifffel.selection.choose import certify, select_step
from eifffel.selection.counts import PathCounts
from eifffel.selection.selection import KnownRows

UNSEEN = KnownRows("a path", trained=False, overlap=0.0, repeats=1, hashes=None)
# Favourable rows, at each step, of those 4 people with each label in each group.
paths = st.lists(st.tuples(*[st.integers(0, 4)] * 4), min_size=1, max_size=12)
long_paths = st.lists(st.tuples(*[st.integers(0, 40)] * 4), min_size=1, max_size=20)


def counts(steps, each=4, **changes):
    favorable = np.array(steps).reshape(-1, 2, 2)
    return PathCounts(
        **{
            "favorable": favorable,
            "totals": np.full((2, 2), each),
            "rows": "selection rows",
            "n_rows": np.full(2, 2 * each),
            "constraint": parity(two_groups("f", "m")),
        }
        | changes
    )


def select(measured, rows=UNSEEN, **asked):
    bounds = Bounds(**{"epsilon": 0.1, **asked})
    return select_step(measured, measured, two_groups("f", "m"), len(measured.favorable) - 1, bounds, rows)


def quietly(measured, **asked):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintNotMetWarning)
        warnings.simplefilter("ignore", FewRowsWarning)
        return select(measured, **asked)


@settings(max_examples=300, deadline=None)
@given(
    steps=paths,
    epsilon=st.sampled_from([0.0, 0.125, 0.25]),
    alpha=st.sampled_from([None, 0.0, 0.125, 0.5]),
    rule=st.sampled_from(RULES),
)
def test_rules(steps, epsilon, alpha, rule):
    # Eighths and sixteenths are exact, so the test needs no tolerance.
    disc = np.array([(c + d - a - b) / 8 for a, b, c, d in steps])
    accuracy = np.array([(4 - a + b + 4 - c + d) / 16 for a, b, c, d in steps])
    drop = accuracy[0] - accuracy
    limit = np.inf if alpha is None else alpha
    every = range(len(disc))
    good = [k for k in every if abs(disc[k]) <= epsilon and drop[k] <= limit]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chosen = select(counts(steps), epsilon=epsilon, alpha=alpha, rule=rule)
    if rule == "paper":
        step = 0
        while step < len(disc) - 1 and disc[step] > epsilon and drop[step] < limit:
            step += 1
        assert (chosen.step, chosen.met) == (step, disc[step] <= epsilon)
    elif good:
        best = good[0] if rule == "first" else max(good, key=lambda k: (accuracy[k], -k))
        assert (chosen.step, chosen.met) == (best, True)
    else:
        nearest = min((k for k in every if drop[k] <= limit), key=lambda k: (abs(disc[k]), k))
        assert (chosen.step, chosen.met) == (nearest, False)
    assert [w.category for w in caught] == ([] if chosen.met else [ConstraintNotMetWarning])
    a, b, c, d = steps[chosen.step]
    assert chosen.discrimination == disc[chosen.step]
    assert chosen.accuracy == chosen.objective_value == accuracy[chosen.step]
    assert chosen.accuracy_drop == chosen.objective_drop == drop[chosen.step]
    assert chosen.selection_rates == ((a + b) / 8, (c + d) / 8)
    assert chosen.n_rows == (8, 8)
    assert chosen.n_accuracy_rows == 16
    np.testing.assert_allclose(chosen.interval, difference_interval(c + d, 8, a + b, 8, 0.95))
    assert chosen.confidence is None
    assert chosen.upper is None


def walk(steps, n, epsilon, confidence):
    """Fixed-sequence testing as it is told: the steps that are passed from the end on."""
    passed = []
    for k in reversed(range(len(steps))):
        a, b, c, d = steps[k]
        unprivileged, privileged = a + b, c + d
        if score_statistic(float(privileged), float(n), float(unprivileged), float(n), epsilon) > -norm.ppf(confidence):
            break
        if min(privileged, n - privileged, unprivileged, n - unprivileged) < FEW:
            ends = [
                binomtest(count, n).proportion_ci(2 * confidence - 1, method="exact")
                for count in (unprivileged, privileged)
            ]
            reach = np.hypot(ends[1].high - privileged / n, unprivileged / n - ends[0].low)
            if (privileged - unprivileged) / n + reach > epsilon:
                break
        passed.append(k)
    return passed


@settings(max_examples=200, deadline=None)
@given(
    steps=long_paths,
    epsilon=st.sampled_from([0.02, 0.1, 0.3]),
    alpha=st.sampled_from([None, 0.02, 0.1]),
    confidence=st.sampled_from([0.9, 0.95, 0.99]),
    rule=st.sampled_from(["first", "most_accurate"]),
)
def test_confidence_walks_from_the_end_and_stops_at_the_first_step_that_is_not_rejected(
    steps, epsilon, alpha, confidence, rule
):
    measured = counts(steps, each=40)
    passed = walk(steps, 80, epsilon, confidence)
    np.testing.assert_array_equal(
        np.flatnonzero(certify(measured.limits(confidence) - epsilon, len(steps) - 1)), sorted(passed)
    )
    chosen = quietly(measured, epsilon=epsilon, alpha=alpha, confidence=confidence, rule=rule)
    drop = measured.drop("accuracy")
    good = [k for k in sorted(passed) if alpha is None or drop[k] <= alpha]
    assert chosen.met == bool(good)
    if good:
        best = good[0] if rule == "first" else min(good, key=lambda k: (drop[k], k))
        assert chosen.step == best
        assert chosen.upper <= epsilon
    a, b, c, d = steps[chosen.step]
    assert chosen.upper == pytest.approx(float(difference_limit(c + d, 80, a + b, 80, confidence)))
    np.testing.assert_allclose(chosen.interval, difference_interval(c + d, 80, a + b, 80, confidence))


def test_limits_of_steps_that_change_nothing_are_those_of_the_step_before():
    steps = [(1, 1, 4, 4)] * 3 + [(1, 2, 4, 4)] * 2 + [(1, 1, 4, 4)]
    measured = counts(steps, each=40)
    each = [float(difference_limit(8, 80, 2 + (k in (3, 4)), 80, 0.9)) for k in range(6)]
    np.testing.assert_array_equal(measured.limits(0.9), each)


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 2000])
def test_the_bound_holds_in_the_population_as_often_as_promised(n):
    """A population whose rates run from 20% to 44% in one group and from 44% to 20% in the other, step by step.

    The decision about a person turns once, so that the steps of one draw go together, as those of a path do.
    """
    random = np.random.default_rng(n)
    n_draws, n_steps, epsilon = 1500, 400, 0.05
    rising = 0.2 + 0.24 * np.arange(n_steps + 1) / n_steps
    truth = rising[::-1] - rising
    sizes = np.array([n // 3, n - n // 3])
    labelled = PathCounts(
        np.zeros((n_steps + 1, 2, 2), int), np.ones((2, 2), int), "scoring rows", np.ones(2, int), parity()
    )
    broken = {None: 0, 0.95: 0}
    for _ in range(n_draws):
        drawn = [np.sort(random.uniform(size=size)) for size in sizes]
        favorable = [np.searchsorted(drawn[0], rising), np.searchsorted(drawn[1], rising[::-1])]
        measured = PathCounts(np.column_stack(favorable)[..., None], sizes[:, None], "selection rows", sizes, parity())
        for confidence in broken:
            bounds = Bounds(epsilon=epsilon, confidence=confidence)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstraintNotMetWarning)
                warnings.simplefilter("ignore", FewRowsWarning)
                chosen = select_step(measured, labelled, two_groups(), n_steps, bounds, UNSEEN)
            broken[confidence] += chosen.met and truth[chosen.step] > epsilon
    error = (0.05 * 0.95 / n_draws) ** 0.5
    assert 0.01 <= broken[0.95] / n_draws <= 0.05 + 3 * error  # it gives nothing away either
    assert broken[None] / n_draws > 0.35


def test_an_unmet_bound_says_what_was_reached():
    message = r"epsilon=0.01 with alpha=0.02 is not met: the nearest is step 1 with discrimination 0.125 on the "
    message += r"selection rows and a drop of accuracy of -0.0625 on the selection rows"
    with pytest.warns(ConstraintNotMetWarning, match=message):
        select(counts([(0, 0, 1, 1), (0, 1, 1, 1), (0, 1, 1, 3)]), epsilon=0.01, alpha=0.02)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"epsilon": 0.25}, ["epsilon=0.25 is met", r"0\.1250 \(95% interval -0\.\d+ to 0\.\d+\), 'm' minus 'f'"]),
        ({"epsilon": 0.1}, ["epsilon=0.1 is NOT met"]),
        ({"epsilon": None, "ratio": 0.4}, ["ratio=0.4 is met", r"\(ratio 0\.5000; 95% interval"]),
        (
            {"epsilon": 0.1, "confidence": 0.995},
            [
                *("NOT met", r"99\.5% interval .*; one-sided, at most 0\.\d+ with 99\.5% confidence"),
            ],
        ),
        (
            {"epsilon": 0.9, "confidence": 0.8},
            ["is met", "\nthe model was not trained on these rows"],
        ),
        (
            {"epsilon": 0.9, "confidence": 0.8, "rows": UNSEEN._replace(trained=None)},
            [r"\nthe confidence rests on your word that the model was not trained on these rows"],
        ),
    ],
)
def test_a_selection_says_itself_in_words(asked, words):
    told = str(quietly(counts([(0, 1, 1, 1)]), **asked))
    assert told.count("\n") == (2 if "confidence" not in asked else 3)
    assert "accuracy 0.5625, 0.0000 below the original model, on 16 selection rows" in told
    for some in words:
        assert re.search(some, told), told


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
        ({"alpha": -1, "objective": [[0, 1], [5, 0]]}, ValueError, "alpha must be a number of at least 0 or None"),
        ({"rule": "best"}, ValueError, "rule must be one of 'first', 'most_accurate', 'paper', got 'best'"),
        ({"confidence": 95}, ValueError, "confidence must be .*, got 95; write 0.95 for 95 percent"),
        (
            {"confidence": "95%"},
            TypeError,
            "confidence must be a number of at least 0.5 and below 1, or None, got '95%'",
        ),
        ({"confidence": 0.05}, ValueError, "confidence must be at least 0.5 and below 1, or None, got 0.05"),
        ({"confidence": 1.0}, ValueError, "confidence must be at least 0.5 and below 1"),
        ({"confidence": True}, TypeError, "confidence must be a number"),
        ({"confidence": 0.95, "rule": "paper"}, ValueError, "rule='paper' stops at .* leave confidence out"),
        ({"objective": "recall"}, ValueError, "objective must be one of 'accuracy', 'balanced_accuracy', got 'recall'"),
    ],
)
def test_bad_bounds(given, error, message):
    with pytest.raises(error, match=message):
        select(counts([(0, 0, 0, 0)]), **given)


def test_the_advice_names_only_bounds_that_were_given():
    unmet = counts([(0, 0, 1, 1)])
    with pytest.warns(ConstraintNotMetWarning, match=r"Allow a larger epsilon$"):
        select(unmet, epsilon=0.01)
    with pytest.warns(ConstraintNotMetWarning, match=r"Allow a larger epsilon or alpha$"):
        select(unmet, epsilon=0.01, alpha=0.5)


def test_a_path_that_begins_on_the_other_side_is_explained():
    other = "favours the group that was taken as unprivileged; trace it with privileged= the other one$"
    with pytest.warns(ConstraintNotMetWarning, match=other):
        select(counts([(1, 1, 0, 0), (2, 2, 0, 0)]), epsilon=0.01)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("off_by", "met"), [(1e-12, True), (1e-6, False)])
def test_with_real_weights_a_bound_is_met_up_to_rounding(rule, off_by, met):
    # From discrimination 1/2 to 1/5, but for what it is off by.
    before, after = [[0, 0.5], [0.5, 0.5]], [[0, 0.3], [0.1 + off_by, 0.4]]
    totals = np.full((2, 2), 0.5)
    weighted = counts([before, after], favorable=np.array([before, after]), totals=totals)
    chosen = quietly(weighted, epsilon=0.2, rule=rule)
    assert chosen.step == 1
    assert chosen.met == met
    assert chosen.interval is None


def test_confidence_is_refused_on_rows_that_cannot_give_it():
    with pytest.raises(ValueError, match=r"confidence=0.95 needs rows that neither trained .* scored by the selection"):
        select(counts([(0, 0, 0, 0)]), confidence=0.95, rows=UNSEEN._replace(overlap=0.6))
    weighted = counts([(0.0, 0, 0, 0)])
    with pytest.raises(ValueError, match=r"confidence=0.95 counts people, and the selection rows have a sample_weight"):
        select(weighted, confidence=0.95)


def needed(message):
    found = re.search(r"about (.*) would be needed", message)
    return [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) rows of", found[1])]


def unmet(measured, **asked):
    with pytest.warns(ConstraintNotMetWarning) as caught:
        chosen = select(measured, confidence=0.95, **asked)
    assert not chosen.met
    return str(caught[0].message)


def test_where_the_end_cannot_be_certified_it_says_how_many_rows_would_do():
    # At the end 30 of 100 in one group and 290 of 1000 in the other: the smaller group is what is uncertain.
    sizes = np.array([[50, 50], [500, 500]])
    few = counts([(0, 5, 100, 300), (10, 20, 100, 190)], totals=sizes, n_rows=sizes.sum(axis=1))
    message = unmet(few, epsilon=0.05)
    assert message.startswith("epsilon=0.05 with confidence=0.95 is not met: not even the last step can be certified;")
    assert "rows of group 'f' (there are 100) would be needed" in message
    assert "at most" in message
    assert "on 1,100 selection rows" in message
    (n,) = needed(message)
    # So many do about four times in five.
    drawn = np.random.default_rng(0).binomial(n, 0.3, 4000)
    others = np.random.default_rng(1).binomial(1000, 0.29, 4000)
    certified = (difference_limit(others, 1000, drawn, n, 0.95) <= 0.05).mean()
    assert 0.7 < certified < 0.9


def test_where_one_group_alone_would_not_do_it_asks_for_both():
    few = counts([(5, 5, 5, 5)], each=10)
    message = unmet(few, epsilon=0.02)
    first, second = needed(message)
    assert first == second
    one, other = np.random.default_rng(0).binomial(first, 0.5, (2, 4000))
    assert 0.7 < (difference_limit(one, first, other, first, 0.95) <= 0.02).mean() < 0.9


def test_where_the_end_breaks_the_bound_no_rows_help():
    message = unmet(counts([(0, 0, 4, 4), (0, 0, 2, 2)]), epsilon=0.05)
    assert "its discrimination is 0.5, so that more rows would hardly help" in message


def test_where_what_is_certified_costs_too_much_it_says_so():
    steps = [(0, 40, 20, 40), (0, 40, 20, 40), (40, 40, 0, 0)]
    message = unmet(counts(steps, each=40), epsilon=0.1, alpha=0.1)
    assert "epsilon=0.1 with confidence=0.95 and alpha=0.1 is not met: steps from 2 on are certified" in message
    assert "each of them has a drop of accuracy of more than alpha" in message


def test_a_step_far_past_zero_is_warned_of():
    steps = [(0, 10, 10, 40), (15, 25, 10, 20)]
    with pytest.warns(
        FewRowsWarning, match=r"only by going past zero, and beyond it .*: on 160 selection rows step 1 has .* 'f'"
    ):
        assert select(counts(steps, each=40), epsilon=0.05, confidence=0.95).step == 1


def test_groups_of_few_rows_are_warned_of():
    few = {"totals": np.array([[10, 10], [40, 40]]), "n_rows": np.array([20, 80])}
    with pytest.warns(FewRowsWarning, match="there are 20 selection rows of group 'f': below 30"):
        assert select(counts([(5, 5, 10, 30)], **few), epsilon=0.5, confidence=0.95).met
