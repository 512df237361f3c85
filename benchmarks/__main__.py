"""All workloads, sowreap beside its peers: ``python -m benchmarks``.

Prints one row for each workload and number of threads, and writes all as JSON with ``--json``;
``python -m benchmarks.report`` makes the table and the plots of the documentation from it.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import os
import platform
import sys
from typing import Any

import numpy as np

from benchmarks import correct, measure, peers
from benchmarks.workloads import Workload, all_workloads


def machine() -> dict[str, Any]:
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
    import sowreap._core as core

    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "instruction set": core.isa(),
        "versions": versions,
    }


def row(
    workload: Workload, threads: int, engines: list[str], seconds: float, bandwidth: float
) -> Any:
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
    cells = []
    for name, verdict in result["verdicts"].items():
        time = result["milliseconds"].get(name)
        mark = {"same": "", "close": "~", "wrong": "!"}.get(verdict, "")
        cells.append(f"{name} {time:.4g}{mark}" if time is not None else f"{name} -")
    ratio = f"{result['ratio']:.2f}x" if result["ratio"] else "-"
    return (
        f"{result['workload']:46.46s} t{result['threads']} {ratio:>8s} "
        f"limit {result['limit']:.2f}  " + ", ".join(cells)
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", default="", help="workloads whose name contains this")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--engines", nargs="*", default=list(peers.PEERS))
    parser.add_argument("--seconds", type=float, default=1.0, help="for each engine of a row")
    parser.add_argument("--json", help="file to write the rows to")
    options = parser.parse_args()
    about = machine()
    about["copy bandwidth"] = {t: measure.copy_bandwidth(t) for t in options.threads}
    print(json.dumps(about, indent=1), flush=True)
    print("milliseconds; ~ rounded in another order, ! wrong; ratio: fastest right peer / sowreap")
    results = []
    for workload in all_workloads():
        if options.only not in workload.name:
            continue
        for threads in options.threads:
            result = row(
                workload,
                threads,
                options.engines,
                options.seconds,
                about["copy bandwidth"][threads],
            )
            results.append(result)
            print(shown(result), flush=True)
            gc.collect()
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"machine": about, "rows": results}, file, indent=1)
    ratios = [r["ratio"] for r in results if r["ratio"]]
    if ratios:
        print(f"geometric mean of {len(ratios)} ratios: {np.exp(np.mean(np.log(ratios))):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
