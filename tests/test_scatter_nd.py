"""sowreap.scatter_nd: examples, reductions, edges, errors, out."""

import numpy as np
import pytest

import sowreap as sr
from cases import (
    DTYPES,
    as_dtype,
    assert_same,
    call_reference,
    random_values,
    reductions_of,
)

UP, DOWN = [[1, 2, 3, 4], [5, 6, 7, 8]], [[8, 7, 6, 5], [4, 3, 2, 1]]
CUBE = [UP + DOWN, UP + DOWN, DOWN + UP, DOWN + UP]
FIVES = [[5] * 4, [6] * 4, [7] * 4, [8] * 4]
ONES = [[1] * 4, [2] * 4, [3] * 4, [4] * 4]
EXAMPLES = [  # the operator text of ONNX, then its node tests
    (
        [1, 2, 3, 4, 5, 6, 7, 8],
        [[4], [3], [1], [7]],
        [9, 10, 11, 12],
        "none",
        [1, 11, 3, 10, 9, 6, 7, 12],
    ),
    (CUBE, [[0], [2]], [FIVES, ONES], "none", [FIVES, CUBE[1], ONES, CUBE[3]]),
    (
        CUBE,
        [[0], [0]],
        [FIVES, ONES],
        "add",
        [[[7, 8, 9, 10], [13, 14, 15, 16], [18, 17, 16, 15], [16, 15, 14, 13]], *CUBE[1:]],
    ),
    (
        CUBE,
        [[0], [0]],
        [FIVES, ONES],
        "mul",
        [[[5, 10, 15, 20], [60, 72, 84, 96], [168, 147, 126, 105], [128, 96, 64, 32]], *CUBE[1:]],
    ),
    (
        CUBE,
        [[0], [0]],
        [FIVES, ONES],
        "max",
        [[[5, 5, 5, 5], [6, 6, 7, 8], [8, 7, 7, 7], [8, 8, 8, 8]], *CUBE[1:]],
    ),
    (
        CUBE,
        [[0], [0]],
        [FIVES, ONES],
        "min",
        [[[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [4, 3, 2, 1]], *CUBE[1:]],
    ),
]


@pytest.mark.parametrize(("data", "indices", "updates", "reduction", "want"), EXAMPLES)
def test_published_example(data, indices, updates, reduction, want):
    data, updates, want = (np.array(a, np.float32) for a in (data, updates, want))
    assert_same(sr.scatter_nd(data, np.array(indices), updates, reduction), want)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_agrees_with_advanced_indexing(name, depth):
    rng = np.random.default_rng(1)
    data = random_values(rng, as_dtype(name), (3, 4, 5))
    cells = rng.permutation(np.prod(data.shape[:depth]))[:3]  # each cell once
    indices = np.stack(np.unravel_index(cells, data.shape[:depth]), axis=-1) - data.shape[:depth]
    updates = random_values(rng, as_dtype(name), (3, *data.shape[depth:]))
    want = data.copy()
    want[tuple(indices.T)] = updates
    assert_same(sr.scatter_nd(data, indices, updates), want)


@pytest.mark.parametrize(
    ("name", "reduction"), [(n, r) for n in DTYPES for r in reductions_of(as_dtype(n))]
)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_reduction_with_many_repeats(name, reduction, depth):
    rng = np.random.default_rng(3)
    data = random_values(rng, as_dtype(name), (2, 3))
    indices = rng.integers(-2, 2, (9, depth))
    updates = random_values(rng, as_dtype(name), (9, *data.shape[depth:]))
    inputs = {"data": data, "indices": indices, "updates": updates}
    want = call_reference("scatter_nd", inputs, {"reduction": reduction})
    assert_same(sr.scatter_nd(data, indices, updates, reduction), want)


def test_last_update_wins():
    result = sr.scatter_nd(np.zeros(2), [[1], [-1], [1]], np.array([3.0, 4.0, 5.0]))
    assert_same(result, np.array([0.0, 5.0]))


def test_tuple_of_length_0_addresses_all_of_data():
    data, updates = np.array([1.0, 2.0]), np.array([[3.0, 4.0], [10.0, 20.0]])
    indices = np.zeros((2, 0), np.int64)
    assert_same(sr.scatter_nd(data, indices, updates), updates[1])
    assert_same(sr.scatter_nd(data, indices, updates, "add"), np.array([14.0, 26.0]))


@pytest.mark.parametrize("name", DTYPES)
def test_single_tuple_writes_a_scalar(name):
    values = random_values(np.random.default_rng(4), as_dtype(name), (4,))
    want = values[:3].copy()
    want[1] = values[3]
    assert_same(sr.scatter_nd(values[:3], np.array([1]), values[3:].reshape(())), want)


@pytest.mark.parametrize(
    ("shape", "indices_shape", "updates_shape"),
    [
        ((2, 3), (0, 1), (0, 3)),
        ((0, 3), (0, 2), (0,)),
        ((2, 0), (4, 1), (4, 0)),
        ((2, 3), (0, 0), (0, 2, 3)),
    ],
)
def test_empty_changes_nothing(shape, indices_shape, updates_shape):
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    indices, updates = np.zeros(indices_shape, int), np.zeros(updates_shape, np.float32)
    for reduction in ("none", "add"):
        assert_same(sr.scatter_nd(data, indices, updates, reduction), data)


def test_index_into_axis_of_length_0():
    with pytest.raises(sr.OutOfRangeError, match=r"scatter_nd: indices\[0.*axis 0"):
        sr.scatter_nd(np.zeros((0, 3)), np.array([[0]]), np.ones((1, 3)))


def test_coordinates_are_checked_one_by_one():
    """[0, 3] lies inside the buffer, but not inside axis 1."""
    with pytest.raises(sr.OutOfRangeError, match=r"scatter_nd: .*\b3\b.*\[-3, 2\].*axis 1"):
        sr.scatter_nd(np.zeros((2, 3)), np.array([[0, 3]]), np.ones(1))


def test_first_bad_index_in_row_major_order():
    indices = np.array([[[0, 1], [2, -9]], [[-7, 0], [0, 0]]])
    with pytest.raises(sr.OutOfRangeError) as caught:
        sr.scatter_nd(np.zeros((4, 6, 2)), np.asfortranarray(indices), np.zeros((2, 2, 2)))
    error = caught.value
    assert (error.operator, error.argument) == ("scatter_nd", "indices")
    assert (error.position, error.value, error.axis, error.length) == ((0, 1, 1), -9, 1, 6)
    for part in ("indices[0, 1", "-9", "[-6, 5]", "axis 1", "(4, 6, 2)", "(2, 2, 2)"):
        assert part in str(error)


@pytest.mark.parametrize(
    ("shape", "indices_shape", "updates_shape", "text"),
    [
        ((), (1,), (), "scatter_nd: data is a scalar"),
        ((2,), (), (), "scatter_nd: indices is a scalar"),
        ((2, 2), (1, 3), (1,), r"scatter_nd: index tuples have length 3 .*\(2, 2\)"),
        ((3, 2), (2, 1), (2, 1), r"scatter_nd: updates has shape \(2, 1\).*\(2, 2\)"),
        ((8,), (4, 1, 1), (4,), r"scatter_nd: updates has shape \(4,\).*\(4, 1\)"),
        ((3,), (1,), (1,), r"scatter_nd: updates has shape \(1,\).*\(\)"),
        ((2, 2), (3, 1), (), r"scatter_nd: updates has shape \(\).*\(3, 2\)"),
        ((2, 2), (1, 0), (2, 2), r"scatter_nd: updates has shape \(2, 2\).*\(1, 2, 2\)"),
    ],
)
def test_shapes_that_do_not_fit(shape, indices_shape, updates_shape, text):
    with pytest.raises(sr.ShapeError, match=text):
        sr.scatter_nd(np.zeros(shape), np.zeros(indices_shape, int), np.zeros(updates_shape))


def test_out_receives_the_result():
    data, out = np.arange(4.0), np.full(4, 9.0)
    assert sr.scatter_nd(data, np.array([[1], [1]]), np.ones(2), "add", out=out) is out
    assert_same(out, np.array([0.0, 3.0, 2.0, 3.0]))
    assert_same(data, np.arange(4.0))
