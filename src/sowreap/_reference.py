"""The meaning of the seven functions, as the loops of the ONNX standard.

Each function here takes the arguments of its public namesake (without ``out``) and is written to be
obviously right: one plain loop in row-major order of ``indices``, one element at a time. Tests and
documentation compare against it; nothing else may call it.

Sources: the operator texts of ONNX (https://onnx.ai/onnx/operators/). Where a text is silent or
contradicts itself, ``docs/semantics.md`` records the choice.
"""

from __future__ import annotations

import operator as _operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sowreap._errors import ArgumentError, DtypeError, OutOfRangeError, ShapeError

Array = NDArray[Any]

REDUCTIONS = ("none", "add", "mul", "min", "max", "mean")
GATHER_MODES = ("raise", "wrap", "clip", "fill")
SCATTER_MODES = ("raise", "wrap", "clip", "drop")
STRING_KINDS = "OUST"  # str or bytes objects, fixed-width text, fixed-width bytes, StringDType


# --- the functions ------------------------------------------------------------------------------


def gather(
    data: ArrayLike,
    indices: ArrayLike,
    axis: int = 0,
    *,
    mode: str = "raise",
    fill_value: Any = 0,
) -> Array:
    """Read slices of `data` along `axis`.

    Definition::

        out[before, i, after] = data[before, indices[i], after]     (absent: fill_value)

    Source: ONNX Gather, opset 13.
    """
    data, indices = np.asarray(data), np.asarray(indices)
    _check_integers("gather", "indices", indices)
    _check_mode("gather", mode, GATHER_MODES)
    fill_value = _fill_item("gather", fill_value, data.dtype, mode)
    axis = _resolve_axis("gather", axis, data)
    head, tail = data.shape[:axis], data.shape[axis + 1 :]
    out = np.empty(head + indices.shape + tail, data.dtype)
    for i in np.ndindex(indices.shape):
        k = _resolve_index("gather", indices, i, data, axis, mode)
        for before in np.ndindex(head):
            for after in np.ndindex(tail):
                out[before + i + after] = fill_value if k is None else data[(*before, k, *after)]
    return out


def gather_elements(
    data: ArrayLike,
    indices: ArrayLike,
    axis: int = 0,
    *,
    mode: str = "raise",
    fill_value: Any = 0,
) -> Array:
    """Read one element of `data` for each position of `indices`.

    Definition, with `i` over all positions of `indices`::

        out[i] = data[i with i[axis] replaced by indices[i]]        (absent: fill_value)

    Source: ONNX GatherElements, opset 13.
    """
    data, indices = np.asarray(data), np.asarray(indices)
    _check_integers("gather_elements", "indices", indices)
    _check_mode("gather_elements", mode, GATHER_MODES)
    fill_value = _fill_item("gather_elements", fill_value, data.dtype, mode)
    axis = _resolve_axis("gather_elements", axis, data)
    _check_elements_shape("gather_elements", data, indices, axis)
    out = np.empty(indices.shape, data.dtype)
    for i in np.ndindex(indices.shape):
        k = _resolve_index("gather_elements", indices, i, data, axis, mode)
        out[i] = fill_value if k is None else data[(*i[:axis], k, *i[axis + 1 :])]
    return out


def gather_nd(
    data: ArrayLike,
    indices: ArrayLike,
    batch_dims: int = 0,
    *,
    mode: str = "raise",
    fill_value: Any = 0,
) -> Array:
    """Read the slice of `data` that each index tuple addresses.

    Definition, with `b` the batch part of the position `i` and `...` the rest of `data`::

        out[i, ...] = data[b, *indices[i], ...]     (a component absent: fill_value)

    Source: ONNX GatherND, opset 13.
    """
    data, indices = np.asarray(data), np.asarray(indices)
    _check_integers("gather_nd", "indices", indices)
    _check_mode("gather_nd", mode, GATHER_MODES)
    fill_value = _fill_item("gather_nd", fill_value, data.dtype, mode)
    batch_dims = _check_tuples("gather_nd", data, indices, batch_dims)
    tail = data.shape[batch_dims + indices.shape[-1] :]
    out = np.empty(indices.shape[:-1] + tail, data.dtype)
    for i in np.ndindex(indices.shape[:-1]):
        cell = _resolve_tuple("gather_nd", indices, i, data, batch_dims, mode)
        for after in np.ndindex(tail):
            out[i + after] = fill_value if cell is None else data[i[:batch_dims] + cell + after]
    return out


def scatter(
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    axis: int = 0,
    *,
    mode: str = "raise",
) -> Array:
    """Write `updates` into a copy of `data`; the older name of :func:`scatter_elements`.

    Source: ONNX Scatter, opset 9 and 11.
    """
    return _scatter_elements("scatter", data, indices, updates, axis, "none", True, mode)


def scatter_elements(
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    axis: int = 0,
    reduction: str = "none",
    *,
    include_self: bool = True,
    mode: str = "raise",
) -> Array:
    """Combine each element of `updates` with one element of a copy of `data`.

    Definition, with `i` over all positions of `indices` in row-major order::

        at = i with i[axis] replaced by indices[i]                  (absent: skip i)
        out[at] = combine(out[at], updates[i])

    Source: ONNX ScatterElements, opset 18.
    """
    return _scatter_elements(
        "scatter_elements", data, indices, updates, axis, reduction, include_self, mode
    )


def _scatter_elements(
    operator: str,
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    axis: int,
    reduction: str,
    include_self: bool,
    mode: str,
) -> Array:
    data, indices, updates = np.asarray(data), np.asarray(indices), np.asarray(updates)
    _check_integers(operator, "indices", indices)
    _check_mode(operator, mode, SCATTER_MODES)
    _check_updates_dtype(operator, data, updates, reduction)
    axis = _resolve_axis(operator, axis, data)
    _check_elements_shape(operator, data, indices, axis)
    if updates.shape != indices.shape:
        raise ShapeError(
            f"{operator}: updates has shape {updates.shape} but indices has shape "
            f"{indices.shape}; they must match",
            operator=operator,
            argument="updates",
        )
    target = _Target(data, reduction, include_self)
    for i in np.ndindex(indices.shape):
        k = _resolve_index(operator, indices, i, data, axis, mode)
        if k is not None:
            target.meet((*i[:axis], k, *i[axis + 1 :]), updates[i])
    return target.finish(updates)


def scatter_nd(
    data: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    reduction: str = "none",
    *,
    include_self: bool = True,
    mode: str = "raise",
) -> Array:
    """Combine each slice of `updates` with the slice of a copy of `data` that a tuple addresses.

    Definition, with `i` over the positions of index tuples in row-major order::

        out[*indices[i], ...] = combine(out[*indices[i], ...], updates[i, ...])

    A tuple with an absent component is skipped. Source: ONNX ScatterND, opset 18.
    """
    data, indices, updates = np.asarray(data), np.asarray(indices), np.asarray(updates)
    _check_integers("scatter_nd", "indices", indices)
    _check_mode("scatter_nd", mode, SCATTER_MODES)
    _check_updates_dtype("scatter_nd", data, updates, reduction)
    _check_tuples("scatter_nd", data, indices, 0)
    tail = data.shape[indices.shape[-1] :]
    if updates.shape != indices.shape[:-1] + tail:
        raise ShapeError(
            f"scatter_nd: updates has shape {updates.shape} but indices, shape {indices.shape}, "
            f"and data, shape {data.shape}, ask for {indices.shape[:-1] + tail}",
            operator="scatter_nd",
            argument="updates",
        )
    target = _Target(data, reduction, include_self)
    for i in np.ndindex(indices.shape[:-1]):
        cell = _resolve_tuple("scatter_nd", indices, i, data, 0, mode)
        if cell is not None:
            for after in np.ndindex(tail):
                target.meet(cell + after, updates[i + after])
    return target.finish(updates)


def tensor_scatter(
    past_cache: ArrayLike,
    update: ArrayLike,
    write_indices: ArrayLike | None = None,
    axis: int = -2,
    mode: str = "linear",
) -> Array:
    """Write `update` into a copy of `past_cache`, from a position of its own in each batch row.

    Definition, with `before` starting with the batch row::

        place = write_indices[batch row] + s          (mode "circular": modulo the axis length)
        out[before, place, after] = update[before, s, after]

    Source: ONNX TensorScatter, opset 24. The modulus applies to the sequence position alone, as in
    the prose there.
    """
    cache, update = np.asarray(past_cache), np.asarray(update)
    axis = _check_cache("tensor_scatter", cache, update, axis, mode)
    starts = _write_starts("tensor_scatter", cache, update, write_indices, axis, mode)
    length = cache.shape[axis]
    out = _working_copy(cache)
    for i in np.ndindex(update.shape):
        place = starts[i[0]] + i[axis]
        if mode == "circular":
            place %= length
        out[(*i[:axis], place, *i[axis + 1 :])] = update[i]
    return _finish(out, cache, update)


# --- the rules they share -----------------------------------------------------------------------


class _Target:
    """A copy of `data` that meets updates, and how many each of its elements has met."""

    def __init__(self, data: Array, reduction: str, include_self: bool) -> None:
        self.data, self.reduction = data, reduction
        self.include_self = include_self or reduction == "none"
        self.out = _working_copy(data)
        self.met = np.zeros(data.shape, np.int64)

    def meet(self, at: tuple[int, ...], update: Any) -> None:
        first = not self.include_self and self.met[at] == 0
        self.met[at] += 1
        reduction = {"mean": "add"}.get(self.reduction, self.reduction)
        self.out[at] = (
            update if first else combine(reduction, self.out[at], update, self.data.dtype)
        )

    def finish(self, updates: Array) -> Array:
        if self.reduction == "mean":
            for at in zip(*np.nonzero(self.met), strict=True):
                self.out[at] = quotient(self.out[at], int(self.met[at]) + self.include_self)
        return _finish(self.out, self.data, updates)


def quotient(total: Any, terms: int) -> Any:
    """The end of a mean: integers floor, half and small types divide as float32 and round once."""
    dtype = total.dtype
    if dtype.kind in "iu" or "int" in dtype.name:
        return np.asarray(int(total) // terms).astype(dtype)
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            parts = np.array(total, dtype)
            parts.real, parts.imag = (quotient(part, terms) for part in (total.real, total.imag))
            return parts[()]
        wide = np.float32 if dtype.itemsize < 4 else dtype.type
        return rounded(wide(total) / wide(terms), dtype)


def rounded(value: Any, dtype: np.dtype[Any]) -> Any:
    """The nearest of `dtype`.

    Between the two least numbers of float8_e8m0fnu ml_dtypes 0.6 takes the greater, however near
    the other one is. So they are rounded where they are greater: its bits are the exponent.
    """
    if dtype.name != "float8_e8m0fnu" or not 0 < value < 2.0**-126:
        return np.asarray(value).astype(dtype)
    greater = np.asarray(float(value) * 2.0**64).astype(dtype).view(np.uint8)
    return np.asarray(max(int(greater) - 64, 0), np.uint8).view(dtype)


def combine(reduction: str, a: Any, b: Any, dtype: np.dtype[Any]) -> Any:
    """One application of `reduction` to the present value `a` and the update `b`.

    The result has the precision of `dtype`: integers wrap, and every float rounds. NaN propagates
    from either side of min and max; of two equal values (``-0.0`` and ``0.0``) the first stays.
    """
    if reduction == "none":
        return b
    if dtype.kind in STRING_KINDS:
        return a + b
    if dtype.kind == "b":
        return (a or b) if reduction in ("add", "max") else (a and b)
    with np.errstate(all="ignore"):
        if reduction == "add":
            return a + b
        if reduction == "mul":
            return _complex_product(a, b) if dtype.kind == "c" else a * b
        if a != a:
            return a
        if b != b:
            return b
        return b if (b < a if reduction == "min" else b > a) else a


def _complex_product(a: Any, b: Any) -> Any:
    """The plain formula, every operation rounded; a compiler's may differ in infinities."""
    product = np.zeros((), a.dtype)
    product.real = a.real * b.real - a.imag * b.imag
    product.imag = a.real * b.imag + a.imag * b.real
    return product[()]


def _resolve_axis(operator: str, axis: int, data: Array, name: str = "data") -> int:
    if data.ndim == 0:
        raise ShapeError(
            f"{operator}: {name} has rank 0; it needs at least one axis",
            operator=operator,
            argument=name,
        )
    given = _operator.index(axis)
    if not -data.ndim <= given < data.ndim:
        raise ArgumentError(
            f"{operator}: axis={given} is out of range: it must be in [{-data.ndim}, "
            f"{data.ndim - 1}] for {name} of shape {data.shape}",
            operator=operator,
            argument="axis",
            value=given,
        )
    return given % data.ndim


def _check_mode(operator: str, mode: str, known: tuple[str, ...]) -> None:
    if mode not in known:
        raise ArgumentError(
            f"{operator}: mode={mode!r} is unknown; use one of {', '.join(known)}",
            operator=operator,
            argument="mode",
            value=mode,
        )


def _fill_item(operator: str, fill_value: Any, dtype: np.dtype[Any], mode: str) -> Any:
    """The default 0 is the zero of any dtype that has one, such as the empty string."""
    is_default = type(fill_value) is int and fill_value == 0 and dtype.kind != "O"
    if is_default and mode == "fill" and dtype.name == "float8_e8m0fnu":
        raise ArgumentError(
            f"{operator}: fill_value = 0 does not fit; data has dtype {dtype}, which has no zero",
            operator=operator,
            argument="fill_value",
            value=fill_value,
        )
    return np.zeros((), dtype)[()] if is_default else fill_value


def _resolve_index(
    operator: str,
    indices: Array,
    position: tuple[int, ...],
    data: Array,
    axis: int,
    mode: str,
) -> int | None:
    """The cell along `axis`; None where there is none in the modes fill and drop."""
    index = int(indices[position])
    length: int = data.shape[axis]
    if mode == "wrap" and length > 0:
        return index % length
    if mode == "clip" and length > 0:
        return min(max(index, 0), length - 1)
    if not -length <= index < length:
        if mode in ("fill", "drop"):
            return None
        raise OutOfRangeError(
            f"{operator}: indices{list(position)} = {index} is out of range: it is not in "
            f"[{-length}, {length - 1}] for axis {axis} of data, shape {data.shape}; indices has "
            f"shape {indices.shape}",
            operator=operator,
            argument="indices",
            position=position,
            value=index,
            axis=axis,
            length=length,
        )
    return index + length if index < 0 else index


def _resolve_tuple(
    operator: str,
    indices: Array,
    position: tuple[int, ...],
    data: Array,
    batch_dims: int,
    mode: str,
) -> tuple[int, ...] | None:
    """The cell that a tuple names; None where one of its components has none."""
    cell: list[int] = []
    for j in range(indices.shape[-1]):
        k = _resolve_index(operator, indices, (*position, j), data, batch_dims + j, mode)
        if k is None:
            return None
        cell.append(k)
    return tuple(cell)


def _check_integers(operator: str, argument: str, indices: Array) -> None:
    if indices.dtype.kind not in "iu":
        raise DtypeError(
            f"{operator}: {argument} has dtype {indices.dtype}; it must be an integer dtype",
            operator=operator,
            argument=argument,
            value=indices.dtype,
        )


def _check_updates_dtype(
    operator: str, data: Array, updates: Array, reduction: str, name: str = "updates"
) -> None:
    if reduction not in REDUCTIONS:
        raise ArgumentError(
            f"{operator}: reduction={reduction!r} is unknown; use one of {', '.join(REDUCTIONS)}",
            operator=operator,
            argument="reduction",
            value=reduction,
        )
    same = np.can_cast(updates.dtype, data.dtype, "equiv")  # either byte order
    if not same and not (data.dtype.kind == updates.dtype.kind and data.dtype.kind in "US"):
        raise DtypeError(
            f"{operator}: {name} has dtype {updates.dtype} but the other array {data.dtype}",
            operator=operator,
            argument=name,
            value=updates.dtype,
        )
    if reduction not in allowed_reductions(data.dtype):
        raise DtypeError(
            f"{operator}: reduction={reduction!r} is not defined for dtype {data.dtype}",
            operator=operator,
            argument="reduction",
            value=data.dtype,
        )


def allowed_reductions(dtype: np.dtype[Any]) -> tuple[str, ...]:
    if dtype.kind in STRING_KINDS:
        return ("none", "add")
    if dtype.kind == "c":
        return ("none", "add", "mul", "mean")
    if dtype.kind == "b":
        return ("none", "add", "mul", "min", "max")
    # numbers of ml_dtypes share the kind of raw bytes with structured and void dtypes
    is_number = dtype.kind in "biuf" or (dtype.kind == "V" and not issubclass(dtype.type, np.void))
    return REDUCTIONS if is_number else ("none",)


def _check_elements_shape(operator: str, data: Array, indices: Array, axis: int) -> None:
    fits = indices.ndim == data.ndim and all(
        d == axis or indices.shape[d] <= data.shape[d] for d in range(data.ndim)
    )
    if not fits:
        raise ShapeError(
            f"{operator}: indices has shape {indices.shape} and data {data.shape}; the ranks must "
            f"be equal, and off axis {axis} indices may be smaller but not larger",
            operator=operator,
            argument="indices",
        )


def _check_tuples(operator: str, data: Array, indices: Array, batch_dims: int) -> int:
    """Return `batch_dims` when `data` and `indices` fit together with it."""
    for argument, array in (("data", data), ("indices", indices)):
        if array.ndim == 0:
            raise ShapeError(
                f"{operator}: {argument} has rank 0; it needs at least one axis",
                operator=operator,
                argument=argument,
            )
    given = _operator.index(batch_dims)
    if not 0 <= given < min(data.ndim, indices.ndim):
        raise ArgumentError(
            f"{operator}: batch_dims={given} must be in [0, {min(data.ndim, indices.ndim) - 1}] "
            f"for data of shape {data.shape} and indices of shape {indices.shape}",
            operator=operator,
            argument="batch_dims",
            value=given,
        )
    if data.shape[:given] != indices.shape[:given] or indices.shape[-1] > data.ndim - given:
        raise ShapeError(
            f"{operator}: indices has shape {indices.shape} and data {data.shape}; the first "
            f"{given} sizes must be equal, and an index tuple has {data.ndim - given} entries at "
            f"most, here {indices.shape[-1]}",
            operator=operator,
            argument="indices",
        )
    return given


def _check_cache(operator: str, cache: Array, update: Array, axis: int, mode: str) -> int:
    """Return the sequence axis, counted from the front."""
    if mode not in ("linear", "circular"):
        raise ArgumentError(
            f"{operator}: mode={mode!r} is unknown; use linear or circular",
            operator=operator,
            argument="mode",
            value=mode,
        )
    _check_updates_dtype(operator, cache, update, "none", "update")
    given, axis = axis, _resolve_axis(operator, axis, cache, "past_cache")
    if axis == 0:
        raise ArgumentError(
            f"{operator}: axis={given} is the batch axis of past_cache, shape {cache.shape}",
            operator=operator,
            argument="axis",
            value=given,
        )
    fits = update.ndim == cache.ndim and all(
        update.shape[d] == cache.shape[d] or (d == axis and update.shape[d] < cache.shape[d])
        for d in range(cache.ndim)
    )
    if not fits:
        raise ShapeError(
            f"{operator}: update has shape {update.shape} and past_cache {cache.shape}; they must "
            f"be equal off axis {axis}, where update may be shorter",
            operator=operator,
            argument="update",
        )
    return axis


def _write_starts(
    operator: str,
    cache: Array,
    update: Array,
    write_indices: ArrayLike | None,
    axis: int,
    mode: str,
) -> list[int]:
    """Where the sequence of each batch row begins; zero when `write_indices` is absent."""
    batch = cache.shape[0]
    if write_indices is None:
        return [0] * batch
    write_indices = np.asarray(write_indices)
    _check_integers(operator, "write_indices", write_indices)
    if write_indices.shape != (batch,):
        raise ShapeError(
            f"{operator}: write_indices has shape {write_indices.shape}; it must be ({batch},), "
            f"one entry for each batch row of past_cache, shape {cache.shape}",
            operator=operator,
            argument="write_indices",
        )
    steps, length = update.shape[axis], cache.shape[axis]
    for row, start in enumerate(write_indices.tolist()):
        if start < 0 or (mode == "linear" and steps > 0 and start + steps > length):
            raise OutOfRangeError(
                f"{operator}: write_indices[{row}] = {start} would write {steps} "
                f"positions of axis {axis}, which has length {length}",
                operator=operator,
                argument="write_indices",
                position=(row,),
                value=start,
                axis=axis,
                length=length,
            )
    return [int(start) for start in write_indices]


def _working_copy(data: Array) -> Array:
    """A copy of `data` to run the loop on; fixed-width strings as objects, since they may grow."""
    return data.astype(object) if data.dtype.kind in "US" else data.copy()


def _finish(out: Array, data: Array, updates: Array) -> Array:
    """Give fixed-width strings the widest dtype of data, updates and result."""
    if data.dtype.kind not in "US":
        return out
    needed = np.array(out.tolist(), dtype=data.dtype.type).dtype
    return out.astype(max(data.dtype, updates.dtype, needed, key=lambda dtype: dtype.itemsize))
