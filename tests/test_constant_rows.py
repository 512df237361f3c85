"""Rows of indices that are constant, as a graph network expands them, are done as one run each."""

import numpy as np
import pytest

import sowreap as sr
from sowreap import _reference

ROWS, CELLS = 300, 40


def stored(width, dtype, odd=()):
    """Constant rows, but for one item of those in `odd`."""
    rng = np.random.default_rng(width)
    indices = np.repeat(rng.integers(0, CELLS, (ROWS, 1)), width, 1)
    for row in odd:
        indices[row, rng.integers(0, width)] = rng.integers(0, CELLS)
    return indices.astype(dtype)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("odd", [(), (0,), (1, 2), (ROWS - 1,), range(0, ROWS, 7)])
@pytest.mark.parametrize("width", [3, 4, 17, 64])
def test_odd_rows_among_them(width, odd, dtype):
    indices = stored(width, dtype, odd)
    rng = np.random.default_rng(0)
    data, updates = rng.random((CELLS, width)), rng.random((ROWS, width))
    np.testing.assert_array_equal(
        sr.gather_elements(data, indices, 0), np.take_along_axis(data, indices.astype(int), 0)
    )
    for reduction in ("none", "add", "max"):
        got = sr.scatter_elements(data, indices, updates, 0, reduction)
        want = _reference.scatter_elements(data, indices, updates, 0, reduction)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("row", [0, 1, 150, ROWS - 1])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill", "drop"])
def test_a_row_that_is_out_of_range(mode, row):
    indices = stored(8, np.int64)
    indices[row] = CELLS + 3
    data, updates = np.arange(CELLS * 8.0).reshape(CELLS, 8), np.ones((ROWS, 8))
    gather = {"mode": mode} if mode != "drop" else None
    if mode == "fill":
        gather = {"mode": mode, "fill_value": np.nan}
    scatter = {"mode": mode} if mode != "fill" else None
    if mode == "raise":
        with pytest.raises(IndexError, match=rf"indices\[{row}, 0\] = {CELLS + 3}"):
            sr.gather_elements(data, indices, 0)
        with pytest.raises(IndexError, match=rf"indices\[{row}, 0\] = {CELLS + 3}"):
            sr.scatter_elements(data, indices, updates, 0, "add")
        return
    there = {"wrap": 3, "clip": CELLS - 1}.get(mode)
    good = indices.copy()
    good[row] = 0 if there is None else there
    if gather:
        want = np.take_along_axis(data, good, 0)
        if there is None:
            want[row] = np.nan
        np.testing.assert_array_equal(sr.gather_elements(data, indices, 0, **gather), want)
    if scatter:
        given = updates.copy()
        given[row] = 0 if there is None else 1
        np.testing.assert_array_equal(
            sr.scatter_elements(data, indices, updates, 0, "add", **scatter),
            _reference.scatter_elements(data, good, given, 0, "add"),
        )


@pytest.mark.parametrize("row", [0, 2500, 2999])
def test_a_row_that_is_out_of_range_leaves_out_as_it_was(row):
    indices = np.repeat(np.arange(3000)[:, None] % CELLS, 8, 1)
    indices[row] = CELLS
    data, out = np.ones((CELLS, 8)), np.ones((3000, 8))
    for call in (
        lambda: sr.scatter_elements(data, indices, 2 * out, 0, "add", out=data),
        lambda: sr.gather_elements(data + 1, indices, 0, out=out),
    ):
        with pytest.raises(IndexError, match=rf"indices\[{row}, 0\] = {CELLS} "):
            call()
    assert (data == 1).all()
    assert (out == 1).all()


@pytest.mark.parametrize("width", [1024, 1500, 2100])
def test_rows_wider_than_a_block(width):
    indices = stored(width, np.int64, (5,))
    data = np.random.default_rng(0).random((CELLS, width))
    np.testing.assert_array_equal(
        sr.gather_elements(data, indices, 0), np.take_along_axis(data, indices, 0)
    )


def test_columns_that_are_not_contiguous():
    indices = stored(12, np.int64, (3,))
    data = np.random.default_rng(0).random((12, CELLS)).T
    np.testing.assert_array_equal(
        sr.gather_elements(data, indices, 0), np.take_along_axis(data, indices, 0)
    )
