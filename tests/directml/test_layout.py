"""Sizes, alignments, offsets and padding of every struct; bytes that a tensor takes."""

from __future__ import annotations

import pytest
from directml_facts import LAYOUTS, PADDING, SIZE_VECTORS

import sowreap
from sowreap.directml import buffer_tensor_size, layout

ARCHS = ("x64", "x86")


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_layout(name: str, arch: str) -> None:
    column = ARCHS.index(arch)
    *numbers, fields = LAYOUTS[name]
    place = layout(name, arch)
    assert (place.name, place.arch) == (name, arch)
    assert (place.size, place.alignment) == (numbers[column], numbers[2 + column])
    assert {field.name: (field.offset, field.size) for field in place.fields} == {
        field: (places[column], places[2 + column]) for field, places in fields.items()
    }
    assert list(place.padding) == PADDING.get(name, {}).get(arch, [])


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_fields_and_padding_fill_the_struct(name: str, arch: str) -> None:
    place = layout(name, arch)
    end = 0
    for field in place.fields:
        assert field.offset == end
        end += field.size + field.padding
    assert end == place.size


def test_field_by_name() -> None:
    place = layout("DML_SCATTER_OPERATOR_DESC", "x64")
    assert place.field("Axis") == place.fields[4]
    with pytest.raises(sowreap.ArgumentError, match="has no field 'Axes'; it has InputTensor"):
        place.field("Axes")


def test_unknown_names() -> None:
    with pytest.raises(sowreap.ArgumentError, match="it is one of x64, x86"):
        layout("GATHER", "arm64")
    with pytest.raises(sowreap.ArgumentError, match="it is one of DML_OPERATOR_DESC, "):
        layout("DML_JOIN_OPERATOR_DESC", "x64")


@pytest.mark.parametrize(("data_type", "sizes", "strides", "size"), SIZE_VECTORS)
def test_buffer_tensor_size(
    data_type: str, sizes: list[int], strides: list[int] | None, size: int
) -> None:
    assert buffer_tensor_size(data_type, sizes, strides) == size


def test_buffer_tensor_size_does_not_wrap() -> None:
    """DirectMLX answers 4, because it adds the offsets in 32 bits."""
    assert buffer_tensor_size("FLOAT32", [65537], [65536]) == 4 * (1 + 65536 * 65536)


def test_buffer_tensor_size_without_elements() -> None:
    assert buffer_tensor_size("FLOAT32", [2, 0], [5, 1]) == buffer_tensor_size("INT8", [0]) == 0


def test_buffer_tensor_size_needs_a_stride_for_each_dimension() -> None:
    with pytest.raises(sowreap.ArgumentError, match="strides has 1 entries but sizes has 2"):
        buffer_tensor_size("FLOAT32", [2, 3], [1])
