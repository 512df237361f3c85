"""Refusals that all functions share: kinds of objects, dtypes, attributes, out."""

import numpy as np
import pytest

import sowreap as sr
from cases import (
    OPERATORS,
    REDUCERS,
    SCATTERS,
    WITH_MODE,
    as_dtype,
    assert_same,
    call,
    sample_call,
)

GATHERS = [name for name in OPERATORS if name not in SCATTERS]
WITH_AXIS = [name for name in OPERATORS if not name.endswith("_nd")]
FLOAT32 = np.dtype(np.float32)


def index_name(operator):
    return "write_indices" if operator == "tensor_scatter" else "indices"


def updates_name(operator):
    return "update" if operator == "tensor_scatter" else "updates"


def refused(error, operator, *words):
    """A context that expects the class, the operator in front, and each of the words."""
    return pytest.raises(error, match=f"(?s)^{operator}: " + "".join(f"(?=.*{w})" for w in words))


# --- indices ------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "dtype",
    ["bool", "float16", "float64", "complex64", "U1", "S1", "object", "V4", "M8[s]", "int4"],
)
def test_indices_of_another_kind(operator, dtype):
    inputs, attributes = sample_call(operator, FLOAT32)
    name = index_name(operator)
    inputs[name] = np.zeros(inputs[name].shape, as_dtype(dtype))
    with refused(sr.DtypeError, operator, name, "integer"):
        call(operator, inputs, attributes)


@pytest.mark.parametrize("operator", OPERATORS)
def test_nan_indices(operator):
    inputs, attributes = sample_call(operator, FLOAT32)
    name = index_name(operator)
    inputs[name] = np.full(inputs[name].shape, np.nan)
    with refused(sr.DtypeError, operator, name, "float64"):
        call(operator, inputs, attributes)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int64", -(2**63)),
        ("int64", 2**63 - 1),
        ("uint64", 2**63),
        ("uint64", 2**64 - 1),
        ("uint64", 2**64 - 3),
        ("int32", -(2**31)),
        ("uint32", 2**32 - 1),
        ("int16", -(2**15)),
        ("uint16", 2**16 - 1),
        ("int8", -128),
        ("uint8", 255),
    ],
)
def test_extreme_index(operator, dtype, value):
    inputs, attributes = sample_call(operator, FLOAT32)
    name = index_name(operator)
    inputs[name] = np.abs(inputs[name]).astype(dtype) % 3
    at = tuple(n - 1 for n in inputs[name].shape)
    inputs[name][at] = value
    attributes.pop("mode", None)
    with refused(sr.OutOfRangeError, operator, name, str(value)) as caught:
        call(operator, inputs, attributes)
    assert (caught.value.position, caught.value.value) == (at, value)


@pytest.mark.parametrize("operator", WITH_AXIS)
@pytest.mark.parametrize("axis", [4, -5, 2**40, 2**70])
def test_axis_out_of_range(operator, axis):
    inputs, _ = sample_call(operator, FLOAT32)
    with refused(sr.ArgumentError, operator, "axis", str(axis)):
        call(operator, inputs, {"axis": axis})


@pytest.mark.parametrize("operator", WITH_AXIS)
@pytest.mark.parametrize("axis", [1.0, "0", None])
def test_axis_that_is_no_integer(operator, axis):
    inputs, _ = sample_call(operator, FLOAT32)
    with refused(sr.DtypeError, operator, "axis"):
        call(operator, inputs, {"axis": axis})


# --- attributes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", WITH_MODE)
@pytest.mark.parametrize("mode", ["Raise", "", "linear", None, 0])
def test_unknown_mode(operator, mode):
    inputs, attributes = sample_call(operator, FLOAT32)
    fourth = "drop" if operator in SCATTERS else "fill"
    known = f'"raise", "wrap", "clip" or "{fourth}"'
    with refused(sr.ArgumentError, operator, "mode", "unknown", known):
        call(operator, inputs, {**attributes, "mode": mode})


@pytest.mark.parametrize(
    ("operator", "mode"),
    [(name, "fill" if name in SCATTERS else "drop") for name in WITH_MODE],
)
def test_modes_of_the_other_family(operator, mode):
    inputs, attributes = sample_call(operator, FLOAT32)
    with refused(sr.ArgumentError, operator, "mode", mode):
        call(operator, inputs, {**attributes, "mode": mode})


@pytest.mark.parametrize("operator", GATHERS)
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("fill_value", [1, -1, np.nan, None, np.ones(2)])
def test_fill_value_without_its_mode(operator, mode, fill_value):
    inputs, attributes = sample_call(operator, FLOAT32)
    with refused(sr.ArgumentError, operator, "fill_value", "no effect", mode, 'mode = "fill"'):
        call(operator, inputs, {**attributes, "mode": mode, "fill_value": fill_value})


@pytest.mark.parametrize("operator", REDUCERS)
@pytest.mark.parametrize("include_self", [None, 0, 1, "no", np.zeros(2, bool)])
def test_include_self_that_is_no_bool(operator, include_self):
    inputs, attributes = sample_call(operator, FLOAT32)
    attributes |= {"reduction": "add", "include_self": include_self}
    with refused(sr.DtypeError, operator, "include_self", "no bool"):
        call(operator, inputs, attributes)


@pytest.mark.parametrize("operator", REDUCERS)
@pytest.mark.parametrize("reduction", ["sum", "Add", "", "amax", None, 1])
def test_unknown_reduction(operator, reduction):
    inputs, attributes = sample_call(operator, FLOAT32)
    with refused(sr.ArgumentError, operator, "reduction", "add"):
        call(operator, inputs, {**attributes, "reduction": reduction})


@pytest.mark.parametrize("operator", REDUCERS)
@pytest.mark.parametrize(
    ("dtype", "reductions"),
    [
        ("complex64", ("min", "max")),
        ("complex128", ("min", "max")),
        ("bool", ("mean",)),
        ("object", ("mul", "min", "max", "mean")),
        ("U3", ("mul", "min", "max", "mean")),
        ("S3", ("mul", "min", "max", "mean")),
        ("StringDType", ("mul", "min", "max", "mean")),
        ("record", ("add", "mul", "min", "max", "mean")),
        ("V5", ("add", "mul", "min", "max", "mean")),
        ("M8[s]", ("add", "mul", "min", "max", "mean")),
    ],
)
def test_reductions_that_a_dtype_lacks(operator, dtype, reductions):
    inputs, attributes = sample_call(operator, as_dtype(dtype))
    for reduction in reductions:
        with refused(sr.DtypeError, operator, "reduction", reduction):
            call(operator, inputs, {**attributes, "reduction": reduction})


@pytest.mark.parametrize("operator", REDUCERS)
@pytest.mark.parametrize("dtype", [">f4", ">i8", ">c8"])
def test_foreign_byte_order_is_refused_by_name(operator, dtype):
    inputs, attributes = sample_call(operator, np.dtype(dtype))
    with refused(sr.DtypeError, operator, "reduction", dtype):
        call(operator, inputs, {**attributes, "reduction": "add"})


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", [">i4", ">u8"])
def test_indices_of_foreign_byte_order_work_or_are_refused_by_name(operator, dtype):
    inputs, attributes = sample_call(operator, FLOAT32)
    want = call(operator, inputs, attributes)
    name = index_name(operator)
    inputs[name] = (inputs[name] % 3 if dtype == ">u8" else inputs[name]).astype(dtype)
    with refused(sr.DtypeError, operator, name, dtype):
        assert_same(call(operator, inputs, attributes), want)


# --- dtypes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", SCATTERS)
@pytest.mark.parametrize(
    ("dtype", "other"),
    [
        ("float32", "float64"),
        ("float32", "int32"),
        ("int32", "uint32"),
        ("int8", "bool"),
        ("float16", "bfloat16"),
        ("float8_e5m2", "float8_e4m3fn"),
        ("U3", "S3"),
        ("U3", "object"),
        ("StringDType", "U3"),
        ("M8[s]", "M8[ms]"),
        ("V4", "V5"),
        ("V7", "record"),
        ("float32", ">f4"),
    ],
)
def test_updates_of_another_dtype(operator, dtype, other):
    inputs, attributes = sample_call(operator, as_dtype(dtype))
    name = updates_name(operator)
    inputs[name] = np.zeros(inputs[name].shape, as_dtype(other))
    with refused(sr.DtypeError, operator, name, "has dtype"):
        call(operator, inputs, attributes)


# --- out ----------------------------------------------------------------------------------------

OUT_DTYPES = ["float32", "object", "U3", "StringDType"]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", OUT_DTYPES)
def test_out_of_another_shape(operator, dtype):
    inputs, attributes = sample_call(operator, as_dtype(dtype))
    shape = call(operator, inputs, attributes).shape
    for wrong in (shape[:-1], (*shape, 1), (*shape[:-1], shape[-1] + 1), (*shape[:-1], 1)):
        out = np.zeros(wrong, as_dtype(dtype))
        with refused(sr.ShapeError, operator, "out has", *(str(n) for n in shape)):
            call(operator, inputs, attributes, out=out)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", OUT_DTYPES)
def test_out_of_another_dtype(operator, dtype):
    inputs, attributes = sample_call(operator, as_dtype(dtype))
    out = np.zeros(call(operator, inputs, attributes).shape, np.float64)
    with refused(sr.DtypeError, operator, "out has", "float64"):
        call(operator, inputs, attributes, out=out)
    assert_same(out, np.zeros_like(out))


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", OUT_DTYPES)
def test_out_that_is_read_only(operator, dtype):
    inputs, attributes = sample_call(operator, as_dtype(dtype))
    out = np.zeros(call(operator, inputs, attributes).shape, as_dtype(dtype))
    before = out.copy()
    out.flags.writeable = False
    with refused(sr.ArgumentError, operator, "out is read-only"):
        call(operator, inputs, attributes, out=out)
    assert_same(out, before)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("out", [[0.0], 1.0, "out", bytearray(4)])
def test_out_that_is_no_array(operator, out):
    inputs, attributes = sample_call(operator, FLOAT32)
    with refused(sr.DtypeError, operator, "out", type(out).__name__):
        call(operator, inputs, attributes, out=out)


# --- kinds of objects ---------------------------------------------------------------------------


def test_lists_are_accepted():
    assert_same(sr.gather([1, 2, 3], [0, -1]), np.array([1, 3]))
    assert_same(sr.gather_elements([[1.0, 2.0]], [[1, 0]], 1), np.array([[2.0, 1.0]]))
    assert_same(sr.gather_nd(((1, 2), (3, 4)), ((0, 1),)), np.array([2]))
    assert_same(sr.scatter([1, 2, 3], [0], [9]), np.array([9, 2, 3]))
    assert_same(sr.scatter_elements([1, 2], [0, 0], [3, 4], reduction="add"), np.array([8, 2]))
    assert_same(sr.scatter_nd([[1, 2], [3, 4]], [[-1]], [[5, 6]]), np.array([[1, 2], [5, 6]]))
    cache, update = [[[0.0], [0.0]]], [[[1.0]]]
    assert_same(sr.tensor_scatter(cache, update, [1]), np.array([[[0.0], [1.0]]]))


def test_scalars_are_accepted_as_indices_and_updates():
    assert_same(sr.gather([1, 2, 3], -1), np.array(3))
    assert_same(sr.gather([1, 2, 3], np.uint8(1)), np.array(2))
    assert_same(sr.scatter_nd([1, 2, 3], [1], 7), np.array([1, 7, 3]))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "complex64", "bool"])
def test_lists_of_updates_take_the_dtype_of_data(dtype):
    """As NumPy's own assignment does: the numbers of a list have no dtype of their own."""
    data = np.zeros(3, as_dtype(dtype))
    want = data.copy()
    want[1] = 1
    one = [True] if dtype == "bool" else [1]
    assert_same(sr.scatter_elements(data, [1], one), want)
    assert_same(sr.scatter_nd(data, [[1]], one), want)


@pytest.mark.parametrize(
    ("dtype", "updates"), [("int8", [300]), ("int32", [1.5]), ("float32", ["x"]), ("bool", [2])]
)
def test_lists_of_updates_that_data_cannot_hold(dtype, updates):
    with refused(sr.DtypeError, "scatter_elements", "updates"):
        sr.scatter_elements(np.zeros(3, dtype), [1], updates)


def test_empty_list_of_indices():
    assert_same(sr.gather(np.zeros((2, 3)), []), np.zeros((0, 3)))


def test_subclasses_give_plain_arrays():
    class Tagged(np.ndarray):
        pass

    result = sr.gather(np.arange(3).view(Tagged), np.array([1]).view(Tagged))
    assert type(result) is np.ndarray
    assert_same(result, np.array([1]))


def test_subclass_as_out_is_returned():
    class Tagged(np.ndarray):
        pass

    out = np.zeros(2, int).view(Tagged)
    assert sr.gather([5, 6, 7], [2, 0], out=out) is out
    assert out.tolist() == [7, 5]


def test_masked_arrays_are_refused():
    """Their mask would be lost without a word."""
    masked = np.ma.masked_array([1, 2, 3], mask=[0, 1, 0])
    with refused(sr.DtypeError, "gather", "data", "masked"):
        sr.gather(masked, [0])
    with refused(sr.DtypeError, "gather", "out", "masked"):
        sr.gather([1, 2, 3], [0, 1, 2], out=masked)


@pytest.mark.parametrize("operator", OPERATORS)
def test_none_in_place_of_an_array(operator):
    inputs, attributes = sample_call(operator, FLOAT32)
    for name in inputs:
        if name == "write_indices":
            continue  # None is its default
        with refused(sr.DtypeError, operator, name, "None"):
            call(operator, {**inputs, name: None}, attributes)


@pytest.mark.parametrize("operator", OPERATORS)
def test_ragged_lists(operator):
    inputs, attributes = sample_call(operator, FLOAT32)
    for name in inputs:
        with refused(sr.DtypeError, operator, name):
            call(operator, {**inputs, name: [[1, 2], [3]]}, attributes)


@pytest.mark.parametrize("operator", OPERATORS)
def test_lists_that_hold_no_indices(operator):
    inputs, attributes = sample_call(operator, FLOAT32)
    name = index_name(operator)
    for wrong in ([0.0, 1.0], [True, False], ["a"], [None], [2**70], {}):
        with refused(sr.DtypeError, operator, name):
            call(operator, {**inputs, name: wrong}, attributes)


# --- sizes that overflow ------------------------------------------------------------------------


def huge(*shape):
    """One item, seen as an array of any size by strides of 0."""
    return np.broadcast_to(np.zeros((), np.int64), shape)


def test_result_of_more_bytes_than_64_bits_count():
    data, indices = huge(2, 2**31), huge(2**31)
    with refused(sr.ShapeError, "gather", str(2**31)):
        sr.gather(data, indices)


def test_result_too_large_for_memory():
    with pytest.raises(MemoryError):
        sr.gather(huge(2, 2**30), huge(2**28))


def test_more_dimensions_than_numpy_has():
    data, indices = np.zeros((1,) * 40), np.zeros((1,) * 40, int)
    with refused(sr.ShapeError, "gather", "79", "64"):
        sr.gather(data, indices)


@pytest.mark.parametrize("operator", ["gather_elements", "scatter_elements", "scatter"])
def test_empty_arrays_with_long_axes(operator):
    """A product of sizes matters only where none of them is 0."""
    data, none = np.zeros((2**20, 0, 2**20)), np.zeros((2**20, 0, 2**20), int)
    inputs = {"data": data, "indices": none} | ({"updates": data} if operator in SCATTERS else {})
    assert_same(call(operator, inputs, {"axis": 1}), data)


def test_empty_result_that_numpy_cannot_hold():
    """NumPy leaves sizes of 0 out of the product, and so limits empty arrays too."""
    with refused(sr.ShapeError, "gather", str(2**40)):
        sr.gather(huge(2, 2**40), np.zeros((2**20, 0), int))
