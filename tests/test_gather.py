"""sowreap.gather: examples, edges, errors, out."""

import numpy as np
import pytest

import sowreap as sr
from cases import DTYPES, as_dtype, assert_same, random_values

EXAMPLES = [  # the two of the ONNX operator text, then its node test with negative indices
    (
        [[1.0, 1.2], [2.3, 3.4], [4.5, 5.7]],
        [[0, 1], [1, 2]],
        0,
        [[[1.0, 1.2], [2.3, 3.4]], [[2.3, 3.4], [4.5, 5.7]]],
    ),
    (
        [[1.0, 1.2, 1.9], [2.3, 3.4, 3.9], [4.5, 5.7, 5.9]],
        [[0, 2]],
        1,
        [[[1.0, 1.9]], [[2.3, 3.9]], [[4.5, 5.9]]],
    ),
    (range(10), [0, -9, -10], 0, [0, 1, 0]),
]


@pytest.mark.parametrize(("data", "indices", "axis", "want"), EXAMPLES)
def test_published_example(data, indices, axis, want):
    data = np.array(data, np.float32)
    assert_same(sr.gather(data, np.array(indices), axis), np.array(want, np.float32))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_agrees_with_take(name, axis):
    data = random_values(np.random.default_rng(1), as_dtype(name), (3, 4, 5))
    indices = np.array([[2, 0, -1], [1, 1, -3]])
    assert_same(sr.gather(data, indices, axis), np.take(data, indices, axis))


def test_scalar_index_drops_the_axis():
    data = np.arange(6).reshape(2, 3)
    assert_same(sr.gather(data, np.int64(-1)), np.array([3, 4, 5]))
    assert_same(sr.gather(data, 1, axis=1), np.array([1, 4]))


def test_scalar_index_into_rank_1_gives_rank_0():
    assert_same(sr.gather(np.array([5, 6, 7]), np.array(2)), np.array(7))


@pytest.mark.parametrize(
    ("shape", "indices_shape", "axis", "want"),
    [
        ((2, 3), (0,), 0, (0, 3)),
        ((2, 3), (4, 0), 1, (2, 4, 0)),
        ((0, 3), (0,), 0, (0, 3)),
        ((0, 3), (2,), 1, (0, 2)),
        ((2, 3, 0), (0,), 2, (2, 3, 0)),
        ((1, 5, 0), (), 0, (5, 0)),
    ],
)
def test_empty_keeps_its_shape(shape, indices_shape, axis, want):
    result = sr.gather(np.zeros(shape, np.float32), np.zeros(indices_shape, np.int64), axis)
    assert_same(result, np.zeros(want, np.float32))


def test_index_is_checked_where_nothing_is_read():
    with pytest.raises(sr.OutOfRangeError, match=r"gather: indices\[1\] = 3 .*\[-3, 2\].*axis 0"):
        sr.gather(np.zeros((3, 0)), np.array([0, 3]))


def test_index_into_axis_of_length_0():
    with pytest.raises(sr.OutOfRangeError, match=r"gather: indices\[0\] = 0 .*axis 1"):
        sr.gather(np.zeros((2, 0)), np.array([0]), axis=1)


def test_first_bad_index_in_row_major_order():
    indices = np.array([[0, 1], [-9, 2], [7, 0]])
    with pytest.raises(sr.OutOfRangeError) as caught:
        sr.gather(np.zeros((3, 2)), np.asfortranarray(indices))
    error = caught.value
    assert (error.operator, error.argument) == ("gather", "indices")
    assert (error.position, error.value, error.axis, error.length) == ((1, 0), -9, 0, 3)
    for part in ("indices[1, 0] = -9", "[-3, 2]", "axis 0", "(3, 2)"):
        assert part in str(error)


def test_data_of_rank_0():
    with pytest.raises(sr.ShapeError, match="gather: data is a scalar"):
        sr.gather(np.float32(1), np.array([0]))


def test_out_receives_the_result():
    data = np.arange(12.0).reshape(3, 4)
    out = np.full((2, 4), 9.0)
    assert sr.gather(data, np.array([2, -3]), out=out) is out
    assert_same(out, data[[2, 0]])
