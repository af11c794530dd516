"""What users do wrong, and what happens to their files: a clear line, the right exit code, nothing lost."""

import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
for library in ("typer", "skops", "altair", "vl_convert", "pyarrow"):
    pytest.importorskip(library)

from commands import COMMAND, error_of, run, run_here, start  # noqa: E402

from eifffel.cli import run as run_command  # noqa: E402
from eifffel.cli._demo import make_applicants  # noqa: E402

WHAT = ("--target", "granted", "--favorable", "yes", "--sensitive", "gender")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    make_applicants(600).to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit_words(data="people.csv", *more, what=WHAT):
    return ("fit", data, *what, "--out", "model.skops", "--report", "report.html", *more)


def assert_nothing_written(folder):
    assert not [path.name for path in folder.iterdir() if path.suffix in (".skops", ".html", ".part")]


# The mistakes that a user makes most.


def write(folder, name, content):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "'data.csv' is empty; give a table with a header and rows"),
        ("a,gender,granted\n", "'data.csv' has a header and no rows"),
        (
            "a;gender;granted\n1;m;yes\n",
            "'data.csv' reads as one column named 'a;gender;granted'; if its values are separated by ';', say --sepa",
        ),
        ("a,b\n1,2\n", "--sensitive: 'data.csv' has no column 'gender'. It has 'a', 'b'"),
        (
            "a,Gender,granted\n1,m,yes\n",
            "--sensitive: 'data.csv' has no column 'gender'; did you mean 'Gender'? It has 'a', 'Gender', 'granted'",
        ),
        ("a,gender,granted\n" + "1,m,yes\n2,f,yes\n" * 30, "--target: column 'granted' is 'yes' in every row"),
        (
            "a,gender,granted\n" + "".join(f"1,g{k},{'yes' if k % 2 else 'no'}\n" for k in range(60)),
            "--sensitive: column 'gender' has 60 values, 'g0', 'g1', 'g10', 'g11', 'g12', 'g13', 'g14', 'g15', ... "
            "(60 in all), and groups can be 50 at most; make bands of numbers",
        ),
    ],
    ids=["empty", "header alone", "wrong delimiter", "no such column", "near miss", "one class", "sixty groups"],
)
def test_a_table_that_cannot_be_used(content, message, folder):
    write(folder, "data.csv", content)
    said = error_of(run_here(*fit_words("data.csv"), cwd=folder))
    assert message in said
    assert_nothing_written(folder)


def test_a_model_file_that_is_truncated(folder):
    assert run_command(["fit", "people.csv", *WHAT, "--out", "good.skops", "--quiet"]) in (0, 3)
    whole = (folder / "good.skops").read_bytes()
    write(folder, "cut.skops", whole[: len(whole) // 2])
    said = error_of(run_here("predict", "cut.skops", "people.csv", "--out", "out.csv", cwd=folder))
    assert said == "'cut.skops' is cut off or damaged: it begins as a model file and does not end as one"
    assert not (folder / "out.csv").exists()


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


def test_a_pickle_bomb_does_not_go_off(folder):
    write(folder, "bomb.skops", pickle.dumps(Bomb()))
    for command in ("predict", "flip", "audit"):
        more = {"predict": ("--out", "out.csv"), "flip": ("--out", "out.skops"), "audit": ()}[command]
        said = error_of(run_here(command, "bomb.skops", "people.csv", *more, cwd=folder))
        assert "only if you trust whoever made it, pass --allow-pickle" in said
    for command in ("explain", "path"):
        assert "is no skops file" in error_of(run_here(command, "bomb.skops", cwd=folder))
    assert not (folder / "exploded").exists()
    done = run_here("predict", "bomb.skops", "people.csv", "--out", "out.csv", "--allow-pickle", cwd=folder)
    assert (folder / "exploded").exists(), "it was live"
    assert "note: loading 'bomb.skops' as a pickle, which can run any code" in done.stderr


def run_without_rights(folder, *arguments):
    """Run a command that must keep to permissions, also where the tests are run by root, who passes over them.

    It stays the same user, who owns the folder and can read the package wherever that is, and gives up its privileges.
    """
    code = (
        "import ctypes, sys, eifffel.cli\n"
        "version, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()\n"
        "assert ctypes.CDLL(None).capset(version, nothing) == 0\n"
        f"sys.exit(eifffel.cli.run({list(map(str, arguments))!r}))"
    )
    words = [sys.executable, "-c", code]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def lock(folder):
    """Set the permissions of a file or folder, and give them back in the end."""
    locked = []

    def set_permissions(path, mode):
        locked.append((path, path.stat().st_mode))
        path.chmod(mode)

    yield set_permissions
    for path, mode in reversed(locked):
        path.chmod(mode)


def test_a_folder_without_write_permission(folder, lock):
    lock(folder, 0o555)
    said = error_of(run_without_rights(folder, *fit_words()))
    assert said == "no permission to write 'model.skops' to the folder '.'; name another one"
    assert os.listdir(folder) == ["people.csv"]


def test_a_table_without_read_permission(folder, lock):
    lock(folder / "people.csv", 0o200)
    said = error_of(run_without_rights(folder, *fit_words()))
    assert said == "no permission to read 'people.csv'"
    assert os.listdir(folder) == ["people.csv"]


def small_disk_works():
    done = subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=64k", "none", "/mnt"], capture_output=True, check=False
    )
    return done.returncode == 0


@pytest.mark.parametrize("size", ["200k", "900k"], ids=["the model does not fit", "the report does not fit"])
def test_a_disk_that_fills_up(size, folder):
    """A disk of its own in a namespace of its own; where that is not allowed, the largest file is limited instead."""
    small = folder / "small"
    small.mkdir()
    files = ("--out", "small/model.skops", "--report", "small/report.html", "--overwrite", "--quiet")
    words = [*COMMAND, "fit", "people.csv", *WHAT, *files]
    if small_disk_works():
        script = (
            f"mount -t tmpfs -o size={size} none small && echo old > small/model.skops && "
            'echo old > small/report.html && "$@"; code=$?; ls -A small; cat small/report.html; exit $code'
        )
        words = ["unshare", "-m", "sh", "-c", script, "sh", *words]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, cwd=folder)
        listed = done.stdout.split()
        assert "No space left on device" in done.stderr
    else:
        import resource

        (small / "model.skops").write_text("old\n")
        (small / "report.html").write_text("old\n")
        limit = int(size[:-1]) * 1024

        def limit_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=120, cwd=folder, preexec_fn=limit_files
        )
        listed = [*os.listdir(small), (small / "report.html").read_text().strip()]
        assert "File too large" in done.stderr
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert sorted(listed) == ["model.skops", "old", "report.html"], "the old report is whole, and nothing is left over"


def test_ctrl_c_during_fit(tmp_path):
    make_applicants(60_000).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "model.skops").write_text("old")
    process = start([*fit_words(), "--overwrite", "--jobs", "1"], cwd=tmp_path, stdout=subprocess.PIPE)
    said = b""
    until = time.monotonic() + 120
    while b"training" not in said and process.poll() is None and time.monotonic() < until:
        said += os.read(process.stderr.fileno(), 1000)
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=120)
    said = (said + rest).decode()
    assert process.returncode == 130, said
    assert "eifffel: interrupted; no file was left half written" in said
    assert "Traceback" not in said
    assert sorted(os.listdir(tmp_path)) == ["model.skops", "people.csv"]
    assert (tmp_path / "model.skops").read_text() == "old"


def test_a_reader_that_stops_reading(folder):
    words = [*COMMAND, *fit_words()]
    script = '"$@" | head -1 > /dev/null; echo ${PIPESTATUS[0]}'
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=False, timeout=120, cwd=folder
    )
    assert done.stdout.strip() in ("0", "3")
    assert "fault" not in done.stderr
    assert (folder / "model.skops").exists()


def test_no_command_shows_help(folder):
    done = run(cwd=folder)
    assert all(command in done.stdout + done.stderr for command in ("fit", "predict", "explain"))
    assert "eifffel: " not in done.stderr


def test_debug_shows_where_an_error_comes_from(folder):
    done = run(*fit_words("none.csv"), "--debug", cwd=folder)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "there is no file 'none.csv'" in done.stderr


# Others, in this process: it is the same code and much faster.


def said_here(capsys, *arguments):
    code = run_command([str(word) for word in arguments])
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), err
    assert err.count("\n") == 1
    return err.removeprefix("eifffel: ").rstrip("\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (fit_words("none.csv"), "there is no file 'none.csv'; check the name"),
        (fit_words("."), "a table must end in .csv, .tsv, .parquet"),
        (
            fit_words("people.xlsx"),
            "a table must end in .csv, .tsv, .parquet, or in one of these and .gz, got 'people.xlsx'",
        ),
        (fit_words("people.csv", "--epsilon", "5"), "--epsilon must be in [0, 1], got 5.0; write 0.05 for 5 percent"),
        (fit_words("people.csv", "--epsilon", "a"), "'--epsilon'"),
        (fit_words("people.csv", "--alpha", "-1"), "--alpha must be in [0, 1], got -1.0"),
        (fit_words("people.csv", "--test-size", "1"), "--test-size must be strictly between 0 and 1, got 1.0"),
        (fit_words("people.csv", "--strategy", "magic"), "--strategy must be one of 'auto', 'leaf', 'tree', 'shift'"),
        (fit_words("people.csv", "--model", "svm"), "--model must be one of 'rf', 'extra-trees', 'hgb'"),
        (fit_words("people.csv", "--drop", "agee"), "--drop: 'people.csv' has no column 'agee'; did you mean 'age'?"),
        (fit_words("people.csv", "--drop", "gender"), "--drop names 'gender', which is needed"),
        (
            fit_words("people.csv", "--privileged", "x"),
            "--privileged: column 'gender' has no 'x'; it has 'man', 'woman'",
        ),
        (
            fit_words(what=("--target", "granted", "--favorable", "maybe", "--sensitive", "gender")),
            "--favorable: column 'granted' has no 'maybe'; it has",
        ),
        (
            fit_words(what=("--target", "granted", "--sensitive", "gender")),
            "--favorable is needed: which label of column 'granted'",
        ),
        (fit_words(what=("--target", "gender", "--sensitive", "gender")), "the label cannot be the group"),
        (fit_words(what=("--target", "age", "--sensitive", "gender")), "--target: column 'age' has"),
        (fit_words(what=("--sensitive", "gender")), "Missing option '--target'"),
        (fit_words("people.csv", "--separator", ";"), "reads as one column named"),
        (fit_words("people.csv", "--separator", "ab"), "--separator must be one character, got 'ab'"),
        (
            fit_words("people.csv", "--strategy", "leaf", "--model", "hgb"),
            "flips leaves, and those of a boosted ensemble",
        ),
        (
            ("fit", "people.csv", *WHAT, "--out", "none/model.skops"),
            "there is no folder 'none' to write 'model.skops' to",
        ),
        (("fit", "people.csv", *WHAT, "--out", "a.html"), "a model file must end in .skops, got 'a.html'; rename it"),
        (("fit", "people.csv", *WHAT, "--out", "a.csv", "--overwrite"), "a model file must end in .skops"),
        (
            ("predict", "people.csv", "people.csv", "--out", "people.csv", "--overwrite"),
            "'people.csv' is read, and would be written over; name another file",
        ),
        (("predict", "people.csv", "people.csv", "--out", "out.xlsx"), "a table must end in .csv, .tsv, .parquet"),
        (("path", "a.skops", "--picture", "p.gif"), "--picture must end in .png, .svg, .pdf, got 'p.gif'; rename it"),
        (
            ("fit", "people.csv", *WHAT, "--out", "m.skops", "--report", "r.pdf"),
            "a report must end in .html, .md, .json",
        ),
        (("predict", "none.skops", "people.csv", "--out", "out.csv"), "there is no file 'none.skops'; check the name"),
        (("predict", "people.csv", "people.csv", "--out", "out.csv"), "'people.csv' is a table, and a model is needed"),
        (("datasets", "mnist", "--out", "a.csv"), "NAME must be one of 'adult', 'bank', 'compas', got 'mnist'"),
        (("datasets", "adult"), "--out is needed: where the table of adult is to be written"),
        (("datasets", "--out", "a.csv"), "--out needs the name of a data set"),
        (("explain", "none.skops"), "there is no file 'none.skops'"),
        (("demo", "--epsilon", "5", "--out", "new"), "--epsilon must be in [0, 1], got 5.0"),
        (("demo", "--out", "people.csv"), "'people.csv' is a file; name a folder with --out"),
        (("flop",), "No such command 'flop'"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message, folder, capsys):
    before = sorted(os.listdir(folder))
    assert message in said_here(capsys, *arguments)
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"a,gender,granted\n\xff\xfe,m,yes\n", "'a.csv' is not UTF-8 text; save it as UTF-8"),
        ("a.csv", "a,a,granted\n1,2,yes\n", "'a.csv' has more than one column named 'a'; rename them"),
        ("a.csv", "a,gender,granted\n1,m,yes,9,9\n2,f,no\n", "'a.csv' cannot be read as a table"),
        ("a.csv.gz", "a,gender,granted\n", "'a.csv.gz' cannot be unpacked"),
        ("a.csv.gz", b"\x1f\x8b\x08" + b"0" * 200, "'a.csv.gz' cannot be unpacked"),
        ("a.csv", "a,gender,granted\r" + "1,m,yes\r2,f,yes\r" * 30, "--target: column 'granted' is 'yes' in every row"),
        ("a.parquet", "a,gender,granted\n", "'a.parquet' cannot be read as Parquet"),
        ("a.csv", "gender,granted\n" + "m,yes\nf,no\n" * 40, "has no column left to be a feature"),
        ("a.csv", "a,gender,granted\n" + "1,m,yes\ninf,f,no\n" * 40, "column 'a' has infinite values"),
        ("a.csv", "a,gender,granted\n1,m,yes\n2,f,no\n", "has 2 rows, too few to train"),
        ("a.csv", "a,gender,granted\n,,\n,,\n", "is missing in 2 of 2 rows"),
    ],
)
def test_odd_tables(name, content, message, folder, capsys):
    write(folder, name, content)
    assert message in said_here(capsys, *fit_words(name))
    assert_nothing_written(folder)


def test_rows_that_the_model_cannot_take(folder, capsys):
    assert run_command(["fit", "people.csv", *WHAT, "--out", "model.skops", "--quiet"]) in (0, 3)
    frame = make_applicants(50)
    frame.drop(columns=["age", "debt"]).to_csv("new.csv", index=False)
    said = said_here(capsys, "predict", "model.skops", "new.csv", "--out", "out.csv")
    assert said == "'new.csv' has no column 'debt' and 1 more, which the model was trained with"
    frame["age"] = frame["age"].astype(object)
    frame.loc[16, "age"] = "old"
    frame.to_csv("new.csv", index=False)
    said = said_here(capsys, "predict", "model.skops", "new.csv", "--out", "out.csv")
    assert said == "column 'age' of 'new.csv' has 'old' in row 17, where the model expects a number"
    said = said_here(capsys, "predict", "model.skops", "people.csv", "--out", "out.csv", "--keep", "ages")
    assert said.startswith("--keep: 'people.csv' has no column 'ages'; did you mean 'age'?")
    said = said_here(capsys, "predict", "model.skops", "people.csv", "--out", "new.csv")
    assert said == "'new.csv' exists, and is not overwritten unasked; name another file, or pass --overwrite"
    said = said_here(capsys, "predict", "model.skops", "people.csv", "--out", "out.csv", "--features", "age")
    assert said.startswith("--features names 'age', and the model was trained on 'income', 'debt', ")
    frame = make_applicants(400)
    frame["gender"] = np.where(frame["gender"] == "man", "man", "other")
    frame.to_csv("other.csv", index=False)
    said = said_here(capsys, "audit", "model.skops", "other.csv")
    assert "has 'other', not among the groups 'man', 'woman'" in said


def test_a_fault_of_ours_is_exit_code_1(folder, capsys, monkeypatch):
    import eifffel.cli._fit

    def fail(*arguments, **options):
        raise RuntimeError("something that should not be")

    monkeypatch.setattr(eifffel.cli._fit, "read_table", fail)
    code = run_command([*fit_words()])
    assert code == 1
    said = capsys.readouterr().err
    assert said == (
        "eifffel: a fault of eifffel's own, RuntimeError: something that should not be (--debug shows where; please "
        "report it)\n"
    )


def test_without_a_library_it_says_what_to_install(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    said = said_here(capsys, *fit_words("people.csv", "--model", "lightgbm"), "--quiet")
    assert said == "--model lightgbm needs lightgbm; install it with: pip install 'eifffel[lightgbm]'"
    assert_nothing_written(folder)


def test_a_bar_is_wiped_out_before_an_error_is_told(capsys, monkeypatch):
    from eifffel.cli import _progress

    def fail():
        with _progress.Progress(("measuring",), verbose=True) as progress, progress.stage("measuring"):
            time.sleep(0.3)
            raise ValueError("something is wrong")

    monkeypatch.setattr(_progress, "DELAY", 0.01)
    with pytest.raises(ValueError, match="something is wrong"):
        fail()
    told = capsys.readouterr().err
    assert "measuring" in told, "it was there"
    assert told.rpartition("\r")[2].strip() == ""
