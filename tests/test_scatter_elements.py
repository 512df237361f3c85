"""sowreap.scatter_elements: examples, reductions, edges, errors, out."""

import numpy as np
import pytest

import sowreap as sr
from cases import (
    DTYPES,
    NUMBERS,
    STRINGS,
    as_dtype,
    assert_same,
    call_reference,
    random_values,
    reductions_of,
)

ROW = [[1.0, 2.0, 3.0, 4.0, 5.0]]
EXAMPLES = [  # the operator text of ONNX, then its node tests
    (
        np.zeros((3, 3)),
        [[1, 0, 2], [0, 2, 1]],
        [[1.0, 1.1, 1.2], [2.0, 2.1, 2.2]],
        {},
        [[2.0, 1.1, 0.0], [1.0, 0.0, 2.2], [0.0, 2.1, 1.2]],
    ),
    (ROW, [[1, 3]], [[1.1, 2.1]], {"axis": 1}, [[1.0, 1.1, 3.0, 2.1, 5.0]]),
    (ROW, [[1, -3]], [[1.1, 2.1]], {"axis": 1}, [[1.0, 1.1, 2.1, 4.0, 5.0]]),
    (ROW, [[1, 1]], [[1.1, 2.1]], {"axis": 1, "reduction": "add"}, [[1.0, 5.2, 3.0, 4.0, 5.0]]),
    (ROW, [[1, 1]], [[1.1, 2.1]], {"axis": 1, "reduction": "mul"}, [[1.0, 4.62, 3.0, 4.0, 5.0]]),
    (ROW, [[1, 1]], [[1.1, 2.1]], {"axis": 1, "reduction": "max"}, [[1.0, 2.1, 3.0, 4.0, 5.0]]),
    (ROW, [[1, 1]], [[1.1, 2.1]], {"axis": 1, "reduction": "min"}, [[1.0, 1.1, 3.0, 4.0, 5.0]]),
]


@pytest.mark.parametrize(("data", "indices", "updates", "attributes", "want"), EXAMPLES)
def test_published_example(data, indices, updates, attributes, want):
    data, updates, want = (np.array(a, np.float32) for a in (data, updates, want))
    result = sr.scatter_elements(data, np.array(indices), updates, **attributes)
    np.testing.assert_allclose(result, want, rtol=1e-6)
    assert result.dtype == np.float32


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_agrees_with_put_along_axis(name, axis):
    rng = np.random.default_rng(1)
    data = random_values(rng, as_dtype(name), (3, 4, 5))
    indices = np.argsort(rng.random(data.shape), axis) - 2  # each index once
    updates = random_values(rng, as_dtype(name), data.shape)
    want = data.copy()
    np.put_along_axis(want, indices, updates, axis)
    assert_same(sr.scatter_elements(data, indices, updates, axis), want)


@pytest.mark.parametrize("name", DTYPES)
def test_last_update_wins(name):
    values = random_values(np.random.default_rng(2), as_dtype(name), (4, 2))
    indices = np.array([[1, 0], [1, 1], [-1, 1]])
    want = values[:2].copy()
    want[1] = values[3]
    want[0, 1] = values[1, 1]
    assert_same(sr.scatter_elements(values[:2], indices, values[1:]), want)


@pytest.mark.parametrize(
    ("name", "reduction"), [(n, r) for n in DTYPES for r in reductions_of(as_dtype(n))]
)
@pytest.mark.parametrize("axis", [0, 1])
def test_reduction_with_many_repeats(name, reduction, axis):
    rng = np.random.default_rng(3)
    data = random_values(rng, as_dtype(name), (4, 3))
    indices = rng.integers(-2, 2, (3, 3) if axis else (9, 3))
    updates = random_values(rng, as_dtype(name), indices.shape)
    attributes = {"axis": axis, "reduction": reduction}
    inputs = {"data": data, "indices": indices, "updates": updates}
    want = call_reference("scatter_elements", inputs, attributes)
    assert_same(sr.scatter_elements(data, indices, updates, **attributes), want)


@pytest.mark.parametrize(
    ("reduction", "want"), [("add", 127 + 3), ("mul", 127 * 3), ("min", 3), ("max", 127)]
)
def test_integers_wrap(reduction, want):
    result = sr.scatter_elements([np.int8(127)], [0], np.array([3], np.int8), 0, reduction)
    assert_same(result, np.array([want]).astype(np.int8))


@pytest.mark.parametrize(
    ("reduction", "want"),
    [
        ("add", [False, True, True, True]),
        ("max", [False, True, True, True]),
        ("mul", [False, False, False, True]),
        ("min", [False, False, False, True]),
    ],
)
def test_bool_is_or_and_and(reduction, want):
    data, updates = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    assert_same(sr.scatter_elements(data, np.arange(4), updates, 0, reduction), np.array(want))


@pytest.mark.parametrize("name", [n for n in NUMBERS if "float" in n or "double" in n])
@pytest.mark.parametrize("reduction", ["min", "max"])
def test_nan_propagates_from_either_side(name, reduction):
    dtype = as_dtype(name)
    with np.errstate(all="ignore"):
        nan, one = (np.array([v]).astype(dtype) for v in (np.nan, 1.0))
    if not (nan != nan).all():
        return  # the type has no NaN
    for data, updates in ((nan, one), (one, nan), (nan, nan)):
        result = sr.scatter_elements(data, [0], updates, 0, reduction)
        assert (result != result).all()


@pytest.mark.parametrize("reduction", ["min", "max"])
@pytest.mark.parametrize("name", ["float16", "float32", "float64", "longdouble", "bfloat16"])
def test_first_of_two_zeros_stays(name, reduction):
    zeros = np.array([0.0, -0.0]).astype(as_dtype(name))
    result = sr.scatter_elements(zeros, [0, 1], zeros[::-1], 0, reduction)
    assert_same(result, zeros)


def test_half_rounds_after_each_update():
    """2048 + 1 is 2048 in float16, however often; their sum at once would be 2052."""
    data, ones = np.array([2048], np.float16), np.ones(4, np.float16)
    result = sr.scatter_elements(data, np.zeros(4, int), ones, 0, "add")
    assert_same(result, np.array([2048], np.float16))


def test_sum_runs_in_row_major_order():
    updates = np.array([1e8, 1.0, -1e8, 1.0], np.float32)
    result = sr.scatter_elements(np.zeros(1, np.float32), np.zeros(4, int), updates, 0, "add")
    assert_same(result, np.array([1.0], np.float32))


def test_complex_product_is_the_plain_formula():
    data = np.array([complex(np.inf, 1)], np.complex64)
    with np.errstate(invalid="ignore"):
        result = sr.scatter_elements(data, [0], np.array([1j], np.complex64), 0, "mul")
    assert np.isnan(result.real).all()
    assert np.isinf(result.imag).all()


@pytest.mark.parametrize("name", STRINGS)
def test_strings_concatenate(name):
    dtype = as_dtype(name)
    data, updates, want = (
        np.array([w.encode() if dtype.kind == "S" else w for w in words], dtype)
        for words in (["a", "b"], ["c", "d", "e"], ["ad", "bce"])
    )
    result = sr.scatter_elements(data, [1, 0, 1], updates, 0, "add")
    assert result.tolist() == want.tolist()
    assert result.dtype.kind == dtype.kind


@pytest.mark.parametrize("kind", ["U", "S"])
def test_strings_of_two_widths_take_the_wider(kind):
    narrow, wide = np.array(["ab", "c"], f"{kind}2"), np.array(["defgh"], f"{kind}5")
    want = np.array(["ab", "defgh"], f"{kind}5")
    assert_same(sr.scatter_elements(narrow, [1], wide), want)
    want = np.array(["c"], f"{kind}5")
    assert_same(sr.scatter_elements(wide, [0], narrow[1:]), want)


def test_concatenation_widens_as_far_as_needed():
    result = sr.scatter_elements(np.array(["ab"]), [0, 0], np.array(["cd", "ef"]), 0, "add")
    assert result.tolist() == ["abcdef"]


def test_indices_smaller_off_the_axis_write_the_first_lines():
    data = np.zeros((2, 3, 2))
    result = sr.scatter_elements(data, np.array([[[2], [0], [2]]]), np.ones((1, 3, 1)), 1, "add")
    want = data.copy()
    want[0, [0, 2], 0] = 1, 2
    assert_same(result, want)


@pytest.mark.parametrize(
    ("shape", "indices_shape", "axis"),
    [((2, 3), (0, 3), 0), ((2, 3), (2, 0), 0), ((0, 3), (0, 3), 0), ((2, 0), (2, 0), 1)],
)
@pytest.mark.parametrize("reduction", ["none", "add"])
def test_empty_changes_nothing(shape, indices_shape, axis, reduction):
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    indices, updates = np.zeros(indices_shape, int), np.zeros(indices_shape, np.float32)
    result = sr.scatter_elements(data, indices, updates, axis, reduction)
    assert_same(result, data)
    assert not np.shares_memory(result, data)


def test_index_into_axis_of_length_0():
    with pytest.raises(sr.OutOfRangeError, match=r"scatter_elements: indices\[0\] = 0 .*axis 0"):
        sr.scatter_elements(np.zeros(0), np.array([0]), np.ones(1))


def test_first_bad_index_in_row_major_order():
    indices = np.array([[0, 2], [3, 0], [-9, 0]])
    with pytest.raises(sr.OutOfRangeError) as caught:
        sr.scatter_elements(np.zeros((3, 4)), np.asfortranarray(indices), np.zeros((3, 2)))
    error = caught.value
    assert (error.operator, error.argument) == ("scatter_elements", "indices")
    assert (error.position, error.value, error.axis, error.length) == ((1, 0), 3, 0, 3)
    for part in ("indices[1, 0] = 3", "[-3, 2]", "axis 0", "(3, 4)", "(3, 2)"):
        assert part in str(error)


@pytest.mark.parametrize(
    ("shape", "indices_shape", "updates_shape", "axis", "text"),
    [
        ((), (), (), 0, "scatter_elements: data is a scalar"),
        ((2, 3), (3,), (3,), 0, "scatter_elements: indices has rank 1 but data has rank 2"),
        (
            (2, 3),
            (3, 3),
            (3, 3),
            1,
            "scatter_elements: indices .* 3 in dimension 0, data only 2",
        ),
        ((3, 2), (3, 2), (2, 2), 0, r"scatter_elements: updates has shape \(2, 2\).*\(3, 2\)"),
        ((3, 2), (3, 2), (1, 2), 0, r"scatter_elements: updates has shape \(1, 2\).*\(3, 2\)"),
        ((3, 2), (3, 2), (), 0, r"scatter_elements: updates has shape \(\).*\(3, 2\)"),
    ],
)
def test_shapes_that_do_not_fit(shape, indices_shape, updates_shape, axis, text):
    data, indices, updates = np.zeros(shape), np.zeros(indices_shape, int), np.ones(updates_shape)
    with pytest.raises(sr.ShapeError, match=text):
        sr.scatter_elements(data, indices, updates, axis)


def test_out_receives_the_result():
    data, out = np.arange(4.0), np.full(4, 9.0)
    assert sr.scatter_elements(data, np.array([1, 1]), np.ones(2), 0, "add", out=out) is out
    assert_same(out, np.array([0.0, 3.0, 2.0, 3.0]))
    assert_same(data, np.arange(4.0))
