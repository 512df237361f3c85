"""Models of every element type and reduction, against the oracle."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from family import FUNCTIONS, reference_session
from numpy.testing import assert_array_equal
from onnx import helper

import sowreap
from sowreap import _reference
from sowreap.onnx import InferenceSession
from sowreap.onnx._schemas import SCHEMAS, Schema, find_schema

RNG = np.random.default_rng(20)
REDUCTIONS = ("none", "add", "mul", "max", "min")


def value_info(name: str, element: int, rank: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, [None] * rank)


def session_of(
    schema: Schema, feeds: dict[str, np.ndarray], elements: dict[str, int], **attributes: Any
) -> InferenceSession:
    """A model of one node, at the opset of `schema`."""
    data = schema.inputs[0]
    graph = helper.make_graph(
        [helper.make_node(schema.op_type, list(feeds), ["output"], **attributes)],
        "one_node",
        [value_info(name, elements[name], value.ndim) for name, value in feeds.items()],
        [value_info("output", elements[data], feeds[data].ndim)],
    )
    imports = [helper.make_opsetid("", schema.since_version)]
    return reference_session(helper.make_model(graph, opset_imports=imports))


def values(element: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return short texts, or numbers that every type but bool holds exactly: 1, 2 and 4."""
    numbers = 2 ** RNG.integers(0, 3, shape)
    if element == onnx.TensorProto.STRING:
        return numbers.astype("U1").astype(object)
    if element == onnx.TensorProto.BOOL:
        return numbers == 1
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(element))
    if dtype.kind == "c":
        return (numbers + 1j * RNG.integers(-2, 3, shape)).astype(dtype)
    return numbers.astype(np.float32).astype(dtype)


FEEDS: dict[str, dict[str, Any]] = {
    "Gather": {"data": (4, 3), "indices": [3, -4, 3]},
    "GatherElements": {"data": (4, 3), "indices": [[1, 0, -1], [0, 3, 3]]},
    "GatherND": {"data": (4, 3), "indices": [[3, 0], [-1, -1]]},
    "Scatter": {"data": (4, 3), "indices": [[1, 0, -1], [0, 3, 2]], "updates": (2, 3)},
    "ScatterElements": {"data": (4, 3), "indices": [[1, 0, -1], [0, 3, 2]], "updates": (2, 3)},
    "ScatterND": {"data": (4, 3), "indices": [[3], [-3]], "updates": (2, 3)},
    "TensorScatter": {"past_cache": (2, 4, 3), "update": (2, 2, 3), "write_indices": [0, 2]},
}
ELEMENTS = {
    onnx.TensorProto.DataType.Name(number).lower(): number
    for number in helper.get_all_tensor_dtypes()
}
CASES = [
    pytest.param(schema, ELEMENTS[data], ELEMENTS[index], id=f"{schema}-{data}-{index}")
    for schema in SCHEMAS
    if not schema.deprecated
    for data in sorted(schema.data_types)
    for index in sorted(schema.index_types)
]


@pytest.mark.parametrize(("schema", "data", "index"), CASES)
def test_every_element_type_of_every_version_runs(schema: Schema, data: int, index: int):
    elements = {name: index if name == schema.index_input else data for name in schema.inputs}
    feeds = {
        name: values(data, recipe)
        if isinstance(recipe, tuple)
        else np.array(recipe, helper.tensor_dtype_to_np_dtype(index))
        for name, recipe in FEEDS[schema.op_type].items()
    }
    (output,) = session_of(schema, feeds, elements).run(None, feeds)
    expected = getattr(_reference, FUNCTIONS[schema.op_type])(*feeds.values())
    assert_array_equal(output, expected, strict=True)


NUMBERS = sorted(find_schema("ScatterND").data_types - {"string"})
ADDITIVE = [
    schema for schema in SCHEMAS if "reduction" in {each.name for each in schema.attributes}
]
INDICES = {
    "ScatterElements": [[0, 2, 0], [0, 2, 1], [-3, 2, 0]],
    "ScatterND": [[0], [2], [-3]],
}


def reduction_feeds(schema: Schema, element: int) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    feeds = {
        "data": values(element, (3, 3)),
        "indices": np.array(INDICES[schema.op_type]),
        "updates": values(element, (3, 3)),
    }
    return feeds, {"data": element, "indices": ELEMENTS["int64"], "updates": element}


@pytest.mark.parametrize("schema", ADDITIVE, ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", NUMBERS)
def test_reductions(schema: Schema, reduction: str, name: str):
    feeds, elements = reduction_feeds(schema, ELEMENTS[name])
    if reduction not in schema.attribute("reduction").allowed:
        with pytest.raises(sowreap.ArgumentError, match=f"reduction='{reduction}' is not one of"):
            session_of(schema, feeds, elements, reduction=reduction)
        return
    session = session_of(schema, feeds, elements, reduction=reduction)
    if name.startswith("complex") and reduction in ("max", "min"):
        with pytest.raises(sowreap.DtypeError, match="complex"):
            session.run(None, feeds)
        return
    expected = getattr(_reference, FUNCTIONS[schema.op_type])(*feeds.values(), reduction=reduction)
    assert_array_equal(session.run(None, feeds)[0], expected, strict=True)


@pytest.mark.parametrize("schema", ADDITIVE, ids=str)
def test_reductions_of_text(schema: Schema):
    feeds, elements = reduction_feeds(schema, ELEMENTS["string"])
    for reduction in ("none", "add"):
        expected = getattr(_reference, FUNCTIONS[schema.op_type])(
            *feeds.values(), reduction=reduction
        )
        session = session_of(schema, feeds, elements, reduction=reduction)
        assert_array_equal(session.run(None, feeds)[0], expected, strict=True)
    session = session_of(schema, feeds, elements, reduction="mul")
    with pytest.raises(sowreap.DtypeError, match="mul"):
        session.run(None, feeds)


def test_low_precision_through_a_graph():
    """Cast to bfloat16 and float8, gather or write there, cast back."""
    text = """<ir_version: 11, opset_import: ["": 24]>
    main (float[b, s, d] past, float[b, t, d] new, int64[b] at, int64[k] rows)
      => (float[b, s, d] cache, float[k, s, d] picked)
    {
        past8 = Cast <to = 17> (past)
        new8 = Cast <to = 17> (new)
        cache8 = TensorScatter <axis = 1> (past8, new8, at)
        cache = Cast <to = 1> (cache8)
        half = Cast <to = 16> (cache)
        picked16 = Gather (half, rows)
        picked = Cast <to = 1> (picked16)
    }"""
    session = reference_session(onnx.parser.parse_model(text))
    past = RNG.normal(size=(2, 4, 3)).astype(np.float32)
    new = RNG.normal(size=(2, 1, 3)).astype(np.float32)
    feeds = {"past": past, "new": new, "at": np.array([3, 0]), "rows": np.array([1, 1, 0])}
    cache, picked = session.run(None, feeds)
    expected = past.astype(ml_dtypes.float8_e4m3fn)
    expected[0, 3], expected[1, 0] = new[:, 0].astype(ml_dtypes.float8_e4m3fn)
    assert_array_equal(cache, expected.astype(np.float32))
    assert_array_equal(picked, cache[[1, 1, 0]])
