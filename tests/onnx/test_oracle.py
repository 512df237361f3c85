"""A model run with the loops of the standard in place of every gather and scatter."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from check_models import cache, elements, graph, read, tuples
from numpy.testing import assert_array_equal
from test_check_feeds import network_feeds
from test_graph_network import network

import sowreap
from sowreap import _reference
from sowreap.onnx import InferenceSession, _oracle
from sowreap.onnx._oracle import TooLargeError, oracle_outputs


@pytest.fixture
def saved(tmp_path):
    def save(model):
        path = tmp_path / "model.onnx"
        onnx.save(model, path)
        return path

    return save


@pytest.fixture
def no_kernels(monkeypatch):
    """Make every public function fail."""

    def fail(*arguments, **keywords):
        raise AssertionError("a kernel ran")

    for name in ("gather", "gather_elements", "gather_nd", "scatter", "scatter_elements"):
        monkeypatch.setattr(sowreap, name, fail)
    for name in ("scatter_nd", "tensor_scatter"):
        monkeypatch.setattr(sowreap, name, fail)


def test_network_is_that_of_the_session(saved):
    model, feeds = network(), network_feeds()
    wanted = InferenceSession(model, engine="reference").run(None, feeds)
    assert_array_equal(oracle_outputs(saved(model), ["pooled"], feeds)[0], wanted[0])


def test_no_kernel_takes_part(saved, no_kernels):
    (pooled,) = oracle_outputs(saved(network()), ["pooled"], network_feeds())
    assert np.isfinite(pooled).all()


def test_functions_and_subgraphs_are_loops_too(saved, no_kernels):
    functions = """
        <domain: "local", opset_import: ["": 18]>
        pick (x, i) => (y) { y = GatherElements (x, i) }"""
    body = """c = Constant <value = bool {1}> ()
        p = local.pick (data, indices)
        out = If (c) <
            then_branch = t () => (float[2] a) { a = Gather (p, indices) },
            else_branch = e () => (float[2] b) { b = Identity (p) }
        >"""
    model = graph("(float[3] data, int64[2] indices) => (float[2] out)", body, functions=functions)
    feeds = {"data": np.array([1, 2, 3], np.float32), "indices": np.array([2, 0])}
    with pytest.raises(IndexError):  # the picked row has two items, and index 2 is none of them
        oracle_outputs(saved(model), ["out"], feeds)
    feeds["indices"] = np.array([1, 0])
    assert_array_equal(oracle_outputs(saved(model), ["out"], feeds)[0], [1, 2])


ROWS = {
    "data": np.zeros((3, 4), np.float32),
    "indices": np.array([[0], [2]]),
    "updates": np.ones((2, 4), np.float32),
}
STEPS = [
    (read("Gather", "float[a, b]", "int64[m, n]", "axis = 1"), ROWS, 2 * 3),
    (read("GatherElements", "float[a, b]", "int64[m, n]", "axis = 0"), ROWS, 2),
    (read("GatherND", "float[a, b]", "int64[m, n]"), ROWS, 2 * 4),
    (tuples("add"), ROWS, 2 * 4),
    (
        elements("add"),
        {
            "data": ROWS["data"][0],
            "indices": ROWS["indices"][:, 0],
            "updates": np.ones(2, np.float32),
        },
        2,
    ),
    (
        cache("n"),
        {
            "cache": np.zeros((2, 8, 4), np.float32),
            "update": np.ones((2, 3, 4), np.float32),
            "starts": np.array([0, 1]),
        },
        2 * 3 * 4,
    ),
]


@pytest.mark.parametrize(("model", "feeds", "steps"), STEPS)
def test_too_many_steps_are_refused_before_they_run(saved, monkeypatch, model, feeds, steps):
    names = [value.name for value in model.graph.input]
    given = {name: feeds[name] for name in names}
    path = saved(model)
    monkeypatch.setattr(_oracle, "MAX_STEPS", steps)
    oracle_outputs(path, ["out"], given)
    monkeypatch.setattr(_oracle, "MAX_STEPS", steps - 1)
    for name in ("gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd"):
        monkeypatch.setattr(_reference, name, None)
    monkeypatch.setattr(_reference, "tensor_scatter", None)
    with pytest.raises(TooLargeError, match=f"more than {steps - 1} steps"):
        oracle_outputs(path, ["out"], given)
