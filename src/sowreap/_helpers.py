"""Functions that other libraries have by name, as calls of the operators.

They keep the rules of those: the order of updates, one answer to an index out of range, results of
the kind of the first array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sowreap import _ops
from sowreap._arrays import give, is_jax, read
from sowreap._errors import ArgumentError, DtypeError, OutOfRangeError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


# --- along an axis ------------------------------------------------------------------------------


def index_add(
    data: Any, indices: Any, updates: Any, axis: int = 0, *, mode: str = "raise", out: Any = None
) -> Any:
    """Add slices of `updates` to the slices of `data` that `indices` names.

    Definition::

        output = data.copy()
        for a, m, b in ndindex(updates.shape):
            output[a, indices[m], b] += updates[a, m, b]

    Parameters
    ----------
    data : array, shape (A..., N, B...)
        What is added to. N is the length of `axis`.
    indices : integer array, shape (M,), values in [-N, N - 1]
        Where each slice goes. Repeated ones add up, in order.
    updates : array, shape (A..., M, B...), dtype of `data`
        What is added.
    axis : int, default 0
        In [-r, r - 1] for `data` of rank r.
    mode : str, default "raise"
        What an index out of range does, as in `scatter_elements`.
    out : array, optional
        Receives the result. `data` itself is added to in place.

    Returns
    -------
    array, shape, dtype and kind of `data`
        New memory, or `out`.

    Raises
    ------
    OutOfRangeError, ShapeError, ArgumentError, DtypeError
        As `scatter_elements`, whose name they bear.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> sr.index_add(np.zeros((3, 2)), [2, 0, 2], np.ones((3, 2)))
    array([[1., 1.],
           [0., 0.],
           [2., 2.]])
    """
    picks = _row(read("index_add", "indices", indices), "index_add", "indices")
    shape = np.shape(updates)
    if not -len(shape) <= axis < len(shape) or shape[axis] != len(picks):
        raise ShapeError(
            f"index_add: updates has shape {tuple(shape)}, which needs the length of indices, "
            f"{len(picks)}, on axis {axis}.",
            operator="index_add",
            argument="updates",
            value=tuple(shape),
        )
    column = _along(picks, axis % len(shape), tuple(shape))
    return _ops.scatter_elements(data, column, updates, axis, "add", mode=mode, out=out)


def take_along_axis(x: Any, indices: Any, axis: int = -1, *, mode: str = "raise") -> Any:
    """Read the items that `indices` names along one axis; other axes broadcast.

    `gather_elements` for arrays whose sizes off the axis are equal or 1.

    Parameters
    ----------
    x : array
        What is read.
    indices : integer array of the rank of `x`, values in [-N, N - 1]
        N is the length of `axis`.
    axis : int, default -1
        In [-r, r - 1] for `x` of rank r.
    mode : str, default "raise"
        What an index out of range does, as in `gather_elements`.

    Returns
    -------
    array of the kind and dtype of `x`
        Of the shape of `indices`, broadcast.

    Raises
    ------
    OutOfRangeError, ShapeError, ArgumentError, DtypeError
        As `gather_elements`, whose name they bear.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> x = np.array([[30, 10, 20], [60, 50, 40]])
    >>> sr.take_along_axis(x, np.argsort(x))
    array([[10, 20, 30],
           [40, 50, 60]])
    """
    name = "take_along_axis"
    data, picks = read(name, "x", x), read(name, "indices", indices)
    data, picks = _off_axis(name, data, picks, axis)
    result = _ops.gather_elements(data, picks, axis, mode=mode)
    return give(name, (("x", x), ("indices", indices)), result)


def put_along_axis(
    x: Any, indices: Any, values: Any, axis: int = -1, *, mode: str = "raise"
) -> Any:
    """Write `values` where `indices` names along one axis, into `x` itself.

    Parameters
    ----------
    x : array
        What is written to. A JAX array cannot be, and stays as it is; the result is a new one.
    indices : integer array of the rank of `x`, values in [-N, N - 1]
        N is the length of `axis`. Broadcast against `x` off the axis.
    values : array or scalar
        Broadcast against `indices`. Of several for one place the last stays.
    axis : int, default -1
        In [-r, r - 1] for `x` of rank r.
    mode : str, default "raise"
        What an index out of range does, as in `scatter_elements`.

    Returns
    -------
    array
        `x`, after the writing.

    Raises
    ------
    OutOfRangeError, ShapeError, ArgumentError, DtypeError
        As `scatter_elements`, whose name they bear; `x` is then as it was.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> x = np.array([[30, 10, 20], [60, 50, 40]])
    >>> sr.put_along_axis(x, np.argmax(x, axis=-1, keepdims=True), 99)
    array([[99, 10, 20],
           [99, 50, 40]])
    """
    name = "put_along_axis"
    data, picks = read(name, "x", x), read(name, "indices", indices)
    if data.ndim != picks.ndim:
        raise _rank_error(name, data, picks)
    shape = list(data.shape)
    _check_axis(name, axis, data)
    shape[axis] = picks.shape[axis]
    picks = _broadcast(name, "indices", picks, tuple(shape))
    added = values if hasattr(values, "dtype") else np.asarray(values, dtype=data.dtype)
    updates = _broadcast(name, "values", read(name, "values", added), picks.shape)
    out = None if is_jax(x) else x
    return _ops.scatter_elements(x, picks, updates, axis, mode=mode, out=out)


# --- segments -----------------------------------------------------------------------------------


def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """Add up the rows of each segment.

    Definition::

        output = zeros((num_segments, *data.shape[1:]), data.dtype)
        for i in range(len(data)):
            output[segment_ids[i]] += data[i]

    Parameters
    ----------
    data : array, shape (M, ...)
        The rows.
    segment_ids : integer array, shape (M,), values in [0, num_segments - 1]
        The segment of each row, in any order.
    num_segments : int, optional
        Without it, one more than the largest id.

    Returns
    -------
    array, shape (num_segments, ...), dtype and kind of `data`
        A segment without rows is 0.

    Raises
    ------
    OutOfRangeError, ShapeError, ArgumentError, DtypeError
        Naming the argument at fault. A negative id is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> sr.segment_sum(np.array([1.0, 2.0, 4.0]), [2, 0, 2])
    array([2., 0., 5.])
    """
    return _segments("segment_sum", data, segment_ids, num_segments, "add")


def segment_prod(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """Multiply the rows of each segment; one without rows is 1.

    Parameters
    ----------
    data, segment_ids, num_segments :
        As in `segment_sum`.

    Returns
    -------
    array, shape (num_segments, ...), dtype and kind of `data`

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> sr.segment_prod(np.array([3.0, 2.0, 4.0]), [2, 0, 2])
    array([ 2.,  1., 12.])
    """
    return _segments("segment_prod", data, segment_ids, num_segments, "mul")


def segment_min(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """Find the least of the rows of each segment; one without rows is the largest of the dtype.

    Parameters
    ----------
    data, segment_ids, num_segments :
        As in `segment_sum`.

    Returns
    -------
    array, shape (num_segments, ...), dtype and kind of `data`
        NaN where a row has one.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> sr.segment_min(np.array([3.0, 2.0, 4.0]), [2, 0, 2])
    array([ 2., inf,  3.])
    """
    return _segments("segment_min", data, segment_ids, num_segments, "min")


def segment_max(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """Find the largest of the rows of each segment; one without rows is the least of the dtype.

    Parameters
    ----------
    data, segment_ids, num_segments :
        As in `segment_sum`.

    Returns
    -------
    array, shape (num_segments, ...), dtype and kind of `data`
        NaN where a row has one.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> sr.segment_max(np.array([3, 2, 4], np.int8), [2, 0, 2])
    array([   2, -128,    4], dtype=int8)
    """
    return _segments("segment_max", data, segment_ids, num_segments, "max")


def segment_mean(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """Divide the sum of the rows of each segment by their number; one without rows is 0.

    Parameters
    ----------
    data, segment_ids, num_segments :
        As in `segment_sum`.

    Returns
    -------
    array, shape (num_segments, ...), dtype and kind of `data`
        Integers are rounded down.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> sr.segment_mean(np.array([3.0, 2.0, 4.0]), [2, 0, 2])
    array([2. , 0. , 3.5])
    """
    return _segments("segment_mean", data, segment_ids, num_segments, "mean")


def bincount(indices: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Count how often each value occurs, or add up its weights.

    Parameters
    ----------
    indices : integer array, shape (M,), values not negative
        The values.
    weights : array, shape (M, ...), optional
        What to add up; of any dtype that adds.
    minlength : int, default 0
        The result is at least as long.

    Returns
    -------
    array, shape (max(indices) + 1, ...)
        int64 counts, of the kind of `indices`; with weights of their dtype and kind.

    Raises
    ------
    OutOfRangeError, ShapeError, ArgumentError, DtypeError
        Naming the argument at fault.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> sr.bincount([0, 2, 2])
    array([1, 0, 2])
    >>> sr.bincount([0, 2, 2], np.array([0.5, 1.0, 0.25]), minlength=4)
    array([0.5 , 0.  , 1.25, 0.  ])
    """
    name = "bincount"
    least = _count(name, "minlength", minlength)
    ids = _row(read(name, "indices", indices), name, "indices")
    _check_not_negative(name, "indices", ids)
    length = max(least, int(ids.max()) + 1 if ids.size else 0)
    if weights is None:
        return give(name, (("indices", indices),), _counts(ids, length))
    rows = read(name, "weights", weights)
    _check_rows(name, "weights", rows, "indices", ids)
    result = _reduced(rows, ids, length, "add", 0)
    return give(name, (("weights", weights), ("indices", indices)), result)


def scatter_argmax(updates: Any, indices: Any, axis: int = 0, size: int | None = None) -> Any:
    """Find which of the updates of each place is the largest, by its position along `axis`.

    Definition::

        for a, n, b in ndindex(output.shape):
            there = [m for m in range(M) if indices[a, m, b] == n]
            output[a, n, b] = argmax over there of updates[a, m, b], or M if there is none

    Parameters
    ----------
    updates : array, shape (A..., M, B...)
        What is compared. Of equal ones the first counts; NaN is larger than any number.
    indices : integer array, shape of `updates` or (M,), values in [0, size - 1]
        The place of each update, or of each slice.
    axis : int, default 0
        In [-r, r - 1] for `updates` of rank r.
    size : int, optional
        The length of the result along `axis`; without it, one more than the largest index.

    Returns
    -------
    int64 array, shape (A..., size, B...), of the kind of `updates`
        M, which no position has, where nothing comes: a gather with it is refused.

    Raises
    ------
    OutOfRangeError, ShapeError, ArgumentError, DtypeError
        Naming the argument at fault.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> sr.scatter_argmax(np.array([5.0, 7.0, 6.0]), [0, 2, 2])
    array([0, 3, 1])
    """
    return _argument("scatter_argmax", updates, indices, axis, size, "max")


def scatter_argmin(updates: Any, indices: Any, axis: int = 0, size: int | None = None) -> Any:
    """Find which of the updates of each place is the least, by its position along `axis`.

    Parameters
    ----------
    updates, indices, axis, size :
        As in `scatter_argmax`; NaN is less than any number.

    Returns
    -------
    int64 array, as of `scatter_argmax`

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> sr.scatter_argmin(np.array([5.0, 7.0, 6.0]), [0, 2, 2])
    array([0, 3, 2])
    """
    return _argument("scatter_argmin", updates, indices, axis, size, "min")


# --- what they share ----------------------------------------------------------------------------


def _row(indices: Array, operator: str, name: str) -> Array:
    if indices.ndim != 1:
        raise ShapeError(
            f"{operator}: {name} has shape {indices.shape}; one axis is needed.",
            operator=operator,
            argument=name,
            value=indices.shape,
        )
    if indices.dtype.kind not in "iu":
        raise DtypeError(
            f"{operator}: {name} has dtype {indices.dtype}; an integer dtype is needed.",
            operator=operator,
            argument=name,
            value=indices.dtype,
        )
    return indices


def _count(operator: str, name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise DtypeError(
            f"{operator}: {name} must be an integer, not {value!r}.",
            operator=operator,
            argument=name,
            value=value,
        )
    number = int(value.__index__())
    if number < 0:
        raise ArgumentError(
            f"{operator}: {name} = {number} is negative.",
            operator=operator,
            argument=name,
            value=number,
        )
    return number


def _check_not_negative(operator: str, name: str, ids: Array) -> None:
    if ids.dtype.kind == "u" or ids.size == 0 or ids.min() >= 0:
        return
    position = tuple(int(p) for p in np.argwhere(ids < 0)[0])
    value = int(ids[position])
    raise OutOfRangeError(
        f"{operator}: {name}[{', '.join(map(str, position))}] = {value} is negative; here nothing "
        "counts from the end.",
        operator=operator,
        argument=name,
        position=position,
        value=value,
    )


def _check_rows(operator: str, name: str, rows: Array, ids_name: str, ids: Array) -> None:
    if rows.ndim == 0 or len(rows) != len(ids):
        raise ShapeError(
            f"{operator}: {name} has shape {rows.shape} but {ids_name} has length {len(ids)}; the "
            "first axis must have it too.",
            operator=operator,
            argument=name,
            value=rows.shape,
        )


def _check_axis(operator: str, axis: Any, data: Array) -> None:
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise DtypeError(
            f"{operator}: axis must be an integer, not {axis!r}.",
            operator=operator,
            argument="axis",
            value=axis,
        )
    if not -data.ndim <= axis < data.ndim:
        raise ArgumentError(
            f"{operator}: axis = {axis} is out of range [{-data.ndim}, {data.ndim - 1}].",
            operator=operator,
            argument="axis",
            value=axis,
        )


def _rank_error(operator: str, data: Array, indices: Array) -> ShapeError:
    return ShapeError(
        f"{operator}: indices has shape {indices.shape} but x has shape {data.shape}; the ranks "
        "must be equal.",
        operator=operator,
        argument="indices",
        value=indices.shape,
    )


def _broadcast(operator: str, name: str, array: Array, shape: tuple[int, ...]) -> Array:
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ShapeError(
            f"{operator}: {name} has shape {array.shape}, which does not broadcast to {shape}.",
            operator=operator,
            argument=name,
            value=array.shape,
        ) from None


def _off_axis(operator: str, data: Array, indices: Array, axis: int) -> tuple[Array, Array]:
    """Both with their common shape off the axis."""
    if data.ndim != indices.ndim:
        raise _rank_error(operator, data, indices)
    _check_axis(operator, axis, data)
    sizes = [m if n == 1 else n for n, m in zip(data.shape, indices.shape, strict=True)]
    shapes = [list(sizes), list(sizes)]
    shapes[0][axis], shapes[1][axis] = data.shape[axis], indices.shape[axis]
    return (
        _broadcast(operator, "x", data, tuple(shapes[0])),
        _broadcast(operator, "indices", indices, tuple(shapes[1])),
    )


def _along(row: Array, axis: int, shape: tuple[int, ...]) -> Array:
    """The row along the axis of the shape, the same off it."""
    return np.broadcast_to(row.reshape(-1, *(1,) * (len(shape) - axis - 1)), shape)


def _extremes(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The least and the largest value of a dtype."""
    if dtype.kind == "b":
        return False, True
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return info.min, info.max
    if dtype.kind == "f":
        return -np.inf, np.inf
    import ml_dtypes

    of_dtype: Any = ml_dtypes.iinfo if "int" in dtype.name else ml_dtypes.finfo
    with np.errstate(all="ignore"):
        if "float" in dtype.name and np.isinf(np.asarray(np.inf).astype(dtype)):
            return -np.inf, np.inf
    return of_dtype(dtype).min, of_dtype(dtype).max


def _identity(dtype: np.dtype[Any], reduction: str) -> Any:
    if reduction in ("add", "mul", "mean"):
        return int(reduction == "mul")
    if dtype.kind == "c":
        return 0  # the kernel says that there is no order
    least, largest = _extremes(dtype)
    return largest if reduction == "min" else least


def _full(shape: tuple[int, ...], value: Any, dtype: np.dtype[Any]) -> Array:
    """A constant array of one item of memory."""
    return np.broadcast_to(np.asarray(value).astype(dtype), shape)


def _reduced(rows: Array, ids: Array, count: int, reduction: str, start: Any) -> Array:
    base = _full((count, *rows.shape[1:]), start, rows.dtype)
    result: Array = _ops.scatter_nd(
        base, ids[:, np.newaxis], rows, reduction, include_self=reduction != "mean"
    )
    return result


def _counts(ids: Array, count: int) -> Array:
    one = _full(ids.shape, 1, np.dtype(np.int64))
    return _reduced(one, ids, count, "add", 0)


def _segment_inputs(
    operator: str, data: Any, segment_ids: Any, num_segments: int | None
) -> tuple[Array, Array, int]:
    rows = read(operator, "data", data)
    ids = _row(read(operator, "segment_ids", segment_ids), operator, "segment_ids")
    _check_rows(operator, "data", rows, "segment_ids", ids)
    _check_not_negative(operator, "segment_ids", ids)
    if num_segments is None:
        return rows, ids, int(ids.max()) + 1 if ids.size else 0
    count = _count(operator, "num_segments", num_segments)
    _check_below(operator, "segment_ids", ids, "num_segments", count)
    return rows, ids, count


def _check_below(operator: str, name: str, ids: Array, limit_name: str, limit: int) -> None:
    if ids.size == 0 or int(ids.max()) < limit:
        return
    position = tuple(int(p) for p in np.argwhere(ids >= limit)[0])
    value = int(ids[position])
    raise OutOfRangeError(
        f"{operator}: {name}[{', '.join(map(str, position))}] = {value} is out of range; it must "
        f"be less than {limit_name} = {limit}.",
        operator=operator,
        argument=name,
        position=position,
        value=value,
    )


def _segments(
    operator: str, data: Any, segment_ids: Any, num_segments: int | None, reduction: str
) -> Any:
    rows, ids, count = _segment_inputs(operator, data, segment_ids, num_segments)
    result = _reduced(rows, ids, count, reduction, _identity(rows.dtype, reduction))
    return give(operator, (("data", data), ("segment_ids", segment_ids)), result)


def _argument(
    operator: str, updates: Any, indices: Any, axis: int, size: int | None, reduction: str
) -> Any:
    values, places = read(operator, "updates", updates), read(operator, "indices", indices)
    _check_axis(operator, axis, values)
    axis %= values.ndim
    if places.ndim == 1 and values.ndim > 1:
        if len(places) != values.shape[axis]:
            raise _rank_error(operator, values, places)
        places = _along(places, axis, values.shape)
    _check_not_negative(operator, "indices", places)
    length = _count(operator, "size", size) if size is not None else None
    if length is None:
        length = int(places.max()) + 1 if places.size else 0
    else:
        _check_below(operator, "indices", places, "size", length)
    shape = (*values.shape[:axis], length, *values.shape[axis + 1 :])
    base = _full(shape, _identity(values.dtype, reduction), values.dtype)
    best = _ops.scatter_elements(base, places, values, axis, reduction)
    of_place = _ops.gather_elements(best, places, axis)
    wins = (values == of_place) | ((values != values) & (of_place != of_place))
    none = values.shape[axis]
    positions = _along(np.arange(none), axis, values.shape)
    first = _ops.scatter_elements(
        _full(shape, none, np.dtype(np.int64)),
        places,
        np.where(wins, positions, none),
        axis,
        "min",
    )
    return give(operator, (("updates", updates), ("indices", indices)), first)
