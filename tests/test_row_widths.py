"""Rows of every width from one item to more than a block: moved and combined, beside the loop."""

import ml_dtypes
import numpy as np
import pytest

import sowreap as sr
from cases import assert_same, random_values, reductions_of
from sowreap import _reference

WIDTHS = (*range(1, 36), 47, 48, 49, 63, 64, 65, 127, 128, 129, 200, 513)
DTYPES = [
    np.dtype(kind)
    for kind in (
        np.bool_,
        np.int8,
        np.uint16,
        np.int32,
        np.int64,
        np.float16,
        ml_dtypes.bfloat16,
        np.float32,
        np.float64,
        np.complex64,
        np.complex128,
    )
]
CELLS, PICKS = 4, 12  # each cell is met several times, now and then twice in a row


def inputs(dtype, width):
    rng = np.random.default_rng(width)
    data, updates = (random_values(rng, dtype, (rows, width)) for rows in (CELLS, PICKS))
    return data, rng.integers(-CELLS, CELLS, PICKS), updates


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of overflow, in the loop
@pytest.mark.parametrize(
    ("dtype", "reduction"),
    [(dtype, reduction) for dtype in DTYPES for reduction in reductions_of(dtype)],
    ids=str,
)
def test_scattered_rows(dtype, reduction):
    for width in WIDTHS:
        data, rows, updates = inputs(dtype, width)
        wanted = _reference.scatter_nd(data, rows[:, None], updates, reduction)
        assert_same(sr.scatter_nd(data, rows[:, None], updates, reduction), wanted)
        sr.scatter_nd(data, rows[:, None], updates, reduction, out=data)
        assert_same(data, wanted)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("offset", [0, 1])
def test_gathered_rows_and_nothing_beside_them(dtype, offset):
    for width in WIDTHS:
        data, rows, _ = inputs(dtype, width + offset)
        data = data[:, offset:]
        frame = np.full((PICKS + 2, width), 7, dtype)
        sr.gather(data, rows, out=frame[1:-1])
        assert_same(frame[1:-1], data[rows])
        assert (frame[0] == dtype.type(7)).all()
        assert (frame[-1] == dtype.type(7)).all()
