"""ONNX: the seven operators as runtime classes, and models that run with them."""

from importlib.util import find_spec

if find_spec("onnx") is None:
    raise ImportError(
        'sowreap.onnx needs the package onnx; run: pip install "sowreap[onnx]"', name="onnx"
    )

from sowreap.onnx import backend, operators
from sowreap.onnx._errors import ModelError, RunError
from sowreap.onnx._evaluator import NodeRecord
from sowreap.onnx._values import NodeArg
from sowreap.onnx.export import to_python
from sowreap.onnx.operators import reference_ops
from sowreap.onnx.session import InferenceSession, ModelMetadata
from sowreap.onnx.shapes import infer_shapes

__all__ = [
    "InferenceSession",
    "ModelError",
    "ModelMetadata",
    "NodeArg",
    "NodeRecord",
    "RunError",
    "backend",
    "infer_shapes",
    "operators",
    "reference_ops",
    "to_python",
]
