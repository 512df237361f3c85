"""The documentation builds without a warning, and its pages are what they should be."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import sowreap
from sowreap import explain

ROOT = Path(__file__).parents[1]
OPERATORS = explain.__all__[1:]

# The reference imports every part, so the parts must be there.
for needed in ("sphinx", "myst_parser", "numpydoc", "furo", "torch", "jax", "dask.array", "zarr"):
    pytest.importorskip(needed, reason="building the documentation needs the extras docs and all")


class Page(HTMLParser):
    """The ids of a page, and where it leads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.images: dict[str, str] = {}
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.ids.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "img":
            self.images[values["src"]] = values.get("alt") or ""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as a user does; the pages by their paths."""
    folder = tmp_path_factory.mktemp("site")
    command = ["-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    command += ["-d", folder / "doctrees", ROOT / "docs", folder / "html"]
    result = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    pages = (Page(path) for path in (folder / "html").rglob("*.html"))
    return {page.path.relative_to(folder / "html").as_posix(): page for page in pages}


def test_every_page_is_built(site):
    sources = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    wanted = {s.with_suffix(".html").as_posix() for s in sources if s.parts[0] != "_build"}
    assert wanted <= set(site)


def test_links_lead_to_pages_and_headings(site):
    by_path = {page.path.resolve(): page for page in site.values()}
    lost = []
    for name, page in site.items():
        for link in page.links:
            url = urlsplit(link)
            if url.scheme or link == "#":
                continue
            path = (page.path.parent / unquote(url.path)).resolve() if url.path else page.path
            target = by_path.get(path.resolve())
            if not path.exists() or (url.fragment and target and url.fragment not in target.ids):
                lost.append(f"{name}: {link}")
    assert not lost


@pytest.mark.parametrize("operator", OPERATORS)
def test_each_operator_has_a_picture_and_its_loop(site, operator):
    page = site["reference/operators.html"]
    assert f"sowreap.{operator}" in page.ids
    [(source, text)] = [
        (source, text)
        for source, text in page.images.items()
        if source.endswith(f"/{operator}.svg")
    ]
    assert (page.path.parent / source).read_text("utf-8").startswith("<svg")
    assert len(text) > 20
    assert f"../explore/{operator}.html" in page.links


def test_japanese_pages_say_so(site):
    for name, page in site.items():
        language = "ja" if name.startswith("ja/") else "en"
        if not name.startswith("explore/"):
            assert f'lang="{language}"' in page.path.read_text("utf-8")[:300], name


def test_every_public_name_has_an_entry(site):
    ids = set().union(*(page.ids for page in site.values()))
    missing = [name for name in sowreap.__all__ if f"sowreap.{name}" not in ids]
    for part in ("onnx", "torch", "jax", "dask", "directml", "explain"):
        module = __import__(f"sowreap.{part}", fromlist=["__all__"])
        names = [f"sowreap.{part}.{name}" for name in module.__all__]
        missing += [name for name in names if name not in ids and f"module-{name}" not in ids]
    assert [name for name in missing if name != "__version__"] == []


def test_no_docstring_is_shown_with_its_markup(site):
    for name, page in site.items():
        if name.startswith("reference/"):
            text = page.path.read_text("utf-8")
            text = re.sub(r"<pre>.*?</pre>", "", text, flags=re.S)
            assert not re.search(r"\s-{5,}\s|>\.\. [a-z]+::|:(func|class|meth|mod):`", text), name
