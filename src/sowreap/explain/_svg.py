"""The picture as one SVG image."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from sowreap.explain._palette import DARK, LIGHT
from sowreap.explain._picture import ABSENT, SYMBOLS, Block, Cell, Picture
from sowreap.explain._trace import Panel, Step

MAX_WIDTH = 1200
_MARGIN = 28
_BETWEEN = 84  # between panels: room for arrows
_CELL_HEIGHT = 34
_SPACE = 4  # between cells
_GAP = 16  # a row or column left out
_HEAD = 46  # name and shape above a panel
_LABELS = 18  # numbers of columns
_SLAB = 18  # title of a slab
_BETWEEN_SLABS = 14
_LETTER = 8.0
_LANE = 26  # from the end of an arrow to the cells: room for the numbers of rows

_STYLE = """
#{id}{{{light}}}
@media (prefers-color-scheme:dark){{#{id}{{{dark}}}}}
#{id} text{{fill:var(--srx-ink)}}
#{id} text{{font-family:ui-sans-serif,system-ui,-apple-system,"Segoe UI",sans-serif}}
#{id} .m{{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}}
#{id} .m,#{id} .s{{paint-order:stroke;stroke:var(--srx-halo,var(--srx-ground))}}
#{id} .m,#{id} .s{{stroke-width:3.5;stroke-linejoin:round}}
#{id} .s{{fill:var(--srx-muted)}}
#{id} .e{{fill:var(--srx-bad)}}
#{id} .c{{fill:var(--srx-cell)}}
#{id} .b{{fill:var(--srx-bad-fill);stroke:var(--srx-bad);stroke-width:2;stroke-dasharray:5 3}}
#{id} .a{{fill:none;stroke-width:2.2;stroke-linecap:round;opacity:.8}}
"""


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> tuple[float, float]:
        """The centre."""
        return self.x + self.width / 2, self.y + self.height / 2


class _End(NamedTuple):
    """Where an arrow begins or ends: some cells, and the panel that they are in."""

    box: Box
    panel: Box


def around(boxes: Sequence[Box]) -> Box:
    """Return the smallest box that holds all."""
    left, top = min(b.x for b in boxes), min(b.y for b in boxes)
    right, bottom = max(b.right for b in boxes), max(b.bottom for b in boxes)
    return Box(left, top, right - left, bottom - top)


def render(picture: Picture) -> str:
    """Return the image as text."""
    canvas = _Canvas()
    trace = picture.trace
    y = canvas.heading(picture)
    if trace.panels:
        placed, y = _place_panels(picture, y)
        if picture.is_horizontal(trace.panels[picture.names.indices]):
            y += 20
        for panel, (x, top) in placed.values():
            _draw_panel(canvas, picture, panel, x, top)
        _draw_arrows(canvas, picture)
    else:
        y = _draw_shapes(canvas, picture, y)
    y = _draw_legend(canvas, picture, y + 22)
    return canvas.document(picture, y + 8)


class _Canvas:
    """Elements drawn so far, in three layers, and where the cells are.

    `extents` has the whole panel of each cell.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.arrows: list[str] = []
        self.labels: list[str] = []
        self.markers: set[int] = set()
        self.boxes: dict[int, Box] = {}
        self.extents: dict[int, Box] = {}
        self.width = 420.0

    def end(self, cells: Sequence[Cell]) -> _End:
        """Return the place of cells of one panel."""
        return _End(around([self.boxes[id(c)] for c in cells]), self.extents[id(cells[0])])

    def text(
        self, x: float, y: float, text: str, size: float, kind: str = "", anchor: str = "start"
    ) -> None:
        """Draw text on the baseline `y`; `kind` are class names, "h" for bold."""
        weight = ' font-weight="600"' if "h" in kind.split() else ""
        names = " ".join(name for name in kind.split() if name != "h")
        names = f' class="{names}"' if names else ""
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.labels.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}"{names}{weight}{place} '
            f'xml:space="preserve">{escape(text)}</text>'
        )
        if anchor == "start":
            letter = 0.6 if "m" in kind.split() else 0.54
            self.width = max(self.width, x + letter * size * len(text) + _MARGIN)

    def heading(self, picture: Picture) -> float:
        """Draw what is called, the formula, and the error if there is one."""
        trace = picture.trace
        y = 40.0
        for line in _lines(picture.title, 70):
            self.text(_MARGIN, y, line, 19, "h")
            y += 24
        for line in _lines(trace.formula, 110):
            self.text(_MARGIN, y + 2, line, 15, "m")
            y += 22
        if trace.error is not None:
            y += 4
            for line in _lines(f"{type(trace.error).__name__}: {trace.error}", 105):
                self.text(_MARGIN, y, line, 13.5, "e")
                y += 19
        return y + 12

    def document(self, picture: Picture, height: float) -> str:
        """Return everything as an SVG document."""
        body = "".join([*self.parts, *self.arrows, *self.labels])
        name = f"srx-{hashlib.blake2s(body.encode(), digest_size=6).hexdigest()}"
        style = _STYLE.format(id=name, light=LIGHT.variables(), dark=DARK.variables())
        style = "".join(style.strip().splitlines())
        body = body.replace("{id}", name)
        markers = "".join(_marker(name, colour) for colour in sorted(self.markers))
        label = escape(picture.title)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}" role="img" '
            f'viewBox="0 0 {self.width:g} {height:g}" width="{self.width:g}" '
            f'height="{height:g}" aria-labelledby="{name}-t {name}-d" style="max-width:100%;'
            f'height:auto"><title id="{name}-t">{label}</title>'
            f'<desc id="{name}-d">{escape(_description(picture))}</desc>'
            f"<style>{style}</style><defs>{markers}</defs>"
            f'<rect width="100%" height="100%" rx="14" fill="var(--srx-ground)"/>{body}</svg>'
        )


def _marker(name: str, colour: int) -> str:
    return (
        f'<marker id="{name}-m{colour}" viewBox="0 0 8 8" refX="6.4" refY="4" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0 .6L7.4 4L0 7.4Z" fill="var(--srx-line-{colour})"/></marker>'
    )


def _description(picture: Picture) -> str:
    trace = picture.trace
    lines = [trace.formula, picture.summary]
    if trace.error is not None:
        lines.append(str(trace.error))
    lines += [picture.step_line(step) for step in trace.steps[:12]]
    return " ".join(line if line.endswith(".") else f"{line}." for line in lines if line)


def _lines(text: str, width: int) -> list[str]:
    """Break `text` between words into lines of about `width` characters."""
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


class _Grid:
    """Sizes inside a panel."""

    def __init__(self, picture: Picture, panel: Panel) -> None:
        self.blocks = picture.blocks(panel)
        cells = picture.cells[panel.name].values()
        letters = max((len(c.text) for c in cells), default=2)
        notes = max((len(c.note) + 2 * len(c.marks) for c in cells), default=0)
        self.cell = max(40.0, letters * _LETTER + 14, notes * 6.0 + 12)
        self.left = max(
            (
                len(str(row)) * 7.0 + 10
                for line in self.blocks
                for block in line
                for row in block.rows
                if row is not None
            ),
            default=8.0,
        )

    def block_size(self, block: Block) -> tuple[float, float]:
        """Return width and height of a slab with its labels."""
        width = self.left + sum(self._step(c, self.cell, block, 1) for c in block.columns)
        height = sum(self._step(r, _CELL_HEIGHT, block, 0) for r in block.rows)
        return width, height + _LABELS + (_SLAB if block.title else 0)

    def _step(self, position: int | None, size: float, block: Block, side: int) -> float:
        is_gap = position is None and not any(key[side] is None for key in block.cells)
        return _GAP if is_gap else size + _SPACE

    def places(
        self, positions: Sequence[int | None], size: float, block: Block, side: int
    ) -> Iterator[tuple[int | None, float, bool]]:
        """Yield each row or column with its offset, and whether it is one left out."""
        offset = 0.0
        for position in positions:
            step = self._step(position, size, block, side)
            yield position, offset, step == _GAP
            offset += step

    def size(self) -> tuple[float, float]:
        """Return width and height of the panel below its head."""
        sizes = [[self.block_size(block) for block in line] for line in self.blocks]
        width = max(
            (sum(w for w, _ in line) + _BETWEEN_SLABS * (len(line) - 1) for line in sizes),
            default=0.0,
        )
        heights = [max(h for _, h in line) for line in sizes if line]
        return width, sum(heights) + _BETWEEN_SLABS * max(0, len(heights) - 1)


def _place_panels(
    picture: Picture, top: float
) -> tuple[dict[str, tuple[Panel, tuple[float, float]]], float]:
    """Put panels from left to right, in a new row where the width is used up."""
    rows: list[list[tuple[Panel, float, float]]] = []
    used = 0.0
    for panel in picture.trace.panels.values():
        width, height = _Grid(picture, panel).size()
        subtitles = _subtitles(picture, panel)
        width = max(width, *(len(t) * 7.4 for t in subtitles), 60)
        height += 14 * (len(subtitles) - 1)
        if not rows or used + width > MAX_WIDTH - 2 * _MARGIN:
            rows.append([])
            used = 0.0
        rows[-1].append((panel, width, height))
        used += width + _BETWEEN
    placed = {}
    for row in rows:
        tallest = max(height for _, _, height in row)
        x = float(_MARGIN)
        for panel, width, height in row:
            placed[panel.name] = (panel, (x, top + (tallest - height) / 2))
            x += width + _BETWEEN
        top += _HEAD + tallest + 40
    return placed, top - 40


def _subtitles(picture: Picture, panel: Panel) -> list[str]:
    notes = [f"{panel.shape} {panel.dtype}", picture.axis_note(panel), *picture.size_notes(panel)]
    return [note for note in notes if note]


def _draw_panel(canvas: _Canvas, picture: Picture, panel: Panel, x: float, y: float) -> None:
    grid = _Grid(picture, panel)
    subtitles = _subtitles(picture, panel)
    canvas.text(x, y + 14, panel.name, 15, "h")
    for number, text in enumerate(subtitles):
        canvas.text(x, y + 31 + 14 * number, text, 12, "s")
    y += _HEAD + 14 * (len(subtitles) - 1)
    if 0 in panel.shape:
        canvas.text(x, y + 16, "empty", 13, "s")
        return
    extent = Box(x + grid.left, y, grid.size()[0] - grid.left - _SPACE, grid.size()[1])
    canvas.extents |= {id(cell): extent for cell in picture.cells[panel.name].values()}
    for line in grid.blocks:
        left, tallest = x, 0.0
        for block in line:
            width, height = grid.block_size(block)
            _draw_block(canvas, picture, panel, grid, block, left, y)
            left += width + _BETWEEN_SLABS
            tallest = max(tallest, height)
        y += tallest + _BETWEEN_SLABS
        canvas.width = max(canvas.width, left - _BETWEEN_SLABS + _MARGIN)


def _draw_block(
    canvas: _Canvas, picture: Picture, panel: Panel, grid: _Grid, block: Block, x: float, y: float
) -> None:
    if block.title:
        canvas.text(x, y + 11, block.title, 11.5, "s m")
        y += _SLAB
    x += grid.left
    columns = list(grid.places(block.columns, grid.cell, block, 1))
    rows = list(grid.places(block.rows, _CELL_HEIGHT, block, 0))
    for column, offset, is_gap in columns:
        if column is not None:
            canvas.text(x + offset + grid.cell / 2, y + 12, str(column), 11, "s", "middle")
        elif is_gap:
            canvas.text(x + offset + _GAP / 2 - 2, y + 12, "⋯", 11, "s", "middle")
    y += _LABELS
    for row, offset, is_gap in rows:
        if row is not None:
            canvas.text(x - 7, y + offset + 22, str(row), 11, "s", "end")
        elif is_gap:
            canvas.text(x - 7, y + offset + 10, "⋮", 11, "s", "end")
    for row, down, _ in rows:
        for column, right, _ in columns:
            cell = block.cells.get((row, column))
            if cell is not None:
                box = Box(x + right, y + down, grid.cell, _CELL_HEIGHT)
                _draw_cell(canvas, picture, cell, box)


def _draw_cell(canvas: _Canvas, picture: Picture, cell: Cell, box: Box) -> None:
    canvas.boxes[id(cell)] = box
    is_absent = not ABSENT.isdisjoint(cell.marks)
    fill = "var(--srx-cell)" if cell.colour is None else f"var(--srx-fill-{cell.colour})"
    kind, style = "c", f"fill:{fill}"
    if is_absent:
        kind, fill, style = "b", "var(--srx-bad-fill)", ""
    elif "repeated" in cell.marks and cell.colour is not None:
        style += f";stroke:var(--srx-line-{cell.colour});stroke-width:2.5"
    title = f"{cell.place} = {cell.full}"
    title += "".join(f"; {picture.meaning(mark)}" for mark in cell.marks)
    styled = f' style="{style}"' if style and cell.colour is not None else ""
    rectangle = f'x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="6"'
    canvas.parts.append(f'<rect class="{kind}" {rectangle}{styled}/>')
    x, y = box.middle
    corner = " ".join([*(SYMBOLS[m] for m in cell.marks if SYMBOLS[m] not in cell.note), cell.note])
    canvas.labels.append(f'<g style="--srx-halo:{fill}"><title>{escape(title)}</title>')
    canvas.text(x, y + (9 if corner.strip() else 5), cell.text, 13.5, "m", "middle")
    if corner.strip():
        canvas.text(box.right - 4, box.y + 11, corner.strip(), 10, "e" if is_absent else "", "end")
    canvas.labels.append(f'<rect {rectangle} fill="transparent"/></g>')


def _draw_arrows(canvas: _Canvas, picture: Picture) -> None:
    for step in picture.featured():
        colour = picture.colour(step)
        canvas.markers.add(colour)
        canvas.arrows += [
            f'<path class="a" d="{path}" style="stroke:var(--srx-line-{colour})" '
            f'marker-end="url(#{{id}}-m{colour})"/>'
            for path in _paths(canvas, picture, step)
        ]


def _paths(canvas: _Canvas, picture: Picture, step: Step) -> Iterator[str]:
    """Yield the arrows of a step: by way of the index in a gather."""
    number = picture.trace.steps.index(step)
    pairs = [pair for pair in picture.trace.pairs if pair.step == number]
    there = [cell for pair in pairs if (cell := picture.data_cell(pair)) is not None]
    here = [picture.moved_cell(pair) for pair in pairs]
    if not there or not here:
        return
    data, moved = canvas.end(there), canvas.end(here)
    index = picture.index_cells(step)
    if not picture.trace.is_gather:
        yield _across(moved, data)
    elif not index:
        yield _across(data, moved)
    elif picture.is_horizontal(picture.trace.panels[picture.names.indices]):
        yield _under(data, canvas.end(index), -5)
        yield _under(canvas.end(index), moved, 5)
    else:
        yield _across(data, canvas.end(index))
        yield _across(canvas.end(index), moved)


def _across(start: _End, end: _End) -> str:
    """Return a path to the right, or down to a panel in the next row.

    Inside a panel it runs between the rows, so as not to cross out values.
    """
    (box, panel), (to, to_panel) = start, end
    if to_panel.x < panel.right:
        return _down(box.middle[0], box.bottom + 1, to.middle[0], to.y - 4)
    x1, y1, x2, y2 = box.right + 1, box.middle[1], to.x - _LANE, to.middle[1]
    before = after = ""
    if box.right < panel.right - 1:
        before = f"M{box.right - 7:g} {box.bottom:g}q0 2 3 2H"
        x1, y1 = panel.right, box.bottom + 2
    if to.x > to_panel.x + 1:
        x2, y2 = to_panel.x - _SPACE, to.bottom + 2
        after = f"H{to.x + 4:g}q5 0 5 -5"
    bend = max(20.0, 0.42 * (x2 - x1))
    begin = f"{before}{x1:g}" if before else f"M{x1:g} {y1:g}"
    return f"{begin}C{x1 + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2:g} {y2:g}{after}"


def _down(x1: float, y1: float, x2: float, y2: float) -> str:
    bend = 0.42 * (y2 - y1)
    return f"M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"


def _under(start: _End, end: _End, aside: float) -> str:
    """Return a path below the panels, between columns; `aside` of the middle of an index."""
    (x1, _), (x2, _) = start.box.middle, end.box.middle
    x1, x2 = (x1 + aside, x2) if aside > 0 else (x1, x2 + aside)
    y1, y2 = start.box.bottom + 1, end.box.bottom + 4
    low = max(y1, y2) + 34
    return f"M{x1:g} {y1:g}C{x1:g} {low:g} {x2:g} {low:g} {x2:g} {y2:g}"


def _draw_shapes(canvas: _Canvas, picture: Picture, y: float) -> float:
    """Draw the shapes beside each other, the one at fault marked."""
    trace = picture.trace
    argument = trace.error.argument if trace.error is not None else ""
    x = float(_MARGIN)
    for panel in trace.arrays:
        kind = panel.dtype if panel.dtype.startswith("not ") else f"{panel.shape}"
        width = max(150.0, len(kind) * 9.6 + 32, len(panel.dtype) * 7.4 + 32)
        name = "b" if panel.name == argument else "c"
        canvas.parts.append(
            f'<rect class="{name}" x="{x:g}" y="{y:g}" width="{width:g}" height="86" rx="10"/>'
        )
        mark = f" {SYMBOLS['out of range']}" if panel.name == argument else ""
        canvas.text(x + 16, y + 26, panel.name + mark, 15, "h")
        canvas.text(x + 16, y + 50, kind, 15, "m")
        if kind != panel.dtype:
            canvas.text(x + 16, y + 71, panel.dtype, 12, "s")
        x += width + 24
        canvas.width = max(canvas.width, x - 24 + _MARGIN)
    return y + 86


def _draw_legend(canvas: _Canvas, picture: Picture, y: float) -> float:
    for line in [*_lines(picture.summary, 110), *picture.notes]:
        canvas.text(_MARGIN, y, line, 13, "s")
        y += 19
    for mark in picture.marks:
        canvas.text(_MARGIN, y, f"{SYMBOLS[mark]}  {picture.meaning(mark)}", 13, "s")
        y += 19
    return y
