"""The tables that auditors ask for, each against an example that is worked out here."""

import csv
import io
import json
import re
from importlib.util import find_spec

import numpy as np
import pytest

from eifffel.report import render_markdown, render_table, save_table, summarize_decisions
from eifffel.report._tables import TABLES

# Markdown comes from templates.
needs_templates = pytest.mark.skipif(find_spec("jinja2") is None, reason="needs Jinja2")

# 1,025 applicants. Those decided favourably are selected; scores are 2 or 1. Of all, 512 have 2, so that 1 is the
# median; of those alone whose race is known it would be 2, which nobody is above.
#           people  selected  above
EXAMPLE = {
    ("m", "A"): (240, 144, 156),
    ("m", "B"): (160, 56, 80),
    ("f", "A"): (300, 135, 150),
    ("f", "B"): (285, 114, 114),
    ("f", "C"): (15, 12, 12),  # 1.5% of the 1,000 whose race is known
    ("f", None): (25, 10, 0),
}
assert sum(above for *_, above in EXAMPLE.values()) == 512


def example(**options):
    columns = {"sex": [], "race": []}
    hired, score = [], []
    for (sex, race), (n, selected, above) in EXAMPLE.items():
        columns["sex"] += [sex] * n
        columns["race"] += [race] * n
        hired += ["yes"] * selected + ["no"] * (n - selected)
        score += [2] * above + [1] * (n - above)
    options = {"scores": score, "score_name": "rank", "rows": "applicants", "sensitive_name": "sex, race"} | options
    groups = {name: np.array(column, object) for name, column in columns.items()}
    return summarize_decisions(hired, sensitive_features=groups, favorable="yes", missing="drop", **options)


def records(summary, name):
    """The records of a table by the heading of their block and their category."""
    blocks = json.loads(render_table(summary, name, ".json"))["blocks"]
    named = {block["heading"]: [(r.get("category", r.get("field")), r) for r in block["records"]] for block in blocks}
    return {heading: dict(found) for heading, found in named.items()}


@pytest.mark.parametrize("combine", ["each", "intersection"])
def test_local_law_144_selection_rates(combine):
    made = records(example(combine=combine), "ll144")
    expected = {
        # sex: 144 + 56 = 200 of 400, 135 + 114 + 12 = 261 of 600
        "Selection rates, sex categories": {
            "m": (400, 200, 0.5, 1.0),
            "f": (600, 261, 0.435, 0.435 / 0.5),  # 0.87
        },
        # race: 144 + 135 = 279 of 540, 56 + 114 = 170 of 445, 12 of 15; the last is excluded
        "Selection rates, race categories": {
            "A": (540, 279, 279 / 540, 1.0),
            "B": (445, 170, 170 / 445, (170 * 540) / (445 * 279)),  # 0.739
            "C": (15, 12, 0.8, None),
        },
        "Selection rates, intersectional categories (sex x race)": {
            "m, A": (240, 144, 0.6, 1.0),
            "m, B": (160, 56, 0.35, 0.35 / 0.6),
            "f, A": (300, 135, 0.45, 0.45 / 0.6),
            "f, B": (285, 114, 0.4, 0.4 / 0.6),
            "f, C": (15, 12, 0.8, None),
        },
    }
    check_ll144(made, expected)
    blocks = json.loads(render_table(example(combine=combine), "ll144", ".json"))["blocks"]
    unknown = {record["attribute"]: record["people"] for record in blocks[-1]["records"]}
    assert unknown == {"any of sex, race": 25}


def test_local_law_144_scoring_rates():
    made = records(example(), "ll144")
    check_ll144(
        made,
        {
            # sex: 156 + 80 = 236 of 400, 150 + 114 + 12 = 276 of 600
            "Scoring rates, sex categories": {
                "m": (400, 236, 0.59, 1.0),
                "f": (600, 276, 0.46, 0.46 / 0.59),  # 0.780
            },
            # race: 156 + 150 = 306 of 540, 80 + 114 = 194 of 445
            "Scoring rates, race categories": {
                "A": (540, 306, 306 / 540, 1.0),
                "B": (445, 194, 194 / 445, (194 * 540) / (445 * 306)),  # 0.769
                "C": (15, 12, 0.8, None),
            },
            "Scoring rates, intersectional categories (sex x race)": {
                "m, A": (240, 156, 0.65, 1.0),
                "m, B": (160, 80, 0.5, 0.5 / 0.65),
                "f, A": (300, 150, 0.5, 0.5 / 0.65),
                "f, B": (285, 114, 0.4, 0.4 / 0.65),
                "f, C": (15, 12, 0.8, None),
            },
        },
    )


def check_ll144(made, expected):
    counted = "above_median" if next(iter(expected)).startswith("Scoring") else "selected"
    for heading, categories in expected.items():
        assert set(made[heading]) == set(categories)
        for name, (n, chosen, rate, ratio) in categories.items():
            record = made[heading][name]
            assert (record["people"], record[counted]) == (n, chosen)
            assert record["rate"] == pytest.approx(rate, abs=1e-12)
            assert record["ratio"] == (None if ratio is None else pytest.approx(ratio, abs=1e-12))
            assert record["excluded"] == (ratio is None)


@needs_templates
def test_local_law_144_as_people_read_it():
    text = render_table(example(about={"data_source": "All applicants of 2025"}), "ll144")
    assert "| category | # of applicants | # selected | selection rate | impact ratio |" in text
    assert "| category | # of applicants | scoring rate | impact ratio |" in text
    assert "| f | 600 | 261 | 43.5% | 0.870 |" in text
    assert "| C | 15 | 12 | 80.0% | excluded |" in text
    assert "Measured on 1,000 applicants" in text
    assert "### Not included in the calculations, a category not known" in text
    assert "| any of sex, race | 25 |" in text
    assert "Favourable: yes; not: no." in text
    assert "Under 2% of all, by race: C. They are excluded from the impact ratios" in text
    assert "score (rank) is above the median of all people assessed, also those whose category is not known: 1." in text
    assert "Source and explanation of the data: All applicants of 2025." in text
    assert "Scoring rates are not here" in render_table(example(scores=None), "ll144")


@needs_templates
def test_categories_that_are_not_described_are_named():
    cells = {("f", "a"): 5, ("f", "b"): 60, ("f", "c"): 70, ("m", "a"): 200, ("m", "b"): 300, ("m", "c"): 400}
    groups = {name: [cell[k] for cell, n in cells.items() for _ in range(n)] for k, name in enumerate(("sex", "race"))}
    made = summarize_decisions([0, 1, 1] * 345, sensitive_features=groups)
    text = render_table(made, "ll144")
    assert "Not described, by sex x race: f, a; f, b; m, a; m, b. They are fewer than ten, or" in text
    assert "| f, a | &lt;10 | n/a | n/a | n/a |" in text, "under 2%, but too little shown of it to be called excluded"
    assert "| m, b | n/a | n/a | n/a | n/a |" in text
    assert "THE HIGHEST RATE" not in text
    highest = [int(race == "b") for race in groups["race"]]
    assert (
        "BY SEX X RACE, A CATEGORY THAT IS NOT DESCRIBED HAS THE HIGHEST RATE: the ratios are too large."
        in render_table(summarize_decisions(highest, sensitive_features=groups), "ll144")
    )
    shown = render_table(summarize_decisions(highest, sensitive_features=groups, tell_few=True), "ll144")
    assert "| f, a | 5 | 0 | 0.0% | excluded |" in shown
    assert "n/a" not in shown
    assert "Categories of fewer than ten people are described here, as was asked for" in shown
    assert "THE HIGHEST RATE" not in shown


@needs_templates
def test_people_whom_a_table_does_not_know_are_counted_by_it():
    groups = {name: list(column) for name, column in {"sex": "fm" * 60, "race": "ab" * 60}.items()}
    groups["sex"][:20] = [None] * 20
    groups["race"][10:40] = [None] * 30
    made = summarize_decisions([0, 1] * 60, sensitive_features=groups, missing="own-group")
    blocks = json.loads(render_table(made, "ll144", ".json"))["blocks"]
    unknown = {record["attribute"]: record["people"] for record in blocks[-1]["records"]}
    assert unknown == {"sex": 20, "race": 30, "sex x race": 40}
    assert "Not compared by race: 30 people of whom it is not known." in render_table(made, "four-fifths")
    assert not any("(missing)" in record["category"] for block in blocks[:-1] for record in block["records"])


@needs_templates
def test_whatever_was_decided_otherwise_is_named():
    made = summarize_decisions(
        ["hired", "rejected", "withdrew"] * 20, sensitive_features=["f", "m"] * 30, favorable="hired"
    )
    assert made.unfavorable == "rejected or withdrew"
    assert "Favourable: hired; not: rejected or withdrew." in render_table(made, "four-fifths")
    many = summarize_decisions([*range(20)] * 3, sensitive_features=["f", "m"] * 30, favorable=3)
    assert many.unfavorable == "any of 19 others"


def test_groups_are_called_as_their_columns_are():
    def name(groups, **options):
        return summarize_decisions([0, 1] * 30, sensitive_features=groups, **options).sensitive

    pandas = pytest.importorskip("pandas")
    groups = pandas.DataFrame({"sex": ["f", "m"] * 30, "race": ["a", "a", "b", "b"] * 15})
    assert name(groups["sex"]) == "sex"
    assert name(groups) == "sex, race"
    assert name(groups, combine="intersection", min_group_rows=0) == "sex x race"
    assert name(groups.to_numpy()[:, 0]) == "group"
    assert name(groups["sex"], sensitive_name="gender") == "gender"


@needs_templates
def test_a_page_about_decisions_does_not_speak_of_edits():
    text = render_markdown(example(about={"not_for": "dismissals"}))
    assert "## Group by group, on 1,000 applicants" in text
    assert "- epsilon:" not in text
    assert "- Decided by: decisions as they were made\n" in text
    assert "- ratio:" in text
    assert "Not for: dismissals" in text


@needs_templates
def test_four_fifths():
    made = records(example(), "four-fifths")["By race"]
    b = made["B"]
    assert b["ratio"] == pytest.approx((170 / 445) / (279 / 540))  # 0.739
    assert b["ratio_low"] < b["ratio"] < 0.8 < b["ratio_high"]
    # 170 of 445 against 279 of 540: the pooled rate is 449/985, and the difference -4.24 standard errors of it.
    pooled = 449 / 985
    z = (170 / 445 - 279 / 540) / np.sqrt(pooled * (1 - pooled) * (1 / 445 + 1 / 540))
    assert z == pytest.approx(-4.22, abs=0.02)
    assert 1e-5 < b["p_value"] < 1e-4, "as beyond 4.2 standard errors, 2.4e-5"
    assert b["reading"] == "below four fifths, though the interval includes 0.8; differs beyond chance"
    assert made["A"]["reading"] == "highest rate", "C is higher, and under 2%"
    assert made["C"]["ratio"] == pytest.approx(0.8 / (279 / 540))
    assert made["C"]["reading"].endswith("under 2% of all")
    text = render_table(example(), "four-fifths")
    assert "Under 2% of all, by race: C. They are compared" in text
    assert "In no table: 25 people of whom a category is not known." in text
    for line in re.findall(r"^\| [^|]+ \|.*$", text, re.M):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.fullmatch(r"0\.\d{3}.*", cells[4]):
            assert " to " in cells[4], "never the ratio alone"
            assert re.match(r"(0|1)\.\d{3}$|&lt;0\.001$", cells[5])


@pytest.mark.parametrize(
    ("women", "men", "reading"),
    [
        ((5, 200), (180, 200), "below four fifths; differs beyond chance"),
        ((175, 200), (180, 200), "four fifths or more; may differ by chance"),
        ((1800, 2200), (2000, 2200), "four fifths or more; differs beyond chance"),
        ((6, 20), (9, 20), "below four fifths, though the interval includes 0.8; may differ by chance"),
        ((0, 50), (20, 50), "below four fifths; differs beyond chance"),
        ((0, 50), (0, 50), "no ratio: the highest rate is 0"),
        ((20, 250), (20, 200), "four fifths or more, though the interval includes 0.8; may differ by chance"),
        ((19, 250), (20, 200), "below four fifths, though the interval includes 0.8; may differ by chance"),
        ((72, 200), (88, 200), "four fifths or more, though the interval includes 0.8; may differ by chance"),
        ((66, 200), (88, 200), "below four fifths, though the interval includes 0.8; differs beyond chance"),
        ((2, 5), (20, 50), "not described"),
    ],
)
def test_what_a_ratio_says(women, men, reading):
    hired, sex = [], []
    for name, (chosen, n) in (("f", women), ("m", men)):
        hired += [1] * chosen + [0] * (n - chosen)
        sex += [name] * n
    made = records(summarize_decisions(hired, sensitive_features=sex), "four-fifths")["By group"]
    assert made["f"]["reading"] == reading
    others = {"not described": "no other group is described", "no ratio: the highest rate is 0": reading}
    assert made["m"]["reading"] == others.get(reading, "highest rate")


def test_what_is_said_where_small_or_hidden_groups_have_the_highest_rate():
    def reading(**counts):
        groups = [name for name, (n, _) in counts.items() for _ in range(n)]
        hired = [int(k < chosen) for n, chosen in counts.values() for k in range(n)]
        made = records(summarize_decisions(hired, sensitive_features=groups), "four-fifths")["By group"]
        return {name: record["reading"] for name, record in made.items()}

    nobody = "no ratio: the highest rate is 0"
    assert reading(a=(500, 0), b=(500, 0), c=(15, 12)) == {"a": nobody, "b": nobody, "c": nobody}
    assert reading(a=(60, 30), b=(80, 20), c=(25, 24), d=(8, 8))["c"] == "highest rate of those described"


def test_a_model_card_says_what_is_known_and_what_is_not():
    about = {"intended_use": "first interviews", "not_for": "dismissals", "owner": "HR", "model_file": "m.skops"}
    made = {name: r for block in records(example(about=about), "model-card").values() for name, r in block.items()}
    shown = {"Intended use": "first interviews", "Not for": "dismissals", "Who answers for it": "HR"}
    assert {name: made[name]["value"] for name in shown} == shown
    assert not {"Model file", "Edit", "Trained on rows of", "Split"} & set(made), "there is no model"
    assert made["Where it comes from"]["value"] == "not stated"
    assert made["Measured on"]["value"] == "1,000 applicants"
    assert "eifffel" in made["Software"]["value"]
    assert made["Intended use"]["annex_iv"] == "1(a)"
    assert made["sex f"]["value"].startswith("600 people; favourable decisions 43.5%")


@needs_templates
@pytest.mark.parametrize("name", TABLES)
def test_every_form_holds_the_same(name, tmp_path):
    made = example()
    for ending in (".md", ".csv", ".json"):
        save_table(made, name, tmp_path / f"table{ending}")
        assert (tmp_path / f"table{ending}").read_text() == render_table(made, name, ending)
    content = json.loads((tmp_path / "table.json").read_text())
    flat = [record for block in content["blocks"] for record in block["records"]]
    lines = list(csv.DictReader(io.StringIO((tmp_path / "table.csv").read_text())))
    assert len(lines) == len(flat) > 0
    for line, record in zip(lines, flat, strict=True):
        assert line["measured_on"] == "1000 applicants"
        assert line["decided_by"] == "decisions as they were made"
        assert line["favorable"] == "yes"
        assert line["note"].endswith("does not say that a law is complied with.")
        for key, value in record.items():
            assert line[key] == ("" if value is None else str(value))
    with pytest.raises(FileExistsError, match="is not overwritten unasked"):
        save_table(made, name, tmp_path / "table.csv")
    with pytest.raises(ValueError, match=r"must end in \.md, \.csv, \.json, got"):
        save_table(made, name, tmp_path / "table.txt")
    title = next(line for line in render_table(made, name).splitlines() if line)
    assert title in render_markdown(made)


def test_unknown_tables_are_refused():
    with pytest.raises(ValueError, match="name must be one of 'four-fifths', 'll144', 'model-card', got 'll145'"):
        render_table(example(), "ll145")
    with pytest.raises(ValueError, match=r"ending must be one of '\.md', '\.csv', '\.json', got '\.txt'"):
        render_table(example(), "ll144", "txt")
    assert render_table(example(), "ll144", "csv") == render_table(example(), "ll144", ".csv")


@needs_templates
@pytest.mark.parametrize("name", TABLES)
def test_no_table_claims_that_a_law_is_complied_with(name):
    text = render_table(example(), name)
    assert "This measures; it does not say that a law is complied with." in text
    assert len(re.findall(r"compl(y|ian|ied)", text)) == text.count("it does not say that a law is complied with")


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "\r=1+1"])
def test_texts_from_data_are_no_formulas(text):
    made = summarize_decisions([1, 0] * 30, sensitive_features=[text] * 30 + ["x"] * 30, about={"owner": text})
    for name, column in (("ll144", "category"), ("model-card", "value")):
        lines = csv.DictReader(io.StringIO(render_table(made, name, ".csv")))
        cells = [line[column] for line in lines if text.strip() in line[column]]
        assert cells
        assert all(cell.startswith("'") or not cell.strip().startswith(text.strip()) for cell in cells)


def test_numbers_are_no_formulas():
    made = summarize_decisions([1, 0] * 30, sensitive_features=[-1] * 30 + [1] * 30)
    lines = csv.DictReader(io.StringIO(render_table(made, "ll144", ".csv")))
    assert {line["category"] for line in lines} == {"-1", "1", ""}


@needs_templates
def test_texts_from_data_are_no_markup():
    made = summarize_decisions([1, 0] * 30, sensitive_features=["a"] * 30 + ["<b>|x|</b>"] * 30)
    assert "<b>" not in render_table(made, "ll144")
    assert r"&lt;b&gt;\|x\|&lt;/b&gt;" in render_table(made, "ll144")


def test_decisions_are_read_with_care():
    sex = ["f", "m"] * 20
    with pytest.raises(ValueError, match="the decisions are 'no', 'yes': pass favorable=, the one"):
        summarize_decisions(["no", "yes"] * 20, sensitive_features=sex)
    with pytest.raises(ValueError, match="favorable names 'si', not among the labels of decisions, 'no', 'yes'"):
        summarize_decisions(["no", "yes"] * 20, sensitive_features=sex, favorable="si")
    with pytest.raises(ValueError, match="scores must be numbers, got 'a', 'b'"):
        summarize_decisions([0, 1] * 20, sensitive_features=sex, scores=["a", "b"] * 20)
    with pytest.raises(ValueError, match="scores must be finite"):
        summarize_decisions([0, 1] * 20, sensitive_features=sex, scores=[1, np.inf] * 20)
    with pytest.raises(ValueError, match="scores has 2 entries for 40 rows"):
        summarize_decisions([0, 1] * 20, sensitive_features=sex, scores=[1, 2])
    with pytest.raises(ValueError, match="decisions has 20 missing values"):
        summarize_decisions([0, None] * 20, sensitive_features=sex)
    with pytest.raises(ValueError, match="y has 2, not among the labels"):
        summarize_decisions([0, 1] * 20, [0, 2] * 20, sensitive_features=sex, favorable=1)
    for favorable, what in (([], "no decision"), ({"yes", "no"}, "every decision")):
        with pytest.raises(ValueError, match=f"favorable names {what} of 'no', 'yes'; name those that are good"):
            summarize_decisions(["no", "yes"] * 20, sensitive_features=sex, favorable=favorable)
    assert summarize_decisions([-1, 1] * 20, sensitive_features=sex).groups[1].after.selection_rate.value == 1
    assert summarize_decisions([False, True] * 20, sensitive_features=sex).favorable == "True"
    several = summarize_decisions(
        ["no", "yes", "offer", "wait"] * 20, sensitive_features=sex * 2, favorable={"yes", "offer"}
    )
    assert several.favorable == "offer or yes"
    assert [g.after.selection_rate.value for g in several.groups] == [0.5, 0.5]
    nobody = summarize_decisions([0] * 40, sensitive_features=sex)
    assert [g.after.selection_rate.value for g in nobody.groups] == [0.0, 0.0]


def test_labels_that_should_have_been_decided_give_rates_of_errors():
    y = np.tile([1, 1, 0, 0], 20)
    decided = np.tile([1, 0, 0, 1], 20)
    sex = np.repeat(["f", "m"], 40)
    made = summarize_decisions(decided, y, sensitive_features=sex, constraint="equal_opportunity")
    assert made.overall.after.accuracy.value == 0.5
    assert [g.after.true_positive_rate.value for g in made.groups] == [0.5, 0.5]
    assert made.rows.labelled
