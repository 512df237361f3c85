"""Outputs too large for the caches are written past them, in whole lines where there are any.

What differs is where a row begins in its cache line and how long it is, so outputs lie between
guards, at any offset.
"""

import numpy as np
import pytest

import sowreap as sr

BYTES = 33 << 20  # a little more than the size from which outputs are streamed
GUARD = 64
DTYPES = ("uint8", "int16", "float32", "float64", "complex128")


@pytest.fixture(params=(1, 2))
def threads(request):
    sr.set_num_threads(request.param)


def items(shape, dtype, seed=0):
    values = np.random.default_rng(seed).integers(0, 100, shape)
    return values.astype(dtype)


def guarded(shape, dtype, offset):
    """An array `offset` bytes behind a cache line, and a check that all around it is as it was."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.full(size + 4 * GUARD, 0xA5, np.uint8)
    begin = GUARD + -memory.ctypes.data % GUARD + offset
    array = memory[begin : begin + size].view(dtype).reshape(shape)

    def untouched_around():
        return bool((memory[:begin] == 0xA5).all() and (memory[begin + size :] == 0xA5).all())

    return array, untouched_around


def check(run, want, offset=16):
    """Into a new array and into one given, which must be long enough to be streamed."""
    assert want.nbytes >= 32 << 20
    np.testing.assert_array_equal(run(None), want)
    out, untouched_around = guarded(want.shape, want.dtype, offset)
    assert run(out) is out
    np.testing.assert_array_equal(out, want)
    assert untouched_around()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.usefixtures("threads")
def test_single_items(dtype):
    count = BYTES // np.dtype(dtype).itemsize
    data, indices = items(5000, dtype), items(count, np.int32, 1) - 50
    check(lambda out: sr.gather(data, indices, out=out), data[indices])


@pytest.mark.parametrize(
    ("row", "offset"),
    [(3, 16), (16, 0), (16, 16), (64, 16), (65, 4), (300, 4), (1000, 0), (1000, 4)],
)
def test_rows_of_any_length(row, offset):
    data, indices = items((200, row), np.float32), items(BYTES // 4 // row + 1, np.int64, 1)
    check(lambda out: sr.gather(data, indices, out=out), data[indices], offset)


@pytest.mark.parametrize(
    ("dtype", "offset"),
    [
        ("uint8", 16),
        ("int16", 2),
        ("float32", 0),
        ("float32", 16),
        ("float64", 48),
        ("complex128", 8),
    ],
)
def test_elements_of_packed_columns(dtype, offset):
    width = np.dtype(dtype).itemsize
    data = items((2048, BYTES // 2048 // width), dtype)
    indices = np.random.default_rng(1).integers(-2048, 2048, data.shape)
    want = np.take_along_axis(data, indices, 0)
    check(lambda out: sr.gather_elements(data, indices, 0, out=out), want, offset)


@pytest.mark.parametrize("columns", [1, 3, 16, 40])
def test_elements_of_a_tall_axis(columns):
    data = items((BYTES // 4 // columns, columns), np.float32)
    indices = np.random.default_rng(1).integers(0, len(data), data.shape)
    want = np.take_along_axis(data, indices, 0)
    check(lambda out: sr.gather_elements(data, indices, 0, out=out), want)


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reduction", ["none", "add"])
def test_scattered_elements(dtype, axis, reduction):
    """Indices are permutations along the axis, so that NumPy has one value to assign to a cell."""
    width = np.dtype(dtype).itemsize
    data = items((2048, BYTES // 2048 // width), dtype)
    cells, lanes = data.shape[axis], data.shape[1 - axis]
    rng = np.random.default_rng(1)
    along, shift = rng.permutation(cells), rng.integers(0, cells, (lanes, 1))
    indices = (along + shift) % cells
    indices = np.ascontiguousarray(indices if axis else indices.T)
    updates = items(data.shape, dtype, 2)
    want = data.copy()
    kept = np.take_along_axis(data, indices, axis) if reduction == "add" else 0
    np.put_along_axis(want, indices, (kept + updates).astype(dtype), axis)
    check(
        lambda out: sr.scatter_elements(data, indices, updates, axis, reduction, out=out), want, 4
    )


@pytest.mark.parametrize("mode", ["clip", "wrap", "fill"])
def test_modes(mode):
    data = items((2048, 4200), np.float32)
    indices = np.random.default_rng(1).integers(-3000, 3000, data.shape)
    indices[7] = indices[8] = 5000  # rows of which no item is there
    found = indices.clip(0, 2047) if mode == "clip" else indices % 2048
    want = np.take_along_axis(data, found, 0)
    if mode == "fill":
        want[(indices < -2048) | (indices >= 2048)] = 7
    given = {"mode": mode, "fill_value": 7} if mode == "fill" else {"mode": mode}
    check(lambda out: sr.gather_elements(data, indices, 0, out=out, **given), want)


def test_an_output_with_gaps_is_left_alone_between_them():
    out = np.full((2, BYTES // 4), 5, np.float32).T
    data, indices = items(100, np.float32), items(len(out), np.int64, 1)
    sr.gather(data, indices, out=out[:, 0])
    np.testing.assert_array_equal(out[:, 0], data[indices])
    assert (out[:, 1] == 5).all()


def test_a_bad_index_at_the_end_changes_nothing():
    data, out = items((2048, 4200), np.float32), np.full((2048, 4200), 5, np.float32)
    indices = np.zeros(data.shape, np.int64)
    indices[-1, -1] = 2048
    for run in (
        lambda: sr.gather_elements(data, indices, 0, out=out),
        lambda: sr.scatter_elements(data, indices, data, 0, out=out),
        lambda: sr.scatter_elements(data.T, indices.T, data.T, 1, "add", out=out.T),
    ):
        with pytest.raises(IndexError, match=r"indices\["):
            run()
        assert (out == 5).all()
