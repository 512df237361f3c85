"""The code in the pages runs, and their links lead somewhere."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/[!_]*/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_doctests(page):
    failed, _ = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert failed == 0


def test_semantics_has_doctests():
    parser = doctest.DocTestParser()
    assert len(parser.get_examples((ROOT / "docs/semantics.md").read_text("utf-8"))) > 5


def test_five_lines_of_the_readme_print_what_it_shows():
    text = (ROOT / "README.md").read_text("utf-8")
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.S).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == shown
    assert len([line for line in code.splitlines() if line]) == 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    text = page.read_text("utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
        linked = (page.parent / target) if target else page
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in _anchors(linked), f"{page.name} links to {target}#{anchor}"


def test_links_from_the_source_to_semantics():
    known = _anchors(ROOT / "docs/semantics.md")
    for source in ROOT.glob("src/**/*.py"):
        for anchor in re.findall(r"docs/semantics\.md#([\w-]+)", source.read_text("utf-8")):
            assert anchor in known, f"{source.name} links to #{anchor}"


def _anchors(page: Path) -> set[str]:
    """Return the names that renderers give the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
