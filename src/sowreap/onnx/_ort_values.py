"""Runs of models with inputs or outputs of types that NumPy lacks, and so onnxruntime's ``run``."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper

from sowreap.onnx._values import Feeds

FOREIGN = {
    f"tensor({name})": TensorProto.DataType.Value(name.upper())
    for name in ("bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
}
SAME_WIDTH = {1: np.uint8, 2: np.uint16}


def has_foreign_types(session: Any) -> bool:
    """Return whether an input or output of a session has a type that NumPy lacks."""
    return any(
        each.type in FOREIGN
        for each in (
            *session.get_inputs(),
            *session.get_outputs(),
            *session.get_overridable_initializers(),
        )
    )


def run_with_foreign_types(
    ort: Any,
    session: Any,
    feeds: Feeds,
    output_names: Sequence[str] | None,
    input_feed: Mapping[str, Any],
    run_options: Any,
) -> list[Any]:
    """Run a session with arrays whose dtypes are those of the package ml_dtypes.

    A model with such an output has no inputs of strings: onnxruntime makes no OrtValue of those.
    """
    inputs = (*session.get_inputs(), *session.get_overridable_initializers())
    types = {each.name: each.type for each in inputs}
    outputs = {each.name: each.type for each in session.get_outputs()}
    names = list(output_names or outputs)
    checked = feeds.checked(input_feed)
    if not any(outputs.get(name) in FOREIGN for name in names):
        mixed = {
            name: _value_of(ort, types[name], array) if types[name] in FOREIGN else array
            for name, array in checked.items()
        }
        results: list[Any] = session.run(names, mixed, run_options)
        return results
    values = {name: _value_of(ort, types[name], array) for name, array in checked.items()}
    found = session.run_with_ort_values(names, values, run_options)
    return [_array_of(value) for value in found]


def _value_of(ort: Any, type_text: str, array: NDArray[Any]) -> Any:
    if type_text not in FOREIGN:
        return ort.OrtValue.ortvalue_from_numpy(array)
    plain = np.ascontiguousarray(array).view(SAME_WIDTH[array.itemsize])
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(plain, FOREIGN[type_text])


def _array_of(value: Any) -> Any:
    if value.data_type() not in FOREIGN:
        return value.numpy() if value.is_tensor() else value
    dtype = helper.tensor_dtype_to_np_dtype(FOREIGN[value.data_type()])
    out = np.empty(value.shape(), dtype)
    if out.size:
        ctypes.memmove(out.ctypes.data, value.data_ptr(), out.nbytes)
    return out
