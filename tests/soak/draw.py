"""Random calls over every operator, dtype, layout, mode and thread count, each from its own seed.

Most of the time would go into random numbers. So the shape of a call is drawn by Python's
generator, and its values are a stretch, of random place and step, of a table that is drawn once for
each dtype.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np

from cases import (
    DTYPES,
    INDEX_DTYPES,
    OPERATORS,
    REDUCERS,
    SCATTERS,
    Placed,
    as_dtype,
    modes_of,
    place,
    random_values,
    reductions_of,
)

THREADS = (1, 2, 3, 4, 8)
EMPTY = 0.05  # share of the shapes with a side of 0


@dataclass(frozen=True)
class Scale:
    """How large calls are."""

    sides: tuple[int, ...]
    items: int


SMALL = Scale((2, 2, 3, 3, 1, 4, 5, 7), 200)  # the oracle takes a step of Python for each item
MEDIUM = Scale((16, 31, 64, 100, 257), 10_000)  # more than a register, a block or a cache line
LARGE = Scale((300_000,), 600_000)  # enough for several threads

LARGE_SHAPES = ((600_000,), (700, 900), (64, 9000), (9000, 64), (8, 300, 250), (100_000, 6))
LARGE_DTYPES = ("float32", "float64", "int32", "int64", "uint8", "bool", "float16", "complex64")
INDICES = tuple((np.dtype(name), np.iinfo(name)) for name in INDEX_DTYPES)
TABLE = 1 << 14
ORDER = ("data", "past_cache", "indices", "updates", "update", "write_indices")

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Bounds = list[tuple[int, int]]
T = TypeVar("T")


@cache
def table_of(seed: int, name: str) -> Array:
    """Values of a dtype, or with an empty name any 64 bits."""
    rng = np.random.default_rng([seed, DTYPES.index(name) if name else len(DTYPES)])
    if not name:
        return rng.integers(0, 2**64, TABLE, np.uint64)
    return np.asarray(random_values(rng, as_dtype(name), (TABLE,)))


class Source:
    """The choices of one case."""

    def __init__(self, seed: int, number: int) -> None:
        self.seed = seed
        self.chosen = random.Random(f"{seed}/{number}").random

    def below(self, n: int) -> int:
        return int(self.chosen() * n)

    def chance(self, share: float) -> bool:
        return self.chosen() < share

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.chosen() * len(choices))]

    def sides(self, scale: Scale, rank: int) -> Shape:
        """Sizes, seldom one of 0."""
        drawn = [self.pick(scale.sides) for _ in range(rank)]
        if rank and self.chance(EMPTY):
            drawn[self.below(rank)] = 0
        return tuple(drawn)

    def stretch(self, name: str, size: int) -> Array:
        """Values of a dtype by its name; with an empty name any 64 bits."""
        table = table_of(self.seed, name)
        if size * 8 > TABLE:
            return table[self.generator().integers(0, TABLE, size)]
        step = 1 + self.below(7)
        at = self.below(TABLE - size * step)
        return table[at : at + size * step : step]

    def values(self, name: str, shape: Shape) -> Array:
        return self.stretch(name, math.prod(shape)).reshape(shape)

    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self.below(1 << 53))


@dataclass
class Call:
    """A call of a public function, and how to make it."""

    operator: str
    dtype: str
    inputs: dict[str, Placed]
    attributes: dict[str, Any]
    threads: int
    out: str  # "", "in place" or "elsewhere"

    @property
    def arrays(self) -> dict[str, Array]:
        return {name: placed.array for name, placed in self.inputs.items()}


def draw_small(source: Source) -> Call:
    """Any dtype and layout; without a mode, one call in eight has an index out of range."""
    operator, name = source.pick(OPERATORS), source.pick(DTYPES)
    data = limited(SMALL, source.sides(SMALL, 1 + source.below(4)))
    shapes, attributes, bounds = draw_shapes(source, SMALL, operator, data)
    if operator in REDUCERS:
        attributes["reduction"] = source.pick(reductions_of(as_dtype(name)))
        attributes["include_self"] = source.chance(0.7)
    mode = source.pick((*modes_of(operator), "raise"))
    if mode != "raise":
        attributes["mode"] = mode
    if mode == "fill" and source.chance(0.5):
        attributes["fill_value"] = source.values(name, ())[()]
    values = {key: source.values(name, shape) for key, shape in shapes.items()}
    for key, limits in bounds.items():
        values[key] = draw_indices(source, *limits)
        if mode != "raise":
            values[key] = scattered(source, values[key])
        elif source.chance(0.125):
            values[key] = spoiled(source, values[key])
    out = source.pick(("in place" if operator in SCATTERS else "", "elsewhere", "", "", ""))
    first = next(iter(shapes))
    placed = {
        key: draw_layout(source, values[key], writable=out == "in place" and key == first)
        for key in ORDER
        if key in values
    }
    return Call(operator, name, placed, attributes, source.pick(THREADS), out)


def draw_medium(source: Source) -> Call:
    """Long enough for what the kernels do with many items at once; any dtype."""
    data = limited(MEDIUM, source.sides(MEDIUM, 1 + source.below(3)))
    return draw_for_numpy(source, MEDIUM, source.pick(DTYPES), data)


def draw_large(source: Source) -> Call:
    """Large enough for several threads."""
    return draw_for_numpy(source, LARGE, source.pick(LARGE_DTYPES), source.pick(LARGE_SHAPES))


def draw_for_numpy(source: Source, scale: Scale, name: str, data: Shape) -> Call:
    """A good call that NumPy can make itself."""
    operator, dtype = source.pick(OPERATORS), as_dtype(name)
    if operator == "tensor_scatter" and len(data) == 1:
        data = limited(scale, (6, 400, 250))
    shapes, attributes, bounds = draw_shapes(source, scale, operator, data)
    if operator in REDUCERS:
        attributes["reduction"] = source.pick(reductions_in_numpy(dtype))
        attributes["include_self"] = dtype.kind not in "biufc" or source.chance(0.7)
    mode = source.pick((*modes_of(operator), "raise"))
    if mode != "raise":
        attributes["mode"] = mode
    if mode == "fill":
        attributes["fill_value"] = source.values(name, ())[()]
    values = {key: source.values(name, shape) for key, shape in shapes.items()}
    for key, limits in bounds.items():
        values[key] = draw_many_indices(source, *limits, mode != "raise")
    plain = source.chance(0.5)
    placed = {
        key: place(values[key]) if plain else draw_layout(source, values[key], writable=True)
        for key in ORDER
        if key in values
    }
    out = source.pick(("in place" if operator in SCATTERS else "", "", ""))
    return Call(operator, name, placed, attributes, source.pick(THREADS[1:]), out)


def reductions_in_numpy(dtype: np.dtype[Any]) -> list[str]:
    """Reductions that peers.py has, of the same rounding."""
    allowed = reductions_of(dtype)
    if dtype.kind == "c":  # NumPy rounds products otherwise on some processors
        return [name for name in allowed if name != "mul"]
    if dtype.kind in "US":  # its sums are cut to the width of the array
        return ["none"]
    return [name for name in allowed if dtype.kind in "biuf" or name in ("none", "add")]


def limited(scale: Scale, shape: Shape) -> Shape:
    """The shape with late sizes cut to what keeps it small enough."""
    kept: list[int] = []
    for n in shape:
        kept.append(min(n, scale.items // max(math.prod(kept), 1)))
    return tuple(kept)


def draw_shapes(
    source: Source, scale: Scale, operator: str, data: Shape
) -> tuple[dict[str, Shape], dict[str, Any], dict[str, Any]]:
    """Return shapes of the values, attributes, and for indices (shape, bounds, per component)."""
    rank = len(data)
    axis = source.below(rank)
    named = {"axis": axis - rank * source.below(2)}

    def more(room: int) -> Shape:
        most = 2 * scale.items // max(room, 1)
        drawn = source.sides(scale, source.below(3) if scale is SMALL else 1 + source.below(2))
        return drawn if math.prod(drawn) <= most else (max(1, min(most, scale.items // 2)),)

    if operator == "gather":
        picks = more(math.prod(data[:axis] + data[axis + 1 :]))
        picks = (*picks, 0) if data[axis] == 0 else picks
        bounds = (picks, [(-data[axis], data[axis] - 1)], False)
        return {"data": data}, named, {"indices": bounds}
    if operator in ("gather_elements", "scatter", "scatter_elements"):
        sizes = list(data)
        if scale is not LARGE:
            least = 0 if source.chance(EMPTY) else 1
            sizes = [n if source.chance(0.6) else min(n, least + source.below(n)) for n in data]
            sizes[axis] = source.pick(scale.sides) if data[axis] else 0
            sizes = list(limited(scale, tuple(sizes)))
        bounds = (tuple(sizes), [(-data[axis], data[axis] - 1)], False)
        updates = {} if operator == "gather_elements" else {"updates": tuple(sizes)}
        return {"data": data, **updates}, named, {"indices": bounds}
    if operator in ("gather_nd", "scatter_nd"):
        batch = source.below(rank) if operator == "gather_nd" else 0
        least = 0 if scale is SMALL else 1
        depth = least + source.below(rank - batch + 1 - least)
        addressed, tail = data[batch : batch + depth], data[batch + depth :]
        rows = data[:batch] + more(math.prod(data[:batch] + tail))
        rows = (*rows, 0) if 0 in addressed and 0 not in rows else rows
        bounds = ((*rows, depth), [(-n, n - 1) for n in addressed], True)
        if operator == "gather_nd":
            return {"data": data}, {"batch_dims": batch}, {"indices": bounds}
        return {"data": data, "updates": rows + tail}, {}, {"indices": bounds}
    if rank == 1:
        data, rank = (*source.sides(scale, 1), *data), 2
    axis = 1 + source.below(rank - 1)
    steps = min(data[axis], source.below(data[axis] + 2))
    mode = source.pick(("linear", "circular"))
    last = data[axis] - steps if mode == "linear" else 100
    shapes = {"past_cache": data, "update": (*data[:axis], steps, *data[axis + 1 :])}
    starts = {} if source.chance(0.2) else {"write_indices": ((data[0],), [(0, last)], False)}
    return shapes, {"axis": axis, "mode": mode}, starts


def dtype_for(source: Source, bounds: Bounds) -> tuple[np.dtype[Any], Any]:
    """An index dtype that holds each upper bound."""
    most = max((high for _, high in bounds), default=0)
    return source.pick([each for each in INDICES if each[1].max >= most])


def draw_indices(source: Source, shape: Shape, bounds: Bounds, per_component: bool) -> Array:
    """Indices in the bounds."""
    dtype, info = dtype_for(source, bounds)
    if 0 in shape:
        return np.zeros(shape, dtype)
    lows = [max(low, info.min) for low, _ in bounds]
    spans = [high - low + 1 for low, (_, high) in zip(lows, bounds, strict=True)]
    low, span = (np.array(lows), np.array(spans, np.uint64)) if per_component else (lows[0], None)
    words = source.values("", shape)
    values = (words % (np.uint64(spans[0]) if span is None else span)).astype(np.int64) + low
    kind = source.below(4)
    if kind == 0:
        values = np.where(source.values("", shape) % 10 < 7, np.maximum(low, 0), values)
    elif kind == 1 and not per_component and len(shape) > 0:
        values = np.broadcast_to(values[..., :1], shape)
    return np.asarray(values).astype(dtype)


def draw_many_indices(
    source: Source, shape: Shape, bounds: Bounds, per_component: bool, beyond: bool
) -> Array:
    """Indices in the bounds, or as far again beyond them."""
    dtype, info = dtype_for(source, bounds)
    low, high = np.array(bounds).T if per_component else np.array(bounds[0])
    length = high + 1 if beyond else 0
    most = min(info.max, 2**62)
    low, high = np.maximum(low - length, info.min), np.minimum(high + length, most)
    values = source.generator().integers(low, high + 1, shape)
    kind = source.below(4)
    if kind == 0:
        values = np.where(source.values("", shape) % 10 < 7, np.maximum(low, 0), values)
    elif kind == 1 and not per_component:
        values = np.broadcast_to(values[..., :1], shape)
    return values.astype(dtype)


def spoiled(source: Source, indices: Array) -> Array:
    """Return indices of which one is at an end of its dtype."""
    if indices.size == 0:
        return indices
    info = np.iinfo(indices.dtype)
    changed = indices.copy()
    changed[tuple(source.below(n) for n in indices.shape)] = source.pick((info.min, info.max))
    return changed


def scattered(source: Source, indices: Array) -> Array:
    """Return indices of which some are near the range, and some anywhere in their dtype."""
    info = np.iinfo(indices.dtype)
    words = source.values("", indices.shape)
    near = np.clip((words >> np.uint64(32)).astype(np.int64) % 41 - 20, max(info.min, -20), None)
    kind = source.values("", indices.shape) % 10
    outside = np.where(kind < 2, near.astype(indices.dtype), words.astype(indices.dtype))
    return np.asarray(np.where(kind < 3, outside, indices))


def draw_layout(source: Source, values: Array, writable: bool) -> Placed:
    """Any order of the axes, steps, directions and strides of 0, out of line or not."""
    if source.chance(0.3):
        return place(values)
    rank = values.ndim
    order = list(range(rank))
    for d in range(rank - 1, 0, -1):
        other = source.below(d + 1)
        order[d], order[other] = order[other], order[d]
    steps = tuple(source.pick((1, 1, 1, -1, 2, -2)) for _ in range(rank))
    repeat = ()
    if not writable:
        repeat = tuple(d for d in range(rank) if source.chance(0.1) and values.shape[d] > 0)
    if repeat:
        one_each = tuple(slice(0, 1) if d in repeat else slice(None) for d in range(rank))
        values = np.broadcast_to(values[one_each], values.shape)
    return place(values, tuple(order), steps, repeat, source.pick((0, 0, 1, 3)))
