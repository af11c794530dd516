"""The documentation is complete: links lead somewhere, everything public is in the reference with an example."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import eifffel

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MADE = {"_build", "gallery", "made", "generated"}  # when the documentation is built
PAGES = [*ROOT.glob("*.md"), *(page for page in DOCS.rglob("*.md") if not MADE.intersection(page.parts))]
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]+)?\)")
LISTED = re.findall(r"^   ([A-Za-z_.]+)$", (DOCS / "api" / "index.rst").read_text(), re.MULTILINE)
# What reaches users in a module of its own.
MODULES = (
    "baselines",
    "comparison",
    "constraints",
    "datasets",
    "intervals",
    "metrics",
    "report",
    "selection.bounds",
    "strategies",
)
# Their libraries are not always there.
NEEDS = {"datasets": "pandas", "report": "jinja2"}


def find(name):
    module, _, rest = name.rpartition(".")
    return getattr(importlib.import_module(f"eifffel.{module}" if module else "eifffel"), rest)


def anchors(page):
    """What headings are called in links."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for file, anchor in LINK.findall(page.read_text()):
        target = page.parent / file
        if MADE.intersection(target.parts):
            continue  # the build looks after these
        assert target.exists(), f"{page.name} links to {file}"
        if anchor:
            assert anchor[1:] in anchors(target), f"{page.name} links to {file}{anchor}"


@pytest.mark.parametrize("page", [page for page in PAGES if "results" not in page.parts], ids=lambda page: page.name)
def test_prose_is_wrapped_at_120(page):
    """Results are written by programs; tables, code, pictures and what has no blank cannot be wrapped."""
    prose = re.sub(r"^( *)```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    long = [line for line in prose.splitlines() if len(line) > 120 and not re.match(r"\||    |!\[|<", line)]
    assert not [line for line in long if " " in line.lstrip(" -")]


def test_files_that_are_named_exist():
    files = [
        file for folder in ("src", "tests", "benchmarks", "examples", "docs") for file in (ROOT / folder).rglob("*.py")
    ]
    known = [f"/{file.relative_to(ROOT)}" for file in files]
    for page in PAGES:
        for name in re.findall(r"`([a-z_0-9/]+\.py)`", page.read_text()):
            assert any(file.endswith(f"/{name}") for file in known), f"{page.name} speaks of {name}"


def test_everything_public_is_in_the_reference():
    public = {name for name in eifffel.__all__ if inspect.isclass(getattr(eifffel, name)) or callable(find(name))}
    assert public <= set(LISTED)
    assert {name.rpartition(".")[0] for name in LISTED if "." in name} == set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_everything_of_a_public_module_is_in_the_reference(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    module = importlib.import_module(f"eifffel.{name}")
    members = {member: getattr(module, member) for member in module.__all__}
    public = {
        f"{name}.{member}" for member, what in members.items() if inspect.isroutine(what) or inspect.isclass(what)
    }
    assert public <= set(LISTED)


@pytest.mark.parametrize("name", LISTED)
def test_what_is_in_the_reference_has_an_example(name):
    """One example for each function and each class, which shows its methods too."""
    home = name.rpartition(".")[0]
    if home in NEEDS:
        pytest.importorskip(NEEDS[home])
    member = find(name)
    words = inspect.getdoc(member) or ""
    assert words, "it says nothing"
    if not (inspect.isclass(member) and issubclass(member, Exception)):
        assert ">>> " in words


def test_the_architecture_has_every_file_once():
    source = ROOT / "src" / "eifffel"
    blocks = re.findall(r"^```{files}\n(.*?)^```", (DOCS / "development" / "architecture.md").read_text(), re.M | re.S)
    named = [source / line for block in blocks for line in block.splitlines()]
    files = [file for name in named for file in (name.glob("*.py") if name.is_dir() else [name])]
    assert sorted(files) == sorted(source.rglob("*.py"))


def test_the_version_to_cite_is_this_one():
    assert f"version: {eifffel.__version__}\n" in (ROOT / "CITATION.cff").read_text()
