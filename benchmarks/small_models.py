"""Time the small models of tests/onnx/test_real_models.py, and chains of one operator.

    python benchmarks/small_models.py

Both libraries run in turns on one thread, in one process; the best of many runs counts. The chains
show what a call costs on data of some hundred bytes. The encoder needs PyTorch and onnxscript.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto
from onnx.parser import parse_model

from sowreap.onnx import InferenceSession

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/onnx"))

from disentangled_encoder import encoder, exported
from real_models import CASES, decoder

RUNS, LINKS = 1000, 8
RNG = np.random.default_rng(0)
HEADER = '<ir_version: 11, opset_import: ["": 24]> main'
# Inputs beside the data, and their values, by operator; the data are 6 x 4 floats.
CHAINS: dict[str, tuple[str, dict[str, Any]]] = {
    "Gather": ("int64[6] i", {"i": RNG.integers(0, 6, 6)}),
    "GatherElements": ("int64[6, 4] i", {"i": RNG.integers(0, 6, (6, 4))}),
    "GatherND": ("int64[6, 1] i", {"i": RNG.integers(0, 6, (6, 1))}),
    "ScatterElements": (
        "int64[2, 4] i, float[2, 4] u",
        {"i": RNG.integers(0, 6, (2, 4)), "u": np.ones((2, 4), np.float32)},
    ),
    "ScatterND": (
        "int64[2, 1] i, float[2, 4] u",
        {"i": np.array([[0], [2]]), "u": np.ones((2, 4), np.float32)},
    ),
    "TensorScatter": (
        "float[6, 1, 4] u, int64[6] i",
        {"u": np.ones((6, 1, 4), np.float32), "i": np.zeros(6, np.int64)},
    ),
}


def options() -> onnxruntime.SessionOptions:
    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = 1
    chosen.log_severity_level = 3
    return chosen


def best(model: ModelProto, feeds: dict[str, Any]) -> tuple[float, float]:
    """Return microseconds of a run on onnxruntime alone and in our session."""
    plain = onnxruntime.InferenceSession(model.SerializeToString(), options())
    times = {}
    for session in (plain, InferenceSession(model, options())) * RUNS:
        start = time.perf_counter()
        session.run(None, feeds)
        taken = time.perf_counter() - start
        times[id(session)] = min(taken, times.get(id(session), taken))
    theirs, ours = times.values()
    return theirs * 1e6, ours * 1e6


def chain(operator: str) -> tuple[ModelProto, dict[str, Any]]:
    """Return a model of equal nodes, each on the result of the one before."""
    declared, values = CHAINS[operator]
    shape = (6, 1, 4) if operator == "TensorScatter" else (6, 4)
    # Symbolic sizes: a gather whose sizes are known to be tiny stays on onnxruntime.
    sizes = ", ".join("abc"[: len(shape)])
    nodes = " ".join(f"v{k + 1} = {operator} (v{k}, {', '.join(values)})" for k in range(LINKS))
    text = f"{HEADER} (float[{sizes}] v0, {declared}) => (float[{sizes}] v{LINKS}) {{ {nodes} }}"
    return parse_model(text), {"v0": np.ones(shape, np.float32), **values}


def right_strings() -> tuple[ModelProto, dict[str, Any]]:
    """Return the model of strings with GatherND for Gather, whose rows onnxruntime gets wrong."""
    case = CASES["strings"]()
    (node,) = (node for node in case.model.graph.node if node.op_type == "Gather")
    node.op_type = "GatherND"
    (ids,) = (info for info in case.model.graph.input if info.name == node.input[1])
    ids.type.tensor_type.shape.dim.add().dim_value = 1
    return case.model, {**case.feeds, ids.name: case.feeds[ids.name][:, None]}


def main() -> None:
    print("onnxruntime", onnxruntime.__version__)
    print(f"{'model':26} onnxruntime us  sowreap us  ratio")

    def show(name: str, model: ModelProto, feeds: dict[str, Any]) -> tuple[float, float]:
        theirs, ours = best(model, feeds)
        print(f"{name:26} {theirs:14.1f}  {ours:10.1f}  {theirs / ours:5.2f}")
        return theirs, ours

    for name, build in CASES.items():
        case = build()
        show(name, case.model, case.feeds)
    show("strings, by GatherND", *right_strings())
    for operator in ("TensorScatter", "ScatterND"):
        case = decoder(operator)
        show(f"decoder, {operator}", case.model, case.feeds)
    model = exported(encoder())
    for batch, length in ((1, 16), (4, 128)):
        ids = np.zeros((batch, length), np.int64)
        show(f"encoder, {batch} x {length}", model, {"ids": ids, "mask": ids == 0})
    for operator in CHAINS:
        theirs, ours = show(f"{LINKS} x {operator}", *chain(operator))
        print(f"{'':26} {(ours - theirs) / LINKS:.2f} us more for each call")


if __name__ == "__main__":
    main()
