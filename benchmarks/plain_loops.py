"""sowreap beside careful plain loops in C++, and beside a copy of memory.

    python benchmarks/plain_loops.py [--threads 2] [--seconds 1] [--json FILE]

plain_loops.cpp writes each method out for float32 and int64 alone: packed blocks of columns, vector
gathers, items asked for ahead, ranges of cells owned by a thread. It is compiled for this processor
(``-O3 -march=native``) and takes turns with sowreap, whose code is that of any wheel. "speed" is
the loop's time over ours: 1 is its speed, more is faster. "copies" is our time over that of a copy
of 64 MB by as many threads in the same run, which makes figures of one machine comparable with
those of another.

The loops write into an array that exists, and may leave half of it written where an index is bad.
So does "out", but it checks all indices first; "new" makes its result, and checks as it goes.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sowreap
from sowreap._bench.measure import copy_bandwidth, in_turns

SIDE, TALL, WIDTH = 4096, 1_000_000, 16
FLAT, PICKS = 16_000_000, 8_000_000
CELLS, ROWS, ROW = 1_000_000, 500_000, 64
COPIED = 64 << 20  # bytes
KINDS = "new", "out"
RNG = np.random.default_rng(0)

Call = Callable[[], NDArray[Any]]


@dataclass
class Row:
    """One method: our calls, the loop, and what the loop writes."""

    name: str
    ours: dict[str, Call]
    plain: Callable[[], int]
    result: NDArray[Any]


def compiled(compiler: str, folder: str) -> ctypes.CDLL:
    """Return the loops, compiled for this processor."""
    library = Path(folder) / "plain_loops.so"
    source = Path(__file__).with_suffix(".cpp")
    flags = [
        "-std=c++20",
        "-O3",
        "-march=native",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
        "-pthread",
    ]
    subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def both(call: Callable[..., NDArray[Any]], like: NDArray[Any]) -> dict[str, Call]:
    """Return a call that makes its result, and one that is given an array."""
    out = np.zeros_like(like)
    return {"new": call, "out": lambda: call(out=out)}


def prepared(
    function: Any, threads: int, arguments: Sequence[NDArray[Any] | int], switch: int | None = None
) -> Callable[[], int]:
    """Return the call of a plain loop, whose arguments are made once."""
    made = [
        ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_int64(a)
        for a in arguments
    ]
    switches = [] if switch is None else [switch]
    return lambda: function(*made, *switches, threads)


def rows(loops: ctypes.CDLL, threads: int) -> Iterator[Row]:
    """Make the arrays of each method, one after the other."""

    def plain(name: str, *arguments: NDArray[Any] | int, switch: int | None = None) -> Any:
        return prepared(getattr(loops, name), threads, arguments, switch)

    data = RNG.random((SIDE, SIDE), np.float32)
    indices = RNG.integers(0, SIDE, (SIDE, SIDE))
    updates = RNG.random((SIDE, SIDE), np.float32)
    kept = np.empty_like(data)
    for axis, gather, scatter in (
        (0, "gather_columns", "scatter_columns"),
        (1, "gather_last", "scatter_last"),
    ):
        yield Row(
            f"gather_elements {SIDE} x {SIDE}, axis {axis}",
            both(partial(sowreap.gather_elements, data, indices, axis), kept),
            plain(gather, data, indices, kept, SIDE, SIDE),
            kept,
        )
        for add, reduction in enumerate(("none", "add")):
            yield Row(
                f"scatter_elements {SIDE} x {SIDE}, axis {axis}, {reduction}",
                both(
                    partial(sowreap.scatter_elements, data, indices, updates, axis, reduction), kept
                ),
                plain(scatter, data, indices, updates, kept, SIDE, SIDE, switch=add),
                kept,
            )
    tall = RNG.random((TALL, WIDTH), np.float32)
    strewn = RNG.integers(0, TALL, tall.shape)
    gathered = np.empty_like(tall)
    yield Row(
        f"gather_elements {TALL} x {WIDTH}, axis 0",
        both(partial(sowreap.gather_elements, tall, strewn, 0), gathered),
        plain("gather_items", tall, strewn, gathered, TALL, TALL, WIDTH),
        gathered,
    )
    flat = RNG.random(FLAT, np.float32)
    picks = RNG.integers(0, FLAT, PICKS)
    picked = np.empty(PICKS, np.float32)
    yield Row(
        f"gather {PICKS} of {FLAT}",
        both(partial(sowreap.gather, flat, picks), picked),
        plain("gather_items", flat, picks, picked, FLAT, PICKS, 1),
        picked,
    )


def added_rows(loops: ctypes.CDLL, threads: int) -> Iterator[Row]:
    """A scatter in place: both add to cells of their own, from the same start."""
    cells = RNG.random((CELLS, ROW), np.float32)
    mine = cells.copy()
    indices = RNG.integers(0, CELLS, (ROWS, 1))
    updates = RNG.random((ROWS, ROW), np.float32)
    yield Row(
        f"scatter_nd add, {ROWS} rows of {ROW} into {CELLS}, in place",
        {"out": lambda: sowreap.scatter_nd(mine, indices, updates, "add", out=mine)},
        prepared(loops.add_rows, threads, (indices, updates, cells, CELLS, ROWS)),
        cells,
    )


def measured(row: Row, seconds: float) -> dict[str, Any]:
    """Compare the results, and time the calls in turns."""
    failed = row.plain()
    right = failed == 0 and all(np.array_equal(call(), row.result) for call in row.ours.values())
    taken = in_turns({"plain": row.plain, **row.ours}, seconds)
    return {
        "name": row.name,
        "right": right,
        "milliseconds": {k: t * 1e3 for k, t in taken.items()},
    }


def shown(row: dict[str, Any], copy: float) -> str:
    """A line of the table; `copy` is in milliseconds."""
    times = row["milliseconds"]
    plain = times["plain"]
    figures = "".join(
        f"{times[kind]:9.1f}{plain / times[kind]:7.2f}{times[kind] / copy:8.1f}"
        if kind in times
        else " " * 24
        for kind in KINDS
    )
    return f"{row['name']:58}{plain:8.1f}{figures}{'' if row['right'] else '  wrong'}"


def main() -> None:
    """Print the machine, and a line for each method."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1, help="for each figure, about")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    options = parser.parse_args()
    sowreap.set_num_threads(options.threads)
    copy = 2 * COPIED / copy_bandwidth(options.threads) * 1e3
    print(
        f"sowreap {sowreap.__version__}, NumPy {np.__version__}, {options.threads} threads, "
        f"{platform.machine()} with {os.cpu_count()} CPUs; copy of 64 MB {copy:.1f} ms"
    )
    columns = "".join(f"{kind:>9}{'speed':>7}{'copies':>8}" for kind in KINDS)
    print(f"{'milliseconds':58}{'plain':>8}{columns}")
    with tempfile.TemporaryDirectory() as folder:
        loops = compiled(options.compiler, folder)
        found = []
        for row in chain(rows(loops, options.threads), added_rows(loops, options.threads)):
            found.append(measured(row, options.seconds))
            print(shown(found[-1], copy), flush=True)
    if options.json:
        options.json.write_text(
            json.dumps({"threads": options.threads, "copy": copy, "rows": found}, indent=1)
        )


if __name__ == "__main__":
    main()
