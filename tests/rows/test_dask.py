"""Paths of Dask collections, on a real cluster of worker processes."""

import os
import re
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import eifffel
from eifffel.datasets import make_biased_classification

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")
import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import pandas as pd

from clusters import local_cluster
from eifffel.baselines import Reweighing
from eifffel.ensembles import to_local
from eifffel.rows.dask import DaskBatches

# Of the libraries, not of ours: sockets and timers of workers that were killed.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

people = make_biased_classification(6000, random_state=0)
X, y, s = people.data, people.target, people.sensitive
FEATURES = [f"f{k}" for k in range(X.shape[1])]
TABLE = pd.DataFrame(X, columns=FEATURES).assign(label=y, sex=np.array(["f", "m"])[s])
SCORING, HELD_OUT = TABLE[:4000], TABLE[4000:]
FOREST = RandomForestClassifier(12, max_depth=7, random_state=0).fit(TABLE[FEATURES][:2000], y[:2000])
BOOSTED = HistGradientBoostingClassifier(max_iter=15, random_state=0).fit(TABLE[FEATURES][:2000], y[:2000])


@pytest.fixture(scope="module")
def client():
    with local_cluster() as client:
        yield client


def in_memory(model, **options):
    return eifffel.trace_path(
        model,
        SCORING[FEATURES],
        SCORING["label"],
        sensitive_features=SCORING["sex"],
        select_on=(HELD_OUT[FEATURES], HELD_OUT["label"], HELD_OUT["sex"]),
        **options,
    )


def on_cluster(model, scoring, held_out, **options):
    return eifffel.trace_path(
        model, scoring, "label", sensitive_features="sex", select_on=(held_out, "label", "sex"), **options
    )


def partitioned(frame, places):
    """A frame in partitions of these sizes, whatever is in them."""
    parts = [frame[low:high] for low, high in zip([0, *places], [*places, len(frame)], strict=True)]
    return dd.from_map(lambda part: part, parts, meta=frame[:0])


def assert_same(got, expected):
    assert got.groups == expected.groups
    assert got.seen == expected.seen
    assert got.fingerprint == expected.fingerprint
    np.testing.assert_array_equal(got.leaf_counts.counts, expected.leaf_counts.counts)
    np.testing.assert_array_equal(got.positions, expected.positions)
    np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)
    np.testing.assert_array_equal(got.counts.totals, expected.counts.totals)
    np.testing.assert_array_equal(got.counts.n_rows, expected.counts.n_rows)
    step = got.n_steps // 2
    np.testing.assert_array_equal(got.order.leaves_at(step), expected.order.leaves_at(step))
    np.testing.assert_array_equal(
        got.model_at(step).predict(TABLE[FEATURES]), expected.model_at(step).predict(TABLE[FEATURES])
    )


CUTS = {
    "even": [1000, 2000, 3000],
    "uneven": [3, 17, 3990],
    "with empty ones": [0, 0, 1500, 1500, 4000],
    "one": [],
}


@pytest.mark.parametrize("strategy", ["leaf", "tree"])
@pytest.mark.parametrize("cut", CUTS)
def test_flips_are_those_of_rows_in_memory_bit_for_bit(client, cut, strategy):
    held_out = partitioned(HELD_OUT, [700, 700])
    got = on_cluster(FOREST, partitioned(SCORING, CUTS[cut]), held_out, strategy=strategy)
    assert_same(got, in_memory(FOREST, strategy=strategy))
    assert got.rows_to_check is None, "no rows come here"


def test_partitions_may_hold_one_group_only(client):
    by_group = SCORING.sort_values("sex", kind="stable").reset_index(drop=True)
    n_women = int((by_group["sex"] == "f").sum())
    got = on_cluster(FOREST, partitioned(by_group, [n_women]), partitioned(HELD_OUT, [10]), strategy="leaf")
    assert_same(got, in_memory(FOREST, strategy="leaf"))


def models():
    yield "histograms", lambda: HistGradientBoostingClassifier(max_iter=15, random_state=0)
    yield "lightgbm", lambda: pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=15, n_jobs=1, verbose=-1)
    yield "xgboost", lambda: pytest.importorskip("xgboost").XGBClassifier(n_estimators=15, n_jobs=1)


@pytest.mark.parametrize("make", [make for _, make in models()], ids=[name for name, _ in models()])
def test_shifts_of_boosted_models_do_not_depend_on_partitions(client, make):
    model = make().fit(TABLE[FEATURES][:2000], y[:2000])
    paths = [
        on_cluster(model, partitioned(SCORING, cut), partitioned(HELD_OUT, other))
        for cut, other in (([900], [5, 1000]), ([0, 2, 3100], []))
    ]
    np.testing.assert_array_equal(paths[0].order.score, paths[1].order.score)
    assert_same(*paths)
    expected = in_memory(model)
    np.testing.assert_allclose(paths[0].order.score, expected.order.score, atol=1e-8)
    path = paths[0]
    for epsilon in (0.02, 0.1):
        choice = path.select(epsilon=epsilon)
        assert choice.met
        assert abs(choice.accuracy - expected.select(epsilon=epsilon).accuracy) < 0.01
        decided = path.model_at(choice.step).predict(HELD_OUT[FEATURES]) == 1
        for code, group in enumerate(path.groups):
            inside = (HELD_OUT["sex"] == group).to_numpy()
            assert path.counts.favorable[choice.step, code].sum() == (decided & inside).sum(), "exact at each step"


def test_series_arrays_and_dicts_too(client):
    expected = in_memory(FOREST, strategy="leaf")
    scoring, held_out = partitioned(SCORING, [1000]), partitioned(HELD_OUT, [500])
    got = eifffel.trace_path(
        FOREST,
        scoring[FEATURES],
        scoring["label"],
        sensitive_features={"sex": scoring["sex"]},
        select_on=(held_out[FEATURES], held_out["label"], held_out[["sex"]]),
        strategy="leaf",
    )
    assert_same(got, expected)
    forest = RandomForestClassifier(12, max_depth=7, random_state=0).fit(X[:2000], y[:2000])
    arrays = [da.from_array(column, chunks=(700, 2) if column.ndim == 2 else 1000) for column in (X, y, s)]
    got = eifffel.trace_path(forest, arrays[0], arrays[1], sensitive_features=arrays[2], strategy="tree")
    expected = eifffel.trace_path(forest, X, y, sensitive_features=s, strategy="tree")
    np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)
    weight = np.random.RandomState(0).uniform(size=6000)
    got, expected = (
        eifffel.trace_path(
            forest, *columns[:2], sensitive_features=columns[2], sample_weight=columns[3], strategy="leaf"
        )
        for columns in ([*arrays, da.from_array(weight, chunks=1000)], [X, y, s, weight])
    )
    np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)


def test_several_attributes_and_a_part_kept_apart(client):
    race = np.random.RandomState(1).choice(["x", "y", "z"], 6000)
    table = TABLE.assign(race=race)
    scoring, held_out = table[:4000], table[4000:]
    model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(TABLE[FEATURES][:2000], y[:2000])
    options = {"combine": "intersection", "constraint": "equal_opportunity"}
    columns = {"y": "label", "sensitive_features": ["sex", "race"]}
    got = eifffel.trace_path(
        model,
        partitioned(scoring, [1500]),
        **columns,
        select_on=(partitioned(held_out, [900]), *columns.values()),
        **options,
    )
    expected = eifffel.trace_path(
        model,
        [scoring[:1500], scoring[1500:]],
        **columns,
        select_on=([held_out[:900], held_out[900:]], *columns.values()),
        **options,
    )
    assert_same(got, expected)
    np.testing.assert_array_equal(got.certification_counts.favorable, expected.certification_counts.favorable)
    assert got.certification_counts.n_rows.sum() < 0.6 * got.counts.n_rows.sum()
    # Places are those in the whole table, however it is partitioned; empty partitions have none.
    otherwise = eifffel.trace_path(
        model,
        partitioned(scoring, [700, 700, 3000]),
        **columns,
        select_on=(partitioned(held_out, [1, 1, 500]), *columns.values()),
        **options,
    )
    np.testing.assert_array_equal(otherwise.order.score, got.order.score)
    np.testing.assert_array_equal(otherwise.certification_counts.favorable, expected.certification_counts.favorable)


def test_parquet_files_are_read_partition_by_partition(client, tmp_path):
    for k, start in enumerate(range(0, 4000, 800)):
        SCORING[start : start + 800].to_parquet(tmp_path / f"{k}.parquet")
    files = dd.read_parquet(tmp_path)
    assert files["label"].optimize().npartitions < files.npartitions, "Dask would read several files at once"
    expected = eifffel.trace_path(
        FOREST, SCORING[FEATURES], SCORING["label"], sensitive_features=SCORING["sex"], strategy="leaf"
    )
    got = eifffel.trace_path(FOREST, files, "label", sensitive_features="sex", strategy="leaf")
    assert_same(got, expected)
    got = eifffel.trace_path(FOREST, files[FEATURES], files["label"], sensitive_features=files["sex"], strategy="leaf")
    assert_same(got, expected)
    in_memory = eifffel.trace_path(FOREST, tmp_path, "label", sensitive_features="sex", strategy="leaf")
    assert_same(got, in_memory)


def test_measuring_where_the_rows_are(client):
    path = in_memory(FOREST, strategy="leaf")
    later = TABLE[:500].assign(**{name: TABLE[name][:500] * 1.01 for name in FEATURES})
    got = path.measure(partitioned(later, [100]), "label", "sex", n_jobs=2)
    expected = path.measure(later[FEATURES], later["label"], later["sex"])
    np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)
    assert got.rows_to_check is None
    choice = path.select(epsilon=0.1)
    assert got.verdict(choice) == expected.verdict(choice)
    assert path.measure(partitioned(SCORING, [100]), "label", "sex").seen
    columns = partitioned(later, [100])
    unlabelled = path.measure(columns[FEATURES], None, {"sex": columns["sex"]})
    expected = path.measure(later[FEATURES], None, later["sex"])
    np.testing.assert_array_equal(unlabelled.counts.favorable, expected.counts.favorable)


@pytest.mark.parametrize("model", [FOREST, BOOSTED], ids=["flips", "a shift"])
def test_the_workers_take_one_thread_and_keep_nothing(client, monkeypatch, model):
    scoring, held_out = partitioned(SCORING, [1000]), partitioned(HELD_OUT, [500])
    expected = on_cluster(model, scoring, held_out)
    jobs, send = [], DaskBatches.reduce

    def spy(batches, work, *given):
        jobs.extend(function.__self__.n_jobs for function in batches._functions if hasattr(function, "__self__"))
        jobs.extend([work.keywords["n_jobs"]] if "n_jobs" in getattr(work, "keywords", {}) else [])
        return send(batches, work, *given)

    monkeypatch.setattr(DaskBatches, "reduce", spy)
    assert_same(on_cluster(model, scoring, held_out, n_jobs=2, memory_budget=0, verbose=1), expected)
    assert len(jobs) >= 6
    assert set(jobs) == {1}
    jobs.clear()
    expected.measure(held_out, "label", "sex", n_jobs=-1)
    assert jobs == [1] * 3


@pytest.mark.parametrize("strategy", ["leaf", "tree"])
@pytest.mark.parametrize("there", ["scoring", "selection"])
def test_scoring_and_selection_rows_may_be_of_different_kinds(client, there, strategy):
    scoring = partitioned(SCORING, [1000]) if there == "scoring" else SCORING
    held_out = partitioned(HELD_OUT, [500]) if there == "selection" else HELD_OUT
    got = on_cluster(FOREST, scoring, held_out, strategy=strategy)
    assert_same(got, in_memory(FOREST, strategy=strategy))
    assert (got.rows_to_check is None) == (there == "selection")


def test_a_shift_is_the_same_where_only_some_rows_are_on_a_cluster(client, tmp_path):
    HELD_OUT.to_parquet(tmp_path / "held_out.parquet")
    scoring, held_out = partitioned(SCORING, [1000]), partitioned(HELD_OUT, [500])
    everywhere = on_cluster(BOOSTED, scoring, held_out)
    for one, other in ((scoring, tmp_path / "held_out.parquet"), ([SCORING[:9], SCORING[9:]], held_out)):
        assert_same(on_cluster(BOOSTED, one, other), everywhere)
    expected = in_memory(BOOSTED)
    for one, other in ((scoring, HELD_OUT), (SCORING, held_out)):
        got = on_cluster(BOOSTED, one, other)
        choice = got.select(epsilon=0.05)
        assert choice.met
        assert abs(choice.accuracy - expected.select(epsilon=0.05).accuracy) < 0.01
        decided = got.model_at(choice).predict(HELD_OUT[FEATURES]) == 1
        for code, group in enumerate(got.groups):
            inside = (HELD_OUT["sex"] == group).to_numpy()
            assert got.counts.favorable[choice.step, code].sum() == (decided & inside).sum(), "exact at each step"


def die_once(part, folder, when, partition_info=None):
    """Kill the worker that reads partition 1 for the time that ``when`` says."""
    number = 0 if partition_info is None else partition_info["number"]
    reads = Path(folder) / f"{number}"
    with reads.open("a") as file:
        file.write("x")
    if number == 1 and reads.stat().st_size == when:
        os.kill(os.getpid(), signal.SIGKILL)
    return part


@pytest.mark.parametrize(("when", "which"), [(2, "counting"), (3, "replaying")])
def test_a_killed_worker_is_survived_in_either_pass(client, tmp_path, when, which):
    whole = partitioned(SCORING, [1000, 2000, 3000])
    deadly = whole.map_partitions(die_once, str(tmp_path), when, meta=SCORING[:0])
    pids = set(client.run(os.getpid).values())
    got = eifffel.trace_path(FOREST, deadly, "label", sensitive_features="sex", strategy="leaf")
    expected = eifffel.trace_path(
        FOREST, SCORING[FEATURES], SCORING["label"], sensitive_features=SCORING["sex"], strategy="leaf"
    )
    client.wait_for_workers(2, timeout=60)
    assert len(pids & set(client.run(os.getpid).values())) == 1, "one of the two is another process now"
    assert (tmp_path / "1").stat().st_size == 4, "it was read once more than there are passes"
    assert_same(got, expected)


def fail(part, partition_info=None):
    if partition_info is not None and partition_info["number"] == 2:
        raise OSError("the disk is gone")
    return part


def test_errors_name_the_partition(client):
    whole = partitioned(SCORING, [1000, 2000, 3000])
    with pytest.raises(RuntimeError, match=r"partition 2 \(of 0 to 3\): OSError: the disk is gone"):
        eifffel.trace_path(FOREST, whole.map_partitions(fail, meta=SCORING[:0]), "label", sensitive_features="sex")
    wrong = SCORING.assign(label=SCORING["label"].where(SCORING.index != 3500, 7))
    with pytest.raises(ValueError, match=r"y of the scoring rows has 7 \(in partition 3 \(of 0 to 3\)\), not among"):
        eifffel.trace_path(FOREST, partitioned(wrong, [1000, 2000, 3000]), "label", sensitive_features="sex")
    infinite = SCORING.assign(f0=SCORING["f0"].where(SCORING.index != 1500, np.inf))
    with pytest.raises(ValueError, match=r"partition 1 \(of 0 to 3\): .*infinity"):
        eifffel.trace_path(FOREST, partitioned(infinite, [1000, 2000, 3000]), "label", sensitive_features="sex")


def test_mistakes_are_refused_before_any_work(client):
    whole = partitioned(SCORING, [1000])
    with pytest.raises(ValueError, match="there is no column 'hired'"):
        eifffel.trace_path(FOREST, whole, "hired", sensitive_features="sex")
    with pytest.raises(ValueError, match="y has 3 partitions, and X has 2; give columns of one data frame"):
        eifffel.trace_path(
            FOREST, whole[FEATURES], partitioned(SCORING, [1, 2])["label"], sensitive_features=whole["sex"]
        )
    with pytest.raises(ValueError, match=r"the columns of sensitive_features have \[2, 3\] partitions"):
        eifffel.trace_path(
            FOREST,
            whole[FEATURES],
            whole["label"],
            sensitive_features={"sex": whole["sex"], "other": partitioned(SCORING, [1, 2])["sex"]},
        )
    with pytest.raises(TypeError, match=r"must be a model, got the path 'm.joblib'; .*allow_pickle=True"):
        eifffel.trace_path("m.joblib", whole, "label", sensitive_features="sex")
    twice = whole.rename(columns={"f1": "f0"})
    with pytest.raises(ValueError, match=r"^X has more than one column named 'f0'; rename them"):
        eifffel.trace_path(FOREST, twice, "label", sensitive_features="sex")
    with pytest.raises(ValueError, match=r"^X of select_on has more than one column named 'f0'; rename them"):
        on_cluster(FOREST, whole, twice)


IN_MEMORY_BESIDE_DASK = {
    "y": ({"y": SCORING["label"].to_numpy()}, "y is a ndarray"),
    "groups": ({"sensitive_features": SCORING["sex"]}, "sensitive_features is a Series"),
    "weights": ({"sample_weight": [1.0] * 4000}, "sample_weight is a list"),
    "a dict": ({"sensitive_features": {"sex": SCORING["sex"]}}, "'sex' of sensitive_features is a Series"),
    "a name beside a collection": ({"y": "label"}, "y is 'label'"),
    "names beside a collection": ({"sensitive_features": ["sex"]}, "sensitive_features is a list"),
}


@pytest.mark.parametrize("case", IN_MEMORY_BESIDE_DASK)
def test_beside_a_collection_of_dask_columns_in_memory_are_refused(client, monkeypatch, case):
    monkeypatch.setattr(DaskBatches, "reduce", None)  # nothing is read
    whole = partitioned(SCORING, [1000])
    rows = {"X": whole[FEATURES], "y": whole["label"], "sensitive_features": whole["sex"], "sample_weight": None}
    given, says = IN_MEMORY_BESIDE_DASK[case]
    remedy = (
        "; beside it y, sensitive_features and sample_weight must be Dask collections, or, if it is a data frame, all "
        "names of its columns. Make a collection of "
    )
    with pytest.raises(TypeError, match=re.escape(f"X is a Dask DataFrame, and {says}{remedy}")):
        eifffel.trace_path(FOREST, **(rows | given))
    select_on = tuple((rows | given).values())
    says = says.replace(" is ", " of select_on is ")
    with pytest.raises(TypeError, match=re.escape(f"X of select_on is a Dask DataFrame, and {says}{remedy}")):
        eifffel.trace_path(
            FOREST, SCORING[FEATURES], SCORING["label"], sensitive_features=SCORING["sex"], select_on=select_on
        )


@pytest.mark.parametrize("name", ["y", "sensitive_features", "a dict", "sample_weight"])
def test_beside_rows_in_memory_collections_of_dask_are_refused(client, monkeypatch, name):
    monkeypatch.setattr(DaskBatches, "reduce", None)  # nothing is read
    whole = partitioned(SCORING, [1000])
    lazy = {
        "y": {"y": whole["label"]},
        "sensitive_features": {"sensitive_features": whole["sex"]},
        "a dict": {"sensitive_features": {"sex": whole["sex"]}},
        "sample_weight": {"sample_weight": whole["label"]},
    }[name]
    rows = {"X": SCORING[FEATURES], "y": SCORING["label"], "sensitive_features": SCORING["sex"], "sample_weight": None}
    mixed, (name,) = rows | lazy, lazy
    says = r" is a collection of Dask, whose rows are not in memory; give them, as its compute\(\) does"
    with pytest.raises(TypeError, match=f"^{name}{says}"):
        eifffel.trace_path(FOREST, **mixed)
    with pytest.raises(TypeError, match=f"^{name} of select_on{says}"):
        eifffel.trace_path(FOREST, whole, "label", sensitive_features="sex", select_on=tuple(mixed.values()))
    with pytest.raises(TypeError, match=f"^{name}{says}"):
        in_memory(FOREST, strategy="leaf").measure(**mixed)


def test_collections_without_rows_and_columns_are_refused(client):
    whole = partitioned(SCORING, [1000])
    for odd in (dask.delayed(SCORING), dask.bag.from_sequence([1, 2]), whole["label"].sum(), da.ones(3).sum()):
        says = f"must be a Dask data frame, series or array, got a {type(odd).__name__} of Dask"
        with pytest.raises(TypeError, match=f"^X {says}"):
            eifffel.trace_path(FOREST, odd, "label", sensitive_features="sex")
        with pytest.raises(TypeError, match=f"^y {says}"):
            eifffel.trace_path(FOREST, whole[FEATURES], odd, sensitive_features=whole["sex"])
    with pytest.raises(TypeError, match="columns are named, and X, a Dask Array, has no names of columns"):
        eifffel.trace_path(FOREST, da.from_array(X), "label", sensitive_features="sex")
    for nothing in (None, {}):
        with pytest.raises(ValueError, match=r"^sensitive_features is missing; pass the group of each row as a Dask"):
            eifffel.trace_path(FOREST, whole[FEATURES], whole["label"], sensitive_features=nothing)


def test_whatever_else_takes_rows_refuses_collections(client):
    whole = partitioned(SCORING, [1000])
    rows, label, sex = whole[FEATURES], whole["label"], whole["sex"]
    says = r" is a collection of Dask, whose rows are not in memory; give them, as its compute\(\) does\. Only"
    with pytest.raises(TypeError, match=f"^X{says}"):
        eifffel.EiFFFeLClassifier(FOREST).fit(rows, label, sensitive_features=sex)
    with pytest.raises(TypeError, match=f"^y of the rows given{says}"):
        eifffel.EiFFFeLClassifier(FOREST).fit(SCORING[FEATURES], label, sensitive_features=SCORING["sex"])
    with pytest.raises(TypeError, match=f"^X{says}"):
        eifffel.report.summarize(FOREST, rows, label, sensitive_features=sex)
    with pytest.raises(TypeError, match=f"^sensitive_features{says}"):
        eifffel.report.summarize_decisions(label, sensitive_features=sex)
    with pytest.raises(TypeError, match=f"^X{says}"):
        Reweighing(RandomForestClassifier()).fit(rows, label, sensitive_features=sex)
    with pytest.raises(TypeError, match=f"^sensitive_features{says}"):
        eifffel.metrics.measure("accuracy", label, label, sensitive_features=sex)
    with pytest.raises(TypeError, match=f"^batch 1: X{says}"):
        eifffel.trace_path(FOREST, [(rows, label, sex)])


def test_the_current_client_is_taken(client, monkeypatch):
    whole = partitioned(SCORING, [9])
    with local_cluster(n_workers=1) as other:
        tasks = []
        compute = other.compute
        monkeypatch.setattr(other, "compute", lambda *given: tasks.append(given) or compute(*given))
        with client.as_current():
            got = eifffel.trace_path(FOREST, whole, "label", sensitive_features="sex", strategy="leaf")
        assert not tasks
        assert got.counts.n_rows.sum() == 4000
        got = eifffel.trace_path(FOREST, whole, "label", sensitive_features="sex", strategy="leaf")
        assert len(tasks) == 3, "a survey and two passes"
        with other.as_current():
            got.measure(whole, "label", "sex")
        assert len(tasks) == 5


class LocalModelInside:
    """What LightGBM has, with a forest."""

    def to_local(self):
        return FOREST


class DaskXGBClassifier:
    """What XGBoost has."""

    def get_booster(self):
        return "booster"


def test_of_a_model_that_was_trained_on_dask_the_local_one_is_taken(client):
    assert to_local(DaskXGBClassifier()) == "booster"
    assert to_local(FOREST) is FOREST
    got = on_cluster(LocalModelInside(), partitioned(SCORING, [9]), partitioned(HELD_OUT, []), strategy="leaf")
    assert got.model is FOREST
    assert_same(got, in_memory(LocalModelInside(), strategy="leaf"))


def test_a_booster_that_was_trained_on_dask_is_edited(client):
    lightgbm = pytest.importorskip("lightgbm")
    rows = partitioned(SCORING, [2000]).persist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its ports and threads
        model = lightgbm.DaskLGBMClassifier(client=client, n_estimators=5, random_state=0, verbose=-1)
        model.fit(rows[FEATURES], rows["label"])
    assert type(on_cluster(model, rows, partitioned(HELD_OUT, [])).model_at(1)) is lightgbm.LGBMClassifier
    assert type(in_memory(model).model_at(1)) is lightgbm.LGBMClassifier


def test_without_a_client_it_says_how_to_get_one(monkeypatch):
    def none():
        raise ValueError("no client")

    path = in_memory(FOREST, strategy="leaf")
    monkeypatch.setattr("distributed.default_client", none)
    says = r"there is no Dask client; start one, .*Client\(\), or make .* in with client.as_current\(\):"
    with pytest.raises(ValueError, match=says):
        eifffel.trace_path(FOREST, partitioned(SCORING, []), "label", sensitive_features="sex")
    with pytest.raises(ValueError, match=says):
        path.measure(partitioned(SCORING, []), "label", "sex")


def test_features_of_a_model_without_names_are_named(client):
    model = RandomForestClassifier(8, max_depth=5, random_state=0).fit(SCORING[FEATURES].to_numpy(), SCORING["label"])
    scoring, held_out = (partitioned(frame[frame.columns[::-1]], [1000]) for frame in (SCORING, HELD_OUT))
    with pytest.raises(ValueError, match="the model does not know the names of its columns"):
        on_cluster(model, scoring, held_out)
    got = on_cluster(model, scoring, held_out, features=FEATURES)
    expected = eifffel.trace_path(
        model,
        SCORING[FEATURES].to_numpy(),
        SCORING["label"],
        sensitive_features=SCORING["sex"],
        select_on=(HELD_OUT[FEATURES].to_numpy(), HELD_OUT["label"], HELD_OUT["sex"]),
    )
    np.testing.assert_array_equal(got.leaf_counts.counts, expected.leaf_counts.counts)
    np.testing.assert_array_equal(got.counts.favorable, expected.counts.favorable)
    with pytest.raises(ValueError, match="the model does not know the names of its columns"):
        got.measure(held_out, "label", "sex")
    later = got.measure(held_out, "label", "sex", features=FEATURES)
    np.testing.assert_array_equal(later.counts.favorable, expected.counts.favorable)


@pytest.mark.parametrize("odd", ["X", "y", "sensitive_features", "sample_weight"])
def test_partitions_whose_rows_do_not_belong_together_are_refused(client, odd):
    given = {
        "X": SCORING[FEATURES],
        "y": SCORING["label"],
        "sensitive_features": SCORING["sex"],
        "sample_weight": SCORING["label"] + 1.0,
    }
    mixed = {name: column.iloc[::-1] if name == odd else column for name, column in given.items()}
    rows = {name: partitioned(column, [2000]) for name, column in mixed.items()}
    with pytest.raises(ValueError, match=r"partition \d \(of 0 to 1\): .*(another index than|the index of) .*to_numpy"):
        eifffel.trace_path(FOREST, **rows)
