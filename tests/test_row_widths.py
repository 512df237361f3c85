"""Rows of every width from one item to more than a block: moved and combined, beside a loop."""

import ml_dtypes
import numpy as np
import pytest

import sowreap as sr

WIDTHS = (*range(1, 36), 47, 48, 49, 63, 64, 65, 127, 128, 129, 200, 513)
DTYPES = [
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
]
CELLS, PICKS = 5, 24  # each cell is met many times, now and then twice in a row


def draw(rng, shape, dtype):
    """Small numbers, zeros of both signs and, for floats, NaN and infinities."""
    values = rng.integers(-3, 4, shape).astype(dtype)
    if np.dtype(dtype).kind not in "iu":
        values[rng.random(shape) < 0.1] *= dtype(-1)
        values[rng.random(shape) < 0.05] = np.nan
        values[rng.random(shape) < 0.05] = np.inf
    return values


def combine(reduction, old, new):
    """One update after the other: of equal extremes the first stays, a NaN stays or replaces."""
    if reduction == "none":
        return new
    if reduction == "add":
        return old + new
    if reduction == "mul":
        return old * new
    better = new < old if reduction == "min" else new > old
    return np.where(better | (new != new), new, old)


def assert_same(found, wanted):
    """Equal values, signs of zeros too; NaN where NaN is."""
    kind = np.dtype(found.dtype).kind
    if kind == "c":
        found, wanted = (a.view(a.real.dtype) for a in (found, wanted))
    np.testing.assert_array_equal(found.astype(np.float64), wanted.astype(np.float64))
    if kind not in "iu":
        numbers = ~np.isnan(wanted.astype(np.float64))
        np.testing.assert_array_equal(
            np.signbit(found.astype(np.float64))[numbers],
            np.signbit(wanted.astype(np.float64))[numbers],
        )


def inputs(dtype, width):
    rng = np.random.default_rng(width)
    data, updates = draw(rng, (CELLS, width), dtype), draw(rng, (PICKS, width), dtype)
    return data, rng.integers(-CELLS, CELLS, PICKS), updates


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_scattered_rows(dtype, reduction):
    if np.dtype(dtype).kind == "c" and reduction in ("min", "max"):
        data, rows, updates = inputs(dtype, 3)
        with pytest.raises(sr.DtypeError):
            sr.scatter_nd(data, rows[:, None], updates, reduction)
        return
    for width in WIDTHS:
        data, rows, updates = inputs(dtype, width)
        if reduction == "mul" and np.dtype(dtype).kind == "c":
            updates = np.nan_to_num(updates, posinf=2, neginf=2)  # NumPy has its own rule there
            data = np.nan_to_num(data, posinf=2, neginf=2)
        wanted = data.copy()
        for row, update in zip(rows, updates, strict=True):
            wanted[row] = combine(reduction, wanted[row], update).astype(dtype)
        assert_same(sr.scatter_nd(data, rows[:, None], updates, reduction), wanted)
        sr.scatter_nd(data, rows[:, None], updates, reduction, out=data)
        assert_same(data, wanted)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("offset", [0, 1])
def test_gathered_rows_and_nothing_beside_them(dtype, offset):
    for width in WIDTHS:
        data, rows, _ = inputs(dtype, width + offset)
        data = data[:, offset:]
        frame = np.full((PICKS + 2, width), 7, dtype)
        sr.gather(data, rows, out=frame[1:-1])
        assert_same(frame[1:-1], data[rows])
        assert (frame[0] == 7).all()
        assert (frame[-1] == 7).all()
