"""Other runtimes, to compare results and times with."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sowreap
from sowreap._cli.compare import compare
from sowreap._cli.errors import InputError, reason
from sowreap._cli.model import named_tensors

Array = NDArray[Any]
Run = Callable[[Mapping[str, Array]], Sequence[Any]]
LOG_FATAL = 4


class Outcome(NamedTuple):
    """What came of a model on a peer.

    Attributes
    ----------
    title : str
        The peer and its version.
    seconds : float
        Median time of a run.
    values : sequence
        Outputs in the order of the model; None if the peer failed. If runs differ, those of one
        that differs from the first.
    failure : str
        Why it failed.
    varies : bool
        Whether runs on the same inputs differed.
    """

    title: str
    seconds: float
    values: Sequence[Any] | None
    failure: str = ""
    varies: bool = False


def run_peer(name: str, path: Path, feeds: Mapping[str, Array], repeat: int) -> Outcome:
    """Run a model on the peer called `name`: once to warm up, then `repeat` times."""
    title, load = PEERS[name]()
    times, varies = [], False
    try:
        run = load(path)
        values = run(feeds)
        for _ in range(repeat):
            start = time.perf_counter()
            again = run(feeds)
            times.append(time.perf_counter() - start)
            if not varies and not _are_same(values, again):
                values, varies = again, True
    except MemoryError:
        raise
    except Exception as error:  # peers have no common class of errors
        return Outcome(title, 0.0, None, reason(error))
    return Outcome(title, statistics.median(times), values, varies=varies)


def _are_same(values: Sequence[Any], others: Sequence[Any]) -> bool:
    names = [str(i) for i in range(len(values))]
    one, other = named_tensors(names, values), named_tensors(names, others)
    return one.keys() == other.keys() and all(
        compare(one[name], other[name], 0).agrees for name in one
    )


def _onnxruntime() -> tuple[str, Callable[[Path], Run]]:
    try:
        import onnxruntime
    except ImportError as error:
        raise InputError(
            '--compare onnxruntime needs the package; run: pip install "sowreap[ort]"'
        ) from error

    from sowreap.onnx._onnxruntime_engine import check_external_data

    def load(path: Path) -> Run:
        check_external_data(path)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = LOG_FATAL
        options.intra_op_num_threads = sowreap.get_num_threads()
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda feeds: session.run(None, dict(feeds))

    return f"onnxruntime {onnxruntime.__version__}", load


def _onnx() -> tuple[str, Callable[[Path], Run]]:
    import onnx
    from onnx.reference import ReferenceEvaluator

    from sowreap.onnx._loading import read_model

    def load(path: Path) -> Run:
        evaluator = ReferenceEvaluator(read_model(path)[0])

        def run(feeds: Mapping[str, Array]) -> Sequence[Any]:
            with np.errstate(all="ignore"):
                return list(evaluator.run(None, dict(feeds)))

        return run

    return f"onnx {onnx.__version__}, reference evaluator", load


def _reference() -> tuple[str, Callable[[Path], Run]]:
    from sowreap.onnx import InferenceSession

    def load(path: Path) -> Run:
        session = InferenceSession(path, engine="reference")
        return lambda feeds: session.run(None, feeds)

    return f"sowreap {sowreap.__version__}, engine reference", load


PEERS: dict[str, Callable[[], tuple[str, Callable[[Path], Run]]]] = {
    "onnxruntime": _onnxruntime,
    "reference": _reference,
    "onnx": _onnx,
}
