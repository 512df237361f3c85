"""Settings of Sphinx: ``python -m sphinx -W --keep-going -b html docs docs/_build``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import sowreap

sys.path.insert(0, str(Path(__file__).parent))
from make_pictures import PICTURES

project = "sowreap"
author = "the sowreap authors"
copyright = author
release = version = sowreap.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
exclude_patterns = ["_build"]
nitpicky = False

myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 3

# In docstrings single backticks mark names of arguments.
default_role = "literal"
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc has the types, with shapes
autosummary_generate = False  # the pages hold the objects themselves
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

linkcheck_ignore = [r"https?://"]  # links between pages; others change without us

html_theme = "furo"
html_title = f"sowreap {release}"
html_static_path = ["_static"]
html_css_files = ["sowreap.css"]
html_copy_source = False
html_show_sourcelink = False

# Pages of the repository's root, by the names that they have here.
ROOT_PAGES = ("CHANGELOG", "CONTRIBUTING", "SECURITY")

PICTURE = re.compile(r"^!\[[^]]*\]\(((?:\.\./)?)pictures/(\w+)\.svg\)$", re.M)
EXPLORED = ("index", "explain", "reference/operators")
EXPLORE = r"""\g<0>

```{raw} html
<p class="explore"><a href="\1explore/\2.html">Explore: point at cells, go step by step</a></p>
```"""


def adapt(app: Sphinx, page: str, source: list[str]) -> None:
    """Change what pages need on the site alone, where they are read as files, too."""
    text = source[0]
    for name in ROOT_PAGES:
        text = text.replace(f"](../{name}.md", f"]({name.lower()}.md")
    text = text.replace("\n\n```\n", "\n```\n")  # the empty line that ends an example for doctest
    if page in EXPLORED:
        text = PICTURE.sub(EXPLORE, text)
    source[0] = text


def describe(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Tell screen readers which pages are Japanese, and the level of the captions at the side."""
    if page.startswith("ja/"):
        context["language"] = "ja"
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = context["furo_navigation_tree"].replace(
            'role="heading"', 'role="heading" aria-level="2"'
        )


def write_pictures(app: Sphinx, error: Exception | None) -> None:
    """Write the pictures as pages to explore."""
    if error is None and app.builder.name == "html":
        folder = Path(app.outdir) / "explore"
        folder.mkdir(exist_ok=True)
        for name, picture in PICTURES.items():
            picture().save(folder / f"{name}.html")


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.connect("source-read", adapt)
    app.connect("html-page-context", describe, priority=900)  # after the theme
    app.connect("build-finished", write_pictures)
