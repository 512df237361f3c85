"""The operators of the family and the functions that compute them."""

from __future__ import annotations

from functools import partial

from sowreap.onnx import InferenceSession

FUNCTIONS = {
    "Gather": "gather",
    "GatherElements": "gather_elements",
    "GatherND": "gather_nd",
    "Scatter": "scatter",
    "ScatterElements": "scatter_elements",
    "ScatterND": "scatter_nd",
    "TensorScatter": "tensor_scatter",
}
FAMILY = tuple(FUNCTIONS)

reference_session = partial(InferenceSession, engine="reference")
