"""The verdict on a bound, and on whether it still holds."""

import pickle
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from draws import roles
from eifffel import trace_path
from eifffel.datasets import make_biased_classification
from eifffel.intervals import difference_interval
from eifffel.selection.judgement import judge, judge_ratio
from eifffel.selection.verdict import (
    CHOSE,
    SEEN,
    ChangedPeople,
    GroupFacts,
    PublicFacts,
    say_public_verdict,
)


@pytest.mark.parametrize(
    ("value", "interval", "signed", "kind", "certain", "heading"),
    [
        (0.02, (-0.01, 0.05), False, "within", True, "Within the bound"),
        (0.02, (-0.01, 0.06), False, "within", False, "Within the bound, but it may be chance"),
        (0.07, (0.04, 0.1), False, "outside", False, "Outside the bound, but it may be chance"),
        (0.07, (0.06, 0.1), False, "outside", True, "Outside the bound"),
        (-0.07, (-0.1, -0.06), False, "outside", True, "Outside the bound"),
        (-0.07, (-0.1, -0.06), True, "overshoots", True, "Past zero: the other group is favoured now"),
        (-0.03, (-0.08, 0.02), False, "within", False, "Within the bound, but it may be chance"),
        (-0.03, (-0.08, 0.02), True, "within", True, "Within the bound"),
        (0.05, None, False, "within", False, "Within the bound"),
        (-0.07, None, True, "overshoots", False, "Past zero: the other group is favoured now"),
    ],
)
def test_judgements(value, interval, signed, kind, certain, heading):
    judged = judge(value, interval, 0.05, signed=signed)
    assert (judged.kind, judged.certain, judged.heading) == (kind, certain, heading)
    assert judged.holds == (kind != "outside")


@pytest.mark.parametrize(
    ("ratio", "interval", "turned", "kind", "certain", "clause"),
    [
        (0.9, (0.85, 0.95), False, "within", True, "within the bound of 0.8, as is the whole interval"),
        (0.9, (0.7, 1.0), False, "within", False, "may be chance: the interval reaches below it"),
        (0.7, (0.5, 0.9), False, "outside", False, "may be chance: the interval holds it"),
        (0.7, (0.5, 0.75), False, "outside", True, "outside the bound of 0.8, as is the whole interval"),
        (0.7, (0.5, 0.75), True, "overshoots", False, "in the direction in which it was asked for, and beyond it in"),
        (0.9, (0.85, 0.95), True, "within", True, "within the bound of 0.8, as is the whole interval"),
        (0.9, None, False, "within", False, "within the bound of 0.8; it has no interval"),
        (float("nan"), None, False, "outside", False, "outside the bound of 0.8; it has no interval"),
    ],
)
def test_judgements_of_ratios(ratio, interval, turned, kind, certain, clause):
    judged = judge_ratio(ratio, interval, 0.8, turned=turned)
    assert (judged.kind, judged.holds, judged.certain) == (kind, kind != "outside", certain)
    assert clause in judged.clause


people = make_biased_classification(6000, random_state=0)
X, y, s = people.data, people.target, people.sensitive


@pytest.fixture(scope="module")
def path():
    model = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(X[:2000], y[:2000])
    held_out = slice(2000, 4000)
    return trace_path(
        model, X[:2000], y[:2000], sensitive_features=s[:2000], select_on=(X[held_out], y[held_out], s[held_out])
    )


def test_next_months_rows_are_judged(path):
    choice = path.select(epsilon=0.1, confidence=0.95)
    later = path.measure(X[4000:], y[4000:], s[4000:])
    verdict = later.verdict(choice)
    decided = path.model_at(choice.step).predict(X[4000:]) == 1
    groups = [decided[s[4000:] == group] for group in roles(path)]
    assert verdict.discrimination == pytest.approx(groups[1].mean() - groups[0].mean(), abs=1e-12)
    expected = difference_interval(groups[1].sum(), len(groups[1]), groups[0].sum(), len(groups[0]), 0.95)
    np.testing.assert_allclose(verdict.interval, expected)
    assert verdict.n_rows == (len(groups[0]), len(groups[1]))
    assert verdict.accuracy == later.accuracy[choice.step]
    assert verdict.holds
    text = str(verdict)
    assert text.startswith(verdict.heading)
    assert f"On 2,000 measured rows, {len(groups[0]):,} of group 0 and {len(groups[1]):,} of group 1" in text
    assert (
        f"discrimination {choice.discrimination:.4f}, from {choice.lower:.4f} to {choice.upper:.4f}, and accuracy"
        in text
    )
    assert "The step was chosen with 95% confidence on 2,000 selection rows" in text
    assert "95% interval" in text


def test_a_bound_that_no_longer_holds_is_said_to_be_broken(path):
    """Next month all people of the unprivileged group are like those that are refused."""
    choice = path.select(epsilon=0.05)
    refused = np.flatnonzero((path.model_at(choice.step).predict(X) == 0) & (s != path.privileged))[:500]
    other = np.flatnonzero(s == path.privileged)[:500]
    rows = np.concatenate([refused, other])
    verdict = path.measure(X[rows], y[rows], s[rows]).verdict(choice)
    assert (verdict.holds, verdict.certain, verdict.heading) == (False, True, "Outside the bound")


@pytest.mark.filterwarnings("ignore::eifffel.ConstraintNotMetWarning")
@pytest.mark.parametrize("asked", [{"epsilon": 0.001}, {"ratio": 0.999}])
def test_rows_within_a_bound_that_was_not_met_do_not_make_it_met(path, asked):
    choice = path.select(confidence=0.95, **asked)
    assert not choice.met
    verdict = path.measure(X[4000:], y[4000:], s[4000:]).verdict(choice)
    assert (verdict.kind, verdict.heading) == ("not_met", "The bound is not met")
    text = str(verdict)
    assert " NOT MET: no step kept the bound with 95% confidence on 2,000 selection rows; this is the nearest, " in text
    assert "The step was chosen" not in text
    limits = f"from {choice.lower:.4f} to {choice.upper:.4f}"
    if "ratio" in asked:
        assert f"a ratio of {choice.rate_ratio:.4f}, {limits}, and accuracy" in text
        assert f"ratio {choice.rate_ratio:.4f}, {limits} with 95% confidence)" in str(choice)
        assert choice.lower <= choice.rate_ratio <= 1 / choice.rate_ratio <= max(choice.upper, 1 / choice.lower)
    else:
        assert f"discrimination {choice.discrimination:.4f}, {limits}, and accuracy" in text


def test_without_labels_there_is_no_accuracy(path):
    verdict = path.measure(X[4000:], None, s[4000:]).verdict(path.select(epsilon=0.05))
    assert verdict.accuracy is None
    assert "Accuracy" not in verdict.sentence


def test_weighted_rows_have_no_interval(path):
    weight = np.linspace(0.5, 2, 2000)
    verdict = path.measure(X[4000:], y[4000:], s[4000:], sample_weight=weight).verdict(path.select(epsilon=0.05))
    assert verdict.interval is None
    assert not verdict.certain
    assert "weighted rows have no interval" in verdict.sentence


def test_a_step_past_zero_is_judged_by_what_was_asked_for(path):
    choice = replace(path.select(epsilon=0.05, confidence=0.8, sides="upper"), step=path.n_steps)
    verdict = path.verdict(choice)
    assert verdict.discrimination < -0.3
    assert (verdict.holds, verdict.kind) == (True, "overshoots")
    assert verdict.heading == "Past zero: the other group is favoured now"
    both, surer = (
        replace(choice, bounds=replace(choice.bounds, **asked)) for asked in ({"sides": "both"}, {"confidence": 0.99})
    )
    assert (path.verdict(both).kind, path.verdict(both).holds) == ("outside", False)
    narrow, wide = verdict.interval, path.verdict(surer).interval
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_accuracy_names_its_rows_where_they_are_others(path):
    unlabelled = path.measure(X[2000:4000], None, s[2000:4000])
    verdict = path.measure(X[4000:], y[4000:], s[4000:]).verdict(unlabelled.select(epsilon=0.05))
    assert "on the selection rows." in verdict.sentence
    if find_spec("pandas"):
        assert "selection_accuracy" in unlabelled.to_frame()


def test_a_stored_path_keeps_nothing_of_its_rows(path):
    assert path.scored is not None
    stored = pickle.loads(pickle.dumps(path))
    assert stored.scored is None
    assert stored.seen is False
    again = path.measure(X[:2000], y[:2000], s[:2000])
    assert pickle.loads(pickle.dumps(again)).seen


def test_something_else_than_a_selection(path):
    with pytest.raises(TypeError, match=r"selection must be a Selection, as path.select gives it, got a int"):
        path.verdict(3)


def test_limits_of_every_step(path):
    lower, upper = path.lower_limits(0.9), path.upper_limits(0.9)
    assert lower.shape == upper.shape == path.discrimination.shape
    assert (lower < path.discrimination).all()
    assert (path.discrimination < upper).all()
    chosen = path.select(epsilon=0.1, confidence=0.8)  # whose two tests are at 0.9 each
    assert (chosen.lower, chosen.upper) == (lower[chosen.step], upper[chosen.step])
    with pytest.raises(ValueError, match=r"confidence must be at least 0.5"):
        path.upper_limits(0.1)
    with pytest.raises(TypeError, match=r"confidence must be a number of at least 0.5 and below 1, got None"):
        path.upper_limits(None)
    weighted = path.measure(X[4000:], y[4000:], s[4000:], sample_weight=np.linspace(0.5, 2, 2000))
    with pytest.raises(ValueError, match="the measured rows have a sample_weight, and limits count people"):
        weighted.upper_limits()


def others(path):
    """Paths beside it: of the same model with other edits, for other groups or another rate, and of another model."""
    rows = {"sensitive_features": s[:2000], "select_on": (X[2000:4000], y[2000:4000], s[2000:4000])}
    turned = {"sensitive_features": 1 - s[:2000], "select_on": (X[2000:4000], y[2000:4000], 1 - s[2000:4000])}
    model = RandomForestClassifier(5, max_depth=8, random_state=7).fit(X[:2000], y[:2000])
    return {
        "strategy": trace_path(path.model, X[:2000], y[:2000], **rows, strategy="shift"),
        "direction": trace_path(path.model, X[:2000], y[:2000], **rows, direction="up"),
        "constraint": trace_path(path.model, X[:2000], y[:2000], **rows, constraint="equal_opportunity"),
        "groups": trace_path(path.model, X[:2000], y[:2000], **turned),
        "scoring rows": trace_path(
            path.model, X[1000:2000], y[1000:2000], **rows | {"sensitive_features": s[1000:2000]}
        ),
        "model": trace_path(model, X[:2000], y[:2000], **rows),
    }


def test_a_selection_is_judged_by_its_own_path_alone(path):
    choice, later = path.select(epsilon=0.1, confidence=0.9), (X[4000:], y[4000:], s[4000:])
    assert path.measure(*later).verdict(choice).holds
    assert path.verdict(path.measure(*later).select(epsilon=0.1)).step >= 0
    for name, other in others(path).items():
        assert other.fingerprint != path.fingerprint, name
        with pytest.raises(
            ValueError, match=rf"the selection is step {choice.step} of another path, .* give a selection"
        ):
            other.measure(*later).verdict(choice)
        with pytest.raises(ValueError, match="of another path"):
            path.verdict(other.select(epsilon=0.3))
        if find_spec("matplotlib"):
            with pytest.raises(ValueError, match="of another path"):
                other.plot(selection=choice)
    again = pickle.loads(pickle.dumps(path))
    assert again.measure(*later).verdict(pickle.loads(pickle.dumps(choice))).holds
    same = trace_path(
        path.model, X[:2000], y[:2000], sensitive_features=s[:2000], select_on=(X[3000:], y[3000:], s[3000:])
    )
    assert same.fingerprint == path.fingerprint  # the same edits, measured elsewhere


def test_rows_that_chose_the_step_are_known_again(path):
    choice, where = path.select(epsilon=0.1), (X[2000:4000], y[2000:4000], s[2000:4000])
    said = "The step was chosen on these rows, or on some of them, so that the bound kept there says little"
    assert said in path.verdict(choice).sentence
    assert said in path.measure(*where).verdict(choice).sentence
    mixed = np.random.default_rng(0).permutation(2000)[:1200] + 2000
    assert said in path.measure(X[mixed].astype(np.float32), y[mixed], s[mixed]).verdict(choice).sentence
    some = np.append(np.arange(3000, 4000), np.arange(4000, 6000))
    assert said in path.measure(X[some], y[some], s[some]).verdict(choice).sentence
    other = path.measure(X[4000:], y[4000:], s[4000:])
    assert said not in other.verdict(choice).sentence
    assert said in path.measure(X[4000:], y[4000:], s[4000:]).verdict(other.select(epsilon=0.1)).sentence


def test_what_was_not_asked_for_is_told():
    one_way = judge(-0.041, (-0.069, -0.013), 0.05, signed=True)
    assert one_way.holds
    assert one_way.clause.endswith("in the other direction, which was not asked for, the interval reaches beyond it")
    assert judge(-0.065, (-0.128, -0.002), 0.05, signed=True).clause.endswith(
        "beyond it in the other, which may be chance"
    )
    assert judge(-0.1, (-0.14, -0.06), 0.05, signed=True).clause.endswith("and beyond it in the other")


FACTS = PublicFacts(
    rows="test rows",
    n_rows=2000,
    n_labelled=2000,
    without_group=0,
    seen=False,
    chose=False,
    favorable="yes",
    sensitive="sex",
    constraint="demographic_parity",
    rate="rate of favourable decisions",
    directed=True,
    min_group_rows=30,
    left_out=(),
    groups=(GroupFacts("f", "sex", 0.5, False, True), GroupFacts("m", "sex", 0.6, False, True)),
    discrimination=0.1,
    interval=(0.05, 0.15),
    original=(0.2, 0.3),
    between=("m", "f"),
    rates=(0.6, 0.5),
    by_attribute=(("sex", 0.1),),
    ratio=5 / 6,
    ratio_interval=(0.75, 0.9),
    ratio_between=("m", "f"),
    accuracy=0.8,
    accuracy_before=None,
    raised_errors=(),
    constant_accuracy=0.6,
    changed=None,
    choice=None,
)
SHARES = (
    "On 2,000 test rows, the favourable decision, yes, goes to 50.0% of those whose sex is f and to 60.0% of those "
    "whose sex is m: a difference of 0.100 (95% interval 0.050 to 0.150)"
)


@pytest.mark.parametrize(
    ("epsilon", "ratio", "kind", "heading", "clause"),
    [
        (None, None, "measured", "Measured", ""),
        (0.2, None, "within", "✓ Within the bound", ", within the bound of 0.2, as is the whole interval"),
        (0.04, None, "outside", "✗ Outside the bound", ", outside the bound of 0.04, as is the whole interval"),
        (
            None,
            0.8,
            "within",
            "✓ Within the bound, but it may be chance",
            "; the smallest ratio of two rates is 0.833 (0.750 to 0.900), f over m, within the bound of 0.8, but it "
            "may be chance: the interval reaches below it",
        ),
    ],
)
def test_a_public_verdict_is_written_from_public_facts(epsilon, ratio, kind, heading, clause):
    verdict = say_public_verdict(FACTS, epsilon, ratio)
    assert (verdict.kind, verdict.heading) == (kind, heading)
    assert verdict.sentence == f"{SHARES}{clause}. Accuracy is 0.800."


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"seen": True, "chose": True}, f" {SEEN}"),
        ({"chose": True}, f" {CHOSE}"),
        ({"without_group": None}, " Fewer than ten rows without a group are left out."),
        ({"left_out": ("x", "y")}, " Not bounded, for want of 30 rows: x; y."),
        ({"by_attribute": (("sex", 0.1), ("race", 0.05))}, " By attribute, the largest are sex 0.100, race 0.050."),
        ({"changed": ChangedPeople(False, 0, 0)}, " No decision about these test rows changed."),
        (
            {"changed": ChangedPeople(True, 1200, 1)},
            " By the edit 1,200 of these people gain a favourable decision and 1 loses one.",
        ),
        (
            {"changed": ChangedPeople(True, 3, 0)},
            " By the edit 3 of these people gain a favourable decision and nobody loses one.",
        ),
    ],
)
def test_what_is_said_beside_a_public_verdict(facts, words):
    sentence = say_public_verdict(replace(FACTS, **facts), 0.2, None).sentence
    assert sentence == say_public_verdict(FACTS, 0.2, None).sentence + words


def test_where_an_original_model_may_favour_either_group_the_verdict_says_so():
    facts = replace(FACTS, original=(-0.01, 0.03))
    words = "These rows do not say which group is favoured: the interval of the discrimination, -0.0100 to 0.0300, "
    assert f"{words}contains 0." in say_public_verdict(facts, 0.2, None).sentence, "nobody edited anything"
    edited = say_public_verdict(replace(facts, changed=ChangedPeople(False, 0, 0)), 0.2, None).sentence
    words = "These rows do not say which group is favoured by the original model: the interval of its discrimination, "
    assert f"{words}-0.0100 to 0.0300, contains 0." in edited
    undirected = say_public_verdict(replace(FACTS, original=(0.0, 0.03), directed=False), 0.2, None).sentence
    assert "which group is favoured" not in undirected


def test_a_public_verdict_where_nothing_is_left_to_compare():
    nobody = replace(
        FACTS,
        groups=(GroupFacts("f", "sex", None, True, False), FACTS.groups[1]),
        discrimination=None,
        interval=None,
        accuracy=None,
    )
    verdict = say_public_verdict(nobody, 0.05, None)
    assert (verdict.kind, verdict.holds, verdict.heading) == (
        "unjudged",
        None,
        "! The bound cannot be judged on these rows",
    )
    assert "goes to a share not shown, for they are fewer than ten, of those whose sex is f" in verdict.sentence
    assert "so that the bound of 0.05 can be said neither to hold nor to be broken here." in verdict.sentence
    assert "Nothing is shown or judged of f: fewer than ten people, who are in no number here." in verdict.sentence
