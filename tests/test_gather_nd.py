"""sowreap.gather_nd: examples, edges, errors, out."""

import numpy as np
import pytest

import sowreap as sr
from cases import DTYPES, as_dtype, assert_same, random_values

FOUR = [[0, 1], [2, 3]]
EIGHT = [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
EXAMPLES = [  # the five of the ONNX operator text
    (FOUR, [[0, 0], [1, 1]], 0, [0, 3]),
    (FOUR, [[1], [0]], 0, [[2, 3], [0, 1]]),
    (EIGHT, [[0, 1], [1, 0]], 0, [[2, 3], [4, 5]]),
    (EIGHT, [[[0, 1]], [[1, 0]]], 0, [[[2, 3]], [[4, 5]]]),
    (EIGHT, [[1], [0]], 1, [[2, 3], [4, 5]]),
]


@pytest.mark.parametrize(("data", "indices", "batch_dims", "want"), EXAMPLES)
def test_published_example(data, indices, batch_dims, want):
    data = np.array(data, np.int32)
    assert_same(sr.gather_nd(data, np.array(indices), batch_dims), np.array(want, np.int32))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_agrees_with_advanced_indexing(name, depth):
    rng = np.random.default_rng(1)
    data = random_values(rng, as_dtype(name), (3, 4, 5))
    indices = rng.integers(-3, 3, (2, 6, depth))
    assert_same(sr.gather_nd(data, indices), data[tuple(np.moveaxis(indices, -1, 0))])


def test_tuple_of_length_0_addresses_all_of_data():
    data = np.arange(6).reshape(2, 3)
    result = sr.gather_nd(data, np.zeros((4, 0), np.int64))
    assert_same(result, np.broadcast_to(data, (4, 2, 3)))


def test_tuple_of_length_0_in_a_batch_addresses_its_row():
    data = np.arange(6).reshape(2, 3)
    assert_same(sr.gather_nd(data, np.zeros((2, 1, 0), int), 1), data[:, None])


def test_several_batch_axes():
    data = np.arange(12).reshape(1, 2, 2, 3)
    indices = np.array([1, 0, 2, -1]).reshape(1, 2, 2, 1)
    assert_same(sr.gather_nd(data, indices, 3), np.array([[[1, 3], [8, 11]]]))


@pytest.mark.parametrize(
    ("shape", "indices_shape", "batch_dims", "want"),
    [
        ((0, 4), (0, 1), 0, (0, 4)),
        ((2, 0, 3), (5, 1), 0, (5, 0, 3)),
        ((0, 4), (0, 3, 1), 1, (0, 3)),
        ((2, 3), (0, 2), 0, (0,)),
    ],
)
def test_empty_keeps_its_shape(shape, indices_shape, batch_dims, want):
    data, indices = np.zeros(shape, np.float32), np.zeros(indices_shape, np.int64)
    assert_same(sr.gather_nd(data, indices, batch_dims), np.zeros(want, np.float32))


def test_index_into_axis_of_length_0():
    with pytest.raises(sr.OutOfRangeError, match=r"gather_nd: indices\[0.* axis 0"):
        sr.gather_nd(np.zeros((0, 4)), np.array([[0]]))


def test_coordinates_are_checked_one_by_one():
    """[0, 4] lies inside the buffer, but not inside axis 1."""
    with pytest.raises(sr.OutOfRangeError, match=r"gather_nd: .*\b4\b.*\[-3, 2\].*axis 1"):
        sr.gather_nd(np.zeros((2, 3)), np.array([[0, 4]]))


def test_first_bad_index_in_row_major_order():
    indices = np.array([[[0, 1], [2, -9]], [[-7, 0], [0, 0]]])
    with pytest.raises(sr.OutOfRangeError) as caught:
        sr.gather_nd(np.zeros((4, 6, 2)), np.asfortranarray(indices))
    error = caught.value
    assert (error.operator, error.argument) == ("gather_nd", "indices")
    assert (error.position, error.value, error.axis, error.length) == ((0, 1, 1), -9, 1, 6)
    for part in ("indices[0, 1", "-9", "[-6, 5]", "axis 1", "(4, 6, 2)", "(2, 2, 2)"):
        assert part in str(error)


def test_axis_of_a_bad_index_counts_batch_axes():
    with pytest.raises(sr.OutOfRangeError) as caught:
        sr.gather_nd(np.zeros((2, 3, 4)), np.array([[0], [5]]), batch_dims=1)
    assert (caught.value.axis, caught.value.length, caught.value.value) == (1, 3, 5)


@pytest.mark.parametrize(
    ("shape", "indices_shape", "batch_dims", "text"),
    [
        ((), (1,), 0, "gather_nd: data is a scalar"),
        ((2,), (), 0, "gather_nd: indices is a scalar"),
        ((2,), (1, 3), 0, r"gather_nd: index tuples have length 3 .*\(2,\)"),
        ((2, 3), (2, 2), 1, r"gather_nd: index tuples have length 2 .*\(2, 3\)"),
        ((2, 3), (3, 1), 1, r"gather_nd: indices has size 3 in batch dimension 0 but data has 2"),
        ((2, 3), (1, 1), 1, r"gather_nd: indices has size 1 in batch dimension 0 but data has 2"),
    ],
)
def test_shapes_that_do_not_fit(shape, indices_shape, batch_dims, text):
    with pytest.raises(sr.ShapeError, match=text):
        sr.gather_nd(np.zeros(shape), np.zeros(indices_shape, int), batch_dims)


@pytest.mark.parametrize("batch_dims", [-1, 2, 3])
def test_batch_dims_out_of_range(batch_dims):
    with pytest.raises(sr.ArgumentError, match=f"gather_nd: batch_dims.*{batch_dims}"):
        sr.gather_nd(np.zeros((2, 2, 2)), np.zeros((2, 2), int), batch_dims)


def test_out_receives_the_result():
    data = np.arange(12.0).reshape(3, 4)
    out = np.full((2,), 9.0)
    assert sr.gather_nd(data, np.array([[2, -3], [0, 1]]), out=out) is out
    assert_same(out, np.array([9.0, 1.0]))
