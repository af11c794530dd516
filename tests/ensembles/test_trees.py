"""Tables of trees: rows go to the leaves that the library itself gives, whatever their values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from boosters import BOOSTED, POLARS_CATEGORIES, POLARS_NUMBERS, skip_unless_polars
from draws import people
from eifffel.ensembles import _traversal, view_ensemble
from eifffel.ensembles._traversal import Traversal
from eifffel.ensembles.trees import TreeTable, count_up_leaves
from eifffel.exceptions import UnsupportedModelError
from probes import check_leaves, probe

X, y, _ = people(300, seed=3)
# Values with few digits, none, and many, so that thresholds are of all kinds.
X = np.column_stack([X, np.random.RandomState(0).normal(size=len(y)) * 1e4, np.random.RandomState(1).rand(len(y))])
HOLES = np.where(np.random.RandomState(2).uniform(size=X.shape) < 0.2, np.nan, X)
TREES = {
    "tree": DecisionTreeClassifier(random_state=0),
    "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
    "leaf": DecisionTreeClassifier(min_samples_leaf=200, random_state=0),
    "forest": RandomForestClassifier(6, random_state=0),
    "extra trees": ExtraTreesClassifier(6, random_state=0),
    "bagging, some features": BaggingClassifier(n_estimators=6, max_features=0.5, random_state=0),
    "bagging, few samples": BaggingClassifier(n_estimators=6, max_samples=3, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=5, random_state=0),
    "histograms, categories": HistGradientBoostingClassifier(
        max_iter=12, min_samples_leaf=2, categorical_features=[1, 2], random_state=0
    ),
}


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("rows", [X, HOLES], ids=["whole", "with holes"])
def test_trees_of_scikit_learn(name, rows):
    model = TREES[name].fit(rows, y)
    view = view_ensemble(model)
    check_leaves(view, probe(view, rows))


def test_gradient_boosting():
    model = GradientBoostingClassifier(n_estimators=12, random_state=0).fit(X, y)
    view = view_ensemble(model)
    check_leaves(view, probe(view, X, missing=False))


@pytest.mark.parametrize("name", BOOSTED)
def test_boosted_models(name):
    view = view_ensemble(BOOSTED[name](X, y))
    check_leaves(view, probe(view, X, missing="gradient" not in name))


def test_sparse_rows_are_placed_by_the_library():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    model = RandomForestClassifier(6, random_state=0).fit(X, y)
    view = view_ensemble(model)
    rows = scipy_sparse.csr_matrix(np.round(X))
    checked = view.check_rows(rows)
    assert view._values(checked) is None
    np.testing.assert_array_equal(view.apply(checked), view.apply(view.check_rows(np.round(X))))


# A table of trees that nobody trained, and its slow, obvious twin.

VALUES = [np.nan, -np.inf, -2.0, -1.0, -0.0, 0.0, 1e-36, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, np.inf]


@st.composite
def tables(draw):
    """Trees of a few levels; splits by thresholds and by categories, in both types."""
    seen_as = draw(st.sampled_from([np.float32, np.float64]))
    others_left, strict = draw(st.booleans()), seen_as is np.float32 and draw(st.booleans())
    nodes, offset, sets = [], [0], []
    for _ in range(draw(st.integers(1, 4))):
        tree, pending = [], [0]
        tree.append(None)
        depth = {0: 0}
        while pending:
            node = pending.pop(0)
            if depth[node] < 4 and draw(st.integers(0, 3)):
                left = len(tree)
                tree += [None, None]
                for child in (left, left + 1):
                    depth[child] = depth[node] + 1
                    pending.append(child)
                feature = draw(st.integers(0, 3))
                own_set = -1
                if feature == 3:
                    own_set = len(sets)
                    sets.append(np.array(sorted(draw(st.sets(st.sampled_from([0, 1, 2, 3, 40]), min_size=1)))))
                threshold = draw(st.sampled_from(VALUES[1:]))
                tree[node] = (left, left + 1, feature, threshold, draw(st.booleans()), own_set)
            else:
                tree[node] = (-1, -1, 0, 0.0, False, -1)
        nodes += tree
        offset.append(len(nodes))
    left, right, feature, threshold, missing_left, category_set = map(np.array, zip(*nodes, strict=True))
    return TreeTable(
        offset=np.array(offset),
        left=left,
        right=right,
        feature=feature,
        threshold=threshold.astype(seen_as),
        missing_left=missing_left,
        leaf=count_up_leaves(np.array(offset), left < 0),
        seen_as=seen_as,
        strict=strict,
        category_set=category_set,
        categories=sets,
        others_left=others_left,
        zeros_missing=tuple(draw(st.sets(st.integers(0, 2)))),
        zero=draw(st.sampled_from([0.0, 1e-35])),
    )


def walk(table, t, row):
    """The leaf of a row in a tree, as `TreeTable` says it."""
    node = table.offset[t]
    while table.left[node] >= 0:
        feature = table.feature[node]
        value = table.seen_as(row[feature])
        if abs(value) <= table.zero:
            value = table.seen_as(0)
        if np.isnan(value) or (feature in table.zeros_missing and value == 0):
            goes_left = table.missing_left[node]
        elif table.category_set[node] >= 0:
            named = value >= 0 and np.trunc(value) in table.categories[table.category_set[node]]
            goes_left = named != table.others_left
        elif table.strict:
            goes_left = value < table.threshold[node]
        else:
            goes_left = value <= table.threshold[node]
        node = table.offset[t] + (table.left if goes_left else table.right)[node]
    return table.leaf[node]


@settings(max_examples=150, deadline=None)
@given(
    table=tables(),
    rows=st.lists(st.lists(st.sampled_from([*VALUES, 40.0, 40.7]), min_size=4, max_size=4), min_size=1, max_size=9),
    times=st.sampled_from([1, 130]),
)
def test_a_traversal_is_a_walk_from_node_to_node(table, rows, times):
    values = np.array(rows * times, table.seen_as)  # more rows than go side by side
    index = np.empty((table.n_trees, len(values)), np.uint8)
    Traversal.of(table).place(values, index, n_jobs=1, verbose=0)
    expected = [[walk(table, t, row) for row in values[: len(rows)]] for t in range(table.n_trees)]
    np.testing.assert_array_equal(index, np.tile(expected, times))


def test_codes_are_in_the_order_of_numbers():
    numbers = np.array([-np.inf, -3e38, -1.0, -1e-45, 0.0, 1e-45, 1.0, 1.0000001, 3e38, np.inf], np.float32)
    assert (np.diff(_traversal.code_floats(numbers).astype(np.int64)) > 0).all()
    assert _traversal.code_floats(numbers)[0] > _traversal.LOWEST
    assert _traversal.code_floats(numbers)[-1] < _traversal.HIGHEST


@pytest.mark.parametrize(
    ("name", "node", "child"),
    [("left", 0, 0), ("left", 0, 2), ("right", 2, 0), ("right", 2, 1), ("right", 0, 99), ("right", 2, -1)],
)
def test_nodes_that_are_no_tree_are_refused(name, node, child):
    tree = {"left": [1, -1, 3, -1, -1], "right": [2, -1, 4, -1, -1]}
    tree[name][node] = child
    left, right = (np.array(tree[side]) for side in ("left", "right"))
    table = TreeTable(
        offset=np.array([0, 5]),
        left=left,
        right=right,
        feature=np.zeros(5, np.int64),
        threshold=np.zeros(5),
        missing_left=np.zeros(5, bool),
        leaf=count_up_leaves(np.array([0, 5]), left < 0),
        seen_as=np.float64,
    )
    with pytest.raises(UnsupportedModelError, match=r"the nodes of tree 0 of this model are no tree"):
        Traversal.of(table)


def test_sets_without_categories():
    table = TreeTable(
        offset=np.array([0, 3]),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        feature=np.zeros(3, np.int64),
        threshold=np.zeros(3),
        missing_left=np.array([True, False, False]),
        leaf=np.array([-1, 0, 1]),
        seen_as=np.float64,
        category_set=np.array([0, -1, -1]),
        categories=[np.zeros(0, np.int64)],
    )
    index = np.empty((1, 4), np.uint8)
    Traversal.of(table).place(np.array([[0.0], [3.0], [np.nan], [-1.0]]), index, n_jobs=1, verbose=0)
    assert index.tolist() == [[1, 1, 0, 1]]


def test_what_does_not_fit_into_a_node_is_left_to_the_library(monkeypatch):
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    view = view_ensemble(model)
    expected = view.apply(view.check_rows(X))
    view = view_ensemble(model)
    monkeypatch.setattr(Traversal, "of", lambda table, n_jobs: None)
    np.testing.assert_array_equal(view.apply(view.check_rows(X)), expected)


# What each library has of its own.


def test_xgboost_compares_float32_and_has_a_number_for_missing_values():
    xgboost = pytest.importorskip("xgboost")
    rows = np.nan_to_num(HOLES, nan=-999.0)
    model = xgboost.XGBClassifier(n_estimators=12, max_depth=4, missing=-999, n_jobs=1).fit(rows, y)
    view = view_ensemble(model)
    tried = probe(view, rows)
    tried = np.concatenate([tried, np.where(np.isnan(tried), -999, tried), tried[:, ::-1]])
    assert (tried == -999).any()
    assert (tried.astype(np.float32) != tried).any(), "float64 that are rounded to a threshold"
    check_leaves(view, tried)
    # What XGBoost refuses is refused in its words.
    for value in (np.inf, 1e300):
        huge = rows.copy()
        huge[7, 1] = value
        with pytest.raises(xgboost.core.XGBoostError) as theirs:
            view._library_leaves(huge, n_jobs=1, verbose=0)
        with pytest.raises(xgboost.core.XGBoostError) as ours:
            view.apply(huge)
        words = [str(error.value).partition("Check failed")[2].splitlines()[0] for error in (theirs, ours)]
        assert words[0] == words[1] != ""


def test_xgboost_with_numbers_of_categories():
    xgboost = pytest.importorskip("xgboost")
    kinds = np.random.RandomState(4).randint(0, 9, (len(y), 2))
    rows = np.column_stack([X[:, :2], kinds])
    for one_by_one in (1, 20):
        model = xgboost.XGBClassifier(
            n_estimators=12, feature_types=["q", "q", "c", "c"], enable_categorical=True, tree_method="hist",
            max_cat_to_onehot=one_by_one, n_jobs=1,
        ).fit(rows, y)  # fmt: skip
        view = view_ensemble(model)
        assert view.table.by_category.any()
        check_leaves(view, probe(view, rows))


WORDS = ["a", "b", "c", "d", "e", "f"]


def frame_of_words(known=WORDS):
    pandas = pytest.importorskip("pandas")
    words = np.array(WORDS, dtype=object)[np.random.RandomState(4).randint(0, 6, len(y))]
    words[np.random.RandomState(5).rand(len(y)) < 0.1] = np.nan
    number = np.random.RandomState(6).randint(0, 4, len(y)) * 10
    frame = pandas.DataFrame(
        {"p": HOLES[:, 0], "word": pandas.Categorical(words), "number": pandas.Categorical(number)}
    )
    return frame.assign(word=frame["word"].cat.set_categories(known))


@pytest.mark.parametrize("one_by_one", [1, 20])
@pytest.mark.parametrize("missing", [np.nan, 2.0])
def test_xgboost_with_frames_of_categories(one_by_one, missing):
    xgboost = pytest.importorskip("xgboost")
    frame = frame_of_words()
    # Words and numbers on which the label depends in no order.
    target = frame["word"].isin(["b", "e", "f"]).to_numpy() ^ frame["number"].isin([10, 30]).to_numpy() ^ (y > 0)
    model = xgboost.XGBClassifier(
        n_estimators=12, enable_categorical=True, tree_method="hist", max_cat_to_onehot=one_by_one, missing=missing,
        n_jobs=1,
    ).fit(frame, target.astype(int))  # fmt: skip
    for view in (view_ensemble(model), view_ensemble(model.get_booster())):
        assert len(np.unique(view.table.feature[view.table.by_category])) == 2
        check_leaves(view, frame)
        for known in (WORDS[::-1], list("fab"), ["e"]):
            # Other than in training: XGBoost 3.1 and later know words again, earlier ones their places.
            check_leaves(view, frame_of_words(known))
        check_leaves(view, frame.assign(word=frame["word"].where(frame["word"].isna())))
    # What XGBoost refuses is refused in its words.
    unseen = frame_of_words([*WORDS, "g"])
    try:
        expected = view._library_leaves(unseen, n_jobs=1, verbose=0)
    except xgboost.core.XGBoostError:
        with pytest.raises(xgboost.core.XGBoostError, match="Found a category not in the training set"):
            view.apply(unseen)
    else:
        np.testing.assert_array_equal(view.apply(unseen), expected)


def test_xgboost_knows_words_that_stand_after_others_beyond_ascii_only_by_itself():
    xgboost, pandas = pytest.importorskip("xgboost"), pytest.importorskip("pandas")
    known = ["a", "b", "é", "ß", "abc"]
    words = np.array(known)[np.random.RandomState(0).randint(0, 5, len(y))]
    frame = pandas.DataFrame({"word": pandas.Categorical(words, categories=known), "p": X[:, 0]})
    target = np.isin(words, ["b", "abc"]).astype(int)
    model = xgboost.XGBClassifier(n_estimators=8, enable_categorical=True, tree_method="hist", n_jobs=1)
    view = view_ensemble(model.fit(frame, target))
    words = np.where(np.arange(len(y)) == 77, "abc", np.where(words == "a", "a", "b"))
    plain = frame.assign(word=pandas.Categorical(words, categories=["a", "b", "abc"]))
    check = check_leaves if view._known_categories[0] is None else check_by_library
    check(view, plain)


def test_xgboost_with_words_beyond_ascii():
    xgboost = pytest.importorskip("xgboost")
    frame = frame_of_words()
    model = xgboost.XGBClassifier(n_estimators=12, enable_categorical=True, tree_method="hist", n_jobs=1)
    words = frame["word"].cat.rename_categories({"b": "ä"})
    view = view_ensemble(model.fit(frame.assign(word=words), y))
    check = check_leaves if view._known_categories == [None] * 3 else check_by_library
    check(view, frame.assign(word=words))


def test_xgboost_with_categories_of_polars():
    skip_unless_polars("xgboost", POLARS_CATEGORIES)
    import polars
    import xgboost

    frame = frame_of_words()
    given = polars.DataFrame(
        {
            "p": HOLES[:, 0],
            "word": polars.Series(list(frame["word"].astype(object).where(frame["word"].notna(), None))).cast(
                polars.Enum(WORDS)
            ),
            "whole": polars.Series([None, 3, *range(len(y) - 2)], dtype=polars.Int16),
            "flag": y > 0,
        }
    )
    model = xgboost.XGBClassifier(n_estimators=12, enable_categorical=True, n_jobs=1)
    view = view_ensemble(model.fit(given, frame["word"].isin(["b", "e"]).astype(int)))
    assert view.table.by_category.any()
    check_leaves(view, given)
    check_leaves(view, given.with_columns(word=given["word"].cast(polars.String).cast(polars.Categorical)))
    check_leaves(view, given.with_columns(word=polars.lit(None, polars.Enum(WORDS))))


@pytest.fixture
def light():
    lightgbm = pytest.importorskip("lightgbm")

    def fit(rows, given=None, **params):
        settings = {"n_estimators": 12, "min_child_samples": 3, "n_jobs": 1, "verbose": -1}
        return view_ensemble(lightgbm.LGBMClassifier(**{**settings, **params}).fit(rows, y, **(given or {})))

    return fit


def test_lightgbm_has_three_kinds_of_missing_values(light):
    tiny = X.copy()
    tiny[:, 3] *= 1e-38  # where LightGBM splits at what it takes for 0
    sparse = np.where(np.random.RandomState(5).rand(*X.shape) < 0.4, 0.0, X)
    for rows, params in (
        (X, {}),  # NaN counts as 0
        (HOLES, {}),
        (HOLES, {"use_missing": False}),
        (sparse, {"zero_as_missing": True}),
        (np.where(np.isnan(HOLES), np.nan, sparse), {"zero_as_missing": True}),
        (tiny, {}),
    ):
        view = light(rows, **params)
        assert bool(view.table.zeros_missing) == ("zero_as_missing" in params)
        check_leaves(view, probe(view, rows))
        check_leaves(view, probe(view, rows).astype(np.float32))
        check_leaves(view, np.nan_to_num(np.clip(probe(view, rows), -(2**53), 2**53)).astype(np.int64))


def test_lightgbm_with_numbers_of_categories(light):
    rows = X.copy()
    rows[:, 1] = np.random.RandomState(4).randint(0, 40, len(y))
    kinds = {"categorical_feature": [1]}
    view = light(rows, kinds, min_data_per_group=1, cat_smooth=1, max_cat_to_onehot=1)
    assert view.table.by_category.any()
    check_leaves(view, probe(view, rows))


def test_lightgbm_with_frames_whose_categories_have_another_order(light):
    pandas = pytest.importorskip("pandas")
    words = np.array(["a", "b", "c", "d", "e", "f"])[np.random.RandomState(4).randint(0, 6, len(y))]
    frame = pandas.DataFrame({"p": X[:, 0], "q": X[:, 4].astype(np.float32), "kind": pandas.Categorical(words)})
    frame["n"] = np.arange(len(y))
    view = light(frame, min_data_per_group=1, cat_smooth=1)
    assert view.table.by_category.any()
    for categories in (list("fedcba"), list("xabcdefz"), list("abc"), list("xyz")):
        other = frame.assign(kind=pandas.Series(pandas.Categorical(words)).cat.set_categories(categories))
        check_leaves(view, other)
    nullable = frame.assign(n=frame["n"].astype("Int64"))
    assert view._values(nullable) is None
    np.testing.assert_array_equal(view.apply(nullable), view.apply(frame))


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("mode", ["Min", "Max"])
def test_catboost_compares_float32_with_borders(policy, mode):
    catboost = pytest.importorskip("catboost")
    for rows in (X, HOLES):
        model = catboost.CatBoostClassifier(
            iterations=12, depth=5, grow_policy=policy, nan_mode=mode, thread_count=1, verbose=False,
            allow_writing_files=False, random_seed=0,
        ).fit(rows, y)  # fmt: skip
        view = view_ensemble(model)
        assert view.table.oblivious == (policy == "SymmetricTree")
        check_leaves(view, probe(view, rows, missing=rows is HOLES))
        frame = pytest.importorskip("pandas").DataFrame(rows)
        frame[1] = frame[1].round().fillna(0).astype(int)
        check_leaves(view, frame)


def catboost_of(rows, cat_features, **params):
    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 12, "depth": 4, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    return catboost.CatBoostClassifier(**settings, random_seed=0, cat_features=cat_features, **params).fit(rows, y)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
def test_catboost_with_categories_one_against_the_others(policy):
    pandas = pytest.importorskip("pandas")
    random = np.random.RandomState(4)
    towns = np.array(["Rome", "Köln", "Oslo", "", "nan"], dtype=object)[random.randint(0, 5, len(y))]
    frame = pandas.DataFrame({"p": HOLES[:, 0], "town": towns, "street": random.randint(-2, 5, len(y)), "q": X[:, 4]})
    frame["kind"] = pandas.Categorical(np.where(random.rand(len(y)) < 0.5, "a", "b"))
    target = (towns == "Rome") ^ (frame["street"] == 2)
    model = catboost_of(
        frame, ["town", "street", "kind"], one_hot_max_size=20, grow_policy=policy, nan_mode="Min"
    )  # which y alone would seldom split by
    model.fit(frame, target.astype(int))
    view = view_ensemble(model)
    assert len(np.unique(view.table.feature[view.table.by_category])) > 1
    assert (view.table.inner & ~view.table.by_category).any()
    check_leaves(view, frame)
    # Others than those of training, in another order, as other types, and as a plain array.
    other = frame.assign(town=random.permutation([*towns[:-2], "Bergen", "rome"]), street=random.randint(-9, 9, len(y)))
    check_leaves(view, other)
    check_leaves(view, other.astype({"town": "category", "street": "category", "p": np.float32}))
    check_leaves(view, other.astype({"street": str}))
    check_leaves(view, other.to_numpy())
    check_leaves(view, other.iloc[:1])
    # Words and numbers that are equal, or look it, are CatBoost's to tell apart.
    check_by_library(view, other.assign(street=[*other["street"][:-2].astype(object), "2", 2]))
    check_by_library(view, other.assign(p=[*other["p"][:-1].astype(object), "1.5"]))


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
def test_catboost_with_categories_of_polars(policy):
    skip_unless_polars("catboost", POLARS_CATEGORIES)
    import polars

    random = np.random.RandomState(4)
    given = {"p": HOLES[:, 0], "town": np.array(["Rome", "Köln", "Oslo", ""])[random.randint(0, 4, len(y))]}
    frame = polars.DataFrame({**given, "street": random.randint(-2, 5, len(y)), "q": X[:, 4]})
    model = catboost_of(frame, ["town", "street"], one_hot_max_size=20, grow_policy=policy, nan_mode="Min")
    model.fit(frame, ((frame["town"] == "Rome") ^ (frame["street"] == 2)).cast(polars.Int64))
    view = view_ensemble(model)
    assert len(np.unique(view.table.feature[view.table.by_category])) > 1
    check_leaves(view, frame)
    towns = polars.Series(random.permutation([*given["town"][:-2], "Bergen", "rome"]))
    check_leaves(view, frame.with_columns(town=towns, street=polars.Series(random.randint(-9, 9, len(y)))))


def test_catboost_places_rows_by_its_counters_of_categories_itself():
    rows = np.column_stack([X.astype(object), np.array(["a", "b", "c"])[X[:, 1].astype(int) % 3]])
    view = view_ensemble(catboost_of(rows, [5], one_hot_max_size=1))
    assert view.table is None
    check_by_library(view, rows)


def test_histograms_with_frames_of_categories():
    pandas = pytest.importorskip("pandas")
    words = np.array(["a", "b", "c", "d"])[np.random.RandomState(4).randint(0, 4, len(y))]
    frame = pandas.DataFrame({"p": X[:, 0], "kind": pandas.Categorical(words), "q": HOLES[:, 3]})
    model = HistGradientBoostingClassifier(
        max_iter=12, min_samples_leaf=2, categorical_features="from_dtype", random_state=0
    ).fit(frame, y)
    view = view_ensemble(model)
    assert view.table.by_category.any()
    for categories in (list("abcd"), list("dcba"), list("xab"), list("xyz")):
        rows = frame.assign(kind=pandas.Series(pandas.Categorical(words)).cat.set_categories(categories))
        checked = view.check_rows(rows)
        np.testing.assert_array_equal(view.apply(checked), view._library_leaves(checked, n_jobs=1, verbose=0))


def test_lightgbm_tells_true_from_one(light):
    pandas = pytest.importorskip("pandas")
    codes = np.random.RandomState(4).randint(0, 5, len(y))
    for trained, own in ((codes, codes > 2), (codes > 2, codes), (codes, codes.astype(float))):
        frame = pandas.DataFrame({"p": X[:, 0], "kind": pandas.Categorical(trained)})
        view = light(frame, min_data_per_group=1, cat_smooth=1)
        some = pandas.Series(own, dtype=object).where(np.arange(len(y)) % 97 == 5, None)
        for column in (pandas.Categorical(own), pandas.Categorical(some)):
            rows = view.check_rows(frame.assign(kind=column))
            np.testing.assert_array_equal(view.apply(rows), view._library_leaves(rows, n_jobs=1, verbose=0))
            assert (view._values(rows) is not None) == (own.dtype == float)


def test_an_unseen_word_of_polars_is_refused_in_the_words_of_xgboost():
    skip_unless_polars("xgboost", POLARS_CATEGORIES)
    import polars
    import xgboost

    words = np.array(list("abc"))[np.random.RandomState(4).randint(0, 3, len(y))]
    given = polars.DataFrame({"p": X[:, 0], "word": polars.Series(words).cast(polars.Categorical)})
    model = xgboost.XGBClassifier(n_estimators=4, enable_categorical=True, n_jobs=1).fit(given, y)
    words[77] = "zz"
    unseen = given.with_columns(word=polars.Series(words).cast(polars.Categorical))
    view = view_ensemble(model)
    with pytest.raises(xgboost.core.XGBoostError, match="Found a category not in the training set"):
        view.apply(view.check_rows(unseen))


def test_xgboost_rounds_whole_numbers_of_many_digits_itself():
    skip_unless_polars("xgboost", POLARS_NUMBERS)
    import polars

    huge = np.where(np.arange(len(y)) % 50 == 7, 2**60 + 2**36 + 1, np.arange(len(y)) * 2**52)
    given = polars.DataFrame({"p": X[:, 0], "huge": huge})
    check_by_library(view_ensemble(BOOSTED["xgboost"](given, (huge > 2**58).astype(int))), given)


def test_catboost_with_words_that_a_nul_ends_and_other_columns():
    pandas = pytest.importorskip("pandas")
    words = np.where(np.random.RandomState(4).rand(len(y)) < 0.5, "a", "b").astype(object)
    frame = pandas.DataFrame({"p": X[:, 0], "word": words, "n": np.arange(len(y)) % 3})
    model = catboost_of(frame, ["word", "n"], one_hot_max_size=9)
    model.fit(frame, ((words == "a") ^ (frame["n"] == 1)).astype(int))
    view = view_ensemble(model)
    words[77] = "a\0x"
    check_leaves(view, frame.assign(word=words))
    whole = pandas.DataFrame({"word": frame["n"] + 1, "n": frame["n"]})
    model = catboost_of(whole, ["word", "n"], one_hot_max_size=9).fit(whole, (frame["n"] == 1).astype(int))
    view = view_ensemble(model)
    check_leaves(view, whole.to_numpy())
    swapped = whole.to_numpy().astype(">i4")
    try:
        expected = view._library_leaves(swapped, n_jobs=1, verbose=0)
    except Exception as error:
        with pytest.raises(type(error)):
            view.apply(swapped)
    else:
        np.testing.assert_array_equal(view.apply(swapped), expected)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost"])
def test_frames_of_polars(name):
    skip_unless_polars(name, POLARS_NUMBERS)
    import polars

    whole = np.random.RandomState(4).randint(-300, 300, len(y))
    given = polars.DataFrame(
        {"p": HOLES[:, 0], "q": X[:, 4].astype(np.float32), "n": whole, "huge": whole * 2**33, "flag": y > 0}
    ).with_columns(p=polars.col("p").fill_nan(None))
    view = view_ensemble(BOOSTED[name](given, (whole % 7 > 2).astype(int)))
    if name == "catboost":  # which rounds whole numbers of many digits itself
        check_by_library(view, given)
        given = given.with_columns(huge=polars.col("huge").cast(polars.Float64))
    check_leaves(view, given)


# Where a table or a library's rows are not what they seem, the library is asked.


def check_by_library(view, rows):
    """The leaves of rows are the library's own, which the table cannot give."""
    checked = view._check_rows(rows)
    assert view._table_leaves(checked, n_jobs=1, verbose=0) is None
    np.testing.assert_array_equal(view.apply(checked), view._library_leaves(checked, n_jobs=1, verbose=0))


def test_leaves_that_are_not_the_librarys_are_not_taken(monkeypatch):
    view = view_ensemble(RandomForestClassifier(3, random_state=0).fit(X, y))
    rows = view.check_rows(X)
    expected = view._library_leaves(rows, n_jobs=1, verbose=0)
    monkeypatch.setattr(view, "_table_leaves", lambda *_, **__: np.zeros_like(expected))
    np.testing.assert_array_equal(view.apply(rows), expected)


@pytest.mark.parametrize("names", [list("dcba"), list("eabcd"), list("abcd")])
def test_catboost_finds_columns_by_their_names(names):
    catboost, pandas = pytest.importorskip("catboost"), pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :4], columns=list("abcd"))
    model = catboost.CatBoostClassifier(
        iterations=8, depth=3, thread_count=1, verbose=False, allow_writing_files=False
    ).fit(frame, y)
    view, rows = view_ensemble(model), frame.assign(e=1.0)[names]
    check = check_leaves if names == list("abcd") else check_by_library
    check(view, rows)
    np.testing.assert_array_equal(view.decide(view.apply(rows), rows), model.predict(rows))


@pytest.mark.parametrize("policy", ["Depthwise", "Lossguide", "SymmetricTree"])
def test_catboost_read_from_a_file(policy, tmp_path):
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostClassifier(
        iterations=8, depth=4, grow_policy=policy, thread_count=1, verbose=False, allow_writing_files=False
    ).fit(X, y)
    for kind in ("json", "cbm"):
        model.save_model(tmp_path / f"model.{kind}", format=kind)
        again = catboost.CatBoostClassifier().load_model(tmp_path / f"model.{kind}", format=kind)
        view = view_ensemble(again)
        rows = view.check_rows(X)
        np.testing.assert_array_equal(view.apply(rows), view._library_leaves(rows, n_jobs=1, verbose=0))


def test_catboost_rounds_whole_numbers_of_many_digits_itself():
    catboost = pytest.importorskip("catboost")
    huge = np.random.RandomState(0).randint(2**60, 2**61, (300, 2))
    model = catboost.CatBoostClassifier(
        iterations=8, depth=4, thread_count=1, verbose=False, allow_writing_files=False
    ).fit(huge.astype(np.float32), y)
    view = view_ensemble(model)
    borders = np.unique(view.table.threshold[view.table.inner]).astype(np.int64)
    near = (borders[:, None] + np.array([-(2**37), -(2**36) - 1, 0, 2**36 + 1, 2**37])).ravel()
    rows = np.column_stack([near, near[::-1]])
    check_by_library(view, rows)
    check_by_library(view, rows.tolist())
    check_by_library(view, pytest.importorskip("pandas").DataFrame(rows))
    check_leaves(view, rows.astype(np.float64))
    check_leaves(view, (rows % 2**20).tolist())


def test_lightgbm_with_columns_that_are_called_as_fields_of_its_text():
    lightgbm, pandas = pytest.importorskip("lightgbm"), pytest.importorskip("pandas")
    for names in (["threshold", "leaf_value", "num_leaves", "Tree"], ["left_child", "leaf_count", "a=b", "num_cat"]):
        frame = pandas.DataFrame(X[:, :4], columns=names)
        model = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1).fit(frame, y)
        check_leaves(view_ensemble(model), frame)


def test_lightgbm_whose_training_was_continued_with_other_settings():
    lightgbm = pytest.importorskip("lightgbm")
    rows = np.where(np.random.RandomState(5).rand(*X.shape) < 0.3, 0.0, X)
    rows[:, 1] = np.random.RandomState(6).randint(0, 5, len(y)) + 0.5
    plain = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 3}

    def train(first=None, categories="auto", **more):
        data = lightgbm.Dataset(rows, y, categorical_feature=categories, free_raw_data=False)
        return lightgbm.train({**plain, **more}, data, 5, init_model=first)

    check_by_library(view_ensemble(train(train(), zero_as_missing=True)), rows)
    check_by_library(view_ensemble(train(train(), categories=[1], min_data_per_group=1, cat_smooth=1)), rows)


def test_lightgbm_with_rows_of_other_kinds(light):
    pandas = pytest.importorskip("pandas")
    view = light(X)
    check_by_library(view, probe(view, X).astype(">f8"))
    for kind in (np.longdouble, np.float16, bool, np.uint64):
        rows = np.clip(np.nan_to_num(X), 0, 1000) if kind in (np.float16, bool, np.uint64) else probe(view, X)
        check_leaves(view, rows.astype(kind))
    frame = pandas.DataFrame(X, columns=list("abcde")).assign(b=pandas.Categorical(np.where(X[:, 1] > 1, "u", "v")))
    check_by_library(view, frame)
    for wrong in ([[1.0] * 5, [2.0] * 4], tuple(map(tuple, X[:3]))):
        errors = []
        for place in (lambda rows: view.apply(rows), lambda rows: view._library_leaves(rows, n_jobs=1, verbose=0)):
            with pytest.raises((TypeError, ValueError)) as error:
                place(wrong)
            errors.append((error.type, str(error.value)))
        assert errors[0] == errors[1]


def test_xgboost_with_columns_that_are_not_there_and_swapped_bytes():
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(X, y), 5)
    view = view_ensemble(booster)
    check_by_library(view, X[:, :4])
    assert view._values(X.astype(">f4")) is None
