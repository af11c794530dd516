"""eifffel export: from a stored model to a file that decides the same, or to nothing."""

import json

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

pandas = pytest.importorskip("pandas")
for library in ("typer", "skops", "altair", "vl_convert", "pyarrow", "onnx", "skl2onnx", "onnxruntime"):
    pytest.importorskip(library)

import onnxruntime  # noqa: E402
from commands import error_of, run_here  # noqa: E402

from eifffel import load, save, verify_export  # noqa: E402
from eifffel.cli._demo import make_applicants  # noqa: E402
from eifffel.cli._features import features_for  # noqa: E402

WHAT = ("--target", "granted", "--favorable", "yes", "--sensitive", "gender")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with gaps, and a model that fit made of it."""
    folder = tmp_path_factory.mktemp("exported")
    frame = make_applicants(1500)
    random = np.random.default_rng(1)
    frame.loc[random.random(1500) < 0.1, "income"] = np.nan
    frame.loc[random.random(1500) < 0.1, "region"] = None
    frame.to_csv(folder / "people.csv", index=False)
    done = run_here("fit", "people.csv", *WHAT, "--out", "model.skops", "--quiet", cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    return folder


def written(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix in (".onnx", ".part"))


def test_a_model_is_exported_and_compared(folder, tmp_path):
    out = tmp_path / "model.onnx"
    done = run_here("export", "model.skops", "--to", "onnx", "--out", out, "--check", "people.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Compared on 1,500 rows: the same labels, and probabilities that differ by" in done.stdout
    assert f"The exported model is in {out}." in " ".join(done.stdout.split())
    assert "not compared" not in done.stderr
    loaded = load(folder / "model.skops")
    X = features_for(loaded, pandas.read_csv(folder / "people.csv"), folder)
    assert verify_export(loaded, out, X).n_rows == 1500

    # As a program would use it that knows nothing of eifffel.
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    is_text = {given.name: given.type == "tensor(string)" for given in session.get_inputs()}
    row = {name: np.array([[""]], object) if text else np.array([[1.0]]) for name, text in is_text.items()}
    label, probabilities = session.run(["label", "probabilities"], row)
    assert label[0] in ("yes", "no")
    assert probabilities.shape == (1, 2)


def test_without_a_check_it_says_so(folder, tmp_path):
    done = run_here("export", "model.skops", "--out", tmp_path / "a.onnx", cwd=folder)
    assert done.returncode == 0
    assert done.stderr.startswith("note: the export was not compared with the model; --check TABLE does")
    for more in (("--json",), ("--quiet",)):
        done = run_here("export", "model.skops", "--out", tmp_path / "a.onnx", "--overwrite", *more, cwd=folder)
        assert done.returncode == 0
        assert done.stderr == ""
        if more == ("--json",):
            told = json.loads(done.stdout)
            assert told == {"out": str(tmp_path / "a.onnx"), "rows_compared": 0, "largest_difference": None}
        else:
            assert done.stdout == ""


def test_json_says_what_was_compared(folder, tmp_path):
    words = ("--out", tmp_path / "a.onnx", "--check", "people.csv", "--json")
    told = json.loads(run_here("export", "model.skops", *words, cwd=folder).stdout)
    assert told["rows_compared"] == 1500
    assert 0 <= told["largest_difference"] < 1e-6


def test_an_export_that_differs_is_not_written(folder, tmp_path, monkeypatch):
    from eifffel.cli import _export

    def wrong(model, X=None):
        exported = original(model, X)
        for node in exported.graph.node:
            for item in node.attribute:
                if item.name == "nodes_missing_value_tracks_true":
                    item.ints[:] = [1 - k for k in item.ints]
        return exported

    original = _export.to_onnx
    monkeypatch.setattr(_export, "to_onnx", wrong)
    words = ("export", "model.skops", "--out", tmp_path / "a.onnx", "--check", "people.csv")
    said = error_of(run_here(*words, cwd=folder))
    assert said.startswith("the exported model is not the model and must not be deployed: of 1,500 rows")
    assert said.endswith("missing values")
    assert written(tmp_path) == []


def test_a_model_of_ones_own(tmp_path):
    random = np.random.default_rng(0)
    frame = pandas.DataFrame({"b": random.normal(size=300), "a": random.normal(size=300)})
    forest = RandomForestClassifier(10, random_state=0).fit(frame[["a", "b"]].to_numpy(), frame["a"] > 0)
    save(forest, tmp_path / "own.skops")
    frame.to_csv(tmp_path / "rows.csv", index=False, sep=";")
    words = ("export", "own.skops", "--out", "own.onnx", "--check", "rows.csv", "--separator", ";")
    said = error_of(run_here(*words, cwd=tmp_path))
    assert "the model does not know the names of its columns" in said
    done = run_here(*words, "--features", "a,b", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert verify_export(forest, tmp_path / "own.onnx", frame[["a", "b"]].to_numpy()).n_rows == 300


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--to", "pmml", "--out", "a.onnx"), "--to must be onnx or native, got 'pmml'"),
        (("--out", "a.txt"), "an exported model must end in .onnx, got 'a.txt'; rename it"),
        (
            ("--out", "there.onnx"),
            "'there.onnx' exists, and is not overwritten unasked; name another file, or pass --o",
        ),
        (("--out", "none/a.onnx"), "there is no folder 'none' to write 'a.onnx' to; make it first"),
        (("--out", "a.onnx", "--features", "a,b"), "--features and --separator are of the table of --check; give one"),
        (("--out", "a.onnx", "--check", "none.csv"), "there is no file 'none.csv'; check the name"),
        (("--out", "a.onnx", "--check", "short.csv"), "'short.csv' has no column 'debt' and 7 more"),
        (("--out", "a.onnx", "--check", "empty.csv"), "'empty.csv' has a header and no rows"),
    ],
    ids=["format", "ending", "exists", "no folder", "idle option", "no table", "other table", "no rows"],
)
def test_mistakes_are_one_line_and_nothing_is_written(words, message, folder, tmp_path):
    save(load(folder / "model.skops"), tmp_path / "model.skops")
    frame = pandas.read_csv(folder / "people.csv")
    frame[["income", "age"]].to_csv(tmp_path / "short.csv", index=False)
    frame[:0].to_csv(tmp_path / "empty.csv", index=False)
    (tmp_path / "there.onnx").write_text("mine")
    said = error_of(run_here("export", "model.skops", *words, cwd=tmp_path))
    assert message in said
    assert written(tmp_path) == ["there.onnx"]
    assert (tmp_path / "there.onnx").read_text() == "mine"


def test_what_does_not_convert_says_why(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    save(HistGradientBoostingClassifier(max_iter=3).fit(X, X[:, 0] > 0), tmp_path / "model.skops")
    said = error_of(run_here("export", "model.skops", "--out", "a.onnx", cwd=tmp_path))
    assert said.startswith("a HistGradientBoostingClassifier does not convert to ONNX: skl2onnx")
    assert written(tmp_path) == []
