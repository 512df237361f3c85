"""Whole models, run by our session, by the reference engine and by the plain onnxruntime."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from family import reference_session
from numpy.testing import assert_allclose, assert_array_equal
from onnx import ModelProto
from real_models import CASES, FOLDED, SOWREAP, Arrays, Case, decoder

from sowreap.onnx import InferenceSession

ort = pytest.importorskip("onnxruntime", reason="the engine is optional")

STEPS = 3

assert_equal = partial(assert_array_equal, strict=True)


def plain_session(model: ModelProto) -> ort.InferenceSession:
    """Return a session of onnxruntime alone, with one thread: so its sums are in ONNX's order."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options)


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    """Check floats to 1e-5 of the largest, all else to the last bit."""
    if expected.dtype.kind == "f":
        scale = np.abs(expected).max(initial=0)
        assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * scale, strict=True)
    else:
        assert_equal(found, expected)


def check_placement(session: InferenceSession, expected: dict[tuple[str, str], str]) -> None:
    found = {
        (place.graph, place.name): FOLDED if "never built" in place.reason else place.runs_on
        for place in session.placement()
    }
    assert found == expected


def check_three_ways(case: Case) -> Arrays:
    """Check that the three agree, and return the outputs by name."""
    session = InferenceSession(case.model)
    check_placement(session, case.placement)
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, case.feeds), strict=True))
    plain = plain_session(case.model).run(None, case.feeds)
    for name, expected in zip(names, plain, strict=True):
        if name not in case.wrong_on_onnxruntime:
            assert_equal(found[name], expected)
    reference = reference_session(case.model).run(None, case.feeds)
    check = assert_close if case.multiplies else assert_equal
    for name, expected in zip(names, reference, strict=True):
        check(found[name], expected)
    for name, again in zip(names, session.run(None, case.feeds), strict=True):
        assert_equal(again, found[name])
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_three_agree(name):
    outputs = check_three_ways(CASES[name]())
    assert all(output.size for output in outputs.values())


def test_strings_are_those_of_the_table():
    """Rows of several strings, which onnxruntime 1.32 gets wrong, and so what is made of them."""
    case = CASES["strings"]()
    outputs = check_three_ways(case)
    rows = case.feeds["table"][case.feeds["ids"]]
    assert_equal(outputs["rows"], rows)
    np.put_along_axis(rows, case.feeds["hidden"], "<mask>", 1)
    assert_equal(outputs["masked"], rows)
    assert_equal(outputs["single"], case.feeds["table"][tuple(case.feeds["asked"].T)])


def test_an_encoder_that_pytorch_exports():
    torch = pytest.importorskip("torch", reason="the extra torch is large, and optional")
    pytest.importorskip("onnxscript", reason="torch.onnx needs it, sowreap does not")
    from disentangled_encoder import LAYERS, WORDS, encoder, exported

    module = encoder()
    model = exported(module)
    gathers = [node for node in model.graph.node if node.op_type == "GatherElements"]
    assert len(gathers) == 2 * LAYERS
    placement = {("main", node.name): FOLDED for node in gathers}
    (words,) = (node for node in model.graph.node if node.op_type == "Gather")
    placement["main", words.name] = SOWREAP
    generator = np.random.default_rng(6)
    for batch, length in ((3, 19), (1, 2)):
        lengths = generator.integers(1, length + 1, (batch, 1))
        feeds = {
            "ids": generator.integers(0, WORDS, (batch, length)),
            "mask": np.arange(length) < lengths,
        }
        outputs = check_three_ways(Case(model, feeds, placement))
        with torch.no_grad():
            expected = module(*(torch.from_numpy(value) for value in feeds.values()))
        assert_close(outputs["hidden"], expected.numpy())


CACHES = {"keys": "keys_now", "values": "values_now"}


def steps(case: Case) -> list[Arrays]:
    """Return what is new in each step: tokens, and the lengths before them."""
    generator = np.random.default_rng(7)
    shape = case.feeds["x"].shape
    return [
        {
            "x": generator.standard_normal(shape, np.float32),
            "lengths": case.feeds["lengths"] + step,
        }
        for step in range(STEPS)
    ]


def decoded(session: Any, case: Case) -> list[Arrays]:
    """Run the steps, with caches that go out and in again."""
    caches = {name: case.feeds[name] for name in CACHES}
    names = [output.name for output in session.get_outputs()]
    results = []
    for new in steps(case):
        outputs = dict(zip(names, session.run(None, {**new, **caches}), strict=True))
        caches = {name: outputs[now] for name, now in CACHES.items()}
        results.append(outputs)
    return results


def decoded_in_place(session: InferenceSession, case: Case) -> list[Arrays]:
    """Run the steps, with each cache bound as input and as output at once."""
    caches = {  # copies, since a value is the memory of its array
        name: ort.OrtValue.ortvalue_from_numpy(case.feeds[name].copy()) for name in CACHES
    }
    results = []
    for new in steps(case):
        binding = session.io_binding()
        for name, value in new.items():
            binding.bind_cpu_input(name, value)
        for name, now in CACHES.items():
            binding.bind_ortvalue_input(name, caches[name])
            binding.bind_ortvalue_output(now, caches[name])
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        outputs = {"y": binding.get_outputs()[-1].numpy()}
        outputs |= {now: caches[name].numpy().copy() for name, now in CACHES.items()}
        results.append(outputs)
    return results


@pytest.mark.parametrize("operator", ["TensorScatter", "ScatterND"])
def test_a_decoder_updates_its_caches_in_place(operator):
    case = decoder(operator)
    session = InferenceSession(case.model)
    check_placement(session, case.placement)
    in_place = decoded_in_place(session, case)
    plain = decoded(plain_session(case.model), case)
    reference = decoded(reference_session(case.model), case)
    returned = decoded(session, case)
    for ours, again, theirs, slow in zip(in_place, returned, plain, reference, strict=True):
        for name, value in ours.items():
            assert_equal(value, again[name])
            assert_equal(value, theirs[name])
            assert_close(value, slow[name])
    filled = in_place[-1]["keys_now"].any(axis=-1)
    positions = filled.any(axis=1 if operator == "TensorScatter" else 2)
    last = case.feeds["lengths"][:, None] + STEPS
    at = np.arange(positions.shape[1])
    assert_equal(positions, (at < last) & (at >= last - STEPS))
