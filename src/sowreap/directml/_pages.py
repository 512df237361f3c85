"""A page as a list of blocks, and its text, Markdown and HTML."""

from __future__ import annotations

import html
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

TEXT_WIDTH = 100


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is that of the page."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Lines to keep as they are; `language` is for highlighting."""

    text: str
    language: str = ""


@dataclass(frozen=True)
class Table:
    """Headings and rows of cells."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


Block = Heading | Paragraph | Bullets | Code | Table


def text(blocks: Sequence[Block], language: str) -> str:
    """Return a page for a terminal; tables line up, wide characters counted as two."""
    return "\n\n".join("\n".join(_text_lines(block)) for block in blocks) + "\n"


def _text_lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(level, title):
            yield title
            yield ("=" if level == 1 else "-") * _width(title)
        case Paragraph(words):
            yield from _wrapped(words, TEXT_WIDTH)
        case Bullets(items):
            for item in items:
                first, *rest = _wrapped(item, TEXT_WIDTH - 2)
                yield f"- {first}"
                yield from (f"  {line}" for line in rest)
        case Code(lines):
            yield from textwrap.indent(lines.rstrip("\n"), "    ").splitlines()
        case Table(columns, rows):
            yield from _text_table(columns, rows)


def _text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield lines; the last column is wrapped."""
    widths = [max(map(_width, column)) for column in zip(columns, *rows, strict=True)]
    last = max(TEXT_WIDTH - sum(widths[:-1]) - 2 * (len(widths) - 1), 20)
    widths[-1] = min(widths[-1], last)
    for row in (columns, ["-" * width for width in widths], *rows):
        *cells, end = row
        lines = _wrapped(end, last)
        start = "".join(
            _padded(cell, width) + "  " for cell, width in zip(cells, widths, strict=False)
        )
        yield (start + lines[0]).rstrip()
        yield from (" " * _width(start) + line for line in lines[1:])


def _width(words: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in words)


def _padded(words: str, width: int) -> str:
    return words + " " * (width - _width(words))


def _wrapped(words: str, width: int) -> list[str]:
    """Return lines no wider than `width` where breaks allow: at spaces and between wide letters."""
    lines, line = [], ""
    for piece in _pieces(words):
        if line and _width(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece
    return [*lines, line.rstrip()]


def _pieces(words: str) -> Iterator[str]:
    """Yield the parts between which a line may end; punctuation stays with what it follows."""
    piece = ""
    for char in words:
        breaks = piece.endswith(" ") or (
            piece
            and (_width(char) == 2 or _width(piece[-1]) == 2)
            and char not in " 、。)」"
            and piece[-1] not in "(「"
        )
        if breaks:
            yield piece
            piece = ""
        piece += char
    yield piece


def markdown(blocks: Sequence[Block], language: str) -> str:
    """Return a page as GitHub's Markdown."""
    return "\n\n".join("\n".join(_markdown_lines(block)) for block in blocks) + "\n"


def _markdown_lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(level, title):
            yield f"{'#' * level} {_escaped(title)}"
        case Paragraph(words):
            yield _escaped(words)
        case Bullets(items):
            yield from (f"- {_escaped(item)}" for item in items)
        case Code(lines, language):
            yield from (f"```{language}", lines.rstrip("\n"), "```")
        case Table(columns, rows):
            for row in (columns, ["---"] * len(columns), *rows):
                yield f"| {' | '.join(map(_escaped, row))} |"


def _escaped(words: str) -> str:
    """Return words in which Markdown's signs stand for themselves."""
    return "".join(f"\\{char}" if char in r"\`*_[]<>|#" else char for char in words)


def page_html(blocks: Sequence[Block], language: str) -> str:
    """Return a page of HTML on its own."""
    title = next(block.text for block in blocks if isinstance(block, Heading))
    body = "\n".join(map(_html, blocks))
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{html.escape(title)}</title>\n"
        "<style>table { border-collapse: collapse } td, th { border: 1px solid;"
        " padding: 0.2em 0.5em; text-align: left; vertical-align: top }</style>\n"
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading(level, title):
            return f"<h{level}>{html.escape(title)}</h{level}>"
        case Paragraph(words):
            return f"<p>{html.escape(words)}</p>"
        case Bullets(items):
            return "\n".join(["<ul>", *(f"<li>{html.escape(i)}</li>" for i in items), "</ul>"])
        case Code(lines, language):
            kind = f' class="language-{language}"' if language else ""
            return f"<pre><code{kind}>{html.escape(lines)}</code></pre>"
        case Table(columns, rows):
            return "\n".join(
                [
                    "<table>",
                    _html_row("th", columns),
                    *(_html_row("td", row) for row in rows),
                    "</table>",
                ]
            )


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"


FORMATS = {"text": text, "markdown": markdown, "html": page_html}
