"""Calls on a few items, which kernels in a session move without a plan, and those just beyond."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from onnx.parser import parse_model

import sowreap
from sowreap import _reference
from sowreap.onnx import InferenceSession

ort = pytest.importorskip("onnxruntime", reason="the engine is optional")

RNG = np.random.default_rng(5)
HEADER = '<ir_version: 11, opset_import: ["": 24]> main'
TYPES = {"int8": "int8", "float16": "float16", "float32": "float", "int64": "int64"}


def session_of(body: str, inputs: str, output: str) -> InferenceSession:
    model = parse_model(f"{HEADER} ({inputs}) => ({output} y) {{ {body} }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    session = InferenceSession(model)
    assert {each.runs_on for each in session.placement()} == {"sowreap"}
    return session


def symbolic(dtype: str, name: str, rank: int) -> str:
    return f"{dtype}[{', '.join(f'{name}{d}' for d in range(rank))}] {name}"


def indices_of(shape: tuple[int, ...], length: int, dtype: str) -> np.ndarray:
    return RNG.integers(-length, length, shape).astype(dtype)


# Shape of data, shape of indices, axis. The limits are 256 values of indices and 8192 bytes.
ALONG = [
    ((5,), (3,), 0),
    ((4, 6), (3, 6), 0),
    ((4, 6), (4, 2), 1),
    ((2, 7, 3), (2, 5, 3), 1),
    ((2, 7, 3), (1, 5, 2), -2),
    ((256, 1), (256, 1), 0),
    ((257, 1), (257, 1), 0),
    ((40, 70), (1, 70), 0),
    ((2, 0), (2, 0), 1),
]


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("data", "picks", "axis"), ALONG)
def test_elements(data, picks, axis, dtype, index):
    x = RNG.integers(-9, 9, data).astype(dtype)
    at = indices_of(picks, data[axis] or 1, index)
    u = RNG.integers(-9, 9, picks).astype(dtype)
    kind, rank = TYPES[dtype], len(data)
    inputs = f"{symbolic(kind, 'x', rank)}, {symbolic(index, 'at', rank)}"
    gather = session_of(f"y = GatherElements <axis = {axis}> (x, at)", inputs, f"{kind}[n]")
    assert_array_equal(
        gather.run(None, {"x": x, "at": at})[0], _reference.gather_elements(x, at, axis)
    )
    inputs += f", {symbolic(kind, 'u', rank)}"
    scatter = session_of(f"y = ScatterElements <axis = {axis}> (x, at, u)", inputs, f"{kind}[n]")
    assert_array_equal(
        scatter.run(None, {"x": x, "at": at, "u": u})[0],
        _reference.scatter_elements(x, at, u, axis),
    )


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("data", "picks", "axis"),
    [
        ((5, 7), (), 0),
        ((5,), (2, 2), 0),
        ((4, 6), (3,), 0),
        ((4, 6), (3,), -1),
        ((2, 3, 5), (2, 2), 1),
        ((300,), (256,), 0),
        ((300,), (257,), 0),
        ((3, 1024), (2,), 0),
        ((3, 1025), (8,), 0),
        ((3, 0), (2,), 0),
    ],
)
def test_gather(data, picks, axis, dtype, index):
    x = RNG.integers(-9, 9, data).astype(dtype)
    at = indices_of(picks, data[axis], index)
    kind = TYPES[dtype]
    inputs = f"{symbolic(kind, 'x', len(data))}, {symbolic(index, 'at', len(picks))}"
    inputs = inputs.replace("[] at", " at")
    session = session_of(f"y = Gather <axis = {axis}> (x, at)", inputs, f"{kind}[n]")
    assert_array_equal(session.run(None, {"x": x, "at": at})[0], sowreap.gather(x, at, axis))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("data", "picks"),
    [
        ((5,), (3, 1)),
        ((4, 6), (3, 2)),
        ((4, 6), (2, 3, 1)),
        ((4, 2, 3), (7, 2)),
        ((4, 6), (3, 0)),
        ((40, 3), (128, 2)),
        ((40, 3), (129, 2)),
        ((3, 1024), (2, 1)),
        ((3, 1025), (8, 1)),
    ],
)
def test_tuples(data, picks, dtype):
    x = RNG.integers(-9, 9, data).astype(dtype)
    length = picks[-1]
    at = (
        np.stack([indices_of(picks[:-1], data[d], "int64") for d in range(length)] or [], -1)
        if (length)
        else np.zeros(picks, np.int64)
    )
    u = RNG.integers(-9, 9, picks[:-1] + data[length:]).astype(dtype)
    kind = TYPES[dtype]
    inputs = f"{symbolic(kind, 'x', len(data))}, {symbolic('int64', 'at', len(picks))}"
    inputs = inputs.replace(f"at{len(picks) - 1}] at", f"{length}] at")
    gather = session_of("y = GatherND (x, at)", inputs, f"{kind}[n]")
    assert_array_equal(gather.run(None, {"x": x, "at": at})[0], sowreap.gather_nd(x, at))
    inputs += f", {symbolic(kind, 'u', u.ndim)}"
    scatter = session_of("y = ScatterND (x, at, u)", inputs, f"{kind}[n]")
    assert_array_equal(
        scatter.run(None, {"x": x, "at": at, "u": u})[0], _reference.scatter_nd(x, at, u)
    )


def test_tuples_of_batches():
    x, at = RNG.random((2, 3, 4), np.float32), indices_of((2, 5, 1), 3, "int64")
    session = session_of(
        "y = GatherND <batch_dims = 1> (x, at)", "float[a, b, c] x, int64[a, n, 1] at", "float[n]"
    )
    assert_array_equal(session.run(None, {"x": x, "at": at})[0], sowreap.gather_nd(x, at, 1))


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (3, 1), (60, 4), (70, 4)])
def test_expanded_indices(shape):
    """Their strides of 0 are followed, or all items are packed."""
    rows = max(shape[0], 3)
    x, u = RNG.random((9, 4), np.float32), RNG.random((rows, 4), np.float32)
    at = indices_of(shape, 9, "int64")
    session = session_of(
        "wide = Expand (at, size) y = ScatterElements (x, wide, u)",
        f"float[n, 4] x, int64[{shape[0]}, {shape[1]}] at, int64[2] size, float[m, 4] u",
        "float[n]",
    )
    assert "never built" in session.placement()[0].reason
    wide = np.broadcast_to(at, (rows, 4))
    feeds = {"x": x, "at": at, "u": u, "size": np.array([rows, 4])}
    assert_array_equal(session.run(None, feeds)[0], _reference.scatter_elements(x, wide, u))


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [-2, 1])
@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (1, 2, 64, 16), (2, 2, 64, 16), (2, 1, 3, 0)])
@pytest.mark.parametrize("steps", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_cache(shape, axis, steps, mode, dtype):
    update = list(shape)
    update[axis] = min(steps, shape[axis])
    x, u = (RNG.integers(-9, 9, each).astype(dtype) for each in (shape, update))
    last = shape[axis] if mode == "circular" else shape[axis] - update[axis] + 1
    at = RNG.integers(0, last, shape[0])
    kind = TYPES[dtype]
    session = session_of(
        f'y = TensorScatter <axis = {axis}, mode = "{mode}"> (x, u, at)',
        f"{symbolic(kind, 'x', 4)}, {symbolic(kind, 'u', 4)}, int64[b] at",
        f"{kind}[n]",
    )
    wanted = _reference.tensor_scatter(x, u, at, axis, mode)
    assert_array_equal(session.run(None, {"x": x, "u": u, "at": at})[0], wanted)
    assert_array_equal(sowreap.tensor_scatter(x, u, at, axis, mode), wanted)
    in_place = x.copy()
    sowreap.tensor_scatter(in_place, u, at, axis, mode, out=in_place)
    assert_array_equal(in_place, wanted)


@pytest.mark.parametrize("value", [3, -4, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize(
    ("body", "shape"),
    [("ScatterElements (x, at, u)", (4,)), ("ScatterND (x, at, u)", (4, 1))],
)
def test_bound_memory_stays_as_it_was_where_an_index_is_bad(body, shape, value):
    session = session_of(
        f"y = {body}", f"float[n] x, {symbolic('int64', 'at', len(shape))}, float[m] u", "float[n]"
    )
    at = np.array([0, 1, 2, value]).reshape(shape)
    held = ort.OrtValue.ortvalue_from_numpy(np.arange(3, dtype=np.float32))
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", held)
    binding.bind_cpu_input("at", at)
    binding.bind_cpu_input("u", np.full(4, 9, np.float32))
    binding.bind_ortvalue_output("y", held)
    with pytest.raises(Exception, match=f"= .?{value}"):
        session.run_with_iobinding(binding)
    assert_array_equal(held.numpy(), [0, 1, 2])
    binding.bind_cpu_input("at", np.array([0, -1, 0, 1]).reshape(shape))
    session.run_with_iobinding(binding)
    assert_array_equal(held.numpy(), [9, 9, 9])
