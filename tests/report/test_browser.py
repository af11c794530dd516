"""The page in a real browser: no errors, no network, a slider that shows what `path.select` says."""

import os
import re
import shutil
import zlib
from collections import Counter

import pytest

pytest.importorskip("pandas")
pytest.importorskip("jinja2")
pytest.importorskip("altair")
playwright = pytest.importorskip("playwright.sync_api")

from made_up_report import EVIL, classifier, people, summary  # noqa: E402

from eifffel.report import render_html, summarize, summarize_decisions  # noqa: E402
from eifffel.report.facts import Estimate  # noqa: E402
from eifffel.report.words import percent, rounded  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None and os.environ.get("CI"):
    raise RuntimeError("chromium is not on the PATH, and here the pages must be tested: make browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="NOT TESTED IN A BROWSER: chromium is not on the PATH"),
]
# Chromium's own services, which would look for hosts.
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


class Opened:
    """A page that is ready, with everything that it asked for and complained about."""

    def __init__(self, browser, file, **options):
        self.complaints, self.requests, self.dialogs = [], [], []
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        self.page.goto(file.as_uri())
        if "<script>" in file.read_text(encoding="utf-8"):
            self.page.wait_for_selector("body[data-ready]", timeout=30_000)

    def cell(self, name):
        return self.page.inner_text(f"[data-cell={name}]").replace("\u00a0", " ")

    def drag(self, place):
        self.page.evaluate(
            "place => { const s = document.getElementById('bound'); s.value = place;"
            " s.dispatchEvent(new Event('input', {bubbles: true})); }",
            place,
        )


@pytest.fixture
def open_page(browser, tmp_path):
    opened = []

    def open_it(made, **options):
        file = tmp_path / f"report{len(opened)}.html"
        file.write_text(render_html(made), encoding="utf-8")
        opened.append(Opened(browser, file, **options))
        return opened[-1]

    yield open_it
    for page in opened:
        page.context.close()


@pytest.mark.parametrize("options", [{}, {"model": "boosted"}, {"evil": True}], ids=str)
def test_it_opens_without_errors_and_without_a_network(open_page, options):
    opened = open_page(summary(**options))
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert opened.dialogs == []
    assert opened.page.locator("#chart-tradeoff svg").count() == 1
    assert opened.page.locator("#chart-changes svg").count() == 1


@pytest.mark.filterwarnings("ignore::eifffel.exceptions.ConstraintNotMetWarning")
@pytest.mark.parametrize("options", [{}, {"model": "boosted"}], ids=str)
def test_the_slider_shows_what_select_says(open_page, options):
    made = summary(**options)
    clf = classifier(**options)
    X, y, s = people(2000, 1)
    later = clf.path_.measure(X, y, s)
    opened = open_page(made)
    bounds = made.path.bounds
    for place in (0, 10, len(bounds) // 2, len(bounds) - 1, made.path.chosen_bound):
        opened.drag(place)
        choice = clf.path_.select(epsilon=bounds[place].bound)
        assert opened.page.inner_text("#bound-text") == f"{choice.epsilon:g}"
        assert opened.page.inner_text("#bound-met") == ("met" if choice.met else "NOT MET")
        assert opened.cell("selection_discrimination") == rounded(choice.discrimination, 4)
        assert opened.cell("selection_accuracy") == rounded(choice.accuracy)
        assert opened.cell("changed_leaves") == f"{clf.path_.n_flips(choice.step):,}"
        assert opened.cell("discrimination").split(" ")[0] == rounded(later.discrimination[choice.step])
        assert opened.cell("accuracy").split(" ")[0] == rounded(later.accuracy[choice.step])
        for g in range(2):
            rate = Estimate(later.selection_rates[choice.step, g], None, None)
            assert opened.cell(f"selection_rate_{g}").split(" ")[0] == percent(rate).number
    opened.page.click("#reset")
    assert opened.page.inner_text("#bound-text") == "0.05"
    assert opened.complaints == []


def test_the_marker_moves_along_the_path(open_page):
    opened = open_page(summary())

    def markers():
        # The marker is drawn last; Vega writes places into the transform of each symbol.
        symbols = opened.page.locator("#chart-tradeoff svg path[stroke='black']")
        return [symbols.nth(k).get_attribute("transform") for k in range(symbols.count())]

    seen = []
    for place in (0, 60, len(summary().path.bounds) - 1):
        opened.drag(place)
        opened.page.wait_for_timeout(150)
        seen.append(tuple(markers()))
    assert all(len(places) == 2 for places in seen), "one on each kind of rows"
    assert len(set(seen)) == 3


KINDS = {  # reports of other kinds than the first, by what is in them
    "within the bound from the start": lambda: summary(epsilon=0.5),
    "upwards": lambda: summary(direction="up"),
    "a bound that is not met": lambda: summary(epsilon=0.0, alpha=0.0),
    "confidence": lambda: summary(confidence=0.9),
    "a ratio": lambda: summary(epsilon=None, ratio=0.8),
    "no labels": lambda: summarize(classifier(), people(500, 3)[0], None, sensitive_features=people(500, 3)[2]),
    "decisions": lambda: summarize_decisions(people(500, 3)[1], sensitive_features=people(500, 3)[2], favorable="yes"),
    "several groups": lambda: summary(groups="race"),
    "two attributes": lambda: summary(groups="both"),
    "weights": lambda: summary(weighted=True),
}


@pytest.mark.filterwarnings("ignore::eifffel.exceptions.ConstraintNotMetWarning")
@pytest.mark.filterwarnings("ignore::eifffel.exceptions.FewRowsWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_the_console_is_silent(open_page, kind):
    made = KINDS[kind]()
    opened = open_page(made)
    if made.path is not None:
        for place in (0, len(made.path.bounds) - 1):
            opened.drag(place)
    opened.page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
    assert opened.complaints == []


def test_a_model_that_was_not_changed_has_no_empty_charts(open_page):
    made = summary(epsilon=0.5)
    assert made.selection.step == 0
    page = open_page(made).page
    said = "On the selection rows the model was already within the bound; nothing was changed."
    assert said in page.inner_text("#sentence")
    assert page.locator("#chart-changes").count() == 0
    assert page.inner_text("body").count(said) == 3, "the verdict, who changed, which leaves"
    assert page.locator("#chart-tradeoff svg").count() == 1, "the other bounds are there all the same"


def test_keys_move_the_slider(open_page):
    opened = open_page(summary())
    opened.page.focus("#bound")
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.inner_text("#bound-text") == "0.051"
    assert opened.page.get_attribute("#bound", "aria-valuetext") == "0.051"


def test_scripts_in_data_are_shown_as_text(open_page):
    opened = open_page(summary(evil=True))
    assert opened.page.inner_text("body").count(EVIL) > 10
    assert opened.page.locator("body script").count() == 2, "those of the page itself"
    opened.drag(0)
    assert opened.dialogs == []


@pytest.mark.parametrize("width", [360, 1200])
def test_it_fits_the_screen(open_page, width):
    opened = open_page(summary(), viewport={"width": width, "height": 800})
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.page.locator("#chart-tradeoff svg").bounding_box()["width"] <= width


def test_it_prints(open_page):
    opened = open_page(summary())
    opened.page.emulate_media(media="print")
    assert not opened.page.locator("#bound").is_visible()
    assert opened.page.locator("#groups").is_visible()
    opened.page.set_viewport_size({"width": 718, "height": 900})  # what is left of A4
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 718, "nothing is cut off on paper"
    assert opened.page.pdf().startswith(b"%PDF")


def printed(page):
    """What a page prints: all that is drawn, in whatever order."""
    streams = re.findall(rb"FlateDecode.*?stream\r?\n(.*?)endstream", page.pdf(), flags=re.DOTALL)
    assert streams
    # What stands behind the end of compressed data is no part of them.
    return [Counter(zlib.decompressobj().decompress(stream).split(b"\nq\n")) for stream in streams]


@pytest.mark.parametrize("bounds", [{}, {"ratio": 0.8, "epsilon": None}], ids=str)
def test_what_is_printed_is_the_bound_asked_for_wherever_the_slider_was_left(open_page, bounds):
    opened = open_page(summary(**bounds))
    expected, start = printed(opened.page), summary(**bounds).path.chosen_bound
    for place in (0, len(summary(**bounds).path.bounds) - 1):
        opened.drag(place)
        shown = opened.page.inner_text("#explore"), opened.page.inner_text("#groups")
        assert printed(opened.page) == expected
        opened.page.wait_for_function("place => document.getElementById('bound').value === String(place)", arg=place)
        assert (opened.page.inner_text("#explore"), opened.page.inner_text("#groups")) == shown, "it is put back"
    opened.page.emulate_media(media="print")
    opened.page.wait_for_function("place => document.getElementById('bound').value === String(place)", arg=start)
    assert opened.complaints == []


def test_an_engine_that_does_not_say_that_it_prints_prints_the_bound_asked_for(open_page):
    opened = open_page(summary())
    opened.page.emulate_media(media="print")
    expected = opened.page.inner_text("#explore"), opened.page.inner_text("#groups")
    assert "epsilon = 0.05 met" in expected[0]
    opened.drag(0)  # once it is on paper, so that nothing puts it back
    assert (opened.page.inner_text("#explore"), opened.page.inner_text("#groups")) == expected
    assert not opened.page.locator("#chart-tradeoff").is_visible(), "it would show another bound"
    opened.drag(summary().path.chosen_bound)
    assert opened.page.locator("#chart-tradeoff").is_visible()


def test_without_javascript_the_numbers_are_there(browser, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(render_html(summary()), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    point = summary().path.points[summary().path.bounds[summary().path.chosen_bound].point]
    shown = page.inner_text("#groups")
    assert str(percent(point.groups[0].selection_rate)) in " ".join(shown.split())
    context.close()


def test_an_audit_opens_too(open_page):
    X, y, s = people(500, 3)
    opened = open_page(summarize(classifier().estimator_, X, y, sensitive_features=s))
    assert opened.complaints == []
    assert opened.page.locator("#bound").count() == 0
