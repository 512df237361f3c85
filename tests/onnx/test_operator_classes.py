"""The seven classes alone: construction, running, description, export."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from family import FUNCTIONS
from numpy.testing import assert_array_equal
from onnx import AttributeProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun, RefAttrName

import sowreap
from sowreap.onnx import operators, reference_ops

DATA = np.arange(12, dtype=np.float32).reshape(3, 4)
EXAMPLES: dict[str, tuple[list[Any], dict[str, Any], Any]] = {
    "Gather": ([DATA, np.array([2, -4])], {"axis": 1}, DATA[:, [2, 0]]),
    "GatherElements": (
        [DATA, np.array([[1, 2, 0, -1]])],
        {"axis": 0},
        np.array([[4, 9, 2, 11]], np.float32),
    ),
    "GatherND": ([DATA, np.array([[1], [0], [2]])], {"batch_dims": 1}, DATA[[0, 1, 2], [1, 0, 2]]),
    "Scatter": (
        [np.zeros((1, 3)), np.array([[2, 0]]), np.array([[5.0, 6.0]])],
        {"axis": 1},
        np.array([[6.0, 0.0, 5.0]]),
    ),
    "ScatterElements": (
        [np.ones(3), np.array([1, 1]), np.array([2.0, 5.0])],
        {"axis": -1, "reduction": "mul"},
        np.array([1.0, 10.0, 1.0]),
    ),
    "ScatterND": (
        [np.zeros((2, 2)), np.array([[1], [1]]), np.array([[1.0, 2.0], [3.0, 1.0]])],
        {"reduction": "max"},
        np.array([[0.0, 0.0], [3.0, 2.0]]),
    ),
    "TensorScatter": (
        [np.zeros((1, 3, 1)), np.array([[[1.0], [2.0]]]), np.array([2])],
        {"axis": 1, "mode": "circular"},
        np.array([[[2.0], [0.0], [1.0]]]),
    ),
}
OPSETS = {"Scatter": 10}


def build(op_type: str, *, opset: int | None = None, **attributes: Any) -> Any:
    inputs, _, _ = EXAMPLES[op_type]
    names = [f"x{position}" for position in range(len(inputs))]
    node = helper.make_node(op_type, names, ["y"], name="the_node", **attributes)
    options = {} if opset is None else {"opset": opset}
    return getattr(operators, op_type)(node, **options)


def linked(op_type: str, name: str, function_attribute: str, kind: int) -> Any:
    operator = build(op_type)
    operator.onnx_node.attribute.append(
        AttributeProto(name=name, type=kind, ref_attr_name=function_attribute)
    )
    return type(operator)(operator.onnx_node)


@pytest.mark.parametrize("op_type", EXAMPLES)
def test_run_and_underscore_run_return_a_tuple(op_type: str):
    inputs, attributes, expected = EXAMPLES[op_type]
    operator = build(op_type, **attributes)
    for result in (operator.run(*inputs), operator._run(*inputs)):
        assert isinstance(result, tuple)
        assert len(result) == 1
        assert_array_equal(result[0], expected, strict=True)


@pytest.mark.parametrize("op_type", EXAMPLES)
def test_class_is_an_operator_of_onnx_and_calls_the_function(op_type: str, calls):
    inputs, attributes, _ = EXAMPLES[op_type]
    operator = build(op_type, **attributes)
    assert isinstance(operator, OpRun)
    assert (operator.op_domain, type(operator).__name__) == ("", op_type)
    operator.run(*inputs)
    assert dict(calls) == {FUNCTIONS[op_type]: 1}


def test_signatures_are_those_of_the_contract():
    tail = ["attributes", "verbose", "fLOG"]
    for operator in reference_ops():
        constructor = inspect.signature(operator)
        assert list(constructor.parameters) == ["onnx_node", "desc", "options"]
        assert constructor.parameters["desc"].default is None
        run = inspect.signature(operator._run).parameters
        schema = operators.find_schema(operator.__name__)
        assert list(run) == ["self", *schema.inputs, *tail]
        assert [run[name].default for name in tail] == [None, 0, None]
        assert run[schema.inputs[-1]].default is (
            None if schema.optional else inspect.Parameter.empty
        )


@pytest.mark.parametrize("op_type", EXAMPLES)
def test_exported_code_does_the_same(op_type: str):
    inputs, attributes, expected = EXAMPLES[op_type]
    names = [f"x{position}" for position in range(len(inputs))]
    imports, code = build(op_type, **attributes).to_python(names)
    body = "\n    ".join(code.splitlines())
    scope: dict[str, Any] = {}
    exec(f"{imports}\ndef exported({', '.join(names)}):\n    {body}", scope)
    assert_array_equal(scope["exported"](*inputs), expected, strict=True)


def test_exported_code_of_missing_and_linked():
    operator = build("TensorScatter")
    _, code = operator.to_python(["past", "new"])
    assert code == "return sowreap.tensor_scatter(past, new, axis=-2, mode='linear')"
    _, code = operator.to_python(["past", "new", ""])
    assert code == "return sowreap.tensor_scatter(past, new, None, axis=-2, mode='linear')"
    gather = linked("Gather", "axis", "along", AttributeProto.INT)
    assert gather.to_python(["a", "b"])[1] == "return sowreap.gather(a, b, axis=along)"
    with pytest.raises(sowreap.ArgumentError, match="input 'indices' is missing"):
        gather.to_python(["a"])


def test_description_of_arguments():
    operator = build("ScatterElements", axis=2)
    assert operator.args_default == ["axis=0", "reduction='none'"]
    assert operator.args_default_modified == ["axis=2"]
    assert operator.args_mandatory == ["data", "indices", "updates"]
    assert operator.args_optional == []
    assert operator.atts_value == {"axis": 2, "reduction": "none"}
    assert build("ScatterElements", opset=13).atts_value == {"axis": 0}
    cache = build("TensorScatter", mode="circular")
    assert cache.args_mandatory == ["past_cache", "update"]
    assert cache.args_optional == ["write_indices=None"]
    assert cache.args_default_modified == ["mode='circular'"]
    assert build("GatherND", opset=11).args_default == []
    assert operator.axis == 2
    assert "reduction=none" in str(operator)


def test_options_and_descriptions_set_attributes():
    node = helper.make_node("ScatterND", ["d", "i", "u"], ["y"], reduction="mul")
    assert operators.ScatterND(node, reduction="add").reduction == "add"
    described = {"atts": {"reduction": {"value": b"min"}}}
    assert operators.ScatterND(node, described).reduction == "min"
    described = {"atts": {"reduction": {"value": b"min", "value_rt": "max"}}}
    operator = operators.ScatterND(node, described)
    assert operator.desc is described
    data, indices = np.array([1, 5]), np.array([[0], [1]])
    assert_array_equal(operator.run(data, indices, np.array([3, 3]))[0], [3, 5])
    assert operators.ScatterND(node, {"opsets": {"ai.onnx": 17}}).version.since_version == 16
    with pytest.raises(sowreap.ArgumentError, match="unknown attribute 'runtime'"):
        operators.ScatterND(node, runtime="c")
    with pytest.raises(sowreap.ArgumentError, match="reduction='sum' is not one of"):
        operators.ScatterND(node, reduction="sum")


@pytest.mark.parametrize("op_type", EXAMPLES)
def test_description_alone_makes_an_operator(op_type: str):
    inputs, attributes, expected = EXAMPLES[op_type]
    described: dict[str, Any] = {
        "atts": {
            name: {"value": value.encode() if isinstance(value, str) else value}
            for name, value in attributes.items()
        }
    }
    operator = getattr(operators, op_type)(None, described)
    assert operator.atts_value | attributes == operator.atts_value
    assert_array_equal(operator.run(*inputs)[0], expected, strict=True)
    with pytest.raises(sowreap.ArgumentError, match="unknown attribute 'runtime'"):
        getattr(operators, op_type)(None, runtime="c")


def test_node_of_another_operator_is_refused():
    node = helper.make_node("Gather", ["d", "i"], ["y"])
    with pytest.raises(sowreap.ArgumentError, match="GatherND: the node is a 'Gather'"):
        operators.GatherND(node)


def test_onnx_helpers_build_and_evaluate():
    output = operators.ScatterND.eval(
        np.zeros(2), np.array([[1], [1]]), np.array([2.0, 3.0]), reduction="add"
    )
    assert_array_equal(output, [0, 5])


def test_linked_attributes_take_values_at_call_time():
    operator = linked("Gather", "axis", "along", AttributeProto.INT)
    assert operator.has_linked_attribute
    indices = np.array([1])
    for axis in (0, 1, -1):
        expected = np.take(DATA, indices, axis)
        (output,) = operator._run(DATA, indices, attributes={"along": axis, "other": 7})
        assert_array_equal(output, expected)
        (output,) = operator.run(DATA, indices, linked_attributes={"along": axis})
        assert_array_equal(output, expected)
        (output,) = operator.run(DATA, indices, attributes={"along": axis})
        assert_array_equal(output, expected)
    assert operator.atts_value["axis"].name == "along"


def test_options_link_attributes_too():
    node = helper.make_node("Gather", ["d", "i"], ["y"])
    operator = operators.Gather(node, axis=RefAttrName("along"))
    (output,) = operator.run(DATA, np.array([2]), attributes={"along": 1})
    assert_array_equal(output, DATA[:, [2]])
    with pytest.raises(sowreap.ArgumentError, match="unknown attribute 'dim'"):
        operators.Gather(node, dim=RefAttrName("along"))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (None, r"axis is linked to attribute 'along' .*known: \[\]"),
        ({"axis": 1}, r"axis is linked to attribute 'along' .*known: \['axis'\]"),
        ({"along": "1"}, r"axis='1' is a str"),
        ({"along": True}, r"axis=True is a bool"),
    ],
)
def test_linked_attribute_without_a_good_value_is_refused(attributes, message):
    operator = linked("Gather", "axis", "along", AttributeProto.INT)
    with pytest.raises(sowreap.ArgumentError, match=message):
        operator.run(DATA, np.array([0]), attributes=attributes)


def test_linked_reduction_is_checked_against_the_version():
    operator = linked("ScatterND", "reduction", "how", AttributeProto.STRING)
    old = operators.ScatterND(operator.onnx_node, opset=16)
    inputs = [np.zeros(2), np.array([[0]]), np.array([1.0])]
    assert operator.run(*inputs, attributes={"how": "max"})[0][0] == 1
    with pytest.raises(sowreap.ArgumentError, match="reduction='max' is not one of"):
        old.run(*inputs, attributes={"how": "max"})


def test_attributes_for_a_node_that_links_none_are_refused():
    with pytest.raises(sowreap.ArgumentError, match="no attribute of the node is linked"):
        build("Gather").run(DATA, np.array([0]), attributes={"axis": 1})


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "input 'data' is missing; the inputs are data, indices, updates"),
        ([DATA], "input 'indices' is missing"),
        ([DATA, None, DATA], "input 'indices' is missing"),
        ([DATA, np.array([[0]]), DATA[:1], DATA], "4 inputs were given; it takes at most 3"),
    ],
)
def test_wrong_number_of_inputs_is_refused(inputs, message):
    with pytest.raises(sowreap.ArgumentError, match=message):
        build("ScatterND").run(*inputs)


def test_missing_optional_input():
    past, update = np.zeros((1, 2, 1)), np.ones((1, 1, 1))
    operator = build("TensorScatter")
    for inputs in ([past, update], [past, update, None], [past, update, None, None]):
        assert_array_equal(operator.run(*inputs)[0].ravel(), [1, 0])


def test_array_likes_are_taken():
    assert_array_equal(build("Gather").run([5, 6, 7], [2, -3])[0], [7, 5])


def test_errors_of_the_functions_come_through():
    with pytest.raises(sowreap.OutOfRangeError, match="3"):
        build("Gather").run(DATA, np.array([3]))
    with pytest.raises(sowreap.DtypeError):
        build("ScatterND").run(np.zeros(2), np.array([[0]]), np.zeros(1, np.float32))
    with pytest.raises(sowreap.ShapeError):
        build("GatherElements").run(DATA, np.array([0]))


def test_trace_tells_types_shapes_and_values():
    lines: list[str] = []
    operator = build("ScatterND", reduction="add")
    inputs = [np.zeros(2), np.array([[1]]), np.array([4.5])]
    operator.run(*inputs, verbose=1, fLOG=lines.append)
    assert lines == [
        "ScatterND (opset 18) the_node(data: float64[2], indices: int64[1, 1], "
        "updates: float64[1], reduction='add')",
        "ScatterND (opset 18) the_node -> float64[2]",
    ]
    lines.clear()
    operator._run(*inputs, verbose=2, fLOG=lines.append)
    assert "updates: float64[1] [4.5]" in lines[0]
    assert lines[1].endswith("-> float64[2] [0. , 4.5]")
    lines.clear()
    operator.run(*inputs, fLOG=lines.append)
    assert lines == []


def test_trace_goes_to_print_by_default(capsys: pytest.CaptureFixture[str]):
    build("TensorScatter").run(np.zeros((1, 2, 1)), np.ones((1, 1, 1)), verbose=1)
    assert "write_indices: none" in capsys.readouterr().out


def test_gather_numpy_is_gather_elements():
    index = np.array([[0, 0], [1, 0]])
    data = np.array([[1, 2], [3, 4]])
    assert_array_equal(operators.gather_numpy(data, 1, index), [[1, 1], [4, 3]])
    wide = np.arange(100).reshape(100, 1)
    assert_array_equal(operators.gather_numpy(wide, 0, np.array([[99]])), [[99]])


@pytest.mark.parametrize("op_type", EXAMPLES)
def test_drop_in_for_the_reference_evaluator(op_type: str, calls):
    inputs, attributes, expected = EXAMPLES[op_type]
    names = [f"x{position}" for position in range(len(inputs))]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, ["y"], **attributes)],
        "drop_in",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in zip(names, inputs, strict=True)
        ],
        [
            helper.make_tensor_value_info(
                "y", helper.np_dtype_to_tensor_dtype(expected.dtype), expected.shape
            )
        ],
    )
    opset = OPSETS.get(op_type, operators.find_schema(op_type).since_version)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    evaluator = ReferenceEvaluator(model, new_ops=reference_ops(), verbose=11)
    (output,) = evaluator.run(None, dict(zip(names, inputs, strict=True)))
    assert_array_equal(output, expected, strict=True)
    assert calls[FUNCTIONS[op_type]] == 1


def test_reference_ops_are_all_seven():
    assert [operator.__name__ for operator in reference_ops()] == list(EXAMPLES)
    assert [operator.__name__ for operator in reference_ops()] == [
        name for name in operators.__all__ if name[0].isupper()
    ]
