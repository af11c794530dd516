"""Rows that belong together: one rule for labels, groups, weights and scores, wherever they are given."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from eifffel import DiscriminationAwareForestClassifier, EiFFFeLClassifier, trace_path
from eifffel._utils.validation import check_aligned
from eifffel.baselines import DFRF, GroupThresholds, Reweighing
from eifffel.metrics import measure
from eifffel.report import summarize, summarize_decisions

pd = pytest.importorskip("pandas")

N = 24
RANDOM = np.random.RandomState(0)
X = np.column_stack([np.arange(N) % 7, np.arange(N) % 5]).astype(float)
Y = (np.arange(N) % 3 > 0).astype(int)
S = np.where(np.arange(N) % 4 > 1, "m", "f")
AGE = np.where(np.arange(N) % 8 > 3, "old", "young")
W = 1.0 + np.arange(N) % 2
MODEL = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
FRAME = pd.DataFrame(X, columns=["a", "b"])
NAMED = DecisionTreeClassifier(max_depth=3, random_state=0).fit(FRAME, Y)
PATH = trace_path(MODEL, X, Y, sensitive_features=S)
OPTIONS = {"min_group_rows": 0}

LABELS = st.one_of(
    st.just(tuple(range(N))),
    st.permutations(range(N)).map(tuple),
    st.permutations(range(100, 100 + N)).map(tuple),
    st.just(tuple(range(1, N + 1))),
    st.just(tuple(range(100, 100 + N))),
    st.lists(st.integers(0, 3), min_size=N, max_size=N).map(tuple),
    st.just(tuple("abcdefghijklmnopqrstuvwx")),
    st.permutations("abcdefghijklmnopqrstuvwx").map(tuple),
    st.just(tuple((k // 5, k % 5) for k in range(N))),
    st.just((*range(N - 1), "last")),
)


def may_be_matched(one, other):
    """The rule once more, entry by entry: the same order; or one says nothing and is not the other in disorder."""
    if all(a == b for a, b in zip(one, other, strict=True)):
        return True
    if Counter(one) == Counter(other):
        return False
    return any(all(label == place for place, label in enumerate(labels)) for labels in (one, other))


def as_index(labels):
    if isinstance(labels[0], tuple):
        return pd.MultiIndex.from_tuples(labels)
    return pd.Index(list(labels))


def with_index(values, labels):
    frame = values if isinstance(values, pd.DataFrame) else pd.Series(values)
    return frame.set_axis(as_index(labels), axis=0)


@settings(max_examples=300, deadline=None)
@given(LABELS, LABELS, st.sampled_from(["int64", "uint8", "float64", "Int64", "int64[pyarrow]", "Float64", "object"]))
def test_the_rule_is_that_of_its_slow_twin(one, other, dtype):
    columns = [("one", with_index(Y, one)), ("two", with_index(S, other))]
    if all(isinstance(label, int) for label in one):  # numbers are equal whichever type they have
        if "pyarrow" in dtype:
            pytest.importorskip("pyarrow")
        columns[0] = ("one", columns[0][1].set_axis(pd.Index(list(one), dtype=dtype), axis=0))
    if may_be_matched(one, other):
        check_aligned(columns)
        return
    how = "the index of one in another order" if Counter(one) == Counter(other) else "another index than one"
    with pytest.raises(ValueError, match=rf"^two has {how}.* by place; .*\.to_numpy\(\)"):
        check_aligned(columns)
    for k in (0, 1):  # without an index a column belongs to any
        arrays = [(name, column.to_numpy() if k == place else column) for place, (name, column) in enumerate(columns)]
        check_aligned(arrays)


@settings(max_examples=200, deadline=None)
@given(st.tuples(LABELS, LABELS, LABELS))
def test_any_two_of_several_columns_must_belong_together(drawn):
    columns = [(f"column {k}", with_index(Y, labels)) for k, labels in enumerate(drawn)]
    pairs = [(0, 1), (0, 2), (1, 2)]
    if all(may_be_matched(drawn[a], drawn[b]) for a, b in pairs):
        check_aligned(columns)
    else:
        with pytest.raises(ValueError, match=r"\.to_numpy\(\)"):
            check_aligned(columns)


def path_of(path):
    return [path.counts.favorable.tolist(), path.counts.totals.tolist()]


def fitted_path(X, y, s, w):
    return path_of(
        EiFFFeLClassifier(DecisionTreeClassifier(max_depth=3, random_state=0), epsilon=1.0, random_state=0)
        .fit(X, y, sensitive_features=s, sample_weight=w)
        .path_
    )


def fitted_aware_of_groups(X, y, s, w):
    clf = EiFFFeLClassifier(DiscriminationAwareForestClassifier(3, random_state=0), epsilon=1.0, random_state=0)
    return path_of(clf.fit(X, y, sensitive_features=s, sample_weight=w).path_)


def fitted_on_a_set(X, y, s, w):
    words = np.array(["no", "yes", "certainly"], object)[np.asarray(y) + np.arange(N) % 2 * np.asarray(y)]
    words = pd.Series(words, index=y.index) if hasattr(y, "index") else words
    clf = EiFFFeLClassifier(
        DecisionTreeClassifier(max_depth=3, random_state=0), epsilon=1.0, favorable={"yes", "certainly"}, random_state=0
    )
    return path_of(clf.fit(X, words, sensitive_features=s, sample_weight=w).path_)


def thresholds(X, y, s, w):
    clf = GroupThresholds(DecisionTreeClassifier(max_depth=3, random_state=0), select_on="train")
    clf.fit(X, y, sensitive_features=s, sample_weight=w)
    told = clf.predict(X, sensitive_features=s).tolist()
    return [told, clf.score(X, y, w, sensitive_features=s)]


def summary_of(X, y, s, w):
    return summarize(NAMED, X, y, sensitive_features=s, min_group_rows=0).groups


def decisions_of(X, y, s, w):
    decided = np.arange(N) % 2
    decided = pd.Series(decided, index=X.index) if hasattr(X, "index") else decided
    return summarize_decisions(decided, y, sensitive_features=s, scores=w, min_group_rows=0).groups


def measured(X, y, s, w):
    decided = np.arange(N) % 2
    decided = pd.Series(decided, index=X.index) if hasattr(X, "index") else decided
    return measure("equalized_odds_difference", y, decided, sensitive_features=s, sample_weight=w)


def plain_like(X, s):
    """A model, and rows and groups of the same form with no index that says anything."""
    several = isinstance(s, dict) or getattr(s, "ndim", 1) == 2
    return NAMED, FRAME, Y, {"sex": S, "age": AGE} if several else S


def selected(X, y, s, w):
    model, table, labels, groups = plain_like(X, s)
    return path_of(trace_path(model, table, labels, sensitive_features=groups, select_on=(X, y, s, w), **OPTIONS))


def measured_path(X, y, s, w):
    model, table, labels, groups = plain_like(X, s)
    return path_of(
        trace_path(model, table, labels, sensitive_features=groups, **OPTIONS).measure(X, y, s, sample_weight=w)
    )


def dfrf(X, y, s, w):
    clf = DFRF(3, max_depth=2, rho=1.0, random_state=0).fit(X, y, sensitive_features=s, sample_weight=w)
    return clf.decision_function(X).tolist()


def aware_forest(X, y, s, w):
    forest = DiscriminationAwareForestClassifier(3, random_state=0)
    return forest.fit(X, y, sensitive_features=s, sample_weight=w).predict_proba(X).tolist()


def reweighed(X, y, s, w):
    clf = Reweighing(DecisionTreeClassifier(max_depth=3, random_state=0))
    return clf.fit(X, y, sensitive_features=s, sample_weight=w).predict_proba(X).tolist()


# What takes rows, as a function of X, y, sensitive_features and sample_weight.
TAKES = {
    "trace_path": lambda X, y, s, w: path_of(trace_path(NAMED, X, y, sensitive_features=s, sample_weight=w, **OPTIONS)),
    "select_on": selected,
    "batches": lambda X, y, s, w: path_of(trace_path(NAMED, [(X, y, s, w), (X, y, s, w)], **OPTIONS)),
    "measure of a path": measured_path,
    "EiFFFeLClassifier": fitted_path,
    "EiFFFeLClassifier with a set of labels": fitted_on_a_set,
    "EiFFFeLClassifier that hands groups on": fitted_aware_of_groups,
    "a baseline before training": reweighed,
    "a baseline after training": thresholds,
    "DFRF": dfrf,
    "trees aware of groups": aware_forest,
    "metrics": measured,
    "summarize": summary_of,
    "summarize_decisions": decisions_of,
}
WITHOUT_WEIGHT = ("summarize",)
ONE_ATTRIBUTE = ("a baseline before training", "a baseline after training", "DFRF")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("take", TAKES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_whoever_takes_rows_holds_to_the_rule(take, data):
    """One column of four has another index than the others: it is refused, or taken as an array would be."""
    own, other = data.draw(LABELS, label="of all but one"), data.draw(LABELS, label="of one")
    places = ["X", "y", "s"] + ["w"] * (take not in WITHOUT_WEIGHT)
    odd = data.draw(st.sampled_from(places), label="the one")
    given = {"X": FRAME, "y": Y, "s": S, "w": W}
    rows = {name: with_index(values, other if name == odd else own) for name, values in given.items()}
    form = data.draw(st.sampled_from(["column", "frame", "dict"]), label="sensitive_features")
    if take not in ONE_ATTRIBUTE and form != "column":
        columns = {"sex": rows["s"], "age": with_index(AGE, other if odd == "s" else own)}
        rows["s"] = pd.DataFrame(columns) if form == "frame" else columns
        if form == "frame" and not rows["s"].index.is_unique:
            rows["s"] = pd.concat([columns["sex"], columns["age"]], axis=1, keys=["sex", "age"])
    if data.draw(st.booleans(), label="X is an array"):
        rows["X"] = X
    if may_be_matched(own, other) or (odd == "X" and rows["X"] is X):
        plain = {
            "X": FRAME,
            "y": Y,
            "s": {"sex": S, "age": AGE} if not isinstance(rows["s"], pd.Series) else S,
            "w": W,
        }
        assert TAKES[take](**rows) == TAKES[take](**plain)
    else:
        with pytest.raises(ValueError, match=r"has (another index than|the index of) .*\.to_numpy\(\)"):
            TAKES[take](**rows)


@pytest.mark.parametrize("odd", ["sex", "age"])
def test_each_column_of_a_dict_is_looked_at(odd):
    columns = {"sex": pd.Series(S, index=range(100, 100 + N)), "age": pd.Series(AGE, index=range(100, 100 + N))}
    columns[odd] = columns[odd][::-1]
    with pytest.raises(ValueError, match=r"sensitive_features of the scoring rows \(age\) has the index of .*\(sex\)"):
        trace_path(MODEL, X, Y, sensitive_features=columns)
    with pytest.raises(ValueError, match=r"sensitive_features \(age\) has the index of .*\(sex\)"):
        measure("accuracy", Y, Y, sensitive_features=columns)


def test_what_comes_out_of_a_split_is_taken():
    """X and y shuffled alike; one of them as an array; or with an index that pandas made up."""
    order = RANDOM.permutation(np.arange(0, 2 * N, 2))
    table, y, s = FRAME.set_axis(order), pd.Series(Y, index=order), pd.Series(S, index=order)
    plain = path_of(trace_path(NAMED, FRAME, Y, sensitive_features=S))
    assert path_of(trace_path(NAMED, table, y, sensitive_features=s)) == plain
    assert path_of(trace_path(NAMED, table, Y, sensitive_features=s)) == plain
    assert path_of(trace_path(NAMED, table, pd.Series(Y), sensitive_features=s)) == plain
    assert path_of(trace_path(NAMED, FRAME, y, sensitive_features=s)) == plain
    assert path_of(trace_path(MODEL, X, y, sensitive_features=s)) == plain
    assert path_of(trace_path(NAMED, table, Y.tolist(), sensitive_features=S.tolist())) == plain


def test_weights_in_another_order_are_refused_and_not_counted():
    weight = pd.Series(W).sort_values()
    message = (
        r"^sample_weight of the scoring rows has the index of X in another order \(in place 1, 2 and 1\), and rows are "
        r"matched by place; give both in one order, as in column\.loc\[X\.index\], or pass \.to_numpy\(\) of it if the "
        r"places are right$"
    )
    with pytest.raises(ValueError, match=message):
        trace_path(NAMED, FRAME, Y, sensitive_features=S, sample_weight=weight)
    batches = [(FRAME, Y, S, W), (FRAME, Y, S, weight)]
    with pytest.raises(ValueError, match=r"^batch 2: sample_weight of the scoring rows has the index of X in another"):
        trace_path(NAMED, batches, **OPTIONS)
