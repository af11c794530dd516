"""The page, the Markdown and the JSON say the same, escape what comes from data, and need nothing else."""

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("jinja2")
pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from made_up_report import EVIL, classifier, people, summary

from eifffel.report import render_html, render_json, render_markdown, render_table, save_report, summarize
from eifffel.report._charts import draw_changes
from eifffel.report._rendering import slider_data
from eifffel.report._save import check_audit_name, check_report_name


class Texts(HTMLParser):
    """The texts of a page outside of scripts and styles, and its tags."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self._open = [], [], []
        self.feed(page)
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self._open):
            self.texts.append(data)


def test_a_page_is_whole_and_small():
    page = render_html(summary())
    assert len(page.encode()) < 3_000_000
    tags = Texts(page).tags
    assert not [attributes for _, attributes in tags if {"src", "href"} & set(attributes)]
    assert not re.search(r"@import|url\(", page[: page.index("</style>")])


@pytest.mark.parametrize("evil", [False, True])
def test_page_and_markdown_have_the_same_facts(evil):
    made = summary(evil=evil)
    seen = Texts(render_html(made)).text
    read = re.sub(r"\\(.)", r"\1", render_markdown(made)).replace("&lt;", "<").replace("&gt;", ">")
    facts = [made.verdict.sentence, *(group.name for group in made.groups)]
    facts += [rule.rule for rule in made.changed.rules]
    facts += [leaf.rule for leaf in made.leaves.shown]
    digests = made.model.digests
    facts += [digests.before.structure, digests.before.leaves, digests.after.structure, digests.after.leaves]
    facts += made.limits
    for fact in facts:
        assert " ".join(fact.split()) in seen
        assert " ".join(fact.split()) in " ".join(read.split())


def test_scripts_in_data_are_text():
    made = summary(evil=True)
    assert EVIL in render_json(made)
    page = render_html(made)
    assert EVIL not in page
    assert "<script>alert" not in page
    markdown = render_markdown(made)
    assert "<script" not in markdown


def test_the_start_of_the_slider_is_the_model_in_the_file():
    made = summary()
    slider = slider_data(made.path)
    cells = slider["points"][slider["bounds"][slider["start"]]["point"]]
    seen = Texts(render_html(made))
    for name, text in cells.items():
        assert " ".join(text.split()) in seen.text or name in ("ratio", "selection_ratio"), "only with a bound on it"
    assert slider["bounds"][slider["start"]]["text"] == "0.05"


def test_an_audit_without_path_or_record_renders():
    X, y, s = people(500, 3)
    for labels in (y, None):
        for model, heading in ((classifier().path_.model, "Measured"), (classifier().estimator_, "the bound of 0.05")):
            made = summarize(model, X, labels, sensitive_features=s, favorable="yes")
            assert heading in Texts(render_html(made)).text
            assert "# Fairness report" in render_markdown(made)


def test_a_file_by_its_name(tmp_path):
    for name, start in (("a.html", "<!DOCTYPE html>"), ("a.md", "# Fairness report"), ("a.json", "{")):
        save_report(summary(), tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    assert json.loads((tmp_path / "a.json").read_text()) == summary().to_dict()
    with pytest.raises(FileExistsError, match="is not overwritten unasked"):
        save_report(summary(), tmp_path / "a.md")
    with pytest.raises(ValueError, match=r"a report must end in .html, .md, .json, got '.*a.pdf'; rename it"):
        save_report(summary(), tmp_path / "a.pdf")


@pytest.mark.parametrize("check", [check_report_name, check_audit_name])
def test_what_fills_templates_is_asked_for_before_any_work(check, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"reports need jinja2; install it with"):
        check("fair.md")
    check("fair.json")


@pytest.mark.parametrize("library", ["jinja2", "altair", "vl_convert"])
def test_without_its_libraries_it_says_what_to_install(library, monkeypatch):
    from eifffel.report import _charts

    _charts.bundle_scripts.cache_clear()
    monkeypatch.setitem(sys.modules, library, None)
    needed = pytest.raises(
        ModuleNotFoundError, match=rf"reports need {library}; install it with: pip install .*\[report\]"
    )
    with needed:
        render_html(summary())
    for ending in (".csv", ".json"):
        assert render_table(summary(), "ll144", ending)
    if library != "jinja2":
        assert render_markdown(summary())
        return
    with needed:
        render_markdown(summary())
    with needed:
        render_table(summary(), "ll144")


def test_marks_and_counts_are_on_the_page_and_in_markdown():
    X, y, s = people(2000, 1)
    few = np.concatenate([np.flatnonzero(s == "women")[:20], np.flatnonzero(s == "men")])
    clf = classifier()
    made = summarize(clf, X, y, sensitive_features=s, sensitive_columns=("part_time", "income"))
    small = summarize(clf, X.iloc[few], y[few], sensitive_features=s[few])
    made = replace(made, changed=replace(made.changed, n_rules_hidden=3))
    seen, read = Texts(render_html(made)).text, render_markdown(made)
    rules = [*made.changed.rules, *made.leaves.shown]
    n_marked = sum(rule.tests_sensitive for rule in rules)
    assert 0 < n_marked < len(rules)
    assert seen.count("tests the sensitive attribute") == read.count("**tests the sensitive attribute**") == n_marked
    assert "3 rules about fewer than ten people not printed" in seen
    assert Texts(render_html(small)).text.count("small group") == 2, "in the table of groups and in the model card"
    assert render_markdown(small).count("(small group)") == 3, "before, after, in the model card"
    assert "small group" not in seen
    for counts in made.changed.groups:
        shares = [f"{n:,} ({100 * n / counts.rows:.1f}%)" for n in (counts.gained, counts.lost)]
        assert " ".join(shares) in seen
        assert f"| {counts.rows:,} | {counts.gained:,} | {counts.lost:,} |" in read
    values = draw_changes(made.changed, made.groups)["data"]["values"]
    assert {(row["what"], row["people"] >= 0) for row in values if row["people"]} <= {("gained", True), ("lost", False)}


@pytest.mark.parametrize(
    ("kind", "look"), [("within", "holds"), ("outside", "broken"), ("not_met", "broken"), ("overshoots", "")]
)
def test_the_page_shows_the_kind_of_a_verdict(kind, look):
    """The class of the heading follows from the kind, whatever the heading says."""
    made = replace(summary(), verdict=replace(summary().verdict, kind=kind, heading="! Whatever"))
    assert dict(Texts(render_html(made)).tags)["h1"] == {"id": "verdict", "class": look}


def test_intervals_stay_on_one_line_and_words_do_not():
    X, y, s = people(500, 3)
    about = {"owner": "from us to you"}
    page = render_html(summarize(classifier().estimator_, X, y, sensitive_features=s, about=about))
    assert "from us to you" in page
    assert "goes to" in page
    assert "goes\u00a0to" not in page
    assert re.search(r"\d\u00a0to\u00a0\d", page)


def test_everything_from_data_is_escaped_wherever_it_stands():
    made = summary(evil=True)
    made = replace(
        made,
        about=replace(made.about, command=EVIL, split=EVIL),
        limits=(EVIL,),
        rows=replace(made.rows, name=EVIL + "' \" onload=x"),
    )
    page = render_html(made)
    assert EVIL not in page
    assert '" onload' not in page[: page.index("<script>")]
    assert "<script" not in render_markdown(made).replace(f"` {EVIL} `", "")


def test_no_text_of_a_record_is_markup():
    """Names of strategies and of rows come from the file of a model."""
    made = summary()
    made = replace(
        made,
        model=replace(made.model, strategy=EVIL),
        selection=replace(made.selection, step=0, discrimination_rows=f"*rows* {EVIL}"),
    )
    for leaves in (made.leaves, replace(made.leaves, n_changed=0)):
        read = render_markdown(replace(made, leaves=leaves))
        assert "<script" not in read
        assert "*rows*" not in read.replace(r"\*", "")
        assert "<script>alert" not in render_html(replace(made, leaves=leaves))
