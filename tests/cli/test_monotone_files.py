"""Model files that may hide constraints, on the command line."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("typer")
pytest.importorskip("skops")
xgboost = pytest.importorskip("xgboost")

from commands import error_of, run_here  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("credit")
    random = np.random.RandomState(0)
    group = random.randint(0, 2, 900)
    frame = pd.DataFrame({"arrears": random.randint(0, 9, 900), "income": random.normal(size=900) + 2 * group})
    paid = (frame["income"] - frame["arrears"] / 2 + random.normal(size=900) > 0).astype(int)
    model = xgboost.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1, monotone_constraints={"arrears": -1})
    model.fit(frame, paid).save_model(folder / "model.json")
    frame.assign(sex=np.array(["f", "m"])[group], paid=paid).to_csv(folder / "people.csv", index=False)
    return folder


def flip(folder, *options):
    words = [
        "flip",
        "model.json",
        "people.csv",
        "--target",
        "paid",
        "--favorable",
        "1",
        "--sensitive",
        "sex",
        "--jobs",
        "1",
        "--overwrite",
    ]
    return run_here(*words, "--epsilon", "0.3", "--out", "fair.skops", *options, cwd=folder)


def test_it_asks_and_is_answered(folder):
    asked = flip(folder)
    assert asked.returncode == 0, asked.stderr
    assert "looks as if it had been trained to be monotone, in 'arrears' (falling)" in asked.stderr
    assert "say --monotone none; if it was, name the features with --monotone, as in arrears:-1" in asked.stderr
    answered = flip(folder, "--monotone", "none")
    assert answered.returncode == 0
    assert "monotone" not in answered.stderr


@pytest.mark.parametrize("command", ["flip", "path"])
def test_named_constraints_are_refused(folder, command):
    out = ["--out", "fair.skops", "--overwrite"] if command == "flip" else []
    words = [command, "model.json", "people.csv", "--target", "paid", "--favorable", "1", "--sensitive", "sex", *out]
    done = run_here(*words, "--monotone", "arrears:-1,income:+1", "--quiet", cwd=folder)
    assert "this Booster is monotone in 'arrears' (falling), 'income' (rising), and editing" in error_of(done)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("arrears", "--monotone must be features with 1 or -1, as in arrears:-1,income:1, or none, got 'arrears'"),
        ("arrears:2", "--monotone must be features with 1 or -1"),
        (":1", "--monotone must be features with 1 or -1"),
        ("age:1", "--monotone names 'age', not among the features of the model, 'arrears', 'income'"),
    ],
)
def test_what_cannot_be_is_refused(folder, given, message):
    assert error_of(flip(folder, "--monotone", given, "--quiet")).startswith(message)
