"""Raised errors: about whom a step errs more, and about nobody less, on counts and on models."""

import json
import warnings
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from draws import people
from eifffel import trace_path
from eifffel.constraints import make_constraint
from eifffel.report import render_html, render_json, render_markdown, summarize
from eifffel.rows.groups import read_groups
from eifffel.selection.raised_errors import find_raised_errors, say_raised_errors

LABEL = {"equal_opportunity": [1], "predictive_equality": [0], "equalized_odds": [1, 0], "demographic_parity": []}
WORDS = {1: "with the favourable label", 0: "with the unfavourable label"}


def slowly(name, groups, privileged, before, after, totals):
    """As `RaisedError` says it, group by group and label by label."""
    found = []
    for label in LABEL[name]:
        error = {
            group: [(totals[g][label] - table[g][label] if label else table[g][label]) / totals[g][label]
                    for table in (before, after)]
            for g, group in enumerate(groups) if totals[g][label]
        }  # fmt: skip
        for group, (was, now) in error.items():
            others = [
                other for other, (theirs, theirs_now) in error.items()
                if other != group and (privileged is None or privileged in (group, other))
                and theirs > was and theirs_now >= theirs
            ]  # fmt: skip
            if now > was and others:
                worst = max(others, key=lambda other: error[other][0])
                found.append((f"{group} {WORDS[label]}", was, now, f"{worst} {WORDS[label]}", *error[worst]))
    return found


@given(
    name=st.sampled_from(sorted(LABEL)),
    groups=st.sampled_from([["f", "m"], ["a", "b", "c"]]),
    data=st.data(),
)
def test_raised_errors_are_those_found_one_by_one(name, groups, data):
    numbers = st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), min_size=len(groups), max_size=len(groups))
    totals = np.array(data.draw(numbers))
    before, after = (np.minimum(data.draw(numbers), totals) for _ in range(2))
    privileged = data.draw(st.sampled_from([None, *groups]))
    constraint = make_constraint(name, read_groups(groups, privileged=privileged))
    raised = find_raised_errors(constraint, before, after, totals)
    tables = before.tolist(), after.tolist(), totals.tolist()
    assert sorted(map(astuple, raised)) == sorted(slowly(name, groups, privileged, *tables))
    assert bool(say_raised_errors(raised)) == bool(raised)
    # Sums of weights round, and what differs by that alone does not differ.
    noise = np.random.RandomState(0).uniform(-1e-12, 1e-12, totals.shape)
    again = find_raised_errors(constraint, before + noise, after - noise, totals.astype(float), tolerance=1e-9)
    assert [one.group for one in again] == [one.group for one in raised]


def test_words():
    constraint = make_constraint("equal_opportunity", read_groups(["f", "m"]))
    people = np.full((2, 2), 100)
    raised = find_raised_errors(constraint, np.array([[0, 50], [0, 90]]), np.array([[0, 49], [0, 60]]), people)
    assert say_raised_errors(raised) == (
        "equality is bought by errors here: about m with the favourable label the model errs in 40.0% of cases, "
        "where the original model did in 10.0%, and about f with the favourable label no less than before (50.0%, now "
        "51.0%)"
    )
    # Where those of whom it erred most fare better, nothing is said.
    assert not find_raised_errors(constraint, np.array([[0, 50], [0, 90]]), np.array([[0, 51], [0, 60]]), people)


@pytest.fixture(scope="module")
def traced():
    X, y, s = people(900, seed=3)
    model = RandomForestClassifier(15, max_depth=4, random_state=0).fit(X[:400], y[:400])
    rows = X[400:], y[400:], s[400:]
    given = {"constraint": "equalized_odds", "strategy": "leaf", "select_on": rows}
    return trace_path(model, X[:400], y[:400], sensitive_features=s[:400], **given), rows


def test_a_selection_says_what_its_model_does(traced):
    path, (X, y, s) = traced
    choices = [path.select(epsilon=epsilon) for epsilon in (0.2, 0.1, 0.05, 0.02)]
    assert any(choice.raised_errors for choice in choices)
    assert not all(choice.raised_errors for choice in choices)
    before = path.model.predict(X)
    for choice in choices:
        after = path.model_at(choice).predict(X)
        for one in choice.raised_errors:
            of_group = np.array([one.group.startswith(f"{value} ") for value in s])
            label = int("unfavourable" not in one.group)
            asked = of_group & (y == label)
            assert one.before == pytest.approx(np.mean(before[asked] != label))
            assert one.after == pytest.approx(np.mean(after[asked] != label))
            assert one.after > one.before
            assert one.other_before > one.before
            assert one.other_after >= one.other_before
        said = say_raised_errors(choice.raised_errors)
        assert (said in str(choice)) if said else ("errors here" not in str(choice))
        assert choice.to_public_dict()["raised_errors"] == choice.plain()["raised_errors"]
        verdict = path.verdict(choice)
        assert verdict.raised_errors == choice.raised_errors
        assert ("quality is bought by errors here" in verdict.sentence) == bool(said)


def test_reports_say_it(traced):
    path, (X, y, s) = traced
    choice = next(c for c in (path.select(epsilon=e) for e in (0.2, 0.1, 0.05, 0.02)) if c.raised_errors)
    pytest.importorskip("jinja2")
    summary = summarize(
        path.model_at(choice), X, y, sensitive_features=s, path=path, selection=choice, rows="selection rows"
    )
    assert summary.overall.raised_errors == choice.raised_errors == summary.selection.raised_errors
    sentence = "Equality is bought by errors here: about"
    assert sentence in summary.verdict.sentence
    assert sentence in render_html(summary)
    assert sentence in " ".join(render_markdown(summary).split())
    assert json.loads(render_json(summary))["overall"]["raised_errors"]


def test_nothing_is_said_of_fewer_than_ten_people(traced):
    path, (X, y, s) = traced
    few = np.concatenate([np.flatnonzero(s != s[0]), np.flatnonzero(s == s[0])[:9]])
    measured = path.measure(X[few], y[few], s[few])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choices = [measured.select(epsilon=epsilon) for epsilon in np.linspace(0, 1, 40)]
    assert any(choice.raised_errors for choice in choices)
    assert all(choice.to_public_dict()["raised_errors"] == [] for choice in choices)


def test_weighted_rows_tell_nothing_of_people_who_are_not_counted(traced):
    path, (X, y, s) = traced
    rows = np.concatenate([np.flatnonzero((s == 0) | (y == 0)), np.flatnonzero((s == 1) & (y == 1))[:3]])
    weight = np.random.RandomState(0).uniform(0.5, 1.5, len(rows))
    measured = path.measure(X[rows], y[rows], s[rows], sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choices = [measured.select(epsilon=epsilon) for epsilon in np.linspace(0, 1, 40)]
    assert any(choice.raised_errors for choice in choices)
    assert all(choice.to_public_dict()["raised_errors"] == [] for choice in choices)


@pytest.mark.parametrize(("group", "label"), [(1, 0), (0, 1)])
def test_nothing_is_said_of_fewer_than_ten_people_of_a_label(traced, group, label):
    path, (X, y, s) = traced
    few = np.flatnonzero((s == group) & (y == label))
    rows = np.setdiff1d(np.arange(len(y)), few[9:])
    measured = path.measure(X[rows], y[rows], s[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choices = [measured.select(epsilon=epsilon) for epsilon in np.linspace(0, 1, 40)]
    told = [one for choice in choices for one in choice.to_public_dict()["raised_errors"]]
    hidden = f"{group} {WORDS[label]}"
    assert any(hidden in (one.group, one.other) for choice in choices for one in choice.raised_errors)
    assert not any(hidden in (one["group"], one["other"]) for one in told)
