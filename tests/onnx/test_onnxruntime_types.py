"""Every type, version and reduction on onnxruntime, against the reference engine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from family import reference_session
from numpy.testing import assert_array_equal
from onnx import NodeProto, TensorProto, helper
from onnx.parser import parse_model

import sowreap
from sowreap import _reference
from sowreap.onnx import InferenceSession
from sowreap.onnx._rewrite import rewrite
from sowreap.onnx._schemas import SCHEMAS, Schema, find_schema, versions

ort = pytest.importorskip("onnxruntime", reason="the engine is optional")

# Types that onnxruntime cannot hold, and those whose items it packs.
ABSENT = {"complex64", "complex128", "float8e8m0"}
PACKED = {"int4", "uint4", "float4e2m1"}
NEWEST_OPSET = 24 if tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 24) else 21
RNG = np.random.default_rng(9)

FEEDS = {
    "Gather": {"data": (4, 3), "indices": [3, -4, 3]},
    "GatherElements": {"data": (4, 3), "indices": [[1, 0, -1], [0, 3, 3]]},
    "GatherND": {"data": (4, 3), "indices": [[3, 0], [-1, -1]]},
    "Scatter": {"data": (4, 3), "indices": [[1, 0, -1], [0, 3, 2]], "updates": (2, 3)},
    "ScatterElements": {"data": (4, 3), "indices": [[1, 0, -1], [1, 0, 2]], "updates": (2, 3)},
    "ScatterND": {"data": (4, 3), "indices": [[3], [-3], [3]], "updates": (3, 3)},
    "TensorScatter": {"past_cache": (2, 4, 3), "update": (2, 2, 3), "write_indices": [0, 2]},
}


def feeds_of(schema: Schema) -> dict[str, np.ndarray]:
    """Return indices, and as numbers and as texts what every type but bool holds exactly."""
    feeds = {}
    for name, recipe in FEEDS[schema.op_type].items():
        if isinstance(recipe, list):
            feeds[name] = np.array(recipe, np.int64)
        else:
            feeds[name] = (2 ** RNG.integers(0, 3, recipe)).astype(np.float32)
            feeds[f"{name}_text"] = feeds[name].astype("U3").astype(object)
    return feeds


def last_opset(schema: Schema) -> int:
    """Return the newest opset at which a version applies; older ones cannot cast to every type."""
    later = [
        each.since_version
        for each in versions(schema.op_type)
        if each.since_version > schema.since_version
    ]
    return min(later, default=NEWEST_OPSET + 1) - 1


def branch(schema: Schema, data: str, index: str, **attributes: str) -> Iterator[NodeProto]:
    """Yield a node between casts from and to what NumPy can feed."""
    tag = "_".join((data, index, *attributes.values()))
    inputs = []
    for name in schema.inputs:
        element = index if name == schema.index_input else data
        if element == "string":
            inputs.append(f"{name}_text")
            continue
        inputs.append(f"{name}_{tag}")
        number = TensorProto.DataType.Value(element.upper())
        yield helper.make_node("Cast", [name], [inputs[-1]], to=number)
    yield helper.make_node(schema.op_type, inputs, [f"raw_{tag}"], f"node_{tag}", **attributes)
    if data == "string":
        yield helper.make_node("Identity", [f"raw_{tag}"], [f"out_{tag}"])
    else:
        yield helper.make_node("Cast", [f"raw_{tag}"], [f"out_{tag}"], to=TensorProto.FLOAT)


def model_of(
    schema: Schema, nodes: list[NodeProto], feeds: dict[str, np.ndarray]
) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(value.dtype),
            [f"{name}_{axis}" for axis in range(value.ndim)],
        )
        for name, value in feeds.items()
    ]
    outputs = [
        helper.make_tensor_value_info(
            node.output[0],
            TensorProto.STRING if node.op_type == "Identity" else TensorProto.FLOAT,
            None,
        )
        for node in nodes
        if node.output[0].startswith("out_")
    ]
    graph = helper.make_graph(nodes, "types", inputs, outputs)
    imports = [helper.make_opsetid("", last_opset(schema))]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def agrees(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> InferenceSession:
    session = InferenceSession(model)
    found = session.run(None, feeds)
    expected = reference_session(model).run(None, feeds)
    for info, a, b in zip(model.graph.output, found, expected, strict=True):
        assert_array_equal(a, b, err_msg=info.name, strict=True)
    return session


def carried(schema: Schema) -> list[str]:
    return sorted(schema.data_types - ABSENT - PACKED)


CURRENT = [
    schema for schema in SCHEMAS if not schema.deprecated and schema.since_version <= NEWEST_OPSET
]


@pytest.mark.parametrize("schema", CURRENT, ids=str)
def test_every_type_of_every_version_runs_on_sowreap(schema: Schema, monkeypatch):
    monkeypatch.setattr("sowreap.onnx._rewrite._does_text_rightly", lambda *_: False)
    feeds = feeds_of(schema)
    nodes = [
        node
        for data in carried(schema)
        for index in sorted(schema.index_types)
        for node in branch(schema, data, index)
    ]
    session = agrees(model_of(schema, nodes, feeds), feeds)
    assert len(session.placement()) == len(carried(schema)) * len(schema.index_types)
    assert {node.runs_on for node in session.placement()} == {"sowreap"}


TEXT_GATHERS = {
    "Gather (flat, rows)": "onnxruntime",
    "Gather <axis = 1> (table, rows)": "onnxruntime",
    "Gather <axis = -1> (table, rows)": "onnxruntime",
    "Gather (column, rows)": "onnxruntime",
    "Gather (table, rows)": "sowreap",
    "Gather (unknown, rows)": "sowreap",
    "GatherElements <axis = 1> (table, cells)": "onnxruntime",
    "GatherND (table, cells)": "onnxruntime",
    "GatherND (table, single)": "onnxruntime",
}


@pytest.mark.parametrize(("body", "runs_on"), TEXT_GATHERS.items(), ids=TEXT_GATHERS)
def test_gathers_of_strings_stay_where_onnxruntime_is_right(body: str, runs_on: str):
    model = parse_model(
        f"""<ir_version: 10, opset_import: ["": 18]> main
        (string[n] flat, string[n, 2] table, string[n, 1] column, string[n, k] unknown,
         int64[4] rows, int64[40, 2] cells, int64[m, 1] single) => (string y) {{ y = {body} }}"""
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    generator = np.random.default_rng(7)
    words = np.array([["word" * (i % 9), f"größe {i}"] for i in range(40)], object)
    feeds = {
        "flat": words[:, 1],
        "table": words,
        "column": words[:, :1],
        "unknown": words,
        "rows": generator.integers(-2, 2, 4),
        "cells": generator.integers(-2, 2, (40, 2)),
        "single": generator.integers(-40, 40, (300, 1)),
    }
    (placement,) = agrees(model, feeds).placement()
    assert placement.runs_on == runs_on


SCATTER_TEXT = """<ir_version: 8, opset_import: ["": {opset}]> main
  (string[n, 2] x, {index}[m, k] at, string[m, k] news) => (string[n, 2] y)
  {{ y = {operator} <axis = {axis}{reduction}> (x, at, news) }}"""
TEXT = np.array([["", "b"], ["größe", "no short string, so on the heap"], ["a\0b", "f"]], object)
NEWS = np.array([["1", "a new one, which is longer than others"], ["", "4"], ["5", "ü"]], object)
TEXT_SCATTERS = [
    ("Scatter", 9, ""),
    ("ScatterElements", 11, ""),
    ("ScatterElements", 13, ""),
    *(("ScatterElements", opset, how) for opset in (16, 18) for how in ("", "none", "add")),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("operator", "opset", "reduction"), TEXT_SCATTERS)
def test_scatters_of_strings_that_stay_are_right(operator, opset, reduction, threads):
    """Those of the loop, whatever indices are, and errors for bad ones."""
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    how = f', reduction = "{reduction}"' if reduction else ""
    for axis, index in ((0, "int64"), (1, "int32"), (-1, "int64")):
        text = SCATTER_TEXT.format(
            operator=operator, opset=opset, axis=axis, index=index, reduction=how
        )
        session = InferenceSession(parse_model(text), options)
        (placement,) = session.placement()
        assert placement.runs_on == "onnxruntime"
        assert "each string is right there" in placement.reason
        length = TEXT.shape[axis]

        def run(at, session=session, index=index, news=NEWS):
            at = np.asarray(at, index)
            feeds = {"x": TEXT, "at": at, "news": news[: at.shape[0], : at.shape[1]]}
            return session.run(None, feeds)[0], feeds

        good = [
            [[0, -1], [-length, length - 1]],
            [[0, 0], [0, 0], [0, 0]],  # the last one wins, or all are appended in order
            [[1], [-1]],
            np.zeros((0, 2)),
            np.zeros((2, 0)),
        ]
        for at in good:
            found, feeds = run(at)
            expected = _reference.scatter_elements(
                TEXT, feeds["at"], feeds["news"], axis, reduction or "none"
            )
            assert found.tolist() == expected.tolist()
        for bad in (length, -length - 1, 2**31 - 1, -(2**31)):
            with pytest.raises(Exception, match="out of data bounds"):
                run([[0, 0], [0, bad]])
        with pytest.raises(Exception, match="dim"):
            run(
                np.zeros((3, 3)) if axis == 0 else np.zeros((4, 1)),
                news=np.full((4, 4), "", object),
            )


@pytest.mark.parametrize(
    "body",
    [
        "y = ScatterND (x, at, news)",  # whose threads may meet at a string
        "wide = Expand (at, size)  y = ScatterElements (x, wide, news)",  # the index is not built
    ],
)
def test_scatters_of_strings_that_move(body: str):
    model = parse_model(
        f"""<ir_version: 10, opset_import: ["": 18]> main
        (string[n, 2] x, int64[m, 1] at, string[m, 2] news, int64[2] size) => (string[n, 2] y)
        {{ {body} }}"""
    )
    feeds = {"x": TEXT, "at": np.array([[1], [-2], [0]]), "news": NEWS, "size": np.array([3, 2])}
    if "size" not in body:
        del model.graph.input[3], feeds["size"]
    (placement,) = agrees(model, feeds).placement()
    assert placement.runs_on == "sowreap"


REDUCING = [schema for schema in CURRENT if any(a.name == "reduction" for a in schema.attributes)]


@pytest.mark.parametrize("schema", REDUCING, ids=str)
def test_every_reduction_of_every_type(schema: Schema, monkeypatch):
    monkeypatch.setattr("sowreap.onnx._rewrite._does_text_rightly", lambda *_: False)
    feeds = feeds_of(schema)
    nodes = [
        node
        for data in carried(schema)
        for reduction in schema.attribute("reduction").allowed
        if data != "string" or reduction in ("none", "add")
        for node in branch(schema, data, "int64", reduction=reduction)
    ]
    session = agrees(model_of(schema, nodes, feeds), feeds)
    assert {node.runs_on for node in session.placement()} == {"sowreap"}


@pytest.mark.parametrize("data", sorted(PACKED & {"int4", "uint4"}))
def test_packed_types_stay_on_onnxruntime(data: str):
    schema = find_schema("TensorScatter")
    feeds = feeds_of(schema)
    model = model_of(schema, list(branch(schema, data, "int64")), feeds)
    model.opset_import[0].version = schema.since_version
    (placement,) = rewrite(model)
    assert placement.runs_on == "onnxruntime"
    assert "packed two to a byte" in placement.reason


@pytest.mark.skipif(
    not hasattr(ort.OrtValue, "ortvalue_from_numpy_with_onnx_type"),
    reason="this onnxruntime takes no tensor of a type that NumPy lacks",
)
@pytest.mark.parametrize("name", ["bfloat16", "float8e4m3fn", "float8e5m2"])
def test_arrays_of_types_that_numpy_lacks(name: str):
    operator = "Gather (x, i)" if name == "bfloat16" else "Identity (x)"
    model = parse_model(
        f"""<ir_version: 10, opset_import: ["": 21]> main
        ({name}[n, 2] x, int64[m] i) => ({name}[m, 2] y, int64[m] j, float[m, 2] z)
        {{ y = {operator}  j = Identity (i)  z = Cast <to = 1> (x) }}"""
    )
    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(name.upper()))
    x = np.arange(8).reshape(2, 4).T.astype(dtype)  # not in C order
    feeds = {"x": x, "i": np.arange(4)}
    session = InferenceSession(model)
    y, j, z = session.run(None, feeds)
    assert_array_equal(y, x, strict=True)
    assert_array_equal(z, x.astype(np.float32), strict=True)
    assert_array_equal(session.run(["z"], feeds)[0], z, strict=True)
    assert_array_equal(j, np.arange(4), strict=True)
    assert session.run(["y"], feeds | {"x": x[:0], "i": feeds["i"][:0]})[0].shape == (0, 2)
    with pytest.raises(sowreap.DtypeError, match="'x' has dtype float16"):
        session.run(None, feeds | {"x": x.astype(np.float16)})
