"""The public functions: Dask arrays in, a graph, a Dask array out."""

from __future__ import annotations

from typing import Any

from sowreap.dask import _call


def gather(
    data: Any,
    indices: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    fill_value: Any = 0,
    out: Any = None,
) -> Any:
    """Read whole slices of `data` along one axis: :func:`sowreap.gather` on chunks.

    Definition::

        for a in ndindex(A...):
            for i in ndindex(indices.shape):
                for b in ndindex(B...):
                    output[a, i, b] = data[a, indices[i], b]

    Parameters
    ----------
    data : a Dask array, a Zarr array, or anything that NumPy reads, shape (A..., N, B...)
        What is read. N is the length of `axis`.
    indices : integers, shape (I...), values in [-N, N - 1]
        Which slices, in which order; likewise.
    axis : int, default 0
        In [-r, r - 1] for `data` of rank r.
    mode : {"raise", "wrap", "clip", "fill"}, default "raise"
        As in :func:`sowreap.gather`; what that refuses is refused here.
    fill_value : number, default 0
        As in :func:`sowreap.gather`.
    out : dask.array.Array or zarr.Array, optional
        Of the shape and dtype of the result. A Dask array becomes the result. A Zarr array is
        filled when what the call returns is computed: once, and whole (``docs/scale.md``).

    Returns
    -------
    dask.array.Array, shape (A..., I..., B...), dtype of `data`
        In the chunks of `data` and `indices`; smaller ones of `indices` where a block would exceed
        Dask's ``array.chunk-size``. With a Zarr array as `out` a
        ``dask.delayed.Delayed``, whose value is `out`.

    Raises
    ------
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        At the call, in the words of :func:`sowreap.gather`.
        Unknown chunk sizes are a ShapeError.
    OutOfRangeError (an IndexError)
        At the first index out of range of all, in row-major order: at the call for indices in
        memory, else when the result is computed, before any of it is there or is stored.

    Notes
    -----
    The result is that of :func:`sowreap.gather`, bit for bit, for any chunks and any
    number of workers.
    Source: ONNX Gather, opset 13.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import sowreap.dask as sd
    >>> data = da.arange(10, chunks=4) ** 2
    >>> result = sd.gather(data, da.from_array(np.array([9, 0, -2]), chunks=2))
    >>> result.chunks
    ((2, 1),)
    >>> result.compute()
    array([81,  0, 64])
    """
    arrays = {"data": data, "indices": indices}
    return _call.gather("gather", arrays, {"axis": axis}, mode, fill_value, out)


def gather_elements(
    data: Any,
    indices: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    fill_value: Any = 0,
    out: Any = None,
) -> Any:
    """Read one item of `data` for each of `indices`: :func:`sowreap.gather_elements` on chunks.

    Definition::

        for a, m, b in ndindex(indices.shape):
            output[a, m, b] = data[a, indices[a, m, b], b]

    Parameters
    ----------
    data : a Dask array, a Zarr array, or anything that NumPy reads, shape (A..., N, B...)
        What is read. N is the length of `axis`.
    indices : integers, shape (A'..., M, B'...), values in [-N, N - 1]
        Likewise. A' and B' may be smaller than A and B; M is free.
    axis : int, default 0
        In [-r, r - 1] for `data` of rank r.
    mode : {"raise", "wrap", "clip", "fill"}, default "raise"
        As in :func:`sowreap.gather_elements`; what that refuses is refused here.
    fill_value : number, default 0
        As in :func:`sowreap.gather_elements`.
    out : dask.array.Array or zarr.Array, optional
        Of the shape and dtype of the result. A Dask array becomes the result. A Zarr array is
        filled when what the call returns is computed: once, and whole (``docs/scale.md``).

    Returns
    -------
    dask.array.Array, shape of `indices`, dtype of `data`
        In the chunks of `indices` on the axis and of `data` off it. With a Zarr array as `out` a
        ``dask.delayed.Delayed``, whose value is `out`.

    Raises
    ------
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        At the call, in the words of :func:`sowreap.gather_elements`.
        Unknown chunk sizes are a ShapeError.
    OutOfRangeError (an IndexError)
        At the first index out of range of all, in row-major order: at the call for indices in
        memory, else when the result is computed, before any of it is there or is stored.

    Notes
    -----
    The result is that of :func:`sowreap.gather_elements`, bit for bit, for any chunks and any
    number of workers.
    Source: ONNX GatherElements, opset 13.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import sowreap.dask as sd
    >>> data = da.from_array(np.array([[1, 2], [3, 4]]), chunks=1)
    >>> sd.gather_elements(data, np.array([[0, 0], [1, 0]]), axis=1).compute()
    array([[1, 1],
           [4, 3]])
    """
    arrays = {"data": data, "indices": indices}
    return _call.gather("gather_elements", arrays, {"axis": axis}, mode, fill_value, out)


def gather_nd(
    data: Any,
    indices: Any,
    batch_dims: int = 0,
    *,
    mode: str = "raise",
    fill_value: Any = 0,
    out: Any = None,
) -> Any:
    """Read the slices of `data` that index tuples name: :func:`sowreap.gather_nd` on chunks.

    Definition::

        for a in ndindex(A...):
            for i in ndindex(I...):
                output[a, i] = data[(*a, *indices[a, i])]   # a slice of shape (B...)

    Parameters
    ----------
    data : a Dask array, a Zarr array, or anything that NumPy reads, shape (A..., N1, ..., Nk, B...)
        What is read. A has `batch_dims` dimensions.
    indices : integers, shape (A..., I..., k)
        Likewise. Its last axis holds tuples; component j is in [-Nj, Nj - 1].
    batch_dims : int, default 0
        Leading dimensions that both share, in [0, min(rank of data, rank of indices) - 1].
    mode : {"raise", "wrap", "clip", "fill"}, default "raise"
        As in :func:`sowreap.gather_nd`; what that refuses is refused here.
    fill_value : number, default 0
        As in :func:`sowreap.gather_nd`.
    out : dask.array.Array or zarr.Array, optional
        Of the shape and dtype of the result. A Dask array becomes the result. A Zarr array is
        filled when what the call returns is computed: once, and whole (``docs/scale.md``).

    Returns
    -------
    dask.array.Array, shape (A..., I..., B...), dtype of `data`
        In the chunks of `indices` along I, smaller where a block would exceed Dask's
        ``array.chunk-size``, and of `data` elsewhere. With a Zarr array as `out` a
        ``dask.delayed.Delayed``, whose value is `out`.

    Raises
    ------
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        At the call, in the words of :func:`sowreap.gather_nd`.
        Unknown chunk sizes are a ShapeError.
    OutOfRangeError (an IndexError)
        At the first index out of range of all, in row-major order: at the call for indices in
        memory, else when the result is computed, before any of it is there or is stored.

    Notes
    -----
    The result is that of :func:`sowreap.gather_nd`, bit for bit, for any chunks and any
    number of workers.
    Source: ONNX GatherND, opset 13.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import sowreap.dask as sd
    >>> data = da.from_array(np.array([[[0, 1], [2, 3]], [[4, 5], [6, 7]]]), chunks=1)
    >>> sd.gather_nd(data, np.array([[0, 1], [1, 0]])).compute()
    array([[2, 3],
           [4, 5]])
    """
    arrays = {"data": data, "indices": indices}
    return _call.gather("gather_nd", arrays, {"batch_dims": batch_dims}, mode, fill_value, out)


def scatter(
    data: Any,
    indices: Any,
    updates: Any,
    axis: int = 0,
    *,
    mode: str = "raise",
    out: Any = None,
) -> Any:
    """Write items along one axis: :func:`sowreap.scatter` on chunks.

    Definition::

        output = data.copy()
        for a, m, b in ndindex(indices.shape):
            output[a, indices[a, m, b], b] = updates[a, m, b]

    Parameters
    ----------
    data : a Dask array, a Zarr array, or anything that NumPy reads, shape (A..., N, B...)
        What is started from. N is the length of `axis`.
    indices : integers, shape (A'..., M, B'...), values in [-N, N - 1]
        Likewise. A' and B' may be smaller than A and B; M is free.
    updates : array, shape of `indices`, dtype of `data`
        Likewise: what is written or combined.
    axis : int, default 0
        In [-r, r - 1] for `data` of rank r.
    mode : {"raise", "wrap", "clip", "drop"}, default "raise"
        As in :func:`sowreap.scatter`; what that refuses is refused here.
    out : dask.array.Array or zarr.Array, optional
        Of the shape and dtype of the result. A Dask array becomes the result. A Zarr array is
        filled when what the call returns is computed: once, and whole (``docs/scale.md``).

    Returns
    -------
    dask.array.Array, shape and dtype of `data`
        In the chunks of `data`. With a Zarr array as `out` a
        ``dask.delayed.Delayed``, whose value is `out`.

    Raises
    ------
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        At the call, in the words of :func:`sowreap.scatter`.
        Unknown chunk sizes are a ShapeError.
    OutOfRangeError (an IndexError)
        At the first index out of range of all, in row-major order: at the call for indices in
        memory, else when the result is computed, before any of it is there or is stored.

    Notes
    -----
    Each block of `indices` is sorted by target block once; pieces of `updates` travel to the owner
    of a block of `data`, who applies them in the order of `indices`. The result is that of
    :func:`sowreap.scatter`, bit for bit, for any chunks and any number of workers.
    Source: ONNX Scatter, opset 9.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import sowreap.dask as sd
    >>> sd.scatter(da.zeros(5, dtype=int, chunks=2), [1, 3, 1], [7, 8, 9]).compute()
    array([0, 9, 0, 8, 0])
    """
    arrays = {"data": data, "indices": indices, "updates": updates}
    return _call.scatter("scatter", arrays, {"axis": axis}, {"mode": mode}, out)


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
    """Write or combine one item for each of `indices`: :func:`sowreap.scatter_elements` on chunks.

    Definition::

        output = data.copy()
        for a, m, b in ndindex(indices.shape):                      # in row-major order
            n = indices[a, m, b]
            output[a, n, b] = f(output[a, n, b], updates[a, m, b])  # "none": updates[a, m, b]

    Parameters
    ----------
    data : a Dask array, a Zarr array, or anything that NumPy reads, shape (A..., N, B...)
        What is started from. N is the length of `axis`.
    indices : integers, shape (A'..., M, B'...), values in [-N, N - 1]
        Likewise. A' and B' may be smaller than A and B; M is free.
    updates : array, shape of `indices`, dtype of `data`
        Likewise: what is written or combined.
    axis : int, default 0
        In [-r, r - 1] for `data` of rank r.
    reduction : {"none", "add", "mul", "min", "max", "mean"}, default "none"
        The function f, as in :func:`sowreap.scatter_elements`.
    include_self : bool, default True
        As in :func:`sowreap.scatter_elements`.
    mode : {"raise", "wrap", "clip", "drop"}, default "raise"
        As in :func:`sowreap.scatter_elements`; what that refuses is refused here.
    out : dask.array.Array or zarr.Array, optional
        Of the shape and dtype of the result. A Dask array becomes the result. A Zarr array is
        filled when what the call returns is computed: once, and whole (``docs/scale.md``).

    Returns
    -------
    dask.array.Array, shape and dtype of `data`
        In the chunks of `data`. With a Zarr array as `out` a
        ``dask.delayed.Delayed``, whose value is `out`.

    Raises
    ------
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        At the call, in the words of :func:`sowreap.scatter_elements`.
        Unknown chunk sizes are a ShapeError.
    OutOfRangeError (an IndexError)
        At the first index out of range of all, in row-major order: at the call for indices in
        memory, else when the result is computed, before any of it is there or is stored.

    Notes
    -----
    Each block of `indices` is sorted by target block once; pieces of `updates` travel to the owner
    of a block of `data`, who applies them in the order of `indices`. The result is that of
    :func:`sowreap.scatter_elements`, bit for bit, for any chunks and any number of workers.
    Source: ONNX ScatterElements, opset 18.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import sowreap.dask as sd
    >>> data, ones = da.zeros((3, 2), chunks=(2, 1)), da.ones((2, 2), chunks=1)
    >>> sd.scatter_elements(data, [[0, 2], [0, 1]], ones, reduction="add").compute()
    array([[2., 0.],
           [0., 1.],
           [0., 1.]])
    """
    arrays = {"data": data, "indices": indices, "updates": updates}
    policy = {"reduction": reduction, "include_self": include_self, "mode": mode}
    return _call.scatter("scatter_elements", arrays, {"axis": axis}, policy, out)


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
    """Write or combine the slices that index tuples name: :func:`sowreap.scatter_nd` on chunks.

    Definition::

        output = data.copy()
        for i in ndindex(I...):                                # in row-major order
            n = tuple(indices[i])
            output[n] = f(output[n], updates[i])               # slices of shape (B...)

    Parameters
    ----------
    data : a Dask array, a Zarr array, or anything that NumPy reads, shape (N1, ..., Nk, B...)
        What is started from.
    indices : integers, shape (I..., k)
        Likewise. Its last axis holds tuples; component j is in [-Nj, Nj - 1].
    updates : array, shape (I..., B...), dtype of `data`
        Likewise: what is written or combined. Nothing is broadcast.
    reduction : {"none", "add", "mul", "min", "max", "mean"}, default "none"
        The function f, as in :func:`sowreap.scatter_nd`.
    include_self : bool, default True
        As in :func:`sowreap.scatter_nd`.
    mode : {"raise", "wrap", "clip", "drop"}, default "raise"
        As in :func:`sowreap.scatter_nd`; what that refuses is refused here.
    out : dask.array.Array or zarr.Array, optional
        Of the shape and dtype of the result. A Dask array becomes the result. A Zarr array is
        filled when what the call returns is computed: once, and whole (``docs/scale.md``).

    Returns
    -------
    dask.array.Array, shape and dtype of `data`
        In the chunks of `data`. With a Zarr array as `out` a
        ``dask.delayed.Delayed``, whose value is `out`.

    Raises
    ------
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        At the call, in the words of :func:`sowreap.scatter_nd`.
        Unknown chunk sizes are a ShapeError.
    OutOfRangeError (an IndexError)
        At the first index out of range of all, in row-major order: at the call for indices in
        memory, else when the result is computed, before any of it is there or is stored.

    Notes
    -----
    Each block of `indices` is sorted by target block once; pieces of `updates` travel to the owner
    of a block of `data`, who applies them in the order of `indices`. The result is that of
    :func:`sowreap.scatter_nd`, bit for bit, for any chunks and any number of workers.
    Source: ONNX ScatterND, opset 18.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import sowreap.dask as sd
    >>> data = da.arange(1, 9, chunks=3)
    >>> sd.scatter_nd(data, [[4], [3], [1], [7]], [9, 10, 11, 12]).compute()
    array([ 1, 11,  3, 10,  9,  6,  7, 12])
    """
    arrays = {"data": data, "indices": indices, "updates": updates}
    policy = {"reduction": reduction, "include_self": include_self, "mode": mode}
    return _call.scatter("scatter_nd", arrays, {}, policy, out)


def tensor_scatter(
    past_cache: Any,
    update: Any,
    write_indices: Any = None,
    axis: int = -2,
    mode: str = "linear",
    *,
    out: Any = None,
) -> Any:
    """Write new steps into a key/value cache: :func:`sowreap.tensor_scatter` on chunks.

    Definition::

        output = past_cache.copy()
        for b, d, s, c in ndindex(update.shape):       # s along `axis`, b the batch
            n = write_indices[b] + s                   # "circular": modulo N
            output[b, d, n, c] = update[b, d, s, c]

    Parameters
    ----------
    past_cache : a Dask array, a Zarr array, or anything that NumPy reads, shape (B, D..., N, C...)
        The cache. N is the length of `axis`.
    update : array, shape (B, D..., S, C...) with S <= N, dtype of `past_cache`
        Likewise: the new steps.
    write_indices : integers, shape (B,), optional
        Likewise: where each batch row starts, not negative; 0 without it.
    axis : int, default -2
        The sequence axis, in [-r, r - 1] for `past_cache` of rank r, never the batch.
    mode : {"linear", "circular"}, default "linear"
        Whether positions past the end are errors or continue at the start of the axis.
    out : dask.array.Array or zarr.Array, optional
        Of the shape and dtype of the result. A Dask array becomes the result. A Zarr array is
        filled when what the call returns is computed: once, and whole (``docs/scale.md``).

    Returns
    -------
    dask.array.Array, shape and dtype of `past_cache`
        In the chunks of `past_cache`. With a Zarr array as `out` a
        ``dask.delayed.Delayed``, whose value is `out`.

    Raises
    ------
    ShapeError, ArgumentError (ValueErrors), DtypeError (a TypeError)
        At the call, in the words of :func:`sowreap.tensor_scatter`.
        Unknown chunk sizes are a ShapeError.
    OutOfRangeError (an IndexError)
        At the first index out of range of all, in row-major order: at the call for indices in
        memory, else when the result is computed, before any of it is there or is stored.

    Notes
    -----
    With `write_indices` in memory, blocks of the cache that get no step are passed on as they are.
    Source: ONNX TensorScatter, opset 24.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import sowreap.dask as sd
    >>> cache = da.zeros((2, 4, 1), chunks=(1, 2, 1))
    >>> sd.tensor_scatter(cache, np.ones((2, 2, 1)), [0, 3], mode="circular")[..., 0].compute()
    array([[1., 1., 0., 0.],
           [1., 0., 0., 1.]])
    """
    arrays = {"past_cache": past_cache, "update": update}
    if write_indices is not None:
        arrays["write_indices"] = write_indices
    return _call.tensor_scatter(arrays, axis, mode, out)
