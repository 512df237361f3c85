"""Descriptors as plain Python objects, read from arrays, structs and bytes."""

from __future__ import annotations

import ctypes
import operator as python_operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sowreap._errors import ArgumentError
from sowreap.directml import schema, structs
from sowreap.directml._errors import DescriptorError
from sowreap.directml.layout import buffer_tensor_size

OPERATOR_DESC = "DML_OPERATOR_DESC"

# Of this operator the family needs only that a copy has a descriptor: onnxruntime's provider makes
# one where a scatter has no indices. Its own struct is not in the schema.
IDENTITY = schema.Operator(
    name="DML_OPERATOR_ELEMENT_WISE_IDENTITY",
    value=schema.ENUMS["DML_OPERATOR_TYPE"]["DML_OPERATOR_ELEMENT_WISE_IDENTITY"],
    struct="DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC",
    introduced=schema.FEATURE_LEVELS["1_0"],
    inputs=("InputTensor",),
    output="OutputTensor",
    attributes=(),
    support=schema.operator_of("GATHER").support,
)

_ROWS = {row.short_name: row for row in (*schema.OPERATORS.values(), IDENTITY)}
_MAX_DIMENSIONS = schema.CONSTANTS["DML_TENSOR_DIMENSION_COUNT_MAX1"]
_BUFFER = schema.ENUMS["DML_TENSOR_TYPE"]["DML_TENSOR_TYPE_BUFFER"]


def operator_row(name: str) -> schema.Operator | None:
    """Return what the table says of the operator of a descriptor, None if it is no such one."""
    return _ROWS.get(name)


@dataclass(frozen=True)
class OperatorDesc:
    """A ``DML_OPERATOR_DESC`` with all that it points at, as plain values.

    Whether DirectML takes it is for :func:`validate` to say; here anything can be written down.

    Attributes
    ----------
    operator : str
        With or without ``DML_OPERATOR_``, or the value. Kept without, the alias resolved.
    tensors : dict of str to Tensor or None
        By field. Given as :class:`structs.Tensor` or as (data type, sizes[, strides]); kept with
        short names of types, tuples, and the least total size where none was given. None is a null
        pointer.
    attributes : dict of str to int
        The other fields.

    Examples
    --------
    >>> desc = OperatorDesc(
    ...     "SCATTER_ELEMENTS",
    ...     {
    ...         "InputTensor": ("FLOAT16", (3, 3)),
    ...         "IndicesTensor": ("UINT32", (2, 3)),
    ...         "UpdatesTensor": ("FLOAT16", (2, 3)),
    ...         "OutputTensor": ("FLOAT16", (3, 3)),
    ...     },
    ...     {"Axis": 0},
    ... )
    >>> desc.operator, desc.tensors["OutputTensor"].total_bytes
    ('SCATTER', 20)
    >>> OperatorDesc.from_struct(desc.to_struct("x86")) == desc
    True
    """

    operator: str
    tensors: Mapping[str, Any]
    attributes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "operator", _operator_name(self.operator))
        struct = self.struct
        tensors = {name: _normal(struct, name, given) for name, given in self.tensors.items()}
        object.__setattr__(self, "tensors", tensors)
        attributes = {name: _integer(struct, name, n) for name, n in self.attributes.items()}
        object.__setattr__(self, "attributes", attributes)

    @property
    def struct(self) -> str:
        """The name of the operator's own struct."""
        row = operator_row(self.operator)
        return OPERATOR_DESC if row is None else row.struct

    @classmethod
    def from_arrays(
        cls, operator: str, arrays: Mapping[str, np.ndarray[Any, Any]], **attributes: int
    ) -> OperatorDesc:
        """Describe arrays as they lie in memory, one for each tensor field.

        Examples
        --------
        >>> data, picks = np.zeros((2, 3), np.float32), np.zeros((2, 1), np.int32)
        >>> arrays = {"InputTensor": data, "IndicesTensor": picks, "OutputTensor": data[:, :1]}
        >>> desc = OperatorDesc.from_arrays("GATHER_ELEMENTS", arrays, Axis=1)
        >>> desc.tensors["OutputTensor"][:3]
        ('FLOAT32', (2, 1), (3, 1))
        """
        described = {name: structs.Tensor.of(array) for name, array in arrays.items()}
        return cls(operator, described, attributes)

    @classmethod
    def from_struct(cls, struct: Any, *, follow_pointers: bool = False) -> OperatorDesc:
        """Read a descriptor from ctypes structs.

        Parameters
        ----------
        struct : structs.Descriptor, or instance of a class of structs.x64
            A descriptor built here is read within its own block of memory. Of a bare struct, a
            ``DML_OPERATOR_DESC`` or an operator's own, the pointers are addresses of this process.
        follow_pointers : bool
            Needed for a bare struct. A pointer that leads to memory of other content, or to none,
            then ends the process or reads what it finds: pass it for structs that you filled.

        Raises
        ------
        ArgumentError
            If addresses would have to be followed without leave, or are not those of x64.
        DescriptorError
            If the descriptor cannot be read: an unknown operator, a null or a wild pointer, or more
            dimensions than DirectML has.
        """
        if isinstance(struct, structs.Descriptor):
            return cls.from_bytes(struct.to_bytes(), struct.arch, base=struct.base)
        kind = type(struct)
        if structs.x64.classes.get(kind.__name__) is not kind:
            raise ArgumentError(
                f"directml: struct is {kind.__name__}; it must be a structs.Descriptor or an"
                " instance of a class of structs.x64. Read x86 structs with from_bytes.",
                operator="directml",
                argument="struct",
                value=struct,
            )
        if not follow_pointers:
            raise ArgumentError(
                f"directml: the pointers of {kind.__name__} are addresses, which are followed only"
                " with follow_pointers=True.",
                operator="directml",
                argument="follow_pointers",
                value=follow_pointers,
            )
        return _Reader("x64", _read_address).read(kind.__name__, bytes(struct))

    @classmethod
    def from_bytes(cls, block: Any, arch: str = "x64", *, base: int = 0) -> OperatorDesc:
        """Read a descriptor from a block of memory that begins with a ``DML_OPERATOR_DESC``.

        Parameters
        ----------
        block : bytes-like
            As :meth:`structs.Descriptor.to_bytes` returns it, or copied from elsewhere.
        arch : {"x64", "x86"}
        base : int
            The address that the first byte had: pointers count from there. Those that lead out of
            the block are refused.
        """
        memory = bytes(block)

        def read(address: int, size: int) -> bytes | None:
            start = address - base
            return memory[start : start + size] if 0 <= start <= len(memory) - size else None

        size = ctypes.sizeof(_classes(arch).DML_OPERATOR_DESC)
        if len(memory) < size:
            raise DescriptorError(
                OPERATOR_DESC, "size", len(memory), "pointer", f"the struct takes {size} bytes"
            )
        return _Reader(arch, read).read(OPERATOR_DESC, memory[:size])

    def to_struct(self, arch: str = "x64", *, base: int | None = None) -> structs.Descriptor:
        """Build the structs; :meth:`structs.Architecture.build` explains `base`.

        Examples
        --------
        >>> arrays = dict.fromkeys(("InputTensor", "IndicesTensor", "OutputTensor"), np.arange(3))
        >>> desc = OperatorDesc.from_arrays("GATHER_ELEMENTS", arrays, Axis=0).to_struct()
        >>> desc.operator_desc.Type, list(desc.sizes["InputTensor"])
        (107, [3])
        """
        tensors = dict(self.tensors)
        return _classes(arch).build(self.operator, tensors, base=base, **self.attributes)


class _Reader:
    """Follows pointers; `read_memory` returns None for what it cannot read."""

    def __init__(self, arch: str, read_memory: Callable[[int, int], bytes | None]) -> None:
        self.classes = _classes(arch).classes
        self.read_memory = read_memory
        self.struct = OPERATOR_DESC

    def read(self, name: str, content: bytes) -> OperatorDesc:
        desc = self.classes[name].from_buffer_copy(content)
        if name == OPERATOR_DESC:
            row = self.row_of(desc.Type)
            if desc.Desc == 0:
                raise DescriptorError(OPERATOR_DESC, "Desc", "null", "desc", f"{row.struct} is due")
            desc = self.at(row.struct, desc.Desc, "Desc")
        else:
            row = self.row_of_struct(name)
        self.struct = row.struct
        # All pointers first: what DirectML refuses first is refused first here, too.
        buffers = {field: self.buffer(field, desc) for field in (*row.inputs, row.output)}
        tensors = {
            field: None if buffer is None else self.tensor(field, buffer)
            for field, buffer in buffers.items()
        }
        attributes = {attribute: getattr(desc, attribute) for attribute in row.attributes}
        return OperatorDesc(row.short_name, tensors, attributes)

    def row_of(self, value: int) -> schema.Operator:
        row = next((row for row in schema.OPERATORS.values() if row.value == value), None)
        if row is None:
            raise DescriptorError(OPERATOR_DESC, "Type", value, "operator", _family())
        return row

    def row_of_struct(self, name: str) -> schema.Operator:
        row = next((row for row in schema.OPERATORS.values() if row.struct == name), None)
        if row is None:
            raise DescriptorError(name, "struct", name, "operator", _family())
        return row

    def buffer(self, field: str, desc: Any) -> Any:
        """Return the DML_BUFFER_TENSOR_DESC of a tensor field; None for a null field."""
        address = getattr(desc, field)
        if address == 0:
            return None
        outer = self.at("DML_TENSOR_DESC", address, field)
        if outer.Type != _BUFFER:
            raise DescriptorError(
                self.struct, f"{field}.Type", outer.Type, "tensor-type", f"it must be {_BUFFER}"
            )
        if outer.Desc == 0:
            raise DescriptorError(
                self.struct, f"{field}.Desc", "null", "tensor-desc", "it must not be null"
            )
        return self.at("DML_BUFFER_TENSOR_DESC", outer.Desc, f"{field}.Desc")

    def tensor(self, field: str, buffer: Any) -> structs.Tensor:
        count = buffer.DimensionCount
        # before it says how much to read
        if count > _MAX_DIMENSIONS:
            raise DescriptorError(
                self.struct,
                f"{field}.DimensionCount",
                count,
                "dimension-count",
                f"no level takes more than {_MAX_DIMENSIONS}",
            )
        if buffer.Sizes == 0:
            raise DescriptorError(
                self.struct, f"{field}.Sizes", "null", "sizes", f"{count} sizes are due"
            )
        return structs.Tensor(
            data_type=buffer.DataType,
            sizes=self.uints(buffer.Sizes, count, f"{field}.Sizes"),
            strides=self.uints(buffer.Strides, count, f"{field}.Strides")
            if buffer.Strides
            else None,
            flags=buffer.Flags,
            total_bytes=buffer.TotalTensorSizeInBytes,
            alignment=buffer.GuaranteedBaseOffsetAlignment,
        )

    def at(self, name: str, address: int, field: str) -> Any:
        kind = self.classes[name]
        return kind.from_buffer_copy(self.content(address, ctypes.sizeof(kind), field))

    def uints(self, address: int, count: int, field: str) -> tuple[int, ...]:
        return tuple(np.frombuffer(self.content(address, 4 * count, field), "<u4").tolist())

    def content(self, address: int, size: int, field: str) -> bytes:
        content = self.read_memory(address, size)
        if content is None:
            raise DescriptorError(
                self.struct, field, f"{address:#x}", "pointer", f"{size} bytes are due there"
            )
        return content


def _read_address(address: int, size: int) -> bytes | None:
    highest = 2 ** (8 * ctypes.sizeof(ctypes.c_void_p)) - 1
    return ctypes.string_at(address, size) if address + size <= highest else None


def _classes(arch: str) -> structs.Architecture:
    for architecture in (structs.x64, structs.x86):
        if arch == architecture.arch:
            return architecture
    raise schema.unknown("directml", "arch", arch, ("x64", "x86"))


def _family() -> str:
    return "it is one of " + ", ".join(
        f"{row.name} ({row.value})" for row in schema.OPERATORS.values()
    )


def _operator_name(operator: Any) -> str:
    for row in _ROWS.values():
        names = (row.name, *row.aliases)
        short = tuple(name.removeprefix(schema.OPERATOR_PREFIX) for name in names)
        if operator in (*names, *short, row.value):
            return row.short_name
    return str(operator)


def _normal(struct: str, name: str, given: Any) -> structs.Tensor | None:
    """Return a tensor in the one form that comparisons and checks rely on."""
    if given is None:
        return None
    tensor = given if isinstance(given, structs.Tensor) else structs.Tensor(*given)
    number = schema.data_type(tensor.data_type)
    known = (short for short, kind in schema.DATA_TYPES.items() if kind.value == number)
    sizes = _integers(struct, f"{name}.Sizes", tensor.sizes)
    strides = tensor.strides
    if strides is not None:
        strides = _integers(struct, f"{name}.Strides", strides)
    total = tensor.total_bytes
    if total is None:
        usable = strides if strides is not None and len(strides) == len(sizes) else None
        total = buffer_tensor_size(number, sizes, usable)
    return structs.Tensor(
        data_type=next(known, number),
        sizes=sizes,
        strides=strides,
        flags=_integer(struct, f"{name}.Flags", tensor.flags),
        total_bytes=_integer(struct, f"{name}.TotalTensorSizeInBytes", total),
        alignment=_integer(struct, f"{name}.GuaranteedBaseOffsetAlignment", tensor.alignment),
    )


def _integers(struct: str, field: str, values: Sequence[Any]) -> tuple[int, ...]:
    return tuple(_integer(struct, f"{field}[{i}]", value) for i, value in enumerate(values))


def _integer(struct: str, field: str, value: Any) -> int:
    try:
        return python_operator.index(value)
    except TypeError:
        raise DescriptorError(
            struct, field, repr(value), "range", "it must be an integer"
        ) from None
