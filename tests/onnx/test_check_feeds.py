"""The check of a model that runs on given inputs."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from check_models import cache, elements, graph, read, tuples, write
from onnx import helper
from test_graph_network import EDGES, GRAPHS, NODES, WIDTH, network

from sowreap._errors import ArgumentError, DtypeError, ShapeError
from sowreap.onnx import ModelError, Severity, check

FEEDS = {
    "data": np.array([1, 2, 3], np.float32),
    "indices": np.array([0, 2]),
    "updates": np.array([8, 9], np.float32),
}
NAN = np.float32(np.nan)


def feeds(**changes):
    return {**FEEDS, **{name: np.asarray(value) for name, value in changes.items()}}


def rows(values):
    """Return the feeds of ScatterND on rows of one item."""
    return {name: array[:, None] for name, array in values.items()}


def serious(model, values):
    """Return rule, node, argument, position and value of errors and warnings."""
    return [
        (f.rule, f.node, f.argument, f.position, f.value)
        for f in check(model, values)
        if f.severity is not Severity.NOTE
    ]


def test_good_inputs():
    assert serious(elements("none"), FEEDS) == []
    assert serious(elements("add"), feeds(indices=[0, 0])) == []
    assert serious(tuples("add"), rows(FEEDS)) == []


def test_index_out_of_range():
    values = feeds(indices=[0, 3])
    for model in (elements("none"), elements("add")):
        assert serious(model, values) == [("index-range", "out", "indices", (1,), 3)]
    assert serious(tuples("none"), rows(values)) == [("index-range", "out", "indices", (1, 0), 3)]
    assert serious(elements("none"), feeds(indices=[0, -3])) == [
        ("repeated-none", "out", "indices", (1,), -3)
    ]


def test_index_out_of_range_of_each_gather():
    data = np.zeros((3, 4), np.float32)
    cases = (
        ("Gather", [0, 3], "axis = 0", (1,), 3),
        ("GatherElements", [[0, 4], [0, 0]], "axis = 1", (0, 1), 4),
        ("GatherND", [[0, 4], [3, 0]], "batch_dims = 0", (0, 1), 4),
        ("GatherND", [[0], [3], [4]], "batch_dims = 1", (2, 0), 4),
    )
    for operator, indices, attributes, position, value in cases:
        rank = np.asarray(indices).ndim
        model = read(operator, "float[a, b]", f"int64[{'m, n'[: 3 * rank - 2]}]", attributes)
        values = {"data": data, "indices": np.asarray(indices)}
        assert serious(model, values) == [("index-range", "out", "indices", position, value)]


def test_write_index_out_of_range():
    values = {
        "cache": np.zeros((2, 8, 4), np.float32),
        "update": np.zeros((2, 3, 4), np.float32),
        "starts": np.array([5, 6]),
    }
    assert serious(cache(), values) == [("index-range", "out", "write_indices", (1,), 6)]
    assert serious(cache(), {**values, "starts": np.array([5, 5])}) == []


def test_the_run_stops_there_and_says_so():
    body = """a = Gather (data, indices) b = GatherElements (a, indices)
        out = Add (a, b)"""
    model = graph("(float[3] data, int64[2] indices) => (float[2] out)", body)
    found = check(model, {"data": FEEDS["data"], "indices": np.array([0, 7])})
    assert [(f.rule, f.severity.value) for f in found] == [
        ("index-range", "error"),
        ("run-failed", "note"),
    ]
    assert "nodes after it were not checked" in found[1].message


def test_another_node_fails():
    body = "wide = Add (data, updates) " + "out = ScatterElements (wide, indices, updates)"
    model = graph("(float[n] data, int64[m] indices, float[k] updates) => (float[n] out)", body)
    (finding,) = check(model, FEEDS)
    assert (finding.rule, finding.severity.value, finding.operator) == (
        "run-failed",
        "error",
        "Add",
    )
    assert "'wide'" in finding.message


def test_a_model_with_errors_does_not_run():
    found = check(elements("sum"), {"nothing": 0})
    assert [f.rule for f in found] == ["reduction-unknown", "run-skipped"]


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ({}, ArgumentError, "input 'data' is missing"),
        ({**FEEDS, "more": 0}, ArgumentError, "unknown input 'more'"),
        (feeds(data=[1.0, 2.0]), DtypeError, "float64"),
        (feeds(indices=np.array([[0]])), ShapeError, "rank 2"),
    ],
)
def test_wrong_inputs_are_errors_not_findings(values, error, text):
    with pytest.raises(error, match=text):
        check(elements("none"), values)


def test_unknown_operator():
    model = graph("(float[n] data) => (float[n] out)", "out = local.Nothing (data)")
    with pytest.raises(ModelError, match="Nothing"):
        check(model, {"data": FEEDS["data"]})


# --- places written twice ---


def test_repeated_place():
    values = feeds(indices=[2, -1])
    assert serious(elements("none"), values) == [("repeated-none", "out", "indices", (1,), -1)]
    (finding,) = check(elements("none"), values)
    assert "indices[1] addresses the place that indices[0] does; 1 of 2" in finding.message
    assert [each.id for each in finding.runtimes] == ["ort-repeated-elements", "ref-repeated"]


def test_repeated_place_with_equal_updates_is_a_note():
    (finding,) = check(elements("none"), feeds(indices=[2, -1], updates=np.float32([5, 5])))
    assert (finding.rule, finding.severity.value) == ("repeated-none", "note")
    assert "updates of a place are equal" in finding.message


def test_repeated_tuple():
    found = serious(tuples("none"), rows(feeds(indices=[1, 1])))
    assert found == [("repeated-none", "out", "indices", (1,), [1])]
    ids = [each.id for each in check(tuples("none"), rows(feeds(indices=[1, 1])))[0].runtimes]
    assert ids == ["ort-repeated-none", "ref-repeated"]


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
def test_repeated_tuple_under_a_reduction(reduction):
    found = serious(tuples(reduction), rows(feeds(indices=[1, 1])))
    assert found == [("repeated-reduction", "out", "indices", (1,), [1])]
    assert serious(elements(reduction), feeds(indices=[1, 1])) == []


def test_an_expanded_index_is_looked_at_once():
    """Two columns of the same indices: the message counts rows, not items."""
    model = write("ScatterElements", "float[n, w]", "int64[m, w]", "float[m, w]", "axis = 0")
    values = {
        "data": np.zeros((3, 2), np.float32),
        "indices": np.broadcast_to(np.array([[1], [1]]), (2, 2)),
        "updates": np.array([[1, 2], [1, 3]], np.float32),
    }
    (finding,) = check(model, values)
    assert (finding.severity.value, finding.position) == ("warning", (1, 0))
    assert "1 of 2 entries" in finding.message


# --- NaN and element types ---


def test_nan():
    for model in (elements("max"), elements("min")):
        values = feeds(data=[NAN, NAN - 1, np.float32(3)])
        assert [each[:4] for each in serious(model, values)] == [("nan", "out", "data", (0,))]
    found = serious(tuples("max"), rows(feeds(updates=[np.float32(1), NAN])))
    assert [each[:4] for each in found] == [("nan", "out", "updates", (1, 0))]
    assert serious(elements("add"), feeds(data=[NAN, NAN, NAN])) == []


def test_nan_is_told_with_what_each_runtime_does():
    values = feeds(data=[NAN, NAN, NAN])
    (finding,) = [f for f in check(elements("max"), values) if f.rule == "nan"]
    assert [each.id for each in finding.runtimes] == ["ort-nan-dropped", "ref-nan-ignored"]
    (finding,) = [f for f in check(tuples("max"), rows(values)) if f.rule == "nan"]
    assert [each.id for each in finding.runtimes] == ["ort-nan-dropped"]


@pytest.mark.parametrize(
    ("element", "dtype"), [("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)]
)
def test_nan_in_half_types(element, dtype):
    values = {**FEEDS, "updates": np.array([1, np.nan], dtype), "data": FEEDS["data"].astype(dtype)}
    rules = [each[0] for each in serious(elements("max", element), values)]
    assert rules == (["nan"] if element == "float16" else ["type-runtime", "nan"])


def test_a_type_that_only_the_run_tells():
    """Inference knows no type behind an operator of a local function without types."""
    functions = """
        <domain: "local", opset_import: ["": 18]>
        halve <to: int> (x) => (y) { y = Cast <to: int = @to> (x) }"""
    body = """a = local.halve <to = 10> (data) b = local.halve <to = 10> (updates)
        c = ScatterElements <reduction = "add"> (a, indices, b)
        out = Cast <to = 1> (c)"""
    model = graph(
        "(float[n] data, int64[m] indices, float[m] updates) => (float[n] out)",
        body,
        functions=functions,
    )
    assert [each[0] for each in serious(model, FEEDS)] == ["type-runtime"]


def test_strings():
    model = read("Gather", "string[n, w]", "int64[m]")
    values = {"data": np.array([["a", "b"]], object), "indices": np.array([0])}
    assert serious(model, {**values, "data": values["data"][:, :1]}) == []
    assert [each[0] for each in serious(model, values)] == ["type-runtime"]


# --- DirectML ---


def test_directml_with_the_shapes_of_the_run():
    model = read("Gather", f"float[{', '.join('abcdefgh')}]", "int64[m, n]")
    values = {"data": np.zeros((1,) * 8, np.float32), "indices": np.zeros((1, 1), int)}
    (finding,) = check(model, values)
    assert (finding.rule, finding.severity.value) == ("directml", "note")
    empty = read("Gather", "float[n]", "int64[m]")
    (finding,) = check(empty, {"data": np.zeros(3, np.float32), "indices": np.zeros(0, int)})
    assert "size of zero" in finding.message
    assert check(empty) == []


# --- subgraphs, loops, functions ---


def test_inside_if():
    body = """out = If (c) <
            then_branch = t () => (float[3] a) { a = ScatterElements (data, indices, updates) },
            else_branch = e () => (float[3] b) { b = Identity (data) }
        >"""
    signature = "(bool c, float[3] data, int64[2] indices, float[2] updates) => (float[3] out)"
    model = graph(signature, body)
    bad = feeds(indices=[1, 1])
    (finding,) = check(model, {**bad, "c": np.array(True)})
    assert (finding.rule, finding.node, finding.path) == ("repeated-none", "a", ("out",))
    assert check(model, {**bad, "c": np.array(False)}) == []


def test_a_loop_tells_of_the_first_time():
    body = """out = Loop (count, go, data) <
            body = b (int64 step, bool more, float[3] s) => (bool again, float[3] t) {
                again = Identity (more)
                two = Constant <value = int64 {2}> ()
                next = Add (step, two)
                one = Constant <value_ints = [0]> ()
                i = Unsqueeze (next, one)
                t = ScatterElements (s, i, u)
            }
        >"""
    model = graph("(int64 count, bool go, float[3] data, float[1] u) => (float[3] out)", body)
    values = {"go": np.array(True), "data": FEEDS["data"], "u": np.float32([7])}
    assert serious(model, {**values, "count": np.array(1)}) == []
    assert serious(model, {**values, "count": np.array(5)}) == [
        ("index-range", "t", "indices", (0,), 3)
    ]


def test_inside_functions():
    functions = """
        <domain: "local", opset_import: ["": 18]>
        put <kind: string = "none"> (x, i, u) => (y) {
            y = ScatterElements <reduction: string = @kind> (x, i, u)
        }"""
    body = """first = local.put <kind = "add"> (data, indices, updates)
        out = local.put (first, indices, updates)"""
    model = graph(
        "(float[3] data, int64[2] indices, float[2] updates) => (float[3] out)",
        body,
        functions=functions,
    )
    model.graph.node[1].name = "second"
    found = [f for f in check(model, feeds(indices=[1, 1])) if f.severity is not Severity.NOTE]
    assert [(f.rule, f.node, f.path) for f in found] == [("repeated-none", "y", ("second",))]


def test_what_was_said_without_inputs_is_not_said_again():
    model = elements("add", "float16")
    values = {**FEEDS, **{k: FEEDS[k].astype(np.float16) for k in ("data", "updates")}}
    assert [f.rule for f in check(model, values)] == ["type-runtime", "directml"]


def test_nothing_of_a_check_stays_behind(calls):
    """A run after a check is observed by none."""
    from sowreap.onnx import InferenceSession
    from sowreap.onnx._evaluator import _watch

    check(elements("none"), FEEDS)
    assert _watch.get() is None
    session = InferenceSession(elements("none"), engine="reference")
    np.testing.assert_array_equal(session.run(None, FEEDS)[0], [8, 2, 9])


def test_inputs_are_left_as_they_are():
    before = {name: array.copy() for name, array in FEEDS.items()}
    check(elements("add"), FEEDS)
    for name, array in before.items():
        np.testing.assert_array_equal(FEEDS[name], array)


# --- a whole network ---


def network_feeds():
    rng = np.random.default_rng(3)
    return {
        "h_0": rng.normal(size=(NODES, WIDTH)).astype(np.float32),
        "edges": rng.integers(0, NODES, (2, EDGES)),
        "graph": np.sort(rng.integers(0, GRAPHS, NODES)),
        "slots": np.zeros(GRAPHS, np.float32),
    }


def test_graph_network_has_no_false_alarm():
    """Sums by ScatterElements are right everywhere; those by ScatterND race, and are told of."""
    found = serious(network(), network_feeds())
    assert {each[:2] for each in found} == {
        *(("repeated-reduction", f"largest_{k}") for k in range(3)),
        ("repeated-reduction", "pooled"),
    }
    model = network()
    for node in model.graph.node:
        if node.op_type == "ScatterND":
            node.op_type = "ScatterElements"
            node.attribute.append(helper.make_attribute("axis", 0))
            node.input[1] = (
                "wide_graph" if node.name == "pooled" or node.output[0] == "pooled" else "wide"
            )
    expand = helper.make_node("Expand", ["graph_column", "pool_width"], ["wide_graph"])
    size = helper.make_node("Concat", ["one_each", "width"], ["pool_width"], axis=0)
    shape = helper.make_node("Shape", ["graph"], ["one_each"])
    at = next(i for i, node in enumerate(model.graph.node) if node.output[0] == "pooled")
    for node in (expand, size, shape):
        model.graph.node.insert(at, node)
    assert serious(model, network_feeds()) == []
