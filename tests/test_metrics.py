"""Metrics of counts against metrics of rows, written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eifffel import metrics


def rows(counts, totals):
    """Decisions, labels and groups with these counts."""
    decision, label, group = [], [], []
    for g in range(len(totals)):
        for k in (0, 1):
            n, chosen = int(totals[g, k]), int(counts[g, k])
            decision += [1] * chosen + [0] * (n - chosen)
            label += [k] * n
            group += [g] * n
    return np.array(decision), np.array(label), np.array(group)


def written_out(decision, label, group):
    def rate(mask):
        return decision[mask].mean() if mask.any() else np.nan

    def spread(rates):
        return np.max(rates) - np.min(rates)

    def share(rates):
        return np.min(rates) / np.max(rates) if np.max(rates) != 0 else np.nan

    groups = np.unique(group)
    selected = [rate(group == g) for g in groups]
    tpr = [rate((group == g) & (label == 1)) for g in groups]
    fpr = [rate((group == g) & (label == 0)) for g in groups]
    recalls = [rate(label == 1), 1 - rate(label == 0)]
    return {
        "accuracy": (decision == label).mean(),
        "balanced_accuracy": (recalls[0] + recalls[1]) / 2,
        "demographic_parity_difference": spread(selected),
        "demographic_parity_ratio": share(selected),
        "discrimination": selected[1] - selected[0] if len(groups) == 2 else spread(selected),
        "equal_opportunity_difference": spread(tpr),
        "equal_opportunity_ratio": share(tpr),
        "equalized_odds_difference": np.maximum(spread(tpr), spread(fpr)),
        "equalized_odds_ratio": np.minimum(share(tpr), share(fpr)),
        "predictive_equality_difference": spread(fpr),
        "predictive_equality_ratio": share(fpr),
    }


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_every_metric_is_what_the_rows_say(data):
    n_cells = 2 * data.draw(st.integers(2, 5))
    totals = np.array(data.draw(st.lists(st.integers(0, 6), min_size=n_cells, max_size=n_cells))).reshape(-1, 2)
    totals[:, 0] += totals.sum(axis=1) == 0
    counts = np.array([data.draw(st.integers(0, int(n))) for n in totals.ravel()]).reshape(-1, 2)
    expected = written_out(*rows(counts, totals))
    assert set(expected) == set(metrics.METRICS)
    for name, metric in metrics.METRICS.items():
        # A path of two steps: the leading axis is kept.
        got = metric(np.stack([counts, counts]), totals)
        np.testing.assert_allclose(got, [expected[name]] * 2, atol=1e-12, err_msg=name)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), name=st.sampled_from(sorted(metrics.METRICS)), weighted=st.booleans())
def test_measure_of_rows(seed, name, weighted):
    random = np.random.RandomState(seed)
    decision, label, group = random.randint(0, 2, (3, 60))
    weight = random.randint(1, 4, 60) if weighted else np.ones(60, int)
    repeated = (np.repeat(a, weight) for a in (decision, label, group))
    got = metrics.measure(
        name,
        np.where(label, "yes", "no"),
        np.where(decision, "yes", "no"),
        sensitive_features=np.where(group, "b", "a"),
        favorable="yes",
        privileged="b",
        sample_weight=weight if weighted else None,
    )
    assert got == pytest.approx(written_out(*repeated)[name])


def test_measure_takes_the_favoured_group_as_privileged():
    kwargs = {"sensitive_features": ["b", "b", "a", "a"]}
    assert metrics.measure("discrimination", [1, 0, 1, 0], [0, 0, 1, 1], **kwargs) == 1
    assert metrics.measure("discrimination", [1, 0, 1, 0], [0, 0, 1, 1], privileged="b", **kwargs) == -1


def test_a_share_that_decimals_can_write_is_the_float_they_write():
    # 1/20 measured as 3/5 - 11/20: a difference of quotients would be 0.05000000000000004.
    totals = np.array([[20, 0], [5, 0]])
    counts = np.array([[11, 0], [3, 0]])
    assert 3 / 5 - 11 / 20 != 0.05
    assert metrics.discrimination(counts, totals) == 0.05


def test_metrics_that_need_labels_say_so():
    unlabelled = np.array([[3], [4]])
    assert metrics.discrimination(unlabelled, np.array([[6], [4]])) == 0.5
    with pytest.raises(ValueError, match="needs labels"):
        metrics.accuracy(unlabelled, np.array([[6], [4]]))
    with pytest.raises(ValueError, match="metric must be one of 'accuracy'"):
        metrics.measure("fairness", [0, 1], [0, 1], sensitive_features=[0, 1])


FAIRLEARN = {
    "demographic_parity_difference": "demographic_parity_difference",
    "demographic_parity_ratio": "demographic_parity_ratio",
    "equal_opportunity_difference": "equal_opportunity_difference",
    "equal_opportunity_ratio": "equal_opportunity_ratio",
    "equalized_odds_difference": "equalized_odds_difference",
    "equalized_odds_ratio": "equalized_odds_ratio",
}


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    n_groups=st.integers(2, 5),
    name=st.sampled_from(sorted(FAIRLEARN)),
    weighted=st.booleans(),
    crossed=st.booleans(),
)
def test_metrics_are_those_of_fairlearn(seed, n_groups, name, weighted, crossed):
    peers = pytest.importorskip("fairlearn.metrics")
    random = np.random.RandomState(seed)
    # Every label in every group, and some decided favourably, where fairlearn has rates too.
    group = np.concatenate([np.repeat(np.arange(n_groups), 4), random.randint(0, n_groups, 100)])
    label = np.concatenate([np.tile([0, 0, 1, 1], n_groups), random.randint(0, 2, 100)])
    decided = np.concatenate([np.tile([0, 1, 0, 1], n_groups), random.randint(0, 2, 100)])
    weight = random.uniform(0.1, 3, len(group)) if weighted else None
    groups = {"sex": group % 2, "band": group // 2} if crossed and n_groups == 4 else {"band": group}
    got = metrics.measure(name, label, decided, sensitive_features=groups, combine="intersection", sample_weight=weight)
    expected = getattr(peers, FAIRLEARN[name])(
        label, decided, sensitive_features=np.column_stack(list(groups.values())), sample_weight=weight
    )
    assert got == pytest.approx(expected, abs=1e-9)


def test_of_several_attributes_the_worst_counts():
    label = decided = np.array([1, 1, 1, 0, 0, 0, 1, 0])
    both = {"sex": np.array(list("fmfmfmfm")), "band": np.array([0, 0, 0, 0, 1, 1, 1, 1])}
    alone = {
        name: metrics.measure("demographic_parity_difference", label, decided, sensitive_features=column)
        for name, column in both.items()
    }
    assert alone == {"sex": 0.5, "band": 0.5}
    decided = np.array([1, 1, 1, 1, 0, 0, 1, 0])
    assert metrics.measure("demographic_parity_difference", label, decided, sensitive_features=both) == 0.75
    cells = metrics.measure(
        "demographic_parity_difference", label, decided, sensitive_features=both, combine="intersection"
    )
    assert cells == 1.0
    assert metrics.measure("demographic_parity_ratio", label, decided, sensitive_features=both) == 0.25
    assert metrics.measure("discrimination", label, decided, sensitive_features=both) == 0.75
    assert metrics.measure("discrimination", label, 1 - decided, sensitive_features=both) == 0.75
    assert metrics.measure("accuracy", label, decided, sensitive_features=both) == 7 / 8
