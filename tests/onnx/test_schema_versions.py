"""The table of versions against ONNX's own schemas, and what each version refuses."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import onnx.defs
import pytest
from family import FAMILY
from onnx import AttributeProto, helper

import sowreap
from sowreap.onnx import operators
from sowreap.onnx._schemas import SCHEMAS, Schema, element_type, find_schema, versions


def official_schemas() -> dict[tuple[str, int], onnx.defs.OpSchema]:
    return {
        (schema.name, schema.since_version): schema
        for schema in onnx.defs.get_all_schemas_with_history()
        if schema.domain == "" and schema.name in FAMILY
    }


def official_types(schema: onnx.defs.OpSchema, text: str) -> set[str]:
    allowed = {text}
    for constraint in schema.type_constraints:
        if constraint.type_param_str == text:
            allowed = set(constraint.allowed_type_strs)
    return {name.removeprefix("tensor(").removesuffix(")") for name in allowed}


def node_of(schema: Schema, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(schema.op_type, list(schema.inputs), ["output"], **attributes)


def test_table_has_every_version_of_the_standard_and_no_other():
    ours = [(schema.op_type, schema.since_version) for schema in SCHEMAS]
    assert sorted(ours) == sorted(official_schemas())


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_row_agrees_with_the_standard(schema: Schema):
    official = official_schemas()[schema.op_type, schema.since_version]
    assert [item.name for item in official.inputs] == list(schema.inputs)
    for item in official.inputs:
        is_index = item.name == schema.index_input
        assert official_types(official, item.type_str) == (
            schema.index_types if is_index else schema.data_types
        )
        is_optional = item.option == onnx.defs.OpSchema.FormalParameterOption.Optional
        assert is_optional == (item.name in schema.optional)
    assert official.deprecated == schema.deprecated
    assert set(official.attributes) == {attribute.name for attribute in schema.attributes}
    for attribute in schema.attributes:
        found = official.attributes[attribute.name]
        assert found.type.value == attribute.kind
        assert helper.get_attribute_value(found.default_value) in (
            attribute.default,
            str(attribute.default).encode(),
        )
        assert not found.required
        for word in ("none", "add", "mul", "max", "min", "linear", "circular"):
            is_named = re.search(rf"\b{word}\b", found.description) is not None
            assert (word in attribute.allowed) == (bool(attribute.allowed) and is_named)


@pytest.mark.parametrize(
    ("op_type", "opset", "since"),
    [
        ("Gather", 1, 1),
        ("Gather", 10, 1),
        ("Gather", 12, 11),
        ("Gather", 99, 13),
        ("GatherND", 12, 12),
        ("Scatter", 10, 9),
        ("Scatter", None, 9),
        ("ScatterElements", 17, 16),
        ("ScatterND", None, 18),
        ("TensorScatter", 24, 24),
    ],
)
def test_version_at_an_opset(op_type: str, opset: int | None, since: int):
    assert find_schema(op_type, opset).since_version == since
    options = {} if opset is None else {"opset": opset}
    node = node_of(find_schema(op_type, opset))
    assert getattr(operators, op_type)(node, **options).version.since_version == since


def test_opset_must_be_a_number():
    with pytest.raises(sowreap.ArgumentError, match="opset='18' is a str"):
        operators.ScatterND(node_of(find_schema("ScatterND")), opset="18")


@pytest.mark.parametrize("op_type", FAMILY[1:])
def test_operator_before_its_first_opset_is_refused(op_type: str):
    first = versions(op_type)[0]
    with pytest.raises(
        sowreap.ArgumentError, match=rf"{op_type}: opset {first.since_version - 1} has no such"
    ):
        getattr(operators, op_type)(node_of(first), opset=first.since_version - 1)


@pytest.mark.parametrize("opset", [11, 18, 25])
def test_deprecated_scatter_is_refused_and_names_its_successor(opset: int):
    with pytest.raises(sowreap.ArgumentError, match=r"deprecated since opset 11.*ScatterElements"):
        operators.Scatter(node_of(versions("Scatter")[0]), opset=opset)


@pytest.mark.parametrize(
    ("op_type", "opset", "attributes", "message"),
    [
        ("ScatterND", 16, {"reduction": "max"}, r"'max' is not one of 'none', 'add', 'mul'.*18"),
        ("ScatterND", 17, {"reduction": "min"}, r"\(opset 16\): reduction='min'.*opset 18"),
        ("ScatterElements", 16, {"reduction": "max"}, r"'max' is not one of.*opset 18"),
        ("ScatterElements", 18, {"reduction": "mean"}, r"'mean' is not one of .*'max', 'min'\.\n"),
        ("ScatterElements", 18, {"reduction": "ADD"}, r"reduction='ADD' is not one of"),
        ("ScatterND", 13, {"reduction": "add"}, r"unknown attribute 'reduction'.*from opset 16"),
        ("ScatterElements", 11, {"reduction": "none"}, r"unknown attribute 'reduction'"),
        ("GatherND", 11, {"batch_dims": 1}, r"unknown attribute 'batch_dims'.*from opset 12"),
        ("Gather", 13, {"batch_dims": 1}, r"unknown attribute 'batch_dims'.*Remove it"),
        ("GatherND", 13, {"axis": 1}, r"attributes of this version: batch_dims"),
        ("TensorScatter", 24, {"mode": "wrap"}, r"'wrap' is not one of 'linear', 'circular'"),
        ("TensorScatter", 24, {"reduction": "add"}, r"unknown attribute 'reduction'"),
        ("Gather", 13, {"axis": 1.0}, r"axis=1.0 is a float; it must be an integer"),
        ("Gather", 13, {"axis": "1"}, r"axis='1' is a str; it must be an integer"),
        ("ScatterND", 18, {"reduction": 1}, r"reduction=1 is a int; it must be a text"),
        ("Gather", 13, {"axis": [0]}, r"axis=\[0\] is a list; it must be an integer"),
    ],
)
def test_attribute_outside_its_version_is_refused(op_type, opset, attributes, message):
    node = node_of(find_schema(op_type, opset), **attributes)
    with pytest.raises(sowreap.ArgumentError, match=message):
        getattr(operators, op_type)(node, opset=opset)


def test_reduction_that_is_no_text_is_refused():
    node = node_of(find_schema("ScatterND"))
    node.attribute.append(AttributeProto(name="reduction", type=AttributeProto.STRING, s=b"\xff"))
    with pytest.raises(sowreap.ArgumentError, match="is not one of"):
        operators.ScatterND(node)


def test_linked_attribute_outside_its_version_is_refused():
    node = node_of(find_schema("ScatterND"))
    node.attribute.append(
        AttributeProto(name="reduction", type=AttributeProto.STRING, ref_attr_name="how")
    )
    with pytest.raises(sowreap.ArgumentError, match="unknown attribute 'reduction'"):
        operators.ScatterND(node, opset=13)


INDICES_32 = np.array([[0]], np.int32)


@pytest.mark.parametrize("op_type", ["GatherND", "ScatterND"])
def test_nd_indices_are_int64_by_the_standard(op_type: str):
    operator = getattr(operators, op_type)(node_of(find_schema(op_type)))
    inputs = [np.zeros(3), INDICES_32, np.zeros(1)][: len(operator.version.inputs)]
    with pytest.raises(sowreap.DtypeError, match=r"indices has dtype int32.*allows int64"):
        operator.run(*inputs)


@pytest.mark.parametrize("op_type", ["Gather", "GatherElements"])
@pytest.mark.parametrize("dtype", [np.int16, np.uint64, np.bool_, np.float32])
def test_index_dtypes_outside_the_standard_are_refused(op_type: str, dtype: type):
    operator = getattr(operators, op_type)(node_of(find_schema(op_type)))
    with pytest.raises(sowreap.DtypeError, match="this version allows int32, int64"):
        operator.run(np.zeros(3), np.zeros(1, dtype))


@pytest.mark.parametrize("op_type", ["Gather", "GatherElements", "GatherND"])
def test_bfloat16_comes_with_opset_13(op_type: str):
    data, indices = np.zeros((2, 2), ml_dtypes.bfloat16), np.zeros((1, 1), np.int64)
    node = node_of(find_schema(op_type))
    with pytest.raises(sowreap.DtypeError, match=r"data has dtype bfloat16.*from opset 13 on"):
        getattr(operators, op_type)(node, opset=12).run(data, indices)
    (output,) = getattr(operators, op_type)(node, opset=13).run(data, indices)
    assert output.dtype == data.dtype


def test_dtype_that_no_version_allows_is_refused():
    operator = operators.Gather(node_of(find_schema("Gather")))
    for dtype in (ml_dtypes.float8_e5m2, "datetime64[s]", [("a", "i4")]):
        with pytest.raises(sowreap.DtypeError, match=r"Convert it first\."):
            operator.run(np.zeros(3, dtype), np.array([0]))


def test_element_types_have_the_names_of_the_standard():
    for number in onnx.helper.get_all_tensor_dtypes():
        name = onnx.TensorProto.DataType.Name(number).lower()
        assert element_type(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))) == name
    assert element_type(np.dtype(">f4")) == "float"
    for text in ("U3", "S3", np.dtypes.StringDType()):
        assert element_type(np.dtype(text)) == "string"
