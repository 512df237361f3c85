"""What NumPy's own functions make of a call: slow or fast, but not ours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

UFUNCS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "mean": np.add}


def peer(operator: str, arrays: dict[str, Array], attributes: dict[str, Any]) -> Array:
    """Return the result of a good call."""
    with np.errstate(all="ignore"):
        if operator == "tensor_scatter":
            return write_cache(*arrays.values(), **attributes)
        data, mode = arrays["data"], attributes.get("mode", "raise")
        indices = arrays["indices"].astype(np.int64)
        if operator == "gather":
            axis = attributes["axis"]
            indices, held = resolved(indices, data.shape[axis], mode)
            result = np.take(data, indices, axis)
            if not held.all():
                result[(slice(None),) * (axis % data.ndim) + (~held,)] = attributes["fill_value"]
            return result
        where, held = places(operator, data, indices, attributes, mode)
        if operator.startswith("gather"):
            result = data[where]
            if not held.all():
                result[~held] = attributes["fill_value"]
            return result
        if not held.any():
            return data.copy()
        where = tuple(np.broadcast_to(part, held.shape)[held] for part in where)
        return scattered(data, where, arrays["updates"][held], attributes)


def resolved(indices: Array, length: int, mode: str) -> tuple[Array, Array]:
    """Return cells of an axis, and where there is one."""
    if mode == "wrap":
        indices = indices % length
    elif mode == "clip":
        indices = np.clip(indices, 0, length - 1)
    held = (-length <= indices) & (indices < length)
    return np.where(held, indices % max(length, 1), 0), held


def places(
    operator: str, data: Array, indices: Array, attributes: dict[str, Any], mode: str
) -> tuple[tuple[Array, ...], Array]:
    """Return the index arrays that name cells of `data`, and where there is a cell."""
    if operator.endswith("_nd"):
        batch = attributes.get("batch_dims", 0)
        lengths = data.shape[batch : batch + indices.shape[-1]]
        parts = [resolved(indices[..., d], n, mode) for d, n in enumerate(lengths)]
        rows = np.ogrid[tuple(map(slice, indices.shape[:-1]))][:batch]
        where = (*rows, *(part for part, _ in parts))
        return where, np.logical_and.reduce([held for _, held in parts])
    axis = attributes["axis"]
    where = list(np.ogrid[tuple(map(slice, indices.shape))])
    where[axis], held = resolved(indices, data.shape[axis], mode)
    return tuple(where), held


def scattered(
    data: Array, where: tuple[Array, ...], updates: Array, attributes: dict[str, Any]
) -> Array:
    """Combine in the order of the indices, which NumPy keeps in one dimension."""
    reduction = attributes.get("reduction", "none")
    lengths = data.shape[: len(where)]
    cells = np.ravel_multi_index(where, lengths)
    out = data.copy().reshape(math.prod(lengths), -1)
    updates = updates.reshape(len(cells), -1)
    if out.shape[1] == 1:  # for which it is much faster
        out, updates = out[:, 0], updates[:, 0]
    if reduction == "none":
        out[cells] = updates
        return out.reshape(data.shape)
    if not attributes["include_self"]:
        out[cells] = neutral(reduction, out.dtype)
    UFUNCS[reduction].at(out, cells, updates)
    if reduction == "mean":
        terms = np.bincount(cells, minlength=len(out))
        met = np.flatnonzero(terms)
        divisors = (terms[met] + attributes["include_self"]).reshape(-1, *(1,) * (out.ndim - 1))
        out[met] = quotients(out[met], divisors)
    return out.reshape(data.shape)


def neutral(reduction: str, dtype: np.dtype[Any]) -> Any:
    """Return the value that leaves each other one as it is."""
    if reduction in ("add", "mean"):
        return -np.zeros((), dtype) if dtype.kind in "fc" else 0  # 0.0 would change -0.0
    if reduction == "mul":
        return 1
    if dtype.kind == "b":
        return reduction == "min"
    if dtype.kind == "f":
        return np.inf if reduction == "min" else -np.inf
    return np.iinfo(dtype).max if reduction == "min" else np.iinfo(dtype).min


def quotients(totals: Array, terms: Array) -> Array:
    """Integers floor; half divides as float32."""
    if totals.dtype.kind in "iu":
        wide = np.dtype(f"{totals.dtype.kind}8")
        return (totals.astype(wide) // terms.astype(wide)).astype(totals.dtype)
    if totals.dtype.kind == "c":
        result = np.empty_like(totals)
        result.real, result.imag = (
            part / terms.astype(part.dtype) for part in (totals.real, totals.imag)
        )
        return result
    wide = np.promote_types(totals.dtype, np.float32)
    return (totals.astype(wide) / terms.astype(wide)).astype(totals.dtype)


def write_cache(
    past_cache: Array,
    update: Array,
    write_indices: Array | None = None,
    *,
    axis: int,
    mode: str,
) -> Array:
    """Write each batch row of `update` from a position of its own on."""
    out, length, steps = past_cache.copy(), past_cache.shape[axis], update.shape[axis]
    for row in range(out.shape[0]):
        start = 0 if write_indices is None else int(write_indices[row])
        places = (
            (start + np.arange(steps)) % length if mode == "circular" else start + np.arange(steps)
        )
        np.moveaxis(out[row], axis - 1, 0)[places] = np.moveaxis(update[row], axis - 1, 0)
    return out
