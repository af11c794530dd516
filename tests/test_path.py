"""FairnessPath: what it says of a step is what the model of that step does."""

import pickle
import sys
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from draws import people, problems, roles
from eifffel import ConstraintNotMetWarning, ModelChangedError, metrics, trace_path
from eifffel.edits.record import find_record


def count(decision, y, s, weight=None):
    """Favourable decisions per group and label."""
    weight = np.ones(len(y)) if weight is None else weight
    return np.array([[weight[(decision == 1) & (s == g) & (y == k)].sum() for k in (0, 1)] for g in (0, 1)])


@pytest.fixture(scope="module")
def traced():
    X, y, s = people(400, seed=1)
    model = RandomForestClassifier(10, random_state=0, n_jobs=1).fit(X[:200], y[:200])
    rows = (X[200:], y[200:], s[200:])
    return trace_path(model, X[:200], y[:200], sensitive_features=s[:200], select_on=rows), rows


@settings(max_examples=80, deadline=None)
@given(problem=problems(), strategy=st.sampled_from(["leaf", "tree"]), data=st.data())
def test_counts_are_those_of_the_model_at_that_step(problem, strategy, data):
    held_X, held_y, held_s = people(60, data.draw(st.integers(0, 1000)))
    path = problem.trace(strategy=strategy, select_on=(held_X, held_y, held_s))
    s = (held_s == path.groups[1]).astype(int)
    y = (held_y == problem.favorable).astype(int)
    assert path.counts.favorable.dtype == np.int64
    for step in {0, path.n_steps, data.draw(st.integers(0, path.n_steps)), data.draw(st.integers(0, path.n_steps))}:
        decision = path.model_at(step).predict(held_X) == problem.favorable
        np.testing.assert_array_equal(path.counts.favorable[step], count(decision, y, s))
        rates = [decision[held_s == group].mean() for group in roles(path)]
        assert path.discrimination[step] == pytest.approx(rates[1] - rates[0], abs=1e-12)
        assert path.accuracy[step] == pytest.approx((decision == y).mean(), abs=1e-12)


def test_the_path_strictly_grows_in_flips_and_starts_as_the_model_came(traced):
    path, (X, _, _) = traced
    np.testing.assert_array_equal(path.model_at(0).predict_proba(X), path.model.predict_proba(X))
    assert path.n_flips(0) == 0
    assert path.n_flips(path.n_steps) == len(path.order.leaf) > 100


def test_whole_weights_count_as_repeated_rows(traced):
    path, (X, y, s) = traced
    weight = np.random.RandomState(0).randint(0, 4, len(y))
    weight[:4] = 1
    weighted = path.measure(X, y, s, sample_weight=weight)
    repeated = path.measure(*(np.repeat(a, weight, axis=0) for a in (X, y, s)))
    assert weighted.counts.favorable.dtype == np.float64
    np.testing.assert_allclose(weighted.counts.favorable, repeated.counts.favorable, atol=1e-9)
    np.testing.assert_allclose(weighted.discrimination, repeated.discrimination, atol=1e-9)


def test_scoring_with_whole_weights_is_scoring_repeated_rows():
    X, y, s = people(120, seed=2)
    model = RandomForestClassifier(5, random_state=0, n_jobs=1).fit(X, y)
    weight = np.random.RandomState(0).randint(1, 4, 120)
    weighted = trace_path(model, X, y, sensitive_features=s, sample_weight=weight)
    repeated = trace_path(
        model, *(np.repeat(a, weight, axis=0) for a in (X, y)), sensitive_features=np.repeat(s, weight)
    )
    np.testing.assert_array_equal(weighted.order.leaf, repeated.order.leaf)
    np.testing.assert_allclose(weighted.counts.favorable, repeated.counts.favorable, atol=1e-9)


@pytest.mark.filterwarnings("ignore::eifffel.SeenRowsWarning")
@pytest.mark.parametrize("strategy", ["leaf", "tree"])
def test_real_weights_depend_on_neither_row_order_nor_jobs_nor_unit(strategy):
    for seed in range(10):
        X, y, s = people(150, seed)
        model = RandomForestClassifier(6, random_state=seed, n_jobs=1).fit(X, y)
        random = np.random.RandomState(seed)
        weight = random.choice([0.1, 0.2, 0.3, 0.7], 150)
        mixed = random.permutation(150)

        def trace(rows, weight, strategy=strategy, model=model, X=X, y=y, s=s, **options):
            given = None if weight is None else weight[rows]
            return trace_path(
                model, X[rows], y[rows], sensitive_features=s[rows], sample_weight=given, strategy=strategy, **options
            )

        every = np.arange(150)
        first = trace(every, weight)
        for other in (trace(mixed, weight), trace(every, weight, n_jobs=3)):
            np.testing.assert_array_equal(first.order.leaf, other.order.leaf)
            np.testing.assert_array_equal(first.counts.favorable, other.counts.favorable)
        equal, unweighted = trace(every, np.full(150, 0.1)), trace(every, None)
        np.testing.assert_array_equal(equal.order.leaf, unweighted.order.leaf)
        np.testing.assert_array_equal(equal.counts.favorable, unweighted.counts.favorable)
        for epsilon in (0.05, 0.1, 0.2):
            for alpha in (None, 0.0, 0.02):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConstraintNotMetWarning)
                    chosen = [path.select(epsilon=epsilon, alpha=alpha) for path in (equal, unweighted)]
                assert (chosen[0].step, chosen[0].met) == (chosen[1].step, chosen[1].met)


def test_the_favoured_group_is_found_by_weight():
    # Unweighted the model favours group 1; with the weight on the favoured of group 0 it does not.
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    y, s = np.array([1, 0, 1, 1, 0]), np.array([0, 0, 1, 1, 1])
    model = RandomForestClassifier(1, bootstrap=False, random_state=0).fit(X, y)
    assert trace_path(model, X, y, sensitive_features=s).privileged == 1
    assert trace_path(model, X, y, sensitive_features=s, sample_weight=[9, 1, 1, 1, 1]).privileged == 0


def test_measure_on_the_selection_rows_is_the_path_itself(traced):
    path, rows = traced
    again = path.measure(*rows, n_jobs=2)
    np.testing.assert_array_equal(again.counts.favorable, path.counts.favorable)
    assert again.counts.rows == "measured rows"
    assert again.select(epsilon=0.1).discrimination_rows == "measured rows"


def test_without_labels_accuracy_is_that_of_the_scoring_rows(traced):
    path, (X, _, s) = traced
    scoring_X, scoring_y, scoring_s = (a[:200] for a in people(400, seed=1))
    unlabelled = trace_path(path.model, scoring_X, scoring_y, sensitive_features=scoring_s, select_on=(X, None, s))
    on_scoring = trace_path(path.model, scoring_X, scoring_y, sensitive_features=scoring_s)
    np.testing.assert_array_equal(unlabelled.discrimination, path.discrimination)
    np.testing.assert_array_equal(unlabelled.accuracy, on_scoring.accuracy)
    choice = unlabelled.select(epsilon=0.1)
    assert (choice.discrimination_rows, choice.accuracy_rows) == ("selection rows", "scoring rows")
    with pytest.raises(ValueError, match="needs labels"):
        unlabelled.metric("equalized_odds_difference")
    measured = path.measure(X, None, s)
    np.testing.assert_array_equal(measured.discrimination, path.discrimination)
    assert measured.accuracy_counts is path.accuracy_counts
    if find_spec("pandas"):
        columns = set(unlabelled.to_frame().columns)
        assert "scoring_accuracy" in columns
        assert "accuracy" not in columns


def test_metric_by_name(traced):
    path, _ = traced
    for name, metric in metrics.METRICS.items():
        np.testing.assert_array_equal(path.metric(name), metric(path.counts.favorable, path.counts.totals))
    with pytest.raises(ValueError, match=r"metric must be one of 'accuracy', .* got 'parity'"):
        path.metric("parity")


def test_selecting_another_epsilon_is_a_look_up(traced, monkeypatch):
    path, _ = traced
    monkeypatch.setattr(type(path.order), "replay", None)
    monkeypatch.setattr("eifffel.path.view_ensemble", None)
    steps = [path.select(epsilon=epsilon).step for epsilon in (0.3, 0.2, 0.1, 0.05)]
    assert steps == sorted(steps)
    assert steps[-1] > 0


def test_a_drop_of_exactly_alpha_is_allowed(traced):
    path, (_, y, _) = traced
    lost = np.flatnonzero(path.accuracy_drop > 0)[0]
    alpha = path.accuracy_drop[lost]
    assert alpha * len(y) == round(alpha * len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintNotMetWarning)
        assert path.select(epsilon=0, alpha=alpha).accuracy_drop <= alpha
        # The loop of the paper ends where the drop reaches alpha.
        assert path.select(epsilon=0, alpha=alpha, rule="paper").step == np.argmax(path.accuracy_drop >= alpha)


def test_flips_are_the_changes_of_the_model(traced):
    path, _ = traced
    X, y, s = (a[:200] for a in people(400, seed=1))
    step = path.n_steps // 2
    records = path.flips(step)
    assert len(records) == path.n_flips(step)
    assert (np.diff(records["step"]) >= 0).all()
    edited = path.model_at(step)
    changed = {(r["tree"], r["leaf"]) for r in records}
    for t, (before, after) in enumerate(zip(path.model.estimators_, edited.estimators_, strict=True)):
        differs = np.flatnonzero((before.tree_.value != after.tree_.value).any(axis=(1, 2)))
        assert {(t, leaf) for leaf in differs} == {c for c in changed if c[0] == t}
    s = (s == path.privileged).astype(int)
    for record in records[:20]:
        tree = path.model.estimators_[record["tree"]]
        assert record["before"] == tree.tree_.value[record["leaf"], 0, 1]
        assert record["after"] == edited.estimators_[record["tree"]].tree_.value[record["leaf"], 0, 1]
        inside = tree.apply(X) == record["leaf"]
        np.testing.assert_array_equal(rows_of(record), count(inside, y, s))


def rows_of(record):
    return np.array(
        [[record[f"{g}_{k}"] for k in ("unfavorable", "favorable")] for g in ("unprivileged", "privileged")]
    )


def test_flips_make_a_table(traced):
    pandas = pytest.importorskip("pandas")
    path, _ = traced
    table = pandas.DataFrame(path.flips(20))
    assert table.shape == (20, 10)
    assert table["step"].tolist() == list(range(1, 21))


def test_rules_follow_flips_and_use_the_models_names(traced):
    path, _ = traced
    for record, rule in zip(path.flips(30), path.rules(30), strict=True):
        assert (record["tree"], record["leaf"]) == (rule.tree, rule.leaf)
        assert rule.becomes == ("favorable" if record["after"] > 0.5 else "unfavorable")
    assert "x0" in " ".join(map(str, path.rules(30)))
    assert "age" in " ".join(map(str, path.rules(30, feature_names=["age", "b", "c"])))
    with pytest.raises(ValueError, match="feature_names has 2 names for 3 features"):
        path.rules(1, feature_names=["a", "b"])


def test_score_is_the_quotient_of_the_paper():
    X, y, s = people(100, seed=4)
    model = RandomForestClassifier(3, random_state=0, n_jobs=1).fit(X, y)
    path = trace_path(model, X, y, sensitive_features=s, privileged=1)
    for record in path.flips(path.n_steps):
        n = rows_of(record)
        share = n.sum(axis=1) / np.bincount(s)
        delta_disc = (share[0] - share[1]) * (1 if record["before"] > 0.5 else -1)
        delta_accu = (n[:, 0].sum() - n[:, 1].sum()) / 100 * (1 if record["before"] > 0.5 else -1)
        expected = np.inf if delta_accu >= 0 else delta_disc / delta_accu
        assert record["score"] == pytest.approx(expected)


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_to_frame(traced, backend):
    library = pytest.importorskip(backend)
    path, _ = traced
    frame = path.to_frame(backend)
    assert isinstance(frame, library.DataFrame)
    assert frame.shape == (path.n_steps + 1, 7)
    np.testing.assert_array_equal(frame["discrimination"].to_numpy(), path.discrimination)
    np.testing.assert_array_equal(frame["position"].to_numpy(), np.arange(path.n_steps + 1))
    rates = frame["selection_rate_privileged"].to_numpy() - frame["selection_rate_unprivileged"].to_numpy()
    np.testing.assert_allclose(rates, path.discrimination)


def test_to_frame_of_something_else(traced):
    with pytest.raises(ValueError, match="backend must be one of 'pandas', 'polars', got 'arrow'"):
        traced[0].to_frame("arrow")


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_to_frame_without_the_library_says_what_to_install(traced, backend, monkeypatch):
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(ModuleNotFoundError, match=f"to_frame needs {backend}; install it with: pip install 'eifffel"):
        traced[0].to_frame(backend)


def test_a_path_pickles_and_still_makes_models(traced):
    path, (X, _, _) = traced
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.discrimination, path.discrimination)
    np.testing.assert_array_equal(again.model_at(50).predict_proba(X), path.model_at(50).predict_proba(X))


def test_a_changed_model_is_noticed():
    X, y, s = people(100, seed=6)
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    path = trace_path(model, X, y, sensitive_features=s)
    # Other leaves, other splits, other labels, three labels.
    for rows, labels in ((X, 1 - y), (X + 100, y), (X, np.where(y, "yes", "no")), (X, np.arange(100) % 3)):
        model.fit(rows, labels)
        for use in (path.model_at, path.flips, path.rules):
            with pytest.raises(ModelChangedError, match="have changed since the path was traced"):
                use(1)


def test_model_at_gives_models_of_their_own(traced):
    path, (X, _, _) = traced
    first, second = path.model_at(10), path.model_at(10)
    first.estimators_[0].tree_.value[:] = 0.5
    assert (second.predict_proba(X) == path.model_at(10).predict_proba(X)).all()
    # What scikit-learn does with an edited model: clone gives an unfitted one.
    assert not hasattr(clone(second), "estimators_")


@pytest.mark.parametrize(
    ("step", "error"), [(-1, ValueError), (10**9, ValueError), (1.5, TypeError), (True, TypeError), ("1", TypeError)]
)
def test_a_step_that_is_none(traced, step, error):
    path, _ = traced
    with pytest.raises(error, match=f"step must be an integer from 0 to {path.n_steps}"):
        path.model_at(step)


def test_a_model_of_a_selection_carries_what_was_chosen(traced):
    path, (X, y, s) = traced
    choice = path.select(epsilon=0.1)
    chosen, plain = path.model_at(choice), path.model_at(choice.step)
    np.testing.assert_array_equal(chosen.predict_proba(X), plain.predict_proba(X))
    assert find_record(chosen)["selection"] == choice.to_public_dict()
    assert find_record(plain)["selection"] is None
    later = path.measure(X, y, s).select(epsilon=0.2)
    assert find_record(path.model_at(later))["selection"]["discrimination_rows"] == "measured rows"
    other = trace_path(path.model, X, y, sensitive_features=1 - s).select(epsilon=0.1, rule="paper")
    with pytest.raises(ValueError, match="of another path"):
        path.model_at(other)
    with pytest.raises(TypeError, match=r"got a Selection; pass its .step"):
        path.flips(choice)


def test_a_selection_carries_the_rates_of_both_groups(traced):
    path, (X, _, s) = traced
    choice = path.select(epsilon=0.1)
    decision = path.model_at(choice.step).predict(X)
    expected = [decision[s == group].mean() for group in roles(path)]
    assert choice.selection_rates == pytest.approx(expected)


def test_an_unmet_bound_points_to_the_line_that_asked(traced):
    path, _ = traced
    with pytest.warns(ConstraintNotMetWarning) as caught:
        path.select(epsilon=0, alpha=0)
    assert caught[0].filename == __file__


def test_repr_says_what_it_is(traced):
    assert "FairnessPath of RandomForestClassifier: strategy 'leaf'" in repr(traced[0])
