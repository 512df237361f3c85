"""A part of onnx's backend suite; what fails is listed with its reason in a file of data.

The whole suite has some 2,000 tests and takes minutes. Of the tests of single nodes every fifth
runs here, those of the family in test_backend.py all; the small models all.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import unittest
import warnings
from pathlib import Path
from typing import Any

import pytest
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test import BackendTest
from onnx.reference import ReferenceEvaluator

from sowreap.onnx import backend

GAPS: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[1] / "data" / "backend_gaps.json").read_text("utf-8")
)
STEP, PARTS = 5, 6
# Seconds each on onnx's evaluator, and nothing of ours in them.
SLOW = re.compile(r"_3d_default|MaxPool2d_stride_padding_dilation")
SMALL_MODELS = ("OnnxBackendSimpleModelTest", "OnnxBackendPyTorchOperatorModelTest")


class PlainRep(BackendRep):
    """Onnx's evaluator as it is."""

    def __init__(self, model: Any) -> None:
        self.evaluator = ReferenceEvaluator(model)

    def run(self, inputs: Any, **keywords: Any) -> Any:
        return self.evaluator.run(None, dict(zip(self.evaluator.input_names, inputs, strict=True)))


class Plain(Backend):
    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **keywords: Any) -> PlainRep:
        return PlainRep(model)

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **keywords: Any) -> bool:
        return True

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"


@functools.cache
def suite(plain: bool) -> dict[str, type[unittest.TestCase]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        cases: dict[str, type[unittest.TestCase]] = BackendTest(
            Plain if plain else backend, __name__
        ).test_cases
    return cases


def names(kind: str) -> list[str]:
    return [name for name in dir(suite(False)[kind]) if name.endswith("_cpu")]


def outcome(kind: str, name: str, *, plain: bool = False) -> str:
    """Return "ok", "skipped", or what went wrong."""
    cases = suite(plain)[kind]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(cases(name), name)()
    except unittest.SkipTest:
        return "skipped"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "ok"


def gap(name: str) -> dict[str, str] | None:
    return next((entry for pattern, entry in GAPS.items() if re.search(pattern, name)), None)


@pytest.mark.parametrize("part", range(PARTS))
def test_nodes(part: int):
    chosen = [name for name in names("OnnxBackendNodeModelTest") if not SLOW.search(name)]
    for name in chosen[::STEP][part::PARTS]:
        if gap(name) is None:
            assert (name, outcome("OnnxBackendNodeModelTest", name)) == (name, "ok")


@pytest.mark.parametrize("kind", SMALL_MODELS)
def test_small_models(kind: str):
    results = {name: outcome(kind, name) for name in names(kind) if not SLOW.search(name)}
    assert len(results) >= 20
    # Gradient is an operator of training, which the suite itself leaves out.
    assert {name for name, found in results.items() if found != "ok"} <= {
        "test_gradient_of_add_cpu",
        "test_gradient_of_add_and_mul_cpu",
    }
    assert set(results.values()) <= {"ok", "skipped"}


@pytest.mark.parametrize("pattern", GAPS)
def test_gaps_are_gaps_still_and_those_of_the_evaluator(pattern: str):
    every = {
        kind: [name for name in names(kind) if re.search(pattern, name)] for kind in suite(False)
    }
    assert any(every.values()), "no test has such a name any more"
    found = every["OnnxBackendNodeModelTest"]  # those of large models take seconds each
    cause = GAPS[pattern]["cause"]
    if cause == "random" or (cause == "Pillow" and importlib.util.find_spec("PIL")):
        return
    failures = [name for name in found if outcome("OnnxBackendNodeModelTest", name) != "ok"]
    assert bool(failures) == bool(found), "all pass now; remove the entry"
    for name in failures:
        assert outcome("OnnxBackendNodeModelTest", name, plain=True) != "ok"
