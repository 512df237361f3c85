"""Arguments to Dask arrays of known chunks, and the checks that need no item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, prod
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.utils import parse_bytes
from numpy.typing import NDArray

import sowreap
from sowreap._arrays import as_array
from sowreap._errors import ArgumentError, DtypeError, ShapeError, SowreapError
from sowreap.dask._storage import is_stored, read_lazily

Chunks = tuple[tuple[int, ...], ...]
Inputs = dict[str, Any]  # by name: a Dask array, an array in storage, or a NumPy array


def block_limit() -> int:
    """Bytes that a block may have where this module chooses its size: Dask's own setting."""
    return int(parse_bytes(dask.config.get("array.chunk-size")))


def read_inputs(operator: str, given: Mapping[str, Any]) -> Inputs:
    """The arguments as arrays: Dask's and those in storage as they are, all else as NumPy's."""
    arrays: Inputs = {}
    for name, value in given.items():
        if isinstance(value, da.Array):
            _check_dask(operator, name, value)
            arrays[name] = value
        elif is_stored(value):
            arrays[name] = value
        else:
            first = next(iter(arrays.values()), None) if name in ("updates", "update") else None
            dtype = None if first is None else first.dtype
            arrays[name] = as_array(operator, name, value, dtype)
    return arrays


def _check_dask(operator: str, name: str, array: da.Array) -> None:
    if any(isnan(n) for sizes in array.chunks for n in sizes):
        raise ShapeError(
            f"{operator}: {name} has unknown chunk sizes, {array.chunks}. "
            f"Call {name}.compute_chunk_sizes() first.",
            operator=operator,
            argument=name,
        )
    meta = array._meta
    if type(meta) is not np.ndarray:
        raise DtypeError(
            f"{operator}: {name} has blocks of {type(meta).__module__}.{type(meta).__qualname__}; "
            f"numpy.ndarray is needed. Convert with {name}.map_blocks(numpy.asarray).",
            operator=operator,
            argument=name,
        )


_PROBE = np.empty(0, "V7")  # an `out` that no call accepts


def check_shapes(operator: str, inputs: Inputs, attributes: Mapping[str, Any]) -> None:
    """Raise what the function on arrays raises about ranks, shapes and axes.

    It is asked: about arrays of these shapes that take no memory, and with an `out` that it refuses
    once all else is found good.
    """
    index = "write_indices" if operator == "tensor_scatter" else "indices"
    ghosts = [
        np.broadcast_to(np.zeros((), array.dtype if name == index else np.uint8), array.shape)
        for name, array in inputs.items()
    ]
    try:
        getattr(sowreap, operator)(*ghosts, **attributes, out=_PROBE)
    except SowreapError as error:
        if error.argument != "out":
            raise


def result_meta(operator: str, inputs: Inputs, attributes: Mapping[str, Any]) -> NDArray[Any]:
    """An empty result of the right rank and dtype; raises what depends on dtypes and attributes.

    The function on arrays is asked, about arrays without items; or with one, where the rank of
    `indices` says that there is an index.
    """
    index = "write_indices" if operator == "tensor_scatter" else "indices"
    is_tuple = operator.endswith("_nd")
    size = int(index in inputs and inputs[index].ndim == is_tuple)
    empties = []
    for name, array in inputs.items():
        shape = [size] * array.ndim
        if name == index and is_tuple:
            shape[-1] = array.shape[-1]
        blank = "" if array.dtype.kind == "O" else 0  # text has more reductions than other objects
        empties.append(np.full(shape, blank, array.dtype) if size else np.empty(shape, array.dtype))
    result = getattr(sowreap, operator)(*empties, **attributes)
    meta: NDArray[Any] = result[(*(slice(0, 0),) * result.ndim, ...)]
    _check_width(operator, meta, attributes)
    return meta


def _check_width(operator: str, meta: NDArray[Any], attributes: Mapping[str, Any]) -> None:
    if meta.dtype.kind not in "US" or attributes.get("reduction", "none") == "none":
        return
    raise DtypeError(
        f"{operator}: reduction = {attributes['reduction']!r} on data of dtype {meta.dtype} makes "
        "strings whose width depends on the values. Convert data and updates with "
        '.astype("object") or to numpy.dtypes.StringDType().',
        operator=operator,
        argument="reduction",
        value=attributes["reduction"],
    )


# --- chunks -------------------------------------------------------------------------------------


def as_dask(array: Any, chunks: Chunks | None = None) -> da.Array:
    """A Dask array of any input; `chunks` are for one in memory."""
    if isinstance(array, da.Array):
        return array
    if is_stored(array):
        return read_lazily(array)
    if chunks is None:
        room = block_limit() // max(1, array.dtype.itemsize)
        chunks = row_major_chunks(array.shape, room)
    result: da.Array = da.from_array(array, chunks=chunks)
    return result


def without_empty(array: da.Array) -> da.Array:
    """`array` without chunks of size 0, on dimensions that have others."""
    chunks = tuple(tuple(n for n in sizes if n > 0) or (0,) for sizes in array.chunks)
    return rechunk(array, chunks)


def rechunk(array: da.Array, chunks: Any, **limit: int) -> da.Array:
    """`array` in other chunks; itself if it has them."""
    result: da.Array = array.rechunk(chunks, **limit)
    return result


def cut(sizes: Sequence[int], length: int) -> tuple[int, ...]:
    """The chunks of the first `length` places of a dimension."""
    kept: list[int] = []
    rest = length
    for size in sizes:
        kept.append(min(size, rest))
        rest -= kept[-1]
        if rest == 0:
            break
    return tuple(kept)


def aligned(array: da.Array, fixed: Mapping[int, tuple[int, ...]]) -> da.Array:
    """`array` with these chunks on some dimensions, and blocks that have not grown by it.

    Where they would, the other dimensions get smaller chunks.
    """
    if all(array.chunks[d] == sizes for d, sizes in fixed.items()):
        return array
    largest = prod(max(sizes) for sizes in array.chunks)
    chunks = {d: fixed.get(d, sizes) for d, sizes in enumerate(array.chunks)}
    grown = prod(max(sizes) for sizes in chunks.values())
    loose = [d for d in chunks if d not in fixed]
    limit = max(largest, block_limit() // max(1, array.dtype.itemsize))
    if grown > limit and loose:
        share = grown / limit
        for d in loose:
            size = max(1, int(max(chunks[d]) / share))
            share *= size / max(chunks[d])
            chunks[d] = _even(array.shape[d], size)
    return rechunk(array, chunks)


def _even(length: int, size: int) -> tuple[int, ...]:
    """Chunks of one size, and a rest."""
    whole, rest = divmod(length, size)
    return (size,) * whole + ((rest,) if rest else ()) or (0,)


def in_row_major_order(chunks: Chunks, item_limit: int) -> Chunks:
    """Chunks whose blocks, one after the other, are the items in row-major order.

    That is: size 1 up to some dimension, any size along it, whole from there on. `chunks` are kept
    if they are so; else blocks get at most `item_limit` items.
    """
    split = next((d for d, sizes in enumerate(chunks) if max(sizes) > 1), len(chunks))
    if all(len(sizes) == 1 for sizes in chunks[split + 1 :]):
        return chunks
    return row_major_chunks([sum(sizes) for sizes in chunks], item_limit)


def row_major_chunks(shape: Sequence[int], item_limit: int) -> Chunks:
    """Chunks of at most so many items, each of them a run of the items in row-major order."""
    result: list[tuple[int, ...]] = []
    room = item_limit
    for length in reversed(shape):
        result.append(_even(length, max(1, min(length, room))))
        room //= max(1, length)
    return tuple(reversed(result))


def check_out(operator: str, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """`out` is a Dask array or a Zarr array, of the shape and dtype of the result, writable."""

    def problem(text: str, kind: type[ShapeError | ArgumentError | DtypeError]) -> Exception:
        return kind(f"{operator}: out {text}", operator=operator, argument="out")

    if not isinstance(out, da.Array) and not is_stored(out):
        raise problem(
            f"must be a dask.array.Array or a zarr.Array, not {type(out).__name__}. "
            "For an array in memory leave it out and compute() the result.",
            DtypeError,
        )
    if tuple(out.shape) != shape:
        raise problem(f"has shape {tuple(out.shape)} but the result {shape}.", ShapeError)
    if out.dtype != dtype:
        raise problem(f"has dtype {out.dtype} but the result {dtype}.", DtypeError)
    if is_stored(out) and out.read_only:
        raise problem('is read-only. Open it with mode="r+".', ArgumentError)
