"""Where each field lies on Windows x64 and x86, and how many bytes a tensor takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sowreap._errors import ArgumentError
from sowreap.directml import schema

POINTER_SIZES = {"x64": 8, "x86": 4}
ARCHITECTURES = tuple(POINTER_SIZES)


@dataclass(frozen=True)
class FieldLayout:
    """Place of one field.

    Attributes
    ----------
    name : str
    offset, size : int
        In bytes.
    padding : int
        Unused bytes between this field and the next, or the end of the struct.
    """

    name: str
    offset: int
    size: int
    padding: int


@dataclass(frozen=True)
class Layout:
    """Layout of one struct on one architecture.

    Attributes
    ----------
    name, arch : str
    size, alignment : int
        In bytes.
    fields : tuple of FieldLayout
    """

    name: str
    arch: str
    size: int
    alignment: int
    fields: tuple[FieldLayout, ...]

    def field(self, name: str) -> FieldLayout:
        """Return the place of the field called `name`."""
        schema.STRUCTS[self.name].field(name)
        return next(field for field in self.fields if field.name == name)

    @property
    def padding(self) -> tuple[tuple[int, int], ...]:
        """The unused bytes, as half-open ranges."""
        ends = ((field.offset + field.size, field.padding) for field in self.fields)
        return tuple((end, end + unused) for end, unused in ends if unused)


def layout(name: str, arch: str) -> Layout:
    """Return size, alignment and fields of a struct.

    Parameters
    ----------
    name : str
        A struct, or an operator, which stands for its description.
    arch : {"x64", "x86"}
        Windows on 64 or 32 bits. Both align 64-bit integers to 8 bytes; Linux on i386 and Go's
        ``386`` align them to 4 and give other offsets.

    Raises
    ------
    ArgumentError
        If `name` or `arch` is unknown.

    Examples
    --------
    >>> place = layout("DML_BUFFER_TENSOR_DESC", "x86")
    >>> place.size, place.alignment, place.field("TotalTensorSizeInBytes").offset, place.padding
    (40, 8, 24, ((20, 24), (36, 40)))
    """
    struct = schema.struct_of(name)
    check_arch(arch)
    sizes = [size_of(field.kind, arch) for field in struct.fields]
    offsets, end = [], 0
    for size in sizes:
        end = round_up(end, size)  # every kind is aligned to its own size
        offsets.append(end)
        end += size
    alignment = max(sizes)
    size = round_up(end, alignment)
    ends = [*offsets[1:], size]
    return Layout(
        struct.name,
        arch,
        size,
        alignment,
        tuple(
            FieldLayout(field.name, offset, width, following - offset - width)
            for field, offset, width, following in zip(
                struct.fields, offsets, sizes, ends, strict=True
            )
        ),
    )


def size_of(kind: str, arch: str) -> int:
    """Return the bytes that a field of this kind takes."""
    if kind in schema.POINTER_KINDS:
        return POINTER_SIZES[arch]
    return 8 if kind == "uint64" else 4


def check_arch(arch: str) -> None:
    """Refuse an architecture that is not known."""
    if arch not in POINTER_SIZES:
        raise schema.unknown("directml", "arch", arch, ARCHITECTURES)


def round_up(value: int, multiple: int) -> int:
    """Return the least multiple of `multiple` that is not below `value`."""
    return -(-value // multiple) * multiple


def buffer_tensor_size(
    data_type: int | str, sizes: Sequence[int], strides: Sequence[int] | None = None
) -> int:
    """Return the least ``TotalTensorSizeInBytes`` of a tensor: up to its last element.

    Parameters
    ----------
    data_type : str, int or dtype
        Type of the elements; one that has no size gives 0.
    sizes : sequence of int
        Length of each dimension.
    strides : sequence of int, optional
        Step of each dimension in elements; packed rows if not given.

    Notes
    -----
    DirectMLX sums the strided offsets in 32 bits that wrap; here they do not, so that a tensor of
    more than 2**32 elements' reach gets its real size.

    Examples
    --------
    >>> buffer_tensor_size("FLOAT16", [3]), buffer_tensor_size("FLOAT16", [2, 2], [3, 1])
    (8, 12)
    """
    number = schema.data_type(data_type)
    bits = next((kind.bits for kind in schema.DATA_TYPES.values() if kind.value == number), 0)
    if strides is None:
        elements = prod(sizes)
    elif len(strides) != len(sizes):
        raise ArgumentError(
            f"directml: strides has {len(strides)} entries but sizes has {len(sizes)}; give one"
            " for each dimension.",
            operator="directml",
            argument="strides",
            value=tuple(strides),
        )
    elif 0 in sizes:
        elements = 0
    else:
        elements = 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
    return round_up(elements * bits, 32) // 8
