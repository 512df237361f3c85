"""Random calls of every operator, dtype, layout and thread count, each from a seed of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cases import (
    DTYPES,
    INDEX_DTYPES,
    OPERATORS,
    SCATTERS,
    Placed,
    as_dtype,
    modes_of,
    place,
    random_values,
    reductions_of,
)

SIDES = (2, 2, 3, 3, 1, 4, 0, 5, 7)
MOST_ITEMS = 200  # the oracle takes a step of Python for each
THREADS = (1, 2, 3, 4, 8)
LARGE_DTYPES = ("float32", "float64", "int32", "int64", "uint8", "bool", "float16", "complex64")

Random = np.random.Generator
Shape = tuple[int, ...]


@dataclass
class Call:
    """A call of a public function, and how to make it."""

    operator: str
    inputs: dict[str, Placed]
    attributes: dict[str, Any]
    threads: int
    in_place: bool

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return {name: placed.array for name, placed in self.inputs.items()}


def draw_small(rng: Random) -> Call:
    """Any dtype and layout; one call in eight has an index that is out of range."""
    operator = str(rng.choice(OPERATORS))
    dtype = as_dtype(str(rng.choice(DTYPES)))
    rank = int(rng.integers(1, 5))
    data = limited(tuple(int(rng.choice(SIDES)) for _ in range(rank)))
    shapes, attributes, bounds = draw_shapes(rng, operator, data)
    if operator in ("scatter_elements", "scatter_nd"):
        attributes["reduction"] = str(rng.choice(reductions_of(dtype)))
        attributes["include_self"] = bool(rng.random() < 0.7)
    mode = str(rng.choice(modes_of(operator) or ("raise",)))
    if mode != "raise":
        attributes["mode"] = mode
    if mode == "fill" and (dtype.name == "float8_e8m0fnu" or rng.random() < 0.5):
        attributes["fill_value"] = random_values(rng, dtype, ())[()]
    values = {name: random_values(rng, dtype, shape) for name, shape in shapes.items()}
    index_name = "write_indices" if operator == "tensor_scatter" else "indices"
    if index_name in bounds:
        spoil = mode == "raise" and rng.random() < 0.125
        values[index_name] = draw_indices(rng, *bounds[index_name], spoil)
        if mode != "raise":
            values[index_name] = scattered(rng, values[index_name])
    order = ("data", "past_cache", "indices", "updates", "update", "write_indices")
    in_place = operator in SCATTERS and rng.random() < 0.3
    first = next(iter(shapes))
    placed = {
        name: draw_layout(rng, values[name], writable=in_place and name == first)
        for name in order
        if name in values
    }
    return Call(operator, placed, attributes, int(rng.choice(THREADS)), in_place)


def draw_large(rng: Random) -> Call:
    """Large enough for several threads, with what NumPy can do itself."""
    operator = str(rng.choice(OPERATORS))
    dtype = as_dtype(str(rng.choice(LARGE_DTYPES)))
    sides = [(600_000,), (700, 900), (64, 9000), (9000, 64), (8, 300, 250), (100_000, 6)]
    data = sides[int(rng.integers(len(sides)))]
    if operator == "tensor_scatter" and len(data) == 1:
        data = (6, 400, 250)
    shapes, attributes, bounds = draw_shapes(rng, operator, data, whole=True)
    if operator in ("scatter_elements", "scatter_nd"):
        # products of complex numbers are rounded otherwise in NumPy, on some processors
        allowed = [r for r in reductions_of(dtype) if (dtype.kind, r) != ("c", "mul")]
        attributes["reduction"] = str(rng.choice(allowed))
    values = {name: random_values(rng, dtype, shape) for name, shape in shapes.items()}
    for name, limits in bounds.items():
        values[name] = draw_indices(rng, *limits, spoil=False)
    order = ("data", "past_cache", "indices", "updates", "update", "write_indices")
    plain = rng.random() < 0.5
    placed = {
        name: place(values[name]) if plain else draw_layout(rng, values[name], writable=True)
        for name in order
        if name in values
    }
    return Call(operator, placed, attributes, int(rng.choice(THREADS[1:])), False)


def limited(shape: Shape) -> Shape:
    """The shape with late sizes cut to 1 once it holds enough items."""
    kept: list[int] = []
    for n in shape:
        kept.append(n if math.prod(kept) * n <= MOST_ITEMS else 1)
    return tuple(kept)


def draw_shapes(
    rng: Random, operator: str, data: Shape, whole: bool = False
) -> tuple[dict[str, Shape], dict[str, Any], dict[str, Any]]:
    """Return shapes of the values, attributes, and for indices (shape, bounds, per component)."""
    rank = len(data)
    axis = int(rng.integers(rank))
    named = {"axis": axis if rng.random() < 0.5 else axis - rank}

    def more(room: int) -> Shape:
        if whole:
            return (max(1, min(300_000, 1_200_000 // max(room, 1))),)
        drawn = tuple(int(rng.choice(SIDES)) for _ in range(rng.integers(0, 3)))
        return drawn if math.prod(drawn) * room <= 2 * MOST_ITEMS else (2,)

    if operator == "gather":
        picks = more(math.prod(data[:axis] + data[axis + 1 :]))
        picks = (*picks, 0) if data[axis] == 0 else picks
        bounds = (picks, [(-data[axis], data[axis] - 1)], False)
        return {"data": data}, named, {"indices": bounds}
    if operator in ("gather_elements", "scatter", "scatter_elements"):
        sizes = [n if whole or rng.random() < 0.6 else int(rng.integers(0, n + 1)) for n in data]
        if not whole:
            sizes[axis] = int(rng.choice(SIDES)) if data[axis] else 0
        bounds = (tuple(sizes), [(-data[axis], data[axis] - 1)], False)
        updates = {} if operator == "gather_elements" else {"updates": tuple(sizes)}
        return {"data": data, **updates}, named, {"indices": bounds}
    if operator in ("gather_nd", "scatter_nd"):
        batch = int(rng.integers(rank)) if operator == "gather_nd" and not whole else 0
        depth = int(rng.integers(1 if whole else 0, rank - batch + 1))
        addressed, tail = data[batch : batch + depth], data[batch + depth :]
        rows = data[:batch] + more(math.prod(data[:batch] + tail))
        rows = (*rows, 0) if 0 in addressed and 0 not in rows else rows
        bounds = ((*rows, depth), [(-n, n - 1) for n in addressed], True)
        if operator == "gather_nd":
            return {"data": data}, {"batch_dims": batch}, {"indices": bounds}
        return {"data": data, "updates": rows + tail}, {}, {"indices": bounds}
    if rank == 1:
        data, rank = (int(rng.choice(SIDES)), *data), 2
    axis = int(rng.integers(1, rank))
    steps = int(rng.integers(0, data[axis] + 1))
    mode = str(rng.choice(("linear", "circular")))
    last = data[axis] - steps if mode == "linear" else 100
    shapes = {"past_cache": data, "update": (*data[:axis], steps, *data[axis + 1 :])}
    starts = {} if rng.random() < 0.2 else {"write_indices": ((data[0],), [(0, last)], False)}
    return shapes, {"axis": axis, "mode": mode}, starts


def draw_indices(
    rng: Random, shape: Shape, bounds: list[tuple[int, int]], per_component: bool, spoil: bool
) -> np.ndarray:
    """Indices in the bounds, or with one that is in none."""
    low, high = np.array(bounds, int).reshape(-1, 2).T if per_component else np.array(bounds[0])
    fits = [name for name in INDEX_DTYPES if np.all(high <= np.iinfo(name).max)]
    dtype = np.dtype(str(rng.choice(fits)))
    info = np.iinfo(dtype)
    if 0 in shape:
        return np.zeros(shape, dtype)
    low = np.maximum(low, info.min)
    values = rng.integers(low, high + 1, shape)
    kind = rng.integers(4)
    if kind == 0:
        values = np.where(rng.random(shape) < 0.7, np.maximum(low, 0), values)
    elif kind == 1 and not per_component and len(shape) > 0:
        values = np.broadcast_to(values[..., :1], shape)
    values = np.clip(values, info.min, info.max).astype(dtype)
    if spoil:
        at = tuple(int(rng.integers(n)) for n in shape)
        values = np.array(values)
        values[at] = (info.min, info.max)[int(rng.integers(2))]
    return values


def scattered(rng: Random, indices: np.ndarray) -> np.ndarray:
    """Return indices of which some are near the range, and some anywhere in their dtype."""
    info = np.iinfo(indices.dtype)
    near = np.clip(rng.integers(-20, 21, indices.shape), info.min, info.max).astype(indices.dtype)
    far = rng.integers(info.min, info.max, indices.shape, indices.dtype, endpoint=True)
    kind = rng.random(indices.shape)
    return np.asarray(np.where(kind < 0.2, near, np.where(kind < 0.3, far, indices)))


def draw_layout(rng: Random, values: np.ndarray, writable: bool) -> Placed:
    """Any order of the axes, steps, directions and strides of 0, out of line or not."""
    if rng.random() < 0.3:
        return place(values)
    rank = values.ndim
    order = tuple(int(d) for d in rng.permutation(rank))
    steps = tuple(int(rng.choice((1, 1, 1, -1, 2, -2))) for _ in range(rank))
    repeat = tuple(
        d for d in range(rank) if not writable and values.shape[d] > 0 and rng.random() < 0.1
    )
    for d in repeat:
        values = np.broadcast_to(values.take([0], d), values.shape)
    return place(values, order, steps, repeat, int(rng.choice((0, 0, 1, 3))))
