"""Reference pages: the field table of both architectures in every format and language."""

from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser

import pytest
from directml_facts import C_TYPES, ENUMS, LAYOUTS, OPERATORS, TYPE_SETS

import sowreap
from sowreap.directml import declare, schema, show
from sowreap.directml._languages import LANGUAGES
from sowreap.directml._prose import PROSE

Rows = list[list[str]]

# How field tables of published pages write the types of the header.
DISPLAYED = {"UINT": "DWORD", "UINT64": "ULONGLONG", "UINT*": "DWORD*"}


def shown_type(c_type: str) -> str:
    bare = c_type.removeprefix("const ")
    return DISPLAYED.get(bare, bare)


def wanted_rows(name: str) -> Rows:
    """Return the field table without descriptions."""
    original = schema.STRUCTS[name].alias_of or name
    return [
        [
            field,
            shown_type(c_type),
            f"{wide}/{narrow}" if wide != narrow else str(wide),
            f"+{at_64}",
            f"+{at_86}",
        ]
        for (field, (at_64, at_86, wide, narrow)), c_type in zip(
            LAYOUTS[name][4].items(), C_TYPES[original], strict=True
        )
    ]


def markdown_tables(page: str) -> list[Rows]:
    tables: list[Rows] = [[]]
    for line in page.splitlines():
        if line.startswith("| "):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            tables[-1].append([re.sub(r"\\(.)", r"\1", cell.strip()) for cell in cells])
        elif tables[-1]:
            tables.append([])
    return [[table[0], *table[2:]] for table in tables if table]


class Tables(HTMLParser):
    """Collects the cells of tables, and that every tag is closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[Rows] = []
        self.open: list[str] = []
        self.code: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "meta":
            return
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag == "code":
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1].append(data)
        elif self.open and self.open[-1] == "code":
            self.code[-1] += data


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_field_table(name: str, language: str) -> None:
    table = markdown_tables(show(name, "markdown", language))[0]
    assert table[0][3:5] == ["x64", "x86"]
    assert [row[:5] for row in table[1:]] == wanted_rows(name)
    fields = schema.STRUCTS[name].fields
    texts = [field.description if language == "en" else field.description_ja for field in fields]
    assert [row[5] for row in table[1:]] == texts


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_html_has_the_tables_and_code_of_markdown(name: str, language: str) -> None:
    parsed = Tables(show(name, "html", language, declarations=True))
    markdown = show(name, "markdown", language, declarations=True)
    assert parsed.tables == markdown_tables(markdown)
    blocks = re.findall(r"^```\w*\n(.*?)\n```$", markdown, re.MULTILINE | re.DOTALL)
    assert [code.rstrip("\n") for code in parsed.code] == blocks


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_text_lines_up(name: str, language: str) -> None:
    """The offsets of a row stand where its heading stands, wide characters counted as two."""
    page = show(name, "text", language)
    prose, _, _ = page.partition("\nHSP")
    assert max(width(line) for line in prose.splitlines()) <= 100
    lines = [cell_places(line) for line in prose.splitlines()]
    (heading,) = (cells for cells in lines if {"x64", "x86"} <= {cell for cell, _ in cells})
    places = dict(heading)
    for field, *_, at_64, at_86 in wanted_rows(name):
        (row,) = (cells for cells in lines if (field, 0) in cells)
        assert {(at_64, places["x64"]), (at_86, places["x86"])} <= set(row)


def width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def cell_places(line: str) -> list[tuple[str, int]]:
    """Return the cells of a line, each with the column at which it starts."""
    return [(cell[0], width(line[: cell.start()])) for cell in re.finditer(r"\S+( \S+)*", line)]


@pytest.mark.parametrize("name", LAYOUTS)
def test_sizes_and_unused_bytes(name: str) -> None:
    size_64, size_86, align_64, align_86, _ = LAYOUTS[name]
    page = show(name)
    assert f"Size x64: {size_64} bytes / x86: {size_86} bytes" in page
    assert f"aligned to {align_64}/{align_86}." in page
    assert f"サイズ x64: {size_64} バイト / x86: {size_86} バイト" in show(name, language="ja")


def test_unused_bytes() -> None:
    page = show("DML_BUFFER_TENSOR_DESC")
    assert "Unused bytes: x64 12-15, 44-47; x86 20-23, 36-39." in page
    assert "Unused bytes: x64 none; x86 none." in show("DML_GATHER_ND_OPERATOR_DESC")


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_page_is_in_its_language(name: str) -> None:
    assert show(name, declarations=True).isascii()
    japanese = show(name, "markdown", "ja", declarations=True)
    for field in schema.STRUCTS[name].fields:
        assert field.description not in japanese
    prose = re.sub(r"^```.*?^```$", "", japanese, flags=re.MULTILINE | re.DOTALL)
    headings = [line for line in prose.splitlines() if line.startswith("## ")]
    assert not any(heading.isascii() for heading in headings)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("language", ["en", "ja"])
def test_operators_are_explained(name: str, language: str) -> None:
    _, struct, _, _, rows = OPERATORS[name]
    page = show(struct, "markdown", language)
    assert f"```\n{PROSE[name].definition}\n```" in page
    table = markdown_tables(page)[1]
    for row, (level, data, indices, least, most) in zip(table[1:], rows, strict=True):
        assert row[0].startswith(f"{level} (DirectML ")
        assert row[1] == (str(least) if least == most else f"{least}-{most}")
        assert sorted(row[2].split(", ")) == sorted(TYPE_SETS[indices])
        assert sorted(row[3].split(", ")) == sorted(TYPE_SETS[data])


def test_every_operator_has_prose_in_both_languages() -> None:
    assert set(PROSE) == set(OPERATORS)
    for prose in PROSE.values():
        assert prose.definition.isascii()
        for english, japanese in prose.remarks:
            assert english.isascii()
            assert not japanese.isascii()


def test_scatter_tells_of_its_counterpart_duplicates_and_second_name() -> None:
    page = show("DML_SCATTER_OPERATOR_DESC", "markdown").replace("\\", "")
    assert "output[i, indices[i, j, k, ...], k, ...] = updates[i, j, k, ...]" in page
    assert "The counterpart is GATHER_ELEMENTS" in page
    assert "which update remains is left open" in page
    assert "DML_SCATTER_ELEMENTS_OPERATOR_DESC is another name" in page
    assert "DML_OPERATOR_SCATTER_ELEMENTS and DML_OPERATOR_SCATTER are both 94." in page


def test_only_the_scatter_has_another_name() -> None:
    named = [name for name in LAYOUTS if "Other names" in show(name)]
    assert named == ["DML_SCATTER_OPERATOR_DESC", "DML_SCATTER_ELEMENTS_OPERATOR_DESC"]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_hsp_notes_are_the_declarations(language: str) -> None:
    page = show("SCATTER", "markdown", language)
    for arguments in (("hsp", "x86"), ("hsp", "x64"), ("ironhsp",)):
        text = declare("SCATTER", *arguments, comments=language)
        assert f"```\n{text}```" in page


def test_declarations_in_every_language() -> None:
    page = show("GATHER", "markdown", declarations=True)
    for key, language in LANGUAGES.items():
        if key != "hsp":
            assert declare("GATHER", key) in page
        if "hsp" not in key:
            assert f"\n### {language.title}\n" in page.replace("\\#", "#")


@pytest.mark.parametrize("format", ["text", "markdown", "html"])
@pytest.mark.parametrize("name", ENUMS)
def test_enum(name: str, format: str) -> None:
    page = show(name, format).replace("\\", "")
    for member, value in ENUMS[name].items():
        assert re.search(rf"\b{member}\b\D+\b{value}\b.*0x{value:x}\b", page)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("DML_JOIN",), r"name 'DML_JOIN' is not known; it is one of DML_OPERATOR_DESC, "),
        (("GATHER", "pdf"), r"format 'pdf' is not known; it is one of text, markdown, html"),
        (("GATHER", "text", "fr"), r"language 'fr' is not known; it is one of en, ja"),
    ],
)
def test_unknown_arguments(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(sowreap.ArgumentError, match=message):
        show(*arguments)
