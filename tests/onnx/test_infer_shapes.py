"""Shapes of outputs from those of inputs: as onnx infers them, as execution has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from family import FAMILY
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

import sowreap
from sowreap.onnx import infer_shapes, operators
from sowreap.onnx._schemas import SCHEMAS

READ, WRITE = ("data", "indices"), ("data", "indices", "updates")
NAMES = {
    "TensorScatter": ("past_cache", "update", "write_indices"),
    **dict.fromkeys(("Gather", "GatherElements", "GatherND"), READ),
    **dict.fromkeys(("Scatter", "ScatterElements", "ScatterND"), WRITE),
}
OPSETS = {"Scatter": 10}
SIZES = st.integers(0, 4)


def make(op_type: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op_type, NAMES[op_type], ["output"], **attributes)


def infer(op_type: str, shapes: Any, **attributes: Any) -> Any:
    opset = OPSETS.get(op_type)
    (shape,) = infer_shapes(make(op_type, **attributes), shapes, opset=opset)
    return shape


@st.composite
def good_calls(draw: st.DrawFn) -> tuple[str, dict[str, Any], list[tuple[int, ...]]]:
    """Draw an operator, its attributes, and shapes that agree."""
    op_type = draw(st.sampled_from(FAMILY))
    data = tuple(draw(st.lists(SIZES, min_size=1, max_size=4)))
    axis = draw(st.integers(-len(data), len(data) - 1))
    if op_type == "Gather":
        return op_type, {"axis": axis}, [data, tuple(draw(st.lists(SIZES, max_size=3)))]
    if op_type in ("GatherElements", "Scatter", "ScatterElements"):
        indices = tuple(
            draw(SIZES) if d == axis % len(data) else draw(st.integers(0, size))
            for d, size in enumerate(data)
        )
        return op_type, {"axis": axis}, [data, indices, indices][: len(NAMES[op_type])]
    if op_type == "GatherND":
        batch_dims = draw(st.integers(0, len(data) - 1))
        rows = draw(st.lists(SIZES, max_size=2))
        length = draw(st.integers(0, len(data) - batch_dims))
        indices = (*data[:batch_dims], *rows, length)
        return op_type, {"batch_dims": batch_dims}, [data, indices]
    if op_type == "ScatterND":
        length = draw(st.integers(0, len(data)))
        indices = (*draw(st.lists(SIZES, max_size=2)), length)
        return op_type, {}, [data, indices, (*indices[:-1], *data[length:])]
    data = (*data, draw(SIZES))
    update = (*data[:-1], draw(st.integers(0, data[-1])))
    return op_type, {"axis": -1}, [data, update, data[:1]]


def executed(op_type: str, attributes: dict[str, Any], shapes: list[tuple[int, ...]]) -> Any:
    """Return the shape that comes out, or the error, with indices of 0."""
    options = {"opset": OPSETS[op_type]} if op_type in OPSETS else {}
    operator = getattr(operators, op_type)(make(op_type, **attributes), **options)
    position = 2 if op_type == "TensorScatter" else 1
    arrays = [
        np.zeros(shape, np.int64 if which == position else np.float32)
        for which, shape in enumerate(shapes)
    ]
    try:
        return operator.run(*arrays)[0].shape
    except sowreap.OutOfRangeError:
        return None  # an axis of length 0: shapes were good
    except sowreap.SowreapError as error:
        return error


@given(good_calls())
def test_good_shapes_as_executed(call):
    op_type, attributes, shapes = call
    expected = executed(op_type, attributes, shapes)
    assert infer(op_type, shapes, **attributes) == (
        expected if expected is not None else infer(op_type, shapes, **attributes)
    )
    assert not isinstance(expected, Exception)


@given(good_calls(), st.data())
def test_wrong_shapes_raise_what_execution_raises(call, data):
    op_type, attributes, shapes = call
    which = data.draw(st.integers(0, len(shapes) - 1))
    changed = list(shapes[which])
    if changed and data.draw(st.booleans()):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 6))
    else:
        changed.insert(data.draw(st.integers(0, len(changed))), data.draw(SIZES))
    shapes = [*shapes[:which], tuple(changed), *shapes[which + 1 :]]
    expected = executed(op_type, attributes, shapes)
    if isinstance(expected, Exception):
        with pytest.raises(type(expected)) as raised:
            infer(op_type, shapes, **attributes)
        assert str(raised.value) == str(expected)
        assert (raised.value.operator, raised.value.argument) == (
            expected.operator,
            expected.argument,
        )
    elif expected is not None:
        assert infer(op_type, shapes, **attributes) == expected


@given(good_calls(), st.data())
def test_symbols_never_say_more_than_is_true(call, data):
    """Where sizes are hidden, what is inferred holds for the sizes that were there."""
    op_type, attributes, shapes = call
    expected = infer(op_type, shapes, **attributes)
    hidden = [
        tuple(data.draw(st.sampled_from([size, f"s{size}", None])) for size in shape)
        for shape in shapes
    ]
    found = infer(op_type, hidden, **attributes)
    if found is None:
        assert op_type == "GatherND"
        return
    assert len(found) == len(expected)
    for size, true in zip(found, expected, strict=True):
        assert size in (true, f"s{true}", None)


@given(good_calls(), st.data())
def test_no_less_than_onnx_infers(call, data):
    """Onnx's own inference, on models with symbols; GatherElements, say, it does not check."""
    op_type, attributes, shapes = call
    hidden = [
        tuple(data.draw(st.sampled_from([size, f"s{size}"])) for size in shape) for shape in shapes
    ]
    position = 2 if op_type == "TensorScatter" else 1
    inputs = [
        helper.make_tensor_value_info(
            name, TensorProto.INT64 if which == position else TensorProto.FLOAT, shape
        )
        for which, (name, shape) in enumerate(zip(NAMES[op_type], hidden, strict=True))
    ]
    output = helper.make_empty_tensor_value_info("output")
    graph = helper.make_graph([make(op_type, **attributes)], "g", inputs, [output])
    opset = OPSETS.get(op_type, 24)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    inferred = onnx.shape_inference.infer_shapes(model).graph.output[0].type.tensor_type
    if not inferred.HasField("shape"):
        return
    found = infer(op_type, hidden, **attributes)
    assert found is not None
    assert len(found) == len(inferred.shape.dim)
    for size, dim in zip(found, inferred.shape.dim, strict=True):
        if dim.HasField("dim_value"):
            assert size in (dim.dim_value, f"s{dim.dim_value}")
        elif dim.dim_param.startswith("s"):
            assert size in (dim.dim_param, int(dim.dim_param[1:]))


@pytest.mark.parametrize(
    ("op_type", "shapes", "attributes", "expected"),
    [
        ("Gather", [("a", None), ("b", 3)], {"axis": -1}, ("a", "b", 3)),
        ("Gather", [("a", 2), ()], {"axis": 0}, (2,)),
        ("Gather", [None, (2,)], {}, None),
        ("Gather", [(2, 3), None], {}, None),
        ("GatherElements", [None, ("n", 2)], {}, ("n", 2)),
        ("GatherElements", [(5, 6), None], {}, (None, None)),
        ("GatherND", [("b", 4, 5), (None, "m", 1)], {"batch_dims": 1}, ("b", "m", 5)),
        ("GatherND", [("b", 4, 5), (8, "m", 1)], {"batch_dims": 1}, (8, "m", 5)),
        ("GatherND", [("b", 4, 5), ("m", "k")], {}, None),
        ("ScatterND", [(None, None, "w"), ("m", 1), (7, "h", 32)], {}, (None, "h", 32)),
        ("ScatterND", [(None, "w"), ("m", "k"), ("m", 9)], {}, (None, 9)),
        ("ScatterND", [(4, "w"), ("m", "k"), None], {}, (4, "w")),
        ("ScatterND", [("n", 3), ("n", 1), (6, 3)], {}, (6, 3)),
        ("ScatterElements", [("n", "n"), (2, 2), (2, 2)], {}, ("n", "n")),
        ("ScatterElements", [None, (2, "m"), None], {}, (None, None)),
        ("ScatterElements", [None, None, None], {}, None),
        ("TensorScatter", [(None, 9, "d"), ("b", 1, 64), ("b",)], {"axis": 1}, ("b", 9, 64)),
        ("TensorScatter", [("b", 9, "d"), ("b", "s", "d"), (3,)], {"axis": 1}, (3, 9, "d")),
        ("TensorScatter", [None, ("b", 2, 3), None], {"axis": 1}, (None, None, None)),
    ],
)
def test_symbols(op_type, shapes, attributes, expected):
    assert infer(op_type, shapes, **attributes) == expected
    by_name = dict(zip(NAMES[op_type], shapes, strict=True))
    assert infer(op_type, by_name, **attributes) == expected


@pytest.mark.parametrize(
    ("op_type", "shapes", "attributes", "message"),
    [
        ("Gather", [("n", 2), (1,)], {"axis": 2}, r"axis = 2 .*shape \(n, 2\)"),
        ("GatherElements", [("n", 2), (9, 3)], {}, r"size 3 in dimension 1.*shape \(n, 2\)"),
        ("ScatterND", [(4, 3), ("m", 1), ("m", 4)], {}, r"shape \(m, 4\) but needs .* \(m, 3\)"),
        ("ScatterND", [(4, None), ("m", 3), ("m",)], {}, r"tuples have length 3.*\(4, \?\)"),
        ("ScatterND", [("n", "n"), (2, 1), (2, "n")], {"reduction": "sum"}, "'sum' is not one"),
        ("ScatterND", [("n", 3), ("n", 1), (6, 4)], {}, r"needs shape \(n, 3\)"),
        ("TensorScatter", [("b", 9, 4), ("b", 1, 4), (2, 2)], {}, r"write_indices has shape"),
        (
            "TensorScatter",
            [(2, 9, "b"), ("b", 1, 4), ("b",)],
            {},
            "b would have to be both 2 and 4",
        ),
        ("Gather", [(-1, 2), (1,)], {}, "'data' has -1 at position 0"),
        ("Gather", [(True, 2), (1,)], {}, "'data' has True at position 0"),
        ("Gather", [(1,)], {}, "1 shapes for 2 inputs"),
    ],
)
def test_what_cannot_fit_is_refused(op_type, shapes, attributes, message):
    with pytest.raises(ValueError, match=message) as raised:
        infer(op_type, shapes, **attributes)
    assert isinstance(raised.value, sowreap.SowreapError)


def test_nodes_that_are_refused():
    with pytest.raises(sowreap.ArgumentError, match="the node is a 'Relu'"):
        infer_shapes(helper.make_node("Relu", ["x"], ["y"]), [(1,)])
    with pytest.raises(sowreap.ArgumentError, match="deprecated since opset 11"):
        infer_shapes(make("Scatter"), [(1,), (1,), (1,)], opset=18)
    with pytest.raises(sowreap.DtypeError, match="is a int"):
        infer_shapes(make("Gather"), [3, (1,)])
    node = make("Gather")
    node.attribute.add(name="axis", type=onnx.AttributeProto.INT, ref_attr_name="along")
    with pytest.raises(sowreap.ArgumentError, match="linked to attribute 'along'"):
        infer_shapes(node, [(1,), (1,)])


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_every_version(schema):
    if schema.deprecated:
        return
    shapes = {
        "Gather": [(3, "n"), (2,)],
        "GatherND": [(3, "n"), (2, 1)],
        "GatherElements": [(3, "n"), (2, "n")],
        "ScatterND": [(2, "n"), (4, 1), (4, "n")],
        "TensorScatter": [(2, "n", 3), (2, 1, 3), (2,)],
    }.get(schema.op_type, [(2, "n"), (1, "n"), (1, "n")])
    node = make(schema.op_type)
    (shape,) = infer_shapes(node, shapes, opset=schema.since_version)
    assert shape == ((2, "n", 3) if schema.op_type == "TensorScatter" else (2, "n"))


def test_optional_input_left_out():
    node = helper.make_node("TensorScatter", ["p", "u"], ["y"])
    assert infer_shapes(node, [(2, "n", 3), ("b", 1, 3)]) == [(2, "n", 3)]
    node = helper.make_node("TensorScatter", ["p", "u", ""], ["y"])
    assert infer_shapes(node, {"p": (2, "n", 3), "u": ("b", 1, 3)}) == [(2, "n", 3)]
