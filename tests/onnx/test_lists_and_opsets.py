"""Lists as inputs of models, and models of opsets that do not exist yet."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.parser import parse_model

import sowreap
from sowreap.onnx import InferenceSession, ModelError, backend

X = np.zeros(1, np.float32)


def identity(kind: int) -> InferenceSession:
    x, y = (helper.make_tensor_value_info(name, kind, [None]) for name in ("x", "y"))
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])
    return InferenceSession(model, engine="reference")


@pytest.mark.parametrize(
    ("kind", "values", "position"),
    [
        (TensorProto.FLOAT16, [1.0, 1e9], 1),
        (TensorProto.FLOAT16, [70000], 0),
        (TensorProto.FLOAT, [0.0, 2.0, -1e39], 2),
        (TensorProto.FLOAT8E5M2, [1e6], 0),
        (TensorProto.INT8, [1, 128], 1),
        (TensorProto.INT32, [2**31], 0),
        (TensorProto.INT4, [7, 8], 1),
    ],
)
def test_numbers_in_lists_that_do_not_fit_are_refused(kind, values, position):
    with pytest.raises(
        sowreap.ArgumentError, match=r"input 'x' holds .* has no room for"
    ) as raised:
        identity(kind).run(None, {"x": values})
    assert raised.value.position == (position,)
    assert raised.value.value == values[position]


def test_lists_that_fit_are_rounded():
    (found,) = identity(TensorProto.FLOAT).run(None, {"x": [0.1, float("inf"), float("nan"), 3]})
    np.testing.assert_array_equal(found, np.float32([0.1, np.inf, np.nan, 3]), strict=True)
    (found,) = identity(TensorProto.INT8).run(None, {"x": [-128, 127]})
    np.testing.assert_array_equal(found, np.int8([-128, 127]), strict=True)


@pytest.mark.parametrize("domain", ["", "ai.onnx", "ai.onnx.ml"])
def test_an_opset_newer_than_onnx_is_refused(domain: str):
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18, "ai.onnx.ml": 3]>
        g (float[n] x) => (float[n] y) { y = Relu (x) }"""
    )
    entry = model.opset_import[0 if domain in ("", "ai.onnx") else 1]
    entry.domain, entry.version = domain, 9999
    known = onnx.defs.onnx_opset_version() if domain != "ai.onnx.ml" else r"\d+"
    pattern = rf"opset 9999 of domain {domain or 'ai.onnx'} is newer .* ends at {known}\."
    with pytest.raises(ModelError, match=pattern):
        InferenceSession(model, engine="reference")


def test_an_operator_that_onnx_lacks_is_refused_by_name():
    node = helper.make_node("Nonesuch", ["x"], ["y"])
    with pytest.raises(ModelError, match="has no operator 'Nonesuch'") as raised:
        backend.run_node(node, [np.zeros(1)])
    assert raised.value.value == "Nonesuch"
    with pytest.raises(ModelError, match=r"has no operator 'some\.where\.Gather'"):
        backend.run_node(helper.make_node("Gather", ["x"], ["y"], domain="some.where"), [X])


def test_run_node_tells_types_to_operators_that_are_functions_of_them():
    node = helper.make_node("Clip", ["x", "low"], ["y"])
    found = backend.run_node(node, [np.float32([-1, 2]), np.float32(0)], opset_version=13)
    np.testing.assert_array_equal(found.y, np.float32([0, 2]), strict=True)
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"], axes=[0])
    (found,) = backend.run_node(node, [np.float32([1, 3])])
    np.testing.assert_allclose(found, [-1, 1], rtol=1e-5)
