"""sowreap.gather_elements: examples, edges, errors, out."""

import numpy as np
import pytest

import sowreap as sr
from cases import DTYPES, as_dtype, assert_same, random_values

NINE = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
EXAMPLES = [  # the two of the ONNX operator text, then its node test with negative indices
    ([[1, 2], [3, 4]], [[0, 0], [1, 0]], 1, [[1, 1], [4, 3]]),
    (NINE, [[1, 2, 0], [2, 0, 0]], 0, [[4, 8, 3], [7, 2, 3]]),
    (NINE, [[-1, -2, 0], [-2, 0, 0]], 0, [[7, 5, 3], [4, 2, 3]]),
]


@pytest.mark.parametrize(("data", "indices", "axis", "want"), EXAMPLES)
def test_published_example(data, indices, axis, want):
    data = np.array(data, np.float32)
    assert_same(sr.gather_elements(data, np.array(indices), axis), np.array(want, np.float32))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_agrees_with_take_along_axis(name, axis):
    rng = np.random.default_rng(1)
    data = random_values(rng, as_dtype(name), (3, 4, 5))
    shape = list(data.shape)
    shape[axis] = 7
    indices = rng.integers(-3, 3, shape)
    want = np.take_along_axis(data, indices, axis)
    assert_same(sr.gather_elements(data, indices, axis), want)


def test_indices_smaller_off_the_axis_read_the_first_lines():
    data = np.arange(60).reshape(3, 4, 5)
    indices = np.array([[[4], [0]], [[-1], [2]]])
    assert_same(sr.gather_elements(data, indices, 2), np.array([[[4], [5]], [[24], [27]]]))


def test_axis_longer_than_64():
    data = np.arange(200).reshape(2, 100)
    assert_same(sr.gather_elements(data, np.array([[99, -100]]), 1), np.array([[99, 0]]))


@pytest.mark.parametrize(
    ("shape", "indices_shape", "axis"),
    [((2, 3), (0, 3), 0), ((2, 3), (2, 0), 0), ((0, 3), (0, 3), 0), ((2, 0), (2, 0), 1)],
)
def test_empty_keeps_its_shape(shape, indices_shape, axis):
    data, indices = np.zeros(shape, np.float32), np.zeros(indices_shape, np.int64)
    assert_same(sr.gather_elements(data, indices, axis), np.zeros(indices_shape, np.float32))


def test_index_into_axis_of_length_0():
    with pytest.raises(sr.OutOfRangeError, match=r"gather_elements: indices\[0, 0\] = 0 .*axis 0"):
        sr.gather_elements(np.zeros((0, 2)), np.array([[0, 0]]))


def test_first_bad_index_in_row_major_order():
    indices = np.array([[0, 2], [4, 0], [-9, 0]])
    with pytest.raises(sr.OutOfRangeError) as caught:
        sr.gather_elements(np.zeros((3, 4)), np.asfortranarray(indices), axis=-2)
    error = caught.value
    assert (error.operator, error.argument) == ("gather_elements", "indices")
    assert (error.position, error.value, error.axis, error.length) == ((1, 0), 4, 0, 3)
    for part in ("indices[1, 0] = 4", "[-3, 2]", "axis 0", "(3, 4)", "(3, 2)"):
        assert part in str(error)


@pytest.mark.parametrize(
    ("shape", "indices_shape", "axis", "text"),
    [
        ((2, 3), (3,), 0, "gather_elements: indices has rank 1 but data has rank 2"),
        ((2, 3), (3, 3), 1, "gather_elements: indices has size 3 in dimension 0, data only 2"),
        (
            (2, 3, 4),
            (2, 3, 5),
            0,
            "gather_elements: indices .* 5 in dimension 2, data only 4",
        ),
    ],
)
def test_shapes_that_do_not_fit(shape, indices_shape, axis, text):
    with pytest.raises(sr.ShapeError, match=text):
        sr.gather_elements(np.zeros(shape), np.zeros(indices_shape, int), axis)


def test_data_of_rank_0():
    with pytest.raises(sr.ShapeError, match="gather_elements: data is a scalar"):
        sr.gather_elements(np.float32(1), np.array(0))


def test_out_receives_the_result():
    data = np.arange(12.0).reshape(3, 4)
    out = np.full((1, 2), 9.0)
    assert sr.gather_elements(data, np.array([[2, -3]]), out=out) is out
    assert_same(out, np.array([[8.0, 1.0]]))
