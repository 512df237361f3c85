"""Every schema version of the seven operators: inputs, attributes and types of each.

Source: the ONNX operator schemas (https://onnx.ai/onnx/operators/); a test compares every row with
``onnx.defs``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from onnx import AttributeProto, TensorProto, helper

from sowreap._errors import ArgumentError, DtypeError
from sowreap.onnx._errors import ModelError


@dataclass(frozen=True)
class Attribute:
    """One attribute; `allowed` lists the words that a text attribute may hold."""

    name: str
    default: int | str
    allowed: tuple[str, ...] = ()

    @property
    def kind(self) -> int:
        """Type of the attribute in a node (INT or STRING)."""
        return AttributeProto.STRING if self.allowed else AttributeProto.INT


@dataclass(frozen=True)
class Schema:
    """One version of one operator.

    Attributes
    ----------
    op_type : str
        Name of the operator.
    since_version : int
        First opset of this version.
    inputs : tuple of str
        Names of the inputs, in order; those of `optional` may be missing.
    data_types, index_types : frozenset of str
        Element types that ONNX allows for the values and for the indices.
    index_input : str
        Name of the input that holds indices; every other input holds values.
    attributes : tuple of Attribute
        Attributes of this version.
    deprecated : bool
        Whether ONNX withdrew the operator with this version.
    """

    op_type: str
    since_version: int
    inputs: tuple[str, ...]
    data_types: frozenset[str]
    index_types: frozenset[str]
    attributes: tuple[Attribute, ...] = ()
    index_input: str = "indices"
    optional: frozenset[str] = field(default_factory=frozenset)
    deprecated: bool = False

    @property
    def mandatory(self) -> tuple[str, ...]:
        """Names of the inputs that a node must give."""
        return tuple(name for name in self.inputs if name not in self.optional)

    def attribute(self, name: str) -> Attribute:
        """Return the attribute called `name`.

        Raises
        ------
        ArgumentError
            If this version has no such attribute.
        """
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        known = ", ".join(attribute.name for attribute in self.attributes) or "none"
        message = f"{self}: unknown attribute {name!r}; attributes of this version: {known}."
        later = [
            schema.since_version
            for schema in versions(self.op_type)
            if any(attribute.name == name for attribute in schema.attributes)
        ]
        if later:
            message += f" It exists from opset {min(later)} on: raise the opset of the model."
        else:
            message += " Remove it from the node."
        raise ArgumentError(message, operator=self.op_type, argument=name)

    def check_value(self, name: str, value: Any) -> None:
        """Check that attribute `name` may hold `value`.

        Raises
        ------
        ArgumentError
            If the attribute does not exist or the value has the wrong type or is not allowed.
        """
        attribute = self.attribute(name)
        kind = str if attribute.allowed else (int, np.integer)
        if not isinstance(value, kind) or isinstance(value, bool):
            wanted = "a text" if attribute.allowed else "an integer"
            raise ArgumentError(
                f"{self}: {name}={value!r} is a {type(value).__name__}; it must be {wanted}.",
                operator=self.op_type,
                argument=name,
                value=value,
            )
        if attribute.allowed and value not in attribute.allowed:
            allowed = ", ".join(repr(word) for word in attribute.allowed)
            message = f"{self}: {name}={value!r} is not one of {allowed}."
            later = [
                schema.since_version
                for schema in versions(self.op_type)
                for other in schema.attributes
                if other.name == name and value in other.allowed
            ]
            if later:
                message += f" It is allowed from opset {min(later)} on: raise the opset."
            raise ArgumentError(message, operator=self.op_type, argument=name, value=value)

    def check_dtype(self, name: str, dtype: np.dtype[Any]) -> None:
        """Check that input `name` may have `dtype`.

        Raises
        ------
        DtypeError
            If ONNX does not list the dtype for this input in this version.
        """
        if element_type(dtype) in self._types(name):
            return
        allowed = ", ".join(sorted(self._types(name)))
        message = f"{self}: {name} has dtype {dtype}; this version allows {allowed}."
        later = [
            schema.since_version
            for schema in versions(self.op_type)
            if element_type(dtype) in schema._types(name)
        ]
        if later:
            message += f" It is allowed from opset {min(later)} on: raise the opset."
        else:
            message += " Convert it first."
        raise DtypeError(message, operator=self.op_type, argument=name, value=dtype)

    def _types(self, name: str) -> frozenset[str]:
        return self.index_types if name == self.index_input else self.data_types

    def __str__(self) -> str:
        return f"{self.op_type} (opset {self.since_version})"


_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_PLAIN_TYPES = frozenset(
    {*_INTEGERS, "bool", "float16", "float", "double", "complex64", "complex128", "string"}
)
_TYPES_13 = _PLAIN_TYPES | {"bfloat16"}
_FLOAT8 = {f"float8{layout}" for layout in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0")}
_TYPES_24 = _TYPES_13 | _FLOAT8 | {"int4", "uint4", "float4e2m1"}
_INT64 = frozenset({"int64"})
_INT32_INT64 = frozenset({"int32", "int64"})

_AXIS = Attribute("axis", 0)
_BATCH_DIMS = Attribute("batch_dims", 0)
_REDUCTION_16 = Attribute("reduction", "none", ("none", "add", "mul"))
_REDUCTION_18 = Attribute("reduction", "none", ("none", "add", "mul", "max", "min"))
_CACHE_AXIS = Attribute("axis", -2)
_CACHE_MODE = Attribute("mode", "linear", ("linear", "circular"))

_READ = ("data", "indices")
_WRITE = ("data", "indices", "updates")

SCHEMAS: tuple[Schema, ...] = (
    Schema("Gather", 1, _READ, _PLAIN_TYPES, _INT32_INT64, (_AXIS,)),
    Schema("Gather", 11, _READ, _PLAIN_TYPES, _INT32_INT64, (_AXIS,)),
    Schema("Gather", 13, _READ, _TYPES_13, _INT32_INT64, (_AXIS,)),
    Schema("GatherElements", 11, _READ, _PLAIN_TYPES, _INT32_INT64, (_AXIS,)),
    Schema("GatherElements", 13, _READ, _TYPES_13, _INT32_INT64, (_AXIS,)),
    Schema("GatherND", 11, _READ, _PLAIN_TYPES, _INT64),
    Schema("GatherND", 12, _READ, _PLAIN_TYPES, _INT64, (_BATCH_DIMS,)),
    Schema("GatherND", 13, _READ, _TYPES_13, _INT64, (_BATCH_DIMS,)),
    Schema("Scatter", 9, _WRITE, _PLAIN_TYPES, _INT32_INT64, (_AXIS,)),
    Schema("Scatter", 11, _WRITE, _PLAIN_TYPES, _INT32_INT64, (_AXIS,), deprecated=True),
    Schema("ScatterElements", 11, _WRITE, _PLAIN_TYPES, _INT32_INT64, (_AXIS,)),
    Schema("ScatterElements", 13, _WRITE, _TYPES_13, _INT32_INT64, (_AXIS,)),
    Schema("ScatterElements", 16, _WRITE, _TYPES_13, _INT32_INT64, (_AXIS, _REDUCTION_16)),
    Schema("ScatterElements", 18, _WRITE, _TYPES_13, _INT32_INT64, (_AXIS, _REDUCTION_18)),
    Schema("ScatterND", 11, _WRITE, _PLAIN_TYPES, _INT64),
    Schema("ScatterND", 13, _WRITE, _TYPES_13, _INT64),
    Schema("ScatterND", 16, _WRITE, _TYPES_13, _INT64, (_REDUCTION_16,)),
    Schema("ScatterND", 18, _WRITE, _TYPES_13, _INT64, (_REDUCTION_18,)),
    Schema(
        "TensorScatter",
        24,
        ("past_cache", "update", "write_indices"),
        _TYPES_24,
        _INT64,
        (_CACHE_AXIS, _CACHE_MODE),
        index_input="write_indices",
        optional=frozenset({"write_indices"}),
    ),
)


def versions(op_type: str) -> tuple[Schema, ...]:
    """Return the versions of an operator, oldest first."""
    return tuple(schema for schema in SCHEMAS if schema.op_type == op_type)


def find_schema(op_type: str, opset: int | None = None) -> Schema:
    """Return the version of an operator that applies at `opset`.

    Parameters
    ----------
    op_type : str
        One of the seven operators.
    opset : int, optional
        Version of the default domain that the model imports. Without it the newest version that
        ONNX has not withdrawn applies.

    Raises
    ------
    ArgumentError
        If the operator does not exist yet at `opset`, or not any more.

    Examples
    --------
    >>> find_schema("ScatterND", 17).since_version
    16
    """
    every = versions(op_type)
    if opset is None:
        return [schema for schema in every if not schema.deprecated][-1]
    if not isinstance(opset, int):
        raise ArgumentError(
            f"{op_type}: opset={opset!r} is a {type(opset).__name__}; it must be an integer.",
            operator=op_type,
            argument="opset",
            value=opset,
        )
    known = [schema for schema in every if schema.since_version <= opset]
    if not known:
        raise ArgumentError(
            f"{op_type}: opset {opset} has no such operator; it exists from opset "
            f"{every[0].since_version} on. Raise the opset of the model.",
            operator=op_type,
            argument="opset",
            value=opset,
        )
    if known[-1].deprecated:
        raise ArgumentError(
            f"{op_type}: deprecated since opset {known[-1].since_version}, and the model imports "
            f"opset {opset}. Use ScatterElements, which takes the same inputs and axis.",
            operator=op_type,
            argument="opset",
            value=opset,
        )
    return known[-1]


@lru_cache(maxsize=256)
def element_type(dtype: np.dtype[Any]) -> str:
    """Return ONNX's name of a dtype, or its NumPy name if ONNX has none.

    Examples
    --------
    >>> element_type(np.dtype("float64")), element_type(np.dtype("U5"))
    ('double', 'string')
    """
    if dtype.kind in "OUST":
        return "string"
    try:
        number = helper.np_dtype_to_tensor_dtype(dtype.newbyteorder("="))
    except ValueError:
        return str(dtype)
    return element_name(number)


def element_name(number: int) -> str:
    """Return the name of a ``TensorProto`` element type as type strings spell it."""
    if number not in TensorProto.DataType.values():
        raise _unknown(number)
    return str(TensorProto.DataType.Name(number)).lower()


def _unknown(number: int) -> ModelError:
    return ModelError(
        f"model is broken: it names the element type {number}, which ONNX does not have.",
        argument="model",
        value=number,
    )


def known_dtype(number: int) -> np.dtype[Any] | None:
    """Return the dtype of an element type of ONNX, None for the undefined and the unheard-of."""
    try:
        dtype: np.dtype[Any] = helper.tensor_dtype_to_np_dtype(number)
    except KeyError:
        return None
    return dtype


def numpy_dtype(number: int) -> np.dtype[Any]:
    """Return the dtype of an element type of ONNX, which a model must name."""
    dtype = known_dtype(number)
    if dtype is None:
        raise _unknown(number)
    return dtype


def node_value(attribute: AttributeProto) -> Any:
    """Return the value of an integer or text attribute of a node, anything else as it is."""
    if attribute.type == AttributeProto.INT:
        return attribute.i
    if attribute.type == AttributeProto.STRING:
        return attribute.s.decode("utf-8", errors="replace")
    return helper.get_attribute_value(attribute)
