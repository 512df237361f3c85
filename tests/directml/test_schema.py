"""The table against names, values and support written down apart from it."""

from __future__ import annotations

import numpy as np
import pytest
from directml_facts import C_TYPES, ENUMS, LAYOUTS, OPERATORS, OPTIONAL, TYPE_SETS

import sowreap
from sowreap.directml import schema


def test_structs_are_those_of_the_header() -> None:
    assert set(schema.STRUCTS) == set(LAYOUTS)


@pytest.mark.parametrize("name", C_TYPES)
def test_fields(name: str) -> None:
    fields = schema.STRUCTS[name].fields
    assert [field.name for field in fields] == list(LAYOUTS[name][4])
    assert [field.c_type for field in fields] == C_TYPES[name]
    assert [field.optional for field in fields] == [
        (name, field.name) in OPTIONAL for field in fields
    ]


@pytest.mark.parametrize("struct", schema.STRUCTS.values(), ids=lambda struct: struct.name)
def test_kinds_follow_c_types(struct: schema.Struct) -> None:
    kinds = {"UINT": "uint32", "UINT64": "uint64", "BOOL": "bool32"}
    for field in struct.fields:
        assert field.kind in schema.KINDS
        assert field.is_pointer == field.c_type.endswith("*")
        if not field.is_pointer:
            assert field.kind == kinds.get(field.c_type, "enum32")
        if field.kind.startswith("enum"):
            assert field.target in schema.ENUMS
        if field.kind == "pointer_to_struct":
            assert field.points_at == (field.target,)
        assert set(field.points_at) <= set(schema.STRUCTS)


@pytest.mark.parametrize("struct", schema.STRUCTS.values(), ids=lambda struct: struct.name)
def test_all_is_described_in_both_languages(struct: schema.Struct) -> None:
    for english, japanese in [
        (struct.role, struct.role_ja),
        *((field.description, field.description_ja) for field in struct.fields),
    ]:
        assert english.isascii()
        assert english.endswith(".")
        assert not japanese.isascii()
        assert japanese.endswith("。")


def test_alias_is_the_same_struct() -> None:
    alias = schema.STRUCTS["DML_SCATTER_ELEMENTS_OPERATOR_DESC"]
    assert alias.alias_of == "DML_SCATTER_OPERATOR_DESC"
    assert alias.fields is schema.STRUCTS["DML_SCATTER_OPERATOR_DESC"].fields


def test_enums() -> None:
    assert schema.ENUMS == ENUMS
    assert len(schema.ENUMS["DML_FEATURE_LEVEL"]) == len(schema.DIRECTML_VERSIONS)


def test_constants() -> None:
    assert schema.CONSTANTS == {
        "DML_TENSOR_DIMENSION_COUNT_MAX": 5,
        "DML_TENSOR_DIMENSION_COUNT_MAX1": 8,
        "DML_TEMPORARY_BUFFER_ALIGNMENT": 256,
        "DML_PERSISTENT_BUFFER_ALIGNMENT": 256,
        "DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT": 16,
        "E_INVALIDARG": 0x80070057,
    }


def test_data_types() -> None:
    for name, (value, bits, dtype) in schema.DATA_TYPES.items():
        assert ENUMS["DML_TENSOR_DATA_TYPE"][f"DML_TENSOR_DATA_TYPE_{name}"] == value
        assert name.endswith(str(bits))
        if dtype is not None:
            assert dtype == np.dtype(name.lower())
            assert dtype.itemsize * 8 == bits
            assert schema.data_type(dtype) == value
            assert schema.data_type(dtype.newbyteorder(">")) == value
        assert schema.data_type(name) == schema.data_type(f"DML_TENSOR_DATA_TYPE_{name}") == value


def test_data_type_takes_any_number() -> None:
    assert [schema.data_type(value) for value in (0, 99, np.int64(3))] == [0, 99, 3]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    value, struct, inputs, attributes, rows = OPERATORS[name]
    operator = schema.OPERATORS[name]
    assert (operator.name, operator.value, operator.struct) == (name, value, struct)
    assert (list(operator.inputs), operator.output) == (inputs, "OutputTensor")
    assert list(operator.attributes) == attributes
    assert operator.introduced == operator.support[0].level
    found = [
        (row.level, sorted(row.data_types), sorted(row.index_types), *row[3:])
        for row in operator.support
    ]
    assert found == [
        (ENUMS["DML_FEATURE_LEVEL"][f"DML_FEATURE_LEVEL_{level}"], *map(sorted, sets), *counts)
        for level, data, indices, *counts in rows
        for sets in [(TYPE_SETS[data], TYPE_SETS[indices])]
    ]


def test_no_other_operators() -> None:
    assert set(schema.OPERATORS) == set(OPERATORS)


@pytest.mark.parametrize(
    ("name", "level", "row"),
    [
        ("GATHER", "1_0", 0),
        ("GATHER", "2_0", 0),
        ("GATHER", "2_1", 1),
        ("SCATTER", "1_0", None),
        ("SCATTER", "2_0", 0),
        ("SCATTER", "4_0", 2),
        ("SCATTER_ELEMENTS", "6_4", 3),
        ("GATHER_ND1", 0x2100, None),
        ("GATHER_ND1", 0x3100, 0),
    ],
)
def test_support_at(name: str, level: str | int, row: int | None) -> None:
    operator = schema.operator_of(name)
    expected = None if row is None else operator.support[row]
    assert operator.support_at(level) == expected


@pytest.mark.parametrize("short", ["GATHER", "GATHER_ND1", "SCATTER", "SCATTER_ELEMENTS"])
def test_operator_of_takes_both_spellings(short: str) -> None:
    operator = schema.operator_of(short)
    assert operator is schema.operator_of(f"DML_OPERATOR_{short}")
    assert operator.value == ENUMS["DML_OPERATOR_TYPE"][f"DML_OPERATOR_{short}"]
    assert operator.short_name == short.replace("SCATTER_ELEMENTS", "SCATTER")


def test_struct_of_an_operator() -> None:
    for name, operator in schema.OPERATORS.items():
        assert schema.struct_of(name).name == operator.struct
    assert schema.struct_of("SCATTER_ELEMENTS").name == "DML_SCATTER_ELEMENTS_OPERATOR_DESC"


def test_feature_levels() -> None:
    for name, value in ENUMS["DML_FEATURE_LEVEL"].items():
        short = name.removeprefix("DML_FEATURE_LEVEL_")
        assert [schema.feature_level(level) for level in (name, short, value)] == [value] * 3


def test_first_name_of_a_value() -> None:
    assert schema.enum_name("DML_OPERATOR_TYPE", 94) == "DML_OPERATOR_SCATTER"
    assert schema.enum_name("DML_OPERATOR_TYPE", 2) is None


@pytest.mark.parametrize(
    ("call", "value", "listed"),
    [
        (schema.operator_of, "GATHERND", "GATHER_ND1, SCATTER, SCATTER_ELEMENTS"),
        (schema.struct_of, "DML_CONVOLUTION_OPERATOR_DESC", "DML_SCATTER_ELEMENTS_OPERATOR_DESC"),
        (schema.feature_level, "7_0", "6_4"),
        (schema.feature_level, 0x6401, "6_4"),
        (schema.data_type, "FLOAT8", "FLOAT16"),
        (schema.data_type, np.complex64, "FLOAT16"),
        (schema.STRUCTS["DML_TENSOR_DESC"].field, "Axis", "Type, Desc"),
    ],
)
def test_unknown_names_are_refused_with_those_known(call, value, listed: str) -> None:
    with pytest.raises(sowreap.ArgumentError, match=listed) as caught:
        call(value)
    assert caught.value.value == value
