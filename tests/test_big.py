"""More than 2^31 items in one axis and in one array, and more than 2^33 bytes, all with memory.

What a call only looks at here and there is a sparse file, which takes what was written alone.
"""

import os
import sys

import numpy as np
import pytest

import sowreap as sr
from cases import memory_available
from measure import RESIDENT_NOISE, resident_extra, status

ITEMS = 2**31 + 2**20 + 3
BYTES = 2**33 + 2**20 + 3
PERIOD = 251  # prime: an offset that is off by a power of two shows

pytestmark = [
    # minutes on a small machine, so only on request
    pytest.mark.skipif(
        os.environ.get("SOWREAP_TEST_BIG") != "1",
        reason="takes gigabytes of memory; set SOWREAP_TEST_BIG=1 to run it",
    ),
    pytest.mark.skipif(memory_available() < 5 << 30, reason="needs 5 GB of memory"),
    pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it"),
]


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request):
    sr.set_num_threads(request.param)


@pytest.fixture
def sparse(tmp_path):
    """Make arrays of zeros in files without bytes."""
    paths = []

    def make(shape, dtype):
        paths.append(tmp_path / f"{len(paths)}")
        return np.memmap(paths[-1], dtype, "w+", shape=shape)

    yield make
    for path in paths:
        path.unlink()


def positions(length, count=100_000):
    """Distinct ones, the ends and the neighbours of powers of two among them."""
    drawn = np.random.default_rng(0).integers(0, length, count)
    chosen = [0, length - 1, *(2**n + d for n in (31, 32) for d in (-1, 0, 1))]
    return np.unique([*drawn, *(p for p in chosen if p < length)])


def are_equal(a, b, at_once=2**26):
    pieces = (slice(begin, begin + at_once) for begin in range(0, ITEMS, at_once))
    return len(a) == len(b) and all(np.array_equal(a[piece], b[piece]) for piece in pieces)


def without_memory(call):
    """Return the result of a call that takes no memory beside it, or none where it is in a file."""
    results = []

    def run():
        results.append(call())
        return 0 if isinstance(results[0], np.memmap) else results[0]

    extra = resident_extra(run)
    print(f"{extra >> 20} MB beside the result; peak {status('VmHWM') >> 20} MB")
    assert extra < 8 * RESIDENT_NOISE
    return results[0]


def period_of(places):
    return (places % PERIOD).astype(np.uint8)


def test_long_indices(sparse, threads):
    indices, marks = sparse((ITEMS,), np.uint8), positions(ITEMS, 1000)
    indices[marks] = 200
    result = sr.gather(np.arange(7, 251, dtype=np.uint8), indices)
    assert result.shape == (ITEMS,)
    assert (result[marks] == 207).all()
    result[marks] = 7
    assert are_equal(result, np.broadcast_to(np.uint8(7), (ITEMS,)))


@pytest.mark.parametrize("reduction", ["none", "add", "mean"])
def test_more_updates_than_32_bits_count(reduction, threads):
    """The mean of k ones and of what is there, k more than 2^32, is 7."""
    count = 2**32 + 5
    first = 7 * (count + 1) - count
    indices, updates = np.broadcast_to(1, (count, 1)), np.broadcast_to(1, (count,))
    want = {"none": 1, "add": first + count, "mean": 7}[reduction]
    data = np.array([0, first, 0])
    result = without_memory(lambda: sr.scatter_nd(data, indices, updates, reduction))
    assert result.tolist() == [0, want, 0]


def test_long_updates_and_indices(sparse, threads):
    indices, marks = sparse((ITEMS, 1), np.uint8), positions(ITEMS, 1000)
    indices[marks] = 2
    ones = np.broadcast_to(1, (ITEMS,))
    result = sr.scatter_nd(np.zeros(4, int), indices, ones, "add")
    assert result.tolist() == [ITEMS - len(marks), 0, len(marks), 0]
    indices[-1] = 4
    with pytest.raises(sr.OutOfRangeError, match=rf"indices\[{ITEMS - 1}\] = \[4\]"):
        sr.scatter_nd(np.zeros(4, int), indices, ones, "add")


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_gigabytes_in_one_axis(sparse, threads, dtype):
    data = sparse((BYTES // np.dtype(dtype).itemsize,), dtype)
    places = positions(len(data), 500)
    values = (places % PERIOD + 1).astype(dtype)
    without_memory(lambda: sr.scatter_nd(data, places[:, None], values, out=data))
    assert (data[places] == values).all()
    assert (sr.gather(data, places) == values).all()
    assert (sr.gather_elements(data, places - len(data)) == values).all()
    assert (sr.gather_nd(data, places[:, None]) == values).all()
    sr.scatter_elements(data, places, values, reduction="add", out=data)
    assert (data[places] == (values + values).astype(dtype)).all()
    assert (data[np.setdiff1d(places + 1, [*places, len(data)])] == 0).all()


def test_gigabytes_in_rows(sparse, threads):
    """Slices, columns and caches whose offsets pass 2^33."""
    data = sparse((2**17 + 9, 2**16), np.uint8)
    last, width = len(data) - 1, data.shape[1]
    rows = np.array([last, 0, 2**16, 2**15 - 1, last - 3])
    updates = (np.arange(5)[:, None] + np.arange(width) % PERIOD).astype(np.uint8)
    sr.scatter_nd(data, rows[:, None], updates, out=data)
    assert np.array_equal(sr.gather(data, rows), updates)
    index = np.broadcast_to(rows[:, None], updates.shape)
    assert np.array_equal(sr.gather_elements(data, index), updates)
    mixed = rows[(np.arange(width) + np.arange(5)[:, None]) % 5]
    got = without_memory(lambda: sr.gather_elements(data, mixed))
    assert np.array_equal(got, np.asarray(data)[mixed, np.arange(width)])
    tuples = np.stack([rows, [width - 1, 0, 5, width - 2, 1]], axis=1)
    assert np.array_equal(sr.gather_nd(data, tuples), np.asarray(data)[tuple(tuples.T)])
    cache = data.reshape(1, *data.shape)
    sr.tensor_scatter(cache, updates[None, :2] + 1, [last - 1], axis=1, out=cache)
    assert np.array_equal(data[last - 1 :], updates[:2] + 1)


# From here on with an array of two gigabytes.


@pytest.fixture(scope="module")
def long_array():
    """Each byte is its position modulo the period."""
    data = np.empty(-(-ITEMS // PERIOD) * PERIOD, np.uint8)
    data.reshape(-1, PERIOD)[...] = np.arange(PERIOD, dtype=np.uint8)
    return data[:ITEMS]


def test_gather_from_a_long_axis(long_array, threads):
    places = positions(ITEMS)
    for indices in (places, places - ITEMS, places.astype(np.uint32)):
        for call in (
            lambda i=indices: sr.gather(long_array, i),
            lambda i=indices: sr.gather_elements(long_array, i),
            lambda i=indices: sr.gather_nd(long_array, i[:, None]),
        ):
            assert (without_memory(call) == period_of(places)).all()
    for beyond in (ITEMS, -ITEMS - 1):
        with pytest.raises(sr.OutOfRangeError, match=f"{beyond} is out of range"):
            sr.gather(long_array, np.append(places, beyond))


def test_result_of_a_long_axis(long_array, threads):
    rows = np.broadcast_to(np.arange(PERIOD, dtype=np.uint8), (ITEMS // PERIOD, PERIOD))
    result = without_memory(lambda: sr.gather(np.arange(PERIOD, dtype=np.uint8), rows))
    assert are_equal(result.reshape(-1), long_array[: result.size])


def test_scatter_along_a_long_axis(long_array, threads):
    places = positions(ITEMS)
    updates = 255 - period_of(places)
    result = without_memory(lambda: sr.scatter_elements(long_array, places, updates))
    assert (result[places] == updates).all()
    result[places] = period_of(places)
    assert are_equal(result, long_array)
    added = sr.scatter_nd(result, places[:, None], updates, "add", out=result)
    assert added is result
    assert (result[places] == 255).all()
    result[places] = period_of(places)
    assert are_equal(result, long_array)
    with pytest.raises(sr.OutOfRangeError, match=f"{ITEMS}"):
        sr.scatter_elements(result, [0, ITEMS], np.full(2, 9, np.uint8), out=result)
    assert result[0] == 0
