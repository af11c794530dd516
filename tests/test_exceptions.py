"""Errors and warnings know which parameter they are about."""

import copy
import pickle
import warnings

import pytest

from eifffel._utils.validation import check_choice, check_confidence, check_fraction, check_n_jobs, check_number
from eifffel.exceptions import (
    DatasetError,
    InputError,
    InputTypeError,
    Message,
    ModelFileError,
    PrivilegedGroupWarning,
    UnsupportedModelError,
    message_of,
    parameter,
    warn_caller,
    wording,
)
from eifffel.rows.batches import do_named
from eifffel.selection.bounds import check_one_bound
from eifffel.selection.objective import check_objective
from eifffel.strategies import check_strategy

ODD = "{epsilon} {} %s %(x)s \\1 'quoted' \"twice\" {{"
NAMES = {"epsilon": "--epsilon", "overwrite=True": "--overwrite", "costs": "0,1,5,0", "or_none": ""}


@pytest.mark.parametrize(
    ("check", "name", "wrong_type"),
    [
        (lambda: check_fraction("epsilon", 5), "epsilon", False),
        (lambda: check_fraction("alpha", "a", optional=True), "alpha", True),
        (lambda: check_number("min_group_rows", -1, at_least=0), "min_group_rows", False),
        (lambda: check_choice("direction", "down", ["up"]), "direction", False),
        (lambda: check_confidence(2), "confidence", False),
        (lambda: check_n_jobs(0), "n_jobs", False),
        (lambda: check_objective([1]), "objective", False),
        (lambda: check_one_bound(0.1, 0.8), "epsilon", False),
    ],
)
def test_the_parameter_at_fault(check, name, wrong_type):
    with pytest.raises(InputError) as caught:
        check()
    assert caught.value.parameter == name
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TypeError) == wrong_type
    assert str(caught.value).startswith(name)


def test_errors_of_other_kinds_know_it_too():
    from types import SimpleNamespace

    with pytest.raises(UnsupportedModelError) as caught:
        check_strategy("leaf", SimpleNamespace(votes=False))
    assert caught.value.parameter == "strategy"
    for kind in (DatasetError, InputError, ModelFileError):
        assert kind("something else").parameter is None
        assert kind().parameter is None


def test_sentences_are_put_together():
    one = "got 5; " + parameter("epsilon") + " must be " + ("in [0, 1]" + wording("or_none", " or None"))
    two = one + "; pass " + parameter("overwrite=True")
    assert isinstance(two, Message)
    assert two == "got 5; epsilon must be in [0, 1] or None; pass overwrite=True"
    assert two.say(NAMES) == "got 5; --epsilon must be in [0, 1]; pass --overwrite"
    assert two.say({}) == two
    assert two.parameters == ["epsilon", "overwrite"]
    two += "."
    assert two.say(NAMES).endswith("--overwrite.")


def test_values_are_kept_to_the_letter():
    message = parameter("epsilon") + f" must be a number, got {ODD}"
    assert message == f"epsilon must be a number, got {ODD}"
    assert message.say(NAMES) == f"--epsilon must be a number, got {ODD}"
    with pytest.raises(InputError) as caught:
        check_choice("strategy", ODD, ["leaf"], hint="try " + wording("costs", "[[0, 1], [5, 0]]"))
    assert str(caught.value) == f"strategy must be one of 'leaf', got {ODD!r}; try [[0, 1], [5, 0]]"
    assert message_of(caught.value).say(NAMES) == f"strategy must be one of 'leaf', got {ODD!r}; try 0,1,5,0"


@pytest.mark.parametrize("kind", [InputError, InputTypeError, UnsupportedModelError, ModelFileError, DatasetError])
@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_errors_survive_pickling(kind, again):
    error = again(kind(parameter("epsilon") + f" is {ODD}"))
    assert type(error) is kind
    assert error.parameter == "epsilon"
    assert str(error) == f"epsilon is {ODD}"
    assert message_of(error).say(NAMES) == f"--epsilon is {ODD}"


def test_old_pickles_too():
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(parameter("epsilon"), protocol)).say(NAMES) == "--epsilon"


def test_warnings_keep_it():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warn_caller(parameter("epsilon") + f" is {ODD}", PrivilegedGroupWarning)
    assert str(said[0].message) == f"epsilon is {ODD}"
    assert message_of(said[0].message).say(NAMES) == f"--epsilon is {ODD}"


class Batch:
    where = "batch 3"


@pytest.mark.parametrize("kind", [ValueError, TypeError, InputError, InputTypeError])
def test_a_batch_is_named_and_the_parameter_kept(kind):
    def fail(batch):
        raise kind(parameter("epsilon") + " is wrong")

    with pytest.raises(kind) as caught:
        do_named(fail, Batch)
    error = pickle.loads(pickle.dumps(caught.value))
    assert (str(error), error.where) == ("batch 3: epsilon is wrong", "batch 3")
    assert message_of(error).say(NAMES) == "batch 3: --epsilon is wrong"


def test_an_error_that_takes_more_than_a_message_is_noted():
    def fail(batch):
        raise UnicodeDecodeError("utf-8", b"x", 0, 1, "odd")

    with pytest.raises(UnicodeDecodeError) as caught:
        do_named(fail, Batch)
    assert (caught.value.where, caught.value.__notes__) == ("batch 3", ["in batch 3"])
