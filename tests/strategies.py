"""Hypothesis strategies: whole calls, good and bad, in every dtype and memory layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases import (
    DTYPES,
    INDEX_DTYPES,
    REDUCERS,
    SCATTERS,
    Placed,
    as_dtype,
    modes_of,
    paste,
    place,
    random_values,
    reductions_of,
)

# equal sizes, ones and empty axes are common
SIDES = st.sampled_from((2, 2, 3, 3, 1, 4, 0, 5))
MAX_SIZE = 400  # elements of an operand: the oracle takes a step of Python for each

ANY_HIGH = 100  # stands for no upper bound, and fits every index dtype


@dataclass
class Call:
    """A call of a public function; `inputs` lie in buffers with guards."""

    operator: str
    inputs: dict[str, Placed]
    attributes: dict[str, Any]
    result_shape: tuple[int, ...]

    def _repr_pretty_(self, printer, cycle):
        printer.text(paste(self.operator, self.arrays, self.attributes))

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return {name: placed.array for name, placed in self.inputs.items()}


@st.composite
def calls(draw, operator, of_onnx=False):
    """A call whose shapes and dtypes are right.

    In mode raise one index is out of range now and then; in other modes many are. `of_onnx` draws
    what ONNX and DirectML have too: mode raise, and no include_self.
    """
    dtype = as_dtype(draw(st.sampled_from(DTYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    modes = ("raise",) if of_onnx else ("raise", *modes_of(operator))
    mode = draw(st.sampled_from(modes))
    build = {"gather": slices, "gather_nd": tuples, "scatter_nd": tuples, "tensor_scatter": caches}
    shapes, attributes, limits, result = draw(build.get(operator, elements)(operator, mode))
    values = {name: random_values(rng, dtype, shape) for name, shape in shapes.items()}
    names = ("past_cache", "update", "write_indices") if operator == "tensor_scatter" else ()
    if limits is not None:
        values[names[-1] if names else "indices"] = draw(indices(rng, *limits, mode))
    if operator in REDUCERS:
        attributes["reduction"] = draw(st.sampled_from(tuple(reductions_of(dtype))))
        if not of_onnx:
            attributes |= attribute(draw, "include_self", draw(st.booleans()), True)
    if operator != "tensor_scatter":
        attributes |= attribute(draw, "mode", mode, "raise")
    # float8_e8m0fnu has no zero, which the default stands for
    if mode == "fill" and (dtype.name == "float8_e8m0fnu" or draw(st.booleans())):
        attributes["fill_value"] = random_values(rng, dtype, ())[()]
    order = names or ("data", "indices", "updates")
    placed = {name: draw(layouts(values[name])) for name in order if name in values}
    return Call(operator, placed, attributes, result)


# Each of the next four draws (shapes of values, attributes, limits, shape of the result), where
# `limits` are the arguments of `indices` below, or None where that operand is left out.


@st.composite
def shapes_of(draw, min_rank, max_rank):
    shape = tuple(draw(st.lists(SIDES, min_size=min_rank, max_size=max_rank)))
    return trimmed(shape)


def trimmed(shape):
    """The shape with late sizes cut to 1 once it holds enough elements."""
    kept = []
    for n in shape:
        kept.append(n if np.prod(kept, dtype=int) * n <= MAX_SIZE else 1)
    return tuple(kept)


def attribute(draw, name, value, default):
    """The attribute as a keyword, which may be left out where it has its default."""
    return {} if value == default and draw(st.booleans()) else {name: value}


@st.composite
def axes(draw, rank, first=0):
    """(axis counted from the front, axis as given)"""
    axis = draw(st.integers(first, rank - 1))
    return axis, draw(st.sampled_from((axis, axis - rank)))


@st.composite
def slices(draw, operator, mode):
    data = draw(shapes_of(1, 6))
    axis, given_axis = draw(axes(len(data)))
    picks = trimmed((*data[:axis], *data[axis + 1 :], *draw(shapes_of(0, 3))))
    picks = picks[len(data) - 1 :]
    if data[axis] == 0 and mode == "raise":
        picks = (*picks, 0)
    limits = (picks, [(-data[axis], data[axis] - 1)], False)
    result = data[:axis] + picks + data[axis + 1 :]
    return {"data": data}, attribute(draw, "axis", given_axis, 0), limits, result


@st.composite
def elements(draw, operator, mode):
    data = draw(shapes_of(1, 6))
    axis, given_axis = draw(axes(len(data)))
    smaller = [draw(st.integers(0, n)) if draw(st.booleans()) else n for n in data]
    smaller[axis] = draw(SIDES) if data[axis] or mode != "raise" else 0
    shapes = {"data": data}
    if operator in SCATTERS:
        shapes["updates"] = tuple(smaller)
    limits = (tuple(smaller), [(-data[axis], data[axis] - 1)], False)
    result = data if operator in SCATTERS else tuple(smaller)
    return shapes, attribute(draw, "axis", given_axis, 0), limits, result


@st.composite
def tuples(draw, operator, mode):
    data = draw(shapes_of(1, 6))
    is_scatter = operator in SCATTERS
    batch_dims = 0 if is_scatter else draw(st.integers(0, len(data) - 1))
    depth = draw(st.integers(0, len(data) - batch_dims))
    tail = data[batch_dims + depth :]
    rows = trimmed((*data[:batch_dims], *tail, *draw(shapes_of(0, 2))))
    rows = data[:batch_dims] + rows[batch_dims + len(tail) :]
    addressed = data[batch_dims : batch_dims + depth]
    if 0 in addressed and 0 not in rows and mode == "raise":
        rows = (*rows, 0)
    shapes = {"data": data}
    if is_scatter:
        shapes["updates"] = rows + tail
    limits = ((*rows, depth), [(-n, n - 1) for n in addressed], True)
    attributes = {} if is_scatter else attribute(draw, "batch_dims", batch_dims, 0)
    return shapes, attributes, limits, data if is_scatter else rows + tail


@st.composite
def caches(draw, operator, _):
    cache = draw(shapes_of(2, 6))
    axis, given_axis = draw(axes(len(cache), first=1))
    length = cache[axis]
    sequence = draw(st.integers(0, length))
    mode = draw(st.sampled_from(("linear", "circular")))
    attributes = attribute(draw, "axis", given_axis, -2) | attribute(draw, "mode", mode, "linear")
    shapes = {"past_cache": cache, "update": (*cache[:axis], sequence, *cache[axis + 1 :])}
    limits = None
    if draw(st.booleans()):
        last = length - sequence if mode == "linear" else ANY_HIGH
        limits = ((cache[0],), [(0, last)], False)
    return shapes, attributes, limits, cache


@st.composite
def indices(draw, rng, shape, bounds, per_entry, mode):
    """Index values in `bounds`; for tuples there are bounds for each entry of the last axis."""
    dtype = np.dtype(draw(st.sampled_from(INDEX_DTYPES)))
    low, high = np.array(bounds).reshape(-1, 2).T if per_entry else np.array(bounds[0])
    if dtype.kind == "u":
        low = np.zeros_like(low)
    if 0 in shape:
        return np.zeros(shape, dtype)
    if mode != "raise":
        high = np.maximum(low, high)  # an axis of length 0
    kind = draw(st.sampled_from(("any", "any", "repeated", "constant along the last axis")))
    values = rng.integers(low, high + 1, shape)
    if kind == "repeated":
        values = np.where(rng.random(shape) < 0.7, np.minimum(np.maximum(low, 0), high), values)
    elif kind.startswith("constant") and not per_entry and len(shape) > 0:
        values = np.broadcast_to(values[..., :1], shape)
    values = values.astype(dtype)
    if mode != "raise":
        share = draw(st.sampled_from((0, 0.1, 0.5, 1)))
        return np.where(rng.random(shape) < share, anywhere(rng, dtype, shape), values)
    at = tuple(int(rng.integers(n)) for n in shape)
    bad = out_of_range(dtype, int(np.broadcast_to(high, shape)[at]))
    if bad and draw(st.integers(0, 9)) == 0:
        values = values.copy()
        values[at] = draw(st.sampled_from(bad))
    return values


def anywhere(rng, dtype, shape):
    """Values of an index dtype around 0, at its ends, and all over it."""
    info = np.iinfo(dtype)
    near = rng.integers(max(info.min, -12), 13, shape).astype(dtype)
    ends = rng.choice(np.array([info.min, info.min + 1, info.max - 1, info.max], dtype), shape)
    far = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return np.choose(rng.integers(0, 3, shape), [near, ends, far])


def out_of_range(dtype, highest):
    """Values of an index dtype that lie outside of the drawn bounds."""
    info = np.iinfo(dtype)
    low = [v for v in (info.min, -highest - 2) if info.min <= v < 0]
    return low + ([] if highest == ANY_HIGH else [highest + 1, info.max])


@st.composite
def layouts(draw, values, writable=False):
    """The values in row-major memory or in any other layout that strides can express.

    Stride 0 makes the values constant along an axis, and is left out for arrays to write to.
    """
    if draw(st.integers(0, 2)) == 0:
        return place(values)
    rank = values.ndim
    order = tuple(draw(st.permutations(range(rank))))
    steps = tuple(draw(st.sampled_from((1, 1, 1, -1, 2, -2))) for _ in range(rank))
    repeat = tuple(
        d
        for d in range(rank)
        if not writable and values.shape[d] > 0 and draw(st.integers(0, 6)) == 0
    )
    for d in repeat:
        values = np.broadcast_to(values.take([0], d), values.shape)
    return place(values, order, steps, repeat, draw(st.sampled_from((0, 0, 1, 3))))
