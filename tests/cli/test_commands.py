"""From a table to a fair model and a page, command by command."""

import gzip
import json
import os
import re
import shlex
import subprocess
from decimal import Decimal

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

pandas = pytest.importorskip("pandas")
for library in ("typer", "skops", "altair", "vl_convert", "pyarrow"):
    pytest.importorskip(library)
jsonschema = pytest.importorskip("jsonschema")

from commands import COMMAND, error_of, run, run_here  # noqa: E402

from eifffel import EiFFFeLClassifier, load, save, undo  # noqa: E402
from eifffel.cli._demo import make_applicants  # noqa: E402
from eifffel.cli._features import features_for  # noqa: E402
from eifffel.edits.record import find_record  # noqa: E402
from eifffel.report import schema  # noqa: E402
from real_data import needs_real_data  # noqa: E402

WHAT = ("--target", "granted", "--favorable", "yes", "--sensitive", "gender")
MODELS = ("rf", "extra-trees", "hgb", "lightgbm", "xgboost", "catboost")


def applicants(n_rows=2500, gaps=True):
    """A table with missing numbers and categories."""
    frame = make_applicants(n_rows)
    if gaps:
        random = np.random.default_rng(1)
        frame.loc[random.random(n_rows) < 0.1, "income"] = np.nan
        frame.loc[random.random(n_rows) < 0.1, "region"] = None
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and a model that fit made of it."""
    folder = tmp_path_factory.mktemp("fitted")
    applicants().to_csv(folder / "people.csv", index=False)
    done = run("fit", "people.csv", *WHAT, "--out", "model.skops", "--report", "report.html", cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    (folder / "said.txt").write_text(done.stdout)
    return folder


@pytest.mark.parametrize("model", MODELS)
def test_fit_then_predict_on_raw_rows(model, tmp_path):
    if model not in ("rf", "extra-trees", "hgb"):
        pytest.importorskip(model)
    applicants().to_csv(tmp_path / "people.csv", index=False)
    words = ("--model", model, "--epsilon", "0.1", "--out", "model.skops", "--json")
    done = run_here("fit", "people.csv", *WHAT, *words, cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr
    summary = json.loads(done.stdout)
    jsonschema.validate(summary, schema())
    assert summary["favorable"] == "yes"
    assert "the favourable decision, yes, goes to" in summary["verdict"]["sentence"]
    assert [group["name"] for group in summary["groups"]] == ["woman", "man"]
    assert summary["selection"]["met"]
    assert summary["overall"]["after"]["accuracy"]["value"] > 0.7

    new = applicants(300, gaps=False).drop(columns=["gender", "granted"])  # neither label nor group
    new.loc[3, "region"] = "a region that nobody had"
    new.loc[4, "region"] = None
    new.loc[5, "income"] = np.nan
    new["note"] = "a column that is not needed"
    new[new.columns[::-1]].to_csv(tmp_path / "new.csv", index=False)
    done = run_here("predict", "model.skops", "new.csv", "--out", "out.csv", "--keep", "note,age", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    decided = pandas.read_csv(tmp_path / "out.csv")
    assert list(decided.columns) == ["note", "age", "prediction", "probability of yes"]
    assert len(decided) == 300
    assert set(decided["prediction"]) == {"yes", "no"}
    assert ((decided["probability of yes"] > 0.5) == (decided["prediction"] == "yes")).mean() > 0.99

    # What the command says is what the stored model does.
    loaded = load(tmp_path / "model.skops")
    theirs = loaded.predict(features_for(loaded, new, tmp_path)).ravel()
    labels = (find_record(loaded)["task"]["labels"] or ["no", "yes"]) if model == "xgboost" else None
    theirs = [labels[k] for k in theirs] if labels else theirs.tolist()
    assert decided["prediction"].tolist() == theirs


def test_the_report_and_the_model_are_written(folder):
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    said = (folder / "said.txt").read_text()
    for words in ("The report is in report.html", "The model is in model.skops", "test rows", "Who changed", "epsilon"):
        assert words in said
    loaded = load(folder / "model.skops")
    frame = pandas.read_csv(folder / "people.csv")
    X = features_for(loaded, frame, folder)
    summary = json.loads(find_record(loaded)["summary"])
    assert summary["about"]["data"].startswith("people.csv, SHA-256 ")
    assert accuracy_score(frame["granted"], undo(loaded).predict(X)) > 0.8
    assert "gender" not in loaded.feature_names_in_


def test_the_sensitive_column_is_a_feature_only_if_asked_for(folder):
    done = run_here(
        "fit", "people.csv", *WHAT, "--keep-sensitive", "--out", "kept.skops", "--json", "--drop", "age", cwd=folder
    )
    summary = json.loads(done.stdout)
    assert summary["sensitive_among_features"]
    names = set(load(folder / "kept.skops").feature_names_in_)
    assert "gender" in names
    assert "age" not in names
    rules = summary["leaves"]["shown"] + summary["changed"]["rules"]
    assert any(rule["tests_sensitive"] for rule in rules)
    for rule in rules:
        assert rule["tests_sensitive"] == ("gender is" in rule["rule"])
    shown = run_here("explain", "kept.skops", cwd=folder).stdout
    assert "[TESTS THE SENSITIVE ATTRIBUTE]" in shown


def test_flip_edits_without_retraining(folder):
    done = run_here(
        "flip", "model.skops", "people.csv", "--epsilon", "0.02", "--out", "fairer.skops", "--json", cwd=folder
    )
    assert done.returncode in (0, 3), done.stderr
    summary = json.loads(done.stdout)
    assert summary["selection"]["epsilon"] == 0.02
    before, after = (load(folder / name) for name in ("model.skops", "fairer.skops"))
    first, second = (find_record(model)["digests"] for model in (before, after))
    assert first["before"] == second["before"], "both start from the original"
    assert first["after"]["leaves"] != second["after"]["leaves"]
    assert find_record(after)["earlier"] is None


def test_flip_takes_a_model_of_ones_own(folder):
    import skops.io

    frame = applicants(gaps=False)
    X = frame[["income", "debt", "years_employed", "hours_per_week"]]
    forest = RandomForestClassifier(20, random_state=0).fit(X[:1000], frame["granted"][:1000])
    skops.io.dump(forest, folder / "own.skops")
    frame[1000:].to_csv(folder / "rest.csv", index=False)
    said = error_of(run_here("flip", "own.skops", "rest.csv", "--out", "own2.skops", cwd=folder))
    assert said == "--sensitive is needed: the model does not say which column holds the groups"
    done = run_here("flip", "own.skops", "rest.csv", *WHAT, "--out", "own2.skops", "--quiet", cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    assert (done.stdout, done.stderr) == ("", "")
    edited = load(folder / "own2.skops")
    np.testing.assert_array_equal(undo(edited).predict_proba(X), forest.predict_proba(X))


def test_a_model_that_knows_no_names_is_told_them(folder):
    import skops.io

    frame = applicants(gaps=False)
    names = ["income", "debt", "years_employed"]
    forest = RandomForestClassifier(10, random_state=0).fit(frame[names].to_numpy(), frame["granted"])
    skops.io.dump(forest, folder / "nameless.skops")
    frame[["granted", "debt", "gender", "income", "age", "years_employed"]].to_csv(folder / "mixed.csv", index=False)
    words = ("audit", "nameless.skops", "mixed.csv", *WHAT, "--json")
    said = error_of(run_here(*words, cwd=folder))
    assert said.startswith("the model does not know the names of its columns; name those of 'mixed.csv' that it takes")
    done = run_here(*words, "--features", ",".join(names), cwd=folder)
    assert done.returncode == 0, done.stderr
    decided = forest.predict(frame[names].to_numpy()) == "yes"
    rates = [group["after"]["selection_rate"]["value"] for group in json.loads(done.stdout)["groups"]]
    np.testing.assert_allclose(rates, [decided[frame["gender"] == name].mean() for name in ("woman", "man")])


def test_names_with_commas(folder):
    frame = applicants(200, gaps=False).rename(columns={"age": "age, in years"})
    frame.to_csv(folder / "commas.csv", index=False)
    words = ("--drop", '"age, in years",debt', "--quiet", "--out", "commas.skops", "--epsilon", "0.3")
    done = run_here("fit", "commas.csv", *WHAT, *words, cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    assert {"age, in years", "debt"}.isdisjoint(load(folder / "commas.skops").feature_names_in_)


def test_audit_measures_models_edited_or_not(folder):
    done = run_here("audit", "model.skops", "people.csv", "--json", "--report", "audit.md", cwd=folder)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    jsonschema.validate(summary, schema())
    loaded = load(folder / "model.skops")
    frame = pandas.read_csv(folder / "people.csv")
    decided = loaded.predict(features_for(loaded, frame, folder))
    rates = [(decided[frame["gender"] == name] == "yes").mean() for name in ("woman", "man")]
    measured = [group["after"]["selection_rate"]["value"] for group in summary["groups"]]
    np.testing.assert_allclose(measured, rates)
    assert summary["overall"]["after"]["accuracy"]["value"] == pytest.approx((decided == frame["granted"]).mean())
    assert summary["overall"]["before"] is not None
    assert "note: 'people.csv' is the table that the model was made from" in done.stderr
    assert (folder / "audit.md").read_text().startswith("# Fairness report: gender")

    frame.drop(columns="granted").to_csv(folder / "unlabelled.csv", index=False)
    bare = run_here("audit", "model.skops", "unlabelled.csv", "--json", cwd=folder)
    assert bare.returncode == 0, bare.stderr
    summary = json.loads(bare.stdout)
    assert not summary["rows"]["labelled"]
    np.testing.assert_allclose([g["after"]["selection_rate"]["value"] for g in summary["groups"]], rates)


def test_the_exit_code_of_an_audit_is_3_if_the_bound_is_broken(folder):
    assert run_here("audit", "model.skops", "people.csv", "--epsilon", "0.9", "--quiet", cwd=folder).returncode == 0
    done = run_here("audit", "model.skops", "people.csv", "--epsilon", "0", cwd=folder)
    assert done.returncode == 3
    assert "outside the bound of 0" in done.stdout


def test_a_bound_that_is_not_met_is_exit_code_3_and_the_files_are_written(folder):
    words = ("--epsilon", "0.001", "--alpha", "0", "--out", "unmet.skops", "--report", "unmet.html")
    done = run_here("fit", "people.csv", *WHAT, *words, cwd=folder)
    assert done.returncode == 3
    assert "NOT MET" in done.stdout
    assert "note: --epsilon=0.001 with --alpha=0 is not met" in done.stderr
    assert (folder / "unmet.skops").exists()
    assert "The bound is not met" in (folder / "unmet.html").read_text(encoding="utf-8")


def test_path_from_the_record_and_from_data(folder):
    done = run_here("path", "model.skops", "--out", "path.csv", "--picture", "path.png", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^original +0 ", done.stdout, re.MULTILINE)
    table = pandas.read_csv(folder / "path.csv")
    assert table["epsilon"].is_monotonic_increasing
    assert (table["discrimination_selection_rows"].abs() <= table["epsilon"])[table["met"]].all()
    assert (folder / "path.png").read_bytes().startswith(b"\x89PNG")
    rows = json.loads(run_here("path", "model.skops", "people.csv", "--json", cwd=folder).stdout)
    assert len(rows) == len(table)
    np.testing.assert_allclose([row["discrimination_test_rows"] for row in rows], table["discrimination_test_rows"])


def test_explain_needs_no_data_and_describes_nobody(folder):
    done = run_here("explain", "model.skops", "--json", "--report", "again.html", cwd=folder)
    summary = json.loads(done.stdout)
    jsonschema.validate(summary, schema())
    assert all(n is None or n == 0 or n >= 10 for leaf in summary["leaves"]["shown"] for n in leaf["rows"])
    assert summary["leaves"]["n_hidden"] > 0
    assert (folder / "again.html").exists()
    shown = run_here("explain", "model.skops", cwd=folder).stdout
    assert "leaves changed, by leaf flipping" in shown
    assert "with fewer than ten scoring rows are not described" in " ".join(shown.split())
    import skops.io

    skops.io.dump(undo(load(folder / "model.skops")), folder / "bare.skops")
    said = error_of(run_here("explain", "bare.skops", cwd=folder))
    assert said.startswith("'bare.skops' carries no record of an edit")


@pytest.mark.parametrize(
    "name", ["people.tsv", "people.parquet", "people.csv.gz", "people.tsv.gz", "people.parquet.gz"]
)
def test_tables_of_every_kind_give_the_same_model(name, folder, tmp_path):
    frame = pandas.read_csv(folder / "people.csv")
    path = tmp_path / name
    plain = path.with_suffix("") if name.endswith(".gz") else path
    if plain.suffix == ".parquet":
        frame.to_parquet(plain)
    else:
        frame.to_csv(plain, index=False, sep="\t" if plain.suffix == ".tsv" else ",")
    if plain != path:
        path.write_bytes(gzip.compress(plain.read_bytes()))
    done = run_here("fit", path, *WHAT, "--out", tmp_path / "model.skops", "--quiet")
    assert done.returncode in (0, 3), done.stderr
    digests = [find_record(load(where / "model.skops"))["digests"] for where in (folder, tmp_path)]
    assert digests[0] == digests[1]


def test_missing_labels_and_groups_are_counted_and_left_out_on_request(tmp_path):
    frame = applicants(1500)
    frame.loc[:4, "gender"] = None
    frame.loc[10:12, "granted"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    words = ("fit", "gaps.csv", *WHAT, "--out", "model.skops")
    said = error_of(run_here(*words, cwd=tmp_path))
    assert said == (
        "column 'gender' (--sensitive) is missing in 5 of 1,500 rows of 'gaps.csv'; --drop-missing leaves such rows "
        "out; --missing drop leaves them out of all counts, --missing own-group makes them a group"
    )
    assert not (tmp_path / "model.skops").exists()
    done = run_here(*words, "--drop-missing", cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr
    assert "1,492 rows; 8 rows without a label or a group left out" in done.stdout


def test_labels_that_are_numbers_stay_numbers(tmp_path):
    frame = applicants(1500)
    frame["granted"] = (frame["granted"] == "yes").astype(int)
    frame["gender"] = (frame["gender"] == "man").astype(float)
    frame.loc[0, "gender"] = None  # makes the column one of floats
    frame.to_csv(tmp_path / "numbers.csv", index=False)
    words = (
        "--target",
        "granted",
        "--favorable",
        "1.0",
        "--sensitive",
        "gender",
        "--privileged",
        "1.0",
        "--drop-missing",
    )
    done = run_here("fit", "numbers.csv", *words, "--out", "model.skops", "--json", cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr
    assert [group["name"] for group in json.loads(done.stdout)["groups"]] == ["0", "1"]
    assert load(tmp_path / "model.skops").classes_.tolist() == [0, 1]


@pytest.mark.parametrize("spelt", [("true", "false"), ("True", "False")])
def test_booleans_are_read_alike_by_every_command(spelt, tmp_path):
    frame = applicants(1500, gaps=False)
    frame["part_time"] = np.where(frame["part_time"] == "yes", *spelt)
    frame["gender"] = np.where(frame["gender"] == "man", *spelt).astype(object)
    frame.loc[:3, "gender"] = None
    frame.to_csv(tmp_path / "people.csv", index=False)
    words = ("--drop-missing", "--keep-sensitive", "--epsilon", "1", "--out", "model.skops", "--json")
    summary = json.loads(run_here("fit", "people.csv", *WHAT, *words, cwd=tmp_path).stdout)
    assert {group["name"] for group in summary["groups"]} == {"True", "False"}
    frame[4:].to_csv(tmp_path / "rest.csv", index=False)
    done = run_here("audit", "model.skops", "rest.csv", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    accuracy = json.loads(done.stdout)["overall"]["after"]["accuracy"]["value"]
    assert accuracy > summary["overall"]["after"]["accuracy"]["value"] - 0.02, "it knows most of these rows"


def test_decisions_stay_with_their_rows_whatever_the_index(folder):
    frame = applicants(400).sample(frac=0.7, random_state=0)
    frame.to_parquet(folder / "shuffled.parquet")
    done = run_here("predict", "model.skops", "shuffled.parquet", "--keep", "debt", "--out", "kept.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    decided = pandas.read_csv(folder / "kept.csv")
    np.testing.assert_allclose(decided["debt"], frame["debt"])
    loaded = load(folder / "model.skops")
    assert decided["prediction"].tolist() == loaded.predict(features_for(loaded, frame, folder)).tolist()
    frame["prediction"] = 1
    frame.to_parquet(folder / "clash.parquet")
    done = run_here("predict", "model.skops", "clash.parquet", "--keep", "prediction", "--out", "c.csv", cwd=folder)
    assert error_of(done).startswith("--keep: 'prediction' is what the decisions are called")


def test_parquet_has_decimals_and_dates(tmp_path):
    frame = applicants(1000, gaps=False)
    frame["income"] = [Decimal(f"{value:.2f}") for value in frame["income"]]
    frame["since"] = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(np.arange(1000), "D")
    frame.to_parquet(tmp_path / "people.parquet")
    done = run_here("fit", "people.parquet", *WHAT, "--out", "model.skops", cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr
    assert "features: 9 numbers, 2 categories" in done.stdout


def test_a_stored_classifier_is_judged_by_the_bound_given(folder):
    frame = applicants(gaps=False)
    clf = EiFFFeLClassifier(RandomForestClassifier(10, random_state=0), epsilon=0.2, favorable="yes", random_state=0)
    clf.fit(frame[["income", "debt", "career_break_years"]], frame["granted"], sensitive_features=frame["gender"])
    save(clf, folder / "clf.skops", overwrite=True)
    frame.to_csv(folder / "whole.csv", index=False)
    for epsilon, code in (("0.0001", 3), ("0.9", 0)):
        done = run_here("audit", "clf.skops", "whole.csv", *WHAT, "--epsilon", epsilon, cwd=folder)
        assert done.returncode == code, done.stderr
        assert f"the bound of {epsilon}" in done.stdout


def test_a_pipeline_of_ones_own_is_flipped(folder):
    frame = applicants()
    encoder = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["income", "debt"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["gender", "part_time"]),
    )
    model = make_pipeline(encoder, RandomForestClassifier(20, min_samples_leaf=5, random_state=0))
    model.fit(frame[:1500].drop(columns="granted"), frame["granted"][:1500])
    save(model, folder / "mine.skops", overwrite=True)
    frame[1500:].to_csv(folder / "others.csv", index=False)
    done = run_here(
        "flip", "mine.skops", "others.csv", *WHAT, "--out", "mine2.skops", "--json", "--overwrite", cwd=folder
    )
    assert done.returncode in (0, 3), done.stderr
    leaves = json.loads(done.stdout)["leaves"]["shown"]
    assert leaves
    for leaf in leaves:
        assert leaf["tests_sensitive"] == ("gender is" in leaf["rule"])
        assert "income" not in leaf["rule"].replace("pipeline__income", ""), "scaled numbers are not incomes"


def test_a_console_without_the_signs(folder):
    done = run("explain", "model.skops", cwd=folder, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "bound" in done.stdout


def test_data_cannot_write_to_the_terminal(tmp_path):
    frame = applicants(1500)
    frame["gender"] = np.where(frame["gender"] == "man", "[red]m\x1b[31man", "<script>alert(1)</script>")
    frame.to_csv(tmp_path / "evil.csv", index=False)
    done = run_here("fit", "evil.csv", *WHAT, "--out", "model.skops", "--report", "r.html", cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr
    assert "\x1b" not in done.stdout
    assert "[red]m [31man" in done.stdout
    assert "<script>alert" not in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_demo_writes_a_table_a_model_and_a_report(tmp_path):
    done = run("demo", "--out", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "applicants.csv",
        "model.skops",
        "report.html",
    ]
    assert "This does the same as:\n  eifffel fit demo/applicants.csv" in done.stdout
    assert "training rf" in done.stderr, "a progress bar"
    # What it prints is what it runs.
    words = shlex.split(done.stdout.splitlines()[1])
    assert words[-2] == "--intended-use"
    explained = run("explain", "demo/model.skops", "--json", cwd=tmp_path)
    assert json.loads(explained.stdout)["about"]["intended_use"] == words[-1]
    before = (tmp_path / "demo" / "model.skops").read_bytes()
    again = run("demo", "--out", "demo", cwd=tmp_path)
    assert "is not overwritten unasked" in error_of(again)
    assert (tmp_path / "demo" / "model.skops").read_bytes() == before


def test_decisions_are_written_in_the_form_that_the_name_says(folder):
    for name, read in (("d.parquet", pandas.read_parquet), ("d.tsv.gz", lambda path: pandas.read_csv(path, sep="\t"))):
        done = run_here("predict", "model.skops", "people.csv", "--out", name, "--quiet", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert list(read(folder / name).columns) == ["prediction", "probability of yes"]


def test_datasets_are_listed():
    rows = json.loads(run_here("datasets", "--json").stdout)
    assert [row["name"] for row in rows] == ["adult", "bank", "compas"]
    assert "people in the US census" in run_here("datasets").stdout


@pytest.mark.slow
@needs_real_data
@pytest.mark.parametrize("name", ["adult", "bank", "compas"])
def test_a_data_set_becomes_a_table_that_fit_takes(name, tmp_path):
    done = run_here("datasets", name, "--out", "table.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    import shlex

    words = shlex.split(done.stdout.splitlines()[-1])
    assert words[:2] == ["eifffel", "fit"]
    fitted = run_here(*words[1:], "--epsilon", "0.05", "--json", cwd=tmp_path)
    assert fitted.returncode in (0, 3), fitted.stderr
    summary = json.loads(fitted.stdout)
    assert summary["selection"]["met"]
    assert abs(summary["overall"]["after"]["discrimination"]["value"]) < 0.12


@pytest.mark.slow
def test_nobody_has_to_read_to_the_end(tmp_path):
    # As in `eifffel demo 2>&1 | head -1`: the bar, too, writes to whom nobody listens.
    done = subprocess.Popen(
        [*COMMAND, "demo", "--out", "demo"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.stdout.readline().startswith(b"40,000 synthetic applicants")
    done.stdout.close()
    assert done.wait(timeout=120) == 0
    assert (tmp_path / "demo" / "model.skops").exists()


def test_commands_work_without_standard_error(tmp_path):
    make_applicants(2000).to_csv(tmp_path / "people.csv", index=False)
    words = [
        "fit",
        "people.csv",
        "--target",
        "granted",
        "--favorable",
        "yes",
        "--sensitive",
        "gender",
        "--out",
        "m.skops",
    ]
    script = '"$@" 2>&- > said; echo $?'
    done = subprocess.run(
        ["bash", "-c", script, "bash", *COMMAND, *words], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() in ("0", "3")
    assert (tmp_path / "m.skops").exists()
