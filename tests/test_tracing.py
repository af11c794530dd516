"""trace_path: who is privileged, what is favourable, and every input error."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from draws import people
from eifffel import (
    EiFFFeLClassifier,
    PrivilegedGroupWarning,
    UnsupportedModelError,
    save,
    trace_path,
    undo,
    view_ensemble,
)
from eifffel.baselines import Reweighing
from eifffel.report import summarize
from eifffel.rows.labels import check_favorable
from eifffel.strategies import STRATEGIES

X, y, s = people(200, seed=1)
MODEL = RandomForestClassifier(6, random_state=0, n_jobs=1).fit(X, y)
DECISION = MODEL.predict(X)
FAVORED = int(DECISION[s == 1].mean() > DECISION[s == 0].mean())


def trace(**changes):
    given = {"model": MODEL, "X": X, "y": y, "sensitive_features": s} | changes
    return trace_path(**given)


def test_the_favoured_group_is_privileged_by_default():
    assert trace().privileged == FAVORED
    assert trace().discrimination[0] > 0
    assert trace(sensitive_features=1 - s).privileged == 1 - FAVORED


def test_an_equal_treatment_takes_the_first_group():
    same = np.tile([0, 1], 100)
    twice = np.repeat(X[:100], 2, axis=0)
    assert trace(X=twice, y=np.repeat(y[:100], 2), sensitive_features=same).privileged == 0


def test_a_privileged_group_that_is_not_favoured_warns_and_is_obeyed():
    with pytest.warns(PrivilegedGroupWarning, match=f"privileged={1 - FAVORED}, but the model favours {FAVORED}"):
        path = trace(privileged=1 - FAVORED)
    assert path.privileged == 1 - FAVORED
    assert path.discrimination[0] < 0


def test_auto_is_leaf():
    assert trace().strategy == "leaf"
    np.testing.assert_array_equal(trace().order.leaf, trace(strategy="leaf").order.leaf)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_jobs_and_progress_change_nothing(strategy):
    one = trace(strategy=strategy, n_jobs=1)
    two = trace(strategy=strategy, n_jobs=2, verbose=1)
    np.testing.assert_array_equal(one.order.leaves_at(1), two.order.leaves_at(1))
    np.testing.assert_array_equal(one.positions, two.positions)
    np.testing.assert_array_equal(one.counts.favorable, two.counts.favorable)


def test_groups_and_labels_by_name_give_the_same_path():
    plain = trace()
    names = np.array(["f", "m"])
    labels = np.array(["denied", "granted"])
    model = RandomForestClassifier(6, random_state=0, n_jobs=1).fit(X, labels[y])
    named = trace(model=model, y=labels[y], sensitive_features=names[s], favorable="granted")
    np.testing.assert_array_equal(named.counts.favorable, plain.counts.favorable)
    assert named.groups == tuple(names[list(plain.groups)])
    assert named.favorable == "granted"


@pytest.mark.parametrize("favorable", ["yes", {"yes"}])
def test_a_model_of_0_and_1_takes_labels_in_words(favorable):
    words = np.array(["no", "yes"])
    plain = trace(select_on=(X[:150], y[:150], s[:150]))
    told = trace(y=words[y], favorable=favorable, select_on=(X[:150], words[y[:150]], s[:150]))
    np.testing.assert_array_equal(told.counts.favorable, plain.counts.favorable)
    np.testing.assert_array_equal(told.order.leaf, plain.order.leaf)
    assert (told.favorable, told.label_sets) == (1, (("yes",), ("no",)))
    later = told.measure(X[150:], words[y[150:]], s[150:])
    np.testing.assert_array_equal(later.accuracy, plain.measure(X[150:], y[150:], s[150:]).accuracy)
    frozen = EiFFFeLClassifier(FrozenEstimator(plain.model), epsilon=0.1, favorable=favorable, random_state=0)
    coded = EiFFFeLClassifier(FrozenEstimator(plain.model), epsilon=0.1, random_state=0)
    chosen = [clf.fit(X, labels, sensitive_features=s).selection_ for clf, labels in ((frozen, words[y]), (coded, y))]
    assert chosen[0] == chosen[1]
    with pytest.raises(ValueError, match=r"not among the labels 0, 1, those of the model; name the label .*'yes'"):
        trace(y=words[y])
    with pytest.raises(ValueError, match=r"favorable='no' is taken as what the model's 1 stands for, .* favorable=0"):
        trace(y=words[y], favorable="no")
    with pytest.raises(ValueError, match="favorable must be one of the labels 0, 1, got 'granted'"):
        trace(y=words[y], favorable="granted")


def forms(library):
    """The same column in the forms that people have it in."""
    pd = pytest.importorskip("pandas") if library.startswith("pandas") else None
    pl = pytest.importorskip("polars") if library.startswith("polars") else None
    words = np.array(["f", "m"])[s]
    return {
        "list": lambda: words.tolist(),
        "column": lambda: words[:, None],
        "object": lambda: words.astype(object),
        "bool": lambda: s == 1,
        "float": lambda: s.astype(float),
        "pandas series": lambda: pd.Series(words, index=np.arange(200) + 7),
        "pandas frame": lambda: pd.DataFrame({"sex": words}),
        "pandas categories": lambda: pd.Series(pd.Categorical(words, categories=["x", "m", "f"])),
        "pandas nullable": lambda: pd.Series(s, dtype="Int64"),
        "polars series": lambda: pl.Series(words),
        "polars frame": lambda: pl.DataFrame({"sex": words}),
    }[library]()


@pytest.mark.parametrize(
    "form",
    [
        "list",
        "column",
        "object",
        "bool",
        "float",
        "pandas series",
        "pandas frame",
        "pandas categories",
        "pandas nullable",
        "polars series",
        "polars frame",
    ],
)
def test_groups_in_any_form(form):
    np.testing.assert_array_equal(trace(sensitive_features=forms(form)).counts.favorable, trace().counts.favorable)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_features(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({name: X[:, k] for k, name in enumerate(["age", "income", "hours"])})
    labels = frames.Series(y)
    model = RandomForestClassifier(6, random_state=0, n_jobs=1).fit(frame, labels)
    path = trace(model=model, X=frame, y=labels, select_on=(frame, labels, frames.Series(s)))
    np.testing.assert_array_equal(path.counts.favorable, trace().counts.favorable)
    assert "income" in " ".join(map(str, path.rules(5)))


MISSING = np.array(["f", "m"], object)[s]
MISSING[3] = None
LABELS = np.array(["no", "yes"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strategy": "branch"}, "strategy must be one of 'auto', 'leaf', 'tree', 'shift', got 'branch'"),
        ({"sensitive_features": None}, "sensitive_features is missing; pass the group of each row"),
        (
            {"sensitive_features": MISSING},
            "sensitive_features of the scoring rows has 1 missing values; drop those rows",
        ),
        (
            {"sensitive_features": np.where(s, 1.0, np.nan)},
            r"sensitive_features of the scoring rows has \d+ missing values",
        ),
        ({"sensitive_features": s[:-1]}, "sensitive_features of the scoring rows has 199 entries for 200 rows"),
        (
            {"sensitive_features": np.arange(200)},
            "sensitive_features has 200 groups, and 50 are the most; make bands of numbers",
        ),
        ({"sensitive_features": np.zeros(200)}, "got only 0.0: the other group is missing"),
        ({"sensitive_features": np.zeros((200, 2, 2))}, r"must be one column, got an array of shape \(200, 2, 2\)"),
        ({"sensitive_features": "sex"}, r"must be a column with one entry per row, such as df\['sex'\], got 'sex'"),
        ({"sensitive_features": []}, "sensitive_features of the scoring rows has 0 entries for 200 rows"),
        ({"sensitive_features": ["a", 1] * 100}, "mixes values of several types: 'a', 1"),
        ({"n_jobs": "2"}, "n_jobs must be None or an integer other than 0, got '2'"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0, got 0"),
        (
            {"n_jobs": 10**6},
            r"n_jobs must be [\d,]+ at most here, 64 for each core \(\d+\), got 1000000; as many as",
        ),
        ({"sensitive_features": np.array(["a", 1] * 100, object)}, "mixes values of several types: 'a', 1"),
        ({"sensitive_features": s.astype("datetime64[s]")}, "must be numbers, booleans or strings, got datetime64"),
        (
            {"sensitive_features": np.ma.masked_array(s, s == 1)},
            r"sensitive_features of the scoring rows has \d+ missing values",
        ),
        ({"sensitive_features": [*np.array(["f", "m"])[s[1:]].tolist(), float("nan")]}, "has 1 missing values"),
        ({"privileged": 2}, "privileged must be one of the groups 0, 1, got 2"),
        ({"privileged": "1"}, "privileged must be one of the groups 0, 1, got '1'"),
        ({"favorable": 7}, "favorable must be one of the labels 0, 1, got 7"),
        ({"y": None}, "y is missing; leaves are scored by the labels"),
        ({"y": y + 1}, "y of the scoring rows has 2, not among the labels 0, 1"),
        ({"y": y[:-2]}, "y of the scoring rows has 198 entries for 200 rows"),
        ({"y": np.where(s, y, np.nan)}, r"y of the scoring rows has \d+ missing values"),
        ({"X": X[:, :2]}, "X has 2 features, but RandomForestClassifier is expecting 3 features"),
        ({"X": np.where(X == 1, np.inf, X)}, "infinity"),
        ({"sample_weight": np.full(200, -1.0)}, "sample_weight of the scoring rows must be finite and not negative"),
        ({"sample_weight": np.full(200, np.nan)}, "sample_weight of the scoring rows must be finite and not negative"),
        ({"sample_weight": np.ones(3)}, "sample_weight of the scoring rows has 3 entries for 200 rows"),
        ({"sample_weight": s.astype(float)}, "no row of group 0 with a weight above 0 among the scoring rows"),
        ({"select_on": (X, y)}, r"select_on must be None or the tuple \(X, y, sensitive_features\).* got tuple of 2"),
        ({"select_on": "train"}, "select_on must be None or the tuple .* got str"),
        (
            {"select_on": (X, y, np.zeros(200))},
            "no row of group 1 among the rows of select_on",
        ),
        ({"select_on": (X, y, s + 1)}, "sensitive_features of the rows of select_on has 2, not among the groups 0, 1"),
        ({"select_on": (X[:, :1], y, s)}, "X has 1 features, but RandomForestClassifier is expecting 3 features"),
        ({"select_on": (X, y[:5], s)}, "y of the rows of select_on has 5 entries for 200 rows"),
    ],
)
def test_bad_input_is_refused_before_any_work(changes, message, monkeypatch):
    def work(*args, **kwargs):
        raise AssertionError("work was begun")

    monkeypatch.setattr("eifffel.ensembles.EnsembleView.apply", work)
    with pytest.raises(ValueError, match=message):
        trace(**changes)


def test_labels_that_do_not_say_what_is_favourable():
    for labels in (LABELS, np.array([1, 2])):
        model = RandomForestClassifier(3, random_state=0).fit(X, labels[y])
        with pytest.raises(ValueError, match=r"pass favorable=, the label that is the good outcome"):
            trace(model=model, y=labels[y])


@pytest.mark.parametrize("labels", [np.array([-1, 1]), np.array([False, True]), np.array([0.0, 1.0])])
def test_labels_that_do(labels):
    model = RandomForestClassifier(6, random_state=0, n_jobs=1).fit(X, labels[y])
    path = trace(model=model, y=labels[y])
    assert path.favorable == labels[1]
    np.testing.assert_array_equal(path.counts.favorable, trace().counts.favorable)


def test_zero_and_one_among_objects_are_zero_and_one():
    assert check_favorable(np.array([0, 1], object), None) == 1


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_missing_groups_in_frames(library):
    frames = pytest.importorskip(library)
    column = frames.Series([None, *np.array(["f", "m"])[s[1:]].tolist()])
    with pytest.raises(ValueError, match="sensitive_features of the scoring rows has 1 missing values"):
        trace(sensitive_features=column)
    with pytest.raises(ValueError, match=r"sensitive_features of the scoring rows \(b\) has 1 missing values; drop"):
        trace(sensitive_features=frames.DataFrame({"a": s, "b": column}))


@pytest.mark.filterwarnings("ignore::eifffel.SeenRowsWarning")
@pytest.mark.filterwarnings("ignore::eifffel.RepeatedRowsWarning")
def test_a_path_without_candidates_has_no_steps():
    # Every leaf has the same share of both groups, so no flip changes discrimination.
    twice = np.repeat(X, 2, axis=0)
    path = trace(X=twice, y=np.repeat(y, 2), sensitive_features=np.tile([0, 1], 200))
    assert path.n_steps == 0
    assert len(path.flips(0)) == 0
    assert path.select(epsilon=0).met
    np.testing.assert_array_equal(path.model_at(0).predict(X), DECISION)


def test_no_warning_when_the_privileged_group_is_favoured():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace(privileged=FAVORED)


def test_pandas_rows_in_another_order_are_noticed():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, index=np.random.RandomState(0).permutation(200))
    groups = pd.Series(s, index=frame.index)
    labels = pd.Series(y, index=frame.index)
    model = RandomForestClassifier(6, random_state=0, n_jobs=1).fit(X, y)
    straight = trace(model=model, X=frame.to_numpy(), y=labels, sensitive_features=groups)
    np.testing.assert_array_equal(straight.counts.favorable, trace().counts.favorable)
    named = RandomForestClassifier(6, random_state=0, n_jobs=1).fit(frame.rename(columns=str), y)
    rows = {"model": named, "X": frame.rename(columns=str), "y": labels}
    with pytest.raises(ValueError, match="sensitive_features of the scoring rows has the index of X in another order"):
        trace(**rows, sensitive_features=groups.sort_index())
    with pytest.raises(ValueError, match="y of the scoring rows has the index of X in another order"):
        trace(**(rows | {"y": labels.sort_index()}), sensitive_features=groups)
    with pytest.raises(ValueError, match="sensitive_features of the scoring rows has another index than X"):
        trace(**rows, sensitive_features=groups.set_axis(np.arange(200) + 1000))


class DMatrix:
    def num_row(self):
        return 200


def test_a_container_of_a_model_library_is_no_table():
    message = "X must be an array, a sparse matrix or a data frame, got a DMatrix; pass what it was made from"
    with pytest.raises(TypeError, match=message):
        trace(X=DMatrix())
    with pytest.raises(TypeError, match=message.replace("X", "X of select_on")):
        trace(select_on=(DMatrix(), y, s))
    with pytest.raises(TypeError, match=message):
        trace().measure(DMatrix(), y, s)
    with pytest.raises(TypeError, match=message):
        EiFFFeLClassifier(RandomForestClassifier()).fit(DMatrix(), y, sensitive_features=s)


def everywhere(X=X, y=y, s=s):
    """What takes rows in memory, each to be called."""
    forest = RandomForestClassifier(3, random_state=0)
    return {
        "trace_path": lambda: trace(X=X, y=y, sensitive_features=s),
        "select_on": lambda: trace(select_on=(X, y, s)),
        "batches": lambda: trace_path(trace().model, [(X, y, s)]),
        "measure": lambda: trace().measure(X, y, s),
        "EiFFFeLClassifier": lambda: EiFFFeLClassifier(forest).fit(X, y, sensitive_features=s),
        "summarize": lambda: summarize(trace().model, X, y, sensitive_features=s),
        "Reweighing": lambda: Reweighing(forest).fit(X, y, sensitive_features=s),
    }


@pytest.mark.parametrize("place", everywhere())
@pytest.mark.parametrize("column", ["X", "y", "s"])
def test_lazy_frames_are_refused(column, place):
    frames = pytest.importorskip("polars")
    given = {"X": X, "y": y, "s": s}[column]
    lazy = frames.DataFrame(given.reshape(len(given), -1)).lazy()
    name = "sensitive_features" if column == "s" else column
    message = rf"{name}.* is a LazyFrame of polars, whose rows are not in memory; give them, as its collect\(\) does"
    with pytest.raises(TypeError, match=message):
        everywhere(**{column: lazy})[place]()


def test_lazy_weights_and_tables_are_refused():
    frames = pytest.importorskip("polars")
    lazy = frames.DataFrame({"w": s + 1.0}).lazy()
    with pytest.raises(TypeError, match=r"sample_weight of the scoring rows is a LazyFrame of polars"):
        trace(sample_weight=lazy)
    with pytest.raises(TypeError, match="X is a LazyFrame of polars"):
        trace(X=lazy, y="y", sensitive_features="s")
    with pytest.raises(TypeError, match="batch 1: X is a LazyFrame of polars"):
        trace(X=[lazy], y="y", sensitive_features="s")


@pytest.mark.parametrize("place", everywhere())
@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_two_columns_of_one_name_are_refused(library, place):
    frames = pytest.importorskip(library)
    names = ["age", "age", "hours"]
    if library == "pandas":
        twice = frames.DataFrame(X, columns=names)
    else:
        twice = frames.table([frames.array(column) for column in X.T], names=names)
    with pytest.raises(ValueError, match=r"X.* has more than one column named 'age'; rename them"):
        everywhere(X=twice)[place]()


def test_columns_may_be_called_as_what_tables_are_known_by():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["num_data", "column_names", "compute"]).assign(column_names=X[0, 1])
    model = RandomForestClassifier(2, random_state=0).fit(frame, y)
    assert trace(model=model, X=frame).counts.n_rows.sum() == 200


def test_two_columns_of_one_name_among_labels_and_in_named_tables_are_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="y of the scoring rows has more than one column named 'y'; rename them"):
        trace(y=pandas.DataFrame({0: y, 1: y}).set_axis(["y", "y"], axis=1))
    table = pandas.DataFrame(np.column_stack([X, y, s]), columns=["age", "income", "income", "y", "s"])
    for rows, where in ((table, ""), ([table], "batch 1: ")):
        with pytest.raises(ValueError, match=f"^{where}X has more than one column named 'income'; rename them"):
            trace(X=rows, y="y", sensitive_features="s")


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        ("model.joblib", "load it first, as in eifffel.load('model.joblib', allow_pickle=True), which runs what is in"),
        (Path("old/model.PKL"), "load it first, as in eifffel.load('old/model.PKL', allow_pickle=True)"),
        ("model.skops", "load it first, as in eifffel.load('model.skops')"),
        ("model.cbm", "load it first, as in eifffel.load('model.cbm')"),
        ("model.onnx", "ONNX files are written here, and not read: give the model that it was made from"),
    ],
    ids=str,
)
def test_the_path_of_a_file_is_no_model(path, remedy):
    message = re.escape(f"must be a model, got the path {str(path)!r}; {remedy}")
    clf = EiFFFeLClassifier(path)
    frozen = EiFFFeLClassifier(FrozenEstimator(path))
    for call in (
        lambda: trace(model=path),
        lambda: trace_path(path, [(X, y, s)]),
        lambda: clf.fit(X, y, sensitive_features=s),
        lambda: frozen.fit(X, y, sensitive_features=s),
        lambda: Reweighing(path).fit(X, y, sensitive_features=s),
        lambda: summarize(path, X, y, sensitive_features=s),
        lambda: undo(path),
        lambda: view_ensemble(path),
    ):
        with pytest.raises(TypeError, match=message):
            call()


def test_the_path_of_a_file_is_not_saved(tmp_path):
    pytest.importorskip("skops")
    with pytest.raises(TypeError, match=r"model must be a model, got the path 'model.txt'; load it first"):
        save("model.txt", tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_a_model_of_three_classes_is_told_what_makes_two():
    three = RandomForestClassifier(2, random_state=0).fit(X, np.array(["a", "b", "c"])[np.where(y == 1, 2, s)])
    message = (
        r"trained on 3 classes, \['a', 'b', 'c'\]; .* such as y == 'c', or .* of the classes of a fitted model fav"
    )
    for favorable in (None, "c", {"b", "c"}):
        with pytest.raises(UnsupportedModelError, match=message):
            trace(model=three, favorable=favorable)
