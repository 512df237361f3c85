"""Buffers bound to the tensors of a descriptor, and arrays that view them.

Nothing outside a bound range is ever reached: NumPy itself tests each view against its buffer.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from sowreap.directml import schema, structs
from sowreap.directml._errors import DescriptorError

_MINIMUM_ALIGNMENT = schema.CONSTANTS["DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT"]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Binding:
    """A range of a buffer, as ``DML_BUFFER_BINDING`` says it.

    Attributes
    ----------
    buffer : bytes, bytearray, memoryview, mmap, numpy.ndarray or any other buffer
    offset : int
        Byte at which the range begins, a multiple of 16.
    size : int or None
        Length in bytes; None for all that follows.
    """

    buffer: Any
    offset: int = 0
    size: int | None = None


def bound_views(
    struct: str,
    tensors: Mapping[str, structs.Tensor],
    names: Sequence[str],
    given: Any,
    *,
    writable: bool,
) -> dict[str, Array]:
    """Return for each tensor the array that its bound range holds."""
    bindings = _named(struct, names, given, "outputs" if writable else "inputs")
    return {
        name: _view(struct, name, tensors[name], _binding(bindings[name]), writable)
        for name in names
    }


def check_apart(
    struct: str,
    tensors: Mapping[str, structs.Tensor],
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
) -> None:
    """Refuse an output whose bytes are an input's, too: the family does not work in place.

    The gaps between elements count, for DirectML may overwrite them.
    """

    def bytes_of(name: str, view: Array) -> tuple[int, int]:
        return view.ctypes.data, view.ctypes.data + (tensors[name].total_bytes or 0)

    for output, target in outputs.items():
        low, high = bytes_of(output, target)
        for name, source in inputs.items():
            start, end = bytes_of(name, source)
            if start < high and low < end:
                raise DescriptorError(
                    struct,
                    output,
                    f"in the memory of {name}",
                    "binding-overlap",
                    "bind another range",
                )


def _named(struct: str, names: Sequence[str], given: Any, argument: str) -> dict[str, Any]:
    """Return what is bound to each tensor: given by name, in binding order, or as the only one."""
    named: dict[Any, Any]
    if isinstance(given, Mapping):
        named = dict(given)
    elif isinstance(given, list | tuple):
        keys = names if len(given) == len(names) else range(len(given))
        named = dict(zip(keys, given, strict=True))
    else:
        named = {names[0]: given}
    if set(named) != set(names):
        raise DescriptorError(
            struct, argument, f"({', '.join(map(str, named))})", "binding-count", ", ".join(names)
        )
    return named


def _binding(given: Any) -> Binding:
    return given if isinstance(given, Binding) else Binding(given)


def _view(
    struct: str, name: str, tensor: structs.Tensor, binding: Binding, writable: bool
) -> Array:
    content = _content(struct, name, binding.buffer, writable)
    offset = _whole(struct, f"{name} offset", binding.offset)
    step = max(_MINIMUM_ALIGNMENT, tensor.alignment)
    if offset % step:
        raise DescriptorError(
            struct, f"{name} offset", offset, "binding-offset", f"it is a multiple of {step}"
        )
    left = max(content.size - offset, 0)
    size = left if binding.size is None else _whole(struct, f"{name} size", binding.size)
    needed = tensor.total_bytes or 0
    if not needed <= size <= left:
        allowed = (
            f"{needed} bytes are needed, and offset {offset} of a buffer of {content.size} leaves"
            f" {left}"
        )
        raise DescriptorError(struct, f"{name} size", size, "binding-size", allowed)
    dtype = schema.DATA_TYPES[tensor.data_type].dtype
    assert dtype is not None  # 4-bit kinds are no data type of the family
    strides = tensor.strides
    return np.ndarray(
        tuple(tensor.sizes),
        dtype,
        buffer=content[offset : offset + needed],
        strides=None if strides is None else tuple(step * dtype.itemsize for step in strides),
    )


def _whole(struct: str, field: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise DescriptorError(
            struct, field, repr(value), "binding-size", "it is an integer from 0 on"
        )
    return number


def _content(struct: str, name: str, buffer: Any, writable: bool) -> Array:
    """Return the bytes of a buffer as an array over the same memory."""
    try:
        content = _extent(buffer) if isinstance(buffer, np.ndarray) else _bytes(buffer)
    except (TypeError, ValueError, BufferError) as error:
        raise DescriptorError(
            struct, name, type(buffer).__name__, "binding-buffer", str(error).rstrip(".")
        ) from None
    if writable and not content.flags.writeable:
        raise DescriptorError(
            struct, name, f"a read-only {type(buffer).__name__}", "binding-buffer", "bind another"
        )
    return content


def _bytes(buffer: Any) -> Array:
    view = memoryview(buffer)
    # frombuffer refuses a buffer of no bytes
    return np.frombuffer(view, np.uint8) if view.nbytes else np.zeros(0, np.uint8)


def _extent(array: Array) -> Array:
    """Return the memory from the first element of an array to its last."""
    if array.dtype.hasobject:
        raise TypeError("an array of objects has no bytes")
    if any(step < 0 for step in array.strides):
        raise ValueError("an array with negative strides does not begin at its first element")
    low, high = byte_bounds(array)
    if array.size == 0 or array.itemsize == 0:
        return np.zeros(0, np.uint8)
    first = as_strided(array, (1,), (array.itemsize,)).view(np.uint8)
    return as_strided(first, (high - low,), (1,))
