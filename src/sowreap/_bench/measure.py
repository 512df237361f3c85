"""Timing calls of several engines in turns, and what a perfect machine would take."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from sowreap._bench.workload import Arrays, Workload

#: Pools of some peers spin on for a while after a call; they rest before another engine is timed.
SETTLE_SECONDS = 0.01
#: Of calls below this, many are timed together.
SHORT_SECONDS = 2e-4
#: Calls above this are timed twice, and the faster one counts.
SLOW_SECONDS = 0.4
CACHE_LINE = 64


def once(call: Callable[[], Any], repeats: int) -> float:
    """Return the seconds of one call, of `repeats` in a row."""
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


def in_turns(
    calls: dict[str, Callable[[], Any]], seconds: float, rounds: int = 9
) -> dict[str, float]:
    """The median seconds of each call; in every round each engine is timed once."""
    first = {name: once(call, 1) for name, call in calls.items()}
    repeats = dict.fromkeys(calls, 1)
    for name, call in calls.items():
        if first[name] > SLOW_SECONDS:
            continue
        first[name] = min(first[name], once(call, 1))
        repeats[name] = max(1, int(SHORT_SECONDS / first[name]))
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds):
        for name, call in calls.items():
            slow = first[name] > SLOW_SECONDS
            spent = sum(taken[name]) * repeats[name]
            if number >= (2 if slow else 3) and (slow or spent > seconds):
                continue
            time.sleep(SETTLE_SECONDS)
            if not slow:
                once(call, repeats[name])  # its own caches, as in a loop of a user
            taken[name].append(once(call, repeats[name]))
    return {
        name: (min if first[name] > SLOW_SECONDS else statistics.median)(values)
        for name, values in taken.items()
    }


def copy_bandwidth(threads: int, megabytes: int = 64) -> float:
    """Bytes read and written a second by a copy that is larger than the cache."""
    source = np.ones(megabytes << 20, np.uint8)
    target = np.zeros_like(source)
    parts = np.array_split(np.arange(len(source)), threads)
    ranges = [slice(int(p[0]), int(p[-1]) + 1) for p in parts]
    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(15):
            begin = time.perf_counter()
            list(pool.map(lambda r: np.copyto(target[r], source[r]), ranges))
            best = min(best, time.perf_counter() - begin)
    return 2 * len(source) / best


def least_bytes(workload: Workload, arrays: Arrays) -> tuple[int, bool]:
    """The bytes that must move, and whether single items at random count by cache lines.

    Every index and update is read once and every byte of the result written once. Data is read
    where it is addressed: a run of items by its bytes, a single item by its line, never more than
    all of it.
    """
    data, indices = arrays[0], arrays[1]
    item = data.itemsize
    repeated = (n for n, stride in zip(indices.shape, indices.strides, strict=True) if stride == 0)
    stored = indices.nbytes // max(math.prod(repeated), 1)
    operator = workload.operator
    if operator == "tensor_scatter":
        return 2 * indices.nbytes, False
    if operator.startswith("gather"):
        if operator == "gather":
            axis = workload.options.get("axis", 0) % data.ndim
            run = item * int(np.prod(data.shape[axis + 1 :]))
            count = indices.size * int(np.prod(data.shape[:axis]))
            result = run * count
        elif operator == "gather_nd":
            result = indices.size // indices.shape[-1] * item
            run, count = item, indices.size // indices.shape[-1]
        else:
            result, run, count = indices.size * item, item, indices.size
        lines = run < CACHE_LINE and data.nbytes > 2 << 20
        touched = count * (CACHE_LINE if lines else run)
        return stored + result + min(touched, data.nbytes), lines
    updates = arrays[2]
    if workload.in_place:
        run = updates.nbytes // max(indices.size // indices.shape[-1], 1)
        lines = run < CACHE_LINE
        cells = min(
            len(np.unique(indices)) * run if indices.shape[-1] == 1 else updates.nbytes, data.nbytes
        )
        return stored + updates.nbytes + 2 * cells, lines
    return stored + updates.nbytes + 2 * data.nbytes, False
