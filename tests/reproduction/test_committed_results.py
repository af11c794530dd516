"""The page and tables in the docs are those that the runs committed beside them give."""

import re
from pathlib import Path

import pytest

from reproduction import protocol
from reproduction.output import write_texts
from reproduction.results import Results
from reproduction.summary import Runs

pytest.importorskip("pandas")
COMMITTED = Path(__file__).parents[2] / "docs" / "results" / "reproduction"


@pytest.fixture(scope="module")
def frame():
    return Results.read(COMMITTED / "runs.csv").frame


@pytest.fixture(scope="module")
def runs(frame):
    return Runs(frame)


def test_pages_follow_from_the_runs(runs, tmp_path):
    write_texts(runs, tmp_path)
    made = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    committed = {path.relative_to(COMMITTED) for path in COMMITTED.rglob("*") if path.suffix in {".md", ".tex", ".csv"}}
    assert made == committed - {Path("runs.csv")}
    for path in made:
        assert (tmp_path / path).read_text() == (COMMITTED / path).read_text(), path
    pictures = re.findall(r"\((figures/[^)]+\.png)\)", (COMMITTED / "README.md").read_text())
    assert len(pictures) == 6
    for picture in pictures:
        assert (COMMITTED / picture).exists()
        assert (COMMITTED / picture).with_suffix(".svg").exists()


def test_the_runs_are_a_full_reproduction(frame):
    assert set(frame["trees"]) == {protocol.N_TREES}
    for name in protocol.EXPERIMENTS:
        assert set(frame.loc[frame["data"] == name, "protocol"]) == {protocol.fingerprint(name)}, (
            "the protocol of today"
        )
    counts = frame.groupby(["data", "features"])["seed"].nunique()
    for name, experiment in protocol.EXPERIMENTS.items():
        for features in protocol.FEATURES:
            assert counts[name, features] == experiment.n_seeds


def test_the_readme_shows_the_numbers_of_the_page(runs):
    readme = (COMMITTED.parents[2] / "README.md").read_text()
    table = readme[readme.index("| epsilon | Adult: accuracy |") :].split("\n\n")[0].splitlines()[2:]
    assert len(table) == 4
    for line in table:
        bound, *shown = line.strip("| ").split(" | ")
        chosen = (
            {"method": protocol.LF, "epsilon": float(bound)}
            if bound != "original model"
            else {"method": protocol.PLAIN}
        )
        found = []
        for name, measure in (("adult", "accuracy"), ("compas", "accuracy"), ("bank", "balanced_accuracy")):
            rows = runs.pick(data=name, chosen_on=protocol.HELD_OUT, **chosen)
            found += [f"{rows[measure].mean():.3f}", f"{rows['discrimination'].mean():.3f}"]
        assert shown == found


def test_the_docs_tell_the_counts_as_the_page_does():
    page = (COMMITTED / "README.md").read_text()
    docs = " ".join((COMMITTED.parents[1] / "paper" / "reproduction.md").read_text().split())
    ((n_met, n_goals),) = re.findall(r"(\d+) of (\d+) goals are met,", page)
    assert f"{n_met} of {n_goals} goals are met" in docs
    (agreeing, printed), *_ = re.findall(r"(\d+) of (\d+) printed numbers agree", page)
    assert f"{agreeing} of the {printed} printed numbers agree" in docs
