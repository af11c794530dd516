"""eifffel audit: tables for auditors, and decisions without a model."""

import csv
import json

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("altair")

from commands import error_of, run_here  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402

from eifffel import save  # noqa: E402
from eifffel.datasets import make_biased_classification  # noqa: E402

N = 1200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table of decisions, and a model that decides about the same people."""
    folder = tmp_path_factory.mktemp("audit")
    people = make_biased_classification(N, random_state=0)
    frame = pd.DataFrame(people.data, columns=people.feature_names)
    forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(frame, people.target)
    save(forest, folder / "model.skops")
    random = np.random.default_rng(0)
    frame["sex"] = np.where(people.sensitive == 1, "m", "f")
    frame["race"] = random.choice(["a", "b", "c"], N, p=[0.6, 0.39, 0.01])
    frame["hired"] = np.where(
        forest.predict(frame[people.feature_names]) == 1, "yes", random.choice(["no", "withdrew"], N)
    )
    frame["score"] = forest.predict_proba(frame[people.feature_names])[:, 1]
    frame["fit"] = np.where(people.target == 1, "yes", "no")
    frame.loc[:19, "race"] = None
    frame.to_csv(folder / "people.csv", index=False)
    return folder


DECISIONS = ("audit", "people.csv", "--decision", "hired", "--favorable", "yes")


def test_decisions_without_a_model(folder):
    done = run_here(*DECISIONS, "--sensitive", "sex", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    frame = pd.read_csv(folder / "people.csv")
    rates = {group["name"]: group["after"]["selection_rate"]["value"] for group in summary["groups"]}
    assert rates == pytest.approx((frame["hired"] == "yes").groupby(frame["sex"]).mean().to_dict())
    assert summary["model"]["kind"] == "column hired of people.csv"
    assert summary["sensitive_among_features"] is None
    assert summary["favorable"] == "yes"


def test_several_favourable_decisions_and_labels(folder):
    done = run_here(
        *DECISIONS[:-1], "yes,withdrew", "--sensitive", "sex", "--target", "fit", "--json", "--quiet", cwd=folder
    )
    summary = json.loads(done.stdout)
    assert summary["favorable"] == "withdrew or yes"
    frame = pd.read_csv(folder / "people.csv")
    right = (frame["hired"] != "no") == (frame["fit"] == "yes")
    assert summary["overall"]["after"]["accuracy"]["value"] == pytest.approx(right.mean())


def test_a_bound_on_decisions_is_judged(folder):
    assert run_here(*DECISIONS, "--sensitive", "sex", "--epsilon", "0.9", cwd=folder).returncode == 0
    assert run_here(*DECISIONS, "--sensitive", "sex", "--epsilon", "0.01", cwd=folder).returncode == 3


@pytest.mark.parametrize("name", ["four-fifths", "ll144", "model-card"])
def test_a_table_is_printed_and_written_in_each_form(folder, tmp_path, name):
    words = (*DECISIONS, "--sensitive", "sex,race", "--drop-missing", "--score", "score", "--table", name)
    shown = run_here(*words, "--out", tmp_path / "t.md", "--report", tmp_path / "r.html", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "it does not say that a law is complied with" in shown.stdout
    assert f"The table is in {tmp_path / 't.md'}." in shown.stdout
    markdown = (tmp_path / "t.md").read_text()
    page = (tmp_path / "r.html").read_text()
    title = markdown.splitlines()[0].removeprefix("## ")
    assert f"<summary>{title}</summary>" in page
    as_json = run_here(*words, "--out", tmp_path / "t.csv", "--json", cwd=folder)
    table = json.loads(as_json.stdout)
    assert table["table"] == name
    n_records = sum(len(block["records"]) for block in table["blocks"])
    with open(tmp_path / "t.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == n_records
    assert error_of(run_here(*words, "--out", tmp_path / "t.csv", cwd=folder)).endswith("or pass --overwrite")


def test_people_of_unknown_category_are_counted_where_rows_are_dropped(folder):
    words = (*DECISIONS, "--sensitive", "sex,race", "--table", "ll144", "--json", "--quiet")
    assert "'race' (--sensitive) is missing in 20 of 1,200 rows" in error_of(run_here(*words, cwd=folder))
    for how in (["--drop-missing"], ["--missing", "drop"]):
        table = json.loads(run_here(*words, *how, cwd=folder).stdout)
        assert table["blocks"][-1]["records"][0]["people"] == 20
        assert table["rows"]["n"] == N - 20


def test_a_model_has_tables_too(folder):
    words = (
        "audit",
        "model.skops",
        "people.csv",
        "--favorable",
        "1",
        "--sensitive",
        "sex",
        "--table",
        "ll144",
        "--json",
        "--quiet",
    )
    table = json.loads(run_here(*words, "--owner", "HR", cwd=folder).stdout)
    headings = [block["heading"] for block in table["blocks"]]
    assert headings == [
        "Selection rates, sex categories",
        "Scoring rates, sex categories",
        "Not included in the calculations, a category not known",
    ]
    frame = pd.read_csv(folder / "people.csv")
    above = (frame["score"] > frame["score"].median()).groupby(frame["sex"]).mean()
    scoring = {record["category"]: record["rate"] for record in table["blocks"][1]["records"]}
    assert scoring == pytest.approx(above.to_dict())
    card = run_here(*words[:-3], "model-card", "--json", "--quiet", "--owner", "HR", cwd=folder)
    fields = {r["field"]: r["value"] for block in json.loads(card.stdout)["blocks"] for r in block["records"]}
    assert fields["Who answers for it"] == "HR"
    assert fields["Model file"].startswith("model.skops, SHA-256 ")


def test_a_broken_bound_is_said_beside_a_table(folder):
    done = run_here(*DECISIONS, "--sensitive", "sex", "--epsilon", "0.01", "--table", "ll144", cwd=folder)
    assert done.returncode == 3
    assert "Outside the bound, so that the exit code is 3." in done.stderr


def test_few_people_are_described_if_that_is_asked_for(folder):
    words = (*DECISIONS, "--sensitive", "sex,race", "--missing", "drop", "--table", "ll144", "--json", "--quiet")
    hidden, told = (json.loads(run_here(*words, *more, cwd=folder).stdout) for more in ([], ["--tell-few"]))
    cells = {record["category"]: record["people"] for record in told["blocks"][2]["records"]}
    frame = pd.read_csv(folder / "people.csv")
    assert cells["f, c"] == ((frame["sex"] == "f") & (frame["race"] == "c")).sum() < 10
    assert {r["category"]: r["people"] for r in hidden["blocks"][2]["records"]}["f, c"] is None


MISTAKES = [
    (
        ("audit", "people.csv", "model.skops", "--sensitive", "sex"),
        "'people.csv' is a table, and a model is needed here",
    ),
    (("audit", "people.csv", "--sensitive", "sex"), "name a model and a table, as in eifffel audit model.skops"),
    (("audit", "model.skops", "people.csv", "--decision", "hired"), "with --decision name one table and no model"),
    ((*DECISIONS, "--sensitive", "sex", "--table", "gdpr"), "--table must be one of 'four-fifths', 'll144', 'model-"),
    ((*DECISIONS, "--sensitive", "sex", "--out", "t.md"), "--out is for a table: say which, as in --table four-fifths"),
    ((*DECISIONS, "--sensitive", "sex", "--table", "ll144", "--out", "t.html"), "must end in .md, .csv, .json, got"),
    ((*DECISIONS, "--sensitive", "sex", "--features", "age"), "--features is for models; leave it out"),
    (
        (*DECISIONS, "--sensitive", "sex", "--score", "race"),
        "--score: column 'race' of 'people.csv' has 'nan' in row 1",
    ),
    ((*DECISIONS, "--sensitive", "sex", "--score", "scores"), "has no column 'scores'; did you mean 'score'?"),
    ((*DECISIONS, "--sensitive", "sex", "--target", "race"), "column 'race' (--target) is missing in 20 of 1,200 rows"),
    (
        (*DECISIONS, "--sensitive", "sex", "--constraint", "equal_opportunity"),
        "among people of one label; name their column with --target",
    ),
    ((*DECISIONS, "--sensitive", "sex", "--target", "hired"), "--target and --decision are both 'hired'; name another"),
    ((*DECISIONS[:-1], ",", "--sensitive", "sex"), "--favorable names no decision, got ','; name those that are good"),
    (
        (*DECISIONS[:-1], "yes,no,withdrew", "--sensitive", "sex"),
        "--favorable names every decision of 'no', 'withdrew'",
    ),
    (DECISIONS, "--sensitive is needed: name the column of groups"),
    (
        (*DECISIONS[:-2], "--sensitive", "sex"),
        "--favorable is needed: which decision of column 'hired' is good for a person, 'no' (",
    ),
    ((*DECISIONS[:-1], "si", "--sensitive", "sex"), "--favorable: column 'hired' has no 'si'; it has 'no', 'withdrew'"),
    (
        ("audit", "people.csv", "--decision", "hird", "--sensitive", "sex"),
        "--decision: 'people.csv' has no column 'hird'",
    ),
    (
        ("audit", "model.skops", "people.csv", "--sensitive", "sex", "--score", "score"),
        "--score goes with --decision, and a model gives scores of its own; leave it out",
    ),
    ((*DECISIONS, "--sensitive", "hired"), "--decision and --sensitive are both 'hired'"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_mistakes_are_one_line_that_says_what_to_do(folder, words, message):
    assert message in error_of(run_here(*words, cwd=folder))
    assert not (folder / "t.md").exists()
