"""ONNX: the seven operators as runtime classes, and models that run with them."""

from importlib.util import find_spec

if find_spec("onnx") is None:
    raise ImportError(
        'sowreap.onnx needs the package onnx; run: pip install "sowreap[onnx]"', name="onnx"
    )

from sowreap.onnx import backend, operators
from sowreap.onnx._check import Finding, Severity, check
from sowreap.onnx._convert import convert, custom_ops_library
from sowreap.onnx._errors import MissingEngineError, ModelError, RunError
from sowreap.onnx._evaluator import NodeRecord
from sowreap.onnx._reference_engine import ModelMetadata
from sowreap.onnx._rewrite import Placement
from sowreap.onnx._values import NodeArg
from sowreap.onnx.export import to_python
from sowreap.onnx.operators import reference_ops
from sowreap.onnx.session import InferenceSession
from sowreap.onnx.shapes import infer_shapes

__all__ = [
    "Finding",
    "InferenceSession",
    "MissingEngineError",
    "ModelError",
    "ModelMetadata",
    "NodeArg",
    "NodeRecord",
    "Placement",
    "RunError",
    "Severity",
    "backend",
    "check",
    "convert",
    "custom_ops_library",
    "infer_shapes",
    "operators",
    "reference_ops",
    "to_python",
]
