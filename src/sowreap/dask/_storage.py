"""Arrays in storage, read and written in blocks that respect their chunks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import TYPE_CHECKING, Any, TypeGuard
from uuid import uuid4

import dask
import dask.array as da
from dask.utils import parse_bytes

if TYPE_CHECKING:
    import zarr

    ZarrArray = zarr.Array[Any]


def is_stored(value: Any) -> TypeGuard[ZarrArray]:
    """Whether it is a Zarr array; who has one has imported the package."""
    module = sys.modules.get("zarr")
    return module is not None and isinstance(value, module.Array)


def write_grid(array: ZarrArray) -> tuple[int, ...]:
    """The pieces that storage writes whole: two tasks must never share one."""
    return tuple(array.shards or array.chunks)


def read_lazily(array: ZarrArray) -> da.Array:
    """A Dask array of a Zarr array.

    Its blocks are whole pieces of storage, as many as Dask's ``array.chunk-size`` holds. Its name
    is new each time, because what is stored may change.
    """
    grid = write_grid(array)
    limit = parse_bytes(dask.config.get("array.chunk-size"))
    room = int(limit // max(1, array.dtype.itemsize * prod(grid)))
    sizes = list(grid)
    for d in reversed(range(array.ndim)):
        count = max(1, min(room, -(-array.shape[d] // max(1, grid[d]))))
        sizes[d] = grid[d] * count
        room //= count
    chunks = tuple(min(size, max(1, n)) for size, n in zip(sizes, array.shape, strict=True))
    result: da.Array = da.from_array(array, chunks=chunks, name=f"zarr-{uuid4().hex}", lock=False)
    return result


def to_grid(chunks: Sequence[Sequence[int]], grid: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """`chunks` with each end moved to the nearest line of a grid."""
    result = []
    for sizes, step in zip(chunks, grid, strict=True):
        length = sum(sizes)
        inner = (round(end / step) * step for end in accumulate(sizes) if end < length)
        lines = [0, *sorted({end for end in inner if 0 < end < length}), length]
        result.append(tuple(b - a for a, b in pairwise(lines)))
    return tuple(result)
