"""The operators on items that are more than their bytes, and on strings that grow.

Object arrays and ``StringDType`` hold references; ``U`` and ``S`` strings may have other widths in
`data` and `updates`. The same operator is run by the kernels on the positions of the items (whole
numbers), and NumPy then moves the items. Checks and errors are thus those of the kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sowreap import _core
from sowreap._arrays import check_result
from sowreap._errors import DtypeError

Array = NDArray[Any]


def _positions(array: Array) -> NDArray[np.int64]:
    return np.arange(array.size, dtype=np.int64).reshape(array.shape)


def _take(array: Array, positions: NDArray[np.int64]) -> Array:
    """Items by their position in row-major order."""
    if array.ndim == 0:
        return array.reshape(1)[positions]
    return array[np.unravel_index(positions, array.shape)]


def _deliver(operator: str, result: Array, out: Any) -> Any:
    """The result, or `out` filled with it. All that can fail has been done by now."""
    if out is None:
        return result
    check_result(operator, out, result)[...] = result
    return out


def _gathered(operator: str, data: Array, positions: NDArray[np.int64], out: Any) -> Any:
    result = np.empty(positions.shape, dtype=data.dtype)
    if positions.size:
        result[...] = _take(data, positions)
    return _deliver(operator, result, out)


def gather(data: Array, indices: Array, axis: int, out: Any) -> Any:
    """``sowreap.gather``."""
    positions = _core.gather(_positions(data), indices, axis, "raise", 0, None)
    return _gathered("gather", data, positions, out)


def gather_elements(data: Array, indices: Array, axis: int, out: Any) -> Any:
    """``sowreap.gather_elements``."""
    positions = _core.gather_elements(_positions(data), indices, axis, "raise", 0, None)
    return _gathered("gather_elements", data, positions, out)


def gather_nd(data: Array, indices: Array, batch_dims: int, out: Any) -> Any:
    """``sowreap.gather_nd``."""
    positions = _core.gather_nd(_positions(data), indices, batch_dims, "raise", 0, None)
    return _gathered("gather_nd", data, positions, out)


def scatter_elements(
    operator: str,
    data: Array,
    indices: Array,
    updates: Array,
    axis: int,
    reduction: str,
    out: Any,
) -> Any:
    """``sowreap.scatter`` and ``sowreap.scatter_elements``."""

    def last(base: Array, order: Array) -> Array:
        if operator == "scatter":
            return _core.scatter(base, indices, order, axis, "raise", None)
        return _core.scatter_elements(base, indices, order, axis, "none", True, "raise", None)

    def targets() -> Array:
        return _core.gather_elements(_positions(data), indices, axis, "raise", 0, None)

    return _scattered(operator, data, updates, reduction, out, last, targets)


def scatter_nd(data: Array, indices: Array, updates: Array, reduction: str, out: Any) -> Any:
    """``sowreap.scatter_nd``."""

    def last(base: Array, order: Array) -> Array:
        return _core.scatter_nd(base, indices, order, "none", True, "raise", None)

    def targets() -> Array:
        return _core.gather_nd(_positions(data), indices, 0, "raise", 0, None)

    return _scattered("scatter_nd", data, updates, reduction, out, last, targets)


def tensor_scatter(
    past_cache: Array, update: Array, write_indices: Any, axis: int, mode: str, out: Any
) -> Any:
    """``sowreap.tensor_scatter``."""

    def last(base: Array, order: Array) -> Array:
        return _core.tensor_scatter(base, order, write_indices, axis, mode, None)

    return _scattered("tensor_scatter", past_cache, update, "none", out, last, lambda: update)


def _scattered(
    operator: str,
    data: Array,
    updates: Array,
    reduction: str,
    out: Any,
    last: Callable[[Array, Array], Array],
    targets: Callable[[], Array],
) -> Any:
    dtype = _common_dtype(operator, data, updates)
    if reduction not in ("none", "add"):
        raise DtypeError(
            f'{operator}: reduction = "{reduction}" is not defined for data of dtype {data.dtype}; '
            'strings take "none" and "add".',
            operator=operator,
            argument="reduction",
            value=reduction,
        )
    # Runs all checks, and finds which update each item of the result is left with.
    order = last(np.full(data.shape, -1, dtype=np.int64), _positions(updates))
    if reduction == "add":
        result = _concatenated(data, updates, targets(), dtype)
    else:
        result = data.astype(dtype)
        hit = order >= 0
        if hit.any():
            result[hit] = _take(updates, order[hit])
    return _deliver(operator, result, out)


def _common_dtype(operator: str, data: Array, updates: Array) -> np.dtype[Any]:
    same_text = data.dtype.kind == updates.dtype.kind and data.dtype.kind in "US"
    if same_text:
        return np.promote_types(data.dtype, updates.dtype)
    if data.dtype == updates.dtype:
        return data.dtype
    raise DtypeError(
        f"{operator}: updates has dtype {updates.dtype} but data has dtype {data.dtype}; "
        "they must be equal. Convert with updates.astype(data.dtype).",
        operator=operator,
        argument="updates",
        value=updates.dtype,
    )


def _concatenated(data: Array, updates: Array, targets: Array, dtype: np.dtype[Any]) -> Array:
    """Each update appended to its item, in the order of the loop."""
    items = data.astype(object).reshape(-1)
    for position, update in zip(
        targets.reshape(-1), updates.astype(object).reshape(-1), strict=True
    ):
        items[position] = items[position] + update
    if dtype.kind not in "US":
        return items.astype(dtype).reshape(data.shape)
    # Fixed-width strings: as wide as the longest, never narrower than data.
    result = np.asarray(items.tolist(), dtype=dtype.kind).reshape(data.shape)
    return result.astype(np.promote_types(result.dtype, data.dtype))
