"""What is known of the dtypes of outputs, from the schemas of ONNX."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import onnx.defs
from onnx import TypeProto

from sowreap.onnx._export.call import Call
from sowreap.onnx._schemas import numpy_dtype

_SEQUENCES = {"SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert"}
_SEQUENCES |= {"SequenceMap", "SplitToSequence", "StringSplitToSequence"}


def dtype_of(value_type: TypeProto) -> np.dtype[Any] | None:
    """Return the dtype of a tensor, optional or not; None if there is none or it is not told."""
    if value_type.WhichOneof("value") == "optional_type":
        return dtype_of(value_type.optional_type.elem_type)
    if value_type.WhichOneof("value") != "tensor_type" or not value_type.tensor_type.elem_type:
        return None
    return numpy_dtype(value_type.tensor_type.elem_type)


def is_sequence(value_type: TypeProto) -> bool:
    """Return whether a type is a sequence, or an optional one."""
    if value_type.WhichOneof("value") == "optional_type":
        return is_sequence(value_type.optional_type.elem_type)
    return bool(value_type.WhichOneof("value") == "sequence_type")


def output_dtype(c: Call, domain: str, position: int) -> np.dtype[Any] | None:
    """Return the dtype of an output where the inputs or attributes tell."""
    if c.op_type in ("Cast", "EyeLike", "Bernoulli") and domain == "":
        number = c.attributes.get("to", c.attributes.get("dtype"))
        return None if number is None else numpy_dtype(number)
    if c.op_type == "ConstantOfShape" and domain == "":
        filler = c.attributes.get("value")
        return np.dtype(np.float32) if filler is None else filler.dtype
    schema = _schema(c.op_type, c.version, domain)
    if schema is None or position >= len(schema.outputs) or c.op_type in _SEQUENCES:
        return None
    output = schema.outputs[position]
    for index in range(len(c.inputs)):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        if formal.type_str == output.type_str and c.dtype(index) is not None:
            return c.dtype(index)
    types = set(output.types)
    return _named(types.pop()) if len(types) == 1 else None


def gives_sequence(c: Call, domain: str) -> bool:
    """Return whether the outputs are sequences."""
    if domain != "":
        return False
    is_handed_on = c.op_type in ("Identity", "Optional", "OptionalGetElement")
    return c.op_type in _SEQUENCES or (is_handed_on and c.has(0) and c.value(0).is_sequence)


@functools.lru_cache(maxsize=512)
def _schema(op_type: str, version: int, domain: str) -> onnx.defs.OpSchema | None:
    try:
        return onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return None


def _named(text: str) -> np.dtype[Any] | None:
    """Return the dtype of ``tensor(...)``."""
    name = text.removeprefix("tensor(").removesuffix(")")
    if name == text:
        return None
    number = onnx.TensorProto.DataType.Value(name.upper())
    return numpy_dtype(number)
