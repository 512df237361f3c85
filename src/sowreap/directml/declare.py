"""Declarations of the structs in twelve languages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sowreap.directml import schema
from sowreap.directml._languages import Language, language_of
from sowreap.directml.layout import ARCHITECTURES, FieldLayout, Layout, check_arch, layout

COMMENT_LANGUAGES = ("en", "ja")


def declare(
    name: str | Sequence[str],
    language: str,
    arch: str | None = None,
    *,
    all: bool = False,
    comments: str = "en",
) -> str:
    """Return the source text that declares a struct, or several.

    Parameters
    ----------
    name : str or sequence of str
        A struct, an operator (which stands for its description), or an enum; or several of them.
    language : str
        One of c, csharp, vbnet, python, rust, go, delphi, zig, nim, d, hsp, ironhsp.
    arch : {"x64", "x86"}, optional
        Give sizes and offsets of this architecture alone. Go gets the padding, and Python the
        pointer width, that it needs; HSP, without structs, gets one array instead of two.
    all : bool
        Also declare the enums that the fields use and the structs that they point at, so that the
        text compiles on its own.
    comments : {"en", "ja"}
        Language of the comments.

    Raises
    ------
    ArgumentError
        If one of them is unknown.

    Notes
    -----
    The tests compile C, C#, Rust, Go, Delphi (Free Pascal), Zig, Nim and D, run the Python, and
    compare sizes and offsets. VB.NET is compiled where Mono's vbnc is installed; for HSP and
    IronHSP there is no compiler, and their text is checked against published examples.

    Examples
    --------
    >>> print(declare("DML_GATHER_ELEMENTS_OPERATOR_DESC", "zig", "x86"), end="")
    // DML_GATHER_ELEMENTS_OPERATOR_DESC: x86 16 bytes
    pub const DML_GATHER_ELEMENTS_OPERATOR_DESC = extern struct {
        InputTensor: ?*anyopaque, // x86 +0: 4 bytes
        IndicesTensor: ?*anyopaque, // x86 +4: 4 bytes
        OutputTensor: ?*anyopaque, // x86 +8: 4 bytes
        Axis: u32, // x86 +12: 4 bytes
    };
    """
    key, spelling = language_of(language)
    if arch is not None:
        check_arch(arch)
    if comments not in COMMENT_LANGUAGES:
        raise schema.unknown("directml.declare", "comments", comments, COMMENT_LANGUAGES)
    archs = ARCHITECTURES if arch is None else (arch,)
    writer = _WRITERS.get(key, _Writer)(spelling, archs, comments)
    enums, structs = _wanted([name] if isinstance(name, str) else name, all)
    blocks = writer.forward(structs) if all else []
    blocks += [writer.constants(enum) for enum in enums]
    for struct in structs:
        blocks += [writer.alias(struct)] if struct.alias_of else writer.struct(struct)
    if structs:
        blocks += writer.sample(structs[-1])
    return writer.joined(writer.prologue(structs), blocks)


def _wanted(names: Iterable[str], all: bool) -> tuple[list[str], list[schema.Struct]]:
    """Return the enums and the structs to declare, each after those that it needs."""
    enums: dict[str, None] = {}
    structs: dict[str, schema.Struct] = {}

    def visit(row: schema.Struct) -> None:
        if row.alias_of:
            visit(schema.STRUCTS[row.alias_of])
        elif all:
            for field in row.fields:
                if field.kind.startswith("enum"):
                    enums[field.target] = None
                for target in field.points_at:
                    visit(schema.STRUCTS[target])
        structs.setdefault(row.name, row)

    for name in names:
        if name in schema.ENUMS:
            enums[name] = None
        else:
            visit(schema.struct_of(name))
    return list(enums), list(structs.values())


class _Writer:
    """Writes declarations from the templates of a language."""

    def __init__(self, language: Language, archs: tuple[str, ...], comments: str) -> None:
        self.language = language
        self.archs = archs
        self.comments = comments

    @property
    def arch(self) -> str | None:
        """The one architecture asked for, if it is one."""
        return self.archs[0] if len(self.archs) == 1 else None

    def text(self, english: str, japanese: str) -> str:
        return english if self.comments == "en" else japanese

    def joined(self, prologue: Sequence[str], blocks: list[list[str]]) -> str:
        """Return the text: blocks with an empty line between, without lines left empty."""
        text = "\n\n".join("\n".join(line for line in block if line) for block in blocks)
        return "\n".join([*prologue, text]) + "\n"

    def prologue(self, structs: list[schema.Struct]) -> Sequence[str]:
        """Return the lines before the first declaration."""
        return self.language.prologue

    def forward(self, structs: list[schema.Struct]) -> list[list[str]]:
        """Return declarations of names that the structs use and the schema does not describe."""
        return []

    def sample(self, struct: schema.Struct) -> list[list[str]]:
        """Return lines that use the struct, for languages whose pages show some."""
        return []

    def constants(self, enum: str) -> list[str]:
        """Return the block that declares the members of an enum."""
        opening, member, closing = self.language.constants
        members = schema.ENUMS[enum].items()
        return [
            f"{self.language.comment} {enum}",
            opening.format(name=enum),
            *(member.format(name=name, value=value) for name, value in members),
            closing.format(name=enum),
        ]

    def alias(self, struct: schema.Struct) -> list[str]:
        """Return the block that declares a second name."""
        note = self.text(
            f"{struct.name}: another name of {struct.alias_of}",
            f"{struct.name}: {struct.alias_of} の別名",
        )
        lines = [f"{self.language.comment} {note}"]
        if self.language.alias:
            lines.append(self.language.alias.format(name=struct.name, target=struct.alias_of))
        else:
            lines += self.struct(struct)[0]
        return lines

    def struct(self, struct: schema.Struct) -> list[list[str]]:
        """Return the blocks that declare a struct."""
        opening, _, closing = self.language.struct
        lines = [
            *self.heading(struct),
            opening.format(name=struct.name),
            *self.members(struct),
            closing.format(name=struct.name),
        ]
        return [lines]

    def heading(self, struct: schema.Struct) -> list[str]:
        """Return the comments before a struct: its sizes, and where they do not hold."""
        sizes = " / ".join(
            f"{arch} {layout(struct.name, arch).size} {self.text('bytes', 'バイト')}"
            for arch in self.archs
        )
        lines = [f"{self.language.comment} {struct.name}: {sizes}"]
        wide = any(field.kind == "uint64" for field in struct.fields)
        if wide and "x86" in self.archs and self.language.follows_target:
            note = self.text(
                "x86 is Windows, which aligns 64-bit integers to 8; Linux on i386 does not.",
                "x86 は Windows の配置。64 ビット整数は 8 の境界に置く (Linux i386 とは異なる)。",
            )
            lines.append(f"{self.language.comment} {note}")
        return lines

    def members(self, struct: schema.Struct) -> Iterator[str]:
        template = self.language.struct[1]
        for field in struct.fields:
            line = template.format(
                name=self.language.name(field.name), type=self.language.type(field, self.arch)
            )
            yield f"{line}{self.language.gap}{self.language.comment} {self.places(struct, field)}"

    def places(self, struct: schema.Struct, field: schema.Field) -> str:
        """Return offset and size of a field in words."""
        return "; ".join(
            f"{arch} +{at.offset}: {self.bytes_text(at)}"
            for arch in self.archs
            for at in (layout(struct.name, arch).field(field.name),)
        )

    def bytes_text(self, at: FieldLayout) -> str:
        text = f"{at.size} {self.text('bytes', 'バイト')}"
        if at.padding:
            text += self.text(f", then {at.padding} unused", f"、空き {at.padding} バイト")
        return text


class _CWriter(_Writer):
    """Names COM interfaces before they are used."""

    def forward(self, structs: list[schema.Struct]) -> list[list[str]]:
        interfaces = {
            field.target: None
            for struct in structs
            for field in struct.fields
            if field.kind == "com_pointer"
        }
        return [[f"typedef struct {name} {name};"] for name in interfaces]


class _GoWriter(_Writer):
    """Puts in padding: Go aligns 64-bit integers to 4 bytes under GOARCH=386."""

    def prologue(self, structs: list[schema.Struct]) -> Sequence[str]:
        lines = self.language.prologue
        if any("unsafe." in line for struct in structs for line in self.members(struct)):
            lines = (*lines, 'import "unsafe"', "")
        return lines

    def constants(self, enum: str) -> list[str]:
        opening, _, closing = self.language.constants
        width = max(map(len, schema.ENUMS[enum]))
        members = schema.ENUMS[enum].items()
        lines = [f"\t{name:{width}} int32 = {value}" for name, value in members]
        return [f"// {enum}", opening, *lines, closing]

    def members(self, struct: schema.Struct) -> Iterator[str]:
        rows = []
        for field in struct.fields:
            rows.append((field.name, self.language.type(field, None), self.places(struct, field)))
            padding = self.padding(struct, field)
            if padding:
                rows.append(("_", padding, self.text("keeps offsets on x86", "x86 の配置を保つ")))
        names, types = (max(len(row[column]) for row in rows) for column in (0, 1))
        for name, kind, comment in rows:
            yield f"\t{name:{names}} {kind:{types}} // {comment}"

    def padding(self, struct: schema.Struct, field: schema.Field) -> str:
        """Return the type of the bytes after a field that Go would not leave by itself."""
        wide = any(other.kind == "uint64" for other in struct.fields)
        unused = [layout(struct.name, arch).field(field.name).padding for arch in self.archs]
        if not wide or "x86" not in self.archs or not any(unused):
            return ""
        if len(set(unused)) == 1:
            return f"[{unused[0]}]byte"
        # Bytes that one word size leaves unused and the other does not: 4 next to a pointer.
        x64, x86 = unused
        return "[8 - unsafe.Sizeof(uintptr(0))]byte" if x86 > x64 else ""


class _HspWriter(_Writer):
    """Writes an array of 4-byte integers for each architecture, and how to reach each field.

    The arrays are all called ``st``: a program keeps those that it needs and renames them.
    """

    def alias(self, struct: schema.Struct) -> list[str]:
        return super().alias(struct)[:1]  # the array has no type that could have two names

    def struct(self, struct: schema.Struct) -> list[list[str]]:
        return [list(self.array(struct, layout(struct.name, arch))) for arch in self.archs]

    def array(self, struct: schema.Struct, place: Layout) -> Iterator[str]:
        """Yield the lines about one struct on one architecture."""
        count = -(-place.size // 4)
        yield self.text(
            f"; {struct.name}: {place.arch} {place.size} bytes, as an array of 4-byte integers",
            f"; {struct.name}: {place.arch} {place.size} バイト。4 バイト整数の配列として扱う",
        )
        yield self.text(
            f"dim st, {count} ; {place.size} / 4, rounded up",
            f"dim st, {count} ; {place.size} / 4 を切り上げ",
        )
        for field, at in zip(struct.fields, place.fields, strict=True):
            yield (
                f"; {field.name} : {self.language.type(field, None)}"
                f" (+{at.offset}, {self.bytes_text(at)})  {self.access(field, at)}"
            )
        yield self.text(
            "; On a 4-byte boundary an integer is st.N with N = offset / 4; otherwise use peek,"
            " poke and their kin.",
            "; 4 バイト境界の整数は st.N (N = オフセット / 4) で読み書きし、"
            "それ以外は peek や poke の仲間を使う。",
        )

    def access(self, field: schema.Field, at: FieldLayout) -> str:
        """Return how to read and write one field."""
        low = at.offset // 4
        if field.is_pointer:
            return self.text(
                f"{at.size} bytes from varptr(st) + {at.offset}",
                f"varptr(st) + {at.offset} から {at.size} バイト",
            )
        if at.size == 8:
            return self.text(
                f"st.{low} (low half), st.{low + 1} (high half)",
                f"st.{low} (下位), st.{low + 1} (上位)",
            )
        value = self.text("value", "値")
        return f"st.{low} = {value} / {value} = st.{low} (lpoke, lpeek)"


class _IronHspWriter(_Writer):
    """Adds a variable of the struct and how its fields are reached."""

    def sample(self, struct: schema.Struct) -> list[list[str]]:
        numbers = [field for field in struct.fields if not field.is_pointer]
        whole = [field for field in numbers if field.kind != "uint64"]
        name = (whole or numbers)[-1].name
        return [[f"stdim st, {struct.name}", f"st->{name} = 1", f'mes "{name}=" + st->{name}']]


_WRITERS: dict[str, type[_Writer]] = {
    "c": _CWriter,
    "go": _GoWriter,
    "hsp": _HspWriter,
    "ironhsp": _IronHspWriter,
}
