"""InferenceSession on onnxruntime: right wherever a node stands, and errors that explain."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from family import reference_session
from numpy.testing import assert_array_equal
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.parser import parse_graph, parse_model

import sowreap
from sowreap._cli.model import Model
from sowreap.onnx import InferenceSession, MissingEngineError, ModelError
from sowreap.onnx._onnxruntime_engine import EXTERNAL_FOLDER
from sowreap.onnx._rewrite import rewrite

ort = pytest.importorskip("onnxruntime", reason="the engine is optional")

SCATTER = """<ir_version: 10, opset_import: ["": 18], producer_name: "hand"> main
  (float[n, k] data, int64[m, 1] indices, float[m, k] updates) => (float[n, k] output)
  { output = ScatterND <reduction = "add"> (data, indices, updates) }"""


def quiet(**settings: object) -> ort.SessionOptions:
    """Return options that do not log the errors which a test provokes."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    for name, value in settings.items():
        setattr(options, name, value)
    return options


def placed(session: InferenceSession) -> list[tuple[str, str, str]]:
    return [(node.op_type, node.graph, node.runs_on) for node in session.placement()]


def same_as_reference(text: str | ModelProto, feeds: dict[str, np.ndarray]) -> InferenceSession:
    model = parse_model(text) if isinstance(text, str) else text
    session = InferenceSession(model, quiet())
    expected = reference_session(model).run(None, feeds)
    for _ in range(2):
        for a, b in zip(session.run(None, feeds), expected, strict=True):
            assert_array_equal(a, b, strict=True)
    return session


@pytest.fixture
def feeds() -> dict[str, np.ndarray]:
    return {
        "data": np.ones((3, 2), np.float32),
        "indices": np.array([[1], [1]]),
        "updates": np.array([[1, 2], [3, 4]], np.float32),
    }


# ---- results ----


def test_no_update_is_lost_where_indices_repeat():
    rng = np.random.default_rng(0)
    cells, updates = 4, 200_000
    indices = rng.integers(0, cells, (updates, 1))
    expected = np.bincount(indices[:, 0], minlength=cells).astype(np.float32)
    session = InferenceSession(parse_model(SCATTER), quiet(intra_op_num_threads=2))
    for _ in range(5):
        (output,) = session.run(
            None,
            {
                "data": np.zeros((cells, 4), np.float32),
                "indices": indices,
                "updates": np.ones((updates, 4), np.float32),
            },
        )
        assert_array_equal(output, np.repeat(expected[:, None], 4, 1))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_result_does_not_depend_on_threads(threads):
    rng = np.random.default_rng(1)
    feeds = {
        "data": rng.normal(size=(1000, 1)).astype(np.float32),
        "indices": rng.integers(-1000, 1000, (300_000, 1)),
        "updates": rng.normal(size=(300_000, 1)).astype(np.float32),
    }
    session = InferenceSession(parse_model(SCATTER), quiet(intra_op_num_threads=threads))
    expected = sowreap.scatter_nd(*feeds.values(), reduction="add")
    assert_array_equal(session.run(None, feeds)[0], expected)


def test_branches_and_bodies():
    text = """<ir_version: 10, opset_import: ["": 18]> main
      (bool choice, float[4] x, int64[2, 1] at, float[2] news, int64 times)
      => (float[4] y, float[4] z)
      {
        y = If (choice) <
          then_branch = yes () => (float[4] a) { a = ScatterND <reduction = "max"> (x, at, news) },
          else_branch = no () => (float[4] b) { b = ScatterND <reduction = "min"> (x, at, news) }>
        always = Constant <value = bool {1}> ()
        z = Loop (times, always, x) <body = step (int64 i, bool go, float[4] old)
          => (bool more, float[4] new)
          { more = Identity (go)  new = ScatterND <reduction = "add"> (old, at, news) }>
      }"""
    feeds = {
        "x": np.arange(4, dtype=np.float32),
        "at": np.array([[1], [-1]]),
        "news": np.array([2, 1], np.float32),
        "times": np.array(3),
    }
    for choice in (True, False):
        session = same_as_reference(text, feeds | {"choice": np.array(choice)})
    assert placed(session) == [
        ("ScatterND", "then_branch of 'y' in main", "sowreap"),
        ("ScatterND", "else_branch of 'y' in main", "sowreap"),
        ("ScatterND", "body of 'z' in main", "sowreap"),
    ]


def test_scan_body():
    text = """<ir_version: 10, opset_import: ["": 18]> main
      (float[4] start, int64[5, 2] at, float[5, 2] news) => (float[4] last, float[5, 2] seen)
      {
        last, seen = Scan <num_scan_inputs = 2, body = step
          (float[4] old, int64[2] i, float[2] u) => (float[4] new, float[2] before)
          { before = GatherElements (old, i)
            new = ScatterElements <reduction = "add"> (old, i, u) }> (start, at, news)
      }"""
    rng = np.random.default_rng(2)
    feeds = {
        "start": np.zeros(4, np.float32),
        "at": rng.integers(-4, 4, (5, 2)),
        "news": rng.integers(0, 9, (5, 2)).astype(np.float32),
    }
    session = same_as_reference(text, feeds)
    assert placed(session) == [
        ("GatherElements", "body of 'last' in main", "onnxruntime"),  # 8 bytes
        ("ScatterElements", "body of 'last' in main", "sowreap"),
    ]


def test_local_functions():
    text = """<ir_version: 10, opset_import: ["": 18, "local": 1]> main
      (float[4] x, int64[n] at, float[n] news) => (float[4] y) {
        half = local.put <how = "add"> (x, at, news)
        y = local.put <how = "max"> (half, at, news) }
      <domain: "local", opset_import: ["": 18]> put <how> (x, at, news) => (y)
      { y = ScatterElements <reduction: string = @how> (x, at, news) }"""
    feeds = {
        "x": np.arange(4, dtype=np.float32),
        "at": np.array([3, -1, 0]),
        "news": np.array([1, 2, 5], np.float32),
    }
    session = same_as_reference(text, feeds)
    assert placed(session) == [("ScatterElements", "main", "sowreap")] * 2


def test_functions_that_call_functions_and_hold_branches():
    text = """<ir_version: 10, opset_import: ["": 18, "local": 1]> main
      (bool choice, float[4] x, int64[n] at, float[n] news) => (float[4] y) {
        half = local.twice (choice, x, at, news)
        y = Neg (half) }
      <domain: "local", opset_import: ["": 18, "local": 1]> twice (choice, x, at, news) => (y)
      { a = local.put <how = "add"> (x, at, news)
        y = If (choice) <
          then_branch = yes () => (float[4] b) { b = local.put <how = "mul"> (a, at, news) },
          else_branch = no () => (float[4] c) { c = Identity (a) }> }
      <domain: "local", opset_import: ["": 18]> put <how> (x, at, news) => (y)
      { y = ScatterElements <reduction: string = @how> (x, at, news) }"""
    feeds = {
        "x": np.arange(4, dtype=np.float32),
        "at": np.array([3, -1, 0]),
        "news": np.array([1, 2, 5], np.float32),
    }
    session = same_as_reference(text, feeds | {"choice": np.array(True)})
    assert {runs_on for _, _, runs_on in placed(session)} == {"sowreap"}


def test_a_function_of_another_opset_than_the_model():
    text = """<ir_version: 10, opset_import: ["": 18, "local": 1]> main
      (float[4] x, int64[n] at, float[n] news) => (float[4] y)
      { a = local.put (x, at, news)  y = Neg (a) }
      <domain: "local", opset_import: ["": 16]> put (x, at, news) => (y)
      { y = ScatterElements <reduction = "mul"> (x, at, news) }"""
    feeds = {
        "x": np.arange(4, dtype=np.float32),
        "at": np.array([3, -1, 0]),
        "news": np.array([1, 2, 5], np.float32),
    }
    session = same_as_reference(text, feeds)
    assert placed(session) == [("ScatterElements", "function put", "sowreap")]


@pytest.mark.parametrize("moves", [False, True])
def test_texts_of_every_kind(moves, monkeypatch):
    if moves:
        monkeypatch.setattr("sowreap.onnx._rewrite._does_text_rightly", lambda *_: False)
    text = """<ir_version: 10, opset_import: ["": 18]> main
      (string[n] x, int64[m] at, string[m] news) => (string[m] a, string[n] b, string[n] c) {
        a = Gather (x, at)
        b = ScatterElements (x, at, news)
        c = ScatterElements <reduction = "add"> (x, at, news) }"""
    feeds = {
        "x": np.array(["", "zwölf", "a\0b", "x" * 1000, "日本"], object),
        "at": np.array([1, -1, 2, 1]),
        "news": np.array(["neu", "", "ü", "!"], object),
    }
    session = same_as_reference(text, feeds)
    runs_on = [engine for _, _, engine in placed(session)]
    assert runs_on == ["sowreap" if moves else "onnxruntime"] * 3
    none = {"x": feeds["x"], "at": np.zeros(0, np.int64), "news": np.zeros(0, object)}
    same_as_reference(text, none)


def test_rows_of_several_texts():
    text = """<ir_version: 10, opset_import: ["": 18]> main
      (string[2, 2] x, int64[3] at) => (string[3, 2] y) { y = Gather (x, at) }"""
    feeds = {"x": np.array([["a", "b"], ["c", "d"]], object), "at": np.array([1, 0, 1])}
    session = same_as_reference(text, feeds)
    assert session.run(None, feeds)[0].tolist() == [["c", "d"], ["a", "b"], ["c", "d"]]


def test_shapes_may_change_from_run_to_run(feeds):
    session = InferenceSession(parse_model(SCATTER))
    reference = reference_session(parse_model(SCATTER))
    for rows, columns, count in ((3, 2, 2), (1, 5, 4), (7, 0, 3), (300, 700, 900), (2, 3, 0)):
        given = {
            "data": np.ones((rows, columns), np.float32),
            "indices": np.arange(count)[:, None] % rows,
            "updates": np.ones((count, columns), np.float32),
        }
        assert_array_equal(session.run(None, given)[0], reference.run(None, given)[0])


def test_unknown_ranks():
    text = """<ir_version: 10, opset_import: ["": 18]> main
      (float[n] x, int64[r] shape, int64[m, 1] at, float[m] news) => (float y) {
        z = Reshape (x, shape)
        a = ScatterND (z, at, news)
        b = Concat <axis = 0> (a, a)
        y = ReduceSum <keepdims = 0> (b) }"""
    feeds = {
        "x": np.arange(4, dtype=np.float32),
        "shape": np.array([4]),
        "at": np.array([[0], [3]]),
        "news": np.array([5, 6], np.float32),
    }
    same_as_reference(text, feeds)


def test_sizes_without_names_reach_the_next_node():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]> main
        (float[n, 2] x, int64[m, 1] at, float[m, 2] news) => (float[k, 4] y)
        { a = ScatterND (x, at, news)  b = Gather <axis = 1> (a, at)  c = Squeeze (b, two)
          y = Concat <axis = 1> (a, a) }"""
    )
    for info in (*model.graph.input, *model.graph.output):
        for dim in info.type.tensor_type.shape.dim:
            dim.ClearField("dim_param")
    del model.graph.node[1:3]
    feeds = {
        "x": np.zeros((3, 2), np.float32),
        "at": np.array([[2]]),
        "news": np.ones((1, 2), np.float32),
    }
    same_as_reference(model, feeds)


def test_a_chain_in_place_and_beside_its_readers():
    steps = "\n".join(
        f'h{k + 1} = ScatterND <reduction = "add"> (h{k}, indices, updates)' for k in range(4)
    )
    text = f"""<ir_version: 10, opset_import: ["": 18]> main
      (float[3, 2] data, int64[2, 1] indices, float[2, 2] updates)
        => (float[3, 2] last, float[3, 2] kept) {{
        h0 = Identity (data)
        {steps}
        kept = Mul (h2, h2)
        last = Neg (h4) }}"""
    given = {
        "data": np.ones((3, 2), np.float32),
        "indices": np.array([[0], [2]]),
        "updates": np.full((2, 2), 2, np.float32),
    }
    same_as_reference(text, given)
    assert_array_equal(given["data"], np.ones((3, 2), np.float32))


# ---- memory that the user binds ----


def bound(session: InferenceSession, feeds: dict[str, object], output: object) -> None:
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_ortvalue_output("output", output)
    session.run_with_iobinding(binding)


def test_a_bound_cache_is_updated_in_place(feeds):
    session = InferenceSession(parse_model(SCATTER), quiet())
    values = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in feeds.items()}
    bound(session, values, values["data"])
    assert_array_equal(values["data"].numpy(), [[1, 1], [5, 7], [1, 1]])


@pytest.mark.parametrize("target", ["data", "other"])
def test_a_failure_leaves_bound_memory_as_it_was(feeds, target):
    session = InferenceSession(parse_model(SCATTER), quiet())
    feeds["indices"] = np.array([[1], [3]])
    values = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in feeds.items()}
    other = ort.OrtValue.ortvalue_from_numpy(np.full((3, 2), 9, np.float32))
    with pytest.raises(Exception, match=r"indices\[1\] = \[3\] is out of range"):
        bound(session, values, values["data"] if target == "data" else other)
    assert_array_equal(values["data"].numpy(), feeds["data"])
    assert_array_equal(other.numpy(), np.full((3, 2), 9))


def test_other_shared_memory_is_refused():
    model = parse_model(SCATTER)
    session = InferenceSession(model, quiet())
    values = {
        "data": ort.OrtValue.ortvalue_from_numpy(np.ones((2, 2), np.float32)),
        "indices": ort.OrtValue.ortvalue_from_numpy(np.array([[1], [0]])),
        "updates": ort.OrtValue.ortvalue_from_numpy(np.ones((2, 2), np.float32)),
    }
    with pytest.raises(Exception, match="updates shares memory with the output that was bound"):
        bound(session, values, values["updates"])


# ---- constant indices ----


def with_constant(indices: list[list[int]]) -> ModelProto:
    model = parse_model(SCATTER)
    del model.graph.input[1]
    model.graph.initializer.append(numpy_helper.from_array(np.array(indices), "indices"))
    return model


def test_constant_indices_are_checked_against_the_data_of_each_run(feeds):
    model = with_constant([[2], [-3]])
    session = same_as_reference(model, {k: v for k, v in feeds.items() if k != "indices"})
    updates = feeds["updates"]
    with pytest.raises(Exception, match=r"indices\[0\] = \[2\] is out of range"):
        session.run(None, {"data": np.ones((2, 2), np.float32), "updates": updates})
    for rows in (3, 30):
        data = np.zeros((rows, 2), np.float32)
        expected = sowreap.scatter_nd(data, [[2], [-3]], updates, reduction="add")
        assert_array_equal(session.run(None, {"data": data, "updates": updates})[0], expected)


def test_constant_indices_in_memory_that_is_bound(feeds):
    session = InferenceSession(with_constant([[0], [3]]), quiet())
    value = ort.OrtValue.ortvalue_from_numpy(feeds["data"])
    updates = ort.OrtValue.ortvalue_from_numpy(feeds["updates"])
    with pytest.raises(Exception, match=r"indices\[1\] = \[3\] is out of range"):
        bound(session, {"data": value, "updates": updates}, value)
    assert_array_equal(value.numpy(), np.ones((3, 2)))


# ---- Expand ----

EXPANDED = """<ir_version: 10, opset_import: ["": 18]> main
  (float[n, k] data, int64[m, 1] at, int64[2] shape, float[m, k] updates) => (float[n, k] output)
  { wide = Expand (at, shape)
    output = ScatterElements <reduction = "add"> (data, wide, updates) }"""


def expanded_feeds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {
        "data": rng.normal(size=(5, 4)).astype(np.float32),
        "at": rng.integers(-5, 5, (7, 1)),
        "shape": np.array([7, 4]),
        "updates": rng.normal(size=(7, 4)).astype(np.float32),
    }


def operators(session: InferenceSession, tmp_path: Path) -> list[str]:
    """Return the operators that onnxruntime was given."""
    from sowreap.onnx import convert

    convert(session._engine._source, tmp_path / "converted.onnx")
    return [node.op_type for node in onnx.load(tmp_path / "converted.onnx").graph.node]


def test_an_expand_before_indices_is_not_run(tmp_path):
    session = same_as_reference(EXPANDED, expanded_feeds())
    assert "never built" in session.placement()[0].reason
    assert operators(session, tmp_path) == ["ScatterElements"]


def test_an_expand_with_other_readers_stays(tmp_path):
    text = EXPANDED.replace("(float[n, k] output)", "(float[n, k] output, int64[m, k] wide)")
    session = same_as_reference(text, expanded_feeds())
    assert operators(session, tmp_path) == ["Expand", "ScatterElements"]
    text = EXPANDED.replace("}", " twice = Add (wide, wide) }").replace(
        "(float[n, k] output)", "(float[n, k] output, int64[m, k] twice)"
    )
    session = same_as_reference(text, expanded_feeds())
    assert operators(session, tmp_path) == ["Expand", "ScatterElements", "Add"]


def bodies_that_read(wide: str, otherwise: str) -> str:
    return f"""<ir_version: 10, opset_import: ["": 18]> main
      (bool choice, float[n, k] data, int64[m, 1] at, int64[2] shape, float[m, k] updates)
        => (float[n, k] output) {{
        wide = Expand (at, shape)
        first = ScatterElements (data, wide, updates)
        output = If (choice) <
          then_branch = yes () => (float[n, k] a)
            {{ {wide} a = ScatterElements <reduction = "add"> (first, wide, updates) }},
          else_branch = no () => (float[n, k] b) {{ {otherwise} }}> }}"""


@pytest.mark.parametrize("choice", [True, False])
def test_an_expand_in_front_of_bodies_is_not_run(tmp_path, choice):
    text = bodies_that_read("", "b = Identity (first)")
    session = same_as_reference(text, expanded_feeds() | {"choice": np.array(choice)})
    assert operators(session, tmp_path) == ["ScatterElements", "If"]
    assert all("never built" in place.reason for place in session.placement())


def test_an_expand_that_a_body_reads_otherwise_stays(tmp_path):
    text = bodies_that_read(
        "", "more = CastLike (wide, first) total = ReduceSum (more) b = Add (first, total)"
    )
    session = same_as_reference(text, expanded_feeds() | {"choice": np.array(False)})
    assert operators(session, tmp_path) == ["Expand", "ScatterElements", "If"]


@pytest.mark.parametrize("hidden", ["wide = Neg (up)", "at = Identity (up)"])
def test_a_body_may_hide_what_an_expand_outside_is_called(hidden):
    text = bodies_that_read(f"up = Expand (at, shape) {hidden}", "b = Identity (first)")
    folded = ["never built" in place.reason for place in rewrite(parse_model(text))]
    assert folded == [True, False]


@pytest.mark.parametrize("shape", [[7, 5], [7, 3], [1, 7, 4], [8, 4], [7, -1]])
def test_an_expand_to_another_shape_than_that_of_updates_is_an_error(shape):
    feeds = expanded_feeds() | {"shape": np.array(shape)}
    text = EXPANDED.replace("int64[2] shape", "int64[r] shape")
    session = InferenceSession(parse_model(text), quiet())
    with pytest.raises(Exception, match=r"scatter_elements: (indices|updates) ha(s|ve)"):
        session.run(None, feeds)


@pytest.mark.parametrize("shape", [[7, 1], [1], [1, 4], [4]])
def test_an_expand_broadcasts_both_ways(shape):
    feeds = expanded_feeds() | {"shape": np.array(shape)}
    columns = np.broadcast_shapes((7, 1), tuple(shape))[1]
    feeds["updates"] = np.ascontiguousarray(feeds["updates"][:, :columns])
    same_as_reference(EXPANDED.replace("int64[2] shape", "int64[r] shape"), feeds)


def test_expands_before_every_operator():
    text = """<ir_version: 10, opset_import: ["": 18]> main
      (float[5, 4] data, int64[m, 1] at, int64[2] shape, int64[2] pair, float[m, 4] updates)
        => (float[m, 4] a, float[m, 2, 4] b, float[m] c, float[5, 4] d) {
        wide = Expand (at, shape)
        a = GatherElements (data, wide)
        tuples = Expand (at, pair)
        b = Gather (data, tuples)
        c = GatherND (data, tuples)
        row = ReduceSum <keepdims = 0> (updates, one)
        d = ScatterND (data, tuples, row) }"""
    model = parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(np.array([1]), "one"))
    feeds = expanded_feeds()
    feeds["at"] = feeds["at"] % 4
    feeds["pair"] = np.array([7, 2])
    feeds["updates"] = feeds["updates"].round()
    session = same_as_reference(model, feeds)
    assert all("never built" in node.reason for node in session.placement())


def test_constant_tuples_expanded_along_their_components_are_checked():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]> main
        (float[5, 4] data, int64[2] shape, float[m] updates) => (float[5, 4] output) {
        wide = Expand (at, shape)
        output = ScatterND (data, wide, updates) }"""
    )
    at = np.zeros((5000, 1), np.int64)  # more than a kernel resolves before it writes
    at[-1] = 4
    model.graph.initializer.append(numpy_helper.from_array(at, "at"))
    session = InferenceSession(model, quiet())
    value = ort.OrtValue.ortvalue_from_numpy(np.zeros((5, 4), np.float32))
    feeds = {
        "data": value,
        "shape": ort.OrtValue.ortvalue_from_numpy(np.array([5000, 2])),
        "updates": ort.OrtValue.ortvalue_from_numpy(np.ones(5000, np.float32)),
    }
    with pytest.raises(Exception, match="out of range in component 1"):
        bound(session, feeds, value)
    assert_array_equal(value.numpy(), np.zeros((5, 4)))


# ---- what stays on onnxruntime ----


def test_rules_by_which_a_node_stays():
    text = """<ir_version: 10, opset_import: ["": 18]> main
      (float[n, 4] x, int64[m] at) => (int64 rows, float[2] fixed, float[m, 4] moved)
      {
        shape = Shape (x)
        zero = Constant <value = int64 {0}> ()
        longer = Add (shape, shape)
        rows = Gather (longer, zero)
        table = Constant <value = float[3] {1, 2, 3}> ()
        picks = Constant <value = int64[2] {2, 0}> ()
        fixed = Gather (table, picks)
        moved = Gather (x, at)
      }"""
    feeds = {"x": np.ones((3, 4), np.float32), "at": np.array([0, -1])}
    session = same_as_reference(text, feeds)
    nodes = {node.name: node for node in session.placement()}
    assert {name: node.runs_on for name, node in nodes.items()} == {
        "rows": "onnxruntime",
        "fixed": "onnxruntime",
        "moved": "sowreap",
    }
    assert "sizes of tensors" in nodes["rows"].reason
    assert "constant" in nodes["fixed"].reason


def rows_of(width: int, count: str) -> list[str]:
    text = f"""<ir_version: 10, opset_import: ["": 18]> main
      (float[n, {width}] x, int64[{count}] at, int64[1] size)
        => (float[{count}, {width}] y, float[p, {width}] z) {{
        wide = Expand (at, size)
        y = Gather (x, at)
        z = Gather (x, wide) }}"""
    feeds = {
        "x": np.arange(3 * width, dtype=np.float32).reshape(3, width),
        "at": np.array([2, -3]),
        "size": np.array([2]),
    }
    return [node.runs_on for node in same_as_reference(text, feeds).placement()]


def test_long_rows_and_tiny_gathers_stay():
    assert rows_of(63, "m") == ["sowreap", "sowreap"]
    assert rows_of(64, "m") == ["onnxruntime", "sowreap"]
    assert rows_of(32, "2") == ["onnxruntime", "onnxruntime"]
    assert rows_of(33, "2") == ["sowreap", "sowreap"]


def test_a_scatter_or_rows_of_text_never_stay():
    text = """<ir_version: 10, opset_import: ["": 18]> main () => (float[2] y, string[1, 2] z)
      {
        zeros = Constant <value = float[2] {0, 0}> ()
        at = Constant <value = int64[3, 1] {1, 1, 1}> ()
        ones = Constant <value = float[3] {1, 1, 1}> ()
        y = ScatterND <reduction = "add"> (zeros, at, ones)
        flat = Constant <value_strings = ["a", "b", "c", "d"]> ()
        square = Constant <value_ints = [2, 2]> ()
        words = Reshape (flat, square)
        one = Constant <value_ints = [1]> ()
        z = Gather (words, one)
      }"""
    session = InferenceSession(parse_model(text))
    y, z = session.run(None, {})
    assert_array_equal(y, [0, 3])
    assert z.tolist() == [["c", "d"]]
    assert {node.runs_on for node in session.placement()} == {"sowreap"}


def test_a_model_without_the_family_goes_through():
    model = parse_model(
        """<ir_version: 10, opset_import: ["": 18]> main (float[n] x) => (float[n] y)
        { y = Neg (x) }"""
    )
    options = quiet()
    session = InferenceSession(model, options)
    assert session.placement() == []
    assert_array_equal(session.run(None, {"x": np.ones(2, np.float32)})[0], [-1, -1])


# ---- sessions ----


def test_several_sessions_from_one_set_of_options(feeds):
    options = quiet()
    sessions = [InferenceSession(parse_model(SCATTER), options) for _ in range(3)]
    for session in sessions:
        assert_array_equal(session.run(None, feeds)[0], [[1, 1], [5, 7], [1, 1]])


@pytest.mark.parametrize("mode", ["ORT_SEQUENTIAL", "ORT_PARALLEL"])
def test_eight_threads_on_one_session(mode):
    options = quiet(execution_mode=getattr(ort.ExecutionMode, mode), intra_op_num_threads=2)
    session = InferenceSession(parse_model(SCATTER), options)
    rng = np.random.default_rng(5)
    failures: list[object] = []

    def work(seed: int) -> None:
        local = np.random.default_rng(seed)
        indices = local.integers(0, 500, (20_000, 1))
        updates = local.normal(size=(20_000, 8)).astype(np.float32)
        expected = sowreap.scatter_nd(data, indices, updates, reduction="add")
        for _ in range(5):
            given = {"data": data, "indices": indices, "updates": updates}
            if not np.array_equal(session.run(None, given)[0], expected):
                failures.append(seed)

    data = rng.normal(size=(500, 8)).astype(np.float32)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_models_from_a_path_bytes_and_a_proto(feeds, tmp_path):
    model = parse_model(SCATTER)
    before = model.SerializeToString()
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    for source in (path, str(path), before, bytearray(before), model):
        session = InferenceSession(source)
        assert_array_equal(session.run(None, feeds)[0], [[1, 1], [5, 7], [1, 1]])
        assert session.placement()[0].runs_on == "sowreap"
    assert model.SerializeToString() == before
    assert path.read_bytes() == before


def test_external_data_is_found_beside_the_model(feeds, tmp_path):
    model = with_constant([[2], [-3]])
    table = np.random.default_rng(1).normal(size=(3, 2)).astype(np.float32)
    del model.graph.input[0]
    model.graph.initializer.append(numpy_helper.from_array(table, "data"))
    path = tmp_path / "model.onnx"
    onnx.save_model(
        model, path, save_as_external_data=True, location="weights.bin", size_threshold=0
    )
    expected = sowreap.scatter_nd(table, [[2], [-3]], feeds["updates"], reduction="add")
    options = quiet()
    for _ in range(2):
        session = InferenceSession(path, options)
        assert_array_equal(session.run(None, {"updates": feeds["updates"]})[0], expected)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(Exception, match="weights"):
        InferenceSession(path, options)


@pytest.mark.parametrize("how", ["no options", "options with the entry", "profiled", "command"])
def test_external_data_are_read_without_a_warning(how, tmp_path, capfd):
    np.arange(6, dtype=np.float32).tofile(tmp_path / "table")
    path = tmp_path / "model.onnx"
    onnx.save(from_initializer(external_table("table"), gathers=True), path)
    feeds, options = {"indices": np.array([0, 2])}, None
    if how == "options with the entry":
        options = ort.SessionOptions()
        options.add_session_config_entry(EXTERNAL_FOLDER, str(tmp_path.resolve()))
    if how == "command":
        Model(str(path), "onnxruntime").run(feeds, 1, lambda: None)
    else:
        for _ in range(2):
            session = InferenceSession(path, options)
            session.run_profiled(None, feeds) if how == "profiled" else session.run(None, feeds)
    assert "already exists" not in capfd.readouterr().err


def external_table(location, **more):
    """A tensor of 3 * 2 floats in a file of its own."""
    tensor = TensorProto(name="data", data_type=TensorProto.FLOAT, dims=[3, 2])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def from_initializer(tensor, gathers):
    model = parse_model(EXTERNAL_GATHER if gathers else EXTERNAL_COPY)
    model.graph.initializer.append(tensor)
    return model


def from_branch(tensor, gathers):
    model = from_initializer(TensorProto(), gathers)
    del model.graph.initializer[:]
    body = parse_graph("branch () => (float[3, 2] result) { result = Constant () }")
    body.node[0].attribute.append(helper.make_attribute("value", tensor))
    condition = numpy_helper.from_array(np.array(True), "condition")
    model.graph.initializer.append(condition)
    choice = helper.make_node("If", ["condition"], ["data"], then_branch=body, else_branch=body)
    model.graph.node.insert(0, choice)
    return model


def from_default_of_function(tensor, gathers):
    model = from_initializer(TensorProto(), gathers)
    del model.graph.initializer[:]
    node = helper.make_node("Constant", [], ["result"])
    node.attribute.add(name="value", ref_attr_name="table", type=onnx.AttributeProto.TENSOR)
    function = helper.make_function(
        "own", "Table", [], ["result"], [node], [helper.make_opsetid("", 18)]
    )
    function.attribute_proto.append(helper.make_attribute("table", tensor))
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.graph.node.insert(0, helper.make_node("Table", [], ["data"], domain="own"))
    return model


EXTERNAL_GATHER = """<ir_version: 8, opset_import: ["": 18]>
main (int64[n] indices) => (float[n, 2] out) { out = Gather (data, indices) }"""
EXTERNAL_COPY = """<ir_version: 8, opset_import: ["": 18]>
main (int64[n] indices) => (float[3, 2] out) { out = Identity (data) }"""

HIDDEN = (from_initializer, from_branch, from_default_of_function)


def record_sessions(monkeypatch):
    """What onnxruntime is given, instead of running it."""
    given = []
    monkeypatch.setattr(ort, "InferenceSession", lambda model, *_, **__: given.append(model))
    return given


@pytest.mark.parametrize("gathers", [True, False])
@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize(
    "location",
    ["../secret", "{host}/secret", "link", "out/secret", "x/../../secret", "*/_ORT_MEM_ADDR_/*"],
)
def test_onnxruntime_gets_no_model_with_data_outside_its_folder(
    hidden, location, gathers, tmp_path, monkeypatch
):
    """Releases before 1.24 read any file, and any memory, for whoever asks."""
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(24))
    (folder / "link").symlink_to("../secret")
    (folder / "out").symlink_to("..")
    tensor = external_table(location.format(host=tmp_path), offset=4096, length=24)
    path = folder / "model.onnx"
    path.write_bytes(hidden(tensor, gathers).SerializeToString())
    given = record_sessions(monkeypatch)
    with pytest.raises(ModelError, match="outside the folder"):
        InferenceSession(path)
    assert not given


@pytest.mark.parametrize("gathers", [True, False])
@pytest.mark.parametrize("hidden", HIDDEN)
def test_onnxruntime_gets_no_bytes_with_data_in_a_folder_nobody_named(
    hidden, gathers, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    np.arange(6, dtype=np.float32).tofile(tmp_path / "table")
    model = hidden(external_table("table"), gathers)
    for source in (model, model.SerializeToString()):
        with pytest.raises(ModelError, match="Give the path"):
            InferenceSession(source)
    options = quiet()
    options.add_session_config_entry(EXTERNAL_FOLDER, str(tmp_path / "none"))
    outside = hidden(external_table("../table"), gathers)
    with pytest.raises(ModelError, match="outside the folder"):
        InferenceSession(outside, options)


@pytest.mark.parametrize("gathers", [True, False])
def test_external_data_in_a_folder_of_the_options(gathers, tmp_path):
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    table.tofile(tmp_path / "table")
    options = quiet()
    options.add_session_config_entry(EXTERNAL_FOLDER, str(tmp_path))
    model = from_initializer(external_table("table"), gathers)
    (found,) = InferenceSession(model, options).run(None, {"indices": np.array([0, 1, 2])})
    assert_array_equal(found, table)
    assert options.get_session_config_entry(EXTERNAL_FOLDER) == str(tmp_path)


def test_description(feeds):
    session = InferenceSession(parse_model(SCATTER))
    assert [(each.name, each.type, each.shape) for each in session.get_inputs()] == [
        ("data", "tensor(float)", ["n", "k"]),
        ("indices", "tensor(int64)", ["m", 1]),
        ("updates", "tensor(float)", ["m", "k"]),
    ]
    assert [each.shape for each in session.get_outputs()] == [["n", "k"]]
    assert session.get_overridable_initializers() == []
    assert session.get_modelmeta().producer_name == "hand"
    assert "CPUExecutionProvider" in session.get_providers()
    assert session.get_session_options().intra_op_num_threads == 0
    with pytest.raises(AttributeError):
        _ = session.no_such_method


def test_overridable_initializer_as_indices(feeds):
    model = parse_model(SCATTER)
    model.graph.initializer.append(numpy_helper.from_array(np.array([[0], [2]]), "indices"))
    session = InferenceSession(model)
    assert [each.name for each in session.get_overridable_initializers()] == ["indices"]
    default = {name: value for name, value in feeds.items() if name != "indices"}
    assert_array_equal(session.run(None, default)[0], [[2, 3], [1, 1], [4, 5]])
    assert_array_equal(session.run(None, feeds)[0], [[1, 1], [5, 7], [1, 1]])


def test_ort_values_and_run_options(feeds):
    session = InferenceSession(parse_model(SCATTER))
    values = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in feeds.items()}
    (output,) = session.run_with_ort_values(["output"], values)
    assert_array_equal(output.numpy(), [[1, 1], [5, 7], [1, 1]])
    assert len(session.run(["output"], feeds, ort.RunOptions())) == 1


def test_profile(feeds):
    text = SCATTER.replace("{ output", "{ twice = Add (data, data)  output").replace(
        "(data, indices", "(twice, indices"
    )
    session = InferenceSession(parse_model(text))
    outputs, records = session.run_profiled(None, feeds, 3)
    assert_array_equal(outputs[0], [[2, 2], [6, 8], [2, 2]])
    assert [(each.op_type, each.is_family) for each in records] == [
        ("Add", False),
        ("ScatterND", True),
    ]
    assert records[1].family_seconds == records[1].seconds


def test_profile_counts_what_bodies_do():
    text = """<ir_version: 10, opset_import: ["": 18]> main
      (float[4] x, int64[2, 1] at, float[2] news, int64 times) => (float[4] z) {
        always = Constant <value = bool {1}> ()
        z = Loop (times, always, x) <body = step (int64 i, bool go, float[4] old)
          => (bool more, float[4] new)
          { more = Identity (go)  new = ScatterND <reduction = "add"> (old, at, news) }> }"""
    feeds = {
        "x": np.zeros(4, np.float32),
        "at": np.array([[1], [-1]]),
        "news": np.ones(2, np.float32),
        "times": np.array(2000),
    }
    _, records = InferenceSession(parse_model(text)).run_profiled(None, feeds)
    (loop,) = [record for record in records if record.op_type == "Loop"]
    assert not loop.is_family
    assert 0 < loop.family_seconds < loop.seconds


def test_the_users_own_profile(feeds, tmp_path):
    options = quiet(enable_profiling=True, profile_file_prefix=str(tmp_path / "mine"))
    session = InferenceSession(parse_model(SCATTER), options)
    session.run(None, feeds)
    assert "ScatterND" in Path(session.end_profiling()).read_text()


# ---- errors ----


def test_a_bad_index_is_named(feeds):
    session = InferenceSession(parse_model(SCATTER), quiet())
    feeds["indices"][1] = -4
    with pytest.raises(
        Exception,
        match=r"ScatterND node. Name:'output' .*scatter_nd: indices\[1\] = \[-4\] is out of "
        r"range in component 0: -4 is not in \[-3, 2\] for axis 0 of data; data has shape \(3, 2\)",
    ) as caught:
        session.run(None, feeds)
    assert type(caught.value).__name__ == "InvalidArgument"
    feeds["indices"][1] = 2
    assert_array_equal(session.run(None, feeds)[0], [[1, 1], [2, 3], [4, 5]])


def test_shapes_that_disagree_are_named(feeds):
    session = InferenceSession(parse_model(SCATTER.replace("float[m, k]", "float[p, q]")), quiet())
    feeds["updates"] = feeds["updates"][:, :1]
    with pytest.raises(Exception, match=r"updates has shape \(2, 1\) but needs shape \(2, 2\)"):
        session.run(None, feeds)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"add"', '"sum"', "reduction='sum' is not one of"),
        ("reduction", "axis", "unknown attribute 'axis'"),
        ('"": 18', '"": 16', "reduction='max' is not one of .* from opset 18 on"),
    ],
)
def test_bad_attributes_stop_the_session(old, new, message):
    text = SCATTER.replace(old, new)
    text = text.replace('"add"', '"max"') if "16" in new else text
    with pytest.raises(sowreap.ArgumentError, match=message) as caught:
        InferenceSession(parse_model(text))
    assert caught.value.__notes__ == ["in node 'output' (ScatterND)"]


def test_a_bad_axis_is_named_when_the_rank_is_known(feeds):
    text = SCATTER.replace('ScatterND <reduction = "add">', "ScatterElements <axis = 2>").replace(
        "int64[m, 1]", "int64[m, k]"
    )
    feeds["indices"] = np.zeros((2, 2), np.int64)
    session = InferenceSession(parse_model(text), quiet())
    with pytest.raises(Exception, match=r"axis = 2 is not in \[-2, 1\] for data of rank 2"):
        session.run(None, feeds)


@pytest.mark.parametrize("content", [b"", b"no model", b"\x08\x0a\x3a\xff"])
def test_broken_models_are_errors_of_onnxruntime(content, tmp_path):
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    for source in (content, path):
        with pytest.raises(Exception, match=r"ONNXRuntimeError|ModelProto|protobuf"):
            InferenceSession(source, quiet())


def test_a_missing_file_and_a_wrong_kind(tmp_path):
    with pytest.raises(Exception, match=r"absent\.onnx"):
        InferenceSession(tmp_path / "absent.onnx", quiet())
    with pytest.raises(sowreap.DtypeError, match="model is a int"):
        InferenceSession(5)


def test_wrong_feeds_are_named(feeds):
    session = InferenceSession(parse_model(SCATTER), quiet())
    with pytest.raises(sowreap.ArgumentError, match="input 'updates' is missing"):
        session.run(None, {name: feeds[name] for name in ("data", "indices")})
    with pytest.raises(sowreap.DtypeError, match="'data' has dtype float64; the model wants"):
        session.run(None, feeds | {"data": feeds["data"].astype(np.float64)})
    with pytest.raises(sowreap.ArgumentError, match="unknown input 'more'"):
        session.run(None, feeds | {"more": feeds["data"]})
    with pytest.raises(Exception, match="no_such_output"):
        session.run(["no_such_output"], feeds)


def test_without_onnxruntime_the_error_says_what_to_install():
    code = """
import sys
sys.modules["onnxruntime"] = None
import sowreap.onnx
try:
    sowreap.onnx.InferenceSession(b"")
except sowreap.onnx.MissingEngineError as error:
    print(isinstance(error, ImportError), error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("True engine='onnxruntime' needs the package onnxruntime")
    assert 'pip install "sowreap[ort]", or pass engine="reference"' in found.stdout
    assert issubclass(MissingEngineError, ImportError)


@pytest.mark.parametrize("text", [False, True], ids=["floats", "text"])
def test_a_result_beyond_the_limit_is_refused_before_it_is_allocated(text):
    kind = "string" if text else "float"
    session = InferenceSession(
        parse_model(
            f"""<ir_version: 10, opset_import: ["": 18]>
            main ({kind}[n] data, int64[1] indices, int64[1] shape) => ({kind}[m] out)
            {{ wide = Expand (indices, shape) out = Gather (data, wide) }}"""
        ),
        quiet(),
    )
    data = np.array(["a", "b"], object) if text else np.zeros(2, np.float32)
    before = sowreap._core.result_limit()
    sowreap._core.set_result_limit(1 << 20)
    try:
        for size, message in ((1 << 22, r"at most 1048576"), (1 << 40, r"\(1099511627776,\)")):
            feeds = {"data": data, "indices": np.array([1]), "shape": np.array([size])}
            with pytest.raises(Exception, match=message):
                session.run(None, feeds)
        feeds["shape"] = np.array([1 << 10])
        assert session.run(None, feeds)[0].shape == (1 << 10,)
    finally:
        sowreap._core.set_result_limit(before)


MANY_THREADS = """
import sys
import numpy as np
from onnx import helper
from onnx.parser import parse_graph
from sowreap.onnx import InferenceSession

node = helper.make_node(
    "ScatterND", list("diu"), ["o"], domain="sowreap", reduction="add", threads=int(sys.argv[1])
)
graph = parse_graph("g (float[n] d, int64[m, 1] i, float[m] u) => (float[n] o) { }")
graph.node.append(node)
imports = [helper.make_opsetid("", 18), helper.make_opsetid("sowreap", 1)]
session = InferenceSession(helper.make_model(graph, opset_imports=imports, ir_version=9))
cells, updates = 4_000_000, 60_000
feeds = {
    "d": np.zeros(cells, np.float32),
    "i": np.random.default_rng(0).integers(0, cells, (updates, 1)),
    "u": np.ones(updates, np.float32),
}
print(session.run(None, feeds)[0].sum())
"""


@pytest.mark.parametrize("threads", [-1, 2_000_000, 2**31 - 1, 2**40])
def test_any_number_of_threads_in_a_model_is_bounded(threads):
    """Each thread that cells are divided among reads all indices: a million take minutes."""
    done = subprocess.run(
        [sys.executable, "-c", MANY_THREADS, str(threads)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "60000.0\n"
