"""What the check says of other runtimes holds for the versions that it names."""

from __future__ import annotations

import numpy as np
import pytest
from check_models import elements, graph, tuples, write
from check_page import EXAMPLES
from onnx import TensorProto, helper
from runtime_statements import PLAIN, SHOWN, cast_scatter, installed, on_ort, on_reference
from test_check_static import CASES

from sowreap.onnx import Finding, check
from sowreap.onnx._check.runtimes import ONNX_VERSION, ORT_VERSION, STATEMENTS
from sowreap.onnx._check.sites import FAMILY


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


def all_findings() -> list[Finding]:
    """Findings of models that break each rule, without and with inputs."""
    models = [bad for _, bad, _ in CASES.values()]
    models += [
        write("ScatterND", "float[3, 4]", "int64[2, 1]", "float[2]"),
        write("ScatterElements", "float[3]", "int64[2]", "float[3]"),
    ]
    models += [graph(signature, body, opset) for opset, signature, body in EXAMPLES.values()]
    found = [finding for model in models for finding in check(model)]
    scatter = write("Scatter", "float[3]", "int64[2]", "float[2]", opset=10)
    for indices in ([1, 1], [0, 3]):
        feeds = {**PLAIN, "indices": np.array(indices)}
        rows = {name: array[:, None] for name, array in feeds.items()}
        for model in (scatter, elements("none"), elements("max")):
            found += check(model, {**feeds, "updates": np.array([np.nan, 1], np.float32)})
        for model in (tuples("none"), tuples("add"), tuples("max")):
            found += check(model, rows)
    return found


def test_what_a_finding_says_of_a_runtime_carries_a_version():
    """Either by statements, or for DirectML by the feature level."""
    found = all_findings()
    assert {each.id for finding in found for each in finding.runtimes} >= STATEMENTS.keys() - {
        "ref-complex-order",
        "ort-complex",
        "ort-bool-max",
        "ort-half-add",
        "ort-half-max",
    }
    for finding in found:
        text = f"{finding.message} {finding.advice}"
        if "onnxruntime" in text or "evaluator" in text or "runtime" in text.split(" which ")[-1]:
            assert finding.runtimes, finding
        if "DirectML" in finding.message:
            assert "at feature level 6_4" in finding.message
        for statement in finding.runtimes:
            assert statement == STATEMENTS[statement.id]
            assert statement.id in SHOWN
            assert statement.version in (ORT_VERSION, ONNX_VERSION)


def test_statements_of_some_operators_stand_beside_those_alone():
    for finding in all_findings():
        for statement in finding.runtimes:
            named = FAMILY & set(statement.does.replace(",", " ").replace(".", " ").split())
            if statement.id != "ref-scatter-missing":
                assert not named or finding.operator in named, finding


SIZES = [(), (1,), (2,), (3,), (2, 1), (1, 3), (2, 3), (3, 3), (2, 4), (2, 3, 1)]
TOLD = {"ScatterElements": {(3, 3), (2, 4)}, "ScatterND": {(2,), (2, 1)}}


@pytest.mark.parametrize("operator", TOLD)
@pytest.mark.parametrize("shape", SIZES)
def test_what_the_evaluator_does_with_updates_of_a_wrong_shape(operator, shape):
    """Where a finding says that it goes on with them, it does."""
    if installed("ref-repeated") != ONNX_VERSION:
        pytest.skip(f"seen on {ONNX_VERSION}; installed is {installed('ref-repeated')}")
    indices = {"ScatterElements": (2, 3), "ScatterND": (2, 1)}[operator]
    model = graph(
        f"(float[3, 3] data, int64{[*indices]} indices, float updates) => (float[3, 3] out)",
        f"out = {operator} (data, indices, updates)",
    )
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, shape)
    model.graph.input[2].type.CopyFrom(kind)
    findings = [finding for finding in check(model) if finding.argument == "updates"]
    assert bool(findings) == (shape != (2, 3))
    assert any(finding.runtimes for finding in findings) == (shape in TOLD[operator])
    if shape in TOLD[operator]:
        feeds = {
            "data": np.zeros((3, 3), np.float32),
            "indices": np.arange(np.prod(indices)).reshape(indices) % 3,
            "updates": np.ones(shape, np.float32),
        }
        on_reference(model.SerializeToString(), feeds)
