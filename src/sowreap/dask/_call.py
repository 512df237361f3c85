"""Public arguments to the one form that graphs are built from."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import dask.array as da
import numpy as np
from dask.array.core import handle_out
from numpy.typing import NDArray

import sowreap
from sowreap.dask import _blocks, _graph, _journal, _layout
from sowreap.dask._arguments import (
    Inputs,
    aligned,
    as_dask,
    block_limit,
    check_out,
    check_shapes,
    cut,
    in_row_major_order,
    read_inputs,
    rechunk,
    result_meta,
    without_empty,
)
from sowreap.dask._layout import Layout
from sowreap.dask._storage import is_stored

Attributes = Mapping[str, Any]

GATHERS = {  # the operator that meets the same indices and reads
    "gather": "gather",
    "gather_elements": "gather_elements",
    "gather_nd": "gather_nd",
    "scatter": "gather_elements",
    "scatter_elements": "gather_elements",
    "scatter_nd": "gather_nd",
}


def gather(
    operator: str, given: Attributes, place: Attributes, mode: Any, fill_value: Any, out: Any
) -> Any:
    """``gather``, ``gather_elements`` and ``gather_nd``; `place` is their axis or batch_dims."""
    inputs = read_inputs(operator, given)
    check_shapes(operator, inputs, place)
    policy = {"mode": mode, "fill_value": fill_value}
    meta = result_meta(operator, inputs, {**place, **policy})
    data, layout = without_empty(as_dask(inputs["data"])), _layout_of(operator, inputs, place)
    chunks = _like_data(data, layout, inputs["indices"].shape)
    indices = _whole_tuples(aligned(as_dask(inputs["indices"]), chunks), layout)
    indices = _small_results(indices, data, layout)
    call = _call(operator, layout, data, indices, inputs, place, mode, meta)
    fill = None
    if mode == "fill":
        fill = sowreap.gather(
            np.empty(0, meta.dtype), np.array(0), mode=mode, fill_value=fill_value
        )
    return _deliver(operator, _graph.gather(call, fill), out)


def scatter(
    operator: str, given: Attributes, place: Attributes, policy: Attributes, out: Any
) -> Any:
    """``scatter``, ``scatter_elements`` and ``scatter_nd``; `place` is the axis, if any."""
    inputs = read_inputs(operator, given)
    check_shapes(operator, inputs, place)
    meta = result_meta(operator, inputs, {**place, **policy})
    data, layout = without_empty(as_dask(inputs["data"])), _layout_of(operator, inputs, place)
    updates = _aligned_updates(as_dask(inputs["updates"]), inputs, data, layout)
    chunks = {n: updates.chunks[d] for n, d in enumerate(layout.pick_dims)}
    if isinstance(inputs["indices"], np.ndarray):
        rest = inputs["indices"].shape[-1:] if layout.tuples else ()
        indices = as_dask(inputs["indices"], (*chunks.values(), *((n,) for n in rest)))
    else:
        indices = _whole_tuples(rechunk(as_dask(inputs["indices"]), chunks), layout)
    call = _call(operator, layout, data, indices, inputs, place, policy["mode"], meta)
    reduction, include_self = policy.get("reduction", "none"), policy.get("include_self", True)
    result = _graph.scatter(call, updates, reduction, include_self)
    return _deliver(operator, result, out, inputs["data"])


def tensor_scatter(given: Attributes, axis: int, mode: str, out: Any) -> Any:
    """``tensor_scatter``: a scatter of steps, each batch row to places of its own."""
    operator = "tensor_scatter"
    inputs = read_inputs(operator, given)
    check_shapes(operator, inputs, {"axis": axis, "mode": mode})
    meta = result_meta(operator, inputs, {"axis": axis, "mode": mode})
    data = without_empty(as_dask(inputs["past_cache"]))
    layout = _layout.cache(data.ndim, axis % data.ndim)
    update = as_dask(inputs["update"])
    update = aligned(update, {d: data.chunks[d] for d in (0, *layout.free)})

    length, steps = (array.shape[layout.addressed[0]] for array in (data, update))
    given_starts = inputs.get("write_indices", np.zeros(data.shape[:1], np.int64))
    rule = _blocks.WriteIndexRule(data.shape, update.shape, layout.addressed[0], mode)
    known, rule_left = _look(given_starts, rule)
    chunks = tuple(update.chunks[d] for d in layout.pick_dims)
    checked = as_dask(given_starts)
    is_circular = mode == "circular"
    if known is not None:
        known = _places(_blocks.starts(known, length, is_circular), np.arange(steps), length)
        indices = as_dask(known, chunks)
    else:
        starts = da.map_blocks(_blocks.starts, checked, length, is_circular, dtype=np.int64)
        step = da.arange(steps, chunks=(chunks[1],), dtype=np.int64)
        indices = _places(starts.rechunk((chunks[0],)), step, length)
    call = _graph.Call(operator, layout, data, indices, checked, rule_left, "wrap", known, meta)
    result = _graph.scatter(call, update, "none", True)
    return _deliver(operator, result, out, inputs["past_cache"])


def _places(starts: Any, steps: Any, length: int) -> Any:
    """Where each step of each batch row goes."""
    return (starts[:, None] + steps[None, :]) % max(1, length)


def _deliver(operator: str, result: da.Array, out: Any, base: Any = None) -> Any:
    """The result itself, or what fills `out` with it; `base` is what a scatter starts from."""
    if out is None:
        return result
    check_out(operator, out, result.shape, result.dtype)
    if isinstance(out, da.Array):
        return handle_out(out, result)
    in_place = is_stored(base) and base.store_path == out.store_path
    return _journal.store(operator, result, out, _graph.untouched(result) if in_place else set())


def _layout_of(operator: str, inputs: Inputs, place: Attributes) -> Layout:
    rank, index_rank = inputs["data"].ndim, inputs["indices"].ndim
    if operator.endswith("_nd"):
        length = inputs["indices"].shape[-1]
        return _layout.tuples(rank, index_rank, length, place.get("batch_dims", 0))
    axis = place["axis"] % rank
    if operator == "gather":
        return _layout.slices(rank, index_rank, axis)
    return _layout.elements(rank, axis)


def _call(
    operator: str,
    layout: Layout,
    data: da.Array,
    indices: da.Array,
    inputs: Inputs,
    place: Attributes,
    mode: str,
    meta: NDArray[Any],
) -> _graph.Call:
    rule: _blocks.Rule | None = None
    is_empty = any(data.shape[d] == 0 for d in layout.addressed)
    if mode == "raise" or (mode in ("wrap", "clip") and is_empty):
        rule = _blocks.IndexRule(
            operator,
            GATHERS[operator],
            tuple({**place, "mode": mode}.items()),
            data.shape,
            layout.free,
            indices.shape,
            layout.tuples,
        )
    known, rule = _look(inputs["indices"], rule)
    return _graph.Call(operator, layout, data, indices, indices, rule, mode, known, meta)


def _look(
    indices: Any, rule: _blocks.Rule | None
) -> tuple[NDArray[Any] | None, _blocks.Rule | None]:
    """Indices that are in memory are checked here and now."""
    if not isinstance(indices, np.ndarray):
        return None, rule
    _blocks.confirm([_blocks.check(indices, (0,) * indices.ndim, rule)])
    return indices, None


# --- chunks -------------------------------------------------------------------------------------


def _like_data(data: da.Array, layout: Layout, shape: tuple[int, ...]) -> dict[int, Any]:
    """The chunks of indices along the dimensions of data that they follow."""
    follows = ((n, d) for n, d in enumerate(layout.aligned) if d is not None)
    return {n: cut(data.chunks[d], shape[n]) for n, d in follows}


def _whole_tuples(indices: da.Array, layout: Layout) -> da.Array:
    return rechunk(indices, {indices.ndim - 1: -1}) if layout.tuples else indices


def _small_results(indices: da.Array, data: da.Array, layout: Layout) -> da.Array:
    """Blocks of indices small enough for the blocks of the result of a gather."""
    slice_bytes = prod(max(data.chunks[d]) for d in layout.free) * data.dtype.itemsize
    picks = range(len(layout.aligned))
    most = max(1, block_limit() // max(1, slice_bytes))
    loose = [n for n in picks if layout.aligned[n] is None]
    if prod(max(indices.chunks[n]) for n in picks) <= 2 * most or not loose:
        return indices
    chunks: dict[int, Any] = dict.fromkeys(loose, "auto")
    kept = prod(max(indices.chunks[n]) for n in range(indices.ndim) if n not in loose)
    fixed = prod(max(indices.chunks[n]) for n in picks if n not in loose)
    limit = max(1, most // max(1, fixed)) * max(1, kept) * indices.dtype.itemsize
    return rechunk(indices, chunks, block_size_limit=limit)


def _aligned_updates(updates: da.Array, inputs: Inputs, data: da.Array, layout: Layout) -> da.Array:
    """Updates in the chunks of data where they run along it, in row-major order elsewhere."""
    indices = inputs["indices"]
    if isinstance(inputs["updates"], np.ndarray) and isinstance(indices, da.Array):
        picks = {d: indices.chunks[n] for n, d in enumerate(layout.pick_dims)}
        updates = rechunk(updates, picks)
    fixed = {layout.pick_dims[n]: c for n, c in _like_data(data, layout, indices.shape).items()}
    fixed |= {at: data.chunks[d] for at, d in zip(layout.free_dims, layout.free, strict=True)}
    updates = aligned(updates, fixed)
    if layout.tuples:
        slice_items = prod(max(data.chunks[d]) for d in layout.free)
        most = block_limit() // max(1, slice_items * updates.dtype.itemsize)
        given = tuple(updates.chunks[d] for d in layout.pick_dims)
        ordered = in_row_major_order(given, max(1, most))
        if ordered != given:
            updates = rechunk(updates, dict(enumerate(ordered)))
    return updates
