"""Which label is good for a person is asked, never guessed: in credit, 1 is a loan that was not paid back."""

import json
import os

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

pd = pytest.importorskip("pandas")
for library in ("typer", "skops", "altair", "vl_convert", "pyarrow"):
    pytest.importorskip(library)

from commands import error_of, run_here  # noqa: E402

from eifffel import load, save, trace_path  # noqa: E402
from eifffel.cli._tables import is_spelt, match_value  # noqa: E402
from eifffel.datasets import make_biased_classification  # noqa: E402
from eifffel.edits.record import find_record  # noqa: E402

N = 600
PEOPLE = make_biased_classification(N, random_state=0)
NUMBERS = pd.DataFrame(PEOPLE.data, columns=PEOPLE.feature_names)
SEX = np.where(PEOPLE.sensitive == 1, "m", "f")
BAD, GOOD = int((PEOPLE.target == 0).sum()), int((PEOPLE.target == 1).sum())
PAID = np.where(PEOPLE.target == 1, "paid", "not paid")
GROUPS = ("--sensitive", "sex")
FLIPPED = ("--out", "new.skops", "--epsilon", "0.1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables with labels of several kinds, and models that carry no record and that do."""
    folder = tmp_path_factory.mktemp("labels")
    for name, labels in {
        "numbers": PEOPLE.target,
        "floats": [f"{label:.1f}" for label in PEOPLE.target],
        "signs": 2 * PEOPLE.target - 1,
        "booleans": PEOPLE.target == 1,
        "words": PAID,
    }.items():
        NUMBERS.assign(sex=SEX, repaid=labels).to_csv(folder / f"{name}.csv", index=False)
    forest = RandomForestClassifier(10, min_samples_leaf=5, random_state=0).fit(NUMBERS, PEOPLE.target)
    save(forest, folder / "plain.skops")
    save(edited(forest, PEOPLE.target, favorable=0), folder / "zero.skops")
    save(edited(forest, PAID, favorable="paid"), folder / "words.skops")
    return folder


def edited(forest, y, **options):
    rows = (NUMBERS, y, SEX)
    path = trace_path(forest, *rows[:2], sensitive_features=SEX, select_on=rows, **options)
    return path.model_at(min(2, path.n_steps))


def asked(what, bad, good):
    return f"--favorable is needed: which {what} is good for a person, {bad} ({BAD} rows) or {good} ({GOOD} rows)?"


@pytest.mark.parametrize(
    ("table", "bad", "good"),
    [
        ("numbers", 0, 1),
        ("floats", 0, 1),
        ("signs", -1, 1),
        ("booleans", False, True),
        ("words", "'not paid'", "'paid'"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "audit"])
def test_labels_of_a_table_do_not_say_which_is_good(command, table, bad, good, folder):
    before = sorted(os.listdir(folder))
    if command == "fit":
        done = run_here("fit", f"{table}.csv", "--target", "repaid", *GROUPS, "--out", "new.skops", cwd=folder)
        what = "label of column 'repaid'"
    else:
        done = run_here("audit", f"{table}.csv", "--decision", "repaid", *GROUPS, cwd=folder)
        what = "decision of column 'repaid'"
    assert error_of(done) == asked(what, bad, good)
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("words", [("flip", *FLIPPED), ("path",), ("audit",)], ids=["flip", "path", "audit"])
def test_nor_does_a_model_without_a_record(words, folder):
    command, *more = words
    done = run_here(command, "plain.skops", "numbers.csv", "--target", "repaid", *GROUPS, *more, cwd=folder)
    assert error_of(done) == asked("label of column 'repaid'", 0, 1)
    assert not (folder / "new.skops").exists()


def test_nor_do_its_classes(folder):
    done = run_here("audit", "plain.skops", "numbers.csv", *GROUPS, cwd=folder)
    assert error_of(done) == "--favorable is needed: which decision of the model is good for a person, 0 or 1?"
    rates = {}
    for favorable in "01":
        done = run_here("audit", "plain.skops", "numbers.csv", *GROUPS, "--favorable", favorable, "--json", cwd=folder)
        assert done.returncode == 0, done.stderr
        groups = json.loads(done.stdout)["groups"]
        rates[favorable] = {group["name"]: group["after"]["selection_rate"]["value"] for group in groups}
    assert rates["0"]["f"] == pytest.approx(1 - rates["1"]["f"])


def test_a_table_of_truth_values_is_edited_in_the_labels_of_the_model(folder):
    frame = pd.read_csv(folder / "numbers.csv")
    frame.assign(repaid=frame["repaid"] == 1).to_csv(folder / "truth.csv", index=False)
    words = ("plain.skops", "truth.csv", "--target", "repaid", *GROUPS, "--favorable", "1")
    done = run_here("flip", *words, *FLIPPED, "--overwrite", "--json", cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    assert json.loads(done.stdout)["favorable"] == "1"
    record = find_record(load(folder / "new.skops"))
    assert (record["classes"], record["favorable"]) == ([0, 1], 1)
    assert not any(isinstance(label, bool) for label in record["classes"])
    (folder / "new.skops").unlink()


def test_a_record_says_it(folder):
    """Of an edit in Python too, also where words of the table stand for 0 and 1."""
    for model, table, favorable in (("zero", "numbers", 0), ("words", "words", 1)):
        words = (f"{model}.skops", f"{table}.csv", "--target", "repaid", *GROUPS)
        done = run_here("audit", *words, "--json", cwd=folder)
        assert done.returncode in (0, 3), done.stderr
        assert json.loads(done.stdout)["favorable"] == ("0" if model == "zero" else "paid")
        done = run_here("flip", *words, *FLIPPED, "--overwrite", "--json", cwd=folder)
        assert done.returncode in (0, 3), done.stderr
        assert json.loads(done.stdout)["favorable"] == ("0" if model == "zero" else "paid")
        assert find_record(load(folder / "new.skops"))["favorable"] == favorable
        (folder / "new.skops").unlink()


@pytest.mark.parametrize(
    ("table", "favorable"),
    [
        ("numbers", "1.0"),
        ("floats", "1"),
        ("signs", "1.0"),
        ("booleans", "true"),
        ("booleans", "TRUE"),
        ("booleans", "1"),
    ],
)
def test_a_label_may_be_spelt_otherwise(table, favorable, folder):
    words = ("audit", f"{table}.csv", "--decision", "repaid", *GROUPS, "--favorable", favorable, "--json")
    done = run_here(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    groups = json.loads(done.stdout)["groups"]
    rates = pd.Series(PEOPLE.target).groupby(SEX).mean()
    assert {group["name"]: group["after"]["selection_rate"]["value"] for group in groups} == pytest.approx(dict(rates))


@pytest.mark.parametrize(
    ("text", "values", "found"),
    [
        ("1.0", [0, 1], 1),
        ("1", [0.5, 1.0], 1.0),
        ("1", ["0.0", "1.0"], "1.0"),
        ("1.0", ["1", "1.0"], "1.0"),
        (" yes ", ["no", "yes"], "yes"),
        ("true", [False, True], True),
        ("0", [False, True], False),
        ("-1", [-1, 1], -1),
    ],
)
def test_which_value_a_text_stands_for(text, values, found):
    assert match_value(text, np.array(values, object), "it") == found


def test_a_text_that_two_values_could_be_is_none_of_them():
    with pytest.raises(ValueError, match=r"it has no '1\.00'"):
        match_value("1.00", np.array(["1", "1.0"], object), "it")
    assert not is_spelt("yes", "1")


def test_several_labels_may_be_spelt_otherwise(tmp_path):
    grade = np.arange(N) % 3 + PEOPLE.target
    NUMBERS.assign(sex=SEX, grade=grade).to_csv(tmp_path / "people.csv", index=False)
    words = (
        "fit",
        "people.csv",
        "--target",
        "grade",
        *GROUPS,
        "--out",
        "model.skops",
        "--json",
        "--quiet",
        "--favorable",
    )
    done = run_here(*words, "2.0,3.0", cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr
    assert json.loads(done.stdout)["favorable"] == "2 or 3"
    said = error_of(run_here(*words, "2,5", "--overwrite", cwd=tmp_path))
    assert said == "--favorable: column 'grade' has no '5'; it has '0', '1', '2', '3'"
