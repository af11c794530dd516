"""The bounds on the command line: confidence, direction, objective."""

import json

import pytest
from sklearn.ensemble import RandomForestClassifier

pandas = pytest.importorskip("pandas")
for library in ("typer", "skops", "altair", "vl_convert", "pyarrow"):
    pytest.importorskip(library)

from commands import error_of  # noqa: E402
from commands import run_here as run  # noqa: E402

from eifffel import load, save  # noqa: E402
from eifffel.cli._demo import make_applicants  # noqa: E402
from eifffel.edits.record import find_record  # noqa: E402
from eifffel.report.facts import ChosenStep, read  # noqa: E402
from eifffel.selection.shortfall import say_shortfall  # noqa: E402

WHAT = ("--target", "granted", "--favorable", "yes", "--sensitive", "gender")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and a model that fit made of it with confidence."""
    folder = tmp_path_factory.mktemp("certified")
    make_applicants(4000).to_csv(folder / "people.csv", index=False)
    make_applicants(4500).iloc[4000:].to_csv(folder / "others.csv", index=False)
    words = ("--epsilon", "0.1", "--confidence", "0.9", "--out", "model.skops", "--report", "report.html")
    done = run("fit", "people.csv", *WHAT, *words, cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    (folder / "said.txt").write_text(done.stdout)
    return folder


def flip(folder, *words):
    return run("flip", "model.skops", *words, "--out", "other.skops", "--overwrite", "--json", cwd=folder)


def test_fit_with_confidence_says_so(folder):
    chosen = find_record(load(folder / "model.skops"))["selection"]
    assert chosen["confidence"] == 0.9
    assert chosen["met"]
    assert chosen["sides"] == "both"
    assert -0.1 <= chosen["lower"] < chosen["upper"] <= 0.1
    said = (folder / "said.txt").read_text()
    assert (
        "so that, with 90% confidence, the difference is at most the bound, in either direction, for people drawn"
        in said
    )
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "with 90% confidence" in page
    assert "confidence 0.9" in page


def test_a_model_within_the_bound_as_it_came_is_said_to_be_unchanged(folder):
    done = run(
        "flip", "model.skops", "people.csv", "--epsilon", "0.6", "--out", "same.skops", "--report", "same.md",
        "--quiet", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said, text = (run("explain", "same.skops", cwd=folder).stdout, (folder / "same.md").read_text(encoding="utf-8"))
    unchanged = "On the selection rows the model was already within the bound; nothing was changed."
    assert unchanged in said
    assert "Who changed" not in said
    assert text.count(unchanged) == 4, "the verdict, here and on the model card, who changed, which leaves"
    assert "| rule |" not in text


def test_the_rows_that_trained_the_model_give_no_confidence(folder):
    same = flip(folder, "people.csv", "--confidence", "0.9", "--epsilon", "0.2")
    assert same.returncode in (0, 3), same.stderr
    assert json.loads(same.stdout)["selection"]["confidence"] == 0.9
    # Groups of another column, with the same seed and sizes, split the table otherwise too.
    for words in (("--seed", "1"), ("--test-size", "0.3"), ("--sensitive", "region", "--min-group-rows", "0")):
        done = flip(folder, "people.csv", "--confidence", "0.9", "--quiet", *words)
        assert error_of(done) == (
            "--confidence needs rows that the model was not trained on, and 'people.csv' is the table that it was made "
            "from, split otherwise; give --seed 0 --test-size 0.2 --selection-size 0.25, as then, and the same "
            "--target, --sensitive and rows, or another table"
        )
    done = run("path", "model.skops", "people.csv", "--confidence", "0.9", "--seed", "1", "--quiet", cwd=folder)
    assert "--confidence needs rows that the model was not trained on" in error_of(done)


def test_an_audit_judges_by_the_bound_that_the_model_was_edited_for(folder):
    done = run("audit", "model.skops", "others.csv", "--target", "granted", "--json", cwd=folder)
    summary = json.loads(done.stdout)
    verdict = summary["verdict"]
    assert verdict["epsilon"] == summary["selection"]["epsilon"] == 0.1
    assert verdict["chosen"] is True
    assert "The step was chosen on 800 selection rows so that, with 90% confidence" in verdict["sentence"]
    assert done.returncode == (3 if verdict["certain"] and not verdict["holds"] else 0)
    # Next month hardly a woman looks like one who was granted anything.
    frame = pandas.read_csv(folder / "people.csv")
    drifted = frame[(frame["gender"] == "man") | (frame["granted"] == "no")]
    drifted[drifted["gender"].eq("man") | drifted["income"].lt(drifted["income"].median())].to_csv(
        folder / "drifted.csv", index=False
    )
    done = run("audit", "model.skops", "drifted.csv", "--target", "granted", cwd=folder)
    assert done.returncode == 3
    assert "Outside the bound." in done.stdout


def test_a_copy_of_the_table_is_the_table(folder):
    (folder / "copy.csv").write_bytes((folder / "people.csv").read_bytes())
    done = flip(folder, "copy.csv", "--confidence", "0.9", "--epsilon", "0.2")
    assert done.returncode in (0, 3), done.stderr
    done = run("audit", "model.skops", "copy.csv", "--json", cwd=folder)
    assert "knows most of its rows" in json.loads(done.stdout)["about"]["data"]


def test_the_table_that_trained_a_model_is_known_after_another_edit(folder):
    assert flip(folder, "others.csv", "--epsilon", "0.3", "--quiet").returncode in (0, 3)
    words = ("--confidence", "0.9", "--seed", "7", "--out", "third.skops", "--quiet")
    done = run("flip", "other.skops", "people.csv", *words, cwd=folder)
    assert "is the table that it was made from, split otherwise" in error_of(done)


def test_what_is_no_longer_asked_for_is_said(folder):
    done = flip(folder, "people.csv", "--epsilon", "0.2")
    assert "the model was edited with --confidence 0.9, and this edit is without" in done.stderr


@pytest.mark.parametrize(
    "words",
    [("--confidence", "0.9"), ("--epsilon", "0.05"), ("--direction", "any"), ("--target", "hired"), ("--seed", "0")],
)
def test_the_path_that_made_a_model_is_what_it_is(folder, words):
    done = run("path", "model.skops", *words, cwd=folder)
    assert error_of(done).startswith(f"{words[0]} needs a table, and without one this shows the path")


def test_of_another_table_it_says_what_it_takes_for_granted(folder):
    done = flip(folder, "others.csv", "--confidence", "0.9", "--epsilon", "0.3")
    assert done.returncode in (0, 3), done.stderr
    assert "note: --confidence holds only if the model was not trained on rows of 'others.csv'" in done.stderr


def test_too_few_rows_are_said_to_be_too_few(folder):
    bounds = ("--confidence", "0.99", "--epsilon", "0.01", "--alpha", "0")
    done = flip(folder, "others.csv", *bounds)
    assert done.returncode == 3
    assert "--epsilon=0.01 with --confidence=0.99 and --alpha=0 is not met" in done.stderr
    made = json.loads(done.stdout)
    assert made["selection"]["met"] is False
    why = say_shortfall(read(made["selection"], ChosenStep))
    assert why in made["verdict"]["sentence"]
    assert why in " ".join(done.stderr.split())
    shown = run("path", "model.skops", "others.csv", *bounds, cwd=folder).stdout
    assert f"--epsilon=0.01 is not met: {why}" in " ".join(shown.split())
    # Whichever rows are within it, nobody has certified it; they may be judged by another bound.
    audited = run("audit", "other.skops", "people.csv", cwd=folder)
    assert "✗ The bound is not met" in audited.stdout
    assert audited.returncode == 3
    assert run("audit", "other.skops", "people.csv", "--epsilon", "0.9", cwd=folder).returncode == 0


def test_in_one_direction_alone_fewer_rows_will_do(folder):
    bounds = ("--confidence", "0.9", "--epsilon", "0.04")
    both = flip(folder, "others.csv", *bounds)
    assert both.returncode == 3
    assert "--epsilon=0.04 with --confidence=0.9 is not met" in both.stderr
    done = flip(folder, "others.csv", *bounds, "--sides", "upper")
    made = json.loads(done.stdout)
    assert made["selection"]["met"] is True
    assert (made["selection"]["sides"], made["selection"]["lower"]) == ("upper", None)
    assert made["selection"]["upper"] <= 0.04
    assert made["path"]["sides"] == "upper"
    assert "the difference is at most the bound, in the direction asked for, for people" in made["verdict"]["sentence"]
    # An audit judges in that direction, too, and another edit says that it does not.
    audit = json.loads(run("audit", "other.skops", "people.csv", "--json", cwd=folder).stdout)
    assert audit["selection"]["sides"] == "upper"
    value = audit["overall"]["after"]["discrimination"]["value"]
    expected = "outside" if value > 0.04 else "overshoots" if value < -0.04 else "within"
    assert (audit["verdict"]["kind"], audit["verdict"]["holds"]) == (expected, value <= 0.04)
    again = run("flip", "other.skops", "people.csv", "--epsilon", "0.2", "--out", "again.skops", cwd=folder)
    assert "edited with --confidence 0.9 --sides upper, and this edit is without; say it again if" in again.stderr


def test_upwards_nobody_loses(folder):
    done = flip(folder, "people.csv", "--direction", "up", "--epsilon", "0.1")
    summary = json.loads(done.stdout)
    assert summary["model"]["direction"] == "up"
    assert [group["lost"] for group in summary["changed"]["groups"]] == [0, 0]
    assert sum(group["gained"] for group in summary["changed"]["groups"]) > 0
    assert "nobody loses one" in summary["verdict"]["sentence"]
    assert find_record(load(folder / "other.skops"))["direction"] == "up"


@pytest.mark.parametrize(
    ("objective", "alpha", "stored"),
    [("balanced_accuracy", "0.2", "balanced_accuracy"), ("0,1,5,0", "3", [[0, 1], [5, 0]])],
)
def test_what_alpha_limits(folder, objective, alpha, stored):
    done = flip(folder, "people.csv", "--objective", objective, "--alpha", alpha)
    chosen = json.loads(done.stdout)["selection"]
    assert chosen["objective"] == stored
    assert chosen["objective_drop"] <= float(alpha)
    assert run("explain", "other.skops", "--quiet", cwd=folder).returncode == 0
    run("path", "other.skops", "--picture", "other.png", "--overwrite", "--quiet", cwd=folder)
    assert (folder / "other.png").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--confidence", "95"), "--confidence must be at least 0.5 and below 1, got 95.0; write 0.95 for 95 percent"),
        (("--confidence", "0.2"), "--confidence must be at least 0.5 and below 1, got 0.2; 0.95 is usual"),
        (("--sides", "lower"), "--sides must be one of 'both', 'upper', got 'lower'"),
        (("--direction", "down"), "--direction must be one of 'any', 'up', got 'down'"),
        (
            ("--objective", "f1"),
            "--objective must be one of 'accuracy', 'balanced_accuracy', got 'f1'; or give four costs, 0,1,5,0",
        ),
        (("--objective", "1,2"), "--objective must be a name or four costs, such as 0,1,5,0, got '1,2'"),
        (("--objective", "0,1,nan,0"), "--objective must be one of"),
    ],
)
def test_mistakes(folder, words, message):
    assert error_of(run("fit", "people.csv", *WHAT, "--out", "new.skops", *words, cwd=folder)).startswith(message)
    assert not (folder / "new.skops").exists()


@pytest.mark.parametrize("command", ["fit", "flip", "path"])
def test_several_differences_have_no_one_direction(folder, command):
    words = ("--sides", "upper", "--sensitive", "gender,region", "--target", "granted", "--favorable", "yes")
    model = () if command == "fit" else ("model.skops",)
    out = ("--out", "new.csv" if command == "path" else "new.skops")
    done = run(command, *model, "people.csv", *words, *out, cwd=folder)
    assert done.returncode == 2
    error = done.stderr.splitlines()[-1]
    assert error.startswith("eifffel: --sides='upper' bounds a difference in the one direction that it has between two")
    assert not {"new.csv", "new.skops"} & {file.name for file in folder.iterdir()}


def test_a_model_of_ones_own_is_taken_at_its_word(folder):
    frame = pandas.read_csv(folder / "others.csv")
    numbers = frame[["income", "debt"]] if "debt" in frame else frame.select_dtypes("number")
    forest = RandomForestClassifier(10, random_state=0).fit(numbers, frame["granted"])
    save(forest, folder / "own.skops", overwrite=True)
    words = ("--confidence", "0.9", "--epsilon", "0.3", "--out", "own-fair.skops", "--overwrite")
    done = run("flip", "own.skops", "people.csv", *WHAT, *words, cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    assert "--confidence holds only if the model was not trained on rows of 'people.csv'" in done.stderr


def test_how_many_rows_choose_can_be_said(folder):
    done = flip(folder, "people.csv", "--epsilon", "0.2", "--selection-size", "0.5")
    assert done.returncode in (0, 3), done.stderr
    assert json.loads(done.stdout)["selection"]["n_discrimination_rows"] == 1600
    assert error_of(flip(folder, "people.csv", "--selection-size", "2")).startswith("--selection-size must be strictly")


@pytest.mark.parametrize("command", ["flip", "audit"])
def test_a_model_of_0_and_1_takes_a_table_of_words(folder, command):
    table = pandas.read_csv(folder / "people.csv")
    numbers = table.select_dtypes("number")
    forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(numbers, table["granted"] == "yes")
    forest.classes_ = forest.classes_.astype(int)
    for tree in forest.estimators_:
        tree.classes_ = tree.classes_.astype(int)
    save(forest, folder / "plain.skops", overwrite=True)
    words = ("--target", "granted", "--favorable", "yes", "--sensitive", "gender", "--json", "--quiet")
    more = ("--out", "fairer.skops", "--overwrite", "--epsilon", "0.1") if command == "flip" else ()
    done = run(command, "plain.skops", "people.csv", *words, *more, cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    summary = json.loads(done.stdout)
    assert summary["favorable"] == "yes"
    assert summary["overall"]["after"]["accuracy"]["value"] > 0.7
    n_no = (table["granted"] == "no").sum()
    for favorable, message in (
        (
            ("--favorable", "no"),
            "--favorable='no' is taken as what the model's 1 stands for, and the model then decides",
        ),
        (("--favorable", "Yes"), "--favorable: column 'granted' has no 'Yes'; did you mean 'yes'? It has 'no', 'yes'"),
        ((), f"--favorable is needed: which label of column 'granted' is good for a person, 'no' ({n_no:,} rows) or"),
    ):
        wrong = (*words[:2], *favorable, *words[4:])
        assert error_of(run(command, "plain.skops", "people.csv", *wrong, *more, cwd=folder)).startswith(message)


def test_the_table_that_a_model_was_edited_on_is_known(folder):
    table = pandas.read_csv(folder / "people.csv")
    forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)
    save(forest.fit(table.select_dtypes("number"), table["granted"]), folder / "words.skops", overwrite=True)
    more = ("--out", "edited.skops", "--overwrite", "--epsilon", "0.1", "--quiet")
    assert run("flip", "words.skops", "people.csv", *WHAT, *more, cwd=folder).returncode in (0, 3)
    assert "the table that the model was edited on" in run("audit", "edited.skops", "people.csv", cwd=folder).stderr
    assert "the table that" not in run("audit", "edited.skops", "others.csv", cwd=folder).stderr


def test_a_file_of_lightgbm_goes_in_and_comes_out(folder):
    lightgbm = pytest.importorskip("lightgbm")
    table = pandas.read_csv(folder / "people.csv")
    numbers = table.select_dtypes("number")
    params = {"objective": "binary", "verbose": -1, "seed": 0, "num_threads": 1}
    booster = lightgbm.train(params, lightgbm.Dataset(numbers, (table["granted"] == "yes") * 1), 20)
    booster.save_model(str(folder / "theirs.txt"))
    words = ("--target", "granted", "--favorable", "yes", "--sensitive", "gender", "--quiet")
    done = run("audit", "theirs.txt", "people.csv", *words, "--json", cwd=folder)
    before = json.loads(done.stdout)["overall"]["after"]["discrimination"]["value"]
    done = run("flip", "theirs.txt", "people.csv", *words, "--out", "ours.skops", "--epsilon", "0.05", cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    done = run("export", "ours.skops", "--to", "native", "--out", "ours.txt", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "The model is in ours.txt" in done.stdout
    ours = lightgbm.Booster(model_file=str(folder / "ours.txt"))
    rates = pandas.Series(ours.predict(numbers) > 0.5).groupby(table["gender"]).mean()
    assert abs(rates["man"] - rates["woman"]) < 0.1 < before
    wrong = run("export", "ours.skops", "--to", "native", "--check", "people.csv", "--out", "no.txt", cwd=folder)
    assert error_of(wrong).startswith("--check compares ONNX files with the model")
    wrong = run("export", "model.skops", "--to", "native", "--out", "no.txt", cwd=folder)
    assert "has no file of its own that other programs read" in error_of(wrong)
    assert not (folder / "no.txt").exists()
