"""Time gathers on onnxruntime and on sowreap: where one may stay on onnxruntime.

    python benchmarks/gather_rules.py

The rules of sowreap.onnx name two limits, of the bytes in a row and of all bytes moved. Processor
time of one thread, so that other work on the machine disturbs little.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import onnxruntime
from onnx.parser import parse_model

from sowreap.onnx import custom_ops_library

MODEL = """<ir_version: 10, opset_import: ["": 18]> main
  (float[n, k] x, int64[m] i) => (float[m, k] y) { y = Gather (x, i) }"""
RNG = np.random.default_rng(0)
# Rows of x, floats in a row, rows of the output.
CASES = (
    (8, 1, 8),
    (64, 1, 64),
    (256, 1, 256),
    (1_000_000, 1, 500_000),
    (1_000_000, 4, 300_000),
    (1_000_000, 8, 300_000),
    (500_000, 16, 300_000),
    (500_000, 32, 200_000),
    (200_000, 64, 100_000),
    (100_000, 128, 50_000),
    (30_000, 768, 5_000),
    (880, 256, 1_866),
)


def session(model: bytes | str) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.register_custom_ops_library(custom_ops_library())
    return onnxruntime.InferenceSession(model, options)


def seconds(running: Any, feeds: dict[str, Any]) -> float:
    binding = running.io_binding()
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    binding.bind_output("y")
    repeat = max(1, 200_000 // feeds["i"].size)
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in range(repeat):
            running.run_with_iobinding(binding)
        best = min(best, (time.process_time() - start) / repeat)
    return best


def main() -> None:
    model = parse_model(MODEL)
    plain = session(model.SerializeToString())
    moved = parse_model(MODEL)
    moved.graph.node[0].domain = "sowreap"
    moved.opset_import.add(domain="sowreap", version=1)
    ours = session(moved.SerializeToString())
    print("onnxruntime", onnxruntime.__version__)
    print("rows of x  bytes in a row  rows of y  onnxruntime us  sowreap us  ratio")
    for rows, width, count in CASES:
        feeds = {
            "x": RNG.random((rows, width), np.float32),
            "i": RNG.integers(0, rows, count),
        }
        a, b = seconds(plain, feeds), seconds(ours, feeds)
        print(
            f"{rows:9}  {4 * width:14}  {count:9}  {a * 1e6:14.1f}  {b * 1e6:10.1f}  {a / b:5.2f}"
        )


if __name__ == "__main__":
    main()
