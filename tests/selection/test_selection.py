"""The three rules, each against its definition, and the bound that holds beyond the rows it was chosen on."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from draws import parity, two_groups
from eifffel import ConstraintNotMetWarning, FewRowsWarning
from eifffel.intervals import FEW, difference_interval, difference_limit, ratio_limit
from eifffel.kernels.interval_kernels import score_statistic
from eifffel.rows.groups import read_groups
from eifffel.selection.bounds import RULES, SIDES, Bounds
from eifffel.selection.certify import certify, find_start, find_walks
from eifffel.selection.choose import choose_step, select_step
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
    return select_step(measured, None, measured, two_groups("f", "m"), bounds, rows)


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
    sides=st.sampled_from(SIDES),
)
def test_rules(steps, epsilon, alpha, rule, sides):
    # Eighths and sixteenths are exact, so the test needs no tolerance.
    disc = np.array([(c + d - a - b) / 8 for a, b, c, d in steps])
    accuracy = np.array([(4 - a + b + 4 - c + d) / 16 for a, b, c, d in steps])
    drop = accuracy[0] - accuracy
    limit = np.inf if alpha is None else alpha
    every = range(len(disc))
    away = abs(disc) if sides == "both" else disc
    good = [k for k in every if away[k] <= epsilon and drop[k] <= limit]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chosen = select(counts(steps), epsilon=epsilon, alpha=alpha, rule=rule, sides=sides)
    if rule == "paper":
        step = 0
        while step < len(disc) - 1 and disc[step] > epsilon and drop[step] < limit:
            step += 1
        assert (chosen.step, chosen.met) == (step, away[step] <= epsilon)
    elif good:
        best = good[0] if rule == "first" else max(good, key=lambda k: (accuracy[k], -k))
        assert (chosen.step, chosen.met) == (best, True)
    else:
        nearest = min((k for k in every if drop[k] <= limit), key=lambda k: (away[k], k))
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
    assert (chosen.lower, chosen.upper, chosen.rows_needed) == (None, None, {})
    a, b, c, d = steps[0]
    np.testing.assert_allclose(chosen.original, difference_interval(c + d, 8, a + b, 8, 0.95))
    low, high = chosen.original
    assert chosen.favours_unclear == (low <= 0 <= high)
    assert ("do not say which group is favoured" in str(chosen)) == chosen.favours_unclear
    assert not (sides == "both" and chosen.overshoots)


def keeps(step, n, epsilon, level):
    """Whether the second of two groups of n people is not favoured by more than epsilon, by the test of one step."""
    a, b, c, d = step
    unprivileged, privileged = a + b, c + d
    if score_statistic(float(privileged), float(n), float(unprivileged), float(n), epsilon) > -norm.ppf(level):
        return False
    if min(privileged, n - privileged, unprivileged, n - unprivileged) < FEW:
        ends = [
            binomtest(count, n).proportion_ci(2 * level - 1, method="exact") for count in (unprivileged, privileged)
        ]
        reach = np.hypot(ends[1].high - privileged / n, unprivileged / n - ends[0].low)
        return (privileged - unprivileged) / n + reach <= epsilon
    return True


def walk(steps, n, epsilon, confidence, sides):
    """Fixed-sequence testing as it is described: the steps that are passed from the end, and from the start."""
    level = (1 + confidence) / 2 if sides == "both" else confidence
    from_the_end, from_the_start = set(), set()
    for k in reversed(range(len(steps))):
        if not keeps(steps[k], n, epsilon, level):
            break
        from_the_end.add(k)
    for k, (a, b, c, d) in enumerate(steps):
        if not keeps((c, d, a, b), n, epsilon, level):
            break
        from_the_start.add(k)
    return sorted(from_the_end if sides == "upper" else from_the_end & from_the_start)


@settings(max_examples=200, deadline=None)
@given(
    steps=long_paths,
    epsilon=st.sampled_from([0.02, 0.1, 0.3]),
    alpha=st.sampled_from([None, 0.02, 0.1]),
    confidence=st.sampled_from([0.6, 0.9, 0.95, 0.99]),  # at 0.5 rounding decides where a rate is at the bound
    rule=st.sampled_from(["first", "most_accurate"]),
    sides=st.sampled_from(SIDES),
)
def test_confidence_walks_from_both_ends_and_stops_at_the_first_step_that_is_not_passed(
    steps, epsilon, alpha, confidence, rule, sides
):
    measured = counts(steps, each=40)
    passed = walk(steps, 80, epsilon, confidence, sides)
    bounds = Bounds(epsilon=epsilon, confidence=confidence, sides=sides)
    np.testing.assert_array_equal(np.flatnonzero(certify(measured, bounds, None)), passed)
    chosen = quietly(measured, epsilon=epsilon, alpha=alpha, confidence=confidence, rule=rule, sides=sides)
    drop = measured.drop("accuracy")
    passed = [k for k in passed if is_useful(steps[k], steps[0])]
    good = [k for k in passed if alpha is None or drop[k] <= alpha]
    assert chosen.met == bool(good)
    assert (chosen.shortfall is None) == chosen.met
    if good:
        best = good[0] if rule == "first" else min(good, key=lambda k: (drop[k], k))
        assert chosen.step == best
        assert chosen.upper <= epsilon
        assert sides == "upper" or chosen.lower >= -epsilon
        assert sides == "upper" or not chosen.overshoots
    a, b, c, d = steps[chosen.step]
    level = (1 + confidence) / 2 if sides == "both" else confidence
    assert chosen.upper == pytest.approx(float(difference_limit(c + d, 80, a + b, 80, level)))
    if sides == "both":
        assert chosen.lower == pytest.approx(-float(difference_limit(a + b, 80, c + d, 80, level)))
        np.testing.assert_allclose((chosen.lower, chosen.upper), chosen.interval)
    else:
        assert chosen.lower is None
    np.testing.assert_allclose(chosen.interval, difference_interval(c + d, 80, a + b, 80, confidence))


def is_useful(step, original):
    """Whether half of the original's balanced accuracy above 1/2 is left; of each label there are as many."""
    (a, b, c, d), (e, f, g, h) = step, original
    return step is original or 2 * (b + d - a - c) >= f + h - e - g


@settings(max_examples=200, deadline=None)
@given(
    steps=long_paths,
    ratio=st.sampled_from([0.5, 0.8, 0.9]),
    confidence=st.sampled_from([0.5, 0.9]),
    sides=st.sampled_from(SIDES),
)
@example(steps=[(1, 40, 0, 38), (4, 40, 10, 40)], ratio=0.8, confidence=0.5, sides="both")  # no walk comes by step 0
def test_of_a_ratio_and_its_inverse_both_are_walked(steps, ratio, confidence, sides):
    measured = counts(steps, each=40)
    level = (1 + confidence) / 2 if sides == "both" else confidence
    # The other group's rate is at least ratio times this one's.
    of = [(a + b, c + d) for a, b, c, d in steps]

    def from_end(order, pick):
        passed = set()
        for k in order:
            one, other = pick(of[k])
            if 2 * (one + other) < sum(of[0]):
                continue  # too few are favoured
            if ratio_limit(other, 80, one, 80, ratio, level) > 0:
                break
            passed.add(k)
        return passed

    passed = from_end([*range(len(steps))][::-1], lambda pair: pair)
    if sides == "both":
        passed &= from_end([*range(len(steps))], lambda pair: pair[::-1])
    bounds = Bounds(ratio=ratio, confidence=confidence, sides=sides)
    np.testing.assert_array_equal(np.flatnonzero(certify(measured, bounds, None)), sorted(passed))
    passed = {k for k in passed if is_useful(steps[k], steps[0])}
    chosen = quietly(measured, epsilon=None, ratio=ratio, confidence=confidence, sides=sides)
    assert (chosen.met, chosen.step if passed else None) == (bool(passed), min(passed, default=None))
    assert not (sides == "both" and chosen.met and chosen.rate_ratio < ratio)
    one, other = of[chosen.step]
    assert ratio_limit(other, 80, one, 80, chosen.lower, level) == pytest.approx(0, abs=1e-9)
    if chosen.upper is not None:
        assert ratio_limit(one, 80, other, 80, 1 / chosen.upper, level) == pytest.approx(0, abs=1e-9)
    assert chosen.upper is None or sides == "both"
    if chosen.met:
        assert chosen.lower >= ratio
        assert sides == "upper" or chosen.upper <= 1 / ratio


def test_steps_at_which_hardly_anybody_is_favoured_do_not_end_tests_of_a_ratio():
    """No test would pass there, nor is any such step chosen where none is certified."""
    steps = [(0, 80, 60, 180), (20, 130, 30, 122), (0, 0, 0, 0), (30, 130, 26, 120), (0, 1, 0, 1), (0, 0, 0, 0)]
    measured = counts(steps, each=200)
    bounds = Bounds(ratio=0.8, confidence=0.9)
    assert [walk.steps.tolist() for walk in find_walks(measured, bounds, None)] == [[3, 1, 0], [0, 1, 3]]
    chosen = quietly(measured, epsilon=None, ratio=0.8, confidence=0.9)
    assert (chosen.step, chosen.met) == (1, True)
    strict = quietly(measured, epsilon=None, ratio=0.98, confidence=0.9)
    assert (strict.step, strict.met) == (1, False)


@pytest.mark.parametrize("bound", [{"epsilon": 0.1}, {"epsilon": None, "ratio": 0.8}])
def test_a_step_that_decides_nearly_alike_about_everybody_is_not_chosen_with_confidence(bound):
    """The rates of the last two are certainly alike, whoever deserves it."""
    steps = [(0, 300, 200, 400), (80, 320, 120, 380), (200, 200, 210, 200), (400, 400, 400, 400)]
    measured = counts(steps, each=400)
    chosen = quietly(measured, confidence=0.95, **bound)
    assert certify(measured, Bounds(confidence=0.95, **{"epsilon": None, **bound}), None)[2:].all()
    assert (chosen.step, chosen.met) == (1, False)
    assert chosen.shortfall.kind != "alpha"
    unlabelled = counts(
        steps, each=400, favorable=measured.favorable.sum(axis=2, keepdims=True), totals=np.full((2, 1), 800)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounds, rows = Bounds(confidence=0.95, **{"epsilon": None, **bound}), UNSEEN
        assert select_step(unlabelled, None, labelled_everybody(4), two_groups("f", "m"), bounds, rows).met


def labelled_everybody(n_steps):
    """Counts of people of one label, of which no step is more useful than another."""
    return counts([(0, 4, 0, 4)] * n_steps, totals=np.array([[0, 4], [0, 4]]))


def test_limits_of_steps_that_change_nothing_are_those_of_the_step_before():
    steps = [(1, 1, 4, 4)] * 3 + [(1, 2, 4, 4)] * 2 + [(1, 1, 4, 4)]
    measured = counts(steps, each=40)
    each = [float(difference_limit(8, 80, 2 + (k in (3, 4)), 80, 0.9)) for k in range(6)]
    np.testing.assert_array_equal(measured.limits(0.9), each)


N_STEPS = 400
SHARE = np.arange(N_STEPS + 1) / N_STEPS
# The rates of two groups after each step: they change places once, or come back, so that the last step is as the first.
POPULATIONS = {
    "crossing": (0.2 + 0.24 * SHARE, 0.44 - 0.24 * SHARE),
    "coming back": (0.24 + 0.4 * SHARE * (1 - SHARE), np.full(N_STEPS + 1, 0.32)),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 2000])
@pytest.mark.parametrize("population", POPULATIONS)
def test_the_bound_holds_in_the_population_as_often_as_promised(population, n):
    """The decision about a person turns where the rate passes a threshold of theirs: steps of a draw go together."""
    random = np.random.default_rng(n)
    n_draws, epsilon = 1000, 0.05
    rates = POPULATIONS[population]
    truth = rates[1] - rates[0]
    sizes = np.array([n // 3, n - n // 3])
    labelled = PathCounts(
        np.zeros((N_STEPS + 1, 2, 2), int), np.ones((2, 2), int), "scoring rows", np.ones(2, int), parity()
    )
    outside = {None: abs(truth) > epsilon, "both": abs(truth) > epsilon, "upper": truth > epsilon}
    broken = dict.fromkeys(outside, 0)
    for _ in range(n_draws):
        drawn = [np.sort(random.uniform(size=size)) for size in sizes]
        favorable = [np.searchsorted(of, rate) for of, rate in zip(drawn, rates, strict=True)]
        measured = PathCounts(np.column_stack(favorable)[..., None], sizes[:, None], "selection rows", sizes, parity())
        for sides in broken:
            bounds = Bounds(epsilon=epsilon, confidence=sides and 0.95, sides=sides or "both")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstraintNotMetWarning)
                warnings.simplefilter("ignore", FewRowsWarning)
                chosen = select_step(measured, None, labelled, two_groups(), bounds, UNSEEN)
            broken[sides] += chosen.met and outside[sides][chosen.step]
    most = 0.05 + 3 * (0.05 * 0.95 / n_draws) ** 0.5
    assert broken["both"] / n_draws <= most
    assert broken["upper"] / n_draws <= most
    if population == "crossing":
        assert broken["upper"] / n_draws >= 0.01  # it gives nothing away either
        assert broken[None] / n_draws > 0.35


# The larger rate after each step. Hardly anybody is favoured at one end, so that tests of a ratio begin somewhere on
# the way, at another step in each draw.
FEW_AT_AN_END = {"first": 0.002 + 0.4 * SHARE**2, "last": 0.402 - 0.4 * SHARE**0.5}


@pytest.mark.slow
@pytest.mark.parametrize("n", [600, 4000])
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("end", FEW_AT_AN_END)
def test_a_ratio_that_is_beyond_the_bound_at_every_step_is_seldom_certified(end, sides, n):
    random = np.random.default_rng(n)
    n_draws, ratio = 2000, 0.8
    rates = np.array([0.799, 1])[:, None] * FEW_AT_AN_END[end]
    sizes = np.array([n // 3, n - n // 3])
    bounds = Bounds(ratio=ratio, confidence=0.95, sides=sides)
    broken = 0
    for _ in range(n_draws):
        drawn = [np.sort(random.uniform(size=size)) for size in sizes]
        favorable = np.column_stack([np.searchsorted(of, rate) for of, rate in zip(drawn, rates, strict=True)])
        measured = PathCounts(favorable[..., None], sizes[:, None], "selection rows", sizes, parity())
        broken += certify(measured, bounds, None).any()
    assert broken / n_draws <= 0.05 + 3 * (0.05 * 0.95 / n_draws) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("n", "certified"), [(600, 0.0), (9000, 0.9)])
def test_a_bound_of_three_groups_holds_in_the_population_as_often_as_promised(n, certified):
    """Two of three rates rise to that of the third and past it, at different steps; half of the rows find a start."""
    random = np.random.default_rng(n)
    n_draws, epsilon = 600, 0.08
    rates = 0.2 + np.array([0.28, 0.2, 0])[:, None] * SHARE + np.array([0, 0.04, 0.15])[:, None]
    truth = rates.max(axis=0) - rates.min(axis=0)
    assert truth.min() < 0.03
    assert min(truth[0], truth[-1]) > epsilon
    compared = parity(read_groups(["a", "b", "c"]))
    broken = met = 0
    for _ in range(n_draws):
        searched, apart = (
            PathCounts(
                np.array([np.searchsorted(np.sort(random.uniform(size=n // 6)), rate) for rate in rates]).T[..., None],
                np.full((3, 1), n // 6),
                rows,
                np.full(3, n // 6),
                compared,
            )
            for rows in ("selection rows searched", "selection rows kept apart")
        )
        bounds = Bounds(epsilon=epsilon, confidence=0.95)
        step, kept = choose_step(apart, searched, labelled_nobody(3), bounds)
        met += kept
        broken += kept and truth[step] > epsilon
    assert broken / n_draws <= 0.05 + 3 * (0.05 * 0.95 / n_draws) ** 0.5
    assert met / n_draws >= certified


def labelled_nobody(n_groups):
    """Counts of accuracy that are all the same."""
    shape = (n_groups, 2)
    nobody = np.zeros((N_STEPS + 1, *shape), int), np.ones(shape, int), "scoring rows", np.ones(n_groups, int)
    return PathCounts(*nobody, parity(read_groups(["a", "b", "c"])))


@pytest.mark.parametrize("start", [0, 2, 4])
def test_of_several_differences_tests_go_both_ways_from_a_step_found_on_other_rows(start):
    # Of five steps the second and the last break the bound on the rows that test.
    compared = parity(read_groups(["a", "b", "c"]))
    rates = np.array([[30, 30, 30], [30, 60, 30], [30, 31, 30], [31, 31, 30], [20, 20, 60]])
    apart = PathCounts(rates[..., None] * 10, np.full((3, 1), 1000), "selection rows kept apart", [1000] * 3, compared)
    bounds = Bounds(epsilon=0.1, confidence=0.9)
    found = {0: [0], 2: [2, 3], 4: []}[start]
    assert np.flatnonzero(certify(apart, bounds, start)).tolist() == found


def searched_counts(right, wrong, n=500):
    """Counts of three groups: of n people with and without the favourable label, how many are decided favourably."""
    favorable = np.stack([wrong, right], axis=-1)
    shape = favorable.shape[1]
    totals, people = np.full((shape, 2), n), np.full(shape, 2 * n)
    return PathCounts(favorable, totals, "selection rows searched", people, parity(read_groups(list("abc")[:shape])))


def find_slowly(searched, of_labels, bounds):
    """The start as `find_start` says it, step by step."""
    limits, useful = bounds.measure_excess(searched), of_labels.objective("balanced_accuracy") - 0.5
    drop = of_labels.drop(bounds.objective)
    every = range(len(limits))
    allowed = [
        k == 0 or (useful[k] >= useful[0] / 2 and (bounds.alpha is None or drop[k] <= bounds.alpha)) for k in every
    ]
    stretches, now = [], []
    for k in every:
        if allowed[k] and searched.discrimination[k] <= bounds.epsilon:
            now.append(k)
        elif now:
            stretches.append(now)
            now = []
    stretches = [stretch for stretch in [*stretches, now] if stretch]
    likely = [stretch for stretch in stretches if any(limits[k] <= 0 for k in stretch)]
    for stretch in [*likely, *stretches]:
        return min(stretch, key=lambda k: limits[k])
    return min((k for k in every if allowed[k]), key=lambda k: searched.discrimination[k])


@settings(max_examples=200, deadline=None)
@given(
    rates=st.lists(st.lists(st.integers(0, 20), min_size=6, max_size=6), min_size=1, max_size=8),
    epsilon=st.sampled_from([0.05, 0.2, 0.5]),
    alpha=st.sampled_from([None, 0.05, 0.2]),
    confidence=st.sampled_from([0.5, 0.9]),
    labels=st.booleans(),
)
def test_the_start_is_found_as_it_is_said_to_be(rates, epsilon, alpha, confidence, labels):
    of_steps = 25 * np.array(rates).reshape(-1, 3, 2)
    searched = searched_counts(of_steps[..., 1], of_steps[..., 0])
    others = searched_counts(of_steps[..., 0], of_steps[..., 1])  # whom the searched rows' own labels go before
    bounds = Bounds(epsilon=epsilon, alpha=alpha, confidence=confidence)
    if not labels:
        searched = replace(
            searched, favorable=searched.favorable.sum(axis=-1, keepdims=True), totals=np.full((3, 1), 1000)
        )
    assert find_start(searched, others, bounds) == find_slowly(searched, searched if labels else others, bounds)


def test_the_start_is_in_the_first_stretch_that_may_be_certified_and_not_where_all_are_decided_alike():
    right = np.array([[250, 400, 400], [300, 370, 390], [340, 350, 360], [350, 350, 350], [200, 400, 400], [0, 0, 0]])
    wrong = np.maximum(right - 200, 0)
    searched = searched_counts(right, wrong)
    bounds = Bounds(epsilon=0.1, confidence=0.9)
    assert np.flatnonzero(bounds.measure_excess(searched) <= 0).tolist() == [2, 3, 5]
    assert np.argmin(bounds.measure_excess(searched)) == 5, "where everybody is refused"
    assert find_start(searched, searched, bounds) == 3
    strict = replace(bounds, epsilon=0.01)
    assert find_start(searched, searched, strict) == 3, "where nothing may be certified, too"
    assert find_start(None, searched, bounds) is None
    # The third step loses more than alpha allows.
    dearer = searched_counts(right - 60 * (np.arange(6) == 3)[:, None], wrong)
    assert find_start(dearer, dearer, bounds) == 3
    assert find_start(dearer, dearer, replace(bounds, alpha=0.02)) == 2


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
        ({"epsilon": None, "ratio": 0.4}, ["ratio=0.4 is met", r"0\.5440; ratio 0\.5000\)"]),
        (
            {"epsilon": 0.1, "confidence": 0.995, "sides": "upper"},
            [
                "epsilon=0.1 with sides='upper' and confidence=0.995 is NOT met",
                r"99\.5% interval .*; at most 0\.\d+ with 99\.5% confidence\)",
                "\nnot even the last step can be certified: its discrimination is 0.125 on these rows; more rows may",
            ],
        ),
        (
            {"epsilon": 0.9, "confidence": 0.8},
            ["epsilon=0.9 with confidence=0.8 is met", "\nthe model was not trained on these rows"],
        ),
        (
            {"epsilon": 0.9, "confidence": 0.8, "rows": UNSEEN._replace(trained=None)},
            [r"\nthe confidence rests on your word that the model was not trained on these rows"],
        ),
    ],
)
def test_a_selection_says_itself_in_words(asked, words):
    told = str(quietly(counts([(0, 1, 1, 1)]), **asked))
    assert told.count("\n") == (3 if "confidence" not in asked else 4)
    assert "accuracy 0.5625, 0.0000 below the original model, on 16 selection rows" in told
    # 16 people say little.
    assert re.search(
        r"\nthese rows do not say which group is favoured by the original model: .*, -0\.\d+ to 0\.\d+, con", told
    )
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
    unclear = r"\. Moreover, these rows do not say which group is favoured by [^.]*0\.\d+ to [^.]*0\.\d+, contains 0$"
    with pytest.warns(ConstraintNotMetWarning, match=r"Allow a larger epsilon" + unclear):
        select(unmet, epsilon=0.01)
    with pytest.warns(ConstraintNotMetWarning, match=r"Allow a larger epsilon or alpha" + unclear):
        select(unmet, epsilon=0.01, alpha=0.5)
    many = counts([(0, 0, 40, 40)], each=40)
    with pytest.warns(ConstraintNotMetWarning, match=r"Allow a larger epsilon$"):
        select(many, epsilon=0.01)


def test_a_path_that_begins_on_the_other_side_is_explained():
    other = "favours the group that was taken as unprivileged; trace it with privileged= the other one"
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
    with pytest.raises(ValueError, match=r"confidence=0.95 counts people, and the selection rows have sample weights"):
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
    few = counts([(0, 5, 100, 300), (5, 25, 90, 200)], totals=sizes, n_rows=sizes.sum(axis=1))
    message = unmet(few, epsilon=0.05, sides="upper")
    assert message.startswith("epsilon=0.05 with sides='upper' and confidence=0.95 is not met: about ")
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
    few = counts([(100, 100, 100, 100)], each=200)
    message = unmet(few, epsilon=0.02)
    first, second = needed(message)
    assert first == second
    one, other = np.random.default_rng(0).binomial(first, 0.5, (2, 4000))
    passes = [difference_limit(a, first, b, first, 0.975) <= 0.02 for a, b in ((one, other), (other, one))]
    assert 0.7 < np.logical_and(*passes).mean() < 0.9


def test_where_the_end_breaks_the_bound_no_rows_help():
    message = unmet(counts([(0, 0, 4, 4), (0, 0, 2, 2)]), epsilon=0.05)
    assert "its discrimination is 0.5 on these rows, no step is within the bound, and more rows would hardly" in message


def test_where_what_is_certified_costs_too_much_it_says_so():
    steps = [(0, 40, 20, 40), (0, 40, 20, 40), (30, 40, 0, 30)]
    message = unmet(counts(steps, each=40), epsilon=0.1, alpha=0.1, sides="upper")
    words = "epsilon=0.1 with sides='upper', confidence=0.95 and alpha=0.1 is not met: steps from 2 on are certified"
    assert words in message
    assert "each of them has a drop of accuracy of more than alpha" in message
    # Steps 1 and 2 are within the bound in both directions, and the last is not.
    steps = [(0, 400, 200, 400), (100, 300, 100, 300), (110, 310, 100, 300), (400, 400, 0, 0)]
    message = unmet(counts(steps, each=400), epsilon=0.2, alpha=0.1)
    assert "epsilon=0.2 with confidence=0.95 and alpha=0.1 is not met: steps from 1 to 2 are certified" in message
    assert "each of them has a drop of accuracy of more than alpha" in message


def test_a_step_that_tests_do_not_come_to_is_said_to_be_blocked():
    # Step 2 is well within the bound; the last step is beyond it, and tests begin there.
    steps = [(0, 0, 400, 400), (200, 200, 300, 300), (200, 200, 200, 200), (0, 0, 300, 300)]
    message = unmet(counts(steps, each=400), epsilon=0.1)
    assert (
        "step 2 would be certified by itself, but tests go from step to step, and end before they come to it, at step "
        "3, of which the discrimination is 0.75 with a limit of 0.7"
    ) in message
    assert "The step given, 2, has discrimination 0, from -0.0" in message
    assert message.endswith("within the bound, but no test of the walk that certifies steps came to it")


@pytest.mark.parametrize(("few", "shown"), [(12, True), (9, False), (0, False)])
@pytest.mark.parametrize("part", ["searched", "kept apart"])
def test_why_a_bound_is_not_certified_is_public_only_if_each_part_has_ten_people_of_everybody(part, few, shown):
    groups = read_groups(list("abc"))

    def of(rows):
        n = np.array([few if rows == part else 12, 400, 500])
        return PathCounts((n // 3)[None, :, None], n[:, None], f"selection rows {rows}", n, parity(groups))

    searched, apart = of("searched"), of("kept apart")
    with pytest.warns(ConstraintNotMetWarning):
        chosen = select_step(
            apart, searched, searched_counts(*[[[250] * 3]] * 2), groups, Bounds(epsilon=0.1, confidence=0.95), UNSEEN
        )
    assert chosen.shortfall is not None
    assert (chosen.to_public_dict()["shortfall"] is not None) == shown


def test_in_one_direction_a_step_far_past_zero_is_warned_of():
    measured = counts([(0, 10, 10, 40), (15, 25, 10, 20)], each=40)
    with pytest.warns(
        FewRowsWarning, match=r"only by going past zero, and beyond it .*: on 160 selection rows step 1 has .* 'f'"
    ):
        chosen = select(measured, epsilon=0.05, confidence=0.95, sides="upper")
    assert (chosen.step, chosen.met, chosen.overshoots) == (1, True, True)
    both = quietly(measured, epsilon=0.05, confidence=0.95)
    assert (both.met, both.overshoots) == (False, False)


def test_groups_of_few_rows_are_warned_of():
    few = {"totals": np.array([[10, 10], [40, 40]]), "n_rows": np.array([20, 80])}
    with pytest.warns(FewRowsWarning, match="there are 20 selection rows of group 'f': below 30"):
        assert select(counts([(5, 5, 10, 30)], **few), epsilon=0.5, confidence=0.95).met
