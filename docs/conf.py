"""Settings of Sphinx: ``python -m sphinx -W --keep-going -b html docs docs/_build``."""

from __future__ import annotations

from sphinx.application import Sphinx

import sowreap

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


def link_root_pages(app: Sphinx, page: str, source: list[str]) -> None:
    """Point links to pages of the root at their copies in the site."""
    for name in ROOT_PAGES:
        source[0] = source[0].replace(f"](../{name}.md", f"]({name.lower()}.md")


def trim_examples(app: Sphinx, page: str, source: list[str]) -> None:
    """Leave out the empty line that ends an example for doctest."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.connect("source-read", link_root_pages)
    app.connect("source-read", trim_examples)
