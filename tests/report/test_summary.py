"""A summary says what is so, on the rows that it names, and nothing of persons."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.tree import DecisionTreeClassifier

pandas = pytest.importorskip("pandas")
jsonschema = pytest.importorskip("jsonschema")

from made_up_report import classifier, people, summary  # noqa: E402

from draws import two_groups  # noqa: E402
from eifffel import trace_path, undo  # noqa: E402
from eifffel.edits.record import attach_record  # noqa: E402
from eifffel.intervals import ratio_interval  # noqa: E402
from eifffel.report import read_summary, render_json, schema, summarize, summarize_decisions  # noqa: E402
from eifffel.report._changes import as_numbers, summarize_changes  # noqa: E402
from eifffel.report._summary import judge_facts  # noqa: E402
from eifffel.report.facts import Changed, ChangedGroup, Estimate  # noqa: E402
from eifffel.report.words import fraction, percent  # noqa: E402
from eifffel.rows.coding import Rows  # noqa: E402

X, y, s = people(2000, 1)
pytestmark = pytest.mark.filterwarnings("ignore::eifffel.exceptions.ConstraintNotMetWarning")
COSTS = ((0, 1), (5, 0))
OPTIONS = [
    {},
    {"model": "boosted"},
    {"strategy": "shift", "confidence": 0.8},
    {"strategy": "tree", "alpha": 0.02},
    {"direction": "up", "objective": COSTS, "alpha": 2.0},
]


@pytest.fixture(params=OPTIONS, ids=str)
def options(request):
    return request.param


@pytest.fixture
def made(options):
    return summary(**options)


def test_it_is_as_the_schema_says(made):
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(json.loads(render_json(made)), schema())


def test_it_is_read_back_as_it_was(made):
    plain = json.loads(render_json(made))
    assert plain == made.to_dict()
    assert read_summary(plain) == made


def test_rates_are_those_of_the_decisions(options, made):
    clf = classifier(**options)
    for when, model in (("before", clf.path_.model), ("after", clf)):
        decided = model.predict(X)
        assert getattr(made.overall, when).accuracy.value == pytest.approx(accuracy_score(y, decided))
        rates = []
        for group, name in zip(made.groups, ("women", "men"), strict=True):
            assert group.name == name
            (tn, fp), (fn, tp) = confusion_matrix(y[s == name], decided[s == name], labels=["no", "yes"])
            assert group.rows == (s == name).sum() == tn + fp + fn + tp
            assert group.base_rate.value == pytest.approx((tp + fn) / group.rows)
            assert getattr(group, when).selection_rate.value == pytest.approx((tp + fp) / group.rows)
            assert getattr(group, when).true_positive_rate.value == pytest.approx(tp / (tp + fn))
            assert getattr(group, when).false_positive_rate.value == pytest.approx(fp / (fp + tn))
            assert getattr(group, when).precision.value == pytest.approx(tp / (tp + fp))
            rates.append((tp + fp) / group.rows)
        for group, rate in zip(made.groups, rates, strict=True):
            assert getattr(group, when).ratio_to_highest.value == pytest.approx(rate / max(rates))
        assert getattr(made.overall, when).discrimination.value == pytest.approx(rates[1] - rates[0])
        assert getattr(made.overall, when).ratio.value == pytest.approx(min(rates) / max(rates))
        assert getattr(made.overall, when).between == ("men", "women")
        for what in ("discrimination", "ratio", "accuracy"):
            value = getattr(getattr(made.overall, when), what)
            assert value.low < value.value < value.high


@pytest.mark.filterwarnings("ignore::eifffel.FewRowsWarning")
def test_each_bound_shows_what_it_selects(options, made):
    clf = classifier(**options)
    later = clf.path_.measure(X, y, s)
    bounds = made.path.bounds
    assert bounds[made.path.chosen_bound].bound == 0.05
    assert len({bound.bound for bound in bounds}) == len(bounds)
    for bound in bounds[:: len(bounds) // 12]:
        choice = clf.path_.select(
            epsilon=bound.bound,
            alpha=clf.alpha,
            confidence=clf.confidence,
            sides=clf.sides,
            objective=clf.objective,
        )
        point = made.path.points[bound.point]
        assert (point.step, bound.met) == (choice.step, choice.met)
        assert point.changed_leaves == clf.path_.n_flips(choice.step)
        assert point.selection.discrimination == choice.discrimination
        assert point.selection.accuracy == choice.accuracy
        assert point.overall.discrimination.value == pytest.approx(later.discrimination[choice.step])
        assert point.overall.accuracy.value == pytest.approx(later.accuracy[choice.step])
        for g in range(2):
            rate = point.groups[g].selection_rate.value
            assert rate == pytest.approx(later.selection_rates[choice.step, g])
    selected = {bound.point for bound in bounds}
    assert set(range(len(made.path.points))) - selected <= {0}, "only steps that some bound selects, and the first"


def test_who_changed_adds_up(options, made):
    clf = classifier(**options)
    before, after = clf.path_.model.predict(X), clf.predict(X)
    for group, name in zip(made.changed.groups, ("women", "men"), strict=True):
        inside = s == name
        assert group.gained == ((before == "no") & (after == "yes") & inside).sum()
        assert group.lost == ((before == "yes") & (after == "no") & inside).sum()
    rules = made.changed.rules
    assert 1 <= len(rules) <= 8
    assert min(rule.rows for rule in rules) >= 10
    assert sum(rule.rows for rule in rules) == len(X)
    for key in ("gained", "lost"):
        assert sum(getattr(rule, key) for rule in rules) == sum(getattr(group, key) for group in made.changed.groups)


def test_leaves_of_few_people_are_counted_and_not_described(options, made):
    clf = classifier(**options)
    flips = clf.path_.flips(clf.selection_.step)
    rows = sum(flips[name].astype(int) for name in flips.dtype.names[-4:])
    leaves = made.leaves
    assert leaves.n_changed == len(flips)
    assert leaves.n_hidden == (rows < 10).sum()
    assert len(leaves.shown) + leaves.n_more == (rows >= 10).sum()
    weight = np.abs(flips["after"] - flips["before"]) / (30 if options.get("model") != "boosted" else 1)
    place = {(int(tree), int(leaf)): k for k, (tree, leaf) in enumerate(zip(flips["tree"], flips["leaf"], strict=True))}
    shown = [place[leaf.tree, leaf.leaf] for leaf in leaves.shown]
    assert (rows[shown] >= 10).all()
    effects = (rows * weight)[shown]
    assert (np.diff(effects) <= 1e-12).all()
    assert effects[0] == pytest.approx((rows * weight)[rows >= 10].max())
    women, men = (flips[f"{role}_unfavorable"] + flips[f"{role}_favorable"] for role in ("unprivileged", "privileged"))
    for leaf, k in zip(leaves.shown, shown, strict=True):
        for count, effect, n in zip(leaf.rows, leaf.effect, (women[k], men[k]), strict=True):
            if 0 < n < 10:
                assert count is effect is None, "a rule and a group would describe fewer than ten"
            else:
                assert count == n
                assert effect == pytest.approx(n * weight[k])


def test_there_are_no_rows_in_it(made):
    """Nothing is as long as the rows are many, and no number of a person's is there."""

    def lengths(part):
        if isinstance(part, dict):
            for inner in part.values():
                yield from lengths(inner)
        elif isinstance(part, list):
            yield len(part)
            for inner in part:
                yield from lengths(inner)

    assert max(lengths(made.to_dict())) < 500
    text = render_json(made)
    incomes = {f"{value:.2f}" for value in X["income"]}
    assert not any(income in text for income in incomes)


def test_structure_stays_and_leaves_change(made):
    digests = made.model.digests
    assert digests.before.structure == digests.after.structure
    assert digests.before.leaves != digests.after.leaves


def test_rules_that_ask_for_the_sensitive_attribute_are_marked():
    clf = classifier()
    marked = summarize(clf, X, y, sensitive_features=s, sensitive_columns=("part_time",))
    rules = marked.leaves.shown + marked.changed.rules
    assert {"part_time" in rule.rule for rule in rules} == {True, False}
    for rule in rules:
        assert rule.tests_sensitive == ("part_time" in rule.rule)
    assert marked.sensitive_among_features


def test_a_model_alone_is_measured_with_what_it_carries():
    clf = classifier()
    edited = summarize(clf.estimator_, X, y, sensitive_features=s)
    whole = summary()
    assert [group.before for group in edited.groups] == [group.before for group in whole.groups]
    assert [group.after for group in edited.groups] == [group.after for group in whole.groups]
    assert edited.changed.groups == whole.changed.groups
    assert edited.path is None
    plain = summarize(undo(clf), X, y, sensitive_features=s, favorable="yes", epsilon=0.5)
    assert plain.groups[0].after == whole.groups[0].before
    assert plain.groups[0].before is None
    assert plain.verdict.holds is True
    for part in (edited, plain):
        jsonschema.validate(part.to_dict(), schema())


def test_without_labels_it_says_what_can_be_said():
    bare = summarize(classifier(), X, None, sensitive_features=s)
    jsonschema.validate(bare.to_dict(), schema())
    assert bare.groups[0].base_rate is None
    assert bare.groups[0].after.precision.value is None
    assert bare.groups[0].after.selection_rate == summary().groups[0].after.selection_rate
    assert bare.overall.after.accuracy.value is None


def test_small_groups_are_marked():
    some = np.concatenate([np.flatnonzero(s == "women")[:20], np.flatnonzero(s == "men")])
    assert len(some) > 1000
    more = np.concatenate([np.flatnonzero(s == "women")[:31], np.tile(np.flatnonzero(s == "men"), 2)])
    for rows in (some, more):
        made = summarize(classifier(), X.iloc[rows], y[rows], sensitive_features=s[rows])
        assert [group.small for group in made.groups] == [True, False], "20 rows; 31, but under 2%"
    few = np.concatenate([np.flatnonzero(s == "women")[:29], np.flatnonzero(s == "men")[:1000]])
    made = summarize(classifier(), X.iloc[few], y[few], sensitive_features=s[few])
    assert [group.small for group in made.groups] == [True, False]
    made = summarize(classifier(), X.iloc[few[:400]], y[few[:400]], sensitive_features=s[few[:400]])
    assert [group.small for group in made.groups] == [True, False], "29 rows are few, whatever their share"


@pytest.mark.parametrize(
    ("epsilon", "heading", "words"),
    [
        (0.5, "✓ Within the bound", "within the bound of 0.5, as is the whole interval"),
        (0.001, "✗ Outside the bound", "outside the bound of 0.001, as is the whole interval"),
    ],
)
def test_the_verdict_says_on_which_rows(epsilon, heading, words):
    made = summarize(
        undo(classifier()), X, y, sensitive_features=s, favorable="yes", epsilon=epsilon, rows="rows of May"
    )
    assert made.verdict.heading == heading
    assert "On 2,000 rows of May" in made.verdict.sentence
    assert words in made.verdict.sentence


def test_a_bound_within_chance_says_so():
    plain = undo(classifier())
    value = summarize(plain, X, y, sensitive_features=s, favorable="yes").overall.after.discrimination.value
    for epsilon, holds in ((value + 0.001, True), (value - 0.001, False)):
        verdict = summarize(plain, X, y, sensitive_features=s, favorable="yes", epsilon=epsilon).verdict
        assert (verdict.holds, verdict.certain) == (holds, False)
        assert "but it may be chance" in verdict.sentence


def test_a_bound_that_is_not_met_is_said_not_to_be():
    made = summary(strategy="tree", alpha=0.0001, epsilon=0.001)
    assert (made.verdict.kind, made.verdict.heading) == ("not_met", "✗ The bound is not met")
    assert "NOT MET: no step kept the bound with a drop of accuracy of at most 0.0001" in made.verdict.sentence


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"epsilon must be in \[0, 1\] or None, got 5"):
        summarize(classifier(), X, y, sensitive_features=s, epsilon=5)
    with pytest.raises(ValueError, match="has 'other', not among the groups"):
        summarize(classifier(), X, y, sensitive_features=np.where(s == "men", "men", "other"))
    with pytest.raises(ValueError, match="privileged must be one of the groups"):
        summarize(undo(classifier()), X, y, sensitive_features=s, favorable="yes", privileged="nobody")


def test_tables_of_any_kind_become_numbers():
    frame = pandas.DataFrame(
        {
            "n": [1.0, None, 3.0] * 10,
            "word": ["a", None, "b"] * 10,
            "flag": [True, False, True] * 10,
            "big": [1e300, 1.0, 2.0] * 10,
            "kind": pandas.Categorical(["x", "y", "x"] * 10),
        }
    )
    polars = pytest.importorskip("polars")
    other = polars.DataFrame(
        {
            "n": [1.0, None, 3.0] * 10,
            "word": ["a", None, "b"] * 10,
            "flag": [True, False, True] * 10,
            "big": [1e300, 1.0, 2.0] * 10,
        }
    )
    for table in (frame, other):
        numbers = as_numbers(table)
        sources = [column.source for column in numbers.columns]
        assert sources[0] == "n"
        assert [column.category for column in numbers.columns if column.source == "word"] == ["a", "b", "missing"]
        assert [column.category for column in numbers.columns if column.source == "flag"] == ["False", "True"]
        assert numbers.values.shape == (30, len(sources))
        assert numbers.missing.tolist() == [source == "n" for source in sources]
    array = np.array([[1, "a"], [2, "b"]] * 10, object)
    assert [column.category for column in as_numbers(array).columns] == [None, "a", "b"]


def who(group):
    """Rows of these groups, without labels."""
    return Rows(group.astype(np.uint8), None, np.ones(len(group), np.int64), 1), two_groups()


def test_nobody_changed():
    same = np.array([True, False] * 20)
    made = summarize_changes(same, same, *who(np.repeat([0, 1], 20)), np.arange(40.0)[:, None], sensitive_columns=())
    assert made == Changed(groups=(ChangedGroup(20, 0, 0),) * 2, rules=(), n_rules_hidden=0)


def test_a_rule_about_fewer_than_ten_people_is_counted_only():
    few = np.arange(9)
    group = who(np.repeat([0, 1], [4, 5]))
    made = summarize_changes(few > 4, few > 5, *group, few[:, None] * 1.0, sensitive_columns=())
    assert (made.rules, made.n_rules_hidden) == ((), 1)


@pytest.mark.filterwarnings("ignore::eifffel.SeenRowsWarning")
def test_a_weighted_path_is_refused():
    forest = undo(classifier())
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    path = trace_path(forest, X, y, sensitive_features=s, sample_weight=weight, favorable="yes")
    choice = path.select(epsilon=0.05)
    with pytest.raises(ValueError, match="the path counts sample weights, and a report counts people"):
        summarize(path.model_at(choice.step), X, y, sensitive_features=s, path=path, selection=choice)


def test_an_edited_model_by_itself_is_judged_by_the_bound_of_its_record():
    clf = classifier(strategy="shift", confidence=0.8)
    made = summarize(clf.estimator_, X, y, sensitive_features=s)
    jsonschema.validate(json.loads(render_json(made)), schema())
    assert made.path is None
    assert made.selection == summary(strategy="shift", confidence=0.8).selection
    assert made.verdict.epsilon == 0.05
    assert "with 80% confidence, the difference is at most the bound" in made.verdict.sentence
    other = np.where(np.arange(len(s)) % 2, "odd", "even")
    assert summarize(clf.estimator_, X, y, sensitive_features=other).verdict.epsilon is None


def test_rows_that_scored_leaves_are_said_to_be():
    made = summarize(classifier(), *people(3000, 0)[:2], sensitive_features=people(3000, 0)[2])
    assert made.rows.seen
    assert "Leaves were scored by these rows" in made.verdict.sentence
    assert not summary().rows.seen


def test_a_report_is_of_the_model_that_the_selection_chose():
    clf = classifier()
    path, choice, rows = clf.path_, clf.selection_, (X, y)
    claims = {"sensitive_features": s, "path": path, "selection": choice}
    assert summarize(path.model_at(choice.step), *rows, **claims).selection.step == choice.step
    bare = copy.deepcopy(clf.estimator_)
    attach_record(bare, None)
    assert summarize(bare, *rows, **claims).selection.step == choice.step  # its leaves are those of the step
    shifted = classifier(strategy="shift", confidence=0.8)
    for model in (path.model, shifted.estimator_, classifier(model="boosted").estimator_):
        with pytest.raises(
            ValueError, match=f"is not the model of step {choice.step} of this path, .* give path.model_at"
        ):
            summarize(model, *rows, **claims)
    with pytest.raises(ValueError, match=r"the selection is step .* of another path"):
        summarize(clf.estimator_, *rows, **claims | {"selection": shifted.selection_})
    with pytest.raises(ValueError, match="is not the model of this path; give"):
        summarize(classifier(model="boosted").estimator_, *rows, **claims | {"selection": None})


def test_a_model_of_three_classes_is_told_what_can_be_measured():
    rows = np.arange(len(y))[:, None]
    labels = np.where(rows[:, 0] % 5 == 0, "much", y)
    model = DecisionTreeClassifier().fit(rows, labels)
    with pytest.raises(ValueError, match=r"has 3 classes, .* summarize_decisions\(model.predict\(X\), y, .*'yes'"):
        summarize(model, rows, labels, sensitive_features=s)
    made = summarize_decisions(model.predict(rows), labels, sensitive_features=s, favorable={"yes", "much"})
    assert made.favorable == "much or yes"


def test_rows_that_chose_the_step_are_said_to_have():
    clf, everybody = classifier(), people(3000, 0)
    chose = [
        values.iloc[clf.selection_rows_] if hasattr(values, "iloc") else values[clf.selection_rows_]
        for values in everybody
    ]
    made = summarize(clf, *chose[:2], sensitive_features=chose[2])
    assert (made.rows.seen, made.rows.chose) == (False, True)
    assert "The step was chosen on these rows" in made.verdict.sentence
    assert not summary().rows.chose


def test_past_zero_it_says_who_is_favoured_now():
    made = summary(strategy="shift", confidence=0.8, sides="upper")
    after = replace(made.overall.after, discrimination=Estimate(-0.2, -0.25, -0.15))
    far = replace(made, overall=replace(made.overall, after=after))
    verdict = judge_facts(far, 0.05, None)
    assert verdict.holds
    assert verdict.certain
    assert verdict.heading == "! Past zero: the other group is favoured now"
    assert "and beyond it in the other" in verdict.sentence
    assert verdict.kind == "overshoots"
    two_sided = judge_facts(replace(far, selection=replace(far.selection, sides="both")), 0.05, None)
    assert (two_sided.kind, two_sided.holds) == ("outside", False)


def test_a_bound_of_the_callers_is_judged_by():
    for epsilon, holds in ((0.0001, False), (0.9, True)):
        verdict = summarize(classifier(), X, y, sensitive_features=s, epsilon=epsilon).verdict
        assert (verdict.epsilon, verdict.holds, verdict.chosen) == (epsilon, holds, None)


def test_discrimination_the_other_way_is_outside_too():
    made = summarize(undo(classifier()), X, y, sensitive_features=s, favorable="yes", privileged="women", epsilon=0.05)
    assert [group.name for group in made.groups] == ["men", "women"]
    assert made.overall.after.discrimination.value < -0.05
    assert made.verdict.heading == "✗ Outside the bound"


def test_options_that_contradict_the_edit_are_refused():
    edited = classifier().estimator_
    with pytest.raises(ValueError, match="privileged must be 'men', as in the path, got 'women'; leave it out"):
        summarize(classifier(), X, y, sensitive_features=s, privileged="women")
    with pytest.raises(ValueError, match="favorable must be 'yes', for which the model was edited, got 'no'"):
        summarize(edited, X, y, sensitive_features=s, favorable="no")
    path = classifier().path_
    with pytest.raises(ValueError, match=r"the model is that of step \d+, and the selection is step"):
        summarize(edited, X, y, sensitive_features=s, path=path, selection=path.select(epsilon=0.15))
    with pytest.raises(
        ValueError,
        match="about must be one of 'intended_use', 'not_for', 'owner', 'data_source', 'data', 'split', 'test_s",
    ):
        summarize(edited, X, y, sensitive_features=s, about={"dataa": "x"})


def test_an_edited_model_is_measured_for_another_attribute():
    other = np.where(X["region"] < 4, "north", "south")
    made = summarize(classifier().estimator_, X, y, sensitive_features=other)
    assert {group.name for group in made.groups} == {"north", "south"}
    assert made.overall.before is not None


def test_calibration_is_of_the_favourable_class():
    plain = undo(classifier())
    made = summarize(plain, X, y, sensitive_features=s, favorable="no")
    expected = np.mean((plain.predict_proba(X)[:, 0] - (y == "no")) ** 2)
    assert made.calibration.after == pytest.approx(expected)
    assert made.favorable == "no"
    rates = [(plain.predict(X)[s == group.name] == "no").mean() for group in made.groups]
    assert [group.after.selection_rate.value for group in made.groups] == pytest.approx(rates)
    assert rates[1] > rates[0], "the privileged group is the one that is favoured"


def test_intervals_stand_where_they_belong():
    made = summary()
    women, men = (group.after for group in made.groups)
    n_women, n_men = (s == "women").sum(), (s == "men").sum()
    chosen = classifier().predict(X) == "yes"
    counts = (chosen[s == "women"].sum(), n_women, chosen[s == "men"].sum(), n_men)
    low, high = ratio_interval(*counts)
    ratio = women.ratio_to_highest
    assert (ratio.low, ratio.high) == (pytest.approx(float(low)), pytest.approx(float(high)))
    assert men.ratio_to_highest == Estimate(1.0, None, None)
    assert str(percent(Estimate(0.5, 0.4, 0.6))) == "50.0% (40.0 to 60.0)"
    shown = fraction(Estimate(0.5, 0.4, 0.6))
    assert (str(shown), shown.number) == ("0.500 (0.400 to 0.600)", "0.500")
    assert shown.unbroken == "0.500 (0.400\u00a0to\u00a00.600)"


def test_names_cannot_break_lines():
    group = np.where(s == "men", "m\x1b[31m\nen", "women")
    made = summarize(undo(classifier()), X, y, sensitive_features=group, favorable="yes", sensitive_name="a\nb")
    assert made.groups[1].name == "m [31m en"
    assert made.sensitive == "a b"


def test_values_of_few_people_are_not_named():
    names = np.array([f"person {k}" for k in range(200)] + ["clerk"] * 1800, object)
    frame = X.assign(name=names)
    changed = np.zeros(2000, bool)
    changed[:60] = True
    made = summarize_changes(changed, ~changed & False, *who((s == "men") * 1), frame, sensitive_columns=())
    text = str(made.rules)
    assert "name is" in text
    assert "person" not in text


def test_missing_values_of_pandas_own_kind():
    frame = pandas.DataFrame(
        {
            "flag": pandas.array([True, None, False] * 10, dtype="boolean"),
            "word": pandas.array(["a", None, "b"] * 10, dtype="string"),
            "n": pandas.array([1, None, 3] * 10, dtype="Int64"),
        }
    )
    table = as_numbers(frame)
    assert [column.category for column in table.columns] == ["False", "True", "missing", "a", "b", "missing", None]
    assert table.missing.tolist() == [False] * 6 + [True]
