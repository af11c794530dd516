"""Monotone models: those that say so are refused, those whose files do not say it are asked about."""

import json
import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier

from eifffel import (
    EiFFFeLClassifier,
    HiddenMonotoneWarning,
    UnsupportedModelError,
    load,
    save,
    trace_path,
    view_ensemble,
)
from eifffel.ensembles._monotone import LeafBoxes, find_ordered

VALUES = 4


def draw_tree(random, n_features, n_categories, depth):
    """Splits of whole numbers, and of the categories of the last feature, as a function of a row and as boxes."""
    leaves = []

    def grow(limits, has, depth):
        splits = [(f, t) for f in range(n_features) for t in range(1, VALUES) if limits[f][0] < t < limits[f][1]]
        if depth == 0 or random.rand() < 0.2 or not splits:
            leaves.append((float(random.randint(-2, 3)), limits, has))
            return
        if has.sum() > 1 and random.rand() < 0.3:
            chosen = np.flatnonzero(has)
            goes = np.zeros_like(has)
            goes[random.choice(chosen, random.randint(1, len(chosen)), replace=False)] = True
            grow(limits, has & ~goes, depth - 1)
            grow(limits, has & goes, depth - 1)
            return
        f, t = splits[random.randint(len(splits))]
        low, high = limits[f]
        grow([*limits[:f], (low, t), *limits[f + 1 :]], has, depth - 1)
        grow([*limits[:f], (t, high), *limits[f + 1 :]], has, depth - 1)

    grow([(-np.inf, np.inf)] * n_features, np.ones(n_categories, bool), depth)
    limits = np.array([limits for _, limits, _ in leaves])
    boxes = LeafBoxes(
        value=np.array([value for value, _, _ in leaves]),
        limits={f: limits[:, f].T for f in range(n_features)},
        categories={n_features: np.array([has for _, _, has in leaves])},
    )

    def decide(row):
        inside = [all(low <= x < high for x, (low, high) in zip(row, own, strict=False)) for _, own, _ in leaves]
        (value,) = [leaf[0] for leaf, here in zip(leaves, inside, strict=True) if here and leaf[2][row[-1]]]
        return value

    return boxes, decide


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**20), n_trees=st.integers(1, 3), depth=st.integers(1, 3))
def test_ordered_features_are_those_along_which_no_row_rises_or_none_falls(seed, n_trees, depth):
    random = np.random.RandomState(seed)
    n_features, n_categories = 2, 2
    trees = [draw_tree(random, n_features, n_categories, depth) for _ in range(n_trees)]
    found = find_ordered([boxes for boxes, _ in trees])
    rows = list(product(*[range(VALUES)] * n_features, range(n_categories)))
    deep = max(len(boxes.value) for boxes, _ in trees) > 2
    for f in range(n_features):
        rises = falls = False
        for _, decide in trees:
            for row in rows:
                for more in range(row[f] + 1, VALUES):
                    change = decide((*row[:f], more, *row[f + 1 :])) - decide(row)
                    rises, falls = rises or change > 0, falls or change < 0
        places = {limit for boxes, _ in trees for limit in boxes.limits[f].ravel() if np.isfinite(limit)}
        expected = (1 if rises else -1) if deep and rises != falls and len(places) > 1 else None
        assert found.get(f) == expected


def test_the_same_in_blocks_of_pairs(monkeypatch):
    from eifffel.ensembles import _monotone

    trees = [draw_tree(np.random.RandomState(seed), 2, 2, 3)[0] for seed in range(40)]
    whole = [find_ordered([tree]) for tree in trees]
    monkeypatch.setattr(_monotone, "LEAF_PAIRS_AT_ONCE", 3)
    assert [find_ordered([tree]) for tree in trees] == whole
    assert any(whole)


# Models of XGBoost, whose files do not hold constraints.


def applicants(n_rows=1500, seed=0):
    pd = pytest.importorskip("pandas")
    random = np.random.RandomState(seed)
    s = random.randint(0, 2, n_rows)
    X = pd.DataFrame(
        {
            "arrears": random.randint(0, 9, n_rows),
            "income": (random.normal(size=n_rows) + 3 * s).round(2),
            "age": random.randint(18, 80, n_rows),
            "owner": random.randint(0, 2, n_rows),
        }
    )
    wave = np.sin(X["age"] / 6)
    y = (X["income"] - X["arrears"] / 3 + wave + random.normal(size=n_rows) > 0).astype(int)
    return X, y.to_numpy(), s


def constrained(**params):
    xgboost = pytest.importorskip("xgboost")
    X, y, _ = applicants()
    params = {"n_estimators": 20, "n_jobs": 1, "monotone_constraints": {"arrears": -1, "income": 1}, **params}
    return xgboost.XGBClassifier(**params).fit(X, y)


def read_back(model, tmp_path, *, bare, ending="json"):
    xgboost = pytest.importorskip("xgboost")
    file = tmp_path / f"model.{ending}"
    model.save_model(file)
    if bare:
        return xgboost.Booster(model_file=file)
    other = xgboost.XGBClassifier()
    other.load_model(file)
    return other


def trace(model, **options):
    X, y, s = applicants()
    return trace_path(model, X, y, sensitive_features=s, favorable=1, **options)


@pytest.mark.parametrize("ending", ["json", "ubj"])
@pytest.mark.parametrize("bare", [True, False])
def test_a_file_of_a_constrained_model_is_asked_about(tmp_path, bare, ending):
    model = read_back(constrained(), tmp_path, bare=bare, ending=ending)
    with pytest.warns(HiddenMonotoneWarning, match=r"in 'arrears' \(falling\), 'income' \(rising\): .* monotone={}"):
        trace(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert trace(model, monotone={}).n_steps
        assert trace(model, monotone={"arrears": 0}).n_steps
    for named in ({"arrears": -1, "income": 1}, {0: -1}):
        with pytest.raises(UnsupportedModelError, match=r"is monotone in 'arrears' \(falling\).*train it without"):
            trace(model, monotone=named)


def test_it_is_asked_before_rows_are_placed(tmp_path, monkeypatch):
    model = read_back(constrained(), tmp_path, bare=True)
    monkeypatch.setattr(type(view_ensemble(model)), "apply", lambda *given, **options: pytest.fail("rows were placed"))
    with pytest.raises(HiddenMonotoneWarning):  # warnings are errors in the tests
        trace(model)


@pytest.mark.parametrize(
    ("monotone", "error", "message"),
    [
        ({"arrear": -1}, ValueError, "monotone names 'arrear', not among the features of the model, 'arrears', 'inc"),
        ({7: 1}, ValueError, "monotone names 7, not among"),
        ({"arrears": 2}, ValueError, "monotone must have 1, -1 or 0 for each feature, got 2 for 'arrears'"),
        ({"arrears": True}, ValueError, "monotone must have 1, -1 or 0"),
        ((1, 0), TypeError, "monotone must be None or a dict of features"),
    ],
)
def test_constraints_that_cannot_be(monotone, error, message):
    X, y, s = applicants(200)
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(error, match=message):
        trace_path(model, X, y, sensitive_features=s, monotone=monotone)


def test_a_model_of_any_library_that_is_named_monotone_is_refused():
    X, y, s = applicants(200)
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="this RandomForestClassifier is monotone in 'income'"):
        trace_path(model, X, y, sensitive_features=s, monotone={"income": 1})


def test_free_models_are_not_asked_about(tmp_path):
    free = read_back(constrained(monotone_constraints=None), tmp_path, bare=True)
    stumps = read_back(constrained(max_depth=1), tmp_path, bare=True)  # free ones look the same
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (free, stumps):
            assert trace(model).n_steps


def test_columns_of_two_values_and_sensitive_columns_are_not_asked_about(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y, _ = applicants()
    model = read_back(constrained(monotone_constraints={"owner": 1, "arrears": -1}), tmp_path, bare=True)
    assert view_ensemble(model).hidden_monotone() == {"arrears": -1}
    worst = pd.Series(np.where(X["arrears"] > 4, "late", "in time"), name="arrears")
    with warnings.catch_warnings():
        warnings.simplefilter("error", HiddenMonotoneWarning)
        warnings.filterwarnings("ignore", message="the leaves of this")
        trace_path(model, X, y, sensitive_features=worst, favorable=1)


def test_a_classifier_that_was_trained_here_is_not_asked_about(tmp_path):
    """That constraints are none is known of it; of one that was read from a file, or of a Booster, nobody knows."""
    X = applicants()[0][["arrears", "owner"]]
    xgboost = pytest.importorskip("xgboost")
    label = (X["arrears"] + 3 * X["owner"] < 6).astype(int)  # ordered without being constrained
    model = xgboost.XGBClassifier(n_estimators=5, n_jobs=1).fit(X, label)
    assert view_ensemble(model).hidden_monotone() == {}
    for bare in (True, False):
        assert view_ensemble(read_back(model, tmp_path, bare=bare)).hidden_monotone() == {"arrears": -1}
    given_parameters = xgboost.Booster({"eta": 0.1, "max_depth": 3}, model_file=tmp_path / "model.json")
    assert view_ensemble(given_parameters).hidden_monotone() == {"arrears": -1}


@pytest.mark.filterwarnings("ignore::eifffel.SeenRowsWarning")
def test_a_frozen_model_in_the_classifier(tmp_path):
    X, y, s = applicants()
    frozen = FrozenEstimator(read_back(constrained(), tmp_path, bare=False))
    with pytest.warns(HiddenMonotoneWarning):
        EiFFFeLClassifier(frozen, random_state=0).fit(X, y, sensitive_features=s)
    with warnings.catch_warnings():
        warnings.simplefilter("error", HiddenMonotoneWarning)
        EiFFFeLClassifier(frozen, monotone={}, random_state=0).fit(X, y, sensitive_features=s)
    with pytest.raises(UnsupportedModelError, match="is monotone in 'arrears'"):
        EiFFFeLClassifier(frozen, monotone={"arrears": -1}).fit(X, y, sensitive_features=s)


def test_constraints_survive_what_keeps_the_parameters(tmp_path):
    """Pickles and eifffel's own files hold them, and the model is refused as the one that was trained."""
    pytest.importorskip("skops")
    model = constrained()
    around = FixedThresholdClassifier(FrozenEstimator(model), threshold=0.4).fit(*applicants()[:2])
    for whole in (model, around):
        with pytest.raises(UnsupportedModelError, match="monotone_constraints"):
            trace(whole)
    save(model, tmp_path / "model.skops")
    with pytest.raises(UnsupportedModelError, match="monotone_constraints"):
        trace(load(tmp_path / "model.skops"))


def test_boxes_are_those_of_the_leaves():
    """With numbers, missing values and categories."""
    xgboost = pytest.importorskip("xgboost")
    from eifffel.ensembles._xgboost import _boxes_of

    X, y, _ = applicants(600)
    X["job"] = (X["age"] % 7).astype(str).astype("category")
    y = y ^ np.isin(X["job"].cat.codes, [1, 4])
    model = xgboost.XGBClassifier(
        n_estimators=6, n_jobs=1, enable_categorical=True, max_cat_to_onehot=2, tree_method="hist"
    ).fit(X, y)
    view = view_ensemble(model)
    leaves = view.apply(view.check_rows(X))
    numbers = X.assign(job=X["job"].cat.codes).to_numpy(np.float32)
    seen_categories = False
    for t, tree in enumerate(json.loads(view._raw)["learner"]["gradient_booster"]["model"]["trees"]):
        boxes = _boxes_of(tree)
        inside = np.ones((len(X), len(boxes.value)), bool)
        for feature, (low, high) in boxes.limits.items():
            inside &= (numbers[:, [feature]] >= low.astype(np.float32)) & (
                numbers[:, [feature]] < high.astype(np.float32)
            )
        named = sorted({c for node in tree["categories_nodes"] for c in _named(tree, node)})
        for feature, has in boxes.categories.items():
            seen_categories = True
            place = [named.index(c) if c in named else len(named) for c in numbers[:, feature].astype(int)]
            inside &= has[:, place].T
        assert (inside.sum(axis=1) == 1).all()
        value = view.leaf_value[view.leaf_offset[t] + leaves[t]]
        np.testing.assert_array_equal(boxes.value[inside.argmax(axis=1)].astype(np.float32), value.astype(np.float32))
    assert seen_categories


def _named(tree, node):
    k = tree["categories_nodes"].index(node)
    begin = tree["categories_segments"][k]
    return tree["categories"][begin : begin + tree["categories_sizes"][k]]
