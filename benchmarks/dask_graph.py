"""How the graph of a scatter and of a gather grows with the blocks of data and indices.

Prints the tables of docs/scale.md: tasks by kind, time to build, and bytes of the graph as it is
sent to the scheduler.
"""

import pickle
from collections import Counter
from time import perf_counter

import dask.array as da

import sowreap.dask as sd

ROWS, WIDTH = 1 << 20, 16


def tasks_of(array: da.Array) -> Counter:
    """Tasks of the array's own layer, by kind."""
    keys = (key[0] if isinstance(key, tuple) else key for key in array.dask.layers[array.name])
    return Counter(name.split("-")[1] for name in keys)


def main() -> None:
    kinds = ("check", "checks", "ok", "sort", "take", "apply", "ask", "read", "merge")
    print("| call | data | indices |", " | ".join(kinds), "| all | s | MB |")
    print("|" + "---|" * (len(kinds) + 6))
    for data_blocks, index_blocks in ((10, 10), (10, 100), (100, 10), (100, 100), (200, 400)):
        data = da.zeros((ROWS, WIDTH), chunks=(-(-ROWS // data_blocks), WIDTH), dtype="f4")
        chunk = -(-ROWS // index_blocks)
        indices = da.zeros((ROWS, 1), chunks=(chunk, 1), dtype="i8")
        updates = da.zeros((ROWS, WIDTH), chunks=(chunk, WIDTH), dtype="f4")
        for name, arrays in (("scatter_nd", [indices, updates]), ("gather_nd", [indices])):
            start = perf_counter()
            result = getattr(sd, name)(data, *arrays)
            seconds = perf_counter() - start
            count = tasks_of(result)
            size = len(pickle.dumps(dict(result.dask.layers[result.name])))
            cells = [count[kind] or "" for kind in kinds]
            cells += [count.total(), f"{seconds:.2f}", f"{size / 1e6:.1f}"]
            print(f"| {name} | {data_blocks} | {index_blocks} |", " | ".join(map(str, cells)), "|")


if __name__ == "__main__":
    main()
