"""ONNX's own node tests through the backend, and the backend's interface."""

from __future__ import annotations

import functools
import re
import unittest
import warnings

import numpy as np
import onnx
import pytest
from numpy.testing import assert_array_equal
from onnx import helper
from onnx.backend.test import BackendTest
from onnx.parser import parse_model

import sowreap
from sowreap.onnx import ModelError, backend

ALONE = {
    "gather_(?!elements)": 4,
    "gather_elements_": 3,
    "gathernd_": 3,
    "scatter_(?!elements)": 2,
    "scatter_elements_": 6,
    "scatternd": 5,
    "tensorscatter": 3,
}


@functools.cache
def official_tests() -> type[unittest.TestCase]:
    """Return ONNX's node tests; making their data overflows and divides by zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return BackendTest(backend, __name__).test_cases["OnnxBackendNodeModelTest"]


def run_official_tests(pattern: str) -> int:
    """Run the tests of that name; a skipped one is a failure. Return how many there are."""
    cases = official_tests()
    names = [name for name in dir(cases) if re.match(f"test_{pattern}.*_cpu$", name)]
    for name in names:
        try:
            getattr(cases(name), name)()
        except unittest.SkipTest as skipped:
            pytest.fail(f"{name} was skipped: {skipped}")
    return len(names)


@pytest.mark.parametrize("pattern", ALONE)
def test_official_cases_of_one_node(pattern: str, calls):
    count = run_official_tests(pattern)
    assert count >= ALONE[pattern]
    assert calls.total() == count


def test_official_cases_with_the_family_inside(calls):
    assert run_official_tests("(center_crop_pad|attention).*_expanded") >= 40
    assert calls["gather"] >= 3


MODEL = parse_model(
    """<ir_version: 10, opset_import: ["": 18]>
    main (float[n] x, int64[m] i) => (float[m] y, float[n] z) {
        y = Gather (x, i)
        z = Relu (x)
    }"""
)
X, I = np.array([-1, 2, 3], np.float32), np.array([2, 0])  # noqa: E741


def test_prepared_model_takes_lists_dicts_and_names_its_outputs():
    prepared = backend.prepare(MODEL, "CPU:0")
    for inputs in ([X, I], (X, I), {"i": I, "x": X}):
        outputs = prepared.run(inputs)
        assert isinstance(outputs, tuple)
        assert_array_equal(outputs[0], [3, -1])
        assert_array_equal(outputs.z, [0, 2, 3])
        assert_array_equal(outputs["y"], outputs.y)
    assert_array_equal(backend.run_model(MODEL, [X, I]).y, [3, -1])
    single = parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        main (float[n] x) => (float[n] z) { z = Relu (x) }"""
    )
    assert_array_equal(backend.prepare(single).run(X).z, [0, 2, 3])


def test_wrong_inputs_are_refused():
    prepared = backend.prepare(MODEL)
    with pytest.raises(sowreap.ArgumentError, match="1 values for 2 inputs: 'x', 'i'"):
        prepared.run([X])
    with pytest.raises(sowreap.ArgumentError, match="run: unknown options 'fast'"):
        prepared.run([X, I], fast=True)
    with pytest.raises(sowreap.ArgumentError, match="prepare: unknown options 'fast'"):
        backend.prepare(MODEL, fast=True)


def test_devices():
    assert backend.supports_device("CPU")
    assert backend.supports_device("CPU:1")
    assert not backend.supports_device("CUDA")
    with pytest.raises(sowreap.ArgumentError, match="device='CUDA:0' is not supported"):
        backend.prepare(MODEL, "CUDA:0")
    with pytest.raises(sowreap.ArgumentError, match="device='GPU'"):
        backend.run_node(helper.make_node("Relu", ["x"], ["y"]), [X], "GPU")


def test_compatible_models():
    assert backend.is_compatible(MODEL)
    assert not backend.is_compatible(MODEL, "CUDA")
    strange = onnx.ModelProto()
    strange.CopyFrom(MODEL)
    strange.graph.node[1].op_type = "Strange"
    assert not backend.is_compatible(strange)
    with pytest.raises(ModelError, match="Strange"):
        backend.prepare(strange)


def test_run_node(calls):
    node = helper.make_node("ScatterND", ["d", "i", "u"], ["y"], reduction="add")
    inputs = [np.zeros(3), np.array([[1], [1]]), np.array([1.0, 2.0])]
    assert_array_equal(backend.run_node(node, inputs).y, [0, 3, 0])
    assert_array_equal(backend.run_node(node, dict(zip("diu", inputs, strict=True)))[0], [0, 3, 0])
    assert calls["scatter_nd"] == 2
    old = helper.make_node("Scatter", ["d", "i", "u"], ["y"])
    inputs[1] = np.array([1, 0])
    assert_array_equal(backend.run_node(old, inputs, opset_version=9).y, [2, 1, 0])
    with pytest.raises(sowreap.ArgumentError, match="unknown options 'fast'"):
        backend.run_node(node, inputs, fast=True)
    with pytest.raises(sowreap.ArgumentError, match="2 values for 3 inputs"):
        backend.run_node(node, inputs[:2])


def test_run_node_with_missing_optional_and_other_domains():
    node = helper.make_node("Clip", ["x", "", "top"], ["y"])
    assert_array_equal(backend.run_node(node, [X, np.array(2, np.float32)]).y, [-1, 2, 2])
    node = helper.make_node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml", threshold=2.5)
    assert_array_equal(backend.run_node(node, [X]).y, [0, 0, 1])


def test_class_and_module_are_one_backend():
    assert issubclass(backend.SowreapBackend, onnx.backend.base.Backend)
    assert isinstance(backend.prepare(MODEL), onnx.backend.base.BackendRep)
    assert official_tests().__module__ == __name__
