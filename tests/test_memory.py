"""No input is copied whole, and work in place costs what it writes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sowreap as sr
from measure import RESIDENT_NOISE, resident_extra, traced_extra

SMALL = 1 << 20

# Calls on a transposed view of 200 MB: what they may need beside the view and the result.
TRANSPOSED = {
    "gather": "sr.gather(view, few, 0)",
    "gather along the rows": "sr.gather(view, few, 1)",
    "gather_elements": "sr.gather_elements(view, few[:, None], 0)",
    "gather_nd": "sr.gather_nd(view, np.stack([few, few], 1))",
    "scatter in place": "sr.scatter(view, few[:, None], ones[:, None], 0, out=view)",
    "scatter_elements in place": (
        "sr.scatter_elements(view, few[:, None], ones[:, None], 0, 'add', out=view)"
    ),
    "scatter_nd in place": "sr.scatter_nd(view, few[:, None], rows, 'max', out=view)",
    "mean in place": "sr.scatter_nd(view, few[:, None], rows, 'mean', out=view)",
    "mean of elements in place": (
        "sr.scatter_elements(view, few[:, None], ones[:, None], 0, 'mean', out=view)"
    ),
    "gather_nd, filled": "sr.gather_nd(view, np.stack([few * 9999, few], 1), mode='fill')",
    "tensor_scatter in place": "sr.tensor_scatter(view, rows.T[:5000, :4], axis=1, out=view)",
    "scatter_elements": "sr.scatter_elements(view, few[:, None], ones[:, None])",
    "scatter_nd": "sr.scatter_nd(view, few[:, None], rows)",
    "data as updates": "sr.scatter_elements(view[:9], index, view, 0, 'add')",
    "data as indices": "sr.gather_elements(rows, view.view(np.int32), 0)",
}

CHILD = """
import sys
sys.path.insert(0, {tests!r})
import numpy as np
import sowreap as sr
from measure import resident_extra, traced_extra

view = np.zeros((10_000, 5_000), np.float32).T
view[...] = 0  # touch every page
few, ones = np.array([3, -1, 0, 7]), np.ones(4, np.float32)
rows = np.ones((4, view.shape[1]), np.float32)
index = np.broadcast_to(np.int8(0), view.shape)
run = lambda: {call}
run()
print(traced_extra(run), resident_extra(run))
"""


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_view_of_200_megabytes(name):
    """In a process of its own, whose peak no other test has raised."""
    code = CHILD.format(tests=str(Path(__file__).parent), call=TRANSPOSED[name])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"SOWREAP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    traced, resident = (int(word) for word in done.stdout.split())
    assert traced <= SMALL
    assert resident <= SMALL + RESIDENT_NOISE


@pytest.mark.parametrize("threads", [1, 2])
def test_one_row_of_a_cache_in_place(threads):
    sr.set_num_threads(threads)
    cache = np.zeros((4, 8, 4096, 64), np.float32)
    update, starts = np.ones((4, 8, 1, 64), np.float32), np.array([5, 0, 4095, 77])

    def run():
        sr.tensor_scatter(cache, update, starts, out=cache)

    run()
    assert traced_extra(run) < 16_384
    assert resident_extra(run) < RESIDENT_NOISE
    assert (cache.sum(axis=(1, 2, 3)) == 8 * 64).all()


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
def test_one_row_of_a_table_in_place(reduction):
    table = np.zeros((500_000, 32), np.float32)
    row = np.ones((1, 32), np.float32)

    def run():
        sr.scatter_nd(table, [[123_456]], row, reduction, out=table)
        sr.scatter_elements(table, np.full((1, 32), -1), row, 0, reduction, out=table)

    run()
    assert traced_extra(run) < 16_384
    assert resident_extra(run) < RESIDENT_NOISE


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64])
def test_indices_are_not_converted_as_a_whole(dtype):
    data, indices = np.zeros(100, np.int8), np.ones(8_000_000, dtype)
    out = np.zeros(8_000_000, np.int8)

    def run():
        sr.gather(data, indices, out=out)
        sr.gather_elements(data, indices[::-1], out=out)
        sr.scatter_elements(data, indices, out, reduction="add", out=data)

    run()
    assert traced_extra(run) < SMALL
    assert resident_extra(run) < RESIDENT_NOISE
