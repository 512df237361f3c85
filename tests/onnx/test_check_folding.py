"""The check of indices and shapes that a model computes from constants."""

from __future__ import annotations

import numpy as np
import pytest
from check_models import graph
from onnx import ModelProto, numpy_helper

from sowreap.onnx import Severity, check
from sowreap.onnx._check import folding
from sowreap.onnx._evaluator import Evaluator

CONSTANTS = """<int64 zero = {0}, int64 one = {1}, int64 four = {4}, int64 nine = {9},
    int64[1] ones = {1}, int64[1] twos = {2}, int64[1] axes = {0}, int64[1] threes = {3},
    int64[2] pair = {2, 3}, int64[1] rest = {-1},
    int32[2] small = {3, 7}, float[2] halves = {1.5, 7.5}>"""

# How `at` comes about, and the first index of it that is out of range for an axis of 3.
CHAINS = {
    "Range": ("at = Range (zero, four, one)", (3,), 3),
    "Range backwards": ("minus = Neg (one) at = Range (zero, minus, minus)", None, None),
    "Cast": ("at = Cast <to = 7> (halves)", (1,), 7),
    "Cast of int32": ("at = Cast <to = 7> (small)", (0,), 3),
    "Concat": ("at = Concat <axis = 0> (pair, rest, threes)", (1,), 3),
    "Expand": ("at = Expand (nine, pair)", (0, 0), 9),
    "ConstantOfShape": ("at = ConstantOfShape <value = int64[1] {5}> (pair)", (0, 0), 5),
    "Unsqueeze": ("at = Unsqueeze (nine, rest)", (0,), 9),
    "Reshape and Add": (
        "a = Range (zero, four, one) b = Reshape (a, rest) at = Add (b, one)", (2,), 3),
    "Where": ("c = Greater (pair, ones) d = Equal (pair, threes) e = And (c, d)"
              " at = Where (e, nine, zero)", (1,), 9),
    "Shape": ("at = Shape (data)", (0,), 3),
    "Size": ("at = Size (data)", (), 12),
    "Shape and Slice": (
        "s = Shape (data) at = Slice (s, ones, twos, axes)", (0,), 4),
    "Gather of a shape": ("s = Shape (data) at = Gather (s, one)", (), 4),
    "ScatterElements": (
        "a = ConstantOfShape <value = int64[1] {0}> (threes)"
        " at = ScatterElements (a, ones, threes)", (1,), 3),
    "through an If": (
        "c = Equal (one, one) b = Add (one, nine)"
        " out = If (c) <then_branch = t () => (float[4] p) { p = Gather (data, b) },"
        " else_branch = e () => (float[4] q) { q = Gather (data, zero) }>", (), 10),
}  # fmt: skip


def model_of(body: str, signature: str = "(float[3, 4] data) => (float out)") -> ModelProto:
    if "out =" not in body:
        body += " out = Gather (data, at)"
    model = graph(f"{signature} {CONSTANTS}", body)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


def errors(model: ModelProto) -> list[tuple[str, object, object]]:
    return [(f.rule, f.position, f.value) for f in check(model) if f.severity is Severity.ERROR]


@pytest.mark.parametrize(("body", "position", "value"), CHAINS.values(), ids=CHAINS)
def test_computed_indices_are_known(body, position, value):
    wanted = [] if value is None else [("index-range", position, value)]
    assert errors(model_of(body)) == wanted


def test_what_is_computed_from_an_input_is_not_known():
    model = model_of("at = Add (k, nine)", "(float[3, 4] data, int64[2] k) => (float out)")
    assert errors(model) == []
    model.graph.initializer.append(numpy_helper.from_array(np.array([5, 5]), "k"))
    assert errors(model) == []


def test_an_unknown_size_is_not_known():
    model = model_of("at = Shape (data)", "(float[n, 4] data) => (float out)")
    assert errors(model) == []


def test_random_numbers_are_not_known():
    body = "r = RandomUniform <shape = [2], low = 8.0, high = 9.0> () at = Cast <to = 7> (r)"
    assert errors(model_of(body)) == []


def test_shapes_of_computed_data_and_updates():
    body = (
        "s = Concat <axis = 0> (pair, ones) u = ConstantOfShape (s)"
        " out = ScatterND (data, pairs, u)"
    )
    model = model_of(body)
    model.graph.initializer.append(numpy_helper.from_array(np.array([[0, 1]]), "pairs"))
    assert [rule for rule, _, _ in errors(model)] == ["shape"]


def test_repeated_targets_of_computed_indices():
    body = (
        "at = Expand (one, pair) u = ConstantOfShape <value = float[1] {1}> (pair)"
        " out = ScatterElements (data, at, u)"
    )
    (finding,) = [f for f in check(model_of(body)) if f.rule == "repeated-none"]
    assert finding.severity is Severity.NOTE  # the updates are known to be equal


def test_values_in_functions_and_what_calls_give():
    functions = """<domain: "local", opset_import: ["": 18]>
        pick (x, i) => (y)
        { one = Constant <value_int = 1> () j = Add (i, one) y = Gather (x, j) }"""
    body = "two = Add (one, one) out = local.pick (data, two)"
    model = graph(f"(float[3, 4] data) => (float[4] out) {CONSTANTS}", body, functions=functions)
    assert errors(model) == [("index-range", (), 3)]


BROKEN = (
    "at = Range (zero, four, zero)",
    "at = Reshape (pair, threes)",
    "at = Div (nine, zero)",
    "at = Expand (pair, threes)",
    "s = Neg (pair) at = ConstantOfShape <value = int64[1] {5}> (s)",
    "at = Slice (pair, ones, ones, nines)",
    "at = Tile (pair, rest)",
)


@pytest.mark.parametrize("body", BROKEN)
def test_what_cannot_be_computed_is_not_known(body):
    model = model_of(body)
    model.graph.initializer.append(numpy_helper.from_array(np.array([9]), "nines"))
    assert [rule for rule, _, _ in errors(model) if rule == "index-range"] == []


def test_no_more_is_computed_than_allowed(monkeypatch):
    body = "a = Range (zero, four, one) at = Add (a, one)"
    monkeypatch.setattr(folding, "MOST_ITEMS", 15)  # 3 read, 4 written, 5 read, 4 written
    assert errors(model_of(body)) == []
    monkeypatch.setattr(folding, "MOST_ITEMS", 16)
    assert errors(model_of(body)) == [("index-range", (2,), 3)]
    monkeypatch.setattr(folding, "MOST_NODES", 1)
    assert errors(model_of(body)) == []


HOSTILE = {
    "2**32 items, whose number has 65 bits on the way": "at = Range (low, high, step)",
    "2**63 items": "at = Range (zero, high, one)",
    "Expand": "at = Expand (zero, huge)",
    "ConstantOfShape": "at = ConstantOfShape <value = int64[1] {9}> (huge)",
    "Tile": "at = Tile (axes, long)",
    "Pad": "at = Pad (ones, pads)",
    "doubled sixty times": " ".join(f"a{i + 1} = Concat <axis = 0> (a{i}, a{i})" for i in range(60))
    .replace("a0,", "ones,")
    .replace("a0)", "ones)")
    + " at = Neg (a60)",
    "read again and again": "a0 = Expand (zero, million) "
    + " ".join(f"b{i} = ReduceMax <keepdims = 0> (a0)" for i in range(100))
    + " at = Sum ("
    + ", ".join(f"b{i}" for i in range(100))
    + ")",
}
NUMBERS = """<int64 low = {-9223372036854775808}, int64 high = {9223372036854775807},
    int64 step = {4294967296}, int64 zero = {0}, int64 one = {1}, int64[1] ones = {1},
    int64[1] axes = {0}, int64[2] huge = {1048576, 1048576}, int64[1] long = {1099511627776},
    int64[1] million = {1048576}, int64[2] pads = {0, 1099511627776}>"""


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_claims_of_a_hostile_model_are_not_computed(body, monkeypatch):
    run: list[str] = []

    class Recorder(Evaluator):
        def __init__(self, model: ModelProto) -> None:
            run.append(model.graph.output[0].name)
            if run[-1] == "at":
                raise AssertionError
            super().__init__(model)

    monkeypatch.setattr(folding, "Evaluator", Recorder)
    text = f"(float[3] data) => (float[n] out) {NUMBERS}"
    assert errors(graph(text, f"{body} out = Gather (data, at)")) == []
    assert "at" not in run
    assert len(run) < 30
