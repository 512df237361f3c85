"""Arrays in storage, read and written in blocks that respect their chunks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any, TypeGuard
from uuid import uuid4

import dask
import dask.array as da
from dask.utils import parse_bytes

if TYPE_CHECKING:
    import zarr


def is_stored(value: Any) -> TypeGuard[zarr.Array]:
    """Whether it is a Zarr array. (Who has one has imported zarr.)"""
    module = sys.modules.get("zarr")
    return module is not None and isinstance(value, module.Array)


def write_grid(array: zarr.Array) -> tuple[int, ...]:
    """The pieces that storage writes whole: two tasks must never share one."""
    return tuple(array.shards or array.chunks)


def read_lazily(array: zarr.Array) -> da.Array:
    """A Dask array of a Zarr array.

    Its blocks are whole pieces of storage, as many as Dask's ``array.chunk-size`` holds. Its name is
    new each time, because what is stored may change.
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
    return da.from_array(array, chunks=chunks, name=f"zarr-{uuid4().hex}", lock=False)


def to_grid(chunks: Sequence[Sequence[int]], grid: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """`chunks` with each end moved to the nearest line of a grid."""
    result = []
    for sizes, step in zip(chunks, grid, strict=True):
        length = sum(sizes)
        ends = {min(length, round(end / step) * step) for end in accumulate(sizes)} - {0}
        lines = [0, *sorted(ends | {length})] if length else [0, 0]
        result.append(tuple(b - a for a, b in zip(lines, lines[1:], strict=False)))
    return tuple(result)
