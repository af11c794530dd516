"""Finished runs survive: one file, rewritten whole, read back the same."""

import math

import pytest

from reproduction import results as results_module
from reproduction.results import Results
from reproduction.runs import MethodOutcome

pandas = pytest.importorskip("pandas")


def one_run(data="adult", features="with", seed=0):
    run, numbers = (data, features, seed), (0.7, 0.1, 0.2, 0.3)
    return [
        MethodOutcome(*run, "plain forest", "training", None, None, None, None, 0.75, *numbers),
        MethodOutcome(*run, "EiFFFeL-LF", "held-out", 0.05, 0.02, True, 1_234_567, 1 / 3, *numbers),
    ]


def test_runs_are_read_back_as_they_were_added(tmp_path):
    results = Results.read(tmp_path / "runs.csv")
    assert results.runs() == set()
    results.add(one_run(seed=1), 20)
    results.add(one_run(seed=0), 20)
    again = Results.read(tmp_path / "runs.csv")
    pandas.testing.assert_frame_equal(again.frame, results.frame)
    assert again.runs() == {("adult", "with", 0), ("adult", "with", 1)}
    assert again.frame["seed"].tolist() == [0, 0, 1, 1]
    flipped = again.frame.iloc[1]
    assert (flipped["epsilon"], flipped["alpha"], flipped["n_flips"], flipped["met"]) == (0.05, 0.02, 1_234_567, True)
    assert flipped["accuracy"] == 0.333333
    assert math.isnan(again.frame.iloc[0]["epsilon"])
    assert again.frame.iloc[0]["met"] is pandas.NA
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"], "nothing temporary is left"


def test_the_order_of_adding_is_no_matter(tmp_path):
    for name, seeds in (("one", (0, 1, 2)), ("other", (2, 0, 1))):
        results = Results.read(tmp_path / name)
        for seed in seeds:
            results.add(one_run(seed=seed), 20)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_runs_of_another_setting_are_not_mixed_in(tmp_path, monkeypatch):
    results = Results.read(tmp_path / "runs.csv")
    results.add(one_run(), 20)
    results.check_setting(20)
    with pytest.raises(ValueError, match=r"runs\.csv holds runs of adult of 20 trees, .* and this run is of 100 trees"):
        results.check_setting(100)
    monkeypatch.setattr(results_module, "made_with", lambda: "eifffel 99")
    with pytest.raises(ValueError, match=r"of 20 trees, .*, eifffel .*, and this run is of 20 trees, .*, eifffel 99"):
        results.check_setting(20)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read as results"),
        (b"a,b\n1,2\n", "lacks data, features, seed"),
        (b"\xff\xfe\x00", "cannot be read as results"),
        (b'a,"b\n1', "cannot be read as results"),
    ],
)
def test_another_file_of_that_name_is_left_alone(content, message, tmp_path):
    path = tmp_path / "runs.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Results.read(path)
    assert path.read_bytes() == content


def test_a_line_that_is_cut_short_is_named(tmp_path):
    path = tmp_path / "runs.csv"
    results = Results.read(path)
    results.add(one_run(seed=0), 20)
    results.add(one_run(seed=1), 20)
    path.write_text(path.read_text()[:-60])
    with pytest.raises(ValueError, match=r"line 5 of .*runs\.csv is cut short; delete the lines of that run"):
        Results.read(path)


def test_a_run_that_lacks_rows_or_has_some_twice_is_named(tmp_path):
    path = tmp_path / "runs.csv"
    results = Results.read(path)
    results.add(one_run(seed=0), 20)
    results.add(one_run(seed=1), 20)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    with pytest.raises(ValueError, match=r"runs\.csv lacks rows of the run adult, with, seed 1; delete the lines"):
        Results.read(path)
    path.write_text("".join([*lines, lines[-1]]))
    with pytest.raises(ValueError, match=r"line 6 of .*runs\.csv is there twice; delete the lines"):
        Results.read(path)


def test_two_sessions_in_one_folder_lose_nothing(tmp_path):
    one, other = Results.read(tmp_path / "runs.csv"), Results.read(tmp_path / "runs.csv")
    one.add(one_run(seed=0), 20)
    other.add(one_run(seed=1), 20)
    other.add(one_run(seed=0), 20)
    one.add(one_run(seed=2), 20)
    assert [seed for *_, seed in sorted(one.runs())] == [0, 1, 2]
    assert len(one.frame) == 6


def test_a_write_that_fails_leaves_the_runs_kept_so_far(tmp_path, monkeypatch):
    results = Results.read(tmp_path / "runs.csv")
    results.add(one_run(seed=0), 20)
    before = (tmp_path / "runs.csv").read_bytes()

    def fail(*args):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space left"):
        results.add(one_run(seed=1), 20)
    assert (tmp_path / "runs.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]
