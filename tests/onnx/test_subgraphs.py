"""The family inside If, Loop, Scan, local functions and operators that onnx expands."""

from __future__ import annotations

import numpy as np
import pytest
from family import reference_session
from numpy.testing import assert_array_equal
from onnx import TensorProto
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRunExpand

import sowreap
from sowreap.onnx import ModelError, reference_ops
from sowreap.onnx._evaluator import Evaluator

IF = """<ir_version: 10, opset_import: ["": 18]>
main (bool c, float[3] x, int64[2, 1] i, float[2] u) => (float[3] y) {
    y = If (c) <
        then_branch = t () => (float[3] a) { a = ScatterND <reduction = "add"> (x, i, u) },
        else_branch = e () => (float[3] b) { b = ScatterND <reduction = "mul"> (x, i, u) }
    >
}"""
LOOP = """<ir_version: 10, opset_import: ["": 18]>
main (int64 n, bool c, float[3] x, int64[2] i, float[2] u) => (float[3] y) {
    y = Loop (n, c, x) <
        body = b (int64 step, bool go, float[3] s) => (bool again, float[3] t) {
            again = Identity (go)
            t = ScatterElements <reduction = "add"> (s, i, u)
        }
    >
}"""
SCAN = """<ir_version: 10, opset_import: ["": 18]>
main (float[3] x, int64[2, 2] i) => (float[3] s, float[2, 2] y) {
    s, y = Scan (x, i) <
        num_scan_inputs = 1,
        body = b (float[3] state, int64[2] row) => (float[3] kept, float[2] picked) {
            kept = Identity (state)
            picked = Gather (state, row)
        }
    >
}"""
NESTED = """<ir_version: 10, opset_import: ["": 18]>
main (bool c, int64 n, float[3] x, int64[1] i) => (float[1] y) {
    y = If (c) <
        then_branch = t () => (float[1] a) {
            start = Gather (x, i)
            a = Loop (n, c, start) <
                body = b (int64 step, bool go, float[1] s) => (bool again, float[1] r) {
                    again = Identity (go)
                    more = GatherElements (x, i)
                    r = Add (s, more)
                }
            >
        },
        else_branch = e () => (float[1] b) { b = Gather (x, i) }
    >
}"""
X = np.array([1, 2, 3], np.float32)
IFS = {"x": X, "i": np.array([[1], [1]]), "u": np.array([5, 6], np.float32)}


@pytest.mark.parametrize("chosen", [True, False])
def test_if(chosen: bool, calls):
    session = reference_session(parse_model(IF))
    (output,) = session.run(None, {"c": np.array(chosen), **IFS})
    assert_array_equal(output, [1, 13, 3] if chosen else [1, 60, 3])
    assert dict(calls) == {"scatter_nd": 1}


def test_loop(calls):
    feeds = {
        "n": np.array(4),
        "c": np.array(True),
        "x": X,
        "i": np.array([2, 2]),
        "u": np.array([1, 2], np.float32),
    }
    (output,) = reference_session(parse_model(LOOP)).run(None, feeds)
    assert_array_equal(output, [1, 2, 15])
    assert dict(calls) == {"scatter_elements": 4}


def test_scan(calls):
    feeds = {"x": X, "i": np.array([[0, -1], [1, 1]])}
    state, picked = reference_session(parse_model(SCAN)).run(None, feeds)
    assert_array_equal(state, X)
    assert_array_equal(picked, [[1, 3], [2, 2]])
    assert dict(calls) == {"gather": 2}


def test_loop_inside_if(calls):
    feeds = {"c": np.array(True), "n": np.array(3), "x": X, "i": np.array([2])}
    (output,) = reference_session(parse_model(NESTED)).run(None, feeds)
    assert_array_equal(output, [12])
    assert dict(calls) == {"gather": 1, "gather_elements": 3}


@pytest.mark.parametrize(
    ("text", "feeds", "name"),
    [
        (IF, {"c": np.array(True), **IFS}, "scatter_nd"),
        (SCAN, {"x": X, "i": np.array([[0, 1], [1, 2]])}, "gather"),
    ],
)
def test_subgraphs_of_the_plain_evaluator(text: str, feeds, name: str, calls):
    ReferenceEvaluator(parse_model(text), new_ops=reference_ops()).run(None, feeds)
    assert set(calls) == {name}


def test_wrong_node_in_a_subgraph_is_refused_when_the_model_is_loaded():
    with pytest.raises(sowreap.ArgumentError, match=r"reduction='mean' is not one of") as caught:
        reference_session(parse_model(IF.replace('"mul"', '"mean"')))
    assert caught.value.__notes__ == ["in node 'b' (ScatterND)"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"i": np.array([[1], [-9]])}, sowreap.OutOfRangeError),
        ({"u": np.zeros(2)}, sowreap.DtypeError),
        ({"u": np.zeros(3, np.float32)}, sowreap.ShapeError),
    ],
)
def test_errors_in_a_body_keep_their_class_and_name_the_nodes(change, error):
    model = parse_model(IF)
    for info in model.graph.input[2:]:
        info.type.tensor_type.ClearField("shape")
    if "u" in change and change["u"].dtype == np.float64:
        model.graph.input[3].type.tensor_type.elem_type = TensorProto.DOUBLE
    with pytest.raises(error) as caught:
        reference_session(model).run(None, {"c": np.array(True), **IFS} | change)
    assert caught.value.__notes__ == ["in node 'a' (ScatterND)", "in node 'y' (If)"]


FUNCTION = """<ir_version: 10, opset_import: ["": 18, "local": 1]>
main (float[2, 3] x, int64[1] i) => (y, z) {
    y = local.pick <along = 1> (x, i)
    z = local.pick <along = -2> (x, i)
}
<domain: "local", opset_import: ["": 18]>
pick <along> (a, b) => (c) { c = Gather <axis: int = @along> (a, b) }
"""
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_function_with_linked_attribute(calls):
    y, z = reference_session(parse_model(FUNCTION)).run(None, {"x": MATRIX, "i": np.array([1])})
    assert_array_equal(y, MATRIX[:, [1]])
    assert_array_equal(z, MATRIX[[1]])
    assert dict(calls) == {"gather": 2}


def test_function_that_is_called_with_a_default(calls):
    text = FUNCTION.replace("pick <along>", "pick <along: int = 1>").replace("<along = -2> ", "")
    y, z = reference_session(parse_model(text)).run(None, {"x": MATRIX, "i": np.array([2])})
    assert_array_equal(y, MATRIX[:, [2]])
    assert_array_equal(z, MATRIX[:, [2]])
    assert dict(calls) == {"gather": 2}


def test_functions_in_any_order_and_with_subgraphs(calls):
    text = """<ir_version: 10, opset_import: ["": 18, "local": 1]>
    main (bool c, float[3] x, int64[1] i) => (y) { y = local.outer (c, x, i) }
    <domain: "local", opset_import: ["": 18, "local": 1]>
    outer (c, a, b) => (y) {
        y = If (c) <
            then_branch = t () => (q) { q = local.inner <how = "max"> (a, b) },
            else_branch = e () => (r) { r = local.inner <how = "min"> (a, b) }
        >
    }
    <domain: "local", opset_import: ["": 18]>
    inner <how> (a, b) => (c) {
        u = Constant <value = float[1] {2.0}> ()
        c = ScatterElements <reduction: string = @how> (a, b, u)
    }
    """
    session = reference_session(parse_model(text))
    for chosen, expected in ((True, [2, 2, 3]), (False, [1, 2, 3])):
        feeds = {"c": np.array(chosen), "x": X, "i": np.array([0])}
        assert_array_equal(session.run(None, feeds)[0], expected)
    assert dict(calls) == {"scatter_elements": 2}


def test_function_has_the_opset_that_it_imports():
    text = """<ir_version: 10, opset_import: ["": 18, "local": 1]>
    main (float[3] x, int64[1, 1] i, float[1] u) => (y) { y = local.f (x, i, u) }
    <domain: "local", opset_import: ["": 16]>
    f (a, b, c) => (d) { d = ScatterND <reduction = "max"> (a, b, c) }
    """
    with pytest.raises(sowreap.ArgumentError, match=r"ScatterND \(opset 16\): reduction='max'"):
        reference_session(parse_model(text))
    assert reference_session(parse_model(text.replace("16", "18"))).get_outputs()[0].name == "y"


def test_function_that_calls_itself_is_refused():
    text = """<ir_version: 10, opset_import: ["": 18, "local": 1]>
    main (float[3] x) => (y) { y = local.f (x) }
    <domain: "local", opset_import: ["": 18, "local": 1]>
    f (a) => (b) { b = local.f (a) }
    """
    with pytest.raises(ModelError, match="local"):
        reference_session(parse_model(text))


def test_default_domain_under_its_long_name(calls):
    model = parse_model(FUNCTION)
    for owner in (model, *model.functions):
        for entry in owner.opset_import:
            entry.domain = entry.domain or "ai.onnx"
    for node in model.functions[0].node:
        node.domain = "ai.onnx"
    (y, _) = reference_session(model).run(None, {"x": MATRIX, "i": np.array([0])})
    assert_array_equal(y, MATRIX[:, [0]])
    assert dict(calls) == {"gather": 2}
    assert model.functions[0].node[0].domain == "ai.onnx"


def test_family_inside_an_operator_that_onnx_expands(calls):
    class CenterCropPad(OpRunExpand):
        op_domain = ""

    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        main (float[2, 6] x, int64[1] wanted) => (float[2, 4] y)
        { y = CenterCropPad <axes = [1]> (x, wanted) }"""
    )
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    evaluator = Evaluator(model, new_ops=[CenterCropPad])
    (output,) = evaluator.run(None, {"x": x, "wanted": np.array([4])})
    assert_array_equal(output, x[:, 1:5])
    assert set(calls) == {"gather"}


def test_profile_counts_bodies_in_their_node():
    feeds = {"c": np.array(True), "n": np.array(3), "x": X, "i": np.array([2])}
    session = reference_session(parse_model(NESTED))
    outputs, records = session.run_profiled(None, feeds)
    assert_array_equal(outputs[0], [12])
    assert [(record.op_type, record.is_family) for record in records] == [("If", False)]
    assert 0 < records[0].family_seconds < records[0].seconds
    y, records = reference_session(parse_model(FUNCTION)).run_profiled(
        ["z", "y"], {"x": MATRIX, "i": np.array([1])}
    )
    assert_array_equal(y[1], MATRIX[:, [1]])
    assert [(record.name, record.domain) for record in records] == [("y", "local"), ("z", "local")]
    assert all(0 < record.family_seconds < record.seconds for record in records)
