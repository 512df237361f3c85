"""The ctypes classes, and the descriptors built from them."""

from __future__ import annotations

import ctypes
import gc
import struct

import numpy as np
import pytest
from directml_facts import ENUMS, LAYOUTS
from hypothesis import given
from hypothesis import strategies as st

import sowreap
from sowreap.directml import buffer_tensor_size, layout, schema, structs

ARCHITECTURES = {"x64": structs.x64, "x86": structs.x86}
SCATTER = {
    "InputTensor": ("FLOAT32", (3, 4)),
    "IndicesTensor": ("INT64", (2, 4)),
    "UpdatesTensor": ("FLOAT32", (2, 4), (0, 1)),
    "OutputTensor": ("FLOAT32", (3, 4)),
}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", LAYOUTS)
def test_classes_have_the_layout(name: str, arch: str) -> None:
    column = ("x64", "x86").index(arch)
    *numbers, fields = LAYOUTS[name]
    kind = getattr(ARCHITECTURES[arch], name)
    assert ctypes.sizeof(kind) == numbers[column]
    assert {
        field: (getattr(kind, field).offset, getattr(kind, field).size) for field in fields
    } == {field: (places[column], places[2 + column]) for field, places in fields.items()}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", LAYOUTS)
def test_classes_on_hosts_that_align_64_bits_to_4(
    name: str, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux on i386 does; two halves stand for its 64-bit integer here."""
    halves = ctypes.c_uint32 * 2
    natural = structs._ctype

    def on_i386(field: schema.Field, arch: str) -> type:
        ctype = natural(field, arch)
        return halves if ctypes.sizeof(ctype) == 8 else ctype

    monkeypatch.setattr(structs, "_ctype", on_i386)
    kind = structs._structure(layout(name, arch))
    column = ("x64", "x86").index(arch)
    assert ctypes.sizeof(kind) == LAYOUTS[name][column]
    for field, places in LAYOUTS[name][4].items():
        assert getattr(kind, field).offset == places[column]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_alias_is_the_same_class(arch: str) -> None:
    architecture = ARCHITECTURES[arch]
    assert architecture.DML_SCATTER_ELEMENTS_OPERATOR_DESC is architecture.DML_SCATTER_OPERATOR_DESC


def test_attributes_are_listed_and_others_refused() -> None:
    assert set(LAYOUTS) <= set(dir(structs.x86))
    assert repr(structs.x86) == "sowreap.directml.structs.x86"
    with pytest.raises(AttributeError, match="'DML_JOIN' is not a struct of the family"):
        structs.x64.DML_JOIN  # noqa: B018


def field_values(kind: type[ctypes.Structure]) -> st.SearchStrategy[dict[str, int]]:
    """Draw a value for every field, the ends of its range among them."""
    ranges = {}
    for name, ctype, *_ in kind._fields_:
        bits = 8 * ctypes.sizeof(ctype)
        signed = issubclass(ctype, ctypes.c_int32)
        least, most = (-(2**31), 2**31 - 1) if signed else (0, 2**bits - 1)
        ranges[name] = st.sampled_from([least, most]) | st.integers(least, most)
    return st.fixed_dictionaries(ranges)


@given(st.data())
def test_values_survive_bytes(data: st.DataObject) -> None:
    architecture = data.draw(st.sampled_from(sorted(ARCHITECTURES)).map(ARCHITECTURES.get))
    kind = architecture.classes[data.draw(st.sampled_from(sorted(LAYOUTS)))]
    values = data.draw(field_values(kind))
    copy = kind.from_buffer_copy(bytes(kind(**values)))
    assert {name: getattr(copy, name) for name in values} == values


@pytest.mark.parametrize(
    ("arch", "form"),
    [("x64", "<3I4xQQQI4x"), ("x86", "<3III4xQI4x")],
)
def test_bytes_are_little_endian(arch: str, form: str) -> None:
    kind = ARCHITECTURES[arch].DML_BUFFER_TENSOR_DESC
    values = (1, 0, 4, 0x11223344, 0x55667788, 0x123456789A, 16)
    assert bytes(kind(*values)) == struct.pack(form, *values)


class Reader:
    """Follows the pointers of a block by hand, with offsets that were written down apart."""

    def __init__(self, block: bytes, base: int, arch: str) -> None:
        self.block, self.base, self.column = block, base, ("x64", "x86").index(arch)

    def number(self, address: int, size: int) -> int:
        start = address - self.base
        assert 0 <= start <= len(self.block) - size
        return int.from_bytes(self.block[start : start + size], "little")

    def fields(self, name: str, address: int) -> dict[str, int]:
        assert address % LAYOUTS[name][2 + self.column] == 0
        return {
            field: self.number(address + places[self.column], places[2 + self.column])
            for field, places in LAYOUTS[name][4].items()
        }

    def uints(self, address: int, count: int) -> list[int]:
        return [self.number(address + 4 * position, 4) for position in range(count)]


@pytest.mark.parametrize(("arch", "base"), [("x64", None), ("x86", None), ("x86", 0x7FFE0000)])
def test_build_writes_the_whole_chain(arch: str, base: int | None) -> None:
    built = ARCHITECTURES[arch].build("SCATTER", SCATTER, base=base, Axis=1)
    reader = Reader(built.to_bytes(), built.base, arch)
    if arch == "x86":
        assert built.base == (base or structs.X86_BASE)
    outer = reader.fields("DML_OPERATOR_DESC", built.base)
    assert outer["Type"] == 94
    desc = reader.fields("DML_SCATTER_OPERATOR_DESC", outer["Desc"])
    assert desc["Axis"] == 1
    for name, (data_type, sizes, *strides) in SCATTER.items():
        tensor = reader.fields("DML_TENSOR_DESC", desc[name])
        assert tensor["Type"] == ENUMS["DML_TENSOR_TYPE"]["DML_TENSOR_TYPE_BUFFER"]
        inner = reader.fields("DML_BUFFER_TENSOR_DESC", tensor["Desc"])
        assert inner["DataType"] == schema.data_type(data_type)
        assert inner["DimensionCount"] == len(sizes)
        assert reader.uints(inner["Sizes"], 2) == list(sizes)
        assert inner["TotalTensorSizeInBytes"] == buffer_tensor_size(data_type, sizes, *strides)
        assert (inner["Flags"], inner["GuaranteedBaseOffsetAlignment"]) == (0, 0)
        if strides:
            assert reader.uints(inner["Strides"], 2) == list(strides[0])
        else:
            assert inner["Strides"] == 0


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="needs pointers of 64 bits")
def test_x64_pointers_are_real_and_kept_alive() -> None:
    """Only the struct is held; what it points at lives on."""
    desc = structs.x64.build("SCATTER", SCATTER, Axis=1).operator_desc
    gc.collect()
    own = structs.x64.DML_SCATTER_OPERATOR_DESC.from_address(desc.Desc)
    tensor = structs.x64.DML_TENSOR_DESC.from_address(own.IndicesTensor)
    inner = structs.x64.DML_BUFFER_TENSOR_DESC.from_address(tensor.Desc)
    assert list((ctypes.c_uint32 * 2).from_address(inner.Sizes)) == [2, 4]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_structs_are_views_of_the_block(arch: str) -> None:
    built = ARCHITECTURES[arch].build("SCATTER", SCATTER, Axis=1)
    before = built.to_bytes()
    built.sizes["OutputTensor"][0] = 7
    built.desc.Axis = 0
    after = built.to_bytes()
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 2
    assert built.address(built.operator_desc) == built.base
    assert built.operator_desc.Desc == built.address(built.desc)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_x86_and_x64_blocks_move(arch: str) -> None:
    """Built for two addresses, blocks differ in their pointers alone."""
    first, second = (
        ARCHITECTURES[arch].build("SCATTER", SCATTER, base=base, Axis=1)
        for base in (0x10000, 0x20000)
    )
    assert first.to_bytes() != second.to_bytes()
    for name in SCATTER:
        assert list(first.sizes[name]) == list(second.sizes[name])
        assert getattr(second.desc, name) - getattr(first.desc, name) == 0x10000


@pytest.mark.parametrize("name", schema.OPERATORS)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_build_every_operator(arch: str, name: str) -> None:
    operator = schema.OPERATORS[name]
    tensors = dict.fromkeys((*operator.inputs, operator.output), ("INT32", (2, 2)))
    attributes = {field: position + 1 for position, field in enumerate(operator.attributes)}
    built = ARCHITECTURES[arch].build(name, tensors, **attributes)
    assert type(built.desc).__name__ == operator.struct
    assert {field: getattr(built.desc, field) for field in attributes} == attributes
    assert all(getattr(built.desc, field) for field in tensors)


def test_build_takes_the_second_name() -> None:
    built = structs.x86.build("SCATTER_ELEMENTS", SCATTER, Axis=0)
    assert built.operator.name == "DML_OPERATOR_SCATTER"
    assert built.operator_desc.Type == 94


def test_build_leaves_a_null_pointer_for_none() -> None:
    built = structs.x64.build("SCATTER", {**SCATTER, "UpdatesTensor": None}, Axis=0)
    assert built.desc.UpdatesTensor == 0
    assert "UpdatesTensor" not in built.tensor_descs


def test_build_says_all_of_a_tensor() -> None:
    owned = ENUMS["DML_TENSOR_FLAGS"]["DML_TENSOR_FLAG_OWNED_BY_DML"]
    tensor = structs.Tensor(np.float16, [3, 4], None, owned, total_bytes=64, alignment=256)
    built = structs.x86.build("SCATTER", {**SCATTER, "InputTensor": tensor}, Axis=0)
    inner = built.buffer_tensor_descs["InputTensor"]
    assert (inner.DataType, inner.Flags) == (2, 1)
    assert (inner.TotalTensorSizeInBytes, inner.GuaranteedBaseOffsetAlignment) == (64, 256)


def test_build_writes_what_directml_would_refuse() -> None:
    """Rules are for the validator; a bad descriptor can be written."""
    bad = structs.Tensor(0, (), ())
    built = structs.x64.build("SCATTER", {**SCATTER, "InputTensor": bad}, Axis=2**32 - 1)
    inner = built.buffer_tensor_descs["InputTensor"]
    assert (inner.DataType, inner.DimensionCount, inner.TotalTensorSizeInBytes) == (0, 0, 0)
    assert built.desc.Axis == 2**32 - 1


@pytest.mark.parametrize(
    ("array", "sizes", "strides"),
    [
        (np.zeros((2, 3), np.int8), (2, 3), None),
        (np.zeros((4, 6), np.float64)[::2, ::3], (2, 2), (12, 3)),
        (np.broadcast_to(np.float32(1), (2, 3)), (2, 3), (0, 0)),
        (np.zeros((2, 3, 4), np.uint16).transpose(2, 0, 1), (4, 2, 3), (1, 12, 4)),
    ],
)
def test_tensor_of_an_array(array: np.ndarray, sizes: tuple, strides: tuple | None) -> None:
    tensor = structs.Tensor.of(array)
    assert (tensor.data_type, tensor.sizes, tensor.strides) == (array.dtype, sizes, strides)


@pytest.mark.parametrize(
    "array",
    [np.zeros(4)[::-1], np.zeros(4, [("a", np.int8), ("b", np.int32)])["b"]],
    ids=["negative", "uneven"],
)
def test_tensor_of_an_array_that_has_no_such_strides(array: np.ndarray) -> None:
    with pytest.raises(sowreap.ArgumentError, match=r"must be multiples of \d and not negative"):
        structs.Tensor.of(array)


@pytest.mark.parametrize(
    ("tensors", "options", "message"),
    [
        ({"OutputTensor": ...}, {"Axis": 0}, "lacks OutputTensor; its tensors are InputTensor"),
        ({}, {}, "lacks Axis; its attributes are Axis"),
        ({}, {"Axis": 0, "axis": 0}, "has no axis; its attributes are Axis"),
        ({}, {"Axis": -1}, r"DML_SCATTER_OPERATOR_DESC.Axis = -1 does not fit; it is in \[0, 429"),
        ({"InputTensor": ("FLOAT8", (1,))}, {"Axis": 0}, "data_type 'FLOAT8' is not known"),
        (
            {"InputTensor": ("INT8", (1, 2**32))},
            {"Axis": 0},
            r"InputTensor.Sizes\[1\] = 4294967296",
        ),
        ({"InputTensor": ("INT8", (1,), (-1,))}, {"Axis": 0}, r"InputTensor.Strides\[0\] = -1"),
        ({"InputTensor": ("INT8", (1, 2), (1,))}, {"Axis": 0}, "strides has 1 entries but sizes"),
        ({}, {"Axis": 0, "base": 2**32 - 64}, "the block must end at or below 0xffffffff"),
        ({}, {"Axis": 0, "base": 0x10004}, "it must be a multiple of 8"),
    ],
)
def test_build_refuses(tensors: dict, options: dict, message: str) -> None:
    given = {name: spec for name, spec in {**SCATTER, **tensors}.items() if spec is not ...}
    with pytest.raises(sowreap.ArgumentError, match=message):
        structs.x86.build("SCATTER", given, **options)
