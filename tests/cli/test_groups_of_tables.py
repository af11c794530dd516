"""Several columns of groups, rates and labels on the command line."""

import json
import re

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
for library in ("typer", "skops", "altair", "vl_convert"):
    pytest.importorskip(library)

from commands import error_of  # noqa: E402
from commands import run_here as run  # noqa: E402

from eifffel import load  # noqa: E402
from eifffel.cli import _printing  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of 3,000 applicants with two attributes, some missing, and three kinds of labels."""
    random = np.random.RandomState(0)
    n = 3000
    sex, race = random.randint(0, 2, n), random.choice(4, n, p=[0.5, 0.3, 0.195, 0.005])
    merit, height, accent = random.normal(size=n), sex + random.normal(size=n), race + random.normal(size=n)
    granted = merit + 0.5 * sex + 0.4 * race + random.normal(size=n) > 1
    frame = pd.DataFrame({"merit": merit, "height": height, "accent": accent}).round(3)
    frame["sex"], frame["race"] = np.array(["f", "m"])[sex], np.array(["w", "x", "y", "z"])[race]
    frame["outcome"] = np.where(granted, np.where(accent > 1, "approved", "approved in part"), "refused")
    frame["granted"] = np.where(granted, "yes", "no")
    where = tmp_path_factory.mktemp("groups")
    frame.drop(columns="outcome").to_csv(where / "people.csv", index=False)
    frame.drop(columns="granted").to_csv(where / "kinds.csv", index=False)
    frame.loc[::20, "race"] = None
    frame.drop(columns="outcome").to_csv(where / "gaps.csv", index=False)
    done = run(
        "fit", "people.csv", *WHAT, "--combine", "intersection", "--epsilon", "0.15", "--out", "both.skops", "--report",
        "both.json", "--seed", "1", cwd=where,
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    (where / "said").write_text(done.stdout)
    return where


WHAT = ("--target", "granted", "--favorable", "yes", "--sensitive", "sex,race")


def test_several_columns_in_all_combinations(folder):
    summary = json.loads((folder / "both.json").read_text())
    assert summary["sensitive"] == "sex x race"
    assert [group["name"] for group in summary["groups"]][-1] == "m, z"
    assert summary["groups"][-1]["bounded"] is False
    said = (folder / "said").read_text()
    assert "By sex x race, on 597 test rows" in said, "without the three of race z"
    assert "m, z (small group) (not bounded)" in said
    record = load(folder / "both.skops").eifffel_record_
    assert record["constraint"] == {"name": "demographic_parity", "min_group_rows": 30}
    assert record["grouping"]["names"] == ["sex", "race"]
    assert "sex" not in load(folder / "both.skops").feature_names_in_


def test_a_stored_model_knows_who_was_compared(folder):
    done = run("audit", "both.skops", "people.csv", "--json", cwd=folder)
    audited = json.loads(done.stdout)
    assert audited["sensitive"] == "sex x race"
    assert audited["verdict"]["epsilon"] == 0.15
    flipped = run(
        "flip",
        "both.skops",
        "people.csv",
        "--epsilon",
        "0.2",
        "--seed",
        "1",
        "--out",
        "other.skops",
        "--json",
        cwd=folder,
    )
    assert json.loads(flipped.stdout)["constraint"]["combine"] == "intersection"
    path = run(
        "path", "both.skops", "people.csv", "--seed", "1", "--out", "path.csv", "--picture", "path.png", cwd=folder
    )
    assert path.returncode == 0, path.stderr
    assert {"selection_rate_f, w", "selection_rate_m, z"} <= set(pd.read_csv(folder / "path.csv").columns)
    explained = run("explain", "both.skops", cwd=folder)
    assert explained.returncode == 0, explained.stderr
    # By another attribute, it is measured anew.
    alone = json.loads(run("audit", "both.skops", "people.csv", "--sensitive", "sex", "--json", cwd=folder).stdout)
    assert [group["name"] for group in alone["groups"]] == ["f", "m"]
    assert alone["verdict"]["epsilon"] is None


def test_other_rates_ratios_and_a_group_to_compare_with(folder):
    done = run(
        "fit", "people.csv", *WHAT, "--constraint", "equalized_odds", "--ratio", "0.5", "--privileged", "sex=m,race=w",
        "--min-group-rows", "20", "--out", "odds.skops", "--json", cwd=folder,
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    summary = json.loads(done.stdout)
    assert summary["constraint"]["name"] == "equalized_odds"
    assert summary["constraint"]["min_group_rows"] == 20
    assert (summary["selection"]["epsilon"], summary["selection"]["ratio"]) == (None, 0.5)
    assert [group["name"] for group in summary["groups"] if group["role"] == "privileged"] == ["sex m", "race w"]


def test_people_whose_group_is_missing(folder):
    said = error_of(run("fit", "gaps.csv", *WHAT, "--out", "gaps.skops", cwd=folder))
    assert said.startswith("column 'race' (--sensitive) is missing in 150 of 3,000 rows of 'gaps.csv'; --drop-missing")
    done = run("fit", "gaps.csv", *WHAT, "--missing", "own-group", "--out", "own.skops", "--json", cwd=folder)
    summary = json.loads(done.stdout)
    assert [group["name"] for group in summary["groups"]][-1] == "race (missing)"
    done = run("fit", "gaps.csv", *WHAT, "--missing", "drop", "--out", "drop.skops", "--json", cwd=folder)
    summary = json.loads(done.stdout)
    assert summary["rows"]["without_group"] > 10
    n_few = 600 - summary["rows"]["n"] - summary["rows"]["without_group"]
    assert 0 < n_few < 10, "those of race z, who are in no number"


def test_several_labels_that_are_good_for_a_person(folder):
    words = ("fit", "kinds.csv", "--target", "outcome", "--sensitive", "sex", "--out", "kinds.skops")
    said = error_of(run(*words, cwd=folder))
    assert "has 3 values, 'approved', 'approved in part', 'refused', and must have two; name all that are good" in said
    said = error_of(run(*words, "--favorable", "approved,aproved", cwd=folder))
    assert said.startswith(
        "--favorable: column 'outcome' has no 'aproved'; did you mean 'approved'? It has 'approved', "
    )
    one = run(*words, "--favorable", "approved", "--out", "one.skops", "--json", cwd=folder)
    assert json.loads(one.stdout)["favorable"] == "approved"
    done = run(*words, "--favorable", "approved,approved in part", "--json", cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    assert json.loads(done.stdout)["favorable"] == "approved or approved in part"
    run("predict", "kinds.skops", "kinds.csv", "--out", "decided.csv", cwd=folder)
    decided = pd.read_csv(folder / "decided.csv")
    assert set(decided["prediction"]) == {"approved or approved in part", "refused"}
    audited = run("audit", "kinds.skops", "kinds.csv", "--json", cwd=folder)
    assert json.loads(audited.stdout)["overall"]["after"]["accuracy"]["value"] > 0.7


def test_an_audit_compares_as_it_is_told_to(folder):
    audit = ("audit", "both.skops", "people.csv", "--target", "granted", "--json", "--quiet")

    def audited(*words):
        done = run(*audit, *words, cwd=folder)
        assert done.stdout, done.stderr
        return json.loads(done.stdout), done.returncode

    each, _ = audited("--combine", "each")
    assert [group["name"] for group in each["groups"]][:3] == ["sex f", "sex m", "race w"]
    assert each["verdict"]["epsilon"] is None
    reference, _ = audited("--privileged", "sex=m,race=w")
    assert [group["name"] for group in reference["groups"] if group["role"] == "privileged"] == ["m, w"]
    few, _ = audited("--min-group-rows", "5")
    assert few["constraint"]["min_group_rows"] == 5
    strict, code = audited("--ratio", "0.99")
    assert (strict["verdict"]["ratio"], strict["verdict"]["holds"], code) == (0.99, False, 3)
    lenient, code = audited("--ratio", "0.01")
    assert (lenient["verdict"]["holds"], code) == (True, 0)
    said = error_of(run(*audit, "--ratio", "0.8", "--epsilon", "0.1", cwd=folder))
    assert said == "--epsilon=0.1 and --ratio=0.8 are two bounds; give one of them"
    said = error_of(
        run("fit", "people.csv", *WHAT, "--ratio", "0.8", "--epsilon", "0.05", "--out", "n.skops", cwd=folder)
    )
    assert said == "--epsilon=0.05 and --ratio=0.8 are two bounds; give one of them"


def test_what_ratios_cost(folder):
    done = run(
        "path",
        "both.skops",
        "people.csv",
        "--seed",
        "1",
        "--ratio",
        "0.6",
        "--out",
        "ratios.csv",
        "--overwrite",
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ratio +changed leaves +ratio there +discrimination +accuracy", done.stdout, re.MULTILINE)
    table = pd.read_csv(folder / "ratios.csv")
    assert {"ratio", "ratio_test_rows", "discrimination_test_rows"} <= set(table.columns)
    assert 0.6 in table["ratio"].tolist()
    assert (table["ratio_selection_rows"] >= table["ratio"])[table["met"]].all()


def test_labels_that_nobody_named_are_refused(folder):
    words = (
        "fit",
        "kinds.csv",
        "--target",
        "outcome",
        "--sensitive",
        "sex",
        "--favorable",
        "approved,approved in part",
    )
    run(*words, "--out", "named.skops", "--overwrite", cwd=folder)
    table = pd.read_csv(folder / "kinds.csv")
    table.loc[0, "outcome"] = "withdrawn"
    table.to_csv(folder / "later.csv", index=False)
    said = error_of(run("audit", "named.skops", "later.csv", "--target", "outcome", cwd=folder))
    assert said.startswith(
        "column 'outcome' has the label 'withdrawn', and the model was trained on 'refused', 'approved"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--constraint", "parity"), "--constraint must be one of 'demographic_parity'"),
        (("--combine", "both"), "--combine must be one of 'each', 'intersection', got 'both'"),
        (("--missing", "ignore"), "--missing must be one of 'error', 'own-group', 'drop', got 'ignore'"),
        (("--ratio", "80"), "--ratio must be in [0, 1], got 80.0; write 0.8 for 80 percent"),
        (("--privileged", "m"), "--privileged must name the column of each group, as in sex=Male,race=White, got 'm'"),
        (("--privileged", "sex=w"), "--privileged: column 'sex' has no 'w'; it has 'f', 'm'"),
        (("--privileged", "age=1"), "--privileged names 'age', not among --sensitive sex, race"),
        (("--sensitive", "sex,sex"), "--sensitive names a column twice: 'sex,sex'"),
        (("--sensitive", "sex,rase"), "--sensitive: 'people.csv' has no column 'rase'; did you mean 'race'?"),
        (("--sensitive", "merit"), "--sensitive: column 'merit' has "),
        (("--min-group-rows", "100000", "--sensitive", "race"), "fewer than two groups have 100000 rows or more"),
    ],
)
def test_mistakes(words, message, folder):
    said = error_of(
        run("fit", "people.csv", *WHAT, *words, "--model", "rf", "--out", "no.skops", "--quiet", cwd=folder)
    )
    assert re.search(re.escape(message), said), said
    assert not (folder / "no.skops").exists()


@pytest.mark.parametrize("width", [120, 80, 60])
def test_no_number_is_cut_off_where_names_are_long(width, monkeypatch, capsys):
    monkeypatch.setattr(_printing, "MAX_WIDTH", width)
    head = ["epsilon", "changed leaves", "Female, African-American", "Male, African-American", "discrimination", ""]
    rows = [["original", "0", "70.8%", "46.6%", "0.392 (0.247 to 0.533)", ""]]
    _printing.print_table("What each bound costs", head, rows)
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= width
    for word in ("original", "70.8%", "46.6%", "0.392", "(0.247", "0.533)"):
        assert word in said.split()
    letters = "".join(said.split())
    assert letters.count("(") == letters.count(")") == 1


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Tables of 800 applicants, four of them of one of two groups, who are decided otherwise in each."""
    random = np.random.RandomState(0)
    merit = random.normal(size=800)
    frame = pd.DataFrame({"merit": merit.round(3), "sex": np.where(np.arange(800) < 4, "f", "m")})
    frame["granted"] = np.where(merit + random.normal(size=800) > 0, "yes", "no")
    frame["decided"] = np.where(merit > 0, "yes", "no")
    where = tmp_path_factory.mktemp("few")
    for n in range(5):
        frame.loc[:3, "decided"] = ["yes"] * n + ["no"] * (4 - n)
        frame.loc[:3, "granted"] = ["no"] * n + ["yes"] * (4 - n)
        (where / f"{n}").mkdir()
        frame.to_csv(where / f"{n}" / "people.csv", index=False)
    return where


def test_an_audit_tells_nothing_of_few_people(few):
    words = (
        "audit",
        "people.csv",
        "--decision",
        "decided",
        "--favorable",
        "yes",
        "--target",
        "granted",
        "--sensitive",
        "sex",
    )
    for more, code in (([], 0), (["--epsilon", "0.1"], 3), (["--ratio", "0.8", "--table", "four-fifths"], 3)):
        done = [run(*words, *more, cwd=few / f"{n}") for n in range(5)]
        assert [one.returncode for one in done] == [code] * 5
        # Whoever has all else of a table can try what is missing by its hash, which says which table it was.
        assert len({re.sub(r"SHA-256 \w+", "", one.stdout + one.stderr) for one in done}) == 1
        said = done[0].stdout + done[0].stderr
        assert "fewer than ten" in said
        if code:
            assert "The bound cannot be judged on these rows" in said


def test_no_step_is_chosen_by_few_people(few):
    frame = pd.read_csv(few / "0" / "people.csv")
    frame.loc[:39, "sex"] = "f"
    frame.to_csv(few / "forty.csv", index=False)
    words = ("fit", "forty.csv", "--target", "granted", "--favorable", "yes", "--sensitive", "sex", "--drop", "decided")
    done = run(*words, "--out", "never.skops", "--quiet", cwd=few)
    assert error_of(done) == (
        "f has fewer than ten of the selection rows, and no step is chosen by what is decided about so few people, "
        "who are not described; give "
        "more rows of it, put groups together, or take a larger --selection-size"
    )
    # Half of them find a step, and the other half certifies it.
    frame.loc[:59, "sex"], frame.loc[60:119, "sex"] = "f", "g"
    frame.to_csv(few / "parts.csv", index=False)
    halves = ("fit", "parts.csv", *words[2:], "--min-group-rows", "10", "--quiet")
    assert run(*halves, "--out", "three.skops", cwd=few).returncode in (0, 3)
    said = error_of(run(*halves, "--confidence", "0.9", "--out", "never.skops", cwd=few))
    assert re.match("[fg] has fewer than ten of the selection rows (searched|kept apart), and no step is chosen", said)
    assert said.endswith("or take a larger --selection-size or --min-group-rows")
    # Enough to choose by, and too few to judge by.
    more = ("--selection-size", "0.4", "--report", "few.json", "--out", "few.skops")
    done = run(*words, *more, cwd=few)
    assert done.returncode == 3, done.stderr
    made = json.loads((few / "few.json").read_text())
    assert made["verdict"]["holds"] is None
    assert made["overall"]["after"]["discrimination"]["value"] is None
    assert made["path"]["points"][0]["selection"]["discrimination"] is not None
    shown = run("path", "few.skops", "--out", "few.csv", "--picture", "few.png", cwd=few)
    assert shown.returncode == 0, shown.stderr
    table = pd.read_csv(few / "few.csv")
    assert table["discrimination_test_rows"].isna().all()
    assert table["selection_rate_f"].isna().all()
    assert table["discrimination_selection_rows"].notna().all()


def test_warnings_of_a_bound_that_is_not_met_count_nobody_of_few(folder):
    done = run(
        "fit", "people.csv", *WHAT, "--epsilon", "0.001", "--alpha", "0", "--out", "strict.skops", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 3
    assert "The bound is not met" in done.stdout
    # Numbers would be of everybody.
    assert "note: --epsilon=0.001 with --alpha=0 is not met: the reason is not shown, for it would" in done.stderr
    assert "or a larger share of the table with --selection-size, or leave groups of few rows out of" in done.stderr
    assert done.stderr.count("with a larger --min-group-rows\n") == 1
