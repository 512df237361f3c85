"""From ONNX nodes to descriptors, as onnxruntime's DirectML provider goes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sowreap._errors import ArgumentError
from sowreap.directml import schema
from sowreap.directml._errors import DescriptorError, NoDescriptorError
from sowreap.directml._padding import padded_desc
from sowreap.directml._shapes import result_sizes
from sowreap.directml.descriptor import IDENTITY, OperatorDesc
from sowreap.directml.validate import validate


class _Mapping(NamedTuple):
    operator: str
    defaults: dict[str, Any]


_AXIS = {"axis": 0}
_REDUCTION = {"reduction": "none"}
_OPERATORS = {
    "Gather": _Mapping("GATHER", _AXIS),
    "GatherElements": _Mapping("GATHER_ELEMENTS", _AXIS),
    "GatherND": _Mapping("GATHER_ND1", {"batch_dims": 0}),
    "Scatter": _Mapping("SCATTER", _AXIS),
    "ScatterElements": _Mapping("SCATTER", _AXIS | _REDUCTION),
    "ScatterND": _Mapping("SCATTER_ND", _REDUCTION),
}
_MAX_RANK = schema.CONSTANTS["DML_TENSOR_DIMENSION_COUNT_MAX1"]


def from_onnx(
    node: Any,
    shapes: Mapping[str, Sequence[int]] | Sequence[Sequence[int]],
    dtypes: Mapping[str, Any] | Sequence[Any],
    feature_level: str | int = "6_4",
) -> OperatorDesc:
    """Return the descriptor that onnxruntime's DirectML provider builds for a node.

    Parameters
    ----------
    node : onnx.NodeProto
        Of the operators Gather, GatherElements, GatherND, Scatter, ScatterElements or ScatterND.
    shapes : mapping of str to shape, or sequence of shapes
        Of the node's inputs, by name or in their order.
    dtypes : mapping of str to dtype, or sequence of dtypes
        Likewise: NumPy dtypes or members of ``onnx.TensorProto.DataType``.
    feature_level : str or int, default "6_4"

    Returns
    -------
    OperatorDesc
        Packed tensors, padded to the largest rank among them. GatherND becomes GATHER_ND1. A
        scatter without indices becomes ELEMENT_WISE_IDENTITY, which copies.

    Raises
    ------
    NoDescriptorError (a ValueError)
        If there is none; `reason` says why.

    Examples
    --------
    >>> from types import SimpleNamespace as Node
    >>> from sowreap.directml import from_onnx
    >>> node = Node(op_type="Gather", domain="", input=["x", "i"], attribute=[])
    >>> desc = from_onnx(node, [(5, 4), (2, 3, 1)], ["float32", "int64"])
    >>> desc.operator, desc.attributes
    ('GATHER', {'Axis': 2, 'IndexDimensions': 3})
    >>> desc.tensors["OutputTensor"].sizes
    (2, 3, 1, 4)
    >>> from_onnx(node, [(5, 4), (2, 3)], ["bool", "int64"])
    Traceback (most recent call last):
    ...
    sowreap.directml._errors.NoDescriptorError: Gather: no DirectML descriptor exists for this \
node: 'x' has dtype bool, which DirectML does not have.
    """
    return _Node(node, shapes, dtypes, schema.feature_level(feature_level)).describe()


class _Node:
    def __init__(self, node: Any, shapes: Any, dtypes: Any, level: int) -> None:
        self.name = node.op_type
        mapping = _OPERATORS.get(node.op_type) if node.domain in ("", "ai.onnx") else None
        if mapping is None:
            raise self.none(f"DirectML has no operator for it; it has one for {_names()}")
        self.row = schema.operator_of(mapping.operator)
        self.level = level
        self.attributes = mapping.defaults | {a.name: _value(a) for a in node.attribute}
        fields = self.row.inputs
        if len(node.input) != len(fields):
            raise self.none(f"it has {len(node.input)} inputs where {len(fields)} are due")
        names = dict(zip(fields, node.input, strict=True))
        shapes, dtypes = (_by_field(given, names) for given in (shapes, dtypes))
        self.shapes = {field: self.shape(names[field], shapes[field]) for field in fields}
        self.types = {field: self.data_type(names[field], dtypes[field]) for field in fields}

    def none(self, reason: str, value: Any = None) -> NoDescriptorError:
        return NoDescriptorError(self.name, reason, value=value)

    def shape(self, name: str, shape: Any) -> tuple[int, ...]:
        if shape is None or not all(isinstance(n, int | np.integer) and n >= 0 for n in shape):
            raise self.none(f"the shape of {name!r} is not known: {shape}", shape)
        return tuple(map(int, shape))

    def data_type(self, name: str, dtype: Any) -> int:
        try:
            return schema.data_type(_dtype(dtype))
        except (ArgumentError, TypeError):
            shown = dtype if isinstance(dtype, str) else np.dtype(_dtype(dtype)).name
            raise self.none(
                f"{name!r} has dtype {shown}, which DirectML does not have", dtype
            ) from None

    def describe(self) -> OperatorDesc:
        reduction = self.attributes.get("reduction", "none")
        if reduction != "none":
            raise self.none(f"DirectML's scatters have no reduction, and it has {reduction!r}")
        data, indices = self.shapes["InputTensor"], self.shapes["IndicesTensor"]
        if self.has_no_indices(indices):
            return self.checked(self.identity())
        if 0 in data or 0 in indices:
            raise self.none("DirectML has no empty tensors, and a shape here has a size of zero")
        attributes = self.fields()
        is_scatter = "UpdatesTensor" in self.row.inputs
        output = (
            data if is_scatter else result_sizes(self.row.short_name, data, indices, attributes)
        )
        tensors = {name: (self.types[name], self.shapes[name] or (1,)) for name in self.row.inputs}
        tensors[self.row.output] = (self.types["InputTensor"], output)
        return self.checked(padded_desc(self.row.short_name, tensors, attributes, self.level))

    def has_no_indices(self, indices: tuple[int, ...]) -> bool:
        rows = indices[:-1] if self.row.short_name == "SCATTER_ND" else indices
        return "UpdatesTensor" in self.row.inputs and math.prod(rows) == 0 and 0 not in self.data

    @property
    def data(self) -> tuple[int, ...]:
        return self.shapes["InputTensor"]

    def identity(self) -> OperatorDesc:
        tensor = (self.types["InputTensor"], self.data)
        tensors = dict.fromkeys(("InputTensor", "OutputTensor"), tensor)
        return padded_desc(IDENTITY.short_name, tensors, {}, self.level)

    def fields(self) -> dict[str, int]:
        """Return the attributes of the descriptor; Axis counts the dimensions of data."""
        rank, indices_rank = len(self.data), len(self.shapes["IndicesTensor"])
        values = {
            "IndexDimensions": indices_rank,
            "InputDimensionCount": rank,
            "IndicesDimensionCount": indices_rank,
            "BatchDimensionCount": self.attributes.get("batch_dims", 0),
        }
        if "Axis" in self.row.attributes:
            axis = self.attributes["axis"]
            if not -rank <= axis < rank:
                raise self.none(f"axis {axis} is not in [{-rank}, {rank - 1}]", axis)
            values["Axis"] = axis % rank
        elif indices_rank == 0:
            raise self.none("indices of rank 0 hold no tuple")
        return {name: values[name] for name in self.row.attributes}

    def checked(self, desc: OperatorDesc) -> OperatorDesc:
        """Return the descriptor if DirectML takes it, by the rules that the provider relies on."""
        rank = max(len(tensor.sizes) for tensor in desc.tensors.values() if tensor is not None)
        if rank > _MAX_RANK:
            raise self.none(f"DirectML has at most {_MAX_RANK} dimensions, and this takes {rank}")
        try:
            validate(desc, self.level, strict=False)
        except DescriptorError as error:
            raise self.none(f"it would break a rule: {error}".rstrip("."), error.value) from error
        return desc


def _by_field(given: Any, names: Mapping[str, str]) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return {field: given.get(name) for field, name in names.items()}
    if len(given) < len(names):
        raise ArgumentError(
            f"directml.from_onnx: {len(given)} shapes or dtypes given; {len(names)} are due.",
            operator="directml.from_onnx",
            argument="shapes, dtypes",
            value=given,
        )
    return dict(zip(names, given, strict=False))


def _dtype(dtype: Any) -> Any:
    """Return the NumPy dtype of a dtype or of a member of onnx's enum."""
    if isinstance(dtype, int):
        from onnx import helper

        return helper.tensor_dtype_to_np_dtype(dtype)
    return np.dtype(dtype)


def _value(attribute: Any) -> Any:
    """Return what an AttributeProto of the family holds: a string or an integer."""
    return attribute.s.decode() if attribute.s else attribute.i


def _names() -> str:
    return ", ".join(_OPERATORS)
