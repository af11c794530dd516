"""What is compared is resolved in one way, whoever asks; and an edit is asked for again as it was."""

import warnings
from contextlib import nullcontext
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from draws import people
from eifffel import ConstraintNotMetWarning, EiFFFeLClassifier, PrivilegedGroupWarning, trace_path
from eifffel.comparison import USUAL, Comparison, read_compared
from eifffel.metrics import discrimination
from eifffel.rows.batches import Batch, OneBatch

X, y, s = people(200, seed=3)
SEX, WORDS = np.array(["f", "m"])[s], np.array(["no", "yes"])[y]
RACE = np.array(["a", "b", "c"])[np.arange(200) % 3]


def resolve(asked, labels=y, groups=SEX, classes=None, others=None):
    surveys = [asked.survey(OneBatch(Batch(X, labels, groups)), rows="the rows")]
    if others is not None:
        surveys.append(asked.survey(OneBatch(Batch(X, None, others)), rows="the others"))
    return asked.resolve(classes, *surveys)


def test_what_was_not_said_is_as_another_has_it():
    asked = Comparison(favorable="yes", min_group_rows=0).or_else(USUAL)
    assert asked == replace(USUAL, favorable="yes", min_group_rows=0)
    assert USUAL.or_else(Comparison(constraint="equalized_odds")) == USUAL
    with pytest.raises(FrozenInstanceError):
        asked.missing = "drop"


@pytest.mark.parametrize(
    ("asked", "parameter"),
    [({"constraint": "parity"}, "constraint"), ({"combine": "all"}, "combine"), ({"missing": "no"}, "missing")],
)
def test_a_mistake_is_told_when_it_is_made(asked, parameter):
    with pytest.raises(ValueError, match=f"{parameter} must be one of") as caught:
        Comparison(**asked)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    ("labels", "favorable", "classes", "expected", "good"),
    [
        (y, None, None, 1, None),
        (y, 0, [0, 1], 0, None),
        (WORDS, "yes", None, "yes", None),
        (WORDS, "no", ["no", "yes"], "no", None),
        (WORDS, "yes", [0, 1], 1, ("yes",)),  # a model of 0 and 1, and a table in words
        (np.where(RACE == "c", "perhaps", WORDS), {"yes", "perhaps"}, None, 1, ("perhaps", "yes")),
    ],
)
def test_labels(labels, favorable, classes, expected, good):
    compared = resolve(Comparison(favorable=favorable), labels, classes=classes)
    assert compared.favorable == expected
    assert (compared.label_sets.good if compared.label_sets else None) == good
    rows = compared.coding.encode(X, labels, SEX, rows="the rows")
    np.testing.assert_array_equal(rows.label == 1, np.isin(labels, [expected] if good is None else good))


def test_groups_of_other_rows_are_known_too():
    assert resolve(Comparison(), groups=RACE, others=np.where(RACE == "a", "d", RACE)).groups.values == tuple("abcd")


@pytest.mark.parametrize("privileged", [None, "f", "m"])
def test_everybody_who_asks_compares_the_same(privileged):
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    asked = {"privileged": privileged, "constraint": "equal_opportunity", "min_group_rows": 3}
    with pytest.warns(PrivilegedGroupWarning) if privileged == "f" else nullcontext(), warnings.catch_warnings():
        # The paper's loop ends at once where the other group is favoured.
        warnings.simplefilter("ignore", ConstraintNotMetWarning)
        path = trace_path(model, X, y, sensitive_features=SEX, **asked)
        clf = EiFFFeLClassifier(FrozenEstimator(model), select_on="train", rule="paper", epsilon=0.2, **asked)
        clf.fit(X, y, sensitive_features=SEX)
    assert path.comparison.describe() == clf.path_.comparison.describe()
    assert path.fingerprint == clf.path_.fingerprint
    np.testing.assert_array_equal(path.discrimination, clf.path_.discrimination)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.sampled_from([None, 0, 1]))
def test_the_favoured_of_two_groups_is_privileged_unless_one_is_named(chosen, named):
    favorable = np.array(chosen).reshape(2, 2)
    totals = np.full((2, 2), 9)
    compared = resolve(Comparison(privileged=None if named is None else "fm"[named]))
    found = compared.name_favored(favorable, totals)
    if named is not None:
        assert found is compared
        return
    difference = float(discrimination(favorable, totals))  # of the second minus the first
    assert found.groups.privileged == (1 if difference > 0 else 0,)
    assert found.groups.values == ("f", "m"), "rows are counted as before"
    assert found.constraint.worst(favorable, totals).value == pytest.approx(abs(difference))
    assert found.constraint.directed


def test_several_rates_or_groups_have_no_favoured_one():
    for asked, groups in ((Comparison(constraint="equalized_odds"), SEX), (Comparison(), RACE)):
        compared = resolve(asked, groups=groups)
        n_groups = len(compared.groups)
        assert compared.name_favored(np.ones((n_groups, 2)), np.full((n_groups, 2), 9)) is compared


GIVEN = {"sex": SEX, "race": RACE}


@pytest.mark.parametrize(
    "asked",
    [
        Comparison(),
        Comparison(privileged={"sex": "m"}, combine="each", min_group_rows=7),
        Comparison(favorable=0, privileged=("m", "a"), combine="intersection", constraint="equalized_odds"),
        Comparison(missing="own-group"),
    ],
)
def test_what_was_compared_is_read_back(asked):
    compared = resolve(asked, groups=GIVEN)
    same = read_compared(compared.describe())
    assert same.describe() == compared.describe()
    assert same.constraint.names == compared.constraint.names
    np.testing.assert_array_equal(same.constraint.pairs, compared.constraint.pairs)


def again(asked, groups=SEX, *, labels=y):
    return KNOWN.on_rows(asked, OneBatch(Batch(X, labels, groups)), rows="the rows")


KNOWN = resolve(Comparison(privileged="m", constraint="equal_opportunity", min_group_rows=5))


@pytest.mark.parametrize(
    ("asked", "groups", "same"),
    [
        (Comparison(), SEX, True),
        (Comparison(privileged="m"), SEX, True),
        (Comparison(privileged="f"), SEX, False),
        (Comparison(missing="drop"), SEX, True),
        (Comparison(missing="own-group"), np.where(s == 0, SEX, None), False),
        (Comparison(), RACE, False),  # nobody of the edit is among them
        (Comparison(), {"sex": SEX, "race": RACE}, False),
    ],
)
def test_an_edit_is_asked_for_again_where_its_groups_are_there(asked, groups, same):
    compared, is_same = again(asked, groups)
    assert is_same is same
    assert compared.constraint.name == ("equal_opportunity" if same else "demographic_parity")
    assert compared.constraint.min_rows == (5 if same else 30)
    if same:
        assert compared.groups.privileged == (1,)


def test_rates_among_people_of_a_label_are_not_asked_of_rows_without_labels():
    compared, same = again(Comparison(), labels=None)
    assert same
    assert compared.constraint.name == "demographic_parity"


def test_a_path_may_be_measured_by_other_rates():
    rows = OneBatch(Batch(X, y, SEX))
    assert KNOWN.on_path(Comparison(), rows, rows="the rows").constraint is KNOWN.constraint
    other = KNOWN.on_path(Comparison(privileged="m", constraint="predictive_equality"), rows, rows="the rows")
    assert (other.constraint.name, other.constraint.min_rows) == ("predictive_equality", 5)
    assert other.groups is KNOWN.groups


@pytest.mark.parametrize(
    ("asked", "parameter"),
    [
        (Comparison(privileged="f"), "privileged"),
        (Comparison(missing="drop"), "missing"),
        (Comparison(favorable=0), "favorable"),
    ],
)
def test_a_path_is_of_its_own_groups_alone(asked, parameter):
    with pytest.raises(ValueError, match=f"{parameter} must be .*; leave it out") as caught:
        KNOWN.on_path(asked, OneBatch(Batch(X, y, SEX)), rows="the rows")
    assert caught.value.parameter == parameter
