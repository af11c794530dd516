"""Of a group of fewer than ten people nothing is shown: their decisions and labels change nothing that is written."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

pd = pytest.importorskip("pandas")
for library in ("jinja2", "altair", "vl_convert", "jsonschema"):
    pytest.importorskip(library)

import jsonschema  # noqa: E402

from eifffel import trace_path  # noqa: E402
from eifffel.report import render_html, render_markdown, render_table, schema, summarize, summarize_decisions  # noqa: E402
from eifffel.report.facts import Made  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::eifffel.exceptions.ConstraintNotMetWarning"),
    pytest.mark.filterwarnings("ignore::eifffel.exceptions.FewRowsWarning"),
]
N, FEW = 400, 4


def as_json(made):
    """A summary, from which alone all else is made, but for when it was made."""
    return json.dumps({**made.to_dict(), "made": {"at": "now", "versions": {}}}, sort_keys=True)


def forms(made):
    """Everything that is written of a summary, but for when."""
    jsonschema.validate(made.to_dict(), schema())
    made = replace(made, made=Made("now", {}))
    texts = [render_markdown(made), render_html(made)]
    for name in ("four-fifths", "ll144", "model-card"):
        texts += [render_table(made, name, ending) for ending in (".md", ".csv", ".json")]
    return texts


def draw(kind, seed=0):
    """Groups of which one has four people, the first rows; decisions, labels and scores of all."""
    random = np.random.default_rng(seed)
    sex, race = random.choice(["f", "m"], N), random.choice(["w", "x", "y"], N, p=[0.5, 0.3, 0.2])
    race[:FEW] = "z"
    groups = {
        "two groups": np.where(np.arange(N) < FEW, "f", "m"),
        "three groups": np.where(np.arange(N) < FEW, "z", np.where(sex == "f", "w", "x")),
        "two attributes": {"sex": sex, "race": race},
    }[kind]
    decided, labels = random.random(N) < 0.3 + 0.3 * (sex == "m"), random.random(N) < 0.5
    return groups, decided.astype(int), labels.astype(int), random.random(N)


def spread(values, few):
    """The same values, but for those of the few."""
    return np.concatenate([few, values[FEW:]])


OPTIONS = [
    {"epsilon": 0.1},
    {"ratio": 0.8},
    {"constraint": "equal_opportunity", "epsilon": 0.1},
    {"constraint": "equalized_odds"},
    {"combine": "intersection", "epsilon": 0.1, "min_group_rows": 10},
    {"min_group_rows": 0, "epsilon": 0.2},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["two groups", "three groups", "two attributes"])
def test_what_was_decided_about_few_people_changes_nothing(kind, options):
    groups, decided, labels, scores = draw(kind)
    shown = {}
    for favoured in range(FEW + 1):
        for right in range(FEW + 1):
            few = (np.arange(FEW) < favoured).astype(int)
            deserved = np.where(np.arange(FEW) < right, few, 1 - few)
            made = summarize_decisions(
                spread(decided, few),
                spread(labels, deserved),
                sensitive_features=groups,
                scores=spread(scores, few + 0.1 * deserved),
                favorable=1,
                **options,
            )
            shown[as_json(made)] = made
    assert len(shown) == 1
    (made,) = shown.values()
    assert f'"{"f" if kind == "two groups" else "z"}"' in as_json(made).replace("race z", "z"), "they are named"
    assert forms(made) == forms(
        summarize_decisions(decided, labels, sensitive_features=groups, scores=scores, **options)
    )


@pytest.mark.parametrize("labelled", [True, False])
def test_two_groups_one_of_few_are_not_judged(labelled):
    groups, decided, labels, _ = draw("two groups")
    asked = {"sensitive_features": groups, "favorable": 1, "sensitive_name": "sex"}
    made = summarize_decisions(decided, labels if labelled else None, epsilon=0.05, **asked)
    verdict, after = made.verdict, made.overall.after
    assert (verdict.epsilon, verdict.holds, verdict.certain) == (0.05, None, None)
    assert (verdict.kind, verdict.heading) == ("unjudged", "! The bound cannot be judged on these rows")
    assert "Nothing is shown or judged of f: fewer than ten people, who are in no number here." in verdict.sentence
    assert made.rows.n == N - FEW
    assert after.discrimination.value is after.ratio.value is None
    assert after.between == after.rates == ()
    rates = made.groups[1].after
    assert rates.selection_rate.value == decided[FEW:].mean()
    if labelled:
        assert after.accuracy.value == (decided == labels)[FEW:].mean()
    assert summarize_decisions(decided, **asked).verdict.heading == "Measured"


def test_labels_that_few_of_a_group_have_change_nothing():
    groups, decided, labels, _ = draw("three groups")
    groups[:60], labels[:60] = "z", 0
    labels[:FEW] = 1  # of the sixty
    shown = []
    for favoured in range(FEW + 1):
        few = (np.arange(FEW) < favoured).astype(int)
        swapped = spread(decided, few)
        swapped[FEW : FEW + 4] = 1 - few  # as many of the group are decided favourably as ever
        for constraint in ("demographic_parity", "equal_opportunity"):
            made = summarize_decisions(
                swapped, labels, sensitive_features=groups, favorable=1, constraint=constraint, epsilon=0.1
            )
            shown.append(as_json(made))
    assert shown[0::2] == [shown[0]] * (FEW + 1)
    assert shown[1::2] == [shown[1]] * (FEW + 1)


def test_tell_few_shows_it_in_the_tables():
    groups, decided, labels, _ = draw("two groups")
    found = []
    for few in ([0, 0, 0, 0], [1, 1, 0, 0]):
        made = summarize_decisions(
            spread(decided, few), labels, sensitive_features=groups, favorable=1, epsilon=0.1, tell_few=True
        )
        (women, _) = made.impact.selection[0].categories
        found.append((women.name, women.rows, women.chosen, made.verdict.holds))
    assert found == [("f", 4, 0, None), ("f", 4, 2, None)]


@pytest.fixture(scope="module")
def forest():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 3))
    y = (X[:, 0] + 0.8 * X[:, 1] + 0.3 * random.normal(size=600) > 0).astype(int)
    groups = np.where(X[:, 1] + random.normal(size=600) > 0, "x", "w")
    return RandomForestClassifier(10, min_samples_leaf=5, random_state=0).fit(X, y), X, y, groups


def people(seed, kind, few, deserved):
    """Rows whose first four people are those of the small group, decided as their first feature says."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(N, 3))
    y = (X[:, 0] + 0.8 * X[:, 1] + 0.3 * random.normal(size=N) > 0).astype(int)
    races = np.where(X[:, 1] + random.normal(size=N) > 0, "x", "w")
    X[:FEW], y[:FEW] = np.where(np.array(few) == 1, 2.0, -2.0)[:, None], deserved
    if kind == "two groups":
        races[FEW:] = "x"
        races[:FEW] = "w"
    else:
        races[:FEW] = "z"
    return X, y, {"race": races, "sex": random.choice(["f", "m"], N)} if kind == "two attributes" else races


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("three groups", {"epsilon": 0.2}),
        ("three groups", {"epsilon": 0.2, "confidence": 0.8}),
        ("three groups", {"epsilon": 0.01, "confidence": 0.99}),
        ("three groups", {"ratio": 0.7}),
        ("two attributes", {"epsilon": 0.3}),
        ("two groups", {"epsilon": 1.0}),  # of which the step says nothing
        ("two groups", {"epsilon": 1.0, "confidence": 0.8}),
    ],
    ids=str,
)
def test_nor_does_it_in_the_report_of_an_edited_model(forest, kind, asked):
    model, X, y, groups = forest
    if kind != "two groups":
        groups = np.where(np.arange(600) < FEW, "z", groups)
    if kind == "two attributes":
        groups = {"race": groups, "sex": np.random.default_rng(1).choice(["f", "m"], 600)}
    shown, steps = [], []
    for few, deserved in ([0, 0, 0, 0], [1, 0, 1, 0]), ([1, 1, 1, 1], [1, 1, 0, 0]), ([1, 1, 0, 0], [0, 0, 0, 0]):
        chosen, new = (people(seed, kind, few, deserved) for seed in (1, 2))
        path = trace_path(
            model, X, y, sensitive_features=groups, privileged=None if kind != "two groups" else "x", select_on=chosen,
            strategy="leaf",
        )  # fmt: skip
        selection = path.select(**asked)
        fair = path.model_at(selection.step)
        made = summarize(
            fair, new[0], new[1], sensitive_features=new[2], rows="test rows", path=path, selection=selection
        )
        steps.append(selection.step)
        shown.append((as_json(made), forms(made), json.dumps(selection.to_public_dict(), default=float)))
        assert (made.path is None) == (kind == "two groups")
        assert (selection.to_public_dict()["met"] is None) == (kind == "two groups")
    assert len(set(steps)) == 1, "else the models differ, and what is shown of them"
    assert shown[0] == shown[1] == shown[2]


def test_in_python_a_selection_is_whole(forest):
    model, X, y, groups = forest
    chosen = people(1, "two groups", [1, 1, 1, 0], [1, 1, 1, 1])
    path = trace_path(model, X, y, sensitive_features=groups, privileged="x", select_on=chosen, strategy="leaf")
    selection = path.select(epsilon=1.0)
    assert selection.n_rows == (4, N - 4)
    assert selection.selection_rates[0] == 0.75
    assert selection.hidden == (True, False)
    assert "'x' minus 'w', on 400 selection rows" in str(selection)
    assert replace(selection, public_values={}).to_public_dict()["discrimination"] == selection.discrimination
    assert selection.to_public_dict()["discrimination"] is None
