"""A model file that was damaged or tampered with is a user's mistake: one line that says so, and exit code 2."""

import copy
import io
import json
import zipfile

import numpy as np
import pytest

for library in ("pandas", "typer", "skops", "altair", "vl_convert", "pyarrow"):
    pytest.importorskip(library)

from commands import error_of, run_here  # noqa: E402

from eifffel import load  # noqa: E402
from eifffel.cli._demo import make_applicants  # noqa: E402
from eifffel.edits.record import find_record  # noqa: E402
from eifffel.edits.storage import ABOUT  # noqa: E402
from eifffel.report import conforms, schema  # noqa: E402

pytestmark = pytest.mark.slow

WHAT = ("--target", "granted", "--favorable", "yes", "--sensitive", "gender")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    make_applicants(600).to_csv(folder / "people.csv", index=False)
    done = run_here("fit", "people.csv", *WHAT, "--out", "model.skops", "--report", "report.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def commands():
    return [
        ("explain", "damaged.skops", "--report", "again.html", "--overwrite"),
        ("predict", "damaged.skops", "people.csv", "--out", "out.csv", "--overwrite"),
        ("audit", "damaged.skops", "people.csv"),
        ("path", "damaged.skops", "people.csv"),
        ("flip", "damaged.skops", "people.csv", "--out", "other.skops", "--overwrite"),
    ]


def damage_members(folder, change):
    """The model with what ``change`` makes of the members of its file."""
    with zipfile.ZipFile(folder / "model.skops") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(folder / "damaged.skops", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    "about",
    [
        b"null",
        b"",
        b"{}",
        b'{"format": 1, "versions": null}',
        b'{"format": 1, "versions": {"eifffel": null}}',
        b"[" * 9,
    ],
)
@pytest.mark.parametrize("words", commands(), ids=lambda words: words[0])
def test_a_file_that_does_not_say_what_wrote_it(about, words, folder):
    damage_members(folder, lambda members: members.update({ABOUT: about}))
    assert "does not say in its eifffel.json which versions wrote it" in error_of(run_here(*words, cwd=folder))


def in_the_schema(members, replace):
    """Replace nodes of a file by the names of the attributes that they are."""
    text = json.loads(members["schema.json"])
    pending, n_found = [text], 0
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            for name in item:
                if name in replace and isinstance(item[name], dict) and "__loader__" in item[name]:
                    item[name] = {**item[name], "__loader__": "JsonNode", "content": json.dumps(replace[name])}
                    item[name].pop("__id__", None)
                    n_found += 1
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    assert n_found
    members["schema.json"] = json.dumps(text).encode()


@pytest.mark.parametrize(
    "replace",
    [
        {"n_features_in_": None},
        {"record": 3, "eifffel_record_": 3},
        {"leaf_value": [1]},
        {"task": 3},
        {"task": {}},
        {"edited_on": []},
        {"edited_on": {"sha256": 3}},
        {"trained_on": "people.csv"},
        {"trained_on": {}},
        {"classes": [0]},
        {"favorable": "neither"},
        {"summary": 5},
        {"summary": "no JSON"},
        {"grouping": None},
        {"digests": {}},
        {"selection": "none"},
        {"step": -1},
        {"scale": None},
        {"label_sets": 1},
        {"direction": "down"},
        {"constraint": {"name": "none"}},
    ],
)
def test_a_record_that_was_tampered_with(replace, folder):
    damage_members(folder, lambda members: in_the_schema(members, replace))
    for words in commands()[:2]:
        said = error_of(run_here(*words, cwd=folder))
        assert said.startswith("'damaged.skops' holds "), said
        assert said.endswith("; it is damaged, or made to do harm"), said


def test_a_record_with_too_few_leaves(folder):
    """What a record says of leaves is compared with the model where the edit is undone."""

    def shorten(members):
        record = find_record(load(folder / "model.skops"))
        for name in members:
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(members[name]))
                if array.shape == record["leaf_value"].shape and np.array_equal(array, record["leaf_value"]):
                    buffer = io.BytesIO()
                    np.save(buffer, array[:-1])
                    members[name] = buffer.getvalue()

    damage_members(folder, shorten)
    for words in commands()[2:]:
        done = run_here(*words, cwd=folder)
        assert done.returncode == 2
        assert "the record is damaged, and the edit cannot be undone" in done.stderr.splitlines()[-1]


def places_in(value, path=()):
    """Every place in a summary, as the names that lead there."""
    yield path
    if isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value[:2]):
            yield from places_in(inner, (*path, name))


def test_a_summary_that_was_tampered_with_is_told_or_refused(folder):
    """Whatever is put in whatever place: explain says what it says, or that it cannot be read."""
    summary = json.loads(find_record(load(folder / "model.skops"))["summary"])
    rng = np.random.default_rng(0)
    places = list(places_in(summary))
    n_refused = 0
    for k, place in enumerate(rng.permutation(len(places))[:24]):
        damaged = copy.deepcopy(summary)
        *path, last = places[place] or (None,)
        if last is None:
            damaged = []
        else:
            inside = damaged
            for name in path:
                inside = inside[name]
            inside[last] = [None, -1, "text", [], {}, 1e308, float("nan")][int(rng.integers(7))]
        text = json.dumps(damaged)
        damage_members(folder, lambda members, text=text: in_the_schema(members, {"summary": text}))
        form = "html" if k < 6 else "md"  # pages take longer
        done = run_here("explain", "damaged.skops", "--report", f"again.{form}", "--overwrite", cwd=folder)
        if done.returncode != 0:
            assert "Traceback" not in done.stderr
            assert done.returncode == 2, (places[place], text[:200], done.stderr)
            n_refused += 1
    assert n_refused > 12


def test_summaries_conform_to_the_schema_as_jsonschema_has_it(folder):
    jsonschema = pytest.importorskip("jsonschema")
    summary = json.loads(find_record(load(folder / "model.skops"))["summary"])
    valid = jsonschema.validators.validator_for(schema())(schema()).is_valid
    assert conforms(summary, schema(), schema()["$defs"])
    rng, places, n_refused = np.random.default_rng(0), list(places_in(summary))[1:], 0
    for place in rng.permutation(len(places))[:60]:
        path, values = places[place], (None, -1, 0.5, True, "text", [], {}, [1])
        damaged = copy.deepcopy(summary)
        inside = damaged
        for name in path[:-1]:
            inside = inside[name]
        inside[path[-1]] = values[int(rng.integers(len(values)))]
        assert conforms(damaged, schema(), schema()["$defs"]) == valid(damaged), path
        n_refused += not valid(damaged)
    assert n_refused > 30
