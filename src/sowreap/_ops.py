"""The public functions: arrays in, one call of the core, an array out."""

from __future__ import annotations

from typing import Any

from sowreap import _core


def gather(
    data: Any,
    indices: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    fill_value: Any = 0,
    out: Any = None,
) -> Any:
    """Read whole slices of `data` along one axis.

    Definition::

        for a in ndindex(A...):
            for i in ndindex(indices.shape):
                for b in ndindex(B...):
                    output[a, i, b] = data[a, indices[i], b]

    Parameters
    ----------
    data : array, shape (A..., N, B...), any dtype
        What is read. N is the length of `axis`.
    indices : integer array, shape (I...), values in [-N, N - 1]
        Which slices, in which order; a scalar drops the axis. Negative values count from the end.
    axis : int, default 0
        In [-r, r - 1] for `data` of rank r.
    mode : {"raise", "wrap", "clip", "fill"}, default "raise"
        What an index out of range does: it is an error, counts modulo N, goes to the nearest end
        (any negative value to 0), or names nothing, so that `fill_value` is read.
    fill_value : scalar, default 0
        For mode "fill", of the dtype of `data` or a kind that casts to it. 0 is the zero of any
        dtype, the empty string of strings.
    out : numpy.ndarray, optional
        Receives the result: its shape and dtype, writable, sharing no memory with the inputs.

    Returns
    -------
    numpy.ndarray, shape (A..., I..., B...), dtype of `data`
        New memory, or `out`.

    Raises
    ------
    OutOfRangeError (an IndexError)
        At the first index out of range in mode "raise", in row-major order; in "wrap" and "clip"
        at an index into an axis of length 0. `out` is as it was.
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        Naming the argument at fault; a `fill_value` that the dtype cannot hold is one.

    Notes
    -----
    Source: ONNX Gather, opset 13. Equal to ``numpy.take(data, indices, axis)`` for good indices,
    and with its `mode` in "wrap" and "clip".

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> sr.gather(np.array([[1, 2], [3, 4], [5, 6]]), [2, 0, -2])
    array([[5, 6],
           [1, 2],
           [3, 4]])
    >>> sr.gather(np.array([1, 2, 3]), [0, 3, -4], mode="fill", fill_value=-1)
    array([ 1, -1, -1])
    """
    return _core.gather(data, indices, axis, mode, fill_value, out)


def gather_elements(
    data: Any,
    indices: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    fill_value: Any = 0,
    out: Any = None,
) -> Any:
    """Read one item of `data` for each item of `indices`, which replaces its place along one axis.

    Definition::

        for a, m, b in ndindex(indices.shape):
            output[a, m, b] = data[a, indices[a, m, b], b]

    Parameters
    ----------
    data : array, shape (A..., N, B...), any dtype
        What is read. N is the length of `axis`.
    indices : integer array, shape (A'..., M, B'...), values in [-N, N - 1]
        Of the rank of `data`. A' and B' may be smaller than A and B; M is free.
    axis : int, default 0
        In [-r, r - 1] for `data` of rank r.
    mode : {"raise", "wrap", "clip", "fill"}, default "raise"
        What an index out of range does: it is an error, counts modulo N, goes to the nearest end
        (any negative value to 0), or names nothing, so that `fill_value` is read.
    fill_value : scalar, default 0
        For mode "fill", of the dtype of `data` or a kind that casts to it. 0 is the zero of any
        dtype, the empty string of strings.
    out : numpy.ndarray, optional
        Receives the result: its shape and dtype, writable, sharing no memory with the inputs.

    Returns
    -------
    numpy.ndarray, shape of `indices`, dtype of `data`
        New memory, or `out`.

    Raises
    ------
    OutOfRangeError (an IndexError)
        At the first index out of range in mode "raise", in row-major order; in "wrap" and "clip"
        at an index into an axis of length 0. `out` is as it was.
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        Naming the argument at fault; a `fill_value` that the dtype cannot hold is one.

    Notes
    -----
    Source: ONNX GatherElements, opset 13. Equal to ``numpy.take_along_axis`` where the sizes off
    the axis are equal, and to ``torch.gather`` where no index is negative.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> sr.gather_elements(np.array([[1, 2], [3, 4]]), np.array([[0, 0], [1, 0]]), axis=1)
    array([[1, 1],
           [4, 3]])
    """
    return _core.gather_elements(data, indices, axis, mode, fill_value, out)


def gather_nd(
    data: Any,
    indices: Any,
    batch_dims: int = 0,
    *,
    mode: str = "raise",
    fill_value: Any = 0,
    out: Any = None,
) -> Any:
    """Read the slices of `data` that index tuples name.

    Definition::

        for a in ndindex(A...):
            for i in ndindex(I...):
                output[a, i] = data[(*a, *indices[a, i])]   # a slice of shape (B...)

    Parameters
    ----------
    data : array, shape (A..., N1, ..., Nk, B...), any dtype
        What is read. A has `batch_dims` dimensions.
    indices : integer array, shape (A..., I..., k)
        Its last axis holds tuples; component j is in [-Nj, Nj - 1]. A tuple of length 0 names all
        of ``data[a]``.
    batch_dims : int, default 0
        Leading dimensions that both share, in [0, min(rank of data, rank of indices) - 1].
    mode : {"raise", "wrap", "clip", "fill"}, default "raise"
        What an index out of range does: it is an error, each component counts
        modulo its Nj or goes to the nearest end (any negative value to 0), or a tuple with a
        component out of range names nothing, so that `fill_value` is read.
    fill_value : scalar, default 0
        For mode "fill", of the dtype of `data` or a kind that casts to it. 0 is the zero of any
        dtype, the empty string of strings.
    out : numpy.ndarray, optional
        Receives the result: its shape and dtype, writable, sharing no memory with the inputs.

    Returns
    -------
    numpy.ndarray, shape (A..., I..., B...), dtype of `data`
        New memory, or `out`.

    Raises
    ------
    OutOfRangeError (an IndexError)
        At the first index out of range in mode "raise", in row-major order; in "wrap" and "clip"
        at an index into an axis of length 0. `out` is as it was.
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        Naming the argument at fault; a `fill_value` that the dtype cannot hold is one.

    Notes
    -----
    Source: ONNX GatherND, opset 13. Without batches it is ``data[tuple(moveaxis(indices, -1, 0))]``
    in NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> data = np.array([[[0, 1], [2, 3]], [[4, 5], [6, 7]]])
    >>> sr.gather_nd(data, np.array([[0, 1], [1, 0]]))
    array([[2, 3],
           [4, 5]])
    >>> sr.gather_nd(data, np.array([[1], [0]]), batch_dims=1)
    array([[2, 3],
           [4, 5]])
    """
    return _core.gather_nd(data, indices, batch_dims, mode, fill_value, out)


def scatter(
    data: Any,
    indices: Any,
    updates: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    out: Any = None,
) -> Any:
    """Write items along one axis: ONNX Scatter, the older name of `scatter_elements`.

    Definition::

        output = data.copy()
        for a, m, b in ndindex(indices.shape):
            output[a, indices[a, m, b], b] = updates[a, m, b]

    Parameters
    ----------
    data : array, shape (A..., N, B...), any dtype
        What is written over. N is the length of `axis`.
    indices : integer array, shape (A'..., M, B'...), values in [-N, N - 1]
        Of the rank of `data`. A' and B' may be smaller than A and B; M is free.
    updates : array, shape of `indices`, dtype of `data`
        What is written.
    axis : int, default 0
        In [-r, r - 1] for `data` of rank r.
    mode : {"raise", "wrap", "clip", "drop"}, default "raise"
        What an index out of range does: it is an error, counts modulo N, goes to the nearest end
        (any negative value to 0), or its update is left out.
    out : numpy.ndarray, optional
        Receives the result. `data` itself is written in place; memory shared otherwise is refused.

    Returns
    -------
    numpy.ndarray, shape and dtype of `data`
        New memory, or `out`.

    Raises
    ------
    OutOfRangeError (an IndexError)
        At the first index out of range in mode "raise", in row-major order; in "wrap" and "clip"
        at an index into an axis of length 0. `out` is as it was.
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        Naming the argument at fault.

    Notes
    -----
    Of several updates to one place the last one stays. Source: ONNX Scatter, opset 9, deprecated
    in 11.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> sr.scatter(np.zeros(5, int), [1, 3, 1], [7, 8, 9])
    array([0, 9, 0, 8, 0])
    """
    return _core.scatter(data, indices, updates, axis, mode, out)


def scatter_elements(
    data: Any,
    indices: Any,
    updates: Any,
    axis: int = 0,
    reduction: str = "none",
    *,
    include_self: bool = True,
    mode: str = "raise",
    out: Any = None,
) -> Any:
    """Write, add, multiply or compare one item for each item of `indices`, along one axis.

    Definition::

        output = data.copy()
        for a, m, b in ndindex(indices.shape):                      # in row-major order
            n = indices[a, m, b]
            output[a, n, b] = f(output[a, n, b], updates[a, m, b])  # "none": updates[a, m, b]

    Parameters
    ----------
    data : array, shape (A..., N, B...), any dtype
        What is started from. N is the length of `axis`.
    indices : integer array, shape (A'..., M, B'...), values in [-N, N - 1]
        Of the rank of `data`. A' and B' may be smaller than A and B; M is free.
    updates : array, shape of `indices`, dtype of `data`
        What is written or combined.
    axis : int, default 0
        In [-r, r - 1] for `data` of rank r.
    reduction : {"none", "add", "mul", "min", "max", "mean"}, default "none"
        The function f; "mean" adds, and divides once at the end.
    include_self : bool, default True
        Whether the item of `data` takes part. If not, the first update of an item replaces it; one
        without an update stays. "none" has no use for it.
    mode : {"raise", "wrap", "clip", "drop"}, default "raise"
        What an index out of range does: it is an error, counts modulo N, goes to the nearest end
        (any negative value to 0), or its update is left out.
    out : numpy.ndarray, optional
        Receives the result. `data` itself is written in place; memory shared otherwise is refused.

    Returns
    -------
    numpy.ndarray, shape and dtype of `data`
        New memory, or `out`.

    Raises
    ------
    OutOfRangeError (an IndexError)
        At the first index out of range in mode "raise", in row-major order; in "wrap" and "clip"
        at an index into an axis of length 0. `out` is as it was.
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        Naming the argument at fault; a reduction that the dtype does not have is a DtypeError.

    Notes
    -----
    Updates to one place are applied in the order of the loop, to the last bit and at any number of
    threads; with "none" the last one stays. NaN in min and max propagates. Integers wrap; bool adds
    as "or", multiplies as "and"; half types round after each update; strings concatenate. A mean of
    integers is rounded down; bool has none.
    Source: ONNX ScatterElements, opset 18; "mean" and `include_self` as in
    ``torch.scatter_reduce``.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> data = np.zeros((3, 2))
    >>> sr.scatter_elements(data, [[0, 2], [0, 1]], [[1.0, 2.0], [3.0, 4.0]], reduction="add")
    array([[4., 0.],
           [0., 4.],
           [0., 2.]])
    >>> sr.scatter_elements(np.ones(3), [0, 0, 9], [2.0, 4.0, 8.0], 0, "mean",
    ...                     include_self=False, mode="drop")
    array([3., 1., 1.])
    """
    return _core.scatter_elements(data, indices, updates, axis, reduction, include_self, mode, out)


def scatter_nd(
    data: Any,
    indices: Any,
    updates: Any,
    reduction: str = "none",
    *,
    include_self: bool = True,
    mode: str = "raise",
    out: Any = None,
) -> Any:
    """Write, add, multiply or compare the slices that index tuples name.

    Definition::

        output = data.copy()
        for i in ndindex(I...):                                # in row-major order
            n = tuple(indices[i])
            output[n] = f(output[n], updates[i])               # slices of shape (B...)

    Parameters
    ----------
    data : array, shape (N1, ..., Nk, B...), any dtype
        What is started from.
    indices : integer array, shape (I..., k)
        Its last axis holds tuples; component j is in [-Nj, Nj - 1]. A tuple of length 0 names all
        of `data`.
    updates : array, shape (I..., B...), dtype of `data`
        What is written or combined. Nothing is broadcast.
    reduction : {"none", "add", "mul", "min", "max", "mean"}, default "none"
        The function f; "mean" adds, and divides once at the end.
    include_self : bool, default True
        Whether the item of `data` takes part. If not, the first update of an item replaces it; one
        without an update stays. "none" has no use for it.
    mode : {"raise", "wrap", "clip", "drop"}, default "raise"
        What an index out of range does: it is an error, each component counts
        modulo its Nj or goes to the nearest end (any negative value to 0), or the update of a
        tuple with a component out of range is left out.
    out : numpy.ndarray, optional
        Receives the result. `data` itself is written in place; memory shared otherwise is refused.

    Returns
    -------
    numpy.ndarray, shape and dtype of `data`
        New memory, or `out`.

    Raises
    ------
    OutOfRangeError (an IndexError)
        At the first index out of range in mode "raise", in row-major order; in "wrap" and "clip"
        at an index into an axis of length 0. `out` is as it was.
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        Naming the argument at fault; a reduction that the dtype does not have is a DtypeError.

    Notes
    -----
    The rules of `scatter_elements` for order, NaN, integers, bool, half types and strings hold.
    Source: ONNX ScatterND, opset 18.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> data = np.array([1, 2, 3, 4, 5, 6, 7, 8])
    >>> sr.scatter_nd(data, [[4], [3], [1], [7]], [9, 10, 11, 12])
    array([ 1, 11,  3, 10,  9,  6,  7, 12])
    >>> sr.scatter_nd(np.zeros((2, 2)), [[0], [0]], [[1.0, 2.0], [3.0, 4.0]], "add")
    array([[4., 6.],
           [0., 0.]])
    >>> sr.scatter_nd(np.zeros(3), [[-4], [3], [1]], [1.0, 2.0, 3.0], "add", mode="wrap")
    array([2., 3., 1.])
    """
    return _core.scatter_nd(data, indices, updates, reduction, include_self, mode, out)


def tensor_scatter(
    past_cache: Any,
    update: Any,
    write_indices: Any = None,
    axis: int = -2,
    mode: str = "linear",
    *,
    out: Any = None,
) -> Any:
    """Write new steps into a key/value cache, each batch row at a position of its own.

    Definition::

        output = past_cache.copy()
        for b, d, s, c in ndindex(update.shape):       # s along `axis`, b the batch
            n = write_indices[b] + s                   # "circular": modulo N
            output[b, d, n, c] = update[b, d, s, c]

    Parameters
    ----------
    past_cache : array, shape (B, D..., N, C...), any dtype
        The cache. N is the length of `axis`.
    update : array, shape (B, D..., S, C...) with S <= N, dtype of `past_cache`
        The new steps.
    write_indices : integer array, shape (B,), optional
        Where each batch row starts, not negative; 0 without it. In linear mode at most N - S.
    axis : int, default -2
        The sequence axis, in [-r, r - 1] for `past_cache` of rank r, never the batch.
    mode : {"linear", "circular"}, default "linear"
        Whether positions past the end are errors or continue at the start of the axis.
    out : numpy.ndarray, optional
        Receives the result. `past_cache` itself is written in place, which costs the new steps
        and not the cache; memory shared otherwise is refused.

    Returns
    -------
    numpy.ndarray, shape and dtype of `past_cache`
        New memory, or `out`.

    Raises
    ------
    OutOfRangeError (an IndexError)
        If a write index is negative or, in linear mode, too large. `out` is as it was.
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        Naming the argument at fault.

    Notes
    -----
    Source: ONNX TensorScatter, opset 24. Circular mode wraps the sequence position alone, as the
    text of the standard says, not other coordinates as its pseudo-code does.

    Examples
    --------
    >>> import numpy as np
    >>> import sowreap as sr
    >>> cache = np.zeros((2, 4, 1))
    >>> sr.tensor_scatter(cache, np.ones((2, 2, 1)), [0, 3], mode="circular")[..., 0]
    array([[1., 1., 0., 0.],
           [1., 0., 0., 1.]])
    """
    return _core.tensor_scatter(past_cache, update, write_indices, axis, mode, out)
