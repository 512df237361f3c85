"""The short way: arrays in, an array out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import sowreap as sr
from sowreap.directml import DescriptorError, IndexWarning, run, schema
from strategies import calls

NAMES = {"data": "InputTensor", "indices": "IndicesTensor", "updates": "UpdatesTensor"}
OPERATORS = {
    "gather": "GATHER",
    "gather_elements": "GATHER_ELEMENTS",
    "gather_nd": "GATHER_ND1",
    "scatter": "SCATTER",
    "scatter_elements": "DML_OPERATOR_SCATTER_ELEMENTS",
    "scatter_nd": "SCATTER_ND",
}
DATA_TYPES = [kind.dtype.name for kind in schema.DATA_TYPES.values() if kind.dtype]


@pytest.mark.parametrize("operator", OPERATORS)
def test_equal_to_the_function(operator):
    """Whatever DirectML can describe: no empty tensors, its types, ranks up to 8."""
    described = 0

    @given(calls(operator, of_onnx=True))
    def check(call):
        nonlocal described
        attributes = dict(call.attributes)
        arrays = {name: as_described(array) for name, array in call.arrays.items()}
        attributes.pop("reduction", None)  # of which DirectML has none
        if arrays["indices"].itemsize < 4:
            arrays["indices"] = arrays["indices"].astype(np.int32)
        axis = attributes.get("axis", 0) % arrays["data"].ndim
        fields = {} if operator.endswith("_nd") else {"Axis": axis}
        if "batch_dims" in attributes:
            fields["BatchDimensionCount"] = attributes["batch_dims"]
        tensors = {NAMES[name]: array for name, array in arrays.items()}
        switches = {"out_of_range": "raise", "duplicates": "last", "strict": False}
        try:
            result = run(OPERATORS[operator], **tensors, **fields, **switches)
        except (DescriptorError, sr.DtypeError):
            if not cannot_be_described(arrays, call.result_shape):
                raise
            return
        except sr.OutOfRangeError:
            with pytest.raises(sr.OutOfRangeError):
                getattr(sr, operator)(**arrays, **attributes)
            return
        described += 1
        expected = getattr(sr, operator)(**arrays, **attributes)
        assert result.shape == expected.shape
        assert result.tobytes() == expected.astype(result.dtype, copy=False).tobytes()

    check()
    assert described > 25


def as_described(array):
    """The bits of types that DirectML lacks, as those of a type that it has."""
    if array.dtype.name in DATA_TYPES or array.dtype.hasobject or array.dtype.kind == "T":
        return array
    return array.view(f"u{array.itemsize}") if array.itemsize in (1, 2, 4, 8) else array


def cannot_be_described(arrays, result_shape):
    shapes = [array.shape for array in arrays.values()] + [result_shape]
    dtypes = [arrays[name].dtype.name for name in arrays if name != "indices"]
    return any(0 in shape or len(shape) > 8 for shape in shapes) or any(
        dtype not in DATA_TYPES for dtype in dtypes
    )


def test_index_out_of_range_gives_a_value_of_the_input_and_a_warning():
    arrays = {
        "InputTensor": np.array([1, 2, 3], np.float32),
        "IndicesTensor": np.array([0, 7, -9], np.int32),
    }
    with pytest.warns(IndexWarning, match="2 indices out of range, the first 7 at"):
        result = run("GATHER", **arrays, Axis=0, IndexDimensions=1)
    assert result.tolist() == [1, 3, 1]
    assert run("GATHER", **arrays, out_of_range="clamp").tolist() == [1, 3, 1]


def test_repeated_target_warns_unless_chosen():
    arrays = {
        "InputTensor": np.zeros(2, np.int8),
        "IndicesTensor": np.array([1, 1], np.uint32),
        "UpdatesTensor": np.array([3, 4], np.int8),
    }
    with pytest.warns(IndexWarning, match="1 repeated targets"):
        assert run("SCATTER", **arrays).tolist() == [0, 4]
    assert run("SCATTER", **arrays, duplicates="first").tolist() == [0, 3]


@pytest.mark.parametrize("level", ["2_1", "6_4"])
def test_four_dimensions_below_3_0(level):
    data = np.arange(6, dtype=np.float32).reshape(3, 2)
    indices = np.array([[2, 0]], np.uint32)
    gather = run("GATHER", feature_level=level, InputTensor=data, IndicesTensor=indices)
    np.testing.assert_array_equal(gather, data[indices])
    own = run(
        "GATHER_ND",
        feature_level=level,
        InputTensor=data,
        IndicesTensor=indices,
        InputDimensionCount=2,
        IndicesDimensionCount=2,
    )
    assert own.tolist() == [[4]]


def test_levels_refuse_types():
    data = np.zeros(3)
    with pytest.raises(DescriptorError, match="FLOAT64"):
        run("GATHER", InputTensor=data, IndicesTensor=np.array([0]), feature_level="4_0")
    with pytest.raises(DescriptorError, match="level"):
        run("SCATTER_ND", InputTensor=data, IndicesTensor=np.array([[0]]),
            UpdatesTensor=data[:1], feature_level="2_0")  # fmt: skip


def test_ranks_and_padding():
    data, indices = np.arange(6).reshape(2, 3), np.array([[1, 2], [0, 0]])
    assert run("GATHER_ND", InputTensor=data, IndicesTensor=indices).tolist() == [5, 0]
    counts = {"InputDimensionCount": 2, "IndicesDimensionCount": 2}
    own = run("GATHER_ND", InputTensor=data, IndicesTensor=indices, **counts)
    assert own.tolist() == [[5, 0]]
    scalar = run("GATHER", InputTensor=data, IndicesTensor=np.array(1), Axis=1)
    assert scalar.tolist() == [1, 4]
    deep = run("GATHER", InputTensor=data, IndicesTensor=np.array([[[1, 0]]]), Axis=1)
    np.testing.assert_array_equal(deep, data[:, [[[1, 0]]]])


def test_output_tensor():
    data = np.arange(4, dtype=np.uint16)
    arrays = {"InputTensor": data, "IndicesTensor": np.array([3, 1])}
    target = np.zeros((2, 2), np.uint16)[:, 1]
    assert run("GATHER", **arrays, OutputTensor=target) is target
    assert target.tolist() == [3, 1]
    for bad, error in [
        (np.zeros(3, np.uint16), sr.ShapeError),
        (np.zeros(2, np.int16), sr.DtypeError),
        ([0, 0], sr.ArgumentError),
        (data[:2], DescriptorError),
    ]:
        with pytest.raises(error, match="OutputTensor"):
            run("GATHER", **arrays, OutputTensor=bad)


def test_other_byte_order():
    data = np.array([1, 2, 3], ">i4")
    assert run("GATHER", InputTensor=data, IndicesTensor=np.array([2], ">i8")).tolist() == [3]


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"axis": 0}, sr.ArgumentError, "field 'axis'"),
        ({"IndicesTensor": None}, sr.DtypeError, "IndicesTensor has dtype object"),
        ({"InputTensor": np.zeros(3, bool)}, sr.DtypeError, "dtype bool"),
        ({"Axis": 1}, DescriptorError, r"Axis is 1.*\[0, 0\]"),
        ({"Axis": -1}, DescriptorError, "Axis is -1"),
        ({"Axis": 0.5}, DescriptorError, "integer"),
        ({"IndexDimensions": 2}, DescriptorError, "IndexDimensions is 2"),
        ({"IndicesTensor": np.zeros(0, int)}, DescriptorError, "zero-size"),
        ({"IndicesTensor": np.zeros(2, np.uint8)}, DescriptorError, "UINT8"),
    ],
)
def test_refused(fields, error, text):
    arrays = {"InputTensor": np.zeros(3), "IndicesTensor": np.array([0])}
    with pytest.raises(error, match=text):
        run("GATHER", **arrays | fields)


def test_missing_tensor_and_unknown_operator():
    with pytest.raises(sr.ArgumentError, match="IndicesTensor is missing"):
        run("GATHER", InputTensor=np.zeros(3))
    with pytest.raises(sr.ArgumentError, match="TAKE"):
        run("TAKE")


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_reported_indices_of_both_widths_give_one_answer(dtype):
    # report/onnxruntime-27118
    data = np.array([5, 6, 7, 8], np.float32)
    result = run("GATHER", InputTensor=data, IndicesTensor=np.array([3, -4], dtype), Axis=0)
    assert result.tolist() == [8, 5]
