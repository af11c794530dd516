"""Parameters that messages name are options in the command line, by one table."""

import ast
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas")
for library in ("typer", "skops", "altair", "vl_convert", "pyarrow"):
    pytest.importorskip(library)

import typer  # noqa: E402
from commands import error_of, run_here  # noqa: E402

import eifffel  # noqa: E402
from eifffel.cli._app import OPTIONS, app, notes, user_errors  # noqa: E402
from eifffel.exceptions import InputError, PrivilegedGroupWarning, parameter, warn_caller  # noqa: E402

# Functions that name a parameter, by their first argument.
NAMING = ("parameter", "wording", "check_fraction", "check_number", "check_choice")
# Parameters that no option sets, or of baselines, which no command has.
PYTHON_ONLY = {
    "about",
    "backend",
    "cost",
    "ending",
    "max_depth",
    "max_rejected",
    "memory_budget",
    "metric",
    "n_estimators",
    "n_margins",
    "n_thresholds",
    "privileged_share",
    "rho",
    "rule",
    "select_on",
    "validation_fraction",
}


def calls_that_name():
    """Calls of functions that name a parameter, and whether each is in an f-string."""
    for file in sorted(Path(eifffel.__file__).parent.rglob("*.py")):
        tree = ast.parse(file.read_text())
        inside = {id(node) for text in ast.walk(tree) if isinstance(text, ast.JoinedStr) for node in ast.walk(text)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMING:
                yield file, node, id(node) in inside


def names_in_messages():
    return {node.args[0].value for _, node, _ in calls_that_name() if isinstance(node.args[0], ast.Constant)}


def test_what_messages_name_is_in_the_table_or_in_python_alone():
    assert names_in_messages() - set(OPTIONS) == PYTHON_ONLY


def test_what_is_in_the_table_is_named_by_a_message():
    assert set(OPTIONS) <= names_in_messages()


def test_names_are_written_out_but_where_a_check_is_given_one():
    for file, node, _ in calls_that_name():
        assert isinstance(node.args[0], ast.Constant) or file.name == "validation.py", f"{file}:{node.lineno}"


def test_no_parameter_is_lost_in_an_f_string():
    for file, node, in_text in calls_that_name():
        assert not in_text, f"{file}:{node.lineno}: an f-string makes plain text of a parameter; add it with +"


def test_options_of_the_table_are_options_of_commands():
    parameters = [one for command in typer.main.get_command(app).commands.values() for one in command.params]
    known = {word for one in parameters for word in [*one.opts, one.name.upper()]}
    for name, said in OPTIONS.items():
        assert {word.strip(",") for word in said.split() if word.startswith("--")} <= known, said
        if name.isidentifier() and f"--{name.replace('_', '-')}" in known:
            assert said == f"--{name.replace('_', '-')}"
    assert OPTIONS["name"] in known


def test_values_are_said_to_the_letter(capsys):
    """Neither names of parameters nor marks of formats are replaced in what comes from a table."""
    odd = "epsilon=1 {epsilon} must %s or None, got '\\1' overwrite=True"

    with pytest.raises(typer.Exit), user_errors(debug=False):
        raise InputError(parameter("favorable") + f" names {odd}")
    assert capsys.readouterr().err == f"eifffel: --favorable names {odd}\n"


def test_a_warning_is_a_note_with_options(capsys):
    with notes(quiet=False, debug=False):
        warn_caller(parameter("privileged") + "='a {b}', but the model favours 'c'", PrivilegedGroupWarning)
    assert capsys.readouterr().err == "note: --privileged='a {b}', but the model favours 'c'\n"


def test_a_file_that_exists(tmp_path):
    (tmp_path / "epsilon must overwrite=True.csv").write_text("x")
    words = ("datasets", "adult", "--out", "epsilon must overwrite=True.csv")
    assert error_of(run_here(*words, cwd=tmp_path)) == (
        "'epsilon must overwrite=True.csv' exists, and is not overwritten unasked; name another file, or pass "
        "--overwrite"
    )
