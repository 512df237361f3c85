"""What onnxruntime's DirectML provider makes of ONNX nodes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

import sowreap as sr
from sowreap.directml import NoDescriptorError, execute, from_onnx, validate

F, I = np.float32, np.int64  # noqa: E741


def node(op_type, **attributes):
    names = ["data", "indices", "updates"][: 3 if "Scatter" in op_type else 2]
    return helper.make_node(op_type, names, ["output"], **attributes)


# node, shapes, operator, attributes, sizes of the tensors in struct order
MAPPED = {
    "Gather of a matrix of indices": (
        node("Gather", axis=1),
        [(5, 4), (2, 3)],
        "GATHER",
        {"Axis": 2, "IndexDimensions": 2},
        [(1, 5, 4), (1, 2, 3), (5, 2, 3)],
    ),
    "Gather of a scalar": (
        node("Gather", axis=-1),
        [(5, 4), ()],
        "GATHER",
        {"Axis": 1, "IndexDimensions": 0},
        [(5, 4), (1, 1), (1, 5)],
    ),
    "GatherElements": (
        node("GatherElements", axis=-2),
        [(5, 4), (2, 4)],
        "GATHER_ELEMENTS",
        {"Axis": 0},
        [(5, 4), (2, 4), (2, 4)],
    ),
    "GatherND without batches": (
        node("GatherND"),
        [(5, 4), (3, 2, 1)],
        "GATHER_ND1",
        {"InputDimensionCount": 2, "IndicesDimensionCount": 3, "BatchDimensionCount": 0},
        [(1, 5, 4), (3, 2, 1), (3, 2, 4)],
    ),
    "GatherND with batches": (
        node("GatherND", batch_dims=1),
        [(2, 5, 4), (2, 1)],
        "GATHER_ND1",
        {"InputDimensionCount": 3, "IndicesDimensionCount": 2, "BatchDimensionCount": 1},
        [(2, 5, 4), (1, 2, 1), (1, 2, 4)],
    ),
    "Scatter": (
        node("Scatter"),
        [(5, 4), (2, 4), (2, 4)],
        "SCATTER",
        {"Axis": 0},
        [(5, 4), (2, 4), (2, 4), (5, 4)],
    ),
    "ScatterElements with fewer indices": (
        node("ScatterElements", axis=-1, reduction="none"),
        [(5, 4), (2, 3), (2, 3)],
        "SCATTER",
        {"Axis": 1},
        [(5, 4), (2, 3), (2, 3), (5, 4)],
    ),
    "ScatterND": (
        node("ScatterND"),
        [(8,), (4, 1), (4,)],
        "SCATTER_ND",
        {"InputDimensionCount": 1, "IndicesDimensionCount": 2},
        [(1, 8), (4, 1), (1, 4), (1, 8)],
    ),
    "ScatterElements without indices": (
        node("ScatterElements"),
        [(5, 4), (0, 4), (0, 4)],
        "ELEMENT_WISE_IDENTITY",
        {},
        [(5, 4), (5, 4)],
    ),
    "ScatterND without indices": (
        node("ScatterND"),
        [(5, 4), (0, 1), (0, 4)],
        "ELEMENT_WISE_IDENTITY",
        {},
        [(5, 4), (5, 4)],
    ),
}


@pytest.mark.parametrize("case", MAPPED)
def test_mapped(case):
    made, shapes, operator, attributes, sizes = MAPPED[case]
    desc = from_onnx(made, shapes, [F, I, F])
    assert (desc.operator, desc.attributes) == (operator, attributes)
    assert [tensor.sizes for tensor in desc.tensors.values()] == sizes
    validate(desc, strict=False)


@pytest.mark.parametrize("case", MAPPED)
def test_computes_what_the_node_does(case):
    made, shapes, *_ = MAPPED[case]
    desc = from_onnx(made, shapes, [F, I, F])
    rng = np.random.default_rng(5)
    data = rng.random(shapes[0], F)
    indices = np.zeros(shapes[1], I)
    indices[...] = np.arange(indices.size).reshape(indices.shape) % 4 - 4
    inputs = [data, indices, *(rng.random(shape, F) for shape in shapes[2:])]
    function = {
        "Gather": sr.gather,
        "GatherElements": sr.gather_elements,
        "GatherND": sr.gather_nd,
        "Scatter": sr.scatter,
        "ScatterElements": sr.scatter_elements,
        "ScatterND": sr.scatter_nd,
    }[made.op_type]
    attributes = {a.name: helper.get_attribute_value(a) for a in made.attribute}
    attributes.pop("reduction", None)
    expected = function(*inputs, **attributes)
    output = np.zeros(expected.shape, F)
    bound = inputs[:1] if desc.operator == "ELEMENT_WISE_IDENTITY" else inputs
    execute(desc, bound, output, strict=False)
    np.testing.assert_array_equal(output, expected)


# node, shapes, dtypes, level, words of the reason
NONE = {
    "reduction": (node("ScatterND", reduction="add"), [(5,), (2, 1), (2,)], [F, I, F], "'add'"),
    "bool": (node("Gather"), [(5,), (2,)], [bool, I], "'data' has dtype bool"),
    "complex": (node("Gather"), [(5,), (2,)], [np.complex64, I], "dtype complex64"),
    "strings": (node("Gather"), [(5,), (2,)], [object, I], "dtype object"),
    "bfloat16": (
        node("Gather"),
        [(5,), (2,)],
        [TensorProto.BFLOAT16, TensorProto.INT64],
        "dtype bfloat16",
    ),
    "rank of an operand": (node("Gather"), [(1,) * 9, (2,)], [F, I], "at most 8 .* takes 9"),
    "rank of the output": (node("Gather"), [(1,) * 8, (2, 2)], [F, I], "takes 9"),
    "another operator": (
        helper.make_node("Add", ["a", "b"], ["c"]),
        [(1,), (1,)],
        [F, F],
        "Gather,",
    ),
    "TensorScatter": (
        helper.make_node("TensorScatter", ["a", "b"], ["c"]),
        [(1, 2, 3), (1, 1, 3)],
        [F, F],
        "no operator",
    ),
    "another domain": (
        helper.make_node("Gather", ["a", "b"], ["c"], domain="other"),
        [(1,), (1,)],
        [F, I],
        "no operator",
    ),
    "no data": (node("Gather"), [(0, 3), (2,)], [F, I], "empty"),
    "no indices of a gather": (node("Gather"), [(3,), (0,)], [F, I], "empty"),
    "no data of a scatter": (
        node("ScatterElements"),
        [(0, 3), (0, 3), (0, 3)],
        [F, I, F],
        "empty",
    ),
    "tuples of length 0": (node("ScatterND"), [(3,), (2, 0), (2, 3)], [F, I, F], "empty"),
    "no tuple": (node("GatherND"), [(3,), ()], [F, I], "rank 0"),
    "unknown shape": (node("Gather"), [("N", 3), (2,)], [F, I], "'data' is not known"),
    "unknown rank": (node("Gather"), [None, (2,)], [F, I], "not known"),
    "axis": (node("Gather", axis=2), [(3, 3), (2,)], [F, I], "axis 2"),
    "batches": (node("GatherND", batch_dims=1), [(2, 5), (3, 1)], [F, I], "batch-sizes"),
    "index type": (node("Gather"), [(3,), (2,)], [F, np.int16], "IndicesTensor.DataType is INT16"),
}


@pytest.mark.parametrize("case", NONE)
def test_none(case):
    made, shapes, dtypes, words = NONE[case]
    with pytest.raises(NoDescriptorError, match=words) as caught:
        from_onnx(made, shapes, dtypes)
    assert isinstance(caught.value, ValueError)
    assert caught.value.reason in str(caught.value)
    assert str(caught.value).startswith(f"{made.op_type}: no DirectML descriptor")


def test_by_name_and_by_enum():
    made = node("Gather")
    by_name = from_onnx(made, {"indices": (2,), "data": (5,)}, {"indices": I, "data": F})
    by_enum = from_onnx(made, [(5,), (2,)], [TensorProto.FLOAT, TensorProto.INT64])
    assert by_name == by_enum


def test_feature_level():
    made, shapes = node("Gather"), [(5, 4), (2, 3)]
    desc = from_onnx(made, shapes, [F, np.uint32], "2_1")
    assert {len(tensor.sizes) for tensor in desc.tensors.values()} == {4}
    assert desc.attributes["Axis"] == 2
    with pytest.raises(NoDescriptorError, match="DataType is INT64"):
        from_onnx(made, shapes, [F, I], "2_1")
    with pytest.raises(NoDescriptorError, match="GATHER_ND1"):
        from_onnx(node("GatherND"), shapes, [F, np.uint32], "2_1")


def test_too_few_shapes():
    with pytest.raises(sr.ArgumentError, match="2 are due"):
        from_onnx(node("Gather"), [(5, 4)], [F, I])
