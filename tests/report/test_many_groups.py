"""Reports of more than two groups, of several attributes and of other rates."""

import json
import re

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

pandas = pytest.importorskip("pandas")
jsonschema = pytest.importorskip("jsonschema")

from eifffel import EiFFFeLClassifier  # noqa: E402
from eifffel.metrics import measure  # noqa: E402
from eifffel.report import render_html, render_markdown, schema, summarize  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::eifffel.exceptions.ConstraintNotMetWarning")


def people(n, seed):
    random = np.random.RandomState(seed)
    sex, race = random.randint(0, 2, n), random.choice(4, n, p=[0.5, 0.3, 0.195, 0.005])
    X = np.column_stack([random.normal(size=n), sex + random.normal(size=n), race + random.normal(size=n)])
    y = (X[:, 0] + 0.5 * sex + 0.4 * race + random.normal(size=n) > 1).astype(int)
    groups = pandas.DataFrame({"sex": np.array(["f", "m"])[sex], "race": np.array(["w", "x", "y", "z"])[race]})
    return pandas.DataFrame(X, columns=["merit", "height", "accent"]), y, groups


X, y, S = people(3000, 0)
NEW = people(2000, 1)
FOREST = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)


def make(**options):
    clf = EiFFFeLClassifier(FOREST, random_state=0, **{"epsilon": 0.12, **options}).fit(X, y, sensitive_features=S)
    rows, labels, groups = NEW
    made = summarize(clf, rows, labels, sensitive_features=groups, rows="test rows", sensitive_name="sex, race")
    jsonschema.validate(made, schema())
    return clf, json.loads(json.dumps(made))


def rate(decided, chosen):
    return decided[chosen].mean()


@pytest.mark.parametrize("options", [{}, {"strategy": "leaf"}, {"constraint": "equalized_odds", "epsilon": 0.4}])
def test_of_several_attributes_each_value_is_a_group(options):
    clf, made = make(**options)
    rows, labels, groups = NEW
    decided = clf.predict(rows)
    assert [group["name"] for group in made["groups"]] == ["sex f", "sex m", "race w", "race x", "race y", "race z"]
    assert [group["attribute"] for group in made["groups"]] == ["sex"] * 2 + ["race"] * 4
    assert {group["role"] for group in made["groups"]} == {"compared"}
    for group in made["groups"]:
        name, value = group["name"].split()
        inside = (groups[name] == value).to_numpy()
        assert group["rows"] == inside.sum()
        assert group["after"]["selection_rate"]["value"] == pytest.approx(rate(decided, inside))
        assert group["after"]["true_positive_rate"]["value"] == pytest.approx(rate(decided, inside & (labels == 1)))
    assert [group["bounded"] for group in made["groups"]] == [True] * 5 + [False]
    assert made["constraint"]["left_out"][0].startswith("race z")
    metric = f"{made['constraint']['name']}_difference"
    known = (groups["race"] != "z").to_numpy()
    expected = max(
        measure(metric, labels, decided, sensitive_features=groups["sex"]),
        measure(metric, labels[known], decided[known], sensitive_features=groups["race"][known].to_numpy()),
    )
    after = made["overall"]["after"]
    assert after["discrimination"]["value"] == pytest.approx(expected)
    assert after["rates"][0] - after["rates"][1] == pytest.approx(expected)
    # What gains and losses say of each attribute, they say of the same people.
    gained = [group["gained"] for group in made["changed"]["groups"]]
    assert sum(gained[:2]) == sum(gained[2:])
    n_gained = int(((decided == 1) & (clf.path_.model.predict(rows) == 0)).sum())
    assert f"By the edit {n_gained:,} of these people gain" in made["verdict"]["sentence"]
    # Ratios are to the highest of the same attribute.
    for name in ("sex", "race"):
        own = [g["after"] for g in made["groups"] if g["attribute"] == name and g["bounded"]]
        highest = max(rates["selection_rate"]["value"] for rates in own)
        assert [g["ratio_to_highest"]["value"] for g in own] == [
            pytest.approx(g["selection_rate"]["value"] / highest) for g in own
        ]
    text = made["verdict"]["sentence"]
    assert "Not bounded, for want of 30 rows: race z" in text
    assert f"differs most between {after['between'][0]} ({after['rates'][0]:.1%}) and {after['between'][1]}" in text


def test_combinations_and_their_tables():
    clf, made = make(combine="intersection", strategy="leaf")
    assert [group["name"] for group in made["groups"]][:3] == ["f, w", "f, x", "f, y"]
    assert clf.selection_.left_out == ("f, z", "m, z")
    for leaf in made["leaves"]["shown"]:
        assert leaf["rows"] == leaf["effect"] == [], "with their sum, counts that are held back could be reckoned"
        assert leaf["all_rows"] >= 10
    text = render_markdown(made)
    assert "f, z (small group) (not bounded)" in text
    assert "| epsilon | changed leaves | discrimination | accuracy |" in text
    assert "Compared: selection rate (demographic parity), every two groups; groups of fewer than 30 rows" in text
    if pytest.importorskip("altair"):
        page = render_html(made)
        assert page.count("not bounded</abbr>") == 2
        assert re.search(r"data-cell=\"selection_rate_7\"", page)


def test_a_group_that_others_are_compared_with():
    _, made = make(combine="intersection", privileged={"sex": "m", "race": "w"})
    roles = {group["name"]: group["role"] for group in made["groups"]}
    assert [name for name, role in roles.items() if role == "privileged"] == ["m, w"]
    assert "m, w" in made["overall"]["after"]["between"]
    assert "m, w with every other group" in render_markdown(made)


def test_a_bound_on_a_ratio():
    clf, made = make(ratio=0.8)
    rows, _, groups = NEW
    decided = clf.predict(rows)
    ratios = []
    for name in groups:
        rates = {value: rate(decided, (groups[name] == value).to_numpy()) for value in set(groups[name]) - {"z"}}
        ratios.append(min(rates.values()) / max(rates.values()))
    measured = made["overall"]["after"]["ratio"]
    assert measured["value"] == pytest.approx(min(ratios))
    assert measured["low"] < measured["value"] < measured["high"]
    verdict = made["verdict"]
    assert (verdict["epsilon"], verdict["ratio"]) == (None, 0.8)
    assert verdict["holds"] == (min(ratios) >= 0.8)
    assert f"the smallest ratio of two rates is {min(ratios):.3f}" in verdict["sentence"]
    assert made["path"]["ratio"] == 0.8
    assert (
        made["path"]["points"][made["path"]["epsilons"][made["path"]["chosen_epsilon"]]["point"]]["step"]
        == clf.selection_.step
    )
    assert "ratio 0.8" in render_markdown(made)


def test_people_without_a_group_are_left_out_and_said():
    rows, labels, groups = NEW
    holes = groups.copy()
    holes.loc[:99, "race"] = None
    clf = EiFFFeLClassifier(FOREST, epsilon=0.12, missing="drop", random_state=0).fit(X, y, sensitive_features=S)
    made = summarize(clf, rows, labels, sensitive_features=holes, rows="test rows")
    jsonschema.validate(made, schema())
    assert (made["rows"]["n"], made["rows"]["without_group"]) == (1900, 100)
    assert "100 rows without a group are left out." in made["verdict"]["sentence"]
    assert sum(group["rows"] for group in made["groups"][:2]) == 1900


def test_a_model_that_was_not_edited_is_measured_by_any_rate():
    forest = FOREST.fit(X, y)
    rows, labels, groups = NEW
    made = summarize(
        forest,
        rows,
        labels,
        sensitive_features=groups,
        combine="intersection",
        constraint="equal_opportunity",
        epsilon=0.1,
    )
    jsonschema.validate(made, schema())
    assert made["constraint"]["name"] == "equal_opportunity"
    assert made["verdict"]["epsilon"] == 0.1
    assert "the true positive rate differs most between" in made["verdict"]["sentence"]
    assert "(equal opportunity)" in made["limits"][1]
