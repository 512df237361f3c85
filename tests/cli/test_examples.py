"""The examples run, and say what they should."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest
from command_line import python

EXAMPLES = Path(__file__).parents[2] / "examples"

EXPECTED = {
    "dask_scatter_zarr.py": ["0.02 GB added into 0.01 GB, all right"],
    "directml_scatter.py": [
        "2_1 refuses InputTensor.DimensionCount, rule dimension-count, code 0x80070057",
        "x86: 20 bytes, Axis at 16",
        "repeated targets: 0",
    ],
    "embedding_gradients.py": [
        "20 words, 254 pairs, loss 0.69 -> 0.4",
        "nearest to cat: dog",
    ],
    "gnn_message_passing.py": [
        "880 atoms, 1866 directed bonds, 50 molecules",
        "most neighbours of one atom: 4",
        "molecule vectors: (50, 85), mean",
    ],
    "histogram.py": ["highest point: 3.902 in cell (1, 4)"],
    "histogram_equalisation.py": [
        "before: standard deviation left 13.9, right 20.1",
        "after: standard deviation left 34.2, right 46.1",
    ],
    "image_edit.py": [
        "3405 of 19200 pixels under the mask, 3248 changed",
        "stroke of 1960 stamps, 1749 in the image, on 816 pixels",
    ],
    "kv_cache.py": [
        "12 steps into 8 positions; lengths now [12, 15]",
        "cache of 4096 bytes, written in place 512 bytes a step",
    ],
    "point_cloud_voxels.py": [
        "60000 points, 39527 of them in the grid of 12288 voxels",
        "1843 voxels are filled, the fullest by 201 points",
    ],
}


def test_every_example_is_run():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


def test_every_example_has_a_line_in_the_documentation():
    page = (EXAMPLES.parent / "docs/examples.md").read_text("utf-8")
    for path in EXAMPLES.iterdir():
        if path.suffix in {".py", ".c", ".cpp", ".ipynb"}:
            assert f"(../examples/{path.name})" in page


# Sizes for a test, where the example's own are for a large machine.
ARGUMENTS = {"dask_scatter_zarr.py": ["--scale", "0.001"]}


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name, tmp_path):
    result = python("-W", "error", EXAMPLES / name, *ARGUMENTS.get(name, []), cwd=tmp_path)
    assert result.stderr == ""
    assert result.returncode == 0
    for line in EXPECTED[name]:
        assert line in result.stdout


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(path, monkeypatch):
    """Run the cells in order; what a cell ends with shows itself as it would in Jupyter."""
    text = path.read_text("utf-8")
    if "matplotlib" in text:
        pytest.importorskip("matplotlib", reason="it draws; the extra docs has matplotlib")
        monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(path.parent)
    notebook = json.loads(text)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    names: dict[str, object] = {}
    shown = 0
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, cell["id"], "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
            if hasattr(value, "_repr_html_"):
                assert value._repr_html_().lstrip().startswith("<")
                shown += 1
    if "plt" in names:
        assert names["plt"].get_fignums()
        names["plt"].close("all")
    assert shown > 0


def test_sample_data_belong_together():
    with np.load(EXAMPLES / "molecules.npz", allow_pickle=False) as file:
        shapes = {name: file[name].shape for name in file}
        assert file["edge_index"].max() < shapes["feat"][0]
        assert file["batch"].max() + 1 == shapes["graph_slots"][0]
    fingerprints = np.load(EXAMPLES / "fingerprints.npy", allow_pickle=False)
    assert fingerprints.shape == (*shapes["graph_slots"], 512)
