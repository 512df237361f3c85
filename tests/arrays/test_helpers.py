"""The functions that other libraries have by name."""

import ml_dtypes
import numpy as np
import pytest

import sowreap as sr
from cases import assert_same

REDUCE = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


def rng(seed=0):
    return np.random.default_rng(seed)


# --- index_add ----------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_index_add(axis):
    data = rng().normal(size=(3, 4, 5))
    indices = rng().integers(-3, 3, 7)
    shape = list(data.shape)
    shape[axis] = 7
    updates = rng(1).normal(size=shape)
    want = data.copy()
    np.add.at(np.moveaxis(want, axis, 0), indices, np.moveaxis(updates, axis, 0))
    np.testing.assert_allclose(sr.index_add(data, indices, updates, axis), want)
    assert sr.index_add(data, indices, updates, axis, out=data) is data
    np.testing.assert_allclose(data, want)


def test_index_add_of_lists():
    assert sr.index_add([0.0, 0.0], [1, 1], [2.0, 3.0]).tolist() == [0, 5]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([0.0], [[0]], [1.0]), sr.ShapeError, r"index_add: indices has shape \(1, 1\)"),
        (([0.0], [0.0], [1.0]), sr.DtypeError, "index_add: indices has dtype float64"),
        (([0.0], [0], [1.0, 2.0]), sr.ShapeError, r"index_add: updates has shape \(2,\)"),
        (([0.0], [0], [1.0], 5), sr.ShapeError, "axis 5"),
        (([0.0], [1], [1.0]), sr.OutOfRangeError, r"indices\[0\] = 1 is out of range"),
    ],
)
def test_index_add_refuses(arguments, error, words):
    with pytest.raises(error, match=words):
        sr.index_add(*arguments)


# --- along an axis ------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("ones", [(), (0,), (1,), (0, 2)])
def test_take_and_put_along_axis(axis, ones):
    data = rng().normal(size=(3, 4, 5))
    shape = [1 if d in ones else n for d, n in enumerate(data.shape)]
    shape[axis] = 2
    indices = rng().integers(-3, 3, shape)
    assert_same(
        sr.take_along_axis(data, indices, axis), np.take_along_axis(data, indices, axis).copy()
    )
    unique = np.broadcast_to(np.argsort(rng().random(3))[:2], (*shape[:axis], 2))
    if axis in (2, -1):
        ours, theirs = data.copy(), data.copy()
        values = rng(2).normal(size=(1, 1, 2))
        np.put_along_axis(theirs, np.broadcast_to(unique, shape), values, axis)
        assert sr.put_along_axis(ours, np.broadcast_to(unique, shape), values, axis) is ours
        assert_same(ours, theirs)


def test_take_along_axis_broadcasts_data():
    data, indices = np.arange(3)[None, :], np.array([[0, 1], [2, -1]])
    assert sr.take_along_axis(data, indices).tolist() == [[0, 1], [2, 2]]


def test_put_along_axis_of_scalars():
    data = np.zeros((2, 3), np.int8)
    sr.put_along_axis(data, np.array([[1], [2]]), 5)
    assert data.tolist() == [[0, 5, 0], [0, 0, 5]]


def test_put_along_axis_that_fails_changes_nothing():
    data = np.zeros((2, 3))
    with pytest.raises(sr.OutOfRangeError):
        sr.put_along_axis(data, np.array([[1], [3]]), 5.0)
    assert data.tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("name", ["take_along_axis", "put_along_axis"])
@pytest.mark.parametrize(
    ("indices", "axis", "error", "words"),
    [
        (np.zeros(2, int), 0, sr.ShapeError, "ranks must be equal"),
        (np.zeros((1, 1), int), 2, sr.ArgumentError, "axis = 2"),
        (np.zeros((1, 1), int), None, sr.DtypeError, "axis must be an integer"),
        (np.zeros((3, 1), int), 1, sr.ShapeError, "does not broadcast"),
        (np.zeros((1, 1)), 1, sr.DtypeError, "integer dtype"),
        (np.full((1, 1), 7), 1, sr.OutOfRangeError, "= 7 is out of range"),
    ],
)
def test_along_axis_refuses(name, indices, axis, error, words):
    more = (1.0,) if name == "put_along_axis" else ()
    with pytest.raises(error, match=words):
        getattr(sr, name)(np.zeros((2, 4)), indices, *more, axis)


# --- segments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sorted", "unsorted"])
@pytest.mark.parametrize("name", REDUCE)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "bool", "bfloat16"])
def test_segments(name, kind, dtype):
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    rows = rng().integers(0, 3, (40, 2)).astype(dtype)
    ids = rng().integers(0, 6, 40)
    ids[ids == 4] = 5  # one segment without rows
    if kind == "sorted":
        ids = np.sort(ids)
    got = getattr(sr, f"segment_{name}")(rows, ids, 8)
    assert (got.shape, got.dtype) == ((8, 2), dtype)
    for segment in set(ids.tolist()):
        want = rows[ids == segment][0]
        for row in rows[ids == segment][1:]:
            want = REDUCE[name](want, row)
        assert got[segment].tolist() == want.tolist()
    empty = got[4].tolist()
    if name in ("sum", "prod"):
        assert empty == [name == "prod"] * 2
    else:
        assert (REDUCE[name](rows, got[4]) == rows).all()


def test_mean_of_segments():
    rows, ids = rng().normal(size=(40, 2)), rng().integers(0, 6, 40)
    want = [rows[ids == s].mean(0) if (ids == s).any() else [0, 0] for s in range(8)]
    np.testing.assert_allclose(sr.segment_mean(rows, ids, 8), want)
    assert sr.segment_mean([-3, 0, 5], [0, 0, 2]).tolist() == [-2, 0, 5]
    half = sr.segment_mean(np.array([1, 2], np.float16), [0, 0])
    assert (half.dtype, half.tolist()) == (np.float16, [1.5])


def test_segments_of_nothing():
    assert sr.segment_sum(np.zeros((0, 3)), np.zeros(0, int)).shape == (0, 3)
    assert sr.segment_max(np.zeros((0, 3)), np.zeros(0, int), 2).tolist() == [[-np.inf] * 3] * 2
    assert sr.bincount([]).tolist() == []
    assert sr.bincount([], minlength=2).tolist() == [0, 0]
    assert sr.scatter_argmax(np.zeros(0), np.zeros(0, int), size=2).tolist() == [0, 0]


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean"])
@pytest.mark.parametrize(
    ("rows", "ids", "count", "error", "words"),
    [
        ([1.0, 2.0], [0], None, sr.ShapeError, "has length 1"),
        ([1.0], [[0]], None, sr.ShapeError, "one axis is needed"),
        ([1.0], [0.5], None, sr.DtypeError, "segment_ids has dtype float64"),
        ([1.0, 2.0], [0, -1], None, sr.OutOfRangeError, r"segment_ids\[1\] = -1 is negative"),
        ([1.0, 2.0], [0, 3], 3, sr.OutOfRangeError, r"segment_ids\[1\] = 3 .*num_segments = 3"),
        ([1.0], [0], -1, sr.ArgumentError, "num_segments = -1"),
        ([1.0], [0], 1.5, sr.DtypeError, "num_segments must be an integer"),
        (1.0, [0], None, sr.ShapeError, r"data has shape \(\)"),
    ],
)
def test_segments_refuse(name, rows, ids, count, error, words):
    with pytest.raises(error, match=f"^segment_{name}: .*{words}"):
        getattr(sr, f"segment_{name}")(rows, ids, count)


def test_no_order_and_no_mean():
    with pytest.raises(sr.DtypeError, match="complex128"):
        sr.segment_max(np.zeros(2, complex), [0, 1])
    with pytest.raises(sr.DtypeError, match="bool"):
        sr.segment_mean(np.zeros(2, bool), [0, 1])


# --- bincount -----------------------------------------------------------------------------------


@pytest.mark.parametrize("minlength", [0, 3, 50])
def test_bincount(minlength):
    values, weights = rng().integers(0, 20, 100), rng(1).normal(size=100)
    assert_same(sr.bincount(values, minlength=minlength), np.bincount(values, None, minlength))
    want = np.bincount(values, weights, minlength)
    np.testing.assert_allclose(sr.bincount(values, weights, minlength), want)
    rows = np.stack([weights, -weights], 1)
    np.testing.assert_allclose(sr.bincount(values, rows, minlength)[:, 1], -want)


def test_bincount_refuses():
    with pytest.raises(sr.OutOfRangeError, match=r"bincount: indices\[1\] = -2 is negative"):
        sr.bincount([0, -2])
    with pytest.raises(sr.ShapeError, match="bincount: weights has shape"):
        sr.bincount([0, 1], [1.0])
    with pytest.raises(sr.ArgumentError, match="bincount: minlength = -1"):
        sr.bincount([0], minlength=-1)


# --- scatter_argmax -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["float64", "int8", "bool", "float16"])
def test_argument(name, axis, dtype):
    updates = rng().integers(-3, 3, (6, 7)).astype(dtype)
    indices = rng().integers(0, 4, (6, 7))
    got = getattr(sr, f"scatter_{name}")(updates, indices, axis, 5)
    lanes = np.moveaxis(updates, axis, -1), np.moveaxis(indices, axis, -1)
    for lane, (row, places) in enumerate(zip(*lanes, strict=True)):
        found = np.moveaxis(got, axis, -1)[lane]
        for place in range(5):
            there = np.flatnonzero(places == place)
            want = there[getattr(np, name)(row[there])] if there.size else len(row)
            assert found[place] == want


def test_argument_of_slices_and_nan():
    updates = np.array([[1.0, np.nan], [np.nan, np.nan], [5.0, 0.0]])
    for name in ("argmax", "argmin"):
        got = getattr(sr, f"scatter_{name}")(updates, [1, 1, 0])
        assert got.tolist() == [[2, 2], [1, 0]]
    with pytest.raises(sr.OutOfRangeError):
        sr.gather(updates, sr.scatter_argmax(updates[:, 0], [0, 0, 2]))


def test_argument_refuses():
    with pytest.raises(sr.OutOfRangeError, match=r"scatter_argmax: indices\[1\] = -1"):
        sr.scatter_argmax([1.0, 2.0], [0, -1])
    with pytest.raises(sr.OutOfRangeError, match=r"scatter_argmin: indices\[0\] = 2 .*size = 2"):
        sr.scatter_argmin([1.0, 2.0], [2, 0], size=2)
    with pytest.raises(sr.ShapeError, match="scatter_argmax"):
        sr.scatter_argmax(np.zeros((2, 3)), [0, 1, 2])


# --- kinds --------------------------------------------------------------------------------------


def test_tensors():
    torch = pytest.importorskip("torch", reason="the extra torch is large, and optional")
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]], dtype=torch.bfloat16)
    ids = torch.tensor([1, 1, 0])
    for name in ("sum", "prod", "min", "max", "mean"):
        got = getattr(sr, f"segment_{name}")(rows, ids)
        assert (type(got), got.dtype) == (torch.Tensor, torch.bfloat16)
    assert sr.segment_mean(rows, ids).tolist() == [[5, 0], [2, 3]]
    assert torch.equal(sr.bincount(ids), torch.bincount(ids))
    assert torch.equal(sr.index_add(rows, ids, rows), rows.index_add(0, ids, rows))
    assert torch.equal(sr.scatter_argmax(rows, ids), torch.tensor([[2, 2], [1, 1]]))
    picks = ids[:, None]
    assert torch.equal(sr.take_along_axis(rows, picks), torch.take_along_dim(rows, picks, 1))
    assert sr.put_along_axis(rows, picks, 9) is rows
    assert rows.tolist() == [[1, 9], [3, 9], [9, 0]]
    assert isinstance(sr.segment_sum(np.ones(3), ids), np.ndarray)


def test_jax():
    jax = pytest.importorskip("jax", reason="JAX has no wheels for every platform and Python")
    data = jax.numpy.zeros((2, 3))
    got = sr.put_along_axis(data, np.array([[1], [2]]), 5.0)
    assert isinstance(got, jax.Array)
    assert (got.tolist(), data.tolist()) == ([[0, 5, 0], [0, 0, 5]], [[0, 0, 0]] * 2)
    torch = pytest.importorskip("torch", reason="the extra torch is large, and optional")
    with pytest.raises(sr.DtypeError, match="segment_sum: segment_ids is an array of torch"):
        sr.segment_sum(data, torch.tensor([0, 1]))
