"""The structs as ctypes classes, for Windows x64 and x86, on any host.

``x64`` and ``x86`` hold one class for each struct: ``x64.DML_SCATTER_OPERATOR_DESC``. Pointers are
plain integers of 64 or 32 bits, null is 0, and bytes are little-endian, so that a descriptor looks
the same wherever it was written:

>>> from sowreap.directml import structs
>>> desc = structs.x86.DML_TENSOR_DESC(Type=1, Desc=0x10008)
>>> bytes(desc).hex()
'0100000008000100'
>>> structs.x86.DML_TENSOR_DESC.from_buffer_copy(bytes(desc)).Desc == 0x10008
True
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sowreap._errors import ArgumentError
from sowreap.directml import schema
from sowreap.directml.layout import POINTER_SIZES, Layout, buffer_tensor_size, layout, round_up

X86_BASE = 0x10000
"""Address that the first byte of an x86 block is taken to have."""

_POINTERS = {"x64": ctypes.c_uint64, "x86": ctypes.c_uint32}
_PLACE_ALIGNMENT = 8


class Tensor(NamedTuple):
    """What a ``DML_BUFFER_TENSOR_DESC`` says.

    Attributes
    ----------
    data_type : str, int or dtype
        ``"FLOAT32"``, ``DML_TENSOR_DATA_TYPE_FLOAT32``, its value, or a NumPy dtype.
    sizes : sequence of int
    strides : sequence of int or None
        In elements; None for packed rows.
    flags : int
        ``DML_TENSOR_FLAGS``.
    total_bytes : int or None
        ``TotalTensorSizeInBytes``; None for the least that holds the tensor.
    alignment : int
        ``GuaranteedBaseOffsetAlignment``.
    """

    data_type: Any
    sizes: Sequence[int]
    strides: Sequence[int] | None = None
    flags: int = 0
    total_bytes: int | None = None
    alignment: int = 0

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> Tensor:
        """Return the description of a NumPy array, with strides where it is not packed.

        Examples
        --------
        >>> Tensor.of(np.zeros((2, 3), np.float32)).sizes, Tensor.of(np.zeros((2, 3)).T).strides
        ((2, 3), (1, 3))
        """
        steps = [divmod(step, array.itemsize) for step in array.strides]
        if any(step < 0 or rest for step, rest in steps):
            raise ArgumentError(
                f"directml.structs: strides {array.strides} of the array, in bytes, cannot be"
                f" described; they must be multiples of {array.itemsize} and not negative. Copy the"
                " array.",
                operator="directml.structs",
                argument="array",
                value=array.strides,
            )
        packed = array.flags.c_contiguous
        return cls(array.dtype, array.shape, None if packed else tuple(step for step, _ in steps))


class Descriptor:
    """A ``DML_OPERATOR_DESC`` with all that it points at, in one block of memory.

    The structs are views of the block: a field set in one of them changes the block, and
    :meth:`to_bytes` returns it as it is then.

    Attributes
    ----------
    operator : schema.Operator
    arch : str
    base : int
        Address of the first byte of the block; every pointer is `base` plus an offset in the block.
        For x64 it is by default the real address. x86 pointers cannot be real addresses here, so
        `base` is `X86_BASE` unless given.
    operator_desc, desc : ctypes.Structure
        The ``DML_OPERATOR_DESC`` and the operator's own struct.
    tensor_descs, buffer_tensor_descs : dict of str to ctypes.Structure
        By the name of the tensor field; a null field has none.
    sizes, strides : dict of str to ctypes array
        The arrays that they point at.
    """

    def __init__(
        self,
        architecture: Architecture,
        operator: schema.Operator,
        tensors: Mapping[str, Tensor],
        base: int | None,
    ) -> None:
        self.operator = operator
        self.arch = architecture.arch
        places = _Places()
        envelope = places.add(architecture.DML_OPERATOR_DESC)
        own = places.add(architecture.classes[operator.struct])
        outer = {name: places.add(architecture.DML_TENSOR_DESC) for name in tensors}
        inner = {name: places.add(architecture.DML_BUFFER_TENSOR_DESC) for name in tensors}
        sizes = {name: places.add(_uints(tensor.sizes)) for name, tensor in tensors.items()}
        strides = {
            name: places.add(_uints(tensor.strides))
            for name, tensor in tensors.items()
            if tensor.strides is not None
        }
        self._block = (ctypes.c_uint64 * (places.end // _PLACE_ALIGNMENT))()
        self.base = self._checked_base(architecture, base)
        self.operator_desc = self._view(envelope)
        self.desc = self._view(own)
        self.tensor_descs = {name: self._view(place) for name, place in outer.items()}
        self.buffer_tensor_descs = {name: self._view(place) for name, place in inner.items()}
        self.sizes = {name: self._view(place) for name, place in sizes.items()}
        self.strides = {name: self._view(place) for name, place in strides.items()}
        _assign(self.operator_desc, Type=operator.value, Desc=self.address(self.desc))
        for name, tensor in tensors.items():
            self._write(name, tensor)

    def address(self, piece: Any) -> int:
        """Return the address, as the pointers of the block count, of one of its pieces."""
        return self.base + ctypes.addressof(piece) - ctypes.addressof(self._block)

    def to_bytes(self) -> bytes:
        """Return the block; its first byte, at `base`, begins the ``DML_OPERATOR_DESC``."""
        return bytes(self._block)

    def _checked_base(self, architecture: Architecture, base: int | None) -> int:
        if base is None:
            return ctypes.addressof(self._block) if self.arch == "x64" else X86_BASE
        last = base + ctypes.sizeof(self._block) - 1
        highest = 2 ** (8 * POINTER_SIZES[self.arch]) - 1
        if base < 0 or base % _PLACE_ALIGNMENT or last > highest:
            raise ArgumentError(
                f"directml.structs: base {base:#x} cannot hold the block of"
                f" {ctypes.sizeof(self._block)} bytes; it must be a multiple of"
                f" {_PLACE_ALIGNMENT}, and the block must end at or below {highest:#x}.",
                operator="directml.structs",
                argument="base",
                value=base,
            )
        return base

    def _view(self, place: _Place) -> Any:
        return place.type.from_buffer(self._block, place.offset)

    def _write(self, name: str, tensor: Tensor) -> None:
        """Fill in the three levels that describe one tensor."""
        total = tensor.total_bytes
        if total is None:
            total = buffer_tensor_size(tensor.data_type, tensor.sizes, tensor.strides)
        outer, inner = self.tensor_descs[name], self.buffer_tensor_descs[name]
        _assign(self.desc, **{name: self.address(outer)})
        _assign(
            outer,
            Type=schema.ENUMS["DML_TENSOR_TYPE"]["DML_TENSOR_TYPE_BUFFER"],
            Desc=self.address(inner),
        )
        strides = self.strides.get(name)
        _assign(
            inner,
            DataType=schema.data_type(tensor.data_type),
            Flags=tensor.flags,
            DimensionCount=len(tensor.sizes),
            Sizes=self.address(self.sizes[name]),
            Strides=0 if strides is None else self.address(strides),
            TotalTensorSizeInBytes=total,
            GuaranteedBaseOffsetAlignment=tensor.alignment,
        )
        _fill(self.sizes[name], f"{name}.Sizes", tensor.sizes)
        if strides is not None and tensor.strides is not None:
            _fill(strides, f"{name}.Strides", tensor.strides)


class Architecture:
    """The classes of one architecture, as attributes, and the call that builds a descriptor.

    Attributes
    ----------
    arch : {"x64", "x86"}
    classes : dict of str to type
        By the names of the structs; an alias is the same class.
    """

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self.classes: dict[str, Any] = {}
        for struct in schema.STRUCTS.values():
            if struct.alias_of is None:
                self.classes[struct.name] = _structure(layout(struct.name, arch))
        for struct in schema.STRUCTS.values():
            if struct.alias_of is not None:
                self.classes[struct.name] = self.classes[struct.alias_of]

    def __getattr__(self, name: str) -> Any:
        """Return the class of the struct called `name`."""
        try:
            return self.__dict__["classes"][name]
        except KeyError:
            raise AttributeError(
                f"{name!r} is not a struct of the family; {', '.join(schema.STRUCTS)} are."
            ) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.classes]

    def __repr__(self) -> str:
        return f"sowreap.directml.structs.{self.arch}"

    def build(
        self,
        operator: str,
        tensors: Mapping[str, Tensor | Sequence[Any] | None],
        *,
        base: int | None = None,
        **attributes: int,
    ) -> Descriptor:
        """Build the descriptor of one operator with all that it points at.

        Values are written as given; whether DirectML takes them is for ``validate`` to say.

        Parameters
        ----------
        operator : str
            With or without ``DML_OPERATOR_``.
        tensors : mapping of str to Tensor or (data type, sizes[, strides])
            For each tensor field what it is; None for a null pointer.
        base : int, optional
            Address that the block is taken to have, a multiple of 8. By default the real address
            for x64, which native code in a 64-bit process can follow as long as the descriptor
            lives, and `X86_BASE` for x86: to use such a block in a 32-bit process, build it with
            the address to which its bytes will be copied.
        **attributes : int
            The other fields: ``Axis``, ``IndexDimensions`` and so on.

        Returns
        -------
        Descriptor

        Raises
        ------
        ArgumentError
            If a field is missing or unknown, or a value does not fit its field.

        Examples
        --------
        >>> gather = x64.build(
        ...     "GATHER_ELEMENTS",
        ...     {
        ...         "InputTensor": ("FLOAT32", (3, 4)),
        ...         "IndicesTensor": ("INT64", (2, 4)),
        ...         "OutputTensor": ("FLOAT32", (2, 4)),
        ...     },
        ...     Axis=0,
        ... )
        >>> gather.desc.Axis, list(gather.sizes["OutputTensor"])
        (0, [2, 4])
        >>> gather.buffer_tensor_descs["IndicesTensor"].TotalTensorSizeInBytes
        64
        """
        row = schema.operator_of(operator)
        _check_names(row, "tensors", tensors, (*row.inputs, row.output))
        _check_names(row, "attributes", attributes, row.attributes)
        given = {
            name: tensor if isinstance(tensor, Tensor) else Tensor(*tensor)
            for name, tensor in tensors.items()
            if tensor is not None
        }
        descriptor = Descriptor(self, row, given, base)
        _assign(descriptor.desc, **attributes)
        return descriptor


class _Place(NamedTuple):
    type: Any
    offset: int


class _Places:
    """Hands out the places of a block, one after another."""

    def __init__(self) -> None:
        self.end = 0

    def add(self, kind: Any) -> _Place:
        place = _Place(kind, self.end)
        self.end = round_up(self.end + ctypes.sizeof(kind), _PLACE_ALIGNMENT)
        return place


def _structure(place: Layout) -> Any:
    """Return the ctypes class of a struct.

    Natural alignment gives Windows' offsets on hosts that align 64-bit integers to 8; on others
    (32-bit Linux) bytes are put in.
    """
    members: list[tuple[str, Any]] = []
    struct, end = schema.STRUCTS[place.name], 0
    for field, at in zip(struct.fields, place.fields, strict=True):
        kind = _ctype(field, place.arch)
        if round_up(end, ctypes.alignment(kind)) < at.offset:
            members.append((f"_unused_{end}", ctypes.c_uint8 * (at.offset - end)))
        members.append((field.name, kind))
        end = at.offset + at.size
    alignment = max(ctypes.alignment(kind) for _, kind in members)
    if round_up(end, alignment) < place.size:
        members.append((f"_unused_{end}", ctypes.c_uint8 * (place.size - end)))
    return type(
        place.name,
        (ctypes.LittleEndianStructure,),
        {"_fields_": members, "__doc__": struct.role, "__module__": __name__},
    )


def _ctype(field: schema.Field, arch: str) -> Any:
    if field.is_pointer:
        return _POINTERS[arch]
    if field.kind == "uint64":
        return ctypes.c_uint64
    return ctypes.c_uint32 if field.kind == "uint32" else ctypes.c_int32


def _uints(values: Sequence[int]) -> Any:
    return ctypes.c_uint32.__ctype_le__ * len(values)


def _assign(struct: ctypes.Structure, **values: int) -> None:
    """Set fields; unlike ctypes refuse values that do not fit."""
    kinds = {name: kind for name, kind, *_ in struct._fields_}
    for name, value in values.items():
        bits = 8 * ctypes.sizeof(kinds[name])
        signed = issubclass(kinds[name], ctypes.c_int32)
        _check_range(f"{type(struct).__name__}.{name}", value, bits, signed=signed)
        setattr(struct, name, value)


def _fill(array: Any, field: str, values: Sequence[int]) -> None:
    for position, value in enumerate(values):
        _check_range(f"{field}[{position}]", value, 32)
        array[position] = value


def _check_range(field: str, value: int, bits: int, *, signed: bool = False) -> None:
    least = -(2 ** (bits - 1)) if signed else 0
    most = 2 ** (bits - signed) - 1
    if not least <= value <= most:
        raise ArgumentError(
            f"directml.structs: {field} = {value} does not fit; it is in [{least}, {most}].",
            operator="directml.structs",
            argument=field,
            value=value,
        )


def _check_names(
    operator: schema.Operator, argument: str, given: Mapping[str, Any], wanted: Sequence[str]
) -> None:
    missing = [name for name in wanted if name not in given]
    unknown = [name for name in given if name not in wanted]
    if missing or unknown:
        parts = [f"lacks {', '.join(missing)}"] * bool(missing)
        parts += [f"has no {', '.join(unknown)}"] * bool(unknown)
        raise ArgumentError(
            f"directml.structs: {operator.name} {' and '.join(parts)}; its {argument} are"
            f" {', '.join(wanted)}.",
            operator="directml.structs",
            argument=argument,
            value=tuple(given),
        )


x64 = Architecture("x64")
x86 = Architecture("x86")
