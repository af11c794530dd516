"""Discrimination-aware trees and forests: splits that maximise IGC + IGS, and an ordinary classifier afterwards."""

import pickle
from functools import cache

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, export_text
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

from draws import people
from eifffel import (
    DiscriminationAwareForestClassifier,
    DiscriminationAwareTreeClassifier,
    EiFFFeLClassifier,
    trace_path,
    view_ensemble,
)
from eifffel.aware_trees import BALANCED_BY_WEIGHT
from grouped import GroupedByRow

X, y, s = people(400, seed=0, n_values=6)
MODELS = [DiscriminationAwareForestClassifier(5, random_state=0), DiscriminationAwareTreeClassifier(random_state=0)]
BOTH = pytest.mark.parametrize("model", MODELS, ids=["forest", "tree"])


def plain_class(model):
    return RandomForestClassifier if isinstance(model, RandomForestClassifier) else DecisionTreeClassifier


def trees_of(model):
    return model.estimators_ if hasattr(model, "estimators_") else [model]


# The criterion, written from its definition.


def entropy(column, weight):
    shares = np.array([weight[column == value].sum() for value in np.unique(column)]) / weight.sum()
    return -sum(share * np.log2(share) for share in shares if share > 0)


def information_gain(column, weight, left):
    """Entropy before a split minus the mean entropy of its two sides."""
    sides = [part for part in (left, ~left) if weight[part].sum() > 0]
    after = sum(weight[part].sum() / weight.sum() * entropy(column[part], weight[part]) for part in sides)
    return entropy(column, weight) - after


def additive_gain(y, s, weight, left):
    return information_gain(y, weight, left) + information_gain(s, weight, left)


def candidate_splits(X):
    """Every way to part rows at a value of one feature."""
    for column in X.T:
        for value in np.unique(column)[:-1]:
            yield column <= value


def check_every_node(tree, X, y, s, weight, max_depth):
    """Assert that each split is the best there is and that each leaf could not be split."""
    X, y, s, weight = X[weight > 0], y[weight > 0], s[weight > 0], weight[weight > 0]
    pending = [(0, np.ones(len(y), bool), 0)]
    while pending:
        node, inside, depth = pending.pop()
        assert weight[inside].sum() == pytest.approx(tree.weighted_n_node_samples[node], rel=1e-9)
        gains = [additive_gain(y[inside], s[inside], weight[inside], left) for left in candidate_splits(X[inside])]
        if tree.children_left[node] == -1:
            pure = len(np.unique(y[inside])) == 1 and len(np.unique(s[inside])) == 1
            assert pure or not gains or depth == max_depth, "a node that could be split was made a leaf"
            continue
        left = X[:, tree.feature[node]] <= tree.threshold[node]
        chosen = additive_gain(y[inside], s[inside], weight[inside], left[inside])
        assert chosen >= max(gains) - 1e-9, f"gain {chosen}, but a split of gain {max(gains)} was there"
        pending.append((tree.children_left[node], inside & left, depth + 1))
        pending.append((tree.children_right[node], inside & ~left, depth + 1))


@st.composite
def grown(draw):
    """A small model grown on drawn rows, whose sensitive attribute is not among the features; and its row weights."""
    X, y, s = people(draw(st.integers(8, 40)), draw(st.integers(0, 2**16)), draw(st.integers(2, 6)))
    labels = draw(st.sampled_from([np.array([0, 1]), np.array(["no", "yes"])]))[y]
    weight = None
    if draw(st.booleans()):
        weight = np.random.RandomState(draw(st.integers(0, 2**16))).choice([0.5, 1, 2, 3.7], len(y))
    names = np.unique(labels).tolist()
    class_weight = draw(st.sampled_from([None, "balanced", {names[0]: 1, names[1]: 2.5}]))
    max_depth = draw(st.sampled_from([None, 1, 3]))
    options = {"max_depth": max_depth, "class_weight": class_weight, "random_state": draw(st.integers(0, 2**16))}
    model = draw(
        st.sampled_from(
            [
                DiscriminationAwareForestClassifier(3, max_features=None, **options),
                DiscriminationAwareForestClassifier(2, max_features=None, bootstrap=False, **options),
                DiscriminationAwareTreeClassifier(**options),
            ]
        )
    )
    model.fit(X, labels, sensitive_features=s, sample_weight=weight)
    given = np.ones(len(y)) if weight is None else weight
    if class_weight == "balanced" and hasattr(model, "estimators_") and BALANCED_BY_WEIGHT:
        given = given * np.where(y == 1, given.sum() / given[y == 1].sum(), given.sum() / given[y == 0].sum()) / 2
    elif class_weight is not None:
        given = given * compute_sample_weight(class_weight, labels)
    return model, X, y, s, given


@cache
def draws_by_weight():
    """Whether this scikit-learn draws bootstrap rows by weight, as it does of late, or weighs the rows drawn."""
    forest = RandomForestClassifier(1, max_depth=1, random_state=0).fit(X, y, sample_weight=np.full(len(y), 0.3))
    return forest.estimators_[0].tree_.weighted_n_node_samples[0] == len(y)


@given(grown())
@settings(max_examples=60, deadline=None)
def test_every_split_maximises_the_additive_gain(drawn):
    model, X, y, s, weight = drawn
    bootstrapped = getattr(model, "bootstrap", False)
    for t, tree in enumerate(trees_of(model)):
        tree_weight = weight
        if bootstrapped:
            drawn_times = np.bincount(model.estimators_samples_[t], minlength=len(y)).astype(float)
            tree_weight = drawn_times if draws_by_weight() else drawn_times * weight
        check_every_node(tree.tree_, X, y, s, tree_weight, model.max_depth)


def test_the_group_changes_which_splits_are_best():
    # The first feature tells groups apart, the second labels less well: only the added term prefers the first.
    s, noisy = np.repeat([0, 1], 40), np.tile([0, 1], 40)
    y = np.where(np.arange(80) % 10 < 7, noisy, 1 - noisy)
    X = np.column_stack([s, noisy]).astype(float)
    plain = DecisionTreeClassifier(criterion="entropy", max_depth=1, random_state=0).fit(X, y)
    aware = DiscriminationAwareTreeClassifier(max_depth=1, random_state=0).fit(X, y, sensitive_features=s)
    assert plain.tree_.feature[0] == 1
    assert aware.tree_.feature[0] == 0


@BOTH
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1, 1: 3}])
@pytest.mark.parametrize("weighted", [False, True])
def test_where_the_group_is_the_label_the_trees_are_those_of_plain_entropy(model, class_weight, weighted):
    # Both gains are then the same, so the splits are, and class weights must be those of the label alone.
    weight = np.random.RandomState(0).random_sample(len(y)) * np.where(y == 1, 15, 3) if weighted else None
    aware = clone(model).set_params(max_depth=4, class_weight=class_weight)
    plain = plain_class(model)(criterion="entropy", **aware.get_params()).fit(X, y, sample_weight=weight)
    aware.fit(X, y, sensitive_features=y, sample_weight=weight)
    for ours, theirs in zip(trees_of(aware), trees_of(plain), strict=True):
        np.testing.assert_array_equal(ours.tree_.feature, theirs.tree_.feature)
        np.testing.assert_array_equal(ours.tree_.threshold, theirs.tree_.threshold)
        np.testing.assert_allclose(ours.tree_.value, theirs.tree_.value, rtol=0, atol=1e-12)


PARAMETERS = [
    {},
    {"max_depth": 2},
    {"max_leaf_nodes": 5},
    {"ccp_alpha": 0.01},
    {"min_samples_leaf": 9},
    {"min_samples_split": 30},
    {"min_weight_fraction_leaf": 0.1},
    {"min_impurity_decrease": 0.01},
    {"max_features": 1},
    {"max_samples": 0.3},
    {"bootstrap": False},
    {"splitter": "random"},
    {"random_state": 7},
]


@pytest.mark.parametrize(
    ("model", "changes"),
    [(model, changes) for model in MODELS for changes in PARAMETERS if set(changes) <= set(model.get_params())],
    ids=str,
)
def test_one_output_predicts_what_two_outputs_predicted_of_the_label(model, changes):
    model = clone(model).set_params(**changes)
    plain = plain_class(model)(criterion="entropy", **model.get_params()).fit(X, np.column_stack([y, s]))
    model.fit(X, y, sensitive_features=s)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X)[:, 0])
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X)[0])
    np.testing.assert_array_equal(model.apply(X), plain.apply(X))


# An ordinary one-output classifier.


@BOTH
@pytest.mark.parametrize(
    "labels", [np.array([0, 1]), np.array([-1, 1]), np.array(["no", "yes"]), np.array([False, True])]
)
def test_labels_and_classes_are_those_given(model, labels):
    model = clone(model).fit(X, labels[y], sensitive_features=np.array(["f", "m"])[s])
    np.testing.assert_array_equal(model.classes_, labels)
    assert model.classes_.dtype == labels.dtype
    assert (model.n_outputs_, model.n_classes_, model.n_features_in_) == (1, 2, 3)
    assert model.predict(X).dtype == labels.dtype
    assert model.score(X, labels[y]) > 0.7


@BOTH
def test_it_pickles_clones_and_comes_as_scikit_learns_own_class(model):
    fitted = clone(model).fit(X, y, sensitive_features=s)
    plain = fitted.to_sklearn()
    assert type(plain) in (RandomForestClassifier, DecisionTreeClassifier)
    for other in (pickle.loads(pickle.dumps(fitted)), plain, pickle.loads(pickle.dumps(plain))):
        np.testing.assert_array_equal(other.predict_proba(X), fitted.predict_proba(X))
    assert b"eifffel" not in pickle.dumps(plain)
    assert plain.criterion == "entropy"
    with sklearn.config_context(enable_metadata_routing=True):
        fitted.set_fit_request(sample_weight=True)
    assert not hasattr(fitted.to_sklearn(), "_metadata_request"), "whose fit asks for no groups"
    trees_of(plain)[0].tree_.value[:] = 0.5
    assert not (trees_of(fitted)[0].tree_.value == 0.5).all(), "a copy"
    assert not hasattr(clone(fitted), "classes_")
    assert clone(fitted).get_params() == model.get_params()


@BOTH
def test_a_second_fit_leaves_nothing_of_the_first(model):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    refitted = clone(model).fit(table, y, sensitive_features=s).fit(X[:, :2], y, sensitive_features=s)
    assert not hasattr(refitted, "feature_names_in_")
    fresh = clone(model).fit(X[:, :2], y, sensitive_features=s)
    assert set(vars(refitted)) == set(vars(fresh))
    np.testing.assert_array_equal(refitted.predict_proba(X[:, :2]), fresh.predict_proba(X[:, :2]))


@BOTH
def test_strings_in_a_list_become_the_classes_that_scikit_learn_makes_of_them(model):
    labels = np.array(["no", "yes"])[y].tolist()
    fitted = clone(model).fit(X.tolist(), labels, sensitive_features=s.tolist())
    assert fitted.classes_.dtype == plain_class(model)().fit(X, labels).classes_.dtype


def test_the_pruning_path_is_that_of_both_targets():
    tree = DiscriminationAwareTreeClassifier(random_state=0)
    path = tree.cost_complexity_pruning_path(X, y, sensitive_features=s)
    plain = DecisionTreeClassifier(criterion="entropy", random_state=0)
    np.testing.assert_array_equal(
        path.ccp_alphas, plain.cost_complexity_pruning_path(X, np.column_stack([y, s])).ccp_alphas
    )
    sizes = [
        clone(tree).set_params(ccp_alpha=alpha).fit(X, y, sensitive_features=s).get_n_leaves()
        for alpha in path.ccp_alphas[::10]
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


def test_a_tree_exports():
    tree = DiscriminationAwareTreeClassifier(max_depth=1).fit(X, y, sensitive_features=s)
    assert export_text(tree, feature_names=["a", "b", "c"]).count("class:") == 2


@pytest.mark.parametrize("strategy", ["leaf", "tree"])
@BOTH
def test_the_path_of_a_discrimination_aware_model_is_what_its_edits_do(model, strategy):
    model = clone(model).set_params(max_depth=4, class_weight="balanced").fit(X, y, sensitive_features=s)
    path = trace_path(model, X, y, sensitive_features=s, strategy=strategy)
    assert path.n_steps > 0
    for step in range(path.n_steps + 1):
        edited = path.model_at(step)
        assert type(edited) is type(model)
        decided = edited.predict(X)
        assert decided[s == 1].mean() - decided[s == 0].mean() == pytest.approx(path.discrimination[step], abs=1e-12)


def test_kamirans_relabelling_is_leaf_flipping_of_one_tree():
    tree = DiscriminationAwareTreeClassifier(max_depth=3).fit(X, y, sensitive_features=s)
    path = trace_path(tree, X, y, sensitive_features=s, strategy="leaf")
    choice = path.select(epsilon=0.05, rule="paper")
    # Their loop: relabel the leaf of best ratio of discrimination to accuracy until the bound is met.
    leaf, decided = tree.apply(X), tree.predict(X)

    def ratio(candidate):
        inside = leaf == candidate
        contributes = (inside & (s == 1)).sum() / (s == 1).sum() - (inside & (s == 0)).sum() / (s == 0).sum()
        lowers = contributes if decided[inside][0] == 1 else -contributes
        costs = ((decided == y)[inside].sum() - (decided != y)[inside].sum()) / len(y)
        return lowers / costs if lowers > 0 and costs > 0 else 0  # nothing to relabel where labels balance

    by_ratio = sorted(np.unique(leaf), key=ratio, reverse=True)
    relabelled = []
    while decided[s == 1].mean() - decided[s == 0].mean() > 0.05:
        relabelled.append(by_ratio[len(relabelled)])
        decided = np.where(leaf == relabelled[-1], 1 - decided, decided)
    assert len(relabelled) > 1
    assert path.flips(choice.step)["leaf"].tolist() == relabelled
    np.testing.assert_array_equal(path.model_at(choice.step).predict(X), decided)


def test_the_votes_out_of_bag_are_those_on_the_label():
    forest = DiscriminationAwareForestClassifier(30, max_depth=3, oob_score=True, random_state=0)
    forest.fit(X, y, sensitive_features=s)
    votes, n_votes = np.zeros((len(y), 2)), np.zeros(len(y))
    for tree, inside in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        outside = np.setdiff1d(np.arange(len(y)), inside)
        votes[outside] += tree.predict_proba(X[outside])
        n_votes[outside] += 1
    np.testing.assert_allclose(forest.oob_decision_function_, votes / n_votes[:, None])
    assert forest.oob_score_ == pytest.approx((votes.argmax(axis=1) == y).mean())
    forest.set_params(oob_score=balanced_accuracy_score).fit(X, y, sensitive_features=s)
    assert forest.oob_score_ == pytest.approx(balanced_accuracy_score(y, votes.argmax(axis=1)))


def test_a_warm_start_keeps_the_trees_it_has():
    forest = DiscriminationAwareForestClassifier(3, warm_start=True, random_state=0).fit(X, y, sensitive_features=s)
    first = list(forest.estimators_)
    forest.set_params(n_estimators=5).fit(X, y, sensitive_features=s)
    at_once = DiscriminationAwareForestClassifier(5, random_state=0).fit(X, y, sensitive_features=s)
    assert forest.estimators_[:3] == first
    np.testing.assert_array_equal(forest.predict_proba(X), at_once.predict_proba(X))


def test_sparse_rows_and_frames():
    dense = DiscriminationAwareForestClassifier(3, random_state=0).fit(X, y, sensitive_features=s)
    from_sparse = clone(dense).fit(sparse.csr_matrix(X), y, sensitive_features=s)
    np.testing.assert_array_equal(from_sparse.predict_proba(X), dense.predict_proba(X))
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    named = clone(dense).fit(table, pd.Series(y), sensitive_features=pd.Series(s))
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(named.predict_proba(table), dense.predict_proba(X))


def test_it_predicts_what_is_missing():
    holes = X.copy()
    holes[::7, 0] = np.nan
    forest = DiscriminationAwareForestClassifier(3, random_state=0).fit(holes, y, sensitive_features=s)
    assert view_ensemble(forest).n_trees == 3
    assert forest.predict(holes).shape == y.shape


# In EiFFFeLClassifier.


def test_the_classifier_passes_the_groups_of_the_training_rows_on():
    clf = EiFFFeLClassifier(DiscriminationAwareForestClassifier(5, random_state=0), epsilon=0.1, random_state=0)
    clf.fit(X, y, sensitive_features=s)
    assert type(clf.estimator_) is DiscriminationAwareForestClassifier
    # The bootstrap depends on the order of the rows, so they are split again.
    train, rest = train_test_split(np.arange(400), test_size=0.25, random_state=0, stratify=2 * s + y)
    np.testing.assert_array_equal(rest, clf.selection_rows_)
    by_hand = clone(clf.estimator).fit(X[train], y[train], sensitive_features=s[train])
    np.testing.assert_array_equal(clf.path_.model.predict_proba(X), by_hand.predict_proba(X))


@BOTH
def test_the_groups_are_routed_where_routing_is_on(model):
    clf = EiFFFeLClassifier(clone(model).set_params(max_depth=4), epsilon=0.1, random_state=0)
    without = clone(clf).fit(X, y, sensitive_features=s)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(clf).fit(X, y, sensitive_features=s)
        scores = cross_val_score(clf, X, y, params={"sensitive_features": s}, cv=3)
        alone = cross_val_score(model, X, y, params={"sensitive_features": s}, cv=3)
        pipe = make_pipeline(StandardScaler(), clone(model)).fit(X, y, sensitive_features=s)
    np.testing.assert_array_equal(routed.predict_proba(X), without.predict_proba(X))
    assert scores.min() > 0.5
    assert alone.min() > 0.5
    assert pipe.score(X, y) > 0.5


def test_bagging_passes_the_groups_on_where_routing_is_on():
    with sklearn.config_context(enable_metadata_routing=True):
        bagging = BaggingClassifier(DiscriminationAwareTreeClassifier(max_depth=3), 4, random_state=0)
        clf = EiFFFeLClassifier(bagging, epsilon=0.1, random_state=0).fit(X, y, sensitive_features=s)
    assert all(type(tree) is DiscriminationAwareTreeClassifier for tree in clf.estimator_.estimators_)
    assert clf.selection_.met


# Bad input.


@BOTH
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"monotonic_cst": [1, 0, 0]}, "monotonic_cst is not supported: .* no monotonic constraints for two targets"),
        ({"max_depth": -1}, "The 'max_depth' parameter of DiscriminationAware"),
        ({"class_weight": {0: 1, 7: 2}}, "class"),
        ({"class_weight": "bal"}, "class_weight must be None, 'balanced' or a dict from label to weight, got 'bal'"),
        ({"class_weight": [{0: 1, 1: 2}]}, "class_weight must be None, 'balanced' or a dict"),
    ],
)
def test_parameters_that_are_refused(model, changes, message):
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(**changes).fit(X, y, sensitive_features=s)


def test_balancing_each_bootstrap_sample_is_refused():
    forest = DiscriminationAwareForestClassifier(class_weight="balanced_subsample")
    with pytest.raises(ValueError, match="would balance the groups of each bootstrap sample along with its labels"):
        forest.fit(X, y, sensitive_features=s)


@BOTH
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": np.arange(400)}, "y must have two labels, got 400"),
        ({"y": np.zeros(400)}, "y must have two labels, got only 0"),
        ({"sensitive_features": None}, "sensitive_features is missing"),
        ({"sensitive_features": np.arange(400)}, "sensitive_features has 400 groups, and 50 are the most"),
        ({"sensitive_features": s[:-1]}, "has 399 entries for 400 rows"),
        ({"sample_weight": -np.ones(400)}, "must be finite and not negative"),
        ({"sample_weight": s}, "no row of group 0 with a weight above 0"),
        ({"sample_weight": y}, "the training rows are of one class only"),
    ],
)
def test_rows_that_are_refused(model, changes, message):
    given = {"y": y, "sensitive_features": s} | changes
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, given.pop("y"), **given)


@BOTH
def test_labels_in_another_order_than_the_rows_are_refused(model):
    pd = pytest.importorskip("pandas")
    table, labels = pd.DataFrame(X), pd.Series(y).sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match="y of the training rows has the index of X in another order"):
        clone(model).fit(table, labels, sensitive_features=s)


@BOTH
def test_without_groups_the_error_names_the_class(model):
    with pytest.raises(TypeError, match=rf"{type(model).__name__}.fit\(\) missing .* 'sensitive_features'"):
        clone(model).fit(X, y)


def test_the_criterion_is_no_parameter():
    with pytest.raises(TypeError, match="criterion"):
        DiscriminationAwareForestClassifier(criterion="gini")


class GroupedForest(GroupedByRow, DiscriminationAwareForestClassifier):
    pass


class GroupedTree(GroupedByRow, DiscriminationAwareTreeClassifier):
    pass


BY_PLACE = "the groups that the test supplies go by the place of a row, and rows left out move the others"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": BY_PLACE,
    "check_sample_weight_equivalence_on_sparse_data": BY_PLACE,
}


@parametrize_with_checks(
    [GroupedForest(3, random_state=0), GroupedTree(random_state=0)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learns_estimator_checks(estimator, check):
    check(estimator)
