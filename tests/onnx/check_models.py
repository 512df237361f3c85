"""Small models for the check."""

from __future__ import annotations

import onnx
from onnx import ModelProto
from onnx.parser import parse_model

ELEMENTS = "({0}[n] data, int64[m] indices, {0}[m] updates) => ({0}[n] out)"
TUPLES = "({0}[n, w] data, int64[m, 1] indices, {0}[m, w] updates) => ({0}[n, w] out)"
READ = "({0}[n] data, int64[m] indices) => ({0}[m] out)"
CACHE = "(float[2, 8, 4] cache, float[2, {0}, 4] update, int64[2] starts) => (float[2, 8, 4] out)"
SCATTER = "out = ScatterElements <reduction = {0}> (data, indices, updates)"
SCATTER_ND = "out = ScatterND <reduction = {0}> (data, indices, updates)"


def graph(signature: str, body: str, opset: int = 18, functions: str = "") -> ModelProto:
    """Return a model of one graph, given as text."""
    imports = f'"": {opset}, "local": 1'
    model = parse_model(
        f"<ir_version: 10, opset_import: [{imports}]> g {signature} {{ {body} }} {functions}"
    )
    return _with_output_shape(model) if signature.endswith("=> (float out)") else model


def _with_output_shape(model: ModelProto) -> ModelProto:
    """Give the output, whose rank the text leaves out, the shape that onnx infers, if any."""
    output = model.graph.output[0]
    output.type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(model).graph.output[0].type
    output.type.tensor_type.shape.CopyFrom(inferred.tensor_type.shape)
    output.type.tensor_type.elem_type = inferred.tensor_type.elem_type
    return model


def read(
    operator: str, data: str, indices: str, attributes: str = "", opset: int = 18
) -> ModelProto:
    """Return a model with one gather; `data` and `indices` are types."""
    body = (
        f"out = {operator} <{attributes}> (data, indices)"
        if attributes
        else (f"out = {operator} (data, indices)")
    )
    return graph(f"({data} data, {indices} indices) => (float out)", body, opset)


def write(
    operator: str, data: str, indices: str, updates: str, attributes: str = "", opset: int = 18
) -> ModelProto:
    """Return a model with one scatter; all but `attributes` are types."""
    signature = f"({data} data, {indices} indices, {updates} updates) => (float out)"
    inputs = "(data, indices, updates)"
    body = (
        f"out = {operator} <{attributes}> {inputs}" if attributes else f"out = {operator} {inputs}"
    )
    return graph(signature, body, opset)


def elements(reduction: str, element: str = "float", opset: int = 18) -> ModelProto:
    """Return a model with ScatterElements."""
    return graph(ELEMENTS.format(element), SCATTER.format(f'"{reduction}"'), opset)


def tuples(reduction: str, element: str = "float", opset: int = 18) -> ModelProto:
    """Return a model with ScatterND."""
    return graph(TUPLES.format(element), SCATTER_ND.format(f'"{reduction}"'), opset)


def constant_read(operator: str, data: str, indices: str, attributes: str = "") -> ModelProto:
    """Return a model with one gather whose `indices` are a tensor such as ``int64[2] {0, 1}``."""
    given = f"<{attributes}>" if attributes else ""
    body = f"indices = Constant <value = {indices}> () out = {operator} {given} (data, indices)"
    return graph(f"({data} data) => (float out)", body)


def constant_write(
    operator: str, data: str, indices: str, updates: str, attributes: str = ""
) -> ModelProto:
    """Return a model with one scatter whose `indices` are a tensor."""
    given = f"<{attributes}>" if attributes else ""
    body = f"""indices = Constant <value = {indices}> ()
        out = {operator} {given} (data, indices, updates)"""
    return graph(f"({data} data, {updates} updates) => (float out)", body)


def cache(update: str = "n", attributes: str = "axis = 1", starts: str = "") -> ModelProto:
    """Return a model with TensorScatter; `starts` is a tensor of write indices."""
    if not starts:
        return graph(
            CACHE.format(update), f"out = TensorScatter <{attributes}> (cache, update, starts)", 24
        )
    body = f"""starts = Constant <value = {starts}> ()
        out = TensorScatter <{attributes}> (cache, update, starts)"""
    return graph(CACHE.format(update).replace(", int64[2] starts", ""), body, 24)


def full_check_accepts(model: ModelProto) -> bool:
    """Return whether onnx's own full check finds nothing."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True
