"""One row of a table: a workload, every engine that has it, and what the numbers mean."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any

import numpy as np

from sowreap import _core
from sowreap._bench import correct, measure, peers
from sowreap._bench.workload import Workload

LEGEND = (
    "milliseconds; ~ rounded in another order, ? another update won, ! wrong; "
    "ratio: fastest right peer / sowreap; limit: least time of the memory / sowreap"
)


def machine() -> dict[str, Any]:
    """Return processor, system and versions, as facts beside figures."""
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as lines:
            names = [
                line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
            ]
        model = names[0] if names else model
    versions = {}
    for package in ("sowreap", "numpy", "torch", "onnxruntime", "jax"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "instruction set": _core.isa(),
        "versions": versions,
    }


def row(
    workload: Workload, threads: int, engines: list[str], seconds: float, bandwidth: float
) -> dict[str, Any]:
    """Time one workload with `engines` in turns, each checked against the loop of the standard."""
    arrays = workload.make(np.random.default_rng(0))
    calls = {"sowreap": peers.sowreap(workload, arrays, threads)}
    for name in engines:
        call = peers.PEERS[name](workload, arrays, threads)
        if call is not None:
            calls[name] = call
    wanted = correct.expected(workload, arrays)
    verdicts = {}
    for name, call in list(calls.items()):
        try:
            verdicts[name] = correct.verdict(call(), wanted)
        except Exception as error:  # a type or a shape that the peer refuses
            verdicts[name] = f"refuses ({type(error).__name__})"
            del calls[name]
    taken = measure.in_turns(calls, seconds)
    right = {n: t for n, t in taken.items() if n != "sowreap" and verdicts[n] != "wrong"}
    best = min(right, key=right.__getitem__) if right else None
    moved, lines = measure.least_bytes(workload, arrays)
    return {
        "workload": workload.name,
        "family": workload.family,
        "source": workload.source,
        "operator": workload.operator,
        "reduction": workload.reduction,
        "threads": threads,
        "milliseconds": {name: 1e3 * t for name, t in taken.items()},
        "verdicts": verdicts,
        "best peer": best,
        "ratio": right[best] / taken["sowreap"] if best else None,
        "limit": (moved / bandwidth) / taken["sowreap"],
        "limit counts lines": lines,
    }


def shown(result: dict[str, Any]) -> str:
    """Return a row as a line of text."""
    cells = []
    for name, verdict in result["verdicts"].items():
        time = result["milliseconds"].get(name)
        mark = {"same": "", "close": "~", "open": "?", "wrong": "!"}.get(verdict, "")
        cells.append(f"{name} {time:.4g}{mark}" if time is not None else f"{name} -")
    ratio = f"{result['ratio']:.2f}x" if result["ratio"] else "-"
    return (
        f"{result['workload']:46.46s} t{result['threads']} {ratio:>8s} "
        f"limit {result['limit']:.2f}  " + ", ".join(cells)
    )
