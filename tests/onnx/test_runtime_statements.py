"""What the check says of other runtimes holds for the versions that it names."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto
from runtime_statements import PLAIN, SHOWN, cast_scatter, installed, on_ort

from sowreap.onnx import check
from sowreap.onnx._check.runtimes import ORT_VERSION, STATEMENTS


def test_each_statement_is_shown():
    assert set(SHOWN) == set(STATEMENTS)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, in onnx's evaluator
@pytest.mark.parametrize("name", STATEMENTS)
def test_statement_holds(name):
    seen = STATEMENTS[name].version
    if installed(name) != seen:
        pytest.skip(f"seen on {seen}; installed is {installed(name)}")
    SHOWN[name]()


NUMBERS = ("int8", "uint16", "int32", "int64", "float", "double", "float16", "bfloat16", "bool")


@pytest.mark.parametrize("operator", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
@pytest.mark.parametrize("element", NUMBERS)
def test_element_types_refused_by_onnxruntime_are_those_found(operator, reduction, element):
    if installed("ort-half-add") != ORT_VERSION:
        pytest.skip(f"seen on {ORT_VERSION}; installed is {installed('ort-half-add')}")
    content = cast_scatter(operator, TensorProto.DataType.Value(element.upper()), reduction)
    feeds = PLAIN if operator == "ScatterElements" else {**PLAIN, "indices": np.array([[0], [2]])}
    refusal = refusal_of(content, feeds)
    assert not refusal or "not supported" in refusal
    found = [finding for finding in check(content) if finding.rule == "type-runtime"]
    assert bool(found) == bool(refusal)


def refusal_of(content, feeds):
    try:
        on_ort(content, feeds)
    except Exception as error:  # onnxruntime's errors have no common class
        return str(error)
    return ""


def test_each_statement_is_a_sentence_without_subject():
    for statement in STATEMENTS.values():
        assert statement.does[0].islower()
        assert statement.does.endswith(".")
