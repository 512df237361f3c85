"""Show what docs/onnx.md says of results that the installed onnxruntime gets wrong.

    python benchmarks/onnxruntime_defects.py

Lost updates are a race between threads: their number differs from run to run, and may be 0 on a
machine that is busy with other work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from onnx.parser import parse_model

from sowreap.onnx import InferenceSession

HEADER = '<ir_version: 10, opset_import: ["": 18]> main'
TEXTS = f"{HEADER} (string[n, k] x, int64[m] i) => (string[m, k] y) {{ y = Gather (x, i) }}"
SUMS = f"""{HEADER} (float[n, k] x, int64[m, 1] i, float[m, k] u) => (float[n, k] y)
  {{ y = ScatterND <reduction = "add"> (x, i, u) }}"""
CACHE = """<ir_version: 10, opset_import: ["": 24]> main
  (float[1, 2, 1] x, float[1, 1, 1] u, int64[1] i) => (float[1, 2, 1] y)
  { y = TensorScatter (x, u, i) }"""
CELLS, UPDATES, WIDTH, RUNS = 4, 400_000, 4, 20


def options() -> onnxruntime.SessionOptions:
    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = 2
    return chosen


def both(text: str) -> dict[str, Any]:
    model = parse_model(text)
    return {
        f"onnxruntime {onnxruntime.__version__}": onnxruntime.InferenceSession(
            model.SerializeToString(), options()
        ),
        "sowreap": InferenceSession(model, options()),
    }


def main() -> None:
    print('Gather of row 1 of [["a", "b"], ["c", "d"]]')
    feeds = {"x": np.array([["a", "b"], ["c", "d"]], object), "i": np.array([1])}
    for name, session in both(TEXTS).items():
        print(f"  {name}: {session.run(None, feeds)[0].tolist()}")

    print(f"ScatterND, add: {UPDATES} rows of ones into {CELLS}, two threads, {RUNS} runs")
    rng = np.random.default_rng(0)
    feeds = {
        "x": np.zeros((CELLS, WIDTH), np.float32),
        "i": rng.integers(0, CELLS, (UPDATES, 1)),
        "u": np.ones((UPDATES, WIDTH), np.float32),
    }
    for name, session in both(SUMS).items():
        kept = [session.run(None, feeds)[0].sum() / (UPDATES * WIDTH) for _ in range(RUNS)]
        print(f"  {name}: at worst {1 - min(kept):.2%} of the updates lost")

    print("TensorScatter, opset 24: whether there is a session (onnxruntime 1.24 has no kernel)")
    for library in (onnxruntime.InferenceSession, InferenceSession):
        try:
            library(parse_model(CACHE).SerializeToString(), options())
        except Exception as error:  # the classes of onnxruntime have no common one
            print(f"  {library.__module__}: {str(error).splitlines()[0]}")
        else:
            print(f"  {library.__module__}: yes")


if __name__ == "__main__":
    main()
