"""One call makes all runs and all pages; what is finished is not made again."""

import re

import pytest
from made_up_runs import use_few_people

from eifffel.exceptions import DatasetError
from reproduction import output, protocol, schedule
from reproduction.results import Results
from reproduction.runs import make_run
from reproduction.schedule import reproduce

pandas = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.slow

N_TREES = 4
SMALL = {"n_trees": N_TREES, "n_jobs": 1, "verbose": 0}
PAGES = {"README.md", "runs.csv"}
TABLES = {
    f"{name}_{features}" for name in ("adult", "adult_alpha", "bank", "compas") for features in ("with", "without")
}
FIGURES = {f"figure{k}_{features}" for k in (1, 2, 3) for features in ("with", "without")}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A few people, runs that no test makes twice, and no pictures, which take longest."""
    use_few_people(monkeypatch)
    monkeypatch.setattr(schedule, "make_run", make_once)
    monkeypatch.setattr(schedule, "write_figures", lambda runs, folder: None)


@pytest.fixture
def drawn(small, monkeypatch):
    """Pictures all the same."""
    monkeypatch.setattr(schedule, "write_figures", output.write_figures)


MADE = {}


def make_once(name, people, features, seed, *, n_trees, n_jobs):
    """The run; it depends on nothing else here."""
    run = (name, features, seed, n_trees)
    if run not in MADE:
        MADE[run] = make_run(name, people, features, seed, n_trees=n_trees, n_jobs=n_jobs)
    return MADE[run]


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def counted(monkeypatch):
    """The runs that are asked for."""
    made = []

    def counting(name, people, features, seed, **options):
        made.append((name, features, seed))
        return make_once(name, people, features, seed, **options)

    monkeypatch.setattr(schedule, "make_run", counting)
    return made


def test_everything_is_written(tmp_path, drawn):
    results = reproduce(tmp_path / "out", n_seeds=2, **SMALL)
    assert len(results.runs()) == 3 * 2 * 2
    written = files(tmp_path / "out")
    expected = PAGES | {f"tables/{name}.{ending}" for name in TABLES for ending in ("md", "csv", "tex")}
    assert set(written) == expected | {f"figures/{name}.{ending}" for name in FIGURES for ending in ("png", "svg")}
    for name in FIGURES:
        assert written[f"figures/{name}.png"].startswith(b"\x89PNG")
        assert b"<svg" in written[f"figures/{name}.svg"][:1000]
    page = written["README.md"].decode()
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert set(links) <= set(written), "every link leads to a file"
    assert {f"figures/{name}.png" for name in FIGURES} | {f"tables/{name}.tex" for name in TABLES} <= set(links)
    assert "with 4 trees; seeds: Adult 2, Bank 2, COMPAS 2" in page


def test_an_interrupted_call_goes_on_where_it_stopped(tmp_path, counted, drawn, monkeypatch):
    monkeypatch.setattr(output, "FIGURES", output.FIGURES[:1])
    whole = reproduce(tmp_path / "whole", data=["compas"], n_seeds=2, **SMALL)
    counting = schedule.make_run
    counted.clear()

    def interrupt(*args, **options):
        if len(counted) == 3:
            raise KeyboardInterrupt
        return counting(*args, **options)

    monkeypatch.setattr(schedule, "make_run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path / "parts", data=["compas"], n_seeds=2, **SMALL)
    assert set(files(tmp_path / "parts")) == {"runs.csv"}
    finished = Results.read(tmp_path / "parts" / "runs.csv").runs()
    assert finished == set(counted)
    assert len(finished) == 3

    monkeypatch.setattr(schedule, "make_run", counting)
    again = reproduce(tmp_path / "parts", data=["compas"], n_seeds=2, **SMALL)
    assert len(counted) == len(set(counted)) == 4, "no run was made twice"
    pandas.testing.assert_frame_equal(again.frame, whole.frame)
    assert files(tmp_path / "parts") == files(tmp_path / "whole"), "pictures too, to the byte"
    assert sum(name.startswith("figures/") for name in files(tmp_path / "parts")) == 4
    counted.clear()
    reproduce(tmp_path / "parts", data=["compas"], n_seeds=2, **SMALL)
    assert counted == []


def test_an_unfinished_data_set_beside_a_finished_one(tmp_path, counted, monkeypatch):
    counting = schedule.make_run

    def interrupt(*args, **options):
        if len(counted) == 1:
            raise KeyboardInterrupt
        return counting(*args, **options)

    monkeypatch.setattr(schedule, "make_run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path, data="compas", n_seeds=1, **SMALL)
    monkeypatch.setattr(schedule, "make_run", counting)
    reproduce(tmp_path, data="bank", n_seeds=1, **SMALL)
    page = (tmp_path / "README.md").read_text()
    assert "seeds: Bank 1;" in page
    assert "is missing: 1." in page


def test_what_a_killed_write_leaves_is_no_obstacle(tmp_path):
    (tmp_path / ".runs.csv.0a1b2c3d.part").write_text("half a")
    assert len(reproduce(tmp_path, data="compas", n_seeds=1, **SMALL).runs()) == 2


def test_another_protocol_is_not_mixed_in(tmp_path, monkeypatch):
    reproduce(tmp_path, data="compas", n_seeds=1, **SMALL)
    monkeypatch.setattr(protocol, "HELD_OUT_SIZE", 0.5)
    with pytest.raises(
        ValueError, match=r"holds runs of compas of 4 trees, protocol .*, and this run is of 4 trees, prot"
    ):
        reproduce(tmp_path, data="compas", n_seeds=2, **SMALL)


def test_more_seeds_are_added_to_those_there_are(tmp_path, counted):
    reproduce(tmp_path, data=["compas"], n_seeds=1, **SMALL)
    counted.clear()
    results = reproduce(tmp_path, data=["compas"], n_seeds=3, **SMALL)
    assert [seed for _, _, seed in counted] == [1, 1, 2, 2]
    assert len(results.runs()) == 6


def test_by_default_as_many_seeds_as_the_protocol_has(tmp_path):
    planned = schedule.plan(tmp_path / "out", **SMALL)
    counts = {name: sum(run[0] == name for run in planned.wanted) for name in protocol.EXPERIMENTS}
    assert counts == {"adult": 2 * 10, "bank": 2 * 20, "compas": 2 * 20}
    assert planned.wanted[:6] == [(n, f, 0) for n in ("adult", "bank", "compas") for f in ("with", "without")]
    assert list((tmp_path / "out").iterdir()) == [], "planning writes nothing"


def test_no_more_processes_than_runs(tmp_path):
    planned = schedule.plan(tmp_path / "out", data=["compas"], n_seeds=1, n_jobs=64)
    assert planned.n_jobs == len(planned.missing) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": ["mnist"]}, "data must be one of 'adult', 'bank', 'compas', got 'mnist'"),
        ({"data": []}, "no data set is named; there are adult, bank, compas"),
        ({"n_seeds": 0}, "n_seeds must be"),
        ({"n_trees": 1}, "n_trees must be"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_input_is_refused_before_any_work(options, message, tmp_path, counted):
    with pytest.raises(ValueError, match=message):
        reproduce(tmp_path / "out", **{**SMALL, **options})
    assert not (tmp_path / "out").exists()
    assert counted == []


def test_a_folder_of_somebody_elses_is_left_alone(tmp_path, counted):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match=r"holds files, but no runs\.csv .* nothing there is overwritten"):
        reproduce(tmp_path, **SMALL)
    with pytest.raises(ValueError, match=r"results need a folder, and '.*thesis\.tex' is a file"):
        reproduce(tmp_path / "thesis.tex", **SMALL)
    assert files(tmp_path) == {"thesis.tex": b"mine"}
    assert counted == []


def test_a_folder_that_cannot_be_written_is_found_out_before_any_work(tmp_path, counted, monkeypatch):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match=r"results cannot be written to the folder '.*file/out': Not a directory"):
        reproduce(tmp_path / "file" / "out", **SMALL)

    def fail(**options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", fail)
    with pytest.raises(ValueError, match=r"results cannot be written to the folder '.*new': Permission denied"):
        reproduce(tmp_path / "new", **SMALL)
    assert counted == []


def test_one_data_set_by_its_name(tmp_path):
    assert {run[0] for run in schedule.plan(tmp_path, data="compas", **SMALL).wanted} == {"compas"}


def test_data_that_cannot_be_had_are_found_out_before_any_work(tmp_path, counted, monkeypatch):
    def fail(data_home, verbose):
        raise DatasetError("no such data")

    broken = {name: protocol.EXPERIMENTS[name] for name in ("adult", "bank")}
    broken["compas"] = type(broken["adult"])("COMPAS", fail, {}, n_seeds=1)
    monkeypatch.setattr(protocol, "EXPERIMENTS", broken)
    with pytest.raises(DatasetError, match="no such data"):
        reproduce(tmp_path / "out", n_seeds=1, **SMALL)
    assert counted == []
    assert not (tmp_path / "out").exists()
