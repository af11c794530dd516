"""Several groups, attributes and metrics as a user meets them."""

import re
import warnings
from itertools import permutations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from eifffel import (
    ConstraintNotMetWarning,
    DiscriminationAwareForestClassifier,
    EiFFFeLClassifier,
    FewRowsWarning,
    PrivilegedGroupWarning,
    UnsupportedModelError,
    load,
    save,
    trace_path,
    undo,
)
from eifffel.intervals import difference_interval
from eifffel.metrics import METRICS, measure
from eifffel.report import summarize
from eifffel.rows.parts import draw_searched

N = 3000


def people(n=N, seed=0):
    random = np.random.RandomState(seed)
    sex, race = random.randint(0, 2, n), random.choice(4, n, p=[0.5, 0.3, 0.195, 0.005])
    X = np.column_stack([random.normal(size=n), sex + random.normal(size=n), race + random.normal(size=n)])
    y = (X[:, 0] + 0.5 * sex + 0.4 * race + random.normal(size=n) > 1).astype(int)
    return X, y, {"sex": np.array(["f", "m"])[sex], "race": np.array(["w", "x", "y", "z"])[race]}


X, y, S = people()
FOREST = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)


def fit(groups=S, labels=y, rows=X, model=FOREST, **options):
    bound = {} if "ratio" in options else {"epsilon": 0.1}
    clf = EiFFFeLClassifier(model, random_state=0, **{**bound, **options})
    return clf.fit(rows, labels, sensitive_features=groups)


def by_hand(decided, columns):
    return {value: decided[columns == value].mean() for value in np.unique(columns)}


def test_each_attribute_is_bounded_by_itself():
    clf = fit()
    chosen, rows = clf.selection_, clf.selection_rows_
    assert chosen.met
    assert clf.path_.strategy == "shift"
    decided = clf.predict(X[rows])
    spread = {}
    for name, column in S.items():
        rates = by_hand(decided, column[rows])
        rates.pop("z", None)  # 15 people or so
        spread[name] = max(rates.values()) - min(rates.values())
    assert chosen.discrimination == pytest.approx(max(spread.values()), abs=1e-12)
    assert chosen.discrimination <= 0.1
    assert chosen.left_out == ("race z",)
    assert chosen.pair[0].split()[0] == chosen.pair[1].split()[0] == max(spread, key=spread.get)
    assert len(chosen.n_rows) == len(chosen.selection_rates) == 6
    assert chosen.n_rows == tuple((column[rows] == value).sum() for column in S.values() for value in np.unique(column))
    assert chosen.n_discrimination_rows == len(rows)
    told = chosen.to_public_dict()
    assert chosen.hidden == tuple(n < 10 for n in chosen.n_rows)
    assert [n is None for n in told["n_rows"]] == list(chosen.hidden)
    assert [rate is None for rate in told["selection_rates"]] == list(chosen.hidden)


def test_the_intersection_bounds_every_combination():
    clf = fit(combine="intersection", epsilon=0.12)
    rows = clf.selection_rows_
    both = np.array([f"{a}, {b}" for a, b in zip(S["sex"][rows], S["race"][rows], strict=True)])
    rates = by_hand(clf.predict(X[rows]), both)
    kept = {name: rate for name, rate in rates.items() if (both == name).sum() >= 30}
    assert clf.selection_.discrimination == pytest.approx(max(kept.values()) - min(kept.values()), abs=1e-12)
    assert clf.selection_.pair == (max(kept, key=kept.get), min(kept, key=kept.get))
    assert set(clf.selection_.left_out) == {"f, z", "m, z"}
    assert clf.path_.groups[0] == ("f", "w")


@pytest.mark.parametrize("strategy", ["leaf", "shift"])
def test_a_privileged_group_is_what_others_are_compared_with(strategy):
    clf = fit(S["race"], privileged="w", strategy=strategy)
    path, rows = clf.path_, clf.selection_rows_
    assert not path.constraint.directed, "of more than two groups, a difference counts in either direction"
    assert {("w", "x"), ("x", "w"), ("w", "y"), ("y", "w")} == {
        (path.constraint.names[a], path.constraint.names[b]) for a, b in path.constraint.pairs
    }
    for step in (0, clf.selection_.step):
        rates = by_hand(path.model_at(step).predict(X[rows]), S["race"][rows])
        away = {name: abs(rates["w"] - rates[name]) for name in "xy"}
        assert path.discrimination[step] == pytest.approx(max(away.values()), abs=1e-12)
        assert set(path.counts.worst_pair(step)) == {"w", max(away, key=away.get)}
    assert clf.selection_.met


@pytest.mark.filterwarnings("ignore::eifffel.NarrowProbabilitiesWarning")
@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_path_reports_every_metric_at_every_step(name):
    clf = fit(constraint="equal_opportunity", min_group_rows=1, epsilon=0.5)
    path, rows = clf.path_, clf.selection_rows_
    for step in (0, path.n_steps // 2):
        decided = path.model_at(step).predict(X[rows])
        groups = {key: column[rows] for key, column in S.items()}
        with np.errstate(all="ignore"):
            expected = measure(name, y[rows], decided, sensitive_features=groups)
        np.testing.assert_allclose(path.metric(name)[step], expected, atol=1e-12)


def test_the_four_fifths_rule():
    clf = fit(S["race"], ratio=0.8)
    chosen, rows = clf.selection_, clf.selection_rows_
    rates = by_hand(clf.predict(X[rows]), S["race"][rows])
    rates.pop("z", None)
    assert chosen.met
    assert chosen.epsilon is None
    assert chosen.rate_ratio == pytest.approx(min(rates.values()) / max(rates.values()))
    assert chosen.rate_ratio >= 0.8
    assert (clf.path_.counts.ratio[: chosen.step] < 0.8).all(), "the first step that keeps it"
    assert clf.at(epsilon=0.2).selection_.epsilon == 0.2
    assert clf.at(epsilon=None, alpha=0.5).selection_.ratio == 0.8
    with pytest.raises(TypeError, match=r"epsilon must be a number .* or give ratio"):
        clf.path_.select()
    with pytest.raises(ValueError, match=r"epsilon=0.1 and ratio=0.8 are two bounds; give one of them"):
        clf.path_.select(epsilon=0.1, ratio=0.8)
    with pytest.raises(ValueError, match="ratio must be above 0, got 0"):
        clf.path_.select(ratio=0)
    with pytest.raises(ValueError, match=r"ratio must be in \[0, 1\], got 80; write 0.8 for 80 percent"):
        clf.path_.select(ratio=80)
    with pytest.raises(ValueError, match="rule='paper' stops at a difference"):
        clf.path_.select(ratio=0.8, rule="paper")
    verdict = clf.path_.verdict(chosen)
    assert verdict.holds
    assert f"the ratio of the rates is {chosen.rate_ratio:.4f}, within the bound of 0.8" in str(verdict)


def test_the_four_fifths_rule_with_confidence():
    clf = fit(S["sex"], ratio=0.7, confidence=0.9)
    assert clf.selection_.met
    assert clf.selection_.rate_ratio > 0.7
    step, counts = clf.selection_.step, clf.path_.counts
    # In both directions, each at half of the error.
    assert counts.ratio_limits(0.7, 0.95)[step] <= 0
    assert counts.ratio_limits(0.7, 0.95, exchanged=True)[step] <= 0
    assert step == 0
    with pytest.warns(ConstraintNotMetWarning, match=r"ratio=0.95 with confidence=0.9 is not met: not even step"):
        assert not clf.path_.select(ratio=0.95, confidence=0.9).met
    with pytest.warns(FewRowsWarning):
        near = clf.path_.select(ratio=0.95, confidence=0.9, sides="upper")
    assert near.step > 0
    assert counts.ratio_limits(0.95, 0.9)[near.step] <= 0 < counts.ratio_limits(0.95, 0.9)[near.step - 1]
    several = fit(S["race"], strategy="leaf").path_
    with pytest.warns(
        ConstraintNotMetWarning, match=r"ratio=0.99 with confidence=0.9 is not met: not even step \d+, the nearest,"
    ):
        assert not several.select(ratio=0.99, confidence=0.9).met


def test_a_group_of_few_rows_that_is_in_the_way_is_named():
    race = np.where(np.arange(N) % 50 == 0, "v", S["race"])  # of all four, by no rule
    half = N // 2
    model = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(X[:half], y[:half])
    path = trace_path(
        model,
        X[:half],
        y[:half],
        sensitive_features=race[:half],
        select_on=(X[half:], y[half:], race[half:]),
        strategy="leaf",
        min_group_rows=10,
    )
    with pytest.warns(ConstraintNotMetWarning) as caught:
        chosen = path.select(epsilon=0.0001)
    said = str(caught[0].message)
    name = re.search(r"([vwxyz]) has (\d+) of these rows, so few that its rate differs by 0\.\d+ by chance alone", said)
    assert name, said
    assert name[1] in chosen.pair
    assert int(name[2]) == (race[half:] == name[1]).sum() < 100
    assert said.endswith("; a larger min_group_rows leaves it out of the bound")
    with pytest.warns(ConstraintNotMetWarning) as caught:
        fit(S["sex"]).path_.select(epsilon=0.0)
    assert "min_group_rows" not in str(caught[0].message), "two groups are all there are"


@pytest.mark.parametrize("missing", ["own-group", "drop"])
def test_people_whose_group_is_not_known(missing):
    race = S["race"].astype(object)
    race[::10] = None
    with pytest.raises(
        ValueError, match=r"sensitive_features of the rows given \(race\) has 300 missing values; drop those rows"
    ):
        fit({"race": race})
    clf = fit({"race": race}, missing=missing)
    assert clf.estimator_.n_outputs_ == 1
    known = np.array([value is not None for value in race[clf.selection_rows_]])
    if missing == "drop":
        assert sum(clf.selection_.n_rows) == known.sum()
        assert clf.path_.groups == ("w", "x", "y", "z")
    else:
        assert clf.path_.groups[-1] == "(missing)"
        assert clf.selection_.n_rows[-1] == (~known).sum()
        assert sum(clf.selection_.n_rows) == len(known)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_give_what_dicts_give(library):
    frames = pytest.importorskip(library)
    expected = fit(combine="intersection")
    clf = fit(frames.DataFrame(S), combine="intersection")
    np.testing.assert_array_equal(clf.predict(X), expected.predict(X))
    later = clf.path_.measure(X, y, frames.DataFrame(S))
    np.testing.assert_array_equal(later.discrimination, expected.path_.measure(X, y, S).discrimination)


def test_labels_of_several_kinds_become_favourable_or_not():
    kinds = np.where(y == 0, "refused", np.where(X[:, 2] > 1, "approved", "approved with conditions"))
    with pytest.raises(
        ValueError, match=r"name the labels that are good for a person as a set, as in favorable=\{'refused'\}"
    ):
        fit(labels=kinds)
    good = {"approved", "approved with conditions"}
    clf = fit(labels=kinds, favorable=good)
    assert clf.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(clf.predict(X), fit(favorable=1).predict(X))
    later = clf.path_.measure(X, kinds, S)
    assert later.accuracy[0] == (clf.path_.model.predict(X) == y).mean()
    with pytest.raises(
        ValueError, match="favorable names 'aproved', not among the labels of y, 'approved', 'approved w"
    ):
        fit(labels=kinds, favorable={"aproved", "approved"})
    with pytest.raises(ValueError, match="favorable is empty; name the label"):
        fit(labels=kinds, favorable=set())
    assert fit(favorable={1}).selection_ == fit(favorable=1).selection_
    # One good label stands against all others.
    one = fit(labels=kinds, favorable={"approved"})
    assert one.path_.label_sets == (("approved",), ("approved with conditions", "refused"))
    np.testing.assert_array_equal(one.predict(X), fit(labels=(kinds == "approved") * 1).predict(X))
    # A model that was trained elsewhere, on 0 and 1.
    path = trace_path(
        clf.path_.model, X, kinds, sensitive_features=S, favorable=good, select_on=(X, kinds, S), strategy="leaf"
    )
    assert (path.favorable, path.label_sets) == (1, (tuple(sorted(good)), ("refused",)))
    with pytest.raises(
        UnsupportedModelError, match=r"Train one on two labels, .* or give it to EiFFFeLClassifier unfitted, not frozen"
    ):
        trace_path(FOREST.fit(X, kinds), X, kinds, sensitive_features=S)
    with pytest.raises(
        ValueError, match=r"not among the labels 0, 1, those of the model; name those that are good .* as a set"
    ):
        trace_path(clf.path_.model, X, kinds, sensitive_features=S)
    # Labels that nobody named are neither.
    with pytest.raises(
        ValueError, match=r"y of the measured rows has 0, 1, not among the labels 'approved', 'approved"
    ):
        path.measure(X, y, S)
    with pytest.raises(ValueError, match="y of the measured rows has 'Approved', not among the labels"):
        path.measure(X, np.where(kinds == "approved", "Approved", kinds), S)
    assert path.measure(X, kinds, S).accuracy[0] == path.accuracy[0]


def test_an_edited_model_is_stored_with_what_it_was_bounded_for(tmp_path):
    clf = fit(combine="intersection", constraint="equalized_odds", epsilon=0.5, privileged={"sex": "m", "race": "w"})
    pytest.importorskip("skops")
    save(clf, tmp_path / "model.skops")
    stored = load(tmp_path / "model.skops")
    assert stored.path_.grouping.privileged == (4,)
    assert stored.path_.constraint.name == "equalized_odds"
    np.testing.assert_array_equal(stored.path_.discrimination, clf.path_.discrimination)
    assert stored.path_.select(epsilon=0.4).step == clf.path_.select(epsilon=0.4).step
    np.testing.assert_array_equal(
        stored.path_.measure(X, y, S).discrimination, clf.path_.measure(X, y, S).discrimination
    )


TUPLES = list(zip(*S.values(), strict=True))


def test_tuples_are_groups_as_their_combinations_are():
    asked = {"combine": "intersection"}
    one, columns = fit(TUPLES, privileged=("m", "w"), **asked), fit(privileged={"sex": "m", "race": "w"}, **asked)
    assert one.path_.grouping.values == columns.path_.grouping.values
    np.testing.assert_array_equal(one.path_.discrimination, columns.path_.discrimination)
    assert one.selection_.pair == columns.selection_.pair
    asked = {"y_true": y, "y_pred": one.predict(X), "combine": "intersection"}
    of_columns, of_tuples = (measure("equalized_odds_difference", sensitive_features=of, **asked) for of in (S, TUPLES))
    assert of_columns == of_tuples


def test_an_edit_for_tuples_is_stored_reported_and_undone(tmp_path):
    clf = fit(TUPLES, privileged=("m", "w"))
    summary = summarize(clf, X, y, sensitive_features=TUPLES)
    assert "m, x" in [group.name for group in summary.groups]
    pytest.importorskip("skops")
    save(clf.estimator_, tmp_path / "model.skops")
    save(clf, tmp_path / "classifier.skops")
    edited, stored = (load(tmp_path / name) for name in ("model.skops", "classifier.skops"))
    assert stored.path_.grouping.values == clf.path_.grouping.values
    np.testing.assert_array_equal(
        stored.path_.measure(X, y, TUPLES).discrimination, clf.path_.measure(X, y, TUPLES).discrimination
    )
    assert summarize(edited, X, y, sensitive_features=TUPLES).groups == summary.groups
    np.testing.assert_array_equal(undo(edited).predict_proba(X), clf.path_.model.predict_proba(X))


def test_a_boosted_model_is_bounded_for_several_groups_too():
    model = GradientBoostingClassifier(n_estimators=40, random_state=0)
    clf = fit(model=model, combine="intersection", epsilon=0.15)
    assert clf.selection_.met
    assert clf.path_.discrimination[0] > 0.15


@pytest.mark.parametrize(
    "groups",
    [S, np.column_stack(list(S.values())), TUPLES, {"both": TUPLES}],
    ids=["dict", "array", "tuples", "dict of tuples"],
)
def test_trees_can_be_grown_with_several_groups(groups):
    clf = fit(groups, model=DiscriminationAwareForestClassifier(5, min_samples_leaf=5, random_state=0), epsilon=0.3)
    assert clf.estimator_.estimators_[0].tree_.value.shape[1:] == (1, 2)
    codes = np.unique(np.column_stack(list(S.values())), axis=0, return_inverse=True)[1].ravel()
    alone = DiscriminationAwareForestClassifier(3, max_depth=3, random_state=0)
    np.testing.assert_array_equal(
        alone.fit(X, y, sensitive_features=groups).predict_proba(X),
        alone.fit(X, y, sensitive_features=codes).predict_proba(X),
    )


def test_a_group_among_the_selection_rows_alone_is_left_out():
    rare = S["race"].copy()
    rare[5] = "q"
    path = trace_path(
        FOREST.fit(X[100:2000], y[100:2000]),
        X[100:2000],
        y[100:2000],
        sensitive_features=rare[100:2000],
        select_on=(np.concatenate([X[:100], X[2000:]]), None, np.concatenate([rare[:100], rare[2000:]])),
    )
    assert path.groups == ("q", "w", "x", "y", "z")
    assert path.constraint.left_out == ("q", "z")


def test_columns_are_called_by_the_groups():
    pandas = pytest.importorskip("pandas")
    path = fit(S["race"]).path_
    assert path.cell_names == tuple(f"{race}_{label}" for race in "wxyz" for label in ("unfavorable", "favorable"))
    assert list(pandas.DataFrame(path.flips(1)).columns[-8:]) == list(path.cell_names)
    assert list(path.to_frame().columns[-4:]) == [f"selection_rate_{race}" for race in "wxyz"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"constraint": "parity"}, "constraint must be one of 'demographic_parity'"),
        ({"combine": "all"}, "combine must be one of 'each', 'intersection', got 'all'"),
        ({"missing": "skip"}, "missing must be one of 'error', 'own-group', 'drop', got 'skip'"),
        ({"min_group_rows": -1}, "min_group_rows must be an integer of at least 0, got -1"),
        (
            {"min_group_rows": 10_000, "groups": S["race"]},
            "fewer than two groups have 10000 rows or more among the scoring",
        ),
        ({"privileged": "m"}, "privileged must name the attribute, as in {'sex': 'f'}"),
    ],
)
def test_mistakes_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        fit(**options)


def test_measured_rows_without_labels_or_with_few_of_a_group():
    clf = fit(S["race"])
    some = np.flatnonzero(S["race"] != "y")
    later = clf.path_.measure(X[some], None, S["race"][some])
    assert later.counts.constraint.left_out == ("y", "z")
    assert clf.path_.constraint.left_out == ("z",)
    odds = fit(S["race"], constraint="equalized_odds", epsilon=0.5)
    with pytest.raises(ValueError, match="equalized_odds compares rates among people of one label; give y"):
        odds.path_.measure(X, None, S["race"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert odds.path_.metric("equalized_odds_difference")[0] == pytest.approx(odds.path_.discrimination[0])


def test_the_interval_ends_where_the_last_of_all_differences_ends():
    clf = fit(S["race"], min_group_rows=0, strategy="leaf", epsilon=0.5)
    counts = clf.path_.counts
    size, part = counts.totals.sum(axis=1), counts.favorable[0].sum(axis=1)
    limits = {
        (a, b): difference_interval(part[a], size[a], part[b], size[b], 0.95) for a, b in permutations(range(4), 2)
    }
    low, high = counts.interval(0)
    worst = (counts.worst.high[0], counts.worst.low[0])
    assert high == max(float(limit[1]) for limit in limits.values())
    assert low == max(0.0, float(limits[worst][0]))
    # A group of few people may well differ more than those that are measured to.
    wide = {pair: float(limit[1]) for pair, limit in limits.items()}
    assert 3 in max(wide, key=wide.get)


def test_few_rows_to_be_certain_by_are_said_of_more_than_two_groups():
    few = np.where(S["race"] == "z", "z", "w")
    groups = {"sex": S["sex"], "few": few}
    clf = fit(groups, epsilon=1.0, strategy="leaf")
    smallest = ((few[clf.selection_rows_] == "z") & ~draw_searched(0, len(clf.selection_rows_))).sum()
    expected = f"there are {smallest} selection rows kept apart of group 'few z': below 30"
    with pytest.warns(FewRowsWarning, match=expected):
        clf.path_.select(epsilon=1.0, confidence=0.9)


def test_one_bound_at_a_time():
    clf = fit(S["race"], ratio=0.7, strategy="leaf")
    assert clf.at(epsilon=0.2).selection_.ratio is None
    assert clf.at(epsilon=0.2).at(ratio=0.6).selection_.epsilon is None
    assert clf.at(epsilon=0.2).at(ratio=None).selection_.epsilon == 0.2
    assert fit(S["race"], epsilon=None, strategy="leaf").selection_.epsilon == 0.05
    with pytest.raises(ValueError, match=r"epsilon=0.1 and ratio=0.8 are two bounds; give one of them"):
        fit(S["race"], epsilon=0.1, ratio=0.8)


def test_a_group_named_as_privileged_is_not_doubted_where_it_has_the_higher_rate_of_one_kind():
    # The model favours men who would repay and women who would not.
    random = np.random.RandomState(0)
    sex, labels = random.randint(0, 2, 4000), random.randint(0, 2, 4000)
    decided = np.where(labels == 1, random.rand(4000) < 0.5 + 0.3 * sex, random.rand(4000) < 0.5 - 0.3 * sex)
    model = RandomForestClassifier(5, random_state=0).fit(np.column_stack([decided, labels, sex]), decided.astype(int))
    rows = np.column_stack([decided, labels, sex])
    for privileged in (0, 1):
        trace_path(model, rows, labels, sensitive_features=sex, constraint="equalized_odds", privileged=privileged)
    with pytest.warns(PrivilegedGroupWarning):
        trace_path(model, rows, labels, sensitive_features=sex, constraint="equal_opportunity", privileged=0)


def test_columns_of_several_attributes_are_those_who_are_compared():
    pytest.importorskip("pandas")
    clf = fit(strategy="leaf")
    names = ["sex f", "sex m", "race w", "race x", "race y", "race z"]
    assert list(clf.path_.compared) == names
    frame = clf.path_.to_frame()
    assert list(frame.columns[-6:]) == [f"selection_rate_{name}" for name in names]
    decided = clf.path_.model.predict(X[clf.selection_rows_])
    assert frame["selection_rate_sex f"][0] == pytest.approx(decided[S["sex"][clf.selection_rows_] == "f"].mean())


def test_a_ratio_of_two_groups_with_confidence_in_one_direction_says_so():
    clf = fit(S["sex"], strategy="leaf")
    path = clf.path_
    assert path.counts.constraint.directed
    with pytest.warns(FewRowsWarning, match=r"ratio=0.97 is certified, but only by going past zero, and beyond it on"):
        chosen = path.select(ratio=0.97, confidence=0.95, sides="upper")
    assert chosen.met
    assert chosen.overshoots
    assert chosen.rate_ratio < 0.97
    assert chosen.selection_rates[0] > chosen.selection_rates[1], "the unprivileged group first"
    verdict = path.verdict(chosen)
    assert verdict.heading == "Past zero: the other group is favoured now"
    assert "in the direction in which it was asked for" in verdict.sentence
    with pytest.warns(ConstraintNotMetWarning, match=r"ratio=0.97 with confidence=0.95 is not met"):
        both = path.select(ratio=0.97, confidence=0.95)
    assert not both.met
    assert not both.overshoots
    lenient = path.select(ratio=0.5, confidence=0.95)
    assert lenient.met
    assert not lenient.overshoots
    assert path.verdict(lenient).heading.startswith("Within the bound")


def test_a_group_of_few_that_is_not_bounded_does_not_hide_why_a_bound_is_not_met():
    """Race z has some people; the numbers that are shown are of the others."""
    own, other = slice(0, 1000), slice(1000, None)
    take = [{name: values[part] for name, values in S.items()} for part in (own, other)]
    model = RandomForestClassifier(10, min_samples_leaf=5, random_state=0).fit(X[own], y[own])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = trace_path(model, X[own], y[own], sensitive_features=take[0], select_on=(X[other], y[other], take[1]))
        choice = path.select(epsilon=0.05, confidence=0.9)
    in_z = take[1]["race"] == "z"
    assert 0 < in_z.sum() < 10
    assert not choice.met
    assert "race z" in choice.left_out
    shown = choice.to_public_dict()["shortfall"]
    assert choice.public_shortfall.n_rows == shown["n_rows"]
    assert shown["kind"] == choice.shortfall.kind == "rows"
    assert (shown["few_rows"], shown["min_group_rows"]) == ({}, 0)
    for name, n_rows in shown["n_rows"].items():
        attribute, _, value = name.partition(" ")
        assert n_rows == ((take[1][attribute] == value) & ~in_z).sum()
    assert choice.shortfall.n_rows["sex f"] > shown["n_rows"]["sex f"]
