"""Bounds are checked when they are made, and say themselves in one way."""

from dataclasses import FrozenInstanceError

import pytest

from eifffel.selection.bounds import EPSILON, Bounds


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilon": 0.05}, "epsilon=0.05"),
        ({"ratio": 0.8, "alpha": 0.02}, "ratio=0.8 with alpha=0.02"),
        ({"epsilon": 0.1, "confidence": 0.95}, "epsilon=0.1 with confidence=0.95"),
        ({"epsilon": 0.01, "confidence": 0.9, "alpha": 0}, "epsilon=0.01 with confidence=0.9 and alpha=0"),
        ({"epsilon": 0.1, "sides": "upper"}, "epsilon=0.1 with sides='upper'"),
        (
            {"ratio": 0.8, "confidence": 0.9, "alpha": 0.1, "sides": "upper"},
            "ratio=0.8 with sides='upper', confidence=0.9 and alpha=0.1",
        ),
    ],
)
def test_in_words(given, words):
    assert str(Bounds(**given)) == words


@pytest.mark.parametrize("exact", [{"epsilon": 0}, {"ratio": 1}])
def test_that_two_rates_are_the_same_is_certified_by_no_number_of_rows(exact):
    with pytest.raises(ValueError, match="in both directions is certified by no number of rows, for no two rates are"):
        Bounds(confidence=0.9, **exact)
    assert Bounds(confidence=0.9, sides="upper", **exact).words
    assert Bounds(**exact).words


def test_names_in_words_are_those_of_parameters():
    bounds = Bounds(ratio=0.8, confidence=0.9, alpha=0.1, sides="upper")
    assert bounds.words.parameters == ["ratio", "sides", "confidence", "alpha"]
    said = "--ratio=0.8 with sides='upper', confidence=0.9 and alpha=0.1"
    assert bounds.words.say({"ratio": "--ratio"}) == said


def test_another_bound_of_the_same_kind():
    strict = Bounds(epsilon=0.1, alpha=0.02).at(0.01)
    assert (strict.kind, strict.value, strict.alpha) == ("epsilon", 0.01, 0.02)
    assert (Bounds(ratio=0.8).at(0.9).ratio, Bounds(ratio=0.8).kind) == (0.9, "ratio")
    with pytest.raises(ValueError, match="epsilon must be in"):
        strict.at(2.0)


def test_the_usual_bound_where_none_is_named():
    assert Bounds.or_default(epsilon=None, ratio=None).epsilon == EPSILON
    assert Bounds.or_default(epsilon=0.0, ratio=None).epsilon == 0
    assert Bounds.or_default(epsilon=None, ratio=0.8).epsilon is None


def test_they_are_fixed_once_made_and_equal_by_what_they_say():
    bounds = Bounds(epsilon=0.1, objective=[[0, 1], [5, 0]])
    assert bounds.objective == ((0, 1), (5, 0))
    assert bounds == Bounds(epsilon=0.1, objective=((0, 1), (5, 0)))
    with pytest.raises(FrozenInstanceError):
        bounds.epsilon = 0.2


@pytest.mark.parametrize(
    ("given", "error", "parameter"),
    [
        ({}, TypeError, "epsilon"),
        ({"epsilon": 0.1, "ratio": 0.8}, ValueError, "epsilon"),
        ({"ratio": 0}, ValueError, "ratio"),
        ({"epsilon": 5}, ValueError, "epsilon"),
        ({"epsilon": 0.1, "alpha": -1}, ValueError, "alpha"),
        ({"epsilon": 0.1, "confidence": 0.2}, ValueError, "confidence"),
        ({"epsilon": 0.1, "objective": "profit"}, ValueError, "objective"),
        ({"epsilon": 0.1, "sides": "lower"}, ValueError, "sides"),
        ({"epsilon": 0, "confidence": 0.9}, ValueError, "epsilon"),
        ({"ratio": 1, "confidence": 0.9}, ValueError, "ratio"),
    ],
)
def test_what_makes_no_sense_is_refused_by_the_name_of_its_parameter(given, error, parameter):
    with pytest.raises(error) as caught:
        Bounds(**given)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("more", [{"ratio": 0.8}, {"epsilon": 0.1, "confidence": 0.9}])
def test_the_papers_rule_knows_neither_ratio_nor_confidence(more):
    with pytest.raises(ValueError, match="rule='paper' stops at"):
        Bounds(rule="paper", **more)
