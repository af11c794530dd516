"""Tables show the means of the runs beside what is printed, in three formats that say the same."""

import csv
import io
import re

import numpy as np
import pytest
from made_up_runs import made_up_frame

from reproduction import protocol
from reproduction.printed import PRINTED, PRINTED_ALPHA
from reproduction.summary import Runs, mean_of_seeds
from reproduction.tables import make_tables

ALL = tuple(protocol.EXPERIMENTS)


def numbers(outcome):
    """Numbers that differ in everything that a table tells apart."""
    place = protocol.METHODS.index(outcome.method)
    bounds = (outcome.epsilon or 0) + (outcome.alpha or 0) / 10
    accuracy = 0.9 - 0.01 * place - bounds / 10 + 0.002 * outcome.seed + 0.1 * (outcome.features == "without")
    return {
        "accuracy": accuracy - 0.05 * (outcome.chosen_on == "held-out"),
        "balanced_accuracy": accuracy / 2,
        "discrimination": bounds + 0.001 * place - 0.01 * outcome.seed,
    }


@pytest.fixture(scope="module")
def runs():
    return Runs(made_up_frame(numbers, ALL))


@pytest.fixture(scope="module")
def tables(runs):
    return {table.name: table for table in make_tables(runs)}


def test_every_table_of_the_paper_twice(tables):
    names = ["adult", "adult_alpha", "bank", "compas"]
    assert list(tables) == [f"{name}_{features}" for features in ("with", "without") for name in names]


def test_every_printed_number_is_shown_once_beside_its_own_setting(tables):
    for name, printed in [*PRINTED.items(), ("adult_alpha", PRINTED_ALPHA)]:
        bound = "alpha" if name == "adult_alpha" else "epsilon"
        shown = {
            (record["method"], record[bound]): (record["printed_accuracy"], record["printed_discrimination"])
            for record in tables[f"{name}_with"].records
            if record["printed_accuracy"] is not None
        }
        assert shown == {(method, value): pair for method, by in printed.items() for value, pair in by.items()}
        chosen = {r["chosen_on"] for r in tables[f"{name}_with"].records if r["printed_accuracy"] is not None}
        assert chosen == {"training"}
        assert not any(record["printed_accuracy"] is not None for record in tables[f"{name}_without"].records)


def test_records_are_means_over_seeds(runs, tables):
    frame = runs.frame
    for record in tables["bank_without"].records:
        rows = frame[
            (frame["data"] == "bank")
            & (frame["features"] == "without")
            & (frame["method"] == record["method"])
            & (frame["chosen_on"] == record["chosen_on"])
            & (frame["epsilon"].fillna(-1) == (-1 if record["epsilon"] is None else record["epsilon"]))
        ]
        assert len(rows) == record["n_seeds"] == 3
        for measure in ("accuracy", "balanced_accuracy", "discrimination", "accuracy_loss"):
            assert record[measure] == pytest.approx(np.mean(rows[measure]), abs=1e-6)
            assert record[f"{measure}_sd"] == pytest.approx(np.std(rows[measure], ddof=1), abs=1e-6)


def test_a_loss_is_against_the_plain_forest_trained_on_the_same_rows(runs):
    for row in runs.frame.itertuples():
        plain = numbers(row._replace(method="plain forest", epsilon=None, alpha=None))
        bounds = {"epsilon": None if np.isnan(row.epsilon) else row.epsilon}
        bounds["alpha"] = None if np.isnan(row.alpha) else row.alpha
        own = numbers(row._replace(**bounds))
        assert row.accuracy_loss == pytest.approx(plain["accuracy"] - own["accuracy"])


def test_three_formats_say_the_same(tables):
    for table in tables.values():
        rows = list(csv.DictReader(io.StringIO(table.to_csv())))
        assert len(rows) == len(table.records)
        markdown = table.to_markdown().splitlines()
        latex = [line for line in table.to_latex().splitlines() if line.endswith(r"\\") and "shortstack" not in line]
        assert len(markdown) - 2 == len(latex) == len({(r[table.bound], r["method"]) for r in rows})
        for record in rows:
            mean, spread = (f"{float(record[key]):.3f}" for key in ("accuracy", "accuracy_sd"))
            bound = f"{float(record[table.bound]):g}" if record[table.bound] else ""
            (line,) = [
                line
                for line in table.to_markdown().splitlines()
                if line.startswith(f"| {bound} | {record['method']} |")
            ]
            assert f"{mean} ± {spread}" in line
            method = re.sub(r"\*$", r"$^{\\star}$", record["method"])
            (line,) = [line for line in latex if line.startswith(f"{bound} & {method} &")]
            assert rf"{mean} $\pm$ {spread}" in line


def test_columns_stand_under_their_names(tables):
    table = tables["bank_with"]
    header, _, *lines = [[cell.strip() for cell in line[1:-1].split("|")] for line in table.to_markdown().splitlines()]
    (line,) = [dict(zip(header, line, strict=True)) for line in lines if line[:2] == ["0.05", "EiFFFeL-LF*"]]
    assert line["accuracy, printed"] == "0.77"
    assert line["discrimination, printed"] == "0.05"
    records = {r["chosen_on"]: r for r in table.records if r["method"] == "EiFFFeL-LF*" and r["epsilon"] == 0.05}
    for chosen_on, words in (("training", "training rows"), ("held-out", "held-out rows")):
        for measure, name in (("accuracy", "accuracy"), ("balanced_accuracy", "balanced accuracy")):
            assert line[f"{name}, {words}"].startswith(f"{records[chosen_on][measure]:.3f} ± ")
    assert not any(
        name.startswith("balanced") for name in tables["adult_with"].to_markdown().splitlines()[0].split("| ")
    )


def test_how_often_the_bounds_were_met():
    frame = made_up_frame(lambda o: numbers(o) | {"met": o.seed > 0 if o.method == "EiFFFeL-LF" else None})
    table = next(make_tables(Runs(frame)))
    met = {(r["method"], r["chosen_on"], r["epsilon"]): r["n_met"] for r in table.records}
    assert met["EiFFFeL-LF", "held-out", 0.05] == 2
    assert met["plain forest", "training", None] is None
    header, _, *lines = [[cell.strip() for cell in line[1:-1].split("|")] for line in table.to_markdown().splitlines()]
    (line,) = [dict(zip(header, line, strict=True)) for line in lines if line[:2] == ["0.05", "EiFFFeL-LF"]]
    assert line["bounds met, training rows"] == line["bounds met, held-out rows"] == "2 of 3"


def test_latex_has_a_rule_between_bounds(tables):
    latex = tables["adult_with"].to_latex()
    assert latex.count(r"\midrule") == 1 + 4
    assert latex.count("{") == latex.count("}")
    n_columns = latex.split(r"\begin{tabular}{")[1].split("}")[0].replace("l", "c").count("c")
    for line in latex.splitlines():
        if line.endswith(r"\\"):
            assert line.count("&") == n_columns - 1


def test_one_seed_has_no_spread():
    runs = Runs(made_up_frame(numbers, n_seeds=1))
    table = next(make_tables(runs))
    assert "±" not in table.to_markdown()
    assert "1 seed" in table.title
    assert all(record["accuracy_sd"] is None for record in table.records)


def test_tables_of_what_was_run_only():
    runs = Runs(made_up_frame(numbers, ["compas"]))
    assert [table.name for table in make_tables(runs)] == ["compas_with", "compas_without"]


def test_an_estimate():
    found = mean_of_seeds([1.0, 2.0, 4.0])
    assert (found.mean, found.n) == (pytest.approx(7 / 3), 3)
    assert found.sd == pytest.approx(np.std([1, 2, 4], ddof=1))
    assert found.error == pytest.approx(found.sd / np.sqrt(3))
    assert found.differs
    assert not mean_of_seeds([1.0, -1.0, 1.0]).differs
    assert not mean_of_seeds([5.0]).differs, "one seed shows nothing"
