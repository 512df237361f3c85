"""Add 20 GB of rows into a 10 GB Zarr array, in place, with 4 GB of memory.

Two worker processes share the memory; what does not fit they keep on disk. The updates are made
where they are needed, as in a program that reads them from somewhere. All numbers are whole and
small, so that every sum is exact and can be held against one that ``numpy.bincount`` makes.

    python dask_scatter_zarr.py --scale 0.001

runs a thousandth of it. Take a folder with 45 GB of room for all of it.
"""

import argparse
import logging
import resource
import tempfile
from pathlib import Path
from time import perf_counter

import dask
import dask.array as da
import numpy as np
import zarr
from distributed import Client, LocalCluster

import sowreap.dask as sd

COLUMNS = 250  # float32: a row is 1000 bytes
ROWS, UPDATES = 10_000_000, 20_000_000
TAKEN_TOGETHER = 4
LEAST_MEMORY = 800_000_000  # two processes with their libraries take 400 MB


def target_rows(first: int, count: int, rows: int) -> np.ndarray:
    """Where updates go: all over the array, some rows often and some never."""
    position = np.arange(first, first + count, dtype=np.int64)
    return position * 7_654_321 % 9_999_991 % rows


def amounts(first: int, count: int) -> np.ndarray:
    """What each update adds to all columns of its row."""
    return (np.arange(first, first + count) % 7).astype(np.float32)


def chunk_of(rows: int, block_bytes: int) -> int:
    """Rows of a chunk; there are several chunks even of a small array."""
    return min(block_bytes // (4 * COLUMNS), -(-rows // 4))


def blocks_of(make, length: int, size: int, width: int, dtype: type) -> da.Array:
    """Rows in chunks, each of which is made when it is needed."""

    def block(block_info=None) -> np.ndarray:
        (first, last), _ = block_info[None]["array-location"]
        return np.broadcast_to(make(first, last - first)[:, None], (last - first, width)).copy()

    chunks = ((size,) * (length // size) + ((length % size,) if length % size else ()), (width,))
    return da.map_blocks(block, chunks=chunks, dtype=dtype, meta=np.empty((0, 0), dtype))


def make_array(path: Path, rows: int, size: int) -> zarr.Array:
    shape, chunks = (rows, COLUMNS), (size, COLUMNS)
    array = zarr.create_array(path, shape=shape, chunks=chunks, dtype="f4", compressors=None)
    for first in range(0, rows, size):
        array[first : first + size] = 1
    return array


def check(array: zarr.Array, rows: int, updates: int) -> None:
    where, what = target_rows(0, updates, rows), amounts(0, updates)
    expected = 1 + np.bincount(where, weights=what, minlength=rows)
    for first in range(0, rows, array.chunks[0]):
        block = array[first : first + array.chunks[0]]
        assert (block == expected[first : first + len(block), None]).all()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of all sizes (default 1)")
    parser.add_argument(
        "--memory", type=float, default=4e9, help="bytes of all workers, at scale 1"
    )
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    options = parser.parse_args()
    rows, updates = (max(8, int(n * options.scale)) for n in (ROWS, UPDATES))
    memory = max(LEAST_MEMORY, int(options.memory * options.scale))

    # A worker holds several blocks at a time.
    block_bytes = memory // 40
    size = chunk_of(updates, block_bytes)

    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        array = make_array(folder / "rows.zarr", rows, chunk_of(rows, block_bytes))
        settings = {
            # Updates go everywhere, and each block of the array gets little of each block of them:
            # it can take those of many at a time. With Dask's chunk size at that of the blocks it
            # would take six, as if all of each were for itself.
            "array.chunk-size": TAKEN_TOGETHER * block_bytes,
            # Spilled early, updates leave room for what the tasks themselves need; where that is
            # short, whatever lies in memory is written out and read again.
            "distributed.worker.memory.target": 0.4,
            "temporary-directory": str(folder),
            "distributed.worker.memory.spill-compression": None,
        }
        with (
            dask.config.set(settings),
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit=memory // 2,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster),
        ):
            indices = blocks_of(lambda a, n: target_rows(a, n, rows), updates, size, 1, np.int64)
            values = blocks_of(amounts, updates, size, COLUMNS, np.float32)
            blocks = da.from_zarr(array)  # one for each chunk, however many could be held
            start = perf_counter()
            sd.scatter_nd(blocks, indices, values, "add", out=array).compute()
            seconds = perf_counter() - start
        sd.recover(array)
        check(array, rows, updates)

    # Kibibytes, of the largest of the child processes that have ended: the workers.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(
        f"{updates * COLUMNS * 4 / 1e9:g} GB added into {rows * COLUMNS * 4 / 1e9:g} GB, all right"
    )
    print(f"{seconds:.0f} s; the larger worker took {peak / 1e6:.0f} MB of {memory / 2e6:.0f} MB")


if __name__ == "__main__":
    main()
