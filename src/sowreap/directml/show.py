"""The reference page of a struct or an enum: fields, layouts, meaning, support, notes for HSP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sowreap.directml import schema
from sowreap.directml._languages import C_TYPES, LANGUAGES
from sowreap.directml._pages import (
    FORMATS,
    Block,
    Bullets,
    Code,
    Heading,
    Paragraph,
    Table,
)
from sowreap.directml._prose import PROSE
from sowreap.directml.declare import COMMENT_LANGUAGES, declare
from sowreap.directml.layout import ARCHITECTURES, layout

_HIGHLIGHT = {"vbnet": "vb", "delphi": "pascal", "hsp": "", "ironhsp": ""}

_WORDS = {
    "enum": ("Enum of 4 bytes.", "列挙型。4 バイト。"),
    "size": ("size", "サイズ"),
    "bytes": ("bytes", "バイト"),
    "fields": ("Fields", "フィールド"),
    "field": ("field", "フィールド"),
    "type": ("type", "型"),
    "description": ("description", "説明"),
    "unused": ("Unused bytes", "使われないバイト"),
    "none": ("none", "なし"),
    "meaning": ("Meaning", "動作"),
    "remarks": ("Remarks", "補足"),
    "support": ("Support by feature level", "機能レベルごとの対応"),
    "level": ("from level", "レベル"),
    "data": ("data", "データの型"),
    "indices": ("indices", "インデックスの型"),
    "dimensions": ("dimensions", "次元数"),
    "other names": ("Other names", "別名"),
    "declarations": ("Declarations", "各言語での宣言"),
    "hsp": ("HSP", "HSP での扱い"),
    "members": ("Members", "メンバー"),
    "name": ("name", "名前"),
    "value": ("value", "値"),
}
_COLUMNS = (
    "Sizes are in bytes, written x64/x86 where they differ; the columns x64 and x86 hold the offset"
    " of the field in bytes, as needed for HSP's dupptr, lpoke and wpoke.",
    "サイズはバイト数で、x64 と x86 で異なるときは x64/x86 の順に書く。x64 と x86 の列は"
    "フィールドの先頭のバイト位置で、HSP では dupptr、lpoke、wpoke などに使う。",
)
_HSP = (
    "HSP 3.7 and 3.8 have no structs: keep one array of 4-byte integers for the architecture that"
    " the program runs on. IronHSP has structs, and one declaration serves both.",
    "HSP 3.7 と 3.8 には構造体がないので、動かす環境に合う方の 4 バイト整数の配列を使う。"
    "IronHSP には構造体があり、1 つの宣言を両方の環境で使える。",
)


def show(
    name: str, format: str = "text", language: str = "en", *, declarations: bool = False
) -> str:
    """Return the reference page of a struct, an operator's description, or an enum.

    Parameters
    ----------
    name : str
        A struct, an operator or an enum.
    format : {"text", "markdown", "html"}
        What to write; HTML is a whole page.
    language : {"en", "ja"}
        Language of the page.
    declarations : bool
        Add the declaration in every language.

    Raises
    ------
    ArgumentError
        If one of them is unknown.

    Examples
    --------
    >>> print(show("DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT", "markdown").splitlines()[12])
    | IsSupported | BOOL | 4 | +0 | +0 | Not zero when the device takes the type. |
    """
    if format not in FORMATS:
        raise schema.unknown("directml.show", "format", format, FORMATS)
    if language not in COMMENT_LANGUAGES:
        raise schema.unknown("directml.show", "language", language, COMMENT_LANGUAGES)
    page = _Page(language)
    if name in schema.ENUMS:
        blocks = list(page.enum(name))
    else:
        blocks = list(page.struct(schema.struct_of(name), declarations))
    return FORMATS[format](blocks, language)


class _Page:
    """Collects the blocks of a page in one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    def __call__(self, key: str) -> str:
        """Return a word of the page."""
        return self.pick(_WORDS[key])

    def pick(self, texts: tuple[str, str]) -> str:
        return texts[COMMENT_LANGUAGES.index(self.language)]

    def enum(self, name: str) -> Iterator[Block]:
        yield Heading(1, name)
        yield Paragraph(self("enum"))
        yield Heading(2, self("members"))
        rows = [(member, str(value), hex(value)) for member, value in schema.ENUMS[name].items()]
        yield Table((self("name"), self("value"), "hex"), rows)

    def struct(self, struct: schema.Struct, declarations: bool) -> Iterator[Block]:
        yield Heading(1, struct.name)
        yield Paragraph(self.pick((struct.role, struct.role_ja)))
        yield Paragraph(self.sizes(struct))
        yield Heading(2, self("fields"))
        yield Paragraph(self.pick(_COLUMNS))
        yield self.fields(struct)
        yield Paragraph(self.unused(struct))
        for operator in schema.OPERATORS.values():
            if operator.struct in (struct.name, struct.alias_of):
                yield from self.operator(operator)
        names = self.names(struct)
        if names:
            yield Heading(2, self("other names"))
            yield Bullets(names)
        yield from self.hsp(struct)
        if declarations:
            yield from self.declarations(struct)

    def sizes(self, struct: schema.Struct) -> str:
        """Return the line of both sizes."""
        places = [layout(struct.name, arch) for arch in ARCHITECTURES]
        sizes = " / ".join(f"{place.arch}: {place.size} {self('bytes')}" for place in places)
        aligned = "/".join(str(place.alignment) for place in places)
        version = f"DML_TARGET_VERSION {struct.target_version:#x}"
        return self.pick(
            (
                f"Struct. Size {sizes}, aligned to {aligned}. Declared from {version} on.",
                f"構造体。サイズ {sizes}、境界 {aligned}。{version} 以降で宣言される。",
            )
        )

    def fields(self, struct: schema.Struct) -> Table:
        x64, x86 = (layout(struct.name, arch) for arch in ARCHITECTURES)
        rows = []
        for field in struct.fields:
            wide, narrow = x64.field(field.name), x86.field(field.name)
            size = str(wide.size)
            if wide.size != narrow.size:
                size += f"/{narrow.size}"
            rows.append(
                (
                    field.name,
                    C_TYPES[field.kind].format(target=field.target),
                    size,
                    f"+{wide.offset}",
                    f"+{narrow.offset}",
                    self.pick((field.description, field.description_ja)),
                )
            )
        before = [self(word) for word in ("field", "type", "size")]
        return Table([*before, *ARCHITECTURES, self("description")], rows)

    def unused(self, struct: schema.Struct) -> str:
        parts = []
        for arch in ARCHITECTURES:
            ranges = layout(struct.name, arch).padding
            spans = ", ".join(f"{first}-{end - 1}" for first, end in ranges) or self("none")
            parts.append(f"{arch} {spans}")
        return f"{self('unused')}: {'; '.join(parts)}."

    def operator(self, operator: schema.Operator) -> Iterator[Block]:
        """Yield what an operator does and takes."""
        prose = PROSE[operator.name]
        yield Heading(2, self("meaning"))
        yield Code(prose.definition)
        yield Bullets([self.pick(remark) for remark in prose.remarks])
        yield Heading(2, self("support"))
        yield Table(
            [self(word) for word in ("level", "dimensions", "indices", "data")],
            [
                (
                    self.level(row.level),
                    self.dimensions(row),
                    ", ".join(row.index_types),
                    ", ".join(row.data_types),
                )
                for row in operator.support
            ],
        )

    def level(self, value: int) -> str:
        short = next(name for name, number in schema.FEATURE_LEVELS.items() if number == value)
        return f"{short} (DirectML {schema.DIRECTML_VERSIONS[short]})"

    def dimensions(self, row: schema.Support) -> str:
        if row.min_dimensions == row.max_dimensions:
            return str(row.min_dimensions)
        return f"{row.min_dimensions}-{row.max_dimensions}"

    def names(self, struct: schema.Struct) -> Sequence[str]:
        """Return what is to say about aliases of a struct and its operator."""
        original = struct.alias_of or struct.name
        lines = [
            self.pick(
                (
                    f"{row.name} is another name of {original}: same fields, same layout.",
                    f"{row.name} は {original} の別名で、フィールドも配置も同じ。",
                )
            )
            for row in schema.STRUCTS.values()
            if row.alias_of == original
        ]
        for operator in schema.OPERATORS.values():
            if operator.struct == original:
                lines += [
                    self.pick(
                        (
                            f"{alias} and {operator.name} are both {operator.value}.",
                            f"{alias} と {operator.name} の値はどちらも {operator.value}。",
                        )
                    )
                    for alias in operator.aliases
                ]
        return lines

    def hsp(self, struct: schema.Struct) -> Iterator[Block]:
        yield Heading(2, self("hsp"))
        yield Paragraph(self.pick(_HSP))
        for arch in reversed(ARCHITECTURES):
            yield Code(declare(struct.name, "hsp", arch, comments=self.language))
        yield Code(declare(struct.name, "ironhsp", comments=self.language))

    def declarations(self, struct: schema.Struct) -> Iterator[Block]:
        yield Heading(2, self("declarations"))
        for key, language in LANGUAGES.items():
            if key not in ("hsp", "ironhsp"):
                yield Heading(3, language.title)
                yield Code(
                    declare(struct.name, key, comments=self.language), _HIGHLIGHT.get(key, key)
                )
