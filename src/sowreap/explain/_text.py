"""The picture as lines of text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from sowreap.explain._picture import SYMBOLS, Block, Cell, Picture
from sowreap.explain._trace import Panel, Step

MIN_WIDTH = 40
_BETWEEN = "  "
# Backgrounds of the 256 colours of ANSI terminals, under black: pale, and apart in lightness too.
_BACKGROUNDS = (153, 216, 229, 218, 159, 115, 149, 252)


def render(picture: Picture, width: int, *, color: bool, max_steps: int) -> str:
    """Return the whole text."""
    width = max(width, MIN_WIDTH)
    paint = _Paint(color)
    trace = picture.trace
    lines = [*wrapped(picture.title, width), *wrapped(trace.formula, width)]
    lines += wrapped(picture.summary, width)
    if trace.error is not None:
        lines += ["", *wrapped(f"{type(trace.error).__name__}: {trace.error}", width)]
    lines.append("")
    if not trace.panels:
        return "\n".join([*lines, *_shapes(picture, width)])
    panels = [_panel(picture, panel, width, paint) for panel in trace.panels.values()]
    lines += _beside(panels, width)
    lines.append("")
    for step in trace.steps[:max_steps]:
        lines += _step(picture, step, width)
    rest = trace.total_steps - min(max_steps, len(trace.steps))
    if rest > 0:
        lines.append(f"… {rest} more")
    marks = [mark for mark in picture.marks if mark != "negative"]
    legend = [f"{SYMBOLS[mark]} {picture.meaning(mark)}" for mark in marks]
    if legend:
        lines += ["", *(line for text in legend for line in wrapped(text, width))]
    return "\n".join(line.rstrip() for line in lines)


class _Paint:
    """Puts a colour behind text, if asked to."""

    def __init__(self, is_on: bool) -> None:
        self.is_on = is_on

    def __call__(self, text: str, cell: Cell) -> str:
        if not self.is_on or (cell.colour is None and not cell.marks):
            return text
        if cell.colour is None:
            return f"\x1b[1;31m{text}\x1b[0m"
        return f"\x1b[30;48;5;{_BACKGROUNDS[cell.colour]}m{text}\x1b[0m"


class _Lines(list[tuple[str, int]]):
    """Lines with the number of columns that each fills."""

    def put(self, text: str, painted: str | None = None) -> None:
        self.append((text if painted is None else painted, columns(text)))


def _panel(picture: Picture, panel: Panel, width: int, paint: _Paint) -> _Lines:
    lines = _Lines()
    lines.put(panel.name)
    for text in wrapped(f"{panel.shape} {panel.dtype}", width):
        lines.put(text)
    for note in picture.size_notes(panel):
        for text in wrapped(f"({note})", width):
            lines.put(text)
    if any(length == 0 for length in panel.shape):
        lines.put("(empty)")
        return lines
    for line in picture.blocks(panel):
        for block in line:
            _block(block, width, paint, lines)
    return lines


def _block(block: Block, width: int, paint: _Paint, lines: _Lines) -> None:
    for text in wrapped(block.title, width):
        lines.put(text)
    left = max((len(str(row)) for row in block.rows if row is not None), default=0)
    sizes = {column: _column_width(block, column) for column in block.columns}
    chunk: list[int | None] = []
    used = left + 2
    for column in block.columns:
        if chunk and used + sizes[column] + 2 > width:
            _chunk(block, chunk, sizes, left, paint, lines)
            chunk, used = [], left + 2
        chunk.append(column)
        used += sizes[column] + 2
    _chunk(block, chunk, sizes, left, paint, lines)


def _column_width(block: Block, column: int | None) -> int:
    cells = [block.cells[row, column] for row in block.rows if (row, column) in block.cells]
    if not cells:
        return 1
    return max(len(str(column)) if column is not None else 0, *map(columns, map(_content, cells)))


def _chunk(
    block: Block,
    chunk: Sequence[int | None],
    sizes: dict[int | None, int],
    left: int,
    paint: _Paint,
    lines: _Lines,
) -> None:
    if chunk != [None]:
        heads = ["…" if c is None else str(c) for c in chunk]
        parts = [head.rjust(sizes[c]) for head, c in zip(heads, chunk, strict=True)]
        lines.put(" " * left + _BETWEEN + _BETWEEN.join(parts))
    for row in block.rows:
        head = ("⋮" if row is None else str(row)).rjust(left) if left else ""
        plain, painted = [head], [head]
        for column in chunk:
            cell = block.cells.get((row, column))
            text = _content(cell) if cell is not None else ""
            padded = " " * (sizes[column] - columns(text)) + text
            plain.append(padded)
            painted.append(padded if cell is None else paint(padded, cell))
        lines.put(_BETWEEN.join(plain), _BETWEEN.join(painted))


def _content(cell: Cell) -> str:
    """Return what stands in a cell: value, note, and a sign for each mark or use."""
    signs = [SYMBOLS[mark] for mark in cell.marks if SYMBOLS[mark] not in cell.note]
    return " ".join([cell.text + (cell.note if cell.note[:1] == "→" else ""), *_note(cell), *signs])


def _note(cell: Cell) -> list[str]:
    return [cell.note] if cell.note and cell.note[0] != "→" else []


def _beside(panels: Sequence[_Lines], width: int) -> list[str]:
    """Put panels beside each other as far as they fit."""
    rows: list[list[_Lines]] = []
    used = 0
    for panel in panels:
        size = max(columns for _, columns in panel)
        if not rows or used + size > width:
            rows.append([])
            used = 0
        rows[-1].append(panel)
        used += size + 4
    lines: list[str] = []
    for number, row in enumerate(rows):
        lines += [""] if number else []
        lines += _joined(row)
    return lines


def _joined(row: Sequence[_Lines]) -> list[str]:
    sizes = [max(columns for _, columns in panel) for panel in row]
    lines = []
    for i in range(max(map(len, row))):
        parts = []
        for panel, size in zip(row, sizes, strict=True):
            text, filled = panel[i] if i < len(panel) else ("", 0)
            parts.append(text + " " * (size - filled))
        lines.append((" " * 4).join(parts))
    return lines


def _step(picture: Picture, step: Step, width: int) -> list[str]:
    trace = picture.trace
    number = trace.steps.index(step)
    head = f"{step.number + 1}  "
    indent = " " * len(head)
    lines = wrapped(head + picture.step_line(step), width, indent)
    pairs = [pair for pair in trace.pairs if pair.step == number]
    moves = [pair for pair in pairs if pair.data is not None]
    if not moves:
        return lines
    text = picture.move_line(moves[0])
    if len(pairs) == 1:
        last = picture.pair_lines(pairs[0])[-1]
        text += f"    {last}" if trace.error is None or not trace.is_gather else ""
    return [*lines, *wrapped(indent + text, width, indent)]


def _shapes(picture: Picture, width: int) -> list[str]:
    """Return the shapes of all arrays, the one at fault marked."""
    trace = picture.trace
    argument = trace.error.argument if trace.error is not None else ""
    size = max((len(panel.name) for panel in trace.arrays), default=0)
    lines = []
    for panel in trace.arrays:
        kind = panel.dtype if panel.dtype.startswith("not ") else f"{panel.shape} {panel.dtype}"
        sign = f"  {SYMBOLS['out of range']} here" if panel.name == argument else ""
        lines += wrapped(f"{panel.name.ljust(size)}  {kind}{sign}", width)
    return lines


def columns(text: str) -> int:
    """Return how many columns of a terminal `text` fills.

    Examples
    --------
    >>> columns("abc"), columns("行列")
    (3, 4)
    """
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Break `text` into lines of at most `width` columns, words apart where possible."""
    lines: list[str] = []
    line = text[: len(text) - len(text.lstrip(" "))]
    for word in text.lstrip(" ").split(" "):
        candidate = f"{line} {word}" if line.strip() else line + word
        if columns(candidate) <= width:
            line = candidate
            continue
        if line.strip():
            lines.append(line)
            line = indent + word
        else:
            line = candidate
        while columns(line) > width:
            cut = next(n for n in range(len(line), 0, -1) if columns(line[:n]) <= width)
            lines.append(line[:cut])
            line = indent + line[cut:]
    return [*lines, line] if line.strip() else lines
