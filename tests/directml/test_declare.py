"""The text of declarations; that it compiles to the right layout is in test_compilers.py."""

from __future__ import annotations

import re

import pytest
from directml_facts import ENUMS, HSP_LENGTHS, LAYOUTS

import sowreap
from sowreap.directml import declare, schema
from sowreap.directml._languages import LANGUAGES

ARCHS = ("x64", "x86")
STRUCTURED = [language for language in LANGUAGES if language != "hsp"]

# How published pages on Windows structs declare the fields InputTensor and Axis.
PUBLISHED = {
    "c": ("#include <windows.h>", "    DML_TENSOR_DESC* InputTensor;", "    DWORD Axis;"),
    "csharp": ("public struct {}", "    public IntPtr InputTensor;", "    public uint Axis;"),
    "vbnet": (
        "Public Structure {}",
        "    Public InputTensor As IntPtr",
        "    Public Axis As UInteger",
    ),
    "python": (
        "class {}(ctypes.Structure):",
        '        ("InputTensor", ctypes.c_void_p),',
        '        ("Axis", ctypes.c_uint32),',
    ),
    "rust": ("#[repr(C)]", "    pub InputTensor: *mut core::ffi::c_void,", "    pub Axis: u32,"),
    "go": ("type {} struct {{", "\tInputTensor   uintptr", "\tAxis          uint32"),
    "delphi": ("  {} = record", "    InputTensor: Pointer;", "    Axis: DWORD;"),
    "zig": ("pub const {} = extern struct {{", "    InputTensor: ?*anyopaque,", "    Axis: u32,"),
    "nim": ("  {}* {{.bycopy.}} = object", "    InputTensor*: pointer", "    Axis*: uint32"),
    "d": ("struct {}", "    void* InputTensor;", "    uint Axis;"),
    "ironhsp": ("#defstruct global {}", "    #field intptr InputTensor", "    #field int Axis"),
}


def code(text: str, language: str) -> list[str]:
    """Return the lines without comments, those left empty left out."""
    mark = LANGUAGES[language].comment
    lines = [re.sub(rf"\s*{re.escape(mark)}\s.*", "", line) for line in text.splitlines()]
    return [line for line in lines if line.strip()]


@pytest.mark.parametrize("language", PUBLISHED)
def test_spelling_of_published_pages(language: str) -> None:
    name = "DML_SCATTER_OPERATOR_DESC"
    lines = code(declare(name, language), language)
    opening, *fields = PUBLISHED[language]
    assert opening.format(name) in lines
    assert set(fields) <= set(lines)


@pytest.mark.parametrize("language", STRUCTURED)
@pytest.mark.parametrize("name", LAYOUTS)
def test_fields_in_order_with_sizes_and_offsets(name: str, language: str) -> None:
    text = declare(name, language)
    size_64, size_86, _, _, fields = LAYOUTS[name]
    original = schema.STRUCTS[name].alias_of or name
    assert f"{original}: x64 {size_64} bytes / x86 {size_86} bytes" in text or name != original
    marks = [
        rf"x64 \+{at_64}: {wide} bytes(, then \d+ unused)?;"
        rf" x86 \+{at_86}: {narrow} bytes(, then \d+ unused)?$"
        for at_64, at_86, wide, narrow in fields.values()
    ]
    lines = [line for line in text.splitlines() if "x64 +" in line][-len(fields) :]
    for field, mark, line in zip(fields, marks, lines, strict=True):
        assert re.search(rf"\b{field}\b", line)
        assert re.search(mark, line)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_one_architecture(language: str, arch: str) -> None:
    text = declare("DML_BUFFER_TENSOR_DESC", language, arch)
    other = ARCHS[1 - ARCHS.index(arch)]
    assert arch in text
    assert other not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_declares_each_thing_once_after_what_it_needs(language: str) -> None:
    text = declare("DML_OPERATOR_DESC", language, "x64", all=True)
    structs = re.findall(r"\b(DML_\w+): x64 \d+", text)
    assert len(structs) == len(set(structs))
    needed = {name for name in LAYOUTS if name.endswith("_OPERATOR_DESC")}
    needed |= {"DML_TENSOR_DESC", "DML_BUFFER_TENSOR_DESC"}
    assert needed - set(structs) <= {"DML_SCATTER_ELEMENTS_OPERATOR_DESC"}
    assert "DML_SCATTER_ELEMENTS_OPERATOR_DESC" in text
    assert [name for name in structs if name in needed][:2] == [
        "DML_BUFFER_TENSOR_DESC",
        "DML_TENSOR_DESC",
    ]
    assert structs[-1] == "DML_OPERATOR_DESC"
    for enum in (
        "DML_OPERATOR_TYPE",
        "DML_TENSOR_TYPE",
        "DML_TENSOR_DATA_TYPE",
        "DML_TENSOR_FLAGS",
    ):
        for member, value in ENUMS[enum].items():
            assert len(re.findall(rf"\b{member}\b.* {value}\b", text)) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_alone_declares_nothing_else(language: str) -> None:
    text = declare("DML_TENSOR_DESC", language)
    assert not any(member in text for members in ENUMS.values() for member in members)
    assert "DML_BUFFER_TENSOR_DESC" not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_enum(language: str) -> None:
    text = declare("DML_TENSOR_FLAGS", language)
    assert re.search(r"DML_TENSOR_FLAG_OWNED_BY_DML\W.*\b1\b", text)
    assert "struct" not in text.lower()


@pytest.mark.parametrize("language", LANGUAGES)
def test_several_names(language: str) -> None:
    text = declare(["DML_BUFFER_BINDING", "DML_TENSOR_DESC"], language, "x86")
    assert re.findall(r"\b(DML_\w+): x86 \d+", text) == ["DML_BUFFER_BINDING", "DML_TENSOR_DESC"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_comments_in_two_languages(language: str) -> None:
    english, japanese = (
        declare("DML_BUFFER_TENSOR_DESC", language, all=True, comments=comments)
        for comments in ("en", "ja")
    )
    assert english.isascii()
    assert "バイト" in japanese
    assert code(english, language) == code(japanese, language)


@pytest.mark.parametrize(
    ("names", "key"),
    [(("C#", "cs", "csharp"), "csharp"), (("VB", "vb.net"), "vbnet"), (("hsp38", "HSP3"), "hsp")],
)
def test_other_names_of_languages(names: tuple[str, ...], key: str) -> None:
    for name in names:
        assert declare("GATHER", name) == declare("GATHER", key)


def test_alias_in_languages_that_have_aliases() -> None:
    alias, original = "DML_SCATTER_ELEMENTS_OPERATOR_DESC", "DML_SCATTER_OPERATOR_DESC"
    lines = {
        "c": f"typedef {original} {alias};",
        "python": f"{alias} = {original}",
        "rust": f"pub type {alias} = {original};",
        "go": f"type {alias} = {original}",
        "delphi": f"  {alias} = {original};",
        "zig": f"pub const {alias} = {original};",
        "nim": f"  {alias}* = {original}",
        "d": f"alias {alias} = {original};",
    }
    for language, line in lines.items():
        assert line in declare("SCATTER_ELEMENTS", language).splitlines()


def test_go_pads_only_where_go_differs() -> None:
    assert "]byte" not in declare("DML_BUFFER_TENSOR_DESC", "go", "x64")
    assert "]byte" not in declare("DML_TENSOR_DESC", "go")
    assert declare("DML_BUFFER_TENSOR_DESC", "go", "x86").count("[4]byte") == 2
    assert declare("DML_BUFFER_BINDING", "go").count('import "unsafe"') == 1


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", HSP_LENGTHS)
def test_hsp_array_and_offsets(name: str, arch: str) -> None:
    """The array is as long as on published pages; every field is reached by its offset."""
    column = ARCHS.index(arch)
    text = declare(name, "hsp", arch)
    (length,) = re.findall(r"^dim st, (\d+) ", text, re.MULTILINE)
    assert int(length) == HSP_LENGTHS[name][column]
    for field, places in LAYOUTS[name][4].items():
        offset, size = places[column], places[2 + column]
        (line,) = (line for line in text.splitlines() if line.startswith(f"; {field} : "))
        assert f"(+{offset}, {size} bytes" in line
        if schema.STRUCTS[name].field(field).is_pointer:
            assert line.endswith(f"{size} bytes from varptr(st) + {offset}")
        else:
            halves = [f"st.{offset // 4 + half}" for half in range(size // 4)]
            assert list(dict.fromkeys(re.findall(r"st\.\d+", line))) == halves


def test_hsp_both_architectures() -> None:
    """Two arrays, of which a program keeps one: 10 integers for x64, 5 for x86."""
    text = declare("DML_SCATTER_OPERATOR_DESC", "hsp")
    assert re.findall(r"^dim st, (\d+)", text, re.MULTILINE) == ["10", "5"]
    assert re.findall(r"^; Axis : DWORD \(\+(\d+), .* (st\.\d)", text, re.MULTILINE) == [
        ("32", "st.8"),
        ("16", "st.4"),
    ]
    assert code(text, "hsp") == ["dim st, 10", "dim st, 5"]


def test_ironhsp_matches_the_published_example() -> None:
    assert code(declare("DML_SCATTER_OPERATOR_DESC", "ironhsp"), "ironhsp") == [
        "#defstruct global DML_SCATTER_OPERATOR_DESC",
        "    #field intptr InputTensor",
        "    #field intptr IndicesTensor",
        "    #field intptr UpdatesTensor",
        "    #field intptr OutputTensor",
        "    #field int Axis",
        "#endstruct",
        "stdim st, DML_SCATTER_OPERATOR_DESC",
        "st->Axis = 1",
        'mes "Axis=" + st->Axis',
    ]


def test_ironhsp_kinds() -> None:
    kinds = {"enum32": "int", "uint32": "int", "bool32": "int", "uint64": "int64"}
    for name, struct in schema.STRUCTS.items():
        fields = re.findall(r"#field (\w+) (\w+)", declare(name, "ironhsp"))
        assert fields[-len(struct.fields) :] == [
            (kinds.get(field.kind, "intptr"), field.name) for field in struct.fields
        ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("DML_JOIN", "c"), r"name 'DML_JOIN' is not known; it is one of DML_OPERATOR_DESC, "),
        (("GATHER", "cobol"), r"language 'cobol' is not known; it is one of c, csharp, .*ironhsp"),
        (("GATHER", "c", "arm64"), r"arch 'arm64' is not known; it is one of x64, x86"),
    ],
)
def test_unknown_arguments(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(sowreap.ArgumentError, match=message):
        declare(*arguments)
    with pytest.raises(sowreap.ArgumentError, match="comments 'de' is not known"):
        declare("GATHER", "c", comments="de")
