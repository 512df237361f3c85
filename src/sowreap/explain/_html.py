"""The picture as HTML, for a page of its own or inside a notebook."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from sowreap.explain._palette import DARK, LIGHT
from sowreap.explain._picture import ABSENT, COLOURS, SYMBOLS, Block, Cell, Picture
from sowreap.explain._trace import Panel
from sowreap.explain._values import short


def page(picture: Picture) -> str:
    """Return a document."""
    name = "srx"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(picture.title)}</title>'
        "<style>html,body{margin:0;min-height:100%}body{display:flex}"
        ".srx[data-page]{flex:1;max-width:none;border-radius:0;min-height:100vh}"
        ".srx[data-page]>*{max-width:1280px;margin-left:auto;margin-right:auto}</style></head>"
        f"<body>{_root(picture, name, 'main')}</body></html>"
    )


def fragment(picture: Picture) -> str:
    """Return one element with everything in it, whose names occur nowhere else."""
    return _root(picture, f"srx-{secrets.token_hex(6)}", "div")


def _root(picture: Picture, name: str, tag: str) -> str:
    is_page = tag == "main"
    role = " data-page" if is_page else f' role="group" aria-label="{escape(picture.title)}"'
    script = _script("page.js", name, _data(picture)) if picture.trace.panels else ""
    return (
        f'<{tag} class="srx" id="{name}"{role}><style>{_style()}</style>'
        f"{_heading(picture, is_page)}{_body(picture, name)}"
        f"</{tag}>{_script('theme.js', name)}{script}"
    )


@cache
def _style() -> str:
    dark = DARK.variables() + "color-scheme:dark;"
    # Jupyter and VS Code tell their theme by an attribute or class further out.
    outer = ",".join(
        f"{theme} .srx:not([data-theme=light])"
        for theme in ("[data-jp-theme-light=false]", ".vscode-dark")
    )
    text = files("sowreap.explain").joinpath("page.css").read_text("utf-8")
    lines = " ".join(line.strip() for line in text.splitlines())
    return (
        f"{lines}.srx{{{LIGHT.variables()}}}"
        f"@media (prefers-color-scheme:dark){{.srx:not([data-theme=light]){{{dark}}}}}"
        f".srx[data-theme=dark],{outer}{{{dark}}}"
    )


@cache
def _source(file: str) -> str:
    text = files("sowreap.explain").joinpath(file).read_text("utf-8")
    return "\n".join(line.strip() for line in text.splitlines())


def _script(file: str, name: str, *arguments: Any) -> str:
    """Return a script that calls the function in `file` once the element `name` is there.

    Notebooks run scripts of an output before they put it into the page.
    """
    given = "".join(f",{_json(argument)}" for argument in arguments)
    return (
        f'<script>(function wait(left){{const root=document.getElementById("{name}");'
        f"if(root)({_source(file)})(root{given});"
        "else if(left)setTimeout(wait,50,left-1);})(200);</script>"
    )


def _json(value: Any) -> str:
    """Return JSON that can stand in a script: nothing in it ends one or begins a comment."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _heading(picture: Picture, is_page: bool) -> str:
    tag = "h1" if is_page else "div"
    trace = picture.trace
    parts = [
        f'<div class="srx-top"><div class="srx-head"><{tag} class="srx-title" '
        f'style="margin:0">{escape(picture.title)}</{tag}>'
    ]
    if trace.formula:
        parts.append(f'<div class="srx-formula srx-mono">{escape(trace.formula)}</div>')
    parts.append(f'<div class="srx-summary">{escape(picture.summary)}</div></div>')
    parts.append('<button type="button" class="srx-theme" hidden>Dark</button></div>')
    if trace.error is not None:
        parts.append(
            f'<div class="srx-error" role="note"><b>{type(trace.error).__name__}</b> '
            f"{escape(str(trace.error))}</div>"
        )
    return "".join(parts)


def _body(picture: Picture, name: str) -> str:
    if not picture.trace.panels:
        return _shapes(picture)
    numbers = _numbers(picture)
    panels = "".join(_panel(picture, p, numbers) for p in picture.trace.panels.values())
    markers = "".join(
        f'<marker id="{name}-m{k}" viewBox="0 0 8 8" refX="6.4" refY="4" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0 .6L7.4 4L0 7.4Z" style="fill:var(--srx-line-{k})"/></marker>'
        for k in range(COLOURS)
    )
    total = len(picture.trace.steps)
    return (
        '<div class="srx-controls" role="group" aria-label="Steps of the loop"'
        f"{'' if total else ' hidden'}>"
        '<button type="button" class="srx-all" aria-pressed="true">Overview</button>'
        '<button type="button" class="srx-previous" aria-label="Previous step">◀</button>'
        f'<input type="range" class="srx-slider" min="0" max="{total}" value="{total}" '
        'step="1" aria-label="Step">'
        '<button type="button" class="srx-next" aria-label="Next step">▶</button>'
        f'<span class="srx-count"></span></div>'
        f'<div class="srx-stage">{panels}'
        f'<svg class="srx-arrows" aria-hidden="true"><defs>{markers}</defs></svg></div>'
        '<div class="srx-detail" role="region" aria-label="What moves" tabindex="0">'
        '<div class="srx-what"></div><ul class="srx-lines"></ul></div>'
        '<div class="srx-live-region srx-hidden" role="status" aria-live="polite"></div>'
        f"{_legend(picture)}"
    )


def _legend(picture: Picture) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in picture.notes)
    items += "".join(
        f'<li><b aria-hidden="true">{SYMBOLS[mark]}</b>{escape(picture.meaning(mark))}</li>'
        for mark in picture.marks
    )
    return f'<ul class="srx-legend">{items}</ul>' if items else ""


def _shapes(picture: Picture) -> str:
    error = picture.trace.error
    cards = []
    for panel in picture.trace.arrays:
        is_fault = error is not None and error.argument == panel.name
        kind = panel.dtype if panel.dtype.startswith("not ") else str(panel.shape)
        mark = f" {SYMBOLS['out of range']}" if is_fault else ""
        below = f'<div class="srx-shape">{escape(panel.dtype)}</div>' if kind != panel.dtype else ""
        cards.append(
            f'<div class="srx-card{" srx-fault" if is_fault else ""}"><div class="srx-name">'
            f'{panel.name}{mark}</div><div class="srx-mono">{escape(kind)}</div>{below}</div>'
        )
    return f'<div class="srx-shapes">{"".join(cards)}</div>'


def _numbers(picture: Picture) -> dict[int, int]:
    """Return the number of each cell in the page, by identity."""
    return {id(cell): number for number, cell in enumerate(picture.all_cells())}


def _panel(picture: Picture, panel: Panel, numbers: dict[int, int]) -> str:
    lines = [note for note in (picture.axis_note(panel), *picture.size_notes(panel)) if note]
    notes = "".join(f'<div class="srx-shape">{line}</div>' for line in lines)
    if 0 in panel.shape:
        blocks = '<div class="srx-shape">empty</div>'
    else:
        rows = picture.blocks(panel)
        slabs = ("".join(_block(picture, panel, b, numbers) for b in line) for line in rows)
        blocks = "".join(f'<div class="srx-line">{line}</div>' for line in slabs)
    return (
        f'<div class="srx-panel"><div class="srx-name">{panel.name}</div>'
        f'<div class="srx-shape">{panel.shape} {escape(panel.dtype)}</div>{notes}'
        f'<div class="srx-scroll"><div class="srx-blocks">{blocks}</div></div></div>'
    )


def _block(picture: Picture, panel: Panel, block: Block, numbers: dict[int, int]) -> str:
    label = f"{panel.name} {block.title}".strip()
    title = f'<div class="srx-slab srx-mono">{block.title}</div>' if block.title else ""
    rows = "".join(_rows(picture, block, numbers))
    return f'<div>{title}<table class="srx-t" role="grid" aria-label="{label}">{rows}</table></div>'


def _rows(picture: Picture, block: Block, numbers: dict[int, int]) -> Iterator[str]:
    has_rows = any(row is not None for row in block.rows)
    has_columns = any(column is not None for column in block.columns)
    corner = '<td class="srx-g"></td>' if has_rows else ""
    if has_columns:
        heads = "".join(
            '<td class="srx-g">⋯</td>'
            if column is None
            else f'<th class="srx-h" scope="col">{column}</th>'
            for column in block.columns
        )
        yield f'<tr class="srx-r">{corner}{heads}</tr>'
    for row in block.rows:
        cells = [block.cells.get((row, column)) for column in block.columns]
        head = f'<th class="srx-h" scope="row">{row}</th>' if has_rows else ""
        if not any(cells):
            head = '<td class="srx-g">⋮</td>'
        inner = "".join(
            '<td class="srx-g"></td>' if c is None else _cell(picture, c, numbers) for c in cells
        )
        yield f'<tr class="srx-r">{head}{inner}</tr>'


def _cell(picture: Picture, cell: Cell, numbers: dict[int, int]) -> str:
    kinds = ["srx-c"]
    is_absent = not ABSENT.isdisjoint(cell.marks)
    if is_absent:
        kinds.append("srx-absent")
    elif cell.colour is not None:
        kinds.append(f"srx-k{cell.colour}")
    if "repeated" in cell.marks:
        kinds.append("srx-repeated")
    signs = [SYMBOLS[mark] for mark in cell.marks if SYMBOLS[mark] not in cell.note]
    note = " ".join([*signs, *([cell.note] if cell.note else [])])
    if note:
        kinds.append("srx-noted")
    meanings = [picture.meaning(mark) for mark in cell.marks]
    label = escape("; ".join([f"{cell.place} = {cell.full}", *meanings]))
    corner = f'<span class="srx-note">{note}</span>' if note else ""
    wide = f' style="min-width:{7 * len(note) + 10}px"' if len(note) > 4 else ""
    return (
        f'<td role="gridcell" class="{" ".join(kinds)}"{wide} '
        f'data-c="{numbers[id(cell)]}" aria-label="{label}">{corner}'
        f'<span class="srx-v">{escape(cell.text)}</span></td>'
    )


def _data(picture: Picture) -> dict[str, Any]:
    """Return what the script needs to know beyond the cells."""
    trace = picture.trace
    numbers = _numbers(picture)

    def number(cell: Cell | None) -> int:
        return -1 if cell is None else numbers[id(cell)]

    return {
        "gather": trace.is_gather,
        "running": trace.error is None and (trace.is_gather or trace.is_prefix),
        "featured": [trace.steps.index(step) for step in picture.featured()],
        "overview": picture.overview(),
        "columns": picture.is_horizontal(trace.panels[picture.names.indices]),
        "outputs": [number(cell) for cell in picture.cells[picture.names.output].values()],
        "twins": [number(picture.twin(cell)) for cell in picture.all_cells()],
        "idle": [_idle(picture, cell) for cell in picture.all_cells()],
        "hint": "Point at a cell, or move to one with the keys, to see what it came from and "
        "where it went.",
        "start": "Nothing is read yet."
        if trace.is_gather
        else f"The output begins as a copy of {picture.names.data}.",
        "steps": [
            {
                "line": picture.step_line(step),
                "cells": [number(cell) for cell in picture.index_cells(step)],
                "colour": 0 if step.cell is None else picture.colour(step),
            }
            for step in trace.steps
        ],
        "pairs": [
            {
                "step": pair.step,
                "data": number(picture.data_cell(pair)),
                "moved": number(picture.moved_cell(pair)),
                "lines": picture.pair_lines(pair),
                "after": short(pair.after),
            }
            for pair in trace.pairs
        ],
    }


def _idle(picture: Picture, cell: Cell) -> str:
    """Return what to say of a cell that takes part in no move shown."""
    if cell.pairs or (cell.panel in (picture.names.indices, picture.names.updates)):
        return ""
    shown = "" if len(picture.trace.steps) == picture.trace.total_steps else " by the steps shown"
    if picture.trace.is_gather:
        return f"It is not read{shown}."
    if cell.panel == picture.names.data:
        return f"It is copied to the output and not changed{shown}."
    return f"It is a copy of {picture.names.data}, not changed{shown}."
