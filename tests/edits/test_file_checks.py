"""What must hold of all that a file held: each way to lead compiled code outside of its arrays is refused."""

import copy
import io
import json
import warnings
import zipfile
from dataclasses import replace
from functools import cached_property
from importlib import import_module

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from boosters import BOOSTED
from eifffel import ConstraintNotMetWarning, EiFFFeLClassifier, ModelFileError, load, save, trace_path
from eifffel.datasets import make_biased_classification
from eifffel.edits.file_checks import (
    CHECKS,
    LATER,
    MAKERS,
    DamageError,
    check_catboost_bytes,
    check_lightgbm_text,
    check_loaded,
    check_record,
    check_xgboost_bytes,
)
from eifffel.edits.native import write_native
from eifffel.edits.record import find_record
from eifffel.edits.storage import TRUSTED_TYPES
from eifffel.strategies import FlipOrder

skops = pytest.importorskip("skops.io")

PEOPLE = make_biased_classification(300, random_state=0)
X, y, s = PEOPLE.data.copy(), PEOPLE.target, PEOPLE.sensitive
X[:, 0] = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.2, 0.4, 0.6, 0.8]))
FOREST = RandomForestClassifier(3, max_depth=3, random_state=0)


def forest():
    return copy.deepcopy(FOREST).fit(X, y)


def boosting():
    return GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)


def histograms():
    """With categories that no step before the trees makes numbers of: an attacker's file may leave it out."""
    model = HistGradientBoostingClassifier(max_iter=3, max_depth=3, min_samples_leaf=5, categorical_features=[0])
    model.fit(X, y)._preprocessor = None
    return model


def bagging():
    return BaggingClassifier(DecisionTreeClassifier(max_depth=3), 3, max_features=0.6, random_state=0).fit(X, y)


def flips():
    return trace_path(forest(), X, y, sensitive_features=s)


def shift():
    return trace_path(boosting(), X, y, sensitive_features=s)


def unmet():
    """A classifier whose bound is not certified for want of rows, and that says so."""
    with pytest.warns(ConstraintNotMetWarning):
        clf = EiFFFeLClassifier(FOREST, ratio=0.999, confidence=0.95, alpha=0.0, random_state=0).fit(
            X, y, sensitive_features=s
        )
    assert clf.selection_.shortfall is not None
    return clf


def raised():
    """A classifier that errs more about a group, and no less about the other, and says so."""
    clf = EiFFFeLClassifier(FOREST, constraint="equal_opportunity", epsilon=0.02, strategy="tree", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, y, sensitive_features=s)
    assert clf.selection_.raised_errors
    return clf


def put(**attributes):
    """What puts attributes into an object, also into one that is frozen."""
    return lambda item: vars(item).update(attributes)


def into(path, change):
    """What changes something inside an object."""

    def reach(item):
        for name in path.split("."):
            item = item[int(name)] if name.isdigit() else getattr(item, name)
        change(item)

    return reach


def tree_with(**state):
    """What gives the first tree of a forest another state."""

    def change(model):
        tree = model.estimators_[0].tree_
        make, arguments, old = tree.__reduce__()
        new = make(*arguments)
        new.__setstate__({**old, **state})
        model.estimators_[0].tree_ = new

    return change


def add(place, value):
    def change(array):
        array[place] += value

    return change


CASES = {
    "trees tiled": (boosting, lambda m: put(estimators_=np.tile(m.estimators_.T, (1, 100)))(m)),
    "trees of a forest in boosting": (boosting, lambda m: m.estimators_.__setitem__((0, 0), forest().estimators_[0])),
    "no categories": (histograms, into("_bin_mapper", put(is_categorical_=np.zeros(0, bool)))),
    "other categories": (histograms, into("_bin_mapper", put(is_categorical_=np.zeros(X.shape[1], bool)))),
    "sets of no width": (histograms, into("_predictors.0.0", put(raw_left_cat_bitsets=np.zeros((1, 0), np.uint32)))),
    "in training": (histograms, put(_in_fit=True)),
    "columns that bagging lacks": (bagging, into("estimators_features_.0", add(0, 1000))),
    "too few columns for a tree": (bagging, lambda m: m.estimators_features_.__setitem__(0, np.arange(1))),
    "more columns than trees": (forest, put(n_features_in_=100)),
    "no columns": (forest, put(n_features_in_=None)),
    "more classes than trees": (forest, put(n_classes_=10**9)),
    "more outputs than trees": (forest, put(n_outputs_=3)),
    "more threads than any machine": (forest, put(n_jobs=2**31 - 1)),
    "less deep than it is": (forest, tree_with(max_depth=0)),
    "a method that is none": (forest, put(_validate_X_predict=np.add)),
    "steps too far": (flips, into("order", lambda order: put(step=order.step + 1000)(order))),
    "leaves too far": (flips, into("order.leaf", add(0, 10**6))),
    "a leaf twice": (flips, into("order.leaf", lambda leaf: leaf.__setitem__(0, leaf[1]))),
    "steps that fall": (flips, into("order", lambda order: put(step=order.step[::-1].copy())(order))),
    "no numbers": (flips, into("order", put(step=None))),
    "leaves of fewer rows": (flips, into("leaf_counts", lambda counts: put(counts=counts.counts[:-1])(counts))),
    "steps without counts": (flips, into("counts", lambda counts: put(favorable=counts.favorable[:-1])(counts))),
    "more than all": (flips, into("counts.favorable", add(0, 10**6))),
    "groups twice": (flips, into("grouping", put(columns=((1, 1),)))),
    "groups too many": (flips, into("grouping", put(columns=(tuple(range(300)),)))),
    "privileged nobody": (flips, into("grouping", put(privileged=(7,)))),
    "other members": (flips, into("constraint.members", lambda members: members.__setitem__(..., True))),
    "a label that no class has": (flips, into("comparison", put(favorable=7))),
    "a third class": (flips, into("comparison", put(classes=(0, 1, 2)))),
    "a bound below nothing": (unmet, into("selection_.bounds", put(ratio=-1.0))),
    "a selection without bounds": (unmet, into("selection_", put(bounds=None))),
    "rows of nobody": (unmet, into("selection_.shortfall", put(rows_needed={"nobody": 10}))),
    "steps before the first": (unmet, into("selection_.shortfall", put(steps=(-1, 0)))),
    "nobody who is no name": (unmet, into("selection_.shortfall", put(absent=(7,)))),
    "errors in words": (raised, into("selection_.raised_errors.0", put(before="many"))),
    "errors about nobody": (raised, into("selection_.raised_errors.0", put(group=7))),
    "errors that are numbers": (raised, into("selection_", put(raised_errors=(0.1,)))),
    "a shift that goes nowhere": (shift, into("order.reach", add(0, np.nan))),
    "a shift at prices of other directions": (shift, into("order", put(knots=np.zeros((2, 2))))),
    "a shift in other numbers": (shift, into("order", put(knots=np.zeros((2, 1), np.float32)))),
    "a shift that begins elsewhere": (shift, into("order.knots", add((0, 0), 1.0))),
    "a shift beyond the end of its curve": (shift, into("order", put(knots=np.zeros((3, 1))))),
}


def test_a_classifier_whose_bound_is_not_certified_comes_back(tmp_path):
    clf = unmet()
    save(clf, tmp_path / "model.skops")
    assert str(load(tmp_path / "model.skops").selection_) == str(clf.selection_)


@pytest.mark.parametrize("name", CASES)
def test_a_file_that_leads_outside_of_its_arrays_is_refused(name, tmp_path):
    make, harm = CASES[name]
    model = make()
    file = tmp_path / "model.skops"
    file.write_bytes(skops.dumps(model))
    load(file)  # as it was, it is read
    harm(model)
    file.write_bytes(skops.dumps(model))
    with pytest.raises(ModelFileError, match=r"model.skops' holds .*; it is damaged, or made to do harm"):
        load(file)


def test_every_type_that_is_trusted_is_checked():
    """But for those whose numbers nothing looks anything up by."""
    plain = {
        "OrderedDict",
        "dtype",
        "LGBMClassifier",
        "XGBClassifier",
        "XGBRFClassifier",
        "TreePredictor",
        "_BinMapper",
    }
    of_losses = {"HalfLogitLink", "Interval", "LogitLink", "ExponentialLoss", "HalfBinomialLoss", "_RemainderColsList"}
    for name in TRUSTED_TYPES:
        module, _, kind = name.rpartition(".")
        if kind in plain | of_losses or name in MAKERS:
            continue
        bases = getattr(import_module(module), kind).__mro__
        known = {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in bases}
        assert known & {*CHECKS, *LATER}, f"nothing is asked of a {name} that was read from a file"


def test_a_path_with_rows_of_people_is_refused():
    with pytest.raises(DamageError, match="rows of people, which no path stores"):
        check_loaded(flips())


def rewrite(data, change):
    """A file whose schema was changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    pending, n_changed = [schema], 0
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            n_changed += bool("__class__" in item and change(item))
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    assert n_changed
    members["schema.json"] = json.dumps(schema).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_what_is_derived_is_not_stored(tmp_path):
    """And what a file has of it is not used: it could say otherwise than what it is derived from."""
    clf = EiFFFeLClassifier(FOREST, epsilon=0.03, random_state=0).fit(X, y, sensitive_features=s)
    clf.path_.select(epsilon=0.1)
    save(clf, tmp_path / "model.skops")
    with zipfile.ZipFile(tmp_path / "model.skops") as archive:
        schema = json.loads(archive.read("schema.json"))
    kinds, pending = set(), [schema]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            module = str(item.get("__module__"))
            if module.startswith("eifffel.") and isinstance(item["content"], dict):
                kind = getattr(import_module(module), item["__class__"])
                kinds.add(kind.__name__)
                derived = {
                    name for base in kind.__mro__ for name, of in vars(base).items() if isinstance(of, cached_property)
                }
                assert not derived & set(item["content"]["content"]), f"{kind} is stored with what is derived"
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    assert {"FlipOrder", "PathCounts", "Constraint", "Groups", "FairnessPath"} <= kinds

    def claim(node):
        if node["__class__"] != "FlipOrder":
            return False
        content = node["content"]
        content["content"]["positions"] = {**content["content"]["step"], "__id__": 1}
        content["key_types"]["content"].append(content["key_types"]["content"][0])
        return True

    (tmp_path / "model.skops").write_bytes(rewrite((tmp_path / "model.skops").read_bytes(), claim))
    same = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(same.path_.positions, clf.path_.positions)


@pytest.mark.parametrize("name", [name for name in ("lightgbm", "xgboost", "catboost") if name in BOOSTED])
def test_a_booster_without_a_model_is_refused(name, tmp_path):
    """Its library would go to an address that is none."""
    file = tmp_path / "model.skops"

    def empty(node):
        content = node.get("content")
        inside = content.get("content") if isinstance(content, dict) else None
        places = {"_handle", "handle", "__model"} & set(inside if isinstance(inside, dict) else ())
        for place in places:
            inside[place] = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "null"}
        return bool(places)

    file.write_bytes(rewrite(skops.dumps(BOOSTED[name](X, y)), empty))
    with pytest.raises(ModelFileError, match=r"model.skops' holds a .*; it is damaged, or made to do harm"):
        load(file)


def test_a_tree_is_made_in_one_way_only(tmp_path):
    """skops would call the type with whatever stands in the file, and trees read what they are given."""
    file = tmp_path / "model.skops"

    def call(node):
        if node["__class__"] != "Tree":
            return False
        node.update(__loader__="ConstructorFromReduceNode", content=node.pop("__reduce__")["args"])
        return True

    file.write_bytes(rewrite(skops.dumps(forest()), call))
    with pytest.raises(ModelFileError, match=r"holds a sklearn.tree._tree.Tree that is written as no such thing is"):
        load(file)
    file.write_bytes(skops.dumps({"tree": forest().estimators_[0].tree_}))
    with pytest.raises(ModelFileError, match="holds a tree that belongs to no model"):
        load(file)


@pytest.mark.parametrize("name", ["node_count", "max_depth"])
def test_a_tree_that_says_it_is_larger_is_refused(name, tmp_path):
    def enlarge(node):
        inside = node.get("content")
        if not isinstance(inside, dict) or name not in inside:
            return False
        inside[name] = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "1000000"}
        return True

    (tmp_path / "model.skops").write_bytes(rewrite(skops.dumps({"trees": forest().estimators_}), enlarge))
    for trusted in ((), ("sklearn.tree._tree.Tree",)):  # whoever trusts the type is not asked for all that it may hold
        with pytest.raises(ModelFileError, match="holds a tree whose nodes point outside of it"):
            load(tmp_path / "model.skops", trusted=trusted)


def test_functions_of_eifffels_own_are_not_called_by_a_file(tmp_path):
    def call(node):
        if node["__class__"] != "list":
            return False
        node.update(__module__="eifffel.edits.file_checks._schema", __class__="make_lightgbm_booster")
        return True

    (tmp_path / "model.skops").write_bytes(rewrite(skops.dumps(forest()), call))
    with pytest.raises(ModelFileError, match="make_lightgbm_booster, which is not loaded"):
        load(tmp_path / "model.skops")


@pytest.mark.parametrize("step", [SVC(), KNeighborsClassifier()], ids=lambda step: type(step).__name__)
def test_estimators_that_nothing_checks_must_be_named(step, tmp_path):
    model, file = make_pipeline(step).fit(X, y), tmp_path / "model.skops"
    name = f"{type(step).__module__}.{type(step).__name__}"
    with pytest.raises(ModelFileError, match=f"holds .*{name}.*, which eifffel.load would refuse"):
        save(model, file)
    file.write_bytes(skops.dumps(model))
    with pytest.raises(ModelFileError, match=f"holds .*{name}.* not loaded"):
        load(file)


@pytest.mark.skipif("lightgbm" not in BOOSTED, reason="needs lightgbm")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("num_leaves=", "num_leaves=9"),
        ("num_class=1", "num_class=1000"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=-1"),
        ("max_feature_idx=9", "max_feature_idx=8"),
        ("objective=binary", "objective=multiclass num_class:1000"),
        ("tree_sizes=", "tree_sizes=9"),
        ("split_feature=", "split_feature=4000000000 "),
        ("left_child=", "left_child=100 "),
        ("right_child=", "right_child=0 "),
        ("leaf_value=", "leaf_value=1 "),
        ("num_cat=0", "num_cat=1"),
        ("decision_type=2", "decision_type=1"),
        ("is_linear=0", "is_linear=1"),
        ("\nend of trees", "\nend"),
        ("\nend of parameters", "\nend"),
        ("[boosting: gbdt]", "[boosting"),
        ("threshold=", "threshold=x"),
    ],
)
def test_texts_of_lightgbm_are_checked_before_lightgbm_reads_them(old, new, tmp_path):
    text = BOOSTED["lightgbm"](X, y).booster_.model_to_string()
    check_lightgbm_text(text)
    assert old in text
    (tmp_path / "model.txt").write_text(text.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=r"cannot be read as a model of lightgbm: (a model|a tree|trees|linear)"):
        load(tmp_path / "model.txt")


@pytest.mark.skipif("xgboost" not in BOOSTED, reason="needs xgboost")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("left_children", [10**6]),
        ("right_children", [0]),
        ("split_indices", [1000]),
        ("parents", [5, 5]),
        ("split_conditions", None),
        ("tree_param", {"num_nodes": "1000", "num_feature": "10", "size_leaf_vector": "1"}),
        ("categories_nodes", [3]),
    ],
)
def test_documents_of_xgboost_are_checked_before_xgboost_reads_them(name, value, tmp_path):
    whole = write_native(BOOSTED["xgboost"](X, y))
    check_xgboost_bytes(whole)
    document = json.loads(whole)
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    tree[name] = [*value, *tree[name][len(value) :]] if isinstance(value, list) else value
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(
        ModelFileError, match=r"cannot be read as a model of xgboost: (a model|a tree|trees) of XGBoost"
    ):
        load(tmp_path / "model.json")


@pytest.mark.skipif("xgboost" not in BOOSTED, reason="needs xgboost")
@pytest.mark.parametrize(
    "params",
    [
        {"tree_method": "exact", "gamma": 5},  # which prunes, and leaves pruned nodes where they were
        {"booster": "gblinear", "max_depth": None},
        {"booster": "dart"},
        {"num_parallel_tree": 3},
        {"enable_categorical": True, "feature_types": ["c"] + ["q"] * (X.shape[1] - 1), "max_cat_to_onehot": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("labels", [y, y + (X[:, 0] > 2)], ids=["two classes", "three"])
def test_whole_models_of_xgboost_pass(params, labels):
    from xgboost import XGBClassifier

    booster = XGBClassifier(**{"n_estimators": 3, "max_depth": 4, "n_jobs": 1, **params}).fit(X, labels).get_booster()
    for data in (booster.__getstate__()["handle"], booster.save_raw("json"), booster.save_raw("ubj")):
        check_xgboost_bytes(bytes(data))


@pytest.mark.skipif("lightgbm" not in BOOSTED, reason="needs lightgbm")
@pytest.mark.parametrize("params", [{}, {"objective": "multiclassova"}, {"boosting_type": "dart"}], ids=str)
@pytest.mark.parametrize("labels", [y, y + (X[:, 0] > 2)], ids=["two classes", "three"])
def test_whole_models_of_lightgbm_pass(params, labels):
    from lightgbm import LGBMClassifier

    if len(np.unique(labels)) == 2 and "objective" in params:
        params = {"objective": "cross_entropy"}
    quiet = {"verbose": -1, "n_jobs": 1, "min_child_samples": 5, "min_data_per_group": 5, "max_cat_to_onehot": 1}
    model = LGBMClassifier(n_estimators=3, **quiet, **params).fit(X, labels, categorical_feature=[0])
    check_lightgbm_text(model.booster_.model_to_string())


@pytest.mark.skipif("catboost" not in BOOSTED, reason="needs catboost")
@pytest.mark.parametrize(
    "params",
    [{}, {"one_hot_max_size": 10}, {"grow_policy": "Lossguide"}, {"simple_ctr": ["Buckets", "Counter"]}],
    ids=str,
)
def test_whole_models_of_catboost_pass(params):
    from catboost import CatBoostClassifier

    rows = X.astype(object)
    rows[:, 0] = X[:, 0].astype(int)
    rows[:, 1] = (X[:, 1] // 500).astype(int)
    settings = {"iterations": 20, "depth": 4, "verbose": False, "thread_count": 1, "allow_writing_files": False}
    model = CatBoostClassifier(cat_features=[0, 1], **settings, **params).fit(rows, y)
    check_catboost_bytes(write_native(model))


@pytest.mark.skipif("catboost" not in BOOSTED, reason="needs catboost")
def test_models_of_catboost_are_checked_before_catboost_reads_them(tmp_path):
    whole = write_native(BOOSTED["catboost"](X, y))
    check_catboost_bytes(whole)
    outside = np.array([10**6], "<i4").tobytes()
    n_refused = 0
    for place in range(8, len(whole) - 4, 4):
        try:
            check_catboost_bytes(whole[:place] + outside + whole[place + 4 :])
        except DamageError:
            n_refused += 1
    assert n_refused > 50
    for length in (3, 7, 8, 100, len(whole) - 1):
        with pytest.raises(DamageError, match="of CatBoost"):
            check_catboost_bytes(whole[:length])


@pytest.mark.skipif("catboost" not in BOOSTED, reason="needs catboost")
def test_models_that_cannot_be_checked_are_loaded_where_their_type_is_named(tmp_path):
    import pandas
    from catboost import CatBoostClassifier

    frame = pandas.DataFrame({"age": X[:, 8], "point": X[:, 1:4].tolist()})
    model = CatBoostClassifier(3, depth=2, embedding_features=["point"], verbose=False, allow_writing_files=False)
    model.fit(frame, y)
    file, name = tmp_path / "model.skops", "catboost.core.CatBoostClassifier"
    with pytest.raises(
        ModelFileError, match=r"for embeddings, which eifffel.load would refuse; name its type in trusted="
    ):
        save(model, file)
    save(model, file, trusted=[name])
    with pytest.raises(ModelFileError, match="for embeddings; it is damaged"):
        load(file)
    np.testing.assert_array_equal(load(file, trusted=[name]).predict(frame), model.predict(frame))
    (tmp_path / "model.cbm").write_bytes(write_native(model))
    with pytest.raises(ModelFileError, match="for embeddings"):
        load(tmp_path / "model.cbm")
    np.testing.assert_array_equal(load(tmp_path / "model.cbm", trusted=[name]).predict(frame), model.predict(frame))


def test_steps_without_end_are_refused_before_a_table_is_made_of_them(monkeypatch):
    path = replace(flips(), rows_to_check=None, scored=None, hashes=None)
    object.__setattr__(path.order, "step", path.order.step + 10**10)
    monkeypatch.setattr(FlipOrder, "positions", property(lambda order: pytest.fail("a table of 10,000,000,000 steps")))
    with pytest.raises(DamageError, match="a path whose parts are not of the same leaves, steps and groups"):
        check_loaded(path)


def test_groups_of_a_record_are_counted_before_anything_is_made_of_them():
    """Eight columns of ten values are a hundred million groups, and a table of their pairs would fill any memory."""
    path = flips()
    record = find_record(path.model_at(1))
    check_record(record)
    columns = [[f"{name}{k}" for k in range(10)] for name in "abcdefgh"]
    grouping = {**record["grouping"], "columns": columns, "names": list("abcdefgh"), "combine": "intersection"}
    with pytest.raises(DamageError, match="groups that are none"):
        check_record({**record, "grouping": {**grouping, "privileged": [None]}})
