"""Reports of more than two groups, of several attributes and of other rates."""

import re

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

pandas = pytest.importorskip("pandas")
jsonschema = pytest.importorskip("jsonschema")

from eifffel import EiFFFeLClassifier  # noqa: E402
from eifffel.metrics import measure  # noqa: E402
from eifffel.report import render_html, render_markdown, schema, summarize  # noqa: E402
from eifffel.report.facts import ChangedGroup  # noqa: E402

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
    bound = {} if "ratio" in options else {"epsilon": 0.12}
    clf = EiFFFeLClassifier(FOREST, random_state=0, **{**bound, **options}).fit(X, y, sensitive_features=S)
    rows, labels, groups = NEW
    made = summarize(clf, rows, labels, sensitive_features=groups, rows="test rows", sensitive_name="sex, race")
    jsonschema.validate(made.to_dict(), schema())
    return clf, made


def rate(decided, chosen):
    return decided[chosen].mean()


@pytest.mark.parametrize("options", [{}, {"strategy": "leaf"}, {"constraint": "equalized_odds", "epsilon": 0.4}])
def test_of_several_attributes_each_value_is_a_group(options):
    clf, made = make(**options)
    rows, labels, groups = NEW
    decided = clf.predict(rows)
    assert [group.name for group in made.groups] == ["sex f", "sex m", "race w", "race x", "race y", "race z"]
    assert [group.attribute for group in made.groups] == ["sex"] * 2 + ["race"] * 4
    assert {group.role for group in made.groups} == {"compared"}
    known = (groups["race"] != "z").to_numpy()  # of z there are eight, who are in no number
    assert made.rows.n == known.sum() == 1992
    for group in made.groups:
        name, value = group.name.split()
        inside = (groups[name] == value).to_numpy() & known
        if not inside.any():
            assert group.rows is None
            continue
        assert group.rows == inside.sum()
        assert group.after.selection_rate.value == pytest.approx(rate(decided, inside))
        assert group.after.true_positive_rate.value == pytest.approx(rate(decided, inside & (labels == 1)))
    assert [group.bounded for group in made.groups] == [True] * 5 + [False]
    assert made.constraint.left_out[0].startswith("race z")
    metric = f"{made.constraint.name}_difference"
    expected = max(
        measure(metric, labels[known], decided[known], sensitive_features=groups[name][known].to_numpy())
        for name in groups
    )
    after = made.overall.after
    assert after.discrimination.value == pytest.approx(expected)
    assert after.rates[0] - after.rates[1] == pytest.approx(expected)
    # What gains and losses say of each attribute, they say of the same people.
    gained = [group.gained for group in made.changed.groups]
    n_gained = int(((decided == 1) & (clf.path_.model.predict(rows) == 0))[known].sum())
    assert sum(gained[:2]) == sum(gained[2:-1]) == n_gained
    said = f"By the edit {n_gained:,} of these people gain" if clf.selection_.step else "nothing was changed"
    assert said in made.verdict.sentence
    # Ratios are to the highest of the same attribute.
    for name in ("sex", "race"):
        own = [g.after for g in made.groups if g.attribute == name and g.bounded]
        highest = max(rates.selection_rate.value for rates in own)
        assert [g.ratio_to_highest.value for g in own] == [pytest.approx(g.selection_rate.value / highest) for g in own]
    text = made.verdict.sentence
    assert "Nothing is shown or judged of race z: fewer than ten people, who are in no number here." in text
    assert "Not bounded, for want of 30 rows: race z" in text
    assert f"differs most between {after.between[0]} ({after.rates[0]:.1%}) and {after.between[1]}" in text


def test_combinations_and_their_tables():
    clf, made = make(combine="intersection", strategy="leaf")
    assert [group.name for group in made.groups][:3] == ["f, w", "f, x", "f, y"]
    assert clf.selection_.left_out == ("f, z", "m, z")
    for leaf in made.leaves.shown:
        assert leaf.rows == leaf.effect == (), "with their sum, counts that are held back could be reckoned"
        assert leaf.all_rows >= 10
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
    roles = {group.name: group.role for group in made.groups}
    assert [name for name, role in roles.items() if role == "privileged"] == ["m, w"]
    assert "m, w" in made.overall.after.between
    assert "m, w with every other group" in render_markdown(made)


def test_a_bound_on_a_ratio():
    clf, made = make(ratio=0.8)
    rows, _, groups = NEW
    decided = clf.predict(rows)
    ratios = []
    for name in groups:
        rates = {value: rate(decided, (groups[name] == value).to_numpy()) for value in set(groups[name]) - {"z"}}
        ratios.append(min(rates.values()) / max(rates.values()))
    measured = made.overall.after.ratio
    assert measured.value == pytest.approx(min(ratios))
    assert measured.low < measured.value < measured.high
    verdict = made.verdict
    assert (verdict.epsilon, verdict.ratio) == (None, 0.8)
    assert verdict.holds == (min(ratios) >= 0.8)
    assert f"the smallest ratio of two rates is {min(ratios):.3f}" in verdict.sentence
    assert made.path.kind == "ratio"
    assert made.path.bounds[made.path.chosen_bound].bound == 0.8
    assert made.path.points[made.path.bounds[made.path.chosen_bound].point].step == clf.selection_.step
    assert "ratio 0.8" in render_markdown(made)


def test_people_without_a_group_are_left_out_and_said():
    rows, labels, groups = NEW
    holes = groups.copy()
    holes.loc[:99, "race"] = None
    clf = EiFFFeLClassifier(FOREST, epsilon=0.12, missing="drop", random_state=0).fit(X, y, sensitive_features=S)
    made = summarize(clf, rows, labels, sensitive_features=holes, rows="test rows")
    jsonschema.validate(made.to_dict(), schema())
    n_few = (holes["race"] == "z").sum()
    assert 0 < n_few < 10
    assert (made.rows.n, made.rows.without_group) == (1900 - n_few, 100)
    assert "100 rows without a group are left out." in made.verdict.sentence
    assert sum(group.rows for group in made.groups[:2]) == 1900 - n_few


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
    jsonschema.validate(made.to_dict(), schema())
    assert made.constraint.name == "equal_opportunity"
    assert made.verdict.epsilon == 0.1
    assert "the true positive rate differs most between" in made.verdict.sentence
    assert "(equal opportunity)" in made.limits[1]


def numbers_of(shown):
    return [
        getattr(shown, key).value for key in ("selection_rate", "ratio_to_highest", "true_positive_rate", "precision")
    ]


def test_groups_of_fewer_than_ten_people_are_named_and_not_described():
    clf, made = make()
    z = [group.name for group in made.groups].index("race z")
    assert (NEW[2]["race"] == "z").sum() == 8
    group = made.groups[z]
    assert (group.rows, group.few, group.share, group.bounded) == (None, True, None, False)
    assert group.base_rate.value is None
    for shown in (group.before, group.after, *(point.groups[z] for point in made.path.points)):
        assert set(numbers_of(shown)) == {None}
    assert made.changed.groups[z] == ChangedGroup(None, None, None)
    others = [counts for g, counts in enumerate(made.changed.groups) if g not in (0, 1, z)]
    gained = sum(counts.gained for counts in made.changed.groups[:2])
    assert sum(counts.gained for counts in others) == gained, "they are in no sum either"
    # Nor are they where the step was chosen.
    chosen = made.selection
    assert [n is None for n in chosen.n_rows] == [rate is None for rate in chosen.selection_rates]
    assert [n is None for n in chosen.n_rows] == [n < 10 for n in clf.selection_.n_rows]
    text, page = render_markdown(made), render_html(made)
    assert re.search(r"\| race z \(small group\) \(not bounded\) \| <10 \| n/a \| after \|( n/a \|){5}", text)
    assert re.search(r"race z.*?&lt;10", page, re.DOTALL)
    assert "race z" in made.verdict.sentence


def test_without_a_group_that_is_bounded_and_hidden_there_is_no_tradeoff():
    """Without it other bounds would seem to be met than are."""
    clf, made = make(min_group_rows=2)
    assert "race z" not in clf.selection_.left_out
    assert made.path is None
    assert "race z" in render_markdown(made)
    assert "Drag the bound" not in render_html(made)
    assert "Drag the bound" in render_html(make()[1])


def test_a_rate_of_fewer_than_ten_people_is_not_shown():
    rows, labels, groups = NEW
    part = np.r_[np.flatnonzero(groups["race"] != "y"), np.flatnonzero((groups["race"] == "y") & (labels == 0))[:60]]
    part = np.r_[part, np.flatnonzero((groups["race"] == "y") & (labels == 1))[:9]]
    forest = FOREST.fit(X, y)
    made = summarize(forest, rows.iloc[part], labels[part], sensitive_features=groups["race"].iloc[part])
    jsonschema.validate(made.to_dict(), schema())
    of_y = next(group for group in made.groups if group.name == "y")
    assert of_y.rows == 69
    # From one of these and the selection rate the others could be reckoned.
    for key in ("true_positive_rate", "false_positive_rate", "precision"):
        assert getattr(of_y.after, key).value is None
    assert of_y.base_rate.value is None
    assert of_y.after.selection_rate.value is not None
    few = np.r_[np.flatnonzero(groups["sex"] == "m"), np.flatnonzero(groups["sex"] == "f")[:9]]
    made = summarize(forest, rows.iloc[few], labels[few], sensitive_features=groups["sex"].iloc[few])
    assert "a share not shown, for they are fewer than ten, of those whose sex is f" in made.verdict.sentence
    assert made.overall.after.rates == ()
    assert made.overall.after.discrimination.value is None, "it would tell the share"


def test_what_a_ratio_costs_is_told_by_ratios():
    clf, made = make(ratio=0.8, strategy="leaf", combine="intersection")
    path = made.path
    assert path.kind == "ratio"
    strict = path.bounds[-1]
    assert strict.bound == 1.0
    for bound in path.bounds[:: len(path.bounds) // 5]:
        choice = clf.path_.select(ratio=bound.bound)
        point = path.points[bound.point]
        assert (point.step, bound.met) == (choice.step, choice.met)
        assert point.selection.ratio == pytest.approx(choice.rate_ratio)
    text = render_markdown(made)
    assert "| ratio | changed leaves | ratio there | discrimination | accuracy |" in text
    assert re.search(r"^\| 0.8 \| ", text, re.MULTILINE)
    page = render_html(made)
    assert "Drag the bound: </span>ratio = " in page
    assert "The ratio is the least that you allow the smallest of the groups" in page
    assert "green band" not in page


def test_the_largest_difference_of_each_attribute_is_shown():
    clf, made = make()
    rows, labels, groups = NEW
    decided = clf.predict(rows)
    found = {part.name: part.value for part in made.overall.after.by_attribute}
    for name in groups:
        known = (groups["race"] != "z").to_numpy()
        values = sorted(set(groups[name]) - {"z"})
        rates = [rate(decided, (groups[name] == value).to_numpy() & known) for value in values]
        assert found[name] == pytest.approx(max(rates) - min(rates))
    assert f"By attribute, the largest are sex {found['sex']:.3f}, race {found['race']:.3f}." in (made.verdict.sentence)
    said = str(clf.path_.measure(rows, labels, groups).verdict(clf.selection_))
    sex = [rate(decided, (groups["sex"] == value).to_numpy()) for value in ("f", "m")]  # in Python, of everybody
    assert f"By attribute, the largest are sex {abs(sex[0] - sex[1]):.4f}, race {found['race']:.4f}." in said


def test_people_can_be_compared_otherwise_than_in_the_edit():
    clf, _ = make()
    rows, labels, groups = NEW
    model, given = clf.estimator_, {"sensitive_features": groups, "sensitive_name": "sex, race"}
    same = summarize(model, rows, labels, **given)
    assert same.verdict.epsilon == 0.12
    for options in ({"combine": "intersection"}, {"privileged": {"sex": "f"}}):
        other = summarize(model, rows, labels, **given, **options)
        jsonschema.validate(other.to_dict(), schema())
        assert other.verdict.heading == "Measured", "the bound was on something else"
        assert other.constraint.combine == options.get("combine", "each")
    assert [group.role for group in other.groups[:2]] == ["privileged", "unprivileged"]
    turned = summarize(model, rows, labels, sensitive_features=groups[["race", "sex"]])
    assert turned.verdict == summarize(model, rows, labels, sensitive_features=groups).verdict
    fewer = summarize(model, rows, labels, **given, min_group_rows=5)
    assert fewer.constraint.left_out == ()
    judged = summarize(model, rows, labels, **given, ratio=0.9)
    assert (judged.verdict.ratio, judged.verdict.chosen) == (0.9, None)
    ratios = judged.overall.after.ratio.value
    assert judged.verdict.holds == (ratios >= 0.9)
    with pytest.raises(ValueError, match=r"epsilon=0.1 and ratio=0.9 are two bounds; give one of them"):
        summarize(model, rows, labels, **given, ratio=0.9, epsilon=0.1)
    with pytest.raises(ValueError, match="missing must be 'error', as in the path, got 'drop'; leave it out"):
        summarize(clf, rows, labels, **given, missing="drop")
    with pytest.raises(ValueError, match="combine must be 'each', as in the path, got 'intersection'; leave it out"):
        summarize(clf, rows, labels, **given, combine="intersection")


def test_without_labels_selection_rates_are_compared():
    clf, _ = make(constraint="equalized_odds", epsilon=0.4)
    rows, _, groups = NEW
    made = summarize(clf, rows, None, sensitive_features=groups)
    jsonschema.validate(made.to_dict(), schema())
    assert made.constraint.name == "demographic_parity"
    assert made.path is None
    assert made.verdict.heading == "Measured"


def test_a_report_of_another_rate_has_no_trade_off_and_every_group_its_own_numbers():
    clf = EiFFFeLClassifier(FOREST, constraint="equalized_odds", epsilon=0.3, random_state=0)
    clf.fit(X, y, sensitive_features=S["sex"])
    rows, labels, groups = NEW
    made = summarize(clf, rows, labels, sensitive_features=groups["sex"], constraint="demographic_parity")
    jsonschema.validate(made.to_dict(), schema())
    assert made.path is None
    decided = clf.predict(rows)
    for group in made.groups:
        inside = (groups["sex"] == group.name).to_numpy()
        assert group.after.selection_rate.value == pytest.approx(rate(decided, inside))
    assert "Which leaves changed" in render_html(made)


def test_fewer_than_ten_rows_are_measured_and_drawn():
    clf, _ = make(min_group_rows=0, strategy="leaf")
    rows, labels, groups = NEW
    few = np.r_[np.flatnonzero(groups["sex"] == "m")[:4], np.flatnonzero(groups["sex"] == "f")[:4]]
    made = summarize(clf, rows.iloc[few], labels[few], sensitive_features=groups.iloc[few])
    jsonschema.validate(made.to_dict(), schema())
    assert made.overall.after.accuracy.value is None
    assert "n/a" in render_html(made)


def test_few_people_without_a_group_are_not_counted_out():
    rows, labels, groups = NEW
    holes = groups.copy()
    holes.loc[:2, "race"] = None
    made = summarize(FOREST.fit(X, y), rows, labels, sensitive_features=holes, missing="drop")
    jsonschema.validate(made.to_dict(), schema())
    assert made.rows.without_group is None
    assert "Fewer than ten rows without a group are left out." in made.verdict.sentence
