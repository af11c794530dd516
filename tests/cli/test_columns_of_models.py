"""Which columns of a table a stored model takes: by the names that it knows, or by those of --features."""

import json

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
for library in ("typer", "skops", "altair", "vl_convert", "pyarrow"):
    pytest.importorskip(library)

from commands import run_here  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402

import eifffel  # noqa: E402
from eifffel.datasets import make_biased_classification  # noqa: E402

people = make_biased_classification(1500, random_state=0)
X, y = people.data, people.target
NAMES = ["job type_self employed", "age <30", *[f"f {k}" for k in range(2, X.shape[1])]]
TABLE = pd.DataFrame(X, columns=NAMES).assign(label=y, sex=np.where(people.sensitive == 1, "m", "f"))
WHAT = ("--target", "label", "--favorable", "1", "--sensitive", "sex")


@pytest.fixture
def folder(tmp_path):
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    TABLE[TABLE.columns[::-1]].to_parquet(tmp_path / "reversed.parquet")
    return tmp_path


def decisions(folder, model, table, *more):
    done = run_here("predict", model, table, "--out", "out.csv", "--overwrite", *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    return pd.read_csv(folder / "out.csv").to_numpy().tolist()


@pytest.mark.filterwarnings("ignore:Found whitespace in feature_names")
@pytest.mark.parametrize("form", ["skops", "txt"])
def test_lightgbm_finds_columns_with_blanks(folder, form):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1).fit(TABLE[NAMES], y)
    file = f"model.{form}"
    if form == "skops":
        eifffel.save(model, folder / file)
    else:
        model.booster_.save_model(folder / file)
    assert decisions(folder, file, "people.csv") == decisions(folder, file, "reversed.parquet")
    for command, more in (("flip", ("--out", "fair.skops", "--report", "fair.json")), ("audit", ())):
        done = run_here(command, file, "reversed.parquet", *WHAT, *more, cwd=folder)
        assert done.returncode in (0, 3), done.stderr
    audited = run_here("audit", "fair.skops", "people.csv", "--json", cwd=folder)
    assert audited.returncode in (0, 3), audited.stderr
    rules = [rule["rule"] for rule in json.loads((folder / "fair.json").read_text())["changed"]["rules"]]
    assert any(name in rule for name in NAMES for rule in rules), rules
    assert not any(name.replace(" ", "_") in rule for name in NAMES for rule in rules)


def test_a_model_without_names_takes_those_that_are_given(folder):
    model = RandomForestClassifier(10, max_depth=5, random_state=0).fit(X, y)
    eifffel.save(model, folder / "model.skops")
    done = run_here("predict", "model.skops", "people.csv", "--out", "out.csv", cwd=folder)
    assert done.returncode == 2
    assert "does not know the names of its columns; name those of 'people.csv' that it takes" in done.stderr
    given = ("--features", ",".join(NAMES))
    expected = decisions(folder, "model.skops", "people.csv", *given)
    assert decisions(folder, "model.skops", "reversed.parquet", *given) == expected
    done = run_here("predict", "model.skops", "people.csv", "--out", "new.csv", "--features", NAMES[0], cwd=folder)
    assert done.returncode == 2
    assert "--features names 1 columns, and the model was trained on" in done.stderr


def test_columns_that_are_called_by_numbers(folder):
    table = pd.DataFrame(X, columns=[str(k) for k in range(X.shape[1])]).assign(label=y, sex=TABLE["sex"])
    table.to_csv(folder / "numbers.csv", index=False)
    table[table.columns[::-1]].to_csv(folder / "reversed.csv", index=False)
    for trained_on in (X, table[table.columns[:-2]]):
        model = RandomForestClassifier(10, max_depth=5, random_state=0).fit(trained_on, y)
        eifffel.save(model, folder / "model.skops")
        expected = decisions(folder, "model.skops", "numbers.csv")
        assert decisions(folder, "model.skops", "reversed.csv") == expected
        (folder / "model.skops").unlink()
