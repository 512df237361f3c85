"""Sizes, products, offsets and byte counts beyond 32 bits, in arrays that take no memory.

A stride of 0 makes a size without bytes, and an empty axis makes every other size one.
"""

import mmap
import sys

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import sowreap as sr
from cases import INDEX_DTYPES

HUGE = [2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**62]
WIDE = [name for name in INDEX_DTYPES if name not in ("int8", "int16", "uint8", "uint16")]


def repeated(shape, value=7, dtype=np.uint8):
    return as_strided(np.asarray(value, dtype), shape, (0,) * len(shape))


def fits(value, dtype):
    return np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("n", HUGE)
def test_gather_at_the_ends_of_a_long_axis(n, dtype):
    data = repeated((n,))
    ends = [value for value in (0, n - 1, -1, -n, n // 2) if fits(value, dtype)]
    indices = np.array(ends, dtype)
    want = [7] * len(ends)
    assert sr.gather(data, indices).tolist() == want
    assert sr.gather_elements(data, indices).tolist() == want
    assert sr.gather_nd(data, indices[:, None]).tolist() == want
    for beyond in (n, -n - 1):
        if not fits(beyond, dtype):
            continue
        bad = np.array([*ends, beyond], dtype)
        for call in (
            lambda bad=bad: sr.gather(data, bad),
            lambda bad=bad: sr.gather_elements(data, bad),
            lambda bad=bad: sr.gather_nd(data, bad[:, None]),
        ):
            with pytest.raises(sr.OutOfRangeError, match=str(beyond)) as caught:
                call()
            assert (caught.value.value, caught.value.length) == (beyond, n)
            assert caught.value.position[0] == len(ends)


@pytest.mark.parametrize("n", HUGE[:-1])
def test_addresses_beyond_32_bits(n):
    """Two axes whose product is large: the offset of a cell is the sum of both."""
    column = np.arange(3, dtype=np.uint8)
    data = np.broadcast_to(column[:, None], (3, n))
    tuples = np.array([[0, n - 1], [2, 0], [1, -n], [-1, -1]])
    assert sr.gather_nd(data, tuples).tolist() == [0, 2, 1, 2]
    assert sr.gather_nd(data.T, tuples[:, ::-1]).tolist() == [0, 2, 1, 2]
    with pytest.raises(sr.OutOfRangeError, match=rf"component 1: {n} is not in"):
        sr.gather_nd(data, [[0, n - 1], [2, n]])


@pytest.mark.parametrize("n", HUGE)
def test_empty_results_of_huge_sizes(n):
    """Nothing is allocated, and the shape stays."""
    none, data = np.zeros((0,), int), repeated((1, n))
    assert sr.gather(data, none).shape == (0, n)
    assert sr.gather(data, none, axis=1).shape == (1, 0)
    assert sr.gather_nd(data, np.zeros((0, 1), int)).shape == (0, n)
    assert sr.gather_elements(repeated((1, n)), np.zeros((0, n), np.int8)).shape == (0, n)
    empty = np.zeros((n, 0), np.uint8)
    assert sr.gather(empty, [n - 1, -n]).shape == (2, 0)
    assert sr.gather(empty, [0], axis=0).shape == (1, 0)
    indices = np.zeros((n, 0), np.int8)
    for reduction in ("none", "add"):
        assert sr.scatter_elements(empty, indices, empty, reduction=reduction).shape == (n, 0)
        tuples, updates = np.array([[n - 1]]), np.zeros((1, 0), np.uint8)
        assert sr.scatter_nd(empty, tuples, updates, reduction).shape == (n, 0)
    with pytest.raises(sr.OutOfRangeError, match=str(n)):
        sr.gather(empty, [n])
    with pytest.raises(sr.OutOfRangeError, match=str(n)):
        sr.scatter_nd(empty, [[n]], np.zeros((1, 0), np.uint8))


@pytest.mark.parametrize("n", HUGE)
def test_tuples_over_huge_axes_of_an_empty_array(n):
    """The axes of an empty array reach further than 64 bits can count."""
    empty = np.zeros((1, n, 0), np.uint8)
    assert sr.gather_nd(empty, [[0, n - 1], [-1, -n]]).shape == (2, 0)
    updates = np.zeros((1, 0), np.uint8)
    assert sr.scatter_nd(empty, [[0, n - 1]], updates).shape == (1, n, 0)
    for bad in ([1, 0, 0], [0, n, 0], [0, 0, 0]):
        with pytest.raises(sr.OutOfRangeError, match="out of range"):
            sr.gather_nd(empty, [bad])
        with pytest.raises(sr.OutOfRangeError, match="out of range"):
            sr.scatter_nd(empty, [bad], np.zeros((1,), np.uint8))


@pytest.mark.parametrize("n", HUGE[:-1])
def test_more_bytes_than_64_bits_count(n):
    data, indices = repeated((4, 2**60)), repeated((n,), 0, np.int64)
    with pytest.raises(sr.ShapeError, match="64 bits"):
        sr.gather(data, indices)
    with pytest.raises(sr.ShapeError, match="64 bits"):
        sr.gather_nd(data, repeated((n, 1), 0, np.int64))


@pytest.mark.parametrize("n", HUGE[:-1])
def test_updates_that_do_not_match_a_huge_shape(n):
    data = np.zeros((3,), np.uint8)
    for shape in ((n,), (n + 1,), (n % 2**32,)):
        updates = repeated(shape, 1)
        with pytest.raises(sr.ShapeError, match="updates has shape"):
            sr.scatter_elements(data, [0, 1], updates)
        with pytest.raises(sr.ShapeError, match="updates has shape"):
            sr.scatter_nd(data, [[0], [1]], updates)


@pytest.mark.parametrize("n", HUGE)
def test_cache_without_bytes(n):
    cache, update = np.zeros((0, n), np.uint8), np.zeros((0, 2), np.uint8)
    assert sr.tensor_scatter(cache, update, np.zeros((0,), int), axis=1).shape == (0, n)
    cache, update = np.zeros((1, n, 0), np.uint8), np.zeros((1, 2, 0), np.uint8)
    for mode in ("linear", "circular"):
        got = sr.tensor_scatter(cache, update, [n - 2], axis=1, mode=mode)
        assert got.shape == (1, n, 0)
    with pytest.raises(sr.OutOfRangeError, match=str(n)):
        sr.tensor_scatter(cache, update, [n - 1], axis=1)
    assert sr.tensor_scatter(cache, update, [n - 1], axis=1, mode="circular").size == 0


@pytest.mark.parametrize("dtype", WIDE)
def test_indices_of_one_repeated_value(dtype):
    """Billions of indices are one value, and it is looked at once."""
    many = repeated((2**40, 0, 2), 1, dtype)
    assert sr.gather_nd(np.zeros((2, 2)), many).shape == (2**40, 0)
    data = np.zeros((2**40, 0))
    indices = repeated((2**40, 0), 1, dtype)
    assert sr.gather_elements(data, indices).shape == data.shape


@pytest.mark.skipif(sys.platform != "linux", reason="other systems promise memory that is not used")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cells_beyond_32_bits_that_lie_apart(dtype):
    """Pages that nobody writes take no memory. Enough indices for vectors and for prefetches."""
    length = 2**32 + 300
    not_reserved = 0x4000  # MAP_NORESERVE, which the module of Python 3.11 has no name for
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | not_reserved
    memory = mmap.mmap(-1, length * np.dtype(dtype).itemsize, flags=flags)
    data = np.frombuffer(memory, dtype)
    cells = np.r_[0:300, 2**32 : 2**32 + 300, 2**31 : 2**31 + 300]
    data[cells] = cells % 1000
    for indices in (cells, cells[:40], cells - length):
        want = data[indices]
        assert (sr.gather(data, indices) == want).all()
        assert (sr.gather_nd(data, indices[:, None]) == want).all()
        rows = np.stack([indices, indices[::-1]], 1)
        columns = data[:, None]
        got = sr.gather_elements(np.broadcast_to(columns, (length, 2)), rows, 0)
        assert (got == data[rows]).all()
