"""What the comparison with other libraries reads off their curves."""

import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pandas")
import exchange
import measures
import splits
import verdict
from methods import BY_ERRORS, BY_RATES, ERRORS, METHODS, RATES, Contest

from page import LINES

# A share of the smallest number that there is would be rounded to nothing.
GAPS = st.floats(-0.4, 0.4, allow_subnormal=False)
SHARES = np.linspace(0, 1, 201)
TOTALS = [[40, 10], [20, 30]]


def curve(favorable: list) -> measures.Curve:
    """Of splits with the same people; ``favorable`` by split, setting, group and label."""
    decided = np.array(favorable, float)
    times = np.ones(decided.shape[:2])
    return measures.Curve(
        favorable=decided,
        totals=np.array([TOTALS] * len(decided)),
        fit=times,
        predict=times,
        bounds=[None] * decided.shape[1],
        settings=[""] * decided.shape[1],
        seconds=0,
        random=False,
        model="",
    )


@given(
    st.lists(st.tuples(GAPS, GAPS, st.floats(0.5, 1)), min_size=1, max_size=5),
    st.floats(0, 0.5),
)
def test_the_best_mixture_of_two_points_is_found(points: list, level: float) -> None:
    *gaps, value = np.array([*points, (0.0, 0.0, 0.5)]).T
    gap = np.column_stack(gaps)
    found = measures.best_mixture(gap, value, level)
    mixed = [
        (np.abs(share * gap[a] + (1 - share) * gap[b]).max(), share * value[a] + (1 - share) * value[b])
        for a in range(len(gap))
        for b in range(len(gap))
        for share in SHARES
    ]
    assert found >= max(one for at, one in mixed if at <= level) - 1e-9
    # The mixtures are half a percent apart, so that one of them is near the best in both.
    assert found <= max(one for at, one in mixed if at <= level + 0.005) + 0.005


def test_mixtures_interpolate() -> None:
    gap, value = np.array([[0.0], [0.1], [0.2]]), np.array([0.5, 0.8, 0.9])
    assert measures.best_mixture(gap, value, 0.05) == pytest.approx(0.65)
    assert measures.best_mixture(gap, value, 0.15) == pytest.approx(0.85)
    assert measures.best_mixture(gap, value, 0.3) == pytest.approx(0.9)


def test_points_on_either_side_mix_to_none() -> None:
    gap, value = np.array([[-0.1], [0.1], [0.0]]), np.array([0.8, 0.7, 0.5])
    assert measures.best_mixture(gap, value, 0.0) == pytest.approx(0.75)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=9))
def test_leaving_out_splits_gives_the_standard_error_of_a_mean(values: list) -> None:
    sample = np.array(values)
    mean, error = measures.jackknife(lambda rows: float(sample[rows].mean()), len(sample))
    assert mean == pytest.approx(sample.mean())
    assert error == pytest.approx(sample.std(ddof=1) / np.sqrt(len(sample)), abs=1e-12)


def test_of_one_split_there_is_no_error() -> None:
    assert np.isnan(measures.jackknife(lambda rows: 1.0, 1)[1])


def test_gaps_and_metrics_are_of_the_counts() -> None:
    found = curve([[[[4, 6], [8, 27]]]])
    assert found.gaps(RATES) == pytest.approx(np.array([[[35 / 50 - 10 / 50]]]))
    assert found.gaps(ERRORS) == pytest.approx(np.array([[[8 / 20 - 4 / 40, 27 / 30 - 6 / 10]]]))
    assert found.metric("accuracy") == pytest.approx(np.array([[(36 + 6 + 12 + 27) / 100]]))
    assert found.metric("balanced_accuracy") == pytest.approx(np.array([[(48 / 60 + 33 / 40) / 2]]))
    assert found.constant("accuracy") == pytest.approx([0.6])
    assert found.constant("balanced_accuracy") == pytest.approx([0.5])


def test_noise_around_no_difference_is_no_difference() -> None:
    """Of two splits that differ by as much in either direction; each by itself would be far from it."""
    tilted = [[4, 6], [8, 7]]  # rates of 0.2 and 0.3
    other = [[8, 7], [4, 6]]  # of 0.3 and 0.2
    measured = measures.Measured(curve([[tilted], [other]]), "accuracy")
    gap, _ = measured.points(np.arange(2))
    assert gap == pytest.approx([0.0])
    assert measured.reaches(0.01)


def test_what_is_not_reached_is_mixed_with_deciding_alike() -> None:
    decided = [[4, 6], [8, 27]]  # a difference of 0.5, 81% right; deciding alike is 60% right
    measured = measures.Measured(curve([[decided], [decided]]), "accuracy")
    assert not measured.reaches(0.25)
    assert measured.at(0.25, np.arange(2)) == pytest.approx(0.6 + 0.5 * 0.21)
    assert measured.at(0.5, np.arange(2)) == pytest.approx(0.81)


def test_what_is_worse_than_deciding_alike_counts_as_that() -> None:
    decided = [[30, 5], [15, 4]]  # 24% right, a difference of 0.32
    measured = measures.Measured(curve([[decided], [decided]]), "accuracy")
    for level in (0.1, 0.4):
        assert measured.at(level, np.arange(2)) == pytest.approx(0.6)


def test_a_level_that_theirs_does_not_reach_is_compared_where_it_is() -> None:
    near, far = [[10, 5], [10, 6]], [[4, 6], [8, 27]]  # differences of 0.02 and 0.5
    ours = measures.Measured(curve([[near, far], [near, far]]), "accuracy")
    theirs = measures.Measured(curve([[far], [far]]), "accuracy")
    assert not theirs.reaches(0.05)
    assert theirs.lowest == pytest.approx(0.5)
    assert measures.behind(ours, theirs, 0.05)[0] == pytest.approx(0.0)


def test_ours_is_behind_by_what_theirs_is_ahead() -> None:
    worse, better = [[4, 5], [8, 26]], [[4, 6], [8, 27]]
    ours = measures.Measured(curve([[worse], [worse], [worse]]), "accuracy")
    theirs = measures.Measured(curve([[better], [better]]), "accuracy")  # of the first two splits
    points, error = measures.behind(ours, theirs, 0.6)
    assert points == pytest.approx(2.0)
    assert error == pytest.approx(0.0)
    assert measures.behind_setting(ours, theirs, 0)[0] == pytest.approx(2.0)
    assert verdict.Beside(("compas", "with"), 0.05, "dfrf", 2.0, 0.9).is_loss
    assert not verdict.Beside(("compas", "with"), 0.05, "dfrf", 2.0, 1.1).is_loss
    assert verdict.Beside(("compas", "with"), 0.05, "dfrf", 0.3, 0.01).is_close
    assert not verdict.Beside(("compas", "with"), 0.05, "dfrf", 0.31, 0.15).is_close


@pytest.fixture
def task(tmp_path: Path) -> Path:
    file = splits.task_file(tmp_path, splits.SYNTHETIC, "with", 0)
    splits.make_task(file, splits.SYNTHETIC, "with", 0)
    return file


def test_a_task_survives_its_file(task: Path) -> None:
    read = exchange.read(task)
    base = json.loads(splits.base_file(task).read_text())
    rows = np.concatenate([read.train, read.test])
    assert np.array_equal(np.sort(rows), np.arange(splits.N_DRAWN))
    assert len(read.fitted_on) == 0.6 * splits.N_DRAWN
    assert len(read.held_out) == len(read.test) == 0.2 * splits.N_DRAWN
    assert read.sensitive_columns == [10]
    assert np.array_equal(read.X[:, 10], read.group)
    decided = read.proba[read.test].argmax(axis=1)
    assert read.count(decided) == base["favorable"]
    assert np.sum(base["totals"]) == len(read.test)


def test_our_methods_answer_with_the_base_forest(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightgbm")
    ours: ModuleType = __import__("with_eifffel")
    monkeypatch.setattr(sys, "argv", ["with_eifffel.py", "lf", str(task)])
    exchange.main(ours.METHODS)
    found = measures.read_curve([task], "lf")
    base = measures.read_base([task])
    assert found.model == "sklearn.RandomForestClassifier"
    assert not found.random
    assert found.bounds == list(exchange.EPSILONS)
    gaps = np.abs(found.gaps(RATES)[0, :, 0])
    assert gaps[0] < 0.05 < gaps[-1] < base.gaps(RATES)[0, 0, 0]
    assert set(ours.METHODS) == {name for name, method in METHODS.items() if method.library == "eifffel"}


@pytest.fixture
def answered(tmp_path: Path) -> Path:
    """A folder in which every method has answered two tasks of COMPAS, on the seeds of both pages."""
    random = np.random.default_rng(0)
    seeds = [first + k for first in (0, splits.ERROR_SEED) for k in (0, 1)]
    for task in [
        splits.task_file(tmp_path, "compas", features, seed) for features in ("with", "without") for seed in seeds
    ]:
        base = {"totals": TOTALS, "favorable": [[4, 6], [8, 27]], "fit": 1.0, "predict": 0.1}
        splits.base_file(task).write_text(json.dumps(base))
        for name in METHODS:
            answers = [
                {
                    "favorable": (np.array(TOTALS) * random.uniform(0.2, 0.8, (2, 2))).tolist(),
                    "random": False,
                    "fit": 0.5,
                    "predict": 0.1,
                    "bound": bound,
                    "setting": "",
                }
                for bound in exchange.EPSILONS
            ]
            exchange.answer_file(task, name).write_text(json.dumps({"model": "some.Model", "answers": answers}))
    for name in METHODS:
        (tmp_path / f"{name}.plain.txt").write_text("yes\n")
    LINES.clear()
    yield tmp_path
    LINES.clear()


def test_the_page_has_every_method_and_says_who_is_ahead(answered: Path) -> None:
    pytest.importorskip("matplotlib")
    from write_page import write_page

    page = answered / "page" / "peers.md"
    write_page(answered, Contest(BY_RATES, ["compas"], 0, 2), page)
    text = page.read_text()
    assert "This is a quick run: 2 splits of COMPAS." in text
    for method in BY_RATES.values():
        assert f"**{method.title}**" in text
        assert text.count(f"| {method.title} |") >= 2
    assert (page.parent / "peers" / "compas.png").read_bytes().startswith(b"\x89PNG")
    listed = (page.parent / "peers" / "curves.csv").read_text().splitlines()
    assert len(listed) == 1 + 2 * len(BY_RATES) * len(exchange.EPSILONS)
    # Two splits are too few to say who is ahead.
    assert "behind in 0 of 0 comparisons" in text


def test_the_page_of_error_rates_has_those_that_bound_them(answered: Path) -> None:
    pytest.importorskip("matplotlib")
    from write_errors import write_errors

    page = answered / "errors.md"
    write_errors(answered, Contest(BY_ERRORS, ["compas"], splits.ERROR_SEED, 2), page)
    text = page.read_text()
    assert "This is a quick run: 2 splits of COMPAS." in text
    for name, method in METHODS.items():
        assert (f"**{method.title}**" in text) == (name in BY_ERRORS)
        assert text.count(f"| {method.title} |") == (2 if name in BY_ERRORS else 0)
    assert {"shift-lightgbm-odds", "fairgbm", "fairgbm-fewer"} < set(BY_ERRORS)
    assert "nowhere behind it by more than 0.5 points and two standard errors | met: 0 of 0" in text
