"""The operators on items that are more than their bytes, and on strings that grow.

Object arrays and ``StringDType`` hold references; ``U`` and ``S`` strings may have other widths in
`data` and `updates`. The same operator is run by the kernels on the positions of the items (whole
numbers), and NumPy then moves the items. Checks and errors are thus those of the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sowreap import _core
from sowreap._arrays import check_result
from sowreap._errors import DtypeError

Array = NDArray[Any]

_AT_ONCE = 1 << 20  # items that NumPy moves, from one answer to signals to the next


class Names(NamedTuple):
    """What the caller's operator and its arguments are called, for errors."""

    operator: str
    data: str
    updates: str


class Joining(NamedTuple):
    """How updates join what is there."""

    reduction: str
    include_self: bool


def _distinct(array: Array) -> Array:
    """Return `array` without the repetitions of strides of 0."""
    first = (slice(0, 1) if step == 0 else slice(None) for step in array.strides)
    return array[(*first, ...)]


def _sources(array: Array) -> Array:
    """Where the item of each position lies in ``_distinct(array)``: what `_take` takes."""
    return np.broadcast_to(_positions(_distinct(array)), array.shape)


def _positions(array: Array) -> NDArray[np.int64]:
    return np.arange(array.size, dtype=np.int64).reshape(array.shape)


def _take(array: Array, positions: NDArray[np.int64]) -> Array:
    """Return the items at `positions` of ``_distinct(array)``, in row-major order."""
    # Without axes of length 1, since NumPy indexes by at most 63 arrays.
    cells = np.atleast_1d(_distinct(array).squeeze())
    taken = cells[np.unravel_index(positions.reshape(-1), cells.shape)]
    return taken.reshape(positions.shape)


def _pieces(size: int) -> Iterator[slice]:
    return (slice(begin, begin + _AT_ONCE) for begin in range(0, size, _AT_ONCE))


def _deliver(
    operator: str, result: Array, out: Any, inputs: tuple[Array, ...], base: Array | None
) -> Any:
    """The result, or `out` filled with it. All that can fail has been done by now."""
    if out is None:
        return result
    check_result(operator, out, result, inputs, base)[...] = result
    return out


def _gathered(
    operator: str, data: Array, indices: Array, positions: NDArray[np.int64], fill: Any, out: Any
) -> Any:
    result = np.empty(positions.shape, dtype=data.dtype)
    flat, places = result.reshape(-1), positions.reshape(-1)
    for piece in _pieces(places.size):
        present = places[piece] >= 0
        if present.all():
            flat[piece] = _take(data, places[piece])
        else:
            flat[piece][present] = _take(data, places[piece][present])
            flat[piece][~present] = fill
    return _deliver(operator, result, out, (data, indices), None)


def _absent(mode: str) -> int:
    """The position of an item that is absent: -1, which the default 0 stands for elsewhere."""
    return -1 if mode == "fill" else 0


def gather(data: Array, indices: Array, axis: int, mode: str, fill: Any, out: Any) -> Any:
    """``sowreap.gather``."""
    positions = _core.gather(_sources(data), indices, axis, mode, _absent(mode), None)
    return _gathered("gather", data, indices, positions, fill, out)


def gather_elements(data: Array, indices: Array, axis: int, mode: str, fill: Any, out: Any) -> Any:
    """``sowreap.gather_elements``."""
    positions = _core.gather_elements(_sources(data), indices, axis, mode, _absent(mode), None)
    return _gathered("gather_elements", data, indices, positions, fill, out)


def gather_nd(data: Array, indices: Array, batch_dims: int, mode: str, fill: Any, out: Any) -> Any:
    """``sowreap.gather_nd``."""
    positions = _core.gather_nd(_sources(data), indices, batch_dims, mode, _absent(mode), None)
    return _gathered("gather_nd", data, indices, positions, fill, out)


def scatter_elements(
    operator: str,
    data: Array,
    indices: Array,
    updates: Array,
    axis: int,
    reduction: str,
    include_self: bool,
    mode: str,
    out: Any,
) -> Any:
    """``sowreap.scatter`` and ``sowreap.scatter_elements``."""

    def last(base: Array, order: Array) -> Array:
        if operator == "scatter":
            return _core.scatter(base, indices, order, axis, mode, None)
        return _core.scatter_elements(base, indices, order, axis, "none", True, mode, None)

    def targets() -> Array:
        read = "fill" if mode == "drop" else mode
        return _core.gather_elements(_positions(data), indices, axis, read, _absent(read), None)

    names = Names(operator, "data", "updates")
    joining = Joining(reduction, include_self)
    return _scattered(names, data, indices, updates, joining, out, last, targets)


def scatter_nd(
    data: Array,
    indices: Array,
    updates: Array,
    reduction: str,
    include_self: bool,
    mode: str,
    out: Any,
) -> Any:
    """``sowreap.scatter_nd``."""

    def last(base: Array, order: Array) -> Array:
        return _core.scatter_nd(base, indices, order, "none", True, mode, None)

    def targets() -> Array:
        read = "fill" if mode == "drop" else mode
        return _core.gather_nd(_positions(data), indices, 0, read, _absent(read), None)

    names = Names("scatter_nd", "data", "updates")
    joining = Joining(reduction, include_self)
    return _scattered(names, data, indices, updates, joining, out, last, targets)


def tensor_scatter(
    past_cache: Array, update: Array, write_indices: Any, axis: int, mode: str, out: Any
) -> Any:
    """``sowreap.tensor_scatter``."""

    def last(base: Array, order: Array) -> Array:
        return _core.tensor_scatter(base, order, write_indices, axis, mode, None)

    names = Names("tensor_scatter", "past_cache", "update")
    starts = update if write_indices is None else write_indices
    joining = Joining("none", include_self=True)
    return _scattered(names, past_cache, starts, update, joining, out, last, lambda: update)


def _scattered(
    names: Names,
    data: Array,
    indices: Array,
    updates: Array,
    joining: Joining,
    out: Any,
    last: Callable[[Array, Array], Array],
    targets: Callable[[], Array],
) -> Any:
    dtype = _common_dtype(names, data, updates)
    _check_reduction(names, data, joining.reduction)
    # Runs all checks, and finds which update each item of the result is left with.
    order = last(np.full(data.shape, -1, dtype=np.int64), _sources(updates))
    if joining.reduction == "add":
        result = _concatenated(names, data, updates, targets(), dtype, joining.include_self)
    else:
        result = data.astype(dtype, order="C")
        flat, places = result.reshape(-1), order.reshape(-1)
        for piece in _pieces(places.size):
            hit = places[piece] >= 0
            if hit.any():
                flat[piece][hit] = _take(updates, places[piece][hit])
    return _deliver(names.operator, result, out, (data, indices, updates), data)


def _check_reduction(names: Names, data: Array, reduction: str) -> None:
    if reduction == "none" or (reduction == "add" and data.dtype.names is None):
        return
    raise DtypeError(
        f"{names.operator}: reduction = {reduction!r} is not defined for {names.data} of dtype "
        f'{data.dtype}; strings take "none" and "add", other items that hold references "none".',
        operator=names.operator,
        argument="reduction",
        value=reduction,
    )


def _common_dtype(names: Names, data: Array, updates: Array) -> np.dtype[Any]:
    if data.dtype == updates.dtype:
        return data.dtype
    same_kind = data.dtype.kind == updates.dtype.kind and data.dtype.kind in "US"
    if same_kind and data.dtype.isnative == updates.dtype.isnative:
        return _wider(data.dtype, updates.dtype)
    raise DtypeError(
        f"{names.operator}: {names.updates} has dtype {updates.dtype} but {names.data} has dtype "
        f"{data.dtype}; they must be equal. "
        f"Convert with {names.updates}.astype({names.data}.dtype).",
        operator=names.operator,
        argument=names.updates,
        value=updates.dtype,
    )


def _wider(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The wider of two string dtypes of one kind and byte order."""
    return a if a.itemsize >= b.itemsize else b


def _concatenated(
    names: Names,
    data: Array,
    updates: Array,
    targets: Array,
    dtype: np.dtype[Any],
    include_self: bool,
) -> Array:
    """Each update appended to its item, in the order of the loop; targets of -1 are absent."""
    items = data.astype(object).reshape(-1)
    begun = np.full(items.shape, include_self)
    added = updates.astype(object).reshape(-1)
    for number, (target, update) in enumerate(zip(targets.reshape(-1), added, strict=True)):
        if target < 0:
            continue
        item = items[target] if begun[target] else update
        if not any(isinstance(item, text) and isinstance(update, text) for text in (str, bytes)):
            position = tuple(int(i) for i in np.unravel_index(number, updates.shape))
            raise DtypeError(
                f"{names.operator}: {names.updates}[{', '.join(map(str, position))}] = {update!r} "
                f"cannot be appended to {item!r}; both must be str, or both bytes.",
                operator=names.operator,
                argument=names.updates,
                position=position,
                value=update,
            )
        items[target] = item + update if begun[target] else update
        begun[target] = True
    if dtype.kind not in "US":
        return items.astype(dtype).reshape(data.shape)
    # Fixed-width strings: as wide as the longest, never narrower than data.
    result = np.asarray(items.tolist(), dtype=dtype.kind).reshape(data.shape)
    return result.astype(_wider(data.dtype, result.dtype.newbyteorder(data.dtype.byteorder)))
