"""The examples run, and say what they should."""

from __future__ import annotations

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
    "gnn_message_passing.py": [
        "880 atoms, 1866 directed bonds, 50 molecules",
        "most neighbours of one atom: 4",
        "molecule vectors: (50, 85), mean",
    ],
    "histogram.py": ["highest point: 3.902 in cell (1, 4)"],
    "kv_cache.py": [
        "12 steps into 8 positions; lengths now [12, 15]",
        "cache of 4096 bytes, written in place 512 bytes a step",
    ],
}


def test_every_example_is_run():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


# Sizes for a test, where the example's own are for a large machine.
ARGUMENTS = {"dask_scatter_zarr.py": ["--scale", "0.001"]}


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name, tmp_path):
    result = python("-W", "error", EXAMPLES / name, *ARGUMENTS.get(name, []), cwd=tmp_path)
    assert result.stderr == ""
    assert result.returncode == 0
    for line in EXPECTED[name]:
        assert line in result.stdout


def test_sample_data_belong_together():
    with np.load(EXAMPLES / "molecules.npz", allow_pickle=False) as file:
        shapes = {name: file[name].shape for name in file}
        assert file["edge_index"].max() < shapes["feat"][0]
        assert file["batch"].max() + 1 == shapes["graph_slots"][0]
    fingerprints = np.load(EXAMPLES / "fingerprints.npy", allow_pickle=False)
    assert fingerprints.shape == (*shapes["graph_slots"], 512)
