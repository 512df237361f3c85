"""What every form of a picture shows: cells with their texts, colours and marks, and sentences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

from sowreap.explain._forms import NAMES, assignment, formula, place
from sowreap.explain._trace import Coordinate, Pair, Panel, Step, Trace
from sowreap.explain._values import CELL_WIDTH, full, short

COLOURS = 8
_VALUES = 40_000  # characters of all values, as written in HTML
_ESCAPED = 6  # characters that one may become there
_ARROWS = 6  # as many steps have arrows, if all have

# What a mark looks like beside its colour, and what it means.
SYMBOLS = {
    "negative": "↶",
    "wrapped": "↻",
    "clipped": "⇥",
    "repeated": "×",  # noqa: RUF001
    "out of range": "✗",
    "filled": "∅",
    "dropped": "⊘",
}
MEANINGS = {
    "negative": "a negative index counts from the end",
    "wrapped": "the index goes round the end of the axis",
    "clipped": "the index is moved to the nearest end of the axis",
    "repeated": "several updates go to one place",
    "out of range": "the index is outside its axis",
    "filled": "no such place: the fill value stands here",
    "dropped": "no such place: the update is left out",
}
ABSENT = {"out of range", "filled", "dropped"}


@dataclass
class Cell:
    """One element as it is drawn.

    Attributes
    ----------
    panel, at
        Name of the array, and the coordinate in it.
    text, full : str
        The value, short and whole.
    colour : int or None
        Number in the palette; None where nothing is moved.
    marks : list of str
        Keys of `SYMBOLS`.
    note : str
        A word beside the value, such as where a negative index leads.
    pairs : list of int
        The moves that it takes part in.
    """

    panel: str
    at: Coordinate
    text: str
    full: str
    colour: int | None = None
    marks: list[str] = field(default_factory=list)
    note: str = ""
    pairs: list[int] = field(default_factory=list)

    @property
    def place(self) -> str:
        """The cell as code."""
        return place(self.panel, self.at)


class Block(NamedTuple):
    """A slab of cells: `lines` of rows; None stands for rows or columns left out."""

    title: str
    rows: list[int | None]
    columns: list[int | None]
    cells: dict[tuple[int | None, int | None], Cell]


class Picture:
    """A trace in words and cells."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.names = NAMES[trace.operator]
        self.cells: dict[str, dict[Coordinate, Cell]] = {name: {} for name in trace.panels}
        for panel in trace.panels.values():
            self._add_cells(panel)
        if trace.panels:
            self._add_indices()
            self._add_pairs()
            self._cut_values()

    @property
    def title(self) -> str:
        """The call without its arrays."""
        given = "".join(f", {name}={_attribute(v)}" for name, v in self.trace.attributes.items())
        arrays = ", ".join(panel.name for panel in self.trace.arrays)
        return f"{self.trace.operator}({arrays}{given})"

    @property
    def summary(self) -> str:
        """One sentence on what happens."""
        trace = self.trace
        if trace.error is not None:
            return f"{trace.operator} raises {type(trace.error).__name__}."
        marks = {mark: sum(mark in step.marks for step in trace.steps) for mark in MEANINGS}
        parts = [f"{count} {mark}" for mark, count in marks.items() if count]
        verb = "read from" if trace.is_gather else "write to"
        noun = "index" if trace.total_steps == 1 else "indices"
        if trace.operator == "tensor_scatter":
            noun = "step" if trace.total_steps == 1 else "steps"
        if trace.total_steps == 1:
            verb = "reads from" if trace.is_gather else "writes to"
        shown = "" if len(trace.steps) == trace.total_steps else f", {len(trace.steps)} shown"
        rest = f": {', '.join(parts)}" if parts else ""
        return f"{trace.total_steps} {noun} {verb} {self.names.data}{shown}{rest}."

    @property
    def marks(self) -> list[str]:
        """The marks that occur, in a fixed order."""
        found = {mark for step in self.trace.steps for mark in step.marks}
        return [mark for mark in SYMBOLS if mark in found]

    def meaning(self, mark: str) -> str:
        """Return what a mark means in this call."""
        is_plain = self.trace.attributes.get("reduction", "none") == "none"
        rest = "; the last one stays" if mark == "repeated" and is_plain else ""
        return MEANINGS[mark] + rest

    @property
    def notes(self) -> list[str]:
        """Return what the picture alone does not say: the copy, and arrows left out."""
        trace, names = self.trace, self.names
        if not trace.panels or trace.error is not None:
            return []
        notes = []
        if not trace.is_gather:
            notes.append(f"{names.output} begins as a copy of {names.data}; grey cells stay so.")
        if len(trace.steps) < trace.total_steps and "repeated" in self.marks:
            notes.append(f"{SYMBOLS['repeated']}2 and the like count the steps shown.")
        moving = sum(step.cell is not None for step in trace.steps)
        drawn = len(self.featured())
        if drawn < moving:
            notes.append(f"Arrows for {drawn} of {moving}; colours for all.")
        return notes

    def axis_note(self, panel: Panel) -> str:
        """Return which way the axis runs that indices count along, if that is not plain."""
        form, rank = self.trace.form, len(panel.shape)
        if panel.name != self.names.data or form is None or form.tuples or rank < 2:
            return ""
        [axis] = form.addressed
        ways = {rank - 2: "runs down ↓", rank - 1: "runs right →"}
        return f"axis {axis} {ways.get(axis, 'goes from slab to slab')}"

    def size_notes(self, panel: Panel) -> list[str]:
        """Return how an array of many axes is drawn, and how much of it is not shown."""
        notes = []
        is_given = panel.name in [array.name for array in self.trace.arrays]
        if panel.name == self.names.indices and not is_given:
            notes.append("not given, so 0")
        lead = len(panel.shape) - 3
        if lead > 1 and panel.window:
            total = math.prod(panel.shape[:lead])
            shown = math.prod(map(len, panel.window[:lead]))
            notes.append(f"axes 0 to {lead - 1} collapsed, {shown} of {total} shown")
        if panel.hidden:
            notes.append(f"{panel.hidden:,} more not shown")
        return notes

    def all_cells(self) -> Iterator[Cell]:
        """Yield every cell, panel by panel."""
        for cells in self.cells.values():
            yield from cells.values()

    def is_horizontal(self, panel: Panel) -> bool:
        """Whether a list is drawn as a row: one index for each column of what is moved."""
        form = self.trace.form
        return (
            panel.name == self.names.indices
            and len(panel.shape) == 1
            and form is not None
            and len(form.moved) > 1
            and form.moved[-1] == ("indices", 0)
        )

    def blocks(self, panel: Panel) -> list[list[Block]]:
        """Return the slabs of an array: in a square, or for rank 4 and more in rows of axis -3."""
        window, rank = panel.window, len(panel.shape)
        if rank <= 1:
            axis: list[int | None] = _with_gaps(window[0], panel.shape[0]) if rank else [None]
            is_row = self.is_horizontal(panel)
            cells: dict[tuple[int | None, int | None], Cell] = {}
            for at, cell in self.cells[panel.name].items():
                position = at[0] if at else None
                cells[(None, position) if is_row else (position, None)] = cell
            return [[Block("", [None], axis, cells) if is_row else Block("", axis, [None], cells)]]
        rows = _with_gaps(window[-2], panel.shape[-2])
        columns = _with_gaps(window[-1], panel.shape[-1])
        slabs = [
            [self._block(panel, (*line, *slab), rows, columns) for slab in _each(window[:-2][-1:])]
            for line in itertools.product(*window[:-3])
        ]
        if rank != 3:
            return slabs
        across = max(1, math.ceil(math.sqrt(len(slabs[0]))))
        return [slabs[0][i : i + across] for i in range(0, len(slabs[0]), across)]

    def _block(
        self,
        panel: Panel,
        lead: Coordinate,
        rows: list[int | None],
        columns: list[int | None],
    ) -> Block:
        cells: dict[tuple[int | None, int | None], Cell] = {
            (row, column): self.cells[panel.name][(*lead, row, column)]
            for row in panel.window[-2]
            for column in panel.window[-1]
        }
        title = f"[{', '.join([*map(str, lead), ':', ':'])}]" if lead else ""
        return Block(title, rows, columns, cells)

    def pair_lines(self, pair: Pair) -> list[str]:
        """Return the formula for one element: as it is, with the places, with the values."""
        trace = self.trace
        assert trace.form is not None
        rank = len(trace.arrays[0].shape)
        general = formula(trace.operator, trace.form, rank, trace.attributes, pair.moved)
        step = trace.steps[pair.step]
        if pair.data is None:
            return [general, self._absent_line(step)]
        if trace.is_gather:
            value = [] if trace.result is None else [f"= {short(pair.value, 24)}"]
            return [general, f"= {place(self.names.data, pair.data)}", *value]
        return [general, *self._write_lines(pair)]

    def step_line(self, step: Step) -> str:
        """Return what an index tuple says, and where it leads."""
        assert self.trace.form is not None
        given = place(self.names.indices, step.position)
        index = _tuple(step.given, self.trace.form.tuples)
        if step.marks & ABSENT:
            return f"{given} = {index}: {self._absent_line(step)}"
        if step.cell in (None, step.given) and self.trace.operator != "tensor_scatter":
            return f"{given} = {index}"
        why = "".join(
            f" ({MEANINGS[mark]})"
            for mark in ("negative", "wrapped", "clipped")
            if mark in step.marks
        )
        axes = self.trace.form.addressed
        axis = f"axis {axes[0]}" if len(axes) == 1 else f"axes {', '.join(map(str, axes))}"
        to = _tuple(step.cell or (), self.trace.form.tuples)
        return f"{given} = {index} → {to} on {axis}{why}"

    def move_line(self, pair: Pair) -> str:
        """Return from where to where the slice of `pair` goes, as code."""
        form = self.trace.form
        assert form is not None
        assert pair.data is not None
        whole = {d for array, d in form.moved if array == "data"}
        data = [":" if d in whole else c for d, c in enumerate(pair.data)]
        moved = [
            ":" if array == "data" else c
            for (array, _), c in zip(form.moved, pair.moved, strict=True)
        ]
        here = place(self.trace.moved_name, moved)
        if self.trace.is_gather:
            return f"{place(self.names.data, data)} → {here}"
        return f"{here} → {place(self.names.output, data)}"

    def overview(self) -> list[list[str]]:
        """Return in words what a few steps do, those that lead nowhere first."""
        absent = [[self.step_line(s)] for s in self.trace.steps if s.marks & ABSENT]
        lines = []
        for step in self.featured():
            number = self.trace.steps.index(step)
            pair = next(p for p in self.trace.pairs if p.step == number and p.data is not None)
            lines.append([self.step_line(step), self.move_line(pair)])
        return (absent[:2] + lines)[:4]

    def featured(self) -> list[Step]:
        """Return the steps to draw arrows for: all of a few, else some of different rows."""
        steps = [step for step in self.trace.steps if step.cell is not None]
        is_list = any(len(panel.shape) < 2 for panel in self.trace.panels.values())
        is_slices = len(self.trace.pairs) > len(self.trace.steps)
        if len(steps) <= _ARROWS and (is_list or is_slices):
            return steps
        chosen: list[Step] = []
        colours, rows = set(), set()
        for step in steps:
            # Arrows from one row would run in one lane.
            row = step.position[:-1] or step.position
            if self.colour(step) not in colours and row not in rows:
                chosen.append(step)
                colours.add(self.colour(step))
                rows.add(row)
        return chosen[:3]

    def index_cells(self, step: Step) -> list[Cell]:
        """Return the cells of an index tuple."""
        cells = self.cells[self.names.indices]
        assert self.trace.form is not None
        if not self.trace.form.tuples:
            return [cells[step.position]]
        return [cells[(*step.position, c)] for c in range(len(step.given))]

    def data_cell(self, pair: Pair) -> Cell | None:
        """Return the cell of data, or in a scatter of the output, if it is shown."""
        name = self.names.data if self.trace.is_gather else self.names.output
        return None if pair.data is None else self.cells[name].get(pair.data)

    def moved_cell(self, pair: Pair) -> Cell:
        """Return the cell of the output of a gather, or of the updates of a scatter."""
        return self.cells[self.trace.moved_name][pair.moved]

    def twin(self, cell: Cell) -> Cell | None:
        """Return the cell at the same place of a scatter's output, or of data for the output."""
        twins = {self.names.data: self.names.output, self.names.output: self.names.data}
        if self.trace.is_gather or cell.panel not in twins:
            return None
        return self.cells[twins[cell.panel]].get(cell.at)

    def _add_cells(self, panel: Panel) -> None:
        for at in itertools.product(*(range(len(axis)) for axis in panel.window)):
            coordinate = tuple(axis[i] for axis, i in zip(panel.window, at, strict=True))
            value = None if panel.values is None else panel.values[at]
            texts = ("?", "not computed") if panel.values is None else (short(value), full(value))
            self.cells[panel.name][coordinate] = Cell(panel.name, coordinate, *texts)

    def _add_indices(self) -> None:
        distinct = sorted({step.cell for step in self.trace.steps if step.cell is not None})
        self._colours = {cell: i % COLOURS for i, cell in enumerate(distinct)}
        for step in self.trace.steps:
            for component, cell in enumerate(self.index_cells(step)):
                if self.trace.operator != "tensor_scatter":  # there an index begins many steps
                    cell.colour = self._colour_of(step)
                is_bad = component in step.bad
                marks = [m for m in SYMBOLS if m in step.marks and (is_bad or m not in ABSENT)]
                place_there = step.cell[component] if step.cell else None
                if place_there == step.given[component]:
                    marks = [m for m in marks if m == "repeated"]
                elif place_there is not None and self.trace.operator != "tensor_scatter":
                    cell.note = f"→{place_there}"
                cell.marks = list(dict.fromkeys([*cell.marks, *marks]))

    def colour(self, step: Step) -> int:
        """Return the number of the colour of a step that leads to a place."""
        assert step.cell is not None
        return self._colours[step.cell]

    def _colour_of(self, step: Step) -> int | None:
        return None if step.cell is None else self.colour(step)

    def _add_pairs(self) -> None:
        counts: dict[Coordinate, int] = {}
        for number, pair in enumerate(self.trace.pairs):
            step = self.trace.steps[pair.step]
            there, moved = self.data_cell(pair), self.moved_cell(pair)
            for cell in (there, moved, *self.index_cells(step)):
                if cell is not None:
                    cell.pairs.append(number)
            moved.colour = self._colour_of(step)
            moved.marks += [mark for mark in step.marks if mark in ABSENT]
            if there is not None and pair.data is not None:
                there.colour = self._colour_of(step)
                counts[pair.data] = counts.get(pair.data, 0) + 1
                if not self.trace.is_gather and counts[pair.data] > 1:
                    there.marks = ["repeated"]
                    there.note = f"{SYMBOLS['repeated']}{counts[pair.data]}"

    def _cut_values(self) -> None:
        """Keep the values of a whole picture within bounds: there may be many long strings."""
        cells = list(self.all_cells())
        if sum(len(escape(cell.full)) for cell in cells) > _VALUES:
            share = max(2 * CELL_WIDTH, _VALUES // (_ESCAPED * len(cells)))
            for cell in cells:
                if len(cell.full) > share:
                    cell.full = f"{cell.full[:share]}…"

    def _absent_line(self, step: Step) -> str:
        error = self.trace.error
        if "filled" in step.marks:
            value = short(self.trace.attributes.get("fill_value", 0), 24)
            return f"no such place, so fill_value = {value} is taken"
        if "dropped" in step.marks:
            return "no such place, so the update is dropped"
        if self.trace.operator == "tensor_scatter" or not step.bad:
            return str(error).partition(": ")[2].partition("; ")[0]
        component = min(step.bad)
        length = self.trace.extent[component]
        assert self.trace.form is not None
        axis = self.trace.form.addressed[component]
        if length == 0:
            return f"axis {axis} has length 0, so no index is in range"
        return (
            f"{step.given[component]} is not in [{-length}, {length - 1}], the range of axis {axis}"
        )

    def _write_lines(self, pair: Pair) -> list[str]:
        attributes = self.trace.attributes
        reduction = attributes.get("reduction", "none")
        target = place(self.names.output, pair.data or ())
        value, before, after = (short(v, 24) for v in (pair.value, pair.before, pair.after))
        lines = [assignment(reduction, target, value)]
        if reduction == "none" or pair.after is None:
            return lines
        if reduction == "mean" or attributes.get("include_self", True) is not True:
            return [*lines, f"so far {target} = {after}"]
        signs = {"add": f"{before} + {value}", "mul": f"{before} * {value}"}
        done = signs.get(reduction, f"{reduction}({before}, {value})")
        return [*lines, f"{target} = {done} = {after}"]


def _attribute(value: Any) -> str:
    return full(value)[:60]


def _tuple(components: Coordinate, is_tuple: bool) -> str:
    return f"[{', '.join(map(str, components))}]" if is_tuple else str(components[0])


def _each(window: tuple[tuple[int, ...], ...]) -> Iterator[Coordinate]:
    return itertools.product(*window)


def _with_gaps(window: tuple[int, ...], length: int) -> list[int | None]:
    """Return the positions shown, with None where others are left out.

    Examples
    --------
    >>> _with_gaps((0, 1, 5), 9)
    [0, 1, None, 5, None]
    """
    shown: list[int | None] = []
    last = -1
    for position in window:
        if position != last + 1:
            shown.append(None)
        shown.append(position)
        last = position
    return [*shown, None] if last != length - 1 else shown
