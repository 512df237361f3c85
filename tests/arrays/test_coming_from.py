"""The code in the pages on other libraries, for those that are installed."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "coming-from.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"(?ms)^```python (\w+)\n(.*?)^```$", PAGE))


def test_every_library_has_code():
    assert list(BLOCKS) == ["numpy", "torch", "torch_scatter", "jax", "tensorflow"]


@pytest.mark.parametrize("library", BLOCKS)
def test_same_results(library):
    pytest.importorskip(
        library, reason="the page compares with libraries that sowreap does not need"
    )
    exec(compile(BLOCKS[library], f"coming-from.md: {library}", "exec"), {})


def test_how_to():
    torch = pytest.importorskip("torch", reason="the page shows tensors")
    page = (DOCS / "arrays.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"(?ms)^```python\n(.*?)^```$", page):
        exec(compile(block, "arrays.md", "exec"), names)
    assert names["rows"].dtype == torch.bfloat16
    assert names["cache"].sum().item() == 16
    assert names["weights"].grad.shape == (10, 4)
