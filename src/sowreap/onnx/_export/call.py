"""A node as the writers of its expression see it: inputs, attributes, types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sowreap.onnx._export.text import array_text, list_text, number

Array = NDArray[Any]

WEAK_KINDS = {np.dtype(name) for name in ("float16", "float32", "float64", "int32", "int64")}
INLINE_LENGTH = 28


@dataclass
class Constant:
    """An array that the model holds; `text` names it once the module defines it."""

    name: str
    array: Array
    text: str = ""


@dataclass
class Value:
    """A tensor of the model inside the script.

    Attributes
    ----------
    text : str
        The expression that names it; empty for a constant.
    dtype : numpy.dtype or None
        Its dtype where that is known.
    constant : Constant or None
        What it holds if the model tells.
    is_sequence : bool
        Whether it is a list of tensors.
    """

    text: str = ""
    dtype: np.dtype[Any] | None = None
    constant: Constant | None = None
    is_sequence: bool = False


MISSING = Value("None")  # an input that a function is called without


@dataclass
class Call:
    """One node.

    Attributes
    ----------
    op_type : str
        Its operator.
    version : int
        The opset of its domain that the model imports.
    attributes : dict
        Values of the attributes that the node sets.
    inputs : list of Value or None
        None for an input that is left out.
    output_count : int
        Outputs up to the last one that has a name.
    define : callable
        Gives a constant a name in the module, and returns it.
    """

    op_type: str
    version: int
    attributes: dict[str, Any]
    inputs: list[Value | None]
    output_count: int
    define: Callable[[Constant], str]
    helpers: set[str] = field(default_factory=set)

    def has(self, position: int) -> bool:
        """Return whether the input is given."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def value(self, position: int) -> Value:
        """Return an input that the operator demands."""
        value = self.inputs[position]
        assert value is not None
        return value

    def dtype(self, position: int = 0) -> np.dtype[Any] | None:
        """Return the dtype of an input where it is known."""
        return self.value(position).dtype if self.has(position) else None

    def is_float(self, position: int = 0) -> bool:
        """Return whether an input is known to be float16, float32 or float64."""
        dtype = self.dtype(position)
        return dtype is not None and dtype in WEAK_KINDS and dtype.kind == "f"

    def constant(self, position: int) -> Array | None:
        """Return what an input holds if the model tells."""
        if not self.has(position):
            return None
        constant = self.value(position).constant
        return None if constant is None else constant.array

    def integers(self, position: int) -> list[int] | None:
        """Return a constant input of rank 0 or 1 as a list of integers."""
        array = self.constant(position)
        if array is None or array.ndim > 1 or array.dtype.kind not in "iu":
            return None
        return [int(item) for item in array.ravel()]

    def arg(self, position: int) -> str:
        """Return the expression of an input."""
        if not self.has(position):
            return "None"
        return self.text_of(self.value(position))

    def text_of(self, value: Value) -> str:
        """Return the expression of a value."""
        if value.constant is None:
            return value.text
        if value.constant.array.size <= INLINE_LENGTH:
            text = array_text(value.constant.array)
            if len(text) <= INLINE_LENGTH:
                return text
        return self.define(value.constant)

    def args(self) -> list[str]:
        """Return the expressions of all inputs."""
        return [self.arg(position) for position in range(len(self.inputs))]

    def operand(self, position: int, other: int) -> str:
        """Return an operand of arithmetic: a plain number where the other one decides the dtype."""
        array = self.constant(position)
        if (
            array is not None
            and array.ndim == 0
            and self.constant(other) is None
            and self.dtype(other) == array.dtype
            and array.dtype in WEAK_KINDS
        ):
            return number(array[()])
        return self.arg(position)

    def indices(self, position: int) -> str:
        """Return an input of integers: short constants as lists, which need no dtype."""
        array = self.constant(position)
        if array is not None and 0 < array.size <= INLINE_LENGTH:
            text = list_text(array)
            if len(text) <= INLINE_LENGTH:
                return text
        return self.arg(position)

    def flag(self, name: str, default: int) -> bool:
        """Return an attribute that is 0 or 1."""
        return bool(self.attributes.get(name, default))

    def float32(self, name: str, default: float) -> str:
        """Return a float attribute for arithmetic with the first input."""
        value = np.float32(self.attributes.get(name, default))
        is_single = self.dtype() == np.dtype(np.float32)
        return number(value) if is_single else f"np.float32({number(value)})"
