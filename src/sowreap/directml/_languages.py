"""How each programming language spells the kinds of the schema, constants and structs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sowreap.directml import schema


@dataclass(frozen=True)
class Language:
    """Spelling of one language.

    Templates know ``{name}``, ``{type}``, ``{value}`` and ``{target}``.

    Attributes
    ----------
    title : str
        For people.
    types : mapping of str to str
        By the kind of the field.
    comment, gap : str
        What begins a comment to the end of the line, and the space before it.
    prologue : tuple of str
        Lines before the first declaration.
    constants, struct : (str, str, str)
        First line, line of a member, last line; a line that is empty is left out.
    alias : str
        Line that declares a second name; empty where the language has none that other files see,
        and the struct is then declared once more.
    aliases : tuple of str
        Other names that :func:`~sowreap.directml.declare` takes.
    sized_pointers : mapping of str to str
        By architecture, where a pointer can be pinned to its width.
    escape : str
        How to write a name that the language reserves.
    reserved : frozenset of str
        Those names of the schema.
    follows_target : bool
        Whether the layout is that of the target's C compiler.
    """

    title: str
    types: Mapping[str, str]
    comment: str
    prologue: tuple[str, ...]
    constants: tuple[str, str, str]
    struct: tuple[str, str, str]
    alias: str = ""
    aliases: tuple[str, ...] = ()
    sized_pointers: Mapping[str, str] = field(default_factory=dict)
    escape: str = "{name}"
    reserved: frozenset[str] = frozenset()
    follows_target: bool = True
    gap: str = " "

    def name(self, name: str) -> str:
        """Return a field's name as the language has to write it."""
        return self.escape.format(name=name) if name in self.reserved else name

    def type(self, member: schema.Field, arch: str | None) -> str:
        """Return the type of a field."""
        if arch is not None and member.is_pointer and arch in self.sized_pointers:
            return self.sized_pointers[arch]
        return self.types[member.kind].format(target=member.target)


def _types(pointer: str, uint32: str, uint64: str, enum32: str, bool32: str) -> dict[str, str]:
    """Map the kinds of a language whose pointers are all alike."""
    pointers = dict.fromkeys(sorted(schema.POINTER_KINDS), pointer)
    return {**pointers, "uint32": uint32, "uint64": uint64, "enum32": enum32, "bool32": bool32}


_SEQUENTIAL = "StructLayout(LayoutKind.Sequential, CharSet"
_TYPE = frozenset({"Type"})

C_TYPES = {
    "pointer_to_struct": "{target}*",
    "com_pointer": "{target}*",
    "void_pointer": "void*",
    "uint_pointer": "DWORD*",
    "enum_pointer": "{target}*",
    "uint32": "DWORD",
    "uint64": "ULONGLONG",
    "enum32": "{target}",
    "bool32": "BOOL",
}
"""Types as field tables show them too."""

LANGUAGES = {
    "c": Language(
        title="C",
        types=C_TYPES,
        comment="//",
        prologue=("#include <windows.h>", ""),
        constants=("typedef enum {name} {{", "    {name} = {value},", "}} {name};"),
        struct=("typedef struct {name} {{", "    {type} {name};", "}} {name};"),
        alias="typedef {target} {name};",
    ),
    "csharp": Language(
        title="C#",
        types=_types("IntPtr", "uint", "ulong", "int", "int"),
        comment="//",
        prologue=("using System;", "using System.Runtime.InteropServices;", ""),
        constants=("public enum {name} : int\n{{", "    {name} = {value},", "}}"),
        struct=(
            f"[{_SEQUENTIAL} = CharSet.Unicode)]\npublic struct {{name}}\n{{{{",
            "    public {type} {name};",
            "}}",
        ),
        aliases=("c#", "cs"),
    ),
    "vbnet": Language(
        title="VB.NET",
        types=_types("IntPtr", "UInteger", "ULong", "Integer", "Integer"),
        comment="'",
        prologue=("Imports System", "Imports System.Runtime.InteropServices", ""),
        constants=("Public Enum {name} As Integer", "    {name} = {value}", "End Enum"),
        struct=(
            f"<{_SEQUENTIAL}:=CharSet.Unicode)>\nPublic Structure {{name}}",
            "    Public {name} As {type}",
            "End Structure",
        ),
        aliases=("vb", "vb.net"),
        escape="[{name}]",
        reserved=_TYPE,
    ),
    # Not wintypes.DWORD: outside Windows it is as wide as C's long.
    "python": Language(
        title="Python ctypes",
        types=_types(
            "ctypes.c_void_p",
            "ctypes.c_uint32",
            "ctypes.c_uint64",
            "ctypes.c_int32",
            "ctypes.c_int32",
        ),
        comment="#",
        prologue=("import ctypes", "", ""),
        constants=("", "{name} = {value}", ""),
        struct=(
            "class {name}(ctypes.Structure):\n    _fields_ = [",
            '        ("{name}", {type}),',
            "    ]",
        ),
        alias="{name} = {target}",
        aliases=("ctypes", "python_ctypes"),
        gap="  ",
        sized_pointers={"x64": "ctypes.c_uint64", "x86": "ctypes.c_uint32"},
    ),
    "rust": Language(
        title="Rust",
        types=_types("*mut core::ffi::c_void", "u32", "u64", "i32", "i32"),
        comment="//",
        prologue=(),
        constants=("", "pub const {name}: i32 = {value};", ""),
        struct=(
            "#[repr(C)]\n#[derive(Clone, Copy)]\n#[allow(non_camel_case_types, non_snake_case)]\n"
            "pub struct {name} {{",
            "    pub {name}: {type},",
            "}}",
        ),
        alias="#[allow(non_camel_case_types)]\npub type {name} = {target};",
        aliases=("rs",),
    ),
    "go": Language(
        title="Go",
        types=_types("uintptr", "uint32", "uint64", "int32", "int32"),
        comment="//",
        prologue=("package directml", ""),
        constants=("const (", "\t{name} int32 = {value}", ")"),
        struct=("type {name} struct {{", "\t{name} {type}", "}}"),
        alias="type {name} = {target}",
        follows_target=False,
    ),
    "delphi": Language(
        title="Delphi",
        types=_types("Pointer", "DWORD", "UInt64", "Integer", "LongBool"),
        comment="//",
        prologue=("{$ALIGN 8}", ""),
        constants=("const", "  {name} = {value};", ""),
        struct=("type\n  {name} = record", "    {name}: {type};", "  end;"),
        alias="type\n  {name} = {target};",
        aliases=("pascal",),
        escape="&{name}",
        reserved=_TYPE,
        follows_target=False,
    ),
    "zig": Language(
        title="Zig",
        types=_types("?*anyopaque", "u32", "u64", "i32", "i32"),
        comment="//",
        prologue=(),
        constants=("", "pub const {name}: i32 = {value};", ""),
        struct=("pub const {name} = extern struct {{", "    {name}: {type},", "}};"),
        alias="pub const {name} = {target};",
    ),
    "nim": Language(
        title="Nim",
        types=_types("pointer", "uint32", "uint64", "int32", "int32"),
        comment="#",
        prologue=(),
        constants=("const", "  {name}*: int32 = {value}", ""),
        struct=("type\n  {name}* {{.bycopy.}} = object", "    {name}*: {type}", ""),
        alias="type\n  {name}* = {target}",
    ),
    "d": Language(
        title="D",
        types=_types("void*", "uint", "ulong", "int", "int"),
        comment="//",
        prologue=(),
        constants=("enum : int\n{{", "    {name} = {value},", "}}"),
        struct=("struct {name}\n{{", "    {type} {name};", "}}"),
        alias="alias {name} = {target};",
    ),
    # No structs: declare writes an array and notes instead of these members.
    "hsp": Language(
        title="HSP 3.7/3.8",
        types=C_TYPES,
        comment=";",
        prologue=(),
        constants=("", "#const {name} {value}", ""),
        struct=("", "", ""),
        aliases=("hsp3", "hsp37", "hsp38"),
        follows_target=False,
    ),
    "ironhsp": Language(
        title="IronHSP",
        types=_types("intptr", "int", "int64", "int", "int"),
        comment=";",
        prologue=(),
        constants=("", "#const global {name} {value}", ""),
        struct=("#defstruct global {name}", "    #field {type} {name}", "#endstruct"),
        follows_target=False,
    ),
}


def language_of(name: str) -> tuple[str, Language]:
    """Return the key and the spelling of a language, whichever of its names is given.

    Examples
    --------
    >>> language_of("C#")[0], language_of("VB.NET")[0]
    ('csharp', 'vbnet')
    """
    for key, language in LANGUAGES.items():
        if name.lower() in (key, *language.aliases):
            return key, language
    raise schema.unknown("directml.declare", "language", name, LANGUAGES)
