"""Names that are nearly right, and words among numbers: what is said of them."""

import pytest

pd = pytest.importorskip("pandas")
for library in ("typer", "skops", "altair", "vl_convert", "pyarrow"):
    pytest.importorskip(library)

from commands import error_of, run_here  # noqa: E402

from eifffel.cli._demo import make_applicants  # noqa: E402
from eifffel.cli._tables import find_near  # noqa: E402

WHAT = {"--target": "granted", "--favorable": "yes", "--sensitive": "gender"}
FRAME = make_applicants(400)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    FRAME.to_csv(folder / "people.csv", index=False)
    done = run_here("fit", "people.csv", *options(), "--out", "model.skops", "--quiet", cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    return folder


def options(**changed):
    given = WHAT | {f"--{name}": value for name, value in changed.items()}
    return [word for option in given.items() for word in option]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"target": "GRANTED"}, "--target: 'people.csv' has no column 'GRANTED'; did you mean 'granted'? It has "),
        ({"sensitive": "Gender"}, "--sensitive: 'people.csv' has no column 'Gender'; did you mean 'gender'?"),
        ({"drop": "AGE"}, "--drop: 'people.csv' has no column 'AGE'; did you mean 'age'?"),
        (
            {"favorable": "YES"},
            "--favorable: column 'granted' has no 'YES'; did you mean 'yes'? It has 'no', 'yes'",
        ),
        (
            {"privileged": "Man"},
            "--privileged: column 'gender' has no 'Man'; did you mean 'man'? It has 'man', 'woman'",
        ),
        (
            {"privileged": "GENDER=man"},
            "--privileged names 'GENDER', not among --sensitive gender; did you mean 'gender'?",
        ),
    ],
)
def test_fit_says_what_was_meant(changed, message, folder):
    done = run_here("fit", "people.csv", *options(**changed), "--out", "new.skops", cwd=folder)
    assert error_of(done).startswith(message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--decision", "Granted"), "--decision: 'people.csv' has no column 'Granted'; did you mean 'granted'?"),
        (
            ("--decision", "granted", "--score", "Income"),
            "--score: 'people.csv' has no column 'Income'; did you mean 'income'?",
        ),
        (
            ("--decision", "granted", "--target", "PART_TIME"),
            "--target: 'people.csv' has no column 'PART_TIME'; did you mean 'part_time'?",
        ),
    ],
)
def test_so_does_audit(words, message, folder):
    done = run_here("audit", "people.csv", *words, "--favorable", "yes", "--sensitive", "gender", cwd=folder)
    assert error_of(done).startswith(message)


def test_so_do_commands_that_take_a_model(folder):
    renamed = FRAME.rename(columns={"age": " Age", "granted": "Granted"})
    renamed.to_parquet(folder / "renamed.parquet")
    words = ("predict", "model.skops", "renamed.parquet", "--out", "new.csv")
    assert error_of(run_here(*words, cwd=folder)) == (
        "'renamed.parquet' has no column 'age', which the model was trained with; did you mean ' Age'? Rename it"
    )
    said = error_of(run_here(*words, "--features", "Debt", cwd=folder))
    assert said.startswith("--features: 'renamed.parquet' has no column 'Debt'; did you mean 'debt'?")
    FRAME.rename(columns={"granted": "Granted"}).to_csv(folder / "labels.csv", index=False)
    said = error_of(run_here("audit", "model.skops", "labels.csv", cwd=folder))
    assert said.startswith("--target: 'labels.csv' has no column 'granted'; did you mean 'Granted'?")
    FRAME.drop(columns="granted").to_csv(folder / "unlabelled.csv", index=False)
    assert run_here("audit", "model.skops", "unlabelled.csv", cwd=folder).returncode in (0, 3)


def test_what_differs_in_case_or_blanks_alone_is_nearer_than_what_looks_alike():
    assert find_near("AGE", ["ages", "age"]) == "age"
    assert find_near("income", ["incomes", " Income "]) == " Income "
    assert find_near("agee", ["income", "age"]) == "age"
    assert find_near("x", ["income", "age"]) is None


def fit_with_words(frame, folder):
    frame.to_csv(folder / "people.csv", index=False)
    done = run_here("fit", "people.csv", *options(), "--out", "model.skops", "--overwrite", cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    return [line for line in done.stderr.splitlines() if " numbers" in line]


def test_a_word_among_numbers_is_told(tmp_path):
    frame = FRAME.astype({"age": object, "debt": object, "region": object})
    frame.loc[310, "age"] = "unknown"
    frame.loc[[8, 11], "debt"] = "n/a?"
    frame.loc[:9, "region"] = 7  # words but for some numbers
    frame.loc[20:40, "income"] = None
    assert fit_with_words(frame, tmp_path) == [
        "note: column 'debt' has 'n/a?' in row 9, the first of 2 words, so that its numbers are taken as categories; "
        "make that a number, or leave it empty where it is not known",
        "note: column 'age' has 'unknown' in row 311, so that its numbers are taken as categories; make that a number, "
        "or leave it empty where it is not known",
    ]


def test_a_few_such_columns_are_told(tmp_path):
    frame = FRAME.assign(**{f"more {k}": [*range(399), "?"] for k in range(5)})
    said = fit_with_words(frame, tmp_path)
    assert [line.split(" in row")[0] for line in said[:3]] == [f"note: column 'more {k}' has '?'" for k in range(3)]
    assert said[3:] == ["note: 2 more columns have words among their numbers"]


@pytest.mark.parametrize("words", [("fit", "people.csv", *options(), "--out", "new.skops"), ("demo", "--out", "new")])
def test_far_more_jobs_than_cores(words, folder):
    from joblib import cpu_count

    said = error_of(run_here(*words, "--jobs", "1000000", cwd=folder))
    allowed = f"must be {64 * cpu_count():,} at most here, 64 for each core ({cpu_count()}), got 1000000; as many as"
    assert said.startswith(f"--jobs {allowed}")
    assert not (folder / "new").exists()


def test_links_are_written_through(folder):
    """What a link points to is replaced, and the link stays."""
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "kept.csv").write_text("old")
    (folder / "link.csv").symlink_to("elsewhere/kept.csv")
    words = ("predict", "model.skops", "people.csv", "--out", "link.csv")
    assert error_of(run_here(*words, cwd=folder)).startswith("'link.csv' exists, and is not overwritten unasked")
    assert run_here(*words, "--overwrite", cwd=folder).returncode == 0
    assert (folder / "link.csv").is_symlink()
    assert len(pd.read_csv(folder / "elsewhere" / "kept.csv")) == len(FRAME)
    (folder / "loop.csv").symlink_to("loop.csv")
    said = error_of(run_here(*words[:-1], "loop.csv", "--overwrite", cwd=folder))
    assert said == "'loop.csv' is a link that leads back to itself; remove it, or name another file"
    (folder / "itself.csv").symlink_to("people.csv")
    said = error_of(run_here(*words[:-1], "itself.csv", "--overwrite", cwd=folder))
    assert said == "'itself.csv' is read, and would be written over; name another file"
