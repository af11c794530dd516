"""A run holds what the methods of the protocol really decide of the test rows."""

import warnings
from functools import cache

import numpy as np
import pytest
from made_up_runs import few_people, settings, use_few_people
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import train_test_split

from eifffel import ConstraintNotMetWarning, DiscriminationAwareForestClassifier, trace_path
from eifffel.baselines import DFRF, CalibratedEqualizedOdds, EqualizedOdds, GroupThresholds
from reproduction import protocol
from reproduction.runs import make_run, split_people

pytest.importorskip("pandas")
N_TREES = 8


@pytest.fixture(autouse=True)
def small(monkeypatch):
    use_few_people(monkeypatch)


@cache
def outcomes(name="adult", features=protocol.WITH, seed=0, swapped=False, n_jobs=1):
    """A run on a few people, made once; ``swapped`` if their groups have each other's number."""
    people = few_people()
    if swapped:
        people.sensitive = 1 - people.sensitive
    return make_run(name, people, features, seed, n_trees=N_TREES, n_jobs=n_jobs)


def find(found, method, chosen_on, epsilon=None, alpha=None):
    (one,) = [o for o in found if (o.method, o.chosen_on, o.epsilon, o.alpha) == (method, chosen_on, epsilon, alpha)]
    return one


@pytest.mark.parametrize("name", ["adult", "bank", "compas"])
def test_a_run_has_every_method_with_every_bound_once(name):
    found = outcomes(name)
    expected = list(settings(name))
    assert len(found) == len(expected)
    assert {(o.method, o.chosen_on, o.epsilon, o.alpha) for o in found} == set(expected)
    assert len(expected) == {"adult": 78, "bank": 46, "compas": 46}[name]


@pytest.mark.parametrize("features", protocol.FEATURES)
@pytest.mark.parametrize("name", ["adult", "bank"])
def test_numbers_are_those_of_the_models_themselves(name, features):
    """Each forest grown again, each step written into a model, each prediction measured by scikit-learn."""
    people, seed = few_people(), 3
    found = outcomes(name, features, seed)
    experiment = protocol.EXPERIMENTS[name]
    split = split_people(people, features, seed)
    X, y, s = split.X, split.y, split.group
    test = split.test

    def same(outcome, decided):
        assert outcome.accuracy == pytest.approx(accuracy_score(y[test], decided), abs=1e-12)
        assert outcome.balanced_accuracy == pytest.approx(balanced_accuracy_score(y[test], decided), abs=1e-12)
        rates = [decided[s[test] == group].mean() for group in (0, 1)]
        assert (outcome.unprivileged_rate, outcome.privileged_rate) == pytest.approx(rates, abs=1e-12)
        assert outcome.discrimination == pytest.approx(rates[1] - rates[0], abs=1e-12)

    given = dict(experiment.forest, n_estimators=N_TREES, random_state=seed)
    for chosen_on, rows, select_on, rule in (
        ("training", split.train, None, "paper"),
        ("held-out", split.fitted_on, (X[split.held_out], y[split.held_out], s[split.held_out]), "first"),
    ):
        plain = RandomForestClassifier(**given).fit(X[rows], y[rows])
        starred = DiscriminationAwareForestClassifier(**given).fit(X[rows], y[rows], sensitive_features=s[rows])
        same(find(found, "plain forest", chosen_on), plain.predict(X[test]))
        chosen = split.train if select_on is None else split.held_out
        for method, odds in (
            ("EqualizedOdds", EqualizedOdds(FrozenEstimator(plain))),
            ("EOP", CalibratedEqualizedOdds(FrozenEstimator(plain), cost="weighted")),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstraintNotMetWarning)
                odds.fit(X[chosen], y[chosen], sensitive_features=s[chosen])
            p = odds.favorable_probability(X[test], sensitive_features=s[test])
            outcome = find(found, method, chosen_on)
            assert outcome.accuracy == pytest.approx(np.where(y[test] == 1, p, 1 - p).mean(), abs=1e-12)
            assert outcome.discrimination == pytest.approx(p[s[test] == 1].mean() - p[s[test] == 0].mean(), abs=1e-12)
        for method, forest, strategy in (
            ("EiFFFeL-TF", plain, "tree"),
            ("EiFFFeL-LF", plain, "leaf"),
            ("EiFFFeL-TF*", starred, "tree"),
            ("EiFFFeL-LF*", starred, "leaf"),
        ):
            path = trace_path(
                forest, X[rows], y[rows], sensitive_features=s[rows], strategy=strategy, select_on=select_on
            )
            assert path.groups == (0, 1)
            bounds = [(0.01, None), (0.05, None), (0.1, None), (0.15, None)]
            for epsilon, alpha in bounds + [(0.01, alpha) for alpha in experiment.alphas]:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConstraintNotMetWarning)
                    choice = path.select(epsilon=epsilon, alpha=alpha, rule=rule)
                outcome = find(found, method, chosen_on, epsilon, alpha)
                same(outcome, path.model_at(choice.step).predict(X[test]))
                assert outcome.met == choice.met
                assert outcome.n_flips == len(path.flips(choice.step))
    for epsilon in protocol.EPSILONS:
        thresholds = GroupThresholds(FrozenEstimator(plain), epsilon=epsilon)
        thresholds.fit(X[split.held_out], y[split.held_out], sensitive_features=s[split.held_out])
        decided = thresholds.predict(X[test], sensitive_features=s[test])
        same(find(found, "GroupThresholds", "held-out", epsilon), decided)
    columns = split.sensitive_columns
    assert columns == ([3] if features == protocol.WITH else [])
    for rho in protocol.EPSILONS:
        fair = DFRF(N_TREES // 2, rho=rho, sensitive_columns=columns, random_state=seed, **experiment.dfrf)
        fair.fit(X[split.train], y[split.train], sensitive_features=s[split.train])
        same(find(found, "DFRF", "training", rho), fair.predict(X[test]))


def test_the_rows_of_a_split():
    people = few_people(1000)
    split = split_people(people, protocol.WITH, 0)
    parts = [split.test, split.fitted_on, split.held_out]
    assert [len(part) for part in parts] == [200, 600, 200]
    assert sorted(np.concatenate(parts)) == list(range(1000)), "each row in one part"
    assert sorted(split.train) == sorted(np.concatenate(parts[1:]))
    shares = [np.bincount(2 * split.group[part] + split.y[part], minlength=4) / len(part) for part in parts]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.006)
    np.testing.assert_allclose(shares[0], shares[2], atol=0.006)
    others = split_people(people, protocol.WITH, 1)
    assert set(others.test) != set(split.test)
    again = train_test_split(
        others.train, test_size=0.25, random_state=1, stratify=(2 * others.group + others.y)[others.train]
    )
    np.testing.assert_array_equal(again[1], others.held_out)


def test_without_the_sensitive_column_no_column_is_the_group():
    people = few_people()
    with_it, without = (split_people(people, features, 0) for features in protocol.FEATURES)
    assert with_it.X.shape[1] == without.X.shape[1] + 1
    assert any(np.array_equal(column, with_it.group) for column in with_it.X.T)
    assert not any(
        np.array_equal(column, group) for column in without.X.T for group in (without.group, 1 - without.group)
    )


def test_the_group_that_the_labels_favour_is_the_privileged_one():
    assert outcomes(swapped=True) == outcomes()


def test_a_run_depends_on_its_seed_alone():
    assert outcomes(n_jobs=2) == outcomes()
    assert outcomes(seed=1) != outcomes()
