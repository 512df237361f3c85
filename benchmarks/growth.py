"""How time grows: ``python -m benchmarks.growth --json growth.json``.

Nanoseconds for each item against the number of items, from a thousand to a hundred million, and
for each update against the number of cells that all updates fall into; on one thread and on two.
``python -m benchmarks.report rows.json --growth growth.json`` draws the lines.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import sowreap as sr
from sowreap._bench import measure

SIZES = tuple(10**n for n in range(3, 9))
CELLS = tuple(10**n for n in range(7))
WIDTH = 64  # items of a row
UPDATES = 500_000

Call = Callable[[], Any]


def by_size(rng: np.random.Generator) -> Iterator[tuple[str, int, int, Call]]:
    """Each line's name, the size at its x, the items of the call, and the call."""
    for size in SIZES:
        flat, order = np.ones(size, np.float32), rng.integers(0, size, size)
        yield "gather, single items", size, size, lambda: sr.gather(flat, order)  # noqa: B023
        yield (
            "scatter_elements add, single items",
            size,
            size,
            lambda: sr.scatter_elements(flat, order, flat, 0, "add"),  # noqa: B023
        )
        rows = size // WIDTH
        table, picked = flat[: rows * WIDTH].reshape(rows, WIDTH), order[:rows] % rows
        tuples = picked[:, None]
        yield "gather, rows of 64", size, size, lambda: sr.gather(table, picked)  # noqa: B023
        yield (
            "scatter_nd add, rows of 64",
            size,
            size,
            lambda: sr.scatter_nd(table, tuples, table, "add"),  # noqa: B023
        )
        own = order[: rows * WIDTH].reshape(rows, WIDTH) % rows
        yield (
            "gather_elements of columns, 64 wide",
            size,
            size,
            lambda: sr.gather_elements(table, own, 0),  # noqa: B023
        )


def by_duplicates(rng: np.random.Generator) -> Iterator[tuple[str, int, int, Call]]:
    updates = np.ones((UPDATES, WIDTH), np.float32)
    for cells in CELLS:
        ids = rng.integers(0, cells, UPDATES)
        table, flat = np.zeros((cells, WIDTH), np.float32), np.zeros(cells, np.float32)
        yield (
            "rows of 64",
            cells,
            UPDATES,
            lambda: sr.scatter_nd(table, ids[:, None], updates, "add", out=table),  # noqa: B023
        )
        yield (
            "single items",
            cells,
            UPDATES,
            lambda: sr.scatter_elements(flat, ids, updates[:, 0], 0, "add", out=flat),  # noqa: B023
        )


def lines(points: Iterator[tuple[str, int, int, Call]], seconds: float) -> list[dict[str, Any]]:
    result = []
    for name, x, items, call in points:
        for threads in (1, 2):
            sr.set_num_threads(threads)
            taken = measure.in_turns({"": call}, seconds, rounds=5)[""]
            result.append({"line": name, "x": x, "threads": threads, "ns": 1e9 * taken / items})
            print(f"{name:36s} {x:>10d}  t{threads}  {result[-1]['ns']:.3f} ns", flush=True)
        gc.collect()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each point")
    parser.add_argument("--json", help="file to write the points to")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    measured = {
        "size": lines(by_size(rng), options.seconds),
        "duplicates": lines(by_duplicates(rng), options.seconds),
    }
    if options.json:
        with open(options.json, "w") as file:
            json.dump(measured, file, indent=1)


if __name__ == "__main__":
    main()
